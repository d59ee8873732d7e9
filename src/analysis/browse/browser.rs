//! The state, and what keys do.

use super::filters::{Field, Filters};
use super::key::Key;
use super::pane::{Choice, Kind, Pane};
use super::pending::Load;
use super::report::Question;
use super::sessions::{Sessions, Sort};
use super::style::Look;
use crate::analysis::present::visible;
use crate::analysis::reports::{CostBasis, REPORTS, Scope};
use crate::analysis::show::Target;
use crate::base::text::one_line;

/// A line of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The log.
    pub path: String,
    /// The number of the line, from 1.
    pub line: i64,
}

/// What the program has to do after a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Draw.
    Draw,
    /// Draw, then call [`Browser::load`], and draw again.
    Load,
    /// Open an editor.
    Edit(Place),
    /// End.
    Quit,
}

/// A line of text that is being written.
#[derive(Debug, Clone)]
pub(super) struct Prompt {
    pub text: String,
    /// The text of the filter or search before.
    before: String,
}

/// Everything that is shown: the list of sessions, and what is above it.
#[derive(Debug, Clone)]
pub struct Browser {
    pub(super) look: Look,
    pub(super) scope: Scope,
    pub(super) cost: CostBasis,
    /// Columns and lines.
    size: (usize, usize),
    pub(super) sessions: Sessions,
    /// The last one is visible.
    pub(super) panes: Vec<Pane>,
    pub(super) prompt: Option<Prompt>,
    pub(super) message: Option<String>,
    pub(super) pending: Vec<Load>,
    /// How often rows have changed: panes that were read before a change are read again when they are shown.
    pub(super) changes: usize,
}

impl Browser {
    /// The list of the sessions in scope, which [`Self::load`] reads.
    pub fn new(scope: Scope, cost: CostBasis, look: Look, size: (u16, u16)) -> Self {
        Self {
            look,
            scope,
            cost,
            size: (size.0.into(), size.1.into()),
            sessions: Sessions::default(),
            panes: Vec::new(),
            prompt: None,
            message: None,
            pending: vec![Load::Sessions],
            changes: 0,
        }
    }

    /// The terminal has another size.
    pub fn resize(&mut self, size: (u16, u16)) {
        let size = (size.0.into(), size.1.into());
        if size == self.size {
            return;
        }
        self.size = size;
        let (width, now) = (self.width(), self.look.now.clone());
        for index in 0..self.panes.len() {
            let Some(pane) = self.panes.get_mut(index) else { continue };
            pane.fit(&self.look, width);
            let height = height_of(size, pane);
            let selected = pane.cursor.selected;
            pane.select(selected, height);
        }
        let height = self.height_of_list();
        self.sessions.update(&now, height);
    }

    /// Shows a message until the next key.
    pub fn say(&mut self, message: &str) {
        self.message = Some(visible(&one_line(message)).into_owned());
    }

    /// Whether something is read before the next key.
    pub(super) fn is_loading(&self) -> bool {
        !self.pending.is_empty()
    }

    pub(super) fn width(&self) -> usize {
        self.size.0
    }

    /// The number of rows of the list: without its title, the names of its columns and the last line.
    pub(super) fn height_of_list(&self) -> usize {
        self.size.1.saturating_sub(3)
    }

    pub(super) fn height_of(&self, pane: &Pane) -> usize {
        height_of(self.size, pane)
    }

    /// What a key does.
    pub fn key(&mut self, key: Key) -> Step {
        self.message = None;
        if key == Key::Control('c') {
            return Step::Quit;
        }
        if self.prompt.is_some() {
            self.key_of_prompt(key);
            return Step::Draw;
        }
        if let Some(motion) = key.motion() {
            let height = self.panes.last().map_or_else(|| self.height_of_list(), |pane| self.height_of(pane));
            match self.panes.last_mut() {
                Some(pane) => pane.go(motion, height),
                None => self.sessions.go(motion, height),
            }
            return Step::Draw;
        }
        match key {
            Key::Char('?') if !matches!(self.top(), Some(Kind::Keys)) => self.show(Kind::Keys),
            Key::Char('/') => self.begin_prompt(),
            Key::Char('r') => return self.reload(),
            Key::Char('e') => return self.edit(),
            Key::Tab => {
                let are_reports = matches!(self.panes.first().map(|pane| &pane.kind), Some(Kind::Reports));
                self.panes.clear();
                if !are_reports {
                    self.show(Kind::Reports);
                }
            }
            _ if self.panes.is_empty() => return self.key_of_list(key),
            _ => return self.key_of_pane(key),
        }
        Step::Draw
    }

