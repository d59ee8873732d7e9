//! Names that the user gives to projects: see docs/configuration.md#projects. They apply when tables are read.

use std::cmp::Reverse;

use polars::prelude::*;

use super::pattern::escaped;
use crate::store::frames::{Frames, sessions};

/// Names of projects, by patterns of their directories.
#[derive(Debug, Clone, Default)]
pub struct ProjectNames {
    /// Regular expressions and names, the one of the longest pattern first.
    names: Vec<(String, String)>,
}

impl ProjectNames {
    /// These patterns, each with a name. `*` matches any text.
    pub fn new<'a>(names: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut names: Vec<_> = names.into_iter().collect();
        names.sort_by_key(|(pattern, _)| (Reverse(pattern.len()), *pattern));
        Self { names: names.into_iter().map(|(pattern, name)| (expression(pattern), name.to_owned())).collect() }
    }

    /// The tables, with the name of each session's project in place of its directory where a pattern matches that or the working
    /// directory.
    #[must_use]
    pub fn apply(&self, tables: Frames) -> Frames {
        if self.names.is_empty() {
            return tables;
        }
        let project = &self.project();
        let tables = tables.map(|table, frame| match table {
            "sessions" => frame.with_column(project.clone()),
            _ => frame,
        });
        tables.with_named_projects(self.names.iter().map(|(_, name)| name.clone()).collect())
    }

    fn project(&self) -> Expr {
        let named = self.names.iter().map(|(expression, name)| {
            let is_match = |column: &str| {
                let value = col(column).cast(DataType::String);
                value.str().contains(lit(expression.as_str()), true).fill_null(lit(false))
            };
            let name = lit(name.as_str());
            when(is_match(sessions::CWD).or(is_match(sessions::PROJECT)))
                .then(name)
                .otherwise(lit(NULL).cast(DataType::String))
        });
        let all: Vec<Expr> = named.chain([col(sessions::PROJECT)]).collect();
        coalesce(&all).alias(sessions::PROJECT)
    }
}

/// The regular expression of a pattern: it matches a directory and all directories below it, with the separators of any platform.
fn expression(pattern: &str) -> String {
    let pattern = pattern.trim_end_matches(['/', '\\']);
    let mut out = "(?s)^".to_owned();
    let rest = match pattern.split_once(':') {
        // A drive of Windows is written with a small or a capital letter.
        Some((drive, rest)) if drive.len() == 1 && drive.chars().all(|letter| letter.is_ascii_alphabetic()) => {
            out.extend(["(?i:", drive, "):"]);
            rest
        }
        _ => pattern,
    };
    for char in rest.chars() {
        match char {
            '*' => out.push_str(".*"),
            '/' | '\\' => out.push_str(r"[/\\]"),
            other => out.push_str(&escaped(&other.to_string())),
        }
    }
    out.push_str(r"(?:[/\\].*)?$");
    out
}

/// The column `project` as the overview shows it: the name that the user gave, else the repository, else the directory.
pub(in crate::analysis) fn shown_project(tables: &Frames) -> Expr {
    let shown = coalesce(&[col(sessions::REPOSITORY), col(sessions::PROJECT)]);
    match is_named(&col(sessions::PROJECT), tables) {
        Some(is_named) => when(is_named).then(col(sessions::PROJECT)).otherwise(shown),
        None => shown,
    }
    .alias(sessions::PROJECT)
}

/// Whether the user gave a project its name. `None` if no project has one.
pub(in crate::analysis) fn is_named(project: &Expr, tables: &Frames) -> Option<Expr> {
    let names = tables.named_projects().iter();
    let is_named = names.map(|name| project.clone().eq(lit(name.as_str()))).reduce(Expr::or)?;
    Some(is_named.fill_null(lit(false)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_names_a_directory_and_what_is_below_it() {
        let names = [
            ("/w/shop", "shop"),
            ("/w/shop/api/", "api"),
            ("*/cafe-*", "cafe"),
            (r"C:\work\till", "till"),
            ("named", "renamed"),
            ("/w/a.b+(c)", "special"),
        ];
        let cases = [
            ("/w/shop", "shop"),
            ("/w/shop/src", "shop"),
            ("/w/shop/api/src", "api"),
            ("/w/shop2", "/w/shop2"),
            ("/x/cafe-1/src", "cafe"),
            ("/cafe-", "cafe"),
            ("/x/cafe", "/x/cafe"),
            (r"C:\work\till\src", "till"),
            ("c:/work/till", "till"),
            (r"D:\work\till", r"D:\work\till"),
            ("named", "renamed"),
            ("/w/named", "/w/named"),
            ("/w/a.b+(c)", "special"),
            ("/w/axb+(c)", "/w/axb+(c)"),
        ];
        let sessions = |cwd: Vec<Option<&str>>, project: Vec<Option<&str>>| {
            Frames::from_iter([("sessions", df!("cwd" => cwd, "project" => project).unwrap().lazy())])
        };
        let projects = |tables: &Frames| {
            let frame = tables.table("sessions").collect().unwrap();
            let column = frame.column("project").unwrap().str().unwrap().clone();
            column.iter().map(|value| value.map(str::to_owned)).collect::<Vec<_>>()
        };
        let paths: Vec<Option<&str>> = cases.iter().map(|(path, _)| Some(*path)).collect();
        let tables = ProjectNames::new(names).apply(sessions(paths.clone(), paths));
        let expected: Vec<Option<String>> = cases.iter().map(|(_, name)| Some((*name).to_owned())).collect();
        assert_eq!(projects(&tables), expected);
        // The working directory or the project matches; a session without either has no project.
        let tables = sessions(vec![Some("/w/shop/api"), None, None], vec![Some("/w/shop"), Some("/w/shop"), None]);
        let tables = ProjectNames::new(names).apply(tables);
        assert_eq!(projects(&tables), [Some("api".to_owned()), Some("shop".to_owned()), None]);
    }
}
