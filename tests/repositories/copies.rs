//! Copies of a repository, and its states over time: worktrees, clones, bare and shallow ones, later scans, rewritten branches.

use std::fs;

use super::builder::{Builder, Scans};

#[test]
fn a_later_scan_reads_only_new_commits() {
    let scans = Scans::new();
    let mut shop = Builder::new(&scans.path("shop"));
    let first = shop.commit("main", "2026-01-01T10:00:00Z", "First", &[("a", Some("the first line\n"))]);
    shop.commit("main", "2026-01-02T10:00:00Z", "Second", &[("b", Some("the second line\n"))]);
    assert!(scans.scan(&shop.directory).contains("shop: 2 new of 2 commits"));
    // What was read is not read again: not even if its files are gone.
    fs::remove_file(shop.object(&shop.blob(&first, "a"))).unwrap();
    shop.commit("main", "2026-02-02T10:00:00Z", "Third", &[("b", Some("another line\n"))]);
    assert!(scans.scan(&shop.directory).contains("shop: 1 new of 3 commits"));
    let rows = "SELECT subject, lines_added, lines_surviving, on_default FROM commits ORDER BY committed_at";
    assert_eq!(scans.rows(rows), ["First 1 1 true", "Second 1 0 true", "Third 1 1 true"]);
    assert!(scans.scan(&shop.directory).contains("shop: 0 new of 3 commits"));
    assert_eq!(scans.rows(rows).len(), 3);
}

#[test]
fn a_scan_since_a_day_is_widened() {
    let scans = Scans::new();
    let mut shop = Builder::new(&scans.path("shop"));
    for (day, subject) in
        [("2024-01-01", "Old"), ("2025-06-01", "Older than a year"), ("2025-12-01", "New"), ("2026-08-01", "Newest")]
    {
        shop.commit("main", &format!("{day}T10:00:00Z"), subject, &[("a", Some(subject))]);
    }
    let directory = shop.directory.to_str().unwrap();
    // No session ran there: a year before the newest commit.
    assert!(scans.run(&["git", "scan", directory]).contains("shop: 2 new of 2 commits since 2025-08-01"));
    assert!(
        scans
            .run(&["git", "scan", directory, "--since", "2025-01-01"])
            .contains("shop: 1 new of 3 commits since 2025-01-01")
    );
    // Later scans keep it.
    assert!(
        scans
            .run(&["git", "scan", directory, "--since", "2026-01-01"])
            .contains("shop: 0 new of 3 commits since 2025-01-01")
    );
    assert_eq!(
        scans.rows("SELECT subject, lines_added, lines_removed FROM commits ORDER BY committed_at"),
        ["Older than a year 1 1", "New 1 1", "Newest 1 1"]
    );
}

#[test]
fn a_rewritten_branch_keeps_its_former_commits() {
    let scans = Scans::new();
    let mut shop = Builder::new(&scans.path("shop"));
    let first = shop.commit("main", "2026-01-01T10:00:00Z", "First", &[("a", Some("1\n"))]);
    shop.branch("fix", "main");
    let before = shop.commit("fix", "2026-01-02T10:00:00Z", "Before", &[("b", Some("1\n"))]);
    scans.scan(&shop.directory);
    // A forced push; and an amended commit that only the log of HEAD has.
    shop.set("refs/heads/fix", &first);
    let amended = shop.commit("fix", "2026-01-03T10:00:00Z", "Amended", &[("b", Some("2\n"))]);
    shop.set("refs/heads/fix", &first);
    let after = shop.commit("fix", "2026-01-04T10:00:00Z", "After", &[("b", Some("3\n"))]);
    let log = format!(
        "{first} {amended} Ann <a@example.com> 1 +0000\tcommit\n{amended} {after} Ann <a@example.com> 1 +0000\tamend\n",
    );
    fs::create_dir_all(shop.git.join("logs")).unwrap();
    fs::write(shop.git.join("logs/HEAD"), log).unwrap();
    scans.scan(&shop.directory);
    assert_eq!(
        scans.rows("SELECT commit, branches, on_default FROM commits ORDER BY committed_at"),
        [
            format!("{first} [] true"),
            format!("{before} [] false"),
            format!("{amended} [] false"),
            format!("{after} [fix] false"),
        ]
    );
}

