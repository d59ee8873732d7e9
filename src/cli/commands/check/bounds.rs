//! `check`: compares measures with bounds.

use std::collections::{BTreeMap, BTreeSet};

use agentlogs::analysis::budget::{Limit, MeasureBound, Side, compare};
use agentlogs::analysis::present::{Currency, counted, human};
use agentlogs::analysis::reports::{Error, Scope, Spending};
use agentlogs::store::frames::turns;
use polars::prelude::*;

use super::baseline;
use crate::cli::args::{Check, Filters};
use crate::cli::commands::output::{Layout, is_human, print, say};
use crate::cli::commands::resolve::{
    report_error, scope, state_left_out, state_lower_bound, state_period, state_unmatched_turns,
};
use crate::cli::commands::source::some_tables;
use crate::cli::commands::{Outcome, WrongCommandLine};
use crate::cli::settings::{Budget, Settings};

/// Bounds that apply to the same rows.
struct Bounds {
    /// The name of the budget, if it has one.
    name: Option<String>,
    bounds: Vec<MeasureBound>,
    filters: Filters,
}

impl Bounds {
    /// An error of these bounds. The times of a budget are not those of the command line.
    fn error(&self, error: Error) -> anyhow::Error {
        match (&self.name, error) {
            (Some(name), Error::EmptyPeriod { since, first, until, end }) => WrongCommandLine(format!(
                "the budget {name:?} has no time between since {since} ({first}) and until {until} ({end})"
            ))
            .into(),
            (_, error) => report_error(error),
        }
    }
}

/// A line of the output.
struct Line {
    budget: Option<String>,
    /// The measure as the user wrote it, and the column of its report.
    name: String,
    measure: &'static str,
    side: Side,
    limit: f64,
    value: Option<f64>,
    is_exceeded: bool,
}

pub fn run(args: Check, settings: &Settings) -> anyhow::Result<Outcome> {
    if let Some(text) = args.baseline.clone() {
        return baseline::run(args, &text, settings);
    }
    let max = args.max.into_iter().chain(args.max_cost.map(|cost| (turns::COST_USD.to_owned(), cost)));
    let named: Vec<(String, Limit, Side)> = max
        .map(|(name, value)| (name, value, Side::Max))
        .chain(args.min.into_iter().map(|(name, value)| (name, value, Side::Min)))
        .collect();
    let groups = if named.is_empty() {
        settings.budgets.iter().map(|chosen| of_budget(&chosen.value, &args.filters)).collect::<anyhow::Result<_>>()?
    } else {
        vec![Bounds { name: None, bounds: measure_bounds(named)?, filters: args.filters }]
    };
    if groups.is_empty() {
        let message = "nothing to compare: give --max, --min or --baseline, or write [[budgets]] in agentlogs.toml";
        return Err(WrongCommandLine(message.to_owned()).into());
    }
    let scopes: Vec<Scope> = groups.iter().map(|group| scope(group.filters.clone(), settings)).collect();
    let mut names: Vec<_> = groups.iter().flat_map(|group| &group.bounds).flat_map(MeasureBound::tables).collect();
    names.extend(["sessions", "turns"]);
    names.extend(scopes.iter().flat_map(Scope::tables));
    let opened = some_tables(args.source, settings, &names)?;
    let mut lines = Vec::new();
    let mut matches_nothing = false;
    for (group, scope) in groups.into_iter().zip(scopes) {
        let prefix = group.name.as_ref().map_or_else(String::new, |name| format!("{name}: "));
        let is_unmatched = state_unmatched_turns(&prefix, &opened, &scope);
        matches_nothing |= is_unmatched;
        let compared = compare(&opened.frames, &group.bounds, &scope, args.cost.into());
        let (compared, left_out) = compared.map_err(|error| group.error(error))?;
        if !is_unmatched && compared.iter().all(|it| it.value.is_none_or(|value| value == 0.0)) {
            state_period(&prefix, &opened, &scope);
        }
        if group.bounds.iter().any(MeasureBound::is_of_usage) {
            // Bounds and values are in US dollars.
            state_lower_bound(&prefix, &opened, &scope, args.cost.into(), Spending::Turns, Currency::default())?;
        }
        let name = group.name;
        lines.extend(group.bounds.iter().zip(compared).map(|(bound, compared)| Line {
            budget: name.clone(),
            name: bound.name().to_owned(),
            measure: bound.measure(),
            side: bound.side,
            limit: bound.limit,
            value: compared.value,
            is_exceeded: compared.is_exceeded,
        }));
        state_left_out(&prefix, &left_out, "row", "time", Currency::default());
    }
    print(&frame(&lines, is_human(args.printed))?, args.printed, Layout::default())?;
    let unknown: BTreeSet<&str> =
        lines.iter().filter(|line| line.value.is_none()).map(|line| line.name.as_str()).collect();
    if !unknown.is_empty() {
        let unknown = unknown.into_iter().collect::<Vec<_>>().join(", ");
        say(&format!("unknown: {unknown}; an unknown value exceeds every lower bound and no upper bound"));
    }
    let exceeded = lines.iter().filter(|line| line.is_exceeded).count();
    say(&format!("{exceeded} of {} exceeded", counted(lines.len(), "bound")));
    // A bound with a mistyped filter would never be exceeded.
    Ok(match (exceeded, matches_nothing && !args.allow_empty) {
        (1.., _) => Outcome::Exceeded,
        (0, true) => Outcome::NothingMatched,
        (0, false) => Outcome::Done,
    })
}

