//! Arguments that several commands have.

use std::path::PathBuf;

use agentlogs::analysis::present;
use agentlogs::analysis::reports::Bound;
use agentlogs::base::zone::named_zone;
use clap::{Args, ValueEnum};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

#[derive(Debug, Clone, Default, Args)]
pub struct ArchiveDirectory {
    #[arg(
        long,
        value_name = "DIR",
        help = "The directory of the archive [env: AGENTLOGS_ARCHIVE] [default: agentlogs-archive if it exists, else your \
                own archive, see agentlogs config]"
    )]
    pub archive: Option<PathBuf>,
}

/// The source of the rows.
#[derive(Debug, Clone, Default, Args)]
pub struct DataSource {
    #[command(flatten)]
    pub archive: ArchiveDirectory,
    /// Read these logs instead of an archive; repeatable
    #[arg(long, value_name = "PATH", conflicts_with = "archive")]
    pub logs: Vec<PathBuf>,
}

/// How rows are printed.
#[derive(Debug, Clone, Copy, Args)]
pub struct Printed {
    /// The output format
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// The maximum number of rows; 0 is all [default: all; on a terminal up to 20 of reports, sessions, queries and prices list]
    #[arg(long, value_name = "N")]
    pub limit: Option<u32>,
    /// Print all columns of a table; on a terminal that is too narrow for them, each row is a block of lines. JSON and CSV always
    /// contain all columns
    #[arg(long)]
    pub wide: bool,
    /// Abbreviate numbers: $742.86, 3.1M, 2 MB, 4m 10s. On a terminal, tables do
    #[arg(long, conflicts_with = "exact")]
    pub human: bool,
    /// Do not abbreviate numbers on a terminal
    #[arg(long)]
    pub exact: bool,
    /// With --format csv, begin with a byte order mark, by which spreadsheets recognise UTF-8
    #[arg(long)]
    pub bom: bool,
}

impl Printed {
    /// Whether a person reads the rows: they are a table, also one of Markdown.
    pub fn is_for_people(self) -> bool {
        matches!(self.format, Format::Table | Format::Markdown)
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    #[default]
    Table,
    Json,
    Csv,
    Markdown,
    /// A stream of Arrow's IPC format, for programs
    Arrow,
}

impl From<Format> for present::Format {
    fn from(format: Format) -> Self {
        match format {
            Format::Table => Self::Table,
            Format::Json => Self::Json,
            Format::Csv => Self::Csv,
            Format::Markdown => Self::Markdown,
            Format::Arrow => Self::Arrow,
        }
    }
}

/// Validates the name of a time zone.
pub fn timezone(name: &str) -> Result<String, String> {
    match named_zone(name) {
        Some(_) => Ok(name.to_owned()),
        None => Err(format!(
            "no time zone {name:?}; a zone is a name of IANA, such as Europe/Berlin, or an offset, such as +05:30"
        )),
    }
}

/// Parses a day in UTC: one of the calendar, or the first one of a period, as other options have them.
pub fn day(text: &str) -> Result<Date, String> {
    let bound: Bound = text.parse()?;
    let now = Timestamp::now().to_zoned(TimeZone::UTC);
    bound.first_day(&now).ok_or_else(|| {
        "not a day; write one (2026-01-01, today, yesterday), a month (month, 2026-01), a week (2026-W41) or a number of days with today \
         (7d, 2w, 3mo), which count from their first day"
            .to_owned()
    })
}

/// Validates a label.
pub fn label(text: &str) -> Result<String, String> {
    match text.split_once('=') {
        Some((key, _)) if key.contains(char::is_control) => {
            Err("the key of a label must not contain control characters".to_owned())
        }
        Some((key, _)) if !key.is_empty() => Ok(text.to_owned()),
        _ => Err("a label has the form KEY=VALUE".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn days_are_days() {
        assert_eq!(super::day("2026-01-31").unwrap().to_string(), "2026-01-31");
        assert_eq!(super::day("2026-01").unwrap().to_string(), "2026-01-01");
        assert!(super::day("today").unwrap() > super::day("7d").unwrap());
        for refused in ["week", "12h", "2026-01-31T08:00Z", "soon", "3m"] {
            assert!(super::day(refused).is_err(), "{refused}");
        }
    }

    #[test]
    fn labels_have_keys_without_control_characters() {
        assert_eq!(super::label("team=a=b").as_deref(), Ok("team=a=b"));
        for refused in ["team", "=a", "te\u{1b}[31mam=a", "a\nb=c", "\u{9b}=x"] {
            assert!(super::label(refused).is_err(), "{refused:?}");
        }
    }
}