#[test]
fn worktrees_and_detached_heads_belong_to_their_repository() {
    let scans = Scans::new();
    let mut shop = Builder::new(&scans.path("shop"));
    let first = shop.commit("main", "2026-01-01T10:00:00Z", "First", &[("a", Some("1\n"))]);
    shop.branch("detached", "main");
    let detached = shop.commit("detached", "2026-01-02T10:00:00Z", "Detached", &[("a", Some("2\n"))]);
    shop.delete("refs/heads/detached");
    // A worktree whose head is detached at a commit of no branch.
    let (tree, git) = (scans.path("tree"), shop.git.join("worktrees/tree"));
    fs::create_dir_all(&tree).unwrap();
    fs::create_dir_all(&git).unwrap();
    fs::write(tree.join(".git"), format!("gitdir: {}\n", git.display())).unwrap();
    fs::write(git.join("HEAD"), format!("{detached}\n")).unwrap();
    fs::write(git.join("commondir"), "../..\n").unwrap();
    fs::write(git.join("gitdir"), format!("{}\n", tree.join(".git").display())).unwrap();
    let names = [&tree, &shop.directory].map(|path| path.to_str().unwrap());
    let printed = scans.run(&["git", "scan", names[0], names[1], "--since", "2026-01-01"]);
    assert_eq!(printed.matches("shop: 2 new of 2 commits").count(), 1, "{printed}");
    assert_eq!(
        scans.rows("SELECT commit, repository, on_default FROM commits ORDER BY committed_at"),
        [format!("{first} shop true"), format!("{detached} shop false")]
    );
    let directory = dunce::canonicalize(&shop.directory).unwrap();
    assert_eq!(scans.rows("SELECT DISTINCT directory FROM commits"), [directory.to_str().unwrap()]);
}

#[test]
fn clones_with_one_remote_are_one_repository() {
    let scans = Scans::new();
    let mut commits = Vec::new();
    for (name, url) in [("one", "git@github.com:acme/shop.git"), ("two", "https://github.com/acme/shop")] {
        let mut shop = Builder::new(&scans.path(name));
        shop.remote(url);
        let first = shop.commit("main", "2026-01-01T10:00:00Z", "First", &[("a", Some("1\n"))]);
        shop.set("refs/remotes/origin/main", &first);
        shop.set("refs/remotes/origin/HEAD", "ref: refs/remotes/origin/main");
        shop.branch(name, "main");
        commits.push(shop.commit(name, "2026-01-02T10:00:00Z", name, &[("b", Some(name))]));
        scans.scan(&shop.directory);
    }
    assert_eq!(
        scans.rows("SELECT repository, subject, branches, on_default FROM commits ORDER BY committed_at, subject"),
        [
            "github.com/acme/shop First [] true",
            "github.com/acme/shop one [one] false",
            "github.com/acme/shop two [two] false"
        ]
    );
    // Renamed: the same directory.
    let config = scans.path("one/.git/config");
    fs::write(&config, fs::read_to_string(&config).unwrap().replace("acme/shop", "acme/store")).unwrap();
    scans.scan(&scans.path("one"));
    assert_eq!(scans.rows("SELECT DISTINCT repository FROM commits"), ["github.com/acme/store"]);
}

