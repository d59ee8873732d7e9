//! `report outcomes`: its measures over groups of trials. docs/verdicts.md defines them.

use polars::prelude::*;

use super::front::is_on_front;
use super::statistics::wilson;
use crate::analysis::rows::measure::{Measure, derived, float, measure, not_zero, rows};
use crate::analysis::rows::{count_of_flag, known_sum, sum_where, whole};
use crate::store::frames::{sessions, verdicts};

/// The column that states which groups are on the Pareto front.
const FRONT: &str = "is_on_front";

/// The measures.
pub(in crate::analysis) const MEASURES: &[Measure] = &[
    rows("trials", "Trials: sessions with those that they started"),
    measure("passed", "Trials that passed", || count_of_flag(verdicts::PASSED, true)),
    measure("failed", "Trials that did not", || count_of_flag(verdicts::PASSED, false)).wide(),
    measure("unjudged", "Trials without a verdict on whether they passed", || {
        col(verdicts::PASSED).null_count().cast(DataType::Int64)
    }),
    derived("pass_rate", "passed / (passed + failed)", pass_rate),
    derived("pass_rate_low", "Lower end of its 95 % interval (Wilson)", || {
        wilson_of(verdicts::PASSED, "failed", Interval::Low)
    })
    .wide(),
    derived("pass_rate_high", "Upper end of the interval", || wilson_of(verdicts::PASSED, "failed", Interval::High))
        .wide(),
    measure("tasks", "Distinct tasks with a judged trial", || whole(col("task_share").sum())).wide(),
    measure("pass_at_1", "Mean over tasks of the share of trials that passed", || {
        mean("pass_at_1_share", "task_share")
    })
    .wide(),
    measure("pass_at_k", "Probability that one of k trials of a task passes (unbiased, --k)", || {
        mean("pass_at_k_share", "task_share_of_k")
    })
    .wide()
    .of_k(),
    measure("pass_hat_k", "Probability that all of k trials of a task pass (unbiased, --k)", || {
        mean("pass_hat_k_share", "task_share_of_k")
    })
    .wide()
    .of_k(),
    measure("tasks_with_k", "Tasks with k judged trials or more, over which these are means", || {
        whole(col("task_share_of_k").sum())
    })
    .wide(),
    measure("mean_score", "Mean of the scores", || col("trial_score").mean()).wide(),
    measure(sessions::COST_USD, "US dollars of all trials, by the choice of --cost", || known_sum("trial_cost_usd"))
        .wide(),
    measure("cost_per_trial_usd", "Mean cost of a trial", || per_trial("trial_cost_usd")).wide(),
    measure("cost_per_passed_usd", "Cost of the judged trials / passed", || per_passed("trial_cost_usd")),
    measure("tokens_per_trial", "Mean tokens of a trial", || whole(per_trial("trial_tokens"))).wide(),
    measure("tokens_per_passed", "Tokens of the judged trials / passed", || whole(per_passed("trial_tokens"))).wide(),
    measure("turns_per_trial", "Mean number of responses of a trial", || per_trial("trial_turns")).wide(),
    measure("turns_per_passed", "Responses of the judged trials / passed", || per_passed("trial_turns")).wide(),
    measure("mean_duration_ms", "Mean duration of a trial", || whole(per_trial("trial_duration_ms"))).wide(),
    measure("duration_per_passed_ms", "Duration of the judged trials / passed", || {
        whole(per_passed("trial_duration_ms"))
    })
    .wide(),
    derived(FRONT, "Whether no other group has a higher pass_rate at a lower cost_per_trial_usd", has_cost_and_rate)
        .over_groups(with_front)
        .no_amount()
        .wide(),
];

fn pass_rate() -> Expr {
    float(verdicts::PASSED) / not_zero(col(verdicts::PASSED) + col("failed"))
}

/// One end of the 95 % interval of a rate.
#[derive(Debug, Clone, Copy)]
pub(in crate::analysis) enum Interval {
    Low,
    High,
}

