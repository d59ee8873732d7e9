//! The events of `gemini --output-format stream-json` (docs/formats/gemini.md#gemini-stream-json).

use serde::Deserialize;

use super::shared::{Failure, doubt_zeros};
use crate::adapters::engine::{Context, Fold, Probe, RecordErrors, RecordKind};
use crate::adapters::shared::at::At;
use crate::adapters::shared::builder::{Builder, Retention, brief};
use crate::adapters::shared::changes;
use crate::adapters::shared::ids::{hash_of_document, hashed_id};
use crate::adapters::shared::usage::{self, Included, uncached};
use crate::base::text::Symbol;
use crate::base::time::Time;
use crate::json::Raw;
use crate::json::fields::{Count, Flag, Maybe, Number, Pairs, Text, When};
use crate::json::lines::Line;
use crate::model::session::{CallStatus, EventKind, ModelTotal, Operation, SessionResult, Tokens, Total, TotalKind};

pub(super) fn claims(probe: &Probe<'_>) -> u32 {
    if !probe.has("timestamp") || probe.has("sessionID") || probe.has("parentId") {
        return 0;
    }
    let keys: &[&str] = match probe.kind() {
        "init" if !probe.has("tools") => &["session_id", "model"],
        "message" if !probe.has("id") => &["role", "content"],
        "tool_use" => &["tool_id", "tool_name"],
        "tool_result" => &["tool_id", "status"],
        "error" => &["severity", "message"],
        "result" if probe.has("stats") || probe.has("error") => &["status"],
        _ => return 0,
    };
    if probe.has_all(keys) { 3 } else { 0 }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Record<'a> {
    #[serde(rename = "type")]
    kind: Text<'a>,
    timestamp: When,
    // init
    session_id: Text<'a>,
    model: Text<'a>,
    // message
    role: Text<'a>,
    content: Text<'a>,
    delta: Flag,
    // tool_use, tool_result
    tool_name: Text<'a>,
    tool_id: Text<'a>,
    parameters: Raw<'a>,
    output: Raw<'a>,
    // tool_result, result
    status: Text<'a>,
    error: Failure<'a>,
    // error
    severity: Text<'a>,
    message: Text<'a>,
    // result
    stats: Maybe<StreamStats<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct StreamStats<'a> {
    total_tokens: Count,
    input_tokens: Count,
    output_tokens: Count,
    cached: Count,
    duration_ms: Number,
    /// In newer versions.
    models: Pairs<'a, StreamCounts>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct StreamCounts {
    total_tokens: Count,
    input_tokens: Count,
    output_tokens: Count,
    cached: Count,
}

impl StreamCounts {
    /// Thoughts and the tools' part of the prompt are only in the total. The tokens beyond prompt and candidates count as
    /// thoughts, since tools rarely add tokens to the prompt.
    fn tokens(&self, damage: &mut RecordErrors) -> Tokens {
        damage.note_impossible(&[self.total_tokens, self.input_tokens, self.output_tokens, self.cached]);
        let beyond_prompt = self.total_tokens.get().zip(self.input_tokens.get()).map(|(total, prompt)| total - prompt);
        let candidates = self.output_tokens.get();
        Tokens {
            input: uncached(Included::Always, self.input_tokens.get(), self.cached.get(), None),
            output: beyond_prompt.filter(|it| *it >= candidates.unwrap_or(0)).or(candidates),
            cache_read: self.cached.get(),
            ..Tokens::UNKNOWN
        }
    }
}

/// The events of `--output-format stream-json`.
pub(super) struct Stream {
    context: Context,
    /// One for each process, which begins with an `init`.
    processes: Vec<Process>,
}

impl Fold for Stream {
    type Record<'a> = Record<'a>;

    fn new(context: &Context) -> Self {
        Self { context: context.clone(), processes: Vec::new() }
    }

    fn record(&mut self, line: Line<'_>, record: Record<'_>, damage: &mut RecordErrors) -> RecordKind {
        let kind = record.kind.as_str();
        // Claude Code's result has no status. A file can contain recordings of both.
        let is_known = match kind {
            "init" | "message" | "tool_use" | "tool_result" | "error" => true,
            "result" => record.status.is_some(),
            _ => false,
        };
        if !is_known {
            return RecordKind::Unknown;
        }
        let unnamed = self.processes.last_mut().filter(|process| kind == "init" && process.is_unnamed);
        if let Some(process) = unnamed {
            process.is_unnamed = false;
            if let Some(id) = record.session_id.owned() {
                process.builder.session.session_id = id;
            }
        } else if kind == "init" || self.processes.is_empty() {
            let id = record.session_id.owned().unwrap_or_else(|| hashed_id(line.bytes));
            self.processes.push(Process {
                builder: Builder::new(&self.context, id, line.number),
                keeps_text: self.context.content >= Retention::Text,
                text: String::new(),
                has_answer: false,
                last_error: None,
                is_unnamed: true,
            });
        }
        if let Some(process) = self.processes.last_mut() {
            process.builder.recorded(hash_of_document(line.bytes));
            process.record(&record, line, damage);
        }
        RecordKind::Known
    }

