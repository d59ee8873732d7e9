//! Histories that a session copied from another one: see docs/accounting.md#copied-histories.

mod history;
mod rows;
mod sums;

use std::mem;

use foldhash::HashMap;

use self::history::{History, Keeper, Kept, kept, own_parts};
use self::rows::{RowNames, begin_with_first_row, remove_rows, remove_what_has_no_global_name};
use self::sums::Spent;
use super::part::{SessionKey, SessionPart, Sessions, facts_only, move_to_original};
use crate::base::rows::Rows;
use crate::model::session::SessionResult;

/// Removes what copied histories have in common with sessions that have it as their own, and with longer histories: prompts, calls, and
/// the part of the sums. Returns the sessions that are nothing but such a copy, each with the key of its original.
pub(super) fn drop_copied_histories(sessions: &mut Sessions) -> HashMap<SessionKey, SessionKey> {
    let histories = History::all(sessions);
    if histories.is_empty() {
        return HashMap::default();
    }
    let kept = kept(&histories, sessions);
    let mut copies = Copies {
        keys: sessions.keys().cloned().collect(),
        rows: HashMap::default(),
        left: Vec::new(),
        aliases: HashMap::default(),
        histories: &histories,
    };
    for (history, kept) in histories.iter().zip(&kept) {
        copies.reduce(sessions, history, kept);
    }
    copies.aliases
}

/// The session with the original of a history, and one of its files.
#[derive(Clone)]
struct Original {
    key: SessionKey,
    source: usize,
}

/// The copies while they are reduced, the longest first.
struct Copies<'h> {
    histories: &'h [History],
    /// The keys of all sessions, by their index.
    keys: Vec<SessionKey>,
    /// The rows of sessions that have messages of a history as their own, by their index.
    rows: HashMap<usize, RowNames>,
    /// What is left of the sums of the histories so far.
    left: Vec<Spent>,
    /// The sessions that are nothing but a copy, each with the key of its original.
    aliases: HashMap<SessionKey, SessionKey>,
}