/// One end of the 95 % interval of a pass rate, by the columns with the numbers of those that passed and that did not.
pub(in crate::analysis) fn wilson_of(passed: &str, failed: &str, end: Interval) -> Expr {
    as_struct(vec![float(passed), float(failed)]).map(
        move |pairs| {
            let [passed, failed] = fields(&pairs)?;
            let rates = passed.iter().zip(&failed).map(|(passed, failed)| {
                let (passed, failed) = ((*passed)?, (*failed)?);
                wilson(passed, passed + failed).map(|(low, high)| match end {
                    Interval::Low => low,
                    Interval::High => high,
                })
            });
            Ok(Column::new(pairs.name().clone(), rates.collect::<Vec<_>>()))
        },
        |_, field| Ok(Field::new(field.name().clone(), DataType::Float64)),
    )
}

/// Whether both are known; [`with_front`] computes the front of all groups.
fn has_cost_and_rate() -> Expr {
    col("cost_per_trial_usd").is_not_null().and(col("pass_rate").is_not_null())
}

/// Computes the column [`FRONT`] of all groups: see [`is_on_front`].
fn with_front(groups: LazyFrame) -> PolarsResult<LazyFrame> {
    let mut frame = groups.collect()?;
    let numbers = |name: &str| frame.column(name).and_then(|column| column.f64().cloned());
    let (cost, rate) = (numbers("cost_per_trial_usd")?, numbers("pass_rate")?);
    let pairs: Vec<_> = cost.iter().zip(rate.iter()).collect();
    frame.with_column(Column::new(FRONT.into(), is_on_front(&pairs)))?;
    Ok(frame.lazy())
}

/// The values of the two numbers of a column of pairs.
fn fields(pairs: &Column) -> PolarsResult<[Vec<Option<f64>>; 2]> {
    let fields = pairs.struct_()?.fields_as_series();
    let values = fields.iter().map(|field| Ok(field.f64()?.iter().collect()));
    let values = values.collect::<PolarsResult<Vec<Vec<Option<f64>>>>>()?;
    values.try_into().map_err(|_| polars_err!(ComputeError: "a pair has two values"))
}

/// The mean over tasks, of which each trial has a share.
fn mean(shares: &str, tasks: &str) -> Expr {
    col(shares).sum() / not_zero(col(tasks).sum())
}

/// The mean over trials with a known value.
fn per_trial(column: &str) -> Expr {
    known_sum(column).cast(DataType::Float64) / not_zero(col(column).count())
}

/// The sum over judged trials with a known value for each of them that passed: failures are part of what a success costs.
fn per_passed(column: &str) -> Expr {
    let sum = sum_where(column, col(verdicts::PASSED).is_not_null());
    let is_known = || col(column).is_not_null();
    let passed = is_known().and(col(verdicts::PASSED).eq(lit(true))).sum().cast(DataType::Int64);
    let per = sum.cast(DataType::Float64) / not_zero(passed);
    when(is_known().and(col(verdicts::PASSED).is_not_null()).any(true)).then(per).otherwise(lit(NULL))
}

/// `cost_per_passed_usd` over rows of sessions or of their responses, with the columns of
/// [`add_outcomes`](crate::analysis::outcomes::frame::add_outcomes).
pub(in crate::analysis) fn cost_per_passed() -> Expr {
    let passed = col(verdicts::TRIAL).filter(col("trial_passed").and(col(sessions::COST_USD).is_not_null()));
    let passed = passed.n_unique().cast(DataType::Int64);
    let is_judged = || col("trial_passed").is_not_null();
    let is_known = is_judged().and(col(sessions::COST_USD).is_not_null()).any(true);
    let per = sum_where(sessions::COST_USD, is_judged()).cast(DataType::Float64) / not_zero(passed);
    when(is_known).then(per).otherwise(lit(NULL))
}
