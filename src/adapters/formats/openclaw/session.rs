//! Sessions of openclaw: its session files, which are pi's with rows of its own, since 2026.8.1 its database
//! `agents/NAME/agent/openclaw-agent.sqlite`, and its index `sessions.json` (docs/formats/openclaw.md#openclaw-session).
//!
//! A row of `transcript_events` contains one entry of a session file. The files of before stay as archives and may repeat rows: the
//! identities of responses are equal in both.
//!
//! openclaw can run another agent's CLI for a turn. Its own session then has one message with the sum of what that CLI logs response
//! by response, and the index names the CLI's session (`cliSessionBindings`, in older versions `cliSessionIds` and
//! `claudeCliSessionId`). The ledger leaves the tokens to the CLI's own log, if that is present.
//!
//! # `openclaw-session`
//!
//! `~/.openclaw/agents/NAME/sessions/ID.jsonl` with `.reset.*`, `.deleted.*`, `.bak-*` and checkpoint siblings: pi's files,
//! version 3. Recognised as pi's, and by a `customType` that begins with `openclaw` or is `model-snapshot`, the provider `openclaw`, a
//! `cwd` under `.openclaw`, or its directory. Seen: 130 sessions.
//!
//! Read as `pi-session`, with these differences: rows of the provider `openclaw` (`delivery-mirror`, `gateway-injected`) are copies
//! for delivery and are skipped (20 seen); `openclaw:prompt-error` is an error; the id of a file without its header is in the
//! file's name; a call whose `details.status` is `error`, `failed` or `forbidden` is an `error`, although `isError` is `false` (99 of
//! 798 results). With `approval-pending` or `approval-unavailable` the command did not run and the call is `denied` (4 of 4), unless
//! the call has another result, or a later message contains `Exec finished (…)` with the `approvalId`: then the code there decides
//! (*source*). Siblings are read as parts of the session: entries in several of them count once (1,121 of 1,795 messages were in
//! several files); a prompt counts as typed unless `provenance.kind` is `internal_system` or `inter_session`, or, without it, unless
//! its text, after lines that begin with `System:` or `System (untrusted):`, begins as those of openclaw: "Read HEARTBEAT.md if it
//! exists", `[OpenClaw `, `[cron:`, "Pre-compaction memory flush.", `[Subagent Context]`, `[Inter-session message]`,
//! `<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>`, "A scheduled reminder has been triggered.", "An async command"
//! (1,452 of 2,018 prompts of public logs). *Exact*; usage whose counts are all 0 is unknown (1,182 responses of one series of retries).
//!
//! Since 2026.8.1 the entries are rows of `agents/NAME/agent/openclaw-agent.sqlite`: table `transcript_events`, one entry as JSON in
//! each row (`event_json`, or compressed in `event_zstd`), by `session_id` and `seq`. The files of before are archives and repeat
//! rows.
//! The tables `session_entries`, later `session_nodes`, are the index `sessions.json` of before. The parent of a session is that of its
//! header, else the current session of the key `spawned_by` of its node (or `spawnedBy` of `entry_json`), else `fork_source_session_id`,
//! else the current session of `parent_session_key`. Keys are those of the same database. Not read: `spawnedBy` in the index
//! `sessions.json`.
//!
//! Rows of old sessions can be moved to cold storage (since 2026.9.6, opt-in): `cold/SHA256.jsonl.zst` next to the sessions, with a
//! record `header` and an `event` for each row (`row.event_json`), or the same in `session_transcript_cold_archives.archive_blob`.
//! `session_transcript_archives.archive_blob` contains the lines of session files that were reset or deleted and are not written
//! yet. A row whose archive is a file adds nothing: the session is read if the file is.
//!
//! A turn can be run by another agent's CLI (Claude Code, Codex). The session then has one message with the sum of the run, whose
//! provider is that of the CLI (`claude-cli`), and the index names the CLI's own session: `cliSessionBindings`, `cliSessionIds`,
//! `claudeCliSessionId`. An index with such names is read, any other is `auxiliary`. The tokens of these turns count in the CLI's
//! log, if
//! that is present ([programs that run another agent](accounting.md#programs-that-run-another-agent)). From openclaw's source: no
//! recorded database was at hand.

