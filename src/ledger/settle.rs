//! What all files tell to the tables: one session per session, every billed token in one row, counters derived.
//!
//! [`settle`] is a pure function of the facts: it sorts them first, so neither the order of files nor of threads nor of
//! ingests changes its answer. What identifies a thing stands in the facts: [`Identity`] for a response, the key of a
//! [`Total`], [`SessionResult::recording`], the content hash of a file.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::mem;

use foldhash::{HashMap, HashMapExt as _, HashSet, HashSetExt as _};
use rayon::slice::ParallelSliceMut as _;

use crate::base::rows::Rows;
use crate::base::text::{Shared, Word};
use crate::base::time::Time;
use crate::model::name::{Name, link};
use crate::model::session::{
    CallStatus, Cost, Event, EventKind, Identity, ModelTotal, SessionResult, Shows, Status, Tokens, ToolCall, Total,
    TotalKind, Turn, add, add_money,
};
use crate::model::source::{Source, SourceStatus};
use crate::model::tables::{CallRow, ChangeRow, EventRow, Grain, SessionRow, Tables, TurnRow, Usage};

mod joins;
mod views;

/// Makes the tables of all that was read. Their sources have no sessions any more: those are the tables.
pub fn settle(sources: Vec<Source>) -> Tables {
    settle_into(sources, Tables::default())
}

/// As [`settle`], into tables that may have room for the rows. Rows that they have are dropped.
pub fn settle_into(mut sources: Vec<Source>, mut tables: Tables) -> Tables {
    tables.clear();
    sources.sort_by(|a, b| a.path.cmp(&b.path));
    mark_copies(&mut sources);
    let mut groups = sessions(&mut sources);
    let mut renamed = joins::join_groups(&mut groups);
    for parts in groups.values_mut() {
        reconcile_parts(parts);
    }
    leave_to_providers(&mut groups);
    name_by_first_threads(&mut groups);
    renamed.extend(give_each_response_its_session(&mut groups));
    let mut held: Rows<Held> = sources.iter().map(|_| Held::default()).collect();
    make_room(&mut tables, &groups);
    for (_, parts) in groups {
        Merge::new(parts, &mut held).into_tables(&mut tables);
    }
    mark_sources_without_rows(&mut sources, &held);
    link_children(&mut tables, &renamed);
    tables.sources = sources;
    tables
}

/// Hashed names under which what a file tells can meet what another file tells: sessions, responses, prompts, contents.
/// Files that share none, also not by way of others, are settled apart with the same result as together: see [`groups`].
pub fn links(source: &Source) -> Box<[u64]> {
    links_of(&source.sessions, source.content_hash.as_deref())
}

/// The [`links`] of sessions, and of the content in which they stand.
pub fn links_of(sessions: &[SessionResult], content_hash: Option<&str>) -> Box<[u64]> {
    let mut links: Vec<u64> = content_hash.into_iter().map(|it| link("content", it)).collect();
    for session in sessions {
        let own = [&session.parent_session_id, &session.provider_session_id, &session.continues];
        let ids = own.into_iter().flatten().chain([&session.session_id]);
        links.extend(ids.map(|it| link("id", it)));
        let agents = session.events.iter().filter(|it| it.kind == EventKind::Subagent);
        links.extend(agents.filter_map(|it| it.code.as_deref()).map(|it| link("id", it)));
        let prompts = session.prompts.iter().chain(session.asked.values());
        let identities = session.turns.iter().map(|it| &it.identity).chain(prompts);
        links.extend(identities.filter_map(|it| match it {
            Identity::Global(it) => Some(it.link()),
            // Whatever it is called in the end, its threads are sessions.
            Identity::Thread(thread, _) => Some(link("id", thread)),
            Identity::Unique | Identity::Session(_) => None,
        }));
        links.extend(joins::links(session));
    }
    distinct(links)
}

/// Links in their order, each once.
pub fn distinct(mut links: Vec<u64>) -> Box<[u64]> {
    links.sort_unstable();
    links.dedup();
    links.into_boxed_slice()
}

/// Which of the files belong together: the number of each one's group, which is that of its first member. `links` are
/// those of each file.
pub fn groups<'a>(links: impl Iterator<Item = &'a [u64]> + Clone) -> Vec<usize> {
    /// More are sorted, by all threads: a map of them would not stay near the processor.
    const FEW: usize = 1 << 17;
    groups_by_map_of(links, FEW)
}

/// [`groups`] by a map of links if they are no more than that.
fn groups_by_map_of<'a>(links: impl Iterator<Item = &'a [u64]> + Clone, most: usize) -> Vec<usize> {
    fn root(parents: &mut Rows<usize>, mut at: usize) -> usize {
        while parents[at] != at {
            parents[at] = parents[parents[at]];
            at = parents[at];
        }
        at
    }
    fn join(parents: &mut Rows<usize>, a: usize, b: usize) {
        let (a, b) = (root(parents, a), root(parents, b));
        parents[a.max(b)] = a.min(b);
    }
    let count = links.clone().map(<[u64]>::len).sum();
    let mut parents: Rows<usize> = Rows::default();
    links.clone().enumerate().for_each(|(index, _)| parents.push(index));
    let members = links.enumerate().flat_map(|(index, links)| links.iter().map(move |it| (*it, index)));
    if count <= most {
        let mut first: HashMap<u64, usize> = HashMap::default();
        for (link, index) in members {
            let other = *first.entry(link).or_insert(index);
            // One link joined them, and others say it again.
            if parents[other] != parents[index] {
                join(&mut parents, other, index);
            }
        }
    } else {
        let mut sorted: Vec<(u64, usize)> = Vec::with_capacity(count);
        sorted.extend(members);
        sorted.par_sort_unstable();
        for ((link, index), (next, other)) in sorted.iter().zip(sorted.iter().skip(1)) {
            if link == next {
                join(&mut parents, *index, *other);
            }
        }
    }
    (0..parents.len()).map(|it| root(&mut parents, it)).collect()
}

/// Makes room for the rows of several sessions at once: tables that grow are copied again and again.
fn make_room(tables: &mut Tables, groups: &BTreeMap<Key, Vec<Part>>) {
    if groups.len() > 1 {
        /// Room is kept for tables that have about as many rows: it is made for somewhat more.
        const STEP: usize = 1 << 12;
        fn room<T>(table: &mut Vec<T>, rows: usize) {
            if table.capacity() < rows {
                *table = Vec::new();
                *table = Vec::with_capacity(rows.next_multiple_of(STEP));
            }
        }
        let rows = |of: fn(&SessionResult) -> usize| groups.values().flatten().map(|it| of(&it.session)).sum();
        room(&mut tables.turns, rows(|it| it.turns.len()));
        room(&mut tables.tool_calls, rows(|it| it.tool_calls.len()));
        room(&mut tables.file_changes, rows(|it| it.file_changes.len()));
        room(&mut tables.events, rows(|it| it.events.len()));
    }
}

/// What of a file's rows stands in the tables.
#[derive(Debug, Default)]
struct Held {
    /// Rows that the file tells.
    rows: usize,
    /// Those that no other file told before.
    own: usize,
    /// A file that told the others.
    other: Option<usize>,
}

/// A file whose every row stands in another one is a copy.
fn mark_sources_without_rows(sources: &mut [Source], held: &Rows<Held>) {
    for (index, held) in held.iter().enumerate() {
        let Held { rows: 1.., own: 0, other: Some(other) } = held else { continue };
        let other = sources.get(*other).map(|it| it.path.clone());
        if let Some(source) = sources.get_mut(index)
            && source.status == SourceStatus::Parsed
        {
            (source.status, source.duplicate_of) = (SourceStatus::Duplicate, other);
        }
    }
}

/// Files of equal content are one: the first by path stands.
fn mark_copies(sources: &mut [Source]) {
    let mut first: HashMap<String, String> = HashMap::new();
    for source in sources {
        let (SourceStatus::Parsed | SourceStatus::Duplicate, Some(hash)) = (source.status, &source.content_hash) else {
            continue;
        };
        match first.get(hash) {
            None => {
                first.insert(hash.clone(), source.path.clone());
                source.status = SourceStatus::Parsed;
                source.duplicate_of = None;
            }
            Some(path) => {
                source.status = SourceStatus::Duplicate;
                source.duplicate_of = Some(path.clone());
            }
        }
    }
}

/// What one file tells of one session.
struct Part {
    source: usize,
    session: SessionResult,
    /// Where rows went that belong to another session.
    given_to: Option<usize>,
    /// Whether it only fills what the other parts leave unknown.
    is_supplement: bool,
}

impl Part {
    fn rows(&self) -> usize {
        let it = &self.session;
        it.turns.len() + it.tool_calls.len() + it.events.len() + it.totals.len() + it.prompts.len()
    }
}

type Key = (String, String);

