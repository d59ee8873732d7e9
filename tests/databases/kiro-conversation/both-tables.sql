-- Kiro CLI: its table of conversations, and that of the versions before.

CREATE TABLE conversations (key TEXT PRIMARY KEY, value TEXT);
CREATE TABLE conversations_v2 (
    key TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    value TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (key, conversation_id)
);
CREATE TABLE history (id INTEGER PRIMARY KEY, command TEXT);

INSERT INTO conversations VALUES ('/work/old', '{"conversation_id":"5e7f9a10-3d5f-4b7c-8e9a-2f1e0d9c8b7a","history":[[{"content":{"Prompt":{"prompt":"Hello"}},"env_context":{"env_state":{"operating_system":"linux","current_working_directory":"/work/shop","environment_variables":[]}}},{"Response":{"message_id":null,"content":"Hello."}}]],"model":"claude-4-sonnet","latest_summary":null,"next_message":null}');
INSERT INTO conversations_v2 VALUES
    ('/work/shop', '7b9d1f30-2c4e-4a6b-9d8f-1e2d3c4b5a69', '{"conversation_id":"7b9d1f30-2c4e-4a6b-9d8f-1e2d3c4b5a69","next_message":null,"history":[{"user":{"additional_context":"","env_context":{"env_state":{"operating_system":"linux","current_working_directory":"/work/shop","environment_variables":[]}},"content":{"Prompt":{"prompt":"List the files."}},"timestamp":"2026-03-21T09:00:00+00:00","images":null},"assistant":{"ToolUse":{"message_id":"b1b2c3d4-0001-4000-8000-000000000001","content":"","tool_uses":[{"id":"tooluse_Ff6","name":"execute_bash","orig_name":"execute_bash","args":{"command":"ls"},"orig_args":{"command":"ls"}}]}},"request_metadata":{"request_id":"req-5","message_id":"b1b2c3d4-0001-4000-8000-000000000001","request_start_timestamp_ms":1774083601000,"stream_end_timestamp_ms":1774083602000,"time_to_first_chunk":{"secs":1,"nanos":0},"model_id":"claude-sonnet-4.5","user_prompt_length":20,"response_size":90,"context_usage_percentage":3.5}}],"latest_summary":["The files were discussed.",{"request_id":"req-0","message_id":"b1b2c3d4-0001-4000-8000-000000000000","request_start_timestamp_ms":1774083000000,"stream_end_timestamp_ms":1774083004000}],"model_info":{"model_id":"auto","context_window_tokens":200000}}', 1774083000000, 1774083602000);
INSERT INTO history (command) VALUES ('ls');
