//! Runs a report: groups the rows, computes the measures, sorts and limits.

use std::collections::BTreeSet;

use polars::prelude::*;

use super::answer::{Answer, LeftOut};
use super::cost::Cost;
use super::dimension::{DIMENSIONS, Dimension, is_time};
use super::error::{self, Error};
use super::grouping::Grouping;
use super::health;
use super::limits;
use super::list::REPORTS;
use super::options::Options;
use super::outcomes::{FRONT, with_front};
use super::quantiles::Quantiles;
use super::scope::Scope;
use super::spec::{Body, Measure, Report, Rows};
use super::tables::{Frames, SESSION_KEY};
use super::waste;
use crate::analysis::behaviour;
use crate::analysis::outcomes::Unjudged;
use crate::analysis::outcomes::frame::{add_outcomes, rows_of_trials};
use crate::analysis::waste::frame::rows_of_waste;
use crate::prices::Catalog;
use crate::store::frames::{self, rejects, sessions, sources, turns, unknown_records, verdicts};

/// Columns of groups by model: the first and the last spelling of the model in the logs, by their letters.
const FIRST_SPELLING: &str = "first_spelling";
const LAST_SPELLING: &str = "last_spelling";

/// The number of trials of pass@k without `--k`.
const DEFAULT_K: u32 = 5;

/// The report of that name.
///
/// # Errors
/// When no report has that name.
pub fn find(name: &str) -> Result<&'static Report, Error> {
    REPORTS.iter().find(|report| report.name == name).ok_or_else(|| Error::Report(name.to_owned()))
}

/// The sessions in scope, with the columns of `sessions`, and the sessions without a start that the scope excludes.
///
/// # Errors
/// When a filter names something that does not exist, or the tables cannot be read.
pub fn sessions(tables: &Frames, scope: &Scope) -> Result<(LazyFrame, LeftOut), Error> {
    let grouping = Grouping::new("sessions", &Rows::Sessions, tables, scope, Cost::Auto)?;
    Ok((grouping.rows, grouping.left_out))
}

impl Report {
    /// Its columns after the dimensions.
    pub fn measures(&self) -> &'static [Measure] {
        match self.body {
            Body::Groups { measures, .. } => measures,
            Body::Health | Body::Limits => &[],
        }
    }

    /// The columns that have a value over all rows, which budgets can bound.
    pub const fn bounded(&self) -> &'static [Measure] {
        match self.body {
            Body::Groups { measures, .. } => measures,
            Body::Limits => limits::BOUNDED,
            Body::Health => &[],
        }
    }

    /// The values over all rows of what budgets can bound, as the total of the answer.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub fn totals(&self, tables: &Frames, options: &Options) -> Result<Answer, Error> {
        match self.body {
            Body::Limits => limits::largest(tables, options),
            Body::Groups { .. } | Body::Health => self.run(tables, options),
        }
    }

    /// The tables that it reads.
    pub fn tables(&self) -> Vec<&'static str> {
        match &self.body {
            Body::Groups { rows, measures, .. } => {
                let mut tables = rows.tables();
                if measures.iter().any(|measure| measure.needs_outcome) {
                    tables.push(verdicts::TABLE);
                }
                tables
            }
            Body::Health => vec![sessions::TABLE, turns::TABLE, sources::TABLE, rejects::TABLE, unknown_records::TABLE],
            Body::Limits => vec![sessions::TABLE, turns::TABLE, frames::limits::TABLE],
        }
    }

    /// Its dimensions, apart from labels.
    pub fn dimensions(&self) -> impl Iterator<Item = &'static Dimension> {
        DIMENSIONS.iter().filter(|dimension| self.has(dimension))
    }

    /// Whether its rows have this dimension.
    pub fn has(&self, dimension: &Dimension) -> bool {
        match &self.body {
            Body::Groups { rows, .. } => dimension.is_of(|column| rows.has(column)),
            Body::Health | Body::Limits => false,
        }
    }

    /// Whether it contains costs.
    pub fn has_cost(&self) -> bool {
        matches!(self.body, Body::Limits) || self.measures().iter().any(|it| it.name.ends_with(turns::COST_USD))
    }

    /// Whether its rows are the waste of sessions.
    pub const fn has_waste(&self) -> bool {
        matches!(self.body, Body::Groups { rows: Rows::Waste, .. })
    }

    /// Whether it can include rows without a time.
    pub const fn takes_undated(&self) -> bool {
        !matches!(self.body, Body::Limits)
    }

    /// The rows of the report.
    ///
    /// # Errors
    /// When an option names something that does not exist, or the tables cannot be read.
    pub fn run(&self, tables: &Frames, options: &Options) -> Result<Answer, Error> {
        if options.active && !matches!(self.body, Body::Limits) {
            return Err(Error::NotActive(self.name));
        }
        let given = [("--k", options.k.is_some()), ("--unjudged", options.unjudged != Unjudged::default())];
        if let Some((option, _)) = given.into_iter().find(|(_, is_given)| *is_given)
            && !matches!(self.body, Body::Groups { rows: Rows::Outcomes, .. })
        {
            return Err(Error::NotOfOutcomes(self.name, option));
        }
        if options.top.is_some() && !self.has_waste() {
            return Err(Error::NotOfWaste(self.name));
        }
        if options.price_as.is_some() && !self.measures().iter().any(|measure| measure.needs_model) {
            return Err(Error::NotOfCost(self.name));
        }
        match &self.body {
            Body::Groups { rows, by, measures } => run_groups(self.name, rows, by, measures, tables, options),
            Body::Health => health::run(tables, options),
            Body::Limits => limits::run(tables, options),
        }
    }
}

