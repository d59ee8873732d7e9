//! The texts with which runtimes refuse a call.
//!
//! The text of a refusal can contain the refused command, or what the user wrote instead. Without `--content`, an archive contains the
//! known text only, as it is written here. docs/security.md prints this list.

/// The placeholder for words of the log.
const ANY: char = '…';

/// Texts of refusals by Claude Code, which begin the results of refused calls.
pub const CLAUDE_CODE: &[&str] = &[
    "Claude requested permissions to write to …, but you haven't granted it yet",
    "Claude requested permissions to use …, but you haven't granted it yet",
    "Claude requested permissions",
    "The user doesn't want to proceed with this tool use",
    "The user doesn't want to proceed",
    "The user doesn't want to take this action right now",
    "This command requires approval",
    "Permission to use … has been denied",
    "Permission to use",
    "Permission for this action was denied by the Claude Code auto mode classifier",
    "Permission for this action … denied",
];

/// Texts of refusals by Cline since 4, and its CLI, which are the errors of refused calls.
pub const CLINE: &[&str] = &[
    "Tool \"…\" was denied by user",
    "User rejected the tool call",
    "Denied by user",
    "User denied the tool execution",
    "The user denied this edit",
    "Tool \"…\" was not approved",
    "Tool \"…\" is disabled by policy",
    "Tool \"…\" requires approval in a TTY session",
    "Tool \"…\" requires approval but no approval callback is configured",
    "Tool approval requires an interactive session",
    "Tool … was blocked by a runtime hook",
];

/// Texts of refusals by other runtimes, which the results of refused calls contain.
pub const OTHERS: &[&str] = &[
    // Codex
    "rejected by user",
    "denied by user",
    "blocked by policy",
    "This action was rejected due to unacceptable risk",
    // Gemini CLI, Qwen Code
    "User did not allow tool call",
    "User denied execution",
    "denied by policy",
    "requires user confirmation",
    "Tool execution blocked",
    "Agent execution stopped by hook",
    // OpenCode
    "user rejected permission",
    "prevents you from using this specific tool call",
    "This non-interactive run cannot ask the user for permission",
    "The user declined this tool call",
    "The user dismissed this question",
    // Crush
    "Permission denied",
    "user denied permission",
    "User denied permission",
    "Tool call blocked by hook",
    "Turn halted by hook",
    // Cline, Kimi CLI
    "The user denied this operation",
    "The tool call is rejected by the user",
    // Kimi Code
    "was not run because the user rejected the approval request",
    "was denied by permission rule",
    "was denied by permission policy",
    "User rejected the plan",
    // Zed
    "Blocked by built-in security rule",
    "Command blocked by security rule",
    "tool is disabled",
    "Command cancelled: user denied",
    // openclaw
    "Exec approval is required",
    "Approval required",
    // mini-swe-agent
    "The user rejected your command",
    "not executed. Switching to human mode",
];

/// The known text that a message contains. The first that fits is used, so that longer texts precede shorter ones.
pub fn known_text(message: &str) -> Option<&'static str> {
    all().find(|known| contains(message, known))
}

/// All known texts.
pub fn all() -> impl Iterator<Item = &'static str> {
    CLAUDE_CODE.iter().chain(CLINE).chain(OTHERS).copied()
}

/// Whether a message begins as one of the texts, up to the words of the log.
pub fn begins_with_one_of(message: &str, texts: &[&str]) -> bool {
    texts.iter().any(|text| text.split(ANY).next().is_some_and(|start| message.starts_with(start.trim_end())))
}

/// Whether a message is one of the texts, or begins with it.
pub fn is_one_of(message: &str, texts: &[&str]) -> bool {
    texts.iter().any(|text| begins_with_one_of(message, &[text]) && contains(message, text))
}

/// Whether a message contains the parts of a known text, in order.
fn contains(message: &str, known: &str) -> bool {
    let mut rest = Some(message);
    for part in known.split(ANY) {
        rest = rest.and_then(|rest| rest.split_once(part.trim())).map(|(_, after)| after);
    }
    rest.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_reduced_to_its_known_text() {
        for (message, expected) in [
            (
                "Permission to use Bash with command psql postgres://a:b@c -c \"select\" has been denied.",
                Some("Permission to use … has been denied"),
            ),
            ("Permission to use Bash with command rm", Some("Permission to use")),
            (
                "Claude requested permissions to write to /home/ann/x, but you haven't granted it yet.",
                Some("Claude requested permissions to write to …, but you haven't granted it yet"),
            ),
            ("exec command rejected by user", Some("rejected by user")),
            ("no, use the other file", None),
            ("", None),
        ] {
            assert_eq!(known_text(message), expected, "{message}");
        }
    }

    /// A longer text would never be found after a shorter one that it contains.
    #[test]
    fn longer_texts_precede_shorter_ones() {
        for (index, text) in all().enumerate() {
            let whole = text.replace(ANY, "x");
            assert_eq!(all().position(|known| contains(&whole, known)), Some(index), "{text}");
        }
    }
}
