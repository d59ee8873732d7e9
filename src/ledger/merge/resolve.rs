//! Steps that need the rows of all parts of a session: responses that only a caller reports, turns of calls, models.

use foldhash::{HashMap, HashSet, HashSetExt as _};

use super::merged_session::MergedSession;
use crate::base::rows::Rows;
use crate::base::text::Symbol;
use crate::ledger::renumber::NewIndexes;
use crate::model::session::{Event, EventKind, ToolCall, Turn};

/// Removes responses that only their caller reports, where the subagent's own log contains a response with the same
/// prompt. See docs/accounting.md#subagents.
pub(super) fn drop_echoes(session: &mut MergedSession) {
    if !session.turns.iter().any(|(_, turn)| turn.is_echo) {
        return;
    }
    let turns = drop_echoed_turns(&mut session.turns);
    for (_, call) in &mut session.calls {
        let mut turn = call.turn;
        turns.update(&mut turn);
        call.turn = turn;
    }
    for (_, event) in &mut session.events {
        turns.update(&mut event.turn);
    }
}

/// What only the caller reports of a response: its model and its duration.
type CallerFacts = (Option<Symbol>, Option<i64>);

fn drop_echoed_turns(turns: &mut Rows<(usize, Box<Turn>)>) -> NewIndexes {
    let prompt = |turn: &Turn| {
        let tokens = turn.tokens.get();
        [tokens.input, tokens.cache_read, tokens.cache_write]
    };
    let echoes = turns.iter().filter(|(_, turn)| turn.is_echo);
    let echoes: HashMap<_, CallerFacts> =
        echoes.map(|(_, turn)| (prompt(turn), (turn.model.clone(), turn.duration_ms.get()))).collect();
    let mut logged = HashSet::new();
    for (_, turn) in turns.iter_mut().filter(|(_, turn)| turn.is_subagent && !turn.is_echo) {
        let prompt = prompt(turn);
        if let Some((model, duration_ms)) = echoes.get(&prompt) {
            turn.model = turn.model.take().or_else(|| model.clone());
            turn.duration_ms = turn.duration_ms.get().or(*duration_ms).into();
        }
        logged.insert(prompt);
    }
    NewIndexes::after_removal(turns, |(_, turn)| !(turn.is_echo && logged.contains(&prompt(turn))))
}

/// Finds the turns of calls that are in other files than their turns, by the id of the message.
pub(super) fn find_turns_of_calls(session: &mut MergedSession) {
    if !session.calls.iter().any(|(_, call)| call.turn.is_none() && call.message_id.is_some()) {
        return;
    }
    let turns = session.turns.iter().enumerate();
    let turns: HashMap<&str, usize> =
        turns.filter_map(|(index, (_, turn))| Some((turn.message_id.as_deref()?, index))).collect();
    for (_, call) in session.calls.iter_mut().filter(|(_, call)| call.turn.is_none()) {
        let turn = call.message_id.as_deref().and_then(|message| turns.get(message)).copied();
        call.turn = turn;
        if let Some(turn) = turn {
            call.agent = call.agent.take().or_else(|| session.turns[turn].1.agent.clone());
        }
    }
}

/// Finds the turns of events that name a call only.
pub(super) fn find_turns_of_events(events: &mut [(usize, Event)], calls: &Rows<(usize, Box<ToolCall>)>) {
    if !events.iter().any(|(_, event)| event.turn.is_none() && event.call_id.is_some()) {
        return;
    }
    let mut turns: HashMap<&str, Vec<(usize, i64, usize)>> = HashMap::default();
    for (source, call) in calls {
        if let Some(turn) = call.turn {
            turns.entry(call.call_id.as_str()).or_default().push((*source, call.line, turn));
        }
    }
    for (source, event) in events {
        let of_call = || {
            let named = turns.get(event.call_id.as_deref()?)?;
            // Of several calls with the id, the last one before the event.
            let is_before = |call: &&(usize, i64, usize)| call.0 == *source && call.1 <= event.line;
            named.iter().rev().find(is_before).or(named.last()).map(|(_, _, turn)| *turn)
        };
        event.turn = event.turn.or_else(of_call);
    }
}

/// Finds the types of subagents that their own records do not state: the agent of the turn, else that of the event which names the
/// subagent by its id, which may be in the file of another agent.
pub(super) fn find_agent_types(session: &mut MergedSession) {
    let is_known = |turn: &Turn| turn.details.as_ref().is_some_and(|it| it.agent_type.is_some());
    let is_sought = |turn: &Turn| turn.is_subagent && !is_known(turn);
    if !session.turns.iter().any(|(_, turn)| is_sought(turn)) {
        return;
    }
    let events = session.events.iter().filter(|(_, event)| event.kind == EventKind::Subagent);
    let types: HashMap<&str, &Symbol> =
        events.filter_map(|(_, event)| Some((event.code.as_deref()?, event.agent.as_ref()?))).collect();
    for (_, turn) in session.turns.iter_mut().filter(|(_, turn)| is_sought(turn)) {
        let by_id = || types.get(turn.agent_id.as_deref()?).copied().cloned();
        if let Some(agent_type) = turn.agent.clone().or_else(by_id) {
            turn.details_mut().agent_type = Some(agent_type);
        }
    }
}

/// Gives the session's model to all turns, if neither a turn nor a total names a model.
pub(super) fn name_the_model(session: &mut MergedSession) {
    let mut totals = session.totals.iter().flat_map(|(_, totals)| totals).flat_map(|total| &total.models);
    let has_no_model = session.turns.iter().all(|(_, turn)| turn.model.is_none());
    if has_no_model && totals.all(|total| total.model.is_none()) {
        let model = &session.facts.session.model;
        session.turns.iter_mut().for_each(|(_, turn)| turn.model.clone_from(model));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::session::Tokens;

    #[test]
    fn an_echo_gives_way_to_the_logged_response_with_its_prompt() {
        let turn = |input, is_echo: bool, is_subagent| Turn {
            tokens: Tokens { input: Some(input), ..Tokens::UNKNOWN }.into(),
            model: is_echo.then(|| "m".into()),
            is_echo,
            is_subagent,
            ..Turn::default()
        };
        // The main agent's response has the same prompt as the second echo, but is not a subagent's.
        let turns = [turn(1, true, true), turn(1, false, true), turn(2, true, true), turn(2, false, false)];
        let mut turns: Rows<_> = turns.into_iter().map(|turn| (0, Box::new(turn))).collect();
        drop_echoed_turns(&mut turns);
        let turns: Vec<_> =
            turns.into_iter().map(|(_, mut turn)| (turn.tokens.get().input, turn.model.take(), turn.is_echo)).collect();
        let model = Some(Symbol::from("m"));
        assert_eq!(turns, [(Some(1), model.clone(), false), (Some(2), model, true), (Some(2), None, false)]);
    }
}
