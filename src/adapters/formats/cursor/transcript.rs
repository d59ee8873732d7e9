//! Transcripts that Cursor's editor and CLI write of each agent: `~/.cursor/projects/*/agent-transcripts/ID/ID.jsonl`, in other
//! versions `agent-transcripts/ID.jsonl`, and `subagents/ID.jsonl` below a session (docs/formats/cursor.md#cursor-transcript).
//!
//! Cursor writes them from its own store, as a copy for the agent to read: they contain prompts, answers and calls, and no
//! results, tokens, models or ids. A prompt of newer versions contains its time. Nothing shows whether a call succeeded.
//!
//! # `cursor-transcript`
//!
//! Transcripts of Cursor's editor and CLI, `~/.cursor/projects/*/agent-transcripts/ID/ID.jsonl`, in other versions
//! `agent-transcripts/ID.jsonl`; those of subagents are in `subagents/` below the session. Recognised by records with `role` and
//! `message`, and by `turn_ended` with a `status`; outside of `agent-transcripts`, only if they have no other keys. From public transcripts and readers, February to October 2026;
//! no recorded file was at hand.
//!
//! | what | from |
//! | --- | --- |
//! | session, parent | the name of the file, below `agent-transcripts`; the directory around `subagents` |
//! | turn | each `assistant` record, without model, time and counts |
//! | cwd | `working_directory` of the first shell call; the name of the project's directory does not show which of its hyphens are slashes |
//! | call | `tool_use` blocks. There are no results: whether a call succeeded is unknown, and each is `incomplete`. `CallMcpTool` is the tool of the server that it names |
//! | subagent | a `Task` call; the subagent's own transcript is a session of its own |
//! | user turns | `user` records with `<user_query>`, or with a text that does not begin with a tag, except in subagents |
//! | times | `<timestamp>` in a prompt, in newer versions |
//! | status | the last `turn_ended`: `error` with "User aborted request" is `aborted`, other errors `error`, else `success`; without one, an answer without calls is `success`; else `incomplete` |
//!
//! *Unknown*: tokens, cost, models, times of answers, results of calls, and file changes, as edits may have failed. A transcript is
//! a copy that Cursor makes for its agent: beside a recorded [`cursor-stream-json`](#cursor-stream-json) of the same session, it only
//! fills what the stream leaves unknown ([several views of one session](accounting.md#several-views-of-one-session)). When the quota
//! is used up, Cursor replaces a transcript by its error. Older transcripts as text (`.txt`) are not read.

use jiff::civil::DateTime;
use serde::Deserialize;

use crate::adapters::engine::{Adapter, Context, Fold, Probe, RecordErrors, RecordKind, fold};
use crate::adapters::shared::at::At;
use crate::adapters::shared::blocks::Block;
use crate::adapters::shared::builder::{Builder, Last, brief};
use crate::adapters::shared::ids::{hash_of_document, hashed_id};
use crate::adapters::shared::{subagents, tools};
use crate::base::time::Time;
use crate::json::fields::{Text, TextOrBlocks};
use crate::json::lines::Line;
use crate::model::places::Place;
use crate::model::session::{Capabilities, EventKind, Identity, SessionResult};

pub(crate) const ADAPTER: Adapter = Adapter {
    id: "cursor-transcript",
    runtime: "cursor",
    about: "Cursor, projects/*/agent-transcripts/*/*.jsonl",
    tested: None,
    capabilities: Capabilities::TURNS
        .and(Capabilities::TOOL_CALLS)
        .and(Capabilities::SUBAGENTS)
        .and(Capabilities::USER_TURNS)
        .and(Capabilities::ABRIDGED),
    places: &[Place::home(".cursor/projects")],
    claims,
    parse: fold::<Transcript>,
};

/// The directory of transcripts.
const ROOT: &str = "agent-transcripts";

fn claims(probe: &Probe<'_>) -> u32 {
    // Elsewhere, records with further keys may be those of another program.
    let is_in_place = probe.path().split(['/', '\\']).any(|directory| directory == ROOT);
    let has_only = |keys: &[&str]| is_in_place || probe.keys().all(|key| keys.contains(&key));
    let is_message = matches!(probe.text("role").as_ref(), "user" | "assistant")
        && has_only(&["role", "message", "timestamp"])
        && probe.object("message").raw("content").is_list();
    let is_end =
        probe.kind() == "turn_ended" && probe.has("status") && has_only(&["type", "status", "error", "timestamp"]);
    4 * u32::from(is_message || is_end)
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Record<'a> {
    role: Text<'a>,
    message: Message<'a>,
    // turn_ended
    #[serde(rename = "type")]
    kind: Text<'a>,
    status: Text<'a>,
    error: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Message<'a> {
    content: TextOrBlocks<'a, Block<'a>>,
}

