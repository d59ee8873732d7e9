//! Ids of calls among those of all agents: the ids are the tool and a number, and each agent has numbers of its own.

use crate::json::fields::Text;

/// The id of a call of an agent; `None` is the main agent.
pub(super) fn id_of_call(agent: Option<&str>, id: &Text<'_>) -> String {
    match agent {
        Some(agent) => format!("{agent} {}", id.as_str()),
        None => id.as_str().to_owned(),
    }
}

/// Whether an id of [`id_of_call`] is that of a call of this agent.
pub(super) fn is_of_agent(agent: &str, id: &str) -> bool {
    id.strip_prefix(agent).is_some_and(|rest| rest.starts_with(' '))
}
