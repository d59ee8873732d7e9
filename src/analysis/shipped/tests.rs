//! Histories whose answers are computed by hand, and properties of all histories.

use proptest::prelude::*;

use super::attribute::{Attribution, Attributor};
use super::history::{Commit, File, History, PullRequest, Repository};
use super::outcome::Outcome;
use super::rule::Rule;
use super::session::{Call, Change, Session};
use crate::analysis::rows::Within;
use crate::base::time::{DAY_MICROS as DAY, HOUR_MICROS as HOUR, SECOND_MICROS as SECOND};

const REPOSITORY: &str = "github.com/acme/shop";

/// A commit of one file with these lines, on the default branch.
fn commit(hash: &str, time: i64, path: &str, lines: &[u32]) -> Commit {
    Commit {
        hash: hash.repeat(40 / hash.len()),
        time: Some(time),
        on_default: Some(true),
        merged_at: Some(time),
        lines_added: Some(lines.len().try_into().unwrap()),
        patch_id: Some(format!("{path} {lines:?}")),
        author: Some("Ann".to_owned()),
        files: vec![File { path: path.to_owned(), hashes: lines.to_vec() }],
        ..Commit::default()
    }
}

/// The same on a branch.
fn on_branch(branch: &str, commit: Commit) -> Commit {
    Commit { on_default: Some(false), merged_at: None, branches: vec![branch.to_owned()], ..commit }
}

fn history(commits: Vec<Commit>) -> History {
    with_pull_requests(commits, Vec::new())
}

fn with_pull_requests(commits: Vec<Commit>, pull_requests: Vec<PullRequest>) -> History {
    let repository = Repository { name: REPOSITORY.to_owned(), ..Repository::default() };
    History::new(vec![repository], commits, pull_requests)
}

/// A session of the hours 1 to 2.
fn session() -> Session {
    Session {
        id: "s1".to_owned(),
        repository: Some(REPOSITORY.to_owned()),
        branch: Some("feature".to_owned()),
        started_at: Some(HOUR),
        ended_at: Some(2 * HOUR),
        ..Session::default()
    }
}

fn change(path: &str, time: i64, lines: &[u32]) -> Change {
    let lines_added = lines.len().try_into().ok();
    Change { path: format!("/work/shop/{path}"), time: Some(time), sketch: lines.to_vec(), lines_added }
}

fn printed(hash: &str) -> Call {
    Call { started_at: Some(HOUR), ended_at: Some(HOUR + SECOND), printed: vec![hash.to_owned()] }
}

/// The shares in one line: `RULE HASH SHARE OUTCOME`, with the first digit of each hash.
fn shares(history: &History, session: &Session) -> String {
    let words = |it: Attribution| {
        let hash = it.commit.and_then(|index| history.commits[index].hash.get(..1)).unwrap_or("-");
        let request = it.pull_request.map(|(_, number)| format!("#{number}")).unwrap_or_default();
        format!("{} {hash}{request} {:.2} {}", it.rule.as_str(), it.share, it.outcome.as_str())
    };
    let found = Attributor::new(history, session.ended_at, Within::default()).shares(session);
    found.into_iter().map(words).collect::<Vec<_>>().join(", ")
}

#[test]
fn a_printed_hash_is_a_commit_of_the_session() {
    let commits = history(vec![
        commit("a", HOUR + SECOND, "a.rs", &[1, 2, 3]),
        commit("b", HOUR + 60 * SECOND, "b.rs", &[4]),
        // Made before the session: a push prints it, too.
        commit("c", SECOND, "c.rs", &[5]),
    ]);
    let with = |calls: Vec<Call>, changes: Vec<Change>| Session { calls, changes, ..session() };
    assert_eq!(shares(&commits, &with(vec![printed("aaaaaaa")], Vec::new())), "hash a 1.00 merged");
    assert_eq!(shares(&commits, &with(vec![printed("ccccccc")], Vec::new())), "");
    assert_eq!(shares(&commits, &with(vec![printed("ddddddd")], Vec::new())), "");
    let rebased = Commit { authored_at: Some(0), ..commit("e", HOUR + SECOND, "a.rs", &[1]) };
    assert_eq!(shares(&history(vec![rebased]), &with(vec![printed("eeeeeee")], Vec::new())), "");
    let later = Call { started_at: Some(HOUR + 59 * SECOND), ended_at: Some(HOUR + 61 * SECOND), ..printed("bbbbbbb") };
    // By the lines that it contributed: three of one commit, and none that are known of the other, which count as one.
    let both = with(vec![printed("aaaaaaa"), later], vec![change("a.rs", HOUR, &[1, 2, 3])]);
    assert_eq!(shares(&commits, &both), "hash a 0.75 merged, hash b 0.25 merged");
}

