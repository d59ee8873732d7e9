//! Files that agents and evaluations keep beside their logs, with names and settings, outputs, or copies of what the logs contain
//! (docs/formats.md#side-files). A file is one of these only if no format claims it.

use crate::adapters::engine::Probe;
use crate::base::split::base_name;
use crate::json::Raw;

/// Directories whose files belong to logs without being any, each with the directory that contains it; empty if any may.
const DIRECTORIES: &[(&str, &str)] = &[
    // OpenCode and its fork: projects, lists of tasks, differences of files, addresses of shared sessions.
    ("storage", "project"),
    ("storage", "todo"),
    ("storage", "session_diff"),
    ("storage", "session_share"),
    // Claude Code and Qwen Code: lists of tasks.
    (".claude", "todos"),
    (".claude", "tasks"),
    (".qwen", "todos"),
    // Copilot CLI: copies of files before edits, and their index.
    ("", "rewind-snapshots"),
    // Harbor: what the verifier of a trial printed and decided.
    ("", "verifier"),
];

/// Files that are plain text: of a trial of Harbor and of its job; the directory of a project, beside the chats of Gemini CLI.
const NAMES: &[&str] = &["trial.log", "job.log", "exception.txt", ".project_root"];

/// Databases beside logs, by the beginnings of their names and the tables that all of their versions have.
const DATABASES: &[(&str, &[&str])] = &[
    // Codex: an index of its threads; what the program itself logs.
    ("state_", &["threads", "thread_dynamic_tools"]),
    ("logs_", &["_sqlx_migrations", "logs"]),
    // Copilot CLI: the list of tasks of a session.
    ("session.db", &["todos", "todo_deps"]),
    // openclaw: tasks in the background, flows.
    ("runs.sqlite", &["task_runs", "task_delivery_state"]),
    ("registry.sqlite", &["flow_runs"]),
    // Hermes: tasks of its boards.
    ("kanban.db", &["tasks", "task_links"]),
    // Kiro CLI and Amazon Q, before the first conversation was saved.
    ("data.sqlite3", &["auth_kv", "history", "state"]),
];

/// How far above a file such a directory may be.
const MAX_LEVELS: usize = 4;

/// Whether a file belongs to logs by its directory or its name.
pub(crate) fn is_in_side_directory(path: &str) -> bool {
    let mut parts = path.rsplit(['/', '\\']);
    let name = parts.next().unwrap_or_default();
    let directories: Vec<&str> = parts.take(MAX_LEVELS + 1).collect();
    let is_of = |outer: &str, inner: &str| {
        directories.iter().enumerate().any(|(level, directory)| {
            let is_outer = outer.is_empty() || directories.get(level + 1) == Some(&outer);
            *directory == inner && is_outer
        })
    };
    NAMES.contains(&name) || DIRECTORIES.iter().any(|(outer, inner)| is_of(outer, inner))
}

/// Whether a database with these tables, of which no format knows any, belongs to logs.
pub(crate) fn is_side_database(path: &str, tables: &[String]) -> bool {
    let name = base_name(path);
    let has = |table: &&str| tables.iter().any(|it| it == table);
    DATABASES.iter().any(|(start, needed)| name.starts_with(start) && needed.iter().all(&has))
}

/// Whether a record is of such a file.
pub(crate) fn is_auxiliary(probe: &Probe<'_>) -> bool {
    is_of_hermes(probe)
        || is_of_claude(probe)
        || is_of_codex(probe)
        || is_of_gemini(probe)
        || is_of_openclaw(probe)
        || is_of_kimi(probe)
        || is_of_opencode(probe)
        || is_of_harbor(probe)
        || is_of_entire(probe)
        || is_prediction(probe)
}

/// The prompts of all sessions, the index of the sessions of a project, sums of tokens of a day, or events that were not sent.
fn is_of_claude(probe: &Probe<'_>) -> bool {
    let is_event = || probe.text("event_type").starts_with("ClaudeCode") && probe.has("event_data");
    probe.has_all(&["display", "project", "timestamp"])
        || probe.has("version") && has_list_of(probe, "entries", &["sessionId", "fullPath"])
        || probe.has_all(&["lastComputedDate", "dailyActivity"])
        || is_event()
}

/// The prompts of all sessions of a project, `logs.json`, which Qwen Code writes as well.
fn is_of_gemini(probe: &Probe<'_>) -> bool {
    let is_number = || probe.raw("messageId").0.first().is_some_and(u8::is_ascii_digit);
    probe.has_all(&["sessionId", "messageId", "type", "timestamp"]) && is_number() && !probe.text("message").is_empty()
}

/// The runs of subagents.
fn is_of_openclaw(probe: &Probe<'_>) -> bool {
    let is_named = || {
        let mut parts = probe.path().rsplit(['/', '\\']);
        parts.next() == Some("runs.json") && parts.next() == Some("subagents")
    };
    probe.has_all(&["version", "runs"]) && is_named()
}

