//! The text of strings: escapes and invalid Unicode.

#![cfg_attr(
    not(test),
    expect(
        clippy::indexing_slicing,
        reason = "positions are found in these bytes, and every byte of a log passes here"
    )
)]

use std::borrow::Cow;

use crate::json::short::backslash;

/// The text of these bytes, with U+FFFD in place of invalid Unicode.
pub(super) fn text_of(bytes: &[u8]) -> Cow<'_, str> {
    // Validating is several times faster than replacing.
    simdutf8::basic::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// As [`text_of`], of owned bytes.
pub(super) fn owned_text_of(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|it| String::from_utf8_lossy(it.as_bytes()).into_owned())
}

/// Up to this many bytes are copied without a call. Most stretches between escapes are shorter.
const STRETCH: usize = 32;

/// The text with its escapes replaced, and U+FFFD in place of a lone surrogate. `None` for an escape that JSON does not have.
pub fn unescape(bytes: &[u8]) -> Option<String> {
    let mut out = Vec::with_capacity(bytes.len() + STRETCH);
    unescape_into(bytes, &mut out)?;
    Some(owned_text_of(out))
}

/// As [`unescape`], appended to `out`. Invalid Unicode stays as it is.
pub fn unescape_into(bytes: &[u8], out: &mut Vec<u8>) -> Option<()> {
    unescape_head(bytes, out, usize::MAX)
}

/// As [`unescape_into`], until `out` contains at least `length` bytes; ends after a whole character.
pub(super) fn unescape_head(bytes: &[u8], out: &mut Vec<u8>, length: usize) -> Option<()> {
    let mut at = 0;
    while at < bytes.len() && out.len() < length {
        let rest = &bytes[at..];
        // A stretch that exceeds the length ends at the end of a character.
        let mut wanted = rest.len().min(length - out.len());
        while rest.get(wanted).is_some_and(|byte| byte & 0xC0 == 0x80) {
            wanted += 1;
        }
        let Some(plain) = backslash(&rest[..wanted]) else {
            out.extend_from_slice(&rest[..wanted]);
            at += wanted;
            continue;
        };
        match rest.first_chunk::<STRETCH>().filter(|_| plain <= STRETCH) {
            Some(some) => {
                let end = out.len() + plain;
                out.extend_from_slice(some);
                out.truncate(end);
            }
            None => out.extend_from_slice(&rest[..plain]),
        }
        at += plain + 1;
        let escape = *bytes.get(at)?;
        at += 1;
        let plain = match escape {
            b'"' | b'\\' | b'/' => escape,
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => {
                let first = hex4(bytes.get(at..at + 4)?)?;
                at += 4;
                let mut code = u32::from(first);
                if (0xD800..0xDC00).contains(&first)
                    && bytes.get(at..at + 2) == Some(b"\\u")
                    && let Some(second) = bytes.get(at + 2..at + 6).and_then(hex4)
                    && (0xDC00..0xE000).contains(&second)
                {
                    code = 0x10000 + ((u32::from(first) - 0xD800) << 10) + (u32::from(second) - 0xDC00);
                    at += 6;
                }
                let character = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
                out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                continue;
            }
            _ => return None,
        };
        out.push(plain);
    }
    Some(())
}

fn hex4(digits: &[u8]) -> Option<u16> {
    let mut value = 0;
    for &digit in digits {
        value = value << 4 | u16::try_from(char::from(digit).to_digit(16)?).ok()?;
    }
    Some(value)
}
