//! Steps that need the rows of all parts of a session: responses that only a caller reports, turns of calls, models.

use foldhash::{HashMap, HashSet, HashSetExt as _};

use super::merged_session::MergedSession;
use crate::base::rows::Rows;
use crate::base::text::{SharedStr, Symbol};
use crate::ledger::renumber::NewIndexes;
use crate::model::session::{Event, EventKind, ToolCall, Turn};

/// Names subagents that a recording names by their call as their own logs do. One event of each remains.
pub(super) fn name_agents_of_calls(session: &mut MergedSession) {
    let starts = session.events.iter().map(|(_, event)| event).filter(|event| event.kind == EventKind::Subagent);
    let is_by_call = |event: &Event| event.code.is_some() && event.code.as_deref() == event.call_id.as_deref();
    let (by_call, by_id): (Vec<_>, Vec<_>) = starts.partition(|event| is_by_call(event));
    if by_call.is_empty() || by_id.is_empty() {
        return;
    }
    let mut ids: HashMap<SharedStr, Vec<Symbol>> = HashMap::default();
    for event in by_id {
        if let Some((call, id)) = event.call_id.clone().zip(event.code.clone()) {
            ids.entry(call).or_default().push(id);
        }
    }
    let types = by_call.iter().filter_map(|event| Some((event.call_id.clone()?, event.agent.clone()?)));
    let types: HashMap<SharedStr, Symbol> = types.collect();
    session.events.retain_mut(|(_, event)| {
        let Some(call) = event.call_id.as_ref().filter(|_| event.kind == EventKind::Subagent) else { return true };
        if is_by_call(event) {
            return !ids.contains_key(call);
        }
        event.agent = event.agent.take().or_else(|| types.get(call).cloned());
        true
    });
    session.facts.session.subagents.retain(|agent| !ids.contains_key(&**agent));
    for (_, turn) in &mut session.turns {
        // If a call started several agents, it is unknown which of them answered.
        if let Some([id]) = turn.agent_id.as_deref().and_then(|agent| ids.get(agent)).map(Vec::as_slice) {
            turn.agent_id = Some(id.clone());
        }
    }
}

/// Removes responses that only their caller reports, where the subagent's own log contains a response with the same
/// prompt. See docs/accounting.md#subagents.
pub(super) fn drop_echoes(session: &mut MergedSession) {
    if !session.turns.iter().any(|(_, turn)| turn.is_echo) {
        return;
    }
    let calls = session.calls.iter().map(|(_, call)| call.call_id.clone()).collect();
    let turns = drop_echoed_turns(&mut session.turns, &calls);
    name_models_of_echoes(&mut session.turns);
    for (_, call) in &mut session.calls {
        let mut turn = call.turn;
        turns.update(&mut turn);
        call.turn = turn;
    }
    for (_, event) in &mut session.events {
        turns.update(&mut event.turn);
    }
    session.recorded.retain_mut(|(_, turn)| {
        let mut new = Some(*turn);
        turns.update(&mut new);
        new.inspect(|new| *turn = *new).is_some()
    });
}

/// Merges each response that only its caller reports into the logged one of the same agent with the same prompt, the last of them, and
/// removes it. Counts stay as logged, also those of a response that was cut off. `calls` are the ids of all calls, by which agents are
/// named whose id is not stated.
fn drop_echoed_turns(turns: &mut Rows<(usize, Box<Turn>)>, calls: &HashSet<SharedStr>) -> NewIndexes {
    let prompt = |turn: &Turn| {
        let tokens = turn.tokens.get();
        [tokens.input, tokens.cache_read, tokens.cache_write]
    };
    let stated_id = |turn: &Turn| turn.agent_id.clone().filter(|id| !calls.contains(id.as_str()));
    let mut logged: HashMap<_, Vec<usize>> = HashMap::default();
    let mut echoes = Vec::new();
    for (index, (_, turn)) in turns.iter().enumerate().filter(|(_, (_, turn))| turn.is_subagent) {
        if turn.is_echo {
            echoes.push(index);
        } else {
            logged.entry(prompt(turn)).or_default().push(index);
        }
    }
    let mut merged = HashSet::new();
    for index in echoes {
        let echo = &turns[index].1;
        let is_of_agent = |other: &Turn| {
            let stated = stated_id(other).zip(stated_id(echo));
            other.agent_id == echo.agent_id || stated.is_none_or(|(other, own)| other == own)
        };
        let with_prompt = logged.get(&prompt(echo)).map(Vec::as_slice).unwrap_or_default();
        let Some(copy) = with_prompt.iter().rev().find(|index| is_of_agent(&turns[**index].1)) else { continue };
        let (model, duration_ms) = (echo.model.clone(), echo.duration_ms.get());
        let copy = &mut turns[*copy].1;
        copy.model = copy.model.take().or(model);
        copy.duration_ms = copy.duration_ms.get().or(duration_ms).into();
        merged.insert(index);
    }
    let mut index = 0..;
    NewIndexes::after_removal(turns, |_| index.next().is_none_or(|index: usize| !merged.contains(&index)))
}

