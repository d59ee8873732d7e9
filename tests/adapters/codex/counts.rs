//! Which responses of Codex have a row: by the totals, and by the records of responses since 0.153.

use super::super::tables;
use super::Log;

/// The input and the output of a response, or their sums.
type Counts = (i64, i64);

impl Log {
    /// The record of a response.
    fn recorded(self, id: &str, (input, output): Counts) -> Self {
        let usage = format!(r#"{{"input_tokens":{input},"output_tokens":{output}}}"#);
        self.record("token_usage_record", &format!(r#"{{"response_id":"{id}","usage":{usage}}}"#))
    }

    /// The totals, and the usage of the last response.
    fn counted(self, total: Counts, last: Counts) -> Self {
        let usage = |(input, output): Counts| {
            let total = input + output;
            format!(
                r#"{{"input_tokens":{input},"cached_input_tokens":0,"output_tokens":{output},"total_tokens":{total}}}"#
            )
        };
        let info = format!(r#"{{"total_token_usage":{},"last_token_usage":{}}}"#, usage(total), usage(last));
        self.event(&format!(r#"{{"type":"token_count","info":{info}}}"#))
    }

    /// The totals, and an estimate of the size of the context in the place of the usage of the last response.
    fn estimated(self, (input, output): Counts) -> Self {
        let total = format!(r#"{{"input_tokens":{input},"cached_input_tokens":0,"output_tokens":{output}}}"#);
        let last = r#"{"input_tokens":0,"cached_input_tokens":0,"output_tokens":0,"total_tokens":890}"#;
        let info = format!(r#"{{"total_token_usage":{total},"last_token_usage":{last}}}"#);
        self.event(&format!(r#"{{"type":"token_count","info":{info}}}"#))
    }

    fn response_of(self, id: &str, total: Counts, own: Counts) -> Self {
        self.recorded(id, own).counted(total, own)
    }

    fn shell(self, id: &str) -> Self {
        self.response(&format!(
            r#"{{"type":"function_call","name":"exec_command","call_id":"{id}","arguments":"{{\"cmd\":\"ls\"}}"}}"#
        ))
    }

    fn aborted(self) -> Self {
        self.event(r#"{"type":"turn_aborted","reason":"interrupted"}"#)
    }

    fn compacted(self, id: &str) -> Self {
        self.record("compacted", &format!(r#"{{"message":"","compaction_response_id":"{id}"}}"#))
    }
}

/// A log in which one response was counted.
fn log() -> Log {
    Log::of(r#""id":"t""#).task("1").response_of("r1", (1000, 50), (1000, 50))
}

/// A response: its id, its tokens, and its calls.
type Response = (Option<String>, Option<i64>, Vec<String>);

fn responses(logs: &[&Log]) -> Vec<Response> {
    let tables = tables(&logs.iter().map(|it| it.text()).collect::<Vec<_>>());
    let row = |(index, row): (usize, &agentlogs::model::tables::TurnRow)| {
        let calls = tables.tool_calls.iter().filter(|call| call.call.turn == Some(index));
        let calls = calls.map(|call| call.call.call_id.to_string()).collect();
        (row.turn.message_id.as_deref().map(str::to_owned), row.turn.tokens.get().total(), calls)
    };
    let mut rows: Vec<_> = tables.turns.iter().enumerate().map(row).collect();
    rows.sort();
    rows
}

fn response(id: &str, tokens: i64, calls: &[&str]) -> Response {
    let id = Some(id.to_owned()).filter(|id| !id.is_empty());
    (id, Some(tokens), calls.iter().map(|&it| it.to_owned()).collect())
}

/// The process of the second response ended before its calls did. A resume continues the totals of the last count.
fn resumed() -> Log {
    let killed = log().shell("a").recorded("r2", (5000, 300));
    killed.task("2").shell("b").response_of("r3", (7000, 450), (6000, 400)).end()
}

#[test]
fn a_response_that_no_total_contains_is_a_row() {
    let (one, two) = (response("r1", 1050, &[]), response("r2", 5300, &["a"]));
    let started = || log().shell("a").recorded("r2", (5000, 300));
    let interrupted = || started().aborted().task("2").shell("b").recorded("r3", (6000, 400));
    let both = || vec![one.clone(), two.clone()];
    let three = || [both(), vec![response("r3", 6400, &["b"])]].concat();
    for (name, log, expected) in [
        ("killed", started(), both()),
        ("interrupted", started().aborted(), both()),
        ("resumed", resumed(), three()),
        ("resumed and killed again", started().task("2").shell("b").recorded("r3", (6000, 400)), three()),
        // The same process goes on: its totals contain the response that was interrupted.
        ("not resumed", interrupted().counted((12_000, 750), (6000, 400)).end(), three()),
        (
            "compacted",
            started().aborted().task("2").recorded("r3", (6000, 400)).compacted("r3").estimated((6000, 350)),
            { [both(), vec![response("r3", 6400, &[])]].concat() },
        ),
        ("a record twice", started().recorded("r2", (5000, 300)), both()),
        ("of equal size", log().recorded("r2", (9, 1)).task("2").response_of("r3", (1009, 51), (9, 1)), {
            vec![one.clone(), response("r2", 10, &[]), response("r3", 10, &[])]
        }),
    ] {
        assert_eq!(responses(&[&log]), expected, "{name}");
    }
}

/// Copies of a log that was not complete yet.
#[test]
fn states_of_a_log_count_each_response_once() {
    let interrupted = log().shell("a").recorded("r2", (5000, 300)).aborted().task("2");
    let interrupted = interrupted.shell("b").recorded("r3", (6000, 400)).counted((12_000, 750), (6000, 400));
    let compacted = log().recorded("r2", (900, 90)).compacted("r2").estimated((1000, 50));
    let compacted = compacted.response_of("r3", (1800, 70), (800, 20));
    for whole in [resumed(), interrupted, compacted] {
        let expected = responses(&[&whole]);
        for end in 1..whole.lines.len() {
            let copy = Log { lines: whole.lines[..end].to_vec(), first: 0 };
            assert_eq!(responses(&[&whole, &copy]), expected, "{end}");
            assert_eq!(responses(&[&copy, &whole]), expected, "{end}");
            let both = Log { lines: [copy.lines, whole.lines.clone()].concat(), first: 0 };
            assert_eq!(responses(&[&both]), expected, "{end}");
        }
    }
}

/// A fork repeats the counts of its parent, and in some versions the records.
#[test]
fn a_fork_counts_no_response_of_its_parent() {
    let parent = log().shell("a").recorded("r2", (5000, 300)).task("2").shell("b");
    let parent = parent.response_of("r3", (7000, 450), (6000, 400)).estimated((7000, 450)).end();
    let is_record = |line: &&String| line.contains("token_usage_record");
    for keeps_records in [false, true] {
        let copied = parent.lines.iter().skip(1).filter(|line| keeps_records || !is_record(line));
        let mut fork = Log::of(r#""id":"u","forked_from_id":"t""#);
        fork.lines.extend(copied.cloned());
        let fork = fork.task("3").response_of("r4", (7100, 460), (100, 10)).end();
        let mut expected = responses(&[&parent]);
        expected.push(response("r4", 110, &[]));
        assert_eq!(responses(&[&parent, &fork]), expected, "{keeps_records}");
        assert_eq!(responses(&[&fork, &parent]), expected, "{keeps_records}");
    }
}

/// After a compaction or a search by the provider, the usage of the last response is an estimate, or lacks input.
#[test]
fn an_estimate_is_no_response() {
    let searched = |own: Log| own.response_of("r3", (7090, 80), (1100, 20));
    let expected = |id: &str| vec![response("r1", 1050, &[]), response(id, 5000, &[]), response("r3", 1120, &[])];
    let recorded = || log().recorded("r2", (4990, 10));
    for (name, log, id) in [
        ("an estimate", recorded().estimated((5990, 60)), "r2"),
        ("without input", recorded().counted((5990, 60), (800, 10)), "r2"),
        ("without input and output", recorded().counted((5990, 60), (800, 2)), "r2"),
        ("an estimate without a record", log().estimated((5990, 60)), ""),
        ("without input and a record", log().counted((5990, 60), (800, 10)), ""),
    ] {
        let mut expected = expected(id);
        expected.sort();
        assert_eq!(responses(&[&searched(log)]), expected, "{name}");
    }
    // A thread that continues another one: the usage of its first response is known by its record only.
    let fork = || Log::of(r#""id":"u","forked_from_id":"t""#).task("1");
    for (name, log) in [
        ("an estimate", fork().recorded("r2", (4990, 10)).estimated((5990, 60))),
        ("without input", fork().recorded("r2", (4990, 10)).counted((5990, 60), (800, 10))),
    ] {
        let log = log.response_of("r3", (7090, 80), (1100, 20));
        assert_eq!(responses(&[&log]), [response("r2", 5000, &[]), response("r3", 1120, &[])], "{name}");
    }
}
