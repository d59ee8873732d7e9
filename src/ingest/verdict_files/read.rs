//! Reads a file of verdicts: finds its format, and applies what the command line states.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

use super::content::Content;
use super::{junit, table};
use crate::adapters;
use crate::base::byte_order_mark::without_mark;
use crate::base::hash::Hash;
use crate::base::time::Time;
use crate::ingest::privacy::reduce_verdict;
use crate::ingest::{Options, Progress, read_into, swe_bench};
use crate::input::open::{self, Limit};
use crate::model::source::{STDIN, Source, SourceStatus, path_text};
use crate::model::verdict::{DEFAULT_NAME, ImportedVerdict, Verdict};

/// A file of verdicts.
#[derive(Debug, Default)]
pub struct VerdictFile {
    /// Its real path; of a pipe, `-#` and the beginning of its content's hash, so that another one does not replace it.
    pub path: String,
    /// Its size.
    pub bytes: i64,
    /// When it was last written.
    pub modified_at: Option<Time>,
    /// Its verdicts.
    pub verdicts: Vec<ImportedVerdict>,
    /// Why some of it contains no verdict: the line, or 0, and the reason.
    pub problems: Vec<(i64, String)>,
    /// Columns that are not read.
    pub ignored: Vec<String>,
}

/// What applies to verdicts that do not state it themselves.
#[derive(Debug, Clone, Default)]
pub struct Defaults {
    /// The session's id.
    pub session_id: Option<String>,
    /// The session's runtime.
    pub runtime: Option<String>,
    /// The task.
    pub task: Option<String>,
    /// The trial.
    pub trial: Option<String>,
    /// The name of the verdicts.
    pub name: Option<String>,
    /// Who or what judged.
    pub judge: Option<String>,
    /// Labels of the sessions, besides those that the verdicts state.
    pub labels: Vec<String>,
}

/// What was read at a path.
#[derive(Debug, Default)]
pub struct Read {
    /// The files with verdicts.
    pub files: Vec<VerdictFile>,
    /// How many other files of a directory, or of a tar or zip archive, were skipped, by what they are.
    pub skipped: BTreeMap<&'static str, usize>,
    /// Files that cannot be read.
    pub errors: Vec<String>,
}

/// Reads the file at `path`, which may be a pipe (`-` is standard input), or the results of trials that `ingest` finds in that directory,
/// or tar or zip archive.
///
/// # Errors
/// When a file cannot be read, or contains no verdicts.
pub fn read(path: &Path, defaults: &Defaults) -> Result<Read, String> {
    if path.is_dir() {
        let read = read_results(path, defaults);
        if read.files.is_empty() && read.errors.is_empty() {
            return Err(format!("{}: no result of a trial in this directory", path.display()));
        }
        return Ok(read);
    }
    match read_file(path, defaults) {
        Ok(file) if file.verdicts.is_empty() && file.problems.is_empty() => Err(format!(
            "{}: no verdict in it; `agentlogs verdicts import --help` lists the columns and formats",
            path.display()
        )),
        Ok(file) => Ok(Read { files: vec![file], ..Read::default() }),
        Err(error) => {
            let read = if path.is_file() { read_results(path, defaults) } else { Read::default() };
            if read.files.is_empty() { Err(error) } else { Ok(read) }
        }
    }
}

