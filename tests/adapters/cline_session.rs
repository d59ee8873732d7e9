//! What the tables contain of sessions of Cline's SDK, which have several files.

use agentlogs::model::session::{CallStatus, EventKind, Operation, Status};
use agentlogs::model::source::Source;
use agentlogs::model::tables::{Grain, SessionRow, Tables};
use serde_json::{Value, json};

use super::{sessions_at, tables};
use crate::reconciled;

fn messages(agent: &str, messages: &[Value]) -> String {
    let document = json!({
        "version": 1, "updated_at": "2026-10-19T09:05:00.000Z", "agent": agent, "sessionId": "s1", "messages": messages,
    });
    document.to_string()
}

fn answer(id: &str, input: i64, output: i64) -> Value {
    json!({
        "id": id, "role": "assistant", "ts": 1_792_400_404_000_i64, "content": [{"type": "text", "text": "Done."}],
        "modelInfo": {"id": "claude-sonnet-5", "provider": "anthropic"},
        "metrics": {"inputTokens": input, "outputTokens": output, "cacheReadTokens": 100, "cacheWriteTokens": 20, "cost": 0.5},
    })
}

fn manifest(status: &str) -> String {
    // Only a session that ended has this time.
    let ended_at = (status != "idle").then_some("2026-10-19T09:10:00.000Z");
    let manifest = json!({
        "version": 1, "session_id": "s1", "source": "cli", "pid": 7, "started_at": "2026-10-19T09:00:00.000Z",
        "ended_at": ended_at, "status": status, "interactive": false, "provider": "anthropic", "model": "claude-sonnet-5",
        "cwd": "/w", "workspace_root": "/w", "enable_tools": true, "enable_spawn": true, "enable_teams": false,
    });
    manifest.to_string()
}

/// The files of a session are one session: input excludes both caches, and a subagent's responses are a part of it.
#[test]
fn the_files_of_a_session_are_joined() {
    let user = json!({"id": "m0", "role": "user", "content": [{"type": "text", "text": "Go."}]});
    let lead = messages("lead", &[user.clone(), answer("m1", 130, 9)]);
    let agent = messages("subagent", &[user, answer("m2", 121, 3)]);
    for files in [[lead.clone(), agent.clone(), manifest("completed")], [manifest("completed"), agent, lead.clone()]] {
        let tables = tables(&files);
        let [session] = &tables.sessions[..] else { panic!("{}", tables.sessions.len()) };
        assert_eq!((session.turns, session.user_turns), (Some(2), Some(1)));
        assert_eq!((session.tokens.input, session.tokens.output), (Some(11), Some(12)));
        assert_eq!((session.session.cwd.as_deref(), session.session.status), (Some("/w"), Status::Success));
        assert_eq!(tables.turns.iter().filter(|row| row.turn.is_subagent).count(), 1);
    }
    let grown = messages("lead", &[answer("m1", 130, 9), answer("m3", 125, 1)]);
    assert_eq!(tables(&[lead, grown]).sessions[0].turns, Some(2));
}

#[test]
fn the_manifest_states_how_a_session_ended() {
    let lead = messages("lead", &[answer("m1", 130, 9)]);
    let status = |word: &str| tables(&[lead.clone(), manifest(word)]).sessions[0].session.status;
    assert_eq!([status("failed"), status("cancelled")], [Status::Error, Status::Aborted]);
    // The session waits for a prompt: the last answer decides.
    assert_eq!(status("idle"), Status::Success);
}

/// What the contract does not describe is not read.
#[test]
fn another_version_is_unknown() {
    let next = messages("lead", &[answer("m1", 130, 9)]).replace("\"version\":1", "\"version\":2");
    assert!(super::sessions(&next).is_empty());
}