/// The parts of each session, by runtime and id, in the order of the files.
fn sessions(sources: &mut [Source]) -> BTreeMap<Key, Vec<Part>> {
    let mut groups: BTreeMap<Key, Vec<Part>> = BTreeMap::new();
    for (index, source) in sources.iter_mut().enumerate() {
        let is_copy = source.status == SourceStatus::Duplicate;
        let ids: BTreeSet<&str> = source.sessions.iter().map(|it| &*it.session_id).collect();
        source.session_count = ids.len();
        for session in mem::take(&mut source.sessions) {
            let key = (session.runtime.clone().into_owned(), session.session_id.clone());
            let (session, given_to) = if is_copy {
                // A copy tells nothing new, but what lies beside it may.
                (facts_only(session), Some(index))
            } else {
                (session, None)
            };
            groups.entry(key).or_default().push(Part { source: index, session, given_to, is_supplement: false });
        }
    }
    groups
}

/// Orders the parts of one session, and leaves each of its rows to one of them where their ids do not match.
fn reconcile_parts(parts: &mut Vec<Part>) {
    find_prompts(parts);
    if parts.len() < 2 {
        return;
    }
    // Parts are already in the order of paths and lines; their times come first, then the richer copy.
    parts.sort_by_key(|it| (it.session.started_at.is_none(), it.session.started_at, Reverse(it.rows())));
    drop_copied_recordings(parts);
    leave_runs_to_their_session(parts);
    views::keep_most_detailed(parts);
}

/// Where messages and what they say stand in files of their own, a prompt is what a human said.
fn find_prompts(parts: &mut [Part]) {
    let said: BTreeSet<String> = parts.iter_mut().flat_map(|it| mem::take(&mut it.session.said)).collect();
    for part in parts {
        let asked = mem::take(&mut part.session.asked).into_iter().filter(|(message, _)| said.contains(message));
        part.session.prompts.extend(asked.map(|(_, identity)| identity));
    }
}

/// A program that runs other agents tells again what these did. Where the log of the agent's own session is there as well,
/// it keeps the tokens and the calls; the outer session keeps how it went (accounting, item 11).
fn leave_to_providers(groups: &mut BTreeMap<Key, Vec<Part>>) {
    let has_counts = |it: &Part| {
        let totals = it.session.totals.iter().flat_map(|it| &it.models).map(|it| it.tokens);
        it.session.turns.iter().map(|it| it.tokens.get()).chain(totals).any(|it| it.total().is_some())
    };
    let runs_another = groups.values().flatten().any(|it| it.session.provider_session_id.is_some());
    if !runs_another {
        return;
    }
    let mut counted: HashMap<String, Vec<String>> = HashMap::new();
    for ((runtime, id), _) in groups.iter().filter(|(_, parts)| parts.iter().any(has_counts)) {
        counted.entry(id.clone()).or_default().push(runtime.clone());
    }
    for ((runtime, id), parts) in groups.iter_mut() {
        let is_inner = |part: &Part| {
            let Some(inner) = &part.session.provider_session_id else { return false };
            counted.get(inner).is_some_and(|it| inner != id || it.iter().any(|it| it != runtime))
        };
        for part in parts.iter_mut().filter(|it| is_inner(it)) {
            let session = mem::take(&mut part.session);
            let durations = session.totals.iter().map(|it| it.duration_ms);
            // Their turns are gone.
            let errors = session.events.into_iter().filter(|it| it.kind == EventKind::Error);
            part.session = SessionResult {
                duration_ms: session.duration_ms.or(durations.fold(None, add)),
                shows: Shows::USER_TURNS,
                stated_turns: None,
                stated_tool_calls: None,
                stated_tool_errors: None,
                stated_lines: None,
                subagents: BTreeSet::new(),
                recording: None,
                turns: Rows::default(),
                tool_calls: Rows::default(),
                file_changes: Rows::default(),
                totals: Vec::new(),
                events: errors.map(|it| Event { turn: None, ..it }).collect(),
                ..session
            };
        }
    }
}

/// What sums up runs tells only how they ended where the session's own file is there: that has the rows and the times, and
/// where it shows responses, all of the tokens ("Found by checking", 7).
fn leave_runs_to_their_session(parts: &mut [Part]) {
    let kept = || parts.iter().filter(|it| it.session.shows.has(Shows::KEPT_BY_RUNTIME));
    let Some(source) = kept().map(|it| it.source).next() else { return };
    let has_tokens = kept().flat_map(|it| &it.session.turns).any(|it| it.tokens.get().total().is_some());
    let ended_at = kept().filter_map(|it| it.session.ended_at).max();
    let is_summary = |it: &Part| it.session.shows.has(Shows::RUNS_ONLY);
    for part in parts.iter_mut().filter(|it| is_summary(it)) {
        let mut session = mem::take(&mut part.session);
        let totals = if has_tokens { Vec::new() } else { mem::take(&mut session.totals) };
        // An end before the last record is none of this session as it is now.
        let status = if session.ended_at >= ended_at { session.status } else { Status::Unknown };
        part.session = SessionResult {
            status,
            totals,
            started_at: None,
            ended_at: None,
            stated_tool_calls: None,
            stop_reason: None,
            text: None,
            ..facts_only(session)
        };
        part.given_to = Some(source);
    }
    parts.sort_by_key(is_summary);
}

/// A session without its rows, and without the times that these give it.
fn facts_only(session: SessionResult) -> SessionResult {
    let has_times = session.turns.iter().any(|it| it.occurred_at.is_some());
    SessionResult {
        started_at: session.started_at.filter(|_| !has_times),
        ended_at: session.ended_at.filter(|_| !has_times),
        recording: None,
        prompts: BTreeSet::new(),
        asked: BTreeMap::new(),
        said: BTreeSet::new(),
        turns: Rows::default(),
        tool_calls: Rows::default(),
        file_changes: Rows::default(),
        events: Rows::default(),
        totals: Vec::new(),
        ..session
    }
}

/// A thread that goes on from another one names what it repeats by that one. That may be a fork itself, and only its own
/// log tells (item 13): all are named by the first of them.
fn name_by_first_threads(groups: &mut BTreeMap<Key, Vec<Part>>) {
    let before: HashMap<Key, Key> = groups
        .iter()
        .filter_map(|(key, parts)| {
            let before = parts.iter().filter_map(|it| it.session.continues.clone()).min()?;
            Some((key.clone(), (key.0.clone(), before)))
        })
        .collect();
    let first_of = |thread: Key| {
        let mut way = vec![&thread];
        while let Some(it) = way.last().and_then(|it| before.get(*it)) {
            if let Some(circle) = way.iter().position(|known| *known == it) {
                // Logs that name each other have no first one.
                return way.iter().skip(circle).min().map_or_else(String::new, |it| it.1.clone());
            }
            way.push(it);
        }
        way.last().map_or_else(String::new, |it| it.1.clone())
    };
    for ((runtime, _), parts) in groups.iter_mut() {
        let mut firsts: HashMap<Shared, Name> = HashMap::new();
        let mut rename = |it: Identity| match it {
            Identity::Thread(thread, name) => {
                let first_of = |it: &Shared| first_of((runtime.clone(), it.to_string()));
                let first = firsts.entry(thread).or_insert_with_key(|it| [runtime, " ", &first_of(it)].concat().into());
                Identity::Global(name.within(*first))
            }
            it => it,
        };
        for part in parts {
            for turn in &mut part.session.turns {
                turn.identity = rename(mem::take(&mut turn.identity));
            }
            part.session.prompts = mem::take(&mut part.session.prompts).into_iter().map(&mut rename).collect();
        }
    }
}

/// Which response a turn or a prompt of a recording is, among those of all sessions that are known everywhere.
struct Numbers {
    /// Of its turns, in their order.
    turns: Rows<Option<usize>>,
    /// Of its prompts, in their order.
    prompts: Rows<Option<usize>>,
}

/// Gives responses and prompts that are known everywhere their numbers. Each is looked up by its name here, and nowhere else.
#[derive(Default)]
struct Numbering {
    numbers: HashMap<Name, usize>,
    /// Of each number the session in which it stands, by its place, and whether it stands in others too.
    sessions: Rows<(usize, bool)>,
}

impl Numbering {
    fn number(&mut self, session: usize, identity: &Identity) -> Option<usize> {
        let name = identity.global()?;
        let number = *self.numbers.entry(name).or_insert(self.sessions.len());
        if number == self.sessions.len() {
            self.sessions.push((session, false));
        }
        let (first, has_others) = &mut self.sessions[number];
        *has_others |= *first != session;
        Some(number)
    }

    fn numbers(&mut self, session: usize, part: &Part) -> Numbers {
        Numbers {
            turns: part.session.turns.iter().map(|it| self.number(session, &it.identity)).collect(),
            prompts: part.session.prompts.iter().map(|it| self.number(session, it)).collect(),
        }
    }
}

/// A session that a response stands in, by its place, and when.
struct Claim {
    session: usize,
    source: usize,
    time: Option<Time>,
    is_kept: bool,
}

/// The session that a response belongs to, by its place, and the file that tells so.
#[derive(Clone, Copy)]
struct Owner {
    session: usize,
    source: usize,
}

