//! Several logs of one session, and sessions that share responses: docs/accounting.md#copies-resumes-and-forks. The
//! order of the files does not matter.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use agentlogs::adapters::shared::builder::Retention;
use agentlogs::adapters::{self, Hints};
use agentlogs::base::time::Time;
use agentlogs::ledger;
use agentlogs::model::session::{Event, EventKind, Identity, SessionResult, Tokens, Turn};
use agentlogs::model::source::{Source, SourceStatus};
use agentlogs::model::tables::Tables;

use crate::rules::{large_logs_are_read_as_small_ones, parse};

/// The tables of some logs, which have to be the same for every order of the files.
fn reconciled(logs: &[(&str, &str)]) -> Tables {
    let sources = || {
        logs.iter().map(|(path, text)| Source {
            path: (*path).to_owned(),
            status: SourceStatus::Parsed,
            sessions: adapters::parse(text.as_bytes(), Hints { path, runtime: None }, Retention::Text).sessions,
            ..Source::default()
        })
    };
    let tables = ledger::reconcile(sources().collect());
    for first in 0..logs.len() {
        let mut others: Vec<Source> = sources().collect();
        others.rotate_left(first);
        assert_eq!(format!("{:?}", ledger::reconcile(others)), format!("{tables:?}"));
    }
    // The names of the files do not matter either.
    let named = |reverse: bool| {
        let rename = |(index, mut it): (usize, Source)| {
            it.path = format!("{}", if reverse { 9 - index } else { index });
            it
        };
        let tables = ledger::reconcile(sources().enumerate().map(rename).collect());
        tables.sessions.iter().map(|it| (it.session.session_id.clone(), it.tokens, it.turns)).collect::<Vec<_>>()
    };
    assert_eq!(named(false), named(true));
    tables
}

/// `session: tokens, turns, usage, status`, by id.
fn told(tables: &Tables) -> Vec<String> {
    let row = |it: &agentlogs::model::tables::SessionRow| {
        let id = &it.session.session_id;
        let (total, turns) = (it.tokens.total(), it.turns);
        format!("{id}: {total:?} {turns:?} {} {}", it.usage.as_str(), it.session.status.as_str())
    };
    tables.sessions.iter().map(row).collect()
}

/// See the rule. Formats of which one log holds many sessions hand them on.
#[test]
fn sessions_that_are_over_are_whole() {
    let mut logs: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in crate::samples() {
        if let Ok(text) = fs::read_to_string(&path) {
            let directory = path.parent().unwrap().file_name().unwrap().to_string_lossy().into_owned();
            logs.entry(directory).or_default().push(text + "\n");
        }
    }
    let (mut handed_on, mut wrong) = (BTreeSet::new(), BTreeSet::new());
    for (format, texts) in logs {
        let longest = texts.iter().map(|it| it.lines().count()).max().unwrap();
        let in_turns = (0..longest).flat_map(|line| texts.iter().filter_map(move |it| it.lines().nth(line)));
        let in_turns: String = in_turns.flat_map(|it| [it, "\n"]).collect();
        for text in [texts.concat(), texts[1..].concat(), texts.concat().repeat(2), in_turns] {
            let whole = parse(text.as_bytes());
            for large in [1, 2000, 8000] {
                let (is_early, was_wrong) = large_logs_are_read_as_small_ones(text.as_bytes(), &whole, large);
                if is_early {
                    (if was_wrong { &mut wrong } else { &mut handed_on }).insert(format.clone());
                }
            }
        }
    }
    let named = ["claude-stream-json", "claude-transcript", "codex-exec", "openclaw-session", "pi-json", "pi-session"];
    let named = BTreeSet::from(named.map(str::to_owned));
    assert!(named.is_subset(&handed_on), "{handed_on:?}");
    assert!(wrong.contains("claude-transcript") && wrong.contains("claude-stream-json"), "{wrong:?}");
}

