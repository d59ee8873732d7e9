//! Amounts of money for people.

use super::number::grouped;

/// The currency in which money is shown. The archive contains US dollars.
#[derive(Debug, Clone, PartialEq)]
pub struct Money {
    /// Its code, such as `EUR`.
    pub code: String,
    /// Units of it for one US dollar.
    pub rate: f64,
}

impl Default for Money {
    /// US dollars.
    fn default() -> Self {
        Self { code: "USD".to_owned(), rate: 1.0 }
    }
}

impl Money {
    /// An amount of US dollars to the cent: `$1,234.50`, or `1,135.74 EUR`. An amount that would be rounded to 0 is `<$0.01`.
    pub fn text(&self, usd: f64) -> String {
        let amount = usd * self.rate;
        let is_tiny = amount > 0.0 && amount < 0.005;
        let text = format!("{:.2}", if is_tiny { 0.01 } else { amount });
        let (whole, cents) = text.split_once('.').unwrap_or((&text, "00"));
        let (whole, less) = (grouped(whole), if is_tiny { "<" } else { "" });
        if self.code == "USD" {
            format!("{less}${whole}.{cents}")
        } else {
            format!("{less}{whole}.{cents} {}", self.code)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_has_cents_and_a_currency() {
        let euros = Money { code: "EUR".to_owned(), rate: 0.92 };
        for (usd, dollars, in_euros) in [
            (0.0, "$0.00", "0.00 EUR"),
            (0.001, "<$0.01", "<0.01 EUR"),
            (0.1, "$0.10", "0.09 EUR"),
            (1234.5, "$1,234.50", "1,135.74 EUR"),
        ] {
            assert_eq!((Money::default().text(usd).as_str(), euros.text(usd).as_str()), (dollars, in_euros));
        }
    }
}
