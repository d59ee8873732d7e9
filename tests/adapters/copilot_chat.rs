//! Chats of GitHub Copilot in VS Code: what their requests cost.

use agentlogs::model::tables::{CostSource, Grain, Tables, Usage};
use serde_json::{Value, json};

use super::tables;

/// When the chat was made, in milliseconds.
const MADE: i64 = 1_792_400_400_000;

/// A request `second` seconds after the chat was made.
fn request(id: &str, second: i64, more: Value) -> Value {
    let mut request = json!({
        "requestId": id, "timestamp": MADE + second * 1000, "modelId": "copilot/gpt-5.2", "message": {"text": "Go."},
        "response": [{"value": "Done."}], "modelState": {"value": 1, "completedAt": MADE + second * 1000 + 900},
    });
    let Value::Object(more) = more else { panic!("{more} is not an object") };
    request.as_object_mut().unwrap().extend(more);
    request
}

fn billed(id: &str, second: i64, credits: f64, output: i64) -> Value {
    let usage = json!({"promptTokens": 900, "completionTokens": output, "copilotCredits": credits});
    request(id, second, usage)
}

fn chat(requests: &[Value]) -> Value {
    json!({
        "version": 3, "sessionId": "c1", "creationDate": MADE, "responderUsername": "GitHub Copilot", "requests": requests,
    })
}

/// The cost in cents of the only session, and its output.
#[expect(clippy::cast_possible_truncation, reason = "some cents")]
fn sums(tables: &Tables) -> (Option<i64>, Option<i64>) {
    let [row] = tables.sessions.as_slice() else { panic!("{} sessions", tables.sessions.len()) };
    (row.money.cost.map(|cost| (cost * 100.0).round() as i64), row.tokens.output)
}

#[test]
fn each_request_with_credits_is_a_row() {
    let subagent = json!({
        "kind": "toolInvocationSerialized", "toolCallId": "t", "toolId": "runSubagent", "isComplete": true,
        "toolSpecificData": {"kind": "subagent", "agentName": "Explore", "credits": 3.5},
    });
    let mut first = billed("a", 1, 52.0, 520);
    first["response"] = json!([subagent]);
    let requests = [first, billed("b", 9, 8.0, 30), request("c", 20, json!({"completionTokens": 7}))];
    let tables = tables(&[chat(&requests).to_string()]);
    assert_eq!(sums(&tables), (Some(60), Some(550)));
    let row = &tables.sessions[0];
    assert_eq!((row.usage, row.money.source, row.turns), (Usage::LowerBound, Some(CostSource::Reported), None));
    assert!(tables.turns.iter().all(|row| row.grain == Grain::Session && row.turn.tokens.get().input.is_none()));
    assert_eq!(tables.turns.len(), 2);
}

/// A chat whose requests are not billed in credits, and one of an older version.
#[test]
fn without_credits_the_cost_is_unknown() {
    for usage in [json!({"completionTokens": 7}), json!({"completionTokens": 7, "copilotCredits": 0}), json!({})] {
        let tables = tables(&[chat(&[request("a", 1, usage)]).to_string()]);
        assert_eq!((sums(&tables), tables.sessions[0].usage), ((None, None), Usage::Unknown));
    }
}

#[test]
fn copies_of_a_chat_count_once() {
    let growing = chat(&[billed("a", 1, 10.0, 100)]).to_string();
    let whole = chat(&[billed("a", 1, 52.0, 520), billed("b", 9, 52.0, 520)]).to_string();
    for logs in [[&growing, &whole], [&whole, &growing], [&whole, &whole]] {
        assert_eq!(sums(&tables(&logs)), (Some(104), Some(1040)));
    }
}

/// The user took the second request back, and asked something else.
#[test]
fn removed_requests_were_billed() {
    let lines = [
        json!({"kind": 0, "v": chat(&[billed("a", 1, 10.0, 100)])}),
        json!({"kind": 2, "k": ["requests"], "v": [billed("b", 9, 5.0, 50)]}),
        json!({"kind": 2, "k": ["requests"], "i": 1, "v": [billed("c", 20, 3.0, 30)]}),
        json!({"kind": 1, "k": ["requests", 1, "copilotCredits"], "v": 4.0}),
    ];
    let tables = tables(&[lines.map(|line| line.to_string()).join("\n")]);
    assert_eq!(sums(&tables), (Some(19), Some(180)));
}

/// The log of a chat is appended to a file that already contains this chat and another one.
#[test]
fn changes_belong_to_the_chat_before_them() {
    let mut other = chat(&[billed("x", 1, 2.0, 20)]);
    other["sessionId"] = json!("c2");
    let first = chat(&[billed("a", 1, 10.0, 100)]);
    let lines = [
        json!({"kind": 0, "v": first}),
        json!({"kind": 0, "v": other}),
        json!({"kind": 0, "v": first}),
        json!({"kind": 2, "k": ["requests"], "v": [billed("b", 9, 5.0, 50)]}),
    ];
    let tables = tables(&[lines.map(|line| line.to_string()).join("\n")]);
    let outputs: Vec<_> = tables.sessions.iter().map(|row| (&*row.session.session_id, row.tokens.output)).collect();
    assert_eq!(outputs, [("c1", Some(150)), ("c2", Some(20))]);
    let line_of_change = tables.turns.iter().filter(|row| row.turn.tokens.get().output == Some(50));
    assert_eq!(line_of_change.map(|row| row.turn.line).collect::<Vec<_>>(), [4]);
}

