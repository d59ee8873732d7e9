//! Sessions that may be incomplete because their logs contain records that no adapter reads.

use foldhash::{HashMap, HashMapExt as _, HashSet};

use crate::adapters::engine::unknown::{ENVELOPES, WRAPPERS, contents_of, members};
use crate::adapters::registry::ADAPTERS;
use crate::json::Raw;
use crate::json::lines::Line;
use crate::model::session::SessionResult;
use crate::model::unknown::Unread;

/// Members whose text names the session of a record.
const SESSIONS: &[&str] = &[
    "sessionId",
    "session_id",
    "sessionID",
    "session",
    "thread_id",
    "threadId",
    "conversation_id",
    "conversationId",
    "runId",
    "run_id",
];

/// Marks the sessions that may be incomplete because of unknown records: those with `counted` ones, and those of a version that is
/// newer than all tested ones with any of `unknown`. `closed`: at the end of the log, the ids of the sessions that were returned before.
pub(crate) fn mark_sessions(
    sessions: &mut [SessionResult],
    unknown: &[Line<'_>],
    counted: &[Line<'_>],
    closed: Option<&HashSet<String>>,
) {
    if sessions.is_empty() || unknown.is_empty() && counted.is_empty() {
        return;
    }
    let owners = Owners::of(sessions, closed);
    let is_newer: Vec<bool> = sessions.iter().map(is_newer_than_tested).collect();
    let has_newer = is_newer.contains(&true);
    let mut found: Vec<Option<Unread>> = vec![None; sessions.len()];
    let mut note = |owner: Option<usize>, unread| {
        if let Some(known) = owner.and_then(|owner| found.get_mut(owner)) {
            *known = (*known).max(Some(unread));
        }
    };
    for line in unknown {
        if contents_of(line.bytes).has_counts {
            note(owners.owner(*line), Unread::Counts);
        } else if has_newer {
            let owner = owners.owner(*line).filter(|owner| is_newer.get(*owner) == Some(&true));
            note(owner, Unread::NewerVersion);
        }
    }
    for line in counted {
        note(owners.owner(*line), Unread::Counts);
    }
    // A session can have several results in one log.
    let mut by_id: HashMap<String, Option<Unread>> = HashMap::new();
    for (session, unread) in sessions.iter().zip(found).filter(|(_, unread)| unread.is_some()) {
        let known = by_id.entry(session.session_id.clone()).or_default();
        *known = (*known).max(unread);
    }
    for session in sessions {
        session.unread = session.unread.max(by_id.get(&session.session_id).copied().flatten());
    }
}

/// Finds the session of a record.
struct Owners<'c> {
    by_id: HashMap<String, usize>,
    /// The first lines of the sessions, in order.
    by_line: Vec<(i64, usize)>,
    /// At the end of the log: the ids of the sessions that were returned before. Only then a record without an id belongs to the
    /// session that began last.
    closed: Option<&'c HashSet<String>>,
}

impl<'c> Owners<'c> {
    fn of(sessions: &[SessionResult], closed: Option<&'c HashSet<String>>) -> Self {
        let mut by_id = HashMap::new();
        let mut by_line = Vec::new();
        for (index, session) in sessions.iter().enumerate() {
            by_id.insert(session.session_id.clone(), index);
            by_line.push((session.line, index));
        }
        by_line.sort_unstable();
        Self { by_id, by_line, closed }
    }

    fn owner(&self, line: Line<'_>) -> Option<usize> {
        let top = members(Raw(line.bytes));
        let inner =
            top.0.iter().filter(|(key, _)| ENVELOPES.contains(&key.as_ref()) || WRAPPERS.contains(&key.as_ref()));
        let inner: Vec<_> = inner.map(|(_, value)| members(*value)).collect();
        let named = std::iter::once(&top).chain(&inner).flat_map(|object| &object.0).find_map(|(key, value)| {
            if !SESSIONS.contains(&key.as_ref()) || !value.is_string() {
                return None;
            }
            let id = value.text();
            let is_closed = || self.closed.is_some_and(|closed| closed.contains(&*id));
            match self.by_id.get(&*id) {
                Some(owner) => Some(Some(*owner)),
                None => is_closed().then_some(None),
            }
        });
        if let Some(owner) = named {
            return owner;
        }
        let closed = self.closed?;
        let begun = self.by_line.partition_point(|(first, _)| *first <= line.number);
        // What is before the first session belongs to it, unless sessions that were returned before may have begun earlier.
        let last = begun.checked_sub(1).or_else(|| closed.is_empty().then_some(0))?;
        self.by_line.get(last).map(|(_, index)| *index)
    }
}

/// The newest version of the runtime that the adapter of a format was tested with.
pub fn tested_version(format: &str) -> Option<&'static str> {
    ADAPTERS.iter().find(|adapter| adapter.id == format)?.tested
}

fn is_newer_than_tested(session: &SessionResult) -> bool {
    let tested = tested_version(&session.format);
    let version = session.runtime_version.as_deref();
    tested.zip(version).is_some_and(|(tested, version)| is_newer(version, tested))
}

/// Whether a version is newer than another one. A version without a number is not.
fn is_newer(version: &str, tested: &str) -> bool {
    numbers(version) > numbers(tested)
}

/// The numbers of a version: 2, 1 and 296 of `v2.1.296-beta.1`.
fn numbers(version: &str) -> Vec<u64> {
    let start = version.find(|it: char| it.is_ascii_digit()).unwrap_or(version.len());
    let rest = version.get(start..).unwrap_or_default();
    let end = rest.find(|it: char| !it.is_ascii_digit() && it != '.').unwrap_or(rest.len());
    rest.get(..end).unwrap_or_default().split('.').map_while(|number| number.parse().ok()).collect()
}

/// The newest of some versions.
pub fn newest_version(versions: impl Iterator<Item = String>) -> Option<String> {
    versions.max_by_key(|version| numbers(version))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        for (version, tested, expected) in [
            ("2.1.300", "2.1.296", true),
            ("2.1.96", "2.1.296", false),
            ("2.1.296", "2.1.296", false),
            ("v0.153.4-alpha.2", "0.153.3", true),
            ("0.99.0 (abc)", "0.153", false),
            ("2026.9.2", "2026.8.1", true),
            ("dev", "1.0", false),
            ("", "", false),
        ] {
            assert_eq!(is_newer(version, tested), expected, "{version} {tested}");
        }
    }
}
