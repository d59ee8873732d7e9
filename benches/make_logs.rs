//! Writes logs of as many turns as asked for, the same each time: what large archives are measured with.
//!
//! `cargo run --release --example make_logs -- FOLDER 1000000`, then `agentlogs ingest FOLDER`.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::{env, process};

/// Turns of a session, on average.
const TURNS: u64 = 50;
/// From Monday, 2026-01-05, on: microseconds.
const START: i64 = 1_767_571_200_000_000;
const MODELS: [&str; 6] = [
    "claude-opus-4-7",
    "claude-sonnet-4-5-20250929",
    "claude-haiku-4-5-20251001",
    "claude-sonnet-4-6",
    "kimi-k2",
    "glm-5",
];
const TOOLS: [(&str, &str); 8] = [
    ("Bash", r#"{"command":"cargo test"}"#),
    ("Read", r#"{"file_path":"/work/shop/src/cart.ts"}"#),
    ("Edit", r#"{"file_path":"/work/shop/src/cart.ts","old_string":"a","new_string":"b"}"#),
    ("Grep", r#"{"pattern":"TODO"}"#),
    ("Write", r#"{"file_path":"/work/shop/notes.md","content":"x"}"#),
    ("mcp__docs__lookup", r#"{"topic":"routes"}"#),
    ("Glob", r#"{"pattern":"**/*.ts"}"#),
    ("WebFetch", r#"{"url":"https://example.com/a"}"#),
];

/// Pseudo-random numbers with a fixed seed.
struct Numbers(oorandom::Rand32);

impl Numbers {
    fn below(&mut self, end: u32) -> u32 {
        self.0.rand_range(0..end)
    }
}

fn main() {
    let mut arguments = env::args().skip(1);
    let directory = arguments.next().map(PathBuf::from);
    let turns = arguments.next().and_then(|it| it.parse().ok());
    let (Some(directory), Some(turns)) = (directory, turns) else {
        let _ = writeln!(io::stderr(), "usage: make_logs FOLDER TURNS");
        process::exit(2);
    };
    if let Err(error) = make(&directory, turns) {
        let _ = writeln!(io::stderr(), "make_logs: {}: {error}", directory.display());
        process::exit(1);
    }
}

/// Sessions of Claude Code as it keeps them, in a directory for each project.
fn make(directory: &std::path::Path, turns: u64) -> io::Result<()> {
    let mut numbers = Numbers(oorandom::Rand32::new(7));
    let sessions = turns.div_ceil(TURNS);
    let mut left = turns;
    for session in 0..sessions {
        let count = if session + 1 == sessions { left } else { u64::from(numbers.below(2 * 50 - 1)).min(left) };
        left -= count;
        let project = format!("project-{}", numbers.below(40));
        fs::create_dir_all(directory.join(&project))?;
        let id = format!("{session:08x}-0000-4000-8000-000000000000");
        let mut out = BufWriter::new(File::create(directory.join(&project).join(format!("{id}.jsonl")))?);
        // A year of sessions, spread evenly.
        let mut time = START + i64::try_from(session * 31_536_000_000_000 / sessions).unwrap_or(0);
        let model = MODELS[numbers.below(6) as usize];
        let stamp = |time: i64| jiff::Timestamp::from_microsecond(time / 1000 * 1000).unwrap_or_default();
        let common = |kind: &str, uuid: &str, time: i64| {
            let time = stamp(time);
            format!(
                r#"{{"type":"{kind}","uuid":"{uuid}","sessionId":"{id}","cwd":"/work/{project}","version":"2.1.300","timestamp":"{time}","#
            )
        };
        let prompt = r#""message":{"role":"user","content":"Make the tests pass."}}"#;
        writeln!(out, "{}{prompt}", common("user", &format!("u{session}"), time))?;
        let mut context = 12_000;
        for turn in 0..count {
            time += i64::from(2 + numbers.below(60)) * 1_000_000;
            let (tool, input) = TOOLS[(numbers.below(8).min(numbers.below(8))) as usize];
            let (written, output) = (200 + numbers.below(3000), 50 + numbers.below(900));
            let name = format!("{session}x{turn}");
            writeln!(
                out,
                r#"{}"requestId":"req_{name}","message":{{"id":"msg_{name}","model":"{model}","role":"assistant","stop_reason":"tool_use","content":[{{"type":"tool_use","id":"toolu_{name}","name":"{tool}","input":{input}}}],"usage":{{"input_tokens":{},"cache_read_input_tokens":{context},"cache_creation_input_tokens":{written},"output_tokens":{output}}}}}}}"#,
                common("assistant", &format!("a{name}"), time),
                numbers.below(40)
            )?;
            context += written;
            time += i64::from(numbers.below(20_000)) * 1000;
            let is_error = numbers.below(12) == 0;
            writeln!(
                out,
                r#"{}"message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"toolu_{name}","is_error":{is_error},"content":"{}"}}]}}}}"#,
                common("user", &format!("r{name}"), time),
                "x".repeat(numbers.below(200) as usize)
            )?;
        }
        out.flush()?;
    }
    Ok(())
}
