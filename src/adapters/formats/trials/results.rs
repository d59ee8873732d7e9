//! Results of evaluations: `results.json` of terminal-bench and `result.json` of Harbor (docs/formats/trials.md#terminal-bench-trial).
//!
//! A result is next to the logs of its trial, and is read twice. The reader of a log adds the task, the trial, the end and the
//! verdicts to its sessions ([`trial_of`]). As a file of its own the result is a session with the sums that it states; the ledger
//! removes it if a log of the same trial is present.
//!
//! - terminal-bench counts tokens only for agents of its own, with a tokenizer; for others it writes 0. A trial can be resolved
//!   although its agent timed out.
//! - Harbor's input includes cached tokens. `rewards` is the only judgement.
//!
//! # `harbor-trial`
//!
//! Harbor's `result.json` of a trial, `jobs/JOB/TRIAL/result.json`. Recognised by `trial_name` and `task_name` with `verifier_result`,
//! `agent_result` or `agent_info`. **From sources** (Harbor's models and programs that read them), and seen: 283 trials of two
//! repositories.
//! The `result.json` of a job is `auxiliary`.
//!
//! | what | from |
//! | --- | --- |
//! | session | `id`, else a hash of task and trial. Its runtime is that of the agent, by the names of [`atif`](#atif). Removed if a log of the trial is present |
//! | step | each of `step_results` is a session, `ID/steps/NAME`, as the agent runs again; removed if a log of the step is present. Label `step` |
//! | tokens | `agent_result`: `n_input_tokens` includes `n_cache_tokens`; all 0 is unknown. Since 0.26.0 by model, from its `model_usage`, which includes subagents; the rest of the sum is of the agent's model |
//! | cost | `agent_result.cost_usd`, and those of `model_usage` |
//! | times | `agent_execution`, else the trial |
//! | status | `exception_info`: `error`; else `success`. Of a trial with steps, that of the step; that of the trial is one of the last step |
//! | verdicts | `verifier_result.rewards`: [verdicts.md](verdicts.md#result-directories) |
//! | labels | `job`: the directory around that of the trial in `trial_uri`; `dataset`: `source` |
//!
//! # `terminal-bench-trial`
//!
//! `results.json` of terminal-bench 1, of a trial (`trial_name`, `task_id`, `is_resolved`) or of a run (`results`, `n_resolved`,
//! `accuracy`), which repeats those of its trials. Seen: 5,200 trials of the public leaderboard and 191 others. `run_metadata.json` and
//! `tb.lock` are `auxiliary`; the former names the agent and the model of the trials below it.
//!
//! | what | from |
//! | --- | --- |
//! | session | `id` or `uuid`. Removed if a log of the trial is present |
//! | tokens | `total_input_tokens`, `total_output_tokens`: counted with a tokenizer (`usage` is `estimate`), only for agents of its own API; 0 is unknown (80 of 80 trials of an installed agent) |
//! | times | `agent_started_at`, `agent_ended_at`, else those of the trial; absent in older versions (98 of 178) |
//! | status | `failure_mode`: `unset`, `parse_error` and `test_timeout` are `success`, as the agent ended; others `error`. It does not depend on the verdict |
//! | verdict | `is_resolved`; failed tests in the message |
//! | labels | `attempt`: the number in the name of the trial; `job` and `dataset` from `run_metadata.json`, else `job` from the name of the trial |
//!
//! *Unknown*: cost, cached tokens, turns, calls.

use serde::Deserialize;

use self::records::{Document, kind_of, labels};
use crate::adapters::engine::{
    Adapter, Context, FinishedSessions, Probe, RecordErrors, RecordKind, SessionRecords, session_records,
};
use crate::adapters::formats::atif::trajectory::runtime_of;
use crate::adapters::formats::gh_aw::token_usage;
use crate::base::text::Symbol;
use crate::json::fields::{Flag, Pairs, Text};
use crate::json::lines::Line;
use crate::json::{self, Raw};
use crate::model::session::{Capabilities, ModelTotal, SessionResult, Status, Tokens, Total, TotalKind};
use crate::model::trial::TrialResult;
use crate::model::verdict::{DEFAULT_NAME, Verdict};

mod harbor;
mod records;

pub(crate) const TERMINAL_BENCH: Adapter = Adapter {
    id: "terminal-bench-trial",
    runtime: "terminal-bench",
    about: "terminal-bench, results.json of trials and runs",
    tested: None,
    capabilities: Capabilities::RESULT_ONLY,
    places: &[],
    claims: |probe| 8 * u32::from(is_trial_of_terminal_bench(probe) || is_run(probe)),
    parse: session_records::<Results>,
};

