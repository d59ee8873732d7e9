//! One session of goose while its rows or lines are read.

use super::records::{Block, Call, Editor, Message, Record, ToolResult, Usage};
use crate::adapters::engine::{Context, RecordErrors};
use crate::adapters::shared::at::At;
use crate::adapters::shared::builder::{Builder, Last, brief};
use crate::adapters::shared::ids::{counts_name, hashed_id};
use crate::adapters::shared::{changes, tools};
use crate::base::text::Symbol;
use crate::base::time::Time;
use crate::json::fields::TextOrBlocks;
use crate::model::health::Reason;
use crate::model::session::{
    CallStatus, Cost, EventKind, Identity, ModelTotal, Operation, SessionResult, Tokens, Total, Turn,
};

/// A session while its records are read.
pub(super) struct Session {
    pub(super) builder: Builder,
    /// The line of the session's row, and the last line with a record of the session.
    line: i64,
    pub(super) last_line: i64,
    /// Whether it is a document of `goose session export`.
    pub(super) is_export: bool,
    is_subagent: bool,
    provider: Option<Symbol>,
    /// The sums over all requests: their tokens and their cost in US dollars.
    accumulated: (Tokens, Option<f64>),
    /// The last request, for sessions without sums.
    last_request: Tokens,
    /// The time of the first message: a part of the identity of the sums.
    first_message: Option<Time>,
    /// What the conversation ends with.
    last: Last,
}

impl Session {
    pub(super) fn new(context: &Context, id: &str, line: i64) -> Self {
        Self {
            builder: Builder::new(context, id, line),
            line,
            last_line: line,
            is_export: false,
            is_subagent: false,
            provider: None,
            accumulated: (Tokens::UNKNOWN, None),
            last_request: Tokens::UNKNOWN,
            first_message: None,
            last: Last::Work,
        }
    }

    /// Fills in the row of the session, or the first line of a session file.
    pub(super) fn facts(&mut self, record: &Record<'_>, damage: &mut RecordErrors) {
        self.is_subagent = record.session_type.as_str() == "sub_agent";
        self.provider = record.provider_name.owned();
        self.builder.extend_to(record.created_at.0);
        let session = &mut self.builder.session;
        session.cwd = record.working_dir.owned();
        session.parent_session_id = record.parent_session_id.owned();
        session.model = {
            let configuration = record.model_config_json.get().or_else(|| record.model_config.get());
            configuration.and_then(|it| it.model_name.owned())
        };
        self.accumulated = (Usage::accumulated(record).tokens(damage), record.accumulated_cost.money());
        self.last_request = Usage::of(record).tokens(damage);
    }

    /// Adds a request, from its row in the usage ledger.
    pub(super) fn request(&mut self, record: &Record<'_>, line: i64, damage: &mut RecordErrors) {
        // This row repeats a part of the sums.
        if record.cost_source.as_str() == "carried_forward" {
            return;
        }
        let tokens = Usage::of(record).tokens(damage);
        let time = record.created_timestamp.0;
        let row = record.id.text();
        self.builder.extend_to(time);
        if record.is_compaction.0 == Some(1.0) {
            let event = self.builder.event(EventKind::Compaction, At { line, time });
            event.key = Some(format!("compaction {row} {:?}", time.map(Time::micros)).into());
        }
        // Another machine may have a session and a row of the same ids: time and counts distinguish them.
        let identity = Identity::Session(format!("{row} {:?} {}", time.map(Time::micros), counts_name(tokens)).into());
        let index = self.builder.turn(identity, line);
        let turn = &mut self.builder.session.turns[index];
        turn.model = record.model.owned();
        turn.provider.clone_from(&self.provider);
        turn.occurred_at = time;
        turn.tokens = tokens.into();
        turn.cost = record.cost.money().map(Cost::of);
    }

    pub(super) fn message(&mut self, message: &Message<'_>, line: i64, damage: &mut RecordErrors) {
        if message.content.0.first() != Some(&b'[') {
            damage.note(Reason::NotAnObject);
            return;
        }
        let time = message.time;
        self.first_message = self.first_message.or(time);
        self.builder.extend_to(time);
        let content: TextOrBlocks<'_, Block<'_>> = message.content.read();
        for block in content.blocks.iter().filter(|block| block.kind.as_str() == "toolResponse") {
            self.result(block, At { line, time });
        }
        match message.role {
            "user" => self.user(message, &content.blocks),
            "assistant" => self.assistant(message, &content.blocks, line),
            _ => {}
        }
    }