    fn top(&self) -> Option<&Kind> {
        self.panes.last().map(|pane| &pane.kind)
    }

    pub(super) fn is_whole(&self) -> bool {
        matches!(self.top(), Some(Kind::Timeline { is_whole: true, .. }))
    }

    /// Shows a pane above the others.
    fn show(&mut self, kind: Kind) {
        let pane = Pane { changes: self.changes, ..Pane::new(kind, &self.look, self.width()) };
        self.panes.push(pane);
    }

    pub(super) fn choose(&mut self, choice: Choice, values: Vec<(String, Option<usize>)>) {
        self.show(Kind::Choice(choice, values));
    }

    fn loads(&mut self, load: Load) -> Step {
        self.pending = vec![load];
        Step::Load
    }

    fn key_of_list(&mut self, key: Key) -> Step {
        let key_of_session = self.sessions.selected().map(|session| session.key.clone());
        match key {
            Key::Char('q') => return Step::Quit,
            Key::Escape => self.change_filters(Filters::pop),
            Key::Char('x') => self.change_filters(|filters| *filters = Filters::default()),
            Key::Enter | Key::Right => {
                if let Some(key) = key_of_session {
                    return self.loads(Load::Timeline { key, replaces: false });
                }
            }
            Key::Char('t') => {
                if let Some(key) = key_of_session {
                    return self.loads(Load::Tree(key));
                }
            }
            Key::Char('m') => self.choose_value(Field::Model),
            Key::Char('p') => self.choose_value(Field::Project),
            Key::Char('v') => self.choose_value(Field::Verdict),
            Key::Char('f') if self.sessions.has_failures => self.choose_value(Field::Failure),
            Key::Char('f') => return self.loads(Load::Failures),
            Key::Char('d') => self.choose(Choice::Period, Choice::periods()),
            Key::Char('s') => self.choose(Choice::Sort, Choice::sorts()),
            Key::Char('S') => self.sort_sessions(self.sessions.sort, !self.sessions.descends),
            _ => {}
        }
        Step::Draw
    }

    fn key_of_pane(&mut self, key: Key) -> Step {
        let Some(pane) = self.panes.last_mut() else { return Step::Draw };
        let height = height_of(self.size, pane);
        match (key, &mut pane.kind) {
            (Key::Escape | Key::Left | Key::Char('q'), _) => {
                self.panes.pop();
                return self.read_again();
            }
            (Key::Char(char @ ('n' | 'N')), _) => self.find_text(char == 'n'),
            (Key::Char(char @ (']' | '[')), Kind::Timeline { .. }) => {
                let is_found = pane.find(char == ']', height, |line| line.has_failed);
                if !is_found {
                    self.say("no failures");
                }
            }
            (Key::Char('a'), Kind::Timeline { is_whole, .. }) => {
                *is_whole = !*is_whole;
                let entry = pane.entry();
                pane.fit(&self.look, self.size.0);
                let row = entry.and_then(|entry| pane.row_of_entry(entry));
                pane.select(row.unwrap_or(0), height);
            }
            (Key::Char('t'), Kind::Timeline { timeline, .. }) => {
                let key = timeline.key().clone();
                return self.loads(Load::Tree(key));
            }
            (Key::Char('b'), Kind::Report(report)) => {
                let values =
                    report.dimensions(&self.sessions.labels).into_iter().map(|name| (name, None)).collect::<Vec<_>>();
                if values.is_empty() {
                    self.say("this report has no dimensions");
                } else {
                    self.choose(Choice::By, values);
                }
            }
            (Key::Char('s'), Kind::Report(report)) => {
                let values = report.columns().into_iter().map(|name| (name, None)).collect();
                self.choose(Choice::Column, values);
            }
            (Key::Char('S'), Kind::Report(report)) => {
                let mut question = report.question.clone();
                question.sort = question.sort.map(|sort| match sort.strip_prefix('-') {
                    Some(column) => format!("+{column}"),
                    None => format!("-{}", sort.trim_start_matches('+')),
                });
                return self.loads(Load::Report { question, replaces: true });
            }
            (Key::Enter | Key::Right, _) => return self.open(),
            _ => {}
        }
        Step::Draw
    }

