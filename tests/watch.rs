//! `agentlogs watch`: an update for each change of a log, and nothing else.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use crate::places::program::{run, text};
use crate::root;

/// Much longer than an update takes, for machines with other work.
const PATIENCE: Duration = Duration::from_mins(1);

/// A running watch and its output.
struct Watch {
    child: Child,
    lines: Receiver<String>,
}

impl Watch {
    fn start(home: &Path, args: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_agentlogs"));
        command.arg("watch").args(args).current_dir(home).env_clear().env("HOME", home).env("TZ", "UTC");
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        let errors = File::create(home.join("stderr")).unwrap();
        let mut child = command.stdout(Stdio::piped()).stderr(errors).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        Self { child, lines }
    }

    /// Waits for a line that contains a text.
    fn wait_for(&self, part: &str) -> String {
        loop {
            let line = self.lines.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("no line with {part:?}"));
            if line.contains(part) {
                return line;
            }
        }
    }

    /// No further line is printed for some time.
    fn is_quiet(&self) -> bool {
        self.lines.recv_timeout(Duration::from_secs(2)).is_err()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A transcript of a sample, divided into its first lines and its last one.
fn transcript() -> (String, String) {
    let path = root().join("sample-logs/pi-session");
    let mut files: Vec<_> = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let log = fs::read_to_string(&files[0]).unwrap();
    let (head, last) = log.trim_end().rsplit_once('\n').unwrap();
    (format!("{head}\n"), format!("{last}\n"))
}

fn append(path: &Path, text: &str) {
    OpenOptions::new().append(true).open(path).unwrap().write_all(text.as_bytes()).unwrap();
}

#[test]
fn appended_lines_and_new_files_are_read() {
    let directory = tempfile::tempdir().unwrap();
    let home = dunce::canonicalize(directory.path()).unwrap();
    let logs = home.join("logs");
    fs::create_dir(&logs).unwrap();
    let (head, last) = transcript();
    fs::write(logs.join("a.jsonl"), &head).unwrap();
    // The command writes into the watched directory, which is not an update.
    let exec = "echo executed; date +%N > logs/time.txt; exit 3";
    let reading = ["--label", "team=a", "--content", "text", "--redact", "--model", "m", "--jobs", "2"];
    let more = ["--runtime", "pi", "--max-decompressed", "1G", "--label-from-path", "{name}.jsonl"];
    let args = [["logs", "--archive", "logs/archive", "--exec", exec].as_slice(), &reading, &more].concat();
    let watch = Watch::start(&home, &args);
    watch.wait_for("1 log read, cost today $0.00");
    watch.wait_for("executed");
    assert!(watch.is_quiet());
    append(&logs.join("a.jsonl"), &last);
    watch.wait_for("1 log read");
    watch.wait_for("executed");
    fs::create_dir_all(logs.join("new/deep")).unwrap();
    fs::write(logs.join("new/deep/b.jsonl"), fs::read_to_string(logs.join("a.jsonl")).unwrap().replace("019", "018"))
        .unwrap();
    watch.wait_for("1 log read");
    append(&logs.join("new/deep/b.jsonl"), "\n{\"type\":\"x\"}\n");
    watch.wait_for("1 log read");
    // ingest and watch can write the same archive.
    let output = run(&home, &home, &["ingest", "logs", "--archive", "logs/archive", "--label", "team=a"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let sql = "SELECT DISTINCT source_path FROM sources WHERE status <> 'unrecognised' ORDER BY source_path";
    let output = run(&home, &home, &["query", sql, "--archive", "logs/archive", "--format", "csv"]);
    let stdout = text(&output.stdout);
    assert!(stdout.contains("logs/a.jsonl") && stdout.contains("logs/new/deep/b.jsonl"), "{stdout}");
    drop(watch);
    let stderr = fs::read_to_string(home.join("stderr")).unwrap();
    assert!(stderr.contains(&format!("--exec: {exec}: exit status: 3")), "{stderr}");
}

/// Verdicts next to a log are read with it, also when they change; imported ones are kept, and get sessions that are read later.
#[test]
fn verdicts_are_kept_and_matched_as_logs_are_read() {
    let directory = tempfile::tempdir().unwrap();
    let home = dunce::canonicalize(directory.path()).unwrap();
    let logs = home.join("logs");
    fs::create_dir(&logs).unwrap();
    let (head, last) = transcript();
    fs::write(logs.join("a.meta.json"), r#"{"verdict": {"passed": false, "task": "t"}}"#).unwrap();
    fs::write(logs.join("a.jsonl"), &head).unwrap();
    let watch = Watch::start(&home, &["logs", "--archive", "archive"]);
    watch.wait_for(" read, cost today");
    let verdicts = || {
        let sql = "SELECT passed, judge, matched_by FROM verdicts ORDER BY matched_by, judge";
        let output = run(&home, &home, &["query", sql, "--archive", "archive", "--format", "csv"]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout).lines().skip(1).map(str::to_owned).collect::<Vec<_>>()
    };
    // A change can be several updates.
    let wait_until = |expected: &[&str]| {
        let start = Instant::now();
        while verdicts() != expected {
            assert!(start.elapsed() < PATIENCE, "{:?} instead of {expected:?}", verdicts());
            std::thread::sleep(Duration::from_millis(200));
        }
    };
    wait_until(&["false,,sidecar"]);
    fs::write(home.join("verdicts.csv"), "log,passed,judge\na.jsonl,true,ann\nb.jsonl,true,bob\n").unwrap();
    let output = run(&home, &home, &["verdicts", "import", "verdicts.csv", "--archive", "archive"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let imported = ["true,ann,path", "false,,sidecar", "true,bob,"];
    assert_eq!(verdicts(), imported);
    append(&logs.join("a.jsonl"), &last);
    watch.wait_for(" read, cost today");
    assert_eq!(verdicts(), imported);
    fs::copy(root().join("sample-logs/pi-session/version-1-aborted.jsonl"), logs.join("b.jsonl")).unwrap();
    wait_until(&["true,ann,path", "true,bob,path", "false,,sidecar"]);
    fs::write(logs.join("a.meta.json"), r#"{"verdict": {"passed": true, "task": "t"}}"#).unwrap();
    append(&logs.join("a.jsonl"), "\n");
    wait_until(&["true,ann,path", "true,bob,path", "true,,sidecar"]);
}

#[test]
fn files_can_be_checked_from_time_to_time() {
    let directory = tempfile::tempdir().unwrap();
    let home = dunce::canonicalize(directory.path()).unwrap();
    let (head, last) = transcript();
    let sessions = home.join(".pi/agent/sessions");
    fs::create_dir_all(&sessions).unwrap();
    fs::write(sessions.join("a.jsonl"), &head).unwrap();
    let watch = Watch::start(&home, &["--poll", "1", "--runtime", "pi"]);
    watch.wait_for("1 log read");
    // Times of files have a coarse clock.
    std::thread::sleep(Duration::from_secs(2));
    append(&sessions.join("a.jsonl"), &last);
    watch.wait_for("1 log read");
    // An archive of the user's own logs is not in the current directory.
    assert!(!home.join("agentlogs-archive").exists());
}

/// A single file is followed too, when it is replaced.
#[test]
fn a_file_may_be_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let home = dunce::canonicalize(directory.path()).unwrap();
    let (head, last) = transcript();
    fs::write(home.join("a.jsonl"), &head).unwrap();
    let watch = Watch::start(&home, &["a.jsonl"]);
    watch.wait_for("1 log read");
    fs::write(home.join("unrelated.jsonl"), "{}\n").unwrap();
    fs::write(home.join("next"), head + &last).unwrap();
    fs::rename(home.join("next"), home.join("a.jsonl")).unwrap();
    watch.wait_for("1 log read");
    assert!(home.join("agentlogs-archive").exists());
}

#[test]
fn what_cannot_be_followed_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let home = directory.path();
    for (args, status, part) in [
        (["watch", "missing"].as_slice(), 1, "missing: no such file or directory"),
        (&["watch", "-"], 2, "agentlogs ingest -"),
        (&["watch", "--poll", "0"], 2, "--poll"),
        (&["watch", "--runtime", "codx"], 2, "one of these runtimes"),
    ] {
        let output = run(home, home, args);
        let stderr = text(&output.stderr);
        assert!(output.status.code() == Some(status) && stderr.contains(part), "{args:?}: {stderr}");
    }
}

/// The system watches directories, not names.
#[cfg(unix)]
#[test]
fn a_directory_that_is_made_again_and_a_link_to_another_one_are_followed() {
    let directory = tempfile::tempdir().unwrap();
    let home = dunce::canonicalize(directory.path()).unwrap();
    let (head, last) = transcript();
    let other = |log: &str, session: &str| log.replace("019", session);
    for directory in ["logs", "a", "b"] {
        fs::create_dir(home.join(directory)).unwrap();
    }
    std::os::unix::fs::symlink("a", home.join("link")).unwrap();
    fs::write(home.join("logs/1.jsonl"), &head).unwrap();
    let watch = Watch::start(&home, &["logs", "link", "--archive", "archive"]);
    watch.wait_for("1 log read");
    fs::remove_dir_all(home.join("logs")).unwrap();
    fs::create_dir(home.join("logs")).unwrap();
    fs::write(home.join("logs/2.jsonl"), other(&head, "018")).unwrap();
    watch.wait_for("1 log read");
    append(&home.join("logs/2.jsonl"), &other(&last, "018"));
    watch.wait_for("1 log read");
    fs::write(home.join("b/3.jsonl"), other(&head, "017")).unwrap();
    fs::remove_file(home.join("link")).unwrap();
    std::os::unix::fs::symlink("b", home.join("link")).unwrap();
    // A change elsewhere ends the wait, so that the link is checked at once.
    append(&home.join("logs/2.jsonl"), "\n");
    watch.wait_for("log");
    append(&home.join("b/3.jsonl"), &other(&last, "017"));
    watch.wait_for("1 log read");
}

/// Every command that reads logs states lines that were rejected and files that could not be read.
#[test]
fn losses_are_stated() {
    let directory = tempfile::tempdir().unwrap();
    let home = dunce::canonicalize(directory.path()).unwrap();
    let logs = home.join("logs");
    fs::create_dir(&logs).unwrap();
    let (head, last) = transcript();
    fs::write(logs.join("a.jsonl"), format!("{head}no JSON\n{last}")).unwrap();
    fs::write(logs.join("b.db"), "SQLite format 3\0, but nothing else").unwrap();
    let database = logs.join("b.db");
    let unreadable = format!("agentlogs: {} could not be read", database.display());
    let rejected = "agentlogs: 1 line rejected (1 not_json); `agentlogs report health";
    for args in [
        &["bench", "logs"][..],
        &["report", "cost", "--logs", "logs"],
        &["check", "--max", "cost_usd=1", "--logs", "logs"],
        &["export", "out", "--as", "csv", "--logs", "logs"],
        &["show", "last", "--logs", "logs"],
    ] {
        let stderr = text(&run(&home, &home, args).stderr);
        assert!(stderr.contains(&unreadable) && stderr.contains(rejected), "{args:?}: {stderr}");
    }
    fs::write(home.join("list"), "logs/a.jsonl\nlogs/b.db\n").unwrap();
    let stderr = text(&run(&home, &home, &["extract", "--files-from", "list"]).stderr);
    assert!(stderr.contains(&unreadable) && stderr.contains(&format!("{rejected} --archive LAKE`")), "{stderr}");
    let watch = Watch::start(&home, &["logs", "--archive", "archive"]);
    watch.wait_for("read, cost");
    // The same loss is stated once.
    append(&logs.join("a.jsonl"), "{\"type\":\"x\"}\n");
    watch.wait_for("read, cost");
    append(&logs.join("a.jsonl"), "no JSON either\n");
    watch.wait_for("read, cost");
    drop(watch);
    let stderr = fs::read_to_string(home.join("stderr")).unwrap();
    let lines: Vec<&str> = stderr.lines().filter(|line| !line.contains("b.db: ")).collect();
    let health = "`agentlogs report health --archive archive` lists the files";
    let expected = [
        unreadable.clone(),
        format!("agentlogs: 1 line rejected (1 not_json); {health}"),
        format!("agentlogs: 2 lines rejected (2 not_json); {health}"),
    ];
    assert_eq!(lines, expected, "{stderr}");
}

/// On a terminal the overview fills the window. `q` quits, and what the terminal showed before is shown again; messages are printed then.
#[cfg(target_os = "linux")]
#[test]
fn on_a_terminal_the_window_is_used_until_q() {
    use crate::on_a_terminal::Terminal;

    let directory = tempfile::tempdir().unwrap();
    let home = dunce::canonicalize(directory.path()).unwrap();
    let logs = home.join("logs");
    fs::create_dir(&logs).unwrap();
    let (head, last) = transcript();
    fs::write(logs.join("a.jsonl"), &head).unwrap();
    let watch = "watch logs --archive archive --exec 'echo from the command; exit 3'";
    let Some(mut terminal) = Terminal::start(&home, watch) else { return };
    for part in ["\u{1b}[?1049h", "last 30 days", "q quits", "exit status: 3"] {
        terminal.wait_for(part);
    }
    append(&logs.join("a.jsonl"), &last);
    terminal.wait_for("exit status: 3");
    terminal.press("q");
    for part in ["\u{1b}[?1049l", "from the command", "exit status: 3"] {
        terminal.wait_for(part);
    }
    assert!(terminal.status().success());
}