/// A request with one call, and the message with its result.
fn call(id: &str, tool: &str, input: &Value, result: &Value) -> [Value; 2] {
    let mut request = answer(&format!("m-{id}"), 130, 9);
    request["content"] = json!([{"type": "tool_use", "id": id, "name": tool, "input": input}]);
    let result = json!([{"type": "tool_result", "tool_use_id": id, "name": tool, "content": result}]);
    [request, json!({"id": format!("r-{id}"), "role": "user", "ts": 1_792_400_405_000_i64, "content": result})]
}

/// The tools catch the errors of what they do: `is_error` is only set if a tool itself failed.
#[test]
fn a_call_failed_if_a_part_of_it_did() {
    let error =
        json!({"query": "npm test", "result": "1 failing", "error": "Command exited with code 1", "success": false});
    let listed = json!({"query": "ls", "result": "cart.ts", "success": true});
    let result = |result: &Value| Value::from(result.to_string());
    let edited = result(&json!({"query": "edit:/w/cart.ts", "result": "Edited", "success": true}));
    let refused =
        result(&json!({"query": "edit:/w/cart.ts", "result": "", "error": "No replacement", "success": false}));
    let edit = |old: &str| json!({"path": "/w/cart.ts", "old_text": old, "new_text": "b\nc"});
    let read = json!([{"query": "/w/cart.ts", "result": "1 | a", "success": true}]);
    let calls = [
        call("t1", "run_commands", &json!({"commands": ["ls", "npm test"]}), &json!([listed, error])),
        call("t2", "editor", &edit("x"), &refused),
        call("t3", "editor", &edit("a"), &edited),
        call("t4", "editor", &json!({"path": "/w/new.ts", "new_text": "a\n"}), &edited),
        call("t5", "editor", &json!({"path": "/w/cart.ts", "new_text": "a\nb\n", "insert_line": 1}), &edited),
        call("t6", "read_files", &json!({"files": [{"path": "/w/cart.ts"}, {"path": "/w/b.ts"}]}), &read),
        call("t7", "fetch_web_content", &json!({"requests": [{"url": "https://example.com/a", "prompt": "p"}]}), &read),
    ];
    let log = messages("lead", &calls.concat());
    let session = super::sessions(&log).swap_remove(0);
    let found: Vec<_> =
        session.tool_calls.iter().map(|it| (it.category.as_str(), it.status, it.target.as_deref())).collect();
    assert_eq!(
        found,
        [
            ("shell", CallStatus::Error, Some("ls")),
            ("edit", CallStatus::Error, Some("/w/cart.ts")),
            ("edit", CallStatus::Ok, Some("/w/cart.ts")),
            ("write", CallStatus::Ok, Some("/w/new.ts")),
            ("edit", CallStatus::Ok, Some("/w/cart.ts")),
            ("read", CallStatus::Ok, Some("/w/cart.ts")),
            ("web", CallStatus::Ok, Some("example.com")),
        ]
    );
    assert_eq!(session.tool_calls[0].exit_code.get(), Some(1));
    let changes = session.file_changes.iter();
    let changes: Vec<_> =
        changes.map(|it| (it.path.as_str(), it.operation, it.lines_added, it.lines_removed)).collect();
    let (update, create) = (Some(Operation::Update), Some(Operation::Create));
    assert_eq!(
        changes,
        [
            ("/w/cart.ts", update, Some(2), Some(1)),
            ("/w/new.ts", create, Some(1), Some(0)),
            ("/w/cart.ts", update, Some(2), Some(0)),
        ]
    );
}

