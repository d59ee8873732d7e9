//! Tests of the pipeline.

use std::fs;

use super::*;
use crate::input::open::Limit;

const LOG: &str = r#"{"type":"thread.started","thread_id":"th1"}
{"type":"turn.started"}
{"type":"turn.completed","usage":{"input_tokens":3,"cached_input_tokens":0,"output_tokens":5}}
"#;

fn options(root: &Path) -> Options {
    Options { roots: vec![root.to_owned()], ..Options::default() }
}

fn known(sources: &[Source]) -> BTreeMap<String, FileStamp> {
    sources.iter().map(|it| (it.path.clone(), FileStamp::of(it))).collect()
}

#[test]
fn a_file_is_read_again_only_when_there_may_be_more_to_it() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("a.jsonl"), LOG).unwrap();
    let options = options(directory.path());
    let first = read(&options, &BTreeMap::new(), &Progress::default()).sources;
    let unchanged = |change: fn(&mut Source)| {
        let mut sources = first.clone();
        sources.iter_mut().for_each(change);
        read(&options, &known(&sources), &Progress::default()).unchanged.len()
    };
    assert_eq!(unchanged(|_| ()), 1);
    assert_eq!(unchanged(|it| it.status = SourceStatus::Unreadable), 0);
    assert_eq!(unchanged(|it| it.options = "written by another version".to_owned()), 0);
}

#[test]
fn a_sidecar_is_of_the_log_of_its_name() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(directory.path().join(name), text).unwrap();
    write("run.meta.json", r#"{"labels":{"of":"run"}}"#);
    for name in ["run", "run.jsonl", "run.retry.jsonl", "run.json.zst", "run.txt.gz", "run.out"] {
        write(name, LOG);
    }
    let mut sources = read(&options(directory.path()), &BTreeMap::new(), &Progress::default()).sources;
    sources.retain(|it| it.sessions.iter().any(|it| it.labels.contains("of=run")));
    let mut names: Vec<_> = sources.iter().filter_map(|it| it.path.rsplit(['/', '\\']).next()).collect();
    names.sort_unstable();
    assert_eq!(names, ["run", "run.json.zst", "run.jsonl", "run.txt.gz"]);
}

/// Gemini CLI keeps the directory of a project in a file beside the directory of its chats.
#[test]
fn a_project_root_is_the_directory_of_the_chats_beside_it() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = directory.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let chat = |id: &str| {
        format!(
            r#"{{"sessionId":"{id}","projectHash":"h","startTime":"2026-10-02T08:00:00Z"}}
{{"id":"a{id}","timestamp":"2026-10-02T08:00:02Z","type":"gemini","content":"Done.","model":"m","tokens":{{"input":9,"output":9,"total":18}}}}
"#
        )
    };
    write("tmp/web/.project_root", "/work/web\n");
    write("tmp/web/chats/session-1.jsonl", &chat("s1"));
    write("tmp/web/chats/s1/s2.jsonl", &chat("s2"));
    write("tmp/web/other/session-3.jsonl", &chat("s3"));
    write("tmp/shop/chats/session-4.jsonl", &chat("s4"));
    let sources = read(&options(directory.path()), &BTreeMap::new(), &Progress::default()).sources;
    let root = sources.iter().find(|source| source.path.ends_with(".project_root")).unwrap();
    assert_eq!(root.status, SourceStatus::Auxiliary);
    let sessions = sources.iter().flat_map(|source| &source.sessions);
    let mut places: Vec<_> = sessions.map(|it| (it.session_id.as_str(), it.cwd.as_deref())).collect();
    places.sort_unstable();
    let cwd = Some("/work/web");
    assert_eq!(places, [("s1", cwd), ("s2", cwd), ("s3", None), ("s4", None)]);
}

#[test]
fn a_sidecar_that_cannot_be_parsed_is_named() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("run.jsonl"), LOG).unwrap();
    let status = |text: &str| {
        fs::write(directory.path().join("run.meta.json"), text).unwrap();
        let sources = read(&options(directory.path()), &BTreeMap::new(), &Progress::default()).sources;
        let sidecar = sources.iter().find(|it| it.path.ends_with("run.meta.json")).unwrap();
        let cwd = sources.iter().find_map(|it| it.sessions.first()?.cwd.clone());
        (sidecar.status, sidecar.message.is_some(), cwd)
    };
    let cwd = Some("/w".to_owned());
    assert_eq!(status("\u{feff}{\"cwd\":\"/w\"}"), (SourceStatus::Auxiliary, false, cwd));
    assert_eq!(status("{\"cwd\":\"/w\",}"), (SourceStatus::Unreadable, true, None));
}

