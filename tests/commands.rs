//! The command line as it is typed: every console block of the README and of `tests/cmd`.

use crate::root;

#[test]
fn what_the_documents_show_is_what_happens() {
    // The archive of whoever works here stays as it is: the commands run in a folder of their own.
    let folder = tempfile::tempdir().unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(root().join("sample-logs"), folder.path().join("sample-logs")).unwrap();
    std::env::set_current_dir(folder.path()).unwrap();
    let cases = trycmd::TestCases::new();
    cases.env("AGENTLOGS_ARCHIVE", "agentlogs-archive").env("NO_COLOR", "1").env("TZ", "UTC").env("COLUMNS", "100");
    cases.case(root().join("README.md")).case(root().join("tests/cmd/*.trycmd"));
}

/// `agentlogs ingest … 2>&1 | true` is no error.
#[test]
fn nobody_needs_to_listen() {
    use std::process::{Command, Stdio};
    let folder = tempfile::tempdir().unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_agentlogs"))
        .args(["ingest".as_ref(), root().join("sample-logs/drover-events").as_os_str(), "--archive".as_ref()])
        .arg(folder.path().join("archive"))
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stderr.take());
    assert!(child.wait().unwrap().success());
}
