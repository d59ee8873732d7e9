//! Logs with a time or a level before each line: what programs and services write that run agents.

use std::fs;

use agentlogs::ingest::{self, Options, Progress};
use agentlogs::model::retention::Retention;
use agentlogs::model::source::{Source, SourceStatus};
use agentlogs::model::tables::{Tables, Usage};

use crate::reconciled;

/// The source of a log, and its tables.
fn read(log: &str) -> (Source, Tables) {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("run.log"), log).unwrap();
    let options = Options { roots: vec![directory.path().to_owned()], content: Retention::Text, ..Options::default() };
    let read = ingest::read(&options, &std::collections::BTreeMap::default(), &Progress::default());
    let [source] = &read.sources[..] else { panic!("{} sources", read.sources.len()) };
    (source.clone(), reconciled(read.sources.clone()))
}

fn totals(tables: &Tables) -> Vec<(&str, Usage, Option<i64>)> {
    let mut totals: Vec<_> =
        tables.sessions.iter().map(|row| (&*row.session.session_id, row.usage, row.tokens.total())).collect();
    totals.sort_unstable_by_key(|(id, ..)| *id);
    totals
}

const CODEX: [&str; 7] = [
    r#"{"type":"thread.started","thread_id":"t1"}"#,
    r#"{"type":"turn.started"}"#,
    r#"{"type":"item.completed","item":{"id":"i0","type":"command_execution","command":"ls","aggregated_output":"a","exit_code":0,"status":"completed"}}"#,
    r#"{"type":"turn.completed","usage":{"input_tokens":100,"cached_input_tokens":60,"output_tokens":7}}"#,
    r#"{"type":"thread.started","thread_id":"t2"}"#,
    r#"{"type":"turn.started"}"#,
    r#"{"type":"turn.completed","usage":{"input_tokens":30,"cached_input_tokens":0,"output_tokens":3}}"#,
];

const TIME: &str = "[2026-10-19T09:00:00.000Z] [INFO] ";

/// A program that writes the output of Codex in chunks writes the prefix before the first line of each.
#[test]
fn records_with_and_without_prefixes_are_one_log() {
    let has_prefix = [true, true, true, false, true, true, false];
    let lines = CODEX.iter().zip(has_prefix).map(|(line, has)| format!("{}{line}\n", if has { TIME } else { "" }));
    let log = format!("# Log\n{TIME}Start\n{}", lines.collect::<String>());
    let (source, tables) = read(&log);
    assert_eq!(totals(&tables), [("t1", Usage::Exact, Some(107)), ("t2", Usage::Exact, Some(33))]);
    assert_eq!((tables.tool_calls.len(), tables.tool_calls[0].call.line), (1, 5));
    assert_eq!((source.health.lines, source.health.rejected_lines()), (9, 2));
}

/// A record that is written twice, as it is and with a prefix, counts once.
#[test]
fn an_echo_with_a_prefix_is_not_a_record() {
    let echoed = CODEX.map(|line| format!("{line}\n{TIME}{line}\n")).concat();
    for log in [echoed.clone(), format!("# Log\n{echoed}")] {
        let (source, tables) = read(&log);
        assert_eq!(totals(&tables), [("t1", Usage::Exact, Some(107)), ("t2", Usage::Exact, Some(33))]);
        assert!(source.health.rejected_lines() >= 7);
    }
}

