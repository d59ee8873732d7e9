//! The shares of sessions in commits and pull requests as rows, and what no rule reached.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use polars::prelude::*;

use super::attribute::{Attribution, Attributor};
use super::history::{Commit, History};
use super::outcome::NOT_ATTRIBUTABLE_WORD;
use super::read::{self, calls, changes, history};
use super::session::{Call, Change, Session};
use crate::analysis::rows::{
    Context, Extended, Find, Frames, KEY, NONE, ReportRows, SessionRows, Sessions, Sorted, Within, for_sessions, take,
};
use crate::base::time::{DAY_MICROS, Time};
use crate::store::frames::{commits, computed_columns, file_changes, pull_requests, sessions, tool_calls};

computed_columns! {
    /// The pull request in which work is.
    pub(in crate::analysis) PULL_REQUEST: Text = commits::PULL_REQUEST;
    /// The commit.
    pub(in crate::analysis) COMMIT: Text = commits::COMMIT;
    /// What became of it.
    pub(in crate::analysis) OUTCOME: Text = "outcome";
    /// The rule that found it.
    pub(in crate::analysis) RULE: Text = "rule";
    /// The part of the session.
    pub(super) SHARE: Float = "share_of_session";
}

/// The branch on which the commit was made, and its author.
pub(in crate::analysis) const BRANCH: &str = pull_requests::BRANCH;
pub(in crate::analysis) const AUTHOR: &str = commits::AUTHOR;

/// The dimensions of the rows.
const DIMENSIONS: [&str; 6] = [PULL_REQUEST, COMMIT, BRANCH, AUTHOR, OUTCOME, RULE];

/// The value of what no rule reached.
const NOT_ATTRIBUTABLE: &str = "(not_attributable)";

/// How a commit reached the default branch, its repository, and the rule where it is not replaced by words for none.
const LANDED_BY: &str = "landed_by";
const COMMIT_REPOSITORY: &str = "commit_repository";
const SHARE_RULE: &str = "share_rule";

/// The parts of the cost, tokens and duration of a session.
pub(in crate::analysis) const SHARED_COST_USD: &str = "shared_cost_usd";
pub(super) const SHARED_TOKENS: &str = "shared_tokens";
pub(super) const SHARED_MS: &str = "shared_ms";
/// The whole hash and the pull request, to be counted; NULL without one.
pub(super) const COMMIT_KEY: &str = "commit_key";
pub(in crate::analysis) const PULL_REQUEST_KEY: &str = "pull_request_key";
/// Whether the default branch contains it.
pub(in crate::analysis) const IS_MERGED: &str = "is_merged";
/// The lines of the commit, divided over the sessions that share it.
pub(super) const LINES_ADDED: &str = "shared_lines_added";
pub(super) const LINES_SURVIVING: &str = "shared_lines_surviving";

/// Digits of a hash as it is shown.
const SHOWN_DIGITS: i64 = 12;
/// Commits are read from so long before the first session on.
const BEFORE: i64 = DAY_MICROS;

/// The rows of some sessions.
#[derive(Default)]
struct Work {
    calls: Sorted<Call>,
    changes: Sorted<Change>,
}

impl SessionRows for Work {
    fn sessions(&self) -> BTreeSet<usize> {
        self.calls.sessions().chain(self.changes.sessions()).collect()
    }
}

/// The sessions, each with a row for each commit or pull request that it worked on, and one for the remainder.
#[derive(Debug)]
pub(in crate::analysis) struct Shipped;

impl ReportRows for Shipped {
    fn tables(&self) -> Vec<&'static str> {
        [&[sessions::TABLE, tool_calls::TABLE, file_changes::TABLE], &read::TABLES[..]].concat()
    }

    fn options(&self) -> &'static [&'static str] {
        &["--within"]
    }

    fn has(&self, column: &str) -> bool {
        Sessions.has(column) || DIMENSIONS.contains(&column)
    }

    fn frame(&self, tables: &Frames) -> PolarsResult<LazyFrame> {
        // Their values are those of `extend`.
        let unknown = DIMENSIONS.map(|name| lit(NULL).cast(DataType::String).alias(name));
        Ok(Sessions.frame(tables)?.with_columns(unknown))
    }

    fn extend(&self, rows: LazyFrame, context: &Context<'_>) -> PolarsResult<Extended> {
        Ok(rows_of_shares(rows, context.tables, context.within)?.into())
    }
}

