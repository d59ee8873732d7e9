//! zag's stdout: the object of `zag exec -o json` (docs/formats/zag.md#zag-json) and the events of `-o stream-json`
//! (docs/formats/zag.md#zag-stream-json).
//!
//! zag converts each line of Claude's stdout to an event and drops the message's id. Claude writes one line for each content
//! block, and each line repeats the usage of the whole response. So consecutive events of one agent with prompts of the same
//! size are one response: the prompt of the next response is larger, as it includes this one. The output on these lines is
//! only a stub from the start of the stream. The billed tokens are in the usage of the object, which excludes subagents.
//!
//! # `zag-json`
//!
//! `zag exec -o json`. Recognised by `agent`, `events` and `is_error` together. The session is `session_id`, that of the provider.
//! zag converts Claude's lines to events without the message's id: consecutive events of one agent with the same prompt size are
//! one turn. The total is `usage`, that of the main agent, with `total_cost_usd`. The status is `is_error`. *Lower bound* if there
//! are subagents.
//!
//! # `zag-stream-json`
//!
//! `zag exec -o stream-json`: the same events, one on each line. Recognised by their types without any id or time; the content
//! of messages is a list. The session is a hash of the first event after `init`. Repeated events count again, unless they begin
//! with the stream's `init` or repeat all events before them: then the file contains the stream twice. There is no total, so
//! the usage is a *lower bound*. The empty `success` at the end of every stream is not the end of a session.

use self::records::{Event, Output};
pub(crate) use self::records::{Refusals, ToolResult, limit_text};
use self::session::Session;
use crate::adapters::engine::{
    Adapter, Context, FinishedSessions, Fold, Probe, RecordErrors, RecordKind, SessionRecords, fold, session_records,
};
use crate::adapters::shared::ids::{hash_of_document, hashed_id};
use crate::json::Raw;
use crate::json::lines::Line;
use crate::model::session::{Capabilities, SessionResult};

mod records;
mod session;

/// What Claude's events can show. Of other providers zag writes only the last text.
const SHOWS: Capabilities = Capabilities::TOOL_CALLS
    .and(Capabilities::FILE_CHANGES)
    .and(Capabilities::SUBAGENTS)
    .and(Capabilities::PERMISSION_DENIALS)
    .and(Capabilities::WEB_SEARCHES);

pub(crate) const JSON: Adapter = Adapter {
    id: "zag-json",
    runtime: "zag",
    about: "zag, zag exec -o json or json-pretty",
    tested: None,
    capabilities: SHOWS,
    places: &[],
    claims: |probe| if probe.has_all(&["agent", "events", "is_error"]) { 6 } else { 0 },
    parse: session_records::<Outputs>,
};

pub(crate) const STREAM: Adapter = Adapter {
    id: "zag-stream-json",
    runtime: "zag",
    about: "zag, zag exec -o stream-json",
    tested: None,
    capabilities: SHOWS,
    places: &[],
    claims,
    parse: fold::<Stream>,
};

fn claims(probe: &Probe<'_>) -> u32 {
    // The events of zag's session log and of other programs have the same types, but ids and times as well.
    if ["wrapper_session_id", "session_id", "sessionId", "sessionID", "timestamp", "id"].iter().any(|it| probe.has(it))
    {
        return 0;
    }
    let keys: &[&str] = match probe.kind() {
        "init" => &["model", "tools", "metadata"],
        "user_message" | "assistant_message" => &["content"],
        "tool_execution" => &["tool_name", "tool_id", "result"],
        "turn_complete" => &["turn_index"],
        "permission_request" => &["tool_name", "granted"],
        "usage_limit_detected" => &["provider", "scope"],
        "result" => &["success", "message", "num_turns"],
        "error" => &["message", "details"],
        _ => return 0,
    };
    // Other programs write messages whose content is a text.
    let is_text = probe.raw("content").is_string();
    if probe.has_all(keys) && !is_text { 4 } else { 0 }
}

/// The objects of `-o json`: each is the recording of one process.
enum Outputs {}

