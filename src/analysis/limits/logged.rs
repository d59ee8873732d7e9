//! Windows that a runtime logged: see docs/reports.md#logged-windows.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::base::time::Time;
use crate::model::session::RESET_TOLERANCE_MS;

/// A row of `limits`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct State {
    pub runtime: String,
    pub limit_id: Option<String>,
    pub window_name: String,
    pub plan: Option<String>,
    pub window_minutes: Option<i64>,
    pub used_percent: Option<f64>,
    pub resets_at: Option<Time>,
    pub reached: Option<String>,
    /// The number of its session.
    pub session: Option<u32>,
    /// When it was logged; the start of its session if that is unknown.
    pub time: Option<Time>,
}

/// A window that was logged.
#[derive(Debug, Clone, PartialEq)]
pub struct Logged {
    /// Its last state.
    pub last: State,
    pub starts_at: Option<Time>,
    /// The sessions that logged it, with the times.
    logged_by: Vec<(u32, Time)>,
}

/// The windows of one limit, in the order of their starts. Their lengths differ if there are several plans.
#[derive(Debug, Default)]
pub struct LimitWindows {
    pub windows: Vec<Logged>,
    /// For each session the times of its states, in order, with the indexes of their windows.
    timelines: BTreeMap<u32, Vec<(Time, usize)>>,
    /// The length of the longest window, in microseconds.
    longest: i64,
}

/// The runtime, the limit and the name of its window.
type Key = (String, Option<String>, String);

/// The windows of all states, by limit.
pub fn limits(states: Vec<State>) -> Vec<LimitWindows> {
    let mut by_limit: BTreeMap<Key, Vec<State>> = BTreeMap::new();
    for state in states {
        let limit = (state.runtime.clone(), state.limit_id.clone(), state.window_name.clone());
        by_limit.entry(limit).or_default().push(state);
    }
    by_limit.into_values().map(LimitWindows::of).collect()
}

impl LimitWindows {
    fn of(mut states: Vec<State>) -> Self {
        let end = |state: &State| (state.window_minutes, state.resets_at);
        states.sort_by(|a, b| end(a).cmp(&end(b)).then_with(|| by_time(a, b)));
        let mut windows: Vec<Logged> = Vec::new();
        let mut first_reset = None;
        for state in states {
            let is_same = match (first_reset, state.resets_at) {
                (Some(first), Some(reset)) => reset.since(first) <= RESET_TOLERANCE_MS,
                (first, reset) => first == reset,
            };
            match windows.last_mut() {
                Some(window) if is_same && window.last.window_minutes == state.window_minutes => window.add(state),
                _ => {
                    first_reset = state.resets_at;
                    windows.push(Logged::of(state));
                }
            }
        }
        for window in &mut windows {
            let length = window.last.window_minutes.map(|minutes| minutes.saturating_mul(60_000_000));
            let start = |end: Time| Some(Time::from_micros(end.micros().saturating_sub(length?)));
            window.starts_at = window.last.resets_at.and_then(start);
        }
        windows.sort_by_key(|window| window.starts_at);
        let mut timelines: BTreeMap<u32, Vec<(Time, usize)>> = BTreeMap::new();
        for (index, window) in windows.iter().enumerate() {
            for (session, time) in &window.logged_by {
                timelines.entry(*session).or_default().push((*time, index));
            }
        }
        for states in timelines.values_mut() {
            states.sort_unstable();
        }
        let longest = windows.iter().filter_map(|window| window.last.window_minutes).max().unwrap_or_default();
        Self { windows, timelines, longest: longest.saturating_mul(60_000_000) }
    }

    /// Whether this is a limit of the runtime.
    pub fn is_of_runtime(&self, runtime: &str) -> bool {
        self.windows.first().is_some_and(|window| window.last.runtime == runtime)
    }

    /// Whether this is a limit of the runtime with windows of that name.
    pub fn is_of(&self, runtime: &str, window_name: &str) -> bool {
        self.is_of_runtime(runtime) && self.windows.first().is_some_and(|window| window.last.window_name == window_name)
    }

    /// Whether one of the windows contains a time.
    pub fn contain(&self, time: Time) -> bool {
        self.window_of(time, None).is_some()
    }

