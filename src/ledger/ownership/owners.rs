//! Gives each shared response to the session that owns it.

use std::collections::BTreeSet;
use std::mem;

use foldhash::{HashMap, HashMapExt as _, HashSet};

use super::election::{Candidate, Owner, elect_owner};
use super::results::add_results_of_copies;
use super::shared_responses::{PartNumbers, SharedResponses};
use super::transfer::{ForeignRows, OwnerRows, remove_agents_of_others, started_agents, transfer_rows};
use crate::base::rows::Rows;
use crate::base::text::SharedStr;
use crate::base::time::Time;
use crate::ledger::event_id::EventId;
use crate::ledger::part::{SessionKey, SessionPart, Sessions, facts_only, move_to_original};
use crate::model::session::{Capabilities, ToolCall};

/// Gives each response that several sessions contain to one of them, with its prompts, calls, changes and events.
/// Returns the sessions that show another session under an id of their own, each with the key of that session.
pub(in crate::ledger) fn give_each_response_to_one_session(sessions: &mut Sessions) -> HashMap<SessionKey, SessionKey> {
    match SharedResponses::index(sessions) {
        Some(shared) => Owners::elect(shared, sessions).transfer(sessions),
        None => HashMap::new(),
    }
}

/// The owners of all shared responses.
struct Owners {
    numbers: Rows<Vec<PartNumbers>>,
    /// By number.
    owners: Rows<Option<Owner>>,
    /// When each session began.
    starts: Rows<Option<Time>>,
}

impl Owners {
    /// Elects the owner of each shared response.
    fn elect(shared: SharedResponses, sessions: &Sessions) -> Self {
        let candidates: Rows<Candidate<'_>> =
            sessions.iter().map(|(key, parts)| Candidate::of_session(key, parts)).collect();
        let owners = shared.claims(sessions).iter().map(|claims| elect_owner(claims, &candidates)).collect();
        let starts = candidates.iter().map(|candidate| candidate.started_at).collect();
        Self { numbers: shared.numbers, owners, starts }
    }

    fn owner(&self, number: Option<usize>) -> Option<Owner> {
        self.owners[number?]
    }

    /// The owner of a response, if that is not `session`.
    fn foreign_owner(&self, session: usize, number: Option<usize>) -> Option<Owner> {
        self.owner(number).filter(|owner| owner.session != session)
    }

    /// Removes the rows that belong to other sessions, and sessions without any row of their own. Returns the sessions
    /// that show another session under an id of their own, each with the key of that session.
    fn transfer(&self, sessions: &mut Sessions) -> HashMap<SessionKey, SessionKey> {
        let owners: HashSet<usize> = self.owners.iter().flatten().map(|owner| owner.session).collect();
        add_results_of_copies(sessions, &owners, |session, part, turn| {
            let numbers = self.numbers[session].get(part)?;
            self.foreign_owner(session, *numbers.turns.iter().nth(turn)?)
        });
        let owner_rows = Self::rows_of_owners(sessions, &owners);
        let mut aliases = Vec::new();
        let parents = self.parents_of_forks(sessions);
        for (session, (parts, numbers)) in sessions.values_mut().zip(&self.numbers).enumerate() {
            if !numbers.iter().flat_map(PartNumbers::all).any(|number| self.owner(number).is_some()) {
                continue;
            }
            let foreign_messages = self.foreign_messages(session, parts, numbers);
            let foreign_owners = self.foreign_owners(session, numbers, &owner_rows);
            let first_turn = self.first_own_turn(session, parts, numbers);
            let (started, aliases_before) = (started_agents(parts), aliases.len());
            if let (Some(part), Some(parent)) = (parts.first_mut(), parents.get(&session)) {
                part.session.parent_session_id = Some(parent.clone());
            }
            for (part, numbers) in parts.iter_mut().zip(numbers) {
                if let Some(owner) = self.owner_of_whole(session, part, numbers) {
                    part.session = facts_only(mem::take(&mut part.session));
                    part.transferred_to = Some(owner.source);
                    aliases.push((session, owner.session));
                } else {
                    transfer_rows(
                        part,
                        &self.foreign_rows(session, numbers, first_turn, &foreign_messages, &foreign_owners),
                    );
                }
            }
            // The agents that a recording under another id states are those of its session.
            if aliases.len() == aliases_before {
                remove_agents_of_others(&started, parts);
            }
        }
        let keys: Rows<&SessionKey> = sessions.keys().collect();
        let aliases = aliases.into_iter().map(|(alias, owner)| (keys[alias].clone(), keys[owner].clone())).collect();
        self.remove_copies(sessions);
        aliases
    }

