//! The end of a string or of a nested value, 64 bytes at a step.
//!
//! What no field asks for is most of a log: file contents, outputs, long texts. Going over it is what reading costs, so it
//! is done with the widest registers that the processor has, found out as the program runs. Every way gives the same
//! answers: they share the code, which asks a `Block` only which of its bytes are equal to one.

#![cfg_attr(
    not(test),
    expect(clippy::indexing_slicing, reason = "a block has 64 bytes, and places are those of its bits")
)]
#![expect(unsafe_code, reason = "vector instructions that not every processor has are unsafe to call")]
#![expect(clippy::inline_always, reason = "what is not inlined into a function of a level has not its instructions")]

use crate::base::simd::{Kind, Level};
use crate::json::error::{Error, MAX_DEPTH};

/// The closing quote of a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quote {
    /// Where it stands.
    pub at: usize,
    /// Whether a backslash stands before it in the string.
    pub has_escapes: bool,
    /// Whether the string is ASCII.
    pub is_ascii: bool,
}

/// What stands between two quotes.
#[derive(Debug, Clone, Copy)]
pub struct Inside<'a> {
    bytes: &'a [u8],
    /// Whether escapes stand in it.
    pub has_escapes: bool,
    is_ascii: bool,
}

impl<'a> Inside<'a> {
    /// [`Self::find`] of a short string without escapes that is ASCII, as keys, names, ids and times are. `None` for any other.
    #[inline]
    pub fn of_short(bytes: &'a [u8], start: usize) -> Option<Self> {
        let short = Short::at(bytes, start)?;
        let length = short.before_quote(short.backslashes | short.beyond_ascii)?;
        Some(Self { bytes: &bytes[start..start + length], has_escapes: false, is_ascii: true })
    }

    /// The string whose text begins at `start`, behind the opening quote.
    #[inline]
    pub fn find(level: Level, bytes: &'a [u8], start: usize) -> Option<Self> {
        let Quote { at, has_escapes, is_ascii } = string_end(level, bytes, start)?;
        Some(Self { bytes: &bytes[start..at], has_escapes, is_ascii })
    }

    /// The bytes, escapes and all.
    pub const fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// The bytes as text, if they are ASCII: most are, and then nobody need look whether they are UTF-8.
    #[inline]
    pub const fn ascii(self) -> Option<&'a str> {
        // SAFETY: Bytes below 128 are UTF-8.
        if self.is_ascii { Some(unsafe { std::str::from_utf8_unchecked(self.bytes) }) } else { None }
    }
}

/// The bytes of a short string without escapes, as keys are. `None` for any other.
#[inline]
pub fn short_key(bytes: &[u8], start: usize) -> Option<&[u8]> {
    let short = Short::at(bytes, start)?;
    bytes.get(start..start + short.before_quote(short.backslashes)?)
}

/// The first backslash. In source code and outputs one stands for each 20 to 50 bytes: a search that first prepares itself for
/// long stretches takes longer.
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

/// 32 bytes, looked at with what any processor of its kind has: which of them are quotes, and backslashes, and no ASCII.
#[derive(Debug, PartialEq, Eq)]
struct Short {
    quotes: u32,
    backslashes: u32,
    beyond_ascii: u32,
}

impl Short {
    /// Those that begin at `start`, or fewer at the end of the bytes. `None` if there are fewer than 32 bytes in all.
    #[inline]
    fn at(bytes: &[u8], start: usize) -> Option<Self> {
        match bytes.get(start..)?.first_chunk() {
            Some(head) => Some(Self::new(head)),
            None => Self::before_end(bytes, start),
        }
    }

    /// The end of the bytes is looked at with what stands before it.
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
    fn new(bytes: &[u8; 32]) -> Self {
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
                // The highest bit of a byte says so.
                beyond_ascii: (_mm_movemask_epi8(low) | _mm_movemask_epi8(high) << 16).cast_unsigned(),
            }
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    #[inline]
    fn new(bytes: &[u8; 32]) -> Self {
        Self::portable(bytes)
    }

    #[cfg(any(test, not(target_arch = "x86_64")))]
    fn portable(bytes: &[u8; 32]) -> Self {
        let bits = |is_one: fn(u8) -> bool| bytes.iter().rev().fold(0, |bits, it| bits << 1 | u32::from(is_one(*it)));
        Self {
            quotes: bits(|it| it == b'"'),
            backslashes: bits(|it| it == b'\\'),
            beyond_ascii: bits(|it| !it.is_ascii()),
        }
    }

