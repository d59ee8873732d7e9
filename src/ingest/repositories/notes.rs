//! Sessions that notes of commits name: those of git-ai (<https://github.com/git-ai-project/git-ai>), whose note ends in JSON with the
//! agent and its id, and of Agent Trace (<https://agent-trace.dev>), JSON with the addresses of conversations.

use std::collections::BTreeMap;

use gix::objs::Kind;
use gix::{ObjectId, Repository};
use serde_json::Value;

use super::changes::{Failed, changes};
use super::message::{add, session_id};
use super::objects::{MAX_TEXT, id_of, read};

/// The line before the JSON of a note of git-ai.
const DIVIDER: &str = "\n---\n";

/// The sessions that notes name, by commit. `target` is the commit of the notes.
pub(super) fn read_notes(
    repository: &Repository,
    target: ObjectId,
    is_wanted: impl Fn(&str) -> bool,
    found: &mut BTreeMap<String, Vec<String>>,
) -> Result<(), Failed> {
    let tree = super::commit::read_commit(repository, target)?.tree;
    for note in changes(repository, None, Some(tree))? {
        // The path is the hash, perhaps with slashes after its first digits.
        let hash: String = note.path.iter().filter(|byte| **byte != b'/').map(|byte| char::from(*byte)).collect();
        let Some(item) = note.new.filter(|_| id_of(&hash).is_some() && is_wanted(&hash)) else { continue };
        let data = read(repository, item.id, Kind::Blob, MAX_TEXT)?;
        let ids = sessions_of(&String::from_utf8_lossy(&data));
        if !ids.is_empty() {
            let known = found.entry(hash).or_default();
            for id in ids {
                add(known, Some(id));
            }
        }
    }
    Ok(())
}

/// The sessions that a note names.
fn sessions_of(note: &str) -> Vec<String> {
    let json = note.split_once(DIVIDER).map_or(note, |(_, json)| json);
    let mut found = Vec::new();
    // serde_json bounds the depth.
    if let Ok(value) = serde_json::from_str(json) {
        search(&value, &mut found);
    }
    found
}

fn search(value: &Value, found: &mut Vec<String>) {
    let text = |value: &Value| value.as_str().and_then(session_id);
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                match key.as_str() {
                    "agent_id" => add(found, value.get("id").and_then(text)),
                    "session_id" | "sessionId" | "conversation_id" => add(found, text(value)),
                    "conversations" => {
                        let conversations = value.as_array().into_iter().flatten();
                        conversations.for_each(|it| add(found, it.get("url").and_then(text)));
                    }
                    "related" => {
                        let related = value.as_array().into_iter().flatten();
                        let sessions = related.filter(|it| it.get("type").and_then(Value::as_str) == Some("session"));
                        sessions.for_each(|it| add(found, it.get("url").and_then(text)));
                    }
                    _ => {}
                }
                search(value, found);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| search(value, found)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_of_git_ai_and_agent_trace_name_sessions() {
        let git_ai = "src/cart.rs\n  abcd1234abcd1234 1-10\n---\n{\"schema_version\": \"authorship/3.0.0\", \"prompts\": \
            {\"abcd1234abcd1234\": {\"agent_id\": {\"tool\": \"claude\", \"id\": \"0f6c1d5e-1\", \"model\": \"m\"}, \
            \"messages\": []}}}";
        assert_eq!(sessions_of(git_ai), ["0f6c1d5e-1"]);
        let trace = "{\"version\": \"0.1.0\", \"files\": [{\"path\": \"a\", \"conversations\": [{\"url\": \
            \"https://api.example.com/v1/conversations/12345\", \"related\": [{\"type\": \"session\", \"url\": \
            \"https://example.com/sessions/s-77\"}, {\"type\": \"other\", \"url\": \"https://example.com/x/y-88\"}]}]}]}";
        assert_eq!(sessions_of(trace), ["12345", "s-77"]);
        assert!(sessions_of("no note").is_empty());
        assert!(sessions_of(&"[".repeat(100_000)).is_empty());
    }
}
