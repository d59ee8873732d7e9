//! The steps of a cluster's job (`agentlogs extract`) write the lake that one machine writes.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use agentlogs::ledger;
use agentlogs::store::archive::Archive;
use agentlogs::store::arrow_stream::{FrameWriter, read_frames};
use agentlogs::store::frames::Frames;
use agentlogs::store::lake::Lake;
use polars::prelude::*;

use crate::{copy, root};

/// Runs a step with these bytes on stdin, and returns its exit status, stdout and stderr.
fn run(directory: &Path, args: &[&str], stdin: &[u8]) -> (Option<i32>, Vec<u8>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_agentlogs"));
    command.args(args).current_dir(directory).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    let stdin = stdin.to_vec();
    let feeder = std::thread::spawn(move || drop(pipe.write_all(&stdin)));
    let output = child.wait_with_output().unwrap();
    feeder.join().unwrap();
    (output.status.code(), output.stdout, String::from_utf8(output.stderr).unwrap())
}

fn step(directory: &Path, args: &[&str], stdin: &[u8]) -> DataFrame {
    let (status, stdout, stderr) = run(directory, args, stdin);
    assert_eq!(status, Some(0), "{args:?}: {stderr}");
    let mut frames = read_frames(&stdout[..]).unwrap();
    let first = frames.next().unwrap().unwrap();
    frames.fold(first, |all, frame| all.vstack(&frame.unwrap()).unwrap())
}

fn stream(frame: &DataFrame) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = FrameWriter::new(&mut bytes, frame.schema()).unwrap();
    writer.write(frame).unwrap();
    writer.finish().unwrap();
    bytes
}

/// The files of a directory as a list for `--files-from`.
fn list(directory: &Path) -> Vec<u8> {
    let files = walkdir::WalkDir::new(directory).into_iter().map(|entry| entry.unwrap().into_path());
    files.filter(|path| path.is_file()).flat_map(|path| [path.to_str().unwrap().as_bytes(), b"\n"].concat()).collect()
}

/// Rows for `--reconcile`: facts with the number of their group, in its order.
fn grouped(extracted: &DataFrame, is_known: bool) -> DataFrame {
    let lists = extracted.column("links").unwrap().list().unwrap();
    let links_of = |row| -> Vec<u64> {
        let links = lists.get_as_series(row).unwrap();
        links.i64().unwrap().iter().flatten().map(i64::cast_unsigned).collect()
    };
    let links: Vec<_> = (0..extracted.height()).map(links_of).collect();
    let groups: Vec<i64> =
        ledger::groups(links.iter().map(Vec::as_slice)).into_iter().map(|group| group.try_into().unwrap()).collect();
    let count = extracted.height();
    let columns = [
        Series::new("component".into(), groups).into(),
        Series::new("is_known".into(), vec![is_known; count]).into(),
        Series::new("stamp".into(), vec!["stamp"; count]).into(),
        extracted.column("facts").unwrap().clone(),
    ];
    let rows = DataFrame::new(count, columns.to_vec()).unwrap();
    rows.sort(["component"], SortMultipleOptions::default()).unwrap()
}

/// Reconciles facts, and writes the files of the lake in `directory`.
fn write_lake(directory: &Path, facts: &DataFrame, options: &[&str], lake: &str) -> DataFrame {
    let fragments = step(directory, &[&["extract", "--reconcile"], options].concat(), &stream(facts));
    let contents = fragments.sort(["file"], SortMultipleOptions::default()).unwrap();
    let contents = contents.select(["file", "source_path", "content"]).unwrap();
    step(directory, &["extract", "--merge", lake], &stream(&contents))
}

/// Tables in a fixed order of rows, without the time of the run.
fn rows_of(tables: Frames) -> BTreeMap<&'static str, DataFrame> {
    let sorted = |(name, frame): (&'static str, LazyFrame)| {
        let frame = frame.collect().unwrap();
        let frame = frame.drop("ingested_at").unwrap_or(frame);
        let by: Vec<_> =
            frame.columns().iter().filter(|it| !it.dtype().is_list()).map(|it| it.name().clone()).collect();
        (name, frame.sort(by, SortMultipleOptions::default().with_nulls_last(true)).unwrap())
    };
    tables.into_iter().map(sorted).collect()
}

fn assert_lake(directory: &Path, lake: &str, archive: &str) {
    let ours = rows_of(Lake::open(&directory.join(lake)).unwrap().tables().unwrap());
    let theirs = rows_of(Archive::at(directory.join(archive)).tables().unwrap());
    for (name, ours) in ours {
        assert!(ours.equals_missing(&theirs[name]), "{lake}, {name}: {ours} {}", theirs[name]);
    }
}

