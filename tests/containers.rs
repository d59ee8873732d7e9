//! Tar and zip archives as input: the members of an archive are read as the files that they were.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};

use agentlogs::adapters::shared::builder::Retention;
use agentlogs::ingest::{self, FileStamp, Options, Progress, ReadSummary};
use agentlogs::input::open::Limit;
use agentlogs::model::source::{Source, SourceStatus};
use zip::write::SimpleFileOptions;

use crate::{facts, reconciled, root};

const LOG: &str = r#"{"type":"thread.started","thread_id":"th1"}
{"type":"turn.completed","usage":{"input_tokens":3,"cached_input_tokens":0,"output_tokens":5}}
"#;

/// Names and contents.
type Files = Vec<(String, Vec<u8>)>;

fn files(files: &[(&str, &[u8])]) -> Files {
    files.iter().map(|(name, content)| ((*name).to_owned(), content.to_vec())).collect()
}

pub fn tar(files: &Files) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, name, &**content).unwrap();
    }
    builder.into_inner().unwrap()
}

pub fn zip(files: &Files) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in files {
        zip.start_file(name, SimpleFileOptions::default()).unwrap();
        zip.write_all(content).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(bytes).unwrap();
    gzip.finish().unwrap()
}

/// All sample logs with their sidecars.
fn samples() -> Files {
    let walk = walkdir::WalkDir::new(root().join("sample-logs")).into_iter().map(Result::unwrap);
    let files = walk.filter(|it| it.file_type().is_file());
    files
        .map(|it| {
            let name = it.path().strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
            (name, fs::read(it.path()).unwrap())
        })
        .collect()
}

/// The samples in each kind of archive.
fn archives() -> [(&'static str, Vec<u8>); 4] {
    let samples = samples();
    let tar = tar(&samples);
    let zstd = zstd::encode_all(&*tar, 1).unwrap();
    [("logs.tar.gz", gzip(&tar)), ("logs.tar.zst", zstd), ("logs.tar", tar), ("logs.zip", zip(&samples))]
}

fn read(directory: &Path, known: &BTreeMap<String, FileStamp>) -> ReadSummary {
    let options = Options { roots: vec![directory.to_owned()], limit: Limit::Bytes(1 << 24), ..Options::default() };
    ingest::read(&options, known, &Progress::default())
}

/// Reads a file of that name and content alone, and returns its sources with their paths below its directory.
fn read_one(name: &str, content: &[u8]) -> Vec<Source> {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join(name), content).unwrap();
    let prefix = format!("{}/", dunce::canonicalize(directory.path()).unwrap().display());
    let mut sources = read(directory.path(), &BTreeMap::new()).sources;
    for source in &mut sources {
        source.path = source.path.strip_prefix(&prefix).unwrap().to_owned();
    }
    sources
}

fn shown(sources: &[Source]) -> Vec<String> {
    let show = |it: &Source| {
        let message = it.message.as_ref().map(|it| format!(": {it}")).unwrap_or_default();
        format!("{} {}{message}", it.path, it.status.as_str())
    };
    sources.iter().map(show).collect()
}

#[test]
fn the_members_of_an_archive_are_read_as_the_files_that_they_were() {
    let expected = facts(Retention::None);
    for (name, bytes) in archives() {
        let mut sources = read_one(name, &bytes);
        let container = sources.remove(0);
        assert_eq!((container.path.as_str(), container.status), (name, SourceStatus::Auxiliary));
        assert_eq!(container.bytes, i64::try_from(bytes.len()).unwrap());
        for source in &mut sources {
            source.path = source.path.strip_prefix(&format!("{name}!/")).unwrap().to_owned();
            (source.modified_at, source.options) = (None, String::new());
        }
        for (source, expected) in sources.iter().zip(&expected) {
            assert_eq!(source, expected, "{name}");
        }
        assert_eq!(sources.len(), expected.len());
    }
}

