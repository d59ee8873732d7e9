//! `report health`: a list of what was not read, has no price, or is uncertain.

use jiff::{SignedDuration, Timestamp};
use polars::prelude::*;

use super::answer::Answer;
use super::doubts;
use super::listing::listed;
use super::options::Options;
use super::spec::List;
use crate::analysis::present::Roles;
use crate::analysis::rows::{CostBasis, Frames, matches, sum_where};
use crate::analysis::selection::{Error, LeftOut, Scope};
use crate::base::time::Time;
use crate::store::frames::{rejects, sessions, sources, time_value, turns, unknown_records};
use crate::store::query;

/// Columns that tables omit unless `--wide` is given, or they are sorted by.
const WIDE: &[&str] = &["runtime", rejects::FIRST_LINE, "example"];

/// The column with an example of a finding.
const EXAMPLE: &str = "example";

/// The columns of tables that [`FINDINGS`] reads.
const OF_SESSIONS: &[&str] =
    &[sessions::RUNTIME, sessions::SESSION_ID, sessions::FORMAT, sessions::USAGE, sessions::STARTED_AT];
const OF_SOURCES: &[&str] = &[
    sources::SOURCE_PATH,
    sources::RUNTIME,
    sources::FORMAT,
    sources::STATUS,
    sources::MESSAGE,
    sources::UNKNOWN_RECORDS,
];

/// Findings about files, then about sessions. All have the same columns.
const FINDINGS: &str = "
SELECT 'rejected' AS finding, r.reason AS reason, s.runtime AS runtime, s.format AS format, r.lines AS count, 'lines' AS unit,
    r.source_path AS source_path, r.first_line AS first_line, r.example AS example
FROM rejects r JOIN sources s ON r.source_path = s.source_path
UNION ALL
SELECT CASE WHEN u.has_counts THEN 'unread' ELSE 'unknown' END AS finding, COALESCE(u.type, '(no type)') AS reason,
    s.runtime AS runtime, u.format AS format, u.records AS count, 'records' AS unit, u.source_path AS source_path,
    u.first_line AS first_line, u.example AS example
FROM unknown_records u JOIN sources s ON u.source_path = s.source_path
UNION ALL
SELECT 'unknown' AS finding, '(no type)' AS reason, s.runtime AS runtime, s.format AS format, s.unknown_records AS count,
    'records' AS unit, s.source_path AS source_path, NULL AS first_line, NULL AS example
FROM sources s LEFT JOIN (SELECT DISTINCT source_path AS path FROM unknown_records) u ON u.path = s.source_path
WHERE s.unknown_records > 0 AND u.path IS NULL
UNION ALL
SELECT 'doubt' AS finding, reason, runtime, format, COUNT(*) AS count, 'sessions' AS unit,
    NULL AS source_path, NULL AS first_line, MIN(session_id) AS example
FROM doubts GROUP BY reason, runtime, format
UNION ALL
SELECT 'version' AS finding, reason, runtime, format, count, 'sessions' AS unit,
    NULL AS source_path, NULL AS first_line, example
FROM versions
UNION ALL
SELECT 'file' AS finding, status AS reason, runtime, format, 1 AS count, 'files' AS unit,
    source_path, NULL AS first_line, message AS example
FROM sources WHERE status IN ('truncated', 'unreadable', 'unrecognised')
UNION ALL
SELECT 'usage' AS finding, usage AS reason, runtime, format, COUNT(*) AS count, 'sessions' AS unit,
    NULL AS source_path, NULL AS first_line, MIN(session_id) AS example
FROM sessions WHERE usage <> 'exact' GROUP BY usage, runtime, format
UNION ALL
SELECT 'unpriced' AS finding, model AS reason, runtime, format, SUM(tokens) AS count, 'tokens' AS unit,
    NULL AS source_path, NULL AS first_line, MIN(session_id) AS example
