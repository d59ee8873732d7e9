//! Copilot's events with the counts of requests, of phases and of subagents' models.

use agentlogs::model::session::Status;
use agentlogs::model::tables::{Tables, TurnRow, Usage};
use serde_json::{Value, json};

use super::{sessions, tables};

const MODEL: &str = "claude-sonnet-4.5";

/// An event, of a subagent if it is named.
fn event(kind: &str, second: u32, agent: Option<&str>, data: &Value) -> String {
    let time = format!("2026-11-20T08:00:{second:02}Z");
    json!({"type": kind, "agentId": agent, "data": data, "id": format!("e{second}"), "timestamp": time, "parentId": null})
        .to_string()
}

fn start() -> String {
    event("session.start", 0, None, &json!({"sessionId": "s", "selectedModel": MODEL}))
}

fn message(second: u32, ids: &Value, output: i64) -> String {
    let mut data =
        json!({"messageId": format!("m{second}"), "model": MODEL, "content": "Done.", "outputTokens": output});
    data.as_object_mut().unwrap().extend(ids.as_object().unwrap().clone());
    event("assistant.message", second, None, &data)
}

/// A request of 1,000 tokens of input, of which 900 are in the cache.
fn usage(second: u32, ids: &Value, output: i64) -> String {
    let mut data = json!({
        "model": MODEL, "inputTokens": 1000, "cacheReadTokens": 850, "cacheWriteTokens": 50, "outputTokens": output,
        "reasoningTokens": 3, "reasoningEffort": "low", "duration": 1500, "copilotUsage": {"totalNanoAiu": 1_000_000_000},
    });
    data.as_object_mut().unwrap().extend(ids.as_object().unwrap().clone());
    event("assistant.usage", second, None, &data)
}

fn shutdown(second: u32, models: &Value) -> String {
    event("session.shutdown", second, None, &json!({"shutdownType": "routine", "modelMetrics": models}))
}

fn read(lines: &[String]) -> Tables {
    tables(&[[&[start()], lines].concat().join("\n")])
}

/// Input, cache reads, cache writes, output, and the cost in cents.
fn sums(tables: &Tables) -> ([Option<i64>; 4], f64) {
    assert_eq!(tables.sessions.len(), 1);
    let row = &tables.sessions[0];
    let cents = tables.turns.iter().filter_map(|it| it.turn.cost.as_ref().map(|cost| cost.total)).sum::<f64>() * 100.0;
    (row.tokens.kinds(), cents.round())
}

/// Programs that use the SDK record the counts of each request. They are those of its message, whichever id both have.
#[test]
fn a_request_and_its_message_count_once() {
    for ids in [
        [json!({"apiCallId": "c1"}), json!({"apiCallId": "c2"})],
        [json!({"apiCallId": "c1", "providerCallId": "g1", "requestId": "g1"}), json!({"apiCallId": "c2"})],
        // Both have the id at GitHub only.
        [json!({"providerCallId": "g1", "requestId": "g1"}), json!({"providerCallId": "g2", "requestId": "g2"})],
    ] {
        let lines = [message(1, &ids[0], 50), usage(2, &ids[0], 50), usage(3, &ids[1], 20), message(4, &ids[1], 20)];
        let found = read(&lines);
        assert_eq!(sums(&found), ([Some(200), Some(70), Some(1700), Some(100)], 2.0), "{ids:?}");
        // Each response has all counts: only the end is missing.
        assert_eq!((found.sessions[0].turns, found.sessions[0].session.under_reports), (Some(2), false));
        let row: &TurnRow = &found.turns[0];
        assert_eq!((row.turn.effort.as_deref(), row.turn.duration_ms.get()), (Some("low"), Some(1500)));
        // The session's own log lacks the requests.
        let log = [start(), lines[0].clone(), lines[3].clone()].join("\n");
        let recording = [&[start()], &lines[..]].concat().join("\n");
        for logs in [[&log, &recording], [&recording, &log]] {
            assert_eq!(sums(&tables(&logs)), ([Some(200), Some(70), Some(1700), Some(100)], 2.0), "{ids:?}");
        }
        // The totals of the process contain them.
        let models = json!({MODEL: {"totalNanoAiu": 2_000_000_000_i64, "usage":
            {"inputTokens": 2000, "cacheReadTokens": 1700, "cacheWriteTokens": 100, "outputTokens": 70}}});
        let ended = read(&[&lines[..], &[shutdown(9, &models)]].concat());
        assert_eq!(sums(&ended), ([Some(200), Some(70), Some(1700), Some(100)], 2.0), "{ids:?}");
    }
}

