//! Amounts of money in the user's currency, for people. Other programs get US dollars.

use super::number::{fixed, grouped, is_tiny};

/// The part of a column's name that means US dollars.
const DOLLARS: &str = "_usd";

/// A currency, and its rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Currency {
    /// Three capital letters.
    code: [u8; 3],
    /// Units of it for one US dollar.
    pub rate: f64,
}

impl Default for Currency {
    fn default() -> Self {
        Self { code: *b"USD", rate: 1.0 }
    }
}

impl Currency {
    /// A currency by its code of three capital letters. `None` if the code has another form, or the rate is not above 0, or not 1 for the
    /// US dollar.
    pub fn new(code: &str, rate: f64) -> Option<Self> {
        let code: [u8; 3] = code.as_bytes().try_into().ok()?;
        let is_valid = code.iter().all(u8::is_ascii_uppercase) && rate.is_finite() && rate > 0.0;
        let currency = Self { code, rate };
        (is_valid && (currency == Self::default() || code != Self::default().code)).then_some(currency)
    }

    /// Its code, such as `EUR`.
    pub fn code(&self) -> &str {
        std::str::from_utf8(&self.code).unwrap_or_default()
    }

    /// Whether it is not the US dollar.
    pub fn is_other(self) -> bool {
        self != Self::default()
    }

    /// The name of a measure in this currency: `cost_eur` of `cost_usd`. Other names are unchanged.
    pub fn name_of(self, measure: &str) -> String {
        if is_money(measure) {
            measure.replacen(DOLLARS, &format!("_{}", self.code().to_ascii_lowercase()), 1)
        } else {
            measure.to_owned()
        }
    }

    /// The value of a measure in this currency. Values that are not money are unchanged.
    pub fn value_of(self, measure: &str, value: f64) -> f64 {
        if is_money(measure) { value * self.rate } else { value }
    }

    /// An amount of US dollars to the cent: `$1,234.50`, or `1,135.74 EUR`. An amount that would be rounded to 0 is `<$0.01`.
    pub fn amount(self, dollars: f64) -> String {
        let amount = dollars * self.rate;
        let (before, text) = match amount {
            _ if is_tiny(amount, 2) && amount < 0.0 => (">-", "0.01".to_owned()),
            _ if is_tiny(amount, 2) => ("<", "0.01".to_owned()),
            _ if amount <= -0.005 => ("-", fixed(-amount, 2)),
            _ => ("", fixed(amount, 2)),
        };
        let (whole, cents) = text.split_once('.').unwrap_or((&text, "00"));
        let whole = grouped(whole);
        if self.code == Self::default().code {
            format!("{before}${whole}.{cents}")
        } else {
            format!("{before}{whole}.{cents} {}", self.code())
        }
    }
}

/// Whether the values of a measure are US dollars.
pub(super) fn is_money(measure: &str) -> bool {
    measure.ends_with(DOLLARS) || measure.ends_with("_usd_per_minute")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_money_is_converted() {
        let euro = Currency::new("EUR", 0.5).unwrap();
        let dollar = Currency::default();
        for (measure, name, value) in [
            ("cost_usd", "cost_eur", 2.0),
            ("cost_per_session_usd", "cost_per_session_eur", 2.0),
            ("projected_cost_usd", "projected_cost_eur", 2.0),
            ("cost_usd_per_minute", "cost_eur_per_minute", 2.0),
            ("total_tokens", "total_tokens", 4.0),
            ("usd", "usd", 4.0),
        ] {
            assert_eq!((euro.name_of(measure).as_str(), euro.value_of(measure, 4.0)), (name, value));
            assert_eq!((dollar.name_of(measure).as_str(), dollar.value_of(measure, 4.0)), (measure, 4.0));
        }
        for (amount, in_dollars, in_euros) in [
            (0.0, "$0.00", "0.00 EUR"),
            (0.006, "$0.01", "<0.01 EUR"),
            (2.468, "$2.47", "1.23 EUR"),
            (-2.468, "-$2.47", "-1.23 EUR"),
            (-0.006, "-$0.01", ">-0.01 EUR"),
            (1234.5, "$1,234.50", "617.25 EUR"),
        ] {
            assert_eq!([dollar.amount(amount), euro.amount(amount)], [in_dollars, in_euros]);
        }
        for (code, rate) in [("euro", 1.0), ("eur", 1.0), ("EUR", 0.0), ("EUR", f64::NAN), ("USD", 2.0), ("", 1.0)] {
            assert_eq!(Currency::new(code, rate), None);
        }
    }
}