/// To which session each response belongs that stands in several, by its number: see [`give_each_response_its_session`].
/// `sessions` are the first in which each stands, and whether there are others.
fn owners_of(
    groups: &BTreeMap<Key, Vec<Part>>,
    numbers: &Rows<Vec<Numbers>>,
    sessions: &Rows<(usize, bool)>,
) -> Rows<Option<Owner>> {
    let mut claims: Rows<Vec<Claim>> = sessions.iter().map(|_| Vec::new()).collect();
    for (session, (parts, numbers)) in groups.values().zip(numbers).enumerate() {
        for (part, numbers) in parts.iter().zip(numbers) {
            let is_kept = part.session.shows.has(Shows::KEPT_BY_RUNTIME);
            let turns = numbers.turns.iter().zip(part.session.turns.iter().map(|it| it.occurred_at));
            let prompts = numbers.prompts.iter().map(|it| (it, None));
            let shared = turns.chain(prompts).filter_map(|(number, time)| Some(((*number)?, time)));
            for (number, time) in shared.filter(|it| sessions[it.0].1) {
                // The recordings of a session come one behind the other.
                match claims[number].last_mut().filter(|it| it.session == session) {
                    Some(claim) => {
                        claim.time = earlier(claim.time, time);
                        claim.is_kept |= is_kept;
                    }
                    None => claims[number].push(Claim { session, source: part.source, time, is_kept }),
                }
            }
        }
    }
    // Looked at once for each session: thousands may have copies of one response.
    let keys: Rows<&Key> = groups.keys().collect();
    let known: Rows<(Option<&str>, Option<Time>)> = groups
        .values()
        .map(|parts| {
            let parent = parts.iter().find_map(|it| it.session.parent_session_id.as_deref());
            (parent, parts.iter().filter_map(|it| it.session.ended_at).max())
        })
        .collect();
    let owner = |claims: &Vec<Claim>| {
        let mut ids: HashMap<&str, usize> = HashMap::new();
        if claims.iter().any(|it| known[it.session].0.is_some()) {
            for claim in claims {
                *ids.entry(&keys[claim.session].1).or_default() += 1;
            }
        }
        let is_child = |id: &str, parent: &str| ids.get(parent).is_some_and(|it| *it > usize::from(id == parent));
        let rank = |it: &Claim| {
            let (parent, last) = known[it.session];
            let is_child = parent.is_some_and(|parent| is_child(&keys[it.session].1, parent));
            // Sessions stand in the order of their ids.
            (is_child, it.time.is_none(), it.time, !it.is_kept, last.is_none(), last, it.session)
        };
        let owner = claims.iter().min_by_key(|it| rank(it))?;
        Some(Owner { session: owner.session, source: owner.source })
    };
    claims.iter().map(owner).collect()
}

/// A response that stands in several sessions, by a resume or a fork that copied history, belongs to one (accounting B9):
/// not to a session that names another of them as its parent, then to the one that has it at the earliest time, then to
/// one whose file the runtime keeps, then to the one whose last record is earliest, then to the smallest id. Never by path
/// or file time. What hangs on it goes along. Says which sessions are another one under a name of their own.
fn give_each_response_its_session(groups: &mut BTreeMap<Key, Vec<Part>>) -> HashMap<Key, Key> {
    let mut numbering = Numbering::default();
    // Of copies there may be many.
    numbering.numbers.reserve(groups.values().flatten().map(|it| it.session.turns.len()).max().unwrap_or(0));
    let mut numbers: Rows<Vec<Numbers>> = Rows::default();
    for (session, parts) in groups.values().enumerate() {
        numbers.push(parts.iter().map(|it| numbering.numbers(session, it)).collect());
    }
    let Numbering { numbers: names, sessions } = numbering;
    drop(names);
    if !sessions.iter().any(|(_, has_others)| *has_others) {
        return HashMap::new();
    }
    let owners = owners_of(groups, &numbers, &sessions);
    let with_own: HashSet<usize> = owners.iter().flatten().map(|it| it.session).collect();
    let events_of = |parts: &[Part]| parts.iter().flat_map(|it| &it.session.events).filter_map(event_id).collect();
    let told: HashMap<usize, HashSet<EventId>> = groups
        .values()
        .enumerate()
        .filter(|(session, _)| with_own.contains(session))
        .map(|(session, parts)| (session, events_of(parts)))
        .collect();
    let calls_of =
        |parts: &[Part]| parts.iter().flat_map(|it| &it.session.tool_calls).map(|it| it.call_id.clone()).collect();
    let called: HashMap<usize, HashSet<Shared>> = groups
        .values()
        .enumerate()
        .filter(|(session, _)| with_own.contains(session))
        .map(|(session, parts)| (session, calls_of(parts)))
        .collect();
    let mut copies = Vec::new();
    for (session, (parts, numbers)) in groups.values_mut().zip(&numbers).enumerate() {
        let owner_of = |number: &Option<usize>| number.and_then(|it| owners[it]);
        if !numbers.iter().flat_map(|it| it.turns.iter().chain(&it.prompts)).any(|it| owner_of(it).is_some()) {
            continue;
        }
        let elsewhere =
            |number: &Option<usize>| owner_of(number).filter(|it| it.session != session).map(|it| it.source);
        let messages: HashMap<Shared, usize> = parts
            .iter()
            .zip(numbers)
            .flat_map(|(part, numbers)| part.session.turns.iter().zip(&numbers.turns))
            .filter_map(|(turn, number)| Some((turn.message_id.clone()?, elsewhere(number)?)))
            .collect();
        for (part, numbers) in parts.iter_mut().zip(numbers) {
            let is_recording = !part.session.shows.has(Shows::KEPT_BY_RUNTIME) && part.session.totals.is_empty();
            if is_recording
                && let Some(owner) = one(numbers.turns.iter().map(owner_of))
                && owner.session != session
            {
                // It tells of that session, under another name.
                part.session = facts_only(mem::take(&mut part.session));
                part.given_to = Some(owner.source);
                copies.push((session, owner.session));
                continue;
            }
            let given: BTreeSet<usize> = numbers.turns.iter().filter_map(owner_of).map(|it| it.session).collect();
            let given = || given.iter().filter(|it| **it != session);
            let told: Vec<&HashSet<EventId>> = given().filter_map(|it| told.get(it)).collect();
            let called: Vec<&HashSet<Shared>> = given().filter_map(|it| called.get(it)).collect();
            if !told.is_empty() {
                let is_told = |it: &Event| event_id(it).is_some_and(|id| told.iter().any(|it| it.contains(&id)));
                part.session.events.retain(|it| !is_told(it));
            }
            // A copy that was cut may have a call whose response comes after the cut.
            let is_called = |it: &ToolCall| called.iter().any(|calls| calls.contains(&it.call_id));
            give_away(part, numbers, elsewhere, &messages, is_called);
        }
    }
    let keys: Rows<&Key> = groups.keys().collect();
    let copies = copies.into_iter().map(|(copy, owner)| (keys[copy].clone(), keys[owner].clone())).collect();
    // A session left without a row of its own is none.
    groups.retain(|_, parts| parts.iter().any(|it| it.given_to.is_none() || it.rows() > 0));
    copies
}

/// The owner of responses that all belong to one session: the first of them; none if there is no response.
fn one(mut owners: impl Iterator<Item = Option<Owner>>) -> Option<Owner> {
    let owner = owners.next()??;
    owners.all(|it| it.is_some_and(|it| it.session == owner.session)).then_some(owner)
}

/// Takes the turns out of a part that belong elsewhere, with the calls, changes and events that hang on them. `messages`
/// are those of such turns in any part of the session; `is_called` whether a session that gets some of them has a call.
fn give_away(
    part: &mut Part,
    numbers: &Numbers,
    elsewhere: impl Fn(&Option<usize>) -> Option<usize>,
    messages: &HashMap<Shared, usize>,
    is_called: impl Fn(&ToolCall) -> bool,
) {
    let session = &mut part.session;
    let mut given_to = None;
    let mut kept = Vec::with_capacity(session.turns.len());
    let mut places = Rows::default();
    for (turn, number) in mem::take(&mut session.turns).into_iter().zip(&numbers.turns) {
        if let Some(source) = elsewhere(number) {
            given_to = Some(source);
            places.push(None);
        } else {
            places.push(Some(kept.len()));
            kept.push(turn);
        }
    }
    session.turns = kept.into();
    let mut prompts = numbers.prompts.iter();
    given_to = given_to.or_else(|| numbers.prompts.iter().filter_map(&elsewhere).min());
    session.prompts.retain(|_| prompts.next().and_then(&elsewhere).is_none());
    let owner_of = |it: &ToolCall| messages.get(it.message_id.as_ref()?).copied().filter(|_| it.turn.is_none());
    given_to = given_to.or_else(|| session.tool_calls.iter().find_map(|it| owner_of(it)));
    if given_to.is_none() {
        return;
    }
    part.given_to = given_to;
    let moved = |turn: Option<usize>| turn.map_or(Some(None), |it| places[it].map(Some));
    let mut calls = Vec::with_capacity(session.tool_calls.len());
    let mut call_places = Rows::default();
    for mut call in mem::take(&mut session.tool_calls) {
        let is_given = owner_of(&call).is_some() || call.turn.is_none() && is_called(&call);
        call_places.push(moved(call.turn.get()).filter(|_| !is_given).map(|turn| {
            call.turn = turn.into();
            calls.push(call);
            calls.len() - 1
        }));
    }
    session.tool_calls = calls.into();
    session.file_changes.retain_mut(|it| match it.call.map(|it| call_places[it]) {
        Some(Some(place)) => {
            it.call = Some(place);
            true
        }
        Some(None) => false,
        None => true,
    });
    // Events carry no name of their own; those before the first record that is kept are history as well.
    let first = session.turns.iter().filter_map(|it| it.occurred_at).min();
    let calls: HashSet<&str> = session.tool_calls.iter().map(|it| it.call_id.as_str()).collect();
    session.events.retain_mut(|it| match moved(it.turn) {
        Some(turn) => {
            it.turn = turn;
            let is_of_call = it.call_id.as_deref().is_some_and(|it| calls.contains(it));
            is_of_call || turn.is_some() || first.is_none() || it.occurred_at.is_none() || it.occurred_at >= first
        }
        None => false,
    });
    // The session itself begins with what is its own.
    session.started_at = first.or(session.started_at);
}

