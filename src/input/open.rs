//! A file to bytes: mapped, read, or decompressed.

use std::cell::Cell;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::{Deref, Range};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use memmap2::MmapMut;

use crate::input::mapped::Mapped;

/// Smaller files are read, into a buffer that the thread keeps: each page that is mapped, and taken away again, costs more than
/// to copy it.
const MAP_FROM: u64 = 1 << 22;

/// Buffers of all threads together, where these are many.
const BUFFERS: u64 = 64 << 20;

/// What is decompressed beyond this goes to a temporary file, which needs no memory.
const IN_MEMORY: usize = 32 << 20;

/// How a file was compressed, by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// RFC 1952.
    Gzip,
    /// RFC 8878.
    Zstd,
}

impl Compression {
    /// The word in `sources`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        }
    }

    fn of(head: &[u8]) -> Option<Self> {
        match head {
            [0x1f, 0x8b, ..] => Some(Self::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Self::Zstd),
            _ => None,
        }
    }
}

/// How much a compressed file or a pipe may give before it is no log but a bomb.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Limit {
    /// 8 GiB, and beyond 256 MiB no more than 200 times what the file holds. Real logs reach some 30 times, streams that
    /// repeat each message as it grows 100 times.
    #[default]
    Usual,
    /// So many bytes, whatever the file holds.
    Bytes(u64),
}

impl Limit {
    fn of(self, compressed: u64) -> u64 {
        match self {
            Self::Usual => compressed.saturating_mul(200).clamp(256 << 20, 8 << 30),
            Self::Bytes(bytes) => bytes,
        }
    }
}

/// How many bytes may still be decompressed. Several threads may share one: the members of an archive do.
#[derive(Debug)]
pub struct Budget {
    most: u64,
    left: AtomicU64,
}

impl Budget {
    /// The limit for what a file of so many bytes contains.
    pub fn new(limit: Limit, compressed: u64) -> Self {
        let most = limit.of(compressed);
        Self { most, left: AtomicU64::new(most) }
    }

    /// Takes some of it, unless less is left.
    fn take(&self, bytes: u64) -> bool {
        let taken = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes));
        taken.is_ok()
    }
}

/// The content of a file, or of a part of one.
#[derive(Debug)]
pub struct Content<'a> {
    bytes: Bytes<'a>,
    /// How it was compressed.
    pub compression: Option<Compression>,
    /// Why decompression stopped before the end, if it did; what came before stands.
    pub truncated: Option<String>,
    /// Its size on disk when it was opened.
    pub stored: u64,
    /// When it was last written, as it was opened.
    pub modified: Option<SystemTime>,
    /// Whether there was less to read than that size.
    is_cut: bool,
}

#[derive(Debug)]
enum Bytes<'a> {
    Mapped(Mapped),
    /// What was read, and how much it is.
    Read(Buffer, usize),
    Owned(Vec<u8>),
    /// A range of another content.
    Part(&'a Content<'a>, Range<usize>),
}

/// Memory of the system's own to read a file into. Some processors take three times as long to copy to memory that begins a few
/// bytes behind a page, as an allocator's may.
type Buffer = MmapMut;

impl<'a> Content<'a> {
    fn new(bytes: Bytes<'a>, stored: u64) -> Self {
        Self { bytes, compression: None, truncated: None, stored, modified: None, is_cut: false }
    }

    /// A range of it, without a copy. What is outside of the content is missing from the part.
    #[must_use]
    pub fn part(&'a self, range: Range<usize>) -> Self {
        let end = range.end.min(self.len());
        let start = range.start.min(end);
        Self::new(Bytes::Part(self, start..end), (end - start) as u64)
    }

    /// Whether a part of the file was gone when it was read, so that what was read never stood there. To be asked last.
    pub fn is_damaged(&self) -> bool {
        self.is_cut
            || match &self.bytes {
                Bytes::Mapped(map) => map.is_damaged(),
                Bytes::Part(whole, _) => whole.is_damaged(),
                Bytes::Read(..) | Bytes::Owned(_) => false,
            }
    }

