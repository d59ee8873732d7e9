//! `agentlogs bench`: measures how fast this machine reads logs.

use std::time::Duration;

use agentlogs::analysis::present::Roles;
use agentlogs::analysis::throughput::{self, Measured};
use agentlogs::input::discover;
use polars::prelude::*;

use super::Outcome;
use super::output::{Layout, complain_of_path, print, say};
use super::reading::start_threads;
use super::summary::Losses;
use crate::cli::args::{Bench, DataSource};
use crate::cli::settings::Settings;

/// The column with the speed of parsing, which people ask for.
const PARSE: &str = "parse_gb_per_second";

pub fn run(args: &Bench, settings: &Settings) -> anyhow::Result<Outcome> {
    start_threads(None)?;
    let run = throughput::run(&args.paths, settings.formats);
    run.errors.iter().for_each(complain_of_path);
    let source = DataSource { logs: args.paths.clone(), ..DataSource::default() };
    Losses::of(&run.read_sources).state_of_logs(&source);
    let all = run.all();
    let mut rows: Vec<(&str, Measured)> =
        run.formats.iter().map(|(format, measured)| (format.unwrap_or("none"), *measured)).collect();
    rows.push(("all", all));
    let speed = |of: fn(&Measured) -> Duration| {
        rows.iter().map(|(_, measured)| gigabytes(measured, of(measured))).collect::<Vec<_>>()
    };
    let count = |of: fn(&Measured) -> u64| rows.iter().map(|(_, measured)| of(measured)).collect::<Vec<_>>();
    let frame = df!(
        "format" => rows.iter().map(|(format, _)| *format).collect::<Vec<_>>(),
        "files" => count(|it| it.files as u64),
        "bytes" => count(|it| it.bytes),
        "lines" => count(|it| it.lines),
        "sessions" => count(|it| it.sessions as u64),
        "open_gb_per_second" => speed(|it| it.open),
        "split_gb_per_second" => speed(|it| it.split),
        "detect_gb_per_second" => speed(|it| it.detect),
        PARSE => speed(|it| it.parse),
        "parse_lines_per_second" => rows.iter().map(|(_, it)| whole(per_second(it.lines, it.parse))).collect::<Vec<_>>(),
        "parse_sessions_per_second" =>
            rows.iter().map(|(_, it)| whole(per_second(it.sessions as u64, it.parse))).collect::<Vec<_>>(),
    )?;
    let roles = Roles { main: Some(PARSE), ..Roles::default() };
    print(&frame, args.printed, Layout { roles, ..Layout::default() })?;
    say(&format!(
        "{} threads; wall time: read {:.3} s ({:.2} GB/s), reconcile {:.3} s, price {:.3} s, encode {:.3} s, write {:.3} s",
        rayon::current_num_threads(),
        run.read.as_secs_f64(),
        gigabytes(&all, run.read).unwrap_or_default(),
        run.reconcile.as_secs_f64(),
        run.price.as_secs_f64(),
        run.frames.as_secs_f64(),
        run.write.as_secs_f64(),
    ));
    Ok(if run.errors.iter().all(discover::Error::is_left_out) { Outcome::Done } else { Outcome::NotAllDone })
}

/// Billions of bytes per second and thread.
fn gigabytes(measured: &Measured, time: Duration) -> Option<f64> {
    per_second(measured.bytes, time).map(|it| (it / 1e6).round() / 1e3)
}

fn whole(number: Option<f64>) -> Option<f64> {
    number.map(f64::round)
}

#[expect(clippy::cast_precision_loss, reason = "for people")]
fn per_second(count: u64, time: Duration) -> Option<f64> {
    let seconds = time.as_secs_f64();
    (seconds > 0.0 && count > 0).then(|| count as f64 / seconds)
}
