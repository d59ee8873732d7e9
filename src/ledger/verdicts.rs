//! Finds the sessions of imported verdicts: see docs/verdicts.md#matching.

use std::collections::BTreeMap;
use std::fmt;

use foldhash::{HashMap, HashSet};

use crate::model::tables::{Tables, VerdictRow};
use crate::model::verdict::{ImportedVerdict, MatchedBy, Verdict};

/// What verdicts can refer to: the ids, labels and paths of all sessions.
#[derive(Debug, Default)]
pub struct SessionKeys {
    sessions: Vec<SessionKey>,
    by_id: HashMap<String, Vec<usize>>,
    by_label: HashMap<String, Vec<usize>>,
    /// By the names in the paths of their logs, with and without what follows a point.
    by_name: HashMap<String, Vec<usize>>,
    /// What the verdicts next to the logs of each session state.
    beside_logs: HashMap<SessionName, HashSet<String>>,
    /// Imported verdicts that repeat another verdict: the path of their source, and their index there; and whether they have a session.
    repeated: HashMap<String, HashMap<usize, bool>>,
}

/// The runtime and the id of a session.
type SessionName = (String, String);

/// An imported verdict of a session.
struct Judged<'a> {
    /// The path of its source, and its index there.
    place: (&'a str, usize),
    /// See [`judgement`].
    judgement: String,
}

/// A session, as far as verdicts refer to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionKey {
    /// Its runtime.
    pub runtime: String,
    /// Its id.
    pub session_id: String,
    /// The path of its log.
    pub path: String,
    /// Whether another session started it.
    pub is_child: bool,
}

/// An imported verdict without a session.
#[derive(Debug, Clone, PartialEq)]
pub struct Unmatched {
    /// The file.
    pub path: String,
    /// The verdict.
    pub imported: ImportedVerdict,
    /// Why no session was found.
    pub reason: NoMatch,
}

/// How many imported verdicts of a source repeat another verdict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Repeated {
    /// All of them.
    pub verdicts: usize,
    /// Those about a session.
    pub with_session: usize,
}

/// Why no session was found for a verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoMatch {
    /// It contains nothing that names a session.
    NamesNothing,
    /// No session has this id, label, path or task.
    Missing(String),
    /// Several sessions have it.
    Several(usize, String),
}

impl fmt::Display for NoMatch {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NamesNothing => out.write_str("it names no session, label, log or task"),
            Self::Missing(what) => write!(out, "no session has {what}"),
            Self::Several(count, what) => write!(out, "{count} sessions have {what}"),
        }
    }
}

