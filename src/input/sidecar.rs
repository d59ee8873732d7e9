//! Sidecars: files beside a log with facts that only the recording process knew.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::base::byte_order_mark::without_mark;
use crate::base::text::Symbol;
use crate::base::time::Time;
use crate::json::fields::{Flag, Number, Pairs, Text, When};
use crate::json::{self, Raw};
use crate::model::session::{EventKind, SessionResult, Status, Verdict, add_verdicts};
use crate::model::trial::TrialResult;
use crate::model::verdict::DEFAULT_NAME;

/// Facts about a log that its records do not contain: from a sidecar file, or from the options of a run. They only fill gaps.
#[derive(Debug, Clone, Default, PartialEq)]
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
    /// Judgements of the sessions in the log.
    pub verdicts: Vec<Verdict>,
    /// The name of the agent.
    pub agent: Option<String>,
    /// The type of the subagent whose log it is, as Claude Code writes it.
    pub agent_type: Option<String>,
    /// The id of the call that started the subagent.
    pub agent_call: Option<String>,
    /// The result of the trial that the log is a part of.
    pub trial: Option<TrialResult>,
}

/// A judgement in a sidecar: an object, or only whether the task was solved.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct Judgement<'a> {
    task: Text<'a>,
    trial: Text<'a>,
    name: Text<'a>,
    passed: Flag,
    score: Number,
    judge: Text<'a>,
    #[serde(alias = "judged_at")]
    judged_at: When,
    message: Text<'a>,
}

/// A sidecar as it is written.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct File<'a> {
    runtime: Text<'a>,
    model: Text<'a>,
    exit_code: Number,
    started_at: When,
    ended_at: When,
    cwd: Text<'a>,
    host: Text<'a>,
    #[serde(alias = "user_name", alias = "userName")]
    user: Text<'a>,
    repository: Text<'a>,
    labels: Pairs<'a, Raw<'a>>,
    #[serde(alias = "verdicts")]
    verdict: Raw<'a>,
    agent_type: Text<'a>,
    tool_use_id: Text<'a>,
}

/// The labels with a value.
fn labels_of(labels: &Pairs<'_, Raw<'_>>) -> BTreeSet<String> {
    let stated = labels.0.iter().filter(|(key, value)| !key.is_empty() && !value.is_empty());
    stated.map(|(key, value)| format!("{key}={}", value.text())).collect()
}

/// The judgements in a value: one, or a list of them.
fn verdicts_of(value: Raw<'_>) -> Vec<Verdict> {
    let values: Vec<Raw<'_>> = if value.is_list() { value.read() } else { vec![value] };
    let verdict = |value: Raw<'_>| {
        let stated = match value.0.first() {
            Some(b'{') => value.read(),
            _ => Judgement { passed: value.read(), ..Judgement::default() },
        };
        let Judgement { task, trial, name, passed, score, judge, judged_at, message } = stated;
        (passed.0.is_some() || score.0.is_some()).then(|| Verdict {
            task: task.owned(),
            trial: trial.owned(),
            name: name.owned().unwrap_or_else(|| DEFAULT_NAME.to_owned()),
            passed: passed.0,
            score: score.0.filter(|score| score.is_finite()),
            judge: judge.owned(),
            judged_at: judged_at.0,
            message: message.owned(),
            path: None,
        })
    };
    values.into_iter().filter(|value| !value.is_empty()).filter_map(verdict).collect()
}

