//! The file with the facts of a part: those of one source after those of another.

use std::borrow::Cow;
use std::fs::File;
use std::hash::Hasher as _;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write};
use std::path::Path;

use twox_hash::XxHash3_64;

use super::chunks::{Chunk, Chunks};
use super::codec;
use crate::model::source::Source;
use crate::store::archive::hashed_file::{BUFFER, Checksum, HashedFile};
use crate::store::archive::layout::FACTS;

/// Where the facts of a source are in the file of their part.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    /// Where they begin, in bytes.
    pub offset: u64,
    /// Their length, in bytes.
    pub length: u64,
    /// See [`checksum_at`].
    pub checksum: u32,
}

/// The checksum of the facts of a source as they are stored: of some bytes of a file. It distinguishes damage of one source from damage
/// of its neighbours.
///
/// # Errors
/// When the file cannot be read, or ends before.
#[expect(clippy::cast_possible_truncation, reason = "half of a hash is enough to find damage")]
pub fn checksum_at(file: &mut File, offset: u64, length: u64) -> io::Result<u32> {
    let mut hash = XxHash3_64::new();
    let mut buffer = vec![0; BUFFER.min(usize::try_from(length).unwrap_or(BUFFER))];
    let mut left = length;
    file.seek(SeekFrom::Start(offset))?;
    while left > 0 {
        let most = usize::try_from(left).unwrap_or(BUFFER).min(buffer.len());
        let some = buffer.get_mut(..most).unwrap_or_default();
        file.read_exact(some)?;
        hash.write(some);
        left -= some.len() as u64;
    }
    Ok(hash.finish() as u32)
}

/// A new file for the facts of a part.
pub struct FactsFile {
    file: HashedFile,
    places: Vec<Place>,
}

impl FactsFile {
    /// Creates the file of the part of this name in the directory of a generation.
    ///
    /// # Errors
    /// When the file exists or cannot be created.
    pub fn create(generation: &Path, part: &str) -> io::Result<Self> {
        Ok(Self { file: HashedFile::create(&generation.join(FACTS).join(part))?, places: Vec::new() })
    }

    /// Adds the facts of a source, which `read` returns chunk by chunk.
    ///
    /// # Errors
    /// Those of `read`, and when the file cannot be written.
    #[expect(clippy::cast_possible_truncation, reason = "as in `checksum_at`")]
    pub fn add<'a>(
        &mut self,
        chunks: &Chunks,
        mut read: impl FnMut(&Chunk) -> io::Result<Cow<'a, [u8]>>,
    ) -> io::Result<()> {
        let offset = self.file.written();
        let mut hash = XxHash3_64::new();
        let mut write = |bytes: &[u8]| {
            hash.write(bytes);
            self.file.write_all(bytes)
        };
        write(&chunks.header()?)?;
        for chunk in chunks.iter() {
            write(&read(chunk)?)?;
        }
        let length = self.file.written() - offset;
        self.places.push(Place { offset, length, checksum: hash.finish() as u32 });
        Ok(())
    }

    /// Adds the facts of a source that are one chunk.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn add_one(&mut self, encoded: &[u8]) -> io::Result<()> {
        self.add(&Chunks::one(0, encoded.len() as u64), |_| Ok(Cow::Borrowed(encoded)))
    }

    /// Returns the checksum of the file, and the places of the sources in the order in which they were added.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn finish(self) -> io::Result<(Checksum, Vec<Place>)> {
        Ok((self.file.finish(self.places.len())?, self.places))
    }
}

/// The facts of a source as a file of facts contains them, in one chunk.
///
/// # Errors
/// When it cannot be encoded.
pub fn encode_source(source: &Source) -> io::Result<Vec<u8>> {
    let encoded = codec::encode(source)?;
    Ok([Chunks::one(0, encoded.len() as u64).header()?, encoded].concat())
}

/// Decodes what [`encode_source`] returned.
///
/// # Errors
/// When the bytes are not the facts of one source in one chunk.
pub fn decode_source(bytes: &[u8]) -> io::Result<Source> {
    let header = Chunks::one(0, 0).header()?.len();
    let (header, encoded) = bytes.split_at_checked(header).ok_or_else(|| codec::damaged("facts that are cut"))?;
    if header == Chunks::one(0, encoded.len() as u64).header()? {
        codec::decode_facts(encoded)
    } else {
        Err(codec::damaged("not the facts of one source"))
    }
}

/// Reads all sources of a file of facts without the index, which was lost. The file itself must be intact.
///
/// # Errors
/// When the file cannot be read, or does not consist of facts.
pub fn scan(file: &mut File) -> io::Result<Vec<Source>> {
    let end = file.metadata()?.len();
    let mut sources = Vec::new();
    let mut offset = 0;
    while offset < end {
        let chunks = Chunks::read_first(file, offset, end - offset)?;
        sources.push(chunks.load(file)?);
        offset = chunks.end();
    }
    Ok(sources)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::archive::facts::read_at;

    /// The checksum in the index is that of the stored bytes.
    #[test]
    fn places_are_those_of_the_stored_bytes() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join(FACTS)).unwrap();
        let mut facts = FactsFile::create(directory.path(), "1-0").unwrap();
        facts.add_one(b"one").unwrap();
        facts.add_one(b"another").unwrap();
        let (found, places) = facts.finish().unwrap();
        let path = directory.path().join(FACTS).join("1-0");
        assert!(found.is(&crate::store::archive::hashed_file::checksum(&path).unwrap()));
        let mut file = File::open(&path).unwrap();
        for (place, content) in places.iter().zip([&b"one"[..], b"another"]) {
            let bytes = read_at(&mut file, place.offset, place.length).unwrap();
            assert!(bytes.ends_with(content));
            assert_eq!(checksum_at(&mut file, place.offset, place.length).unwrap(), place.checksum);
            let chunks = Chunks::read(&mut file, place.offset, place.length).unwrap();
            let chunk = chunks.only().unwrap();
            assert_eq!(read_at(&mut file, chunk.offset, chunk.length).unwrap(), content);
        }
    }
}
