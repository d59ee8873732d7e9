//! A SQLite file to lines: the rows of the tables that formats know, one JSON object a line, always in the same order.
//!
//! A database is a container, as gzip is one: adapters see its rows and know nothing of SQLite. An agent that runs keeps
//! its last rows in the `-wal` beside its database, so that is read as well. Nothing is ever written beside the user's
//! file, and the agent can write at any time: what SQLite could only read by writing is copied to a temporary folder.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rusqlite::config::DbConfig;
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, OpenFlags, Statement};

use crate::input::open;
use crate::json;
use crate::model::sqlite_schema::Table;

/// How each SQLite file begins.
const MAGIC: &[u8] = b"SQLite format 3\0";

/// More rows than this are no log.
const MAX_TEXT: usize = 8 << 30;

/// What a database holds of the tables that were asked for.
#[derive(Debug, Default)]
pub struct Rows {
    /// One JSON object a line: `{"table":…}` and the columns. A row is followed by the rows below it.
    pub text: Vec<u8>,
    /// Whether it has such tables at all.
    pub is_known: bool,
    /// What could not be read.
    pub lost: Option<String>,
    /// Whether the database was written to while it was read, so that another attempt may return more rows.
    pub has_changed: bool,
}

/// Whether bytes are those of a SQLite file.
pub fn is_database(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// What the name of a database's write-ahead log ends with.
pub const WAL: &str = "-wal";

/// The write-ahead log of a database.
pub fn wal(path: &Path) -> PathBuf {
    beside(path, WAL)
}

/// What the name of a database's rollback journal ends with.
pub const JOURNAL: &str = "-journal";

/// Whether a file belongs to a database beside it: SQLite names its journals after it.
pub fn is_companion(path: &Path) -> bool {
    let name = path.file_name().and_then(|it| it.to_str()).unwrap_or_default();
    database_of(name).is_some_and(|it| head(&path.with_file_name(it)).is_some_and(|it| is_database(&it)))
}

/// The name of the database that a file of this name would belong to.
pub fn database_of(name: &str) -> Option<&str> {
    [WAL, "-shm", JOURNAL].iter().find_map(|it| name.strip_suffix(it)).filter(|it| !it.is_empty() && !it.ends_with('/'))
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
/// When nothing of it can be read. What is damaged only in part is no error: see [`Rows::lost`].
pub fn read(path: Option<&Path>, bytes: &[u8], tables: &'static [Table]) -> Result<Rows, String> {
    let Some(path) = path else { return read_bytes(bytes, &[], tables) };
    let before = stamp(path);
    let mut rows = read_file(path, tables)?;
    if stamp(path) != before {
        rows.has_changed = true;
        note(&mut rows.lost, "it was written to while it was read");
    }
    Ok(rows)
}

/// Reads a database that is not a file of its own, with its `journals`: the ends of their names, and their bytes.
///
/// # Errors
/// When no row can be read. A database that is damaged only in part is no error: see [`Rows::lost`].
pub fn read_bytes(bytes: &[u8], journals: &[(&str, &[u8])], tables: &'static [Table]) -> Result<Rows, String> {
    let folder = Folder::new()?;
    let copy = folder.0.path().join("database");
    let write = |ending: &str, bytes: &[u8]| fs::write(beside(&copy, ending), bytes).map_err(|it| it.to_string());
    write("", bytes)?;
    if journals.iter().all(|(_, bytes)| bytes.is_empty()) {
        return read_as(&copy, "immutable=1", tables).map_err(|it| it.to_string());
    }
    for (ending, bytes) in journals {
        write(ending, bytes)?;
    }
    read_as(&copy, "mode=rw", tables).or_else(|error| {
        write("", bytes)?;
        let mut rows = read_as(&copy, "immutable=1", tables).map_err(|it| it.to_string())?;
        note(&mut rows.lost, &format!("its journal could not be read: {error}"));
        Ok(rows)
    })
}

/// What tells that a database was written to.
fn stamp(path: &Path) -> [Option<(u64, Option<SystemTime>)>; 3] {
    ["", WAL, JOURNAL].map(|it| {
        let metadata = beside(path, it).metadata().ok()?;
        Some((metadata.len(), metadata.modified().ok()))
    })
}

fn read_file(path: &Path, tables: &'static [Table]) -> Result<Rows, String> {
    let holds_rows = |ending: &str| beside(path, ending).metadata().is_ok_and(|it| it.len() > 0);
    let (has_wal, has_journal) = (holds_rows(WAL), holds_rows(JOURNAL));
    let is_odd = |ending: &&str| beside(path, ending).metadata().is_ok_and(|it| !it.is_file());
    if [WAL, "-shm", JOURNAL].iter().any(is_odd) {
        // One would wait for whoever writes to a pipe.
        let mut rows = read_as(path, "immutable=1", tables).map_err(|it| it.to_string())?;
        note(&mut rows.lost, "its journal is no regular file");
        return Ok(rows);
    }
    if !has_wal && !has_journal {
        // Nobody writes, or only what is not committed: without locks SQLite makes no file of its own.
        return read_as(path, "immutable=1", tables).map_err(|it| it.to_string());
    }
    // With a `-shm` that it may only read, SQLite finds the rows of the `-wal` as the agent that runs sees them, and writes
    // nothing. Without one it would have to make one.
    let is_shared = has_wal && !has_journal && beside(path, "-shm").exists();
    if is_shared && let Ok(rows) = read_as(path, "mode=ro&readonly_shm=1", tables) {
        return Ok(rows);
    }
    match read_copy(path, tables) {
        Ok(rows) => Ok(rows),
        Err(error) => {
            let mut rows = read_as(path, "immutable=1", tables).map_err(|it| it.to_string())?;
            note(&mut rows.lost, &format!("its journal could not be read: {error}"));
            Ok(rows)
        }
    }
}

/// Lets SQLite recover a copy.
fn read_copy(path: &Path, tables: &'static [Table]) -> Result<Rows, String> {
    let folder = Folder::new()?;
    let copy = folder.0.path().join("database");
    for ending in ["", WAL, JOURNAL] {
        match fs::copy(beside(path, ending), beside(&copy, ending)) {
            Err(error) if ending.is_empty() || error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error.to_string());
            }
            _ => {}
        }
    }
    read_as(&copy, "mode=rw", tables).map_err(|it| it.to_string())
}

