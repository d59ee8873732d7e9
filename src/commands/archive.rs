//! `agentlogs archive`: check, compact, merge, forget.

use agentlogs::archive::Archive;
use agentlogs::containers;
use agentlogs::render::{counted, grouped};
use agentlogs::source::Source;
use agentlogs::time;
use anyhow::bail;

use super::ingest::holds;
use super::{Outcome, complain, say};
use crate::cli::ArchiveCommand;

pub fn run(args: ArchiveCommand) -> anyhow::Result<Outcome> {
    match args {
        ArchiveCommand::Check { archive } => check(&Archive::at(archive.archive)),
        ArchiveCommand::Compact { archive } => {
            let archive = Archive::at(archive.archive);
            archive.sums()?;
            let mut writer = archive.write()?;
            writer.settle_all();
            told(&archive, &writer.commit()?.sums);
            Ok(Outcome::Done)
        }
        ArchiveCommand::Merge { others, archive } => {
            let archive = Archive::at(archive.archive);
            let writer = archive.write()?;
            let host = gethostname::gethostname().into_string().ok();
            for other in others {
                for source in Archive::at(other).known_facts()?.into_values() {
                    writer.merge(of_host(source, host.as_deref()));
                }
            }
            told(&archive, &writer.commit()?.sums);
            Ok(Outcome::Done)
        }
        ArchiveCommand::Forget { sources, before, archive } => {
            let archive = Archive::at(archive.archive);
            archive.sums()?;
            let writer = archive.write()?;
            let patterns: Vec<_> = sources.iter().map(|it| it.split('*').collect::<Vec<_>>()).collect();
            let mut forgotten = 0;
            if let Some(day) = before {
                for mut source in archive.facts()?.into_values() {
                    let count = source.sessions.len();
                    source.sessions.retain(|it| it.ended_at.is_none_or(|it| it.day() >= time::days(day)));
                    forgotten += count - source.sessions.len();
                    if source.sessions.len() < count {
                        writer.replace(source);
                    }
                }
                say(&format!("{} sessions are forgotten", grouped(forgotten)));
            } else {
                for path in writer.paths().filter(|path| patterns.iter().any(|it| fits(path, it))) {
                    writer.remove(path);
                    forgotten += 1;
                    // Else an archive would be taken for unchanged, and its members for known.
                    for (end, _) in path.match_indices(containers::SEPARATOR) {
                        let container = path.get(..end).unwrap_or_default();
                        if writer.facts(container)?.is_some_and(|it| it.sessions.is_empty()) {
                            writer.remove(container);
                        }
                    }
                }
                if forgotten == 0 {
                    bail!("no source of the archive fits {}", sources.join(", "));
                }
                say(&format!("{} files are forgotten", grouped(forgotten)));
            }
            told(&archive, &writer.commit()?.sums);
            Ok(Outcome::Done)
        }
    }
}

fn told(archive: &Archive, sums: &agentlogs::archive::Sums) {
    say(&format!("{} now holds", archive.folder().display()));
    holds(sums);
}

fn check(archive: &Archive) -> anyhow::Result<Outcome> {
    let checked = archive.check()?;
    for problem in &checked.problems {
        complain(format_args!("{problem}"));
    }
    say(&format!(
        "{} in {}, {}, {} bytes: {}",
        counted(checked.sources, "source"),
        counted(checked.parts, "part"),
        counted(checked.files, "file"),
        grouped(checked.bytes),
        if checked.problems.is_empty() { "as written, and it adds up" } else { "damaged" }
    ));
    Ok(if checked.problems.is_empty() { Outcome::Done } else { Outcome::NotAllDone })
}

/// A file of another machine has a path of its own, whatever machine its archive comes by.
fn of_host(source: Source, own: Option<&str>) -> Source {
    match &source.host {
        Some(host) if Some(host.as_str()) != own && !source.path.starts_with(&format!("{host}:")) => {
            Source { path: format!("{host}:{}", source.path), ..source }
        }
        _ => source,
    }
}

/// Whether a text fits a pattern: its pieces between the stars, in order.
fn fits(text: &str, pieces: &[&str]) -> bool {
    let [first, middle @ .., last] = pieces else { return pieces.first().is_some_and(|it| *it == text) };
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    for piece in middle {
        let Some(at) = rest.find(piece) else { return false };
        rest = rest.get(at + piece.len()..).unwrap_or_default();
    }
    rest.ends_with(last)
}
