//! Which spans of a file are around each other.

use foldhash::HashMap;

use crate::model::id_hash::IdHash;
use crate::model::session::RunPlace;

/// Spans are not nested more deeply.
const DEEPEST: usize = 64;

/// The parent of each span in a file, whatever the span is of.
#[derive(Default)]
pub(super) struct SpanTree {
    parents: HashMap<IdHash, Option<IdHash>>,
}

impl SpanTree {
    /// The name of a span in all traces.
    pub(super) fn name(trace: &str, id: &str) -> IdHash {
        IdHash::new(&format!("{trace} {id}"))
    }

    /// Adds a span. Returns its name.
    pub(super) fn add(&mut self, trace: &str, id: &str, parent: Option<&str>) -> IdHash {
        let name = Self::name(trace, id);
        self.parents.insert(name, parent.map(|parent| Self::name(trace, parent)));
        name
    }

    /// The place of a span in its trace.
    pub(super) fn place(&self, trace: &str, span: IdHash) -> RunPlace {
        let mut around = Vec::new();
        let mut next = self.parents.get(&span).copied().flatten();
        let mut is_open = false;
        while let Some(parent) = next
            && around.len() < DEEPEST
        {
            around.push(parent);
            let known = self.parents.get(&parent);
            is_open = known.is_none();
            next = known.copied().flatten();
        }
        RunPlace { trace: IdHash::new(trace), span, around, is_open }
    }
}
