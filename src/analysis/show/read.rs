//! Reads the rows of one session.

use std::collections::HashMap;

use polars::prelude::*;

use super::find::SessionKey;
use super::timeline::{Entry, Kind};
use crate::analysis::behaviour::Purpose;
use crate::analysis::reports::Cost;
use crate::analysis::reports::tables::Frames;

/// The tables that a timeline needs.
pub const TABLES: &[&str] = &["sessions", "turns", "tool_calls", "file_changes", "events", "verdicts"];

/// The rows of one table that belong to a session.
pub(super) struct Rows(DataFrame);

impl Rows {
    /// The rows of the session; `key` names the column with its id.
    pub(super) fn read(tables: &Frames, name: &str, session: &SessionKey, key: &str, cost: Cost) -> PolarsResult<Self> {
        let is_of_session = col(key).eq(lit(session.id.as_str())).and(col("runtime").eq(lit(session.runtime.as_str())));
        let mut rows = tables.table(name).filter(is_of_session);
        if matches!(name, "turns" | "sessions") {
            rows = rows.with_columns(cost.columns());
        }
        Ok(Self(rows.collect()?))
    }

    pub(super) fn count(&self) -> usize {
        self.0.height()
    }

    fn value(&self, column: &str, row: usize) -> Option<AnyValue<'_>> {
        self.0.column(column).ok()?.get(row).ok().filter(|value| !value.is_null())
    }

    pub(super) fn text(&self, column: &str, row: usize) -> Option<String> {
        self.value(column, row).map(|value| value.str_value().into_owned())
    }

    /// Texts of a list.
    pub(super) fn texts(&self, column: &str, row: usize) -> Vec<String> {
        match self.value(column, row) {
            Some(AnyValue::List(texts)) => texts.iter().map(|text| text.str_value().into_owned()).collect(),
            _ => Vec::new(),
        }
    }

    pub(super) fn whole(&self, column: &str, row: usize) -> Option<i64> {
        self.value(column, row)?.extract()
    }

    pub(super) fn float(&self, column: &str, row: usize) -> Option<f64> {
        self.value(column, row)?.extract()
    }

    pub(super) fn flag(&self, column: &str, row: usize) -> Option<bool> {
        match self.value(column, row)? {
            AnyValue::Boolean(flag) => Some(flag),
            _ => None,
        }
    }

    /// A time in microseconds since 1970.
    pub(super) fn time(&self, column: &str, row: usize) -> Option<i64> {
        self.0.column(column).ok()?.to_physical_repr().i64().ok()?.get(row)
    }

    /// What the rows of all tables have.
    fn entry(&self, kind: Kind, row: usize) -> Entry {
        Entry {
            kind,
            time: self.time("occurred_at", row),
            turn: self.whole("turn", row),
            agent: self.text("agent", row),
            is_subagent: self.flag("is_subagent", row).unwrap_or(false),
            source_path: self.text("source_path", row),
            line: self.whole("line", row),
            ..Entry::default()
        }
    }
}

/// The responses, and the totals that the log contains only in sum.
pub(super) fn turns(rows: &Rows) -> Vec<Entry> {
    let entry = |row| {
        let is_turn = rows.text("grain", row).as_deref() == Some("turn");
        Entry {
            name: rows.text("model", row),
            detail: rows.text("effort", row),
            status: rows.text("stop_reason", row),
            duration_ms: rows.whole("duration_ms", row),
            context_tokens: rows.whole("context_tokens", row),
            output_tokens: rows.whole("output_tokens", row),
            total_tokens: rows.whole("total_tokens", row),
            cost_usd: rows.float("cost_usd", row),
            ..rows.entry(if is_turn { Kind::Turn } else { Kind::Total }, row)
        }
    };
    (0..rows.count()).map(entry).collect()
}

/// The calls.
pub(super) fn calls(rows: &Rows) -> Vec<Entry> {
    let entry = |row| {
        let (category, kind) = (rows.text("category", row), rows.text("command_kind", row));
        Entry {
            name: rows.text("tool", row),
            detail: rows.text("target", row),
            purpose: Some(Purpose::of(category.as_deref(), kind.as_deref())),
            command_kind: kind,
            status: rows.text("status", row),
            exit_code: rows.whole("exit_code", row),
            duration_ms: rows.whole("duration_ms", row),
            result_bytes: rows.whole("result_bytes", row),
            call_id: rows.text("call_id", row),
            ..rows.entry(Kind::Call, row)
        }
    };
    (0..rows.count()).map(entry).collect()
}

/// The changes of files. Whether a subagent made one follows from its call.
pub(super) fn changes(rows: &Rows, calls: &[Entry]) -> Vec<Entry> {
    // Call ids repeat where an export masks them: those of one response are the same call.
    let by_id: HashMap<(Option<i64>, &str), &Entry> =
        calls.iter().filter_map(|call| Some(((call.turn, call.call_id.as_deref()?), call))).collect();
    let entry = |row| {
        let call_id = rows.text("call_id", row);
        let change = rows.entry(Kind::Edit, row);
        let call = call_id.as_deref().and_then(|id| by_id.get(&(change.turn, id)));
        Entry {
            name: rows.text("path", row),
            status: rows.text("operation", row),
            purpose: Some(Purpose::Edit),
            lines_added: rows.whole("lines_added", row),
            lines_removed: rows.whole("lines_removed", row),
            agent: call.and_then(|call| call.agent.clone()),
            is_subagent: call.is_some_and(|call| call.is_subagent),
            call_id,
            ..change
        }
    };
    (0..rows.count()).map(entry).collect()
}

/// The other events.
pub(super) fn events(rows: &Rows) -> Vec<Entry> {
    let entry = |row| {
        let kind = match rows.text("kind", row).as_deref() {
            Some("compaction") => Kind::Compaction,
            Some("permission_denial") => Kind::Denial,
            Some("retry") => Kind::Retry,
            Some("subagent") => Kind::Subagent,
            Some("validation") => Kind::Validation,
            Some("abort") => Kind::Abort,
            _ => Kind::Error,
        };
        Entry {
            name: rows.text("code", row),
            detail: rows.text("message", row),
            tokens_before: rows.whole("tokens_before", row),
            tokens_after: rows.whole("tokens_after", row),
            call_id: rows.text("call_id", row),
            ..rows.entry(kind, row)
        }
    };
    (0..rows.count()).map(entry).collect()
}

/// The sessions that this one started, at their start.
pub(super) fn children(rows: &Rows) -> Vec<Entry> {
    let entry = |row| Entry { kind: Kind::Child, time: rows.time("started_at", row), ..session(rows, row) };
    (0..rows.count()).map(entry).collect()
}

/// A session as an entry.
pub(super) fn session(rows: &Rows, row: usize) -> Entry {
    Entry {
        kind: Kind::Session,
        time: rows.time("started_at", row),
        agent: rows.text("agent", row),
        name: rows.text("session_id", row),
        detail: rows.text("model", row),
        status: rows.text("status", row),
        duration_ms: rows.whole("duration_ms", row),
        output_tokens: rows.whole("output_tokens", row),
        total_tokens: rows.whole("total_tokens", row),
        cost_usd: rows.float("cost_usd", row),
        lines_added: rows.whole("lines_added", row),
        lines_removed: rows.whole("lines_removed", row),
        source_path: rows.text("source_path", row),
        ..Entry::default()
    }
}
