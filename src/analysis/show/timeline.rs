//! The entries of a session in their order, with the phases of its work.

use std::collections::{BTreeMap, HashMap};

use super::entry::{Entry, Kind, Phase};
use super::facts::{Fact, facts};
use super::find::{Error, SessionKey};
use super::read::{Reader, session_entry};
use super::tree::Tree;
use crate::analysis::rows::{CostBasis, Frames};
use crate::store::frames::TypedRows as _;

/// A session with everything that its log contains about it, in order.
#[derive(Debug)]
pub struct Timeline {
    pub(super) key: SessionKey,
    /// The session that led to all sessions of its tree, if it is another one.
    pub(super) root: Option<String>,
    /// The session as a whole.
    pub(super) session: Entry,
    /// What is known about it.
    pub(super) facts: Vec<Fact>,
    pub(super) entries: Vec<Entry>,
    /// The session with its subagents, and the sessions that it started.
    pub(super) tree: Tree,
    /// The working directory and the project, to which paths are relative in a text.
    pub(super) directories: Vec<String>,
}

impl Timeline {
    /// The timeline of a session. `cost` is the choice of `--cost`.
    ///
    /// # Errors
    /// When the session does not exist, or the tables cannot be read.
    pub fn read(tables: &Frames, key: &SessionKey, cost: CostBasis) -> Result<Self, Error> {
        let reader = Reader { tables, session: key, cost };
        let session = reader.session()?;
        if session.height() == 0 {
            return Err(Error::Missing(key.id.clone()));
        }
        let (turns, calls) = (reader.turns()?, reader.calls()?);
        let changes = reader.changes(&calls)?;
        let others = [reader.events()?, reader.children()?];
        let tree = Tree::read(reader, &session)?;
        let failure = reader.failure(session.source_path(0))?;
        let facts = facts(&session, cost, &reader.verdicts()?, failure, reader.shipped()?, &turns);
        let all = turns.into_iter().chain(calls).chain(changes).chain(others.into_iter().flatten());
        let directories = [session.cwd(0), session.project(0)].into_iter().flatten();
        let directories = directories.filter(|directory| directory.len() > 1).map(str::to_owned).collect();
        let root = session.root(0).filter(|root| *root != key.id).map(str::to_owned);
        let session = session_entry(&session, 0, Kind::Session);
        let entries = with_phases(ordered(all.collect()));
        Ok(Self { key: key.clone(), root, session, facts, entries, tree, directories })
    }
}

/// The entries in their order: a response is followed by its calls, a call by its changes. Responses are in the order of their
/// numbers, what belongs to no response in the order of time, else in that of the log.
fn ordered(entries: Vec<Entry>) -> Vec<Entry> {
    let mut groups: BTreeMap<i64, Vec<Entry>> = BTreeMap::new();
    let mut loose: Vec<Entry> = Vec::new();
    for entry in entries {
        match entry.turn {
            Some(turn) => groups.entry(turn).or_default().push(entry),
            None => loose.push(entry),
        }
    }
    // Groups and loose entries, with the times by which they are merged: without one, that of the entry before.
    let mut merged: Vec<(Option<i64>, Vec<Entry>)> = Vec::new();
    let mut last = None;
    for (_, group) in groups {
        last = group.iter().filter_map(|entry| entry.time).min().max(last);
        merged.push((last, in_group(group)));
    }
    loose.sort_by_key(|entry| (entry.line, rank(entry.kind)));
    last = None;
    for entry in loose {
        // A total is what remains at the end.
        let time = if entry.kind == Kind::Total { entry.time.max(Some(i64::MAX)) } else { entry.time.or(last) };
        last = time.filter(|time| *time < i64::MAX).or(last);
        merged.push((time, vec![entry]));
    }
    merged.sort_by_key(|(time, _)| *time);
    let entries: Vec<Entry> = merged.into_iter().flat_map(|(_, entries)| entries).collect();
    after_their_calls(entries)
}

/// The entries that belong to one response.
fn in_group(mut group: Vec<Entry>) -> Vec<Entry> {
    group.sort_by_key(|entry| (entry.kind != Kind::Turn, entry.time, entry.line, rank(entry.kind)));
    group
}

/// Of entries of the same time and line.
const fn rank(kind: Kind) -> u8 {
    match kind {
        Kind::Turn => 0,
        Kind::Call => 1,
        Kind::Edit => 2,
        _ => 3,
    }
}

/// Moves changes after the calls that made them.
fn after_their_calls(entries: Vec<Entry>) -> Vec<Entry> {
    let mut calls: HashMap<(Option<i64>, String), Vec<usize>> = HashMap::new();
    for (position, entry) in entries.iter().enumerate().filter(|(_, entry)| entry.kind == Kind::Call) {
        if let Some((turn, id)) = entry.call_key() {
            calls.entry((turn, id.to_owned())).or_default().push(position);
        }
    }
    let call_of = |change: &Entry| -> Option<usize> {
        let (turn, id) = change.call_key().filter(|_| change.kind == Kind::Edit)?;
        let calls = calls.get(&(turn, id.to_owned()))?;
        // Of several calls with one id, the one that names the file.
        let named = |call: &&usize| entries.get(**call).is_some_and(|call| call.names_file_of(change));
        calls.iter().find(named).or(calls.first()).copied()
    };
    let of_entries: Vec<Option<usize>> = entries.iter().map(call_of).collect();
    let mut of_calls: BTreeMap<usize, Vec<Entry>> = BTreeMap::new();
    let mut others = Vec::with_capacity(entries.len());
    for (position, (entry, call)) in entries.into_iter().zip(of_entries).enumerate() {
        match call {
            Some(call) => of_calls.entry(call).or_default().push(entry),
            None => others.push((position, entry)),
        }
    }
    let mut ordered = Vec::with_capacity(others.len());
    for (position, entry) in others {
        ordered.push(entry);
        ordered.extend(of_calls.remove(&position).unwrap_or_default());
    }
    ordered
}

