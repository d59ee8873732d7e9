//! Typed access to the columns of a table.

use std::collections::HashMap;

use polars::prelude::*;

use crate::analysis::reports::Frames;
use crate::base::time::Time;

/// The runtime and the id of a session.
pub type Key = (String, String);

/// A table.
pub struct Rows(pub DataFrame);

impl Rows {
    pub fn new(tables: &Frames, name: &str) -> PolarsResult<Self> {
        let mut frame = tables.table(name).collect()?;
        // Values are read by their index.
        frame.rechunk_mut();
        Ok(Self(frame))
    }

    pub fn text(&self, column: &str) -> PolarsResult<impl Fn(usize) -> Option<String> + use<>> {
        let values = self.0.column(column)?.str()?.clone();
        Ok(move |row| values.get(row).map(str::to_owned))
    }

    pub fn number(&self, column: &str) -> PolarsResult<impl Fn(usize) -> Option<i64> + use<>> {
        let values = self.0.column(column)?.i64()?.clone();
        Ok(move |row| values.get(row))
    }

    pub fn money(&self, column: &str) -> PolarsResult<impl Fn(usize) -> Option<f64> + use<>> {
        let values = self.0.column(column)?.f64()?.clone();
        Ok(move |row| values.get(row))
    }

    pub fn flag(&self, column: &str) -> PolarsResult<impl Fn(usize) -> bool + use<>> {
        let values = self.0.column(column)?.bool()?.clone();
        Ok(move |row| values.get(row).unwrap_or_default())
    }

    pub fn time(&self, column: &str) -> PolarsResult<impl Fn(usize) -> Option<Time> + use<>> {
        let values = self.0.column(column)?.cast(&DataType::Int64)?.i64()?.clone();
        Ok(move |row| values.get(row).map(Time::from_micros))
    }

    pub fn list(&self, column: &str) -> PolarsResult<impl Fn(usize) -> Vec<String> + use<>> {
        let values = self.0.column(column)?.list()?.clone();
        Ok(move |row| {
            let list = values.get_as_series(row);
            let texts = list.as_ref().and_then(|list| list.str().ok());
            texts.map_or_else(Vec::new, |texts| texts.iter().flatten().map(str::to_owned).collect())
        })
    }

    /// The indexes of rows, by session.
    pub fn by_session(&self) -> PolarsResult<HashMap<Key, Vec<usize>>> {
        let (runtime, session) = (self.text("runtime")?, self.text("session_id")?);
        let mut rows: HashMap<_, Vec<usize>> = HashMap::new();
        for row in 0..self.0.height() {
            rows.entry((runtime(row).unwrap_or_default(), session(row).unwrap_or_default())).or_default().push(row);
        }
        Ok(rows)
    }
}
