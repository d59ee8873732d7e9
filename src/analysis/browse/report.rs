//! A report as rows.

use polars::prelude::*;

use super::filters::Field;
use super::style::Look;
use crate::analysis::outcomes::Judged;
use crate::analysis::present::{
    Format, Numbers, ReportStyle, Roles, Screen, TableStyle, counted, grouped, in_local_time, render, visible,
};
use crate::analysis::reports::{Answer, LowerBound, Report, for_people};
use crate::analysis::show::{Paint, TextLine};
use crate::base::width::packed;
use crate::store::frames::sessions;

/// The most rows of a report: more are of no use without a filter.
pub(super) const MOST: u32 = 2000;

/// The width of a terminal from which on the notes of a report are above its rows. They would fill a narrower one.
const MIN_WIDTH_OF_NOTES: usize = 60;

/// What a report is asked for.
#[derive(Debug, Clone)]
pub(super) struct Question {
    pub report: &'static Report,
    /// The dimension, unless it is the default of the report.
    pub by: Option<String>,
    /// The column to sort by, as `--sort` names it.
    pub sort: Option<String>,
}

/// A report with its rows.
#[derive(Debug, Clone)]
pub(super) struct ReportPane {
    pub question: Question,
    rows: DataFrame,
    dimensions: usize,
    has_total: bool,
    more: usize,
    /// The values of the first column of the rows.
    values: Vec<Option<String>>,
    /// What the rows do not contain.
    notes: Vec<String>,
}

impl ReportPane {
    /// The rows of an answer.
    ///
    /// # Errors
    /// When they cannot be converted, which would be a bug.
    pub fn new(question: Question, answer: Answer, bound: &LowerBound, look: &Look) -> PolarsResult<Self> {
        let total = answer.total.filter(|_| answer.rows.height() + answer.more > 1);
        let first = answer.rows.columns().first().map(|column| column.cast(&DataType::String)).transpose()?;
        let values = match &first {
            Some(first) => first.str()?.iter().map(|value| value.map(str::to_owned)).collect(),
            None => Vec::new(),
        };
        let numbers = Numbers { is_for_people: true, is_human: true, currency: look.currency };
        let rows = for_people(&answer.rows, answer.dimensions, total.as_ref(), numbers)?;
        let rows = in_local_time(&rows, look.now.time_zone())?;
        let (dimensions, more) = (answer.dimensions, answer.more);
        let judged = answer.judged.and_then(Judged::stated);
        let notes = [answer.left_out.stated("row", "time", look.currency), judged, bound.sentence(look.currency)];
        let notes = notes.into_iter().flatten().collect();
        Ok(Self { question, rows, dimensions, has_total: total.is_some(), more, values, notes })
    }

    /// The dimensions by which it can be grouped, with the labels of these names.
    pub fn dimensions(&self, labels: &[String]) -> Vec<String> {
        let names: Vec<&str> = self.question.report.dimensions().map(|dimension| dimension.name).collect();
        // Labels are those of the session, as the project is.
        let has_labels = names.contains(&sessions::PROJECT);
        let labels = labels.iter().filter(|_| has_labels).map(|key| format!("label:{key}"));
        names.into_iter().map(str::to_owned).chain(labels).collect()
    }

    /// The columns by which it can be sorted.
    pub fn columns(&self) -> Vec<String> {
        self.rows.get_column_names().into_iter().map(ToString::to_string).collect()
    }

    /// Whether its rows are grouped by a dimension, which can be another one.
    pub fn has_dimensions(&self) -> bool {
        self.question.report.dimensions().next().is_some()
    }

    /// Whether a row leads to sessions: to those with its value, or to its session.
    pub fn leads_to_sessions(&self) -> bool {
        (0..self.values.len()).any(|row| self.filter(row).is_some() || self.session(row).is_some())
    }

