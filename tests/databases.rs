//! Databases as logs: the samples among them, and what SQLite keeps beside a database.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use agentlogs::adapters::shared::builder::Retention;
use agentlogs::adapters::{self, Hints, TABLES};
use agentlogs::ingest::{self, Options, Progress};
use agentlogs::input::database;
use agentlogs::input::open::{Budget, Limit};
use agentlogs::ledger;
use agentlogs::model::session::SessionResult;
use agentlogs::model::source::{Source, SourceStatus};
use agentlogs::model::tables::{CallRow, SessionRow, TurnRow};
use rusqlite::Connection;

use crate::root;

fn rows(path: &Path) -> String {
    let rows = database::read(Some(path), &[], TABLES, &Budget::new(Limit::Usual, 0)).unwrap();
    assert_eq!(rows.lost, None, "{}", path.display());
    String::from_utf8(rows.text).unwrap()
}

/// Nobody can read a database in a diff: each sample is what its `.sql` makes. `SAMPLES=overwrite` makes it again.
#[test]
fn each_sample_is_what_its_sql_makes() {
    let directory = tempfile::tempdir().unwrap();
    let from = root().join("tests/databases");
    let sources = walkdir::WalkDir::new(&from).into_iter().filter_map(Result::ok).filter(|it| it.file_type().is_file());
    let mut count = 0;
    for sql in sources {
        let below = sql.path().strip_prefix(&from).unwrap().with_extension("db");
        let sample = root().join("sample-logs").join(&below);
        let made = directory.path().join(below.file_name().unwrap());
        let connection = Connection::open(&made).unwrap();
        connection.execute_batch(&fs::read_to_string(sql.path()).unwrap()).unwrap();
        connection.execute_batch("VACUUM").unwrap();
        drop(connection);
        if std::env::var_os("SAMPLES").is_some_and(|it| it == "overwrite") {
            fs::create_dir_all(sample.parent().unwrap()).unwrap();
            fs::copy(&made, &sample).unwrap();
        }
        assert_eq!(rows(&made), rows(&sample), "{}", below.display());
        count += 1;
    }
    let is_sample = |it: &&PathBuf| it.extension().is_some_and(|it| it == "db");
    assert_eq!(crate::samples().iter().filter(is_sample).count(), count);
}

fn sample() -> PathBuf {
    root().join("sample-logs/opencode-db/child-fork-and-retry.db")
}

/// The files of a directory by a hash of what they hold, to see that nothing changes.
fn state(directory: &Path) -> BTreeMap<PathBuf, u64> {
    let files = fs::read_dir(directory).unwrap().map(|it| it.unwrap().path());
    files.map(|it| (it.clone(), twox_hash::XxHash3_64::oneshot(&fs::read(it).unwrap()))).collect()
}

/// Copies the files of a directory, as they are when an agent is killed.
fn copy_of(directory: &Path) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for path in state(directory).into_keys() {
        fs::copy(&path, copy.path().join(path.file_name().unwrap())).unwrap();
    }
    copy
}

fn read(directory: &Path, known: Vec<Source>) -> (Vec<Source>, usize) {
    let known: BTreeMap<_, _> = known.into_iter().map(|it| (it.path.clone(), ingest::FileStamp::of(&it))).collect();
    let options = Options { roots: vec![directory.to_owned()], ..Options::default() };
    let taken = ingest::read(&options, &known, &Progress::default());
    assert!(taken.errors.is_empty());
    (taken.sources, taken.unchanged.len())
}

fn of_status(sources: &[Source], status: SourceStatus) -> Vec<&Source> {
    sources.iter().filter(|it| it.status == status).collect()
}

const MORE: &str = "INSERT INTO session SELECT 'ses_more', project_id, workspace_id, parent_id, slug, directory, title,
    version, share_url, summary_additions, summary_deletions, summary_files, summary_diffs, revert, permission,
    time_created, time_updated, time_compacting, time_archived FROM session LIMIT 1";

