//! What the subagents of a total spent beyond their responses, if the total states the parts of its subagents.

use super::remainder::Remainder;
use crate::model::session::{AgentTotal, ModelTotal, NEGLIGIBLE_USD, Turn};

/// Divides the remainder of a model between the subagents that its total names and all other agents, whose remainder is the second
/// part. The sum of all parts is the remainder: if the numbers of the total do not allow that, it is not divided.
pub(super) fn divide<'t, 'r, T: Iterator<Item = &'r Turn>>(
    remainder: Remainder,
    total: &'t ModelTotal,
    responses: &impl Fn() -> T,
) -> (Vec<(&'t AgentTotal, Remainder)>, Remainder) {
    let of_agent = |agent: &'t AgentTotal| {
        let own = ModelTotal { tokens: agent.tokens, cost: agent.cost, ..ModelTotal::default() };
        let is_own = |turn: &&'r Turn| turn.is_subagent && turn.agent_id.as_ref() == Some(&agent.id);
        (agent, Remainder::of(&own, || responses().filter(is_own), None))
    };
    let agents: Vec<_> = total.agents.iter().map(of_agent).filter(|(_, own)| !own.is_zero()).collect();
    match without(&remainder, &agents) {
        Some(rest) => (agents, rest),
        None => (Vec::new(), remainder),
    }
}

/// The remainder without the parts of subagents; `None` if they are not parts of it.
fn without(remainder: &Remainder, agents: &[(&AgentTotal, Remainder)]) -> Option<Remainder> {
    let mut rest = remainder.clone();
    for (_, own) in agents {
        // A part without a cost of its own would have a computed one beside the reported cost of the whole.
        if own.is_negative || own.cost.is_some() != rest.cost.is_some() {
            return None;
        }
        rest.tokens = rest.tokens.minus(own.tokens);
        rest.cost = rest.cost.zip(own.cost).map(|(rest, own)| rest - own);
    }
    let sum = agents.iter().fold(rest.tokens, |sum, (_, own)| sum.plus(own.tokens));
    let is_possible = rest.tokens.kinds().into_iter().flatten().all(|count| count >= 0)
        && rest.cost.is_none_or(|cost| cost >= -NEGLIGIBLE_USD)
        && sum.kinds() == remainder.tokens.kinds();
    rest.cost = rest.cost.map(|cost| if cost > NEGLIGIBLE_USD { cost } else { 0.0 });
    is_possible.then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::session::Tokens;

    #[test]
    fn parts_of_subagents_are_no_more_than_the_whole() {
        let tokens = |input, output| Tokens { input: Some(input), output: Some(output), ..Tokens::UNKNOWN };
        let agent =
            |input, cost| AgentTotal { id: "a".into(), tokens: tokens(input, 7), cost, ..AgentTotal::default() };
        let turn = |output, agent: Option<&str>| Turn {
            tokens: Tokens { output: Some(output), ..Tokens::UNKNOWN }.into(),
            is_subagent: agent.is_some(),
            agent_id: agent.map(Into::into),
            ..Turn::default()
        };
        let turns = [turn(5, None), turn(7, Some("a"))];
        let divided = |agents: Vec<AgentTotal>, cost| {
            let total = ModelTotal { tokens: tokens(100, 12), cost, agents, ..ModelTotal::default() };
            let responses = || turns.iter();
            let (agents, rest) = divide(Remainder::of(&total, responses, None), &total, &responses);
            let input = |remainder: &Remainder| remainder.tokens.input.unwrap();
            (agents.iter().map(|(_, own)| (input(own), own.cost)).collect::<Vec<_>>(), input(&rest), rest.cost)
        };
        assert_eq!(divided(vec![agent(30, None)], None), (vec![(30, None)], 70, None));
        assert_eq!(divided(vec![agent(30, Some(0.25))], Some(1.0)), (vec![(30, Some(0.25))], 70, Some(0.75)));
        assert_eq!(divided(vec![agent(100, None)], None), (vec![(100, None)], 0, None));
        for (agents, cost) in [
            (vec![], None),
            (vec![agent(101, None)], None),
            (vec![agent(30, None)], Some(1.0)),
            (vec![agent(30, Some(0.25))], None),
            (vec![agent(30, Some(2.0))], Some(1.0)),
        ] {
            assert_eq!(divided(agents.clone(), cost), (vec![], 100, cost), "{agents:?}");
        }
    }
}
