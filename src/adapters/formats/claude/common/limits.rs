//! The limits of a subscription that Claude Code logs: `rate_limit_info` of streams, `quotaLimits` of transcripts, and the message of
//! a limit that was reached, which all versions write (docs/accounting.md#limits).

use std::sync::LazyLock;

use jiff::Zoned;
use jiff::civil::{self, Date, Weekday};
use regex::{Captures, Regex};
use serde::Deserialize;

use super::Origin;
use crate::adapters::shared::builder::Builder;
use crate::base::text::Symbol;
use crate::base::time::{HOUR_MS, Time};
use crate::base::zone::in_zone_of_iana;
use crate::json::Raw;
use crate::json::fields::{Number, Pairs, Text, When};
use crate::model::session::Limit;

/// The name of the window of five hours.
const FIVE_HOURS: &str = "five_hour";
/// The name of the window of a week. The windows of single models have the model after it.
const WEEK: &str = "seven_day";
/// The state of a limit that was reached, as `rate_limit_info` names it.
const REJECTED: &str = "rejected";

/// `rate_limit_info` or `quotaLimits`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct LimitInfo<'a> {
    status: Text<'a>,
    rate_limit_type: Text<'a>,
    utilization: Number,
    resets_at: When,
    /// The state of all windows, in newer versions.
    unified_windows: Pairs<'a, Window>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Window {
    utilization: Number,
    resets_at: When,
}

/// Adds the windows of a record. The status is that of the window that the record names.
pub(crate) fn add(builder: &mut Builder, info: Raw<'_>, origin: &Origin<'_>) {
    let info: LimitInfo<'_> = info.read();
    let named = info.rate_limit_type.as_str();
    let windows = &info.unified_windows.0;
    let own = windows.iter().find(|(name, _)| *name == named).map(|(_, window)| window);
    let mut state = |name: &str, utilization: Option<f64>, reset: When, reached: Option<Symbol>| {
        let used_percent = utilization.filter(|used| used.is_finite()).map(percent);
        builder.limit(Limit { used_percent, resets_at: reset.0, reached, ..window(name, origin) });
    };
    if !named.is_empty() {
        let utilization = info.utilization.0.or(own.and_then(|window| window.utilization.0));
        let reset = info.resets_at.0.or(own.and_then(|window| window.resets_at.0));
        let reached = info.status.some().filter(|status| *status == REJECTED).map(Symbol::new);
        // A limit that was reached is used up, as in the messages.
        let utilization = utilization.or(reached.is_some().then_some(1.0));
        state(named, utilization, When(reset), reached);
    }
    for (name, window) in windows.iter().filter(|(name, _)| *name != named) {
        state(name, window.utilization.0, window.resets_at, None);
    }
}

/// Adds the window of a message, if that is about a limit that was reached.
pub(crate) fn add_message(builder: &mut Builder, text: &str, origin: &Origin<'_>) {
    let Some((name, resets_at)) = reached(text, origin.at.time) else { return };
    let reached = Some(Symbol::new(REJECTED));
    builder.limit(Limit { used_percent: Some(100.0), resets_at, reached, ..window(&name, origin) });
}

/// A window of that name in a record, without its state.
fn window(name: &str, origin: &Origin<'_>) -> Limit {
    Limit {
        line: origin.at.line,
        key: origin.uuid.map(Into::into),
        occurred_at: origin.at.time,
        window_name: Symbol::new(name),
        window_minutes: minutes(name),
        ..Limit::default()
    }
}

/// A fraction in percent, without the error of the multiplication: 0.07 is 7 %.
fn percent(fraction: f64) -> f64 {
    (fraction * 1e8).round() / 1e6
}

/// The length of a window, which its name contains.
fn minutes(name: &str) -> Option<i64> {
    if name == FIVE_HOURS {
        Some(5 * 60)
    } else if name == WEEK || name.strip_prefix(WEEK).is_some_and(|model| model.starts_with('_')) {
        Some(7 * 24 * 60)
    } else {
        None
    }
}

/// The words before "limit": "You've hit your session limit", "Opus weekly limit reached", "Claude AI usage limit reached". "You're
/// out of extra usage" names no window: what was bought beyond it is used up, too.
static REACHED: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"^(?:you['’]ve (?:hit|reached) your (?<hit>[a-z0-9 -]*?) ?limit\b|you['’]re out of extra (?<extra>usage)\b",
        r"|(?<reached>[a-z0-9 -]*?) ?limit reached\b)",
    ))
});

