//! The findings about files that the page shows.
#![cfg_attr(
    not(test),
    expect(
        clippy::indexing_slicing,
        reason = "columns have the length of their frame, and indexes are those of its rows"
    )
)]

use super::table::{Table, pick, texts, whole};
use crate::analysis::reports::{self, Error, Frames, Options, Scope};
use crate::store::frames::{rejects, turns};

/// The maximum number of findings.
const MAX_FINDINGS: usize = 300;

/// The findings about files, and the number of findings that are omitted. Only filters by runtime and format apply to files.
pub fn health(tables: &Frames, scope: &Scope) -> Result<(Table, usize), Error> {
    let only = scope.only.iter().filter(|(name, _)| matches!(name.as_str(), "runtime" | "format")).cloned();
    let scope = Scope { since: None, until: None, undated: None, only: only.collect(), ..scope.clone() };
    let findings = reports::find("health")?.run(tables, &Options { scope, wide: true, ..Options::default() })?.rows;
    // The page counts findings about sessions itself, as its filters apply to them.
    let kinds = texts(&findings, "finding")?;
    let is_of_file = |row: &usize| matches!(kinds[*row], Some("file" | "rejected" | "unread" | "unknown"));
    let rows: Vec<((), usize)> = (0..findings.height()).filter(is_of_file).map(|row| ((), row)).collect();
    let shown = &rows[..rows.len().min(MAX_FINDINGS)];
    let mut table = Table::default();
    for name in ["finding", "reason", turns::RUNTIME, turns::FORMAT, "unit", turns::SOURCE_PATH] {
        table.texts(name, pick(shown, &texts(&findings, name)?));
    }
    for name in ["count", rejects::FIRST_LINE] {
        table.numbers(name, pick(shown, &whole(&findings, name)?));
    }
    Ok((table, rows.len() - shown.len()))
}
