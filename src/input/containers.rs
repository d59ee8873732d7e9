//! Tar and zip archives: a list of their members, and the content of each member.
//!
//! A member is read like a file of its own. Nothing is extracted: the name of a member is only a label, the content of a tar
//! member is a range of the archive, and that of a zip member is decompressed like any compressed file. Links, devices and
//! directories have no content and are skipped.

use std::io::{self, Cursor, Read, Seek, SeekFrom};

use memchr::memmem;
use tar::EntryType;
use zip::ZipArchive;
use zip::read::{ZipFile, read_zipfile_from_stream};
use zip::result::ZipError;

use crate::base::time::Time;
use crate::input::open::{self, Budget, Content};
use crate::model::source::name_text;

/// The most members of an archive. The list of so many takes some hundred MB of memory.
pub const MAX_MEMBERS: usize = 1_000_000;

/// How deep archives may be nested: the members of an archive inside an archive are read, but no archive among them.
pub const MAX_DEPTH: usize = 1;

/// The most bytes of a name, or of extended attributes, in a tar archive.
const MAX_NAME: u64 = 1 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Tar,
    Zip,
}

impl Kind {
    fn of(content: &[u8]) -> Option<Self> {
        if content.starts_with(b"PK\x03\x04") || content.starts_with(b"PK\x05\x06") {
            return Some(Self::Zip);
        }
        // A header of tar: text that contains the same word has no NUL before it.
        let (fields, rest) = content.split_at_checked(257)?;
        let is_header = rest.starts_with(b"ustar\0") || rest.starts_with(b"ustar ");
        (is_header && fields.contains(&0)).then_some(Self::Tar)
    }
}

/// Whether a content is that of a tar or zip archive, by its first bytes.
pub fn is_container(content: &[u8]) -> bool {
    Kind::of(content).is_some()
}

/// A file inside an archive.
#[derive(Debug)]
pub struct Member {
    /// Its name, in which `.` and leading `/` are left out. `..` is a part of a name like any other.
    pub name: String,
    /// When it was last written.
    pub modified_at: Option<Time>,
    /// Its size in the archive, as its header states it.
    pub bytes: u64,
    place: Place,
}

#[derive(Debug)]
enum Place {
    /// A range of a tar archive.
    Range { start: u64, length: u64 },
    /// A number in the directory of a zip archive.
    Number(usize),
    /// The offset of a header, in a zip archive without its directory.
    Header(u64),
    /// None that can be read.
    Unreadable(String),
}

/// Why a member cannot be read.
#[derive(Debug)]
pub struct Unreadable {
    /// The reason.
    pub message: String,
    /// Whether the reason is in the archive, so that another attempt gives the same.
    pub is_final: bool,
}

impl Unreadable {
    fn finally(message: impl Into<String>) -> Self {
        Self { message: message.into(), is_final: true }
    }

    fn now(error: &io::Error) -> Self {
        Self { message: error.to_string(), is_final: false }
    }
}

/// A tar or zip archive with its list of members.
pub struct Container<'a> {
    content: &'a Content<'a>,
    zip: Option<ZipArchive<Cursor<&'a [u8]>>>,
    members: Vec<Member>,
    /// Why members may be missing from the list: the archive is cut or damaged.
    pub damage: Option<String>,
}

impl<'a> Container<'a> {
    /// Lists the members of an archive; `None` if the content is not one. Of several members of one name the last one is
    /// kept, as when they are extracted.
    ///
    /// # Errors
    /// When it has more than `most` members.
    pub fn open(content: &'a Content<'a>, most: usize) -> Option<Result<Self, String>> {
        let kind = Kind::of(content)?;
        let mut container = Self { content, zip: None, members: Vec::new(), damage: content.truncated.clone() };
        let listed = match kind {
            Kind::Tar => container.list_tar(most),
            Kind::Zip => container.list_zip(most),
        };
        Some(listed.map(|()| container))
    }

    /// Its members, sorted by name.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// The member of that name.
    pub fn find(&self, name: &str) -> Option<&Member> {
        let index = self.members.binary_search_by(|member| member.name.as_str().cmp(name)).ok()?;
        self.members.get(index)
    }