/// A folder of our own, which is gone afterwards.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Result<Self, String> {
        tempfile::Builder::new().prefix("agentlogs-").tempdir().map(Self).map_err(|it| it.to_string())
    }
}

fn note(message: &mut Option<String>, more: &str) {
    let message = message.get_or_insert_default();
    if !message.is_empty() {
        message.push_str("; ");
    }
    message.push_str(more);
}

/// A path as SQLite's URIs have it.
fn uri(path: &Path, how: &str) -> String {
    let mut uri = String::from("file:");
    let bytes = path.as_os_str().as_encoded_bytes();
    if cfg!(windows) {
        uri.push_str("///");
    }
    for byte in bytes {
        match byte {
            b'\\' if cfg!(windows) => uri.push('/'),
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' => uri.push(char::from(*byte)),
            b':' if cfg!(windows) => uri.push(':'),
            _ => {
                let _ = write!(uri, "%{byte:02X}");
            }
        }
    }
    uri + "?" + how
}

fn read_as(path: &Path, how: &str, tables: &'static [Table]) -> rusqlite::Result<Rows> {
    let flags = OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | if how == "mode=rw" { OpenFlags::SQLITE_OPEN_READ_WRITE } else { OpenFlags::SQLITE_OPEN_READ_ONLY };
    let connection = Connection::open_with_flags(uri(path, how), flags)?;
    // A database from anywhere: its schema may do nothing, and closing it writes nothing.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    connection.execute_batch("PRAGMA cell_size_check = ON; BEGIN")?;
    let columns = columns(&connection)?;
    let mut reader = Reader::default();
    for table in tables {
        if is_there(table, &columns) {
            reader.rows.is_known = true;
            reader.table(&connection, table, None, &columns);
        }
    }
    for ((table, error), count) in std::mem::take(&mut reader.errors) {
        let times = if count > 1 { format!(" ({count} times)") } else { String::new() };
        note(&mut reader.rows.lost, &format!("{table}: {error}{times}"));
    }
    Ok(reader.rows)
}

/// The columns of each table. Views and virtual tables are no tables.
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

