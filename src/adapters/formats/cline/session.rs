//! Sessions of Cline's CLI and of everything else that is built on its SDK (docs/formats/cline.md#cline-session), described by data.
//!
//! The rules are those of Cline's contract of the file (`sdk/packages/core/docs/messages-contract-v1.md`) and of the schema of the
//! manifest beside it (`session-manifest.ts`). Input includes both caches, as with the AI SDK, whose counts are stored.
//!
//! # `cline-session`
//!
//! Cline since 4 and its CLI, `~/.cline/data/sessions/SESSION/`: `SESSION.messages.json`, `AGENT.messages.json` of subagents and
//! teammates, the manifest `SESSION.json`, and `SESSION.compaction.json`. Recognised by `version` 1 with `sessionId`, `updated_at`
//! and `messages`, with `session_id`, `pid` and `workspace_root`, or with `source_message_count`. From Cline's contract of these
//! files, its sources (21cb8d252 of August 2026), and its tests of usage. The format is described by data, in
//! `src/adapters/formats/cline/session.rs`.
//!
//! | what | from |
//! | --- | --- |
//! | session | `sessionId`; `session_id` of the manifest; the name of a file with the state of a compaction. Until August 2026, agents shared it with their lead |
//! | parent | `origin.parentThreadId` of an agent's own session; `metadata.fork.forkedFromSessionId` of the manifest |
//! | turn | an assistant's message with `metrics`, by its id and counts: forks and restored checkpoints copy messages with their ids |
//! | tokens | `inputTokens` minus both caches, `outputTokens`, `cacheReadTokens`, `cacheWriteTokens` (6,538 = 3 + 6,535 in Cline's own test) |
//! | cost | `metrics.cost` |
//! | model, provider, time | `modelInfo`, `ts` |
//! | user turns | messages of the `user` without results. Those that a program wrote are none: by the `kind` and `displayRole` of their `metadata`, and texts such as `[TASK RESUMPTION]`. A prompt that a compaction added its notice to is one |
//! | call | `tool_use` and `tool_result` blocks. `run_commands`, `read_files` and `fetch_web_content` do several things in one call, whose target is the first of them |
//! | call status, exit code | `denied`, `cancelled`: the `error` in place of a result is one of Cline's reasons. `error`: `is_error`, which is only set if the tool itself failed, or `success` `false` in any of the results in the content. Exit code: the first `Command exited with code N` in their `error` |
//! | file change | of `editor` (lines of `old_text` and `new_text`; without `old_text` and `insert_line` it created the file) and `apply_patch` |
//! | subagent | turns and calls of files whose `agent` is `subagent` or `teammate`, in the session of their lead. Since August 2026 such a file is a session of its own |
//! | agent, version | of an agent's own session `subagent`, or the name of a teammate; `origin.version` |
//! | compaction | `SESSION.compaction.json`, which has the state after the last one; in older files messages whose `metadata` has the `kind` `compaction` or `compaction_summary`. Unknown where a file has no `origin` and neither of them |
//! | cwd, entrypoint, exit code | the manifest: `cwd`, `source`, `exit_code` |
//! | status | `status` of the manifest: `completed`, `failed`, `cancelled`; else the last message: an answer is `success`, a call `incomplete` |
//!
//! A session that goes on with a task of an earlier version begins with the converted messages of the task, and has its id. The last
//! of them has the sum over the task as `metrics`, with the provider `unknown`; since July 2026 a warning follows them. The sum is a
//! row of grain `session`, and counts, as the prompts and the calls of these messages do, only where the task's own files
//! ([`cline-task`](#cline-task)) are absent, also in a fork of the session. Of several states of the file the largest sum counts. *Source*: `legacyApiHistoryToSdkMessages` in
//! `apps/vscode/src/sdk/legacy-task-handling.ts`.
//!
//! *Exact* by the contract. Messages that a compaction removed from the file, until July 2026, are lost. `hooks.jsonl`, `*.log` and
//! `sessions.db` repeat parts of it and are not read.

use crate::adapters::described;
use crate::adapters::described::{Calls, Description, Facts, IdScope, Results, SessionFrom, TokenPaths};
use crate::adapters::engine::Adapter;
use crate::model::places::Place;
use crate::model::session::Capabilities;

mod compactions;
mod migrated;
mod prompts;
mod tools;

