//! The columns of all tables. Only this file spells column names: each column is one line, with its name, its meaning, and the function
//! that reads its value from a row.

use super::column::{Field, Get};
use crate::base::text::Symbol;
use crate::base::time::Time;
use crate::model::errors::ErrorKind;
use crate::model::health::Reject;
use crate::model::session::{CommandKind, MatchedBy, Operation};
use crate::model::source::Source;
use crate::model::tables::{CallRow, ChangeRow, EventRow, LimitRow, SessionRow, TurnRow, UsageReason, VerdictRow};
use crate::model::unknown::UnknownType;

/// A row with its session and its file.
pub struct In<'a, R> {
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

macro_rules! field {
    ($kind:ident $name:literal $about:literal, $get:expr) => {
        Field { name: $name, about: $about, get: Get::$kind($get) }
    };
}

/// A column of optional texts.
macro_rules! text {
    ($name:literal $about:literal, |$it:ident| $get:expr) => {
        field!(Text $name $about, |$it| $get.as_deref())
    };
}

/// A column of texts without NULL.
macro_rules! word {
    ($name:literal $about:literal, |$it:ident| $get:expr) => {
        field!(Text $name $about, |$it| Some($get))
    };
}

macro_rules! day_and_week {
    (|$it:ident| $time:expr) => {
        [
            field!(Date "day" "Day in UTC; NULL without a time, where reports use the start of the session", |$it| $time.map(Time::day)),
            field!(Date "week" "Monday of the week in UTC; NULL without a time, as day", |$it| $time.map(Time::week)),
        ]
    };
}

/// The columns for the session and the place of a row.
macro_rules! place {
    (|$it:ident| $line:expr) => {
        [
            word!("session_id" "The runtime's own id of the session", |$it| &$it.session.session.session_id),
            word!("runtime" "The agent program that wrote the log", |$it| &$it.session.session.runtime),
            word!("format" "The schema of the log, see agentlogs runtimes --formats", |$it| &$it.session.session.format),
            word!("source_path" "The file where the row was first read", |$it| &$it.source.path),
            field!(Int "line" "The line there, from 1", |$it| Some($line)),
        ]
    };
}

macro_rules! tokens {
    (|$it:ident| $tokens:expr) => {
        [
            field!(Int "input_tokens" "Prompt tokens that were not cached", |$it| $tokens.input),
            field!(Int "output_tokens" "Generated tokens, reasoning included", |$it| $tokens.output),
            field!(Int "cache_read_tokens" "Prompt tokens read from a cache", |$it| $tokens.cache_read),
            field!(Int "cache_write_tokens" "Prompt tokens written to a cache", |$it| $tokens.cache_write),
            field!(Int "cache_write_1h_tokens" "The part of cache_write_tokens kept for an hour", |$it| $tokens.cache_write_1h),
            field!(Int "reasoning_tokens" "The part of output_tokens that was reasoning", |$it| $tokens.reasoning),
            field!(Int "total_tokens" "Sum of the known of input, output, cache read and cache write", |$it| $tokens.total()),
        ]
    };
}

macro_rules! cost {
    (|$it:ident| $money:expr) => {
        [
            field!(Float "cost_usd" "US dollars: reported, else computed, else NULL", |$it| $money.cost),
            field!(Text "cost_source" "reported, computed or mixed; reported without cost_usd: part of a total on the session row", |$it| $money.source.map(|it| it.as_str())),
            field!(Float "reported_cost_usd" "As the log states, including 0", |$it| $money.reported),
            field!(Float "computed_cost_usd" "From tokens and prices", |$it| $money.computed),
        ]
    };
}

macro_rules! cost_parts {
    (|$it:ident| $money:expr) => {
        [
            field!(Float "input_cost_usd" "The part of cost_usd for input_tokens", |$it| $money.parts.map(|it| it.input)),
            field!(Float "output_cost_usd" "The part for output_tokens", |$it| $money.parts.map(|it| it.output)),
            field!(Float "cache_read_cost_usd" "The part for cache_read_tokens", |$it| $money.parts.map(|it| it.cache_read)),
            field!(Float "cache_write_cost_usd" "The part for cache_write_tokens", |$it| $money.parts.map(|it| it.cache_write)),
            field!(Float "web_search_cost_usd" "The part for web searches", |$it| $money.parts.map(|it| it.web_search)),
        ]
    };
}

/// Joins columns and groups of columns into one list.
macro_rules! fields {
    ($row:ty: $($part:expr),* $(,)?) => {{
        let mut fields: Vec<Field<$row>> = Vec::new();
        $(add(&mut fields, $part);)*
        fields
    }};
}

