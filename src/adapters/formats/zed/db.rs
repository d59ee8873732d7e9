//! Threads of Zed's agent: `threads.db`, whose rows contain one document each, compressed with zstd (docs/formats/zed.md#zed-db),
//! described by data.
//!
//! The rules are those of Zed's source: `crates/agent/src/db.rs`, `thread.rs` and `legacy_thread.rs`. `cumulative_token_usage` is the
//! sum over all requests of the thread, with disjoint counts; versions that did not add to it wrote zeros. A message of version 0.3 is
//! an object with one key, its author; versions 0.1 and 0.2 have a `role`, and lists of calls and results beside the text.
//!
//! # `zed-db`
//!
//! The threads of Zed's agent: `threads/threads.db` below `~/.local/share/zed`, `~/Library/Application Support/Zed` on macOS,
//! `%LOCALAPPDATA%\Zed` on Windows. Recognised by the table `threads` with `data_type` and `updated_at`. A row contains one
//! document as JSON, mostly compressed with zstd. From Zed's source: versions 0.1 to 0.3 of the document. The format is
//! described by data, in `src/adapters/formats/zed/db.rs`.
//!
//! | what | from |
//! | --- | --- |
//! | session, parent | `id`, `parent_id`: a subagent's thread is a session of its own |
//! | cwd, times | the first of `folder_paths`; `created_at`, `updated_at`: messages have no times |
//! | tokens | `cumulative_token_usage`, the sum over all requests with disjoint counts, in a row of grain `session`. Zeros are unknown: earlier versions did not add to it |
//! | model, provider, effort | `model` of the thread, the last one that was chosen; `thinking_effort` if `thinking_enabled` |
//! | repository, branch | `git_state` of the first of `worktree_snapshots`, as the thread began |
//! | call | `ToolUse` blocks and `tool_results`; `tool_uses` and `tool_results` until 0.2 |
//! | call status | `is_error`, or the text: of a command "failed with exit code N", "timed out", "The user stopped this command", "terminated unexpectedly" (`error`); "Tool canceled by user" (`cancelled`); "denied by user", "user denied", "blocked by security rule", "tool is disabled" (`denied`) |
//! | events | messages `Compaction`, refusals |
//! | user turns | messages `User`, by their id, except in subagents |
//! | status | the last message: an answer without calls is `success`, else `incomplete` |
//!
//! *Unknown*: cost, turns, and the tokens of one request: `request_token_usage` has the last request of each prompt only.
//! Threads of other agents that run in Zed are in the logs of those agents.

use crate::adapters::described;
use crate::adapters::described::{Calls, Compaction, Description, Facts, OwnFacts, Results, TokenPaths};
use crate::adapters::engine::{Adapter, Probe};
use crate::adapters::shared::repository::of_remote;
use crate::base::text::Symbol;
use crate::json::Raw;
use crate::json::fields::Flag;
use crate::model::places::Place;
use crate::model::session::Capabilities;
use crate::model::sqlite_schema::Table;

mod outcome;

const PROMPTS: &[&str] = &["User", "user"];

const RESULTS: Results = Results {
    list: "Agent.tool_results.*|tool_results",
    call: "tool_use_id",
    content: "content",
    error: "is_error",
    outcome: Some(outcome::outcome),
    ..Results::NONE
};

const THREAD: Description = Description {
    has: &["id", "data.messages"],
    records: "data.messages",
    session: "id",
    facts: Facts {
        model: "data.model.model",
        cwd: "folder_paths",
        git_branch: "data.initial_project_snapshot.worktree_snapshots.0.git_state.current_branch",
        parent_session: "parent_id",
        started_at: "created_at",
        ended_at: "updated_at|data.updated_at",
        ..Facts::NONE
    },
    own_facts: Some(own_facts),
    role: "role|@",
    responses: &["Agent", "assistant"],
    prompts: PROMPTS,
    compaction: Some(|message| message.has("Compaction").then(Compaction::default)),
    message_id: "User.id|id",
    text: "User.content.*.Text|Agent.content.*.Text|segments.type=text.text",
    totals: TokenPaths {
        input: "data.cumulative_token_usage.input_tokens",
        output: "data.cumulative_token_usage.output_tokens",
        cache_read: "data.cumulative_token_usage.cache_read_input_tokens",
        cache_write: "data.cumulative_token_usage.cache_creation_input_tokens",
        ..TokenPaths::NONE
    },
    calls: Some(Calls {
        list: "Agent.content.*.ToolUse|tool_uses",
        id: "id",
        name: "name",
        arguments: "input",
        arguments_form: Some(with_sorted_keys),
        ..Calls::NONE
    }),
    results: Some(RESULTS),
    ..Description::NOTHING
};

