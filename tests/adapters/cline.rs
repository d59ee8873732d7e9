//! Cline's tasks.

use agentlogs::model::tables::{SessionRow, Usage};

use super::tables;

fn request(model: &str, tokens: &str) -> String {
    format!(
        r#"[{{"ts":1767323040000,"type":"say","say":"task","text":"Fix it."}},{{"ts":1767323041000,"type":"say","say":"api_req_started","text":{tokens:?},"modelInfo":{{"providerId":"cline","modelId":"{model}"}}}},{{"ts":1767323042000,"type":"ask","ask":"tool","text":"{{}}"}},{{"ts":1767323043000,"type":"say","say":"completion_result","text":"Done."}}]"#
    )
}

/// The session, and its count of tokens written to the cache.
fn read(log: &str) -> (SessionRow, Option<i64>) {
    let tables = tables(&[log]);
    let written = tables.turns[0].turn.tokens.get().cache_write;
    (tables.sessions.into_iter().next().unwrap(), written)
}

/// The view contains tools only as text for people: the number of calls is unknown, not 0.
#[test]
fn the_view_alone_counts_no_calls() {
    let (session, _) =
        read(&request("x-ai/grok", r#"{"tokensIn":9,"tokensOut":2,"cacheWrites":0,"cacheReads":5,"cost":0}"#));
    assert_eq!((session.tool_calls, session.tool_errors, session.turns), (None, None, Some(1)));
}

#[test]
fn writes_that_are_hidden_in_the_input_are_unknown() {
    let tokens = r#"{"tokensIn":50868,"tokensOut":614,"cacheWrites":0,"cacheReads":0,"cost":0.1999575}"#;
    let (session, written) = read(&request("anthropic/claude-sonnet-4.5", tokens));
    assert_eq!((session.usage, written), (Usage::LowerBound, None));
    let (session, written) = read(&request("openai/gpt-5.1", tokens));
    assert_eq!((session.usage, written), (Usage::Exact, Some(0)));
}
