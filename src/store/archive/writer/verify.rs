//! The check of the parts that stay as they are.

use std::collections::BTreeSet;

use rayon::prelude::*;

use super::api::Writer;
use crate::store::archive::error::{Error, Problem};
use crate::store::archive::generations::Snapshot;
use crate::store::archive::layout::{FACTS, INDEX};

impl Writer {
    /// Verifies the files of parts that are to stay as they are, by `Part::verified_file`. If only tables of a part are damaged, they are
    /// computed again from its facts: the part is added to `parts_to_rewrite`. If only its facts are, its tables stay. Returns the damage, and whether
    /// some of it stays.
    ///
    /// # Errors
    /// When an index is damaged, or both the facts and tables of a part, or a file cannot be read.
    pub(super) fn verify(&self, parts_to_rewrite: &mut BTreeSet<usize>) -> Result<(Vec<Problem>, bool), Error> {
        let Some(Snapshot { directory, manifest, .. }) = &self.state.snapshot else {
            return Ok((Vec::new(), false));
        };
        let damaged = manifest.parts.par_iter().enumerate().map(|(index, part)| {
            let kinds = part.files.keys().filter(|_| !parts_to_rewrite.contains(&index));
            let damaged = kinds.filter_map(|kind| Some((kind.as_str(), part.verified_file(directory, kind).err()?)));
            (index, damaged.collect::<Vec<_>>())
        });
        let damaged: Vec<_> = damaged.collect();
        let mut problems = Vec::new();
        let mut is_damaged = false;
        for (index, damaged) in damaged {
            let has_facts = damaged.iter().all(|(kind, _)| *kind != FACTS);
            let has_tables = damaged.iter().all(|(kind, _)| *kind == FACTS);
            for (kind, error) in damaged {
                let Error::Damaged { path, error } = error else { return Err(error) };
                if kind == INDEX {
                    return Err(Error::Damaged { path, error });
                }
                let then = if has_facts {
                    parts_to_rewrite.insert(index);
                    "the table is written again from the facts of its sources"
                } else if has_tables && path.exists() {
                    is_damaged = true;
                    "the tables of its part are intact and stay; `agentlogs archive repair` reads its sources again"
                } else {
                    return Err(Error::Damaged { path, error });
                };
                problems.push(Problem { path, what: format!("{error}; {then}") });
            }
        }
        Ok((problems, is_damaged))
    }
}