/// The bounds of a budget. Filters of the command line replace its own.
fn of_budget(budget: &Budget, filters: &Filters) -> anyhow::Result<Bounds> {
    let side = |bounds: &BTreeMap<String, Limit>, side| -> Vec<(String, Limit, Side)> {
        bounds.iter().map(|(name, value)| (name.clone(), *value, side)).collect()
    };
    let bounds = [side(&budget.max, Side::Max), side(&budget.min, Side::Min)].concat();
    let own = budget.clone();
    let named = filters.clone();
    let filters = Filters {
        since: named.start().or(own.since),
        last: None,
        // `--last` is a whole period: it has no other end.
        until: named.until.or(own.until.filter(|_| named.last.is_none())),
        runtime: named.runtime.or(own.runtime),
        model: named.model.or(own.model),
        project: named.project.or(own.project),
        repository: named.repository.or(own.repository),
        status: named.status.or(own.status),
        labels: if named.labels.is_empty() { own.labels } else { named.labels },
        ..named
    };
    Ok(Bounds { name: own.name, bounds: measure_bounds(bounds)?, filters })
}

fn measure_bounds(named: Vec<(String, Limit, Side)>) -> Result<Vec<MeasureBound>, WrongCommandLine> {
    let bounds = named.into_iter().map(|(name, value, side)| MeasureBound::new(&name, side, value));
    bounds.collect::<Result<_, _>>().map_err(|error| WrongCommandLine(error.to_string()))
}

/// The lines as rows. For people each number has the unit of its measure.
fn frame(lines: &[Line], is_human: bool) -> PolarsResult<DataFrame> {
    let numbers = |name: &str, of: fn(&Line) -> Option<f64>| -> Column {
        let text = |line: &Line| of(line).map(|number| human(line.measure, number, Currency::default()));
        if is_human {
            Column::new(name.into(), lines.iter().map(text).collect::<Vec<_>>())
        } else {
            Column::new(name.into(), lines.iter().map(of).collect::<Vec<_>>())
        }
    };
    let mut columns = vec![
        Column::new("measure".into(), lines.iter().map(|line| line.name.as_str()).collect::<Vec<_>>()),
        numbers("value", |line| line.value),
        Column::new("side".into(), lines.iter().map(|line| line.side.as_str()).collect::<Vec<_>>()),
        numbers("bound", |line| Some(line.limit)),
        Column::new("exceeded".into(), lines.iter().map(|line| line.is_exceeded).collect::<Vec<_>>()),
    ];
    if lines.iter().any(|line| line.budget.is_some()) {
        let names = lines.iter().map(|line| line.budget.as_deref()).collect::<Vec<_>>();
        columns.insert(0, Column::new("budget".into(), names));
    }
    DataFrame::new(lines.len(), columns)
}
