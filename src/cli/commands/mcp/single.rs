//! Tools about one session.

use agentlogs::analysis::reports::{CostBasis, round};
use agentlogs::analysis::show::{self, Timeline};
use agentlogs::store::frames::{sessions, turns};
use polars::prelude::*;

use super::answer::Answer;
use super::arguments::{Arguments, OfExplanation, OfSession, parsed};
use super::data::Data;
use super::overall::EVIDENCE;
use crate::cli::commands::prices::explanation;

pub(super) fn timeline(data: &Data, arguments: Arguments) -> anyhow::Result<Answer> {
    let asked: OfSession = parsed(arguments)?;
    let opened = data.tables(show::TABLES)?;
    let session = asked.session.as_deref().unwrap_or("last");
    let key = show::find(&opened.frames, session, asked.runtime.as_deref())?;
    let timeline = Timeline::read(&opened.frames, &key, CostBasis::Auto)?;
    let rows = timeline.frame()?;
    let paths = rows.column(sessions::SOURCE_PATH)?.drop_nulls().unique()?;
    // Most sessions have one log, whose path would be most of the answer.
    let only_path = if paths.len() == 1 { paths.str()?.get(0).map(str::to_owned) } else { None };
    let place = match &only_path {
        Some(_) => col(turns::LINE),
        None => evidence(sessions::SOURCE_PATH, turns::LINE),
    };
    let columns = [
        "kind",
        "offset_ms",
        turns::TURN,
        "name",
        "detail",
        sessions::STATUS,
        sessions::EXIT_CODE,
        turns::DURATION_MS,
        turns::TOTAL_TOKENS,
        turns::COST_USD,
    ];
    let rows = rows.lazy().select(columns.into_iter().map(col).chain([place]).collect::<Vec<_>>()).collect()?;
    let log = only_path.map(|path| format!("evidence: the lines of {path}"));
    let name = format!("{} session {}", key.runtime, key.id);
    Ok(Answer::rows(round(rows.lazy()).collect()?).with_notes([name].into_iter().chain(log)))
}

pub(super) fn explained(data: &Data, arguments: Arguments) -> anyhow::Result<Answer> {
    let asked: OfExplanation = parsed(arguments)?;
    let (rows, about) = explanation(data.source()?, &asked.session, &data.settings)?;
    Ok(Answer::rows(round(rows.lazy()).collect()?).with_notes([about]))
}

/// The place of a row: `PATH:LINE`, or the path if the line is unknown.
fn evidence(path: &str, line: &str) -> Expr {
    let line = concat_str([lit(":"), col(line).cast(DataType::String)], "", false).fill_null(lit(""));
    concat_str([col(path), line], "", false).alias(EVIDENCE)
}