#[test]
fn what_a_commit_of_the_session_does_not_contain_is_found_by_its_lines() {
    // The session made one commit; a human committed the rest, and threw one file away.
    let commits = history(vec![
        commit("a", HOUR + SECOND, "a.rs", &[1, 2, 3]),
        commit("b", 3 * HOUR, "b.rs", &[4, 5]),
        commit("c", 4 * HOUR, "a.rs", &[1, 2, 3]),
    ]);
    let wrote = |path: &str, lines: &[u32]| change(path, HOUR, lines);
    let changes = vec![wrote("a.rs", &[1, 2, 3]), wrote("b.rs", &[4, 5]), wrote("x.rs", &[6, 7, 8])];
    let made = Session { calls: vec![printed("aaaaaaa")], changes, ..session() };
    assert_eq!(shares(&commits, &made), "hash a 0.60 merged, content b 0.40 merged");
    // Commits of both rules count once in the squash that contains them, by the rule that proves most.
    let mut squash = commit("c", 9 * HOUR, "a.rs", &[1, 2, 3]);
    squash.files.push(File { path: "b.rs".to_owned(), hashes: vec![4, 5] });
    squash.patch_id = Some("squash".to_owned());
    let branch = |hash: &str, path: &str, lines: &[u32]| on_branch("feature", commit(hash, HOUR + SECOND, path, lines));
    let commits = history(vec![branch("b", "b.rs", &[4, 5]), branch("a", "a.rs", &[1, 2, 3]), squash]);
    assert_eq!(shares(&commits, &made), "hash c 1.00 merged");
}

#[test]
fn a_merge_of_the_session_counts_only_without_a_commit() {
    let merge = Commit { is_merge: true, files: Vec::new(), ..commit("a", HOUR + SECOND, "", &[]) };
    let committed = commit("b", 3 * HOUR, "b.rs", &[4, 5]);
    let next = on_branch("feature", commit("c", 3 * HOUR, "c.rs", &[]));
    let commits = history(vec![merge, committed, next]);
    let made = Session { calls: vec![printed("aaaaaaa")], ..session() };
    let wrote = Session { changes: vec![change("b.rs", HOUR, &[4, 5])], ..made.clone() };
    assert_eq!(shares(&commits, &wrote), "content b 1.00 merged");
    assert_eq!(shares(&commits, &made), "hash a 1.00 merged");
}

#[test]
fn files_elsewhere_are_work_on_what_was_committed() {
    let commits = history(vec![commit("a", 3 * HOUR, "src/a.rs", &[1, 2])]);
    let in_file = |path: &str| Change { path: path.to_owned(), ..change("", HOUR, &[7, 8]) };
    let with = |path: &str| {
        let changes = vec![change("src/a.rs", HOUR, &[1, 2]), in_file(path)];
        shares(&commits, &Session { changes, directories: vec!["/work/shop/".to_owned()], ..session() })
    };
    for (path, expected) in [
        ("/home/ann/.claude/plans/a.md", "content a 1.00 merged"),
        ("~/notes.md", "content a 1.00 merged"),
        ("C:/notes.md", "content a 1.00 merged"),
        ("/work/shop/.git/hooks/pre-commit", "content a 1.00 merged"),
        ("/work/shopping/b.rs", "content a 1.00 merged"),
        ("/work/shop/src/b.rs", "content a 0.50 merged"),
        ("src/b.rs", "content a 0.50 merged"),
    ] {
        assert_eq!(with(path), expected, "{path}");
    }
}

#[test]
fn the_lines_of_a_session_in_an_unknown_directory_are_found_by_its_files() {
    let commits = history(vec![commit("a", 3 * HOUR, "src/a.rs", &[1, 2])]);
    let of = |repository: Option<&str>, changes: Vec<Change>| {
        let directories = vec!["/tmp/copy".to_owned()];
        let repository = repository.map(str::to_owned);
        shares(&commits, &Session { repository, directories, changes, ..session() })
    };
    let wrote = |path: &str, lines: &[u32]| Change { path: format!("/tmp/copy/{path}"), ..change("", HOUR, lines) };
    let own = wrote("src/a.rs", &[1, 2]);
    assert_eq!(of(None, vec![own.clone()]), "content a 1.00 merged");
    assert_eq!(of(Some("github.com/acme/other"), vec![own.clone()]), "");
    // Most of its files are of another repository.
    assert_eq!(of(None, vec![own, wrote("x.rs", &[3]), wrote("y.rs", &[4])]), "");
}

