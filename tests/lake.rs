//! Lakes: exported, read, changed, interrupted, merged, damaged.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use agentlogs::store::archive::Archive;
use agentlogs::store::frames::{Frames, TABLES};
use agentlogs::store::lake::Lake;
use polars::prelude::*;

use crate::{copy, root};

/// Runs the program in a directory with the sample logs, and returns its exit status, stdout and stderr.
fn run(directory: &Path, args: &[&str]) -> (Option<i32>, String, String) {
    let mut program = Command::new(env!("CARGO_BIN_EXE_agentlogs"));
    let output = program.args(args).current_dir(directory).env("NO_COLOR", "1").env("TZ", "UTC").output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// Runs a command that has to succeed, and returns what it printed.
fn done(directory: &Path, args: &[&str]) -> String {
    let (status, stdout, stderr) = run(directory, args);
    assert_eq!(status, Some(0), "{args:?}: {stderr}");
    stdout + &stderr
}

/// An archive of sample logs, those of some formats or all, and a lake of it by day.
fn lake_of(formats: &[&str]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    copy(&root().join("sample-logs"), &directory.path().join("logs"));
    let logs = formats.iter().map(|format| format!("logs/{format}"));
    let logs = if formats.is_empty() { vec!["logs".to_owned()] } else { logs.collect() };
    let ingest = ["ingest"].into_iter().chain(logs.iter().map(String::as_str)).chain(["--archive", "archive"]);
    done(directory.path(), &ingest.collect::<Vec<_>>());
    done(directory.path(), &["export", "lake", "--as", "lake", "--archive", "archive"]);
    directory
}

/// A copy of an archive of all sample logs, of a lake of it by day, and of the logs. The archive contains the paths of the logs that
/// were copied: a test that ingests logs again needs [`lake_of`].
fn sample_lake() -> tempfile::TempDir {
    static MADE: LazyLock<tempfile::TempDir> = LazyLock::new(|| lake_of(&[]));
    let directory = tempfile::tempdir().unwrap();
    copy(MADE.path(), directory.path());
    directory
}

/// All files below a directory, with their content.
fn content_of(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = walkdir::WalkDir::new(directory).into_iter().map(Result::unwrap);
    let files = files.filter(|entry| entry.file_type().is_file());
    files
        .map(|entry| (entry.path().strip_prefix(directory).unwrap().to_owned(), fs::read(entry.path()).unwrap()))
        .collect()
}

/// The tables in a fixed order of rows.
fn rows_of(tables: Frames) -> Vec<(&'static str, DataFrame)> {
    let sorted = |(name, frame): (&'static str, LazyFrame)| {
        let frame = frame.collect().unwrap();
        let by: Vec<_> =
            frame.columns().iter().filter(|it| !it.dtype().is_list()).map(|it| it.name().clone()).collect();
        (name, frame.sort(by, SortMultipleOptions::default().with_nulls_last(true)).unwrap())
    };
    tables.into_iter().map(sorted).collect()
}

fn assert_same(ours: &[(&str, DataFrame)], theirs: &[(&str, DataFrame)], what: &str) {
    assert_eq!(ours.len(), TABLES.len());
    for ((name, ours), (_, theirs)) in ours.iter().zip(theirs) {
        assert!(ours.equals_missing(theirs), "{what}, {name}: {ours} {theirs}");
        assert_eq!(ours.schema(), theirs.schema(), "{what}, {name}");
    }
}

fn lake_rows(directory: &Path) -> Vec<(&'static str, DataFrame)> {
    rows_of(Lake::open(directory).unwrap().tables().unwrap())
}

/// A lake has the rows of the archive that it was exported from, whatever its partitions are, and also without its manifest.
#[test]
fn a_lake_has_the_rows_of_its_archive() {
    let directory = sample_lake();
    let expected = rows_of(Archive::at(directory.path().join("archive")).tables().unwrap());
    assert_same(&lake_rows(&directory.path().join("lake")), &expected, "day");
    for period in ["week", "month"] {
        done(directory.path(), &["export", period, "--as", "lake", "--partition-by", period, "--archive", "archive"]);
        assert_same(&lake_rows(&directory.path().join(period)), &expected, period);
        fs::remove_file(directory.path().join(period).join("_manifest.json")).unwrap();
        assert_same(&lake_rows(&directory.path().join(period)), &expected, "without a manifest");
    }
    // A lake of a lake, and of logs, is the same to the byte.
    done(directory.path(), &["export", "of-lake", "--as", "lake", "--archive", "lake"]);
    assert!(content_of(&directory.path().join("of-lake")) == content_of(&directory.path().join("lake")));
    done(directory.path(), &["export", "of-logs", "--as", "lake", "--logs", "logs"]);
    assert_same(&lake_rows(&directory.path().join("of-logs")), &lake_rows(&directory.path().join("of-logs")), "logs");
    let names = |lake: &str| content_of(&directory.path().join(lake)).into_keys().collect::<Vec<_>>();
    assert_eq!(names("of-logs"), names("lake"));
}

/// The same sessions give the same files, in whichever order they were ingested. An export writes only what changed, and removes
/// what is gone.
#[test]
fn only_changed_files_are_written() {
    let directory = lake_of(&[]);
    let path = |name: &str| directory.path().join(name);
    let mut formats: Vec<String> =
        fs::read_dir(path("logs")).unwrap().map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    formats.sort();
    formats.reverse();
    for half in formats.chunks(formats.len() / 2) {
        let logs: Vec<String> = half.iter().map(|format| format!("logs/{format}")).collect();
        let args: Vec<&str> =
            ["ingest"].into_iter().chain(logs.iter().map(String::as_str)).chain(["--archive", "other"]).collect();
        done(directory.path(), &args);
    }
    // The time of the ingest is in the table of sources and in the facts.
    done(directory.path(), &["export", "other-lake", "--as", "lake", "--without-facts", "--archive", "other"]);
    let (mut ours, mut theirs) = (content_of(&path("lake")), content_of(&path("other-lake")));
    for content in [&mut ours, &mut theirs] {
        content.retain(|path, _| {
            !path.starts_with("sources") && !path.starts_with("_facts") && !path.ends_with("_manifest.json")
        });
    }
    assert_eq!(ours.keys().collect::<Vec<_>>(), theirs.keys().collect::<Vec<_>>());
    let different: Vec<_> = ours.iter().filter(|(path, content)| theirs[*path] != **content).map(|it| it.0).collect();
    assert!(different.is_empty(), "{different:?}");

    let modified = || -> BTreeMap<PathBuf, _> {
        let time = |path: PathBuf| {
            (path.clone(), fs::metadata(directory.path().join("lake").join(path)).unwrap().modified().unwrap())
        };
        content_of(&path("lake")).into_keys().map(time).collect()
    };
    let before = modified();
    let said = done(directory.path(), &["export", "lake", "--as", "lake", "--archive", "archive"]);
    assert!(said.contains("; 0 written, 0 removed"), "{said}");
    assert_eq!(modified(), before);

    // A session of 2026-10-07 is forgotten, and one of another day is new.
    done(directory.path(), &["archive", "forget", "*/gemini-chat/*", "*/goose-session/*", "--archive", "archive"]);
    let said = done(directory.path(), &["export", "lake", "--as", "lake", "--archive", "archive"]);
    assert!(!said.contains(" 0 written"), "{said}");
    let after = modified();
    let unchanged = after.iter().filter(|(path, time)| before.get(*path) == Some(time)).count();
    assert!(unchanged > after.len() / 2, "{unchanged} of {}: {said}", after.len());
    assert!(after.len() < before.len(), "{said}");
    assert!(!path("lake/_staging").exists());
    let expected = rows_of(Archive::at(path("archive")).tables().unwrap());
    assert_same(&lake_rows(&path("lake")), &expected, "after a change");
    // Directories of days without rows are gone.
    for entry in walkdir::WalkDir::new(path("lake")).into_iter().map(Result::unwrap) {
        assert!(
            !entry.file_type().is_dir() || fs::read_dir(entry.path()).unwrap().count() > 0,
            "{}",
            entry.path().display()
        );
    }
}

/// An export that is interrupted leaves the lake as it was before, or in its new state from the moment on in which all files are
/// prepared. The next export completes it.
#[test]
fn an_interrupted_export_leaves_the_state_before_or_after() {
    let directory = lake_of(&["claude-transcript", "codex-rollout", "drover-events", "goose-session", "pi-session"]);
    let path = |name: &str| directory.path().join(name);
    let before = lake_rows(&path("lake"));
    copy(&path("lake"), &path("new"));
    done(
        directory.path(),
        &["archive", "forget", "*/goose-session/*", "*/pi-session/*", "*/claude-transcript/*", "--archive", "archive"],
    );
    done(directory.path(), &["export", "new", "--as", "lake", "--archive", "archive"]);
    let after = lake_rows(&path("new"));
    let (old, new) = (content_of(&path("lake")), content_of(&path("new")));
    let is_changed = |file: &&PathBuf| old.get(*file) != Some(&new[*file]) && !file.ends_with("_manifest.json");
    let changed: Vec<&PathBuf> = new.keys().filter(is_changed).collect();
    let removed: Vec<&PathBuf> = old.keys().filter(|file| !new.contains_key(*file)).collect();
    assert!(changed.len() > 5 && !removed.is_empty());
    let place = |lake: &Path, file: &Path| {
        let to = lake.join(file);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::write(to, &new[file]).unwrap();
    };
    let check = |lake: &Path, expected: &[(&str, DataFrame)], what: &str| {
        assert_same(&lake_rows(lake), expected, what);
        done(directory.path(), &["export", lake.to_str().unwrap(), "--as", "lake", "--archive", "archive"]);
        assert!(content_of(lake) == new, "{what}");
        fs::remove_dir_all(lake).unwrap();
    };
    for prepared in [0, 1, changed.len()] {
        let lake = path("before");
        copy(&path("lake"), &lake);
        for file in changed.iter().take(prepared) {
            place(&lake.join("_staging"), file);
        }
        check(&lake, &before, &format!("{prepared} prepared"));
    }
    for moved in [0, 1, changed.len() / 2, changed.len()] {
        for are_removed in [false, true] {
            let lake = path("after");
            copy(&path("lake"), &lake);
            place(&lake.join("_staging"), Path::new("_manifest.json"));
            for (number, file) in changed.iter().enumerate() {
                let to = if number < moved { lake.clone() } else { lake.join("_staging") };
                place(&to, file);
            }
            if are_removed {
                for file in &removed {
                    fs::remove_file(lake.join(file)).unwrap();
                }
            }
            check(&lake, &after, &format!("{moved} moved, {are_removed}"));
        }
    }
}

/// A full disk, or a target that cannot be written, is reported, and the lake is as before.
#[cfg(unix)]
#[test]
fn an_export_that_fails_changes_nothing() {
    let directory = sample_lake();
    let before = content_of(&directory.path().join("lake"));
    done(directory.path(), &["archive", "forget", "*/gemini-chat/*", "*/claude-transcript/*", "--archive", "archive"]);
    let mut failed = 0;
    for limit in [0, 2, 8, 16, 24] {
        let script = format!("trap '' XFSZ; ulimit -f {limit}; exec \"$0\" \"$@\"");
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(script).arg(env!("CARGO_BIN_EXE_agentlogs")).current_dir(directory.path());
        let output = shell.args(["export", "lake", "--as", "lake", "--archive", "archive"]).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        if !output.status.success() {
            failed += 1;
            assert!(stderr.contains("lake/"), "{stderr}");
            assert!(content_of(&directory.path().join("lake")) == before, "{limit}");
        }
    }
    assert!(failed > 1);
    fs::write(directory.path().join("a-file"), "").unwrap();
    let (status, _, stderr) = run(directory.path(), &["export", "a-file", "--as", "lake", "--archive", "archive"]);
    assert!(status == Some(1) && stderr.contains("a-file"), "{stderr}");
    // Files of somebody else stay.
    fs::create_dir_all(directory.path().join("mine/turns")).unwrap();
    fs::write(directory.path().join("mine/turns/a.parquet"), "mine").unwrap();
    let (status, _, stderr) = run(directory.path(), &["export", "mine", "--as", "lake", "--archive", "archive"]);
    assert!(status == Some(1) && stderr.contains("mine/turns/a.parquet"), "{stderr}");
    assert_eq!(fs::read(directory.path().join("mine/turns/a.parquet")).unwrap(), b"mine");
}

/// A manifest that lists a file outside of its lake, or a link in place of a directory, deletes and overwrites nothing.
#[test]
fn an_export_touches_only_files_of_its_lake() {
    let directory = sample_lake();
    let path = |name: &str| directory.path().join(name);
    let (lake, manifest) = (path("lake"), path("lake/_manifest.json"));
    copy(&lake, &path("intact"));
    let intact = fs::read_to_string(&manifest).unwrap();
    let entry = r#"{"bytes":1,"xxh3_128":"0","rows":1}"#;
    let listing = |file: &str| intact.replacen("\"files\": {", &format!("\"files\": {{ {file:?}: {entry},"), 1);
    let absolute = path("precious").to_string_lossy().into_owned();
    let export = || run(directory.path(), &["export", "lake", "--as", "lake", "--archive", "archive"]);
    for file in ["../precious", &absolute, "turns/../../precious", "precious", "turns//x", "turns/..\\x"] {
        for staged in [false, true] {
            fs::write(path("precious"), "mine").unwrap();
            let target = if staged { path("lake/_staging/_manifest.json") } else { manifest.clone() };
            fs::create_dir_all(target.parent().unwrap()).unwrap();
            fs::write(&target, listing(file)).unwrap();
            fs::write(path("lake/precious"), "theirs").unwrap();
            let (status, _, stderr) = export();
            assert!(status == Some(1) && stderr.contains("which is not in the lake"), "{file}: {stderr}");
            assert_eq!(fs::read(path("precious")).unwrap(), b"mine", "{file}");
            fs::remove_dir_all(&lake).unwrap();
            copy(&path("intact"), &lake);
        }
    }
    // A listed file that is reached through a link.
    #[cfg(unix)]
    {
        fs::create_dir(path("other")).unwrap();
        fs::write(path("other/part-0.parquet"), "mine").unwrap();
        fs::remove_dir_all(path("lake/limits")).unwrap();
        std::os::unix::fs::symlink(path("other"), path("lake/limits")).unwrap();
        fs::write(&manifest, listing("limits/part-0.parquet")).unwrap();
        let (status, _, stderr) = export();
        assert!(status == Some(1) && stderr.contains("lake/limits: this is a link"), "{stderr}");
        assert_eq!(fs::read(path("other/part-0.parquet")).unwrap(), b"mine");
        // A pipe in the place of the manifest is not waited for.
        fs::remove_file(&manifest).unwrap();
        assert!(Command::new("mkfifo").arg(&manifest).status().unwrap().success());
        for args in
            [&["report", "cost", "--archive", "lake"][..], &["export", "lake", "--as", "lake", "--archive", "archive"]]
        {
            let (status, _, stderr) = run(directory.path(), args);
            assert!(status == Some(1), "{args:?} {stderr}");
        }
    }
}

/// What is wrong with a lake is an error that names the file.
#[test]
fn a_wrong_lake_is_an_error_that_names_the_file() {
    let directory = sample_lake();
    let lake = directory.path().join("lake");
    let file = |path: &str| lake.join(path);
    let turns = "turns/day=2026-10-06/part-0.parquet";
    assert!(file(turns).is_file());
    let parquet = |columns: DataFrame, path: &Path| {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        ParquetWriter::new(fs::File::create(path).unwrap()).finish(&mut columns.clone()).unwrap();
    };
    let without = |name: &str, path: &Path| {
        let frame = ParquetReader::new(fs::File::open(path).unwrap()).finish().unwrap();
        parquet(frame.drop(name).unwrap(), path);
    };
    let wrongs: [(&str, &str, &dyn Fn()); 11] = [
        ("missing", turns, &|| fs::remove_file(file(turns)).unwrap()),
        ("has 9 bytes", turns, &|| fs::write(file(turns), "truncated").unwrap()),
        ("does not list this file", "turns/day=2026-10-06/other.parquet", &|| {
            fs::write(file("turns/day=2026-10-06/other.parquet"), fs::read(file(turns)).unwrap()).unwrap();
        }),
        ("not the manifest of a lake", "_manifest.json", &|| fs::write(file("_manifest.json"), "{").unwrap()),
        ("newer agentlogs", "_manifest.json", &|| fs::write(file("_manifest.json"), r#"{"lake": 3}"#).unwrap()),
        ("which is not in the lake", "_manifest.json", &|| {
            let text = fs::read_to_string(file("_manifest.json")).unwrap();
            fs::write(file("_manifest.json"), text.replace("turns/day=2026-10-06/", "turns/../../")).unwrap();
        }),
        ("not a readable parquet file", turns, &|| {
            fs::remove_file(file("_manifest.json")).unwrap();
            fs::write(file(turns), "truncated").unwrap();
        }),
        ("the lake mixes versions of the schema", turns, &|| {
            fs::remove_file(file("_manifest.json")).unwrap();
            without("canonical_model", &file(turns));
        }),
        ("the column turn has the type str, not i64", "turns/day=2026-10-06/x.parquet", &|| {
            fs::remove_file(file("_manifest.json")).unwrap();
            parquet(df!("turn" => ["a"]).unwrap(), &file("turns/day=2026-10-06/x.parquet"));
        }),
        ("no valid value of day", "turns/day=yesterday/part-0.parquet", &|| {
            fs::remove_file(file("_manifest.json")).unwrap();
            fs::rename(file("turns/day=2026-10-06"), file("turns/day=yesterday")).unwrap();
        }),
        ("other partitions", "turns/part-9.parquet", &|| {
            fs::remove_file(file("_manifest.json")).unwrap();
            fs::rename(file(turns), file("turns/part-9.parquet")).unwrap();
        }),
    ];
    copy(&lake, &directory.path().join("intact"));
    for (what, name, damage) in wrongs {
        damage();
        for args in
            [&["report", "cost"][..], &["query", "SELECT * FROM turns"], &["dashboard", "out.html"], &["export", "out"]]
        {
            let (status, _, stderr) = run(directory.path(), &[args, &["--archive", "lake"]].concat());
            assert_eq!(status, Some(1), "{what}");
            assert!(stderr.contains(what) && stderr.contains(name), "{what}: {stderr}");
            assert!(!stderr.contains("panicked"), "{stderr}");
        }
        assert!(!directory.path().join("out").exists() && !directory.path().join("out.html").exists());
        fs::remove_dir_all(&lake).unwrap();
        copy(&directory.path().join("intact"), &lake);
    }
    // A change that keeps the size is found by a check.
    let mut bytes = fs::read(file(turns)).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(file(turns), bytes).unwrap();
    let (status, _, stderr) = run(directory.path(), &["archive", "check", "--archive", "lake"]);
    assert!(status == Some(1) && stderr.contains(turns) && stderr.contains("differs"), "{stderr}");
    // One in the footer is found by polars, which does not name the file.
    let mut bytes = fs::read(directory.path().join("intact").join(turns)).unwrap();
    let end = bytes.len() - 8;
    for byte in &mut bytes[end - 60..end] {
        *byte ^= 0x5a;
    }
    fs::write(file(turns), bytes).unwrap();
    for args in [&["report", "cost"][..], &["query", "SELECT * FROM turns"], &["dashboard", "out.html"]] {
        let (status, _, stderr) = run(directory.path(), &[args, &["--archive", "lake"]].concat());
        assert!(status == Some(1) && stderr.contains("`agentlogs archive check --archive LAKE`"), "{stderr}");
    }
}

/// Lakes and archives of several machines are merged; sessions that are in several of them are counted once.
#[test]
fn lakes_merge_as_archives_do() {
    let directory = sample_lake();
    let path = |name: &str| directory.path().join(name);
    for (name, logs) in
        [("one", ["logs/pi-session", "logs/codex-rollout"]), ("two", ["logs/pi-session", "logs/claude-transcript"])]
    {
        done(directory.path(), &["ingest", logs[0], logs[1], "--archive", name]);
        done(
            directory.path(),
            &["export", &format!("{name}-lake"), "--as", "lake", "--partition-by", "month", "--archive", name],
        );
    }
    done(directory.path(), &["archive", "merge", "one", "two", "--archive", "of-archives"]);
    done(directory.path(), &["archive", "merge", "one-lake", "two-lake", "--archive", "of-lakes"]);
    done(directory.path(), &["archive", "merge", "two-lake", "one", "--archive", "of-both"]);
    let expected = rows_of(Archive::at(path("of-archives")).tables().unwrap());
    for name in ["of-lakes", "of-both"] {
        let archive = Archive::at(path(name));
        assert_eq!(archive.check().unwrap().problems, []);
        let found = rows_of(archive.tables().unwrap());
        for ((table, ours), (_, theirs)) in found.iter().zip(&expected) {
            let without_time = |frame: &DataFrame| frame.drop_many(["ingested_at"]);
            assert!(without_time(ours).equals_missing(&without_time(theirs)), "{name}, {table}: {ours} {theirs}");
        }
    }
    // A lake with filters has the facts of its sessions only.
    done(directory.path(), &["export", "pi", "--as", "lake", "--runtime", "pi", "--archive", "archive"]);
    done(directory.path(), &["archive", "merge", "pi", "--archive", "pi-archive"]);
    let sessions = |archive: &str| {
        done(
            directory.path(),
            &["query", "SELECT runtime, session_id FROM sessions ORDER BY runtime, session_id", "--archive", archive],
        )
    };
    assert_eq!(sessions("pi-archive"), sessions("pi"));
    for (name, what) in [("csv", "parquet"), ("bare", "no facts")] {
        let kind = if name == "csv" {
            ["--as", "csv", "--partition-by", "week"]
        } else {
            ["--as", "lake", "--partition-by", "week"]
        };
        let without: &[&str] = if name == "csv" { &[] } else { &["--without-facts"] };
        done(directory.path(), &[&["export", name], &kind[..], without, &["--archive", "archive"]].concat());
        let (status, _, stderr) = run(directory.path(), &["archive", "merge", name, "--archive", "none"]);
        assert!(status == Some(1) && stderr.contains(what), "{stderr}");
        assert!(!path("none").exists());
    }
}

/// A lake that is incomplete or damaged is named and left out; the others are merged.
#[test]
fn one_incomplete_lake_does_not_prevent_the_merge_of_the_others() {
    let directory = sample_lake();
    let path = |name: &str| directory.path().join(name);
    done(directory.path(), &["ingest", "logs/pi-session", "--archive", "pi-archive"]);
    let facts = |lake: &str| {
        walkdir::WalkDir::new(path(lake).join("_facts"))
            .into_iter()
            .map(Result::unwrap)
            .find(|it| it.file_type().is_file())
            .unwrap()
            .into_path()
    };
    for name in ["whole", "missing", "changed", "uploaded"] {
        done(directory.path(), &["export", name, "--as", "lake", "--archive", "pi-archive"]);
    }
    done(directory.path(), &["archive", "merge", "whole", "--archive", "expected"]);
    fs::remove_file(facts("missing")).unwrap();
    // The same size, so that only the checksum differs.
    let mut content = fs::read(facts("changed")).unwrap();
    *content.last_mut().unwrap() ^= 1;
    fs::write(facts("changed"), content).unwrap();
    // As while files are uploaded of which the manifest is the last.
    fs::remove_file(path("uploaded/_manifest.json")).unwrap();
    copy(&path("pi-archive"), &path("damaged"));
    for entry in walkdir::WalkDir::new(path("damaged")).into_iter().map(Result::unwrap) {
        if entry.file_type().is_file() && entry.path().parent().unwrap().ends_with("facts") {
            fs::write(entry.path(), "x").unwrap();
        }
    }
    fs::create_dir(path("empty")).unwrap();
    let bad = ["missing", "changed", "uploaded", "damaged", "empty"];
    let inputs = ["missing", "changed", "whole", "uploaded", "damaged", "empty"];
    let (status, _, stderr) =
        run(directory.path(), &[&["archive", "merge"], &inputs[..], &["--archive", "team"]].concat());
    assert_eq!(status, Some(1), "{stderr}");
    for name in bad {
        assert!(stderr.contains(&format!("agentlogs: {name}: not merged: ")), "{name}: {stderr}");
    }
    assert!(stderr.contains("_manifest.json is missing"), "{stderr}");
    assert!(!stderr.contains("agentlogs ingest PATH"), "{stderr}");
    let sums = |name: &str| Archive::at(path(name)).sums().unwrap();
    assert_eq!(sums("team"), sums("expected"));
    // Without an intact input no archive is made.
    let (status, _, _) = run(directory.path(), &[&["archive", "merge"], &bad[..], &["--archive", "none"]].concat());
    assert!(status == Some(1) && !path("none").exists());
}

/// Every command that reads an archive gives the same answers for a lake.
#[test]
fn a_lake_is_read_as_an_archive_is() {
    let directory = sample_lake();
    let reports = ["cost", "tokens", "tools", "sessions", "turns", "files", "health", "limits"];
    let mut commands: Vec<Vec<&str>> =
        reports.iter().map(|report| vec!["report", report, "--wide", "--format", "csv"]).collect();
    commands.push(vec![
        "report",
        "cost",
        "--by",
        "day,model",
        "--since",
        "2026-10-05",
        "--until",
        "2026-10-07",
        "--format",
        "csv",
    ]);
    commands.push(vec!["report", "tools", "--by", "week,tool", "--undated", "only", "--format", "csv"]);
    commands.push(vec!["compare", "--a", "runtime=claude", "--b", "runtime=codex", "--format", "csv"]);
    commands.push(vec!["check", "--max", "cost_usd=1"]);
    for command in commands {
        let answer = |archive: &str| run(directory.path(), &[&command[..], &["--archive", archive]].concat());
        let (ours, theirs) = (answer("lake"), answer("archive"));
        assert!(ours.0.is_some_and(|status| status == 0 || status == 4), "{command:?}: {}", ours.2);
        // Messages name commands with the archive.
        let messages = ours.2.replace("--archive lake", "--archive archive");
        assert_eq!((ours.0, ours.1, messages), theirs, "{command:?}");
    }
    for archive in ["lake", "archive"] {
        done(directory.path(), &["dashboard", &format!("{archive}.html"), "--archive", archive]);
        done(directory.path(), &["export", &format!("{archive}-atif"), "--as", "atif", "--archive", archive]);
    }
    let page = |name: &str| fs::read_to_string(directory.path().join(name)).unwrap().len();
    assert!(page("lake.html").abs_diff(page("archive.html")) < 100);
    assert!(content_of(&directory.path().join("lake-atif")) == content_of(&directory.path().join("archive-atif")));
}

/// Files of days that are out of the question are not read: here they are not parquet files any more.
#[test]
fn files_of_other_days_are_not_read() {
    let directory = sample_lake();
    let report = |since: &str| {
        run(directory.path(), &["report", "cost", "--since", since, "--format", "csv", "--archive", "lake"])
    };
    let expected = report("2026-10-05").1;
    let lake = directory.path().join("lake");
    let mut spoiled = 0;
    for path in content_of(&lake).into_keys() {
        let name = path.to_string_lossy().into_owned();
        if name.starts_with("turns/day=2026-09") || name.starts_with("turns/day=2025") {
            let length = usize::try_from(fs::metadata(lake.join(&path)).unwrap().len()).unwrap();
            fs::write(lake.join(&path), "x".repeat(length)).unwrap();
            spoiled += 1;
        }
    }
    assert!(spoiled > 3);
    assert_eq!(report("2026-10-05").1, expected);
    assert_eq!(report("2026-09-01").0, Some(1));
    let plan = done(
        directory.path(),
        &["query", "SELECT SUM(cost_usd) FROM turns WHERE day = DATE '2026-10-06'", "--explain", "--archive", "lake"],
    );
    assert!(plan.contains("turns/day=2026-10-06/part-0.parquet]"), "{plan}");
}

/// A lake of another engine: other names, other partitions, columns that nothing here knows, markers of success.
#[test]
fn a_lake_of_another_engine_is_read() {
    let directory = sample_lake();
    let (lake, other) = (directory.path().join("lake"), directory.path().join("other"));
    let mut number = 0;
    for path in content_of(&lake).into_keys() {
        let text = path.to_string_lossy().into_owned();
        let Some((table, rest)) = text.split_once('/').filter(|(table, _)| TABLES.contains(table)) else { continue };
        let frame = ParquetReader::new(fs::File::open(lake.join(&path)).unwrap()).finish().unwrap();
        let directory = rest.rsplit_once('/').map_or("", |(directory, _)| directory);
        // Parts of the rows in several files, by runtime where the table has one.
        let by_runtime = frame.partition_by(["runtime"], true).unwrap_or_else(|_| vec![frame.clone()]);
        for part in by_runtime {
            let runtime =
                part.column("runtime").ok().and_then(|column| column.str().unwrap().get(0).map(str::to_owned));
            let runtime = runtime.unwrap_or_else(|| "__HIVE_DEFAULT_PARTITION__".to_owned());
            let to = other.join(table).join(format!("runtime={runtime}")).join(directory);
            fs::create_dir_all(&to).unwrap();
            number += 1;
            let more = Column::new("loaded_by".into(), vec!["etl"; part.height()]);
            let mut part = part.drop_many(["runtime"]).hstack(&[more]).unwrap();
            let file = fs::File::create(to.join(format!("part-{number:05}-c000.snappy.parquet"))).unwrap();
            ParquetWriter::new(file).with_compression(ParquetCompression::Snappy).finish(&mut part).unwrap();
        }
        fs::write(other.join(table).join("_SUCCESS"), "").unwrap();
        fs::write(other.join(table).join("._SUCCESS.crc"), "x").unwrap();
    }
    assert_same(&lake_rows(&other), &lake_rows(&lake), "another engine");
    let (status, _, stderr) = run(directory.path(), &["archive", "merge", "other", "--archive", "none"]);
    assert!(status == Some(1) && stderr.contains("no facts"), "{stderr}");
}

/// Another program may have written sessions without an id: they have no rows in other tables, and are in all reports.
#[test]
fn sessions_without_an_id_are_reported() {
    let directory = sample_lake();
    let lake = directory.path().join("lake");
    let reports = || {
        let report = |name: &str, column: &str| {
            let args = ["report", name, "--by", "runtime", "--sort", column, "--archive", "lake", "--format", "csv"];
            let (_, table, _) = run(directory.path(), &args);
            let mut lines = csv::Reader::from_reader(table.as_bytes());
            let at = lines.headers().unwrap().iter().position(|it| it == column).unwrap();
            let mut rows: Vec<(String, String)> =
                lines.records().map(|row| row.unwrap()).map(|row| (row[0].to_owned(), row[at].to_owned())).collect();
            rows.sort();
            rows
        };
        [report("sessions", "cost_usd"), report("behaviour", "sessions"), report("waste", "session_cost_usd")]
    };
    let before = reports();
    assert!(before.iter().all(|rows| rows.len() > 10));
    fs::remove_file(lake.join("_manifest.json")).unwrap();
    for path in content_of(&lake.join("sessions")).into_keys() {
        let path = lake.join("sessions").join(path);
        let frame = ParquetReader::new(fs::File::open(&path).unwrap()).finish().unwrap().lazy();
        let mut frame = frame.with_column(lit(NULL).cast(DataType::String).alias("session_id")).collect().unwrap();
        ParquetWriter::new(fs::File::create(&path).unwrap()).finish(&mut frame).unwrap();
    }
    assert_eq!(reports(), before);
}

/// A table of another program may have types that polars cannot read, and a damaged one may let it panic: an error that names the file.
#[test]
fn a_table_that_polars_cannot_read_is_an_error() {
    let directory = lake_of(&["claude-transcript", "codex-rollout"]);
    let directory = directory.path();
    let foreign = directory.join("foreign/sessions");
    fs::create_dir_all(&foreign).unwrap();
    fs::write(foreign.join("part-0.parquet"), half_precision()).unwrap();
    let (status, _, stderr) = run(directory, &["query", "SELECT COUNT(*) FROM sessions", "--archive", "foreign"]);
    assert_eq!(status, Some(1));
    assert!(stderr.contains("part-0.parquet: not a readable parquet file") && stderr.contains("Float16"), "{stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    // Pages with random bytes, in a lake whose manifest has their hashes.
    let lake = directory.join("lake");
    let manifest = lake.join("_manifest.json");
    let (name, file) = content_of(&lake).into_iter().find(|(name, _)| name.starts_with("sessions")).unwrap();
    let key = name.to_str().unwrap().replace('\\', "/");
    let mut refused = 0;
    for place in 0..12 {
        let mut damaged = file.clone();
        let at = 8 + place * (damaged.len() / 24);
        damaged[at..at + 8].copy_from_slice(&[0xff, 0x07, 0x80, 0x3f, 0xfe, 0x01, 0xff, 0x7f]);
        fs::write(lake.join(&name), &damaged).unwrap();
        let mut entries: serde_json::Value = serde_json::from_slice(&fs::read(&manifest).unwrap()).unwrap();
        entries["files"][&key]["xxh3_128"] = format!("{:032x}", twox_hash::XxHash3_128::oneshot(&damaged)).into();
        fs::write(&manifest, entries.to_string()).unwrap();
        for args in
            [&["query", "SELECT * FROM sessions", "--archive", "lake"][..], &["archive", "check", "--archive", "lake"]]
        {
            let (status, _, stderr) = run(directory, args);
            let is_clear = !stderr.contains("panicked") && !stderr.contains("internal error");
            assert!(matches!(status, Some(0 | 1)) && is_clear, "{place} {args:?} {status:?}: {stderr}");
            refused += i32::from(status == Some(1));
        }
    }
    assert!(refused > 0);
}

/// A file with one column of the type Float16, as Arrow writes it. Made by `pyarrow.parquet.write_table`.
fn half_precision() -> Vec<u8> {
    const HEX: &str = "504152311500151015102c15021500150615061c000000020000000201003e1504192c35001806736368656d61150200150e1504150218\
        0468616c666cfc0000001602191c191c26001c150e1925060019180468616c6615001602163616362608491c150015001502003c290619\
        260002000000163616022608163600191c180c4152524f573a736368656d6118a0012f2f2f2f2f33414141414151414141414141414b41\
        417741426741464141674143674141414141424241414d4141414143414149414141414241414941414141424141414141454141414155\
        41414141454141554141674142674148414177414141415141424141414141414141454445414141414277414141414541414141414141\
        41414151414141426f5957786d41414141414151414241414541414141001820706172717565742d6370702d6172726f77207665727369\
        6f6e2032362e302e31191c1c0000003a01000050415231";
    HEX.as_bytes()
        .chunks(2)
        .map(|digits| u8::from_str_radix(std::str::from_utf8(digits).unwrap(), 16).unwrap())
        .collect()
}
