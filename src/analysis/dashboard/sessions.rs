//! The sessions of a page: which it shows, what they have in common, which are named and which open.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use polars::prelude::*;

use super::Vocabulary;
use super::table::{Table, money, number, texts, whole};
use crate::model::session::add;

/// So many sessions the page lists all. Of more it lists some, for their ids are what packs worst: the dearest, the newest,
/// the longest and those that failed.
const ALL_NAMED: usize = 20_000;
const NAMED: usize = 5_000;
/// Sessions that open to a timeline, at most, and the rows of all their timelines.
const OPENED: usize = 400;
const OPENED_ROWS: i64 = 24_000;
/// Values of a label. One that has more names sessions rather than kinds of them.
const VALUES: usize = 500;
/// Stands for the sum of a session's cells, as which nearly every cost and number of tokens is.
const AS_CELLS: i64 = -1;

type Key<'a> = (&'a str, &'a str);

/// Every session of the archive, in the order of their start.
pub struct Sessions<'a> {
    frame: &'a DataFrame,
    by_key: HashMap<Key<'a>, usize>,
    pub runtime: Vec<Option<&'a str>>,
    id: Vec<Option<&'a str>>,
    pub model: Vec<Option<&'a str>>,
    pub project: Vec<Option<&'a str>>,
    pub status: Vec<Option<&'a str>>,
    /// In microseconds.
    pub started: Vec<Option<i64>>,
    turns: Vec<Option<i64>>,
    calls: Vec<Option<i64>>,
    is_listed: Vec<Option<i64>>,
    labels: Vec<Vec<String>>,
}

fn key<'a>(runtime: Option<&'a str>, id: Option<&'a str>) -> Key<'a> {
    (runtime.unwrap_or_default(), id.unwrap_or_default())
}

impl<'a> Sessions<'a> {
    pub fn read(frame: &'a DataFrame) -> PolarsResult<Self> {
        let (runtime, id) = (texts(frame, "runtime")?, texts(frame, "session_id")?);
        let by_key = runtime.iter().zip(&id).enumerate().map(|(at, (runtime, id))| (key(*runtime, *id), at)).collect();
        let labels = frame.column("labels")?.list()?.amortized_iter().map(|list| {
            let texts = list.as_ref().and_then(|it| it.as_ref().str().ok());
            texts.map_or_else(Vec::new, |it| it.iter().flatten().map(str::to_owned).collect())
        });
        let labels = labels.collect();
        Ok(Self {
            by_key,
            runtime,
            id,
            model: texts(frame, "model")?,
            project: texts(frame, "project")?,
            status: texts(frame, "status")?,
            started: whole(frame, "started_at")?,
            turns: whole(frame, "turns")?,
            calls: whole(frame, "tool_calls")?,
            is_listed: whole(frame, "is_listed")?,
            labels,
            frame,
        })
    }

    /// The place of the session that each row belongs to.
    pub fn places(&self, rows: &DataFrame) -> PolarsResult<Vec<Option<usize>>> {
        let ids = texts(rows, "session_id")?;
        let place = |(runtime, id)| self.by_key.get(&key(runtime, id)).copied();
        Ok(texts(rows, "runtime")?.into_iter().zip(ids).map(place).collect())
    }

    /// The keys of some sessions.
    pub fn keys(&self, which: impl Iterator<Item = usize>) -> PolarsResult<DataFrame> {
        let (runtime, id): (Vec<_>, Vec<_>) = which.map(|it| (self.runtime[it], self.id[it])).unzip();
        df!("runtime" => runtime, "session_id" => id)
    }

    /// A text of the sessions that are shown.
    pub fn texts(&self, name: &str, places: &Places) -> PolarsResult<Vec<Option<&'a str>>> {
        Ok(places.pick(&texts(self.frame, name)?))
    }

    /// The sessions that the page shows, in order.
    pub fn table(
        &self,
        places: &Places,
        groups: &[usize],
        sums: &Sums,
        named: &[usize],
        words: &Vocabulary,
        zone: &TimeZone,
    ) -> PolarsResult<Table> {
        let shown = || places.shown.iter().copied();
        let minute = |it: usize| {
            let micros = self.started[it]?;
            let offset = zone.to_offset(Timestamp::from_microsecond(micros).ok()?).seconds();
            Some((micros.div_euclid(1_000_000) + i64::from(offset)).div_euclid(60))
        };
        let mut table = Table::default();
        table.places("group", groups.iter().copied());
        table.growing("started", shown().map(minute));
        table.numbers("listed", shown().map(|it| Some(self.is_listed[it].unwrap_or_default())));
        for name in ["duration_ms", "turns", "tool_calls", "tool_errors", "compactions", "retries", "subagents"] {
            let values = whole(self.frame, name)?;
            table.numbers(name, shown().map(|it| values[it]));
        }
        let (usage, kinds) = (texts(self.frame, "usage")?, texts(self.frame, "error_kind")?);
        table.numbers("usage", words.usage.column(shown().map(|it| usage[it])));
        table.numbers("error_kind", words.error_kind.column(shown().map(|it| kinds[it])));
        let as_cells = |of: Vec<Option<i64>>, sums: &[Option<i64>]| {
            let value = |(place, it): (usize, usize)| {
                if of[it] == sums[place] { Some(AS_CELLS) } else { of[it] }
            };
            shown().enumerate().map(value).collect::<Vec<_>>()
        };
        table.numbers("cost", as_cells(money(self.frame, "listed_cost_usd")?, &sums.cost));
        table.numbers("tokens", as_cells(whole(self.frame, "listed_tokens")?, &sums.tokens));
        let messages = texts(self.frame, "error_message")?;
        let mut is_named = vec![false; places.shown.len()];
        for session in named {
            is_named[*session] = true;
        }
        let of_named = |values: &[Option<&'a str>]| {
            let value = |(place, it): (usize, usize)| values[it].filter(|_| is_named[place]);
            shown().enumerate().map(value).collect::<Vec<_>>()
        };
        table.texts("id", of_named(&self.id));
        table.texts("error_message", of_named(&messages));
        Ok(table)
    }
}