    /// Opens the selected row of a pane.
    fn open(&mut self) -> Step {
        let Some(pane) = self.panes.last() else { return Step::Draw };
        let row = pane.cursor.selected;
        match &pane.kind {
            Kind::Timeline { timeline, .. } | Kind::Tree(timeline) => {
                match pane.selected().and_then(|line| line.target.clone()) {
                    Some(Target::Entry(entry)) => self.show(Kind::Details { timeline: timeline.clone(), entry }),
                    Some(Target::Session(key)) if key != *timeline.key() || matches!(pane.kind, Kind::Tree(_)) => {
                        return self.loads(Load::Timeline { key, replaces: false });
                    }
                    _ => {}
                }
            }
            Kind::Choice(choice, values) => {
                let Some((value, _)) = values.get(row).cloned() else { return Step::Draw };
                let choice = *choice;
                self.panes.pop();
                return self.chosen(choice, row, value);
            }
            Kind::Reports => {
                if let Some(report) = REPORTS.get(row) {
                    let question = Question { report, by: None, sort: None };
                    return self.loads(Load::Report { question, replaces: false });
                }
            }
            Kind::Report(report) => {
                if let Some(session) = report.session(row).and_then(|id| self.sessions.find(id)) {
                    let key = session.key.clone();
                    return self.loads(Load::Timeline { key, replaces: false });
                }
                if let Some((field, value)) = report.filter(row) {
                    self.panes.clear();
                    self.change_filters(|filters| filters.set(field, Some(value)));
                    if field == Field::Failure && !self.sessions.has_failures {
                        self.sessions.has_failures = true;
                        return self.loads(Load::Sessions);
                    }
                } else {
                    let is_unknown = report.leads_to_sessions();
                    self.say(if is_unknown {
                        "this row has no value by which sessions can be filtered"
                    } else {
                        "Enter filters by runtime, model, project, status, verdict, task or failure"
                    });
                }
            }
            Kind::Details { .. } | Kind::Keys => {}
        }
        Step::Draw
    }

    /// Applies a choice.
    fn chosen(&mut self, choice: Choice, row: usize, value: String) -> Step {
        match choice {
            Choice::Field(field) => self.change_filters(|filters| filters.set(field, (row > 0).then_some(value))),
            Choice::Period => self.change_filters(|filters| filters.period = row.checked_sub(1)),
            Choice::Sort => {
                if let Some(sort) = Sort::ALL.get(row).copied() {
                    let is_same = sort == self.sessions.sort;
                    self.sort_sessions(sort, if is_same { !self.sessions.descends } else { sort.descends() });
                }
            }
            Choice::By | Choice::Column => {
                let Some(Kind::Report(report)) = self.top() else { return Step::Draw };
                let mut question = report.question.clone();
                if choice == Choice::By {
                    question.by = Some(value);
                    question.sort = None;
                } else {
                    question.sort = Some(value);
                }
                return self.loads(Load::Report { question, replaces: true });
            }
        }
        Step::Draw
    }

    fn sort_sessions(&mut self, sort: Sort, descends: bool) {
        (self.sessions.sort, self.sessions.descends) = (sort, descends);
        let height = self.height_of_list();
        self.sessions.update(&self.look.now, height);
    }

