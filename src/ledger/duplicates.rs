//! Copies of files and of recordings: see docs/accounting.md#equal-files, docs/accounting.md#copies-of-a-growing-log
//! and docs/accounting.md#files-without-rows-of-their-own.

use std::cmp::Reverse;

use foldhash::{HashMap, HashMapExt as _};

use super::part::SessionPart;
use crate::base::rows::Rows;
use crate::model::known_places::KnownPlaces;
use crate::model::session::{Capabilities, SessionResult};
use crate::model::source::{Source, SourceStatus};

/// Marks files of equal content as duplicates of the first one by path. Parts of two sessions are not copies: a fork may contain the
/// files of the session from which it came.
pub(super) fn mark_equal_files(sources: &mut [Source]) {
    let mut first_paths: HashMap<(String, String), String> = HashMap::new();
    for source in sources {
        let (SourceStatus::Parsed | SourceStatus::Duplicate, Some(hash)) = (source.status, &source.content_hash) else {
            continue;
        };
        let is_part = |session: &&SessionResult| session.capabilities.has(Capabilities::PART);
        let session = source.sessions.first().filter(is_part).map_or("", |session| &session.session_id);
        let content = (hash.clone(), session.to_owned());
        match first_paths.get(&content) {
            None => {
                first_paths.insert(content, source.path.clone());
                source.status = SourceStatus::Parsed;
                source.duplicate_of = None;
            }
            Some(path) => {
                source.status = SourceStatus::Duplicate;
                source.duplicate_of = Some(path.clone());
            }
        }
    }
}

/// Removes each recording that begins another one: it is a copy of that, or that while it grew. Where the session ran stays known.
pub(super) fn drop_copied_recordings(parts: &mut Vec<SessionPart>) {
    let recordings: Vec<Option<&Vec<u64>>> = parts.iter().map(|part| part.session.recording.as_ref()).collect();
    let is_copied = copied_recordings(&recordings);
    let (mut is_copied, mut places) = (is_copied.into_iter(), KnownPlaces::default());
    parts.retain(|part| {
        let is_dropped = is_copied.next().unwrap_or(false);
        if is_dropped {
            places.add(std::slice::from_ref(&part.session));
        }
        !is_dropped
    });
    for part in parts {
        places.fill(std::slice::from_mut(&mut part.session));
    }
}

/// Whether each recording begins another one. Of equal recordings the first is the original.
fn copied_recordings(recordings: &[Option<&Vec<u64>>]) -> Vec<bool> {
    let with_index = recordings.iter().enumerate();
    let mut sorted: Vec<_> = with_index.filter_map(|(index, records)| Some(((*records)?, Reverse(index)))).collect();
    // Recordings that begin with a recording follow it, and of equal ones the first is the last.
    sorted.sort_unstable();
    let mut is_copied = vec![false; recordings.len()];
    for pair in sorted.windows(2) {
        if let [(own, Reverse(index)), (next, _)] = pair
            && next.starts_with(own)
            && let Some(is_copied) = is_copied.get_mut(*index)
        {
            *is_copied = true;
        }
    }
    is_copied
}

/// How many rows of the tables come from one file.
#[derive(Debug, Default)]
pub(super) struct RowOrigin {
    /// Rows that the file contains.
    pub rows: usize,
    /// Rows that no file before it contains.
    pub own: usize,
    /// A file that contains the others.
    pub other: Option<usize>,
}

