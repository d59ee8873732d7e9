//! The timeline as rows, for other programs and for Markdown.

use polars::prelude::*;

use super::timeline::{Entry, Phase, Timeline};
use crate::store::frames::time_type;

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
        let costs = all.iter().map(|entry| entry.cost_usd);
        let columns = vec![
            text("kind", &|entry| Some(entry.kind.as_str().to_owned())),
            whole("occurred_at", |entry| entry.time).cast(&time_type())?,
            Column::new("offset_ms".into(), offsets.collect::<Vec<Option<i64>>>()),
            whole("turn", |entry| entry.turn),
            text("phase", &|entry| entry.phase.map(Phase::as_str).map(str::to_owned)),
            text("agent", &|entry| entry.agent.clone()),
            Column::new("is_subagent".into(), is_subagent.collect::<Vec<bool>>()),
            text("name", &|entry| entry.name.clone()),
            text("detail", &|entry| entry.detail.clone()),
            text("command_kind", &|entry| entry.command_kind.clone()),
            text("status", &|entry| entry.status.clone()),
            whole("exit_code", |entry| entry.exit_code),
            whole("duration_ms", |entry| entry.duration_ms),
            whole("context_tokens", |entry| entry.context_tokens),
            whole("output_tokens", |entry| entry.output_tokens),
            whole("total_tokens", |entry| entry.total_tokens),
            whole("tokens_before", |entry| entry.tokens_before),
            whole("tokens_after", |entry| entry.tokens_after),
            whole("result_bytes", |entry| entry.result_bytes),
            Column::new("cost_usd".into(), costs.collect::<Vec<Option<f64>>>()),
            whole("lines_added", |entry| entry.lines_added),
            whole("lines_removed", |entry| entry.lines_removed),
            text("source_path", &|entry| entry.source_path.clone()),
            whole("line", |entry| entry.line),
        ];
        DataFrame::new(all.len(), columns)
    }
}
