//! The result of one trial of a task, as an evaluation program writes it.

use crate::base::time::Time;
use crate::model::errors::ErrorKind;
use crate::model::session::{SessionResult, Status};
use crate::model::tokens::Tokens;
use crate::model::verdict::{Verdict, add_verdicts};

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
}

impl TrialResult {
    /// Fills what the log of the trial does not contain. Tokens and cost are not added: the log has those of the agent.
    pub fn fill(&self, session: &mut SessionResult) {
        self.describe(session);
        session.agent = session.agent.take().or_else(|| self.agent.as_deref().map(Into::into));
        if session.started_at.is_none() && session.ended_at.is_none() {
            (session.started_at, session.ended_at) = (self.started_at, self.ended_at);
        }
        // As the exit status of a process, it decides only if the log has no end record.
        if !session.status.is_end() && self.exception.is_some() {
            session.status = Status::Error;
            session.error_kind = session.error_kind.or(self.error_kind);
            let words = self.message.as_deref().or(self.exception.as_deref());
            session.error_message = session.error_message.take().or_else(|| words.map(Into::into));
        }
    }

    /// Adds the task, the trial and the verdicts.
    pub fn describe(&self, session: &mut SessionResult) {
        session.trial = Some(self.id.clone());
        let labels = [("task", &self.task), ("trial", &self.trial), ("exception", &self.exception)];
        let labels = labels.into_iter().filter_map(|(key, value)| Some(format!("{key}={}", value.as_ref()?)));
        session.labels.extend(labels);
        add_verdicts(&mut session.verdicts, self.verdicts.clone());
    }
}
