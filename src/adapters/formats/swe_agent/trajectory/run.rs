//! One run of SWE-agent while its trajectory is read.

use super::records::{Info, Message, ModelStats, State, Step, Written};
use crate::adapters::engine::{Context, RecordErrors};
use crate::adapters::shared::at::At;
use crate::adapters::shared::blocks::TextBlock;
use crate::adapters::shared::builder::{Builder, money};
use crate::adapters::shared::changed_lines::Sketch;
use crate::adapters::shared::changes;
use crate::adapters::shared::chat_completions::ToolCall;
use crate::base::text::Symbol;
use crate::json::Raw;
use crate::json::fields::Number;
use crate::model::errors::{self, ErrorKind};
use crate::model::session::{
    CallStatus, EventKind, Identity, ModelTotal, Operation, SessionResult, Tokens, Total, add, add_money,
};

/// The commands that SWE-agent adds to the shell, and the kinds of their tools. Any other action is a command of the shell.
const COMMANDS: [(&str, &str); 16] = [
    ("open", "read"),
    ("goto", "read"),
    ("scroll_up", "read"),
    ("scroll_down", "read"),
    ("view_image", "read"),
    ("filemap", "read"),
    ("create", "write"),
    ("edit", "edit"),
    ("insert", "edit"),
    ("undo_edit", "edit"),
    ("str_replace_editor", "edit"),
    ("find_file", "search"),
    ("search_file", "search"),
    ("search_dir", "search"),
    ("submit", "other"),
    ("exit_forfeit", "other"),
];

/// What observations contain in which SWE-agent itself reports that a command failed. Exit statuses are not logged.
const FAILURES: [&str; 3] = [
    "Your proposed edit has introduced new syntax error",
    "EXECUTION TIMED OUT",
    "was cancelled because it took more than",
];

/// A run while its trajectory is read.
pub(super) struct Run<'a> {
    builder: Builder,
    /// The messages of the model in `history`, in their order, and the first of them that no step has used.
    answers: Vec<Message<'a>>,
    next_answer: usize,
    model: Option<Symbol>,
    /// The number of steps so far.
    steps: usize,
}

impl<'a> Run<'a> {
    pub(super) fn new(context: &Context, id: String, line: i64) -> Self {
        let mut builder = Builder::new(context, id, line);
        builder.session.is_estimated = true;
        Self { builder, answers: Vec::new(), next_answer: 0, model: None, steps: 0 }
    }

    pub(super) fn finish(self) -> SessionResult {
        self.builder.finish()
    }

    /// Fills in the facts of the document.
    pub(super) fn describe(&mut self, model: Option<&str>, instance: Option<&str>) {
        self.model = model.map(Symbol::new);
        let session = &mut self.builder.session;
        session.model.clone_from(&self.model);
        session.labels.extend(instance.map(|instance| format!("instance_id={instance}")));
    }

    /// Begins an attempt, with its `history`.
    pub(super) fn begin(&mut self, history: Vec<Message<'a>>) {
        let is_own = |message: &Message<'_>| !message.is_demo.is_true();
        for prompt in history.iter().filter(|message| message.role.as_str() == "system") {
            self.builder.instructions(&text_of(prompt.content));
        }
        let task = history.iter().find(|message| message.role.as_str() == "user" && is_own(message));
        if let Some(task) = task {
            let identity = Identity::Session("task".into());
            self.builder.prompt_as(identity, Some(&text_of(task.content)));
        }
        let is_answer = |message: &Message<'_>| message.role.as_str() == "assistant" && is_own(message);
        self.answers = history.into_iter().filter(is_answer).collect();
        self.next_answer = 0;
        self.builder.forget_calls();
    }

    /// Adds an entry of the trajectory: a response, and the command that it asked for.
    pub(super) fn step(&mut self, raw: Raw<'_>, line: i64) {
        let step: Step<'_> = raw.read();
        let action = step.action.text();
        let action = action.trim();
        // SWE-agent itself ended the run, without a response of the model.
        let is_exit = action.starts_with("exit_") && action != "exit_forfeit";
        if is_exit || action.is_empty() && step.response.some().is_none() {
            return;
        }
        let index = self.steps;
        self.steps += 1;
        let turn = self.builder.turn(Identity::Session(format!("#{index}").into()), line);
        self.builder.session.turns[turn].model.clone_from(&self.model);
        self.builder.set_answer(step.response.as_str());
        let state = step.state.text();
        let state: State<'_> = Raw(state.as_bytes()).read();
        if self.builder.session.cwd.is_none() {
            self.builder.session.cwd = state.working_dir.owned();
        }
        if action.is_empty() {
            return;
        }
        let call = self.call(index, &step, action, &state, line);
        let text = step.observation.text();
        let head = text.get(..text.floor_char_boundary(400)).unwrap_or_default();
        let is_error = FAILURES.iter().any(|words| head.contains(words));
        if !step.observation.is_empty() {
            self.builder.result(call, step.observation, None, CallStatus::from_error(is_error));
        }
        let row = &mut self.builder.session.tool_calls[call];
        row.turn = Some(turn);
        row.duration_ms = Number(step.execution_time.0.map(|seconds| seconds * 1000.0)).rounded().into();
    }

