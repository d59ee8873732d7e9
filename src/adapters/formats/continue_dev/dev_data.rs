//! The tokens that Continue's extension generated: `dev_data/**/tokensGenerated.jsonl`, formerly `tokens_generated.jsonl`, and
//! `dev_data/devdata.sqlite` (docs/formats/continue_dev.md#continue-dev-data).
//!
//! Both contain the same requests, without the sessions, so that all rows of a directory are one session: its id is a hash of the
//! first row, which is the same in both. The counts are those of the extension's own tokenizer, whatever the provider reports
//! (`BaseLLM._logEnd`), and exclude reasoning. Requests for completions while typing are among them.
//!
//! # `continue-dev-data`
//!
//! Continue's `~/.continue/dev_data/**/tokensGenerated.jsonl` (before 2025 `tokens_generated.jsonl`) and `devdata.sqlite`. Recognised
//! by `promptTokens`, `generatedTokens`, `model` and `provider`; the table by `tokens_generated` and `tokens_prompt`. Other files of
//! the directory are `auxiliary`. Seen: 3 directories, whose databases repeat the lines (41, 10 and 56 of the same).
//!
//! | what | from |
//! | --- | --- |
//! | session | a hash of the first request, the same in the lines and in the database: all requests of a directory are one session, as no row names one |
//! | turn | each row: `model`, `provider`, `timestamp` (the older lines have none); the identity is model, counts, and the ordinal among equal rows |
//! | tokens | `promptTokens` (`tokens_prompt`), `generatedTokens` (`tokens_generated`) |
//! | version | `userAgent` |
//!
//! *Estimate*: the extension counts with its own tokenizer even if the provider reports usage (source: `BaseLLM._logEnd`), and
//! leaves out reasoning; cached tokens are not distinguished. *Unknown*: how a session ended.

use foldhash::{HashMap, HashMapExt as _, HashSet, HashSetExt as _};
use serde::Deserialize;

use crate::adapters::engine::{Adapter, Context, Fold, Probe, RecordErrors, RecordKind, fold};
use crate::adapters::shared::builder::Builder;
use crate::adapters::shared::ids::hashed_id;
use crate::json::fields::{Count, Text, When};
use crate::json::lines::Line;
use crate::model::places::Place;
use crate::model::session::{Capabilities, Identity, SessionResult, Status, Tokens};
use crate::model::sqlite_schema::Table;

pub(crate) const ADAPTER: Adapter = Adapter {
    id: "continue-dev-data",
    runtime: "continue",
    about: "Continue, generated tokens in ~/.continue/dev_data",
    tested: Some("1.2.16"),
    capabilities: Capabilities::TURNS.and(Capabilities::KEPT_BY_RUNTIME),
    places: &[Place::variable("CONTINUE_GLOBAL_DIR", ".continue", "dev_data")],
    claims: |probe| {
        let is_row = probe.text("table") == "tokens_generated" && probe.has("tokens_prompt");
        let is_record = probe.has_all(&["promptTokens", "generatedTokens", "model", "provider"]);
        5 * u32::from(is_row || is_record)
    },
    parse: fold::<Requests>,
};

pub(crate) const TOKENS: Table = Table {
    name: "tokens_generated",
    key: "id",
    needs: &["model", "provider", "tokens_generated", "tokens_prompt"],
    columns: &["model", "provider", "tokens_generated", "tokens_prompt", "timestamp"],
    order: "id",
    ..Table::PLAIN
};

/// Whether a record is one of the other files in `dev_data`, which repeat parts of sessions.
pub(crate) fn is_auxiliary(probe: &Probe<'_>) -> bool {
    probe.has_all(&["eventName", "schema", "selectedProfileId"])
        || probe.has_all(&["modelTitle", "prompt", "completion"])
}

/// A line, or a row of the database.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Record<'a> {
    model: Text<'a>,
    provider: Text<'a>,
    timestamp: When,
    /// The editor, and `Continue/` with the version.
    #[serde(rename = "userAgent")]
    user_agent: Text<'a>,
    #[serde(rename = "promptTokens", alias = "tokens_prompt")]
    prompt_tokens: Count,
    #[serde(rename = "generatedTokens", alias = "tokens_generated")]
    generated_tokens: Count,
}

