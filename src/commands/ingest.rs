//! `agentlogs ingest`: reads logs into the archive and says what it took in and what it lost.

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::Thread;
use std::time::{Duration, Instant};

use agentlogs::archive::{Archive, Sums, Writer, Written};
use agentlogs::ingest::{self, Progress, Sink};
use agentlogs::render::{counted, grouped};
use agentlogs::session::SessionResult;
use agentlogs::source::{Aside, Source, SourceStatus};
use indicatif::{ProgressBar, ProgressStyle};
use twox_hash::XxHash3_64;

use super::{Outcome, complain, options, say};
use crate::cli::Ingest;

pub fn run(args: Ingest) -> anyhow::Result<Outcome> {
    let archive = Archive::at(&args.archive.archive);
    let options = options(args.paths, Some(archive.folder().to_owned()), &args.reading)?;
    let writer = archive.write()?;
    // To wait for another process is no work.
    let start = Instant::now();
    let progress = Progress::default();
    let sink = Noted { writer: &writer, looked_at: Mutex::default() };
    let mut taken = watched(&progress, || ingest::read_into(&options, |it| writer.known(it), &progress, &sink));
    for error in &taken.errors {
        complain(format_args!("{error}"));
    }
    let mut looked_at = sink.looked_at.into_inner().unwrap_or_else(PoisonError::into_inner);
    looked_at.extend(std::mem::take(&mut taken.unchanged).iter().map(|it| XxHash3_64::oneshot(it.as_bytes())));
    let unchanged = looked_at.len() - taken.read;
    let written = writer.commit()?;
    let lost = summary(&archive, unchanged, &looked_at, &written, &progress, start.elapsed());
    Ok(match () {
        () if !taken.errors.is_empty() => Outcome::NotAllDone,
        () if args.strict && lost => Outcome::Lost,
        () => Outcome::Done,
    })
}

/// A writer that notes what it was given.
struct Noted<'a> {
    writer: &'a Writer,
    /// Hashes of paths: there may be many.
    looked_at: Mutex<HashSet<u64>>,
}

impl Sink for Noted<'_> {
    fn take(&self, source: Source) {
        let path = XxHash3_64::oneshot(source.path.as_bytes());
        self.looked_at.lock().unwrap_or_else(PoisonError::into_inner).insert(path);
        self.writer.take(source);
    }

    fn put_aside(&self, sessions: Vec<SessionResult>) -> Result<Vec<Aside>, Vec<SessionResult>> {
        self.writer.put_aside(sessions)
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
        let watcher = scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let (files, of) = (progress.files_done.load(Ordering::Relaxed), progress.files.load(Ordering::Relaxed));
                bar.set_length(progress.bytes.load(Ordering::Relaxed));
                bar.set_position(progress.bytes_done.load(Ordering::Relaxed));
                bar.set_message(format!("{files}/{of} files"));
                std::thread::park_timeout(Duration::from_millis(100));
            }
        });
        // Also when the work panics: else its thread would be waited for without end.
        let _end = End { done: &done, watcher: watcher.thread() };
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

/// Prints what was taken in and what was lost, and says whether lines or files were.
fn summary(
    archive: &Archive,
    unchanged: usize,
    looked_at: &HashSet<u64>,
    written: &Written,
    progress: &Progress,
    time: Duration,
) -> bool {
    let mut statuses: BTreeMap<&str, usize> = BTreeMap::new();
    let mut reasons: BTreeMap<&str, i64> = BTreeMap::new();
    let mut unknown = 0;
    for (_, source) in written.sources().filter(|(path, _)| looked_at.contains(&XxHash3_64::oneshot(path.as_bytes()))) {
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
    line("files", &grouped(looked_at.len()), &format!("{}{again}", counts(&statuses)));
    #[expect(clippy::cast_precision_loss, reason = "for people")]
    let (megabytes, gigabytes) = (bytes as f64 / 1e6, bytes as f64 / 1e9);
    line("bytes", &format!("{megabytes:.1} MB"), &format!("in {seconds:.2} s, {:.2} GB/s", gigabytes / seconds));
    let rejected: i64 = reasons.values().sum();
    line("rejected", &counted(rejected, "line"), &counts(&reasons));
    if unknown > 0 {
        line("unknown", &counted(unknown, "record"), "of types that the adapters do not know");
    }
    say(&format!("{} now holds", archive.folder().display()));
    holds(&sums);
    rejected > 0
        || statuses.contains_key(SourceStatus::Unreadable.as_str())
        || statuses.contains_key(SourceStatus::Truncated.as_str())
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
