//! Histories of one repository: merges, squash merges, rebases, cherry-picks, reverts, moves, lines that stay and lines that go.

use super::builder::{Builder, Scans};

const CART: &str = "let total = price * count;\nlet taxes = total / 10;\n}\n";
const CART_FIXED: &str = "let total = price * count;\nlet taxes = total / 5;\nlet rounded = taxes.round();\n}\n";
const CART_AGAIN: &str = "let total = price * count;\nlet taxes = total / 5;\n}\n";

const ALL: &str = "SELECT subject, parents, on_default, branches, pull_request, merged_at, files, lines_added, lines_removed, \
    lines_surviving, lines_gone_soon FROM commits ORDER BY committed_at";

#[test]
fn a_merge_brings_its_commits() {
    let scans = Scans::new();
    let mut shop = Builder::new(&scans.path("shop"));
    shop.commit(
        "main",
        "2026-01-01T10:00:00Z",
        "Add a cart",
        &[("src/cart.rs", Some(CART)), ("README", Some("a shop\n"))],
    );
    shop.branch("fix", "main");
    shop.commit("fix", "2026-01-02T10:00:00Z", "Fix taxes", &[("src/cart.rs", Some(CART_FIXED))]);
    shop.commit("main", "2026-01-02T11:00:00Z", "Describe it", &[("README", Some("a shop for cats\n"))]);
    shop.merge("main", "fix", "2026-01-03T10:00:00Z", "Merge pull request #12 from ann/fix-cart\n\nFix");
    shop.commit("main", "2026-01-05T10:00:00Z", "Do not round (#13)", &[("src/cart.rs", Some(CART_AGAIN))]);
    shop.branch("next", "main");
    shop.commit("next", "2026-01-06T10:00:00Z", "Start the next step", &[("next", Some("next\n"))]);
    let printed = scans.scan(&shop.directory);
    assert!(printed.contains("shop: 6 new of 6 commits since 2026-01-01"), "{printed}");
    assert_eq!(
        scans.rows(ALL),
        [
            // Four lines; of them "a shop" went within 14 days, and so did the line of taxes.
            "Add a cart 0 true [] - 2026-01-01T10:00 2 4 0 2 2",
            // It has the branch that the merge names. "rounded" went two days after the merge.
            "Fix taxes 1 true [fix-cart] 12 2026-01-03T10:00 1 2 1 1 1",
            "Describe it 1 true [] - 2026-01-02T11:00 1 1 1 1 0",
            "Merge pull request #12 from ann/fix-cart 2 true [] 12 2026-01-03T10:00 - - - - -",
            "Do not round (#13) 1 true [] 13 2026-01-05T10:00 1 0 1 0 0",
            "Start the next step 1 false [next] - - 1 1 0 0 -",
        ]
    );
    assert_eq!(
        scans.rows("SELECT f.path, f.operation, f.lines_added, f.lines_removed, LENGTH(f.line_hashes) FROM commit_files f JOIN commits c \
            ON f.commit = c.commit WHERE c.subject IN ('Fix taxes', 'Add a cart') ORDER BY c.committed_at, path"),
        // Two of the lines of the cart have 12 characters or more.
        ["README create 1 0 0", "src/cart.rs create 3 0 16", "src/cart.rs update 2 1 16"]
    );
}

