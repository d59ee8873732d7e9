//! A session of the list.

use polars::prelude::{DataFrame, PolarsResult};

use crate::analysis::failures::frame::FAILURE_CLASS;
use crate::analysis::shipped::OUTCOME;
use crate::analysis::show::{SessionKey, short_ids};
use crate::base::time::Time;
use crate::store::frames::{TypedRows, computed_columns, rows, sessions, verdicts};

computed_columns! {
    /// Passed, failed or unjudged.
    VERDICT_WORD: Text = "verdict";
}

rows! {
    /// The columns of the list.
    struct Columns {
        id: sessions::SESSION_ID,
        runtime: sessions::RUNTIME,
        started: sessions::STARTED_AT,
        project: sessions::PROJECT,
        model: sessions::MODEL,
        cost_usd: sessions::COST_USD,
        status: sessions::STATUS,
        verdict: VERDICT_WORD,
        task: verdicts::TASK,
        turns: sessions::TURNS,
        tokens: sessions::TOTAL_TOKENS,
        prompt: sessions::PROMPT,
        source_path: sessions::SOURCE_PATH,
    }

    /// Classes of failures.
    struct Failures {
        class: FAILURE_CLASS,
    }

    /// What became of the work.
    struct Outcomes {
        outcome: OUTCOME,
    }
}

/// A session of the list.
#[derive(Debug, Clone)]
pub(super) struct Session {
    pub key: SessionKey,
    /// The beginning of its id.
    pub short: String,
    /// Microseconds since 1970.
    pub started: Option<i64>,
    pub project: Option<String>,
    pub model: Option<String>,
    pub cost_usd: Option<f64>,
    pub status: Option<String>,
    pub verdict: Option<String>,
    pub task: Option<String>,
    pub failure: Option<String>,
    /// What became of its work, if the archive has commits or pull requests.
    pub outcome: Option<String>,
    pub turns: Option<i64>,
    pub tokens: Option<i64>,
    pub prompt: Option<String>,
    pub source_path: Option<String>,
    /// What the text of the filter is searched in, in lower case.
    pub searched: String,
}

impl Session {
    /// The sessions of the rows of [`session_list`](crate::analysis::reports::session_list), with classes of failures and outcomes if the rows have
    /// them.
    pub fn all(rows: &DataFrame) -> PolarsResult<Vec<Self>> {
        let mut rows = rows.clone();
        rows.rechunk_mut();
        let columns = Columns::of(&rows)?;
        let failures = Failures::of(&rows).ok();
        let outcomes = Outcomes::of(&rows).ok();
        let ids: Vec<&str> = (0..columns.height()).map(|row| columns.id(row).unwrap_or_default()).collect();
        let short = short_ids(&ids, &ids);
        let session = |row: usize| {
            let owned = |text: Option<&str>| text.map(str::to_owned);
            let searched = [
                columns.id(row),
                columns.runtime(row),
                columns.project(row),
                columns.model(row),
                columns.task(row),
                columns.status(row),
                columns.prompt(row),
            ];
            Self {
                key: SessionKey {
                    id: columns.id(row).unwrap_or_default().to_owned(),
                    runtime: columns.runtime(row).unwrap_or_default().to_owned(),
                },
                short: short.get(row).copied().unwrap_or_default().to_owned(),
                started: columns.started(row).map(Time::micros),
                project: owned(columns.project(row)),
                model: owned(columns.model(row)),
                cost_usd: columns.cost_usd(row),
                status: owned(columns.status(row)),
                verdict: owned(columns.verdict(row)),
                task: owned(columns.task(row)),
                failure: owned(failures.as_ref().and_then(|failures| failures.class(row))),
                outcome: owned(outcomes.as_ref().and_then(|outcomes| outcomes.outcome(row))),
                turns: columns.turns(row),
                tokens: columns.tokens(row),
                prompt: owned(columns.prompt(row)),
                source_path: owned(columns.source_path(row)),
                searched: searched.into_iter().flatten().collect::<Vec<_>>().join("\n").to_lowercase(),
            }
        };
        Ok((0..columns.height()).map(session).collect())
    }
}
