//! Bills of Anthropic.
//!
//! - `GET /v1/organizations/usage_report/messages` and `/cost_report`: <https://platform.claude.com/docs/en/api/admin/usage_report/retrieve_messages>,
//!   <https://platform.claude.com/docs/en/api/admin/cost_report>. An amount is a text with cents: `"123.45"` is $1.2345.
//! - `GET /v1/organizations/analytics/usage` and `/cost`: <https://platform.claude.com/docs/en/manage-claude/usage-cost-analytics-api>.
//! - The CSV files of the pages Usage and Cost of the console. No page describes their columns; importers of such files do, for example
//!   <https://github.com/axigatelabs/axigate-finops/blob/main/internal/importers/anthropic/csv.go>.

use super::content::{Format, Found, in_dollars};
use super::csv_table::{CsvFormat, Row};
use super::json_record::Record;
use super::line::BillLine;
use crate::model::session::{Tokens, add};

const SELLER: Option<&str> = Some("anthropic");

/// Usage as JSON.
pub(super) const USAGE: Format = Format { name: "Anthropic's usage report", seller: SELLER };
/// Costs as JSON.
pub(super) const COST: Format = Format { name: "Anthropic's cost report", seller: SELLER };

/// Usage as CSV.
pub(super) const USAGE_CSV: CsvFormat = CsvFormat {
    format: Format { name: "usage of Anthropic's console", seller: SELLER },
    columns: &["usage_date_utc", "usage_input_tokens_no_cache", "usage_output_tokens"],
    line: usage_of_row,
};
/// Costs as CSV.
pub(super) const COST_CSV: CsvFormat = CsvFormat {
    format: Format { name: "costs of Anthropic's console", seller: SELLER },
    columns: &["usage_date_utc", "cost_usd"],
    line: cost_of_row,
};

/// The format of a record, if it is one of these.
pub(super) fn format_of(record: &Record<'_>) -> Option<Format> {
    if !record.bucket.contains_key("starting_at") {
        return None;
    }
    let is_usage = record.has_all(&["uncached_input_tokens"]) || record.has_all(&["group", "usage"]);
    let is_cost = record.has_all(&["amount"]) || record.has_all(&["group", "cost"]);
    if is_usage { Some(USAGE) } else { is_cost.then_some(COST) }
}

/// A record of a usage report.
pub(super) fn usage(record: &Record<'_>) -> Found {
    let prefix = if record.has_all(&["group", "usage"]) { "usage." } else { "" };
    let count = |name: &str| record.count(&format!("{prefix}{name}"));
    let cache_write_1h = count("cache_creation.ephemeral_1h_input_tokens")?;
    let cache_write_5m = count("cache_creation.ephemeral_5m_input_tokens")?;
    let tokens = Tokens {
        input: count("uncached_input_tokens")?,
        output: count("output_tokens")?,
        cache_read: count("cache_read_input_tokens")?,
        cache_write: add(cache_write_1h, cache_write_5m),
        cache_write_1h,
        reasoning: None,
    };
    let line = named(record)?.with_tokens(tokens);
    let total = count("total_tokens")?.or(line.total_tokens);
    Ok(Some(BillLine { total_tokens: total, ..line }))
}

/// A record of a cost report.
pub(super) fn cost(record: &Record<'_>) -> Found {
    let prefix = if record.has_all(&["group", "cost"]) { "cost." } else { "" };
    in_dollars(record.text(&format!("{prefix}currency")))?;
    let cents = record.money(&format!("{prefix}amount"))?;
    Ok(Some(BillLine { cost_usd: cents.map(|cents| cents / 100.0), ..named(record)? }))
}

/// A line with the period and the names of a record.
fn named(record: &Record<'_>) -> Result<BillLine, String> {
    let line = BillLine::from_to(record.time("starting_at")?, record.optional_time("ending_at")?);
    let text = |name: &str| record.first_of(&[name, &format!("group.{name}")]);
    Ok(BillLine { model: text("model"), key: text("api_key_id"), project: text("workspace_id"), ..line })
}

fn usage_of_row(row: &Row<'_>) -> Found {
    let cache_write_1h = row.count("usage_input_tokens_cache_write_1h")?;
    let cache_write_5m = row.count("usage_input_tokens_cache_write_5m")?;
    let tokens = Tokens {
        input: row.count("usage_input_tokens_no_cache")?,
        output: row.count("usage_output_tokens")?,
        cache_read: row.count("usage_input_tokens_cache_read")?,
        cache_write: add(cache_write_1h, cache_write_5m),
        cache_write_1h,
        reasoning: None,
    };
    Ok(Some(named_in_row(row, "model_version")?.with_tokens(tokens)))
}

fn cost_of_row(row: &Row<'_>) -> Found {
    Ok(Some(BillLine { cost_usd: row.money("cost_usd")?, ..named_in_row(row, "model")? }))
}

fn named_in_row(row: &Row<'_>, model: &str) -> Result<BillLine, String> {
    let line = BillLine::of_day(row.day("usage_date_utc")?);
    let text = |name: &str| row.first_of(&[name]);
    Ok(BillLine { model: text(model), key: text("api_key"), project: text("workspace"), ..line })
}