fn run_groups(
    report: &'static str,
    rows: &Rows,
    default_by: &[&'static str],
    measures: &'static [Measure],
    tables: &Frames,
    options: &Options,
) -> Result<Answer, Error> {
    let default_by = if options.top.is_some() { waste::BY_OF_TOP } else { default_by };
    let by = dimensions(default_by, options);
    let applies = |measure: &&Measure| {
        (options.cost == Cost::Auto || !measure.is_part) && (options.price_as.is_some() || measure.is_always_computed())
    };
    let measures: Vec<&Measure> = measures.iter().filter(applies).collect();
    let sort = options.order().map(|(column, _)| column);
    // With the costs of another model, the table has no space for all columns.
    let is_wide = |measure: &Measure| match options.price_as {
        Some(_) => {
            measure.is_wide || !(measure.needs_model || [turns::COST_USD, turns::TOTAL_TOKENS].contains(&measure.name))
        }
        None if options.top.is_some() => !waste::OF_TOP.contains(&measure.name),
        None => measure.is_wide,
    };
    let is_shown = |measure: &&Measure| !is_wide(measure) || options.wide || sort == Some(measure.name);
    let shown: Vec<&Measure> = measures.iter().copied().filter(is_shown).collect();
    check_sort(sort, &by, &measures)?;

    let mut grouping = Grouping::new(report, rows, tables, &options.scope, options.cost)?;
    let keys = by.iter().map(|name| grouping.dimension(name)).collect::<Result<Vec<_>, _>>()?;
    let spelling = if by.contains(&"model") { Some(grouping.dimension("model_as_logged")?) } else { None };
    let measures = required(&measures, &shown);
    if measures.iter().any(|measure| measure.needs_session) {
        grouping.join_sessions()?;
    }
    if let Some(model) = &options.price_as {
        // Prices are those of a time.
        grouping.date_rows()?;
        grouping.rows = model.add_costs(grouping.rows);
    }
    let left_out = grouping.left_out;
    let mut judged = None;
    // The rows of the total differ if a task has trials in several groups.
    let (mut rows, mut rows_of_total) = match rows {
        Rows::Behaviour => (behaviour::frame::add_measures(grouping.rows, tables)?, None),
        Rows::Outcomes => {
            let k = options.k.unwrap_or(DEFAULT_K);
            let ([rows, all], counts) = rows_of_trials(grouping.rows, tables, &keys, k, options.unjudged)?;
            judged = Some(counts);
            (rows, Some(all))
        }
        Rows::Waste => {
            let catalog = options.catalog.as_deref().unwrap_or_else(|| Catalog::built_in());
            let [rows, all] = rows_of_waste(grouping.rows, tables, &by, &keys, options.cost, catalog)?;
            (rows, Some(all))
        }
        _ => (grouping.rows, None),
    };
    if measures.iter().any(|measure| measure.needs_outcome) {
        rows = add_outcomes(rows, tables)?;
    }

    let aggregations: Vec<Expr> = measures.iter().filter_map(|measure| measure.of_rows()).collect();
    let needs_key = aggregations.iter().any(|aggregation| names_in(aggregation).any(|name| name == SESSION_KEY));
    if needs_key {
        let key = session_key(&tables.table(sessions::TABLE))?.alias(SESSION_KEY);
        rows_of_total = rows_of_total.map(|all| all.with_column(key.clone()));
        rows = rows.with_column(key);
    }
    let mut quantiles = Quantiles::of(&measures);
    let spellings = spelling.as_ref().map_or_else(Vec::new, |spelling| {
        vec![spelling.clone().min().alias(FIRST_SPELLING), spelling.clone().max().alias(LAST_SPELLING)]
    });
    let collect = |quantiles: &Quantiles| {
        let lists = quantiles.lists();
        let groups = rows.clone().group_by(&keys).agg([&aggregations[..], &lists, &spellings].concat());
        let total = options.total.then(|| match rows_of_total.clone() {
            Some(all) => all.select([&aggregations[..], &lists].concat()),
            // The quantiles are those of the groups' lists.
            None => rows.clone().select(aggregations.clone()),
        });
        collect_together(groups, total)
    };
    let (mut groups, mut total) = collect(&quantiles)?;
    if quantiles.lack_values(&groups)? {
        drop((groups, total));
        quantiles = quantiles.with_all_bits();
        (groups, total) = collect(&quantiles)?;
    }
    quantiles.replace_lists(&mut groups, total.as_mut())?;

    // A measure may be a formula of measures before it.
    let derive = |frame: DataFrame| {
        let formulas = measures.iter().filter_map(|measure| measure.of_groups());
        round(formulas.fold(frame.lazy(), LazyFrame::with_column))
    };
    let select = |by: &[&str]| -> Vec<Expr> {
        let measures = shown.iter().map(|measure| measure.name);
        by.iter().copied().chain(measures).map(col).collect()
    };
    let mut groups = derive(groups);
    if spelling.is_some() {
        groups = groups.with_column(shown_model()?);
    }
    // The rows of the total are one group, which is on no front.
    let has_front = measures.iter().any(|measure| measure.name == FRONT);
    if has_front {
        groups = with_front(groups)?;
    }
    let groups = groups.select(select(&by));
    let groups = match options.top {
        Some(count) if options.sort.is_none() => waste::top(groups, &by, count)?,
        _ => sorted(groups, &by, shown.first().map(|measure| measure.name), options),
    };
    let total = total.map(|total| {
        let mut total = derive(total);
        if has_front {
            total = total.with_column(lit(NULL).cast(DataType::Boolean).alias(FRONT));
        }
        total.select(select(&[])).collect()
    });
    let (rows, more) = options.limited(groups.collect()?);
    Ok(Answer { rows, dimensions: by.len(), total: total.transpose()?, more, left_out, judged })
}

/// Collects groups and their total so that their rows are read once.
fn collect_together(groups: LazyFrame, total: Option<LazyFrame>) -> PolarsResult<(DataFrame, Option<DataFrame>)> {
    let plans = [groups].into_iter().chain(total).map(|frame| frame.logical_plan).collect();
    let mut frames = LazyFrame::collect_all_with_engine(plans, Engine::Streaming, OptFlags::default())?.into_iter();
    Ok((frames.next().unwrap_or_default(), frames.next()))
}

/// The measures that are shown, and those that their formulas contain.
fn required<'a>(measures: &[&'a Measure], shown: &[&Measure]) -> Vec<&'a Measure> {
    let mut names: BTreeSet<PlSmallStr> = shown.iter().map(|measure| measure.name.into()).collect();
    // A formula contains only measures before it.
    let mut required: Vec<&Measure> = measures
        .iter()
        .rev()
        .copied()
        .filter(|measure| {
            let is_required = names.contains(measure.name);
            if is_required && let Some(formula) = measure.of_groups() {
                names.extend(names_in(&formula));
            }
            is_required
        })
        .collect();
    required.reverse();
    required
}

