//! One session of goose while its rows or lines are read.

use std::mem;

use super::providers::agent_of;
use crate::adapters::engine::{Context, RecordErrors};
use crate::adapters::formats::goose::part::Part;
use crate::adapters::formats::goose::records::{Message, Record, Usage};
use crate::adapters::shared::at::At;
use crate::adapters::shared::builder::money;
use crate::adapters::shared::ids::counts_name;
use crate::base::text::Symbol;
use crate::base::time::Time;
use crate::model::delegation::Delegation;
use crate::model::session::{
    Cost, EventKind, Identity, ModelTotal, NEGLIGIBLE_USD, SessionResult, Tokens, Total, Turn,
};

/// A session while its records are read.
pub(super) struct Session {
    context: Context,
    /// What the session did itself.
    pub(super) own: Part,
    /// The messages from before it was created: `copy_session` and `import_session` of `session_manager.rs` keep their times.
    history: Option<Box<Part>>,
    /// The line of the session's row, and the last line with a record of the session.
    line: i64,
    pub(super) last_line: i64,
    /// Whether it is a document of `goose session export`.
    pub(super) is_export: bool,
    created_at: Option<Time>,
    provider: Option<Symbol>,
    /// The sums over all requests: their tokens and their cost in US dollars.
    accumulated: (Tokens, Option<f64>),
    /// The last request, for sessions without sums.
    last_request: Tokens,
    /// The first request with a row in the usage ledger.
    first_request: Option<Time>,
}

impl Session {
    pub(super) fn new(context: &Context, id: &str, line: i64) -> Self {
        Self {
            context: context.clone(),
            own: Part::new(context, id, line),
            history: None,
            line,
            last_line: line,
            is_export: false,
            created_at: None,
            provider: None,
            accumulated: (Tokens::UNKNOWN, None),
            last_request: Tokens::UNKNOWN,
            first_request: None,
        }
    }

    pub(super) fn id(&self) -> &str {
        &self.own.builder.session.session_id
    }

    /// Fills in the row of the session, or the first line of a session file.
    pub(super) fn facts(&mut self, record: &Record<'_>, damage: &mut RecordErrors) {
        self.own.is_subagent = record.session_type.as_str() == "sub_agent";
        self.provider = record.provider_name.owned();
        self.created_at = record.created_at.0;
        self.own.builder.extend_to(record.created_at.0);
        let session = &mut self.own.builder.session;
        session.cwd = record.working_dir.owned();
        session.parent_session_id = record.parent_session_id.owned();
        session.model = {
            let configuration = record.model_config_json.get().or_else(|| record.model_config.get());
            configuration.and_then(|it| it.model_name.owned())
        };
        self.accumulated = (Usage::accumulated(record).tokens(damage), money(record.accumulated_cost, damage));
        self.last_request = Usage::of(record).tokens(damage);
    }

    /// Adds a request, from its row in the usage ledger.
    pub(super) fn request(&mut self, record: &Record<'_>, line: i64, damage: &mut RecordErrors) {
        // This row repeats a part of the sums.
        if record.cost_source.as_str() == "carried_forward" {
            return;
        }
        let tokens = Usage::of(record).tokens(damage);
        let time = record.created_timestamp.0;
        let row = record.id.text();
        self.first_request = self.first_request.into_iter().chain(time).min();
        let builder = &mut self.own.builder;
        builder.extend_to(time);
        if record.is_compaction.0 == Some(1.0) {
            let event = builder.event(EventKind::Compaction, At { line, time });
            event.key = Some(format!("compaction {row} {:?}", time.map(Time::micros)).into());
        }
        // Another machine may have a session and a row of the same ids: time and counts distinguish them.
        let identity = Identity::Session(format!("{row} {:?} {}", time.map(Time::micros), counts_name(tokens)).into());
        let index = builder.turn(identity, line);
        let turn = &mut builder.session.turns[index];
        turn.model = record.model.owned();
        turn.provider.clone_from(&self.provider);
        turn.occurred_at = time;
        turn.tokens = tokens.into();
        turn.cost = money(record.cost, damage).map(Cost::of);
    }

