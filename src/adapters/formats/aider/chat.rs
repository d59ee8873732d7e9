//! Aider's chat history: Markdown to which every run appends.
//!
//! `#### ` begins a line that the user typed, `> ` a line of Aider, all other lines are the model's, which may begin like those.
//! Each `Tokens:` line is one message. Its counts are rounded to two digits, and only those below 1000 are exact.
//!
//! # `aider-chat`
//!
//! Aider's `.aider.chat.history.md` in each repository, Markdown to which every run appends. Recognised by its first line, `# aider
//! chat started at` with a time. Seen: 3 files with 8 chats, 0.62 to 0.86; the lines with cache counts from its source.
//!
//! | what | from |
//! | --- | --- |
//! | session | each line `# aider chat started at`: a hash of it, in a file with several of the same also their ordinal |
//! | start, version, model | that line (local time, used as UTC); `Aider v…`; `Main model:`, `Model:`, `Models:`, also later ones |
//! | turn | each line `> Tokens:`, by its ordinal in the chat and its counts. After the first message that follows a prompt, the model is `Editor model:` |
//! | tokens | `sent` minus `cache write`, minus `cache hit` unless that is larger; `received`; `cache hit`; `cache write`. `1.6k` is 1600 |
//! | cost | `Cost: $… message`, on the same or the next line; it is there only if Aider knows the price. `session` is not used |
//! | call | `Applied edit to`, `Did not apply edit to` (tool `edit`), `Running` (tool `run`); ids are ordinals |
//! | file change | `Applied edit to`; after `Create new file?` for the same file it is `create` |
//! | events | `litellm.…Error:` (error), `Retrying in` (retry), edits that do not match (validation), `KeyboardInterrupt` before an answer (abort) |
//! | user turns | consecutive lines `####` are one prompt; commands are none, except `/ask`, `/code`, `/architect`, `/context` with a text |
//! | status | what is last: a message is `success`, an error `error`, a prompt `incomplete` |
//!
//! The command line that a chat begins with is not kept: it may contain keys. *Estimate*: counts are rounded to two digits (315 of
//! 320 lines). *Unknown*: times after the start, the requests of the weak model (commit messages, summaries), exit codes.

use foldhash::{HashMap, HashMapExt as _};

use crate::adapters::engine::text_loop::{TextFold, fold_text};
use crate::adapters::engine::{Adapter, Context};
use crate::adapters::shared::at::At;
use crate::adapters::shared::builder::{Builder, Last, brief};
use crate::adapters::shared::history;
use crate::adapters::shared::ids::{counts_name, hashed_id};
use crate::base::text::Symbol;
use crate::base::time::Time;
use crate::json::Raw;
use crate::json::lines::Line;
use crate::model::places::Place;
use crate::model::session::{CallStatus, Capabilities, Cost, EventKind, Identity, Operation, SessionResult, Tokens};

/// The beginning of each chat in a history.
pub(crate) const CHAT_START: &str = "# aider chat started at ";

pub(crate) const CHAT: Adapter = Adapter {
    id: "aider-chat",
    runtime: "aider",
    about: "Aider, .aider.chat.history.md of a project",
    tested: Some("0.86.1"),
    capabilities: Capabilities::TURNS
        .and(Capabilities::TOOL_CALLS)
        .and(Capabilities::FILE_CHANGES)
        .and(Capabilities::RETRIES)
        .and(Capabilities::USER_TURNS)
        .and(Capabilities::KEPT_BY_RUNTIME),
    // Each repository has its own; this is that of the home directory.
    places: &[Place::home(".aider.chat.history.md")],
    // It is plain text: its first line decides.
    claims: |_| 0,
    parse: fold_text::<History>,
};

/// A history while it is read.
pub(crate) struct History {
    context: Context,
    chats: Vec<Chat>,
    /// How many chats begin with a line: several runs begin in the same second.
    starts: HashMap<String, usize>,
}

impl TextFold for History {
    fn new(context: &Context) -> Self {
        Self { context: context.clone(), chats: Vec::new(), starts: HashMap::new() }
    }

