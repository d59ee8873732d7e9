//! The interface of a block of 64 bytes.

#![cfg_attr(not(test), expect(clippy::indexing_slicing, reason = "a shorter rest is copied into an array of 64 bytes"))]
#![expect(clippy::inline_always, reason = "only code that is inlined into a function of a level uses its instructions")]

/// 64 bytes. In the bit sets that its methods return, the lowest bit is the first byte.
pub(in crate::json) trait Block: Copy {
    /// The block with these bytes.
    fn new(bytes: &[u8; 64]) -> Self;

    /// The bytes that are equal to this one.
    fn equal(self, byte: u8) -> u64;

    /// Whether one of the bytes is equal to this one.
    #[inline(always)]
    fn has(self, byte: u8) -> bool {
        self.equal(byte) != 0
    }

    /// Whether one of the bytes of two blocks is equal to this one.
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

    /// For each bit, the exclusive or of it and all lower bits.
    #[inline(always)]
    fn prefix_xor(bits: u64) -> u64 {
        [1, 2, 4, 8, 16, 32].into_iter().fold(bits, |bits, by| bits ^ bits << by)
    }

    /// The block that begins at `at`, with zeros after the end of the bytes. `None` at the end.
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
