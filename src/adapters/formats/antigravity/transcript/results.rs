//! The texts that Antigravity writes into results, messages and prompts.

use crate::base::time::Time;

/// When a tool began and ended, from the first lines of its result: `Created At: TIME`, `Completed At: TIME`.
pub(super) fn times(content: &str) -> (Option<Time>, Option<Time>) {
    let time = |key: &str| {
        let lines = content.lines().take(2);
        lines.filter_map(|line| line.trim().strip_prefix(key)).find_map(|text| Time::parse(text.trim()))
    };
    (time("Created At:"), time("Completed At:"))
}

/// A result without these lines.
pub(super) fn body(content: &str) -> &str {
    let mut rest = content;
    for key in ["Created At:", "Completed At:"] {
        if rest.trim_start().starts_with(key) {
            rest = rest.split_once('\n').map_or("", |(_, after)| after);
        }
    }
    rest.trim_start()
}

/// The exit code that the first line of a shell command's result states.
pub(super) fn exit_code(body: &str) -> Option<i64> {
    let first = body.lines().next()?.trim();
    if first.starts_with("The command completed successfully") {
        return Some(0);
    }
    let (_, code) = first.split_once("exited with code ").or_else(|| first.split_once("failed with exit code: "))?;
    code.trim_end_matches('.').trim().parse().ok()
}

/// Whether a tool goes on without the agent: its result is the name of the task.
pub(super) fn is_background(body: &str) -> bool {
    body.starts_with("Tool is running as a background task")
}

/// The step whose task a message reports as ended, as `sender=ID/task-STEP … finished with result: …`, and that result.
pub(super) fn finished_task(message: &str) -> Option<(i64, &str)> {
    let (before, result) = message.split_once("finished with result:")?;
    let (_, task) = before.rsplit_once("task-")?;
    let digits = task.find(|it: char| !it.is_ascii_digit()).unwrap_or(task.len());
    Some((task.get(..digits)?.parse().ok()?, result.trim()))
}

/// The conversation that sent a message, if it is not a task: `[Message] … sender=ID …`.
pub(super) fn sender(message: &str) -> Option<&str> {
    let (_, rest) = message.split_once("sender=")?;
    let sender = rest.split_whitespace().next()?;
    is_conversation(sender).then_some(sender)
}

/// Whether a text is the id of a conversation.
pub(super) fn is_conversation(text: &str) -> bool {
    text.len() == 36 && text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

/// The conversations of subagents that a result names.
pub(super) fn conversations(body: &str) -> impl Iterator<Item = &str> {
    body.split("\"conversationId\"").skip(1).filter_map(|rest| {
        let value = rest.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
        value.split('"').next().filter(|id| !id.is_empty())
    })
}

/// The diffs of a result.
pub(super) fn diffs(body: &str) -> impl Iterator<Item = &str> {
    body.split("[diff_block_start]").skip(1).filter_map(|rest| Some(rest.split_once("[diff_block_end]")?.0))
}

/// The words of a prompt, without what the program adds.
pub(super) fn request(content: &str) -> &str {
    let inner = content.split_once("<USER_REQUEST>").and_then(|(_, rest)| rest.split_once("</USER_REQUEST>"));
    inner.map_or(content, |(request, _)| request).trim()
}

/// The model that a prompt states as chosen, with its effort: "The user changed setting `Model Selection` from None to
/// Gemini 3 Pro (High)."
pub(super) fn model(content: &str) -> Option<(&str, Option<String>)> {
    let (_, rest) = content.rsplit_once("`Model Selection` from ")?;
    let line = rest.lines().next()?;
    let (_, name) = line.split_once(" to ")?;
    // A version contains a dot as well.
    let name = name.split_once(". ").map_or(name, |(name, _)| name);
    let name = name.split('<').next().unwrap_or(name).trim().trim_end_matches('.').trim_matches('`');
    let effort = name.strip_suffix(')').and_then(|rest| rest.rsplit_once(" ("));
    let found = effort.filter(|(_, word)| {
        ["minimal", "low", "medium", "high", "xhigh", "max"].iter().any(|known| known.eq_ignore_ascii_case(word))
    });
    let (name, effort) = found.map_or((name, None), |(name, word)| (name, Some(word.to_ascii_lowercase())));
    (!name.is_empty() && name != "None").then_some((name, effort))
}

/// Whether an error is a refusal by the user or by a rule.
pub(super) fn is_refusal(error: &str) -> bool {
    let lower = error.to_ascii_lowercase();
    [
        "tool call denied",
        "user denied",
        "denied by user",
        "user rejected",
        "rejected by the user",
        "permission denied by",
    ]
    .iter()
    .any(|words| lower.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_states_its_times_and_its_exit_code() {
        let content = "Created At: 2026-10-02T13:43:23+05:30\nCompleted At: 2026-10-02T13:43:26+05:30\n\n\t\tThe command failed with exit code: 2\n\t\tStdout:\n";
        let (start, end) = times(content);
        assert_eq!(end.unwrap().since(start.unwrap()), 3000);
        assert_eq!(start, Time::parse("2026-10-02T08:13:23Z"));
        assert_eq!(exit_code(body(content)), Some(2));
        for (text, code) in [
            ("The command exited with code 0.\nOutput:", Some(0)),
            ("The command completed successfully.", Some(0)),
            ("Tool is running as a background task", None),
            ("", None),
        ] {
            assert_eq!(exit_code(body(text)), code, "{text}");
        }
    }

    #[test]
    fn messages_name_tasks_and_conversations() {
        let id = "0b7d3c58-7d2e-4c39-9f6a-1f2b3c4d5e6f";
        let task = format!("[Message] sender={id}/task-60 content=Task id \"{id}/task-60\" finished with result: done");
        assert_eq!((finished_task(&task), sender(&task)), (Some((60, "done")), None));
        let message = format!("[Message] timestamp=x sender={id} priority=y content=Read the file");
        assert_eq!((finished_task(&message), sender(&message)), (None, Some(id)));
        let created =
            "Created the following subagents:\n{\n  \"conversationId\": \"a-1\"\n}\n{\"conversationId\":\"a-2\"}";
        assert_eq!(conversations(created).collect::<Vec<_>>(), ["a-1", "a-2"]);
    }

    #[test]
    fn the_model_is_the_last_one_that_was_chosen() {
        let change =
            |to: &str| format!("<USER_SETTINGS_CHANGE>\nThe user changed setting `Model Selection` from A to {to}");
        for (to, expected) in [
            ("Gemini 3.8 Flash (High).\n</USER_SETTINGS_CHANGE>", Some(("Gemini 3.8 Flash", Some("high")))),
            ("Gemini 3.8 Flash (Low). No need to comment.", Some(("Gemini 3.8 Flash", Some("low")))),
            ("Claude Sonnet 4.6 (Thinking)", Some(("Claude Sonnet 4.6 (Thinking)", None))),
            ("None.", None),
        ] {
            let text = change(to);
            let found = model(&text);
            assert_eq!(found.as_ref().map(|(name, effort)| (*name, effort.as_deref())), expected, "{to}");
        }
        assert_eq!(model("<USER_REQUEST>Hi</USER_REQUEST>"), None);
    }
}
