//! The measures of one session. Unknown values are `None`: see docs/behavior.md.

use foldhash::HashSet;

use super::changes::Edits;
use super::prefill::{Hits, Prefill, call_times, prefill};
use super::rows::{Call, Session, Status, Turn};
use super::time::Times;
use crate::analysis::rows::Purpose;

/// Reads the value of a column.
type Value = fn(&Measures) -> Option<i64>;

/// The columns of the measures, one row per session.
pub(super) const COLUMNS: &[(&str, Value)] = &[
    ("known_calls", |it| it.calls.as_ref().map(|calls| calls.known)),
    ("explore_calls", |it| it.calls.as_ref().map(|calls| calls.explore)),
    ("edit_calls", |it| it.calls.as_ref().map(|calls| calls.edit)),
    ("verify_calls", |it| it.calls.as_ref().map(|calls| calls.verify)),
    ("repeated_calls", |it| it.repeated_calls),
    ("longest_error_run", |it| it.longest_error_run),
    ("test_runs", |it| it.test_runs.map(|runs| runs.all)),
    ("failed_test_runs", |it| it.test_runs.and_then(|runs| runs.failed)),
    ("edited_sessions", |it| it.is_edited.map(i64::from)),
    ("verified_sessions", |it| it.is_verified.map(i64::from)),
    ("turns_before_edit", |it| it.before_edit.turns),
    ("time_before_edit_ms", |it| it.before_edit.time_ms),
    ("tokens_before_edit", |it| it.before_edit.tokens),
    ("file_edits", |it| it.edits.as_ref().map(|edits| edits.edits)),
    ("edited_files", |it| it.edits.as_ref().map(|edits| edits.files)),
    ("files_edited_often", |it| it.edits.as_ref().map(|edits| edits.files_edited_often)),
    ("known_lines_added", |it| it.edits.as_ref().and_then(|edits| edits.lines_added)),
    ("lines_removed_again", |it| it.edits.as_ref().and_then(|edits| edits.lines_removed_again)),
    ("end_context_tokens", |it| it.context.end),
    ("context_growth", |it| it.context.growth.map(|(sum, _)| sum)),
    ("context_steps", |it| it.context.growth.map(|(_, steps)| steps)),
    ("appended_tokens", |it| it.prefill.map(|prefill| prefill.appended)),
    ("fresh_tokens", |it| it.prefill.map(|prefill| prefill.fresh)),
    ("prompt_tokens_within_5min", |it| it.hits.prompt[0]),
    ("cached_tokens_within_5min", |it| it.hits.cached[0]),
    ("prompt_tokens_within_1h", |it| it.hits.prompt[1]),
    ("cached_tokens_within_1h", |it| it.hits.cached[1]),
    ("prompt_tokens_after_1h", |it| it.hits.prompt[2]),
    ("cached_tokens_after_1h", |it| it.hits.cached[2]),
    ("all_calls_ms", |it| it.call_times.map(|(all, _)| all)),
    ("long_calls_ms", |it| it.call_times.map(|(_, long)| long)),
    ("model_time_ms", |it| it.times.map(|times| times.model / 1000)),
    ("tool_time_ms", |it| it.times.map(|times| times.tools / 1000)),
    ("waiting_time_ms", |it| it.times.map(|times| times.waiting / 1000)),
];

/// The measures of a session.
#[derive(Debug, Default)]
pub(super) struct Measures {
    /// `None` if the format does not show calls.
    calls: Option<Counts>,
    /// Calls with the agent, tool and arguments of an earlier call, without an edit in between.
    repeated_calls: Option<i64>,
    /// The most calls that failed one after the other.
    longest_error_run: Option<i64>,
    test_runs: Option<TestRuns>,
    /// Whether a call changed files.
    is_edited: Option<bool>,
    /// Whether a check ran after the last edit; `None` without an edit.
    is_verified: Option<bool>,
    before_edit: BeforeEdit,
    /// `None` if the format does not show changed files.
    edits: Option<Edits>,
    context: Context,
    /// `None` without two responses of an agent whose counts are known.
    prefill: Option<Prefill>,
    hits: Hits,
    /// The durations of all calls, and of long ones.
    call_times: Option<(i64, i64)>,
    times: Option<Times>,
}

/// Numbers of calls that ran tests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct TestRuns {
    all: i64,
    /// `None` if there are runs, but none with a result.
    failed: Option<i64>,
}

/// Numbers of calls.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    /// Calls of known purpose.
    known: i64,
    explore: i64,
    edit: i64,
    verify: i64,
}