/// Which sessions the page shows, and which of them each row belongs to.
pub struct Places {
    /// As places in [`Sessions`].
    pub shown: Vec<usize>,
    /// The place in `shown` of every session.
    pub place: Vec<Option<usize>>,
}

impl Places {
    /// Those that are in scope, and those that have rows that are.
    pub fn of(all: &Sessions<'_>, cells: [&DataFrame; 3]) -> PolarsResult<Self> {
        let mut is_shown: Vec<bool> = all.is_listed.iter().map(Option::is_some).collect();
        for rows in cells {
            for session in all.places(rows)?.into_iter().flatten() {
                is_shown[session] = true;
            }
        }
        let shown: Vec<usize> = (0..is_shown.len()).filter(|it| is_shown[*it]).collect();
        let mut place = vec![None; is_shown.len()];
        for (at, session) in shown.iter().enumerate() {
            place[*session] = Some(at);
        }
        Ok(Self { shown, place })
    }

    /// Those of a column of all sessions that are shown.
    pub fn pick<V: Copy>(&self, values: &[V]) -> Vec<V> {
        self.shown.iter().map(|it| values[*it]).collect()
    }

    /// The rows of sessions that are shown, as pairs of the session's place and the row's, in the order of sessions.
    pub fn rows(&self, all: &Sessions<'_>, rows: &DataFrame) -> PolarsResult<Vec<(usize, usize)>> {
        let places = all.places(rows)?;
        let placed = places.into_iter().enumerate().filter_map(|(row, session)| Some((self.place[session?]?, row)));
        let mut placed: Vec<_> = placed.collect();
        placed.sort_unstable();
        Ok(placed)
    }
}

/// What the cells of each session shown add up to.
pub struct Sums {
    pub cost: Vec<Option<i64>>,
    pub tokens: Vec<Option<i64>>,
}

impl Sums {
    pub fn of(turns: &DataFrame, all: &Sessions<'_>, places: &Places) -> PolarsResult<Self> {
        let (cost, tokens) = (money(turns, "cost_usd")?, whole(turns, "total_tokens")?);
        let mut sums = Self { cost: vec![None; places.shown.len()], tokens: vec![None; places.shown.len()] };
        for (session, row) in places.rows(all, turns)? {
            sums.cost[session] = add(sums.cost[session], cost[row]);
            sums.tokens[session] = add(sums.tokens[session], tokens[row]);
        }
        Ok(sums)
    }
}

/// Sessions in the order of how much they are worth looking at: the dearest, the newest, the longest and the latest that
/// failed, in turn.
fn by_worth(all: &Sessions<'_>, places: &Places, sums: &Sums) -> Vec<usize> {
    let everything = || (0..places.shown.len()).collect::<Vec<_>>();
    let mut dearest = everything();
    dearest.sort_by_key(|it| std::cmp::Reverse(sums.cost[*it]));
    let mut longest = everything();
    longest.sort_by_key(|it| std::cmp::Reverse(all.turns[places.shown[*it]]));
    let newest = everything().into_iter().rev();
    let failed = newest.clone().filter(|it| all.status[places.shown[*it]] == Some("error"));
    let mut orders: [Box<dyn Iterator<Item = usize>>; 4] =
        [Box::new(dearest.into_iter()), Box::new(newest), Box::new(longest.into_iter()), Box::new(failed)];
    let mut seen = vec![false; places.shown.len()];
    let mut worth = Vec::with_capacity(seen.len());
    while worth.len() < seen.len() {
        for order in &mut orders {
            let next = order.find(|it| !std::mem::replace(&mut seen[*it], true));
            worth.extend(next);
        }
    }
    worth
}