/// Takes what is not known yet.
fn fill<T>(known: &mut Option<T>, part: Option<T>) {
    *known = known.take().or(part);
}

fn earlier(a: Option<Time>, b: Option<Time>) -> Option<Time> {
    a.into_iter().chain(b).min()
}

/// A recording that begins as another one is a copy of it, or the same while it grew.
fn drop_copied_recordings(parts: &mut Vec<Part>) {
    let recordings: Vec<_> = parts.iter().map(|it| it.session.recording.as_ref()).collect();
    let is_copy = |(index, own): (usize, Option<&Vec<u64>>)| {
        own.is_some_and(|own| {
            recordings.iter().enumerate().any(|(other, it)| {
                other != index && it.is_some_and(|it| it.starts_with(own) && (it.len() > own.len() || other < index))
            })
        })
    };
    let mut copies = recordings.iter().copied().enumerate().map(is_copy).collect::<Vec<_>>().into_iter();
    parts.retain(|_| !copies.next().unwrap_or(false));
}

/// A child run names no parent; the parent names its children.
fn link_children(tables: &mut Tables, copies: &HashMap<Key, Key>) {
    let mut parents: HashMap<(String, String), String> = HashMap::new();
    for row in tables.events.iter().filter(|it| it.event.kind == EventKind::Subagent) {
        let Some(SessionRow { session: parent, .. }) = tables.sessions.get(row.session) else { continue };
        if let Some(child) = &row.event.code {
            let child = (parent.runtime.clone().into_owned(), child.to_string());
            let child = copies.get(&child).cloned().unwrap_or(child);
            parents.entry(child).or_insert_with(|| parent.session_id.clone());
        }
    }
    for row in &mut tables.sessions {
        let key = (row.session.runtime.clone().into_owned(), row.session.session_id.clone());
        if let Some(parent) = &mut row.session.parent_session_id
            && let Some((_, renamed)) = copies.get(&(key.0.clone(), parent.clone()))
        {
            parent.clone_from(renamed);
        }
        if row.session.parent_session_id.is_none() {
            row.session.parent_session_id = parents.remove(&key).filter(|it| *it != key.1);
        }
    }
}

/// The parts of one session on the way to its rows.
struct Merge {
    source: usize,
    session: SessionResult,
    turns: Rows<(usize, Box<Turn>)>,
    calls: Rows<(usize, Box<ToolCall>)>,
    changes: Vec<(usize, crate::model::session::FileChange)>,
    events: Vec<(usize, Event)>,
    totals: Vec<(usize, Vec<Total>)>,
    total_keys: HashSet<String>,
    /// When the text of the session was said.
    text_at: Option<Time>,
    /// The end of the part that the session has its status from.
    ending: Ending,
}

/// What decides which part of a session has its status.
#[derive(Debug, Clone, Copy, Default)]
struct Ending {
    status: Status,
    ended_at: Option<Time>,
    /// Whether the part is a copy of the runtime's own file, with responses of the main agent.
    is_main_file: bool,
}

impl Ending {
    fn of(part: &SessionResult) -> Self {
        let is_main_file = part.shows.has(Shows::KEPT_BY_RUNTIME) && part.turns.iter().any(|turn| !turn.is_subagent);
        Self { status: part.status, ended_at: part.ended_at, is_main_file }
    }

    /// Of two copies of the runtime's own file, the one with the later last record decides. Of other parts, any end
    /// outranks none, and a later success outranks an earlier error.
    fn outranks(self, known: Self) -> bool {
        let are_copies = self.is_main_file && known.is_main_file;
        if are_copies && self.status != Status::Unknown && self.ended_at != known.ended_at {
            return self.ended_at > known.ended_at;
        }
        let rank = |ending: Self| (ending.status.is_end(), ending.ended_at, ending.status == Status::Success);
        rank(self) >= rank(known)
    }
}

impl Merge {
    fn new(parts: Vec<Part>, held: &mut Rows<Held>) -> Self {
        let mut it = Self {
            source: parts.first().map_or(0, |it| it.source),
            session: SessionResult::default(),
            turns: Rows::default(),
            calls: Rows::default(),
            changes: Vec::new(),
            events: Vec::new(),
            totals: Vec::new(),
            total_keys: HashSet::new(),
            text_at: None,
            ending: Ending::default(),
        };
        let mut seen = Seen::default();
        let is_only = parts.len() == 1;
        for part in parts {
            let (source, rows) = (part.source, part.rows());
            let before = it.rows();
            held[source].rows += rows + usize::from(part.given_to.is_some());
            held[source].other = held[source].other.or(part.given_to).or((it.source != source).then_some(it.source));
            it.add(part, &mut seen, is_only);
            held[source].own += it.rows() - before;
        }
        it
    }

    fn rows(&self) -> usize {
        let rows = self.turns.len() + self.calls.len() + self.events.len();
        rows + self.session.prompts.len() + self.total_keys.len()
    }

    /// `is_only`: nothing else tells of the session.
    fn add(&mut self, part: Part, seen: &mut Seen, is_only: bool) {
        let Part { source, mut session, is_supplement, .. } = part;
        let is_recording = session.recording.is_some();
        let ending = Ending::of(&session);
        // What stands once needs no looking for copies.
        let has_copies = !is_only || !are_apart(&session.turns);
        let turns = mem::take(&mut session.turns).into_iter();
        let turns: Vec<usize> = if has_copies {
            turns.map(|turn| self.add_turn(source, turn, is_recording, seen)).collect()
        } else {
            self.turns = turns.map(|turn| (source, turn)).collect();
            (0..self.turns.len()).collect()
        };
        let mut occurrences: HashMap<Shared, usize> = HashMap::new();
        let calls: Vec<usize> = mem::take(&mut session.tool_calls)
            .into_iter()
            .map(|mut call| {
                call.turn = call.turn.get().and_then(|it| turns.get(it).copied()).into();
                if is_only {
                    return self.add_call(source, call, None, seen);
                }
                let name = call
                    .message_id
                    .as_ref()
                    .map_or(call.call_id.clone(), |it| [it, " ", &call.call_id].concat().into());
                let occurrence = occurrences.entry(name.clone()).or_insert(0);
                *occurrence += 1;
                let key = (name, *occurrence);
                self.add_call(source, call, (!is_recording).then_some(key), seen)
            })
            .collect();
        for mut change in mem::take(&mut session.file_changes) {
            change.call = change.call.and_then(|it| calls.get(it).copied());
            let is_new = change.call.is_none_or(|it| seen.changes.insert((it, change.path.clone())));
            if is_new {
                self.changes.push((source, change));
            }
        }
        for mut event in mem::take(&mut session.events) {
            event.turn = event.turn.and_then(|it| turns.get(it).copied());
            if seen.event(&event) {
                self.events.push((source, event));
            }
        }
        self.total_keys.extend(session.totals.iter().map(|it| it.key.clone()));
        self.totals.push((source, mem::take(&mut session.totals)));
        if is_supplement && !self.session.session_id.is_empty() {
            self.fill_facts(session);
        } else {
            self.add_facts(session, ending);
        }
    }

    /// Copies of one response are one row, with the largest of each count.
    fn add_turn(&mut self, source: usize, turn: Box<Turn>, is_recording: bool, seen: &mut Seen) -> usize {
        let new = self.turns.len();
        let index = match &turn.identity {
            // Recordings are known as a whole.
            Identity::Unique if is_recording => new,
            Identity::Unique => *seen.unnamed.entry(seen.occurrences.name(source, &turn)).or_insert(new),
            named => *seen.turns.entry(named.clone()).or_insert(new),
        };
        if index == new {
            self.turns.push((source, turn));
            return new;
        }
        let known = &mut self.turns[index].1;
        known.tokens = known.tokens.get().max(turn.tokens.get()).into();
        known.occurred_at = known.occurred_at.or(turn.occurred_at);
        known.stop_reason = known.stop_reason.take().or(turn.stop_reason);
        known.model = known.model.take().or(turn.model);
        known.cost = known.cost.take().or(turn.cost);
        known.web_searches = known.web_searches.get().max(turn.web_searches.get()).into();
        known.duration_ms = known.duration_ms.get().or(turn.duration_ms.get()).into();
        known.provider = known.provider.take().or(turn.provider);
        known.effort = known.effort.take().or(turn.effort);
        known.service_tier = known.service_tier.take().or(turn.service_tier);
        known.speed = known.speed.take().or(turn.speed);
        known.inference_geo = known.inference_geo.take().or(turn.inference_geo);
        known.is_of_killed |= turn.is_of_killed;
        if known.is_subagent && !turn.is_subagent {
            // A side question replays the main agent's response: it stays the main agent's.
            (known.is_subagent, known.agent_id, known.agent) = (false, None, None);
        }
        index
    }