/// `SESSION.messages.json` until August 2026.
const MESSAGES: Description = Description {
    has: &["sessionId", "updated_at", "messages"],
    equals: &[("version", "1"), ("agent", "lead")],
    records: "messages",
    session: "sessionId",
    facts: Facts { parent_session: "origin.parentThreadId", version: "origin.version", ..Facts::NONE },
    role: "role",
    responses: &["assistant"],
    prompts: &["user"],
    typed: Some(prompts::typed),
    message_id: "id",
    message_id_scope: IdScope::Everywhere,
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
    migrated: Some(migrated::migrated),
    compaction: Some(compactions::of_message),
    lacks: Capabilities::COMPACTIONS,
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

/// The same with the origin of the session (`resolveMessagesFileContext` in `session-data.ts`): the messages before a compaction
/// remain in it, and the state after one is in a file of its own.
const LEAD: Description = Description {
    has: &["sessionId", "updated_at", "messages", "origin.sessionId"],
    lacks: Capabilities::NOTHING,
    ..MESSAGES
};

/// `AGENT.messages.json` of a subagent or teammate with a session of its own.
const SUBAGENT_SESSION: Description = Description {
    has: &["sessionId", "updated_at", "messages", "origin.sessionId", "origin.parentThreadId"],
    equals: &[("version", "1"), ("agent", "subagent")],
    facts: Facts { agent: "agent", ..MESSAGES.facts },
    prompts: &[],
    ..LEAD
};
const TEAMMATE_SESSION: Description = Description {
    equals: &[("version", "1"), ("agent", "teammate")],
    facts: Facts { agent: "origin.subagent|agent", ..MESSAGES.facts },
    ..SUBAGENT_SESSION
};

/// `AGENT.messages.json` of a subagent or teammate in the session of its lead: its messages are the program's, not a human's.
const SUBAGENT: Description =
    Description { equals: &[("version", "1"), ("agent", "subagent")], prompts: &[], is_subagent: true, ..MESSAGES };
const TEAMMATE: Description = Description { equals: &[("version", "1"), ("agent", "teammate")], ..SUBAGENT };

/// What only files of messages show.
const ROWS: Capabilities = MESSAGES
    .capabilities()
    .without(Capabilities::KEPT_BY_RUNTIME)
    .and(Capabilities::FILE_CHANGES)
    .and(Capabilities::PERMISSION_DENIALS);

/// `SESSION.json`: the manifest.
const MANIFEST: Description = Description {
    has: &["session_id", "pid", "workspace_root", "enable_tools"],
    equals: &[("version", "1")],
    session: "session_id",
    facts: Facts {
        cwd: "cwd",
        entrypoint: "source",
        parent_session: "metadata.fork.forkedFromSessionId",
        started_at: "started_at",
        ended_at: "ended_at",
        exit_code: "exit_code",
        status: "status",
        success: &["completed"],
        error: &["failed"],
        aborted: &["cancelled"],
        ..Facts::NONE
    },
    lacks: ROWS.and(Capabilities::COMPACTIONS),
    ..Description::NOTHING
};

/// `SESSION.compaction.json`: what the model gets in place of the first messages. Their usage is in the messages.
const STATE: Description = Description {
    has: &["updated_at", "source_message_count", "messages"],
    equals: &[("version", "1")],
    session_from: SessionFrom::File,
    compaction: Some(|state| Some(compactions::of_state(state))),
    lacks: ROWS,
    ..Description::NOTHING
};

/// The first that fits is used.
const DESCRIPTIONS: &[Description] =
    &[SUBAGENT_SESSION, TEAMMATE_SESSION, LEAD, MESSAGES, SUBAGENT, TEAMMATE, MANIFEST, STATE];

pub(crate) const ADAPTER: Adapter = Adapter {
    id: "cline-session",
    runtime: "cline",
    about: "Cline CLI and SDK, data/sessions/*/*.messages.json (from sources)",
    tested: None,
    capabilities: ROWS.and(Capabilities::COMPACTIONS).and(Capabilities::KEPT_BY_RUNTIME),
    places: &[
        Place::variable("CLINE_DIR", ".cline", "data/sessions"),
        Place::only_variable("CLINE_DATA_DIR", "sessions"),
        Place::only_variable("CLINE_SESSION_DATA_DIR", ""),
    ],
    claims: |probe| DESCRIPTIONS.iter().map(|it| it.weight(probe)).max().unwrap_or(0),
    parse: |context, input| described::start(context, input, DESCRIPTIONS),
};