#[test]
fn equal_changes_have_equal_patches() {
    let scans = Scans::new();
    let mut shop = Builder::new(&scans.path("shop"));
    shop.commit("main", "2026-01-01T10:00:00Z", "Add a cart", &[("cart.rs", Some(CART)), ("other", Some("one\n"))]);
    shop.branch("fix", "main");
    let fix = shop.commit("fix", "2026-01-02T10:00:00Z", "Fix taxes", &[("cart.rs", Some(CART_FIXED))]);
    shop.commit("main", "2026-01-02T11:00:00Z", "Another file", &[("other", Some("two\n"))]);
    shop.branch("release", "main");
    // A rebase, a cherry-pick with another file before it, and a squash of a branch with one commit.
    let rebased = shop.pick("release", &fix, "2026-01-03T10:00:00Z", "Fix taxes");
    let squashed = shop.squash("main", "fix", "2026-01-04T10:00:00Z", "Fix taxes (#7)");
    // What undoes it, with and without a message.
    let parent = "let total = price * count;\nlet taxes = total / 10;\n}\n";
    let reverted = shop.commit("main", "2026-01-05T10:00:00Z", "Taxes are not ready", &[("cart.rs", Some(parent))]);
    let message = format!("Revert \"Fix taxes\"\n\nThis reverts commit {}.", &rebased[..10]);
    let by_message = shop.commit("release", "2026-01-06T10:00:00Z", &message, &[("cart.rs", Some("something else\n"))]);
    let again = shop.commit("main", "2026-01-07T10:00:00Z", "Taxes again", &[("cart.rs", Some(CART_FIXED))]);
    scans.scan(&shop.directory);
    let equal = scans.rows(
        "SELECT commit FROM commits WHERE patch_id IN (SELECT patch_id FROM commits WHERE subject = 'Fix taxes (#7)') \
        ORDER BY committed_at",
    );
    assert_eq!(equal.iter().collect::<Vec<_>>(), [&fix, &rebased, &squashed, &again]);
    assert_eq!(
        scans.rows("SELECT commit, reverts FROM commits WHERE reverts IS NOT NULL ORDER BY committed_at"),
        [
            format!("{reverted} {squashed}"),
            format!("{by_message} {rebased}"),
            // What undoes the undoing.
            format!("{again} {reverted}"),
        ]
    );
    let gone = "SELECT half_gone_at FROM commits WHERE pull_request = 7";
    assert!(scans.rows(gone)[0].starts_with("2026-01-05"), "{:?}", scans.rows(gone));
    // The squashed line of taxes went, and came again with another commit, which the line of the head counts for.
    assert_eq!(scans.rows("SELECT lines_surviving, lines_gone_soon FROM commits WHERE pull_request = 7"), ["0 2"]);
    assert_eq!(scans.rows("SELECT lines_surviving FROM commits WHERE subject = 'Taxes again'"), ["2"]);
}

#[test]
fn lines_survive_in_moved_files() {
    let scans = Scans::new();
    let mut shop = Builder::new(&scans.path("shop"));
    let lines = |range: std::ops::Range<usize>| {
        range.map(|number| format!("this is line {number}")).collect::<Vec<_>>().join("\n") + "\n"
    };
    shop.commit(
        "main",
        "2026-01-01T10:00:00Z",
        "Add",
        &[("old/a.rs", Some(&lines(0..10))), ("b.rs", Some(&lines(20..30)))],
    );
    // Moved as it is, and moved with changes.
    let changed = format!("{}a new last line\n", lines(20..29));
    shop.commit(
        "main",
        "2026-02-01T10:00:00Z",
        "Move",
        &[("old/a.rs", None), ("new/a.rs", Some(&lines(0..10))), ("b.rs", None), ("c.rs", Some(&changed))],
    );
    shop.commit("main", "2026-03-01T10:00:00Z", "Cut", &[("new/a.rs", Some(&lines(0..4)))]);
    shop.commit(
        "main",
        "2026-03-02T10:00:00Z",
        "Replace",
        &[("c.rs", None), ("d.rs", Some("nothing in common\nwith the other file\n"))],
    );
    scans.scan(&shop.directory);
    assert_eq!(
        scans.rows(
            "SELECT c.subject, f.path, f.old_path, f.operation, f.lines_added, f.lines_removed FROM commit_files f \
            JOIN commits c ON f.commit = c.commit ORDER BY c.committed_at, f.path"
        ),
        [
            "Add b.rs - create 10 0",
            "Add old/a.rs - create 10 0",
            "Move c.rs b.rs move 1 1",
            "Move new/a.rs old/a.rs move 0 0",
            "Cut new/a.rs - update 0 6",
            "Replace c.rs - delete 0 10",
            "Replace d.rs - create 2 0",
        ]
    );
    // Four lines of the first file are left. All lines that went did so after more than 14 days.
    assert_eq!(
        scans.rows("SELECT subject, lines_added, lines_surviving, lines_gone_soon FROM commits ORDER BY committed_at"),
        ["Add 20 4 0", "Move 1 0 0", "Cut 0 0 0", "Replace 2 2 0"]
    );
    // One line went with the move, six with the cut, and nine with the file in the end.
    assert_eq!(
        scans.rows(
            "SELECT subject FROM commits WHERE CAST(half_gone_at AS DATE) = DATE '2026-03-02' ORDER BY committed_at"
        ),
        ["Add", "Move"]
    );
    assert_eq!(
        scans.rows("SELECT subject FROM commits WHERE half_gone_at IS NULL ORDER BY committed_at"),
        ["Cut", "Replace"]
    );
}