mod parents;
mod records;

use std::collections::BTreeMap;

use self::parents::Parents;
use self::records::{Cold, Entry, Row};
use crate::adapters::engine::{Adapter, Context, Fold, Probe, RecordErrors, RecordKind, fold};
use crate::adapters::formats::pi::common::SHOWS;
use crate::adapters::formats::pi::session;
use crate::adapters::formats::pi::session::{Log, is_entry};
use crate::adapters::shared::builder::Builder;
use crate::base::text::Symbol;
use crate::json::fields::Pairs;
use crate::json::lines::Line;
use crate::json::{self, Raw};
use crate::model::health::Reason;
use crate::model::places::Place;
use crate::model::session::{Capabilities, SessionResult, Status};
use crate::model::sqlite_schema::Table;
use foldhash::{HashSet, HashSetExt as _};

pub(crate) const ADAPTER: Adapter = Adapter {
    id: "openclaw-session",
    runtime: "openclaw",
    about: "openclaw, session files under ~/.openclaw/agents, with their .reset, .deleted, .bak and checkpoint siblings",
    tested: Some("2026.9.2"),
    capabilities: SHOWS.and(Capabilities::KEPT_BY_RUNTIME),
    places: &[
        Place::variable("OPENCLAW_STATE_DIR", ".openclaw", "agents"),
        Place::home(".clawdbot/agents"),
        Place::home(".moltbot/agents"),
    ],
    claims,
    parse: fold::<Openclaw>,
};

/// The entries of all sessions.
pub(crate) const EVENTS: Table = Table {
    name: "transcript_events",
    key: "session_id",
    needs: &["seq", "event_json", "created_at"],
    columns: &["seq", "event_json", "event_zstd"],
    json: &["event_json", "event_zstd"],
    order: "session_id, seq",
    ..Table::PLAIN
};

/// The index: in older versions of the database, and in newer ones.
pub(crate) const ENTRIES: Table = Table {
    name: "session_entries",
    key: "session_key",
    needs: &["session_id", "entry_json"],
    columns: &["session_id", "entry_json"],
    json: &["entry_json"],
    order: "session_key",
    ..Table::PLAIN
};

pub(crate) const NODES: Table = Table {
    name: "session_nodes",
    needs: &["current_session_id", "entry_json"],
    columns: &["current_session_id", "entry_json", "spawned_by", "parent_session_key", "fork_source_session_id"],
    ..ENTRIES
};

/// Sessions in cold storage, of which those with `archive_blob` are in the database.
pub(crate) const COLD_ARCHIVES: Table = Table {
    name: "session_transcript_cold_archives",
    needs: &["generation", "archive_name", "archive_blob"],
    columns: &["archive_blob"],
    json: &["archive_blob"],
    order: "session_id, generation",
    ..EVENTS
};

/// Session files that were reset or deleted and are not written yet.
pub(crate) const ARCHIVES: Table = Table { name: "session_transcript_archives", ..COLD_ARCHIVES };

/// More than the sum of pi's claims over all records that are checked.
const DECISIVE: u32 = 100;

/// The kind of an entry that only openclaw writes, at the start of a session.
const MODEL_SNAPSHOT: &str = "model-snapshot";

fn claims(probe: &Probe<'_>) -> u32 {
    if !is_entry(probe) {
        return DECISIVE * u32::from(is_row(probe) || is_cold(probe) || names_other_sessions(probe));
    }
    let own_kind = probe.text("customType");
    let is_own = own_kind.starts_with("openclaw")
        || own_kind == MODEL_SNAPSHOT
        || probe.object("message").text("provider") == "openclaw"
        || probe.text("cwd").replace('\\', "/").contains("/.openclaw")
        || is_in_its_directory(probe.path());
    if is_own { DECISIVE } else { 1 }
}

/// openclaw keeps sessions in `agents/NAME/sessions/ID.jsonl`: a file without its first records is recognised by its directory.
fn is_in_its_directory(path: &str) -> bool {
    let mut directories = path.as_bytes().rsplit(|it| matches!(it, b'/' | b'\\')).skip(1);
    directories.next() == Some(b"sessions") && directories.nth(1) == Some(b"agents")
}