impl Sidecar {
    /// Parses `NAME.meta.json` or `meta.json`. Unknown keys are ignored; a file that is not an object is the same as an empty one.
    pub fn parse(bytes: &[u8]) -> Self {
        let file: File<'_> = Raw(without_mark(bytes).trim_ascii()).read();
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
            labels: labels_of(&file.labels),
            verdicts: verdicts_of(file.verdict),
            agent: None,
            agent_type: file.agent_type.owned(),
            agent_call: file.tool_use_id.owned(),
            trial: None,
        }
    }

    /// Why a sidecar cannot be parsed, if so: [`Self::parse`] reads nothing of it.
    pub fn problem(bytes: &[u8]) -> Option<String> {
        let text = without_mark(bytes).trim_ascii();
        if json::from_slice::<File<'_>>(text).is_ok() {
            return None;
        }
        // A value that is not an object was written by another program.
        let parsed = serde_json::from_slice::<IgnoredAny>(text);
        parsed.err().map(|error| format!("it is a sidecar, and no JSON: {error}"))
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
            verdicts: self.verdicts.into_iter().chain(other.verdicts).collect(),
            agent: self.agent.or(other.agent),
            agent_type: self.agent_type.or(other.agent_type),
            agent_call: self.agent_call.or(other.agent_call),
            trial: self.trial.or(other.trial),
        }
    }

    /// Fills what no record of the session states.
    pub fn fill(&self, session: &mut SessionResult) {
        let names_no_model = session.model.is_none()
            && session.turns.iter().all(|turn| turn.model.is_none())
            && session.totals.iter().flat_map(|total| &total.models).all(|total| total.model.is_none());
        let of_trial = self.trial.as_ref().filter(|_| !session.is_trial_result).and_then(|trial| trial.model.as_ref());
        if names_no_model && let Some(model) = self.model.as_ref().or(of_trial) {
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
        add_verdicts(&mut session.verdicts, self.verdicts.clone());
        if let Some(trial) = self.trial.as_ref().filter(|_| !session.is_trial_result) {
            trial.fill(session);
        }
        session.agent = session.agent.take().or_else(|| self.agent.as_deref().map(Into::into));
        self.describe_subagent(session);
        self.prefer_labels(session);
        // The exit status decides only if the log has no end record.
        if !session.status.is_end() && self.exit_code.is_some_and(|code| code != 0) {
            session.status = Status::Error;
        }
    }

    /// Adds the type of the subagent whose log it is to its rows, and the call that started it to its event.
    fn describe_subagent(&self, session: &mut SessionResult) {
        let id = session.turns.iter().filter(|turn| turn.is_subagent).find_map(|turn| turn.agent_id.clone());
        let start =
            session.events.iter_mut().find(|it| it.kind == EventKind::Subagent && id.is_some() && it.code == id);
        if let Some(start) = start {
            start.call_id = start.call_id.take().or_else(|| self.agent_call.as_deref().map(Into::into));
            start.agent = start.agent.take().or_else(|| self.agent_type.as_deref().map(Into::into));
        }
        let Some(agent_type) = self.agent_type.as_deref().map(Symbol::new) else { return };
        let turns = session.turns.iter_mut().map(|turn| (turn.is_subagent, &mut turn.agent));
        let calls = session.tool_calls.iter_mut().map(|call| (call.is_subagent, &mut call.agent));
        let events = session.events.iter_mut().map(|event| (event.is_subagent, &mut event.agent));
        for (_, agent) in turns.chain(calls).chain(events).filter(|(is_subagent, _)| *is_subagent) {
            agent.get_or_insert_with(|| agent_type.clone());
        }
    }

    /// Sets labels that the user states: they replace those with the same keys from files.
    pub fn set_labels(&mut self, labels: impl IntoIterator<Item = String>) {
        let stated: BTreeSet<String> = labels.into_iter().collect();
        keep_others(&mut self.labels, &stated);
        self.labels.extend(stated);
    }

    /// These labels replace those with the same keys that the log, or the result of its trial, states. The names of trials contain that
    /// of the run in which they were made; a run that has taken them over states its own.
    fn prefer_labels(&self, session: &mut SessionResult) {
        keep_others(&mut session.labels, &self.labels);
    }
}

