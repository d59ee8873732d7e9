//! The shares of sessions: the rules in their order, of which the first that finds a commit decides. Lines of a session that are not in
//! the commits which it is known to have made may be in others.

use std::collections::BTreeMap;

use super::history::{History, PullRequest};
use super::landed::{Landed, LandedBy, Landings};
use super::outcome::{Outcome, Outcomes};
use super::rule::Rule;
use super::rules::pull_request::Number;
use super::rules::{branch, content, hash, pull_request, time, trailer};
use super::session::Session;
use crate::analysis::rows::Within;

/// A part of a session's work.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Attribution {
    pub rule: Rule,
    /// The commit in which it counts; `None` for a pull request whose commits are not known.
    pub commit: Option<usize>,
    pub landed_by: Option<LandedBy>,
    /// The branch on which it was made.
    pub branch: Option<String>,
    pub pull_request: Option<Number>,
    pub outcome: Outcome,
    /// The part of the session's cost.
    pub share: f64,
}

/// What was found of a session.
#[derive(Default)]
struct Found {
    commits: BTreeMap<usize, Contribution>,
    /// Pull requests without known commits.
    pull_requests: Vec<Number>,
    /// The part of the session's cost that is divided.
    part: f64,
}

/// What a session contributed to a commit.
#[derive(Clone, Copy)]
struct Contribution {
    rule: Rule,
    /// Its lines in it, as far as they are known.
    lines: f64,
}

impl Found {
    /// Commits that a rule found, each with the lines of the session.
    fn by(rule: Rule, commits: BTreeMap<usize, f64>, part: f64) -> Self {
        let commits = commits.into_iter().map(|(commit, lines)| (commit, Contribution { rule, lines })).collect();
        Self { commits, pull_requests: Vec::new(), part }
    }

    fn is_empty(&self) -> bool {
        self.commits.is_empty() && self.pull_requests.is_empty()
    }
}

/// Attributes sessions to the commits of repositories.
pub(super) struct Attributor<'h> {
    history: &'h History,
    landings: Landings<'h>,
    outcomes: Outcomes<'h>,
}

impl<'h> Attributor<'h> {
    /// `newest` is the end of the last session.
    pub(super) fn new(history: &'h History, newest: Option<i64>, within: Within) -> Self {
        Self { history, landings: Landings::new(history), outcomes: Outcomes::new(history, newest, within) }
    }

    /// The shares of a session, which sum to at most 1. The rest is not attributable.
    pub(super) fn shares(&mut self, session: &Session) -> Vec<Attribution> {
        let own = self.history.repositories_of(session);
        let mut shares = self.divide(find(session, self.history, &own));
        for share in shares.iter_mut().filter(|share| share.pull_request.is_none()) {
            share.pull_request = self.linked(session, share);
        }
        shares
    }

    /// Divides the cost of a session over what was found. Equal changes count once, by the rule that proves most.
    fn divide(&mut self, found: Found) -> Vec<Attribution> {
        let Found { commits, pull_requests, part } = found;
        let mut landed: BTreeMap<usize, (usize, Landed, Contribution)> = BTreeMap::new();
        for (original, contribution) in commits {
            let at = self.landings.of(original);
            let none = Contribution { lines: 0.0, ..contribution };
            let (.., sum) = landed.entry(at.commit).or_insert((original, at, none));
            *sum = Contribution { rule: sum.rule.min(contribution.rule), lines: sum.lines + contribution.lines };
        }
        // A commit whose lines no change shows counts as one with a single line.
        let weight = |lines: f64| lines.max(1.0);
        let all: f64 = landed.values().map(|(.., it)| weight(it.lines)).sum();
        let count = u32::try_from(pull_requests.len()).unwrap_or(u32::MAX);
        let all = all + f64::from(count);
        let of_commits = landed.into_values().map(|(original, at, Contribution { rule, lines })| Attribution {
            rule,
            commit: Some(at.commit),
            landed_by: at.by,
            branch: self.branch(original, at),
            pull_request: self.pull_request(original, at),
            outcome: self.outcomes.of(original, at),
            share: part * weight(lines) / all,
        });
        let of_pull_requests = pull_requests.into_iter().map(|number| Attribution {
            rule: Rule::PullRequest,
            commit: None,
            landed_by: None,
            branch: self.listed(number).and_then(|it| it.branch.clone()),
            pull_request: Some(number),
            outcome: self.outcome_of(number),
            share: part / all,
        });
        of_commits.chain(of_pull_requests).collect()
    }

