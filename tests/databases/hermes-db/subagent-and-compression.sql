-- Hermes of schema 17: a subagent, a session that goes on after a compression, a message that was taken back, and costs.
CREATE TABLE schema_version (version INTEGER NOT NULL);
CREATE TABLE sessions (
  id TEXT PRIMARY KEY, source TEXT NOT NULL, model TEXT, model_config TEXT, parent_session_id TEXT, started_at REAL NOT NULL, ended_at REAL, end_reason TEXT,
  message_count INTEGER DEFAULT 0, tool_call_count INTEGER DEFAULT 0, input_tokens INTEGER DEFAULT 0, output_tokens INTEGER DEFAULT 0,
  cache_read_tokens INTEGER DEFAULT 0, cache_write_tokens INTEGER DEFAULT 0, reasoning_tokens INTEGER DEFAULT 0, cwd TEXT, git_branch TEXT,
  git_repo_root TEXT, billing_provider TEXT, estimated_cost_usd REAL, actual_cost_usd REAL, cost_status TEXT, cost_source TEXT,
  api_call_count INTEGER DEFAULT 0, session_key TEXT, archived INTEGER DEFAULT 0
);
CREATE TABLE messages (
  id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, role TEXT NOT NULL, content TEXT, tool_call_id TEXT, tool_calls TEXT,
  tool_name TEXT, timestamp REAL NOT NULL, finish_reason TEXT, codex_reasoning_items TEXT, active INTEGER DEFAULT 1, compacted INTEGER DEFAULT 0, observed INTEGER DEFAULT 0
);
CREATE VIRTUAL TABLE messages_fts USING fts5(content);
INSERT INTO schema_version VALUES (17);
INSERT INTO sessions (id, source, model, model_config, parent_session_id, started_at, ended_at, end_reason, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens, cwd, git_branch, billing_provider, estimated_cost_usd, actual_cost_usd, cost_status, api_call_count) VALUES
('20260711_080000_aa0001', 'cli', 'gpt-5.2', '{"max_iterations": 60, "reasoning_config": {"enabled": true, "effort": "high"}, "max_tokens": null}', NULL, 1783756800.0, 1783757100.0, 'compression', 9000, 700, 41000, 0, 250, '/work/mill', 'main', 'openai', 0.0325, NULL, 'estimated', 3),
('20260711_080500_aa0002', 'cli', 'gpt-5.2', '{"max_iterations": 60, "reasoning_config": {"enabled": false}}', '20260711_080000_aa0001', 1783757100.0, 1783757400.0, 'user_exit', 3000, 120, 12000, 0, 0, '/work/mill', 'main', 'openai', 0.01, 0.0091, 'actual', 1),
('20260711_080600_aa0003', 'cli', 'gpt-5.2-mini', NULL, '20260711_080500_aa0002', 1783757160.0, NULL, NULL, 1500, 60, 0, 0, 0, '/work/mill', 'main', 'openai', 0.0, NULL, 'included', 1);
INSERT INTO messages (session_id, role, content, tool_call_id, tool_calls, tool_name, timestamp, finish_reason, active) VALUES
('20260711_080000_aa0001', 'user', 'Grind the corn', NULL, NULL, NULL, 1783756801.0, NULL, 1),
('20260711_080000_aa0001', 'assistant', '', NULL, '[{"id":"call_m1","type":"function","function":{"name":"write_file","arguments":"{\"path\":\"/work/mill/corn.py\",\"content\":\"GRIND = True\\n\"}"}}]', NULL, 1783756820.0, 'tool_calls', 1),
('20260711_080000_aa0001', 'tool', '{"success": true, "bytes_written": 13}', 'call_m1', NULL, 'write_file', 1783756821.0, NULL, 1),
('20260711_080000_aa0001', 'assistant', '', NULL, '[{"id":"call_m2","type":"function","function":{"name":"web_search","arguments":"{\"query\":\"millstones\"}"}}]', NULL, 1783756840.0, 'tool_calls', 1),
('20260711_080000_aa0001', 'tool', '<untrusted_tool_result source="web">{"error": "none"}</untrusted_tool_result>', 'call_m2', NULL, 'web_search', 1783756843.0, NULL, 1),
('20260711_080000_aa0001', 'assistant', 'The corn is ground.', NULL, NULL, NULL, 1783757000.0, 'stop', 1),
('20260711_080500_aa0002', 'user', 'And the rye', NULL, NULL, NULL, 1783757110.0, NULL, 1),
('20260711_080500_aa0002', 'assistant', '', NULL, '[{"id":"call_m3","type":"function","function":{"name":"delegate_task","arguments":"{\"goal\":\"Grind the rye\"}"}}]', NULL, 1783757150.0, 'tool_calls', 1),
('20260711_080500_aa0002', 'tool', '{"status": "error", "error": "timeout"}', 'call_m3', NULL, 'delegate_task', 1783757300.0, NULL, 1),
('20260711_080500_aa0002', 'assistant', 'The rye is wet.', NULL, NULL, NULL, 1783757350.0, 'stop', 1),
('20260711_080500_aa0002', 'user', 'Dry it', NULL, NULL, NULL, 1783757390.0, NULL, 0),
('20260711_080600_aa0003', 'user', 'Grind the rye', NULL, NULL, NULL, 1783757161.0, NULL, 1),
('20260711_080600_aa0003', 'assistant', 'It is wet.', NULL, NULL, NULL, 1783757200.0, 'stop', 1);
