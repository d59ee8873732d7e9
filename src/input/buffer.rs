//! Memory to read a file into. Each thread keeps it for its next file: fresh memory costs as much as the reading.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read};
use std::ops::Deref;

use memmap2::MmapMut;

/// Larger files are mapped, and their memory is not kept. A smaller file is read faster than it is mapped, as each page that is
/// mapped and unmapped costs more than its copy: 6 to 13 % of the wall time of an ingest.
const MAX_KEPT: u64 = 1 << 22;

/// The memory that all threads keep together, where there are many of them.
const MAX_KEPT_BY_ALL: u64 = 64 << 20;

thread_local! {
    static KEPT: Cell<Option<MmapMut>> = const { Cell::new(None) };
}

/// The first bytes of a file.
#[derive(Debug)]
pub struct Buffer {
    /// Pages of the system's own. Some processors take three times as long to copy to memory that begins a few bytes after the
    /// start of a page, as an allocator's memory may. `None` while it is dropped.
    memory: Option<MmapMut>,
    length: usize,
}

impl Buffer {
    /// Reads up to `length` bytes: fewer if the file ends before.
    ///
    /// # Errors
    /// When it cannot be read, or there is no memory.
    pub fn read(file: &mut File, length: usize) -> io::Result<Self> {
        let kept = KEPT.take().filter(|memory| memory.len() >= length);
        let capacity = length.max(usize::try_from(max_length()).unwrap_or(0));
        let mut memory = kept.map_or_else(|| MmapMut::map_anon(capacity), Ok)?;
        let mut read = 0;
        while let Some(rest) = memory.get_mut(read..length).filter(|rest| !rest.is_empty()) {
            match file.read(rest) {
                Ok(0) => break,
                Ok(more) => read += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Self { memory: Some(memory), length: read })
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.memory.as_deref().and_then(|memory| memory.get(..self.length)).unwrap_or_default()
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        KEPT.set(self.memory.take().filter(|memory| memory.len() as u64 <= max_length()));
    }
}

/// The size up to which files are read into a buffer.
pub fn max_length() -> u64 {
    (MAX_KEPT_BY_ALL / rayon::current_num_threads() as u64).clamp(1 << 17, MAX_KEPT)
}

/// Frees the memory that threads keep. To be called after the last file.
pub fn drop_buffers() {
    rayon::spawn_broadcast(|_| drop(KEPT.take()));
}

#[cfg(test)]
mod tests {
    use std::io::{Seek, Write};

    use super::*;

    #[test]
    fn a_file_truncated_while_it_is_read_is_reported() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"{}\n").unwrap();
        for length in [2, 3, 4] {
            file.rewind().unwrap();
            assert_eq!(*Buffer::read(&mut file, length).unwrap(), b"{}\n"[..length.min(3)]);
        }
    }
}
