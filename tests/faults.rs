//! Faults: killed processes, failing writes, truncated logs, damaged archives.
//!
//! As with a SQLite database, an archive is in the state before or after an ingest, whatever happens to the ingest.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use agentlogs::store::archive::{Archive, Sums};

use crate::{copy, root};

fn ingest(program: &mut Command, logs: &Path, archive: &Path) -> std::process::Child {
    let program = program.arg("ingest").arg(logs).arg("--archive").arg(archive);
    program.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_agentlogs"))
}

/// Sets whether the program makes hard and symbolic links.
fn with_links(program: &mut Command, with_links: bool) -> &mut Command {
    program.env("AGENTLOGS_WITHOUT_LINKS", if with_links { "" } else { "1" })
}

/// The contents of the archive, after it was checked; `None` if there is no archive.
fn held(archive: &Path) -> Option<Sums> {
    let archive = Archive::at(archive);
    match archive.check() {
        Ok(checked) => {
            assert_eq!(checked.problems, []);
            Some(archive.sums().unwrap())
        }
        Err(agentlogs::store::archive::Error::Missing(_)) => None,
        Err(error) => panic!("{error}"),
    }
}

/// An archive of some logs, and these logs with more logs in the same directory.
struct Before {
    directory: tempfile::TempDir,
}

impl Before {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let logs = directory.path().join("logs");
        for format in ["drover-events", "pi-session", "opencode-export"] {
            copy(&root().join("sample-logs").join(format), &logs.join(format));
        }
        assert!(ingest(&mut program(), &logs, &directory.path().join("before")).wait().unwrap().success());
        for format in ["claude-transcript", "codex-rollout", "opencode-storage"] {
            copy(&root().join("sample-logs").join(format), &logs.join(format));
        }
        Self { directory }
    }

    /// Runs an ingest that may fail on a new archive, or on a copy of the earlier one. Checks that the archive is intact
    /// afterwards, and that the next ingest has the same result as without the failure. Returns whether the first ingest took
    /// effect.
    fn survives(&self, name: &str, is_first: bool, run: impl FnOnce(&Path, &Path)) -> bool {
        let logs = self.directory.path().join("logs");
        let (before, archive) = (self.directory.path().join("before"), self.directory.path().join(name));
        if !is_first {
            copy(&before, &archive);
        }
        let old = held(&archive);
        run(&logs, &archive);
        let now = held(&archive);
        assert!(ingest(&mut program(), &logs, &archive).wait().unwrap().success());
        let whole = held(&archive);
        assert!(now == old || now == whole, "{now:?} is neither {old:?} nor {whole:?}");
        // Temporary files are removed: the lock, the current generation and perhaps the previous one remain.
        let names: BTreeSet<String> =
            fs::read_dir(&archive).unwrap().map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
        let is_own =
            |it: &String| ["agentlogs.json", "lock", "current"].contains(&it.as_str()) || it.starts_with("generation-");
        assert!(names.iter().all(is_own) && names.len() <= 5, "{names:?}");
        fs::remove_dir_all(&archive).unwrap();
        now == whole
    }
}

/// The number of points that are tested; `FAULTS=500 cargo test faults` tests more.
fn points() -> u32 {
    std::env::var("FAULTS").ok().and_then(|it| it.parse().ok()).unwrap_or(24)
}

#[test]
fn a_process_that_is_killed_leaves_the_archive_before_or_after() {
    let before = Before::new();
    let start = Instant::now();
    let time = || {
        before.survives("whole", false, |logs, archive| {
            assert!(ingest(&mut program(), logs, archive).wait().unwrap().success());
        })
    };
    assert!(time());
    // Two ingests and three checks: an ingest is shorter.
    let time = start.elapsed() / 2;
    let mut outcomes = BTreeSet::new();
    for point in 0..points() {
        let after = time * point / points();
        outcomes.insert(before.survives(&format!("killed-{point}"), point % 3 == 0, |logs, archive| {
            let mut child = ingest(with_links(&mut program(), point % 2 == 0), logs, archive);
            std::thread::sleep(Duration::max(after, Duration::from_micros(1)));
            let _ = child.kill();
            child.wait().unwrap();
        }));
    }
    assert!(outcomes.contains(&false), "every ingest ended before it was killed");
}

