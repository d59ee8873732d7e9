//! A block with ordinary words, for processors without AVX2.

#![expect(clippy::inline_always, reason = "only code that is inlined into a function of a level uses its instructions")]

use super::block::Block;

/// A block on any processor: eight words.
#[derive(Clone, Copy)]
pub(in crate::json) struct Words([u64; 8]);

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
