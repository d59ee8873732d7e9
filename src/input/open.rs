//! Opens files and streams: small files are read, large ones mapped, compressed ones decompressed.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::buffer::{self, Buffer};
use super::content::Bytes;
use super::decompress::read_stream;
use super::mapped::Mapped;
use crate::model::source::STDIN;

pub use super::buffer::drop_buffers;
pub use super::content::{Compression, FileContent};
pub use super::decompress::{Budget, CUT, Limit, decompressed, open_member};

/// Opens a regular file, and decompresses it if its first bytes are those of a compressed file, whatever its name.
///
/// # Errors
/// When it is not a regular file, cannot be opened or read, or decompresses to more than the limit. A compressed file that is
/// damaged is not an error: see [`FileContent::truncated`].
pub fn open(path: &Path, limit: Limit) -> io::Result<FileContent<'static>> {
    let mut file = open_file(path)?;
    let metadata = file.metadata()?;
    let stored = metadata.len();
    let map = match usize::try_from(stored) {
        Ok(length) if stored >= buffer::max_length() => Mapped::new(&file, length)?,
        _ => None,
    };
    let (bytes, is_cut) = match (map, usize::try_from(stored)) {
        (Some(map), _) => (Bytes::Mapped(map), false),
        // As much as the file contained when it was opened. What is appended meanwhile is read by the next run.
        (None, Ok(length @ 1..)) => {
            let buffer = Buffer::read(&mut file, length)?;
            let is_cut = buffer.len() < length;
            (Bytes::Read(buffer), is_cut)
        }
        // The kernel's own files have the size 0, whatever they contain.
        (None, _) => {
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            (Bytes::Owned(bytes), false)
        }
    };
    let mut content = FileContent::new(bytes, stored);
    (content.modified, content.is_cut) = (metadata.modified().ok(), is_cut);
    decompressed(content, &Budget::new(limit, stored))
}

/// Reads a pipe or a device to its end, and decompresses it.
///
/// # Errors
/// When it cannot be read, or contains more than the limit.
pub fn open_stream(path: &Path, limit: Limit) -> io::Result<FileContent<'static>> {
    read_stream(File::open(path)?, limit)
}

/// Reads standard input to its end, and decompresses it.
///
/// # Errors
/// When it cannot be read, or contains more than the limit.
pub fn open_stdin(limit: Limit) -> io::Result<FileContent<'static>> {
    read_stream(io::stdin().lock(), limit)
}

/// Opens what a command line names: a file, a pipe as of `<(COMMAND)`, or `-`, which is standard input. Returns also the real path of
/// a file.
///
/// # Errors
/// When it cannot be opened or read, or contains more than the limit.
pub fn open_named(path: &Path, limit: Limit) -> io::Result<(FileContent<'static>, Option<PathBuf>)> {
    if path.as_os_str() == STDIN {
        return Ok((open_stdin(limit)?, None));
    }
    let metadata = path.metadata()?;
    if !metadata.is_file() && !metadata.is_dir() {
        return Ok((open_stream(path, limit)?, None));
    }
    let real = dunce::canonicalize(path)?;
    Ok((open(&real, limit)?, Some(real)))
}

/// Opens a regular file. It does not wait for the writer of a pipe that took the place of a file.
///
/// # Errors
/// When it is not a regular file, or cannot be opened.
pub fn open_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK);
    let file = options.open(path)?;
    match file.metadata()? {
        of_file if of_file.is_file() => Ok(file),
        of_directory if of_directory.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        _ => Err(io::Error::other("not a regular file")),
    }
}

