//! Commands that messages name: they read the same rows as the command that prints the message.

use std::path::Path;

use agentlogs::analysis::present::in_shell;
use agentlogs::store::archive::Archive;

use crate::cli::args::DataSource;
use crate::cli::settings::Settings;

/// The options of a command line that name the rows, each with a space before it; empty without such options.
pub fn options_of(source: &DataSource) -> String {
    let archive = source.archive.archive.iter().map(|archive| option("archive", archive));
    archive.chain(source.logs.iter().map(|logs| option("logs", logs))).collect()
}

/// The option that names an archive, with a space before it; empty for the archive that is used without it.
pub fn option_of(archive: &Archive, settings: &Settings) -> String {
    let directory = archive.directory();
    if settings.chosen_archive().is_ok_and(|chosen| chosen.value == directory) {
        return String::new();
    }
    option_of_directory(directory)
}

/// The option that names the archive in a directory, with a space before it.
pub fn option_of_directory(directory: &Path) -> String {
    option("archive", directory)
}

fn option(name: &str, path: &Path) -> String {
    format!(" --{name} {}", in_shell(&path.display().to_string()))
}

/// A message with these options in the commands that it names in backticks. Logs are ingested, and not read from an archive.
pub fn with_options(message: &str, options: &str) -> String {
    let parts = message.split('`').enumerate().map(|(index, part)| {
        let is_command = index % 2 == 1 && part.starts_with("agentlogs ") && !part.starts_with("agentlogs ingest");
        if is_command { format!("{part}{options}") } else { part.to_owned() }
    });
    parts.collect::<Vec<_>>().join("`")
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::cli::args::ArchiveDirectory;

    #[test]
    fn commands_have_the_options_of_the_command_line() {
        let logs = DataSource { logs: ["a b", "c"].map(PathBuf::from).to_vec(), ..DataSource::default() };
        assert_eq!(options_of(&logs), " --logs 'a b' --logs c");
        let archive = DataSource { archive: ArchiveDirectory { archive: Some("x/y".into()) }, ..DataSource::default() };
        assert_eq!(options_of(&archive), " --archive x/y");
        assert_eq!(options_of(&DataSource::default()), "");
        let message = "no session: `agentlogs sessions` lists 6, `agentlogs ingest PATH` reads logs";
        let expected = "no session: `agentlogs sessions --logs c` lists 6, `agentlogs ingest PATH` reads logs";
        assert_eq!(with_options(message, " --logs c"), expected);
    }
}
