//! The archive: what goes in comes out, in any number of calls, and SQL over it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;
use std::time::{Duration, SystemTime};

use agentlogs::adapters::shared::builder::Retention;
use agentlogs::adapters::{self, Hints};
use agentlogs::analysis::present::{self, Format, TableStyle};
use agentlogs::analysis::reports::{self, REPORTS};
use agentlogs::analysis::views::with_views;
use agentlogs::base::time::Time;
use agentlogs::ingest::{self, Options, Progress};
use agentlogs::ledger;
use agentlogs::ledger::costs;
use agentlogs::model::health::{Health, Reason};
use agentlogs::model::session::{Identity, SessionResult, Tokens, Turn};
use agentlogs::model::source::{Source, SourceStatus};
use agentlogs::model::tables::Tables;
use agentlogs::prices::Catalog;
use agentlogs::store::archive::{self, Archive};
use agentlogs::store::frames::{self, Frames, TABLES, TABLES_OF_LOGS, TABLES_OF_REPOSITORIES};
use agentlogs::store::query;
use polars::prelude::*;
use twox_hash::XxHash3_64;

use crate::{demo_facts, facts, reconciled, root};

fn shown(frame: &DataFrame) -> String {
    let mut out = Vec::new();
    present::render(frame, Format::Markdown, TableStyle::default(), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// Rows in an order of their own: parts come in the order in which they were made.
fn sorted(frame: &DataFrame) -> DataFrame {
    let by: Vec<_> = frame.columns().iter().filter(|it| !it.dtype().is_list()).map(|it| it.name().clone()).collect();
    frame.sort(by, SortMultipleOptions::default().with_nulls_last(true)).unwrap()
}

fn ingest(archive: &Archive, roots: &[std::path::PathBuf]) -> ingest::ReadSummary {
    let writer = archive.write().unwrap();
    let options = Options { roots: roots.to_vec(), ..Options::default() };
    let taken = ingest::read_into(&options, |it| writer.known(it), &Progress::default(), &writer);
    writer.commit().unwrap();
    assert_eq!(archive.check().unwrap().problems, []);
    taken
}

fn sample_frames() -> Vec<(&'static str, DataFrame)> {
    frames::frames(&reconciled(facts(Retention::None))).unwrap()
}

/// An archive is the same to the byte, however many threads made it and whichever instructions they had.
#[test]
fn threads_and_vectors_change_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let files = |name: &str, jobs: &str, level: &str| -> BTreeMap<String, Vec<u8>> {
        let archive = directory.path().join(name);
        let mut command = Command::new(env!("CARGO_BIN_EXE_agentlogs"));
        command.arg("ingest").arg(root().join("sample-logs")).arg("--archive").arg(&archive).args(["--jobs", jobs]);
        assert!(command.env("AGENTLOGS_SIMD", level).output().unwrap().status.success());
        // The sources say when they were looked at.
        let tables = TABLES_OF_LOGS.iter().filter(|it| **it != "sources");
        let parts = tables.flat_map(|it| fs::read_dir(archive.join("current").join(it)).unwrap().map(Result::unwrap));
        parts
            .map(|it| (it.path().strip_prefix(&archive).unwrap().display().to_string(), fs::read(it.path()).unwrap()))
            .collect()
    };
    let expected = files("one", "1", "portable");
    assert!(expected.len() >= TABLES_OF_LOGS.len() - 1);
    for (name, jobs, level) in [("two", "2", "avx2"), ("eight", "8", "widest"), ("many", "8", "portable")] {
        let found = files(name, jobs, level);
        assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
        assert!(found == expected, "{jobs} threads, {level}");
    }
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

/// The packages for Python and Spark list the same tables.
#[test]
fn packages_list_the_tables() {
    let expected: Vec<String> = TABLES.iter().map(|table| format!("    \"{table}\",")).collect();
    for file in ["packages/python/agentlogs/_functions.py", "packages/spark/src/agentlogs_spark/tables.py"] {
        let text = fs::read_to_string(root().join(file)).unwrap();
        let list = text.split_once("TABLES = (\n").unwrap().1.split_once("\n)").unwrap().0;
        assert_eq!(list.lines().collect::<Vec<_>>(), expected, "{file}");
    }
}

/// A column that is empty or 0 in every row of every sample is one that nobody fills.
#[test]
fn every_column_has_values() {
    let mut silent = Vec::new();
    let of_logs = frames::frames(&reconciled(facts(Retention::Full))).unwrap().into_iter();
    for (table, frame) in of_logs.filter(|(table, _)| TABLES_OF_LOGS.contains(table)) {
        for column in frame.columns() {
            let is_zero = |row| column.get(row).unwrap().extract::<f64>() == Some(0.0);
            if (0..column.len()).all(|row| column.get(row).unwrap().is_null() || is_zero(row)) {
                silent.push(format!("{table}.{}", column.name()));
            }
        }
    }
    // What is known of files and of the run, which the samples are read without.
    let of_the_run = ["host", "compression", "modified_at", "message", "ingested_at"].map(|it| format!("sources.{it}"));
    // Every adapter reads all records of the samples that contain counts, models or errors: see tests/drift.rs for others.
    let unread = ["has_counts", "has_model", "has_error"].map(|it| format!("unknown_records.{it}"));
    let expected = [&of_the_run[..], &unread].concat();
    assert_eq!(
        silent, expected,
        "columns that are NULL or 0 in all samples: a sample of a new column's format needs a value for it"
    );
}

/// Logs of any format may lack the name.
#[test]
fn a_tool_without_a_name_is_unknown() {
    let call = |name: &str, id: &str| {
        format!(
            r#"{{"type":"response_item","payload":{{"type":"function_call","name":{name},"arguments":"{{}}","call_id":"{id}"}}}}"#
        )
    };
    let log = [r#"{"type":"session_meta","payload":{"id":"t"}}"#, &call("null", "a"), &call("\"ls\"", "b")].join("\n");
    let sessions = adapters::parse(log.as_bytes(), Hints::default(), Retention::None).sessions;
    let frames = frames::frames(&reconciled(vec![Source { sessions, ..Source::default() }])).unwrap();
    let (_, calls) = frames.iter().find(|(table, _)| *table == "tool_calls").unwrap();
    assert_eq!((calls.height(), calls.column("tool").unwrap().null_count()), (2, 1));
}

#[test]
fn every_named_query_gives_its_rows() {
    let demo = frames::frames(&reconciled(demo_facts())).unwrap();
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        for entry in fs::read_dir(root().join("queries")).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            let tables = demo.iter().map(|(name, frame)| (*name, frame.clone().lazy())).collect();
            let sql = fs::read_to_string(&path).unwrap();
            let frame = query::query(with_views(tables, &sql).unwrap(), &sql).unwrap();
            insta::assert_snapshot!(format!("queries@{name}"), shown(&frame));
        }
    });
}

