//! What the tables contain of goose's exports.

use agentlogs::model::session::CallStatus;
use serde_json::{Value, json};

use super::tables;

/// `goose session export --format json`, with these members for the sums.
fn export(sums: &Value) -> String {
    let message = |id: &str, role: &str, second: i64, text: &str| {
        json!({
            "id": id, "role": role, "created": 1_791_532_800 + second, "content": [{"type": "text", "text": text}],
            "metadata": {"userVisible": true, "agentVisible": true},
        })
    };
    let mut document = json!({
        "id": "20261009_1", "name": "Round the cart", "session_type": "user", "working_dir": "/work/shop",
        "created_at": "2026-10-09T08:00:00Z", "extension_data": {}, "provider_name": "anthropic",
        "model_config": {"model_name": "claude-sonnet-4-5"}, "message_count": 2,
        "conversation": [message("m1", "user", 0, "Round."), message("m2", "assistant", 20, "Rounded.")],
    });
    document.as_object_mut().unwrap().extend(sums.as_object().unwrap().clone());
    serde_json::to_string_pretty(&document).unwrap()
}

/// In newer versions the sums are in objects.
#[test]
fn an_export_has_the_sums_of_its_version() {
    let objects = json!({
        "usage": {"input_tokens": 7, "output_tokens": 3, "total_tokens": 10},
        "accumulated_usage": {
            "input_tokens": 1000, "output_tokens": 40, "total_tokens": 1040, "cache_read_input_tokens": 700, "cache_write_input_tokens": 200,
        },
        "accumulated_cost": null,
    });
    let flat = json!({
        "input_tokens": 7, "output_tokens": 3, "total_tokens": 10, "accumulated_input_tokens": 1000, "accumulated_output_tokens": 40,
        "accumulated_total_tokens": 1040, "accumulated_cache_read_tokens": 700, "accumulated_cache_write_tokens": 200,
    });
    for sums in [objects, flat] {
        let tables = tables(&[export(&sums)]);
        let session = &tables.sessions[0];
        assert_eq!((session.session.runtime.as_ref(), session.session.session_id.as_str()), ("goose", "20261009_1"));
        let tokens = session.tokens;
        assert_eq!(
            (tokens.input, tokens.output, tokens.cache_read, tokens.cache_write),
            (Some(100), Some(40), Some(700), Some(200))
        );
        assert_eq!((session.user_turns, session.session.model.as_deref()), (Some(1), Some("claude-sonnet-4-5")));
        assert_eq!((tables.turns.len(), tables.turns[0].turn.provider.as_deref()), (1, Some("anthropic")));
        assert!(tables.turns[0].money.cost.is_some());
    }
}

/// A session in the database and in an export counts once.
#[test]
fn an_export_repeats_the_database() {
    let rows = [
        json!({
            "table": "sessions", "id": "20261009_1", "working_dir": "/work/shop", "created_at": "2026-10-09 08:00:00",
            "accumulated_total_tokens": 1040, "accumulated_input_tokens": 1000, "accumulated_output_tokens": 40,
        }),
        json!({
            "table": "messages", "id": 1, "session_id": "20261009_1", "message_id": "m1", "role": "user",
            "content_json": [{"type": "text", "text": "Round."}], "created_timestamp": 1_791_532_800,
        }),
    ];
    let database = rows.map(|row| row.to_string()).join("\n");
    let sums =
        json!({"accumulated_total_tokens": 1040, "accumulated_input_tokens": 1000, "accumulated_output_tokens": 40});
    let tables = tables(&[database, export(&sums)]);
    assert_eq!((tables.sessions.len(), tables.sessions[0].tokens.total()), (1, Some(1040)));
    assert_eq!(tables.sessions[0].user_turns, Some(1));
}

/// goose writes the exit code beside the output, and at the end of the text.
#[test]
fn commands_have_their_exit_codes() {
    let call = |tool: &str, value: &Value| {
        let message = |id: &str, role: &str, block: &Value| {
            json!({"id": id, "role": role, "created": 1_791_532_800, "content": [block]}).to_string()
        };
        let request = json!({"status": "success", "value": {"name": tool, "arguments": {"command": "npm test"}}});
        let log = [
            json!({"description": "x", "message_count": 2, "total_tokens": 5, "working_dir": "/work"}).to_string(),
            message("m1", "assistant", &json!({"type": "toolRequest", "id": "c1", "toolCall": request})),
            message(
                "m2",
                "user",
                &json!({
                    "type": "toolResponse", "id": "c1", "toolResult": {"status": "success", "value": value},
                }),
            ),
        ];
        let call = tables(&[log.join("\n")]).tool_calls.swap_remove(0).call;
        (call.exit_code.get(), call.status)
    };
    let text = |text: &str| json!([{"type": "text", "text": text}]);
    for (tool, value, expected) in [
        (
            "shell",
            json!({"content": text("1 failing"), "structuredContent": {"stdout": "", "exit_code": 1}, "isError": false}),
            (Some(1), CallStatus::Error),
        ),
        (
            "developer__shell",
            json!({"content": text("x"), "structuredContent": {"exit_code": 0}}),
            (Some(0), CallStatus::Ok),
        ),
        (
            "shell",
            json!({"content": text("x\n\nCommand exited with code 101"), "isError": true}),
            (Some(101), CallStatus::Error),
        ),
        ("shell", text("x\n\nCommand exited with code 2"), (None, CallStatus::Ok)),
        ("shell", json!({"content": text("Command exited with code 1 is what I saw")}), (None, CallStatus::Ok)),
        ("read_file", json!({"content": text("Command exited with code 1")}), (None, CallStatus::Ok)),
    ] {
        assert_eq!(call(tool, &value), expected, "{tool} {value}");
    }
}