struct Requests {
    context: Context,
    builder: Option<Builder>,
    /// How often each request was seen: requests with the same counts have their ordinal as a part of their identity.
    seen: HashMap<String, usize>,
    /// Records with a time, or of the database: the same one again is a copy.
    records: HashSet<String>,
    /// The requests without a time, in their order.
    untimed: Vec<String>,
}

impl Fold for Requests {
    type Record<'a> = Record<'a>;

    fn new(context: &Context) -> Self {
        Self {
            context: context.clone(),
            builder: None,
            seen: HashMap::new(),
            records: HashSet::new(),
            untimed: Vec::new(),
        }
    }

    fn record(&mut self, line: Line<'_>, record: Record<'_>, damage: &mut RecordErrors) -> RecordKind {
        if record.prompt_tokens == Count::Unknown && record.generated_tokens == Count::Unknown {
            return RecordKind::Unknown;
        }
        damage.note_impossible(&[record.prompt_tokens, record.generated_tokens]);
        let tokens =
            Tokens { input: record.prompt_tokens.get(), output: record.generated_tokens.get(), ..Tokens::UNKNOWN };
        let name = format!("{} {:?} {:?}", record.model.as_str(), tokens.input, tokens.output);
        if record.timestamp.0.is_none() {
            self.untimed.push(name.clone());
        } else if !self.records.insert(hashed_id(line.bytes)) {
            return RecordKind::Known;
        }
        let context = &self.context;
        let builder = self.builder.get_or_insert_with(|| {
            let id = hashed_id(format!("{name} {}", record.provider.as_str()).as_bytes());
            Builder::new(context, id, line.number)
        });
        let count = self.seen.entry(name.clone()).or_default();
        *count += 1;
        builder.extend_to(record.timestamp.0);
        let index = builder.turn(Identity::Session(format!("{name} {count}").into()), line.number);
        let turn = &mut builder.session.turns[index];
        turn.model = record.model.owned();
        turn.provider = record.provider.owned();
        turn.occurred_at = record.timestamp.0;
        if !tokens.is_all_zero() {
            turn.tokens = tokens.into();
        }
        let session = &mut builder.session;
        session.is_estimated = true;
        // Rows are added for as long as the extension is used.
        session.status = Status::Unknown;
        let version = record.user_agent.as_str().split_once("Continue/").map(|(_, version)| version);
        let version = version.map(|version| version.trim_end_matches(')').to_owned());
        session.runtime_version = version.or_else(|| session.runtime_version.take());
        RecordKind::Known
    }

    fn finish(mut self) -> Vec<SessionResult> {
        let (first, second) = self.untimed.split_at(self.untimed.len() / 2);
        let is_twice = first == second && first.iter().any(|name| Some(name) != first.first());
        if let Some(builder) = self.builder.as_mut().filter(|_| is_twice && self.records.is_empty()) {
            // The lines were appended to themselves.
            let mut number = 0;
            builder.session.turns.retain(|_| {
                number += 1;
                number <= first.len()
            });
        }
        self.builder.map(Builder::finish).into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::adapters::engine::Hints;
    use crate::adapters::parse;
    use crate::adapters::shared::builder::Retention;

    /// A line and a row of the database are the same request.
    #[test]
    fn the_database_repeats_the_lines() {
        let lines = r#"{"model":"m","provider":"p","promptTokens":9,"generatedTokens":2}
{"model":"m","provider":"p","promptTokens":9,"generatedTokens":2}"#;
        let rows = r#"{"table":"tokens_generated","id":1,"model":"m","provider":"p","tokens_generated":2,"tokens_prompt":9,"timestamp":"2026-02-01 08:00:00"}
{"table":"tokens_generated","id":2,"model":"m","provider":"p","tokens_generated":2,"tokens_prompt":9,"timestamp":"2026-02-01 08:00:09"}"#;
        let read = |log: &str| parse(log.as_bytes(), Hints::default(), Retention::None).sessions.remove(0);
        let (lines, rows) = (read(lines), read(rows));
        assert_eq!(lines.session_id, rows.session_id);
        let names = |session: &crate::model::session::SessionResult| {
            session.turns.iter().map(|turn| turn.identity.clone()).collect::<Vec<_>>()
        };
        assert_eq!((names(&lines).len(), names(&lines)), (2, names(&rows)));
        assert!(names(&lines)[0] != names(&lines)[1] && rows.turns[1].occurred_at.is_some());
    }
}
