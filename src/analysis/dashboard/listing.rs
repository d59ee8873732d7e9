//! Which sessions the page lists, and which of them have a timeline.
#![cfg_attr(
    not(test),
    expect(
        clippy::indexing_slicing,
        reason = "columns have the length of their frame, and indexes are those of its rows"
    )
)]

use std::cmp::Reverse;
use std::collections::HashSet;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use polars::prelude::{DataFrame, PolarsResult};

use super::sessions::{Grouped, Selection, Sessions, Sums};
use super::table::{Table, money, number, texts, whole};
use super::timelines::MAX_ROWS;
use super::vocabulary::Vocabulary;
use crate::analysis::show::short_ids;
use crate::store::frames::sessions;

/// The maximum number of sessions that the page lists completely. Of more sessions it lists [`MAX_NAMED`], as ids compress
/// badly.
const MAX_ALL_NAMED: usize = 20_000;
const MAX_NAMED: usize = 5_000;
/// The maximum number of timelines, and of their rows.
const MAX_TIMELINES: usize = 400;
const MAX_TIMELINE_ROWS: i64 = 24_000;
/// Replaces a cost or a number of tokens that is the sum of the session's cells, as nearly all are.
const SUM_OF_CELLS: i64 = -1;

/// The sessions that the page lists, as positions in [`Selection::shown`].
pub struct Listing {
    /// All of them, the most interesting first.
    pub named: Vec<usize>,
    /// Those with a timeline, sorted.
    pub with_timeline: Vec<usize>,
}

impl Listing {
    /// Chooses the sessions. `failed` are the positions of those whose trial failed.
    pub fn new(all: &Sessions<'_>, selection: &Selection, sums: &Sums, failed: &HashSet<usize>) -> Self {
        let mut named = by_interest(all, selection, sums, failed);
        if named.len() > MAX_ALL_NAMED {
            named.truncate(MAX_NAMED);
        }
        let mut rows = 0;
        let mut with_timeline: Vec<usize> = Vec::new();
        for position in &named {
            let index = selection.shown[*position];
            let estimate = all.turns[index].unwrap_or(1) + all.calls[index].unwrap_or_default() + 2;
            let estimate = estimate.min(number(MAX_ROWS) * 2);
            if with_timeline.len() < MAX_TIMELINES && rows + estimate <= MAX_TIMELINE_ROWS {
                rows += estimate;
                with_timeline.push(*position);
            }
        }
        with_timeline.sort_unstable();
        Self { named, with_timeline }
    }

    /// The runtimes and ids of the sessions with a timeline.
    ///
    /// # Errors
    /// Never: both columns have the same length.
    pub fn keys_with_timeline(&self, all: &Sessions<'_>, selection: &Selection) -> PolarsResult<DataFrame> {
        all.keys(self.with_timeline.iter().map(|position| selection.shown[*position]))
    }

    /// The table of the selected sessions, in order. Only listed sessions have an id and a message.
    ///
    /// # Errors
    /// When a column is missing or has another type.
    pub fn table(&self, grouped: Grouped<'_>, sums: &Sums, words: &Vocabulary, zone: &TimeZone) -> PolarsResult<Table> {
        let Grouped { all, selection, groups } = grouped;
        let minute = |micros: i64| {
            let offset = zone.to_offset(Timestamp::from_microsecond(micros).ok()?).seconds();
            Some((micros.div_euclid(1_000_000) + i64::from(offset)).div_euclid(60))
        };
        let mut table = Table::default();
        table.indexes("group", groups.iter().copied());
        table.deltas("started", selection.pick(&all.started).into_iter().map(|start| minute(start?)));
        let is_listed = selection.pick(&all.is_listed).into_iter();
        table.numbers("listed", is_listed.map(|flag| Some(flag.unwrap_or_default())));
        for name in [
            sessions::DURATION_MS,
            sessions::TURNS,
            sessions::TOOL_CALLS,
            sessions::TOOL_ERRORS,
            sessions::COMPACTIONS,
            sessions::RETRIES,
            sessions::SUBAGENTS,
        ] {
            table.numbers(name, selection.pick(&whole(all.frame, name)?));
        }
        // Most sessions have none.
        let children = selection.pick(&whole(all.frame, sessions::DESCENDANTS)?);
        let of_parents = |values: Vec<Option<i64>>| {
            let values = selection.pick(&values).into_iter().zip(children.clone());
            values.map(|(value, children)| value.filter(|_| children > Some(0))).collect::<Vec<_>>()
        };
        table.numbers("inclusive_cost", of_parents(money(all.frame, sessions::INCLUSIVE_COST_USD)?));
        let missing = whole(all.frame, sessions::MISSING_DESCENDANTS)?;
        table.numbers(sessions::MISSING_DESCENDANTS, of_parents(missing));
        table.numbers(sessions::DESCENDANTS, children.iter().map(|count| count.filter(|count| *count > 0)));
        table.numbers("usage", words.usage.indexes(all.texts(sessions::USAGE, selection)?));
        table.numbers(sessions::ERROR_KIND, words.error_kind.indexes(all.texts(sessions::ERROR_KIND, selection)?));
        let unless_sum = |values: &[Option<i64>], sums: &[Option<i64>]| {
            let pairs = selection.pick(values).into_iter().zip(sums.to_vec());
            pairs.map(|(value, sum)| if value == sum { Some(SUM_OF_CELLS) } else { value }).collect::<Vec<_>>()
        };
        table.numbers("cost", unless_sum(&money(all.frame, "listed_cost_usd")?, &sums.cost));
        table.numbers("tokens", unless_sum(&whole(all.frame, "listed_tokens")?, &sums.tokens));
        let mut is_named = vec![false; selection.shown.len()];
        for position in &self.named {
            is_named[*position] = true;
        }
        for (name, values) in [("id", &all.id), (sessions::ERROR_MESSAGE, &texts(all.frame, sessions::ERROR_MESSAGE)?)]
        {
            let values = selection.pick(values).into_iter().zip(&is_named);
            table.texts(name, values.map(|(text, is_named)| text.filter(|_| *is_named)));
        }
        let ids = selection.pick(&all.id);
        let short =
            short_ids(&ids.iter().map(|id| id.unwrap_or_default()).collect::<Vec<_>>(), all.id.iter().flatten());
        let lengths = short.iter().zip(&is_named).map(|(id, is_named)| is_named.then(|| number(id.chars().count())));
        table.numbers("id_length", lengths.map(|length| Some(length.unwrap_or_default())));
        Ok(table)
    }
}

