//! Filters that match no session: which of them, and the most similar value that exists.

use std::collections::BTreeSet;

use jiff::Timestamp;
use polars::prelude::*;

use super::options::Options;
use super::run::find;
use crate::analysis::present::{counted, grouped, in_shell};
use crate::analysis::rows::{CostBasis, Frames, KEY, Table};
use crate::analysis::selection::{Error, Grouping, LABEL, Scope, sessions};
use crate::store::frames::{sessions, turns};
use crate::store::query::near;

/// Why the filters of a scope match no session at all, whatever its bounds of time. `None` if they match one, or if there are none.
///
/// # Errors
/// When the table of sessions cannot be read.
pub fn unmatched(tables: &Frames, scope: &Scope) -> Result<Option<String>, Error> {
    let matches = |only: &[(String, String)]| -> Result<bool, Error> {
        let whole = Scope { since: None, until: None, undated: None, only: only.to_vec(), ..scope.clone() };
        let count = |rows: LazyFrame| -> Result<u64, Error> {
            let count = rows.select([col(sessions::SESSION_ID).len().alias("rows")]).collect()?;
            Ok(count.column("rows")?.get(0)?.extract().unwrap_or_default())
        };
        if count(sessions(tables, &whole)?.0)? > 0 {
            return Ok(true);
        }
        // A model of a subagent is in turns only.
        let has_turns = tables.iter().any(|(name, _)| *name == turns::TABLE);
        let of_turns = || Grouping::new("cost", &Table(turns::TABLE), tables, &whole, CostBasis::Auto);
        Ok(has_turns && of_turns().is_ok_and(|turns| count(turns.rows).is_ok_and(|count| count > 0)))
    };
    // The usual case first: a filter that matches needs one read of the table.
    if scope.only.is_empty() || matches(&scope.only)? || !matches(&[])? {
        return Ok(None);
    }
    for filter in &scope.only {
        if !matches(std::slice::from_ref(filter))? {
            let (name, pattern) = filter;
            if let Some(missing) = unknown_labels(tables, std::slice::from_ref(name))? {
                return Ok(Some(missing));
            }
            let near = nearest(tables, scope, name, pattern).unwrap_or_default();
            // The name of a flag is not a noun.
            let what = if name == "passed" { format!("{name}={pattern}") } else { format!("the {name} {pattern:?}") };
            return Ok(Some(format!("no session has {what}{near}")));
        }
    }
    let filters: Vec<String> = scope.only.iter().map(|(name, pattern)| format!("{name} {pattern:?}")).collect();
    Ok(Some(format!("no session has all of {}; each of them matches some", filters.join(", "))))
}

/// Why the filters of a scope match responses, but no session: a model is that of a subagent only, or sessions begin outside of the
/// bounds of time. `None` if they match a session or no response.
///
/// # Errors
/// When the tables cannot be read.
pub fn only_in_turns(tables: &Frames, scope: &Scope) -> Result<Option<String>, Error> {
    let has_turns = tables.iter().any(|(name, _)| *name == turns::TABLE);
    if scope.only.is_empty() || !has_turns || has_session(tables, scope)? {
        return Ok(None);
    }
    let keys = sessions_of_turns(tables, scope)?.collect()?;
    if keys.height() == 0 {
        return Ok(None);
    }
    let (used, them) = (counted(keys.height(), "session"), if keys.height() == 1 { "it" } else { "them" });
    let mut models = scope.only.iter().filter(|(name, _)| name == "model" || name == "model_as_logged");
    if let Some(filter) = models.next() {
        let only = Scope { since: None, until: None, undated: None, only: vec![filter.clone()], ..scope.clone() };
        if !has_session(tables, &only)? {
            let model = &filter.1;
            return Ok(Some(format!(
                "no session has the main model {model:?}; {used} used it for other responses, such as those of subagents: `agentlogs \
                 report cost --by session --model {}` lists {them}",
                in_shell(model)
            )));
        }
    }
    Ok(Some(format!(
        "no session matches the filters, but responses of {used} do: `agentlogs report cost --by session` with the same filters lists {them}"
    )))
}

/// The keys of the sessions with responses in scope.
fn sessions_of_turns(tables: &Frames, scope: &Scope) -> Result<LazyFrame, Error> {
    let turns = Grouping::new("cost", &Table(turns::TABLE), tables, scope, CostBasis::Auto)?.rows;
    Ok(turns.select(KEY.map(col)).unique(None, UniqueKeepStrategy::Any))
}

/// How many more sessions used a model of the filters: it is not their main model, by which sessions are filtered. `None` if there are no
/// such sessions, or no session is in scope, which [`only_in_turns`] explains.
///
/// # Errors
/// When a filter names something that does not exist, or the tables cannot be read.
pub fn used_by_others(tables: &Frames, scope: &Scope) -> Result<Option<String>, Error> {
    let has_turns = tables.iter().any(|(name, _)| *name == turns::TABLE);
    let model = scope.only.iter().find(|(name, _)| name == "model" || name == "model_as_logged");
    let Some((_, model)) = model.filter(|_| has_turns) else { return Ok(None) };
    if !has_session(tables, scope)? {
        return Ok(None);
    }
    let of_any_time = Scope { since: None, until: None, undated: None, ..scope.clone() };
    let listed = sessions(tables, &of_any_time)?.0.select(KEY.map(col));
    let others = sessions_of_turns(tables, scope)?.join(listed, KEY.map(col), KEY.map(col), JoinType::Anti.into());
    let count = others.collect()?.height();
    Ok((count > 0).then(|| {
        let (sessions, their) = if count == 1 { ("session", "its") } else { ("sessions", "their") };
        format!(
            "{} more {sessions} used {model} beside {their} main model, as for subagents: `agentlogs report cost --by session --model {}` lists all",
            grouped(count),
            in_shell(model)
        )
    }))
}