impl Copies<'_> {
    fn reduce(&mut self, sessions: &mut Sessions, history: &History, kept: &Kept) {
        let stated = |parts: &[SessionPart]| {
            let copied = parts.iter().filter(|part| part.session.is_copied_history);
            copied.filter_map(|part| Spent::stated(&part.session)).max_by_key(|it| it.tokens.total())
        };
        if let Some(original) = kept.keepers.first().and_then(|keeper| self.original(sessions, *keeper)) {
            let removal = self.removal(sessions, history, kept);
            let parts = sessions.get_mut(&history.key).map(Vec::as_mut_slice).unwrap_or_default();
            let is_gone = removal.apply(parts, &original);
            set_parent(parts, &history.key, &original.key);
            self.left.push(stated(parts).unwrap_or_default());
            if is_gone && let Some(parts) = sessions.remove(&history.key) {
                let joined = sessions.entry(original.key.clone()).or_default();
                for part in parts {
                    move_to_original(part, joined, original.source);
                }
                self.aliases.insert(history.key.clone(), original.key);
            }
        } else {
            let parts = sessions.get(&history.key).map_or(&[][..], Vec::as_slice);
            self.left.push(stated(parts).unwrap_or_default());
        }
    }

    fn original(&self, sessions: &Sessions, keeper: Keeper) -> Option<Original> {
        match keeper {
            Keeper::Session(index) => {
                let key = self.keys.get(index)?;
                let source = own_parts(sessions.get(key)?).next()?.source;
                Some(Original { key: key.clone(), source })
            }
            Keeper::History(index) => {
                let History { key, source, .. } = self.histories.get(index)?;
                Some(Original { key: self.aliases.get(key).unwrap_or(key).clone(), source: *source })
            }
        }
    }

    /// What the keepers of a history have of it.
    fn removal(&mut self, sessions: &Sessions, history: &History, kept: &Kept) -> Removal<'_> {
        let copied = || sessions.get(&history.key).into_iter().flatten().filter(|part| part.session.is_copied_history);
        let copied_at = copied().flat_map(|part| &part.session.totals).filter_map(|total| total.started_at).max();
        let mut spent = Spent::default();
        let mut is_of_other_runtime = false;
        for keeper in &kept.keepers {
            match *keeper {
                Keeper::Session(index) => {
                    let Some(key) = self.keys.get(index) else { continue };
                    let parts = sessions.get(key).map_or(&[][..], Vec::as_slice);
                    is_of_other_runtime |= key.0 != history.key.0;
                    self.rows.entry(index).or_insert_with(|| RowNames::of(own_parts(parts)));
                    let mut of_session = Spent::until(copied_at, parts);
                    let mut messages = own_parts(parts).flat_map(|part| &part.session.messages);
                    of_session.may_be_later &= messages.any(|message| !history.messages.contains(message));
                    spent.add(of_session);
                }
                Keeper::History(index) => {
                    let Some(left) = self.left.get(index).copied() else { continue };
                    let messages = self.histories.get(index).map(|longer| &longer.messages);
                    let is_longer = messages.is_some_and(|messages| !messages.is_subset(&history.messages));
                    spent.add(Spent { may_be_later: is_longer && left.tokens.total().is_some(), ..left });
                }
            }
        }
        let names = |keeper: &Keeper| match keeper {
            Keeper::Session(index) => self.rows.get(index),
            Keeper::History(index) => self.histories.get(*index).map(|history| &history.rows),
        };
        let rows: Vec<&RowNames> = kept.keepers.iter().filter_map(names).collect();
        // Messages of other runtimes have other names.
        let is_covered = if is_of_other_runtime { history.has_calls_in(&rows) } else { !kept.has_messages };
        Removal { rows, spent, is_of_other_runtime, is_covered }
    }
}

/// What is removed from a history.
struct Removal<'h> {
    rows: Vec<&'h RowNames>,
    spent: Spent,
    /// Whether a session of another runtime has it.
    is_of_other_runtime: bool,
    /// Whether it has nothing that is in no other session.
    is_covered: bool,
}

impl Removal<'_> {
    /// Removes it. Returns whether nothing of the session is left.
    fn apply(&self, parts: &mut [SessionPart], original: &Original) -> bool {
        let mut is_uncertain = false;
        for part in parts.iter_mut().filter(|part| part.session.is_copied_history) {
            let count = part.row_count();
            is_uncertain |= self.reduce(&mut part.session);
            let left = part.row_count();
            if left == 0 && self.is_covered {
                part.session = without_rows(mem::take(&mut part.session));
            } else if left < count {
                begin_with_first_row(&mut part.session);
            }
            if self.is_covered || left < count && left > 0 {
                part.transferred_to = Some(original.source);
            }
        }
        if is_uncertain {
            for part in parts.iter_mut() {
                part.session.under_reports = true;
            }
        }
        parts.iter().all(|part| part.transferred_to.is_some() && part.row_count() == 0)
    }

    /// Returns whether more may have been removed than the originals have.
    fn reduce(&self, session: &mut SessionResult) -> bool {
        remove_rows(session, &self.rows);
        if self.is_of_other_runtime {
            remove_what_has_no_global_name(session);
        }
        if self.is_of_other_runtime && mem::take(&mut session.is_estimated) {
            // The original has the counts of which these are an estimate.
            session.totals.clear();
            session.turns = Rows::default();
            return false;
        }
        let had_counts = session.has_tokens();
        self.spent.take_off(session);
        let has_counts = session.has_tokens();
        session.is_estimated = has_counts && (session.is_estimated || self.is_of_other_runtime);
        let is_uncertain = !self.is_covered || self.spent.may_be_later && has_counts;
        let is_reduced = had_counts && self.spent.tokens.total().is_some();
        if is_reduced && is_uncertain {
            session.totals.iter_mut().for_each(|total| total.is_sum_of_counts = true);
        }
        is_reduced && is_uncertain
    }
}

