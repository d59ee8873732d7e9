//! OpenCode since 2.0: the sums of a session, refusals, recordings and exports.

use agentlogs::model::session::{CallStatus, EventKind, Operation, SessionResult, Status, Tokens};
use agentlogs::model::tables::{Grain, Tables, Usage};
use serde_json::{Value, json};

use super::{sessions, tables};

const START: i64 = 1_790_000_000_000;

/// Input, output, and what was read from the cache.
type Counts = [i64; 3];

fn tokens([input, output, read]: Counts) -> Value {
    json!({"input": input, "output": output - 1, "reasoning": 1, "cache": {"read": read, "write": 0}})
}

/// The row of a session that began `second` seconds after the start, with its sums.
fn row(id: &str, second: i64, [input, output, read]: Counts, cost: f64) -> Value {
    json!({
        "table": "session_v2", "id": id, "directory": "/work", "version": "2.0.4", "time_created": START + second * 1000, "time_updated": START + 40_000,
        "model": {"id": "m", "providerID": "p"}, "cost": cost, "tokens_input": input, "tokens_output": output - 10,
        "tokens_reasoning": 10, "tokens_cache_read": read, "tokens_cache_write": 0,
    })
}

fn fork(id: &str, parent: &str, second: i64, sums: Counts, cost: f64) -> Value {
    let mut row = row(id, second, sums, cost);
    row["fork_session_id"] = parent.into();
    row
}

/// A response.
fn response(session: &str, id: &str, second: i64, counts: Counts, cost: f64) -> Value {
    let (created, completed) = (START + second * 1000, START + second * 1000 + 500);
    json!({
        "table": "session_message", "id": id, "session_id": session, "type": "assistant", "seq": second, "data": {
            "agent": "build", "model": {"id": "m", "providerID": "p"}, "content": [{"type": "text", "text": "x"}], "finish": "stop",
            "cost": cost, "tokens": tokens(counts), "time": {"created": created, "completed": completed},
        },
    })
}

/// A response before 2.0.
fn older(session: &str, id: &str, second: i64, counts: Counts, cost: f64) -> Value {
    let time = json!({"created": START + second * 1000, "completed": START + second * 1000 + 500});
    json!({
        "table": "message", "id": id, "session_id": session, "data": {
            "role": "assistant", "modelID": "m", "providerID": "p", "finish": "stop", "cost": cost, "tokens": tokens(counts), "time": time,
        }, "part": [],
    })
}

fn log(rows: &[Value]) -> String {
    rows.iter().flat_map(|row| [row.to_string(), "\n".to_owned()]).collect()
}

fn counts(tokens: Tokens) -> Counts {
    [tokens.input, tokens.output, tokens.cache_read].map(Option::unwrap_or_default)
}

/// The counts of a session, and its cost in thousandths of a dollar.
fn spent(tables: &Tables, id: &str) -> (Counts, f64) {
    let session = tables.sessions.iter().find(|it| it.session.session_id == id).unwrap();
    let rows = tables.turns.iter().filter(|row| tables.sessions[row.session].session.session_id == id);
    let cost: f64 = rows.filter_map(|row| Some(row.turn.cost.as_deref()?.total)).sum();
    (counts(session.tokens), (cost * 1000.0).round())
}

const SUMS: Counts = [2175, 393, 9500];

/// A session with a title and a compaction, which no message has.
fn with_title() -> Vec<Value> {
    vec![
        row("ses_a1", 0, SUMS, 0.551),
        response("ses_a1", "msg_2", 1, [100, 50, 1000], 0.1),
        response("ses_a1", "msg_5", 31, [70, 40, 500], 0.05),
    ]
}

