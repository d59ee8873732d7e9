//! `report trends`: when the means of sessions changed, and what else changed there. docs/evaluations.md#did-it-become-worse.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use polars::prelude::*;

use super::answer::{AFTER, Answer, BEFORE, RESULT};
use super::listing::listed;
use super::options::Options;
use super::spec::List;
use crate::analysis::cohort::changes::{Change, MIN_PART, changes};
use crate::analysis::cohort::groups::{Groups, Values};
use crate::analysis::cohort::means::MEANS;
use crate::analysis::cohort::read::{Cohort, CohortSessions, TABLES as OF_COHORTS};
use crate::analysis::outcomes::statistics::mean;
use crate::analysis::present::{Currency, Roles};
use crate::analysis::rows::{Frames, KEY, Key, ReportRows as _, Sessions, round};
use crate::analysis::selection::{Error, Grouping, LeftOut, Scope, Undated};
use crate::store::frames::{sessions, time_type, turns};

/// The probability of a change in a report of sessions that did not change.
const LEVEL: f64 = 0.05;

/// The name of the instructions among what changed: that of their dimension.
const INSTRUCTIONS: &str = "instructions";

/// Columns that tables omit unless `--wide` is given, or they are sorted by.
const WIDE: &[&str] = &["earliest_at", "latest_at", "p_value"];

/// The report.
#[derive(Debug)]
pub(super) struct Trends;

impl List for Trends {
    fn tables(&self) -> Vec<&'static str> {
        [OF_COHORTS, &[turns::TABLE]].concat()
    }

    fn has(&self, column: &str) -> bool {
        Sessions.has(column)
    }

    fn has_cost(&self) -> bool {
        true
    }

    fn takes_undated(&self) -> bool {
        false
    }

    fn stated(&self, left_out: &LeftOut, currency: Currency) -> Option<String> {
        Some(format!("{}: a trend needs the times of its sessions", left_out.stated("session", "start", currency)?))
    }

    fn needs(&self, _options: &Options) -> Option<String> {
        Some(format!("a change is found among {} sessions or more, with --by in each group", 2 * MIN_PART))
    }

    /// What changed is the question: the result is also in the numbers before and after.
    fn roles(&self) -> Roles<'static> {
        Roles { names: Some(1), sentences: &["changed"], least: &["sessions", RESULT], ..Roles::default() }
    }

    fn run(&self, tables: &Frames, options: &Options) -> Result<Answer, Error> {
        let (groups, left_out) = groups(tables, options)?;
        let facts = facts(tables)?;
        let sequences: Vec<Sequence<'_>> = groups.iter().flat_map(|group| group.sequences(&facts)).collect();
        let lines = lines(&sequences);
        let rows = round(frame(&options.by, &lines, &facts)?.lazy());
        let (rows, more) = listed(rows, WIDE, options)?;
        Ok(Answer { rows, dimensions: options.by.len(), total: None, more, left_out, judged: None })
    }
}

/// The sessions with the same values of the dimensions.
struct Group {
    values: Values,
    cohort: Cohort,
}

/// The groups of a report, the one with most sessions first. Without dimensions there is one; else those with too few sessions for a test
/// are left out.
fn groups(tables: &Frames, options: &Options) -> Result<(Vec<Group>, LeftOut), Error> {
    let scope = Scope { undated: Some(Undated::Exclude), ..options.scope.clone() };
    let mut grouping = Grouping::new("trends", &CohortSessions, tables, &scope, options.cost)?;
    let divided = Groups::of(&mut grouping, &options.by)?;
    let trials = divided.trials(tables, options.cost, options.unjudged)?;
    let mut groups = Vec::new();
    for (values, sessions) in &divided.groups {
        if *sessions >= 2 * MIN_PART || options.by.is_empty() {
            let cohort = divided.cohort(values, &trials)?;
            groups.push(Group { values: values.clone(), cohort });
        }
    }
    Ok((groups, grouping.left_out))
}

/// What is known of a session: its start in microseconds, and what may explain a change, by name.
struct Facts {
    start: i64,
    values: BTreeMap<String, String>,
}