/// Fixes the type of the rows before the compiler checks the functions that read them.
fn add<R, const N: usize>(fields: &mut Vec<Field<R>>, part: [Field<R>; N]) {
    fields.extend(part);
}

pub type Session<'a> = In<'a, SessionRow>;

pub fn sessions<'a>() -> Vec<Field<Session<'a>>> {
    fields![Session<'a>:
        [
            word!("session_id" "The runtime's own id; ~ and a hash where the log names none", |it| &it.row.session.session_id),
            word!("runtime" "The agent program that wrote the log", |it| &it.row.session.runtime),
            word!("format" "The schema of the log, see agentlogs runtimes --formats", |it| &it.row.session.format),
            text!("runtime_version" "Version of the runtime", |it| it.row.session.runtime_version),
            text!("parent_session_id" "The session that started this one", |it| it.row.session.parent_session_id),
            text!("agent" "Name of the main agent", |it| it.row.session.agent),
            text!("entrypoint" "How the runtime was started", |it| it.row.session.entrypoint),
            word!("source_path" "The file where the session was first read", |it| &it.source.path),
            text!("cwd" "Working directory", |it| it.row.session.cwd),
            text!("project" "Working directory; worktrees belong to their project", |it| it.row.project),
            text!("git_branch" "Branch checked out there", |it| it.row.session.git_branch),
            text!("repository" "host/owner/name of the remote, else the name of the root directory", |it| it.row.session.repository),
            text!("host" "The machine, from the sidecar, or if the log was in a directory where its runtime keeps logs", |it| it.row.session.host),
            text!("user_name" "The account there, as host", |it| it.row.session.user_name),
            text!("model" "The main agent's model with most responses", |it| it.row.model),
            text!("canonical_model" "One name for all spellings of that model", |it| it.row.canonical_model),
            field!(List "models" "All models, sorted", |it| it.row.models.iter().map(Symbol::as_str).collect()),
            word!("status" "success, error, aborted, incomplete or unknown", |it| it.row.session.status.as_str()),
            field!(Text "error_kind" "auth, billing, rate_limit, overloaded, timeout, context_overflow, max_turns, budget, cancelled or other",
                |it| it.row.session.error_kind.map(ErrorKind::as_str)),
            text!("error_message" "The error's own words", |it| it.row.session.error_message),
            text!("stop_reason" "The runtime's word, of the last main response", |it| it.row.session.stop_reason),
            field!(Int "exit_code" "Exit status of the runtime's process", |it| it.row.session.exit_code),
            field!(Time "started_at" "Time of the first record", |it| it.row.session.started_at),
            field!(Time "ended_at" "Time of the last record", |it| it.row.session.ended_at),
        ],
        day_and_week!(|it| it.row.session.started_at),
        [
            field!(Int "duration_ms" "As logged, else from the first record to the last", |it| it.row.duration_ms),
            field!(Int "api_duration_ms" "The part of it spent waiting for the provider", |it| it.row.api_duration_ms),
            field!(Int "user_turns" "Prompts that a human typed", |it| it.row.user_turns),
            field!(Int "turns" "Model responses, subagents' included", |it| it.row.turns),
            field!(Int "tool_calls" "Tool calls", |it| it.row.tool_calls),
            field!(Int "tool_errors" "Calls with the status error", |it| it.row.tool_errors),
            field!(Int "file_changes" "Rows of file_changes", |it| it.row.file_changes),
            field!(Int "lines_added" "Lines added, where changes show them", |it| it.row.lines_added),
            field!(Int "lines_removed" "Lines removed, where changes show them", |it| it.row.lines_removed),
            field!(Int "subagents" "Distinct agents besides the main one", |it| it.row.subagents),
            field!(Int "compactions" "Compactions of the context", |it| it.row.compactions),
            field!(Int "retries" "Requests that were made again", |it| it.row.retries),
            field!(Int "permission_denials" "Calls that the user or a rule refused", |it| it.row.permission_denials),
            field!(Int "web_searches" "Searches that the provider ran", |it| it.row.web_searches),
        ],
        tokens!(|it| it.row.tokens),
        [
            word!("usage" "How far the tokens can be trusted: exact, lower_bound, estimate, unknown or conflict", |it| it.row.usage.as_str()),
            field!(Text "usage_reason" "Why usage is lower_bound: unread_counts, newer_version, under_reports, no_counts, lost_responses or no_end; else NULL",
                |it| it.row.usage_reason.map(UsageReason::as_str)),
            field!(List "doubts" "Rules that the rows of the session break, whose counters are NULL: no_prompt, no_results, total_above_responses",
                |it| it.row.doubts.iter().map(|doubt| doubt.as_str()).collect()),
        ],
        cost!(|it| it.row.money),
        [field!(Int "unpriced_tokens" "Tokens of the session that no cost covers", |it| Some(it.row.unpriced_tokens))],
        cost_parts!(|it| it.row.money),
        [
            field!(List "labels" "key=value, sorted", |it| it.row.session.labels.iter().map(String::as_str).collect()),
            text!("prompt" "The first text that a human typed, with --content text", |it| it.row.session.prompt),
            text!("text" "The last text of the assistant, with --content text", |it| it.row.session.text),
        ],
    ]
}