/// What was before the first edit; `None` where it is unknown, and without an edit.
#[derive(Debug, Default, PartialEq, Eq)]
struct BeforeEdit {
    turns: Option<i64>,
    time_ms: Option<i64>,
    tokens: Option<i64>,
}

/// The context of the main agent.
#[derive(Debug, Default, PartialEq, Eq)]
struct Context {
    /// Tokens of the last request.
    end: Option<i64>,
    /// The sum of the steps by which it grew, and their number.
    growth: Option<(i64, i64)>,
}

impl Measures {
    /// The measures of a session.
    pub(super) fn of(session: &Session<'_>) -> Self {
        let edits = session.shows_changes.then(|| Edits::of(session.changes));
        let (prefill, hits) = prefill(session.turns, session.calls);
        let others = Self { edits, context: Context::of(session.turns), prefill, hits, ..Self::default() };
        if !session.shows_calls {
            return others;
        }
        let calls = session.calls;
        Self {
            calls: Some(Counts::of(calls)),
            repeated_calls: repeated_calls(calls),
            longest_error_run: longest_error_run(calls),
            test_runs: test_runs(calls),
            is_edited: is_edited(calls),
            is_verified: is_verified(calls),
            before_edit: BeforeEdit::of(session),
            call_times: call_times(calls),
            times: Times::of(session),
            ..others
        }
    }
}

impl Counts {
    fn of(calls: &[Call]) -> Self {
        let mut counts = Self::default();
        for call in calls {
            counts.known += i64::from(call.purpose != Purpose::Unknown);
            counts.explore += i64::from(call.purpose == Purpose::Explore);
            counts.edit += i64::from(call.purpose == Purpose::Edit);
            counts.verify += i64::from(call.purpose.is_verifying());
        }
        counts
    }
}

/// `None` if there are calls, but none with a known identity.
fn repeated_calls(calls: &[Call]) -> Option<i64> {
    let (mut seen, mut repeated, mut is_known) = (HashSet::default(), 0, calls.is_empty());
    for call in calls {
        if call.is_edit() {
            seen.clear();
        }
        if let Some(identity) = call.identity {
            is_known = true;
            repeated += i64::from(!seen.insert(identity) && !call.is_edit());
        }
    }
    is_known.then_some(repeated)
}

/// `None` if there are calls, but none whose end is known.
fn longest_error_run(calls: &[Call]) -> Option<i64> {
    let (mut run, mut longest) = (0, 0);
    for call in calls {
        run = match call.status {
            Status::Error if !call.is_answer => run + 1,
            // It never ran, usually because of the error before it.
            Status::Cancelled => run,
            _ => 0,
        };
        longest = longest.max(run);
    }
    (calls.is_empty() || calls.iter().any(|call| call.status != Status::Incomplete)).then_some(longest)
}

/// `None` if there are calls of unknown purpose only, among those of shells.
fn test_runs(calls: &[Call]) -> Option<TestRuns> {
    let runs = || calls.iter().filter(|call| call.purpose == Purpose::Test);
    let count = |calls: usize| i64::try_from(calls).unwrap_or(i64::MAX);
    // The exit status of `pytest | tail` is that of `tail`.
    let failed = runs().filter(|call| call.status == Status::Error || call.failed_tests).count();
    let has_results =
        runs().next().is_none() || runs().any(|call| call.status != Status::Incomplete || call.failed_tests);
    let is_unknown = runs().next().is_none() && calls.iter().any(|call| call.purpose == Purpose::Unknown);
    (!is_unknown).then(|| TestRuns { all: count(runs().count()), failed: has_results.then(|| count(failed)) })
}

/// `None` if only a call of unknown purpose can be an edit.
fn is_edited(calls: &[Call]) -> Option<bool> {
    let is_edited = calls.iter().any(Call::is_edit);
    (is_edited || calls.iter().all(|call| call.purpose != Purpose::Unknown)).then_some(is_edited)
}

/// `None` without an edit that tests can check, or if only a call of unknown purpose can be the check.
fn is_verified(calls: &[Call]) -> Option<bool> {
    let last = calls.iter().rposition(Call::needs_check)?;
    let after = calls.get(last + 1..).unwrap_or_default();
    let is_verified = after.iter().any(|call| call.purpose.is_verifying() && call.has_ended());
    (is_verified || after.iter().all(|call| call.purpose != Purpose::Unknown)).then_some(is_verified)
}