/// The columns that an expression reads.
fn names_in(expression: &Expr) -> impl Iterator<Item = PlSmallStr> {
    expression.clone().meta().root_names().into_iter()
}

/// The name of a model as reports show it: its only spelling in the logs, if all groups of the model have the same, else its
/// canonical name. See docs/reports.md#dimensions.
fn shown_model() -> PolarsResult<Expr> {
    let first = col(FIRST_SPELLING).min().over([col(turns::MODEL)])?;
    let last = col(LAST_SPELLING).max().over([col(turns::MODEL)])?;
    Ok(when(first.clone().eq(last)).then(first).otherwise(col(turns::MODEL)).alias(turns::MODEL))
}

/// The dimensions of the options, or else those of the report, each once.
fn dimensions<'a>(default: &[&'a str], options: &'a Options) -> Vec<&'a str> {
    let mut by: Vec<&str> = options.by.iter().map(String::as_str).collect();
    if by.is_empty() {
        by = default.to_vec();
    }
    let mut seen = BTreeSet::new();
    by.retain(|name| seen.insert(*name));
    by
}

/// Checks that the column to sort by exists.
fn check_sort(sort: Option<&str>, by: &[&str], measures: &[&Measure]) -> Result<(), Error> {
    let columns = || by.iter().copied().chain(measures.iter().map(|measure| measure.name));
    match sort {
        Some(column) if !columns().any(|name| name == column) => {
            Err(Error::Sort { column: column.to_owned(), list: error::names(columns()) })
        }
        _ => Ok(()),
    }
}

