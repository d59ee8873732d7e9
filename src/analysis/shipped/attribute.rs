//! The shares of sessions: the rules in their order, of which the first that finds a commit decides.

use std::collections::BTreeMap;

use super::history::{History, PullRequest};
use super::landed::{Landed, LandedBy, Landings};
use super::outcome::{Outcome, Outcomes};
use super::rule::Rule;
use super::rules::pull_request::Number;
use super::rules::{branch, content, hash, pull_request, time, trailer};
use super::session::Session;
use super::within::Within;

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

/// What a rule found.
struct Found {
    rule: Rule,
    /// Commits, each with the lines that the session contributed, as far as they are known.
    commits: BTreeMap<usize, f64>,
    /// Pull requests without known commits.
    pull_requests: Vec<Number>,
    /// The part of the session's cost that is divided.
    part: f64,
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
        let found = Rule::ALL.into_iter().find_map(|rule| find(rule, session, self.history, &own));
        let mut shares = found.map_or_else(Vec::new, |found| self.divide(found));
        for share in shares.iter_mut().filter(|share| share.pull_request.is_none()) {
            share.pull_request = self.linked(session, share);
        }
        shares
    }

    /// Divides the cost of a session over what a rule found. Equal changes count once.
    fn divide(&mut self, found: Found) -> Vec<Attribution> {
        let Found { rule, commits, pull_requests, part } = found;
        let mut landed: BTreeMap<usize, (usize, Landed, f64)> = BTreeMap::new();
        for (original, lines) in commits {
            let at = self.landings.of(original);
            landed.entry(at.commit).or_insert((original, at, 0.0)).2 += lines;
        }
        // A commit whose lines no change shows counts as one with a single line.
        let weight = |lines: f64| lines.max(1.0);
        let all: f64 = landed.values().map(|(.., lines)| weight(*lines)).sum();
        let count = u32::try_from(pull_requests.len()).unwrap_or(u32::MAX);
        let all = all + f64::from(count);
        let of_commits = landed.into_values().map(|(original, at, lines)| Attribution {
            rule,
            commit: Some(at.commit),
            landed_by: at.by,
            branch: self.branch(original, at),
            pull_request: self.pull_request(original, at),
            outcome: self.outcomes.of(original, at),
            share: part * weight(lines) / all,
        });
        let of_pull_requests = pull_requests.into_iter().map(|number| Attribution {
            rule,
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

/// What a rule finds of a session.
fn find(rule: Rule, session: &Session, history: &History, own: &[usize]) -> Option<Found> {
    let mut pull_requests = Vec::new();
    let mut part = 1.0;
    let commits = match rule {
        Rule::Hash => with_lines(session, history, hash::commits(session, history, own)),
        Rule::Trailer => with_lines(session, history, trailer::commits(session, history)),
        Rule::Time => with_lines(session, history, time::commits(session, history, own)),
        Rule::Content => {
            let found = content::commits(session, history, own);
            part = found.part;
            found.lines
        }
        Rule::PullRequest => {
            let found = pull_request::pull_requests(session, history);
            pull_requests = found.iter().filter(|(_, commits)| commits.is_empty()).map(|(number, _)| *number).collect();
            let commits = found.into_iter().flat_map(|(_, commits)| commits).collect();
            with_lines(session, history, commits)
        }
        Rule::Branch => with_lines(session, history, branch::commits(session, history, own)),
    };
    let is_any = !commits.is_empty() || !pull_requests.is_empty();
    is_any.then_some(Found { rule, commits, pull_requests, part })
}

/// Commits with the lines that a session contributed. A merge counts only if no other commit was found.
fn with_lines(session: &Session, history: &History, mut commits: Vec<usize>) -> BTreeMap<usize, f64> {
    let is_merge = |index: &usize| history.commits.get(*index).is_some_and(|commit| commit.is_merge);
    if !commits.iter().all(is_merge) {
        commits.retain(|index| !is_merge(index));
    }
    content::contributed(session, history, &commits)
}
