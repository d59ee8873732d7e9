-- Hermes of schema 6: a session that ended in an error of a tool, one of cron, and one without a model and an end.
CREATE TABLE schema_version (version INTEGER NOT NULL);
CREATE TABLE sessions (
  id TEXT PRIMARY KEY, source TEXT NOT NULL, user_id TEXT, model TEXT, model_config TEXT, system_prompt TEXT, parent_session_id TEXT,
  started_at REAL NOT NULL, ended_at REAL, end_reason TEXT, message_count INTEGER DEFAULT 0, tool_call_count INTEGER DEFAULT 0,
  input_tokens INTEGER DEFAULT 0, output_tokens INTEGER DEFAULT 0, cache_read_tokens INTEGER DEFAULT 0, cache_write_tokens INTEGER DEFAULT 0,
  reasoning_tokens INTEGER DEFAULT 0, billing_provider TEXT, billing_base_url TEXT, billing_mode TEXT, estimated_cost_usd REAL,
  actual_cost_usd REAL, cost_status TEXT, cost_source TEXT, pricing_version TEXT, title TEXT
);
CREATE TABLE messages (
  id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, role TEXT NOT NULL, content TEXT, tool_call_id TEXT, tool_calls TEXT,
  tool_name TEXT, timestamp REAL NOT NULL, token_count INTEGER, finish_reason TEXT, reasoning TEXT, codex_reasoning_items TEXT
);
INSERT INTO schema_version VALUES (6);
INSERT INTO sessions (id, source, model, started_at, ended_at, end_reason, message_count, tool_call_count, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens, billing_provider, estimated_cost_usd, cost_status) VALUES
('20260504_091500_a1b2c3', 'cli', 'anthropic/claude-sonnet-4.5', 1777886100.25, 1777886220.5, 'user_exit', 5, 2, 4200, 310, 18000, 2500, 0, 'openrouter', 0.0, 'unknown'),
('cron_ab12_20260504_100000', 'cron', 'null', 1777888800.0, 1777888830.0, 'cron_complete', 2, 0, 900, 40, 0, 0, 0, NULL, 0.0, 'unknown'),
('20260504_110000_d4e5f6', 'telegram', NULL, 1777892400.0, NULL, NULL, 1, 0, 0, 0, 0, 0, 0, NULL, NULL, NULL);
INSERT INTO messages (session_id, role, content, tool_call_id, tool_calls, tool_name, timestamp, finish_reason) VALUES
('20260504_091500_a1b2c3', 'user', 'How deep is the well?', NULL, NULL, NULL, 1777886101.5, NULL),
('20260504_091500_a1b2c3', 'assistant', '', NULL, '[{"id":"call_w1","call_id":"call_w1","type":"function","function":{"name":"terminal","arguments":"{\"command\":\"cd /well && ./measure\"}"}},{"id":"call_w2","call_id":"call_w2","type":"function","function":{"name":"read_file","arguments":"{\"path\":\"/well/depth.txt\"}"}}]', NULL, 1777886110.0, 'stop'),
('20260504_091500_a1b2c3', 'tool', '{"output": "no rope", "exit_code": 3, "error": null}', 'call_w1', NULL, NULL, 1777886111.0, NULL),
('20260504_091500_a1b2c3', 'tool', '{"content": "1|12 m", "total_lines": 1}', 'call_w2', NULL, NULL, 1777886111.25, NULL),
('20260504_091500_a1b2c3', 'assistant', 'The well is 12 m deep.', NULL, NULL, NULL, 1777886220.0, 'stop'),
('cron_ab12_20260504_100000', 'user', 'Report the weather', NULL, NULL, NULL, 1777888801.0, NULL),
('cron_ab12_20260504_100000', 'assistant', 'Rain.', NULL, NULL, NULL, 1777888829.0, 'stop'),
('20260504_110000_d4e5f6', 'user', 'Are you there?', NULL, NULL, NULL, 1777892401.0, NULL);
