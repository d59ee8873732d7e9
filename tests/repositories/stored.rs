//! What an archive does with commits and pull requests: it checks, repairs, merges, deletes and exports them.

use std::fs;

use super::builder::{Builder, Scans, rows, text};

const REQUESTS: &str = r#"[
    {"number": 1, "url": "https://github.com/acme/shop/pull/1", "title": "Add a cart", "state": "MERGED", "author": {"login": "ann"},
     "headRefName": "cart", "baseRefName": "main", "createdAt": "2026-01-01T10:00:00Z", "mergedAt": "2026-01-02T10:00:00Z",
     "closedAt": "2026-01-02T10:00:00Z", "mergeCommit": {"oid": "0123456789abcdef0123456789abcdef01234567"}, "commits": [],
     "reviews": [{"state": "APPROVED"}], "additions": 3, "deletions": 1},
    {"number": 2, "url": "https://github.com/acme/shop/pull/2", "title": "Later", "state": "OPEN", "createdAt": "2026-02-01T10:00:00Z"}]"#;

/// An archive with a repository and pull requests.
fn scanned() -> (Scans, Builder) {
    let scans = Scans::new();
    let mut shop = Builder::new(&scans.path("shop"));
    shop.remote("https://github.com/acme/shop");
    shop.commit("main", "2026-01-01T10:00:00Z", "First", &[("a", Some("the first line\n"))]);
    shop.commit("main", "2026-02-01T10:00:00Z", "Second", &[("a", Some("the second line\n"))]);
    scans.scan(&shop.directory);
    fs::write(scans.path("requests.json"), REQUESTS).unwrap();
    let printed = scans.run(&["git", "import", scans.path("requests.json").to_str().unwrap()]);
    assert!(printed.contains("github.com/acme/shop: 2 pull requests: 1 merged, 1 open"), "{printed}");
    (scans, shop)
}

fn counts(scans: &Scans) -> [usize; 3] {
    ["commits", "commit_files", "pull_requests"].map(|table| scans.rows(&format!("SELECT * FROM {table}")).len())
}