/// A fork repeats the requests under new ids, with the time at which it was made.
#[test]
fn a_fork_repeats_nothing() {
    let copy = |index: i64, id: &str, credits: f64| {
        let time = MADE + index;
        request(
            id,
            0,
            json!({
                "timestamp": time, "modelState": {"value": 1, "completedAt": time}, "copilotCredits": credits,
                "completionTokens": 100,
            }),
        )
    };
    let requests = [copy(0, "x", 10.0), copy(1, "y", 5.0), billed("z", 30, 2.0, 20)];
    let tables = tables(&[chat(&requests).to_string()]);
    assert_eq!((sums(&tables), tables.sessions[0].user_turns), ((Some(2), Some(20)), Some(1)));
}

#[test]
fn newest_versions_state_the_place() {
    let mut state = chat(&[billed("a", 1, 10.0, 100)]);
    state["workingDirectory"] = json!("file:///home/u/web");
    state["repoData"] = json!({"remoteUrl": "https://github.com/acme/web.git", "localBranch": "feature-x"});
    let tables = tables(&[state.to_string()]);
    let row = &tables.sessions[0];
    assert_eq!((row.session.cwd.as_deref(), row.project.as_deref()), (Some("/home/u/web"), Some("/home/u/web")));
    assert_eq!(row.session.git_branch.as_deref(), Some("feature-x"));
    assert_eq!(row.session.repository.as_deref(), Some("github.com/acme/web"));
}

/// A request as a span of VS Code. A subagent's names a chat of its own.
fn span(second: i64, id: &str, chat: &str, output: i64, credits: Option<f64>) -> String {
    let seconds = MADE / 1000 + second;
    let mut attributes = json!({
        "gen_ai.operation.name": "chat", "gen_ai.conversation.id": "k", "copilot_chat.chat_session_id": chat,
        "gen_ai.response.id": id, "gen_ai.request.model": "gpt-5.2", "gen_ai.usage.input_tokens": 1000,
        "gen_ai.usage.output_tokens": output,
    });
    if chat != "c1" {
        attributes["copilot_chat.parent_chat_session_id"] = json!("c1");
    }
    if let Some(credits) = credits {
        attributes["github.copilot.nano_aiu"] = json!(credits * 1e9);
    }
    json!({
        "type": "span", "traceId": "t1", "spanId": id, "name": "chat", "startTime": [seconds, 0], "endTime": [seconds, 5],
        "attributes": attributes, "resource": {"attributes": {"service.name": "copilot-chat"}},
    })
    .to_string()
}

/// The spans of an export through a collector.
fn export(spans: &[String]) -> String {
    let spans: Vec<Value> = spans
        .iter()
        .map(|span| {
            let span: Value = serde_json::from_str(span).unwrap();
            let attribute = |(key, value): (&String, &Value)| {
                let value = match value {
                    Value::String(text) => json!({"stringValue": text}),
                    number => json!({"intValue": number.as_f64().unwrap().to_string()}),
                };
                json!({"key": key, "value": value})
            };
            let nanoseconds = |time: &Value| format!("{}000000000", time[0]);
            json!({
                "traceId": "5b8efff798038103d269b633813fc60c", "spanId": "eee19b7ec3c1b174", "name": "chat",
                "startTimeUnixNano": nanoseconds(&span["startTime"]), "endTimeUnixNano": nanoseconds(&span["endTime"]),
                "attributes": span["attributes"].as_object().unwrap().iter().map(attribute).collect::<Vec<_>>(),
            })
        })
        .collect();
    let service = json!([{"key": "service.name", "value": {"stringValue": "copilot-chat"}}]);
    json!({"resourceSpans": [{"resource": {"attributes": service}, "scopeSpans": [{"spans": spans}]}]}).to_string()
}

/// The chat states the sum of the calls that its spans show, and a request that no span shows.
#[test]
fn spans_of_a_chat_and_its_sums_count_once() {
    let log = chat(&[billed("a", 1, 10.0, 100), billed("b", 60, 5.0, 50)]).to_string();
    let spans = |costs: [Option<f64>; 3]| {
        [span(2, "r1", "c1", 60, costs[0]), span(3, "r2", "c1", 40, costs[1]), span(4, "r3", "child", 7, costs[2])]
    };
    let billed = spans([Some(4.0), Some(5.0), Some(1.0)]);
    let unbilled = spans([None; 3]);
    for spans in [billed.join("\n"), export(&billed)] {
        for logs in [[&log, &spans], [&spans, &log]] {
            let tables = tables(&logs);
            let row = &tables.sessions[0];
            assert_eq!((sums(&tables), row.tokens.input), ((Some(15), Some(150)), Some(3000)), "{spans}");
            assert_eq!((row.usage, row.turns), (Usage::LowerBound, Some(3)));
        }
    }
    // The computed cost of the spans is that of the same requests.
    for spans in [unbilled.join("\n"), export(&unbilled)] {
        let alone = sums(&tables(&[&spans])).0;
        assert!(alone.is_some());
        for logs in [[&log, &spans], [&spans, &log]] {
            assert_eq!(sums(&tables(&logs)), (alone, Some(150)), "{spans}");
        }
    }
}
