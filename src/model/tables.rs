//! The rows of all tables, after reconciliation; `store::frames` makes columns of them.

use crate::base::text::{SharedStr, Symbol};
use crate::base::time::{Day, Time};
use crate::model::repository::{CommitFileRow, CommitRow, PullRequestRow};
use crate::model::session::{
    CostParts, Details, Event, FileChange, Limit, MatchedBy, SessionResult, Tokens, ToolCall, Turn, Verdict,
};
use crate::model::source::Source;
use crate::model::verdict::ImportedVerdict;

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
    /// Other events.
    pub events: Vec<EventRow>,
    /// One row per window of a limit and change.
    pub limits: Vec<LimitRow>,
    /// One row per judgement.
    pub verdicts: Vec<VerdictRow>,
    /// One row per file; its sessions have moved into the other tables.
    pub sources: Vec<Source>,
    /// One row per repository and commit; empty in the parts of an archive.
    pub commits: Vec<CommitRow>,
    /// One row per commit and file; empty in the parts of an archive.
    pub commit_files: Vec<CommitFileRow>,
    /// One row per pull request; empty in the parts of an archive.
    pub pull_requests: Vec<PullRequestRow>,
    /// The day of the prices with which costs are computed.
    pub priced_with: Option<Day>,
}

impl Tables {
    /// The latest time of its rows, at which a session or the window of a limit can also end.
    pub fn latest_time(&self) -> Option<Time> {
        let of_sessions = self.sessions.iter().flat_map(|row| [row.session.started_at, row.session.ended_at]);
        let of_turns = self.turns.iter().map(|row| row.turn.occurred_at);
        let of_calls = self.tool_calls.iter().map(|row| row.call.occurred_at);
        let of_changes = self.file_changes.iter().map(|row| row.change.occurred_at);
        let of_events = self.events.iter().map(|row| row.event.occurred_at);
        let of_limits = self.limits.iter().flat_map(|row| [row.limit.occurred_at, row.limit.resets_at]);
        let times = of_sessions.chain(of_turns).chain(of_calls).chain(of_changes).chain(of_events).chain(of_limits);
        times.flatten().max()
    }

    /// Removes all rows, but not their capacity.
    pub fn clear(&mut self) {
        let Self { sessions, turns, tool_calls, file_changes, events, limits, verdicts, sources, .. } = self;
        let Self { commits, commit_files, pull_requests, priced_with, .. } = self;
        sessions.clear();
        turns.clear();
        tool_calls.clear();
        file_changes.clear();
        events.clear();
        limits.clear();
        verdicts.clear();
        sources.clear();
        commits.clear();
        commit_files.clear();
        pull_requests.clear();
        *priced_with = None;
    }
}

/// How complete the usage of a session is (`docs/accounting.md#completeness`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Usage {
    /// As billed, as far as the log contains it.
    Exact,
    /// The log contains less than was billed.
    LowerBound,
    /// The log contains no counts.
    #[default]
    Unknown,
    /// Numbers in the log contradict each other.
    Conflict,
    /// The runtime rounded the counts, or estimated them itself.
    Estimate,
}

impl Usage {
    /// The value in the tables.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::LowerBound => "lower_bound",
            Self::Unknown => "unknown",
            Self::Conflict => "conflict",
            Self::Estimate => "estimate",
        }
    }
}

/// Why the usage of a session is a lower bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UsageReason {
    /// Records of unknown types contain token counts or costs.
    UnreadCounts,
    /// The version is newer than all tested ones, and the log has records of unknown types.
    NewerVersion,
    /// The format, or this log of it, is known to contain less than was billed.
    UnderReports,
    /// A response has no counts.
    NoCounts,
    /// Responses before those of the log were lost.
    LostResponses,
    /// The log does not contain the end of the session.
    NoEnd,
}

impl UsageReason {
    /// The value in the tables.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::UnreadCounts => "unread_counts",
            Self::NewerVersion => "newer_version",
            Self::UnderReports => "under_reports",
            Self::NoCounts => "no_counts",
            Self::LostResponses => "lost_responses",
            Self::NoEnd => "no_end",
        }
    }
}

/// A rule that the rows of a session break: the log may contain what the adapter did not find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doubt {
    /// Responses and calls, but no prompt: `user_turns` is not 0.
    NoPrompt,
    /// The agent went on after its calls, but none has a result or a status: `tool_errors` is not 0.
    NoResults,
    /// A stated total is far above the responses, although the log contains all of them.
    TotalAboveResponses,
}

impl Doubt {
    /// The value in the tables.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NoPrompt => "no_prompt",
            Self::NoResults => "no_results",
            Self::TotalAboveResponses => "total_above_responses",
        }
    }
}

/// The source of a cost.
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
    /// The value in the tables.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Reported => "reported",
            Self::Computed => "computed",
            Self::Mixed => "mixed",
        }
    }
}

/// A cost in US dollars, with its source (`docs/accounting.md#cost`).
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Money {
    /// The cost that applies.
    pub cost: Option<f64>,
    /// Its source.
    pub source: Option<CostSource>,
    /// As logged.
    pub reported: Option<f64>,
    /// From tokens and prices.
    pub computed: Option<f64>,
    /// The parts of `cost`.
    pub parts: Option<CostParts>,
}

