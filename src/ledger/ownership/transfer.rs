//! Removes the rows of a part that belong to other sessions.

use std::collections::BTreeMap;

use foldhash::{HashMap, HashSet};

use crate::base::text::{SharedStr, Symbol};
use crate::base::time::Time;
use crate::ledger::event_id::EventId;
use crate::ledger::part::SessionPart;
use crate::ledger::renumber::NewIndexes;
use crate::model::session::{
    Capabilities, Event, EventKind, ModelTotal, OwnTokens, SessionResult, Tokens, ToolCall, Total, TotalKind,
};

/// The rows of a part that belong to other sessions.
pub(super) struct ForeignRows<'a> {
    /// For each turn of the part a file of the session that owns it; `None` for the part's own turns.
    pub turns: Vec<Option<usize>>,
    /// The same for each prompt.
    pub prompts: Vec<Option<usize>>,
    /// The same for each answer without a row.
    pub answers: Vec<Option<usize>>,
    /// The messages of foreign turns in all parts of the session, each with a file of the session that owns the turn.
    pub messages: &'a HashMap<SharedStr, usize>,
    /// The rows of the sessions that own responses of the session.
    pub owners: &'a [&'a OwnerRows],
    /// The time of the session's first own turn, in whichever of its files.
    pub first_turn: Option<Time>,
}

/// The id of a call and the hash of its arguments: servers use ids again.
pub(super) type OwnedCall = (SharedStr, Option<i64>);

/// The identities of the events of a session that owns shared responses, and of its calls, each with a file that
/// contains it.
pub(super) struct OwnerRows {
    pub events: HashSet<EventId>,
    pub calls: HashMap<OwnedCall, usize>,
    /// The totals that the session states of all of its agents.
    pub totals: Vec<Total>,
}

impl ForeignRows<'_> {
    /// A file that gets foreign rows of the session, if there are any.
    fn target(&self, session: &SessionResult) -> Option<usize> {
        let turn = self.turns.iter().flatten().next_back();
        let prompt = || self.prompts.iter().chain(&self.answers).flatten().min();
        let call = || session.tool_calls.iter().find_map(|call| self.target_of_call(call));
        turn.or_else(prompt).copied().or_else(call)
    }

    /// The file that gets a call without a turn, if the call belongs to another session: its turn is in another file, or
    /// came after the end of a copy that was cut.
    fn target_of_call(&self, call: &ToolCall) -> Option<usize> {
        if call.turn.is_some() {
            return None;
        }
        let by_message = call.message_id.as_ref().and_then(|message| self.messages.get(message));
        let name = (call.call_id.clone(), call.args_hash.get());
        by_message.or_else(|| self.owners.iter().find_map(|owner| owner.calls.get(&name))).copied()
    }

    /// The total with which a total of the session began, where an owner states it: it has the foreign responses, and requests that no
    /// line contains. `all` are the responses of the session before its total.
    fn total_of(&self, foreign: &BTreeMap<Option<Symbol>, Tokens>, all: Tokens, total: &Total) -> Option<&Total> {
        let own = OwnTokens::of_all(all.minus(foreign.values().copied().sum()));
        let (model, of_model) = foreign.iter().max_by_key(|(_, tokens)| tokens.total())?;
        let prompts = |tokens: Tokens| [tokens.input, tokens.cache_read, tokens.cache_write].map(|it| it.unwrap_or(0));
        let is_restored = |earlier: &&Total| {
            let is_later = earlier.occurred_at.zip(total.occurred_at).is_some_and(|(earlier, own)| earlier > own);
            let has = |(model, tokens): (&Option<Symbol>, &Tokens)| {
                earlier.tokens_of(model.as_ref()).is_some_and(|whole| tokens.fits(whole))
            };
            let is_same = earlier.tokens_of(model.as_ref()).map(prompts) == Some(prompts(*of_model));
            is_same && !is_later && foreign.iter().all(has) && total.contains(&own, earlier)
        };
        let totals = self.owners.iter().flat_map(|owner| &owner.totals);
        totals.filter(is_restored).max_by_key(|earlier| earlier.tokens().total())
    }

    fn has_event(&self, event: &Event) -> bool {
        let id = EventId::of(event);
        id.is_some_and(|id| self.owners.iter().any(|owner| owner.events.contains(&id)))
    }
}

