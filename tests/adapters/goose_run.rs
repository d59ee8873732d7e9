//! What the tables contain of the output of `goose run`.

use agentlogs::model::session::Status;
use agentlogs::model::tables::Tables;
use serde_json::{Value, json};

use super::goose_copies::{START, call, database, message, named, request, result, session, text};
use super::tables;

const CALL: &str = "call_Zt4kQ81vXw";

fn printed(id: &str, second: i64, role: &str, content: &Value) -> Value {
    json!({
        "id": id, "role": role, "created": START + second, "content": [content],
        "metadata": {"userVisible": true, "agentVisible": true},
    })
}

/// The messages of the run, without the prompt.
fn messages() -> Vec<Value> {
    vec![
        printed("chatcmpl-A1", 2, "assistant", &call(CALL, "shell", &json!({"command": "ls"}))),
        printed("msg_9a3b77c0", 3, "user", &result(CALL, "cart.rs")),
        printed("chatcmpl-B2", 5, "assistant", &text("Roun")),
        printed("chatcmpl-B2", 5, "assistant", &text("ded.")),
    ]
}

fn sums() -> Value {
    json!({
        "total_tokens": 1200, "input_tokens": 1000, "output_tokens": 200, "cache_read_input_tokens": 300,
        "cache_write_input_tokens": 0, "cost_usd": 0.01,
    })
}

fn stream(end: &[Value]) -> String {
    let messages = messages().into_iter().map(|message| json!({"type": "message", "message": message}));
    let notification = json!({"type": "notification", "extension_id": "developer", "log": {"message": "running"}});
    let events = messages.chain([notification]).chain(end.iter().cloned());
    events.map(|event| event.to_string()).collect::<Vec<_>>().join("\n")
}

fn complete() -> Value {
    let mut event = json!({"type": "complete"});
    event.as_object_mut().unwrap().extend(sums().as_object().unwrap().clone());
    event
}

fn output(status: &str) -> String {
    let mut metadata = sums();
    metadata["status"] = json!(status);
    let mut all = vec![printed("msg_7c1d20aa", 1, "user", &text("Round the cart."))];
    all.extend(messages());
    serde_json::to_string_pretty(&json!({"messages": all, "metadata": metadata})).unwrap()
}

#[test]
fn an_output_has_calls_sums_and_a_status() {
    let error = json!({"type": "error", "error": "Rate limit exceeded: 429"});
    for (log, status, tokens, prompts) in [
        (stream(&[complete()]), Status::Success, Some(1200), None),
        (stream(&[error]), Status::Error, None, None),
        (stream(&[]), Status::Incomplete, None, None),
        (output("completed"), Status::Success, Some(1200), Some(1)),
        (output("error"), Status::Error, Some(1200), Some(1)),
    ] {
        let tables = tables(&[log]);
        let session = &tables.sessions[0];
        assert_eq!((tables.sessions.len(), session.session.format.as_ref()), (1, "goose-run"));
        assert_eq!((session.session.status, session.tokens.total(), session.user_turns), (status, tokens, prompts));
        assert_eq!(tables.tool_calls.len(), 1);
        if tokens.is_some() {
            assert_eq!((session.tokens.input, session.tokens.cache_read), (Some(700), Some(300)));
            assert_eq!(tables.turns[0].money.cost, Some(0.01));
        }
    }
    let text = tables(&[stream(&[complete()])]).sessions[0].session.text.clone();
    assert_eq!(text.as_deref(), Some("Rounded."));
}

/// The session's database has the rows and the tokens: the messages show that it is the same session.
#[test]
fn an_output_beside_its_database_adds_nothing() {
    let id = "20261120_1";
    let content = |message: &Value| message["content"][0].clone();
    let mut rows = vec![
        session(id, 0, [Some(240), Some(200), Some(40)], Some("openai")),
        message(id, "msg_7c1d20aa", 1, "user", &text("Round the cart.")),
    ];
    for printed in &messages()[..3] {
        let second = printed["created"].as_i64().unwrap() - START;
        let (name, role) = (printed["id"].as_str().unwrap(), printed["role"].as_str().unwrap());
        rows.push(message(id, name, second, role, &content(printed)));
    }
    rows.push(request(id, 1, 5, 200, 40));
    let database = database(&[rows]);
    // Without the call, the ids of messages are what both have in common.
    let without_call = stream(&[complete()]).lines().skip(2).collect::<Vec<_>>().join("\n");
    for log in [stream(&[complete()]), output("completed"), without_call] {
        let tables = tables(&[log, database.clone()]);
        assert_eq!(tables.sessions.len(), 1);
        let session = named(&tables, id);
        assert_eq!((session.tokens.total(), session.user_turns), (Some(240), Some(1)));
        assert_eq!(tables.tool_calls.len(), 1);
    }
}