pub(crate) const HARBOR: Adapter = Adapter {
    id: "harbor-trial",
    runtime: harbor::RUNTIME,
    about: "Harbor, result.json of trials",
    tested: None,
    capabilities: Capabilities::RESULT_ONLY,
    places: &[],
    claims: |probe| 8 * u32::from(is_trial_of_harbor(probe)),
    parse: session_records::<Results>,
};

fn is_trial_of_terminal_bench(probe: &Probe<'_>) -> bool {
    probe.has_all(&["trial_name", "task_id", "is_resolved"])
}

/// Whether it is the result of all trials of a run of terminal-bench, which repeats their results.
fn is_run(probe: &Probe<'_>) -> bool {
    probe.has_all(&["results", "n_resolved", "accuracy"]) && probe.is_list("results")
}

fn is_trial_of_harbor(probe: &Probe<'_>) -> bool {
    probe.has_all(&["trial_name", "task_name"])
        && ["verifier_result", "agent_result", "agent_info"].into_iter().any(|key| probe.has(key))
}

/// Whether a document describes a run without being a result: settings, sums of a job.
pub(crate) fn is_auxiliary(probe: &Probe<'_>) -> bool {
    probe.has_all(&["run_id", "dataset_name", "agent_name"])
        || probe.has_all(&["lockfile_version", "harness", "agent"])
        || probe.has_all(&["n_total_trials", "stats"])
}

/// The result of the trial whose directory contains this file, if it is one.
pub fn trial_of(bytes: &[u8]) -> Option<TrialResult> {
    let document: Document<'_> = json::from_slice(bytes.trim_ascii()).ok()?;
    document.trial(&mut RecordErrors::default()).or_else(|| token_usage::run_of(bytes))
}

/// The results of a trial, or of all trials of a run.
pub fn trials_of(bytes: &[u8]) -> Vec<TrialResult> {
    let document: Document<'_> = json::from_slice(bytes.trim_ascii()).unwrap_or_default();
    document.trials(&mut RecordErrors::default())
}

/// What a run of terminal-bench states about all of its trials.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// The agent, if it is named.
    pub agent: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// The job and the dataset, as labels.
    pub labels: Vec<(&'static str, String)>,
}

/// A run of terminal-bench, from its `run_metadata.json`.
pub fn run_of(bytes: &[u8]) -> Option<Run> {
    #[derive(Default, Deserialize)]
    #[serde(default, bound(deserialize = "'de: 'a"))]
    struct Metadata<'a> {
        run_id: Text<'a>,
        agent_name: Text<'a>,
        model_name: Text<'a>,
        dataset_name: Text<'a>,
        dataset_version: Text<'a>,
    }
    let metadata: Metadata<'_> = json::from_slice(bytes.trim_ascii()).ok()?;
    let job = metadata.run_id.some()?;
    let dataset = metadata.dataset_name.some().map(|name| match metadata.dataset_version.some() {
        Some(version) => format!("{name}@{version}"),
        None => name.to_owned(),
    });
    metadata.agent_name.some().or(dataset.as_deref())?;
    let labels = labels([("job", Some(job)), ("dataset", dataset.as_deref())]);
    Some(Run { agent: metadata.agent_name.owned(), model: metadata.model_name.owned(), labels })
}

impl Document<'_> {
    /// The results of a trial, or of all trials of a run.
    fn trials(&self, damage: &mut RecordErrors) -> Vec<TrialResult> {
        if self.results.is_empty() {
            return self.trial(damage).into_iter().collect();
        }
        let trials: Vec<Raw<'_>> = self.results.read();
        trials.into_iter().filter_map(|raw| raw.read::<Document<'_>>().trial(damage)).collect()
    }

    /// The result, if the document is one of a trial.
    fn trial(&self, damage: &mut RecordErrors) -> Option<TrialResult> {
        self.trial_name.some()?;
        if self.task_name.some().is_some() {
            Some(harbor::trial(self, damage))
        } else {
            // A trial whose tests did not run is not resolved: null.
            self.task_id.some().map(|_| self.trial_of_terminal_bench(damage))
        }
    }

    fn trial_of_terminal_bench(&self, damage: &mut RecordErrors) -> TrialResult {
        damage.note_impossible(&[self.total_input_tokens, self.total_output_tokens]);
        let task = self.task_id.as_str();
        let failure = self.failure_mode.some().filter(|it| !matches!(*it, "unset" | "none"));
        let empty = Pairs::default();
        let tests = &self.parser_results.get().unwrap_or(&empty).0;
        let failed: Vec<&str> =
            tests.iter().filter(|(_, result)| result.as_str() == "failed").map(|(name, _)| &**name).collect();
        let passed: Flag = self.is_resolved.read();
        let counts =
            Tokens { input: self.total_input_tokens.get(), output: self.total_output_tokens.get(), ..Tokens::UNKNOWN };
        let verdict = Verdict {
            task: Some(task.to_owned()),
            trial: self.trial_name.owned(),
            name: DEFAULT_NAME.to_owned(),
            passed: passed.0,
            judge: Some(TERMINAL_BENCH.runtime.to_owned()),
            judged_at: self.test_ended_at.0.or(self.trial_ended_at.0),
            message: (!failed.is_empty()).then(|| format!("failed: {}", failed.join(", "))),
            ..Verdict::default()
        };
        TrialResult {
            id: self.id(task),
            task: verdict.task.clone(),
            trial: verdict.trial.clone(),
            verdicts: vec![verdict],
            // Failures of the tests are not failures of the agent.
            exception: failure.filter(|mode| !matches!(*mode, "parse_error" | "test_timeout")).map(str::to_owned),
            error_kind: failure.map(kind_of),
            started_at: self.agent_started_at.0.or(self.trial_started_at.0),
            ended_at: self.agent_ended_at.0.or(self.trial_ended_at.0),
            // For agents that it does not count, it writes 0.
            tokens: counts.unless_all_zero(),
            labels: named(self.trial_name.as_str()),
            ..TrialResult::default()
        }
    }
}

