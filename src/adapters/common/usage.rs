//! Usage objects that a record may lack, or have in a form that cannot be read.

use crate::adapters::RecordErrors;
use crate::json::fields::Maybe;
use crate::model::health::Reason;

/// The usage of a record, if it has one. A value of another type is counted as [`Reason::NoUsage`].
pub fn present<'m, T>(usage: &'m Maybe<T>, damage: &mut RecordErrors) -> Option<&'m T> {
    match usage {
        Maybe::Present(usage) => Some(usage),
        Maybe::Absent => None,
        Maybe::Wrong => {
            damage.note(Reason::NoUsage);
            None
        }
    }
}