    pub(super) fn message(&mut self, message: &Message<'_>, line: i64, damage: &mut RecordErrors) {
        if self.is_copied(message.time) {
            let (context, own) = (&self.context, &self.own);
            let history = self.history.get_or_insert_with(|| {
                let mut history = Part::new(context, &own.builder.session.session_id, line);
                history.is_subagent = own.is_subagent;
                Box::new(history)
            });
            history.message(message, line, damage);
            return;
        }
        self.own.message(message, line, damage);
    }

    /// Whether a message is from before its session. The sessions that goose imports from its older files were created when these
    /// were, which may be later on another machine (`legacy.rs`): their ids have a time of day in the place of a number.
    fn is_copied(&self, time: Option<Time>) -> bool {
        const MOST_DIGITS: usize = 5;
        let number = self.id().split_once('_').map_or("", |(_, number)| number);
        let is_numbered = (1..=MOST_DIGITS).contains(&number.len()) && number.bytes().all(|it| it.is_ascii_digit());
        is_numbered && time.is_some() && time < self.created_at
    }

    /// The session, and the history that it copied from another one.
    pub(super) fn finish(mut self) -> Vec<SessionResult> {
        let agent = self.provider.as_deref().and_then(agent_of);
        let own = &mut self.own.builder.session;
        own.under_reports |= agent.is_some();
        own.delegation = agent.map(|agent| Delegation {
            provider: self.provider.clone(),
            runtime: agent.runtime.into(),
            asked_at: mem::take(&mut self.own.asked_at),
            interactive: agent.interactive.iter().map(|entrypoint| Symbol::new(entrypoint)).collect(),
        });
        let mut last_request = self.last_request();
        let Some(history) = self.history.take() else {
            let totals = self.totals();
            return vec![self.finish_own(totals, last_request)];
        };
        let is_of_other_program = history.has_given_ids;
        let mut copied = history.finish();
        copied.is_copied_history = true;
        copied.cwd.clone_from(&self.own.builder.session.cwd);
        copied.parent_session_id.clone_from(&self.own.builder.session.parent_session_id);
        let has_copied_sums = self.has_copied_sums();
        let totals = if has_copied_sums { Vec::new() } else { self.totals() };
        if has_copied_sums {
            copied.totals = self.copied_total(copied.started_at).into_iter().collect();
            // Of a log of Claude Code, goose adds up the lines, which repeat the counts of their response.
            copied.is_estimated = is_of_other_program && !copied.totals.is_empty();
        }
        if !self.own.has_answers {
            add_last_request(&mut copied, last_request.take());
        }
        let own = self.finish_own(totals, last_request);
        let has_rows = !own.turns.is_empty() || !own.tool_calls.is_empty() || !own.prompts.is_empty();
        let is_empty = !has_rows && own.events.is_empty() && own.totals.is_empty();
        let own = (!is_empty).then_some(own);
        [copied].into_iter().chain(own).collect()
    }

    /// Whether the sums beyond the rows of requests are those of the session from which this one was imported. A copied session begins at
    /// 0, an imported one with the sums of the other session. Where requests of its own have no row, nothing shows how much of the sums
    /// they are.
    fn has_copied_sums(&self) -> bool {
        // The first row is written after the answer of its request.
        let is_before_rows = || self.own.next_prompt.zip(self.first_request).is_some_and(|(prompt, row)| prompt < row);
        !self.own.has_answers || (!self.own.builder.session.turns.is_empty() && !is_before_rows())
    }

    fn finish_own(self, totals: Vec<Total>, last_request: Option<Box<Turn>>) -> SessionResult {
        let mut session = self.own.finish();
        session.totals = totals;
        add_last_request(&mut session, last_request);
        session
    }

    /// The last request of a session without sums.
    fn last_request(&self) -> Option<Box<Turn>> {
        let is_known = self.accumulated.0.total().is_none() && self.last_request.total().is_some();
        is_known.then(|| {
            Box::new(Turn {
                line: self.line,
                identity: Identity::Session("last".into()),
                provider: self.provider.clone(),
                tokens: self.last_request.into(),
                ..Turn::default()
            })
        })
    }