#[test]
fn sums_of_a_session_add_what_no_message_has() {
    let found = tables(&[log(&with_title())]);
    assert_eq!(spent(&found, "ses_a1"), (SUMS, 551.0));
    let sums: Vec<_> = found.turns.iter().filter(|row| row.grain == Grain::Session).collect();
    assert_eq!(sums.len(), 1);
    assert_eq!((counts(sums[0].turn.tokens.get()), sums[0].turn.model.as_deref()), ([2005, 303, 8000], Some("m")));
    assert_eq!((found.sessions[0].turns, found.sessions[0].usage), (Some(2), Usage::Exact));
    assert_eq!(sums[0].turn.occurred_at.map(|it| it.micros() / 1000), Some(START + 31_500));
    // A response without counts is not in the sums.
    let mut cut = with_title();
    cut.push(response("ses_a1", "msg_6", 40, [0, 1, 0], 0.0));
    for member in ["finish", "tokens", "cost"] {
        cut[3]["data"].as_object_mut().unwrap().remove(member);
    }
    let found = tables(&[log(&cut)]);
    assert_eq!((spent(&found, "ses_a1").0, found.sessions[0].usage), (SUMS, Usage::LowerBound));
    // Equal sums, of whatever order, are not a row.
    let equal = [
        row("ses_a1", 0, [6, 33, 9], 0.6),
        response("ses_a1", "msg_2", 1, [1, 11, 2], 0.1),
        response("ses_a1", "msg_3", 2, [2, 11, 3], 0.2),
        response("ses_a1", "msg_4", 3, [3, 11, 4], 0.3),
    ];
    assert_eq!(tables(&[log(&equal)]).turns.len(), 3);
    // Only a title.
    let found = tables(&[log(&[row("ses_a1", 0, [5, 13, 0], 0.001)])]);
    assert_eq!((spent(&found, "ses_a1"), found.turns[0].turn.model.as_deref()), (([5, 13, 0], 1.0), Some("m")));
}

/// The messages of a reverted step are deleted, its usage is not.
#[test]
fn copies_of_sums_count_once() {
    let (before, mut after) = (with_title(), with_title());
    after[0] = row("ses_a1", 0, [2275, 443, 9500], 0.651);
    after.remove(2);
    after[0]["time_updated"] = (START + 900_000).into();
    let mut title_later = with_title();
    title_later[0] = row("ses_a1", 0, [2170, 390, 9500], 0.55);
    for (copies, expected) in [
        (vec![&before, &before], (SUMS, 551.0)),
        (vec![&title_later, &before], (SUMS, 551.0)),
        (vec![&before, &after], ([2275, 443, 9500], 651.0)),
        (vec![&title_later, &before, &after], ([2275, 443, 9500], 651.0)),
    ] {
        let mut logs: Vec<String> = copies.iter().map(|rows| log(rows)).collect();
        for _ in 0..2 {
            let found = tables(&logs);
            assert_eq!(spent(&found, "ses_a1"), expected, "{logs:?}");
            assert_eq!(found.sessions[0].usage, Usage::Exact);
            logs.reverse();
        }
    }
}

/// A fork begins at 0 with copies of its parent's messages.
#[test]
fn sums_of_a_fork_are_its_own() {
    let forked = |sums, cost| {
        vec![
            fork("ses_b1", "ses_a1", 20, sums, cost),
            response("ses_b1", "msg_f2", 1, [100, 50, 1000], 0.1),
            response("ses_b1", "msg_g1", 25, [11, 22, 33], 0.02),
        ]
    };
    for (sums, cost, thousandths) in
        [([11, 22, 33], 0.02, 20.0), ([16, 32, 33], 0.021, 21.0), ([3011, 322, 9033], 0.9, 900.0)]
    {
        let rows = [with_title(), forked(sums, cost)].concat();
        let reversed = [forked(sums, cost), with_title()].concat();
        for logs in [vec![log(&rows)], vec![log(&reversed)], vec![log(&with_title()), log(&forked(sums, cost))]] {
            let found = tables(&logs);
            assert_eq!(spent(&found, "ses_a1"), (SUMS, 551.0));
            assert_eq!(spent(&found, "ses_b1"), (sums, thousandths));
            let fork = found.sessions.iter().find(|it| it.session.session_id == "ses_b1").unwrap();
            assert_eq!((fork.session.parent_session_id.as_deref(), fork.usage), (Some("ses_a1"), Usage::Exact));
        }
        // Without its parent the copies count in the fork.
        let found = tables(&[log(&forked(sums, cost))]);
        let [input, output, read] = sums;
        assert_eq!(spent(&found, "ses_b1"), ([input + 100, output + 50, read + 1000], thousandths + 100.0));
        assert_eq!(found.sessions[0].usage, Usage::Exact);
    }
}

