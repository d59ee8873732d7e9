//! Logs and lists of paths from standard input.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use agentlogs::store::archive::Archive;

use crate::{root, samples};

/// How a command ended, and what it wrote to stderr.
struct Ended {
    status: Option<i32>,
    stderr: String,
}

/// Runs a command in a directory, with this as its standard input.
fn run(directory: &Path, args: &[&str], input: &[u8]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_agentlogs"));
    command.args(args).current_dir(directory).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A command that does not read it closes the pipe.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

/// Runs `agentlogs ingest` in a directory, with this as its standard input, into `archive` there.
fn ingest(directory: &Path, args: &[&str], input: &[u8]) -> Ended {
    let output = run(directory, &[&["ingest", "--archive", "archive"], args].concat(), input);
    assert!(output.stdout.is_empty());
    Ended { status: output.status.code(), stderr: String::from_utf8(output.stderr).unwrap() }
}

fn sample(name: &str) -> Vec<u8> {
    fs::read(root().join("sample-logs").join(name)).unwrap()
}

fn archive(directory: &Path) -> Archive {
    Archive::at(directory.join("archive"))
}

fn paths(directory: &Path) -> Vec<String> {
    archive(directory).known_facts().unwrap().into_keys().collect()
}

#[test]
fn each_log_of_standard_input_is_kept_once() {
    let directory = tempfile::tempdir().unwrap();
    let (one, other) = (sample("drover-events/quota.jsonl"), sample("drover-events/paused.jsonl"));
    let begun = one.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    // A longer capture of a session replaces a shorter one, before and after another log.
    let states =
        [(&one[..begun], 1), (&one[..], 1), (&other, 2), (&one, 2), (&other, 2), (&one[..begun], 2), (&one, 2)];
    for (log, sessions) in states {
        assert_eq!(ingest(directory.path(), &["-", "--label", "team=web"], log).status, Some(0));
        assert_eq!(archive(directory.path()).sums().unwrap().sessions, sessions);
    }
    let paths = paths(directory.path());
    assert!(paths.iter().all(|path| path == "-" || path.starts_with("-#")), "{paths:?}");
    let expected = tempfile::tempdir().unwrap();
    let files = ["quota", "paused"].map(|it| root().join(format!("sample-logs/drover-events/{it}.jsonl")));
    ingest(expected.path(), &files.each_ref().map(|it| it.to_str().unwrap()), b"");
    assert_eq!(archive(directory.path()).sums().unwrap(), archive(expected.path()).sums().unwrap());
    let labels = archive(directory.path()).known_facts().unwrap();
    assert!(labels.values().flat_map(|it| &it.sessions).all(|it| it.labels.contains("team=web")));
}

/// Of every format: a capture that was cut, another log, and the whole capture count as the two logs.
#[test]
fn a_longer_capture_replaces_a_shorter_one_in_every_format() {
    let other = sample("drover-events/paused.jsonl");
    let other_path = root().join("sample-logs/drover-events/paused.jsonl");
    let logs: Vec<_> = samples()
        .into_iter()
        .filter(|path| path.extension().is_some_and(|it| it == "jsonl") && *path != other_path)
        .step_by(9)
        .collect();
    for path in logs {
        let log = fs::read(&path).unwrap();
        let half = log.iter().take(log.len() / 2).rposition(|byte| *byte == b'\n').map_or(log.len(), |it| it + 1);
        let directory = tempfile::tempdir().unwrap();
        for part in [&log[..half], &other, &log] {
            assert_eq!(ingest(directory.path(), &["-"], part).status, Some(0), "{}", path.display());
        }
        // In a file of no name, as standard input has none.
        let expected = tempfile::tempdir().unwrap();
        fs::write(expected.path().join("a"), &log).unwrap();
        fs::write(expected.path().join("b"), &other).unwrap();
        ingest(expected.path(), &["a", "b"], b"");
        assert_eq!(
            archive(directory.path()).sums().unwrap(),
            archive(expected.path()).sums().unwrap(),
            "{}",
            path.display()
        );
    }
}

#[test]
fn standard_input_without_a_log_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    for input in [&b""[..], b"\n \n"] {
        let ended = ingest(directory.path(), &["-"], input);
        assert_eq!(ended.status, Some(1));
        assert!(ended.stderr.starts_with("agentlogs: standard input: it is empty\n"), "{}", ended.stderr);
        assert!(ended.stderr.ends_with("nothing was written\n"), "{}", ended.stderr);
    }
    assert!(!directory.path().join("archive").exists());
}

