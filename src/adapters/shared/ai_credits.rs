//! GitHub's AI credits, in which requests of Copilot are billed since June 2026. A credit is a cent; logs count billionths of it.

use super::builder::money;
use crate::adapters::engine::api::RecordErrors;
use crate::json::fields::Number;

/// Billionths of a credit in a credit.
const NANO_CREDITS: f64 = 1e9;

/// Billionths of a credit in a US dollar.
pub const NANO_CREDITS_PER_DOLLAR: f64 = 100.0 * NANO_CREDITS;

/// An amount in US dollars. A 0 is that of a request that is not billed in credits, so that its cost is unknown.
pub fn dollars(nano_credits: Number, damage: &mut RecordErrors) -> Option<f64> {
    counted(nano_credits, damage).filter(|amount| *amount > 0.0).map(|amount| amount / NANO_CREDITS_PER_DOLLAR)
}

/// As [`dollars`], of an amount in credits.
pub fn dollars_of_credits(credits: Number, damage: &mut RecordErrors) -> Option<f64> {
    dollars(Number(credits.0.map(|credits| credits * NANO_CREDITS)), damage)
}

/// A sum in billionths of a credit. An impossible one is noted in `damage`.
pub fn counted(nano_credits: Number, damage: &mut RecordErrors) -> Option<f64> {
    money(Number(nano_credits.0.map(|amount| amount / NANO_CREDITS_PER_DOLLAR)), damage).and(nano_credits.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credit_is_a_cent() {
        let mut damage = RecordErrors::default();
        assert_eq!(dollars(Number(Some(1e9)), &mut damage), Some(0.01));
        assert_eq!(dollars(Number(Some(0.0)), &mut damage), None);
        assert_eq!(dollars(Number(None), &mut damage), None);
        let cost = dollars_of_credits(Number(Some(52.3143)), &mut damage);
        assert!(cost.is_some_and(|cost| (cost - 0.523_143).abs() < 1e-12), "{cost:?}");
    }
}
