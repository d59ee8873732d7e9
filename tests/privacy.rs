//! What an archive holds of what was said: by default nothing, and with `--redact` no secret.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use agentlogs::adapters::shared::builder::Retention;
use agentlogs::adapters::{self, Hints};
use agentlogs::ingest::{self, Options, Progress, privacy};
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

/// Columns with names and paths, which are kept as logged, whatever they contain. docs/security.md lists them.
const NAMES: &[&str] = &[
    "agent",
    "call_id",
    "cwd",
    "entrypoint",
    "git_branch",
    "labels",
    "model",
    "path",
    "runtime_version",
    "session_id",
    "stop_reason",
    "target",
];

/// How the mark is written into a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    /// After the first sentence of all that was said.
    After,
    /// Quoted in different ways, in every text of more than one word, whoever said it: also in messages of providers.
    Quoted,
    /// In commands: before the first program, in the place of a program, as the only word.
    Command,
}

/// The mark as messages quote text.
fn quoted_marks() -> String {
    format!(
        " \"{MARK} a\" '{MARK} isn't' `{MARK}` “{MARK}” /{MARK}/b C:\\{MARK}\\x https://{MARK}.example/{MARK} {MARK}@example.com \"{{\\\"a\\\":\\\"{MARK}"
    )
}

/// Marks a value of a record. `name` is the field that contains it.
fn marked(value: &mut Value, name: &str, style: Style) {
    let is_said = SAID.contains(&name);
    let is_command = ["command", "cmd"].contains(&name);
    match value {
        Value::String(text) => {
            // JSON in a string, and a patch that names files, are what they are.
            if let Ok(mut inner @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(text) {
                marked(&mut inner, "", style);
                *text = inner.to_string();
                return;
            }
            if !text.contains(char::is_whitespace) || text.starts_with("***") {
                return;
            }
            match style {
                Style::After if is_said => *text = format!("{text}. {MARK}"),
                Style::Quoted => text.push_str(&quoted_marks()),
                Style::Command if is_command => {
                    *text = format!("\"{MARK} words\" && $(cat {MARK}) \"{MARK}\"; {text} <<E\n{MARK}\nE");
                }
                _ => {}
            }
        }
        Value::Array(items) if style == Style::Command && is_command && !items.is_empty() => {
            *items = vec![format!("git commit -m '{MARK} words'").into()];
        }
        Value::Array(items) => items.iter_mut().for_each(|it| marked(it, name, style)),
        Value::Object(fields) => fields.iter_mut().for_each(|(name, value)| marked(value, name, style)),
        _ => {}
    }
}

/// A log whose every record is marked.
fn marked_text(bytes: &[u8], style: Style) -> Vec<u8> {
    let lines = Lines::new(bytes).map(|it| {
        let Ok(mut record) = serde_json::from_slice::<Value>(it.bytes) else {
            // A line that cannot be read: noise, or cut.
            return [b"noise ", MARK.as_bytes(), b" ", it.bytes].concat();
        };
        let is_error = ["error", "api_error", "warning"].contains(&record["type"].as_str().unwrap_or_default());
        // The words of an error are kept, but not what they quote.
        if !is_error || style != Style::After {
            marked(&mut record, "", style);
        }
        record.to_string().into_bytes()
    });
    lines.collect::<Vec<_>>().join(&b'\n')
}

fn count_of_marks(text: &[u8]) -> usize {
    text.windows(MARK.len()).filter(|it| *it == MARK.as_bytes()).count()
}

/// What is kept of databases whose rows are marked, as an adapter reads them, and how many marks there were.
fn marked_databases(content: Retention, style: Style) -> (usize, Vec<Source>) {
    let databases = samples().into_iter().filter(|it| database::is_database(&fs::read(it).unwrap()));
    let texts: Vec<Vec<u8>> = databases.map(|it| marked_text(&lines_of(&it), style)).collect();
    let count = texts.iter().map(|it| count_of_marks(it)).sum();
    let source = |text: &Vec<u8>| {
        let mut parsed = adapters::parse(text, Hints::default(), content);
        assert!(parsed.format.is_some() && !parsed.sessions.is_empty());
        if content == Retention::None {
            parsed.sessions.iter_mut().for_each(privacy::reduce_messages);
        }
        Source { sessions: parsed.sessions, health: parsed.health, ..Source::default() }
    };
    (count, texts.iter().map(source).collect())
}

/// The sample logs with marks, in a directory of their own. For databases see [`marked_databases`].
fn marked_samples(directory: &Path, style: Style) -> usize {
    let mut count = 0;
    for (index, path) in samples().into_iter().enumerate() {
        let bytes = fs::read(&path).unwrap();
        if database::is_database(&bytes) {
            continue;
        }
        let text = marked_text(&bytes, style);
        count += count_of_marks(&text);
        // A line that is cut inside of what was said.
        let cut = format!("\n{{\"type\":\"user\",\"message\":{{\"content\":\"{MARK}");
        let below = path.strip_prefix(root().join("sample-logs")).unwrap();
        let to = directory.join(format!("{index}")).join(below);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::write(to, [text, cut.into_bytes()].concat()).unwrap();
    }
    count
}

fn read(directory: &Path, content: Retention, redact: bool) -> Vec<Source> {
    let options = Options { roots: vec![directory.to_owned()], content, redact, ..Options::default() };
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

/// The last field of the place of a mark.
fn column_of(mark: &str) -> &str {
    let place = mark.split_once(": ").map_or(mark, |(place, _)| place);
    place.rsplit('.').next().unwrap_or_default().split(' ').next().unwrap_or_default()
}

#[test]
fn nothing_that_was_said_is_kept_by_default() {
    for (style, least) in [(Style::After, 600), (Style::Quoted, 5000), (Style::Command, 100)] {
        let directory = tempfile::tempdir().unwrap();
        let count = marked_samples(directory.path(), style);
        assert!(count > least, "{style:?}: {count} marks");
        let (count_in_databases, databases) = marked_databases(Retention::None, style);
        assert!(count_in_databases > 2, "{style:?}: {count_in_databases} marks");
        let mut kept = marks(&read(directory.path(), Retention::None, false));
        kept.extend(marks(&databases));
        kept.retain(|it| match style {
            Style::After => !is_of_error(it),
            // Names of several words, and paths.
            Style::Quoted => !NAMES.contains(&column_of(it)),
            Style::Command => true,
        });
        assert!(kept.is_empty(), "{style:?}\n{}\n{} of {count} marks", kept.join("\n"), kept.len());
        // Otherwise this test could not fail.
        assert!(!marks(&read(directory.path(), Retention::Full, false)).is_empty());
        assert!(!marks(&marked_databases(Retention::Full, style).1).is_empty());
    }
}

/// A refusal is kept as its known text, a message without what it quotes; with `--content text` both are whole.
#[test]
fn refusals_and_messages_are_reduced() {
    let log = [
        r#"{"type":"user","uuid":"u1","sessionId":"s1","timestamp":"2026-10-05T10:00:00Z","cwd":"/w","version":"2.1.0","message":{"role":"user","content":"go"}}"#,
        r#"{"type":"assistant","uuid":"u2","sessionId":"s1","timestamp":"2026-10-05T10:00:01Z","cwd":"/w","version":"2.1.0","requestId":"r1","message":{"id":"m1","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"psql postgres://a:SECRET@db -c \"select 1\""}},{"type":"tool_use","id":"t2","name":"Bash","input":{"command":"ls"}}],"usage":{"input_tokens":5,"output_tokens":5}}}"#,
        r#"{"type":"user","uuid":"u3","sessionId":"s1","timestamp":"2026-10-05T10:00:02Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":"Permission to use Bash with command psql postgres://a:SECRET@db -c \"select 1\" has been denied."}]}}"#,
        r#"{"type":"user","uuid":"u4","sessionId":"s1","timestamp":"2026-10-05T10:00:03Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t2","is_error":true,"content":"The user doesn't want to take this action right now. STOP. SECRET"}]}}"#,
        r#"{"type":"assistant","uuid":"u5","sessionId":"s1","timestamp":"2026-10-05T10:00:04Z","isApiErrorMessage":true,"message":{"id":"m2","role":"assistant","model":"<synthetic>","content":[{"type":"text","text":"API Error: 400 {\"type\":\"error\",\"error\":{\"message\":\"bad SECRET\"}}"}],"usage":{"input_tokens":0,"output_tokens":0}}}"#,
    ];
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("a.jsonl"), log.join("\n")).unwrap();
    let messages = |content| {
        let sources = read(directory.path(), content, false);
        let session = &sources[0].sessions[0];
        let statuses: Vec<_> = session.tool_calls.iter().map(|call| call.status.as_str()).collect();
        assert_eq!(statuses, ["denied", "denied"]);
        let messages = session.events.iter().filter_map(|event| event.message.as_ref().map(ToString::to_string));
        messages.chain(session.error_message.as_ref().map(ToString::to_string)).collect::<Vec<_>>()
    };
    let error = r#"API Error: 400 {"type":"error","error":{"message":…}}"#;
    let expected =
        ["Permission to use … has been denied", "The user doesn't want to take this action right now", error, error];
    assert_eq!(messages(Retention::None), expected);
    assert_eq!(messages(Retention::Text).iter().filter(|message| message.contains("SECRET")).count(), 4);
}

/// docs/security.md lists the columns with text of logs, and the known texts of refusals.
#[test]
fn the_page_lists_the_text_that_is_kept() {
    let page = fs::read_to_string(root().join("docs/security.md")).unwrap();
    let section = |heading: &str| page.split_once(heading).unwrap().1.split("\n## ").next().unwrap().to_owned();
    let denials = section("\n### Known texts of refusals\n");
    let listed: Vec<&str> = denials.lines().filter_map(|line| line.strip_prefix("- ")).collect();
    assert_eq!(listed, adapters::shared::denials::all().collect::<Vec<_>>());
    let kept = section("\n## Text that is stored\n");
    for column in NAMES {
        assert!(kept.contains(&format!("`{column}`")), "{column} is not listed");
    }
}

/// Nor does it leave: tables as text, and trajectories.
#[cfg(feature = "archive")]
#[test]
fn nothing_that_was_said_is_exported_by_default() {
    let exported = |content: Retention| {
        let directory = tempfile::tempdir().unwrap();
        marked_samples(directory.path(), Style::After);
        let mut sources = read(directory.path(), content, false);
        sources.extend(marked_databases(content, Style::After).1);
        // The words of errors are kept.
        for session in sources.iter_mut().flat_map(|it| &mut it.sessions) {
            session.error_message = None;
            session.events.iter_mut().for_each(|it| it.message = None);
        }
        let tables = agentlogs::store::frames::frames(&crate::reconciled(sources)).unwrap();
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
    let directory = tempfile::tempdir().unwrap();
    marked_samples(directory.path(), Style::After);
    let of = |content| read(directory.path(), content, false);
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
    let directory = tempfile::tempdir().unwrap();
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
    fs::write(directory.path().join("a.jsonl"), log).unwrap();
    let shown = |redact| serde_json::to_string(&read(directory.path(), Retention::Full, redact)).unwrap();
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
    const KEPT: [&str; 21] = [
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
        "record_type",
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
