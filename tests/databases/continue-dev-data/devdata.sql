-- The database of an older version of Continue, which repeats tokens_generated.jsonl with times.
CREATE TABLE tokens_generated (
  id INTEGER PRIMARY KEY AUTOINCREMENT, model TEXT NOT NULL, provider TEXT NOT NULL, tokens_generated INTEGER NOT NULL,
  tokens_prompt INTEGER NOT NULL DEFAULT 0, timestamp DATETIME DEFAULT CURRENT_TIMESTAMP
);
INSERT INTO tokens_generated (model, provider, tokens_generated, tokens_prompt, timestamp) VALUES
('deepseek-coder-v2', 'ollama', 51, 43, '2024-09-28 09:37:21'),
('deepseek-coder-v2', 'ollama', 10, 39, '2024-09-28 09:41:55'),
('deepseek-coder-v2', 'ollama', 10, 39, '2024-09-28 09:43:00');
