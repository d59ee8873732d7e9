//! The class of a failed session: see docs/failures.md, which states the rules in the same order.

use std::collections::{BTreeMap, HashSet};

use super::class::Class;
use super::errors::class_of;
use super::rows::{Call, Ending, Event, Place, Session, Status};
use crate::analysis::present::counted;
use crate::analysis::rows::Purpose;
use crate::base::text::one_line;

/// Calls of a tool that fail before it counts as broken, with different arguments.
const BROKEN_CALLS: usize = 3;
/// Its part of all calls is at least one of this number.
const BROKEN_SHARE: usize = 3;
/// Calls that repeat earlier ones before they count as a loop; at least half of the calls since the last progress.
const LOOP_CALLS: usize = 5;
/// Exit statuses of a process that SIGKILL or SIGTERM ended.
const KILLED: [i64; 2] = [137, 143];
/// Characters of an error that are shown.
const LONGEST_SIGN: usize = 100;

/// Why a session failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Finding {
    pub class: Class,
    /// What shows it, in a few words.
    pub sign: String,
    /// Where it is shown.
    pub place: Option<Place>,
}

/// The first class whose rule the session fits.
pub(super) fn classify(session: &Session<'_>) -> Finding {
    let rules = [stopped, error, killed, tool_broken, repeats, unfinished, without_change, changed];
    rules.iter().find_map(|rule| rule(session)).unwrap_or_else(|| unknown(session))
}

#[expect(clippy::unnecessary_wraps, reason = "rules end with it")]
fn found(class: Class, sign: impl Into<String>, place: Option<Place>) -> Option<Finding> {
    Some(Finding { class, sign: sign.into(), place })
}

/// The user stopped it.
fn stopped(session: &Session<'_>) -> Option<Finding> {
    let abort = || session.events.iter().rev().find(|event| event.is_abort).map(|event| event.place.clone());
    let is_stopped = session.status == Status::Aborted;
    if is_stopped { found(Class::Stopped, "the user stopped it", abort().or_else(|| end(session))) } else { None }
}

/// Its process was killed from outside: by the system, by a container, or by a program that waited for it.
fn killed(session: &Session<'_>) -> Option<Finding> {
    let status = session.exit_code.filter(|status| KILLED.contains(status))?;
    found(Class::Infrastructure, format!("its process was killed: exit status {status}"), end(session))
}

/// The error by which it ended.
fn error(session: &Session<'_>) -> Option<Finding> {
    let last = last_error(session);
    let (class, message) = if session.status == Status::Error || session.exception.is_some() {
        let words = [session.exception, session.error_message].into_iter().flatten().collect::<Vec<_>>().join(": ");
        let code = last.and_then(|event| event.code.as_deref());
        (class_of(session.error_kind, code, &words)?, words)
    } else {
        let last = last.filter(|event| is_after_all(session, event))?;
        (class_of(None, last.code.as_deref(), &last.message)?, last.message.clone())
    };
    let code = last.and_then(|event| event.code.clone());
    let sign = [Some(message), code, session.error_kind.map(str::to_owned)];
    let sign = sign.into_iter().flatten().find(|text| !text.trim().is_empty()).unwrap_or_default();
    found(class, in_one_line(&sign), last.map(|event| event.place.clone()).or_else(|| end(session)))
}

fn last_error<'a>(session: &Session<'a>) -> Option<&'a Event> {
    session.events.iter().rev().find(|event| !event.is_abort)
}

/// Whether an event is later than all responses and calls: the agent did not recover from it.
fn is_after_all(session: &Session<'_>, event: &Event) -> bool {
    let is_later = |time: Option<i64>, place: &Place| match (event.time, time) {
        (Some(event), Some(other)) => event >= other,
        _ => event.place.path == place.path && event.place.line >= place.line,
    };
    session.turns.last().is_none_or(|turn| is_later(turn.time, &turn.place))
        && session.calls.last().is_none_or(|call| is_later(call.time, &call.place))
}

