//! The names of a lake's files and directories.

use std::path::Path;

use crate::base::time::Day;
use crate::store::frames::TABLES;

/// Lists the files.
pub const MANIFEST: &str = "_manifest.json";
/// The directory of the facts of sources.
pub const FACTS: &str = "_facts";
/// The directory of the facts of repositories, and the file of pull requests in it.
pub const FACTS_OF_REPOSITORIES: &str = "_facts/history";
pub const PULL_REQUESTS: &str = "_facts/history/pull_requests";
/// The directory of what a cluster has to know of the sources of a lake; engines ignore it. See docs/cluster.md.
pub const INDEX: &str = "_index";
/// The directory of files that are not yet in their places.
pub const STAGING: &str = "_staging";
/// The manifest of prepared files: it is written when all of them are complete.
pub const STAGED_MANIFEST: &str = "_staging/_manifest.json";
/// Locked by the process that writes.
pub const LOCK: &str = "_lock";
/// The value of a partition whose rows have none, as in Hive.
pub const NO_VALUE: &str = "__HIVE_DEFAULT_PARTITION__";

/// Whether a file of a lake is in a directory, such as that of a table.
pub(super) fn is_in(directory: &str, path: &str) -> bool {
    path.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/'))
}

/// The period of a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PartitionBy {
    /// A day in UTC.
    Day,
    /// A week from Monday on, in UTC; its value is the Monday.
    Week,
    /// A month in UTC; its value is its first day.
    Month,
}

impl PartitionBy {
    /// The name of the partition column.
    pub const fn column(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
        }
    }
}

/// The directory of a partition in the directory of its table, such as `day=2026-11-20`. Rows without a time have no day.
pub fn partition_name(by: PartitionBy, first_day: Option<Day>) -> String {
    let value = first_day.map_or_else(|| NO_VALUE.to_owned(), |day| day.to_string());
    format!("{}={value}", by.column())
}

/// A component of a path as the column and value of a partition; `None` for other names.
pub fn partition_of(component: &str) -> Option<(&str, &str)> {
    component.split_once('=').filter(|(column, _)| !column.is_empty())
}

/// Whether a path can be that of a file of a lake: below the directory of a table, of the facts or of the index, made of plain names.
pub fn is_path_of_lake(path: &str) -> bool {
    let is_plain = |name: &str| {
        !matches!(name, "" | "." | "..") && !name.contains(|char: char| matches!(char, '\\' | ':') || char.is_control())
    };
    let Some((directory, rest)) = path.split_once('/') else { return false };
    (TABLES.contains(&directory) || [FACTS, INDEX].contains(&directory)) && rest.split('/').all(is_plain)
}

/// Whether engines ignore a file or directory of this name.
pub fn is_hidden(name: &str) -> bool {
    name.starts_with(['_', '.'])
}

/// Whether a directory contains what a lake does: a manifest, or a directory of a table.
pub fn is_lake(directory: &Path) -> bool {
    directory.join(MANIFEST).is_file()
        || directory.join(STAGED_MANIFEST).is_file()
        || TABLES.iter().any(|table| directory.join(table).is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_a_lake_stay_in_it() {
        for path in ["turns/part-0.parquet", "turns/day=2026-10-06/part-0.csv", "_facts/00", "_index/a-b_c.1"] {
            assert!(is_path_of_lake(path), "{path}");
        }
        for path in [
            "",
            "turns",
            "turns/",
            "../x",
            "/x",
            "turns/../x",
            "turns/./x",
            "turns//x",
            "/turns/x",
            "other/x",
            "_manifest.json",
            "_staging/x",
            "C:/x",
            "turns/C:x",
            "turns/..\\..\\x",
            "turns/a\0b",
        ] {
            assert!(!is_path_of_lake(path), "{path}");
        }
    }
}
