//! A trial of Harbor, and the steps of one that consists of several.
//!
//! `models/trial/result.py` (June 2026) defines both. Each step runs the agent again, and its logs are in `steps/NAME/agent/`
//! (`trial/multi_step.py`). `agent_result` and `agent_execution` are then those of the steps only. `verifier_result` is the mean of those
//! of the steps, or that of the last one. An exception of a step does not end the trial, unless the step has no rewards.

use super::records::{AgentResult, Document, ExceptionInfo, ModelUsage, Step, Timing, VerifierResult, kind_of, labels};
use crate::adapters::engine::RecordErrors;
use crate::adapters::shared::builder::money;
use crate::adapters::shared::usage::{Included, uncached};
use crate::base::time::Time;
use crate::json::Raw;
use crate::json::fields::{Count, Maybe};
use crate::model::session::{ModelTotal, Tokens, add_money};
use crate::model::trial::{STEPS, TrialResult};
use crate::model::verdict::{DEFAULT_NAME, Verdict};

/// The judge, and the runtime of an agent that has none.
pub(super) const RUNTIME: &str = "harbor";

/// What the agent spent.
#[derive(Debug, Clone, Default)]
struct Spent {
    tokens: Tokens,
    cost: Option<f64>,
    models: Vec<ModelTotal>,
}

impl AgentResult<'_> {
    fn spent(&self, damage: &mut RecordErrors) -> Spent {
        let tokens = tokens(self.n_input_tokens, self.n_cache_tokens, self.n_output_tokens, damage);
        let usages = self.model_usage.get().map(|usages| &*usages.0).unwrap_or_default();
        let usages = usages.iter().filter_map(|(name, usage)| Some((name, usage.get()?)));
        let models = usages.map(|(name, usage)| usage.of_model(name, damage)).collect();
        Spent { tokens, cost: money(self.cost_usd, damage), models }
    }
}

impl ModelUsage {
    fn of_model(&self, name: &str, damage: &mut RecordErrors) -> ModelTotal {
        ModelTotal {
            model: Some(name.into()),
            tokens: tokens(self.n_input_tokens, self.n_cache_tokens, self.n_output_tokens, damage),
            cost: money(self.cost_usd, damage),
            ..ModelTotal::default()
        }
    }
}

/// The disjoint tokens: the input includes cached tokens (`models/agent/context.py`). Some agents copy counts of providers that state them
/// apart: these can be more than the input.
fn tokens(input: Count, cached: Count, output: Count, damage: &mut RecordErrors) -> Tokens {
    damage.note_impossible(&[input, cached, output]);
    let (input, cached) = (input.get(), cached.get());
    let tokens = Tokens {
        input: uncached(Included::IfTheyFit, input, cached, None),
        output: output.get(),
        cache_read: cached.filter(|_| input.is_some()),
        ..Tokens::UNKNOWN
    };
    tokens.unless_all_zero()
}

impl Spent {
    fn of(result: &Maybe<AgentResult<'_>>, damage: &mut RecordErrors) -> Self {
        result.get().map(|result| result.spent(damage)).unwrap_or_default()
    }

    fn plus(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.plus(other.tokens),
            cost: add_money(self.cost, other.cost),
            models: [self.models, other.models].concat(),
        }
    }
}

/// The result of a trial.
pub(super) fn trial(document: &Document<'_>, damage: &mut RecordErrors) -> TrialResult {
    let task = document.task_name.as_str();
    let steps: Vec<Raw<'_>> = document.step_results.read();
    let steps: Vec<Step<'_>> = steps.into_iter().map(Raw::read).collect();
    let agent = document.agent_info.get();
    let timing = document.agent_execution.get();
    let (started_at, ended_at) = times(timing);
    let judged_at = ended(&document.verifier).or_else(|| steps.iter().rev().find_map(|step| ended(&step.verifier)));
    let mut verdicts = verdicts_of(document, &document.verifier_result, judged_at, DEFAULT_NAME);
    if verdicts.is_empty() {
        verdicts.push(Verdict { name: DEFAULT_NAME.to_owned(), ..verdict_of(document, judged_at) });
    }
    let whole = TrialResult {
        id: document.id(task),
        task: Some(task.to_owned()),
        trial: document.trial_name.owned(),
        agent: agent.and_then(|agent| agent.name.owned()),
        agent_version: agent.and_then(|agent| agent.version.owned()).filter(|it: &String| it != "unknown"),
        model: agent.and_then(|agent| agent.model_info.get()).and_then(|model| model.name.owned()),
        verdicts,
        started_at: started_at.or(document.started_at.0),
        ended_at: ended_at.or(document.finished_at.0),
        labels: labels([("job", job_of(document.trial_uri.as_str())), ("dataset", document.source.some())]),
        ..TrialResult::default()
    };
    let exceptions = || steps.iter().filter_map(|step| step.exception_info.get());
    let of_step_results: Vec<Spent> = steps.iter().map(|step| Spent::of(&step.agent_result, damage)).collect();
    let spent = of_step_results.iter().cloned().reduce(Spent::plus);
    let own = Spent::of(&document.agent_result, damage);
    let spent = spent.filter(|_| document.agent_result.get().is_none()).unwrap_or(own);
    let last = steps.len().checked_sub(1);
    let of_steps = steps.iter().zip(of_step_results).enumerate().map(|(index, (step, spent))| {
        // An exception that ended the trial was raised in its last step.
        let of_trial = document.exception_info.get().filter(|_| Some(index) == last);
        of_step(document, &whole, step, spent, step.exception_info.get().or(of_trial))
    });
    let of_steps = of_steps.collect();
    let trial = failed(whole, document.exception_info.get().or_else(|| exceptions().next()));
    TrialResult { tokens: spent.tokens, cost: spent.cost, models: spent.models, steps: of_steps, ..trial }
}

