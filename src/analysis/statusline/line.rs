//! The line as text.

use serde::{Deserialize, Serialize};

use crate::analysis::present::{Currency, visible};
use crate::base::time::Time;
use crate::base::width::start;

/// The longest name of a model, in characters.
const LONGEST_NAME: usize = 40;

/// A cost.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Spent {
    /// In US dollars.
    pub usd: f64,
    /// Whether it is a lower bound: a log omits tokens, or has no end.
    pub is_least: bool,
}

impl Spent {
    /// A cost that is known.
    pub fn of(usd: Option<f64>, is_least: bool) -> Option<Self> {
        usd.map(|usd| Self { usd, is_least })
    }

    /// `$1.23`, or `≥ $1.23` for a lower bound.
    fn text(self, currency: Currency) -> String {
        let amount = currency.amount(self.usd);
        if self.is_least { format!("≥ {amount}") } else { amount }
    }
}

/// What the line contains. What is unknown is omitted.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Line {
    /// The name of the model.
    pub model: Option<String>,
    /// The cost of the session.
    pub session: Option<Spent>,
    /// The cost of the local day.
    pub today: Option<Spent>,
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
    pub cost: Option<Spent>,
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
        let money = |spent: Option<Spent>, of: &str| Some(format!("{} {of}", spent?.text(currency)));
        let window = self.five_hour.map(|window| {
            let left = window.ends_at.and_then(|end| left(now, end)).map(|left| format!("({left} left)"));
            let used = match (window.used_percent, window.cost) {
                (Some(percent), _) => Some(percent_of(percent)),
                (None, cost) => cost.map(|cost| cost.text(currency)),
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
            money(self.session, "session"),
            money(self.today, "today"),
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
        let window =
            WindowLeft { used_percent: Some(41.6), cost: Spent::of(Some(3.0), false), ends_at: Some(second(7800)) };
        let line = Line {
            model: Some("Opus 4.5".to_owned()),
            session: Spent::of(Some(1.234), false),
            today: Spent::of(Some(8.4), false),
            five_hour: Some(window),
            week_percent: Some(7.2),
            context: Context::of(Some(62_000), Some(200_000)),
        };
        let text = |line: &Line| line.text(Currency::default(), second(0));
        assert_eq!(
            text(&line),
            "Opus 4.5 · $1.23 session · $8.40 today · 5h window 42 % (2h 10m left) · week 7 % · context 31 %"
        );
        let least = Line { today: Spent::of(Some(8.4), true), session: None, five_hour: None, ..line.clone() };
        assert_eq!(text(&least), "Opus 4.5 · ≥ $8.40 today · week 7 % · context 31 %");
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