/// Whether the first element of a list has all of the keys.
fn has_list_of(probe: &Probe<'_>, list: &str, keys: &[&str]) -> bool {
    let elements: Vec<Raw<'_>> = probe.raw(list).read();
    elements.first().and_then(|first| Probe::new(first.0, "")).is_some_and(|first| first.has_all(keys))
}

/// A request that failed, the index of the sessions of its gateway, or its list of models.
fn is_of_hermes(probe: &Probe<'_>) -> bool {
    let is_dump = || probe.has_all(&["session_id", "reason"]) && probe.object("request").has("body");
    let is_index = || probe.is_map_of(&["session_key", "session_id"]);
    let is_catalog = || probe.is_map_of(&["id", "env", "models"]);
    is_dump() || probe.has_all(&["session_id", "files_payload_omitted"]) || is_index() || is_catalog()
}

/// The index of sessions, `session_index.jsonl`, with their names; the prompts of all sessions; the list of models.
fn is_of_codex(probe: &Probe<'_>) -> bool {
    let is_index = probe.has_all(&["id", "thread_name", "updated_at"]);
    let is_prompt = probe.has_all(&["session_id", "ts", "text"]);
    let is_catalog = || probe.has("fetched_at") && has_list_of(probe, "models", &["slug"]);
    !probe.has("type") && (is_index || is_prompt || is_catalog())
}

/// The context of a session, `context.jsonl`, whose responses are in the wire file beside it; the title of a session of Kimi Code.
fn is_of_kimi(probe: &Probe<'_>) -> bool {
    let is_state = || {
        let mut parts = probe.path().rsplit(['/', '\\']);
        parts.next() == Some("state.json")
            && parts.next().is_some_and(|session| session.starts_with("session_"))
            && parts.nth(1) == Some("sessions")
    };
    if probe.has("createdAt") && is_state() {
        return true;
    }
    match probe.text("role").as_ref() {
        "_system_prompt" => probe.has("content"),
        "_checkpoint" => probe.has("id"),
        "_usage" => probe.has("token_count"),
        _ => false,
    }
}

/// A project, a task, a difference, or a shared session.
fn is_of_opencode(probe: &Probe<'_>) -> bool {
    let is_project = probe.has_all(&["id", "worktree", "time"]) && !probe.has("sessionID");
    is_project
        || probe.has_all(&["content", "status", "priority"])
        || probe.has_all(&["file", "additions", "deletions"])
        || probe.has_all(&["id", "secret", "url"])
}

/// The settings of a trial or of a job, the results of its tests, or rewards.
fn is_of_harbor(probe: &Probe<'_>) -> bool {
    let is_trial = probe.has_all(&["trial_name", "agent", "environment"]);
    let is_job = probe.has_all(&["jobs_dir", "agents"]);
    let has_tests = || {
        let results = probe.object("results");
        results.has_all(&["tool", "summary", "tests"])
    };
    is_trial || is_job || has_tests()
}

/// The description of a checkpoint, or of one of its sessions, which repeats the tokens of the transcript beside it.
fn is_of_entire(probe: &Probe<'_>) -> bool {
    let is_session = || probe.has("session_id") && (probe.has("token_usage") || probe.has("strategy"));
    let is_checkpoint = || probe.is_list("sessions");
    probe.has("checkpoint_id") && (is_session() || is_checkpoint())
}

