//! Rows by their sessions.

use polars::prelude::*;

use crate::store::frames::{TypedRows, for_each_batch};

/// Rows by their sessions: of each session together, in order.
pub(in crate::analysis) struct Sorted<R> {
    rows: Vec<R>,
    /// The index of each session that has rows, with the position after its last row; sorted.
    ends: Vec<(usize, usize)>,
}

impl<R> Default for Sorted<R> {
    fn default() -> Self {
        Self { rows: Vec::new(), ends: Vec::new() }
    }
}

impl<R> Sorted<R> {
    /// Sorts rows by the indices of their sessions; of each session by `time`. Rows without a time follow the row before
    /// them.
    pub(in crate::analysis) fn new(mut rows: Vec<(usize, R)>, time: impl Fn(&R) -> Option<i64>) -> Self {
        rows.sort_by_key(|(session, _)| *session);
        let (mut ends, mut end) = (Vec::new(), 0);
        for of_session in rows.chunk_by_mut(|(a, _), (b, _)| a == b) {
            end += of_session.len();
            ends.extend(of_session.first().map(|(session, _)| (*session, end)));
            sort_by_time(of_session, |(_, row)| time(row));
        }
        Self { rows: rows.into_iter().map(|(_, row)| row).collect(), ends }
    }

    /// Reads rows of a table, and sorts them as [`Self::new`] does. `read` returns the index of a row's session with what is needed of
    /// the row, or `None` to leave it out.
    pub(in crate::analysis) fn read<C: TypedRows>(
        table: LazyFrame,
        mut read: impl FnMut(&C, usize) -> Option<(usize, R)>,
        time: impl Fn(&R) -> Option<i64>,
    ) -> PolarsResult<Self> {
        let mut rows = Vec::new();
        for_each_batch(table, |columns: &C| {
            rows.reserve(columns.height());
            rows.extend((0..columns.height()).filter_map(|row| read(columns, row)));
            Ok(())
        })?;
        Ok(Self::new(rows, time))
    }

    /// The indices of the sessions that have rows.
    pub(in crate::analysis) fn sessions(&self) -> impl Iterator<Item = usize> {
        self.ends.iter().map(|(session, _)| *session)
    }

    /// The rows of a session.
    pub(in crate::analysis) fn of(&self, session: usize) -> &[R] {
        let Ok(found) = self.ends.binary_search_by_key(&session, |(session, _)| *session) else { return &[] };
        let end = |position: usize| self.ends.get(position).map(|(_, end)| *end);
        let start = found.checked_sub(1).and_then(end).unwrap_or(0);
        end(found).and_then(|end| self.rows.get(start..end)).unwrap_or_default()
    }
}

/// Sorts rows by time. Rows without a time follow the row before them.
#[expect(clippy::indexing_slicing, reason = "the positions are those of the rows")]
fn sort_by_time<R>(rows: &mut [R], time: impl Fn(&R) -> Option<i64>) {
    let mut before = None;
    let mut times: Vec<(Option<i64>, usize)> = Vec::with_capacity(rows.len());
    for (position, row) in rows.iter().enumerate() {
        before = time(row).or(before);
        times.push((before, position));
    }
    if times.is_sorted() {
        return;
    }
    times.sort_unstable();
    for to in 0..times.len() {
        let mut from = times[to].1;
        // The row there was swapped with another one, whose new place is known.
        while from < to {
            from = times[from].1;
        }
        times[to].1 = from;
        rows.swap(to, from);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The number of steps is proportional to that of the rows: with their square, this would take minutes.
    #[test]
    fn the_first_row_may_be_the_last_one_of_a_log() {
        let rows: Vec<(usize, i64)> = (1..300_000).chain([0]).map(|time| (0, time)).collect();
        assert!(Sorted::new(rows, |time| Some(*time)).of(0).iter().copied().eq(0..300_000));
    }

    proptest! {
        #[test]
        fn rows_are_in_the_order_of_sessions_and_times(
            rows in prop::collection::vec((0..4_usize, prop::option::of(0..6_i64)), 0..40),
        ) {
            let numbered = || rows.iter().enumerate().map(|(number, (session, time))| (*session, (number, *time)));
            let sorted = Sorted::new(numbered().collect(), |(_, time)| *time);
            for session in 0..4 {
                let mut before = None;
                let mut expected: Vec<_> = numbered()
                    .filter(|(of, _)| *of == session)
                    .map(|(_, (number, time))| {
                        before = time.or(before);
                        (before, (number, time))
                    })
                    .collect();
                expected.sort_by_key(|(time, _)| *time);
                let expected: Vec<_> = expected.into_iter().map(|(_, row)| row).collect();
                prop_assert_eq!(sorted.of(session), &expected);
            }
        }
    }
}
