//! Why sessions failed: each failed session belongs to one class. docs/failures.md defines them.
//!
//! ```text
//! class     the classes, in the order of their rules
//! rows      the rows of one session, as far as the rules need them
//! read      tables -> rows of failed sessions
//! errors    the class of an error
//! rules     the rows of a session -> its class, with the line that shows it
//! frame     the classes as columns of sessions
//! measures  the columns of `report failures`
//! ```

mod class;
mod errors;
pub(super) mod frame;
mod measures;
mod read;
mod rows;
mod rules;

pub use class::{CLASSES, Class};
pub(super) use frame::Failures;
pub use frame::TABLES as FAILED_TABLES;
pub(super) use measures::MEASURES;
