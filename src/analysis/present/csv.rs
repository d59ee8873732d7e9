//! CSV by RFC 4180, with a header.

use std::io::{self, Write};

use polars::prelude::DataFrame;

use super::value::{Value, names, rows};

/// Writes CSV by RFC 4180, with a header.
///
/// # Errors
/// When `out` cannot be written.
pub fn csv(frame: &DataFrame, out: &mut impl Write) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record(names(frame)).map_err(cause)?;
    for row in rows(frame) {
        writer.write_record(row.iter().map(Value::csv)).map_err(cause)?;
    }
    writer.flush()
}

/// The error of a record. An error of the file keeps its kind.
fn cause(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}