/// Reads the results of trials at and below a path, as `ingest` recognises them.
fn read_results(path: &Path, defaults: &Defaults) -> Read {
    let read = Mutex::new(Read::default());
    let take = |source: Source| {
        let mut read = read.lock().unwrap_or_else(PoisonError::into_inner);
        let verdicts = verdicts_of(&source, defaults);
        if !verdicts.is_empty() {
            read.files.push(VerdictFile {
                path: source.path,
                bytes: source.bytes,
                modified_at: source.modified_at,
                verdicts,
                ..VerdictFile::default()
            });
        } else if source.status == SourceStatus::Unreadable {
            let message = source.message.unwrap_or_default();
            read.errors.push(format!("{}: {message}", source.path));
        } else {
            let what = if source.status == SourceStatus::Parsed { "log" } else { source.status.as_str() };
            *read.skipped.entry(what).or_default() += 1;
        }
    };
    let options = Options { roots: vec![path.to_owned()], ..Options::default() };
    let summary = read_into(&options, |_| None, &Progress::default(), &take);
    let mut read = read.into_inner().unwrap_or_else(PoisonError::into_inner);
    read.files.sort_by(|a, b| a.path.cmp(&b.path));
    read.errors.extend(summary.errors.iter().map(ToString::to_string));
    read.errors.sort();
    read.errors.dedup();
    read
}

/// The verdicts of a source that consists of results of trials.
fn verdicts_of(source: &Source, defaults: &Defaults) -> Vec<ImportedVerdict> {
    let results = source.sessions.iter().filter(|session| session.is_trial_result);
    let verdicts = results.flat_map(|session| session.verdicts.iter().map(|verdict| (session.line, verdict.clone())));
    // Each step of a trial has the verdict of the trial.
    let mut seen = HashSet::new();
    let verdicts = verdicts.filter(|stated| seen.insert(format!("{stated:?}")));
    // The command line can name these.
    let of_reports = source.verdicts.iter().map(|imported| Verdict { name: String::new(), ..imported.verdict.clone() });
    let of_reports = of_reports.map(|verdict| (0, verdict));
    let verdicts = verdicts.chain(of_reports);
    let verdicts = verdicts.map(|(line, verdict)| {
        let mut imported = ImportedVerdict { verdict, line, ..ImportedVerdict::default() };
        apply(defaults, &mut imported);
        imported.verdict.path = Some(source.path.clone());
        imported
    });
    verdicts.collect()
}

fn read_file(path: &Path, defaults: &Defaults) -> Result<VerdictFile, String> {
    let named = |error: String| format!("{}: {error}", path.display());
    let (content, real) = open::open_named(path, Limit::Usual).map_err(|error| named(error.to_string()))?;
    let name = match real {
        Some(real) => path_text(&real),
        None => format!("{STDIN}#{:08x}", Hash::new().finish(&content) >> 96),
    };
    let Content { mut verdicts, problems, ignored } = parse(&content, &name).map_err(named)?;
    for imported in &mut verdicts {
        apply(defaults, imported);
        imported.verdict.path = Some(name.clone());
    }
    Ok(VerdictFile {
        path: name,
        bytes: i64::try_from(content.stored).unwrap_or(i64::MAX),
        modified_at: content.modified.and_then(crate::input::discover::micros),
        verdicts,
        problems,
        ignored,
    })
}

fn apply(defaults: &Defaults, imported: &mut ImportedVerdict) {
    let fill = |known: &mut Option<String>, value: &Option<String>| *known = known.take().or_else(|| value.clone());
    let verdict = &mut imported.verdict;
    fill(&mut verdict.task, &defaults.task);
    fill(&mut verdict.trial, &defaults.trial);
    fill(&mut verdict.judge, &defaults.judge);
    if verdict.name.is_empty() {
        verdict.name = defaults.name.clone().unwrap_or_else(|| DEFAULT_NAME.to_owned());
    }
    fill(&mut imported.session_id, &defaults.session_id);
    fill(&mut imported.runtime, &defaults.runtime);
    imported.labels.extend(defaults.labels.iter().cloned());
}

/// Parses a file of any of the formats, whose path can name the task.
fn parse(bytes: &[u8], path: &str) -> Result<Content, String> {
    let bytes = without_mark(bytes).trim_ascii();
    match bytes.first() {
        None => Err("it is empty".to_owned()),
        Some(b'<') => junit::parse(bytes),
        Some(b'{' | b'[') => Ok(parse_json(bytes, path)),
        Some(_) => table::parse_csv(bytes),
    }
}

