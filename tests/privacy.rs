//! What an archive holds of what was said: by default nothing, and with `--redact` no secret.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use agentlogs::adapters::common::builder::Retention;
use agentlogs::adapters::{self, Hints};
use agentlogs::ingest::{self, Options, Progress};
use agentlogs::input::database;
use agentlogs::json::lines::Lines;
use agentlogs::model::source::Source;
use serde_json::Value;

use crate::{lines_of, root, samples};

/// Stands in the place of the words of prompts, answers, arguments and results.
const MARK: &str = "Qx7marker";

/// Fields whose text was said, in any format.
const SAID: &[&str] = &[
    "text",
    "content",
    "thinking",
    "prompt",
    "output",
    "stdout",
    "stderr",
    "aggregated_output",
    "result",
    "reasoning",
    "summary",
    "partialJson",
    "delta",
    "body",
    "response",
    "old_string",
    "new_string",
    "newString",
    "oldString",
    "diff",
    "patch",
    "structuredPatch",
    "unified_diff",
    "lastPrompt",
    "title",
    "display",
    "last_agent_message",
    "llmContent",
    "resultDisplay",
    "command",
    "cmd",
    "arguments",
    "input",
    "query",
    "description",
    "observation",
    "answer",
    "instructions",
];

/// Writes the mark into all that was said. What names a program, a path or an error is kept by design, so the mark stands
/// behind the first word of a command, and not where a runtime reports an error.
fn marked(value: &mut Value, is_said: bool) {
    match value {
        Value::String(text) if is_said => {
            // JSON in a string, and a patch that names files, are what they are.
            if let Ok(mut inner @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(text) {
                marked(&mut inner, false);
                *text = inner.to_string();
            } else if text.contains(char::is_whitespace) && !text.starts_with("***") {
                text.push_str(". ");
                text.push_str(MARK);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|it| marked(it, is_said)),
        Value::Object(fields) => {
            for (name, value) in fields {
                marked(value, SAID.contains(&name.as_str()));
            }
        }
        _ => {}
    }
}

/// A log whose every record is marked.
fn marked_text(bytes: &[u8]) -> Vec<u8> {
    let lines = Lines::new(bytes).map(|it| {
        let Ok(mut record) = serde_json::from_slice::<Value>(it.bytes) else {
            // A line that cannot be read: noise, or cut.
            return [b"noise ", MARK.as_bytes(), b" ", it.bytes].concat();
        };
        let is_error = ["error", "api_error", "warning"].contains(&record["type"].as_str().unwrap_or_default());
        if !is_error {
            marked(&mut record, false);
        }
        record.to_string().into_bytes()
    });
    lines.collect::<Vec<_>>().join(&b'\n')
}

fn count_of_marks(text: &[u8]) -> usize {
    text.windows(MARK.len()).filter(|it| *it == MARK.as_bytes()).count()
}

/// What is kept of databases whose rows are marked, as an adapter reads them, and how many marks there were.
fn marked_databases(content: Retention) -> (usize, Vec<Source>) {
    let databases = samples().into_iter().filter(|it| database::is_database(&fs::read(it).unwrap()));
    let texts: Vec<Vec<u8>> = databases.map(|it| marked_text(&lines_of(&it))).collect();
    let count = texts.iter().map(|it| count_of_marks(it)).sum();
    let source = |text: &Vec<u8>| {
        let parsed = adapters::parse(text, Hints::default(), content);
        assert!(parsed.format.is_some() && !parsed.sessions.is_empty());
        Source { sessions: parsed.sessions, health: parsed.health, ..Source::default() }
    };
    (count, texts.iter().map(source).collect())
}

/// The sample logs with marks, in a folder of their own. For databases see [`marked_databases`].
fn marked_samples(folder: &Path) -> usize {
    let mut count = 0;
    for (index, path) in samples().into_iter().enumerate() {
        let bytes = fs::read(&path).unwrap();
        if database::is_database(&bytes) {
            continue;
        }
        let text = marked_text(&bytes);
        count += count_of_marks(&text);
        // A line that is cut inside of what was said.
        let cut = format!("\n{{\"type\":\"user\",\"message\":{{\"content\":\"{MARK}");
        let below = path.strip_prefix(root().join("sample-logs")).unwrap();
        let to = folder.join(format!("{index}")).join(below);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::write(to, [text, cut.into_bytes()].concat()).unwrap();
    }
    count
}

fn read(folder: &Path, content: Retention, redact: bool) -> Vec<Source> {
    let options = Options { roots: vec![folder.to_owned()], content, redact, ..Options::default() };
    let taken = ingest::read(&options, &BTreeMap::new(), &Progress::default());
    assert!(taken.errors.is_empty());
    taken.sources
}

/// Where marks stand in the facts, which are all that the tables are made of.
fn marks(sources: &[Source]) -> Vec<String> {
    fn walk(value: &Value, at: &str, found: &mut Vec<String>) {
        match value {
            Value::String(text) if text.contains(MARK) => found.push(format!("{at}: {text}")),
            Value::Array(items) => items.iter().for_each(|it| walk(it, at, found)),
            Value::Object(fields) => {
                // Of an event the kind, as it decides.
                let kind = fields.get("kind").and_then(Value::as_str).unwrap_or_default();
                for (name, value) in fields {
                    assert!(!name.contains(MARK), "{name}");
                    walk(value, &format!("{at}.{name} {kind}"), found);
                }
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    for source in sources {
        walk(&serde_json::to_value(source).unwrap(), source.format.as_deref().unwrap_or_default(), &mut found);
    }
    found
}

/// The words of an error are kept, whoever said them.
fn is_of_error(mark: &str) -> bool {
    [".error_message ", ".message error:", ".message retry:"].iter().any(|it| mark.contains(it))
}

#[test]
fn nothing_that_was_said_is_kept_by_default() {
    let folder = tempfile::tempdir().unwrap();
    let count = marked_samples(folder.path());
    assert!(count > 600, "{count} marks");
    let mut kept = marks(&read(folder.path(), Retention::None, false));
    kept.retain(|it| !is_of_error(it));
    assert!(kept.is_empty(), "{}\n{} of {count} marks", kept.join("\n"), kept.len());
    let (count, sources) = marked_databases(Retention::None);
    assert!(count > 20, "{count} marks");
    let mut kept = marks(&sources);
    kept.retain(|it| !is_of_error(it));
    assert!(kept.is_empty(), "{}\n{} of {count} marks", kept.join("\n"), kept.len());
    assert!(!marks(&marked_databases(Retention::Full).1).is_empty());
}

/// Nor does it leave: tables as text, and trajectories.
#[cfg(feature = "archive")]
#[test]
fn nothing_that_was_said_is_exported_by_default() {
    let exported = |content: Retention| {
        let folder = tempfile::tempdir().unwrap();
        marked_samples(folder.path());
        let mut sources = read(folder.path(), content, false);
        sources.extend(marked_databases(content).1);
        // The words of errors are kept.
        for session in sources.iter_mut().flat_map(|it| &mut it.sessions) {
            session.error_message = None;
            session.events.iter_mut().for_each(|it| it.message = None);
        }
        let tables = agentlogs::store::frames::frames(&crate::settled(sources)).unwrap();
        let out = tempfile::NamedTempFile::new().unwrap();
        let mut text = Vec::new();
        for (name, frame) in &tables {
            let kind = agentlogs::analysis::export::FileKind::Jsonl;
            let access = agentlogs::analysis::export::Access::Umask;
            agentlogs::analysis::export::write(name, &mut frame.clone(), kind, access, out.path()).unwrap();
            text.extend(fs::read(out.path()).unwrap());
        }
        let tables = tables.into_iter().map(|(name, frame)| (name, polars::prelude::IntoLazy::lazy(frame))).collect();
        let trajectories = agentlogs::analysis::export::Trajectories::new(&tables).unwrap();
        assert!(trajectories.iter().count() > 0);
        trajectories.iter().for_each(|it| it.write(&mut text).unwrap());
        count_of_marks(&text)
    };
    assert_eq!(exported(Retention::None), 0);
    assert!(exported(Retention::Full) > 0);
}

/// More is kept when it is asked for.
#[test]
fn what_was_said_is_kept_as_far_as_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    marked_samples(folder.path());
    let of = |content| read(folder.path(), content, false);
    let (text, full) = (of(Retention::Text), of(Retention::Full));
    let sessions = |it: &[Source]| it.iter().flat_map(|it| it.sessions.clone()).collect::<Vec<_>>();
    assert!(sessions(&text).iter().any(|it| it.prompt.as_ref().is_some_and(|it| it.contains(MARK))));
    assert!(sessions(&text).iter().all(|it| it.tool_calls.iter().all(|it| it.args.is_none() && it.result.is_none())));
    assert!(sessions(&full).iter().any(|it| it.tool_calls.iter().any(|it| it.args.is_some() && it.result.is_some())));
    assert!(marks(&text).len() < marks(&full).len());
}

/// A key in a prompt, a command, a result, an error, a path and a broken line.
#[test]
fn a_secret_is_in_nothing_that_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    // Put together here, so that no scanner takes this file for a leak.
    let key = ["sk-ant-", "api03-", &"aB3_".repeat(12)].concat();
    let log = format!(
        r#"{{"type":"session","version":3,"id":"s1","timestamp":"2026-10-05T10:00:00Z","cwd":"/work/{key}"}}
{{"type":"message","id":"1","parentId":null,"timestamp":"2026-10-05T10:00:01Z","message":{{"role":"user","content":"use {key} and write to anna@example.com"}}}}
{{"type":"message","id":"2","parentId":"1","timestamp":"2026-10-05T10:00:02Z","message":{{"role":"assistant","provider":"anthropic","model":"claude-sonnet-4-5","content":[{{"type":"toolCall","id":"c1","name":"bash","arguments":{{"command":"export A=1\n{key} x"}}}}],"usage":{{"input":3,"output":5,"cacheRead":0,"cacheWrite":0}},"stopReason":"toolUse"}}}}
{{"type":"message","id":"3","parentId":"2","timestamp":"2026-10-05T10:00:03Z","message":{{"role":"toolResult","toolCallId":"c1","toolName":"bash","content":[{{"type":"text","text":"the key is {key}\n"}}],"isError":false}}}}
{{"type":"message","id":"4","parentId":"3","timestamp":"2026-10-05T10:00:04Z","message":{{"role":"assistant","provider":"anthropic","model":"claude-sonnet-4-5","content":[],"usage":{{"input":0,"output":0,"cacheRead":0,"cacheWrite":0}},"stopReason":"error","errorMessage":"401 invalid x-api-key {key}"}}}}
noise with {key}
{{"type":"message","key":"{key}"#
    );
    fs::write(folder.path().join("a.jsonl"), log).unwrap();
    let shown = |redact| serde_json::to_string(&read(folder.path(), Retention::Full, redact)).unwrap();
    let (kept, redacted) = (shown(false), shown(true));
    let count = kept.matches(&key).count();
    assert!(count >= 8, "{count}: {kept}");
    assert!(!redacted.contains("aB3_") && !redacted.contains("anna@"), "{redacted}");
    assert!(redacted.matches("[redacted]").count() >= count);
}

/// Users paste the output of `inspect --redact` into public reports: it contains no text of a log, whatever is kept otherwise.
#[cfg(feature = "archive")]
#[test]
fn a_public_report_has_structure_and_numbers_only() {
    /// Members whose text the program defines, or which are public knowledge; the unit tests of `structure` check their values.
    const KEPT: [&str; 20] = [
        "capabilities",
        "category",
        "command_kind",
        "compression",
        "ended_at",
        "error_kind",
        "example",
        "format",
        "ingested_at",
        "judged_at",
        "kind",
        "model",
        "modified_at",
        "occurred_at",
        "operation",
        "reason",
        "resets_at",
        "runtime",
        "runtime_version",
        "started_at",
    ];
    fn texts<'v>(name: &str, value: &'v Value, found: &mut Vec<(String, &'v str)>) {
        match value {
            Value::String(text) => found.push((name.to_owned(), text)),
            Value::Array(items) => items.iter().for_each(|item| texts(name, item, found)),
            // The shape of an unrecognised file has keys, types and numbers; the tests of `ingest::shape` check it.
            Value::Object(members) => {
                members
                    .iter()
                    .filter(|(name, _)| *name != "shape")
                    .for_each(|(name, member)| texts(name, member, found));
            }
            _ => {}
        }
    }
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_agentlogs"))
        .args(["inspect", "--content", "full", "--redact"])
        .arg(root().join("sample-logs"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut found = Vec::new();
    texts("", &value, &mut found);
    assert!(found.len() > 5000, "{}", found.len());
    for (name, text) in found {
        let is_number = text.strip_prefix("text ").is_some_and(|number| number.parse::<usize>().is_ok());
        let is_kept = KEPT.contains(&name.as_str()) || name == "status" || text.is_empty() || text == "Unique";
        assert!(is_number || is_kept, "{name}: {text}");
    }
    // The paths of the machine are texts, too.
    assert!(!String::from_utf8(output.stdout).unwrap().contains(root().to_str().unwrap()));
}
