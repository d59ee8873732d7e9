//! Files that agents and evaluations keep beside their logs, with names and settings, outputs, or copies of what the logs contain
//! (docs/formats.md#side-files). A file is one of these only if no format claims it.

use crate::adapters::engine::Probe;

/// Directories whose files belong to logs without being any, each with the directory that contains it; empty if any may.
const DIRECTORIES: &[(&str, &str)] = &[
    // OpenCode and its fork: projects, lists of tasks, differences of files, addresses of shared sessions.
    ("storage", "project"),
    ("storage", "todo"),
    ("storage", "session_diff"),
    ("storage", "session_share"),
    // Harbor: what the verifier of a trial printed and decided.
    ("", "verifier"),
];

/// Files that are plain text: of a trial of Harbor and of its job; the directory of a project, beside the chats of Gemini CLI.
const NAMES: &[&str] = &["trial.log", "job.log", "exception.txt", ".project_root"];

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

/// Whether a record is of such a file.
pub(crate) fn is_auxiliary(probe: &Probe<'_>) -> bool {
    is_of_hermes(probe)
        || is_of_codex(probe)
        || is_of_kimi(probe)
        || is_of_opencode(probe)
        || is_of_harbor(probe)
        || is_of_entire(probe)
        || is_prediction(probe)
}

/// A request that failed, or the index of the sessions of its gateway.
fn is_of_hermes(probe: &Probe<'_>) -> bool {
    let is_dump = || probe.has_all(&["session_id", "reason"]) && probe.object("request").has("body");
    let is_index = || probe.is_map_of(&["session_key", "session_id"]);
    is_dump() || probe.has_all(&["session_id", "files_payload_omitted"]) || is_index()
}

/// The index of sessions, `session_index.jsonl`, with their names.
fn is_of_codex(probe: &Probe<'_>) -> bool {
    probe.has_all(&["id", "thread_name", "updated_at"]) && !probe.has("type")
}

/// The context of a session, `context.jsonl`, whose responses are in the wire file beside it.
fn is_of_kimi(probe: &Probe<'_>) -> bool {
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
    let is_checkpoint = || probe.raw("sessions").0.first() == Some(&b'[');
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
    fn directories_and_names_decide_on_text() {
        for path in [
            "/jobs/j/t__1/verifier/test-stdout.txt",
            "/jobs/j/t__1/verifier/logs/reward.txt",
            r"C:\jobs\j\t__1\trial.log",
            "a.tar!/storage/session_diff/ses_1.json",
            "/home/u/.local/share/opencode/storage/todo/ses_1.json",
            "/home/u/.gemini/tmp/web/.project_root",
        ] {
            assert!(is_in_side_directory(path), "{path}");
        }
        for path in ["/work/todo/x.json", "/work/verifier.txt", "x", ""] {
            assert!(!is_in_side_directory(path), "{path}");
        }
    }
}
