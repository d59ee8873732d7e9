//! Formats that are described by data: plain lists of messages with their usage. The descriptions are those of this program
//! (such as `cline-session`), and those that a user adds to the configuration
//! (docs/configuration.md#formats-of-your-own).

use foldhash::HashSet;

pub use self::description::{
    Calls, Compaction, Description, Facts, IdScope, Outcome, OwnFacts, Results, SessionFrom, TokenPaths,
};
use self::path::Place;
use self::session::Session;
use crate::adapters::engine::api::{Adapter, LoopInput, RecordLoop};
use crate::adapters::engine::document::LineNumbers;
use crate::adapters::engine::probe::Probe;
use crate::adapters::engine::sessions::Sessions;
use crate::adapters::engine::{Context, Fold, RecordErrors, RecordKind, fold, fold_from};
use crate::adapters::shared::ids::{hash_of_document, hashed_id};
use crate::json::Raw;
use crate::json::lines::Line;
use crate::model::session::{Capabilities, SessionResult};

mod description;
mod path;
mod session;

/// A format that a user describes.
#[derive(Debug)]
pub struct UserFormat {
    /// Its adapter.
    pub adapter: Adapter,
    /// Its description.
    pub description: Description,
}

impl UserFormat {
    /// A format of this id, which `runtime` writes.
    pub fn new(id: &'static str, runtime: &'static str, about: &'static str, description: Description) -> Self {
        let capabilities = description.capabilities();
        // The description is not known here: `detect` and `Driver` use it.
        let adapter = Adapter {
            id,
            runtime,
            about,
            tested: None,
            capabilities,
            places: &[],
            claims: |_| 0,
            parse: fold::<Records>,
        };
        Self { adapter, description }
    }
}

/// Starts the record loop of a format with these descriptions.
pub(super) fn start<'a>(
    context: &Context,
    input: LoopInput<'a>,
    descriptions: &'static [Description],
) -> Box<dyn RecordLoop<'a> + 'a> {
    fold_from(Records { descriptions, ..Records::new(context) }, input)
}

/// The records of a log.
struct Records {
    context: Context,
    descriptions: &'static [Description],
    sessions: Sessions<Box<Session>>,
    /// The parts of them that repeat logs in other formats.
    migrated: Vec<Session>,
    /// The session of records that name none.
    current: Option<String>,
}

impl Fold for Records {
    type Record<'a> = Raw<'a>;

    fn new(context: &Context) -> Self {
        Self {
            context: context.clone(),
            descriptions: &[],
            sessions: Sessions::new(),
            migrated: Vec::new(),
            current: None,
        }
    }

    fn record(&mut self, line: Line<'_>, record: Raw<'_>, damage: &mut RecordErrors) -> RecordKind {
        let Some(record) = Probe::new(record.0, "") else { return RecordKind::Unknown };
        let Some(description) = self.descriptions.iter().find(|it| it.matches(&record)) else {
            return RecordKind::Unknown;
        };
        let id = self.session_id(description, &record, line);
        let context = &self.context;
        let new = || Box::new(Session::new(context, &id, line.number, description.lacks));
        let Some(session) = self.sessions.get(&id, line.number, new) else { return RecordKind::Known };
        session.facts(&description.facts, &record, damage);
        if let Some(own_facts) = description.own_facts {
            session.own_facts(own_facts(&record));
        }
        let mut last_line = line.number;
        if description.records.is_empty() {
            session.record(description, None, &record, line.number, damage);
        } else {
            let mut line_numbers = LineNumbers::new(line);
            let records = Place::of(&record).list(description.records);
            let migrated_count = description.migrated.map_or(0, |count| count(&records));
            let mut migrated =
                (migrated_count > 0).then(|| Session::migrated(context, &id, line.number, description.lacks));
            for (index, raw) in records.into_iter().enumerate() {
                let number = line_numbers.line_of(raw);
                let Some(inner) = Probe::new(raw.0, "") else { continue };
                match migrated.as_mut().filter(|_| index < migrated_count) {
                    Some(migrated) => migrated.record(description, Some(&record), &inner, number, damage),
                    None => session.record(description, Some(&record), &inner, number, damage),
                }
                last_line = number;
            }
            self.migrated.extend(migrated);
        }
        session.totals(description, &record, last_line, damage);
        self.current = Some(id);
        RecordKind::Known
    }

    fn close_idle(&mut self, line: i64, keep_open: &HashSet<String>) -> Vec<SessionResult> {
        self.sessions.close_idle(line, keep_open, |session| session.finish())
    }

    fn closed_too_early(&self) -> HashSet<String> {
        self.sessions.closed_too_early()
    }

    fn finish(self) -> Vec<SessionResult> {
        let mut sessions = self.sessions.finish(|session| session.finish());
        sessions.extend(self.migrated.into_iter().map(Session::finish));
        sessions
    }
}

impl Records {
    /// The id of a record's session: its own, else that of the records before, else from the path, else a hash.
    fn session_id(&self, description: &Description, record: &Probe<'_>, line: Line<'_>) -> String {
        let own = match description.session_from {
            SessionFrom::Hash => {
                let value = Place::of(record).raw(description.session);
                let directory = self.context.directories.first().map_or("", String::as_str);
                let hashed = || hashed_id(format!("{directory}\n{:016x}", hash_of_document(value.0)).as_bytes());
                (!value.is_empty() || self.current.is_none()).then(|| hashed().into())
            }
            _ => Place::of(record).text(description.session),
        };
        let from_path = || match description.session_from {
            SessionFrom::Record | SessionFrom::Hash => None,
            SessionFrom::File => self.context.file_name.clone(),
            SessionFrom::Directory => self.context.directories.first().cloned(),
        };
        let own = own.map(std::borrow::Cow::into_owned);
        own.or_else(|| self.current.clone()).or_else(from_path).unwrap_or_else(|| hashed_id(line.bytes))
    }
}

