//! The status line of Claude Code: `agentlogs statusline` with a home directory of its own.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::root;

/// The session of the sample, in its last window.
const SESSION: &str = "8d1f0b62-7c35-4e9a-b0a4-55c0de91f3a7";
const NOW: &str = "2026-10-15T01:50:00Z";

struct Home {
    directory: tempfile::TempDir,
}

impl Home {
    /// A home directory with the transcripts of the samples.
    fn new() -> Self {
        let home = Self { directory: tempfile::tempdir().unwrap() };
        let transcripts = home.path().join(".claude/projects/shop");
        fs::create_dir_all(&transcripts).unwrap();
        for entry in fs::read_dir(root().join("sample-logs/claude-transcript")).unwrap() {
            let path = entry.unwrap().path();
            fs::copy(&path, transcripts.join(path.file_name().unwrap())).unwrap();
        }
        home
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn transcript(&self) -> PathBuf {
        self.path().join(".claude/projects/shop/five-hour-windows-and-a-gap.jsonl")
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_agentlogs"));
        command.args(args).current_dir(self.path()).env_clear().env("HOME", self.path()).env("TZ", "UTC");
        command.env("XDG_CACHE_HOME", self.path().join("cache"));
        command
    }

    fn run(&self, args: &[&str]) -> String {
        let output = self.command(args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    /// The status line for what Claude Code writes. Nothing is printed to stderr.
    fn line(&self, input: &str, args: &[&str]) -> String {
        let output = self.output(input, &[&["statusline", "--now", NOW], args].concat());
        assert!(output.status.success() && output.stderr.is_empty(), "{}", text(&output.stderr));
        let line = text(&output.stdout);
        assert_eq!(line.matches('\n').count(), 1, "{line:?}");
        line.trim_end().to_owned()
    }

    fn output(&self, input: &str, args: &[&str]) -> Output {
        let mut command = self.command(args);
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    }

    /// The only file in the cache.
    fn cache(&self) -> PathBuf {
        let found = fs::read_dir(self.path().join("cache/agentlogs")).unwrap().map(|entry| entry.unwrap().path());
        let found: Vec<PathBuf> = found.collect();
        assert_eq!(found.len(), 1, "{found:?}");
        found.into_iter().next().unwrap()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// What a version before `context_window` and `rate_limits` writes.
fn older(home: &Home) -> Value {
    json!({
        "hook_event_name": "Status", "session_id": SESSION, "transcript_path": home.transcript(), "cwd": "/work/shop",
        "model": {"id": "claude-sonnet-4-5-20250929", "display_name": "Sonnet 4.5"}, "version": "1.0.80",
        "workspace": {"current_dir": "/work/shop", "project_dir": "/work/shop"},
        "cost": {"total_cost_usd": 9.5, "total_duration_ms": 45000}, "exceeds_200k_tokens": false,
    })
}

/// What a new version writes.
fn newer(home: &Home) -> Value {
    let mut input = older(home);
    input["context_window"] = json!({"context_window_size": 200_000, "used_percentage": null, "current_usage": null});
    input["rate_limits"] = json!({
        "five_hour": {"used_percentage": 41.7, "resets_at": 1_792_040_400}, "seven_day": {"used_percentage": 7},
    });
    input
}

#[test]
fn each_version_of_the_input_has_a_line() {
    let home = Home::new();
    // Without an archive: the cost of the log, not the estimate of Claude Code.
    assert_eq!(home.line(&older(&home).to_string(), &[]), "Sonnet 4.5 · $0.11 session · context 6k tokens");
    let with_limits = "Sonnet 4.5 · $0.11 session · 5h window 42 % (3h 10m left) · week 7 % · context 3 %";
    assert_eq!(home.line(&newer(&home).to_string(), &[]), with_limits);
    assert!(!home.path().join("cache").exists());
    home.run(&["ingest"]);
    assert_eq!(
        home.line(&older(&home).to_string(), &[]),
        "Sonnet 4.5 · $0.11 session · $0.04 today · 5h window $0.04 (3h 10m left) · context 6k tokens"
    );
    let line = home.line(&newer(&home).to_string(), &[]);
    assert_eq!(line, with_limits.replace("session", "session · $0.04 today"));
    let used = json!({"context_window": {"used_percentage": 31.4, "context_window_size": 200_000}});
    assert!(home.line(&used.to_string(), &[]).ends_with("(3h 10m left) · context 31 %"));
    // A window that has ended is not the current one.
    let mut ended = newer(&home);
    ended["rate_limits"]["five_hour"]["resets_at"] = json!(1_792_000_000);
    assert!(home.line(&ended.to_string(), &[]).contains("5h window $0.04 (3h 10m left)"));
}

#[test]
fn the_cost_of_a_session_without_a_log() {
    let home = Home::new();
    home.run(&["ingest"]);
    let mut input = older(&home);
    input["transcript_path"] = json!("/no/such/file.jsonl");
    assert!(home.line(&input.to_string(), &[]).contains("$9.50 session"));
    input["cost"] = json!({});
    assert!(home.line(&input.to_string(), &[]).contains("$0.11 session"));
    input["session_id"] = json!("unknown");
    assert!(!home.line(&input.to_string(), &[]).contains("session"));
}

#[test]
fn a_line_without_input_has_what_the_archive_knows() {
    let home = Home::new();
    assert_eq!(home.line("", &[]), "no usage known yet");
    home.run(&["ingest"]);
    for input in ["", "null", "{\"session_id\":", "no JSON", "[]", "\u{0}"] {
        assert_eq!(home.line(input, &[]), "$0.04 today · 5h window $0.04 (3h 10m left)", "{input}");
    }
    let output = home.output("no JSON", &["statusline", "--verbose"]);
    assert!(output.status.success() && text(&output.stderr).contains("no JSON object"));
    fs::write(home.path().join("agentlogs.toml"), "currency = { code = \"EUR\", rate = 2 }").unwrap();
    assert_eq!(home.line("", &[]), "0.09 EUR today · 5h window 0.09 EUR (3h 10m left)");
    // The local day: in New York it is 2026-10-14.
    assert!(home.line("", &["--timezone", "America/New_York"]).starts_with("0.22 EUR today"));
}

#[test]
fn the_day_and_the_window_are_those_of_the_reports() {
    let home = Home::new();
    // The archive has a part for each log, some of which are not read.
    let transcripts = home.transcript().parent().unwrap().to_owned();
    let later = home.path().join("later");
    fs::rename(&transcripts, &later).unwrap();
    fs::create_dir(&transcripts).unwrap();
    for entry in fs::read_dir(&later).unwrap() {
        let entry = entry.unwrap();
        fs::rename(entry.path(), transcripts.join(entry.file_name())).unwrap();
        home.run(&["ingest"]);
    }
    let number = |args: &[&str]| -> f64 {
        let rows: Value = serde_json::from_str(&home.run(args)).unwrap();
        rows.as_array().unwrap().iter().filter_map(|row| row["cost_usd"].as_f64()).sum()
    };
    for (now, day) in
        [(NOW, "2026-10-15"), ("2026-10-14T12:00:00Z", "2026-10-14"), ("2026-10-12T10:30:00Z", "2026-10-12")]
    {
        let _ = fs::remove_dir_all(home.path().join("cache"));
        home.output("", &["statusline", "--now", now]);
        let cached: Value = serde_json::from_slice(&fs::read(home.cache()).unwrap()).unwrap();
        let cost = number(&["report", "cost", "--since", day, "--until", day, "--format", "json"]);
        assert!((cached["today"]["usd"].as_f64().unwrap() - cost).abs() < 1e-9, "{day}: {cached} {cost}");
        let limits = ["report", "limits", "--active", "--now", now, "--format", "json"];
        let windows: Value = serde_json::from_str(&home.run(&limits)).unwrap();
        let expected = windows.as_array().unwrap().iter().filter(|row| row["runtime"] == "claude");
        let expected: Vec<_> = expected.map(|row| (row["window_name"].clone(), row["ends_at"].clone())).collect();
        let found = cached["windows"].as_array().unwrap().iter();
        let found: Vec<_> = found.map(|window| (window["name"].clone(), window["ends_at"].clone())).collect();
        assert_eq!(found, expected, "{day}");
    }
}

#[test]
fn the_cache_is_used_until_the_archive_changes() {
    let home = Home::new();
    home.run(&["ingest"]);
    let line = home.line("", &[]);
    let cache = home.cache();
    let whole = fs::read_to_string(&cache).unwrap();
    let mut marked: Value = serde_json::from_str(&whole).unwrap();
    marked["today"]["usd"] = json!(77);
    fs::write(&cache, marked.to_string()).unwrap();
    assert!(home.line("", &[]).starts_with("$77.00 today"));
    // Of another day, and of another time zone.
    let tomorrow = text(&home.output("", &["statusline", "--now", "2026-10-16T00:00:00Z"]).stdout);
    assert!(tomorrow.starts_with("$0.00 today"), "{tomorrow}");
    fs::write(&cache, marked.to_string()).unwrap();
    home.run(&["ingest", "--label", "a=b"]);
    assert_eq!(home.line("", &[]), line);
    for damaged in ["", "{", "null", &whole[..whole.len() / 2]] {
        fs::write(&cache, damaged).unwrap();
        assert_eq!(home.line("", &[]), line);
        assert!(fs::read_to_string(&cache).unwrap().contains("today"));
    }
    // A cache that cannot be written, and an archive that cannot be read.
    let blocked = home.command(&["statusline", "--now", NOW]).env("XDG_CACHE_HOME", &cache).output().unwrap();
    assert_eq!(text(&blocked.stdout).trim_end(), line);
    fs::remove_file(&cache).unwrap();
    let archive = home.path().join(if cfg!(target_os = "macos") {
        "Library/Application Support/agentlogs/archive"
    } else {
        ".local/share/agentlogs/archive"
    });
    fs::write(archive.join("agentlogs.json"), "{\"version\":1}").unwrap();
    assert_eq!(home.line("", &[]), "no usage known yet");
    let output = home.output("{}", &["statusline", "--verbose"]);
    assert!(text(&output.stderr).contains("version"), "{}", text(&output.stderr));
}

/// A log of a version that omits output tokens: the session and the day are lower bounds.
#[test]
fn lower_bounds_are_marked() {
    let home = Home { directory: tempfile::tempdir().unwrap() };
    let transcripts = home.path().join(".claude/projects/shop");
    fs::create_dir_all(&transcripts).unwrap();
    let path = transcripts.join(format!("{SESSION}.jsonl"));
    let record = |version: &str, stop_reason: &Value| {
        json!({
            "type": "assistant", "sessionId": SESSION, "uuid": "u1", "isSidechain": false, "version": version,
            "timestamp": "2026-10-15T01:40:00Z", "requestId": "r1",
            "message": {
                "id": "m1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "stop_reason": stop_reason,
                "content": [{"type": "text", "text": "done"}],
                "usage": {"input_tokens": 100_000, "output_tokens": 4},
            },
        })
    };
    let mut input = older(&home);
    input["transcript_path"] = json!(path);
    let estimated = input.clone();
    input["cost"] = json!({});
    for (version, stop_reason, mark) in [("2.0.0", Value::Null, "≥ "), ("2.1.100", json!("end_turn"), "")] {
        fs::write(&path, format!("{}\n", record(version, &stop_reason))).unwrap();
        home.run(&["ingest"]);
        let expected = format!("{mark}$0.30 session · {mark}$0.30 today · 5h window {mark}$0.30");
        let line = home.line(&input.to_string(), &[]);
        assert!(line.contains(&expected), "{version}: {line}");
        // The estimate of Claude Code contains the tokens that its log omits.
        let line = home.line(&estimated.to_string(), &[]);
        assert!(
            line.contains(if mark.is_empty() { "· $0.30 session" } else { "· $9.50 session" }),
            "{version}: {line}"
        );
        // Without the log, the archive has the cost.
        let mut without = input.clone();
        without["transcript_path"] = json!("/no/such/file.jsonl");
        let line = home.line(&without.to_string(), &[]);
        assert!(line.contains(&format!("{mark}$0.30 session")), "{version}: {line}");
    }
}

/// The command never waits for a user.
#[cfg(target_os = "linux")]
#[test]
fn a_terminal_gets_a_hint() {
    let Ok(terminal) = fs::File::options().read(true).write(true).open("/dev/ptmx") else { return };
    let output = Home::new().command(&["statusline"]).stdin(terminal).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("settings.json"), "{}", text(&output.stderr));
}
