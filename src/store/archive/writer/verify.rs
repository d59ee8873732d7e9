//! The check of the parts that stay as they are.

use std::collections::BTreeSet;

use rayon::prelude::*;

use super::api::Writer;
use crate::store::archive::error::{Error, Problem};
use crate::store::archive::generations::Snapshot;
use crate::store::archive::layout::FACTS;
use crate::store::archive::manifest::Part;

impl Writer {
    /// Verifies the files of parts that are to stay as they are: see [`Part::verified_file`]. If only tables of a part are damaged, they
    /// are computed again from its facts: the part becomes dirty. If only its facts are, its tables stay. Returns the damage, and
    /// whether some of it stays.
    pub(super) fn verify(&self, dirty: &mut BTreeSet<usize>) -> Result<(Vec<Problem>, bool), Error> {
        let Some(Snapshot { folder, manifest, .. }) = &self.state.snapshot else {
            return Ok((Vec::new(), false));
        };
        let damage = |(index, part): (usize, &Part)| {
            let kinds = part.files.keys().filter(|_| !dirty.contains(&index));
            let damaged = kinds.filter_map(|kind| Some((kind == FACTS, part.verified_file(folder, kind).err()?)));
            (index, damaged.collect::<Vec<_>>())
        };
        let damaged: Vec<_> = manifest.parts.par_iter().enumerate().map(damage).collect();
        let mut problems = Vec::new();
        let mut is_damaged = false;
        for (index, damaged) in damaged {
            let has_facts = damaged.iter().all(|(is_facts, _)| !is_facts);
            let has_tables = damaged.iter().all(|(is_facts, _)| *is_facts);
            for (_, error) in damaged {
                let Error::Damaged { path, error } = error else { return Err(error) };
                let then = if has_facts {
                    dirty.insert(index);
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
