//! Which responses of Codex have a row: by the totals, and by the records of responses since 0.153.

use super::super::tables;
use super::{Inputs, Log, inputs};

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

/// Unique ids of tasks.
const TASKS: [&str; 4] = ["task-1", "task-2", "task-b", "task-c"];

/// A thread with two tasks, whose responses made calls.
fn thread_with_calls() -> Log {
    let first = Log::of(r#""id":"p""#).task(TASKS[0]).said("look").shell("a").counted((1000, 10), (1000, 10));
    let first = first.shell("b").counted((3000, 30), (2000, 20)).end();
    let second = first.task(TASKS[1]).said("fix it").shell("c").counted((6000, 60), (3000, 30));
    second.shell("d").counted((10_000, 100), (4000, 40)).end()
}

/// An agent that the thread started.
fn agent(id: &str) -> Log {
    let source = r#"{"subagent":{"thread_spawn":{"parent_thread_id":"p"}}}"#;
    Log::of(&format!(r#""id":"{id}","forked_from_id":"p","source":{source}"#))
}

impl Log {
    /// Its own task, which continues the totals.
    fn own_task(self, task: &str, before: Counts, own: i64) -> Self {
        let total = (before.0 + own, before.1 + 40);
        self.task(task).shell(&format!("call of {task}")).counted(total, (own, 40)).end()
    }

    /// All records so far have the time of the first one.
    fn written_at_once(mut self) -> Self {
        const TIME: usize = r#"{"timestamp":"2026-10-07T08:00:00.000Z""#.len();
        let time = self.lines[0][..TIME].to_owned();
        self.lines.iter_mut().for_each(|line| line.replace_range(..TIME, &time));
        self
    }
}

/// A copy of a history for an agent has the counts and some events of the calls, but not the calls.
#[test]
fn a_copy_without_calls_counts_nothing() {
    let copy = |id: &str, event: &str| {
        let copy = agent(id).record("session_meta", r#"{"id":"p"}"#).task(TASKS[0]).said("look");
        let copy = if event.is_empty() { copy } else { copy.event(event) };
        copy.counted((1000, 10), (1000, 10)).counted((3000, 30), (2000, 20))
    };
    let child = |id: &str, task: usize, own: i64, event| copy(id, event).own_task(TASKS[task], (3000, 30), own);
    let row = |id: &str, input| -> Inputs { (id.to_owned(), Some("p".to_owned()), Some(input), Some(0)) };
    let parent: Inputs = ("p".to_owned(), None, Some(10_000), Some(2));
    for event in [
        "",
        r#"{"type":"patch_apply_end","call_id":"a","success":true,"changes":{"/a":{"type":"delete","content":"x\n"}}}"#,
        r#"{"type":"sub_agent_activity","event_id":"b","kind":"started","agent_thread_id":"b"}"#,
        r#"{"type":"mcp_tool_call_end","call_id":"b","invocation":{"server":"s","tool":"t"},"result":{"Ok":{}}}"#,
    ] {
        let (one, other) = (child("b", 2, 4000, event), child("c", 3, 4000, event));
        let expected = [row("b", 4000), row("c", 4000), parent.clone()];
        let thread = thread_with_calls();
        assert_eq!(inputs(&[&thread, &one, &other]), expected, "{event}");
        assert_eq!(inputs(&[&other, &one, &thread]), expected, "{event}");
        let tables = tables(&[thread.text(), one.text(), other.text()]);
        let call = |session: usize, call: &str| (tables.sessions[session].session.session_id.clone(), call.to_owned());
        let mut found: Vec<_> = tables.tool_calls.iter().map(|it| call(it.session, &it.call.call_id)).collect();
        found.sort();
        assert_eq!(tables.sessions.iter().map(|it| it.subagents).max(), Some(Some(0)), "{event}");
        let own = |id: &str, call: &str| (id.to_owned(), call.to_owned());
        let mut all = vec![own("b", &format!("call of {}", TASKS[2])), own("c", &format!("call of {}", TASKS[3]))];
        all.extend(["a", "b", "c", "d"].map(|it| own("p", it)));
        assert_eq!(found, all, "{event}");
        // Without the thread, its responses are those of the first child.
        assert_eq!(inputs(&[&one, &other]), [row("b", 7000), row("c", 4000)], "{event}");
    }
}

/// The copy begins at a prompt, after the start of its task.
#[test]
fn a_copy_of_the_last_turns_counts_nothing() {
    let copy = || agent("b").said("fix it").counted((6000, 60), (3000, 30)).counted((10_000, 100), (4000, 40)).end();
    let row = |input| -> Inputs { ("b".to_owned(), Some("p".to_owned()), Some(input), Some(0)) };
    let parent: Inputs = ("p".to_owned(), None, Some(10_000), Some(2));
    let child = copy().written_at_once().own_task(TASKS[2], (10_000, 100), 5000);
    assert_eq!(inputs(&[&child]), [row(5000)]);
    assert_eq!(inputs(&[&thread_with_calls(), &child]), [row(5000), parent.clone()]);
    assert_eq!(inputs(&[&child, &thread_with_calls()]), [row(5000), parent]);
    // Later records are not copies: another program may have removed the start of their task.
    let cut = agent("b").shell("e").counted((15_000, 140), (5000, 40)).end();
    assert_eq!(inputs(&[&cut]), [row(5000)]);
}

/// Where tasks have no unique ids, responses of equal counts differ by their calls.
#[test]
fn calls_distinguish_responses_of_tasks_without_unique_ids() {
    let child = |id: &str, call: &str| {
        let source = r#"{"subagent":{"thread_spawn":{"parent_thread_id":"p"}}}"#;
        let log = Log::of(&format!(r#""id":"{id}","source":{source}"#)).task("1").shell(call);
        log.counted((500, 5), (500, 5)).end()
    };
    let row = |id: &str| -> Inputs { (id.to_owned(), Some("p".to_owned()), Some(500), Some(0)) };
    assert_eq!(inputs(&[&child("b", "e"), &child("c", "f")]), [row("b"), row("c")]);
}

/// Adds the two responses of a review, with records of their own or without.
fn reviewed(log: Log, has_records: bool) -> Log {
    let recorded = |log: Log, id, own| if has_records { log.recorded(id, own) } else { log };
    let first = recorded(log, "r1", (300, 6)).counted((300, 6), (300, 6)).counted((300, 6), (300, 6));
    recorded(first, "r2", (400, 10)).counted((700, 16), (400, 10))
}

/// A thread that starts a review, whose events it repeats, and the review's own thread. `before`: whether the thread has responses
/// before it. `records`: which of both has records of the review's responses.
fn thread_and_review(before: bool, records: [bool; 2]) -> [Log; 2] {
    const PROMPT: &str = "Review the current code changes";
    let begin = r#"{"type":"entered_review_mode","target":{"type":"uncommittedChanges"}}"#;
    let model = |log: Log, model: &str| log.record("turn_context", &format!(r#"{{"model":"{model}"}}"#));
    let thread = model(Log::of(r#""id":"t""#), "gpt-5.2-codex").said("Do it");
    let (thread, total) = if before {
        (thread.counted((1000, 50), (1000, 50)).counted((2000, 90), (1000, 40)), (2000, 90))
    } else {
        (thread, (0, 0))
    };
    let thread = reviewed(thread.event(begin).said(PROMPT).said(PROMPT), records[0]);
    let thread = thread.event(r#"{"type":"exited_review_mode","review_output":null}"#).said("Fix it");
    let thread = if before { thread.counted(total, (1000, 40)) } else { thread };
    let thread = thread.counted((total.0 + 1100, total.1 + 20), (1100, 20));
    // The thread repeats a count after the reviewer wrote it, and each record takes a second here.
    let first = if before { 4 } else { 2 } - if records[1] { 2 } else { 0 };
    let review = Log::from(first, r#""id":"r","source":{"subagent":"review"}"#);
    let review = model(review, "gpt-5.1-codex-max").said(PROMPT);
    [thread, reviewed(review.shell("c1"), records[1])]
}

/// The total of the thread goes on after a review, and the review has a log of its own. Its prompt is written by the program.
#[test]
fn a_review_counts_once() {
    let counted = |logs: &[&Log]| {
        let texts: Vec<String> = logs.iter().map(|log| log.text()).collect();
        let tables = tables(&texts);
        let rows: Vec<_> = tables.turns.iter().map(|it| it.turn.clone()).collect();
        let mut sessions: Vec<_> = (tables.sessions.iter())
            .map(|it| {
                (it.session.session_id.clone(), it.tokens.total(), it.user_turns, it.session.parent_session_id.clone())
            })
            .collect();
        sessions.sort();
        (sessions, rows)
    };
    let session = |id: &str, tokens, prompts| (id.to_owned(), Some(tokens), Some(prompts), None);
    let with_records =
        [[false; 2], [false, true], [true, false], [true; 2]].map(|records| (true, 2090 + 1120, records));
    for (before, own, records) in with_records.into_iter().chain([(false, 1120, [false; 2])]) {
        let [thread, review] = thread_and_review(before, records);
        let (sessions, rows) = counted(&[&thread]);
        // "Do it", the review and "Fix it".
        assert_eq!(sessions, [session("t", own + 716, 3)], "{before} {records:?}");
        // The log does not contain the model of the reviewer.
        let models = |model: &str| rows.iter().filter(|it| it.model.as_deref() == Some(model)).count();
        assert_eq!((models("gpt-5.2-codex"), rows.len()), (if before { 3 } else { 1 }, if before { 5 } else { 3 }));
        for logs in [[&thread, &review], [&review, &thread]] {
            let (sessions, rows) = counted(&logs);
            assert_eq!(sessions, [session("r", 716, 0), session("t", own, 3)], "{before} {records:?}");
            assert_eq!(rows.iter().filter(|it| it.model.as_deref() == Some("gpt-5.1-codex-max")).count(), 2);
        }
    }
}

/// A review that was interrupted has no end, and the next process goes on from its last total.
#[test]
fn a_review_without_an_end_changes_nothing_later() {
    let [thread, _] = thread_and_review(true, [false; 2]);
    let text = thread.text().lines().filter(|line| !line.contains("exited_review_mode")).collect::<Vec<_>>().join("\n");
    let lines: Vec<&str> = text.lines().collect();
    let cut = lines[..lines.len() - 2].join("\n");
    let next = r#"{"timestamp":"2026-10-07T08:00:30.000Z","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":1700,"cached_input_tokens":0,"output_tokens":36},"last_token_usage":{"input_tokens":1000,"cached_input_tokens":0,"output_tokens":20}}}}"#;
    let tables = tables(&[format!("{cut}\n{next}")]);
    assert_eq!((tables.sessions[0].tokens.total(), tables.sessions[0].user_turns), (Some(2090 + 716 + 1020), Some(3)));
}

/// A process that resumes the thread after the review goes on from the last total in the log, which is the review's.
#[test]
fn a_thread_can_be_resumed_after_a_review() {
    let [thread, review] = thread_and_review(true, [false; 2]);
    let end = thread.lines.len() - 2;
    let resumed = Log { lines: thread.lines[..end].to_vec(), first: 0 }.counted((1800, 36), (1100, 20));
    let tokens = |logs: &[&Log]| {
        let tables = tables(&logs.iter().map(|log| log.text()).collect::<Vec<_>>());
        let mut tokens: Vec<_> =
            tables.sessions.iter().map(|it| (it.session.session_id.clone(), it.tokens.total())).collect();
        tokens.sort();
        (tokens, tables.turns.len())
    };
    assert_eq!(tokens(&[&resumed]), (vec![("t".to_owned(), Some(2090 + 716 + 1120))], 5));
    let both = vec![("r".to_owned(), Some(716)), ("t".to_owned(), Some(2090 + 1120))];
    assert_eq!(tokens(&[&resumed, &review]), (both, 5));
}
