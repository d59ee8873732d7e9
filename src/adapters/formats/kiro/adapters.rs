//! Kiro CLI, formerly Amazon Q Developer CLI, whose engines keep sessions in different places:
//!
//! - `conversations_v2`, in older versions `conversations`, in `data.sqlite3`: one document for each conversation, which
//!   `/save` writes to a file as well (docs/formats.md#kiro-conversation).
//! - `~/.kiro/sessions/cli/ID.jsonl` with its messages, and `ID.json` with what is known of its turns
//!   (docs/formats.md#kiro-session).
//!
//! The rules of the document are those of the source of Amazon Q Developer CLI; that of Kiro is not public. Kiro counts credits.
//! The token counts of its turns are 0 in most versions: 0 is unknown.

use super::{conversation, messages};
use crate::adapters::engine::{Adapter, Probe, fold};
use crate::model::places::Place;
use crate::model::session::Capabilities;
use crate::model::sqlite_schema::Table;

const SHOWS: Capabilities = Capabilities::TURNS
    .and(Capabilities::TOOL_CALLS)
    .and(Capabilities::FILE_CHANGES)
    .and(Capabilities::SUBAGENTS)
    .and(Capabilities::COMPACTIONS)
    .and(Capabilities::PERMISSION_DENIALS)
    .and(Capabilities::USER_TURNS)
    .and(Capabilities::KEPT_BY_RUNTIME);

pub(crate) const CONVERSATION: Adapter = Adapter {
    id: "kiro-conversation",
    runtime: "kiro",
    about: "Kiro CLI and Amazon Q Developer CLI, data.sqlite3 and saved conversations",
    tested: None,
    capabilities: SHOWS,
    places: &[
        Place::data("kiro-cli/data.sqlite3"),
        Place::data("amazon-q/data.sqlite3"),
        // Of macOS.
        Place::application("kiro-cli/data.sqlite3"),
        Place::application("amazon-q/data.sqlite3"),
    ],
    claims: |probe| match probe.text("table").as_ref() {
        "" => 6 * u32::from(is_conversation(probe)),
        "conversations" | "conversations_v2" => 6 * u32::from(is_conversation(&probe.object("value"))),
        _ => 0,
    },
    parse: fold::<conversation::Conversations>,
};

pub(crate) const SESSION: Adapter = Adapter {
    id: "kiro-session",
    runtime: "kiro",
    about: "Kiro CLI, sessions/cli/*.jsonl and *.json",
    tested: None,
    capabilities: SHOWS,
    places: &[Place::home(".kiro/sessions/cli")],
    claims: |probe| {
        let is_message = messages::is_known(&probe.text("kind")) && probe.has_all(&["version", "data"]);
        let is_state = probe.has_all(&["session_id", "cwd", "session_state"]);
        6 * u32::from(is_message || is_state)
    },
    parse: fold::<messages::Messages>,
};

fn is_conversation(probe: &Probe<'_>) -> bool {
    probe.has_all(&["conversation_id", "history"]) && probe.raw("history").0.first() == Some(&b'[')
}

/// Whether a document is the lock of a session that runs.
pub(crate) fn is_auxiliary(probe: &Probe<'_>) -> bool {
    probe.has_all(&["pid", "started_at"]) && probe.keys().count() == 2
}

pub(crate) const CONVERSATIONS_2: Table = Table {
    name: "conversations_v2",
    key: "conversation_id",
    needs: &["key", "value", "created_at", "updated_at"],
    columns: &["key", "value", "created_at", "updated_at"],
    json: &["value"],
    order: "created_at, conversation_id",
    below: &[],
    is_inside: false,
    is_optional: false,
};

pub(crate) const CONVERSATIONS: Table = Table {
    name: "conversations",
    key: "key",
    needs: &["value"],
    columns: &["value"],
    json: &["value"],
    order: "key",
    below: &[],
    is_inside: false,
    is_optional: false,
};