    /// Copies of one call are one row: the one that knows its end.
    fn add_call(&mut self, source: usize, call: Box<ToolCall>, key: Option<(Shared, usize)>, seen: &mut Seen) -> usize {
        let Some(key) = key else {
            self.calls.push((source, call));
            return self.calls.len() - 1;
        };
        if let Some(index) = seen.calls.get(&key) {
            let known = &mut self.calls[*index].1;
            if known.status == CallStatus::Incomplete && call.status != CallStatus::Incomplete {
                let (line, turn) = (known.line, known.turn);
                *known = call;
                (known.line, known.turn) = (line, turn.get().or(known.turn.get()).into());
            } else if known.duration_ms.is_none() && known.ended_at.is_none() {
                // A recording may have no times of calls, where the runtime's own file has them.
                known.duration_ms = call.duration_ms;
                known.ended_at = call.ended_at;
                known.occurred_at = call.ended_at.and(call.occurred_at).or(known.occurred_at);
            }
            return *index;
        }
        seen.calls.insert(key, self.calls.len());
        self.calls.push((source, call));
        self.calls.len() - 1
    }

    /// Adds what a less detailed view reports of the session as a whole, where nothing else reports it.
    fn fill_facts(&mut self, view: SessionResult) {
        let known = &mut self.session;
        known.labels.extend(view.labels);
        known.prompts.extend(view.prompts);
        fill(&mut known.text, view.text);
        fill(&mut known.prompt, view.prompt);
        fill(&mut known.runtime_version, view.runtime_version);
        fill(&mut known.parent_session_id, view.parent_session_id);
        fill(&mut known.agent, view.agent);
        fill(&mut known.entrypoint, view.entrypoint);
        fill(&mut known.cwd, view.cwd);
        fill(&mut known.git_branch, view.git_branch);
        fill(&mut known.model, view.model);
        fill(&mut known.user_turns, view.user_turns);
        fill(&mut known.started_at, view.started_at);
        fill(&mut known.ended_at, view.ended_at);
    }

    /// Joins what the parts say of the session as a whole.
    fn add_facts(&mut self, part: SessionResult, ending: Ending) {
        let known = &mut self.session;
        // What was said last stands, wherever the end of the session stands.
        if part.text.is_some() && (known.text.is_none() || part.ended_at >= self.text_at) {
            known.text.clone_from(&part.text);
            self.text_at = part.ended_at;
        }
        if known.session_id.is_empty() {
            *known = part;
            self.ending = ending;
            return;
        }
        // What the runtime keeps names the format; a recording of it adds its total.
        if part.shows.has(Shows::KEPT_BY_RUNTIME) && !known.shows.has(Shows::KEPT_BY_RUNTIME) {
            known.format.clone_from(&part.format);
        }
        // Recordings are parts of a session; other logs that tell of one session tell the same again.
        let is_recording = part.recording.is_some() && known.recording.is_some();
        if ending.outranks(self.ending) {
            self.ending = ending;
            known.status = part.status;
            known.error_kind = part.error_kind;
            known.error_message = part.error_message;
            known.stop_reason = part.stop_reason.or(known.stop_reason.take());
            known.exit_code = part.exit_code.or(known.exit_code);
            if !is_recording {
                known.under_reports = part.under_reports;
            }
        }
        known.under_reports |= is_recording && part.under_reports;
        known.started_at = known.started_at.into_iter().chain(part.started_at).min();
        known.ended_at = known.ended_at.max(part.ended_at);
        known.runtime_version = part.runtime_version.or(known.runtime_version.take());
        known.shows = known.shows.and(part.shows);
        known.subagents.extend(part.subagents);
        known.labels.extend(part.labels);
        known.prompts.extend(part.prompts);
        let join = |a: Option<i64>, b| if is_recording { add(a, b) } else { a.max(b) };
        let join_both = |a: Option<(i64, i64)>, b: Option<(i64, i64)>| match (a, b) {
            (Some(a), Some(b)) if is_recording => Some((a.0 + b.0, a.1 + b.1)),
            _ => a.max(b),
        };
        known.user_turns = join(known.user_turns, part.user_turns);
        known.duration_ms = join(known.duration_ms, part.duration_ms);
        known.stated_turns = join(known.stated_turns, part.stated_turns);
        known.stated_tool_calls = join(known.stated_tool_calls, part.stated_tool_calls);
        known.stated_tool_errors = join(known.stated_tool_errors, part.stated_tool_errors);
        known.stated_lines = join_both(known.stated_lines, part.stated_lines);
        fill(&mut known.parent_session_id, part.parent_session_id);
        fill(&mut known.continues, part.continues);
        fill(&mut known.agent, part.agent);
        fill(&mut known.entrypoint, part.entrypoint);
        fill(&mut known.cwd, part.cwd);
        fill(&mut known.git_branch, part.git_branch);
        fill(&mut known.model, part.model);
        fill(&mut known.prompt, part.prompt);
        fill(&mut known.provider_session_id, part.provider_session_id);
    }

    /// A response that only its caller tells of is the one with the same prompt, if the subagent's own log shows it.
    fn drop_echoes(&mut self) {
        if !self.turns.iter().any(|(_, it)| it.is_echo) {
            return;
        }
        let prompt = |it: &Turn| {
            let tokens = it.tokens.get();
            [tokens.input, tokens.cache_read, tokens.cache_write]
        };
        let echoes: HashMap<_, (Option<Word>, Option<i64>)> = (self.turns.iter().filter(|(_, it)| it.is_echo))
            .map(|(_, it)| (prompt(it), (it.model.clone(), it.duration_ms.get())))
            .collect();
        let mut shown = HashSet::new();
        for (_, turn) in self.turns.iter_mut().filter(|(_, it)| it.is_subagent && !it.is_echo) {
            let prompt = prompt(turn);
            // What only the caller says of it.
            if let Some((model, duration_ms)) = echoes.get(&prompt) {
                turn.model = turn.model.take().or_else(|| model.clone());
                turn.duration_ms = turn.duration_ms.get().or(*duration_ms).into();
            }
            shown.insert(prompt);
        }
        let mut places = Rows::default();
        let mut kept = 0;
        self.turns.retain(|(_, it)| {
            let stays = !(it.is_echo && shown.contains(&prompt(it)));
            places.push(stays.then_some(kept));
            kept += usize::from(stays);
            stays
        });
        let moved = |turn: Option<usize>| turn.and_then(|it| places[it]);
        self.calls.iter_mut().for_each(|(_, it)| it.turn = moved(it.turn.get()).into());
        self.events.iter_mut().for_each(|(_, it)| it.turn = moved(it.turn));
    }

    /// Calls that stand in other files than their turns know the message.
    fn find_turns(&mut self) {
        if !self.calls.iter().any(|(_, it)| it.turn.is_none() && it.message_id.is_some()) {
            return;
        }
        let turns = self.turns.iter().enumerate();
        let turns: HashMap<&str, usize> =
            turns.filter_map(|(index, (_, it))| Some((it.message_id.as_deref()?, index))).collect();
        for (_, call) in self.calls.iter_mut().filter(|(_, it)| it.turn.is_none()) {
            let turn = call.message_id.as_deref().and_then(|it| turns.get(it)).copied();
            call.turn = turn.into();
            if let Some(turn) = turn {
                call.agent = call.agent.take().or_else(|| self.turns[turn].1.agent.clone());
            }
        }
    }

    /// The model that the session states stands where no response and no total names one.
    fn name_the_model(&mut self) {
        let totals = || self.totals.iter().flat_map(|(_, it)| it).flat_map(|it| &it.models);
        if self.turns.iter().all(|(_, it)| it.model.is_none()) && totals().all(|it| it.model.is_none()) {
            let model = &self.session.model;
            self.turns.iter_mut().for_each(|(_, it)| it.model.clone_from(model));
        }
    }

