//! What several logs of one session, and sessions that share responses, become together: whatever the order of files.

use agentlogs::adapters::{self, Hints};
use agentlogs::builder::Content;
use agentlogs::ledger;
use agentlogs::source::{Source, SourceStatus};
use agentlogs::tables::Tables;

/// The tables of some logs, which have to be the same in every order of the files.
fn settled(logs: &[(&str, &str)]) -> Tables {
    let sources = || {
        logs.iter().map(|(path, text)| Source {
            path: (*path).to_owned(),
            status: SourceStatus::Parsed,
            sessions: adapters::parse(text.as_bytes(), Hints { path, runtime: None }, Content::Text).sessions,
            ..Source::default()
        })
    };
    let tables = ledger::settle(sources().collect());
    for first in 0..logs.len() {
        let mut others: Vec<Source> = sources().collect();
        others.rotate_left(first);
        assert_eq!(format!("{:?}", ledger::settle(others)), format!("{tables:?}"));
    }
    // Nor does it matter which name a file has.
    let named = |reverse: bool| {
        let rename = |(index, mut it): (usize, Source)| {
            it.path = format!("{}", if reverse { 9 - index } else { index });
            it
        };
        let tables = ledger::settle(sources().enumerate().map(rename).collect());
        tables.sessions.iter().map(|it| (it.session.session_id.clone(), it.tokens, it.turns)).collect::<Vec<_>>()
    };
    assert_eq!(named(false), named(true));
    tables
}

/// `session: tokens, turns, usage, status`, by id.
fn told(tables: &Tables) -> Vec<String> {
    let row = |it: &agentlogs::tables::SessionRow| {
        let id = &it.session.session_id;
        let (total, turns) = (it.tokens.total(), it.turns);
        format!("{id}: {total:?} {turns:?} {} {}", it.usage.as_str(), it.session.status.as_str())
    };
    tables.sessions.iter().map(row).collect()
}

mod openclaw {
    use super::{settled, told};

    const SESSION: &str = r#"{"type":"session","version":3,"id":"s1","timestamp":"2026-10-05T06:00:00.000Z","cwd":"/home/dev/.openclaw/workspace"}
{"type":"message","id":"a","parentId":null,"timestamp":"2026-10-05T06:00:01.000Z","message":{"role":"user","content":"Hi","timestamp":1791180001000}}
{"type":"message","id":"b","parentId":"a","timestamp":"2026-10-05T06:00:03.000Z","message":{"role":"assistant","content":[{"type":"text","text":"Hi."}],"provider":"anthropic","model":"claude-sonnet-4-5","usage":{"input":10,"output":5,"cacheRead":100,"cacheWrite":0},"stopReason":"STOP","timestamp":1791180002000}}
"#;

    const TRAJECTORY: &str = r#"{"traceSchema":"openclaw-trajectory","type":"session.started","ts":"2026-10-05T06:00:00.500Z","sessionId":"s1","sessionKey":"agent:main:main","runId":"r1","modelId":"claude-sonnet-4-5","data":{"trigger":"user"}}
{"traceSchema":"openclaw-trajectory","type":"prompt.submitted","ts":"2026-10-05T06:00:00.600Z","sessionId":"s1","runId":"r1","modelId":"claude-sonnet-4-5","data":{"prompt":"Hi"}}
{"traceSchema":"openclaw-trajectory","type":"model.completed","ts":"2026-10-05T06:00:03.100Z","sessionId":"s1","runId":"r1","modelId":"claude-sonnet-4-5","data":{"usage":{"input":20,"output":9,"cacheRead":100,"total":129},"assistantTexts":["Hi."]}}
{"traceSchema":"openclaw-trajectory","type":"trace.artifacts","ts":"2026-10-05T06:00:03.200Z","sessionId":"s1","runId":"r1","modelId":"claude-sonnet-4-5","data":{"finalStatus":"success","usage":{"input":20,"output":9,"cacheRead":100,"total":129},"assistantTexts":["Hi."],"toolMetas":[{"toolName":"exec"}]}}
{"traceSchema":"openclaw-trajectory","type":"session.ended","ts":"2026-10-05T06:00:03.300Z","sessionId":"s1","runId":"r1","modelId":"claude-sonnet-4-5","data":{"status":"success"}}
"#;

    #[test]
    fn a_trajectory_adds_no_tokens_where_the_session_s_own_file_shows_responses() {
        let session = SESSION.replace("STOP", "stop");
        let tables = settled(&[("s1.trajectory.jsonl", TRAJECTORY), ("s1.jsonl", &session)]);
        assert_eq!(told(&tables), ["s1: Some(115) Some(1) exact success"]);
        let row = &tables.sessions[0];
        assert_eq!((row.user_turns, row.tool_calls, row.duration_ms), (Some(1), Some(0), Some(3000)));
        assert_eq!(row.session.format, "openclaw-session");
        assert_eq!(tables.sources[row.source].path, "s1.jsonl");
    }

    #[test]
    fn a_trajectory_alone_tells_what_its_runs_spent() {
        let tables =
            settled(&[("s1.trajectory.jsonl", TRAJECTORY), ("copy.jsonl", &TRAJECTORY[..TRAJECTORY.len() - 1])]);
        assert_eq!(told(&tables), ["s1: Some(129) None exact success"]);
        let row = &tables.sessions[0];
        assert_eq!((row.user_turns, row.tool_calls, row.tool_errors), (Some(1), Some(1), None));
        // What began and has no end is a lower bound.
        let (cut, _) = TRAJECTORY.rsplit_once("\n{").unwrap();
        assert_eq!(told(&settled(&[("s1.trajectory.jsonl", cut)])), ["s1: Some(129) None lower_bound incomplete"]);
    }

    /// The file shows that the last response failed, whatever the trajectory calls a success; and a file that ends within
    /// a call has its end in the trajectory.
    #[test]
    fn a_trajectory_ends_only_what_has_no_end() {
        let failed = SESSION.replace("STOP", "error");
        let tables = settled(&[("s1.trajectory.jsonl", TRAJECTORY), ("s1.jsonl", &failed)]);
        assert_eq!(told(&tables), ["s1: Some(115) Some(1) exact error"]);
        let open = SESSION.replace("STOP", "toolUse");
        let tables = settled(&[("s1.trajectory.jsonl", TRAJECTORY), ("s1.jsonl", &open)]);
        assert_eq!(told(&tables), ["s1: Some(115) Some(1) exact success"]);
        let later = open.replace("06:00:03.000Z", "06:10:00.000Z");
        let tables = settled(&[("s1.trajectory.jsonl", TRAJECTORY), ("s1.jsonl", &later)]);
        assert_eq!(told(&tables), ["s1: Some(115) Some(1) lower_bound incomplete"]);
    }
}
