-- goose since schema 15: sums from before the ledger, requests in it, a refused call, a compaction and a subagent.
CREATE TABLE schema_version (version INTEGER PRIMARY KEY, applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP);
CREATE TABLE sessions (
  id TEXT PRIMARY KEY, name TEXT NOT NULL DEFAULT '', description TEXT NOT NULL DEFAULT '', user_set_name BOOLEAN DEFAULT FALSE,
  session_type TEXT NOT NULL DEFAULT 'user', working_dir TEXT NOT NULL, created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
  updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, extension_data TEXT DEFAULT '{}', total_tokens INTEGER, input_tokens INTEGER,
  output_tokens INTEGER, cache_read_tokens INTEGER, cache_write_tokens INTEGER, accumulated_total_tokens INTEGER,
  accumulated_input_tokens INTEGER, accumulated_output_tokens INTEGER, accumulated_cache_read_tokens INTEGER,
  accumulated_cache_write_tokens INTEGER, accumulated_cost REAL, schedule_id TEXT, recipe_json TEXT,
  user_recipe_values_json TEXT, provider_name TEXT, model_config_json TEXT, goose_mode TEXT NOT NULL DEFAULT 'auto',
  archived_at TIMESTAMP, project_id TEXT, parent_session_id TEXT
);
CREATE TABLE messages (
  id INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT, session_id TEXT NOT NULL REFERENCES sessions(id), role TEXT NOT NULL,
  content_json TEXT NOT NULL, created_timestamp INTEGER NOT NULL, timestamp TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
  tokens INTEGER, metadata_json TEXT
);
CREATE TABLE usage_ledger (
  id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
  created_timestamp INTEGER NOT NULL, model TEXT, input_tokens INTEGER, output_tokens INTEGER, total_tokens INTEGER,
  cache_read_tokens INTEGER, cache_write_tokens INTEGER, cost REAL, cost_source TEXT, is_compaction INTEGER DEFAULT 0
);
CREATE INDEX idx_messages_session ON messages(session_id);
INSERT INTO schema_version VALUES (16, '2026-10-05 09:00:00');
INSERT INTO sessions (id, name, session_type, working_dir, created_at, updated_at, total_tokens, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, accumulated_total_tokens, accumulated_input_tokens, accumulated_output_tokens, accumulated_cache_read_tokens, accumulated_cache_write_tokens, accumulated_cost, provider_name, model_config_json)
VALUES ('20261005_1', 'Sort the shelves', 'user', '/work/pantry', '2026-10-05 10:00:00', '2026-10-05 10:05:00', 2100, 2000, 100, 1500, 0, 13340, 13000, 340, 4500, 1200, 0.0525, 'anthropic', '{"model_name":"claude-sonnet-4-5","context_limit":null,"temperature":null,"max_tokens":null,"toolshim":false,"toolshim_model":null}');
INSERT INTO sessions (id, name, session_type, working_dir, created_at, updated_at, total_tokens, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, accumulated_total_tokens, accumulated_input_tokens, accumulated_output_tokens, accumulated_cache_read_tokens, accumulated_cache_write_tokens, accumulated_cost, provider_name, model_config_json, parent_session_id)
VALUES ('20261005_2', 'Subagent task', 'sub_agent', '/work/pantry', '2026-10-05 10:02:00', '2026-10-05 10:02:09', 640, 600, 40, 0, 0, 640, 600, 40, 0, 0, 0.0024, 'anthropic', '{"model_name":"claude-sonnet-4-5"}', '20261005_1');
INSERT INTO messages (message_id, session_id, role, content_json, created_timestamp, metadata_json) VALUES
('msg_20261005_1_a1', '20261005_1', 'user', '[{"type":"text","text":"Sort the shelves by date"}]', 1791194401, '{"userVisible":true,"agentVisible":true}'),
('msg_20261005_1_a2', '20261005_1', 'assistant', '[{"type":"text","text":"I look first."},{"type":"toolRequest","id":"toolu_a","toolCall":{"status":"success","value":{"name":"developer__shell","arguments":{"command":"ls shelves | wc -l"}}}}]', 1791194405, '{"userVisible":true,"agentVisible":true}'),
('msg_20261005_1_a3', '20261005_1', 'user', '[{"type":"toolResponse","id":"toolu_a","toolResult":{"status":"success","value":{"content":[{"type":"text","text":"12\n"}],"isError":false}}}]', 1791194405, '{"userVisible":true,"agentVisible":true}'),
('msg_20261005_1_a4', '20261005_1', 'assistant', '[{"type":"toolRequest","id":"toolu_b","toolCall":{"status":"success","value":{"name":"developer__text_editor","arguments":{"command":"str_replace","path":"/work/pantry/shelves.txt","old_str":"b\na","new_str":"a\nb"}}}},{"type":"toolRequest","id":"toolu_c","toolCall":{"status":"success","value":{"name":"calendar__add","arguments":{"day":"Monday"}}}}]', 1791194410, '{"userVisible":true,"agentVisible":true}'),
('msg_20261005_1_a5', '20261005_1', 'user', '[{"type":"toolResponse","id":"toolu_b","toolResult":{"status":"success","value":{"content":[{"type":"text","text":"The file has been edited"}],"isError":false}}},{"type":"toolResponse","id":"toolu_c","toolResult":{"status":"success","value":{"content":[{"type":"text","text":"The user has declined to run this tool. DO NOT attempt to call this tool again. If there are no alternative methods to proceed, clearly explain the situation and STOP."}],"isError":true}}}]', 1791194412, '{"userVisible":true,"agentVisible":true}'),
('msg_20261005_1_a6', '20261005_1', 'user', '[{"type":"text","text":"The conversation was summarised. Go on."}]', 1791194700, '{"userVisible":false,"agentVisible":true}'),
('msg_20261005_1_a7', '20261005_1', 'assistant', '[{"type":"text","text":"The shelves are sorted."}]', 1791194700, '{"userVisible":true,"agentVisible":true}'),
('msg_20261005_2_b1', '20261005_2', 'user', '[{"type":"text","text":"Find the dates"}]', 1791194520, '{"userVisible":true,"agentVisible":true}'),
('msg_20261005_2_b2', '20261005_2', 'assistant', '[{"type":"text","text":"Found."}]', 1791194529, '{"userVisible":true,"agentVisible":true}');
INSERT INTO usage_ledger (session_id, created_timestamp, model, input_tokens, output_tokens, total_tokens, cache_read_tokens, cache_write_tokens, cost, cost_source, is_compaction) VALUES
('20261005_1', 1791194410, NULL, 8000, 120, 8120, 1800, 900, 0.031, 'carried_forward', 0),
('20261005_1', 1791194411, 'claude-sonnet-4-5', 1800, 90, 1890, 1200, 300, 0.0105, 'estimated', 0),
('20261005_2', 1791194529, 'claude-sonnet-4-5', 600, 40, 640, 0, 0, 0.0024, 'estimated', 0),
('20261005_1', 1791194650, 'claude-haiku-4-5', 1200, 30, 1230, 0, 0, 0.0015, 'provider_reported', 1),
('20261005_1', 1791194700, 'claude-sonnet-4-5', 2000, 100, 2100, 1500, 0, 0.0095, 'estimated', 0);
