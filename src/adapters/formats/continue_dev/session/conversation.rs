//! One session of Continue while its messages are read.

use std::hash::Hasher as _;

use super::counts::Counts;
use super::records::{CallState, Document, FileArgument, Item, Message, Output, PromptLog, Usage};
use crate::adapters::engine::{Context, RecordErrors};
use crate::adapters::shared::at::At;
use crate::adapters::shared::blocks::text_of;
use crate::adapters::shared::builder::{Builder, Last, money};
use crate::adapters::shared::changed_lines::Sketch;
use crate::adapters::shared::changes;
use crate::adapters::shared::ids::hash_of_document;
use crate::adapters::shared::usage;
use crate::base::text::Symbol;
use crate::json::Raw;
use crate::model::session::{CallStatus, Identity, ModelTotal, Operation, SessionResult, Total};

/// A session while its messages are read.
pub(super) struct Session {
    builder: Builder,
    /// A hash of the messages so far: copies of a session have other ids, but the same messages.
    history: twox_hash::XxHash3_64,
    /// The number of messages so far.
    count: usize,
    /// The counts of the answers with usage.
    counts: Counts,
    last: Last,
}

impl Session {
    pub(super) fn new(context: &Context, document: &Document<'_>, line: i64) -> Self {
        let mut builder = Builder::new(context, document.session_id.as_str(), line);
        builder.session.cwd = document.workspace_directory.some().map(directory);
        builder.session.model = document.chat_model_title.owned();
        builder.session.started_at = document.date_created.0;
        Self {
            builder,
            history: twox_hash::XxHash3_64::with_seed(0),
            count: 0,
            counts: Counts::new(document.usage.get()),
            last: Last::Work,
        }
    }

    pub(super) fn item(&mut self, raw: Raw<'_>, line: i64, damage: &mut RecordErrors) {
        self.history.write_u64(hash_of_document(raw.0));
        self.count += 1;
        let item: Item<'_> = raw.read();
        match item.message.role.as_str() {
            "user" => {
                self.last = Last::Work;
                let identity = self.identity(&item.message);
                self.builder.prompt_as(identity, Some(&text_of(item.message.content)));
            }
            "assistant" => self.assistant(item, line, damage),
            "tool" => {
                let call = self.builder.call_index(item.message.tool_call_id.as_str());
                if let Some(call) = call {
                    let known = self.builder.session.tool_calls[call].status;
                    let status = if known == CallStatus::Incomplete { CallStatus::Ok } else { known };
                    self.builder.result(call, item.message.content, None, status);
                }
                self.last = Last::Work;
            }
            _ => {}
        }
        self.builder.name_events(None, raw.0);
    }

    /// The identity of a message, equal in copies of the session.
    fn identity(&self, message: &Message<'_>) -> Identity {
        match message.id.some() {
            Some(id) => Identity::Global(format!("continue {id}").into()),
            None => Identity::Global(format!("continue {:016x} {}", self.history.finish(), self.count).into()),
        }
    }

    fn assistant(&mut self, item: Item<'_>, line: i64, damage: &mut RecordErrors) {
        let text = text_of(item.message.content);
        let mut states = item.tool_call_states.unwrap_or_default();
        states.extend(item.tool_call_state.get().cloned());
        for call in item.message.tool_calls.as_deref().unwrap_or_default() {
            let is_known = |state: &CallState<'_>| state.tool_call.id == call.id || state.tool_call_id == call.id;
            if !states.iter().any(is_known) {
                states.push(CallState { tool_call: call.clone(), ..CallState::default() });
            }
        }
        let usage = usage::present(&item.message.usage, damage);
        if usage.is_none() && text.is_empty() && states.is_empty() {
            // A message that was begun, and replaced by one of its reasoning.
            return;
        }
        let log = item.prompt_logs.as_deref().unwrap_or_default().first();
        let turn = usage.map(|usage| self.response(&item.message, usage, log, line, damage));
        if turn.is_none() {
            let identity = self.identity(&item.message);
            self.builder.session.answers.insert(identity);
        }
        if self.builder.session.model.is_none() {
            self.builder.session.model = log.and_then(model_of);
        }
        self.builder.set_answer(&text);
        let has_calls = !states.is_empty();
        for state in &states {
            self.call(state, turn, line);
        }
        self.last = if has_calls || text.is_empty() { Last::Work } else { Last::Answer };
    }