/// The object of a resumed run has all messages of the session, and its sums.
#[test]
fn a_resumed_run_repeats_the_sums_before() {
    let mut longer: Value = serde_json::from_str(&output("completed")).unwrap();
    longer["messages"].as_array_mut().unwrap().push(printed("msg_20", 20, "user", &text("More.")));
    longer["messages"].as_array_mut().unwrap().push(printed("chatcmpl-C3", 25, "assistant", &text("Done.")));
    longer["metadata"]["total_tokens"] = json!(2400);
    longer["metadata"]["input_tokens"] = json!(2200);
    let tables = tables(&[output("completed"), longer.to_string()]);
    assert_eq!((tables.sessions.len(), tables.sessions[0].tokens.total()), (1, Some(2400)));
    assert_eq!((tables.sessions[0].user_turns, tables.tool_calls.len()), (Some(2), 1));
}

/// The stream of a run, and the object of a later run, which has all of its messages.
#[test]
fn an_output_that_another_one_repeats_adds_nothing() {
    let mut longer: Value = serde_json::from_str(&output("completed")).unwrap();
    longer["messages"].as_array_mut().unwrap().push(printed("msg_20", 20, "user", &text("More.")));
    longer["messages"].as_array_mut().unwrap().push(printed("chatcmpl-C3", 25, "assistant", &text("Done.")));
    longer["metadata"]["total_tokens"] = json!(2400);
    longer["metadata"]["input_tokens"] = json!(2200);
    for logs in [[stream(&[complete()]), longer.to_string()], [longer.to_string(), stream(&[complete()])]] {
        let tables = tables(&logs);
        assert_eq!((tables.sessions.len(), tables.sessions[0].tokens.total()), (1, Some(2400)));
        assert_eq!((tables.sessions[0].user_turns, tables.tool_calls.len()), (Some(2), 1));
    }
}

/// A duplicate of the session has its messages, but not its sums.
#[test]
fn an_output_beside_a_duplicate_of_its_session_counts() {
    let copy = |sums: [Option<i64>; 3]| {
        let id = "20261120_7";
        let mut rows = vec![
            session(id, 9000, sums, Some("openai")),
            message(id, "msg_7c1d20aa", 1, "user", &text("Round the cart.")),
        ];
        for printed in &messages()[..3] {
            let second = printed["created"].as_i64().unwrap() - START;
            let (name, role) = (printed["id"].as_str().unwrap(), printed["role"].as_str().unwrap());
            rows.push(message(id, name, second, role, &printed["content"][0]));
        }
        rows
    };
    let mut fork = copy([Some(55), Some(50), Some(5)]);
    fork.push(message("20261120_7", "msg_y", 9010, "user", &text("More.")));
    fork.push(message("20261120_7", "msg_z", 9020, "assistant", &text("Done.")));
    fork.push(request("20261120_7", 5, 9020, 50, 5));
    let sum = |tables: &Tables| tables.sessions.iter().filter_map(|row| row.tokens.total()).sum::<i64>();
    for log in [stream(&[complete()]), output("completed")] {
        let both = tables(&[log.clone(), database(&[fork.clone()])]);
        assert_eq!((both.sessions.len(), sum(&both), both.tool_calls.len()), (2, 1255, 1));
        // An import has the sums, too.
        let both = tables(&[log, database(&[copy([Some(1200), Some(1000), Some(200)])])]);
        assert_eq!((both.sessions.len(), sum(&both), both.tool_calls.len()), (1, 1200, 1));
        assert_eq!(both.sessions[0].user_turns, Some(1));
    }
}

/// Other programs write such records, too.
#[test]
fn an_error_alone_is_not_goose() {
    for log in [
        json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
        json!({"type": "error", "error": "boom"}),
        json!({"type": "complete", "total_tokens": 5}),
    ] {
        assert!(tables(&[log.to_string()]).sessions.is_empty(), "{log}");
    }
    let failed = [json!({"type": "error", "error": "boom"}).to_string(), complete().to_string()].join("\n");
    assert_eq!(tables(&[failed]).sessions[0].session.status, Status::Error);
}
