//! The archive: what goes in comes out, in any number of calls, and SQL over it.

use std::collections::BTreeMap;
use std::fs;

use agentlogs::archive::{self, Archive};
use agentlogs::builder::Content;
use agentlogs::frames::{self, TABLES};
use agentlogs::ingest::{self, Options, Progress};
use agentlogs::query;
use agentlogs::render::{self, Format, Look};
use polars::prelude::*;

use crate::{facts, root, settled};

fn shown(frame: &DataFrame) -> String {
    let mut out = Vec::new();
    render::render(frame, Format::Markdown, Look::default(), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn sample_frames() -> Vec<(&'static str, DataFrame)> {
    frames::frames(&settled(facts(Content::None))).unwrap()
}

#[test]
fn the_schema_is_the_contract() {
    let lines: Vec<_> = frames::schema()
        .iter()
        .map(|it| format!("{}.{} {}: {}", it.table, it.column, it.type_name(), it.about))
        .collect();
    insta::with_settings!({ prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("schema", lines.join("\n"));
    });
}

#[test]
fn every_named_query_gives_its_rows() {
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        for entry in fs::read_dir(root().join("queries")).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            let tables = sample_frames().into_iter().map(|(name, it)| (name, it.lazy())).collect();
            let frame = query::query(tables, &fs::read_to_string(&path).unwrap()).unwrap();
            insta::assert_snapshot!(format!("queries@{name}"), shown(&frame));
        }
    });
}

#[test]
fn what_goes_into_parquet_comes_out() {
    let folder = tempfile::tempdir().unwrap();
    let archive = Archive::at(folder.path().join("archive"));
    let facts = facts(Content::Full);
    let tables = settled(facts.clone());
    let _lock = archive.lock().unwrap();
    archive.write(&facts, &tables).unwrap();
    let known: Vec<_> = archive.facts().unwrap().into_values().collect();
    assert_eq!(known, facts);
    let read = archive.tables().unwrap();
    assert_eq!(read.iter().map(|it| it.0).collect::<Vec<_>>(), TABLES);
    for ((name, read), (_, written)) in read.into_iter().zip(frames::frames(&tables).unwrap()) {
        let read = read.collect().unwrap();
        assert!(read.equals_missing(&written), "{name}\n{}\n{}", shown(&read), shown(&written));
    }
}

/// The samples in three parts and any order, one of them twice and one while it grew, give the tables of one ingest.
#[test]
fn any_number_of_ingests_gives_the_same_tables() {
    let folder = tempfile::tempdir().unwrap();
    let logs = folder.path().join("logs");
    let mut parts: Vec<Vec<std::path::PathBuf>> = vec![Vec::new(); 3];
    for (index, path) in crate::samples().into_iter().enumerate() {
        let to = logs.join(path.strip_prefix(root().join("sample-logs")).unwrap());
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(&path, &to).unwrap();
        parts[index % 3].push(to);
    }
    let ingest = |archive: &Archive, roots: &[std::path::PathBuf]| {
        let _lock = archive.lock().unwrap();
        let known = archive.facts().unwrap();
        let options = Options { roots: roots.to_vec(), ..Options::default() };
        let taken = ingest::read(&options, &known, &Progress::default());
        let unchanged = taken.unchanged.len();
        let facts = archive::join(known, taken.sources);
        archive.write(&facts, &settled(facts.clone())).unwrap();
        unchanged
    };
    let once = Archive::at(folder.path().join("once"));
    assert_eq!(ingest(&once, std::slice::from_ref(&logs)), 0);
    let often = Archive::at(folder.path().join("often"));
    // A log that grows between ingests replaces what was known of it.
    let grows = parts[2][0].clone();
    let whole = fs::read(&grows).unwrap();
    fs::write(&grows, &whole[..whole.len() / 2]).unwrap();
    ingest(&often, &parts[2]);
    fs::write(&grows, &whole).unwrap();
    for part in [&parts[2], &parts[0], &parts[1]] {
        ingest(&often, part);
    }
    assert_eq!(ingest(&often, std::slice::from_ref(&logs)), crate::samples().len());
    let stable = |archive: &Archive| -> BTreeMap<&str, String> {
        let drop = ["ingested_at", "modified_at"];
        archive
            .tables()
            .unwrap()
            .into_iter()
            .map(|(name, it)| (name, it.collect().unwrap().drop_many(drop)))
            .map(|(name, it)| (name, shown(&it)))
            .collect()
    };
    assert_eq!(stable(&once), stable(&often));
}

