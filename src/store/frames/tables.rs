//! The tables of an archive or lake.

use std::collections::BTreeSet;

use polars::prelude::*;

use crate::base::time::Time;

/// Tables by name, which are read when a query collects them.
#[derive(Clone, Default)]
pub struct Frames {
    tables: Vec<(&'static str, LazyFrame)>,
    /// See [`Self::is_dated`].
    dated: BTreeSet<&'static str>,
    /// See [`Self::partitions`].
    partitions: Vec<Self>,
    /// See [`Self::with_end`].
    ends_at: Option<Time>,
    /// See [`Self::named_projects`].
    named_projects: BTreeSet<String>,
}

impl Frames {
    /// The table of that name; an empty one if it is missing.
    pub fn table(&self, name: &str) -> LazyFrame {
        self.iter().find(|(table, _)| *table == name).map(|(_, frame)| frame.clone()).unwrap_or_default()
    }

    /// The tables with their names, in their order.
    pub fn iter(&self) -> std::slice::Iter<'_, (&'static str, LazyFrame)> {
        self.tables.iter()
    }

    /// The same rows in partitions, each of which contains all rows of its sessions: a reader that needs the rows of one session at
    /// a time keeps only one partition in memory. If no partitions are known, all rows are in one.
    pub fn partitions(&self) -> &[Self] {
        if self.partitions.is_empty() { std::slice::from_ref(self) } else { &self.partitions }
    }

    /// Whether every row of a table is known to have a time. If not, there may be rows without one.
    pub fn is_dated(&self, name: &str) -> bool {
        self.dated.contains(name)
    }

    /// The same tables, of which every row of these has a time.
    #[must_use]
    pub fn with_dated(self, dated: impl IntoIterator<Item = &'static str>) -> Self {
        Self { dated: dated.into_iter().collect(), ..self }
    }

    /// The same tables, whose rows are those of these partitions.
    #[must_use]
    pub fn with_partitions(self, partitions: Vec<Self>) -> Self {
        Self { partitions, ..self }
    }

    /// The same tables, of which no row is after this time; `None` if that is not known.
    #[must_use]
    pub fn with_end(self, ends_at: Option<Time>) -> Self {
        Self { ends_at, ..self }
    }

    /// The same tables, at least with all rows at or after a time and all without one: the files of partitions that end before are not
    /// read.
    ///
    /// # Errors
    /// When polars cannot join the tables of partitions.
    pub fn since(&self, time: Time) -> PolarsResult<Self> {
        let is_recent = |partition: &&Self| partition.ends_at.is_none_or(|end| end >= time);
        let recent: Vec<&Self> = self.partitions.iter().filter(is_recent).collect();
        // To read all files together is faster than to read most of them by partition.
        if recent.len() > self.partitions.len() / 2 || self.partitions.is_empty() {
            return Ok(self.clone());
        }
        let tables = self.tables.iter().map(|(name, whole)| {
            let of_partitions = |partition: &Self| partition.iter().any(|(table, _)| table == name);
            let some = match self.partitions.first().filter(|first| of_partitions(first)) {
                None => whole.clone(),
                Some(first) if recent.is_empty() => first.table(name).limit(0),
                Some(_) => concat(recent.iter().map(|it| it.table(name)).collect::<Vec<_>>(), UnionArgs::default())?,
            };
            Ok((*name, some))
        });
        let tables = tables.collect::<PolarsResult<Vec<_>>>()?;
        Ok(Self { tables, partitions: recent.into_iter().cloned().collect(), ..self.clone() })
    }

    /// The names of projects that the user gave, in place of directories.
    pub fn named_projects(&self) -> &BTreeSet<String> {
        &self.named_projects
    }

    /// The same tables, in which the user gave these names to projects.
    #[must_use]
    pub fn with_named_projects(self, named_projects: BTreeSet<String>) -> Self {
        let partitions = self.partitions.into_iter();
        let partitions = partitions.map(|partition| partition.with_named_projects(named_projects.clone())).collect();
        Self { partitions, named_projects, ..self }
    }

    /// Some rows of each table, whose times stay as they are.
    #[must_use]
    pub fn map(self, some_rows: impl Fn(&'static str, LazyFrame) -> LazyFrame + Copy) -> Self {
        let tables = self.tables.into_iter().map(|(name, frame)| (name, some_rows(name, frame))).collect();
        let partitions = self.partitions.into_iter().map(|partition| partition.map(some_rows)).collect();
        Self { tables, partitions, ..self }
    }
}

impl FromIterator<(&'static str, LazyFrame)> for Frames {
    fn from_iter<T: IntoIterator<Item = (&'static str, LazyFrame)>>(tables: T) -> Self {
        Self { tables: tables.into_iter().collect(), ..Self::default() }
    }
}

impl IntoIterator for Frames {
    type Item = (&'static str, LazyFrame);
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.tables.into_iter()
    }
}

impl<'a> IntoIterator for &'a Frames {
    type Item = &'a (&'static str, LazyFrame);
    type IntoIter = std::slice::Iter<'a, (&'static str, LazyFrame)>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
