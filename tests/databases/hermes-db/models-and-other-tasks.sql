-- Hermes of schema 22: a session whose model was changed, with compressions and titles of another model, and one whose gateway set sums.
CREATE TABLE schema_version (version INTEGER NOT NULL);
CREATE TABLE sessions (
  id TEXT PRIMARY KEY, source TEXT NOT NULL, model TEXT, model_config TEXT, parent_session_id TEXT, started_at REAL NOT NULL, ended_at REAL, end_reason TEXT,
  message_count INTEGER DEFAULT 0, tool_call_count INTEGER DEFAULT 0, input_tokens INTEGER DEFAULT 0, output_tokens INTEGER DEFAULT 0,
  cache_read_tokens INTEGER DEFAULT 0, cache_write_tokens INTEGER DEFAULT 0, reasoning_tokens INTEGER DEFAULT 0, cwd TEXT, git_branch TEXT,
  billing_provider TEXT, estimated_cost_usd REAL, actual_cost_usd REAL, cost_status TEXT, cost_source TEXT, api_call_count INTEGER DEFAULT 0
);
CREATE TABLE messages (
  id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, role TEXT NOT NULL, content TEXT, tool_call_id TEXT, tool_calls TEXT,
  tool_name TEXT, timestamp REAL NOT NULL, finish_reason TEXT, active INTEGER DEFAULT 1
);
CREATE TABLE session_model_usage (
  session_id TEXT NOT NULL, model TEXT NOT NULL, billing_provider TEXT NOT NULL DEFAULT '', billing_base_url TEXT NOT NULL DEFAULT '',
  billing_mode TEXT NOT NULL DEFAULT '', task TEXT NOT NULL DEFAULT '', api_call_count INTEGER NOT NULL DEFAULT 0,
  input_tokens INTEGER NOT NULL DEFAULT 0, output_tokens INTEGER NOT NULL DEFAULT 0, cache_read_tokens INTEGER NOT NULL DEFAULT 0,
  cache_write_tokens INTEGER NOT NULL DEFAULT 0, reasoning_tokens INTEGER NOT NULL DEFAULT 0, estimated_cost_usd REAL NOT NULL DEFAULT 0,
  actual_cost_usd REAL NOT NULL DEFAULT 0, cost_status TEXT, cost_source TEXT, first_seen REAL, last_seen REAL,
  PRIMARY KEY (session_id, model, billing_provider, billing_base_url, billing_mode, task)
);
INSERT INTO schema_version VALUES (22);
INSERT INTO sessions (id, source, model, started_at, ended_at, end_reason, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, cwd, billing_provider, estimated_cost_usd, cost_status, api_call_count) VALUES
('20260720_090000_bb0001', 'cli', 'claude-opus-4-6', 1784538000.0, 1784538300.0, 'user_exit', 8000, 900, 21000, 3000, '/work/mill', 'anthropic', 0.07, 'estimated', 4),
('20260720_100000_bb0002', 'telegram', 'claude-opus-4-6', 1784541600.0, NULL, NULL, 1200, 100, 0, 0, NULL, 'anthropic', 0.0, 'unknown', 2);
INSERT INTO session_model_usage (session_id, model, billing_provider, task, api_call_count, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, estimated_cost_usd, cost_status) VALUES
('20260720_090000_bb0001', 'claude-haiku-4-5', 'anthropic', '', 3, 6000, 500, 21000, 3000, 0.02, 'estimated'),
('20260720_090000_bb0001', 'claude-opus-4-6', 'anthropic', '', 1, 2000, 400, 0, 0, 0.05, 'estimated'),
('20260720_090000_bb0001', 'gemini-2.5-flash', 'google', 'compression', 1, 24000, 800, 0, 0, 0.01, NULL),
('20260720_090000_bb0001', 'gemini-2.5-flash', 'google', 'title_generation', 1, 300, 8, 0, 0, 0.0, NULL),
('20260720_100000_bb0002', 'claude-opus-4-6', 'anthropic', '', 1, 700, 60, 0, 0, 0.0, 'unknown');
INSERT INTO messages (session_id, role, content, timestamp, finish_reason) VALUES
('20260720_090000_bb0001', 'user', 'Grind the oats', 1784538001.0, NULL),
('20260720_090000_bb0001', 'assistant', 'The oats are ground.', 1784538100.0, 'stop'),
('20260720_090000_bb0001', 'user', 'And the barley', 1784538200.0, NULL),
('20260720_090000_bb0001', 'assistant', 'The barley is ground.', 1784538299.0, 'stop'),
('20260720_100000_bb0002', 'user', 'Is there flour?', 1784541601.0, NULL),
('20260720_100000_bb0002', 'assistant', 'There is.', 1784541610.0, 'stop');
