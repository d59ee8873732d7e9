//! The sessions as a list, the newest first: when, where, by which model, for how much, and how they ended.

use std::collections::HashMap;

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use polars::prelude::*;

use super::answer::Answer;
use super::dimensions::with_reports;
use super::listing::listed;
use super::options::Options;
use crate::analysis::failures::frame as failures;
use crate::analysis::present::both_ends;
use crate::analysis::rows::{CostBasis, Frames, KEY, Sessions, newest_first, round};
use crate::analysis::selection::{Error, Grouping};
use crate::analysis::shipped;
use crate::analysis::show::short_ids;
use crate::base::split::base_name;
use crate::base::text::one_line;
use crate::store::frames::{file_changes, sessions, tool_calls, verdicts};

/// The tables that the list is made of.
const TABLES: &[&str] = &[sessions::TABLE, verdicts::TABLE];

/// The tables that the list with these options is made of; one may be named twice. Why sessions failed and what they shipped is computed
/// only where it is shown.
pub fn tables_of_sessions(options: &Options) -> Vec<&'static str> {
    let computed: [&[&str]; 3] = [failures::TABLES, &shipped::TABLES, &[tool_calls::TABLE, file_changes::TABLE]];
    let computed = computed.into_iter().filter(|_| options.wide).flatten();
    TABLES.iter().chain(computed).copied().chain(options.scope.tables()).collect()
}

/// Columns that tables omit unless `--wide` is given, or they are sorted by.
const WIDE: &[&str] = &[
    sessions::ENDED_AT,
    sessions::DURATION_MS,
    sessions::REPOSITORY,
    sessions::TOOL_CALLS,
    sessions::TOTAL_TOKENS,
    sessions::INCLUSIVE_TOTAL_TOKENS,
    sessions::ERROR_KIND,
    verdicts::TASK,
    sessions::PARENT_SESSION_ID,
    sessions::ROOT_SESSION_ID,
    sessions::DESCENDANTS,
    sessions::MISSING_DESCENDANTS,
    sessions::USAGE,
    sessions::USAGE_REASON,
    sessions::SOURCE_PATH,
];

/// The sessions in scope. `n` is the number of each in the list of all, by which `agentlogs show` finds it, too.
///
/// # Errors
/// When an option names something that does not exist, or the tables cannot be read.
pub fn session_list(tables: &Frames, options: &Options) -> Result<Answer, Error> {
    session_rows(tables, options, options.wide)
}

/// As [`session_list`]; why sessions failed and what became of their work is computed only with `has_failures`.
///
/// # Errors
/// When an option names something that does not exist, or the tables cannot be read.
pub fn session_rows(tables: &Frames, options: &Options, has_failures: bool) -> Result<Answer, Error> {
    let grouping = Grouping::new(sessions::TABLE, &Sessions, tables, &options.scope, options.cost);
    let mut grouping = grouping.map_err(with_reports)?;
    let [verdict, task] = ["verdict", "task"].map(|name| grouping.dimension(name));
    if has_failures {
        grouping.join_failures()?;
    }
    // As in the tables, a session that did not fail has no class.
    let failure = has_failures.then(|| col(failures::FAILURE_CLASS));
    let outcomes = if has_failures { shipped::outcomes(grouping.rows.clone(), tables)? } else { None };
    let outcome = outcomes.is_some().then(|| col(shipped::OUTCOME));
    let mut rows = grouping.rows;
    if let Some(outcomes) = outcomes {
        rows = rows.join(outcomes, KEY.map(col), KEY.map(col), JoinType::Left.into());
    }
    let rows = rows.join(newest_first(tables), KEY.map(col), KEY.map(col), JoinType::Left.into());
    // The costs of trees are those of the default.
    let inclusive = (options.cost == CostBasis::Auto).then(|| col(sessions::INCLUSIVE_COST_USD));
    let columns = [
        col("n"),
        col(sessions::SESSION_ID),
        col(sessions::STARTED_AT),
        col(sessions::ENDED_AT),
        col(sessions::DURATION_MS),
        col(sessions::PROJECT),
        col(sessions::REPOSITORY),
        col(sessions::CANONICAL_MODEL).alias(sessions::MODEL),
        col(sessions::COST_USD),
    ];
    let others = [col(sessions::STATUS), col(sessions::ERROR_KIND), verdict?, task?]
        .into_iter()
        .chain(failure)
        .chain(outcome)
        .chain([
            col(sessions::TURNS),
            col(sessions::TOOL_CALLS),
            col(sessions::TOTAL_TOKENS),
            col(sessions::INCLUSIVE_TOTAL_TOKENS),
            col(sessions::RUNTIME),
            col(sessions::PROMPT),
            col(sessions::PARENT_SESSION_ID),
            col(sessions::ROOT_SESSION_ID),
            col(sessions::DESCENDANTS),
            col(sessions::MISSING_DESCENDANTS),
            col(sessions::USAGE),
            col(sessions::USAGE_REASON),
            col(sessions::SOURCE_PATH),
        ]);
    let columns: Vec<Expr> = columns.into_iter().chain(inclusive).chain(others).collect();
    let rows = round(rows.select(columns).sort(["n"], SortMultipleOptions::default()));
    let (rows, more) = listed(rows, WIDE, options)?;
    Ok(Answer { rows, dimensions: 0, total: None, more, left_out: grouping.left_out, judged: None })
}