    /// The content of a member, decompressed.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(&self, member: &Member, budget: &Budget) -> Result<Content<'_>, Unreadable> {
        let content = match &member.place {
            Place::Range { start, length } => self.range(*start, *length),
            Place::Number(number) => {
                let mut zip = self.zip.clone().ok_or_else(|| Unreadable::finally("no directory"))?;
                let member = zip.by_index(*number).map_err(|error| Unreadable::finally(reason(&error)))?;
                open::open_member(member, budget).map_err(|error| Unreadable::now(&error))?
            }
            Place::Header(offset) => {
                let mut reader = Cursor::new(&**self.content);
                reader.set_position(*offset);
                let member =
                    read_zipfile_from_stream(&mut reader).map_err(|error| Unreadable::finally(reason(&error)))?;
                let member = member.ok_or_else(|| Unreadable::finally("no header"))?;
                open::open_member(member, budget).map_err(|error| Unreadable::now(&error))?
            }
            Place::Unreadable(message) => return Err(Unreadable::finally(message)),
        };
        open::decompressed(content, budget).map_err(|error| Unreadable::now(&error))
    }

    fn range(&self, start: u64, length: u64) -> Content<'_> {
        // What is beyond the memory's addresses is beyond the content.
        let address = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
        let end = start.saturating_add(length);
        let mut content = self.content.part(address(start)..address(end));
        if end > self.content.len() as u64 {
            content.truncated = Some("the archive ends inside it".to_owned());
        }
        content
    }

    fn list_tar(&mut self, most: usize) -> Result<(), String> {
        let mut archive = tar::Archive::new(Headers { content: Cursor::new(self.content), read: 0 });
        // Archives that were written one after another are one.
        archive.set_ignore_zeros(true);
        let entries = archive.entries_with_seek().map_err(|error| error.to_string())?;
        for (count, entry) in entries.enumerate() {
            if count == most {
                return Err(too_many(most));
            }
            let mut entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    self.note(&format!("the tar archive is damaged: {error}"));
                    break;
                }
            };
            let name = name_text(&entry.path_bytes());
            let (start, length) = (entry.raw_file_position(), entry.size());
            let is_sparse = entry.pax_extensions().ok().flatten().is_some_and(|mut extensions| {
                extensions.any(|it| it.is_ok_and(|it| it.key_bytes().starts_with(b"GNU.sparse.")))
            });
            let place = match entry.header().entry_type() {
                EntryType::GNUSparse => Place::Unreadable("a sparse file".to_owned()),
                EntryType::Regular | EntryType::Continuous if is_sparse => {
                    Place::Unreadable("a sparse file".to_owned())
                }
                EntryType::Regular | EntryType::Continuous => Place::Range { start, length },
                _ => continue,
            };
            let seconds = entry.header().mtime().ok().filter(|it| *it > 0);
            self.add(&name, seconds, length, place);
        }
        self.sort();
        // Two blocks of zeros are its end.
        if !self.content.last_chunk::<512>().is_some_and(|block| block.iter().all(|it| *it == 0)) {
            self.note("the end of the archive is missing");
        }
        Ok(())
    }

    fn list_zip(&mut self, most: usize) -> Result<(), String> {
        let content = &**self.content;
        // Each entry of the directory begins like this. Counted before the directory is read into memory.
        if memmem::find_iter(content, b"PK\x01\x02").take(most.saturating_add(1)).count() > most {
            return Err(too_many(most));
        }
        match ZipArchive::new(Cursor::new(content)) {
            Ok(mut zip) => {
                for number in 0..zip.len() {
                    let listed = zip.by_index_raw(number).map(|file| of_zip(&file)).map_err(|error| reason(&error));
                    match listed {
                        Ok(Some((name, seconds, bytes))) => self.add(&name, seconds, bytes, Place::Number(number)),
                        Ok(None) => {}
                        Err(message) => {
                            let name = zip.name_for_index(number).unwrap_or_default().to_owned();
                            self.add(&name, None, 0, Place::Unreadable(message));
                        }
                    }
                }
                self.zip = Some(zip);
            }
            Err(error) => {
                self.list_headers();
                self.note(&format!("the directory of the archive is missing or damaged; {}", reason(&error)));
            }
        }
        self.sort();
        Ok(())
    }

    /// Lists the members of a zip archive by their own headers, which precede them, up to the first that is damaged or has no
    /// size.
    fn list_headers(&mut self) {
        let mut reader = Cursor::new(&**self.content);
        loop {
            let offset = reader.position();
            let Ok(Some(file)) = read_zipfile_from_stream(&mut reader) else { return };
            if let Some((name, seconds, bytes)) = of_zip(&file) {
                self.add(&name, seconds, bytes, Place::Header(offset));
            }
        }
    }

    fn add(&mut self, name: &str, seconds: Option<u64>, bytes: u64, place: Place) {
        let parts: Vec<&str> = name.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
        // Old programs store a directory as an empty file whose name ends like this.
        if name.ends_with('/') || parts.is_empty() {
            return;
        }
        let micros = seconds.and_then(|it| i64::try_from(it).ok()?.checked_mul(1_000_000));
        self.members.push(Member { name: parts.join("/"), modified_at: micros.map(Time::from_micros), bytes, place });
    }

    fn sort(&mut self) {
        self.members.sort_by(|a, b| a.name.cmp(&b.name));
        // The sort is stable, and the first of equal members stays: so the last one takes its place.
        self.members.dedup_by(|later, earlier| {
            let is_same = later.name == earlier.name;
            if is_same {
                std::mem::swap(later, earlier);
            }
            is_same
        });
    }

    fn note(&mut self, message: &str) {
        self.damage.get_or_insert_with(|| message.to_owned());
    }
}

