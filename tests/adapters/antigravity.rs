//! Both transcripts of a conversation of Antigravity.

use agentlogs::adapters::{self, Hints};
use agentlogs::model::retention::Retention;
use agentlogs::model::source::Source;
use agentlogs::model::tables::Tables;

use crate::{reconciled, root};

fn tables(files: &[(&str, &str)]) -> Tables {
    let source = |(path, log): &(&str, &str)| Source {
        path: (*path).to_owned(),
        sessions: adapters::parse(log.as_bytes(), Hints { path, ..Hints::default() }, Retention::Text).sessions,
        ..Source::default()
    };
    reconciled(files.iter().map(source).collect())
}

/// Either file can lack steps of the other one, and the texts of one are cut.
#[test]
fn both_transcripts_are_one_session() {
    let sample = root().join("sample-logs/antigravity-transcript/parallel-calls-edit-and-subagent.jsonl");
    let full = std::fs::read_to_string(sample).unwrap();
    let directory = "/home/u/.gemini/antigravity-cli/brain/5b1f0e52-1c4d-4e0f-9a53-0c7c1d2e3f40/.system_generated/logs";
    let (full_path, cut_path) = (format!("{directory}/transcript_full.jsonl"), format!("{directory}/transcript.jsonl"));
    let cut = full.replace("File Path: `file:///work/shop/parser.py`", "<truncated 2 lines>");
    let counts = |files: &[(&str, &str)]| {
        let tables = tables(files);
        let row = &tables.sessions[0];
        assert_eq!(tables.sessions.len(), 1);
        let rows = [tables.turns.len(), tables.tool_calls.len(), tables.file_changes.len(), tables.events.len()];
        (row.user_turns, row.compactions, row.subagents, row.tool_errors, row.lines_added, rows)
    };
    let all = (Some(1), Some(1), Some(1), Some(1), Some(5), [5, 7, 2, 2]);
    assert_eq!(counts(&[(&full_path, &full)]), all);
    assert_eq!(counts(&[(&full_path, &full), (&cut_path, &cut)]), all);
    let lines: Vec<&str> = full.lines().collect();
    let (first, second) = (lines[..9].join("\n"), lines[8..].join("\n"));
    assert_eq!(counts(&[(&full_path, &first), (&cut_path, &second)]), all);
}