#[test]
fn what_goes_into_parquet_comes_out() {
    let directory = tempfile::tempdir().unwrap();
    let archive = Archive::at(directory.path().join("archive"));
    let facts = facts(Retention::Full);
    let tables = reconciled(facts.clone());
    let writer = archive.write().unwrap();
    for source in &facts {
        writer.add(source.clone());
    }
    writer.commit().unwrap();
    let known: Vec<_> = archive.facts().unwrap().into_values().collect();
    assert_eq!(known, facts);
    let read = archive.tables().unwrap();
    assert_eq!(read.iter().map(|it| it.0).collect::<Vec<_>>(), TABLES);
    for ((name, read), (_, written)) in read.into_iter().zip(frames::frames(&tables).unwrap()) {
        let read = read.collect().unwrap();
        let (read, written) = (sorted(&read), sorted(&written));
        assert!(read.equals_missing(&written), "{name}\n{}\n{}", shown(&read), shown(&written));
    }
}

/// Each part contains all rows of its sessions: reports read some parts at a time. Returns the number of parts.
fn check_parts(archive: &Archive) -> usize {
    let directory = archive.directory().join("current");
    let keys = |table: &str, part: &str| -> BTreeSet<String> {
        let file = fs::File::open(directory.join(table).join(part)).unwrap();
        let frame = ParquetReader::new(file).finish().unwrap();
        let [runtimes, ids] = ["runtime", "session_id"].map(|name| frame.column(name).unwrap().str().unwrap());
        runtimes.iter().zip(ids.iter()).map(|(runtime, id)| format!("{} {}", runtime.unwrap(), id.unwrap())).collect()
    };
    let parts = fs::read_dir(directory.join("sessions")).unwrap();
    let parts: Vec<String> = parts.map(|part| part.unwrap().file_name().into_string().unwrap()).collect();
    let mut seen = BTreeSet::new();
    for part in &parts {
        let sessions = keys("sessions", part);
        for table in ["turns", "tool_calls", "file_changes", "events"] {
            assert!(keys(table, part).is_subset(&sessions), "{part} {table}");
        }
        assert!(seen.is_disjoint(&sessions), "{part}");
        seen.extend(sessions);
    }
    parts.len()
}

/// A session that is in the logs of several ingests is in one part.
#[test]
fn parts_contain_whole_sessions() {
    let directory = tempfile::tempdir().unwrap();
    let archive = Archive::at(directory.path().join("archive"));
    for (number, id) in ["a", "b", "c", "a", "d"].into_iter().enumerate() {
        let turn = Turn {
            line: 1,
            identity: Identity::Global(format!("msg_{number}").as_str().into()),
            tokens: Tokens { input: Some(1), output: Some(1), ..Tokens::UNKNOWN }.into(),
            ..Turn::default()
        };
        let session = SessionResult {
            session_id: id.to_owned(),
            runtime: "claude".into(),
            format: "claude-transcript".into(),
            line: 1,
            turns: vec![Box::new(turn)].into(),
            ..SessionResult::default()
        };
        let path = format!("{number}.jsonl");
        let sessions = vec![session];
        let writer = archive.write().unwrap();
        writer.add(Source { path, status: SourceStatus::Parsed, sessions, ..Source::default() });
        writer.commit().unwrap();
    }
    assert_eq!(check_parts(&archive), 4);
    let tables = archive.tables().unwrap();
    let rows = |tables: &Frames| tables.table("turns").collect().unwrap().height();
    assert_eq!(tables.partitions().iter().map(rows).sum::<usize>(), 5);
}

/// The id of a message, which compression does not shorten: few turns fill a part.
fn long_id(number: i64, at: i64) -> String {
    let part = |part| format!("{:016x}", XxHash3_64::oneshot(format!("{number} {at} {part}").as_bytes()));
    (0..20).map(part).collect()
}

/// A source of many sessions is kept in pieces, which are reconciled one by one unless something links them: it makes no
/// difference.
#[test]
fn a_large_source_is_reconciled_in_chunks() {
    let session = |number: i64| {
        let turn = |at: i64| {
            // One session repeats a response of another one, far before it.
            let id = if (number, at) == (35, 0) { long_id(2, 0) } else { long_id(number, at) };
            Box::new(Turn {
                line: number * 1000 + at,
                identity: Identity::Global(id.as_str().into()),
                message_id: Some(id.as_str().into()),
                occurred_at: Some(Time::from_micros((number * 1000 + at) * 1_000_000)),
                tokens: Tokens { input: Some(at), output: Some(number), ..Tokens::UNKNOWN }.into(),
                ..Turn::default()
            })
        };
        SessionResult {
            session_id: format!("s{number}"),
            runtime: "claude".into(),
            format: "claude-transcript".into(),
            line: number * 1000,
            turns: (0..120).map(turn).collect(),
            ..SessionResult::default()
        }
    };
    let mut health = Health { lines: 120_000, ..Health::default() };
    health.reject(Reason::CutShort, 7, b"{");
    let large = Source {
        path: "large.jsonl".to_owned(),
        status: SourceStatus::Parsed,
        content_hash: Some("0".to_owned()),
        health,
        sessions: (0..120).map(session).collect(),
        ..Source::default()
    };
    let small = |number| Source {
        path: "small.jsonl".to_owned(),
        status: SourceStatus::Parsed,
        sessions: vec![session(number)],
        ..Source::default()
    };
    // One that shares nothing with it, one that is its copy, and none.
    for others in [vec![small(177)], vec![small(31)], Vec::new()] {
        let directory = tempfile::tempdir().unwrap();
        let archive = Archive::at(directory.path().join("archive"));
        let sources: Vec<Source> = others.into_iter().chain([large.clone()]).collect();
        let expected = frames::frames(&reconciled(sources.clone())).unwrap();
        let writer = archive.write().unwrap();
        sources.iter().cloned().for_each(|it| writer.add(it));
        let mut sums = writer.commit().unwrap().sums;
        if sources.len() == 1 {
            // From what is kept of it.
            let mut writer = archive.write().unwrap();
            writer.reconcile_all();
            sums = writer.commit().unwrap().sums;
            let facts = fs::read_dir(directory.path().join("archive/current/facts")).unwrap();
            let bytes: u64 = facts.map(|file| file.unwrap().metadata().unwrap().len()).sum();
            assert!(bytes > 3 << 20, "{bytes} bytes are less than a part, so that there is one piece only");
        }
        assert_eq!(sums.turns, expected[1].1.height());
        for ((name, found), (_, expected)) in archive.tables().unwrap().into_iter().zip(&expected) {
            assert!(sorted(&found.collect().unwrap()).equals_missing(&sorted(expected)), "{name}");
        }
        let mut known: Vec<_> = archive.facts().unwrap().into_values().collect();
        known.sort_by_key(|it| it.path == large.path);
        assert_eq!(known, sources);
    }
}

