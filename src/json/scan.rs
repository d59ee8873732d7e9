//! Scanning: where a string or a nested value ends, 64 bytes at a time.
//!
//! Most of a log is text that no field uses: file contents, outputs, long messages. Skipping it is the main cost of parsing, so it
//! uses the widest registers that the processor has, detected at run time. The interface is three functions: [`string_end`],
//! [`closing_quote`] and [`nested_end`]. All levels share one algorithm over `Block`, which is checked byte by byte in the
//! tests.
//!
//! Measured over all three sample sets: with `simd-json` or `sonic-rs` in its place, parsing takes 3 to 4 times the
//! instructions (`docs/performance.md`). Blocks of AVX-512 were removed: no gain in wall time was shown.

#![cfg_attr(
    not(test),
    expect(clippy::indexing_slicing, reason = "a block has 64 bytes, and positions are those of its bits")
)]
#![cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "functions that are compiled for AVX2 are unsafe to call")
)]
#![expect(clippy::inline_always, reason = "only code that is inlined into a function of a level uses its instructions")]

use crate::json::error::{Error, MAX_DEPTH};
#[cfg(target_arch = "x86_64")]
use crate::json::simd::avx2::Avx2;
use crate::json::simd::block::Block;
use crate::json::simd::portable::Words;
use crate::json::simd::{Kind, Level};

/// The closing quote of a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quote {
    /// Its position.
    pub at: usize,
    /// Whether the string contains a backslash.
    pub has_escapes: bool,
    /// Whether the string is ASCII.
    pub is_ascii: bool,
}