    /// What stands from one place to another was read: its memory is given back. It may be read again.
    pub fn release(&self, from: usize, to: usize) {
        match &self.bytes {
            Bytes::Mapped(map) => map.release(from, to),
            Bytes::Part(whole, range) => whole.release(range.start + from, range.start + to),
            Bytes::Read(..) | Bytes::Owned(_) => {}
        }
    }
}

impl Deref for Content<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Mapped(map) => map,
            Bytes::Read(buffer, length) => buffer.get(..*length).unwrap_or_default(),
            Bytes::Owned(bytes) => bytes,
            Bytes::Part(whole, range) => whole.get(range.clone()).unwrap_or_default(),
        }
    }
}

thread_local! {
    /// What the last file of the thread was read into: fresh memory costs as much as the reading.
    static BUFFER: Cell<Option<Buffer>> = const { Cell::new(None) };
}

impl Drop for Content<'_> {
    fn drop(&mut self) {
        if let Bytes::Read(buffer, _) = std::mem::replace(&mut self.bytes, Bytes::Owned(Vec::new()))
            && buffer.len() as u64 <= map_from()
        {
            BUFFER.set(Some(buffer));
        }
    }
}

fn map_from() -> u64 {
    (BUFFERS / rayon::current_num_threads() as u64).clamp(1 << 17, MAP_FROM)
}

/// Gives back what threads keep for the next file, while others go on. To be called when there is none.
pub fn drop_buffers() {
    rayon::spawn_broadcast(|_| drop(BUFFER.take()));
}

/// Memory for so many bytes.
fn buffer(length: usize) -> io::Result<Buffer> {
    let kept = BUFFER.take().filter(|it| it.len() >= length);
    let room = usize::try_from(map_from()).unwrap_or(0);
    kept.map_or_else(|| MmapMut::map_anon(length.max(room)), Ok)
}

/// Opens a regular file and decompresses it if its first bytes say so, whatever its name says.
///
/// # Errors
/// When it is no regular file, cannot be opened or read, or decompresses to more than the limit. A compressed file that
/// is cut is no error: see [`Content::truncated`].
pub fn open(path: &Path, limit: Limit) -> io::Result<Content<'static>> {
    let mut file = open_file(path)?;
    let metadata = file.metadata()?;
    let stored = metadata.len();
    let map = match usize::try_from(stored) {
        Ok(length) if stored >= map_from() => Mapped::new(&file, length)?,
        _ => None,
    };
    let (bytes, is_cut) = match (map, usize::try_from(stored)) {
        (Some(map), _) => (Bytes::Mapped(map), false),
        // The size of a file of the kernel's own says nothing.
        (None, Ok(length @ 1..)) => read(&mut file, length)?,
        (None, _) => {
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            (Bytes::Owned(bytes), false)
        }
    };
    let mut content = Content::new(bytes, stored);
    (content.modified, content.is_cut) = (metadata.modified().ok(), is_cut);
    decompressed(content, &Budget::new(limit, stored))
}

/// Reads as much as a file held when it was opened, and says whether there was less. What is appended meanwhile is for the next
/// time.
fn read(file: &mut File, stored: usize) -> io::Result<(Bytes<'static>, bool)> {
    let mut buffer = buffer(stored)?;
    let mut read = 0;
    while let Some(rest) = buffer.get_mut(read..stored).filter(|it| !it.is_empty()) {
        match file.read(rest) {
            Ok(0) => break,
            Ok(more) => read += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok((Bytes::Read(buffer, read), read < stored))
}

/// Reads a pipe or a device to its end, and decompresses it.
///
/// # Errors
/// When it cannot be read, or gives more than the limit.
pub fn open_stream(path: &Path, limit: Limit) -> io::Result<Content<'static>> {
    read_stream(File::open(path)?, limit)
}

/// Reads standard input to its end, and decompresses it.
///
/// # Errors
/// When it cannot be read, or gives more than the limit.
pub fn open_stdin(limit: Limit) -> io::Result<Content<'static>> {
    read_stream(io::stdin().lock(), limit)
}

