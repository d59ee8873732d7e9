//! One window of a limit, its rates and its projection.

use crate::base::time::{DAY_MS, HOUR_MS, MINUTE_MS, Time};

/// A window of a subscription's limit.
#[derive(Debug, Clone, PartialEq)]
pub struct Window {
    /// The agent program.
    pub runtime: String,
    /// The limit, where the runtime has several.
    pub limit_id: Option<String>,
    /// The runtime's word; `five_hour` or `week` for a window that was not logged.
    pub window_name: String,
    /// The subscription, as last logged.
    pub plan: Option<String>,
    /// Whether a log contains the window; otherwise it was computed from the times of the turns.
    pub is_logged: bool,
    /// When it begins.
    pub starts_at: Option<Time>,
    /// When it ends: when the limit resets.
    pub ends_at: Option<Time>,
    /// Whether it is a current one.
    pub active: bool,
    /// The used part of the limit in percent, as last logged.
    pub used_percent: Option<f64>,
    /// The runtime's word, if the limit is reached, as last logged.
    pub reached: Option<String>,
    /// The turns in it.
    pub spent: Spent,
    /// The time of the last state that was logged, or of the last turn if that is later.
    pub last_activity: Option<Time>,
}

/// The turns in a window that the filters include. See docs/reports.md#limits.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Spent {
    /// Number of responses; NULL if the turns of the window are not known.
    pub turns: Option<i64>,
    /// Their tokens.
    pub tokens: Option<i64>,
    /// Their cost in US dollars.
    pub cost_usd: Option<f64>,
    /// The time of the first one.
    pub first: Option<Time>,
    /// The time of the last one.
    pub last: Option<Time>,
}

/// The burn rate of a window, and what it will be at its end at that rate.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Rates {
    /// Tokens per minute between the first and the last turn.
    pub tokens_per_minute: Option<f64>,
    /// US dollars per minute between the first and the last turn.
    pub cost_usd_per_minute: Option<f64>,
    /// Tokens at the end of an active window.
    pub projected_tokens: Option<i64>,
    /// US dollars at the end of an active window.
    pub projected_cost_usd: Option<f64>,
    /// The used part of the limit at the end of an active window.
    pub projected_used_percent: Option<f64>,
}