#[test]
fn an_empty_list_of_paths_is_named() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("list"), "\n\n").unwrap();
    for (list, name) in [("-", "standard input"), ("list", "list")] {
        let ended = ingest(directory.path(), &["--files-from", list], b"");
        let expected = format!("agentlogs: --files-from: {name} contains no paths\nnothing was written\n");
        assert_eq!((ended.status, ended.stderr), (Some(1), expected));
    }
    assert!(!directory.path().join("archive").exists());
    // An existing archive does not change.
    assert_eq!(ingest(directory.path(), &["-"], &sample("drover-events/quota.jsonl")).status, Some(0));
    let before = archive(directory.path()).sums().unwrap();
    let ended = ingest(directory.path(), &["--files-from", "-"], b"");
    assert_eq!((ended.status, archive(directory.path()).sums().unwrap()), (Some(0), before));
    assert!(
        ended.stderr.starts_with("agentlogs: --files-from: standard input contains no paths\n"),
        "{}",
        ended.stderr
    );
}

/// A capture is also a source of reports and queries, without an archive.
#[test]
fn commands_read_logs_from_standard_input() {
    let directory = tempfile::tempdir().unwrap();
    for args in [&["report", "sessions", "--format", "csv", "--logs", "-"][..], &["inspect", "-"]] {
        let output = run(directory.path(), args, &sample("drover-events/quota.jsonl"));
        let stdout = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && stdout.contains("drover"), "{args:?}: {stdout}");
    }
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}

/// What other programs print is imported without a file: `gh pr list --json … | agentlogs git import -`.
#[test]
fn imports_read_standard_input_and_pipes() {
    let directory = tempfile::tempdir().unwrap();
    ingest(directory.path(), &["-"], &sample("drover-events/quota.jsonl"));
    // Its later lines are damaged.
    let bill = fs::read_to_string(root().join("tests/bill/openai-usage.csv")).unwrap();
    let bill = bill.lines().take(3).collect::<Vec<_>>().join("\n");
    let requests = br#"[{"number": 7, "url": "https://github.com/a/b/pull/7", "state": "OPEN"}]"#;
    let prices = b"[[models]]\nmodel = \"own\"\nprices = [{ input = 1, output = 2 }]\n";
    // The device of standard input is a pipe, as that of `<(gh pr list …)`.
    let names = if cfg!(unix) { &["-", "/dev/stdin"][..] } else { &["-"] };
    for name in names {
        let answered = |command: &[&str], input: &[u8]| {
            let output = run(directory.path(), &[command, &[*name, "--archive", "archive"]].concat(), input);
            let [stdout, stderr] = [output.stdout, output.stderr].map(|it| String::from_utf8(it).unwrap());
            assert_eq!(output.status.code(), Some(0), "{command:?} {name}: {stderr}");
            stdout + &stderr
        };
        assert!(answered(&["bill"], bill.as_bytes()).contains("on the bill are explained"));
        assert!(answered(&["git", "import"], requests).contains("1 pull request: 1 open"));
        assert!(answered(&["prices", "import"], prices).contains(&format!("1 model from {name}, ")));
        assert!(answered(&["query", "--file"], b"SELECT count(*) AS n FROM pull_requests").contains('1'));
        // A second import replaces the same verdicts, not those of another one.
        for (passed, imported) in [("yes", 1), ("no", 2), ("yes", 2)] {
            let verdicts = format!("session_id,passed\nnowhere,{passed}\n");
            let answer = answered(&["verdicts", "import"], verdicts.as_bytes());
            assert!(answer.contains("imported 1 verdict from 1 file"), "{answer}");
            let kept = paths(directory.path()).into_iter().filter(|path| path.starts_with("verdicts:-#")).count();
            assert!(kept == imported || *name != "-", "{kept} {passed}");
        }
    }
}

#[test]
fn standard_input_is_read_once() {
    let directory = tempfile::tempdir().unwrap();
    for args in [
        &["git", "import", "-", "-"][..],
        &["verdicts", "import", "-", "-"],
        &["bill", "-", "-"],
        &["bill", "-", "--logs", "-"],
        &["query", "--file", "-", "--logs", "-"],
        &["report", "cost", "--svg", "-", "--chart"],
        &["report", "cost", "--svg", "-", "--format", "json"],
    ] {
        let output = run(directory.path(), args, b"[]");
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{args:?}: {stderr}");
        assert!(stderr.contains("standard input") || stderr.contains("standard output"), "{args:?}: {stderr}");
    }
}

