//! How sources are divided into parts of about the same size, and in which order the parts are written.

use foldhash::HashSet;

use super::plan::Item;
use super::stage::FactsLocation;
use crate::store::archive::facts::{PART_BYTES, SMALL_PART};

/// About how many bytes of encoded facts the sources of a part have in memory together while it is written. Of a source that nothing
/// links to others and that has several chunks, only some of them are in memory at once.
pub fn bytes_in_memory(items: &[Item]) -> u64 {
    let is_in_batches =
        |item: &Item| item.is_alone && matches!(&item.facts, FactsLocation::Spool(chunks) if chunks.only().is_none());
    let sizes = items.iter().map(|item| {
        let weight = item.weight();
        if is_in_batches(item) { weight.min(PART_BYTES) } else { weight }
    });
    sizes.fold(0, u64::saturating_add)
}

/// Parts that are yet to be written, the largest last, with their sizes in bytes.
pub struct Queue<T> {
    waiting: Vec<(u64, T)>,
    /// The sum of the sizes that threads write now.
    in_work: u64,
    threads: u64,
}

impl<T> Queue<T> {
    /// Most parts are not larger, in bytes.
    const ORDINARY: u64 = PART_BYTES + PART_BYTES / 2;
    /// Facts in work for each thread, in bytes, where there is a choice.
    const MAX_FOR_EACH: u64 = 3 * PART_BYTES;

    pub fn new(mut parts: Vec<(u64, T)>, threads: usize) -> Self {
        parts.sort_by_key(|part| part.0);
        Self { waiting: parts, in_work: 0, threads: threads as u64 }
    }

    /// The largest part, so that no thread works on it alone at the end. While others work on large parts, the largest that does not
    /// exceed the limit with them, else the smallest.
    pub fn next(&mut self) -> Option<(u64, T)> {
        let others_are_ordinary = self.in_work <= self.threads.saturating_sub(1) * Self::ORDINARY;
        let limit = self.threads * Self::MAX_FOR_EACH;
        let fits = |part: &(u64, T)| others_are_ordinary || self.in_work.saturating_add(part.0) <= limit;
        let position = self.waiting.iter().rposition(fits).unwrap_or(0);
        let next = (position < self.waiting.len()).then(|| self.waiting.remove(position))?;
        self.in_work = self.in_work.saturating_add(next.0);
        Some(next)
    }

    /// Reports that a part of this size is written.
    pub fn done(&mut self, size: u64) {
        self.in_work = self.in_work.saturating_sub(size);
    }
}

/// Facts of this size or more are at least two parts, which two threads write.
const TWO_PARTS: u64 = PART_BYTES / 4 * 3;

/// Divides the sources whose parts are written again into parts of whole groups. Those of groups that this run changed are in other
/// parts than the rest, unless the rest is small: a log that changed often changes again soon, and then only a small part is written
/// again.
pub fn divide_changed(items: Vec<Item>) -> Vec<Vec<Item>> {
    let groups: HashSet<usize> = items.iter().filter(|item| item.is_new()).map(|item| item.group).collect();
    let is_of_rest = |item: &Item| !groups.contains(&item.group);
    let rest = items.iter().filter(|item| is_of_rest(item)).map(Item::weight).fold(0, u64::saturating_add);
    let (rest, changed) = if rest < SMALL_PART { (Vec::new(), items) } else { items.into_iter().partition(is_of_rest) };
    let divided =
        [changed, rest].map(|items| divide(items.into_iter().map(|item| (item.group, item)).collect(), Item::weight));
    divided.into_iter().flatten().collect()
}

