//! Aider's analytics log: events of all processes of a machine, without ids of processes.
//!
//! A process begins with `launched`, and is a session from its `cli session` or `gui session`. Processes that run at the same time
//! write to one file: a message belongs to the process whose running cost, with the cost of the message, is its `total_cost`.
//! `exit` ends the process that was launched last. The prompt includes cached tokens, which are not logged.
//!
//! # `aider-analytics`
//!
//! The file of `aider --analytics-log`. Recognised by `event` (an event of Aider), `properties`, `user_id` and `time`. Seen: one
//! file with 1000 events.
//!
//! | what | from |
//! | --- | --- |
//! | session | a hash of a `cli session` or `gui session`. Processes without one (`aider --version`) are no sessions |
//! | turn | `message_send`: `main_model` (unknown if `REDACTED`), `prompt_tokens`, `completion_tokens`, `cost` |
//! | which session | several processes write at the same time: the one whose running cost and this `cost` sum to `total_cost`, else the last one |
//! | status | `exit` ends the process that was launched last: `success` if a message is last, else `incomplete` |
//!
//! *Exact*, but the prompt includes cached tokens, which are not logged; those that are written to a cache twice since 0.86.2 (see
//! `aider-chat`).

use serde::Deserialize;

use crate::adapters::engine::{Adapter, Context, Fold, RecordErrors, RecordKind, fold};
use crate::adapters::shared::builder::{Builder, Last, money};
use crate::adapters::shared::ids::hashed_id;
use crate::json::fields::{Count, Number, Text, When};
use crate::json::lines::Line;
use crate::model::health::Reason;
use crate::model::session::{Capabilities, Cost, Identity, SessionResult, Tokens};

pub(crate) const ANALYTICS: Adapter = Adapter {
    id: "aider-analytics",
    runtime: "aider",
    about: "Aider with --analytics-log",
    tested: None,
    capabilities: Capabilities::TURNS.and(Capabilities::KEPT_BY_RUNTIME),
    places: &[],
    claims: |probe| {
        let has_members = probe.has_all(&["event", "properties", "user_id", "time"]);
        4 * u32::from(has_members && is_event(&probe.text("event")))
    },
    parse: fold::<Log>,
};

/// Whether the name is that of an event of Aider.
pub(super) fn is_event(name: &str) -> bool {
    const NAMES: [&str; 12] = [
        "launched",
        "exit",
        "repo",
        "no-repo",
        "auto_commits",
        "model warning",
        "cli session",
        "gui session",
        "message_send_starting",
        "message_send",
        "message_send_exception",
        "copy-paste mode",
    ];
    NAMES.contains(&name) || name.starts_with("command_")
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Record<'a> {
    event: Text<'a>,
    properties: Properties<'a>,
    time: When,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Properties<'a> {
    main_model: Text<'a>,
    prompt_tokens: Count,
    completion_tokens: Count,
    cost: Number,
    total_cost: Number,
}

/// A process with a session.
struct Process {
    builder: Builder,
    /// The sum of the costs of its messages.
    cost: f64,
    has_ended: bool,
    last: Last,
}

/// A log while it is read.
pub(crate) struct Log {
    context: Context,
    processes: Vec<Process>,
    /// The processes that were launched and did not exit, each with its index in `processes` if it has a session.
    running: Vec<Option<usize>>,
}

impl Fold for Log {
    type Record<'a> = Record<'a>;

    fn new(context: &Context) -> Self {
        Self { context: context.clone(), processes: Vec::new(), running: Vec::new() }
    }

    fn record(&mut self, line: Line<'_>, record: Record<'_>, damage: &mut RecordErrors) -> RecordKind {
        let event = record.event.as_str();
        if !is_event(event) {
            return RecordKind::Unknown;
        }
        match event {
            "launched" => self.running.push(None),
            "cli session" | "gui session" => {
                let index = self.begin(line, &record);
                match self.running.iter_mut().rev().find(|process| process.is_none()) {
                    Some(process) => *process = Some(index),
                    None => self.running.push(Some(index)),
                }
            }
            "exit" => {
                let process = self.running.pop().flatten().and_then(|index| self.processes.get_mut(index));
                if let Some(process) = process {
                    process.builder.extend_to(record.time.0);
                    process.has_ended = true;
                }
            }
            "message_send" => self.message(line, &record, damage),
            _ => {
                let current = self.running.iter().rev().copied().flatten().next();
                if let Some(process) = current.and_then(|index| self.processes.get_mut(index)) {
                    process.builder.extend_to(record.time.0);
                    if event == "message_send_starting" {
                        process.last = Last::Work;
                    }
                }
            }
        }
        RecordKind::Known
    }

    fn finish(self) -> Vec<SessionResult> {
        let end = |process: Process| {
            let Process { mut builder, has_ended, last, .. } = process;
            builder.end(if has_ended { last } else { Last::Work });
            builder.finish()
        };
        self.processes.into_iter().map(end).collect()
    }
}

impl Log {
    fn begin(&mut self, line: Line<'_>, record: &Record<'_>) -> usize {
        let id = hashed_id(line.bytes);
        // The same event again: the log was appended to itself.
        let known = self.processes.iter_mut().position(|it| it.builder.session.session_id == id);
        if let Some(process) = known.and_then(|index| self.processes.get_mut(index)) {
            (process.cost, process.has_ended, process.last) = (0.0, false, Last::Work);
            return known.unwrap_or_default();
        }
        let mut builder = Builder::new(&self.context, id, line.number);
        builder.extend_to(record.time.0);
        builder.session.model = model_of(record).map(Into::into);
        self.processes.push(Process { builder, cost: 0.0, has_ended: false, last: Last::Work });
        self.processes.len() - 1
    }

    fn message(&mut self, line: Line<'_>, record: &Record<'_>, damage: &mut RecordErrors) {
        let properties = &record.properties;
        damage.note_impossible(&[properties.prompt_tokens, properties.completion_tokens]);
        let tokens = Tokens {
            input: properties.prompt_tokens.get(),
            output: properties.completion_tokens.get(),
            ..Tokens::UNKNOWN
        };
        if tokens.total().is_none() {
            damage.note(Reason::NoUsage);
        }
        let cost = money(properties.cost, damage);
        let total = money(properties.total_cost, damage);
        let before = total.unwrap_or(0.0) - cost.unwrap_or(0.0);
        let fits = |process: &Process| (process.cost - before).abs() < 1e-7;
        let found = self.processes.iter().rposition(|process| !process.has_ended && fits(process));
        let index = found.or_else(|| self.running.iter().rev().copied().flatten().next());
        // The beginning of the log may have been cut.
        let index = index.unwrap_or_else(|| self.begin(line, record));
        let Some(process) = self.processes.get_mut(index) else { return };
        process.cost = total.unwrap_or(process.cost);
        process.last = Last::Answer;
        let builder = &mut process.builder;
        builder.extend_to(record.time.0);
        let time = record.time.0.map(crate::base::time::Time::micros);
        let identity = format!("{time:?} {:?} {:?} {:?}", tokens.input, tokens.output, properties.total_cost.0);
        let turn = builder.turn(Identity::Session(identity.into()), line.number);
        let turn = &mut builder.session.turns[turn];
        turn.model = model_of(record).map(Into::into);
        turn.occurred_at = record.time.0;
        turn.tokens = tokens.unless_all_zero().into();
        turn.cost = cost.map(Cost::of);
    }
}

/// The model, unless Aider withholds its name.
fn model_of<'r>(record: &'r Record<'_>) -> Option<&'r str> {
    record.properties.main_model.some().filter(|model| !matches!(*model, "None" | "REDACTED"))
}
