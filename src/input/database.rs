//! A SQLite file to lines: the rows of the tables that formats know, one JSON object a line, always in the same order.
//!
//! A database is a container, as gzip is one: adapters see its rows and know nothing of SQLite. A running agent keeps its last
//! rows in the `-wal` file beside its database, so that is read as well. Nothing is ever written beside the user's file, and the
//! agent can write at any time: a database that SQLite can only read by writing to it is copied to a temporary directory.

mod json;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rusqlite::config::DbConfig;
use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags, Statement};

use self::json::{begin_row, write_value};
use crate::input::open::{self, Budget, Limit};
use crate::model::sqlite_schema::Table;

/// The first bytes of a SQLite file.
const MAGIC: &[u8] = b"SQLite format 3\0";

/// At most so many rows of a table are in its sample.
const SAMPLE: i64 = 1000;

/// The first rows of a table.
#[derive(Debug)]
pub struct TableSample {
    /// Its name.
    pub name: String,
    /// The number of all its rows.
    pub rows: i64,
    /// One JSON object a line, with all columns. A text that is JSON is a part of the object.
    pub text: Vec<u8>,
}

/// The rows of the tables that were asked for.
#[derive(Debug, Default)]
pub struct Rows {
    /// One JSON object a line: `{"table":…}` and the columns. The rows below a row follow it.
    pub text: Vec<u8>,
    /// Whether the database has such tables at all.
    pub is_known: bool,
    /// The names of all tables of a database that has no such table.
    pub other_tables: Vec<String>,
    /// What could not be read.
    pub lost: Option<String>,
    /// Whether the database was written to while it was read, so that another attempt may return more rows.
    pub has_changed: bool,
    /// Whether the rows are more than the budget. They multiply if several rows have the same key.
    is_over_budget: bool,
}

/// Whether a content is a SQLite file.
pub fn is_database(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// The end of the name of a database's write-ahead log.
pub const WAL: &str = "-wal";

/// The path of a database's write-ahead log.
pub fn wal(path: &Path) -> PathBuf {
    beside(path, WAL)
}

/// The end of the name of a database's rollback journal.
pub const JOURNAL: &str = "-journal";

/// Whether a file belongs to a database beside it: SQLite names its journals after it.
pub fn is_companion(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let head = database_of(name).and_then(|database| head(&path.with_file_name(database)));
    head.is_some_and(|head| is_database(&head))
}

/// The name of the database that a file of this name would belong to.
pub fn database_of(name: &str) -> Option<&str> {
    let database = [WAL, "-shm", JOURNAL].iter().find_map(|ending| name.strip_suffix(ending));
    database.filter(|database| !database.is_empty() && !database.ends_with('/'))
}

fn head(path: &Path) -> Option<[u8; 16]> {
    let mut head = [0; 16];
    std::io::Read::read_exact(&mut open::open_file(path).ok()?, &mut head).ok()?;
    Some(head)
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    PathBuf::from(name)
}

/// Reads the database at `path`, or one whose `bytes` came from a pipe or were compressed.
///
/// # Errors
/// When no row can be read, or they are more than the budget. A database that is damaged only in part is not an error: see
/// [`Rows::lost`].
pub fn read(path: Option<&Path>, bytes: &[u8], tables: &'static [Table], budget: &Budget) -> Result<Rows, String> {
    let Some(path) = path else { return read_bytes(bytes, &[], tables, budget) };
    let before = stamp(path);
    let mut rows = within(budget, read_file(path, &Request { tables, budget })?)?;
    if stamp(path) != before {
        rows.has_changed = true;
        note(&mut rows.lost, "it was written to while it was read");
    }
    Ok(rows)
}

/// Reads a database that is not a file of its own, with its `journals`: the ends of their names, and their bytes.
///
/// # Errors
/// As [`read`].
pub fn read_bytes(
    bytes: &[u8],
    journals: &[(&str, &[u8])],
    tables: &'static [Table],
    budget: &Budget,
) -> Result<Rows, String> {
    within(budget, read_copied(bytes, journals, &Request { tables, budget })?)
}

/// The tables to read, and how much.
struct Request<'a> {
    tables: &'static [Table],
    budget: &'a Budget,
}

/// The rows, unless they are more than the budget.
fn within(budget: &Budget, rows: Rows) -> Result<Rows, String> {
    if rows.is_over_budget { Err(budget.exceeded("contains").to_string()) } else { Ok(rows) }
}

