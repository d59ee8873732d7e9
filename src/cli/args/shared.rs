//! Arguments that several commands have.

use std::path::PathBuf;

use agentlogs::base::zone::named_zone;
use clap::{Args, ValueEnum};

#[derive(Debug, Default, Args)]
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
#[derive(Debug, Default, Args)]
pub struct DataSource {
    #[command(flatten)]
    pub archive: ArchiveDirectory,
    /// Read these logs instead of an archive; repeatable
    #[arg(long, value_name = "PATH")]
    pub logs: Vec<PathBuf>,
}

/// How rows are printed.
#[derive(Debug, Clone, Copy, Args)]
pub struct Printed {
    /// The output format
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// The maximum number of rows; 0 is all [default: all; 20 on a terminal for reports, queries and prices list]
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

/// Validates the name of a time zone.
pub fn timezone(name: &str) -> Result<String, String> {
    match named_zone(name) {
        Some(_) => Ok(name.to_owned()),
        None => Err(format!(
            "no time zone {name:?}; a zone is a name of IANA, such as Europe/Berlin, or an offset, such as +05:30"
        )),
    }
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
    fn labels_have_keys_without_control_characters() {
        assert_eq!(super::label("team=a=b").as_deref(), Ok("team=a=b"));
        for refused in ["team", "=a", "te\u{1b}[31mam=a", "a\nb=c", "\u{9b}=x"] {
            assert!(super::label(refused).is_err(), "{refused:?}");
        }
    }
}
