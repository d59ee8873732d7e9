//! Trees of files that were made to harm: what can be read of them is read, and nothing waits, ends or stays silent.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use agentlogs::ingest::{self, Options, Progress, ReadSummary};
use agentlogs::input::open::Limit;
use agentlogs::model::health::Reason;
use agentlogs::model::source::{Source, SourceStatus};

use crate::reconciled;

const LOG: &str = r#"{"type":"thread.started","thread_id":"th1"}
{"type":"turn.completed","usage":{"input_tokens":3,"cached_input_tokens":0,"output_tokens":5}}
"#;

fn pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

fn read(directory: &Path) -> ReadSummary {
    let options = Options { roots: vec![directory.to_owned()], limit: Limit::Bytes(1 << 20), ..Options::default() };
    ingest::read(&options, &BTreeMap::new(), &Progress::default())
}

/// Pipes where a sidecar or a database is looked for, sockets, devices, loops, names of any bytes.
#[test]
fn what_is_no_file_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    fs::create_dir_all(root.join("a/b")).unwrap();
    for name in ["log.jsonl", "a/two\nlines.jsonl", "a/\u{1b}[31mred.jsonl", "a/b/=1+1.jsonl", "a/b/-wal"] {
        fs::write(root.join(name), LOG).unwrap();
    }
    fs::write(root.join("a").join(OsStr::from_bytes(b"no\xfftext.jsonl")), LOG).unwrap();
    // Beside a log, and where the database of a journal would be.
    pipe(&root.join("meta.json"));
    pipe(&root.join("a/meta.json"));
    pipe(&root.join("a/b/state.db"));
    fs::write(root.join("a/b/state.db-wal"), LOG).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(root.join("socket")).unwrap();
    symlink("/dev/zero", root.join("zero.jsonl")).unwrap();
    symlink("/dev/stdin", root.join("stdin.jsonl")).unwrap();
    symlink("..", root.join("a/up")).unwrap();
    symlink("loop", root.join("loop")).unwrap();
    symlink("/nowhere", root.join("dangling.jsonl")).unwrap();
    let taken = read(root);
    assert_eq!(taken.sources.iter().filter(|it| it.status == SourceStatus::Parsed).count(), 7, "{:?}", taken.sources);
    assert_eq!(taken.sources.len(), 7);
    // The link to itself is named; it is not a failure.
    assert!(
        taken.errors.iter().all(|error| error.is_left_out() && error.to_string().contains("/loop")),
        "{:?}",
        taken.errors
    );
    let tables = reconciled(taken.sources);
    assert_eq!((tables.sessions.len(), tables.sessions[0].tokens.total()), (1, Some(8)));
}

/// A directory that cannot be read is reported, and the files beside it are read. Root can read any directory.
#[test]
fn a_directory_that_cannot_be_read_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    let closed = directory.path().join("closed");
    fs::create_dir(&closed).unwrap();
    fs::write(directory.path().join("log.jsonl"), LOG).unwrap();
    let file = directory.path().join("closed.jsonl");
    fs::write(&file, LOG).unwrap();
    let close = |mode: u32| {
        fs::set_permissions(&closed, fs::Permissions::from_mode(mode)).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
    };
    close(0o000);
    let (taken, is_root) = (read(directory.path()), fs::read_dir(&closed).is_ok());
    close(0o700);
    let status = |name: &str| taken.sources.iter().find(|it| it.path.ends_with(name)).map(|it| it.status);
    assert_eq!(status("/log.jsonl"), Some(SourceStatus::Parsed));
    if !is_root {
        assert_eq!(taken.errors.len(), 1, "{:?}", taken.errors);
        assert!(taken.errors[0].is_left_out());
        assert_eq!(status("/closed.jsonl"), Some(SourceStatus::Unreadable));
    }
}

/// Each kind of broken line between two good ones costs itself and is counted by its name.
#[test]
fn each_kind_of_bad_line_is_counted_by_its_name() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log.jsonl");
    let deep = format!(r#"{{"type":"item.completed","item":{}"#, "[".repeat(100_000));
    let whole_deep = format!(r#"{{"type":"item.completed","item":{}{}}}"#, "[".repeat(5000), "]".repeat(5000));
    let usage = |counts: &str| format!(r#"{{"type":"turn.completed","usage":{counts}}}"#);
    let bad: &[(&[u8], Option<Reason>)] = &[
        (b"npm warn", Some(Reason::NotJson)),
        (b"[1,2]", Some(Reason::NotAnObject)),
        (br#"{"type":"item.completed","item":{"#, Some(Reason::CutShort)),
        (deep.as_bytes(), Some(Reason::TooDeep)),
        (whole_deep.as_bytes(), Some(Reason::TooDeep)),
        (&usage(r#"{"input_tokens":-3,"output_tokens":5}"#).into_bytes(), Some(Reason::BadNumber)),
        (&usage(r#"{"input_tokens":1e400,"output_tokens":5}"#).into_bytes(), Some(Reason::BadNumber)),
        (&usage(r#"{"input_tokens":99999999999999999999,"output_tokens":5}"#).into_bytes(), Some(Reason::BadNumber)),
        (&usage(r#"{"input_tokens":1.5,"output_tokens":5}"#).into_bytes(), Some(Reason::BadNumber)),
        (&usage("7").into_bytes(), Some(Reason::NoUsage)),
        // Text that is none, halves of an emoji, a key twice and NUL bytes cost nothing.
        (b"{\"type\":\"item.completed\",\"item\":{\"text\":\"\xff\xfe\"}}", None),
        (br#"{"type":"item.completed","item":{"text":"\ud83d"}}"#, None),
        (br#"{"type":"item.completed","type":"turn.completed","item":{}}"#, None),
        (b"\0\0\0\0", None),
    ];
    for (line, reason) in bad {
        fs::write(&path, [LOG.as_bytes(), line, b"\n", LOG.split_once('\n').unwrap().1.as_bytes()].concat()).unwrap();
        let source: Source = read(&path).sources.remove(0);
        let rejects: Vec<_> = source.health.rejects.iter().map(|it| (it.reason, it.lines, it.first_line)).collect();
        let expected: Vec<_> = reason.iter().map(|it| (*it, 1, 3)).collect();
        assert_eq!(rejects, expected, "{}", String::from_utf8_lossy(&line[..line.len().min(80)]));
        let tables = reconciled(vec![source]);
        assert_eq!(tables.sessions[0].tokens.total(), Some(8), "{:?}", tables.sessions[0]);
    }
}
