//! Decompresses gzip and zstd, up to a limit: a compressed file may be a bomb. Decodes UTF-16.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::atomic::{AtomicU64, Ordering};

use super::content::{Bytes, Compression, FileContent};
use super::mapped::Mapped;
use super::utf16::Utf8;

/// More decompressed bytes than these go to a temporary file.
pub(super) const MAX_IN_MEMORY: usize = 32 << 20;

/// Why a file that was cut short while it was read is not used.
pub const CUT: &str = "it was cut short while it was read";

/// The most bytes that a compressed file or a pipe may contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Limit {
    /// 8 GiB, and above 256 MiB at most 200 times the size of the compressed file. Real logs reach some 30 times, streams that
    /// repeat each message while it grows 100 times.
    #[default]
    Usual,
    /// So many bytes, whatever the size of the file.
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

/// How many bytes may still be decompressed. The members of an archive share one, in several threads.
#[derive(Debug)]
pub struct Budget {
    limit: u64,
    left: AtomicU64,
}

impl Budget {
    /// The budget for a file of `compressed` bytes.
    pub fn new(limit: Limit, compressed: u64) -> Self {
        let limit = limit.of(compressed);
        Self { limit, left: AtomicU64::new(limit) }
    }

    /// Takes some of it. Returns `false` if less is left.
    pub(super) fn take(&self, bytes: u64) -> bool {
        let taken = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes));
        taken.is_ok()
    }

    /// What is left of it.
    pub(super) fn left(&self) -> u64 {
        self.left.load(Ordering::Relaxed)
    }

    /// Takes all of it, and more.
    pub(super) fn exhaust(&self) {
        self.left.store(0, Ordering::Relaxed);
    }

    /// The error of a file that `verb`s more than the budget.
    pub(super) fn exceeded(&self, verb: &str) -> io::Error {
        let limit = self.limit;
        let size = if limit >> 20 > 0 { format!("{} MiB", limit >> 20) } else { format!("{limit} bytes") };
        io::Error::other(format!("{verb} more than {size}; --max-decompressed SIZE allows more"))
    }
}

/// Decompresses a content if its first bytes are those of a compressed file. If the content is damaged, what comes before the
/// damage is kept: see [`FileContent::truncated`].
///
/// # Errors
/// When it is more than the budget, or cannot be stored.
pub fn decompressed<'a>(content: FileContent<'a>, budget: &Budget) -> io::Result<FileContent<'a>> {
    let Some(compression) = Compression::of(&content) else { return Ok(content) };
    let (bytes, truncated) = match compression {
        Compression::Gzip => Spill::read(flate2::read::MultiGzDecoder::new(&*content), budget)?,
        Compression::Zstd => Spill::read(zstd_decoder(&content)?, budget)?,
        Compression::Utf16 => Spill::read(Utf8::of(&content), budget)?,
    };
    if content.is_damaged() {
        return Err(io::Error::other(CUT));
    }
    let mut text = FileContent::new(bytes, content.stored);
    text.truncated = truncated.or_else(|| content.truncated.clone());
    text.modified = content.modified;
    // A compressed file can contain text in UTF-16.
    if compression != Compression::Utf16 && Compression::of(&text) == Some(Compression::Utf16) {
        text = decompressed(text, budget)?;
    }
    text.compression = Some(compression);
    Ok(text)
}

/// A decoder that also reads what `zstd --long=31` compressed. Its window takes memory only as far as the content fills it.
fn zstd_decoder(content: &[u8]) -> io::Result<zstd::stream::read::Decoder<'static, &[u8]>> {
    const LONGEST_WINDOW: u32 = if cfg!(target_pointer_width = "64") { 31 } else { 30 };
    let mut decoder = zstd::stream::read::Decoder::with_buffer(content)?;
    decoder.window_log_max(LONGEST_WINDOW)?;
    Ok(decoder)
}

/// Reads the decompressed content of a member of an archive. If the member is damaged, what comes before the damage is kept: see
/// [`FileContent::truncated`].
///
/// # Errors
/// When it is more than the budget, or cannot be stored.
pub fn open_member(member: impl Read, budget: &Budget) -> io::Result<FileContent<'static>> {
    let (bytes, truncated) = Spill::read(member, budget)?;
    let mut content = FileContent::new(bytes, 0);
    content.stored = content.len() as u64;
    content.truncated = truncated;
    Ok(content)
}

/// Reads a pipe or a device to its end, and decompresses it.
///
/// # Errors
/// When it cannot be read, or contains more than the limit.
pub(super) fn read_stream(stream: impl Read, limit: Limit) -> io::Result<FileContent<'static>> {
    // A stream may be endless.
    let budget = Budget::new(limit, u64::MAX);
    let mut out = Spill::default();
    match out.fill(stream, &budget) {
        Ok(()) => {}
        Err(Stop::OverBudget) => return Err(budget.exceeded("gives")),
        Err(Stop::Damaged(error) | Stop::NotStored(error)) => return Err(error),
    }
    let mut content = FileContent::new(out.finish()?, 0);
    content.stored = content.len() as u64;
    let budget = Budget::new(limit, content.stored);
    decompressed(content, &budget)
}

/// Decompressed bytes: in memory, or in an unnamed file if they are many.
#[derive(Default)]
struct Spill {
    memory: Vec<u8>,
    file: Option<File>,
}

/// Why decompression stopped.
enum Stop {
    Damaged(io::Error),
    OverBudget,
    NotStored(io::Error),
}

impl Spill {
    /// Decompresses all of a content. Returns why it ended too early, if it did.
    fn read(content: impl Read, budget: &Budget) -> io::Result<(Bytes<'static>, Option<String>)> {
        let mut out = Self::default();
        let truncated = match out.fill(content, budget) {
            Ok(()) => None,
            Err(Stop::Damaged(error)) => Some(error.to_string()),
            Err(Stop::OverBudget) => return Err(budget.exceeded("decompresses to")),
            Err(Stop::NotStored(error)) => return Err(error),
        };
        Ok((out.finish()?, truncated))
    }

    fn fill(&mut self, mut content: impl Read, budget: &Budget) -> Result<(), Stop> {
        loop {
            let before = self.memory.len();
            let end = (&mut content).take(1 << 20).read_to_end(&mut self.memory);
            let more = self.memory.len() - before;
            if !budget.take(more as u64) {
                return Err(Stop::OverBudget);
            }
            end.map_err(Stop::Damaged)?;
            if more == 0 {
                return Ok(());
            }
            if self.memory.len() >= MAX_IN_MEMORY {
                self.move_to_file().map_err(Stop::NotStored)?;
            }
        }
    }

    fn move_to_file(&mut self) -> io::Result<()> {
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
        self.move_to_file()?;
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

/// An error of the temporary file, which names its directory: the log is not the cause.
fn no_temporary_file(error: &io::Error) -> io::Error {
    let directory = std::env::temp_dir();
    let message = format!("no temporary file in {}: {error}; set TMPDIR to another directory", directory.display());
    io::Error::new(error.kind(), message)
}
