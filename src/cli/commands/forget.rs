//! `agentlogs archive forget`: deletes the data of files, repositories, sessions and commits.

use std::collections::BTreeSet;
use std::path::Path;

use agentlogs::analysis::present::{are, counted};
use agentlogs::analysis::session_ends::session_ends;
use agentlogs::base::text::text_matches;
use agentlogs::base::time::Time;
use agentlogs::model::session::SessionResult;
use agentlogs::model::source::{SEPARATOR, file_of_history};
use agentlogs::store::archive::{Archive, Writer, Written};
use agentlogs::store::frames::sessions;
use anyhow::bail;
use jiff::civil::Date;

use super::Outcome;
use super::output::{complain, say};
use super::summary::report_written;

/// Deletes the sessions and commits before a day in UTC.
pub fn before(archive: &Archive, day: Date) -> anyhow::Result<Outcome> {
    // An archive that does not exist is an error, and not created.
    archive.snapshot()?;
    let day = Time::start_of(day);
    let mut writer = archive.write()?;
    let sessions_before = archive.sums()?.sessions;
    writer.remove_verdicts_with_sessions()?;
    let undated = remove_sessions(archive, &writer, day)?;
    let written = writer.commit()?;
    say(&format!("deleted {}", counted(sessions_before.saturating_sub(written.sums.sessions), "session")));
    if undated > 0 {
        complain(format_args!(
            "{} kept, as no time of theirs is known; `agentlogs archive forget PATTERN` deletes those of the files that it matches",
            are(undated, "session")
        ));
    }
    let commits = archive.forget_commits_before(day)?;
    if commits > 0 {
        say(&format!("deleted {}", counted(commits, "commit")));
    }
    Ok(report(archive, &written))
}

/// Removes the sessions that ended before a time, with all of their parts: the parts of a session may be in several sources, of which
/// some have no times. Returns how many sessions have no time, and remain.
fn remove_sessions(archive: &Archive, writer: &Writer, day: Time) -> anyhow::Result<usize> {
    let ends = session_ends(&archive.snapshot()?.some_tables(&[sessions::TABLE])?)?;
    // A part whose id is not that of a session became a part of another one.
    let end_of =
        |part: &SessionResult| ends.get(&part.session_id).copied().unwrap_or(part.ended_at.or(part.started_at));
    for path in writer.paths() {
        // One source at a time is in memory.
        let Some(mut source) = writer.facts(path)? else { continue };
        let is_old_source = source.sessions.iter().filter_map(end_of).max().is_some_and(|end| end < day);
        let is_kept = |part: &SessionResult| match end_of(part) {
            Some(end) => end >= day,
            None => ends.contains_key(&part.session_id) || !is_old_source,
        };
        let count = source.sessions.len();
        source.sessions.retain(is_kept);
        if source.sessions.len() < count {
            writer.replace(source);
        }
    }
    Ok(ends.values().filter(|end| end.is_none()).count())
}

/// Deletes the data of the files and repositories that match patterns.
pub fn matching(archive: &Archive, patterns: &[String]) -> anyhow::Result<Outcome> {
    // An archive that does not exist is an error, and not created.
    archive.snapshot()?;
    let is_match = |text: &str| patterns.iter().any(|pattern| text_matches(text, pattern));
    let repositories: BTreeSet<String> = archive.forget_repositories(is_match)?;
    let mut writer = archive.write()?;
    writer.remove_verdicts_with_sessions()?;
    let mut forgotten = BTreeSet::new();
    // The earlier facts of a file are forgotten with it.
    for path in writer.paths().filter(|path| is_match(path) || is_match(file_of_history(path))) {
        writer.remove(path);
        forgotten.insert(file_of_history(path));
        // Otherwise the tar or zip archive would count as unchanged, and its members would not be read again.
        for (end, _) in path.match_indices(SEPARATOR) {
            let container = path.get(..end).unwrap_or_default();
            if writer.facts(container)?.is_some_and(|source| source.sessions.is_empty()) {
                writer.remove(container);
            }
        }
    }
    if forgotten.is_empty() && repositories.is_empty() {
        let mut below = patterns.iter().map(|pattern| format!("{}/*", pattern.trim_end_matches('/')));
        let matching = below.find(|below| writer.paths().any(|path| text_matches(path, below)));
        let tip = matching.map_or_else(String::new, |below| format!("; {below:?} matches what is below it"));
        bail!("no source of the archive matches {}{tip}", patterns.join(", "));
    }
    let count = forgotten.len();
    let exists = |path: &&&str| path.split(SEPARATOR).next().is_some_and(|file| Path::new(file).exists());
    let existing = forgotten.iter().filter(exists).count();
    let written = writer.commit()?;
    say(&format!("deleted {}", counted(count, "file")));
    if existing > 0 {
        let (exist, them) = if existing == 1 { ("exists", "it") } else { ("exist", "them") };
        say(&format!("{existing} of these files still {exist}: the next ingest that finds {them} reads {them} again"));
    }
    for repository in repositories {
        say(&format!("deleted the commits and pull requests of {repository}"));
    }
    Ok(report(archive, &written))
}

/// Prints the verdicts that were deleted, and what the archive contains now.
fn report(archive: &Archive, written: &Written) -> Outcome {
    if written.removed_verdicts > 0 {
        say(&format!("deleted {}", counted(written.removed_verdicts, "verdict")));
    }
    report_written(archive, written)
}
