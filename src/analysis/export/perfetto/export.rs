//! Writes the sessions of an archive as one trace.

use std::io::{self, Write};

use polars::prelude::PolarsResult;
use serde_json::json;

use super::counters::{Step, sums};
use super::event::Event;
use super::session::Session;
use super::tables::Tables;
use crate::analysis::rows::Frames;
use crate::store::frames::TypedRows as _;

/// The process with the sums over all sessions.
const ALL: usize = 0;

/// All sessions of an archive, to be written as one trace.
pub struct Timeline {
    tables: Tables,
}

/// What was written, and what has no place in time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Written {
    /// Sessions.
    pub sessions: usize,
    /// The ids of sessions without a known time, which are left out.
    pub untimed_sessions: Vec<String>,
    /// Responses and calls without a time, which have no slice.
    pub untimed_rows: usize,
}

impl Timeline {
    /// Reads the tables.
    ///
    /// # Errors
    /// When a table cannot be read.
    pub fn new(tables: &Frames) -> PolarsResult<Self> {
        Ok(Self { tables: Tables::read(tables)? })
    }

    /// Writes all sessions, by their start.
    ///
    /// # Errors
    /// When `out` cannot be written.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<Written> {
        let sessions = &self.tables.sessions;
        let mut rows: Vec<usize> = (0..sessions.height()).collect();
        rows.sort_by_key(|row| (sessions.started_at(*row).is_none(), sessions.started_at(*row)));
        let mut written = Written::default();
        let mut steps: Vec<Step> = Vec::new();
        out.write_all(b"{\"displayTimeUnit\":\"ms\",\"traceEvents\":[")?;
        write(out, &Event::metadata("process_name", ALL, 0, json!("all sessions")))?;
        for row in rows {
            let Some(session) = Session::of(&self.tables, row, written.sessions + 1) else {
                written.untimed_sessions.extend(sessions.id(row).map(str::to_owned));
                continue;
            };
            written.sessions += 1;
            written.untimed_rows += session.untimed;
            for event in &session.events {
                out.write_all(b",")?;
                write(out, event)?;
            }
            steps.extend(session.steps);
        }
        steps.sort_by_key(|step| step.time);
        for event in sums(&steps, ALL) {
            out.write_all(b",")?;
            write(out, &event)?;
        }
        out.write_all(b"\n]}\n")?;
        Ok(written)
    }
}

fn write(out: &mut dyn Write, event: &Event) -> io::Result<()> {
    out.write_all(b"\n")?;
    serde_json::to_writer(out, event)?;
    Ok(())
}
