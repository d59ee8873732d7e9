//! New versions of runtimes: records that no adapter knows, sessions that may be incomplete because of them, and counters in doubt.

use std::collections::BTreeSet;
use std::path::Path;

use agentlogs::adapters::{self, ADAPTERS, Hints, Parsed};
use agentlogs::analysis::overview::{Look, Overview};
use agentlogs::analysis::reports::{self, Frames, Options, content_doubts};
use agentlogs::ingest::{self, Progress};
use agentlogs::model::health::Health;
use agentlogs::model::retention::Retention;
use agentlogs::model::source::{Source, SourceStatus};
use agentlogs::model::tables::{SessionRow, Tables, Usage, UsageReason};
use agentlogs::model::unknown::Contents;
use agentlogs::store::frames::frames;
use polars::prelude::*;

use crate::{facts, lines_of, reconciled, root, samples};

/// A record of a type that no format has, with the members by which formats recognise their records left out.
const MADE_UP: &str = r#"{"type":"agentlogs_made_up","usage":{"input_tokens":70,"output_tokens":7},"model":"m"}"#;

fn parse(log: &str) -> Parsed {
    adapters::parse(log.as_bytes(), Hints::default(), Retention::None)
}

fn tables_of(logs: &[&str]) -> Tables {
    let source = |(index, log): (usize, &&str)| {
        let Parsed { sessions, health, format, runtime } = parse(log);
        let (format, runtime) = (format.map(str::to_owned), runtime.map(str::to_owned));
        Source {
            path: format!("{index}.jsonl"),
            status: SourceStatus::Parsed,
            sessions,
            health,
            format,
            runtime,
            ..Source::default()
        }
    };
    reconciled(logs.iter().enumerate().map(source).collect())
}

fn frames_of(tables: &Tables) -> Frames {
    frames(tables).unwrap().into_iter().map(|(name, frame)| (name, frame.lazy())).collect()
}

fn findings(tables: &Tables, finding: &str) -> Vec<(String, i64, Option<String>)> {
    let options = Options { wide: true, ..Options::default() };
    let rows = reports::find("health").unwrap().run(&frames_of(tables), &options).unwrap().rows;
    let text = |name: &str| rows.column(name).unwrap().cast(&DataType::String).unwrap().str().unwrap().clone();
    let (kinds, reasons, examples) = (text("finding"), text("reason"), text("example"));
    let counts = rows.column("count").unwrap().i64().unwrap();
    let at = |row: usize| {
        (reasons.get(row).unwrap().to_owned(), counts.get(row).unwrap(), examples.get(row).map(str::to_owned))
    };
    (0..rows.height()).filter(|row| kinds.get(*row) == Some(finding)).map(at).collect()
}

fn transcript(version: &str, more: &str) -> String {
    let head = format!(
        r#""sessionId":"5e551000-0000-4000-8000-000000000001","cwd":"/work/shop","version":"{version}","isSidechain":false"#
    );
    format!(
        r#"{{"type":"user","uuid":"u1","timestamp":"2026-11-20T10:00:00.000Z",{head},"message":{{"role":"user","content":"Sort the list"}}}}
{{"type":"assistant","uuid":"u2","parentUuid":"u1","timestamp":"2026-11-20T10:00:05.000Z",{head},"message":{{"id":"msg_01","type":"message","role":"assistant","model":"claude-sonnet-4-5","stop_reason":"end_turn","content":[{{"type":"text","text":"Done"}}],"usage":{{"input_tokens":10,"output_tokens":5}}}}}}
{more}
"#
    )
}

fn only_session(tables: &Tables) -> &SessionRow {
    assert_eq!(tables.sessions.len(), 1);
    &tables.sessions[0]
}

