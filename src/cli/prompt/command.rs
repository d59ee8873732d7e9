//! The commands of the prompt.

use clap::ValueEnum as _;

use crate::cli::args::Format;

/// The commands with what they do. A backslash does as well as a dot, as other programs have it.
pub const COMMANDS: &[(&str, &str)] = &[
    (".tables", "the tables"),
    (".schema", "the columns of a table with their meaning: .schema turns"),
    (".queries", "the built-in queries; the name of one runs it"),
    (".mode", "how rows are printed: .mode table, json, csv or markdown"),
    ("\\x", "all columns, each row as a block of lines where they do not fit; again: as before"),
    (".help", "these commands"),
    (".quit", "end; also Ctrl-D"),
];

/// A command of the prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    Tables,
    Schema(Option<String>),
    Queries,
    Mode(Format),
    Expanded,
    Help,
    Quit,
}

impl Command {
    /// The command of a line that begins with a dot or a backslash.
    ///
    /// # Errors
    /// A message, when there is no such command.
    pub fn of(line: &str) -> Result<Self, String> {
        let mut words = line.trim().trim_end_matches(';').split_whitespace();
        let (name, argument) = (words.next().unwrap_or_default(), words.next());
        Ok(match (name.get(1..).unwrap_or_default(), argument) {
            ("tables" | "dt", _) | ("d", None) => Self::Tables,
            ("schema" | "d", table) => Self::Schema(table.map(str::to_owned)),
            ("queries", _) => Self::Queries,
            ("mode", Some(format)) => Self::Mode(mode(format)?),
            ("mode", None) => return Err(format!("write .mode and one of {}", modes().join(", "))),
            ("x", _) => Self::Expanded,
            ("help" | "h" | "?", _) => Self::Help,
            ("quit" | "exit" | "q", _) => Self::Quit,
            _ => return Err(format!("no command {name:?}; .help lists them")),
        })
    }
}

/// The names of the formats. Arrow is binary.
pub(super) fn modes() -> Vec<String> {
    let formats = Format::value_variants().iter().filter(|format| **format != Format::Arrow);
    formats.filter_map(|format| Some(format.to_possible_value()?.get_name().to_owned())).collect()
}

fn mode(name: &str) -> Result<Format, String> {
    let format =
        Format::from_str(name, true).ok().filter(|_| modes().iter().any(|mode| mode.eq_ignore_ascii_case(name)));
    format.ok_or_else(|| format!("no mode {name:?}; there are {}", modes().join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_begin_with_a_dot_or_a_backslash() {
        for (line, expected) in [
            (".tables", Ok(Command::Tables)),
            ("\\dt", Ok(Command::Tables)),
            (".schema turns;", Ok(Command::Schema(Some("turns".to_owned())))),
            (".schema", Ok(Command::Schema(None))),
            ("\\d turns", Ok(Command::Schema(Some("turns".to_owned())))),
            (".mode csv", Ok(Command::Mode(Format::Csv))),
            (".mode arrow", Err("no mode \"arrow\"; there are table, json, csv, markdown")),
            (".mode", Err("write .mode and one of table, json, csv, markdown")),
            ("\\x", Ok(Command::Expanded)),
            ("\\q", Ok(Command::Quit)),
            (".nothing", Err("no command \".nothing\"; .help lists them")),
            (".", Err("no command \".\"; .help lists them")),
            (".日本", Err("no command \".日本\"; .help lists them")),
        ] {
            assert_eq!(Command::of(line), expected.map_err(str::to_owned), "{line}");
        }
    }
}