#[test]
fn a_file_of_an_unsupported_compression_is_unreadable() {
    let directory = tempfile::tempdir().unwrap();
    let inspected = |bytes: &[u8]| {
        fs::write(directory.path().join("a"), bytes).unwrap();
        let source = inspect(directory.path(), &Options::default(), Inspection::None).0.remove(0).source;
        (source.status, source.message.unwrap_or_default())
    };
    let contents = [
        ("xz", &b"\xFD7zXZ\0\0"[..]),
        ("bzip2", b"BZh91AY&SY.."),
        ("7z", b"7z\xBC\xAF\x27\x1C"),
        ("rar", b"Rar!\x1A\x07"),
    ];
    for (name, bytes) in contents {
        let message = format!("compressed with {name}, which is not read; decompress it first");
        assert_eq!(inspected(bytes), (SourceStatus::Unreadable, message));
    }
    assert_eq!(inspected(b"BZh is a word").0, SourceStatus::Unrecognised);
}

#[test]
fn an_archive_is_incomplete_if_one_inside_it_is() {
    let tar = |name: &str, content: &[u8]| {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        let mut builder = tar::Builder::new(Vec::new());
        builder.append_data(&mut header, name, content).unwrap();
        builder.into_inner().unwrap()
    };
    let log = zstd::encode_all(LOG.as_bytes(), 1).unwrap();
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("outer.tar"), tar("inner.tar", &tar("a.jsonl.zst", &log))).unwrap();
    let mut options = options(directory.path());
    options.limit = Limit::Bytes(10);
    let first = known(&read(&options, &BTreeMap::new(), &Progress::default()).sources);
    options.limit = Limit::Usual;
    let again = read(&options, &first, &Progress::default()).sources;
    assert_eq!(again.iter().map(|source| source.sessions.len()).sum::<usize>(), 1);
}

#[test]
fn an_index_of_sessions_is_not_a_log() {
    let directory = tempfile::tempdir().unwrap();
    let status = |name: &str, text: &str| {
        fs::write(directory.path().join(name), text).unwrap();
        inspect(&directory.path().join(name), &Options::default(), Inspection::None).0[0].source.status
    };
    let index = "{\n  \"agent:main:main\": {\n    \"sessionId\": \"s1\", \"inputTokens\": 7 } }";
    assert_eq!(status("sessions.json", index), SourceStatus::Auxiliary);
    let pointer = r#"{"traceSchema":"openclaw-trajectory-pointer","runtimeFile":"/a.jsonl"}"#;
    assert_eq!(status("s1.trajectory-path.json", pointer), SourceStatus::Auxiliary);
    assert_eq!(status("other.json", r#"{"a":{"sessionId":"s1"},"b":{}}"#), SourceStatus::Unrecognised);
    assert_eq!(status("none.json", "{}"), SourceStatus::Unrecognised);
}

#[test]
fn an_inspection_of_a_directory_shows_every_file_in_it() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("a.jsonl"), LOG).unwrap();
    fs::write(directory.path().join("b"), "x").unwrap();
    let (files, errors) = inspect(directory.path(), &Options::default(), Inspection::None);
    let shown: Vec<_> = files.iter().map(|file| (file.source.status, file.claims.is_empty())).collect();
    assert_eq!(shown, [(SourceStatus::Parsed, false), (SourceStatus::Unrecognised, true)]);
    assert!(errors.is_empty());
    assert_eq!(inspect(&directory.path().join("c"), &Options::default(), Inspection::None).1.len(), 1);
}

#[cfg(unix)]
#[test]
fn a_pipe_is_read_when_it_is_asked_for() {
    let directory = tempfile::tempdir().unwrap();
    let pipe = directory.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    // In a directory it is skipped, as it may have no writer.
    assert!(read(&options(directory.path()), &BTreeMap::new(), &Progress::default()).sources.is_empty());
    let taken = std::thread::scope(|scope| {
        scope.spawn(|| fs::write(&pipe, LOG).unwrap());
        read(&options(&pipe), &BTreeMap::new(), &Progress::default())
    });
    assert_eq!((taken.errors.len(), taken.sources[0].bytes), (0, i64::try_from(LOG.len()).unwrap()));
    assert_eq!(taken.sources[0].sessions[0].session_id, "th1");
    let socket = directory.path().join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let taken = read(&options(&socket), &BTreeMap::new(), &Progress::default());
    assert!(matches!(&taken.errors[..], [discover::Error::Unreadable { .. }]));
}