impl BeforeEdit {
    fn of(session: &Session<'_>) -> Self {
        // A call of unknown purpose may be the first edit.
        let first = session.calls.iter().find(|call| call.is_edit() || call.purpose == Purpose::Unknown);
        let Some(edit) = first.filter(|call| call.is_edit()) else { return Self::default() };
        let time_ms = || edit.time?.checked_sub(session.started_at?).map(|time| time / 1000).filter(|time| *time >= 0);
        let tokens = |number: i64| {
            let earlier = session.turns.iter().filter(|turn| turn.number < number);
            let known = earlier.filter_map(|turn| turn.total_tokens);
            let sum = known.fold(None, |sum: Option<i64>, tokens| Some(sum.unwrap_or(0).saturating_add(tokens)));
            sum.or((number <= 1).then_some(0))
        };
        Self {
            turns: edit.turn.and_then(|number| number.checked_sub(1)),
            time_ms: time_ms(),
            tokens: edit.turn.and_then(tokens),
        }
    }
}

impl Context {
    fn of(turns: &[Turn]) -> Self {
        let mut context = Self::default();
        for turn in turns.iter().filter(|turn| !turn.is_subagent) {
            let Some(tokens) = turn.context_tokens else { continue };
            // The context shrinks by a compaction, or when the runtime drops old results: this is not growth.
            if let Some(step) = context.end.map(|before| tokens.saturating_sub(before)).filter(|step| *step >= 0) {
                let (sum, steps) = context.growth.unwrap_or_default();
                context.growth = Some((step.saturating_add(sum), steps + 1));
            }
            context.end = Some(tokens);
        }
        context
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXPLORE: Call = call(Purpose::Explore);
    const EDIT: Call = call(Purpose::Edit);
    const TEST: Call = call(Purpose::Test);
    const CHECK: Call = call(Purpose::Check);
    const OTHER: Call = call(Purpose::Other);
    const UNKNOWN: Call = call(Purpose::Unknown);

    const fn call(purpose: Purpose) -> Call {
        Call {
            purpose,
            status: Status::Ok,
            time: None,
            duration_ms: None,
            turn: None,
            is_subagent: false,
            failed_tests: false,
            asks_human: false,
            is_answer: false,
            needs_no_check: false,
            identity: None,
        }
    }

    fn failed(call: Call) -> Call {
        Call { status: Status::Error, ..call }
    }

    fn with(call: Call, identity: u64) -> Call {
        Call { identity: Some(identity), ..call }
    }

    /// What tests cannot check needs no check, and an answer is not an error.
    #[test]
    fn documents_and_answers_do_not_count() {
        let document = Call { needs_no_check: true, ..EDIT };
        assert_eq!(is_verified(&[EDIT, TEST, document]), Some(true));
        assert_eq!(is_verified(&[TEST, document]), None);
        assert_eq!(is_edited(&[document]), Some(true));
        let answer = Call { is_answer: true, ..failed(EXPLORE) };
        assert_eq!(longest_error_run(&[failed(EXPLORE), answer, failed(OTHER)]), Some(1));
    }

    #[test]
    fn calls_are_counted_by_their_purpose() {
        let counts = Counts::of(&[EXPLORE, EXPLORE, EDIT, failed(EDIT), TEST, CHECK, OTHER, UNKNOWN]);
        assert_eq!(counts, Counts { known: 7, explore: 2, edit: 2, verify: 2 });
        for (category, kind, expected) in [
            ("shell", Some("test"), Purpose::Test),
            ("shell", Some("lint"), Purpose::Check),
            ("shell", Some("build"), Purpose::Check),
            ("shell", Some("format"), Purpose::Other),
            ("shell", Some("search"), Purpose::Explore),
            ("shell", Some("edit"), Purpose::Edit),
            ("shell", None, Purpose::Unknown),
            ("write", None, Purpose::Edit),
            ("web", None, Purpose::Explore),
            ("mcp", None, Purpose::Other),
        ] {
            assert_eq!(Purpose::of(Some(category), kind), expected, "{category} {kind:?}");
        }
    }

    #[test]
    fn equal_calls_are_repeated_until_an_edit() {
        let (read, test) = (with(EXPLORE, 1), with(TEST, 2));
        let calls =
            [read, test, read, read, with(EDIT, 3), read, test, with(failed(EDIT), 4), with(failed(EDIT), 4), test];
        assert_eq!(repeated_calls(&calls), Some(2 + 2));
        // An edit that succeeds twice is not a repeated call.
        assert_eq!(repeated_calls(&[with(EDIT, 3), with(EDIT, 3)]), Some(0));
        assert_eq!(repeated_calls(&[EXPLORE, EXPLORE]), None);
        assert_eq!(repeated_calls(&[]), Some(0));
    }

    #[test]
    fn errors_are_counted_one_after_the_other() {
        let denied = Call { status: Status::Denied, ..OTHER };
        let open = Call { status: Status::Incomplete, ..OTHER };
        let bad = failed(OTHER);
        assert_eq!(longest_error_run(&[bad, OTHER, bad, bad, denied, bad]), Some(2));
        let cancelled = Call { status: Status::Cancelled, ..OTHER };
        assert_eq!(longest_error_run(&[cancelled, bad, cancelled, cancelled, bad, cancelled]), Some(2));
        assert_eq!(longest_error_run(&[OTHER]), Some(0));
        assert_eq!(longest_error_run(&[open, open]), None);
        assert_eq!(longest_error_run(&[]), Some(0));
    }

    #[test]
    fn tests_and_checks_of_edits_are_found() {
        assert_eq!(test_runs(&[TEST, failed(TEST), CHECK]), Some(TestRuns { all: 2, failed: Some(1) }));
        assert_eq!(test_runs(&[TEST, Call { failed_tests: true, ..TEST }]), Some(TestRuns { all: 2, failed: Some(1) }));
        assert_eq!(test_runs(&[TEST, UNKNOWN]), Some(TestRuns { all: 1, failed: Some(0) }));
        assert_eq!(test_runs(&[UNKNOWN]), None);
        assert_eq!(test_runs(&[]), Some(TestRuns { all: 0, failed: Some(0) }));
        let open = Call { status: Status::Incomplete, ..TEST };
        assert_eq!(test_runs(&[open, open]), Some(TestRuns { all: 2, failed: None }));
        assert_eq!(test_runs(&[open, TEST]), Some(TestRuns { all: 2, failed: Some(0) }));
        for (calls, edited, verified) in [
            (&[EDIT, TEST][..], Some(true), Some(true)),
            (&[TEST, EDIT], Some(true), Some(false)),
            (&[EDIT, failed(CHECK)], Some(true), Some(true)),
            (&[EDIT, TEST, EDIT, open], Some(true), Some(false)),
            (&[EDIT, UNKNOWN], Some(true), None),
            (&[EDIT, UNKNOWN, TEST], Some(true), Some(true)),
            (&[failed(EDIT), TEST], Some(false), None),
            (&[UNKNOWN], None, None),
            (&[], Some(false), None),
        ] {
            assert_eq!((is_edited(calls), is_verified(calls)), (edited, verified), "{calls:?}");
        }
    }

    #[test]
    fn what_was_before_the_first_edit_is_counted() {
        let turn = |number, total_tokens| Turn { number, total_tokens, ..Turn::default() };
        let turns = [turn(1, Some(100)), turn(2, None), turn(3, Some(50)), turn(4, Some(9))];
        let edit = Call { turn: Some(4), time: Some(90_000_000), ..EDIT };
        let before = |calls: &[Call], turns: &[Turn]| {
            let session =
                Session { started_at: Some(30_000_000), shows_calls: true, calls, turns, ..Session::default() };
            let BeforeEdit { turns, time_ms, tokens } = BeforeEdit::of(&session);
            [turns, time_ms, tokens]
        };
        assert_eq!(before(&[EXPLORE, failed(EDIT), edit], &turns), [Some(3), Some(60_000), Some(150)]);
        assert_eq!(before(&[UNKNOWN, edit], &turns), [None; 3]);
        assert_eq!(before(&[EXPLORE], &turns), [None; 3]);
        assert_eq!(before(&[Call { turn: Some(1), time: None, ..EDIT }], &turns), [Some(0), None, Some(0)]);
        assert_eq!(before(&[edit], &[turn(1, None)]), [Some(3), Some(60_000), None]);
    }

    #[test]
    fn context_grows_between_compactions() {
        let turn = |context_tokens, is_subagent| Turn { is_subagent, context_tokens, ..Turn::default() };
        let turns = [
            (Some(100), false),
            (Some(5), true),
            (Some(150), false),
            (None, false),
            (Some(40), false),
            (Some(70), false),
        ];
        let turns = turns.map(|(tokens, is_subagent)| turn(tokens, is_subagent));
        assert_eq!(Context::of(&turns), Context { end: Some(70), growth: Some((50 + 30, 2)) });
        assert_eq!(Context::of(&turns[..1]), Context { end: Some(100), growth: None });
        assert_eq!(Context::of(&[]), Context::default());
    }

    /// A format without calls shows nothing but its context.
    #[test]
    fn what_is_not_shown_is_unknown() {
        let turns = [Turn { number: 1, context_tokens: Some(10), ..Turn::default() }];
        let measures = Measures::of(&Session { turns: &turns, ..Session::default() });
        let known: Vec<_> =
            COLUMNS.iter().filter(|(_, value)| value(&measures).is_some()).map(|(name, _)| *name).collect();
        assert_eq!(known, ["end_context_tokens"]);
    }
}
