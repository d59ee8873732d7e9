//! The command line: every console block of `EXECUTED_DOCUMENTS` and of `tests/cmd` is executed.

use crate::root;

/// Another working directory of this process, until it is dropped: the other tests need one that exists.
#[cfg(unix)]
struct WorkingDirectory(std::path::PathBuf);

#[cfg(unix)]
impl WorkingDirectory {
    fn change(to: &std::path::Path) -> Self {
        let before = std::env::current_dir().unwrap();
        std::env::set_current_dir(to).unwrap();
        Self(before)
    }
}

#[cfg(unix)]
impl Drop for WorkingDirectory {
    fn drop(&mut self) {
        std::env::set_current_dir(&self.0).unwrap();
    }
}

/// Unix only: the documents show paths with `/`.
#[cfg(unix)]
#[test]
fn what_the_documents_show_is_what_happens() {
    // The commands run in a temporary directory, so that an archive in the working directory does not change.
    let directory = tempfile::tempdir().unwrap();
    for (samples, name) in [
        ("demo", "demo"),
        ("demo-evaluation", "demo-evaluation"),
        ("sample-logs", "sample-logs"),
        ("tests/verdicts", "sample-verdicts"),
        ("tests/bill", "sample-bills"),
    ] {
        std::os::unix::fs::symlink(root().join(samples), directory.path().join(name)).unwrap();
    }
    crate::repositories::builder::demo(directory.path());
    let _working_directory = WorkingDirectory::change(directory.path());
    for &(archive, documents) in crate::tidy::EXECUTED_DOCUMENTS.iter().chain(&[("cmd", "tests/cmd/*.trycmd")]) {
        let cases = trycmd::TestCases::new();
        // Neither logs nor settings of the user who runs the tests.
        for variable in ["HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"] {
            cases.env(variable, directory.path().join("home").to_str().unwrap());
        }
        cases.env("AGENTLOGS_ARCHIVE", archive).env("NO_COLOR", "1").env("TZ", "UTC").env("COLUMNS", "100");
        cases.case(root().join(documents));
    }
}

/// `agentlogs ingest … 2>&1 | true` is not an error.
#[test]
fn closed_stderr_is_ignored() {
    use std::process::{Command, Stdio};
    let directory = tempfile::tempdir().unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_agentlogs"))
        .args(["ingest".as_ref(), root().join("sample-logs/drover-events").as_os_str(), "--archive".as_ref()])
        .arg(directory.path().join("archive"))
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stderr.take());
    assert!(child.wait().unwrap().success());
}

/// `agentlogs query … | head` is not an error, in any format.
#[test]
fn an_answer_may_be_read_in_part() {
    use std::process::{Command, Stdio};
    let sql = "SELECT a.* FROM turns a CROSS JOIN (SELECT line AS other FROM turns) b";
    for format in ["csv", "json", "table", "markdown", "arrow"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_agentlogs"));
        command.args(["query", sql, "--format", format, "--logs"]).arg(root().join("sample-logs/pi-session"));
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{format}: {output:?}");
    }
}

/// An empty variable counts as unset.
#[test]
fn the_environment_names_the_archive() {
    use std::process::Command;
    let directory = tempfile::tempdir().unwrap();
    let logs = root().join("sample-logs/drover-events");
    for (variable, archive) in [("", "agentlogs-archive"), ("other", "other")] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_agentlogs"));
        command.arg("ingest").arg(&logs).env("AGENTLOGS_ARCHIVE", variable).current_dir(directory.path());
        assert!(command.output().unwrap().status.success());
        assert!(directory.path().join(archive).join("agentlogs.json").exists(), "{archive}");
    }
}

/// More threads than a machine can use are not started.
#[test]
fn threads_have_an_upper_limit() {
    use std::process::Command;
    let directory = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_agentlogs"));
    command.arg("ingest").arg(root().join("sample-logs/drover-events")).args(["--jobs", "100000", "--archive"]);
    let output = command.arg(directory.path().join("archive")).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && stderr.contains("--jobs 100000 is more than this machine can use"), "{stderr}");
}

/// Files with text of conversations are readable by their owner only, other files as the umask allows.
#[cfg(unix)]
#[test]
fn files_with_text_are_for_their_owner() {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::process::Command;
    let directory = tempfile::tempdir().unwrap();
    let run = |args: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_agentlogs")).current_dir(directory.path()).args(args).output().unwrap()
    };
    let logs = root().join("sample-logs/pi-session");
    for (content, archive) in [("none", "numbers"), ("full", "texts")] {
        assert!(run(&["ingest", logs.to_str().unwrap(), "--content", content, "--archive", archive]).status.success());
        let (tables, page) = (format!("{archive}-tables"), format!("{archive}.html"));
        assert!(run(&["export", &tables, "--as", "csv", "--archive", archive]).status.success());
        assert!(run(&["export", &tables, "--as", "atif", "--archive", archive]).status.success());
        assert!(run(&["dashboard", &page, "--archive", archive]).status.success());
        let files = fs::read_dir(directory.path().join(tables)).unwrap().map(|entry| entry.unwrap().path());
        for file in files.chain([directory.path().join(page)]) {
            let mode = fs::metadata(&file).unwrap().permissions().mode() & 0o777;
            assert_eq!(mode == 0o600, archive == "texts", "{}: {mode:o}", file.display());
        }
    }
    symlink("victim", directory.path().join("link.html")).unwrap();
    let refused = run(&["dashboard", "link.html", "--archive", "numbers"]);
    assert!(!refused.status.success() && !directory.path().join("victim").exists());
}

/// A comment of SQL is not an option; an argument cannot act on a terminal or in the log of a build.
#[test]
fn arguments_are_shown_without_effect() {
    use std::process::Command;
    let run = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_agentlogs"));
        let output = command.args(args).output().unwrap();
        let (stdout, stderr) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        (output.status.code(), stdout, stderr)
    };
    let logs = root().join("sample-logs/drover-events");
    let commented =
        run(&["query", "-- a comment\nSELECT 1 AS one", "--format", "csv", "--logs", logs.to_str().unwrap()]);
    assert_eq!((commented.0, commented.1.as_str()), (Some(0), "one\n1\n"), "{commented:?}");
    assert_eq!(run(&["query", "--lost"]).0, Some(2));
    for args in [["report", "--a\u{9b}31m##[error]x"], ["\u{202e}##[error]x", "y"], ["show", "--\n::error::x"]] {
        let (code, _, stderr) = run(&args);
        assert!(code == Some(2) && !stderr.contains("##["), "{stderr}");
        assert!(!stderr.contains(['\u{9b}', '\u{202e}']) && !stderr.contains("\n::"), "{stderr}");
    }
}
