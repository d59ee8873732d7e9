//! Sessions of goose that copy others, and what it states about calls, prompts and ends.

use agentlogs::adapters::{self, Hints};
use agentlogs::model::errors::ErrorKind;
use agentlogs::model::retention::Retention;
use agentlogs::model::session::{CallStatus, Operation, Status};
use agentlogs::model::source::{Source, SourceStatus};
use agentlogs::model::tables::{SessionRow, Tables, Usage};
use agentlogs::model::verdict::Verdict;
use serde_json::{Value, json};

use super::{reconciled, tables};

/// 2026-11-20, 10:00:00.
pub(super) const START: i64 = 1_795_168_800;

/// A session's row, created so many seconds after the start.
pub(super) fn session(id: &str, created: i64, sums: [Option<i64>; 3], provider: Option<&str>) -> Value {
    let [total, input, output] = sums;
    let created = jiff::Timestamp::from_second(START + created).unwrap().strftime("%Y-%m-%d %H:%M:%S").to_string();
    json!({
        "table": "sessions", "id": id, "working_dir": "/work/shop", "created_at": created, "provider_name": provider,
        "model_config_json": provider.map(|_| json!({"model_name": "claude-sonnet-4-5"})),
        "total_tokens": total, "input_tokens": input, "output_tokens": output,
        "accumulated_total_tokens": total, "accumulated_input_tokens": input, "accumulated_output_tokens": output,
    })
}

pub(super) fn message(session: &str, id: &str, second: i64, role: &str, content: &Value) -> Value {
    json!({
        "table": "messages", "id": format!("{session} {id}"), "session_id": session, "message_id": id, "role": role,
        "content_json": [content], "created_timestamp": START + second,
    })
}

pub(super) fn request(session: &str, id: i64, second: i64, input: i64, output: i64) -> Value {
    json!({
        "table": "usage_ledger", "id": id, "session_id": session, "created_timestamp": START + second, "model": "claude-sonnet-4-5",
        "input_tokens": input, "output_tokens": output, "total_tokens": input + output, "cost_source": "estimated",
    })
}

pub(super) fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

pub(super) fn call(id: &str, tool: &str, arguments: &Value) -> Value {
    json!({"type": "toolRequest", "id": id, "toolCall": {"status": "success", "value": {"name": tool, "arguments": arguments}}})
}

pub(super) fn result(id: &str, text: &str) -> Value {
    let value = json!({"content": [{"type": "text", "text": text}], "isError": false});
    json!({"type": "toolResponse", "id": id, "toolResult": {"status": "success", "value": value}})
}

fn failure(id: &str, error: &str) -> Value {
    json!({"type": "toolResponse", "id": id, "toolResult": {"status": "error", "error": error}})
}

pub(super) fn database(rows: &[Vec<Value>]) -> String {
    rows.iter().flatten().map(Value::to_string).collect::<Vec<_>>().join("\n")
}

pub(super) fn named<'a>(tables: &'a Tables, id: &str) -> &'a SessionRow {
    tables.sessions.iter().find(|row| row.session.session_id == id).unwrap()
}

const CALL: &str = "toolu_01Hk7Lm2Np";

/// A prompt, a call, its result and an answer.
fn conversation(session: &str) -> Vec<Value> {
    vec![
        message(session, "msg_20261120_1_7c1d", 1, "user", &text("Round the cart.")),
        message(session, "msg_20261120_1_8e2f", 2, "assistant", &call(CALL, "shell", &json!({"command": "ls"}))),
        message(session, "msg_20261120_1_9a3b", 3, "user", &result(CALL, "cart.rs")),
        message(session, "msg_20261120_1_0b4c", 5, "assistant", &text("Rounded.")),
    ]
}

const SUMS: [Option<i64>; 3] = [Some(120), Some(100), Some(20)];

