//! The aggregates of turns, tool calls and problems, as tables of the page.
#![cfg_attr(
    not(test),
    expect(
        clippy::indexing_slicing,
        reason = "columns have the length of their frame, and indexes are those of its rows"
    )
)]

use std::collections::BTreeMap;

use polars::prelude::*;

use super::sessions::{Grouped, Selection, Sessions};
use super::table::{Dictionary, Table, money, number, pick, texts, whole};
use super::vocabulary::Vocabulary;
use crate::analysis::reports::cells::{MERGED_PULL_REQUEST, OF_BEHAVIOUR, PROMPT_TOKENS};
use crate::analysis::shipped::OUTCOME;
use crate::model::session::add;
use crate::store::frames::{commits, events, sessions, tool_calls, turns};

/// Replaces a total that is the sum of the four kinds of tokens, and the tokens of prompts that are the sum of three, as nearly all are.
const SUM_OF_KINDS: Option<i64> = Some(-1);

/// Replaces a number of calls with a known duration that is the number of all calls, as it is in most formats.
const ALL_ROWS: Option<i64> = Some(-1);

/// The cells of turns, in the order of sessions.
pub fn turns(cells: &DataFrame, all: &Sessions<'_>, selection: &Selection, words: &Vocabulary) -> PolarsResult<Table> {
    let rows = selection.rows(all, cells)?;
    let mut table = Table::default();
    table.deltas("session", rows.iter().map(|(session, _)| Some(number(*session))));
    table.deltas("day", pick(&rows, &whole(cells, turns::DAY)?));
    table.numbers("model", words.model.indexes(pick(&rows, &texts(cells, turns::MODEL)?)));
    table.numbers("cost", pick(&rows, &money(cells, turns::COST_USD)?));
    let mut sums = vec![None; rows.len()];
    for name in [turns::INPUT_TOKENS, turns::OUTPUT_TOKENS, turns::CACHE_READ_TOKENS, turns::CACHE_WRITE_TOKENS] {
        let values: Vec<Option<i64>> = pick(&rows, &whole(cells, name)?).collect();
        for (sum, value) in sums.iter_mut().zip(&values) {
            *sum = add(*sum, *value);
        }
        table.numbers(name, values);
    }
    let prompts = whole(cells, PROMPT_TOKENS)?;
    let kinds = [turns::INPUT_TOKENS, turns::CACHE_READ_TOKENS, turns::CACHE_WRITE_TOKENS];
    let kinds = kinds.map(|name| whole(cells, name)).into_iter().collect::<PolarsResult<Vec<_>>>()?;
    let prompts = rows.iter().map(|(_, row)| {
        let sum = kinds.iter().fold(None, |sum, kind| add(sum, kind[*row]));
        if prompts[*row] == sum { SUM_OF_KINDS } else { prompts[*row] }
    });
    table.numbers(PROMPT_TOKENS, prompts);
    let totals = whole(cells, turns::TOTAL_TOKENS)?;
    let totals = pick(&rows, &totals).zip(sums);
    table.numbers(turns::TOTAL_TOKENS, totals.map(|(total, sum)| if total == sum { SUM_OF_KINDS } else { total }));
    for name in [sessions::UNPRICED_TOKENS, sessions::TURNS] {
        table.numbers(name, pick(&rows, &whole(cells, name)?));
    }
    Ok(table)
}

/// The cells of tool calls, added up over the sessions of a group.
pub fn tool_calls(cells: &DataFrame, grouped: Grouped<'_>, words: &Vocabulary) -> PolarsResult<Table> {
    const SUMS: [&str; 7] =
        ["rows", "error", "denied", "incomplete", "duration_ms_known", turns::DURATION_MS, tool_calls::RESULT_BYTES];
    let days = whole(cells, turns::DAY)?;
    let tools = words.tool.indexes(texts(cells, tool_calls::TOOL)?);
    added_up(cells, grouped, &["day", "tool"], |row| [days[row], tools[row]], &SUMS)
}

