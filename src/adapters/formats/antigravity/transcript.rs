//! Google's Antigravity, of the CLI and of the editor: `brain/ID/.system_generated/logs/transcript_full.jsonl`, and
//! `transcript.jsonl` beside it (docs/formats/antigravity.md#antigravity-transcript).
//!
//! Antigravity's source is not public. The rules are those on which recorded transcripts and several public readers agree:
//!
//! - A record is a step. A step may be written before the one that precedes it, and is written again when it ends: steps are
//!   ordered by their index, and the last record of a step counts.
//! - Results have no id. They are the steps after their response, in the order of its calls.
//! - `transcript.jsonl` has the same steps with long texts cut. Either file can lack steps of the other one.
//! - No record contains tokens or costs.
//!
//! # `antigravity-transcript`
//!
//! Google's Antigravity, of the CLI and of the editor: `~/.gemini/antigravity-cli/brain/ID/.system_generated/logs/`, or
//! `antigravity` and `antigravity-ide` in its place, with `transcript_full.jsonl` and `transcript.jsonl`, which has the same steps
//! with long texts cut. Recognised by `step_index`, with a `source` and a `type` in capital letters. Its source is not public. From
//! public transcripts and readers, May to October 2026; one abridged transcript was at hand.
//!
//! | what | from |
//! | --- | --- |
//! | session | the directory `ID`, else a hash of the first record. Both files are one session: steps with the same index are one |
//! | order | `step_index`: a step may be written before the one that precedes it. The last record of a step counts, as a result is written when its tool starts and again when it ends |
//! | model, effort | the setting `Model Selection` in the last prompt, as displayed: `Gemini 3 Pro (High)` is the model `Gemini 3 Pro` with the effort `high` |
//! | cwd | `Cwd` of the first command |
//! | turn | a `PLANNER_RESPONSE`, without counts |
//! | call | its `tool_calls`, whose arguments are mostly encoded as JSON once more; `call_mcp_tool` is the tool of the server that it names |
//! | result | calls and results have no ids: the step with the index of the response plus the place of the call, else the next step of the model. A step of the type `ERROR_MESSAGE` while a call is open is its result |
//! | call status | `error`: the `status` `ERROR`, an `error`, or an exit code other than 0; `denied`: an error that contains "tool call denied", or that the user denied it. A command that goes on in the background is `ok` until a message reports its end |
//! | exit code | `exit_code`; in versions without it "exited with code N", "failed with exit code: N" or "completed successfully" in the first line of the result |
//! | call duration | `Completed At` less `Created At` in the result: whole seconds |
//! | file change | the path of an edit or a write; lines of the diffs in the result, of a new file those of `CodeContent`, else those of a line diff of the arguments |
//! | subagent | each `conversationId` in the result of `invoke_subagent`: a session of its own. Its parent is the one that names it, the sender of the message with which it begins, or the one to which it sends messages; its prompts are not typed |
//! | events | `CHECKPOINT` (compaction), `ERROR_MESSAGE` without an open call (error), refusals |
//! | user turns | `USER_INPUT` with the source `USER_EXPLICIT` |
//! | status | the last step: an answer without calls is `success`, an error is `error`; else `incomplete` |
//!
//! *Unknown*: tokens and costs. Time of the answer: `created_at` is when a step began. Artifacts (`*.metadata.json`) and the list of
//! prompts `history.jsonl` are `auxiliary`. The conversations in `conversations/*.pb` and `*.db` are [not read](formats.md#not-read).

use self::records::{Record, Step};
use self::session::Session;
use crate::adapters::engine::{Adapter, Context, Fold, Probe, RecordErrors, RecordKind, fold};
use crate::adapters::shared::ids::hashed_id;
use crate::json::lines::Line;
use crate::model::places::Place;
use crate::model::session::{Capabilities, SessionResult};

mod arguments;
mod records;
mod results;
mod session;