fn ingest(directory: &Path, logs: &str, archive: &str) {
    let (status, _, stderr) = run(directory, &["ingest", logs, "--archive", archive], b"");
    assert_eq!(status, Some(0), "{stderr}");
}

/// Own prices give the costs that they give when they are imported into an archive, and another description.
#[test]
fn own_prices_apply() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    copy(&root().join("sample-logs/claude-transcript"), &directory.join("logs"));
    let prices = "[[models]]\nmodel = \"claude-sonnet-4-5\"\n[[models.prices]]\ninput = 1000.0\noutput = 2000.0\n";
    fs::write(directory.join("own.toml"), prices).unwrap();
    ingest(directory, "logs", "archive");
    let cost = || {
        let tables = rows_of(Archive::at(directory.join("archive")).tables().unwrap());
        tables["turns"].column("cost_usd").unwrap().as_materialized_series().sum::<f64>().unwrap()
    };
    let before = cost();
    let (status, _, stderr) = run(directory, &["prices", "import", "own.toml", "--archive", "archive"], b"");
    assert_eq!(status, Some(0), "{stderr}");
    assert!(cost() > 10.0 * before, "the samples use the model: {before}, {}", cost());
    let extracted = step(
        directory,
        &["extract", "--files-from", "-", "--as", "arrow", "--jobs", "1"],
        &list(&directory.join("logs")),
    );
    write_lake(directory, &grouped(&extracted, false), &["--prices", "own.toml"], "lake");
    assert_lake(directory, "lake", "archive");
    let describe = |args: &[&str]| run(directory, &[&["extract", "--describe"], args].concat(), b"").1;
    assert_ne!(describe(&[]), describe(&["--prices", "own.toml"]));
    assert_eq!(run(directory, &["extract", "--describe", "--prices", "missing.toml"], b"").0, Some(1));
}

/// Ingests logs into `archive`, and returns their facts as the steps of a cluster have them.
fn facts_of(directory: &Path, logs: &str) -> DataFrame {
    ingest(directory, logs, "archive");
    let extract = ["extract", "--files-from", "-", "--as", "arrow", "--jobs", "1"];
    grouped(&step(directory, &extract, &list(&directory.join(logs))), false)
}

#[test]
fn the_steps_write_the_rows_of_one_machine() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    copy(&root().join("sample-logs"), &directory.join("logs"));
    let facts = facts_of(directory, "logs");
    write_lake(directory, &facts, &[], "day");
    assert_lake(directory, "day", "archive");
    // The files have the names and bytes of an export, except those with the time of the ingest.
    let (status, _, stderr) = run(directory, &["export", "exported", "--as", "lake", "--archive", "archive"], b"");
    assert_eq!(status, Some(0), "{stderr}");
    for entry in walkdir::WalkDir::new(directory.join("exported")).into_iter().map(Result::unwrap) {
        let path = entry.path().strip_prefix(directory.join("exported")).unwrap();
        let table = path.iter().next().map(|name| name.to_str().unwrap()).unwrap_or_default();
        if entry.file_type().is_file() && !table.starts_with('_') {
            let ours = fs::read(directory.join("day").join(path)).unwrap();
            assert!(table == "sources" || ours == fs::read(entry.path()).unwrap(), "{}", path.display());
        }
    }
}

/// The same rows in other partitions and numbers of files. The logs have several days, and rows without a time.
#[test]
fn the_steps_divide_the_rows_into_files() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    for format in ["atif", "claude-transcript", "codex-rollout", "drover-events", "goose-session", "opencode-run"] {
        copy(&root().join("sample-logs").join(format), &directory.join("logs").join(format));
    }
    let facts = facts_of(directory, "logs");
    for (name, options) in [
        ("day", &[][..]),
        ("many", &["--files-per-partition", "3", "--files-per-table", "2"]),
        ("week", &["--partition-by", "week"]),
        ("month", &["--partition-by", "month", "--files-per-table", "4"]),
    ] {
        let written = write_lake(directory, &facts, options, name);
        assert_lake(directory, name, "archive");
        let files: Vec<&str> = written.column("file").unwrap().str().unwrap().iter().flatten().collect();
        assert_eq!(files.contains(&"sources/part-1.parquet"), options.contains(&"--files-per-table"), "{files:?}");
    }
}

