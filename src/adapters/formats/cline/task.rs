//! The task directories of Cline (until 4.0) and of its forks Roo Code and Kilo Code (until 5): `tasks/ID/*.json`
//! (docs/formats/cline.md#cline-task).
//!
//! Each file contains a part of the task. The ledger joins them by the name of the directory, which no file contains.
//!
//! - `ui_messages.json`: an `api_req_started` contains, as a JSON string, the tokens and the cost of one request, which are
//!   filled in when the request ends. They are no running total. `subagent_usage` and `deleted_api_reqs` are the sums of
//!   several billed requests; of a `condense_context` only the cost is logged.
//! - `api_conversation_history.json`: the calls and their results, as blocks, in older versions as text. The request of a
//!   call is in the other file.
//! - `task_metadata.json`: the models.
//!
//! Whether `tokensIn` includes cached tokens depends on the program. Cline: only with providers that pass on the prompt count
//! of OpenAI's interface. Roo Code since 3.29.5 and Kilo Code since 4.119.0: always; before, except with Anthropic's
//! interface (`costResult.totalInputTokens` in their `Task.ts`). Cached tokens are never subtracted from a smaller count.
//!
//! # `cline-task`
//!
//! Cline until 4.0, `tasks/ID/*.json` below `saoudrizwan.claude-dev` or `~/.cline/data`. Roo Code and Kilo Code are its forks and
//! write the same files:
//!
//! - `ui_messages.json`: records of `type` `ask` or `say` with `ts`. It contains requests, prompts and the outcome.
//! - `api_conversation_history.json`: `role` and `content` with `<environment_details>`. It contains the calls.
//! - `task_metadata.json`: `files_in_context`. It contains models and version.
//! - `history_item.json` of Roo Code since February 2026: `number` and `tokensIn`. It contains the parent, the directory and the
//!   mode; its counts are sums over the messages.
//!
//! The program is recognised by words that only it uses (for Cline `modelInfo`, `model_usage`, `checkpoint_created`, …), or by the
//! directory; without either it is Cline. From their sources.
//!
//! | what | from |
//! | --- | --- |
//! | session | the name of the directory, which joins the files: a UUID or a time in ms; else a hash of the first record |
//! | model, provider | `modelInfo`; that of the session if `model_usage` and `<model>` contain only one |
//! | turn | `api_req_started`: a JSON string, filled in when the request ends; identified by its time and that of the task's first message |
//! | tokens | `tokensIn`, `tokensOut`, `cacheReads`, `cacheWrites`; see below |
//! | cost | `cost` of each |
//! | more turns | `subagent_usage` (a subagent's requests in one), `deleted_api_reqs`, and `condense_context`, whose tokens are unknown |
//! | call | `tool_use` and `tool_result` blocks; in older versions the text `[tool for 'target'] Result:`. Their turns are unknown |
//! | call status | `denied`: "The user denied this operation", `"status":"denied"`; `error`: `is_error`, "The tool execution failed", `"status":"error"`, or an exit code other than 0 |
//! | exit code | `Exit code: N` before the output (Roo Code), `(exit code 0)` or `failed with exit code N` at the beginning (Cline since February 2026) |
//! | file change | the path, or the patch; lines from the patch, from SEARCH/REPLACE blocks in `diff`, or from the old and new text of the arguments |
//! | events | a new `conversationHistoryDeletedRange`, `condense_context`, `sliding_window_truncation` (compaction), `api_req_retried`, `api_req_retry_delayed`, `error_retry` (retry), `error`, `api_req_failed`, `mistake_limit_reached` (error), `cancelReason` (abort or error) |
//! | user turns | `task`, `user_feedback`, a `text` as the first message |
//! | cwd, agent | `# Current Working Directory (…)` or `# Current Workspace Directory (…)`; `<slug>`; else `workspace` and `mode` of `history_item.json` |
//! | parent | `parentTaskId` of `history_item.json` |
//! | status | the last message: an answer or a question is `success`; a failed request `error`; `user_cancelled` is `aborted`; else `incomplete` |
//!
//! Whether `tokensIn` includes cached tokens depends on the program. Cline: only with providers that pass on the prompt count of
//! OpenAI's interface. Roo Code since 3.29.5 and Kilo Code since 4.119.0 (in agentlogs: since 2025-11-01 and 2025-11-12): always;
//! before, except with `apiProtocol` `anthropic`. Cached tokens are never subtracted from a smaller count. *Lower bound*: a request
//! that was cut before its counts were filled in; and in Cline a request with the provider `cline` to a model of Anthropic with 0
//! `cacheWrites`: its writes are a part of `tokensIn` (50,858 of 50,868 in the one request whose cost proves it), so
//! `cache_write_tokens` is unknown.
//!
//! Each file has counters of its own. With `ui_messages.json` alone, the counters of calls, file changes, subagents and denials
//! are NULL; without it, those of turns, prompts, compactions and retries.
//!
//! # `roo-task`
//!
//! Roo Code, below `rooveterinaryinc.roo-cline`. Read as `cline-task`; only Roo Code uses the words `apiProtocol`, `<slug>`,
//! `checkpoint_saved`, `condense_context`, `api_req_retry_delayed`. `tasks/_index.json` repeats all `history_item.json`, and is not
//! read.
//!
//! # `kilo-task`
//!
//! Kilo Code until 5, below `kilocode.kilo-code`. Read as `cline-task`; only Kilo Code uses the words `inferenceProvider`,
//! `usageMissing`, `metadata.kiloCode`, `payment_required_prompt`, `invalid_model`, `checkpoint_restore`.

