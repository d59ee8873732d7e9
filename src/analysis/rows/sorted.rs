//! Rows by their sessions.

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
    pub(in crate::analysis) fn new(rows: Vec<(usize, R)>, time: impl Fn(&R) -> Option<i64>) -> Self {
        let mut keyed: Vec<(usize, Option<i64>, R)> =
            rows.into_iter().map(|(session, row)| (session, time(&row), row)).collect();
        keyed.sort_by_key(|(session, ..)| *session);
        let mut before = None;
        for (session, time, _) in &mut keyed {
            *time = time.or(before.filter(|(of, _)| of == session).and_then(|(_, time)| time));
            before = Some((*session, *time));
        }
        keyed.sort_by_key(|(session, time, _)| (*session, *time));
        let mut end = 0;
        let runs = keyed.chunk_by(|(a, ..), (b, ..)| a == b);
        let ends = runs.filter_map(|run| {
            end += run.len();
            run.first().map(|(session, ..)| (*session, end))
        });
        let ends = ends.collect();
        Self { rows: keyed.into_iter().map(|(.., row)| row).collect(), ends }
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