pub(crate) const ADAPTER: Adapter = Adapter {
    id: "antigravity-transcript",
    runtime: "antigravity",
    about: "Google's Antigravity, brain/*/.system_generated/logs/transcript*.jsonl",
    tested: None,
    capabilities: Capabilities::TURNS
        .and(Capabilities::TOOL_CALLS)
        .and(Capabilities::FILE_CHANGES)
        .and(Capabilities::SUBAGENTS)
        .and(Capabilities::COMPACTIONS)
        .and(Capabilities::PERMISSION_DENIALS)
        .and(Capabilities::USER_TURNS)
        .and(Capabilities::KEPT_BY_RUNTIME),
    places: &[
        Place::home(".gemini/antigravity-cli/brain"),
        Place::home(".gemini/antigravity/brain"),
        Place::home(".gemini/antigravity-ide/brain"),
    ],
    claims: |probe| match (is_source(&probe.text("source")), probe.has("step_index")) {
        (true, true) => 6 * u32::from(is_step(probe.kind())),
        (true, false) => 3 * u32::from(is_step(probe.kind()) && probe.has("created_at")),
        (false, _) => 0,
    },
    parse: fold::<Transcript>,
};

/// Whether a document lists prompts of conversations, or describes a file that one of them wrote.
pub(crate) fn is_auxiliary(probe: &Probe<'_>) -> bool {
    probe.has_all(&["conversationId", "workspace", "display"]) || probe.has_all(&["artifactType", "updatedAt"])
}

/// Whether a word is the source of a step.
fn is_source(source: &str) -> bool {
    matches!(source, "MODEL" | "SYSTEM") || source.starts_with("USER_")
}

/// Whether a word has the form of the type of a step.
fn is_step(kind: &str) -> bool {
    !kind.is_empty() && kind.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
}

struct Transcript {
    context: Context,
    /// The id of the session, from the path, else of the first record.
    id: Option<String>,
    steps: Vec<Step>,
}

impl Fold for Transcript {
    type Record<'a> = Record<'a>;

    fn new(context: &Context) -> Self {
        Self { context: context.clone(), id: None, steps: Vec::new() }
    }

    fn record(&mut self, line: Line<'_>, record: Record<'_>, damage: &mut RecordErrors) -> RecordKind {
        damage.note_impossible(&[record.step_index]);
        let (source, kind) = (record.source.as_str(), record.kind.as_str());
        if !is_source(source) || !is_step(kind) {
            return RecordKind::Unknown;
        }
        let context = &self.context;
        self.id.get_or_insert_with(|| id_in(&context.directories).unwrap_or_else(|| hashed_id(line.bytes)));
        let index = record.step_index.get();
        self.steps.push(Step {
            place: index.or_else(|| self.steps.last().map(|step| step.place)).unwrap_or(0),
            name: index.map_or_else(|| hashed_id(line.bytes), |index| index.to_string()),
            line: line.number,
            source: source.to_owned(),
            kind: kind.to_owned(),
            status: record.status.as_str().to_owned(),
            created_at: record.created_at.0,
            content: if record.content.is_empty() { String::new() } else { record.content.text().into_owned() },
            content_bytes: record.content.len(),
            tool_calls: record.tool_calls.text().into_owned(),
            error: record.error.as_str().to_owned(),
            exit_code: record.exit_code.whole(),
        });
        if source == "SYSTEM" && !session::is_known(kind) { RecordKind::Unknown } else { RecordKind::Known }
    }

    fn finish(mut self) -> Vec<SessionResult> {
        let Some(id) = self.id else { return Vec::new() };
        let first = self.steps.first().map_or(1, |step| step.line);
        self.steps.sort_by_key(|step| step.place);
        let mut session = Session::new(&self.context, id, first);
        let mut steps = self.steps.into_iter().peekable();
        while let Some(step) = steps.next() {
            // A later record of the step replaces it.
            let is_replaced = steps.peek().is_some_and(|next| next.name == step.name);
            if !is_replaced {
                session.step(&step);
            }
        }
        vec![session.finish()]
    }
}

