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
    let continued = continued_threads(sessions);
    for ((runtime, _), parts) in sessions.iter_mut() {
        let mut first_threads: HashMap<SharedStr, IdHash> = HashMap::new();
        let mut rename = |identity: Identity| match identity {
            Identity::Thread(thread, name) => {
                let name_of_first = |thread: &SharedStr| {
                    let first = first_thread(&(runtime.clone(), thread.to_string()), &continued);
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

/// The id of the first thread of a chain. Threads that continue each other in a circle have no first one: the smallest
/// id of the circle represents it.
fn first_thread(thread: &SessionKey, continued: &HashMap<SessionKey, SessionKey>) -> String {
    let mut chain = vec![thread];
    while let Some(previous) = chain.last().and_then(|thread| continued.get(*thread)) {
        if let Some(start) = chain.iter().position(|known| *known == previous) {
            let smallest = chain.iter().skip(start).min();
            return smallest.map_or_else(String::new, |(_, id)| id.clone());
        }
        chain.push(previous);
    }
    chain.last().map_or_else(String::new, |(_, id)| id.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_of_forks_is_named_by_its_first_thread() {
        let key = |id: &str| ("codex".to_owned(), id.to_owned());
        let forks = [("b", "a"), ("c", "b"), ("x", "z"), ("y", "x"), ("z", "y"), ("w", "z"), ("me", "me")];
        let continued = forks.iter().map(|(fork, parent)| (key(fork), key(parent))).collect();
        for (thread, first) in [("a", "a"), ("b", "a"), ("c", "a"), ("x", "x"), ("y", "x"), ("w", "x"), ("me", "me")] {
            assert_eq!(first_thread(&key(thread), &continued), first, "{thread}");
        }
    }
}