/// Gives responses that only their caller reports the model of the agent's last logged response, which can be in a file of its own.
fn name_models_of_echoes(turns: &mut Rows<(usize, Box<Turn>)>) {
    let logged = turns.iter().filter(|(_, turn)| turn.is_subagent && !turn.is_echo);
    let models: HashMap<Symbol, Symbol> =
        logged.filter_map(|(_, turn)| Some((turn.agent_id.clone()?, turn.model.clone()?))).collect();
    for (_, turn) in turns.iter_mut().filter(|(_, turn)| turn.is_echo && turn.model.is_none()) {
        turn.model = turn.agent_id.as_ref().and_then(|id| models.get(id)).cloned();
    }
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
    let mut totals = session.totals.iter().flat_map(|file| &file.totals).flat_map(|total| &total.models);
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

    fn turn(agent: &str, input: i64, output: i64, is_echo: bool) -> Turn {
        Turn {
            tokens: Tokens { input: Some(input), output: Some(output), ..Tokens::UNKNOWN }.into(),
            model: is_echo.then(|| "m".into()),
            agent_id: (!agent.is_empty()).then(|| agent.into()),
            is_subagent: true,
            is_echo,
            ..Turn::default()
        }
    }

    /// The counts of each turn that remains, and whether only the caller reports it.
    fn remaining(turns: impl IntoIterator<Item = Turn>, calls: &[&str]) -> Vec<(i64, i64, bool)> {
        let mut turns: Rows<_> = turns.into_iter().map(|turn| (0, Box::new(turn))).collect();
        drop_echoed_turns(&mut turns, &calls.iter().map(|id| SharedStr::from(*id)).collect());
        let counts = |turn: &Turn| (turn.tokens.get().input.unwrap(), turn.tokens.get().output.unwrap());
        turns.iter().map(|(_, turn)| (counts(turn).0, counts(turn).1, turn.is_echo)).collect()
    }

    #[test]
    fn an_echo_gives_way_to_the_logged_response_with_its_prompt() {
        // The main agent's response has the same prompt as the second echo, but is not a subagent's.
        let of_main_agent = Turn { is_subagent: false, ..turn("", 2, 1, false) };
        let turns = [turn("a", 1, 9, true), turn("a", 1, 9, false), turn("a", 2, 9, true), of_main_agent];
        assert_eq!(remaining(turns, &[]), [(1, 9, false), (2, 9, true), (2, 1, false)]);
    }

    #[test]
    fn the_counts_of_a_logged_response_stay() {
        let turns = [turn("a", 1, 3, false), turn("a", 1, 1, false), turn("a", 1, 200, true)];
        assert_eq!(remaining(turns, &[]), [(1, 3, false), (1, 1, false)]);
    }

    /// Agents that the log names by their call, or not at all, are known by the prompt alone.
    #[test]
    fn an_echo_is_of_the_agent_that_it_names() {
        for (logged, echo, is_same) in
            [("a", "b", false), ("a", "a", true), ("", "b", true), ("call", "b", true), ("a", "call", true)]
        {
            let turns = [turn(logged, 1, 5, false), turn(echo, 1, 6, true)];
            let expected: &[_] = if is_same { &[(1, 5, false)] } else { &[(1, 5, false), (1, 6, true)] };
            assert_eq!(remaining(turns, &["call"]), expected, "{logged} {echo}");
        }
    }

    #[test]
    fn an_echo_has_the_model_of_its_agent() {
        let logged = Turn { model: Some("small".into()), ..turn("a", 1, 1, false) };
        let echo = Turn { model: None, ..turn("a", 2, 1, true) };
        let mut turns: Rows<_> = [logged, echo].into_iter().map(|turn| (0, Box::new(turn))).collect();
        name_models_of_echoes(&mut turns);
        assert_eq!(turns[1].1.model, Some("small".into()));
    }
}