/// A row of `sessions`.
#[derive(Debug, Default)]
pub struct SessionRow {
    /// The joined contents of its logs; its lists have moved into the other tables.
    pub session: SessionResult,
    /// Index of the source where it was first read.
    pub source: usize,
    /// The main agent's model.
    pub model: Option<Symbol>,
    /// The name of that model for all of its spellings; set with the costs.
    pub canonical_model: Option<Symbol>,
    /// All models, sorted.
    pub models: Vec<Symbol>,
    /// Working directory, or the project whose worktree it is.
    pub project: Option<String>,
    /// Duration in milliseconds.
    pub duration_ms: Option<i64>,
    /// The time of that spent waiting for the provider, in milliseconds.
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
    /// Lines added, if any change contains them.
    pub lines_added: Option<i64>,
    /// Lines removed, if any change contains them.
    pub lines_removed: Option<i64>,
    /// Number of subagents.
    pub subagents: Option<i64>,
    /// Compactions.
    pub compactions: Option<i64>,
    /// Repeated requests.
    pub retries: Option<i64>,
    /// Refused calls.
    pub permission_denials: Option<i64>,
    /// Searches that the provider ran.
    pub web_searches: Option<i64>,
    /// Sum over the ledger's rows.
    pub tokens: Tokens,
    /// How complete that is.
    pub usage: Usage,
    /// Why that is a lower bound.
    pub usage_reason: Option<UsageReason>,
    /// The rules that its rows break.
    pub doubts: Vec<Doubt>,
    /// Sum over the ledger's rows.
    pub money: Money,
    /// Tokens of rows without a cost.
    pub unpriced_tokens: i64,
    /// Itself with the sessions that it started; set with the costs.
    pub tree: Tree,
}

impl SessionRow {
    /// The id of the root of its tree: its own, unless another session started it.
    pub fn root_session_id(&self) -> &str {
        self.tree.root_session_id.as_deref().unwrap_or(&self.session.session_id)
    }
}

/// A session with its descendants: the sessions that it started, and those that these started (`docs/accounting.md#trees`).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tree {
    /// The root, if that is another session.
    pub root_session_id: Option<String>,
    /// The number of descendants.
    pub descendants: i64,
    /// The number of agents that the session itself started, as far as their logs are missing.
    pub missing_children: i64,
    /// The same of the session and all its descendants.
    pub missing: i64,
    /// The sum of the known costs.
    pub cost: Option<f64>,
    /// The sum of the known tokens.
    pub total_tokens: Option<i64>,
}

/// What a row of the ledger is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Grain {
    /// One response.
    #[default]
    Turn,
    /// The remainder of a total, which the log contains only as a sum.
    Session,
}

impl Grain {
    /// The value in the tables.
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
    /// What the row is.
    pub grain: Grain,
    /// The contents of the log.
    pub turn: Box<Turn>,
    /// Number of its calls, if the format contains calls.
    pub tool_calls: Option<i64>,
    /// Index in the ledger of the row with the remainder of the total that contains this response.
    pub covered_by: Option<usize>,
    /// The name of its model for all spellings of the model; set with the costs.
    pub canonical_model: Option<Symbol>,
    /// Its cost.
    pub money: Money,
}

impl TurnRow {
    /// A row without a number and a cost.
    pub fn new(session: usize, source: usize, grain: Grain, turn: Box<Turn>) -> Self {
        let money = Money::default();
        Self {
            session,
            source,
            number: None,
            grain,
            turn,
            tool_calls: None,
            covered_by: None,
            canonical_model: None,
            money,
        }
    }
}

impl TurnRow {
    /// What is known of few responses.
    pub fn details(&self) -> Option<&Details> {
        self.turn.details.as_deref()
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
    /// The contents of the log.
    pub call: Box<ToolCall>,
}

impl CallRow {
    /// As logged, or the time of the result minus that of the call.
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
    pub call_id: Option<SharedStr>,
    /// The contents of the log.
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
    /// The contents of the log.
    pub event: Event,
}

/// A row of `limits`.
#[derive(Debug)]
pub struct LimitRow {
    /// Index of its session.
    pub session: usize,
    /// Index of the source where it was first read.
    pub source: usize,
    /// The contents of the log.
    pub limit: Limit,
}

/// A row of `verdicts`.
#[derive(Debug)]
pub struct VerdictRow {
    /// The session's id; `None` until a session matches.
    pub session_id: Option<String>,
    /// The session's runtime.
    pub runtime: Option<String>,
    /// How the session was found.
    pub matched_by: Option<MatchedBy>,
    /// Index of the source that contains the verdict, or of the log beside it.
    pub source: usize,
    /// The judgement.
    pub verdict: Verdict,
}

impl VerdictRow {
    /// The row of an imported verdict whose session is not yet known.
    pub fn without_session(imported: &ImportedVerdict, source: usize) -> Self {
        Self {
            session_id: None,
            runtime: imported.runtime.clone(),
            matched_by: None,
            source,
            verdict: imported.verdict.clone(),
        }
    }
}