/// The directory of a step, and its result.
fn of_step(
    document: &Document<'_>,
    whole: &TrialResult,
    step: &Step<'_>,
    spent: Spent,
    exception: Option<&ExceptionInfo<'_>>,
) -> (String, TrialResult) {
    let directory = format!("{STEPS}{}", step.step_name.as_str());
    let (started_at, ended_at) = times(step.agent_execution.get());
    let mut verdicts = whole.verdicts.clone();
    verdicts.extend(verdicts_of(document, &step.verifier_result, ended(&step.verifier), &directory));
    let mut labels = whole.labels.clone();
    labels.extend(step.step_name.some().map(|name| ("step", name.to_owned())));
    let result = TrialResult {
        id: format!("{}/{directory}", whole.id),
        verdicts,
        started_at,
        ended_at,
        tokens: spent.tokens,
        cost: spent.cost,
        models: spent.models,
        labels,
        ..whole.clone()
    };
    (directory, failed(result, exception))
}

/// Adds the exception that ended it.
fn failed(result: TrialResult, exception: Option<&ExceptionInfo<'_>>) -> TrialResult {
    let words = exception.map(|it| [it.exception_type.as_str(), it.exception_message.as_str()].join(" "));
    TrialResult {
        exception: exception.and_then(|it| it.exception_type.owned()),
        error_kind: words.as_deref().map(str::trim).map(kind_of),
        message: exception.and_then(|it| it.exception_message.owned()),
        ..result
    }
}

/// The rewards as judgements. `name` is that of the main one; others have it in front of their own, if it is that of a step.
fn verdicts_of(
    document: &Document<'_>,
    result: &Maybe<VerifierResult<'_>>,
    judged_at: Option<Time>,
    name: &str,
) -> Vec<Verdict> {
    let result = result.get();
    let rewards = result.and_then(|result| result.rewards.get()).map(|rewards| &*rewards.0).unwrap_or_default();
    let is_main = |reward: &str| reward == "reward" || rewards.len() == 1;
    let criterion = |reward: &str| if name == DEFAULT_NAME { reward.to_owned() } else { format!("{name}/{reward}") };
    let main = |score: f64| Verdict {
        name: name.to_owned(),
        passed: Some(score >= 1.0),
        score: Some(score),
        ..verdict_of(document, judged_at)
    };
    let scores = rewards.iter().filter_map(|(reward, score)| Some((reward, score.0?)));
    let mut verdicts: Vec<Verdict> = scores
        .map(|(reward, score)| {
            // A reward of 1 is a solved task; other rewards are criteria of their own.
            if is_main(reward) {
                main(score)
            } else {
                Verdict { name: criterion(reward), score: Some(score), ..verdict_of(document, judged_at) }
            }
        })
        .collect();
    if verdicts.is_empty() {
        verdicts.extend(result.and_then(|result| result.reward.0).map(main));
    }
    verdicts
}

/// A judgement without a name.
fn verdict_of(document: &Document<'_>, judged_at: Option<Time>) -> Verdict {
    Verdict {
        task: document.task_name.owned(),
        trial: document.trial_name.owned(),
        judge: Some(RUNTIME.to_owned()),
        judged_at,
        ..Verdict::default()
    }
}

fn times(timing: Option<&Timing>) -> (Option<Time>, Option<Time>) {
    (timing.and_then(|it| it.started_at.0), timing.and_then(|it| it.finished_at.0))
}

fn ended(timing: &Maybe<Timing>) -> Option<Time> {
    timing.get().and_then(|timing| timing.finished_at.0)
}

/// The name of the job: the directory around that of the trial.
fn job_of(trial_uri: &str) -> Option<&str> {
    let mut parts = trial_uri.trim_end_matches(['/', '\\']).rsplit(['/', '\\']);
    parts.nth(1).filter(|job| !job.is_empty() && !job.ends_with(':'))
}
