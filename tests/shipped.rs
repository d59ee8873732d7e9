//! `report shipped`: docs/shipped.md. The rules have their own tests, in `src/analysis/shipped/tests.rs`; here are their sums.

use std::collections::BTreeMap;

use agentlogs::analysis::reports::{Answer, Options, find};
use agentlogs::analysis::shipped::has_history;
use agentlogs::analysis::views::with_views;
use agentlogs::model::repository::{CommitFileRow, CommitRow};
use agentlogs::model::session::Operation;
use agentlogs::model::tables::Tables;
use agentlogs::store::frames::{Frames, frames};
use agentlogs::store::query::query;
use polars::prelude::*;

use crate::{demo_facts, settled};

fn of_demo() -> Tables {
    settled(demo_facts())
}

fn frames_of(tables: &Tables) -> Frames {
    frames(tables).unwrap().into_iter().map(|(name, frame)| (name, frame.lazy())).collect()
}

/// The tables of the demo with a commit for each change of which the log shows lines, a minute after it. Every third one is on a branch, and
/// is not merged; the others are those of pull requests with their number.
fn with_commits() -> Tables {
    let mut tables = of_demo();
    for (index, row) in tables.file_changes.iter().enumerate() {
        let session = &tables.sessions[row.session].session;
        let lines = row.change.line_sketch.as_ref().filter(|sketch| !sketch.is_empty());
        let (Some(lines), Some(time)) = (lines, row.change.occurred_at) else { continue };
        let repository = session.repository.clone().unwrap_or_else(|| "demo".to_owned());
        let time = agentlogs::base::time::Time::from_micros(time.micros() + 60_000_000);
        let is_merged = !index.is_multiple_of(3);
        let number = i64::try_from(index).unwrap();
        let commit = CommitRow {
            repository: repository.clone(),
            directory: session.cwd.clone(),
            commit: format!("{index:08x}").repeat(5),
            parents: 1,
            author: Some(["Ann", "Ben"][index % 2].to_owned()),
            committed_at: Some(time),
            branches: if is_merged { Vec::new() } else { vec!["feature".to_owned()] },
            on_default: Some(is_merged),
            merged_at: Some(time).filter(|_| is_merged),
            pull_request: Some(number).filter(|_| is_merged),
            lines_added: Some(10),
            lines_surviving: Some(7),
            ..CommitRow::default()
        };
        let file = CommitFileRow {
            repository,
            commit: commit.commit.clone(),
            path: row.change.path.rsplit('/').next().unwrap().to_owned(),
            old_path: None,
            operation: Operation::Update,
            lines_added: Some(10),
            lines_removed: None,
            line_hashes: Some(lines.to_string()),
        };
        tables.commits.push(commit);
        tables.commit_files.push(file);
    }
    assert!(tables.commits.len() > 10, "{}", tables.commits.len());
    tables
}

fn answer(report: &str, tables: &Frames, by: &[&str]) -> Answer {
    let by = by.iter().map(|&name| name.to_owned()).collect();
    let options = Options { by, wide: true, total: true, ..Options::default() };
    find(report).unwrap().run(tables, &options).unwrap()
}

fn sum(frame: &DataFrame, column: &str) -> f64 {
    frame.column(column).unwrap().cast(&DataType::Float64).unwrap().f64().unwrap().sum().unwrap_or_default()
}

fn values(frame: &DataFrame, name: &str, value: &str) -> BTreeMap<String, f64> {
    let names = frame.column(name).unwrap().str().unwrap();
    let values = frame.column(value).unwrap().cast(&DataType::Float64).unwrap();
    let values = values.f64().unwrap().iter().map(Option::unwrap_or_default);
    names.iter().map(|name| name.unwrap_or_default().to_owned()).zip(values).collect()
}

#[test]
fn nothing_is_attributable_without_a_scan() {
    let tables = frames_of(&of_demo());
    assert!(!has_history(&tables).unwrap());
    let all = sum(&answer("sessions", &tables, &["runtime"]).rows, "cost_usd");
    assert!(all > 0.0);
    for (by, rest) in [("pull_request", "(not attributable)"), ("outcome", "not_attributable")] {
        let found = values(&answer("shipped", &tables, &[by]).rows, by, "cost_usd");
        assert_eq!(found.keys().collect::<Vec<_>>(), [rest]);
        assert!((found[rest] - all).abs() < 1e-6, "{found:?} {all}");
    }
}

#[test]
fn the_groups_sum_to_the_cost_of_the_sessions() {
    let tables = frames_of(&with_commits());
    assert!(has_history(&tables).unwrap());
    let sessions = answer("sessions", &tables, &["runtime"]).rows;
    let (all, count) = (sum(&sessions, "cost_usd"), sum(&sessions, "sessions"));
    for by in
        ["pull_request", "commit", "branch", "author", "outcome", "rule", "project", "week", "repository", "model"]
    {
        let Answer { rows, total, .. } = answer("shipped", &tables, &[by]);
        let total = total.unwrap();
        for frame in [&rows, &total] {
            assert!((sum(frame, "cost_usd") - all).abs() < 1e-6, "{by}: {} {all}", sum(frame, "cost_usd"));
            assert!((sum(frame, "session_shares") - count).abs() < 1e-6, "{by}: {}", sum(frame, "session_shares"));
        }
        assert!(
            (sum(&rows, "lines_added") - sum(&total, "lines_added")).abs()
                <= 1.0 + f64::from(u32::try_from(rows.height()).unwrap()),
            "{by}"
        );
    }
    let outcomes = values(&answer("shipped", &tables, &["outcome"]).rows, "outcome", "cost_usd");
    assert!(outcomes["merged"] > 0.0 && outcomes["not_attributable"] > 0.0, "{outcomes:?}");
    let rules = values(&answer("shipped", &tables, &["rule"]).rows, "rule", "cost_usd");
    assert!(rules["content"] > 0.0, "{rules:?}");
    // A commit counts once, in whatever groups its sessions are.
    let commits = answer("shipped", &tables, &["commit"]);
    let named = commits.rows.lazy().filter(col("commit").neq(lit("(not attributable)"))).collect().unwrap();
    assert!((sum(&named, "commits") - sum(&commits.total.unwrap(), "commits")).abs() < 1e-6);
    assert!(named.column("commits").unwrap().i64().unwrap().iter().all(|count| count == Some(1)));
}

#[test]
fn sql_has_the_shares() {
    let tables = frames_of(&with_commits());
    let sql = "SELECT session_id, SUM(share) AS shares, SUM(cost_usd) AS cost_usd FROM shipped GROUP BY session_id";
    let found = query(with_views(tables.clone(), sql).unwrap(), sql).unwrap();
    let shares = found.column("shares").unwrap().f64().unwrap();
    assert!(shares.iter().all(|share| (share.unwrap() - 1.0).abs() < 1e-6));
    let all = sum(&answer("sessions", &tables, &["runtime"]).rows, "cost_usd");
    assert!((sum(&found, "cost_usd") - all).abs() < 1e-6);
    let sql = "SELECT COUNT(*) AS n FROM shipped WHERE rule IS NULL AND (outcome <> 'not_attributable' OR commit IS NOT NULL)";
    let found = query(with_views(tables, sql).unwrap(), sql).unwrap();
    assert_eq!(found.column("n").unwrap().get(0).unwrap().try_extract::<i64>().unwrap(), 0);
}
