//! Sessions whose rows break a rule (`src/ledger/merge/doubts.rs`), and versions of a runtime of which no session shows what sessions
//! of other versions show. Such a version may write it in a new way. See docs/accounting.md#doubts.

use polars::prelude::*;

use crate::store::frames::{Frames, sessions};

/// A version with fewer sessions is not judged.
const FEWEST: u32 = 3;

/// The part of the sessions of other versions that show something, above which a version without it is in doubt.
const USUAL: f64 = 0.5;

/// Columns of both kinds of findings.
const REASON: &str = "reason";
const SESSIONS: &str = "sessions";
const EXAMPLE: &str = "example";

/// Sessions by the rules that they break: `runtime`, `session_id`, `format`, `reason`.
pub fn of_sessions(tables: &Frames) -> LazyFrame {
    let columns =
        [col(sessions::RUNTIME), col(sessions::SESSION_ID), col(sessions::FORMAT), col(sessions::DOUBTS).alias(REASON)];
    let is_empty = col(REASON).list().len().fill_null(lit(0)).eq(lit(0));
    let rows = tables.table(sessions::TABLE).select(columns).filter(is_empty.not());
    rows.explode(by_name([REASON], true, false), ExplodeOptions { empty_as_null: true, keep_nulls: true })
}

/// What the sessions of a version show, and the reason of the finding if none of them does.
fn shown() -> [(&'static str, Expr); 4] {
    let status = || col(sessions::STATUS).cast(DataType::String);
    [
        ("no_end", status().eq(lit("success")).or(status().eq(lit("error"))).or(status().eq(lit("aborted")))),
        ("no_model", col(sessions::MODEL).is_not_null()),
        ("no_prompts", col(sessions::USER_TURNS).gt(lit(0))),
        ("no_calls", col(sessions::TOOL_CALLS).gt(lit(0))),
    ]
}

/// Versions of a runtime with several sessions, none of which shows what more than half of the sessions of the other versions of the
/// format show: `runtime`, `format`, `reason`, `count` (its sessions), `example` (the version).
pub fn of_versions(tables: &Frames) -> PolarsResult<LazyFrame> {
    let has_responses = col(sessions::TURNS).gt(lit(0)).and(col(sessions::PARENT_SESSION_ID).is_null());
    let sessions =
        tables.table(sessions::TABLE).filter(has_responses.and(col(sessions::RUNTIME_VERSION).is_not_null()));
    let sums: Vec<Expr> = shown()
        .into_iter()
        .map(|(reason, is_shown)| is_shown.fill_null(lit(false)).cast(DataType::Int64).sum().alias(reason))
        .chain([len().cast(DataType::Int64).alias(SESSIONS)])
        .collect();
    let versions =
        sessions.group_by([col(sessions::RUNTIME), col(sessions::FORMAT), col(sessions::RUNTIME_VERSION)]).agg(sums);
    let of_format = || [col(sessions::RUNTIME), col(sessions::FORMAT)];
    let found = shown().into_iter().map(|(reason, _)| {
        let all = |name: &str| col(name).sum().over(of_format());
        let (others, showing) = (all(SESSIONS)? - col(SESSIONS), all(reason)? - col(reason));
        let is_usual = (showing.cast(DataType::Float64)).gt(others.clone().cast(DataType::Float64) * lit(USUAL));
        let is_missing = col(reason).eq(lit(0)).and(col(SESSIONS).gt_eq(lit(FEWEST))).and(others.gt_eq(lit(FEWEST)));
        Ok(versions.clone().with_column(is_missing.and(is_usual).alias("is found")).filter(col("is found")).select([
            col(sessions::RUNTIME),
            col(sessions::FORMAT),
            lit(reason).alias(REASON),
            col(SESSIONS).alias("count"),
            col(sessions::RUNTIME_VERSION).cast(DataType::String).alias(EXAMPLE),
        ]))
    });
    concat(found.collect::<PolarsResult<Vec<_>>>()?, UnionArgs::default())
}

/// The sessions and versions in doubt, one sentence for each.
///
/// # Errors
/// When the tables cannot be read.
pub fn content_doubts(tables: &Frames) -> PolarsResult<Vec<String>> {
    let text = |frame: &DataFrame, name: &str| -> PolarsResult<Vec<String>> {
        let texts = frame.column(name)?.cast(&DataType::String)?;
        Ok(texts.str()?.iter().map(|text| text.unwrap_or_default().to_owned()).collect())
    };
    let by = [sessions::RUNTIME, sessions::SESSION_ID, "reason"];
    let sessions = of_sessions(tables).sort(by, SortMultipleOptions::default()).collect()?;
    let [runtime, id, reason] = by.map(|name| text(&sessions, name));
    let mut found: Vec<String> = Vec::new();
    for ((runtime, id), reason) in runtime?.iter().zip(id?).zip(reason?) {
        found.push(format!("{runtime} session {id}: {reason}"));
    }
    let by = ["format", "example", "reason", "count"];
    let versions = of_versions(tables)?.sort(by, SortMultipleOptions::default()).collect()?;
    let [format, version, reason, count] = by.map(|name| text(&versions, name));
    for (((format, version), reason), count) in format?.iter().zip(version?).zip(reason?).zip(count?) {
        found.push(format!("{format}, version {version}: {reason} in all of {count} sessions"));
    }
    Ok(found)
}
