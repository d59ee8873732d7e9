//! The lines of a file, and those that differ between two versions of it.

use gix::objs::Kind;
use gix::{ObjectId, Repository};
use imara_diff::sources::byte_lines;
use imara_diff::{Algorithm, Diff, InternedInput};

use super::objects::{MAX_FILE, Unread, read};
use crate::model::history::{ChangedLines, Lines};

/// Bytes at the beginning of a file of which none is 0 if it is a text, as for git.
const PROBED: usize = 8000;

/// The content of a file; `None` if it is not text, or too large to compare.
pub(super) fn text(repository: &Repository, id: ObjectId) -> Result<Option<Vec<u8>>, Unread> {
    match read(repository, id, Kind::Blob, MAX_FILE) {
        Ok(data) if data.iter().take(PROBED).any(|byte| *byte == 0) => Ok(None),
        Ok(data) => Ok(Some(data)),
        Err(Unread::TooLarge) => Ok(None),
        Err(unread) => Err(unread),
    }
}

/// All lines of a text.
pub(super) fn all(text: &[u8]) -> Lines {
    Lines::of(imara_diff::TokenSource::tokenize(&byte_lines(text)))
}

/// The lines that differ between two texts.
pub(super) fn changed(old: &[u8], new: &[u8]) -> ChangedLines {
    let input = InternedInput::new(byte_lines(old), byte_lines(new));
    let diff = Diff::compute(Algorithm::Histogram, &input);
    let (mut added, mut removed) = (Vec::new(), Vec::new());
    let line = |token: &imara_diff::Token| input.interner[*token];
    for hunk in diff.hunks() {
        let range = |range: std::ops::Range<u32>| range.start as usize..range.end as usize;
        removed.extend(input.before.get(range(hunk.before)).unwrap_or_default().iter().map(line));
        added.extend(input.after.get(range(hunk.after)).unwrap_or_default().iter().map(line));
    }
    ChangedLines { added: Lines::of(added), removed: Lines::of(removed), surviving: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_as_git_does() {
        let counts = |old: &str, new: &str| {
            let lines = changed(old.as_bytes(), new.as_bytes());
            (lines.added.count(), lines.removed.count())
        };
        assert_eq!(counts("", "a\nb\n"), (2, 0));
        assert_eq!(counts("a\nb\n", ""), (0, 2));
        assert_eq!(counts("a\nb\nc\n", "a\nx\nc\n"), (1, 1));
        // The last line without an end is another line.
        assert_eq!(counts("a\nb", "a\nb\n"), (1, 1));
        assert_eq!(counts("a\r\n", "a\n"), (1, 1));
        assert_eq!(counts("a\n", "a\n"), (0, 0));
        assert_eq!(all(b"a\nlong enough line\n}").count(), 3);
    }
}
