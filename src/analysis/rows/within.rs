//! How soon work is abandoned or rewritten.

use std::str::FromStr;

use jiff::SpanRelativeTo;

use super::bound::Bound;
use crate::base::time::DAY_MICROS;
use crate::ledger::history::FOLLOWED_DAYS;

/// Work whose branch has had no commit for so long is abandoned, and work of which more than half was removed so soon is rewritten: 14
/// days, unless `--within` sets it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Within(i64);

impl Within {
    /// In microseconds.
    pub(in crate::analysis) const fn micros(self) -> i64 {
        self.0
    }
}

impl Default for Within {
    fn default() -> Self {
        Self(14 * DAY_MICROS)
    }
}

impl FromStr for Within {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let micros = match text.parse() {
            Ok(Bound::Ago(span)) => span.to_duration(SpanRelativeTo::days_are_24_hours()).ok(),
            _ => None,
        };
        let micros = micros.and_then(|duration| i64::try_from(duration.as_micros()).ok());
        let is_followed = |micros: &i64| (1..=FOLLOWED_DAYS * DAY_MICROS).contains(micros);
        let wrong = || format!("write a number of days or weeks, such as 14d or 2w, up to {FOLLOWED_DAYS}d");
        micros.filter(is_followed).map(Self).ok_or_else(wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_weeks() {
        for (text, days) in [("14d", 14), ("2w", 14), ("1d", 1), ("90d", 90)] {
            assert_eq!(text.parse(), Ok(Within(days * DAY_MICROS)), "{text}");
        }
        for wrong in ["0d", "91d", "-1d", "1mo", "soon", "2026-10-05", "week", "99999999999w", ""] {
            assert!(wrong.parse::<Within>().is_err(), "{wrong}");
        }
    }
}