/// A file that was read again replaces its earlier state by the rules of an archive.
#[test]
fn known_facts_are_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    fs::create_dir(directory.join("logs")).unwrap();
    let sample = |name: &str| fs::read_to_string(root().join("sample-logs/claude-transcript").join(name)).unwrap();
    let (first, other) = (sample("with-a-subagent.jsonl"), sample("searches-and-an-overload.jsonl"));
    let half: String = first.split_inclusive('\n').take(first.lines().count() / 2).collect();
    fs::write(directory.join("logs/grown.jsonl"), half).unwrap();
    fs::write(directory.join("logs/overwritten.jsonl"), &other).unwrap();
    let extract = || step(directory, &["extract", "--files-from", "-"], &list(&directory.join("logs")));
    let known = extract();
    ingest(directory, "logs", "archive");
    fs::write(directory.join("logs/grown.jsonl"), &first).unwrap();
    fs::write(
        directory.join("logs/overwritten.jsonl"),
        sample("with-a-subagent.jsonl").replace("msg_", "msg_x").replace("session", "sessio"),
    )
    .unwrap();
    let new = extract();
    ingest(directory, "logs", "archive");
    let both = grouped(&known, true).vstack(&grouped(&new, false)).unwrap();
    let both = both.lazy().with_columns([lit(1_i64).cast(DataType::Int64).alias("component")]).collect().unwrap();
    write_lake(directory, &both, &[], "lake");
    assert_lake(directory, "lake", "archive");
}

#[test]
fn files_that_are_not_read_are_recorded() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    fs::create_dir(directory.join("copies")).unwrap();
    fs::copy(root().join("sample-logs/drover-events/paused.jsonl"), directory.join("copies/a.jsonl")).unwrap();
    let copies = dunce::canonicalize(directory.join("copies")).unwrap();
    let paths = format!("{0}/a.jsonl\n{0}/vanished.jsonl\n", copies.display());
    let moved = ["--moved", copies.to_str().unwrap(), "s3://bucket"];
    let column = |frame: &DataFrame, name: &str| -> Vec<String> {
        frame.column(name).unwrap().str().unwrap().iter().map(|text| text.unwrap_or_default().to_owned()).collect()
    };
    let unreadable =
        ["extract", "--files-from", "-", "--host", "mars", "--unreadable", "crashed", moved[0], moved[1], moved[2]];
    let rows = step(directory, &unreadable, paths.as_bytes());
    assert_eq!(column(&rows, "source_path"), ["s3://bucket/a.jsonl", "s3://bucket/vanished.jsonl"]);
    assert_eq!(column(&rows, "message"), ["crashed", "crashed"]);
    let read = ["extract", "--files-from", "-", moved[0], moved[1], moved[2]];
    let rows = step(directory, &read, format!("{}/vanished.jsonl\n", copies.display()).as_bytes());
    assert_eq!(column(&rows, "status"), ["unreadable"]);
    assert_eq!(column(&rows, "message"), ["no such file"]);
}

/// Damaged rows cause an error, and the stream that was begun has no end.
#[test]
fn damaged_rows_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let facts = |facts: &[u8]| {
        let columns = [
            Series::new("component".into(), [1_i64]),
            Series::new("is_known".into(), [false]),
            Series::new("stamp".into(), [None::<&str>]),
            Series::new("facts".into(), [facts]),
        ];
        stream(&DataFrame::new(1, columns.map(Column::from).to_vec()).unwrap())
    };
    let content = |file: &str| {
        let columns = [
            Series::new("file".into(), [file]),
            Series::new("source_path".into(), [None::<&str>]),
            Series::new("content".into(), [&b"no parquet"[..]]),
        ];
        stream(&DataFrame::new(1, columns.map(Column::from).to_vec()).unwrap())
    };
    for (args, stdin) in [
        (&["extract", "--reconcile"][..], facts(b"")),
        (&["extract", "--reconcile"], facts(b"fct\xFF, but no facts of a source")),
        (&["extract", "--reconcile"], content("turns/part-0.parquet")),
        (&["extract", "--merge", "lake"], content("turns/part-0.parquet")),
        (&["extract", "--merge", "lake"], content("../turns.parquet")),
        (&["extract", "--merge", "lake"], b"no stream".to_vec()),
    ] {
        let (status, stdout, stderr) = run(directory, args, &stdin);
        assert_eq!(status, Some(1), "{args:?} {stderr}");
        assert!(read_frames(&stdout[..]).and_then(Iterator::collect::<PolarsResult<Vec<_>>>).is_err(), "{args:?}");
    }
    assert!(!directory.join("turns.parquet").exists());
}
