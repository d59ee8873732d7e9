//! The dimensions that reports group by, and where their values come from.

/// Dimensions by name, with the source of their values. Dimensions of time are computed from `occurred_at`.
pub static DIMENSIONS: &[(&str, Dimension)] = &[
    ("agent", Dimension::Column("agent")),
    ("category", Dimension::Column("category")),
    ("code", Dimension::Column("code")),
    ("day", Dimension::Day),
    ("effort", Dimension::Column("effort")),
    ("entrypoint", Dimension::Column("entrypoint")),
    ("error_kind", Dimension::Column("error_kind")),
    ("format", Dimension::Column("format")),
    ("git_branch", Dimension::Column("git_branch")),
    ("host", Dimension::OfSession("host")),
    ("hour", Dimension::Formatted("%Y-%m-%d %H:00")),
    ("kind", Dimension::Column("kind")),
    ("mcp_server", Dimension::Column("mcp_server")),
    ("model", Dimension::Column("model")),
    ("month", Dimension::Formatted("%Y-%m")),
    ("operation", Dimension::Column("operation")),
    ("path", Dimension::Column("path")),
    ("project", Dimension::OfSession("project")),
    ("provider", Dimension::Column("provider")),
    ("repository", Dimension::OfSession("repository")),
    ("runtime", Dimension::Column("runtime")),
    ("runtime_version", Dimension::Column("runtime_version")),
    ("session", Dimension::Column("session_id")),
    ("status", Dimension::OfSession("status")),
    ("target", Dimension::Column("target")),
    ("tool", Dimension::Column("tool")),
    ("user", Dimension::OfSession("user_name")),
    ("week", Dimension::Week),
];

/// The prefix of dimensions whose value is that of a label: `label:experiment`.
pub(super) const LABEL: &str = "label:";

/// Columns of sessions that are joined to rows of other tables, as `session_NAME`.
pub(super) const OF_SESSION: &[&str] = &[
    "agent",
    "entrypoint",
    "error_kind",
    "git_branch",
    "host",
    "labels",
    "model",
    "project",
    "repository",
    "runtime_version",
    "started_at",
    "status",
    "user_name",
];

/// The column that identifies the session of a row.
pub(super) const SESSION_KEY: &str = "session_key";

/// The source of a dimension's value.
#[derive(Debug, Clone, Copy)]
pub enum Dimension {
    /// A column of the rows; of their session if the rows do not have it.
    Column(&'static str),
    /// A column of their session.
    OfSession(&'static str),
    /// The local day.
    Day,
    /// The Monday of the local week.
    Week,
    /// The local time in a format of `strftime`.
    Formatted(&'static str),
}
