-- goose of schema 4: the sums of a session, those of another that failed, and one that knows only its last request.
CREATE TABLE schema_version (version INTEGER PRIMARY KEY, applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP);
CREATE TABLE sessions (
  id TEXT PRIMARY KEY, description TEXT NOT NULL DEFAULT '', working_dir TEXT NOT NULL,
  created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, extension_data TEXT DEFAULT '{}',
  total_tokens INTEGER, input_tokens INTEGER, output_tokens INTEGER, accumulated_total_tokens INTEGER,
  accumulated_input_tokens INTEGER, accumulated_output_tokens INTEGER, schedule_id TEXT, recipe_json TEXT,
  user_recipe_values_json TEXT, name TEXT DEFAULT '', user_set_name BOOLEAN DEFAULT FALSE
);
CREATE TABLE messages (
  id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL REFERENCES sessions(id), role TEXT NOT NULL,
  content_json TEXT NOT NULL, created_timestamp INTEGER NOT NULL, timestamp TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
  tokens INTEGER, metadata_json TEXT
);
INSERT INTO schema_version VALUES (4, '2025-10-20 08:00:00');
INSERT INTO sessions (id, working_dir, created_at, updated_at, total_tokens, input_tokens, output_tokens, accumulated_total_tokens, accumulated_input_tokens, accumulated_output_tokens) VALUES
('20251020_1', '/work/harp', '2025-10-20 08:30:00', '2025-10-20 08:31:00', 1250, 1200, 50, 2250, 2100, 90),
('20251020_2', '/work/harp', '2025-10-20 09:00:00', '2025-10-20 09:00:05', NULL, NULL, NULL, NULL, NULL, NULL),
('20250301_101500', '/work/harp', '2025-03-01 10:15:00', '2025-03-01 10:16:00', 700, 650, 50, NULL, NULL, NULL);
INSERT INTO messages (session_id, role, content_json, created_timestamp, metadata_json) VALUES
('20251020_1', 'user', '[{"type":"text","text":"Tune the harp"}]', 1760949001, '{"userVisible":true,"agentVisible":true}'),
('20251020_1', 'assistant', '[{"type":"toolRequest","id":"call_1","toolCall":{"status":"error","error":"-32602: Could not interpret tool use parameters"}}]', 1760949010, '{"userVisible":true,"agentVisible":true}'),
('20251020_1', 'user', '[{"type":"toolResponse","id":"call_1","toolResult":{"status":"error","error":"-32602: Could not interpret tool use parameters"}}]', 1760949010, '{"userVisible":true,"agentVisible":true}'),
('20251020_1', 'assistant', '[{"type":"text","text":"Tuned."}]', 1760949060, '{"userVisible":true,"agentVisible":true}'),
('20251020_2', 'user', '[{"type":"text","text":"And the lute"}]', 1760950801, '{"userVisible":true,"agentVisible":true}'),
('20251020_2', 'assistant', '[{"type":"text","text":"Ran into this error: Rate limit exceeded: 429.\n\nPlease retry if you think this is a transient or recoverable error."}]', 1760950805, '{"userVisible":true,"agentVisible":true}'),
('20250301_101500', 'user', '[{"type":"text","text":"Play"}]', 1740824101, NULL);