/// Reads a regular file of at most so many bytes. It does not wait for the writer of a pipe that took the place of a file.
///
/// # Errors
/// When it is not a regular file, cannot be read, or is larger.
pub fn read_file(path: &Path, max_bytes: u64) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    open_file(path)?.take(max_bytes.saturating_add(1)).read_to_end(&mut content)?;
    if content.len() as u64 > max_bytes {
        return Err(io::Error::other(format!("the file has more than {max_bytes} bytes")));
    }
    Ok(content)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::input::decompress::MAX_IN_MEMORY;

    fn stored(bytes: &[u8]) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(bytes).unwrap();
        file
    }

    fn written(bytes: &[u8]) -> FileContent<'static> {
        open(stored(bytes).path(), Limit::Usual).unwrap()
    }

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        gzip.write_all(text).unwrap();
        gzip.finish().unwrap()
    }

    #[test]
    fn every_way_to_store_a_log_gives_its_bytes() {
        let text = b"{\"type\":\"x\"}\n".repeat(400_000); // more than any buffer
        assert!(text.len() as u64 > buffer::max_length());
        let (gzip, zstd) = (gzip(&text), zstd::encode_all(&text[..], 1).unwrap());
        assert_eq!(*written(&text), *text);
        assert_eq!(*written(&text[..100]), text[..100]);
        for (bytes, compression) in [(gzip, Compression::Gzip), (zstd, Compression::Zstd)] {
            let whole = written(&bytes);
            assert!((whole.compression, &whole.truncated, &*whole) == (Some(compression), &None, &*text));
            let cut = written(&bytes[..bytes.len() - 5]);
            assert!(cut.truncated.is_some() && text.starts_with(&cut), "{compression:?}");
        }
        let utf16: Vec<u8> = "\u{feff}{\"type\":\"x\"}\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let (gzip, zstd) = (self::gzip(&utf16), zstd::encode_all(&utf16[..], 1).unwrap());
        let forms = [(utf16, Compression::Utf16), (gzip, Compression::Gzip), (zstd, Compression::Zstd)];
        for (bytes, compression) in forms {
            let content = written(&bytes);
            assert_eq!((content.compression, &*content), (Some(compression), &text[..13]));
        }
    }

    /// As pzstd and `zstd --long=28` write it.
    #[test]
    fn zstd_begins_with_other_frames_or_needs_a_long_window() {
        let text = b"{\"type\":\"x\"}\n".repeat(1000);
        let parallel =
            [&[0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 1, 2, 3, 4], &*zstd::encode_all(&text[..], 1).unwrap()].concat();
        let mut long = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
        long.window_log(28).unwrap();
        long.write_all(&text).unwrap();
        for bytes in [parallel, long.finish().unwrap()] {
            let content = written(&bytes);
            assert_eq!((content.compression, &content.truncated), (Some(Compression::Zstd), &None));
            assert!(*content == *text);
        }
    }

    /// A log that is too large for memory is decompressed to a file, with the same bytes.
    #[test]
    fn a_large_log_is_decompressed_to_a_file() {
        let line = b"{\"type\":\"x\"}\n";
        let text = line.repeat(MAX_IN_MEMORY / line.len() + 100_000);
        let content = written(&zstd::encode_all(&text[..], 1).unwrap());
        assert!(content.is_mapped());
        assert!(*content == *text);
    }

    #[test]
    fn a_bomb_is_no_log() {
        // 100 MB of zeros are 100 kB in gzip and 10 kB in zstd; repeated, they are several members of one file.
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

    #[test]
    fn a_file_is_read_up_to_a_size() {
        let file = stored(b"1234");
        assert_eq!(read_file(file.path(), 4).unwrap(), b"1234");
        assert_eq!(read_file(file.path(), 3).unwrap_err().to_string(), "the file has more than 3 bytes");
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_in_the_place_of_a_file_is_not_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("meta.json");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        assert_eq!(open(&pipe, Limit::Usual).unwrap_err().to_string(), "not a regular file");
        assert_eq!(read_file(&pipe, 1000).unwrap_err().to_string(), "not a regular file");
        let endless = open_stream(Path::new("/dev/zero"), Limit::Bytes(1 << 20)).unwrap_err().to_string();
        assert_eq!(endless, "gives more than 1 MiB; --max-decompressed SIZE allows more");
    }
}
