//! Which reports accept a dimension.

use super::list::REPORTS;
use super::spec::Report;
use crate::analysis::rows::Dimension;

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