/// Removes labels with keys that other labels have, apart from these.
fn keep_others(labels: &mut BTreeSet<String>, others: &BTreeSet<String>) {
    let key = |label: &String| label.split('=').next().unwrap_or_default().to_owned();
    let keys: BTreeSet<String> = others.iter().map(key).collect();
    labels.retain(|label| others.contains(label) || !keys.contains(&key(label)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::session::{Event, Turn};

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

    #[test]
    fn a_sidecar_of_a_subagent_states_its_type() {
        let sidecar = Sidecar::parse(br#"{"agentType":"Explore","description":"x","toolUseId":"toolu_1"}"#);
        let turn = |is_subagent: bool, agent: Option<&str>| {
            let agent_id = is_subagent.then(|| "a1".into());
            Box::new(Turn { is_subagent, agent: agent.map(Symbol::new), agent_id, ..Turn::default() })
        };
        let turns = vec![turn(false, None), turn(true, None), turn(true, Some("Plan"))];
        let start = |id: &str| Event { kind: EventKind::Subagent, code: Some(id.into()), ..Event::default() };
        let events = vec![start("a1"), start("another that it started")];
        let mut session = SessionResult { turns: turns.into(), events: events.into(), ..SessionResult::default() };
        sidecar.fill(&mut session);
        let starts: Vec<_> = session.events.iter().map(|it| (it.call_id.as_deref(), it.agent.as_deref())).collect();
        assert_eq!(starts, [(Some("toolu_1"), Some("Explore")), (None, None)]);
        let agents: Vec<_> = session.turns.iter().map(|turn| turn.agent.as_deref()).collect();
        assert_eq!(agents, [None, Some("Explore"), Some("Plan")]);
    }

    #[test]
    fn a_sidecar_may_begin_with_a_byte_order_mark() {
        let text = "\u{feff}{\"cwd\":\"/a\"}";
        assert_eq!(Sidecar::parse(text.as_bytes()).cwd.as_deref(), Some("/a"));
        assert_eq!(Sidecar::problem(text.as_bytes()), None);
        assert_eq!(Sidecar::problem(b"[1]\n"), None);
        assert!(Sidecar::problem(br#"{"cwd":"/a",}"#).is_some());
    }

    /// `codex exec` writes no model, and the result of its trial names one. A sidecar is nearer to the log.
    #[test]
    fn a_log_without_a_model_has_that_of_its_trial() {
        let trial = TrialResult { model: Some("gpt-5".to_owned()), ..TrialResult::default() };
        let result = Sidecar { trial: Some(trial), ..Sidecar::default() };
        let model_of = |sidecar: &Sidecar, own: Option<&str>| {
            let turn = Turn { model: own.map(Into::into), ..Turn::default() };
            let mut session = SessionResult { turns: vec![Box::new(turn)].into(), ..SessionResult::default() };
            sidecar.fill(&mut session);
            (session.model.as_deref().map(str::to_owned), session.turns[0].model.as_deref().map(str::to_owned))
        };
        let named = |model: &str| Some(model.to_owned());
        assert_eq!(model_of(&result, None), (named("gpt-5"), named("gpt-5")));
        assert_eq!(model_of(&result, Some("gpt-5-mini")), (None, named("gpt-5-mini")));
        let sidecar = Sidecar::parse(br#"{"model":"gpt-5-codex"}"#).or(result);
        assert_eq!(model_of(&sidecar, None), (named("gpt-5-codex"), named("gpt-5-codex")));
    }

    #[test]
    fn a_label_without_a_value_is_none() {
        let sidecar = Sidecar::parse(br#"{"labels":{"a":"1","b":2,"c":null}}"#);
        assert_eq!(sidecar.labels.into_iter().collect::<Vec<_>>(), ["a=1", "b=2"]);
    }

    #[test]
    fn a_sidecar_contains_one_verdict_or_several() {
        let cases = [
            (r#"{"verdict":true}"#, vec![("verdict", Some(true), None)]),
            (r#"{"verdict":{"passed":false,"score":0.25}}"#, vec![("verdict", Some(false), Some(0.25))]),
            (
                r#"{"verdicts":[{"name":"tests","passed":true},{"name":"style","score":3}]}"#,
                vec![("tests", Some(true), None), ("style", None, Some(3.0))],
            ),
            (r#"{"verdict":{"task":"a"}}"#, vec![]),
            (r#"{"verdict":"yes"}"#, vec![]),
            (r#"{"verdict":null}"#, vec![]),
        ];
        for (text, expected) in cases {
            let sidecar = Sidecar::parse(text.as_bytes());
            let found = sidecar.verdicts.iter().map(|it| (it.name.as_str(), it.passed, it.score));
            assert_eq!(found.collect::<Vec<_>>(), expected, "{text}");
        }
    }
}
