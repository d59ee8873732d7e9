//! Sessions of Cline's CLI and of everything else that is built on its SDK (docs/formats.md#cline-session), described by data.
//!
//! The rules are those of Cline's contract of the file (`sdk/packages/core/docs/messages-contract-v1.md`) and of the schema of the
//! manifest beside it (`session-manifest.ts`). Input includes both caches, as with the AI SDK, whose counts are stored.

use crate::adapters::described;
use crate::adapters::described::{Calls, Description, Facts, Results, TokenPaths};
use crate::adapters::engine::Adapter;
use crate::model::places::Place;

/// `SESSION.messages.json`.
const MESSAGES: Description = Description {
    has: &["sessionId", "updated_at", "messages"],
    equals: &[("version", "1"), ("agent", "lead")],
    records: "messages",
    session: "sessionId",
    role: "role",
    responses: &["assistant"],
    prompts: &["user"],
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
    calls: Some(Calls {
        list: "content",
        only: Some(("type", "tool_use")),
        id: "id",
        name: "name",
        arguments: "input",
        ..Calls::NONE
    }),
    results: Some(Results {
        list: "content",
        only: Some(("type", "tool_result")),
        call: "tool_use_id",
        content: "content",
        error: "is_error",
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
    capabilities: MESSAGES.capabilities(),
    places: &[
        Place::variable("CLINE_DIR", ".cline", "data/sessions"),
        Place::only_variable("CLINE_DATA_DIR", "sessions"),
        Place::only_variable("CLINE_SESSION_DATA_DIR", ""),
    ],
    claims: |probe| DESCRIPTIONS.iter().map(|it| it.weight(probe)).max().unwrap_or(0),
    parse: |context, input| described::start(context, input, DESCRIPTIONS),
};