mod openclaw {
    use super::{reconciled, told};

    const SESSION: &str = r#"{"type":"session","version":3,"id":"s1","timestamp":"2026-10-05T06:00:00.000Z","cwd":"/home/dev/.openclaw/workspace"}
{"type":"message","id":"a","parentId":null,"timestamp":"2026-10-05T06:00:01.000Z","message":{"role":"user","content":"Hi","timestamp":1791180001000}}
{"type":"message","id":"b","parentId":"a","timestamp":"2026-10-05T06:00:03.000Z","message":{"role":"assistant","content":[{"type":"text","text":"Hi."}],"provider":"anthropic","model":"claude-sonnet-4-5","usage":{"input":10,"output":5,"cacheRead":100,"cacheWrite":0},"stopReason":"STOP","timestamp":1791180002000}}
"#;

    const TRAJECTORY: &str = r#"{"traceSchema":"openclaw-trajectory","type":"session.started","ts":"2026-10-05T06:00:00.500Z","sessionId":"s1","sessionKey":"agent:main:main","runId":"r1","modelId":"claude-sonnet-4-5","data":{"trigger":"user"}}
{"traceSchema":"openclaw-trajectory","type":"prompt.submitted","ts":"2026-10-05T06:00:00.600Z","sessionId":"s1","runId":"r1","modelId":"claude-sonnet-4-5","data":{"prompt":"Hi"}}
{"traceSchema":"openclaw-trajectory","type":"model.completed","ts":"2026-10-05T06:00:03.100Z","sessionId":"s1","runId":"r1","modelId":"claude-sonnet-4-5","data":{"usage":{"input":20,"output":9,"cacheRead":100,"total":129},"assistantTexts":["Hi."]}}
{"traceSchema":"openclaw-trajectory","type":"trace.artifacts","ts":"2026-10-05T06:00:03.200Z","sessionId":"s1","runId":"r1","modelId":"claude-sonnet-4-5","data":{"finalStatus":"success","usage":{"input":20,"output":9,"cacheRead":100,"total":129},"assistantTexts":["Hi."],"toolMetas":[{"toolName":"exec"}]}}
{"traceSchema":"openclaw-trajectory","type":"session.ended","ts":"2026-10-05T06:00:03.300Z","sessionId":"s1","runId":"r1","modelId":"claude-sonnet-4-5","data":{"status":"success"}}
"#;

    #[test]
    fn a_trajectory_adds_no_tokens_where_the_session_s_own_file_shows_responses() {
        let session = SESSION.replace("STOP", "stop");
        let tables = reconciled(&[("s1.trajectory.jsonl", TRAJECTORY), ("s1.jsonl", &session)]);
        assert_eq!(told(&tables), ["s1: Some(115) Some(1) exact success"]);
        let row = &tables.sessions[0];
        assert_eq!((row.user_turns, row.tool_calls, row.duration_ms), (Some(1), Some(0), Some(3000)));
        assert_eq!(row.session.format, "openclaw-session");
        assert_eq!(tables.sources[row.source].path, "s1.jsonl");
    }

    #[test]
    fn a_trajectory_alone_shows_what_its_runs_spent() {
        let tables =
            reconciled(&[("s1.trajectory.jsonl", TRAJECTORY), ("copy.jsonl", &TRAJECTORY[..TRAJECTORY.len() - 1])]);
        assert_eq!(told(&tables), ["s1: Some(129) None exact success"]);
        let row = &tables.sessions[0];
        assert_eq!((row.user_turns, row.tool_calls, row.tool_errors), (Some(1), Some(1), None));
        // A run without an end is a lower bound.
        let (cut, _) = TRAJECTORY.rsplit_once("\n{").unwrap();
        assert_eq!(told(&reconciled(&[("s1.trajectory.jsonl", cut)])), ["s1: Some(129) None lower_bound incomplete"]);
    }

