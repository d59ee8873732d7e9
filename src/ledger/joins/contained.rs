//! Logs that another log contains: a runtime that repeats its work writes a file for each attempt, and one of all attempts.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::rc::Rc;

use foldhash::{HashMap, HashMapExt as _};

use crate::ledger::part::{SessionKey, SessionPart, Sessions, facts_only, without_end};
use crate::model::session::{Attempt, SessionResult};

/// Makes logs that another log contains a part of its session, without their rows, counts and ends. Returns the new key of each session
/// that was joined to another one. See docs/accounting.md#logs-that-contain-other-logs.
pub(in crate::ledger) fn join_contained(sessions: &mut Sessions) -> HashMap<SessionKey, SessionKey> {
    let documents = Documents::of(sessions);
    let mut affected = documents.affected();
    affected.extend(sessions.iter().filter(|(_, parts)| begin_alike(parts)).map(|(key, _)| key.clone()));
    let mut contained: Vec<(SessionKey, SessionPart, &Rc<Document>)> = Vec::new();
    for key in affected {
        let mut kept = Vec::new();
        for part in sessions.remove(&key).into_iter().flatten() {
            match documents.with_all_of(&key, &part) {
                Some(document) => contained.push((key.clone(), part, document)),
                None => kept.push(part),
            }
        }
        keep_apart(&key, kept, sessions);
    }
    let of_documents: HashMap<(usize, i64), SessionKey> = sessions
        .iter()
        .flat_map(|(key, parts)| parts.iter().map(move |part| (key, part)))
        .filter(|(_, part)| !part.session.contains.is_empty())
        .map(|(key, part)| ((part.source, part.session.line), key.clone()))
        .collect();
    let mut renamed = HashMap::new();
    for (key, mut part, document) in contained {
        let target = of_documents.get(&(document.source, document.line)).unwrap_or(&document.key);
        defer(&mut part, document.source, target);
        sessions.entry(target.clone()).or_default().push(part);
        renamed.insert(key, target.clone());
    }
    for target in renamed.values() {
        if let Some(parts) = sessions.get_mut(target) {
            parts.sort_by_key(|part| part.source);
        }
    }
    // Some of its logs may be in no other one.
    renamed.retain(|key, _| !sessions.contains_key(key));
    renamed
}

/// Whether logs are those of several runs or of states of one: runs that begin with the same step have one id.
fn begin_alike(parts: &[SessionPart]) -> bool {
    parts.len() > 1 && parts.iter().any(|part| !part.session.attempts.is_empty())
}

/// Puts logs back into their session. A run that another log there does not contain, or that ended, is a session of its own.
fn keep_apart(key: &SessionKey, parts: Vec<SessionPart>, sessions: &mut Sessions) {
    let mut ranked = parts;
    // The content decides between equal ones, not the names of files.
    ranked.sort_by_cached_key(|part| {
        let (is_document, documents, steps, ..) = rank(part);
        (Reverse((is_document, documents, steps)), hash_of(&part.session.attempts))
    });
    let mut apart: Vec<(Vec<Attempt>, SessionKey)> = Vec::new();
    let mut placed: Sessions = Sessions::new();
    for mut part in ranked {
        let attempts = part.session.attempts.clone();
        // A run that ended is not the beginning of another one.
        let is_whole = part.session.status.is_end();
        let known = apart.iter().find(|(others, _)| {
            attempts.is_empty() || have_all(others, &attempts) && (!is_whole || have_all(&attempts, others))
        });
        let key = match known {
            Some((_, key)) => key.clone(),
            None if apart.is_empty() => key.clone(),
            None => (key.0.clone(), id_apart(&key.1, &attempts)),
        };
        if known.is_none() {
            apart.push((attempts, key.clone()));
        }
        part.session.session_id.clone_from(&key.1);
        placed.entry(key).or_default().push(part);
    }
    for (key, mut parts) in placed {
        parts.sort_by_key(|part| part.source);
        sessions.entry(key).or_default().append(&mut parts);
    }
}

/// The id of a session that begins as another one does.
fn id_apart(id: &str, attempts: &[Attempt]) -> String {
    format!("{id}-{:016x}", hash_of(attempts))
}

