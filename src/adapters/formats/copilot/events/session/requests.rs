//! Requests that have events with all of their counts: those that programs record through Copilot's SDK, and the phases of `HydraFusion`
//! (`session-events.d.ts` of @github/copilot-sdk 1.0.14).

use super::agents::Agent;
use crate::adapters::engine::{Context, RecordErrors};
use crate::adapters::formats::copilot::events::records::Record;
use crate::adapters::formats::copilot::events::store;
use crate::adapters::shared::ai_credits::dollars;
use crate::adapters::shared::builder::Builder;
use crate::adapters::shared::usage::present;
use crate::json::lines::Line;
use crate::model::session::{Cost, Identity, SessionResult, Status, Turn};

/// The conversation of phases whose answers are not messages of the session.
const REVIEW: &str = "review";

/// The requests of a recording. As the rows of the store, they are beside the log, in which their responses are messages or summaries:
/// the ledger joins them.
pub(super) struct Requests {
    context: Context,
    builder: Option<Builder>,
}

impl Requests {
    pub(super) fn new(context: &Context) -> Self {
        Self { context: store::metered(context), builder: None }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.builder.is_none()
    }

    /// Adds a request (`AssistantUsageData`) of an agent. The session's own log does not keep the event.
    pub(super) fn add(
        &mut self,
        record: &Record<'_>,
        agent: Option<&Agent>,
        line: Line<'_>,
        damage: &mut RecordErrors,
    ) {
        let data = &record.data;
        let tokens = data.usage_of_request().tokens(damage);
        let cost = dollars(data.copilot_usage.total_nano_aiu, damage);
        let id = [&data.api_call_id, &data.provider_call_id, &record.id].into_iter().find_map(|it| it.some());
        let identity = id.map_or(Identity::Unique, |id| Identity::Session(id.into()));
        // A recording has the id of its session at its end.
        let builder = self.builder.get_or_insert_with(|| Builder::new(&self.context, "", line.number));
        builder.extend_to(record.timestamp.0);
        let index = builder.turn(identity, line.number);
        let turn = &mut builder.session.turns[index];
        turn.tokens = turn.tokens.get().max(tokens).into();
        turn.cost = cost.map(Cost::of).or(turn.cost.take());
        turn.message_id = data.api_call_id.owned();
        turn.request_id = data.provider_call_id.owned();
        turn.occurred_at = record.timestamp.0;
        turn.model = data.model.owned();
        turn.effort = data.reasoning_effort.owned();
        turn.duration_ms = data.duration.rounded().into();
        turn.stop_reason = data.finish_reason.owned();
        if let Some(agent) = agent {
            agent.claim(turn);
        }
    }

    /// The part of the session that consists of them.
    pub(super) fn finish(self, session: &SessionResult) -> Option<SessionResult> {
        Some(SessionResult {
            session_id: session.session_id.clone(),
            id_if_cut: session.id_if_cut.clone(),
            // They do not state how the session ended.
            status: Status::Unknown,
            ..self.builder?.finish()
        })
    }
}

/// The response of a phase of `HydraFusion`, unless messages are its answers. Of a phase with several requests only the sum is known, and
/// the store may have each of them.
pub(super) fn phase(record: &Record<'_>, line: Line<'_>, damage: &mut RecordErrors) -> Option<Turn> {
    let data = &record.data;
    let usage = present(&data.usage, damage)?;
    if data.conversation_scope.as_str() != REVIEW || usage.request_count.get() != Some(1) {
        return None;
    }
    let name = format!("fusion {} {}", data.fusion_id.as_str(), data.phase_id.as_str());
    // Its credits are in the checkpoints of its process.
    Some(Turn {
        line: line.number,
        identity: Identity::Session(name.into()),
        model: data.model.owned(),
        tokens: usage.tokens(damage).into(),
        occurred_at: record.timestamp.0,
        duration_ms: data.duration_ms.rounded().into(),
        ..Turn::default()
    })
}
