//! Tests of the rules, by calls that are made up.

use super::*;
use crate::analysis::failures::rows::Turn;

const READ: Purpose = Purpose::Explore;
const EDIT: Purpose = Purpose::Edit;
const TEST: Purpose = Purpose::Test;
const LINT: Purpose = Purpose::Check;
const RUN: Purpose = Purpose::Other;
const HIDDEN: Purpose = Purpose::Unknown;
const GOOD: Ending = Ending::Good;
const BAD: Ending = Ending::Bad;

/// Calls in the order of lines, from 1, each with its own arguments.
fn calls(of: &[(Purpose, Ending)]) -> Vec<Call> {
    let call = |(index, (purpose, ending)): (usize, &(Purpose, Ending))| Call {
        tool: format!("{purpose:?}").into(),
        purpose: *purpose,
        is_command: *purpose != READ && *purpose != EDIT,
        is_run: *purpose == RUN,
        ending: *ending,
        identity: Some(index as u64),
        place: Place { path: "log".into(), line: i64::try_from(index + 1).ok() },
        ..Call::default()
    };
    of.iter().enumerate().map(call).collect()
}

/// A session that ended by itself and was judged wrong.
fn wrong(calls: &[Call]) -> Session<'_> {
    Session { status: Status::Success, is_judged_wrong: true, shows_calls: true, calls, ..Session::default() }
}

/// The class and the line.
fn class(session: &Session<'_>) -> (Class, Option<i64>) {
    let found = classify(session);
    (found.class, found.place.and_then(|place| place.line))
}

#[test]
fn checks_after_the_last_change_decide() {
    for (of, expected) in [
        (&[(READ, GOOD), (EDIT, GOOD)][..], (Class::Unverified, Some(2))),
        (&[(TEST, BAD), (EDIT, GOOD), (READ, GOOD)], (Class::Unverified, Some(2))),
        (&[(EDIT, GOOD), (TEST, BAD)], (Class::VerifiedRed, Some(2))),
        (&[(EDIT, GOOD), (TEST, BAD), (LINT, GOOD)], (Class::VerifiedRed, Some(2))),
        (&[(EDIT, GOOD), (TEST, BAD), (TEST, GOOD)], (Class::JudgedWrong, Some(3))),
        (&[(EDIT, GOOD), (LINT, GOOD)], (Class::JudgedWrong, Some(2))),
        (&[(EDIT, GOOD), (TEST, Ending::Open)], (Class::Unverified, Some(1))),
        // A program that ran is a change if there is no edit.
        (&[(READ, GOOD), (RUN, GOOD)], (Class::Unverified, Some(2))),
        (&[(RUN, GOOD), (EDIT, GOOD), (TEST, GOOD), (RUN, GOOD)], (Class::JudgedWrong, Some(3))),
        // The agent's own program is its check if there is no other.
        (&[(EDIT, GOOD), (RUN, BAD)], (Class::VerifiedRed, Some(2))),
        (&[(EDIT, GOOD), (RUN, GOOD), (LINT, BAD), (RUN, GOOD)], (Class::VerifiedRed, Some(3))),
        // The command that the log does not show may be the check, or the change.
        (&[(EDIT, GOOD), (HIDDEN, GOOD)], (Class::Unknown, Some(2))),
        (&[(READ, GOOD), (HIDDEN, GOOD)], (Class::Unknown, Some(2))),
    ] {
        assert_eq!(class(&wrong(&calls(of))), expected, "{of:?}");
    }
    let mut document = calls(&[(READ, GOOD), (EDIT, GOOD)]);
    document[1].needs_no_check = true;
    assert_eq!(class(&wrong(&document)), (Class::WrongAnswer, Some(2)));
}

#[test]
fn an_agent_that_changes_nothing_gave_up_or_answered() {
    let turns = |visible: Option<i64>| {
        vec![Turn { visible_tokens: visible, place: Place { path: "log".into(), line: Some(9) }, ..Turn::default() }]
    };
    let reads = calls(&[(READ, GOOD), (EDIT, BAD)]);
    assert_eq!(class(&Session { turns: &turns(Some(50)), ..wrong(&reads) }), (Class::GaveUp, Some(9)));
    assert_eq!(class(&Session { turns: &turns(Some(50)), ..wrong(&[]) }), (Class::WrongAnswer, Some(9)));
    assert_eq!(class(&Session { turns: &turns(Some(0)), ..wrong(&[]) }), (Class::GaveUp, Some(9)));
    let mut searches = calls(&[(READ, GOOD), (READ, GOOD)]);
    for call in &mut searches {
        call.is_remote = true;
    }
    assert_eq!(class(&Session { turns: &turns(None), ..wrong(&searches) }), (Class::WrongAnswer, Some(9)));
    // A file that reproduces the problem is not a change, and its runs are not work.
    let mut scratch = calls(&[(READ, GOOD), (EDIT, GOOD), (RUN, GOOD), (TEST, BAD)]);
    scratch[1].is_scratch = true;
    assert_eq!(class(&wrong(&scratch)), (Class::GaveUp, Some(4)));
    // The log shows no calls.
    let hidden = Session { shows_calls: false, path: "log".into(), ..wrong(&[]) };
    assert_eq!(class(&hidden), (Class::Unknown, None));
}