/// The samples in three parts and any order, one of them twice and one while it grew, give the tables of one ingest.
#[test]
fn any_number_of_ingests_gives_the_same_tables() {
    let directory = tempfile::tempdir().unwrap();
    let logs = directory.path().join("logs");
    let mut parts: Vec<Vec<std::path::PathBuf>> = vec![Vec::new(); 3];
    for (index, path) in crate::samples().into_iter().enumerate() {
        let to = logs.join(path.strip_prefix(root().join("sample-logs")).unwrap());
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(&path, &to).unwrap();
        parts[index % 3].push(to);
    }
    let ingest = |archive: &Archive, roots: &[std::path::PathBuf]| ingest(archive, roots).unchanged.len();
    let once = Archive::at(directory.path().join("once"));
    assert_eq!(ingest(&once, std::slice::from_ref(&logs)), 0);
    let often = Archive::at(directory.path().join("often"));
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
    check_parts(&often);
    assert_eq!(stable(&once), stable(&often));
}

/// The rows of all tables, without what differs between two ingests of the same logs.
fn stable(archive: &Archive) -> BTreeMap<&'static str, String> {
    let tables = archive.tables().unwrap().into_iter();
    tables
        .map(|(name, it)| (name, it.collect().unwrap().drop_many(["ingested_at", "modified_at"])))
        .map(|(name, it)| (name, shown(&sorted(&it))))
        .collect()
}

/// The first overview of a machine with many logs is one of the newest.
#[test]
fn a_run_that_reads_only_the_newest_logs_changes_nothing_in_the_end() {
    let directory = tempfile::tempdir().unwrap();
    let logs = directory.path().join("logs");
    fs::create_dir(&logs).unwrap();
    let since = SystemTime::now() - Duration::from_hours(1);
    let samples = crate::samples().into_iter().filter(|path| path.extension().is_some_and(|it| it == "jsonl"));
    let mut older = 0;
    for (index, path) in samples.take(12).enumerate() {
        let to = logs.join(format!("{index}.jsonl"));
        fs::copy(&path, &to).unwrap();
        if index % 3 > 0 {
            older += 1;
            let file = fs::File::options().write(true).open(&to).unwrap();
            file.set_modified(since - Duration::from_secs(1)).unwrap();
        }
    }
    let once = Archive::at(directory.path().join("once"));
    ingest(&once, std::slice::from_ref(&logs));
    let twice = Archive::at(directory.path().join("twice"));
    let writer = twice.write().unwrap();
    let micros = since.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_micros();
    let written_since = Some(Time::from_micros(micros.try_into().unwrap()));
    let options = Options { roots: vec![logs.clone()], written_since, ..Options::default() };
    ingest::read_into(&options, |it| writer.known(it), &Progress::default(), &writer);
    assert_eq!(writer.commit().unwrap().sources().count(), 12 - older);
    assert_eq!(ingest(&twice, std::slice::from_ref(&logs)).unchanged.len(), 12 - older);
    assert_eq!(stable(&once), stable(&twice));
}

/// What was read stays, also when another log is written in its place.
#[test]
fn the_old_content_of_an_overwritten_log_is_kept() {
    let directory = tempfile::tempdir().unwrap();
    let archive = Archive::at(directory.path().join("archive"));
    let logs = directory.path().join("logs");
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
            ingest(&archive, std::slice::from_ref(&logs));
            let facts = archive.facts().unwrap().len();
            assert_eq!((archive.sums().unwrap().sessions, facts), (sessions, sources), "{} bytes", content.len());
        }
    }
}

/// The archive outlives the logs: what is deleted of a database was known, and stays.
#[test]
fn a_session_that_is_deleted_of_a_database_stays() {
    let directory = tempfile::tempdir().unwrap();
    let archive = Archive::at(directory.path().join("archive"));
    let path = directory.path().join("opencode.db");
    fs::copy(root().join("sample-logs/opencode-db/child-fork-and-retry.db"), &path).unwrap();
    let tokens_of = || {
        ingest(&archive, std::slice::from_ref(&path));
        let (sums, facts) = (archive.sums().unwrap(), archive.facts().unwrap().len());
        (sums.sessions, sums.tokens, facts)
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
    let directory = tempfile::tempdir().unwrap();
    let archive = Archive::at(directory.path());
    fs::write(directory.path().join("lock"), "").unwrap();
    fs::write(directory.path().join("agentlogs.json"), "").unwrap();
    drop(archive.write().unwrap());
    // Now it is known for what it is, whatever else lies there.
    fs::write(directory.path().join("notes.txt"), "").unwrap();
    drop(archive.write().unwrap());
    let other = tempfile::tempdir().unwrap();
    fs::write(other.path().join("sessions.parquet"), "").unwrap();
    assert!(matches!(Archive::at(other.path()).write(), Err(archive::Error::Foreign(_))));
}

/// Sources that nothing links are reconciled apart with the result of all together.
#[test]
fn groups_are_reconciled_apart_as_together() {
    let facts = facts(Retention::Text);
    let links: Vec<_> = facts.iter().map(ledger::links).collect();
    let groups = ledger::groups(links.iter().map(|it| &**it));
    let mut apart: BTreeMap<usize, Vec<_>> = BTreeMap::new();
    for (group, source) in groups.into_iter().zip(facts.clone()) {
        apart.entry(group).or_default().push(source);
    }
    assert!(apart.len() > 20 && apart.values().any(|it| it.len() > 1));
    let mut frames: BTreeMap<&str, Vec<LazyFrame>> = BTreeMap::new();
    for sources in apart.into_values() {
        for (name, frame) in frames::frames(&reconciled(sources)).unwrap() {
            frames.entry(name).or_default().push(frame.lazy());
        }
    }
    for (name, whole) in frames::frames(&reconciled(facts)).unwrap() {
        let apart = concat(frames.remove(name).unwrap(), UnionArgs::default()).unwrap().collect().unwrap();
        let (apart, whole) = (sorted(&apart), sorted(&whole));
        assert!(apart.equals_missing(&whole), "{name}\n{}\n{}", shown(&apart), shown(&whole));
    }
}

/// Tables that had the rows of other sources tell nothing of them.
#[test]
fn tables_with_spare_capacity_are_as_new_ones() {
    let facts = facts(Retention::Text);
    let mut tables = Tables::default();
    for sources in facts.chunks(7) {
        tables = ledger::reconcile_into(sources.to_vec(), tables);
        assert_eq!(format!("{tables:?}"), format!("{:?}", ledger::reconcile(sources.to_vec())));
        costs::price(&mut tables, Catalog::built_in());
    }
}

/// Merges archives into one by one writer, as `archive merge` does.
fn merge<'a>(into: &Archive, others: impl Iterator<Item = &'a Archive>) {
    let writer = into.write().unwrap();
    for source in others.flat_map(|other| other.known_facts().unwrap().into_values()) {
        writer.merge(source);
    }
    writer.commit().unwrap();
}

