//! Several views of one session: the log that the runtime keeps, a recording of its output, a summary of its result, a
//! trajectory that another program converted from any of these, an older or cut copy. They report the same responses,
//! so they are never added up: the most detailed view provides the rows, and the others only fill what it leaves
//! unknown.
//!
//! Views whose rows have ids in common need no rule: their rows are matched by those ids when the session is merged.
//! The rules here are for views that name the responses differently, or not at all. [`joins`](super::joins) finds views
//! that name the session differently. See docs/accounting.md#several-views-of-one-session.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::mem;

use foldhash::{HashMap, HashMapExt as _, HashSet};

use super::part::{SessionPart, facts_only, without_end};
use crate::base::rows::Rows;
use crate::base::text::Symbol;
use crate::base::time::Time;
use crate::model::session::{
    Capabilities, Event, EventKind, Identity, ModelTotal, SessionResult, Tokens, Total, TotalKind, Turn, add, add_money,
};

/// How detailed a view of a session is. This order is the one table of precedence among formats: a format chooses its
/// place by what it declares in its [`Capabilities`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum View {
    /// Converted by another program, whose conventions may differ from those of the runtime.
    Conversion,
    /// Kept by the runtime, with less than a recording contains.
    Abridged,
    /// Requests that a proxy counted. It knows nothing else of the session, but has all of them.
    Proxied,
    /// Counters that the runtime exported.
    ExportedSums,
    /// The result of a run, without its responses.
    Summary,
    /// Spans that the runtime exported.
    ExportedSpans,
    /// Events that the runtime exported.
    ExportedEvents,
    /// A recording of what the runtime printed.
    Stream,
    /// The log that the runtime keeps on disk.
    Log,
}

impl View {
    pub(super) fn of(session: &SessionResult) -> Self {
        let capabilities = session.capabilities;
        if capabilities.has(Capabilities::METERED) {
            // Its requests are those of the log: see `metered`.
            Self::Log
        } else if capabilities.has(Capabilities::PROXIED) {
            Self::Proxied
        } else if capabilities.has(Capabilities::EXPORTED) {
            match () {
                () if capabilities.has(Capabilities::RESULT_ONLY) => Self::ExportedSums,
                () if capabilities.has(Capabilities::TRACED) => Self::ExportedSpans,
                () => Self::ExportedEvents,
            }
        } else if capabilities.has(Capabilities::ABRIDGED) {
            Self::Abridged
        } else if capabilities.has(Capabilities::CONVERTED) {
            Self::Conversion
        } else if capabilities.has(Capabilities::KEPT_BY_RUNTIME) {
            Self::Log
        } else if capabilities.has(Capabilities::RESULT_ONLY) || capabilities.has(Capabilities::RUNS_ONLY) {
            Self::Summary
        } else {
            Self::Stream
        }
    }
}

pub(super) fn view(part: &SessionPart) -> View {
    View::of(&part.session)
}

/// Reduces the parts of a session to the rows of its most detailed views. The others keep only what no other view
/// shows: totals that the runtime itself states, and tokens or tool calls where the more detailed views have none.
pub(super) fn keep_most_detailed(parts: &mut [SessionPart]) {
    let with_rows = parts.iter().filter(|part| part.row_count() > 0).map(|part| part.session.format.clone());
    let formats: BTreeSet<Cow<'_, str>> = with_rows.collect();
    if !formats.is_empty() {
        // The first line of a recording may be recognised as that of a log: a view without rows decides nothing.
        for part in parts.iter_mut().filter(|part| !formats.contains(&part.session.format)) {
            part.session.capabilities = part.session.capabilities.without(Capabilities::KEPT_BY_RUNTIME);
        }
    }
    prefer_responses_to_counters(parts);
    let Some(first) = parts.first().map(view) else { return };
    if parts.iter().any(|part| view(part) != first) {
        parts.sort_by_key(|part| Reverse(view(part)));
        let mut views: Vec<View> = parts.iter().map(view).collect();
        views.dedup();
        for next in views.into_iter().skip(1) {
            let start = parts.partition_point(|part| view(part) > next);
            let (detailed, others) = parts.split_at_mut(start);
            let Some(shown) = Shown::by(detailed) else { continue };
            for part in others.iter_mut().take_while(|part| view(part) == next) {
                match next {
                    View::Conversion | View::Abridged => shown.fill_only(part, shown.cut_at),
                    View::ExportedSums | View::ExportedSpans | View::ExportedEvents => shown.fill_only(part, None),
                    View::Proxied => shown.reduce_proxied(part),
                    View::Summary | View::Stream | View::Log => shown.reduce_recording(part),
                }
            }
        }
    }
    keep_largest_total(parts);
    join_totals_of_processes(parts);
}