fn original() -> Vec<Value> {
    let mut rows = vec![session("20261120_1", 0, SUMS, Some("anthropic"))];
    rows.extend(conversation("20261120_1"));
    rows.push(request("20261120_1", 1, 5, 100, 20));
    rows
}

/// `goose session import` copies the sums under a new id.
#[test]
fn an_imported_session_counts_once() {
    let import = || {
        let mut rows = vec![session("20261120_2", 9000, SUMS, None)];
        rows.extend(conversation("20261120_2"));
        rows
    };
    let both = tables(&[database(&[original(), import()])]);
    assert_eq!((both.sessions.len(), both.sessions[0].tokens.total()), (1, Some(120)));
    assert_eq!((both.sessions[0].user_turns, both.tool_calls.len()), (Some(1), 1));
    // In two databases, as of two machines.
    let apart = tables(&[database(&[import()]), database(&[original()])]);
    assert_eq!((apart.sessions.len(), apart.sessions[0].session.session_id.as_str()), (1, "20261120_1"));
    // The original is not there.
    let alone = tables(&[database(&[import()])]);
    assert_eq!((alone.sessions.len(), alone.sessions[0].tokens.total()), (1, Some(120)));
    assert_eq!((alone.sessions[0].user_turns, alone.tool_calls.len()), (Some(1), 1));

    // It goes on: its own request is in its sums, too.
    let mut longer = vec![session("20261120_2", 9000, [Some(330), Some(300), Some(30)], Some("anthropic"))];
    longer.extend(conversation("20261120_2"));
    longer.push(message("20261120_2", "msg_5", 9010, "user", &text("More.")));
    longer.push(message("20261120_2", "msg_6", 9020, "assistant", &text("Done.")));
    longer.push(request("20261120_2", 2, 9020, 200, 10));
    let alone = tables(&[database(&[longer.clone()])]);
    assert_eq!((alone.sessions[0].tokens.total(), alone.sessions[0].user_turns), (Some(330), Some(2)));
    let both = tables(&[database(&[original(), longer])]);
    let (first, second) = (named(&both, "20261120_1"), named(&both, "20261120_2"));
    assert_eq!((first.tokens.total(), second.tokens.total()), (Some(120), Some(210)));
    assert_eq!((first.user_turns, second.user_turns, both.tool_calls.len()), (Some(1), Some(1), 1));
    assert_eq!(second.session.parent_session_id.as_deref(), Some("20261120_1"));
}

/// `copy_session` copies the messages, and no sums.
#[test]
fn a_duplicated_session_has_only_its_own_prompts_and_calls() {
    let mut fork = vec![session("20261120_2", 100, [Some(210), Some(200), Some(10)], Some("anthropic"))];
    fork.extend(conversation("20261120_2"));
    fork.push(message("20261120_2", "msg_5", 110, "user", &text("More.")));
    fork.push(message("20261120_2", "msg_6", 120, "assistant", &text("Done.")));
    fork.push(request("20261120_2", 2, 120, 200, 10));
    let both = tables(&[database(&[original(), fork.clone()])]);
    let (first, second) = (named(&both, "20261120_1"), named(&both, "20261120_2"));
    assert_eq!((first.user_turns, second.user_turns), (Some(1), Some(1)));
    assert_eq!((first.tool_calls, second.tool_calls), (Some(1), Some(0)));
    assert_eq!((first.tokens.total(), second.tokens.total()), (Some(120), Some(210)));
    let alone = tables(&[database(&[fork])]);
    assert_eq!((alone.sessions[0].user_turns, alone.tool_calls.len()), (Some(2), 1));
}

/// A message and its answer, from after the conversation.
fn more(session: &str, second: i64) -> [Value; 2] {
    [
        message(session, &format!("msg_a{second}"), second, "user", &text("More.")),
        message(session, &format!("msg_b{second}"), second + 10, "assistant", &text("Done.")),
    ]
}

