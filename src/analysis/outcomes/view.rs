//! The trials as a table, for SQL.

use polars::prelude::*;

use super::frame::{Trial, trials_of};
use super::trials::Trials;
use crate::analysis::rows::{CostBasis, Frames, Unjudged};
use crate::store::frames::{sessions, turns, verdicts};

/// A row per trial, with the key of its session. The columns are those of `computed_schema`.
pub(in crate::analysis) fn view(tables: &Frames) -> PolarsResult<LazyFrame> {
    let trials = trials_of(tables, Trials::read(tables)?, CostBasis::Auto, Unjudged::Apart)?;
    let text = |name: &str, of: fn(&Trial) -> Option<&str>| {
        Column::new(name.into(), trials.iter().map(of).collect::<Vec<_>>())
    };
    let number =
        |name: &str, of: fn(&Trial) -> Option<i64>| Column::new(name.into(), trials.iter().map(of).collect::<Vec<_>>());
    let float =
        |name: &str, of: fn(&Trial) -> Option<f64>| Column::new(name.into(), trials.iter().map(of).collect::<Vec<_>>());
    let columns = vec![
        text(sessions::RUNTIME, |trial| Some(&trial.key.0)),
        text(sessions::SESSION_ID, |trial| Some(&trial.key.1)),
        text(verdicts::TASK, |trial| trial.task.as_deref()),
        text(verdicts::TRIAL, |trial| trial.name.as_deref()),
        Column::new(verdicts::PASSED.into(), trials.iter().map(|trial| trial.passed).collect::<Vec<_>>()),
        float(verdicts::SCORE, |trial| trial.score),
        text(verdicts::MESSAGE, |trial| trial.message.as_deref()),
        number("sessions", |trial| Some(trial.sessions)),
        float(sessions::COST_USD, |trial| trial.cost),
        number(turns::TOTAL_TOKENS, |trial| trial.tokens),
        number(sessions::TURNS, |trial| trial.turns),
        number(sessions::DURATION_MS, |trial| trial.duration_ms),
    ];
    Ok(DataFrame::new(trials.len(), columns)?.lazy())
}
