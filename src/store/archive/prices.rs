//! The user's own prices in an archive: lines of JSON, and a last line with their hash.

use std::borrow::Cow;
use std::io;

use super::error::Error;
use super::hashed_file::hash;
use super::layout::PRICES;
use super::open::Archive;
use crate::input::open::read_file;
use crate::prices::{Catalog, Entry, Table};

/// The size of the largest file of prices that is read, in bytes.
const MAX_PRICES: u64 = 1 << 28;

/// How the last line of the file begins, which contains the hash of the lines before it.
const HASH_LINE: &str = "{\"hash\":\"";
const HASH_LINE_END: &str = "\"}\n";
/// Hexadecimal digits of a hash.
const HASH_DIGITS: usize = 32;

impl Archive {
    /// The prices that were imported into the archive; an empty list if there is no archive yet.
    ///
    /// # Errors
    /// When they cannot be read, or are damaged.
    pub fn own_prices(&self) -> Result<Vec<Entry>, Error> {
        let path = self.directory().join(PRICES);
        let bytes = match read_file(&path, MAX_PRICES) {
            Ok(bytes) if bytes.is_empty() => return Ok(Vec::new()),
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(Error::File { path, error }),
        };
        let Some(entries) = without_hash(&bytes) else { return Err(Error::changed(path)) };
        if entries.is_empty() {
            return Ok(Vec::new());
        }
        Table::parse_json_lines(entries).map(|table| table.entries).map_err(|error| Error::Prices { path, error })
    }

    /// The prices of the configuration, then those that were imported.
    ///
    /// # Errors
    /// As [`Self::own_prices`].
    pub(super) fn all_own_prices(&self) -> Result<Vec<Entry>, Error> {
        Ok(self.configured_prices().iter().cloned().chain(self.own_prices()?).collect())
    }

    /// The built-in prices, with those of the configuration and the archive's own in place of them where there are some.
    ///
    /// # Errors
    /// When the archive's own prices cannot be read.
    pub fn catalog(&self) -> Result<Cow<'static, Catalog>, Error> {
        Ok(Catalog::with_own(self.all_own_prices()?))
    }

    /// Replaces the archive's own prices.
    pub(super) fn write_prices(&self, entries: &Table) -> Result<(), Error> {
        let written = self.replace(PRICES, with_hash(&entries.to_json_lines()).as_bytes());
        written.map_err(Error::file(self.directory().join(PRICES)))
    }
}

/// Lines of JSON, and a last line with their hash.
pub(super) fn with_hash(lines: &str) -> String {
    format!("{lines}{HASH_LINE}{}{HASH_LINE_END}", hash(lines.as_bytes()))
}

/// The lines of [`with_hash`], if they are what was written.
pub(super) fn without_hash(bytes: &[u8]) -> Option<&[u8]> {
    let start = bytes.len().checked_sub(HASH_LINE.len() + HASH_DIGITS + HASH_LINE_END.len())?;
    let (lines, _) = bytes.split_at_checked(start)?;
    (with_hash(std::str::from_utf8(lines).ok()?).as_bytes() == bytes).then_some(lines)
}
