//! Tools about many sessions.

use agentlogs::analysis::compare::{self, Compared};
use agentlogs::analysis::evidence::failed_sessions;
use agentlogs::analysis::failures::FAILED_TABLES;
use agentlogs::analysis::outcomes::{Judged, Unjudged};
use agentlogs::analysis::overview::{Look, Overview};
use agentlogs::analysis::present::{Currency, counted};
use agentlogs::analysis::reports::{
    self, CostBasis, Frames, Options, Scope, Spending, lower_bound, session_list, tables_of_sessions,
};
use agentlogs::analysis::views::with_views;
use agentlogs::store::frames::{TABLES, sessions};
use agentlogs::store::query::query_rows;
use polars::prelude::*;

use super::answer::Answer;
use super::arguments::{
    Arguments, MAX_ROWS, NoArguments, OfComparison, OfFailures, OfQuery, OfReport, OfSessions, parsed, scope,
};
use super::data::Data;
use crate::cli::commands::compare::notes::{Note, of_lines, of_sessions};
use crate::cli::commands::overview::zoned;
use crate::cli::commands::resolve::{empty_report_reason, empty_table_reason};
use crate::cli::commands::source::catalog;

/// The number of rows that are computed if a call does not name it.
const ROWS: u32 = 1_000;

/// The column with the file and the line that show a row.
pub(super) const EVIDENCE: &str = "evidence";

pub(super) fn overview(data: &Data, arguments: Arguments) -> anyhow::Result<Answer> {
    parsed::<NoArguments>(arguments)?;
    let opened = data.tables(Overview::TABLES)?;
    let overview = Overview::of(&opened.frames, &zoned(None, &data.settings)?)?;
    Ok(Answer::lines(&overview.text(&Look::default())).with_notes([opened.priced_with()]))
}

pub(super) fn report(data: &Data, arguments: Arguments) -> anyhow::Result<Answer> {
    let asked: OfReport = parsed(arguments)?;
    let report = reports::find(&asked.name)?;
    let catalog = report.has_waste().then(|| catalog(&data.source()?, &data.settings)).transpose()?;
    let options = Options {
        by: asked.by,
        scope: scope(&asked.filters, &data.settings)?,
        sort: asked.sort,
        limit: Some(row_limit(asked.limit)?),
        catalog: catalog.map(|catalog| catalog.into_owned().into()),
        wide: asked.wide,
        ..Options::default()
    };
    let opened = data.tables(&report.tables_for(&options))?;
    let answer = report.run(&opened.frames, &options)?;
    let mut notes: Vec<String> = report.stated(&answer.left_out, Currency::default()).into_iter().collect();
    notes.extend(note_of_lower_bounds(&opened.frames, &options.scope, report.spending())?);
    notes.extend(answer.judged.and_then(Judged::stated));
    notes.extend(more(answer.more));
    if answer.rows.height() == 0 {
        notes.extend(empty_report_reason(report, &opened, &options));
    }
    Ok(Answer::rows(answer.rows).with_notes(notes))
}

pub(super) fn query(data: &Data, arguments: Arguments) -> anyhow::Result<Answer> {
    let asked: OfQuery = parsed(arguments)?;
    let opened = data.tables(&TABLES)?;
    let frames = with_views(opened.frames.clone(), &asked.sql)?;
    let rows = query_rows(frames, &asked.sql, Some(MAX_ROWS + 1))?;
    let kept = rows.head(Some(MAX_ROWS as usize));
    let is_cut = kept.height() < rows.height();
    let note = is_cut.then(|| format!("only the first {MAX_ROWS} rows are computed; aggregate, or filter them"));
    Ok(Answer::rows(kept).with_notes(note))
}

pub(super) fn sessions(data: &Data, arguments: Arguments) -> anyhow::Result<Answer> {
    let asked: OfSessions = parsed(arguments)?;
    let options = Options {
        scope: scope(&asked.filters, &data.settings)?,
        sort: asked.sort,
        limit: Some(row_limit(asked.limit)?),
        wide: true,
        ..Options::default()
    };
    let opened = data.tables(&tables_of_sessions(&options))?;
    let answer = session_list(&opened.frames, &options)?;
    let columns = [
        sessions::SESSION_ID,
        sessions::STARTED_AT,
        sessions::RUNTIME,
        sessions::MODEL,
        sessions::PROJECT,
        sessions::COST_USD,
        sessions::STATUS,
        "failure_class",
        sessions::TURNS,
        sessions::TOTAL_TOKENS,
        sessions::PROMPT,
        sessions::SOURCE_PATH,
    ];
    let has_prompts = answer.rows.column(sessions::PROMPT)?.null_count() < answer.rows.height();
    let columns = columns.into_iter().filter(|column| has_prompts || *column != sessions::PROMPT);
    let mut rows = answer.rows.select(columns)?;
    rows.rename(sessions::SOURCE_PATH, EVIDENCE.into())?;
    let mut notes: Vec<String> = answer.left_out.stated("session", "start", Currency::default()).into_iter().collect();
    notes.extend(note_of_lower_bounds(&opened.frames, &options.scope, Spending::Sessions)?);
    notes.extend(more(answer.more));
    if rows.height() == 0 {
        notes.extend(empty_table_reason(&opened, &options.scope));
    }
    Ok(Answer::rows(rows).with_notes(notes))
}

