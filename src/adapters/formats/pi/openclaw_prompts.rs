//! Which prompts of openclaw a human typed (docs/formats/openclaw.md#openclaw-session).
//!
//! Some versions state it in `provenance`. In the others the text shows it: openclaw's own prompts begin with fixed words, after
//! lines of events. In 2,018 prompts of public logs none with such a beginning has the block of metadata about a sender that openclaw
//! writes before most messages of humans.

/// The members of `provenance.kind` that are another session or openclaw itself.
const PROGRAMS: [&str; 2] = ["internal_system", "inter_session"];

/// How lines of events begin, which openclaw writes before the next prompt.
const EVENTS: [&str; 2] = ["System:", "System (untrusted):"];

/// How a paragraph begins that openclaw writes before prompts in a new workspace.
const NOTICE: &str = "[Bootstrap pending]";

/// How prompts begin that openclaw writes: heartbeats, jobs, and messages to and from other agents.
const BEGINNINGS: [&str; 9] = [
    "Read HEARTBEAT.md if it exists",
    "[OpenClaw ",
    "[cron:",
    "Pre-compaction memory flush.",
    "[Subagent Context]",
    "[Inter-session message]",
    "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>",
    "A scheduled reminder has been triggered.",
    "An async command",
];

/// Whether a human typed a prompt.
pub(super) fn is_typed(provenance: &str, text: &str) -> bool {
    if !provenance.is_empty() {
        return !PROGRAMS.contains(&provenance);
    }
    let own = without_additions(text);
    let is_addition = own.is_empty() && !text.trim().is_empty();
    let prompt = without_time(own);
    !is_addition && !BEGINNINGS.iter().any(|it| prompt.starts_with(it))
}

/// The text without what openclaw writes before a prompt, whoever that is from.
fn without_additions(text: &str) -> &str {
    let mut rest = text.trim_start();
    loop {
        let end = if EVENTS.iter().any(|it| rest.starts_with(it)) {
            "\n"
        } else if rest.starts_with(NOTICE) {
            "\n\n"
        } else {
            return rest;
        };
        rest = rest.split_once(end).map_or("", |(_, rest)| rest).trim_start();
    }
}

/// The text without the time at its start: "[Tue 2026-05-05 09:44 GMT+5:30] Hello".
fn without_time(text: &str) -> &str {
    let time = text.strip_prefix('[').and_then(|rest| rest.split_once("] "));
    let is_time =
        |inside: &str| inside.split_once(' ').is_some_and(|(day, rest)| day.len() == 3 && rest.starts_with("20"));
    time.filter(|(inside, _)| is_time(inside)).map_or(text, |(_, rest)| rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_of_openclaw_are_not_typed() {
        let typed = |text: &str| is_typed("", text);
        for text in [
            "Read HEARTBEAT.md if it exists (workspace context). Follow it strictly.",
            "[OpenClaw heartbeat poll]",
            "[cron:66d18901 Evening review] Write the review.\nCurrent time: Tuesday",
            "Pre-compaction memory flush. Store durable memories now.",
            "[Tue 2026-10-06 09:44 GMT+5:30] [Subagent Context] You are running as a subagent (depth 1/1).",
            "System: [2026-10-06 11:00:00 PDT] Run the health check",
            "System: [2026-10-06 11:00:00 PDT] Good morning\nSystem: \nSystem: Three tasks\n\nRead HEARTBEAT.md if it exists",
            "System (untrusted): [2026-10-06 11:00:00 PDT] Done\n\nAn async command you ran earlier has completed.",
            "[Bootstrap pending]\nPlease read BOOTSTRAP.md from the workspace.",
        ] {
            assert!(!typed(text), "{text}");
        }
        for text in [
            "",
            "hi",
            "[Tue 2026-10-06 09:44 GMT+5:30] start the tests",
            "Conversation info (untrusted metadata):\n```json\n{}\n```\n\nRead HEARTBEAT.md if it exists",
            "System: [2026-10-06 11:00:00 PDT] Connected.\n\n[Tue 2026-10-06 11:01 PDT] Did the job run?",
            "[Bootstrap pending]\nPlease read BOOTSTRAP.md.\n\nSender (untrusted metadata):\n```json\n{}\n```\n\nhello",
            "[draft] Read this",
        ] {
            assert!(typed(text), "{text}");
        }
        assert!(!is_typed("inter_session", "hi"));
        assert!(!is_typed("internal_system", "hi"));
        assert!(is_typed("external_user", "[cron:1 x] hi"));
    }
}