/// Requests of its own have no row: nothing shows that the sums beyond the rows are those of another session.
#[test]
fn a_duplicate_from_before_the_ledger_keeps_its_sums() {
    let id = "20261120_2";
    let mut fork = vec![session(id, 9000, [Some(555), Some(500), Some(55)], Some("anthropic"))];
    fork.extend(conversation(id));
    fork.extend([more(id, 9010), more(id, 9030)].into_iter().flatten());
    let mut carried = request(id, 7, 9025, 450, 50);
    carried["cost_source"] = json!("carried_forward");
    fork.extend([carried, request(id, 8, 9042, 50, 5)]);
    let both = tables(&[database(&[original(), fork.clone()])]);
    let (first, second) = (named(&both, "20261120_1"), named(&both, id));
    assert_eq!((first.tokens.total(), second.tokens.total(), second.usage), (Some(120), Some(555), Usage::Exact));
    assert_eq!((second.user_turns, second.tool_calls), (Some(2), Some(0)));
    let alone = tables(&[database(&[fork])]);
    assert_eq!((alone.sessions[0].tokens.total(), alone.sessions[0].user_turns), (Some(555), Some(3)));
}

/// The second of three sessions is not there. Its part of the third one's sums, prompts and calls stays.
#[test]
fn a_chain_of_copies_counts_each_part_once() {
    let go_on = |id: &str, created: i64, sums: [Option<i64>; 3], provider: Option<&str>| {
        let mut rows = vec![session(id, created, sums, provider)];
        rows.extend(conversation(id));
        rows.extend(more(id, 9010));
        rows
    };
    let sums = [Some(330), Some(300), Some(30)];
    let second = || {
        let mut rows = go_on("20261120_2", 9000, sums, Some("anthropic"));
        rows.push(request("20261120_2", 2, 9020, 200, 10));
        rows
    };
    let third = || go_on("20261120_3", 20_000, sums, None);
    let tokens = |tables: &Tables| -> Vec<_> {
        tables.sessions.iter().map(|row| (row.tokens.total(), row.usage, row.user_turns, row.tool_calls)).collect()
    };
    let whole = [(Some(120), Usage::Exact, Some(1), Some(1)), (Some(210), Usage::Exact, Some(1), Some(0))];
    assert_eq!(tokens(&tables(&[database(&[original(), second(), third()])])), whole);
    assert_eq!(tokens(&tables(&[database(&[third()]), database(&[second()]), database(&[original()])])), whole);
    // The sums of the second one may have begun at 0.
    let expected = [whole[0], (Some(210), Usage::LowerBound, Some(1), Some(0))];
    assert_eq!(tokens(&tables(&[database(&[original(), third()])])), expected);
    // The original went on after it was imported.
    let mut longer = vec![session("20261120_1", 0, [Some(620), Some(600), Some(20)], Some("anthropic"))];
    longer.extend(original().into_iter().skip(1));
    longer.extend(more("20261120_1", 30_000));
    longer.push(request("20261120_1", 3, 30_012, 500, 0));
    let expected = [(Some(620), Usage::Exact, Some(2), Some(1)), expected[1]];
    assert_eq!(tokens(&tables(&[database(&[longer, third()])])), expected);
    // A duplicate of the second one has the prompt of that one, and no tokens of it.
    let mut fork = go_on("20261120_3", 20_000, [Some(260), Some(250), Some(10)], Some("anthropic"));
    fork.extend(more("20261120_3", 20_010));
    fork.push(request("20261120_3", 9, 20_021, 250, 10));
    let expected = [whole[0], (Some(260), Usage::Exact, Some(2), Some(0))];
    assert_eq!(tokens(&tables(&[database(&[original(), fork])])), expected);
}

