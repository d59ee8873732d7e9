//! What the tables contain of Gemini CLI's chats.

use serde_json::{Value, json};

use super::tables;

/// What the user types while the agent is at work is in one message with a result, and Gemini CLI itself asks to continue.
#[test]
fn prompts_are_those_that_a_human_typed() {
    let prompts = |contents: &[Value]| {
        let message = |(index, content): (usize, &Value)| {
            let time = format!("2026-10-07T08:00:{index:02}Z");
            json!({"id": format!("u{index}"), "timestamp": time, "type": "user", "content": content})
        };
        let messages: Vec<Value> = contents.iter().enumerate().map(message).collect();
        let chat = json!({
            "sessionId": "s", "projectHash": "p", "startTime": "2026-10-07T08:00:00Z",
            "lastUpdated": "2026-10-07T08:00:59Z", "messages": messages,
        });
        tables(&[chat.to_string()]).sessions[0].user_turns
    };
    let text = |text: &str| json!({"text": text});
    let result = json!({"functionResponse": {"id": "c1", "name": "read_file", "response": {"output": "x"}}});
    let steering =
        text("User steering update:\n<user_input>\nNot the tests.\n</user_input>\nInternal instruction: go on.");
    let first = json!([text("Fix the login.")]);
    for (content, expected) in [
        (json!([text("And the logs.")]), 2),
        (json!([text("System: Please continue.")]), 1),
        (json!([text("Please continue.")]), 1),
        (json!("Please continue with the logs."), 2),
        (json!([result]), 1),
        (json!([result, text("A file:")]), 1),
        (json!([steering]), 2),
        (json!([steering, result]), 2),
        (json!([result, steering]), 2),
    ] {
        assert_eq!(prompts(&[first.clone(), content.clone()]), Some(expected), "{content}");
    }
}
