//! Files that move under the reader: cut, replaced, deleted and grown while they are read.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use agentlogs::ingest::{self, Options, Progress};
use agentlogs::model::source::{Source, SourceStatus};

use crate::{reconciled, root, samples};

const START: &str = r#"{"type":"thread.started","thread_id":"th1"}
"#;
const TURN: &str = r#"{"type":"turn.completed","usage":{"input_tokens":10,"cached_input_tokens":0,"output_tokens":5},"words":"é"}
"#;

fn read(path: &Path) -> Source {
    let options = Options { roots: vec![path.to_owned()], ..Options::default() };
    ingest::read(&options, &BTreeMap::new(), &Progress::default()).sources.remove(0)
}

/// Turns of a log that is read, and of one that is large enough to be mapped.
const TURNS: [usize; 2] = [12_000, 45_000];

/// A log of so many turns.
fn log(turns: usize) -> String {
    START.to_owned() + &TURN.repeat(turns)
}

/// Another thread does `work` again and again while `check` looks at the file.
fn meanwhile(work: impl Fn(u64) + Sync, check: impl FnOnce()) {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // A generator of its own: which byte a cut falls on has to differ, and need not be random.
            let mut state = 1_u64;
            while !done.load(Ordering::Relaxed) {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                work(state >> 33);
            }
        });
        check();
        done.store(true, Ordering::Relaxed);
    });
}

/// A log that is cut at any byte and written again while it is read costs at most itself: the process lives, the other
/// files are read, and what is told of the log is what stood in it at some moment.
#[test]
fn a_log_that_is_cut_while_it_is_read_ends_nothing() {
    TURNS.into_iter().for_each(cut_while_it_is_read);
}

fn cut_while_it_is_read(turns: usize) {
    let looks = 1_200_000 / turns;
    let directory = tempfile::tempdir().unwrap();
    let (path, other) = (directory.path().join("a.jsonl"), directory.path().join("b.jsonl"));
    let whole = log(turns);
    let turns_of = |it: &Source| it.sessions.iter().map(|it| it.totals.len()).sum::<usize>();
    fs::write(&path, &whole).unwrap();
    let all = turns_of(&read(&path));
    assert!(all > 0);
    fs::write(&other, log(3)).unwrap();
    let cut = |random: u64| {
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        file.set_len(random % whole.len() as u64).unwrap();
        fs::write(&path, &whole).unwrap();
    };
    let (mut read_whole, mut cut_short, mut unreadable) = (0, 0, 0);
    meanwhile(cut, || {
        for _ in 0..looks {
            let options = Options { roots: vec![directory.path().to_owned()], ..Options::default() };
            let sources = ingest::read(&options, &BTreeMap::new(), &Progress::default()).sources;
            let find =
                |path: &Path| sources.iter().find(|it| it.path.ends_with(path.file_name().unwrap().to_str().unwrap()));
            assert_eq!(turns_of(find(&other).unwrap()), turns_of(&read(&other)));
            let Some(source) = find(&path) else { continue };
            assert!(turns_of(source) <= all);
            match source.status {
                SourceStatus::Unreadable => unreadable += 1,
                SourceStatus::Parsed if turns_of(source) == all => read_whole += 1,
                _ => cut_short += 1,
            }
            // Zeros that never stood in the file are in nothing that is told of it.
            assert!(!format!("{source:?}").contains("\\0"));
        }
    });
    assert_eq!(read_whole + cut_short + unreadable, looks);
    assert!(cut_short + unreadable > 0, "the test has to cut while it reads");
    assert_eq!(turns_of(&read(&path)), all);
}

/// What takes the place of a log, or leaves it empty, does not reach who reads it.
#[test]
fn a_log_that_is_replaced_or_deleted_while_it_is_read_is_read() {
    TURNS.into_iter().for_each(replaced_while_it_is_read);
}

