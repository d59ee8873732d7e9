//! The task directories of Cline (until 4.0) and of its forks Roo Code and Kilo Code (until 5): `tasks/ID/*.json`
//! (docs/formats.md#cline-task).
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
    about: "Cline until 4.0, task folders of saoudrizwan.claude-dev and ~/.cline/data",
    tested: Some("3.89.2"),
    capabilities: SHOWS,
    places: &[Place::extension("saoudrizwan.claude-dev/tasks"), Place::variable("CLINE_DIR", ".cline", "data/tasks")],
    claims: |probe| {
        let is_own = || {
            probe.has("modelInfo")
                || probe.has("model_usage")
                || has(probe.raw("content"), "# Current Mode\\nACT MODE")
                || has(probe.raw("content"), "# Current Mode\\nPLAN MODE")
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
    about: "Roo Code, task folders of rooveterinaryinc.roo-cline",
    tested: None,
    capabilities: SHOWS,
    places: &[Place::extension("rooveterinaryinc.roo-cline/tasks")],
    claims: |probe| {
        let is_own = || {
            probe.text("text").contains("\"apiProtocol\"")
                || has(probe.raw("content"), "<slug>")
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
    about: "Kilo Code until 5, task folders of kilocode.kilo-code",
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
        !probe.has("type") && probe.text("role") == "user" && has(probe.raw("content"), "<environment_details>");
    let is_metadata = probe.has("files_in_context") && !probe.has("type");
    match is_message || is_history || is_metadata {
        true if is_own() => OWN,
        true => 3,
        false => 0,
    }
}

fn is_in(probe: &Probe<'_>, folders: &[&str]) -> bool {
    probe.path().split(['/', '\\']).any(|it| folders.contains(&it))
}

fn has(raw: Raw<'_>, word: &str) -> bool {
    memchr::memmem::find(raw.0, word.as_bytes()).is_some()
}
