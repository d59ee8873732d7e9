//! The lines of bills.

use super::amounts::Amounts;
use super::key::{By, Key};
use super::question::Question;
use crate::analysis::selection::Error;
use crate::base::split::base_name;
use crate::base::text::text_matches;
use crate::base::time::{Day, Time};
use crate::ingest::bill_files::BillLine;

/// The lines that are compared.
#[derive(Debug)]
pub(super) struct Billed {
    pub lines: Vec<BillLine>,
    /// The first and the last day.
    pub period: (Day, Day),
    /// Lines outside of the bounds of time, or only partly in them.
    pub outside: usize,
    /// By what both sides are grouped.
    pub by: Vec<By>,
}

impl Billed {
    /// The lines in the scope of the question; `None` if there are none.
    ///
    /// # Errors
    /// When lines of more than a day are to be grouped by day, or the bounds of time are not a period.
    pub fn of(lines: Vec<BillLine>, question: &Question<'_>) -> Result<Option<Self>, Error> {
        let is_named = |name: &Option<String>, pattern: Option<&str>| {
            pattern.is_none_or(|pattern| name.as_deref().is_some_and(|name| text_matches(name, pattern)))
        };
        let models = question.scope.only.iter().filter(|(name, _)| name == "model").map(|(_, pattern)| pattern);
        let models: Vec<&String> = models.collect();
        let (since, until) = bounds(question)?;
        let (mut kept, mut outside) = (Vec::new(), 0);
        for line in lines {
            let logged = line.model.clone();
            let line = canonical(line, question);
            let has_model = models
                .iter()
                .all(|pattern| [&line.model, &logged].into_iter().flatten().any(|model| text_matches(model, pattern)));
            if !has_model || !is_named(&line.key, question.key) || !is_named(&line.project, question.workspace) {
                continue;
            }
            let is_inside =
                since.is_none_or(|since| line.first >= since) && until.is_none_or(|until| line.last <= until);
            if is_inside { kept.push(line) } else { outside += 1 }
        }
        let first = kept.iter().map(|line| line.first).min();
        let last = kept.iter().map(|line| line.last).max();
        let Some((first, last)) = first.zip(last) else { return Ok(None) };
        let by = by(&kept, question)?;
        Ok(Some(Self { lines: kept, period: (since.unwrap_or(first), until.unwrap_or(last)), outside, by }))
    }

    /// The lines by group.
    pub fn groups(&self) -> impl Iterator<Item = (Key, Amounts)> {
        self.lines.iter().map(|line| {
            let key = Key {
                day: Some(line.first),
                model: line.model.clone(),
                project: line.project.clone(),
                key: line.key.clone(),
            };
            (key.by(&self.by), Amounts::of_tokens(line.tokens, line.total_tokens, line.cost_usd))
        })
    }

    /// The name of a project on the bill: that of the logs, or the last part of its path.
    pub fn project_of<'t>(&self, logged: &'t str) -> &'t str {
        let has = |name: &str| self.lines.iter().any(|line| line.project.as_deref() == Some(name));
        let last = base_name(logged);
        if !has(logged) && has(last) { last } else { logged }
    }
}

/// The line with the canonical name of its model.
fn canonical(line: BillLine, question: &Question<'_>) -> BillLine {
    let model = line.model.as_deref().map(|model| question.catalog.canonical(model));
    BillLine { model, ..line }
}

/// The first and the last day of the scope.
fn bounds(question: &Question<'_>) -> Result<(Option<Day>, Option<Day>), Error> {
    let (since, until) = question.scope.edges()?;
    let last = until.map(|until| Time::from_micros(until.micros() - 1));
    Ok((since.map(|since| Day(since.day())), last.map(|last| Day(last.day()))))
}

/// By what both sides are grouped: as asked, else the day and the model, as far as all lines state them.
fn by(lines: &[BillLine], question: &Question<'_>) -> Result<Vec<By>, Error> {
    let longer = lines.iter().filter(|line| line.first != line.last).count();
    match &question.by {
        Some(by) if by.contains(&By::Day) && longer > 0 => Err(Error::NotOfDays(longer)),
        Some(by) => Ok(By::ALL.into_iter().filter(|name| by.contains(name)).collect()),
        None => {
            // A cost of no model, such as that of a tool, does not make all lines those of no model.
            let has_models = [true, false].into_iter().all(|has_cost| {
                let mut of_kind = lines.iter().filter(|line| line.cost_usd.is_some() == has_cost).peekable();
                of_kind.peek().is_none() || of_kind.any(|line| line.model.is_some())
            });
            let day = (longer == 0).then_some(By::Day);
            Ok(day.into_iter().chain(has_models.then_some(By::Model)).collect())
        }
    }
}
