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

use serde::Deserialize;

use self::session::Task;
use crate::adapters::engine::{Adapter, Probe, RecordErrors, fold};
use crate::base::time::Time;
use crate::json::Raw;
use crate::json::fields::{Count, Flag, Number, Text, TextOrBlocks, When};
use crate::model::places::Place;
use crate::model::session::{Capabilities, Tokens};

mod session;

/// What `ui_messages.json` can show. It mentions tools only in texts for the user.
const VIEW: Capabilities =
    Capabilities::TURNS.and(Capabilities::COMPACTIONS).and(Capabilities::RETRIES).and(Capabilities::USER_TURNS);

/// What `api_conversation_history.json` can show.
const HISTORY: Capabilities = Capabilities::TOOL_CALLS
    .and(Capabilities::FILE_CHANGES)
    .and(Capabilities::SUBAGENTS)
    .and(Capabilities::PERMISSION_DENIALS);

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

/// A message that the user sees, a message of the model's conversation, or the metadata of the task.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Record<'a> {
    ts: When,
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow)]
    say: Text<'a>,
    #[serde(borrow)]
    ask: Text<'a>,
    #[serde(borrow)]
    text: Text<'a>,
    partial: Flag,
    #[serde(borrow, rename = "modelInfo")]
    model_info: ModelInfo<'a>,
    #[serde(borrow, rename = "conversationHistoryDeletedRange")]
    deleted_range: Raw<'a>,
    #[serde(rename = "contextCondense")]
    condense: Condense,
    #[serde(rename = "contextTruncation")]
    truncation: Condense,
    #[serde(borrow)]
    role: Text<'a>,
    #[serde(borrow)]
    content: TextOrBlocks<'a, Block<'a>>,
    #[serde(borrow)]
    files_in_context: Raw<'a>,
    #[serde(borrow)]
    model_usage: Vec<ModelUsage<'a>>,
    #[serde(borrow)]
    environment_history: Vec<Environment<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ModelInfo<'a> {
    #[serde(borrow)]
    model_id: Text<'a>,
    #[serde(borrow)]
    provider_id: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Condense {
    cost: Number,
    prev_context_tokens: Count,
    new_context_tokens: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ModelUsage<'a> {
    #[serde(borrow)]
    model_id: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Environment<'a> {
    #[serde(borrow)]
    cline_version: Text<'a>,
    #[serde(borrow)]
    host_name: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Block<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow)]
    text: Text<'a>,
    #[serde(borrow)]
    id: Text<'a>,
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(borrow)]
    input: Raw<'a>,
    #[serde(borrow)]
    tool_use_id: Text<'a>,
    #[serde(borrow)]
    content: Raw<'a>,
    is_error: Flag,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ServerName<'a> {
    #[serde(borrow)]
    server_name: Text<'a>,
}

/// A request: the JSON string in `text`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Request<'a> {
    tokens_in: Count,
    tokens_out: Count,
    cache_writes: Count,
    cache_reads: Count,
    cost: Number,
    #[serde(borrow)]
    cancel_reason: Text<'a>,
    #[serde(borrow)]
    streaming_failed_message: Text<'a>,
    #[serde(borrow)]
    api_protocol: Text<'a>,
}

/// Cline's providers whose prompt count includes cached tokens.
const WITH_CACHED: [&str; 9] = ["openai", "litellm", "doubao", "fireworks", "hicap", "lmstudio", "qwen", "xai", "zai"];

/// Whether `tokensIn` includes the tokens written to a cache while `cacheWrites` is 0. With Cline's own provider, a request of
/// 50,868 tokens to a model of Anthropic had the cost of 50,858 cache writes and 10 other tokens, and the next request read
/// 50,858. The number of written tokens can only be computed from the cost.
fn hides_cache_writes(model: &ModelInfo<'_>) -> bool {
    model.provider_id.as_str() == "cline" && model.model_id.as_str().starts_with("anthropic/")
}

impl Request<'_> {
    /// Whether `tokensIn` includes cached tokens.
    fn includes_cached(&self, runtime: &str, provider: &str, time: Option<Time>) -> bool {
        let before = |day: &str| time < Time::parse(day);
        match runtime {
            "cline" => WITH_CACHED.contains(&provider),
            "roo" if before("2025-11-01T00:00:00Z") => self.api_protocol.as_str() != "anthropic",
            "kilo" if before("2025-11-12T00:00:00Z") => self.api_protocol.as_str() != "anthropic",
            _ => true,
        }
    }

    /// The disjoint tokens. `includes_cached`: whether `tokensIn` includes cached tokens.
    fn tokens(&self, includes_cached: bool, damage: &mut RecordErrors) -> Tokens {
        damage.refuses(&[self.tokens_in, self.tokens_out, self.cache_reads, self.cache_writes]);
        let (cache_read, cache_write) = (self.cache_reads.get(), self.cache_writes.get());
        let cached = cache_read.unwrap_or(0) + cache_write.unwrap_or(0);
        let tokens = Tokens {
            input: self.tokens_in.get().map(|it| if includes_cached && cached <= it { it - cached } else { it }),
            output: self.tokens_out.get(),
            cache_read,
            cache_write,
            ..Tokens::UNKNOWN
        };
        if tokens.is_all_zero() { Tokens::UNKNOWN } else { tokens }
    }
}
