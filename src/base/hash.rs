//! XXH3-128 of a file's content, which follows its reader: that of any other program, with the content where it stands in memory,
//! so that nothing of it is copied. What it is: <https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md>.

#![expect(unsafe_code, reason = "vector instructions that not every processor has are unsafe to call")]

use twox_hash::XxHash3_128;

use crate::base::simd::Level;

/// A hash that was written as 32 hexadecimal digits. Two halves take a tenth of the time of the whole.
pub fn of_hexadecimal(text: &str) -> Option<u128> {
    let (high, low) = text.split_at_checked(16).filter(|_| text.len() == 32 && !text.contains('+'))?;
    let half = |it: &str| u64::from_str_radix(it, 16).ok().map(u128::from);
    Some(half(high)? << 64 | half(low)?)
}

const STRIPE: usize = 64;
/// After so many stripes the sums are mixed.
const BLOCK: usize = 16;
/// Of no more bytes the hash is another.
const SHORT: usize = 240;

const PRIME32_1: u64 = 0x9E37_79B1;
const PRIME32_2: u64 = 0x85EB_CA77;
const PRIME32_3: u64 = 0xC2B2_AE3D;
const PRIME64_1: u64 = 0x9E37_79B1_85EB_CA87;
const PRIME64_2: u64 = 0xC2B2_AE3D_27D4_EB4F;
const PRIME64_3: u64 = 0x1656_67B1_9E37_79F9;
const PRIME64_4: u64 = 0x85EB_CA77_C2B2_AE63;
const PRIME64_5: u64 = 0x27D4_EB2F_1656_67C5;

/// The bytes that XXH3 takes where nobody gives it others.
#[rustfmt::skip]
const SECRET: [u8; 192] = [
    0xB8, 0xFE, 0x6C, 0x39, 0x23, 0xA4, 0x4B, 0xBE, 0x7C, 0x01, 0x81, 0x2C, 0xF7, 0x21, 0xAD, 0x1C, 0xDE, 0xD4, 0x6D, 0xE9, 0x83, 0x90, 0x97, 0xDB,
    0x72, 0x40, 0xA4, 0xA4, 0xB7, 0xB3, 0x67, 0x1F, 0xCB, 0x79, 0xE6, 0x4E, 0xCC, 0xC0, 0xE5, 0x78, 0x82, 0x5A, 0xD0, 0x7D, 0xCC, 0xFF, 0x72, 0x21,
    0xB8, 0x08, 0x46, 0x74, 0xF7, 0x43, 0x24, 0x8E, 0xE0, 0x35, 0x90, 0xE6, 0x81, 0x3A, 0x26, 0x4C, 0x3C, 0x28, 0x52, 0xBB, 0x91, 0xC3, 0x00, 0xCB,
    0x88, 0xD0, 0x65, 0x8B, 0x1B, 0x53, 0x2E, 0xA3, 0x71, 0x64, 0x48, 0x97, 0xA2, 0x0D, 0xF9, 0x4E, 0x38, 0x19, 0xEF, 0x46, 0xA9, 0xDE, 0xAC, 0xD8,
    0xA8, 0xFA, 0x76, 0x3F, 0xE3, 0x9C, 0x34, 0x3F, 0xF9, 0xDC, 0xBB, 0xC7, 0xC7, 0x0B, 0x4F, 0x1D, 0x8A, 0x51, 0xE0, 0x4B, 0xCD, 0xB4, 0x59, 0x31,
    0xC8, 0x9F, 0x7E, 0xC9, 0xD9, 0x78, 0x73, 0x64, 0xEA, 0xC5, 0xAC, 0x83, 0x34, 0xD3, 0xEB, 0xC3, 0xC5, 0x81, 0xA0, 0xFF, 0xFA, 0x13, 0x63, 0xEB,
    0x17, 0x0D, 0xDD, 0x51, 0xB7, 0xF0, 0xDA, 0x49, 0xD3, 0x16, 0x55, 0x26, 0x29, 0xD4, 0x68, 0x9E, 0x2B, 0x16, 0xBE, 0x58, 0x7D, 0x47, 0xA1, 0xFC,
    0x8F, 0xF8, 0xB8, 0xD1, 0x7A, 0xD0, 0x31, 0xCE, 0x45, 0xCB, 0x3A, 0x8F, 0x95, 0x16, 0x04, 0x28, 0xAF, 0xD7, 0xFB, 0xCA, 0xBB, 0x4B, 0x40, 0x7E,
];

