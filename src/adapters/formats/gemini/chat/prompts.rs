//! Who wrote a user message of Gemini CLI. The beginnings are those of its source (August 2026: `core/client.ts`,
//! `utils/environmentContext.ts`, the commands of the terminal).

use std::borrow::Cow;

use super::records::{parts_of, text_of};
use crate::json::Raw;

/// Who wrote a user message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Author {
    Human,
    /// Gemini CLI, which asks the model to go on.
    Program,
    /// Gemini CLI, for the model to read with the next prompt.
    Context,
}

/// How a text begins that the user typed while the agent was at work. It can be in one message with the result of a call.
const STEERING: &str = "User steering update:";

/// What Gemini CLI writes for an answer that was cut or not valid.
const CONTINUE: [&str; 2] = ["System: Please continue.", "Please continue."];

/// How its text begins for a model that repeats itself.
const LOOP: &str = "System: Potential loop detected. Details:";

pub(super) const SESSION_CONTEXT: &str = "<session_context>";

/// How texts begin that no prompt contains. The command of a user (`!ls`) is one of them: the model reads it with the next prompt.
const CONTEXTS: [&str; 6] = [
    SESSION_CONTEXT,
    "Here is the user's editor context as a JSON object.",
    "Here is a summary of changes in the user's editor context, in JSON format.",
    "I ran the following shell command:\n```sh\n",
    "- **Workspace Directories:**\n",
    "User has manually exited Plan Mode. Switching to ",
];

/// The prompt in the content of a message, and who wrote it; `None` if it contains none.
pub(super) fn prompt_of(content: Raw<'_>) -> Option<(Cow<'_, str>, Author)> {
    let steering = || parts_of(content).into_iter().find(|it| it.text.as_str().starts_with(STEERING));
    let text = match text_of(content) {
        Some(text) => text,
        None => Cow::Owned(steering()?.text.as_str().to_owned()),
    };
    if text.is_empty() {
        return None;
    }
    let typed = without_context_of_hooks(&text);
    let author = author_of(typed);
    let text = if typed.len() == text.len() { text } else { Cow::Owned(typed.to_owned()) };
    Some((text, author))
}

fn author_of(text: &str) -> Author {
    let text = text.trim();
    if CONTINUE.contains(&text) || text.starts_with(LOOP) {
        Author::Program
    } else if text.is_empty() || CONTEXTS.iter().any(|start| text.starts_with(start)) {
        Author::Context
    } else {
        Author::Human
    }
}

/// A prompt without what hooks added before and after it. That contains no tags.
pub(super) fn without_context_of_hooks(text: &str) -> &str {
    const BEGIN: &str = "<hook_context>";
    const END: &str = "</hook_context>";
    let before = text.trim_start().strip_prefix(BEGIN).and_then(|rest| rest.split_once(END));
    let text = before.map_or(text, |(_, rest)| rest.trim_start_matches('\n'));
    let after = text.trim_end().strip_suffix(END).and_then(|rest| rest.rsplit_once(BEGIN));
    after.map_or(text, |(prompt, _)| prompt)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_of_the_human_unless_gemini_cli_writes_it() {
        for (text, expected, author) in [
            ("Fix it.", "Fix it.", Author::Human),
            (
                "I ran the following shell command: it failed.",
                "I ran the following shell command: it failed.",
                Author::Human,
            ),
            ("<hook_context>on main</hook_context>", "", Author::Context),
            ("<hook_context>on main</hook_context>\n\nFix it.", "Fix it.", Author::Human),
            ("Fix it.<hook_context>on main</hook_context>", "Fix it.", Author::Human),
            ("<hook_context>a</hook_context>\n\nFix it.<hook_context>b</hook_context>", "Fix it.", Author::Human),
            ("<hook_context>a, then Fix it.", "<hook_context>a, then Fix it.", Author::Human),
            ("Please continue.<hook_context>a</hook_context>", "Please continue.", Author::Program),
        ] {
            let content = serde_json::to_string(text).unwrap();
            let (prompt, by) = prompt_of(Raw(content.as_bytes())).unwrap();
            assert_eq!((prompt.as_ref(), by), (expected, author), "{text}");
        }
        for text in [
            "<session_context>\nThis is the Gemini CLI.\n</session_context>",
            "Here is the user's editor context as a JSON object. This is for your information only.\n```json\n{}\n```",
            "Here is a summary of changes in the user's editor context, in JSON format. This is for your information only.",
            "I ran the following shell command:\n```sh\nls\n```\n\nThis produced the following result:\n```\na\n```",
            "- **Workspace Directories:**\n  - /work\n- **Directory Structure:**\n\n",
            "User has manually exited Plan Mode. Switching to Default mode.",
        ] {
            assert_eq!(author_of(text), Author::Context, "{text}");
        }
        assert_eq!(author_of("System: Potential loop detected. Details: x. Please take a step back"), Author::Program);
    }
}
