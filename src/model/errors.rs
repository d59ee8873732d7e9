//! The kind of an error, from its code or message. The order of the rules matters: the first that applies decides.

use serde::{Deserialize, Serialize};

/// Kinds of errors that end a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// Not logged in, or a key that is not valid.
    Auth,
    /// No credit left.
    Billing,
    /// Too many requests, or a plan's limit.
    RateLimit,
    /// The provider is overloaded.
    Overloaded,
    /// A timeout.
    Timeout,
    /// The prompt is larger than the model's window.
    ContextOverflow,
    /// The limit on turns that the caller set.
    MaxTurns,
    /// The limit on money that the caller set.
    Budget,
    /// Cancelled by the user or another program.
    Cancelled,
    /// Anything else.
    Other,
}

impl ErrorKind {
    /// The value in the tables.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Auth => "auth",
            Self::Billing => "billing",
            Self::RateLimit => "rate_limit",
            Self::Overloaded => "overloaded",
            Self::Timeout => "timeout",
            Self::ContextOverflow => "context_overflow",
            Self::MaxTurns => "max_turns",
            Self::Budget => "budget",
            Self::Cancelled => "cancelled",
            Self::Other => "other",
        }
    }
}

/// Each kind with its HTTP statuses and the words of its messages, in lower case.
const RULES: &[(ErrorKind, &[i64], &[&str])] = &[
    (
        ErrorKind::Auth,
        &[401, 403],
        &[
            "not logged in",
            "unauthorized",
            "invalid api key",
            "invalid_api_key",
            "invalid x-api-key",
            "incorrect api key",
            "api key not valid",
            "api_key_invalid",
            "authentication",
            "auth_error",
            "login_required",
            "verification_required",
            "account_on_hold",
            "oauth_org_not_allowed",
            "credential_error",
            "permission_error",
            "forbidden",
            "please run /login",
            "no api key",
        ],
    ),
    (
        ErrorKind::Billing,
        &[402],
        &[
            "credit balance",
            "insufficient_quota",
            "insufficient credits",
            "billing",
            "payment required",
            "exceeded your current quota",
        ],
    ),
    (
        ErrorKind::RateLimit,
        &[429],
        &[
            "rate limit",
            "rate_limit",
            "ratelimit",
            "usage limit",
            "usage_limit",
            "too many requests",
            "resource_exhausted",
            "hit your limit",
            "session limit",
            "weekly limit",
            "out of extra usage",
        ],
    ),
    (ErrorKind::Overloaded, &[529, 503], &["overloaded", "service unavailable", "at capacity"]),
    (ErrorKind::Timeout, &[408, 504], &["timed out", "timeout", "deadline exceeded", "etimedout"]),
    (
        ErrorKind::ContextOverflow,
        &[],
        &[
            "prompt is too long",
            "context_length",
            "context length",
            "context limit",
            "context window",
            "context overflow",
            "context_overflow",
            "context.overflow",
            "context_window",
            "maximum context",
            "input is too long",
        ],
    ),
    (
        ErrorKind::MaxTurns,
        &[],
        &["max_turns", "max turns", "max_steps_exceeded", "maximum number of turns", "turn limit", "turn_limit"],
    ),
    (
        ErrorKind::Budget,
        &[],
        &["error_max_budget_usd", "max_budget", "maximum budget", "budget exceeded", "budget limit", "cost limit"],
    ),
    (ErrorKind::Cancelled, &[], &["cancelled", "canceled", "aborted", "interrupted", "sigint", "sigterm"]),
    // The limit of a plan, as in "5-hour limit reached".
    (ErrorKind::RateLimit, &[], &["limit reached"]),
];

/// The kind of an error: the first rule that matches its code; otherwise the first that matches its message, or an HTTP status in
/// the message; otherwise [`ErrorKind::Other`].
pub fn classify(code: Option<i64>, words: &str) -> ErrorKind {
    let by_code = |code: i64| RULES.iter().find(|(_, codes, _)| codes.contains(&code)).map(|(kind, ..)| *kind);
    if let Some(kind) = code.and_then(by_code) {
        return kind;
    }
    let words = words.to_ascii_lowercase();
    let spoken = spoken_statuses(&words);
    RULES
        .iter()
        .find(|(_, codes, phrases)| {
            codes.iter().any(|it| spoken.contains(it)) || phrases.iter().any(|it| words.contains(it))
        })
        .map_or(ErrorKind::Other, |(kind, ..)| *kind)
}