fn read_stream(stream: impl Read, limit: Limit) -> io::Result<Content<'static>> {
    // It may have no end.
    let budget = Budget::new(limit, u64::MAX);
    let mut out = Spill::default();
    match out.fill(stream, &budget) {
        Ok(()) => {}
        Err(Stop::TooMuch) => return Err(too_much("gives", budget.most)),
        Err(Stop::Damaged(error) | Stop::Unwritten(error)) => return Err(error),
    }
    let bytes = out.finish()?;
    let mut content = Content::new(bytes, 0);
    content.stored = content.len() as u64;
    let budget = Budget::new(limit, content.stored);
    decompressed(content, &budget)
}

/// Reads what a member of an archive is decompressed to. If it is damaged, what came before the damage is kept.
///
/// # Errors
/// When it is more than the budget, or cannot be stored.
pub fn open_member(member: impl Read, budget: &Budget) -> io::Result<Content<'static>> {
    let mut out = Spill::default();
    let truncated = out.fill_from(member, budget)?;
    let mut content = Content::new(out.finish()?, 0);
    content.stored = content.len() as u64;
    content.truncated = truncated;
    Ok(content)
}

/// Opens a regular file. What looked like one may be a pipe by now, for whose writer one would wait.
///
/// # Errors
/// When it is something else, or cannot be opened.
pub fn open_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK);
    let file = options.open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("no regular file")) }
}

fn too_much(what: &str, most: u64) -> io::Error {
    let size = if most >> 20 > 0 { format!("{} MiB", most >> 20) } else { format!("{most} bytes") };
    io::Error::other(format!("{what} more than {size}; --max-decompressed SIZE allows more"))
}

/// Decompresses a content if its first bytes say so.
///
/// # Errors
/// When it is more than the budget, or cannot be stored.
pub fn decompressed<'a>(content: Content<'a>, budget: &Budget) -> io::Result<Content<'a>> {
    let Some(compression) = Compression::of(&content) else { return Ok(content) };
    let mut out = Spill::default();
    let truncated = match compression {
        Compression::Gzip => out.fill_from(flate2::read::MultiGzDecoder::new(&*content), budget)?,
        Compression::Zstd => out.fill_from(zstd::stream::read::Decoder::with_buffer(&*content)?, budget)?,
    };
    if content.is_damaged() {
        return Err(io::Error::other(CUT));
    }
    let mut decompressed = Content::new(out.finish()?, content.stored);
    decompressed.compression = Some(compression);
    decompressed.truncated = truncated.or_else(|| content.truncated.clone());
    decompressed.modified = content.modified;
    Ok(decompressed)
}

/// Why a file that was cut while it was read tells nothing.
pub const CUT: &str = "it was cut short while it was read";

/// Where decompressed bytes go: memory, and behind its bound an unnamed file.
#[derive(Default)]
struct Spill {
    memory: Vec<u8>,
    file: Option<File>,
}

/// The log is not to blame.
fn no_temporary_file(error: &io::Error) -> io::Error {
    let folder = std::env::temp_dir();
    let message = format!("no temporary file in {}: {error}; set TMPDIR to another directory", folder.display());
    io::Error::new(error.kind(), message)
}

/// Why decompression stopped.
enum Stop {
    Damaged(io::Error),
    TooMuch,
    Unwritten(io::Error),
}

impl Spill {
    /// Decompresses all of it, and returns why it ended too early if it did.
    fn fill_from(&mut self, from: impl Read, budget: &Budget) -> io::Result<Option<String>> {
        match self.fill(from, budget) {
            Ok(()) => Ok(None),
            Err(Stop::Damaged(error)) => Ok(Some(error.to_string())),
            Err(Stop::TooMuch) => Err(too_much("decompresses to", budget.most)),
            Err(Stop::Unwritten(error)) => Err(error),
        }
    }

    fn fill(&mut self, mut from: impl Read, budget: &Budget) -> Result<(), Stop> {
        loop {
            let before = self.memory.len();
            let end = (&mut from).take(1 << 20).read_to_end(&mut self.memory);
            let more = self.memory.len() - before;
            if !budget.take(more as u64) {
                return Err(Stop::TooMuch);
            }
            end.map_err(Stop::Damaged)?;
            if more == 0 {
                return Ok(());
            }
            if self.memory.len() >= IN_MEMORY {
                self.spill().map_err(Stop::Unwritten)?;
            }
        }
    }

