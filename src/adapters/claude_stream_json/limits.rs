//! The limits in `rate_limit_event` records.

use serde::Deserialize;

use crate::adapters::claude::Origin;
use crate::adapters::common::builder::Builder;
use crate::base::text::Symbol;
use crate::json::Raw;
use crate::json::fields::{Number, Pairs, Text, When};
use crate::model::session::Limit;

/// `rate_limit_info`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct LimitInfo<'a> {
    #[serde(borrow)]
    status: Text<'a>,
    #[serde(borrow)]
    rate_limit_type: Text<'a>,
    utilization: Number,
    resets_at: When,
    /// The state of all windows, in newer versions.
    #[serde(borrow)]
    unified_windows: Pairs<'a, Window>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Window {
    utilization: Number,
    resets_at: When,
}

/// Adds the windows of a record. The status is that of the window that the record names.
pub(super) fn add(builder: &mut Builder, info: Raw<'_>, origin: &Origin<'_>) {
    let info: LimitInfo<'_> = info.read();
    let named = info.rate_limit_type.as_str();
    let windows = &info.unified_windows.0;
    let own = windows.iter().find(|(name, _)| *name == named).map(|(_, window)| window);
    let mut state = |name: &str, utilization: Option<f64>, reset: When, reached: Option<Symbol>| {
        builder.limit(Limit {
            line: origin.line,
            key: origin.uuid.map(Into::into),
            occurred_at: origin.time,
            limit_id: None,
            window_name: Symbol::new(name),
            plan: None,
            window_minutes: minutes(name),
            used_percent: utilization.filter(|used| used.is_finite()).map(percent),
            resets_at: reset.0,
            reached,
        });
    };
    if !named.is_empty() {
        let utilization = info.utilization.0.or(own.and_then(|window| window.utilization.0));
        let reset = info.resets_at.0.or(own.and_then(|window| window.resets_at.0));
        let reached = info.status.some().filter(|status| *status == "rejected").map(Symbol::new);
        state(named, utilization, When(reset), reached);
    }
    for (name, window) in windows.iter().filter(|(name, _)| *name != named) {
        state(name, window.utilization.0, window.resets_at, None);
    }
}

/// A fraction in percent, without the error of the multiplication: 0.07 is 7 %.
fn percent(fraction: f64) -> f64 {
    (fraction * 1e8).round() / 1e6
}

/// The length of a window, which its name contains.
fn minutes(name: &str) -> Option<i64> {
    if name == "five_hour" {
        Some(5 * 60)
    } else if name == "seven_day" || name.starts_with("seven_day_") {
        Some(7 * 24 * 60)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use crate::adapters::common::builder::Retention;
    use crate::adapters::{Hints, parse};

    #[test]
    fn each_window_has_its_state() {
        let event = |info: &str| {
            format!(
                r#"{{"type":"rate_limit_event","rate_limit_info":{info},"uuid":"u-{}","session_id":"s"}}"#,
                info.len()
            )
        };
        let log = [
            event(r#"{"status":"allowed","resetsAt":1791212400,"rateLimitType":"five_hour"}"#),
            event(
                r#"{"status":"allowed_warning","resetsAt":1791212400,"rateLimitType":"five_hour","utilization":0.07,"unifiedWindows":{"five_hour":{"utilization":0.07,"resetsAt":1791212400},"seven_day":{"utilization":0.45,"resetsAt":1791600000}}}"#,
            ),
            event(
                r#"{"status":"rejected","rateLimitType":"seven_day","unifiedWindows":{"five_hour":{"utilization":0.07,"resetsAt":1791212400},"seven_day":{"utilization":1,"resetsAt":1791600000}}}"#,
            ),
            event(r#"{"status":7,"rateLimitType":[],"unifiedWindows":8}"#),
            event("9"),
        ];
        let session = parse(log.join("\n").as_bytes(), Hints::default(), Retention::None).sessions.swap_remove(0);
        let found: Vec<_> = session
            .limits
            .iter()
            .map(|it| (it.line, it.window_name.to_string(), it.used_percent, it.window_minutes, it.reached.is_some()))
            .collect();
        let row =
            |line, name: &str, used, minutes, is_reached| (line, name.to_owned(), used, Some(minutes), is_reached);
        let expected = [
            row(1, "five_hour", None, 300, false),
            row(2, "five_hour", Some(7.0), 300, false),
            row(2, "seven_day", Some(45.0), 10_080, false),
            row(3, "seven_day", Some(100.0), 10_080, true),
        ];
        assert_eq!(found, expected);
    }
}