/// Archives of several machines become one: the order does not matter, and twice is once.
#[test]
fn archives_merge_in_any_order() {
    let directory = tempfile::tempdir().unwrap();
    let archive = |name: &str| Archive::at(directory.path().join(name));
    let parts = ["a", "b", "c"].map(archive);
    for (number, part) in parts.iter().enumerate() {
        let writer = part.write().unwrap();
        // Neighbours are often parts of one session. Each source is known to two of the three.
        for (_, source) in facts(Retention::None).iter().enumerate().filter(|(index, _)| index % 3 != number) {
            writer.add(source.clone());
        }
        writer.commit().unwrap();
    }
    let merged = |name: &str, order: &[&[usize]]| {
        let whole = archive(name);
        for step in order {
            merge(&whole, step.iter().map(|part| &parts[*part]));
        }
        assert_eq!(whole.check().unwrap().problems, []);
        let tables = whole.tables().unwrap().into_iter();
        tables.map(|(name, it)| format!("{name}\n{}", shown(&sorted(&it.collect().unwrap())))).collect::<Vec<_>>()
    };
    let expected: Vec<_> = sample_frames().iter().map(|(name, it)| format!("{name}\n{}", shown(&sorted(it)))).collect();
    assert_eq!(merged("abc", &[&[0], &[1], &[2]]), expected);
    assert_eq!(merged("cbacc", &[&[2], &[1], &[0], &[2], &[2]]), expected);
    assert_eq!(merged("at-once", &[&[1, 2, 0, 1]]), expected);
}

/// Of two states of a file the later one is kept, whichever is merged first, by one writer or by two.
#[test]
fn the_later_state_of_a_file_is_kept() {
    let directory = tempfile::tempdir().unwrap();
    let logs = directory.path().join("logs");
    fs::create_dir_all(&logs).unwrap();
    let sample = fs::read(root().join("sample-logs/drover-events/quota.jsonl")).unwrap();
    let begun = sample.iter().position(|it| *it == b'\n').unwrap() + 1;
    let states = [("early", &sample[..begun]), ("late", &sample[..])].map(|(name, content)| {
        fs::write(logs.join("a.jsonl"), content).unwrap();
        let archive = Archive::at(directory.path().join(name));
        ingest(&archive, std::slice::from_ref(&logs));
        archive
    });
    for (name, steps) in [
        ("forth", vec![vec![0], vec![1]]),
        ("back", vec![vec![1], vec![0]]),
        ("forth-at-once", vec![vec![0, 1]]),
        ("back-at-once", vec![vec![1, 0]]),
        ("known-and-at-once", vec![vec![0], vec![1, 0]]),
    ] {
        let merged = Archive::at(directory.path().join(name));
        for step in steps {
            merge(&merged, step.into_iter().map(|state| &states[state]));
        }
        assert_eq!(merged.sums().unwrap(), states[1].sums().unwrap(), "{name}");
        assert_eq!(merged.known_facts().unwrap().len(), 1);
    }
}

/// What is forgotten is gone, with its rows; what was linked to it stays whole.
#[test]
fn what_is_forgotten_is_gone() {
    let directory = tempfile::tempdir().unwrap();
    let archive = Archive::at(directory.path().join("archive"));
    ingest(&archive, &[root().join("sample-logs")]);
    let all = archive.sums().unwrap();
    let writer = archive.write().unwrap();
    let paths: Vec<String> = writer.paths().filter(|it| it.contains("/claude-")).map(str::to_owned).collect();
    for path in &paths {
        writer.remove(path);
    }
    let left = writer.commit().unwrap().sums;
    assert_eq!(archive.check().unwrap().problems, []);
    assert!(left.sessions < all.sessions && left.sessions > 0 && left.tokens < all.tokens);
    let sql = "SELECT COUNT(*) AS rows FROM sources WHERE source_path LIKE '%/claude-%'";
    let frame = query::query(archive.tables().unwrap(), sql).unwrap();
    assert_eq!(frame.column("rows").unwrap().get(0).unwrap().extract::<i64>(), Some(0));
    // The logs are still there: the next ingest takes them in again.
    ingest(&archive, &[root().join("sample-logs")]);
    let again = archive.sums().unwrap();
    assert_eq!((again.sessions, again.tokens), (all.sessions, all.tokens));
}

/// Sessions that ended before a day are deleted with all of their parts, also those in other files and without a time; the others stay
/// whole.
#[test]
fn sessions_before_a_day_are_forgotten_with_all_of_their_parts() {
    let ends = |archive: &Archive| {
        let sessions = archive.tables().unwrap().table("sessions").select([
            col("runtime"),
            col("session_id"),
            coalesce(&[col("ended_at"), col("started_at")]).cast(DataType::Int64),
        ]);
        let sessions = sessions.collect().unwrap();
        let key =
            |row: usize| sessions.columns()[..2].iter().map(|it| it.get(row).unwrap().to_string()).collect::<Vec<_>>();
        let end = |row: usize| {
            sessions.columns()[2].i64().unwrap().get(row).map(|micros| Time::from_micros(micros).to_string())
        };
        (0..sessions.height()).map(|row| (key(row), end(row))).collect::<BTreeMap<_, _>>()
    };
    for day in ["2026-10-06", "2100-01-01"] {
        let directory = tempfile::tempdir().unwrap();
        let archive = Archive::at(directory.path().join("archive"));
        ingest(&archive, &[root().join("sample-logs")]);
        let (before, tokens) = (ends(&archive), archive.sums().unwrap().tokens);
        let mut expected = before.clone();
        expected.retain(|_, end| end.as_ref().is_none_or(|end| end.as_str() >= day));
        let mut forget = Command::new(env!("CARGO_BIN_EXE_agentlogs"));
        forget.args(["archive", "forget", "--before", day, "--archive", "archive"]).current_dir(directory.path());
        let output = String::from_utf8(forget.output().unwrap().stderr).unwrap();
        let deleted = format!("deleted {} sessions\n", before.len() - expected.len());
        assert!(output.starts_with(&deleted), "{output}");
        let undated = expected.values().filter(|end| end.is_none()).count();
        assert!(output.contains(&format!("{undated} sessions are kept, as no time of theirs is known")), "{output}");
        assert_eq!(ends(&archive), expected, "{day}");
        assert!(archive.sums().unwrap().tokens < tokens);
        assert_eq!(archive.check().unwrap().problems, []);
    }
}

