//! Several views of one session: the log that the runtime keeps, a recording of its output, a summary of its result, a
//! trajectory that another program converted from any of these, an older or cut copy. They report the same responses, so
//! they are never added up: the most detailed view provides the rows, and the others only fill what it leaves unknown.
//!
//! Views whose rows have ids in common need no rule: their rows are matched by those ids when the session is merged. The
//! rules here are for views that name the session or its responses differently, or not at all.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::mem;

use foldhash::{HashMap, HashMapExt as _, HashSet};

use super::{Key, Part, facts_only};
use crate::base::rows::Rows;
use crate::base::text::Word;
use crate::base::time::Time;
use crate::model::name::link;
use crate::model::session::{
    Event, EventKind, Identity, ModelTotal, SessionResult, Shows, Status, Tokens, Total, Turn,
};

/// How detailed a view of a session is. This order is the one table of precedence among formats: a format chooses its
/// place by what it declares in its [`Shows`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum View {
    /// Converted by another program, whose conventions may differ from those of the runtime.
    Conversion,
    /// The result of a run, without its responses.
    Summary,
    /// A recording of what the runtime printed.
    Stream,
    /// The log that the runtime keeps on disk.
    Log,
}

impl View {
    fn of(session: &SessionResult) -> Self {
        let shows = session.shows;
        if shows.has(Shows::CONVERTED) {
            Self::Conversion
        } else if shows.has(Shows::KEPT_BY_RUNTIME) {
            Self::Log
        } else if shows.has(Shows::RESULT_ONLY) || shows.has(Shows::RUNS_ONLY) {
            Self::Summary
        } else {
            Self::Stream
        }
    }
}

fn view(part: &Part) -> View {
    View::of(&part.session)
}

/// Leaves the rows of a session to its most detailed views. The others keep what no other view shows: totals that the
/// runtime itself states, and tokens or tool calls where the more detailed views have none.
pub(super) fn keep_most_detailed(parts: &mut [Part]) {
    if parts.iter().any(|part| part.rows() > 0) {
        // The first line of a recording may be that of a log as well: what has no rows decides nothing.
        for part in parts.iter_mut().filter(|part| part.rows() == 0) {
            part.session.shows = part.session.shows.without(Shows::KEPT_BY_RUNTIME);
        }
    }
    let Some(first) = parts.first().map(view) else { return };
    if parts.iter().any(|part| view(part) != first) {
        parts.sort_by_key(|part| Reverse(view(part)));
        for next in [View::Stream, View::Summary, View::Conversion] {
            let start = parts.partition_point(|part| view(part) > next);
            let (detailed, others) = parts.split_at_mut(start);
            let Some(shown) = Shown::by(detailed) else { continue };
            for part in others.iter_mut().take_while(|part| view(part) == next) {
                match next {
                    View::Conversion => shown.reduce_conversion(part),
                    View::Summary | View::Stream | View::Log => shown.reduce_recording(part),
                }
            }
        }
    }
    keep_largest_total(parts);
}

/// What the more detailed views of a session show.
struct Shown<'a> {
    /// A file that shows it.
    source: usize,
    responses: HashSet<&'a Identity>,
    calls: HashSet<&'a str>,
    events: Vec<&'a Event>,
    has_turns: bool,
    /// Sum over the responses.
    tokens: Option<i64>,
    /// Whether there is a count of tokens anywhere, in a response or in a total.
    has_tokens: bool,
    has_calls: bool,
    has_prompts: bool,
}

impl<'a> Shown<'a> {
    fn by(parts: &'a [Part]) -> Option<Self> {
        let source = parts.iter().find(|part| part.rows() > 0)?.source;
        let sessions = || parts.iter().filter(|part| part.rows() > 0).map(|part| &part.session);
        let turns = || sessions().flat_map(|session| &session.turns);
        let mut totals = sessions().flat_map(|session| &session.totals).flat_map(|total| &total.models);
        let tokens = turns().filter_map(|turn| turn.tokens.get().total()).reduce(|a, b| a + b);
        Some(Self {
            source,
            responses: turns().map(|turn| &turn.identity).filter(|identity| **identity != Identity::Unique).collect(),
            calls: sessions().flat_map(|session| &session.tool_calls).map(|call| &*call.call_id).collect(),
            events: sessions().flat_map(|session| &session.events).collect(),
            has_turns: turns().next().is_some(),
            tokens,
            has_tokens: tokens.is_some() || totals.any(|model| model.tokens.total().is_some()),
            has_calls: sessions().any(|it| it.shows.has(Shows::TOOL_CALLS) || it.stated_tool_calls.is_some()),
            has_prompts: sessions().any(|it| it.shows.has(Shows::USER_TURNS)),
        })
    }

