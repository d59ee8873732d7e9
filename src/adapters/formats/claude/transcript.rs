//! Claude Code's transcripts, `~/.claude/projects/**/*.jsonl`, with those of subagents in their three places: files of
//! their own, inline sidechains, and `agent_progress` records of the parent.
//!
//! A response is one `message.id` over all its lines and files (`docs/accounting.md#identity-of-a-response`). A resumed session
//! begins as a copy of the old one: the ledger counts each response once. `toolUseResult.usage` of a call that runs a subagent is the
//! usage of the subagent's last response, which no progress record contains (`docs/accounting.md#subagents`).

use self::records::Record;
use self::session::Session;
pub(crate) use self::side_records::is_auxiliary;
use self::side_records::{CostState, ForkContext};
use crate::adapters::engine::sessions::{Sessions, streaming_sessions};
use crate::adapters::engine::{Adapter, Context, Fold, Probe, RecordErrors, RecordKind, fold};
use crate::json::fields::Maybe;
use crate::json::lines::Line;
use crate::json::{self, Raw};
use crate::model::health::Reason;
use crate::model::places::Place;
use crate::model::session::Capabilities;

mod records;
mod session;
mod side_records;
mod subagents;

pub(crate) const ADAPTER: Adapter = Adapter {
    id: "claude-transcript",
    runtime: "claude",
    about: "Claude Code, transcripts under ~/.claude/projects",
    tested: Some("2.1.296"),
    capabilities: Capabilities::TURNS
        .and(Capabilities::TOOL_CALLS)
        .and(Capabilities::FILE_CHANGES)
        .and(Capabilities::SUBAGENTS)
        .and(Capabilities::COMPACTIONS)
        .and(Capabilities::RETRIES)
        .and(Capabilities::PERMISSION_DENIALS)
        .and(Capabilities::WEB_SEARCHES)
        .and(Capabilities::USER_TURNS)
        .and(Capabilities::KEPT_BY_RUNTIME),
    places: &[
        Place::variable("CLAUDE_CONFIG_DIR", ".claude", "projects"),
        Place::variable("CLAUDE_CONFIG_DIR", ".config/claude", "projects"),
    ],
    claims,
    parse: fold::<Transcript>,
};

fn claims(probe: &Probe<'_>) -> u32 {
    match probe.kind() {
        "assistant" | "user" | "system" | "progress" | "attachment" if probe.has("sessionId") => 2,
        // They are at the beginning of a file, without a session id.
        "summary" if probe.has("leafUuid") => 2,
        "file-history-snapshot" if probe.has("messageId") => 2,
        // Other runtimes have results as well.
        "result" | "started" => 0,
        kind if (side_records::is_known(kind) || kind == "cost-state") && probe.has("sessionId") => 1,
        _ => 0,
    }
}

struct Transcript {
    context: Context,
    sessions: Sessions<Session>,
    /// The session whose history the file repeats, from a record that names no session of its own.
    parent: Option<String>,
}

impl Fold for Transcript {
    type Record<'a> = Record<'a>;

    fn new(context: &Context) -> Self {
        Self { context: context.clone(), sessions: Sessions::new(), parent: None }
    }

    fn line(&mut self, line: Line<'_>, damage: &mut RecordErrors) -> Result<RecordKind, json::Error> {
        let mut record = Record::default();
        json::read_into(line.bytes, &mut record)?;
        Ok(self.see(line, &record, damage))
    }

    fn record(&mut self, line: Line<'_>, record: Record<'_>, damage: &mut RecordErrors) -> RecordKind {
        self.see(line, &record, damage)
    }

    streaming_sessions!(Session::finish);
}

impl Transcript {
    fn see(&mut self, line: Line<'_>, record: &Record<'_>, damage: &mut RecordErrors) -> RecordKind {
        match record.kind.as_str() {
            "assistant" | "user" | "system" | "progress" | "cost-state" => {}
            "attachment" if record.attachment.as_ref().is_some_and(|it| it.is_prompt()) => {}
            "fork-context-ref" => {
                self.fork(line);
                return RecordKind::Known;
            }
            kind if kind == "attachment" || side_records::is_known(kind) => return RecordKind::Known,
            _ => return RecordKind::Unknown,
        }
        let Some(id) = record.session_id.some() else {
            if matches!(record.message.usage, Maybe::Present(_)) {
                damage.note(Reason::NoUsage);
            }
            return RecordKind::Known;
        };
        let new = || Session::new(&self.context, id, line.number);
        let Some(session) = self.sessions.get(id, line.number, new) else { return RecordKind::Known };
        if record.kind.as_str() == "cost-state" {
            let state: CostState<'_> = Raw(line.bytes).read();
            session.conversation.builder.session.totals.extend(state.total(
                &session.conversation.builder,
                line,
                damage,
            ));
            return RecordKind::Known;
        }
        session.record(record, line, damage);
        if let Some(parent) = &self.parent {
            session.set_parent(parent);
        }
        RecordKind::Known
    }

    /// A record that names the session whose history is the context of this file.
    fn fork(&mut self, line: Line<'_>) {
        let fork: ForkContext<'_> = Raw(line.bytes).read();
        let Some(parent) = fork.parent() else { return };
        if !self.sessions.is_empty()
            && let Some(session) = self.sessions.current(line.number)
        {
            session.set_parent(parent);
        }
        self.parent = Some(parent.to_owned());
    }
}
