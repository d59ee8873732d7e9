//! `agentlogs archive`: check, repair, compact, merge, forget.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use agentlogs::analysis::present::{counted, grouped};
use agentlogs::analysis::reports::content_doubts;

use agentlogs::ingest::{self, Options, Progress};
use agentlogs::model::source::{SEPARATOR, Source, SourceStatus};
use agentlogs::store::archive::{self, Archive, Checked, Histories, Lost, Problem, Repair, StoredFacts};
use agentlogs::store::lake::{Lake, shown};
use anyhow::bail;

use super::Outcome;
use super::forget;
use super::hints::option_of_directory;
use super::output::{complain, say};
use super::reading::options;
use super::source::{advised, some_tables};
use super::summary::{report_written, state_problems};
use crate::cli::args::{ArchiveCommand, DataSource, Reading};
use crate::cli::settings::{Settings, archive_at};

pub fn run(args: ArchiveCommand, settings: &Settings) -> anyhow::Result<Outcome> {
    let is_implicit = args.archive().is_none();
    advised(run_on(args, settings), is_implicit)
}

fn run_on(args: ArchiveCommand, settings: &Settings) -> anyhow::Result<Outcome> {
    match args {
        ArchiveCommand::Check { content, archive } => {
            let name = settings.archive_name(archive.archive.as_deref())?;
            let outcome = if Lake::is_at(&name) {
                check_lake(&Lake::open(&name)?)
            } else {
                check(&settings.archive(archive.archive.clone())?)
            }?;
            if content && outcome == Outcome::Done {
                return check_content(DataSource { archive, ..DataSource::default() }, settings);
            }
            Ok(outcome)
        }
        ArchiveCommand::Repair { reading, archive } => repair(&settings.archive(archive.archive)?, &reading, settings),
        ArchiveCommand::Compact { archive } => {
            let archive = settings.archive(archive.archive)?;
            archive.sums()?;
            let mut writer = archive.write()?;
            writer.reconcile_all();
            Ok(report_written(&archive, &writer.commit()?))
        }
        ArchiveCommand::Merge { others, archive } => merge(others, &settings.archive(archive.archive)?),
        ArchiveCommand::Forget { sources, before, archive } => {
            let archive = settings.archive(archive.archive)?;
            match before {
                Some(day) => forget::before(&archive, day),
                None => forget::matching(&archive, &sources),
            }
        }
    }
}

/// Merges archives and lakes into an archive. Those that are damaged or incomplete are named, and the others are merged.
fn merge(others: Vec<PathBuf>, archive: &Archive) -> anyhow::Result<Outcome> {
    let mut outcome = Outcome::Done;
    let mut omit = |directory: &Path, what: &str, error: &anyhow::Error| {
        complain(format_args!("{}: {what}: {error:#}", shown(directory).display()));
        outcome = Outcome::NotAllDone;
    };
    let mut intact = Vec::new();
    // Opened before the archive is created.
    for directory in others {
        match Merged::open(&directory) {
            Ok(other) => intact.push((directory, other)),
            Err(error) => omit(&directory, "not merged", &error),
        }
    }
    if intact.is_empty() {
        return Ok(outcome);
    }
    let writer = archive.write()?;
    let host = gethostname::gethostname().into_string().ok();
    let mut repositories = Vec::new();
    for (directory, other) in intact {
        repositories.push((directory.clone(), other.histories()));
        if let Err(error) = other.each(|source| writer.merge(of_host(source, host.as_deref()))) {
            omit(&directory, "merged only in part", &error);
        }
    }
    let written = report_written(archive, &writer.commit()?);
    // One at a time is in memory.
    for (directory, histories) in repositories {
        let found = match histories {
            Some(histories) => histories.repositories().map_err(Into::into),
            None => Lake::open(&directory).map_err(Into::into).and_then(|lake| Ok(lake.repositories()?)),
        };
        if let Err(error) = found.and_then(|found| Ok(archive.merge_repositories(found)?)) {
            omit(&directory, "the commits of its repositories are not merged", &error);
        }
    }
    Ok(if written == Outcome::Done { outcome } else { written })
}