/// Marks files of which every row is in another file as duplicates of that.
pub(super) fn mark_files_without_rows(sources: &mut [Source], origins: &Rows<RowOrigin>) {
    for (index, origin) in origins.iter().enumerate() {
        let RowOrigin { rows: 1.., own: 0, other: Some(other) } = origin else { continue };
        let other = sources.get(*other).map(|source| source.path.clone());
        if let Some(source) = sources.get_mut(index)
            && source.status == SourceStatus::Parsed
        {
            (source.status, source.duplicate_of) = (SourceStatus::Duplicate, other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_equal_files_is_the_original() {
        let source = |path: &str, hash: Option<&str>, status| Source {
            path: path.to_owned(),
            content_hash: hash.map(str::to_owned),
            status,
            ..Source::default()
        };
        let mut sources = [
            source("a", Some("1"), SourceStatus::Duplicate),
            source("b", Some("2"), SourceStatus::Parsed),
            source("c", Some("1"), SourceStatus::Parsed),
            source("d", Some("1"), SourceStatus::Unreadable),
            source("e", None, SourceStatus::Parsed),
        ];
        mark_equal_files(&mut sources);
        assert_eq!(
            sources.map(|source| (source.status, source.duplicate_of)),
            [
                (SourceStatus::Parsed, None),
                (SourceStatus::Parsed, None),
                (SourceStatus::Duplicate, Some("a".to_owned())),
                (SourceStatus::Unreadable, None),
                (SourceStatus::Parsed, None),
            ]
        );
    }

    /// Equal files are copies, but not parts of two sessions.
    #[test]
    fn equal_parts_of_two_sessions_are_no_copies() {
        let source = |path: &str, session_id: &str, capabilities| Source {
            path: path.to_owned(),
            content_hash: Some("1".to_owned()),
            status: SourceStatus::Parsed,
            sessions: vec![SessionResult {
                session_id: session_id.to_owned(),
                capabilities,
                ..SessionResult::default()
            }],
            ..Source::default()
        };
        let mut sources = [
            source("a", "s1", Capabilities::PART),
            source("b", "s2", Capabilities::PART),
            source("c", "s1", Capabilities::PART),
            source("d", "s3", Capabilities::NOTHING),
            source("e", "s4", Capabilities::NOTHING),
        ];
        mark_equal_files(&mut sources);
        let originals = sources.map(|source| source.duplicate_of);
        assert_eq!(originals, [None, None, Some("a".to_owned()), None, Some("d".to_owned())]);
    }

    #[test]
    fn a_recording_that_begins_another_one_is_a_copy() {
        let check = |recordings: &[Option<&[u64]>], expected: &[bool]| {
            let recordings: Vec<Option<Vec<u64>>> =
                recordings.iter().map(|records| records.map(<[u64]>::to_vec)).collect();
            let borrowed: Vec<Option<&Vec<u64>>> = recordings.iter().map(Option::as_ref).collect();
            assert_eq!(copied_recordings(&borrowed), expected, "{recordings:?}");
        };
        check(&[Some(&[1, 2]), None], &[false, false]);
        check(&[Some(&[1, 2]), Some(&[1, 3])], &[false, false]);
        check(&[Some(&[1]), Some(&[1, 2])], &[true, false]);
        check(&[Some(&[1, 2]), Some(&[1, 2])], &[false, true]);
        check(&[Some(&[]), Some(&[1])], &[true, false]);
        check(
            &[Some(&[2]), None, Some(&[1]), Some(&[2, 3]), Some(&[1]), Some(&[2, 1])],
            &[true, false, false, false, true, false],
        );
        check(
            &[Some(&[1, 3]), Some(&[1]), Some(&[1, 2]), Some(&[1, 3]), Some(&[1, 3])],
            &[false, true, false, true, true],
        );
    }

    #[test]
    fn where_a_copied_recording_ran_stays_known() {
        let part = |source, recording: &[u64], repository: Option<&str>| {
            let session = SessionResult {
                recording: Some(recording.to_vec()),
                repository: repository.map(str::to_owned),
                ..SessionResult::default()
            };
            SessionPart::new(source, session)
        };
        let mut parts = vec![part(0, &[1, 2], None), part(1, &[1], Some("shop"))];
        drop_copied_recordings(&mut parts);
        let kept: Vec<_> = parts.iter().map(|part| (part.source, part.session.repository.as_deref())).collect();
        assert_eq!(kept, [(0, Some("shop"))]);
    }

    #[test]
    fn a_file_without_rows_of_its_own_is_a_duplicate() {
        let origin = |rows, own, other| RowOrigin { rows, own, other };
        let source = |path: &str| Source { path: path.to_owned(), status: SourceStatus::Parsed, ..Source::default() };
        let mut sources = ["a", "b", "c", "d"].map(source);
        let origins =
            vec![origin(5, 5, None), origin(3, 0, Some(0)), origin(3, 1, Some(0)), origin(0, 0, Some(0))].into();
        mark_files_without_rows(&mut sources, &origins);
        let originals = sources.map(|source| source.duplicate_of);
        assert_eq!(originals, [None, Some("a".to_owned()), None, None]);
    }
}
