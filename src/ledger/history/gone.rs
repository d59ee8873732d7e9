//! The added lines that the default branch lost after it got them.

use std::collections::{HashMap, HashSet};

use super::arrivals::Arrival;
use crate::base::time::{DAY_MICROS, Time};
use crate::model::history::{History, Lines};
use crate::model::session::Operation;

/// Lines that are gone after so long are gone soon.
const SOON: i64 = 14 * DAY_MICROS;

/// Lines are followed for so many days. `report shipped --within` accepts no more.
pub const FOLLOWED_DAYS: i64 = 90;

/// What became of the lines that a commit added.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Gone {
    /// Their number.
    added: usize,
    /// Those that are gone.
    gone: usize,
    /// Those that were gone within 14 days.
    soon: usize,
    /// Whether these days are over at the last scan.
    is_over: bool,
    /// When more than half of them were gone.
    pub half_gone_at: Option<Time>,
}

impl Gone {
    /// The lines that were gone within 14 days, once these are over.
    pub(super) fn soon(&self) -> Option<i64> {
        i64::try_from(self.soon).ok().filter(|_| self.is_over)
    }

    fn lose(&mut self, count: usize, at: Time, merged_at: Time) {
        self.gone += count;
        if at.micros() - merged_at.micros() <= SOON {
            self.soon += count;
        }
        if count > 0 && 2 * self.gone > self.added {
            self.half_gone_at.get_or_insert(at);
        }
    }
}

/// Lines that a commit added to a file and that are still there.
struct Added<'a> {
    commit: &'a str,
    merged_at: Time,
    rest: Lines,
}

/// What became of the lines of each commit of the default branch.
pub(super) fn gone<'a>(
    history: &'a History,
    on_default: &HashSet<&'a str>,
    arrivals: &HashMap<&'a str, Arrival<'_>>,
) -> HashMap<&'a str, Gone> {
    let now = history.checkouts.iter().filter_map(|checkout| checkout.scanned_at).max();
    let mut found: HashMap<&str, Gone> = HashMap::new();
    let mut files: HashMap<&str, Vec<Added<'a>>> = HashMap::new();
    for hash in history.in_order(on_default) {
        let Some(commit) = history.commits.get(hash) else { continue };
        let Some(merged_at) = arrivals.get(hash).and_then(|arrival| arrival.merged_at) else { continue };
        let changed = || commit.files.iter().flatten();
        let added = changed().filter_map(|file| file.lines.as_ref()).map(|lines| lines.added.count()).sum();
        let is_over = now.is_some_and(|now| now.micros() - merged_at.micros() >= SOON);
        found.insert(hash, Gone { added, is_over, ..Gone::default() });
        for file in changed() {
            if let (Operation::Move, Some(old)) = (file.operation, &file.old_path) {
                let moved = files.remove(old.as_str()).unwrap_or_default();
                files.entry(&file.path).or_default().extend(moved);
            }
            let Some(lines) = &file.lines else { continue };
            let of_file = files.entry(&file.path).or_default();
            // A line that only moved within the file is not lost. If it is removed later, the commit that moved it loses it.
            let mut lost = lines.removed.clone();
            lines.added.clone().take_common(&mut lost);
            lose(of_file, &mut lost, merged_at, &mut found);
            if lines.added.count() > 0 {
                of_file.push(Added { commit: hash, merged_at, rest: lines.added.clone() });
            }
        }
    }
    found
}

/// Removes lines from those that were added to a file before, the latest first.
fn lose<'a>(of_file: &mut Vec<Added<'a>>, removed: &mut Lines, at: Time, found: &mut HashMap<&'a str, Gone>) {
    let is_followed = |added: &Added<'_>| {
        added.rest.count() > 0 && at.micros() - added.merged_at.micros() <= FOLLOWED_DAYS * DAY_MICROS
    };
    of_file.retain(is_followed);
    for added in of_file.iter_mut().rev() {
        if removed.count() == 0 {
            return;
        }
        // Most lines of a file stay, and nothing is copied for them.
        if added.rest.count_common(removed) == 0 {
            continue;
        }
        let count = added.rest.take_common(removed);
        // What the same merge removes never was in the default branch.
        if at > added.merged_at
            && let Some(gone) = found.get_mut(added.commit)
        {
            gone.lose(count, at, added.merged_at);
        }
    }
}
