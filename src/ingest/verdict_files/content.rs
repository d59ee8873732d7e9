//! What a file of verdicts contains.

use super::fields::Fields;
use crate::model::verdict::ImportedVerdict;

/// What a file contains.
#[derive(Debug, Default)]
pub(super) struct Content {
    pub verdicts: Vec<ImportedVerdict>,
    pub problems: Vec<(i64, String)>,
    pub ignored: Vec<String>,
}

impl Content {
    pub(super) fn add(&mut self, line: i64, fields: Fields) {
        match fields.verdict(line) {
            Ok(verdict) => self.verdicts.push(verdict),
            Err(problem) => self.problems.push((line, problem)),
        }
    }
}
