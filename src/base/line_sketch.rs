//! Hashes of lines: evidence that the same lines are in two places, without their text.
//!
//! Short lines are in many files, so that only longer ones have a hash. White space around a line does not matter: a line stays the same
//! when its block is indented.

use std::collections::BTreeSet;

use twox_hash::XxHash3_64;

/// The fewest characters of a line with a hash, without the white space around it.
pub const SHORTEST: usize = 12;

/// The most hashes of a sketch: the smallest of the distinct hashes of all lines, in their order.
pub const SKETCH: usize = 16;

/// Hexadecimal digits of a hash.
const DIGITS: usize = 8;

/// The hash of a line, by its first 32 bits; `None` for a line that is too short.
pub fn hash_of(line: &[u8]) -> Option<u32> {
    let line = line.trim_ascii();
    (line.len() >= SHORTEST && has_enough(line)).then(|| cut(XxHash3_64::oneshot(line)))
}

/// Whether a text of at least as many bytes has enough characters. Continuation bytes of UTF-8 are not characters.
fn has_enough(line: &[u8]) -> bool {
    let start = line.get(..SHORTEST).unwrap_or(line);
    start.is_ascii() || line.iter().filter(|byte| **byte & 0xC0 != 0x80).take(SHORTEST).count() == SHORTEST
}

/// The higher half of a hash.
const fn cut(hash: u64) -> u32 {
    (hash >> u32::BITS) as u32
}

/// The hashes of all lines, sorted and distinct.
pub fn hashes<'a>(lines: impl IntoIterator<Item = &'a [u8]>) -> Vec<u32> {
    lines.into_iter().filter_map(hash_of).collect::<BTreeSet<_>>().into_iter().collect()
}

/// Hashes as a text of eight hexadecimal digits each, which is how tables contain them.
pub fn to_text(hashes: &[u32]) -> String {
    let digits = hashes.iter().flat_map(|hash| (0..DIGITS).rev().map(move |at| (hash >> (4 * at)) & 0xF));
    digits.filter_map(|digit| char::from_digit(digit, 16)).collect()
}

/// The hashes of [`to_text`]. Other text is left out.
pub fn from_text(text: &str) -> Vec<u32> {
    let digits = text.as_bytes().chunks_exact(DIGITS);
    digits.filter_map(|digits| u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()).collect()
}

/// How many hashes of a sketch are among the hashes of other lines. Both are sorted.
pub fn count_common(sketch: &[u32], hashes: &[u32]) -> usize {
    sketch.iter().filter(|hash| hashes.binary_search(hash).is_ok()).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_long_lines_have_a_hash_and_white_space_around_them_does_not_matter() {
        let hash = hash_of(b"let total = 1;").unwrap();
        for line in ["  let total = 1;", "let total = 1;\r\n", "\tlet total = 1; "] {
            assert_eq!(hash_of(line.as_bytes()), Some(hash), "{line:?}");
        }
        assert_ne!(hash_of(b"let total = 2;"), Some(hash));
        assert_ne!(hash_of(b"let  total = 1;"), Some(hash));
        // Eleven characters are too few, of however many bytes; twelve are enough.
        assert_eq!(hash_of(b"   12345678901   "), None);
        assert_eq!(hash_of("äöüäöüäöüäö".as_bytes()), None);
        assert!(hash_of("äöüäöüäöüäöü".as_bytes()).is_some());
        assert!(hash_of(b"123456789012").is_some());
        assert_eq!(hash_of(b""), None);
        assert!(hash_of(&[0xFF; 12]).is_some());
    }

    #[test]
    fn hashes_do_not_change_between_versions() {
        assert_eq!(to_text(&hashes([b"let total = 1;".as_slice()])), "68a7be10");
    }

    #[test]
    fn hashes_in_common_are_counted() {
        let lines: Vec<String> = (0..100).map(|number| format!("line number {number}")).collect();
        let bytes = || lines.iter().map(String::as_bytes);
        let all = hashes(bytes().chain(bytes()));
        assert_eq!(all.len(), 100);
        assert!(all.is_sorted());
        let sketch = &all[..SKETCH];
        assert_eq!(count_common(sketch, &all), SKETCH);
        assert_eq!(count_common(&all, sketch), SKETCH);
        assert_eq!(count_common(sketch, &[]), 0);
    }

    #[test]
    fn texts_of_hashes_are_read_back() {
        for hashes in [vec![], vec![0], vec![1, 0xDEAD_BEEF, u32::MAX]] {
            assert_eq!(from_text(&to_text(&hashes)), hashes);
        }
        assert_eq!(to_text(&[1, u32::MAX]), "00000001ffffffff");
        assert_eq!(from_text("0000000x00000002000"), [2]);
    }
}
