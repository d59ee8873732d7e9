//! `report shipped`: docs/shipped.md. The rules have their own tests, in `src/analysis/shipped/tests.rs`; here are their sums.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use agentlogs::analysis::reports::{Answer, Options, find};
use agentlogs::analysis::shipped::has_history;
use agentlogs::analysis::views::with_views;
use agentlogs::model::repository::{CommitFileRow, CommitRow};
use agentlogs::model::session::Operation;
use agentlogs::model::tables::Tables;
use agentlogs::store::frames::{Frames, frames};
use agentlogs::store::query::query;
use polars::prelude::*;
use serde_json::json;

use crate::repositories::builder::{Builder, Scans};
use crate::{demo_facts, reconciled};

fn of_demo() -> Tables {
    reconciled(demo_facts())
}

pub fn frames_of(tables: &Tables) -> Frames {
    frames(tables).unwrap().into_iter().map(|(name, frame)| (name, frame.lazy())).collect()
}

/// The tables of the demo with a commit for each change of which the log shows lines, a minute after it. Every third one is on a branch, and
/// is not merged; the others are those of pull requests with their number.
pub fn with_commits() -> Tables {
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
    for (by, rest) in [("pull_request", "(not_attributable)"), ("outcome", "not_attributable")] {
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
    let named = commits.rows.lazy().filter(col("commit").neq(lit("(not_attributable)"))).collect().unwrap();
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

/// A transcript of Claude Code: it writes a file, and runs a command of git that prints a hash, if there is one.
fn transcript(directory: &Path, session: &str, time: &str, path: &str, content: &str, hash: Option<&str>) -> String {
    let at = |second: u32| format!("2026-10-05T{time}:{second:02}Z");
    let cwd = directory.to_str().unwrap();
    let file = format!("{cwd}/{path}");
    let response = |number: u32, call: serde_json::Value| {
        let message = json!({"id": format!("msg_{session}_{number}"), "model": "claude-sonnet-4-5", "content": [call],
            "usage": {"input_tokens": 1000, "output_tokens": 100}});
        json!({"type": "assistant", "sessionId": session, "uuid": format!("a{number}"), "cwd": cwd, "gitBranch": "main",
            "timestamp": at(2 * number), "message": message})
    };
    let result = |number: u32, text: &str, rich: serde_json::Value| {
        let answer = json!({"type": "tool_result", "tool_use_id": format!("t{number}"), "content": text});
        json!({"type": "user", "sessionId": session, "uuid": format!("u{number}"), "cwd": cwd, "timestamp": at(2 * number + 1),
            "message": {"role": "user", "content": [answer]}, "toolUseResult": rich})
    };
    let call = |number: u32, tool: &str, input: serde_json::Value| json!({"type": "tool_use", "id": format!("t{number}"), "name": tool, "input": input});
    let mut records = vec![
        response(0, call(0, "Write", json!({"file_path": file, "content": content}))),
        result(
            0,
            "File created",
            json!({"type": "create", "filePath": file, "content": content, "structuredPatch": []}),
        ),
    ];
    if let Some(hash) = hash {
        records.push(response(1, call(1, "Bash", json!({"command": "git commit -am x"}))));
        records.push(result(1, &format!("[feature {}] x", &hash[..7]), json!({})));
    }
    records.iter().fold(String::new(), |text, record| text + &record.to_string() + "\n")
}

/// Four lines that are long enough, of which no other file has one.
fn content(name: &str) -> String {
    ["first", "second", "third", "fourth"].map(|line| format!("the {line} line of {name}\n")).concat()
}

/// A repository with a squash, a rebase, a merge, a revert, a cherry-pick, two agents in one commit, and a human between them, and the logs
/// of the agents.
#[test]
fn logs_and_a_repository_have_the_shares_that_follow_by_hand() {
    let scans = Scans::new();
    let directory = scans.path("shop");
    let mut repository = Builder::new(&directory);
    repository.remote("https://github.com/acme/shop.git");
    repository.commit("main", "2026-10-01T00:00:00Z", "Begin", &[("README.md", Some("Shop\n"))]);
    for branch in ["squashed", "rebased", "merged", "release", "shared"] {
        repository.branch(branch, "main");
    }
    let at = |time: &str| format!("2026-10-05T{time}:02Z");
    let mut made = |branch: &str, time: &str, name: &str| {
        repository.commit(
            branch,
            &at(time),
            &format!("Add {name}"),
            &[(&format!("src/{name}.rs"), Some(&content(name)))],
        )
    };
    let squashed = made("squashed", "10:01", "squashed");
    let rebased = made("rebased", "10:02", "rebased");
    let merged = made("merged", "10:03", "merged");
    let reverted = made("main", "10:04", "reverted");
    let picked = made("main", "10:05", "picked");
    repository.author = "Ben".to_owned();
    let (left, right) = (content("left"), content("right"));
    let both = [("src/left.rs", Some(left.as_str())), ("src/right.rs", Some(right.as_str()))];
    repository.commit("shared", &at("11:00"), "Add both", &both);
    let edited = content("edited").replace("the second line", "the other line");
    repository.commit("main", &at("11:01"), "Add edited", &[("src/edited.rs", Some(&edited))]);
    repository.squash("main", "squashed", &at("12:00"), "Add squashed (#1)");
    repository.pick("main", &rebased, &at("12:01"), "Add rebased");
    repository.merge("main", "merged", &at("12:02"), "Merge pull request #3 from acme/merged");
    let message = format!("Revert \"Add reverted\"\n\nThis reverts commit {reverted}.");
    repository.commit("main", &at("12:03"), &message, &[("src/reverted.rs", None)]);
    repository.pick("release", &picked, &at("12:04"), "Add picked");

    let logs = scans.path("logs");
    std::fs::create_dir_all(&logs).unwrap();
    let hashes = [&squashed, &rebased, &merged, &reverted, &picked].map(|hash| Some(hash.as_str()));
    let committed = ["squashed", "rebased", "merged", "reverted", "picked"].into_iter().zip(hashes);
    let others = ["left", "right", "edited", "lost"].map(|name| (name, None));
    for (number, (name, hash)) in (1..).zip(committed.chain(others)) {
        let time = format!("10:{number:02}");
        let log = transcript(&directory, name, &time, &format!("src/{name}.rs"), &content(name), hash);
        std::fs::write(logs.join(format!("{name}.jsonl")), log).unwrap();
    }
    scans.run(&["ingest", logs.to_str().unwrap()]);
    scans.scan(&directory);
    let sql = "SELECT session_id, rule, outcome, landed_by, author, pull_request, ROUND(share, 2) AS share FROM shipped \
        WHERE runtime = 'claude' ORDER BY session_id, outcome";
    let csv = scans.run(&["query", sql, "--format", "csv"]);
    assert_eq!(
        csv.lines().skip(1).collect::<Vec<_>>(),
        [
            "edited,content,merged,itself,Ben,,1",
            "left,content,open,,Ben,,1",
            "lost,,not_attributable,,,,1",
            "merged,hash,merged,itself,Ann,github.com/acme/shop#3,1",
            "picked,hash,merged,itself,Ann,,1",
            "rebased,hash,merged,patch,Ben,,1",
            "reverted,hash,reverted,itself,Ann,,1",
            "right,content,open,,Ben,,1",
            "squashed,hash,merged,patch,Ben,github.com/acme/shop#1,1",
        ]
    );
    let report = scans.run(&["report", "shipped", "--by", "outcome", "--runtime", "claude", "--format", "csv"]);
    let cents = |line: &str| line.split(',').nth(1).unwrap().to_owned();
    let of = |outcome: &str| report.lines().find(|line| line.starts_with(outcome)).map(cents).unwrap();
    // Sessions without a commit have one response of the same cost, those with one have two.
    let one: f64 = of("not_attributable").parse().unwrap();
    let times = |outcome: &str| of(outcome).parse::<f64>().unwrap() / one;
    for (outcome, expected) in [("merged", 9.0), ("open", 2.0), ("reverted", 2.0)] {
        assert!((times(outcome) - expected).abs() < 1e-6, "{report}");
    }
    // The human removed most of what `edited` wrote 20 days later, and `left` was on a branch for as long.
    let rest = [("src/edited.rs", Some("the first line of edited\n"))];
    repository.commit("main", "2026-10-25T11:01:02Z", "Shorten edited", &rest);
    scans.scan(&directory);
    let within = |within: &[&str]| {
        let report = ["report", "shipped", "--by", "outcome", "--runtime", "claude", "--format", "csv"];
        let report = scans.run(&[&report, within].concat());
        let outcomes = report.lines().skip(1).map(|line| line.split(',').next().unwrap().to_owned());
        outcomes.collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(within(&[]), "abandoned merged not_attributable reverted");
    assert_eq!(within(&["--within", "3w"]), "merged not_attributable open reverted rewritten");
    assert_eq!(scans.output(&["report", "shipped", "--within", "91d"]).status.code(), Some(2));
    assert_eq!(scans.output(&["report", "cost", "--within", "3d"]).status.code(), Some(2));
    let shown = scans.run(&["show", "squashed"]);
    assert!(shown.contains("github.com/acme/shop#1"), "{shown}");
    assert!(
        scans.run(&["sessions", "--wide", "--format", "csv"]).contains(",reverted,"),
        "sessions have their outcome"
    );
}
