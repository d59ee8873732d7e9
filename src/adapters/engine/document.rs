//! The physical lines of the values inside a document, so that a row can name the line of its value.

use crate::json::Raw;
use crate::json::lines::Line;

/// Counts lines from one value of a document to the next, each byte once.
#[derive(Debug)]
pub(crate) struct LineNumbers<'a> {
    document: Line<'a>,
    at: usize,
    number: i64,
}

impl<'a> LineNumbers<'a> {
    /// Starts at the beginning of a document.
    pub(crate) const fn new(document: Line<'a>) -> Self {
        Self { document, at: 0, number: document.number }
    }

    /// The line where a value begins. The caller asks for values in their order in the document.
    pub(crate) fn line_of(&mut self, value: Raw<'_>) -> i64 {
        let bytes = self.document.bytes;
        // A value is a slice of the document's bytes. Other slices get the line of the previous value.
        let offset = value.0.as_ptr().addr().wrapping_sub(bytes.as_ptr().addr());
        if let Some(between) = bytes.get(self.at..offset) {
            self.number += i64::try_from(memchr::memchr_iter(b'\n', between).count()).unwrap_or(0);
            self.at = offset;
        }
        self.number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_on_their_lines() {
        let bytes = b"[\n {\"a\": 1},\n\n {\"b\":\n 2}, {\"c\": 3}\n]";
        let values: Vec<Raw<'_>> = crate::json::from_slice(bytes).unwrap();
        let mut line_numbers = LineNumbers::new(Line { number: 10, bytes });
        assert_eq!(values.iter().map(|it| line_numbers.line_of(*it)).collect::<Vec<_>>(), [11, 13, 14]);
        assert_eq!(line_numbers.line_of(values[0]), 14);
    }
}