/// What is merged into an archive.
enum Merged {
    Archive(Box<(StoredFacts, Histories)>),
    Lake(Box<Lake>),
}

impl Merged {
    /// Opens an archive or a lake whose facts are intact.
    fn open(directory: &Path) -> anyhow::Result<Self> {
        if Lake::is_at(directory) {
            let lake = Lake::open(directory)?;
            lake.verify_facts()?;
            return Ok(Self::Lake(Box::new(lake)));
        }
        let archive = archive_at(directory.to_owned())?;
        if !archive.exists() {
            bail!("neither an archive nor a lake is here");
        }
        let facts = archive.snapshot()?.facts()?;
        facts.verify()?;
        Ok(Self::Archive(Box::new((facts, archive.histories()?))))
    }

    /// Where an archive has the facts of its repositories. Those of a lake are read from its directory.
    fn histories(&self) -> Option<Histories> {
        match self {
            Self::Archive(stored) => Some(stored.1.clone()),
            Self::Lake(_) => None,
        }
    }

    /// Passes on the facts of each source.
    fn each(self, merge: impl Fn(Source)) -> anyhow::Result<()> {
        match self {
            Self::Archive(stored) => {
                let facts = stored.0;
                for path in facts.paths() {
                    facts.load(path)?.into_iter().for_each(&merge);
                }
            }
            Self::Lake(lake) => {
                for sources in lake.facts()? {
                    sources?.into_iter().for_each(&merge);
                }
            }
        }
        Ok(())
    }
}

/// Keeps intact data, and reads the sources with damaged data again.
fn repair(archive: &Archive, reading: &Reading, settings: &Settings) -> anyhow::Result<Outcome> {
    let options = options(Vec::new(), Some(archive.directory().to_owned()), reading, settings)?;
    let Repair { writer, problems, lost, is_incomplete } = archive.repair()?;
    state_problems(archive, &problems);
    let mut outcome = if is_incomplete { Outcome::NotAllDone } else { Outcome::Done };
    let mut with_other_options = 0;
    let mut read = read_again(&lost, options);
    for lost in &lost {
        let path = &lost.path;
        let Some(source) = read.remove(path) else {
            complain(format_args!("{path}: its data is damaged, and the file cannot be read again; its data is lost"));
            outcome = Outcome::NotAllDone;
            continue;
        };
        match lost.is_same(&source) {
            Some(false) if source.grew => say(&format!("{path}: read again; the file has grown")),
            Some(false) => {
                complain(format_args!(
                    "{path}: its data is damaged, and the file has changed; the data of its previous content is lost"
                ));
                outcome = Outcome::NotAllDone;
            }
            _ => say(&format!("{path}: read again")),
        }
        with_other_options += usize::from(lost.has_other_options(&source));
        writer.replace(source);
    }
    let written = report_written(archive, &writer.commit()?);
    if with_other_options > 0 {
        say(&format!(
            "{} with options that differ from the earlier ingest, or by another version; to restore them, run `agentlogs \
             ingest` on these logs with the earlier --label, --content and --redact",
            if with_other_options == 1 {
                "1 log was read".to_owned()
            } else {
                format!("{with_other_options} logs were read")
            }
        ));
    }
    Ok(if written == Outcome::Done { outcome } else { written })
}

/// The sources whose files still exist, by path.
fn read_again(lost: &[Lost], options: Options) -> BTreeMap<String, Source> {
    let mut roots: Vec<PathBuf> = lost.iter().filter_map(|lost| file_of(&lost.path)).collect();
    roots.dedup();
    let options = Options { roots, ..options };
    let known = lost.iter().filter_map(|lost| Some((lost.path.clone(), lost.stamp()?))).collect();
    let sources = ingest::read(&options, &known, &Progress::default()).sources.into_iter();
    let readable = sources.filter(|source| source.status != SourceStatus::Unreadable);
    readable.map(|source| (source.path.clone(), source)).collect()
}

