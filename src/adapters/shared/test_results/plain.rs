//! The text of a JSON value of any form, or a part of it, as lines.

/// The line break that ends a text.
const BREAK: u8 = b'\n';

/// The texts in a value: each on lines of its own, without escapes of JSON and without colours. Text in a string of JSON may itself be
/// JSON, so that escapes are escaped, too.
pub(super) fn text(value: &[u8]) -> String {
    let mut out = Vec::with_capacity(value.len());
    let mut rest = value;
    while let Some(at) = memchr::memchr3(b'\\', b'"', 0x1b, rest) {
        let (before, special) = rest.split_at(at);
        out.extend_from_slice(before);
        rest = match special {
            [b'\\', ..] => escape(special, &mut out),
            [0x1b, after @ ..] => without_colour(after),
            [_, after @ ..] => {
                out.push(BREAK);
                after
            }
            [] => special,
        };
    }
    out.extend_from_slice(rest);
    // Carriage returns begin a line again.
    for byte in &mut out {
        match byte {
            b'\r' => *byte = BREAK,
            b'\t' => *byte = b' ',
            _ => {}
        }
    }
    String::from_utf8(out).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// The first end of a line, escaped or not, or of a text: where it begins and what follows it.
pub(super) fn first_break(value: &[u8]) -> Option<(usize, usize)> {
    memchr::memchr3_iter(b'\\', b'"', BREAK, value).find_map(|at| break_at(value, at))
}

/// The last end of a line: see [`first_break`].
pub(super) fn last_break(value: &[u8]) -> Option<(usize, usize)> {
    memchr::memchr3_iter(b'\\', b'"', BREAK, value).rev().find_map(|at| break_at(value, at))
}

/// The break whose last backslash, quote or line feed is at a position.
fn break_at(value: &[u8], at: usize) -> Option<(usize, usize)> {
    let (before, rest) = value.split_at_checked(at)?;
    let length = match rest {
        [b'\\', b'n' | b'r' | b'"', ..] => 2,
        [b'\\', ..] => return None,
        _ => 1,
    };
    let escapes = before.iter().rev().take_while(|byte| **byte == b'\\').count();
    Some((at - escapes, at + length))
}

/// Adds the character of an escape, which begins with one or more backslashes. Returns what follows it.
fn escape<'t>(text: &'t [u8], out: &mut Vec<u8>) -> &'t [u8] {
    let slashes = text.iter().take_while(|byte| **byte == b'\\').count();
    let after = text.get(slashes..).unwrap_or_default();
    match after {
        [b'n' | b'r' | b'"', rest @ ..] => {
            out.push(BREAK);
            rest
        }
        [b't', rest @ ..] => {
            out.push(b' ');
            rest
        }
        [b'u', rest @ ..] => {
            let character = rest
                .get(..4)
                .and_then(|digits| u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok())
                .and_then(char::from_u32);
            let Some(character) = character else { return rest };
            let rest = rest.get(4..).unwrap_or_default();
            if character == '\u{1b}' {
                return without_colour(rest);
            }
            out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            rest
        }
        _ => {
            out.push(b'\\');
            after
        }
    }
}

/// What follows the control sequence of a terminal. `text` begins after its first character.
fn without_colour(text: &[u8]) -> &[u8] {
    let [b'[', sequence @ ..] = text else { return text };
    let end = sequence.iter().position(|byte| !matches!(byte, b'0'..=b'?' | b' '..=b'/'));
    end.and_then(|end| sequence.get(end + 1..)).unwrap_or_default()
}
