//! The dimensions that reports group by and filter by: names, meanings, and where their values come from.

use polars::prelude::*;

use crate::analysis::failures::frame as failures;
use crate::analysis::rows::WeekStart;
use crate::analysis::shipped;
use crate::store::frames::{events, file_changes, sessions, tool_calls, turns, verdicts};

/// A dimension: a line of [`DIMENSIONS`].
#[derive(Debug)]
pub struct Dimension {
    /// Its name on the command line, and that of its column.
    pub name: &'static str,
    /// What it means, in a line.
    pub about: &'static str,
    pub(in crate::analysis) value: Value,
}

/// All dimensions, by name. Those of time are computed from `occurred_at`. The help and docs/reports.md list them;
/// `TIDY=overwrite cargo test --test main dimensions` writes the lists.
#[rustfmt::skip]
pub static DIMENSIONS: &[Dimension] = &[
    of_row_or_session("agent", "Name or type of the agent", turns::AGENT),
    or_none("agent_type", "Type of the subagent", turns::AGENT_TYPE),
    of_row("author", "Author of the commit in which the work is", shipped::AUTHOR),
    of_row("branch", "Branch on which the commit was made", shipped::BRANCH),
    of_row("category", "Kind of tool: shell, read, edit and others", tool_calls::CATEGORY),
    of_row("cause", "Cause of waste", "cause"),
    of_row("code", "Code of the error or retry, or tool of the denial", events::CODE),
    or_none("command", "Slash command that the agent works on", turns::COMMAND),
    of_row("command_kind", "Purpose of a shell command: test, build, edit and others", tool_calls::COMMAND_KIND),
    of_row("commit", "Commit in which the work is", shipped::COMMIT),
    day("day", "Local day"),
    of_row("effort", "Reasoning effort", turns::EFFORT),
    of_row_or_session("entrypoint", "How the runtime was started", sessions::ENTRYPOINT),
    of_error("error_kind", "Kind of the session's error"),
    of_failure("failure_class", "Why the session failed: rate_limit, loop, unverified and others"),
    of_row("format", "Format of the log", turns::FORMAT),
    of_row_or_session("git_branch", "Branch that was checked out", sessions::GIT_BRANCH),
    of_session("host", "Machine on which the log was written", sessions::HOST),
    formatted("hour", "Local hour of a day: 2026-10-05 08:00", "%Y-%m-%d %H:00"),
    recurring("hour_of_day", "Local hour of all days together: 00:00 to 23:00", "%H:00"),
    of_session("instructions", "Hash of the system prompts and instruction files", sessions::INSTRUCTIONS_HASH),
    of_row("kind", "Kind of event: error, retry, permission_denial and others", events::KIND),
    or_none("mcp_server", "MCP server that offers the tool", tool_calls::MCP_SERVER),
    of_row_or_session("model", "Model, one name for all of its spellings", turns::CANONICAL_MODEL),
    of_row_or_session("model_as_logged", "Model as the log names it", turns::MODEL),
    formatted("month", "Local month", "%Y-%m"),
    of_row("operation", "Create, update, delete or move", file_changes::OPERATION),
    of_row("outcome", "What became of the work: merged, open, abandoned and others", shipped::OUTCOME),
    of_outcome("passed", "Whether the trial passed by its verdict", Outcome::Passed),
    of_row("path", "Path of the changed file", file_changes::PATH),
    or_none("plugin", "Plugin that provides the skill or the agent", turns::PLUGIN),
    of_session("project", "Working directory; worktrees belong to their project", sessions::PROJECT),
    of_row("provider", "Provider as the log names it", turns::PROVIDER),
    of_row(shipped::PULL_REQUEST, "Pull request in which the work is", shipped::PULL_REQUEST),
    of_session("repository", "Repository, as host/owner/name or the name of its directory", sessions::REPOSITORY),
    of_session("root", "Id of the session that led to all sessions of its tree", sessions::ROOT_SESSION_ID),
    of_row("rule", "Rule that found the work in a repository: hash, content and others", shipped::RULE),
    of_row("runtime", "Agent program that wrote the log", turns::RUNTIME),
    of_row_or_session("runtime_version", "Version of that program", sessions::RUNTIME_VERSION),
    of_row("session", "Id of the session", turns::SESSION_ID),
    of_outcome("set", "Set of the task: learn, or held_out to test what was learned", Outcome::Set),
    or_none("sign", "Sign that a result should not be trusted", tool_calls::SIGN),
    or_none("skill", "Skill that is in effect, or that the call loads", turns::SKILL),
    of_session("status", "Outcome of the session", sessions::STATUS),
    of_row("target", "File, host or program that the call is for", tool_calls::TARGET),
    of_outcome("task", "Task of the trial, as in verdicts", Outcome::Task),
    of_row("tool", "Name of the tool", tool_calls::TOOL),
    of_outcome("trial", "Name of the trial of its task, as in verdicts", Outcome::Trial),
    of_session("usage", "How far the tokens can be trusted: exact, lower_bound, estimate and others", sessions::USAGE),
    of_session("user", "Account whose log it is", sessions::USER_NAME),
    of_outcome("verdict", "The same as a word: passed, failed, unjudged", Outcome::Verdict),
    week("week", "Local week, by its first day"),
    recurring(WEEKDAY, "Local day of all weeks together: Monday to Sunday", "%A"),
];

