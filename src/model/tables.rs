//! The tables of the contract as rows, after the ledger: what `frames` makes columns of.

use crate::base::text::{Shared, Word};
use crate::base::time::Day;
use crate::model::session::{CostParts, Event, FileChange, SessionResult, Tokens, ToolCall, Turn};
use crate::model::source::Source;

/// All tables. Rows point at their session and source by index.
#[derive(Debug, Default)]
pub struct Tables {
    /// One row per session.
    pub sessions: Vec<SessionRow>,
    /// The ledger: every billed token in exactly one row.
    pub turns: Vec<TurnRow>,
    /// One row per call.
    pub tool_calls: Vec<CallRow>,
    /// One row per path and call.
    pub file_changes: Vec<ChangeRow>,
    /// What else happened.
    pub events: Vec<EventRow>,
    /// One row per file that was looked at; what it told has moved into the other tables.
    pub sources: Vec<Source>,
    /// The day of the prices that costs are computed with.
    pub priced_with: Option<Day>,
}

impl Tables {
    /// Drops all rows, and keeps the room that they had.
    pub fn clear(&mut self) {
        let Self { sessions, turns, tool_calls, file_changes, events, sources, priced_with } = self;
        sessions.clear();
        turns.clear();
        tool_calls.clear();
        file_changes.clear();
        events.clear();
        sources.clear();
        *priced_with = None;
    }
}

/// How far a session's usage can be trusted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Usage {
    /// As billed, as far as the log can know.
    Exact,
    /// The log holds less than was billed.
    LowerBound,
    /// The log holds no count.
    #[default]
    Unknown,
    /// The log's own numbers disagree.
    Conflict,
}

impl Usage {
    /// The contract's word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::LowerBound => "lower_bound",
            Self::Unknown => "unknown",
            Self::Conflict => "conflict",
        }
    }
}

/// Where a cost comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CostSource {
    /// The log.
    Reported,
    /// Tokens and prices.
    Computed,
    /// Rows of both kinds.
    Mixed,
}

impl CostSource {
    /// The contract's word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Reported => "reported",
            Self::Computed => "computed",
            Self::Mixed => "mixed",
        }
    }
}

/// A cost in US dollars with where it comes from.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Money {
    /// What stands: see the contract.
    pub cost: Option<f64>,
    /// Where that comes from.
    pub source: Option<CostSource>,
    /// As the log says.
    pub reported: Option<f64>,
    /// From tokens and prices.
    pub computed: Option<f64>,
    /// The parts of `cost`.
    pub parts: Option<CostParts>,
}

/// A row of `sessions`.
#[derive(Debug, Default)]
pub struct SessionRow {
    /// What its logs say, joined; its lists have moved into the other tables.
    pub session: SessionResult,
    /// Index of the source where it was first read.
    pub source: usize,
    /// The main agent's model.
    pub model: Option<Word>,
    /// All models, sorted.
    pub models: Vec<Word>,
    /// Working directory without worktree suffixes.
    pub project: Option<String>,
    /// In milliseconds.
    pub duration_ms: Option<i64>,
    /// The part of it that was spent waiting for the provider.
    pub api_duration_ms: Option<i64>,
    /// Prompts of a human.
    pub user_turns: Option<i64>,
    /// Responses.
    pub turns: Option<i64>,
    /// Calls.
    pub tool_calls: Option<i64>,
    /// Failed calls.
    pub tool_errors: Option<i64>,
    /// Changed files.
    pub file_changes: Option<i64>,
    /// Lines added, where any change shows them.
    pub lines_added: Option<i64>,
    /// Lines removed, where any change shows them.
    pub lines_removed: Option<i64>,
    /// Distinct agents besides the main one.
    pub subagents: Option<i64>,
    /// Compactions.
    pub compactions: Option<i64>,
    /// Requests made again.
    pub retries: Option<i64>,
    /// Refused calls.
    pub permission_denials: Option<i64>,
    /// Searches that the provider ran.
    pub web_searches: Option<i64>,
    /// Sum over the ledger's rows.
    pub tokens: Tokens,
    /// How far that can be trusted.
    pub usage: Usage,
    /// Sum over the ledger's rows: see [`crate::ledger::costs`].
    pub money: Money,
    /// Tokens of rows that no cost covers.
    pub unpriced_tokens: i64,
}

/// What a row of the ledger stands for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Grain {
    /// One response.
    #[default]
    Turn,
    /// What a log only gives in sum.
    Session,
}

impl Grain {
    /// The contract's word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Turn => "turn",
            Self::Session => "session",
        }
    }
}

/// A row of `turns`.
#[derive(Debug)]
pub struct TurnRow {
    /// Index of its session.
    pub session: usize,
    /// Index of the source where it was first read.
    pub source: usize,
    /// Its number in the session, from 1.
    pub number: Option<i64>,
    /// What it stands for.
    pub grain: Grain,
    /// What the log says.
    pub turn: Box<Turn>,
    /// Its calls, where the format shows calls.
    pub tool_calls: Option<i64>,
    /// Index in the ledger of the row with the rest of a total that holds this response.
    pub covered_by: Option<usize>,
    /// What it cost: see [`crate::ledger::costs`].
    pub money: Money,
}

impl TurnRow {
    /// A row that has no number and costs nothing yet.
    pub fn new(session: usize, source: usize, grain: Grain, turn: Box<Turn>) -> Self {
        let money = Money::default();
        Self { session, source, number: None, grain, turn, tool_calls: None, covered_by: None, money }
    }
}

/// A row of `tool_calls`.
#[derive(Debug)]
pub struct CallRow {
    /// Index of its session.
    pub session: usize,
    /// Index of the source where it was first read.
    pub source: usize,
    /// Number of its turn.
    pub turn: Option<i64>,
    /// What the log says.
    pub call: Box<ToolCall>,
}

impl CallRow {
    /// As logged, else the time of the result minus that of the call.
    pub fn duration_ms(&self) -> Option<i64> {
        let between = || Some(self.call.ended_at?.since(self.call.occurred_at?)).filter(|it| *it >= 0);
        self.call.duration_ms.get().or_else(between)
    }
}

/// A row of `file_changes`.
#[derive(Debug)]
pub struct ChangeRow {
    /// Index of its session.
    pub session: usize,
    /// Index of the source where it was first read.
    pub source: usize,
    /// Number of its turn.
    pub turn: Option<i64>,
    /// The call that made it.
    pub call_id: Option<Shared>,
    /// What the log says.
    pub change: FileChange,
}

/// A row of `events`.
#[derive(Debug)]
pub struct EventRow {
    /// Index of its session.
    pub session: usize,
    /// Index of the source where it was first read.
    pub source: usize,
    /// Number of its turn.
    pub turn: Option<i64>,
    /// What the log says.
    pub event: Event,
}
