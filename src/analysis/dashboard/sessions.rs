//! The sessions of the archive, and which of them the page includes.
#![cfg_attr(
    not(test),
    expect(
        clippy::indexing_slicing,
        reason = "columns have the length of their frame, and indexes are those of its rows"
    )
)]

use std::collections::HashMap;

use polars::prelude::*;

use super::table::{money, texts, whole};
use crate::model::session::add;
use crate::store::frames::sessions;

type Key<'a> = (&'a str, &'a str);

/// All sessions of the archive, column by column, in the order of their start.
pub struct Sessions<'a> {
    pub frame: &'a DataFrame,
    by_key: HashMap<Key<'a>, usize>,
    pub runtime: Vec<Option<&'a str>>,
    pub id: Vec<Option<&'a str>>,
    pub model: Vec<Option<&'a str>>,
    pub project: Vec<Option<&'a str>>,
    pub status: Vec<Option<&'a str>>,
    /// The start, in microseconds since 1970.
    pub started: Vec<Option<i64>>,
    pub turns: Vec<Option<i64>>,
    pub calls: Vec<Option<i64>>,
    /// 1 for the sessions that `report sessions` counts.
    pub is_listed: Vec<Option<i64>>,
    pub labels: Vec<Vec<String>>,
}

fn key<'a>(runtime: Option<&'a str>, id: Option<&'a str>) -> Key<'a> {
    (runtime.unwrap_or_default(), id.unwrap_or_default())
}

impl<'a> Sessions<'a> {
    /// Reads the columns.
    ///
    /// # Errors
    /// When a column is missing or has another type.
    pub fn read(frame: &'a DataFrame) -> PolarsResult<Self> {
        let (runtime, id) = (texts(frame, sessions::RUNTIME)?, texts(frame, sessions::SESSION_ID)?);
        let by_key = runtime.iter().zip(&id).enumerate().map(|(index, (runtime, id))| (key(*runtime, *id), index));
        let by_key = by_key.collect();
        let labels = frame.column(sessions::LABELS)?.list()?.amortized_iter().map(|list| {
            let texts = list.as_ref().and_then(|list| list.as_ref().str().ok());
            texts.map_or_else(Vec::new, |texts| texts.iter().flatten().map(str::to_owned).collect())
        });
        let labels = labels.collect();
        Ok(Self {
            by_key,
            runtime,
            id,
            model: texts(frame, sessions::MODEL)?,
            project: texts(frame, sessions::PROJECT)?,
            status: texts(frame, sessions::STATUS)?,
            started: whole(frame, sessions::STARTED_AT)?,
            turns: whole(frame, sessions::TURNS)?,
            calls: whole(frame, sessions::TOOL_CALLS)?,
            is_listed: whole(frame, "is_listed")?,
            labels,
            frame,
        })
    }

    /// The index of each row's session.
    pub fn indexes(&self, rows: &DataFrame) -> PolarsResult<Vec<Option<usize>>> {
        let ids = texts(rows, sessions::SESSION_ID)?;
        let index = |(runtime, id)| self.by_key.get(&key(runtime, id)).copied();
        Ok(texts(rows, sessions::RUNTIME)?.into_iter().zip(ids).map(index).collect())
    }

    /// The keys of sessions, by their indexes.
    pub fn keys(&self, sessions: impl Iterator<Item = usize>) -> PolarsResult<DataFrame> {
        let (runtime, id): (Vec<_>, Vec<_>) = sessions.map(|index| (self.runtime[index], self.id[index])).unzip();
        df!("runtime" => runtime, sessions::SESSION_ID => id)
    }

    /// A column of texts of the selected sessions.
    pub fn texts(&self, name: &str, selection: &Selection) -> PolarsResult<Vec<Option<&'a str>>> {
        Ok(selection.pick(&texts(self.frame, name)?))
    }
}

/// The sessions that the page includes.
pub struct Selection {
    /// Their indexes in [`Sessions`]. An index into this list is called a position.
    pub shown: Vec<usize>,
    /// The position of every session; `None` if it is not selected.
    pub position: Vec<Option<usize>>,
}

/// The selected sessions, each in a group.
#[derive(Clone, Copy)]
pub struct Grouped<'a> {
    /// All sessions.
    pub all: &'a Sessions<'a>,
    /// Those that the page includes.
    pub selection: &'a Selection,
    /// The group of each, by its position.
    pub groups: &'a [usize],
}

impl Selection {
    /// The sessions that are in scope, and those with rows that are in scope.
    ///
    /// # Errors
    /// When a column is missing or has another type.
    pub fn new(all: &Sessions<'_>, cells: [&DataFrame; 3]) -> PolarsResult<Self> {
        let mut is_shown: Vec<bool> = all.is_listed.iter().map(Option::is_some).collect();
        for rows in cells {
            for session in all.indexes(rows)?.into_iter().flatten() {
                is_shown[session] = true;
            }
        }
        let shown: Vec<usize> = (0..is_shown.len()).filter(|index| is_shown[*index]).collect();
        let mut positions = vec![None; is_shown.len()];
        for (position, index) in shown.iter().enumerate() {
            positions[*index] = Some(position);
        }
        Ok(Self { shown, position: positions })
    }

    /// The selected values of a column of all sessions.
    pub fn pick<V: Copy>(&self, values: &[V]) -> Vec<V> {
        self.shown.iter().map(|index| values[*index]).collect()
    }

    /// The rows of selected sessions, as pairs of the session's position and the row's index, sorted.
    pub fn rows(&self, all: &Sessions<'_>, rows: &DataFrame) -> PolarsResult<Vec<(usize, usize)>> {
        let indexes = all.indexes(rows)?.into_iter().enumerate();
        let mut rows: Vec<_> = indexes.filter_map(|(row, index)| Some((self.position[index?]?, row))).collect();
        rows.sort_unstable();
        Ok(rows)
    }
}

/// The sums over the cells of each selected session.
pub struct Sums {
    /// Costs, in billionths of a dollar.
    pub cost: Vec<Option<i64>>,
    /// Tokens.
    pub tokens: Vec<Option<i64>>,
}

impl Sums {
    /// Adds up the cells.
    ///
    /// # Errors
    /// When a column is missing or has another type.
    pub fn new(turns: &DataFrame, all: &Sessions<'_>, selection: &Selection) -> PolarsResult<Self> {
        let (cost, tokens) = (money(turns, sessions::COST_USD)?, whole(turns, sessions::TOTAL_TOKENS)?);
        let mut sums = Self { cost: vec![None; selection.shown.len()], tokens: vec![None; selection.shown.len()] };
        for (session, row) in selection.rows(all, turns)? {
            sums.cost[session] = add(sums.cost[session], cost[row]);
            sums.tokens[session] = add(sums.tokens[session], tokens[row]);
        }
        Ok(sums)
    }
}
