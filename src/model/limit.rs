//! The limits of a subscription, as a runtime logged them.

use serde::{Deserialize, Serialize};

use crate::base::text::{SharedStr, Symbol};
use crate::base::time::Time;

/// How far two times of the same reset may differ, in milliseconds. Providers compute the time again for each response: see
/// docs/accounting.md#limits.
pub const RESET_TOLERANCE_MS: i64 = 60_000;

/// The state of one window of a limit.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limit {
    /// The line of its record.
    pub line: i64,
    /// The log's id of the record: equal ids are copies. Without an id, time and values are compared.
    pub key: Option<SharedStr>,
    /// Time of the record.
    pub occurred_at: Option<Time>,
    /// The limit, if a runtime has several.
    pub limit_id: Option<Symbol>,
    /// The runtime's word for the window.
    pub window_name: Symbol,
    /// The subscription.
    pub plan: Option<Symbol>,
    /// Length of the window in minutes.
    pub window_minutes: Option<i64>,
    /// The used part of the limit in percent.
    pub used_percent: Option<f64>,
    /// When the window ends.
    pub resets_at: Option<Time>,
    /// The limit that was reached, in the runtime's words.
    pub reached: Option<Symbol>,
}

/// Identifies a window within a session.
pub type WindowKey = (Option<Symbol>, Symbol);

impl Limit {
    /// Whether it contains a state.
    pub const fn is_known(&self) -> bool {
        self.used_percent.is_some() || self.resets_at.is_some() || self.reached.is_some()
    }

    /// The limit and the window.
    pub fn window(&self) -> WindowKey {
        (self.limit_id.clone(), self.window_name.clone())
    }

    /// Whether it differs from an earlier state of the window in more than its place, its time and a few seconds of the reset.
    pub fn differs_from(&self, earlier: &Self) -> bool {
        self.used_percent != earlier.used_percent
            || self.window_minutes != earlier.window_minutes
            || self.plan != earlier.plan
            || self.reached != earlier.reached
            || !is_same_reset(self.resets_at, earlier.resets_at)
    }
}

/// Whether two times are those of the same reset.
fn is_same_reset(a: Option<Time>, b: Option<Time>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => a.since(b).abs() <= RESET_TOLERANCE_MS,
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_seconds_of_the_reset_are_no_change() {
        let limit = |used: f64, reset: Option<i64>| Limit {
            used_percent: Some(used),
            resets_at: reset.map(|second| Time::from_micros(second * 1_000_000)),
            ..Limit::default()
        };
        let cases = [
            (limit(1.0, Some(1000)), limit(1.0, Some(1001)), false),
            (limit(1.0, Some(1060)), limit(1.0, Some(1000)), false),
            (limit(1.0, Some(1061)), limit(1.0, Some(1000)), true),
            (limit(1.0, None), limit(1.0, Some(1000)), true),
            (limit(1.0, None), limit(1.0, None), false),
            (limit(2.0, None), limit(1.0, None), true),
            (Limit { line: 7, ..limit(1.0, None) }, limit(1.0, None), false),
            (Limit { plan: Some("pro".into()), ..limit(1.0, None) }, limit(1.0, None), true),
            (Limit { reached: Some("primary".into()), ..limit(1.0, None) }, limit(1.0, None), true),
        ];
        for (later, earlier, expected) in cases {
            assert_eq!(later.differs_from(&earlier), expected, "{later:?} {earlier:?}");
        }
    }
}