/// The time of the reset: in seconds after a bar, or after "resets" as a local time, each part of which may be absent, or as a date.
static RESET: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"limit reached\|(?<epoch>\d{10,13})|\bresets?(?: at)? ",
        r"(?:(?<weekday>mon|tue|wed|thu|fri|sat|sun)(?:[a-z]*day|s|rs)?\b,? ?)?",
        r"(?:(?<month>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]* (?<day>\d{1,2})\b,? ?(?:(?<year>20\d\d),? ?)?)?",
        r"(?:(?:at )?(?<hour>\d{1,2})(?::(?<minute>\d\d))? ?(?<half>am|pm))?(?: ?\((?<zone>[a-z0-9/_+-]+)\))?",
    ))
});

#[expect(clippy::expect_used, reason = "the patterns are constant, and a test compiles them")]
fn regex(pattern: &str) -> Regex {
    Regex::new(&format!("(?i){pattern}")).expect("a valid pattern")
}

/// The window that a message calls reached, and when it resets. `None` for every other message, also about a spending limit, which
/// has no window.
fn reached(text: &str, time: Option<Time>) -> Option<(Symbol, Option<Time>)> {
    let found = REACHED.captures(text.trim_start())?;
    let words =
        ["hit", "extra", "reached"].into_iter().find_map(|name| found.name(name))?.as_str().to_ascii_lowercase();
    let has = |reset: &Captures<'_>, parts: &[&str]| parts.iter().any(|part| reset.name(part).is_some());
    let reset = RESET.captures_iter(text).find(|reset| has(reset, &["epoch", "month", "weekday", "hour"]));
    let resets_at = reset.as_ref().and_then(|reset| reset_time(reset, time?));
    let name = match words.trim_start_matches("claude ").trim_start_matches("ai ") {
        "session" | "5-hour" | "five-hour" => FIVE_HOURS.to_owned(),
        "weekly" | "7-day" => WEEK.to_owned(),
        // The message of any window. Only the last five hours of a week are confused with the shorter window, whose reset has no date.
        "" | "usage" => {
            let names_date = reset.as_ref().is_some_and(|reset| has(reset, &["month", "weekday"]));
            let names_hour = reset.as_ref().is_some_and(|reset| has(reset, &["epoch", "hour"]));
            let is_short = match resets_at.zip(time).filter(|_| names_hour) {
                Some((reset, time)) => reset.since(time) <= 5 * HOUR_MS,
                None => !names_date,
            };
            if is_short { FIVE_HOURS.to_owned() } else { WEEK.to_owned() }
        }
        words => {
            let models = ["opus", "sonnet", "haiku", "fable"];
            let model = words.split(' ').filter(|word| *word != "weekly").collect::<Vec<_>>().join(" ");
            format!("{WEEK}_{}", models.iter().find(|known| **known == model)?)
        }
    };
    Some((Symbol::new(&name), resets_at))
}

const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

/// The time of day of a reset. `None` if the message names none.
fn clock(found: &Captures<'_>) -> Option<Result<civil::Time, jiff::Error>> {
    let number = |name: &str| found.name(name)?.as_str().parse::<i8>().ok();
    let hour = match (number("hour")?, found.name("half")?.as_str().to_ascii_lowercase().as_str()) {
        (12, "am") => 0,
        (12, _) => 12,
        (hour, "am") => hour,
        (hour, _) => hour.checked_add(12)?,
    };
    Some(civil::Time::new(hour, number("minute").unwrap_or(0), 0, 0))
}

/// The time of a reset, the first one after `time`. `None` without a zone, as that of the user is not logged. A date without an hour is
/// the beginning of that day, unless it is today.
fn reset_time(found: &Captures<'_>, time: Time) -> Option<Time> {
    if let Some(epoch) = found.name("epoch") {
        return Time::parse(epoch.as_str());
    }
    let number = |name: &str| found.name(name)?.as_str().parse::<i8>().ok();
    let now = in_zone_of_iana(time, found.name("zone")?.as_str())?;
    let clock = clock(found).transpose().ok()?;
    let at =
        |date: Date| -> Option<Zoned> { now.time_zone().to_zoned(date.to_datetime(clock.unwrap_or_default())).ok() };
    let begins = |name: &str, all: &[&str]| {
        let text = found.name(name)?.as_str().to_ascii_lowercase();
        all.iter().position(|known| text.starts_with(known)).and_then(|index| i8::try_from(index + 1).ok())
    };
    let later = |date: Date, days: i64| date.checked_add(jiff::Span::new().try_days(days).ok()?).ok();
    let candidates: Vec<Option<Date>> = if let Some(month) = begins("month", &MONTHS) {
        let year = found.name("year").and_then(|year| year.as_str().parse().ok());
        let years = year.map_or_else(|| vec![now.year(), now.year() + 1], |year| vec![year]);
        years.into_iter().map(|year| Date::new(year, month, number("day")?).ok()).collect()
    } else if let Some(weekday) = begins("weekday", &WEEKDAYS) {
        let weekday = Weekday::from_monday_one_offset(weekday).ok()?;
        let days = i64::from(now.weekday().until(weekday));
        vec![later(now.date(), days), later(now.date(), days + 7)]
    } else {
        vec![Some(now.date()), later(now.date(), 1)]
    };
    if clock.is_none() && candidates.contains(&Some(now.date())) {
        return None;
    }
    let reset = candidates.into_iter().flatten().filter_map(at).find(|reset| *reset > now)?;
    Some(reset.timestamp().into())
}

