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

/// A count of tokens. Some exports write `10.0`.
pub(super) fn count(name: &str, text: &str) -> Result<i64, String> {
    let wrong = || format!("{name} is {text:?}, which is not a count");
    if let Ok(count) = text.parse::<i64>() {
        return if count >= 0 { Ok(count) } else { Err(wrong()) };
    }
    whole(text.parse::<f64>().map_err(|_| wrong())?).ok_or_else(wrong)
}

/// A number without a fraction as a count.
pub(super) fn whole(number: f64) -> Option<i64> {
    /// From here on, not every whole number has a value.
    const LIMIT: f64 = 9_007_199_254_740_992.0;
    #[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
    let count = number as i64;
    ((0.0..LIMIT).contains(&number) && number.fract() == 0.0).then_some(count)
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
