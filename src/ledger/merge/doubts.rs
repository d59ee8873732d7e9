//! Rules that the rows of every session obey if its log was read completely. If a session breaks one, a counter of 0 is not a fact:
//! the runtime may write in a new way what the adapter searches for. See docs/accounting.md#doubts.

use crate::base::rows::Rows;
use crate::model::session::{CallStatus, Capabilities, SessionResult, ToolCall};
use crate::model::tables::{Doubt, Grain, TurnRow};

/// What is counted of a session.
pub(super) struct Counted<'a> {
    pub session: &'a SessionResult,
    pub turns: &'a [TurnRow],
    /// Its calls with their files.
    pub calls: &'a Rows<(usize, Box<ToolCall>)>,
    /// The number of the response that made the first call.
    pub first_caller: Option<i64>,
}

/// The rules that a session breaks.
pub(super) fn doubts(counted: &Counted<'_>) -> Vec<Doubt> {
    let rules = [
        (Doubt::NoPrompt, counted.has_no_prompt()),
        (Doubt::NoResults, counted.has_no_results() && !counted.session.capabilities.has(Capabilities::CONVERTED)),
        (Doubt::TotalAboveResponses, counted.has_total_above_responses()),
    ];
    rules.into_iter().filter(|(_, is_broken)| *is_broken).map(|(doubt, _)| doubt).collect()
}

impl Counted<'_> {
    /// The log of the runtime has several responses and a call of the main agent, but no prompt. Another session, or a program, may
    /// have prompted it. A log of one response may be an excerpt.
    fn has_no_prompt(&self) -> bool {
        let Self { session, calls, .. } = self;
        session.capabilities.has(Capabilities::USER_TURNS.and(Capabilities::KEPT_BY_RUNTIME))
            && session.prompts.is_empty()
            && session.user_turns.is_none_or(|count| count == 0)
            && session.parent_session_id.is_none()
            && !session.is_prompted_by_program
            && calls.iter().any(|(_, call)| !call.is_subagent)
            && self.responses().nth(1).is_some()
    }

    /// The main agent responded after a call, whose result it had, but no call of the session has a result. The record of a response can
    /// follow those of its own calls.
    pub fn has_no_results(&self) -> bool {
        let has_none = |call: &ToolCall| {
            call.status == CallStatus::Incomplete && call.result_bytes.get().is_none() && call.ended_at.is_none()
        };
        let (Some(first), true) = (self.calls.first(), self.calls.iter().all(|(_, call)| has_none(call))) else {
            return false;
        };
        let is_caller = |row: &TurnRow| self.first_caller.is_some() && row.number == self.first_caller;
        let is_later = |row: &TurnRow| row.source == first.0 && row.turn.line > first.1.line && !is_caller(row);
        self.responses().any(is_later)
    }

    /// The runtime's own log has the counts of all responses, but states a total far above their sum. A sum over an earlier log has
    /// none of them.
    fn has_total_above_responses(&self) -> bool {
        /// A total that is so many times the sum of its responses is far above it.
        const FAR: i64 = 10;
        let sum = |grain: Grain| -> i64 {
            let rows = self.turns.iter().filter(|row| row.grain == grain);
            rows.filter_map(|row| row.turn.tokens.get().total()).sum()
        };
        let has_input = |row: &TurnRow| row.turn.tokens.get().input.is_some();
        self.session.capabilities.has(Capabilities::KEPT_BY_RUNTIME)
            && !self.session.capabilities.has(Capabilities::MIGRATED)
            && self.responses().next().is_some()
            && self.responses().all(has_input)
            && sum(Grain::Session) > FAR.saturating_mul(sum(Grain::Turn))
    }

    /// The responses of the main agent.
    fn responses(&self) -> impl Iterator<Item = &TurnRow> {
        self.turns.iter().filter(|row| row.grain == Grain::Turn && !row.turn.is_subagent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::session::{Tokens, Turn};

    fn turn(line: i64, input: i64, grain: Grain) -> TurnRow {
        let tokens = Tokens { input: Some(input), ..Tokens::UNKNOWN }.into();
        TurnRow::new(0, 0, grain, Box::new(Turn { line, tokens, ..Turn::default() }))
    }

    fn call(line: i64, status: CallStatus) -> (usize, Box<ToolCall>) {
        (0, Box::new(ToolCall { line, status, ..ToolCall::default() }))
    }

    #[test]
    fn a_session_is_in_doubt_only_if_it_breaks_a_rule() {
        let kept = SessionResult {
            capabilities: Capabilities::USER_TURNS.and(Capabilities::KEPT_BY_RUNTIME),
            user_turns: Some(1),
            ..SessionResult::default()
        };
        let no_prompt = SessionResult { user_turns: Some(0), ..kept.clone() };
        let (ok, open) = (CallStatus::Ok, CallStatus::Incomplete);
        let turns = || vec![turn(1, 5, Grain::Turn), turn(4, 6, Grain::Turn)];
        let with_total = |input| vec![turn(1, 5, Grain::Turn), turn(4, input, Grain::Session)];
        let cases = [
            ("a prompt and a result", kept.clone(), turns(), vec![call(2, ok)], vec![]),
            ("no prompt", no_prompt.clone(), turns(), vec![call(2, ok)], vec![Doubt::NoPrompt]),
            ("one response", no_prompt.clone(), vec![turn(1, 5, Grain::Turn)], vec![call(2, ok)], vec![]),
            ("no prompt and no call", no_prompt.clone(), turns(), vec![], vec![]),
            ("no result", kept.clone(), turns(), vec![call(2, open), call(3, open)], vec![Doubt::NoResults]),
            ("one result", kept.clone(), turns(), vec![call(2, open), call(3, ok)], vec![]),
            ("killed during its call", kept.clone(), turns(), vec![call(5, open)], vec![]),
            ("a larger total", kept.clone(), with_total(50), vec![], vec![]),
            ("a total far above", kept.clone(), with_total(51), vec![], vec![Doubt::TotalAboveResponses]),
            (
                "a program's prompt",
                SessionResult { is_prompted_by_program: true, ..no_prompt.clone() },
                turns(),
                vec![call(2, ok)],
                vec![],
            ),
            (
                "another session's prompt",
                SessionResult { parent_session_id: Some("p".to_owned()), ..no_prompt },
                turns(),
                vec![call(2, ok)],
                vec![],
            ),
        ];
        for (name, session, turns, calls, expected) in cases {
            let found = doubts(&Counted { session: &session, turns: &turns, calls: &calls.into(), first_caller: None });
            assert_eq!(found, expected, "{name}");
        }
        // The count of a response, as Codex logs it after the calls that it made.
        let turns = [TurnRow { number: Some(1), ..turn(3, 5, Grain::Turn) }];
        for (first_caller, expected) in [(Some(1), vec![]), (Some(2), vec![Doubt::NoResults])] {
            let calls = vec![call(1, open), call(2, open)].into();
            assert_eq!(doubts(&Counted { session: &kept, turns: &turns, calls: &calls, first_caller }), expected);
        }
    }
}