/// Removes foreign turns and prompts from a part, with the calls, changes and events that belong to them.
pub(super) fn transfer_rows(part: &mut SessionPart, foreign: &ForeignRows<'_>) {
    let session = &mut part.session;
    if !foreign.owners.is_empty() {
        session.events.retain(|event| !foreign.has_event(event));
    }
    let Some(target) = foreign.target(session) else { return };
    part.transferred_to = Some(target);

    remove_copied_totals(session, foreign);
    subtract_foreign_tokens(session, &foreign.turns);
    let mut owners = foreign.turns.iter();
    let turns = NewIndexes::after_removal(&mut session.turns, |_| owners.next().is_none_or(Option::is_none));
    let mut owners = foreign.prompts.iter();
    session.prompts.retain(|_| owners.next().is_none_or(Option::is_none));
    let (mut owners, had_answers) = (foreign.answers.iter(), !session.answers.is_empty());
    session.answers.retain(|_| owners.next().is_none_or(Option::is_none));
    if had_answers && session.answers.is_empty() {
        // Every answer belongs to another session.
        session.stated_turns = Some(0);
    }
    let calls = NewIndexes::after_removal(&mut session.tool_calls, |call| {
        let is_foreign = foreign.target_of_call(call).is_some();
        let mut turn = call.turn;
        let has_turn = turns.update(&mut turn);
        call.turn = turn;
        has_turn && !is_foreign
    });
    session.file_changes.retain_mut(|change| calls.update(&mut change.call));
    session.events.retain_mut(|event| turns.update(&mut event.turn));
    remove_limits_before(foreign.first_turn, session);
    if let Some(first_turn) = foreign.first_turn {
        remove_events_before(first_turn, session);
    }
}

/// A copied history contains the totals that its process saved: those before the session's first own response. Later ones may go on
/// from them.
fn remove_copied_totals(session: &mut SessionResult, rows: &ForeignRows<'_>) {
    let owners = &rows.turns;
    let turns = session.turns.iter().zip(owners);
    let first_own = turns.filter(|(_, owner)| owner.is_none()).map(|(turn, _)| turn.line).min();
    let is_saved = |total: &Total| total.kind == TotalKind::Saved;
    // The sum over an earlier log belongs to the session that converted it, as the prompts and calls beside it do.
    session.totals.retain(|total| total.kind != TotalKind::Migrated);
    // Sums of a session are its own.
    let is_copied = |total: &Total| !total.is_sum_of_counts && first_own.is_none_or(|line| total.line < line);
    session.totals.retain(|total| !is_saved(total) || !is_copied(total));
    let mut saved: Vec<&mut Total> = session.totals.iter_mut().filter(|total| is_saved(total)).collect();
    if saved.is_empty() {
        return;
    }
    saved.sort_by_key(|total| total.line);
    let mut turns: Vec<_> = session.turns.iter().zip(owners).collect();
    turns.sort_by_key(|(turn, _)| turn.line);
    let mut turns = turns.into_iter().peekable();
    let (mut all, mut foreign) = (Tokens::UNKNOWN, BTreeMap::<Option<Symbol>, Tokens>::new());
    let mut foreign_cost = 0.0;
    for total in saved {
        while let Some((turn, owner)) = turns.next_if(|(turn, _)| total.is_sum_of_counts || turn.line < total.line) {
            // That is in no total.
            if turn.is_of_killed {
                continue;
            }
            all = all.plus(turn.tokens.get());
            if owner.is_some() {
                let sum = foreign.entry(turn.model.clone()).or_insert(Tokens::UNKNOWN);
                *sum = sum.plus(turn.tokens.get());
                foreign_cost += turn.cost.as_deref().map_or(0.0, |cost| cost.total);
            }
        }
        if total.tokens().minus(all).kinds().into_iter().flatten().any(|excess| excess < 0) {
            continue;
        }
        if let [of_all @ ModelTotal { model: None, .. }] = total.models.as_mut_slice() {
            of_all.tokens = foreign.values().fold(of_all.tokens, |tokens, foreign| tokens.minus(*foreign));
            of_all.cost = of_all.cost.map(|cost| (cost - foreign_cost).max(0.0));
            total.cost = total.cost.map(|cost| (cost - foreign_cost).max(0.0));
            continue;
        }
        if let Some(restored) = rows.total_of(&foreign, all, total) {
            total.subtract_earlier(restored);
            continue;
        }
        for (model, tokens) in &foreign {
            if let Some(of_model) = total.models.iter_mut().find(|it| it.model == *model) {
                of_model.tokens = of_model.tokens.minus(*tokens);
                of_model.cost = None;
                total.cost = None;
            }
        }
    }
}