    fn into_tables(mut self, tables: &mut Tables) {
        self.drop_echoes();
        self.find_turns();
        self.name_the_model();
        let session_index = tables.sessions.len();
        let order = turn_order(&self.turns);
        let mut numbers = Rows::from(vec![0; order.len()]);
        for (number, index) in order.iter().enumerate() {
            numbers[*index] = i64::try_from(number + 1).unwrap_or(i64::MAX);
        }
        let shows = self.session.shows;
        let mut calls_of_turn = Rows::from(vec![0; self.turns.len()]);
        for (_, call) in &self.calls {
            if let Some(turn) = call.turn.get() {
                calls_of_turn[turn] += 1;
            }
        }
        let mut turns: Rows<Option<_>> = mem::take(&mut self.turns).into_iter().map(Some).collect();
        let mut rows: Vec<TurnRow> = Vec::with_capacity(order.len());
        rows.extend(order.iter().filter_map(|index| {
            let (source, turn) = turns[*index].take()?;
            let tool_calls = shows.has(Shows::TOOL_CALLS).then_some(calls_of_turn[*index]);
            let number = Some(numbers[*index]);
            Some(TurnRow { number, tool_calls, ..TurnRow::new(session_index, source, Grain::Turn, turn) })
        }));
        let totals = Totals::new(mem::take(&mut self.totals));
        let is_conflict = totals.rest(&mut rows, session_index, &self.session);
        let row = self.session_row(&rows, &totals, is_conflict);
        tables.sessions.push(row);
        for row in &mut rows {
            row.covered_by = row.covered_by.map(|it| it + tables.turns.len());
        }
        // One session alone has all of them, as they are.
        if tables.turns.is_empty() && tables.turns.capacity() < rows.len() {
            tables.turns = rows;
        } else {
            tables.turns.append(&mut rows);
        }
        let number = |turn: Option<usize>| turn.map(|it| numbers[it]);
        let asks = self.events.iter().any(|(_, it)| it.turn.is_none() && it.call_id.is_some());
        let calls = self.calls.iter().filter(|_| asks);
        let call_turns: HashMap<&str, usize> =
            calls.filter_map(|(_, it)| Some((it.call_id.as_str(), it.turn.get()?))).collect();
        for (_, event) in &mut self.events {
            let of_call = || event.call_id.as_deref().and_then(|it| call_turns.get(it).copied());
            event.turn = event.turn.or_else(of_call);
        }
        let calls = &self.calls;
        tables.file_changes.extend(self.changes.into_iter().map(|(source, change)| {
            let call = change.call.map(|it| &calls[it].1);
            ChangeRow {
                session: session_index,
                source,
                turn: number(call.and_then(|it| it.turn.get())),
                call_id: call.map(|it| it.call_id.clone()),
                change,
            }
        }));
        tables.tool_calls.extend(self.calls.into_iter().map(|(source, call)| CallRow {
            session: session_index,
            source,
            turn: number(call.turn.get()),
            call,
        }));
        tables.events.extend(self.events.into_iter().map(|(source, event)| EventRow {
            session: session_index,
            source,
            turn: number(event.turn),
            event,
        }));
    }

    fn session_row(&mut self, rows: &[TurnRow], totals: &Totals, is_conflict: bool) -> SessionRow {
        let session = mem::take(&mut self.session);
        let shows = session.shows;
        let counted = |what: Shows, count: usize| {
            let count = i64::try_from(count).unwrap_or(i64::MAX);
            (count > 0 || shows.has(what)).then_some(count)
        };
        let events = |kind: EventKind| self.events.iter().filter(|(_, it)| it.kind == kind).count();
        let is_start = |it: &ToolCall| it.category == "subagent" && it.status == CallStatus::Ok;
        let started = self.calls.iter().filter(|(_, it)| is_start(it)).count();
        let errors = self.calls.iter().filter(|(_, it)| it.status == CallStatus::Error).count();
        let (stated_added, stated_removed) = session.stated_lines.unzip();
        let sum_lines = |of: fn(&crate::model::session::FileChange) -> Option<i64>| {
            self.changes.iter().filter_map(|(_, it)| of(it)).reduce(|a, b| a + b)
        };
        let tokens = rows.iter().fold(Tokens::UNKNOWN, |sum, it| sum.plus(it.turn.tokens.get()));
        let turns = rows.iter().filter(|it| it.grain == Grain::Turn).count();
        let logged_turns = i64::try_from(turns).ok().filter(|count| *count > 0);
        let web_searches = rows.iter().filter_map(|it| it.turn.web_searches.get()).reduce(|a, b| a + b);
        let between = || Some(session.ended_at?.since(session.started_at?));
        SessionRow {
            source: self.source,
            model: main_model(rows).or_else(|| session.model.clone()),
            models: rows.iter().filter_map(|it| it.turn.model.clone()).collect::<BTreeSet<_>>().into_iter().collect(),
            project: session.cwd.as_deref().map(project),
            duration_ms: totals.duration_ms.or(session.duration_ms).or_else(between),
            api_duration_ms: totals.api_duration_ms,
            user_turns: i64::try_from(session.prompts.len())
                .ok()
                .filter(|it| *it > 0)
                .max(session.user_turns)
                .or(shows.has(Shows::USER_TURNS).then_some(0)),
            turns: logged_turns.or(totals.turns).or(session.stated_turns).or(shows.has(Shows::TURNS).then_some(0)),
            tool_calls: counted(Shows::TOOL_CALLS, self.calls.len()).or(session.stated_tool_calls),
            tool_errors: counted(Shows::TOOL_CALLS, errors).or(session.stated_tool_errors),
            file_changes: counted(Shows::FILE_CHANGES, self.changes.len()),
            lines_added: sum_lines(|it| it.lines_added).or(stated_added),
            lines_removed: sum_lines(|it| it.lines_removed).or(stated_removed),
            // Agents known by name, or where the log names none the calls that started them.
            subagents: counted(Shows::SUBAGENTS, session.subagents.len().max(started)),
            compactions: counted(Shows::COMPACTIONS, events(EventKind::Compaction)),
            retries: counted(Shows::RETRIES, events(EventKind::Retry)),
            permission_denials: counted(Shows::PERMISSION_DENIALS, events(EventKind::PermissionDenial)),
            web_searches: web_searches.or(shows.has(Shows::WEB_SEARCHES).then_some(0)),
            tokens,
            usage: usage(&session, rows, tokens, totals, is_conflict),
            session,
            ..SessionRow::default()
        }
    }
}

/// Whether no two turns are copies of one response. Those without a name never are, within one file.
fn are_apart(turns: &Rows<Box<Turn>>) -> bool {
    let mut names = HashSet::with_capacity(turns.len());
    turns.iter().map(|it| &it.identity).filter(|it| **it != Identity::Unique).all(|it| names.insert(it))
}

/// What was seen of a session, to know copies by.
#[derive(Default)]
struct Seen {
    turns: HashMap<Identity, usize>,
    /// Responses without a name, by what they say.
    unnamed: HashMap<Unnamed, usize>,
    occurrences: Occurrences,
    /// A call's id, and the how many-th call of that id in its log it is: masked ids repeat.
    calls: HashMap<(Shared, usize), usize>,
    /// Calls with the files that they changed.
    changes: HashSet<(usize, Shared)>,
    events: HashSet<EventId>,
}

/// What a response without a name is known by: time, model, agent and counts, and the how many-th of these in its file it
/// is. The file that tells it again is a copy, while a response like another one stands behind that in the same file.
type Unnamed = (Option<Time>, Option<Word>, Option<Word>, Tokens, usize);

/// How many responses that say the same each file has told so far.
#[derive(Default)]
struct Occurrences(HashMap<(usize, Unnamed), usize>);

impl Occurrences {
    fn name(&mut self, source: usize, turn: &Turn) -> Unnamed {
        let mut name = (turn.occurred_at, turn.model.clone(), turn.agent_id.clone(), turn.tokens.get(), 0);
        let count = self.0.entry((source, name.clone())).or_default();
        *count += 1;
        name.4 = *count;
        name
    }
}

type EventId = (EventKind, Option<Shared>, Option<Time>, Option<Word>, Option<Shared>, Option<Shared>);

impl Seen {
    /// Whether an event is new. Without an id and a time no event is the copy of another.
    fn event(&mut self, event: &Event) -> bool {
        event_id(event).is_none_or(|it| self.events.insert(it))
    }
}

/// What names an event, if anything does.
fn event_id(event: &Event) -> Option<EventId> {
    if event.key.is_some() {
        return Some((event.kind, event.key.clone(), None, None, None, None));
    }
    let (code, call_id, message) = (event.code.clone(), event.call_id.clone(), event.message.clone());
    event.occurred_at.map(|time| (event.kind, None, Some(time), code, call_id, message))
}

/// By time, then by the order in the log; what has no time follows what stands before it.
fn turn_order(turns: &Rows<(usize, Box<Turn>)>) -> Vec<usize> {
    let mut time = None;
    let times: Rows<_> = turns
        .iter()
        .map(|(_, turn)| {
            time = turn.occurred_at.or(time);
            time
        })
        .collect();
    let mut order: Vec<usize> = (0..turns.len()).collect();
    order.sort_by_key(|index| times[*index]);
    order
}

/// The main agent's model with most responses, the later on a tie; where no agent shows responses, nothing.
fn main_model(rows: &[TurnRow]) -> Option<Word> {
    let mut counts: HashMap<&Word, (usize, usize)> = HashMap::new();
    for (index, row) in rows.iter().enumerate() {
        if row.grain == Grain::Turn
            && !row.turn.is_subagent
            && let Some(model) = &row.turn.model
        {
            let count = counts.entry(model).or_default();
            *count = (count.0 + 1, index);
        }
    }
    counts.into_iter().max_by_key(|(_, count)| *count).map(|(model, _)| model.clone())
}

