//! Short strings: keys, names, ids and times, found by one comparison of 32 bytes.

#![cfg_attr(not(test), expect(clippy::indexing_slicing, reason = "lengths are those of bits in a block of 32 bytes"))]
#![expect(unsafe_code, reason = "SSE2 instructions, and text that is known to be ASCII")]

use crate::json::scan::{Quote, string_end};
use crate::json::simd::Level;

/// The text between two quotes, with its escapes.
#[derive(Debug, Clone, Copy)]
pub struct Inside<'a> {
    bytes: &'a [u8],
    /// Whether it contains escapes.
    pub has_escapes: bool,
    is_ascii: bool,
}

impl<'a> Inside<'a> {
    /// [`Self::find`] for a short ASCII string without escapes, such as a key, a name, an id or a time. `None` for any other.
    #[inline]
    pub fn of_short(bytes: &'a [u8], start: usize) -> Option<Self> {
        let short = Short::at(bytes, start)?;
        let length = short.before_quote(short.backslashes | short.beyond_ascii)?;
        Some(Self { bytes: &bytes[start..start + length], has_escapes: false, is_ascii: true })
    }

    /// The string whose text begins at `start`, after the opening quote.
    #[inline]
    pub fn find(level: Level, bytes: &'a [u8], start: usize) -> Option<Self> {
        let Quote { at, has_escapes, is_ascii } = string_end(level, bytes, start)?;
        Some(Self { bytes: &bytes[start..at], has_escapes, is_ascii })
    }

    /// The bytes, with their escapes.
    pub const fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// The bytes as text, if they are ASCII. Most are, and then need no UTF-8 validation.
    #[inline]
    pub const fn ascii(self) -> Option<&'a str> {
        // SAFETY: Bytes below 128 are UTF-8.
        if self.is_ascii { Some(unsafe { std::str::from_utf8_unchecked(self.bytes) }) } else { None }
    }
}

/// The bytes of a short string without escapes, such as a key. `None` for any other.
#[inline]
pub fn short_key(bytes: &[u8], start: usize) -> Option<&[u8]> {
    let short = Short::at(bytes, start)?;
    bytes.get(start..start + short.before_quote(short.backslashes)?)
}

/// The first backslash. Source code and outputs contain one every 20 to 50 bytes: `memchr`, which is made for longer distances,
/// takes longer.
#[inline]
pub fn backslash(bytes: &[u8]) -> Option<usize> {
    let (blocks, rest) = bytes.as_chunks();
    for (index, block) in blocks.iter().enumerate() {
        let backslashes = Short::new(block).backslashes;
        if backslashes != 0 {
            return Some(index * 32 + backslashes.trailing_zeros() as usize);
        }
    }
    rest.iter().position(|it| *it == b'\\').map(|it| blocks.len() * 32 + it)
}

/// Which of 32 bytes are quotes, backslashes, and not ASCII. It needs no more than the baseline of the target.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Short {
    quotes: u32,
    backslashes: u32,
    beyond_ascii: u32,
}

impl Short {
    /// The 32 bytes that begin at `start`, or fewer at the end. `None` if there are fewer than 32 bytes in all.
    #[inline]
    fn at(bytes: &[u8], start: usize) -> Option<Self> {
        match bytes.get(start..)?.first_chunk() {
            Some(head) => Some(Self::new(head)),
            None => Self::before_end(bytes, start),
        }
    }

    /// Fewer than 32 bytes at the end are read together with those before them.
    #[inline(never)]
    fn before_end(bytes: &[u8], start: usize) -> Option<Self> {
        let Self { quotes, backslashes, beyond_ascii } = Self::new(bytes.last_chunk()?);
        let before = u32::try_from(start + 32 - bytes.len()).ok()?;
        Some(Self {
            quotes: quotes.checked_shr(before)?,
            backslashes: backslashes.checked_shr(before)?,
            beyond_ascii: beyond_ascii.checked_shr(before)?,
        })
    }

    #[cfg(target_arch = "x86_64")]
    #[inline]
    pub(super) fn new(bytes: &[u8; 32]) -> Self {
        use std::arch::x86_64::{__m128i, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_set1_epi8};

        let start: *const __m128i = bytes.as_ptr().cast();
        // SAFETY: Each half has 16 bytes, and any `x86_64` has these instructions.
        unsafe {
            let (low, high) = (_mm_loadu_si128(start), _mm_loadu_si128(start.add(1)));
            let (quote, backslash) = (_mm_set1_epi8(0x22), _mm_set1_epi8(0x5c));
            let low_quotes = _mm_movemask_epi8(_mm_cmpeq_epi8(low, quote));
            let high_quotes = _mm_movemask_epi8(_mm_cmpeq_epi8(high, quote));
            let low_backslashes = _mm_movemask_epi8(_mm_cmpeq_epi8(low, backslash));
            let high_backslashes = _mm_movemask_epi8(_mm_cmpeq_epi8(high, backslash));
            Self {
                quotes: (low_quotes | high_quotes << 16).cast_unsigned(),
                backslashes: (low_backslashes | high_backslashes << 16).cast_unsigned(),
                // Bytes that are not ASCII have the highest bit set.
                beyond_ascii: (_mm_movemask_epi8(low) | _mm_movemask_epi8(high) << 16).cast_unsigned(),
            }
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    #[inline]
    pub(super) fn new(bytes: &[u8; 32]) -> Self {
        Self::portable(bytes)
    }

    #[cfg(any(test, not(target_arch = "x86_64")))]
    pub(super) fn portable(bytes: &[u8; 32]) -> Self {
        let bits = |is_one: fn(u8) -> bool| bytes.iter().rev().fold(0, |bits, it| bits << 1 | u32::from(is_one(*it)));
        Self {
            quotes: bits(|it| it == b'"'),
            backslashes: bits(|it| it == b'\\'),
            beyond_ascii: bits(|it| !it.is_ascii()),
        }
    }

    /// The number of bytes before the first quote, if none of them is in `others`.
    #[inline]
    const fn before_quote(&self, others: u32) -> Option<usize> {
        let before = (self.quotes & self.quotes.wrapping_neg()).wrapping_sub(1);
        if self.quotes == 0 || others & before != 0 { None } else { Some(self.quotes.trailing_zeros() as usize) }
    }
}
