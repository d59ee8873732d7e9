//! All levels agree with a scan byte by byte.

use proptest::prelude::*;

use super::*;
use crate::json::short::{Inside, Short, backslash, short_key};

/// The reference for every level: one byte after the other.
fn slowly(bytes: &[u8], at: usize) -> (Option<Quote>, Result<usize, Error>) {
    let mut quote = None;
    let mut has_escapes = false;
    let mut next = at;
    while let Some(byte) = bytes.get(next) {
        match byte {
            b'"' => {
                quote = Some(Quote { at: next, has_escapes, is_ascii: bytes[at..next].is_ascii() });
                break;
            }
            b'\\' => {
                has_escapes = true;
                next += 2;
            }
            _ => next += 1,
        }
    }
    let open = Open { kinds: [0; MAX_DEPTH / 64], depth: 0 };
    (quote, nested_end_bytewise(bytes, at, open, false, false))
}

fn check(bytes: &[u8], at: usize) {
    let expected = slowly(bytes, at);
    let levels = Level::all();
    assert!(levels.contains(&Level::best()));
    for level in levels {
        let found = (string_end(level, bytes, at), nested_end(level, bytes, at));
        assert_eq!(found, expected, "{level:?} at {at} of {:?}", String::from_utf8_lossy(bytes));
        assert_eq!(closing_quote(level, bytes, at), expected.0.map(|it| it.at));
    }
    // Short strings without escapes are found in one block of 32 bytes, if there are as many in all.
    let quote = expected.0.filter(|it| bytes.len() >= 32 && it.at < at + 32 && !it.has_escapes);
    let inside = |quote: Quote| &bytes[at..quote.at];
    assert_eq!(short_key(bytes, at), quote.map(inside));
    assert_eq!(Inside::of_short(bytes, at).map(Inside::bytes), quote.filter(|it| it.is_ascii).map(inside));
    let rest = bytes.get(at..).unwrap_or_default();
    assert_eq!(backslash(rest), rest.iter().position(|it| *it == b'\\'));
    for chunk in rest.as_chunks().0 {
        assert_eq!(Short::new(chunk), Short::portable(chunk));
    }
}

#[test]
fn escapes_and_brackets_are_found_at_every_position_in_a_block() {
    for before in 0..130 {
        for backslashes in (0..6).chain(60..68).chain(126..132) {
            let text = format!("[\"{}{}\"]]\",{{]", "x".repeat(before), "\\".repeat(backslashes));
            check(text.as_bytes(), 0);
            check(text.as_bytes(), 2);
        }
        check(format!("{}{}", "[".repeat(before), "]".repeat(before)).as_bytes(), 0);
        check(format!("{}\\\"}}\"", "{".repeat(before)).as_bytes(), 0);
    }
    for depth in [MAX_DEPTH, MAX_DEPTH + 1] {
        check(format!("{}{}", "[".repeat(depth), "]".repeat(depth)).as_bytes(), 0);
    }
}

#[test]
fn every_level_reads_the_samples_alike() {
    let samples = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("sample-logs");
    let files = walkdir::WalkDir::new(samples).into_iter().filter_map(Result::ok);
    let mut brackets = 0;
    for file in files.filter(|it| it.file_type().is_file()) {
        let bytes = std::fs::read(file.path()).unwrap();
        for line in bytes.split(|it| *it == b'\n') {
            for (at, byte) in line.iter().enumerate().filter(|(_, it)| matches!(it, b'{' | b'[' | b'"')).take(50) {
                brackets += usize::from(*byte != b'"');
                check(line, at);
            }
        }
    }
    assert!(brackets > 1000, "{brackets}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_level_reads_any_bytes_alike(text in "[\\[\\]{}\"\\\\a \u{0}é]{0,200}", garbage in proptest::collection::vec(any::<u8>(), 0..80), at in 0_usize..4) {
        for bytes in [text.as_bytes(), &[b"{", text.as_bytes(), &garbage].concat(), &[b"[\"", &garbage[..], text.as_bytes()].concat()] {
            check(bytes, at);
            check(bytes, 0);
        }
    }
}
