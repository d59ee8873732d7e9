//! JSON: an array of objects, or an object per line.

use std::io::{self, Write};

use polars::prelude::DataFrame;

use super::value::{names, rows};

/// Writes an array with an object per row.
///
/// # Errors
/// When `out` cannot be written.
pub(super) fn json(frame: &DataFrame, out: &mut impl Write) -> io::Result<()> {
    let names: Vec<String> = names(frame).iter().map(serde_json::to_string).collect::<Result<_, _>>()?;
    out.write_all(b"[")?;
    for (index, row) in rows(frame).enumerate() {
        out.write_all(if index > 0 { b",\n {" } else { b"\n {" })?;
        for (index, (name, value)) in names.iter().zip(row).enumerate() {
            out.write_all(if index > 0 { b", " } else { b"" })?;
            write!(out, "{name}: ")?;
            value.write_json(out)?;
        }
        out.write_all(b"}")?;
    }
    out.write_all(if frame.height() > 0 { b"\n]\n" } else { b"]\n" })
}

/// Writes an object per line.
///
/// # Errors
/// When `out` cannot be written.
pub fn jsonl(frame: &DataFrame, out: &mut impl Write) -> io::Result<()> {
    let names: Vec<String> = names(frame).iter().map(serde_json::to_string).collect::<Result<_, _>>()?;
    for row in rows(frame) {
        for (index, (name, value)) in names.iter().zip(row).enumerate() {
            write!(out, "{}{name}:", if index > 0 { "," } else { "{" })?;
            value.write_json(out)?;
        }
        out.write_all(b"}\n")?;
    }
    Ok(())
}