/// A message without an id is the request with the same counts.
#[test]
fn a_request_of_a_message_without_an_id_counts_once() {
    let none = json!({});
    let named = json!({"apiCallId": "c1"});
    let expected = [Some(100), Some(50), Some(850), Some(50)];
    for lines in [
        [message(1, &none, 50), usage(2, &named, 50)],
        [usage(1, &named, 50), message(2, &none, 50)],
        [usage(1, &none, 50), message(2, &none, 50)],
    ] {
        let found = read(&lines);
        assert_eq!((sums(&found).0, found.sessions[0].turns), (expected, Some(1)), "{lines:?}");
    }
    // A recording has its name at its end.
    let end =
        json!({"type": "result", "timestamp": "2026-11-20T08:00:09Z", "sessionId": "s", "exitCode": 0, "usage": {}});
    let recording = [message(1, &named, 50), usage(2, &named, 50), end.to_string()].join("\n");
    let found = tables(&[recording]);
    assert_eq!((sums(&found).0, found.sessions[0].session.session_id.as_str()), (expected, "s"));
    assert_eq!(found.sessions[0].usage, Usage::Exact);
}

/// The credits of a session are the sum of those of its requests.
#[test]
fn credits_of_requests_are_in_their_sum() {
    let ids = json!({"apiCallId": "c1"});
    let checkpoint = event("session.usage_checkpoint", 3, None, &json!({"totalNanoAiu": 1_000_000_000_i64}));
    let lines = [message(1, &ids, 50), usage(2, &ids, 50), checkpoint.clone()];
    let expected = ([Some(100), Some(50), Some(850), Some(50)], 1.0);
    assert_eq!(sums(&read(&lines)), expected);
    let log = [start(), lines[0].clone(), checkpoint].join("\n");
    let recording = [&[start()], &lines[..2]].concat().join("\n");
    assert_eq!(sums(&tables(&[log, recording])), expected);
}

/// The event of a compaction has the counts of its request.
#[test]
fn a_summary_and_its_request_count_once() {
    let used = json!({"inputTokens": 1000, "cacheReadTokens": 850, "cacheWriteTokens": 50, "outputTokens": 30});
    let kind = "conversation-compaction";
    for (request, summary) in [
        (json!({"apiCallId": "c1", "providerCallId": "g1"}), json!("g1")),
        (json!({"apiCallId": "c1", "providerCallId": "g1", "interactionType": kind}), json!("g1")),
        (json!({"apiCallId": "c1"}), Value::Null),
        (json!({"apiCallId": "c1", "interactionType": kind}), Value::Null),
    ] {
        let data = json!({"success": true, "requestId": summary, "compactionTokensUsed": used});
        let summary = event("session.compaction_complete", 3, None, &data);
        let lines = [usage(2, &request, 30), summary.clone()];
        let expected = [Some(100), Some(30), Some(850), Some(50)];
        assert_eq!(sums(&read(&lines)).0, expected, "{request}");
        let log = [start(), summary].join("\n");
        let recording = [&[start()], &lines[..]].concat().join("\n");
        assert_eq!(sums(&tables(&[log, recording])).0, expected, "{request}");
    }
}