    /// The sums of the session.
    fn totals(&self) -> Vec<Total> {
        let (tokens, cost) = self.accumulated;
        if tokens.total().is_none() {
            return Vec::new();
        }
        let session = &self.own.builder.session;
        let total = |first_message: Option<Time>| Total {
            // The sums include the requests on the lines after the session's row.
            line: if session.turns.is_empty() { self.line } else { self.last_line },
            key: format!("goose {} {:?}", session.session_id, first_message.map(Time::micros)),
            cost,
            models: vec![ModelTotal { tokens, cost, provider: self.provider.clone(), ..ModelTotal::default() }],
            covers_subagents: true,
            // An agent of another program spent more than goose got to know.
            is_sum_of_counts: session.under_reports,
            ..Total::default()
        };
        let first_message = self.own.first_message;
        let mut totals = vec![total(first_message)];
        if session.format == "goose-session" && !self.is_export && first_message.is_some() {
            // A copy of the file that was cut after its first line has no message: its sums have this identity.
            totals.insert(0, total(None));
        }
        totals
    }

    /// The sums of the session from which this one was imported: what is above the requests of this one. Its line is before those of
    /// the requests, so that it does not contain them.
    fn copied_total(&self, first_message: Option<Time>) -> Option<Total> {
        let (sums, cost) = self.accumulated;
        let turns = &self.own.builder.session.turns;
        let own: Tokens = turns.iter().map(|turn| turn.tokens.get()).sum();
        let paid: f64 = turns.iter().filter_map(|turn| Some(turn.cost.as_deref()?.total)).sum();
        let tokens = sums.zip(own, |sum, own| Some((sum? - own.unwrap_or(0)).max(0)));
        let cost = cost.map(|cost| (cost - paid).max(0.0));
        let is_any = tokens.total().unwrap_or(0) > 0 || cost.unwrap_or(0.0) > NEGLIGIBLE_USD;
        is_any.then(|| Total {
            line: self.line,
            key: format!("goose {} copied {:?}", self.id(), first_message.map(Time::micros)),
            // When they were copied: what the other session spent later is not in them.
            started_at: self.created_at,
            cost,
            models: vec![ModelTotal { tokens, cost, ..ModelTotal::default() }],
            covers_subagents: true,
            ..Total::default()
        })
    }
}

/// Adds the last request, if there is no row of a request.
fn add_last_request(session: &mut SessionResult, request: Option<Box<Turn>>) {
    let Some(mut turn) = request.filter(|_| session.turns.is_empty()) else { return };
    turn.model.clone_from(&session.model);
    turn.occurred_at = session.ended_at;
    session.under_reports = true;
    session.turns.push(turn);
}

#[cfg(test)]
mod tests {
    use crate::adapters::engine::Hints;
    use crate::adapters::parse;
    use crate::adapters::shared::builder::Retention;
    use crate::model::session::{SessionResult, Status};

    fn read(messages: &[(&str, &str)]) -> SessionResult {
        let mut lines =
            vec![r#"{"description":"x","message_count":2,"total_tokens":5,"working_dir":"/work"}"#.to_owned()];
        for (second, (role, text)) in messages.iter().enumerate() {
            let content = format!(r#"[{{"type":"text","text":"{text}"}}]"#);
            lines.push(format!(
                r#"{{"id":"m{second}","role":"{role}","created":179000000{second},"content":{content}}}"#
            ));
        }
        parse(lines.join("\n").as_bytes(), Hints::default(), Retention::None).sessions.swap_remove(0)
    }

    /// A session that goes on after an error has not failed.
    #[test]
    fn the_last_message_decides_on_the_status() {
        let failed = [("user", "Fix it."), ("assistant", "Ran into this error: 429 Too Many Requests")];
        let session = read(&failed);
        assert_eq!((session.status, session.error_kind.is_some()), (Status::Error, true));
        let session = read(&[failed[0], failed[1], ("user", "Again.")]);
        assert_eq!((session.status, session.error_kind), (Status::Incomplete, None));
        assert_eq!(read(&[failed[0], failed[1], ("assistant", "Done.")]).status, Status::Success);
    }
}
