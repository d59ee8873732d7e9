//! What is not ours: SQL that somebody typed, and an archive that somebody broke. An error, never a panic, never a file.

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use agentlogs::archive::Archive;
use agentlogs::builder::Content;
use agentlogs::{frames, query};
use polars::prelude::*;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::{facts, settled};

static FRAMES: LazyLock<Vec<(&'static str, DataFrame)>> =
    LazyLock::new(|| frames::frames(&settled(facts(Content::None))).unwrap());

fn asked(sql: &str) -> Result<DataFrame, query::Error> {
    query::query(FRAMES.iter().map(|(name, it)| (*name, it.clone().lazy())).collect(), sql)
}

/// The files of an archive of the samples.
static FILES: LazyLock<Vec<(PathBuf, Vec<u8>)>> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let archive = Archive::at(folder.path());
    let writer = archive.write().unwrap();
    for source in facts(Content::None) {
        writer.add(source);
    }
    writer.commit().unwrap();
    let files = walkdir::WalkDir::new(folder.path()).sort_by_file_name().into_iter().filter_map(Result::ok);
    let files = files.filter(|it| it.file_type().is_file());
    files.map(|it| (it.path().strip_prefix(folder.path()).unwrap().to_owned(), fs::read(it.path()).unwrap())).collect()
});

/// All functions and statements of polars' SQL that name a file, in every place where SQL lets them stand.
#[test]
fn sql_reaches_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("secret.csv");
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
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// A file of an archive with other bytes, or cut.
    #[test]
    fn a_broken_archive_is_read_or_refused(file in any::<Index>(), bytes in proptest::collection::vec((any::<Index>(), any::<u8>()), 0..6), cut in proptest::option::of(any::<Index>())) {
        let folder = unpacked();
        let (name, whole) = &FILES[file.index(FILES.len())];
        let mut broken = whole.clone();
        for (at, byte) in bytes.into_iter().filter(|_| !whole.is_empty()) {
            broken[at.index(whole.len())] = byte;
        }
        if let Some(cut) = cut {
            broken.truncate(cut.index(whole.len() + 1));
        }
        fs::write(folder.path().join(name), broken).unwrap();
        let archive = Archive::at(folder.path());
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
fn a_broken_table_is_an_error_that_says_what_to_do() {
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

/// An archive of those files.
fn unpacked() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, bytes) in FILES.iter() {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    #[cfg(unix)]
    std::os::unix::fs::symlink("generation-1", folder.path().join("current")).unwrap();
    #[cfg(not(unix))]
    fs::write(folder.path().join("current"), "generation-1").unwrap();
    folder
}
