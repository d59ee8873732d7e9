//! Formats of Kiro.
//!
//! Kiro CLI, formerly Amazon Q Developer CLI, whose engines keep sessions in different places:
//!
//! - `conversations_v2`, in older versions `conversations`, in `data.sqlite3`: one document for each conversation, which
//!   `/save` writes to a file as well (docs/formats/kiro.md#kiro-conversation).
//! - `~/.kiro/sessions/cli/ID.jsonl` with its messages, and `ID.json` with what is known of its turns
//!   (docs/formats/kiro.md#kiro-session).
//!
//! The rules of the document are those of the source of Amazon Q Developer CLI; that of Kiro is not public. Kiro counts credits.
//! The token counts of its turns are 0 in most versions: 0 is unknown.

pub(crate) mod common;
pub(crate) mod conversation;
pub(crate) mod session;