#[test]
fn a_tool_that_always_fails_is_broken() {
    let broken = calls(&[(READ, GOOD), (EDIT, BAD), (EDIT, BAD), (EDIT, Ending::Denied)]);
    assert_eq!(class(&wrong(&broken)), (Class::ToolBroken, Some(4)));
    // It worked once; the arguments were the same; most calls are others; a test that fails works.
    let once = calls(&[(EDIT, BAD), (EDIT, BAD), (EDIT, BAD), (EDIT, GOOD)]);
    let mut same = broken.clone();
    for call in &mut same {
        call.identity = Some(7);
    }
    let rare = calls(&[&[(READ, GOOD); 7][..], &[(EDIT, BAD); 3]].concat());
    let tests = calls(&[(EDIT, GOOD), (TEST, BAD), (TEST, BAD), (TEST, BAD)]);
    for calls in [once, same, rare, tests] {
        assert_ne!(class(&wrong(&calls)).0, Class::ToolBroken, "{calls:?}");
    }
}

#[test]
fn repetition_since_the_last_progress_is_a_loop() {
    let mut looped = calls(&[&[(EDIT, GOOD)][..], &[(TEST, BAD); 6]].concat());
    looped.iter_mut().skip(1).for_each(|call| call.identity = Some(7));
    assert_eq!(class(&wrong(&looped)), (Class::Loop, Some(7)));
    // A new edit is progress, and the same edit again is not.
    let mut edit = calls(&[(EDIT, GOOD)]);
    edit[0].identity = Some(100);
    let progress = [&looped[..], &edit].concat();
    assert_eq!(class(&wrong(&progress)).0, Class::Unverified);
    edit[0].identity = Some(0);
    assert_eq!(class(&wrong(&[&looped[..], &edit].concat())).0, Class::Loop);
    // Half of the calls at least.
    let others =
        calls(&[(READ, GOOD); 7]).into_iter().map(|call| Call { identity: call.identity.map(|it| it + 50), ..call });
    assert_ne!(class(&wrong(&[looped, others.collect()].concat())).0, Class::Loop);
}

#[test]
fn ends_come_before_what_the_agent_did() {
    let of = calls(&[(EDIT, GOOD), (READ, Ending::Open)]);
    let failed = |status, kind, message| Session {
        status,
        is_judged_wrong: false,
        error_kind: kind,
        error_message: message,
        ..wrong(&of)
    };
    for (session, expected) in [
        (failed(Status::Aborted, Some("cancelled"), None), Class::Stopped),
        (failed(Status::Error, Some("auth"), Some("401")), Class::Authentication),
        (failed(Status::Error, Some("other"), Some("Connection error.")), Class::Infrastructure),
        (failed(Status::Error, Some("other"), Some("no words for it")), Class::Unknown),
        (failed(Status::Error, None, None), Class::Unknown),
        (failed(Status::Incomplete, None, None), Class::Unfinished),
        (
            Session { exception: Some("AgentTimeoutError"), ..failed(Status::Success, Some("timeout"), None) },
            Class::Timeout,
        ),
    ] {
        assert_eq!(class(&session), (expected, Some(2)), "{session:?}");
    }
}

/// An error from which the agent recovered is not why it failed.
#[test]
fn only_the_last_error_counts() {
    let at = |line| Place { path: "log".into(), line: Some(line) };
    let error = |line| vec![Event { code: Some("429".into()), place: at(line), ..Event::default() }];
    let of = calls(&[(EDIT, GOOD), (TEST, GOOD)]);
    let session = |line| class(&Session { events: &error(line), ..wrong(&of) });
    assert_eq!(session(1), (Class::JudgedWrong, Some(2)));
    assert_eq!(session(3), (Class::RateLimit, Some(3)));
}