#[test]
fn a_trailer_names_the_session() {
    let named = Commit { sessions: vec!["https://example.com/code/s1".to_owned()], ..commit("a", 90 * HOUR, "a", &[]) };
    assert_eq!(shares(&history(vec![named.clone()]), &session()), "trailer a 1.00 merged");
    // A branch of transcripts, and one of code.
    let kept = on_branch(
        "transcripts",
        Commit { files: vec![File { path: "00/s1.jsonl".to_owned(), hashes: Vec::new() }], ..named.clone() },
    );
    assert_eq!(shares(&history(vec![kept]), &session()), "");
    let changed = Session { changes: vec![change("a.rs", HOUR, &[1])], ..session() };
    let file = File { path: "a.rs".to_owned(), hashes: Vec::new() };
    let code = on_branch("feature", Commit { files: vec![file], ..named });
    assert_eq!(shares(&history(vec![code]), &changed), "trailer a 1.00 open");
}

#[test]
fn a_commit_that_was_made_during_a_silent_call_is_of_the_session() {
    let merge = Commit { is_merge: true, ..commit("c", HOUR + SECOND, "", &[]) };
    let commits = history(vec![commit("a", HOUR + SECOND, "a", &[]), commit("b", HOUR + 90 * SECOND, "b", &[]), merge]);
    let silent = Call { printed: Vec::new(), ..printed("") };
    assert_eq!(shares(&commits, &Session { calls: vec![silent.clone()], ..session() }), "time a 1.00 merged");
    // Of a call without an end, two minutes are the tolerance.
    let open = Call { ended_at: None, ..silent };
    let both = "time a 0.50 merged, time b 0.50 merged";
    assert_eq!(shares(&commits, &Session { calls: vec![open], ..session() }), both);
    let other =
        Session { calls: vec![silent_call()], repository: Some("github.com/acme/other".to_owned()), ..session() };
    assert_eq!(shares(&commits, &other), "");
}

fn silent_call() -> Call {
    Call { started_at: Some(HOUR), ended_at: Some(HOUR + SECOND), printed: Vec::new() }
}

#[test]
fn lines_that_were_added_are_found_in_commits() {
    let commits = history(vec![
        // A human changed one of the three lines before the commit, and added two.
        commit("a", 3 * HOUR, "src/a.rs", &[1, 2, 8, 9]),
        // Of these lines only one is in the commit.
        commit("b", 3 * HOUR, "src/b.rs", &[4]),
        commit("c", HOUR / 2, "src/c.rs", &[10, 11]),
    ]);
    let of = |changes: Vec<Change>| shares(&commits, &Session { changes, ..session() });
    assert_eq!(of(vec![change("src/a.rs", HOUR, &[1, 2, 3])]), "content a 1.00 merged");
    // Three of six lines are in files that were committed.
    let half = vec![change("src/a.rs", HOUR, &[1, 2, 3]), change("src/b.rs", HOUR, &[4, 5, 6])];
    assert_eq!(of(half), "content a 0.50 merged");
    // The path within a directory of the repository.
    let relative = Change { path: "a.rs".to_owned(), ..change("", HOUR, &[1, 2]) };
    assert_eq!(of(vec![relative]), "content a 1.00 merged");
    // Another file, an earlier commit, and one that is too late.
    assert_eq!(of(vec![change("src/x.rs", HOUR, &[1, 2])]), "");
    assert_eq!(of(vec![change("src/c.rs", HOUR, &[10, 11])]), "");
    assert_eq!(of(vec![change("src/a.rs", 2 * HOUR - 14 * DAY, &[1, 2])]), "");
    // A file that was written twice is committed once.
    let twice = vec![change("src/a.rs", HOUR, &[20, 21, 22]), change("src/a.rs", HOUR, &[1, 2, 3])];
    assert_eq!(of(twice), "content a 1.00 merged");
}