#[test]
fn a_chart_is_written_to_standard_output() {
    let directory = tempfile::tempdir().unwrap();
    ingest(directory.path(), &["-"], &sample("drover-events/quota.jsonl"));
    let args = ["report", "tokens", "--by", "runtime", "--svg", "-", "--archive", "archive"];
    let output = run(directory.path(), &args, b"");
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert!(stdout.starts_with("<svg") && stdout.trim_end().ends_with("</svg>"), "{stdout}");
    assert!(!directory.path().join("-").exists());
}

#[test]
fn standard_input_may_be_an_archive() {
    let directory = tempfile::tempdir().unwrap();
    let tar = crate::containers::tar(&vec![("a/b.jsonl".to_owned(), sample("drover-events/quota.jsonl"))]);
    let ended = ingest(directory.path(), &["-"], &tar);
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    assert!(ended.stderr.contains("2  1 auxiliary, 1 parsed\n"), "{}", ended.stderr);
    assert_eq!(paths(directory.path()), ["-", "-!/a/b.jsonl"]);
}

#[test]
fn the_paths_of_a_list_are_read() {
    let directory = tempfile::tempdir().unwrap();
    let logs = ["quota", "paused", "child"].map(|name| (name, sample(&format!("drover-events/{name}.jsonl"))));
    for (name, log) in logs {
        fs::write(directory.path().join(name), log).unwrap();
    }
    // A file of this name, not standard input.
    fs::rename(directory.path().join("child"), directory.path().join("-")).unwrap();
    let sessions = || archive(directory.path()).sums().unwrap().sessions;
    assert_eq!(ingest(directory.path(), &["--files-from", "-"], b"quota\n\npaused").status, Some(0));
    assert_eq!(sessions(), 2);
    fs::write(directory.path().join("list"), b"-\0quota\0").unwrap();
    let ended = ingest(directory.path(), &["--files-from", "list", "paused"], b"");
    assert_eq!((ended.status, sessions()), (Some(0), 3), "{}", ended.stderr);
    assert!(ended.stderr.contains("3  3 parsed, 2 of them unchanged\n"), "{}", ended.stderr);
    // What is missing is named, and the others are read.
    let ended = ingest(directory.path(), &["--files-from", "-"], b"one\nquota\ntwo\n");
    assert_eq!(ended.status, Some(1));
    let expected = "agentlogs: one: no such file or directory\nagentlogs: two: no such file or directory\n";
    assert!(ended.stderr.starts_with(expected), "{}", ended.stderr);
    let ended = ingest(directory.path(), &["--files-from", "nowhere"], b"");
    assert_eq!(ended.status, Some(1));
    assert!(ended.stderr.starts_with("agentlogs: nowhere: "), "{}", ended.stderr);
    let ended = ingest(directory.path(), &["--files-from", "-", "-"], b"quota\n");
    assert_eq!(ended.status, Some(2));
    assert_eq!(ended.stderr, "agentlogs: standard input cannot be both a log and the list of --files-from\n");
}

#[test]
fn what_is_forgotten_of_an_archive_is_read_again() {
    let directory = tempfile::tempdir().unwrap();
    let log = ("a.jsonl".to_owned(), sample("drover-events/quota.jsonl"));
    fs::write(directory.path().join("logs.tar"), crate::containers::tar(&vec![log])).unwrap();
    let ended = ingest(directory.path(), &["logs.tar"], b"");
    assert!(ended.stderr.contains("2  1 auxiliary, 1 parsed\n"), "{}", ended.stderr);
    let ended = ingest(directory.path(), &["logs.tar"], b"");
    assert!(ended.stderr.contains("2  1 auxiliary, 1 parsed, 2 of them unchanged\n"), "{}", ended.stderr);
    let mut forget = Command::new(env!("CARGO_BIN_EXE_agentlogs"));
    forget.args(["archive", "forget", "*!/a.jsonl", "--archive", "archive"]).current_dir(directory.path());
    let output = forget.output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("deleted 1 file\n"));
    assert_eq!(paths(directory.path()).len(), 0);
    ingest(directory.path(), &["logs.tar"], b"");
    assert_eq!(archive(directory.path()).sums().unwrap().sessions, 1);
}