fn is_row(probe: &Probe<'_>) -> bool {
    match probe.text("table").as_ref() {
        "transcript_events" => probe.has_all(&["session_id", "seq", "event_json"]),
        "session_entries" | "session_nodes" => probe.has_all(&["session_key", "entry_json"]),
        "session_transcript_cold_archives" | "session_transcript_archives" => {
            probe.has_all(&["session_id", "archive_blob"])
        }
        _ => false,
    }
}

/// Whether a record is one of cold storage.
fn is_cold(probe: &Probe<'_>) -> bool {
    match probe.text("kind").as_ref() {
        "header" => probe.has_all(&["version", "sessionId", "generation"]),
        "event" => probe.object("row").has_all(&["seq", "event_json"]),
        _ => false,
    }
}

/// Whether a document is an index that names sessions of other programs. An index without them adds nothing.
fn names_other_sessions(probe: &Probe<'_>) -> bool {
    let names = |raw: Raw<'_>| ["cliSession", "CliSessionId"].iter().any(|key| raw.contains(key));
    is_index(probe) && probe.pairs().any(|(_, raw)| names(*raw))
}

/// Whether a document is the index `sessions.json`: entries by their keys.
pub(crate) fn is_index(document: &Probe<'_>) -> bool {
    document.is_map_of(&["sessionId"])
}

/// How a row of a database begins, and how a record of cold storage does.
const ROW: &[u8] = b"{\"table\":";
const COLD: &[u8] = b"{\"kind\":";

/// The entries of sessions, and what the index states of each.
pub(crate) struct Openclaw {
    log: Log,
    /// By session id: the line, and the sessions of other programs.
    index: BTreeMap<String, (i64, Vec<(Symbol, String)>)>,
    parents: Parents,
    /// The session of the records of cold storage.
    cold: Option<String>,
    /// The sessions that were returned before the end of the log.
    closed: HashSet<String>,
}

impl Fold for Openclaw {
    type Record<'a> = session::Record<'a>;

    fn new(context: &Context) -> Self {
        Self {
            log: Log::new(context),
            index: BTreeMap::new(),
            parents: Parents::default(),
            cold: None,
            closed: HashSet::new(),
        }
    }

    fn line(&mut self, line: Line<'_>, damage: &mut RecordErrors) -> Result<RecordKind, json::Error> {
        if line.bytes.starts_with(ROW) {
            return json::from_slice(line.bytes).map(|row| self.row(&row, line, damage));
        }
        if line.bytes.starts_with(COLD) {
            return json::from_slice(line.bytes).map(|cold| self.cold_record(&cold, line, damage));
        }
        let mut record = session::Record::default();
        json::read_into(line.bytes, &mut record)?;
        Ok(self.entry(line, &record, damage))
    }

    fn record(&mut self, line: Line<'_>, record: Self::Record<'_>, damage: &mut RecordErrors) -> RecordKind {
        if line.bytes.starts_with(ROW) {
            return self.row(&Raw(line.bytes).read(), line, damage);
        }
        if line.bytes.starts_with(COLD) {
            return self.cold_record(&Raw(line.bytes).read(), line, damage);
        }
        self.entry(line, &record, damage)
    }

    fn close_idle(&mut self, line: i64, keep_open: &HashSet<String>) -> Vec<SessionResult> {
        let sessions = self.log.close_idle(line, keep_open);
        self.closed.extend(sessions.iter().map(|session| session.session_id.clone()));
        sessions
    }

    fn closed_too_early(&self) -> HashSet<String> {
        self.log.closed_too_early()
    }

    fn finish(self) -> Vec<SessionResult> {
        let context = self.log.context.clone();
        let named = self.index.into_iter().map(|(id, (line, delegates))| {
            let session = Builder::new(&context, id, line).finish();
            SessionResult { delegates, status: Status::Unknown, ..session }
        });
        let mut parents = self.parents.by_session();
        let mut sessions = self.log.finish();
        for session in &mut sessions {
            if let Some((_, parent)) = parents.remove(&session.session_id) {
                session.parent_session_id.get_or_insert(parent);
            }
        }
        let of_closed = parents.into_iter().filter(|(id, _)| self.closed.contains(id)).map(|(id, (line, parent))| {
            let session = Builder::new(&context, id, line).finish();
            SessionResult { parent_session_id: Some(parent), status: Status::Unknown, ..session }
        });
        sessions.into_iter().chain(named).chain(of_closed).collect()
    }
}

