-- Crush of 2026: marked summaries, ids of subagents from message and call, and columns that a fork added.
CREATE TABLE goose_db_version (id INTEGER PRIMARY KEY AUTOINCREMENT, version_id INTEGER NOT NULL, is_applied INTEGER NOT NULL, tstamp TIMESTAMP DEFAULT (datetime('now')));
CREATE TABLE sessions (
  id TEXT PRIMARY KEY, parent_session_id TEXT, title TEXT NOT NULL, message_count INTEGER NOT NULL DEFAULT 0,
  prompt_tokens INTEGER NOT NULL DEFAULT 0, completion_tokens INTEGER NOT NULL DEFAULT 0, cost REAL NOT NULL DEFAULT 0.0,
  updated_at INTEGER NOT NULL, created_at INTEGER NOT NULL, summary_message_id TEXT, todos TEXT, pinned INTEGER
);
CREATE TABLE messages (
  id TEXT PRIMARY KEY, session_id TEXT NOT NULL, role TEXT NOT NULL, parts TEXT NOT NULL DEFAULT '[]', model TEXT,
  created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, finished_at INTEGER, provider TEXT, is_summary_message INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE read_files (session_id TEXT NOT NULL, path TEXT NOT NULL, read_at INTEGER NOT NULL);
INSERT INTO goose_db_version (version_id, is_applied, tstamp) VALUES (20260127000000, 1, '2026-02-01 10:00:00');
INSERT INTO sessions (id, parent_session_id, title, message_count, prompt_tokens, completion_tokens, cost, updated_at, created_at, summary_message_id) VALUES
('7c11aa00-0001-4b20-8d00-bbbbbbbbbbbb', NULL, 'Night train', 6, 0, 120, 0.0, 1791000300, 1791000000, 'n-04'),
('n-02$$toolu_77', '7c11aa00-0001-4b20-8d00-bbbbbbbbbbbb', 'Timetable', 2, 900, 30, 0.0, 1791000040, 1791000020, NULL);
INSERT INTO messages (id, session_id, role, parts, model, provider, created_at, updated_at, finished_at, is_summary_message) VALUES
('n-01', '7c11aa00-0001-4b20-8d00-bbbbbbbbbbbb', 'user', '[{"type":"text","data":{"text":"Plan the night train"}},{"type":"finish","data":{"reason":"stop","time":0}}]', '', NULL, 1791000000, 1791000000, NULL, 0),
('n-02', '7c11aa00-0001-4b20-8d00-bbbbbbbbbbbb', 'assistant', '[{"type":"tool_call","data":{"id":"toolu_77","name":"agent","input":"{\"prompt\":\"Read the timetable\"}","provider_executed":false,"finished":true}},{"type":"tool_call","data":{"id":"toolu_78","name":"write","input":"{\"file_path\":\"/work/train/plan.md\",\"content\":\"22:10\\n\"}","provider_executed":false,"finished":true}},{"type":"finish","data":{"reason":"tool_use","time":1791000018}}]', 'qwen3-coder', 'ollama', 1791000001, 1791000018, 1791000018, 0),
('n-03', '7c11aa00-0001-4b20-8d00-bbbbbbbbbbbb', 'tool', '[{"type":"tool_result","data":{"tool_call_id":"toolu_77","name":"agent","content":"Departs 22:10","data":"","mime_type":"","metadata":"","is_error":false}},{"type":"tool_result","data":{"tool_call_id":"toolu_78","name":"write","content":"<result>\nFile successfully written: /work/train/plan.md\n</result>","metadata":"{\"diff\":\"\",\"additions\":1,\"removals\":0}","is_error":false}}]', '', 'ollama', 1791000041, 1791000041, NULL, 0),
('n-04', '7c11aa00-0001-4b20-8d00-bbbbbbbbbbbb', 'assistant', '[{"type":"text","data":{"text":"Summary: the train departs at 22:10."}},{"type":"finish","data":{"reason":"end_turn","time":1791000100}}]', 'qwen3-coder', 'ollama', 1791000090, 1791000100, 1791000100, 1),
('n-05', '7c11aa00-0001-4b20-8d00-bbbbbbbbbbbb', 'user', '[{"type":"text","data":{"text":"Now the return"}}]', '', NULL, 1791000200, 1791000200, NULL, 0),
('n-06', '7c11aa00-0001-4b20-8d00-bbbbbbbbbbbb', 'assistant', '[{"type":"tool_call","data":{"id":"toolu_79","name":"bash","input":"{\"command\":\"sleep 60\"}","finished":true}},{"type":"finish","data":{"reason":"canceled","time":1791000300,"message":"User canceled request","details":""}}]', 'qwen3-coder', 'ollama', 1791000201, 1791000300, 1791000300, 0),
('n-11', 'n-02$$toolu_77', 'user', '[{"type":"text","data":{"text":"Read the timetable"}}]', '', NULL, 1791000020, 1791000020, NULL, 0),
('n-12', 'n-02$$toolu_77', 'assistant', '[{"type":"text","data":{"text":"Departs 22:10"}},{"type":"finish","data":{"reason":"end_turn","time":1791000040}}]', 'qwen3-coder', 'ollama', 1791000021, 1791000040, 1791000040, 0);