/// The facts of all sessions with a start.
fn facts(tables: &Frames) -> PolarsResult<HashMap<Key, Facts>> {
    const COUNT: &str = "responses";
    let most = SortMultipleOptions::default().with_order_descending_multi([true, false]);
    let with_effort = tables.table(turns::TABLE).filter(col(turns::EFFORT).is_not_null());
    let by_effort = with_effort.group_by(KEY.map(col).into_iter().chain([col(turns::EFFORT)]).collect::<Vec<_>>());
    let efforts = by_effort.agg([len().alias(COUNT)]).sort([COUNT, turns::EFFORT], most);
    let efforts = efforts.group_by_stable(KEY.map(col)).agg([col(turns::EFFORT).first()]);
    let own = [sessions::CANONICAL_MODEL, sessions::RUNTIME_VERSION, sessions::INSTRUCTIONS_HASH]
        .map(|name| col(name).cast(DataType::String));
    let columns =
        KEY.map(col).into_iter().chain(own).chain([col(sessions::STARTED_AT).to_physical(), col(sessions::LABELS)]);
    let dated = tables.table(sessions::TABLE).filter(col(sessions::STARTED_AT).is_not_null());
    let frame = dated
        .select(columns.collect::<Vec<_>>())
        .join(efforts, KEY.map(col), KEY.map(col), JoinType::Left.into())
        .with_columns([col(turns::EFFORT).cast(DataType::String)])
        .collect()?;
    let text = |name: &str| frame.column(name)?.str().cloned();
    let [runtimes, ids] = KEY.map(text);
    let (runtimes, ids, starts) = (runtimes?, ids?, frame.column(sessions::STARTED_AT)?.i64()?.clone());
    let named = [
        (sessions::MODEL, text(sessions::CANONICAL_MODEL)?),
        (sessions::RUNTIME_VERSION, text(sessions::RUNTIME_VERSION)?),
        (turns::EFFORT, text(turns::EFFORT)?),
        (INSTRUCTIONS, text(sessions::INSTRUCTIONS_HASH)?),
    ];
    let labels = frame.column(sessions::LABELS)?.list()?.clone();
    let mut facts = HashMap::new();
    for row in 0..frame.height() {
        let (Some(runtime), Some(id), Some(start)) = (runtimes.get(row), ids.get(row), starts.get(row)) else {
            continue;
        };
        let mut values: BTreeMap<String, String> = BTreeMap::new();
        for (name, column) in &named {
            values.extend(column.get(row).map(|value| ((*name).to_owned(), value.to_owned())));
        }
        if let Some(labels) = labels.get_as_series(row) {
            let pairs = labels.str()?.iter().flatten().filter_map(|label| label.split_once('='));
            for (key, value) in pairs {
                // As the dimension: of several labels with this key, the first one.
                values.entry(format!("label:{key}")).or_insert_with(|| value.to_owned());
            }
        }
        facts.insert((runtime.to_owned(), id.to_owned()), Facts { start, values });
    }
    Ok(facts)
}

/// The values of a mean in the order of time.
struct Sequence<'a> {
    group: &'a [Option<String>],
    measure: &'static str,
    sessions: Vec<&'a Key>,
    values: Vec<f64>,
}

impl Group {
    /// Its sequences. A mean that is unknown for all sessions has none.
    fn sequences<'a>(&'a self, facts: &'a HashMap<Key, Facts>) -> impl Iterator<Item = Sequence<'a>> {
        MEANS.iter().filter_map(|mean| {
            let start = |key: &Key| facts.get(key).map(|facts| facts.start);
            let mut known: Vec<(i64, &Key, f64)> = mean
                .values(&self.cohort)
                .into_iter()
                .filter_map(|(key, value)| Some((start(key)?, key, value)))
                .collect();
            known.sort_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)));
            let sessions = known.iter().map(|(_, key, _)| *key).collect();
            let values: Vec<f64> = known.into_iter().map(|(_, _, value)| value).collect();
            (!values.is_empty()).then_some(Sequence { group: &self.values, measure: mean.name, sessions, values })
        })
    }
}

/// A row: a change, or a sequence without one.
struct Line<'a> {
    sequence: &'a Sequence<'a>,
    result: &'static str,
    before: Option<f64>,
    after: Option<f64>,
    sessions: usize,
    p_value: Option<f64>,
    change: Option<Change>,
}

