//! All windows, logged and computed, with the turns in each.

use super::blocks::{Block, WEEK_MICROS, five_hours, weeks};
use super::logged::{LimitWindows, Logged, State, limits};
use super::rows::{ByRuntime, SessionNumbers, TurnFacts, for_each_turn, number_of, push, states, times};
use super::window::{Spent, Window};
use crate::adapters::WITH_UNLOGGED_WINDOWS;
use crate::analysis::rows::{CostBasis, Frames, Table};
use crate::analysis::selection::{Error, Grouping, LeftOut, Scope};
use crate::base::time::Time;
use crate::model::session::{add, add_money};
use crate::store::frames::{limits, turns};

/// The windows that are computed for runtimes whose logs need not contain them.
static COMPUTED: [Computed; 2] = [
    Computed {
        name: "five_hour",
        logged: "five_hour",
        blocks: |times| five_hours(times),
        is_active: Block::is_active_five_hours,
    },
    Computed { name: "week", logged: "seven_day", blocks: |times| weeks(times), is_active: Block::is_active_week },
];

/// How windows are computed that no log contains.
struct Computed {
    name: &'static str,
    /// Windows of this name are used instead, where there are any.
    logged: &'static str,
    blocks: fn(&mut dyn Iterator<Item = Time>) -> Vec<Block>,
    is_active: fn(&Block, Time) -> bool,
}

/// The current windows while turns are added. It keeps the times of the turns of subscriptions, and those turns that can be in a
/// current window.
pub struct ActiveWindows {
    now: Time,
    limits: Vec<LimitWindows>,
    numbers: SessionNumbers,
    /// Turns before this time are in no current window.
    first: Time,
    times: ByRuntime<Time>,
    recent: ByRuntime<TurnFacts>,
}

impl ActiveWindows {
    /// The windows at a time, without turns.
    ///
    /// # Errors
    /// When `limits` cannot be read.
    pub fn new(tables: &Frames, now: Time) -> Result<Self, Error> {
        let (states, numbers) = states(dated_rows(limits::TABLE, tables, &Scope::default(), CostBasis::Auto)?.rows)?;
        let limits = limits(states);
        let logged = limits.iter().flat_map(|limit| &limit.windows).filter(|window| window.contains(now));
        // Computed windows are not longer than a week.
        let week_ago = Time::from_micros(now.micros().saturating_sub(WEEK_MICROS));
        let first = logged.filter_map(|window| window.starts_at).fold(week_ago, Time::min);
        Ok(Self { now, limits, numbers, first, times: ByRuntime::new(), recent: ByRuntime::new() })
    }

    /// Adds a turn of a session, whose number replaces that of `turn`.
    pub fn add(&mut self, runtime: &str, session_id: Option<&str>, turn: TurnFacts) {
        if WITH_UNLOGGED_WINDOWS.contains(&runtime) {
            push(&mut self.times, runtime, turn.time);
        }
        if turn.time >= self.first {
            let session = number_of(&self.numbers, runtime, session_id);
            push(&mut self.recent, runtime, TurnFacts { session, ..turn });
        }
    }

    /// The windows, in the order of their ends, the latest first.
    pub fn finished(self) -> Vec<Window> {
        let mut found = Windows::new(self.limits, self.times);
        for (runtime, turns) in &self.recent {
            for turn in turns {
                found.count(runtime, turn);
                found.extend(runtime, turn);
            }
        }
        let mut windows = found.finished(self.now);
        windows.retain(|window| window.active);
        windows
    }
}

/// The rows of a table in scope, each with a time where its session has one.
fn dated_rows(table: &'static str, tables: &Frames, scope: &Scope, cost: CostBasis) -> Result<Grouping, Error> {
    let mut rows = Grouping::new("limits", &Table(table), tables, scope, cost)?;
    rows.date_rows()?;
    Ok(rows)
}

