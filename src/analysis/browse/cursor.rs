//! The selected row, and which rows are visible.

/// A movement of the cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Motion {
    Up,
    Down,
    PageUp,
    PageDown,
    HalfPageUp,
    HalfPageDown,
    First,
    Last,
}

/// The selected row of a list, and its first visible row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Cursor {
    pub selected: usize,
    pub top: usize,
}

impl Cursor {
    /// Moves in a list of `count` rows, of which `height` are visible.
    pub fn go(&mut self, motion: Motion, count: usize, height: usize) {
        let page = height.max(1);
        let selected = match motion {
            Motion::Up => self.selected.saturating_sub(1),
            Motion::Down => self.selected + 1,
            Motion::PageUp => self.selected.saturating_sub(page),
            Motion::PageDown => self.selected + page,
            Motion::HalfPageUp => self.selected.saturating_sub(page.div_ceil(2)),
            Motion::HalfPageDown => self.selected + page.div_ceil(2),
            Motion::First => 0,
            Motion::Last => count,
        };
        self.select(selected, count, height);
    }

    /// Selects a row, or the last one, and makes it visible.
    pub fn select(&mut self, row: usize, count: usize, height: usize) {
        self.selected = row.min(count.saturating_sub(1));
        let first = (self.selected + 1).saturating_sub(height.max(1));
        // No empty lines after the last row.
        let last = self.selected.min(count.saturating_sub(height));
        self.top = self.top.max(first).min(last.max(first));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_selected_row_is_visible_and_exists() {
        let mut cursor = Cursor::default();
        let mut went = |motion, count, height| {
            cursor.go(motion, count, height);
            (cursor.selected, cursor.top)
        };
        assert_eq!(went(Motion::Down, 10, 3), (1, 0));
        assert_eq!(went(Motion::PageDown, 10, 3), (4, 2));
        assert_eq!(went(Motion::Last, 10, 3), (9, 7));
        assert_eq!(went(Motion::Down, 10, 3), (9, 7));
        assert_eq!(went(Motion::HalfPageUp, 10, 3), (7, 7));
        assert_eq!(went(Motion::Up, 10, 3), (6, 6));
        // A terminal that becomes higher shows rows before, one that becomes lower keeps the selection.
        assert_eq!(went(Motion::Down, 10, 8), (7, 2));
        assert_eq!(went(Motion::Up, 10, 1), (6, 6));
        assert_eq!(went(Motion::PageUp, 10, 20), (0, 0));
        assert_eq!(went(Motion::Down, 0, 3), (0, 0));
        assert_eq!(went(Motion::Last, 0, 0), (0, 0));
    }
}
