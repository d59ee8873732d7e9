//! How near reports that `ingest` found are to logs: several runs of the same tasks can be in one archive, each with its own reports.

use std::collections::BTreeMap;

/// How many directories two paths have in common. The name of a machine that `archive merge` puts before a path counts as one.
pub(super) fn common_directories(a: &str, b: &str) -> usize {
    let (a, b) = (a.split(['/', '\\']), b.split(['/', '\\']));
    a.zip(b).take_while(|(a, b)| a == b).count()
}

/// What a report is about: the runtime and the id of a session, and the name of the verdict.
pub(super) type About = (String, String, String);

/// How near the nearest report is, and whether it states that the trial passed.
#[derive(Debug, Default)]
pub(super) struct NearestReports(BTreeMap<About, (usize, Option<bool>)>);

impl NearestReports {
    /// Adds a report with so many directories in common with the log.
    pub(super) fn add(&mut self, about: About, directories: usize, passed: Option<bool>) {
        let known = self.0.entry(about).or_insert((directories, passed));
        if directories > known.0 {
            *known = (directories, passed);
        }
    }

    /// Whether no nearer report states something else.
    pub(super) fn agree(&self, about: &About, directories: usize, passed: Option<bool>) -> bool {
        self.0.get(about).is_none_or(|nearest| directories >= nearest.0 || passed == nearest.1)
    }
}
