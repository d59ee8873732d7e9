//! Blocks of lines, of which a terminal shows as much as fits.

use super::style::{Look, Space, cut_line, visible_width};

/// The forms of a block, from the shortest to the longest one.
pub(super) const LEVELS: usize = 5;

/// The form of all blocks where the height is not limited.
const UNLIMITED: usize = 2;

/// From this width on, blocks are in two columns.
const TWO_COLUMNS: usize = 160;

/// The space between two columns.
const GAP: usize = 4;

/// Lines that belong together.
pub(super) struct Block {
    /// The higher its rank, the earlier a block is left out. The first one is always shown.
    pub rank: usize,
    /// Whether it is in the second of two columns.
    pub is_second: bool,
    /// Its lines at each level. A block without lines is not shown.
    forms: [Vec<String>; LEVELS],
}

impl Block {
    pub fn new(rank: usize, is_second: bool, form: impl FnMut(usize) -> Vec<String>) -> Self {
        let mut levels = 0..LEVELS;
        Self { rank, is_second, forms: [(); LEVELS].map(|()| levels.next().unwrap_or(0)).map(form) }
    }

    fn lines(&self, level: Option<usize>) -> &[String] {
        level.and_then(|level| self.forms.get(level)).map_or(&[], Vec::as_slice)
    }
}

/// The width of the blocks.
pub(super) fn block_width(look: &Look) -> usize {
    let width = look.width();
    if width >= TWO_COLUMNS { (width - GAP) / 2 } else { width }
}

/// The blocks as lines, in this order.
pub(super) fn laid_out(blocks: &[Block], look: &Look) -> Vec<String> {
    let Some(Space { width, height }) = look.space else {
        return joined(blocks.iter().map(|block| block.lines(Some(UNLIMITED))));
    };
    let all: Vec<&Block> = blocks.iter().collect();
    let lines = if look.width() < TWO_COLUMNS {
        fitted(&all, height)
    } else {
        let (second, first): (Vec<&Block>, Vec<&Block>) = all.into_iter().partition(|block| block.is_second);
        beside(&fitted(&first, height), &fitted(&second, height), block_width(look) + GAP)
    };
    lines.iter().take(height).map(|line| cut_line(line, width)).collect()
}

/// As much of the blocks as fits: first the shortest form of each, by rank, then longer ones.
fn fitted(blocks: &[&Block], height: usize) -> Vec<String> {
    let mut order: Vec<usize> = (0..blocks.len()).collect();
    order.sort_by_key(|index| blocks.get(*index).map(|block| block.rank));
    let mut levels: Vec<Option<usize>> = vec![None; blocks.len()];
    let of = |levels: &[Option<usize>]| joined(blocks.iter().zip(levels).map(|(block, level)| block.lines(*level)));
    for level in 0..LEVELS {
        for index in &order {
            let mut longer = levels.clone();
            if let Some(chosen) = longer.get_mut(*index) {
                *chosen = Some(level);
            }
            if of(&longer).len() <= height || (level == 0 && order.first() == Some(index)) {
                levels = longer;
            }
        }
    }
    of(&levels)
}

/// Blocks with empty lines between them. Blocks of one line follow each other, and the first block, without one.
fn joined<'b>(blocks: impl Iterator<Item = &'b [String]>) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut lines_before = 0;
    for (index, block) in blocks.filter(|block| !block.is_empty()).enumerate() {
        let is_close = block.len() == 1 && (index == 1 || lines_before == 1);
        if index > 0 && !is_close {
            out.push(String::new());
        }
        out.extend_from_slice(block);
        lines_before = block.len();
    }
    out
}

/// Two columns as one, the second one from this column on.
fn beside(first: &[String], second: &[String], from: usize) -> Vec<String> {
    let line = |index: usize| {
        let left = first.get(index).map_or("", String::as_str);
        let right = second.get(index).map_or("", String::as_str);
        format!("{left}{:1$}{right}", "", from.saturating_sub(visible_width(left)))
    };
    (0..first.len().max(second.len())).map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(rank: usize, name: &str, lines: [usize; LEVELS]) -> Block {
        Block::new(rank, rank > 1, |level| (0..lines[level]).map(|line| format!("{name}{line}")).collect())
    }

    fn shown(width: usize, height: usize) -> String {
        let blocks = [block(0, "a", [2; 5]), block(2, "b", [1, 1, 2, 3, 4]), block(1, "c", [1, 2, 3, 4, 5])];
        let look = Look { space: Some(Space { width, height }), ..Look::default() };
        laid_out(&blocks, &look).join("|")
    }

    #[test]
    fn blocks_have_as_many_lines_as_fit() {
        assert_eq!(shown(80, 1), "a0");
        assert_eq!(shown(80, 3), "a0|a1|c0");
        assert_eq!(shown(80, 4), "a0|a1|b0|c0");
        assert_eq!(shown(80, 6), "a0|a1|b0||c0|c1");
        assert_eq!(shown(80, 99), "a0|a1||b0|b1|b2|b3||c0|c1|c2|c3|c4");
    }

    #[test]
    fn wide_terminals_have_two_columns() {
        let second = format!("a0{:80}b0|a1{:80}b1|c0{:80}b2", "", "", "");
        assert_eq!(shown(160, 3), second);
    }
}