/// The first start of 2.0 sums all messages of an older session, also copies in a fork of 1.x.
#[test]
fn sums_of_older_sessions_repeat_their_messages() {
    let (first, second) = (([100, 50, 1000], 0.1), ([70, 40, 500], 0.05));
    let session = |table: &str, id: &str, second: i64, sums: Counts, cost: f64| {
        let mut row = row(id, second, sums, cost);
        row["table"] = table.into();
        row
    };
    let parent = |sums, cost| {
        let rows = [older("ses_a1", "msg_1", 1, first.0, first.1), older("ses_a1", "msg_2", 3, second.0, second.1)];
        let [one, other] = rows;
        (
            vec![session("session", "ses_a1", 0, [9000, 900, 9000], 9.0), one, other],
            session("session_v2", "ses_a1", 0, sums, cost),
        )
    };
    let fork = |sums, cost| {
        let copy = older("ses_b1", "msg_3", 1, first.0, first.1);
        (vec![session("session", "ses_b1", 2, [0; 3], 0.0), copy], session("session_v2", "ses_b1", 2, sums, cost))
    };
    let (older, row) = parent([170, 90, 1500], 0.15);
    // Before 2.0 the sums are those of the messages.
    assert_eq!(spent(&tables(&[log(&older)]), "ses_a1"), ([170, 90, 1500], 150.0));
    assert_eq!(spent(&tables(&[log(&[older, vec![row]].concat())]), "ses_a1"), ([170, 90, 1500], 150.0));
    // Afterwards each of both has a response and a title. The fork ends first, so that the common response is its own.
    let (older, row) = parent([280, 140, 1700], 0.3);
    let (older_fork, fork_row) = fork([215, 110, 1200], 0.2);
    let rows = [
        older,
        older_fork,
        vec![row, response("ses_a1", "msg_4", 50, [100, 40, 200], 0.1)],
        vec![fork_row, response("ses_b1", "msg_5", 40, [105, 50, 200], 0.05)],
    ];
    let found = tables(&[log(&rows.concat())]);
    let (a, b) = (spent(&found, "ses_a1"), spent(&found, "ses_b1"));
    assert_eq!((a, b), (([180, 90, 700], 200.0), ([215, 110, 1200], 200.0)));
}

/// What the user refused, and what a recording states of it.
fn refused() -> [(Value, bool); 8] {
    [
        (json!({"type": "permission.rejected", "message": "Permission denied: external_directory"}), true),
        (
            json!({"type": "permission.rejected", "message": "This non-interactive run cannot ask the user for permission, so the request was rejected. Continue without this action."}),
            true,
        ),
        (
            json!({"type": "tool.execution", "message": "The user rejected permission to use this specific tool call."}),
            true,
        ),
        (json!({"type": "aborted", "message": "The user declined this tool call"}), true),
        (json!({"type": "aborted", "message": "The user dismissed this question: Which file?"}), true),
        (json!({"type": "unknown", "message": "Error: The user dismissed this question"}), true),
        (json!({"type": "tool.execution", "message": "Command failed: Permission denied: x"}), false),
        (json!({"type": "tool.execution", "message": "boom"}), false),
    ]
}

fn call(number: usize, error: &Value) -> Value {
    json!({
        "type": "tool", "id": format!("call_{number}"), "name": "bash", "time": {"created": START, "completed": START + 100},
        "state": {"status": "error", "input": {"command": "make"}, "error": error},
    })
}

#[test]
fn refusals_are_known_by_the_type_of_the_error() {
    for (error, is_refused) in refused() {
        let mut message = response("ses_a1", "msg_1", 1, [1, 2, 3], 0.0);
        message["data"]["content"] = json!([call(1, &error)]);
        let stated = json!({
            "partID": "prt_1", "sessionID": "ses_a1", "messageID": "msg_1", "type": "tool", "id": "call_1", "tool": "bash",
            "state": {"status": "error", "input": {"command": "make"}, "error": error["message"], "metadata": {}},
        });
        let recorded = json!({"type": "tool_use", "timestamp": START, "sessionID": "ses_a1", "part": stated});
        for log in [log(&[message]), log(&[recorded])] {
            let session = sessions(&log).swap_remove(0);
            let denials = session.events.iter().filter(|it| it.kind == EventKind::PermissionDenial).count();
            let expected = if is_refused { (CallStatus::Denied, 1) } else { (CallStatus::Error, 0) };
            assert_eq!((session.tool_calls[0].status, denials), expected, "{log}");
        }
    }
    // What the user wrote instead.
    let mut message = response("ses_a1", "msg_1", 1, [1, 2, 3], 0.0);
    message["data"]["content"] = json!([call(1, &json!({"type": "permission.rejected", "message": "use make test"}))]);
    assert_eq!(sessions(&log(&[message]))[0].tool_calls[0].status, CallStatus::Denied);
}

