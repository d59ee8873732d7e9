//! Archives that are complete, cut, damaged, hostile or too large.

use std::io::{self, Cursor, Write};

use memchr::memmem;
use tar::EntryType;
use zip::write::SimpleFileOptions;

use super::*;
use crate::input::open::{self, Budget, FileContent, Limit};

/// A tar archive. Names that a library would refuse to write are written as well.
fn tar(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, content) in files {
        let header = header(name, content.len(), EntryType::Regular);
        builder.append(&header, *content).unwrap();
    }
    builder.into_inner().unwrap()
}

fn header(name: &str, size: usize, kind: EntryType) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
    header.set_size(size as u64);
    header.set_mode(0o644);
    header.set_mtime(1_760_000_000);
    header.set_entry_type(kind);
    header.set_cksum();
    header
}

fn zip(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in files {
        zip.start_file(*name, SimpleFileOptions::default()).unwrap();
        zip.write_all(content).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

const FILES: &[(&str, &[u8])] = &[("a/b.jsonl", b"{}\n"), ("c", b"some text, some text, some text"), ("empty", b"")];

fn opened(bytes: &[u8]) -> FileContent<'static> {
    open::open_member(bytes, &Budget::new(Limit::Usual, 0)).unwrap()
}

/// Names, and the contents or the reasons why there is none, and the damage.
fn listed(bytes: &[u8]) -> (Vec<String>, Option<String>) {
    let content = opened(bytes);
    let Some(container) = Container::open(&content, 100) else { return (Vec::new(), None) };
    let container = match container {
        Ok(container) => container,
        Err(error) => return (Vec::new(), Some(error)),
    };
    let budget = Budget::new(Limit::Bytes(1 << 20), 0);
    let shown = container.members().iter().map(|member| match container.read(member, &budget) {
        Ok(content) => {
            let cut = content.truncated.as_ref().map(|it| format!(" ({it})")).unwrap_or_default();
            format!("{}={}{cut}", member.name, String::from_utf8_lossy(&content).escape_debug())
        }
        Err(error) => format!("{}: {}", member.name, error.message),
    });
    (shown.collect(), container.damage)
}

#[test]
fn tar_and_zip_archives_have_the_same_members() {
    let expected = ["a/b.jsonl={}\\n", "c=some text, some text, some text", "empty="];
    for bytes in [tar(FILES), zip(FILES)] {
        assert!(is_container(&bytes));
        assert_eq!(listed(&bytes), (expected.map(str::to_owned).to_vec(), None));
    }
    let text = format!("{}ustar is a word", "x".repeat(257));
    assert!(!is_container(text.as_bytes()) && !is_container(b"PK") && !is_container(b""));
}

#[test]
fn a_name_is_a_label_and_the_last_of_its_kind() {
    let names: &[(&str, &[u8])] =
        &[("../../x", b"1"), ("/etc/x", b"2"), ("./y", b"3"), ("y", b"4"), ("d/", b""), ("a//b", b"5")];
    assert_eq!(listed(&tar(names)).0, ["../../x=1", "a/b=5", "etc/x=2", "y=4"]);
    let mut long = tar::Builder::new(Vec::new());
    let name = "n".repeat(300);
    let mut header = header("", 1, EntryType::Regular);
    long.append_data(&mut header, &name, &b"6"[..]).unwrap();
    assert_eq!(listed(&long.into_inner().unwrap()).0, [format!("{name}=6")]);
}

#[test]
fn links_devices_and_directories_are_skipped() {
    let mut builder = tar::Builder::new(Vec::new());
    for kind in [EntryType::Link, EntryType::Symlink, EntryType::Fifo, EntryType::Char, EntryType::Directory] {
        let mut header = header("x", 0, kind);
        header.set_link_name("/etc/passwd").unwrap();
        header.set_cksum();
        builder.append(&header, io::empty()).unwrap();
    }
    builder.append(&header("log", 2, EntryType::Regular), &b"{}"[..]).unwrap();
    assert_eq!(listed(&builder.into_inner().unwrap()), (vec!["log={}".to_owned()], None));
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    zip.add_symlink("link", "/etc/passwd", SimpleFileOptions::default()).unwrap();
    zip.add_directory("directory", SimpleFileOptions::default()).unwrap();
    assert_eq!(listed(&zip.finish().unwrap().into_inner()), (Vec::new(), None));
}

/// The same two bytes in the header of a member and in the directory, at offsets of each.
fn patched(mut zip: Vec<u8>, local: usize, central: usize, value: u16) -> Vec<u8> {
    let directory = memmem::find(&zip, b"PK\x01\x02").unwrap();
    for at in [local, directory + central] {
        zip[at..at + 2].copy_from_slice(&value.to_le_bytes());
    }
    zip
}

#[test]
fn damaged_archives_are_reported_as_such() {
    let zip = listed(b"PK\x03\x04 no directory").1.unwrap();
    assert!(zip.contains("not a valid zip archive: "), "{zip}");
    let mut tar = tar(FILES);
    tar[148..156].copy_from_slice(b"xxxxxxxx");
    let damage = listed(&tar).1.unwrap();
    assert!(damage.starts_with("the tar archive is damaged: "), "{damage}");
}

#[test]
fn what_cannot_be_read_is_named_with_its_reason() {
    let zip = zip(FILES);
    let encrypted = listed(&patched(zip.clone(), 6, 8, 1)).0;
    assert_eq!(encrypted[..2], ["a/b.jsonl: it is encrypted", "c=some text, some text, some text"]);
    let unknown = listed(&patched(zip.clone(), 8, 10, 98)).0;
    assert_eq!(unknown[0], "a/b.jsonl: compression method 98 is not supported");
    // A checksum that is wrong.
    let wrong = listed(&patched(zip, 14, 16, 7)).0;
    assert_eq!(wrong[0], "a/b.jsonl={}\\n (Invalid checksum)");
    let mut sparse = tar::Builder::new(Vec::new());
    let mut header = header("s", 0, EntryType::GNUSparse);
    header.as_gnu_mut().unwrap().set_real_size(0);
    header.set_cksum();
    sparse.append(&header, io::empty()).unwrap();
    assert_eq!(listed(&sparse.into_inner().unwrap()).0, ["s: a sparse file"]);
}

#[test]
fn a_list_has_its_limits() {
    for bytes in [tar(FILES), zip(FILES)] {
        let content = opened(&bytes);
        let error = Container::open(&content, 2).unwrap().err();
        assert_eq!(error.as_deref(), Some("more than 2 members"));
        assert!(Container::open(&content, 3).unwrap().is_ok());
    }
    let mut long = tar::Builder::new(Vec::new());
    let size = 3 << 20;
    long.append(&header("././@LongLink", size, EntryType::GNULongName), &*vec![b'n'; size]).unwrap();
    let damage = listed(&long.into_inner().unwrap()).1;
    assert_eq!(damage.as_deref(), Some("the tar archive is damaged: a name of more than 1 MiB"));
}

/// Members share a budget.
#[test]
fn a_bomb_is_no_archive() {
    let zeros = vec![0; 700_000];
    let bomb = zip(&[("a", &zeros), ("b", &zeros), ("c", b"text")]);
    assert!(bomb.len() < 10_000);
    let shown = listed(&bomb).0;
    assert!(shown[0].starts_with("a=\\0"));
    assert_eq!(shown[1], "b: decompresses to more than 1 MiB; --max-decompressed SIZE allows more");
    assert_eq!(shown[2], "c=text");
}

/// Before the cut all is there, and the cut is reported.
#[test]
fn an_archive_that_is_cut_keeps_what_was_before() {
    for bytes in [tar(FILES), zip(FILES)] {
        let whole = listed(&bytes).0;
        let mut most = 0;
        for length in 0..bytes.len() {
            let (members, damage) = listed(&bytes[..length]);
            // Of the end of a tar archive, all but the last block may be missing.
            let is_tar_end = bytes.starts_with(b"a/b") && length > 4 * 512 + 512 + 511;
            assert!(damage.is_some() || is_tar_end || !is_container(&bytes[..length]), "{length}");
            for (member, whole) in members.iter().zip(&whole) {
                let is_cut = member.ends_with(')') || member.contains(": ");
                assert!(member == whole || is_cut, "{length}: {member}");
            }
            most = most.max(members.len());
        }
        assert_eq!(most, FILES.len());
    }
}

#[test]
fn any_bytes_are_read_or_refused() {
    let archives = [tar(FILES), zip(FILES), tar(&[("inner.zip", &zip(FILES))])];
    let mut state = 1_u64;
    let mut random = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap()
    };
    for bytes in archives {
        for _ in 0..3000 {
            let mut broken = bytes.clone();
            for _ in 0..=random() % 4 {
                let at = random() % broken.len();
                broken[at] = u8::try_from(random() % 256).unwrap();
            }
            let _ = listed(&broken);
        }
    }
}
