//! The named values of one verdict in a table, an object or the properties of a test suite.

use crate::base::time::Time;
use crate::model::verdict::{ImportedVerdict, Verdict};

/// The values of a verdict as texts.
#[derive(Debug, Clone, Default)]
pub struct Fields {
    session_id: Option<String>,
    runtime: Option<String>,
    labels: Vec<String>,
    log: Option<String>,
    task: Option<String>,
    trial: Option<String>,
    name: Option<String>,
    passed: Option<String>,
    score: Option<String>,
    judge: Option<String>,
    judged_at: Option<String>,
    message: Option<String>,
}

impl Fields {
    /// The names that [`Self::set`] accepts, for messages.
    pub const NAMES: &'static str =
        "session_id, runtime, label, log, task, trial, name, passed, score, judge, judged_at, message";

    /// Sets a value by its name. Returns `false` for other names.
    pub fn set(&mut self, name: &str, value: &str) -> bool {
        let field = match name.trim() {
            "session_id" | "session" => &mut self.session_id,
            "runtime" => &mut self.runtime,
            "label" | "labels" => {
                let labels = value.split(';').map(str::trim).filter(|label| !label.is_empty());
                self.labels.extend(labels.map(str::to_owned));
                return true;
            }
            "log" | "path" | "source_path" => &mut self.log,
            "task" => &mut self.task,
            "trial" => &mut self.trial,
            "name" => &mut self.name,
            "passed" => &mut self.passed,
            "score" => &mut self.score,
            "judge" => &mut self.judge,
            "judged_at" => &mut self.judged_at,
            "message" => &mut self.message,
            label if label.starts_with("label:") => {
                let key = label.get("label:".len()..).unwrap_or_default();
                self.labels.extend((!value.is_empty()).then(|| format!("{key}={value}")));
                return true;
            }
            _ => return false,
        };
        *field = Some(value.trim().to_owned()).filter(|value| !value.is_empty());
        true
    }

    /// Whether no value is set.
    pub const fn is_empty(&self) -> bool {
        let Self { session_id, runtime, labels, log, task, trial, name, passed, score, judge, judged_at, message } =
            self;
        session_id.is_none()
            && runtime.is_none()
            && labels.is_empty()
            && log.is_none()
            && task.is_none()
            && trial.is_none()
            && name.is_none()
            && passed.is_none()
            && score.is_none()
            && judge.is_none()
            && judged_at.is_none()
            && message.is_none()
    }

    /// The verdict.
    ///
    /// # Errors
    /// When a value is not what its name requires, or the verdict states nothing.
    pub fn verdict(self, line: i64) -> Result<ImportedVerdict, String> {
        let passed = self.passed.as_deref().map(flag).transpose()?;
        let score = self.score.as_deref().map(number).transpose()?;
        let judged_at = self.judged_at.as_deref().map(time).transpose()?;
        if passed.is_none() && score.is_none() {
            return Err("neither passed nor score is given".to_owned());
        }
        Ok(ImportedVerdict {
            verdict: Verdict {
                task: self.task,
                trial: self.trial,
                // The default is set later.
                name: self.name.unwrap_or_default(),
                passed,
                score,
                judge: self.judge,
                judged_at,
                message: self.message,
                path: None,
            },
            line,
            session_id: self.session_id,
            runtime: self.runtime,
            labels: self.labels,
            log: self.log,
            beside: None,
        })
    }
}

fn flag(text: &str) -> Result<bool, String> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "yes" | "1" | "1.0" | "pass" | "passed" | "resolved" => Ok(true),
        "false" | "no" | "0" | "0.0" | "fail" | "failed" | "unresolved" => Ok(false),
        _ => Err(format!("passed is {text:?}, which is neither true nor false")),
    }
}

fn number(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite());
    number.ok_or_else(|| format!("score is {text:?}, which is not a number"))
}

fn time(text: &str) -> Result<Time, String> {
    Time::parse(text).ok_or_else(|| format!("judged_at is {text:?}, which is not a time such as 2026-10-05T10:00:00Z"))
}