/// A full disk: writes beyond a size fail.
#[cfg(unix)]
#[test]
fn a_write_that_fails_changes_nothing() {
    let before = Before::new();
    let mut failed = 0;
    for point in 0..points() {
        // In blocks of 512 bytes: the files are some kilobytes large.
        let limit = point * 2;
        before.survives(&format!("full-{point}"), point % 3 == 0, |logs, archive| {
            let mut shell = Command::new("sh");
            let script = format!("trap '' XFSZ; ulimit -f {limit}; exec \"$0\" \"$@\"");
            shell.arg("-c").arg(script).arg(env!("CARGO_BIN_EXE_agentlogs"));
            let status = ingest(with_links(&mut shell, point % 2 == 0), logs, archive).wait().unwrap();
            // The program reports the failure, and is not killed by the signal.
            assert!(matches!(status.code(), Some(0 | 1)), "{status}");
            failed += u32::from(!status.success());
        });
    }
    assert!(failed > 0);
}

/// Of concurrent ingests one waits for the other, and the archive contains both.
#[test]
fn writers_wait_for_each_other() {
    let directory = tempfile::tempdir().unwrap();
    let archive = directory.path().join("archive");
    let formats = ["drover-events", "pi-session", "claude-transcript", "codex-rollout"];
    let logs = |format: &str| root().join("sample-logs").join(format);
    let children: Vec<_> = formats.iter().map(|it| ingest(&mut program(), &logs(it), &archive)).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let at_once = held(&archive).unwrap();
    let one_by_one = directory.path().join("one-by-one");
    for format in formats {
        assert!(ingest(&mut program(), &logs(format), &one_by_one).wait().unwrap().success());
    }
    let same = |it: Sums| (it.sessions, it.turns, it.tool_calls, it.tokens, it.unpriced_tokens);
    assert_eq!(same(at_once), same(held(&one_by_one).unwrap()));
}

/// Readers need no lock: while an archive is rewritten repeatedly, every report reads a consistent one.
#[test]
fn a_reader_never_sees_a_half() {
    let directory = tempfile::tempdir().unwrap();
    let (archive, logs) = (directory.path().join("archive"), directory.path().join("logs"));
    fs::create_dir_all(&logs).unwrap();
    let sample = fs::read(root().join("sample-logs/drover-events/quota.jsonl")).unwrap();
    fs::write(logs.join("0.jsonl"), &sample).unwrap();
    assert!(ingest(&mut program(), &logs, &archive).wait().unwrap().success());
    let known = Archive::at(&archive).sums().unwrap();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for round in 1..8 {
                // Copies change `sources` and nothing else.
                fs::write(logs.join(format!("{round}.jsonl")), &sample).unwrap();
                assert!(ingest(&mut program(), &logs, &archive).wait().unwrap().success());
            }
        });
        while !writer.is_finished() {
            let archive = Archive::at(&archive);
            let sql = "SELECT COUNT(*) AS sessions, SUM(total_tokens) AS tokens FROM sessions";
            let frame = agentlogs::store::query::query(archive.tables().unwrap(), sql).unwrap();
            let value = |it: &str| frame.column(it).unwrap().get(0).unwrap().extract::<i64>();
            assert_eq!((value("sessions"), value("tokens")), (i64::try_from(known.sessions).ok(), Some(known.tokens)));
        }
    });
}