impl Openclaw {
    fn entry(&mut self, line: Line<'_>, record: &session::Record<'_>, damage: &mut RecordErrors) -> RecordKind {
        let is_index = || Probe::new(line.bytes, "").is_some_and(|probe| is_index(&probe));
        if !record.kind.is_some() && is_index() {
            let entries: Pairs<'_, Entry<'_>> = Raw(line.bytes).read();
            entries.0.iter().for_each(|(_, entry)| self.named(entry.session_id.as_str(), entry, line.number));
            return RecordKind::Known;
        }
        // What `openclaw agent --json` prints, with the sums of the responses that follow in the output of a script.
        let is_answer = || Probe::new(line.bytes, "").is_some_and(|probe| probe.has_all(&["payloads", "meta"]));
        if !record.kind.is_some() && is_answer() {
            return RecordKind::Known;
        }
        self.log.see(line, record, damage)
    }

    fn row(&mut self, row: &Row<'_>, line: Line<'_>, damage: &mut RecordErrors) -> RecordKind {
        match row.table.as_str() {
            "transcript_events" => {
                let event = if row.event_json.is_object() { row.event_json } else { row.event_zstd };
                let mut record = session::Record::default();
                if !event.is_object() || json::read_into(event.0, &mut record).is_err() {
                    damage.note(Reason::NotAnObject);
                    return RecordKind::Known;
                }
                self.log.see_of(row.session_id.as_str(), line, &record, damage)
            }
            "session_entries" | "session_nodes" => {
                let entry: Entry<'_> = row.entry_json.read();
                let ids = [&row.session_id, &row.current_session_id, &entry.session_id];
                let id = ids.into_iter().find_map(|id| id.some()).unwrap_or_default();
                self.named(id, &entry, line.number);
                self.parents.add(id, row, &entry, line.number);
                RecordKind::Known
            }
            "session_transcript_cold_archives" | "session_transcript_archives" => {
                self.archive(row, line, damage);
                RecordKind::Known
            }
            _ => RecordKind::Unknown,
        }
    }

    /// Adds the entries of a session that is archived in the database.
    fn archive(&mut self, row: &Row<'_>, line: Line<'_>, damage: &mut RecordErrors) {
        let id = row.session_id.as_str();
        let records: Vec<Raw<'_>> = row.archive_blob.read();
        for raw in records {
            let mut record = session::Record::default();
            if raw.0.starts_with(COLD) {
                self.cold = Some(id.to_owned());
                self.cold_record(&raw.read(), line, damage);
            } else if !raw.is_object() || json::read_into(raw.0, &mut record).is_err() {
                damage.note(Reason::NotAnObject);
            } else {
                self.log.see_of(id, line, &record, damage);
            }
        }
    }

    /// Adds a record of cold storage: an entry of the session that its header names. The others are indexes of the entries.
    fn cold_record(&mut self, cold: &Cold<'_>, line: Line<'_>, damage: &mut RecordErrors) -> RecordKind {
        match cold.kind.as_str() {
            "header" => self.cold = cold.session_id.owned(),
            "event" => {
                let Some(id) = self.cold.as_deref() else { return RecordKind::Unknown };
                let entry = cold.row.event_json.text();
                let mut record = session::Record::default();
                if !entry.starts_with('{') || json::read_into(entry.as_bytes(), &mut record).is_err() {
                    damage.note(Reason::NotAnObject);
                    return RecordKind::Known;
                }
                return self.log.see_of(id, line, &record, damage);
            }
            "identity" | "active" | "index" | "fts" => {}
            _ => return RecordKind::Unknown,
        }
        RecordKind::Known
    }