/// The number of the attempt and the run in the name of a trial of terminal-bench, `TASK.2-of-5.RUN`.
fn named(trial_name: &str) -> Vec<(&'static str, String)> {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    let is_attempt = |part: &str| part.split_once("-of-").is_some_and(|(n, all)| is_number(n) && is_number(all));
    let parts: Vec<&str> = trial_name.split('.').collect();
    let Some(at) = parts.iter().rposition(|part| is_attempt(part)) else { return Vec::new() };
    let number = parts.get(at).and_then(|part| part.split_once("-of-")).map(|(number, _)| number);
    let run = parts.get(at + 1..).unwrap_or_default().join(".");
    labels([("attempt", number), ("job", Some(run.as_str()).filter(|run| !run.is_empty()))])
}

/// The results of a file.
pub(crate) enum Results {}

impl SessionRecords for Results {
    type Record<'a> = Document<'a>;

    fn record(
        log: &mut FinishedSessions,
        line: Line<'_>,
        document: Document<'_>,
        damage: &mut RecordErrors,
    ) -> RecordKind {
        let trials = document.trials(damage);
        if trials.is_empty() {
            return RecordKind::Unknown;
        }
        for trial in trials.iter().flat_map(TrialResult::sessions) {
            if log.sessions.iter().all(|session| session.session_id != trial.id) {
                log.sessions.push(session_of(&log.context, line.number, trial));
            }
        }
        RecordKind::Known
    }
}

/// A session that consists of the result only.
fn session_of(context: &Context, line: i64, trial: &TrialResult) -> SessionResult {
    let agent = trial.agent.as_deref();
    let model = trial.model.as_deref().map(Into::into);
    let mut session = SessionResult {
        session_id: trial.id.clone(),
        runtime: runtime_of(&Text(agent.map(Into::into)), context.runtime),
        format: context.format.into(),
        capabilities: context.capabilities,
        line,
        runtime_version: trial.agent_version.clone(),
        model,
        // Of a failed trial, `fill` sets the status and the error.
        status: if trial.exception.is_some() { Status::Unknown } else { Status::Success },
        is_trial_result: true,
        // terminal-bench counts with a tokenizer of its own.
        is_estimated: context.format == TERMINAL_BENCH.id && trial.tokens.total().is_some(),
        ..SessionResult::default()
    };
    trial.fill(&mut session);
    let models = models_of(trial, session.model.clone());
    if trial.cost.is_some() || models.iter().any(|it| it.tokens.total().is_some() || it.cost.is_some()) {
        session.totals.push(Total {
            line,
            key: format!("trial {}", trial.id),
            // Its cost counts, too.
            kind: TotalKind::Process,
            occurred_at: trial.ended_at,
            // Without models, it is the cost of the only one.
            cost: trial.cost.filter(|_| !trial.models.is_empty()),
            models,
            covers_subagents: true,
            ..Total::default()
        });
    }
    session
}