pub(super) fn failures(data: &Data, arguments: Arguments) -> anyhow::Result<Answer> {
    let asked: OfFailures = parsed(arguments)?;
    let scope = scope(&asked.filters, &data.settings)?;
    let tables: Vec<&'static str> = FAILED_TABLES.iter().copied().chain(scope.tables()).collect();
    let opened = data.tables(&tables)?;
    let (rows, left_out) = failed_sessions(&opened.frames, &scope)?;
    let mut notes: Vec<String> = left_out.stated("session", "start", Currency::default()).into_iter().collect();
    if rows.height() == 0 {
        notes.extend(empty_table_reason(&opened, &scope));
    }
    Ok(Answer::rows(rows).with_notes(notes))
}

pub(super) fn comparison(data: &Data, arguments: Arguments) -> anyhow::Result<Answer> {
    let asked: OfComparison = parsed(arguments)?;
    let [a, b] = [scope(&asked.a, &data.settings)?, scope(&asked.b, &data.settings)?];
    let tables: Vec<&str> = compare::TABLES.iter().copied().chain(a.tables()).chain(b.tables()).collect();
    let opened = data.tables(&tables)?;
    let found = compare::compare(&opened.frames, &a, &b, Unjudged::default())?;
    let lines = &found.lines;
    let rounded = |value: f64| (value * 1e6).round() / 1e6;
    let numbers = |name: &str, of: fn(&Compared) -> Option<f64>| {
        Column::new(name.into(), lines.iter().map(|line| of(line).map(rounded)).collect::<Vec<_>>())
    };
    let counts = |name: &str, of: fn(&Compared) -> usize| {
        let counts = lines.iter().map(|line| i64::try_from(of(line)).unwrap_or(i64::MAX));
        Column::new(name.into(), counts.collect::<Vec<_>>())
    };
    let columns = vec![
        Column::new("measure".into(), lines.iter().map(|line| line.measure).collect::<Vec<_>>()),
        numbers("a", |line| line.a),
        numbers("b", |line| line.b),
        numbers("difference", Compared::difference),
        numbers("low", |line| line.interval.map(|(low, _)| low)),
        numbers("high", |line| line.interval.map(|(_, high)| high)),
        Column::new("result".into(), lines.iter().map(|line| line.result).collect::<Vec<_>>()),
        counts("a_sessions", |line| line.a_sessions),
        counts("b_sessions", |line| line.b_sessions),
        numbers("p_adjusted", |line| line.p_adjusted),
    ];
    let rows = DataFrame::new(lines.len(), columns)?;
    let mut notes: Vec<String> = Vec::new();
    for ((scope, name), (judged, left_out)) in
        [&a, &b].into_iter().zip(["a", "b"]).zip(found.judged.into_iter().zip(&found.left_out))
    {
        let of_cohort = [
            empty_table_reason(&opened, scope),
            note_of_lower_bounds(&opened.frames, scope, Spending::Sessions)?,
            judged.stated().filter(|_| found.is_judged()),
            left_out.stated("session", "start", Currency::default()),
        ];
        notes.extend(of_cohort.into_iter().flatten().map(|note| format!("{name}: {note}")));
    }
    notes.extend(
        of_sessions(&found).into_iter().chain(of_lines(&found.lines, Currency::default())).map(Note::into_text),
    );
    Ok(Answer::rows(rows).with_notes(notes))
}

/// The number of rows to compute.
fn row_limit(asked: Option<u32>) -> anyhow::Result<u32> {
    match asked {
        None => Ok(ROWS),
        Some(rows @ 1..=MAX_ROWS) => Ok(rows),
        Some(_) => anyhow::bail!("limit is a whole number from 1 to {MAX_ROWS}"),
    }
}

fn more(rows: usize) -> Option<String> {
    (rows > 0).then(|| format!("{} beyond the limit", counted(rows, "row")))
}

/// How much of the costs and tokens in scope is a lower bound, if any is. Answers are in US dollars.
fn note_of_lower_bounds(tables: &Frames, scope: &Scope, spending: Spending) -> anyhow::Result<Option<String>> {
    Ok(lower_bound(tables, scope, CostBasis::Auto, spending)?.sentence(Currency::default()))
}
