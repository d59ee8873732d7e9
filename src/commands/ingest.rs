//! `agentlogs ingest`: reads logs into the archive and says what it took in and what it lost.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Thread;
use std::time::{Duration, Instant};

use agentlogs::archive::{self, Archive};
use agentlogs::health::Health;
use agentlogs::ingest::{self, Progress, Taken};
use agentlogs::render::grouped;
use agentlogs::source::SourceStatus;
use agentlogs::tables::Tables;
use indicatif::{ProgressBar, ProgressStyle};

use super::{Outcome, complain, options, say, settled};
use crate::cli::Ingest;

pub fn run(args: Ingest) -> anyhow::Result<Outcome> {
    let archive = Archive::at(&args.archive.archive);
    let options = options(args.paths, Some(archive.folder().to_owned()), &args.reading)?;
    let _lock = archive.lock()?;
    // To wait for another process is no work.
    let start = Instant::now();
    let known = archive.facts()?;
    let progress = Progress::default();
    let mut taken = watched(&progress, || ingest::read(&options, &known, &progress));
    for error in &taken.errors {
        complain(format_args!("{error}"));
    }
    let looked_at: Vec<Looked> = known
        .values()
        .filter(|it| taken.unchanged.contains(&it.path))
        .chain(&taken.sources)
        .map(|it| Looked { path: it.path.clone(), status: it.status, health: it.health.clone() })
        .collect();
    let read = std::mem::take(&mut taken.sources);
    let files_read = read.len();
    let facts = archive::join(known, read);
    let tables = settled(facts.clone(), &*archive.catalog()?);
    archive.write(&facts, &tables)?;
    let lost = summary(&archive, &taken, files_read, &looked_at, &tables, &progress, start.elapsed());
    Ok(match () {
        () if !taken.errors.is_empty() => Outcome::NotAllDone,
        () if args.strict && lost => Outcome::Lost,
        () => Outcome::Done,
    })
}

/// What the summary says of a file.
struct Looked {
    path: String,
    status: SourceStatus,
    health: Health,
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
    taken: &Taken,
    files_read: usize,
    looked_at: &[Looked],
    tables: &Tables,
    progress: &Progress,
    time: Duration,
) -> bool {
    let status_of: BTreeMap<&str, SourceStatus> =
        tables.sources.iter().map(|it| (it.path.as_str(), it.status)).collect();
    let mut statuses: BTreeMap<&str, usize> = BTreeMap::new();
    let mut reasons: BTreeMap<&str, i64> = BTreeMap::new();
    let mut unknown = 0;
    for source in looked_at {
        let status = status_of.get(source.path.as_str()).copied().unwrap_or(source.status);
        *statuses.entry(status.as_str()).or_default() += 1;
        unknown += source.health.unknown_records;
        for reject in &source.health.rejects {
            *reasons.entry(reject.reason.as_str()).or_default() += reject.lines;
        }
    }
    let tokens: i64 = tables.sessions.iter().filter_map(|it| it.tokens.total()).sum();
    let cost: Option<f64> = tables.sessions.iter().filter_map(|it| it.money.cost).reduce(|sum, it| sum + it);
    let unpriced: i64 = tables.sessions.iter().map(|it| it.unpriced_tokens).sum();
    let bytes = progress.bytes.load(Ordering::Relaxed);
    let seconds = time.as_secs_f64();
    let line = |name: &str, value: &str, more: &str| {
        say(format!("  {name:<12}{value:>16}  {more}").trim_end());
    };
    let unchanged = taken.unchanged.len();
    let again = if unchanged > 0 { format!(", {unchanged} of them unchanged") } else { String::new() };
    line("files", &grouped(files_read + unchanged), &format!("{}{again}", counts(&statuses)));
    #[expect(clippy::cast_precision_loss, reason = "for people")]
    let (megabytes, gigabytes) = (bytes as f64 / 1e6, bytes as f64 / 1e9);
    line("bytes", &format!("{megabytes:.1} MB"), &format!("in {seconds:.2} s, {:.2} GB/s", gigabytes / seconds));
    let rejected: i64 = reasons.values().sum();
    line("rejected", &format!("{} lines", grouped(rejected)), &counts(&reasons));
    if unknown > 0 {
        line("unknown", &format!("{} records", grouped(unknown)), "of types that the adapters do not know");
    }
    say(&format!("{} now holds", archive.folder().display()));
    line("sessions", &grouped(tables.sessions.len()), "");
    line("turns", &grouped(tables.turns.iter().filter(|it| it.number.is_some()).count()), "");
    line("tool calls", &grouped(tables.tool_calls.len()), "");
    line("tokens", &grouped(tokens), "");
    let missing =
        if unpriced > 0 { format!("without {} tokens that have no price", grouped(unpriced)) } else { String::new() };
    line("cost", &cost.map_or_else(|| "unknown".to_owned(), |it| format!("${it:.4}")), &missing);
    rejected > 0
        || statuses.contains_key(SourceStatus::Unreadable.as_str())
        || statuses.contains_key(SourceStatus::Truncated.as_str())
}

fn counts<N: std::fmt::Display>(counts: &BTreeMap<&str, N>) -> String {
    counts.iter().map(|(name, count)| format!("{count} {name}")).collect::<Vec<_>>().join(", ")
}
