//! `agentlogs ingest`: reads logs into the archive and reports what was read and what was lost.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Thread;
use std::time::{Duration, Instant};

use agentlogs::analysis::render::{counted, grouped};
use agentlogs::ingest::{self, PathSet, Progress};
use agentlogs::input::discover;
use agentlogs::model::source::{SEPARATOR, STDIN, SourceStatus};
use agentlogs::store::archive::{Archive, Sums, Written};
use indicatif::{ProgressBar, ProgressStyle};

use anyhow::Context;

use super::{Outcome, WrongCommandLine, complain, options, say};
use crate::cli::args::Ingest;

pub fn run(args: Ingest) -> anyhow::Result<Outcome> {
    let archive = Archive::at(&args.archive.archive);
    let mut paths = args.paths;
    if let Some(list) = &args.files_from {
        let reads_stdin = |path: &Path| path.as_os_str() == STDIN;
        if reads_stdin(list) && paths.iter().any(|path| reads_stdin(path)) {
            let message = "standard input cannot be both a log and the list of --files-from";
            return Err(WrongCommandLine(message.to_owned()).into());
        }
        paths.extend(listed(list)?);
    }
    let mut options = options(paths, Some(archive.folder().to_owned()), &args.reading)?;
    options.roots.iter().filter(|path| is_pipe(path)).for_each(|path| {
        say(&format!("{} is a pipe: it is read until its writer closes it", path.display()));
    });
    let writer = archive.write()?;
    options.earlier_stdin = writer.earlier_stdin();
    // To wait for another process is no work.
    let start = Instant::now();
    let progress = Progress::default();
    let taken = watched(&progress, || ingest::read_into(&options, |path| writer.known(path), &progress, &writer));
    for error in &taken.errors {
        complain(format_args!("{error}"));
    }
    let files = Files { read: taken.read, unchanged: taken.unchanged.iter().map(String::as_str).collect() };
    drop(taken.unchanged);
    if files.read.is_empty() && files.unchanged.is_empty() {
        say(&format!("no files in {}; {HINT}", names(&options.roots)));
        if writer.is_new() {
            say("nothing was written");
            return Ok(Outcome::NotAllDone);
        }
    }
    let written = writer.commit()?;
    let lost = summary(&archive, &files, &written, &progress, start.elapsed());
    let damage = report_damage(&written);
    Ok(match () {
        () if !taken.errors.iter().all(discover::Error::is_left_out) => Outcome::NotAllDone,
        () if damage != Outcome::Done => damage,
        () if args.strict && (lost || !taken.errors.is_empty()) => Outcome::Lost,
        () => Outcome::Done,
    })
}

/// What to do where no logs were found.
const HINT: &str =
    "`agentlogs runtimes` lists what can be read, `agentlogs inspect FILE` shows what a file was taken for";

fn names(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}

/// Whether a path is a named pipe, which may have no writer yet. A shell's own pipes have one.
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
fn listed(list: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut bytes = Vec::new();
    if list.as_os_str() == STDIN {
        io::stdin().lock().read_to_end(&mut bytes).context("--files-from -")?;
    } else {
        bytes = std::fs::read(list).with_context(|| list.display().to_string())?;
    }
    let separator = if bytes.contains(&0) { 0 } else { b'\n' };
    let names = bytes.split(|byte| *byte == separator);
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

/// The files of a run.
struct Files {
    read: PathSet,
    unchanged: PathSet,
}

impl Files {
    /// Whether a file was found unchanged. The members of an archive are unchanged with it.
    fn is_unchanged(&self, path: &str) -> bool {
        let archives = path.match_indices(SEPARATOR).filter_map(|(end, _)| path.get(..end));
        archives.chain([path]).any(|path| self.unchanged.contains(path))
    }
}

/// Runs `work` beside a progress bar, which shows on a terminal only.
fn watched<T: Send>(progress: &Progress, work: impl FnOnce() -> T + Send) -> T {
    let bar = ProgressBar::new(0);
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {bytes}/{total_bytes} {binary_bytes_per_sec} {msg}") {
        bar.set_style(style);
    }
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watch = || {
            while !done.load(Ordering::Relaxed) {
                let (files, of) = (progress.files_done.load(Ordering::Relaxed), progress.files.load(Ordering::Relaxed));
                bar.set_length(progress.bytes.load(Ordering::Relaxed));
                bar.set_position(progress.bytes_done.load(Ordering::Relaxed));
                bar.set_message(format!("{files}/{of} files"));
                std::thread::park_timeout(Duration::from_millis(100));
            }
        };
        // Without a thread for it there is no progress bar.
        let watcher = std::thread::Builder::new().spawn_scoped(scope, watch).ok();
        // Also when the work panics: else its thread would be waited for without end.
        let _end = watcher.as_ref().map(|watcher| End { done: &done, watcher: watcher.thread() });
        let result = work();
        bar.finish_and_clear();
        result
    })
}