    /// The index of the window that a turn belongs to. Windows of one limit overlap if the provider resets it early, or if there
    /// are several accounts: a turn then belongs to the window that its session logged last, else to the one that begins last.
    pub fn window_of(&self, time: Time, session: Option<u32>) -> Option<usize> {
        let contains = |index: &usize| self.windows.get(*index).is_some_and(|window| window.contains(time));
        let states = session.and_then(|session| self.timelines.get(&session)).map(Vec::as_slice).unwrap_or_default();
        let before = states.partition_point(|(logged, _)| *logged <= time);
        let last = before.checked_sub(1).and_then(|state| states.get(state)).map(|(_, index)| *index);
        let begun = self.windows.partition_point(|window| window.starts_at.is_none_or(|start| start <= time));
        let earliest = Time::from_micros(time.micros().saturating_sub(self.longest));
        let is_recent = |index: &usize| self.windows.get(*index).is_some_and(|it| it.starts_at >= Some(earliest));
        last.filter(contains).or_else(|| (0..begun).rev().take_while(is_recent).find(contains))
    }
}

impl Logged {
    fn of(state: State) -> Self {
        Self { logged_by: state.session.zip(state.time).into_iter().collect(), last: state, starts_at: None }
    }

    fn add(&mut self, state: State) {
        self.logged_by.extend(state.session.zip(state.time));
        if by_time(&state, &self.last).is_ge() {
            self.last = state;
        }
    }

    /// Whether it contains a time.
    pub fn contains(&self, time: Time) -> bool {
        self.starts_at.is_some_and(|start| start <= time) && self.last.resets_at.is_some_and(|end| time < end)
    }
}

/// The order of states by time; of states at the same time the higher one is the later.
fn by_time(a: &State, b: &State) -> Ordering {
    let used = |state: &State| state.used_percent.unwrap_or(-1.0);
    let order = a.time.cmp(&b.time).then_with(|| used(a).total_cmp(&used(b)));
    order.then_with(|| a.plan.cmp(&b.plan)).then_with(|| a.resets_at.cmp(&b.resets_at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn minute(minute: i64) -> Time {
        Time::from_micros(1_800_000_000_000_000 + minute * 60_000_000)
    }

    fn state(logged: i64, used: f64, reset: i64) -> State {
        State {
            window_minutes: Some(300),
            used_percent: Some(used),
            resets_at: Some(minute(reset)),
            time: Some(minute(logged)),
            ..State::default()
        }
    }

    fn windows(states: Vec<State>) -> Vec<Logged> {
        limits(states).into_iter().flat_map(|limit| limit.windows).collect()
    }

    #[test]
    fn a_window_has_its_last_state() {
        let jittered =
            State { resets_at: Some(Time::from_micros(minute(300).micros() - 1_000_000)), ..state(20, 7.0, 0) };
        let found = windows(vec![state(10, 5.0, 300), state(40, 99.0, 300), jittered]);
        let [window] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!(window.last.used_percent, Some(99.0));
        assert_eq!((window.starts_at, window.last.resets_at), (Some(minute(0)), Some(minute(300))));
    }

    #[test]
    fn a_window_without_a_reset_has_no_start() {
        let found = windows(vec![State { resets_at: None, ..state(0, 3.0, 0) }]);
        assert_eq!((found[0].starts_at, found[0].contains(minute(0))), (None, false));
        let found = windows(vec![State { window_minutes: None, ..state(0, 3.0, 300) }]);
        assert_eq!((found[0].starts_at, found[0].contains(minute(0))), (None, false));
    }

    #[test]
    fn a_turn_belongs_to_the_window_that_its_session_logged_last() {
        let of = |session, state: State| State { session: Some(session), ..state };
        let states = vec![
            of(1, state(10, 5.0, 300)),
            of(2, state(130, 1.0, 400)),
            of(2, state(140, 6.0, 300)),
            of(2, state(145, 2.0, 400)),
            of(1, state(900, 1.0, 1000)),
            of(4, State { window_minutes: Some(500), ..state(1100, 7.0, 1500) }),
        ];
        let limits = limits(states);
        let [limit] = limits.as_slice() else { panic!("{limits:?}") };
        for (time, session, expected) in [
            (0, None, Some(0)),
            (150, Some(1), Some(0)),
            (130, Some(2), Some(1)),
            (140, Some(2), Some(0)),
            (150, Some(2), Some(1)),
            // The window that begins last.
            (150, Some(3), Some(1)),
            (150, None, Some(1)),
            (120, Some(2), Some(1)),
            (350, Some(1), Some(1)),
            (400, Some(1), None),
            (700, None, Some(2)),
            (-1, None, None),
            // A window of another plan.
            (1100, None, Some(3)),
            (1100, Some(1), Some(3)),
        ] {
            assert_eq!(limit.window_of(minute(time), session), expected, "{time} {session:?}");
        }
    }
}