/// The entries with their phases. Entries of subagents, and those that are neither a response, a call nor a change, are in the
/// phase of the entry before them.
fn with_phases(mut entries: Vec<Entry>) -> Vec<Entry> {
    let shows_calls = entries.iter().any(|entry| entry.kind == Kind::Call);
    let mut of_turns: BTreeMap<i64, Phase> = BTreeMap::new();
    for entry in &entries {
        let phase = match (entry.turn, entry.purpose, entry.kind) {
            (Some(turn), Some(purpose), _) => Some((turn, Phase::of(purpose))),
            (Some(turn), None, Kind::Turn) if shows_calls => Some((turn, Phase::Answer)),
            _ => None,
        };
        if let Some((turn, phase)) = phase {
            let known = of_turns.entry(turn).or_insert(phase);
            if phase.rank() > known.rank() {
                *known = phase;
            }
        }
    }
    let mut last = None;
    for entry in &mut entries {
        let is_main = matches!(entry.kind, Kind::Turn | Kind::Call | Kind::Edit) && !entry.is_subagent;
        let own = entry.turn.and_then(|turn| of_turns.get(&turn).copied()).or_else(|| entry.purpose.map(Phase::of));
        entry.phase = own.filter(|_| is_main).or(last);
        last = entry.phase;
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::rows::Purpose;

    fn entry(kind: Kind, turn: Option<i64>, time: Option<i64>, purpose: Option<Purpose>) -> Entry {
        Entry { kind, time, turn, purpose, ..Entry::default() }
    }

    fn shown(entries: Vec<Entry>) -> Vec<(&'static str, Option<i64>, Option<&'static str>)> {
        let entries = with_phases(ordered(entries));
        entries.iter().map(|it| (it.kind.as_str(), it.turn, it.phase.map(Phase::as_str))).collect()
    }

    #[test]
    fn responses_are_followed_by_what_belongs_to_them() {
        let call = |turn, time, purpose, id: &str| Entry {
            call_id: Some(id.to_owned()),
            ..entry(Kind::Call, Some(turn), Some(time), Some(purpose))
        };
        let entries = vec![
            entry(Kind::Turn, Some(2), Some(20), None),
            entry(Kind::Turn, Some(3), Some(30), None),
            // Logged when its calls have ended.
            entry(Kind::Turn, Some(1), Some(15), None),
            call(2, 21, Purpose::Edit, "b"),
            call(2, 22, Purpose::Test, "c"),
            call(1, 12, Purpose::Explore, "a"),
            Entry { call_id: Some("b".to_owned()), ..entry(Kind::Edit, Some(2), Some(29), Some(Purpose::Edit)) },
            entry(Kind::Error, None, Some(18), None),
            entry(Kind::Total, None, Some(5), None),
        ];
        let expected = [
            ("turn", Some(1), Some("explore")),
            ("call", Some(1), Some("explore")),
            ("error", None, Some("explore")),
            ("turn", Some(2), Some("edit")),
            ("call", Some(2), Some("edit")),
            ("edit", Some(2), Some("edit")),
            ("call", Some(2), Some("edit")),
            ("turn", Some(3), Some("answer")),
            ("total", None, Some("answer")),
        ];
        assert_eq!(shown(entries), expected);
    }

    /// Call ids repeat where an export masks them: a change belongs to a call of its own response.
    #[test]
    fn changes_follow_the_call_of_their_response() {
        let masked = |kind, turn, time, path: &str| Entry {
            call_id: Some("REDACTED".to_owned()),
            name: (kind == Kind::Edit).then(|| path.to_owned()),
            detail: (kind == Kind::Call).then(|| path.to_owned()),
            ..entry(kind, Some(turn), Some(time), Some(Purpose::Edit))
        };
        let entries = vec![
            masked(Kind::Call, 1, 10, "/a"),
            masked(Kind::Edit, 1, 11, "/a"),
            masked(Kind::Call, 2, 20, "/b"),
            masked(Kind::Call, 2, 21, "/c"),
            masked(Kind::Edit, 2, 22, "/c"),
            masked(Kind::Edit, 2, 23, "/b"),
        ];
        let entries = with_phases(ordered(entries));
        let shown: Vec<_> = entries.iter().map(|it| (it.turn.unwrap(), it.name.as_deref().unwrap_or("call"))).collect();
        assert_eq!(shown, [(1, "call"), (1, "/a"), (2, "call"), (2, "/b"), (2, "call"), (2, "/c")]);
    }

    /// Without times and numbers of responses the order is that of the log. Subagents begin no phase.
    #[test]
    fn entries_without_times_are_in_the_order_of_the_log() {
        let at = |line, purpose, is_subagent| Entry {
            line: Some(line),
            is_subagent,
            ..entry(Kind::Call, None, None, Some(purpose))
        };
        let entries = vec![at(3, Purpose::Edit, true), at(1, Purpose::Explore, false), at(7, Purpose::Check, false)];
        let expected =
            [("call", None, Some("explore")), ("call", None, Some("explore")), ("call", None, Some("verify"))];
        assert_eq!(shown(entries), expected);
        // Formats without calls have no phases.
        assert_eq!(shown(vec![entry(Kind::Turn, Some(1), None, None)]), [("turn", Some(1), None)]);
    }
}