/// The arguments of tools that have names of their own.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct OwnArguments<'a> {
    working_directory: Text<'a>,
    server: Text<'a>,
    #[serde(rename = "toolName")]
    tool_name: Text<'a>,
    target_notebook: Text<'a>,
}

struct Transcript {
    context: Context,
    /// One for each time that the log begins again: a copy may be appended to it.
    recordings: Vec<Session>,
}

impl Fold for Transcript {
    type Record<'a> = Record<'a>;

    fn new(context: &Context) -> Self {
        Self { context: context.clone(), recordings: Vec::new() }
    }

    fn record(&mut self, line: Line<'_>, record: Record<'_>, _: &mut RecordErrors) -> RecordKind {
        let (role, kind) = (record.role.as_str(), record.kind.as_str());
        if !matches!((role, kind), ("user" | "assistant", _) | (_, "turn_ended")) {
            return RecordKind::Unknown;
        }
        let hash = hash_of_document(line.bytes);
        let first_of = |session: &Session| session.builder.session.recording.iter().flatten().next().copied();
        if self.recordings.last().is_none_or(|session| first_of(session) == Some(hash)) {
            self.recordings.push(Session::new(&self.context, line));
        }
        let Some(session) = self.recordings.last_mut() else { return RecordKind::Unknown };
        session.builder.recorded(hash);
        match role {
            "user" => session.prompt(&record.message),
            "assistant" => session.response(&record.message, line.number),
            _ => session.end(&record, line.number),
        }
        session.builder.name_events(None, line.bytes);
        RecordKind::Known
    }

    fn finish(self) -> Vec<SessionResult> {
        self.recordings.into_iter().map(Session::finish).collect()
    }
}

/// A transcript while its records are read.
struct Session {
    builder: Builder,
    is_subagent: bool,
    responses: usize,
    last: Last,
}

impl Session {
    fn new(context: &Context, line: Line<'_>) -> Self {
        let (id, parent, is_subagent) = names(context);
        let mut builder = Builder::new(context, id.unwrap_or_else(|| hashed_id(line.bytes)), line.number);
        builder.session.parent_session_id = parent;
        Self { builder, is_subagent, responses: 0, last: Last::Work }
    }

    fn prompt(&mut self, message: &Message<'_>) {
        let text = message.content.joined(|it| it.text.as_str());
        let time = between(&text, "timestamp").and_then(time_of);
        self.builder.extend_to(time);
        self.last = Last::Work;
        let query = between(&text, "user_query");
        // Notices of the program are in tags of their own.
        let is_typed = query.is_some() || !text.trim_start().starts_with('<');
        if is_typed && !self.is_subagent {
            self.builder.prompt(Some(query.unwrap_or(&text).trim()));
        }
    }

    fn response(&mut self, message: &Message<'_>, line: i64) {
        self.responses += 1;
        let turn = self.builder.turn(Identity::Unique, line);
        let text = message.content.joined(|it| it.text.as_str());
        self.builder.set_answer(text.trim());
        let calls = message.content.blocks.iter().filter(|block| block.kind.as_str() == "tool_use");
        let mut has_calls = false;
        for (number, block) in (1..).zip(calls) {
            has_calls = true;
            self.call(block, number, turn, line);
        }
        self.last = if has_calls || text.trim().is_empty() { Last::Work } else { Last::Answer };
    }

    fn call(&mut self, block: &Block<'_>, number: usize, turn: usize, line: i64) {
        let own: OwnArguments<'_> = block.input.read();
        let name = block.name.as_str();
        let mcp = own.tool_name.some().filter(|_| name == "CallMcpTool");
        let id = block.id.owned().unwrap_or_else(|| format!("{}.{number}", self.responses));
        let at = At { line, time: None };
        let call = self.builder.call_of(Some(turn), &id, mcp.unwrap_or(name), block.input, at);
        let row = &mut self.builder.session.tool_calls[call];
        if mcp.is_some() || matches!(name, "CallMcpTool" | "FetchMcpResource") {
            self.builder.mcp(call, own.server.some());
        } else if let Some(category) = tools::category_among(CATEGORIES, name, None) {
            row.category = category.into();
        }
        let arguments = self.builder.arguments(call, block.input);
        let row = &mut self.builder.session.tool_calls[call];
        row.target = row.target.take().or_else(|| own.target_notebook.some().map(Into::into));
        if row.category == "subagent"
            && let Some(event) = subagents::add(&mut self.builder, &id, Some(&id), at)
        {
            event.agent = arguments.agent();
        }
        let cwd = &mut self.builder.session.cwd;
        *cwd = cwd.take().or_else(|| own.working_directory.owned());
    }