/// All windows of the runtimes in `scope`, in the order of their ends, the latest first, with the turns that the other filters of
/// `scope` include; its bounds of time are ignored. Also returns the rows without a time, which are in no window. The time of the
/// scope decides which windows are active; `cost` is the cost that is summed.
///
/// It reads `turns` in batches, and all of `limits`, which is small.
///
/// # Errors
/// When a filter names something that does not exist, or the tables cannot be read.
pub fn windows_of(tables: &Frames, scope: &Scope, cost: CostBasis) -> Result<(Vec<Window>, LeftOut), Error> {
    let of_runtimes = |(name, _): &&(String, String)| name == turns::RUNTIME;
    let scope_of = |only: Vec<(String, String)>| Scope { only, timezone: scope.timezone.clone(), ..Scope::default() };
    let of_runtime = scope_of(scope.only.iter().filter(of_runtimes).cloned().collect());
    let rows = |table, scope: &Scope| dated_rows(table, tables, scope, cost);
    let (states, numbers) = states(rows(limits::TABLE, &of_runtime)?.rows)?;
    let mut counted = rows(turns::TABLE, &scope_of(scope.only.clone()))?;
    let undated = counted.count_undated()?;
    let has_other_filters = scope.only.iter().any(|filter| !of_runtimes(&filter));
    let all = if has_other_filters { rows(turns::TABLE, &of_runtime)?.rows } else { counted.rows.clone() };
    let mut found = Windows::new(limits(states), times(all.clone(), WITH_UNLOGGED_WINDOWS)?);
    for_each_turn(counted.rows, &numbers, |runtime, turn| {
        found.count(runtime, turn);
        if !has_other_filters {
            found.extend(runtime, turn);
        }
    })?;
    if has_other_filters {
        for_each_turn(all, &numbers, |runtime, turn| found.extend(runtime, turn))?;
    }
    Ok((found.finished(scope.now.into()), undated))
}

/// The windows while the turns are counted, in any order.
struct Windows {
    logged: Vec<LoggedWindows>,
    computed: Vec<ComputedWindows>,
}

/// The windows of a limit.
struct LoggedWindows {
    limit: LimitWindows,
    /// The counted turns in each window.
    spent: Vec<Spent>,
    /// The time of the last turn in each window, counted or not.
    last_turns: Vec<Option<Time>>,
}

/// The windows of a subscription, from the turns that are not in a logged one.
struct ComputedWindows {
    runtime: &'static str,
    of: &'static Computed,
    blocks: Vec<Block>,
    /// The counted turns in each block.
    spent: Vec<Spent>,
}

impl Windows {
    /// The windows of limits, and those of the times of all turns.
    fn new(limits: Vec<LimitWindows>, mut times: ByRuntime<Time>) -> Self {
        for times in times.values_mut() {
            times.sort_unstable();
        }
        let computed = WITH_UNLOGGED_WINDOWS.iter().flat_map(|runtime| COMPUTED.iter().map(move |of| (*runtime, of)));
        let computed = computed.map(|(runtime, of)| {
            let is_unlogged =
                |time: &Time| !limits.iter().any(|limit| limit.is_of(runtime, of.logged) && limit.contain(*time));
            let mut times = times.get(runtime).into_iter().flatten().copied().filter(is_unlogged);
            let blocks = (of.blocks)(&mut times);
            ComputedWindows { runtime, of, spent: vec![Spent::default(); blocks.len()], blocks }
        });
        let computed = computed.collect();
        let logged = limits.into_iter().map(|limit| {
            let count = limit.windows.len();
            LoggedWindows { limit, spent: vec![Spent::default(); count], last_turns: vec![None; count] }
        });
        Self { logged: logged.collect(), computed }
    }

    /// Adds a turn to the windows that it is in.
    fn count(&mut self, runtime: &str, turn: &TurnFacts) {
        for windows in self.logged.iter_mut().filter(|windows| windows.limit.is_of_runtime(runtime)) {
            let index = windows.limit.window_of(turn.time, turn.session);
            if let Some(spent) = index.and_then(|index| windows.spent.get_mut(index)) {
                spent.add(turn);
            }
        }
        for windows in self.computed.iter_mut().filter(|windows| windows.runtime == runtime) {
            let mut limits = self.logged.iter().map(|windows| &windows.limit);
            if limits.any(|limit| limit.is_of(runtime, windows.of.logged) && limit.contain(turn.time)) {
                continue;
            }
            let begun = windows.blocks.partition_point(|block| block.first <= turn.time);
            let index = begun.checked_sub(1);
            let block = index.and_then(|index| windows.blocks.get(index)).filter(|block| turn.time <= block.last);
            if let Some(spent) = block.and(index).and_then(|index| windows.spent.get_mut(index)) {
                spent.add(turn);
            }
        }
    }

