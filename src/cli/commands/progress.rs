//! The progress bar of an ingest, on terminals only.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Thread;
use std::time::{Duration, Instant};

use agentlogs::ingest::Progress;
use agentlogs::store::archive::PartsWritten;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::cli::screen;
use crate::cli::terminal::is_dumb;

/// How long a stage takes before its bar is shown: a bar of a shorter stage would only flash.
const PATIENCE: Duration = Duration::from_millis(300);

/// How often the bar is drawn.
const INTERVAL: Duration = Duration::from_millis(100);

/// What is done meanwhile. Units are those of the summary: MB and GB.
#[derive(Debug, Clone, Copy)]
pub enum Stage<'a> {
    /// Files are found, then parsed.
    Reading(&'a Progress),
    /// Parsed sessions are reconciled and written, part by part.
    Writing(&'a PartsWritten),
}

impl Stage<'_> {
    /// Shows how far the stage has come.
    fn show(self, bar: &ProgressBar) {
        let template = match self {
            Self::Reading(progress) => {
                let load = |count: &std::sync::atomic::AtomicU64| count.load(Ordering::Relaxed);
                let (files, of) = (load(&progress.files_done), load(&progress.files));
                bar.set_length(load(&progress.bytes));
                bar.set_position(load(&progress.bytes_done));
                bar.set_message(format!("{files}/{of} files"));
                if load(&progress.bytes) == 0 {
                    "finding logs  {elapsed}"
                } else {
                    "parsing {wide_bar} {decimal_bytes}/{decimal_total_bytes} {decimal_bytes_per_sec} {msg}"
                }
            }
            Self::Writing(parts) => {
                bar.set_length(parts.of.load(Ordering::Relaxed) as u64);
                bar.set_position(parts.done.load(Ordering::Relaxed) as u64);
                if parts.of.load(Ordering::Relaxed) == 0 {
                    "reconciling  {elapsed}"
                } else {
                    "reconciling and writing {wide_bar} {pos}/{len} parts  {elapsed}"
                }
            }
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
    }
}

/// Runs `work` while another thread shows a progress bar.
pub fn watched<T: Send>(stage: Stage<'_>, work: impl FnOnce() -> T + Send) -> T {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
    let start = Instant::now();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watch = || {
            while !done.load(Ordering::Relaxed) {
                if start.elapsed() >= PATIENCE && !is_dumb() && !screen::is_shown() {
                    if bar.is_hidden() {
                        bar.set_draw_target(ProgressDrawTarget::stderr());
                    }
                    stage.show(&bar);
                }
                std::thread::park_timeout(INTERVAL);
            }
        };
        // If the thread cannot be started, there is no progress bar.
        let watcher = std::thread::Builder::new().spawn_scoped(scope, watch).ok();
        // Ends the thread even if the work panics; otherwise the scope would wait for it forever.
        let _end = watcher.as_ref().map(|watcher| End { done: &done, watcher: watcher.thread() });
        let result = work();
        bar.finish_and_clear();
        result
    })
}

/// Ends the thread of the progress bar, which may be parked.
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
