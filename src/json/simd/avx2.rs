//! A block in two AVX2 registers. It is used only in functions that are compiled for AVX2, into which it is inlined.

#![expect(unsafe_code, reason = "vector instructions that not every processor has are unsafe to call")]
#![expect(clippy::undocumented_unsafe_blocks, reason = "one reason for all: callers are compiled for AVX2, see above")]
#![expect(clippy::inline_always, reason = "only code that is inlined into a function of a level uses its instructions")]

use std::arch::x86_64::{
    __m256i, _mm_clmulepi64_si128, _mm_cvtsi128_si64, _mm_set_epi64x, _mm_set1_epi8, _mm256_cmpeq_epi8,
    _mm256_loadu_si256, _mm256_movemask_epi8, _mm256_or_si256, _mm256_set1_epi8,
};

use super::block::Block;

/// A block in two registers.
#[derive(Clone, Copy)]
pub(in crate::json) struct Avx2(__m256i, __m256i);

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
        // No closures: they would be compiled without the instructions.
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

    /// Carry-less multiplication by all ones.
    #[inline(always)]
    fn prefix_xor(bits: u64) -> u64 {
        unsafe {
            let product = _mm_clmulepi64_si128::<0>(_mm_set_epi64x(0, bits.cast_signed()), _mm_set1_epi8(-1));
            _mm_cvtsi128_si64(product).cast_unsigned()
        }
    }
}
