//! What is not ours: SQL that somebody typed, and an archive that somebody broke. An error, never a panic, never a file.

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use agentlogs::adapters::shared::builder::Retention;
use agentlogs::base::time::Day;
use agentlogs::model::source::Source;
use agentlogs::prices::{Table, TableKind};
use agentlogs::store::archive::{self, Archive};
use agentlogs::store::frames;
use agentlogs::store::query;
use polars::prelude::*;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::{facts, reconciled};

static FRAMES: LazyLock<Vec<(&'static str, DataFrame)>> =
    LazyLock::new(|| frames::frames(&reconciled(facts(Retention::None))).unwrap());

fn asked(sql: &str) -> Result<DataFrame, query::Error> {
    query::query(FRAMES.iter().map(|(name, it)| (*name, it.clone().lazy())).collect(), sql)
}

/// The files of an archive of the samples.
static FILES: LazyLock<Vec<(PathBuf, Vec<u8>)>> = LazyLock::new(|| {
    let directory = tempfile::tempdir().unwrap();
    let archive = Archive::at(directory.path());
    let writer = archive.write().unwrap();
    for source in facts(Retention::None) {
        writer.add(source);
    }
    writer.commit().unwrap();
    let files = walkdir::WalkDir::new(directory.path()).sort_by_file_name().into_iter().filter_map(Result::ok);
    let files = files.filter(|it| it.file_type().is_file());
    files
        .map(|it| (it.path().strip_prefix(directory.path()).unwrap().to_owned(), fs::read(it.path()).unwrap()))
        .collect()
});

/// All functions and statements of polars' SQL that name a file, in every place where SQL lets them stand.
#[test]
fn sql_reaches_no_file() {
    let directory = tempfile::tempdir().unwrap();
    let secret = directory.path().join("secret.csv");
    fs::write(&secret, "a,b\n1,2\n").unwrap();
    let path = secret.to_str().unwrap();
    for read in ["read_csv", "READ_CSV", "\"read_csv\"", "read_parquet", "read_ipc", "read_json", "scan_csv"] {
        for sql in [
            format!("SELECT * FROM {read}('{path}')"),
            format!("SELECT * FROM {read} ('{path}') AS x"),
            format!("SELECT * FROM turns, {read}('{path}')"),
            format!("SELECT * FROM turns NATURAL JOIN {read}('{path}')"),
            format!("SELECT * FROM turns WHERE turn IN (SELECT a FROM {read}('{path}'))"),
            format!("SELECT * FROM turns WHERE EXISTS (SELECT 1 FROM {read}('{path}'))"),
            format!("SELECT (SELECT max(a) FROM {read}('{path}')) FROM turns"),
            format!("WITH x AS (SELECT * FROM {read}('{path}')) SELECT * FROM x"),
            format!("SELECT 1 UNION ALL SELECT a FROM {read}('{path}')"),
            format!("SELECT * FROM (SELECT * FROM ({read}('{path}')) y) z"),
            format!("SELECT * FROM LATERAL {read}('{path}')"),
            format!("SELECT * FROM TABLE({read}('{path}'))"),
            format!("EXPLAIN SELECT * FROM {read}('{path}')"),
            format!("EXPLAIN CREATE TABLE x AS SELECT * FROM {read}('{path}')"),
            format!("CREATE TABLE x AS SELECT * FROM {read}('{path}')"),
            format!("FROM {read}('{path}')"),
            format!("SELECT {read}('{path}')"),
        ] {
            assert!(asked(&sql).is_err(), "{sql}");
        }
    }
    for sql in [
        format!("SELECT * FROM '{path}'"),
        format!("SELECT * FROM \"{path}\""),
        format!("SELECT * FROM `{path}`"),
        format!("TABLE \"{path}\""),
        format!("COPY turns TO '{path}'"),
        format!("COPY (SELECT 1) TO '{path}'"),
        format!("SELECT * INTO OUTFILE '{path}' FROM turns"),
        format!("INSERT OVERWRITE DIRECTORY '{path}' SELECT 1"),
        format!("LOAD DATA INPATH '{path}' INTO TABLE turns"),
        format!("ATTACH DATABASE '{path}' AS x"),
        "DELETE FROM turns".to_owned(),
        "TRUNCATE TABLE turns".to_owned(),
        "DROP TABLE turns".to_owned(),
        "UPDATE turns SET turn = 1".to_owned(),
    ] {
        assert!(asked(&sql).is_err(), "{sql}");
    }
    assert_eq!(fs::read_to_string(&secret).unwrap(), "a,b\n1,2\n");
    assert!(asked("SELECT count(*) AS n FROM turns").is_ok());
}

/// SQL nested to any depth is an error, as a stack that overflows would end the program.
#[test]
fn sql_of_any_depth_is_answered_or_refused() {
    for (open, close) in [("(", ")"), ("abs(", ")")] {
        assert!(asked(&format!("SELECT {}1{} FROM turns", open.repeat(5_000), close.repeat(5_000))).is_err());
    }
    // What joins two to one has no end in the parser.
    for join in ["+", "||", "AND", "OR", "UNION SELECT", "::", "IS NULL OR", "<", "COLLATE", "-", "IN (1) OR"] {
        let refused = asked(&format!("SELECT {}1", format!("1 {join} ").repeat(20_000)));
        assert!(matches!(refused, Err(query::Error::Refused(_))), "{join}");
    }
    assert!(asked(&format!("SELECT {}1 AS n", "1 + ".repeat(100))).is_ok());
}

const WORDS: &[&str] = &[
    "SELECT",
    "FROM",
    "turns",
    "sessions",
    "model",
    "input_tokens",
    "*",
    ",",
    "(",
    ")",
    "WHERE",
    "GROUP BY",
    "ORDER BY",
    "LIMIT",
    "-1",
    "0",
    "1",
    "99999999999999999999",
    "'x'",
    "''",
    "NULL",
    "=",
    "<",
    "+",
    "-",
    "/",
    "%",
    "||",
    "IN",
    "IS",
    "NOT",
    "LIKE",
    "'%'",
    "sum",
    "count",
    "avg",
    "substr",
    "rank",
    "OVER",
    "PARTITION BY",
    "CASE",
    "WHEN",
    "THEN",
    "END",
    "JOIN",
    "ON",
    "UNION",
    "WITH",
    "AS",
    "a",
    "DISTINCT",
    "HAVING",
    "models",
    "labels",
    "unnest",
    "day",
    "DATE '2026-10-05'",
    "INTERVAL '1 month'",
    "CAST",
    "BIGINT",
    "[",
    "]",
    "1",
    "::",
    "TEXT",
    "strftime",
    "round",
    "left",
    "split_part",
    "array_get",
    ";",
    "--",
    "\"",
    "\u{0}",
    "é",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// Words of SQL in any order.
    #[test]
    fn any_sql_is_answered_or_refused(words in proptest::collection::vec(select(WORDS), 0..16)) {
        let _ = asked(&words.join(" "));
        let _ = asked(&format!("SELECT {} FROM turns", words.join(" ")));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    /// A file of an archive with other bytes, or cut.
    #[test]
    fn a_broken_archive_is_read_or_refused(file in any::<Index>(), bytes in proptest::collection::vec((any::<Index>(), any::<u8>()), 0..6), cut in proptest::option::of(any::<Index>())) {
        let directory = unpacked();
        let (name, whole) = &FILES[file.index(FILES.len())];
        let mut broken = whole.clone();
        for (at, byte) in bytes.into_iter().filter(|_| !whole.is_empty()) {
            broken[at.index(whole.len())] = byte;
        }
        if let Some(cut) = cut {
            broken.truncate(cut.index(whole.len() + 1));
        }
        fs::write(directory.path().join(name), broken).unwrap();
        let archive = Archive::at(directory.path());
        let _ = archive.check();
        let _ = archive.facts();
        let _ = archive.catalog();
        for (table, _) in archive.tables().into_iter().flatten() {
            let _ = archive.tables().map(|it| query::query(it, &format!("SELECT * FROM {table}")));
        }
    }
}

/// polars trusts files: of some broken ones it asks for more memory than there is. They are verified before.
#[test]
fn the_error_of_a_broken_table_names_the_next_step() {
    let (name, whole) = FILES.iter().find(|(it, _)| it.starts_with("generation-1/turns")).unwrap();
    let archive = unpacked();
    let refused = |broken: &[u8]| {
        fs::write(archive.path().join(name), broken).unwrap();
        let error = Archive::at(archive.path()).tables().err().unwrap().to_string();
        assert!(error.contains("agentlogs archive check"), "{error}");
    };
    for at in (0..whole.len()).step_by(whole.len() / 50) {
        let mut broken = whole.clone();
        broken[at] ^= 0xff;
        refused(&broken);
        refused(&whole[..at]);
    }
    refused(&[whole, &b" "[..]].concat());
    let mut report = std::process::Command::new(env!("CARGO_BIN_EXE_agentlogs"));
    let report = report.args(["report", "models", "--archive"]).arg(archive.path()).output().unwrap();
    let said = String::from_utf8(report.stderr).unwrap();
    assert!(report.status.code() == Some(1) && said.contains("agentlogs archive check"), "{said}");
    assert!(!said.contains("panicked"), "{said}");
}

/// A small archive: some sources, prices of its own, one part.
static SMALL: LazyLock<tempfile::TempDir> = LazyLock::new(|| {
    let directory = tempfile::tempdir().unwrap();
    let writer = Archive::at(directory.path()).write().unwrap();
    for source in small_sources() {
        writer.add(source);
    }
    let own = b"[[models]]\nmodel = \"mine\"\n[[models.prices]]\ninput = 1.0\noutput = 2.0\n";
    writer.write_own_prices(&Table::parse(own, Day(0)).unwrap()).unwrap();
    writer.commit().unwrap();
    directory
});

/// What the small archive is of, and one more source.
fn small_sources() -> Vec<Source> {
    facts(Retention::None).into_iter().filter(|source| source.path.contains("drover-events")).collect()
}

fn another_source() -> Source {
    facts(Retention::None).into_iter().find(|source| source.path.contains("pi-session")).unwrap()
}

/// A copy of the small archive.
fn copy_of_small() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    crate::copy(SMALL.path(), directory.path());
    directory
}

/// The files of the small archive, below its directory.
fn small_files() -> Vec<PathBuf> {
    let files = walkdir::WalkDir::new(SMALL.path()).sort_by_file_name().into_iter().filter_map(Result::ok);
    let files = files.filter(|entry| entry.file_type().is_file() && entry.metadata().unwrap().len() > 0);
    let files: Vec<_> = files.map(|it| it.path().strip_prefix(SMALL.path()).unwrap().to_owned()).collect();
    assert!(files.len() >= 11, "{files:?}");
    files
}

/// The rows of all tables in an order of their own.
fn rows_of(archive: &Archive) -> Vec<(&'static str, DataFrame)> {
    let sorted = |frame: DataFrame| {
        let columns = frame.columns().iter().filter(|column| !column.dtype().is_list());
        let by: Vec<_> = columns.map(|column| column.name().clone()).collect();
        frame.sort(by, SortMultipleOptions::default().with_nulls_last(true)).unwrap()
    };
    archive.tables().unwrap().into_iter().map(|(name, frame)| (name, sorted(frame.collect().unwrap()))).collect()
}

fn are_same(a: &[(&str, DataFrame)], b: &[(&str, DataFrame)]) -> bool {
    a.iter().zip(b).all(|(a, b)| a.0 == b.0 && a.1.equals_missing(&b.1))
}

/// What writes a new generation of an archive, or verifies it.
type Work = fn(&Archive) -> Result<Vec<archive::Problem>, archive::Error>;

fn ingest_another(archive: &Archive) -> Result<Vec<archive::Problem>, archive::Error> {
    let writer = archive.write()?;
    writer.add(another_source());
    Ok(writer.commit()?.problems)
}

fn compact(archive: &Archive) -> Result<Vec<archive::Problem>, archive::Error> {
    let mut writer = archive.write()?;
    writer.reconcile_all();
    Ok(writer.commit()?.problems)
}

/// Merges the archive into one that is empty, in its place.
fn merge(archive: &Archive) -> Result<Vec<archive::Problem>, archive::Error> {
    let known = archive.known_facts()?;
    let prices = archive.own_prices()?;
    fs::remove_dir_all(archive.directory()).unwrap();
    let writer = archive.write()?;
    for source in known.into_values() {
        writer.merge(source);
    }
    writer.write_own_prices(&Table { kind: TableKind::JsonLines, entries: prices, skipped: 0 })?;
    Ok(writer.commit()?.problems)
}

/// `DAMAGE=250 cargo test random_bytes` flips as many bytes of each file.
fn flips() -> u64 {
    std::env::var("DAMAGE").ok().and_then(|it| it.parse().ok()).unwrap_or(2)
}

/// A random byte of any file of an archive is another one: what writes the archive refuses it and names the file, or goes on without
/// an effect of the damage on any table. Facts alone stay damaged, and are named each time.
#[test]
fn random_bytes_are_refused_or_without_effect() {
    let works: [(&str, Work); 3] = [("ingest", ingest_another), ("compact", compact), ("merge", merge)];
    let expected = works.map(|(_, work)| {
        let directory = copy_of_small();
        let archive = Archive::at(directory.path());
        assert_eq!(work(&archive).unwrap(), []);
        rows_of(&archive)
    });
    let mut random = oorandom::Rand64::new(7);
    let (mut refused, mut healed, mut without_effect) = (0, 0, 0);
    for file in small_files() {
        for _ in 0..flips() {
            let mut bytes = fs::read(SMALL.path().join(&file)).unwrap();
            let at = usize::try_from(random.rand_range(0..bytes.len() as u64)).unwrap();
            let flip = u8::try_from(random.rand_range(1..256)).unwrap();
            bytes[at] ^= flip;
            for ((name, work), expected) in works.iter().zip(&expected) {
                let what = format!("{name}, byte {at} of {} by {flip:#x}", file.display());
                let directory = copy_of_small();
                fs::write(directory.path().join(&file), &bytes).unwrap();
                let archive = Archive::at(directory.path());
                match work(&archive) {
                    Err(error) => {
                        // A link leads to the generation.
                        let named = file.strip_prefix("generation-1").unwrap_or(&file);
                        assert!(error.to_string().contains(&named.display().to_string()), "{what}: {error}");
                        refused += 1;
                    }
                    Ok(problems) => {
                        assert!(are_same(&rows_of(&archive), expected), "{what}");
                        let left = archive.check().unwrap().problems;
                        let is_facts = file.iter().any(|it| it == "facts");
                        assert!(left.is_empty() || is_facts && !problems.is_empty(), "{what}: {left:?}");
                        if problems.is_empty() { without_effect += 1 } else { healed += 1 }
                    }
                }
            }
        }
    }
    assert!(refused > 0 && healed > 0 && without_effect > 0, "{refused} {healed} {without_effect}");
}

/// The same damage is repaired: all tables are as before, once the sources that it reached are read again.
#[test]
fn random_bytes_are_repaired() {
    let directory = copy_of_small();
    let archive = Archive::at(directory.path());
    compact(&archive).unwrap();
    let expected = rows_of(&archive);
    let mut random = oorandom::Rand64::new(11);
    let mut lost_sources = 0;
    for file in small_files() {
        for _ in 0..flips() {
            let mut bytes = fs::read(SMALL.path().join(&file)).unwrap();
            let at = usize::try_from(random.rand_range(0..bytes.len() as u64)).unwrap();
            bytes[at] ^= u8::try_from(random.rand_range(1..256)).unwrap();
            let what = format!("byte {at} of {}", file.display());
            let directory = copy_of_small();
            fs::write(directory.path().join(&file), &bytes).unwrap();
            let archive = Archive::at(directory.path());
            let archive::Repair { writer, problems, lost, is_incomplete } = match archive.repair() {
                Ok(repair) => repair,
                // Only another version leaves nothing to begin with.
                Err(archive::Error::Version { .. }) if file.ends_with("agentlogs.json") => continue,
                Err(error) => panic!("{what}: {error}"),
            };
            let is_intact = archive.check().is_ok_and(|checked| checked.problems.is_empty());
            assert!(is_intact || !problems.is_empty(), "{what}");
            assert!(!is_incomplete, "{what}");
            lost_sources += lost.len();
            for lost in lost {
                let source = small_sources().into_iter().find(|source| source.path == lost.path).unwrap();
                assert_eq!(lost.is_same(&source), Some(true), "{what}");
                writer.replace(source);
            }
            writer.commit().unwrap();
            assert_eq!(archive.check().unwrap().problems, [], "{what}");
            // Prices have to be imported again.
            let repaired = rows_of(&archive);
            assert!(are_same(&repaired, &expected), "{what}");
        }
    }
    assert!(lost_sources > 0);
}

/// A disk that changes a byte changes no time. A check and a repair compare all bytes; no new tables are made of damaged facts.
#[test]
fn a_change_that_keeps_the_time_is_found() {
    for file in
        small_files().into_iter().filter(|file| file.starts_with("generation-1") && file.components().count() == 3)
    {
        let original = SMALL.path().join(&file);
        let mut bytes = fs::read(&original).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        let directory = copy_of_small();
        let path = directory.path().join(&file);
        fs::write(&path, &bytes).unwrap();
        let time = fs::metadata(&original).unwrap().modified().unwrap();
        fs::File::options().append(true).open(&path).unwrap().set_modified(time).unwrap();
        let archive = Archive::at(directory.path());
        let found = archive.check().unwrap().problems;
        assert!(matches!(&found[..], [problem] if problem.path.ends_with(&file)), "{file:?}: {found:?}");
        if file.components().any(|it| it.as_os_str() == "facts") {
            let refused = compact(&archive).unwrap_err().to_string();
            assert!(refused.contains("facts"), "{refused}");
        }
        let repair = archive.repair().unwrap();
        assert!(repair.problems.iter().any(|problem| problem.path.ends_with(&file)), "{:?}", repair.problems);
    }
}

/// A manifest that is not JSON, or none at all, is made again from the facts.
#[test]
fn a_manifest_is_made_again_from_the_facts() {
    let expected = copy_of_small();
    compact(&Archive::at(expected.path())).unwrap();
    let expected = rows_of(&Archive::at(expected.path()));
    let text = fs::read_to_string(SMALL.path().join("generation-1/manifest.json")).unwrap();
    let mut without_parts: serde_json::Value = serde_json::from_str(&text).unwrap();
    without_parts["parts"] = serde_json::json!([]);
    for text in [None, Some("{".to_owned()), Some(without_parts.to_string())] {
        let directory = copy_of_small();
        let manifest = directory.path().join("generation-1/manifest.json");
        fs::remove_file(&manifest).unwrap();
        if let Some(text) = text {
            fs::write(&manifest, text).unwrap();
        }
        let archive = Archive::at(directory.path());
        let archive::Repair { writer, lost, is_incomplete, .. } = archive.repair().unwrap();
        assert!(lost.is_empty() && !is_incomplete);
        writer.commit().unwrap();
        assert_eq!(archive.check().unwrap().problems, []);
        assert!(are_same(&rows_of(&archive), &expected));
    }
}

/// One damaged source is the only one that has to be read again, whatever else is damaged.
#[test]
fn damage_to_facts_costs_the_damaged_source() {
    let manifest = fs::read_to_string(SMALL.path().join("generation-1/manifest.json")).unwrap();
    let mut without_parts: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    without_parts["parts"] = serde_json::json!([]);
    let manifests = [
        manifest.clone(),
        "{".to_owned(),
        without_parts.to_string(),
        manifest.replace(r#""name": "1-0""#, r#""name": "1-1""#),
        manifest.replace(r#""name": "1-0""#, r#""name": "../0""#),
    ];
    for (number, manifest) in manifests.iter().enumerate() {
        for has_intact_links in [true, false] {
            let directory = copy_of_small();
            let change = |name: &str, change: &dyn Fn(&mut Vec<u8>)| {
                let path = directory.path().join("generation-1").join(name);
                let mut bytes = fs::read(&path).unwrap();
                change(&mut bytes);
                fs::remove_file(&path).unwrap();
                fs::write(&path, bytes).unwrap();
            };
            let flip_last = |bytes: &mut Vec<u8>| *bytes.last_mut().unwrap() ^= 1;
            change("facts/1-0", &flip_last);
            change("manifest.json", &|bytes| *bytes = manifest.clone().into_bytes());
            if !has_intact_links {
                change("index/1-0", &flip_last);
            }
            let archive = Archive::at(directory.path());
            let archive::Repair { writer, lost, is_incomplete, .. } = archive.repair().unwrap();
            assert_eq!((lost.len(), is_incomplete), (1, false), "{number} {has_intact_links}");
            writer.commit().unwrap();
            assert_eq!(archive.check().unwrap().problems, []);
            assert_eq!(archive.facts().unwrap().len(), small_sources().len() - 1);
        }
    }
}

/// Where the facts are damaged as well, an earlier generation is used, and the later one is not removed by any later write. If there
/// is none, the archive cannot be repaired.
#[test]
fn a_generation_that_cannot_be_read_is_kept() {
    let directory = copy_of_small();
    let archive = Archive::at(directory.path());
    let damage = |generation: &str| {
        let generation = directory.path().join(generation);
        fs::remove_file(generation.join("manifest.json")).unwrap();
        fs::write(generation.join("manifest.json"), "{").unwrap();
        for facts in fs::read_dir(generation.join("facts")).unwrap() {
            let facts = facts.unwrap().path();
            fs::remove_file(&facts).unwrap();
            fs::write(&facts, "x").unwrap();
        }
    };
    ingest_another(&archive).unwrap();
    damage("generation-2");
    let archive::Repair { writer, is_incomplete, .. } = archive.repair().unwrap();
    assert!(is_incomplete);
    writer.commit().unwrap();
    compact(&archive).unwrap();
    compact(&archive).unwrap();
    assert!(directory.path().join("generation-2.damaged/manifest.json").exists());
    let directory = copy_of_small();
    let archive = Archive::at(directory.path());
    fs::write(directory.path().join("prices"), "no prices").unwrap();
    fs::remove_file(directory.path().join("generation-1/manifest.json")).unwrap();
    fs::remove_dir_all(directory.path().join("generation-1/facts")).unwrap();
    assert!(matches!(archive.repair(), Err(archive::Error::Unrepairable(_))));
    assert!(directory.path().join("prices").exists());
}

/// Of a damaged file of facts and an index that is gone, the table of sources still names what was lost.
#[test]
fn a_part_without_index_and_facts_is_named() {
    let directory = copy_of_small();
    fs::write(directory.path().join("generation-1/index/1-0"), "").unwrap();
    let archive = Archive::at(directory.path());
    // The facts alone are enough for all sources.
    let archive::Repair { writer, lost, .. } = archive.repair().unwrap();
    assert!(lost.is_empty());
    drop(writer);
    let facts = fs::read_dir(directory.path().join("generation-1/facts")).unwrap().next().unwrap().unwrap().path();
    let mut bytes = fs::read(&facts).unwrap();
    bytes[9] ^= 1;
    fs::write(&facts, bytes).unwrap();
    let lost = archive.repair().unwrap().lost;
    let paths: Vec<_> = small_sources().into_iter().map(|source| source.path).collect();
    assert_eq!(lost.into_iter().map(|lost| lost.path).collect::<Vec<_>>(), paths);
}

/// An archive of those files.
fn unpacked() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (path, bytes) in FILES.iter() {
        let path = directory.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    directory
}