#[test]
fn copies_without_a_remote_have_commits_in_common() {
    let scans = Scans::new();
    for (name, is_copy) in [("one/shop", true), ("two/shop", true), ("three/shop", false)] {
        let mut shop = Builder::new(&scans.path(name));
        let first = if is_copy { "First" } else { "Another first" };
        shop.commit("main", "2026-01-01T10:00:00Z", first, &[("a", Some("1\n"))]);
        scans.scan(&shop.directory);
        // A copy whose own commits are new.
        shop.commit("main", "2026-01-02T10:00:00Z", name, &[("a", Some(name))]);
        scans.scan(&shop.directory);
    }
    assert_eq!(
        scans.rows("SELECT subject, COUNT(*) AS count FROM commits GROUP BY subject ORDER BY subject"),
        ["Another first 1", "First 1", "one/shop 1", "three/shop 1", "two/shop 1"]
    );
}

#[test]
fn bare_and_shallow_repositories_are_read() {
    let scans = Scans::new();
    let mut bare = Builder::bare(&scans.path("tools.git"));
    bare.commit("main", "2026-01-01T10:00:00Z", "First", &[("a", Some("1\n"))]);
    assert!(scans.scan(&bare.directory).contains("tools: 1 new of 1 commit"));

    let mut shop = Builder::new(&scans.path("shop"));
    let first = shop.commit("main", "2026-01-01T10:00:00Z", "First", &[("a", Some("1\n"))]);
    let second = shop.commit("main", "2026-01-02T10:00:00Z", "Second", &[("a", Some("1\n2\n"))]);
    shop.commit("main", "2026-01-03T10:00:00Z", "Third", &[("a", Some("1\n2\n3\n"))]);
    let kept = fs::read(shop.object(&first)).unwrap();
    fs::remove_file(shop.object(&first)).unwrap();
    fs::write(shop.git.join("shallow"), format!("{second}\n")).unwrap();
    let printed = scans.scan(&shop.directory);
    assert!(printed.contains("shop: 2 new of 2 commits since 2026-01-01; a shallow clone"), "{printed}");
    let rows =
        "SELECT subject, parents, files, lines_added FROM commits WHERE repository = 'shop' ORDER BY committed_at";
    // What the second commit changed cannot be known.
    assert_eq!(scans.rows(rows), ["Second 1 - -", "Third 1 1 1"]);
    // Once the clone has all commits, the rest is read.
    fs::write(shop.object(&first), kept).unwrap();
    fs::remove_file(shop.git.join("shallow")).unwrap();
    scans.scan(&shop.directory);
    assert_eq!(scans.rows(rows), ["First 0 1 1", "Second 1 1 1", "Third 1 1 1"]);
}

#[test]
fn repositories_of_sessions_are_scanned_by_default() {
    let scans = Scans::new();
    let output = scans.output(&["git", "scan"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(super::builder::text(&output.stderr).contains("name one: agentlogs git scan REPO"));
    let mut shop = Builder::new(&scans.path("shop"));
    fs::create_dir_all(scans.path("shop/src")).unwrap();
    for (time, subject) in [("2026-01-10T10:00:00Z", "Old"), ("2026-02-10T10:00:00Z", "New")] {
        shop.commit("main", time, subject, &[("a", Some(subject))]);
    }
    let cwd = dunce::canonicalize(scans.path("shop/src")).unwrap();
    let log = format!(
        "{{\"type\":\"user\",\"sessionId\":\"0f6c1d5e-0000-4000-8000-000000000001\",\"cwd\":\"{}\",\"version\":\"2.0.0\",\
         \"timestamp\":\"2026-03-01T10:00:00.000Z\",\"uuid\":\"u1\",\"message\":{{\"role\":\"user\",\"content\":\"hi\"}}}}\n",
        cwd.display()
    );
    fs::write(scans.path("session.jsonl"), log).unwrap();
    scans.run(&["ingest", scans.path("session.jsonl").to_str().unwrap()]);
    // 30 days before the session.
    assert!(scans.run(&["git", "scan"]).contains("shop: 1 new of 1 commit since 2026-01-30"));
}
