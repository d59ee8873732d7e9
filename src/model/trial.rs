//! The result of one trial of a task, as an evaluation program writes it.

use std::path::Path;

use crate::base::time::Time;
use crate::model::errors::ErrorKind;
use crate::model::session::{SessionResult, Status};
use crate::model::tokens::Tokens;
use crate::model::total::ModelTotal;
use crate::model::verdict::{Verdict, add_verdicts};

/// The directory, below that of a trial, that contains the directories of its steps. It is a part of their ids, and begins the names of
/// their verdicts.
pub const STEPS: &str = "steps/";

/// The id of a trial, without the part that names a step of it.
pub fn whole(id: &str) -> &str {
    id.split_once("/steps/").map_or(id, |(whole, _)| whole)
}

/// The result of one trial of a task.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TrialResult {
    /// Identifies the trial among all trials.
    pub id: String,
    /// The task.
    pub task: Option<String>,
    /// The name of the trial.
    pub trial: Option<String>,
    /// The agent, in the words of the evaluation program.
    pub agent: Option<String>,
    /// The version of the agent.
    pub agent_version: Option<String>,
    /// The model that the agent used.
    pub model: Option<String>,
    /// The judgements.
    pub verdicts: Vec<Verdict>,
    /// The exception or failure that ended it, in the words of the evaluation program.
    pub exception: Option<String>,
    /// The kind of that.
    pub error_kind: Option<ErrorKind>,
    /// The message of the exception.
    pub message: Option<String>,
    /// When the agent started.
    pub started_at: Option<Time>,
    /// When the agent ended.
    pub ended_at: Option<Time>,
    /// The tokens of the agent.
    pub tokens: Tokens,
    /// The cost of the agent, in US dollars.
    pub cost: Option<f64>,
    /// The job, the dataset and the number of the attempt, as labels of its sessions.
    pub labels: Vec<(&'static str, String)>,
    /// The steps of a trial that consists of several: the directory of each, below that of the result, and what it states about it.
    pub steps: Vec<(String, Self)>,
    /// The tokens and the cost by model, if the result states them.
    pub models: Vec<ModelTotal>,
}

impl TrialResult {
    /// The results of the sessions of the trial: those of its steps, else the trial's own.
    pub fn sessions(&self) -> impl Iterator<Item = &Self> {
        let own = self.steps.is_empty().then_some(self);
        own.into_iter().chain(self.steps.iter().map(|(_, step)| step))
    }

    /// The result that describes a log: that of the step whose directory contains it. `log` is its path below the directory of the result.
    #[must_use]
    pub fn of_log(mut self, log: &Path) -> Self {
        let found = self.steps.iter().position(|(directory, _)| log.starts_with(directory));
        match found {
            Some(step) => self.steps.swap_remove(step).1,
            None => self,
        }
    }

    /// All judgements, also those of steps.
    pub fn verdicts_mut(&mut self) -> impl Iterator<Item = &mut Verdict> {
        let of_steps = self.steps.iter_mut().flat_map(|(_, step)| &mut step.verdicts);
        self.verdicts.iter_mut().chain(of_steps)
    }

    /// Fills what the log of the trial does not contain. Tokens and cost are not added: the log has those of the agent.
    pub fn fill(&self, session: &mut SessionResult) {
        self.describe(session);
        session.agent = session.agent.take().or_else(|| self.agent.as_deref().map(Into::into));
        if session.started_at.is_none() && session.ended_at.is_none() {
            (session.started_at, session.ended_at) = (self.started_at, self.ended_at);
        }
        if self.exception.is_some() && !is_end_of_its_own(session) {
            let words = self.message.as_deref().or(self.exception.as_deref()).map(Into::into);
            if session.status.is_end() {
                session.error_kind = self.error_kind.or(session.error_kind);
                session.error_message = words.or_else(|| session.error_message.take());
            } else {
                session.error_kind = session.error_kind.or(self.error_kind);
                session.error_message = session.error_message.take().or(words);
            }
            session.status = Status::Error;
        }
    }

    /// Adds the task, the trial and the verdicts.
    pub fn describe(&self, session: &mut SessionResult) {
        session.trial = Some(self.id.clone());
        let labels = [("task", &self.task), ("trial", &self.trial), ("exception", &self.exception)];
        let labels = labels.into_iter().filter_map(|(key, value)| Some(format!("{key}={}", value.as_ref()?)));
        session.labels.extend(labels);
        session.labels.extend(self.labels.iter().map(|(key, value)| format!("{key}={value}")));
        add_verdicts(&mut session.verdicts, self.verdicts.clone());
    }
}

/// Whether the log decides how a session ended, and not the exception of its trial: the log contains an error, or the session is one that
/// another session started, and ended before the trial did.
fn is_end_of_its_own(session: &SessionResult) -> bool {
    session.status == Status::Error || session.parent_session_id.is_some() && session.status.is_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_that_ended_by_an_exception_is_no_success() {
        let trial = TrialResult {
            exception: Some("AgentTimeoutError".to_owned()),
            error_kind: Some(ErrorKind::Timeout),
            ..TrialResult::default()
        };
        let filled = |status: Status, kind: Option<ErrorKind>, parent: Option<&str>| {
            let parent_session_id = parent.map(Into::into);
            let mut session = SessionResult { status, error_kind: kind, parent_session_id, ..SessionResult::default() };
            trial.fill(&mut session);
            (session.status, session.error_kind)
        };
        let timeout = (Status::Error, Some(ErrorKind::Timeout));
        assert_eq!(filled(Status::Success, None, None), timeout);
        assert_eq!(filled(Status::Aborted, Some(ErrorKind::Cancelled), None), timeout);
        assert_eq!(filled(Status::Incomplete, None, Some("parent")), timeout);
        // What the log states about an error, and about the end of a child, stays.
        let limit = Some(ErrorKind::RateLimit);
        assert_eq!(filled(Status::Error, limit, None), (Status::Error, limit));
        assert_eq!(filled(Status::Success, None, Some("parent")), (Status::Success, None));
    }
}
