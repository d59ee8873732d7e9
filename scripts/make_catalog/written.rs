//! The catalog as it is written: a header, then an entry per line, each with its keys in one order and numbers as short as possible.

use std::collections::BTreeMap;
use std::io;

use agentlogs::base::time::Day;
use agentlogs::prices::Entry;
use serde::{Deserialize, Serialize};
use serde_json::ser::{Formatter, Serializer};

use super::names::needed_aliases;

/// The first line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// The day of the prices.
    pub date: Day,
    /// The versions of the tables by name.
    pub sources: BTreeMap<String, String>,
}

/// A catalog that was written.
#[derive(Debug, Clone, PartialEq)]
pub struct Catalog {
    pub header: Header,
    pub entries: Vec<Entry>,
}

impl Catalog {
    /// Reads a catalog.
    pub fn parse(text: &str) -> serde_json::Result<Self> {
        let (header, lines) = text.split_once('\n').unwrap_or((text, ""));
        let entries = lines.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
        Ok(Self { header: serde_json::from_str(header)?, entries })
    }

    /// The text of the catalog.
    pub fn to_text(&self) -> serde_json::Result<String> {
        let mut text = json(&self.header, Short)? + "\n";
        for entry in &self.entries {
            text += &json(entry, Short)?;
            text.push('\n');
        }
        Ok(text)
    }
}

/// The entries in the order of the catalog, without names that a rule finds anyway.
pub fn clean(entries: Vec<Entry>) -> Vec<Entry> {
    let clean = |mut entry: Entry| {
        entry.aliases = needed_aliases(&entry.model, &entry.aliases);
        entry.model = entry.model.to_lowercase();
        entry
    };
    let mut entries: Vec<Entry> = entries.into_iter().map(clean).collect();
    entries.sort_by(|a, b| (&a.provider, &a.model).cmp(&(&b.provider, &b.model)));
    entries
}

/// A value as JSON on one line.
pub fn json(value: &impl Serialize, formatter: impl Formatter) -> serde_json::Result<String> {
    let mut bytes = Vec::new();
    value.serialize(&mut Serializer::with_formatter(&mut bytes, formatter))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Without spaces, and whole numbers without a point.
#[derive(Debug)]
pub struct Short;

impl Formatter for Short {
    fn write_f64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        write!(writer, "{value}")
    }
}

/// As [`Short`], with a space after each comma and colon.
#[derive(Debug)]
pub struct Spaced;

impl Formatter for Spaced {
    fn write_f64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        Short.write_f64(writer, value)
    }

    fn begin_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        writer.write_all(if first { b"" } else { b", " })
    }

    fn begin_object_key<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        writer.write_all(if first { b"" } else { b", " })
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
}