/// The prompts of a subagent are its parent's: they begin its work as a result does.
const SUBAGENT: Description = Description {
    has: &["id", "data.messages", "parent_id"],
    prompts: &[],
    results: Some(Results { roles: PROMPTS, ..RESULTS }),
    ..THREAD
};

/// The remote of the worktree whose branch is read, and the provider and the effort of the model (`DbThread` in `db.rs`).
fn own_facts(row: &Probe<'_>) -> OwnFacts {
    let thread = row.object("data");
    let worktrees: Vec<Raw<'_>> = thread.object("initial_project_snapshot").raw("worktree_snapshots").read();
    let worktree = worktrees.first().and_then(|it| Probe::new(it.0, ""));
    let remote = worktree.map(|it| it.object("git_state").text("remote_url").into_owned());
    let word = |text: &str| Some(text).filter(|it| !it.is_empty()).map(Symbol::new);
    let thinks = thread.raw("thinking_enabled").read::<Flag>().is_true();
    OwnFacts {
        repository: remote.as_deref().and_then(of_remote),
        provider: word(&thread.object("model").text("provider")),
        effort: word(&thread.text("thinking_effort")).filter(|_| thinks),
    }
}

/// JSON with its keys in alphabetical order: archives contain hashes of arguments in this form.
fn with_sorted_keys(arguments: Raw<'_>) -> String {
    serde_json::from_slice::<serde_json::Value>(arguments.0).unwrap_or_default().to_string()
}

pub(crate) const ADAPTER: Adapter = Adapter {
    id: "zed-db",
    runtime: "zed",
    about: "Zed's agent, threads/threads.db (from sources)",
    tested: None,
    capabilities: THREAD.capabilities().and(Capabilities::PERMISSION_DENIALS),
    places: &[
        Place::data("zed/threads"),
        // Of macOS, and of Windows.
        Place::application("Zed/threads"),
        Place::local_application("Zed/threads"),
    ],
    claims: |probe| {
        let is_row = probe.text("table") == THREADS.name && probe.has_all(&["data_type", "updated_at"]);
        6 * u32::from(is_row)
    },
    parse: |context, input| described::start(context, input, &[SUBAGENT, THREAD]),
};

pub(crate) const THREADS: Table = Table {
    name: "threads",
    key: "id",
    needs: &["summary", "updated_at", "data_type", "data"],
    columns: &["parent_id", "folder_paths", "updated_at", "created_at", "data_type", "data"],
    json: &["data"],
    order: "id",
    ..Table::PLAIN
};

#[cfg(test)]
mod tests {
    use crate::adapters::engine::Hints;
    use crate::adapters::parse;
    use crate::model::retention::Retention;
    use crate::model::session::{CallStatus, EventKind, SessionResult, Status};

    fn read(data: &str) -> SessionResult {
        let row = format!(
            r#"{{"table":"threads","id":"t","updated_at":"2026-10-19T09:04:10+00:00","data_type":"json","data":{data}}}"#
        );
        parse(row.replace('\n', "").as_bytes(), Hints::default(), Retention::Text).sessions.swap_remove(0)
    }