    fn user(&mut self, message: &Message<'_>, blocks: &[Block<'_>]) {
        self.last = Last::Work;
        let find = |kind: &str| blocks.iter().find(|block| block.kind.as_str() == kind);
        let text_block = find("text");
        let is_typed = (text_block.is_some() || find("image").is_some()) && find("toolResponse").is_none();
        if is_typed && !message.is_hidden && !self.is_subagent {
            // An imported message gets another id: time and text are its identity.
            let text = text_block.map_or("", |block| block.text.as_str());
            let identity = hashed_id(format!("{:?} {text}", message.time.map(Time::micros)).as_bytes());
            let identity = Identity::Session(identity.into());
            self.builder.prompt_as(identity, text_block.and_then(|block| block.text.some()));
        }
    }

    fn assistant(&mut self, message: &Message<'_>, blocks: &[Block<'_>], line: i64) {
        let time = message.time;
        let of_kind = |kind: &'static str| blocks.iter().filter(move |block| block.kind.as_str() == kind);
        let at = At { line, time };
        for block in of_kind("toolRequest") {
            self.call(block, at);
        }
        let text = of_kind("text").filter_map(|block| block.text.some()).next_back();
        if let Some(text) = text {
            if ["Ran into this error", "Network error:"].iter().any(|start| text.starts_with(start)) {
                self.builder.fail(None, text);
                self.last = Last::Error;
                self.builder.event(EventKind::Error, at).message = Some(brief(text));
                return;
            }
            self.builder.set_answer(text);
        }
        if of_kind("toolRequest").next().is_some() {
            self.last = Last::Work;
        } else if text.is_some() {
            self.last = Last::Answer;
        }
        for _ in of_kind("conversationCompacted") {
            let event = self.builder.event(EventKind::Compaction, at);
            event.key = Some(format!("compaction {}", message.id).into());
        }
    }

    fn call(&mut self, block: &Block<'_>, at: At) {
        let call: Call<'_> = block.tool_call.value.read();
        let index = self.builder.call_of(None, block.id.as_str(), call.name.as_str(), call.arguments, at);
        let row = &mut self.builder.session.tool_calls[index];
        // Every tool belongs to an extension. Those of goose's own extensions get the categories of other runtimes' tools.
        let (extension, tool) = call.name.as_str().split_once("__").unwrap_or(("", call.name.as_str()));
        let category = match tool {
            "text_editor" => match call.arguments.read::<Editor<'_>>().command.as_str() {
                "view" => "read",
                "write" => "write",
                _ => "edit",
            },
            _ => tools::category(tool),
        };
        let is_mcp = category == "other" && !extension.is_empty();
        row.category = Symbol::new(if is_mcp { "mcp" } else { category });
        row.mcp_server = Some(extension).filter(|it| !it.is_empty()).map(Symbol::new);
        if block.tool_call.status.as_str() == "error" {
            // The call that the model wrote was invalid.
            self.builder.result(index, block.tool_call.error, at.time, CallStatus::Error);
            return;
        }
        let arguments = self.builder.arguments(index, call.arguments);
        let operation = Some(Operation::Update);
        changes::add_named_file(&mut self.builder, index, &arguments, call.arguments, operation, at);
    }

    fn result(&mut self, block: &Block<'_>, at: At) {
        let Some(index) = self.builder.call_index(block.id.as_str()) else { return };
        let outcome = &block.tool_result;
        let result: ToolResult<'_> = outcome.value.read();
        let is_error = outcome.status.as_str() == "error" || result.is_error.is_true();
        let output = if outcome.value.is_empty() { outcome.error } else { outcome.value };
        self.builder.result(index, output, at.time, CallStatus::from_error(is_error));
        let call = &mut self.builder.session.tool_calls[index];
        if call.category == "shell" {
            call.exit_code = result.exit_code().into();
        }
        let text = output.text();
        let refusals = ["The user has declined to run this tool", "This tool call was denied before execution"];
        if refusals.iter().any(|words| text.contains(words)) {
            self.builder.deny(index, at, None);
        }
    }

    pub(super) fn finish(mut self) -> SessionResult {
        self.builder.end(self.last);
        let (tokens, cost) = self.accumulated;
        let mut session = self.builder.finish();
        if tokens.total().is_some() {
            let total = |first_message: Option<Time>| Total {
                // The sums include the requests on the lines after the session's row.
                line: if session.turns.is_empty() { self.line } else { self.last_line },
                key: format!("goose {} {:?}", session.session_id, first_message.map(Time::micros)),
                cost,
                models: vec![ModelTotal { tokens, cost, provider: self.provider.clone(), ..ModelTotal::default() }],
                covers_subagents: true,
                ..Total::default()
            };
            let mut totals = vec![total(self.first_message)];
            if session.format == "goose-session" && !self.is_export && self.first_message.is_some() {
                // A copy of the file that was cut after its first line has no message: its sums have this identity.
                totals.insert(0, total(None));
            }
            session.totals = totals;
        } else if session.turns.is_empty() && self.last_request.total().is_some() {
            session.under_reports = true;
            session.turns.push(Box::new(Turn {
                line: self.line,
                identity: Identity::Session("last".into()),
                provider: self.provider,
                model: session.model.clone(),
                occurred_at: session.ended_at,
                tokens: self.last_request.into(),
                ..Turn::default()
            }));
        }
        session
    }
}

#[cfg(test)]
mod tests {
    use crate::adapters::engine::Hints;
    use crate::adapters::parse;
    use crate::adapters::shared::builder::Retention;
    use crate::model::session::{SessionResult, Status};

    fn read(messages: &[(&str, &str)]) -> SessionResult {
        let mut lines =
            vec![r#"{"description":"x","message_count":2,"total_tokens":5,"working_dir":"/work"}"#.to_owned()];
        for (second, (role, text)) in messages.iter().enumerate() {
            let content = format!(r#"[{{"type":"text","text":"{text}"}}]"#);
            lines.push(format!(
                r#"{{"id":"m{second}","role":"{role}","created":179000000{second},"content":{content}}}"#
            ));
        }
        parse(lines.join("\n").as_bytes(), Hints::default(), Retention::None).sessions.swap_remove(0)
    }

    /// A session that goes on after an error has not failed.
    #[test]
    fn the_last_message_decides_on_the_status() {
        let failed = [("user", "Fix it."), ("assistant", "Ran into this error: 429 Too Many Requests")];
        let session = read(&failed);
        assert_eq!((session.status, session.error_kind.is_some()), (Status::Error, true));
        let session = read(&[failed[0], failed[1], ("user", "Again.")]);
        assert_eq!((session.status, session.error_kind), (Status::Incomplete, None));
        assert_eq!(read(&[failed[0], failed[1], ("assistant", "Done.")]).status, Status::Success);
    }
}
