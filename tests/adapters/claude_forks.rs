//! Forks of Claude Code, whose totals begin with those of the session that was forked.

use agentlogs::ledger::links;
use agentlogs::model::source::Source;
use agentlogs::model::tables::{Tables, Usage};

use super::{sessions, tables};

/// Input, cache reads, cache writes and output.
type Counts = [u32; 4];

const A: Counts = [10, 1000, 500, 200];
const B: Counts = [12, 1500, 60, 300];
const C: Counts = [7, 1900, 40, 100];
/// What requests for titles spend.
const SIDE: Counts = [350, 0, 0, 20];
const COST_OF_SIDE: f64 = 0.0005;

fn sum(counts: &[Counts]) -> Counts {
    counts.iter().fold([0; 4], |sum, counts| std::array::from_fn(|kind| sum[kind] + counts[kind]))
}

fn tokens(counts: &[Counts]) -> i64 {
    sum(counts).map(i64::from).iter().sum()
}

/// `usage` of a response or a result.
fn usage([input, read, written, output]: Counts) -> String {
    format!(
        r#"{{"input_tokens":{input},"cache_read_input_tokens":{read},"cache_creation_input_tokens":{written},"output_tokens":{output}}}"#
    )
}

/// The sums by model: those of the main agent's requests, which cost a cent for each thousand tokens, and those of other requests.
fn model_usage(main: &[Counts], side: Counts) -> String {
    let model = |name: &str, [input, read, written, output]: Counts, cost: f64| {
        format!(
            r#""{name}":{{"inputTokens":{input},"outputTokens":{output},"cacheReadInputTokens":{read},"cacheCreationInputTokens":{written},"costUSD":{cost}}}"#
        )
    };
    let cost = tokens(main) as f64 / 1e5;
    format!("{{{},{}}}", model("opus", sum(main), cost), model("haiku", side, COST_OF_SIDE))
}

/// The `result` of a process that spent `own` itself.
fn result(session: &str, own: Counts, sums: &[Counts]) -> String {
    let cost = tokens(sums) as f64 / 1e5 + COST_OF_SIDE;
    format!(
        r#"{{"type":"result","subtype":"success","is_error":false,"session_id":"{session}","uuid":"{session}{}","num_turns":1,"total_cost_usd":{cost},"usage":{},"modelUsage":{}}}"#,
        tokens(sums),
        usage(own),
        model_usage(sums, SIDE)
    )
}

