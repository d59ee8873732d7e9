//! Runs a report whose rows are grouped: selects the rows, computes the measures of groups, sorts and limits.

use std::collections::BTreeSet;

use polars::prelude::*;

use super::answer::Answer;
use super::options::Options;
use super::quantiles::Quantiles;
use super::spec::Groups;
use crate::analysis::outcomes::frame::add_outcomes;
use crate::analysis::rows::measure::Measure;
use crate::analysis::rows::{Context, CostBasis, Extended, Frames, Judged, SESSION_KEY, Top, round};
use crate::analysis::selection::{Dimension, Error, Grouping, LeftOut, is_time, names, order_of};
use crate::prices::Catalog;
use crate::store::frames::{sessions, turns};

/// The rows of a report.
///
/// # Errors
/// When an option names something that does not exist, or the tables cannot be read.
pub(super) fn run(report: &'static str, groups: &Groups, tables: &Frames, options: &Options) -> Result<Answer, Error> {
    let plan = Plan::new(groups, options)?;
    let selected = plan.select(report, groups, tables)?;
    let (rows, total) = plan.aggregate(&selected)?;
    let rows = plan.arrange(rows)?;
    let total = total.map(|total| plan.total(total)).transpose()?;
    let (rows, more) = options.limited(rows.collect()?);
    let Selected { left_out, judged, .. } = selected;
    Ok(Answer { rows, dimensions: plan.by.len(), total, more, left_out, judged })
}

/// What is computed.
struct Plan<'a> {
    options: &'a Options,
    /// The dimensions.
    by: Vec<&'a str>,
    /// The measures of the answer.
    shown: Vec<&'static Measure>,
    /// These, and those that their formulas contain.
    computed: Vec<&'static Measure>,
    /// The rows of `--top`, if it is given.
    top: Option<Top>,
}

/// The rows in scope.
struct Selected {
    rows: LazyFrame,
    /// The rows of the total, if they differ.
    rows_of_total: Option<LazyFrame>,
    /// The values of the dimensions.
    keys: Vec<Expr>,
    left_out: LeftOut,
    judged: Option<Judged>,
}

impl<'a> Plan<'a> {
    fn new(groups: &'a Groups, options: &'a Options) -> Result<Self, Error> {
        let top = groups.top.filter(|_| options.top.is_some());
        let by = dimensions(top.map_or(groups.by, |top| top.by), options);
        let applies = |measure: &&Measure| {
            (options.cost == CostBasis::Auto || !measure.is_part)
                && (options.price_as.is_some() || measure.is_always_computed())
        };
        let measures: Vec<&'static Measure> = groups.measures.iter().filter(applies).collect();
        let sort = options.order().map(|(column, _)| column);
        check_sort(sort, &by, &measures)?;
        let is_shown = |measure: &&Measure| {
            let is_asked = sort == Some(measure.name) || (measure.is_of_k && options.k.is_some());
            options.wide || is_asked || !is_wide(measure, top, options.price_as.is_some())
        };
        let shown: Vec<&'static Measure> = measures.iter().copied().filter(is_shown).collect();
        let computed = required(&measures, &shown);
        Ok(Self { options, by, shown, computed, top })
    }

    /// Selects the rows, and adds the columns that the measures need.
    fn select(&self, report: &'static str, groups: &Groups, tables: &Frames) -> Result<Selected, Error> {
        let options = self.options;
        let mut grouping = Grouping::new(report, groups.rows, tables, &options.scope, options.cost)?;
        let keys = self.by.iter().map(|name| grouping.dimension(name)).collect::<Result<Vec<_>, _>>()?;
        if self.computed.iter().any(|measure| measure.needs_session) {
            grouping.join_sessions()?;
        }
        if let Some(model) = &options.price_as {
            // Prices are those of a time.
            grouping.date_rows()?;
            grouping.rows = model.add_costs(grouping.rows);
        }
        let context = Context {
            tables,
            by: &self.by,
            keys: &keys,
            cost: options.cost,
            catalog: options.catalog.as_deref().unwrap_or_else(|| Catalog::built_in()),
            k: options.k,
            unjudged: options.unjudged,
            within: options.within,
        };
        let Extended { mut rows, rows_of_total, judged } = groups.rows.extend(grouping.rows, &context)?;
        if self.computed.iter().any(|measure| measure.needs_outcome) {
            rows = add_outcomes(rows, tables)?;
        }
        let selected = Selected { rows, rows_of_total, keys, left_out: grouping.left_out, judged };
        Ok(self.with_session_key(selected, tables)?)
    }

    /// Adds the value that identifies a session, if a measure counts sessions.
    fn with_session_key(&self, selected: Selected, tables: &Frames) -> PolarsResult<Selected> {
        let mut names = self.aggregations().into_iter().flat_map(|aggregation| names_in(&aggregation));
        if !names.any(|name| name == SESSION_KEY) {
            return Ok(selected);
        }
        let key = session_key(&tables.table(sessions::TABLE))?.alias(SESSION_KEY);
        let rows_of_total = selected.rows_of_total.map(|all| all.with_column(key.clone()));
        Ok(Selected { rows: selected.rows.with_column(key), rows_of_total, ..selected })
    }