/// What was read stays, also when another log is written in its place.
#[test]
fn a_log_that_is_overwritten_is_set_aside() {
    let folder = tempfile::tempdir().unwrap();
    let archive = Archive::at(folder.path().join("archive"));
    let logs = folder.path().join("logs");
    let log = logs.join("out.jsonl");
    fs::create_dir_all(&logs).unwrap();
    let sample = |name: &str| fs::read(root().join("sample-logs").join(name)).unwrap();
    let (one, other) = (sample("drover-events/quota.jsonl"), sample("drover-events/paused.jsonl"));
    let begun = one.iter().position(|it| *it == b'\n').unwrap() + 1;
    // A log that grows, is overwritten, overwritten back, and emptied; each state is looked at twice.
    let states = [(&one[..begun], 1, 1), (&one[..], 1, 1), (&other[..], 2, 2), (&one[..], 2, 3), (&[][..], 2, 3)];
    for (content, sessions, sources) in states {
        fs::write(&log, content).unwrap();
        for _ in 0..2 {
            let known = archive.facts().unwrap();
            let _lock = archive.lock().unwrap();
            let options = Options { roots: vec![logs.clone()], ..Options::default() };
            let taken = ingest::read(&options, &known, &Progress::default());
            let facts = archive::join(known, taken.sources);
            let tables = settled(facts.clone());
            assert_eq!((tables.sessions.len(), facts.len()), (sessions, sources), "{} bytes", content.len());
            archive.write(&facts, &tables).unwrap();
        }
    }
}

/// The archive outlives the logs: what is deleted of a database was known, and stays.
#[test]
fn a_session_that_is_deleted_of_a_database_stays() {
    let folder = tempfile::tempdir().unwrap();
    let archive = Archive::at(folder.path().join("archive"));
    let path = folder.path().join("opencode.db");
    fs::copy(root().join("sample-logs/opencode-db/child-fork-and-retry.db"), &path).unwrap();
    let tokens_of = || {
        let known = archive.facts().unwrap();
        let _lock = archive.lock().unwrap();
        let options = Options { roots: vec![path.clone()], ..Options::default() };
        let taken = ingest::read(&options, &known, &Progress::default());
        let facts = archive::join(known, taken.sources);
        let tables = settled(facts.clone());
        archive.write(&facts, &tables).unwrap();
        let tokens: i64 = tables.turns.iter().filter_map(|it| it.turn.tokens.total()).sum();
        (tables.sessions.len(), tokens, facts.len())
    };
    let (sessions, tokens, _) = tokens_of();
    let agent = rusqlite::Connection::open(&path).unwrap();
    for (id, sources) in [("ses_2a91c1b40ffeHq5sNd7RbXwPzC", 2), ("ses_2a91c4f60ffeWvT3mUq8LrYkZd", 3)] {
        agent.execute("PRAGMA foreign_keys = ON", []).unwrap();
        agent.execute("DELETE FROM session WHERE id = ?1", [id]).unwrap();
        for _ in 0..2 {
            assert_eq!(tokens_of(), (sessions, tokens, sources), "{id}");
        }
    }
}

#[test]
fn a_first_ingest_that_was_killed_can_be_done_again() {
    let folder = tempfile::tempdir().unwrap();
    let archive = Archive::at(folder.path());
    for name in ["lock", "sessions.parquet", "turns.parquet.next"] {
        fs::write(folder.path().join(name), "").unwrap();
    }
    assert!(archive.lock().is_ok());
    fs::write(folder.path().join("notes.txt"), "").unwrap();
    assert!(matches!(archive.lock(), Err(archive::Error::Foreign(_))));
    // What `export` wrote is no archive that was begun.
    fs::remove_file(folder.path().join("notes.txt")).unwrap();
    fs::remove_file(folder.path().join("lock")).unwrap();
    assert!(matches!(archive.lock(), Err(archive::Error::Foreign(_))));
}