/// Which dimensions of labels no session has, with the labels that exist. `None` if sessions have all of them.
///
/// # Errors
/// When the table of sessions cannot be read.
pub fn unknown_labels(tables: &Frames, by: &[String]) -> Result<Option<String>, Error> {
    let asked: Vec<&str> = by.iter().filter_map(|name| name.strip_prefix(LABEL)).collect();
    if asked.is_empty() {
        return Ok(None);
    }
    let known = label_keys(tables)?;
    let missing = asked.into_iter().find(|key| known.iter().all(|known| known != key));
    Ok(missing.map(|key| format!("no session has the label {key:?}{}", suggested_label(key, &known))))
}

/// The keys of the labels of all sessions, sorted.
///
/// # Errors
/// When the table of sessions cannot be read.
pub(in crate::analysis) fn label_keys(tables: &Frames) -> PolarsResult<Vec<String>> {
    const EXPLODED: ExplodeOptions = ExplodeOptions { empty_as_null: false, keep_nulls: false };
    let labels = tables.table(sessions::TABLE).select([col(sessions::LABELS).explode(EXPLODED)]).collect()?;
    let labels = labels.column(sessions::LABELS)?.str()?;
    let keys = labels.iter().flatten().filter_map(|label| label.split_once('=')).map(|(key, _)| key.to_owned());
    Ok(keys.collect::<BTreeSet<_>>().into_iter().collect())
}

/// `; did you mean label:job?`, or the labels that exist.
fn suggested_label(key: &str, known: &[String]) -> String {
    if let Some(near) = near(key, known.iter().map(String::as_str)) {
        return format!("; did you mean label:{near}?");
    }
    if known.is_empty() { "; no session has labels".to_owned() } else { format!("; there are: {}", known.join(", ")) }
}

/// Whether a session is in scope.
///
/// # Errors
/// When a filter names something that does not exist, or the tables cannot be read.
pub fn has_session(tables: &Frames, scope: &Scope) -> Result<bool, Error> {
    Ok(sessions(tables, scope)?.0.limit(1).collect()?.height() > 0)
}

/// When the sessions of the filters begin, if none of them begins within the bounds of time of a scope: `the sessions begin from
/// 2026-10-05 to 2026-11-22`. `None` without bounds, or if some session begins within them or has no start.
///
/// # Errors
/// When the table of sessions cannot be read.
pub fn outside_of_period(tables: &Frames, scope: &Scope) -> Result<Option<String>, Error> {
    if !scope.is_bounded() || has_session(tables, scope)? {
        return Ok(None);
    }
    let whole = Scope { since: None, until: None, undated: None, ..scope.clone() };
    let start = || col(sessions::STARTED_AT).to_physical();
    let edges =
        sessions(tables, &whole)?.0.select([start().min().alias("first"), start().max().alias("last")]).collect()?;
    let zone = scope.zone()?;
    let day = |name: &str| -> PolarsResult<Option<String>> {
        let moment = edges.column(name)?.i64()?.get(0).and_then(|micros| Timestamp::from_microsecond(micros).ok());
        Ok(moment.map(|moment| moment.to_zoned(zone.clone()).date().to_string()))
    };
    Ok(match (day("first")?, day("last")?) {
        (Some(first), Some(last)) if first == last => Some(format!("all sessions begin on {first}")),
        (Some(first), Some(last)) => Some(format!("the sessions begin from {first} to {last}")),
        _ => None,
    })
}

/// `; did you mean …?`, or some of the values that exist.
fn nearest(tables: &Frames, scope: &Scope, name: &str, pattern: &str) -> Option<String> {
    const LISTED: usize = 5;
    let scope = Scope { since: None, until: None, undated: None, only: Vec::new(), ..scope.clone() };
    let options = Options { by: vec![name.to_owned()], scope, ..Options::default() };
    let rows = find(sessions::TABLE).ok()?.run(tables, &options).ok()?.rows;
    let values = rows.column(name).ok()?.cast(&DataType::String).ok()?;
    let values: Vec<&str> = values.str().ok()?.iter().flatten().collect();
    if values.is_empty() {
        return None;
    }
    let text = pattern.trim_matches('*').to_lowercase();
    let contains = values.iter().copied().find(|value| !text.is_empty() && value.to_lowercase().contains(&text));
    if let Some(near) = contains.or_else(|| near(pattern, values.iter().copied())) {
        return Some(format!("; did you mean {near:?}?"));
    }
    if ["session", "root", "parent"].contains(&name) {
        return Some("; `agentlogs sessions` lists them".to_owned());
    }
    let listed: Vec<&str> = values.iter().copied().take(LISTED).collect();
    let more = if values.len() > LISTED { ", …" } else { "" };
    Some(format!("; there are: {}{more}", listed.join(", ")))
}