fn parse_json(bytes: &[u8], path: &str) -> Content {
    let trials = adapters::trials_of(bytes);
    if !trials.is_empty() {
        let verdicts = trials.into_iter().flat_map(|trial| trial.verdicts);
        let verdicts = verdicts.map(|verdict| ImportedVerdict { verdict, ..ImportedVerdict::default() }).collect();
        return Content { verdicts, ..Content::default() };
    }
    match serde_json::from_slice::<Value>(bytes) {
        Ok(Value::Array(rows)) => table::of_objects(rows.into_iter().map(|row| (0, Ok(row)))),
        Ok(document) => match swe_bench::parse(&document, path) {
            Some(mut verdicts) => {
                // As `ingest` stores them.
                for imported in &mut verdicts {
                    reduce_verdict(&mut imported.verdict);
                }
                Content { verdicts, ..Content::default() }
            }
            None => table::of_objects([(1, Ok(document))].into_iter()),
        },
        Err(_) => table::parse_lines(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Session, task, passed and score of each verdict, then the problems.
    fn shown(bytes: &str) -> Vec<String> {
        let content = parse(bytes.as_bytes(), "results/file").unwrap();
        let verdicts = content.verdicts.iter().map(|imported| {
            let verdict = &imported.verdict;
            let text = |text: &Option<String>| text.clone().unwrap_or_default();
            format!("{} {} {:?} {:?}", text(&imported.session_id), text(&verdict.task), verdict.passed, verdict.score)
        });
        verdicts.chain(content.problems.iter().map(|(line, what)| format!("{line}: {what}"))).collect()
    }

    #[test]
    fn each_format_is_recognised() {
        let csv = "session_id,passed,score,extra\ns1,yes,,x\ns2,FAIL,0.5,\n,,,\ns3,perhaps,,\ns4,,,\n";
        assert_eq!(
            shown(csv),
            [
                "s1  Some(true) None",
                "s2  Some(false) Some(0.5)",
                "5: passed is \"perhaps\", which is neither true nor false",
                "6: neither passed nor score is given",
            ]
        );
        assert_eq!(parse(csv.as_bytes(), "").unwrap().ignored, ["extra"]);
        let lines = "{\"session_id\":\"s1\",\"passed\":true}\nnot json\n{\"task\":\"a\",\"score\":1}\n";
        assert_eq!(shown(lines)[..2], ["s1  Some(true) None", " a None Some(1.0)"]);
        assert!(shown(lines)[2].starts_with("2: "));
        assert_eq!(shown("[{\"task\":\"a\",\"passed\":false}]"), [" a Some(false) None"]);
        let report = r#"{"resolved_ids":["a"],"unresolved_ids":["b"],"error_ids":["c"],"empty_patch_ids":["d"],"total_instances":4}"#;
        assert_eq!(
            shown(report),
            [" a Some(true) None", " b Some(false) None", " c Some(false) None", " d Some(false) None"]
        );
        assert_eq!(shown(r#"{"a":{"resolved":true,"patch_exists":true}}"#), [" a Some(true) None"]);
        let trial = r#"{"trial_name":"a.1","task_id":"a","is_resolved":true}"#;
        assert_eq!(shown(trial), [" a Some(true) None"]);
        let junit = r#"<testsuites><testsuite name="s" tests="3"><properties><property name="session_id" value="s&amp;1"/></properties>
            <testcase name="one"/><testcase name="two"><failure message="no"/></testcase><testcase name="three"><skipped/></testcase>
            </testsuite></testsuites>"#;
        assert_eq!(shown(junit), ["s&1  Some(false) Some(0.5)"]);
        for wrong in ["", "a,b\n1,2\n", "<html></html>", "<a", "\u{0}"] {
            assert!(parse(wrong.as_bytes(), "").is_err(), "{wrong:?}");
        }
    }
}