pub type Turn<'a> = In<'a, TurnRow>;

pub fn turns<'a>() -> Vec<Field<Turn<'a>>> {
    fields![Turn<'a>:
        place!(|it| it.row.turn.line),
        [
            field!(Int "turn" "Number of the response in its session, from 1; NULL where grain is session", |it| it.row.number),
            word!("grain" "turn, or session for what a log only gives in sum", |it| it.row.grain.as_str()),
            text!("message_id" "The provider's id of the response", |it| it.row.turn.message_id),
            text!("request_id" "The provider's id of the request", |it| it.row.turn.request_id),
            text!("agent" "Name or type of the agent that asked", |it| it.row.turn.agent),
            text!("agent_id" "Id of that agent within the session", |it| it.row.turn.agent_id),
            field!(Flag "is_subagent" "Whether another agent than the main one asked", |it| it.row.turn.is_subagent),
            text!("provider" "As logged", |it| it.row.turn.provider),
            text!("model" "As logged", |it| it.row.turn.model),
            text!("canonical_model" "One name for all spellings of the model", |it| it.row.canonical_model),
            text!("effort" "Reasoning effort or thinking level, as logged", |it| it.row.turn.effort),
            field!(Time "occurred_at" "When it was answered", |it| it.row.turn.occurred_at),
        ],
        day_and_week!(|it| it.row.turn.occurred_at),
        [
            field!(Int "duration_ms" "How long the response took, as logged", |it| it.row.turn.duration_ms.get()),
            field!(Int "latency_ms" "From the prompt or the last result before the request to the end of the response",
                |it| it.row.turn.latency_ms.map(|milliseconds| i64::from(milliseconds.get()))),
            text!("stop_reason" "The runtime's word", |it| it.row.turn.stop_reason),
            field!(Int "tool_calls" "Calls that the response made", |it| it.row.tool_calls),
            text!("service_tier" "As logged", |it| it.row.turn.service_tier),
            text!("speed" "As logged", |it| it.row.turn.speed),
            field!(Int "context_tokens" "Input, cache read and cache write: the size of the request",
                |it| it.row.number.and_then(|_| it.row.turn.tokens.get().context())),
            field!(Int "context_window" "Size of the model's context window", |it| it.row.turn.context_window.get()),
        ],
        tokens!(|it| it.row.turn.tokens.get()),
        [field!(Int "web_searches" "Searches that the provider ran", |it| it.row.turn.web_searches.get())],
        cost!(|it| it.row.money),
        cost_parts!(|it| it.row.money),
    ]
}

pub type Call<'a> = In<'a, CallRow>;