/// The id in `ID/.system_generated/logs`, the directories of a transcript, the innermost first.
fn id_in(directories: &[String]) -> Option<String> {
    match directories {
        [logs, generated, id, ..] if logs == "logs" && generated == ".system_generated" => Some(id.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::engine::Hints;
    use crate::adapters::parse;
    use crate::adapters::shared::builder::Retention;
    use crate::model::session::{CallStatus, EventKind, Operation, Status};

    const ID: &str = "5b1f0e52-1c4d-4e0f-9a53-0c7c1d2e3f40";
    const PROMPT: &str = r#"{"step_index":0,"source":"USER_EXPLICIT","type":"USER_INPUT","status":"DONE","created_at":"2026-10-02T08:15:19Z","content":"<USER_REQUEST>\nGo\n</USER_REQUEST>\n<USER_SETTINGS_CHANGE>\nThe user changed setting `Model Selection` from None to Gemini 3.8 Flash (High).\n</USER_SETTINGS_CHANGE>"}"#;

    fn read(lines: &[&str]) -> SessionResult {
        let path = format!("/home/u/.gemini/antigravity-cli/brain/{ID}/.system_generated/logs/transcript_full.jsonl");
        let hints = Hints { path: &path, ..Hints::default() };
        parse(lines.join("\n").as_bytes(), hints, Retention::Text).sessions.swap_remove(0)
    }

    fn response(index: i64, more: &str) -> String {
        format!(r#"{{"step_index":{index},"source":"MODEL","type":"PLANNER_RESPONSE","status":"DONE"{more}}}"#)
    }

    fn result(index: i64, kind: &str, more: &str) -> String {
        format!(r#"{{"step_index":{index},"source":"MODEL","type":"{kind}","status":"DONE"{more}}}"#)
    }

    /// Two calls of one response; the second result is written first, and the first one twice.
    #[test]
    fn results_belong_to_the_calls_in_their_order() {
        let calls = r#","tool_calls":[{"name":"run_command","args":{"CommandLine":"cargo test","Cwd":"/work"}},{"name":"view_file","args":{"AbsolutePath":"\"/work/a.rs\""}}]"#;
        let session = read(&[
            PROMPT,
            &result(3, "GENERIC", r#","content":"fn main() {}""#),
            &response(1, calls),
            &result(2, "RUN_COMMAND", r#","content":"Tool is running""#).replace("DONE", "RUNNING"),
            &result(2, "RUN_COMMAND", r#","exit_code":101,"content":"The command failed with exit code: 101""#),
            &response(4, r#","content":"Failed.""#),
        ]);
        assert_eq!((session.session_id.as_str(), session.cwd.as_deref()), (ID, Some("/work")));
        assert_eq!((session.prompt.as_deref(), session.text.as_deref()), (Some("Go"), Some("Failed.")));
        assert_eq!((session.prompts.len(), session.turns.len(), session.status), (1, 2, Status::Success));
        let turn = &session.turns[0];
        assert_eq!((turn.model.as_deref(), turn.effort.as_deref()), (Some("Gemini 3.8 Flash"), Some("high")));
        assert_eq!(turn.tokens.get().total(), None);
        let calls: Vec<_> = session.tool_calls.iter().map(|it| (it.target.as_deref(), it.status)).collect();
        assert_eq!(calls, [(Some("cargo"), CallStatus::Error), (Some("/work/a.rs"), CallStatus::Ok)]);
        assert_eq!(session.tool_calls[0].exit_code.get(), Some(101));
    }

    #[test]
    fn a_diff_in_the_result_has_the_lines_of_an_edit() {
        let calls = r#","tool_calls":[{"name":"replace_file_content","args":{"TargetFile":"/work/a"}},{"name":"write_to_file","args":{"TargetFile":"/work/b","CodeContent":"\"x\\ny\""}}]"#;
        let edit = r#","content":"The following changes were made\n[diff_block_start]\n@@ -1 +1,2 @@\n-a\n+b\n+c\n[diff_block_end]""#;
        let session = read(&[
            PROMPT,
            &response(1, calls),
            &result(2, "CODE_ACTION", edit),
            &result(3, "CODE_ACTION", r#","content":"Created file file:///work/b with requested content.""#),
        ]);
        let changes = session.file_changes.iter();
        let changes: Vec<_> = changes.map(|it| (it.operation, it.lines_added, it.lines_removed)).collect();
        let expected = [(Some(Operation::Update), Some(2), Some(1)), (Some(Operation::Create), Some(2), Some(0))];
        assert_eq!(changes, expected);
        assert_eq!(session.status, Status::Incomplete);
    }

    #[test]
    fn refusals_errors_and_compactions_are_events() {
        let call = r#","tool_calls":[{"name":"run_command","args":{"CommandLine":"rm -r x"}}]"#;
        let session = read(&[
            PROMPT,
            &response(1, call),
            &result(2, "ERROR_MESSAGE", r#","content":"Error invalid tool call: tool call denied with reason: no""#),
            r#"{"step_index":3,"source":"SYSTEM","type":"CHECKPOINT","status":"DONE","content":"{{ CHECKPOINT 0 }}"}"#,
            r#"{"step_index":4,"source":"SYSTEM","type":"ERROR_MESSAGE","status":"ERROR","content":"RESOURCE_EXHAUSTED: quota reached (429)"}"#,
        ]);
        assert_eq!(session.tool_calls[0].status, CallStatus::Denied);
        let kinds: Vec<_> = session.events.iter().map(|event| event.kind).collect();
        assert_eq!(kinds, [EventKind::PermissionDenial, EventKind::Compaction, EventKind::Error]);
        assert_eq!(session.status, Status::Error);
    }

    #[test]
    fn a_subagent_is_named_by_its_parent_and_names_it() {
        let child = "7c2a9d10-aaaa-4bbb-8ccc-0d1e2f3a4b5c";
        let invoke = r#","tool_calls":[{"name":"invoke_subagent","args":{"Subagents":"[{\"TypeName\":\"research\",\"Role\":\"Reader\"}]"}}]"#;
        let created = format!(r#","content":"Created the following subagents:\n{{\"conversationId\": \"{child}\"}}""#);
        let parent = read(&[PROMPT, &response(1, invoke), &result(2, "INVOKE_SUBAGENT", &created)]);
        let event = &parent.events[0];
        assert_eq!((event.code.as_deref(), event.agent.as_deref()), (Some(child), Some("research")));
        let report =
            format!(r#","tool_calls":[{{"name":"send_message","args":{{"Recipient":"\"{ID}\"","Message":"x"}}}}]"#);
        let session = read(&[PROMPT, &response(1, &report)]);
        assert_eq!((session.parent_session_id.as_deref(), session.prompts.len()), (Some(ID), 0));
        let message = format!(
            r#"{{"step_index":0,"source":"SYSTEM","type":"SYSTEM_MESSAGE","status":"DONE","content":"[Message] sender={ID} content=Read"}}"#
        );
        assert_eq!(read(&[&message, &response(1, "")]).parent_session_id.as_deref(), Some(ID));
    }

    #[test]
    fn a_command_in_the_background_ends_later() {
        let call = r#","tool_calls":[{"name":"run_command","args":{"CommandLine":"make"}}]"#;
        let running =
            result(2, "RUN_COMMAND", r#","content":"Tool is running as a background task with task id: x/task-2""#);
        let ended = format!(
            r#"{{"step_index":3,"source":"SYSTEM","type":"SYSTEM_MESSAGE","status":"DONE","content":"[Message] sender={ID}/task-2 content=Task finished with result: The command failed with exit code: 2"}}"#
        );
        let lines = [PROMPT.to_owned(), response(1, call), running.replace("DONE", "RUNNING"), ended];
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let before = read(&lines[..3]);
        assert_eq!((before.tool_calls[0].status, before.tool_calls[0].exit_code.get()), (CallStatus::Ok, None));
        let after = read(&lines);
        assert_eq!((after.tool_calls[0].status, after.tool_calls[0].exit_code.get()), (CallStatus::Error, Some(2)));
    }
}
