//! Trials: sessions with those that they started, and sessions that one file beside their logs names as the same trial.

use std::collections::{HashMap, HashSet};

use polars::prelude::*;

use super::verdicts::{NamedTrial, Outcome, outcomes};
use crate::analysis::rows::{Frames, Key};
use crate::store::frames::sessions;

/// Which trial each session belongs to, and how it ended.
pub(super) struct Trials {
    /// Each session's parent, where that is present.
    parents: HashMap<Key, Key>,
    outcomes: HashMap<Key, Outcome>,
    /// The session at the top of the trial of each session for which it was found.
    tops: HashMap<Key, Key>,
    /// The number of each trial, by what identifies it.
    numbers: HashMap<TrialKey, i64>,
}

/// What identifies a trial.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum TrialKey {
    /// What a file beside the logs describes.
    Named(NamedTrial),
    /// A session that no other started.
    Session(Key),
}

/// The part of a session in a trial.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Membership {
    /// The number of the trial.
    pub trial: i64,
    /// Whether another session of the trial started it.
    pub is_child: bool,
    pub outcome: Outcome,
}

impl Trials {
    pub(super) fn read(tables: &Frames) -> PolarsResult<Self> {
        let columns = [sessions::RUNTIME, sessions::SESSION_ID, sessions::PARENT_SESSION_ID];
        let frame = tables.table(sessions::TABLE).select(columns.map(col)).collect()?;
        let [runtime, session, parent] = columns.map(|name| frame.column(name).and_then(|column| column.str()));
        let (runtime, session, parent) = (runtime?, session?, parent?);
        let key = |row: usize, id: &StringChunked| Some((runtime.get(row)?.to_owned(), id.get(row)?.to_owned()));
        let has_parent = |row: &usize| parent.get(*row).is_some();
        let links = (0..frame.height()).filter(has_parent);
        let links = links.filter_map(|row| Some((key(row, session)?, key(row, parent)?)));
        let mut parents: HashMap<Key, Key> = links.collect();
        if !parents.is_empty() {
            // A session whose parent is not in the archive is the root of its tree.
            let present: HashSet<Key> = (0..frame.height()).filter_map(|row| key(row, session)).collect();
            parents.retain(|_, parent| present.contains(parent));
        }
        Ok(Self { parents, outcomes: outcomes(tables)?, tops: HashMap::new(), numbers: HashMap::new() })
    }

    /// Whether any session has a verdict.
    pub(super) fn has_verdicts(&self) -> bool {
        !self.outcomes.is_empty()
    }

    /// The trial of a session.
    pub(super) fn of(&mut self, session: &Key) -> Membership {
        let top = self.top_of(session);
        let outcome = self.outcomes.get(&top).cloned().unwrap_or_default();
        let is_child = top != *session;
        let trial = match &outcome.named {
            Some(named) => TrialKey::Named(named.clone()),
            None => TrialKey::Session(top),
        };
        let next = i64::try_from(self.numbers.len()).unwrap_or(i64::MAX);
        let trial = *self.numbers.entry(trial).or_insert(next);
        Membership { trial, is_child, outcome }
    }

    /// The session itself or the nearest one above it that has a verdict of its own, else the root of its tree.
    fn top_of(&mut self, session: &Key) -> Key {
        let mut key = session.clone();
        let (mut path, mut positions) = (Vec::new(), HashMap::new());
        let top = loop {
            if let Some(top) = self.tops.get(&key) {
                break top.clone();
            }
            let parent = self.parents.get(&key).filter(|_| !self.outcomes.contains_key(&key));
            let Some(parent) = parent else { break key };
            if let Some(start) = positions.insert(key.clone(), path.len()) {
                // Sessions that started each other: the first of them by id is the root.
                break path.get(start..).and_then(|circle| circle.iter().min().cloned()).unwrap_or(key);
            }
            path.push(std::mem::replace(&mut key, parent.clone()));
        };
        self.tops.extend(path.into_iter().map(|key| (key, top.clone())));
        top
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(id: &str) -> Key {
        ("codex".to_owned(), id.to_owned())
    }

    /// Sessions with their parents, of which some have verdicts.
    fn tops(sessions: &[(&str, Option<&str>)], judged: &[&str]) -> Vec<String> {
        let ids: Vec<&str> = sessions.iter().map(|(id, _)| *id).collect();
        let parents: Vec<Option<&str>> = sessions.iter().map(|(_, parent)| *parent).collect();
        let frame = df!("runtime" => vec!["codex"; ids.len()], "session_id" => &ids, "parent_session_id" => parents);
        let tables: Frames = [("sessions", frame.unwrap().lazy())].into_iter().collect();
        let mut trials = Trials::read(&tables).unwrap();
        trials.outcomes = judged.iter().map(|id| (key(id), Outcome::default())).collect();
        ids.iter().map(|id| trials.top_of(&key(id)).1).collect()
    }

    #[test]
    fn a_trial_is_the_tree_of_a_session() {
        let tree = [("a", None), ("b", Some("a")), ("c", Some("b")), ("d", Some("b"))];
        assert_eq!(tops(&tree, &[]), ["a", "a", "a", "a"]);
        // A verdict of its own makes a session a trial of its own.
        assert_eq!(tops(&tree, &["b"]), ["a", "b", "b", "b"]);
        // A parent that is not in the archive is not a session of a trial.
        assert_eq!(tops(&[("a", Some("x")), ("b", Some("x")), ("c", Some("b"))], &[]), ["a", "b", "b"]);
        // The root of a circle is the first session by id, wherever one begins.
        let circle = [("d", Some("c")), ("c", Some("b")), ("b", Some("c")), ("e", Some("e"))];
        assert_eq!(tops(&circle, &[]), ["b", "b", "b", "e"]);
    }
}