#[test]
fn a_rebase_and_a_cherry_pick_count_once() {
    let original = on_branch("feature", commit("a", HOUR + SECOND, "a.rs", &[1, 2]));
    let rebased = commit("b", 5 * HOUR, "a.rs", &[1, 2]);
    let picked = on_branch("release", commit("c", 6 * HOUR, "a.rs", &[1, 2]));
    let commits = history(vec![original, rebased, picked]);
    let calls = vec![printed("aaaaaaa"), printed("ccccccc")];
    assert_eq!(shares(&commits, &Session { calls, ..session() }), "hash b 1.00 merged");
}

#[test]
fn a_squash_contains_its_commits() {
    let first = on_branch("feature", commit("a", HOUR + SECOND, "a.rs", &[1, 2]));
    let second = on_branch("feature", commit("b", HOUR + SECOND, "b.rs", &[3, 4]));
    let mut squash = commit("c", 9 * HOUR, "a.rs", &[1, 2]);
    squash.files.push(File { path: "b.rs".to_owned(), hashes: vec![3, 4] });
    (squash.pull_request, squash.patch_id) = (Some(12), Some("squash".to_owned()));
    let calls = vec![printed("aaaaaaa"), printed("bbbbbbb")];
    let made = Session { calls, ..session() };
    let branch = vec![first, second];
    assert_eq!(shares(&history([branch.clone(), vec![squash]].concat()), &made), "hash c#12 1.00 merged");
    // A human rewrote the lines before the squash: only the hosting service knows.
    let other = Commit { pull_request: Some(12), ..commit("c", 9 * HOUR, "a.rs", &[7]) };
    let request = |state: &str| PullRequest {
        number: 12,
        state: state.to_owned(),
        branch: Some("feature".to_owned()),
        merged_at: (state == "merged").then_some(9 * HOUR),
        merge_commit: (state == "merged").then(|| "c".repeat(40)),
        ..PullRequest::default()
    };
    let with = |state| with_pull_requests([branch.clone(), vec![other.clone()]].concat(), vec![request(state)]);
    assert_eq!(shares(&with("merged"), &made), "hash c#12 1.00 merged");
    assert_eq!(shares(&with("closed"), &made), "hash a#12 0.50 closed, hash b#12 0.50 closed");
    assert_eq!(shares(&with("open"), &made), "hash a#12 0.50 open, hash b#12 0.50 open");
    assert_eq!(shares(&history([branch, vec![other]].concat()), &made), "hash a 0.50 open, hash b 0.50 open");
}

#[test]
fn an_amended_commit_counts_as_the_one_that_replaced_it() {
    let dangling = Commit { branches: Vec::new(), ..on_branch("", commit("a", HOUR + SECOND, "a.rs", &[1, 2])) };
    let amended = on_branch("feature", commit("b", HOUR + 2 * SECOND, "a.rs", &[1, 2, 3]));
    let calls = vec![printed("aaaaaaa"), printed("bbbbbbb")];
    let made = Session { calls, ..session() };
    assert_eq!(shares(&history(vec![dangling.clone(), amended]), &made), "hash b 1.00 open");
    assert_eq!(shares(&history(vec![dangling]), &made), "hash a 1.00 open");
}

#[test]
fn a_merge_brings_its_commits_in() {
    let mut made = commit("a", HOUR + SECOND, "a.rs", &[1, 2]);
    (made.merged_at, made.pull_request, made.branches) = (Some(9 * HOUR), Some(12), vec!["feature".to_owned()]);
    let mut merge = commit("b", 9 * HOUR, "", &[]);
    (merge.is_merge, merge.pull_request, merge.files) = (true, Some(12), Vec::new());
    let commits = vec![made, merge];
    let with = |calls: Vec<Call>| Session { calls, ..session() };
    assert_eq!(shares(&history(commits.clone()), &with(vec![printed("aaaaaaa")])), "hash a#12 1.00 merged");
    // The revert of the merge reverts what it brought in; the revert of the revert brings it back.
    let revert =
        |hash: &str, time: i64, of: &str| Commit { reverts: Some(of.repeat(7)), ..commit(hash, time, "", &[]) };
    let reverted = [commits.clone(), vec![revert("c", 10 * HOUR, "b")]].concat();
    assert_eq!(shares(&history(reverted.clone()), &with(vec![printed("aaaaaaa")])), "hash a#12 1.00 reverted");
    let back = [reverted, vec![revert("d", 11 * HOUR, "c")]].concat();
    assert_eq!(shares(&history(back), &with(vec![printed("aaaaaaa")])), "hash a#12 1.00 merged");
    // The link of the log, without a commit of the session.
    let linked = Session { pull_requests: vec![format!("https://{REPOSITORY}/pull/12")], ..session() };
    assert_eq!(shares(&history(commits), &linked), "pull_request a#12 1.00 merged");
}

