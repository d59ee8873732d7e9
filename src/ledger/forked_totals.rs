//! Totals that begin with the total of the session that was forked: see docs/accounting.md#forked-totals.

use std::collections::BTreeMap;

use foldhash::{HashMap, HashMapExt as _, HashSet, HashSetExt as _};

use super::part::{SessionKey, SessionPart, Sessions};
use crate::base::text::Symbol;
use crate::base::time::Time;
use crate::model::id_hash::link;
use crate::model::session::{Capabilities, ModelTotal, SessionResult, Tokens, Total, TotalKind, Turn};

/// Subtracts from the totals of each fork the total with which it began. A fork whose parent is absent keeps its totals.
pub(super) fn subtract_forked_totals(sessions: &mut Sessions) {
    let stated = StatedBySessions::of(sessions);
    if stated.is_empty() {
        return;
    }
    // All totals are as stated until each session has its part.
    let restored = |(key, parts): (&SessionKey, &Vec<SessionPart>)| {
        let restored = stated.restored_by(key, parts, sessions);
        (!restored.is_empty()).then(|| (key.clone(), restored))
    };
    let forks: Vec<(SessionKey, Vec<Restored>)> = sessions.iter().filter_map(restored).collect();
    for (key, restored) in forks {
        let totals = sessions.get_mut(&key).into_iter().flatten().flat_map(|part| &mut part.session.totals);
        for total in totals.filter(|total| is_running(total)) {
            if let Some(began_with) = began_with(total, &restored) {
                total.subtract_earlier(began_with);
            }
        }
    }
}

/// The links of a session whose totals may begin with that of another session, or the total of another session with one of its own.
pub(super) fn links(session: &SessionResult) -> impl Iterator<Item = u64> {
    let running = session.totals.iter().filter(|total| is_running(total));
    let names = running.flat_map(|total| names(total).into_iter().chain(names_before(total)));
    // The other totals are of sessions that have another link.
    names.filter(|name| name.is_cached).map(|name| name.link)
}

/// Whether a later process, which may be that of a fork, can go on from it.
fn is_running(total: &Total) -> bool {
    let is_of_kind = match total.kind {
        TotalKind::Process => total.own != Tokens::UNKNOWN,
        TotalKind::Saved => !total.is_sum_of_counts,
        _ => false,
    };
    is_of_kind && total.covers_subagents
}

/// The name of what a model has spent.
#[derive(Clone, Copy)]
struct Name {
    /// The model and its prompts: a recording may contain only a part of each output.
    link: u64,
    /// Whether some of the tokens are cached: small counts may be equal by chance; cached tokens are many.
    is_cached: bool,
}

/// The names of a total, by which another session may show that it began with it.
fn names(total: &Total) -> Vec<Name> {
    let models = total.models.iter().filter_map(|model| model.model.as_ref());
    models.filter_map(|model| name(model, total.tokens_of(Some(model))?)).collect()
}

/// The names of the total with which the process may have begun: its model had these prompts before those that the process wrote itself,
/// of the main agent or of all agents.
fn names_before(total: &Total) -> Vec<Name> {
    if total.kind != TotalKind::Process || total.own_of_model.total().unwrap_or(0) == 0 {
        return Vec::new();
    }
    let of_name = total.models.iter().filter(|model| model.model.is_some() && model.model == total.own_model);
    let mut models: Vec<&Symbol> = of_name.filter_map(|model| model.model.as_ref()).collect();
    if models.is_empty() {
        models = total.models.iter().filter_map(|model| model.model.as_ref()).collect();
    }
    let before = |model: &Symbol, own: Tokens| name(model, total.tokens_of(Some(model))?.minus(own));
    let names = models.into_iter().flat_map(|model| [total.own_of_model, total.own].map(|own| before(model, own)));
    names.flatten().collect()
}

fn name(model: &Symbol, tokens: Tokens) -> Option<Name> {
    let prompts = [tokens.input, tokens.cache_read, tokens.cache_write].map(|count| count.unwrap_or(0));
    let [_, read, written] = prompts;
    let is_possible = prompts.iter().all(|count| *count >= 0) && prompts.iter().any(|count| *count > 0);
    let link = || link("total", &format!("{model} {prompts:?}"));
    is_possible.then(|| Name { link: link(), is_cached: read.saturating_add(written) > 0 })
}

/// A total of a fork, with the total of another session that it restored.
struct Restored {
    total: Total,
    began_with: Total,
}

/// With what a total of a fork began, if it is one of those that restored a total, or goes on from one of them.
fn began_with<'r>(total: &Total, restored: &'r [Restored]) -> Option<&'r Total> {
    let is_same = |it: &&Restored| it.total.key == total.key;
    let goes_on = |it: &&Restored| total.contains(&total.own(), &it.total);
    let found = restored.iter().find(is_same).or_else(|| restored.iter().find(goes_on));
    found.map(|it| &it.began_with)
}

