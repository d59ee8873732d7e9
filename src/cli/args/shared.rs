//! Arguments that several commands have.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
pub struct ArchiveDirectory {
    /// The directory of the archive
    #[arg(
        long,
        value_name = "DIR",
        default_value_os_t = default_archive(),
        hide_default_value = true,
        help = "The directory of the archive [env: AGENTLOGS_ARCHIVE] [default: agentlogs-archive]"
    )]
    pub archive: PathBuf,
}

/// The archive of `AGENTLOGS_ARCHIVE`. An empty variable counts as unset.
pub fn default_archive() -> PathBuf {
    let variable = std::env::var_os("AGENTLOGS_ARCHIVE").filter(|value| !value.is_empty());
    variable.map_or_else(|| PathBuf::from("agentlogs-archive"), PathBuf::from)
}

/// The source of the rows.
#[derive(Debug, Args)]
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
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    #[default]
    Table,
    Json,
    Csv,
    Markdown,
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