/// The version that began a session stays in its row, also if 2.0 continues it.
#[test]
fn reasoning_is_outside_since_2_whatever_began_the_session() {
    let mut session = row("ses_a1", 0, [170, 93, 1500], 0.15);
    session["version"] = "1.2.10".into();
    let mut before = session.clone();
    before["table"] = "session".into();
    let mut new = response("ses_a1", "msg_2", 2, [100, 50, 1000], 0.1);
    new["data"]["tokens"]["reasoning"] = 4.into();
    let found = tables(&[log(&[before, older("ses_a1", "msg_1", 1, [70, 40, 500], 0.05), session, new])]);
    let output: Vec<_> = found.turns.iter().map(|row| row.turn.tokens.get().output).collect();
    // 39 with 1 inside, 49 and 4.
    assert_eq!((output, found.sessions[0].usage), (vec![Some(39), Some(53)], Usage::Exact));
}

/// The response was interrupted, or the process was lost.
#[test]
fn calls_without_a_result_are_cancelled() {
    for (error, tool, status) in [
        (json!({"type": "aborted", "message": "Tool execution interrupted"}), "shell", CallStatus::Cancelled),
        (json!({"type": "aborted", "message": "Tool execution interrupted: shell"}), "shell", CallStatus::Cancelled),
        (json!({"type": "unknown", "message": "Tool execution aborted"}), "bash", CallStatus::Cancelled),
        // Its session may have worked.
        (
            json!({"type": "aborted", "message": "Tool execution interrupted: subagent (sessionID: ses_c1)"}),
            "subagent",
            CallStatus::Incomplete,
        ),
        (json!({"type": "tool.execution", "message": "Tool execution failed"}), "shell", CallStatus::Error),
        (json!({"type": "aborted", "message": "Command cancelled"}), "shell", CallStatus::Error),
    ] {
        let mut interrupted = call(1, &error);
        interrupted["name"] = tool.into();
        let mut message = response("ses_a1", "msg_1", 1, [1, 2, 3], 0.0);
        message["data"]["content"] = json!([interrupted]);
        let session = sessions(&log(&[message])).swap_remove(0);
        assert_eq!((session.tool_calls[0].status, session.events.len()), (status, 0), "{error}");
    }
}

/// A completed call.
fn done(tool: &str, input: &Value, text: &str, metadata: &Value) -> Value {
    json!({
        "type": "tool", "id": format!("call_{tool}"), "name": tool, "time": {"created": START, "completed": START + 100},
        "state": {"status": "completed", "input": input, "content": [{"type": "text", "text": text}], "metadata": metadata},
    })
}

fn session_with(content: &Value) -> SessionResult {
    let mut message = response("ses_a1", "msg_1", 1, [1, 2, 3], 0.0);
    message["data"]["content"] = content.clone();
    sessions(&log(&[message])).swap_remove(0)
}

#[test]
fn a_command_whose_time_was_over_failed() {
    let input = json!({"command": "sleep 600"});
    for (metadata, status) in [
        (json!({"status": "completed", "truncated": false, "timeout": true}), CallStatus::Error),
        (json!({"status": "completed", "truncated": false, "exit": 0}), CallStatus::Ok),
        (json!({"status": "running", "truncated": false, "shellID": "sh_1"}), CallStatus::Ok),
    ] {
        let session = session_with(&json!([done("shell", &input, "x", &metadata)]));
        assert_eq!(session.tool_calls[0].status, status, "{metadata}");
    }
}

