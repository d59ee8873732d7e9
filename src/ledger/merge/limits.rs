//! The states of limits that the parts of a session contain: each change once. See docs/accounting.md#limits.

use foldhash::{HashMap, HashMapExt as _};

use crate::base::text::{SharedStr, Symbol};
use crate::base::time::Time;
use crate::model::session::{Limit, WindowKey};

/// States of equal identity are copies.
#[derive(PartialEq, Eq, Hash)]
pub(super) enum LimitId {
    /// The log's own id of the record.
    Key(SharedStr, WindowKey),
    /// The time and the values.
    Content(Time, WindowKey, Option<Symbol>, Option<u64>, Option<Time>),
}

impl LimitId {
    /// The identity of a state. A state without an id and a time has none, and is never a copy.
    pub fn of(limit: &Limit) -> Option<Self> {
        if let Some(key) = &limit.key {
            return Some(Self::Key(key.clone(), limit.window()));
        }
        let used = limit.used_percent.map(f64::to_bits);
        limit.occurred_at.map(|time| Self::Content(time, limit.window(), limit.plan.clone(), used, limit.resets_at))
    }
}

/// The states by time, then in the order of the files, without those that equal the one before them. A state without a time
/// follows the state before it. Each file contains only changes already, except after a copied history.
pub(super) fn changes_of(limits: Vec<(usize, Limit)>) -> Vec<(usize, Limit)> {
    let mut last_time = None;
    let timed = limits.into_iter().map(|row| {
        last_time = row.1.occurred_at.or(last_time);
        (last_time, row)
    });
    let mut timed: Vec<_> = timed.collect();
    timed.sort_by_key(|(time, _)| *time);
    let mut changes: Vec<(usize, Limit)> = Vec::new();
    let mut last_of_window: HashMap<WindowKey, usize> = HashMap::new();
    for (_, (source, limit)) in timed {
        let window = limit.window();
        let last = last_of_window.get(&window).and_then(|index| changes.get(*index));
        if last.is_none_or(|(_, last)| limit.differs_from(last)) {
            last_of_window.insert(window, changes.len());
            changes.push((source, limit));
        }
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_changes_remain_in_the_order_of_time() {
        let limit = |time: Option<i64>, window: &str, used: f64| Limit {
            occurred_at: time.map(Time::from_micros),
            window_name: window.into(),
            used_percent: Some(used),
            ..Limit::default()
        };
        let rows = vec![
            (0, limit(Some(1), "a", 1.0)),
            (0, limit(Some(1), "b", 1.0)),
            (0, limit(None, "a", 2.0)),
            (0, limit(Some(5), "a", 4.0)),
            (1, limit(Some(2), "a", 2.0)),
            (1, limit(Some(3), "b", 1.0)),
            (1, limit(Some(4), "a", 3.0)),
        ];
        let used: Vec<_> = changes_of(rows)
            .into_iter()
            .map(|(source, limit)| (source, limit.window_name.to_string(), limit.used_percent.unwrap()))
            .collect();
        let expected = [(0, "a", 1.0), (0, "b", 1.0), (0, "a", 2.0), (1, "a", 3.0), (0, "a", 4.0)];
        assert_eq!(used, expected.map(|(source, window, used)| (source, window.to_owned(), used)));
    }
}