/// A recording, whose lines contain only the output from the start of each response.
fn stream(session: &str, own: Counts, sums: &[Counts]) -> String {
    let [input, read, written, _] = own;
    let line = format!(
        r#"{{"type":"assistant","session_id":"{session}","uuid":"{session}x","parent_tool_use_id":null,"message":{{"id":"msg_{input}","model":"opus","content":[{{"type":"text","text":"x"}}],"usage":{}}}}}"#,
        usage([input, read, written, 3])
    );
    let init =
        format!(r#"{{"type":"system","subtype":"init","session_id":"{session}","uuid":"{session}i","tools":[]}}"#);
    [init, line, result(session, own, sums)].join("\n")
}

/// A transcript: the time of a response is that of its input.
fn transcript(session: &str, responses: &[Counts]) -> String {
    let line = |counts: &Counts| {
        let at = if *counts == A { 10 } else { 11 };
        format!(
            r#"{{"type":"assistant","sessionId":"{session}","uuid":"u{0}","requestId":"req_{0}","timestamp":"2026-11-20T{at}:00:{0:02}Z","message":{{"id":"msg_{0}","model":"opus","content":[],"stop_reason":"end_turn","usage":{1}}}}}"#,
            counts[0],
            usage(*counts)
        )
    };
    responses.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// The sums that a transcript saves.
fn saved(session: &str, start: u64, sums: &[Counts]) -> String {
    let cost = tokens(sums) as f64 / 1e5 + COST_OF_SIDE;
    format!(
        r#"{{"type":"cost-state","sessionId":"{session}","totalCostUSD":{cost},"startTime":{start},"modelUsage":{},"hasUnknownModelCost":false}}"#,
        model_usage(sums, SIDE)
    )
}

/// The tokens of all sessions, and their reported cost.
fn spent(tables: &Tables) -> (i64, f64) {
    let tokens = tables.turns.iter().filter_map(|row| row.turn.tokens.get().total()).sum();
    let costs = tables.turns.iter().filter_map(|row| row.turn.cost.as_deref());
    (tokens, costs.map(|cost| cost.total).sum())
}

/// Checks the tokens of logs, in both orders. No session has more responses than its totals.
fn check(name: &str, logs: &[String], expected: i64) {
    let reversed: Vec<String> = logs.iter().rev().cloned().collect();
    for logs in [logs, &reversed] {
        let tables = tables(logs);
        assert_eq!(spent(&tables).0, expected, "{name}");
        assert!(tables.sessions.iter().all(|row| row.usage != Usage::Conflict), "{name}");
    }
}

#[test]
fn a_fork_counts_what_it_adds_to_the_total_of_its_parent() {
    let all = tokens(&[A, B, SIDE]);
    for recording in [result, stream] {
        let (parent, fork) = (recording("a", A, &[A]), recording("b", B, &[A, B]));
        let logs = [parent.clone(), fork.clone()];
        check("a fork", &logs, all);
        let (_, cost) = spent(&tables(&logs));
        assert!((cost - (tokens(&[A, B]) as f64 / 1e5 + COST_OF_SIDE)).abs() < 1e-9, "{cost}");
        check("ids in another order", &[recording("b", A, &[A]), recording("a", B, &[A, B])], all);
        check("the parent is absent", std::slice::from_ref(&fork), all);
        check("two forks", &[parent.clone(), fork.clone(), recording("c", C, &[A, C])], all + tokens(&[C]));
        check("a fork of the fork", &[parent.clone(), fork.clone(), recording("c", C, &[A, B, C])], all + tokens(&[C]));
        // The fork was resumed: its later process goes on from its first one.
        let resumed = [fork.clone(), recording("b", C, &[A, B, C])];
        check("a resumed fork", &[parent.clone(), resumed.join("\n")], all + tokens(&[C]));
        check("in files of its own", &[vec![parent.clone()], resumed.to_vec()].concat(), all + tokens(&[C]));
        // The parent went on.
        let later = recording("a", C, &[A, C]);
        check("a fork of an earlier total", &[[parent, later].join("\n"), fork], all + tokens(&[C]));
    }
}

/// Equal requests of several sessions are not forks, nor are sessions whose totals begin at 0.
#[test]
fn equal_runs_are_no_forks() {
    let twice = [result("a", A, &[A]), result("b", A, &[A])];
    check("equal runs", &twice, 2 * tokens(&[A, SIDE]));
    let from_zero = [result("a", A, &[A]), result("b", B, &[B])];
    check("from 0", &from_zero, tokens(&[A, B, SIDE, SIDE]));
    // Small counts without cached tokens can be equal by chance.
    let small = [5, 0, 0, 9];
    let logs = [result("a", small, &[small]), result("b", B, &[small, B])];
    check("no cached tokens", &logs, tokens(&[small, SIDE, small, B, SIDE]));
}

/// Small counts of the named parent, or of a session before it in the same recording, are not equal by chance.
#[test]
fn a_fork_without_cached_tokens_counts_what_it_adds() {
    let (small, own) = ([5, 0, 0, 9], [6, 0, 0, 4]);
    let all = tokens(&[small, own, SIDE]);
    for recording in [result, stream] {
        let (parent, fork) = (recording("a", small, &[small]), recording("b", own, &[small, own]));
        check("in one file", &[[parent.clone(), fork.clone()].join("\n")], all);
        let both = tokens(&[small, SIDE, small, own, SIDE]);
        check("before it in one file", &[[fork.clone(), parent.clone()].join("\n")], both);
        let transcripts = [transcript("a", &[small]), transcript("b", &[small, own])];
        check("with a named parent", &[transcripts.to_vec(), vec![parent, fork]].concat(), all);
    }
}

#[test]
fn a_fork_beside_transcripts_counts_what_it_adds() {
    let transcripts = [transcript("a", &[A]), transcript("b", &[A, B])];
    let all = tokens(&[A, B, SIDE]);
    for recording in [result, stream] {
        let recordings = [recording("a", A, &[A]), recording("b", B, &[A, B])];
        check("both are recorded", &[transcripts.clone(), recordings.clone()].concat(), all);
        let [_, fork] = recordings;
        check("only the fork is recorded", &[transcripts.to_vec(), vec![fork]].concat(), all);
    }
}

/// The total that the transcript of a fork saves contains the requests of its parent that no line contains.
#[test]
fn a_saved_total_of_a_fork_counts_what_it_adds() {
    let parent = [transcript("a", &[A]), saved("a", 1_795_168_799_000, &[A])].join("\n");
    let own = [transcript("b", &[B]), saved("b", 1_795_172_399_000, &[A, B])].join("\n");
    let without = [transcript("b", &[A]), own.clone()].join("\n");
    // The copied history may contain the total that was saved in it.
    let with = [parent.replace(r#""sessionId":"a""#, r#""sessionId":"b""#), own].join("\n");
    for fork in [without, with] {
        check("a saved total", &[parent.clone(), fork.clone()], tokens(&[A, B, SIDE]));
        let recorded = [parent.clone(), fork, result("b", B, &[A, B])];
        check("a saved total and a recording", &recorded, tokens(&[A, B, SIDE]));
    }
    check("only the parent saves one", &[parent, result("b", B, &[A, B])], tokens(&[A, B, SIDE]));
}

/// Files that share no link are reconciled apart.
#[test]
fn a_fork_shares_a_link_with_its_parent() {
    let links = |log: &str| links(&Source { sessions: sessions(log), ..Source::default() });
    for recording in [result, stream] {
        let shares = |a: &str, b: &str| links(a).iter().any(|link| links(b).contains(link));
        let fork = recording("b", B, &[A, B]);
        assert!(shares(&recording("a", A, &[A]), &fork));
        assert!(shares(&[transcript("a", &[A]), saved("a", 5, &[A])].join("\n"), &fork));
        assert!(!shares(&recording("a", C, &[C]), &fork));
    }
}