/// The kind of an error that a runtime names: by the code, then by that name, then by the message.
pub fn classify_named(code: Option<i64>, name: &str, words: &str) -> ErrorKind {
    match classify(code, name) {
        ErrorKind::Other => classify(None, words),
        kind => kind,
    }
}

/// The HTTP statuses in a message in lower case: its first word, and numbers after a word such as `status`. Other numbers are
/// counts.
fn spoken_statuses(words: &str) -> Vec<i64> {
    let mut before = None;
    let mut statuses = Vec::new();
    for word in words.split(|it: char| !it.is_ascii_alphanumeric()).filter(|it| !it.is_empty()) {
        let is_named = before.is_none_or(|word: &str| {
            matches!(word, "http" | "https" | "code" | "statuscode")
                || word.ends_with("error")
                || word.ends_with("status")
        });
        if is_named && let Ok(status) = word.parse() {
            statuses.push(status);
        }
        // The version in `HTTP/1.1 429`.
        let is_version = word.len() == 1 && word.starts_with(|it: char| it.is_ascii_digit());
        if !is_version {
            before = Some(word);
        }
    }
    statuses
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Messages in the form that providers and runtimes write.
    #[test]
    fn real_messages_have_their_kind() {
        use ErrorKind::*;
        for (code, words, kind) in [
            (None, "Not logged in · Please run /login", Auth),
            (None, "unexpected status 401 Unauthorized: Missing bearer or basic authentication in header", Auth),
            (
                None,
                r#"API Error: 401 {"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}"#,
                Auth,
            ),
            (Some(403), "Request not allowed", Auth),
            (None, "oauth_org_not_allowed", Auth),
            (None, "cloud_credential_error", Auth),
            (None, "Incorrect API key provided: sk-....", Auth),
            (None, "API key not valid. Please pass a valid API key.", Auth),
            (None, "Credit balance is too low", Billing),
            (None, "You exceeded your current quota, please check your plan (insufficient_quota)", Billing),
            (Some(402), "", Billing),
            (None, "429 rate_limit_error: too many requests", RateLimit),
            (Some(429), "Provider returned error", RateLimit),
            (None, "Claude AI usage limit reached|1760000000", RateLimit),
            (None, "You're out of extra usage · resets 3pm (Europe/Brussels)", RateLimit),
            (None, "You've hit your session limit · resets 3pm (Europe/Brussels)", RateLimit),
            (None, "Opus weekly limit reached ∙ resets Oct 6, 9am", RateLimit),
            (None, "You've hit your usage limit. Upgrade to Pro or try again at 3:05 PM.", RateLimit),
            (None, "got status: RESOURCE_EXHAUSTED", RateLimit),
            (
                None,
                r#"API Error: 529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
                Overloaded,
            ),
            (Some(503), "upstream connect error", Overloaded),
            (None, "request timed out after 60s", Timeout),
            (None, "504 Gateway Timeout", Timeout),
            (None, "prompt is too long: 213462 tokens > 200000 maximum", ContextOverflow),
            (None, "Your input exceeds the context window of this model.", ContextOverflow),
            (None, "This model's maximum context length is 128000 tokens", ContextOverflow),
            (None, "error_max_turns", MaxTurns),
            (None, "Reached maximum number of turns (30)", MaxTurns),
            (None, "error_max_budget_usd", Budget),
            (None, "Request was aborted.", Cancelled),
            (None, "connection reset by peer", Other),
            (None, "read 4290 bytes", Other),
            (None, "tests: 403 passed, 2 failed", Other),
            (None, "line 429: unexpected token", Other),
            (None, "Request failed with status code 429", RateLimit),
            (None, "HTTP/1.1 503 upstream", Overloaded),
            (None, r#"{"error":{"code":402}}"#, Billing),
            (None, "5-hour limit reached ∙ resets 3pm", RateLimit),
            (None, "Context limit reached · /compact or /clear to continue", ContextOverflow),
            (None, "Maximum turn limit reached", MaxTurns),
            (None, "Budget limit reached", Budget),
            (Some(500), "Internal server error", Other),
        ] {
            assert_eq!(classify(code, words), kind, "{code:?} {words}");
        }
    }
}