fn too_many(most: usize) -> String {
    format!("more than {most} members")
}

/// The name, the time and the compressed size of a member of a zip archive; `None` if it is not a file.
fn of_zip<R: Read>(file: &ZipFile<'_, R>) -> Option<(String, Option<u64>, u64)> {
    const TYPE: u32 = 0o170_000;
    const REGULAR: u32 = 0o100_000;
    let is_file = file.unix_mode().is_none_or(|mode| matches!(mode & TYPE, 0 | REGULAR));
    // The other time of a zip archive has no time zone.
    let seconds = file.extra_data_fields().find_map(|field| match field {
        zip::ExtraField::ExtendedTimestamp(times) => times.mod_time().map(u64::from),
        // In units of 100 nanoseconds since 1601.
        zip::ExtraField::Ntfs(times) => (times.mtime() / 10_000_000).checked_sub(11_644_473_600),
    });
    is_file.then(|| (name_text(file.name_raw()), seconds, file.compressed_size()))
}

fn reason(error: &ZipError) -> String {
    match error {
        ZipError::UnsupportedArchive(ZipError::PASSWORD_REQUIRED) | ZipError::InvalidPassword => {
            "it is encrypted".to_owned()
        }
        ZipError::CompressionMethodNotSupported(method) => format!("compression method {method} is not supported"),
        ZipError::InvalidArchive(cause) => format!("not a valid zip archive: {cause}"),
        ZipError::UnsupportedArchive(cause) => format!("a zip archive of a kind that is not supported: {cause}"),
        ZipError::Io(error) => error.to_string(),
        other => other.to_string(),
    }
}

/// What the headers of a tar archive are read from. Each header is found by a seek and is short, but for a long name: a name of
/// gigabytes would be read into memory.
struct Headers<'a> {
    content: Cursor<&'a [u8]>,
    /// Bytes read since the last seek.
    read: u64,
}

impl Read for Headers<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.content.read(buffer)?;
        self.read += read as u64;
        if self.read > MAX_NAME { Err(io::Error::other("a name of more than 1 MiB")) } else { Ok(read) }
    }
}

impl Seek for Headers<'_> {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        self.read = 0;
        self.content.seek(position)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use zip::write::SimpleFileOptions;

    use super::*;
    use crate::input::open::Limit;

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

    const FILES: &[(&str, &[u8])] =
        &[("a/b.jsonl", b"{}\n"), ("c", b"some text, some text, some text"), ("empty", b"")];

    fn opened(bytes: &[u8]) -> Content<'static> {
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
        zip.add_directory("folder", SimpleFileOptions::default()).unwrap();
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
    fn damaged_archives_are_named_as_such() {
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
        assert_eq!(
            listed(&long.into_inner().unwrap()).1.as_deref(),
            Some("the tar archive is damaged: a name of more than 1 MiB")
        );
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
}