#[test]
fn two_agents_on_one_branch_have_their_own_commits() {
    let commits = vec![
        on_branch("feature", commit("a", HOUR + SECOND, "a.rs", &[1, 2])),
        on_branch("feature", commit("b", HOUR + SECOND, "b.rs", &[3, 4])),
    ];
    let of = |path: &str, lines: &[u32]| Session { changes: vec![change(path, HOUR, lines)], ..session() };
    assert_eq!(shares(&history(commits.clone()), &of("a.rs", &[1, 2])), "content a 1.00 open");
    assert_eq!(shares(&history(commits.clone()), &of("b.rs", &[3, 4])), "content b 1.00 open");
    // Both wrote lines of one commit, which each of them has.
    assert_eq!(shares(&history(commits), &of("b.rs", &[3, 4, 5])), "content b 1.00 open");
}

#[test]
fn the_branch_of_a_session_is_bounded_in_time() {
    let at = |hash: &str, time: i64| on_branch("feature", commit(hash, time, hash, &[]));
    let of = |commits: Vec<Commit>| shares(&history(commits), &session());
    assert_eq!(of(vec![at("a", HOUR), at("b", 2 * HOUR), at("c", 9 * HOUR)]), "branch a 0.50 open, branch b 0.50 open");
    assert_eq!(of(vec![at("a", 0), at("b", 9 * HOUR), at("c", 10 * HOUR)]), "branch b 1.00 open");
    assert_eq!(of(vec![at("a", 0), at("b", 2 * HOUR + 4 * DAY)]), "");
    assert_eq!(of(vec![on_branch("other", commit("a", HOUR, "a", &[]))]), "");
    // A rebase made them anew.
    let written = |hash: &str, time: i64| Commit { authored_at: Some(time), ..at(hash, 50 * HOUR) };
    assert_eq!(of(vec![written("a", HOUR), written("b", 9 * HOUR)]), "branch a 1.00 open");
    // The commit of the session is known to be another one.
    let unknown = Session { calls: vec![printed("eeeeeee")], ..session() };
    assert_eq!(shares(&history(vec![at("a", HOUR)]), &unknown), "");
}

#[test]
fn the_outcome_of_a_commit() {
    let made = || commit("a", HOUR + SECOND, "a.rs", &[1, 2, 3, 4]);
    let other = |time: i64| commit("f", time, "z", &[9]);
    let of = |commits: Vec<Commit>, within: &str| {
        let of_session = Session { calls: vec![printed("aaaaaaa")], ..session() };
        let history = history(commits);
        Attributor::new(&history, None, within.parse().unwrap()).shares(&of_session)[0].outcome
    };
    let gone = |time: i64| Commit { half_gone_at: Some(HOUR + SECOND + time), ..made() };
    let soon = || on_branch("feature", Commit { hash: "e".repeat(40), ..other(10 * DAY) });
    for (name, commits, expected) in [
        ("merged", vec![made()], Outcome::Merged),
        ("half of it is gone later", vec![gone(14 * DAY + 1)], Outcome::Merged),
        ("half of it is gone soon", vec![gone(14 * DAY)], Outcome::Rewritten),
        ("on a branch", vec![on_branch("feature", made()), other(2 * DAY)], Outcome::Open),
        ("long ago", vec![on_branch("feature", made()), other(20 * DAY)], Outcome::Abandoned),
        ("the branch goes on", vec![on_branch("feature", made()), soon(), other(20 * DAY)], Outcome::Open),
        ("without a default branch", vec![Commit { on_default: None, ..made() }], Outcome::Open),
        ("reverted", vec![made(), Commit { reverts: Some("a".repeat(40)), ..other(DAY) }], Outcome::Reverted),
        (
            "the revert is reverted",
            vec![
                gone(DAY),
                Commit {
                    reverts: Some("a".repeat(40)),
                    merged_at: gone(DAY).half_gone_at,
                    ..commit("c", 2 * DAY, "z", &[9])
                },
                Commit { reverts: Some("c".repeat(40)), ..commit("d", 3 * DAY, "z", &[9]) },
            ],
            Outcome::Merged,
        ),
    ] {
        assert_eq!(of(commits, "14d"), expected, "{name}");
    }
    let abandoned = || vec![on_branch("feature", made()), other(20 * DAY)];
    assert_eq!([of(abandoned(), "19d"), of(abandoned(), "3w")], [Outcome::Abandoned, Outcome::Open]);
    assert_eq!(
        [of(vec![gone(20 * DAY)], "19d"), of(vec![gone(20 * DAY)], "3w")],
        [Outcome::Merged, Outcome::Rewritten]
    );
}