    /// The pull request of a commit: that of the commit in which it counts, else its own.
    fn pull_request(&self, original: usize, landed: Landed) -> Option<Number> {
        [landed.commit, original].into_iter().find_map(|index| {
            let commit = self.history.commits.get(index)?;
            let listed = || self.history.pull_request_of(index).map(|it| it.number);
            Some((commit.repository, commit.pull_request.or_else(listed)?))
        })
    }

    /// The only pull request of the repository of a commit that the log of its session links.
    fn linked(&self, session: &Session, share: &Attribution) -> Option<Number> {
        let commit = self.history.commits.get(share.commit?)?;
        let numbers = pull_request::numbers(session, self.history).into_iter();
        let mut numbers = numbers.filter(|(repository, _)| *repository == commit.repository);
        numbers.next().filter(|_| numbers.next().is_none())
    }

    /// The branch of a commit: its own, else that of its pull request.
    fn branch(&self, original: usize, landed: Landed) -> Option<String> {
        [original, landed.commit].into_iter().find_map(|index| {
            let own = self.history.commits.get(index)?.branches.first();
            own.or_else(|| self.history.pull_request_of(index)?.branch.as_ref()).cloned()
        })
    }

    fn listed(&self, (repository, number): Number) -> Option<&PullRequest> {
        self.history.pull_requests.iter().find(|it| (it.repository, it.number) == (repository, number))
    }

    fn outcome_of(&self, number: Number) -> Outcome {
        Outcome::of_state(self.listed(number).map_or("open", |it| &it.state))
    }
}

/// What the rules find of a session: that of the first rule which finds more than merges. Merges that the session made count where only
/// the weakest rule finds something else.
fn find(session: &Session, history: &History, own: &[usize]) -> Found {
    let mut merges = Found::default();
    for rule in Rule::ALL {
        if rule == Rule::Branch && !merges.is_empty() {
            break;
        }
        let found = find_by(rule, session, history, own);
        let has_other = found.commits.keys().any(|index| !history.is_merge(*index));
        if has_other || !found.pull_requests.is_empty() {
            return found;
        }
        merges = if merges.is_empty() { found } else { merges };
    }
    merges
}

/// What a rule finds of a session.
fn find_by(rule: Rule, session: &Session, history: &History, own: &[usize]) -> Found {
    match rule {
        Rule::Hash => with_rest(rule, session, history, own, hash::commits(session, history, own)),
        Rule::Trailer => with_rest(rule, session, history, own, trailer::commits(session, history)),
        Rule::Time => with_rest(rule, session, history, own, time::commits(session, history, own)),
        Rule::Content => {
            let found = content::commits(session, session.changes.iter(), history, own);
            Found::by(rule, found.lines, found.part)
        }
        Rule::PullRequest => {
            let found = pull_request::pull_requests(session, history);
            let unknown = found.iter().filter(|(_, commits)| commits.is_empty()).map(|(number, _)| *number).collect();
            let commits = found.into_iter().flat_map(|(_, commits)| commits).collect();
            let contributed = content::contributed(session, history, &without_merges(history, commits));
            Found { pull_requests: unknown, ..Found::by(rule, contributed.lines, 1.0) }
        }
        Rule::Branch => {
            let commits = without_merges(history, branch::commits(session, history, own));
            Found::by(rule, content::contributed(session, history, &commits).lines, 1.0)
        }
    }
}

/// Commits that the session is known to have made, and those that contain the lines which are in none of them: the session went on, or
/// a human committed the rest.
fn with_rest(rule: Rule, session: &Session, history: &History, own: &[usize], commits: Vec<usize>) -> Found {
    let commits = without_merges(history, commits);
    let contributed = content::contributed(session, history, &commits);
    let mut found = Found::by(rule, contributed.lines, 1.0);
    if commits.iter().any(|index| !history.is_merge(*index)) {
        let rest = content::commits(session, contributed.rest.into_iter(), history, own);
        for (commit, lines) in rest.lines {
            let none = Contribution { rule: Rule::Content, lines: 0.0 };
            found.commits.entry(commit).or_insert(none).lines += lines;
        }
    }
    found
}

/// The commits without merges, unless all are merges.
fn without_merges(history: &History, mut commits: Vec<usize>) -> Vec<usize> {
    if commits.iter().any(|index| !history.is_merge(*index)) {
        commits.retain(|index| !history.is_merge(*index));
    }
    commits
}