/// The dimension of the days of all weeks.
pub(super) const WEEKDAY: &str = "weekday";

/// The prefix of dimensions whose value is that of a label: `label:experiment`.
pub(in crate::analysis) const LABEL: &str = "label:";

/// Columns of sessions that are not dimensions, but are joined too.
const ALSO_OF_SESSION: &[&str] = &[sessions::LABELS, sessions::STARTED_AT];

/// The source of a dimension's value.
#[derive(Debug, Clone, Copy)]
pub(in crate::analysis) enum Value {
    /// A column of the rows.
    OfRow(&'static str),
    /// A column of the rows; of their session if the rows do not have it.
    OfRowOrSession(&'static str),
    /// A column of the rows; [`NONE`](crate::analysis::rows::NONE) in place of NULL where the log shows that there is no value.
    OfRowOrNone(&'static str),
    /// A column of their session.
    OfSession(&'static str),
    /// The local day.
    Day,
    /// The first day of the local week.
    Week,
    /// The local time in a format of `strftime`.
    Formatted(&'static str),
    /// The same, of times that recur: in every day or week.
    Recurring(&'static str),
    /// What the verdicts of its trial state.
    OfOutcome(Outcome),
    /// The kind of the error of their session; [`NONE`](crate::analysis::rows::NONE) if it did not end with an error.
    OfError,
    /// The class of its failure; [`NONE`](crate::analysis::rows::NONE) if it did not fail.
    OfFailure,
}

/// What the verdicts of a trial state.
#[derive(Debug, Clone, Copy)]
pub(in crate::analysis) enum Outcome {
    Passed,
    /// As a word, also of trials without a verdict.
    Verdict,
    Task,
    /// The set of its task.
    Set,
    Trial,
}

const fn of_row(name: &'static str, about: &'static str, column: &'static str) -> Dimension {
    Dimension { name, about, value: Value::OfRow(column) }
}

const fn of_row_or_session(name: &'static str, about: &'static str, column: &'static str) -> Dimension {
    Dimension { name, about, value: Value::OfRowOrSession(column) }
}

const fn or_none(name: &'static str, about: &'static str, column: &'static str) -> Dimension {
    Dimension { name, about, value: Value::OfRowOrNone(column) }
}

const fn of_session(name: &'static str, about: &'static str, column: &'static str) -> Dimension {
    Dimension { name, about, value: Value::OfSession(column) }
}

const fn day(name: &'static str, about: &'static str) -> Dimension {
    Dimension { name, about, value: Value::Day }
}

const fn week(name: &'static str, about: &'static str) -> Dimension {
    Dimension { name, about, value: Value::Week }
}

const fn formatted(name: &'static str, about: &'static str, form: &'static str) -> Dimension {
    Dimension { name, about, value: Value::Formatted(form) }
}

const fn recurring(name: &'static str, about: &'static str, form: &'static str) -> Dimension {
    Dimension { name, about, value: Value::Recurring(form) }
}

const fn of_outcome(name: &'static str, about: &'static str, outcome: Outcome) -> Dimension {
    Dimension { name, about, value: Value::OfOutcome(outcome) }
}

const fn of_error(name: &'static str, about: &'static str) -> Dimension {
    Dimension { name, about, value: Value::OfError }
}

const fn of_failure(name: &'static str, about: &'static str) -> Dimension {
    Dimension { name, about, value: Value::OfFailure }
}

impl Dimension {
    /// The dimension of that name.
    pub fn find(name: &str) -> Option<&'static Self> {
        DIMENSIONS.iter().find(|dimension| dimension.name == name)
    }

    /// Whether its values are days, weeks, months or hours.
    pub const fn is_time(&self) -> bool {
        matches!(self.value, Value::Day | Value::Week | Value::Formatted(_))
    }

    /// Whether its values are hours of a day or days of a week.
    pub const fn is_recurring(&self) -> bool {
        matches!(self.value, Value::Recurring(_))
    }

    /// The tables that its values need besides the rows and their sessions.
    const fn tables(&self) -> &'static [&'static str] {
        match self.value {
            Value::OfOutcome(_) => &[verdicts::TABLE],
            Value::OfFailure => failures::TABLES,
            _ => &[],
        }
    }

    /// Whether rows have it that have the columns for which `has` is true.
    pub(in crate::analysis) fn is_of(&self, has: impl Fn(&str) -> bool) -> bool {
        match self.value {
            Value::OfRow(column) | Value::OfRowOrNone(column) => has(column),
            _ => true,
        }
    }
}

/// Columns of sessions that are joined to rows of other tables, as `session_NAME`.
pub(super) fn columns_of_session() -> impl Iterator<Item = &'static str> {
    let columns = DIMENSIONS.iter().filter_map(|dimension| match dimension.value {
        Value::OfSession(column) | Value::OfRowOrSession(column) => Some(column),
        Value::OfError => Some(sessions::ERROR_KIND),
        _ => None,
    });
    columns.chain(ALSO_OF_SESSION.iter().copied())
}

/// Whether a dimension of that name is one of time, so that its values have an order of their own.
pub fn is_time(name: &str) -> bool {
    Dimension::find(name).is_some_and(|dimension| dimension.is_time() || dimension.is_recurring())
}

/// The tables that the values of a dimension need besides the rows and their sessions.
pub fn tables_of_dimension(name: &str) -> &'static [&'static str] {
    Dimension::find(name).map_or(&[], Dimension::tables)
}

/// The days of the week in their order, as the dimension shows them.
const WEEKDAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/// The tables that a filter by a dimension needs besides the rows and their sessions: also that of turns where a turn can have another
/// value than its session, so that a filter which no session passes can be explained, and that of sessions where their ids decide what
/// the pattern means.
pub(super) fn tables_of_filter(name: &str) -> impl Iterator<Item = &'static str> {
    const OF_TURNS: [&str; 3] = [turns::AGENT, turns::CANONICAL_MODEL, turns::MODEL];
    let value = Dimension::find(name).map(|dimension| dimension.value);
    let differs = matches!(value, Some(Value::OfRowOrSession(column)) if OF_TURNS.contains(&column));
    let is_session = name == "session";
    let others = [differs.then_some(turns::TABLE), is_session.then_some(sessions::TABLE)];
    tables_of_dimension(name).iter().copied().chain(others.into_iter().flatten())
}

/// The value by which rows are sorted by a dimension: the value itself, or the number of the day in a week.
pub(in crate::analysis) fn order_of(name: &str, week_start: WeekStart) -> Expr {
    if name != WEEKDAY {
        return col(name);
    }
    let days = WEEKDAYS.iter().zip(week_start.days_before_monday()..);
    days.fold(lit(NULL).cast(DataType::Int64), |others, (day, number)| {
        when(col(name).eq(lit(*day))).then(lit(number % 7)).otherwise(others)
    })
}