/// Removes counters that the runtime exported where a conversion has responses with tokens. Totals of a conversion have fewer
/// details than the counters.
fn prefer_responses_to_counters(parts: &mut [SessionPart]) {
    let has_tokens = |part: &SessionPart| part.session.has_counted_turns();
    let conversion = parts.iter().find(|part| view(part) == View::Conversion && has_tokens(part));
    let Some(source) = conversion.map(|part| part.source) else { return };
    for part in parts.iter_mut().filter(|part| view(part) == View::ExportedSums) {
        part.session.totals.clear();
        part.transferred_to = Some(source);
    }
}

/// What the more detailed views of a session show.
struct Shown<'a> {
    /// A file that shows rows.
    source: usize,
    responses: HashSet<&'a Identity>,
    calls: HashSet<&'a str>,
    /// How many events of each kind there are, and how many of them have no id.
    events: HashMap<EventKind, (usize, usize)>,
    has_turns: bool,
    /// Whether responses have ids that are unique everywhere.
    has_global_ids: bool,
    /// Sum over the responses.
    tokens: Option<i64>,
    /// Whether there is a count of tokens anywhere, in a response or in a total.
    has_tokens: bool,
    /// Whether all of these are in totals of runs without their input.
    has_only_partial_tokens: bool,
    /// Whether a total has counts of tokens.
    has_stated_tokens: bool,
    /// Whether there is a cost anywhere.
    has_cost: bool,
    has_calls: bool,
    has_prompts: bool,
    has_limits: bool,
    /// Whether a log states how it ended.
    has_end: bool,
    /// The time of the last record, if the log ends without an end: it may be cut.
    cut_at: Option<Time>,
}

impl<'a> Shown<'a> {
    fn by(parts: &'a [SessionPart]) -> Option<Self> {
        let source = parts.iter().find(|part| part.row_count() > 0)?.source;
        let sessions = || parts.iter().filter(|part| part.row_count() > 0).map(|part| &part.session);
        let turns = || sessions().flat_map(|session| &session.turns);
        let has_stated_cost = sessions().flat_map(|session| &session.totals).any(Total::has_cost);
        let tokens = turns().filter_map(|turn| turn.tokens.get().total()).reduce(|a, b| a + b);
        let mut events: HashMap<EventKind, (usize, usize)> = HashMap::new();
        for event in sessions().flat_map(|session| &session.events) {
            let (count, without_id) = events.entry(event.kind).or_default();
            *count += 1;
            *without_id += usize::from(event.key.is_none());
        }
        let shows_calls = |session: &SessionResult| {
            session.capabilities.has(Capabilities::TOOL_CALLS) || session.stated_tool_calls.is_some()
        };
        let has_end = sessions().any(|session| session.status.is_end());
        // Other times are not those of records, but of the process.
        let has_times = |session: &&SessionResult| times_of_rows(session).any(|time| time.is_some());
        let is_exported = sessions().all(|session| session.capabilities.has(Capabilities::EXPORTED));
        let totals = || sessions().flat_map(|session| &session.totals);
        let has_stated_tokens = totals().any(Total::has_tokens);
        let has_whole_totals = totals().any(|total| total.has_tokens() && !total.is_partial());
        Some(Self {
            source,
            responses: turns().map(|turn| &turn.identity).filter(|identity| **identity != Identity::Unique).collect(),
            calls: sessions().flat_map(|session| &session.tool_calls).map(|call| &*call.call_id).collect(),
            events,
            has_turns: turns().next().is_some(),
            has_global_ids: turns().any(|turn| turn.identity.global().is_some()),
            tokens,
            has_tokens: tokens.is_some() || has_stated_tokens,
            has_only_partial_tokens: tokens.is_none() && has_stated_tokens && !has_whole_totals,
            has_stated_tokens,
            has_cost: has_stated_cost || turns().any(|turn| turn.cost.is_some()),
            has_calls: sessions().any(shows_calls),
            has_limits: sessions().any(|session| !session.limits.is_empty()),
            has_end,
            has_prompts: sessions().any(|session| session.capabilities.has(Capabilities::USER_TURNS)),
            cut_at: (sessions().filter(has_times).filter_map(|session| session.ended_at).max())
                .filter(|_| !has_end && !is_exported),
        })
    }

