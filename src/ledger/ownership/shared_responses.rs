//! The responses that several sessions contain, and the claims of the sessions to them.

use foldhash::HashMap;

use super::election::Claim;
use crate::base::rows::Rows;
use crate::ledger::part::{SessionPart, Sessions};
use crate::model::id_hash::IdHash;
use crate::model::session::{Capabilities, Identity};

/// The numbers of responses, prompts and answers with a global identity. Each identity is looked up once; the other steps use
/// its number.
pub(super) struct SharedResponses {
    /// By session, then by part.
    pub numbers: Rows<Vec<PartNumbers>>,
    /// Whether several sessions contain the response, by its number.
    is_shared: Rows<bool>,
}

/// The numbers of the rows of a part. Rows without a global identity have none.
pub(super) struct PartNumbers {
    /// Of its turns, in their order.
    pub turns: Rows<Option<usize>>,
    /// Of its prompts, in their order.
    pub prompts: Rows<Option<usize>>,
    /// Of its answers without rows, in their order.
    pub answers: Rows<Option<usize>>,
}

impl PartNumbers {
    pub fn all(&self) -> impl Iterator<Item = Option<usize>> {
        self.turns.iter().chain(&self.prompts).chain(&self.answers).copied()
    }
}

impl SharedResponses {
    /// Numbers the responses. Returns `None` if no session shares any.
    pub fn index(sessions: &Sessions) -> Option<Self> {
        let mut numbering = Numbering::default();
        // Many sessions may be copies of the largest one, so the sum of all would be too much.
        let turn_counts = sessions.values().flatten().map(|part| part.session.turns.len());
        numbering.numbers.reserve(turn_counts.max().unwrap_or(0));
        let mut numbers: Rows<Vec<PartNumbers>> = Rows::default();
        for (session, parts) in sessions.values().enumerate() {
            numbers.push(parts.iter().map(|part| numbering.number_part(session, part)).collect());
        }
        let is_shared: Rows<bool> = numbering.holders.iter().map(|holder| holder.has_others).collect();
        is_shared.iter().any(|is_shared| *is_shared).then_some(Self { numbers, is_shared })
    }

    /// The claims to each response, by its number. A response that is not shared has none.
    pub fn claims(&self, sessions: &Sessions) -> Rows<Vec<Claim>> {
        let mut claims: Rows<Vec<Claim>> = self.is_shared.iter().map(|_| Vec::new()).collect();
        for (session, (parts, numbers)) in sessions.values().zip(&self.numbers).enumerate() {
            for (part, numbers) in parts.iter().zip(numbers) {
                let is_kept_by_runtime = part.session.capabilities.has(Capabilities::KEPT_BY_RUNTIME);
                let turns = numbers.turns.iter().zip(part.session.turns.iter().map(|turn| turn.occurred_at));
                let others = numbers.prompts.iter().chain(&numbers.answers).map(|number| (number, None));
                let numbered = turns.chain(others).filter_map(|(number, time)| Some(((*number)?, time)));
                for (number, time) in numbered.filter(|(number, _)| self.is_shared[*number]) {
                    let claim = Claim { session, source: part.source, time, is_kept_by_runtime };
                    // The parts of one session follow each other.
                    match claims[number].last_mut().filter(|last| last.session == session) {
                        Some(last) => last.join(&claim),
                        None => claims[number].push(claim),
                    }
                }
            }
        }
        claims
    }
}

/// Assigns numbers to the global identities of responses and prompts.
#[derive(Default)]
struct Numbering {
    numbers: HashMap<IdHash, usize>,
    /// By number.
    holders: Rows<Holder>,
}

/// A session that contains a response.
struct Holder {
    first_session: usize,
    has_others: bool,
}

impl Numbering {
    fn number_part(&mut self, session: usize, part: &SessionPart) -> PartNumbers {
        PartNumbers {
            turns: part.session.turns.iter().map(|turn| self.number(session, &turn.identity)).collect(),
            prompts: part.session.prompts.iter().map(|prompt| self.number(session, prompt)).collect(),
            answers: part.session.answers.iter().map(|answer| self.number(session, answer)).collect(),
        }
    }

    fn number(&mut self, session: usize, identity: &Identity) -> Option<usize> {
        let name = identity.global()?;
        let number = *self.numbers.entry(name).or_insert(self.holders.len());
        if number == self.holders.len() {
            self.holders.push(Holder { first_session: session, has_others: false });
        }
        let holder = &mut self.holders[number];
        holder.has_others |= holder.first_session != session;
        Some(number)
    }
}