impl Window {
    /// A name for people: `codex 5h`, `codex week`, `claude week opus`. A runtime's word such as `primary` gives way to the length.
    pub fn label(&self) -> String {
        let limit = self.limit_id.as_deref().filter(|limit| *limit != self.runtime);
        let window = window_label(&self.window_name, self.starts_at.zip(self.ends_at));
        [Some(self.runtime.as_str()), limit, Some(&window)].into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    /// Its rates and its projection at `now`.
    pub fn rates(&self, now: Time) -> Rates {
        let Spent { tokens, cost_usd, first, last, .. } = self.spent;
        let burned = first.zip(last).and_then(|(first, last)| minutes_between(first, last));
        let per_minute = |amount: Option<f64>, minutes: Option<f64>| Some(amount? / minutes?);
        #[expect(clippy::cast_precision_loss, reason = "a rate needs no more digits")]
        let tokens = tokens.map(|tokens| tokens as f64);
        let tokens_per_minute = per_minute(tokens, burned);
        let cost_usd_per_minute = per_minute(cost_usd, burned);
        // Nothing is used at the start of a window.
        let observed = self.starts_at.zip(self.last_activity).and_then(|(start, last)| minutes_between(start, last));
        let used_per_minute = per_minute(self.used_percent, observed);

        let remaining = self.ends_at.filter(|_| self.active).map(|end| minutes_between(now, end).unwrap_or(0.0));
        let projected = |amount: Option<f64>, rate: Option<f64>| Some(remaining?.mul_add(rate?, amount?));
        #[expect(clippy::cast_possible_truncation, reason = "a number of tokens, which no window exceeds")]
        let whole = |amount: f64| amount.round() as i64;
        Rates {
            tokens_per_minute,
            cost_usd_per_minute,
            projected_tokens: projected(tokens, tokens_per_minute).map(whole),
            projected_cost_usd: projected(cost_usd, cost_usd_per_minute),
            projected_used_percent: projected(self.used_percent, used_per_minute),
        }
    }
}

/// The name of a window for people, from the runtime's word and its two ends. Windows are known by their length; of a word that
/// has more parts, the rest is kept.
pub fn window_label(name: &str, ends: Option<(Time, Time)>) -> String {
    const LENGTHS: [(&str, &str); 2] = [("five_hour", "5h"), ("seven_day", "week")];
    if let Some((rest, length)) = LENGTHS.iter().find_map(|(word, length)| Some((name.strip_prefix(word)?, length))) {
        return format!("{length}{}", rest.replace('_', " "));
    }
    if !matches!(name, "primary" | "secondary") {
        return name.to_owned();
    }
    match ends.map(|(start, end)| end.since(start)) {
        Some(length) if length == 7 * DAY_MS => "week".to_owned(),
        Some(length) if length >= 2 * DAY_MS && length % DAY_MS == 0 => format!("{}d", length / DAY_MS),
        Some(length) if length >= HOUR_MS && length % HOUR_MS == 0 => format!("{}h", length / HOUR_MS),
        Some(length) if length > 0 => format!("{}min", length / MINUTE_MS),
        _ => name.to_owned(),
    }
}

/// The minutes between two times; `None` if that is not positive.
fn minutes_between(from: Time, until: Time) -> Option<f64> {
    let micros = until.micros().saturating_sub(from.micros());
    #[expect(clippy::cast_precision_loss, reason = "a duration needs no more digits")]
    (micros > 0).then(|| micros as f64 / 60e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn minute(minute: i64) -> Time {
        Time::from_micros(1_800_000_000_000_000 + minute * 60_000_000)
    }

    fn window() -> Window {
        Window {
            runtime: "r".to_owned(),
            limit_id: None,
            window_name: "w".to_owned(),
            plan: None,
            is_logged: true,
            starts_at: Some(minute(0)),
            ends_at: Some(minute(300)),
            active: true,
            used_percent: Some(20.0),
            reached: None,
            spent: Spent {
                turns: Some(3),
                tokens: Some(6000),
                cost_usd: Some(1.5),
                first: Some(minute(40)),
                last: Some(minute(100)),
            },
            last_activity: Some(minute(100)),
        }
    }

    #[test]
    fn a_window_is_named_by_its_length() {
        let label = |name: &str, minutes: i64| window_label(name, Some((minute(0), minute(minutes))));
        assert_eq!(["primary", "secondary"].map(|name| label(name, 300)), ["5h", "5h"]);
        assert_eq!(
            [10_080, 43_200, 1440, 90].map(|minutes| label("secondary", minutes)),
            ["week", "30d", "24h", "90min"]
        );
        assert_eq!(
            ["five_hour", "seven_day_opus", "week", "other"].map(|name| label(name, 300)),
            ["5h", "week opus", "week", "other"]
        );
        assert_eq!(window_label("primary", None), "primary");
        let codex = Window { runtime: "codex".to_owned(), window_name: "primary".to_owned(), ..window() };
        assert_eq!(codex.label(), "codex 5h");
        let limit_id = Some("review".to_owned());
        assert_eq!(Window { limit_id, ..codex }.label(), "codex review 5h");
    }

    #[test]
    fn the_rate_is_that_of_active_time_and_continues_to_the_end() {
        let rates = window().rates(minute(200));
        assert_eq!(rates.tokens_per_minute, Some(100.0));
        assert_eq!(rates.cost_usd_per_minute, Some(0.025));
        assert_eq!(rates.projected_tokens, Some(16_000));
        assert_eq!(rates.projected_cost_usd, Some(4.0));
        assert_eq!(rates.projected_used_percent, Some(40.0));
        // After the end nothing is added.
        assert_eq!(window().rates(minute(400)).projected_tokens, Some(6000));
    }

    #[test]
    fn what_is_unknown_has_no_rate() {
        let past = Window { active: false, ..window() };
        let rates = past.rates(minute(200));
        assert_eq!((rates.tokens_per_minute, rates.projected_tokens), (Some(100.0), None));
        let single = Window { spent: Spent { last: Some(minute(40)), ..window().spent }, ..window() };
        assert_eq!(single.rates(minute(200)).tokens_per_minute, None);
        assert_eq!(single.rates(minute(200)).projected_tokens, None);
        let empty = Window { spent: Spent::default(), used_percent: None, ..window() };
        assert_eq!(empty.rates(minute(200)), Rates::default());
    }
}
