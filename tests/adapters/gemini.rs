//! What the tables contain of Gemini CLI's chats, and of several views of one session.

use agentlogs::model::session::{CallStatus, Status};
use agentlogs::model::tables::{Grain, Usage};
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
        (json!([text("<hook_context>on main</hook_context>")]), 1),
        (json!([text("<hook_context>on main</hook_context>\n\nAnd the logs.")]), 2),
        (json!([text("And the logs."), text("<hook_context>on main</hook_context>")]), 2),
        (json!([text("I ran the following shell command:\n```sh\nls\n```\n\nThis produced the following result:")]), 1),
        (json!([text("System: Potential loop detected. Details: x. Please take a step back")]), 1),
    ] {
        assert_eq!(prompts(&[first.clone(), content.clone()]), Some(expected), "{content}");
    }
}

/// After it has masked results, Gemini CLI writes its history again under new ids, and then lists these messages.
#[test]
fn history_under_new_ids_is_no_prompt() {
    let message = |id: &str, kind: &str, text: &str| {
        let model = if kind == "gemini" && !id.starts_with('m') { json!("gemini-3-pro") } else { Value::Null };
        json!({
            "id": id, "timestamp": "2026-10-07T08:00:01Z", "type": kind, "content": [{"text": text}], "model": model,
        })
    };
    let context = "<session_context>\nThis is the Gemini CLI.\n</session_context>";
    let list = |messages: &[Value]| json!({"$set": {"messages": messages, "lastUpdated": "2026-10-07T08:00:01Z"}});
    let updated = json!({"$set": {"lastUpdated": "2026-10-07T08:00:01Z"}});
    let header = json!({"sessionId": "s", "projectHash": "p", "startTime": "2026-10-07T08:00:00Z", "kind": "main"});
    let user_turns = |records: &[Value]| {
        let log: Vec<String> = records.iter().map(Value::to_string).collect();
        let session = tables(&[log.join("\n")]).sessions.swap_remove(0);
        (session.user_turns, session.turns)
    };
    let start = [
        header.clone(),
        list(&[message("e", "user", context)]),
        message("u1", "user", "Go on."),
        updated.clone(),
        message("a1", "gemini", "One."),
        // The same text again is another prompt.
        message("u2", "user", "Go on."),
        message("a2", "gemini", "Two."),
    ];
    let copies = [
        message("m1", "user", context),
        message("m2", "user", "Go on."),
        message("m3", "gemini", "One."),
        message("m4", "user", "Go on."),
        message("m5", "gemini", "Two."),
    ];
    assert_eq!(user_turns(&start), (Some(2), Some(2)));
    let copied: Vec<Value> = copies.iter().flat_map(|it| [it.clone(), updated.clone()]).collect();
    let masked = [&start[..], &copied, &[list(&copies)]].concat();
    assert_eq!(user_turns(&masked), (Some(2), Some(2)));
    // A prompt after it, which the user cancels: the list is the history without it.
    let retried =
        [&masked[..], &[message("u3", "user", "Go on."), list(&copies), message("u4", "user", "Go on.")]].concat();
    assert_eq!(user_turns(&retried), (Some(4), Some(2)));
    let masked_again = [&retried[..], &[message("a4", "gemini", "Three.")], &copied, &[list(&copies)]].concat();
    assert_eq!(user_turns(&masked_again), (Some(4), Some(3)));
    // Older versions list the whole history under the same ids.
    let listed = [message("u1", "user", "Go on."), message("a1", "gemini", "One.")];
    assert_eq!(user_turns(&[&[header], &listed[..], &[list(&listed)]].concat()), (Some(1), Some(1)));
}

/// What the model reads with the next prompt does not wait for an answer.
#[test]
fn a_command_of_the_user_does_not_end_a_chat() {
    let message = |id: &str, kind: &str, text: &str| json!({"id": id, "timestamp": "2026-10-07T08:00:01Z", "type": kind, "content": text, "model": "m"});
    let status = |last: Option<&str>| {
        let mut messages = vec![message("u", "user", "Go."), message("a", "gemini", "Done.")];
        messages.extend(last.map(|text| message("l", "user", text)));
        let chat = json!({
            "sessionId": "s", "projectHash": "p", "startTime": "2026-10-07T08:00:00Z", "messages": messages,
        });
        tables(&[chat.to_string()]).sessions[0].session.status
    };
    assert_eq!(status(None), Status::Success);
    assert_eq!(status(Some("I ran the following shell command:\n```sh\nls\n```")), Status::Success);
    assert_eq!(status(Some("Again.")), Status::Incomplete);
}