    fn line(&mut self, text: &str, source: Line<'_>) {
        let text = text.trim_end();
        let time = text.strip_prefix(CHAT_START).filter(|rest| rest.len() == 19).and_then(Time::parse);
        if let Some(time) = time {
            let count = self.starts.entry(text.to_owned()).or_default();
            *count += 1;
            let id = match *count {
                1 => hashed_id(text.as_bytes()),
                count => hashed_id(format!("{text} {count}").as_bytes()),
            };
            self.chats.push(Chat::new(&self.context, id, source.number, time));
        } else if let Some(chat) = self.chats.last_mut() {
            chat.line(text, source.number);
        }
    }

    fn finish(self) -> Vec<SessionResult> {
        self.chats.into_iter().map(Chat::finish).collect()
    }
}

/// One run of Aider.
struct Chat {
    builder: Builder,
    started: Time,
    model: Option<Symbol>,
    /// The editor model, if it is not the main model.
    editor: Option<Symbol>,
    /// The messages since the last prompt, of this chat, and all calls and events.
    messages: usize,
    turns: usize,
    calls: usize,
    /// The lines of a prompt that may go on.
    prompt: Vec<String>,
    prompts: usize,
    /// The text of the model since the last line of another kind, if it is kept.
    answer: String,
    last: Last,
    /// The file that the user was asked to create.
    new_file: Option<String>,
    previous: String,
}

impl Chat {
    fn new(context: &Context, id: String, line: i64, time: Time) -> Self {
        let mut builder = Builder::new(context, id, line);
        builder.extend_to(Some(time));
        builder.session.ended_at = None;
        builder.session.is_estimated = true;
        Self {
            builder,
            started: time,
            model: None,
            editor: None,
            messages: 0,
            turns: 0,
            calls: 0,
            prompt: Vec::new(),
            prompts: 0,
            answer: String::new(),
            last: Last::Work,
            new_file: None,
            previous: String::new(),
        }
    }

    fn line(&mut self, text: &str, line: i64) {
        if let Some(typed) = text.strip_prefix("####").filter(|rest| rest.is_empty() || rest.starts_with(' ')) {
            self.prompt.push(typed.trim().to_owned());
            return;
        }
        self.end_prompt();
        match text.strip_prefix('>') {
            Some(output) => self.output(output.trim(), line),
            None if self.builder.keeps_text() => {
                self.answer.push_str(text);
                self.answer.push('\n');
            }
            None => {}
        }
    }

    fn end_prompt(&mut self) {
        let prompt = std::mem::take(&mut self.prompt).join("\n");
        let prompt = prompt.trim();
        if prompt.is_empty() {
            return;
        }
        // Most commands are for Aider; these send the rest of the line to the model.
        let command = prompt.split_whitespace().next().unwrap_or_default();
        let asks = ["/ask", "/code", "/architect", "/context"].contains(&command) && prompt.len() > command.len();
        if prompt.starts_with('/') && !asks {
            return;
        }
        self.prompts += 1;
        let identity = Identity::Session(format!("prompt {}", self.prompts).into());
        self.builder.prompt_as(identity, Some(prompt));
        self.answer.clear();
        self.messages = 0;
        self.last = Last::Work;
    }