    fn finish(self) -> Vec<SessionResult> {
        self.processes.into_iter().map(Process::finish).collect()
    }
}

struct Process {
    builder: Builder,
    keeps_text: bool,
    /// The text of the assistant's message so far.
    text: String,
    has_answer: bool,
    last_error: Option<String>,
    /// Whether its records so far are prompts, which may precede the `init` with the session id.
    is_unnamed: bool,
}

impl Process {
    fn record(&mut self, record: &Record<'_>, line: Line<'_>, damage: &mut RecordErrors) {
        let time = record.timestamp.0;
        self.builder.extend_to(time);
        self.is_unnamed &= record.kind.as_str() == "message" && record.role.as_str() == "user";
        let at = At { line: line.number, time };
        match record.kind.as_str() {
            "init" => self.builder.session.model = record.model.owned(),
            "message" if record.role.as_str() == "user" => {
                self.flush();
                self.builder.prompt(record.content.some());
            }
            "message" => {
                if !record.delta.is_true() {
                    self.flush();
                }
                self.has_answer |= record.content.some().is_some();
                if self.keeps_text {
                    self.text.push_str(record.content.as_str());
                }
            }
            "tool_use" => {
                self.flush();
                let (id, tool, parameters) = (record.tool_id.as_str(), record.tool_name.as_str(), record.parameters);
                let call = self.builder.call_of(None, id, tool, parameters, at);
                let arguments = self.builder.arguments(call, parameters);
                changes::add_named_file(&mut self.builder, call, &arguments, parameters, None, at);
            }
            "tool_result" => self.call_result(record, line.number),
            "error" => {
                // After a warning the session goes on: a loop was found, a hook stopped the agent.
                if record.severity.as_str() != "warning" {
                    self.last_error = record.message.owned();
                    self.builder.event(EventKind::Error, at).message = record.message.some().map(brief);
                }
            }
            _ => self.result(record, line, damage),
        }
    }

    fn flush(&mut self) {
        self.builder.set_answer(&self.text);
        self.text.clear();
    }

    fn call_result(&mut self, record: &Record<'_>, line: i64) {
        let time = record.timestamp.0;
        // A result without its call makes no row.
        let Some(call) = self.builder.call_index(record.tool_id.as_str()) else { return };
        let is_error = record.status.as_str() == "error";
        self.builder.result(call, record.output, time, CallStatus::from_error(is_error));
        let at = At { line, time };
        if is_error && is_refusal(&record.error) {
            self.builder.deny(call, at, record.error.message.some());
        } else if !is_error && self.builder.session.tool_calls[call].category == "edit" {
            // `replace` creates a file that does not exist; only then the result begins with these words.
            let is_new = record.output.text().starts_with("Created ");
            let operation = if is_new { Operation::Create } else { Operation::Update };
            if let Some(file) = self.builder.session.tool_calls[call].target.clone() {
                self.builder.change(call, &file, Some(operation), None, at);
            }
        }
    }

    fn result(&mut self, record: &Record<'_>, line: Line<'_>, damage: &mut RecordErrors) {
        self.flush();
        let time = record.timestamp.0;
        if let Some(stats) = usage::present(&record.stats, damage) {
            if let [(model, _)] = stats.models.0.as_slice() {
                // The model of the `init` may be an alias, such as `auto`.
                self.builder.session.model = Some(Symbol::new(model));
            }
            let total = self.total(stats, line, time, damage);
            self.builder.session.totals.push(total);
        }
        if record.status.as_str() == "success" {
            self.builder.succeed();
            return;
        }
        let has_message = record.error.message.some().is_some();
        record.error.end(&mut self.builder, self.last_error.as_deref());
        if has_message {
            let event = self.builder.event(EventKind::Error, At { line: line.number, time });
            event.code = record.error.kind.owned();
            event.message = record.error.message.some().map(brief);
        }
    }