    fn spill(&mut self) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(tempfile::tempfile().map_err(|error| no_temporary_file(&error))?),
        };
        file.write_all(&self.memory).map_err(|error| no_temporary_file(&error))?;
        self.memory.clear();
        Ok(())
    }

    fn finish(mut self) -> io::Result<Bytes<'static>> {
        if self.file.is_none() {
            return Ok(Bytes::Owned(self.memory));
        }
        self.spill()?;
        let Some(mut file) = self.file else { return Ok(Bytes::Owned(self.memory)) };
        let length = file.metadata()?.len();
        if let Ok(length) = usize::try_from(length)
            && let Some(map) = Mapped::new(&file, length)?
        {
            return Ok(Bytes::Mapped(map));
        }
        file.seek(SeekFrom::Start(0))?;
        file.read_to_end(&mut self.memory)?;
        Ok(Bytes::Owned(self.memory))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(bytes: &[u8]) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(bytes).unwrap();
        file
    }

    #[test]
    fn a_file_that_was_cut_while_it_was_read_says_so() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"{}\n").unwrap();
        for (stored, is_shorter) in [(3, false), (2, false), (4, true)] {
            file.rewind().unwrap();
            let (Bytes::Read(_, length), is_cut) = read(&mut file, stored).unwrap() else { panic!("not read") };
            assert_eq!((length, is_cut), (stored.min(3), is_shorter));
        }
    }

    fn written(bytes: &[u8]) -> Content<'static> {
        open(stored(bytes).path(), Limit::Usual).unwrap()
    }

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        gzip.write_all(text).unwrap();
        gzip.finish().unwrap()
    }

    #[test]
    fn every_way_to_store_a_log_gives_its_bytes() {
        let text = b"{\"type\":\"x\"}\n".repeat(400_000); // more than MAP_FROM
        assert!(text.len() as u64 > MAP_FROM);
        let (gzip, zstd) = (gzip(&text), zstd::encode_all(&text[..], 1).unwrap());
        assert_eq!(*written(&text), *text);
        assert_eq!(*written(&text[..100]), text[..100]);
        for (bytes, compression) in [(gzip, Compression::Gzip), (zstd, Compression::Zstd)] {
            let whole = written(&bytes);
            assert!((whole.compression, &whole.truncated, &*whole) == (Some(compression), &None, &*text));
            let cut = written(&bytes[..bytes.len() - 5]);
            assert!(cut.truncated.is_some() && text.starts_with(&cut), "{compression:?}");
        }
    }

    /// What is too large for memory goes through a file, with the same bytes.
    #[test]
    fn a_large_log_is_decompressed_to_a_file() {
        let line = b"{\"type\":\"x\"}\n";
        let text = line.repeat(IN_MEMORY / line.len() + 100_000);
        let content = written(&zstd::encode_all(&text[..], 1).unwrap());
        assert!(matches!(content.bytes, Bytes::Mapped(_)));
        assert!(*content == *text);
    }

    #[test]
    fn a_bomb_is_no_log() {
        // Each 100 MB of zeros are 100 kB in gzip and 10 kB in zstd; twice is a gzip of several members.
        let zeros = vec![0; 100 << 20];
        let bombs = [gzip(&zeros).repeat(3), zstd::encode_all(&zeros[..], 1).unwrap().repeat(3)];
        for bomb in bombs {
            let file = stored(&bomb);
            let error = open(file.path(), Limit::Usual).unwrap_err().to_string();
            assert_eq!(error, "decompresses to more than 256 MiB; --max-decompressed SIZE allows more");
            let error = open(file.path(), Limit::Bytes(1000)).unwrap_err().to_string();
            assert_eq!(error, "decompresses to more than 1000 bytes; --max-decompressed SIZE allows more");
            assert_eq!(open(file.path(), Limit::Bytes(300 << 20)).unwrap().len(), 300 << 20);
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_in_the_place_of_a_file_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("meta.json");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        assert_eq!(open(&pipe, Limit::Usual).unwrap_err().to_string(), "no regular file");
        let endless = open_stream(Path::new("/dev/zero"), Limit::Bytes(1 << 20)).unwrap_err().to_string();
        assert_eq!(endless, "gives more than 1 MiB; --max-decompressed SIZE allows more");
    }
}