/// An older copy of the original has less of it than its import.
#[test]
fn an_import_has_what_a_backup_does_not_have() {
    let mut backup = vec![session("20261120_1", 0, [Some(50), Some(40), Some(10)], Some("anthropic"))];
    backup.extend(conversation("20261120_1").into_iter().take(2));
    backup.push(request("20261120_1", 1, 2, 40, 10));
    let mut import = vec![session("20261120_2", 9000, SUMS, None)];
    import.extend(conversation("20261120_2"));
    let both = tables(&[database(&[backup]), database(&[import])]);
    let (first, second) = (named(&both, "20261120_1"), named(&both, "20261120_2"));
    assert_eq!((first.tokens.total(), second.tokens.total(), second.usage), (Some(50), Some(70), Usage::LowerBound));
    assert_eq!((first.user_turns, second.user_turns, both.tool_calls.len()), (Some(1), Some(0), 1));
    assert_eq!(both.turns.iter().filter_map(|row| row.turn.tokens.get().total()).sum::<i64>(), 120);
}

/// Of two imports that go different ways, the common beginning counts once. How much of the sums it is, nothing shows.
#[test]
fn two_imports_with_a_common_beginning_keep_the_rest() {
    let mut longer = vec![session("20261120_5", 9000, [Some(500), Some(400), Some(100)], None)];
    longer.extend(conversation("20261120_5").into_iter().take(2));
    longer.extend([more("20261120_5", 100), more("20261120_5", 200)].into_iter().flatten());
    let import = |sums| {
        let mut rows = vec![session("20261120_6", 9000, sums, None)];
        rows.extend(conversation("20261120_6"));
        rows
    };
    for (sums, expected) in
        [(SUMS, (None, Usage::Unknown)), ([Some(700), Some(500), Some(200)], (Some(200), Usage::LowerBound))]
    {
        let both = tables(&[database(&[longer.clone(), import(sums)])]);
        let (first, second) = (named(&both, "20261120_5"), named(&both, "20261120_6"));
        assert_eq!((first.tokens.total(), first.user_turns, both.tool_calls.len()), (Some(500), Some(3), 1));
        assert_eq!(((second.tokens.total(), second.usage), second.user_turns), (expected, Some(0)));
    }
}

/// Ids are a day and a number: on another machine the import can get the id of its original.
#[test]
fn an_import_with_the_id_of_its_original_counts_once() {
    let id = "20261120_1";
    let mut import = vec![session(id, 9000, SUMS, None)];
    import.extend(conversation(id));
    let mut longer = vec![session(id, 9000, [Some(330), Some(300), Some(30)], Some("anthropic"))];
    longer.extend(conversation(id));
    longer.extend(more(id, 9010));
    longer.push(request(id, 2, 9021, 200, 10));
    for (copy, tokens, prompts) in [(import, 120, 1), (longer, 330, 2)] {
        let all = tables(&[database(&[original()]), database(&[copy])]);
        let session = &all.sessions[0];
        assert_eq!((all.sessions.len(), session.tokens.total(), session.usage), (1, Some(tokens), Usage::Exact));
        assert_eq!((session.user_turns, all.tool_calls.len()), (Some(prompts), 1));
        assert_eq!(session.session.parent_session_id, None);
    }
}

/// A verdict beside the copy is about the original, and the file of the copy has no row of its own.
#[test]
fn what_is_stated_about_a_copy_is_about_its_original() {
    let mut import = vec![session("20261120_2", 9000, SUMS, None)];
    import.extend(conversation("20261120_2"));
    let source = |path: &str, rows: Vec<Value>| Source {
        path: path.to_owned(),
        status: SourceStatus::Parsed,
        sessions: adapters::parse(database(&[rows]).as_bytes(), Hints::default(), Retention::Text).sessions,
        ..Source::default()
    };
    let mut copy = source("b", import);
    for session in &mut copy.sessions {
        session.labels.insert("team=search".to_owned());
        session.verdicts.push(Verdict { name: "tests".to_owned(), passed: Some(true), ..Verdict::default() });
    }
    let tables = reconciled(vec![source("a", original()), copy]);
    assert_eq!((tables.sessions.len(), tables.verdicts.len()), (1, 1));
    assert!(tables.sessions[0].session.labels.contains("team=search"));
    let duplicates: Vec<_> = tables.sources.iter().map(|source| source.duplicate_of.as_deref()).collect();
    assert_eq!(duplicates, [None, Some("a")]);
}

