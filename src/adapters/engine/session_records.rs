//! Formats whose records contain whole sessions, so that nothing but finished sessions is kept from one record to the next.

use std::marker::PhantomData;

use serde::Deserialize;

use super::api::{Context, Fold, LoopInput, RecordErrors, RecordKind, RecordLoop};
use super::record_loop::fold;
use crate::json::lines::Line;
use crate::model::session::SessionResult;

/// A format whose records contain whole sessions.
pub(crate) trait SessionRecords: Send + 'static {
    /// A record, which borrows the line.
    type Record<'a>: Deserialize<'a> + Send;

    /// Adds the sessions of a record to `log`. What cannot be used of it is noted in `damage`.
    fn record(
        log: &mut FinishedSessions,
        line: Line<'_>,
        record: Self::Record<'_>,
        damage: &mut RecordErrors,
    ) -> RecordKind;
}

/// The sessions of a log, as far as it was read.
pub(crate) struct FinishedSessions {
    /// What an adapter may use besides the records.
    pub context: Context,
    /// In the order of their records.
    pub sessions: Vec<SessionResult>,
}

/// Starts the record loop of such a format.
pub(crate) fn session_records<'a, R: SessionRecords>(
    context: &Context,
    input: LoopInput<'a>,
) -> Box<dyn RecordLoop<'a> + 'a> {
    fold::<State<R>>(context, input)
}

struct State<R> {
    log: FinishedSessions,
    format: PhantomData<fn() -> R>,
}

impl<R: SessionRecords> Fold for State<R> {
    type Record<'a> = R::Record<'a>;

    fn new(context: &Context) -> Self {
        Self { log: FinishedSessions { context: context.clone(), sessions: Vec::new() }, format: PhantomData }
    }

    fn record(&mut self, line: Line<'_>, record: R::Record<'_>, damage: &mut RecordErrors) -> RecordKind {
        R::record(&mut self.log, line, record, damage)
    }

    fn finish(self) -> Vec<SessionResult> {
        self.log.sessions
    }
}