    /// A recording whose responses have other ids than those of the log repeats them. It keeps the totals that the
    /// runtime states; what its responses hold beyond those of the log, which may be cut, becomes a total too.
    fn reduce_recording(&self, part: &mut SessionPart) {
        if self.has_limits {
            part.session.limits = Rows::default();
        }
        let turns = &part.session.turns;
        let has_matches = turns.iter().any(|turn| self.responses.contains(&turn.identity));
        // A resumed run has responses that an older log does not have: ids that are unique everywhere show which ones.
        let are_comparable = self.has_global_ids && turns.iter().all(|turn| turn.identity.global().is_some());
        if turns.is_empty() || !self.has_turns || has_matches || are_comparable {
            self.reduce_calls(part, has_matches || !turns.is_empty() && are_comparable);
            self.reduce_events(&mut part.session.events);
            return;
        }
        let mut session = mem::take(&mut part.session);
        let mut totals = mem::take(&mut session.totals);
        if totals.is_empty() && sum(&session.turns).total() > self.tokens {
            totals.extend(total_of(&session));
        }
        let limits = mem::take(&mut session.limits);
        let (started_at, ended_at) = (session.started_at, session.ended_at);
        part.session = SessionResult { started_at, ended_at, totals, limits, ..facts_only(session) };
        part.transferred_to = Some(self.source);
    }

    /// A proxy counted the requests of the session: what they hold beyond the responses becomes a total, unless the runtime itself
    /// states one.
    fn reduce_proxied(&self, part: &mut SessionPart) {
        let session = mem::take(&mut part.session);
        let is_more = !self.has_stated_tokens && sum(&session.turns).total() > self.tokens;
        let totals = total_of(&session).filter(|_| is_more).into_iter().collect();
        let turns = session.stated_turns;
        part.session = SessionResult { stated_turns: turns, totals, ..without_end(facts_only(session)) };
        part.is_supplement = true;
        part.transferred_to = Some(self.source);
    }

    /// Calls of a recording are those of the log: under the same ids, or under others if nothing matches.
    fn reduce_calls(&self, part: &mut SessionPart, has_matches: bool) {
        let session = &mut part.session;
        if session.tool_calls.iter().any(|call| self.calls.contains(&*call.call_id)) {
            session.recording = None;
        } else if self.has_calls && !has_matches && !session.tool_calls.is_empty() {
            session.tool_calls = Rows::default();
            session.file_changes = Rows::default();
            part.transferred_to = Some(self.source);
        }
    }

    /// Events of a recording are those of the log. Where one of both has no ids, only as many of each kind remain as
    /// exceed those in the log.
    fn reduce_events(&self, events: &mut Rows<Event>) {
        let mut known = self.events.clone();
        events.retain(|event| match known.get_mut(&event.kind) {
            Some((_, 0)) if event.key.is_some() => true,
            Some((count @ 1.., _)) => {
                *count -= 1;
                false
            }
            Some(_) | None => true,
        });
    }