fn claude_line(second: i64, kind: &str, message: &Value) -> String {
    let time = jiff::Timestamp::from_millisecond((START + second) * 1000 + 250).unwrap().to_string();
    json!({
        "type": kind, "sessionId": "5a1e7c30-8d2b-4f61-9c47-0b1d2e3f4a5b", "uuid": format!("{kind}{second}"), "cwd": "/work/shop",
        "timestamp": time, "entrypoint": "sdk-cli", "message": message,
    })
    .to_string()
}

fn claude() -> String {
    let response = |id: &str, content: &Value, end: &str| {
        json!({
            "id": id, "role": "assistant", "model": "claude-sonnet-4-5", "stop_reason": end, "content": [content],
            "usage": {"input_tokens": 10, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 6000, "output_tokens": 50},
        })
    };
    let call = json!({"type": "tool_use", "id": CALL, "name": "Bash", "input": {"command": "ls"}});
    let result = json!({"type": "tool_result", "tool_use_id": CALL, "content": "cart.rs"});
    [
        claude_line(1, "user", &json!({"role": "user", "content": "Round the cart."})),
        claude_line(2, "assistant", &response("msg_01Ab", &call, "tool_use")),
        claude_line(3, "user", &json!({"role": "user", "content": [result]})),
        claude_line(5, "assistant", &response("msg_01Cd", &text("Rounded."), "end_turn")),
    ]
    .join("\n")
}

/// goose imports logs of Claude Code, Codex and pi, and adds up their lines.
#[test]
fn an_imported_log_of_another_runtime_counts_once() {
    let id = |suffix: &str| format!("msg_20261121_1_{suffix}");
    let rows = vec![
        session("20261121_1", 90_000, [None, Some(12_020), Some(100)], None),
        message("20261121_1", &id("1"), 1, "user", &text("Round the cart.")),
        message("20261121_1", &id("2"), 2, "assistant", &call(CALL, "Bash", &json!({"command": "ls"}))),
        message("20261121_1", &id("3"), 3, "user", &result(CALL, "cart.rs")),
        message("20261121_1", &id("4"), 5, "assistant", &text("Rounded.")),
    ];
    let both = tables(&[database(std::slice::from_ref(&rows)), claude()]);
    assert_eq!((both.sessions.len(), both.sessions[0].tokens.total()), (1, Some(12_120)));
    assert_eq!((both.sessions[0].user_turns, both.tool_calls.len()), (Some(1), 1));
    let alone = tables(&[database(&[rows])]);
    assert_eq!((alone.sessions[0].tokens.total(), alone.sessions[0].usage), (Some(12_120), Usage::Estimate));
}

/// The provider `claude-code` starts Claude Code, which keeps its own log.
#[test]
fn an_agent_that_goose_started_has_the_tokens() {
    let id = "20261120_1";
    let rows = vec![
        session(id, 0, SUMS, Some("claude-code")),
        message(id, "msg_1", 0, "user", &text("Round the cart.")),
        message(id, "msg_2", 5, "assistant", &text("Rounded.")),
        request(id, 1, 5, 100, 20),
    ];
    let alone = tables(&[database(std::slice::from_ref(&rows))]);
    assert_eq!((alone.sessions[0].tokens.total(), alone.sessions[0].usage), (Some(120), Usage::LowerBound));
    let both = tables(&[claude(), database(std::slice::from_ref(&rows))]);
    assert_eq!((both.sessions.len(), both.turns.len()), (2, 2));
    assert_eq!((named(&both, id).tokens.total(), named(&both, id).session.status), (None, Status::Success));
    let sum: i64 = both.turns.iter().filter_map(|row| row.turn.tokens.get().total()).sum();
    assert_eq!(sum, 12_120);
    // Without a row for each request.
    let both = tables(&[claude(), database(&[rows[..3].to_vec()])]);
    assert_eq!((both.turns.len(), named(&both, id).tokens.total()), (2, None));
}

