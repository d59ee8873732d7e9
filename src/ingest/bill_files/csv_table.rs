//! Bills as CSV: rows whose values have the names of the header.

use csv::StringRecord;

use super::content::{Content, Format, Found};
use crate::base::time::{Day, Time};

/// A format of CSV.
pub(super) struct CsvFormat {
    pub format: Format,
    /// Columns that only this format has, in lower case.
    pub columns: &'static [&'static str],
    pub line: fn(&Row<'_>) -> Found,
}

/// A row of a table.
pub(super) struct Row<'t> {
    header: &'t [String],
    record: &'t StringRecord,
}

impl<'t> Row<'t> {
    /// A value, by the name of its column in lower case; `None` if it is empty.
    pub(super) fn text(&self, name: &str) -> Option<&'t str> {
        let index = self.header.iter().position(|column| column == name)?;
        self.record.get(index).map(str::trim).filter(|value| !value.is_empty())
    }

    /// The first of several columns that has a value.
    pub(super) fn first_of(&self, names: &[&str]) -> Option<String> {
        names.iter().find_map(|name| self.text(name)).map(str::to_owned)
    }

    pub(super) fn count(&self, name: &str) -> Result<Option<i64>, String> {
        self.text(name).map(|text| count(name, text)).transpose()
    }

    pub(super) fn money(&self, name: &str) -> Result<Option<f64>, String> {
        self.text(name).map(|text| money(name, text)).transpose()
    }

    pub(super) fn time(&self, name: &str) -> Result<Time, String> {
        let text = self.text(name).ok_or_else(|| format!("{name} is empty"))?;
        time(name, text)
    }

    pub(super) fn day(&self, name: &str) -> Result<Day, String> {
        self.time(name).map(|time| Day(time.day()))
    }
}

/// Larger counts are refused: no bill has them, and a sum of them could be out of range.
pub(super) const LARGEST: i64 = 1 << 53;

/// A count of tokens. Some exports write `10.0`.
pub(super) fn count(name: &str, text: &str) -> Result<i64, String> {
    #[expect(clippy::cast_possible_truncation, reason = "the range is checked below")]
    let whole = |number: f64| (number.fract() == 0.0).then_some(number as i64);
    let count = text.parse().ok().or_else(|| whole(text.parse().ok()?));
    let valid = count.filter(|count| (0..=LARGEST).contains(count));
    valid.ok_or_else(|| format!("{name} is {text:?}, which is not a count"))
}

/// An amount. A credit is below 0.
pub(super) fn money(name: &str, text: &str) -> Result<f64, String> {
    let amount = text.trim_start_matches('$').parse().ok().filter(|amount: &f64| amount.is_finite());
    amount.ok_or_else(|| format!("{name} is {text:?}, which is not an amount"))
}

/// A time, or a day, in UTC.
pub(super) fn time(name: &str, text: &str) -> Result<Time, String> {
    let midnight = || Time::parse(&format!("{text}T00:00:00Z"));
    let found = Time::parse(text).or_else(|| (text.len() == "2026-10-05".len()).then(midnight).flatten());
    found.ok_or_else(|| format!("{name} is {text:?}, which is not a time"))
}

/// Parses CSV with a header.
///
/// # Errors
/// When the header is that of no format.
pub(super) fn parse(bytes: &[u8], formats: &[&CsvFormat]) -> Result<Content, String> {
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(bytes);
    let header = reader.headers().map_err(|error| error.to_string())?;
    let header: Vec<String> = header.iter().map(|name| name.trim().to_ascii_lowercase()).collect();
    let has_all = |format: &&&CsvFormat| format.columns.iter().all(|name| header.iter().any(|column| column == name));
    let Some(format) = formats.iter().find(has_all) else {
        return Err(format!("no format of bills has these columns: {}", header.join(", ")));
    };
    let mut content = Content::default();
    for record in reader.records() {
        let number = |position: Option<&csv::Position>| {
            position.map_or(0, |position| i64::try_from(position.line()).unwrap_or(i64::MAX))
        };
        match record {
            Ok(record) => {
                let row = Row { header: &header, record: &record };
                content.add(format.format, number(record.position()), (format.line)(&row));
            }
            Err(error) => content.problems.push((number(error.position()), error.to_string())),
        }
    }
    Ok(content)
}