#[test]
fn a_call_that_a_hook_blocks_is_refused() {
    let status = |error: &str| {
        let result = json!([{"functionResponse": {"response": {"error": error}}}]);
        let call = json!({"id": "c", "name": "run_shell_command", "args": {}, "status": "error", "result": result});
        let answer = json!({
            "id": "a", "timestamp": "2026-10-07T08:00:01Z", "type": "gemini", "content": "", "model": "m",
            "toolCalls": [call],
        });
        let chat = json!({
            "sessionId": "s", "projectHash": "p", "startTime": "2026-10-07T08:00:00Z", "messages": [answer],
        });
        tables(&[chat.to_string()]).tool_calls[0].call.status
    };
    assert_eq!(status("Tool execution blocked: not on main"), CallStatus::Denied);
    assert_eq!(status("Agent execution stopped by hook: not on main"), CallStatus::Denied);
    assert_eq!(status("Command not found"), CallStatus::Error);
}

/// The chat that Gemini CLI keeps, and its two outputs. The stream states tokens of tools and thoughts as a part of its total only.
#[test]
fn views_of_one_session_are_never_added() {
    let id = "6c1d0000-0000-4000-8000-000000000001";
    let time = |second: u32| format!("2026-10-05T10:00:{second:02}.000Z");
    let chat = [
        format!(r#"{{"sessionId":"{id}","projectHash":"abcd","startTime":"{}","kind":"main"}}"#, time(0)),
        format!(r#"{{"id":"g0","timestamp":"{}","type":"user","content":[{{"text":"hi"}}]}}"#, time(0)),
        format!(
            r#"{{"id":"g1","timestamp":"{}","type":"gemini","content":"x","tokens":{{"input":1000,"output":100,"cached":600,"thoughts":40,"tool":25,"total":1165}},"model":"m"}}"#,
            time(5)
        ),
        format!(
            r#"{{"id":"g2","timestamp":"{}","type":"gemini","content":"x","tokens":{{"input":2000,"output":20,"cached":0,"thoughts":5,"tool":0,"total":2025}},"model":"m"}}"#,
            time(9)
        ),
    ];
    let stream = [
        format!(r#"{{"type":"init","timestamp":"{}","session_id":"{id}","model":"m"}}"#, time(0)),
        format!(r#"{{"type":"message","timestamp":"{}","role":"user","content":"hi"}}"#, time(0)),
        format!(r#"{{"type":"message","timestamp":"{}","role":"assistant","content":"x","delta":true}}"#, time(9)),
        format!(
            r#"{{"type":"result","timestamp":"{}","status":"success","stats":{{"total_tokens":3190,"input_tokens":3000,"output_tokens":120,"cached":600,"input":2400,"duration_ms":5000,"tool_calls":0}}}}"#,
            time(10)
        ),
    ];
    let [chat, stream] = [chat, stream].map(|lines| lines.join("\n"));
    let output = format!(
        r#"{{"session_id":"{id}","response":"x","stats":{{"models":{{"m":{{"api":{{"totalRequests":2}},"tokens":{{"prompt":3000,"candidates":120,"total":3190,"cached":600,"thoughts":45,"tool":25}}}}}},"tools":{{"totalCalls":0}}}}}}"#
    );
    let (chat, stream, output) = (&chat, &stream, &output);
    for (views, responses) in [
        (vec![chat, stream], 2),
        (vec![stream, chat], 2),
        (vec![chat, output], 2),
        (vec![stream, output], 0),
        (vec![output, stream], 0),
        (vec![chat, stream, output], 2),
        (vec![output, stream, chat], 2),
    ] {
        let tables = tables(&views);
        let session = &tables.sessions[0];
        let counts = (session.tokens.input, session.tokens.output, session.tokens.cache_read);
        assert_eq!((tables.sessions.len(), counts), (1, (Some(2425), Some(165), Some(600))), "{views:?}");
        assert_eq!(session.usage, Usage::Exact, "{views:?}");
        let turns = tables.turns.iter().filter(|row| row.grain == Grain::Turn).count();
        assert_eq!((turns, tables.turns.len()), (responses, responses.max(1)), "{views:?}");
    }
}

/// The name that is shown contains that of the server.
#[test]
fn tools_of_a_server_are_known_by_the_name_that_is_shown() {
    let call = json!({
        "id": "c1", "name": "get_issue", "displayName": "get_issue (github MCP Server)", "args": {}, "status": "success",
        "timestamp": "2026-10-07T08:00:02Z",
    });
    let answer = json!({
        "id": "a1", "timestamp": "2026-10-07T08:00:01Z", "type": "gemini", "content": "", "model": "gemini-3-pro",
        "toolCalls": [call],
    });
    let chat = json!({
        "sessionId": "s", "projectHash": "p", "startTime": "2026-10-07T08:00:00Z", "lastUpdated": "2026-10-07T08:00:59Z",
        "messages": [answer],
    });
    let tables = tables(&[chat.to_string()]);
    let call = &tables.tool_calls[0].call;
    assert_eq!((call.category.as_ref(), call.mcp_server.as_deref()), ("mcp", Some("github")));
}