    /// A recording whose responses have other ids than those of the log repeats them. It keeps the totals that the
    /// runtime states; what its responses hold beyond those of the log, which may be cut, becomes a total too.
    fn reduce_recording(&self, part: &mut Part) {
        let turns = &part.session.turns;
        let has_matches = turns.iter().any(|turn| self.responses.contains(&turn.identity));
        if turns.is_empty() || !self.has_turns || has_matches {
            self.reduce_calls(part, has_matches);
            self.reduce_events(&mut part.session.events);
            return;
        }
        let mut session = mem::take(&mut part.session);
        let mut totals = mem::take(&mut session.totals);
        if totals.is_empty() && sum(&session.turns).total() > self.tokens {
            totals.extend(total_of(&session));
        }
        let (started_at, ended_at) = (session.started_at, session.ended_at);
        part.session = SessionResult { started_at, ended_at, totals, ..facts_only(session) };
        part.given_to = Some(self.source);
    }

    /// Calls of a recording are those of the log: under the same ids, or under others if nothing matches.
    fn reduce_calls(&self, part: &mut Part, has_matches: bool) {
        let session = &mut part.session;
        if session.tool_calls.iter().any(|call| self.calls.contains(&*call.call_id)) {
            session.recording = None;
        } else if self.has_calls && !has_matches && !session.tool_calls.is_empty() {
            session.tool_calls = Rows::default();
            session.file_changes = Rows::default();
            part.given_to = Some(self.source);
        }
    }

    /// Events of a recording are those of the log, which may have other ids and times: of each kind, only those are left
    /// that the log has not, by their number.
    fn reduce_events(&self, events: &mut Rows<Event>) {
        let mut known: HashMap<EventKind, usize> = HashMap::new();
        for event in &self.events {
            *known.entry(event.kind).or_default() += 1;
        }
        events.retain(|event| {
            let left = known.get_mut(&event.kind).filter(|left| **left > 0);
            left.map(|left| *left -= 1).is_none()
        });
    }

    /// A conversion only fills what nothing else shows.
    fn reduce_conversion(&self, part: &mut Part) {
        let mut session = mem::take(&mut part.session);
        if self.has_tokens {
            session.totals.clear();
        } else if self.has_turns && session.totals.is_empty() {
            // The responses are there, without counts.
            session.totals.extend(total_of(&session));
        }
        if self.has_tokens || self.has_turns {
            session.turns = Rows::default();
            session.tool_calls.iter_mut().for_each(|call| call.turn = None.into());
        }
        if self.has_calls {
            session.tool_calls = Rows::default();
            session.file_changes = Rows::default();
        }
        if self.has_prompts {
            session.prompts = BTreeSet::new();
            session.user_turns = None;
        }
        part.session = SessionResult {
            prompts: mem::take(&mut session.prompts),
            turns: mem::take(&mut session.turns),
            tool_calls: mem::take(&mut session.tool_calls),
            file_changes: mem::take(&mut session.file_changes),
            totals: mem::take(&mut session.totals),
            status: Status::Unknown,
            ..facts_only(session)
        };
        part.is_supplement = true;
        part.given_to = Some(self.source);
    }
}

/// Several conversions of one session state the same sum, perhaps counted in other ways: the largest is kept.
fn keep_largest_total(parts: &mut [Part]) {
    let stated =
        |part: &Part| part.session.totals.iter().flat_map(|it| &it.models).filter_map(|it| it.tokens.total()).max();
    let conversions = || parts.iter().enumerate().filter(|(_, part)| view(part) == View::Conversion);
    let largest = conversions().max_by_key(|(index, part)| (stated(part), Reverse(*index))).map(|(index, _)| index);
    for (index, part) in parts.iter_mut().enumerate() {
        if view(part) == View::Conversion && Some(index) != largest {
            part.session.totals.clear();
        }
    }
}

fn sum<'a>(turns: impl IntoIterator<Item = &'a Box<Turn>>) -> Tokens {
    turns.into_iter().fold(Tokens::UNKNOWN, |sum, turn| sum.plus(turn.tokens.get()))
}