    /// Keeps the sessions of other programs that an entry of the index names.
    fn named(&mut self, id: &str, entry: &Entry<'_>, line: i64) {
        let delegates = entry.delegates();
        if !id.is_empty() && !delegates.is_empty() {
            self.index.insert(id.to_owned(), (line, delegates));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::engine::Hints;
    use crate::adapters::parse;
    use crate::model::retention::Retention;

    fn read(log: &str) -> Vec<SessionResult> {
        parse(log.as_bytes(), Hints::default(), Retention::None).sessions
    }

    const HEADER: &str = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-10-08T09:00:00Z","cwd":"/work"}"#;
    const ANSWER: &str = r#"{"type":"message","id":"1","timestamp":"2026-10-08T09:00:02Z","message":{"role":"assistant","content":[],"provider":"p","model":"m","usage":{"input":5,"output":9,"cacheRead":2,"cacheWrite":0},"stopReason":"stop","timestamp":1791450002000}}"#;

    /// Its own entries may come long after the first ones, apart from the snapshot of the model. What `openclaw agent --json` prints
    /// repeats the sums, and makes the session no lower bound.
    #[test]
    fn output_of_a_script_with_a_session_is_recognised() {
        let answer =
            r#"{"payloads":[{"text":"Done."}],"meta":{"agentMeta":{"sessionId":"s","usage":{"input":5,"output":9}}}}"#;
        let snapshot = r#"{"type":"custom","customType":"model-snapshot","data":{"provider":"p","modelId":"m"},"id":"0","timestamp":"2026-10-08T09:00:01Z"}"#;
        let parsed = parse([answer, HEADER, snapshot, ANSWER].join("\n").as_bytes(), Hints::default(), Retention::None);
        assert_eq!(
            (parsed.runtime, parsed.sessions.len(), parsed.health.unknown_types.len()),
            (Some("openclaw"), 1, 0)
        );
        assert!(!parsed.sessions[0].under_reports);
    }

    /// A row has its session's id, whether or not the session has a header. Newer versions compress entries.
    #[test]
    fn rows_of_the_database_are_entries() {
        let row = |session: &str, seq: i64, json: &str, zstd: &str| {
            format!(
                r#"{{"table":"transcript_events","session_id":"{session}","seq":{seq},"event_json":{json},"event_zstd":{zstd}}}"#
            )
        };
        let log = [
            row("a", 0, HEADER, "null"),
            row("a", 1, ANSWER, "null"),
            row("b", 0, "null", ANSWER),
            row("b", 1, "\"cut", "null"),
            r#"{"table":"session_nodes","session_key":"agent:main:main","current_session_id":"b","entry_json":{"cliSessionBindings":{"codex-cli":{"sessionId":"c"}}}}"#.to_owned(),
        ];
        let sessions = read(&log.join("\n"));
        let turns: Vec<_> = sessions.iter().map(|it| (it.session_id.as_str(), it.turns.len())).collect();
        assert_eq!(turns, [("a", 1), ("b", 1), ("b", 0)]);
        assert_eq!(sessions[0].turns[0].identity, sessions[1].turns[0].identity);
        let delegates = ["codex-cli", "cli"].map(|provider| (provider.into(), "c".to_owned()));
        assert_eq!(sessions[2].delegates, delegates);
    }

    #[test]
    fn nodes_name_parents_by_their_keys() {
        let node = |key: &str, id: &str, columns: &str| {
            format!(
                r#"{{"table":"session_nodes","session_key":"{key}","current_session_id":"{id}","entry_json":{{}}{columns}}}"#
            )
        };
        let event =
            |id: &str| format!(r#"{{"table":"transcript_events","session_id":"{id}","seq":0,"event_json":{ANSWER}}}"#);
        let log = [
            event("main"),
            event("spawned"),
            event("old"),
            event("forked"),
            event("thread"),
            node("k:main", "main", r#","spawned_by":"k:main","parent_session_key":"k:gone""#),
            node("k:sub", "spawned", r#","spawned_by":"k:main","parent_session_key":"k:thread""#),
            r#"{"table":"session_nodes","session_key":"k:old","current_session_id":"old","entry_json":{"spawnedBy":"k:sub"},"spawned_by":null}"#.to_owned(),
            node("k:fork", "forked", r#","fork_source_session_id":"before","parent_session_key":"k:main""#),
            node("k:thread", "thread", r#","parent_session_key":"k:main""#),
            // Its entries are not here.
            node("k:none", "none", r#","spawned_by":"k:main""#),
        ];
        let parents: Vec<_> =
            read(&log.join("\n")).into_iter().map(|it| (it.session_id, it.parent_session_id)).collect();
        let expected = [
            ("main", None),
            ("spawned", Some("main")),
            ("old", Some("spawned")),
            ("forked", Some("before")),
            ("thread", Some("main")),
        ];
        assert_eq!(parents, expected.map(|(id, parent)| (id.to_owned(), parent.map(str::to_owned))));
    }

    /// The file of a session in cold storage, the same in the database, and a file that was not written yet.
    #[test]
    fn archived_sessions_are_read() {
        let text = |entry: &str| serde_json::Value::from(entry).to_string();
        let event = |entry: &str| {
            format!(r#"{{"kind":"event","row":{{"seq":0,"event_json":{},"created_at":1}}}}"#, text(entry))
        };
        let records = [
            r#"{"kind":"header","version":1,"sessionId":"s","generation":"g"}"#.to_owned(),
            event(HEADER),
            event(ANSWER),
            r#"{"kind":"identity","row":{"event_id":"1","seq":1,"event_type":"message"}}"#.to_owned(),
        ];
        let cold = parse(records.join("\n").as_bytes(), Hints::default(), Retention::None);
        assert_eq!((cold.format, cold.health.unknown_types.len()), (Some("openclaw-session"), 0));
        let in_table = |table: &str, records: &str| {
            read(&format!(r#"{{"table":"{table}","session_id":"s","archive_blob":[{records}]}}"#))
        };
        let in_database = in_table("session_transcript_cold_archives", &records.join(","));
        let unwritten = in_table("session_transcript_archives", &[HEADER, ANSWER].join(","));
        for sessions in [cold.sessions, in_database, unwritten] {
            let [session] = sessions.as_slice() else { panic!("{sessions:?}") };
            assert_eq!(
                (session.session_id.as_str(), session.turns.len(), session.cwd.as_deref()),
                ("s", 1, Some("/work"))
            );
        }
        let file = r#"{"table":"session_transcript_cold_archives","session_id":"s","archive_blob":null}"#;
        assert!(read(file).is_empty());
    }

    /// Entries of openclaw's own, and the size of a context after its compaction.
    #[test]
    fn resets_and_compactions_are_known() {
        let compaction = r#"{"type":"compaction","id":"4","timestamp":"2026-10-08T09:00:06Z","summary":"s","firstKeptEntryId":"1","tokensBefore":900,"tokensAfter":200}"#;
        let log = [
            HEADER,
            ANSWER,
            r#"{"type":"reset","id":"2","timestamp":"2026-10-08T09:00:03Z","reason":"new"}"#,
            r#"{"type":"leaf","id":"3","timestamp":"2026-10-08T09:00:04Z","leafId":"2"}"#,
            compaction,
        ];
        let parsed = parse(log.join("\n").as_bytes(), Hints::default(), Retention::None);
        assert!(parsed.health.unknown_types.is_empty());
        let event = &parsed.sessions[0].events[0];
        assert_eq!((event.tokens_before, event.tokens_after), (Some(900), Some(200)));
    }

    #[test]
    fn the_index_names_sessions_of_other_programs() {
        let index = r#"{"agent:main:main":{"sessionId":"s","cliSessionIds":{"codex-cli":"x","claude-cli":"c"},"claudeCliSessionId":"c"},"agent:main:other":{"sessionId":"t"}}"#;
        let sessions = read(index);
        assert_eq!(sessions.len(), 1);
        let delegates = [("claude-cli".into(), "c".to_owned()), ("codex-cli".into(), "x".to_owned())];
        assert_eq!(sessions[0].delegates, delegates);
        assert!(parse(br#"{"agent:main:main":{"sessionId":"s"}}"#, Hints::default(), Retention::None).format.is_none());
    }
}
