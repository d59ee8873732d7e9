//! Requests that a session passed on to the agent of another program.

use serde::{Deserialize, Serialize};

use crate::base::text::Symbol;
use crate::base::time::Time;
use crate::model::id_hash::link;

/// An agent starts at most so many milliseconds after the request for which it is started.
const START_MS: i64 = 60_000;

/// The times of starts are linked by intervals of so many milliseconds: few of the sessions that a machine starts in one directory at
/// nearly the same time share one.
const INTERVAL_MS: i64 = 5_000;

/// Requests that an agent of another program answered, in a session of its own that the log does not name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Delegation {
    /// The provider that its turns name.
    pub provider: Option<Symbol>,
    /// The runtime of the agent.
    pub runtime: Symbol,
    /// When the session was asked, in order. The agent may have started after any of these times.
    pub asked_at: Vec<Time>,
    /// The entrypoints of sessions of that runtime that a person started.
    pub interactive: Vec<Symbol>,
}

impl Delegation {
    /// The links to the sessions that it may have started in this directory.
    pub fn links(&self, cwd: &str) -> impl Iterator<Item = u64> {
        let intervals =
            self.asked_at.iter().flat_map(|asked| (0..=START_MS / INTERVAL_MS).map(|it| interval(*asked) + it));
        intervals.map(move |interval| start_link(&self.runtime, cwd, interval))
    }
}

/// Whether a session that began at `start` may be that of the agent for a request at `asked`.
pub fn may_have_started(asked: Time, start: Time) -> bool {
    asked <= start && start.since(asked) <= START_MS
}

/// A directory without the separators at its end: two programs may write it with and without them.
pub fn directory(cwd: &str) -> &str {
    cwd.trim_end_matches(['/', '\\'])
}

/// The link of a session to those that may have started it for one of their requests.
pub fn link_of_start(runtime: &str, cwd: &str, started_at: Time) -> u64 {
    start_link(runtime, cwd, interval(started_at))
}

fn start_link(runtime: &str, cwd: &str, interval: i64) -> u64 {
    link("start", &format!("{runtime} {interval} {}", directory(cwd)))
}

const fn interval(time: Time) -> i64 {
    time.micros().div_euclid(INTERVAL_MS * 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_starts_soon_after_a_request() {
        let at = |second: i64| Time::from_micros(1_790_000_000_000_000 + second * 1_000_000);
        let delegation = Delegation { asked_at: vec![at(10), at(500)], ..Delegation::default() };
        for (start, expected) in [(9, false), (10, true), (70, true), (71, false), (499, false), (530, true)] {
            let may_have_started = delegation.asked_at.iter().any(|asked| may_have_started(*asked, at(start)));
            assert_eq!(may_have_started, expected, "{start}");
            for (one, other) in [("/work", "/work"), ("/work/", "/work"), ("C:\\work", "C:\\work\\")] {
                let link = link_of_start("", one, at(start));
                let is_linked = delegation.links(other).any(|it| it == link);
                assert!(is_linked || !expected, "{start} {one} {other}");
            }
        }
    }
}
