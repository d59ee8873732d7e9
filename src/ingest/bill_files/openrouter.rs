//! Bills of `OpenRouter`.
//!
//! - `GET /api/v1/activity`: <https://openrouter.ai/docs/agent-sdk/typescript/models/activityitem>. Prompts include cached tokens, whose
//!   number it does not state.
//! - The CSV file of the page Logs, with a row per generation: <https://openrouter.ai/docs/guides/features/logs> describes the page, not
//!   the columns. They have the names of the fields of
//!   <https://openrouter.ai/docs/agent-sdk/typescript/operations/getgenerationdata>.

use super::content::{Format, Found};
use super::csv_table::{CsvFormat, Row};
use super::json_record::Record;
use super::line::{BillLine, InclusiveTokens};

const SELLER: Option<&str> = Some("openrouter");

/// Activity as JSON.
pub(super) const ACTIVITY: Format = Format { name: "OpenRouter's activity", seller: SELLER };

/// Generations as CSV.
pub(super) const GENERATIONS_CSV: CsvFormat = CsvFormat {
    format: Format { name: "OpenRouter's generations", seller: SELLER },
    columns: &["created_at", "cost_total", "tokens_prompt"],
    line: generation,
};

/// The format of a record, if it is this one.
pub(super) fn format_of(record: &Record<'_>) -> Option<Format> {
    record.has_all(&["date", "usage", "prompt_tokens", "completion_tokens"]).then_some(ACTIVITY)
}

/// A record of activity. `usage` is what `OpenRouter` bills, not what the provider of the user's own key does.
pub(super) fn activity(record: &Record<'_>) -> Found {
    let tokens = InclusiveTokens {
        prompt: record.count("prompt_tokens")?,
        output: record.count("completion_tokens")?,
        ..InclusiveTokens::default()
    };
    let model = record.first_of(&["model_permaslug", "model"]);
    let line = BillLine { model, cost_usd: record.money("usage")?, ..BillLine::at(record.time("date")?) };
    Ok(Some(tokens.of(line)))
}

fn generation(row: &Row<'_>) -> Found {
    let tokens = InclusiveTokens {
        prompt: row.count("tokens_prompt")?,
        output: row.count("tokens_completion")?,
        cache_read: row.count("tokens_cached")?,
        cache_write: 0,
    };
    let line = BillLine::at(row.time("created_at")?);
    let text = |names: &[&str]| row.first_of(names);
    let (model, key) = (text(&["model_permaslug"]), text(&["api_key_name"]));
    Ok(Some(tokens.of(BillLine {
        model,
        key,
        project: text(&["app_name"]),
        cost_usd: row.money("cost_total")?,
        ..line
    })))
}
