//! The columns of all tables. Each is declared once, with its type, its name, its meaning, and the function that reads its value
//! from a row of the ledger. Constants made of the names are the only way to name a column: `turns::COST_USD` is `"cost_usd"`.

use std::collections::BTreeSet;

use super::column::{Field, Get};
use super::kind;
use crate::base::text::{SharedStr, Symbol};
use crate::base::time::Time;
use crate::model::errors::ErrorKind;
use crate::model::health::Reject;
use crate::model::repository::{CommitFileRow, CommitRow, PullRequestRow};
use crate::model::session::{CommandKind, MatchedBy, Operation, Sign, Tokens};
use crate::model::source::Source;
use crate::model::tables::{
    CallRow, ChangeRow, EventRow, LimitRow, Money, SessionRow, TurnRow, UsageReason, VerdictRow,
};
use crate::model::unknown::UnknownType;

/// A row with its session and its file.
pub struct RowContext<'a, R> {
    pub row: &'a R,
    pub session: &'a SessionRow,
    pub source: &'a Source,
}

/// A judgement with the file that contains it.
#[derive(Clone, Copy)]
pub struct Judged<'a> {
    pub row: &'a VerdictRow,
    pub source: &'a Source,
}

/// A lost line with its file.
#[derive(Clone, Copy)]
pub struct Lost<'a> {
    pub reject: &'a Reject,
    pub source: &'a Source,
}

/// Unknown records of one type with their file.
#[derive(Clone, Copy)]
pub struct Unread<'a> {
    pub row: &'a UnknownType,
    pub source: &'a Source,
}

/// Names that a log lists.
fn names(known: Option<&BTreeSet<Symbol>>) -> Option<Vec<&str>> {
    known.map(|names| names.iter().map(Symbol::as_str).collect())
}

/// Hashes that are separated by spaces.
fn hashes(printed: Option<&SharedStr>) -> Option<Vec<&str>> {
    printed.map(|hashes| hashes.split(' ').filter(|hash| !hash.is_empty()).collect())
}

/// A row with a time.
pub trait Timed {
    fn time(&self) -> Option<Time>;
}

/// A row of a line of a log.
pub trait Placed: Timed {
    fn line(&self) -> i64;
}

/// A row with tokens and their cost.
pub trait Billed {
    fn tokens(&self) -> Tokens;
    fn money(&self) -> &Money;
}

impl Timed for SessionRow {
    fn time(&self) -> Option<Time> {
        self.session.started_at
    }
}

macro_rules! placed {
    ($($row:ident.$fact:ident)*) => {$(
        impl Timed for $row {
            fn time(&self) -> Option<Time> {
                self.$fact.occurred_at
            }
        }

        impl Placed for $row {
            fn line(&self) -> i64 {
                self.$fact.line
            }
        }
    )*};
}

placed!(TurnRow.turn CallRow.call ChangeRow.change EventRow.event LimitRow.limit);

impl Billed for SessionRow {
    fn tokens(&self) -> Tokens {
        self.tokens
    }

    fn money(&self) -> &Money {
        &self.money
    }
}

impl Billed for TurnRow {
    fn tokens(&self) -> Tokens {
        self.turn.tokens.get()
    }

    fn money(&self) -> &Money {
        &self.money
    }
}

