//! The verdict that decides the outcome of each session: see docs/verdicts.md#the-outcome-of-a-session.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use polars::prelude::*;

use crate::analysis::rows::{Frames, Key};
use crate::model::verdict::DEFAULT_NAME;
use crate::store::frames::verdicts;

/// The file that describes the sessions of one trial, its task and its name.
pub(super) type NamedTrial = (String, String, String);

/// What the verdicts of a session state together.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Outcome {
    pub task: Option<String>,
    /// The name of the trial.
    pub trial: Option<String>,
    /// Sessions with the same are one trial. `None` if the session is one of its own.
    pub named: Option<NamedTrial>,
    pub passed: Option<bool>,
    pub score: Option<f64>,
    /// The words of the judge: those of the verdict that decides.
    pub message: Option<String>,
}

/// One verdict.
#[derive(Debug, Clone, Default)]
struct Row {
    task: Option<String>,
    trial: Option<String>,
    name: String,
    passed: Option<bool>,
    score: Option<f64>,
    judged_at: Option<i64>,
    path: String,
    is_imported: bool,
    message: Option<String>,
}

/// The outcomes of the sessions that have verdicts.
pub(super) fn outcomes(tables: &Frames) -> PolarsResult<HashMap<Key, Outcome>> {
    if !tables.iter().any(|(name, _)| *name == "verdicts") {
        return Ok(HashMap::new());
    }
    let texts = [
        verdicts::RUNTIME,
        verdicts::SESSION_ID,
        verdicts::TASK,
        verdicts::TRIAL,
        verdicts::NAME,
        verdicts::SOURCE_PATH,
        verdicts::MATCHED_BY,
        verdicts::MESSAGE,
    ];
    let columns = texts.iter().map(|name| col(*name));
    let columns = columns.chain([col(verdicts::PASSED), col(verdicts::SCORE), col(verdicts::JUDGED_AT).to_physical()]);
    let frame = tables
        .table(verdicts::TABLE)
        .filter(col(verdicts::SESSION_ID).is_not_null())
        .select(columns.collect::<Vec<_>>());
    let frame = frame.collect()?;
    let [runtime, session, task, trial, name, path, matched_by, message] =
        texts.map(|name| frame.column(name).and_then(|column| column.str()));
    let (runtime, session, task, trial) = (runtime?, session?, task?, trial?);
    let (name, path, matched_by, message) = (name?, path?, matched_by?, message?);
    let (passed, score) = (frame.column(verdicts::PASSED)?.bool()?, frame.column(verdicts::SCORE)?.f64()?);
    let judged_at = frame.column(verdicts::JUDGED_AT)?.i64()?;
    let mut rows: HashMap<Key, Vec<Row>> = HashMap::new();
    for index in 0..frame.height() {
        let text = |column: &StringChunked| column.get(index).map(str::to_owned);
        let key = (text(runtime).unwrap_or_default(), text(session).unwrap_or_default());
        rows.entry(key).or_default().push(Row {
            task: text(task),
            trial: text(trial),
            name: text(name).unwrap_or_default(),
            passed: passed.get(index),
            score: score.get(index),
            judged_at: judged_at.get(index),
            path: text(path).unwrap_or_default(),
            is_imported: matched_by.get(index) != Some("sidecar"),
            message: text(message),
        });
    }
    Ok(outcomes_of(rows))
}

/// The outcomes by the verdicts of each session. Those of all sessions of a named trial decide together.
fn outcomes_of(rows: HashMap<Key, Vec<Row>>) -> HashMap<Key, Outcome> {
    let mut outcomes = HashMap::new();
    let mut trials: BTreeMap<NamedTrial, Vec<(Key, Vec<Row>)>> = BTreeMap::new();
    for (key, rows) in rows {
        match rows.iter().filter_map(named_trial).min() {
            Some(named) => trials.entry(named).or_default().push((key, rows)),
            None => drop(outcomes.insert(key, outcome(rows))),
        }
    }
    for (named, mut sessions) in trials {
        sessions.sort_by(|(a, _), (b, _)| a.cmp(b));
        let (keys, rows): (Vec<Key>, Vec<Vec<Row>>) = sessions.into_iter().unzip();
        let outcome = Outcome { named: Some(named), ..outcome(rows.concat()) };
        outcomes.extend(keys.into_iter().map(|key| (key, outcome.clone())));
    }
    outcomes
}

