//! The records of a log around a line.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;

/// How many lines before and after the line are read.
const AROUND: i64 = 1;
/// The longest text of a record, in characters; the rest is left out.
pub(super) const LONGEST: usize = 2_000;
/// The longest log that is searched for a line, in bytes.
const MAX_BYTES: u64 = 1 << 30;

/// The lines of a text log around a line, each with its number. Empty if the file cannot be read, is not text, or has no such line.
pub(super) fn around(path: &Path, line: i64) -> Vec<(i64, String)> {
    let Ok(file) = File::open(path) else { return Vec::new() };
    let mut lines = BufReader::new(file.take(MAX_BYTES)).split(b'\n');
    let mut found = Vec::new();
    let mut number = 0;
    while let Some(Ok(text)) = lines.next() {
        number += 1;
        if number > line + AROUND {
            break;
        }
        if number >= line - AROUND
            && let Ok(text) = String::from_utf8(text)
        {
            found.push((number, shortened(text.trim())));
        }
    }
    if found.iter().any(|(number, _)| *number == line) { found } else { Vec::new() }
}

/// A text without what is beyond the longest one.
pub(super) fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_around_a_line_are_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log.jsonl");
        std::fs::write(&path, "one\ntwo\nthree\nfour\n").unwrap();
        let numbers = |line: i64| around(&path, line).into_iter().map(|(number, _)| number).collect::<Vec<_>>();
        assert_eq!((numbers(1), numbers(3), numbers(4)), (vec![1, 2], vec![2, 3, 4], vec![3, 4]));
        assert_eq!((numbers(9), numbers(-1)), (vec![], vec![]));
        std::fs::write(&path, [b'a', b'\n', 0xff, b'\n']).unwrap();
        assert_eq!(numbers(2), [0; 0]);
        assert!(around(Path::new("missing"), 1).is_empty());
        assert_eq!(shortened(&"é".repeat(LONGEST + 1)).chars().count(), LONGEST + 1);
    }
}