/// Declares columns: lists in braces, each after the name of a list in brackets that several tables share.
///
/// ```text
/// table! { turns['a] of RowContext<'a, TurnRow>
///     [place] {
///         Int TURN "Number of the response", |it| it.row.number;
///     }
/// }
/// ```
///
/// expands to
///
/// ```text
/// pub mod turns {
///     pub const TABLE: &str = "turns";
///     pub use super::place::*;
///     /// Number of the response
///     pub const TURN: &str = "turn";          // `turns::TURN` in an expression: the name
///     pub type TURN = kind::Int;              // `turns::TURN` as a type: for `rows!`, how its values are read
///     pub fn fields<'a>() -> Vec<Field<RowContext<'a, TurnRow>>> { .. }
/// }
/// ```
macro_rules! columns {
    ($({ $table_name:item })? $(#[$about_table:meta])* $table:ident[$($generics:tt)*] of $row:ty $($([$shared:ident])? {
        $($kind:ident $name:ident $about:literal, |$it:ident| $get:expr;)*
    })+) => {
        $(#[$about_table])*
        #[allow(clippy::doc_markdown, reason = "the comments are the descriptions of the columns")]
        pub mod $table {
            #[allow(clippy::wildcard_imports, reason = "the functions of the columns use them")]
            use super::*;
            $($(pub use super::$shared::*;)?)+

            $($table_name)?
            $($(
                #[doc = $about]
                pub const $name: &str = {
                    const LOWER: [u8; stringify!($name).len()] = lower(stringify!($name));
                    match str::from_utf8(&LOWER) {
                        Ok(name) => name,
                        Err(_) => "",
                    }
                };
                #[doc = $about]
                #[allow(non_camel_case_types, reason = "it has the name of the column")]
                pub type $name = kind::$kind;
            )*)+

            /// The columns, in their order.
            #[allow(clippy::vec_init_then_push, reason = "shared lists of columns are between the columns")]
            pub fn fields<$($generics)*>() -> Vec<Field<$row>> {
                let mut fields: Vec<Field<$row>> = Vec::new();
                $(
                    $(fields.extend(super::$shared::fields());)?
                    $(fields.push(Field::<$row> { name: $name, about: $about, get: get!($kind, |$it| $get) });)*
                )+
                fields
            }
        }
    };
}

