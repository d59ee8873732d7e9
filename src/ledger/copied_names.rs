//! Names of responses in histories that were copied into sessions which do not name the one they come from: see
//! docs/accounting.md#identity-of-a-response.

use foldhash::{HashMap, HashSet};

use super::part::Sessions;
use crate::base::text::SharedStr;
use crate::model::id_hash::IdHash;
use crate::model::session::{Identity, Turn};

/// Gives one name to the copies of a response. Older versions of Claude Code copy the history of a session: ids of responses may be unique
/// within a session only, but those of records stay. Other programs write new ids of records, also in the place of those of responses:
/// those of requests stay.
pub(super) fn name_copies(sessions: &mut Sessions) {
    let mut names: HashMap<IdHash, IdHash> = HashMap::default();
    let mut requests: HashSet<SharedStr> = HashSet::default();
    let mut copies = Copies::default();
    for turn in sessions.values().flatten().flat_map(|part| &part.session.turns) {
        if let (Some(details), Some(name)) = (&turn.details, turn.identity.global()) {
            for other in details.names() {
                copies.join(*names.entry(other).or_insert(name), name);
            }
        }
        requests.extend(request_alone(turn).cloned());
    }
    if !requests.is_empty() {
        for turn in sessions.values().flatten().flat_map(|part| &part.session.turns) {
            let request = turn.request_id.as_ref().filter(|id| turn.message_id.is_some() && requests.contains(*id));
            if let Some((request, name)) = request.zip(turn.identity.global()) {
                copies.join(request.as_str().into(), name);
            }
        }
    }
    if copies.0.is_empty() {
        return;
    }
    for turn in sessions.values_mut().flatten().flat_map(|part| &mut part.session.turns) {
        if let Some(name) = turn.identity.global() {
            turn.identity = Identity::Global(copies.smallest(name));
        }
    }
}

/// The id of the request of a response that is known by this id only.
fn request_alone(turn: &Turn) -> Option<&SharedStr> {
    let request = turn.request_id.as_ref().filter(|_| turn.message_id.is_none())?;
    (turn.identity.global()? == request.as_str().into()).then_some(request)
}

/// Names of responses, each with a smaller name of the same response.
#[derive(Default)]
struct Copies(HashMap<IdHash, IdHash>);

impl Copies {
    /// The smallest name of a response.
    fn smallest(&self, mut name: IdHash) -> IdHash {
        while let Some(smaller) = self.0.get(&name) {
            name = *smaller;
        }
        name
    }

    /// Both are names of one response.
    fn join(&mut self, a: IdHash, b: IdHash) {
        let (a, b) = (self.smallest(a), self.smallest(b));
        if a != b {
            self.0.insert(a.max(b), a.min(b));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_one_response_have_one_smallest_name() {
        let [a, b, c, d] = ["a", "b", "c", "d"].map(IdHash::new);
        let mut copies = Copies::default();
        copies.join(a, b);
        copies.join(c, d);
        copies.join(d, a);
        let smallest = a.min(b).min(c).min(d);
        assert_eq!([a, b, c, d].map(|name| copies.smallest(name)), [smallest; 4]);
    }
}
