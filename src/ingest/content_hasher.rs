//! Hashes a file while it is read, and releases the memory of the part that was read.

use crate::base::hash::Hash;
use crate::input::open;

/// So many bytes of a mapped file are in memory before some of them are released.
pub const WINDOW: usize = 16 << 20;

/// Hashes a content in the order in which it is read.
pub struct ContentHasher<'a> {
    content: &'a [u8],
    /// The file that the content is, unless the content was made from it.
    file: Option<&'a open::FileContent<'a>>,
    hash: Hash,
    hashed: usize,
    released: usize,
    /// A length at which the hash is wanted as well, until it is reached.
    mark: Option<usize>,
    at_mark: Option<u128>,
}

/// Hashes of a content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hashes {
    /// Of all of it.
    pub whole: u128,
    /// Of its beginning, up to the mark; `None` if the content is shorter, or there is no mark.
    pub at_mark: Option<u128>,
}

impl<'a> ContentHasher<'a> {
    /// Begins with nothing hashed. `mark` is a length at which the hash is wanted as well.
    pub fn new(content: &'a [u8], file: Option<&'a open::FileContent<'a>>, mark: Option<usize>) -> Self {
        Self { content, file, hash: Hash::new(), hashed: 0, released: 0, mark, at_mark: None }
    }

    /// Hashes the content up to `end`, and releases the memory of what was read.
    pub fn advance(&mut self, end: usize) {
        let end = end.min(self.content.len());
        if let Some(mark) = self.mark.filter(|mark| self.hashed <= *mark && *mark <= end) {
            self.mark = None;
            self.at_mark = self.content.get(..mark).map(|beginning| self.hash.clone().finish(beginning));
        }
        self.hash.advance(self.content.get(..end).unwrap_or_default());
        self.hashed = self.hashed.max(end);
        if let Some(file) = self.file
            && end >= self.released + WINDOW
        {
            file.release(self.released, end);
            self.released = end;
        }
    }

    /// The content is read again from its beginning. It is not hashed again.
    pub const fn restart(&mut self) {
        self.released = 0;
    }

    /// Hashes the rest of the content.
    pub fn finish(mut self) -> Hashes {
        while self.hashed + WINDOW < self.content.len() {
            self.advance(self.hashed + WINDOW);
        }
        self.advance(self.content.len());
        Hashes { whole: self.hash.finish(self.content), at_mark: self.at_mark }
    }
}

#[cfg(test)]
mod tests {
    use twox_hash::XxHash3_128;

    use super::*;

    #[test]
    fn a_content_has_one_hash_however_it_is_read() {
        let content: Vec<u8> = (0..5_000_000_u32).flat_map(u32::to_le_bytes).collect();
        assert!(content.len() > WINDOW);
        for (content, mark) in [(&content[..], 7_000_001), (&content[..5000], 1000), (&content[..0], 0)] {
            let expected =
                Hashes { whole: XxHash3_128::oneshot(content), at_mark: Some(XxHash3_128::oneshot(&content[..mark])) };
            for step in [1 << 18, 3000, mark.max(1), usize::MAX] {
                let mut hasher = ContentHasher::new(content, None, Some(mark));
                for end in (0..content.len()).step_by(step) {
                    hasher.advance(end);
                    if end % 5 == 0 {
                        hasher.restart();
                        hasher.advance(end / 2);
                    }
                }
                assert_eq!(hasher.finish(), expected, "{} in steps of {step}", content.len());
            }
            let beyond = ContentHasher::new(content, None, Some(content.len() + 1));
            assert_eq!(beyond.finish().at_mark, None);
        }
    }
}