    /// Adds an answer with usage.
    fn response(
        &mut self,
        message: &Message<'_>,
        usage: &Usage<'_>,
        log: Option<&PromptLog<'_>>,
        line: i64,
        damage: &mut RecordErrors,
    ) -> usize {
        let model = usage.model.owned().or_else(|| log.and_then(model_of));
        let known = self.builder.session.turns.len();
        let index = self.builder.turn(self.identity(message), line);
        if index < known {
            return index;
        }
        let tokens = self.counts.add(usage, model.as_deref(), damage);
        let turn = &mut self.builder.session.turns[index];
        turn.message_id = message.id.owned();
        turn.model = model;
        turn.provider = log.and_then(|log| log.model_provider.owned());
        turn.tokens = tokens.into();
        index
    }

    fn call(&mut self, state: &CallState<'_>, turn: Option<usize>, line: i64) {
        let id = state.tool_call_id.some().unwrap_or_else(|| state.tool_call.id.as_str());
        let function = &state.tool_call.function;
        let at = At { line, time: None };
        let text = function.arguments.text();
        let raw = Raw(text.as_bytes());
        let call = self.builder.call_of(turn, id, function.name.as_str(), raw, at);
        let arguments = self.builder.arguments(call, raw);
        changes::add_named_file(&mut self.builder, call, &arguments, raw, Some(Operation::Update), at);
        let own: FileArgument<'_> = raw.read();
        let row = &mut self.builder.session.tool_calls[call];
        row.args_bytes = function.arguments.len().into();
        let category = row.category.clone();
        if let (Some(path), None) = (own.filepath.some(), &row.target) {
            row.target = Some(path.into());
            match category.as_ref() {
                "edit" => {
                    let lines = changes::edited_lines(raw);
                    self.builder.change(call, path, Some(Operation::Update), lines, at);
                }
                "write" => {
                    // This tool refuses to replace a file.
                    let is_new = function.name.as_str() == "create_new_file";
                    let change = self.builder.change(call, path, is_new.then_some(Operation::Create), None, at);
                    self.builder.sketch(change, own.contents.some().map(Sketch::of_text));
                }
                _ => {}
            }
        }
        match state.status.as_str() {
            "done" => {
                let outputs: Vec<Output<'_>> = if category == "shell" { state.output.read() } else { Vec::new() };
                let end = outputs.iter().find_map(|output| output.status.0.as_deref()).unwrap_or_default();
                self.builder.result(call, state.output, None, CallStatus::from_error(has_failed(end)));
                self.builder.session.tool_calls[call].exit_code = exit_code(end).into();
            }
            "errored" => self.builder.result(call, state.output, None, CallStatus::Error),
            "canceled" => self.builder.deny(call, at, None),
            _ => {}
        }
    }

    pub(super) fn finish(mut self, document: &Document<'_>, line: i64, damage: &mut RecordErrors) -> SessionResult {
        if let Some(usage) = usage::present(&document.usage, damage) {
            let session = &self.builder.session;
            let model = session.only_model().or_else(|| session.model.clone());
            let tokens = self.counts.of_session(usage, model.as_deref(), damage);
            let cost = money(usage.total_cost, damage).filter(|cost| *cost > 0.0);
            if !tokens.is_all_zero() && tokens.total().is_some() {
                // The sums are not divided by model.
                let model = self.builder.session.only_model();
                self.builder.session.totals.push(Total {
                    line,
                    key: format!("continue {}", self.builder.session.session_id),
                    cost,
                    models: vec![ModelTotal { model, tokens, cost, ..ModelTotal::default() }],
                    covers_subagents: true,
                    ..Total::default()
                });
            }
        }
        let session = &mut self.builder.session;
        session.under_reports = !session.turns.is_empty() && !session.answers.is_empty();
        self.builder.end(self.last);
        self.builder.finish()
    }
}

/// Whether the status that the tool shows below the output of a command is that of a failure (`runTerminalCommand.ts`).
fn has_failed(status: &str) -> bool {
    status.starts_with("Command failed") || status.starts_with("Command timed out")
}

/// The exit code in the status below the output of a command.
fn exit_code(status: &str) -> Option<i64> {
    match status {
        "Command completed" => Some(0),
        _ => status.strip_prefix("Command failed with exit code ")?.trim().parse().ok(),
    }
}

fn model_of(log: &PromptLog<'_>) -> Option<Symbol> {
    log.completion_options.model.owned().or_else(|| log.model_title.owned())
}

