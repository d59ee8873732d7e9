//! Differences that the days around explain: a request is logged when it is answered, and billed up to a day later.

use std::collections::BTreeMap;

use super::amounts::is_near;
use super::key::Key;
use super::row::{Measure, Outcome, Row};

/// Explains what is on the bill only by what is in the logs only of the days around: those before first, the nearest first.
pub(super) fn explain(rows: &mut [Row], delay: u16, measure: Measure, tolerance: f64) {
    let mut by_day: BTreeMap<Key, BTreeMap<i32, usize>> = BTreeMap::new();
    for (index, row) in rows.iter().enumerate() {
        let Some(day) = row.key.day else { continue };
        by_day.entry(Key { day: None, ..row.key.clone() }).or_default().insert(day.0, index);
    }
    let distances = || (1..=i32::from(delay)).flat_map(|distance| [-distance, distance]);
    for days in by_day.values() {
        for (day, index) in days {
            let around = distances().filter_map(|distance| days.get(&day.checked_add(distance)?));
            for other in around {
                exchange(rows, *index, *other, measure, tolerance);
            }
        }
    }
}

/// Explains an amount that one row has only on the bill by an amount that another row has only in the logs.
fn exchange(rows: &mut [Row], billed: usize, logged: usize, measure: Measure, tolerance: f64) {
    let (Some(on_bill), Some(in_logs)) = (rows.get(billed), rows.get(logged)) else { return };
    let amount = on_bill.parts.bill_only.min(in_logs.parts.logs_only);
    if amount <= 0.0 {
        return;
    }
    if let Some(row) = rows.get_mut(billed) {
        row.parts.bill_only -= amount;
        row.parts.explained += amount;
        row.parts.moved += amount;
        settle(row, measure, tolerance);
    }
    if let Some(row) = rows.get_mut(logged) {
        row.parts.logs_only -= amount;
        settle(row, measure, tolerance);
    }
}

/// Names a row whose difference is explained now.
fn settle(row: &mut Row, measure: Measure, tolerance: f64) {
    let largest = row.parts.bill.unwrap_or(0.0).max(row.parts.logs.unwrap_or(0.0));
    if is_near(largest, largest + row.unexplained(), tolerance, measure.least()) {
        row.outcome = Outcome::OtherDay;
    }
}
