//! Totals that begin with the total of another session: see docs/accounting.md#inherited-totals.

use std::collections::{BTreeMap, BTreeSet};

use super::part::{SessionKey, SessionPart, Sessions};
use crate::base::text::SharedStr;
use crate::base::time::Time;
use crate::model::session::{EventKind, Tokens, Total};

/// Subtracts the total of the parent from that of each session which began with it. A session whose parent is absent keeps its total,
/// and so does one whose parent went on: [`SessionResult::inherits_total`] remains true.
///
/// [`SessionResult::inherits_total`]: crate::model::session::SessionResult::inherits_total
pub(super) fn subtract_inherited_totals(sessions: &mut Sessions) {
    let inherits = |parts: &[SessionPart]| parts.iter().any(|part| part.session.inherits_total);
    let heirs: Vec<SessionKey> =
        sessions.iter().filter(|(_, parts)| inherits(parts)).map(|(key, _)| key.clone()).collect();
    // All totals are as stated until each session has its part.
    let parts: Vec<(SessionKey, Inherited)> =
        heirs.into_iter().map(|key| (key.clone(), inherited(&key, sessions))).collect();
    for (key, inherited) in parts {
        let Some(parts) = sessions.get_mut(&key) else { continue };
        let tokens = match inherited {
            Inherited::Nothing => Tokens::UNKNOWN,
            Inherited::Known(tokens) => tokens,
            Inherited::Unknown => continue,
        };
        for part in parts {
            part.session.inherits_total = false;
            part.session.totals.retain_mut(|total| tokens == Tokens::UNKNOWN || total.subtract(tokens, None));
        }
    }
}

/// With what the total of a session began.
#[derive(Debug, PartialEq)]
enum Inherited {
    /// It is a fork, which copied the compaction of its parent.
    Nothing,
    Known(Tokens),
    Unknown,
}

/// With what the total of this session began. A parent without a total of its own may have begun with that of its parent.
fn inherited(heir: &SessionKey, sessions: &Sessions) -> Inherited {
    let own = sessions.get(heir).map_or(&[][..], Vec::as_slice);
    let (Some(total), compactions) = (total_of(own), compactions_of(own)) else { return Inherited::Unknown };
    let began_at = compactions.values().min().copied().flatten();
    let mut passed = BTreeSet::from([heir]);
    let mut key = heir;
    loop {
        let parts = sessions.get(key).into_iter().flatten();
        let named = parts.clone().find(|part| part.session.inherits_total).or_else(|| parts.clone().next());
        let parent = named.and_then(|part| part.session.parent_session_id.as_ref());
        let Some((parent, parts)) = parent.and_then(|id| sessions.get_key_value(&(heir.0.clone(), id.clone()))) else {
            return Inherited::Unknown;
        };
        if !passed.insert(parent) {
            return Inherited::Unknown;
        }
        if key == heir && compactions_of(parts).keys().any(|id| compactions.contains_key(id)) {
            return Inherited::Nothing;
        }
        let responses = parts.iter().flat_map(|part| &part.session.turns);
        let last_response = responses.filter_map(|turn| turn.occurred_at).max();
        let went_on = began_at.is_some() && last_response > began_at;
        match total_of(parts) {
            Some(tokens) if !went_on && tokens.fits(total) => return Inherited::Known(tokens),
            Some(_) => return Inherited::Unknown,
            None if parts.iter().any(|part| part.session.inherits_total) => key = parent,
            None => return Inherited::Unknown,
        }
    }
}

/// The total that a session states, the largest of its copies.
fn total_of(parts: &[SessionPart]) -> Option<Tokens> {
    let totals = parts.iter().flat_map(|part| &part.session.totals).map(Total::tokens);
    totals.max_by_key(|tokens| tokens.total()).filter(|tokens| tokens.total().is_some())
}