/// The tokens of each model. What the sum contains beyond them is of the agent's model: Harbor omits the steps without a model
/// (`compute_model_usage` in `utils/trajectory_utils.py`). The sum can also be smaller, as it does not always contain subagents.
fn models_of(trial: &TrialResult, agent_model: Option<Symbol>) -> Vec<ModelTotal> {
    let known: Tokens = trial.models.iter().map(|it| it.tokens).sum();
    let rest = trial.tokens.without(known);
    let mut models = trial.models.clone();
    if models.is_empty() || rest.total() > Some(0) {
        let cost = trial.cost.filter(|_| models.is_empty());
        models.push(ModelTotal { model: agent_model, tokens: rest, cost, ..ModelTotal::default() });
    }
    models
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::engine::Hints;
    use crate::adapters::parse;
    use crate::adapters::shared::builder::Retention;
    use crate::model::errors::ErrorKind;

    #[test]
    fn zero_tokens_are_unknown_and_rewards_are_verdicts() {
        let trial = trial_of(
            br#"{"id":"t1","trial_name":"a.1-of-1.r","task_id":"a","is_resolved":true,"failure_mode":"agent_timeout",
                "total_input_tokens":0,"total_output_tokens":0,"parser_results":{"one":"passed","two":"failed"}}"#,
        )
        .unwrap();
        assert_eq!((trial.tokens, trial.exception.as_deref()), (Tokens::UNKNOWN, Some("agent_timeout")));
        assert_eq!((trial.verdicts[0].passed, trial.error_kind), (Some(true), Some(ErrorKind::Timeout)));
        assert_eq!(trial.verdicts[0].message.as_deref(), Some("failed: two"));
        assert_eq!(trial.labels, [("attempt", "1".to_owned()), ("job", "r".to_owned())]);
        let trial = trial_of(
            br#"{"id":"t2","trial_name":"a__x","task_name":"a","task_id":{"path":"a"},
                "agent_result":{"n_input_tokens":100,"n_cache_tokens":60,"n_output_tokens":5},
                "verifier_result":{"rewards":{"reward":0.5,"style":1}}}"#,
        )
        .unwrap();
        let tokens = Tokens { input: Some(40), output: Some(5), cache_read: Some(60), ..Tokens::UNKNOWN };
        assert_eq!(trial.tokens, tokens);
        let stated = trial.verdicts.iter().map(|it| (it.name.as_str(), it.passed, it.score));
        let expected = [("verdict", Some(false), Some(0.5)), ("style", None, Some(1.0))];
        assert_eq!(stated.collect::<Vec<_>>(), expected);
        let trial = trial_of(
            br#"{"id":"t3","trial_name":"a__y","task_name":"org/a","source":"org/tasks","trial_uri":"file:///jobs/night-1/a__y",
                "verifier_result":null,"agent_info":{"name":"x"}}"#,
        )
        .unwrap();
        assert_eq!(trial.labels, [("job", "night-1".to_owned()), ("dataset", "org/tasks".to_owned())]);
        let run = run_of(br#"{"run_id":"r","agent_name":"terminus","dataset_name":"core","dataset_version":"0.1.1"}"#)
            .unwrap();
        assert_eq!(run.labels, [("job", "r".to_owned()), ("dataset", "core@0.1.1".to_owned())]);
        for other in ["{}", "[1]", "", r#"{"trial_name":"a"}"#, r#"{"n_total_trials":1,"stats":{}}"#] {
            assert_eq!(trial_of(other.as_bytes()), None, "{other}");
        }
    }

    /// Harbor 0.26.0 states the tokens by model. The sum can contain more than these, or less.
    #[test]
    fn tokens_by_model_are_those_of_the_models() {
        let rows = |input: i64, cached: i64, output: i64| {
            let trial = format!(
                r#"{{"id":"t","trial_name":"a__x","task_name":"a","agent_info":{{"name":"claude-code","model_info":{{"name":"large"}}}},
                "agent_result":{{"n_input_tokens":{input},"n_cache_tokens":{cached},"n_output_tokens":{output},"cost_usd":0.5,"model_usage":{{
                "large":{{"n_input_tokens":100,"n_cache_tokens":80,"n_output_tokens":10,"cost_usd":0.25}},
                "small":{{"n_input_tokens":200,"n_cache_tokens":120,"n_output_tokens":20,"cost_usd":null}},"odd":null}}}}}}"#
            );
            let parsed = parse(trial.as_bytes(), Hints::default(), Retention::None);
            let total = &parsed.sessions[0].totals[0];
            assert_eq!(total.cost, Some(0.5));
            let row = |it: &ModelTotal| {
                (
                    it.model.as_deref().map(str::to_owned),
                    it.tokens.input,
                    it.tokens.cache_read,
                    it.tokens.output,
                    it.cost,
                )
            };
            total.models.iter().map(row).collect::<Vec<_>>()
        };
        let row = |name: &str, input, cached, output, cost| {
            (Some(name.to_owned()), Some(input), Some(cached), Some(output), cost)
        };
        let models = [row("large", 20, 80, 10, Some(0.25)), row("small", 80, 120, 20, None)];
        assert_eq!(rows(300, 200, 30), models);
        assert_eq!(rows(100, 80, 10), models);
        let with_rest = [&models[..], &[row("large", 50, 50, 5, None)]].concat();
        assert_eq!(rows(400, 250, 35), with_rest);
    }
}
