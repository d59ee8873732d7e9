//! `agentlogs ingest`: reads logs into the archive, and prints what was read and what was rejected.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Instant;

use agentlogs::analysis::present::counted;
use agentlogs::base::byte_order_mark::without_mark;
use agentlogs::ingest::{self, Options, Progress};
use agentlogs::input::discover;
use agentlogs::input::labels::PathPattern;
use agentlogs::model::source::STDIN;
use agentlogs::store::archive::Archive;
use anyhow::Context;

use super::files::Files;
use super::output::{complain, complain_of_path, say};
use super::progress::{Stage, watched};
use super::reading::options;
use super::summary::{Ingested, LOGS, no_files, report_damage, summary};
use super::{Outcome, WrongCommandLine, places};
use crate::cli::args::Ingest;
use crate::cli::settings::Settings;

pub fn run(args: Ingest, settings: &Settings) -> anyhow::Result<Outcome> {
    let names_paths = !args.paths.is_empty() || args.files_from.is_some();
    let mut reading = args.reading;
    // Without paths --runtime selects the places.
    let runtime = if names_paths { None } else { reading.runtime.take() };
    let paths = if names_paths {
        named_paths(args.paths, args.files_from.as_deref())?
    } else {
        places::existing(settings, runtime.as_deref())?
    };
    if !names_paths && paths.is_empty() {
        places::say_searched(settings, runtime.as_deref());
        return Ok(Outcome::NotAllDone);
    }
    let named = args.archive.archive;
    let archive = if names_paths { settings.archive_or_local(named)? } else { settings.archive(named)? };
    let options = options(paths, Some(archive.directory().to_owned()), &reading, settings)?;
    options.roots.iter().filter(|path| is_pipe(path)).for_each(|path| {
        say(&format!("{} is a pipe; reading until its writer closes it", path.display()));
    });
    let Some(run) = read_into(&archive, options)? else { return Ok(Outcome::NotAllDone) };
    let lost = summary(&archive, &run, settings);
    reading.path_labels.iter().for_each(|pattern| state_unmatched(pattern, &run));
    let damage = report_damage(&archive, &run.written);
    Ok(match () {
        () if !run.errors.iter().all(discover::Error::is_left_out) => Outcome::NotAllDone,
        () if damage != Outcome::Done => damage,
        () if args.strict && (lost || !run.errors.is_empty()) => Outcome::Lost,
        () => Outcome::Done,
    })
}

/// Prints that the path of no log has the labels of a pattern, with the path of one.
fn state_unmatched(pattern: &PathPattern, run: &Ingested) {
    let is_of_run = |path: &str| run.files.is_read(path) || run.files.is_unchanged(path);
    let logs = || run.written.sources().filter(|(path, source)| LOGS.contains(&source.status) && is_of_run(path));
    let paths = || logs().map(|(path, _)| path);
    if let Some(first) = paths().next()
        && paths().all(|path| pattern.labels(path).is_empty())
    {
        complain(format_args!(
            "--label-from-path {} matched 0 of {}, such as {first}: no session has its labels",
            pattern.as_str(),
            counted(paths().count(), "log")
        ));
    }
}

/// The paths of the command line, and of the list of `--files-from`.
fn named_paths(mut paths: Vec<PathBuf>, list: Option<&Path>) -> anyhow::Result<Vec<PathBuf>> {
    let Some(list) = list else { return Ok(paths) };
    let reads_stdin = |path: &Path| path.as_os_str() == STDIN;
    if reads_stdin(list) && paths.iter().any(|path| reads_stdin(path)) {
        let message = "standard input cannot be both a log and the list of --files-from";
        return Err(WrongCommandLine(message.to_owned()).into());
    }
    let listed = listed(list)?;
    if listed.is_empty() {
        let list = if reads_stdin(list) { "standard input".to_owned() } else { list.display().to_string() };
        complain(format_args!("--files-from: {list} contains no paths"));
    }
    paths.extend(listed);
    Ok(paths)
}

/// Reads logs into an archive, and prints paths that cannot be read. `None` if there are no files, and no archive yet: then
/// nothing is written.
///
/// # Errors
/// When the archive cannot be written.
pub fn read_into(archive: &Archive, mut options: Options) -> anyhow::Result<Option<Ingested>> {
    if archive.is_being_written() {
        say(&format!("waiting for another process that writes {}", archive.directory().display()));
    }
    let progress = Progress::default();
    let find = || (Instant::now(), watched(Stage::Reading(&progress), || ingest::find(&options)));
    let (writer, (start, found)) = archive.write_beside(find)?;
    options.earlier_stdin = writer.earlier_stdin();
    let parts = writer.progress();
    let read = || ingest::read_found_into(found, &options, |path| writer.known(path), &progress, &writer);
    let run = watched(Stage::Reading(&progress), read);
    run.errors.iter().for_each(complain_of_path);
    let files = Files { read: run.read, unchanged: run.unchanged.iter().map(String::as_str).collect() };
    drop(run.unchanged);
    if files.read.is_empty() && files.unchanged.is_empty() {
        if !options.roots.is_empty() && run.errors.is_empty() {
            say(&no_files(&options.roots));
        }
        if writer.is_new() {
            say("nothing was written");
            return Ok(None);
        }
    }
    let written = watched(Stage::Writing(&parts), || writer.commit())?;
    Ok(Some(Ingested { files, written, errors: run.errors, progress, time: start.elapsed() }))
}

/// Whether a path is a named pipe, which may not have a writer yet. The pipes of a shell have one.
fn is_pipe(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        let is_of_shell = path.starts_with("/dev") || path.starts_with("/proc");
        !is_of_shell && path.metadata().is_ok_and(|metadata| metadata.file_type().is_fifo())
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        false
    }
}

/// The paths in a file, or in standard input: one a line, or separated by NULs if it contains one.
pub fn listed(list: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut bytes = Vec::new();
    if list.as_os_str() == STDIN {
        io::stdin().lock().read_to_end(&mut bytes).context("--files-from -")?;
    } else {
        bytes = std::fs::read(list).with_context(|| list.display().to_string())?;
    }
    let separator = if bytes.contains(&0) { 0 } else { b'\n' };
    let names = without_mark(&bytes).split(|byte| *byte == separator);
    // Lines of a list that was written on Windows end in CRLF.
    let names = names.map(|name| if separator == b'\n' { name.strip_suffix(b"\r").unwrap_or(name) } else { name });
    Ok(names.filter(|name| !name.is_empty()).map(path).collect())
}

/// A path of a list. Unlike on the command line, `-` is a file of that name.
fn path(name: &[u8]) -> PathBuf {
    #[cfg(unix)]
    let path = Path::new(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(name));
    #[cfg(not(unix))]
    let path = PathBuf::from(String::from_utf8_lossy(name).into_owned());
    if path.as_os_str() == STDIN { Path::new(".").join(path) } else { path.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_may_be_written_on_windows() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "\u{feff}a.jsonl\r\n\r\nb c\n").unwrap();
        assert_eq!(listed(file.path()).unwrap(), ["a.jsonl", "b c"].map(PathBuf::from));
    }
}
