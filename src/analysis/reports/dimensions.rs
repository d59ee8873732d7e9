//! Which reports accept a dimension.

use super::list::REPORTS;
use super::spec::Report;
use crate::analysis::selection::{Dimension, Error, names};

impl Dimension {
    /// The reports that accept it.
    pub fn reports(&self) -> impl Iterator<Item = &'static Report> {
        REPORTS.iter().filter(|report| report.has(self))
    }

    /// The reports that accept it, as a text: `tools, files`, or `all but health`.
    pub fn reports_as_text(&self) -> String {
        let without: Vec<&str> = REPORTS.iter().filter(|report| !report.has(self)).map(|report| report.name).collect();
        let with: Vec<&str> = self.reports().map(|report| report.name).collect();
        if without.len() < with.len() { format!("all but {}", without.join(", ")) } else { with.join(", ") }
    }
}

/// That a report has no such dimension, which others may have.
pub(super) fn not_of_report(report: &'static str, dimension: &str) -> Error {
    let own = REPORTS.iter().find(|it| it.name == report).into_iter().flat_map(Report::dimensions);
    let list = names(own.map(|dimension| dimension.name));
    with_reports(Error::NotOfReport { report, dimension: dimension.to_owned(), list, reports: String::new() })
}

/// The error with what rows do not know: the reports that have the dimension, and the dimensions that are measures of this report.
pub(in crate::analysis) fn with_reports(error: Error) -> Error {
    let Error::NotOfReport { report, dimension, list, .. } = error else { return error };
    let is_measure = |name: &str| {
        let mut reports = REPORTS.iter().filter(|it| it.name == report);
        reports.any(|it| it.measures().iter().any(|measure| measure.name == name))
    };
    let list = names(list.split(", ").filter(|name| !is_measure(name)));
    let found = Dimension::find(&dimension).into_iter().flat_map(Dimension::reports);
    let reports = names(found.map(|report| report.name));
    Error::NotOfReport { report, dimension, list, reports }
}