impl SessionKeys {
    /// Adds a session.
    pub fn add<'a>(&mut self, session: SessionKey, labels: impl Iterator<Item = &'a str>) {
        let index = self.sessions.len();
        let mut insert = |map: fn(&mut Self) -> &mut HashMap<String, Vec<usize>>, key: &str| {
            let indexes = map(self).entry(key.to_owned()).or_default();
            if indexes.last() != Some(&index) {
                indexes.push(index);
            }
        };
        insert(|keys| &mut keys.by_id, &session.session_id);
        labels.for_each(|label| insert(|keys| &mut keys.by_label, label));
        for name in session.path.split(['/', '\\']).filter(|name| !name.is_empty()) {
            insert(|keys| &mut keys.by_name, name);
            for (end, _) in name.match_indices('.') {
                insert(|keys| &mut keys.by_name, name.get(..end).unwrap_or(name));
            }
        }
        self.sessions.push(session);
    }

    /// Adds a verdict next to the log of a session.
    pub fn add_verdict(&mut self, runtime: String, session_id: String, verdict: &Verdict) {
        self.beside_logs.entry((runtime, session_id)).or_default().insert(judgement(verdict));
    }

    /// Finds the imported verdicts that repeat another one, so that each is listed once: those of another file, and those next to
    /// the log of the session. If other verdicts of the same name were imported for a session, those next to its log do not count:
    /// imported ones have precedence over them. `imported` are paths of sources with their verdicts, in the order of the paths.
    pub fn find_repeated<'a>(&mut self, imported: impl Iterator<Item = (&'a str, &'a [ImportedVerdict])>) {
        let beside_any_log: HashSet<&str> = self.beside_logs.values().flatten().map(String::as_str).collect();
        let mut seen = HashSet::default();
        let mut repeated: HashMap<String, HashMap<usize, bool>> = HashMap::default();
        let mut repeats = |(path, index): (&str, usize), has_session| match repeated.get_mut(path) {
            Some(known) => drop(known.insert(index, has_session)),
            None => drop(repeated.insert(path.to_owned(), HashMap::from_iter([(index, has_session)]))),
        };
        let mut by_name: HashMap<(SessionName, String), Vec<Judged<'_>>> = HashMap::default();
        for (path, verdicts) in imported {
            for (index, imported) in verdicts.iter().enumerate() {
                let place = (path, index);
                let found = self.find(imported);
                let session = found.as_ref().ok().map(|(it, _)| (it.runtime.clone(), it.session_id.clone()));
                if !seen.insert((session.clone(), statement(imported, session.is_some()))) {
                    repeats(place, session.is_some());
                    continue;
                }
                let judgement = judgement(&imported.verdict);
                if let Some(session) = session {
                    let key = (session, imported.verdict.name.clone());
                    by_name.entry(key).or_default().push(Judged { place, judgement });
                } else if matches!(found, Err(NoMatch::Several(..)))
                    && imported.verdict.trial.is_some()
                    && beside_any_log.contains(judgement.as_str())
                {
                    // Several sessions are one trial, and the result next to their logs states the same.
                    repeats(place, true);
                }
            }
        }
        for ((session, _), imported) in by_name {
            let known = self.beside_logs.get(&session);
            if known.is_some_and(|known| imported.iter().all(|it| known.contains(&it.judgement))) {
                for it in imported {
                    repeats(it.place, true);
                }
            }
        }
        self.repeated = repeated;
    }

    /// The verdicts of each source that repeat another verdict.
    pub fn repeated(&self) -> BTreeMap<String, Repeated> {
        let mut counts: BTreeMap<String, Repeated> = BTreeMap::new();
        for (path, verdicts) in &self.repeated {
            let count = counts.entry(path.clone()).or_default();
            count.verdicts += verdicts.len();
            count.with_session += verdicts.values().filter(|has_session| **has_session).count();
        }
        counts
    }

    /// Whether there is such a session.
    pub fn contains(&self, session: &SessionKey) -> bool {
        self.at(self.by_id.get(&session.session_id)).any(|(_, known)| known.runtime == session.runtime)
    }

    /// The session of a verdict.
    ///
    /// # Errors
    /// Why none was found.
    pub fn find(&self, verdict: &ImportedVerdict) -> Result<(&SessionKey, MatchedBy), NoMatch> {
        let is_runtime = |session: &SessionKey| verdict.runtime.as_ref().is_none_or(|it| *it == session.runtime);
        if let Some(id) = &verdict.session_id {
            let found = self.at(self.by_id.get(id)).filter(|(_, session)| is_runtime(session));
            let found: Vec<usize> = found.map(|(index, _)| index).collect();
            return self.only(&found, format!("the id {id}"), MatchedBy::SessionId);
        }
        let labelled = self.with_labels(&verdict.labels);
        let is_eligible = |index: &usize| {
            let has_labels = labelled.as_ref().is_none_or(|labelled| labelled.contains(index));
            has_labels && self.sessions.get(*index).is_some_and(is_runtime)
        };
        let eligible = |found: Option<&Vec<usize>>| -> Vec<usize> {
            found.into_iter().flatten().copied().filter(&is_eligible).collect()
        };
        if let Some(log) = &verdict.log {
            let end = log.rsplit(['/', '\\']).next().unwrap_or(log);
            let mut found = eligible(self.by_name.get(end));
            found.retain(|index| self.sessions.get(*index).is_some_and(|session| is_end_of(log, &session.path)));
            return self.only(&found, format!("a log {log}"), MatchedBy::Path);
        }
        if let Some(labelled) = &labelled {
            let mut found: Vec<usize> = labelled.iter().copied().filter(|index| is_eligible(index)).collect();
            found.sort_unstable();
            if found.len() <= 1 || verdict.verdict.task.is_none() {
                return self.only(&found, verdict.labels.join(" and "), MatchedBy::Label);
            }
        }
        let Some(task) = &verdict.verdict.task else { return Err(NoMatch::NamesNothing) };
        let trial = verdict.verdict.trial.as_ref();
        let what = trial.map_or_else(|| format!("the task {task}"), |trial| format!("the task {task}, trial {trial}"));
        let both = |task: Vec<usize>, trial: Option<Vec<usize>>| -> Vec<usize> {
            task.into_iter().filter(|index| trial.as_ref().is_none_or(|trial| trial.contains(index))).collect()
        };
        let label = |key: &str, value: &str| eligible(self.by_label.get(&format!("{key}={value}")));
        let found = both(label("task", task), trial.map(|trial| label("trial", trial)));
        if !found.is_empty() {
            return self.only(&found, what, MatchedBy::Label);
        }
        let name = |name: &str| eligible(self.by_name.get(name));
        let mut found = both(name(task), trial.map(|trial| name(trial)));
        if let Some(trial) = trial.filter(|trial| found.is_empty() && trial.contains(task.as_str())) {
            // The name of the trial contains that of the task.
            found = name(trial);
        }
        self.only(&found, what, MatchedBy::Path)
    }

    /// The sessions with all of the labels; `None` if there are no labels.
    fn with_labels(&self, labels: &[String]) -> Option<HashSet<usize>> {
        let of =
            |label: &String| -> HashSet<usize> { self.by_label.get(label).into_iter().flatten().copied().collect() };
        labels.iter().map(of).reduce(|a, b| a.intersection(&b).copied().collect())
    }

    /// The only one of the sessions, or the only one that no other session started.
    fn only(&self, found: &[usize], what: String, by: MatchedBy) -> Result<(&SessionKey, MatchedBy), NoMatch> {
        let sessions = || found.iter().filter_map(|index| self.sessions.get(*index));
        let roots: Vec<&SessionKey> = sessions().filter(|session| !session.is_child).collect();
        match (&roots[..], found.len()) {
            (_, 0) => Err(NoMatch::Missing(what)),
            ([one], _) => Ok((*one, by)),
            ([], 1) => sessions().next().map(|one| (one, by)).ok_or(NoMatch::Missing(what)),
            _ => Err(NoMatch::Several(found.len(), what)),
        }
    }

    fn at(&self, indexes: Option<&Vec<usize>>) -> impl Iterator<Item = (usize, &SessionKey)> {
        indexes.into_iter().flatten().filter_map(|index| Some((*index, self.sessions.get(*index)?)))
    }
}

