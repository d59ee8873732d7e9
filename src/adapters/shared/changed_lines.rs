//! The lines that a change adds and removes: how many, and a sketch of those that it adds.

use super::tools;
use crate::base::line_sketch::{self, SKETCH};
use crate::base::split;
use crate::base::text::SharedStr;

/// The bytes at the beginning of a file that is written whole whose lines are in its sketch. They have enough lines, and the time for
/// a file does not depend on its size.
pub const HEAD: usize = 1 << 12;

/// The smallest distinct hashes of some lines, in their order. A commit that contains the lines contains these hashes, and few others
/// do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sketch {
    hashes: [u32; SKETCH],
    /// The number of hashes that are known so far.
    count: usize,
}

impl Sketch {
    /// Adds a line, without its newline.
    pub fn add(&mut self, line: &[u8]) {
        if let Some(hash) = line_sketch::hash_of(line) {
            self.add_hash(hash);
        }
    }

    /// Adds the lines of another sketch.
    pub fn join(&mut self, other: &Self) {
        other.hashes().iter().for_each(|hash| self.add_hash(*hash));
    }

    /// The sketch of the lines of a text, or of those at its beginning.
    pub fn of_text(text: &str) -> Self {
        let mut sketch = Self::default();
        let head = text.as_bytes().get(..HEAD).map_or(text.len(), |head| memchr::memrchr(b'\n', head).unwrap_or(0));
        split::lines(text.get(..head).unwrap_or_default()).for_each(|line| sketch.add(line.as_bytes()));
        sketch
    }

    /// As tables contain it.
    pub fn text(&self) -> SharedStr {
        line_sketch::to_text(self.hashes()).into()
    }

    fn hashes(&self) -> &[u32] {
        self.hashes.get(..self.count).unwrap_or_default()
    }

    fn add_hash(&mut self, hash: u32) {
        // Most lines of a large file are not among the smallest.
        if self.count == SKETCH && self.hashes.last().is_some_and(|largest| *largest <= hash) {
            return;
        }
        let Err(at) = self.hashes().binary_search(&hash) else { return };
        self.count = SKETCH.min(self.count + 1);
        if let Some(after) = self.hashes.get_mut(at..self.count) {
            after.rotate_right(1);
            if let Some(first) = after.first_mut() {
                *first = hash;
            }
        }
    }
}

/// The lines that a change adds and removes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ChangedLines {
    /// Lines added.
    pub added: i64,
    /// Lines removed.
    pub removed: i64,
    /// The sketch of those that are added; `None` if only their number is known.
    pub sketch: Option<Sketch>,
}

impl ChangedLines {
    /// Without lines.
    pub fn none() -> Self {
        Self { sketch: Some(Sketch::default()), ..Self::default() }
    }

    /// The numbers of added and removed lines that the log does not show.
    pub const fn counted((added, removed): (i64, i64)) -> Self {
        Self { added, removed, sketch: None }
    }

    /// The lines of a file that is written whole and did not exist.
    pub fn written(text: &str) -> Self {
        Self { added: tools::line_count(text), removed: 0, sketch: Some(Sketch::of_text(text)) }
    }

    /// The same with a sketch, if it has none.
    #[must_use]
    pub fn or_sketch(self, sketch: impl FnOnce() -> Option<Sketch>) -> Self {
        Self { sketch: self.sketch.or_else(sketch), ..self }
    }

    /// Adds a line.
    pub fn add(&mut self, line: &[u8]) {
        self.added += 1;
        if let Some(sketch) = &mut self.sketch {
            sketch.add(line);
        }
    }

    /// The lines of two changes of one file.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let sketch = self.sketch.zip(other.sketch).map(|(mut sketch, other)| {
            sketch.join(&other);
            sketch
        });
        Self { added: self.added + other.added, removed: self.removed + other.removed, sketch }
    }

    /// The numbers of added and removed lines.
    pub const fn counts(self) -> (i64, i64) {
        (self.added, self.removed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sketch_has_the_smallest_distinct_hashes() {
        let lines: Vec<String> = (0..100).map(|it| format!("    let line_{it} = {it};")).collect();
        let expected = &line_sketch::hashes(lines.iter().map(String::as_bytes))[..SKETCH];
        let mut sketch = Sketch::default();
        lines.iter().chain(&lines).for_each(|line| sketch.add(line.as_bytes()));
        assert_eq!(sketch.hashes(), expected);
        assert_eq!(sketch, Sketch::of_text(&lines.join("\n")));
        assert_eq!(sketch.text().len(), 8 * SKETCH);

        // The sketch of all lines follows from those of their parts.
        let (first, second) = lines.split_at(40);
        let mut joined = Sketch::of_text(&first.join("\n"));
        joined.join(&Sketch::of_text(&second.join("\r\n")));
        assert_eq!(joined, sketch);
        assert_eq!(Sketch::of_text("}\n\n  return;\n"), Sketch::default());

        // Of a large file, only whole lines at its beginning.
        let line = "    let line = 1;\n";
        let large = line.repeat(HEAD / line.len() + 1) + "a line that is cut";
        assert_eq!(Sketch::of_text(&large), Sketch::of_text(line));
        assert_eq!(Sketch::of_text(&"x".repeat(2 * HEAD)), Sketch::default());
    }
}