impl Description {
    /// What the format can show.
    pub const fn capabilities(&self) -> Capabilities {
        let mut capabilities = Capabilities::KEPT_BY_RUNTIME;
        let has_usage = !self.tokens.input.is_empty() || !self.tokens.output.is_empty() || !self.cost.is_empty();
        let has_totals = !self.totals.input.is_empty() || !self.totals.output.is_empty() || !self.total_cost.is_empty();
        if has_usage || !has_totals {
            capabilities = capabilities.and(Capabilities::TURNS);
        }
        if self.calls.is_some() {
            capabilities = capabilities.and(Capabilities::TOOL_CALLS);
        }
        if !self.prompts.is_empty() {
            capabilities = capabilities.and(Capabilities::USER_TURNS);
        }
        if self.compaction.is_some() {
            capabilities = capabilities.and(Capabilities::COMPACTIONS);
        }
        capabilities
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::Driver;
    use crate::adapters::engine::{Hints, Parsed};
    use crate::model::retention::Retention;
    use crate::model::session::{CallStatus, Status};

    const LINES: Description = Description {
        equals: &[("kind", "answer")],
        session: "run",
        time: "at",
        model: "model.name",
        tokens: TokenPaths { input: "usage.in", output: "usage.out", cache_read: "usage.cached", ..TokenPaths::NONE },
        input_includes_cache: true,
        output_excludes_reasoning: false,
        cost: "usd",
        ..Description::NOTHING
    };

    fn read(description: &Description, log: &str) -> Parsed {
        let format = UserFormat::new("acme-log", "acme", "", *description);
        let formats: &'static [UserFormat] = Box::leak(Box::new([format]));
        Driver::with_formats(log.as_bytes(), Hints::default(), Retention::Text, formats).parse()
    }

    #[test]
    fn lines_with_usage_are_responses() {
        let answer = r#"{"kind":"answer","run":"r1","at":"2026-10-19T09:00:00Z","model":{"name":"m"},"usage":{"in":10,"out":3,"cached":4},"usd":0.5}"#;
        let other = r#"{"kind":"answer","run":"r2","at":1792400460,"usage":{"in":-1,"out":3}}"#;
        let log = [answer, r#"{"kind":"note"}"#, answer, other].join("\n");
        let parsed = read(&LINES, &log);
        assert_eq!(
            (parsed.format, parsed.health.unknown_records, parsed.health.rejected_lines()),
            (Some("acme-log"), 1, 1)
        );
        let [first, second] = &parsed.sessions[..] else { panic!("{:?}", parsed.sessions) };
        // The same line twice is one response that was written twice.
        assert_eq!((first.session_id.as_str(), first.runtime.as_ref(), first.turns.len()), ("r1", "acme", 1));
        let turn = &first.turns[0];
        assert_eq!(turn.tokens.get().kinds(), [Some(6), Some(3), Some(4), None]);
        assert_eq!((turn.model.as_deref(), turn.cost.as_deref().map(|it| it.total)), (Some("m"), Some(0.5)));
        assert_eq!(second.turns[0].tokens.get().kinds(), [None, Some(3), None, None]);
    }

    #[test]
    fn a_document_contains_messages_with_calls_and_results() {
        const DOCUMENT: Description = Description {
            has: &["chat.messages"],
            records: "chat.messages",
            session: "chat.id",
            facts: Facts { cwd: "chat.dir", ..Facts::NONE },
            role: "role",
            responses: &["assistant"],
            prompts: &["user"],
            message_id: "id",
            model: "^.chat.model",
            text: "content",
            tokens: TokenPaths { input: "usage.input", output: "usage.output", ..TokenPaths::NONE },
            calls: Some(Calls {
                list: "tool_calls",
                id: "id",
                name: "function.name",
                arguments: "function.arguments",
                ..Calls::NONE
            }),
            results: Some(Results {
                roles: &["tool"],
                call: "tool_call_id",
                content: "content",
                error: "failed",
                ..Results::NONE
            }),
            ..Description::NOTHING
        };
        let log = r#"{"chat":{"id":"c1","dir":"/w","model":"m1","messages":[
            {"role":"user","content":"Run the tests."},
            {"role":"assistant","id":"a1","content":"","usage":{"input":5,"output":2},
             "tool_calls":[{"id":"k1","function":{"name":"bash","arguments":"{\"command\":\"cargo test\"}"}}]},
            {"role":"tool","tool_call_id":"k1","content":"2 failed","failed":true},
            {"role":"assistant","id":"a2","content":[{"type":"text","text":"They fail."}],"usage":{"input":9,"output":4}}]}}"#;
        let session = read(&DOCUMENT, log).sessions.swap_remove(0);
        assert_eq!((session.session_id.as_str(), session.cwd.as_deref()), ("c1", Some("/w")));
        assert_eq!((session.turns.len(), session.turns[1].model.as_deref()), (2, Some("m1")));
        let call = &session.tool_calls[0];
        assert_eq!((call.status, call.target.as_deref(), call.turn), (CallStatus::Error, Some("cargo"), Some(0)));
        assert_eq!((session.prompts.len(), session.prompt.as_deref()), (1, Some("Run the tests.")));
        assert_eq!((session.status, session.text.as_deref()), (Status::Success, Some("They fail.")));
        assert_eq!((session.line, session.turns[1].line), (1, 6));
    }
}