/// The changes of all sequences, the p-values multiplied by the number of sequences that are tested (Bonferroni).
fn lines<'a>(sequences: &'a [Sequence<'a>]) -> Vec<Line<'a>> {
    let tests = sequences.iter().filter(|it| it.values.len() >= 2 * MIN_PART).count().max(1) as f64;
    let mut lines = Vec::new();
    for sequence in sequences {
        let found = changes(&sequence.values, LEVEL / tests);
        let adjusted = |p_value: f64| (p_value * tests).min(1.0);
        let of = |part: std::ops::Range<usize>| mean(sequence.values.get(part).unwrap_or_default());
        if found.changes.is_empty() {
            lines.push(Line {
                sequence,
                result: if found.p_value.is_some() { "no change" } else { "too few" },
                before: mean(&sequence.values),
                after: None,
                sessions: sequence.values.len(),
                p_value: found.p_value.map(adjusted),
                change: None,
            });
        }
        for change in found.changes {
            let (before, after) = (of(change.part.start..change.at), of(change.at..change.part.end));
            lines.push(Line {
                sequence,
                result: if change.is_rise { "higher" } else { "lower" },
                before,
                after,
                sessions: change.part.len(),
                p_value: Some(adjusted(change.p_value)),
                change: Some(change),
            });
        }
    }
    lines
}

/// What changed with a mean: the values that at least half of the last and of the first sessions around it have in common.
fn changed(line: &Line<'_>, facts: &HashMap<Key, Facts>) -> Option<String> {
    let change = line.change.as_ref()?;
    let around = |part: std::ops::Range<usize>| -> BTreeMap<&str, &str> {
        let sessions = line.sequence.sessions.get(part).unwrap_or_default();
        let of = sessions.iter().filter_map(|key| facts.get(*key)).collect::<Vec<_>>();
        let names: BTreeSet<&str> = of.iter().flat_map(|facts| facts.values.keys()).map(String::as_str).collect();
        let common = |name: &str| {
            let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
            for value in of.iter().filter_map(|facts| facts.values.get(name)) {
                *counts.entry(value.as_str()).or_default() += 1;
            }
            let (value, count) = counts.into_iter().max_by_key(|(_, count)| *count)?;
            (2 * count >= of.len()).then_some(value)
        };
        names.into_iter().filter_map(|name| Some((name, common(name)?))).collect()
    };
    let before = around(change.at.saturating_sub(MIN_PART).max(change.part.start)..change.at);
    let after = around(change.at..(change.at + MIN_PART).min(change.part.end));
    let differences = before.iter().filter_map(|(name, before)| {
        let after = after.get(name).filter(|after| *after != before)?;
        Some(format!("{name}: {before} -> {after}"))
    });
    let text = differences.collect::<Vec<_>>().join("; ");
    (!text.is_empty()).then_some(text)
}

fn frame(by: &[String], lines: &[Line<'_>], facts: &HashMap<Key, Facts>) -> PolarsResult<DataFrame> {
    let start = |line: &Line<'_>, at: usize| facts.get(*line.sequence.sessions.get(at)?).map(|facts| facts.start);
    let time = |name: &str, of: fn(&Change) -> usize| {
        let times = lines.iter().map(|line| start(line, of(line.change.as_ref()?)));
        Column::new(name.into(), times.collect::<Vec<Option<i64>>>()).cast(&time_type())
    };
    let float = |name: &str, of: fn(&Line<'_>) -> Option<f64>| {
        Column::new(name.into(), lines.iter().map(of).collect::<Vec<Option<f64>>>())
    };
    let counts = lines.iter().map(|line| i64::try_from(line.sessions).unwrap_or(i64::MAX)).collect::<Vec<i64>>();
    let mut columns: Vec<Column> = by
        .iter()
        .enumerate()
        .map(|(number, name)| {
            let values = lines.iter().map(|line| line.sequence.group.get(number).cloned().flatten());
            Column::new(name.as_str().into(), values.collect::<Vec<Option<String>>>())
        })
        .collect();
    columns.extend([
        Column::new("measure".into(), lines.iter().map(|line| line.sequence.measure).collect::<Vec<_>>()),
        Column::new(RESULT.into(), lines.iter().map(|line| line.result).collect::<Vec<_>>()),
        time("changed_at", |change| change.at)?,
        time("earliest_at", |change| change.between.0)?,
        time("latest_at", |change| change.between.1)?,
        float(BEFORE, |line| line.before),
        float(AFTER, |line| line.after),
        Column::new("changed".into(), lines.iter().map(|line| changed(line, facts)).collect::<Vec<_>>()),
        Column::new("sessions".into(), counts),
        float("p_value", |line| line.p_value),
    ]);
    DataFrame::new(lines.len(), columns)
}
