//! Where sessions ran, as an earlier observation of their log knows it: the repository is that of a directory, which can be removed or
//! lose its `.git`, and a log can be copied to where its machine and account are unknown.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::model::session::SessionResult;

/// The number of places of a session: its repository, its machine, its account.
const COUNT: usize = 3;

/// The places of all sessions of a log.
#[derive(Debug, Default)]
pub struct KnownPlaces(HashMap<(Cow<'static, str>, String), [Option<String>; COUNT]>);

/// The bit of the first place in a set of [`PlaceKinds`].
const REPOSITORY: u8 = 1;

/// A set of kinds of places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlaceKinds(u8);

impl PlaceKinds {
    /// All kinds.
    pub const ALL: Self = Self(u8::MAX);

    /// Those that some of the sessions have.
    pub fn known(sessions: &[SessionResult]) -> Self {
        Self::where_any(sessions, |_, place| place.is_some())
    }

    /// Those that some of the sessions lack. Without a working directory a session has no repository but that of its log.
    pub fn missing(sessions: &[SessionResult]) -> Self {
        let kinds = Self::where_any(sessions, |_, place| place.is_none());
        let has_directory = Self::where_any(sessions, |session, place| place.is_none() && session.cwd.is_some());
        Self(kinds.0 & !REPOSITORY | has_directory.0 & REPOSITORY)
    }

    fn where_any(sessions: &[SessionResult], is_in: impl Fn(&SessionResult, &Option<String>) -> bool) -> Self {
        let mut kinds = 0;
        for session in sessions {
            for (kind, place) in places(session).into_iter().enumerate() {
                kinds |= u8::from(is_in(session, place)) << kind;
            }
        }
        Self(kinds)
    }

    /// Whether a kind is in both sets.
    pub const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// The set as a number.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// The set of a number of [`Self::bits`].
    pub const fn of_bits(bits: u8) -> Self {
        Self(bits)
    }
}

impl KnownPlaces {
    /// The places of these sessions.
    pub fn of(sessions: &[SessionResult]) -> Self {
        let mut known = Self::default();
        known.add(sessions);
        known
    }

    /// Adds those of more sessions.
    pub fn add(&mut self, sessions: &[SessionResult]) {
        for session in sessions {
            let known = self.0.entry(key(session)).or_default();
            for (known, place) in known.iter_mut().zip(places(session)) {
                if known.is_none() {
                    known.clone_from(place);
                }
            }
        }
    }

    /// Fills in what these sessions lack. Returns whether something was filled in.
    pub fn fill(&self, sessions: &mut [SessionResult]) -> bool {
        let mut has_changed = false;
        for session in sessions {
            let Some(known) = self.0.get(&key(session)) else { continue };
            let places = [&mut session.repository, &mut session.host, &mut session.user_name];
            for (place, known) in places.into_iter().zip(known) {
                if place.is_none() && known.is_some() {
                    place.clone_from(known);
                    has_changed = true;
                }
            }
        }
        has_changed
    }
}

fn key(session: &SessionResult) -> (Cow<'static, str>, String) {
    (session.runtime.clone(), session.session_id.clone())
}

const fn places(session: &SessionResult) -> [&Option<String>; COUNT] {
    [&session.repository, &session.host, &session.user_name]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(id: &str, repository: Option<&str>, host: Option<&str>) -> SessionResult {
        SessionResult {
            session_id: id.to_owned(),
            runtime: "r".into(),
            cwd: Some("/w".to_owned()),
            repository: repository.map(str::to_owned),
            host: host.map(str::to_owned),
            ..SessionResult::default()
        }
    }

    #[test]
    fn where_a_session_ran_stays_known() {
        let earlier = KnownPlaces::of(&[session("a", Some("shop"), Some("h")), session("b", None, None)]);
        let mut later = vec![session("a", None, None), session("b", None, None), session("c", None, None)];
        assert!(earlier.fill(&mut later));
        let expected = vec![session("a", Some("shop"), Some("h")), session("b", None, None), session("c", None, None)];
        assert_eq!(later, expected);
        assert!(!earlier.fill(&mut later));
        let mut moved = vec![session("a", Some("cafe"), None)];
        assert!(earlier.fill(&mut moved));
        assert_eq!(moved, vec![session("a", Some("cafe"), Some("h"))]);
    }

    #[test]
    fn facts_are_read_only_for_what_they_may_know() {
        let (with, without) = (session("a", Some("shop"), None), session("a", None, None));
        let kinds = |known: &SessionResult, lacking: &SessionResult| {
            let missing = PlaceKinds::missing(std::slice::from_ref(lacking));
            PlaceKinds::known(std::slice::from_ref(known)).meets(missing)
        };
        assert!(kinds(&with, &without));
        assert!(!kinds(&with, &with));
        assert!(!kinds(&without, &without));
        assert!(!kinds(&with, &SessionResult { cwd: None, ..without.clone() }));
        assert!(PlaceKinds::of_bits(PlaceKinds::ALL.bits()).meets(PlaceKinds::missing(&[without])));
    }
}
