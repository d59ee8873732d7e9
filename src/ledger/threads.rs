//! Names of responses that forked threads repeat: see docs/accounting.md#identity-of-a-response.

use std::mem;

use foldhash::{HashMap, HashMapExt as _};

use super::part::{SessionKey, SessionPart, Sessions};
use crate::base::text::SharedStr;
use crate::model::id_hash::IdHash;
use crate::model::session::Identity;

/// Makes names within a thread global. A thread that continues another one names repeated responses by that thread,
/// which may be a fork itself, as only its own log shows. So all threads use the name of the first thread of their
/// chain.
pub(super) fn name_by_first_thread(sessions: &mut Sessions) {
    let mut chains = Chains { continued: continued_threads(sessions), first: HashMap::new() };
    for ((runtime, _), parts) in sessions.iter_mut() {
        let mut first_threads: HashMap<SharedStr, IdHash> = HashMap::new();
        let mut rename = |identity: Identity| match identity {
            Identity::Thread(thread, name) => {
                let name_of_first = |thread: &SharedStr| {
                    let first = chains.first_thread((runtime.clone(), thread.to_string()));
                    [runtime, " ", &first].concat().into()
                };
                Identity::Global(name.within(*first_threads.entry(thread).or_insert_with_key(name_of_first)))
            }
            identity => identity,
        };
        for part in parts {
            for turn in &mut part.session.turns {
                turn.identity = rename(mem::take(&mut turn.identity));
            }
            part.session.prompts = mem::take(&mut part.session.prompts).into_iter().map(&mut rename).collect();
        }
    }
}

/// The thread that each thread continues.
fn continued_threads(sessions: &Sessions) -> HashMap<SessionKey, SessionKey> {
    let continued = |(key, parts): (&SessionKey, &Vec<SessionPart>)| {
        let ids = parts.iter().filter_map(|part| part.session.continues.clone());
        Some((key.clone(), (key.0.clone(), ids.min()?)))
    };
    sessions.iter().filter_map(continued).collect()
}

/// Threads that continue each other.
struct Chains {
    /// The thread that each thread continues.
    continued: HashMap<SessionKey, SessionKey>,
    /// The id of the first thread, of threads whose chain was followed.
    first: HashMap<SessionKey, String>,
}

impl Chains {
    /// The id of the first thread of a chain. Threads that continue each other in a circle have no first one: the smallest id of the
    /// circle represents it.
    fn first_thread(&mut self, thread: SessionKey) -> String {
        let mut chain = vec![thread];
        let mut places: HashMap<SessionKey, usize> = HashMap::new();
        let first = loop {
            let Some(last) = chain.last() else { break String::new() };
            if let Some(first) = self.first.get(last) {
                break first.clone();
            }
            places.insert(last.clone(), chain.len() - 1);
            let Some(previous) = self.continued.get(last) else { break last.1.clone() };
            if let Some(start) = places.get(previous) {
                let smallest = chain.iter().skip(*start).min();
                break smallest.map_or_else(String::new, |(_, id)| id.clone());
            }
            chain.push(previous.clone());
        };
        self.first.extend(chain.into_iter().map(|thread| (thread, first.clone())));
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_of_forks_is_named_by_its_first_thread() {
        let key = |id: &str| ("codex".to_owned(), id.to_owned());
        let forks = [("b", "a"), ("c", "b"), ("x", "z"), ("y", "x"), ("z", "y"), ("w", "z"), ("me", "me")];
        let continued = forks.iter().map(|(fork, parent)| (key(fork), key(parent))).collect();
        let mut chains = Chains { continued, first: HashMap::new() };
        for (thread, first) in [("a", "a"), ("b", "a"), ("c", "a"), ("x", "x"), ("y", "x"), ("w", "x"), ("me", "me")] {
            assert_eq!(chains.first_thread(key(thread)), first, "{thread}");
        }
    }
}
