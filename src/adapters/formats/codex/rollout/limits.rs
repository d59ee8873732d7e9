//! The limits in `token_count` records. Most records repeat those of the record before it, byte for byte.

use serde::Deserialize;

use super::thread::Thread;
use crate::base::text::Symbol;
use crate::base::time::Time;
use crate::json::Raw;
use crate::json::fields::{Number, Text, When};
use crate::json::lines::Line;
use crate::model::session::Limit;

/// `rate_limits`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct RateLimits<'a> {
    limit_id: Text<'a>,
    primary: Window,
    secondary: Window,
    plan_type: Text<'a>,
    rate_limit_reached_type: Text<'a>,
    // The first version, without the time of the reset.
    primary_used_percent: Number,
    primary_window_minutes: Number,
    #[serde(alias = "weekly_used_percent")]
    secondary_used_percent: Number,
    #[serde(alias = "weekly_window_minutes")]
    secondary_window_minutes: Number,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Window {
    used_percent: Number,
    window_minutes: Number,
    resets_at: When,
    /// In older versions, after the time of the record.
    resets_in_seconds: Number,
}

impl Thread {
    /// The limits of a record. Where the thread repeats the history of another one, all of them are kept: the ledger finds out
    /// which ones are its own.
    pub(super) fn limits(&mut self, raw: Raw<'_>, line: Line<'_>, time: Option<Time>) {
        if raw.is_empty() {
            return;
        }
        let has_history = *self.root != *self.builder.session.session_id;
        if !has_history && self.state.limits == raw.0 {
            return;
        }
        let limits: RateLimits<'_> = raw.read();
        let RateLimits { primary, secondary, .. } = &limits;
        self.state.limits.clear();
        if [primary, secondary].iter().all(|window| window.resets_in_seconds.0.is_none()) {
            self.state.limits.extend_from_slice(raw.0);
        }
        let windows = [
            ("primary", primary, limits.primary_used_percent, limits.primary_window_minutes),
            ("secondary", secondary, limits.secondary_used_percent, limits.secondary_window_minutes),
        ];
        for (name, window, first_used, first_minutes) in windows {
            let limit = Limit {
                line: line.number,
                key: None,
                occurred_at: time,
                limit_id: limits.limit_id.some().map(Symbol::new),
                window_name: Symbol::new(name),
                plan: limits.plan_type.some().map(Symbol::new),
                window_minutes: window.window_minutes.rounded().or(first_minutes.rounded()),
                used_percent: window.used_percent.0.or(first_used.0).filter(|used| used.is_finite()),
                resets_at: window.resets_at.0.or_else(|| window.reset_after(time)),
                reached: limits.rate_limit_reached_type.some().map(Symbol::new),
            };
            if limit.used_percent.is_none() && limit.resets_at.is_none() {
                // The record has no such window: what it calls reached is another one.
                continue;
            }
            if has_history {
                self.builder.limit_after_history(limit);
            } else {
                self.builder.limit(limit);
            }
        }
    }
}

impl Window {
    fn reset_after(&self, time: Option<Time>) -> Option<Time> {
        let seconds = self.resets_in_seconds.rounded()?;
        Some(Time::from_micros(time?.micros().saturating_add(seconds.saturating_mul(1_000_000))))
    }
}

#[cfg(test)]
mod tests {
    use crate::adapters::engine::Hints;
    use crate::adapters::parse;
    use crate::adapters::shared::builder::Retention;
    use crate::base::time::Time;

    #[test]
    fn all_versions_have_the_same_windows() {
        let log = |limits: &str| {
            format!(
                r#"{{"timestamp":"2026-10-05T10:00:00Z","type":"session_meta","payload":{{"id":"t"}}}}
{{"timestamp":"2026-10-05T10:00:00Z","type":"event_msg","payload":{{"type":"token_count","info":null,"rate_limits":{limits}}}}}"#
            )
        };
        let time = |text| Time::parse(text);
        let (reset, none) = (time("2026-10-05T15:00:00Z"), None);
        let new = r#"{"primary":{"used_percent":3.5,"window_minutes":300,"resets_at":1791212400},"secondary":null}"#;
        let relative = r#"{"primary":{"used_percent":3.5,"window_minutes":300,"resets_in_seconds":18000}}"#;
        let flat = r#"{"primary_used_percent":3.5,"primary_window_minutes":300}"#;
        let wrong = r#"{"primary":[],"secondary":{"resets_at":{},"used_percent":"x"},"limit_id":5}"#;
        for (limits, expected) in [
            (new, vec![(Some(3.5), Some(300), reset)]),
            (relative, vec![(Some(3.5), Some(300), reset)]),
            (flat, vec![(Some(3.5), Some(300), none)]),
            (wrong, vec![]),
            ("null", vec![]),
            ("7", vec![]),
        ] {
            let session = parse(log(limits).as_bytes(), Hints::default(), Retention::None).sessions.swap_remove(0);
            let found: Vec<_> =
                session.limits.iter().map(|it| (it.used_percent, it.window_minutes, it.resets_at)).collect();
            assert_eq!(found, expected, "{limits}");
        }
    }
}
