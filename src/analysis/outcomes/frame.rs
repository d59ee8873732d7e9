//! The trials as columns of sessions, for reports.

use std::collections::{HashMap, HashSet};

use polars::prelude::*;

use super::statistics::{pass_at_k, pass_hat_k};
use super::trials::{Membership, Trials};
use super::verdicts::Outcome;
use crate::analysis::rows::{Context, CostBasis, Extended, Frames, Judged, KEY, Key, ReportRows, Unjudged};
use crate::model::session::{add, add_money};
use crate::store::frames::{computed_columns, sessions, verdicts};

/// The column with the number of a session's trial, and the one with its outcome: see [`add_outcomes`].
pub(in crate::analysis) const TRIAL: &str = "trial";
pub(in crate::analysis) const TRIAL_PASSED: &str = "trial_passed";

/// Adds the number of the trial and its outcome to rows of sessions or of other tables.
pub(in crate::analysis) fn add_outcomes(rows: LazyFrame, tables: &Frames) -> PolarsResult<LazyFrame> {
    let mut trials = Trials::read(tables)?;
    if !trials.has_verdicts() {
        let unknown = |name: &str, dtype: DataType| lit(NULL).cast(dtype).alias(name);
        return Ok(rows.with_columns([unknown(TRIAL, DataType::Int64), unknown(TRIAL_PASSED, DataType::Boolean)]));
    }
    let sessions =
        tables.table(sessions::TABLE).select(KEY.map(col)).sort(KEY, SortMultipleOptions::default()).collect()?;
    let members = keys_of(&sessions)?.into_iter().map(|key| trials.of(&key)).collect::<Vec<_>>();
    let mut outcomes = sessions;
    outcomes.with_column(Column::new(TRIAL.into(), members.iter().map(|it| it.trial).collect::<Vec<_>>()))?;
    let passed = members.iter().map(|it| it.outcome.passed).collect::<Vec<_>>();
    outcomes.with_column(Column::new(TRIAL_PASSED.into(), passed))?;
    Ok(rows.join(outcomes.lazy(), KEY.map(col), KEY.map(col), JoinType::Left.into()))
}

// Columns of a session's trial as its verdicts state them: see `outcomes_of_sessions`.
computed_columns! {
    /// Whether the trial passed.
    pub(in crate::analysis) OUTCOME_PASSED: MaybeFlag = "outcome_passed";
    /// Its task.
    pub(in crate::analysis) OUTCOME_TASK: Text = "outcome_task";
    /// Its name.
    pub(in crate::analysis) OUTCOME_TRIAL: Text = "outcome_trial";
    /// Whether another session of the trial started this one.
    pub(in crate::analysis) OUTCOME_IS_CHILD: Flag = "outcome_is_child";
}

/// The sessions whose trial has a verdict, by their keys: whether it passed, its task and its name.
pub(in crate::analysis) fn outcomes_of_sessions(tables: &Frames) -> PolarsResult<LazyFrame> {
    let mut trials = Trials::read(tables)?;
    let rows =
        tables.table(sessions::TABLE).select(KEY.map(col)).sort(KEY, SortMultipleOptions::default()).collect()?;
    let keys = if trials.has_verdicts() { keys_of(&rows)? } else { Vec::new() };
    let members: Vec<Membership> = keys.iter().map(|key| trials.of(key)).collect();
    let is_child = members.iter().map(|member| member.is_child).collect::<Vec<bool>>();
    let outcomes: Vec<(Key, Outcome)> = keys.into_iter().zip(members.into_iter().map(|it| it.outcome)).collect();
    let text = |name: &str, of: &dyn Fn(&(Key, Outcome)) -> Option<String>| {
        Column::new(name.into(), outcomes.iter().map(of).collect::<Vec<Option<String>>>())
    };
    let passed = outcomes.iter().map(|(_, outcome)| outcome.passed).collect::<Vec<Option<bool>>>();
    let columns = vec![
        text(sessions::RUNTIME, &|(key, _)| Some(key.0.clone())),
        text(sessions::SESSION_ID, &|(key, _)| Some(key.1.clone())),
        Column::new(OUTCOME_PASSED.into(), passed),
        text(OUTCOME_TASK, &|(_, outcome)| outcome.task.clone()),
        text(OUTCOME_TRIAL, &|(_, outcome)| outcome.trial.clone()),
        Column::new(OUTCOME_IS_CHILD.into(), is_child),
    ];
    Ok(DataFrame::new(outcomes.len(), columns)?.lazy())
}

fn keys_of(frame: &DataFrame) -> PolarsResult<Vec<Key>> {
    let [runtimes, ids] = KEY.map(|name| frame.column(name).and_then(|column| column.str()));
    let (runtimes, ids) = (runtimes?, ids?);
    let text = |column: &StringChunked, row: usize| column.get(row).unwrap_or_default().to_owned();
    Ok((0..frame.height()).map(|row| (text(runtimes, row), text(ids, row))).collect())
}