/// The beginning of a message, in one line.
fn in_one_line(message: &str) -> String {
    let line = one_line(message);
    line.chars().take(LONGEST_SIGN).collect()
}

/// A tool of which each call failed or was refused, with different arguments, and without a change afterwards.
fn tool_broken(session: &Session<'_>) -> Option<Finding> {
    #[derive(Default)]
    struct Tool<'a> {
        arguments: HashSet<u64>,
        failed: usize,
        first: usize,
        last: Option<&'a Call>,
        works: bool,
    }
    let mut tools: BTreeMap<&str, Tool<'_>> = BTreeMap::new();
    // Calls whose tool is unknown may be of several tools.
    for (position, call) in session.calls.iter().enumerate().filter(|(_, call)| !call.tool.is_empty()) {
        let tool = tools.entry(&call.tool).or_insert_with(|| Tool { first: position, ..Tool::default() });
        match call.ending {
            Ending::Bad if call.purpose.is_verifying() => tool.works = true,
            Ending::Bad | Ending::Denied => {
                tool.failed += 1;
                tool.arguments.extend(call.identity);
                tool.last = Some(call);
            }
            Ending::Good => tool.works = true,
            Ending::Open => {}
        }
    }
    let is_broken = |tool: &&Tool<'_>| {
        let after = session.calls.get(tool.first..).unwrap_or_default();
        !tool.works
            && tool.arguments.len() >= BROKEN_CALLS
            && tool.failed * BROKEN_SHARE >= session.calls.len()
            && !after.iter().any(Call::is_edit)
    };
    let tool = tools.values().filter(is_broken).max_by_key(|tool| tool.failed)?;
    let last = tool.last?;
    let calls = counted(i64::try_from(tool.failed).unwrap_or(i64::MAX), "call");
    found(Class::ToolBroken, format!("each of {calls} of {} failed", last.tool), Some(last.place.clone()))
}

/// Calls that repeat earlier ones since the last progress: since an edit that was not made before.
fn repeats(session: &Session<'_>) -> Option<Finding> {
    let mut edits: HashSet<u64> = HashSet::new();
    let mut seen: HashSet<u64> = HashSet::new();
    let (mut calls, mut repeated, mut last) = (0, 0, None);
    for call in session.calls {
        let is_new_edit = call.is_edit() && call.identity.is_none_or(|identity| edits.insert(identity));
        if is_new_edit {
            seen.clear();
            (calls, repeated, last) = (0, 0, None);
            continue;
        }
        calls += 1;
        if call.identity.is_some_and(|identity| !seen.insert(identity)) || call.is_edit() {
            repeated += 1;
            last = Some(call);
        }
    }
    if repeated < LOOP_CALLS || repeated * 2 < calls {
        return None;
    }
    let place = last.map(|call| call.place.clone());
    found(Class::Loop, format!("{repeated} of the last {calls} calls repeat earlier ones"), place)
}

/// The log ends without an end.
fn unfinished(session: &Session<'_>) -> Option<Finding> {
    if session.status != Status::Incomplete {
        return None;
    }
    let open = session.calls.last().filter(|call| call.ending == Ending::Open);
    match open {
        Some(call) => {
            let tool = if call.tool.is_empty() { "a call" } else { &call.tool };
            let sign = format!("the log ends before the result of {tool}");
            found(Class::Unfinished, sign, Some(call.place.clone()))
        }
        None => found(Class::Unfinished, "the log ends before the agent did", end(session)),
    }
}

/// Whether the agent ended by itself, and its result was judged wrong.
fn is_wrong_result(session: &Session<'_>) -> bool {
    session.is_judged_wrong && matches!(session.status, Status::Success | Status::Unknown) && session.shows_calls
}

