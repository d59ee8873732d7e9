//! An archive with damaged files: it is read, or refused with an error.
#![no_main]

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use agentlogs::store::archive::Archive;
use agentlogs_fuzz::{SAMPLES, rules};
use libfuzzer_sys::fuzz_target;

/// The files of an archive of some samples.
static FILES: LazyLock<Vec<(PathBuf, Vec<u8>)>> = LazyLock::new(|| {
    let directory = tempfile::tempdir().unwrap();
    let archive = Archive::at(directory.path());
    let writer = archive.write().unwrap();
    for source in rules::sources(SAMPLES.iter().take(8).map(|it| rules::parse(it)).collect()) {
        writer.add(source);
    }
    writer.commit().unwrap();
    let files = walkdir::WalkDir::new(directory.path()).sort_by_file_name().into_iter().filter_map(Result::ok);
    let files = files.filter(|it| it.file_type().is_file());
    files.map(|it| (it.path().strip_prefix(directory.path()).unwrap().to_owned(), fs::read(it.path()).unwrap())).collect()
});

fuzz_target!(|damage: (u8, Vec<(u16, u8)>, Option<u16>)| {
    let (file, bytes, cut) = damage;
    let (name, whole) = &FILES[usize::from(file) % FILES.len()];
    let mut broken = whole.clone();
    for (at, byte) in bytes {
        let length = broken.len().max(1);
        if let Some(it) = broken.get_mut(usize::from(at) % length) {
            *it = byte;
        }
    }
    if let Some(cut) = cut {
        broken.truncate(usize::from(cut));
    }
    let directory = tempfile::tempdir().unwrap();
    for (path, bytes) in FILES.iter() {
        let path = directory.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    fs::write(directory.path().join(name), broken).unwrap();
    std::os::unix::fs::symlink("generation-1", directory.path().join("current")).unwrap();
    let archive = Archive::at(directory.path());
    // Also writing to it does no harm.
    let _ = archive.check();
    let _ = archive.write().and_then(agentlogs::store::archive::Writer::commit);
    let _ = archive.facts();
    let _ = archive.catalog();
    for (_, table) in archive.tables().into_iter().flatten() {
        let _ = table.collect();
    }
});
