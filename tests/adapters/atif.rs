//! ATIF: trajectories that their converter did not name.

use serde_json::{Value, json};

use super::tables;

/// A trajectory without an id and times, with these responses after its prompt.
fn trajectory(responses: &[&str]) -> String {
    let response = |text: &&str| {
        let call = json!([{"tool_call_id": "1", "function_name": "bash", "arguments": {"command": text}}]);
        json!({"source": "agent", "message": text, "tool_calls": call, "metrics": {"prompt_tokens": 300, "completion_tokens": 10}})
    };
    let prompt = json!({"source": "user", "message": "Go."});
    let steps: Vec<Value> = [prompt].into_iter().chain(responses.iter().map(response)).collect();
    let agent = json!({"name": "kimi-cli", "version": "1"});
    json!({"schema_version": "ATIF-v1.7", "session_id": "unknown", "agent": agent, "steps": steps}).to_string()
}

/// Without an id and times only the steps show that one trajectory is an older state of another one.
#[test]
fn an_older_copy_without_an_id_counts_nothing() {
    let [one, two, three] = [&["a"][..], &["a", "b"], &["a", "b", "c"]].map(trajectory);
    let other = trajectory(&["a", "b", "d"]);
    let rewritten = format!("{:#}", serde_json::from_str::<Value>(&two).unwrap());
    for (logs, expected) in [
        (vec![&two, &three], vec![(930, 3)]),
        (vec![&three, &one, &rewritten, &two], vec![(930, 3)]),
        // An older copy of one of two runs that begin with the same responses.
        (vec![&two, &three, &other], vec![(930, 3), (930, 3)]),
        (vec![&other, &one], vec![(930, 3)]),
    ] {
        let tables = tables(&logs);
        let found: Vec<_> = tables.sessions.iter().map(|row| (row.tokens.total(), row.tool_calls)).collect();
        let expected: Vec<_> = expected.into_iter().map(|(tokens, calls)| (Some(tokens), Some(calls))).collect();
        assert_eq!(found, expected);
    }
}
