//! What keys need from tables: rows are read here only.

use std::rc::Rc;
use std::sync::Arc;

use super::browser::Browser;
use super::filters::Field;
use super::pane::{Choice, Kind, Pane};
use super::pending::Load;
use super::report::{MOST, Question, ReportPane};
use super::session::Session;
use crate::analysis::reports::{
    Frames, LowerBound, Options, Scope, label_keys, lower_bound, session_rows, tables_of_sessions,
};
use crate::analysis::show::{self, SessionKey, Timeline};
use crate::prices::Catalog;

/// Opens tables, which stay readable until the next call.
pub trait Open {
    /// Tables by their names.
    ///
    /// # Errors
    /// A message, when they cannot be read.
    fn tables(&mut self, names: &[&'static str]) -> Result<Frames, String>;

    /// The prices with which `report waste` computes.
    ///
    /// # Errors
    /// A message, when they cannot be read.
    fn catalog(&mut self) -> Result<Arc<Catalog>, String>;
}

impl Browser {
    /// Reads what the last key needs.
    ///
    /// # Errors
    /// A message, when it cannot be read. What was shown before stays.
    pub fn load(&mut self, open: &mut dyn Open) -> Result<(), String> {
        std::mem::take(&mut self.pending).into_iter().try_for_each(|load| self.read(load, open))
    }

    fn read(&mut self, load: Load, open: &mut dyn Open) -> Result<(), String> {
        match load {
            Load::Sessions => self.read_sessions(open, self.sessions.has_failures),
            Load::Failures => {
                self.read_sessions(open, true)?;
                self.choose_value(Field::Failure);
                Ok(())
            }
            Load::Timeline { key, replaces } => {
                let timeline = self.timeline(&key, open)?;
                let kind = Kind::Timeline { timeline: Rc::new(timeline), is_whole: self.is_whole() && replaces };
                self.put(kind, replaces);
                Ok(())
            }
            Load::Tree(key) => {
                let mut timeline = self.timeline(&key, open)?;
                let root = timeline.root();
                if root != key {
                    timeline = self.timeline(&root, open)?;
                }
                if timeline.has_tree(&self.look.style(self.width(), false)) {
                    self.put(Kind::Tree(Rc::new(timeline)), false);
                    return Ok(());
                }
                Err("the session has no tree: neither subagents nor sessions that it started".to_owned())
            }
            Load::Report { question, replaces } => {
                let pane = self.report(question, open)?;
                self.put(Kind::Report(Box::new(pane)), replaces);
                Ok(())
            }
        }
    }

    fn read_sessions(&mut self, open: &mut dyn Open, has_failures: bool) -> Result<(), String> {
        let options = Options { scope: self.scope.clone(), cost: self.cost, wide: true, ..Options::default() };
        let tables = tables_of_sessions(&Options { wide: has_failures, ..options.clone() });
        let frames = open.tables(&tables)?;
        let answer = session_rows(&frames, &options, has_failures).map_err(|error| error.to_string())?;
        let all = Session::all(&answer.rows).map_err(|error| error.to_string())?;
        self.sessions.labels = label_keys(&frames).map_err(|error| error.to_string())?;
        let height = self.height_of_list();
        self.sessions.has_failures = has_failures;
        self.sessions.replace(all, &self.look.now, height);
        Ok(())
    }

    fn timeline(&self, key: &SessionKey, open: &mut dyn Open) -> Result<Timeline, String> {
        let frames = open.tables(show::TABLES)?;
        Timeline::read(&frames, key, self.cost).map_err(|error| error.to_string())
    }

    fn report(&self, question: Question, open: &mut dyn Open) -> Result<ReportPane, String> {
        let report = question.report;
        let catalog = report.has_waste().then(|| open.catalog()).transpose()?;
        let options = Options {
            by: question.by.iter().cloned().collect(),
            scope: self.scope_of_reports(),
            cost: self.cost,
            sort: question.sort.clone(),
            limit: Some(MOST),
            newest_first: true,
            total: true,
            catalog,
            ..Options::default()
        };
        let frames = open.tables(&report.tables_for(&options))?;
        let answer = report.run(&frames, &options).map_err(|error| error.to_string())?;
        let bound = if report.has_cost() || report.has_tokens() {
            lower_bound(&frames, &options.scope, options.cost, report.spending()).map_err(|error| error.to_string())?
        } else {
            LowerBound::default()
        };
        ReportPane::new(question, answer, &bound, &self.look).map_err(|error| error.to_string())
    }

    /// The rows of reports: those of the filtered sessions, apart from the text of the filter.
    fn scope_of_reports(&self) -> Scope {
        self.sessions.filters.scope(&self.scope)
    }

    /// Shows a pane. The cursor of one that is replaced stays in its row.
    fn put(&mut self, kind: Kind, replaces: bool) {
        let mut pane = Pane::new(kind, &self.look, self.width());
        let replaced = if replaces { self.panes.pop() } else { None };
        let height = self.height_of(&pane);
        pane.changes = self.changes;
        if let Some(replaced) = replaced {
            pane.select_as_in(&replaced, height);
            pane.search = replaced.search;
        }
        self.panes.push(pane);
    }

    /// Offers the values of a field.
    pub(super) fn choose_value(&mut self, field: Field) {
        let values = self.sessions.values(field, &self.look.now);
        if values.is_empty() {
            self.say(&format!("no session has a {}", field.dimension().replace('_', " ")));
            return;
        }
        let all = std::iter::once(("all".to_owned(), None));
        let values = values.into_iter().map(|(value, count)| (value, Some(count)));
        self.choose(Choice::Field(field), all.chain(values).collect());
    }
}