/// The folder of a project: worktrees of it are the project.
fn project(cwd: &str) -> String {
    ["/.claude/worktrees/", "/.git/worktrees/"]
        .iter()
        .find_map(|mark| cwd.split_once(mark))
        .map_or(cwd, |(project, _)| project)
        .to_owned()
}

fn usage(session: &SessionResult, rows: &[TurnRow], tokens: Tokens, totals: &Totals, is_conflict: bool) -> Usage {
    // A total holds what its turns leave out; without one a turn of unknown size is missing.
    let is_unknown = |it: &TurnRow| it.grain == Grain::Turn && it.turn.tokens.get().total().is_none();
    let is_remnant = |it: &TurnRow| {
        let is_earlier = |other: &TurnRow| !other.turn.is_echo && other.turn.agent_id == it.turn.agent_id;
        it.turn.has_predecessors && !rows.iter().any(is_earlier)
    };
    let has_lost = || rows.iter().any(|it| is_unknown(it) || is_remnant(it));
    let is_bound = !totals.hold_all(session, rows) && (session.under_reports || has_lost());
    if tokens.total().is_none() {
        Usage::Unknown
    } else if is_conflict {
        Usage::Conflict
    } else if is_bound || session.status == Status::Incomplete {
        Usage::LowerBound
    } else {
        Usage::Exact
    }
}

/// The totals of one session, each process and thread counted once.
#[derive(Default)]
struct Totals {
    duration_ms: Option<i64>,
    api_duration_ms: Option<i64>,
    turns: Option<i64>,
    /// Sums of processes, by the model's canonical name.
    models: BTreeMap<Option<String>, ModelSum>,
    /// The models that the totals of each file name, by those names.
    named: HashMap<usize, BTreeSet<Option<String>>>,
    /// Steps of running thread totals, as differences, and what runs spent.
    steps: Vec<(usize, Total)>,
    /// Cost that a total states beyond that of its models.
    unassigned_cost: Option<f64>,
    covers_subagents: bool,
    /// Where totals stand: what comes after the last is in none.
    ends: Ends,
}

/// The last total of each file, and of all.
#[derive(Default)]
struct Ends {
    lines: HashMap<usize, i64>,
    time: Option<Time>,
}

impl Ends {
    fn note(&mut self, source: usize, total: &Total) {
        let line = self.lines.entry(source).or_default();
        *line = total.line.max(*line);
        self.time = self.time.max(total.occurred_at);
    }

    /// Whether a total can hold the response.
    fn cover(&self, row: &TurnRow) -> bool {
        match self.lines.get(&row.source) {
            _ if row.turn.is_of_killed => false,
            Some(line) => row.turn.line <= *line,
            // Another log of the session: only the time can tell.
            None => row.turn.occurred_at.is_none_or(|it| self.time.is_none_or(|end| it <= end)),
        }
    }
}

/// One model's part of all processes.
struct ModelSum {
    source: usize,
    line: i64,
    occurred_at: Option<Time>,
    total: ModelTotal,
}

/// Results of one process: running totals, of which the last stands.
struct Process {
    source: usize,
    keys: BTreeSet<String>,
    last: Total,
}

impl Totals {
    fn new(parts: Vec<(usize, Vec<Total>)>) -> Self {
        let mut it = Self { covers_subagents: true, ..Self::default() };
        let mut keys = HashSet::new();
        let mut processes: Vec<Process> = Vec::new();
        let mut threads = Vec::new();
        for (source, totals) in parts {
            let mut current: Vec<Process> = Vec::new();
            for total in totals {
                match total.kind {
                    TotalKind::Process => {}
                    TotalKind::Thread => {
                        threads.push((source, total));
                        continue;
                    }
                    TotalKind::Run => {
                        if keys.insert(total.key.clone()) {
                            it.steps.push((source, total));
                        }
                        continue;
                    }
                }
                it.ends.note(source, &total);
                let models = total.models.iter().map(|it| it.model.as_deref().map(canonical));
                it.named.entry(source).or_default().extend(models);
                if keys.insert(total.key.clone()) {
                    it.duration_ms = add(it.duration_ms, total.duration_ms);
                    it.api_duration_ms = add(it.api_duration_ms, total.api_duration_ms);
                }
                // The recording twice in one file: what is known is no new process.
                if current.iter().any(|it| it.keys.contains(&total.key)) {
                    continue;
                }
                match current.last_mut() {
                    Some(process) if !total.is_of_new_process && !falls(&process.last, &total) => {
                        process.keys.insert(total.key.clone());
                        process.last = total;
                    }
                    _ => current.push(Process { source, keys: BTreeSet::from([total.key.clone()]), last: total }),
                }
            }
            for mut process in current {
                // Captures of one process share results: together they are that process, at its latest.
                let (shared, others) =
                    processes.into_iter().partition(|it: &Process| !it.keys.is_disjoint(&process.keys));
                processes = others;
                for mut known in shared as Vec<Process> {
                    process.keys.append(&mut known.keys);
                    if falls(&known.last, &process.last) || known.last == process.last {
                        (process.source, process.last) = (known.source, known.last);
                    }
                }
                processes.push(process);
            }
        }
        for process in processes {
            it.add_process(process);
        }
        it.steps.extend(thread_steps(threads));
        it
    }

    fn add_process(&mut self, process: Process) {
        let Process { source, mut last, .. } = process;
        self.turns = add(self.turns, last.turns);
        self.covers_subagents &= last.covers_subagents;
        if last.models.is_empty() && last.cost.is_some() {
            // A cost without usage is a cost all the same.
            last.models.push(ModelTotal { cost: last.cost, ..ModelTotal::default() });
        }
        let assigned: f64 = last.models.iter().filter_map(|it| it.cost).sum();
        if let Some(cost) = last.cost.map(|it| it - assigned).filter(|it| *it > 1e-9) {
            *self.unassigned_cost.get_or_insert(0.0) += cost;
        }
        for total in last.models {
            let sum = self.models.entry(total.model.as_deref().map(canonical)).or_insert_with(|| ModelSum {
                source,
                line: last.line,
                occurred_at: last.occurred_at,
                total: ModelTotal { model: total.model.clone(), ..ModelTotal::default() },
            });
            sum.total.tokens = sum.total.tokens.plus(total.tokens);
            sum.total.web_searches = add(sum.total.web_searches, total.web_searches);
            sum.total.context_window = sum.total.context_window.or(total.context_window);
            sum.total.cost = add_money(sum.total.cost, total.cost);
        }
    }

    /// Whether there is a total of tokens that covers all agents, and no response after the last one.
    fn hold_all(&self, session: &SessionResult, rows: &[TurnRow]) -> bool {
        self.models.values().any(|it| it.total.tokens.total().is_some())
            && (self.covers_subagents || session.subagents.is_empty())
            && rows.iter().all(|it| it.grain == Grain::Session || self.ends.cover(it))
    }

    /// Adds a row for what the totals hold beyond the turns, and says whether the turns hold more.
    fn rest(&self, rows: &mut Vec<TurnRow>, session_index: usize, session: &SessionResult) -> bool {
        let turns = rows.len();
        let mut unassigned = self.unassigned_cost;
        // The cost of no model goes to the largest.
        let largest = self.models.iter().max_by_key(|(_, it)| it.total.tokens.total()).map(|(model, _)| model);
        let names = self.names(rows);
        let mut is_conflict = names.is_conflict;
        for (place, (model, sum)) in self.models.iter().enumerate() {
            let is_of_model = |index: usize| names.places[index] == Some(place);
            let of_model = || rows.iter().take(turns).enumerate().filter(|it| is_of_model(it.0)).map(|it| it.1);
            let spent = of_model().fold(Tokens::UNKNOWN, |sum, it| sum.plus(it.turn.tokens.get()));
            let rest = sum.total.tokens.minus(spent);
            is_conflict |= rest.kinds().into_iter().flatten().any(|it| it < 0);
            let tokens = rest.zip(rest, |it, _| it.map(|it| it.max(0)));
            let searched: i64 = of_model().filter_map(|it| it.turn.web_searches.get()).sum();
            let paid: f64 = of_model().filter_map(|it| Some(it.turn.cost.as_deref()?.total)).sum();
            let extra = if Some(model) == largest { unassigned.take().unwrap_or(0.0) } else { 0.0 };
            let cost = sum.total.cost.or((extra > 0.0).then_some(0.0)).map(|it| (it + extra - paid).max(0.0));
            let web_searches = sum.total.web_searches.map(|it| (it - searched).max(0));
            let is_spent = tokens.total().unwrap_or(0) == 0 && web_searches.unwrap_or(0) == 0;
            if is_spent && cost.unwrap_or(0.0) == 0.0 && turns > 0 {
                continue;
            }
            let turn = Turn {
                line: sum.line,
                model: sum.total.model.clone().or_else(|| session.model.clone()),
                occurred_at: sum.occurred_at.or(session.ended_at),
                context_window: sum.total.context_window.into(),
                tokens: tokens.into(),
                web_searches: web_searches.into(),
                cost: cost.map(Cost::of),
                ..Turn::default()
            };
            let holder = rows.len();
            let of_model = rows.iter_mut().take(turns).enumerate().filter(|it| is_of_model(it.0)).map(|it| it.1);
            of_model.for_each(|it| it.covered_by = Some(holder));
            rows.push(of_session(session_index, sum.source, turn));
        }
        // The log that the runtime keeps shows the responses of the thread: the totals hold only what it leaves out.
        let mut spent = rows.iter().take(turns).fold(Tokens::UNKNOWN, |sum, it| sum.plus(it.turn.tokens.get()));
        for (source, step) in &self.steps {
            for part in &step.models {
                let known = part.tokens.zip(spent, |part, spent| Some(part?.min(spent?)));
                spent = spent.minus(known);
                let tokens = part.tokens.minus(known);
                if known.total().unwrap_or(0) > 0 && tokens.total() == Some(0) {
                    continue;
                }
                let turn = Turn {
                    line: step.line,
                    model: part.model.clone().or_else(|| session.model.clone()),
                    occurred_at: step.occurred_at.or(session.ended_at),
                    tokens: tokens.into(),
                    ..Turn::default()
                };
                rows.push(of_session(session_index, *source, turn));
            }
        }
        is_conflict
    }
}

