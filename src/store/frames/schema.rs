//! The schema of the tables.

use polars::prelude::*;

use super::column::Field;
use super::columns::{
    commit_files, commits, events, file_changes, limits, pull_requests, rejects, sessions, sources, tool_calls, turns,
    unknown_records, verdicts,
};

/// The names of the tables, in their order.
pub const TABLES: [&str; 13] = [
    sessions::TABLE,
    turns::TABLE,
    tool_calls::TABLE,
    file_changes::TABLE,
    events::TABLE,
    limits::TABLE,
    verdicts::TABLE,
    sources::TABLE,
    rejects::TABLE,
    unknown_records::TABLE,
    commits::TABLE,
    commit_files::TABLE,
    pull_requests::TABLE,
];

/// The tables with rows of logs, which each part of an archive has.
pub const TABLES_OF_LOGS: [&str; 10] = [
    sessions::TABLE,
    turns::TABLE,
    tool_calls::TABLE,
    file_changes::TABLE,
    events::TABLE,
    limits::TABLE,
    verdicts::TABLE,
    sources::TABLE,
    rejects::TABLE,
    unknown_records::TABLE,
];

/// The tables with rows of files, which are not rows of sessions.
pub const TABLES_OF_FILES: [&str; 3] = [sources::TABLE, rejects::TABLE, unknown_records::TABLE];

/// The tables with rows of repositories.
pub const TABLES_OF_REPOSITORIES: [&str; 3] = [commits::TABLE, commit_files::TABLE, pull_requests::TABLE];

/// The schema of a table.
pub fn schema_of(table: &str) -> Schema {
    let columns = schema().into_iter().filter(|column| column.table == table);
    columns.map(|column| (column.column.into(), column.dtype)).collect()
}

/// A column, as `agentlogs schema` describes it.
#[derive(Debug, Clone, PartialEq)]
pub struct Described {
    /// The table.
    pub table: &'static str,
    /// The column.
    pub column: &'static str,
    /// Its type in polars.
    pub dtype: DataType,
    /// What it means.
    pub about: &'static str,
}

impl Described {
    /// The name of the type in SQL.
    pub fn type_name(&self) -> &'static str {
        match self.dtype {
            DataType::Int64 => "BIGINT",
            DataType::Float64 => "DOUBLE",
            DataType::Boolean => "BOOLEAN",
            DataType::Date => "DATE",
            DataType::Datetime(..) => "TIMESTAMP (UTC, microseconds)",
            DataType::List(_) => "VARCHAR[]",
            _ => "VARCHAR",
        }
    }
}

/// Every column of every table, in order.
pub fn schema() -> Vec<Described> {
    fn of<R>(table: &'static str, fields: Vec<Field<R>>) -> impl Iterator<Item = Described> {
        fields.into_iter().map(move |field| Described {
            table,
            column: field.name,
            dtype: field.get.dtype(),
            about: field.about,
        })
    }
    of(sessions::TABLE, sessions::fields())
        .chain(of(turns::TABLE, turns::fields()))
        .chain(of(tool_calls::TABLE, tool_calls::fields()))
        .chain(of(file_changes::TABLE, file_changes::fields()))
        .chain(of(events::TABLE, events::fields()))
        .chain(of(limits::TABLE, limits::fields()))
        .chain(of(verdicts::TABLE, verdicts::fields()))
        .chain(of(sources::TABLE, sources::fields()))
        .chain(of(rejects::TABLE, rejects::fields()))
        .chain(of(unknown_records::TABLE, unknown_records::fields()))
        .chain(of(commits::TABLE, commits::fields()))
        .chain(of(commit_files::TABLE, commit_files::fields()))
        .chain(of(pull_requests::TABLE, pull_requests::fields()))
        .collect()
}

/// Hash of the names and types of all columns, in hexadecimal: it differs between versions of the schema.
pub fn schema_hash() -> String {
    let columns = schema().into_iter().map(|column| format!("{} {} {:?}", column.table, column.column, column.dtype));
    let columns = columns.collect::<Vec<_>>().join("\n");
    format!("{:x}", twox_hash::XxHash3_64::oneshot(columns.as_bytes()))
}
