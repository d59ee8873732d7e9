//! By what the two sides are grouped.

use crate::base::time::Day;

/// A name by which both sides are grouped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// The day in UTC.
    Day,
    /// The canonical model.
    Model,
    /// The project: workspace, project or team of the bill.
    Project,
    /// The API key: of logs, the label `key`.
    Key,
}

impl By {
    /// All names, in the order of the columns.
    pub const ALL: [Self; 4] = [Self::Day, Self::Model, Self::Project, Self::Key];

    /// The name of its column.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Model => "model",
            Self::Project => "project",
            Self::Key => "key",
        }
    }
}

/// What identifies a group. A name by which the sides are not grouped is `None` in all.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub day: Option<Day>,
    pub model: Option<String>,
    pub project: Option<String>,
    pub key: Option<String>,
}

impl Key {
    /// The key with only those names.
    pub fn by(self, by: &[By]) -> Self {
        let Self { day, model, project, key } = self;
        let has = |name| by.contains(&name);
        Self {
            day: day.filter(|_| has(By::Day)),
            model: model.filter(|_| has(By::Model)),
            project: project.filter(|_| has(By::Project)),
            key: key.filter(|_| has(By::Key)),
        }
    }

    /// A name as text.
    pub fn text(&self, by: By) -> Option<String> {
        match by {
            By::Day => self.day.map(|day| day.to_string()),
            By::Model => self.model.clone(),
            By::Project => self.project.clone(),
            By::Key => self.key.clone(),
        }
    }
}