/// The cells of skills, added up over the sessions of a group.
pub fn skills(cells: &DataFrame, grouped: Grouped<'_>, words: &Vocabulary) -> PolarsResult<Table> {
    const SUMS: [&str; 4] = ["cost", turns::TOTAL_TOKENS, sessions::TURNS, turns::TOOL_CALLS];
    let days = whole(cells, turns::DAY)?;
    let skills = words.skill.indexes(texts(cells, turns::SKILL)?);
    added_up(cells, grouped, &["day", "skill"], |row| [days[row], skills[row]], &SUMS)
}

/// The cells of problems, added up over the sessions of a group.
pub fn problems(cells: &DataFrame, grouped: Grouped<'_>, words: &Vocabulary) -> PolarsResult<Table> {
    let days = whole(cells, turns::DAY)?;
    let kinds = words.kind.indexes(texts(cells, events::KIND)?);
    let codes = words.code.indexes(texts(cells, events::CODE)?);
    added_up(cells, grouped, &["day", "kind", "code"], |row| [days[row], kinds[row], codes[row]], &["rows"])
}

/// The waste, added up over the sessions of a group.
pub fn waste(cells: &DataFrame, grouped: Grouped<'_>, words: &Vocabulary) -> PolarsResult<Table> {
    let days = whole(cells, turns::DAY)?;
    let causes = words.cause.indexes(texts(cells, "cause")?);
    let key = |row: usize| [days[row], causes[row]];
    added_up(cells, grouped, &["day", "cause"], key, &["waste", "cases"])
}

/// What shipped, added up over the sessions of a group. Pull requests have numbers, by which the page counts each once.
pub fn shipped(cells: &DataFrame, grouped: Grouped<'_>, words: &Vocabulary) -> PolarsResult<Table> {
    let days = whole(cells, turns::DAY)?;
    let outcomes = words.outcome.indexes(texts(cells, OUTCOME)?);
    let requests = texts(cells, MERGED_PULL_REQUEST)?;
    let numbers =
        Dictionary::new(requests.iter().copied().flatten().map(Some), usize::MAX).indexes(requests.iter().copied());
    let key = |row: usize| [days[row], outcomes[row], numbers[row].filter(|_| requests[row].is_some())];
    added_up(cells, grouped, &["day", OUTCOME, commits::PULL_REQUEST], key, &["cost"])
}

/// What behaviour is measured from, added up over the sessions of a group.
pub fn behaviour(cells: &DataFrame, grouped: Grouped<'_>) -> PolarsResult<Table> {
    let days = whole(cells, turns::DAY)?;
    added_up(cells, grouped, &["day"], |row| [days[row]], OF_BEHAVIOUR)
}

/// The values by which rows are added up, besides the group of their session.
type Key<const N: usize> = [Option<i64>; N];

fn added_up<const N: usize>(
    cells: &DataFrame,
    grouped: Grouped<'_>,
    names: &[&'static str; N],
    key: impl Fn(usize) -> Key<N>,
    sums: &[&'static str],
) -> PolarsResult<Table> {
    let columns = sums.iter().map(|name| whole(cells, name)).collect::<PolarsResult<Vec<_>>>()?;
    let mut added: BTreeMap<(usize, Key<N>), Vec<Option<i64>>> = BTreeMap::new();
    for (session, row) in grouped.selection.rows(grouped.all, cells)? {
        let sums = added.entry((grouped.groups[session], key(row))).or_insert_with(|| vec![None; columns.len()]);
        for (sum, column) in sums.iter_mut().zip(&columns) {
            *sum = add(*sum, column[row]);
        }
    }
    let mut table = Table::default();
    table.deltas("group", added.keys().map(|(group, _)| Some(number(*group))));
    for (index, name) in names.iter().enumerate() {
        let values = added.keys().map(|(_, key)| key[index]);
        if *name == "day" { table.deltas(name, values) } else { table.numbers(name, values) }
    }
    let rows = sums.iter().position(|name| *name == "rows");
    for (index, name) in sums.iter().enumerate() {
        let values = added.values().map(|sums| sums[index]);
        match rows {
            Some(rows) if *name == "duration_ms_known" => {
                let rows = added.values().map(|sums| sums[rows]);
                table.numbers(name, values.zip(rows).map(|(known, rows)| if known == rows { ALL_ROWS } else { known }));
            }
            _ => table.numbers(name, values),
        }
    }
    Ok(table)
}