/// goose with three requests, at 0, 3600 and 7200 seconds.
fn three_requests(has_rows: bool) -> Vec<Value> {
    let id = "20261120_1";
    let mut rows = vec![session(id, 0, [Some(3620), Some(3100), Some(520)], Some("claude-code"))];
    for (number, (input, output)) in [(100, 20), (1000, 200), (2000, 300)].into_iter().enumerate() {
        let number = i64::try_from(number).unwrap();
        let second = 3600 * number;
        rows.push(message(id, &format!("m{second}"), second, "user", &text("Go on.")));
        rows.push(message(id, &format!("n{second}"), second + 5, "assistant", &text("Done.")));
        if has_rows {
            rows.push(request(id, number, second + 5, input, output));
        }
    }
    rows
}

/// Claude Code that answers one request.
fn agent(second: i64, entrypoint: &str) -> String {
    let usage = json!({"input_tokens": 100, "output_tokens": 20});
    let answer = json!({
        "id": "msg_01Ef", "role": "assistant", "model": "claude-sonnet-4-5", "stop_reason": "end_turn", "content": [text("x")],
        "usage": usage,
    });
    let lines = [
        claude_line(second, "user", &json!({"role": "user", "content": "Go on."})),
        claude_line(second + 2, "assistant", &answer),
    ];
    lines.join("\n").replace("sdk-cli", entrypoint)
}

#[test]
fn the_agent_of_one_request_has_the_tokens_of_that() {
    for has_rows in [false, true] {
        let rows = database(&[three_requests(has_rows)]);
        let both = tables(&[agent(2, "sdk-cli"), rows.clone()]);
        let session = named(&both, "20261120_1");
        assert_eq!((session.tokens.total(), session.usage), (Some(3500), Usage::LowerBound), "{has_rows}");
        // A person started it.
        let both = tables(&[agent(50, "cli"), rows]);
        assert_eq!(named(&both, "20261120_1").tokens.total(), Some(3620), "{has_rows}");
    }
}

/// A backup of the database has some of the rows, and smaller sums.
#[test]
fn a_backup_does_not_take_the_tokens_of_an_agent_off_twice() {
    let with_sums = |mut rows: Vec<Value>, input: i64| {
        for name in ["total_tokens", "input_tokens", "accumulated_total_tokens", "accumulated_input_tokens"] {
            rows[0][name] = json!(rows[0][name].as_i64().unwrap() + input);
        }
        database(&[rows])
    };
    let backup = with_sums(three_requests(true).into_iter().take(4).collect(), 6500);
    let all = tables(&[agent(2, "sdk-cli"), backup, with_sums(three_requests(true), 10_000)]);
    let session = named(&all, "20261120_1");
    assert_eq!((session.tokens.total(), session.usage), (Some(13_500), Usage::LowerBound));
}

#[test]
fn a_separator_at_the_end_of_a_directory_does_not_matter() {
    let mut rows = three_requests(true);
    rows[0]["working_dir"] = json!("/work/shop/");
    let both = tables(&[agent(2, "sdk-cli"), database(&[rows])]);
    assert_eq!(named(&both, "20261120_1").tokens.total(), Some(3500));
}

/// The only session of these messages.
fn read(messages: &[(&str, Value)]) -> Tables {
    let id = "20261120_1";
    let mut rows = vec![session(id, 0, SUMS, Some("anthropic"))];
    for (second, (role, content)) in messages.iter().enumerate() {
        let second = i64::try_from(second).unwrap();
        rows.push(message(id, &format!("msg_{second}"), second, role, content));
    }
    tables(&[database(&[rows])])
}

