//! Usage objects that a record may lack, or have in a form that cannot be read, and what follows from their counts.

use crate::adapters::engine::RecordErrors;
use crate::base::text::Symbol;
use crate::json::fields::Maybe;
use crate::model::health::Reason;
use crate::model::session::{ModelTotal, Tokens};

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

/// Adds tokens to the total of their model.
pub fn spend(spent: &mut Vec<ModelTotal>, model: Option<Symbol>, tokens: Tokens) {
    if let Some(known) = spent.iter_mut().find(|it| it.model == model) {
        known.tokens = known.tokens.plus(tokens);
    } else {
        spent.push(ModelTotal { model, tokens, ..ModelTotal::default() });
    }
}

/// The part of a prompt that is not cached. Some providers count cached tokens apart from it: then they can be more.
pub fn uncached(prompt: i64, read: Option<i64>, write: Option<i64>) -> i64 {
    let (read, write) = (read.unwrap_or(0), write.unwrap_or(0));
    match prompt {
        _ if prompt >= read + write => prompt - read - write,
        _ if prompt >= read => prompt - read,
        _ => prompt,
    }
}