/// A row that stands for what no response shows.
fn of_session(session: usize, source: usize, turn: Turn) -> TurnRow {
    TurnRow::new(session, source, Grain::Session, Box::new(turn))
}

/// Which total holds each response.
struct Names {
    /// By response: the place in [`Totals::models`], if a total holds it.
    places: Rows<Option<usize>>,
    /// Whether a response is covered and named by none.
    is_conflict: bool,
}

impl Totals {
    fn names(&self, rows: &[TurnRow]) -> Names {
        if self.models.is_empty() {
            return Names { places: Rows::default(), is_conflict: false };
        }
        let is_of_agents = |row: &TurnRow| self.covers_subagents || !row.turn.is_subagent;
        let find = |row: &TurnRow, named: Option<&BTreeSet<Option<String>>>| {
            let name = row.turn.model.as_deref().map(canonical);
            let is_it = |key: &Option<String>| match key {
                // A total without a model is that of all the agents that it covers.
                None => is_of_agents(row),
                Some(_) => name == *key,
            };
            let is_named = |key: &Option<String>| named.is_none_or(|it| it.contains(key));
            self.models.keys().position(|it| is_it(it) && is_named(it)).filter(|_| self.ends.cover(row))
        };
        let is_open = |row: &TurnRow, place: Option<usize>| {
            let is_spent = row.turn.tokens.get().total().unwrap_or(0) > 0;
            place.is_none() && is_spent && is_of_agents(row) && self.ends.cover(row)
        };
        // Other names for one model, an alias for one: if they are the only ones left, they mean each other.
        let only = |mut left: Vec<usize>| left.pop().filter(|_| left.is_empty());
        // In the file first, for another recording of the session may know the model by its own name.
        let mut places: Rows<Option<usize>> =
            rows.iter().map(|row| find(row, Some(self.named.get(&row.source)?))).collect();
        let taken: HashSet<(usize, usize)> =
            rows.iter().zip(&places).filter_map(|(row, place)| Some((row.source, (*place)?))).collect();
        let of_file = |(source, named): (&usize, &BTreeSet<Option<String>>)| {
            let is_left = |it: &(usize, &Option<String>)| named.contains(it.1) && !taken.contains(&(*source, it.0));
            let left = self.models.keys().enumerate().filter(is_left);
            Some((*source, only(left.map(|it| it.0).collect())?))
        };
        let of_files: HashMap<usize, usize> = self.named.iter().filter_map(of_file).collect();
        for (place, row) in places.iter_mut().zip(rows) {
            if is_open(row, *place) {
                *place = of_files.get(&row.source).copied();
            }
            *place = place.or_else(|| find(row, None));
        }
        let taken: HashSet<usize> = places.iter().copied().flatten().collect();
        let rest = only((0..self.models.len()).filter(|it| !taken.contains(it)).collect());
        let mut is_conflict = false;
        for (place, row) in places.iter_mut().zip(rows) {
            if is_open(row, *place) {
                *place = rest;
                is_conflict |= rest.is_none();
            }
        }
        Names { places, is_conflict }
    }
}

/// Whether a result begins another process: running totals do not fall.
fn falls(last: &Total, next: &Total) -> bool {
    if let (Some(last), Some(next)) = (last.cost, next.cost)
        && next < last - 1e-9
    {
        return true;
    }
    last.models.iter().any(|old| {
        let Some(new) = next.models.iter().find(|it| it.model == old.model) else { return last.covers_subagents };
        last.covers_subagents && new.tokens.kinds().into_iter().zip(old.tokens.kinds()).any(|(new, old)| new < old)
    })
}

/// Running totals of a thread as steps that add up. Of two totals, one that is nowhere smaller holds the other; totals
/// that none holds add (accounting B16). The answer does not depend on the order.
fn thread_steps(mut totals: Vec<(usize, Total)>) -> Vec<(usize, Total)> {
    let tokens = |it: &(usize, Total)| it.1.models.first().map_or(Tokens::UNKNOWN, |it| it.tokens);
    let holds = |a: Tokens, b: Tokens| {
        let counts = |it: Tokens| [it.context(), it.output, it.cache_read].map(|it| it.unwrap_or(0));
        counts(a).into_iter().zip(counts(b)).all(|(a, b)| a >= b)
    };
    totals.sort_by_key(|it| (tokens(it).total(), tokens(it).kinds()));
    totals.dedup_by_key(|it| tokens(it).kinds());
    // From the largest down: each total either stands alone or is a step on the way to the smallest that holds it.
    let mut chains: Rows<Vec<(usize, Total)>> = Rows::default();
    for total in totals.into_iter().rev() {
        let own = tokens(&total);
        let step = (0..chains.len())
            .filter(|it| chains[*it].last().is_some_and(|last| holds(tokens(last), own)))
            .min_by_key(|it| chains[*it].first().and_then(|whole| tokens(whole).total()));
        match step {
            Some(index) => chains[index].push(total),
            // Held by a whole, but on no way to it: its tokens are in a later step.
            None if chains.iter().any(|it| it.first().is_some_and(|whole| holds(tokens(whole), own))) => {}
            None => chains.push(vec![total]),
        }
    }
    let mut steps = Vec::new();
    for chain in chains {
        // A total between which and the next a count falls is no step on the way: the later one tells of both.
        let mut way: Vec<(usize, Total)> = Vec::new();
        for total in chain.into_iter().rev() {
            let is_step =
                |it: &(usize, Total)| tokens(&total).minus(tokens(it)).kinds().into_iter().flatten().all(|it| it >= 0);
            while way.last().is_some_and(|it| !is_step(it)) {
                way.pop();
            }
            way.push(total);
        }
        let mut before = Tokens::UNKNOWN;
        for (source, mut total) in way {
            if let Some(model) = total.models.first_mut() {
                let whole = model.tokens;
                model.tokens = whole.minus(before).zip(Tokens::UNKNOWN, |it, _| it.map(|it| it.max(0)));
                before = whole;
            }
            steps.push((source, total));
        }
    }
    steps.sort_by_key(|(source, total)| (*source, total.line));
    steps
}

/// One name for the names of one model: without the marks of a window, a provider or a region.
fn canonical(model: &str) -> String {
    let name = model.rsplit('/').next().unwrap_or(model);
    let name = name.strip_suffix("[1m]").unwrap_or(name).to_ascii_lowercase().replace('@', "-");
    let name = ["us.", "eu.", "apac.", "global."].iter().find_map(|it| name.strip_prefix(it)).unwrap_or(&name);
    let name = name.strip_prefix("anthropic.").unwrap_or(name);
    let name = name.split_once(':').map_or(name, |(name, _)| name);
    let revision = |it: &str| it.strip_prefix('v').is_some_and(|it| it.bytes().all(|it| it.is_ascii_digit()));
    let bare = name.rsplit_once('-').filter(|(name, last)| name.starts_with("claude") && revision(last));
    bare.map_or(name, |(name, _)| name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether by a map or sorted: the first file that can be reached by links.
    #[test]
    fn what_links_connect_is_one_group() {
        let mut state = 1_u64;
        let mut number = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for round in 0..300 {
            let (count, names) = (number(40), 1 + number(120));
            let files: Vec<Vec<u64>> = (0..count)
                .map(|_| (0..number(5)).map(|_| number(names)).collect::<BTreeSet<_>>())
                .map(|it| it.into_iter().collect())
                .collect();
            let links = || files.iter().map(Vec::as_slice);
            let mut expected: Vec<usize> = (0..files.len()).collect();
            for _ in 0..files.len() {
                for (a, b) in (0..files.len()).flat_map(|a| (0..a).map(move |b| (a, b))) {
                    if files[a].iter().any(|it| files[b].contains(it)) {
                        let first = expected[a].min(expected[b]);
                        (expected[a], expected[b]) = (first, first);
                    }
                }
            }
            assert_eq!(groups_by_map_of(links(), usize::MAX), expected, "{round}");
            assert_eq!(groups_by_map_of(links(), 0), expected, "{round}");
        }
    }
}