FROM turns WHERE is_unpriced AND tokens > 0 GROUP BY model, runtime, format
UNION ALL
SELECT 'undated' AS finding, 'sessions' AS reason, runtime, format, COUNT(*) AS count, 'sessions' AS unit,
    NULL AS source_path, NULL AS first_line, MIN(session_id) AS example
FROM sessions WHERE started_at IS NULL GROUP BY runtime, format
UNION ALL
SELECT 'undated' AS finding, 'turns' AS reason, t.runtime AS runtime, t.format AS format, SUM(t.rows) AS count, 'rows' AS unit,
    NULL AS source_path, NULL AS first_line, MIN(t.session_id) AS example
FROM turns t JOIN sessions s ON t.runtime = s.runtime AND t.session_id = s.session_id
WHERE t.is_undated AND s.started_at IS NULL GROUP BY t.runtime, t.format
UNION ALL
SELECT 'undated' AS finding, 'turns' AS reason, t.runtime AS runtime, t.format AS format, SUM(t.tokens) AS count,
    'tokens' AS unit, NULL AS source_path, NULL AS first_line, MIN(t.session_id) AS example
FROM turns t JOIN sessions s ON t.runtime = s.runtime AND t.session_id = s.session_id
WHERE t.is_undated AND s.started_at IS NULL AND t.tokens > 0 GROUP BY t.runtime, t.format
UNION ALL
SELECT 'future' AS finding, 'turns' AS reason, runtime, format, SUM(rows) AS count, 'rows' AS unit,
    MIN(source_path) AS source_path, NULL AS first_line, MAX(latest) AS example
FROM turns WHERE is_future GROUP BY runtime, format
";

/// Clocks of machines may differ by this much: times until then are not in the future.
const TOLERANCE: SignedDuration = SignedDuration::from_hours(24);

/// The report.
#[derive(Debug)]
pub(super) struct Health;

impl List for Health {
    fn tables(&self) -> Vec<&'static str> {
        vec![sessions::TABLE, turns::TABLE, sources::TABLE, rejects::TABLE, unknown_records::TABLE]
    }

    /// The path distinguishes findings about files, and most kinds of findings have one unit.
    fn roles(&self) -> Roles<'static> {
        Roles { also: &[sources::SOURCE_PATH], least: &["unit"], ..Roles::default() }
    }

    fn run(&self, tables: &Frames, options: &Options) -> Result<Answer, Error> {
        run(tables, options)
    }
}

/// The findings. Only filters by runtime and format apply, as most findings are about files.
fn run(tables: &Frames, options: &Options) -> Result<Answer, Error> {
    let refused = |option: &str| Error::NotOfHealth(format!("--{option}"));
    let scope = &options.scope;
    let given = [
        ("by", !options.by.is_empty()),
        ("since", scope.since.is_some()),
        ("until", scope.until.is_some()),
        ("undated", scope.undated.is_some()),
        ("cost", options.cost != CostBasis::Auto),
    ];
    if let Some((option, _)) = given.into_iter().find(|(_, is_given)| *is_given) {
        return Err(refused(option));
    }
    let mut rows = query::query(read(tables, scope)?, FINDINGS)?.lazy();
    for (name, pattern) in &scope.only {
        if !matches!(name.as_str(), "runtime" | "format") {
            return Err(refused(name.split(':').next().unwrap_or(name)));
        }
        rows = rows.filter(matches(col(name), pattern)?);
    }
    let order = ["file", "rejected", "unread", "unknown", "doubt", "version", "usage", "unpriced", "undated", "future"];
    let rank = (0..).zip(order).fold(lit(10), |rest, (rank, finding): (i32, _)| {
        when(col("finding").eq(lit(finding))).then(lit(rank)).otherwise(rest)
    });
    let columns = [
        rank,
        col(rejects::REASON),
        col("count"),
        col(sources::RUNTIME),
        col(sources::FORMAT),
        col(sources::SOURCE_PATH),
    ];
    let descending = vec![false, false, true, false, false, false];
    let sorted = SortMultipleOptions::default().with_order_descending_multi(descending).with_nulls_last(true);
    let (rows, more) = listed(rows.sort_by_exprs(columns, sorted), WIDE, options)?;
    Ok(Answer { rows, dimensions: 0, total: None, more, left_out: LeftOut::default(), judged: None })
}