#[cfg(test)]
mod tests {
    use crate::adapters::engine::Hints;
    use crate::adapters::formats::claude::common::limits::reached;
    use crate::adapters::parse;
    use crate::adapters::shared::builder::Retention;
    use crate::base::time::Time;

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
            event(r#"{"status":"rejected","resetsAt":1791212400,"rateLimitType":"five_hour"}"#),
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
            row(5, "five_hour", Some(100.0), 300, true),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn messages_name_the_window_and_its_end() {
        let time = Time::parse("2026-01-22T15:30:00Z");
        let cases = [
            ("Claude AI usage limit reached|1769108400", Some(("five_hour", "2026-01-22T19:00:00Z"))),
            (
                "You've hit your limit · resets Jan 24 at 6pm (Europe/Berlin)",
                Some(("seven_day", "2026-01-24T17:00:00Z")),
            ),
            ("You’ve hit your session limit · resets 8:20pm (Asia/Seoul)", Some(("five_hour", "2026-01-23T11:20:00Z"))),
            ("You've hit your weekly limit · resets Mon 12am (UTC)", Some(("seven_day", "2026-01-26T00:00:00Z"))),
            ("You've hit your weekly limit · resets Jan 3, 9:05am (UTC)", Some(("seven_day", "2027-01-03T09:05:00Z"))),
            ("You've hit your weekly limit · resets Thu 4pm (UTC)", Some(("seven_day", "2026-01-22T16:00:00Z"))),
            (
                "Opus weekly limit reached ∙ resets Jan 24, 2026, 1pm (UTC)",
                Some(("seven_day_opus", "2026-01-24T13:00:00Z")),
            ),
            ("You're out of extra usage · resets 5pm (UTC)", Some(("five_hour", "2026-01-22T17:00:00Z"))),
            ("You're now using extra usage", None),
            ("You've reached your Fable limit.", Some(("seven_day_fable", ""))),
            // The zone of the user is not logged.
            ("5-hour limit reached ∙ resets 3pm", Some(("five_hour", ""))),
            (
                "Claude usage limit reached. Your limit will reset at 7pm (UTC).",
                Some(("five_hour", "2026-01-22T19:00:00Z")),
            ),
            ("Session limit reached ∙ resets 99pm (UTC)", Some(("five_hour", ""))),
            ("You've hit your limit · resets Jan 25 (UTC)", Some(("seven_day", "2026-01-25T00:00:00Z"))),
            ("You've hit your limit · resets Jan 25 (Europe/Berlin)", Some(("seven_day", "2026-01-24T23:00:00Z"))),
            ("You've hit your limit · resets Mon (UTC)", Some(("seven_day", "2026-01-26T00:00:00Z"))),
            ("You've hit your limit · resets Jan 22 (UTC)", Some(("seven_day", ""))),
            ("You've hit your limit · resets Jan 25 at 6pm", Some(("seven_day", ""))),
            ("You've hit your limit · resets Jan 25", Some(("seven_day", ""))),
            ("You've hit your session limit · resets Jan 23 (UTC)", Some(("five_hour", "2026-01-23T00:00:00Z"))),
            ("You've hit your limit. It resets soon · resets 5pm (UTC)", Some(("five_hour", "2026-01-22T17:00:00Z"))),
            ("You've hit your limit · resets monthly", Some(("five_hour", ""))),
            ("Session limit reached ∙ resets 3pm (../../etc/passwd)", Some(("five_hour", ""))),
            ("You've hit your monthly spend limit · raise it", None),
            ("The log: You've hit your session limit", None),
            ("API Error: 429", None),
        ];
        for (text, expected) in cases {
            let found = reached(text, time).map(|(name, reset)| (name.to_string(), reset));
            let expected = expected.map(|(name, reset)| (name.to_owned(), Time::parse(reset)));
            assert_eq!(found, expected, "{text}");
        }
    }
}
