//! The added lines that the default branch lost soon after it got them.

use std::collections::{HashMap, HashSet};

use super::arrivals::Arrival;
use crate::base::time::Time;
use crate::model::history::{History, Lines};
use crate::model::session::Operation;

/// In microseconds: 14 days.
const SOON: i64 = 14 * 86_400_000_000;

/// Lines that a commit added to a file and that are still there.
struct Added<'a> {
    commit: &'a str,
    merged_at: Time,
    rest: Lines,
}

/// The number of lost lines of each commit of the default branch. Commits are left out for whom the time is not over at the last scan.
pub(super) fn gone_soon<'a>(
    history: &'a History,
    on_default: &HashSet<&'a str>,
    arrivals: &HashMap<&'a str, Arrival<'_>>,
) -> HashMap<&'a str, i64> {
    let now = history.checkouts.iter().filter_map(|checkout| checkout.scanned_at).max();
    let mut counts = HashMap::new();
    let mut files: HashMap<&str, Vec<Added<'a>>> = HashMap::new();
    for hash in history.in_order(on_default) {
        let Some(commit) = history.commits.get(hash) else { continue };
        let Some(merged_at) = arrivals.get(hash).and_then(|arrival| arrival.merged_at) else { continue };
        if now.is_some_and(|now| now.micros() - merged_at.micros() >= SOON) {
            counts.entry(hash).or_insert(0);
        }
        for file in commit.files.iter().flatten() {
            if let (Operation::Move, Some(old)) = (file.operation, &file.old_path) {
                let moved = files.remove(old.as_str()).unwrap_or_default();
                files.entry(&file.path).or_default().extend(moved);
            }
            let Some(lines) = &file.lines else { continue };
            let (mut added, mut removed) = (lines.added.clone(), lines.removed.clone());
            let of_file = files.entry(&file.path).or_default();
            // Lines that only moved within the file are neither lost nor new.
            let in_place = {
                let all = added.clone();
                added.take_common(&mut removed);
                all
            };
            lose(of_file, &mut removed, merged_at, &mut counts);
            if in_place.count() > 0 {
                of_file.push(Added { commit: hash, merged_at, rest: in_place });
            }
        }
    }
    counts
}

/// Removes lines from those that were added to a file before, the latest first, and counts those that are lost soon.
fn lose<'a>(of_file: &mut Vec<Added<'a>>, removed: &mut Lines, at: Time, counts: &mut HashMap<&'a str, i64>) {
    of_file.retain(|added| at.micros() - added.merged_at.micros() <= SOON);
    for added in of_file.iter_mut().rev() {
        if removed.count() == 0 {
            return;
        }
        let count = added.rest.take_common(removed);
        // What the same merge removes never was in the default branch.
        if at > added.merged_at
            && let Some(sum) = counts.get_mut(added.commit)
        {
            *sum += i64::try_from(count).unwrap_or(i64::MAX);
        }
    }
}
