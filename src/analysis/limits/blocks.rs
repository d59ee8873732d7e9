//! Windows that no runtime logged, from the times of the turns: see docs/reports.md#computed-windows.

use crate::base::time::{DAY_MICROS, HOUR_MICROS, Time};

const FIVE_HOURS_MICROS: i64 = 5 * HOUR_MICROS;
/// A week in microseconds.
pub const WEEK_MICROS: i64 = 7 * DAY_MICROS;

/// A window, and the times of its first and its last turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    pub starts_at: Time,
    pub ends_at: Time,
    pub first: Time,
    pub last: Time,
}

/// The windows of five hours of sorted times: each begins with the hour of its first turn. A turn begins a new window if it is
/// more than five hours after the start of the current one, or after the turn before it.
pub fn five_hours(times: impl Iterator<Item = Time>) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    for time in times {
        match blocks.last_mut() {
            Some(block)
                if after(block.starts_at, time) <= FIVE_HOURS_MICROS
                    && after(block.last, time) <= FIVE_HOURS_MICROS =>
            {
                block.last = time;
            }
            _ => blocks.push(block(time.micros().div_euclid(HOUR_MICROS) * HOUR_MICROS, FIVE_HOURS_MICROS, time)),
        }
    }
    blocks
}

/// The weeks of sorted times, from Monday on, in UTC.
pub fn weeks(times: impl Iterator<Item = Time>) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    for time in times {
        match blocks.last_mut() {
            Some(block) if time < block.ends_at => block.last = time,
            _ => blocks.push(block(i64::from(time.week()) * DAY_MICROS, WEEK_MICROS, time)),
        }
    }
    blocks
}

impl Block {
    /// Whether it is the current window of five hours: it has not ended, and the last turn was less than five hours ago.
    pub fn is_active_five_hours(&self, now: Time) -> bool {
        self.starts_at <= now && now < self.ends_at && after(self.last, now) < FIVE_HOURS_MICROS
    }

    /// Whether it is the current week.
    pub fn is_active_week(&self, now: Time) -> bool {
        self.starts_at <= now && now < self.ends_at
    }
}

fn block(start: i64, length: i64, first: Time) -> Block {
    let ends_at = Time::from_micros(start.saturating_add(length));
    Block { starts_at: Time::from_micros(start), ends_at, first, last: first }
}

/// The microseconds from one time to another.
const fn after(from: Time, until: Time) -> i64 {
    until.micros().saturating_sub(from.micros())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(text: &str) -> Time {
        Time::parse(&format!("2026-10-{text}Z")).unwrap()
    }

    fn five_hours_of(times: &[&str]) -> Vec<(String, usize)> {
        let blocks = five_hours(times.iter().map(|it| time(it)));
        let count = |block: &Block| times.iter().filter(|it| (block.first..=block.last).contains(&time(it))).count();
        blocks.iter().map(|block| (block.starts_at.to_string(), count(block))).collect()
    }

    /// The cases are those of the tests of ccusage.
    #[test]
    fn a_block_begins_with_the_hour_and_ends_after_five() {
        let blocks = |expected: &[(&str, usize)]| -> Vec<(String, usize)> {
            expected.iter().map(|(start, count)| (time(start).to_string(), *count)).collect()
        };
        for (times, expected) in [
            (vec!["01T10:55:30"], vec![("01T10:00:00", 1)]),
            (vec!["01T10:00:00", "01T11:00:00", "01T12:00:00"], vec![("01T10:00:00", 3)]),
            // A turn exactly at the end still belongs to the block.
            (vec!["01T10:00:00", "01T15:00:00"], vec![("01T10:00:00", 2)]),
            (vec!["01T10:30:00", "01T14:00:00", "01T15:00:01"], vec![("01T10:00:00", 2), ("01T15:00:00", 1)]),
            (vec!["01T10:00:00", "01T12:00:00", "01T18:10:00"], vec![("01T10:00:00", 2), ("01T18:00:00", 1)]),
            (vec![], vec![]),
        ] {
            assert_eq!(five_hours_of(&times), blocks(&expected), "{times:?}");
        }
    }

    #[test]
    fn a_block_is_active_until_its_end() {
        let blocks = five_hours([time("01T10:30:00"), time("01T11:00:00")].into_iter());
        let is_active = |text| blocks[0].is_active_five_hours(time(text));
        assert_eq!(
            ["01T09:59:59", "01T11:00:00", "01T14:59:59", "01T15:00:00"].map(is_active),
            [false, true, true, false]
        );
    }

    #[test]
    fn weeks_begin_on_monday() {
        let found = weeks(["04T23:59:59", "05T00:00:00", "11T23:59:59", "20T12:00:00"].map(time).into_iter());
        let starts: Vec<String> = found.iter().map(|block| block.starts_at.to_string()).collect();
        assert_eq!(starts, ["2026-09-28T00:00:00Z", "2026-10-05T00:00:00Z", "2026-10-19T00:00:00Z"]);
        assert!(found[1].is_active_week(time("11T23:59:59")) && !found[1].is_active_week(time("12T00:00:00")));
    }
}