/// The trial that a file beside logs names. A row of an imported table is about one session, although other rows of the table can state
/// the same task and trial: those of other agents.
fn named_trial(row: &Row) -> Option<NamedTrial> {
    let trial = row.trial.clone().filter(|_| !row.is_imported)?;
    Some((row.path.clone(), row.task.clone().unwrap_or_default(), trial))
}

/// The outcome by several verdicts. Imported ones have precedence over those of sidecars, then the latest. The verdict of the
/// default name decides; without one, all others have to pass.
fn outcome(mut rows: Vec<Row>) -> Outcome {
    rows.sort_by(|a, b| {
        let order = |row: &Row| (Reverse(row.is_imported), Reverse(row.judged_at));
        order(a).cmp(&order(b)).then_with(|| (&a.path, &a.name).cmp(&(&b.path, &b.name)))
    });
    let mut by_name: Vec<&Row> = Vec::new();
    for row in &rows {
        if by_name.iter().all(|known| known.name != row.name) {
            by_name.push(row);
        }
    }
    let main = by_name.iter().find(|row| row.name == DEFAULT_NAME).copied();
    let passed = match main {
        Some(main) => main.passed,
        None => by_name.iter().filter_map(|row| row.passed).reduce(|a, b| a && b),
    };
    // A score of another name can be on another scale.
    let score = match (main, &by_name[..]) {
        (Some(main), _) => main.score,
        (None, [only]) => only.score,
        (None, _) => None,
    };
    let decides = |row: &&&Row| row.passed == passed && row.message.is_some();
    let message = main.or_else(|| by_name.iter().find(decides).copied()).and_then(|row| row.message.clone());
    let task = rows.iter().find_map(|row| row.task.clone());
    let trial = rows.iter().find_map(|row| row.trial.clone());
    Outcome { task, trial, named: None, passed, score, message }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_verdict_decides() {
        let row = |name: &str, passed: Option<bool>, judged_at: i64, is_imported: bool| Row {
            name: name.into(),
            passed,
            judged_at: Some(judged_at),
            is_imported,
            ..Row::default()
        };
        let cases = [
            (vec![row("verdict", Some(false), 1, false)], Some(false)),
            (vec![row("verdict", Some(false), 1, true), row("verdict", Some(true), 2, true)], Some(true)),
            (vec![row("verdict", Some(false), 1, true), row("verdict", Some(true), 2, false)], Some(false)),
            (vec![row("verdict", Some(true), 1, true), row("style", Some(false), 2, true)], Some(true)),
            (vec![row("tests", Some(true), 1, true), row("style", Some(false), 2, true)], Some(false)),
            (vec![row("tests", Some(true), 1, true), row("style", None, 2, true)], Some(true)),
            (vec![row("style", None, 2, true)], None),
        ];
        for (rows, expected) in cases {
            assert_eq!(outcome(rows.clone()).passed, expected, "{rows:?}");
        }
    }

    /// A file beside several logs describes one trial, whose verdicts decide together; imported rows judge each session by itself.
    #[test]
    fn sessions_that_one_file_describes_are_one_trial() {
        let row = |path: &str, passed: bool, is_imported: bool| Row {
            task: Some("fix".into()),
            trial: Some("1".into()),
            name: DEFAULT_NAME.into(),
            passed: Some(passed),
            path: path.into(),
            is_imported,
            ..Row::default()
        };
        let of = |sessions: &[(&str, Vec<Row>)]| {
            let rows = sessions.iter().map(|(id, rows)| (("codex".to_owned(), (*id).to_owned()), rows.clone()));
            let outcomes = outcomes_of(rows.collect());
            let found = sessions.iter().map(|(id, _)| outcomes[&("codex".to_owned(), (*id).to_owned())].clone());
            found.map(|it| (it.passed, it.named.is_some(), it.trial)).collect::<Vec<_>>()
        };
        let one = |passed: bool, named: bool| (Some(passed), named, Some("1".to_owned()));
        let beside = row("result.json", true, false);
        let imported = |passed: bool| row("v.csv", passed, true);
        assert_eq!(
            of(&[("a", vec![imported(true)]), ("b", vec![imported(false)])]),
            [one(true, false), one(false, false)]
        );
        assert_eq!(of(&[("a", vec![beside.clone()]), ("b", vec![beside.clone()])]), [one(true, true), one(true, true)]);
        for sessions in [["a", "b"], ["b", "a"]] {
            let judged = vec![beside.clone(), imported(false)];
            let found = of(&[(sessions[0], vec![beside.clone()]), (sessions[1], judged)]);
            assert_eq!(found, [one(false, true), one(false, true)]);
        }
    }
}