    /// Removes the sessions without any row of their own. What others state about them is about the owner of their last response.
    fn remove_copies(&self, sessions: &mut Sessions) {
        let keys: Rows<&SessionKey> = sessions.keys().collect();
        let has_rows = |parts: &[SessionPart]| parts.iter().any(|it| it.transferred_to.is_none() || it.row_count() > 0);
        let owner = |(session, (key, parts)): (usize, (&SessionKey, &Vec<SessionPart>))| {
            let numbers = self.numbers[session].iter().flat_map(PartNumbers::all);
            let owner = numbers.filter_map(|number| self.foreign_owner(session, number)).last();
            (!has_rows(parts)).then(|| (key.clone(), owner.map(|owner| (keys[owner.session].clone(), owner.source))))
        };
        let copies: Vec<_> = sessions.iter().enumerate().filter_map(owner).collect();
        for (key, owner) in copies {
            let parts = sessions.remove(&key).unwrap_or_default();
            let original = owner.and_then(|(key, source)| Some((sessions.get_mut(&key)?, source)));
            if let Some((original, source)) = original {
                for part in parts {
                    move_to_original(part, original, source);
                }
            }
        }
    }

    /// The parents of sessions that begin with the history of another one and do not name it: the session that owns the last of the
    /// copied responses. Without times of responses, it is the one of their owners that began last.
    fn parents_of_forks(&self, sessions: &Sessions) -> HashMap<usize, String> {
        let keys: Rows<&SessionKey> = sessions.keys().collect();
        let parent = |(session, ((runtime, _), parts)): (usize, (&SessionKey, &Vec<SessionPart>))| {
            let numbers = &self.numbers[session];
            if parts.iter().any(|part| part.session.parent_session_id.is_some()) {
                return None;
            }
            let kept = parts
                .iter()
                .zip(numbers)
                .filter(|(part, _)| part.session.capabilities.has(Capabilities::KEPT_BY_RUNTIME));
            let turns = kept.flat_map(|(part, numbers)| part.session.turns.iter().zip(&numbers.turns));
            let copied =
                turns.filter_map(|(turn, number)| Some((turn.occurred_at?, self.foreign_owner(session, *number)?)));
            let (owner, is_before) = match copied.max_by_key(|(time, _)| *time) {
                Some((time, owner)) => (owner.session, time <= self.first_own_turn(session, parts, numbers)?),
                None => (self.last_owner_without_times(session, parts, numbers)?, true),
            };
            let (other_runtime, id) = keys[owner];
            // Codex repeats the responses of a review that it starts.
            let began_later = self.starts[owner].zip(self.starts[session]).is_some_and(|(owner, own)| owner > own);
            (is_before && !began_later && runtime == other_runtime).then(|| (session, id.clone()))
        };
        sessions.iter().enumerate().filter_map(parent).collect()
    }

    /// Of the sessions that own responses of a session, the one that began last. `None` if that is unknown, if a response has a time, or
    /// if it did not begin before the session.
    fn last_owner_without_times(
        &self,
        session: usize,
        parts: &[SessionPart],
        numbers: &[PartNumbers],
    ) -> Option<usize> {
        let is_kept = |part: &SessionPart| part.session.capabilities.has(Capabilities::KEPT_BY_RUNTIME);
        let has_time = parts.iter().flat_map(|part| &part.session.turns).any(|turn| turn.occurred_at.is_some());
        let kept = parts.iter().zip(numbers).filter(|(part, _)| !has_time && is_kept(part));
        let responses = kept.flat_map(|(_, numbers)| numbers.turns.iter().chain(&numbers.answers));
        let owners: BTreeSet<usize> =
            responses.filter_map(|number| Some(self.foreign_owner(session, *number)?.session)).collect();
        let last = owners.iter().copied().max_by_key(|owner| self.starts[*owner])?;
        let is_before = |owner: usize| self.starts[owner].is_some() && self.starts[owner] < self.starts[last];
        let is_last = owners.iter().all(|owner| *owner == last || is_before(*owner));
        let began_first = self.starts[last].zip(self.starts[session]).is_some_and(|(owner, own)| owner <= own);
        (is_last && began_first).then_some(last)
    }

    /// The rows of the sessions that own shared responses, before any are removed.
    fn rows_of_owners(sessions: &Sessions, owners: &HashSet<usize>) -> HashMap<usize, OwnerRows> {
        let is_owner = |(session, _): &(usize, _)| owners.contains(session);
        let rows = |parts: &[SessionPart]| {
            let events = parts.iter().flat_map(|part| &part.session.events);
            let name = |call: &ToolCall| (call.call_id.clone(), call.args_hash.get());
            let calls =
                parts.iter().flat_map(|part| part.session.tool_calls.iter().map(|call| (name(call), part.source)));
            let totals = parts.iter().flat_map(|part| &part.session.totals);
            let totals = totals.filter(|total| total.covers_subagents && !total.is_sum_of_counts);
            OwnerRows {
                events: events.filter_map(EventId::of).collect(),
                calls: calls.collect(),
                totals: totals.cloned().collect(),
            }
        };
        let sessions = sessions.values().enumerate().filter(is_owner);
        sessions.map(|(session, parts)| (session, rows(parts))).collect()
    }