impl SessionRecords for Outputs {
    type Record<'a> = Output<'a>;

    fn record(log: &mut FinishedSessions, line: Line<'_>, output: Output<'_>, damage: &mut RecordErrors) -> RecordKind {
        // zag writes `unknown` if there is no id.
        let provider_session = output.session_id.some().filter(|it| *it != "unknown");
        let id = provider_session.map_or_else(|| hashed_id(line.bytes), str::to_owned);
        let mut session = Session::new(&log.context, id, line.number);
        session.recording.push(hash_of_document(line.bytes));
        session.builder.session.provider_session_id = provider_session.map(str::to_owned);
        session.builder.session.model = output.model.owned();
        session.model = output.model.owned();
        session.provider = output.provider.owned();
        let mut seen = RecordKind::Known;
        for event in &output.events {
            if session.event(event, line.number, damage) == RecordKind::Unknown {
                seen = RecordKind::Unknown;
            }
        }
        session.output(&output, line, damage);
        log.sessions.push(session.finish());
        seen
    }
}

/// The events of `-o stream-json`. They contain no session id: all events of a log are one session.
struct Stream {
    context: Context,
    session: Option<Session>,
    has_id: bool,
    /// Events that repeat the recording from its beginning, one after the other: the log may contain the recording twice.
    repeated: Vec<(i64, Vec<u8>)>,
}

impl Fold for Stream {
    type Record<'a> = Event<'a>;

    fn new(context: &Context) -> Self {
        Self { context: context.clone(), session: None, has_id: false, repeated: Vec::new() }
    }

    fn record(&mut self, line: Line<'_>, event: Event<'_>, damage: &mut RecordErrors) -> RecordKind {
        if !is_known(event.kind.as_str()) {
            return RecordKind::Unknown;
        }
        // Two copies of a recording in one file, perhaps of different lengths, count once.
        let known = self.session.as_ref().and_then(|it| it.recording.get(self.repeated.len()));
        if known == Some(&hash_of_document(line.bytes)) {
            self.repeated.push((line.number, line.bytes.to_vec()));
            return RecordKind::Known;
        }
        self.end_of_copy(damage);
        self.event(line, &event, damage)
    }

    fn finish(mut self) -> Vec<SessionResult> {
        // The damage of equal events is already counted.
        self.end_of_copy(&mut RecordErrors::default());
        // A recording that was cut after `init` has no event from which to make an id.
        self.session.filter(|_| self.has_id).into_iter().map(Session::finish_stream).collect()
    }
}

impl Stream {
    fn event(&mut self, line: Line<'_>, event: &Event<'_>, damage: &mut RecordErrors) -> RecordKind {
        let session =
            self.session.get_or_insert_with(|| Session::new(&self.context, hashed_id(line.bytes), line.number));
        session.recording.push(hash_of_document(line.bytes));
        // The `init` is the same in all sessions of a project, so the id is a hash of the first other event.
        if !self.has_id && event.kind.as_str() != "init" {
            self.has_id = true;
            session.builder.session.session_id = hashed_id(line.bytes);
        }
        session.event(event, line.number, damage)
    }

    /// Ends a repetition. It is a copy if it begins with `init`, or if it repeats all events before it. Else the events
    /// occurred again, and are added.
    fn end_of_copy(&mut self, damage: &mut RecordErrors) {
        let repeated = std::mem::take(&mut self.repeated);
        let is_whole = self.session.as_ref().is_none_or(|it| it.recording.len() == repeated.len());
        let events = repeated.iter().map(|(number, bytes)| (Line { number: *number, bytes }, Raw(bytes).read()));
        let events: Vec<(Line<'_>, Event<'_>)> = events.collect();
        if is_whole || events.first().is_some_and(|(_, it)| it.kind.as_str() == "init") {
            return;
        }
        for (line, event) in events {
            self.event(line, &event, damage);
        }
    }
}

fn is_known(kind: &str) -> bool {
    matches!(
        kind,
        "init"
            | "user_message"
            | "assistant_message"
            | "tool_execution"
            | "turn_complete"
            | "result"
            | "error"
            | "permission_request"
            | "usage_limit_detected"
    )
}