#[test]
fn tools_since_2_state_their_changes() {
    let file = |file: &str, added: i64, removed: i64, status: &str| {
        let patch = "--- a\n+++ b\n@@ -1,1 +1,2 @@\n-let before = 1;\n+let after = 1;\n+let other = 2;\n";
        json!({"file": file, "patch": patch, "additions": added, "deletions": removed, "status": status})
    };
    let patch = "*** Begin Patch\n*** Add File: new.txt\n+x\n*** Update File: old.txt\n*** Move to: moved.txt\n@@\n-a\n+b\n*** Delete File: gone.txt\n*** End Patch";
    let files =
        [file("new.txt", 1, 0, "added"), file("moved.txt", 1, 1, "modified"), file("gone.txt", 0, 7, "deleted")];
    let edit = json!({"path": "src/a.rs", "oldString": "a", "newString": "b\nc", "replaceAll": true});
    let session = session_with(&json!([
        done("patch", &json!({"patchText": patch}), "Success.", &json!({"files": files})),
        done(
            "edit",
            &edit,
            "Edited src/a.rs (3 replacements)",
            &json!({"files": [file("src/a.rs", 6, 3, "modified")]})
        ),
        done("write", &json!({"path": "w.txt", "content": "1\n2\n"}), "Created file successfully: w.txt", &Value::Null),
    ]));
    let found: Vec<_> = session
        .file_changes
        .iter()
        .map(|it| (it.path.as_ref(), it.operation, it.lines_added, it.lines_removed, it.line_sketch.is_some()))
        .collect();
    assert_eq!(
        found,
        [
            ("new.txt", Some(Operation::Create), Some(1), Some(0), true),
            ("moved.txt", Some(Operation::Move), Some(1), Some(1), true),
            ("gone.txt", Some(Operation::Delete), Some(0), Some(7), true),
            ("src/a.rs", Some(Operation::Update), Some(6), Some(3), true),
            ("w.txt", Some(Operation::Create), Some(2), Some(0), true),
        ]
    );
    let text = "Wrote file successfully: w.txt";
    let session =
        session_with(&json!([done("write", &json!({"path": "w.txt", "content": "1\n2\n"}), text, &Value::Null)]));
    let change = &session.file_changes[0];
    assert_eq!((change.operation, change.lines_added), (Some(Operation::Update), None));
}

#[test]
fn a_skill_is_named_by_its_id() {
    let metadata = json!({"name": "PDF files", "directory": "/skills/pdf"});
    let session = session_with(&json!([done("skill", &json!({"id": "pdf"}), "x", &metadata)]));
    let call = &session.tool_calls[0];
    assert_eq!((call.skill.as_deref(), call.target.as_deref()), (Some("pdf"), Some("pdf")));
}

#[test]
fn recordings_name_calls_by_id_and_have_exit_codes_inside() {
    for (names, member) in [
        (json!({"partID": "prt_1", "id": "call_1"}), "metadata"),
        // An early version.
        (json!({"id": "prt_1", "callID": "call_1"}), "structured"),
    ] {
        let mut part = json!({
            "messageID": "msg_1", "type": "tool", "tool": "bash",
            "state": {"status": "completed", "input": {"command": "make"}, "output": "x", "metadata": {member: {"exit": 2}}},
        });
        part.as_object_mut().unwrap().extend(names.as_object().unwrap().clone());
        let record = json!({"type": "tool_use", "timestamp": START, "sessionID": "ses_a1", "part": part});
        let session = sessions(&log(&[record])).swap_remove(0);
        let call = &session.tool_calls[0];
        assert_eq!((&*call.call_id, call.status, call.exit_code.get()), ("call_1", CallStatus::Error, Some(2)));
    }
    for (error, status, code, kind) in [
        (
            json!({"type": "provider.rate-limit", "message": "x", "status": 429}),
            Status::Error,
            "provider.rate-limit",
            "rate_limit",
        ),
        (json!({"type": "provider.auth", "message": "x"}), Status::Error, "provider.auth", "auth"),
        (
            json!({"type": "aborted", "message": "Session interrupted: shutdown"}),
            Status::Aborted,
            "aborted",
            "cancelled",
        ),
        (json!({"name": "ProviderAuthError", "data": {"message": "x"}}), Status::Error, "ProviderAuthError", "auth"),
    ] {
        let record = json!({"type": "error", "timestamp": START, "sessionID": "ses_a1", "error": error});
        let session = sessions(&log(&[record])).swap_remove(0);
        assert_eq!(
            (session.status, session.error_kind.map(agentlogs::model::errors::ErrorKind::as_str)),
            (status, Some(kind)),
            "{error}"
        );
        assert_eq!(session.events[0].code.as_deref(), Some(code));
    }
}