fn hash_of(attempts: &[Attempt]) -> u64 {
    let ends = attempts.iter().filter_map(|attempt| attempt.steps.last());
    ends.fold(0, |hash, end| hash.rotate_left(5) ^ end)
}

/// Of two logs that contain each other the one with the higher rank has the rows.
type Rank = (bool, usize, usize, Reverse<usize>, Reverse<i64>);

fn rank(part: &SessionPart) -> Rank {
    let SessionResult { contains, attempts, line, .. } = &part.session;
    let steps = attempts.iter().map(|attempt| attempt.steps.len()).sum();
    (!contains.is_empty(), contains.len(), steps, Reverse(part.source), Reverse(*line))
}

/// Whether each of the attempts is one of the others, or a beginning of it.
fn have_all(others: &[Attempt], attempts: &[Attempt]) -> bool {
    attempts.iter().all(|attempt| others.iter().any(|other| attempt.is_contained_in(other)))
}

/// A log that contains others.
struct Document {
    key: SessionKey,
    source: usize,
    line: i64,
    contains: Vec<String>,
    attempts: Vec<Attempt>,
    rank: Rank,
}

impl Document {
    /// Whether it contains a log: all of its attempts, or that one. Facts of earlier versions of this program have the ids only.
    fn contains(&self, part: &SessionPart) -> bool {
        let SessionResult { contains, attempts, .. } = &part.session;
        if attempts.is_empty() || self.attempts.is_empty() {
            return contains.iter().all(|id| self.contains.contains(id));
        }
        have_all(&self.attempts, attempts)
    }
}

/// The logs that contain others.
struct Documents {
    /// By the id that a contained log has as a session of its own.
    by_id: BTreeMap<SessionKey, Vec<Rc<Document>>>,
}

impl Documents {
    fn of(sessions: &Sessions) -> Self {
        let mut by_id: BTreeMap<SessionKey, Vec<Rc<Document>>> = BTreeMap::new();
        let parts = sessions.iter().flat_map(|(key, parts)| parts.iter().map(move |part| (key, part)));
        for (key, part) in parts.filter(|(_, part)| !part.session.contains.is_empty()) {
            let document = Rc::new(Document {
                key: key.clone(),
                source: part.source,
                line: part.session.line,
                contains: part.session.contains.clone(),
                attempts: part.session.attempts.clone(),
                rank: rank(part),
            });
            for id in &part.session.contains {
                by_id.entry((key.0.clone(), id.clone())).or_default().push(Rc::clone(&document));
            }
        }
        Self { by_id }
    }

    /// The sessions of which a part may be in another log.
    fn affected(&self) -> BTreeSet<SessionKey> {
        let own = self.by_id.values().flatten().map(|document| &document.key);
        self.by_id.keys().chain(own).cloned().collect()
    }

    /// The first of the logs that contain this one. It is in no other log itself.
    fn with_all_of(&self, key: &SessionKey, part: &SessionPart) -> Option<&Rc<Document>> {
        let id = part.session.contains.first().unwrap_or(&key.1);
        let others = self.by_id.get(&(key.0.clone(), id.clone()))?.iter();
        let own = rank(part);
        let containing = others.filter(|other| other.rank > own && other.contains(part));
        containing.max_by_key(|document| document.rank)
    }
}

