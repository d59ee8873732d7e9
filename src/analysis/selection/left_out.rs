//! Rows without a time that a scope excludes.

use crate::analysis::present::{Currency, counted, exact_amount};

/// The undated rows that a scope excludes.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct LeftOut {
    /// Their number.
    pub rows: u64,
    /// Their tokens; `None` if the rows have no tokens or none are known.
    pub tokens: Option<i64>,
    /// Their cost in US dollars; `None` if the rows have no cost or none is known.
    pub cost_usd: Option<f64>,
}

impl LeftOut {
    /// A sentence about these rows: `3 rows without a time are left out (1,200 tokens, $0.0100)`. `None` if there are no
    /// such rows.
    pub fn stated(&self, thing: &str, lack: &str, currency: Currency) -> Option<String> {
        if self.rows == 0 {
            return None;
        }
        let tokens = self.tokens.map(|tokens| counted(tokens, "token"));
        let cost = self.cost_usd.map(|cost| exact_amount(cost, currency));
        let sums: Vec<String> = tokens.into_iter().chain(cost).collect();
        let sums = if sums.is_empty() { String::new() } else { format!(" ({})", sums.join(", ")) };
        let verb = if self.rows == 1 { "is" } else { "are" };
        Some(format!("{} without a {lack} {verb} left out{sums}", counted(self.rows, thing)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excluded_rows_are_stated() {
        let left_out = |rows, tokens, cost_usd| LeftOut { rows, tokens, cost_usd };
        let stated =
            |rows, tokens, cost_usd| left_out(rows, tokens, cost_usd).stated("row", "time", Currency::default());
        assert_eq!(stated(0, Some(1), None), None);
        assert_eq!(stated(1, None, None).unwrap(), "1 row without a time is left out");
        let expected = "1,200 rows without a time are left out (3,400 tokens, $0.5000)";
        assert_eq!(stated(1200, Some(3400), Some(0.5)).unwrap(), expected);
        let expected = "2 rows without a time are left out (1 token, $1,095.3198)";
        assert_eq!(stated(2, Some(1), Some(1095.3198)).unwrap(), expected);
        let euro = Currency::new("EUR", 0.5).unwrap();
        let expected = "1 row without a time is left out (1,234.5000 EUR)";
        assert_eq!(left_out(1, None, Some(2469.0)).stated("row", "time", euro).unwrap(), expected);
    }
}