use self::records::{HISTORY, VIEW};
use self::session::Task;
use crate::adapters::engine::{Adapter, Probe, fold};
use crate::json::Raw;
use crate::model::places::Place;
use crate::model::session::Capabilities;

mod records;
mod session;

const SHOWS: Capabilities = VIEW.and(HISTORY).and(Capabilities::KEPT_BY_RUNTIME);

pub(crate) const CLINE: Adapter = Adapter {
    id: "cline-task",
    runtime: "cline",
    about: "Cline until 4.0, task directories of saoudrizwan.claude-dev and ~/.cline/data",
    tested: Some("3.89.2"),
    capabilities: SHOWS,
    places: &[Place::extension("saoudrizwan.claude-dev/tasks"), Place::variable("CLINE_DIR", ".cline", "data/tasks")],
    claims: |probe| {
        if is_history_item(probe) {
            return 0;
        }
        let is_own = || {
            probe.has("modelInfo")
                || probe.has("model_usage")
                || probe.raw("content").contains("# Current Mode\\nACT MODE")
                || probe.raw("content").contains("# Current Mode\\nPLAN MODE")
                || matches!(
                    probe.text("say").as_ref(),
                    "task" | "checkpoint_created" | "task_progress" | "subagent_usage"
                )
                || is_in(probe, &["saoudrizwan.claude-dev", ".cline"])
        };
        claims(probe, is_own)
    },
    parse: fold::<Task>,
};

pub(crate) const ROO: Adapter = Adapter {
    id: "roo-task",
    runtime: "roo",
    about: "Roo Code, task directories of rooveterinaryinc.roo-cline",
    tested: None,
    capabilities: SHOWS,
    places: &[Place::extension("rooveterinaryinc.roo-cline/tasks")],
    claims: |probe| {
        let is_own = || {
            probe.text("text").contains("\"apiProtocol\"")
                || probe.raw("content").contains("<slug>")
                || matches!(
                    probe.text("say").as_ref(),
                    "checkpoint_saved" | "condense_context" | "api_req_retry_delayed"
                )
                || is_in(probe, &["rooveterinaryinc.roo-cline", ".vscode-mock"])
        };
        claims(probe, is_own)
    },
    parse: fold::<Task>,
};

pub(crate) const KILO: Adapter = Adapter {
    id: "kilo-task",
    runtime: "kilo",
    about: "Kilo Code until 5, task directories of kilocode.kilo-code",
    tested: None,
    capabilities: SHOWS,
    // Since version 5 a database: `opencode-db`.
    places: &[
        Place::extension("kilocode.kilo-code/tasks"),
        Place::data("kilo/kilo.db"),
        Place::data("kilo/kilo-*.db"),
        Place::data("kilo/opencode-*.db"),
        Place::data("kilo/storage"),
        Place::only_variable("KILO_DB", ""),
    ],
    claims: |probe| {
        let is_own = || {
            let text = probe.text("text");
            text.contains("\"inferenceProvider\"")
                || text.contains("\"usageMissing\"")
                || probe.object("metadata").has("kiloCode")
                || matches!(
                    probe.text("ask").as_ref(),
                    "payment_required_prompt" | "invalid_model" | "checkpoint_restore"
                )
                || is_in(probe, &["kilocode.kilo-code"])
        };
        // Kilo Code's records contain Roo Code's own words as well.
        match claims(probe, is_own) {
            OWN => 2 * OWN,
            other => other,
        }
    },
    parse: fold::<Task>,
};

/// More than the records that the three programs have in common can claim together.
const OWN: u32 = 100;

/// The three programs write the same records: a word that only one of them uses, or the directory, decides.
fn claims(probe: &Probe<'_>, is_own: impl FnOnce() -> bool) -> u32 {
    let is_message = matches!(probe.kind(), "ask" | "say")
        && probe.has("ts")
        && (probe.has("say") || probe.has("ask"))
        && !probe.has("sessionId");
    let is_history =
        !probe.has("type") && probe.text("role") == "user" && probe.raw("content").contains("<environment_details>");
    let is_metadata = probe.has("files_in_context") && !probe.has("type");
    match is_message || is_history || is_metadata || is_history_item(probe) {
        true if is_own() => OWN,
        true => 3,
        false => 0,
    }
}

/// `history_item.json`, which Cline does not write.
fn is_history_item(probe: &Probe<'_>) -> bool {
    probe.has_all(&["id", "number", "ts", "task", "tokensIn", "totalCost"]) && !probe.has("type")
}

/// Indexes of the tasks: Roo Code's `_index.json`, and Cline's `taskHistory.json`.
pub(crate) fn is_auxiliary(probe: &Probe<'_>) -> bool {
    let is_index = || {
        let entries: Vec<Raw<'_>> = probe.raw("entries").read();
        let first = entries.first().and_then(|entry| Probe::new(entry.0, ""));
        probe.has("updatedAt") && first.is_some_and(|first| is_history_item(&first))
    };
    is_index() || probe.has_all(&["id", "ts", "task", "tokensIn", "totalCost"]) && !probe.has("number")
}

fn is_in(probe: &Probe<'_>, directories: &[&str]) -> bool {
    probe.path().split(['/', '\\']).any(|it| directories.contains(&it))
}
