//! Several views of the same sessions, in other formats, cut, or in other archives: no total, no count and no session
//! changes, but unknown values may be filled in. See docs/accounting.md#several-views-of-one-session.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use agentlogs::adapters::shared::builder::Retention;
use agentlogs::adapters::{self, Hints};
use agentlogs::ingest::privacy;
use agentlogs::input::database;
#[cfg(feature = "archive")]
use agentlogs::json::lines::Lines;
use agentlogs::model::source::{Source, SourceStatus};
use agentlogs::model::tables::{SessionRow, Tables};
use proptest::prelude::*;
use proptest::sample::{Index, select, subsequence};

use crate::{facts, lines_of, reconciled, root, samples};

/// The values that must not change, by runtime and session id: tokens, cost and counts, with their names.
type Sessions = BTreeMap<(String, String), Vec<(&'static str, Option<f64>)>>;

/// The columns of `sessions` with these values.
const NAMES: [&str; 21] = [
    "turns",
    "user_turns",
    "tool_calls",
    "tool_errors",
    "file_changes",
    "lines_added",
    "lines_removed",
    "subagents",
    "compactions",
    "retries",
    "permission_denials",
    "web_searches",
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "cache_write_1h_tokens",
    "reasoning_tokens",
    "total_tokens",
    "cost_usd",
    "reported_cost_usd",
];

#[expect(clippy::cast_precision_loss, reason = "counts of samples are small")]
fn counted(tables: &Tables) -> Sessions {
    let counts = |row: &SessionRow| {
        let tokens = row.tokens;
        let numbers = [
            row.turns,
            row.user_turns,
            row.tool_calls,
            row.tool_errors,
            row.file_changes,
            row.lines_added,
            row.lines_removed,
            row.subagents,
            row.compactions,
            row.retries,
            row.permission_denials,
            row.web_searches,
            tokens.input,
            tokens.output,
            tokens.cache_read,
            tokens.cache_write,
            tokens.cache_write_1h,
            tokens.reasoning,
            tokens.total(),
        ];
        let money = [row.money.cost, row.money.reported];
        NAMES.into_iter().zip(numbers.map(|it| it.map(|it| it as f64)).into_iter().chain(money)).collect()
    };
    let key = |row: &SessionRow| (row.session.runtime.to_string(), row.session.session_id.clone());
    tables.sessions.iter().map(|row| (key(row), counts(row))).collect()
}

/// The first difference, if there is any: a known value that changed, a session that is new or missing.
fn difference(before: &Sessions, after: &Sessions) -> Option<String> {
    let only_in = |one: &Sessions, other: &Sessions| -> Vec<_> {
        one.keys().filter(|key| !other.contains_key(*key)).cloned().collect()
    };
    let (gone, new) = (only_in(before, after), only_in(after, before));
    if !gone.is_empty() || !new.is_empty() {
        return Some(format!("gone: {gone:?}, new: {new:?}"));
    }
    for ((key, before), after) in before.iter().zip(after.values()) {
        for ((name, before), (_, after)) in before.iter().zip(after) {
            let is_same = match (before, after) {
                (None, _) => true,
                (Some(before), Some(after)) => (before - after).abs() < 1e-9 * before.abs().max(1.0),
                (Some(_), None) => false,
            };
            if !is_same {
                return Some(format!("{key:?}: {name} {before:?} became {after:?}"));
            }
        }
    }
    None
}

fn source(path: &str, text: &[u8]) -> Source {
    let mut sessions = adapters::parse(text, Hints { path, runtime: None }, Retention::None).sessions;
    sessions.iter_mut().for_each(privacy::reduce_messages);
    Source { path: path.to_owned(), status: SourceStatus::Parsed, sessions, ..Source::default() }
}

/// The path of a sample below the project's directory: runtimes put ids there.
fn path_of(sample: &Path) -> String {
    sample.strip_prefix(root()).unwrap().to_string_lossy().into_owned()
}

/// A sample with what it counts to alone.
struct Sample {
    path: String,
    text: Vec<u8>,
    source: Source,
    expected: Sessions,
}

impl Sample {
    fn new(sample: &Path) -> Self {
        let (text, path) = (lines_of(sample), path_of(sample));
        let source = source(&path, &text);
        let expected = counted(&reconciled(vec![source.clone()]));
        Self { path, text, source, expected }
    }

    /// Checks a copy of its first bytes next to it, in both orders.
    fn check_prefix(&self, end: usize) -> Result<(), TestCaseError> {
        for copy in ["a-backup", "z-backup"] {
            let copy = source(&format!("{copy}/{}", self.path), &self.text[..end]);
            let with_copy = counted(&reconciled(vec![self.source.clone(), copy]));
            let difference = difference(&self.expected, &with_copy);
            prop_assert_eq!(difference, None, "{} cut at {} of {} bytes", self.path, end, self.text.len());
        }
        Ok(())
    }
}

/// The samples that are logs of lines or documents. A cut database is not a copy of its beginning.
fn texts() -> Vec<PathBuf> {
    samples().into_iter().filter(|sample| !database::is_database(&fs::read(sample).unwrap())).collect()
}

/// The samples that are JSON Lines.
#[cfg(feature = "archive")]
fn line_texts() -> Vec<PathBuf> {
    let is_lines = |text: &[u8]| Lines::new(text).all(|line| !line.bytes.contains(&b'\n'));
    texts().into_iter().filter(|sample| is_lines(&lines_of(sample))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_torn_copy_beside_its_log_counts_nothing(sample in select(texts()), at in any::<Index>()) {
        let sample = Sample::new(&sample);
        sample.check_prefix(at.index(sample.text.len() + 1))?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    /// Forks, resumed sessions and recordings share records: torn copies of several logs have records in common with
    /// all of them.
    #[test]
    fn torn_copies_beside_all_logs_count_nothing(torn in subsequence(texts(), 1..20), at in any::<Index>()) {
        let logs = facts(Retention::None);
        let expected = counted(&reconciled(logs.clone()));
        let copy = |sample: &PathBuf| {
            let text = lines_of(sample);
            source(&format!("a-backup/{}", path_of(sample)), &text[..at.index(text.len() + 1)])
        };
        let all = torn.iter().map(copy).chain(logs).collect();
        prop_assert_eq!(difference(&expected, &counted(&reconciled(all))), None, "{:?}", torn);
    }
}

/// A fork that was copied before its first response ended shares only a prompt with its parent. The call that it ends
/// with is history.
#[test]
fn a_copy_of_a_fork_cut_in_its_history_counts_nothing() {
    let fork = root().join("sample-logs/codex-rollout/fork-refused-and-interrupted.jsonl");
    let text = lines_of(&fork);
    let logs = facts(Retention::None);
    let expected = counted(&reconciled(logs.clone()));
    for end in memchr::memchr_iter(b'\n', &text) {
        let copy = source(&format!("a-backup/{}", path_of(&fork)), &text[..end]);
        let all = [copy].into_iter().chain(logs.clone()).collect();
        assert_eq!(difference(&expected, &counted(&reconciled(all))), None, "cut at {end}");
    }
}

/// As above, at the end of every record.
#[test]
fn an_older_copy_beside_its_log_counts_nothing() {
    let mut failures = Vec::new();
    for sample in texts() {
        let sample = Sample::new(&sample);
        for end in memchr::memchr_iter(b'\n', &sample.text).map(|newline| newline + 1) {
            failures.extend(sample.check_prefix(end).err().map(|error| error.to_string()));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// The log as another program writes it: with other blanks, escapes and an order of keys of its own.
fn written_again(text: &[u8]) -> Vec<u8> {
    if let Ok(document) = serde_json::from_slice::<serde_json::Value>(text) {
        return serde_json::to_vec_pretty(&document).unwrap();
    }
    let line = |line: &[u8]| match serde_json::from_slice::<serde_json::Value>(line) {
        Ok(record) => record.to_string().replacen("\":", "\" : ", 1).into_bytes(),
        Err(_) => line.to_vec(),
    };
    text.split(|byte| *byte == b'\n').map(line).collect::<Vec<_>>().join(&b'\n')
}

#[test]
fn a_copy_that_was_written_again_counts_nothing() {
    let mut failures = Vec::new();
    for sample in texts() {
        let sample = Sample::new(&sample);
        for directory in ["a-backup", "z-backup"] {
            let copy = source(&format!("{directory}/{}", sample.path), &written_again(&sample.text));
            let both = counted(&reconciled(vec![sample.source.clone(), copy]));
            failures.extend(difference(&sample.expected, &both).map(|it| format!("{} {directory}: {it}", sample.path)));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[cfg(feature = "archive")]
mod conversions {
    use agentlogs::adapters::shared::builder::Retention;
    use agentlogs::analysis::export::Trajectories;
    use agentlogs::model::source::Source;
    use agentlogs::model::tables::{SessionRow, Tables};
    use agentlogs::store::archive::Archive;
    use agentlogs::store::frames;
    use polars::prelude::{DataType, IntoLazy as _};
    use serde_json::Value;

    use super::{NAMES, Sessions, counted, difference, source};
    use crate::{facts, reconciled};

    /// Names that Harbor has for agents of other names.
    const HARBOR: [(&str, &str); 6] = [
        ("claude", "claude-code"),
        ("gemini", "gemini-cli"),
        ("qwen", "qwen-coder"),
        ("cursor", "cursor-cli"),
        ("copilot", "copilot-cli"),
        ("kimi", "kimi-cli"),
    ];

    /// Each session as an ATIF document.
    pub fn documents(tables: &Tables) -> Vec<Value> {
        let frames = frames::frames(tables).unwrap().into_iter().map(|(name, it)| (name, it.lazy())).collect();
        let document = |trajectory: &agentlogs::analysis::export::Trajectory<'_>| {
            let mut json = Vec::new();
            trajectory.write(&mut json).unwrap();
            serde_json::from_slice(&json).unwrap()
        };
        Trajectories::new(&frames).unwrap().iter().map(|trajectory| document(&trajectory)).collect()
    }

    /// The documents as files, each changed in some way.
    pub fn views(documents: &[Value], change: impl Fn(&mut Value)) -> Vec<Source> {
        let view = |(index, document): (usize, &Value)| {
            let mut document = document.clone();
            change(&mut document);
            source(&format!("trial-{index}/agent/trajectory.json"), document.to_string().as_bytes())
        };
        documents.iter().enumerate().map(view).collect()
    }

    fn under_harbor_s_name(document: &mut Value) {
        let agent = &mut document["agent"]["name"];
        if let Some((_, name)) = HARBOR.iter().find(|(runtime, _)| agent == runtime) {
            *agent = (*name).into();
        }
    }

    #[test]
    fn a_trajectory_beside_its_log_counts_nothing() {
        let logs = facts(Retention::None);
        let tables = reconciled(logs.clone());
        let (expected, documents) = (counted(&tables), documents(&tables));
        let as_exported = || views(&documents, |_| ());
        let under_harbor_s_names = || views(&documents, under_harbor_s_name);
        for views in [as_exported(), under_harbor_s_names(), [as_exported(), under_harbor_s_names()].concat()] {
            for views_first in [true, false] {
                let mut all = [logs.clone(), views.clone()].concat();
                let prefix = if views_first { "a" } else { "z" };
                all.iter_mut().filter(|it| it.path.starts_with("trial-")).for_each(|it| it.path.insert_str(0, prefix));
                assert_eq!(difference(&expected, &counted(&reconciled(all))), None);
            }
        }
    }

    /// Harbor invents ids for some agents. A conversion with random call ids, or with three responses, is recognised.
    #[test]
    fn a_trajectory_with_another_id_is_recognised() {
        let logs = facts(Retention::None);
        let tables = reconciled(logs.clone());
        let (expected, documents) = (counted(&tables), documents(&tables));
        let mut recognised = 0;
        let is_converted = |row: &&SessionRow| ["atif", "gh-aw-token-usage"].contains(&&*row.session.format);
        let converted: Vec<&str> =
            tables.sessions.iter().filter(is_converted).map(|it| &*it.session.session_id).collect();
        for document in &documents {
            // The only log of these sessions is another trajectory, or the requests that a proxy counted.
            if converted.contains(&document["session_id"].as_str().unwrap()) {
                continue;
            }
            let steps = document["steps"].as_array().unwrap();
            let calls = || steps.iter().flat_map(|it| it["tool_calls"].as_array().into_iter().flatten());
            let is_random = |it: &Value| {
                let words = it["tool_call_id"].as_str().unwrap().split(|it: char| !it.is_ascii_alphanumeric());
                words.into_iter().any(|word| word.len() >= 8 && word.contains(char::is_numeric))
            };
            let responses = steps.iter().filter(|it| !it["metrics"]["completion_tokens"].is_null()).count();
            if responses < 3 && !calls().any(is_random) {
                continue;
            }
            recognised += 1;
            for agent in [None, Some("an-agent-of-ours")] {
                let change = |document: &mut Value| {
                    document["session_id"] = "5b0b6c1e-5d3c-4a37-9d2c-0123456789ab".into();
                    if let Some(agent) = agent {
                        document["agent"]["name"] = agent.into();
                    }
                };
                let all = [logs.clone(), views(std::slice::from_ref(document), change)].concat();
                let difference = difference(&expected, &counted(&reconciled(all)));
                assert_eq!(difference, None, "{} of {}", document["session_id"], document["agent"]["name"]);
            }
        }
        assert!(recognised > 20, "{recognised}");
    }

    /// The values of the sessions in an archive.
    fn held(archive: &Archive) -> Sessions {
        assert_eq!(archive.check().unwrap().problems, []);
        let (_, sessions) = archive.tables().unwrap().into_iter().find(|(name, _)| *name == "sessions").unwrap();
        let sessions = sessions.collect().unwrap();
        let text = |row: usize, name: &str| sessions.column(name).unwrap().str().unwrap().get(row).unwrap().to_owned();
        let number = |row: usize, name: &str| {
            let column = sessions.column(name).unwrap().cast(&DataType::Float64).unwrap();
            column.f64().unwrap().get(row)
        };
        let counts = |row| NAMES.iter().map(|name| (*name, number(row, name))).collect();
        let key = |row| (text(row, "runtime"), text(row, "session_id"));
        (0..sessions.height()).map(|row| (key(row), counts(row))).collect()
    }

    /// Logs and their views in any order, in one ingest, in several, and in archives that are merged.
    #[test]
    fn views_count_nothing_in_any_number_of_ingests() {
        let logs = facts(Retention::None);
        let tables = reconciled(logs.clone());
        let expected = counted(&tables);
        let views = views(&documents(&tables), under_harbor_s_name);
        let directory = tempfile::tempdir().unwrap();
        let archive = |name: &str, ingests: &[&[Source]]| {
            let archive = Archive::at(directory.path().join(name));
            for sources in ingests {
                let writer = archive.write().unwrap();
                sources.iter().for_each(|source| writer.add(source.clone()));
                writer.commit().unwrap();
            }
            archive
        };
        for (name, ingests) in [
            ("logs-first", vec![&logs[..], &views[..]]),
            ("views-first", vec![&views[..], &logs[..]]),
            ("in-halves", vec![&views[..20], &logs[..40], &views[20..], &logs[40..]]),
        ] {
            assert_eq!(difference(&expected, &held(&archive(name, &ingests))), None, "{name}");
        }
        let (only_logs, only_views) = (archive("logs", &[&logs]), archive("views", &[&views]));
        for (name, parts) in [("ab", [&only_logs, &only_views]), ("ba", [&only_views, &only_logs])] {
            let merged = archive(name, &[]);
            for part in parts {
                let writer = merged.write().unwrap();
                part.known_facts().unwrap().into_values().for_each(|source| writer.merge(source));
                writer.commit().unwrap();
            }
            assert_eq!(difference(&expected, &held(&merged)), None, "{name}");
        }
    }
}

/// Logs that runtimes keep, next to recordings of the output of the same sessions.
mod recordings {
    use std::path::Path;

    use serde_json::{Value, json};

    use super::{counted, difference, path_of, source};
    use crate::{lines_of, reconciled, samples};

    /// The output that the runtime would have printed, as far as its log shows it; `None` if the format is another one.
    fn recording_of(sample: &Path) -> Option<String> {
        let text = String::from_utf8(lines_of(sample)).unwrap();
        let records = || text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let format = sample.strip_prefix(crate::root().join("sample-logs")).unwrap().components().next().unwrap();
        let printed: Vec<Value> = match format.as_os_str().to_str().unwrap() {
            "pi-session" => records().filter_map(printed_by_pi).collect(),
            "claude-transcript" => records().filter_map(|record| printed_by_claude(&record)).collect(),
            "codex-rollout" => printed_by_codex(records()),
            "opencode-export" => printed_by_opencode(&serde_json::from_str(&text).ok()?),
            _ => return None,
        };
        Some(printed.into_iter().map(|record| record.to_string() + "\n").collect())
    }

    fn printed_by_pi(entry: Value) -> Option<Value> {
        match entry["type"].as_str()? {
            "session" => Some(entry),
            "message" => Some(json!({"type": "message_end", "message": entry["message"]})),
            _ => None,
        }
    }

    fn printed_by_claude(record: &Value) -> Option<Value> {
        let is_printed = matches!(record["type"].as_str()?, "assistant" | "user")
            && ["agentId", "isMeta", "isCompactSummary"].iter().all(|key| record[key].is_null());
        is_printed.then(|| {
            json!({
                "type": record["type"],
                "message": record["message"],
                "session_id": record["sessionId"],
                "uuid": record["uuid"],
                "parent_tool_use_id": null,
            })
        })
    }

    fn printed_by_codex(records: impl Iterator<Item = Value>) -> Vec<Value> {
        let (mut printed, mut usage) = (Vec::new(), Value::Null);
        for record in records {
            let payload = &record["payload"];
            match (record["type"].as_str(), payload["type"].as_str()) {
                (Some("session_meta"), _) if printed.is_empty() => {
                    printed.push(json!({"type": "thread.started", "thread_id": payload["id"]}));
                    printed.push(json!({"type": "turn.started"}));
                }
                (_, Some("function_call" | "custom_tool_call")) => {
                    let id = format!("item_{}", printed.len());
                    let item = json!({"id": id, "type": "command_execution", "command": "ls", "status": "completed"});
                    printed.push(json!({"type": "item.completed", "item": item}));
                }
                (_, Some("token_count")) => usage = payload["info"]["total_token_usage"].clone(),
                _ => {}
            }
        }
        if !usage.is_null() {
            printed.push(json!({"type": "turn.completed", "usage": usage}));
        }
        printed
    }

    fn printed_by_opencode(export: &Value) -> Vec<Value> {
        let messages = export["messages"].as_array().into_iter().flatten();
        let parts = messages.flat_map(|message| message["parts"].as_array().into_iter().flatten());
        let print = |part: &Value| {
            let kind = match part["type"].as_str()? {
                "step-start" => "step_start",
                "step-finish" => "step_finish",
                "tool" => "tool_use",
                "text" => "text",
                _ => return None,
            };
            let time = part["time"]["start"].as_i64().unwrap_or(1_790_000_000_000);
            Some(json!({"type": kind, "timestamp": time, "sessionID": export["info"]["id"], "part": part}))
        };
        parts.filter_map(print).collect()
    }

    #[test]
    fn a_recording_beside_its_log_counts_nothing() {
        let mut failures = Vec::new();
        let mut recorded = 0;
        for sample in samples() {
            let Some(recording) = recording_of(&sample).filter(|it| !it.is_empty()) else { continue };
            recorded += 1;
            let (path, text) = (path_of(&sample), lines_of(&sample));
            let log = source(&path, &text);
            let expected = counted(&reconciled(vec![log.clone()]));
            for recording_path in ["a/stdout.jsonl", "z/stdout.jsonl"] {
                let recording = source(recording_path, recording.as_bytes());
                let difference = difference(&expected, &counted(&reconciled(vec![log.clone(), recording])));
                failures.extend(difference.map(|difference| format!("{path}: {difference}")));
            }
        }
        assert!(failures.is_empty() && recorded > 10, "{recorded} {}", failures.join("\n"));
    }
}

/// Views of which only one is complete, or which show different sessions: nothing is lost.
#[cfg(feature = "archive")]
mod losses {
    use agentlogs::adapters::shared::builder::Retention;
    use agentlogs::model::source::Source;

    use super::conversions::{documents, views};
    use super::{counted, line_texts, lines_of, path_of, source};
    use crate::{facts, reconciled};

    fn tokens(sources: Vec<Source>) -> f64 {
        let total = |counts: Vec<(&str, Option<f64>)>| counts.into_iter().find(|(name, _)| *name == "total_tokens")?.1;
        counted(&reconciled(sources)).into_values().filter_map(total).sum()
    }

    /// A log that was cut after a response, next to a conversion of the whole: the rows after the last record of the
    /// log come from the conversion. A response that the cut log has begun, but without its counts, is lost.
    #[test]
    fn a_cut_log_beside_a_whole_conversion_is_continued() {
        let (mut cuts, mut whole_again) = (0, 0);
        for sample in line_texts() {
            let (text, path) = (lines_of(&sample), path_of(&sample));
            let log = || source(&path, &text);
            let whole = reconciled(vec![log()]);
            let has_times = whole.turns.iter().all(|row| row.number.is_some() && row.turn.occurred_at.is_some());
            if whole.sessions.len() != 1 || !has_times {
                continue;
            }
            let views = views(&documents(&whole), |_| ());
            let expected = tokens(vec![log()]);
            for line in whole.turns.iter().map(|row| usize::try_from(row.turn.line).unwrap()) {
                let kept: Vec<u8> = text.split_inclusive(|byte| *byte == b'\n').take(line).flatten().copied().collect();
                let cut = source(&path, &kept);
                let is_cut =
                    |it: &agentlogs::model::session::SessionResult| !it.status.is_end() && it.ended_at.is_some();
                if cut.sessions.len() == 1 && cut.sessions.iter().all(is_cut) {
                    let least = tokens(vec![cut.clone()]);
                    let found = tokens([vec![cut], views.clone()].concat());
                    assert!((least..=expected + 0.5).contains(&found), "{path} cut after {line}: {expected}, {found}");
                    cuts += 1;
                    whole_again += usize::from((expected - found).abs() < 0.5);
                }
            }
        }
        assert!(cuts > 10 && 10 * whole_again >= 8 * cuts, "{whole_again} of {cuts}");
    }

    /// The log of one session and the conversion of another one count together as much as both alone.
    #[test]
    fn views_of_different_sessions_are_added() {
        let logs: Vec<Source> = facts(Retention::None).into_iter().filter(|it| it.sessions.len() == 1).collect();
        let conversions: Vec<Source> =
            logs.iter().map(|log| views(&documents(&reconciled(vec![log.clone()])), |_| ()).swap_remove(0)).collect();
        let id = |source: &Source| source.sessions[0].session_id.clone();
        for (place, log) in logs.iter().enumerate() {
            for conversion in conversions.iter().skip(place % 7).step_by(7).filter(|it| id(it) != id(log)) {
                let alone = tokens(vec![log.clone()]) + tokens(vec![conversion.clone()]);
                let both = tokens(vec![log.clone(), conversion.clone()]);
                assert!((alone - both).abs() < 0.5, "{} and {}: {alone} became {both}", log.path, id(conversion));
            }
        }
    }
}