/// Declares a function that runs `$generic` with the instructions of a level.
macro_rules! at_level {
    ($(#[$doc:meta])* $name:ident, $generic:ident -> $result:ty) => {
        $(#[$doc])*
        #[inline]
        pub fn $name(level: Level, bytes: &[u8], at: usize) -> $result {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,bmi1,pclmulqdq")]
                fn avx2(bytes: &[u8], at: usize) -> $result {
                    $generic::<Avx2>(bytes, at)
                }
                match level.kind() {
                    Kind::Portable => {}
                    // SAFETY: A level exists only where the processor has its instructions.
                    Kind::Avx2 => return unsafe { avx2(bytes, at) },
                }
            }
            #[cfg(not(target_arch = "x86_64"))]
            let Kind::Portable = level.kind();
            $generic::<Words>(bytes, at)
        }
    };
}

at_level! {
    /// The closing quote of the string whose text begins at `at`, after the opening quote.
    string_end, string_end_of -> Option<Quote>
}

at_level! {
    /// The position of the closing quote of the string whose text begins at `at`: as [`string_end`], which returns more.
    closing_quote, closing_quote_of -> Option<usize>
}

at_level! {
    /// The position after the object or array whose bracket is at `at`. Brackets are counted, without recursion.
    ///
    /// # Errors
    /// When brackets do not match, are nested too deep, or the input ends before the value.
    nested_end, nested_end_of -> Result<usize, Error>
}

/// The bytes of a block that are escaped: preceded by a backslash that is not itself escaped. The caller knows it of the first
/// byte. The arithmetic is that of simdjson's `json_escape_scanner`: a carry runs through every row of backslashes.
#[inline(always)]
const fn escaped_by(backslashes: u64, is_first_escaped: bool) -> u64 {
    const ODD: u64 = 0xAAAA_AAAA_AAAA_AAAA;
    let first = is_first_escaped as u64;
    if backslashes == 0 {
        return first;
    }
    let potential = backslashes & !first;
    let escapes_and_ends = (potential << 1 | ODD).wrapping_sub(potential) ^ ODD;
    escapes_and_ends ^ (backslashes | first)
}

/// A position up to which no quote follows: close to the next quote, but not beyond it.
#[inline(always)]
fn skip_without_quotes<B: Block>(bytes: &[u8], at: usize) -> usize {
    let (pairs, _) = bytes.get(at..).unwrap_or_default().as_chunks();
    let mut plain = 0;
    for pair in pairs {
        if B::pair_has(pair, b'"') {
            break;
        }
        plain += 128;
    }
    at + plain
}

/// Whether each of these quotes is certainly escaped: a backslash precedes it, and no two backslashes are adjacent. This holds for
/// most blocks of source code in a string.
#[inline(always)]
const fn are_escaped(quotes: u64, backslashes: u64) -> bool {
    let after_backslashes = backslashes << 1;
    quotes & !after_backslashes == 0 && backslashes & after_backslashes == 0
}

/// The quotes of a block at `at` that are not escaped, in a string whose text begins at `start`.
#[inline(always)]
fn unescaped(quotes: u64, backslashes: u64, bytes: &[u8], start: usize, at: usize) -> u64 {
    let follows_backslash = at > 0 && bytes[at - 1] == b'\\';
    if are_escaped(quotes, backslashes) && !follows_backslash {
        return 0;
    }
    quotes & !escaped_by(backslashes, ends_in_escape(&bytes[start..at]))
}

/// Whether the byte after these is escaped.
#[inline(always)]
fn ends_in_escape(bytes: &[u8]) -> bool {
    bytes.iter().rev().take_while(|it| **it == b'\\').count() % 2 == 1
}

#[inline(always)]
fn closing_quote_of<B: Block>(bytes: &[u8], mut at: usize) -> Option<usize> {
    let start = at;
    loop {
        let block = B::at(bytes, at)?;
        // Most blocks of a long text contain no quote: escapes then do not matter.
        if block.has(b'"') {
            let quotes = unescaped(block.equal(b'"'), block.equal(b'\\'), bytes, start, at);
            if quotes != 0 {
                return Some(at + quotes.trailing_zeros() as usize);
            }
            at += 64;
        } else {
            at = skip_without_quotes::<B>(bytes, at + 64);
        }
    }
}

#[inline(always)]
fn string_end_of<B: Block>(bytes: &[u8], mut at: usize) -> Option<Quote> {
    let start = at;
    let mut has_escapes = false;
    let mut is_ascii = true;
    loop {
        let block = B::at(bytes, at)?;
        if block.has(b'"') {
            let backslashes = block.equal(b'\\');
            let quotes = unescaped(block.equal(b'"'), backslashes, bytes, start, at);
            if quotes != 0 {
                let before = (quotes & quotes.wrapping_neg()) - 1;
                has_escapes |= backslashes & before != 0;
                is_ascii &= block.beyond_ascii() & before == 0;
                return Some(Quote { at: at + quotes.trailing_zeros() as usize, has_escapes, is_ascii });
            }
        }
        has_escapes |= block.has(b'\\');
        is_ascii &= block.beyond_ascii() == 0;
        at += 64;
    }
}

/// The brackets that are open, one bit for each level of nesting: set for an object, so that a `]` never closes a `{`.
struct Open {
    kinds: [u64; MAX_DEPTH / 64],
    depth: usize,
}

impl Open {
    /// Adds a bracket. Returns `true` if it closes the first one.
    #[inline(always)]
    fn take(&mut self, byte: u8, at: usize) -> Result<bool, Error> {
        let is_object = byte & 0x20 != 0;
        // `{` and `[` have this bit clear, `}` and `]` have it set.
        if byte & 0x04 == 0 {
            if self.depth == MAX_DEPTH {
                return Err(Error::TooDeep);
            }
            let kinds = &mut self.kinds[self.depth / 64];
            let bit = 1 << (self.depth % 64);
            *kinds = if is_object { *kinds | bit } else { *kinds & !bit };
            self.depth += 1;
            return Ok(false);
        }
        // The first byte is an opening bracket: there is one to close.
        self.depth = self.depth.saturating_sub(1);
        let opened_object = self.kinds[self.depth / 64] >> (self.depth % 64) & 1 == 1;
        if opened_object == is_object { Ok(self.depth == 0) } else { Err(Error::NotJson(at)) }
    }
}

#[inline(always)]
fn nested_end_of<B: Block>(bytes: &[u8], mut at: usize) -> Result<usize, Error> {
    let start = at;
    let mut open = Open { kinds: [0; MAX_DEPTH / 64], depth: 0 };
    let mut is_in_string = false;
    while let Some(block) = B::at(bytes, at) {
        if is_in_string && !block.has(b'"') {
            at = skip_without_quotes::<B>(bytes, at + 64);
            continue;
        }
        let (quotes, backslashes) = (block.equal(b'"'), block.equal(b'\\'));
        let quotes = if is_in_string {
            unescaped(quotes, backslashes, bytes, start, at)
        } else {
            quotes & !escaped_by(backslashes, false)
        };
        if is_in_string && quotes == 0 {
            at += 64;
            continue;
        }
        // From each opening quote up to the closing one.
        let strings = B::prefix_xor(quotes) ^ if is_in_string { u64::MAX } else { 0 };
        if backslashes & !strings != 0 {
            // A backslash outside of a string is not JSON, and escapes nothing.
            let is_first_escaped = is_in_string && ends_in_escape(&bytes[start..at]);
            return nested_end_bytewise(bytes, at, open, is_in_string, is_first_escaped);
        }
        is_in_string = strings >> 63 == 1;
        let mut brackets = block.brackets() & !strings;
        while brackets != 0 {
            let place = at + brackets.trailing_zeros() as usize;
            if open.take(bytes[place], place)? {
                return Ok(place + 1);
            }
            brackets &= brackets - 1;
        }
        at += 64;
    }
    Err(Error::CutShort)
}

#[cold]
fn nested_end_bytewise(
    bytes: &[u8],
    start: usize,
    mut open: Open,
    mut is_in_string: bool,
    mut is_escaped: bool,
) -> Result<usize, Error> {
    for (at, byte) in bytes.iter().enumerate().skip(start) {
        if is_escaped {
            is_escaped = false;
        } else if is_in_string {
            is_escaped = *byte == b'\\';
            is_in_string = *byte != b'"';
        } else if *byte == b'"' {
            is_in_string = true;
        } else if matches!(byte, b'{' | b'[' | b'}' | b']') && open.take(*byte, at)? {
            return Ok(at + 1);
        }
    }
    Err(Error::CutShort)
}

#[cfg(test)]
mod tests;