    /// What the program printed about a run is in the session's own file, or in its trajectory.
    #[test]
    fn an_output_counts_only_alone() {
        let output = |input: i64| {
            format!(
                r#"{{"payloads":[],"meta":{{"durationMs":2000,"agentMeta":{{"sessionId":"s1","provider":"anthropic","model":"claude-sonnet-4-5","usage":{{"input":{input},"output":9,"cacheRead":100,"total":129}}}},"aborted":false,"stopReason":"stop"}}}}"#
            )
        };
        let (first, second) = (output(20), output(30));
        assert_eq!(
            told(&reconciled(&[("a.json", &first), ("copy.json", &first)])),
            ["s1: Some(129) None exact success"]
        );
        assert_eq!(told(&reconciled(&[("a.json", &first), ("b.json", &second)])), ["s1: Some(268) None exact success"]);
        let session = SESSION.replace("STOP", "stop");
        let tables = reconciled(&[("a.json", &first), ("s1.jsonl", &session)]);
        assert_eq!(told(&tables), ["s1: Some(115) Some(1) exact success"]);
        let tables = reconciled(&[("a.json", &first), ("s1.trajectory.jsonl", TRAJECTORY)]);
        assert_eq!(told(&tables), ["s1: Some(129) None exact success"]);
    }

    /// The file shows that the last response failed, whatever the trajectory calls a success; and a file that ends
    /// within a call has its end in the trajectory.
    #[test]
    fn a_trajectory_ends_only_what_has_no_end() {
        let failed = SESSION.replace("STOP", "error");
        let tables = reconciled(&[("s1.trajectory.jsonl", TRAJECTORY), ("s1.jsonl", &failed)]);
        assert_eq!(told(&tables), ["s1: Some(115) Some(1) exact error"]);
        let open = SESSION.replace("STOP", "toolUse");
        let tables = reconciled(&[("s1.trajectory.jsonl", TRAJECTORY), ("s1.jsonl", &open)]);
        assert_eq!(told(&tables), ["s1: Some(115) Some(1) exact success"]);
        let later = open.replace("06:00:03.000Z", "06:10:00.000Z");
        let tables = reconciled(&[("s1.trajectory.jsonl", TRAJECTORY), ("s1.jsonl", &later)]);
        assert_eq!(told(&tables), ["s1: Some(115) Some(1) lower_bound incomplete"]);
    }
}

mod pi {
    use super::{reconciled, told};

    const CHILD: &str = include_str!("../sample-logs/pi-subagent/review-with-a-failed-test.jsonl");

    /// The child's own file, as pi writes it.
    fn session_file() -> String {
        let mut out =
            r#"{"type":"session","version":3,"id":"child","timestamp":"2026-10-05T11:00:01.000Z","cwd":"/work/shop"}"#
                .to_owned();
        for line in CHILD.lines() {
            let record: serde_json::Value = serde_json::from_str(line).unwrap();
            if record["sourceEventType"] == "message_end" {
                let entry = serde_json::json!({"type":"message","id":"e","timestamp":record["timestamp"],"message":record["message"]});
                out = out + "\n" + &entry.to_string();
            }
        }
        out
    }