/// The part of it that each stripe of a block meets.
#[expect(clippy::indexing_slicing, reason = "the compiler runs it")]
static SECRETS: [[u8; STRIPE]; BLOCK] = {
    let mut secrets = [[0; STRIPE]; BLOCK];
    let mut index = 0;
    while index < BLOCK * STRIPE {
        secrets[index / STRIPE][index % STRIPE] = SECRET[index / STRIPE * 8 + index % STRIPE];
        index += 1;
    }
    secrets
};

/// A hash on its way through a content.
#[derive(Debug, Clone)]
pub struct Hash {
    level: Level,
    sums: [u64; 8],
    /// Stripes that are in the sums.
    stripes: usize,
}

impl Hash {
    /// At the beginning.
    pub const fn new(level: Level) -> Self {
        let sums = [PRIME32_3, PRIME64_1, PRIME64_2, PRIME64_3, PRIME64_4, PRIME32_2, PRIME64_5, PRIME32_1];
        Self { level, sums, stripes: 0 }
    }

    /// Goes on to the end of what is there of the content, which has more each time.
    pub fn advance(&mut self, content: &[u8]) {
        // The last stripe is another, and may be this one.
        let Some(before_last) = content.len().checked_sub(1) else { return };
        let (stripes, _) = content.get(..before_last).unwrap_or_default().as_chunks();
        add(self.level, &mut self.sums, stripes.get(self.stripes..).unwrap_or_default(), self.stripes);
        self.stripes = self.stripes.max(stripes.len());
    }

    /// The hash of the content up to this end.
    pub fn finish(mut self, content: &[u8]) -> u128 {
        let Some(last) = content.last_chunk().filter(|_| content.len() > SHORT) else {
            return XxHash3_128::oneshot(content);
        };
        self.advance(content);
        add_stripe(&mut self.sums, last, words(121));
        let length = content.len() as u64;
        let low = merged(&self.sums, 11, length.wrapping_mul(PRIME64_1));
        let high = merged(&self.sums, 117, !length.wrapping_mul(PRIME64_2));
        u128::from(high) << 64 | u128::from(low)
    }
}

/// Eight words of the secret.
fn words(start: usize) -> [u64; 8] {
    let (words, _) = SECRET.get(start..).unwrap_or_default().as_chunks();
    std::array::from_fn(|it| words.get(it).map_or(0, |it| u64::from_le_bytes(*it)))
}

/// Adds stripes of which the first is the content's `first`.
fn add(level: Level, sums: &mut [u64; 8], stripes: &[[u8; STRIPE]], first: usize) {
    #[cfg(target_arch = "x86_64")]
    if level.has_avx2() {
        // SAFETY: The processor has the instructions.
        return unsafe { avx2::add(sums, stripes, first) };
    }
    let _ = level;
    for (index, stripe) in (first..).zip(stripes) {
        add_stripe(sums, stripe, words(index % BLOCK * 8));
        if index % BLOCK == BLOCK - 1 {
            for (sum, secret) in sums.iter_mut().zip(words(SECRET.len() - STRIPE)) {
                *sum = (*sum ^ *sum >> 47 ^ secret).wrapping_mul(PRIME32_1);
            }
        }
    }
}

fn add_stripe(sums: &mut [u64; 8], stripe: &[u8; STRIPE], secret: [u64; 8]) {
    let (data, _) = stripe.as_chunks();
    let [a0, a1, a2, a3, a4, a5, a6, a7] = sums;
    let neighbours = [a1, a0, a3, a2, a5, a4, a7, a6];
    for (sum, data) in neighbours.into_iter().zip(data) {
        *sum = sum.wrapping_add(u64::from_le_bytes(*data));
    }
    for ((sum, data), secret) in sums.iter_mut().zip(data).zip(secret) {
        let value = u64::from_le_bytes(*data) ^ secret;
        *sum = sum.wrapping_add((value & 0xFFFF_FFFF) * (value >> 32));
    }
}