/// The first time that is in the future; `None` if the current time is not known.
fn future(scope: &Scope) -> Option<Time> {
    let now = Some(scope.now).filter(|now| *now != Timestamp::UNIX_EPOCH)?;
    Some(now.checked_add(TOLERANCE).ok()?.into())
}

/// The columns of [`FINDINGS`], each table read once. Of `turns` only rows without a cost or with a time that is missing or in the
/// future are needed, which polars finds by the statistics of the files: their number and tokens, by session and model.
fn read(tables: &Frames, scope: &Scope) -> PolarsResult<Frames> {
    let columns = |name: &str, columns: &[&str]| {
        tables.table(name).select(columns.iter().map(|name| col(*name)).collect::<Vec<_>>())
    };
    let (is_unpriced, is_undated) = (col(turns::COST_SOURCE).is_null(), col(turns::OCCURRED_AT).is_null());
    let is_future =
        future(scope).map_or(lit(false), |future| col(turns::OCCURRED_AT).gt(time_value(future)).fill_null(lit(false)));
    let is_needed = is_unpriced.clone().or(is_undated.clone()).or(is_future.clone());
    let turns = tables.table(turns::TABLE).filter(is_needed);
    let keys = [turns::RUNTIME, turns::SESSION_ID, turns::FORMAT, turns::MODEL].map(col).into_iter();
    let keys =
        keys.chain([is_unpriced.alias("is_unpriced"), is_undated.alias("is_undated"), is_future.alias("is_future")]);
    let turns = turns.group_by(keys.collect::<Vec<_>>()).agg([
        len().cast(DataType::Int64).alias("rows"),
        sum_where(turns::TOTAL_TOKENS, col(turns::TOTAL_TOKENS).gt(lit(0))).alias("tokens"),
        col(turns::SOURCE_PATH).cast(DataType::String).min(),
        col(turns::OCCURRED_AT).max().dt().strftime("%Y-%m-%dT%H:%M:%SZ").alias("latest"),
    ]);
    let named = [
        (turns::TABLE, turns),
        (sessions::TABLE, columns(sessions::TABLE, OF_SESSIONS)),
        ("doubts", doubts::of_sessions(tables)),
        ("versions", doubts::of_versions(tables)?),
        (sources::TABLE, columns(sources::TABLE, OF_SOURCES)),
        (unknown_records::TABLE, unknown_records(tables)),
        (rejects::TABLE, tables.table(rejects::TABLE)),
    ];
    let (names, plans): (Vec<_>, Vec<_>) = named.into_iter().map(|(name, frame)| (name, frame.logical_plan)).unzip();
    let frames = LazyFrame::collect_all_with_engine(plans, Engine::Streaming, OptFlags::default())?;
    Ok(names.into_iter().zip(frames.into_iter().map(DataFrame::lazy)).collect())
}

/// Unknown records, with what their type means for the numbers as an example.
fn unknown_records(tables: &Frames) -> LazyFrame {
    let version = || col(unknown_records::RUNTIME_VERSION).cast(DataType::String);
    let counts = when(col(unknown_records::HAS_COUNTS))
        .then(lit("token counts or costs that are not in these numbers"))
        .otherwise(lit(NULL));
    let contents = concat_str(
        [counts, when(version().is_not_null()).then(lit("version ") + version()).otherwise(lit(NULL))],
        "; ",
        true,
    );
    let example = when(contents.clone().eq(lit(""))).then(lit(NULL)).otherwise(contents);
    tables.table(unknown_records::TABLE).with_column(example.cast(DataType::String).alias(EXAMPLE))
}
