//! What one session shipped, in a line, and the outcome of each session.

use polars::prelude::*;

use super::frame::{COMMIT, OUTCOME, PULL_REQUEST, RULE, SHARE, has_history, shares};
use super::outcome::NOT_ATTRIBUTABLE_WORD;
use crate::analysis::present::grouped;
use crate::analysis::rows::{Frames, KEY, Within};
use crate::store::frames::{TypedRows, rows};

rows! {
    /// The shares of a session.
    struct Shares { commit: COMMIT, pull_request: PULL_REQUEST, outcome: OUTCOME, rule: RULE, share: SHARE }
}

/// The most parts that are listed.
const MOST: usize = 5;

/// The commits and pull requests of one session, the largest first: `github.com/acme/shop#12 0123456789ab merged (hash), 75 %`. `None` if
/// no repository was scanned.
pub(in crate::analysis) fn of_session(row: LazyFrame, tables: &Frames) -> PolarsResult<Option<String>> {
    if !has_history(tables)? {
        return Ok(None);
    }
    let order = SortMultipleOptions::default().with_order_descending_multi([true, false, false]);
    let shares = Shares::read(shares(row, tables, Within::default())?.sort([SHARE, COMMIT, PULL_REQUEST], order))?;
    let part = |row: usize| {
        let percent = shares.share(row).map_or(0.0, |share| share * 100.0);
        let percent = if percent < 99.95 { format!(", {percent:.0} %") } else { String::new() };
        let Some(rule) = shares.rule(row) else { return format!("not attributable{percent}") };
        let commit = shares.commit(row).map(|hash| hash.get(..12).unwrap_or(hash));
        let names: Vec<&str> = [shares.pull_request(row), commit].into_iter().flatten().collect();
        let outcome = shares.outcome(row).unwrap_or_default();
        format!("{} {outcome} ({rule}){percent}", names.join(" "))
    };
    let mut parts: Vec<String> = (0..shares.height().min(MOST)).map(part).collect();
    if shares.height() > MOST {
        parts.push(format!("{} more", grouped(shares.height() - MOST)));
    }
    Ok(Some(parts.join("; ")))
}

/// The outcome of the largest part of each session, as a column of that name. `None` if no repository was scanned.
pub(in crate::analysis) fn outcomes(rows: LazyFrame, tables: &Frames) -> PolarsResult<Option<LazyFrame>> {
    if !has_history(tables)? {
        return Ok(None);
    }
    let order = SortMultipleOptions::default().with_order_descending_multi([true, false]);
    let shares = shares(rows, tables, Within::default())?.sort([SHARE, OUTCOME], order);
    let first = shares.group_by(KEY.map(col)).agg([col(OUTCOME).first()]);
    Ok(Some(first.with_column(col(OUTCOME).fill_null(lit(NOT_ATTRIBUTABLE_WORD)))))
}