/// Records in rejected lines may begin a session, or contain counts.
#[test]
fn a_log_with_records_in_rejected_lines_is_not_exact() {
    let log: Vec<String> = [CODEX[0], CODEX[1], CODEX[3]].iter().map(|it| (*it).to_owned()).collect();
    let (_, tables) = read(&log.join("\n"));
    assert_eq!(totals(&tables), [("t1", Usage::Exact, Some(107))]);
    let (_, tables) = read(&format!("{}\n{TIME}{}\n{}", log.join("\n"), CODEX[4], CODEX[6]));
    assert_eq!(totals(&tables), [("t1", Usage::LowerBound, Some(107))]);
    let own_log = r#"{"time":"2026-10-19T09:00:00Z","level":"info","msg":"Started."}"#;
    for (rest, expected) in [
        ("Done", Usage::Exact),
        ("{}", Usage::Exact),
        ("{\"type\":\"turn", Usage::Exact),
        (own_log, Usage::Exact),
        (r#"{"level":"info","usage":{"input_tokens":5}}"#, Usage::LowerBound),
        (r#"{"type":"system","level":"info"}"#, Usage::LowerBound),
        // The beginnings of records of Claude, of Codex' own files and of OpenHands.
        (r#"{"parentUuid":null,"isSidechain":false,"type":"user"}"#, Usage::LowerBound),
        (r#"{"timestamp":"2026-10-19T09:00:00.000Z","type":"session_meta","payload":{}}"#, Usage::LowerBound),
        (r#"{"id":0,"timestamp":"2026-10-19T09:00:00","action":"run","args":{}} "#, Usage::LowerBound),
        (r#"{ "type" : "turn.started" }"#, Usage::LowerBound),
    ] {
        let (source, tables) = read(&format!("{}\n{TIME}{rest}\n", log.join("\n")));
        assert_eq!(totals(&tables), [("t1", expected, Some(107))], "{rest}");
        assert_eq!(source.health.rejected_lines(), 1, "{rest}");
    }
}

/// A record that was written in two chunks is one, wherever it was cut, with and without prefixes.
#[test]
fn halves_of_a_record_count_once() {
    for at in 1..CODEX[3].len() {
        let (first, second) = CODEX[3].split_at(at);
        for prefix in [TIME, "agent-1  | "] {
            let lines = [CODEX[0], CODEX[1], CODEX[2], first, second];
            let log = lines.iter().map(|line| format!("{prefix}{line}")).collect::<Vec<_>>().join("\n") + "\n";
            let (_, tables) = read(&format!("# Log\n{log}"));
            assert_eq!(totals(&tables), [("t1", Usage::Exact, Some(107))], "{first}");
        }
    }
}

const CLAUDE: [&str; 3] = [
    r#"{"type":"system","subtype":"init","session_id":"s","uuid":"u1","cwd":"/w","model":"m","tools":[]}"#,
    r#"{"type":"assistant","session_id":"s","uuid":"u2","parent_tool_use_id":null,"message":{"id":"m1","model":"m","content":[{"type":"text","text":"Done."}],"usage":{"input_tokens":4,"output_tokens":5}}}"#,
    r#"{"type":"result","subtype":"success","is_error":false,"session_id":"s","uuid":"u3","num_turns":1,"result":"Done.","usage":{"input_tokens":4,"output_tokens":9},"modelUsage":{"m":{"inputTokens":4,"outputTokens":9}}}"#,
];

/// Each form of the same records: lines of GitHub Actions, those of `gh run view --log`, and documents over several lines.
#[test]
fn logs_of_services_are_read() {
    let pretty = CLAUDE.map(|record| {
        serde_json::to_string_pretty(&serde_json::from_str::<serde_json::Value>(record).unwrap()).unwrap()
    });
    let prefixed =
        |lines: &str, prefix: &str| lines.lines().map(|line| format!("{prefix}{line}\n")).collect::<Vec<_>>().concat();
    let lines = CLAUDE.join("\n");
    let first_only = pretty.each_ref().map(|record| format!("{TIME}{record}\n")).concat();
    // One text is cut in two.
    let cut = first_only.replacen("\"Done.\"", &format!("\"Do\n{TIME}ne.\""), 1);
    for log in [
        prefixed(&lines, "2026-10-19T09:00:00.1234567Z "),
        prefixed(&lines, "run\tRun the agent\t2026-10-19T09:00:00.1234567Z "),
        prefixed(&lines, "2026-10-19T09:00:00.1234567Z ##[info]"),
        prefixed(&lines, "2026-10-19 09:00:00.123 +0000 UTC "),
        prefixed(&lines, "[info] "),
        prefixed(&lines, "agent-1  | "),
        prefixed(&lines, "agent-1  | 2026-10-19T09:00:00.123456789Z "),
        prefixed(&lines, "[pod/agent-7d9f/main] "),
        prefixed(&lines, "2026-10-19T09:00:00.123456789Z stdout F "),
        prefixed(&pretty.join("\n"), "agent-1  | "),
        prefixed(&pretty.join("\n"), TIME),
        format!("# Log\n{first_only}{TIME}Done\n"),
        format!("# Log\n{cut}"),
    ] {
        let (source, tables) = read(&log);
        assert_eq!(source.status, SourceStatus::Parsed, "{log}");
        assert_eq!(totals(&tables), [("s", Usage::Exact, Some(13))], "{log}");
        assert_eq!(source.health.lines, i64::try_from(log.lines().count()).unwrap());
        assert_eq!(tables.sessions[0].session.text.as_deref(), Some("Done."));
    }
}