/// The value that identifies a session: its id, or the runtime and the id if two runtimes use the same id. Counting distinct
/// texts is much faster than counting pairs.
fn session_key(sessions: &LazyFrame) -> PolarsResult<Expr> {
    let id = || col(turns::SESSION_ID);
    let ids = sessions.clone().select([id().n_unique().eq(len()).alias("are_unique")]).collect()?;
    let are_unique = ids.column("are_unique")?.bool()?.all();
    Ok(if are_unique { id() } else { as_struct(vec![col(turns::RUNTIME), id()]) })
}

/// Rounds all floats to ten digits: the last digits of a sum depend on the order of its rows, which is not defined.
pub(super) fn round(frame: LazyFrame) -> LazyFrame {
    let floats = dtype_col(&DataType::Float64).as_selector().as_expr();
    frame.with_column(floats.round(10, RoundMode::HalfAwayFromZero))
}

/// Sorts by time if time is a dimension, else by the first measure, descending.
fn sorted(groups: LazyFrame, by: &[&str], first: Option<&str>, options: &Options) -> LazyFrame {
    let by_first = || first.filter(|_| !by.iter().any(|name| is_time(name))).map(|name| (name, true));
    let sort = options.order().or_else(by_first);
    let mut columns: Vec<&str> = by.to_vec();
    if let Some((column, _)) = sort {
        columns.retain(|name| *name != column);
        columns.insert(0, column);
    }
    let mut order = vec![false; columns.len()];
    if let (Some(first), Some((_, is_descending))) = (order.first_mut(), sort) {
        *first = is_descending;
    }
    let order = SortMultipleOptions::default().with_order_descending_multi(order).with_nulls_last(true);
    groups.sort(columns, order)
}