/// What an agent that runs has not yet moved into the database counts, and reading it leaves no trace.
#[test]
fn the_last_rows_of_an_agent_that_runs_are_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("opencode.db");
    fs::copy(sample(), &path).unwrap();
    let agent = Connection::open(&path).unwrap();
    agent.execute_batch("PRAGMA journal_mode = WAL").unwrap();
    let (known, _) = read(directory.path(), Vec::new());
    assert_eq!(known.iter().flat_map(|it| &it.sessions).count(), 3);
    // Most of it is written while the database itself stays as it is.
    agent.execute_batch(MORE).unwrap();
    // Within one process SQLite shares the `-shm`, which other processes only read.
    let state_of_agent = || state(directory.path()).into_iter().filter(|it| !it.0.ends_with("opencode.db-shm"));
    let before: Vec<_> = state_of_agent().collect();
    assert_eq!(before.len(), 2);
    let (sources, unchanged) = read(directory.path(), known);
    assert!(state_of_agent().eq(before));
    assert_eq!(of_status(&sources, SourceStatus::Parsed)[0].sessions.len(), 4);
    assert_eq!((of_status(&sources, SourceStatus::Auxiliary).len(), unchanged), (2, 0));
    // Nothing new: nothing is read.
    let (again, unchanged) = read(directory.path(), sources);
    assert_eq!((again.len(), unchanged), (0, 3));
    // The agent writes on.
    agent.execute_batch("UPDATE session SET title = 'x'").unwrap();
    let rows = rows(&path);
    // Killed: its `-shm` tells of nobody, or is gone.
    let other = copy_of(directory.path());
    let copy = other.path().join("opencode.db");
    for without in ["none", "opencode.db-shm"] {
        let _ = fs::remove_file(other.path().join(without));
        let before = state(other.path());
        assert_eq!(self::rows(&copy), rows, "{without}");
        assert_eq!(state(other.path()), before, "{without}");
    }
}

/// A transaction that was cut off did not happen.
#[test]
fn a_hot_journal_is_rolled_back_in_a_copy() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("opencode.db");
    fs::copy(sample(), &path).unwrap();
    let whole = rows(&path);
    let agent = Connection::open(&path).unwrap();
    agent.execute_batch("PRAGMA cache_size = 1; PRAGMA cache_spill = 1; BEGIN; UPDATE part SET data = '{}'").unwrap();
    let torn = copy_of(directory.path());
    assert!(torn.path().join("opencode.db-journal").exists());
    let before = state(torn.path());
    assert_eq!(rows(&torn.path().join("opencode.db")), whole);
    assert_eq!(state(torn.path()), before);
}

/// What can be read of a damaged database stands, and the file says that more was there.
#[test]
fn damage_costs_what_is_damaged() {
    let whole = fs::read(sample()).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let (mut losses, mut unreadable) = (0, 0);
    for page in 1..whole.len() / 4096 {
        let mut bytes = whole.clone();
        bytes[page * 4096..(page + 1) * 4096].fill(0xa5);
        fs::write(&path, bytes).unwrap();
        let (sources, _) = read(directory.path(), Vec::new());
        assert!(
            matches!(sources[0].status, SourceStatus::Truncated | SourceStatus::Parsed),
            "{page}: {:?}",
            sources[0]
        );
        losses += usize::from(sources[0].status == SourceStatus::Truncated && sources[0].message.is_some());
    }
    for length in (16..whole.len()).step_by(1111) {
        fs::write(&path, &whole[..length]).unwrap();
        let (sources, _) = read(directory.path(), Vec::new());
        assert!(sources[0].status != SourceStatus::Parsed || sources[0].sessions.len() == 3, "{length}");
        unreadable += usize::from(sources[0].status == SourceStatus::Unreadable && sources[0].message.is_some());
    }
    assert!(losses > 3 && unreadable > 0, "{losses} {unreadable}");
}

/// However a database is stored, its rows are the same, and a database of others is none of ours.
#[test]
fn a_database_is_read_from_any_container() {
    let directory = tempfile::tempdir().unwrap();
    let bytes = fs::read(sample()).unwrap();
    fs::write(directory.path().join("a b%3f#.sqlite"), &bytes).unwrap();
    fs::write(directory.path().join("b.db.zst"), zstd::encode_all(&bytes[..], 1).unwrap()).unwrap();
    let foreign = Connection::open(directory.path().join("c.db")).unwrap();
    foreign.execute_batch("CREATE TABLE session (id TEXT); CREATE TABLE message (id TEXT, session_id TEXT)").unwrap();
    drop(foreign);
    let (sources, _) = read(directory.path(), Vec::new());
    let parsed = of_status(&sources, SourceStatus::Parsed);
    assert_eq!(parsed.len(), 2);
    assert_eq!((&parsed[0].sessions, &parsed[0].content_hash), (&parsed[1].sessions, &parsed[1].content_hash));
    assert_eq!(of_status(&sources, SourceStatus::Unrecognised).len(), 1);
}