    /// A line of Aider.
    fn output(&mut self, text: &str, line: i64) {
        let previous = std::mem::replace(&mut self.previous, text.to_owned());
        if let Some(counts) = text.strip_prefix("Tokens: ") {
            self.message(counts, line);
        } else if let Some(cost) = text.strip_prefix("Cost: $").filter(|_| previous.starts_with("Tokens: ")) {
            // With counts of both caches, the cost is on a line of its own.
            self.set_cost(cost);
        } else if let Some(version) = text.strip_prefix("Aider v") {
            self.builder.session.runtime_version = Some(version.to_owned());
        } else if let Some(model) = model_of(text) {
            self.model = Some(Symbol::new(model));
            self.editor = None;
        } else if let Some(model) = text.strip_prefix("Editor model: ").and_then(before_format) {
            self.editor = Some(Symbol::new(model)).filter(|editor| self.model.as_ref() != Some(editor));
        } else if text.starts_with("Create new file?") {
            self.new_file = Some(previous);
        } else if let Some(path) = text.strip_prefix("Applied edit to ") {
            self.edit(path, CallStatus::Ok, line);
        } else if let Some(rest) = text.strip_prefix("Did not apply edit to ") {
            let path = rest.strip_suffix("(--dry-run)").unwrap_or(rest).trim();
            self.edit(path, CallStatus::Error, line);
        } else if let Some(commit) = text.strip_prefix("Commit ") {
            self.commit(commit);
        } else if let Some(command) = text.strip_prefix("Running ").filter(|command| !command.ends_with("...")) {
            let call = self.call("run", line);
            self.builder.session.tool_calls[call].category = "shell".into();
            self.builder.command(call, Raw::default(), command);
            self.builder.result(call, Raw::default(), None, CallStatus::Ok);
        } else if text.ends_with("failed to match!") || text.starts_with("The LLM did not conform") {
            self.event(EventKind::Validation, "output", text, line);
        } else if text.starts_with("Retrying in ") {
            self.event(EventKind::Retry, "", text, line);
        } else if let Some((kind, _)) = text.strip_prefix("litellm.").and_then(|rest| rest.split_once(':')) {
            if kind.ends_with("Error") || kind.ends_with("Exception") || kind == "Timeout" {
                self.builder.fail(None, text);
                self.event(EventKind::Error, kind, text, line);
                self.last = Last::Error;
            }
        } else if text.ends_with("KeyboardInterrupt") && self.last == Last::Work && self.prompts > 0 {
            self.event(EventKind::Abort, "", "", line);
            self.last = Last::Abort;
        }
    }

    fn event(&mut self, kind: EventKind, code: &str, message: &str, line: i64) {
        let name = format!("{} {}", kind.as_str(), self.builder.session.events.len());
        let event = self.builder.event(kind, At { line, time: None });
        event.key = Some(name.into());
        event.code = Some(code).filter(|code| !code.is_empty()).map(Symbol::new);
        event.message = Some(message).filter(|message| !message.is_empty()).map(brief);
    }

    /// Aider commits its edits itself: `Commit 0123abc subject`. The commit is that of the last edit before it.
    fn commit(&mut self, text: &str) {
        let hash = text.split(' ').next().filter(|word| history::is_hash(word));
        let mut calls = self.builder.session.tool_calls.iter_mut().rev();
        if let (Some(hash), Some(call)) = (hash, calls.find(|call| call.category == "edit")) {
            call.commits = Some(hash.into());
        }
    }

    fn call(&mut self, tool: &str, line: i64) -> usize {
        self.calls += 1;
        let call = self.builder.call(&format!("#{}", self.calls), tool, At { line, time: None });
        self.builder.session.tool_calls[call].turn = self.builder.session.turns.len().checked_sub(1);
        call
    }

    fn edit(&mut self, path: &str, status: CallStatus, line: i64) {
        let call = self.call("edit", line);
        self.builder.session.tool_calls[call].target = Some(path.into());
        self.builder.result(call, Raw::default(), None, status);
        let is_new = self.new_file.take().is_some_and(|new| new == path);
        let operation = if is_new { Operation::Create } else { Operation::Update };
        self.builder.change(call, path, Some(operation), None, At { line, time: None });
    }

    /// A message of the model, by its counts and its cost.
    fn message(&mut self, text: &str, line: i64) {
        let (counts, cost) = text.split_once(" Cost: $").map_or((text, None), |(counts, cost)| (counts, Some(cost)));
        let Some(tokens) = tokens(counts) else { return };
        self.builder.set_answer(self.answer.trim());
        self.answer.clear();
        if tokens.is_all_zero() {
            return;
        }
        self.turns += 1;
        self.messages += 1;
        // Chats that begin in the same second have the same id: the counts distinguish their messages.
        let identity = Identity::Session(format!("#{} {}", self.turns, counts_name(tokens)).into());
        let index = self.builder.turn(identity, line);
        let turn = &mut self.builder.session.turns[index];
        let editor = self.editor.as_ref().filter(|_| self.messages > 1);
        turn.model = editor.or(self.model.as_ref()).cloned();
        turn.tokens = tokens.into();
        if let Some(cost) = cost {
            self.set_cost(cost);
        }
        self.last = Last::Answer;
    }