    fn call(&mut self, index: usize, step: &Step<'_>, action: &str, state: &State<'_>, line: i64) -> usize {
        let made = self.tool_call(action);
        let command = action.split_whitespace().next().unwrap_or_default();
        let known = COMMANDS.iter().find(|(name, _)| *name == command);
        let (id, tool) = match &made {
            Some(call) => (call.id.as_str(), call.function.name.as_str()),
            None => ("", known.map_or("bash", |(name, _)| *name)),
        };
        let id = if id.is_empty() || self.builder.call_index(id).is_some() { &format!("#{index}") } else { id };
        let at = At { line, time: None };
        let call = self.builder.call(id, tool, at);
        let Some((name, category)) = known else {
            self.builder.command(call, step.action, action);
            return call;
        };
        let mut category = *category;
        let mut words = action.split_whitespace().skip(1);
        let mut first = words.next();
        if *name == "str_replace_editor" {
            // Its first argument is what it does, the second is the file.
            category = match first {
                Some("view") => "read",
                Some("create") => "write",
                _ => "edit",
            };
            first = words.next();
        }
        let row = &mut self.builder.session.tool_calls[call];
        row.category = category.into();
        row.args_bytes = step.action.len().into();
        // `edit 10:12` and its relatives change the file that is open.
        let is_path = |word: &&str| !word.is_empty() && !word.starts_with(|first: char| first.is_ascii_digit());
        let named = first.filter(is_path).map(|word| word.trim_matches(['"', '\'']).to_owned());
        let open = || state.open_file.some().filter(|file| *file != "n/a").map(str::to_owned);
        let path = match category {
            "edit" if *name != "str_replace_editor" => open(),
            "read" => named.or_else(open),
            _ => named,
        };
        row.target = path.as_deref().filter(|_| category != "other").map(Into::into);
        let arguments = made.map(|call| call.function.arguments.text().into_owned()).unwrap_or_default();
        let lines = changes::edited_lines(Raw(arguments.as_bytes()));
        if let Some(path) = path {
            match category {
                // The log does not show whether the file was there.
                "write" => {
                    let change = self.builder.change(call, &path, None, None, at);
                    let written: Written<'_> = Raw(arguments.as_bytes()).read();
                    self.builder.sketch(change, written.file_text.some().map(Sketch::of_text));
                }
                "edit" => drop(self.builder.change(call, &path, Some(Operation::Update), lines, at)),
                _ => {}
            }
        }
        call
    }

    /// The tool call of `history` that made an action, if the model made tool calls.
    fn tool_call(&mut self, action: &str) -> Option<ToolCall<'a>> {
        let rest = self.answers.get_mut(self.next_answer..)?;
        let found = rest.iter().position(|answer| answer.action.as_str().trim() == action)?;
        self.next_answer += found + 1;
        rest.get_mut(found)?.tool_calls.take()?.into_iter().next()
    }

    /// Adds the sums and the outcome. `stats` are those of the document, or of its attempts.
    pub(super) fn end(&mut self, info: &Info<'_>, stats: &[ModelStats], line: i64, damage: &mut RecordErrors) {
        let counts: Vec<_> = stats.iter().flat_map(|it| [it.tokens_sent, it.tokens_received, it.api_calls]).collect();
        damage.note_impossible(&counts);
        let mut tokens = Tokens::UNKNOWN;
        let (mut cost, mut requests) = (None, None);
        for it in stats {
            tokens.input = add(tokens.input, it.tokens_sent.get());
            tokens.output = add(tokens.output, it.tokens_received.get());
            cost = add_money(cost, money(it.instance_cost, damage));
            requests = add(requests, it.api_calls.get());
        }
        // A replay sends no requests.
        let is_replay = tokens.is_all_zero();
        if is_replay {
            tokens = Tokens::UNKNOWN;
        }
        let cost = cost.filter(|cost| *cost > 0.0);
        if tokens.total().is_some() || cost.is_some() {
            self.builder.session.totals.push(Total {
                line,
                key: "model_stats".to_owned(),
                cost,
                models: vec![ModelTotal { model: self.model.clone(), tokens, cost, ..ModelTotal::default() }],
                covers_subagents: true,
                ..Total::default()
            });
        }
        let status = info.exit_status.as_str();
        self.builder.session.stop_reason = info.exit_status.owned();
        match status {
            // Killed between two steps.
            "" => {}
            "submitted" => self.builder.succeed(),
            _ => {
                // After a failure, what was done so far is submitted: `submitted (exit_cost)`.
                let reason = status.trim_start_matches("submitted").trim_matches([' ', '(', ')']);
                let kind = match reason {
                    "exit_cost" => ErrorKind::Budget,
                    "exit_context" => ErrorKind::ContextOverflow,
                    "exit_command_timeout" | "exit_total_execution_time" => ErrorKind::Timeout,
                    _ => errors::classify(None, reason),
                };
                self.builder.fail_as(kind, status);
                let event = self.builder.event(EventKind::Error, At { line, time: None });
                event.key = Some("exit".into());
                event.code = Some(reason.into());
            }
        }
    }
}

/// A string, or the first text of blocks.
fn text_of(content: Raw<'_>) -> String {
    if content.is_list() {
        let blocks: Vec<TextBlock<'_>> = content.read();
        return blocks.iter().find_map(|block| block.text.owned()).unwrap_or_default();
    }
    content.text().into_owned()
}