/// Ends the thread that watches, which may be asleep.
struct End<'a> {
    done: &'a AtomicBool,
    watcher: &'a Thread,
}

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.done.store(true, Ordering::Relaxed);
        self.watcher.unpark();
    }
}

/// Prints what was read and what was lost. Returns whether lines or files were lost.
fn summary(archive: &Archive, files: &Files, written: &Written, progress: &Progress, time: Duration) -> bool {
    let mut statuses: BTreeMap<&str, usize> = BTreeMap::new();
    let mut reasons: BTreeMap<&str, i64> = BTreeMap::new();
    let (mut unknown, mut unchanged) = (0, 0);
    for (path, source) in written.sources() {
        if !files.read.contains(path) {
            if !files.is_unchanged(path) {
                continue;
            }
            unchanged += 1;
        }
        *statuses.entry(source.status.as_str()).or_default() += 1;
        unknown += source.unknown_records;
        for (reason, lines) in &source.rejects {
            *reasons.entry(reason.as_str()).or_default() += lines;
        }
    }
    let sums = written.sums;
    let bytes = progress.bytes.load(Ordering::Relaxed);
    let seconds = time.as_secs_f64();
    let again = if unchanged > 0 { format!(", {unchanged} of them unchanged") } else { String::new() };
    let count: usize = statuses.values().sum();
    line("files", &grouped(count), &format!("{}{again}", counts(&statuses)));
    #[expect(clippy::cast_precision_loss, reason = "for people")]
    let (megabytes, gigabytes) = (bytes as f64 / 1e6, bytes as f64 / 1e9);
    line("bytes", &format!("{megabytes:.1} MB"), &format!("in {seconds:.2} s, {:.2} GB/s", gigabytes / seconds));
    let rejected: i64 = reasons.values().sum();
    line("rejected", &counted(rejected, "line"), &counts(&reasons));
    if unknown > 0 {
        line("unknown", &counted(unknown, "record"), "of types that the adapters do not know");
    }
    let logs = [SourceStatus::Parsed, SourceStatus::Duplicate, SourceStatus::Truncated];
    if count > 0 && !logs.iter().any(|status| statuses.contains_key(status.as_str())) {
        say(&format!("none of these files is a log that can be read; {HINT}"));
    }
    say(&format!("{} now holds", archive.folder().display()));
    holds(&sums);
    rejected > 0
        || statuses.contains_key(SourceStatus::Unreadable.as_str())
        || statuses.contains_key(SourceStatus::Truncated.as_str())
}

/// Reports what of an archive was found damaged while it was written. It could not be done if any of it stays so.
pub fn report_damage(written: &Written) -> Outcome {
    for problem in &written.problems {
        complain(format_args!("{problem}"));
    }
    if written.is_damaged { Outcome::NotAllDone } else { Outcome::Done }
}

fn line(name: &str, value: &str, more: &str) {
    say(format!("  {name:<12}{value:>16}  {more}").trim_end());
}

/// What an archive holds, in sum.
pub fn holds(sums: &Sums) {
    line("sessions", &grouped(sums.sessions), "");
    line("turns", &grouped(sums.turns), "");
    line("tool calls", &grouped(sums.tool_calls), "");
    line("tokens", &grouped(sums.tokens), "");
    let missing = match sums.unpriced_tokens {
        0 => String::new(),
        count => format!("without {} tokens that have no price", grouped(count)),
    };
    line("cost", &sums.cost_usd.map_or_else(|| "unknown".to_owned(), |it| format!("${it:.4}")), &missing);
}

fn counts<N: std::fmt::Display>(counts: &BTreeMap<&str, N>) -> String {
    counts.iter().map(|(name, count)| format!("{count} {name}")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_list_may_end_in_crlf() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "a.jsonl\r\n\r\nb c\n").unwrap();
        assert_eq!(listed(file.path()).unwrap(), ["a.jsonl", "b c"].map(PathBuf::from));
    }
}