    /// Updates the time of the last turn of the logged windows that a turn is in.
    fn extend(&mut self, runtime: &str, turn: &TurnFacts) {
        for windows in self.logged.iter_mut().filter(|windows| windows.limit.is_of_runtime(runtime)) {
            let index = windows.limit.window_of(turn.time, turn.session);
            if let Some(last) = index.and_then(|index| windows.last_turns.get_mut(index)) {
                *last = (*last).max(Some(turn.time));
            }
        }
    }

    /// All windows, in the order of their ends, the latest first.
    fn finished(self, now: Time) -> Vec<Window> {
        let logged = self.logged.iter().flat_map(|LoggedWindows { limit, spent, last_turns }| {
            let windows = limit.windows.iter().zip(spent).zip(last_turns);
            windows.map(|((window, spent), last_turn)| of_logged(window, *spent, *last_turn, now))
        });
        let computed = self.computed.iter().flat_map(|windows| {
            let blocks = windows.blocks.iter().zip(&windows.spent);
            blocks.map(|(block, spent)| windows.of.window(windows.runtime, block, *spent, now))
        });
        let mut windows: Vec<Window> = logged.chain(computed).collect();
        windows.sort_by(|a, b| {
            let order = |window: &Window| (window.ends_at, window.starts_at);
            order(b).cmp(&order(a)).then_with(|| name(a).cmp(&name(b)))
        });
        windows
    }
}

/// What distinguishes windows of the same time.
fn name(window: &Window) -> (&str, Option<&str>, &str, Option<&str>) {
    (&window.runtime, window.limit_id.as_deref(), &window.window_name, window.plan.as_deref())
}

/// A logged window. One of a subscription's limit that is not of all models has no known turns.
fn of_logged(window: &Logged, spent: Spent, last_turn: Option<Time>, now: Time) -> Window {
    let State { runtime, limit_id, window_name, plan, reached, .. } = window.last.clone();
    let is_of_some_models = WITH_UNLOGGED_WINDOWS.contains(&runtime.as_str())
        && COMPUTED.iter().all(|computed| computed.logged != window_name);
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
    fn window(&self, runtime: &str, block: &Block, spent: Spent, now: Time) -> Window {
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
        self.turns = add(self.turns, turn.is_response.then_some(1));
        self.tokens = add(self.tokens, turn.tokens);
        self.cost_usd = add_money(self.cost_usd, turn.cost_usd);
        self.first = Some(self.first.map_or(turn.time, |first| first.min(turn.time)));
        self.last = self.last.max(Some(turn.time));
    }

    /// A window whose turns are known has 0 turns, tokens and dollars if there are none.
    fn known(self) -> Self {
        if self.first.is_some() {
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

    fn of(
        states: Vec<State>,
        all: &[(&'static str, Vec<TurnFacts>)],
        counted: &[(&'static str, Vec<TurnFacts>)],
    ) -> Vec<String> {
        let times = |turns: &Vec<TurnFacts>| turns.iter().map(|turn| turn.time).collect();
        let times = all.iter().map(|(runtime, turns)| ((*runtime).to_owned(), times(turns))).collect();
        let mut windows = Windows::new(limits(states), times);
        let each = |of: &[(&'static str, Vec<TurnFacts>)]| {
            let pairs = of.iter().flat_map(|(runtime, turns)| turns.iter().map(|turn| (*runtime, *turn)));
            pairs.rev().collect::<Vec<_>>()
        };
        for (runtime, turn) in each(counted) {
            windows.count(runtime, &turn);
        }
        for (runtime, turn) in each(all) {
            windows.extend(runtime, &turn);
        }
        let windows = windows.finished(minute(330));
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