/// Divides items with the numbers of their groups into parts: whole groups, together about [`PART_BYTES`] or less. They are an even
/// number of about the same size: most machines have an even number of threads, which then end together.
fn divide<T>(items: Vec<(usize, T)>, length_of: impl Fn(&T) -> u64) -> Vec<Vec<T>> {
    let total = items.iter().fold(0_u64, |sum, (_, item)| sum.saturating_add(length_of(item)));
    let count = match total.saturating_add(PART_BYTES / 2) / PART_BYTES {
        _ if total < TWO_PARTS => 1,
        count => count.max(2).next_multiple_of(2),
    };
    let each = total.div_ceil(count).max(1);
    let mut parts: Vec<Vec<T>> = Vec::new();
    let (mut before, mut size) = (0_u64, 0);
    // The group of the last item, and the number of its part if all parts had the same size.
    let mut last: Option<(usize, u64)> = None;
    for (group, item) in items {
        let length = length_of(&item);
        let number = last.filter(|last| last.0 == group).map_or(before / each, |last| last.1);
        let continues = last.is_some_and(|last| last.1 == number) || size < each / 2;
        before = before.saturating_add(length);
        if let Some(part) = parts.last_mut().filter(|_| continues) {
            size = length.saturating_add(size);
            part.push(item);
        } else {
            size = length;
            parts.push(vec![item]);
        }
        last = Some((group, number));
    }
    parts
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::model::source::Source;
    use crate::store::archive::facts::Chunks;
    use crate::store::archive::index::IndexEntry;

    /// The minimum size of most parts.
    const HALF: u64 = PART_BYTES / 2;

    fn queue(halves: &[u64], threads: usize) -> Queue<u64> {
        Queue::new(halves.iter().map(|it| (it * HALF, *it)).collect(), threads)
    }

    #[test]
    fn parts_are_whole_groups_of_about_the_same_size() {
        let sizes = |items: &[(usize, u64)]| {
            let parts = divide(items.to_vec(), |it| *it);
            parts.iter().map(|it| it.iter().sum::<u64>() * 10 / PART_BYTES).collect::<Vec<_>>()
        };
        let alone = |count: usize, size: u64| (0..count).map(|it| (it, size)).collect::<Vec<_>>();
        assert_eq!(sizes(&[]), [0; 0]);
        assert_eq!(sizes(&[(1, 0)]), [0]);
        assert_eq!(sizes(&alone(11, PART_BYTES / 16)), [6]);
        assert_eq!(sizes(&alone(14, PART_BYTES / 16)), [4, 4]);
        assert_eq!(sizes(&alone(26, PART_BYTES / 16)), [8, 8]);
        // Three would leave one thread of two alone.
        assert_eq!(sizes(&alone(48, PART_BYTES / 16)), [7, 7, 7, 7]);
        assert_eq!(sizes(&alone(160, PART_BYTES / 16)), [10; 10]);
        // What belongs together stays together.
        let group = [
            (5, PART_BYTES),
            (5, PART_BYTES),
            (5, PART_BYTES),
            (6, PART_BYTES / 2),
            (7, PART_BYTES / 2),
            (8, PART_BYTES),
        ];
        assert_eq!(sizes(&group), [30, 5, 15]);
        let small = [
            (1, PART_BYTES * 2),
            (2, PART_BYTES / 20),
            (3, PART_BYTES * 2),
            (4, PART_BYTES / 20),
            (5, PART_BYTES * 2),
            (6, PART_BYTES * 2),
        ];
        assert_eq!(sizes(&small), [20, 20, 20, 20]);
        assert_eq!(divide(vec![(1, u64::MAX), (2, u64::MAX)], |it| *it).len(), 2);
    }

    #[test]
    fn groups_that_changed_are_apart_from_a_rest_that_is_not_small() {
        let item = |path: &str, group, is_new, length| {
            let mut entry = Box::new(IndexEntry::of(&Source::default(), false, [].into()));
            entry.facts.length = length;
            let facts = if is_new { FactsLocation::Spool(Chunks::one(0, length)) } else { FactsLocation::Part };
            Item { path: path.to_owned(), entry, facts, group, is_alone: false }
        };
        let paths = |length_of_rest| {
            let items = [("a", 1, false, 9), ("b", 1, true, 9), ("c", 2, false, length_of_rest), ("d", 3, true, 9)];
            let items = items.map(|(path, group, is_new, length)| item(path, group, is_new, length));
            let parts = divide_changed(items.into());
            parts.iter().map(|part| part.iter().map(|item| item.path.as_str()).collect()).collect::<Vec<String>>()
        };
        assert_eq!(paths(SMALL_PART), ["abd", "c"]);
        assert_eq!(paths(9), ["abcd"]);
    }

    #[test]
    fn the_largest_part_within_the_limit_is_next() {
        let mut queue = queue(&[1, 7, 3, 20, 9, 2, 5], 2);
        let mut next = || queue.next().map(|it| it.1);
        // The largest of all; with it all others exceed the limit, so the smallest.
        assert_eq!((next(), next()), (Some(20), Some(1)));
        queue.done(20 * HALF);
        // With an ordinary one in work, any.
        assert_eq!(queue.next().map(|it| it.1), Some(9));
        queue.done(HALF);
        assert_eq!(queue.next().map(|it| it.1), Some(3));
        queue.done(9 * HALF);
        assert_eq!(queue.next().map(|it| it.1), Some(7));
    }

    /// Threads end at about the same time, and what they work on is limited.
    #[test]
    fn threads_end_together_and_hold_little() {
        for threads in [1, 2, 4, 16] {
            let sizes: Vec<u64> = (0..200).map(|it| 1 + it % 6).chain([8; 8]).collect();
            let mut queue = queue(&sizes, threads);
            let (mut busy, mut taken, mut max, mut now) = (BTreeSet::new(), 0, 0, 0);
            loop {
                while busy.len() < threads
                    && let Some((size, halves)) = queue.next()
                {
                    busy.insert((now + halves, taken, size));
                    taken += 1;
                }
                max = max.max(busy.iter().map(|it| it.2 / HALF).sum());
                let Some((end, _, size)) = busy.pop_first() else { break };
                queue.done(size);
                now = end;
            }
            let ideal = sizes.iter().sum::<u64>().div_ceil(threads as u64);
            assert_eq!((taken, queue.in_work), (sizes.len(), 0));
            assert!(now <= ideal + 2, "{threads}: {now} {ideal}");
            assert!(max <= 6 * threads as u64 + 2, "{threads}: {max}");
        }
    }
}