fn defer(part: &mut SessionPart, source: usize, key: &SessionKey) {
    let session = mem::take(&mut part.session);
    part.session = SessionResult {
        session_id: key.1.clone(),
        runtime: Cow::Owned(key.0.clone()),
        ..without_end(facts_only(session))
    };
    part.transferred_to = Some(source);
    part.is_supplement = true;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::session::{Identity, Status, Tokens, Turn};

    /// Attempts, each with its first step and the number of its steps.
    type Attempts = [(u64, usize)];

    /// The log of one attempt, or a document of several.
    fn part(source: usize, attempts: &Attempts, is_document: bool) -> SessionPart {
        let id = |first: u64| format!("~{first}");
        let attempt = |(first, count): &(u64, usize)| Attempt {
            steps: (0..).take(*count).map(|step| first * 100 + step).collect(),
            tokens: Tokens { input: i64::try_from(*count).ok(), ..Tokens::UNKNOWN },
            cost: None,
        };
        let turn = |index: usize| Turn { identity: Identity::Session(format!("#{index}").into()), ..Turn::default() };
        let session = SessionResult {
            session_id: id(attempts[0].0),
            runtime: "agent".into(),
            turns: (0..attempts.iter().map(|(_, count)| count).sum()).map(|index| Box::new(turn(index))).collect(),
            contains: attempts.iter().filter(|_| is_document).map(|(first, _)| id(*first)).collect(),
            attempts: attempts.iter().map(attempt).collect(),
            // An older state of a run has no end.
            status: if is_document { Status::Success } else { Status::Incomplete },
            ..SessionResult::default()
        };
        SessionPart::new(source, session)
    }

    /// For each session the turns of its parts, each with the file that has those that it had.
    fn joined(logs: &[(&Attempts, bool)]) -> Vec<Vec<(usize, Option<usize>)>> {
        let join = |order: &[usize]| {
            let mut sessions = Sessions::new();
            for source in order {
                let (attempts, is_document) = logs[*source];
                let part = part(*source, attempts, is_document);
                sessions.entry(("agent".to_owned(), part.session.session_id.clone())).or_default().push(part);
            }
            for parts in sessions.values_mut() {
                parts.sort_by_key(|part| part.source);
            }
            let renamed = join_contained(&mut sessions);
            assert!(renamed.iter().all(|(key, to)| !sessions.contains_key(key) && sessions.contains_key(to)));
            let of_parts = |parts: &Vec<SessionPart>| {
                parts.iter().map(|part| (part.session.turns.len(), part.transferred_to)).collect::<Vec<_>>()
            };
            let mut found: Vec<_> = sessions.values().map(of_parts).collect();
            found.sort();
            found
        };
        let order: Vec<usize> = (0..logs.len()).collect();
        let reverse: Vec<usize> = order.iter().rev().copied().collect();
        assert_eq!(join(&order), join(&reverse));
        join(&order)
    }

    #[test]
    fn a_log_of_all_attempts_has_the_rows_of_each() {
        let (a, b, c) = ((1, 2), (2, 3), (3, 1));
        let whole: (&Attempts, bool) = (&[a, b], true);
        for (name, logs, expected) in [
            (
                "its attempts",
                vec![whole, (&[a], false), (&[b], false)],
                vec![vec![(5, None), (0, Some(0)), (0, Some(0))]],
            ),
            ("a cut attempt", vec![whole, (&[(2, 1)], false)], vec![vec![(5, None), (0, Some(0))]]),
            ("another run", vec![whole, (&[c], false)], vec![vec![(1, None)], vec![(5, None)]]),
            (
                "a longer run that begins like one",
                vec![whole, (&[(2, 5)], false)],
                vec![vec![(5, None)], vec![(5, None)]],
            ),
            (
                "a longer run that begins like the first one",
                vec![whole, (&[(1, 4)], false), (&[(1, 3)], false)],
                vec![vec![(4, None), (3, None)], vec![(5, None)]],
            ),
            (
                "runs that begin with one step",
                vec![(&[(1, 2)], false), (&[(1, 3)], false), (&[(9, 1)], false)],
                vec![vec![(1, None)], vec![(2, None), (3, None)]],
            ),
            ("its older state", vec![(&[a], true), whole], vec![vec![(0, Some(1)), (5, None)]]),
            ("its copy", vec![whole, whole], vec![vec![(5, None), (0, Some(0))]]),
            (
                "documents with one attempt in common",
                vec![whole, (&[b, c], true)],
                vec![vec![(4, None)], vec![(5, None)]],
            ),
            (
                "documents that begin with one attempt",
                vec![whole, (&[a, c], true), (&[c], false)],
                vec![vec![(3, None), (0, Some(1))], vec![(5, None)]],
            ),
        ] {
            assert_eq!(joined(&logs), expected, "{name}");
        }
    }
}
