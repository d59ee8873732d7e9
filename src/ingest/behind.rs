//! What happens behind the reader of a file: its content is hashed, and the memory of what was read is given back.

use crate::base::hash::Hash;
use crate::input::log;

/// So much of a file is in memory before some of it is given back.
pub const WINDOW: usize = 16 << 20;

/// The hash of a file's content, which follows its reader.
pub struct Behind<'a> {
    content: &'a [u8],
    /// Where the content is mapped, if it is.
    log: Option<&'a log::Content<'a>>,
    hash: Hash,
    hashed: usize,
    given_back: usize,
    /// A length at which the hash is asked for as well, and the hash there.
    mark: Option<usize>,
    at_mark: Option<u128>,
}

/// Hashes of a content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hashes {
    /// Of all of it.
    pub whole: u128,
    /// Of as much as was asked for; none if it has less.
    pub at_mark: Option<u128>,
}

impl<'a> Behind<'a> {
    /// At the beginning. `mark` is a length at which the hash is asked for as well.
    pub fn new(content: &'a [u8], log: Option<&'a log::Content<'a>>, mark: Option<usize>) -> Self {
        Self { content, log, hash: Hash::new(), hashed: 0, given_back: 0, mark, at_mark: None }
    }

    /// All before `part` of the content was read.
    pub fn passed(&mut self, part: &[u8]) {
        let end = part.as_ptr().addr().saturating_sub(self.content.as_ptr().addr()).min(self.content.len());
        self.hash_to(end);
        if let Some(log) = self.log
            && end >= self.given_back + WINDOW
        {
            log.give_back(self.given_back, end);
            self.given_back = end;
        }
    }

    /// It is read once more.
    pub const fn again(&mut self) {
        self.given_back = 0;
    }

    fn hash_to(&mut self, end: usize) {
        if let Some(mark) = self.mark.filter(|it| self.hashed <= *it && *it <= end) {
            self.mark = None;
            self.at_mark = self.content.get(..mark).map(|it| self.hash.clone().finish(it));
        }
        self.hash.advance(self.content.get(..end).unwrap_or_default());
        self.hashed = self.hashed.max(end);
    }

    /// The hashes, for which the rest of the content is read.
    pub fn finish(mut self) -> Hashes {
        for rest in self.content.get(self.hashed..).unwrap_or_default().chunks(WINDOW) {
            self.passed(rest);
        }
        self.hash_to(self.content.len());
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
                let mut behind = Behind::new(content, None, Some(mark));
                for start in (0..content.len()).step_by(step) {
                    behind.passed(&content[start..]);
                    if start % 5 == 0 {
                        // What was passed may be passed again.
                        behind.again();
                        behind.passed(&content[start / 2..]);
                    }
                }
                assert_eq!(behind.finish(), expected, "{} in steps of {step}", content.len());
            }
            assert_eq!(Behind::new(content, None, Some(content.len() + 1)).finish().at_mark, None);
        }
    }
}
