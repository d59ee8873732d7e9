//! Threads of Zed's agent: `threads.db`, whose rows contain one document each, compressed with zstd (docs/formats.md#zed-db).
//!
//! The rules are those of Zed's source: `crates/agent/src/db.rs`, `thread.rs` and `legacy_thread.rs`. `cumulative_token_usage` is the
//! sum over all requests of the thread, with disjoint counts; versions that did not add to it wrote zeros.

#![cfg_attr(not(test), expect(clippy::indexing_slicing, reason = "a member of a JSON value that is absent is null"))]

use serde_json::Value;

use super::{Adapter, Context, Fold, RecordErrors, RecordKind, fold};
use crate::adapters::common::builder::{Builder, Last};
use crate::base::text::Symbol;
use crate::base::time::Time;
use crate::json::Raw;
use crate::json::fields::Count;
use crate::json::lines::Line;
use crate::model::places::Place;
use crate::model::session::{CallStatus, Capabilities, Identity, ModelTotal, SessionResult, Tokens, Total};
use crate::model::sqlite_schema::Table;

pub(super) const ADAPTER: Adapter = Adapter {
    id: "zed-db",
    runtime: "zed",
    about: "Zed's agent, threads/threads.db (from sources)",
    capabilities: Capabilities::TOOL_CALLS.and(Capabilities::USER_TURNS).and(Capabilities::KEPT_BY_RUNTIME),
    places: &[Place::data("zed/threads"), Place::application("Zed/threads")],
    claims: |probe| {
        let is_row = probe.text("table") == THREADS.name && probe.has_all(&["data_type", "updated_at"]);
        6 * u32::from(is_row)
    },
    parse: fold::<Threads>,
};

pub(super) const THREADS: Table = Table {
    name: "threads",
    key: "id",
    needs: &["summary", "updated_at", "data_type", "data"],
    columns: &["parent_id", "folder_paths", "updated_at", "created_at", "data_type", "data"],
    json: &["data"],
    order: "id",
    below: &[],
    is_inside: false,
    is_optional: false,
};

struct Threads {
    context: Context,
    sessions: Vec<SessionResult>,
}

impl Fold for Threads {
    type Record<'a> = Raw<'a>;

    fn new(context: &Context) -> Self {
        Self { context: context.clone(), sessions: Vec::new() }
    }

    fn record(&mut self, line: Line<'_>, record: Raw<'_>, damage: &mut RecordErrors) -> RecordKind {
        let Ok(row) = serde_json::from_slice::<Value>(record.0) else { return RecordKind::Unknown };
        let (Some(id), true) = (row["id"].as_str(), row["data"]["messages"].is_array()) else {
            return RecordKind::Unknown;
        };
        let mut thread = Thread { builder: Builder::new(&self.context, id, line.number), last: Last::Work };
        thread.read(&row, line.number, damage);
        thread.builder.end(thread.last);
        self.sessions.push(thread.builder.finish());
        RecordKind::Known
    }

    fn finish(self) -> Vec<SessionResult> {
        self.sessions
    }
}

struct Thread {
    builder: Builder,
    last: Last,
}

fn time_of(value: &Value) -> Option<Time> {
    Time::parse(value.as_str()?)
}

impl Thread {
    fn read(&mut self, row: &Value, line: i64, damage: &mut RecordErrors) {
        let data = &row["data"];
        let updated_at = time_of(&row["updated_at"]).or_else(|| time_of(&data["updated_at"]));
        self.builder.saw(time_of(&row["created_at"]));
        self.builder.saw(updated_at);
        let session = &mut self.builder.session;
        session.parent_session_id = row["parent_id"].as_str().map(str::to_owned);
        // Several folders of a workspace are separated by newlines.
        let folders = row["folder_paths"].as_str().unwrap_or_default();
        session.cwd = folders.lines().next().filter(|folder| !folder.is_empty()).map(str::to_owned);
        let model = data["model"]["model"].as_str().map(Symbol::new);
        session.model.clone_from(&model);
        for message in data["messages"].as_array().into_iter().flatten() {
            match message["role"].as_str() {
                Some(role) => self.message_until_0_2(message, role, line),
                None => self.message(message, line),
            }
        }
        let usage = &data["cumulative_token_usage"];
        let counts =
            ["input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"].map(|key| {
                let number = &usage[key];
                number.as_i64().map_or(if number.is_number() { Count::Impossible } else { Count::Unknown }, Count::from)
            });
        damage.refuses(&counts);
        let [input, output, cache_read, cache_write] = counts.map(Count::get);
        let tokens = Tokens { input, output, cache_read, cache_write, ..Tokens::UNKNOWN };
        if tokens.total().unwrap_or(0) > 0 {
            self.builder.session.totals.push(Total {
                line,
                key: format!("sum {:?}", tokens.kinds()),
                occurred_at: updated_at,
                models: vec![ModelTotal { model, tokens, ..ModelTotal::default() }],
                covers_subagents: true,
                ..Total::default()
            });
        }
    }

