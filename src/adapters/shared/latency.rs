//! How long an agent waited for each response.

use std::num::NonZeroU32;

use foldhash::{HashMap, HashMapExt as _};

use crate::base::time::Time;

/// What an agent waits for, while its records are read.
#[derive(Debug, Clone, Copy, Default)]
pub struct Wait {
    /// When the last prompt or result arrived that no request has taken up.
    cause: Option<Time>,
    /// The response whose records are read, by its number.
    response: Option<usize>,
    /// The cause of its request.
    of_response: Option<Time>,
}

impl Wait {
    /// A prompt, or the result of a call: the next request takes it up.
    pub(super) fn asked(&mut self, time: Option<Time>) {
        self.cause = time;
    }

    /// A record of a response at `time`. Returns the milliseconds from the cause of the request; `None` if the log does not show it,
    /// as for a request that was sent again.
    pub(super) fn answered(&mut self, response: usize, time: Option<Time>) -> Option<NonZeroU32> {
        if self.response != Some(response) {
            self.response = Some(response);
            self.of_response = self.cause.take();
        }
        between(self.of_response?, time?)
    }
}

/// The milliseconds from a cause to the end of the response, if the times are possible.
pub fn between(cause: Time, end: Time) -> Option<NonZeroU32> {
    NonZeroU32::new(u32::try_from(end.since(cause)).ok()?)
}

/// What each agent of a session waits for.
#[derive(Debug)]
pub struct Waits {
    main: Wait,
    subagents: HashMap<String, Wait>,
}

impl Waits {
    pub fn new() -> Self {
        Self { main: Wait::default(), subagents: HashMap::new() }
    }

    /// That of a subagent, or of the main agent.
    pub(super) fn of(&mut self, subagent: Option<&str>) -> &mut Wait {
        match subagent {
            None => &mut self.main,
            // Most ids are known: `entry` would allocate.
            Some(id) if self.subagents.contains_key(id) => self.subagents.get_mut(id).unwrap_or(&mut self.main),
            Some(id) => self.subagents.entry(id.to_owned()).or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_sent_after_the_last_prompt_or_result() {
        let at = |milliseconds: i64| Some(Time::from_micros(milliseconds * 1000));
        let mut wait = Wait::default();
        assert_eq!(wait.answered(0, at(5)).map(NonZeroU32::get), None, "without a cause");
        wait.asked(at(100));
        wait.asked(at(200));
        assert_eq!(wait.answered(1, at(260)).map(NonZeroU32::get), Some(60));
        // The result of a call of the response, which is not complete.
        wait.asked(at(300));
        assert_eq!(wait.answered(1, at(310)).map(NonZeroU32::get), Some(110));
        assert_eq!(wait.answered(2, at(350)).map(NonZeroU32::get), Some(50));
        assert_eq!(wait.answered(3, at(360)).map(NonZeroU32::get), None, "sent again");
        wait.asked(at(400));
        assert_eq!(wait.answered(4, at(390)).map(NonZeroU32::get), None, "a clock that was set back");
        assert_eq!(wait.answered(4, None).map(NonZeroU32::get), None);
        wait.asked(None);
        assert_eq!(wait.answered(5, at(500)).map(NonZeroU32::get), None);
    }

    #[test]
    fn agents_wait_for_their_own_responses() {
        let at = |milliseconds: i64| Some(Time::from_micros(milliseconds * 1000));
        let mut waits = Waits::new();
        waits.of(None).asked(at(0));
        waits.of(Some("a")).asked(at(10));
        waits.of(Some("b")).asked(at(20));
        assert_eq!(waits.of(Some("a")).answered(0, at(30)).map(NonZeroU32::get), Some(20));
        assert_eq!(waits.of(None).answered(1, at(30)).map(NonZeroU32::get), Some(30));
        assert_eq!(waits.of(Some("b")).answered(2, at(30)).map(NonZeroU32::get), Some(10));
    }
}
