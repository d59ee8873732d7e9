//! The content of a file, or of a part of one.

use std::ops::{Deref, Range};
use std::time::SystemTime;

use super::buffer::Buffer;
use super::mapped::Mapped;

/// How a file was compressed or encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// RFC 1952.
    Gzip,
    /// RFC 8878.
    Zstd,
    /// Text in UTF-16 with a byte order mark, as PowerShell 5 writes the output of a program to a file.
    Utf16,
}

impl Compression {
    /// The word in `sources`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::Utf16 => "utf-16",
        }
    }

    /// The compression of a file that begins with `head`.
    pub(super) fn of(head: &[u8]) -> Option<Self> {
        match head {
            [0x1f, 0x8b, ..] => Some(Self::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Self::Zstd),
            // A frame to be skipped, with which pzstd begins.
            [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Some(Self::Zstd),
            [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Some(Self::Utf16),
            _ => None,
        }
    }
}

/// The content of a file, or of a part of one.
#[derive(Debug)]
pub struct FileContent<'a> {
    bytes: Bytes<'a>,
    /// How it was compressed.
    pub compression: Option<Compression>,
    /// Why a part of it is missing, if so. What comes before that part is there.
    pub truncated: Option<String>,
    /// Its size on disk when it was opened.
    pub stored: u64,
    /// When it was last written, as of its opening.
    pub modified: Option<SystemTime>,
    /// Whether the file was shorter than that when it was read.
    pub(super) is_cut: bool,
}

/// Where the bytes of a content are.
#[derive(Debug)]
pub(super) enum Bytes<'a> {
    Mapped(Mapped),
    Read(Buffer),
    Owned(Vec<u8>),
    /// A range of another content.
    Part(&'a FileContent<'a>, Range<usize>),
}

impl<'a> FileContent<'a> {
    pub(super) fn new(bytes: Bytes<'a>, stored: u64) -> Self {
        Self { bytes, compression: None, truncated: None, stored, modified: None, is_cut: false }
    }

    /// A range of it, without a copy. The part ends where the content ends.
    #[must_use]
    pub fn part(&'a self, range: Range<usize>) -> Self {
        let end = range.end.min(self.len());
        let start = range.start.min(end);
        Self::new(Bytes::Part(self, start..end), (end - start) as u64)
    }

    /// Whether a part of the file was gone when it was read, so that some of the bytes that were read never were in it. To be
    /// asked after the last byte was read.
    pub fn is_damaged(&self) -> bool {
        self.is_cut
            || match &self.bytes {
                Bytes::Mapped(map) => map.is_damaged(),
                Bytes::Part(whole, _) => whole.is_damaged(),
                Bytes::Read(_) | Bytes::Owned(_) => false,
            }
    }

    /// Releases the memory of a range that was read. It may be read again.
    pub fn release(&self, from: usize, to: usize) {
        match &self.bytes {
            Bytes::Mapped(map) => map.release(from, to),
            Bytes::Part(whole, range) => whole.release(range.start + from, range.start + to),
            Bytes::Read(_) | Bytes::Owned(_) => {}
        }
    }

    #[cfg(test)]
    pub(super) fn is_mapped(&self) -> bool {
        matches!(self.bytes, Bytes::Mapped(_))
    }
}

impl Deref for FileContent<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Mapped(map) => map,
            Bytes::Read(buffer) => buffer,
            Bytes::Owned(bytes) => bytes,
            Bytes::Part(whole, range) => whole.get(range.clone()).unwrap_or_default(),
        }
    }
}