    /// The end of what followed a prompt.
    fn end(&mut self, record: &Record<'_>, line: i64) {
        let message = record.error.as_str();
        let lower = message.to_ascii_lowercase();
        match record.status.as_str() {
            "error" if lower.contains("abort") || lower.contains("cancel") => self.stop(message, line),
            "aborted" | "cancelled" | "canceled" => self.stop(message, line),
            "error" | "failed" => {
                self.builder.fail(None, message);
                self.builder.event(EventKind::Error, At { line, time: None }).message = Some(brief(message));
                self.last = Last::Error;
            }
            _ => self.last = Last::Answer,
        }
    }

    fn stop(&mut self, message: &str, line: i64) {
        self.builder.abort(message);
        self.builder.event(EventKind::Abort, At { line, time: None });
        self.last = Last::Abort;
    }

    fn finish(mut self) -> SessionResult {
        self.builder.end(self.last);
        self.builder.finish()
    }
}

/// The id of the session, that of its parent, and whether it is a subagent's, by the path: `ID/ID.jsonl`, `ID.jsonl`,
/// `PARENT/subagents/ID.jsonl` and `PARENT/subagents/ID/ID.jsonl`.
fn names(context: &Context) -> (Option<String>, Option<String>, bool) {
    let directories = &context.directories;
    let at = directories.iter().take(2).position(|directory| directory == "subagents");
    let parent = at.and_then(|at| directories.get(at + 1)).filter(|parent| *parent != ROOT).cloned();
    let is_in_place = at.is_some() || directories.iter().any(|directory| directory == ROOT);
    let id = if is_in_place { context.file_name.clone() } else { context.file_id.clone() };
    (id, parent, at.is_some())
}

/// The text between the first `<TAG>` and the `</TAG>` after it.
fn between<'t>(text: &'t str, tag: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(&format!("<{tag}>"))?;
    Some(rest.split_once(&format!("</{tag}>"))?.0)
}

/// The time in a prompt: `Friday, Jul 17, 2026, 6:10 PM (UTC+10)`, or RFC 3339.
fn time_of(text: &str) -> Option<Time> {
    let text = text.trim();
    let Some((date, zone)) = text.split_once(" (UTC") else { return Time::parse(text) };
    let date = DateTime::strptime("%A, %b %d, %Y, %I:%M %p", date).ok()?;
    let zone = zone.strip_suffix(')')?;
    let offset = match zone.split_at_checked(1) {
        None => "Z".to_owned(),
        Some((sign, rest)) => {
            let (hours, minutes) = rest.split_once(':').unwrap_or((rest, "00"));
            format!("{sign}{hours:0>2}:{minutes:0>2}")
        }
    };
    Time::parse(&format!("{date}{offset}"))
}

