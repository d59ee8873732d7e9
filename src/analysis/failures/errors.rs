//! The class of an error that ended a session.

use super::class::Class;
use crate::model::errors::{ErrorKind, classify};

/// Words of errors of the network, of servers, and of what an agent runs in, in lower case.
const AROUND_THE_AGENT: &[&str] = &[
    "bad gateway",
    "certificate",
    "connection",
    "container",
    "could not connect",
    "docker",
    "eai_again",
    "econn",
    "enospc",
    "enotfound",
    "environment",
    "epipe",
    "etimedout",
    "fetch failed",
    "gateway",
    "headers timed out",
    "installation",
    "internal server error",
    "internalservererror",
    "name resolution",
    "network",
    "no space left",
    "not found on provider",
    "out of memory",
    "request timed out",
    "reward file",
    "rewardfile",
    "sandbox",
    "server error",
    "server_error",
    "setup",
    "socket",
    "ssl",
    "status code",
    "verifier",
];

/// The class of an error by its kind and its words; `None` if they name no cause. `code` is a status of HTTP or a word.
pub(super) fn class_of(kind: Option<&str>, code: Option<&str>, message: &str) -> Option<Class> {
    let status = code.and_then(|code| code.parse::<i64>().ok());
    let kind = kind.unwrap_or_else(|| classify(status, message).as_str());
    let words = format!("{} {message}", code.unwrap_or_default()).to_ascii_lowercase();
    let is_around = status.is_some_and(|status| status >= 500) || AROUND_THE_AGENT.iter().any(|it| words.contains(it));
    let is = |of: ErrorKind| kind == of.as_str();
    // As in "You've hit your session limit".
    let is_limit = words.contains("hit your") && words.contains("limit");
    if is(ErrorKind::Auth) || is(ErrorKind::Billing) {
        Some(Class::Authentication)
    } else if is(ErrorKind::RateLimit) || is_limit {
        Some(Class::RateLimit)
    } else if is(ErrorKind::ContextOverflow) {
        Some(Class::ContextOverflow)
    } else if is(ErrorKind::MaxTurns) || is(ErrorKind::Budget) {
        Some(Class::Timeout)
    } else if is(ErrorKind::Timeout) {
        // A request that timed out is not a budget of the agent.
        Some(if is_around { Class::Infrastructure } else { Class::Timeout })
    } else if is(ErrorKind::Overloaded) || is_around {
        Some(Class::Infrastructure)
    } else if is(ErrorKind::Cancelled) {
        Some(Class::Stopped)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_the_class_of_their_cause() {
        use Class::*;
        for (kind, code, message, expected) in [
            (Some("auth"), None, "401", Some(Authentication)),
            (Some("billing"), None, "", Some(Authentication)),
            (None, Some("429"), "Provider returned error", Some(RateLimit)),
            (None, None, "You've hit your session limit · resets 8:20pm", Some(RateLimit)),
            (Some("timeout"), None, "agent_timeout", Some(Timeout)),
            (Some("timeout"), None, "AgentTimeoutError: Agent execution timed out after 900 seconds", Some(Timeout)),
            (Some("timeout"), None, "EnvironmentStartTimeoutError", Some(Infrastructure)),
            (Some("timeout"), None, "504 504 status code (no body)", Some(Infrastructure)),
            (Some("timeout"), Some("Timeout"), "Connection timed out after 600 seconds", Some(Infrastructure)),
            (Some("max_turns"), None, "", Some(Timeout)),
            (Some("budget"), None, "", Some(Timeout)),
            (Some("overloaded"), None, "", Some(Infrastructure)),
            (Some("other"), None, "Connection error.", Some(Infrastructure)),
            (Some("other"), Some("502"), "", Some(Infrastructure)),
            (Some("other"), None, "Failed to parse tool call arguments as JSON", None),
            (None, None, "", None),
        ] {
            assert_eq!(class_of(kind, code, message), expected, "{kind:?} {code:?} {message}");
        }
    }
}