    /// A conversion, or telemetry, only fills what nothing else shows: what is unknown there, and what comes after the end of
    /// a cut log, at `cut_at`. Times of telemetry are not those of the log, so that they do not show what comes after it.
    fn fill_only(&self, part: &mut SessionPart, cut_at: Option<Time>) {
        let mut session = mem::take(&mut part.session);
        // Sums of runs without their input are a part of the responses here, and are reduced by them.
        let has_tokens = self.has_tokens && !(self.has_only_partial_tokens && session.has_counted_turns());
        if self.has_tokens {
            session.totals.clear();
        } else if self.has_turns && session.totals.is_empty() {
            // The responses are there, without counts.
            session.totals.extend(total_of(&session));
        }
        if self.has_cost {
            // It contains the cost of requests without counts.
            session.totals.iter_mut().for_each(Total::remove_cost);
            session.totals.retain(Total::has_tokens);
        }
        let is_after_cut = |time: Option<Time>| cut_at.is_some() && time > cut_at;
        if has_tokens || self.has_turns {
            session.turns.retain(|turn| is_after_cut(turn.occurred_at));
            session.tool_calls.iter_mut().for_each(|call| call.turn = None);
        }
        if self.has_calls {
            session.tool_calls.retain(|call| is_after_cut(call.occurred_at));
            session.file_changes = Rows::default();
        }
        if self.has_prompts {
            session.prompts = BTreeSet::new();
            session.user_turns = None;
        }
        let goes_on_until = times_of_rows(&session).filter(|time| is_after_cut(*time)).max().flatten();
        part.session = SessionResult {
            prompts: mem::take(&mut session.prompts),
            turns: mem::take(&mut session.turns),
            tool_calls: mem::take(&mut session.tool_calls),
            file_changes: mem::take(&mut session.file_changes),
            totals: mem::take(&mut session.totals),
            ..if self.has_end { without_end(facts_only(session)) } else { facts_only(session) }
        };
        if goes_on_until.is_some() {
            part.session.ended_at = goes_on_until;
            part.goes_on = true;
        }
        part.is_supplement = true;
        part.transferred_to = Some(self.source);
    }
}

/// The times of the responses and of the calls.
fn times_of_rows(session: &SessionResult) -> impl Iterator<Item = Option<Time>> {
    let of_turns = session.turns.iter().map(|turn| turn.occurred_at);
    of_turns.chain(session.tool_calls.iter().map(|call| call.occurred_at))
}

/// Several conversions of one session state the same sum, perhaps counted in other ways: the largest is kept.
fn keep_largest_total(parts: &mut [SessionPart]) {
    let stated = |part: &SessionPart| {
        part.session.totals.iter().flat_map(|it| &it.models).filter_map(|it| it.tokens.total()).max()
    };
    let conversions = || parts.iter().enumerate().filter(|(_, part)| view(part) == View::Conversion);
    let largest = conversions().max_by_key(|(index, part)| (stated(part), Reverse(*index))).map(|(index, _)| index);
    for (index, part) in parts.iter_mut().enumerate() {
        if view(part) == View::Conversion && Some(index) != largest {
            part.session.totals.clear();
        }
    }
}

/// A recording and a summary of one process state its total, each in its way: equal sums are one. That of the summary has more details.
fn join_totals_of_processes(parts: &mut [SessionPart]) {
    let summaries = parts.partition_point(|part| view(part) > View::Summary);
    let (detailed, others) = parts.split_at_mut(summaries);
    let mut recorded: Vec<&mut Vec<Total>> =
        (detailed.iter_mut()).filter(|part| view(part) == View::Stream).map(|part| &mut part.session.totals).collect();
    let summaries = others.iter_mut().filter(|part| view(part) == View::Summary);
    for total in summaries.flat_map(|part| &mut part.session.totals) {
        let sum = total.tokens().total().filter(|sum| *sum > 0 && total.kind == TotalKind::Process);
        let is_same = |other: &mut Total| {
            sum.is_some() && other.kind == total.kind && other.key != total.key && other.tokens().total() == sum
        };
        let Some(other) = recorded.iter_mut().find_map(|totals| totals.extract_if(.., is_same).next()) else {
            continue;
        };
        total.occurred_at = total.occurred_at.or(other.occurred_at);
        total.duration_ms = total.duration_ms.or(other.duration_ms);
    }
}

fn sum<'a>(turns: impl IntoIterator<Item = &'a Box<Turn>>) -> Tokens {
    turns.into_iter().map(|turn| turn.tokens.get()).sum()
}

/// The responses of a session as one total, if they have counts.
fn total_of(session: &SessionResult) -> Option<Total> {
    let tokens = sum(&session.turns);
    tokens.total()?;
    let mut models: BTreeMap<Option<Symbol>, ModelTotal> = BTreeMap::new();
    for turn in &session.turns {
        let model = models.entry(turn.model.clone()).or_default();
        model.model.clone_from(&turn.model);
        model.tokens = model.tokens.plus(turn.tokens.get());
        model.web_searches = add(model.web_searches, turn.web_searches.get());
        model.cost = add_money(model.cost, turn.cost.as_deref().map(|cost| cost.total));
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