/// The exit status of a command, and what it printed to stderr.
fn ended(directory: &Path, args: &[&str]) -> (Option<i32>, String) {
    let output = program().args(args).current_dir(directory).output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

/// A compressed log that is truncated in place is reported, and its earlier data stays in the archive.
#[test]
fn a_log_that_is_truncated_in_place_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let log = fs::read(root().join("sample-logs/drover-events/every-kind.jsonl")).unwrap();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut gzip, &log).unwrap();
    let whole = gzip.finish().unwrap();
    let path = directory.join("log.jsonl.gz");
    fs::write(&path, &whole).unwrap();
    let ingest = ["ingest", "log.jsonl.gz", "--archive", "archive"];
    assert_eq!(ended(directory, &ingest).0, Some(0));
    let sums = held(&directory.join("archive")).unwrap();
    fs::File::options().write(true).open(&path).unwrap().set_len(whole.len() as u64 / 2).unwrap();
    let (status, stderr) = ended(directory, &ingest);
    assert_eq!(status, Some(0), "{stderr}");
    assert!(stderr.contains("1 truncated"), "{stderr}");
    assert!(stderr.contains("`agentlogs report health --archive archive` lists the files and reasons"), "{stderr}");
    assert_eq!(held(&directory.join("archive")).unwrap(), sums);
    let mut report = program();
    report.args(["report", "health", "--archive", "archive", "--format", "csv", "--wide"]).current_dir(directory);
    let health = String::from_utf8(report.output().unwrap().stdout).unwrap();
    assert!(health.lines().any(|line| line.starts_with("file,truncated,")), "{health}");
    fs::remove_dir_all(directory.join("archive")).unwrap();
    assert_eq!(ended(directory, &[&ingest[..], &["--strict"]].concat()).0, Some(3));
    fs::write(&path, &whole).unwrap();
    assert_eq!(ended(directory, &ingest).0, Some(0));
    assert_eq!(held(&directory.join("archive")).unwrap(), sums);
}

/// `archive repair` reads the logs of damaged data again, with the options of the command, and fails if a log is missing.
#[cfg(unix)]
#[test]
fn a_damaged_archive_is_repaired_from_its_logs() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let sample = root().join("sample-logs/drover-events/every-kind.jsonl");
    fs::copy(&sample, directory.join("log.jsonl")).unwrap();
    let archive = directory.join("archive");
    assert_eq!(ended(directory, &["ingest", "log.jsonl", "--archive", "archive"]).0, Some(0));
    let sums = held(&archive).unwrap();
    let damage = || {
        let is_facts = |entry: &walkdir::DirEntry| entry.path().to_string_lossy().contains("facts");
        let files = walkdir::WalkDir::new(archive.join("current")).follow_links(true).into_iter().map(Result::unwrap);
        let file = files.filter(|entry| entry.file_type().is_file()).find(is_facts).unwrap().into_path();
        let mut bytes = fs::read(&file).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(file, bytes).unwrap();
    };
    damage();
    let (status, stderr) = ended(directory, &["archive", "check", "--archive", "archive"]);
    assert_eq!(status, Some(1), "{stderr}");
    assert!(
        stderr.contains("` keeps the intact data") && stderr.contains("`agentlogs archive repair --archive "),
        "{stderr}"
    );
    let (status, stderr) = ended(directory, &["archive", "repair", "--archive", "archive"]);
    assert_eq!(status, Some(0), "{stderr}");
    assert!(stderr.contains("log.jsonl: read again\n"), "{stderr}");
    assert_eq!(held(&archive).unwrap(), sums);
    damage();
    let (status, stderr) = ended(directory, &["archive", "repair", "--content", "full", "--archive", "archive"]);
    assert_eq!(status, Some(0), "{stderr}");
    assert!(stderr.contains("1 log was read with options that differ"), "{stderr}");
    let facts = Archive::at(&archive).known_facts().unwrap();
    assert!(
        facts
            .values()
            .flat_map(|source| &source.sessions)
            .any(|session| session.prompt.is_some() || session.text.is_some())
    );
    damage();
    fs::remove_file(directory.join("log.jsonl")).unwrap();
    let (status, stderr) = ended(directory, &["archive", "repair", "--archive", "archive"]);
    assert_eq!(status, Some(1), "{stderr}");
    assert!(stderr.contains("the file cannot be read again; its data is lost"), "{stderr}");
    assert_eq!(held(&archive).unwrap().sessions, 0);
}
