//! All windows, logged and computed, with the turns in each.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::blocks::{Block, five_hours, weeks};
use super::logged::{LimitWindows, Logged, State, limits};
use super::rows::{TurnFacts, states, turns};
use super::window::{Spent, Window};
use crate::analysis::reports::grouping::Grouping;
use crate::analysis::reports::spec::Rows;
use crate::analysis::reports::{Cost, Error, Frames, LeftOut, Scope};
use crate::base::time::Time;
use crate::model::session::{add, add_money};

/// Runtimes whose subscription has windows of five hours and of a week that their logs need not contain.
const SUBSCRIPTIONS: &[&str] = &["claude"];

/// The windows that are computed for these runtimes.
const COMPUTED: [Computed; 2] = [
    Computed {
        name: "five_hour",
        logged: "five_hour",
        blocks: |times| five_hours(times.iter().copied()),
        is_active: Block::is_active_five_hours,
    },
    Computed {
        name: "week",
        logged: "seven_day",
        blocks: |times| weeks(times.iter().copied()),
        is_active: Block::is_active_week,
    },
];

/// How windows are computed that no log contains.
struct Computed {
    name: &'static str,
    /// Windows of this name are used instead, where there are any.
    logged: &'static str,
    blocks: fn(&[Time]) -> Vec<Block>,
    is_active: fn(&Block, Time) -> bool,
}

/// All windows, in the order of their ends, the latest first. `now` decides which windows are active; `cost` is the cost that is
/// summed.
///
/// It reads six columns of `turns`, and all of `limits`, which is small. For the current windows only, filter by
/// [`Window::active`].
///
/// # Errors
/// When the tables cannot be read.
pub fn windows(tables: &Frames, now: Time, cost: Cost) -> Result<Vec<Window>, Error> {
    Ok(windows_of(tables, &Scope::default(), now, cost)?.0)
}

/// As [`windows`], of the runtimes in `scope` only, with the turns that the other filters of `scope` include; its bounds of time
/// are ignored. Also returns the rows without a time, which are in no window.
///
/// # Errors
/// When a filter names something that does not exist, or the tables cannot be read.
pub fn windows_of(tables: &Frames, scope: &Scope, now: Time, cost: Cost) -> Result<(Vec<Window>, LeftOut), Error> {
    let of_runtimes = |(name, _): &&(String, String)| name == "runtime";
    let scope_of = |only: Vec<(String, String)>| Scope { only, timezone: scope.timezone.clone(), ..Scope::default() };
    let of_runtime = scope_of(scope.only.iter().filter(of_runtimes).cloned().collect());
    let rows = |table, scope: &Scope| -> Result<Grouping, Error> {
        let mut rows = Grouping::new("limits", &Rows::Table(table), tables, scope, cost)?;
        rows.date_rows()?;
        Ok(rows)
    };
    let (states, numbers) = states(rows("limits", &of_runtime)?.rows)?;
    let mut counted = rows("turns", &scope_of(scope.only.clone()))?;
    let has_other_filters = scope.only.iter().any(|filter| !of_runtimes(&filter));
    let undated = counted.count_undated()?;
    let counted = turns(counted.rows, &numbers)?;
    let all = if has_other_filters { Some(turns(rows("turns", &of_runtime)?.rows, &numbers)?) } else { None };
    let windows = assemble(&limits(states), all.as_ref().unwrap_or(&counted), &counted, now);
    Ok((windows, undated))
}

/// The turns of each runtime, in the order of time.
type Turns = BTreeMap<String, Vec<TurnFacts>>;