    fn change_filters(&mut self, change: impl FnOnce(&mut Filters)) {
        let selected = self.sessions.selected().map(|session| session.key.clone());
        change(&mut self.sessions.filters);
        let height = self.height_of_list();
        self.sessions.filter(&self.look.now, height, selected.as_ref());
    }

    /// Rows have changed: what is shown is read again by [`Self::load`]. The selection and a text that is being written stay.
    pub fn follow(&mut self) {
        self.changes += 1;
        self.pending = std::iter::once(Load::Sessions).chain(self.load_of_top()).collect();
    }

    /// Reads again what is shown.
    fn reload(&mut self) -> Step {
        self.follow();
        Step::Load
    }

    /// Reads the pane at the top again, if rows have changed since it was read.
    fn read_again(&mut self) -> Step {
        let is_old = self.panes.last().is_some_and(|pane| pane.changes < self.changes);
        match self.load_of_top().filter(|_| is_old) {
            Some(load) => self.loads(load),
            None => Step::Draw,
        }
    }

    /// What reads the pane at the top again.
    fn load_of_top(&self) -> Option<Load> {
        match self.top()? {
            Kind::Timeline { timeline, .. } => Some(Load::Timeline { key: timeline.key().clone(), replaces: true }),
            Kind::Report(report) => Some(Load::Report { question: report.question.clone(), replaces: true }),
            _ => None,
        }
    }

    /// The line of the log that the selected row is from.
    fn edit(&mut self) -> Step {
        let pane = self.panes.last();
        let place = match pane.map(|pane| &pane.kind) {
            None => self.sessions.selected().and_then(|session| Some((session.source_path.clone()?, None))),
            Some(Kind::Timeline { timeline, .. } | Kind::Details { timeline, .. } | Kind::Tree(timeline)) => {
                let place = timeline.place(pane.and_then(Pane::entry));
                place.map(|(path, line)| (path.to_owned(), line))
            }
            Some(_) => None,
        };
        let Some((path, line)) = place else {
            self.say("this row is not a line of a log");
            return Step::Draw;
        };
        Step::Edit(Place { path, line: line.unwrap_or(1) })
    }

    fn find_text(&mut self, is_forward: bool) {
        let size = self.size;
        let Some(pane) = self.panes.last_mut() else { return };
        let height = height_of(size, pane);
        if !pane.find_text(is_forward, height) {
            let message = format!("not found: {}", pane.search);
            self.say(&message);
        }
    }

    fn begin_prompt(&mut self) {
        let before = match self.panes.last() {
            Some(pane) => pane.search.clone(),
            None => self.sessions.filters.text.clone(),
        };
        // A filter is changed, a search is written anew.
        let text = if self.panes.is_empty() { before.clone() } else { String::new() };
        self.prompt = Some(Prompt { text, before });
    }

    /// The list is filtered at each key, a pane is searched at the end.
    fn key_of_prompt(&mut self, key: Key) {
        let Some(prompt) = self.prompt.as_mut() else { return };
        match key {
            Key::Char(char) => prompt.text.push(char),
            Key::Backspace if prompt.text.pop().is_some() => {}
            Key::Control('u') => prompt.text.clear(),
            Key::Enter | Key::Escape | Key::Backspace => {
                let text = if key == Key::Enter { prompt.text.clone() } else { prompt.before.clone() };
                self.prompt = None;
                match self.panes.last_mut() {
                    None => self.change_filters(|filters| filters.text = text.to_lowercase()),
                    Some(_) if key != Key::Enter || text.is_empty() => {}
                    Some(pane) => {
                        pane.search = text.to_lowercase();
                        self.find_text(true);
                    }
                }
                return;
            }
            _ => return,
        }
        if self.panes.is_empty() {
            let text = prompt.text.to_lowercase();
            self.change_filters(|filters| filters.text = text);
        }
    }
}

/// The number of rows of a pane: without its title, its head and the last line.
fn height_of((_, height): (usize, usize), pane: &Pane) -> usize {
    height.saturating_sub(2 + pane.head.len())
}
