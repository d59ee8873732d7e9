//! Whether a session is at work, and how it ended.

use super::records::{Failure, Record, word_of};
use crate::adapters::shared::at::At;
use crate::adapters::shared::builder::{Builder, Last, brief};
use crate::model::errors::ErrorKind;
use crate::model::session::{EventKind, Status};

/// The state of a session.
#[derive(Default)]
pub(super) struct Progress {
    /// Whether the log contains any status of the session.
    has_status: bool,
    is_running: bool,
    /// Whether the user interrupted it since the last prompt.
    is_interrupted: bool,
    /// The name and message of the last error, since a request succeeded.
    error: Option<(String, String)>,
    /// Whether a retry was noted that a rescheduling may repeat.
    is_retried: bool,
    /// A request that failed without tokens, and the id of its event: an error follows, or the user interrupted it.
    failed: Option<(String, At)>,
}

impl Progress {
    /// The session is at work.
    pub(super) fn run(&mut self, builder: &mut Builder) {
        (self.has_status, self.is_running, self.is_retried) = (true, true, false);
        builder.end(Last::Work);
    }

    /// The user asked for something.
    pub(super) fn ask(&mut self, builder: &mut Builder) {
        self.is_interrupted = false;
        if self.has_status {
            builder.end(Last::Work);
        }
    }

    /// A request begins.
    pub(super) fn request(&mut self, builder: &mut Builder) {
        self.note_failed(builder);
    }

    /// A request was answered.
    pub(super) fn answer(&mut self) {
        (self.error, self.is_retried) = (None, false);
    }

    /// A request failed without tokens.
    pub(super) fn fail(&mut self, id: &str, at: At) {
        if !self.is_interrupted {
            self.failed = Some((id.to_owned(), at));
        }
    }

    /// Adds an event for a request that failed, if no error explains it.
    fn note_failed(&mut self, builder: &mut Builder) {
        if let Some((id, at)) = self.failed.take() {
            let event = builder.event(EventKind::Error, at);
            event.key = Some(id.into());
            event.code = Some("span.model_request_end".into());
        }
    }

    pub(super) fn error(&mut self, failure: &Failure<'_>, builder: &mut Builder, at: At) {
        self.failed = None;
        let (name, message) = (failure.kind.as_str(), failure.message.as_str());
        self.error = Some((name.to_owned(), message.to_owned()));
        let is_retried = word_of(failure.retry_status).is_some_and(|status| status == "retrying");
        self.is_retried |= is_retried;
        let event = builder.event(if is_retried { EventKind::Retry } else { EventKind::Error }, at);
        event.code = failure.kind.owned();
        event.message = failure.message.some().map(brief);
    }

    /// The session recovers from an error, which its own event usually precedes.
    pub(super) fn reschedule(&mut self, builder: &mut Builder, at: At) {
        (self.has_status, self.failed) = (true, None);
        if !std::mem::take(&mut self.is_retried) {
            builder.event(EventKind::Retry, at);
        }
        builder.end(Last::Work);
    }

    /// The user stopped the agent. A session that is not at work is not stopped.
    pub(super) fn interrupt(&mut self, builder: &mut Builder, at: At) {
        self.failed = None;
        if self.is_running {
            self.is_interrupted = true;
            builder.event(EventKind::Abort, at);
        }
    }

    /// The session waits for the user.
    pub(super) fn idle(&mut self, record: &Record<'_>, builder: &mut Builder) {
        (self.has_status, self.is_running) = (true, false);
        self.note_failed(builder);
        let reason = word_of(record.stop_reason).unwrap_or_default();
        builder.session.stop_reason = Some(&*reason).filter(|reason| !reason.is_empty()).map(Into::into);
        match &*reason {
            _ if self.is_interrupted => builder.abort(""),
            "end_turn" => builder.succeed(),
            "requires_action" => builder.end(Last::Work),
            "budget_reached" => builder.fail_as(ErrorKind::Budget, "budget_reached"),
            "retries_exhausted" => self.end_with_error(builder, "retries_exhausted"),
            _ => builder.session.status = Status::Unknown,
        }
    }

    /// The session accepts no more input: because of an error, or it was idle before.
    pub(super) fn terminate(&mut self, builder: &mut Builder) {
        self.note_failed(builder);
        self.has_status = true;
        if self.is_running || self.error.is_some() {
            self.end_with_error(builder, "session.status_terminated");
        }
        self.is_running = false;
    }

    fn end_with_error(&mut self, builder: &mut Builder, otherwise: &str) {
        match self.error.take() {
            Some((name, message)) => builder.fail_named(None, &name, &message),
            None => builder.fail(None, otherwise),
        }
    }

    /// The end of the log.
    pub(super) fn finish(&mut self, builder: &mut Builder) {
        self.note_failed(builder);
        if !self.has_status {
            builder.session.status = Status::Unknown;
        }
    }
}