    /// A message of version 0.3: an object with one key, its author.
    fn message(&mut self, message: &Value, line: i64) {
        if let Some(id) = message["User"]["id"].as_str() {
            let content = message["User"]["content"].as_array().into_iter().flatten();
            let text: String = content.filter_map(|part| part["Text"].as_str()).collect();
            self.prompt(id, &text);
            self.last = Last::Work;
        }
        let agent = &message["Agent"];
        if !agent.is_object() {
            return;
        }
        let mut text = String::new();
        self.last = Last::Answer;
        for part in agent["content"].as_array().into_iter().flatten() {
            text.push_str(part["Text"].as_str().unwrap_or_default());
            if part["ToolUse"].is_object() {
                self.call(&part["ToolUse"], line);
                self.last = Last::Work;
            }
        }
        for result in agent["tool_results"].as_object().into_iter().flat_map(|results| results.values()) {
            self.result(result);
        }
        self.builder.say(&text);
    }

    /// A message of versions 0.1 and 0.2.
    fn message_until_0_2(&mut self, message: &Value, role: &str, line: i64) {
        let segments = message["segments"].as_array().into_iter().flatten();
        let text: String =
            segments.filter(|part| part["type"] == "text").filter_map(|part| part["text"].as_str()).collect();
        match role {
            "user" => {
                self.prompt(&message["id"].to_string(), &text);
                self.last = Last::Work;
            }
            "assistant" => {
                self.last = Last::Answer;
                for call in message["tool_uses"].as_array().into_iter().flatten() {
                    self.call(call, line);
                    self.last = Last::Work;
                }
                for result in message["tool_results"].as_array().into_iter().flatten() {
                    self.result(result);
                }
                self.builder.say(&text);
            }
            _ => {}
        }
    }

    /// Adds a prompt. Those of a subagent are its parent's.
    fn prompt(&mut self, id: &str, text: &str) {
        if self.builder.session.parent_session_id.is_none() {
            self.builder.prompt_as(Identity::Session(id.into()), Some(text));
        }
    }

    fn call(&mut self, made: &Value, line: i64) {
        let (Some(id), Some(name)) = (made["id"].as_str(), made["name"].as_str()) else { return };
        let call = self.builder.call(id, name, line, None);
        let arguments = made["input"].to_string();
        self.builder.arguments(call, Raw(arguments.as_bytes()));
    }

    fn result(&mut self, result: &Value) {
        // A result without its call makes no row.
        let Some(call) = result["tool_use_id"].as_str().and_then(|id| self.builder.call_index(id)) else { return };
        let content = result["content"].to_string();
        let status = CallStatus::from_error(result["is_error"] == true);
        self.builder.result(call, Raw(content.as_bytes()), None, status);
    }
}

#[cfg(test)]
mod tests {
    use crate::adapters::{Hints, parse};
    use crate::model::retention::Retention;
    use crate::model::session::{CallStatus, Status};

    /// Versions 0.1 and 0.2 name the author of a message, and have lists of calls and results beside its text.
    #[test]
    fn an_older_thread_is_read() {
        let row = r#"{"table":"threads","id":"t","updated_at":"2025-07-01T08:00:00+00:00","data_type":"json","data":{"version":"0.2.0","summary":"s","messages":[
            {"id":0,"role":"user","segments":[{"type":"text","text":"Go"}]},
            {"id":1,"role":"assistant","segments":[{"type":"thinking","text":"x"},{"type":"text","text":"Done"}],
             "tool_uses":[{"id":"c1","name":"terminal","input":{"command":"ls"}}],
             "tool_results":[{"tool_use_id":"c1","is_error":true,"content":"no"}]}],
            "cumulative_token_usage":{"input_tokens":0,"output_tokens":0}}}"#;
        let session =
            parse(row.replace('\n', "").as_bytes(), Hints::default(), Retention::Text).sessions.swap_remove(0);
        assert_eq!((session.prompts.len(), session.text.as_deref()), (1, Some("Done")));
        assert_eq!((session.tool_calls[0].status, session.status), (CallStatus::Error, Status::Incomplete));
        // Zeros are unknown.
        assert!(session.totals.is_empty());
    }
}
