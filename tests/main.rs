//! Tests of the library and the program from outside. Every path is absolute, as the test of the README changes the working
//! directory.

mod adapters;
#[cfg(feature = "archive")]
mod archive;
#[cfg(feature = "archive")]
mod behaviour;
#[cfg(feature = "archive")]
mod bill;
#[cfg(feature = "archive")]
mod browse;
mod calls;
#[cfg(feature = "archive")]
mod charts;
#[cfg(feature = "archive")]
mod cluster;
#[cfg(feature = "archive")]
mod commands;
mod completions;
mod containers;
#[cfg(feature = "archive")]
mod damage;
#[cfg(feature = "archive")]
mod dashboard;
mod databases;
#[cfg(feature = "archive")]
mod drift;
#[cfg(feature = "cloud")]
mod endpoint;
#[cfg(feature = "archive")]
mod evaluations;
#[cfg(feature = "archive")]
mod failures;
#[cfg(feature = "archive")]
mod faults;
#[cfg(feature = "archive")]
mod focus;
mod format_pages;
#[cfg(feature = "archive")]
mod formats;
mod golden;
#[cfg(feature = "archive")]
mod harbor;
#[cfg(unix)]
mod hostile;
mod invariants;
#[cfg(feature = "archive")]
mod lake;
mod layers;
#[cfg(feature = "archive")]
mod limits;
#[cfg(all(feature = "archive", unix))]
mod mcp;
mod moving;
#[cfg(all(feature = "archive", target_os = "linux"))]
mod on_a_terminal;
#[cfg(feature = "archive")]
mod otlp;
#[cfg(feature = "archive")]
mod outcomes;
#[cfg(feature = "archive")]
mod overview;
#[cfg(feature = "archive")]
mod perfetto;
mod places;
mod prefixes;
mod prices;
mod privacy;
#[cfg(feature = "archive")]
mod projects;
#[cfg(feature = "archive")]
mod reports;
#[cfg(feature = "archive")]
mod repositories;
#[cfg(feature = "archive")]
mod requests;
mod rules;
mod sessions;
#[cfg(feature = "archive")]
mod shipped;
#[cfg(feature = "archive")]
mod show;
#[cfg(feature = "archive")]
mod skills;
#[cfg(all(feature = "archive", unix))]
mod statusline;
#[cfg(feature = "archive")]
mod stdin;
#[cfg(feature = "archive")]
mod terminal;
mod tidy;
#[cfg(feature = "archive")]
mod trees;
#[cfg(feature = "archive")]
mod trials;
#[cfg(feature = "archive")]
mod verdicts;
mod views;
#[cfg(feature = "archive")]
mod waste;
#[cfg(all(feature = "archive", unix))]
mod watch;
#[cfg(feature = "archive")]
mod words;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use agentlogs::adapters::TABLES;
use agentlogs::adapters::shared::builder::Retention;
use agentlogs::ingest::{self, Options, Progress};
use agentlogs::input::database;
use agentlogs::input::open::{Budget, Limit};
use agentlogs::ledger;
use agentlogs::ledger::costs;
use agentlogs::model::source::Source;
use agentlogs::model::tables::Tables;
use agentlogs::prices::Catalog;

/// The project's directory.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Copies a directory, with its links as they are.
#[cfg(feature = "archive")]
fn copy(from: &Path, to: &Path) {
    for entry in walkdir::WalkDir::new(from) {
        let entry = entry.unwrap();
        let to = to.join(entry.path().strip_prefix(from).unwrap());
        if entry.file_type().is_symlink() {
            #[cfg(unix)]
            std::os::unix::fs::symlink(std::fs::read_link(entry.path()).unwrap(), to).unwrap();
        } else if entry.file_type().is_dir() {
            std::fs::create_dir_all(to).unwrap();
        } else {
            std::fs::copy(entry.path(), to).unwrap();
        }
    }
}

/// All sample logs, in a fixed order, without their sidecars.
fn samples() -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = walkdir::WalkDir::new(root().join("sample-logs"))
        .into_iter()
        .filter_map(Result::ok)
        .filter(|it| it.file_type().is_file() && !it.path().to_string_lossy().ends_with(".meta.json"))
        .map(walkdir::DirEntry::into_path)
        .collect();
    paths.sort();
    assert!(!paths.is_empty());
    paths
}

/// The lines that an adapter sees of a file.
fn lines_of(path: &Path) -> Vec<u8> {
    let bytes = std::fs::read(path).unwrap();
    if database::is_database(&bytes) {
        database::read(Some(path), &bytes, TABLES, &Budget::new(Limit::Usual, 0)).unwrap().text
    } else {
        bytes
    }
}

/// The sources of the sample logs as an ingest reads them, without values that depend on the machine.
fn facts(content: Retention) -> Vec<Source> {
    static READ: [OnceLock<Vec<Source>>; 3] = [const { OnceLock::new() }; 3];
    READ[content as usize].get_or_init(|| read_facts("sample-logs", content)).clone()
}

/// The sources of the demo: the made-up team that documents and the outputs of commands are about. A new format adds nothing to
/// it.
#[cfg(feature = "archive")]
fn demo_facts() -> Vec<Source> {
    read_facts("demo", Retention::None)
}

fn read_facts(directory: &str, content: Retention) -> Vec<Source> {
    let options = Options { roots: vec![root().join(directory)], content, ..Options::default() };
    let taken = ingest::read(&options, &std::collections::BTreeMap::new(), &Progress::default());
    assert!(taken.errors.is_empty());
    let mut sources = taken.sources;
    let project = dunce::canonicalize(root()).unwrap();
    for source in &mut sources {
        let path = Path::new(&source.path).strip_prefix(&project).unwrap();
        source.path = path.to_string_lossy().into_owned();
        source.modified_at = None;
        source.options = String::new();
    }
    sources.sort_by(|a, b| a.path.cmp(&b.path));
    sources
}

/// The reconciled tables of sources, with the built-in prices.
fn reconciled(sources: Vec<Source>) -> Tables {
    let mut tables = ledger::reconcile(sources);
    costs::price(&mut tables, Catalog::built_in());
    tables
}