    /// How many bytes stand before the first quote, if none of the others does.
    #[inline]
    const fn before_quote(&self, others: u32) -> Option<usize> {
        let before = (self.quotes & self.quotes.wrapping_neg()).wrapping_sub(1);
        if self.quotes == 0 || others & before != 0 { None } else { Some(self.quotes.trailing_zeros() as usize) }
    }
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
                    $generic::<x86::Avx2>(bytes, at)
                }
                #[target_feature(enable = "avx2,bmi1,pclmulqdq,avx512f,avx512bw")]
                fn avx512(bytes: &[u8], at: usize) -> $result {
                    $generic::<x86::Avx512>(bytes, at)
                }
                match level.kind() {
                    Kind::Portable => {}
                    // SAFETY: A level is only made where the processor has it.
                    Kind::Avx2 => return unsafe { avx2(bytes, at) },
                    // SAFETY: As above.
                    Kind::Avx512 => return unsafe { avx512(bytes, at) },
                }
            }
            #[cfg(not(target_arch = "x86_64"))]
            let Kind::Portable = level.kind();
            $generic::<Words>(bytes, at)
        }
    };
}

at_level! {
    /// The closing quote of the string whose text begins at `at`, behind the opening one.
    string_end, string_end_of -> Option<Quote>
}

at_level! {
    /// Where the closing quote of the string stands whose text begins at `at`: as [`string_end`], which says more of it.
    closing_quote, closing_quote_of -> Option<usize>
}

at_level! {
    /// The byte behind the object or array whose bracket stands at `at`. Brackets are counted, not recursed into.
    ///
    /// # Errors
    /// When brackets do not match, nest too deep, or the input ends before.
    nested_end, nested_end_of -> Result<usize, Error>
}

/// 64 bytes. A set bit stands for a byte, the first for the lowest.
trait Block: Copy {
    /// The bytes of a whole block.
    fn new(bytes: &[u8; 64]) -> Self;

    /// The bytes which are this one.
    fn equal(self, byte: u8) -> u64;

    /// Whether one of the bytes is this one.
    #[inline(always)]
    fn has(self, byte: u8) -> bool {
        self.equal(byte) != 0
    }

    /// Whether one of the bytes of two blocks is this one.
    #[inline(always)]
    fn pair_has(pair: &[u8; 128], byte: u8) -> bool {
        let (first, second) = pair.split_at(64);
        let (Some(first), Some(second)) = (first.first_chunk(), second.first_chunk()) else { return true };
        Self::new(first).has(byte) || Self::new(second).has(byte)
    }

    /// The brackets of objects and arrays, whose codes differ by `0x20` only.
    fn brackets(self) -> u64;

    /// The bytes that are not ASCII.
    fn beyond_ascii(self) -> u64;

    /// Each bit with all before it, added without carry.
    #[inline(always)]
    fn prefix_xor(bits: u64) -> u64 {
        [1, 2, 4, 8, 16, 32].into_iter().fold(bits, |bits, by| bits ^ bits << by)
    }

    /// The block that begins at `at`, with zeros behind the end. `None` at the end.
    #[inline(always)]
    fn at(bytes: &[u8], at: usize) -> Option<Self> {
        let rest = bytes.get(at..)?;
        if let Some(whole) = rest.first_chunk() {
            return Some(Self::new(whole));
        }
        if rest.is_empty() {
            return None;
        }
        let mut last = [0; 64];
        last[..rest.len()].copy_from_slice(rest);
        Some(Self::new(&last))
    }
}

/// Which bytes of a block stand behind a backslash that is not itself behind one; of the first it is known. The arithmetic is
/// simdjson's (`json_escape_scanner`): a carry runs through every row of backslashes.
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

