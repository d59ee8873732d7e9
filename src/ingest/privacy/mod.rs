//! Removes text that an archive should not contain.
//!
//! Without `--content`, `shape` removes the words from the example of a rejected line, and [`reduce_messages`] removes from messages
//! what they quote. `redact` removes text that resembles a secret or a mail address from all stored text.
//! docs/security.md lists the text that is stored.

mod messages;
mod redact;
mod secrets;
mod shape;
mod types;

pub use messages::{reduce_messages, reduce_verdict};
pub use redact::{redact, redact_session};
pub use secrets::redacted;
pub use shape::shape;
pub use types::{is_harmless, is_word, reduce_types, type_name};
