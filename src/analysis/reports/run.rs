//! What can be asked of a report.

use super::answer::Answer;
use super::dimensions::{not_of_report, with_reports};
use super::groups;
use super::list::REPORTS;
use super::lower_bound::Spending;
use super::options::Options;
use super::spec::{Body, Groups, List, Report};
use super::tree;
use crate::analysis::present::{Currency, Roles};
use crate::analysis::rows::measure::Measure;
use crate::analysis::rows::{Frames, Unjudged, Within};
use crate::analysis::selection::{DIMENSIONS, Dimension, Error, LeftOut, names, tables_of_dimension};
use crate::store::frames::{commits, sessions, turns, verdicts};

/// The report of that name.
///
/// # Errors
/// When no report has that name.
pub fn find(name: &str) -> Result<&'static Report, Error> {
    let list = || names(REPORTS.iter().map(|report| report.name));
    let report = REPORTS.iter().find(|report| report.is_named(name));
    report.ok_or_else(|| Error::Report { name: name.to_owned(), list: list() })
}

impl Report {
    /// Whether it has this name, in American or in British spelling.
    pub fn is_named(&self, name: &str) -> bool {
        self.name == name || (self.name == "behavior" && name == "behaviour")
    }

    /// Its columns after the dimensions.
    pub fn measures(&self) -> &'static [Measure] {
        match &self.body {
            Body::Groups(groups) => groups.measures,
            Body::List(_) => &[],
        }
    }

    /// The columns that have a value over all rows, which budgets can bound.
    pub fn bounded(&self) -> &'static [Measure] {
        match &self.body {
            Body::Groups(groups) => groups.measures,
            Body::List(list) => list.bounded(),
        }
    }

    /// The values over all rows of what budgets can bound, as the total of the answer.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub fn totals(&self, tables: &Frames, options: &Options) -> Result<Answer, Error> {
        match &self.body {
            Body::Groups(_) => self.run(tables, options),
            Body::List(list) => list.totals(tables, options),
        }
    }

    /// The tables that it reads.
    pub fn tables(&self) -> Vec<&'static str> {
        match &self.body {
            Body::Groups(Groups { rows, measures, .. }) => {
                let mut tables = rows.tables();
                if measures.iter().any(|measure| measure.needs_outcome) {
                    tables.push(verdicts::TABLE);
                }
                tables
            }
            Body::List(list) => list.tables(),
        }
    }

    /// The same, with the tables that the dimensions and filters of the options need; one may be named twice.
    pub fn tables_for(&self, options: &Options) -> Vec<&'static str> {
        let mut tables = self.tables();
        tables.extend(options.by.iter().flat_map(|name| tables_of_dimension(name)));
        tables.extend(options.scope.tables());
        tables
    }

    /// Its dimensions, apart from labels.
    pub fn dimensions(&self) -> impl Iterator<Item = &'static Dimension> {
        DIMENSIONS.iter().filter(|dimension| self.has(dimension))
    }

    /// Whether its rows have this dimension, and none of its measures has the same name.
    pub fn has(&self, dimension: &Dimension) -> bool {
        match &self.body {
            Body::Groups(Groups { rows, measures, .. }) => {
                dimension.is_of(|column| rows.has(column)) && measures.iter().all(|it| it.name != dimension.name)
            }
            Body::List(list) => list.has(sessions::SESSION_ID) && dimension.is_of(|column| list.has(column)),
        }
    }

    /// What the columns of an answer with so many dimensions are for.
    pub fn roles(&self, dimensions: usize) -> Roles<'static> {
        match &self.body {
            Body::Groups(_) => Roles { names: (dimensions > 0).then_some(dimensions), ..Roles::default() },
            Body::List(list) => {
                let own = list.roles();
                Roles { names: own.names.map(|names| dimensions + names), ..own }
            }
        }
    }

    /// Whether it contains costs.
    pub fn has_cost(&self) -> bool {
        match &self.body {
            Body::Groups(groups) => groups.measures.iter().any(|measure| measure.name.ends_with(turns::COST_USD)),
            Body::List(list) => list.has_cost(),
        }
    }

    /// Whether it contains numbers of tokens.
    pub fn has_tokens(&self) -> bool {
        let is_always_of_tokens =
            |it: &Measure| it.is_always_computed() && it.name.split('_').any(|word| word == "tokens");
        self.measures().iter().any(is_always_of_tokens)
    }

    /// Whether its rows are responses, so that it has those of subagents where no session passes a filter.
    pub fn has_rows_of_turns(&self) -> bool {
        matches!(&self.body, Body::Groups(groups) if groups.rows.has(turns::GRAIN))
    }

    /// Whether a filter by model is of the main model of sessions: its rows are sessions, or have no model of their own.
    pub fn has_main_models(&self) -> bool {
        match &self.body {
            Body::Groups(Groups { rows, .. }) => rows.has(sessions::STARTED_AT) || !rows.has(turns::CANONICAL_MODEL),
            Body::List(list) => list.has(sessions::STARTED_AT),
        }
    }

    /// Which rows have its costs and tokens.
    pub fn spending(&self) -> Spending {
        if self.has_rows_of_turns() { Spending::Turns } else { Spending::Sessions }
    }

    /// Whether it accepts `--top`, as its rows are the waste of sessions.
    pub fn has_waste(&self) -> bool {
        matches!(&self.body, Body::Groups(Groups { top: Some(_), .. }))
    }

    /// Its own computation of rows; `None` if its rows are groups.
    fn list(&self) -> Option<&dyn List> {
        match &self.body {
            Body::Groups(_) => None,
            Body::List(list) => Some(*list),
        }
    }

    /// Whether some of its rows are active, and others past: it accepts `--active`.
    pub fn has_active(&self) -> bool {
        self.list().is_some_and(List::has_active)
    }

    /// Whether it needs the history of repositories.
    pub fn needs_history(&self) -> bool {
        self.tables().contains(&commits::TABLE)
    }

    /// Whether it can include rows without a time.
    pub fn takes_undated(&self) -> bool {
        self.list().is_none_or(List::takes_undated)
    }

    /// A sentence about the rows without a time that it leaves out.
    pub fn stated(&self, left_out: &LeftOut, currency: Currency) -> Option<String> {
        match self.list().filter(|list| !list.takes_undated()) {
            Some(list) => list.stated(left_out, currency),
            None => left_out.stated("row", "time", currency),
        }
    }

    /// What it needs for a row, where that is more than a session.
    pub fn needs(&self, options: &Options) -> Option<String> {
        self.list()?.needs(options)
    }

    /// The rows of the report.
    ///
    /// # Errors
    /// When an option names something that does not exist, or the tables cannot be read.
    pub fn run(&self, tables: &Frames, options: &Options) -> Result<Answer, Error> {
        self.check(options)?;
        let answer = match &self.body {
            _ if options.tree => tree::run(tables, options),
            Body::Groups(groups) => groups::run(self.name, groups, tables, options),
            Body::List(list) => list.run(tables, options),
        };
        answer.map_err(with_reports)
    }

    /// Checks that the report has the options that only some reports have.
    fn check(&self, options: &Options) -> Result<(), Error> {
        let own_options = match &self.body {
            Body::Groups(groups) => groups.rows.options(),
            Body::List(_) => &[],
        };
        if options.active && !self.has_active() {
            return Err(Error::NotActive(self.name));
        }
        let given = [
            ("--k", "outcomes", options.k.is_some()),
            ("--unjudged", "outcomes", options.unjudged != Unjudged::default()),
            ("--within", "shipped", options.within != Within::default()),
        ];
        let mut refused = given.into_iter().filter(|(option, _, is_given)| *is_given && !own_options.contains(option));
        if let Some((option, other, _)) = refused.next() {
            return Err(Error::NotOfOther(self.name, option, other));
        }
        if options.top.is_some() && !self.has_waste() {
            return Err(Error::NotOfWaste(self.name));
        }
        if options.tree && self.name != sessions::TABLE {
            return Err(Error::NotOfSessions(self.name));
        }
        if options.tree && !options.by.is_empty() {
            return Err(Error::GroupedTree);
        }
        if options.price_as.is_some() && !self.measures().iter().any(|measure| measure.needs_price_as) {
            return Err(Error::NotOfCost(self.name));
        }
        let is_measure = |name: &&String| self.measures().iter().any(|measure| measure.name == name.as_str());
        match options.by.iter().find(is_measure) {
            Some(dimension) => Err(not_of_report(self.name, dimension)),
            None => Ok(()),
        }
    }
}
