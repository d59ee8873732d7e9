//! Where the time of a session went: to the model, to tools, or to waiting for a human.

use super::rows::{Call, Session, Status, Turn};

/// Milliseconds of the main agent's steps whose parts are known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Times {
    /// Until the model answered.
    pub model_ms: i64,
    /// Until the last call of a response ended.
    pub tools_ms: i64,
    /// Until the next prompt.
    pub waiting_ms: i64,
}

impl Times {
    /// The times of a session; `None` if no part of it is known.
    pub(super) fn of(session: &Session<'_>) -> Option<Self> {
        if !session.shows_calls {
            return None;
        }
        let mut calls: Vec<&Call> =
            session.calls.iter().filter(|call| !call.is_subagent && call.turn.is_some()).collect();
        calls.sort_by_key(|call| call.turn);
        let turns: Vec<&Turn> = session.turns.iter().filter(|turn| !turn.is_subagent).collect();
        let (mut times, mut is_known) = (Self::default(), false);
        if let Some(first) = turns.first()
            && let (Some(start), Some(time), Some(duration)) = (session.started_at, first.time, first.duration_ms)
            && time >= start
        {
            times.add_response(time.saturating_sub(start) / 1000, Some(duration));
            is_known = true;
        }
        let mut rest = calls.as_slice();
        let of_turns: Vec<&[&Call]> = turns
            .iter()
            .map(|turn| {
                let (_, from) = rest.split_at(rest.partition_point(|call| call.turn < Some(turn.number)));
                let (own, after) = from.split_at(from.partition_point(|call| call.turn == Some(turn.number)));
                rest = after;
                own
            })
            .collect();
        let steps: Vec<(&Turn, &[&Call])> = turns.iter().copied().zip(of_turns).collect();
        for (index, (turn, calls)) in steps.iter().enumerate() {
            let next = steps.get(index + 1);
            let next_time = next.and_then(|(turn, calls)| answered_at(turn, calls));
            is_known |= times.add_step(turn, calls, next.map(|(turn, _)| *turn), next_time).is_some();
        }
        is_known.then_some(times)
    }

    /// Adds the time from a response to the next one, or to the end of its calls. `None` if the parts are unknown.
    fn add_step(&mut self, turn: &Turn, calls: &[&Call], next: Option<&Turn>, next_time: Option<i64>) -> Option<()> {
        let start = answered_at(turn, calls)?;
        if calls.is_empty() && next.is_none() {
            return None;
        }
        let mut end = start;
        for call in calls {
            if call.status == Status::Incomplete {
                return None;
            }
            end = end.max(call.time?.checked_add(call.duration_ms?.checked_mul(1000)?)?);
        }
        let Some(next) = next else {
            self.tools_ms = self.tools_ms.saturating_add(end.saturating_sub(start) / 1000);
            return Some(());
        };
        let next_time = next_time.filter(|time| *time >= start)?;
        let end = end.min(next_time);
        self.tools_ms = self.tools_ms.saturating_add(end.saturating_sub(start) / 1000);
        let rest = next_time.saturating_sub(end) / 1000;
        if calls.is_empty() {
            self.add_response(rest, next.duration_ms);
        } else {
            self.model_ms = self.model_ms.saturating_add(rest);
        }
        Some(())
    }

    /// Adds the time until the response to a prompt, of which only the logged duration is known to be the model's.
    fn add_response(&mut self, time_ms: i64, duration_ms: Option<i64>) {
        let model = duration_ms.unwrap_or(0).clamp(0, time_ms);
        self.model_ms = self.model_ms.saturating_add(model);
        self.waiting_ms = self.waiting_ms.saturating_add(time_ms.saturating_sub(model));
    }
}

/// The time of a response, or that of its first call if it is earlier: some runtimes log a response when its calls have
/// ended.
fn answered_at(turn: &Turn, calls: &[&Call]) -> Option<i64> {
    let first = calls.iter().filter_map(|call| call.time).min();
    turn.time.map(|time| first.map_or(time, |first| first.min(time)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(number: i64, second: i64, duration_ms: Option<i64>) -> Turn {
        Turn { number, time: Some(second * 1_000_000), duration_ms, ..Turn::default() }
    }

    fn call(turn: i64, second: i64, duration_ms: Option<i64>) -> Call {
        Call { turn: Some(turn), time: Some(second * 1_000_000), duration_ms, ..Call::default() }
    }

    fn times(turns: &[Turn], calls: &[Call]) -> Option<[i64; 3]> {
        let session = Session { started_at: Some(0), shows_calls: true, calls, turns, ..Session::default() };
        Times::of(&session).map(|it| [it.model_ms, it.tools_ms, it.waiting_ms])
    }

    #[test]
    fn the_time_between_responses_has_three_parts() {
        let calls = [call(1, 10, Some(2000)), call(1, 10, Some(5000)), call(2, 20, Some(30_000))];
        // 10 to 15 s: calls; to 20 s: the model; calls until 25 s, when the model already answers; to 100 s: the human.
        let turns = [turn(1, 10, None), turn(2, 20, None), turn(3, 25, None), turn(4, 100, None)];
        assert_eq!(times(&turns, &calls), Some([5000, 10_000, 75_000]));
        // The duration of the first and the last response is known.
        let turns = [turn(1, 10, Some(4000)), turn(2, 20, None), turn(3, 25, None), turn(4, 100, Some(9000))];
        assert_eq!(times(&turns, &calls), Some([4000 + 5000 + 9000, 10_000, 6000 + 66_000]));
        // The last response's calls.
        assert_eq!(times(&turns[..1], &calls), Some([4000, 5000, 6000]));
    }

    /// A response that is logged after its calls was answered before them.
    #[test]
    fn responses_come_before_their_calls() {
        let calls = [call(1, 10, Some(5000)), call(2, 20, Some(4000))];
        assert_eq!(
            times(&[turn(1, 15, None), turn(2, 24, None), turn(3, 30, None)], &calls),
            Some([5000 + 6000, 9000, 0])
        );
    }

    #[test]
    fn steps_with_unknown_parts_are_left_out() {
        let turns = [turn(1, 10, None), turn(2, 20, None)];
        assert_eq!(times(&turns, &[call(1, 10, None)]), None);
        assert_eq!(times(&turns, &[Call { status: Status::Incomplete, ..call(1, 10, Some(1)) }]), None);
        assert_eq!(times(&[turn(1, 10, None), Turn { time: None, ..turns[1] }], &[]), None);
        assert_eq!(times(&turns[..1], &[]), None);
        assert_eq!(times(&[], &[]), None);
        let turns = [turn(1, 10, None), turn(2, 20, None), turn(3, 30, None)];
        assert_eq!(times(&turns, &[call(1, 10, None), call(2, 21, Some(1000))]), Some([8000, 2000, 0]));
        let session = Session { turns: &turns, ..Session::default() };
        assert_eq!(Times::of(&session), None);
    }
}