#[test]
fn the_repository_of_a_session_is_found_by_its_name_or_its_directory() {
    let scanned =
        |name: &str, directory: &str| Repository { name: name.to_owned(), directories: [directory.to_owned()].into() };
    let history = History::new(
        vec![scanned(REPOSITORY, "/home/ann/shop"), scanned("tools", "/work/tools")],
        Vec::new(),
        Vec::new(),
    );
    let of = |repository: Option<&str>, directory: &str| {
        let directories = vec![directory.to_owned()];
        history.repositories_of(&Session {
            repository: repository.map(str::to_owned),
            directories,
            ..Session::default()
        })
    };
    assert_eq!(of(Some(REPOSITORY), "/"), [0]);
    assert_eq!(of(Some("shop"), "/"), [0]);
    assert_eq!(of(Some("github.com/other/shop"), "/home/ann/shop"), [0; 0]);
    assert_eq!(of(None, "/home/ann/shop/src"), [0]);
    assert_eq!(of(None, "/work/tools"), [1]);
    assert_eq!(of(None, "/home/ben/shop/"), [0]);
    assert_eq!(of(None, "/home/ben/shops"), [0; 0]);
}

proptest! {
    /// Whatever a history and a log contain: shares are between 0 and 1, and sum to at most 1.
    #[test]
    fn shares_sum_to_at_most_one(
        commits in prop::collection::vec((0..4_u8, 0..100_i64, 0..4_u32, 0..8_u32, any::<bool>(), any::<bool>()), 0..12),
        changes in prop::collection::vec((0..100_i64, 0..4_u32, 0..8_u32), 0..6),
        calls in prop::collection::vec((0..100_i64, prop::option::of(0..4_u8)), 0..4),
        linked in prop::collection::vec(0..3_i64, 0..3),
    ) {
        let commits = commits.into_iter().map(|(hash, time, path, lines, on_default, is_merge)| {
            let lines: Vec<u32> = (0..lines).collect();
            let made = commit(&hash.to_string(), time * HOUR, &path.to_string(), &lines);
            let made = if on_default { made } else { on_branch("feature", made) };
            Commit { is_merge, pull_request: Some(i64::from(hash) - 1).filter(|it| *it >= 0), ..made }
        });
        let history = history(commits.collect());
        let session = Session {
            changes: changes.into_iter().map(|(time, path, lines)| {
                change(&path.to_string(), time * HOUR, &(0..lines).collect::<Vec<_>>())
            }).collect(),
            calls: calls.into_iter().map(|(time, hash)| Call {
                started_at: Some(time * HOUR),
                ended_at: Some((time + 1) * HOUR),
                printed: hash.map(|hash| hash.to_string().repeat(7)).into_iter().collect(),
            }).collect(),
            pull_requests: linked.into_iter().map(|number| format!("https://{REPOSITORY}/pull/{number}")).collect(),
            ended_at: Some(90 * HOUR),
            ..session()
        };
        let shares = Attributor::new(&history, session.ended_at, Within::default()).shares(&session);
        let sum: f64 = shares.iter().map(|share| share.share).sum();
        prop_assert!(sum <= 1.0 + 1e-9, "{shares:?}");
        prop_assert!(shares.iter().all(|share| share.share > 0.0 && share.share <= 1.0), "{shares:?}");
        // Each commit is in one of them, and one rule decides, besides the content of what it did not find.
        let mut found: Vec<_> = shares.iter().map(|share| (share.commit, share.pull_request)).collect();
        found.sort_unstable();
        found.dedup();
        prop_assert_eq!(found.len(), shares.len());
        let mut rules: Vec<Rule> = shares.iter().map(|share| share.rule).filter(|rule| *rule != Rule::Content).collect();
        rules.dedup();
        let has_content = shares.iter().any(|share| share.rule == Rule::Content);
        prop_assert!(rules.len() <= 1 && (!has_content || rules.iter().all(|rule| *rule < Rule::Content)), "{shares:?}");
    }
}