/// Declares a table with its columns.
macro_rules! table {
    ($(#[$about:meta])* $table:ident $($columns:tt)*) => {
        columns! {
            {
                #[doc = "The name of the table."]
                pub const TABLE: &str = stringify!($table);
            }
            $(#[$about])* $table $($columns)*
        }
    };
}

/// How the value of a row is read: see [`kind`].
macro_rules! get {
    (Word, |$it:ident| $get:expr) => {
        Get::Text(|$it| Some($get))
    };
    (Text, |$it:ident| $get:expr) => {
        Get::Text(|$it| $get.as_deref())
    };
    (Choice, |$it:ident| $get:expr) => {
        Get::Text(|$it| $get)
    };
    ($kind:ident, |$it:ident| $get:expr) => {
        Get::$kind(|$it| $get)
    };
}

/// A name in lower case.
const fn lower<const LENGTH: usize>(name: &str) -> [u8; LENGTH] {
    let mut lower = [0; LENGTH];
    lower.copy_from_slice(name.as_bytes());
    lower.make_ascii_lowercase();
    lower
}

columns! {
    /// The day and the week of a row.
    day_and_week['a, R: Timed] of RowContext<'a, R> {
        Date DAY "Day in UTC; NULL without a time, where reports use the start of the session", |it| it.row.time().map(Time::day);
        Date WEEK "Monday of the week in UTC; NULL without a time, as day", |it| it.row.time().map(Time::week);
    }
}

columns! {
    /// The session and the place of a row.
    place['a, R: Placed] of RowContext<'a, R> {
        Word SESSION_ID "The runtime's own id of the session", |it| &it.session.session.session_id;
        Word RUNTIME "The agent program that wrote the log", |it| &it.session.session.runtime;
        Word FORMAT "The schema of the log, see agentlogs runtimes --formats", |it| &it.session.session.format;
        Word SOURCE_PATH "The file where the row was first read", |it| &it.source.path;
        Int LINE "The line there, from 1", |it| Some(it.row.line());
    }
}

columns! {
    /// The tokens of a row.
    tokens['a, R: Billed] of RowContext<'a, R> {
        Int INPUT_TOKENS "Prompt tokens that were not cached", |it| it.row.tokens().input;
        Int OUTPUT_TOKENS "Generated tokens, reasoning included", |it| it.row.tokens().output;
        Int CACHE_READ_TOKENS "Prompt tokens read from a cache", |it| it.row.tokens().cache_read;
        Int CACHE_WRITE_TOKENS "Prompt tokens written to a cache", |it| it.row.tokens().cache_write;
        Int CACHE_WRITE_1H_TOKENS "The part of cache_write_tokens kept for an hour", |it| it.row.tokens().cache_write_1h;
        Int REASONING_TOKENS "The part of output_tokens that was reasoning", |it| it.row.tokens().reasoning;
        Int TOTAL_TOKENS "Sum of the known of input, output, cache read and cache write", |it| it.row.tokens().total();
    }
}

columns! {
    /// The cost of a row.
    cost['a, R: Billed] of RowContext<'a, R> {
        Float COST_USD "US dollars: reported, else computed, else NULL", |it| it.row.money().cost;
        Choice COST_SOURCE "reported, computed or mixed; reported without cost_usd: part of a total on the session row", |it| it.row.money().source.map(crate::model::tables::CostSource::as_str);
        Float REPORTED_COST_USD "As the log states, including 0", |it| it.row.money().reported;
        Float COMPUTED_COST_USD "From tokens and prices", |it| it.row.money().computed;
    }
}

columns! {
    /// The parts of the cost of a row.
    cost_parts['a, R: Billed] of RowContext<'a, R> {
        Float INPUT_COST_USD "The part of cost_usd for input_tokens", |it| it.row.money().parts.map(|it| it.input);
        Float OUTPUT_COST_USD "The part for output_tokens", |it| it.row.money().parts.map(|it| it.output);
        Float CACHE_READ_COST_USD "The part for cache_read_tokens", |it| it.row.money().parts.map(|it| it.cache_read);
        Float CACHE_WRITE_COST_USD "The part for cache_write_tokens", |it| it.row.money().parts.map(|it| it.cache_write);
        Float WEB_SEARCH_COST_USD "The part for web searches", |it| it.row.money().parts.map(|it| it.web_search);
    }
}

table! {
    /// One row per session.
    sessions['a] of RowContext<'a, SessionRow>
    {
        Word SESSION_ID "The runtime's own id; ~ and a hash where the log names none", |it| &it.row.session.session_id;
        Word RUNTIME "The agent program that wrote the log", |it| &it.row.session.runtime;
        Word FORMAT "The schema of the log, see agentlogs runtimes --formats", |it| &it.row.session.format;
        Text RUNTIME_VERSION "Version of the runtime", |it| it.row.session.runtime_version;
        Text PARENT_SESSION_ID "The session that started this one", |it| it.row.session.parent_session_id;
        Text AGENT "Name of the main agent", |it| it.row.session.agent;
        Text ENTRYPOINT "How the runtime was started", |it| it.row.session.entrypoint;
        Word SOURCE_PATH "The file where the session was first read", |it| &it.source.path;
        Text CWD "Working directory", |it| it.row.session.cwd;
        Text PROJECT "Working directory; worktrees belong to their project", |it| it.row.project;
        Text GIT_BRANCH "Branch checked out there", |it| it.row.session.git_branch;
        Text REPOSITORY "host/owner/name of the remote, else the name of the root directory", |it| it.row.session.repository;
        Text HOST "The machine, from the sidecar, or if the log was in a directory where its runtime keeps logs", |it| it.row.session.host;
        Text USER_NAME "The account there, as host", |it| it.row.session.user_name;
        Text MODEL "The main agent's model with most responses", |it| it.row.model;
        Text CANONICAL_MODEL "One name for all spellings of that model", |it| it.row.canonical_model;
        List MODELS "All models, sorted", |it| it.row.models.iter().map(Symbol::as_str).collect();
        Word STATUS "success, error, aborted, incomplete or unknown", |it| it.row.session.status.as_str();
        Choice ERROR_KIND "auth, billing, rate_limit, overloaded, timeout, context_overflow, max_turns, budget, cancelled or other", |it| it.row.session.error_kind.map(ErrorKind::as_str);
        Text ERROR_MESSAGE "The error's own words", |it| it.row.session.error_message;
        Text STOP_REASON "The runtime's word, of the last main response", |it| it.row.session.stop_reason;
        Int EXIT_CODE "Exit status of the runtime's process", |it| it.row.session.exit_code;
        Time STARTED_AT "Time of the first record", |it| it.row.session.started_at;
        Time ENDED_AT "Time of the last record", |it| it.row.session.ended_at;
    }
    [day_and_week] {
        Int DURATION_MS "As logged, else from the first record to the last", |it| it.row.duration_ms;
        Int API_DURATION_MS "The part of it spent waiting for the provider", |it| it.row.api_duration_ms;
        Int USER_TURNS "Prompts that a human typed", |it| it.row.user_turns;
        Int TURNS "Model responses, subagents' included", |it| it.row.turns;
        Int TOOL_CALLS "Tool calls", |it| it.row.tool_calls;
        Int TOOL_ERRORS "Calls with the status error", |it| it.row.tool_errors;
        Int FILE_CHANGES "Rows of file_changes", |it| it.row.file_changes;
        Int LINES_ADDED "Lines added, where changes show them", |it| it.row.lines_added;
        Int LINES_REMOVED "Lines removed, where changes show them", |it| it.row.lines_removed;
        Int SUBAGENTS "Distinct agents besides the main one", |it| it.row.subagents;
        Int COMPACTIONS "Compactions of the context", |it| it.row.compactions;
        Int RETRIES "Requests that were made again", |it| it.row.retries;
        Int PERMISSION_DENIALS "Calls that the user or a rule refused", |it| it.row.permission_denials;
        Int WEB_SEARCHES "Searches that the provider ran", |it| it.row.web_searches;
    }
    [tokens] {
        Word USAGE "How far the tokens can be trusted: exact, lower_bound, estimate, unknown or conflict", |it| it.row.usage.as_str();
        Choice USAGE_REASON "Why usage is lower_bound: unread_counts, newer_version, under_reports, no_counts, lost_responses or no_end; else NULL", |it| it.row.usage_reason.map(UsageReason::as_str);
        List DOUBTS "Rules that the rows of the session break, whose counters are NULL: no_prompt, no_results, total_above_responses", |it| it.row.doubts.iter().map(|doubt| doubt.as_str()).collect();
    }
    [cost] {
        Int UNPRICED_TOKENS "Tokens of the session that no cost covers", |it| Some(it.row.unpriced_tokens);
    }
    [cost_parts] {
        Float OWN_COST_USD "cost_usd, which includes subagents in the same log, but no other session", |it| it.row.money.cost;
        Float INCLUSIVE_COST_USD "The same with all descendants, as far as it is known", |it| it.row.tree.cost;
        Int INCLUSIVE_TOTAL_TOKENS "total_tokens with those of all descendants", |it| it.row.tree.total_tokens;
        Int DESCENDANTS "Sessions that it started, and those that these started", |it| Some(it.row.tree.descendants);
        Int MISSING_DESCENDANTS "Agents that these started and whose logs are missing: inclusive values are lower bounds", |it| Some(it.row.tree.missing);
        Word ROOT_SESSION_ID "The first of the sessions that led to this one; its own id if no other did", |it| it.row.root_session_id();
        List LABELS "key=value, sorted", |it| it.row.session.labels.iter().map(String::as_str).collect();
        Hash INSTRUCTIONS_HASH "Equal for equal instructions: the system prompts and instruction files before the first response", |it| Some(it.row.session.offer.instructions?.hash);
        Int INSTRUCTIONS_BYTES "Their size in UTF-8", |it| Some(it.row.session.offer.instructions?.bytes);
        MaybeList TOOLS_OFFERED "Names of tools that the model could call, sorted; NULL if the log does not list any", |it| names(it.row.session.offer.tools.as_ref());
        MaybeList SKILLS_OFFERED "The same of skills", |it| names(it.row.session.offer.skills.as_ref());
        Int SKILLS_OFFERED_BYTES "Bytes of the list of skills that the model reads", |it| it.row.session.offer.skills_bytes;
        MaybeList MCP_SERVERS_OFFERED "The same of MCP servers", |it| names(it.row.session.offer.mcp_servers.as_ref());
        List PULL_REQUESTS "Addresses of pull requests that it made, or that its log links to it", |it| it.row.session.pull_requests.iter().map(SharedStr::as_str).collect();
        Text PROMPT "The first text that a human typed, with --content text", |it| it.row.session.prompt;
        Text TEXT "The last text of the assistant, with --content text", |it| it.row.session.text;
    }
}

table! {
    /// The ledger: every billed token is in exactly one row.
    turns['a] of RowContext<'a, TurnRow>
    [place] {
        Int TURN "Number of the response in its session, from 1; NULL where grain is session", |it| it.row.number;
        Word GRAIN "turn, or session for what a log only gives in sum", |it| it.row.grain.as_str();
        Text MESSAGE_ID "The provider's id of the response", |it| it.row.turn.message_id;
        Text REQUEST_ID "The provider's id of the request", |it| it.row.turn.request_id;
        Text AGENT "Name or type of the agent that asked", |it| it.row.turn.agent;
        Text AGENT_ID "Id of that agent within the session", |it| it.row.turn.agent_id;
        Flag IS_SUBAGENT "Whether another agent than the main one asked", |it| it.row.turn.is_subagent;
        Text PROVIDER "As logged", |it| it.row.turn.provider;
        Text MODEL "As logged", |it| it.row.turn.model;
        Text CANONICAL_MODEL "One name for all spellings of the model", |it| it.row.canonical_model;
        Text EFFORT "Reasoning effort or thinking level, as logged", |it| it.row.turn.effort;
        Choice SKILL "The skill in effect; NULL without one, or if tool_calls is NULL: then the log does not show it", |it| it.row.details()?.skill.as_deref();
        Choice PLUGIN "The plugin that provides the skill or the agent", |it| it.row.details()?.plugin.as_deref();
        Choice AGENT_TYPE "The type of the subagent that asked; NULL for the main agent, or if it is not known", |it| it.row.details()?.agent_type.as_deref();
        Choice COMMAND "The slash command that the main agent works on, without the slash", |it| it.row.details()?.command.as_deref();
        Time OCCURRED_AT "When it was answered: the time of its first record, where a response has several; of Codex, of its count", |it| it.row.turn.occurred_at;
    }
    [day_and_week] {
        Time ENDED_AT "When its last record was logged, to which latency_ms is counted; NULL where only occurred_at is known", |it| it.row.turn.ended_at;
        Int DURATION_MS "How long the response took, as logged", |it| it.row.turn.duration_ms.get();
        Int LATENCY_MS "From the prompt or the last result before the request to the end of the response", |it| it.row.turn.latency_ms.map(|milliseconds| i64::from(milliseconds.get()));
        Text STOP_REASON "The runtime's word", |it| it.row.turn.stop_reason;
        Int TOOL_CALLS "Calls that the response made", |it| it.row.tool_calls;
        Text SERVICE_TIER "As logged", |it| it.row.turn.service_tier;
        Text SPEED "As logged", |it| it.row.turn.speed;
        Choice CACHE_MISS_REASON "Why the provider did not find the prompt in its cache, in its words", |it| it.row.details()?.cache_miss_reason.as_deref();
        Int CONTEXT_TOKENS "Input, cache read and cache write: the size of the request", |it| it.row.number.and_then(|_| it.row.turn.tokens.get().context());
        Int CONTEXT_WINDOW "Size of the model's context window", |it| it.row.turn.context_window.get();
    }
    [tokens] {
        Int WEB_SEARCHES "Searches that the provider ran", |it| it.row.turn.web_searches.get();
    }
    [cost] {}
    [cost_parts] {}
}

table! {
    /// One row per call.
    tool_calls['a] of RowContext<'a, CallRow>
    [place] {
        Int TURN "Number of the response that made the call", |it| it.row.turn;
        Word CALL_ID "The runtime's id of the call", |it| &it.row.call.call_id;
        Text AGENT "Name or type of the agent that called", |it| it.row.call.agent;
        Flag IS_SUBAGENT "Whether that was another agent than the main one", |it| it.row.call.is_subagent;
        Choice TOOL "The runtime's own name of the tool; NULL if the log has none", |it| Some(&*it.row.call.tool).filter(|name| !name.is_empty());
        Word CATEGORY "shell, read, edit, write, search, web, mcp, subagent, plan or other", |it| &it.row.call.category;
        Text MCP_SERVER "The MCP server that offers it", |it| it.row.call.mcp_server;
        Time OCCURRED_AT "When it was called", |it| it.row.call.occurred_at;
    }
    [day_and_week] {
        Int DURATION_MS "As logged, else the time of the result minus that of the call", |it| it.row.duration_ms();
        Word STATUS "ok, error, denied, incomplete or cancelled", |it| it.row.call.status.as_str();
        Int EXIT_CODE "Exit status of a command", |it| it.row.call.exit_code.get();
        Int ARGS_BYTES "Bytes of the arguments in the log, white space included", |it| it.row.call.args_bytes.get();
        Int RESULT_BYTES "Bytes of the result in the log, white space included", |it| it.row.call.result_bytes.get();
        Text TARGET "The file, the URL's host, the first program of a command, or the skill", |it| it.row.call.target;
        Text ARGS "The arguments, with --content full", |it| it.row.call.args;
        Text RESULT "The result, with --content full", |it| it.row.call.result;
        Hash ARGS_HASH "XXH3-64 of the arguments as logged: equal calls of a session have equal hashes", |it| it.row.call.args_hash.get();
        Choice COMMAND_KIND "Of a shell call: test, build, lint, format, run, install, vcs, search, read, edit, network or other", |it| it.row.call.command_kind.map(CommandKind::as_str);
        Text SKILL "The skill that the call loads: a call of a tool for skills, or a read of a SKILL.md", |it| it.row.call.skill;
        MaybeFlag RESULT_FAILED_TESTS "Of a call of the kind test: whether its result states that tests failed, whatever the exit status; NULL where it does not state it", |it| it.row.call.result_failed_tests;
        Choice SIGN "Sign that the session's result should not be trusted: verifier_changed, verifier_read, test_deleted, test_skipped, clock_set, history_searched, upstream_fetched or web_used", |it| it.row.call.sign.map(Sign::as_str);
        MaybeList COMMITS "Beginnings of the hashes of commits that the call made, or moved a branch to, as git printed them; empty if it made commits and printed none, else NULL", |it| hashes(it.row.call.commits.as_ref());
    }
}

table! {
    /// One row per path and call.
    file_changes['a] of RowContext<'a, ChangeRow>
    [place] {
        Int TURN "Number of the response that made the change", |it| it.row.turn;
        Text CALL_ID "The call that made it", |it| it.row.call_id;
        Time OCCURRED_AT "When", |it| it.row.change.occurred_at;
        Word PATH "The file, as the call names it", |it| &it.row.change.path;
        Choice OPERATION "create, update, delete or move; NULL where the log does not distinguish new files from old ones", |it| it.row.change.operation.map(Operation::as_str);
        Int LINES_ADDED "Lines added", |it| it.row.change.lines_added;
        Int LINES_REMOVED "Lines removed", |it| it.row.change.lines_removed;
        Text LINE_SKETCH "The 16 smallest hashes of the added lines, 8 hexadecimal digits each; of a file that is written whole, of the lines in its first 4 KiB; NULL where the log does not show the lines", |it| it.row.change.line_sketch;
    }
}

table! {
    /// Other events.
    events['a] of RowContext<'a, EventRow>
    [place] {
        Int TURN "Number of the response that it belongs to", |it| it.row.turn;
        Text CALL_ID "The call that it belongs to", |it| it.row.event.call_id;
        Text AGENT "Name or type of the agent", |it| it.row.event.agent;
        Flag IS_SUBAGENT "Whether that was another agent than the main one", |it| it.row.event.is_subagent;
        Time OCCURRED_AT "When", |it| it.row.event.occurred_at;
    }
    [day_and_week] {
        Word KIND "error, compaction, permission_denial, retry, subagent, validation or abort", |it| it.row.event.kind.as_str();
        Text CODE "An error's class, a retry's HTTP status, a compaction's trigger, a denied tool, a subagent's id, input or output", |it| it.row.event.code;
        Text MESSAGE "The log's words", |it| it.row.event.message;
        Int TOKENS_BEFORE "Size of the context before a compaction", |it| it.row.event.tokens_before;
        Int TOKENS_AFTER "Size of the context after it", |it| it.row.event.tokens_after;
    }
}

table! {
    /// One row per window of a limit and change.
    limits['a] of RowContext<'a, LimitRow>
    [place] {
        Time OCCURRED_AT "When it was logged", |it| it.row.limit.occurred_at;
    }
    [day_and_week] {
        Text LIMIT_ID "The limit, where the runtime has several", |it| it.row.limit.limit_id;
        Word WINDOW_NAME "The runtime's word: primary, secondary, five_hour, seven_day", |it| &it.row.limit.window_name;
        Text PLAN "The subscription, as logged", |it| it.row.limit.plan;
        Int WINDOW_MINUTES "Length of the window", |it| it.row.limit.window_minutes;
        Float USED_PERCENT "The used part of the limit", |it| it.row.limit.used_percent;
        Time RESETS_AT "When the window ends", |it| it.row.limit.resets_at;
        Text REACHED "The runtime's word, once the limit is reached", |it| it.row.limit.reached;
    }
}

table! {
    /// One row per judgement.
    verdicts['a] of Judged<'a>
    {
        Text SESSION_ID "The session; NULL until one matches", |it| it.row.session_id;
        Text RUNTIME "The session's runtime", |it| it.row.runtime;
        Text TASK "The task that the session worked on", |it| it.row.verdict.task;
        Text TRIAL "The attempt at the task", |it| it.row.verdict.trial;
        Word NAME "Distinguishes several verdicts of one session; verdict if it has no other name", |it| &it.row.verdict.name;
        MaybeFlag PASSED "Whether the task was solved; NULL where only a score is given", |it| it.row.verdict.passed;
        Float SCORE "The score, as given", |it| it.row.verdict.score;
        Text JUDGE "Who or what judged", |it| it.row.verdict.judge;
        Time JUDGED_AT "When", |it| it.row.verdict.judged_at;
        Text MESSAGE "The judge's words", |it| it.row.verdict.message;
        Word SOURCE_PATH "The file that contains the verdict", |it| it.row.verdict.path.as_deref().unwrap_or(&it.source.path);
        Choice MATCHED_BY "How the session was found: session_id, label, path or sidecar", |it| it.row.matched_by.map(MatchedBy::as_str);
    }
}

table! {
    /// One row per file.
    sources['a] of &'a Source
    {
        Word SOURCE_PATH "The file's real path; ARCHIVE!/MEMBER inside a tar or zip archive", |it| &it.path;
        Text HOST "The machine where it was read", |it| it.host;
        Text RUNTIME "The agent program that wrote it", |it| it.runtime;
        Text FORMAT "Its schema, see agentlogs runtimes --formats", |it| it.format;
        Text COMPRESSION "gzip, zstd or utf-16", |it| it.compression;
        Int BYTES "Size on disk, or of a member of an archive once extracted", |it| Some(it.bytes);
        Time MODIFIED_AT "When it was last written", |it| it.modified_at;
        Text CONTENT_HASH "XXH3-128 of the decompressed bytes", |it| it.content_hash;
        Int LINES "Physical lines", |it| Some(it.health.lines);
        Int RECORDS "Records that were read", |it| Some(it.health.records);
        Int REJECTED_LINES "Lines lost whole or in part, see rejects", |it| Some(it.health.rejected_lines());
        Int UNKNOWN_RECORDS "Records of types that the adapter does not know, see unknown_records", |it| Some(it.health.unknown_records);
        Int SESSIONS "Sessions that the file contains", |it| i64::try_from(it.session_count).ok();
        Word STATUS "parsed, duplicate, auxiliary, truncated, unrecognised, unreadable or empty", |it| it.status.as_str();
        Text DUPLICATE_OF "The file with the same content", |it| it.duplicate_of;
        Text MESSAGE "Why it could not be read, or not to its end", |it| it.message;
        Time INGESTED_AT "When it was read", |it| it.ingested_at;
    }
}

table! {
    /// One row per file and reason for which lines were lost.
    rejects['a] of Lost<'a>
    {
        Word SOURCE_PATH "The file", |it| &it.source.path;
        Word REASON "not_json, cut_short, not_an_object, too_deep, too_long, bad_number or no_usage", |it| it.reject.reason.as_str();
        Int LINES "Lines lost for it, whole or in part", |it| Some(it.reject.lines);
        Int FIRST_LINE "The first of them, from 1", |it| Some(it.reject.first_line);
        Word EXAMPLE "The beginning of that line", |it| &it.reject.example;
    }
}

table! {
    /// One row per file and type of records that are not known.
    unknown_records['a] of Unread<'a>
    {
        Word SOURCE_PATH "The file", |it| &it.source.path;
        Text FORMAT "Its schema, see agentlogs runtimes --formats", |it| it.source.format;
        Text RUNTIME_VERSION "The newest version of the runtime among its sessions", |it| it.source.health.runtime_version;
        Choice TYPE "The words that name the type of the records, from the outside in; * in place of words that may be data. NULL if they have none", |it| Some(it.row.name.as_str()).filter(|name| !name.is_empty());
        Int RECORDS "Records, or parts of known records, of that type", |it| Some(it.row.records);
        Int FIRST_LINE "The line of the first of them, from 1", |it| Some(it.row.first_line);
        Flag HAS_COUNTS "Whether they contain token counts or costs above 0, by the names of their members", |it| it.row.contents.has_counts;
        Flag HAS_MODEL "Whether they contain a model", |it| it.row.contents.has_model;
        Flag HAS_ERROR "Whether they contain an error", |it| it.row.contents.has_error;
    }
}

table! {
    /// One row per repository and commit.
    commits['a] of &'a CommitRow
    {
        Word REPOSITORY "host/owner/name of the remote, else the name of the root directory", |it| &it.repository;
        Text DIRECTORY "The root directory of the repository, where it was scanned", |it| it.directory;
        Word COMMIT "The hash of the commit", |it| &it.commit;
        Int PARENTS "Number of its parents: 0 for a first commit, 2 for a merge", |it| Some(it.parents);
        Text AUTHOR "The author's name", |it| it.author;
        Time COMMITTED_AT "When it was committed", |it| it.committed_at;
        Time AUTHORED_AT "When it was written; a rebase keeps this time", |it| it.authored_at;
        Date DAY "Day of committed_at in UTC", |it| it.committed_at.map(Time::day);
        Date WEEK "Monday of its week in UTC", |it| it.committed_at.map(Time::week);
        Text SUBJECT "The first line of its message", |it| it.subject;
        List BRANCHES "Branches other than the default one that contain it, or whose merge brought it in", |it| it.branches.iter().map(String::as_str).collect();
        MaybeFlag ON_DEFAULT "Whether the default branch contains it; NULL if no default branch is known", |it| it.on_default;
        Time MERGED_AT "When the default branch first contained it", |it| it.merged_at;
        List TAGS "Tags of the commit", |it| it.tags.iter().map(String::as_str).collect();
        Int PULL_REQUEST "Number of the pull request that brought it in, from messages of merges and squash merges", |it| it.pull_request;
        Text REVERTS "The commit that it reverts, by its message or because its patch is the inverse", |it| it.reverts;
        List COAUTHORS "Names in Co-Authored-By", |it| it.coauthors.iter().map(String::as_str).collect();
        List SESSION_IDS "Sessions that the message or a note of the commit names", |it| it.session_ids.iter().map(String::as_str).collect();
        Hash PATCH_ID "Equal for equal changes: after a rebase, or a cherry-pick", |it| it.patch_id;
        Int FILES "Changed files; NULL for merges and if objects are missing", |it| it.files;
        Int LINES_ADDED "Lines added, as files", |it| it.lines_added;
        Int LINES_REMOVED "Lines removed, as files", |it| it.lines_removed;
        Int LINES_SURVIVING "The added lines that the default branch still has", |it| it.lines_surviving;
        Int LINES_GONE_SOON "The added lines that later commits of the default branch removed within 14 days; NULL before these have passed", |it| it.lines_gone_soon;
        Time HALF_GONE_AT "When the default branch had lost more than half of the added lines, up to 90 days after merged_at", |it| it.half_gone_at;
    }
}

table! {
    /// One row per commit and changed file.
    commit_files['a] of &'a CommitFileRow
    {
        Word REPOSITORY "As in commits", |it| &it.repository;
        Word COMMIT "The hash of the commit", |it| &it.commit;
        Word PATH "The file, from the root directory of the repository", |it| &it.path;
        Text OLD_PATH "Its earlier path, of a moved file", |it| it.old_path;
        Choice OPERATION "create, update, delete or move", |it| Some(it.operation.as_str());
        Int LINES_ADDED "Lines added; NULL for binary files and if objects are missing", |it| it.lines_added;
        Int LINES_REMOVED "Lines removed, as lines_added", |it| it.lines_removed;
        Text LINE_HASHES "Hashes of the added lines of 12 or more characters, eight hexadecimal digits each, sorted", |it| it.line_hashes;
    }
}

table! {
    /// One row per pull request or merge request, from files of a hosting service.
    pull_requests['a] of &'a PullRequestRow
    {
        Word REPOSITORY "host/owner/name, from its URL", |it| &it.repository;
        Int NUMBER "Its number", |it| Some(it.number);
        Text URL "Its address", |it| it.url;
        Text TITLE "Its title", |it| it.title;
        Word STATE "open, merged or closed", |it| it.state.as_str();
        Text AUTHOR "The account of its author", |it| it.author;
        Text BRANCH "The branch that it merges", |it| it.branch;
        Text BASE "The branch that it merges into", |it| it.base;
        Time CREATED_AT "When it was opened", |it| it.created_at;
        Time MERGED_AT "When it was merged", |it| it.merged_at;
        Time CLOSED_AT "When it was closed or merged", |it| it.closed_at;
        Text MERGE_COMMIT "The commit that merged it", |it| it.merge_commit;
        List COMMITS "The hashes of its commits, as far as the file contains them", |it| it.commits.iter().map(String::as_str).collect();
        Int REVIEWS "Reviews that asked for changes or approved", |it| it.reviews;
        Int LINES_ADDED "Lines added", |it| it.lines_added;
        Int LINES_REMOVED "Lines removed", |it| it.lines_removed;
    }
}
