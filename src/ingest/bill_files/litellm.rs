//! Spend logs of `LiteLLM`: `GET /spend/logs`, `/spend/logs/v2` and rows of the table `LiteLLM_SpendLogs`.
//!
//! <https://docs.litellm.ai/docs/proxy/cost_tracking> and
//! <https://github.com/BerriAI/litellm/blob/main/litellm/proxy/schema.prisma>. Prompts include cached and cache-write tokens. With
//! `summarize=true` a record is a day, with the spend of each model.

use serde_json::Value;

use super::content::{Content, Format, Found};
use super::json_record::Record;
use super::line::{BillLine, InclusiveTokens};

/// Requests or days as JSON.
pub(super) const SPEND: Format = Format { name: "LiteLLM's spend logs", seller: None };

/// The format of a record, if it is this one.
pub(super) fn format_of(record: &Record<'_>) -> Option<Format> {
    record.has_all(&["spend", "startTime"]).then_some(SPEND)
}

/// Adds a record.
pub(super) fn add(content: &mut Content, number: i64, record: &Record<'_>) {
    match record.get("models").and_then(Value::as_object) {
        Some(models) => {
            for (model, spend) in models {
                content.add(SPEND, number, of_model(record, model, spend));
            }
        }
        None => content.add(SPEND, number, request(record)),
    }
}

/// The spend of a model on a day.
fn of_model(record: &Record<'_>, model: &str, spend: &Value) -> Found {
    let cost_usd = spend.as_f64().ok_or_else(|| format!("models.{model} is {spend}, which is not an amount"))?;
    let line = BillLine::at(record.time("startTime")?);
    Ok(Some(BillLine { model: Some(model.to_owned()), cost_usd: Some(cost_usd), ..line }))
}

fn request(record: &Record<'_>) -> Found {
    /// Where the details of the usage are, in different versions.
    const DETAILS: [&str; 2] = ["metadata.usage_object", "metadata.additional_usage_values"];
    let detail = |name: &str| -> Result<Option<i64>, String> {
        for place in DETAILS {
            if let Some(count) = record.count(&format!("{place}.{name}"))? {
                return Ok(Some(count));
            }
        }
        Ok(None)
    };
    let tokens = InclusiveTokens {
        prompt: record.count("prompt_tokens")?,
        output: record.count("completion_tokens")?,
        cache_read: detail("cache_read_input_tokens")?.or(detail("prompt_tokens_details.cached_tokens")?),
        cache_write: detail("cache_creation_input_tokens")?.unwrap_or(0),
    };
    let line = BillLine {
        model: record.first_of(&["model"]),
        key: record.first_of(&["metadata.user_api_key_alias", "api_key"]),
        project: record.first_of(&["metadata.user_api_key_team_alias", "team_id"]),
        cost_usd: record.money("spend")?,
        ..BillLine::at(record.time("startTime")?)
    };
    Ok(Some(tokens.of(line)))
}
