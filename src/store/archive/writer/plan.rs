//! Which sources the next generation contains, and which parts have to be written again.

use std::collections::BTreeSet;
use std::collections::btree_map::{BTreeMap, Entry};
use std::path::PathBuf;

use foldhash::HashSet;
use rayon::prelude::*;

use super::api::Writer;
use super::stage::{FactsLocation, StagedSource};
use crate::ledger;
use crate::store::archive::error::Error;
use crate::store::archive::facts::SMALL_PART;
use crate::store::archive::index::{IndexEntry, Links};
use crate::store::archive::layout::{FACTS, INDEX};

/// More parts than this that are smaller than [`SMALL_PART`] are joined.
const MAX_SMALL_PARTS: usize = 8;

/// A source of the next generation.
pub struct Item {
    pub path: String,
    pub entry: Box<IndexEntry>,
    pub facts: FactsLocation,
    /// Sources that are linked, directly or by others, have the same group. They are in the same part. It is known of sources whose
    /// parts are written again.
    pub group: usize,
    /// Whether no other source is in the group.
    pub is_alone: bool,
}

impl Item {
    /// Whether this run added it.
    pub fn is_new(&self) -> bool {
        !matches!(self.facts, FactsLocation::Part)
    }

    /// Its links, if they are in memory, as those of new sources and of all whose parts are written again: see [`Writer::read_links`].
    /// An index without them is not written.
    fn known_links(&self) -> &[u64] {
        match &self.entry.links {
            Links::Known(links) => links,
            Links::Stored(_) => &[],
        }
    }

    /// How much it counts for the size of a part, in bytes: the length of its facts, and a part of its memory, because of tiny
    /// sources a part would contain too many.
    pub fn weight(&self) -> u64 {
        const SOURCE: u64 = 600;
        self.facts.length(self.entry.facts.length).saturating_add(SOURCE)
    }
}

/// The sources of the next generation before they are divided, and the parts that are written again.
pub struct Draft {
    /// By path.
    pub items: Vec<Item>,
    /// Positions of parts of the current generation.
    pub parts_to_rewrite: BTreeSet<usize>,
}

/// The sources of the next generation.
pub struct Plan {
    /// Sources of parts that stay as they are.
    pub kept: Vec<Item>,
    /// Sources whose parts are written again, group by group.
    pub changed: Vec<Item>,
    /// Sources with imported verdicts. Their sessions may have changed, so they are always written again, after all others.
    pub verdicts: Vec<Item>,
    /// Positions of the parts of the current generation that are written again.
    pub parts_to_rewrite: BTreeSet<usize>,
}

impl Writer {
    /// All sources, and the parts that have to be written again. `is_current` reports whether the tables of the current generation were
    /// computed with the present prices and version of the program.
    ///
    /// # Errors
    /// When the links of a part cannot be read.
    pub(super) fn draft(
        &mut self,
        staged: impl IntoIterator<Item = (String, StagedSource)>,
        removed: &BTreeSet<String>,
        is_current: bool,
    ) -> Result<Draft, Error> {
        let new: Vec<Item> = staged
            .into_iter()
            .filter(|(path, _)| !removed.contains(path))
            .map(|(path, StagedSource { entry, facts })| Item { path, entry, facts, group: 0, is_alone: false })
            .collect();
        let parts = self.state.parts();
        let mut parts_to_rewrite: BTreeSet<usize> =
            if is_current { BTreeSet::new() } else { (0..parts.len()).collect() };
        let small = small_parts(parts.iter().map(|part| part.files.get(FACTS).map(|file| file.bytes)));
        let mut items = Vec::with_capacity(self.state.sources.len() + new.len());
        let is_replaced = |path: &str| new.binary_search_by(|item| item.path.as_str().cmp(path)).is_ok();
        for (path, entry) in std::mem::take(&mut self.state.sources) {
            if removed.contains(&path) || is_replaced(&path) {
                parts_to_rewrite.insert(entry.facts.part);
            } else {
                items.push(Item { path, entry, facts: FactsLocation::Part, group: 0, is_alone: false });
            }
        }
        // A new source changes the parts of the sources that it is linked to. Sources that are linked to these are in the same parts.
        parts_to_rewrite.extend(items.iter().filter(|item| item.entry.has_verdicts).map(|item| item.entry.facts.part));
        let links: HashSet<u64> = new.iter().flat_map(|item| item.known_links().iter().copied()).collect();
        let others: Vec<usize> = (0..self.state.parts().len())
            .filter(|part| !links.is_empty() && !parts_to_rewrite.contains(part))
            .collect();
        let is_linked = |part: &usize| Ok((*part, self.state.links_of(*part)?.iter().any(|link| links.contains(link))));
        let others = others.par_iter().map(is_linked).collect::<Result<Vec<_>, Error>>()?;
        parts_to_rewrite.extend(others.into_iter().filter(|(_, is_linked)| *is_linked).map(|(part, _)| part));
        if small.len() > MAX_SMALL_PARTS {
            parts_to_rewrite.extend(small);
        }
        items.extend(new);
        items.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(Draft { items, parts_to_rewrite })
    }

    /// Reads the links of the sources whose parts are written again.
    ///
    /// # Errors
    /// When they cannot be read or are damaged.
    pub(super) fn read_links(&self, draft: &mut Draft) -> Result<(), Error> {
        let mut links: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
        for item in &mut draft.items {
            let part = item.entry.facts.part;
            let Links::Stored(positions) = &item.entry.links else { continue };
            if !draft.parts_to_rewrite.contains(&part) {
                continue;
            }
            let of_part = match links.entry(part) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(unknown) => unknown.insert(self.state.links_of(part)?),
            };
            let own = of_part.get(positions.clone()).ok_or_else(|| {
                let error = format!("it has fewer links of {} than its entry states", item.path);
                Error::Damaged { path: PathBuf::from(INDEX), error }
            })?;
            item.entry.links = Links::Known(own.into());
        }
        Ok(())
    }
}

/// The positions of parts with facts of less than [`SMALL_PART`].
fn small_parts(facts: impl Iterator<Item = Option<u64>>) -> Vec<usize> {
    let is_small = |bytes: Option<u64>| bytes.is_some_and(|bytes| bytes < SMALL_PART);
    facts.enumerate().filter(|(_, bytes)| is_small(*bytes)).map(|(position, _)| position).collect()
}

impl Plan {
    /// Separates the sources whose parts are written again.
    pub fn of(draft: Draft) -> Self {
        let Draft { items, parts_to_rewrite } = draft;
        let is_changed = |item: &Item| item.is_new() || parts_to_rewrite.contains(&item.entry.facts.part);
        let (changed, kept): (Vec<_>, Vec<_>) = items.into_iter().partition(is_changed);
        let (verdicts, mut changed): (Vec<_>, Vec<_>) = changed.into_iter().partition(|item| item.entry.has_verdicts);
        let groups = ledger::groups(changed.iter().map(Item::known_links));
        for (item, group) in changed.iter_mut().zip(groups) {
            item.group = group;
        }
        // Groups stay together; both they and their members are in the order of paths.
        changed.sort_by_key(|item| item.group);
        for group in changed.chunk_by_mut(|a, b| a.group == b.group) {
            if let [item] = group {
                item.is_alone = true;
            }
        }
        Self { kept, changed, verdicts, parts_to_rewrite }
    }
}