/// Cline writes notices, summaries and requests to go on in the name of the user.
#[test]
fn what_the_program_writes_is_no_prompt() {
    let user = |id: &str, kind: Value, text: &str| json!({"id": id, "role": "user", "metadata": {"kind": kind}, "content": [{"type": "text", "text": text}]});
    let log = messages(
        "lead",
        &[
            user("m0", json!("compaction_summary"), "The cart was read."),
            user("m1", Value::Null, "<user_input mode=\"act\">Fix the test.</user_input>"),
            answer("m2", 130, 9),
            user("m3", json!("loop_detection_notice"), "You repeat yourself."),
            answer("m4", 131, 9),
            user("m5", Value::Null, "[TASK RESUMPTION] Please continue where you left off."),
            answer("m6", 132, 9),
        ],
    );
    let session = super::sessions(&log).swap_remove(0);
    assert_eq!((session.prompts.len(), session.prompt.as_deref()), (1, Some("Fix the test.")));
    assert_eq!((session.turns.len(), session.status), (3, Status::Success));
}

/// A file of messages since August 2026. `origin` is added to that of the session.
fn document(agent: &str, session: &str, origin: &Value, messages: &[Value]) -> String {
    let mut document = json!({
        "version": 1, "updated_at": "2026-10-19T09:05:00.000Z", "agent": agent, "sessionId": session,
        "origin": {"source": "cli", "mode": "user", "sessionId": session}, "messages": messages,
    });
    for (key, value) in origin.as_object().into_iter().flatten() {
        document["origin"][key] = value.clone();
    }
    document.to_string()
}

fn lead(session: &str, messages: &[Value]) -> String {
    document("lead", session, &json!({}), messages)
}

fn prompt(id: &str, text: &str) -> Value {
    json!({"id": id, "role": "user", "content": [{"type": "text", "text": text}], "ts": 1_792_400_400_000_i64})
}

fn manifest_of(session: &str, metadata: &Value) -> String {
    let mut value: Value = serde_json::from_str(&manifest("completed")).unwrap();
    value["session_id"] = json!(session);
    value["metadata"] = metadata.clone();
    value.to_string()
}

/// The tables of logs at paths.
fn tables_at(logs: &[(&str, String)]) -> Tables {
    let source = |(path, log): &(&str, String)| Source {
        path: (*path).to_owned(),
        sessions: sessions_at(path, log),
        ..Source::default()
    };
    reconciled(logs.iter().map(source).collect())
}

fn session<'a>(tables: &'a Tables, id: &str) -> &'a SessionRow {
    tables.sessions.iter().find(|row| row.session.session_id == id).unwrap()
}

/// `/fork`, the restore of a checkpoint and a change of the mode write the messages again, with their ids, under another session.
#[test]
fn a_fork_counts_only_its_own_messages() {
    let history = [prompt("u1", "Go."), answer("m1", 130, 9), prompt("u2", "On."), answer("m2", 140, 8)];
    let mut own = answer("m3", 150, 7);
    own["ts"] = json!(1_792_400_900_000_i64);
    let forked = [&history[..], &[prompt("u3", "Also."), own]].concat();
    let fork = json!({"fork": {"forkedFromSessionId": "s1", "forkedAt": "2026-10-19T09:01:00.000Z", "source": "cli"}});
    let first = lead("s1", &history);
    let second = lead("s0", &forked);
    for files in [vec![first.clone(), second.clone(), manifest_of("s0", &fork)], vec![second, first]] {
        let tables = tables(&files);
        let (first, second) = (session(&tables, "s1"), session(&tables, "s0"));
        assert_eq!((first.turns, first.user_turns, first.tokens.output), (Some(2), Some(2), Some(17)));
        assert_eq!((second.turns, second.user_turns, second.tokens.output), (Some(1), Some(1), Some(7)));
        assert_eq!(second.session.parent_session_id.as_deref(), Some("s1"));
    }
}