/// The windows of `all` turns, with those of the `counted` turns that are in each.
fn assemble(limits: &[LimitWindows], all: &Turns, counted: &Turns, now: Time) -> Vec<Window> {
    let mut windows: Vec<Window> = Vec::new();
    for limit in limits {
        let Some(first) = limit.windows.first() else { continue };
        let runtime = &first.last.runtime;
        windows.extend(logged_windows(limit, of_runtime(counted, runtime), of_runtime(all, runtime), now));
    }
    for runtime in SUBSCRIPTIONS {
        for computed in &COMPUTED {
            let logged: Vec<&LimitWindows> =
                limits.iter().filter(|limit| limit.is_of(runtime, computed.logged)).collect();
            let (all, counted) = [all, counted].map(|turns| unlogged(of_runtime(turns, runtime), &logged)).into();
            let times: Vec<Time> = all.iter().map(|turn| turn.time).collect();
            let blocks = (computed.blocks)(&times);
            windows.extend(blocks.iter().map(|block| computed.window(runtime, block, &counted, now)));
        }
    }
    windows.sort_by(|a, b| {
        let order = |window: &Window| (window.ends_at, window.starts_at);
        order(b).cmp(&order(a)).then_with(|| name(a).cmp(&name(b)))
    });
    windows
}

fn of_runtime<'t>(turns: &'t Turns, runtime: &str) -> &'t [TurnFacts] {
    turns.get(runtime).map(Vec::as_slice).unwrap_or_default()
}

/// The turns that are not in a logged window.
fn unlogged<'t>(turns: &'t [TurnFacts], logged: &[&LimitWindows]) -> Cow<'t, [TurnFacts]> {
    if logged.is_empty() {
        return Cow::Borrowed(turns);
    }
    let is_unlogged = |turn: &&TurnFacts| logged.iter().all(|limit| !limit.contain(turn.time));
    turns.iter().filter(is_unlogged).copied().collect()
}

/// What distinguishes windows of the same time.
fn name(window: &Window) -> (&str, Option<&str>, &str, Option<&str>) {
    (&window.runtime, window.limit_id.as_deref(), &window.window_name, window.plan.as_deref())
}

/// The windows of a limit. A window of a subscription's limit that is not of all models has no known turns.
fn logged_windows(limit: &LimitWindows, counted: &[TurnFacts], all: &[TurnFacts], now: Time) -> Vec<Window> {
    let mut spent = vec![Spent::default(); limit.windows.len()];
    let mut last_turns: Vec<Option<Time>> = vec![None; limit.windows.len()];
    for turn in counted {
        if let Some(spent) = limit.window_of(turn.time, turn.session).and_then(|index| spent.get_mut(index)) {
            spent.add(turn);
        }
    }
    for turn in all {
        let window = limit.window_of(turn.time, turn.session).and_then(|index| last_turns.get_mut(index));
        if let Some(last) = window {
            *last = Some(turn.time);
        }
    }
    let windows = limit.windows.iter().zip(spent).zip(last_turns);
    windows.map(|((window, spent), last_turn)| of_logged(window, spent, last_turn, now)).collect()
}

fn of_logged(window: &Logged, spent: Spent, last_turn: Option<Time>, now: Time) -> Window {
    let State { runtime, limit_id, window_name, plan, reached, .. } = window.last.clone();
    let is_of_some_models =
        SUBSCRIPTIONS.contains(&runtime.as_str()) && COMPUTED.iter().all(|computed| computed.logged != window_name);
    let spent = if window.starts_at.is_none() || is_of_some_models { Spent::default() } else { spent.known() };
    Window {
        runtime,
        limit_id,
        window_name,
        plan,
        is_logged: true,
        starts_at: window.starts_at,
        ends_at: window.last.resets_at,
        active: window.contains(now),
        used_percent: window.last.used_percent,
        reached,
        spent,
        last_activity: window.last.time.max(last_turn),
    }
}

impl Computed {
    fn window(&self, runtime: &str, block: &Block, turns: &[TurnFacts], now: Time) -> Window {
        let mut spent = Spent::default();
        let first = turns.partition_point(|turn| turn.time < block.first);
        for turn in turns.get(first..).into_iter().flatten().take_while(|turn| turn.time <= block.last) {
            spent.add(turn);
        }
        Window {
            runtime: runtime.to_owned(),
            limit_id: None,
            window_name: self.name.to_owned(),
            plan: None,
            is_logged: false,
            starts_at: Some(block.starts_at),
            ends_at: Some(block.ends_at),
            active: (self.is_active)(block, now),
            used_percent: None,
            reached: None,
            spent: spent.known(),
            last_activity: Some(block.last),
        }
    }
}