/// The rows of [`session_list`] for people: short ids, local times, the last parts of projects, costs of trees where they differ from
/// those of the session, and neither such costs nor verdicts nor prompts where there are none.
///
/// # Errors
/// When the tables cannot be read.
pub fn sessions_for_people(rows: &DataFrame, tables: &Frames, now: &Zoned) -> PolarsResult<DataFrame> {
    let all = tables.table(sessions::TABLE).select([col(sessions::SESSION_ID)]).collect()?;
    let all = all.column(sessions::SESSION_ID)?.str()?.clone();
    let mut columns: Vec<Column> = Vec::with_capacity(rows.width());
    let mut inclusive = None;
    for column in rows.columns() {
        let name = column.name().as_str();
        let texts = |of: &dyn Fn(&str) -> String, name: &str| -> PolarsResult<Column> {
            let texts = column.str()?.iter().map(|text| text.map(of));
            Ok(Column::new(name.into(), texts.collect::<Vec<Option<String>>>()))
        };
        columns.push(match name {
            sessions::SESSION_ID => {
                let ids: Vec<&str> = column.str()?.iter().map(Option::unwrap_or_default).collect();
                Column::new("session".into(), shown_ids(&ids, &all))
            }
            sessions::STARTED_AT | sessions::ENDED_AT => local_times(column, now)?,
            sessions::PROJECT | sessions::REPOSITORY => texts(&|text| last_part(text).to_owned(), name)?,
            sessions::INCLUSIVE_COST_USD => {
                inclusive = Some(where_it_differs(rows, column)?).filter(|it| it.null_count() < it.len());
                continue;
            }
            sessions::PROMPT if column.null_count() == column.len() => continue,
            sessions::PROMPT => texts(&one_line, "about")?,
            "verdict" if column.str()?.iter().all(|verdict| verdict == Some("unjudged")) => continue,
            _ => column.clone(),
        });
        if name == sessions::RUNTIME {
            // Where there is little space, the status is more important.
            columns.extend(inclusive.take());
        }
    }
    DataFrame::new(rows.height(), columns)
}

/// Short ids. Those that have a long beginning in common with others of all ids keep both ends, if no other one has the same ends.
fn shown_ids(ids: &[&str], all: &StringChunked) -> Vec<String> {
    const LONGEST: usize = 16;
    let short = short_ids(ids, all.iter().flatten());
    let is_long = |short: &str| short.chars().count() > LONGEST;
    let mut with_ends: HashMap<String, usize> = HashMap::new();
    if short.iter().any(|short| is_long(short)) {
        for id in all.iter().flatten() {
            *with_ends.entry(both_ends(id, LONGEST)).or_default() += 1;
        }
    }
    let shown = |(id, short): (&&str, &str)| {
        let ends = both_ends(id, LONGEST);
        if is_long(short) && with_ends.get(&ends) == Some(&1) { ends } else { short.to_owned() }
    };
    ids.iter().zip(short).map(shown).collect()
}

/// The costs of trees, where they are not those of the session itself.
fn where_it_differs(rows: &DataFrame, inclusive: &Column) -> PolarsResult<Column> {
    let own = rows.column(sessions::COST_USD)?.f64()?;
    let costs = inclusive.f64()?.iter().zip(own.iter()).map(|(cost, own)| cost.filter(|_| cost != own));
    Ok(Column::new(inclusive.name().clone(), costs.collect::<Vec<Option<f64>>>()))
}

/// Times as `ls -l` shows them: with the time of day in the last half year, else with the year.
fn local_times(column: &Column, now: &Zoned) -> PolarsResult<Column> {
    let micros = column.as_materialized_series().to_physical_repr();
    let name = column.name().as_str().trim_end_matches("_at");
    let texts = micros.i64()?.iter().map(|micros| Some(local_time(Timestamp::from_microsecond(micros?).ok()?, now)));
    Ok(Column::new(name.into(), texts.collect::<Vec<Option<String>>>()))
}

pub(in crate::analysis) fn local_time(moment: Timestamp, now: &Zoned) -> String {
    const HALF_A_YEAR: i64 = 182 * 24 * 60 * 60;
    let zone: TimeZone = now.time_zone().clone();
    let is_recent = (now.timestamp().as_second() - moment.as_second()).abs() < HALF_A_YEAR;
    let form = if is_recent { "%b %d %H:%M" } else { "%b %d  %Y" };
    moment.to_zoned(zone).strftime(form).to_string()
}

/// The last part of a path or of a repository's name, by which `--project` finds it.
pub(in crate::analysis) fn last_part(text: &str) -> &str {
    Some(base_name(text.trim_end_matches(['/', '\\']))).filter(|part| !part.is_empty()).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_projects_are_short() {
        let now = "2026-11-24T12:00:00Z".parse::<Timestamp>().unwrap().in_tz("Europe/Berlin").unwrap();
        let shown = |text: &str| local_time(text.parse().unwrap(), &now);
        assert_eq!(shown("2026-11-23T23:30:00Z"), "Nov 24 00:30");
        assert_eq!(shown("2026-03-01T09:00:00Z"), "Mar 01  2026");
        assert_eq!(shown("2026-12-01T09:00:00Z"), "Dec 01 10:00");
        for (text, part) in
            [("/w/shop/", "shop"), (r"C:\work\till", "till"), ("github.com/a/b", "b"), ("/", "/"), ("", "")]
        {
            assert_eq!(last_part(text), part);
        }
    }
}