/// A copy in the same runtime is a child of its original.
fn set_parent(parts: &mut [SessionPart], key: &SessionKey, original: &SessionKey) {
    let names_parent = parts.iter().any(|part| part.session.parent_session_id.is_some());
    if !names_parent && key.0 == original.0 && key != original {
        for part in parts {
            part.session.parent_session_id = Some(original.1.clone());
        }
    }
}

/// What a copy states itself.
fn without_rows(session: SessionResult) -> SessionResult {
    SessionResult { started_at: None, ended_at: None, is_estimated: false, under_reports: false, ..facts_only(session) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::part::key_of;
    use crate::model::id_hash::IdHash;
    use crate::model::session::{Identity, ToolCall};

    fn part(source: usize, id: &str, messages: &[&str], is_copied_history: bool) -> SessionPart {
        let session = SessionResult {
            runtime: "agent".into(),
            session_id: id.to_owned(),
            messages: messages.iter().map(|message| IdHash::new(message)).collect(),
            prompts: messages.iter().map(|message| Identity::Session((*message).into())).collect(),
            is_copied_history,
            ..SessionResult::default()
        };
        SessionPart::new(source, session)
    }

    fn sessions(parts: impl IntoIterator<Item = SessionPart>) -> Sessions {
        let mut sessions = Sessions::new();
        for part in parts {
            sessions.entry(key_of(&part.session)).or_default().push(part);
        }
        sessions
    }

    /// The number of prompts of each session, and its parent.
    fn reconciled(parts: impl IntoIterator<Item = SessionPart>) -> Vec<(String, usize, Option<String>)> {
        let mut sessions = sessions(parts);
        drop_copied_histories(&mut sessions);
        let prompts = |parts: &[SessionPart]| parts.iter().map(|part| part.session.prompts.len()).sum();
        let parent = |parts: &[SessionPart]| parts.iter().find_map(|part| part.session.parent_session_id.clone());
        sessions.iter().map(|((_, id), parts)| (id.clone(), prompts(parts), parent(parts))).collect()
    }

    #[test]
    fn a_copied_history_counts_only_if_no_session_has_it_as_its_own() {
        let original = || part(0, "a", &["m1", "m2"], false);
        let fork = || [part(0, "b", &["m1", "m2"], true), part(0, "b", &["m3"], false)];
        let copy = || part(0, "c", &["m1", "m2", "m3"], true);
        let row = |id: &str, prompts, parent: Option<&str>| (id.to_owned(), prompts, parent.map(str::to_owned));
        let all = [original(), copy()].into_iter().chain(fork());
        assert_eq!(reconciled(all), [row("a", 2, None), row("b", 1, Some("a"))]);
        assert_eq!(reconciled(fork()), [row("b", 3, None)]);
        // Of two copies without their original, the longer one.
        assert_eq!(reconciled([part(0, "b", &["m1", "m2"], true), copy()]), [row("c", 3, None)]);
    }

    #[test]
    fn calls_show_the_original_of_another_runtime() {
        let with_call = |mut part: SessionPart| {
            part.session
                .tool_calls
                .push(Box::new(ToolCall { call_id: "toolu_01Ab34Cd".into(), ..ToolCall::default() }));
            part
        };
        let copy = || with_call(part(0, "b", &["m1"], true));
        let mut other = with_call(part(1, "a", &[], false));
        other.session.runtime = "other".into();
        let mut sessions = sessions([copy(), other]);
        let aliases = drop_copied_histories(&mut sessions);
        assert_eq!((sessions.len(), aliases.len()), (1, 1));
        let mut alone = self::sessions([copy()]);
        assert!(drop_copied_histories(&mut alone).is_empty() && alone.len() == 1);
    }
}