/// A bit that flips on the disk is found.
#[test]
fn damage_is_found_in_every_file() {
    let directory = tempfile::tempdir().unwrap();
    let archive = Archive::at(directory.path().join("archive"));
    ingest(&archive, &[root().join("sample-logs/drover-events")]);
    let current = dunce::canonicalize(archive.directory().join("current")).unwrap();
    let sources = archive.check().unwrap().sources;
    for entry in walkdir::WalkDir::new(&current) {
        let entry = entry.unwrap();
        let bytes = fs::read(entry.path()).unwrap_or_default();
        if bytes.is_empty() || entry.file_name() == "manifest.json" {
            continue;
        }
        let mut broken = bytes.clone();
        broken[bytes.len() / 2] ^= 1;
        fs::write(entry.path(), broken).unwrap();
        let found = archive.check();
        assert!(found.as_ref().map_or(true, |it| !it.problems.is_empty()), "{}", entry.path().display());
        // Only the index lists the sources.
        let is_index = entry.path().components().any(|part| part.as_os_str() == "index");
        assert!(found.map_or(true, |it| it.sources == sources || is_index), "{}", entry.path().display());
        fs::write(entry.path(), bytes).unwrap();
    }
    assert_eq!(archive.check().unwrap().problems, []);
}

/// Damaged facts are not reconciled: the tables of it would be right by their own checksums.
#[test]
fn damaged_facts_are_not_reconciled() {
    let directory = tempfile::tempdir().unwrap();
    let archive = Archive::at(directory.path().join("archive"));
    ingest(&archive, &[root().join("sample-logs/pi-session")]);
    let facts = archive.directory().join("current/facts");
    let facts = fs::read_dir(facts).unwrap().next().unwrap().unwrap().path();
    let mut bytes = fs::read(&facts).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&facts, bytes).unwrap();
    let mut writer = archive.write().unwrap();
    writer.reconcile_all();
    assert!(matches!(writer.commit(), Err(archive::Error::Damaged { path, .. }) if path.ends_with("facts/1-0")));
    assert!(archive.facts().is_err());
}

/// All files below a directory, with their content.
fn content_of(directory: &std::path::Path) -> BTreeMap<std::path::PathBuf, Vec<u8>> {
    let files = walkdir::WalkDir::new(directory).into_iter().map(Result::unwrap);
    let files = files.filter(|entry| entry.file_type().is_file());
    files.map(|entry| (entry.path().to_owned(), fs::read(entry.path()).unwrap())).collect()
}