/// The sessions that the page lists, and of them those that open, as places in [`Places::shown`].
pub fn named(all: &Sessions<'_>, places: &Places, sums: &Sums) -> (Vec<usize>, Vec<usize>) {
    let mut named = by_worth(all, places, sums);
    if named.len() > ALL_NAMED {
        named.truncate(NAMED);
    }
    let mut rows = 0;
    let mut opened: Vec<usize> = Vec::new();
    for session in &named {
        let it = places.shown[*session];
        let own = all.turns[it].unwrap_or(1) + all.calls[it].unwrap_or_default() + 2;
        let own = own.min(number(super::ROWS_OF_ONE) * 2);
        if opened.len() < OPENED && rows + own <= OPENED_ROWS {
            rows += own;
            opened.push(*session);
        }
    }
    opened.sort_unstable();
    (named, opened)
}

/// What sessions have in common, and of which each is. The page filters these.
pub struct Groups {
    pub table: Table,
    pub of_session: Vec<usize>,
    /// Different labels.
    pub labels: Vec<String>,
    /// Different sets of them.
    pub label_sets: Vec<Vec<usize>>,
    /// Keys of labels that are left out.
    pub left_out: Vec<String>,
}

impl Groups {
    pub fn of(all: &Sessions<'_>, places: &Places, words: &Vocabulary) -> Self {
        let mut values: BTreeMap<&str, HashSet<&str>> = BTreeMap::new();
        // Of two labels with the same key the first counts, as in reports.
        let labels_of = |session: usize| {
            let mut keys = BTreeSet::new();
            let pairs = all.labels[session].iter().filter_map(|it| it.split_once('='));
            pairs.filter(move |it| keys.insert(it.0))
        };
        for session in &places.shown {
            for (key, value) in labels_of(*session) {
                values.entry(key).or_default().insert(value);
            }
        }
        let left_out: BTreeSet<&str> = values.iter().filter(|it| it.1.len() > VALUES).map(|it| *it.0).collect();
        let mut labels: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        for (key, values) in &values {
            if !left_out.contains(key) {
                labels.extend(values.iter().map(|value| ((*key, *value), 0)));
            }
        }
        for (place, it) in labels.values_mut().enumerate() {
            *it = place;
        }
        let mut sets: HashMap<Vec<usize>, usize> = HashMap::new();
        let mut label_sets = Vec::new();
        let mut groups: HashMap<[usize; 5], usize> = HashMap::new();
        let mut rows: Vec<[usize; 5]> = Vec::new();
        let mut of_session = Vec::with_capacity(places.shown.len());
        let places_of = |words: &super::Words, texts: &[Option<&str>]| {
            words.column(places.shown.iter().map(|it| texts[*it])).into_iter().map(Option::unwrap_or_default)
        };
        let place = |it: i64| usize::try_from(it).unwrap_or_default();
        let runtimes = places_of(&words.runtime, &all.runtime);
        let models = places_of(&words.model, &all.model);
        let projects = places_of(&words.project, &all.project);
        let statuses = places_of(&words.status, &all.status);
        let columns = places.shown.iter().zip(runtimes).zip(models).zip(projects).zip(statuses);
        for ((((session, runtime), model), project), status) in columns {
            let set: Vec<usize> = labels_of(*session).filter_map(|it| labels.get(&it).copied()).collect();
            let next = sets.len();
            let set = *sets.entry(set).or_insert_with_key(|it| {
                label_sets.push(it.clone());
                next
            });
            let group = [place(runtime), place(model), place(project), place(status), set];
            let next = groups.len();
            of_session.push(*groups.entry(group).or_insert_with(|| {
                rows.push(group);
                next
            }));
        }
        let mut table = Table::default();
        for (at, name) in ["runtime", "model", "project", "status", "labels"].into_iter().enumerate() {
            table.places(name, rows.iter().map(|it| it[at]));
        }
        Self {
            table,
            of_session,
            labels: labels.keys().map(|(key, value)| format!("{key}={value}")).collect(),
            label_sets,
            left_out: left_out.into_iter().map(str::to_owned).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many sessions, of 40 turns and 40 calls each.
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

    /// What the size of a page hangs on, however many sessions there are.
    #[test]
    fn a_page_names_and_opens_no_more_sessions_than_it_has_room_for() {
        for (sessions, listed) in [(0, 0), (100, 100), (ALL_NAMED, ALL_NAMED), (ALL_NAMED + 1, NAMED), (100_000, NAMED)]
        {
            let frame = frame(sessions);
            let all = Sessions::read(&frame).unwrap();
            let places = Places { shown: (0..sessions).collect(), place: (0..sessions).map(Some).collect() };
            let cost: Vec<_> = (0..sessions).map(|it| Some(number(it))).collect();
            let (named, opened) = named(&all, &places, &Sums { tokens: cost.clone(), cost });
            assert_eq!(named.len(), listed);
            assert_eq!(named.iter().collect::<HashSet<_>>().len(), listed, "each once");
            let most = usize::try_from(OPENED_ROWS).unwrap() / 82;
            assert_eq!(opened.len(), sessions.min(most).min(OPENED));
            // The dearest is the last.
            assert_eq!(opened.last().copied(), sessions.checked_sub(1));
        }
    }
}