/// A trial.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::analysis) struct Trial {
    /// The session whose dimensions are those of the trial: the first that no other session of it started.
    pub key: Key,
    pub task: Option<String>,
    /// Its name.
    pub name: Option<String>,
    /// Whether a verdict states whether it passed.
    pub is_judged: bool,
    pub passed: Option<bool>,
    pub score: Option<f64>,
    pub message: Option<String>,
    /// The number of its sessions.
    pub sessions: i64,
    /// Sums over its sessions.
    pub cost: Option<f64>,
    pub tokens: Option<i64>,
    pub turns: Option<i64>,
    /// Sum over its sessions that no other session of it started.
    pub duration_ms: Option<i64>,
}

/// How many of these trials are judged.
pub(in crate::analysis) fn judged<'t>(trials: impl IntoIterator<Item = &'t Trial>) -> Judged {
    trials.into_iter().fold(Judged::default(), |sum, trial| Judged {
        trials: sum.trials + 1,
        unjudged: sum.unjudged + usize::from(!trial.is_judged),
    })
}

/// The trials of the sessions in a scope; none if none of them is judged. `rows` are sessions.
pub(in crate::analysis) fn judged_trials(
    rows: &LazyFrame,
    tables: &Frames,
    cost: CostBasis,
) -> PolarsResult<Vec<Trial>> {
    let trials = among(all_trials(tables, cost, Unjudged::Apart)?, rows)?;
    let are_judged = trials.iter().any(|trial| trial.is_judged);
    Ok(if are_judged { trials } else { Vec::new() })
}

/// The trials of all sessions, in the order of their starts; none if no session is judged.
pub(in crate::analysis) fn all_trials(
    tables: &Frames,
    cost: CostBasis,
    unjudged: Unjudged,
) -> PolarsResult<Vec<Trial>> {
    let trials = Trials::read(tables)?;
    if trials.has_verdicts() { trials_of(tables, trials, cost, unjudged) } else { Ok(Vec::new()) }
}

/// The trials whose session is among `rows`. A trial is in a scope as a whole: its sums are those of all of its sessions.
pub(in crate::analysis) fn among(mut trials: Vec<Trial>, rows: &LazyFrame) -> PolarsResult<Vec<Trial>> {
    if !trials.is_empty() {
        let keys: HashSet<Key> = keys_of(&rows.clone().select(KEY.map(col)).collect()?)?.into_iter().collect();
        trials.retain(|trial| keys.contains(&trial.key));
    }
    Ok(trials)
}

/// The trials of all sessions, in the order of their starts.
pub(super) fn trials_of(
    tables: &Frames,
    mut trials: Trials,
    cost: CostBasis,
    unjudged: Unjudged,
) -> PolarsResult<Vec<Trial>> {
    let columns =
        [sessions::COST_USD, sessions::TOTAL_TOKENS, sessions::TURNS, sessions::DURATION_MS, sessions::STARTED_AT]
            .map(|name| col(name).to_physical());
    let frame = cost
        .applied_to(tables.table(sessions::TABLE))?
        .select(KEY.map(col).into_iter().chain(columns).collect::<Vec<_>>())
        .sort(
            [sessions::STARTED_AT, sessions::RUNTIME, sessions::SESSION_ID],
            SortMultipleOptions::default().with_nulls_last(true),
        )
        .collect()?;
    let keys = keys_of(&frame)?;
    let cost = frame.column(sessions::COST_USD)?.f64()?;
    let [tokens, turns, duration] = [sessions::TOTAL_TOKENS, sessions::TURNS, sessions::DURATION_MS]
        .map(|name| frame.column(name).and_then(|column| column.i64()));
    let (tokens, turns, duration) = (tokens?, turns?, duration?);
    // The position of each trial in the result, and whether its first session so far is a child.
    let mut positions: HashMap<i64, (usize, bool)> = HashMap::new();
    let mut found: Vec<Trial> = Vec::new();
    for (row, key) in keys.into_iter().enumerate() {
        let Membership { trial, is_child, outcome } = trials.of(&key);
        let next = found.len();
        let (position, has_only_children) = positions.entry(trial).or_insert((next, is_child));
        if *position == next {
            let Outcome { task, trial: name, passed, score, message, .. } = outcome;
            let is_judged = passed.is_some();
            let passed = if unjudged == Unjudged::Failed { passed.or(Some(false)) } else { passed };
            found.push(Trial { key: key.clone(), task, name, is_judged, passed, score, message, ..Trial::default() });
        }
        let Some(sum) = found.get_mut(*position) else { continue };
        sum.sessions += 1;
        sum.cost = add_money(sum.cost, cost.get(row));
        sum.tokens = add(sum.tokens, tokens.get(row));
        sum.turns = add(sum.turns, turns.get(row));
        if *has_only_children && !is_child {
            // The session around the children begins later than they do, or has no time.
            *has_only_children = false;
            (sum.key, sum.duration_ms) = (key, None);
        }
        if *has_only_children || !is_child {
            sum.duration_ms = add(sum.duration_ms, duration.get(row));
        }
    }
    Ok(found)
}

/// The number of trials of pass@k without `--k`.
const DEFAULT_K: u32 = 5;