/// Logs of several records: one more record is added to each sample. A format that takes every object for its own is in the list.
#[test]
fn every_format_names_records_that_it_does_not_know() {
    let mut silent = BTreeSet::new();
    let mut named = BTreeSet::new();
    for path in samples().iter().filter(|path| path.extension().is_some_and(|it| it == "jsonl")) {
        let text = String::from_utf8_lossy(&lines_of(path)).into_owned();
        let before = parse(&text);
        let Some(format) = before.format else { continue };
        let Parsed { health, format: after, .. } = parse(&format!("{}\n{MADE_UP}\n", text.trim_end()));
        assert_eq!(after, Some(format), "{}", path.display());
        let found = health.unknown_types.iter().find(|it| it.name == "agentlogs_made_up");
        match found {
            Some(found) => {
                assert_eq!((found.records, found.contents.has_counts, found.contents.has_model), (1, true, true));
                named.insert(format);
            }
            None => {
                silent.insert(format);
            }
        }
    }
    let silent: Vec<_> = silent.difference(&named).collect();
    assert!(silent.is_empty(), "{silent:?}");
    assert!(named.len() > 15, "{named:?}");
}

#[test]
fn unread_counts_are_a_lower_bound() {
    let exact = tables_of(&[&transcript("2.1.150", "")]);
    assert_eq!((only_session(&exact).usage, only_session(&exact).usage_reason), (Usage::Exact, None));
    let tables = tables_of(&[&transcript("2.1.150", MADE_UP)]);
    let session = only_session(&tables);
    assert_eq!((session.usage, session.usage_reason), (Usage::LowerBound, Some(UsageReason::UnreadCounts)));
    assert_eq!(session.tokens.total(), Some(15));
    let found = findings(&tables, "unread");
    assert_eq!((found.len(), found[0].0.as_str(), found[0].1), (1, "agentlogs_made_up", 1));
    assert!(found[0].2.as_deref().unwrap().starts_with("token counts or costs that are not in these numbers"));
    let now = "2026-11-20T14:30:00[UTC]".parse().unwrap();
    let text = Overview::of(&frames_of(&tables), &now).unwrap().text(&Look::default());
    assert!(text.contains("1 unknown record of type agentlogs_made_up with token counts or costs"), "{text}");
}