    /// The filter that a row means: its field and value.
    pub fn filter(&self, row: usize) -> Option<(Field, String)> {
        let first = self.first_column().filter(|_| self.dimensions > 0)?;
        let field = Field::ALL.into_iter().find(|field| field.dimension() == first)?;
        Some((field, self.values.get(row)?.clone()?))
    }

    /// The id of the session of a row.
    pub fn session(&self, row: usize) -> Option<&str> {
        let is_session = self.first_column().is_some_and(|name| name == "session" || name == sessions::SESSION_ID);
        self.values.get(row).filter(|_| is_session)?.as_deref()
    }

    /// The row with the name that a row of the report had before.
    pub fn row_like(&self, before: &Self, row: usize) -> Option<usize> {
        let name = before.values.get(row)?.as_ref()?;
        if self.first_column() != before.first_column() || self.values.get(row)?.as_ref() == Some(name) {
            return None;
        }
        self.values.iter().position(|value| value.as_ref() == Some(name))
    }

    fn first_column(&self) -> Option<String> {
        self.rows.get_column_names().first().map(ToString::to_string)
    }

    pub fn title(&self) -> String {
        let by = self.question.by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default();
        let more = if self.more > 0 { format!(", {} more", grouped(self.more)) } else { String::new() };
        let rows = self.rows.height() - usize::from(self.has_total);
        format!("report {}{by}  {}{more}", self.question.report.name, counted(rows, "row"))
    }

    /// Its lines: what it does not contain with the names of the columns, and the rows.
    pub fn lines(&self, look: &Look, width: usize) -> (Vec<TextLine>, Vec<TextLine>) {
        let notes = self.notes.iter().flat_map(|note| packed(note.split(' '), width));
        let notes: Vec<TextLine> = notes.map(|line| TextLine::of(Paint::Dim, line)).collect();
        let (above, below) = if width < MIN_WIDTH_OF_NOTES { (Vec::new(), notes) } else { (notes, Vec::new()) };
        if self.rows.height() == 0 {
            return (above, [vec![TextLine::of(Paint::Dim, "no rows".to_owned())], below].concat());
        }
        let report = ReportStyle { dimensions: self.dimensions, has_total: self.has_total, currency: look.currency };
        let sort = self.question.sort.as_deref().map(|sort| sort.trim_start_matches(['+', '-']));
        let first = self.columns().into_iter().nth(self.dimensions);
        let main = sort.or(first.as_deref()).filter(|_| self.dimensions > 0);
        let own = self.question.report.roles(self.dimensions);
        let style = TableStyle {
            // Each row is a line: blocks of lines are for high terminals.
            screen: Some(Screen {
                width: u16::try_from(width).unwrap_or(u16::MAX),
                height: 5,
                is_ascii: look.is_ascii,
            }),
            color: false,
            is_human: true,
            is_whole: false,
            roles: Roles { names: own.names.or(Some(1)), main, sentences: &[], ..own },
            report: Some(report),
        };
        let mut out = Vec::new();
        let hidden = match render(&self.rows, Format::Table, style, &mut out) {
            Ok(hidden) => hidden,
            Err(error) => {
                return (Vec::new(), vec![TextLine::of(Paint::Red, visible(&error.to_string()).into_owned())]);
            }
        };
        let text = String::from_utf8_lossy(&out);
        let lines: Vec<&str> = text.lines().collect();
        let (head, rows) = lines.split_at(lines.len().saturating_sub(self.rows.height()));
        let mut head: Vec<TextLine> = head.iter().map(|line| TextLine::of(Paint::Bold, (*line).to_owned())).collect();
        if !hidden.is_empty() {
            let text = format!("hidden: {}", hidden.join(", "));
            head.insert(0, TextLine::of(Paint::Dim, text));
        }
        head.splice(0..0, above);
        let plain = |line: &&str| TextLine { spans: vec![(None, (*line).to_owned())], ..TextLine::default() };
        (head, rows.iter().map(plain).chain(below).collect())
    }
}