fn read_copied(bytes: &[u8], journals: &[(&str, &[u8])], request: &Request<'_>) -> Result<Rows, String> {
    let directory = temporary_directory()?;
    let copy = directory.path().join("database");
    let write = |ending: &str, bytes: &[u8]| fs::write(beside(&copy, ending), bytes).map_err(|error| error.to_string());
    write("", bytes)?;
    if journals.iter().all(|(_, bytes)| bytes.is_empty()) {
        return read_as(&copy, "immutable=1", request).map_err(|error| error.to_string());
    }
    for (ending, bytes) in journals {
        write(ending, bytes)?;
    }
    read_as(&copy, "mode=rw", request).or_else(|error| {
        write("", bytes)?;
        let mut rows = read_as(&copy, "immutable=1", request).map_err(|error| error.to_string())?;
        note(&mut rows.lost, &format!("its journal could not be read: {error}"));
        Ok(rows)
    })
}

/// The first rows of each table of a database at `path`, or of one whose `bytes` are known only. It is copied first.
///
/// # Errors
/// When it cannot be read.
pub fn sample(path: Option<&Path>, bytes: &[u8]) -> Result<Vec<TableSample>, String> {
    let directory = temporary_directory()?;
    let copy = directory.path().join("database");
    fs::write(&copy, bytes).map_err(|error| error.to_string())?;
    for ending in [WAL, JOURNAL] {
        if let Some(journal) = path.map(|path| beside(path, ending)).filter(|journal| journal.is_file()) {
            fs::copy(journal, beside(&copy, ending)).map_err(|error| error.to_string())?;
        }
    }
    let budget = Budget::new(Limit::Usual, bytes.len() as u64);
    let samples = sample_copy(&copy, &budget).map_err(|error| error.to_string())?;
    samples.ok_or_else(|| budget.exceeded("contains").to_string())
}

/// `None` if the samples are more than the budget.
fn sample_copy(path: &Path, budget: &Budget) -> rusqlite::Result<Option<Vec<TableSample>>> {
    let connection = connect(path, "mode=rw")?;
    let mut samples = Vec::new();
    for (name, columns) in columns(&connection)? {
        let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
        let table = quoted(&name);
        let rows = connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0))?;
        let list = columns.iter().map(|column| quoted(column)).collect::<Vec<_>>().join(", ");
        let mut statement = connection.prepare(&format!("SELECT {list} FROM {table} LIMIT {SAMPLE}"))?;
        let mut found = statement.query([])?;
        let (mut text, mut taken) = (Vec::new(), 0);
        while let Some(row) = found.next()? {
            text.push(b'{');
            for (index, column) in columns.iter().enumerate() {
                if index > 0 {
                    text.push(b',');
                }
                text.extend_from_slice(serde_json::Value::from(column.as_str()).to_string().as_bytes());
                text.push(b':');
                write_value(&mut text, row.get_ref(index)?, true, budget);
            }
            text.extend_from_slice(b"}\n");
            if !budget.take(text.len().saturating_sub(taken) as u64) {
                return Ok(None);
            }
            taken = text.len();
        }
        samples.push(TableSample { name, rows, text });
    }
    Ok(Some(samples))
}

/// Sizes and times of a database and its journals, which change when it is written to.
fn stamp(path: &Path) -> [Option<(u64, Option<SystemTime>)>; 3] {
    ["", WAL, JOURNAL].map(|ending| {
        let metadata = beside(path, ending).metadata().ok()?;
        Some((metadata.len(), metadata.modified().ok()))
    })
}

fn read_file(path: &Path, request: &Request<'_>) -> Result<Rows, String> {
    let has_bytes = |ending: &str| beside(path, ending).metadata().is_ok_and(|metadata| metadata.len() > 0);
    let (has_wal, has_journal) = (has_bytes(WAL), has_bytes(JOURNAL));
    let is_other = |ending: &&str| beside(path, ending).metadata().is_ok_and(|metadata| !metadata.is_file());
    if [WAL, "-shm", JOURNAL].iter().any(is_other) {
        // SQLite would wait for the writer of a pipe.
        let mut rows = read_as(path, "immutable=1", request).map_err(|error| error.to_string())?;
        note(&mut rows.lost, "its journal is not a regular file");
        return Ok(rows);
    }
    if !has_wal && !has_journal {
        // There is no writer, or it has committed everything: SQLite reads without locks, and creates no file.
        return read_as(path, "immutable=1", request).map_err(|error| error.to_string());
    }
    // With an existing `-shm` file, which it may only read, SQLite finds the rows of the `-wal` file as the running agent sees
    // them, and writes nothing. Without one it would have to create one.
    let is_shared = has_wal && !has_journal && beside(path, "-shm").exists();
    if is_shared && let Ok(rows) = read_as(path, "mode=ro&readonly_shm=1", request) {
        return Ok(rows);
    }
    match read_copy(path, request) {
        Ok(rows) => Ok(rows),
        Err(error) => {
            let mut rows = read_as(path, "immutable=1", request).map_err(|error| error.to_string())?;
            note(&mut rows.lost, &format!("its journal could not be read: {error}"));
            Ok(rows)
        }
    }
}