/// Subtracts the tokens of foreign responses from a total of the session that contains them: one of exactly the tokens of all its
/// responses. A fork whose total began at 0 has a smaller one. Of a larger one it is unknown what else it contains.
fn subtract_foreign_tokens(session: &mut SessionResult, owners: &[Option<usize>]) {
    if !session.capabilities.has(Capabilities::KEPT_BY_RUNTIME) {
        return;
    }
    let counts = |tokens: Tokens| tokens.kinds().map(|count| count.unwrap_or(0));
    let all: Tokens = session.turns.iter().map(|turn| turn.tokens.get()).sum();
    let turns = session.turns.iter().zip(owners);
    let foreign: Tokens = turns.filter(|(_, owner)| owner.is_some()).map(|(turn, _)| turn.tokens.get()).sum();
    let is_sum = |total: &Total| total.kind == TotalKind::Process && counts(total.tokens()) == counts(all);
    if let [total] = session.totals.as_mut_slice()
        && foreign.total().unwrap_or(0) > 0
        && is_sum(total)
        && !total.subtract(foreign, None)
    {
        session.totals.clear();
    }
}

/// A copied history contains the limits of its time, under the time of the copy: the session's own ones begin with its first
/// own response.
fn remove_limits_before(first_turn: Option<Time>, session: &mut SessionResult) {
    session.limits.retain(|limit| first_turn.is_some() && limit.occurred_at >= first_turn);
}

/// Events have no identity of their own to match them by, so those before the session's first own response are history
/// too, unless they belong to one of its calls. The session starts with its first own response.
fn remove_events_before(first_turn: Time, session: &mut SessionResult) {
    let calls: HashSet<&str> = session.tool_calls.iter().map(|call| call.call_id.as_str()).collect();
    session.events.retain(|event| {
        let is_of_call = event.call_id.as_deref().is_some_and(|call_id| calls.contains(call_id));
        let is_later = event.occurred_at.is_none_or(|time| time >= first_turn);
        is_of_call || event.turn.is_some() || is_later
    });
    session.started_at = Some(first_turn);
}

/// The agents whose start an event of these parts contains.
pub(super) fn started_agents(parts: &[SessionPart]) -> HashSet<Symbol> {
    let events = parts.iter().flat_map(|part| &part.session.events);
    events.filter(|event| event.kind == EventKind::Subagent).filter_map(|event| event.code.clone()).collect()
}

