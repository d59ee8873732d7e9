//! pi's session files and recorded events.

use agentlogs::model::session::{CallStatus, EventKind, Instructions, SessionResult, Status};
use agentlogs::model::tables::CallRow;

use super::{sessions, tables};

/// A message that was requested in one second and logged in another one of the same minute.
fn message(requested: u32, logged: u32, message: &str) -> String {
    format!(
        r#"{{"type":"message","id":"a{logged}","parentId":null,"timestamp":"2026-01-02T03:04:{logged:02}Z","message":{{{message},"timestamp":{}}}}}"#,
        1_767_323_040_000_u64 + u64::from(requested) * 1000
    )
}

fn response(requested: u32, logged: u32, content: &str, stop_reason: &str) -> String {
    let usage = format!(r#"{{"input":{logged},"output":7,"cacheRead":3,"cacheWrite":0}}"#);
    message(
        requested,
        logged,
        &format!(
            r#""role":"assistant","content":[{content}],"provider":"p","model":"m","usage":{usage},"stopReason":"{stop_reason}""#
        ),
    )
}

const CALL: &str = r#"{"type":"toolCall","id":"c1","name":"write","arguments":{"path":"a","content":"x\ny\n"}}"#;

fn result(logged: u32) -> String {
    let content = r#""role":"toolResult","toolCallId":"c1","toolName":"write","content":[],"isError":false"#;
    message(logged, logged, content)
}

/// A recording of the session has no times of its calls: those of the session's own file are used, in whichever order they are read.
#[test]
fn times_of_calls_are_those_of_the_session_s_own_file() {
    let header = r#"{"type":"session","version":3,"id":"s1","timestamp":"2026-01-02T03:04:00Z","cwd":"/a"}"#;
    let own = [response(1, 9, CALL, "toolUse"), result(11)];
    let event = |record: &String| record.replace(r#""type":"message","#, r#""type":"message_end","#);
    let recording = [&[r#"{"type":"agent_start"}"#.to_owned()][..], &own.each_ref().map(event)].concat();
    let [recording, own] = [&recording[..], &own].map(|records| format!("{header}\n{}", records.join("\n")));
    for logs in [[&recording, &own], [&own, &recording]] {
        let tables = tables(&logs);
        let durations: Vec<_> = tables.tool_calls.iter().map(CallRow::duration_ms).collect();
        assert_eq!(durations, [Some(2000)]);
    }
}

fn read(records: &[String]) -> SessionResult {
    let header = r#"{"type":"session","version":3,"id":"s1","timestamp":"2026-01-02T03:04:00Z","cwd":"/a"}"#;
    let log = format!("{header}\n{}", records.join("\n"));
    sessions(&log).swap_remove(0)
}

/// The time of a message is that of its request: the calls begin when the response is logged.
#[test]
fn calls_begin_when_the_response_is_logged() {
    let session = read(&[response(1, 9, CALL, "toolUse"), result(11), response(11, 12, "", "stop")]);
    let call = &session.tool_calls[0];
    assert_eq!(call.ended_at.unwrap().since(call.occurred_at.unwrap()), 2000);
    let durations: Vec<_> = session.turns.iter().map(|turn| turn.duration_ms.get()).collect();
    assert_eq!(durations, [Some(8000), Some(1000)]);
    assert_eq!(session.turns[0].occurred_at, call.occurred_at);
    // A write does not contain what it replaced.
    let change = &session.file_changes[0];
    assert_eq!((change.lines_added, change.lines_removed), (Some(2), None));
}

#[test]
fn the_last_response_decides_the_status() {
    let killed = response(1, 2, CALL, "toolUse");
    let aborted = response(1, 2, CALL, "aborted");
    let answer = response(5, 6, "", "stop");
    assert_eq!(read(&[killed.clone(), answer.clone()]).status, Status::Success);
    assert_eq!(read(&[aborted.clone(), answer]).status, Status::Success);
    assert_eq!(read(&[killed]).status, Status::Incomplete);
    assert_eq!(read(&[aborted]).status, Status::Aborted);
}

/// The request that summarised a branch which was left is billed as that of a compaction. In pi and in openclaw.
#[test]
fn the_summary_of_a_branch_is_a_response() {
    let usage =
        r#"{"input":40,"output":20,"cacheRead":0,"cacheWrite":0,"cost":{"input":0.5,"output":0.25,"total":0.75}}"#;
    let summary = |usage: &str| {
        format!(
            r#"{{"type":"branch_summary","id":"b","parentId":"a","timestamp":"2026-01-02T03:04:20Z","fromId":"a9","summary":"x"{usage}}}"#
        )
    };
    for directory in ["/a", "/home/ada/.openclaw/workspace"] {
        let header = format!(
            r#"{{"type":"session","version":3,"id":"s1","timestamp":"2026-01-02T03:04:00Z","cwd":"{directory}"}}"#
        );
        let log = |usage: &str| [header.clone(), response(1, 9, "", "stop"), summary(usage)].join("\n");
        let tables = tables(&[log(&format!(r#","usage":{usage}"#)), log("")]);
        let row = &tables.sessions[0];
        assert_eq!((row.tokens.kinds(), row.turns), ([Some(49), Some(27), Some(3), Some(0)], Some(2)));
        assert_eq!((row.compactions, row.user_turns), (Some(0), Some(0)));
        let turn = &tables.turns[1].turn;
        assert_eq!((turn.cost.as_deref().map(|cost| cost.total), turn.model.as_deref()), (Some(0.75), Some("m")));
    }
}

/// A turn that openclaw let Claude Code run is in Claude's own log, response by response: it counts there, if that is present.
#[test]
fn turns_of_a_cli_backend_count_in_its_own_log() {
    let header =
        r#"{"type":"session","version":3,"id":"s1","timestamp":"2026-01-02T03:04:00Z","cwd":"/home/ada/.openclaw/x"}"#;
    let cli = |second: u32| response(second, second, "", "stop").replace("\"p\"", "\"claude-cli\"");
    let own = [header.to_owned(), response(5, 5, "", "stop"), cli(20)].join("\n");
    let index = r#"{"agent:main:main":{"sessionId":"s1","cliSessionIds":{"claude-cli":"c1"}}}"#.to_owned();
    let claude = r#"{"type":"assistant","uuid":"u1","sessionId":"c1","timestamp":"2026-01-02T03:04:19Z","message":{"id":"msg_1","model":"m","role":"assistant","content":[],"stop_reason":"end_turn","usage":{"input_tokens":20,"output_tokens":7,"cache_read_input_tokens":3,"cache_creation_input_tokens":0}},"requestId":"r1"}"#.to_owned();
    let inputs = |logs: &[&String]| {
        let tables = tables(logs);
        let input = |row: &agentlogs::model::tables::SessionRow| (row.session.runtime.to_string(), row.tokens.input);
        let mut inputs: Vec<_> = tables.sessions.iter().map(input).collect();
        inputs.sort();
        inputs
    };
    let once = [("claude".to_owned(), Some(20)), ("openclaw".to_owned(), Some(5))];
    for logs in [[&own, &index, &claude], [&claude, &index, &own], [&index, &claude, &own]] {
        assert_eq!(inputs(&logs), once);
    }
    assert_eq!(inputs(&[&own, &index]), [("openclaw".to_owned(), Some(25))]);
    assert_eq!(inputs(&[&claude, &index]), once[..1]);
}

/// Heartbeats, jobs and other texts that openclaw writes are not prompts of a human. pi writes no such texts.
#[test]
fn openclaw_s_own_prompts_are_not_typed() {
    let prompts = |cwd: &str| {
        let header =
            format!(r#"{{"type":"session","version":3,"id":"s1","timestamp":"2026-01-02T03:04:00Z","cwd":"{cwd}"}}"#);
        let prompt = |(second, (text, provenance)): (usize, (&str, &str))| {
            let time = format!("2026-01-02T03:04:{:02}", second + 1);
            format!(
                r#"{{"type":"message","id":"u{second}","timestamp":"{time}Z","message":{{"role":"user","content":[{{"type":"text","text":"{text}"}}]{provenance},"timestamp":"{time}Z"}}}}"#
            )
        };
        let texts = [
            ("Can you build a website?", ""),
            ("[OpenClaw heartbeat poll]", ""),
            ("[cron:66d1 Evening review] Write the review.", ""),
            ("A task has ended.", r#","provenance":{"kind":"inter_session"}"#),
        ];
        let lines: Vec<_> = std::iter::once(header).chain(texts.into_iter().enumerate().map(prompt)).collect();
        tables(&[lines.join("\n")]).sessions[0].user_turns
    };
    assert_eq!(prompts("/home/ada/.openclaw/workspace"), Some(1));
    assert_eq!(prompts("/work"), Some(4));
}

/// A run of a job counts where no log of its session is present.
#[test]
fn runs_of_jobs_count_without_a_log_of_their_session() {
    let run = |id: &str, status: &str, total: u32| {
        format!(
            r#"{{"ts":1767323050000,"jobId":"j1","action":"finished","status":"{status}","error":"529 overloaded","sessionId":"{id}","sessionKey":"agent:main:cron:j1:run:{id}","runAtMs":1767323040000,"durationMs":10000,"model":"m","provider":"p","usage":{{"input_tokens":40,"output_tokens":7,"total_tokens":{total}}}}}"#
        )
    };
    let skipped = r#"{"ts":1767323050000,"jobId":"j2","action":"finished","status":"skipped"}"#.to_owned();
    let runs = [run("a", "ok", 30), run("b", "error", 90), skipped].join("\n");
    let both = tables(std::slice::from_ref(&runs));
    let facts: Vec<_> = both
        .sessions
        .iter()
        .map(|row| (row.session.session_id.as_str(), row.session.status, row.tokens.input, row.usage.as_str()))
        .collect();
    let expected = [("a", Status::Success, Some(40), "exact"), ("b", Status::Error, Some(40), "lower_bound")];
    assert_eq!(facts, expected);
    assert_eq!(both.sessions[0].session.runtime, "openclaw");

    let header =
        r#"{"type":"session","version":3,"id":"a","timestamp":"2026-01-02T03:04:00Z","cwd":"/home/ada/.openclaw/x"}"#;
    let log = [header.to_owned(), response(1, 5, "", "stop")].join("\n");
    for logs in [[&runs, &log], [&log, &runs]] {
        let tables = tables(&logs);
        assert_eq!(tables.sessions.iter().map(|row| row.tokens.input).collect::<Vec<_>>(), [Some(5), Some(40)]);
    }
}

const REQUEST: &str = r#""provider":"p","model":"m","usage":{"input":0,"output":0,"cacheRead":50000,"cacheWrite":0,"cost":{"total":0.025}}"#;

/// A session's own file, and a recording of it: requests outside of the conversation, usage of a tool, the summary of a compaction, and
/// the calls of a call.
#[test]
fn what_was_spent_beside_the_responses_counts_once() {
    let header = r#"{"type":"session","version":3,"id":"s1","timestamp":"2026-01-02T03:04:00Z","cwd":"/a"}"#;
    let warmed = format!(
        r#"{{"type":"usage","id":"w","parentId":"a","timestamp":"2026-01-02T03:04:20Z","kind":"cache_warm",{REQUEST}}}"#
    );
    let used = r#""usage":{"input":2000,"output":20,"cacheRead":0,"cacheWrite":0,"cost":{"total":0.05}}"#;
    let nested = r#""nestedCalls":{"complete":true,"calls":[{"id":"c1/1","name":"bash","arguments":{"command":"false"},"status":"error","durationMs":12,"error":"Command exited with code 1"}]}"#;
    let script = r#"{"type":"toolCall","id":"c1","name":"codemode","arguments":{"code":"run()"}}"#;
    let result = format!(
        r#""role":"toolResult","toolCallId":"c1","toolName":"codemode","content":[],"isError":false,{used},{nested}"#
    );
    let summary =
        r#""firstKeptEntryId":"a9","tokensBefore":900,"usage":{"input":800,"output":70,"cost":{"total":0.26}}"#;
    let messages = [response(1, 9, script, "toolUse"), message(11, 11, &result)];
    let own = [
        &[header.to_owned()][..],
        &messages,
        &[warmed.clone(), format!(r#"{{"type":"compaction","id":"k","timestamp":"2026-01-02T03:04:30Z",{summary}}}"#)],
    ];
    let event = |record: &String| record.replace(r#""type":"message","#, r#""type":"message_end","#);
    let [asked, answered] = messages.each_ref().map(event);
    let nested_event = |kind: &str, rest: &str| {
        format!(
            r#"{{"type":"tool_execution_{kind}","toolCallId":"c1/1","toolName":"bash","parentToolCallId":"c1",{rest}}}"#
        )
    };
    let recording = [
        header.to_owned(),
        r#"{"type":"agent_start"}"#.to_owned(),
        asked,
        nested_event("start", r#""args":{"command":"false"}"#),
        nested_event(
            "end",
            r#""isError":true,"durationMs":12,"result":{"content":[{"type":"text","text":"Command exited with code 1"}]}"#,
        ),
        answered,
        format!(r#"{{"type":"entry_appended","entry":{warmed}}}"#),
        r#"{"type":"compaction_start","reason":"threshold"}"#.to_owned(),
        format!(r#"{{"type":"compaction_end","reason":"threshold","result":{{{summary}}}}}"#),
        r#"{"type":"agent_end","messages":[]}"#.to_owned(),
    ];
    let [own, recording] = [own.concat(), recording.to_vec()].map(|records| records.join("\n"));
    for logs in [vec![&own], vec![&recording], vec![&own, &recording], vec![&recording, &own]] {
        let tables = tables(&logs);
        let spent = tables.turns.iter().map(|row| row.turn.tokens.get().total().unwrap());
        assert_eq!(spent.sum::<i64>(), (9 + 7 + 3) + 50_000 + 2020 + 870, "{} logs", logs.len());
        let cost: f64 = tables.turns.iter().filter_map(|row| Some(row.turn.cost.as_ref()?.total)).sum();
        assert!((cost - 0.335).abs() < 1e-9, "{cost}");
        let calls = tables.tool_calls.iter().map(|row| {
            (
                row.call.call_id.to_string(),
                row.call.status,
                row.call.exit_code.get(),
                row.call.target.as_deref().map(str::to_owned),
            )
        });
        let calls: Vec<_> = calls.collect();
        assert_eq!(calls.len(), 2, "{calls:?}");
        assert!(
            calls.iter().any(|(id, status, code, _)| id == "c1/1" && *status == CallStatus::Error && *code == Some(1)),
            "{calls:?}"
        );
    }
}

#[test]
fn calls_that_never_began_are_cancelled() {
    let calls = r#"{"type":"toolCall","id":"c1","name":"bash","arguments":{"command":"make"}},{"type":"toolCall","id":"c2","name":"read","arguments":{"path":"a"}},{"type":"toolCall","id":"c3","name":"read","arguments":{"path":"b"}}"#;
    let failed = |id: &str, text: &str| {
        let content = format!(
            r#""role":"toolResult","toolCallId":"{id}","content":[{{"type":"text","text":"{text}"}}],"isError":true"#
        );
        message(11, 11, &content)
    };
    let session = read(&[
        response(1, 9, calls, "toolUse"),
        failed("c1", "one line\\n\\nCommand aborted"),
        failed("c2", "Operation aborted"),
        failed("c3", "no such file; Operation aborted earlier"),
    ]);
    let statuses: Vec<_> = session.tool_calls.iter().map(|call| call.status).collect();
    assert_eq!(statuses, [CallStatus::Error, CallStatus::Cancelled, CallStatus::Error]);
}

/// A router may choose another level for a response.
#[test]
fn the_effort_is_that_of_the_message() {
    let level = r#"{"type":"thinking_level_change","id":"l","timestamp":"2026-01-02T03:04:00Z","thinkingLevel":"low"}"#;
    let routed = response(3, 4, "", "stop").replace(r#""model":"m""#, r#""model":"m","thinkingLevel":"high""#);
    let session = read(&[level.to_owned(), response(1, 2, "", "stop"), routed]);
    let efforts: Vec<_> = session.turns.iter().map(|turn| turn.effort.as_deref()).collect();
    assert_eq!(efforts, [Some("low"), Some("high")]);
}

/// The cost of a run is that of all its tokens: it is unknown where other logs have a part of them.
#[test]
fn the_output_of_openclaw_has_the_cost_of_its_run() {
    let output = r#"{"payloads":[],"meta":{"agentMeta":{"sessionId":"s1","model":"x/y","usage":{"input":10,"output":5,"cost":{"total":0.25}}}}}"#;
    let tables = tables(&[output]);
    let [row] = tables.turns.as_slice() else { panic!("{:?}", tables.turns) };
    assert_eq!(row.turn.cost.as_deref().map(|cost| cost.total), Some(0.25));
}

/// The command of openclaw did not run, unless a message or another result shows it.
#[test]
fn a_command_without_an_approval_is_denied() {
    let header =
        r#"{"type":"session","version":3,"id":"s1","timestamp":"2026-01-02T03:04:00Z","cwd":"/home/ada/.openclaw/x"}"#;
    let call = r#"{"type":"message","id":"1","timestamp":"2026-01-02T03:04:01Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"exec","arguments":{"command":"rm -r x"}}],"provider":"p","model":"m","usage":{"input":5,"output":9,"cacheRead":0,"cacheWrite":0},"stopReason":"toolUse","timestamp":1767323041000}}"#;
    let message = |rest: &str| {
        format!(
            r#"{{"type":"message","id":"2","timestamp":"2026-01-02T03:04:02Z","message":{{{rest},"timestamp":1767323042000}}}}"#
        )
    };
    let result = |text: &str, details: &str| {
        message(&format!(
            r#""role":"toolResult","toolCallId":"c1","toolName":"exec","isError":false,"content":[{{"type":"text","text":"{text}"}}],"details":{{{details}}}"#
        ))
    };
    let pending = result(
        "Approval required (id a, full a-1).\\nCommand: rm -r x",
        r#""status":"approval-pending","approvalId":"a-1""#,
    );
    let unavailable = result(
        "Exec approval is required, but chat exec approvals are not enabled.",
        r#""status":"approval-unavailable""#,
    );
    let ended = |text: &str| {
        let text = format!("An async command has completed.\\n\\nExact completion details:\\n{text}\\nok");
        message(&format!(r#""role":"user","content":[{{"type":"text","text":"{text}"}}]"#))
    };
    let done = ended("Exec finished (gateway id=a-1, session=calm-reef, code 0)");
    let failed = ended("Exec finished (gateway id=a-1, session=calm-reef, code 3)");
    let denied = ended("Exec denied (gateway id=a-1, approval-timeout): rm -r x");
    let later = result("gone", r#""status":"completed","exitCode":0"#);
    for (rest, status, exit_code) in [
        (vec![&unavailable], CallStatus::Denied, None),
        (vec![&pending], CallStatus::Denied, None),
        (vec![&pending, &denied], CallStatus::Denied, None),
        (vec![&pending, &done], CallStatus::Ok, Some(0)),
        (vec![&pending, &failed], CallStatus::Error, Some(3)),
        (vec![&pending, &later], CallStatus::Ok, Some(0)),
        (vec![&unavailable, &done], CallStatus::Denied, None),
    ] {
        let rest_with_ids =
            rest.iter().enumerate().map(|(number, line)| line.replace(r#""id":"2""#, &format!(r#""id":"a{number}""#)));
        let lines: Vec<String> = [header, call].into_iter().map(str::to_owned).chain(rest_with_ids).collect();
        let tables = tables(&[lines.join("\n")]);
        let call = &tables.tool_calls[0].call;
        assert_eq!((call.status, call.exit_code.get()), (status, exit_code), "{rest:?}");
        let denials = (status == CallStatus::Denied).then_some(1);
        assert_eq!(
            (tables.sessions[0].permission_denials, tables.sessions[0].user_turns),
            (denials, Some(0)),
            "{rest:?}"
        );
    }
    // Details of pi's extensions have other meanings.
    let log = [header, call, &pending].join("\n").replace("/home/ada/.openclaw/x", "/a");
    assert_eq!(tables(&[log]).tool_calls[0].call.status, CallStatus::Ok);
}

/// A message of version 1 may name no model: that of the last change applies, or that of the header.
#[test]
fn the_model_of_a_message_is_that_of_the_conversation() {
    let time = r#""timestamp":"2026-01-02T03:04:00Z""#;
    let header = format!(
        r#"{{"type":"session","id":"s1",{time},"cwd":"/a","provider":"anthropic","modelId":"claude-sonnet-4-5"}}"#
    );
    let change = format!(r#"{{"type":"model_change",{time},"provider":"openai","modelId":"gpt-5"}}"#);
    let joined = format!(r#"{{"type":"model_change",{time},"model":"google/gemini-3","role":"default"}}"#);
    let of_other_role = format!(r#"{{"type":"model_change",{time},"model":"p/small","role":"smol"}}"#);
    let plain = |second| response(second, second, "", "stop").replace(r#""provider":"p","model":"m","#, "");
    let records =
        [header, plain(1), change, plain(2), response(3, 3, "", "stop"), plain(4), joined, of_other_role, plain(5)];
    let session = sessions(&records.join("\n")).swap_remove(0);
    let models: Vec<_> = session
        .turns
        .iter()
        .map(|turn| (turn.provider.as_deref().unwrap_or_default(), turn.model.as_deref().unwrap_or_default()))
        .collect();
    let expected =
        [("anthropic", "claude-sonnet-4-5"), ("openai", "gpt-5"), ("p", "m"), ("p", "m"), ("google", "gemini-3")];
    assert_eq!(models, expected);
}

/// oh-my-pi writes a title before the header, and requests beside the conversation.
#[test]
fn records_of_oh_my_pi_are_known() {
    let time = r#""timestamp":"2026-01-02T03:04:00Z""#;
    let header = format!(r#"{{"type":"session","version":3,"id":"s1",{time},"cwd":"/a"}}"#);
    let usage = format!(
        r#"{{"type":"model_usage","id":"u","parentId":null,{time},"purpose":"title","provider":"p","model":"small","usage":{{"input":5,"output":1,"cacheRead":0,"cacheWrite":0}}}}"#
    );
    let mode = format!(r#"{{"type":"mode_change","id":"m","parentId":null,{time},"mode":"plan"}}"#);
    let title = r#"{"type":"title","v":1,"title":"x","pad":"  "}"#.to_owned();
    let log = [title, header, response(1, 2, "", "stop"), usage, mode].join("\n");
    let parsed = super::parse(log.as_bytes());
    let [session] = parsed.sessions.as_slice() else { panic!("{:?}", parsed.sessions) };
    assert_eq!((session.session_id.as_str(), parsed.health.unknown_records), ("s1", 0));
    let models: Vec<_> = session.turns.iter().map(|turn| turn.model.as_deref()).collect();
    assert_eq!(models, [Some("m"), Some("small")]);
}

/// A router or a fallback answers with another model than the requested one, which remains that of the conversation.
#[test]
fn the_model_that_answered_is_billed() {
    let answered = |second, member: &str| {
        response(second, second, "", "stop").replace(r#""model":"m","#, &format!(r#""model":"m",{member}"#))
    };
    let compaction = r#"{"type":"compaction","id":"k","timestamp":"2026-01-02T03:04:30Z","firstKeptEntryId":"a9","usage":{"input":800,"output":70}}"#;
    let session = read(&[
        answered(1, r#""responseModel":"fallback","#),
        answered(2, r#""upstreamModel":"routed","#),
        response(3, 3, "", "stop"),
        compaction.to_owned(),
    ]);
    let models: Vec<_> = session.turns.iter().filter_map(|turn| turn.model.as_deref()).collect();
    assert_eq!(models, ["fallback", "routed", "m", "m"]);
}

/// oh-my-pi states who wrote a prompt: its agents write those of subagents, and some to continue.
#[test]
fn prompts_of_agents_are_not_typed() {
    let prompt = |second, member: &str| {
        message(second, second, &format!(r#""role":"user",{member}"content":[{{"type":"text","text":"look"}}]"#))
    };
    let session = read(&[
        prompt(1, r#""attribution":"user","#),
        prompt(2, r#""attribution":"agent","#),
        prompt(3, r#""synthetic":true,"#),
        prompt(4, ""),
    ]);
    assert_eq!(session.prompts.len(), 2);
}

/// Since 0.86 the system prompt and the tools are messages, and a later message changes them.
#[test]
fn system_messages_state_instructions_and_tools() {
    let system = |second, rest: &str| message(second, second, &format!(r#""role":"system","content":"Base",{rest}"#));
    let session = read(&[
        system(1, r#""sections":{"preamble":"One","gone":null,"tools":"Two"},"toolsAdded":[{"name":"read"}]"#),
        response(2, 3, "", "stop"),
        system(4, r#""sections":{"preamble":"Other"},"toolsAdded":[{"name":"bash"}],"toolsRemoved":[{"name":"read"}]"#),
    ]);
    let instructions = ["Base", "One", "Two"].iter().fold(Instructions::default(), |all, text| all.then(text));
    assert_eq!(session.offer.instructions, Some(instructions));
    let tools: Vec<_> = session.offer.tools.unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(tools, ["bash", "read"]);
}

/// The provider answers later: the message is neither a response nor an end.
#[test]
fn a_deferred_request_is_no_response() {
    let deferred = |usage: &str| {
        message(
            4,
            5,
            &format!(
                r#""role":"assistant","content":[],"provider":"p","model":"m","usage":{usage},"stopReason":"deferred","deferred":{{"id":"resp_1"}}"#
            ),
        )
    };
    let empty = deferred(r#"{"input":0,"output":0,"cacheRead":0,"cacheWrite":0}"#);
    let session = read(&[response(1, 2, "", "stop"), empty]);
    assert_eq!((session.turns.len(), session.status), (1, Status::Incomplete));
    let billed = deferred(r#"{"input":3,"output":0,"cacheRead":0,"cacheWrite":0}"#);
    assert_eq!(read(&[billed]).turns.len(), 1);
}

/// A summary that is written again is a retry, as a response is.
#[test]
fn retries_of_summaries_are_retries() {
    let log = [
        r#"{"type":"session","version":3,"id":"s1","timestamp":"2026-01-02T03:04:00Z","cwd":"/a"}"#,
        r#"{"type":"agent_start"}"#,
        r#"{"type":"compaction_start","reason":"threshold"}"#,
        r#"{"type":"summarization_retry_scheduled","attempt":1,"maxAttempts":3,"delayMs":2000,"errorMessage":"529 overloaded"}"#,
        r#"{"type":"summarization_retry_attempt_start","source":"compaction","reason":"threshold"}"#,
        r#"{"type":"summarization_retry_finished"}"#,
        r#"{"type":"compaction_end","reason":"threshold","result":{"tokensBefore":9},"aborted":false}"#,
        r#"{"type":"agent_end","messages":[]}"#,
    ]
    .join("\n");
    let parsed = super::parse(log.as_bytes());
    assert_eq!(parsed.health.unknown_records, 0, "{:?}", parsed.health);
    let events: Vec<_> = parsed.sessions[0].events.iter().map(|event| (event.kind, event.code.as_deref())).collect();
    assert_eq!(events, [(EventKind::Compaction, Some("threshold")), (EventKind::Retry, Some("529"))]);
}

/// An edit of the context changes what the model sees, and no count.
#[test]
fn edits_of_the_context_are_known() {
    let edit = r#"{"type":"context_edit","id":"e","parentId":"a","timestamp":"2026-01-02T03:04:20Z","targetId":"a","replacement":null}"#;
    let header = r#"{"type":"session","version":3,"id":"s1","timestamp":"2026-01-02T03:04:00Z","cwd":"/a"}"#;
    let log = [header, &response(1, 2, "", "stop"), edit].join("\n");
    assert_eq!(super::parse(log.as_bytes()).health.unknown_records, 0);
}

/// A message of a role that is not known may be billed: it is named, and so is its kind in documents of messages.
#[test]
fn counts_of_an_unknown_role_are_named() {
    let header = r#"{"type":"session","version":3,"id":"s1","timestamp":"2026-01-02T03:04:00Z","cwd":"/a"}"#;
    let wizard = response(1, 2, "", "stop").replace(r#""role":"assistant""#, r#""role":"wizard""#);
    let note = message(1, 3, r#""role":"note","content":[]"#);
    let gemini = r#"{"sessionId":"s","projectHash":"h","startTime":"2026-01-02T03:04:00Z","messages":[{"id":"a","type":"oracle","tokens":{"input":900,"output":90,"total":990}},{"id":"b","type":"note"}]}"#;
    let tokens = r#"{"input":900,"output":90,"reasoning":0,"cache":{"read":0,"write":0}}"#;
    let opencode = format!(
        r#"{{"info":{{"id":"ses_1","version":"1.3.7","directory":"/w","time":{{"created":1767036059000}}}},"messages":[{{"info":{{"id":"m","sessionID":"ses_1","role":"wizard","time":{{"created":1767036059000}},"tokens":{tokens}}},"parts":[]}}]}}"#
    );
    for (log, name) in [
        (format!("{header}\n{wizard}\n{note}"), "message/wizard"),
        (gemini.to_owned(), "message/oracle"),
        (opencode, "message/wizard"),
    ] {
        let parsed = super::parse(log.as_bytes());
        let unknown: Vec<_> = parsed
            .health
            .unknown_types
            .iter()
            .map(|it| (it.name.as_str(), it.records, it.contents.has_counts))
            .collect();
        assert_eq!(unknown, [(name, 1, true)], "{log}");
    }
}