    /// Sets the cost of the last message: `0.02 message, $0.05 session.`
    fn set_cost(&mut self, text: &str) {
        let cost = text.split_once(" message").and_then(|(cost, _)| cost.replace(',', "").parse::<f64>().ok());
        let cost = cost.filter(|cost| crate::json::fields::Number(Some(*cost)).money().is_some());
        if let (Some(cost), Some(turn)) = (cost, self.builder.session.turns.iter_mut().next_back()) {
            turn.cost = Some(Cost::of(cost));
        }
    }

    fn finish(mut self) -> SessionResult {
        self.end_prompt();
        self.builder.set_answer(self.answer.trim());
        let session = &mut self.builder.session;
        session.model.clone_from(&self.model);
        session.started_at = Some(self.started);
        self.builder.end(self.last);
        self.builder.finish()
    }
}

/// The model in `Main model: X with diff edit format`, under each of the names that versions use.
fn model_of(text: &str) -> Option<&str> {
    let rest = ["Main model: ", "Model: ", "Models: "].iter().find_map(|start| text.strip_prefix(start))?;
    before_format(rest)
}

fn before_format(text: &str) -> Option<&str> {
    let (model, rest) = text.split_once(" with ")?;
    let is_model = !model.is_empty() && !model.contains(' ');
    (is_model && rest.contains("edit format")).then_some(model)
}

/// The counts of `1.6k sent, 2.1k cache write, 4k cache hit, 1.7k received.`
fn tokens(text: &str) -> Option<Tokens> {
    let (mut sent, mut received, mut written, mut read) = (None, None, None, None);
    for part in text.trim_end_matches('.').split(", ") {
        let (number, name) = part.split_once(' ')?;
        let count = count(number)?;
        match name {
            "sent" => sent = Some(count),
            "received" => received = Some(count),
            "cache write" => written = Some(count),
            "cache hit" => read = Some(count),
            _ => return None,
        }
    }
    let (sent, received) = (sent?, received?);
    let without = |count: i64, part: Option<i64>| count.checked_sub(part.unwrap_or(0)).filter(|rest| *rest >= 0);
    // What is sent includes cache writes; cache reads only with some providers: then it is larger than they are.
    let unwritten = without(sent, written).unwrap_or(sent);
    Some(Tokens {
        input: Some(without(unwritten, read).unwrap_or(unwritten)),
        output: Some(received),
        cache_read: read,
        cache_write: written,
        ..Tokens::UNKNOWN
    })
}

/// `999`, `1.6k`, `12k`, `1.2M`.
fn count(text: &str) -> Option<i64> {
    let (digits, scale) = match text.strip_suffix(['k', 'K']) {
        Some(digits) => (digits, 1e3),
        None => text.strip_suffix('M').map_or((text, 1.0), |digits| (digits, 1e6)),
    };
    let number: f64 = digits.replace(',', "").parse().ok()?;
    crate::json::fields::Number(Some(number * scale)).rounded()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounded_counts_are_read() {
        let of = |text: &str| tokens(text).map(Tokens::kinds);
        assert_eq!(of("1.6k sent, 104 received."), Some([Some(1600), Some(104), None, None]));
        assert_eq!(of("12k sent, 1.0k received."), Some([Some(12_000), Some(1000), None, None]));
        // Cache reads are not a part of a smaller prompt.
        let cached = Some([Some(3500), Some(12), Some(4000), Some(2100)]);
        assert_eq!(of("5.6k sent, 2.1k cache write, 4k cache hit, 12 received."), cached);
        let inside = Some([Some(500), Some(12), Some(4000), None]);
        assert_eq!(of("4.5k sent, 4k cache hit, 12 received."), inside);
        for text in ["many sent, 1 received.", "1 sent", "1 lost, 2 received", "", "-5 sent, 1 received."] {
            assert_eq!(of(text), None, "{text}");
        }
    }

    #[test]
    fn models_are_named_before_their_edit_format() {
        assert_eq!(model_of("Main model: gpt-4o with diff edit format, infinite output"), Some("gpt-4o"));
        assert_eq!(model_of("Models: gpt-4-1106 with udiff edit format, weak model gpt-3.5"), Some("gpt-4-1106"));
        assert_eq!(model_of("Model: the one with a hat"), None);
    }
}