/// A phase of a review, and of the conversation itself, whose answer is a message.
fn phases() -> [String; 4] {
    let phase = |second, id: &str, scope: &str, requests: i64| {
        let usage = json!({"inputTokens": 9000, "cachedTokens": 8000, "cacheWriteTokens": 0, "outputTokens": 80,
            "requestCount": requests, "totalNanoAiu": 1_000_000_000_i64});
        let data = json!({"fusionId": "f", "phaseId": id, "conversationScope": scope, "model": "claude-opus-4.8", "usage": usage});
        event("assistant.fusion_phase_completed", second, None, &data)
    };
    let sum =
        json!({"fusionId": "f", "inputTokens": 27000, "cachedTokens": 24000, "outputTokens": 240, "requestCount": 4});
    let sum = event("session.fusion_completed", 6, None, &sum);
    [phase(2, "p1", "root", 1), phase(3, "p2", "review", 1), phase(4, "p3", "review", 2), sum]
}

/// The totals of a process contain the phases of its turns.
#[test]
fn phases_count_where_no_total_has_them() {
    let answer = message(5, &json!({"apiCallId": "c1"}), 50);
    let lines = [&phases()[..], std::slice::from_ref(&answer)].concat();
    let counts = |input, read, output| json!({"usage": {"inputTokens": input, "cacheReadTokens": read, "cacheWriteTokens": 0, "outputTokens": output}});
    let models = json!({MODEL: counts(10_000, 9000, 50), "claude-opus-4.8": counts(27_000, 24_000, 240)});
    let ended = read(&[&lines[..], &[shutdown(9, &models)]].concat());
    assert_eq!(sums(&ended).0, [Some(4000), Some(290), Some(33_000), Some(0)]);
    assert_eq!(ended.sessions[0].usage, Usage::Exact);
    // Of a killed process: the message, and the one request of a review.
    let expected = [Some(1000), Some(130), Some(8000), Some(0)];
    let resumed = event("session.resume", 9, None, &json!({}));
    for killed in [read(&lines), read(&[&lines[..], &[resumed]].concat())] {
        assert_eq!((sums(&killed).0, killed.sessions[0].usage), (expected, Usage::LowerBound));
        assert_eq!(killed.sessions[0].session.status, Status::Incomplete);
    }
    // Its credits are in the sum of the session.
    let checkpoint = event("session.usage_checkpoint", 8, None, &json!({"totalNanoAiu": 3_000_000_000_i64}));
    assert_eq!(sums(&read(&[&lines[..], &[checkpoint]].concat())), (expected, 3.0));
    // A recorded request can be that of the phase.
    let request = json!({"apiCallId": "c2", "model": "claude-opus-4.8", "inputTokens": 9000, "cacheReadTokens": 8000, "cacheWriteTokens": 0,
        "outputTokens": 80});
    let request = event("assistant.usage", 7, None, &request);
    assert_eq!(sums(&read(&[&lines[..], &[request]].concat())).0, expected);
}

/// A subagent has a model of its own, which its responses do not always state.
#[test]
fn responses_of_a_subagent_have_its_model() {
    let haiku = json!({"toolCallId": "t1", "agentName": "explore", "model": "claude-haiku-4.5"});
    let started = event("subagent.started", 1, Some("a1"), &haiku);
    let configured = json!({"model": "claude-haiku-4.5", "reasoningEffort": "low", "multiTurn": false});
    let configured = event("subagent.configured", 2, Some("a1"), &configured);
    let found =
        event("assistant.message", 3, Some("a1"), &json!({"messageId": "m1", "content": "found", "outputTokens": 50}));
    for (lines, effort) in [
        (vec![started.clone(), found.clone()], None),
        (vec![started.clone(), configured.clone(), found.clone()], Some("low")),
        (vec![configured, started, found], Some("low")),
    ] {
        // Its model and its effort are not those of the main agent.
        let change = event("session.model_change", 0, None, &json!({"newModel": MODEL, "reasoningEffort": "high"}));
        let log = [&[start(), change], &lines[..]].concat().join("\n");
        let session = sessions(&log).swap_remove(0);
        let turn = &session.turns[0];
        assert_eq!((turn.model.as_deref(), turn.effort.as_deref()), (Some("claude-haiku-4.5"), effort));
        assert_eq!((turn.is_subagent, turn.agent.as_deref()), (true, Some("explore")));
    }
}