/// The positions of all sessions by interest: in turn the most expensive, the newest, the longest and the latest one that failed, or
/// whose trial failed.
fn by_interest(all: &Sessions<'_>, selection: &Selection, sums: &Sums, failed: &HashSet<usize>) -> Vec<usize> {
    let positions = || (0..selection.shown.len()).collect::<Vec<_>>();
    let mut most_expensive = positions();
    most_expensive.sort_by_key(|position| Reverse(sums.cost[*position]));
    let mut longest = positions();
    longest.sort_by_key(|position| Reverse(all.turns[selection.shown[*position]]));
    let newest = positions().into_iter().rev();
    let is_failed =
        |position: &usize| all.status[selection.shown[*position]] == Some("error") || failed.contains(position);
    let failed = newest.clone().filter(is_failed);
    let mut orders: [Box<dyn Iterator<Item = usize>>; 4] =
        [Box::new(most_expensive.into_iter()), Box::new(newest), Box::new(longest.into_iter()), Box::new(failed)];
    let mut seen = vec![false; selection.shown.len()];
    let mut sorted = Vec::with_capacity(seen.len());
    while sorted.len() < seen.len() {
        for order in &mut orders {
            sorted.extend(order.find(|position| !std::mem::replace(&mut seen[*position], true)));
        }
    }
    sorted
}

#[cfg(test)]
mod tests {
    use polars::prelude::*;

    use super::*;

    /// A frame of sessions with 40 turns and 40 calls each.
    fn frame(sessions: usize) -> DataFrame {
        let ids: Vec<String> = (0..sessions).map(|it| it.to_string()).collect();
        let text = |it: &str| vec![it.to_owned(); sessions];
        let counts = |it: i64| vec![it; sessions];
        let labels = ListChunked::full_null_with_dtype("labels".into(), sessions, &DataType::String).into_column();
        let mut frame = df!(
            "runtime" => text("claude"), "session_id" => ids, "model" => text("m"), "project" => text("p"),
            "status" => text("success"), "started_at" => counts(0), "turns" => counts(40), "tool_calls" => counts(40),
            "is_listed" => counts(1),
        )
        .unwrap();
        frame.with_column(labels).unwrap();
        frame
    }

    /// The size of a page is bounded, whatever the number of sessions.
    #[test]
    fn a_page_lists_a_bounded_number_of_sessions() {
        for (sessions, listed) in
            [(0, 0), (100, 100), (MAX_ALL_NAMED, MAX_ALL_NAMED), (MAX_ALL_NAMED + 1, MAX_NAMED), (100_000, MAX_NAMED)]
        {
            let frame = frame(sessions);
            let all = Sessions::read(&frame).unwrap();
            let selection = Selection { shown: (0..sessions).collect(), position: (0..sessions).map(Some).collect() };
            let cost: Vec<_> = (0..sessions).map(|it| Some(number(it))).collect();
            let Listing { named, with_timeline } =
                Listing::new(&all, &selection, &Sums { tokens: cost.clone(), cost }, &HashSet::new());
            assert_eq!(named.len(), listed);
            assert_eq!(named.iter().collect::<HashSet<_>>().len(), listed, "each once");
            let most = usize::try_from(MAX_TIMELINE_ROWS).unwrap() / 82;
            assert_eq!(with_timeline.len(), sessions.min(most).min(MAX_TIMELINES));
            // The last session is the most expensive one.
            assert_eq!(with_timeline.last().copied(), sessions.checked_sub(1));
        }
    }
}
