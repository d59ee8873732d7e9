//! Lists the members of a tar archive.

use std::io::{self, Cursor, Read, Seek, SeekFrom};

use tar::{Archive, Entry, EntryType};

use super::listing::{Listing, Place, too_many};
use crate::model::source::name_text;

/// The most bytes of a name, or of extended attributes.
const MAX_NAME: u64 = 1 << 20;

/// Adds the members to `listing`.
///
/// # Errors
/// When there are more than `limit`.
pub fn list(content: &[u8], limit: usize, listing: &mut Listing) -> Result<(), String> {
    let mut archive = Archive::new(Headers { content: Cursor::new(content), read: 0 });
    // Archives that were written one after another are one.
    archive.set_ignore_zeros(true);
    let entries = archive.entries_with_seek().map_err(|error| error.to_string())?;
    for (count, entry) in entries.enumerate() {
        if count == limit {
            return Err(too_many(limit));
        }
        match entry {
            Ok(entry) => add(entry, listing),
            Err(error) => {
                listing.note(&format!("the tar archive is damaged: {error}"));
                break;
            }
        }
    }
    listing.sort();
    // An archive ends with two blocks of zeros.
    if !content.last_chunk::<512>().is_some_and(|block| block.iter().all(|byte| *byte == 0)) {
        listing.note("the end of the archive is missing");
    }
    Ok(())
}

fn add(mut entry: Entry<'_, Headers<'_>>, listing: &mut Listing) {
    let name = name_text(&entry.path_bytes());
    let (start, length) = (entry.raw_file_position(), entry.size());
    let has_sparse_extension = entry.pax_extensions().ok().flatten().is_some_and(|mut extensions| {
        extensions.any(|extension| extension.is_ok_and(|it| it.key_bytes().starts_with(b"GNU.sparse.")))
    });
    let place = match entry.header().entry_type() {
        EntryType::GNUSparse => Place::Unreadable("a sparse file".to_owned()),
        EntryType::Regular | EntryType::Continuous if has_sparse_extension => {
            Place::Unreadable("a sparse file".to_owned())
        }
        EntryType::Regular | EntryType::Continuous => Place::Range { start, length },
        _ => return,
    };
    let seconds = entry.header().mtime().ok().filter(|seconds| *seconds > 0);
    listing.add(&name, seconds, length, place);
}

/// A reader of headers that refuses long names. The library seeks to each header, which is short except for a long name: a name of
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
