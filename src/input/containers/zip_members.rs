//! Lists the members of a zip archive, and opens them.

use std::io::{Cursor, Read};

use memchr::memmem;
use zip::ZipArchive;
use zip::read::{ZipFile, read_zipfile_from_stream};
use zip::result::ZipError;

use super::listing::{Listing, Place, too_many};
use crate::model::source::name_text;

/// A zip archive with its directory.
pub type Zip<'a> = ZipArchive<Cursor<&'a [u8]>>;

/// Adds the members to `listing`. Returns the archive if its directory can be read.
///
/// # Errors
/// When there are more than `limit` members.
pub fn list<'a>(content: &'a [u8], limit: usize, listing: &mut Listing) -> Result<Option<Zip<'a>>, String> {
    // Each entry of the directory begins like this. They are counted before the directory is read into memory.
    if memmem::find_iter(content, b"PK\x01\x02").take(limit.saturating_add(1)).count() > limit {
        return Err(too_many(limit));
    }
    let mut zip = ZipArchive::new(Cursor::new(content));
    match &mut zip {
        Ok(zip) => list_directory(zip, listing),
        Err(error) => {
            list_headers(content, listing);
            listing.note(&format!("the directory of the archive is missing or damaged; {}", reason(error)));
        }
    }
    listing.sort();
    Ok(zip.ok())
}

fn list_directory(zip: &mut Zip<'_>, listing: &mut Listing) {
    for number in 0..zip.len() {
        let listed = zip.by_index_raw(number).map(|file| entry_of(&file)).map_err(|error| reason(&error));
        match listed {
            Ok(Some(entry)) => listing.add(&entry.name, entry.seconds, entry.bytes, Place::Entry(number)),
            Ok(None) => {}
            Err(message) => {
                let name = zip.name_for_index(number).unwrap_or_default();
                listing.add(name, None, 0, Place::Unreadable(message));
            }
        }
    }
}

/// Lists members by their own headers, which precede them, up to the first that is damaged or has no size.
fn list_headers(content: &[u8], listing: &mut Listing) {
    let mut reader = Cursor::new(content);
    loop {
        let offset = reader.position();
        let Ok(Some(file)) = read_zipfile_from_stream(&mut reader) else { return };
        if let Some(entry) = entry_of(&file) {
            listing.add(&entry.name, entry.seconds, entry.bytes, Place::Header(offset));
        }
    }
}

struct ListedFile {
    name: String,
    /// When it was last written, since 1970.
    seconds: Option<u64>,
    /// Its compressed size.
    bytes: u64,
}

/// Returns `None` if it is not a file.
fn entry_of<R: Read>(file: &ZipFile<'_, R>) -> Option<ListedFile> {
    const TYPE: u32 = 0o170_000;
    const REGULAR: u32 = 0o100_000;
    let is_file = file.unix_mode().is_none_or(|mode| matches!(mode & TYPE, 0 | REGULAR));
    // The other time of a zip archive has no time zone.
    let seconds = file.extra_data_fields().find_map(|field| match field {
        zip::ExtraField::ExtendedTimestamp(times) => times.mod_time().map(u64::from),
        // In units of 100 nanoseconds since 1601.
        zip::ExtraField::Ntfs(times) => (times.mtime() / 10_000_000).checked_sub(11_644_473_600),
    });
    is_file.then(|| ListedFile { name: name_text(file.name_raw()), seconds, bytes: file.compressed_size() })
}

/// An error as a message.
pub fn reason(error: &ZipError) -> String {
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