impl Spent {
    fn add(&mut self, turn: &TurnFacts) {
        self.turns = Some(self.turns.unwrap_or(0) + i64::from(turn.is_response));
        self.tokens = add(self.tokens, turn.tokens);
        self.cost_usd = add_money(self.cost_usd, turn.cost_usd);
        self.first = self.first.or(Some(turn.time));
        self.last = Some(turn.time);
    }

    /// A window whose turns are known has 0 turns, tokens and dollars if there are none.
    fn known(self) -> Self {
        if self.turns.is_some() {
            return self;
        }
        Self { turns: Some(0), tokens: Some(0), cost_usd: Some(0.0), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn minute(minute: i64) -> Time {
        // A full hour.
        Time::from_micros(1_800_000_000_000_000 + minute * 60_000_000)
    }

    fn turn(time: i64, tokens: Option<i64>) -> TurnFacts {
        TurnFacts { time: minute(time), session: None, tokens, cost_usd: tokens.map(|_| 0.5), is_response: true }
    }

    fn state(name: &str, runtime: &str, reset: i64) -> State {
        State {
            runtime: runtime.to_owned(),
            window_name: name.to_owned(),
            window_minutes: Some(300),
            used_percent: Some(4.0),
            resets_at: Some(minute(reset)),
            time: Some(minute(reset - 200)),
            ..State::default()
        }
    }

    fn of(states: Vec<State>, all: &[(&str, Vec<TurnFacts>)], counted: &[(&str, Vec<TurnFacts>)]) -> Vec<String> {
        let turns = |of: &[(&str, Vec<TurnFacts>)]| -> Turns {
            of.iter().map(|(runtime, turns)| ((*runtime).to_owned(), turns.clone())).collect()
        };
        let windows = assemble(&limits(states), &turns(all), &turns(counted), minute(330));
        let shown = windows.into_iter().filter(|window| window.window_name != "week").map(|window| {
            let start = window.starts_at.map(|start| start.since(minute(0)) / 60_000);
            let Spent { turns, tokens, .. } = window.spent;
            format!("{} {} {start:?} {turns:?} {tokens:?} {}", window.runtime, window.window_name, window.active)
        });
        shown.collect()
    }

    #[test]
    fn logged_windows_replace_computed_ones() {
        let turns = vec![("claude", vec![turn(10, Some(1)), turn(100, Some(2)), turn(320, Some(4)), turn(500, None)])];
        let expected = [
            "claude five_hour Some(480) Some(1) None false",
            "claude five_hour Some(60) Some(2) Some(6) true",
            "claude five_hour Some(0) Some(1) Some(1) false",
        ];
        assert_eq!(of(vec![state("five_hour", "claude", 360)], &turns, &turns), expected);
    }

    /// Filters decide which turns are counted, not where the windows are.
    #[test]
    fn filters_do_not_move_windows() {
        let all = vec![("claude", vec![turn(0, Some(1)), turn(61, Some(2))])];
        let counted = vec![("claude", vec![turn(61, Some(2))])];
        assert_eq!(of(Vec::new(), &all, &counted), ["claude five_hour Some(0) Some(1) Some(2) false"]);
        assert_eq!(of(Vec::new(), &all, &[]), ["claude five_hour Some(0) Some(0) Some(0) false"]);
    }

    #[test]
    fn only_windows_of_known_turns_have_sums() {
        let turns = vec![("claude", vec![turn(100, Some(2))]), ("codex", vec![turn(100, Some(3))])];
        let states = vec![
            state("seven_day_opus", "claude", 360),
            state("primary", "codex", 360),
            State { resets_at: None, ..state("secondary", "codex", 360) },
            state("other", "codex", 3000),
        ];
        let expected = [
            "codex other Some(2700) Some(0) Some(0) false",
            "claude five_hour Some(60) Some(1) Some(2) true",
            "claude seven_day_opus Some(60) None None true",
            "codex primary Some(60) Some(1) Some(3) true",
            "codex secondary None None None false",
        ];
        assert_eq!(of(states, &turns, &turns), expected);
    }
}
