//! Trials: sessions with those that they started, and sessions that one file beside their logs names as the same trial.

use std::collections::HashMap;

use polars::prelude::*;

use super::verdicts::{NamedTrial, Outcome, outcomes};
use crate::analysis::rows::{Frames, Key};
use crate::store::frames::sessions;

/// More sessions in between than this are a circle.
const MAX_GENERATIONS: usize = 64;

/// Which trial each session belongs to, and how it ended.
pub(super) struct Trials {
    /// Each session's parent, where that is present.
    parents: HashMap<Key, Key>,
    outcomes: HashMap<Key, Outcome>,
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
        let children = tables.table(sessions::TABLE).filter(col(sessions::PARENT_SESSION_ID).is_not_null());
        let frame = children.select(columns.map(col)).collect()?;
        let [runtime, session, parent] = columns.map(|name| frame.column(name).and_then(|column| column.str()));
        let (runtime, session, parent) = (runtime?, session?, parent?);
        let parents = (0..frame.height()).filter_map(|row| {
            let runtime = runtime.get(row)?;
            let key = |id: &str| (runtime.to_owned(), id.to_owned());
            Some((key(session.get(row)?), key(parent.get(row)?)))
        });
        let parents = parents.collect();
        Ok(Self { parents, outcomes: outcomes(tables)?, numbers: HashMap::new() })
    }

    /// Whether any session has a verdict.
    pub(super) fn has_verdicts(&self) -> bool {
        !self.outcomes.is_empty()
    }

    /// The trial of a session.
    pub(super) fn of(&mut self, session: &Key) -> Membership {
        let mut key = session;
        let mut generations = 0;
        // A verdict of its own makes a session a trial of its own.
        while !self.outcomes.contains_key(key)
            && generations < MAX_GENERATIONS
            && let Some(parent) = self.parents.get(key)
        {
            (key, generations) = (parent, generations + 1);
        }
        let outcome = self.outcomes.get(key).cloned().unwrap_or_default();
        let trial = match &outcome.named {
            Some(named) => TrialKey::Named(named.clone()),
            None => TrialKey::Session(key.clone()),
        };
        let next = i64::try_from(self.numbers.len()).unwrap_or(i64::MAX);
        let trial = *self.numbers.entry(trial).or_insert(next);
        Membership { trial, is_child: generations > 0, outcome }
    }
}
