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
//! | model | `model` of the thread, the last one that was chosen |
//! | call | `ToolUse` blocks and `tool_results`; `tool_uses` and `tool_results` until 0.2 |
//! | user turns | messages `User`, by their id, except in subagents |
//! | status | the last message: an answer without calls is `success`, else `incomplete` |
//!
//! *Unknown*: cost, turns, and the tokens of one request: `request_token_usage` has the last request of each prompt only.
//! Threads of other agents that run in Zed are in the logs of those agents.

use crate::adapters::described;
use crate::adapters::described::{Calls, Description, Facts, Results, TokenPaths};
use crate::adapters::engine::Adapter;
use crate::json::Raw;
use crate::model::places::Place;
use crate::model::sqlite_schema::Table;

const PROMPTS: &[&str] = &["User", "user"];

const RESULTS: Results = Results {
    list: "Agent.tool_results.*|tool_results",
    call: "tool_use_id",
    content: "content",
    error: "is_error",
    ..Results::NONE
};

const THREAD: Description = Description {
    has: &["id", "data.messages"],
    records: "data.messages",
    session: "id",
    facts: Facts {
        model: "data.model.model",
        cwd: "folder_paths",
        parent_session: "parent_id",
        started_at: "created_at",
        ended_at: "updated_at|data.updated_at",
        ..Facts::NONE
    },
    role: "role|@",
    responses: &["Agent", "assistant"],
    prompts: PROMPTS,
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

/// JSON with its keys in alphabetical order: archives contain hashes of arguments in this form.
fn with_sorted_keys(arguments: Raw<'_>) -> String {
    serde_json::from_slice::<serde_json::Value>(arguments.0).unwrap_or_default().to_string()
}

pub(crate) const ADAPTER: Adapter = Adapter {
    id: "zed-db",
    runtime: "zed",
    about: "Zed's agent, threads/threads.db (from sources)",
    tested: None,
    capabilities: THREAD.capabilities(),
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
    below: &[],
    is_inside: false,
    is_optional: false,
};

#[cfg(test)]
mod tests {
    use crate::adapters::engine::Hints;
    use crate::adapters::parse;
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
