//! What a shell is offered at a Tab: `agentlogs completions` prints a script that calls the program for it.

use std::path::Path;
use std::process::Command;

use crate::root;

fn run(home: &Path, arguments: &[&str], shell: Option<&str>) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_agentlogs"));
    command.args(arguments).current_dir(home).env("HOME", home).env("AGENTLOGS_ARCHIVE", home.join("archive"));
    if let Some(shell) = shell {
        command.env("AGENTLOGS_COMPLETE", shell);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    if shell.is_some() {
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{arguments:?}");
    }
    String::from_utf8(output.stdout).unwrap()
}

/// The candidates for the last argument.
fn offered(home: &Path, arguments: &[&str]) -> Vec<String> {
    let all = [&["--", "agentlogs"], arguments].concat();
    let lines = run(home, &all, Some("fish"));
    lines.lines().map(|line| line.split('\t').next().unwrap().to_owned()).collect()
}

#[test]
fn names_of_reports_dimensions_and_of_the_archive_are_offered() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    // Without an archive there are fewer candidates, and no errors.
    assert!(offered(home, &["report", "cost", "--model", ""]).is_empty());
    let demo = root().join("demo");
    run(home, &["ingest", demo.to_str().unwrap()], None);
    for (arguments, expected) in [
        (&["rep"][..], &["report"][..]),
        (&["report", "co"], &["cost"]),
        (&["report", "behav"], &["behavior"]),
        (&["report", "cost", "--by", "week,repos"], &["week,repository"]),
        (&["report", "cost", "--sort", "unpriced_t"], &["unpriced_tokens"]),
        (&["report", "cost", "--model", "claude-o"], &["claude-opus-4-8", "claude-opus-5"]),
        (&["sessions", "--project", "/home/maya/code/st"], &["/home/maya/code/storefront"]),
        (&["sessions", "--status", "a"], &["aborted"]),
        (&["sessions", "--runtime", "co"], &["codex", "copilot"]),
        (&["check", "--task", "nothing-of-this-name"], &[]),
        (&["query", "weekly"], &["weekly-cost-by-model"]),
        (&["query", "--show", "weekly"], &["weekly-cost-by-model"]),
        (&["schema", "tur"], &["turns"]),
        (&["prices", "ex"], &["explain"]),
    ] {
        assert_eq!(offered(home, arguments), expected, "{arguments:?}");
    }
    let sessions = offered(home, &["show", "01a1f"]);
    assert_eq!(sessions.first().map(String::as_str), Some("01a1f91e"));
    assert!(sessions.len() > 2);
    for id in &sessions {
        assert!(run(home, &["show", id], None).contains(id.as_str()));
    }
}

#[test]
fn each_shell_has_a_script_that_calls_the_program() {
    let home = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = run(home.path(), &["completions", shell], None);
        assert!(script.contains("agentlogs") && script.contains("AGENTLOGS_COMPLETE"), "{shell}: {script}");
    }
}