/// The responses of a session as one total, if they have counts.
fn total_of(session: &SessionResult) -> Option<Total> {
    let tokens = sum(&session.turns);
    tokens.total()?;
    let mut models: BTreeMap<Option<Word>, ModelTotal> = BTreeMap::new();
    for turn in &session.turns {
        let model = models.entry(turn.model.clone()).or_default();
        model.model.clone_from(&turn.model);
        model.tokens = model.tokens.plus(turn.tokens.get());
    }
    Some(Total {
        line: session.line,
        key: format!("responses {:?}", tokens.kinds()),
        occurred_at: session.ended_at,
        models: models.into_values().collect(),
        covers_subagents: true,
        ..Total::default()
    })
}

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
        if !is_outer && parts.iter().any(|part| view(part) != View::Conversion) {
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

/// Conversions that name their session, or its runtime, by a word of their own. They belong to the session of that id
/// with the same records, else to one with whose calls theirs have ids in common, else to one that spent the same tokens
/// in the same order.
fn conversions_with_other_names(groups: &Groups) -> Vec<(Key, Key)> {
    let is_conversion = |parts: &[Part]| parts.iter().all(|part| view(part) == View::Conversion);
    let (alone, others): (Vec<_>, Vec<_>) = groups.iter().partition(|(_, parts)| is_conversion(parts));
    if alone.is_empty() || others.is_empty() {
        return Vec::new();
    }
    let mut by_id: HashMap<&str, Vec<&Key>> = HashMap::new();
    let mut by_call: HashMap<&str, BTreeSet<&Key>> = HashMap::new();
    let mut by_beginning: HashMap<Beginning, Vec<(&Key, &SessionResult)>> = HashMap::new();
    for (key, parts) in others {
        by_id.entry(&key.1).or_default().push(key);
        for session in parts.iter().filter(|part| view(part) != View::Conversion).map(|part| &part.session) {
            for call in global_calls(session) {
                by_call.entry(call).or_default().insert(key);
            }
            if let Some(beginning) = beginning(session) {
                by_beginning.entry(beginning).or_default().push((key, session));
            }
        }
    }
    let same_id = |key: &Key, parts: &[Part]| {
        let same_records = |other: &&&Key| groups.get(**other).is_some_and(|it| Records::of(it).meet(parts));
        by_id.get(&*key.1).into_iter().flatten().find(same_records).copied()
    };
    let most_calls = |parts: &[Part]| {
        let mut counts: BTreeMap<&Key, usize> = BTreeMap::new();
        let calls = parts.iter().flat_map(|part| global_calls(&part.session));
        for key in calls.filter_map(|call| by_call.get(call)).flatten() {
            *counts.entry(key).or_default() += 1;
        }
        counts.into_iter().max_by_key(|(key, count)| (*count, Reverse(*key))).map(|(key, _)| key)
    };
    let same_tokens = |parts: &[Part]| {
        parts.iter().map(|part| &part.session).find_map(|session| {
            let candidates = by_beginning.get(&beginning(session)?)?;
            candidates.iter().find(|(_, other)| is_same_spending(session, other)).map(|(key, _)| *key)
        })
    };
    let find = |(key, parts): (&Key, &Vec<Part>)| {
        let to = same_id(key, parts).or_else(|| most_calls(parts)).or_else(|| same_tokens(parts))?;
        Some((key.clone(), to.clone()))
    };
    alone.into_iter().filter_map(find).collect()
}

/// Hashes under which a conversion with an id of its own and the log that it was made from can meet: see
/// [`super::links`]. A log gives few, as there are many logs: the first call of each agent and its first tokens. A
/// conversion gives all its calls.
pub(super) fn links(session: &SessionResult) -> Vec<u64> {
    let is_conversion = View::of(session) == View::Conversion;
    let mut agents: Vec<Option<&Word>> = Vec::new();
    let mut links = Vec::new();
    for call in &session.tool_calls {
        let agent = call.agent.as_ref();
        if is_global(&call.call_id) && (is_conversion || !agents.contains(&agent)) {
            agents.push(agent);
            links.push(link("call", &call.call_id));
        }
    }
    links.extend(beginning(session).map(|it| link("tokens", &format!("{it:?}"))));
    links
}

/// Ids of calls that no other session has, by their length: some runtimes count calls from 0 in each session.
fn global_calls(session: &SessionResult) -> impl Iterator<Item = &str> {
    session.tool_calls.iter().map(|call| &*call.call_id).filter(|id| is_global(id))
}

fn is_global(call_id: &str) -> bool {
    const SHORTEST: usize = 16;
    call_id.len() >= SHORTEST && call_id.bytes().any(|byte| byte.is_ascii_digit())
}

/// The size of the request and of the response.
type Spent = (Option<i64>, Option<i64>);

/// The first responses of a session. One or two may be alike in several sessions that were asked the same.
type Beginning = [Spent; 3];

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

fn beginning(session: &SessionResult) -> Option<Beginning> {
    spending(session).first_chunk().copied()
}

/// Whether one of them spent what the other did, at a time when it can be the same: until the shorter one ends.
fn is_same_spending(one: &SessionResult, other: &SessionResult) -> bool {
    let is_apart =
        |a: &SessionResult, b: &SessionResult| a.ended_at.zip(b.started_at).is_some_and(|(end, start)| end < start);
    let is_equal = spending(one).into_iter().zip(spending(other)).all(|(a, b)| a == b);
    is_equal && !is_apart(one, other) && !is_apart(other, one)
}
