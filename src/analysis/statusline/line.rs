//! The line as text.

use crate::analysis::present::{Currency, visible};
use crate::base::time::Time;
use crate::base::width::start;

/// The longest name of a model, in characters.
const LONGEST_NAME: usize = 40;

/// What the line contains. What is unknown is omitted.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Line {
    /// The name of the model.
    pub model: Option<String>,
    /// The cost of the session.
    pub session_usd: Option<f64>,
    /// The cost of the local day.
    pub today_usd: Option<f64>,
    /// The current window of five hours.
    pub five_hour: Option<WindowLeft>,
    /// The used part of the week's limit in percent.
    pub week_percent: Option<f64>,
    /// The context of the last request.
    pub context: Option<Context>,
}

/// The current window of five hours.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WindowLeft {
    /// The used part of the limit in percent.
    pub used_percent: Option<f64>,
    /// The cost of its turns, which is shown if the used part is unknown.
    pub cost_usd: Option<f64>,
    /// When it ends.
    pub ends_at: Option<Time>,
}

/// The size of the context.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Context {
    /// In percent of the model's context window.
    Percent(f64),
    /// In tokens, if the size of the window is unknown.
    Tokens(i64),
}

impl Context {
    /// Of a number of tokens, and the size of the model's context window.
    pub fn of(tokens: Option<i64>, window: Option<i64>) -> Option<Self> {
        let tokens = tokens?;
        Some(match window {
            Some(window) if window > 0 => Self::Percent(tokens as f64 * 100.0 / window as f64),
            _ => Self::Tokens(tokens),
        })
    }
}

impl Line {
    /// The text at a time, such as `Opus 4.5 · $1.23 session · $8.40 today · 5h window 42 % (2h 10m left) · context 31 %`.
    pub fn text(&self, currency: Currency, now: Time) -> String {
        let name: Option<String> = self.model.as_deref().map(|name| start(&visible(name), LONGEST_NAME).to_owned());
        let money = |dollars: Option<f64>, of: &str| Some(format!("{} {of}", currency.amount(dollars?)));
        let window = self.five_hour.map(|window| {
            let left = window.ends_at.and_then(|end| left(now, end)).map(|left| format!("({left} left)"));
            let used = match (window.used_percent, window.cost_usd) {
                (Some(percent), _) => Some(percent_of(percent)),
                (None, cost) => cost.map(|cost| currency.amount(cost)),
            };
            let parts = ["5h window".to_owned()].into_iter().chain(used).chain(left);
            parts.collect::<Vec<_>>().join(" ")
        });
        let context = self.context.map(|context| match context {
            Context::Percent(percent) => format!("context {}", percent_of(percent)),
            Context::Tokens(tokens @ ..1000) => format!("context {tokens} tokens"),
            Context::Tokens(tokens) => format!("context {}k tokens", tokens / 1000),
        });
        let parts = [
            name.filter(|name| !name.trim().is_empty()),
            money(self.session_usd, "session"),
            money(self.today_usd, "today"),
            window,
            self.week_percent.map(|percent| format!("week {}", percent_of(percent))),
            context,
        ];
        let known: Vec<String> = parts.into_iter().flatten().collect();
        if known.is_empty() { "no usage known yet".to_owned() } else { known.join(" · ") }
    }
}

fn percent_of(percent: f64) -> String {
    format!("{percent:.0} %")
}

/// The time until the end: `2h 10m`. `None` after the end.
fn left(now: Time, end: Time) -> Option<String> {
    let seconds = end.micros().saturating_sub(now.micros()).div_euclid(1_000_000);
    let minutes = u64::try_from(seconds).ok()?.div_ceil(60);
    Some(if minutes >= 60 { format!("{}h {:02}m", minutes / 60, minutes % 60) } else { format!("{minutes}m") })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(second: i64) -> Time {
        Time::from_micros(1_790_000_000_000_000 + second * 1_000_000)
    }

    #[test]
    fn what_is_unknown_is_omitted() {
        let window = WindowLeft { used_percent: Some(41.6), cost_usd: Some(3.0), ends_at: Some(second(7800)) };
        let line = Line {
            model: Some("Opus 4.5".to_owned()),
            session_usd: Some(1.234),
            today_usd: Some(8.4),
            five_hour: Some(window),
            week_percent: Some(7.2),
            context: Context::of(Some(62_000), Some(200_000)),
        };
        let text = |line: &Line| line.text(Currency::default(), second(0));
        assert_eq!(
            text(&line),
            "Opus 4.5 · $1.23 session · $8.40 today · 5h window 42 % (2h 10m left) · week 7 % · context 31 %"
        );
        let unknown_share = Some(WindowLeft { used_percent: None, ..window });
        let some = Line {
            five_hour: unknown_share,
            context: Context::of(Some(62_900), None),
            model: Some("a\u{1b}[31m\nb".to_owned()),
            ..Line::default()
        };
        let shown = some.text(Currency::new("EUR", 0.5).unwrap(), second(7790));
        assert!(shown.ends_with("b · 5h window 1.50 EUR (1m left) · context 62k tokens"), "{shown}");
        assert!(!shown.contains(['\u{1b}', '\n']), "{shown}");
        assert_eq!(text(&Line::default()), "no usage known yet");
        assert_eq!(Context::of(None, Some(1)), None);
    }
}
