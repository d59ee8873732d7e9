//! Which sessions of different names are one: the beginning of a log that was recognised as the format of another runtime,
//! and trajectories whose converter gave them an id or a runtime's name of its own.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::mem;

use foldhash::{HashMap, HashMapExt as _, HashSet};

use super::views::{View, view};
use super::{Key, Part, facts_only};
use crate::base::text::Word;
use crate::base::time::Time;
use crate::model::name::link;
use crate::model::session::{Identity, SessionResult};

type Groups = BTreeMap<Key, Vec<Part>>;

/// Joins groups of parts that show one session under different names. Returns the new key of each group that is gone.
pub(super) fn join_groups(groups: &mut Groups) -> HashMap<Key, Key> {
    let mut renamed = HashMap::new();
    for find in [copies_of_other_runtimes, conversions_with_other_names] {
        for (from, to) in find(groups) {
            let Some(mut parts) = groups.remove(&from) else { continue };
            let joined = groups.entry(to.clone()).or_default();
            for part in &mut parts {
                part.session.runtime = Cow::Owned(to.0.clone());
                part.session.session_id.clone_from(&to.1);
                leave_to_longer_log(part, joined);
            }
            joined.append(&mut parts);
            joined.sort_by_key(|part| part.source);
            renamed.insert(from, to);
        }
    }
    renamed
}

/// Hashes under which a conversion with an id of its own and the log that it was made from can meet: see
/// [`super::links`]. A log gives few, as there are many logs: the first call of each agent and its first tokens. A
/// conversion gives all its calls.
pub(super) fn links(session: &SessionResult) -> Vec<u64> {
    let of_call = |call: &str| link("call", call);
    let mut links: Vec<u64> = match View::of(session) {
        View::Conversion => global_calls(session).map(of_call).collect(),
        View::Summary | View::Stream | View::Log => first_calls(session).into_iter().map(of_call).collect(),
    };
    links.extend(beginning(&spending(session)).map(|it| link("tokens", &format!("{it:?}"))));
    links
}

/// A log of the same session in the format of another runtime is the beginning of one that is there. If that names the
/// responses differently, they cannot be matched: the longer log has them all.
fn leave_to_longer_log(part: &mut Part, joined: &[Part]) {
    let Some(longest) = joined.iter().max_by_key(|part| part.rows()) else { return };
    if view(part) == View::Conversion || Records::of(joined).have_responses(&part.session) {
        return;
    }
    part.session = facts_only(mem::take(&mut part.session));
    part.given_to = Some(longest.source);
}

/// The beginning of a log may be recognised as the format of another runtime. Where it has the same session id and the
/// same records as a longer log, it belongs to that log's runtime.
fn copies_of_other_runtimes(groups: &Groups) -> Vec<(Key, Key)> {
    let mut by_id: BTreeMap<&str, Vec<&Key>> = BTreeMap::new();
    for (key, parts) in groups {
        // A program that runs another agent may give its own session that agent's id.
        let is_outer = parts.iter().any(|part| part.session.provider_session_id.as_ref() == Some(&key.1));
        if !is_outer && !are_conversions(parts) {
            by_id.entry(&key.1).or_default().push(key);
        }
    }
    let rows = |key: &Key| groups.get(key).into_iter().flatten().map(Part::rows).max();
    let mut copies = Vec::new();
    for keys in by_id.into_values().filter(|keys| keys.len() > 1) {
        let Some(longest) = keys.iter().copied().max_by_key(|key| (rows(key), Reverse(*key))) else { continue };
        let records = Records::of(groups.get(longest).map_or(&[], Vec::as_slice));
        let is_copy = |key: &&Key| *key != longest && groups.get(*key).is_some_and(|parts| records.meet(parts));
        copies.extend(keys.iter().copied().filter(is_copy).map(|key| (key.clone(), longest.clone())));
    }
    copies
}

fn are_conversions(parts: &[Part]) -> bool {
    parts.iter().all(|part| view(part) == View::Conversion)
}

/// What shows that another log has the same records.
struct Records<'a> {
    responses: HashSet<&'a Identity>,
    calls: HashSet<&'a str>,
    starts: HashSet<Time>,
}