pub fn tool_calls<'a>() -> Vec<Field<Call<'a>>> {
    fields![Call<'a>:
        place!(|it| it.row.call.line),
        [
            field!(Int "turn" "Number of the response that made the call", |it| it.row.turn),
            word!("call_id" "The runtime's id of the call", |it| &it.row.call.call_id),
            text!("agent" "Name or type of the agent that called", |it| it.row.call.agent),
            field!(Flag "is_subagent" "Whether that was another agent than the main one", |it| it.row.call.is_subagent),
            word!("tool" "The runtime's own name of the tool", |it| &it.row.call.tool),
            word!("category" "shell, read, edit, write, search, web, mcp, subagent, plan or other", |it| &it.row.call.category),
            text!("mcp_server" "The MCP server that offers it", |it| it.row.call.mcp_server),
            field!(Time "occurred_at" "When it was called", |it| it.row.call.occurred_at),
        ],
        day_and_week!(|it| it.row.call.occurred_at),
        [
            field!(Int "duration_ms" "As logged, else the time of the result minus that of the call", |it| it.row.duration_ms()),
            word!("status" "ok, error, denied, incomplete or cancelled", |it| it.row.call.status.as_str()),
            field!(Int "exit_code" "Exit status of a command", |it| it.row.call.exit_code.get()),
            field!(Int "args_bytes" "Bytes of the arguments in the log, white space included", |it| it.row.call.args_bytes.get()),
            field!(Int "result_bytes" "Bytes of the result in the log, white space included", |it| it.row.call.result_bytes.get()),
            text!("target" "The file, the URL's host, or the first program of a command", |it| it.row.call.target),
            text!("args" "The arguments, with --content full", |it| it.row.call.args),
            text!("result" "The result, with --content full", |it| it.row.call.result),
            field!(Hash "args_hash" "XXH3-64 of the arguments as logged: equal calls of a session have equal hashes", |it| it.row.call.args_hash.get()),
            field!(Text "command_kind" "Of a shell call: test, build, lint, format, run, install, vcs, search, read, edit, network or other",
                |it| it.row.call.command_kind.map(CommandKind::as_str)),
            field!(MaybeFlag "result_failed_tests" "Of a call of the kind test: whether its result states that tests failed, whatever the exit status; NULL where it does not state it",
                |it| it.row.call.result_failed_tests),
        ],
    ]
}

pub type Change<'a> = In<'a, ChangeRow>;

pub fn file_changes<'a>() -> Vec<Field<Change<'a>>> {
    fields![Change<'a>:
        place!(|it| it.row.change.line),
        [
            field!(Int "turn" "Number of the response that made the change", |it| it.row.turn),
            text!("call_id" "The call that made it", |it| it.row.call_id),
            field!(Time "occurred_at" "When", |it| it.row.change.occurred_at),
            word!("path" "The file, as the call names it", |it| &it.row.change.path),
            field!(Text "operation" "create, update, delete or move; NULL where the log does not distinguish new files from old ones",
                |it| it.row.change.operation.map(Operation::as_str)),
            field!(Int "lines_added" "Lines added", |it| it.row.change.lines_added),
            field!(Int "lines_removed" "Lines removed", |it| it.row.change.lines_removed),
        ],
    ]
}

pub type Happened<'a> = In<'a, EventRow>;

pub fn events<'a>() -> Vec<Field<Happened<'a>>> {
    fields![Happened<'a>:
        place!(|it| it.row.event.line),
        [
            field!(Int "turn" "Number of the response that it belongs to", |it| it.row.turn),
            text!("call_id" "The call that it belongs to", |it| it.row.event.call_id),
            text!("agent" "Name or type of the agent", |it| it.row.event.agent),
            field!(Flag "is_subagent" "Whether that was another agent than the main one", |it| it.row.event.is_subagent),
            field!(Time "occurred_at" "When", |it| it.row.event.occurred_at),
        ],
        day_and_week!(|it| it.row.event.occurred_at),
        [
            word!("kind" "error, compaction, permission_denial, retry, subagent, validation or abort", |it| it.row.event.kind.as_str()),
            text!("code" "An error's class, a retry's HTTP status, a compaction's trigger, a denied tool, a subagent's id, input or output",
                |it| it.row.event.code),
            text!("message" "The log's words", |it| it.row.event.message),
            field!(Int "tokens_before" "Size of the context before a compaction", |it| it.row.event.tokens_before),
            field!(Int "tokens_after" "Size of the context after it", |it| it.row.event.tokens_after),
        ],
    ]
}

pub type Window<'a> = In<'a, LimitRow>;

pub fn limits<'a>() -> Vec<Field<Window<'a>>> {
    fields![Window<'a>:
        place!(|it| it.row.limit.line),
        [field!(Time "occurred_at" "When it was logged", |it| it.row.limit.occurred_at)],
        day_and_week!(|it| it.row.limit.occurred_at),
        [
            text!("limit_id" "The limit, where the runtime has several", |it| it.row.limit.limit_id),
            word!("window_name" "The runtime's word: primary, secondary, five_hour, seven_day", |it| &it.row.limit.window_name),
            text!("plan" "The subscription, as logged", |it| it.row.limit.plan),
            field!(Int "window_minutes" "Length of the window", |it| it.row.limit.window_minutes),
            field!(Float "used_percent" "The used part of the limit", |it| it.row.limit.used_percent),
            field!(Time "resets_at" "When the window ends", |it| it.row.limit.resets_at),
            text!("reached" "The runtime's word, once the limit is reached", |it| it.row.limit.reached),
        ],
    ]
}