/// Removes the agents of `started` from a session that does not contain their start any more: another session started them. Agents with
/// responses in this session stay.
pub(super) fn remove_agents_of_others(started: &HashSet<Symbol>, parts: &mut [SessionPart]) {
    let mut own = started_agents(parts);
    if own.len() == started.len() {
        return;
    }
    own.extend(parts.iter().flat_map(|part| &part.session.turns).filter_map(|turn| turn.agent_id.clone()));
    for part in parts {
        part.session.subagents.retain(|agent| own.contains(agent) || !started.contains(agent));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::session::{FileChange, Identity, Turn};

    /// Turns at 1 and 2, of which the second makes a call that changes a file.
    fn part() -> SessionPart {
        let turn = |time: i64| Turn { occurred_at: Some(Time::from_micros(time)), ..Turn::default() };
        let event = |time: i64, turn| Event {
            kind: EventKind::Error,
            occurred_at: Some(Time::from_micros(time)),
            turn,
            ..Event::default()
        };
        let session = SessionResult {
            turns: vec![Box::new(turn(1)), Box::new(turn(2))].into(),
            tool_calls: [Some(0), Some(1), None]
                .map(|turn| Box::new(ToolCall { turn, call_id: format!("{turn:?}").into(), ..ToolCall::default() }))
                .to_vec()
                .into(),
            file_changes: [0, 1].map(|call| FileChange { call: Some(call), ..FileChange::default() }).to_vec().into(),
            events: vec![event(1, Some(0)), event(1, None), event(2, Some(1)), event(3, None)].into(),
            prompts: [Identity::Session("p".into())].into(),
            started_at: Some(Time::from_micros(0)),
            ..SessionResult::default()
        };
        SessionPart::new(0, session)
    }

    /// The turns of calls, the calls of changes, the turns of events.
    fn references(part: &SessionPart) -> [Vec<Option<usize>>; 3] {
        let session = &part.session;
        [
            session.tool_calls.iter().map(|call| call.turn).collect(),
            session.file_changes.iter().map(|change| change.call).collect(),
            session.events.iter().map(|event| event.turn).collect(),
        ]
    }

    fn foreign<'a>(
        turns: [Option<usize>; 2],
        first_turn: i64,
        messages: &'a HashMap<SharedStr, usize>,
        owners: &'a [&'a OwnerRows],
    ) -> ForeignRows<'a> {
        let first_turn = Some(Time::from_micros(first_turn));
        ForeignRows { turns: turns.to_vec(), prompts: vec![None], answers: Vec::new(), messages, owners, first_turn }
    }

    #[test]
    fn a_foreign_turn_goes_with_its_call_change_and_events() {
        let messages = HashMap::default();
        let owner = OwnerRows { totals: Vec::new(), events: HashSet::default(), calls: HashMap::default() };
        let mut first_is_foreign = part();
        transfer_rows(&mut first_is_foreign, &foreign([Some(7), None], 2, &messages, &[&owner]));
        // The event without a turn at 1 is before the first own turn.
        let expected = [vec![Some(0), None], vec![Some(0)], vec![Some(0), None]];
        assert_eq!(references(&first_is_foreign), expected);
        assert_eq!(first_is_foreign.session.turns.len(), 1);
        assert_eq!(first_is_foreign.transferred_to, Some(7));
        assert_eq!(first_is_foreign.session.started_at, Some(Time::from_micros(2)));

        let mut none_is_foreign = part();
        transfer_rows(&mut none_is_foreign, &foreign([None, None], 1, &messages, &[&owner]));
        assert_eq!(references(&none_is_foreign), references(&part()));
        assert_eq!(none_is_foreign.transferred_to, None);
    }

    #[test]
    fn a_call_without_a_turn_goes_to_the_session_that_has_it() {
        let messages = HashMap::default();
        let owner = OwnerRows {
            totals: Vec::new(),
            events: HashSet::default(),
            calls: [(("None".into(), None), 7)].into_iter().collect(),
        };
        let mut cut = part();
        transfer_rows(&mut cut, &foreign([Some(7), None], 2, &messages, &[&owner]));
        assert_eq!(references(&cut)[0], [Some(0)]);

        let mut without_foreign_turns = part();
        transfer_rows(&mut without_foreign_turns, &foreign([None, None], 1, &messages, &[&owner]));
        assert_eq!(references(&without_foreign_turns)[0], [Some(0), Some(1)]);
        assert_eq!(without_foreign_turns.transferred_to, Some(7));
    }

    #[test]
    fn agents_that_another_session_started_are_not_counted() {
        let start = |time: i64, agent: &str| Event {
            kind: EventKind::Subagent,
            occurred_at: Some(Time::from_micros(time)),
            code: Some(agent.into()),
            ..Event::default()
        };
        let (mut part, mut copy) = (part(), part());
        let session = &mut part.session;
        session.events = vec![start(1, "copied"), start(1, "of a turn"), start(2, "own")].into();
        session.subagents = ["copied", "of a turn", "own", "without a start"].map(Symbol::new).into();
        session.turns[1].agent_id = Some("of a turn".into());
        let owner = OwnerRows { totals: Vec::new(), events: HashSet::default(), calls: HashMap::default() };
        // A copy of the file, whose events were removed before.
        copy.session.subagents.clone_from(&session.subagents);
        copy.session.events = Vec::new().into();
        let mut parts = [part, copy];
        let started = started_agents(&parts);
        transfer_rows(&mut parts[0], &foreign([Some(7), None], 2, &HashMap::default(), &[&owner]));
        remove_agents_of_others(&started, &mut parts);
        for part in parts {
            assert_eq!(part.session.subagents, ["of a turn", "own", "without a start"].map(Symbol::new).into());
        }
    }
}