/// The categories of tools that other runtimes do not have.
const CATEGORIES: &[(&str, &str)] = &[
    ("Await", "shell"),
    ("CreatePlan", "plan"),
    ("Delete", "edit"),
    ("EditNotebook", "edit"),
    ("SemanticSearch", "search"),
    ("SwitchMode", "plan"),
    ("WriteShellStdin", "shell"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::engine::Hints;
    use crate::adapters::shared::builder::Retention;
    use crate::adapters::{detect, parse};
    use crate::model::errors::ErrorKind;
    use crate::model::session::Status;

    const ID: &str = "3c1d6c1e-5a3b-4c8e-8f0e-2b7a9d4f6e10";

    fn read(path: &str, lines: &[&str]) -> SessionResult {
        let hints = Hints { path, ..Hints::default() };
        parse(lines.join("\n").as_bytes(), hints, Retention::Text).sessions.swap_remove(0)
    }

    fn user(text: &str) -> String {
        format!(r#"{{"role":"user","message":{{"content":[{{"type":"text","text":"{text}"}}]}}}}"#)
    }

    const ANSWER: &str = r#"{"role":"assistant","message":{"content":[{"type":"text","text":"Done."}]}}"#;

    #[test]
    fn the_path_names_the_session_and_its_parent() {
        let names = |path: &str| {
            let session = read(&path.replace("ID", ID), &[&user("<user_query>Go</user_query>"), ANSWER]);
            (session.session_id, session.parent_session_id, session.user_turns.unwrap_or(0))
        };
        let id = |id: &str| id.to_owned();
        let root = "/home/u/.cursor/projects/work-shop/agent-transcripts";
        assert_eq!(names(&format!("{root}/ID/ID.jsonl")), (id(ID), None, 1));
        assert_eq!(names(&format!("{root}/chat-7.jsonl")), (id("chat-7"), None, 1));
        assert_eq!(names(&format!("{root}/ID/subagents/sub.jsonl")), (id("sub"), Some(id(ID)), 0));
        assert_eq!(names(&format!("{root}/ID/subagents/sub/sub.jsonl")), (id("sub"), Some(id(ID)), 0));
        assert_eq!(names(&format!("{root}/subagents/sub.jsonl")), (id("sub"), None, 0));
        assert_eq!(names("/backup/ID.jsonl"), (id(ID), None, 1));
    }

    #[test]
    fn a_prompt_is_what_was_typed() {
        let texts = [
            "<timestamp>Friday, Jul 17, 2026, 6:10 PM (UTC+10)</timestamp>\\n<user_query>\\nhello\\n</user_query>",
            "<system_notification>A task ended.</system_notification>",
            "plain",
        ];
        let lines = texts.map(user);
        let session = read("", &lines.each_ref().map(String::as_str));
        assert_eq!((session.user_turns, session.prompt.as_deref()), (Some(2), Some("hello")));
        assert_eq!(session.started_at, Time::parse("2026-07-17T08:10:00Z"));
        for (text, time) in [
            ("Monday, Jan 5, 2026, 12:00 AM (UTC-5:30)", Some("2026-01-05T05:30:00Z")),
            ("Monday, Jan 5, 2026, 9:05 AM (UTC)", Some("2026-01-05T09:05:00Z")),
            ("2026-01-02T03:04:05.000Z", Some("2026-01-02T03:04:05Z")),
            ("yesterday (UTC)", None),
        ] {
            assert_eq!(time_of(text), time.and_then(Time::parse), "{text}");
        }
    }

    #[test]
    fn calls_have_targets_and_no_status() {
        let calls = r#"{"role":"assistant","message":{"content":[{"type":"tool_use","name":"Shell","input":{"command":"npm test","working_directory":"/work"}},{"type":"tool_use","name":"StrReplace","input":{"path":"/work/a.ts","old_string":"a","new_string":"b"}},{"type":"tool_use","name":"CallMcpTool","input":{"server":"docs","toolName":"find","arguments":{}}},{"type":"tool_use","name":"Task","input":{"subagent_type":"explore","prompt":"x"}}]}}"#;
        let session = read("", &[&user("x"), calls]);
        let calls: Vec<_> = session.tool_calls.iter().map(|it| (it.tool.as_str(), it.category.as_ref())).collect();
        assert_eq!(calls, [("Shell", "shell"), ("StrReplace", "edit"), ("find", "mcp"), ("Task", "subagent")]);
        assert_eq!(session.tool_calls[0].target.as_deref(), Some("npm"));
        assert_eq!(session.tool_calls[1].target.as_deref(), Some("/work/a.ts"));
        assert_eq!(session.tool_calls[2].mcp_server.as_deref(), Some("docs"));
        assert_eq!(session.events[0].agent.as_deref(), Some("explore"));
        assert_eq!((session.cwd.as_deref(), session.turns[0].tokens.get().total()), (Some("/work"), None));
        assert_eq!((session.status, session.file_changes.len()), (Status::Incomplete, 0));
    }

    #[test]
    fn the_last_turn_decides_how_the_session_ended() {
        let end = |more: &str| {
            let line = format!(r#"{{"type":"turn_ended",{more}}}"#);
            let session = read("", &[&user("x"), ANSWER, &line]);
            (session.status, session.error_kind)
        };
        assert_eq!(end(r#""status":"success""#), (Status::Success, None));
        let aborted = (Status::Aborted, Some(ErrorKind::Cancelled));
        assert_eq!(end(r#""status":"error","error":"User aborted request""#), aborted);
        let limit = (Status::Error, Some(ErrorKind::RateLimit));
        assert_eq!(end(r#""status":"error","error":"You've hit your usage limit""#), limit);
        assert_eq!(read("", &[&user("x"), ANSWER]).status, Status::Success);
    }

    #[test]
    fn it_takes_no_records_of_others() {
        let format_at = |path: &str, line: &str| {
            detect(line.as_bytes(), Hints { path, ..Hints::default() }).first().map(|(it, _)| it.id)
        };
        let format = |line: &str| format_at("", line);
        // A newer version may add a key.
        let newer = ANSWER.replace("\"role\"", "\"requestId\":null,\"role\"");
        assert_eq!(format_at("/home/u/.cursor/projects/p/agent-transcripts/a/a.jsonl", &newer), Some(ADAPTER.id));
        assert_eq!(format_at("C:\\projects\\p\\agent-transcripts\\a.jsonl", &newer), Some(ADAPTER.id));
        assert_ne!(format(&newer), Some(ADAPTER.id));
        assert_eq!(format(ANSWER), Some(ADAPTER.id));
        assert_eq!(format(r#"{"type":"turn_ended","status":"success"}"#), Some(ADAPTER.id));
        for other in [
            r#"{"type":"turn_ended","outcome":"success"}"#,
            r#"{"role":"user","content":"x"}"#,
            r#"{"role":"user","message":{"content":"x"}}"#,
            r#"{"type":"user","role":"user","message":{"content":[]},"uuid":"u"}"#,
        ] {
            assert_ne!(format(other), Some(ADAPTER.id), "{other}");
        }
    }
}
