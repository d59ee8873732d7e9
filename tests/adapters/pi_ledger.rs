//! Session format 4 of pi, whose ledger repeats the usage of its entries.

use agentlogs::model::session::SessionResult;

const HEADER: &str =
    r#"{"kind":"header","version":4,"id":"s4","createdAt":1767323040000,"cwd":"/a","parentSessionId":"s3"}"#;

/// The members that storage adds, at a second of the session.
fn stored(second: u32) -> String {
    format!(r#""seq":{second},"timestamp":{}"#, 1_767_323_040_000_u64 + u64::from(second) * 1000)
}

fn usage(input: u32) -> String {
    format!(
        r#""usage":{{"input":{input},"output":1,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0.5}}}}"#
    )
}

fn entry(id: &str, second: u32, rest: &str) -> String {
    format!(r#"{{"kind":"entry","lane":"main","id":"{id}",{rest},"parentId":null,{}}}"#, stored(second))
}

fn response(id: &str, second: u32, input: u32) -> String {
    let message = format!(
        r#""type":"message","message":{{"role":"assistant","content":[],"provider":"p","model":"m",{},"stopReason":"stop","timestamp":{}}}"#,
        usage(input),
        1_767_323_040_000_u64 + u64::from(second) * 1000 - 500
    );
    entry(id, second, &message)
}

fn record(kind: &str, second: u32, rest: &str) -> String {
    format!(r#"{{"kind":"record","type":"{kind}","id":"r{second}","lane":"main",{rest},{}}}"#, stored(second))
}

fn request(cause: &str, entry: &str, attempt: u32, second: u32, input: u32) -> String {
    let rest = format!(
        r#""cause":"{cause}","runId":"run","entryId":"{entry}","attempt":{attempt},"stopReason":"stop",{}"#,
        usage(input)
    );
    record("usage", second, &rest)
}

fn read(records: &[String]) -> SessionResult {
    let log = format!("{HEADER}\n{}", records.join("\n"));
    let parsed = super::parse(log.as_bytes());
    assert_eq!(parsed.health.unknown_records, 0, "{:?}", parsed.health);
    super::sessions(&log).swap_remove(0)
}

/// The inputs of the turns, with their models.
fn inputs(session: &SessionResult) -> Vec<(i64, Option<&str>)> {
    let mut inputs: Vec<_> =
        session.turns.iter().map(|turn| (turn.tokens.get().input.unwrap(), turn.model.as_deref())).collect();
    inputs.sort_unstable();
    inputs
}

#[test]
fn a_ledger_repeats_its_entries() {
    let session = read(&[
        record("operation_started", 1, r#""sourceLeafId":null,"intent":{"kind":"run","initialMessages":[]}"#),
        record("step_attempt", 2, r#""runId":"run","step":"assistant","attempt":1,"resultEntryId":"e2""#),
        response("e1", 3, 10),
        request("assistant", "e1", 1, 4, 10),
        // A record may precede its entry.
        request("assistant", "e2", 1, 5, 20),
        response("e2", 6, 20),
        record("operation_finished", 7, r#""runId":"run","outcome":"completed""#),
        r#"{"kind":"lane","seq":8,"lane":"other","leafId":"e2"}"#.to_owned(),
        r#"{"kind":"fact","seq":9,"fact":"name","name":"x"}"#.to_owned(),
    ]);
    assert_eq!(inputs(&session), [(10, Some("m")), (20, Some("m"))]);
    assert_eq!((session.session_id.as_str(), session.cwd.as_deref()), ("s4", Some("/a")));
    assert_eq!(session.parent_session_id.as_deref(), Some("s3"));
}

/// Attempts without an entry, earlier attempts at a summary, and what no entry states were billed, too.
#[test]
fn a_ledger_has_requests_of_its_own() {
    let compaction = format!(r#""type":"compaction","summary":"s","tokensBefore":9,{}"#, usage(77));
    let hook = r#""type":"branch_summary","fromId":"e1","summary":"s""#;
    let of_tool = |second, input| {
        let rest = format!(r#""cause":"tool","runId":"run","entryId":"e5","toolCallId":"c1",{}"#, usage(input));
        record("usage", second, &rest)
    };
    let result = format!(
        r#""type":"message","message":{{"role":"toolResult","toolCallId":"c1","content":[],"isError":false,{},"timestamp":1767323060500}}"#,
        usage(6)
    );
    let session = read(&[
        response("e1", 1, 10),
        request("assistant", "e1", 1, 2, 10),
        // Discarded, without an entry.
        request("assistant", "e2", 1, 3, 20),
        // A summary that failed, and one of two requests, whose sum its entry states.
        request("compaction", "e3", 1, 4, 30),
        request("compaction", "e3", 2, 5, 40),
        request("compaction", "e3", 2, 6, 37),
        entry("e3", 7, &compaction),
        // The entry of a hook states no usage.
        record("usage", 8, &format!(r#""cause":"hook","runId":"run","entryId":"e4",{}"#, usage(50))),
        entry("e4", 9, hook),
        // A call that was run again after a crash.
        of_tool(18, 5),
        of_tool(19, 6),
        entry("e5", 20, &result),
        record("usage", 21, &format!(r#""cause":"adjustment","entryId":"e1",{}"#, usage(60))),
    ]);
    let model = Some("m");
    assert_eq!(
        inputs(&session),
        [(5, None), (6, None), (10, model), (20, model), (30, model), (50, None), (60, None), (77, model)]
    );
}

/// The tools of a session are those of its entries.
#[test]
fn the_tools_of_format_4_are_entries() {
    let session = read(&[entry("t", 1, r#""type":"active_tools_change","activeToolNames":["read","bash"]"#)]);
    let tools: Vec<_> = session.offer.tools.unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(tools, ["bash", "read"]);
}