/// Whether a path ends with the names of another one.
fn is_end_of(end: &str, path: &str) -> bool {
    path.strip_suffix(end).is_some_and(|rest| rest.is_empty() || rest.ends_with(['/', '\\']) || end.starts_with('/'))
}

/// What a verdict states without its message: of verdicts next to logs, words inside of messages are masked.
fn judgement(verdict: &Verdict) -> String {
    let Verdict { task, trial, name, passed, score, judge, judged_at, message: _, path: _ } = verdict;
    format!("{:?}", (task, trial, name, passed, score, judge, judged_at))
}

/// What an imported verdict states; if its session is not known, with what names it.
fn statement(imported: &ImportedVerdict, has_session: bool) -> String {
    let judged = format!("{} {:?}", judgement(&imported.verdict), imported.verdict.message);
    if has_session {
        return judged;
    }
    let ImportedVerdict { verdict: _, line: _, session_id, runtime, labels, log } = imported;
    format!("{judged} {:?}", (session_id, runtime, labels, log))
}

/// Finds the sessions of the verdicts that were imported, without those that repeat another one. Returns those without a session.
pub fn find_sessions(tables: &mut Tables, keys: &SessionKeys) -> Vec<Unmatched> {
    let mut unmatched = Vec::new();
    tables.verdicts.retain(|row| row.matched_by.is_some());
    for (index, source) in tables.sources.iter().enumerate() {
        let repeated = keys.repeated.get(&source.path);
        for (number, imported) in source.verdicts.iter().enumerate() {
            if repeated.is_some_and(|repeated| repeated.contains_key(&number)) {
                continue;
            }
            let mut row = VerdictRow::without_session(imported, index);
            match keys.find(imported) {
                Ok((session, by)) => {
                    row.session_id = Some(session.session_id.clone());
                    row.runtime = Some(session.runtime.clone());
                    row.matched_by = Some(by);
                }
                Err(reason) => {
                    let path = imported.verdict.path.as_ref().unwrap_or(&source.path).clone();
                    unmatched.push(Unmatched { path, imported: imported.clone(), reason });
                }
            }
            tables.verdicts.push(row);
        }
    }
    unmatched
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::verdict::Verdict;

    fn keys() -> SessionKeys {
        let mut keys = SessionKeys::default();
        let sessions: [(&str, &str, &str, bool, &[&str]); 6] = [
            ("claude", "s1", "/runs/a/log.jsonl", false, &["task=a", "trial=1", "run=x"]),
            ("claude", "s2", "/runs/a-2/log.jsonl", false, &["task=a", "trial=2", "run=x"]),
            ("codex", "s1", "/runs/b/rollout.jsonl", false, &["run=y"]),
            ("codex", "s3", "/runs/b/child.jsonl", true, &["run=y"]),
            ("mini", "s4", "/out/org__repo-12/org__repo-12.traj.json", false, &[]),
            ("mini", "s5", "/out/c.1-of-2.run/x.json", false, &[]),
        ];
        for (runtime, id, path, is_child, labels) in sessions {
            let session = SessionKey { runtime: runtime.into(), session_id: id.into(), path: path.into(), is_child };
            keys.add(session, labels.iter().copied());
        }
        keys
    }

    #[test]
    fn a_verdict_finds_the_only_session_that_it_names() {
        let keys = keys();
        let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        // id, runtime, labels, log, task, trial -> session, how
        let cases = [
            (["s2", "", "", "", "", ""], Ok(("s2", MatchedBy::SessionId))),
            (["s1", "codex", "", "", "", ""], Ok(("s1", MatchedBy::SessionId))),
            (["s1", "", "", "", "", ""], Err("2 sessions have the id s1")),
            (["s9", "", "", "", "a", "1"], Err("no session has the id s9")),
            (["", "", "trial=2", "", "", ""], Ok(("s2", MatchedBy::Label))),
            (["", "", "run=y", "", "", ""], Ok(("s1", MatchedBy::Label))),
            (["", "", "run=x", "", "", ""], Err("2 sessions have run=x")),
            (["", "", "run=x", "", "a", "2"], Ok(("s2", MatchedBy::Label))),
            (["", "", "", "a-2/log.jsonl", "", ""], Ok(("s2", MatchedBy::Path))),
            (["", "", "", "log.jsonl", "", ""], Err("2 sessions have a log log.jsonl")),
            (["", "", "", "og.jsonl", "", ""], Err("no session has a log og.jsonl")),
            (["", "", "", "", "a", "1"], Ok(("s1", MatchedBy::Label))),
            (["", "", "", "", "a", ""], Err("2 sessions have the task a")),
            (["", "", "", "", "org__repo-12", ""], Ok(("s4", MatchedBy::Path))),
            (["", "", "", "", "c", "c.1-of-2"], Ok(("s5", MatchedBy::Path))),
            (["", "", "", "", "d", ""], Err("no session has the task d")),
            (["", "", "", "", "", ""], Err("it names no session, label, log or task")),
        ];
        for ([id, runtime, label, log, task, trial], expected) in cases {
            let imported = ImportedVerdict {
                verdict: Verdict { task: text(task), trial: text(trial), ..Verdict::default() },
                session_id: text(id),
                runtime: text(runtime),
                labels: text(label).into_iter().collect(),
                log: text(log),
                line: 1,
            };
            let found = keys.find(&imported);
            let found = found.map(|(session, by)| (session.session_id.as_str(), by)).map_err(|it| it.to_string());
            assert_eq!(found, expected.map_err(str::to_owned), "{imported:?}");
        }
    }
}