impl<'a> Records<'a> {
    fn of(parts: &'a [Part]) -> Self {
        let sessions = || parts.iter().map(|part| &part.session);
        let identities = sessions().flat_map(|session| &session.turns).map(|turn| &turn.identity);
        Self {
            responses: identities.filter(|identity| **identity != Identity::Unique).collect(),
            calls: sessions().flat_map(|session| &session.tool_calls).map(|call| &*call.call_id).collect(),
            starts: sessions().filter_map(|session| session.started_at).collect(),
        }
    }

    fn have_responses(&self, session: &SessionResult) -> bool {
        session.turns.iter().any(|turn| self.responses.contains(&turn.identity))
    }

    fn meet(&self, parts: &[Part]) -> bool {
        parts.iter().map(|part| &part.session).any(|session| {
            self.have_responses(session)
                || session.tool_calls.iter().any(|call| self.calls.contains(&*call.call_id))
                || session.started_at.is_some_and(|start| self.starts.contains(&start))
        })
    }
}

/// Conversions that name their session, or its runtime, by a word of their own: each with the session that it shows, if
/// that is there.
fn conversions_with_other_names(groups: &Groups) -> Vec<(Key, Key)> {
    let (conversions, others): (Vec<_>, Vec<_>) = groups.iter().partition(|(_, parts)| are_conversions(parts));
    if conversions.is_empty() || others.is_empty() {
        return Vec::new();
    }
    let mut logs = Logs::default();
    for (key, parts) in others {
        for part in parts.iter().filter(|part| view(part) != View::Conversion) {
            logs.add(key, &part.session);
        }
    }
    let find = |(key, parts): (&Key, &Vec<Part>)| {
        let sessions = || parts.iter().map(|part| &part.session);
        let found = sessions()
            .find_map(|session| logs.of_same_id(session))
            .or_else(|| sessions().find_map(|session| logs.of_same_calls(session, groups)))
            .or_else(|| sessions().find_map(|session| logs.of_same_tokens(session)));
        Some((key.clone(), found?.clone()))
    };
    conversions.into_iter().filter_map(find).collect()
}

/// The logs that a conversion may have been made from, by what [`links`] gives of them: so a conversion finds the same log
/// whichever files are reconciled together.
#[derive(Default)]
struct Logs<'a> {
    logs: Vec<(&'a Key, &'a SessionResult, Vec<Spent>)>,
    by_id: HashMap<&'a str, Vec<usize>>,
    by_call: HashMap<&'a str, Vec<usize>>,
    by_beginning: HashMap<Beginning, Vec<usize>>,
}

impl<'a> Logs<'a> {
    fn add(&mut self, key: &'a Key, session: &'a SessionResult) {
        let index = self.logs.len();
        let spent = spending(session);
        self.by_id.entry(&key.1).or_default().push(index);
        for call in first_calls(session) {
            self.by_call.entry(call).or_default().push(index);
        }
        if let Some(beginning) = beginning(&spent) {
            self.by_beginning.entry(beginning).or_default().push(index);
        }
        self.logs.push((key, session, spent));
    }

    fn at(&self, indexes: Option<&Vec<usize>>) -> impl Iterator<Item = &(&'a Key, &'a SessionResult, Vec<Spent>)> {
        indexes.into_iter().flatten().filter_map(|index| self.logs.get(*index))
    }

