//! Claude Code's transcripts and recorded stdout.

use agentlogs::adapters::{self, Hints};
use agentlogs::model::errors::ErrorKind;
use agentlogs::model::retention::Retention;
use agentlogs::model::session::{EventKind, Status};
use agentlogs::model::source::{Source, SourceStatus};
use agentlogs::model::tables::{Tables, TurnRow, Usage};

use super::{reconciled, tables};

/// `usage` is the main agent's; `modelUsage` contains that of subagents as well.
#[test]
fn a_result_without_models_states_nothing_about_subagents() {
    let line = |id: &str, parent: &str| {
        let message =
            format!(r#"{{"id":"{id}","model":"m","content":[],"usage":{{"input_tokens":3,"output_tokens":1}}}}"#);
        format!(
            r#"{{"type":"assistant","session_id":"s","uuid":"{id}","parent_tool_use_id":{parent},"message":{message}}}"#
        )
    };
    let result = |models: &str| {
        let usage = r#""usage":{"input_tokens":3,"output_tokens":50}"#;
        format!(
            r#"{{"type":"result","subtype":"success","is_error":false,"session_id":"s","uuid":"r","num_turns":1,{usage}{models}}}"#
        )
    };
    let models = r#","modelUsage":{"m":{"inputTokens":6,"outputTokens":90}}"#;
    for (lines, usage, output) in [
        (vec![line("msg_1", "null"), line("msg_2", r#""toolu_1""#), result("")], Usage::LowerBound, 51),
        (vec![line("msg_1", "null"), line("msg_2", r#""toolu_1""#), result(models)], Usage::Exact, 90),
        (vec![line("msg_1", "null"), result("")], Usage::Exact, 50),
    ] {
        let tables = tables(&[lines.join("\n")]);
        assert_eq!((tables.sessions[0].usage, tables.sessions[0].tokens.output), (usage, Some(output)));
    }
}

/// A copy of a whole log under another id has no row of its own.
#[test]
fn labels_of_a_copy_are_those_of_its_owner() {
    let source = |path: &str, id: &str, label: &str| {
        let log = [line("user", 0, r#""message":{"role":"user","content":"Go."}"#), response(1, "msg_1", "", "")];
        let log = log.join("\n").replace(r#""sessionId":"s""#, &format!(r#""sessionId":"{id}""#));
        let mut sessions = adapters::parse(log.as_bytes(), Hints::default(), Retention::Text).sessions;
        sessions[0].labels.insert(label.to_owned());
        Source { path: path.to_owned(), sessions, status: SourceStatus::Parsed, ..Source::default() }
    };
    let tables = reconciled(vec![source("a", "s", "team=shop"), source("b", "t", "team=search")]);
    let labels: Vec<_> = tables.sessions.iter().flat_map(|row| &row.session.labels).map(String::as_str).collect();
    assert_eq!((tables.sessions.len(), labels), (1, vec!["team=search", "team=shop"]));
    let duplicates: Vec<_> = tables.sources.iter().map(|source| source.duplicate_of.as_deref()).collect();
    assert_eq!(duplicates, [None, Some("a")]);
}

/// Calls that Claude Code cancelled, because a parallel one failed or the user interrupted the response, never ran.
#[test]
fn cancelled_calls_are_no_errors() {
    let results = [
        ("Bash", "Exit code 1", "error"),
        ("Read", "<tool_use_error>Sibling tool call errored</tool_use_error>", "cancelled"),
        ("Read", "<tool_use_error>Cancelled: parallel tool call Bash(x) errored</tool_use_error>", "cancelled"),
        ("Write", "[Request interrupted by user for tool use]", "cancelled"),
        ("Glob", "Interrupted by user", "cancelled"),
        ("Agent", "[Request interrupted by user for tool use]", "incomplete"),
        ("Edit", "The user doesn't want to take this action right now. STOP", "denied"),
    ];
    let calls: Vec<String> = (results.iter().enumerate())
        .map(|(index, (tool, ..))| format!(r#"{{"type":"tool_use","id":"t{index}","name":"{tool}","input":{{}}}}"#))
        .collect();
    let results_as_logged = results.iter().enumerate().map(|(index, (_, text, _))| {
        let result = format!(r#"{{"type":"tool_result","tool_use_id":"t{index}","is_error":true,"content":"{text}"}}"#);
        user(u32::try_from(index).unwrap() + 2, &format!("[{result}]"), "")
    });
    let lines: Vec<String> =
        std::iter::once(response(1, "m1", &calls.join(","), "")).chain(results_as_logged).collect();
    let tables = tables_of(&[&lines]);
    let statuses: Vec<&str> = tables.tool_calls.iter().map(|row| row.call.status.as_str()).collect();
    assert_eq!(statuses, results.map(|(.., status)| status));
    assert_eq!(tables.sessions[0].tool_errors, Some(1));
}

/// The tables of logs, each given by its lines.
fn tables_of(logs: &[&[String]]) -> Tables {
    let logs: Vec<String> = logs.iter().map(|lines| lines.join("\n")).collect();
    tables(&logs)
}

fn line(kind: &str, second: u32, more: &str) -> String {
    let time = format!("2026-10-05T10:00:{second:02}Z");
    format!(r#"{{"type":"{kind}","sessionId":"s","uuid":"u{second}","timestamp":"{time}",{more}}}"#)
}

fn response(second: u32, id: &str, content: &str, more: &str) -> String {
    let usage = r#"{"input_tokens":1,"output_tokens":5,"cache_read_input_tokens":40,"cache_creation_input_tokens":2}"#;
    let message =
        format!(r#"{{"id":"{id}","model":"m","content":[{content}],"stop_reason":"end_turn","usage":{usage}}}"#);
    line("assistant", second, &format!(r#""message":{message}{more}"#))
}

fn user(second: u32, content: &str, more: &str) -> String {
    line("user", second, &format!(r#""message":{{"role":"user","content":{content}}}{more}"#))
}

const CALL: &str = r#"{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"ls"}}"#;

/// Only the last response of the agent is known: it made calls in others, which no log contains.
#[test]
fn lost_responses_of_a_subagent_are_a_lower_bound() {
    let call = r#"{"type":"tool_use","id":"toolu_1","name":"Task","input":{"subagent_type":"Explore"}}"#;
    let result = |calls: u32| {
        let usage =
            r#"{"input_tokens":1,"output_tokens":9,"cache_read_input_tokens":80,"cache_creation_input_tokens":3}"#;
        let rich = format!(r#"{{"status":"completed","agentId":"a1","totalToolUseCount":{calls},"usage":{usage}}}"#);
        let message =
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"Found."}]}"#;
        line("user", 8, &format!(r#""message":{message},"toolUseResult":{rich}"#))
    };
    let main = |calls| [response(1, "msg_1", call, ""), result(calls), response(9, "msg_2", "", "")];
    let agent = [response(5, "msg_a", "", r#","isSidechain":true,"agentId":"a1""#)];
    for (logs, turns, usage) in [
        (&[&main(4)[..]][..], 3, Usage::LowerBound),
        (&[&main(0)[..]][..], 3, Usage::Exact),
        (&[&main(4)[..], &agent[..]][..], 4, Usage::Exact),
    ] {
        let tables = tables_of(logs);
        assert_eq!((tables.sessions[0].usage, tables.turns.len()), (usage, turns));
    }
}

#[test]
fn a_cost_belongs_to_the_response_of_its_line() {
    let cost = r#","costUSD":0.25"#;
    let lines = [response(1, "msg_1", "", ""), response(2, "msg_2", "", ""), response(1, "msg_1", "", cost)];
    let costs: Vec<_> = tables_of(&[&lines]).turns.iter().map(|it| it.money.reported).collect();
    assert_eq!(costs, [Some(0.25), None]);
}

#[test]
fn an_interruption_by_the_user_is_an_abort() {
    let rejection = user(
        2,
        r#"[{"type":"tool_result","tool_use_id":"toolu_1","content":"The user doesn't want to proceed with this tool use.","is_error":true}]"#,
        "",
    );
    let interruption = user(3, r#"[{"type":"text","text":"[Request interrupted by user for tool use]"}]"#, "");
    let prompt = user(4, r#""go on""#, "");
    let asked = response(1, "msg_1", CALL, "").replace(r#""end_turn""#, "null");
    let status = |lines: &[&String]| {
        let lines: Vec<_> = [&asked].into_iter().chain(lines.iter().copied()).cloned().collect();
        let session = tables_of(&[&lines]).sessions.swap_remove(0).session;
        (session.status, session.error_kind)
    };
    assert_eq!(status(&[&rejection, &interruption]), (Status::Aborted, Some(ErrorKind::Cancelled)));
    assert_eq!(status(&[&rejection, &interruption, &prompt]), (Status::Incomplete, None));
    assert_eq!(status(&[&rejection]), (Status::Incomplete, None));
    let answer = response(5, "msg_2", "", "");
    assert_eq!(status(&[&rejection, &interruption, &prompt, &answer]), (Status::Success, None));
    // The call of an earlier response never got a result: the agent went on without it.
    assert_eq!(status(&[&answer]), (Status::Success, None));
}

/// The copy with the later last record has the status, in whatever order they are read.
#[test]
fn the_longer_copy_of_a_session_decides_its_status() {
    let old = [response(1, "msg_1", "", "")];
    let new = [old[0].clone(), response(5, "msg_2", CALL, "")];
    for logs in [[&old[..], &new[..]], [&new[..], &old[..]]] {
        assert_eq!(tables_of(&logs).sessions[0].session.status, Status::Incomplete);
    }
    let done = [new[0].clone(), new[1].clone(), response(9, "msg_3", "", "")];
    for logs in [[&done[..], &new[..]], [&new[..], &done[..]]] {
        assert_eq!(tables_of(&logs).sessions[0].session.status, Status::Success);
    }
}

#[test]
fn lines_of_edits_in_progress_records_are_those_of_their_arguments() {
    let progress = |message: &str, second: u32| {
        line(
            "progress",
            second,
            &format!(
                r#""parentToolUseID":"toolu_0","data":{{"type":"agent_progress","agentId":"a1","message":{message}}}"#
            ),
        )
    };
    let edit = r#"{"type":"tool_use","id":"toolu_2","name":"Edit","input":{"file_path":"/a","old_string":"x\ny\nz","new_string":"x\nb\nc\nz"}}"#;
    let call = progress(
        &format!(
            r#"{{"type":"assistant","message":{{"model":"m","id":"msg_a","role":"assistant","content":[{edit}],"usage":{{"input_tokens":3,"output_tokens":4}}}}}}"#
        ),
        2,
    );
    let result = progress(
        r#"{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_2","content":"The file /a has been updated."}]}}"#,
        3,
    );
    let tables = tables_of(&[&[call, result]]);
    let change = &tables.file_changes[0].change;
    assert_eq!((change.lines_added, change.lines_removed), (Some(2), Some(1)));
}

#[test]
fn a_search_of_the_web_takes_as_long_as_is_logged() {
    let call =
        response(1, "msg_1", r#"{"type":"tool_use","id":"toolu_1","name":"WebSearch","input":{"query":"x"}}"#, "");
    let result = user(
        9,
        r#"[{"type":"tool_result","tool_use_id":"toolu_1","content":"x"}]"#,
        r#","toolUseResult":{"query":"x","results":[],"durationSeconds":2.5004}"#,
    );
    assert_eq!(tables_of(&[&[call, result]]).tool_calls[0].duration_ms(), Some(2500));
}

/// Newer versions state why a call was not executed; texts decide where they do not.
#[test]
fn stated_kinds_decide_which_calls_were_refused() {
    let result = |second: u32, text: &str, is_error: bool, kind: &str| {
        let block =
            format!(r#"[{{"type":"tool_result","tool_use_id":"toolu_1","content":"{text}","is_error":{is_error}}}]"#);
        user(second, &block, kind)
    };
    let kind = |kind: &str| format!(r#","toolDenialKind":"{kind}""#);
    let refusal = "Permission to use Bash has been denied.";
    for (text, is_error, kind, status, denials) in [
        ("A hook says no.", true, kind("permission-rule"), "denied", 1),
        ("No.", true, kind("user-rejected"), "denied", 1),
        ("Blocked.", true, kind("automode-blocked"), "denied", 1),
        ("Not available.", true, kind("automode-unavailable"), "denied", 1),
        (refusal, true, kind("interrupted"), "cancelled", 0),
        (refusal, true, String::new(), "denied", 1),
        // The output of a call that ran.
        (refusal, false, String::new(), "ok", 0),
        ("Exit code 1", true, String::new(), "error", 0),
    ] {
        let tables = tables_of(&[&[response(1, "msg_1", CALL, ""), result(2, text, is_error, &kind)]]);
        let session = &tables.sessions[0];
        assert_eq!(tables.tool_calls[0].call.status.as_str(), status, "{text} {kind}");
        assert_eq!(session.permission_denials, Some(denials), "{text} {kind}");
    }
}

#[test]
fn prompts_in_the_queue_are_typed() {
    const PROMPT: &str = "And the logs?";
    const REMINDER: &str = "<system-reminder>x</system-reminder>";
    let queued = |second: u32, mode: &str, more: &str| {
        line(
            "attachment",
            second,
            &format!(r#""attachment":{{"type":"queued_command","prompt":"{PROMPT}","commandMode":"{mode}"{more}}}"#),
        )
    };
    let with_text = |text: &str| queued(2, "prompt", "").replace(PROMPT, text);
    let prompts = |lines: &[String]| tables_of(&[lines]).sessions[0].user_turns;
    let first = user(1, r#""Run it.""#, "");
    assert_eq!(prompts(&[first.clone(), queued(2, "prompt", "")]), Some(2));
    assert_eq!(prompts(&[first.clone(), queued(2, "prompt", r#","origin":{"kind":"human"}"#)]), Some(2));
    assert_eq!(prompts(&[first.clone(), queued(2, "prompt", r#","origin":{"kind":"peer"}"#)]), Some(1));
    assert_eq!(prompts(&[first.clone(), queued(2, "task-notification", "")]), Some(1));
    // What an editor or a hook adds before it is not a prompt.
    assert_eq!(prompts(&[first.clone(), with_text(&format!("{REMINDER}Fix it."))]), Some(2));
    assert_eq!(prompts(&[first.clone(), with_text(REMINDER)]), Some(1));
    // The same prompt as a message of its own.
    assert_eq!(prompts(&[first, queued(2, "prompt", r#","source_uuid":"u1""#)]), Some(1));
}

#[test]
fn a_result_may_precede_its_call() {
    let result =
        user(1, r#"[{"type":"tool_result","tool_use_id":"toolu_1","content":"Exit code 2","is_error":true}]"#, "");
    let tables = tables_of(&[&[result, response(2, "msg_1", CALL, "")]]);
    let call = &tables.tool_calls[0].call;
    assert_eq!((call.status.as_str(), call.exit_code.get()), ("error", Some(2)));
}

#[test]
fn lines_of_a_subagent_s_edits_are_those_of_their_arguments() {
    const AGENT: &str = r#","isSidechain":true,"agentId":"a1""#;
    let call = |name: &str, input: &str| {
        response(1, "msg_1", &format!(r#"{{"type":"tool_use","id":"toolu_1","name":"{name}","input":{input}}}"#), AGENT)
    };
    let edit = r#"{"file_path":"/a","old_string":"x\ny","new_string":"x\nz\nw"}"#;
    let write = r#"{"file_path":"/a","content":"1\n2\n3\n"}"#;
    for (name, input, text, lines) in [
        ("Edit", edit, "The file /a has been updated.", (Some(2), Some(1))),
        ("Write", write, "File created successfully at: /a", (Some(3), Some(0))),
        // The old content is not known.
        ("Write", write, "The file /a has been updated.", (Some(3), None)),
    ] {
        let block = format!(r#"[{{"type":"tool_result","tool_use_id":"toolu_1","content":"{text}"}}]"#);
        let tables = tables_of(&[&[call(name, input), user(2, &block, AGENT)]]);
        let change = &tables.file_changes[0].change;
        assert_eq!((change.lines_added, change.lines_removed), lines, "{name} {text}");
    }
}

/// One response of a subagent that was never finished makes the whole session a lower bound, from a file of its own too.
#[test]
fn a_stub_of_a_subagent_is_a_lower_bound() {
    const AGENT: &str = r#","isSidechain":true,"agentId":"a1""#;
    let main = [response(1, "msg_1", "", ""), response(9, "msg_2", "", "")];
    let done = [response(5, "msg_a", "", AGENT), response(6, "msg_b", "", AGENT), response(7, "msg_c", "", AGENT)];
    let stub = [done[0].clone(), done[1].clone(), done[2].replace(r#""end_turn""#, "null")];
    for (logs, usage) in [
        ([&main[..], &done[..]], Usage::Exact),
        ([&main[..], &stub[..]], Usage::LowerBound),
        ([&stub[..], &main[..]], Usage::LowerBound),
    ] {
        assert_eq!(tables_of(&logs).sessions[0].usage, usage);
    }
}

/// Agents for compactions and side questions are not started by anybody.
#[test]
fn agents_that_the_program_runs_for_itself_are_no_subagents() {
    for (agent, subagents) in [("a1f2", 1), ("acompact-1f2", 0), ("aside_question-1f2", 0)] {
        let more = format!(r#","isSidechain":true,"agentId":"{agent}""#);
        let tables = tables_of(&[&[response(1, "msg_1", "", ""), response(2, "msg_2", "", &more)]]);
        let session = &tables.sessions[0];
        assert_eq!((session.subagents, session.turns), (Some(subagents), Some(2)), "{agent}");
    }
}

#[test]
fn jobs_and_forks_have_parents() {
    let parent_of = |lines: &[String]| tables_of(&[lines]).sessions[0].session.parent_session_id.clone();
    let own = response(1, "msg_1", "", "");
    assert_eq!(parent_of(std::slice::from_ref(&own)), None);
    let job = |origin: &str| response(1, "msg_1", "", &format!(r#","session_id":"{origin}","sessionKind":"bg""#));
    assert_eq!(parent_of(&[job("p")]).as_deref(), Some("p"));
    assert_eq!(parent_of(&[job("s")]), None);
    let fork = response(1, "msg_1", "", r#","forkedFrom":{"sessionId":"p","messageUuid":"u"}"#);
    assert_eq!(parent_of(&[fork]).as_deref(), Some("p"));
    let reference = r#"{"type":"fork-context-ref","agentId":"a","parentSessionId":"p"}"#.to_owned();
    assert_eq!(parent_of(&[reference.clone(), own.clone()]).as_deref(), Some("p"));
    assert_eq!(parent_of(&[own, reference]).as_deref(), Some("p"));
}

/// A program may give new ids to the records that it copies, and state the original ones.
#[test]
fn prompts_that_a_fork_copies_under_new_ids_count_once() {
    let first = [user(1, r#""Run it.""#, ""), response(2, "msg_1", "", "")];
    let copied = |line: &str, number: u32| {
        let fork = format!(r#","forkedFrom":{{"sessionId":"s","messageUuid":"u{number}"}}}}"#);
        let line = line.replace(r#""sessionId":"s""#, r#""sessionId":"f""#);
        line.replace(&format!(r#""uuid":"u{number}""#), &format!(r#""uuid":"x{number}""#))
            .strip_suffix('}')
            .unwrap()
            .to_owned()
            + &fork
    };
    let own = user(5, r#""And the logs.""#, "").replace(r#""sessionId":"s""#, r#""sessionId":"f""#);
    let fork = [copied(&first[0], 1), copied(&first[1], 2), own];
    let tables = tables_of(&[&first, &fork]);
    let prompts: Vec<_> = tables.sessions.iter().map(|row| row.user_turns).collect();
    assert_eq!(prompts, [Some(1), Some(1)]);
}

/// A job that only copies the history of another session names no parent: the owner of the copied responses is the parent.
#[test]
fn a_fork_without_a_reference_has_the_owner_of_its_history_as_parent() {
    let parent = [response(1, "msg_1", "", ""), response(2, "msg_2", "", "")];
    let fork: Vec<String> = (parent.iter().chain([&response(9, "msg_3", "", "")]))
        .map(|line| line.replace(r#""sessionId":"s""#, r#""sessionId":"f""#))
        .collect();
    let tables = tables_of(&[&fork[..], &parent[..]]);
    let found: Vec<_> = tables
        .sessions
        .iter()
        .map(|row| (row.session.session_id.as_str(), row.session.parent_session_id.as_deref(), row.turns))
        .collect();
    assert_eq!(found, [("f", Some("s"), Some(1)), ("s", None, Some(2))]);
}

/// The class that Claude Code states decides the kind of an error whose words do not.
#[test]
fn the_stated_class_of_an_error_decides_its_kind() {
    let failure = |class: &str, text: &str| {
        let message = format!(r#"{{"id":"e","model":"<synthetic>","content":[{{"type":"text","text":"{text}"}}]}}"#);
        line("assistant", 2, &format!(r#""message":{message},"error":{class},"isApiErrorMessage":true"#))
    };
    let out = "You're out of extra usage · resets 3pm (UTC)";
    for (class, text, kind, code) in [
        (r#""rate_limit""#, out, ErrorKind::RateLimit, Some("rate_limit")),
        (r#""rate_limit""#, "You're now using extra usage", ErrorKind::RateLimit, Some("rate_limit")),
        (r#""authentication_failed""#, "No access", ErrorKind::Auth, Some("authentication_failed")),
        (r#""billing_error""#, "Add funds to continue", ErrorKind::Billing, Some("billing_error")),
        (r#""unknown""#, "API Error: 529 overloaded", ErrorKind::Overloaded, Some("unknown")),
        (r#""server_error""#, "Repeated trouble", ErrorKind::Other, Some("server_error")),
        ("null", out, ErrorKind::RateLimit, None),
    ] {
        let tables = tables_of(&[&[response(1, "msg_1", "", ""), failure(class, text)]]);
        assert_eq!(tables.sessions[0].session.error_kind, Some(kind), "{class} {text}");
        assert_eq!(tables.events[0].event.code.as_deref(), code, "{class} {text}");
        assert_eq!(tables.limits.len(), usize::from(text == out), "{text}");
    }
}

/// A result repeats the error of the line before it.
#[test]
fn an_error_of_a_stream_is_one_event() {
    let failure = |class: &str, text: &str| {
        let message =
            format!(r#"{{"id":"e","model":"<synthetic>","content":[{{"type":"text","text":"{text}"}}],"usage":{{}}}}"#);
        let own = r#""session_id":"s","parent_tool_use_id":null"#;
        let line = format!(r#"{{"type":"assistant","uuid":"u1",{own},"error":"{class}","message":{message}}}"#);
        let result = format!(
            r#"{{"type":"result","subtype":"success","is_error":true,"result":"{text}","num_turns":1,"uuid":"u2",{own}}}"#
        );
        [line, result]
    };
    for (class, text, kind) in [
        ("rate_limit", "You're out of extra usage · resets 3pm (UTC)", ErrorKind::RateLimit),
        ("billing_error", "Add funds to continue", ErrorKind::Billing),
        ("server_error", "Something", ErrorKind::Other),
    ] {
        let lines = failure(class, text);
        let tables = tables_of(&[&lines]);
        assert_eq!(tables.sessions[0].session.error_kind, Some(kind), "{class}");
        let codes: Vec<_> = tables.events.iter().map(|row| row.event.code.as_deref()).collect();
        assert_eq!(codes, [Some(class)]);
        // Without the line, the result is the event. That it calls itself a success is not a code.
        let tables = tables_of(&[&lines[1..]]);
        let codes: Vec<_> = tables.events.iter().map(|row| row.event.code.as_deref()).collect();
        assert_eq!(codes, [None]);
    }
}

/// Servers of other providers run tools and write their results into the response, without the name of a tool.
#[test]
fn results_in_a_response_are_those_of_its_calls() {
    let call = r#"{"type":"server_tool_use","id":"call_7","name":"webReader","input":"{}"}"#;
    let result = r#"{"type":"tool_result","tool_use_id":"call_7","content":"page"}"#;
    let text = r#"{"type":"text","text":"Done"}"#;
    let lines = [call, result, text].map(|block| response(1, "msg_1", block, ""));
    let tables = tables_of(&[&lines]);
    assert_eq!(tables.tool_calls[0].call.status.as_str(), "ok");
    assert_eq!(tables.sessions[0].session.status, Status::Success);
}

/// The call that started an agent states its type, also if its result is not there yet or was interrupted.
#[test]
fn an_agent_has_the_type_in_its_call() {
    let task = r#"{"type":"tool_use","id":"toolu_0","name":"Task","input":{"subagent_type":"Explore","prompt":"x"}}"#;
    let message = r#"{"type":"assistant","message":{"model":"m","id":"msg_a","role":"assistant","content":[],"usage":{"input_tokens":3,"output_tokens":4}}}"#;
    let progress =
        format!(r#""parentToolUseID":"toolu_0","data":{{"type":"agent_progress","agentId":"a1","message":{message}}}"#);
    let lines = [response(1, "msg_1", task, ""), line("progress", 2, &progress)];
    let interrupted = r#"[{"type":"tool_result","tool_use_id":"toolu_0","is_error":true,"content":"[Request interrupted by user for tool use]"}]"#;
    let interrupted = [lines[0].clone(), lines[1].clone(), user(3, interrupted, "")];
    for lines in [&lines[..], &interrupted[..]] {
        let tables = tables_of(&[lines]);
        let turn = tables.turns.iter().find(|row| row.turn.is_subagent).unwrap();
        let agent_type = turn.turn.details.as_ref().and_then(|it| it.agent_type.as_deref());
        assert_eq!((turn.turn.agent.as_deref(), agent_type), (Some("Explore"), Some("Explore")));
    }
}

/// "Implement the plan" begins another session, whose copy of the history alone has the answer to the plan.
#[test]
fn an_answer_in_a_copied_history_belongs_to_the_session_of_the_call() {
    let plan = r#"{"type":"tool_use","id":"toolu_0","name":"ExitPlanMode","input":{"plan":"x"}}"#;
    let rejection = r#"[{"type":"tool_result","tool_use_id":"toolu_0","is_error":true,"content":"The user doesn't want to proceed with this tool use."}]"#;
    let old = [user(1, r#""plan it""#, ""), response(2, "msg_1", plan, "")];
    let new = [
        old[0].clone(),
        old[1].clone(),
        user(3, rejection, ""),
        user(4, r#""Implement the following plan""#, ""),
        response(5, "msg_2", "", ""),
    ];
    let new = new.map(|line| line.replace(r#""sessionId":"s""#, r#""sessionId":"t""#));
    for logs in [[&old[..], &new[..]], [&new[..], &old[..]]] {
        let tables = tables_of(&logs);
        let rows: Vec<_> = tables
            .sessions
            .iter()
            .map(|row| (row.session.session_id.as_str(), row.tool_calls, row.permission_denials))
            .collect();
        assert_eq!(rows, [("s", Some(1), Some(1)), ("t", Some(0), Some(0))]);
        assert_eq!(tables.tool_calls[0].call.status.as_str(), "denied");
    }
}

/// Other programs copy sessions with new ids of records, which they write in the place of the ids of responses, too.
#[test]
fn copies_with_rewritten_ids_count_once_by_their_requests() {
    let copy = |session: &str| {
        let record = |second: u32, request: u32| {
            let uuid = format!("{session}{second}");
            let response = response(second, &uuid, "", &format!(r#","requestId":"req_{request}""#));
            response
                .replace(r#""sessionId":"s""#, &format!(r#""sessionId":"{session}""#))
                .replace(&format!(r#""uuid":"u{second}""#), &format!(r#""uuid":"{uuid}""#))
        };
        // Two content blocks of the first response.
        [record(2, 1), record(3, 1), record(4, 2)]
    };
    let logs = ["a", "b", "c"].map(copy);
    let original = logs[0].clone().map(|line| {
        let line = line.replace(r#""id":"a4""#, r#""id":"msg_2""#);
        line.replace(r#""id":"a2""#, r#""id":"msg_1""#).replace(r#""id":"a3""#, r#""id":"msg_1""#)
    });
    let [a, b, c] = &logs;
    assert_eq!(tables_of(&[a, b, c]).turns.len(), 2);
    assert_eq!(tables_of(&[&original, b, c]).turns.len(), 2);
    assert_eq!(tables_of(&[c, b, &original]).turns.len(), 2);
}

/// Older versions copy the history of a session under a new session id. Ids of records stay, also where those of responses are a
/// gateway's, or missing.
#[test]
fn a_copied_history_without_ids_of_the_provider_counts_once() {
    let ids = [["chatcmpl-1", "chatcmpl-2", "chatcmpl-3"], ["msg_1", "chatcmpl-1", "chatcmpl-2"], ["", "", ""]];
    for [one, two, three] in ids {
        let first = [user(1, r#""Go.""#, ""), response(2, one, "", ""), response(3, two, "", "")];
        let own = [user(8, r#""More.""#, ""), response(9, three, "", "")];
        let resumed: Vec<String> =
            (first.iter().chain(&own)).map(|line| line.replace(r#""sessionId":"s""#, r#""sessionId":"r""#)).collect();
        // The recording of a session has other ids of records than its transcript.
        let recording: Vec<String> = (own.iter())
            .map(|line| {
                line.replace(r#""sessionId":"s""#, r#""session_id":"r""#).replace(r#""uuid":"u"#, r#""uuid":"v"#)
            })
            .collect();
        let logs = [&first[..], &resumed, &recording];
        for logs in [vec![logs[0], logs[1]], vec![logs[1], logs[0]], logs.to_vec()] {
            let tables = tables_of(&logs);
            let found: Vec<_> = tables
                .sessions
                .iter()
                .map(|row| (row.session.session_id.as_str(), row.turns, row.user_turns, row.tokens.output))
                .collect();
            let expected = [("r", Some(1), Some(1), Some(5)), ("s", Some(2), Some(1), Some(10))];
            assert_eq!(found, expected, "{one} in {} logs", logs.len());
        }
    }
}

/// A response with parts, each a type, a model, and its counts: input, output, read from the cache and written to it.
fn response_of(second: u32, id: &str, parts: &[(&str, &str, [u32; 4])]) -> String {
    let part = |(kind, model, [input, output, read, written]): &(&str, &str, [u32; 4])| {
        format!(
            r#"{{"type":"{kind}","model":"{model}","input_tokens":{input},"output_tokens":{output},"cache_read_input_tokens":{read},"cache_creation_input_tokens":{written}}}"#
        )
    };
    let parts = parts.iter().map(part).collect::<Vec<_>>().join(",");
    let last = r#""cache_creation_input_tokens":2"#;
    response(second, id, "", "").replace(last, &format!(r#"{last},"iterations":[{parts}]"#))
}

/// The counts of [`response`].
const WHOLE: [u32; 4] = [1, 5, 40, 2];

#[test]
fn the_model_of_a_part_is_not_that_of_the_session() {
    let advised = [("message", "m", WHOLE), ("advisor_message", "other", [9, 9, 0, 0])];
    let more = [advised[0], advised[1], advised[1]];
    let tables = tables_of(&[&[response_of(1, "msg_1", &advised), response_of(2, "msg_2", &more)]]);
    assert_eq!((tables.sessions[0].model.as_deref(), tables.turns.len()), (Some("m"), 5));
}

/// The counts of a response may contain those of a compaction.
#[test]
fn a_compaction_counts_once() {
    let outputs = |parts: &[(&str, &str, [u32; 4])]| -> Vec<Option<i64>> {
        let tables = tables_of(&[&[response_of(1, "msg_1", parts)]]);
        tables.turns.iter().map(|row| row.turn.tokens.get().output).collect()
    };
    let (compaction, advice) = (("compaction", "m", [1, 3, 30, 0]), ("advisor_message", "other", [7, 9, 0, 0]));
    assert_eq!(outputs(&[compaction, ("message", "m", WHOLE)]), [Some(5), Some(3)], "beside the counts");
    assert_eq!(outputs(&[compaction, ("message", "m", [0, 2, 10, 2])]), [Some(5)], "in the counts");
    assert_eq!(outputs(&[compaction, ("message", "m", [0, 2, 10, 2]), advice]), [Some(5), Some(9)], "and advice");
}

/// A response in a stream, and a `result` after it.
fn streamed(session: &str, model: &str, more: &str) -> String {
    let usage = r#""usage":{"input_tokens":10,"output_tokens":20}"#;
    let message = format!(r#"{{"id":"msg_{session}","model":"{model}","content":[],{usage}}}"#);
    format!(
        r#"{{"type":"assistant","session_id":"{session}","uuid":"a","parent_tool_use_id":null,"message":{message}}}
{{"type":"result","session_id":"{session}","uuid":"r","num_turns":1,{usage},"total_cost_usd":0.5,{more}}}"#
    )
}

/// A turn that the user interrupts ends with an error of execution, and a reason.
#[test]
fn an_interruption_is_no_error() {
    let result = |errors: &str, reason: &str| {
        let end = format!(r#""subtype":"error_during_execution","is_error":true,"errors":["{errors}"]{reason}"#);
        tables(&[streamed("s", "m", &end)])
    };
    for (errors, reason) in
        [("Request was aborted.", "aborted_streaming"), ("[ede_diagnostic] result_type=user", "aborted_tools")]
    {
        let tables = result(errors, &format!(r#","terminal_reason":"{reason}""#));
        let session = &tables.sessions[0].session;
        assert_eq!((session.status, session.error_kind), (Status::Aborted, Some(ErrorKind::Cancelled)));
        let [event] = tables.events.as_slice() else { panic!("{} events", tables.events.len()) };
        assert_eq!((event.event.kind, event.event.message.as_deref()), (EventKind::Abort, Some(reason)));
    }
    let tables = result("It failed.", r#","terminal_reason":"completed""#);
    assert_eq!((tables.sessions[0].session.status, tables.events[0].event.kind), (Status::Error, EventKind::Error));
}

/// An inference profile is not a name of a model: the result states the model, and who served it.
#[test]
fn a_result_names_the_model_of_an_inference_profile() {
    const PROFILE: &str = "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc123";
    let names = r#""canonicalModel":"claude-opus-4-8","provider":"bedrock""#;
    let models = format!(r#"{{"{PROFILE}":{{"inputTokens":10,"outputTokens":30,"costUSD":0.5,{names}}}}}"#);
    for model in [PROFILE, "claude-opus-4-8"] {
        let end = format!(r#""subtype":"success","is_error":false,"modelUsage":{models}"#);
        let tables = tables(&[streamed("s", model, &end)]);
        assert_eq!(tables.sessions[0].model.as_deref(), Some("claude-opus-4-8"));
        let facts = |row: &TurnRow| {
            (row.turn.model.as_deref() == Some("claude-opus-4-8"), row.turn.provider.as_deref() == Some("bedrock"))
        };
        assert_eq!(tables.turns.iter().map(facts).collect::<Vec<_>>(), [(true, true); 2], "{model}");
        assert!(tables.sessions[0].money.computed.is_some(), "{model}");
        assert_eq!((tables.sessions[0].tokens.output, tables.sessions[0].money.cost), (Some(30), Some(0.5)));
    }
}

/// After `/clear` a process goes on in another session.
#[test]
fn a_reset_of_the_conversation_is_known() {
    let end = r#""subtype":"success","is_error":false"#;
    let reset = r#"{"type":"conversation_reset","session_id":"s","uuid":"c","new_conversation_id":"n"}"#;
    let log = [&streamed("s", "m", end), reset, &streamed("t", "m", end)].join("\n");
    let parsed = adapters::parse(log.as_bytes(), Hints::default(), Retention::None);
    assert_eq!((parsed.health.unknown_records, parsed.sessions.len()), (0, 2));
    let tables = tables(&[log]);
    assert_eq!(tables.sessions.iter().map(|row| row.tokens.output).collect::<Vec<_>>(), [Some(20), Some(20)]);
}

/// Events of a subagent's records are the subagent's, in its own file and among the records of its parent.
#[test]
fn events_of_subagents_are_theirs() {
    const AGENT: &str = r#","isSidechain":true,"agentId":"a1""#;
    let call = r#"{"type":"tool_use","id":"toolu_1","name":"Task","input":{"subagent_type":"Explore"}}"#;
    let system = |second: u32, subtype: &str, more: &str| {
        line("system", second, &format!(r#""subtype":"{subtype}","compactMetadata":{{"trigger":"auto"}}{more}"#))
    };
    let failed = |second: u32, more: &str| {
        line(
            "assistant",
            second,
            &format!(r#""isApiErrorMessage":true,"message":{{"model":"<synthetic>","content":[]}}{more}"#),
        )
    };
    let result = r#"[{"type":"tool_result","tool_use_id":"toolu_1","content":"Done."}]"#;
    let lines = [
        response(1, "msg_1", call, ""),
        response(2, "msg_2", "", AGENT),
        system(3, "compact_boundary", AGENT),
        system(4, "api_error", AGENT),
        failed(5, AGENT),
        user(6, result, r#","toolUseResult":{"agentId":"a1"}"#),
        system(7, "compact_boundary", ""),
        system(8, "api_error", ""),
    ];
    let tables = tables_of(&[&lines]);
    let events: Vec<_> = tables.events.iter().filter(|row| row.event.kind != EventKind::Subagent).collect();
    let found: Vec<_> =
        events.iter().map(|row| (row.event.line, row.event.agent.as_deref(), row.event.is_subagent)).collect();
    let agent = Some("Explore");
    assert_eq!(found, [(3, agent, true), (4, agent, true), (5, agent, true), (7, None, false), (8, None, false)]);
}

/// The same in a recorded stream, whose records name the call that started the agent.
#[test]
fn events_of_subagents_in_a_stream_are_theirs() {
    let record = |kind: &str, id: &str, parent: &str, more: &str| {
        format!(r#"{{"type":"{kind}","session_id":"s","uuid":"{id}","parent_tool_use_id":{parent},{more}}}"#)
    };
    let call = r#""message":{"id":"m1","model":"m","content":[{"type":"tool_use","id":"toolu_1","name":"Task","input":{"subagent_type":"Explore"}}],"usage":{"input_tokens":1,"output_tokens":1}}"#;
    let log = [
        record("assistant", "u1", "null", call),
        record("system", "u2", r#""toolu_1""#, r#""subtype":"compact_boundary""#),
        record("system", "u3", r#""toolu_1""#, r#""subtype":"api_retry""#),
        record(
            "assistant",
            "u4",
            r#""toolu_1""#,
            r#""error":"rate_limit","message":{"model":"<synthetic>","content":[]}"#,
        ),
        record("system", "u5", "null", r#""subtype":"api_retry""#),
    ];
    let tables = tables(&[log.join("\n")]);
    let found: Vec<_> = tables.events.iter().map(|row| (row.event.agent.as_deref(), row.event.is_subagent)).collect();
    let agent = (Some("Explore"), true);
    assert_eq!(found, [agent, agent, agent, (None, false)]);
}

/// A recorded stream names a subagent by the call that started it, its transcript by an id. The result of the call names both.
#[test]
fn a_subagent_in_a_stream_and_a_transcript_is_one() {
    let call = r#"{"type":"tool_use","id":"toolu_1","name":"Task","input":{"subagent_type":"Explore"}}"#;
    let record = |id: &str, parent: &str, content: &str| {
        let message = format!(
            r#"{{"id":"{id}","model":"m","content":[{content}],"usage":{{"input_tokens":5,"output_tokens":1}}}}"#
        );
        format!(
            r#"{{"type":"assistant","session_id":"s","uuid":"r{id}","parent_tool_use_id":{parent},"message":{message}}}"#
        )
    };
    // The transcript lacks a response of the subagent.
    let of_agent = r#""toolu_1""#;
    let stream =
        [record("msg_1", "null", call), record("msg_2", of_agent, ""), record("msg_3", of_agent, "")].join("\n");
    let result = r#"[{"type":"tool_result","tool_use_id":"toolu_1","content":"Done."}]"#;
    let transcript = [
        response(1, "msg_1", call, ""),
        response(2, "msg_2", "", r#","isSidechain":true,"agentId":"a1""#),
        user(6, result, r#","toolUseResult":{"agentId":"a1"}"#),
    ]
    .join("\n");
    for logs in [[&stream, &transcript], [&transcript, &stream]] {
        let tables = tables(&logs);
        assert_eq!(tables.sessions[0].subagents, Some(1));
        let starts: Vec<_> =
            tables.events.iter().map(|row| (row.event.code.as_deref(), row.event.agent.as_deref())).collect();
        assert_eq!(starts, [(Some("a1"), Some("Explore"))]);
        let agents: Vec<_> = tables.turns.iter().map(|row| row.turn.agent_id.as_deref()).collect();
        assert_eq!(agents, [None, Some("a1"), Some("a1")]);
    }
}

/// Gemini CLI and Qwen Code list the prompts of all sessions of a project in one file.
#[test]
fn a_list_of_prompts_is_no_transcript() {
    let log =
        r#"[{"sessionId":"s","messageId":0,"type":"user","message":"Fix it.","timestamp":"2026-10-05T10:00:00Z"}]"#;
    assert!(adapters::detect(log.as_bytes(), Hints::default()).is_empty());
    assert!(adapters::is_auxiliary(log.as_bytes(), "/h/.gemini/tmp/p/logs.json"));
}

/// Cowork writes prompts under the id of the task, and all other records under that of Claude Code's session.
#[test]
fn prompts_of_an_audit_log_are_those_of_the_session_that_answers() {
    let record = |kind: &str, session: &str, second: u32, more: &str| {
        let time = format!(r#""_audit_timestamp":"2026-10-05T10:00:{second:02}.000Z""#);
        format!(
            r#"{{"type":"{kind}","session_id":"{session}","uuid":"{session}{second}","parent_tool_use_id":null,{time},{more}}}"#
        )
    };
    let prompt =
        |session: &str, second: u32| record("user", session, second, r#""message":{"role":"user","content":"Go."}"#);
    let init = |session: &str, second: u32| {
        record("system", session, second, r#""subtype":"init","cwd":"/w","model":"m","tools":[]"#)
    };
    let answer = |session: &str, second: u32, content: &str| {
        let message = format!(
            r#""message":{{"id":"m{second}","model":"m","content":[{content}],"usage":{{"input_tokens":4,"output_tokens":5}}}}"#
        );
        record("assistant", session, second, &message)
    };
    let result = record(
        "user",
        "inner",
        5,
        r#""message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"a"}]}"#,
    );
    let log = [
        prompt("task", 1),
        init("inner", 2),
        answer("inner", 3, CALL),
        result,
        answer("inner", 6, ""),
        prompt("task", 7),
        init("next", 8),
        answer("next", 9, ""),
        prompt("task", 10),
    ];
    let tables = tables(&[log.join("\n")]);
    let found: Vec<_> = (tables.sessions.iter())
        .map(|row| (&*row.session.session_id, row.user_turns, row.session.started_at.is_some(), row.tokens.total()))
        .collect();
    assert_eq!(found, [("inner", Some(1), true, Some(18)), ("next", Some(2), true, Some(9))]);
    let call = &tables.tool_calls[0].call;
    assert!(call.occurred_at.is_some() && call.ended_at.is_some());
    // A task without an answer.
    let sessions = super::sessions(&prompt("task", 1));
    assert_eq!(sessions.iter().map(|it| &*it.session_id).collect::<Vec<_>>(), ["task"]);
}