/// Copies the database with its journals, and lets SQLite recover the copy.
fn read_copy(path: &Path, request: &Request<'_>) -> Result<Rows, String> {
    let directory = temporary_directory()?;
    let copy = directory.path().join("database");
    for ending in ["", WAL, JOURNAL] {
        match fs::copy(beside(path, ending), beside(&copy, ending)) {
            Err(error) if ending.is_empty() || error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error.to_string());
            }
            _ => {}
        }
    }
    read_as(&copy, "mode=rw", request).map_err(|error| error.to_string())
}

/// A directory that is removed when it is dropped.
fn temporary_directory() -> Result<tempfile::TempDir, String> {
    tempfile::Builder::new().prefix("agentlogs-").tempdir().map_err(|error| error.to_string())
}

fn note(message: &mut Option<String>, more: &str) {
    let message = message.get_or_insert_default();
    if !message.is_empty() {
        message.push_str("; ");
    }
    message.push_str(more);
}

/// A path as a URI of SQLite, with the query `how`. SQLite gives the decoded path to the system as it is, so that all forms of Windows
/// work (`C:\…`, `\\server\…`, `\\?\…`).
fn uri(path: &Path, how: &str) -> String {
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' => uri.push(char::from(*byte)),
            _ => {
                let _ = write!(uri, "%{byte:02X}");
            }
        }
    }
    uri + "?" + how
}

/// Opens a database, which is not trusted.
fn connect(path: &Path, how: &str) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | if how == "mode=rw" { OpenFlags::SQLITE_OPEN_READ_WRITE } else { OpenFlags::SQLITE_OPEN_READ_ONLY };
    let connection = Connection::open_with_flags(uri(path, how), flags)?;
    // Its schema may run nothing, and closing it writes nothing.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    connection.execute_batch("PRAGMA cell_size_check = ON; BEGIN")?;
    Ok(connection)
}

fn read_as(path: &Path, how: &str, request: &Request<'_>) -> rusqlite::Result<Rows> {
    let connection = connect(path, how)?;
    let columns = columns(&connection)?;
    let mut reader = Reader { rows: Rows::default(), errors: BTreeMap::new(), budget: request.budget };
    for table in request.tables {
        if is_there(table, &columns) {
            reader.rows.is_known = true;
            reader.table(&connection, table, None, &columns);
        }
    }
    if !reader.rows.is_known {
        reader.rows.other_tables = columns.into_keys().collect();
    }
    for ((table, error), count) in std::mem::take(&mut reader.errors) {
        let times = if count > 1 { format!(" ({count} times)") } else { String::new() };
        note(&mut reader.rows.lost, &format!("{table}: {error}{times}"));
    }
    Ok(reader.rows)
}

/// The columns of each table, without views and virtual tables.
type Columns = BTreeMap<String, Vec<String>>;

fn columns(connection: &Connection) -> rusqlite::Result<Columns> {
    let mut columns = Columns::new();
    let mut statement = connection.prepare(
        "SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c
         WHERE m.type = 'table' AND m.sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY 1, c.cid",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        columns.entry(row.get(0)?).or_default().push(row.get(1)?);
    }
    Ok(columns)
}

/// The tables below a table that this version of the runtime has.
fn below(table: &'static Table, columns: &Columns) -> impl Iterator<Item = &'static (&'static str, Table)> {
    table.below.iter().filter(|(link, below)| is_there(below, columns) && has(below, link, columns))
}

fn has(table: &Table, column: &str, columns: &Columns) -> bool {
    columns.get(table.name).is_some_and(|names| names.iter().any(|name| name.eq_ignore_ascii_case(column)))
}

fn is_there(table: &Table, columns: &Columns) -> bool {
    let is_complete = |below: &Table, link| has(below, link, columns) && is_there(below, columns);
    std::iter::once(&table.key).chain(table.needs).all(|column| has(table, column, columns))
        && table.below.iter().all(|(link, below)| below.is_optional || is_complete(below, link))
}

/// A table while its rows are read.
struct Prepared<'a> {
    table: &'static Table,
    columns: Vec<&'static str>,
    statement: Statement<'a>,
    below: Vec<Prepared<'a>>,
}