    /// A thread has one provider and one effort, as it has one model.
    #[test]
    fn a_thread_states_its_model_and_its_worktree() {
        let thread = r#"{"version":"0.3.0","messages":[{"User":{"id":"u1","content":[{"Text":"Go"}]}},"Resume",
            {"Compaction":{"Summary":"So far"}},{"Compaction":{"ProviderNative":{"provider":"openai","items":[]}}},
            {"Agent":{"content":[{"Text":"Done"}],"tool_results":{}}}],
            "cumulative_token_usage":{"input_tokens":100,"output_tokens":20},
            "model":{"provider":"anthropic","model":"claude-sonnet-4-5"},"thinking_enabled":true,"thinking_effort":"high",
            "initial_project_snapshot":{"worktree_snapshots":[{"worktree_path":"/home/ada/shop","git_state":
            {"remote_url":"git@github.com:ada/shop.git","head_sha":"a1","current_branch":"prices","diff":null}}],"timestamp":"2026-10-19T09:00:00Z"}}"#;
        let session = read(thread);
        assert_eq!(
            (session.repository.as_deref(), session.git_branch.as_deref()),
            (Some("github.com/ada/shop"), Some("prices"))
        );
        let total = &session.totals[0].models[0];
        assert_eq!((total.provider.as_deref(), total.effort.as_deref()), (Some("anthropic"), Some("high")));
        assert_eq!(session.status, Status::Success);
        let compactions = session.events.iter().filter(|it| it.kind == EventKind::Compaction).count();
        assert_eq!(compactions, 2);
        let session = read(
            &thread
                .replace(r#""thinking_enabled":true"#, r#""thinking_enabled":false"#)
                .replace(r#"{"worktree_path""#, r#"null,{"worktree_path""#),
        );
        assert_eq!((session.totals[0].models[0].effort.as_deref(), session.repository), (None, None));
    }

    #[test]
    fn the_text_of_a_result_states_how_the_call_ended() {
        for (tool, text, is_error, status, exit_code) in [
            ("terminal", "Tool canceled by user", true, CallStatus::Cancelled, None),
            ("edit_file", "Permission to run tool denied by user", true, CallStatus::Denied, None),
            ("fetch", "fetch tool is disabled", true, CallStatus::Denied, None),
            ("terminal", "Command blocked by security rule for terminal tool", true, CallStatus::Denied, None),
            (
                "terminal",
                "Command cancelled: user denied permission to run outside the sandbox (x).",
                false,
                CallStatus::Denied,
                None,
            ),
            (
                "terminal",
                "Command \\\"false\\\" failed with exit code 1.\\n\\n```\\nx\\n```",
                false,
                CallStatus::Error,
                Some(1),
            ),
            (
                "terminal",
                "Command \\\"echo \\\" failed with exit code 2.\\\"\\\" failed with exit code 127.",
                false,
                CallStatus::Error,
                Some(127),
            ),
            ("terminal", "Command \\\"sleep 9\\\" timed out. No output was captured.", false, CallStatus::Error, None),
            (
                "terminal",
                "Command \\\"cat x\\\" failed with exit code 3.\\n\\nCommand output too long. The first 9 bytes:\\n\\n```\\nx\\n```",
                false,
                CallStatus::Error,
                Some(3),
            ),
            (
                "terminal",
                "The user stopped this command. No output was captured before stopping.",
                false,
                CallStatus::Error,
                None,
            ),
            ("terminal", "```\\nCommand \\\"false\\\" failed with exit code 1.\\n```", false, CallStatus::Ok, None),
            ("read_file", "Command \\\"false\\\" failed with exit code 1.", false, CallStatus::Ok, None),
            ("read_file", "terminal tool is disabled", false, CallStatus::Ok, None),
        ] {
            let thread = format!(
                r#"{{"version":"0.3.0","messages":[{{"Agent":{{"content":[{{"ToolUse":{{"id":"c1","name":"{tool}","input":{{}}}}}}],
                "tool_results":{{"c1":{{"tool_use_id":"c1","tool_name":"{tool}","is_error":{is_error},"content":[{{"Text":"{text}"}}]}}}}}}}}]}}"#
            );
            for thread in [
                thread.clone(),
                // Earlier forms of a result.
                thread.replace(&format!(r#"[{{"Text":"{text}"}}]"#), &format!(r#"{{"Text":"{text}"}}"#)),
                thread.replace(&format!(r#"[{{"Text":"{text}"}}]"#), &format!(r#""{text}""#)),
            ] {
                let session = read(&thread);
                let call = &session.tool_calls[0];
                assert_eq!((call.status, call.exit_code.get()), (status, exit_code), "{thread}");
                assert_eq!(session.events.len(), usize::from(status == CallStatus::Denied), "{thread}");
            }
        }
    }

    /// Versions 0.1 and 0.2 name the author of a message, and have lists of calls and results beside its text.
    #[test]
    fn an_older_thread_is_read() {
        let thread = r#"{"version":"0.2.0","summary":"s","messages":[
            {"id":0,"role":"user","segments":[{"type":"text","text":"Go"}]},
            {"id":1,"role":"assistant","segments":[{"type":"thinking","text":"x"},{"type":"text","text":"Done"}],
             "tool_uses":[{"id":"c1","name":"terminal","input":{"command":"ls"}}],
             "tool_results":[{"tool_use_id":"c1","is_error":true,"content":"no"}]}],
            "cumulative_token_usage":{"input_tokens":0,"output_tokens":0}}"#;
        let session = read(thread);
        assert_eq!((session.prompts.len(), session.text.as_deref()), (1, Some("Done")));
        assert_eq!((session.tool_calls[0].status, session.status), (CallStatus::Error, Status::Incomplete));
        // Zeros are unknown.
        assert!(session.totals.is_empty());
    }
}