/// The trials, each as its session.
#[derive(Debug)]
pub(in crate::analysis) struct Outcomes;

impl ReportRows for Outcomes {
    fn tables(&self) -> Vec<&'static str> {
        vec![sessions::TABLE, verdicts::TABLE]
    }

    fn options(&self) -> &'static [&'static str] {
        &["--k", "--unjudged"]
    }

    fn extend(&self, rows: LazyFrame, context: &Context<'_>) -> PolarsResult<Extended> {
        let k = context.k.unwrap_or(DEFAULT_K);
        let ([rows, all], judged) = rows_of_trials(rows, context, k)?;
        Ok(Extended { rows, rows_of_total: Some(all), judged: Some(judged) })
    }
}

/// The rows of trials: each is the session with the dimensions of the trial. pass@k is computed for the trials of a task in the same
/// group, and in the second result for all trials of a task.
fn rows_of_trials(sessions: LazyFrame, context: &Context<'_>, k: u32) -> PolarsResult<([LazyFrame; 2], Judged)> {
    let trials = trials_of(context.tables, Trials::read(context.tables)?, context.cost, context.unjudged)?;
    let trials = among(trials, &sessions)?;
    let judged = judged(&trials);
    let text = |of: &dyn Fn(&Trial) -> String, name: &str| -> Column {
        Column::new(name.into(), trials.iter().map(of).collect::<Vec<_>>())
    };
    // A session without a task is the only trial of its own.
    let task =
        |trial: &Trial| trial.task.clone().unwrap_or_else(|| format!("\u{1f}{}\u{1f}{}", trial.key.0, trial.key.1));
    let numbers = |of: fn(&Trial) -> Option<i64>, name: &str| -> Column {
        Column::new(name.into(), trials.iter().map(of).collect::<Vec<_>>())
    };
    let frame = DataFrame::new(
        trials.len(),
        vec![
            text(&|trial| trial.key.0.clone(), "runtime"),
            text(&|trial| trial.key.1.clone(), sessions::SESSION_ID),
            text(&task, "trial_task"),
            Column::new("passed".into(), trials.iter().map(|trial| trial.passed).collect::<Vec<_>>()),
            Column::new("trial_score".into(), trials.iter().map(|trial| trial.score).collect::<Vec<_>>()),
            Column::new("trial_cost_usd".into(), trials.iter().map(|trial| trial.cost).collect::<Vec<_>>()),
            numbers(|trial| trial.tokens, "trial_tokens"),
            numbers(|trial| trial.turns, "trial_turns"),
            numbers(|trial| trial.duration_ms, "trial_duration_ms"),
        ],
    )?;
    let join = |rows: LazyFrame, columns: DataFrame| {
        rows.join(columns.lazy(), KEY.map(col), KEY.map(col), JoinType::Inner.into())
    };
    let rows = join(sessions, frame);
    let task = [col("trial_task")];
    let of_group = parts(&rows, &[context.keys, &task].concat(), k)?;
    let of_all = parts(&rows, &task, k)?;
    Ok(([join(rows.clone(), of_group), join(rows, of_all)], judged))
}

/// What each trial contributes to the means over tasks: its share of the task, and of the task's pass@k.
fn parts(rows: &LazyFrame, partition: &[Expr], k: u32) -> PolarsResult<DataFrame> {
    let judged = col(verdicts::PASSED).count().cast(DataType::Int64).over(partition)?.alias("judged");
    let passed = col(verdicts::PASSED).sum().cast(DataType::Int64).over(partition)?.alias("passes");
    let is_judged = col(verdicts::PASSED).is_not_null().alias("is_judged");
    let frame = rows
        .clone()
        .select([col(sessions::RUNTIME), col(sessions::SESSION_ID), judged, passed, is_judged])
        .collect()?;
    let (judged, passed) = (frame.column("judged")?.i64()?, frame.column("passes")?.i64()?);
    let is_judged = frame.column("is_judged")?.bool()?;
    let shares = |of: &dyn Fn(u64, u64) -> Option<f64>, name: &str| -> Column {
        let share = |row: usize| {
            let count = u64::try_from(judged.get(row)?).ok()?;
            let share = of(count, u64::try_from(passed.get(row)?).ok()?)? / count as f64;
            is_judged.get(row)?.then_some(share)
        };
        Column::new(name.into(), (0..frame.height()).map(share).collect::<Vec<_>>())
    };
    let k = u64::from(k);
    let mut found = frame.select(KEY)?;
    found.with_column(shares(&|_, _| Some(1.0), "task_share"))?;
    found.with_column(shares(&|count, passed| pass_at_k(count, passed, 1), "pass_at_1_share"))?;
    found.with_column(shares(&|count, _| (count >= k).then_some(1.0), "task_share_of_k"))?;
    found.with_column(shares(&|count, passed| pass_at_k(count, passed, k), "pass_at_k_share"))?;
    found.with_column(shares(&|count, passed| pass_hat_k(count, passed, k), "pass_hat_k_share"))?;
    Ok(found)
}