    /// The messages of a session's foreign turns, each with the file that has the turn. Calls in other files of the
    /// session name their message only.
    fn foreign_messages(
        &self,
        session: usize,
        parts: &[SessionPart],
        numbers: &[PartNumbers],
    ) -> HashMap<SharedStr, usize> {
        let parts = parts.iter().zip(numbers);
        let turns = parts.flat_map(|(part, numbers)| part.session.turns.iter().zip(&numbers.turns));
        let foreign = turns.filter_map(|(turn, number)| {
            Some((turn.message_id.clone()?, self.foreign_owner(session, *number)?.source))
        });
        foreign.collect()
    }

    /// The time of the first turn that belongs to the session itself, in whichever of its files.
    fn first_own_turn(&self, session: usize, parts: &[SessionPart], numbers: &[PartNumbers]) -> Option<Time> {
        let turns = parts.iter().zip(numbers).flat_map(|(part, numbers)| part.session.turns.iter().zip(&numbers.turns));
        let own = turns.filter(|(_, number)| self.foreign_owner(session, **number).is_none());
        own.filter_map(|(turn, _)| turn.occurred_at).min()
    }

    /// The rows of the sessions that own any response of a session, in whichever of its files: a copy that was cut may
    /// contain calls of a response that only the complete file contains.
    fn foreign_owners<'a>(
        &self,
        session: usize,
        numbers: &[PartNumbers],
        owner_rows: &'a HashMap<usize, OwnerRows>,
    ) -> Vec<&'a OwnerRows> {
        let owners = numbers.iter().flat_map(PartNumbers::all).filter_map(|number| self.foreign_owner(session, number));
        let sessions: BTreeSet<usize> = owners.map(|owner| owner.session).collect();
        sessions.iter().filter_map(|session| owner_rows.get(session)).collect()
    }

    /// The owner of a recording whose every response belongs to one other session: it shows that session under another
    /// id. See docs/accounting.md#recordings-under-another-id.
    fn owner_of_whole(&self, session: usize, part: &SessionPart, numbers: &PartNumbers) -> Option<Owner> {
        let is_recording =
            !part.session.capabilities.has(Capabilities::KEPT_BY_RUNTIME) && part.session.totals.is_empty();
        if !is_recording {
            return None;
        }
        let owner = only_owner(numbers.turns.iter().map(|number| self.owner(*number)))?;
        (owner.session != session).then_some(owner)
    }

    /// The rows of a part that belong to other sessions.
    fn foreign_rows<'a>(
        &self,
        session: usize,
        numbers: &PartNumbers,
        first_turn: Option<Time>,
        messages: &'a HashMap<SharedStr, usize>,
        owners_of_session: &'a [&'a OwnerRows],
    ) -> ForeignRows<'a> {
        let owners = |numbers: &Rows<Option<usize>>| -> Vec<Option<Owner>> {
            numbers.iter().map(|number| self.foreign_owner(session, *number)).collect()
        };
        let (turns, prompts, answers) = (owners(&numbers.turns), owners(&numbers.prompts), owners(&numbers.answers));
        let sources = |owners: &[Option<Owner>]| owners.iter().map(|owner| Some((*owner)?.source)).collect();
        ForeignRows {
            turns: sources(&turns),
            prompts: sources(&prompts),
            answers: sources(&answers),
            messages,
            owners: owners_of_session,
            first_turn,
        }
    }
}

/// The owner of responses that all belong to one session: that of the first response. `None` if there are no responses,
/// or if one of them has no owner.
fn only_owner(mut owners: impl Iterator<Item = Option<Owner>>) -> Option<Owner> {
    let first = owners.next()??;
    owners.all(|owner| owner.is_some_and(|owner| owner.session == first.session)).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn responses_of_one_session_have_one_owner() {
        let owner = |session, source| Some(Owner { session, source });
        let cases = [
            (vec![], None),
            (vec![None], None),
            (vec![owner(1, 1), owner(1, 2)], owner(1, 1)),
            (vec![owner(1, 1), owner(2, 2)], None),
            (vec![owner(1, 1), None], None),
        ];
        for (owners, expected) in cases {
            assert_eq!(only_owner(owners.iter().copied()), expected, "{owners:?}");
        }
    }
}