#[cfg(test)]
mod tests {
    use crate::adapters::engine::Parsed;
    use crate::adapters::parse;
    use crate::adapters::shared::builder::Retention;
    use crate::model::session::CallStatus;
    use crate::model::session::Status;
    use crate::model::session::Tokens;

    fn read(log: &str) -> Parsed {
        parse(log.as_bytes(), crate::adapters::Hints::default(), Retention::Text)
    }

    /// With proxies there are no counts: then a result separates two responses.
    #[test]
    fn results_separate_responses_without_counts() {
        let say = r#"{"type":"assistant_message","content":[{"type":"text","text":"a"}],"usage":null}"#;
        let call = r#"{"type":"assistant_message","content":[{"type":"tool_use","id":"1","name":"Bash","input":{}}],"usage":{"input_tokens":0,"output_tokens":0}}"#;
        let done =
            r#"{"type":"tool_execution","tool_name":"Bash","tool_id":"1","input":null,"result":{"success":true}}"#;
        let parsed = read(&[say, call, done, say].join("\n"));
        let turns = &parsed.sessions[0].turns;
        assert_eq!(turns.len(), 2);
        assert!(turns.iter().all(|it| it.tokens.get() == Tokens::UNKNOWN));
    }

    /// Without an `init`, only equal events show where a copy begins.
    #[test]
    fn a_stream_without_its_beginning_counts_once() {
        let answer = |text: &str, read: i64| {
            format!(
                r#"{{"type":"assistant_message","content":[{{"type":"text","text":"{text}"}}],"usage":{{"input_tokens":3,"output_tokens":1,"cache_read_tokens":{read}}}}}"#
            )
        };
        let (a, b, c) = (answer("a", 100), answer("b", 200), answer("c", 300));
        let turns = |lines: &[&String]| {
            let lines: Vec<&str> = lines.iter().map(|it| it.as_str()).collect();
            read(&lines.join("\n")).sessions[0].turns.len()
        };
        assert_eq!(turns(&[&a, &b, &a, &b]), 2);
        // The copy is longer.
        assert_eq!(turns(&[&a, &b, &a, &b, &c]), 3);
        // Repeated events that are not a copy.
        assert_eq!(turns(&[&a, &b, &a, &c]), 4);
        assert_eq!(turns(&[&a, &b, &c, &a, &b]), 5);
    }

    #[test]
    fn an_execution_may_be_the_call() {
        let parsed = read(
            r#"{"type":"tool_execution","tool_name":"Write","tool_id":"","input":{"file_path":"/work/shop/a"},"result":{"success":true,"output":"ok"}}"#,
        );
        let session = &parsed.sessions[0];
        assert_eq!((session.tool_calls[0].call_id.as_str(), session.tool_calls[0].status), ("#1", CallStatus::Ok));
        assert_eq!(session.file_changes[0].path, "/work/shop/a");
    }

    /// Without Claude's structured result, the arguments show the lines.
    #[test]
    fn an_edit_has_the_lines_of_its_arguments() {
        let parsed = read(
            r#"{"type":"tool_execution","tool_name":"Edit","tool_id":"1","input":{"file_path":"/a","old_string":"x\ny","new_string":"x\nz\ny"},"result":{"success":true,"output":"ok"}}"#,
        );
        let change = &parsed.sessions[0].file_changes[0];
        assert_eq!((change.lines_added, change.lines_removed), (Some(1), Some(0)));
    }

    /// The event that zag writes after every stream is not a success.
    #[test]
    fn the_end_mark_is_not_a_result() {
        let failed =
            r#"{"type":"result","success":false,"message":"429 too many requests","duration_ms":5,"num_turns":1}"#;
        let mark = r#"{"type":"result","success":true,"message":null,"duration_ms":null,"num_turns":null}"#;
        assert_eq!(read(&[failed, mark].join("\n")).sessions[0].status, Status::Error);
        assert_eq!(read(mark).sessions[0].status, Status::Incomplete);
    }
}