/// The ids of the compactions of a session, with their times.
fn compactions_of(parts: &[SessionPart]) -> BTreeMap<&SharedStr, Option<Time>> {
    let events = parts.iter().flat_map(|part| &part.session.events);
    let compactions = events.filter(|event| event.kind == EventKind::Compaction);
    compactions.filter_map(|event| Some((event.key.as_ref()?, event.occurred_at))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::session::{Event, ModelTotal, SessionResult, Turn};

    /// A session: its id, its parent, its total, the id of its compaction, and when it began and responded last.
    struct Heir {
        id: &'static str,
        parent: Option<&'static str>,
        input: Option<i64>,
        compaction: Option<&'static str>,
        began: i64,
        ended: i64,
    }

    /// The total of each session, and whether it is still that with which it began.
    fn reconciled(heirs: &[Heir]) -> Vec<(&'static str, Option<i64>, bool)> {
        let mut sessions = Sessions::new();
        for heir in heirs {
            let tokens = Tokens { input: heir.input, ..Tokens::UNKNOWN };
            let total = Total { models: vec![ModelTotal { tokens, ..ModelTotal::default() }], ..Total::default() };
            let compaction = heir.compaction.map(|key| Event {
                kind: EventKind::Compaction,
                key: Some(key.into()),
                occurred_at: Some(Time::from_micros(heir.began)),
                ..Event::default()
            });
            let last = Turn { occurred_at: Some(Time::from_micros(heir.ended)), ..Turn::default() };
            let log = SessionResult {
                parent_session_id: heir.parent.map(str::to_owned),
                turns: vec![Box::new(last)].into(),
                inherits_total: compaction.is_some(),
                events: compaction.into_iter().collect::<Vec<_>>().into(),
                ..SessionResult::default()
            };
            let settings = SessionResult { totals: vec![total], ..SessionResult::default() };
            let parts = [log, settings].map(|session| SessionPart::new(0, session));
            sessions.insert(("r".to_owned(), heir.id.to_owned()), parts.into());
        }
        subtract_inherited_totals(&mut sessions);
        let result = |heir: &Heir| {
            let parts = &sessions[&("r".to_owned(), heir.id.to_owned())];
            let total = total_of(parts).and_then(Tokens::total);
            (heir.id, total, parts.iter().any(|part| part.session.inherits_total))
        };
        heirs.iter().map(result).collect()
    }

    #[test]
    fn a_session_counts_what_it_adds_to_the_total_of_its_parent() {
        let first = |ended| Heir { id: "a", parent: None, input: Some(100), compaction: None, began: 0, ended };
        let next = |id, parent, input, compaction, began| Heir {
            id,
            parent: Some(parent),
            input,
            compaction: Some(compaction),
            began,
            ended: began + 5,
        };
        let b = || next("b", "a", Some(150), "k1", 10);
        for (name, heirs, expected) in [
            ("a child", vec![first(9), b()], vec![("a", Some(100), false), ("b", Some(50), false)]),
            (
                "a chain",
                vec![first(9), b(), next("c", "b", Some(170), "k2", 20)],
                vec![("a", Some(100), false), ("b", Some(50), false), ("c", Some(20), false)],
            ),
            (
                "a parent without settings",
                vec![first(9), next("b", "a", None, "k1", 10), next("c", "b", Some(170), "k2", 20)],
                vec![("a", Some(100), false), ("b", None, true), ("c", Some(70), false)],
            ),
            ("no parent", vec![b()], vec![("b", Some(150), true)]),
            ("a parent that went on", vec![first(11), b()], vec![("a", Some(100), false), ("b", Some(150), true)]),
            (
                "a smaller total",
                vec![first(9), next("b", "a", Some(90), "k1", 10)],
                vec![("a", Some(100), false), ("b", Some(90), true)],
            ),
            (
                "a fork that copied the compaction",
                vec![first(9), b(), next("f", "b", Some(160), "k1", 10)],
                vec![("a", Some(100), false), ("b", Some(50), false), ("f", Some(160), false)],
            ),
            (
                "a circle",
                vec![next("b", "c", None, "k1", 10), next("c", "b", Some(5), "k2", 20)],
                vec![("b", None, true), ("c", Some(5), true)],
            ),
        ] {
            assert_eq!(reconciled(&heirs), expected, "{name}");
        }
    }
}
