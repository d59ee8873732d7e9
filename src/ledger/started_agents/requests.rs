//! Which session asked each agent.

use foldhash::HashMap;

use crate::base::time::Time;
use crate::ledger::part::{SessionKey, SessionPart, Sessions};
use crate::model::delegation::{Delegation, directory, may_have_started};

/// A session that started agents.
pub(super) struct Outer {
    pub key: SessionKey,
    cwd: String,
    pub delegation: Delegation,
}

impl Outer {
    /// All of them. Copies of a session may have more requests than others.
    pub fn all(sessions: &Sessions) -> Vec<Self> {
        sessions.iter().filter_map(|(key, parts)| Self::of(key, parts)).collect()
    }

    fn of(key: &SessionKey, parts: &[SessionPart]) -> Option<Self> {
        let of_part = |part: &SessionPart| Some((part.session.cwd.clone()?, part.session.delegation.clone()?));
        let (cwd, mut delegation) = parts.iter().find_map(of_part)?;
        let asked_at = &mut delegation.asked_at;
        asked_at.extend(parts.iter().flat_map(|part| &part.session.delegation).flat_map(|it| &it.asked_at));
        asked_at.sort_unstable();
        asked_at.dedup();
        Some(Self { key: key.clone(), cwd, delegation })
    }

    fn place(&self) -> Place<'_> {
        (&self.delegation.runtime, directory(&self.cwd))
    }

    /// Whether a person may have started the session, and not a program.
    fn is_interactive(&self, parts: &[SessionPart]) -> bool {
        let mut entrypoints = parts.iter().filter_map(|part| part.session.entrypoint.as_deref());
        entrypoints.any(|own| self.delegation.interactive.iter().any(|other| &**other == own))
    }
}

/// A runtime and a directory.
type Place<'a> = (&'a str, &'a str);

/// What happened at one place. At equal times, a request is before the start of its agent.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Step<'a> {
    /// The index of the outer session.
    Asked(usize),
    Started(&'a SessionKey),
}

/// The sessions of the agents that each outer session started. An agent belongs to one request: the last one before its start that has
/// no agent yet, else the last one.
pub(super) fn agents_of(outer: &[Outer], sessions: &Sessions) -> Vec<Vec<SessionKey>> {
    let mut steps: HashMap<Place<'_>, Vec<(Time, Step<'_>)>> = HashMap::default();
    for (index, session) in outer.iter().enumerate() {
        let asked = session.delegation.asked_at.iter().map(|time| (*time, Step::Asked(index)));
        steps.entry(session.place()).or_default().extend(asked);
    }
    for (key, parts) in sessions {
        let start = parts.iter().filter_map(|part| part.session.started_at).min();
        let cwd = parts.iter().find_map(|part| part.session.cwd.as_deref());
        let Some((start, cwd)) = start.zip(cwd) else { continue };
        if let Some(steps) = steps.get_mut(&(&*key.0, directory(cwd))) {
            steps.push((start, Step::Started(key)));
        }
    }
    let mut agents = vec![Vec::new(); outer.len()];
    for steps in steps.values_mut() {
        steps.sort_unstable();
        for (index, key) in assigned(steps, outer, sessions) {
            agents.get_mut(index).into_iter().for_each(|agents| agents.push(key.clone()));
        }
    }
    agents
}

/// The agents of one place, in the order of their starts, each with the index of its outer session.
fn assigned<'a>(steps: &[(Time, Step<'a>)], outer: &[Outer], sessions: &Sessions) -> Vec<(usize, &'a SessionKey)> {
    let mut found = Vec::new();
    let mut without_agent: Vec<(Time, usize)> = Vec::new();
    let mut last = None;
    for (time, step) in steps {
        let key = match step {
            Step::Asked(index) => {
                without_agent.push((*time, *index));
                last = Some((*time, *index));
                continue;
            }
            Step::Started(key) => *key,
        };
        let is_soon = |(asked, _): &&(Time, usize)| may_have_started(*asked, *time);
        let open = without_agent.last().filter(is_soon).copied();
        let Some((_, index)) = open.or_else(|| last.filter(|it| is_soon(&it))) else { continue };
        let is_interactive = |outer: &Outer| sessions.get(key).is_some_and(|parts| outer.is_interactive(parts));
        if outer.get(index).is_none_or(|outer| outer.key == *key || is_interactive(outer)) {
            continue;
        }
        if open.is_some() {
            without_agent.pop();
        }
        found.push((index, key));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::session::SessionResult;

    fn at(second: i64) -> Time {
        Time::from_micros(1_790_000_000_000_000 + second * 1_000_000)
    }

    fn part(cwd: &str, entrypoint: &str, started_at: i64) -> SessionPart {
        let session = SessionResult {
            cwd: Some(cwd.to_owned()),
            entrypoint: Some(entrypoint.to_owned()),
            started_at: Some(at(started_at)),
            ..SessionResult::default()
        };
        SessionPart::new(0, session)
    }

    /// The agents of each outer session. `outer` are the times of their requests; the agents, each with its entrypoint, are named by
    /// their start.
    fn agents(outer: &[&[i64]], started: &[(i64, &str)]) -> Vec<Vec<String>> {
        let mut sessions = Sessions::new();
        for (start, entrypoint) in started {
            sessions.insert(("agent".to_owned(), start.to_string()), vec![part("/work", entrypoint, *start)]);
        }
        for (index, asked_at) in outer.iter().enumerate() {
            let delegation = |asked_at: &[i64]| Delegation {
                runtime: "agent".into(),
                asked_at: asked_at.iter().map(|second| at(*second)).collect(),
                interactive: vec!["person".into()],
                ..Delegation::default()
            };
            // An older copy has the first request only.
            let parts = [&asked_at[..1], asked_at].map(|asked_at| {
                let mut part = part("/work/", "", 0);
                part.session.delegation = Some(delegation(asked_at));
                part
            });
            sessions.insert(("outer".to_owned(), index.to_string()), parts.into());
        }
        let all = agents_of(&Outer::all(&sessions), &sessions);
        all.into_iter().map(|agents| agents.into_iter().map(|(_, id)| id).collect()).collect()
    }

    #[test]
    fn an_agent_belongs_to_one_request() {
        let program = |start: i64| (start, "sdk");
        assert_eq!(agents(&[&[0, 100]], &[program(5), program(103), program(300)]), [vec!["5", "103"]]);
        assert_eq!(agents(&[&[0]], &[program(5), (6, "person")]), [vec!["5"]], "a person started one");
        assert_eq!(agents(&[&[0]], &[program(5), program(7)]), [vec!["5", "7"]], "another one for a title");
        assert_eq!(agents(&[&[0], &[1]], &[program(2), program(3)]), [["3"], ["2"]], "at nearly the same time");
        assert_eq!(agents(&[&[0], &[50]], &[program(55)]), [vec![], vec!["55"]]);
    }
}
