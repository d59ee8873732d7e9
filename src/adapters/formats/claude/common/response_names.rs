//! Which response a record belongs to: see docs/accounting.md#identity-of-a-response.

use std::borrow::Cow;

use foldhash::HashMap;

use crate::base::text::SharedStr;
use crate::model::id_hash::IdHash;
use crate::model::session::{Identity, Tokens};

/// The name of a response.
#[derive(Debug, Clone)]
pub(super) struct ResponseName<'a> {
    /// The session that contained it first, if the name is unique only within that and its forks.
    session: Option<SharedStr>,
    name: Cow<'a, str>,
}

impl ResponseName<'_> {
    pub(super) fn identity(&self) -> Identity {
        self.identity_of(&self.name)
    }

    /// The identity of a part of the response that is billed apart.
    pub(super) fn identity_of_part(&self, part: &str) -> Identity {
        self.identity_of(&format!("{}#{part}", self.name))
    }

    /// The name of the response, or of a part of it, by the id of its record, which is the same in copies of the record. `None` if the
    /// identity is unique everywhere.
    pub(super) fn by_record(&self, uuid: Option<&str>, part: &str) -> Option<IdHash> {
        self.session.as_ref()?;
        // If ids are masked, all records have the same one.
        Some(format!("record {} {}#{part}", uuid?, self.name).into())
    }

    fn identity_of(&self, name: &str) -> Identity {
        match &self.session {
            None => Identity::Global(name.into()),
            Some(session) => Identity::Thread(session.clone(), name.into()),
        }
    }
}

/// The names of the responses of a session.
#[derive(Debug, Default)]
pub(super) struct ResponseNames {
    /// The last response with each id of a gateway, and the size of its prompt.
    of_gateways: HashMap<String, (ResponseName<'static>, Option<i64>)>,
}

impl ResponseNames {
    /// The name of the response with this id, of which a record states `tokens`. Ids of the provider are unique everywhere; those of
    /// gateways only within their session, and some give one id to many responses, whose prompts differ in size. `session` is the
    /// one that contained the record first.
    pub(super) fn name<'a>(&mut self, id: &'a str, session: &str, tokens: Tokens) -> ResponseName<'a> {
        if id.starts_with("msg_") || id.starts_with("req_") {
            return ResponseName { session: None, name: Cow::Borrowed(id) };
        }
        // Gateways write zeros while they stream.
        let prompt = tokens.context().filter(|tokens| *tokens > 0);
        if let Some((name, known)) = self.of_gateways.get_mut(id) {
            let is_another = known.zip(prompt).is_some_and(|(known, prompt)| known != prompt);
            if !is_another {
                *known = known.or(prompt);
                return name.clone();
            }
        }
        let name = prompt.map_or_else(|| id.to_owned(), |prompt| format!("{id} {prompt}"));
        let name = ResponseName { session: Some(session.into()), name: Cow::Owned(name) };
        self.of_gateways.insert(id.to_owned(), (name.clone(), prompt));
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gateway_that_gives_one_id_to_many_responses() {
        let mut names = ResponseNames::default();
        let mut name = |id: &str, input, cache_read| {
            names.name(id, "s", Tokens { input, cache_read, ..Tokens::UNKNOWN }).name.into_owned()
        };
        assert_eq!(name("x", Some(0), None), "x", "zeros while it streams");
        assert_eq!(name("x", Some(1000), Some(20)), "x", "the same response");
        assert_eq!(name("x", Some(20), Some(1000)), "x", "an estimate that is corrected");
        assert_eq!(name("x", Some(1000), Some(50)), "x 1050", "another one");
        assert_eq!(name("x", None, None), "x 1050");
        assert_eq!(name("y", Some(7), None), "y 7");
        assert_eq!(name("msg_1", Some(1), None), "msg_1");
        assert_eq!(name("msg_1", Some(2), None), "msg_1");
    }
}