    /// The measures that are aggregations of rows.
    fn aggregations(&self) -> Vec<Expr> {
        self.computed.iter().filter_map(|measure| measure.of_rows()).collect()
    }

    /// The groups and their total, before formulas of other measures.
    fn aggregate(&self, selected: &Selected) -> PolarsResult<(DataFrame, Option<DataFrame>)> {
        let mut quantiles = Quantiles::of(&self.computed);
        let (mut groups, mut total) = self.collect(selected, &quantiles)?;
        if quantiles.lack_values(&groups)? {
            drop((groups, total));
            quantiles = quantiles.with_all_bits();
            (groups, total) = self.collect(selected, &quantiles)?;
        }
        quantiles.replace_lists(&mut groups, total.as_mut())?;
        Ok((groups, total))
    }

    fn collect(&self, selected: &Selected, quantiles: &Quantiles) -> PolarsResult<(DataFrame, Option<DataFrame>)> {
        let (aggregations, lists) = (self.aggregations(), quantiles.lists());
        let groups = selected.rows.clone().group_by(&selected.keys);
        let groups = groups.agg([&aggregations[..], &lists].concat());
        let total = self.options.total.then(|| match selected.rows_of_total.clone() {
            Some(all) => all.select([&aggregations[..], &lists].concat()),
            // The quantiles are those of the groups' lists.
            None => selected.rows.clone().select(aggregations.clone()),
        });
        collect_together(groups, total)
    }

    /// Computes the formulas of other measures. A formula contains only measures before it.
    fn derive(&self, frame: DataFrame) -> LazyFrame {
        let formulas = self.computed.iter().filter_map(|measure| measure.of_groups());
        round(formulas.fold(frame.lazy(), LazyFrame::with_column))
    }

    /// The groups with all measures, sorted.
    fn arrange(&self, groups: DataFrame) -> PolarsResult<LazyFrame> {
        let mut groups = self.derive(groups);
        for over_groups in self.computed.iter().filter_map(|measure| measure.over_groups) {
            groups = over_groups(groups)?;
        }
        let shown = self.shown.iter().map(|measure| measure.name);
        let groups = groups.select(self.by.iter().copied().chain(shown).map(col).collect::<Vec<_>>());
        match self.top.zip(self.options.top) {
            Some((top, count)) if self.options.sort.is_none() => (top.first)(groups, &self.by, count),
            _ => Ok(sorted(groups, &self.by, self.shown.first().map(|measure| measure.name), self.options)),
        }
    }

    /// The total with all measures.
    fn total(&self, total: DataFrame) -> PolarsResult<DataFrame> {
        // The total is not a group among others, and not a row that could be an example.
        let of_groups = self.computed.iter().filter(|measure| measure.over_groups.is_some() || measure.is_example);
        let unknown = of_groups.map(|measure| when(lit(false)).then(col(measure.name)).otherwise(lit(NULL)));
        let total = self.derive(total).with_columns(unknown.collect::<Vec<_>>());
        total.select(self.shown.iter().map(|measure| col(measure.name)).collect::<Vec<_>>()).collect()
    }
}

/// Whether tables omit a measure.
fn is_wide(measure: &Measure, top: Option<Top>, has_price_as: bool) -> bool {
    let is_compared = measure.needs_price_as || [turns::COST_USD, turns::TOTAL_TOKENS].contains(&measure.name);
    match top {
        // With the costs of another model, the table has no space for all columns.
        _ if has_price_as => measure.is_wide || !is_compared,
        Some(top) => !top.columns.contains(&measure.name),
        None => measure.is_wide,
    }
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
fn names_in(expression: &Expr) -> impl Iterator<Item = PlSmallStr> + use<> {
    expression.clone().meta().root_names().into_iter()
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
            Err(Error::Sort { column: column.to_owned(), list: names(columns()) })
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

/// Sorts by time if time is a dimension, else by the first measure, descending.
fn sorted(groups: LazyFrame, by: &[&str], first: Option<&str>, options: &Options) -> LazyFrame {
    // Hours of the day and days of the week have a first one, and no latest.
    let is_period = |name: &str| Dimension::find(name).is_some_and(Dimension::is_time);
    let by_newest = || by.first().filter(|name| options.newest_first && is_period(name)).map(|name| (*name, true));
    let by_first = || first.filter(|_| !by.iter().any(|name| is_time(name))).map(|name| (name, true));
    let sort = options.order().or_else(by_newest).or_else(by_first);
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
    let keys: Vec<Expr> = columns.iter().map(|name| order_of(name, options.scope.week_start)).collect();
    groups.sort_by_exprs(keys, order)
}