/// An archive of a later version, or of one that is too old, is refused by all that reads or writes archives, and stays as it is.
#[test]
fn an_archive_of_another_version_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let archive = Archive::at(directory.path().join("archive"));
    ingest(&archive, &[root().join("sample-logs/pi-session")]);
    let marker = archive.directory().join("agentlogs.json");
    let manifest = archive.directory().join("generation-1/manifest.json");
    let (marker_text, manifest_text) = (fs::read_to_string(&marker).unwrap(), fs::read_to_string(&manifest).unwrap());
    let with_hash = |text: &str| {
        let (before, after) = text.split_at(text.rfind("\"hash\": \"").unwrap() + 9);
        let placeholder = format!("{before}{}{}", "0".repeat(32), &after[32..]);
        let hash = format!("{:032x}", twox_hash::XxHash3_128::oneshot(placeholder.as_bytes()));
        format!("{before}{hash}{}", &after[32..])
    };
    let manifests = [
        (4, manifest_text.replace("  \"version\": 10,\n", "")),
        (4, manifest_text.replace("\"version\": 10", "\"version\": 4")),
        (11, manifest_text.replace("\"version\": 10", "\"version\": 11")),
    ];
    let markers =
        [1, 2, 3, 4, 5, 11].map(|version| (version, &marker, format!(r#"{{"version":{version},"generation":1}}"#)));
    let manifests = manifests.map(|(version, text)| (version, &manifest, with_hash(&text)));
    for (version, file, text) in markers.into_iter().chain(manifests) {
        fs::write(&marker, &marker_text).unwrap();
        fs::write(&manifest, &manifest_text).unwrap();
        archive.check().unwrap();
        fs::write(file, text).unwrap();
        let before = content_of(archive.directory());
        let errors = [
            archive.sums().err(),
            archive.tables().err(),
            archive.check().err(),
            archive.facts().err(),
            archive.write().err(),
            archive.repair().err(),
        ];
        for error in errors {
            let error = error.unwrap();
            assert!(matches!(error, archive::Error::Version { found, .. } if found == version), "{error}");
            let advice = if version < 6 { "into a new directory" } else { "use a newer agentlogs" };
            assert!(error.to_string().contains(advice), "{error}");
        }
        assert!(content_of(archive.directory()) == before);
    }
}

/// The named queries are the SQL that all engines have: functions that mean the same everywhere, a place for NULL in every
/// order, and syntax that Spark and DuckDB read as well.
#[test]
fn named_queries_are_sql_for_every_engine() {
    use sqlparser::ast::{Expr, Statement, visit_expressions};
    use sqlparser::dialect::{DatabricksDialect, Dialect, DuckDbDialect};
    const FUNCTIONS: [&str; 9] = ["AVG", "COALESCE", "COUNT", "LAG", "MAX", "MEDIAN", "MIN", "NULLIF", "SUM"];
    let queries: Vec<_> = fs::read_dir(root().join("queries")).unwrap().map(|it| it.unwrap().path()).collect();
    assert!(queries.len() >= 15);
    for path in queries {
        let text = fs::read_to_string(&path).unwrap();
        for dialect in [&DatabricksDialect {} as &dyn Dialect, &DuckDbDialect {}] {
            let statements = sqlparser::parser::Parser::parse_sql(dialect, &text).unwrap();
            let [Statement::Query(_)] = &statements[..] else { panic!("{}", path.display()) };
            let _: std::ops::ControlFlow<()> = visit_expressions(&statements, |expression| {
                if let Expr::Function(function) = expression {
                    let name = function.name.to_string();
                    assert!(FUNCTIONS.contains(&name.as_str()), "{}: {name}", path.display());
                }
                std::ops::ControlFlow::Continue(())
            });
        }
        for list in ["models", "labels"] {
            assert!(!text.contains(&format!("{list},")) && !text.contains(&format!(".{list}")), "{}", path.display());
        }
    }
}

/// Sessions that are written as trajectories and read again have the tokens and calls that they had.
#[test]
fn an_exported_trajectory_has_the_rows_of_its_session() {
    use agentlogs::analysis::export::Trajectories;
    let directory = tempfile::tempdir().unwrap();
    let told = |tables: &Tables| {
        let mut all = BTreeMap::new();
        for session in &tables.sessions {
            let key = (session.session.runtime.to_string(), session.session.session_id.clone());
            all.insert(key, (session.tokens.kinds(), Vec::new()));
        }
        for call in &tables.tool_calls {
            let session = &tables.sessions[call.session].session;
            let calls = all.get_mut(&(session.runtime.to_string(), session.session_id.clone()));
            let call = &call.call;
            // An id that came twice in one step has got a number.
            let id = call.call_id.split('#').next().unwrap().to_owned();
            calls.unwrap().1.push((id, call.tool.clone(), call.status, call.is_subagent));
        }
        for it in all.values_mut() {
            it.1.sort_by_key(|it| format!("{it:?}"));
        }
        all
    };
    for content in [Retention::None, Retention::Full] {
        let tables = reconciled(facts(content));
        let frames = frames::frames(&tables).unwrap().into_iter().map(|(name, it)| (name, it.lazy())).collect();
        for trajectory in Trajectories::new(&frames).unwrap().iter() {
            let file = fs::File::create(directory.path().join(&trajectory.file_name)).unwrap();
            trajectory.write(std::io::BufWriter::new(file)).unwrap();
        }
        let options = Options { roots: vec![directory.path().to_owned()], ..Options::default() };
        let again = reconciled(ingest::read(&options, &BTreeMap::new(), &Progress::default()).sources);
        let (before, after) = (told(&tables), told(&again));
        assert_eq!(before.keys().collect::<Vec<_>>(), after.keys().collect::<Vec<_>>());
        for (key, before) in before {
            assert_eq!(before, after[&key], "{key:?}");
        }
    }
}

/// Filters choose sessions; all tables have the rows of these.
#[test]
fn an_export_holds_the_sessions_in_scope_and_what_belongs_to_them() {
    use agentlogs::analysis::export::in_scope;
    use agentlogs::analysis::reports::Scope;
    let tables = sample_frames().into_iter().map(|(name, it)| (name, it.lazy())).collect();
    let rows = |only: &[(&str, &str)], since: Option<&str>| -> Vec<usize> {
        let only = only.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let scope = Scope { only, since: since.map(|it| it.parse().unwrap()), ..Scope::default() };
        let kept = in_scope(&tables, &scope).unwrap().0;
        kept.into_iter().take(TABLES_OF_LOGS.len()).map(|(_, it)| it.collect().unwrap().height()).collect()
    };
    assert_eq!(rows(&[("runtime", "drover")], None), [4, 9, 6, 1, 9, 0, 0, 4, 0, 0]);
    assert_eq!(rows(&[("runtime", "drover"), ("status", "in*")], Some("2026-10-01"))[..3], [1, 1, 1]);
    assert_eq!(rows(&[("runtime", "drover"), ("status", "success")], Some("2026-10-01")), [0; 10]);
    // A rejected line belongs to its file.
    assert_eq!(rows(&[("runtime", "terminus-2")], None)[7..], [1, 1, 0]);
    assert_eq!(rows(&[("project", "/nowhere")], None), [0; 10]);
}

/// Changes the files of the archive in a directory, or its link.
#[cfg(unix)]
type ChangeFiles = fn(&std::path::Path);

/// Nothing of ours depends on the link `current`: a copy that dropped it, followed it, or has an old one, is read, and the next ingest
/// goes on from it and writes the link again.
#[cfg(unix)]
#[test]
fn a_copy_is_read_and_written_whatever_its_link_is() {
    let directory = tempfile::tempdir().unwrap();
    let original = Archive::at(directory.path().join("original"));
    ingest(&original, &[root().join("sample-logs/pi-session")]);
    ingest(&original, &[root().join("sample-logs/drover-events")]);
    let sums = original.sums().unwrap();
    let links: [(&str, ChangeFiles); 5] = [
        ("dropped", |_| {}),
        ("followed", |copy| crate::copy(&copy.join("generation-2"), &copy.join("current"))),
        ("earlier", |copy| std::os::unix::fs::symlink("generation-1", copy.join("current")).unwrap()),
        ("elsewhere", |copy| std::os::unix::fs::symlink("/nowhere", copy.join("current")).unwrap()),
        ("a file", |copy| fs::write(copy.join("current"), "generation-1").unwrap()),
    ];
    for (name, link) in links {
        let copy = Archive::at(directory.path().join(name));
        crate::copy(original.directory(), copy.directory());
        let current = copy.directory().join("current");
        fs::remove_file(&current).unwrap();
        link(copy.directory());
        assert_eq!(copy.sums().unwrap(), sums, "{name}");
        assert_eq!(copy.check().unwrap().problems, [], "{name}");
        // Nothing has changed: only the link is written.
        copy.write().unwrap().commit().unwrap();
        assert_eq!(fs::read_link(&current).unwrap(), std::path::Path::new("generation-2"), "{name}");
        ingest(&copy, &[root().join("sample-logs/claude-stream-json")]);
        assert_eq!(fs::read_link(&current).unwrap(), std::path::Path::new("generation-3"), "{name}");
        assert_eq!(copy.check().unwrap().problems, [], "{name}");
    }
}

/// Where links cannot be made, there is no `current`, which would be of an earlier state, and the archive is the same.
#[cfg(unix)]
#[test]
fn an_archive_without_links_is_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let archive = |name: &str, without_links: bool, logs: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_agentlogs"));
        command.args(["ingest", logs, "--archive"]).arg(directory.path().join(name)).current_dir(root());
        if without_links {
            command.env("AGENTLOGS_WITHOUT_LINKS", "1");
        }
        assert!(command.output().unwrap().status.success());
        Archive::at(directory.path().join(name))
    };
    for logs in ["sample-logs/pi-session", "sample-logs/drover-events"] {
        let (linked, copied) = (archive("linked", false, logs), archive("copied", true, logs));
        assert_eq!(linked.sums().unwrap(), copied.sums().unwrap());
        assert!(fs::symlink_metadata(copied.directory().join("current")).is_err());
        let content = |archive: &Archive| {
            let mut content = content_of(archive.directory());
            content.retain(|path, _| path.extension().is_some_and(|extension| extension == "parquet"));
            content
                .into_keys()
                .map(|path| path.strip_prefix(archive.directory()).unwrap().to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(content(&linked), content(&copied));
    }
    // A later ingest with links makes the link, one without removes it.
    let linked = archive("copied", false, "sample-logs/claude-stream-json");
    assert!(linked.directory().join("current/turns").is_dir());
    archive("copied", true, "sample-logs/gemini-chat");
    assert!(fs::symlink_metadata(linked.directory().join("current")).is_err());
    assert_eq!(linked.check().unwrap().problems, []);
}

/// A directory that holds a generation is an archive, whatever else is missing: nothing advises to make another one there.
#[cfg(unix)]
#[test]
fn what_leads_to_a_generation_may_be_damaged() {
    let directory = tempfile::tempdir().unwrap();
    let original = Archive::at(directory.path().join("original"));
    ingest(&original, &[root().join("sample-logs/drover-events")]);
    let sums = original.sums().unwrap();
    let damages: [ChangeFiles; 8] = [
        |it| fs::remove_file(it.join("agentlogs.json")).unwrap(),
        |it| fs::write(it.join("agentlogs.json"), [0; 13]).unwrap(),
        |it| fs::write(it.join("agentlogs.json"), "{}").unwrap(),
        |it| fs::write(it.join("agentlogs.json"), r#"{"version":10,"generation":"../generation-1"}"#).unwrap(),
        |it| fs::write(it.join("agentlogs.json"), r#"{"version":10,"generation":9,"manifest":"0"}"#).unwrap(),
        |it| fs::write(it.join("agentlogs.json"), r#"{"version":10,"generation":1,"manifest":"0"}"#).unwrap(),
        |it| fs::write(it.join("agentlogs.json"), r#"{"version":10,"generation":0,"manifest":"0"}"#).unwrap(),
        |it| fs::write(it.join("generation-1/index/1-0"), "x").unwrap(),
    ];
    for (number, damage) in damages.into_iter().enumerate() {
        let copy = Archive::at(directory.path().join(number.to_string()));
        crate::copy(original.directory(), copy.directory());
        damage(copy.directory());
        let checked = copy.check().map(|it| it.problems);
        assert!(!matches!(&checked, Ok(problems) if problems.is_empty()), "{number}");
        let error = copy.write().err().unwrap().to_string();
        assert!(error.contains("archive repair") && !error.contains("ingest"), "{number}: {error}");
        let repair = copy.repair().unwrap();
        assert!(!repair.problems.is_empty() && repair.lost.is_empty(), "{number}");
        assert_eq!(repair.writer.commit().unwrap().sums, sums, "{number}");
        assert_eq!(copy.check().unwrap().problems, [], "{number}");
    }
}

/// The archives of earlier versions in tests/archives are read, and the next write upgrades them: no session is lost, although the
/// logs are gone, and the user's prices stay.
///
/// An archive of the present version is added when the version is raised: `agentlogs ingest` of some sample-logs from a directory
/// outside the home directory, twice, with own prices; then `tar -c . | zstd -19`.
#[test]
fn archives_of_earlier_versions_are_upgraded() {
    for entry in fs::read_dir(root().join("tests/archives")).unwrap() {
        let directory = tempfile::tempdir().unwrap();
        let packed = fs::File::open(entry.unwrap().path()).unwrap();
        tar::Archive::new(zstd::Decoder::new(packed).unwrap()).unpack(directory.path()).unwrap();
        let archive = Archive::at(directory.path());
        let read = |sql: &str| {
            let tables = archive.tables().unwrap();
            shown(&query::query(tables, sql).unwrap())
        };
        let sessions = "SELECT runtime, session_id, total_tokens, cost_usd FROM sessions ORDER BY runtime, session_id";
        let sums = archive.sums().unwrap();
        assert_eq!((sums.sessions, sums.turns, sums.tool_calls, sums.tokens), (25, 72, 46, 810_653));
        let before = read(sessions);
        assert_eq!(
            read("SELECT COUNT(*) AS verdicts FROM verdicts"),
            read("SELECT COUNT(*) AS verdicts FROM verdicts WHERE passed")
        );
        // Columns of later versions are NULL until then.
        for report in REPORTS {
            report.run(&archive.tables().unwrap(), &reports::Options::default()).unwrap();
        }
        assert_eq!(archive.check().unwrap().problems, []);
        archive.write().unwrap().commit().unwrap();
        let pointer = fs::read_to_string(directory.path().join("agentlogs.json")).unwrap();
        assert!(pointer.starts_with(r#"{"version":10,"generation":4,"manifest":""#), "{pointer}");
        assert_eq!(archive.check().unwrap().problems, []);
        assert_eq!(read(sessions), before);
        assert_eq!(archive.own_prices().unwrap().len(), 1);
        // An ingest of logs of which all but one are known keeps the others.
        ingest(&archive, &[root().join("sample-logs/pi-session")]);
        let sums = archive.sums().unwrap();
        assert_eq!((sums.sessions, sums.tokens), (26, 832_141));
    }
}

/// Repair upgrades too, also where the link of version 6 is missing or wrong.
#[cfg(unix)]
#[test]
fn an_earlier_archive_is_repaired() {
    let packed = fs::read(root().join("tests/archives/version-6.tar.zst")).unwrap();
    let links: [(bool, ChangeFiles); 3] = [
        (true, |path| fs::remove_file(path).unwrap()),
        (true, |path| {
            fs::remove_file(path).unwrap();
            fs::write(path, "generation-3").unwrap();
        }),
        (false, |path| {
            fs::remove_file(path).unwrap();
            std::os::unix::fs::symlink("../elsewhere", path).unwrap();
        }),
    ];
    for (is_read, change) in links {
        let directory = tempfile::tempdir().unwrap();
        tar::Archive::new(zstd::Decoder::new(&packed[..]).unwrap()).unpack(directory.path()).unwrap();
        change(&directory.path().join("current"));
        let archive = Archive::at(directory.path());
        assert_eq!(archive.sums().is_ok(), is_read);
        archive.repair().unwrap().writer.commit().unwrap();
        assert_eq!(archive.sums().unwrap().sessions, 25);
        assert_eq!(archive.check().unwrap().problems, []);
    }
}

/// The generation that a reader has opened stays until it is done, however many others are made meanwhile.
#[test]
fn a_snapshot_is_read_beside_any_number_of_writers() {
    let directory = tempfile::tempdir().unwrap();
    let archive = Archive::at(directory.path().join("archive"));
    ingest(&archive, &[root().join("sample-logs/drover-events")]);
    let snapshot = archive.snapshot().unwrap();
    let tables = snapshot.tables().unwrap();
    let compact = || {
        let mut writer = archive.write().unwrap();
        writer.reconcile_all();
        writer.commit().unwrap();
    };
    (0..4).for_each(|_| compact());
    assert!(archive.directory().join("generation-1").is_dir() && !archive.directory().join("generation-3").exists());
    assert_eq!(tables.iter().len(), TABLES.len());
    for (name, table) in tables {
        assert!(
            table.collect().unwrap().height() > 0
                || ["limits", "verdicts", "rejects", "unknown_records"].contains(&name)
                || TABLES_OF_REPOSITORIES.contains(&name),
            "{name}"
        );
    }
    drop(snapshot);
    compact();
    assert!(!archive.directory().join("generation-1").exists());
}

/// Parts whose times are all before a time are not read for what happened since; no row since then is missing.
#[test]
fn recent_tables_have_all_recent_rows() {
    let archive = Archive::at(tempfile::tempdir().unwrap().keep());
    for format in ["pi-session", "claude-transcript", "codex-rollout", "drover-events"] {
        ingest(&archive, &[root().join("sample-logs").join(format)]);
    }
    let snapshot = archive.snapshot().unwrap();
    let columns = [("sessions", "ended_at"), ("turns", "occurred_at"), ("limits", "resets_at")];
    let mut left_out = 0;
    for (table, column) in columns {
        let times = snapshot.tables().unwrap().table(table).select([col(column)]).unique(None, UniqueKeepStrategy::Any);
        let times = times.collect().unwrap().column(column).unwrap().datetime().unwrap().physical().clone();
        let since = times.iter().flatten().chain([i64::MAX]).map(Time::from_micros);
        for since in since {
            let recent = |frames: Frames| {
                let is_recent = col(column).gt_eq(frames::time_value(since));
                let rows = frames.table(table).filter(is_recent).collect().unwrap();
                sorted(&rows)
            };
            let tables = snapshot.recent_tables(&[table], since).unwrap();
            let all = snapshot.tables().unwrap();
            let height = |frames: &Frames| frames.table(table).collect().unwrap().height();
            left_out += height(&all) - height(&tables);
            assert!(recent(tables).equals_missing(&recent(all)), "{table} since {since:?}");
        }
    }
    assert!(left_out > 0);
    fs::remove_dir_all(archive.directory()).unwrap();
}

/// A check reads one state, which stays until it is done, so that writers next to it cause no reports of damage.
#[test]
fn a_check_beside_a_writer_reports_no_damage() {
    let directory = tempfile::tempdir().unwrap();
    let archive = Archive::at(directory.path().join("archive"));
    ingest(&archive, &[root().join("sample-logs/drover-events")]);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for _ in 0..60 {
                let mut writer = archive.write().unwrap();
                writer.reconcile_all();
                writer.commit().unwrap();
            }
        });
        let mut checks = 0;
        while !writer.is_finished() || checks < 3 {
            assert_eq!(archive.check().unwrap().problems, []);
            checks += 1;
        }
    });
}

/// A part whose name leads out of the archive is damage: a writer would link and copy its files.
#[test]
fn parts_outside_of_an_archive_are_damage() {
    let directory = tempfile::tempdir().unwrap();
    let archive = Archive::at(directory.path().join("archive"));
    ingest(&archive, &[root().join("sample-logs/drover-events")]);
    let path = archive.directory().join("generation-1/manifest.json");
    let text = fs::read_to_string(&path).unwrap();
    for (from, to) in [("\"name\": \"1-0\"", "\"name\": \"../../1-0\""), ("\"turns\": {", "\"../turns\": {")] {
        assert!(text.contains(from));
        fs::write(&path, text.replace(from, to)).unwrap();
        let error = archive.sums().unwrap_err().to_string();
        assert!(error.contains("which is not in the archive"), "{error}");
        let error = archive.write().map(drop).unwrap_err().to_string();
        assert!(error.contains("which is not in the archive"), "{error}");
    }
}

/// Each example of docs/sql.md has an answer. `scripts/elsewhere.py` compares the answers with those of DuckDB.
#[test]
fn every_example_of_sql_has_rows() {
    let page = fs::read_to_string(root().join("docs/sql.md")).unwrap();
    let examples: Vec<&str> =
        page.split("```sql\n").skip(1).map(|block| block.split("```").next().unwrap_or_default()).collect();
    assert!(examples.len() >= 6);
    for sql in examples {
        let tables = sample_frames().into_iter().map(|(name, frame)| (name, frame.lazy())).collect();
        let frame = query::query(tables, sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        assert!(frame.height() > 0, "{sql}");
    }
}

/// A command that finds nothing to keep makes no archive.
#[test]
fn nothing_found_writes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join("empty")).unwrap();
    let said = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_agentlogs"));
        let output =
            command.current_dir(directory.path()).args(args).args(["--archive", "new/archive"]).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        assert!(!directory.path().join("new").exists(), "{args:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    for (path, expected) in [("nowhere", "nowhere: no such file"), ("empty", "no files in empty; `agentlogs runtimes`")]
    {
        let said = said(&["ingest", path]);
        assert!(said.contains(expected), "{said}");
    }
    for args in [
        &["archive", "merge", "nowhere"][..],
        &["archive", "compact"],
        &["archive", "check"],
        &["archive", "repair"],
        &["archive", "forget", "x"],
        &["prices", "import", "nowhere.toml"],
        &["report", "cost"],
    ] {
        said(args);
    }
    // A directory that was there stays.
    fs::create_dir(directory.path().join("mine")).unwrap();
    let archive = Archive::at(directory.path().join("mine"));
    drop(archive.write().unwrap());
    assert_eq!(fs::read_dir(archive.directory()).unwrap().count(), 0);
}

/// An ingest reports damage that it meets, and writes tables again whose facts are intact.
#[test]
fn an_ingest_reports_damage() {
    let directory = tempfile::tempdir().unwrap();
    let archive = directory.path().join("archive");
    let run = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_agentlogs"));
        let output = command.current_dir(root()).args(args).arg("--archive").arg(&archive).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let damage = |kind: &str| {
        let file = fs::read_dir(archive.join("current").join(kind)).unwrap().next().unwrap().unwrap().path();
        let mut bytes = fs::read(&file).unwrap();
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        fs::write(file, bytes).unwrap();
    };
    assert_eq!(run(&["ingest", "sample-logs/drover-events"]).0, Some(0));
    damage("turns");
    let (status, said) = run(&["ingest", "sample-logs/pi-session"]);
    assert!(status == Some(0) && said.contains("turns") && said.contains("written again"), "{said}");
    damage("sessions");
    // Also if no log has changed.
    let (status, said) = run(&["ingest", "sample-logs/pi-session"]);
    assert!(status == Some(0) && said.contains("sessions/") && said.contains("written again"), "{said}");
    damage("facts");
    for logs in ["sample-logs/codex-exec", "sample-logs/pi-session"] {
        let (status, said) = run(&["ingest", logs]);
        assert!(status == Some(1) && said.contains("facts") && said.contains("archive repair"), "{said}");
    }
    assert_eq!(run(&["report", "cost"]).0, Some(0));
    let (status, said) = run(&["archive", "repair"]);
    assert!(status == Some(0) && said.contains("read again"), "{said}");
    assert_eq!(run(&["archive", "check"]).0, Some(0));
}

/// What a first ingest leaves that was cut off is cleaned up; what only bears the same names is somebody's.
#[test]
fn a_directory_of_somebody_else_stays_as_it_is() {
    let keeps = |name: &str, content: &str| {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        assert!(Archive::at(directory.path()).write().is_err(), "{name}");
        assert_eq!(fs::read_to_string(path).unwrap(), content);
    };
    keeps("next/notes.txt", "mine");
    keeps("next", "mine");
    keeps("agentlogs.json", "{\"mine\": true}");
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir_all(directory.path().join("next/turns")).unwrap();
    fs::write(directory.path().join("next/spool"), "").unwrap();
    fs::write(directory.path().join("agentlogs.json"), [0; 8]).unwrap();
    let archive = Archive::at(directory.path());
    archive.write().unwrap().commit().unwrap();
    assert_eq!(archive.check().unwrap().problems, []);
}