/// The tables below that the version has.
fn below(table: &'static Table, columns: &Columns) -> impl Iterator<Item = &'static (&'static str, Table)> {
    table.below.iter().filter(|(link, it)| is_there(it, columns) && has(it, link, columns))
}

fn has(table: &Table, column: &str, columns: &Columns) -> bool {
    columns.get(table.name).is_some_and(|it| it.iter().any(|it| it.eq_ignore_ascii_case(column)))
}

fn is_there(table: &Table, columns: &Columns) -> bool {
    std::iter::once(&table.key).chain(table.needs).all(|it| has(table, it, columns))
        && table.below.iter().all(|(link, it)| it.is_optional || has(it, link, columns) && is_there(it, columns))
}

/// A table while its rows are read.
struct Prepared<'a> {
    table: &'static Table,
    columns: Vec<&'static str>,
    statement: Statement<'a>,
    below: Vec<Prepared<'a>>,
}

/// The rows so far, and what could not be read.
#[derive(Default)]
struct Reader {
    rows: Rows,
    errors: BTreeMap<(&'static str, String), usize>,
}

impl Reader {
    /// Reads a table with what is below it, then what is below rows that are gone. `parent` is the table that it is below
    /// of, and the column that names it.
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

    /// Adds the rows that name `key`, each with those below it.
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
                Ok(Some(_)) if self.rows.text.len() > MAX_TEXT => {
                    *self.errors.entry((table.name, "more than 8 GiB".to_owned())).or_default() += 1;
                    return;
                }
                Ok(Some(row)) => row,
                // What stands behind a damaged page is lost.
                Err(error) => return self.lose(table, &error),
            };
            if is_inside && !is_first {
                self.rows.text.push(b',');
            }
            is_first = false;
            begin(&mut self.rows.text, table, columns, row);
            let key = row.get::<_, Value>(0).unwrap_or(Value::Null);
            for it in below.iter_mut().filter(|it| it.table.is_inside) {
                self.rows.text.extend_from_slice(format!(",\"{}\":[", it.table.name).as_bytes());
                self.add(it, Some(&key));
                self.rows.text.push(b']');
            }
            self.rows.text.extend_from_slice(if is_inside { b"}" } else { b"}\n" });
            below.iter_mut().filter(|it| !it.table.is_inside).for_each(|it| self.add(it, Some(&key)));
        }
    }
}

fn prepare<'a>(
    connection: &'a Connection,
    table: &'static Table,
    filter: &str,
    known: &Columns,
) -> rusqlite::Result<Prepared<'a>> {
    let has = |column: &&str| known[table.name].iter().any(|it| it.eq_ignore_ascii_case(column));
    let columns: Vec<&str> = std::iter::once(table.key).chain(table.columns.iter().copied().filter(has)).collect();
    let list = columns.iter().map(|it| format!(r#"it."{it}""#)).collect::<Vec<_>>().join(", ");
    let sql = format!(r#"SELECT {list} FROM "{}" AS it{filter} ORDER BY {}"#, table.name, table.order);
    let below =
        below(table, known).map(|(link, it)| prepare(connection, it, &format!(r#" WHERE it."{link}" = ?1"#), known));
    Ok(Prepared { table, columns, statement: connection.prepare(&sql)?, below: below.collect::<Result<_, _>>()? })
}

/// Writes one row, up to its end.
fn begin(text: &mut Vec<u8>, table: &Table, columns: &[&str], row: &rusqlite::Row<'_>) {
    text.extend_from_slice(b"{\"table\":\"");
    text.extend_from_slice(table.name.as_bytes());
    text.push(b'"');
    for (index, column) in columns.iter().enumerate() {
        text.extend_from_slice(b",\"");
        text.extend_from_slice(column.as_bytes());
        text.extend_from_slice(b"\":");
        match row.get_ref(index) {
            Ok(ValueRef::Integer(number)) => text.extend_from_slice(number.to_string().as_bytes()),
            Ok(ValueRef::Real(number)) if number.is_finite() => text.extend_from_slice(number.to_string().as_bytes()),
            Ok(ValueRef::Text(value)) if table.json.contains(column) && is_json(value) => {
                // White space between values may be a newline; inside of strings it is written as an escape.
                text.extend(value.trim_ascii().iter().map(|it| if it.is_ascii_whitespace() { b' ' } else { *it }));
            }
            Ok(ValueRef::Text(value)) => {
                let value = String::from_utf8_lossy(value);
                text.extend_from_slice(serde_json::Value::from(value).to_string().as_bytes());
            }
            _ => text.extend_from_slice(b"null"),
        }
    }
}

fn is_json(value: &[u8]) -> bool {
    let value = value.trim_ascii();
    matches!(value.first(), Some(b'{' | b'[')) && json::value_end(value, 0) == Ok(value.len())
}