/// The rows of [`Shipped`] with the values of their dimensions and their parts of the cost, tokens, time and lines.
pub(in crate::analysis) fn rows_of_shares(rows: LazyFrame, tables: &Frames, within: Within) -> PolarsResult<LazyFrame> {
    let rows = rows.drop(cols(DIMENSIONS));
    let shares = shares(rows.clone(), tables, within)?.with_columns(DIMENSIONS.map(named));
    let rows = rows.join(shares, KEY.map(col), KEY.map(col), JoinType::Inner.into());
    let part = |column: &str| col(column).cast(DataType::Float64) * col(SHARE);
    let count = len().over([col(COMMIT_KEY)])?.cast(DataType::Float64);
    let of_commit = |lines: &str| (col(lines).cast(DataType::Float64) / count.clone()).alias(lines);
    Ok(rows.with_columns([
        part(sessions::COST_USD).alias(SHARED_COST_USD),
        part(sessions::TOTAL_TOKENS).alias(SHARED_TOKENS),
        part(sessions::DURATION_MS).alias(SHARED_MS),
        of_commit(LINES_ADDED),
        of_commit(LINES_SURVIVING),
    ]))
}

/// The value of a dimension, also where it is unknown.
fn named(dimension: &str) -> Expr {
    let value = if dimension == COMMIT { col(COMMIT).str().head(lit(SHOWN_DIGITS)) } else { col(dimension) };
    let rest = if dimension == OUTCOME { NOT_ATTRIBUTABLE_WORD } else { NOT_ATTRIBUTABLE };
    when(col(SHARE_RULE).is_null()).then(lit(rest)).otherwise(value.fill_null(lit(NONE))).alias(dimension)
}

/// The shares of sessions: rows with the keys of the sessions, the dimensions, and what is known of the commits.
pub(super) fn shares(rows: LazyFrame, tables: &Frames, within: Within) -> PolarsResult<LazyFrame> {
    let frame = rows.clone().select(KEY.map(col)).collect()?;
    let known = read::sessions(rows)?;
    let first = known.iter().filter_map(|session| session.started_at).min();
    let last = known.iter().filter_map(|session| session.ended_at.or(session.started_at)).max();
    let history = history(tables, first.map(|first| Time::from_micros(first.saturating_sub(BEFORE))))?;
    let attributor = Mutex::new(Attributor::new(&history, last, within));
    let read = |tables: &Frames, find: Find<'_>| {
        if history.is_empty() {
            return Ok(Work::default());
        }
        Ok(Work {
            calls: calls(tables.table(tool_calls::TABLE), find)?,
            changes: changes(tables.table(file_changes::TABLE), find)?,
        })
    };
    let compute = |work: &Work, indices: &[usize]| {
        let mut found: Vec<(usize, Option<Attribution>, f64)> = Vec::new();
        // It keeps what it finds of each commit.
        let mut attributor = attributor.lock().unwrap_or_else(PoisonError::into_inner);
        for index in indices {
            let Some(session) = known.get(*index) else { continue };
            let (calls, changes) = (work.calls.of(*index).to_vec(), work.changes.of(*index).to_vec());
            let shares = attributor.shares(&Session { calls, changes, ..session.clone() });
            let rest = shares.iter().fold(1.0, |rest, share| rest - share.share);
            found.extend(shares.into_iter().map(|share| (*index, Some(share.clone()), share.share)));
            // The rest of a session that is divided without one is the error of its sum.
            if rest > 1e-9 {
                found.push((*index, None, rest));
            }
        }
        table(&frame, &found, &history)
    };
    for_sessions(&frame, tables, read, compute)
}

/// A text of a share.
type Text<'f> = &'f dyn Fn(&Attribution) -> Option<String>;
/// A number of lines of a commit.
type Lines = fn(&Commit) -> Option<i64>;