/// The rows so far, and what could not be read.
struct Reader<'b> {
    rows: Rows,
    errors: BTreeMap<(&'static str, String), usize>,
    budget: &'b Budget,
}

impl Reader<'_> {
    /// Reads the rows of a table, each with the rows below it, then the rows below rows that do not exist. `parent` is the table
    /// above, and the column that contains its key.
    fn table(
        &mut self,
        connection: &Connection,
        table: &'static Table,
        parent: Option<(&Table, &str)>,
        columns: &Columns,
    ) {
        let filter = parent.map_or(String::new(), |(parent, link)| {
            let (name, key) = (parent.name, parent.key);
            format!(r#" WHERE NOT EXISTS (SELECT 1 FROM "{name}" AS parent WHERE parent."{key}" = it."{link}")"#)
        });
        match prepare(connection, table, &filter, columns) {
            Ok(mut prepared) => self.add(&mut prepared, None),
            Err(error) => self.lose(table, &error),
        }
        for (link, below) in below(table, columns) {
            self.table(connection, below, Some((table, link)), columns);
        }
    }

    fn lose(&mut self, table: &'static Table, error: &rusqlite::Error) {
        *self.errors.entry((table.name, error.to_string())).or_default() += 1;
    }

    /// Adds the rows that refer to `key`, each with the rows below it.
    fn add(&mut self, prepared: &mut Prepared<'_>, key: Option<&Value>) {
        let Prepared { table, columns, statement, below } = prepared;
        let is_inside = table.is_inside && key.is_some();
        let mut rows = match statement.query(rusqlite::params_from_iter(key)) {
            Ok(rows) => rows,
            Err(error) => return self.lose(table, &error),
        };
        let mut is_first = true;
        loop {
            let row = match rows.next() {
                Ok(None) => return,
                Ok(Some(_)) if self.rows.is_over_budget => return,
                Ok(Some(row)) => row,
                // The rows after a damaged page are lost.
                Err(error) => return self.lose(table, &error),
            };
            if is_inside && !is_first {
                self.rows.text.push(b',');
            }
            is_first = false;
            let before = self.rows.text.len();
            begin_row(&mut self.rows.text, table, columns, row, self.budget);
            if !self.budget.take((self.rows.text.len() - before) as u64) {
                self.rows.is_over_budget = true;
                self.rows.text = Vec::new();
                return;
            }
            let key = row.get::<_, Value>(0).unwrap_or(Value::Null);
            for inner in below.iter_mut().filter(|below| below.table.is_inside) {
                self.rows.text.extend_from_slice(format!(",\"{}\":[", inner.table.name).as_bytes());
                self.add(inner, Some(&key));
                self.rows.text.push(b']');
            }
            self.rows.text.extend_from_slice(if is_inside { b"}" } else { b"}\n" });
            below.iter_mut().filter(|below| !below.table.is_inside).for_each(|outer| self.add(outer, Some(&key)));
        }
    }
}

fn prepare<'a>(
    connection: &'a Connection,
    table: &'static Table,
    filter: &str,
    known: &Columns,
) -> rusqlite::Result<Prepared<'a>> {
    let is_there = |column: &&str| has(table, column, known);
    let columns: Vec<&str> = std::iter::once(table.key).chain(table.columns.iter().copied().filter(is_there)).collect();
    let list = columns.iter().map(|column| format!(r#"it."{column}""#)).collect::<Vec<_>>().join(", ");
    let sql = format!(r#"SELECT {list} FROM "{}" AS it{filter} ORDER BY {}"#, table.name, table.order);
    let prepare_below = |(link, below): &'static (&'static str, Table)| {
        prepare(connection, below, &format!(r#" WHERE it."{link}" = ?1"#), known)
    };
    let below = below(table, known).map(prepare_below).collect::<Result<_, _>>()?;
    Ok(Prepared { table, columns, statement: connection.prepare(&sql)?, below })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SQLite decodes these to the path itself, in each form that Windows has.
    #[test]
    fn a_uri_contains_the_path_as_it_is() {
        for (path, expected) in [
            ("/logs/a b%?#.db", "file:/logs/a%20b%25%3F%23.db?immutable=1"),
            (r"C:\logs\a.db", "file:C%3A%5Clogs%5Ca.db?immutable=1"),
            (r"\\?\C:\logs\a.db", "file:%5C%5C%3F%5CC%3A%5Clogs%5Ca.db?immutable=1"),
            (r"\\server\logs\a.db", "file:%5C%5Cserver%5Clogs%5Ca.db?immutable=1"),
        ] {
            assert_eq!(uri(Path::new(path), "immutable=1"), expected);
        }
    }
}