    fn total(&self, stats: &StreamStats<'_>, line: Line<'_>, time: Option<Time>, damage: &mut RecordErrors) -> Total {
        let mut models: Vec<ModelTotal> = stats
            .models
            .0
            .iter()
            .map(|(model, counts)| ModelTotal {
                model: Some(Symbol::new(model)),
                tokens: counts.tokens(damage),
                ..ModelTotal::default()
            })
            .collect();
        if models.is_empty() {
            let counts = StreamCounts {
                total_tokens: stats.total_tokens,
                input_tokens: stats.input_tokens,
                output_tokens: stats.output_tokens,
                cached: stats.cached,
            };
            models.push(ModelTotal {
                model: self.builder.session.model.clone(),
                tokens: counts.tokens(damage),
                ..ModelTotal::default()
            });
        }
        doubt_zeros(&mut models, self.has_answer);
        Total {
            line: line.number,
            key: hashed_id(line.bytes),
            kind: TotalKind::Process,
            occurred_at: time,
            duration_ms: stats.duration_ms.rounded(),
            models,
            covers_subagents: true,
            ..Total::default()
        }
    }

    fn finish(mut self) -> SessionResult {
        self.flush();
        self.builder.finish()
    }
}

/// Whether a rule or the user refused the call. `permission_denied` is an error of the file system.
fn is_refusal(error: &Failure<'_>) -> bool {
    const WORDS: [&str; 2] = ["denied by policy", "requires user confirmation"];
    let kind = error.kind.as_str();
    kind == "policy_violation"
        || (kind.contains("denied") && kind != "permission_denied")
        || ["cancel", "reject", "declin"].iter().any(|it| kind.contains(it))
        || WORDS.iter().any(|words| error.message.as_str().contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::engine::Hints;
    use crate::adapters::parse;

    fn read(log: &str) -> SessionResult {
        parse(log.as_bytes(), Hints::default(), Retention::Text).sessions.swap_remove(0)
    }

    /// Contradictory counts never become negative.
    #[test]
    fn the_stream_s_counts_may_disagree() {
        let tokens = |stats: &str| {
            read(&format!(
                r#"{{"type":"result","timestamp":"2026-10-05T10:00:00Z","status":"success","stats":{stats}}}"#
            ))
            .totals[0]
                .models[0]
                .tokens
        };
        let counts = |it: Tokens| (it.input, it.cache_read, it.output);
        assert_eq!(
            counts(tokens(r#"{"total_tokens":5,"input_tokens":9,"output_tokens":2,"cached":12}"#)),
            (Some(0), Some(12), Some(2))
        );
        assert_eq!(counts(tokens(r#"{"input_tokens":9,"output_tokens":2}"#)), (Some(9), None, Some(2)));
        assert_eq!(counts(tokens(r#"{"total_tokens":20,"input_tokens":9}"#)), (Some(9), None, Some(11)));
    }

    #[test]
    fn an_error_of_the_file_system_is_not_a_refusal() {
        let failure = |kind: &str, message: &str| {
            is_refusal(
                &crate::json::from_slice(format!(r#"{{"type":"{kind}","message":"{message}"}}"#).as_bytes()).unwrap(),
            )
        };
        assert!(failure("policy_violation", "") && failure("unhandled_exception", "Tool execution denied by policy."));
        assert!(!failure("permission_denied", "EACCES") && !failure("shell_execute_error", "boom"));
    }

    /// The prompt may be logged before the record with the session id.
    #[test]
    fn a_prompt_before_the_start_belongs_to_the_session() {
        let log = [
            r#"{"type":"message","timestamp":"2026-10-02T08:00:00Z","role":"user","content":"Fix it."}"#,
            r#"{"type":"init","timestamp":"2026-10-02T08:00:01Z","session_id":"s1","model":"m"}"#,
            r#"{"type":"message","timestamp":"2026-10-02T08:00:02Z","role":"assistant","content":"Done.","delta":true}"#,
            r#"{"type":"init","timestamp":"2026-10-02T09:00:01Z","session_id":"s2","model":"m"}"#,
        ];
        let sessions = parse(log.join("\n").as_bytes(), Hints::default(), Retention::Text).sessions;
        let found: Vec<_> = sessions.iter().map(|session| (&*session.session_id, session.user_turns)).collect();
        assert_eq!(found, [("s1", Some(1)), ("s2", None)]);
    }

    #[test]
    fn an_edit_has_the_lines_of_its_arguments() {
        let lines = |more: &str| {
            let call = format!(
                r#"{{"type":"tool_use","timestamp":"2026-10-02T08:00:02Z","tool_id":"c","tool_name":"replace","parameters":{{"file_path":"/a","old_string":"x\ny","new_string":"x\nz\ny"{more}}}}}"#
            );
            let result = r#"{"type":"tool_result","timestamp":"2026-10-02T08:00:03Z","tool_id":"c","status":"success","output":"Successfully modified file"}"#;
            let session = read(&format!("{call}\n{result}"));
            let change = &session.file_changes[0];
            change.lines_added.zip(change.lines_removed)
        };
        assert_eq!((lines(""), lines(r#","expected_replacements":2"#)), (Some((1, 0)), None));
    }
}
