//! Commands of openclaw that need an approval (docs/formats/openclaw.md#openclaw-session).
//!
//! The result of such a call only states that the command did not run. If it runs after an approval, a message to the agent states
//! how it ended.

use crate::adapters::shared::at::At;
use crate::adapters::shared::builder::Builder;
use crate::base::split::lines;
use crate::model::session::CallStatus;

/// Whether the command of a result with this status did not run, because an approval is missing.
pub(super) fn is_needed(status: &str) -> bool {
    matches!(status, "approval-pending" | "approval-unavailable")
}

/// The calls whose commands did not run so far.
#[derive(Debug, Default)]
pub(super) struct Approvals(Vec<Waiting>);

#[derive(Debug)]
struct Waiting {
    call: usize,
    /// The id of the approval, if one was asked for.
    approval: Option<String>,
    result: String,
    at: At,
}

impl Approvals {
    pub(super) fn add(&mut self, call: usize, approval: Option<String>, result: String, at: At) {
        if !self.contains(call) {
            self.0.push(Waiting { call, approval, result, at });
        }
    }

    pub(super) fn contains(&self, call: usize) -> bool {
        self.0.iter().any(|waiting| waiting.call == call)
    }

    /// The call has another result.
    pub(super) fn remove(&mut self, call: usize) {
        self.0.retain(|waiting| waiting.call != call);
    }

    /// Sets how the commands ended of which the message states it.
    pub(super) fn end(&mut self, builder: &mut Builder, message: &str) {
        self.0.retain(|waiting| {
            let Some(exit_code) = waiting.approval.as_deref().and_then(|id| exit_code_in(message, id)) else {
                return true;
            };
            let row = &mut builder.session.tool_calls[waiting.call];
            row.status = CallStatus::from_error(exit_code != Some(0));
            row.exit_code = exit_code.into();
            false
        });
    }

    /// Denies the calls whose commands did not run.
    pub(super) fn deny(self, builder: &mut Builder) {
        for Waiting { call, result, at, .. } in self.0 {
            builder.deny(call, at, Some(&result).filter(|it| !it.is_empty()).map(String::as_str));
        }
    }
}

/// The exit code of the command with this approval, if the message states that it ended: `Exec finished (gateway id=ID, session=NAME,
/// code 0)`. A command that was stopped has none.
#[expect(clippy::option_option, reason = "whether it ended, and whether its exit code is known")]
fn exit_code_in(message: &str, approval: &str) -> Option<Option<i64>> {
    lines(message).find_map(|line| {
        let (facts, _) = line.split_once("Exec finished (")?.1.split_once(')')?;
        let is_own = facts.split([' ', ',']).any(|fact| fact.strip_prefix("id=") == Some(approval));
        let exit_code = || facts.split(", ").find_map(|fact| fact.strip_prefix("code ")?.parse().ok());
        is_own.then(exit_code)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_states_how_an_approved_command_ended() {
        let message =
            |facts: &str| format!("An async command has completed.\n\nExact completion details:\n{facts}\nok");
        for (facts, expected) in [
            ("Exec finished (gateway id=a-1, session=calm-reef, code 0)", Some(Some(0))),
            ("System: [09:00] Exec finished (node=n id=a-1, code 7)", Some(Some(7))),
            ("Exec finished (gateway id=a-1, session=calm-reef, timeout)", Some(None)),
            ("Exec finished (gateway id=a-12, code 0)", None),
            ("Exec denied (gateway id=a-1, approval-timeout): ls", None),
            ("id=a-1, code 0", None),
        ] {
            assert_eq!(exit_code_in(&message(facts), "a-1"), expected, "{facts}");
        }
    }
}