/// A path, from a path or a `file:` URL.
fn directory(text: &str) -> String {
    let Some(path) = text.strip_prefix("file://") else { return text.to_owned() };
    let mut decoded = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let [first, after @ ..] = rest {
        let code = after.first_chunk::<2>().filter(|_| *first == b'%');
        let byte = code.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        decoded.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { after.get(2..).unwrap_or_default() } else { after };
    }
    let decoded = String::from_utf8_lossy(&decoded).into_owned();
    // `/c:/work` is `c:/work`.
    let is_drive = decoded.as_bytes().get(2) == Some(&b':');
    if is_drive { decoded.get(1..).unwrap_or_default().to_owned() } else { decoded }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::engine::Hints;
    use crate::adapters::parse;
    use crate::adapters::shared::builder::Retention;
    use crate::model::session::Tokens;

    #[test]
    fn directories_are_paths() {
        for (text, path) in [
            ("/work/a b", "/work/a b"),
            ("file:///c%3A/work/caf%C3%A9", "c:/work/café"),
            ("file:///work/100%25%2", "/work/100%%2"),
            ("vscode-remote://ssh/work", "vscode-remote://ssh/work"),
        ] {
            assert_eq!(directory(text), path);
        }
    }

    /// The tokens of the answer, and of the session.
    fn read(answer: &str, session: &str) -> [Tokens; 2] {
        let log = format!(
            r#"{{"sessionId":"s","title":"t","workspaceDirectory":"/w","history":[
            {{"message":{{"role":"user","content":"x"}}}},
            {{"message":{{"role":"assistant","content":"y","usage":{{{answer}}}}}}}],
            "usage":{{"totalCost":0.5,{session}}}}}"#
        );
        let mut session = parse(log.as_bytes(), Hints::default(), Retention::None).sessions.remove(0);
        [session.turns[0].tokens.get(), session.totals.remove(0).models.remove(0).tokens]
    }

    /// Input, output, cache reads, cache writes and reasoning.
    fn tokens(counts: [Option<i64>; 5]) -> Tokens {
        let [input, output, cache_read, cache_write, reasoning] = counts;
        Tokens { input, output, cache_read, cache_write, reasoning, ..Tokens::UNKNOWN }
    }

    /// An answer that was not kept is in the sums only. So is the cached part of a prompt without details.
    #[test]
    fn sums_complete_the_answers() {
        let answer = r#""prompt_tokens":100,"completion_tokens":10,"total_tokens":115,"model":"m""#;
        let session = r#""promptTokens":150,"completionTokens":20"#;
        let expected = tokens([Some(100), Some(15), None, None, Some(5)]);
        assert_eq!(read(answer, session), [expected, tokens([Some(150), Some(25), None, None, None])]);
        let cached = format!(r#"{session},"promptTokensDetails":{{"cachedTokens":90,"cacheWriteTokens":0}}"#);
        let unknown = Tokens { input: None, ..expected };
        assert_eq!(read(answer, &cached), [unknown, tokens([Some(60), Some(25), Some(90), Some(0), None])]);
        let claude = answer.replace(r#""m""#, r#""claude-opus-4-6""#);
        assert_eq!(read(&claude, &cached), [unknown, tokens([Some(150), Some(25), Some(90), Some(0), None])]);
    }

    /// The sums contain the prompt as each API counts it.
    #[test]
    fn prompts_include_cached_tokens_by_their_api() {
        let usage = |prompt: i64, details: &str, model: &str| {
            format!(
                r#""prompt_tokens":{prompt},"completion_tokens":50,"total_tokens":{},{details},"model":"{model}""#,
                prompt + 50
            )
        };
        let all = r#""prompt_tokens_details":{"cached_tokens":800,"cache_read_tokens":800,"cache_write_tokens":100}"#;
        let sums = |prompt: i64| {
            format!(
                r#""promptTokens":{prompt},"completionTokens":50,"promptTokensDetails":{{"cachedTokens":800,"cacheWriteTokens":100}}"#
            )
        };
        let counts = |input: i64| tokens([Some(input), Some(50), Some(800), Some(100), None]);
        for (model, input) in [("claude-sonnet-4-5", 3000), ("anthropic/claude-sonnet-4-5", 2100)] {
            assert_eq!(read(&usage(3000, all, model), &sums(3000)), [counts(input); 2], "{model}");
        }
        // Fewer than were cached.
        assert_eq!(read(&usage(500, all, "a/b"), &sums(500)), [counts(500); 2]);
        // The sum of OpenAI's cached tokens is always 0.
        let details = r#""prompt_tokens_details":{"cached_tokens":2800,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":20}"#;
        let none = r#""promptTokens":3000,"completionTokens":50,"promptTokensDetails":{"cachedTokens":0,"cacheWriteTokens":0}"#;
        let [answer, session] = read(&usage(3000, details, "gpt-5"), none);
        assert_eq!(answer, tokens([Some(200), Some(50), Some(2800), None, Some(20)]));
        assert_eq!(session, tokens([Some(200), Some(50), Some(2800), Some(0), None]));
    }
}
