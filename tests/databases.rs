//! Databases as logs: the samples among them, and what SQLite keeps beside a database.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use agentlogs::adapters::TABLES;
use agentlogs::database;
use agentlogs::ingest::{self, Options, Progress};
use agentlogs::source::{Source, SourceStatus};
use rusqlite::Connection;

use crate::root;

fn rows(path: &Path) -> String {
    let rows = database::read(Some(path), &[], TABLES).unwrap();
    assert_eq!(rows.lost, None, "{}", path.display());
    String::from_utf8(rows.text).unwrap()
}

/// Nobody can read a database in a diff: each sample is what its `.sql` makes. `SAMPLES=overwrite` makes it again.
#[test]
fn each_sample_is_what_its_sql_makes() {
    let folder = tempfile::tempdir().unwrap();
    let from = root().join("tests/databases");
    let sources = walkdir::WalkDir::new(&from).into_iter().filter_map(Result::ok).filter(|it| it.file_type().is_file());
    let mut count = 0;
    for sql in sources {
        let below = sql.path().strip_prefix(&from).unwrap().with_extension("db");
        let sample = root().join("sample-logs").join(&below);
        let made = folder.path().join(below.file_name().unwrap());
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

/// The files of a folder by a hash of what they hold, to see that nothing changes.
fn state(folder: &Path) -> BTreeMap<PathBuf, u64> {
    let files = fs::read_dir(folder).unwrap().map(|it| it.unwrap().path());
    files.map(|it| (it.clone(), xxhash_rust::xxh3::xxh3_64(&fs::read(it).unwrap()))).collect()
}

/// Copies the files of a folder, as they are when an agent is killed.
fn copy_of(folder: &Path) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for path in state(folder).into_keys() {
        fs::copy(&path, copy.path().join(path.file_name().unwrap())).unwrap();
    }
    copy
}

fn read(folder: &Path, known: Vec<Source>) -> (Vec<Source>, usize) {
    let known: BTreeMap<_, _> = known.into_iter().map(|it| (it.path.clone(), it)).collect();
    let options = Options { roots: vec![folder.to_owned()], ..Options::default() };
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
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("opencode.db");
    fs::copy(sample(), &path).unwrap();
    let agent = Connection::open(&path).unwrap();
    agent.execute_batch("PRAGMA journal_mode = WAL").unwrap();
    let (known, _) = read(folder.path(), Vec::new());
    assert_eq!(known.iter().flat_map(|it| &it.sessions).count(), 3);
    // Most of it is written while the database itself stays as it is.
    agent.execute_batch(MORE).unwrap();
    // Within one process SQLite shares the `-shm`, which other processes only read.
    let state_of_agent = || state(folder.path()).into_iter().filter(|it| !it.0.ends_with("opencode.db-shm"));
    let before: Vec<_> = state_of_agent().collect();
    assert_eq!(before.len(), 2);
    let (sources, unchanged) = read(folder.path(), known);
    assert!(state_of_agent().eq(before));
    assert_eq!(of_status(&sources, SourceStatus::Parsed)[0].sessions.len(), 4);
    assert_eq!((of_status(&sources, SourceStatus::Auxiliary).len(), unchanged), (2, 0));
    // Nothing new: nothing is read.
    let (again, unchanged) = read(folder.path(), sources);
    assert_eq!((again.len(), unchanged), (0, 3));
    // The agent writes on.
    agent.execute_batch("UPDATE session SET title = 'x'").unwrap();
    let rows = rows(&path);
    // Killed: its `-shm` tells of nobody, or is gone.
    let other = copy_of(folder.path());
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
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("opencode.db");
    fs::copy(sample(), &path).unwrap();
    let whole = rows(&path);
    let agent = Connection::open(&path).unwrap();
    agent.execute_batch("PRAGMA cache_size = 1; PRAGMA cache_spill = 1; BEGIN; UPDATE part SET data = '{}'").unwrap();
    let torn = copy_of(folder.path());
    assert!(torn.path().join("opencode.db-journal").exists());
    let before = state(torn.path());
    assert_eq!(rows(&torn.path().join("opencode.db")), whole);
    assert_eq!(state(torn.path()), before);
}

/// What can be read of a damaged database stands, and the file says that more was there.
#[test]
fn damage_costs_what_is_damaged() {
    let whole = fs::read(sample()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let (mut losses, mut unreadable) = (0, 0);
    for page in 1..whole.len() / 4096 {
        let mut bytes = whole.clone();
        bytes[page * 4096..(page + 1) * 4096].fill(0xa5);
        fs::write(&path, bytes).unwrap();
        let (sources, _) = read(folder.path(), Vec::new());
        assert!(
            matches!(sources[0].status, SourceStatus::Truncated | SourceStatus::Parsed),
            "{page}: {:?}",
            sources[0]
        );
        losses += usize::from(sources[0].status == SourceStatus::Truncated && sources[0].message.is_some());
    }
    for length in (16..whole.len()).step_by(1111) {
        fs::write(&path, &whole[..length]).unwrap();
        let (sources, _) = read(folder.path(), Vec::new());
        assert!(sources[0].status != SourceStatus::Parsed || sources[0].sessions.len() == 3, "{length}");
        unreadable += usize::from(sources[0].status == SourceStatus::Unreadable && sources[0].message.is_some());
    }
    assert!(losses > 3 && unreadable > 0, "{losses} {unreadable}");
}

/// However a database is stored, its rows are the same, and a database of others is none of ours.
#[test]
fn a_database_is_read_from_any_container() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = fs::read(sample()).unwrap();
    fs::write(folder.path().join("a b%3f#.sqlite"), &bytes).unwrap();
    fs::write(folder.path().join("b.db.zst"), zstd::encode_all(&bytes[..], 1).unwrap()).unwrap();
    let foreign = Connection::open(folder.path().join("c.db")).unwrap();
    foreign.execute_batch("CREATE TABLE session (id TEXT); CREATE TABLE message (id TEXT, session_id TEXT)").unwrap();
    drop(foreign);
    let (sources, _) = read(folder.path(), Vec::new());
    let parsed = of_status(&sources, SourceStatus::Parsed);
    assert_eq!(parsed.len(), 2);
    assert_eq!((&parsed[0].sessions, &parsed[0].content_hash), (&parsed[1].sessions, &parsed[1].content_hash));
    assert_eq!(of_status(&sources, SourceStatus::Unrecognised).len(), 1);
}