/// Patches for SWE-bench, which agents write beside their trajectories: one in each line, or all in an object.
fn is_prediction(probe: &Probe<'_>) -> bool {
    const KEYS: &[&str] = &["instance_id", "model_patch"];
    probe.has_all(KEYS) || probe.is_map_of(KEYS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::engine::Hints;
    use crate::adapters::{detect, is_auxiliary};

    #[test]
    fn side_files_are_no_logs() {
        for record in [
            r#"{"timestamp":"2026-10-09T08:00:00","session_id":"s","reason":"x","request":{"method":"POST","url":"u","body":{"messages":[]}}}"#,
            r#"{"session_id":"s","files_payload_omitted":true,"notice":"x"}"#,
            r#"{"agent:main:cli":{"session_key":"k","session_id":"s"}}"#,
            r#"{"id":"01a1","thread_name":"Fix the login","updated_at":"2026-10-09T08:00:00Z"}"#,
            r#"{"session_id":"s","ts":1790000000,"text":"Fix the login."}"#,
            r#"{"fetched_at":"2026-10-09T08:00:00Z","etag":"x","models":[{"slug":"gpt-6","display_name":"GPT"}]}"#,
            r#"{"display":"Fix the login.","pastedContents":{},"timestamp":1790000000000,"project":"/work/shop"}"#,
            r#"{"version":1,"entries":[{"sessionId":"s","fullPath":"/h/s.jsonl","messageCount":2}]}"#,
            r#"{"version":2,"lastComputedDate":"2026-10-09","dailyActivity":[],"modelUsage":{"m":{"inputTokens":5}}}"#,
            r#"{"event_type":"ClaudeCodeInternalEvent","event_data":{"event_name":"x","session_id":"s"}}"#,
            r#"[{"sessionId":"s","messageId":0,"type":"user","message":"Hi.","timestamp":"2026-10-09T08:00:00Z"}]"#,
            r#"{"acme":{"id":"acme","env":["KEY"],"name":"Acme","models":{}}}"#,
            r#"{"role":"_system_prompt","content":"x"}"#,
            "{\"role\":\"user\",\"content\":\"x\"}\n{\"role\":\"_checkpoint\",\"id\":0}",
            r#"{"id":"p","worktree":"/work/shop","vcs":"git","time":{"created":1790000000000}}"#,
            r#"[{"id":"1","content":"x","status":"pending","priority":"high"}]"#,
            r#"[{"file":"a.rs","before":"","after":"x","additions":1,"deletions":0}]"#,
            r#"{"trial_name":"t","task":{"path":"p"},"agent":{"name":"a"},"environment":{},"verifier":{}}"#,
            r#"{"job_name":"j","jobs_dir":"jobs","agents":[],"datasets":[]}"#,
            r#"{"results":{"tool":{"name":"pytest"},"summary":{"tests":1},"tests":[]}}"#,
            r#"{"cli_version":"0.5.0","checkpoint_id":"c","session_id":"s","token_usage":{"input_tokens":5}}"#,
            r#"{"instance_id":"shop__sums-3","model_name_or_path":"m","model_patch":"diff"}"#,
            r#"{"shop__sums-3":{"instance_id":"shop__sums-3","model_name_or_path":"m","model_patch":"diff"}}"#,
            r#"{"checkpoint_id":"c","sessions":[{"metadata":"/0/metadata.json"}],"token_usage":{"input_tokens":5}}"#,
        ] {
            let claims = detect(record.as_bytes(), Hints::default());
            assert!(claims.is_empty(), "{record}: {:?}", claims.first().map(|(adapter, _)| adapter.id));
            assert!(is_auxiliary(record.as_bytes(), "x.json"), "{record}");
        }
        for record in [r#"{"role":"user","content":"x"}"#, r#"{"session_id":"s","reason":"x"}"#, "{}", "", "1"] {
            assert!(!is_auxiliary(record.as_bytes(), "x.json"), "{record}");
        }
    }

    #[test]
    fn databases_are_known_by_name_and_tables() {
        let is_side = |path: &str, tables: &[&str]| {
            is_side_database(path, &tables.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>())
        };
        assert!(is_side("/h/.codex/state_5.sqlite", &["_sqlx_migrations", "thread_dynamic_tools", "threads"]));
        assert!(is_side(r"C:\h\.copilot\session-state\s\session.db", &["todo_deps", "todos"]));
        assert!(is_side("x.tar!/amazon-q/data.sqlite3", &["auth_kv", "history", "migrations", "state"]));
        assert!(!is_side("/h/data.sqlite3", &["history"]));
        assert!(!is_side("/h/shop.db", &["todo_deps", "todos"]));
    }

    #[test]
    fn the_title_of_a_session_of_kimi_code_is_known_by_its_path() {
        let record = br#"{"id":"session_1","cwd":"/shop","title":"x","createdAt":1791446400000}"#;
        assert!(is_auxiliary(record, "/h/kimi-code/sessions/wd_shop/session_1/state.json"));
        assert!(!is_auxiliary(record, "/h/shop/session_1/state.json"));
    }

    #[test]
    fn runs_of_openclaw_are_known_by_their_path() {
        let record = br#"{"version":2,"runs":{}}"#;
        assert!(is_auxiliary(record, "/h/.openclaw/subagents/runs.json"));
        assert!(!is_auxiliary(record, "/h/runs.json"));
    }

    #[test]
    fn directories_and_names_decide_on_text() {
        for path in [
            "/jobs/j/t__1/verifier/test-stdout.txt",
            "/jobs/j/t__1/verifier/logs/reward.txt",
            r"C:\jobs\j\t__1\trial.log",
            "a.tar!/storage/session_diff/ses_1.json",
            "/home/u/.local/share/opencode/storage/todo/ses_1.json",
            "/home/u/.gemini/tmp/web/.project_root",
            "/home/u/.claude/todos/s-agent-s.json",
            "/home/u/.claude/tasks/s/1.json",
            "/home/u/.copilot/session-state/s/rewind-snapshots/index.json",
        ] {
            assert!(is_in_side_directory(path), "{path}");
        }
        for path in ["/work/todo/x.json", "/work/verifier.txt", "x", ""] {
            assert!(!is_in_side_directory(path), "{path}");
        }
    }
}
