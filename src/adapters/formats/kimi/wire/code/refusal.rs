//! Calls that did not run, by the texts of their results: `Tool "NAME" was …` (its source: `agent/permission/index.ts`).

use crate::model::session::CallStatus;

/// How a call ended whose result is an error with this text.
pub(super) fn how_it_ended(text: &str) -> CallStatus {
    // Of Kimi CLI, and of a plan that the user refused.
    if ["The tool call is rejected by the user", "Plan rejected by user"].iter().any(|start| text.starts_with(start)) {
        return CallStatus::Denied;
    }
    let after_name = text.strip_prefix("Tool \"").and_then(|rest| rest.split_once("\" was "));
    let Some((_, what)) = after_name else { return CallStatus::Error };
    if what.starts_with("not run because the user rejected the approval request") || what.starts_with("denied") {
        CallStatus::Denied
    } else if what.starts_with("not run because the approval request was cancelled") {
        CallStatus::Cancelled
    } else {
        CallStatus::Error
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_did_not_run_is_no_failure() {
        for (text, expected) in [
            (
                "Tool \"Bash\" was not run because the user rejected the approval request. Reason: no",
                CallStatus::Denied,
            ),
            ("Tool \"Bash\" was denied by permission rule.", CallStatus::Denied),
            ("Tool \"Bash\" was denied by permission policy.", CallStatus::Denied),
            ("Tool \"Bash\" was denied. Try a different approach", CallStatus::Denied),
            ("Tool \"Bash\" was not run because the approval request was cancelled.", CallStatus::Cancelled),
            ("Plan rejected by user. Plan mode deactivated.", CallStatus::Denied),
            ("Tool \"Bash\" was slow", CallStatus::Error),
            ("the request was denied by permission rule", CallStatus::Error),
        ] {
            assert_eq!(how_it_ended(text), expected, "{text}");
        }
    }
}
