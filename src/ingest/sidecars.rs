//! Where the sidecars of a log are: `NAME.meta.json` beside `NAME.jsonl`, or `meta.json` in its directory; the results of an
//! evaluation, and the directory of a project, are in a directory around the log.

use std::ffi::{OsStr, OsString};
use std::ops::Deref;
use std::path::{Path, PathBuf};

use crate::adapters;
use crate::base::byte_order_mark::without_mark;
use crate::input::discover::{RESULTS, SIDECAR};
use crate::input::open::{self, Limit};
use crate::input::sidecar::Sidecar;
use crate::model::source::path_text;
use crate::model::trial::{STEPS, TrialResult};
use crate::model::verdict::Verdict;

/// How many directories around a log may contain the result of its trial.
const MAX_LEVELS: usize = 8;

/// Whether a file is a sidecar, by its name.
pub fn is_sidecar(path: &Path) -> bool {
    let name = path.file_name().and_then(OsStr::to_str);
    let stem = name.and_then(|name| name.strip_suffix(SIDECAR));
    stem.is_some_and(|stem| stem.is_empty() || stem.ends_with('.'))
}

/// The paths where sidecars of a log may be, the nearer first.
pub fn sidecar_paths(path: &Path) -> impl Iterator<Item = PathBuf> {
    // Only extensions that state how a log is stored: `run.retry.jsonl` is not the log of `run.meta.json`.
    let name = without_extension(path.file_name().unwrap_or_default(), &["gz", "zst"]);
    let mut own: OsString = without_extension(name, &["jsonl", "json", "ndjson", "log", "txt"]).to_owned();
    own.push(".");
    own.push(SIDECAR);
    let directory = path.parent().unwrap_or(Path::new("")).to_owned();
    [own, OsString::from(SIDECAR)].into_iter().map(move |name| directory.join(name))
}

fn without_extension<'a>(name: &'a OsStr, extensions: &[&str]) -> &'a OsStr {
    let path = Path::new(name);
    let is_one = path.extension().is_some_and(|own| extensions.iter().any(|extension| own == *extension));
    path.file_stem().filter(|_| is_one).unwrap_or(name)
}

/// The content of a sidecar, whose path verdicts refer to.
pub fn parse_sidecar(content: &[u8], path: &str) -> Sidecar {
    with_path(Sidecar::parse(content), path)
}

/// Reads the sidecars of the log at `path`. The nearer one decides.
pub fn read_sidecars(path: &Path) -> Sidecar {
    let contents = sidecar_paths(path).filter_map(|path| Some((open::open(&path, Limit::Usual).ok()?, path)));
    contents.fold(Sidecar::default(), |nearer, (content, path)| nearer.or(parse_sidecar(&content, &path_text(&path))))
}

/// The paths where results of the evaluation that contains the log may be, the nearer first, without the log itself.
pub fn result_paths(path: &Path) -> impl Iterator<Item = PathBuf> {
    let directories = path.ancestors().skip(1).take(MAX_LEVELS);
    let results = directories.flat_map(|directory| RESULTS.iter().map(move |name| directory.join(name)));
    results.filter(move |result| result != path)
}

/// Whether a file has the name of a result of an evaluation.
pub fn is_result(path: &Path) -> bool {
    path.file_name().is_some_and(|name| RESULTS.iter().any(|result| name == *result))
}

/// What a file with one of the names of [`RESULTS`] states about logs around it.
pub fn parse_result(content: &[u8], path: &str) -> Sidecar {
    let content = without_mark(content);
    let mut sidecar = Sidecar { trial: adapters::trial_of(content), ..Sidecar::default() };
    sidecar.cwd = adapters::project_root(path, content);
    if sidecar.trial.is_none()
        && let Some(run) = adapters::run_of(content)
    {
        (sidecar.agent, sidecar.model) = (run.agent, run.model);
        sidecar.labels.extend(run.labels.into_iter().map(|(key, value)| format!("{key}={value}")));
    }
    with_path(sidecar, path)
}

/// Reads the results of the evaluation that contains a log. The nearer one decides.
pub fn read_results(log: &Path) -> Sidecar {
    let contents = result_paths(log).filter_map(|path| Some((open::open(&path, Limit::Usual).ok()?, path)));
    contents.fold(Sidecar::default(), |nearer, (content, path)| {
        let mut result = of_log(parse_result(&content, &path_text(&path)), &path, log);
        if let Some(trial) = &mut result.trial {
            name_failed_tests(trial.verdicts_mut(), &path, |output| open::open(output, Limit::Usual).ok());
        }
        nearer.or(result)
    })
}

/// What a result states about a log. Of a trial that consists of several steps, that is the result of the log's step; a directory is
/// that of chats.
pub fn of_log(mut sidecar: Sidecar, result: &Path, log: &Path) -> Sidecar {
    let below = result.parent().and_then(|directory| log.strip_prefix(directory).ok()).unwrap_or(log);
    sidecar.trial = sidecar.trial.take().map(|trial| trial.of_log(below));
    sidecar.cwd = sidecar.cwd.take().filter(|_| adapters::has_chat(&path_text(below)));
    sidecar
}

/// Where the verifier of a trial writes the results of its tests, below the directory with the result of the trial, or that of a step.
const OF_VERIFIER: [&str; 2] = ["verifier/ctrf.json", "verifier/test-stdout.txt"];

/// Adds the names of failed tests to verdicts of a trial that did not pass, where its result does not name them. `result` is the path of
/// the result, and `read` reads a file beside it.
pub fn name_failed_tests<'a, C: Deref<Target = [u8]>>(
    verdicts: impl IntoIterator<Item = &'a mut Verdict>,
    result: &Path,
    read: impl Fn(&Path) -> Option<C>,
) {
    for verdict in verdicts.into_iter().filter(|it| it.passed == Some(false) && it.message.is_none()) {
        let directory = result.parent().unwrap_or(Path::new("")).join(step_of(verdict));
        let mut outputs = OF_VERIFIER.iter().filter_map(|name| read(&directory.join(name)));
        verdict.message = outputs.find_map(|output| adapters::failed_tests(without_mark(&output)));
    }
}

/// The directory of the step that a verdict is about, below that of the trial; empty if it is about the trial.
fn step_of(verdict: &Verdict) -> PathBuf {
    let step = verdict.name.strip_prefix(STEPS).and_then(|name| name.split('/').next());
    step.map(|step| Path::new(STEPS).join(step)).unwrap_or_default()
}

fn with_path(mut sidecar: Sidecar, path: &str) -> Sidecar {
    let of_trial = sidecar.trial.iter_mut().flat_map(TrialResult::verdicts_mut);
    of_trial.chain(&mut sidecar.verdicts).for_each(|verdict| verdict.path = Some(path.to_owned()));
    sidecar
}
