//! Who wrote a prompt (`docs/accounting.md#what-is-never-counted`).

use serde::Deserialize;

use crate::adapters::shared::elements::without_elements;
use crate::json::fields::Text;

/// The member `origin` of a prompt.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct PromptOrigin<'a> {
    pub(crate) kind: Text<'a>,
}

/// What a record states about the author of its prompt. Empty texts are not stated.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Author<'a> {
    /// `origin.kind`.
    pub(crate) origin: &'a str,
    /// `promptSource`.
    pub(crate) source: &'a str,
    /// `turnOrigin`.
    pub(crate) turn: &'a str,
}

/// How texts begin that Claude Code writes about what the user did: slash commands, their output, interruptions.
const COMMANDS: [&str; 6] =
    ["<command-name>", "<command-message>", "<local-command-", "<system-reminder>", "<bash-", "[Request interrupted"];

/// The elements that Claude Code, a hook or an editor adds to a prompt, before what the user wrote or in its place.
const CONTEXT: [&str; 4] = ["system-reminder", "ide_opened_file", "ide_selection", "user-prompt-submit-hook"];

/// How texts begin that another program or agent sent, in versions that do not state it.
const MESSAGES: [&str; 6] = [
    "<task-notification>",
    "Another Claude session sent a message:",
    "<teammate-message",
    "<cross-session-message",
    "[Cross-session",
    "[Subagent hand-back]",
];

/// How the text of a skill begins that Claude Code adds to the context.
pub(crate) const SKILL: &str = "Base directory for this skill: ";

/// The slash command in a text that Claude Code writes about one, without the slash.
pub(crate) fn slash_command(text: &str) -> Option<&str> {
    let text = text.trim_start();
    let (_, rest) = text.starts_with("<command-").then(|| text.split_once("<command-name>"))??;
    let (name, _) = rest.split_once("</command-name>")?;
    Some(name.trim().trim_start_matches('/'))
}

/// The text of a prompt: the first one that contains more than what programs add, from where that ends.
pub(crate) fn text_of_prompt<'t>(texts: impl Iterator<Item = &'t str>) -> Option<&'t str> {
    texts.map(|text| without_elements(text, &CONTEXT)).find(|text| !text.trim().is_empty())
}

impl Author<'_> {
    /// Whether a human is stated as the author, or something else. `None` if nothing is stated.
    fn is_stated_human(self) -> Option<bool> {
        let by_origin = (!self.origin.is_empty()).then_some(self.origin == "human");
        let by_turn = (!self.turn.is_empty()).then_some(matches!(self.turn, "human" | "sdk"));
        let by_source = match self.source {
            // A prompt of the SDK may be typed in another program.
            "typed" | "queued" | "suggestion_accepted" | "sdk" => Some(true),
            "system" => Some(false),
            _ => None,
        };
        [by_origin, by_turn, by_source].into_iter().flatten().reduce(|a, b| a && b)
    }

    /// Whether a human wrote a prompt. `text` is absent in one that only has images.
    pub(crate) fn is_human(self, text: Option<&str>) -> bool {
        let begins_with =
            |starts: &[&str]| text.is_some_and(|text| starts.iter().any(|it| text.trim_start().starts_with(it)));
        !begins_with(&COMMANDS) && self.is_stated_human().unwrap_or_else(|| !begins_with(&MESSAGES))
    }
}

#[cfg(test)]
mod tests {
    use crate::adapters::formats::claude::common::prompts::{Author, slash_command, text_of_prompt};

    #[test]
    fn slash_commands_are_found_in_their_tags() {
        for (text, expected) in [
            ("<command-name>/model</command-name>\n<command-message>model</command-message>", Some("model")),
            ("<command-message>a:b is running</command-message>\n<command-name>/a:b</command-name>", Some("a:b")),
            ("What is <command-name>/x</command-name>?", None),
            ("<command-name>/x", None),
        ] {
            assert_eq!(slash_command(text), expected, "{text}");
        }
    }

    #[test]
    fn what_programs_add_is_no_text_of_a_prompt() {
        let reminder = "<system-reminder>Be brief.</system-reminder>";
        let file = "<ide_opened_file>The user opened a.rs.</ide_opened_file>";
        for (texts, expected) in [
            (vec!["Fix it."], Some("Fix it.")),
            (vec![reminder, "Fix it."], Some("Fix it.")),
            (vec![file, reminder, " Fix it.\n", "And this."], Some(" Fix it.\n")),
            (vec!["<ide_selection>x</ide_selection>\n<system-reminder>y</system-reminder>Fix it."], Some("Fix it.")),
            (
                vec!["Explain <system-reminder>x</system-reminder>"],
                Some("Explain <system-reminder>x</system-reminder>"),
            ),
            (vec!["<system-reminder>cut"], Some("<system-reminder>cut")),
            (vec![file], None),
            (vec!["", " \n"], None),
            (vec![], None),
        ] {
            assert_eq!(text_of_prompt(texts.iter().copied()), expected, "{texts:?}");
        }
    }

    #[test]
    fn stated_authors_decide_before_texts() {
        let message = "Another Claude session sent a message: go on";
        for (origin, source, turn, text, expected) in [
            ("", "", "", "Fix it.", true),
            ("", "", "", message, false),
            ("", "", "", "  <teammate-message id=\"a\">", false),
            ("", "", "", "<task-notification>", false),
            ("", "", "", "[Subagent hand-back] done", false),
            // The user quotes a message.
            ("human", "typed", "", message, true),
            ("human", "", "", "<command-name>/clear</command-name>", false),
            ("task-notification", "", "", "Done.", false),
            ("coordinator", "", "", "Go on.", false),
            ("peer", "queued", "", "Go on.", false),
            ("", "typed", "", "Fix it.", true),
            ("", "queued", "", message, true),
            ("", "suggestion_accepted", "", "Run the tests.", true),
            ("", "sdk", "", "Fix it.", true),
            ("", "system", "", "Fix it.", false),
            ("", "", "human", "Fix it.", true),
            ("", "", "sdk", "Fix it.", true),
            ("", "", "peer", "Fix it.", false),
            ("", "", "task_notification", "Fix it.", false),
            ("", "", "scheduled", "Fix it.", false),
            ("", "sdk", "auto_continuation", "Go on.", false),
        ] {
            let author = Author { origin, source, turn };
            assert_eq!(author.is_human(Some(text)), expected, "{author:?} {text}");
        }
        assert!(Author::default().is_human(None));
    }
}