/// Where text without a quote ends, or some bytes before.
#[inline(always)]
fn behind_plain_of<B: Block>(bytes: &[u8], at: usize) -> usize {
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

/// Whether each of these quotes is escaped, and nothing more need be known for that: it is behind a backslash, and none of those
/// is behind another. So it is with most blocks of source code in a string.
#[inline(always)]
const fn are_escaped(quotes: u64, backslashes: u64) -> bool {
    let behind = backslashes << 1;
    quotes & !behind == 0 && backslashes & behind == 0
}

/// Those of the quotes of a block at `at`, in a string whose text begins at `start`, that are not escaped.
#[inline(always)]
fn unescaped(quotes: u64, backslashes: u64, bytes: &[u8], start: usize, at: usize) -> u64 {
    let is_behind_backslash = at > 0 && bytes[at - 1] == b'\\';
    if are_escaped(quotes, backslashes) && !is_behind_backslash {
        return 0;
    }
    quotes & !escaped_by(backslashes, ends_in_escape(&bytes[start..at]))
}

/// Whether what follows these bytes stands behind a backslash that is not itself behind one.
#[inline(always)]
fn ends_in_escape(bytes: &[u8]) -> bool {
    bytes.iter().rev().take_while(|it| **it == b'\\').count() % 2 == 1
}

#[inline(always)]
fn closing_quote_of<B: Block>(bytes: &[u8], mut at: usize) -> Option<usize> {
    let start = at;
    loop {
        let block = B::at(bytes, at)?;
        // Most blocks of a long text have none, and then it does not matter what escapes what.
        if block.has(b'"') {
            let quotes = unescaped(block.equal(b'"'), block.equal(b'\\'), bytes, start, at);
            if quotes != 0 {
                return Some(at + quotes.trailing_zeros() as usize);
            }
            at += 64;
        } else {
            at = behind_plain_of::<B>(bytes, at + 64);
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

/// The brackets that are open. One bit a level: set for an object, so that a `]` never closes a `{`.
struct Open {
    kinds: [u64; MAX_DEPTH / 64],
    depth: usize,
}

impl Open {
    /// Takes in a bracket. `true` if it closes the first one.
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
            at = behind_plain_of::<B>(bytes, at + 64);
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
            // Outside of a string it is no JSON, and escapes nothing.
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

/// A block on any processor.
#[derive(Clone, Copy)]
struct Words([u64; 8]);

impl Words {
    #[inline(always)]
    fn equal_with(self, or: u8, byte: u8) -> u64 {
        const ONES: u64 = 0x0101_0101_0101_0101;
        const LOW_BITS: u64 = 0x7f * ONES;
        self.0.iter().rev().fold(0, |bits, word| {
            let differs = (word | (u64::from(or) * ONES)) ^ (u64::from(byte) * ONES);
            // The high bit of each byte that is zero, and of no other.
            let zeros = !((differs & LOW_BITS).wrapping_add(LOW_BITS) | differs | LOW_BITS);
            bits << 8 | (zeros >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
        })
    }
}

impl Block for Words {
    #[inline(always)]
    fn new(bytes: &[u8; 64]) -> Self {
        let mut words = [0; 8];
        for (word, bytes) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        Self(words)
    }

    #[inline(always)]
    fn equal(self, byte: u8) -> u64 {
        self.equal_with(0, byte)
    }

    #[inline(always)]
    fn brackets(self) -> u64 {
        self.equal_with(0x20, b'{') | self.equal_with(0x20, b'}')
    }

    #[inline(always)]
    fn beyond_ascii(self) -> u64 {
        const HIGH_BITS: u64 = 0x8080_8080_8080_8080;
        let bits = |word: &u64| ((word & HIGH_BITS) >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        self.0.iter().rev().fold(0, |all, word| all << 8 | bits(word))
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    //! The blocks of `x86_64`. They are only used in functions that have their instructions, into which they are inlined.
    #![expect(clippy::undocumented_unsafe_blocks, reason = "one reason for all: see above")]

    use std::arch::x86_64::{
        __m256i, __m512i, _mm_clmulepi64_si128, _mm_cvtsi128_si64, _mm_set_epi64x, _mm_set1_epi8, _mm256_cmpeq_epi8,
        _mm256_loadu_si256, _mm256_movemask_epi8, _mm256_or_si256, _mm256_set1_epi8, _mm512_cmpeq_epi8_mask,
        _mm512_loadu_si512, _mm512_maskz_loadu_epi8, _mm512_movepi8_mask, _mm512_or_si512, _mm512_set1_epi8,
    };

    use super::Block;

    /// Multiplication without carry by all ones.
    #[inline(always)]
    fn prefix_xor(bits: u64) -> u64 {
        unsafe {
            let product = _mm_clmulepi64_si128::<0>(_mm_set_epi64x(0, bits.cast_signed()), _mm_set1_epi8(-1));
            _mm_cvtsi128_si64(product).cast_unsigned()
        }
    }

    #[derive(Clone, Copy)]
    pub(super) struct Avx2(__m256i, __m256i);

    impl Avx2 {
        #[inline(always)]
        fn or(self, byte: u8) -> Self {
            unsafe {
                let all = _mm256_set1_epi8(byte.cast_signed());
                Self(_mm256_or_si256(self.0, all), _mm256_or_si256(self.1, all))
            }
        }
    }

    impl Block for Avx2 {
        #[inline(always)]
        fn new(bytes: &[u8; 64]) -> Self {
            let (low, high) = bytes.split_at(32);
            unsafe { Self(_mm256_loadu_si256(low.as_ptr().cast()), _mm256_loadu_si256(high.as_ptr().cast())) }
        }

        #[inline(always)]
        fn equal(self, byte: u8) -> u64 {
            unsafe {
                let all = _mm256_set1_epi8(byte.cast_signed());
                let low = _mm256_movemask_epi8(_mm256_cmpeq_epi8(self.0, all)).cast_unsigned();
                let high = _mm256_movemask_epi8(_mm256_cmpeq_epi8(self.1, all)).cast_unsigned();
                u64::from(high) << 32 | u64::from(low)
            }
        }

        #[inline(always)]
        fn has(self, byte: u8) -> bool {
            unsafe {
                let all = _mm256_set1_epi8(byte.cast_signed());
                let (low, high) = (_mm256_cmpeq_epi8(self.0, all), _mm256_cmpeq_epi8(self.1, all));
                _mm256_movemask_epi8(_mm256_or_si256(low, high)) != 0
            }
        }

        #[inline(always)]
        fn pair_has(pair: &[u8; 128], byte: u8) -> bool {
            // Without closures, which would not have the instructions.
            let (first, second) = pair.split_at(64);
            let (Some(first), Some(second)) = (first.first_chunk(), second.first_chunk()) else { return true };
            let (Self(a, b), Self(c, d)) = (Self::new(first), Self::new(second));
            unsafe {
                let all = _mm256_set1_epi8(byte.cast_signed());
                let (a, b) = (_mm256_cmpeq_epi8(a, all), _mm256_cmpeq_epi8(b, all));
                let (c, d) = (_mm256_cmpeq_epi8(c, all), _mm256_cmpeq_epi8(d, all));
                let equal = _mm256_or_si256(_mm256_or_si256(a, b), _mm256_or_si256(c, d));
                _mm256_movemask_epi8(equal) != 0
            }
        }

        #[inline(always)]
        fn brackets(self) -> u64 {
            let lower = self.or(0x20);
            lower.equal(b'{') | lower.equal(b'}')
        }

        #[inline(always)]
        fn beyond_ascii(self) -> u64 {
            unsafe {
                let low = _mm256_movemask_epi8(self.0).cast_unsigned();
                let high = _mm256_movemask_epi8(self.1).cast_unsigned();
                u64::from(high) << 32 | u64::from(low)
            }
        }

        #[inline(always)]
        fn prefix_xor(bits: u64) -> u64 {
            prefix_xor(bits)
        }
    }

    #[derive(Clone, Copy)]
    pub(super) struct Avx512(__m512i);

    impl Block for Avx512 {
        #[inline(always)]
        fn new(bytes: &[u8; 64]) -> Self {
            unsafe { Self(_mm512_loadu_si512(bytes.as_ptr().cast())) }
        }

        #[inline(always)]
        fn equal(self, byte: u8) -> u64 {
            unsafe { _mm512_cmpeq_epi8_mask(self.0, _mm512_set1_epi8(byte.cast_signed())) }
        }

        #[inline(always)]
        fn brackets(self) -> u64 {
            let lower = unsafe { Self(_mm512_or_si512(self.0, _mm512_set1_epi8(0x20))) };
            lower.equal(b'{') | lower.equal(b'}')
        }

        #[inline(always)]
        fn beyond_ascii(self) -> u64 {
            unsafe { _mm512_movepi8_mask(self.0) }
        }

        #[inline(always)]
        fn prefix_xor(bits: u64) -> u64 {
            prefix_xor(bits)
        }

        #[inline(always)]
        fn at(bytes: &[u8], at: usize) -> Option<Self> {
            let rest = bytes.get(at..)?;
            if let Some(whole) = rest.first_chunk() {
                return Some(Self::new(whole));
            }
            if rest.is_empty() {
                return None;
            }
            // Bytes that the mask leaves out are not touched.
            let mask = u64::MAX >> (64 - rest.len());
            unsafe { Some(Self(_mm512_maskz_loadu_epi8(mask, rest.as_ptr().cast()))) }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What every level has to agree with: one byte after the other.
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
        // What is short and plain is found by 32 bytes alone, if there are as many in all.
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
    fn escapes_and_brackets_are_told_at_every_place_in_a_block() {
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
}