/// A task that an earlier version began, as a session contains it: the last answer has the sum over it.
fn migrated(with_warning: bool) -> Vec<Value> {
    let warning = "Warning: this is a legacy conversation, which means tool names may have changed. Please use the most up-to-date tools you are aware of.";
    let mut messages = vec![
        prompt("u1", "Rename the flag."),
        json!({"id": "m1", "role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "read_file", "input": {"path": "cli.ts"}}]}),
        json!({"id": "r1", "role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "name": "", "content": "out"}]}),
        json!({
            "id": "m2", "role": "assistant", "content": [{"type": "text", "text": "Renamed."}], "ts": 1_792_400_300_000_i64,
            "modelInfo": {"id": "claude-sonnet-5", "provider": "unknown"},
            "metrics": {"inputTokens": 1530, "outputTokens": 150, "cacheReadTokens": 1200, "cacheWriteTokens": 30, "cost": 0.25},
        }),
    ];
    messages.extend(with_warning.then(|| prompt("w", warning)));
    messages
}

/// The files of that task.
fn task() -> [(&'static str, String); 2] {
    let request = json!({"tokensIn": 150, "tokensOut": 75, "cacheWrites": 15, "cacheReads": 600, "cost": 0.125});
    let request = |ts: i64| json!({"ts": ts, "type": "say", "say": "api_req_started", "text": request.to_string(), "modelInfo": {"providerId": "anthropic", "modelId": "claude-sonnet-5"}});
    let view = json!([
        {"ts": 1_791_448_200_000_i64, "type": "say", "say": "task", "text": "Rename the flag."},
        request(1_791_448_201_000), request(1_791_448_202_000),
        {"ts": 1_791_448_203_000_i64, "type": "ask", "ask": "completion_result", "text": ""},
    ]);
    let history = json!([
        {"role": "user", "ts": 1_791_448_200_000_i64, "content": [{"type": "text", "text": "<task>Rename the flag.</task>"}, {"type": "text", "text": "<environment_details>\n# Current Mode\nACT MODE\n</environment_details>"}]},
        {"role": "assistant", "ts": 1_791_448_201_500_i64, "content": [{"type": "tool_use", "id": "toolu_1", "name": "read_file", "input": {"path": "cli.ts"}}]},
        {"role": "user", "ts": 1_791_448_201_600_i64, "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "out"}]},
    ]);
    [
        ("saoudrizwan.claude-dev/tasks/1791448199987/ui_messages.json", view.to_string()),
        ("saoudrizwan.claude-dev/tasks/1791448199987/api_conversation_history.json", history.to_string()),
    ]
}

const TASK: &str = "1791448199987";

/// The extension since version 4 goes on with a task in a session of the same id. The files of the task remain.
#[test]
fn a_task_that_goes_on_in_a_session_counts_once() {
    for with_warning in [true, false] {
        let resumed = [&migrated(with_warning)[..], &[prompt("u2", "More."), answer("m3", 130, 9)]].concat();
        let [view, history] = task();
        let session = ("data/sessions/1791448199987/1791448199987.messages.json", lead(TASK, &resumed));
        for logs in [[view.clone(), history.clone(), session.clone()], [session, history, view]] {
            let tables = tables_at(&logs);
            let [row] = &tables.sessions[..] else { panic!("{}", tables.sessions.len()) };
            assert_eq!((row.turns, row.user_turns, row.tool_calls), (Some(3), Some(2), Some(1)));
            assert_eq!(
                (row.tokens.input, row.tokens.output, row.tokens.cache_read),
                (Some(310), Some(159), Some(1300))
            );
            assert_eq!(row.money.reported, Some(0.75));
            assert!(tables.turns.iter().all(|row| row.grain == Grain::Turn));
            assert_eq!((row.session.status, row.session.text.as_deref()), (Status::Success, Some("Done.")));
        }
    }
}

#[test]
fn a_session_without_the_task_has_its_sum() {
    let resumed = [&migrated(true)[..], &[prompt("u2", "More."), answer("m3", 130, 9)]].concat();
    let [_, history] = task();
    for logs in [vec![("0", lead(TASK, &resumed))], vec![("0", lead(TASK, &resumed)), history]] {
        let tables = tables_at(&logs);
        let row = session(&tables, TASK);
        assert_eq!((row.turns, row.user_turns, row.tool_calls), (Some(1), Some(2), Some(1)));
        assert_eq!((row.tokens.input, row.tokens.output, row.tokens.cache_read), (Some(310), Some(159), Some(1300)));
        assert_eq!((row.money.reported, row.doubts.is_empty()), (Some(0.75), true));
        let sums: Vec<_> = tables.turns.iter().filter(|row| row.grain == Grain::Session).collect();
        assert_eq!((sums.len(), sums[0].turn.model.as_deref()), (1, Some("claude-sonnet-5")));
    }
    // A task that was only opened.
    let tables = tables_at(&[("0", lead(TASK, &migrated(true)))]);
    assert_eq!((tables.sessions[0].turns, tables.sessions[0].tokens.output), (Some(0), Some(150)));
}

#[test]
fn a_fork_of_a_migrated_session_has_no_sum() {
    let resumed = [&migrated(true)[..], &[prompt("u2", "More."), answer("m3", 130, 9)]].concat();
    let mut own = answer("m4", 150, 7);
    own["ts"] = json!(1_792_400_900_000_i64);
    let forked = [&resumed[..], &[prompt("u3", "Also."), own]].concat();
    let fork = json!({"fork": {"forkedFromSessionId": TASK}});
    let logs = vec![("0", lead(TASK, &resumed)), ("1", lead("s2", &forked)), ("2", manifest_of("s2", &fork))];
    for logs in [logs.clone(), [&logs[..], &task()].concat()] {
        let tables = tables_at(&logs);
        let row = session(&tables, "s2");
        assert_eq!((row.turns, row.user_turns, row.tool_calls), (Some(1), Some(1), Some(0)));
        assert_eq!((row.tokens.output, session(&tables, TASK).tokens.output), (Some(7), Some(159)));
    }
}

/// The session between the task and its fork may be deleted.
#[test]
fn a_fork_of_a_migrated_session_has_nothing_of_the_task() {
    let forked = [&migrated(true)[..], &[prompt("u3", "Also."), answer("m4", 150, 7)]].concat();
    let fork = json!({"fork": {"forkedFromSessionId": TASK}});
    let logs = vec![("1", lead("s2", &forked)), ("2", manifest_of("s2", &fork))];
    let tables = tables_at(&[&logs[..], &task()].concat());
    let row = session(&tables, "s2");
    assert_eq!((row.turns, row.user_turns, row.tool_calls), (Some(1), Some(1), Some(0)));
    assert_eq!((row.tokens.output, session(&tables, TASK).tokens.output), (Some(7), Some(150)));
    // Without the task it is the only one that has the sum.
    assert_eq!(session(&tables_at(&logs), "s2").tokens.output, Some(157));
}

#[test]
fn of_two_states_of_a_migrated_session_the_larger_sum_counts() {
    let mut later = migrated(true);
    later[3]["metrics"] =
        json!({"inputTokens": 3060, "outputTokens": 300, "cacheReadTokens": 2400, "cacheWriteTokens": 60, "cost": 0.5});
    later.extend([prompt("u9", "More."), answer("m9", 130, 9)]);
    for [a, b] in [["0", "1"], ["1", "0"]] {
        let tables = tables_at(&[(a, lead(TASK, &migrated(true))), (b, lead(TASK, &later))]);
        let row = session(&tables, TASK);
        assert_eq!((row.tokens.output, row.money.reported), (Some(309), Some(1.0)));
    }
}

/// Since August 2026 a subagent is a session of its own.
#[test]
fn an_agent_can_have_a_session_of_its_own() {
    let origin = json!({"parentThreadId": "s1", "subagent": "agent_x", "version": "4.1.13"});
    let work = [prompt("u1", "Look."), answer("m1", 130, 9)];
    let file = document("subagent", "s1__agent_x", &origin, &work);
    let origin = json!({"parentThreadId": "s1", "subagent": "reviewer"});
    let teammate =
        document("teammate", "s1__teamtask__reviewer__a1", &origin, &[prompt("u2", "Review."), answer("m2", 131, 8)]);
    let tables = tables(&[lead("s1", &[prompt("u0", "Go."), answer("m0", 140, 5)]), file, teammate]);
    let found: Vec<_> = tables
        .sessions
        .iter()
        .map(|row| {
            let session = &row.session;
            (
                session.session_id.as_str(),
                session.parent_session_id.as_deref(),
                session.agent.as_deref(),
                row.user_turns,
                session.status,
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            ("s1", None, None, Some(1), Status::Success),
            ("s1__agent_x", Some("s1"), Some("subagent"), Some(0), Status::Success),
            ("s1__teamtask__reviewer__a1", Some("s1"), Some("reviewer"), Some(0), Status::Success),
        ]
    );
    assert_eq!(session(&tables, "s1__agent_x").session.runtime_version.as_deref(), Some("4.1.13"));
    assert!(tables.turns.iter().all(|row| !row.turn.is_subagent));
}

#[test]
fn a_refused_call_is_denied() {
    let refused = json!({"error": "Tool \"run_commands\" was denied by user"}).to_string();
    let [request, mut result] = call("t1", "run_commands", &json!({"commands": ["rm -r dist"]}), &json!(refused));
    result["content"][0]["is_error"] = json!(true);
    let tables = tables(&[lead("s1", &[prompt("u0", "Go."), request, result])]);
    let row = &tables.sessions[0];
    assert_eq!((row.permission_denials, row.tool_errors), (Some(1), Some(0)));
    assert_eq!(tables.tool_calls[0].call.status, CallStatus::Denied);
}

#[test]
fn compactions_are_read_of_messages_and_of_their_own_file() {
    let mut prompt_after = prompt("u0", "Go.");
    prompt_after["metadata"] =
        json!({"kind": "compaction", "reason": "manual_compaction", "displayRole": "system", "messagesRemoved": 22});
    let older = messages("lead", &[prompt_after, answer("m1", 130, 9)]);
    let tables = tables_at(&[("0", older.clone()), ("1", older)]);
    assert_eq!((tables.sessions[0].compactions, tables.sessions[0].user_turns), (Some(1), Some(1)));
    let event = &tables.events[0].event;
    assert_eq!((event.kind, event.code.as_deref()), (EventKind::Compaction, Some("manual_compaction")));

    let state = json!({
        "version": 1, "updated_at": "2026-10-19T09:04:00.000Z", "conversation_id": "c", "source_message_count": 2,
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Context summary:"}], "metadata": {"kind": "compaction_summary", "tokensBefore": 91_000}},
            answer("m1", 130, 9),
        ],
    });
    let path = "data/sessions/s1/s1.compaction.json";
    let lead = || ("0", lead("s1", &[prompt("u0", "Go."), answer("m1", 130, 9)]));
    let tables = tables_at(&[lead(), (path, state.to_string())]);
    let [row] = &tables.sessions[..] else { panic!("{}", tables.sessions.len()) };
    assert_eq!((row.compactions, row.turns, row.session.status), (Some(1), Some(1), Status::Success));
    assert_eq!(tables.events[0].event.tokens_before, Some(91_000));
    assert_eq!(tables_at(&[lead()]).sessions[0].compactions, Some(0));
    // Nothing else is known of the session.
    let alone = tables_at(&[(path, state.to_string())]);
    assert_eq!(
        (alone.sessions[0].compactions, alone.sessions[0].turns, alone.sessions[0].user_turns),
        (Some(1), None, None)
    );
    // Until August 2026, a file does not show whether there was one.
    let older = messages("lead", &[prompt("u0", "Go."), answer("m1", 130, 9)]);
    assert_eq!(tables_at(&[("0", older)]).sessions[0].compactions, None);
}
