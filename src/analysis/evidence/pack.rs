//! The pack: classes of failures with their cases.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use super::logged::{around, shortened};
use super::read::{self, Failure, Session};
use super::steps::{Step, nearest};
use crate::analysis::failures::CLASSES;
use crate::analysis::outcomes::sets::{HELD_OUT, set_of_task};
use crate::analysis::rows::Frames;
use crate::analysis::selection::{Error, LeftOut, Scope};

/// How many steps before and after the decisive one are shown.
const BEFORE: usize = 3;
const AFTER: usize = 2;

/// Whether records of the logs are included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Texts {
    /// Only what the archive contains.
    OfArchive,
    /// The records around the decisive moment, from the logs.
    OfLogs,
}

/// The evidence for improving a prompt or a skill: the failures of the tasks to learn from.
#[derive(Debug, Serialize)]
pub struct Pack {
    /// The failed sessions of tasks to learn from.
    pub sessions: usize,
    /// Their cost in US dollars.
    pub cost_usd: Option<f64>,
    /// The failed sessions of tasks that are held out: only their number is known, so that nothing is learned from them.
    pub held_out_sessions: usize,
    /// The classes of failures, the one with most sessions first.
    pub(super) classes: Vec<ClassOfFailures>,
}

/// The failures of a class.
#[derive(Debug, Serialize)]
pub(super) struct ClassOfFailures {
    pub class: String,
    pub sessions: usize,
    pub cost_usd: Option<f64>,
    /// The most expensive first.
    pub cases: Vec<Case>,
}

/// A failed session.
#[derive(Debug, Serialize)]
pub(super) struct Case {
    pub runtime: String,
    pub session_id: String,
    pub model: Option<String>,
    pub agent: Option<String>,
    pub task: Option<String>,
    pub trial: Option<String>,
    pub cost_usd: Option<f64>,
    /// What shows the class, and where.
    pub sign: String,
    pub source_path: Option<String>,
    pub line: Option<i64>,
    /// What the judges wrote, such as the names of failed tests.
    pub messages: Vec<String>,
    /// The calls around the decisive moment.
    pub steps: Vec<Step>,
    /// The index in `steps` of the last call before the sign.
    pub decisive: Option<usize>,
    /// What a trial of the same task that passed did differently.
    pub divergence: Option<Divergence>,
    /// Records of the log around the line.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub records: Vec<Record>,
}

/// Where a failed trial and one that passed differ first.
#[derive(Debug, Serialize)]
pub(super) struct Divergence {
    /// The trial that passed: of those of the task, the one that begins most like the failed one.
    pub passed_session_id: String,
    /// The calls that both have in common at their beginning.
    pub common_calls: usize,
    /// The next call of the failed trial, if it has one.
    pub failed: Option<Step>,
    /// The next call of the one that passed.
    pub passed: Option<Step>,
}

/// A record of a log.
#[derive(Debug, Serialize)]
pub(super) struct Record {
    pub line: i64,
    pub text: String,
}

impl Pack {
    /// The pack of the failed sessions in a scope. The second result counts the sessions without a start that it excludes.
    ///
    /// # Errors
    /// When a filter names something that does not exist, or the tables cannot be read.
    pub fn read(tables: &Frames, scope: &Scope, texts: Texts) -> Result<(Self, LeftOut), Error> {
        let (sessions, left_out) = read::sessions(tables, scope)?;
        Ok((Self::of(&sessions, texts), left_out))
    }

    fn of(sessions: &[Session], texts: Texts) -> Self {
        let is_held_out = |session: &Session| session.task.as_deref().is_some_and(|task| set_of_task(task) == HELD_OUT);
        let mut passed: BTreeMap<&str, Vec<&Session>> = BTreeMap::new();
        for session in sessions.iter().filter(|session| session.passed == Some(true) && session.failure.is_none()) {
            passed.entry(session.task.as_deref().unwrap_or_default()).or_default().push(session);
        }
        let mut held_out_sessions = 0;
        let mut by_class: BTreeMap<&str, Vec<Case>> = BTreeMap::new();
        for session in sessions {
            let Some(failure) = &session.failure else { continue };
            if is_held_out(session) {
                held_out_sessions += 1;
                continue;
            }
            let of_task = session.task.as_deref().and_then(|task| passed.get(task)).map_or(&[][..], Vec::as_slice);
            by_class.entry(&failure.class).or_default().push(case(session, failure, of_task, texts));
        }
        let rank = |class: &str| CLASSES.iter().position(|known| known.as_str() == class);
        let mut classes: Vec<ClassOfFailures> = by_class
            .into_iter()
            .map(|(class, cases)| ClassOfFailures {
                class: class.to_owned(),
                sessions: cases.len(),
                cost_usd: sum(cases.iter().map(|case| case.cost_usd)),
                cases,
            })
            .collect();
        classes.sort_by_key(|class| (std::cmp::Reverse(class.sessions), rank(&class.class)));
        Self {
            sessions: classes.iter().map(|class| class.sessions).sum(),
            cost_usd: sum(classes.iter().map(|class| class.cost_usd)),
            held_out_sessions,
            classes,
        }
    }

