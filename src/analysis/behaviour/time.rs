//! Where the time of a session went: to the model, to tools, or to waiting for a human.

use super::rows::{Call, Session, Status, Turn};

/// Microseconds of the main agent's steps whose parts are known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Times {
    /// Until the model answered.
    pub model: i64,
    /// Until the last call of a response ended.
    pub tools: i64,
    /// Until the next prompt.
    pub waiting: i64,
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
        if let Some((first, calls)) = steps.first()
            && let (Some(start), Some(time), Some(_)) =
                (session.started_at, answered_at(first, calls), model_time(first))
            && time >= start
        {
            times.add_response(time.saturating_sub(start), model_time(first));
            is_known = true;
        }
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
        // When the last call ended, and when the human answered the last question.
        let (mut end, mut answered) = (start, start);
        for call in calls {
            if call.status == Status::Incomplete {
                return None;
            }
            let ended = call.time?.checked_add(call.duration_ms?.checked_mul(1000)?)?;
            let last = if call.asks_human { &mut answered } else { &mut end };
            *last = ended.max(*last);
        }
        let Some(next) = next else {
            self.tools = self.tools.saturating_add(end.saturating_sub(start));
            self.waiting = self.waiting.saturating_add(answered.saturating_sub(end).max(0));
            return Some(());
        };
        let next_time = next_time.filter(|time| *time >= start)?;
        let end = end.min(next_time);
        self.tools = self.tools.saturating_add(end.saturating_sub(start));
        let answered = answered.clamp(end, next_time);
        self.waiting = self.waiting.saturating_add(answered.saturating_sub(end));
        let rest = next_time.saturating_sub(answered);
        if calls.is_empty() {
            self.add_response(rest, model_time(next));
        } else {
            self.model = self.model.saturating_add(rest);
        }
        Some(())
    }

    /// Adds the time until the response to a prompt, of which only the time that the response took is known to be the model's.
    fn add_response(&mut self, time: i64, duration: Option<i64>) {
        let model = duration.unwrap_or(0).clamp(0, time.max(0));
        self.model = self.model.saturating_add(model);
        self.waiting = self.waiting.saturating_add(time.saturating_sub(model));
    }
}

/// How long a response took, in microseconds: its logged duration, else the time since its prompt.
fn model_time(turn: &Turn) -> Option<i64> {
    turn.duration_ms.or(turn.latency_ms)?.checked_mul(1000)
}

/// The end of a response. Where it is not known, the time of the response, or that of its first call if it is earlier: some runtimes log a
/// response when its calls have ended.
fn answered_at(turn: &Turn, calls: &[&Call]) -> Option<i64> {
    if turn.ended_at.is_some() {
        return turn.ended_at;
    }
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
        Times::of(&session).map(|it| [it.model / 1000, it.tools / 1000, it.waiting / 1000])
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

    /// A response of several records, and one that is counted after its calls, end with their last record.
    #[test]
    fn responses_end_with_their_last_record() {
        let ended = |second: i64, turn: Turn| Turn { ended_at: Some(second * 1_000_000), ..turn };
        // The prompt at 0 s, a text at 10 s, a call at 30 s, and the last call at 40 s.
        let first = Turn { latency_ms: Some(40_000), ..ended(40, turn(1, 10, None)) };
        let calls = [call(1, 30, Some(11_000)), call(1, 40, Some(1000))];
        assert_eq!(times(&[first, ended(50, turn(2, 50, None))], &calls), Some([40_000 + 9000, 1000, 0]));
        // The count follows the results.
        let first = Turn { latency_ms: Some(5000), ..ended(10, turn(1, 15, None)) };
        let calls = [call(1, 9, Some(5000)), call(1, 10, Some(4000))];
        assert_eq!(times(&[first, ended(20, turn(2, 20, None))], &calls), Some([5000 + 6000, 4000, 5000]));
        // A second prompt, after 60 s.
        let turns = [ended(50, turn(1, 50, None)), Turn { latency_ms: Some(20_000), ..ended(130, turn(2, 115, None)) }];
        assert_eq!(times(&turns, &[]), Some([20_000, 0, 60_000]));
    }

    /// The time of a first response that is logged after its call ends when the call begins.
    #[test]
    fn the_first_response_is_counted_once() {
        // The call begins at 8 s and ends at 10 s, when the response is logged.
        let calls = [call(1, 8, Some(2000))];
        assert_eq!(times(&[turn(1, 10, Some(6000)), turn(2, 12, None)], &calls), Some([6000 + 2000, 2000, 2000]));
    }

    /// Parts of milliseconds add up.
    #[test]
    fn times_are_rounded_once() {
        let turns: Vec<Turn> = (0..9).map(|it| Turn { number: it, time: Some(it * 1500), ..Turn::default() }).collect();
        assert_eq!(times(&turns, &[]), Some([0, 0, 12]));
    }

    /// The human answers a question: no tool works then, as far as no other call runs.
    #[test]
    fn questions_are_waiting() {
        let question = Call { asks_human: true, ..call(1, 10, Some(60_000)) };
        let turns = [turn(1, 10, None), turn(2, 75, None)];
        assert_eq!(times(&turns, &[question]), Some([5000, 0, 60_000]));
        assert_eq!(times(&turns, &[question, call(1, 10, Some(4000))]), Some([5000, 4000, 56_000]));
        assert_eq!(times(&turns[..1], &[question]), Some([0, 0, 60_000]));
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