#[test]
fn what_the_user_cancelled_is_no_error() {
    let begin = || vec![("user", text("Clean.")), ("assistant", call("c1", "shell", &json!({"command": "rm x"})))];
    let interrupted = failure("c1", "-32603: Interrupted by the user to make a correction");
    let older = "The existing call to shell was interrupted. How would you like to proceed?";
    let question = "Yes — what would you like me to do?";
    for (rest, status, session) in [
        (vec![("user", failure("c1", "-32600: Tool call cancelled by user"))], CallStatus::Cancelled, Status::Aborted),
        (vec![("user", interrupted.clone()), ("assistant", text(question))], CallStatus::Cancelled, Status::Aborted),
        (vec![("user", interrupted.clone()), ("assistant", text(older))], CallStatus::Cancelled, Status::Aborted),
        (
            vec![
                ("user", interrupted),
                ("assistant", text(question)),
                ("user", text("Go on.")),
                ("assistant", text("Done.")),
            ],
            CallStatus::Cancelled,
            Status::Success,
        ),
        (
            vec![
                ("user", failure("c1", "-32603: An uncaught error happened during tool use")),
                ("assistant", text(question)),
            ],
            CallStatus::Error,
            Status::Error,
        ),
        (
            vec![
                (
                    "user",
                    result("c1", "Let the user know the tool call was skipped in goose chat mode. DO NOT apologize"),
                ),
                ("assistant", text("It would remove x.")),
            ],
            CallStatus::Denied,
            Status::Success,
        ),
    ] {
        let tables = read(&[begin(), rest.clone()].concat());
        assert_eq!(
            (tables.tool_calls[0].call.status, tables.sessions[0].session.status),
            (status, session),
            "{rest:?}"
        );
    }
}

#[test]
fn the_most_turns_are_an_error() {
    let limit =
        "I've reached the maximum number of actions I can do without user input. Would you like me to continue?";
    let tables = read(&[("user", text("Clean.")), ("assistant", text(limit))]);
    let kind = tables.sessions[0].session.error_kind.map(ErrorKind::as_str);
    assert_eq!((tables.sessions[0].session.status, kind), (Status::Error, Some("max_turns")));
}

#[test]
fn a_request_for_the_final_output_is_no_prompt() {
    for own in [
        "You MUST call the `final_output` tool NOW with the final output for the user.",
        "You MUST call the `final_output` tool with your final output for the user.",
    ] {
        let messages =
            [("user", text("Clean.")), ("assistant", text("Done.")), ("user", text(own)), ("assistant", text("{}"))];
        assert_eq!(read(&messages).sessions[0].user_turns, Some(1), "{own}");
    }
}

#[test]
fn edits_writes_and_delegates_are_known() {
    let edit = json!({"path": "/work/shop/a.rs", "before": "x\ny", "after": "x\nz\nw"});
    let write = |name: &str| json!({"path": format!("/work/shop/{name}.rs"), "content": "1\n2\n3"});
    let tables = read(&[
        ("assistant", call("c1", "edit", &edit)),
        ("user", result("c1", "Edited /work/shop/a.rs (2 lines -> 3 lines)")),
        ("assistant", call("c2", "write", &write("b"))),
        ("user", result("c2", "Created /work/shop/b.rs (3 lines)")),
        ("assistant", call("c3", "write", &write("c"))),
        ("user", result("c3", "Wrote /work/shop/c.rs (3 lines)")),
        ("assistant", call("c4", "delegate", &json!({"instructions": "Look."}))),
        ("user", result("c4", "Found.")),
    ]);
    let changes: Vec<_> = tables
        .file_changes
        .iter()
        .map(|row| (row.change.operation, row.change.lines_added, row.change.lines_removed))
        .collect();
    assert_eq!(
        changes,
        [
            (Some(Operation::Update), Some(2), Some(1)),
            (Some(Operation::Create), Some(3), Some(0)),
            (Some(Operation::Update), None, None)
        ]
    );
    assert_eq!(tables.tool_calls[3].call.category, "subagent");
}