    const PARENT: &str = r#"{"type":"session","version":3,"id":"parent","timestamp":"2026-10-05T10:59:00.000Z","cwd":"/work/shop"}
{"type":"message","id":"a","timestamp":"2026-10-05T10:59:30.000Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"subagent","arguments":{"agent":"reviewer"}}],"model":"claude-opus-4-7","usage":{"input":9,"output":1,"cacheRead":0,"cacheWrite":0},"stopReason":"toolUse","timestamp":1791197970000}}
{"type":"message","id":"b","timestamp":"2026-10-05T11:01:00.000Z","message":{"role":"toolResult","toolCallId":"c1","toolName":"subagent","content":[],"isError":false,"timestamp":1791198060000,"details":{"mode":"single","runId":"7c1d40be","results":[{"index":0,"agent":"reviewer","transcriptPath":"/work/shop/.pi-subagents/artifacts/7c1d40be_reviewer_0_transcript.jsonl"}]}}}
{"type":"message","id":"c","timestamp":"2026-10-05T11:01:04.000Z","message":{"role":"assistant","content":[{"type":"text","text":"Done."}],"model":"claude-opus-4-7","usage":{"input":19,"output":1,"cacheRead":0,"cacheWrite":0},"stopReason":"stop","timestamp":1791198061000}}
"#;

    #[test]
    fn a_subagent_s_transcript_belongs_to_the_session_that_names_it() {
        let tables = reconciled(&[("p.jsonl", PARENT), ("7c1d40be_reviewer_0_transcript.jsonl", CHILD)]);
        assert_eq!(
            told(&tables),
            ["7c1d40be_reviewer_0: Some(26361) Some(3) exact success", "parent: Some(30) Some(2) exact success"]
        );
        let (child, parent) = (&tables.sessions[0], &tables.sessions[1]);
        assert_eq!(child.session.parent_session_id.as_deref(), Some("parent"));
        assert_eq!((child.session.agent.as_deref(), child.user_turns), (Some("reviewer"), None));
        assert_eq!(parent.subagents, Some(1));
        assert!(tables.turns.iter().filter(|it| it.session == 0).all(|it| it.turn.is_subagent));
    }

    /// pi-subagents keeps the child's session file beside the transcript: the same responses under another id.
    #[test]
    fn a_subagent_s_transcript_and_its_session_file_are_one_session() {
        let file = session_file();
        let logs = [("p.jsonl", PARENT), ("x_transcript.jsonl", CHILD), ("run-0/session.jsonl", &file)];
        let tables = reconciled(&logs);
        assert_eq!(
            told(&tables),
            ["child: Some(26361) Some(3) exact success", "parent: Some(30) Some(2) exact success"]
        );
        assert_eq!(tables.sessions[0].session.parent_session_id.as_deref(), Some("parent"));
        assert_eq!(tables.sessions[0].tool_calls, Some(3));
        assert_eq!(tables.file_changes.len(), 1);
    }
}

mod codex {
    use super::{reconciled, told};