/// The rows of shares. What no rule reached has only a share.
fn table(keys: &DataFrame, found: &[(usize, Option<Attribution>, f64)], history: &History) -> PolarsResult<DataFrame> {
    let mut frame = take(keys, found.iter().map(|(index, ..)| *index))?;
    let known = || found.iter().map(|(_, share, _)| share.as_ref());
    let commit = |share: &Attribution| history.commits.get(share.commit?);
    let name = |repository: usize| history.repositories.get(repository).map(|it| it.name.as_str());
    let request = |share: &Attribution| {
        let (repository, number) = share.pull_request?;
        Some(format!("{}#{number}", name(repository)?))
    };
    let key = |share: &Attribution| {
        let commit = commit(share)?;
        Some(format!("{} {}", name(commit.repository)?, commit.hash))
    };
    let repository = |share: &Attribution| {
        let of_request = || share.pull_request.map(|(repository, _)| repository);
        name(commit(share).map(|commit| commit.repository).or_else(of_request)?).map(str::to_owned)
    };
    let word = |word: &'static str| Some(word.to_owned());
    let texts: [(&str, Text<'_>); 10] = [
        (PULL_REQUEST, &request),
        (COMMIT, &|share| Some(commit(share)?.hash.clone())),
        (BRANCH, &|share| share.branch.clone()),
        (AUTHOR, &|share| commit(share)?.author.clone()),
        (OUTCOME, &|share| word(share.outcome.as_str())),
        (RULE, &|share| word(share.rule.as_str())),
        (SHARE_RULE, &|share| word(share.rule.as_str())),
        (LANDED_BY, &|share| word(share.landed_by?.as_str())),
        (COMMIT_KEY, &key),
        (COMMIT_REPOSITORY, &repository),
    ];
    for (column, value) in texts {
        let values: Vec<Option<String>> = known().map(|share| value(share?)).collect();
        frame.with_column(Column::new(column.into(), values))?;
    }
    let requests: Vec<Option<String>> = known().map(|share| request(share?)).collect();
    frame.with_column(Column::new(PULL_REQUEST_KEY.into(), requests))?;
    let shares: Vec<f64> = found.iter().map(|(.., share)| *share).collect();
    frame.with_column(Column::new(SHARE.into(), shares))?;
    let merged: Vec<bool> = known().map(|share| share.is_some_and(|share| share.outcome.is_merged())).collect();
    frame.with_column(Column::new(IS_MERGED.into(), merged))?;
    let lines: [(&str, Lines); 2] =
        [(LINES_ADDED, |commit| commit.lines_added), (LINES_SURVIVING, |commit| commit.lines_surviving)];
    for (column, value) in lines {
        let values: Vec<Option<i64>> = known().map(|share| commit(share?).and_then(value)).collect();
        frame.with_column(Column::new(column.into(), values))?;
    }
    Ok(frame)
}

/// The shares of sessions as a table for SQL.
pub(in crate::analysis) fn view(tables: &Frames) -> PolarsResult<LazyFrame> {
    let rows = Sessions.frame(tables)?;
    let shares = shares(rows.clone(), tables, Within::default())?;
    let costs = rows.select([&KEY.map(col)[..], &[col(sessions::COST_USD)]].concat());
    let rest = lit(NOT_ATTRIBUTABLE_WORD);
    let columns = [
        col(COMMIT_REPOSITORY).alias(sessions::REPOSITORY),
        col(COMMIT),
        col(PULL_REQUEST),
        col(BRANCH),
        col(AUTHOR),
        col(RULE),
        col(LANDED_BY),
        col(OUTCOME).fill_null(rest),
        col(SHARE).alias("share"),
        (col(sessions::COST_USD) * col(SHARE)).alias(sessions::COST_USD),
    ];
    let joined = shares.join(costs, KEY.map(col), KEY.map(col), JoinType::Left.into());
    Ok(joined.select([&KEY.map(col)[..], &columns].concat()))
}

/// Whether the tables contain the history of any repository.
///
/// # Errors
/// When the tables cannot be read.
pub fn has_history(tables: &Frames) -> PolarsResult<bool> {
    for table in [commits::TABLE, pull_requests::TABLE] {
        if tables.table(table).select([col(commits::REPOSITORY)]).limit(1).collect()?.height() > 0 {
            return Ok(true);
        }
    }
    Ok(false)
}