/// Archives beside the files that they hold add nothing. Of the same content the first path is kept.
#[test]
fn an_archive_beside_its_files_adds_nothing() {
    let directory = tempfile::tempdir().unwrap();
    for (name, content) in samples() {
        let path = directory.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    for (name, bytes) in archives() {
        fs::write(directory.path().join(name), bytes).unwrap();
    }
    let tables = reconciled(read(directory.path(), &BTreeMap::new()).sources);
    let alone = reconciled(facts(Retention::None));
    assert_eq!(tables.sessions.len(), alone.sessions.len());
    for (session, alone) in tables.sessions.iter().zip(&alone.sessions) {
        let facts =
            |it: &agentlogs::model::tables::SessionRow| (it.session.session_id.clone(), it.tokens, it.money.cost);
        assert_eq!(facts(session), facts(alone));
    }
    assert_eq!(tables.turns.len(), alone.turns.len());
    assert_eq!(tables.tool_calls.len(), alone.tool_calls.len());
    let parsed = tables.sources.iter().filter(|it| it.status == SourceStatus::Parsed);
    assert!(parsed.clone().all(|it| it.path.contains("logs.tar!/")), "{:?}", shown(&tables.sources));
}

#[test]
fn archives_and_compressed_logs_may_be_inside_of_archives() {
    let log = files(&[("a.jsonl", LOG.as_bytes())]);
    let inner = files(&[("b.tar", &tar(&log)), ("c.jsonl.gz", &gzip(LOG.as_bytes())), ("d.zip", &zip(&log))]);
    let sources = read_one("a.zip", &zip(&inner));
    let expected = [
        "a.zip auxiliary",
        "a.zip!/b.tar auxiliary",
        "a.zip!/b.tar!/a.jsonl parsed",
        "a.zip!/c.jsonl.gz parsed",
        "a.zip!/d.zip auxiliary",
        "a.zip!/d.zip!/a.jsonl parsed",
    ];
    assert_eq!(shown(&sources), expected);
    assert_eq!(sources[3].compression.as_deref(), Some("gzip"));
    let outer = files(&[("a.zip", &zip(&inner))]);
    let sources = read_one("outer.tar.gz", &gzip(&tar(&outer)));
    let expected = [
        "outer.tar.gz auxiliary",
        "outer.tar.gz!/a.zip auxiliary",
        "outer.tar.gz!/a.zip!/b.tar unreadable: archives are nested too deep",
        "outer.tar.gz!/a.zip!/c.jsonl.gz parsed",
        "outer.tar.gz!/a.zip!/d.zip unreadable: archives are nested too deep",
    ];
    assert_eq!(shown(&sources), expected);
}

#[test]
fn a_sidecar_in_an_archive_is_of_the_logs_beside_it() {
    let members = files(&[
        ("x/run.jsonl", LOG.as_bytes()),
        ("x/run.meta.json", br#"{"labels":{"of":"run"}}"#),
        ("x/meta.json", br#"{"labels":{"of":"x"}}"#),
        ("y/run.jsonl", LOG.as_bytes()),
        ("meta.json", br#"{"labels":{"of":"top"}}"#),
        ("other.jsonl", LOG.as_bytes()),
    ]);
    for bytes in [tar(&members), zip(&members)] {
        let sources = read_one("logs", &bytes);
        let labels: Vec<_> = sources
            .iter()
            .flat_map(|it| &it.sessions)
            .map(|it| it.labels.iter().cloned().collect::<String>())
            .collect();
        assert_eq!(labels, ["of=top", "of=runof=x", ""]);
        assert_eq!(sources.iter().filter(|it| it.status == SourceStatus::Auxiliary).count(), 4);
    }
}

/// The last rows of a database are in its journal, also inside an archive.
#[test]
fn a_database_in_an_archive_is_read_with_its_journal() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("opencode.db");
    fs::copy(root().join("sample-logs/opencode-db/child-fork-and-retry.db"), &path).unwrap();
    let agent = rusqlite::Connection::open(&path).unwrap();
    agent.pragma_update(None, "journal_mode", "wal").unwrap();
    agent.pragma_update(None, "foreign_keys", "on").unwrap();
    agent.execute("DELETE FROM session WHERE id = 'ses_2a91c1b40ffeHq5sNd7RbXwPzC'", []).unwrap();
    let names = ["opencode.db", "opencode.db-wal", "opencode.db-shm"];
    let members: Files =
        names.iter().map(|name| ((*name).to_owned(), fs::read(directory.path().join(name)).unwrap())).collect();
    let expected = read(directory.path(), &BTreeMap::new()).sources.remove(0).sessions;
    assert!(!expected.is_empty());
    for bytes in [tar(&members), zip(&members), gzip(&tar(&members))] {
        let sources = read_one("logs", &bytes);
        assert_eq!(sources[1].sessions, expected);
        let statuses: Vec<_> = sources.iter().map(|it| it.status).collect();
        let auxiliary = SourceStatus::Auxiliary;
        assert_eq!(statuses, [auxiliary, SourceStatus::Parsed, auxiliary, auxiliary]);
    }
    drop(agent);
}

#[test]
fn an_archive_is_read_again_only_when_there_may_be_more_to_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("logs.zip");
    let large = vec![b' '; 1 << 20];
    let members = files(&[("a.jsonl", LOG.as_bytes()), ("large", &large)]);
    fs::write(&path, zip(&members)).unwrap();
    let read_again = |known: &BTreeMap<String, FileStamp>, limit: u64| {
        let options = Options { roots: vec![path.clone()], limit: Limit::Bytes(limit), ..Options::default() };
        let taken = ingest::read(&options, known, &Progress::default());
        assert!(taken.errors.is_empty());
        let stamps = taken.sources.iter().map(|it| (it.path.clone(), FileStamp::of(it))).collect::<BTreeMap<_, _>>();
        (taken.sources.len(), stamps)
    };
    let (count, known) = read_again(&BTreeMap::new(), 1 << 24);
    assert_eq!((count, read_again(&known, 1 << 24).0), (3, 0));
    // A member was beyond the limit: with another limit it may be read.
    let (_, known) = read_again(&BTreeMap::new(), 1000);
    assert_eq!((read_again(&known, 1000).0, read_again(&known, 1 << 24).0), (3, 3));
}

/// A member that grew is told from one that was replaced.
#[test]
fn a_member_that_grew_is_recognised() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("logs.tar.gz");
    let write = |text: &str| fs::write(&path, gzip(&tar(&files(&[("a.jsonl", text.as_bytes())])))).unwrap();
    write(LOG);
    let first = read(directory.path(), &BTreeMap::new()).sources;
    let known: BTreeMap<_, _> = first.iter().map(|it| (it.path.clone(), FileStamp::of(it))).collect();
    write(&(LOG.to_owned() + LOG));
    assert!(read(directory.path(), &known).sources[1].grew);
    write(&LOG.replace("th1", "th2"));
    assert!(!read(directory.path(), &known).sources[1].grew);
}

#[test]
fn a_truncated_container_is_reported() {
    let members = files(&[("a.jsonl", LOG.as_bytes()), ("b.jsonl", LOG.repeat(20).as_bytes())]);
    let tar = tar(&members);
    let cut = &tar[..512 + 512 + 512 + 300];
    let expected = ["x truncated: the end of the archive is missing", "x!/a.jsonl parsed"];
    assert_eq!(shown(&read_one("x", cut))[..2], expected);
    assert_eq!(shown(&read_one("x", cut))[2], "x!/b.jsonl truncated: the archive ends inside it");
    let gzip = gzip(&tar);
    let sources = read_one("x", &gzip[..gzip.len() - 20]);
    assert_eq!(sources[0].status, SourceStatus::Truncated);
    let zip = zip(&members);
    let sources = read_one("x", &zip[..zip.len() - 30]);
    assert_eq!(sources[0].status, SourceStatus::Truncated);
    assert_eq!(shown(&sources)[1..], ["x!/a.jsonl parsed", "x!/b.jsonl parsed"]);
}

/// Names in archives are only labels: nothing is written to any of these paths.
#[test]
fn a_path_in_a_container_reaches_no_other_file() {
    let directory = tempfile::tempdir().unwrap();
    let logs = directory.path().join("logs");
    fs::create_dir(&logs).unwrap();
    let mut builder = tar::Builder::new(Vec::new());
    for name in ["../escaped.jsonl", "/tmp/agentlogs-escaped.jsonl"] {
        let mut header = tar::Header::new_gnu();
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_size(LOG.len() as u64);
        header.set_cksum();
        builder.append(&header, LOG.as_bytes()).unwrap();
    }
    fs::write(logs.join("x.tar"), builder.into_inner().unwrap()).unwrap();
    let sources = read(&logs, &BTreeMap::new()).sources;
    let names: Vec<_> = sources.iter().filter_map(|it| it.path.split_once("!/")).map(|it| it.1).collect();
    assert_eq!(names, ["../escaped.jsonl", "tmp/agentlogs-escaped.jsonl"]);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    assert!(!PathBuf::from("/tmp/agentlogs-escaped.jsonl").exists());
}

#[test]
fn labels_are_found_in_the_paths_of_members() {
    let directory = tempfile::tempdir().unwrap();
    let members = files(&[("base/fix/3.jsonl", LOG.as_bytes())]);
    fs::write(directory.path().join("runs.zip"), zip(&members)).unwrap();
    let options = Options {
        roots: vec![directory.path().to_owned()],
        path_labels: vec!["{experiment}/{task}/{trial}.jsonl".parse().unwrap()],
        ..Options::default()
    };
    let sources = ingest::read(&options, &BTreeMap::new(), &Progress::default()).sources;
    let labels: Vec<_> = sources[1].sessions[0].labels.iter().map(String::as_str).collect();
    assert_eq!(labels, ["experiment=base", "task=fix", "trial=3"]);
}

#[cfg(unix)]
#[test]
fn a_pipe_may_be_an_archive() {
    let directory = tempfile::tempdir().unwrap();
    let pipe = directory.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let bytes = gzip(&tar(&files(&[("a.jsonl", LOG.as_bytes())])));
    let taken = std::thread::scope(|scope| {
        scope.spawn(|| fs::write(&pipe, &bytes).unwrap());
        read(&pipe, &BTreeMap::new())
    });
    assert_eq!(
        taken.sources.iter().map(|it| it.status).collect::<Vec<_>>(),
        [SourceStatus::Auxiliary, SourceStatus::Parsed]
    );
}

/// An archive that changes: its new members are read, and what was known of others stays.
#[cfg(feature = "archive")]
#[test]
fn members_that_are_gone_stay_known() {
    use agentlogs::store::archive::Archive;
    let directory = tempfile::tempdir().unwrap();
    let archive = Archive::at(directory.path().join("archive"));
    let path = directory.path().join("logs.tar.gz");
    let log = |id: &str| LOG.replace("th1", id);
    let sessions_and_sources = || {
        let writer = archive.write().unwrap();
        let options = Options { roots: vec![path.clone()], ..Options::default() };
        let taken = ingest::read_into(&options, |it| writer.known(it), &Progress::default(), &writer);
        let sums = writer.commit().unwrap().sums;
        (sums.sessions, archive.known_facts().unwrap().len(), taken.unchanged.len())
    };
    let write = |members: &[(&str, String)]| {
        let members: Files =
            members.iter().map(|(name, text)| ((*name).to_owned(), text.clone().into_bytes())).collect();
        fs::write(&path, gzip(&tar(&members))).unwrap();
    };
    write(&[("a.jsonl", log("a")), ("b.jsonl", log("b"))]);
    assert_eq!(sessions_and_sources(), (2, 3, 0));
    assert_eq!(sessions_and_sources(), (2, 3, 1));
    write(&[("b.jsonl", log("b") + &log("b")), ("c.jsonl", log("c"))]);
    assert_eq!(sessions_and_sources(), (3, 4, 0));
    // Another log in the place of a member sets that aside.
    write(&[("b.jsonl", log("other"))]);
    assert_eq!(sessions_and_sources(), (4, 5, 0));
    assert_eq!(sessions_and_sources(), (4, 5, 1));
}