#[test]
fn a_subagent_s_call_names_its_session() {
    let mut call = call(1, &Value::Null);
    call["name"] = "subagent".into();
    call["state"] = json!({"status": "completed", "input": {"agent": "explore"}, "metadata": {"sessionID": "ses_c1", "status": "completed"}});
    let mut message = response("ses_a1", "msg_1", 1, [1, 2, 3], 0.0);
    message["data"]["content"] = json!([call]);
    let session = sessions(&log(&[message])).swap_remove(0);
    let event = session.events.iter().find(|it| it.kind == EventKind::Subagent).unwrap();
    assert_eq!((event.code.as_deref(), event.agent.as_deref()), (Some("ses_c1"), Some("explore")));
}

/// An export of a session, from its rows.
fn export(rows: &[Value]) -> String {
    let (row, messages) = rows.split_first().unwrap();
    let mut info = json!({
        "id": row["id"], "projectID": "p", "agent": "build", "model": row["model"], "cost": row["cost"],
        "tokens": {
            "input": row["tokens_input"], "output": row["tokens_output"], "reasoning": row["tokens_reasoning"],
            "cache": {"read": row["tokens_cache_read"], "write": row["tokens_cache_write"]},
        },
        "time": {"created": row["time_created"], "updated": row["time_updated"]}, "title": "x", "location": {"directory": row["directory"]},
    });
    if let Some(parent) = row.get("fork_session_id") {
        info["fork"] = json!({"sessionID": parent, "boundary": {"type": "before", "messageID": "msg_4"}});
    }
    let messages: Vec<Value> = messages
        .iter()
        .map(|row| {
            let mut message = row["data"].clone();
            (message["id"], message["type"]) = (row["id"].clone(), row["type"].clone());
            message
        })
        .collect();
    serde_json::to_string_pretty(&json!({"info": info, "messages": messages})).unwrap()
}

#[test]
fn an_export_contains_what_the_database_does() {
    let mut rows = with_title();
    rows[1]["data"]["content"] = json!([call(1, &json!({"type": "permission.rejected", "message": "no"}))]);
    let prompt = json!({"text": "go", "time": {"created": START}});
    rows.insert(1, json!({"table": "session_message", "id": "msg_1", "session_id": "ses_a1", "type": "user", "seq": 0, "data": prompt}));
    let exported = sessions(&export(&rows)).swap_remove(0);
    assert_eq!((&*exported.format, exported.cwd.as_deref()), ("opencode-export", Some("/work")));
    for logs in
        [vec![export(&rows)], vec![log(&rows)], vec![log(&rows), export(&rows)], vec![export(&rows), log(&rows)]]
    {
        let found = tables(&logs);
        assert_eq!(spent(&found, "ses_a1"), (SUMS, 551.0));
        let session = &found.sessions[0];
        assert_eq!((session.user_turns, session.turns, session.tool_calls), (Some(1), Some(2), Some(1)));
        assert_eq!((session.permission_denials, session.usage, found.sessions.len()), (Some(1), Usage::Exact, 1));
    }
    let fork =
        [fork("ses_b1", "ses_a1", 20, [16, 32, 33], 0.021), response("ses_b1", "msg_f2", 1, [100, 50, 1000], 0.1)];
    let found = tables(&[export(&fork), export(&rows)]);
    assert_eq!((spent(&found, "ses_a1"), found.sessions.len()), ((SUMS, 551.0), 2));
}

/// A recording has a step that was reverted later.
#[test]
fn a_recorded_step_is_in_the_sums() {
    let mut reverted = with_title();
    reverted.remove(2);
    reverted[0]["time_updated"] = (START + 900_000).into();
    let step = |second: i64, counts| {
        let part = json!({"id": format!("prt_{second}"), "type": "step-finish", "reason": "stop", "cost": 0.1, "tokens": tokens(counts)});
        json!({"type": "step_finish", "timestamp": START + second * 1000, "sessionID": "ses_a1", "part": part})
    };
    let recording = log(&[step(1, [100, 50, 1000]), step(310, [70, 40, 500])]);
    for logs in [[log(&reverted), recording.clone()], [recording, log(&reverted)]] {
        assert_eq!(spent(&tables(&logs), "ses_a1").0, SUMS, "{logs:?}");
    }
}
