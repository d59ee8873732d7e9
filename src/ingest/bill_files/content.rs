//! What a bill contains.

use std::collections::BTreeSet;

use super::line::BillLine;

/// A format of bills.
#[derive(Debug, Clone, Copy)]
pub(super) struct Format {
    /// What it is, for people.
    pub name: &'static str,
    /// Who sends it: see [`BillLine::seller`].
    pub seller: Option<&'static str>,
}

/// What a record is.
pub(super) type Found = Result<Option<BillLine>, Skipped>;

/// Why a record has no line.
#[derive(Debug)]
pub(super) enum Skipped {
    /// It cannot be read.
    Unreadable(String),
    /// It is of another service than AI.
    OtherService,
}

impl From<String> for Skipped {
    fn from(problem: String) -> Self {
        Self::Unreadable(problem)
    }
}

/// What a file contains.
#[derive(Debug, Default)]
pub(super) struct Content {
    /// The formats of its records.
    pub formats: BTreeSet<&'static str>,
    pub lines: Vec<BillLine>,
    /// Why a line is not read: its number, or 0, and the reason.
    pub problems: Vec<(i64, String)>,
    /// Records of other services than AI.
    pub of_other_services: usize,
    /// Whether a part of it is missing.
    pub is_cut: bool,
}

impl Content {
    /// Adds what a record is. A record without usage and cost, as of a day on which nothing happened, has no line.
    pub(super) fn add(&mut self, format: Format, number: i64, found: Found) {
        self.formats.insert(format.name);
        match found {
            Ok(Some(line)) if !line.is_empty() => {
                self.lines.push(BillLine { line: number, seller: format.seller, ..line });
            }
            Ok(_) => {}
            Err(Skipped::Unreadable(problem)) => self.problems.push((number, problem)),
            Err(Skipped::OtherService) => self.of_other_services += 1,
        }
    }

    /// What else is to be stated about the file.
    pub(super) fn notes(&self) -> Vec<String> {
        let of_other_services = (self.of_other_services > 0)
            .then(|| format!("lines of other services than AI, which are not compared: {}", self.of_other_services));
        let is_cut = self.is_cut.then(|| "it is not complete: its last page states has_more".to_owned());
        of_other_services.into_iter().chain(is_cut).collect()
    }
}

/// Refuses amounts of other currencies.
pub(super) fn in_dollars(currency: Option<&str>) -> Result<(), String> {
    match currency.filter(|currency| !currency.eq_ignore_ascii_case("usd")) {
        Some(other) => Err(format!("its amount is in {other}, not in US dollars")),
        None => Ok(()),
    }
}