/// One session as OpenCode keeps and exports it: role, time and more of each message, and its parts.
const MESSAGES: [(&str, &str, &[&str]); 5] = [
    (
        "msg_1",
        r#""role":"user","time":{"created":1791194400000}"#,
        &[r#""type":"text","text":"Go""#, r#""type":"text","text":"Called the Read tool","synthetic":true"#],
    ),
    (
        "msg_2",
        r#""role":"assistant","time":{"created":1791194401000,"completed":1791194403000},"modelID":"m","providerID":"p","agent":"build","finish":"tool-calls","cost":0.5,"tokens":{"input":100,"output":20,"reasoning":5,"cache":{"read":7,"write":0}}"#,
        &[
            r#""type":"tool","callID":"call_0","tool":"bash","state":{"status":"completed","input":{"command":"ls"},"output":"a","metadata":{"exit":0},"time":{"start":1791194402000,"end":1791194402500}}"#,
            r#""type":"step-finish","reason":"tool-calls","cost":0.5,"tokens":{"input":100,"output":20,"reasoning":5,"cache":{"read":7,"write":0}}"#,
        ],
    ),
    // The model begins its ids again.
    (
        "msg_3",
        r#""role":"assistant","time":{"created":1791194404000,"completed":1791194406000},"modelID":"m","providerID":"p","agent":"build","finish":"tool-calls","cost":0.25,"tokens":{"input":50,"output":10,"reasoning":0,"cache":{"read":107,"write":0}}"#,
        &[
            r#""type":"tool","callID":"call_0","tool":"read","state":{"status":"error","input":{"filePath":"b"},"error":"no such file","time":{"start":1791194405000,"end":1791194405500}}"#,
            r#""type":"step-finish","reason":"tool-calls","cost":0.25,"tokens":{"input":50,"output":10,"reasoning":0,"cache":{"read":107,"write":0}}"#,
        ],
    ),
    // What the program says in the user's name.
    (
        "msg_4",
        r#""role":"user","time":{"created":1791194406500}"#,
        &[r#""type":"text","text":"Continue if you have next steps","synthetic":true"#],
    ),
    (
        "msg_5",
        r#""role":"assistant","time":{"created":1791194407000,"completed":1791194409000},"modelID":"m","providerID":"p","agent":"build","finish":"stop","cost":0.25,"tokens":{"input":50,"output":10,"reasoning":0,"cache":{"read":157,"write":0}}"#,
        &[
            r#""type":"text","text":"Done.","time":{"start":1791194407500,"end":1791194408500}"#,
            r#""type":"step-finish","reason":"stop","cost":0.25,"tokens":{"input":50,"output":10,"reasoning":0,"cache":{"read":157,"write":0}}"#,
        ],
    ),
];

/// The session in its three forms, each in a directory of its own. `ids` is what its ids end with.
fn forms(directory: &Path, name: &str, time: i64, ids: &str, messages: usize) -> [PathBuf; 3] {
    let session = format!("ses_1{ids}");
    let [export, storage, database] =
        ["export", "storage", "database"].map(|it| directory.join(format!("{it}-{name}")));
    for form in [&export, &storage, &database] {
        fs::create_dir_all(form).unwrap();
    }
    let info = format!(r#""id":"{session}","directory":"/work","version":"1.2.9","time":{{"created":{time}}}"#);
    fs::write(storage.join("session.json"), format!("{{{info}}}")).unwrap();
    let connection = Connection::open(database.join("opencode.db")).unwrap();
    connection
        .execute_batch(
            "CREATE TABLE session (id TEXT PRIMARY KEY, directory TEXT, version TEXT, time_created INTEGER);
             CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, data TEXT);
             CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, data TEXT);",
        )
        .unwrap();
    connection.execute("INSERT INTO session VALUES (?1, '/work', '1.2.9', ?2)", (&session, time)).unwrap();
    let mut exported = Vec::new();
    for (index, (id, data, parts)) in MESSAGES.iter().take(messages).enumerate() {
        let id = format!("{id}{ids}");
        let message = format!(r#"{{"id":"{id}","sessionID":"{session}",{data}}}"#);
        fs::write(storage.join(format!("{id}.json")), &message).unwrap();
        let row = (&id, &session, time + i64::try_from(index).unwrap(), format!("{{{data}}}"));
        connection.execute("INSERT INTO message VALUES (?1, ?2, ?3, ?4)", row).unwrap();
        let mut texts = Vec::new();
        for (number, data) in parts.iter().enumerate() {
            let part_id = format!("prt_{index}{number}{ids}");
            let row = (&part_id, &id, &session, format!("{{{data}}}"));
            connection.execute("INSERT INTO part VALUES (?1, ?2, ?3, ?4)", row).unwrap();
            texts.push(format!(r#"{{"id":"{part_id}","messageID":"{id}","sessionID":"{session}",{data}}}"#));
            fs::write(storage.join(format!("{part_id}.json")), texts.last().unwrap()).unwrap();
        }
        exported.push(format!(r#"{{"info":{message},"parts":[{}]}}"#, texts.join(",")));
    }
    fs::write(export.join("a.json"), format!(r#"{{"info":{{{info}}},"messages":[{}]}}"#, exported.join(","))).unwrap();
    [export, storage, database]
}

/// What is counted of some directories.
fn counted(directories: &[&Path]) -> Vec<String> {
    let roots = directories.iter().map(|it| (*it).to_owned()).collect();
    let options = Options { roots, content: Retention::Text, ..Options::default() };
    let taken = ingest::read(&options, &BTreeMap::new(), &Progress::default());
    let tables = ledger::reconcile(taken.sources);
    let session = |it: &SessionRow| {
        let counts = [it.turns, it.user_turns, it.tool_calls, it.tool_errors];
        let session = &it.session;
        let words = (session.status, &session.prompt, &session.text, &session.stop_reason);
        format!("{} {counts:?} {:?} {:?} {words:?}", session.session_id, it.tokens, it.money)
    };
    let turn = |it: &TurnRow| format!("turn {:?} of {} {:?}", it.number, it.session, it.turn.occurred_at);
    let call = |it: &CallRow| {
        format!("{} {:?} in {:?} of {}", it.call.tool, it.call.status, (it.turn, &it.call.agent), it.session)
    };
    let mut calls: Vec<_> = tables.tool_calls.iter().map(call).collect();
    calls.sort();
    let turns = tables.turns.iter().map(turn);
    tables.sessions.iter().map(session).chain(turns).chain(calls).collect()
}

/// A database, its export and the JSON files that preceded it contain one session:
/// docs/accounting.md#one-session-in-several-files.
#[test]
fn one_session_in_three_forms_counts_once() {
    let directory = tempfile::tempdir().unwrap();
    let forms = forms(directory.path(), "a", 1_791_194_400_000, "", 5);
    let [export, storage, database] = forms.each_ref().map(|it| &**it);
    let whole = counted(&[database]);
    assert!(whole[0].starts_with("ses_1 [Some(3), Some(1), Some(2), Some(1)]"), "{whole:#?}");
    assert!(whole[0].ends_with(r#"(Success, Some("Go"), Some("Done."), Some("stop"))"#), "{whole:#?}");
    assert!(whole.contains(&r#"bash Ok in (Some(1), Some("build")) of 0"#.to_owned()), "{whole:#?}");
    assert!(whole.contains(&r#"read Error in (Some(2), Some("build")) of 0"#.to_owned()), "{whole:#?}");
    for some in [
        &[export][..],
        &[storage],
        &[export, storage],
        &[database, storage],
        &[database, export],
        &[storage, export, database],
    ] {
        assert_eq!(counted(some), whole, "{some:?}");
    }
}

/// A fork copies messages under other ids: neither their tokens nor their calls count again, in whatever form.
#[test]
fn a_fork_in_any_form_counts_nothing_again() {
    let directory = tempfile::tempdir().unwrap();
    let whole = forms(directory.path(), "a", 1_791_194_400_000, "", 5);
    let fork = forms(directory.path(), "b", 1_791_198_000_000, "9", 2);
    let counted_once = counted(&[&whole[2]]);
    for whole in &whole {
        for fork in &fork {
            assert_eq!(counted(&[whole, fork])[0], counted_once[0], "{whole:?} {fork:?}");
            let calls = |it: &[String]| it.iter().filter(|it| it.contains(" in ")).count();
            assert_eq!(calls(&counted(&[whole, fork])), calls(&counted_once), "{whole:?} {fork:?}");
        }
    }
}

/// goose imports its session files into the database and leaves them.
#[test]
fn a_session_file_and_its_import_count_once() {
    let directory = tempfile::tempdir().unwrap();
    let [file, database] = ["file", "database"].map(|it| directory.path().join(it));
    fs::create_dir(&file).unwrap();
    fs::create_dir(&database).unwrap();
    let log = fs::read_to_string(root().join("sample-logs/goose-session/20250710_141500.jsonl")).unwrap();
    fs::write(file.join("20250710_141500.jsonl"), &log).unwrap();
    let connection = Connection::open(database.join("sessions.db")).unwrap();
    connection
        .execute_batch(
            "CREATE TABLE sessions (id TEXT PRIMARY KEY, working_dir TEXT, accumulated_total_tokens INTEGER,
                accumulated_input_tokens INTEGER, accumulated_output_tokens INTEGER);
             CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content_json TEXT,
                created_timestamp INTEGER);
             INSERT INTO sessions VALUES ('20250710_141500', '/work/mill', 10330, 10200, 130);",
        )
        .unwrap();
    for line in log.lines().skip(1) {
        let message: serde_json::Value = serde_json::from_str(line).unwrap();
        let row = (message["role"].as_str(), message["content"].to_string(), message["created"].as_i64());
        let insert = "INSERT INTO messages (session_id, role, content_json, created_timestamp)
            VALUES ('20250710_141500', ?1, ?2, ?3)";
        connection.execute(insert, row).unwrap();
    }
    let once = counted(&[&file]);
    assert!(once[0].starts_with("20250710_141500 [None, Some(1), Some(1), Some(0)]"), "{once:#?}");
    assert!(once[0].contains("input: Some(10200), output: Some(130)"), "{once:#?}");
    assert_eq!(counted(&[&database]), once);
    assert_eq!(counted(&[&file, &database]), once);
}

/// The sessions of a database that `sql` makes, after `add` added rows.
fn sessions_of(sql: &str, add: impl FnOnce(&Connection)) -> Vec<SessionResult> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.db");
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch(sql).unwrap();
    add(&connection);
    drop(connection);
    adapters::parse(rows(&path).as_bytes(), Hints::default(), Retention::None).sessions
}

/// Columns and tables of newer schemas of Hermes.
#[test]
fn newer_columns_of_hermes_are_read() {
    let sql = r#"CREATE TABLE system_prompts (hash TEXT PRIMARY KEY, prompt TEXT NOT NULL);
        CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT, started_at REAL, end_reason TEXT, billing_provider TEXT,
            reasoning_tokens INTEGER, parent_session_id TEXT, session_key TEXT, system_prompt TEXT, system_prompt_hash TEXT,
            tool_names TEXT, model_config TEXT);
        CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content TEXT, tool_calls TEXT, timestamp REAL,
            finish_reason TEXT, active INTEGER, compacted INTEGER, _compressed_summary INTEGER, display_kind TEXT);
        INSERT INTO system_prompts VALUES ('h', 'You are Hermes.');
        INSERT INTO sessions VALUES ('a', 'cli', 1.0, NULL, NULL, 0, NULL, 'k', NULL, 'h', '["todo"]', '{"_branched_from":"z"}');
        INSERT INTO messages VALUES
            (1, 'a', 'user', 'x', NULL, 1.0, NULL, 0, 1, 0, NULL),
            (2, 'a', 'user', 'x', NULL, 1.0, NULL, 1, 0, 0, NULL),
            (3, 'a', 'user', 'Earlier: x', NULL, 2.0, NULL, 1, 0, 1, NULL),
            (4, 'a', 'user', 'y', NULL, 3.0, NULL, 1, 0, 0, 'hidden');"#;
    let sessions = sessions_of(sql, |_| ());
    let [session] = sessions.as_slice() else { panic!("{sessions:?}") };
    assert_eq!((session.prompts.len(), session.events.len()), (1, 1));
    assert_eq!(session.parent_session_id.as_deref(), Some("z"));
    assert_eq!(session.offer.instructions.map(|it| it.bytes), Some(15));
    assert_eq!(session.offer.tools.as_ref().map(BTreeSet::len), Some(1));
}

/// openclaw moves the entries of a session into one value, compressed or not. A damaged line costs one entry.
#[test]
fn archived_entries_of_openclaw_are_read() {
    let header = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-10-08T09:00:00Z","cwd":"/work"}"#;
    let answer = r#"{"type":"message","id":"1","timestamp":"2026-10-08T09:00:02Z","message":{"role":"assistant","content":[],"provider":"p","model":"m","usage":{"input":5,"output":9,"cacheRead":2,"cacheWrite":0},"stopReason":"stop","timestamp":1791450002000}}"#;
    let event = |entry: &str| {
        let entry = serde_json::Value::from(entry);
        format!(r#"{{"kind":"event","row":{{"seq":0,"event_json":{entry},"created_at":1}}}}"#)
    };
    let cold = [
        r#"{"kind":"header","version":1,"sessionId":"cold","generation":"g"}"#.to_owned(),
        event(header),
        r#"{"kind":"event","ro"#.to_owned(),
        event(answer),
    ]
    .join("\n");
    let sql = "CREATE TABLE session_transcript_cold_archives (session_id TEXT PRIMARY KEY, generation TEXT, archive_name TEXT, archive_blob BLOB);
        CREATE TABLE session_transcript_archives (session_id TEXT, generation TEXT, archive_name TEXT, archive_blob BLOB);
        INSERT INTO session_transcript_cold_archives VALUES ('file', 'g', 'f.jsonl.zst', NULL);";
    let sessions = sessions_of(sql, |connection| {
        let add = |table: &str, id: &str, blob: &[u8]| {
            let insert = format!("INSERT INTO {table} VALUES (?1, 'g', ?1, ?2)");
            connection.execute(&insert, (id, blob)).unwrap();
        };
        add("session_transcript_cold_archives", "cold", &zstd::encode_all(cold.as_bytes(), 1).unwrap());
        add("session_transcript_archives", "reset", format!("{header}\n{answer}\n").as_bytes());
    });
    let counts: Vec<_> = sessions.iter().map(|it| (it.session_id.as_str(), it.turns.len())).collect();
    assert_eq!(counts, [("cold", 1), ("reset", 1)]);
}

/// A database without keys can contain a row many times. The rows below it are then read for each of them.
#[test]
fn rows_that_multiply_are_no_log() {
    let directory = tempfile::tempdir().unwrap();
    let logs = directory.path().join("logs");
    fs::create_dir(&logs).unwrap();
    let sample = root().join("sample-logs/opencode-db/child-fork-and-retry.db");
    let bomb = logs.join("bomb.db");
    let connection = Connection::open(&bomb).unwrap();
    connection.execute("ATTACH ?1 AS sample", [sample.to_str().unwrap()]).unwrap();
    for (table, copies) in [("session", 40), ("message", 40), ("part", 40), ("project", 1)] {
        let sql = format!(
            "CREATE TABLE {table} AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {copies})
             SELECT it.* FROM sample.{table} AS it, n"
        );
        connection.execute_batch(&sql).unwrap();
    }
    connection.execute_batch("DETACH sample").unwrap();
    drop(connection);
    let budget = Budget::new(Limit::Bytes(1 << 20), 0);
    let error = database::read(Some(&bomb), &[], TABLES, &budget).unwrap_err();
    assert_eq!(error, "contains more than 1 MiB; --max-decompressed SIZE allows more");
    // The other logs are read.
    fs::copy(&sample, logs.join("sample.db")).unwrap();
    let options = Options { roots: vec![logs], limit: Limit::Bytes(1 << 20), ..Options::default() };
    let read = ingest::read(&options, &BTreeMap::new(), &Progress::default());
    let statuses: BTreeMap<_, _> =
        read.sources.iter().map(|source| (source.path.rsplit('/').next().unwrap(), source.status)).collect();
    let expected = [("bomb.db", SourceStatus::Unreadable), ("sample.db", SourceStatus::Parsed)];
    assert_eq!(statuses, BTreeMap::from(expected));
}

/// A compressed value is not decompressed beyond the budget.
#[test]
fn a_compressed_value_is_no_bomb() {
    let directory = tempfile::tempdir().unwrap();
    let bomb = directory.path().join("threads.db");
    let sample = fs::read_dir(root().join("sample-logs/zed-db")).unwrap().map(|entry| entry.unwrap().path());
    fs::copy(sample.filter(|path| path.extension().is_some_and(|it| it == "db")).min().unwrap(), &bomb).unwrap();
    let connection = Connection::open(&bomb).unwrap();
    let value = zstd::encode_all(format!("{{\"x\":\"{}\"}}", " ".repeat(4 << 20)).as_bytes(), 3).unwrap();
    connection.execute("UPDATE threads SET data = ?1", [value]).unwrap();
    drop(connection);
    let budget = Budget::new(Limit::Bytes(1 << 20), 0);
    let error = database::read(Some(&bomb), &[], TABLES, &budget).unwrap_err();
    assert!(error.contains("1 MiB"), "{error}");
}