fn merged(sums: &[u64; 8], start: usize, first: u64) -> u64 {
    let secret = words(start);
    let (sums, _) = sums.as_chunks();
    let (secret, _) = secret.as_chunks();
    let pairs = sums.iter().zip(secret).map(|([a, b], [c, d]): (&[u64; 2], &[u64; 2])| {
        let product = u128::from(a ^ c) * u128::from(b ^ d);
        #[expect(clippy::cast_possible_truncation, reason = "both halves are taken")]
        {
            product as u64 ^ (product >> 64) as u64
        }
    });
    let sum = pairs.fold(first, u64::wrapping_add);
    let sum = (sum ^ sum >> 37).wrapping_mul(0x1656_6791_9E37_79F9);
    sum ^ sum >> 32
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::{
        __m256i, _mm256_add_epi64, _mm256_loadu_si256, _mm256_mul_epu32, _mm256_set1_epi64x, _mm256_shuffle_epi32,
        _mm256_slli_epi64, _mm256_srli_epi64, _mm256_storeu_si256, _mm256_xor_si256,
    };

    use super::{BLOCK, PRIME32_1, SECRET, SECRETS, STRIPE};

    /// As [`super::add`].
    #[target_feature(enable = "avx2")]
    pub fn add(sums: &mut [u64; 8], stripes: &[[u8; STRIPE]], first: usize) {
        let halves: *mut __m256i = sums.as_mut_ptr().cast();
        // SAFETY: The sums are two registers long.
        let (mut low, mut high) = unsafe { (_mm256_loadu_si256(halves), _mm256_loadu_si256(halves.add(1))) };
        let mut at = first % BLOCK;
        let mut rest = stripes;
        while !rest.is_empty() {
            let (now, later) = rest.split_at(rest.len().min(BLOCK - at));
            for (stripe, secret) in now.iter().zip(SECRETS.iter().skip(at)) {
                low = with(low, stripe.first_chunk(), secret.first_chunk());
                high = with(high, stripe.last_chunk(), secret.last_chunk());
            }
            at += now.len();
            rest = later;
            if at == BLOCK {
                low = mixed(low, SECRET.last_chunk::<STRIPE>().and_then(|it| it.first_chunk()));
                high = mixed(high, SECRET.last_chunk());
                at = 0;
            }
        }
        // SAFETY: As above.
        unsafe {
            _mm256_storeu_si256(halves, low);
            _mm256_storeu_si256(halves.add(1), high);
        }
    }

    /// Half of 64 bytes, which has to be there.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn load(half: Option<&[u8; 32]>) -> __m256i {
        let half = half.unwrap_or(&[0; 32]);
        // SAFETY: It is a register long.
        unsafe { _mm256_loadu_si256(half.as_ptr().cast()) }
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn with(sums: __m256i, stripe: Option<&[u8; 32]>, secret: Option<&[u8; 32]>) -> __m256i {
        let data = load(stripe);
        let value = _mm256_xor_si256(data, load(secret));
        let product = _mm256_mul_epu32(value, _mm256_srli_epi64::<32>(value));
        let neighbours = _mm256_shuffle_epi32::<0b01_00_11_10>(data);
        _mm256_add_epi64(product, _mm256_add_epi64(sums, neighbours))
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn mixed(sums: __m256i, secret: Option<&[u8; 32]>) -> __m256i {
        let value = _mm256_xor_si256(sums, _mm256_srli_epi64::<47>(sums));
        let value = _mm256_xor_si256(value, load(secret));
        let prime = _mm256_set1_epi64x(PRIME32_1.cast_signed());
        let high = _mm256_mul_epu32(_mm256_srli_epi64::<32>(value), prime);
        _mm256_add_epi64(_mm256_mul_epu32(value, prime), _mm256_slli_epi64::<32>(high))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On every level, however the content comes.
    #[test]
    fn it_is_the_hash_of_any_other_program() {
        let content: Vec<u8> = (0..1000_u32).flat_map(|it| (it.wrapping_mul(it) << 7 ^ it).to_le_bytes()).collect();
        for level in Level::all() {
            for length in (0..600).chain([1023, 1024, 1025, 1088, 1089, 2047, 2048, 2049, 2112, 3137, 4000]) {
                let content = &content[..length];
                let expected = XxHash3_128::oneshot(content);
                assert_eq!(Hash::new(level).finish(content), expected, "{level} {length}");
                for step in [1, 63, 64, 65, 1000] {
                    let mut hash = Hash::new(level);
                    for end in (0..=length).step_by(step) {
                        hash.advance(&content[..end]);
                        if end % 5 == 0 {
                            assert_eq!(hash.clone().finish(&content[..end]), XxHash3_128::oneshot(&content[..end]));
                        }
                    }
                    assert_eq!(hash.finish(content), expected, "{level} {length} {step}");
                }
            }
        }
    }
}