/// The file to read for a source, if it exists: for a member of a tar or zip archive, the archive. The name of a directory
/// may also end in `!`.
fn file_of(path: &str) -> Option<PathBuf> {
    let containers = path.rmatch_indices(SEPARATOR).filter_map(|(end, _)| path.get(..end));
    std::iter::once(path).chain(containers).map(PathBuf::from).find(|file| file.is_file())
}

fn check(archive: &Archive) -> anyhow::Result<Outcome> {
    let checked = match archive.check() {
        // Without the file that names the current generation, nothing else can be checked.
        Err(archive::Error::Damaged { path, error: what }) => {
            Checked { problems: vec![Problem { path, what }], ..Checked::default() }
        }
        checked => checked?,
    };
    state_problems(archive, &checked.problems);
    if !checked.problems.is_empty() {
        let option = option_of_directory(archive.directory());
        say(&format!("`agentlogs archive repair{option}` keeps the intact data, and reads the other logs again"));
    }
    let is_counted = checked.sources > 0 || checked.problems.is_empty();
    let sources = if is_counted { format!("{} in ", counted(checked.sources, "source")) } else { String::new() };
    say(&format!(
        "{sources}{}, {}, {} bytes: {}",
        counted(checked.parts, "part"),
        counted(checked.files, "file"),
        grouped(checked.bytes),
        if checked.problems.is_empty() { "intact" } else { "damaged" }
    ));
    Ok(if checked.problems.is_empty() { Outcome::Done } else { Outcome::NotAllDone })
}

/// Lists the sessions and the versions whose rows break a rule.
fn check_content(source: DataSource, settings: &Settings) -> anyhow::Result<Outcome> {
    let tables = some_tables(source, settings, &["sessions"])?;
    let found = content_doubts(&tables.frames)?;
    for doubt in &found {
        complain(format_args!("{doubt}"));
    }
    say(&format!("content: {}", if found.is_empty() { "no doubts".to_owned() } else { counted(found.len(), "doubt") }));
    Ok(if found.is_empty() { Outcome::Done } else { Outcome::NotAllDone })
}

fn check_lake(lake: &Lake) -> anyhow::Result<Outcome> {
    let checked = lake.verify()?;
    for problem in &checked.problems {
        complain(format_args!("{problem}"));
    }
    let is_intact = checked.problems.is_empty();
    say(&format!(
        "a lake of {}, {} bytes: {}",
        counted(checked.files, "file"),
        grouped(checked.bytes),
        if is_intact { "intact" } else { "damaged; export or sync it again" }
    ));
    Ok(if is_intact { Outcome::Done } else { Outcome::NotAllDone })
}

/// Prepends the host to the paths of a source from another machine, once.
fn of_host(mut source: Source, own: Option<&str>) -> Source {
    let start = source.host.as_ref().filter(|host| Some(host.as_str()) != own).map(|host| format!("{host}:"));
    if let Some(start) = start.filter(|start| !source.path.starts_with(start)) {
        source.path.insert_str(0, &start);
        source.verdicts.iter_mut().filter_map(|it| it.beside.as_mut()).for_each(|report| report.insert_str(0, &start));
    }
    source
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_file_of_a_source_is_found_whatever_its_name() {
        let directory = tempfile::tempdir().unwrap();
        let wow = directory.path().join("wow!");
        fs::create_dir(&wow).unwrap();
        for name in ["a.jsonl", "b.tar"] {
            fs::write(wow.join(name), "x").unwrap();
        }
        let name = |path: &str| {
            let file = file_of(&format!("{}/{path}", wow.display()))?;
            Some(file.file_name()?.to_str()?.to_owned())
        };
        assert_eq!(name("a.jsonl").as_deref(), Some("a.jsonl"));
        assert_eq!(name("b.tar!/c.zip!/d.jsonl").as_deref(), Some("b.tar"));
        assert_eq!(name("missing.jsonl"), None);
    }
}