#[test]
fn pull_requests_are_replaced_by_their_number() {
    let (scans, _) = scanned();
    let all = "SELECT number, state, author, branch, base, merged_at, closed_at, commits, reviews, lines_added FROM pull_requests ORDER BY number";
    assert_eq!(
        scans.rows(all),
        ["1 merged ann cart main 2026-01-02T10:00 2026-01-02T10:00 [] 1 3", "2 open - - - - - [] - -"]
    );
    fs::write(scans.path("requests.json"), REQUESTS.replace("OPEN", "CLOSED")).unwrap();
    scans.run(&["git", "import", scans.path("requests.json").to_str().unwrap()]);
    assert_eq!(scans.rows("SELECT number, state FROM pull_requests ORDER BY number"), ["1 merged", "2 closed"]);
    for (content, error) in
        [("", "contains no pull requests"), ("number 1", "not JSON"), ("[{\"number\": 1}]", "request 1: it has no url")]
    {
        fs::write(scans.path("requests.json"), content).unwrap();
        let output = scans.output(&["git", "import", scans.path("requests.json").to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(1));
        assert!(text(&output.stderr).contains(error), "{output:?}");
    }
    assert_eq!(counts(&scans), [2, 2, 2]);
}

#[test]
fn an_ingest_keeps_commits() {
    let (scans, _) = scanned();
    scans.run(&["ingest", crate::root().join("sample-logs/pi-session").to_str().unwrap()]);
    scans.run(&["archive", "compact"]);
    assert_eq!(counts(&scans), [2, 2, 2]);
    assert!(scans.run(&["archive", "check"]).contains("intact"));
}

#[test]
fn damage_is_found_and_repaired() {
    for kind in ["manifest", "facts", "commits", "pull_requests"] {
        let (scans, shop) = scanned();
        let history = scans.archive().join("history");
        let names = fs::read_dir(&history).unwrap().map(|entry| entry.unwrap().path());
        let file = names.filter(|path| path.to_str().unwrap().ends_with(kind)).min().unwrap();
        let mut bytes = fs::read(&file).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(&file, bytes).unwrap();
        let output = scans.output(&["archive", "check"]);
        assert_eq!(output.status.code(), Some(1), "{kind}");
        assert!(text(&output.stderr).contains("archive repair"), "{kind}: {output:?}");
        let table = if kind == "pull_requests" { kind } else { "commits" };
        let output = scans.output(&["query", &format!("SELECT * FROM {table}")]);
        assert_eq!(output.status.success(), kind == "facts", "{kind}: {output:?}");
        // Reports about logs need none of it.
        scans.run(&["report", "cost"]);
        let _ = scans.output(&["archive", "repair"]);
        assert!(scans.run(&["archive", "check"]).contains("intact"), "{kind}");
        if matches!(kind, "commits" | "pull_requests") {
            assert_eq!(counts(&scans), [2, 2, 2], "{kind}");
        }
        scans.scan(&shop.directory);
        assert_eq!(counts(&scans)[..2], [2, 2], "{kind}");
    }
}

#[test]
fn archives_with_commits_are_merged_and_exported() {
    let (scans, _) = scanned();
    let other = Scans::new();
    let mut copy = Builder::new(&other.path("copy"));
    copy.remote("git@github.com:acme/shop.git");
    copy.commit("main", "2026-03-01T10:00:00Z", "Elsewhere", &[("b", Some("1\n"))]);
    other.scan(&copy.directory);
    other.run(&["archive", "merge", scans.archive().to_str().unwrap()]);
    assert_eq!(other.rows("SELECT DISTINCT repository FROM commits"), ["github.com/acme/shop"]);
    assert_eq!(counts(&other), [3, 3, 2]);
    let lake = other.path("lake");
    other.run(&["export", lake.to_str().unwrap(), "--as", "lake"]);
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_agentlogs"))
        .args(["query", "SELECT subject FROM commits ORDER BY committed_at", "--format", "csv", "--archive"])
        .arg(&lake)
        .output()
        .unwrap();
    assert_eq!(text(&output.stdout), "subject\nFirst\nSecond\nElsewhere\n", "{output:?}");
    // A lake is merged with its commits and pull requests, also after another export of it.
    let tables = |scans: &Scans| {
        ["commits", "commit_files", "pull_requests"].map(|table| {
            let mut rows = scans.rows(&format!("SELECT * FROM {table}"));
            rows.sort();
            rows
        })
    };
    let third = Scans::new();
    third.run(&["archive", "merge", lake.to_str().unwrap()]);
    assert_eq!(tables(&third), tables(&other));
    let again = third.path("lake");
    third.run(&["export", again.to_str().unwrap(), "--as", "lake"]);
    let fourth = Scans::new();
    fourth.run(&[
        "archive",
        "merge",
        lake.to_str().unwrap(),
        again.to_str().unwrap(),
        scans.archive().to_str().unwrap(),
    ]);
    assert_eq!(counts(&fourth), [3, 3, 2]);
    // A scan continues what was merged.
    copy.commit("main", "2026-03-02T10:00:00Z", "Later", &[("b", Some("2\n"))]);
    fourth.scan(&copy.directory);
    assert_eq!(counts(&fourth), [4, 4, 2]);
    // A damaged file of them is named.
    let damaged = again.join("_facts/history/part-0");
    fs::write(&damaged, "damage").unwrap();
    let output = Scans::new().output(&["archive", "merge", again.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("part-0"), "{output:?}");
}

#[test]
fn commits_are_deleted_by_repository_and_by_day() {
    let (scans, shop) = scanned();
    let printed = scans.run(&["archive", "forget", "--before", "2026-01-15"]);
    assert!(printed.contains("deleted 1 commit\n"), "{printed}");
    assert_eq!(scans.rows("SELECT subject FROM commits"), ["Second"]);
    assert_eq!(scans.rows("SELECT number FROM pull_requests"), ["2"]);
    let printed = scans.run(&["archive", "forget", "github.com/acme/*"]);
    assert!(printed.contains("deleted the commits and pull requests of github.com/acme/shop"), "{printed}");
    assert_eq!(counts(&scans), [0, 0, 0]);
    scans.scan(&shop.directory);
    assert_eq!(counts(&scans), [2, 2, 0]);
    let copy = scans.path("copy");
    assert!(!copy.exists() && rows(&scans.archive(), "SELECT * FROM commits").len() == 2);
}
