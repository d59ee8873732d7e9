//! Finds the sessions of imported verdicts: see docs/verdicts.md#matching.

mod near;

use std::collections::BTreeMap;
use std::fmt;

use foldhash::{HashMap, HashSet};

use self::near::{About, NearestReports, common_directories};
use crate::base::split::base_name;
use crate::model::source::Source;
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
    /// The only session that has it belongs to another report, which is nearer to the log of the session.
    OfNearerReport,
}

impl fmt::Display for NoMatch {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NamesNothing => out.write_str("it names no session, label, log or task"),
            Self::Missing(what) => write!(out, "no session has {what}"),
            Self::Several(count, what) => write!(out, "{count} sessions have {what}"),
            Self::OfNearerReport => out.write_str("another report is nearer to the log of its session"),
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
        let imported: Vec<_> = imported.collect();
        // The report of a run repeats those of its instances, which name the tests that failed.
        let of_instances =
            imported.iter().flat_map(|(_, verdicts)| *verdicts).filter(|it| it.verdict.message.is_some());
        let of_instances: HashSet<String> = of_instances.filter_map(|it| self.of_report(it)).collect();
        for (path, verdicts) in imported {
            for (index, imported) in verdicts.iter().enumerate() {
                let place = (path, index);
                let found = self.find(imported);
                let session = found.as_ref().ok().map(|(it, _)| (it.runtime.clone(), it.session_id.clone()));
                let is_of_run = imported.verdict.message.is_none()
                    && self.of_report(imported).is_some_and(|stated| of_instances.contains(&stated));
                if is_of_run || !seen.insert((session.clone(), statement(imported, session.is_some()))) {
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

    /// What a report that `ingest` found states about a session.
    fn of_report(&self, imported: &ImportedVerdict) -> Option<String> {
        let (session, _) = imported.beside.as_ref().and_then(|_| self.find(imported).ok())?;
        Some(format!("{} {} {}", session.runtime, session.session_id, judgement(&imported.verdict)))
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
        let with_label = |label: &str| self.by_label.get(label).map_or(&[][..], Vec::as_slice);
        let with_name = |name: &str| self.by_name.get(name).map_or(&[][..], Vec::as_slice);
        let labelled: Vec<&[usize]> = verdict.labels.iter().map(|label| with_label(label)).collect();
        let is_eligible = |index: &usize| self.sessions.get(*index).is_some_and(is_runtime);
        let eligible =
            |lists: &[&[usize]]| -> Vec<usize> { in_all(&[&labelled, lists].concat()).filter(is_eligible).collect() };
        if let Some(log) = &verdict.log {
            let mut found = eligible(&[with_name(base_name(log))]);
            found.retain(|index| self.sessions.get(*index).is_some_and(|session| is_end_of(log, &session.path)));
            return self.only(&found, format!("a log {log}"), MatchedBy::Path);
        }
        let task = verdict.verdict.task.as_ref();
        if !labelled.is_empty() {
            // With a task it only matters whether there are several.
            let most = if task.is_some() { 2 } else { usize::MAX };
            let found: Vec<usize> = in_all(&labelled).filter(is_eligible).take(most).collect();
            if found.len() <= 1 || task.is_none() {
                return self.only(&found, verdict.labels.join(" and "), MatchedBy::Label);
            }
        }
        let Some(task) = task else { return Err(NoMatch::NamesNothing) };
        let trial = verdict.verdict.trial.as_ref();
        let what = trial.map_or_else(|| format!("the task {task}"), |trial| format!("the task {task}, trial {trial}"));
        let task_label = format!("task={task}");
        let found = match trial {
            Some(trial) => eligible(&[with_label(&task_label), with_label(&format!("trial={trial}"))]),
            None => eligible(&[with_label(&task_label)]),
        };
        if !found.is_empty() {
            return self.only(&self.nearest(found, verdict), what, MatchedBy::Label);
        }
        let mut found = match trial {
            Some(trial) => eligible(&[with_name(task), with_name(trial)]),
            None => eligible(&[with_name(task)]),
        };
        if let Some(trial) = trial.filter(|trial| found.is_empty() && trial.contains(task.as_str())) {
            // The name of the trial contains that of the task.
            found = eligible(&[with_name(trial)]);
        }
        self.only(&self.nearest(found, verdict), what, MatchedBy::Path)
    }

    /// Those of the sessions whose logs are nearest to the report that `ingest` found.
    fn nearest(&self, mut found: Vec<usize>, verdict: &ImportedVerdict) -> Vec<usize> {
        if let Some(report) = &verdict.beside {
            let path = |index: &usize| self.sessions.get(*index).map_or("", |session| session.path.as_str());
            let common = |index: &usize| common_directories(report, path(index));
            let most = found.iter().map(common).max();
            found.retain(|index| Some(common(index)) == most);
        }
        found
    }

    /// The nearest reports about each session.
    fn nearest_reports(&self, sources: &[Source]) -> NearestReports {
        let mut nearest = NearestReports::default();
        for imported in sources.iter().flat_map(|source| self.listed(source)) {
            if let Some(report) = &imported.beside
                && let Ok((session, _)) = self.find(imported)
            {
                let (about, directories) = place(imported, report, session);
                nearest.add(about, directories, imported.verdict.passed);
            }
        }
        nearest
    }

    /// The verdicts of a source that do not repeat other ones.
    fn listed<'s>(&self, source: &'s Source) -> impl Iterator<Item = &'s ImportedVerdict> {
        let repeated = self.repeated.get(&source.path);
        let is_listed = move |index: &usize| repeated.is_none_or(|repeated| !repeated.contains_key(index));
        source.verdicts.iter().enumerate().filter(move |(index, _)| is_listed(index)).map(|(_, imported)| imported)
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

/// The sessions that all of the lists contain. The lists are sorted, as sessions are added in order.
fn in_all(lists: &[&[usize]]) -> impl Iterator<Item = usize> {
    let shortest = lists.iter().min_by_key(|list| list.len()).copied().unwrap_or_default();
    shortest.iter().copied().filter(|index| lists.iter().all(|list| list.binary_search(index).is_ok()))
}

/// What the verdict of a report is about, and how near the report is to the log of the session.
fn place(imported: &ImportedVerdict, report: &str, session: &SessionKey) -> (About, usize) {
    let about = (session.runtime.clone(), session.session_id.clone(), imported.verdict.name.clone());
    (about, common_directories(report, &session.path))
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
    let ImportedVerdict { verdict: _, line: _, session_id, runtime, labels, log, beside: _ } = imported;
    format!("{judged} {:?}", (session_id, runtime, labels, log))
}

/// Finds the sessions of the verdicts of reports in tables that contain all sessions.
pub fn find_sessions_in(tables: &mut Tables) {
    if tables.sources.iter().all(|source| source.verdicts.is_empty()) {
        return;
    }
    let mut keys = SessionKeys::default();
    for row in &tables.sessions {
        let session = &row.session;
        let key = SessionKey {
            runtime: session.runtime.to_string(),
            session_id: session.session_id.clone(),
            path: tables.sources.get(row.source).map(|source| source.path.clone()).unwrap_or_default(),
            is_child: session.parent_session_id.is_some(),
        };
        keys.add(key, session.labels.iter().map(String::as_str));
    }
    for row in tables.verdicts.iter().filter(|row| row.matched_by == Some(MatchedBy::Sidecar)) {
        if let (Some(runtime), Some(session_id)) = (&row.runtime, &row.session_id) {
            keys.add_verdict(runtime.clone(), session_id.clone(), &row.verdict);
        }
    }
    let mut imported: Vec<_> =
        tables.sources.iter().map(|source| (source.path.as_str(), &source.verdicts[..])).collect();
    imported.sort_by_key(|(path, _)| *path);
    keys.find_repeated(imported.into_iter());
    find_sessions(tables, &keys);
}

/// Finds the sessions of the verdicts that were imported, without those that repeat another one. Returns those without a session.
pub fn find_sessions(tables: &mut Tables, keys: &SessionKeys) -> Vec<Unmatched> {
    let mut unmatched = Vec::new();
    tables.verdicts.retain(|row| row.matched_by.is_some());
    let nearest = keys.nearest_reports(&tables.sources);
    for (index, source) in tables.sources.iter().enumerate() {
        for imported in keys.listed(source) {
            let mut row = VerdictRow::without_session(imported, index);
            let found = keys.find(imported).and_then(|found| {
                let report = imported.beside.as_deref().map(|report| place(imported, report, found.0));
                let agrees = report.is_none_or(|(about, near)| nearest.agree(&about, near, imported.verdict.passed));
                if agrees { Ok(found) } else { Err(NoMatch::OfNearerReport) }
            });
            match found {
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
            (["", "mini", "run=x", "", "", ""], Err("no session has run=x")),
            (["", "", "run=x", "", "a", "2"], Ok(("s2", MatchedBy::Label))),
            (["", "", "run=x", "", "a", ""], Err("2 sessions have the task a")),
            (["", "", "run=y", "", "a", "2"], Err("no session has the task a, trial 2")),
            (["", "", "run=x", "log.jsonl", "", ""], Err("2 sessions have a log log.jsonl")),
            (["", "", "trial=2", "log.jsonl", "", ""], Ok(("s2", MatchedBy::Path))),
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
                beside: None,
            };
            let found = keys.find(&imported);
            let found = found.map(|(session, by)| (session.session_id.as_str(), by)).map_err(|it| it.to_string());
            assert_eq!(found, expected.map_err(str::to_owned), "{imported:?}");
        }
    }

    /// Of runs with the same tasks, each report is about the logs near it.
    #[test]
    fn reports_are_about_the_logs_near_them() {
        let mut keys = SessionKeys::default();
        for (id, path) in
            [("a1", "/x/a/trajs/t-1/t-1.traj"), ("b1", "/x/b/trajs/t-1/t-1.traj"), ("b2", "/x/b/t-2.traj")]
        {
            let session = SessionKey {
                runtime: "codex".to_owned(),
                session_id: id.to_owned(),
                path: path.to_owned(),
                is_child: false,
            };
            keys.add(session, [].into_iter());
        }
        let source = |report: &str, verdicts: &[(&str, bool)]| {
            let imported = verdicts.iter().map(|(task, passed)| ImportedVerdict {
                verdict: Verdict { task: Some((*task).to_owned()), passed: Some(*passed), ..Verdict::default() },
                beside: Some(report.to_owned()),
                ..ImportedVerdict::default()
            });
            Source { path: report.to_owned(), verdicts: imported.collect(), ..Source::default() }
        };
        let mut tables = Tables {
            sources: vec![
                source("/x/a/run.json", &[("t-1", true), ("t-2", false)]),
                source("/x/b/logs/t-1/report.json", &[("t-1", false)]),
                source("/x/b/run.json", &[("t-1", false), ("t-2", true)]),
            ],
            ..Tables::default()
        };
        let unmatched = find_sessions(&mut tables, &keys);
        let rows = tables.verdicts.iter().map(|row| (row.session_id.as_deref(), row.verdict.passed));
        // The two reports of b about t-1 agree.
        let of_b = (Some("b1"), Some(false));
        let expected = [(Some("a1"), Some(true)), (None, Some(false)), of_b, of_b, (Some("b2"), Some(true))];
        assert_eq!(rows.collect::<Vec<_>>(), expected);
        assert_eq!(unmatched[0].reason.to_string(), "another report is nearer to the log of its session");
    }
}