fn replaced_while_it_is_read(turns: usize) {
    let directory = tempfile::tempdir().unwrap();
    let (path, next) = (directory.path().join("a.jsonl"), directory.path().join("a.next"));
    let whole = log(turns);
    fs::write(&path, &whole).unwrap();
    let replace = |random: u64| {
        if random.is_multiple_of(2) {
            fs::remove_file(&path).unwrap();
        }
        fs::write(&next, &whole).unwrap();
        fs::rename(&next, &path).unwrap();
    };
    meanwhile(replace, || {
        let mut seen = 0;
        while seen < 240_000 / turns {
            let options = Options { roots: vec![path.clone()], ..Options::default() };
            for source in ingest::read(&options, &BTreeMap::new(), &Progress::default()).sources {
                let is_gone = source.status == SourceStatus::Unreadable;
                assert!(is_gone || usize::try_from(source.health.records) == Ok(turns + 1), "{source:?}");
                seen += usize::from(!is_gone);
            }
        }
    });
}

/// A log that grows is taken up to its last whole line, whose rest comes the next time: wherever it was looked at, the
/// end is that of a log that was read once.
#[test]
fn a_log_that_grows_is_read_line_by_line() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.jsonl");
    let sample =
        |it: &Path| it.extension().is_some_and(|it| it == "jsonl") && !it.to_string_lossy().contains("troubled");
    for sample in samples().into_iter().filter(|it| sample(it)) {
        let whole = fs::read(&sample).unwrap();
        fs::write(&path, &whole).unwrap();
        let expected = read(&path);
        let ends: Vec<usize> = whole.iter().enumerate().filter(|(_, it)| **it == b'\n').map(|(at, _)| at + 1).collect();
        let mut known: BTreeMap<String, Source> = BTreeMap::new();
        // After each fifth line, and within the next one.
        let looks = ends.iter().step_by(5).flat_map(|end| [*end, end + 7]).chain([whole.len()]);
        for length in looks.filter(|it| *it <= whole.len()) {
            fs::write(&path, &whole[..length]).unwrap();
            let options = Options { roots: vec![path.clone()], ..Options::default() };
            let taken = ingest::read(&options, &stamps(&known), &Progress::default());
            for source in taken.sources {
                assert!(source.grew || known.is_empty(), "{}: at {length}", sample.display());
                // What is cut is counted once at most, and never for the lines before it.
                known = BTreeMap::from([(source.path.clone(), source)]);
            }
        }
        let last = known.into_values().next().unwrap();
        assert_eq!(last.sessions, expected.sessions, "{}", sample.display());
        assert_eq!(last.health, expected.health, "{}", sample.display());
    }
}

fn stamps(known: &BTreeMap<String, Source>) -> BTreeMap<String, ingest::FileStamp> {
    known.iter().map(|(path, it)| (path.clone(), ingest::FileStamp::of(it))).collect()
}

/// A writer that appends while the log is read: nothing is told that no line holds, and the last look tells all.
#[test]
fn a_log_may_be_written_while_it_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.jsonl");
    fs::write(&path, log(12_000)).unwrap();
    let file = std::sync::Mutex::new(OpenOptions::new().append(true).open(&path).unwrap());
    let append = |random: u64| {
        let mut file: std::sync::MutexGuard<'_, File> = file.lock().unwrap();
        // In two writes, so that a line is seen in part.
        let (first, second) = TURN.as_bytes().split_at(usize::try_from(random).unwrap() % TURN.len());
        file.write_all(first).unwrap();
        std::thread::sleep(std::time::Duration::from_micros(50));
        file.write_all(second).unwrap();
    };
    let mut known: BTreeMap<String, Source> = BTreeMap::new();
    meanwhile(append, || {
        for _ in 0..15 {
            let options = Options { roots: vec![path.clone()], ..Options::default() };
            for source in ingest::read(&options, &stamps(&known), &Progress::default()).sources {
                assert_eq!(source.status, SourceStatus::Parsed);
                assert!(source.health.rejected_lines() <= 1, "{:?}", source.health);
                assert_eq!(source.health.lines, source.health.records + source.health.rejected_lines());
                known = BTreeMap::from([(source.path.clone(), source)]);
            }
        }
    });
    assert_eq!(read(&path).health.rejected_lines(), 0);
    let grown = known.into_values().next().unwrap();
    assert!(grown.grew && grown.health.records > 12_001);
    let tables = reconciled(vec![read(&path)]);
    assert_eq!(tables.sessions.len(), 1);
    assert!(root().is_dir());
}