    /// The session of that id at that time, whatever its runtime is called. Short ids may be counters.
    fn of_same_id(&self, conversion: &SessionResult) -> Option<&'a Key> {
        const SHORTEST: usize = 16;
        let spent = spending(conversion);
        let is_it = |session: &SessionResult, other: &[Spent]| {
            let has_times = session.started_at.is_some() && conversion.started_at.is_some();
            let same_tokens = !spent.is_empty() && spent.iter().zip(other).all(|(a, b)| a == b);
            !are_apart(session, conversion) && (has_times || same_tokens)
        };
        let id = conversion.session_id.as_str();
        let mut logs = self.at(self.by_id.get(id).filter(|_| id.len() >= SHORTEST));
        logs.find(|(_, session, other)| is_it(session, other)).map(|(key, ..)| *key)
    }

    /// The session with most of the calls of the conversion's main agent. A fork repeats calls of the session before it,
    /// and the session around a subagent has the calls of that: these have others as well.
    fn of_same_calls(&self, conversion: &SessionResult, groups: &Groups) -> Option<&'a Key> {
        let near = global_calls(conversion).flat_map(|call| self.at(self.by_call.get(call)));
        let keys: BTreeSet<&Key> =
            near.filter(|(_, session, _)| !are_apart(session, conversion)).map(|(key, ..)| *key).collect();
        let common = |key: &Key| {
            let sessions = || groups.get(key).into_iter().flatten().map(|part| &part.session);
            let known: HashSet<&str> = sessions().flat_map(global_calls).collect();
            let cut_at = sessions().filter_map(|session| session.ended_at).max();
            let cut_at = cut_at.filter(|_| !sessions().any(|session| session.status.is_end()));
            let calls = conversion.tool_calls.iter().filter(|call| !call.is_subagent && is_global(&call.call_id));
            let calls = calls.filter(|call| cut_at.is_none() || call.occurred_at <= cut_at);
            let (common, others): (Vec<_>, Vec<_>) = calls.partition(|call| known.contains(&*call.call_id));
            (common.len() > 4 * others.len()).then_some(common.len())
        };
        let found = keys.into_iter().filter_map(|key| Some((common(key)?, Reverse(key)))).max();
        found.map(|(_, Reverse(key))| key)
    }

    /// A session whose responses have the same sizes in the same order. The conversion may not go on after it.
    fn of_same_tokens(&self, conversion: &SessionResult) -> Option<&'a Key> {
        let spent = spending(conversion);
        let is_it = |session: &SessionResult, other: &[Spent]| {
            let may_go_on = !session.status.is_end() && session.ended_at.is_some();
            !are_apart(session, conversion)
                && (spent.len() <= other.len() || may_go_on)
                && spent.iter().zip(other).all(|(a, b)| a == b)
        };
        let mut logs = self.at(self.by_beginning.get(&beginning(&spent)?));
        logs.find(|(_, session, other)| is_it(session, other)).map(|(key, ..)| *key)
    }
}

/// Whether one of them ended before the other began.
fn are_apart(one: &SessionResult, other: &SessionResult) -> bool {
    let is_before =
        |a: &SessionResult, b: &SessionResult| a.ended_at.zip(b.started_at).is_some_and(|(end, start)| end < start);
    is_before(one, other) || is_before(other, one)
}

/// The first call of each agent, if its id is its own.
fn first_calls(session: &SessionResult) -> Vec<&str> {
    let mut agents: HashSet<Option<&Word>> = HashSet::default();
    let mut first = Vec::new();
    for call in &session.tool_calls {
        let agent = call.agent.as_ref();
        if !agents.contains(&agent) && is_global(&call.call_id) {
            agents.insert(agent);
            first.push(&*call.call_id);
        }
    }
    first
}

/// Ids of calls that no other session has.
fn global_calls(session: &SessionResult) -> impl Iterator<Item = &str> {
    session.tool_calls.iter().map(|call| &*call.call_id).filter(|id| is_global(id))
}

/// Whether an id of a call is random, or a time, not a counter: it contains a word of letters and digits that is long, or
/// a long number.
fn is_global(call_id: &str) -> bool {
    const SHORTEST_WORD: usize = 8;
    const SHORTEST_NUMBER: usize = 12;
    call_id.split(|character: char| !character.is_ascii_alphanumeric()).any(|word| {
        let digits = word.bytes().filter(u8::is_ascii_digit).count();
        digits >= SHORTEST_NUMBER || digits > 0 && digits < word.len() && word.len() >= SHORTEST_WORD
    })
}

/// The size of the request and of the response.
type Spent = (Option<i64>, Option<i64>);

/// The first responses of a session. One or two may be alike in several sessions that were asked the same.
type Beginning = [Spent; 3];

fn beginning(spent: &[Spent]) -> Option<Beginning> {
    spent.first_chunk().copied()
}

/// The tokens of the main agent's responses, by time. Of a subagent's own log: those of the subagent.
fn spending(session: &SessionResult) -> Vec<Spent> {
    let of_subagent = session.turns.iter().all(|turn| turn.is_subagent);
    let turns = session.turns.iter().filter(|turn| turn.is_subagent == of_subagent);
    let mut spent: Vec<(Option<Time>, Spent)> = turns
        .map(|turn| (turn.occurred_at, turn.tokens.get()))
        .filter(|(_, tokens)| tokens.total().is_some())
        .map(|(time, tokens)| (time, (tokens.context(), tokens.output)))
        .collect();
    if spent.iter().all(|(time, _)| time.is_some()) {
        spent.sort_by_key(|(time, _)| *time);
    }
    spent.into_iter().map(|(_, spent)| spent).collect()
}