    /// A `token_count` after a call, when the totals are these.
    fn response(call: &str, second: u32, input: i64, output: i64) -> String {
        let last = format!(r#"{{"input_tokens":{input},"output_tokens":{output}}}"#);
        format!(
            r#"{{"timestamp":"2026-10-05T10:00:{second:02}.000Z","type":"response_item","payload":{{"type":"function_call","name":"shell","arguments":"{{}}","call_id":"{call}"}}}}
{{"timestamp":"2026-10-05T10:00:{second:02}.000Z","type":"event_msg","payload":{{"type":"token_count","info":{{"total_token_usage":{last}}}}}}}
"#
        )
    }

    fn meta(id: &str, from: &str, second: u32) -> String {
        format!(
            r#"{{"timestamp":"2026-10-05T10:00:{second:02}.000Z","type":"session_meta","payload":{{"id":"{id}"{from}}}}}
"#
        )
    }

    /// The third thread names the second only, which is a fork of the first.
    #[test]
    fn a_fork_of_a_fork_counts_what_is_its_own() {
        let (one, two, three) = (
            |second| response("call_1", second, 100, 10),
            |second| response("call_2", second, 300, 30),
            |second| response("call_3", second, 600, 60),
        );
        let first = meta("t1", "", 0) + &one(1);
        let second = meta("t2", r#","forked_from_id":"t1""#, 10) + &one(10) + &two(11);
        let third = meta("t3", r#","forked_from_id":"t2""#, 20) + &one(20) + &two(20) + &three(21);
        let expected = ["t1: Some(110) Some(1)", "t2: Some(220) Some(1)", "t3: Some(330) Some(1)"];
        let tables = reconciled(&[("1.jsonl", &first), ("2.jsonl", &second), ("3.jsonl", &third)]);
        for (told, expected) in told(&tables).iter().zip(expected) {
            assert!(told.starts_with(expected), "{told}");
        }
        assert_eq!(tables.sessions.len(), 3);
        // Logs that name each other can be read too.
        let circle = meta("t1", r#","forked_from_id":"t3""#, 0) + &one(1);
        let tables = reconciled(&[("1.jsonl", &circle), ("2.jsonl", &second), ("3.jsonl", &third)]);
        assert_eq!(tables.turns.iter().filter_map(|it| it.turn.tokens.get().total()).sum::<i64>(), 660);
    }

    /// The totals do not contain a compaction by the provider. Its record counts once at any place, however often it is
    /// copied: docs/accounting.md#running-totals-of-codex.
    #[test]
    fn a_compaction_is_a_response_once() {
        let record = r#"{"timestamp":"2026-10-05T10:00:05.000Z","type":"token_usage_record","payload":{"response_id":"resp_c","usage":{"input_tokens":1000,"output_tokens":7}}}
"#;
        let compacted = r#"{"timestamp":"2026-10-05T10:00:06.000Z","type":"compacted","payload":{"message":"","compaction_response_id":"resp_c"}}
"#;
        let (head, rest) = (meta("t1", "", 0) + &response("call_1", 1, 100, 10), response("call_2", 9, 300, 30));
        let fork =
            meta("t2", r#","forked_from_id":"t1""#, 20) + &head[head.find('\n').unwrap() + 1..] + record + compacted;
        for middle in [[record, compacted].concat(), [compacted, record].concat()] {
            let log = format!("{head}{middle}{rest}");
            let tables = reconciled(&[("1.jsonl", &log), ("2.jsonl", &fork), ("twice.jsonl", &format!("{log}{log}"))]);
            assert_eq!(told(&tables), ["t1: Some(1337) Some(3) exact unknown"]);
            assert_eq!(tables.events.len(), 1);
        }
        // A response in the totals is not counted again for its record.
        let log = head + record + &response("call_2", 9, 1100, 17) + compacted;
        assert_eq!(told(&reconciled(&[("1.jsonl", &log)])), ["t1: Some(1117) Some(2) exact unknown"]);
    }
}

mod claude {
    use super::{reconciled, told};

    const INIT: &str = r#"{"type":"system","subtype":"init","session_id":"s1","model":"m"}
"#;

    fn answer(id: &str, read: i64) -> String {
        format!(
            r#"{{"type":"assistant","session_id":"s1","message":{{"id":"msg_{id}","model":"m","role":"assistant","content":[{{"type":"text","text":"x"}}],"usage":{{"input_tokens":2,"cache_read_input_tokens":{read},"cache_creation_input_tokens":0,"output_tokens":1}}}}}}
"#
        )
    }

    fn result(uuid: &str, input: i64, read: i64, output: i64) -> String {
        format!(
            r#"{{"type":"result","subtype":"success","session_id":"s1","uuid":"{uuid}","modelUsage":{{"m":{{"inputTokens":{input},"cacheReadInputTokens":{read},"cacheCreationInputTokens":0,"outputTokens":{output}}}}}}}
"#
        )
    }

    /// A process was killed, and another one continued the same recording: its total does not contain the responses of
    /// the first one. See docs/accounting.md#process-totals.
    #[test]
    fn a_killed_process_is_not_in_the_next_one_s_total() {
        let killed = [INIT, &answer("a", 100), &answer("b", 200)].concat();
        let next = [INIT, &answer("c", 300), &result("r1", 2, 300, 40)].concat();
        // 2+100+1, 2+200+1, and the counts of the result.
        let log = format!("{killed}{next}");
        let rows = ["s1: Some(648) Some(3) lower_bound success"];
        assert_eq!(told(&reconciled(&[("run.jsonl", &log)])), rows);
        assert_eq!(
            told(&reconciled(&[
                ("run.jsonl", &log),
                ("killed.jsonl", &killed),
                ("twice.jsonl", &(log.clone() + &log))
            ])),
            rows
        );
        // After a process that came to a result; the third one's total is larger than the first one's.
        let log = [INIT, &answer("0", 50), &result("r0", 2, 50, 10), &log].concat();
        assert_eq!(told(&reconciled(&[("run.jsonl", &log)])), ["s1: Some(710) Some(4) lower_bound success"]);
    }

    /// A process writes `init` again and again.
    #[test]
    fn an_init_is_no_boundary_where_the_total_holds_all() {
        let log = [INIT, &answer("a", 100), INIT, &answer("b", 200), INIT, &result("r1", 4, 300, 40)].concat();
        let rows = ["s1: Some(344) Some(2) exact success"];
        assert_eq!(told(&reconciled(&[("run.jsonl", &log)])), rows);
        assert_eq!(told(&reconciled(&[("twice.jsonl", &(log.clone() + &log))])), rows);
    }
}

mod gemini {
    use super::{reconciled, told};

    fn chat(answers: &[(u32, i64)], last_updated: u32) -> String {
        let answer = |(second, input): &(u32, i64)| {
            format!(
                r#"{{"id":null,"timestamp":"2026-09-28T11:00:{second:02}Z","type":"gemini","content":"Done.","tokens":{{"input":{input},"output":5,"total":{}}},"model":"gemini-3-pro-preview"}}"#,
                input + 5
            )
        };
        let answers: Vec<String> = answers.iter().map(answer).collect();
        format!(
            r#"{{"sessionId":"s1","projectHash":"5f2e0c","startTime":"2026-09-28T11:00:00Z","lastUpdated":"2026-09-28T11:00:{last_updated:02}Z","messages":[{}]}}"#,
            answers.join(",")
        )
    }

    /// A response without an id in an older copy of the chat is identified by its time and counts. An equal one follows
    /// it in the same file: docs/accounting.md#responses-without-an-id.
    #[test]
    fn a_response_without_a_name_counts_once_in_copies() {
        let (grown, copy) = (chat(&[(1, 10), (1, 10), (2, 20), (3, 30)], 30), chat(&[(1, 10), (1, 10), (2, 20)], 20));
        let tables = reconciled(&[("a.json", &grown), ("b.json", &copy)]);
        assert_eq!(told(&tables), ["s1: Some(90) Some(4) exact success"]);
    }
}

mod zag {
    use super::{reconciled, told};

    fn recording(model: &str, output: i64) -> String {
        let usage = |output: i64| {
            format!(
                r#""usage":{{"input_tokens":3,"output_tokens":{output},"cache_read_tokens":0,"cache_creation_tokens":18770}}"#
            )
        };
        format!(
            r#"{{"agent":"claude","session_id":"s1","events":[{{"type":"init","model":"{model}","tools":[],"metadata":{{}}}},{{"type":"assistant_message","content":[{{"type":"text","text":"Done."}}],{}}}],"is_error":false,{},"model":"claude-opus-4-7"}}"#,
            usage(2),
            usage(output)
        )
    }

    /// A resumed session may be started with an alias. The total and the responses of one recording name the same
    /// model, even if another recording uses another name: docs/accounting.md#matching-models.
    #[test]
    fn an_alias_means_the_model_of_its_own_recording() {
        let tables = reconciled(&[("a.json", &recording("claude-opus-4-7", 268)), ("b.json", &recording("opus", 300))]);
        assert_eq!(told(&tables), [format!("s1: Some({}) Some(2) exact success", 2 * 18773 + 268 + 300)]);
        // The same applies to a name that only one total has.
        let renamed =
            recording("opus", 300).replace("claude-opus-4-7", "opusplan").replace("opus\"", "claude-opus-4-7\"");
        let tables = reconciled(&[("a.json", &recording("claude-opus-4-7", 268)), ("b.json", &renamed)]);
        assert_eq!(told(&tables), [format!("s1: Some({}) Some(2) exact success", 2 * 18773 + 268 + 300)]);
    }
}

mod atif {
    use super::{reconciled, told};

    /// The total of a document is the sum of its steps, whether it has one line or many: it is not added to them.
    #[test]
    fn the_sum_of_a_document_holds_its_steps() {
        let path = crate::root().join("sample-logs/atif/claude-code-with-a-subagent.json");
        let lines = std::fs::read_to_string(path).unwrap();
        let line = serde_json::from_str::<serde_json::Value>(&lines).unwrap().to_string();
        for text in [lines, line] {
            let rows = ["0f6c1d5e-8b1a-4c55-9a34-5d2f1c7b9e10: Some(47993) Some(5) exact success"];
            assert_eq!(told(&reconciled(&[("trajectory.json", &text)])), rows);
        }
    }
}

/// Facts of an archive may contain what no log contains. A session that ran another agent loses its turns to the
/// session of that agent, and may lose its prompts as well: its errors then refer to no turn. See
/// docs/accounting.md#programs-that-run-another-agent.
#[test]
fn errors_of_turns_that_went_elsewhere_stay() {
    let turn = |name: &str| {
        let tokens = Tokens { input: Some(5), ..Tokens::UNKNOWN };
        Box::new(Turn { identity: Identity::Global(name.into()), tokens: tokens.into(), ..Turn::default() })
    };
    let session = |runtime: &'static str, id: &str| SessionResult {
        runtime: runtime.into(),
        session_id: id.to_owned(),
        turns: vec![turn(id)].into(),
        prompts: [Identity::Global("prompt".into())].into(),
        ..SessionResult::default()
    };
    let outer = SessionResult {
        provider_session_id: Some("inner".to_owned()),
        events: vec![Event { kind: EventKind::Error, turn: Some(0), ..Event::default() }].into(),
        ..session("a", "outer")
    };
    let inner = SessionResult { ended_at: Some(Time::from_micros(1)), ..session("b", "inner") };
    let source = Source { status: SourceStatus::Parsed, sessions: vec![outer, inner], ..Source::default() };
    let tables = ledger::reconcile(vec![source]);
    let of = |turns: &agentlogs::model::tables::TurnRow| tables.sessions[turns.session].session.session_id.clone();
    assert_eq!(tables.turns.iter().map(of).collect::<Vec<_>>(), ["inner"]);
    assert_eq!(tables.events.iter().map(|it| it.turn).collect::<Vec<_>>(), [None]);
}

/// A clock that was set back, or a sidecar with its times in the wrong order.
#[test]
fn a_session_that_ends_before_it_begins_has_no_duration() {
    let directory = tempfile::tempdir().unwrap();
    let log = r#"{"type":"thread.started","thread_id":"t"}
{"type":"turn.started"}
{"type":"turn.completed","usage":{"input_tokens":10,"cached_input_tokens":0,"output_tokens":1}}
"#;
    let duration = |started: &str, ended: &str| {
        fs::write(directory.path().join("run.jsonl"), log).unwrap();
        let sidecar = format!(r#"{{"startedAt":"{started}","endedAt":"{ended}"}}"#);
        fs::write(directory.path().join("run.meta.json"), sidecar).unwrap();
        let tables = agentlogs::reconcile(agentlogs::read([directory.path()]).sources);
        tables.sessions[0].duration_ms
    };
    assert_eq!(duration("2026-09-25T10:30:00Z", "2026-09-25T10:33:04Z"), Some(184_000));
    assert_eq!(duration("2026-09-25T10:33:04Z", "2026-09-25T10:30:00Z"), None);
}