/// A total that a session states.
struct Stated<'s> {
    session: &'s SessionKey,
    /// Index of its file.
    source: usize,
    total: &'s Total,
    is_cached: bool,
    /// Its time, or that of the end of its file if it is the last one there.
    occurred_at: Option<Time>,
}

/// The totals that sessions state, by their names.
struct StatedBySessions<'s>(HashMap<u64, Vec<Stated<'s>>>);

impl<'s> StatedBySessions<'s> {
    fn of(sessions: &'s Sessions) -> Self {
        let mut by_name: HashMap<u64, Vec<Stated<'s>>> = HashMap::new();
        for (key, parts) in sessions {
            for part in parts {
                for total in part.session.totals.iter().filter(|total| is_running(total)) {
                    for Name { link, is_cached } in names(total) {
                        let (source, occurred_at) = (part.source, time_of(total, part));
                        let stated = Stated { session: key, source, total, is_cached, occurred_at };
                        by_name.entry(link).or_default().push(stated);
                    }
                }
            }
        }
        Self(by_name)
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The totals of a session that begin with a total of another one.
    fn restored_by(&self, key: &SessionKey, parts: &[SessionPart], sessions: &Sessions) -> Vec<Restored> {
        let totals = parts.iter().flat_map(|part| part.session.totals.iter().map(move |total| (part, total)));
        let restored = |(part, total): (&SessionPart, &Total)| {
            let names = if is_running(total) { names_before(total) } else { Vec::new() };
            let is_own = |name: &Name| self.0.get(&name.link).into_iter().flatten().any(|stated| stated.session == key);
            // A total that goes on from one of its own session is not a fork.
            if names.is_empty() || names.iter().any(is_own) {
                return None;
            }
            let began_with = self.largest(&names, key, total, part, parts);
            let began_with = began_with.or_else(|| responses_before(&names, key, parts, total, sessions))?;
            Some(Restored { total: total.clone(), began_with })
        };
        totals.filter_map(restored).collect()
    }

    /// The largest total of another session that has one of the names and that the total contains. Without cached tokens, it is one of
    /// the parent, or before it in the same file.
    fn largest(
        &self,
        names: &[Name],
        key: &SessionKey,
        total: &Total,
        part: &SessionPart,
        parts: &[SessionPart],
    ) -> Option<Total> {
        let stated = names.iter().filter_map(|name| self.0.get(&name.link)).flatten();
        let time = time_of(total, part);
        let is_earlier = |stated: &&Stated<'_>| {
            let is_later = stated.occurred_at.zip(time).is_some_and(|(stated, own)| stated > own);
            let is_parent = |part: &SessionPart| part.session.parent_session_id.as_ref() == Some(&stated.session.1);
            let is_related =
                || stated.source == part.source && stated.total.line < total.line || parts.iter().any(is_parent);
            stated.session.0 == key.0
                && !is_later
                && (stated.is_cached || is_related())
                && total.contains(&total.own(), stated.total)
        };
        let largest = stated.filter(is_earlier).max_by_key(|stated| stated.total.tokens().total());
        largest.map(|stated| stated.total.clone())
    }
}

/// The time of a total. The last one of a file that has none was stated when the file ended.
fn time_of(total: &Total, part: &SessionPart) -> Option<Time> {
    let is_last = part.session.totals.last().is_some_and(|last| last.key == total.key);
    total.occurred_at.or(part.session.ended_at.filter(|_| is_last))
}

/// The responses of the parent, up to one after which its model has one of the names: it states no total of them.
fn responses_before(
    names: &[Name],
    (runtime, _): &SessionKey,
    parts: &[SessionPart],
    total: &Total,
    sessions: &Sessions,
) -> Option<Total> {
    let parent = parts.iter().find_map(|part| part.session.parent_session_id.clone())?;
    let parts = sessions.get(&(runtime.clone(), parent))?;
    let kept = parts.iter().filter(|part| part.session.capabilities.has(Capabilities::KEPT_BY_RUNTIME));
    let mut known = HashSet::new();
    let mut turns: Vec<&Turn> = (kept.flat_map(|part| &part.session.turns).map(|turn| &**turn))
        .filter(|turn| turn.identity.global().is_none_or(|name| known.insert(name)))
        .collect();
    turns.sort_by_key(|turn| (turn.occurred_at, turn.line));
    let mut models: BTreeMap<&Symbol, Tokens> = BTreeMap::new();
    let mut found = None;
    for turn in turns {
        let Some(model) = &turn.model else { continue };
        let sum = models.entry(model).or_insert(Tokens::UNKNOWN);
        *sum = sum.plus(turn.tokens.get());
        if name(model, *sum).is_some_and(|own| names.iter().any(|name| name.link == own.link)) {
            found = Some(models.clone());
        }
    }
    let model =
        |(model, tokens): (&Symbol, Tokens)| ModelTotal { model: Some(model.clone()), tokens, ..ModelTotal::default() };
    let earlier = Total { models: found?.into_iter().map(model).collect(), ..Total::default() };
    total.contains(&total.own(), &earlier).then_some(earlier)
}
