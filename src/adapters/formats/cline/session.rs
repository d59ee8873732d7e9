//! Sessions of Cline's CLI and of everything else that is built on its SDK (docs/formats/cline.md#cline-session), described by data.
//!
//! The rules are those of Cline's contract of the file (`sdk/packages/core/docs/messages-contract-v1.md`) and of the schema of the
//! manifest beside it (`session-manifest.ts`). Input includes both caches, as with the AI SDK, whose counts are stored.
//!
//! # `cline-session`
//!
//! Cline since 4 and its CLI, `~/.cline/data/sessions/SESSION/`: `SESSION.messages.json`, `AGENT.messages.json` of subagents
//! and teammates, and the manifest `SESSION.json`. Recognised by `version` 1 with `sessionId`, `updated_at` and `messages`, or
//! with `session_id`, `pid` and `workspace_root`. From Cline's contract of these files, and its tests of usage. The format is
//! described by data, in `src/adapters/formats/cline/session.rs`.
//!
//! | what | from |
//! | --- | --- |
//! | session | `sessionId`, which agents share with their lead; `session_id` of the manifest |
//! | turn | an assistant's message with `metrics`, by its id |
//! | tokens | `inputTokens` minus both caches, `outputTokens`, `cacheReadTokens`, `cacheWriteTokens` (6,538 = 3 + 6,535 in Cline's own test) |
//! | cost | `metrics.cost` |
//! | model, provider, time | `modelInfo`, `ts` |
//! | user turns | messages of the `user` without results. Those that a program wrote are none: by the `kind` and `displayRole` of their `metadata`, and texts such as `[TASK RESUMPTION]`. A prompt that a compaction added its notice to is one |
//! | call | `tool_use` and `tool_result` blocks. `run_commands`, `read_files` and `fetch_web_content` do several things in one call, whose target is the first of them |
//! | call status, exit code | `error`: `is_error`, which is only set if the tool itself failed, or `success` `false` in any of the results in the content. Exit code: the first `Command exited with code N` in their `error` |
//! | file change | of `editor` (lines of `old_text` and `new_text`; without `old_text` and `insert_line` it created the file) and `apply_patch` |
//! | subagent | turns and calls of files whose `agent` is `subagent` or `teammate` |
//! | cwd, entrypoint, exit code | the manifest: `cwd`, `source`, `exit_code` |
//! | status | `status` of the manifest: `completed`, `failed`, `cancelled`; else the last message: an answer is `success`, a call `incomplete` |
//!
//! *Exact* by the contract. Messages that a compaction removed from the file are lost. `hooks.jsonl`, `*.log` and `sessions.db`
//! repeat parts of it and are not read.

use crate::adapters::described;
use crate::adapters::described::{Calls, Description, Facts, Results, TokenPaths};
use crate::adapters::engine::Adapter;
use crate::model::places::Place;
use crate::model::session::Capabilities;

mod prompts;
mod tools;

/// `SESSION.messages.json`.
const MESSAGES: Description = Description {
    has: &["sessionId", "updated_at", "messages"],
    equals: &[("version", "1"), ("agent", "lead")],
    records: "messages",
    session: "sessionId",
    role: "role",
    responses: &["assistant"],
    prompts: &["user"],
    typed: Some(prompts::typed),
    message_id: "id",
    model: "modelInfo.id",
    provider: "modelInfo.provider",
    time: "ts",
    text: "content",
    tokens: TokenPaths {
        input: "metrics.inputTokens",
        output: "metrics.outputTokens",
        cache_read: "metrics.cacheReadTokens",
        cache_write: "metrics.cacheWriteTokens",
        ..TokenPaths::NONE
    },
    input_includes_cache: true,
    cost: "metrics.cost",
    categories: &[("editor", "edit")],
    calls: Some(Calls {
        list: "content",
        only: Some(("type", "tool_use")),
        id: "id",
        name: "name",
        arguments: "input",
        own_arguments: Some(tools::arguments),
        ..Calls::NONE
    }),
    results: Some(Results {
        list: "content",
        only: Some(("type", "tool_result")),
        call: "tool_use_id",
        content: "content",
        error: "is_error",
        outcome: Some(tools::outcome),
        ..Results::NONE
    }),
    ..Description::NOTHING
};

/// `AGENT.messages.json` of a subagent or teammate: its messages are the program's, not a human's.
const SUBAGENT: Description =
    Description { equals: &[("version", "1"), ("agent", "subagent")], prompts: &[], is_subagent: true, ..MESSAGES };
const TEAMMATE: Description = Description { equals: &[("version", "1"), ("agent", "teammate")], ..SUBAGENT };

/// `SESSION.json`: the manifest.
const MANIFEST: Description = Description {
    has: &["session_id", "pid", "workspace_root", "enable_tools"],
    equals: &[("version", "1")],
    session: "session_id",
    facts: Facts {
        cwd: "cwd",
        entrypoint: "source",
        started_at: "started_at",
        ended_at: "ended_at",
        exit_code: "exit_code",
        status: "status",
        success: &["completed"],
        error: &["failed"],
        aborted: &["cancelled"],
        ..Facts::NONE
    },
    ..Description::NOTHING
};

const DESCRIPTIONS: &[Description] = &[MESSAGES, SUBAGENT, TEAMMATE, MANIFEST];

pub(crate) const ADAPTER: Adapter = Adapter {
    id: "cline-session",
    runtime: "cline",
    about: "Cline CLI and SDK, data/sessions/*/*.messages.json (from sources)",
    tested: None,
    capabilities: MESSAGES.capabilities().and(Capabilities::FILE_CHANGES),
    places: &[
        Place::variable("CLINE_DIR", ".cline", "data/sessions"),
        Place::only_variable("CLINE_DATA_DIR", "sessions"),
        Place::only_variable("CLINE_SESSION_DATA_DIR", ""),
    ],
    claims: |probe| DESCRIPTIONS.iter().map(|it| it.weight(probe)).max().unwrap_or(0),
    parse: |context, input| described::start(context, input, DESCRIPTIONS),
};
