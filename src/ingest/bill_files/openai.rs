//! Bills of OpenAI.
//!
//! - `GET /v1/organization/usage/completions` and the usage of other endpoints, and `GET /v1/organization/costs`:
//!   <https://platform.openai.com/docs/api-reference/usage>. The input includes cached and cache-write tokens.
//! - The CSV files of the page Usage, whose columns are the same fields:
//!   <https://community.openai.com/t/dashboard-usage-vs-prompt-response-usage-not-matching/1078218>.

use super::content::{Format, Found, in_dollars};
use super::csv_table::{CsvFormat, Row};
use super::json_record::Record;
use super::line::{BillLine, InclusiveTokens};
use crate::base::time::Time;

const SELLER: Option<&str> = Some("openai");

/// Usage as JSON.
pub(super) const USAGE: Format = Format { name: "OpenAI's usage", seller: SELLER };
/// Costs as JSON.
pub(super) const COSTS: Format = Format { name: "OpenAI's costs", seller: SELLER };

/// Usage as CSV.
pub(super) const USAGE_CSV: CsvFormat = CsvFormat {
    format: Format { name: "usage of OpenAI's dashboard", seller: SELLER },
    columns: &["start_time", "num_model_requests", "input_tokens"],
    line: usage_of_row,
};
/// Costs as CSV.
pub(super) const COSTS_CSV: CsvFormat = CsvFormat {
    format: Format { name: "costs of OpenAI's dashboard", seller: SELLER },
    columns: &["start_time", "amount_value", "amount_currency"],
    line: costs_of_row,
};

/// The format of a record, if it is one of these.
pub(super) fn format_of(record: &Record<'_>) -> Option<Format> {
    let object = record.text("object")?;
    let is_usage = object.starts_with("organization.usage.") && object.ends_with(".result");
    if is_usage { Some(USAGE) } else { (object == "organization.costs.result").then_some(COSTS) }
}

/// A record of usage.
pub(super) fn usage(record: &Record<'_>) -> Found {
    let tokens = InclusiveTokens {
        prompt: record.count("input_tokens")?,
        output: record.count("output_tokens")?,
        cache_read: record.count("input_cached_tokens")?,
        cache_write: record.count("input_cache_write_tokens")?.unwrap_or(0),
    };
    if tokens.prompt.is_none() && tokens.output.is_none() {
        return Err(format!("{} has no tokens", record.text("object").unwrap_or_default()).into());
    }
    let text = |name: &str| record.first_of(&[name]);
    let line = BillLine { model: text("model"), key: text("api_key_id"), project: text("project_id"), ..at(record)? };
    Ok(Some(tokens.of(line)))
}

/// A record of costs.
pub(super) fn costs(record: &Record<'_>) -> Found {
    in_dollars(record.text("amount.currency"))?;
    let cost_usd = record.money("amount.value")?;
    let text = |name: &str| record.first_of(&[name]);
    let model = record.text("line_item").map(model_of);
    Ok(Some(BillLine { model, key: text("api_key_id"), project: text("project_id"), cost_usd, ..at(record)? }))
}

fn at(record: &Record<'_>) -> Result<BillLine, String> {
    Ok(BillLine::from_to(record.time("start_time")?, record.optional_time("end_time")?))
}

/// The model of a line item such as `gpt-5-2025-08-07, cached input`.
fn model_of(line_item: &str) -> String {
    line_item.split_once(", ").map_or(line_item, |(model, _)| model).to_owned()
}

fn usage_of_row(row: &Row<'_>) -> Found {
    let tokens = InclusiveTokens {
        prompt: row.count("input_tokens")?,
        output: row.count("output_tokens")?,
        cache_read: row.count("input_cached_tokens")?,
        cache_write: row.count("input_cache_write_tokens")?.unwrap_or(0),
    };
    let line = BillLine { model: row.first_of(&["model"]), ..at_row(row)? };
    Ok(Some(tokens.of(line)))
}

fn costs_of_row(row: &Row<'_>) -> Found {
    let Some(cost_usd) = row.money("amount_value")? else { return Ok(None) };
    in_dollars(row.text("amount_currency"))?;
    let model = row.text("line_item").map(model_of);
    Ok(Some(BillLine { model, cost_usd: Some(cost_usd), ..at_row(row)? }))
}

fn at_row(row: &Row<'_>) -> Result<BillLine, String> {
    let seconds = |name: &str| -> Result<Option<Time>, String> {
        let Some(text) = row.text(name) else { return Ok(None) };
        let number = text.parse().ok().and_then(Time::from_number);
        number.map(Some).ok_or_else(|| format!("{name} is {text:?}, which is not a time"))
    };
    let start = seconds("start_time")?.ok_or_else(|| "start_time is empty".to_owned())?;
    let text = |names: &[&str]| row.first_of(names);
    let line = BillLine::from_to(start, seconds("end_time")?);
    let project = text(&["project_name", "project_id"]);
    Ok(BillLine { key: text(&["api_key_name", "api_key_id"]), project, ..line })
}
