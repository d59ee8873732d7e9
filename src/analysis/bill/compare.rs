//! Compares bills with the archive.

use std::collections::BTreeMap;

use super::amounts::Amounts;
use super::billed::Billed;
use super::days;
use super::key::{By, Key};
use super::logged::{Logged, OfOthers};
use super::question::Question;
use super::row::{Measure, Row};
use super::sums::Sums;
use crate::analysis::rows::Frames;
use crate::analysis::selection::{Error, LeftOut};
use crate::base::time::Day;
use crate::ingest::bill_files::BillLine;

/// The comparison.
#[derive(Debug)]
pub struct Bill {
    /// By what the rows are grouped.
    pub by: Vec<By>,
    /// The unit of the amounts.
    pub measure: Measure,
    /// The groups, those with the largest differences first.
    pub(super) rows: Vec<Row>,
    /// The sums over all groups.
    pub sums: Sums,
    /// The first and the last day.
    pub period: (Day, Day),
    /// Lines of the bill outside of the bounds of time, or only partly in them.
    pub outside: usize,
    /// Rows of the ledger without a time.
    pub left_out: LeftOut,
    /// Rows of the ledger that another provider bills.
    pub of_others: OfOthers,
}

/// Compares the lines of bills with the rows of the ledger; `None` if no line is in scope.
///
/// # Errors
/// When the question does not fit the bill, a filter names something that does not exist, or the tables cannot be read.
pub fn compare(tables: &Frames, lines: Vec<BillLine>, question: &Question<'_>) -> Result<Option<Bill>, Error> {
    let Some(billed) = Billed::of(lines, question)? else { return Ok(None) };
    let has_costs = billed.lines.iter().any(|line| line.cost_usd.is_some());
    let measure = if has_costs { Measure::Dollars } else { Measure::Tokens };
    let logged = Logged::read(tables, &billed, question)?;
    let mut groups: BTreeMap<Key, [Option<Amounts>; 2]> = BTreeMap::new();
    let sides = billed.groups().map(|group| (0, group)).chain(logged.groups.into_iter().map(|group| (1, group)));
    for (side, (key, amounts)) in sides {
        let group = groups.entry(key).or_default();
        if let Some(sum) = group.get_mut(side) {
            sum.get_or_insert_default().add(&amounts);
        }
    }
    let rows = groups.into_iter().map(|(key, [bill, logs])| Row::of(key, bill, logs, measure, question.tolerance));
    let mut rows: Vec<Row> = rows.collect();
    days::explain(&mut rows, question.delay, measure, question.tolerance);
    let (first, last) = billed.period;
    rows.retain(|row| row.key.day.is_none_or(|day| first <= day && day <= last));
    let sums = Sums::of(&rows);
    // Rows with the same difference stay in the order of their keys. The last digits of a sum depend on the order of its rows.
    let rounded = |row: &Row| (row.unexplained() * 1e9).round();
    rows.sort_by(|a, b| rounded(b).total_cmp(&rounded(a)));
    let Billed { period, outside, by, .. } = billed;
    let Logged { left_out, of_others, .. } = logged;
    Ok(Some(Bill { by, measure, rows, sums, period, outside, left_out, of_others }))
}