pub fn verdicts<'a>() -> Vec<Field<Judged<'a>>> {
    fields![Judged<'a>: [
        text!("session_id" "The session; NULL until one matches", |it| it.row.session_id),
        text!("runtime" "The session's runtime", |it| it.row.runtime),
        text!("task" "The task that the session worked on", |it| it.row.verdict.task),
        text!("trial" "The attempt at the task", |it| it.row.verdict.trial),
        word!("name" "Distinguishes several verdicts of one session; verdict if it has no other name", |it| &it.row.verdict.name),
        field!(MaybeFlag "passed" "Whether the task was solved; NULL where only a score is given", |it| it.row.verdict.passed),
        field!(Float "score" "The score, as given", |it| it.row.verdict.score),
        text!("judge" "Who or what judged", |it| it.row.verdict.judge),
        field!(Time "judged_at" "When", |it| it.row.verdict.judged_at),
        text!("message" "The judge's words", |it| it.row.verdict.message),
        word!("source_path" "The file that contains the verdict", |it| it.row.verdict.path.as_deref().unwrap_or(&it.source.path)),
        field!(Text "matched_by" "How the session was found: session_id, label, path or sidecar", |it| it.row.matched_by.map(MatchedBy::as_str)),
    ]]
}

pub fn sources<'a>() -> Vec<Field<&'a Source>> {
    fields![&'a Source: [
        word!("source_path" "The file's real path; ARCHIVE!/MEMBER inside a tar or zip archive", |it| &it.path),
        text!("host" "The machine where it was read", |it| it.host),
        text!("runtime" "The agent program that wrote it", |it| it.runtime),
        text!("format" "Its schema, see agentlogs runtimes --formats", |it| it.format),
        text!("compression" "gzip or zstd", |it| it.compression),
        field!(Int "bytes" "Size on disk, or of a member of an archive once extracted", |it| Some(it.bytes)),
        field!(Time "modified_at" "When it was last written", |it| it.modified_at),
        text!("content_hash" "XXH3-128 of the decompressed bytes", |it| it.content_hash),
        field!(Int "lines" "Physical lines", |it| Some(it.health.lines)),
        field!(Int "records" "Records that were read", |it| Some(it.health.records)),
        field!(Int "rejected_lines" "Lines lost whole or in part, see rejects", |it| Some(it.health.rejected_lines())),
        field!(Int "unknown_records" "Records of types that the adapter does not know, see unknown_records", |it| Some(it.health.unknown_records)),
        field!(Int "sessions" "Sessions that the file contains", |it| i64::try_from(it.session_count).ok()),
        word!("status" "parsed, duplicate, auxiliary, truncated, unrecognised, unreadable or empty", |it| it.status.as_str()),
        text!("duplicate_of" "The file with the same content", |it| it.duplicate_of),
        text!("message" "Why it could not be read, or not to its end", |it| it.message),
        field!(Time "ingested_at" "When it was read", |it| it.ingested_at),
    ]]
}

pub fn rejects<'a>() -> Vec<Field<Lost<'a>>> {
    fields![Lost<'a>: [
        word!("source_path" "The file", |it| &it.source.path),
        word!("reason" "not_json, cut_short, not_an_object, too_deep, too_long, bad_number or no_usage", |it| it.reject.reason.as_str()),
        field!(Int "lines" "Lines lost for it, whole or in part", |it| Some(it.reject.lines)),
        field!(Int "first_line" "The first of them, from 1", |it| Some(it.reject.first_line)),
        word!("example" "The beginning of that line", |it| &it.reject.example),
    ]]
}

pub fn unknown_records<'a>() -> Vec<Field<Unread<'a>>> {
    fields![Unread<'a>: [
        word!("source_path" "The file", |it| &it.source.path),
        text!("format" "Its schema, see agentlogs runtimes --formats", |it| it.source.format),
        text!("runtime_version" "The newest version of the runtime among its sessions", |it| it.source.health.runtime_version),
        field!(Text "type" "The words that name the type of the records, from the outside in; * in place of words that may be data. NULL if they have none",
            |it| Some(it.row.name.as_str()).filter(|name| !name.is_empty())),
        field!(Int "records" "Records, or parts of known records, of that type", |it| Some(it.row.records)),
        field!(Int "first_line" "The line of the first of them, from 1", |it| Some(it.row.first_line)),
        field!(Flag "has_counts" "Whether they contain token counts or costs above 0, by the names of their members", |it| it.row.contents.has_counts),
        field!(Flag "has_model" "Whether they contain a model", |it| it.row.contents.has_model),
        field!(Flag "has_error" "Whether they contain an error", |it| it.row.contents.has_error),
    ]]
}