    /// The pack as JSON.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write_json(&self, mut out: &mut dyn std::io::Write) -> std::io::Result<()> {
        serde_json::to_writer_pretty(&mut out, self)?;
        writeln!(out)
    }
}

/// The sum of the known amounts; `None` if none is known.
fn sum(amounts: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    amounts.flatten().reduce(|sum, amount| sum + amount)
}

fn case(session: &Session, failure: &Failure, passed: &[&Session], texts: Texts) -> Case {
    let decisive = decisive(&session.steps, failure);
    let start = decisive.map_or(session.steps.len(), |at| at + 1).saturating_sub(BEFORE + 1);
    let end = decisive.map_or(session.steps.len(), |at| (at + 1 + AFTER).min(session.steps.len()));
    let nearest = nearest(&session.steps, passed.iter().map(|other| (*other, other.steps.as_slice())));
    let divergence = nearest.map(|(other, steps, common)| Divergence {
        passed_session_id: other.key.1.clone(),
        common_calls: common,
        failed: session.steps.get(common).map(short_step),
        passed: steps.get(common).map(short_step),
    });
    let place = failure.path.as_deref().zip(failure.line).filter(|_| texts == Texts::OfLogs);
    let records = place.map(|(path, line)| around(Path::new(path), line)).unwrap_or_default();
    Case {
        runtime: session.key.0.clone(),
        session_id: session.key.1.clone(),
        model: session.model.clone(),
        agent: session.agent.clone(),
        task: session.task.clone(),
        trial: session.trial.clone(),
        cost_usd: session.cost_usd,
        sign: failure.sign.clone(),
        source_path: failure.path.clone(),
        line: failure.line,
        messages: session.messages.clone(),
        steps: session.steps.get(start..end).unwrap_or_default().iter().map(short_step).collect(),
        decisive: decisive.map(|at| at - start),
        divergence,
        records: records.into_iter().map(|(line, text)| Record { line, text }).collect(),
    }
}

/// The last call of the log up to the line that shows the class; the last one of all if no line does. Calls are not always in the order of
/// lines: those without a response are at the end.
fn decisive(steps: &[Step], failure: &Failure) -> Option<usize> {
    let of_log = || steps.iter().enumerate().filter(|(_, step)| Some(&step.source_path) == failure.path.as_ref());
    let last = match failure.line {
        Some(line) if of_log().next().is_some() => {
            of_log().filter(|(_, step)| step.line.is_some_and(|at| at <= line)).max_by_key(|(_, step)| step.line)
        }
        _ => steps.iter().enumerate().next_back(),
    };
    last.map(|(at, _)| at)
}

/// A step with texts that are not too long.
fn short_step(step: &Step) -> Step {
    let short = |text: &Option<String>| text.as_deref().map(shortened);
    Step { arguments: short(&step.arguments), result: short(&step.result), ..step.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_decisive_call_is_the_last_one_before_the_sign() {
        let step = |path: &str, line: i64| Step { source_path: path.to_owned(), line: Some(line), ..Step::default() };
        // The last call has no response, so that it is not in the order of lines.
        let steps = [step("a", 3), step("a", 9), step("b", 1), step("a", 5)];
        let at = |path: Option<&str>, line: Option<i64>| {
            let path = path.map(str::to_owned);
            decisive(&steps, &Failure { class: String::new(), sign: String::new(), path, line })
        };
        assert_eq!((at(Some("a"), Some(8)), at(Some("a"), Some(9)), at(Some("a"), Some(2))), (Some(3), Some(1), None));
        assert_eq!((at(Some("b"), Some(7)), at(Some("c"), Some(7)), at(None, None)), (Some(2), Some(3), Some(3)));
    }
}