/// Neither an edit nor any other work.
fn without_change(session: &Session<'_>) -> Option<Finding> {
    let calls = session.calls;
    let has_scratch = calls.iter().any(|call| call.is_scratch);
    // What ran beside a file that reproduces the problem ran this file.
    let is_work = |call: &Call| call.is_work() && !has_scratch;
    let is_change = |call: &Call| call.is_edit() || is_work(call) || call.purpose == Purpose::Unknown;
    if !is_wrong_result(session) || calls.iter().any(is_change) {
        return None;
    }
    let reads_files = calls.iter().any(|call| !call.is_remote);
    let has_answer = session.turns.last().is_some_and(|turn| turn.visible_tokens != Some(0));
    if has_answer && !reads_files {
        return found(Class::WrongAnswer, "it answered without a change", end(session));
    }
    let after = counted(i64::try_from(calls.len()).unwrap_or(i64::MAX), "call");
    let but = if has_scratch { ", other than files to reproduce the error," } else { "" };
    found(Class::GaveUp, format!("it ended without a change{but} after {after}"), end(session))
}

/// A change, and the checks after it.
fn changed(session: &Session<'_>) -> Option<Finding> {
    if !is_wrong_result(session) {
        return None;
    }
    let calls = session.calls;
    let has_edits = calls.iter().any(Call::is_edit);
    let is_change = |call: &Call| if has_edits { call.is_edit() && !call.needs_no_check } else { call.is_work() };
    let Some(last) = calls.iter().rposition(is_change) else {
        let document = calls.iter().rev().find(|call| call.is_edit())?;
        return found(Class::WrongAnswer, "it changed only documents", Some(document.place.clone()));
    };
    let after = calls.get(last + 1..).unwrap_or_default();
    let last_of = |is: &dyn Fn(&Call) -> bool| after.iter().rev().find(|call| call.has_ended() && is(call));
    let test = last_of(&|call| call.purpose == Purpose::Test);
    let run = || last_of(&|call| has_edits && call.is_run);
    match test.or_else(|| last_of(&Call::is_check)).or_else(run) {
        Some(check) => {
            let name = match check.purpose {
                Purpose::Test => "test",
                Purpose::Check => "build or lint",
                _ => "run of a program",
            };
            let (class, result) = match check.ending {
                Ending::Bad => (Class::VerifiedRed, "failed"),
                _ => (Class::JudgedWrong, "passed"),
            };
            found(class, format!("the last {name} {result}"), Some(check.place.clone()))
        }
        None if after.iter().any(|call| call.purpose == Purpose::Unknown) => None,
        None => {
            let place = calls.get(last).map(|call| call.place.clone());
            found(Class::Unverified, "nothing ran after the last change", place)
        }
    }
}

fn unknown(session: &Session<'_>) -> Finding {
    let error = last_error(session).filter(|_| session.status == Status::Error);
    let sign = match (session.status, session.error_message) {
        (Status::Error, Some(message)) => in_one_line(message),
        (Status::Error, None) => "an error without words".to_owned(),
        _ if !session.shows_calls || session.calls.is_empty() => "the log shows no calls".to_owned(),
        _ => "the log does not show the commands".to_owned(),
    };
    let place = error.map(|event| event.place.clone()).or_else(|| end(session));
    Finding { class: Class::Unknown, sign, place }
}

/// The last row of the session: its last response, call or event.
fn end(session: &Session<'_>) -> Option<Place> {
    let turn = session.turns.last().map(|turn| (turn.time, &turn.place));
    let call = session.calls.last().map(|call| (call.time, &call.place));
    let event = session.events.last().map(|event| (event.time, &event.place));
    let rows = [turn, call, event].into_iter().flatten();
    let last = rows.max_by_key(|(time, place)| (*time, place.line)).map(|(_, place)| place.clone());
    last.or_else(|| (!session.path.is_empty()).then(|| Place { path: session.path.clone(), line: None }))
}

#[cfg(test)]
mod tests;
