//! How a session ended.

use super::builder::{Builder, Last, brief};
use crate::model::errors::{self, ErrorKind};
use crate::model::session::{CallStatus, Status};

impl Builder {
    /// The session succeeded. A later success outranks an earlier error.
    pub fn succeed(&mut self) {
        self.session.status = Status::Success;
        self.session.error_kind = None;
        self.session.error_message = None;
    }

    /// The session failed. The kind of error follows from `code` and `message`.
    pub fn fail(&mut self, code: Option<i64>, message: &str) {
        self.fail_as(errors::classify(code, message), message);
    }

    /// The session failed with an error that the runtime names. Its kind follows from `code`, then from the name, then from `message`.
    pub fn fail_named(&mut self, code: Option<i64>, name: &str, message: &str) {
        self.fail_as(errors::classify_named(code, name, message), message);
    }

    /// The session failed with a known kind of error.
    pub fn fail_as(&mut self, kind: ErrorKind, message: &str) {
        self.session.status = Status::Error;
        self.session.error_kind = Some(kind);
        if !message.is_empty() {
            self.session.error_message = Some(brief(message));
        }
    }

    /// The user stopped the session.
    pub fn abort(&mut self, message: &str) {
        self.fail_as(ErrorKind::Cancelled, message);
        self.session.status = Status::Aborted;
    }

    /// What a log ends with if its last main response is `turn`. Open calls of earlier responses do not matter: they were
    /// interrupted, as the agent went on without their results.
    pub fn last_response(&self, turn: usize, ended_by_itself: bool) -> Last {
        let mut calls = self.session.tool_calls.iter().filter(|call| call.turn == Some(turn));
        let is_open = calls.any(|call| call.status == CallStatus::Incomplete);
        if ended_by_itself && !is_open { Last::Answer } else { Last::Work }
    }

    /// Sets the status of a session whose log has no end record.
    pub fn end(&mut self, last: Last) {
        match last {
            Last::Answer => self.succeed(),
            Last::Error => self.session.status = Status::Error,
            Last::Abort => {
                self.session.status = Status::Aborted;
                self.session.error_kind = Some(ErrorKind::Cancelled);
            }
            Last::Work => {
                self.session.status = Status::Incomplete;
                self.session.error_kind = None;
                self.session.error_message = None;
            }
        }
    }
}
