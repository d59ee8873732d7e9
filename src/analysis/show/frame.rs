//! The timeline as rows, for other programs and for Markdown.

use polars::prelude::*;

use super::entry::{Entry, Phase};
use super::timeline::Timeline;
use crate::store::frames::{events, sessions, time_type, tool_calls, turns, verdicts};

impl Timeline {
    /// A row for the session, and one for each entry.
    ///
    /// # Errors
    /// When the rows cannot be built, which would be a bug.
    pub fn frame(&self) -> PolarsResult<DataFrame> {
        let all: Vec<&Entry> = std::iter::once(&self.session).chain(&self.entries).collect();
        let text = |name: &str, of: &dyn Fn(&Entry) -> Option<String>| {
            Column::new(name.into(), all.iter().map(|entry| of(entry)).collect::<Vec<_>>())
        };
        let whole = |name: &str, of: fn(&Entry) -> Option<i64>| {
            Column::new(name.into(), all.iter().map(|entry| of(entry)).collect::<Vec<_>>())
        };
        let start = self.session.time;
        let offsets = all.iter().map(|entry| entry.time.zip(start).map(|(time, start)| (time - start) / 1000));
        let is_subagent = all.iter().map(|entry| entry.is_subagent);
        let dollars = |name: &str, of: fn(&Entry) -> Option<f64>| {
            Column::new(name.into(), all.iter().map(|entry| of(entry)).collect::<Vec<_>>())
        };
        let columns = vec![
            text(events::KIND, &|entry| Some(entry.kind.as_str().to_owned())),
            whole(turns::OCCURRED_AT, |entry| entry.time).cast(&time_type())?,
            Column::new("offset_ms".into(), offsets.collect::<Vec<Option<i64>>>()),
            whole(turns::TURN, |entry| entry.turn),
            text("phase", &|entry| entry.phase.map(Phase::as_str).map(str::to_owned)),
            text(turns::AGENT, &|entry| entry.agent.clone()),
            Column::new(turns::IS_SUBAGENT.into(), is_subagent.collect::<Vec<bool>>()),
            text(verdicts::NAME, &|entry| entry.name.clone()),
            text("detail", &|entry| entry.detail.clone()),
            text(tool_calls::COMMAND_KIND, &|entry| entry.command_kind.clone()),
            text(sessions::STATUS, &|entry| entry.status.clone()),
            whole(sessions::EXIT_CODE, |entry| entry.exit_code),
            whole(turns::DURATION_MS, |entry| entry.duration_ms),
            whole(turns::CONTEXT_TOKENS, |entry| entry.context_tokens),
            whole(turns::OUTPUT_TOKENS, |entry| entry.output_tokens),
            whole(turns::TOTAL_TOKENS, |entry| entry.total_tokens),
            whole(events::TOKENS_BEFORE, |entry| entry.tokens_before),
            whole(events::TOKENS_AFTER, |entry| entry.tokens_after),
            whole(tool_calls::RESULT_BYTES, |entry| entry.result_bytes),
            dollars(turns::COST_USD, |entry| entry.cost_usd),
            dollars(sessions::INCLUSIVE_COST_USD, |entry| entry.inclusive_cost_usd),
            whole(sessions::LINES_ADDED, |entry| entry.lines_added),
            whole(sessions::LINES_REMOVED, |entry| entry.lines_removed),
            text(turns::SOURCE_PATH, &|entry| entry.source_path.clone()),
            whole(turns::LINE, |entry| entry.line),
        ];
        DataFrame::new(all.len(), columns)
    }
}
