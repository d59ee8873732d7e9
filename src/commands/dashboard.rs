//! `agentlogs dashboard`: the archive as one page.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::process;

use agentlogs::dashboard::{About, page};
use agentlogs::render::grouped;
use anyhow::Context;
use tempfile::TempPath;

use super::report::{cost, priced_with, scope, state_left_out, wrong};
use super::{Outcome, say, tables};
use crate::cli::{Dashboard, Filters};

pub fn run(args: Dashboard) -> anyhow::Result<Outcome> {
    let about = About { filters: filters(&args.filters), prices: priced_with(&args.from)? };
    let scope = scope(args.filters);
    let page = page(&tables(args.from)?, &scope, cost(args.cost), about).map_err(wrong)?;
    write(&args.out, page.html.as_bytes()).with_context(|| args.out.display().to_string())?;
    let (sessions, named, timelines) = (grouped(page.sessions), grouped(page.named), grouped(page.timelines));
    let listed = if page.named < page.sessions { format!(", {named} of them listed") } else { String::new() };
    let size = page.html.len() as f64 / 1e6;
    let name = args.out.display();
    say(&format!("{name}: {size:.1} MB, {sessions} sessions{listed}, {timelines} open to a timeline"));
    state_left_out("", &page.left_out, "row", "time");
    Ok(Outcome::Done)
}

/// Writes a file whole or not at all: beside its place, to which it is renamed. What is there and no plain file, as a link or
/// a pipe, is written through.
fn write(path: &Path, page: &[u8]) -> io::Result<()> {
    if path == Path::new("-") {
        return io::stdout().lock().write_all(page);
    }
    if fs::symlink_metadata(path).is_ok_and(|it| !it.is_file()) {
        return fs::write(path, page);
    }
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}", process::id()));
    let beside = path.with_file_name(name);
    let mut file = File::create_new(&beside)?;
    let beside = TempPath::try_from_path(beside)?;
    file.write_all(page)?;
    drop(file);
    beside.persist(path).map_err(|it| it.error)
}

/// The filters as they were typed.
fn filters(filters: &Filters) -> Vec<String> {
    let named = [
        ("runtime", &filters.runtime),
        ("model", &filters.model),
        ("project", &filters.project),
        ("session", &filters.session),
        ("status", &filters.status),
    ];
    let times = [("since", filters.since), ("until", filters.until)];
    let times = times.into_iter().filter_map(|(name, it)| Some(format!("{name} {}", it?)));
    let undated = filters.undated.map(|undated| format!("undated {}", undated.word()));
    let named = named.into_iter().filter_map(|(name, it)| Some(format!("{name} {}", it.as_ref()?)));
    times.chain(undated).chain(named).chain(filters.labels.iter().map(|it| format!("label {it}"))).collect()
}
