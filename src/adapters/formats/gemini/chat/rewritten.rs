//! History that Gemini CLI has written again under new ids.
//!
//! After it has masked results, and after the commands `/restore` and `/chat resume`, `setHistory` (`core/geminiChat.ts`) gets contents
//! without ids: each of them is written as a new message, and then listed in `$set.messages`. Such a list names exactly the messages that
//! were written last. Other lists begin with a message that was written before the previous list, or that has no line, which is the
//! context of the session, or contain an answer with its model.

use super::prompts::SESSION_CONTEXT;
use super::records::{Record, text_of};
use crate::json::Raw;
use crate::model::session::Identity;

/// The messages since the last answer of a model and the last list.
#[derive(Debug, Default)]
pub(super) struct Written {
    messages: Vec<Message>,
    /// Whether a model has answered: there is no history to write again before.
    has_answer: bool,
}

#[derive(Debug)]
struct Message {
    id: String,
    /// Whether a human does not write such a message: an answer, or the context of the session.
    is_of_program: bool,
    /// The prompt that it counted as.
    prompt: Option<Identity>,
}

impl Written {
    /// Adds a user message.
    pub(super) fn user(&mut self, message: &Record<'_>, prompt: Option<Identity>) {
        let is_of_program = text_of(message.content).is_some_and(|text| text.starts_with(SESSION_CONTEXT));
        self.add(message, is_of_program, prompt);
    }

    /// Adds an answer. A copy has neither a model nor tokens nor calls.
    pub(super) fn answer(&mut self, message: &Record<'_>) {
        let is_of_model =
            message.model.some().is_some() || message.tokens.get().is_some() || !message.tool_calls.is_empty();
        if is_of_model {
            self.messages.clear();
            self.has_answer = true;
        } else {
            self.add(message, true, None);
        }
    }

    fn add(&mut self, message: &Record<'_>, is_of_program: bool, prompt: Option<Identity>) {
        self.messages.push(Message { id: message.id.as_str().to_owned(), is_of_program, prompt });
    }

    /// The prompts of the messages that a list names, if these are history that was written again.
    pub(super) fn take_copies(&mut self, listed: &[Raw<'_>]) -> Vec<Identity> {
        let mut messages = std::mem::take(&mut self.messages);
        let Some(first) = messages.len().checked_sub(listed.len()) else { return Vec::new() };
        let copies = messages.split_off(first);
        let is_listed =
            |copy: &Message, raw: &Raw<'_>| !copy.id.is_empty() && copy.id == raw.read::<Record<'_>>().id.as_str();
        let are_listed = copies.iter().zip(listed).all(|(copy, raw)| is_listed(copy, raw));
        if !self.has_answer || !are_listed || !copies.iter().any(|it| it.is_of_program) {
            return Vec::new();
        }
        copies.into_iter().filter_map(|it| it.prompt).collect()
    }
}
