//! A file mapped into memory that may be cut short while it is read.
//!
//! A mapped log of any size is one slice of bytes, whose memory can be released while it is read. That is why large files are
//! mapped: it is not faster than reading them. Reading through a window of 256 kB, with 300 more lines of code, took between 1 %
//! less and 1 % more time; asking for a file ahead that is only on the disk takes 10 to 18 % off the wall time of an ingest.
//! Smaller files are read, which is faster: see [`buffer`](super::buffer).
//!
//! Agents append to their logs, but a log rotation can truncate one, and a disk can fail. The kernel answers a read of pages that
//! are gone with SIGBUS, which ends a process without a handler. [`sigbus`] handles it: pages of a map that this module made
//! become zeros, and [`Mapped::is_damaged`] returns `true` afterwards. (A file that was deleted or replaced by a rename stays
//! readable while it is mapped. Windows refuses to truncate a mapped file.)
#![expect(unsafe_code, reason = "mapping a file is unsafe, and so is a signal handler")]

use std::fs::File;
use std::io;
use std::ops::Deref;

use memmap2::{Mmap, MmapOptions};

#[cfg(unix)]
mod sigbus;

#[cfg(unix)]
use sigbus::Watched;

/// How many bytes of a file on the disk are asked for before they are read: all of most files.
#[cfg(unix)]
const AHEAD: usize = 16 << 20;

/// The content of a file, without a copy.
#[derive(Debug)]
pub struct Mapped {
    // Dropped before the map, whose addresses another map may get at once.
    watched: Watched,
    map: Mmap,
}

impl Mapped {
    /// Maps the first `length` bytes of a file; `None` if there are too many maps.
    ///
    /// # Errors
    /// When the file cannot be mapped.
    pub fn new(file: &File, length: usize) -> io::Result<Option<Self>> {
        // SAFETY: The map is read-only and private. Bytes after a new, shorter end read as zeros: see `sigbus`. Bytes that
        // another process overwrites while they are read are undefined behaviour in theory: agents append to large files and
        // replace small ones, which are not mapped. Text that was validated and then cut stays text, except one character, whose
        // missing bytes are zeros inside of the slice. Over a network file system the kernel may not know of other writers, so
        // there this reasoning should be treated as suspect.
        let map = unsafe { MmapOptions::new().len(length).map(file)? };
        let Some(watched) = Watched::new(&map) else { return Ok(None) };
        // If the file is only on the disk, each fault would wait for a small part of it. The advice changes no result, and costs
        // a pass over the pages, so it is not given for a file in memory.
        #[cfg(unix)]
        if !sigbus::is_in_memory(map.get(..length.min(AHEAD)).unwrap_or_default()) {
            let _ = map.advise_range(memmap2::Advice::WillNeed, 0, length.min(AHEAD));
        }
        Ok(Some(Self { watched, map }))
    }

    /// Releases the memory of a range that was read, and asks for the bytes after it if they are only on the disk. The range may
    /// be read again.
    #[cfg(unix)]
    pub fn release(&self, from: usize, to: usize) {
        let page = sigbus::page();
        let (from, to) = (from / page * page, to.min(self.map.len()) / page * page);
        if from < to {
            // SAFETY: The map is never written to: a page that is read again is the file's, or zeros where the file is cut.
            let _ = unsafe { self.map.unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, from, to - from) };
        }
        let next = to..self.map.len().min(to + AHEAD);
        if !sigbus::is_in_memory(self.map.get(next.clone()).unwrap_or_default()) {
            let _ = self.map.advise_range(memmap2::Advice::WillNeed, next.start, next.len());
        }
    }

    /// Other systems release it by themselves.
    #[cfg(not(unix))]
    pub fn release(&self, _: usize, _: usize) {}

    /// Whether a part of the file was gone when it was read: it reads as zeros.
    pub fn is_damaged(&self) -> bool {
        self.watched.is_damaged()
    }
}

impl Deref for Mapped {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.map
    }
}

#[cfg(not(unix))]
#[derive(Debug)]
struct Watched;

#[cfg(not(unix))]
impl Watched {
    fn new(_: &[u8]) -> Option<Self> {
        Some(Self)
    }

    fn is_damaged(&self) -> bool {
        false
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn what_is_cut_off_a_mapped_file_reads_as_zeros() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&vec![7; 1 << 20]).unwrap();
        let map = Mapped::new(&file, 1 << 20).unwrap().unwrap();
        let whole = Mapped::new(&file, 1 << 20).unwrap().unwrap();
        assert_eq!((map[0], map[map.len() - 1], map.is_damaged()), (7, 7, false));
        file.set_len(100_000).unwrap();
        // The kernel itself fills the page that is cut with zeros.
        assert_eq!((map[99_999], map[100_000], map.is_damaged()), (7, 0, false));
        assert_eq!((map[500_000], map[map.len() - 1], map[200_000], map.is_damaged()), (0, 0, 0, true));
        // Another map of the file was not read there.
        assert!(!whole.is_damaged());
        drop(map);
        assert!(!Mapped::new(&file, 1 << 20).unwrap().unwrap().is_damaged());
    }
}
