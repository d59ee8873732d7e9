//! How long responses took: from the times of the records, and from those of a task that is a single response.

use super::records::Payload;
use super::thread::Thread;
use crate::base::time::Time;
use crate::json::fields::Number;

impl Thread {
    /// Until when the records of a thread may be copies: Codex writes those of the thread that it continues at once, with the time of the
    /// copy.
    pub(super) fn history_until(&self) -> Option<Time> {
        const WRITING: i64 = 1_000_000;
        let session = &self.builder.session;
        let start = session.started_at.filter(|_| *self.root != *session.session_id)?;
        Some(Time::from_micros(start.micros().saturating_add(WRITING)))
    }

    pub(super) fn time_of_item(&mut self, item: &Payload<'_>, time: Option<Time>) {
        match item {
            Payload::Message(message) => match message.role.as_str() {
                "assistant" => self.answered(time),
                "user" => self.state.open.asked(time, true),
                _ => {}
            },
            Payload::CallOutput(_) => {
                self.state.open.asked(time, false);
                self.state.is_waiting = true;
            }
            // The message of another agent.
            Payload::AgentMessage(_) => self.state.open.item(time),
            _ => self.answered(time),
        }
    }

    /// An item of a response.
    fn answered(&mut self, time: Option<Time>) {
        self.state.open.item(time);
        self.state.is_waiting = false;
    }

    /// The duration of a task is that of its response, if it has only one: no other one waits for its count.
    pub(super) fn task_took(&mut self, duration: Number) {
        let turns = &mut self.builder.session.turns;
        if let (Some(first), Some(turn)) = (self.state.first_of_task.take(), turns.len().checked_sub(1))
            && first == turn
            && self.state.recorded.is_empty()
        {
            let turn = &mut turns[turn];
            turn.duration_ms = duration.rounded().or(turn.duration_ms.get()).into();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use crate::adapters::engine::Hints;
    use crate::adapters::formats::codex::rollout::state::Open;
    use crate::adapters::parse;
    use crate::adapters::shared::builder::Retention;
    use crate::base::time::Time;

    #[test]
    fn a_response_ends_with_its_last_item() {
        let at = |milliseconds: i64| Some(Time::from_micros(milliseconds * 1000));
        let latency = |(_, latency): (Option<Time>, Option<NonZeroU32>)| latency.map(NonZeroU32::get);
        let mut open = Open::default();
        open.asked(at(100), true);
        open.item(at(300));
        open.item(at(450));
        // A result before the count of its response.
        open.asked(at(500), false);
        assert_eq!(open.counted(at(510), None), (at(450), NonZeroU32::new(350)));
        open.item(at(600));
        assert_eq!(latency(open.counted(at(610), at(550))), None, "a copy");
        open.asked(at(700), false);
        open.item(at(710));
        open.asked(at(800), true);
        open.item(at(900));
        assert_eq!(latency(open.counted(at(910), None)), Some(100), "after an interruption");
        assert_eq!(latency(open.counted(at(920), None)), None, "without a cause");
        open.asked(at(1000), false);
        assert_eq!(latency(open.counted(at(1040), None)), Some(40), "without items");
    }

    #[test]
    fn a_task_of_one_response_has_its_duration() {
        let record = |second: u32, kind: &str, payload: &str| {
            format!(r#"{{"timestamp":"2026-10-05T10:00:{second:02}.000Z","type":"{kind}","payload":{payload}}}"#)
        };
        let count = |second, total: i64| {
            let usage = format!(r#"{{"input_tokens":{total},"output_tokens":0,"total_tokens":{total}}}"#);
            record(second, "event_msg", &format!(r#"{{"type":"token_count","info":{{"total_token_usage":{usage}}}}}"#))
        };
        let event = |second, payload: &str| record(second, "event_msg", payload);
        let log = [
            record(0, "session_meta", r#"{"id":"t"}"#),
            event(1, r#"{"type":"task_started"}"#),
            event(2, r#"{"type":"user_message","message":"a"}"#),
            count(5, 10),
            event(5, r#"{"type":"task_complete","duration_ms":3900}"#),
            event(6, r#"{"type":"task_started"}"#),
            event(7, r#"{"type":"user_message","message":"b"}"#),
            count(8, 20),
            count(9, 30),
            event(9, r#"{"type":"task_complete","duration_ms":3000}"#),
        ];
        let session = parse(log.join("\n").as_bytes(), Hints::default(), Retention::None).sessions.swap_remove(0);
        let times: Vec<_> =
            session.turns.iter().map(|turn| (turn.duration_ms.get(), turn.latency_ms.map(NonZeroU32::get))).collect();
        assert_eq!(times, [(Some(3900), Some(3000)), (None, Some(1000)), (None, None)]);
    }
}