/// The record belongs to the session that it names, else to the last one that began before it.
#[test]
fn unread_counts_are_those_of_their_session() {
    let run = |id: &str| {
        format!(
            "{{\"runId\":\"{id}\",\"kind\":\"run_start\",\"ts\":1}}\n{{\"runId\":\"{id}\",\"kind\":\"usage\",\"turn\":1,\"usage\":{{\"inputTokens\":3,\"outputTokens\":4}}}}\n{{\"runId\":\"{id}\",\"kind\":\"run_end\",\"status\":\"success\"}}\n"
        )
    };
    let record = |id: &str| format!("{{\"kind\":\"made_up\"{id},\"usage\":{{\"inputTokens\":3}}}}\n");
    for (more, expected) in [
        (record(r#","runId":"a""#), ["a"]),
        (record(r#","runId":"b""#), ["b"]),
        (record(""), ["b"]),
        (record(r#","runId":"unknown""#), ["b"]),
    ] {
        let sessions = parse(&format!("{}{}{more}", run("a"), run("b"))).sessions;
        let unread: Vec<_> =
            sessions.iter().filter(|it| it.unread.is_some()).map(|it| it.session_id.as_str()).collect();
        assert_eq!(unread, expected, "{more}");
    }
}

#[test]
fn a_newer_version_with_unknown_types_is_a_lower_bound() {
    let harmless = r#"{"type":"agentlogs_made_up","note":"n"}"#;
    for (version, more, expected) in [
        ("999.0.1", harmless, Some(UsageReason::NewerVersion)),
        ("999.0.1", MADE_UP, Some(UsageReason::UnreadCounts)),
        ("999.0.1", "", None),
        ("2.1.150", harmless, None),
    ] {
        let tables = tables_of(&[&transcript(version, more)]);
        assert_eq!(only_session(&tables).usage_reason, expected, "{version} {more}");
        let is_lower = only_session(&tables).usage == Usage::LowerBound;
        assert_eq!(is_lower, expected.is_some(), "{version} {more}");
    }
}

/// The names of types are keys: without paths, ids and secrets.
#[test]
fn types_are_kept_without_what_may_be_data() {
    let directory = tempfile::tempdir().unwrap();
    let secret = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789";
    let more = ["/home/ann/plan.txt", "ann@example.org", secret, "new_type"].map(|it| format!("{{\"type\":\"{it}\"}}"));
    std::fs::write(directory.path().join("a.jsonl"), transcript("2.1.150", &more.join("\n"))).unwrap();
    let options = ingest::Options { roots: vec![directory.path().to_owned()], ..ingest::Options::default() };
    let sources = ingest::read(&options, &std::collections::BTreeMap::new(), &Progress::default()).sources;
    let Health { unknown_records, unknown_types, runtime_version, .. } = &sources[0].health;
    let types: Vec<_> = unknown_types.iter().map(|it| (it.name.as_str(), it.records, it.first_line)).collect();
    assert_eq!(types, [("*", 3, 3), ("new_type", 1, 6)]);
    assert_eq!((*unknown_records, runtime_version.as_deref()), (4, Some("2.1.150")));
    assert!(unknown_types.iter().all(|it| it.contents == Contents::default()));
}

/// A part of a known record whose type is unknown has its own name, and makes its session a lower bound if it has counts.
#[test]
fn an_unknown_part_of_a_known_record_is_named() {
    let path = samples().into_iter().find(|path| path.to_string_lossy().contains("amp-thread")).unwrap();
    let text = String::from_utf8(lines_of(&path)).unwrap();
    let (before, after) = text.split_once("\"messages\"").unwrap();
    let (between, after) = after.split_once('[').unwrap();
    let part = r#"{"role":"made_up","usage":{"inputTokens":5}},"#;
    let Parsed { health, sessions, .. } = parse(&format!("{before}\"messages\"{between}[{part}{after}"));
    let found = &health.unknown_types[0];
    assert_eq!((found.name.as_str(), found.records, found.contents.has_counts), ("message/made_up", 1, true));
    assert_eq!((health.unknown_records, sessions[0].unread.is_some()), (0, true));
}

/// Records of known families whose own type is unknown: they are named if they contain counts, and only then.
#[test]
fn unread_counts_in_records_of_known_families_are_named() {
    const COUNTS: &str =
        r#""usage":{"input_tokens":50,"output_tokens":9},"tokensIn":50,"tokens":{"input":50},"cost":0.5"#;
    let after_first = |text: &str, words: &str, part: &str| {
        let (before, after) = text.split_once(words).unwrap();
        let (between, after) = after.split_once('[').unwrap();
        format!("{before}{words}{between}[{part},{after}")
    };
    let cases = [
        (
            "claude-transcript/",
            r#"{"type":"system","subtype":"made_up","uuid":"u9","timestamp":"2026-11-20T10:00:09.000Z",SESSION"more":{COUNTS}}"#,
            "record/system/made_up",
        ),
        (
            "claude-transcript/",
            r#"{"type":"attachment","uuid":"u9","timestamp":"2026-11-20T10:00:09.000Z",SESSION"attachment":{"type":"made_up",COUNTS}}"#,
            "record/attachment",
        ),
        (
            "copilot-events/subagent",
            r#"{"type":"assistant.made_up","id":"x","parentId":null,"timestamp":"2026-11-20T10:00:09.000Z","data":{COUNTS}}"#,
            "record/assistant.made_up",
        ),
        (
            "pi-session/compaction",
            r#"{"type":"custom","customType":"made-up","id":"x","parentId":null,"timestamp":"2026-11-20T10:00:09.000Z","data":{COUNTS}}"#,
            "custom/made-up",
        ),
        ("opencode-export/", r#"{"type":"made-up",COUNTS}"#, "part/made-up"),
        (
            "opencode-db/child",
            r#"{"table":"message","id":"msg_9",SESSION"data":{"role":"made_up",COUNTS}}"#,
            "message/made_up",
        ),
        (
            "gemini-chat/rewritten",
            r#"{"$set":{"messages":[{"id":"x","timestamp":"2026-11-20T10:00:09.000Z","type":"made_up",COUNTS}]}}"#,
            "message/made_up",
        ),
        ("ui_messages", r#"{"ts":1791448225010,"type":"say","say":"made_up","text":"{TEXT}"}"#, "say/made_up"),
    ];
    for (sample, record, name) in cases {
        let path = samples().into_iter().find(|path| path.to_string_lossy().contains(sample)).unwrap();
        let text = String::from_utf8(lines_of(&path)).unwrap();
        let id = parse(&text).sessions[0].session_id.clone();
        let with = |counts: &str| {
            let record = record
                .replace(
                    "SESSION",
                    &format!(r#""sessionId":"{id}","session_id":"{id}","version":"2.1.150","isSidechain":false,"#),
                )
                .replace("COUNTS", counts)
                .replace("TEXT", &counts.replace('"', "\\\""));
            let text = match sample {
                "opencode-export/" => after_first(&text, "\"parts\"", &record),
                "ui_messages" => after_first(&text, "", &record),
                _ => format!("{}\n{record}\n", text.trim_end()),
            };
            let Parsed { health, sessions, .. } = parse(&text);
            let names: Vec<_> = health.unknown_types.iter().map(|it| it.name.clone()).collect();
            (names, sessions[0].unread.is_some())
        };
        assert_eq!(with(COUNTS), (vec![name.to_owned()], true), "{sample}");
        if sample != "opencode-export/" {
            assert_eq!(with(r#""text":"x""#), (Vec::new(), false), "{sample}");
        }
    }
}

#[test]
fn no_sample_is_in_doubt() {
    let tables = frames_of(&reconciled(facts(Retention::None)));
    assert_eq!(content_doubts(&tables).unwrap(), Vec::<String>::new());
}

#[test]
fn a_counter_in_doubt_is_unknown() {
    let call = |id: &str, line: i64| {
        format!(
            r#"{{"type":"assistant","uuid":"{id}","timestamp":"2026-11-20T10:00:0{line}.000Z","sessionId":"5e551000-0000-4000-8000-000000000001","version":"2.1.150","isSidechain":false,"message":{{"id":"msg_{id}","type":"message","role":"assistant","model":"claude-sonnet-4-5","stop_reason":"tool_use","content":[{{"type":"tool_use","id":"toolu_{id}","name":"Bash","input":{{"command":"ls"}}}}],"usage":{{"input_tokens":10,"output_tokens":5}}}}}}"#
        )
    };
    let log = format!("{}\n{}\n", call("a", 1), call("b", 2));
    let tables = tables_of(&[&log]);
    let session = only_session(&tables);
    assert_eq!((session.user_turns, session.tool_errors, session.tool_calls), (None, None, Some(2)));
    let found: Vec<_> = findings(&tables, "doubt").into_iter().map(|(reason, count, _)| (reason, count)).collect();
    assert_eq!(found, [("no_prompt".to_owned(), 1), ("no_results".to_owned(), 1)]);
    assert_eq!(content_doubts(&frames_of(&tables)).unwrap().len(), 2);
}

#[test]
fn a_version_is_in_doubt_if_no_session_shows_what_others_show() {
    let session = |number: usize, version: &str, is_ended: bool| {
        let id = format!("5e551000-0000-4000-8000-00000000000{number}");
        let log = transcript(version, "").replace("5e551000-0000-4000-8000-000000000001", &id);
        let log = log.replace("msg_01", &format!("msg_0{number}")).replace("\"u", &format!("\"u{number}"));
        if is_ended { log } else { log.replace("end_turn", "tool_use") }
    };
    let logs: Vec<String> =
        (0..7).map(|number| session(number, if number < 3 { "2.1.150" } else { "2.1.151" }, number > 2)).collect();
    let tables = tables_of(&logs.iter().map(String::as_str).collect::<Vec<_>>());
    let statuses: Vec<_> = tables.sessions.iter().map(|row| row.session.status.as_str()).collect();
    let found = findings(&tables, "version");
    assert_eq!(statuses.iter().filter(|it| **it == "incomplete").count(), 3, "{statuses:?}");
    assert_eq!(found, [("no_end".to_owned(), 3, Some("2.1.150".to_owned()))]);
}

#[test]
fn each_tested_version_begins_with_a_number() {
    for adapter in ADAPTERS {
        let is_version = |version: &str| version.starts_with(|first: char| first.is_ascii_digit());
        assert!(adapter.tested.is_none_or(is_version), "{}", adapter.id);
    }
    assert!(Path::new(root()).is_dir());
}
