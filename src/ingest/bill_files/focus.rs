//! FOCUS, the `FinOps` Open Cost and Usage Specification, as CSV: <https://focus.finops.org/focus-specification/>, versions 1.0 to 1.2.
//!
//! Rows of other services than AI have no line. The specification has no column for models and kinds of tokens: those that
//! `agentlogs export --as focus` writes are read, and the usual ones of other exports.

use super::content::{Format, Found, Skipped, in_dollars};
use super::csv_table::{CsvFormat, LARGEST, Row};
use super::line::BillLine;
use crate::model::session::Tokens;

/// What `agentlogs export --as focus` writes where a value is unknown and its column requires one.
pub const UNKNOWN: &str = "(unknown)";

/// Charges as CSV.
pub(super) const CHARGES_CSV: CsvFormat = CsvFormat {
    format: Format { name: "FOCUS", seller: None },
    columns: &["billedcost", "billingcurrency", "chargeperiodstart"],
    line: charge,
};

fn charge(row: &Row<'_>) -> Found {
    if row.text("servicecategory").is_some_and(|category| category != "AI and Machine Learning") {
        return Err(Skipped::OtherService);
    }
    in_dollars(row.text("billingcurrency"))?;
    let end = row.text("chargeperiodend").map(|_| row.time("chargeperiodend")).transpose()?;
    let line = BillLine::from_to(row.time("chargeperiodstart")?, end);
    let text = |names: &[&str]| row.first_of(names).filter(|text| *text != UNKNOWN);
    let line = BillLine {
        project: text(&["subaccountname", "subaccountid"]),
        key: text(&["x_apikeyname", "x_apikeyid"]),
        cost_usd: row.money("billedcost")?,
        ..line
    };
    if row.text("chargecategory").is_some_and(|category| category != "Usage") {
        // A tax, a purchase or a credit is of no model.
        return Ok(Some(line));
    }
    let line = BillLine { model: text(&["x_model", "skuid", "resourcename", "resourceid"]), ..line };
    Ok(Some(match tokens(row)? {
        Some(count) => with_kind(line, &kind(row), count),
        None => line,
    }))
}

/// The number of tokens of a row; `None` if it is in another unit.
fn tokens(row: &Row<'_>) -> Result<Option<i64>, String> {
    if let Some(tokens) = row.count("x_tokens")? {
        return Ok(Some(tokens));
    }
    let Some(unit) = row.text("consumedunit") else { return Ok(None) };
    let Some(per_unit) = tokens_per_unit(unit) else { return Ok(None) };
    let Some(quantity) = row.money("consumedquantity")? else { return Ok(None) };
    // Some exports write thousands of tokens with a few digits, so that the product is not whole. A correction is below 0.
    let tokens = (quantity * per_unit).round();
    #[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
    let valid = (tokens.abs() <= LARGEST as f64).then_some(tokens as i64);
    valid.map(Some).ok_or_else(|| format!("consumedquantity is {quantity} {unit}, which is not a count of tokens"))
}

/// The tokens of a unit: 1 of `Tokens`, 1000 of `1K tokens`.
fn tokens_per_unit(unit: &str) -> Option<f64> {
    let unit = unit.trim().to_ascii_lowercase();
    let number = unit.strip_suffix("tokens").or_else(|| unit.strip_suffix("token"))?.trim();
    let (digits, factor) = match number.chars().last() {
        Some('k') => (number.trim_end_matches('k'), 1e3),
        Some('m') => (number.trim_end_matches('m'), 1e6),
        _ => (number, 1.0),
    };
    let digits = digits.trim();
    if digits.is_empty() { Some(factor) } else { digits.parse().ok().map(|number: f64| number * factor) }
}

/// The kind of a row's tokens, by our own column, else by the words of its meter.
fn kind(row: &Row<'_>) -> String {
    row.first_of(&["x_tokentype", "skumeter", "chargedescription"]).unwrap_or_default().to_ascii_lowercase()
}

/// The line with tokens of a kind.
fn with_kind(line: BillLine, kind: &str, count: i64) -> BillLine {
    let has = |words: [&str; 2]| words.iter().any(|word| kind.contains(word));
    let count = Some(count);
    let tokens = if kind.contains("cache") && has(["write", "creation"]) {
        Tokens { cache_write: count, ..Tokens::UNKNOWN }
    } else if kind.contains("cache") {
        Tokens { cache_read: count, ..Tokens::UNKNOWN }
    } else if has(["output", "completion"]) {
        Tokens { output: count, ..Tokens::UNKNOWN }
    } else if has(["input", "prompt"]) {
        Tokens { input: count, ..Tokens::UNKNOWN }
    } else {
        Tokens::UNKNOWN
    };
    BillLine { total_tokens: count, ..line.with_tokens(tokens) }
}
