//! Which messages of the user a human typed. The rules are those of Cline's `user-run-messages.ts` and `sdk-user-message-mapping.ts`.

use super::migrated::WARNING;
use crate::adapters::engine::Probe;
use crate::adapters::shared::elements::without_elements;
use crate::json::Raw;

/// The kinds of messages that the runtime writes in the name of the user. `compaction` is the kind of a prompt to which the program
/// added what it removed.
const NOTICES: &[&str] = &[
    "auto_compaction",
    "compaction_budget_emergency",
    "compaction_summary",
    "completion_reminder",
    "loop_detection_notice",
    "manual_compaction",
    "mistake_stop_notice",
    "recovery_notice",
];

/// The element that states a change of the mode.
const NOTICE: &[&str] = &["mode_notice"];

/// What the human typed, without the tags around it; `None` if a program wrote the message.
pub(super) fn typed(message: &Probe<'_>, text: &str) -> Option<String> {
    let metadata = message.object("metadata");
    let kind = metadata.text("kind");
    let is_for_the_model = matches!(metadata.text("displayRole").as_ref(), "system" | "status");
    if NOTICES.contains(&kind.as_ref()) || is_for_the_model && kind != "compaction" {
        return None;
    }
    let text = without_tags(text);
    let is_of_program = text.is_empty()
        || text.starts_with("[TASK RESUMPTION]")
        || text.starts_with("<hook_context")
        || text == "The user approved switching to act mode. Continue with the approved plan now.";
    // A prompt may consist of files only.
    (!is_of_program || has_attachment(message)).then(|| text.to_owned())
}

/// A text without the notices before it, and without the tag that states its mode.
fn without_tags(text: &str) -> &str {
    let mut text = text.trim();
    // The prompt with which a task of an earlier version goes on may be in the same message.
    text = text.strip_prefix(WARNING).map_or(text, str::trim);
    text = without_elements(text, NOTICE).trim();
    let Some((_, inside)) = text.strip_prefix("<user_input").and_then(|it| it.split_once('>')) else { return text };
    // Attachments may follow the tag.
    let inside = inside.split_once("</user_input>").map_or(inside, |(typed, _)| typed).trim();
    without_elements(inside, NOTICE).trim()
}

fn has_attachment(message: &Probe<'_>) -> bool {
    let blocks: Vec<Raw<'_>> = message.raw("content").read();
    let kinds = blocks.iter().filter_map(|block| Probe::new(block.0, ""));
    kinds.into_iter().any(|block| matches!(block.kind(), "file" | "image"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_is_what_a_human_typed() {
        let wrapped = r#"<mode_notice>Switched.</mode_notice>\n<user_input mode=\"act\">Fix it.</user_input>"#;
        let resumed = r#"<user_input mode=\"act\">[TASK RESUMPTION] Please continue.</user_input>"#;
        for (metadata, text, file, expected) in [
            ("{}", "Fix it.", "", Some("Fix it.")),
            ("{}", wrapped, "", Some("Fix it.")),
            (r#"{"kind":"compaction","displayRole":"system"}"#, "Fix it.", "", Some("Fix it.")),
            ("{}", resumed, "", None),
            ("{}", resumed, r#",{"type":"image"}"#, Some("[TASK RESUMPTION] Please continue.")),
            ("{}", "", r#",{"type":"file","path":"/a","content":"x"}"#, Some("")),
            (r#"{"kind":"recovery_notice"}"#, "Fix it.", "", None),
            (r#"{"kind":"compaction_summary","displayRole":"system"}"#, "It was fixed.", "", None),
            (r#"{"displayRole":"system"}"#, "<hook_context source=\\\"a\\\">", "", None),
        ] {
            let message = format!(r#"{{"metadata":{metadata},"content":[{{"type":"text","text":"{text}"}}{file}]}}"#);
            let message = Probe::new(message.as_bytes(), "").unwrap();
            let words = text.replace("\\\"", "\"").replace("\\n", "\n");
            assert_eq!(typed(&message, &words).as_deref(), expected, "{metadata} {text}");
        }
    }
}
