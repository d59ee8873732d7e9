//! The distinct texts of the page, which its tables refer to by number.

use polars::prelude::*;
use serde::Serialize;

use super::sessions::{Selection, Sessions};
use super::table::{Dictionary, texts};
use crate::analysis::reports::cells::Cells;
use crate::analysis::shipped::OUTCOME;
use crate::store::frames::{sessions, turns};

/// The maximum number of distinct models, projects, tools and so on. All others share one index.
const MAX_TEXTS: usize = 500;

/// The distinct texts of each column.
#[derive(Debug, Serialize)]
pub struct Vocabulary {
    pub runtime: Dictionary,
    pub model: Dictionary,
    pub project: Dictionary,
    pub status: Dictionary,
    pub call_status: Dictionary,
    pub usage: Dictionary,
    pub error_kind: Dictionary,
    pub skill: Dictionary,
    pub tool: Dictionary,
    pub kind: Dictionary,
    pub code: Dictionary,
    pub cause: Dictionary,
    pub outcome: Dictionary,
}

impl Vocabulary {
    /// Collects the texts of the sessions, of the cells, and of the turns, calls and events of timelines.
    ///
    /// # Errors
    /// When a column is missing or has another type.
    pub fn new(
        all: &Sessions<'_>,
        selection: &Selection,
        cells: &Cells,
        timelines: &[DataFrame; 3],
    ) -> PolarsResult<Self> {
        let [turns, calls, events] = timelines;
        let outcomes = cells.shipped.as_ref().map(|shipped| texts(shipped, OUTCOME)).transpose()?;
        let words = |texts: Vec<Vec<Option<&str>>>| Dictionary::new(texts.into_iter().flatten(), MAX_TEXTS);
        Ok(Self {
            runtime: words(vec![selection.pick(&all.runtime)]),
            model: words(vec![texts(&cells.turns, "model")?, selection.pick(&all.model), texts(turns, turns::MODEL)?]),
            project: words(vec![selection.pick(&all.project)]),
            status: words(vec![selection.pick(&all.status)]),
            call_status: words(vec![texts(calls, "status")?]),
            usage: words(vec![all.texts(sessions::USAGE, selection)?]),
            error_kind: words(vec![all.texts(sessions::ERROR_KIND, selection)?]),
            skill: words(vec![texts(&cells.skills, turns::SKILL)?]),
            tool: words(vec![texts(&cells.tools, "tool")?, texts(calls, "tool")?]),
            kind: words(vec![texts(&cells.troubles, "kind")?, texts(events, "kind")?]),
            code: words(vec![texts(&cells.troubles, "code")?, texts(events, "code")?]),
            cause: words(vec![texts(&cells.waste, "cause")?]),
            outcome: words(vec![outcomes.unwrap_or_default()]),
        })
    }
}
