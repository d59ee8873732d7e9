//! Sidecars: files beside a log with facts that only the recording process knew.

use std::collections::BTreeSet;

use serde::Deserialize;

use crate::base::text::Symbol;
use crate::base::time::Time;
use crate::json::Raw;
use crate::json::fields::{Number, Pairs, Text, When};
use crate::model::session::{SessionResult, Status};

/// Facts about a log that its records do not contain: from a sidecar file, or from the options of a run. They only fill gaps.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sidecar {
    /// The runtime.
    pub runtime: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// The exit status of the process.
    pub exit_code: Option<i64>,
    /// When the process started.
    pub started_at: Option<Time>,
    /// When it ended.
    pub ended_at: Option<Time>,
    /// The working directory of the process.
    pub cwd: Option<String>,
    /// The machine that the process ran on.
    pub host: Option<String>,
    /// The account that it ran as.
    pub user_name: Option<String>,
    /// The repository.
    pub repository: Option<String>,
    /// Labels, as `key=value`.
    pub labels: BTreeSet<String>,
}

impl Sidecar {
    /// Parses `NAME.meta.json` or `meta.json`. Unknown keys are ignored; a file that is not an object is the same as an empty one.
    pub fn parse(bytes: &[u8]) -> Self {
        #[derive(Default, Deserialize)]
        #[serde(default, rename_all = "camelCase")]
        struct File<'a> {
            #[serde(borrow)]
            runtime: Text<'a>,
            #[serde(borrow)]
            model: Text<'a>,
            exit_code: Number,
            started_at: When,
            ended_at: When,
            #[serde(borrow)]
            cwd: Text<'a>,
            #[serde(borrow)]
            host: Text<'a>,
            #[serde(borrow, alias = "user_name", alias = "userName")]
            user: Text<'a>,
            #[serde(borrow)]
            repository: Text<'a>,
            #[serde(borrow)]
            labels: Pairs<'a, Raw<'a>>,
        }
        let file: File<'_> = Raw(bytes.trim_ascii()).read();
        Self {
            runtime: file.runtime.owned(),
            model: file.model.owned(),
            exit_code: file.exit_code.whole(),
            started_at: file.started_at.0,
            ended_at: file.ended_at.0,
            cwd: file.cwd.owned(),
            host: file.host.owned(),
            user_name: file.user.owned(),
            repository: file.repository.owned(),
            labels: file.labels.0.iter().map(|(key, value)| format!("{key}={}", value.text())).collect(),
        }
    }

    /// Fills the gaps of this one from `other`.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            runtime: self.runtime.or(other.runtime),
            model: self.model.or(other.model),
            exit_code: self.exit_code.or(other.exit_code),
            started_at: self.started_at.or(other.started_at),
            ended_at: self.ended_at.or(other.ended_at),
            cwd: self.cwd.or(other.cwd),
            host: self.host.or(other.host),
            user_name: self.user_name.or(other.user_name),
            repository: self.repository.or(other.repository),
            labels: self.labels.into_iter().chain(other.labels).collect(),
        }
    }

    /// Fills what no record of the session states.
    pub fn fill(&self, session: &mut SessionResult) {
        let names_no_model = session.model.is_none()
            && session.turns.iter().all(|turn| turn.model.is_none())
            && session.totals.iter().flat_map(|total| &total.models).all(|total| total.model.is_none());
        if names_no_model && let Some(model) = &self.model {
            let models = session.turns.iter_mut().map(|turn| &mut turn.model);
            let totals = session.totals.iter_mut().flat_map(|total| &mut total.models).map(|total| &mut total.model);
            let model = Symbol::new(model);
            models.chain(totals).chain([&mut session.model]).for_each(|name| *name = Some(model.clone()));
        }
        session.exit_code = session.exit_code.or(self.exit_code);
        if session.started_at.is_none() && session.ended_at.is_none() {
            (session.started_at, session.ended_at) = (self.started_at, self.ended_at);
        }
        let fill = |known: &mut Option<String>, value: &Option<String>| *known = known.take().or_else(|| value.clone());
        fill(&mut session.cwd, &self.cwd);
        fill(&mut session.host, &self.host);
        fill(&mut session.user_name, &self.user_name);
        fill(&mut session.repository, &self.repository);
        session.labels.extend(self.labels.iter().cloned());
        // The exit status decides only if the log has no end record.
        if !session.status.is_end() && self.exit_code.is_some_and(|code| code != 0) {
            session.status = Status::Error;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::session::Turn;

    #[test]
    fn a_sidecar_fills_only_what_no_record_says() {
        let sidecar = Sidecar::parse(
            br#"{"model":"gpt-5","exitCode":3,"startedAt":"2026-10-05T10:00:00Z","cwd":"/a","labels":{"team":"x","n":1},"pid":7}"#,
        );
        assert_eq!(sidecar.labels.iter().collect::<Vec<_>>(), ["n=1", "team=x"]);
        let mut bare = SessionResult { turns: vec![Box::default()].into(), ..SessionResult::default() };
        sidecar.fill(&mut bare);
        assert_eq!(
            (bare.turns[0].model.as_deref(), bare.exit_code, bare.status),
            (Some("gpt-5"), Some(3), Status::Error)
        );
        let named = Box::new(Turn { model: Some("gpt-5-mini".into()), ..Turn::default() });
        let mut full = SessionResult {
            turns: vec![named.clone(), Box::default()].into(),
            cwd: Some("/b".into()),
            status: Status::Success,
            ..SessionResult::default()
        };
        sidecar.fill(&mut full);
        assert_eq!(full.turns, vec![named, Box::default()].into());
        assert_eq!((full.cwd.as_deref(), full.status), (Some("/b"), Status::Success));
        assert_eq!(Sidecar::parse(b"[1"), Sidecar::default());
    }
}
