//! A file to bytes: mapped, read, or decompressed.
#![expect(unsafe_code, reason = "mapping a file is unsafe")]

use std::fs::File;
use std::io::{self, Read};
use std::ops::Deref;
use std::path::Path;

/// Smaller files are read: a mapping costs more than the copy.
const MAP_FROM: u64 = 64 * 1024;

/// A compressed file that grows beyond this is no log but a bomb.
const MAX_DECOMPRESSED: u64 = 8 << 30;

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

/// The content of a file.
#[derive(Debug)]
pub struct Content {
    bytes: Bytes,
    /// How it was compressed.
    pub compression: Option<Compression>,
    /// Why decompression stopped before the end, if it did; what came before stands.
    pub truncated: Option<String>,
}

#[derive(Debug)]
enum Bytes {
    Mapped(memmap2::Mmap),
    Owned(Vec<u8>),
}

impl Deref for Content {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Mapped(map) => map,
            Bytes::Owned(bytes) => bytes,
        }
    }
}

/// Opens a file and decompresses it if its first bytes say so, whatever its name says.
///
/// # Errors
/// When the file cannot be opened or read, or decompresses to more than 8 GiB. A compressed file that is cut is no error:
/// see [`Content::truncated`].
pub fn open(path: &Path) -> io::Result<Content> {
    let mut file = File::open(path)?;
    let metadata = file.metadata()?;
    let length = metadata.len();
    let bytes = if metadata.is_file() && length >= MAP_FROM {
        // SAFETY: The map is read-only and private. If another process cuts the file short while it is read, the kernel
        // ends this process with SIGBUS; agents append to their logs and do not cut them. Bytes that change under the map
        // are only ever read as bytes: text is validated when it is taken out. This reasoning holds for local files; over
        // a network file system it should be treated as suspect.
        Bytes::Mapped(unsafe { memmap2::Mmap::map(&file)? })
    } else {
        let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0) + 1);
        // A pipe or a device may have no end.
        (&mut file).take(MAX_DECOMPRESSED + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > MAX_DECOMPRESSED {
            return Err(io::Error::other("gives more than 8 GiB"));
        }
        Bytes::Owned(bytes)
    };
    let content = Content { bytes, compression: None, truncated: None };
    match Compression::of(&content) {
        None => Ok(content),
        Some(compression) => decompress(&content, compression),
    }
}

fn decompress(compressed: &[u8], compression: Compression) -> io::Result<Content> {
    let mut bytes = Vec::new();
    let end = match compression {
        Compression::Gzip => {
            flate2::read::MultiGzDecoder::new(compressed).take(MAX_DECOMPRESSED + 1).read_to_end(&mut bytes)
        }
        Compression::Zstd => {
            zstd::stream::read::Decoder::with_buffer(compressed)?.take(MAX_DECOMPRESSED + 1).read_to_end(&mut bytes)
        }
    };
    if bytes.len() as u64 > MAX_DECOMPRESSED {
        return Err(io::Error::other("decompresses to more than 8 GiB"));
    }
    let truncated = end.err().map(|it| it.to_string());
    Ok(Content { bytes: Bytes::Owned(bytes), compression: Some(compression), truncated })
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn written(bytes: &[u8]) -> Content {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(bytes).unwrap();
        open(file.path()).unwrap()
    }

    #[test]
    fn every_way_to_store_a_log_gives_its_bytes() {
        let text = b"{\"type\":\"x\"}\n".repeat(10_000); // more than MAP_FROM
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(&text).unwrap();
        let gzip = gzip.finish().unwrap();
        let zstd = zstd::encode_all(&text[..], 1).unwrap();
        assert_eq!(*written(&text), *text);
        assert_eq!(*written(&text[..100]), text[..100]);
        for (bytes, compression) in [(gzip, Compression::Gzip), (zstd, Compression::Zstd)] {
            let whole = written(&bytes);
            assert_eq!((whole.compression, &whole.truncated, &*whole), (Some(compression), &None, &*text));
            let cut = written(&bytes[..bytes.len() - 5]);
            assert!(cut.truncated.is_some() && text.starts_with(&cut), "{compression:?}");
        }
    }
}