#[test]
fn messages_and_notes_name_people_and_sessions() {
    let scans = Scans::new();
    let mut shop = Builder::new(&scans.path("shop"));
    shop.author = "Ann B.".to_owned();
    let message = "Fix taxes\n\nCo-Authored-By: Claude <noreply@anthropic.com>\nClaude-Session: https://claude.ai/code/session_01X\n";
    let first = shop.commit("main", "2026-01-01T10:00:00Z", message, &[("a", Some("a\n"))]);
    let second = shop.commit("main", "2026-01-02T10:00:00Z", "Write more", &[("a", Some("b\n"))]);
    let note =
        "a\n  0123 1-1\n---\n{\"prompts\": {\"0123\": {\"agent_id\": {\"tool\": \"claude\", \"id\": \"0f6c-1\"}}}}";
    shop.notes("refs/notes/ai", &[(&second, note), (&first, "no JSON")]);
    shop.set("refs/tags/v1", &first);
    shop.set("refs/tags/first", &first);
    scans.scan(&shop.directory);
    assert_eq!(
        scans.rows("SELECT author, coauthors, session_ids, tags FROM commits ORDER BY committed_at"),
        ["Ann B. [Claude] [session_01X] [first,v1]", "Ann B. [] [0f6c-1] []"]
    );
}

#[test]
fn a_merge_in_a_merged_branch_names_its_own_request() {
    let scans = Scans::new();
    let mut shop = Builder::new(&scans.path("shop"));
    shop.commit("main", "2026-01-01T10:00:00Z", "Begin", &[("a", Some("a\n"))]);
    for (name, time) in [("one", "2026-01-02T10:00:00Z"), ("two", "2026-01-02T11:00:00Z")] {
        shop.branch(name, "main");
        shop.commit(name, time, name, &[(name, Some("x\n"))]);
    }
    shop.branch("rollup", "main");
    shop.merge("rollup", "one", "2026-01-03T10:00:00Z", "Rollup merge of #1 - ann:one, r=bob");
    shop.merge("rollup", "two", "2026-01-03T11:00:00Z", "Rollup merge of #2 - ann:two, r=bob");
    shop.merge("main", "rollup", "2026-01-04T10:00:00Z", "Auto merge of #3 - bob:rollup-1, r=bob");
    scans.scan(&shop.directory);
    assert_eq!(
        scans.rows("SELECT subject, pull_request, branches, merged_at FROM commits WHERE subject IN ('one', 'two') ORDER BY subject"),
        ["one 1 [one] 2026-01-04T10:00", "two 2 [two] 2026-01-04T10:00"]
    );
}

#[test]
fn fetched_pull_requests_name_commits_before_a_squash() {
    let scans = Scans::new();
    let mut shop = Builder::new(&scans.path("shop"));
    shop.commit("main", "2026-01-01T10:00:00Z", "Begin", &[("a", Some("a\n"))]);
    shop.branch("fix", "main");
    shop.commit("fix", "2026-01-02T10:00:00Z", "First", &[("b", Some("b\n"))]);
    let end = shop.commit("fix", "2026-01-03T10:00:00Z", "Second", &[("c", Some("c\n"))]);
    shop.squash("main", "fix", "2026-01-04T10:00:00Z", "Fix (#7)");
    shop.delete("refs/heads/fix");
    shop.set("refs/pull/7/head", &end);
    shop.set("refs/merge-requests/8/head", &end);
    scans.scan(&shop.directory);
    assert_eq!(
        scans.rows("SELECT subject, pull_request, on_default FROM commits ORDER BY committed_at"),
        ["Begin - true", "First 7 false", "Second 7 false", "Fix (#7) 7 true"]
    );
}
