//! Frames as parquet files that every engine reads.

use std::io::{self, Write};

use polars::io::parquet::write::{BatchedWriter, KeyValueMetadata};
use polars::prelude::*;
use polars_parquet::write::{ZstdLevel, schema_to_metadata_key};

/// zstd's levels: for files that are written often, and for those that are kept.
pub const FAST: i32 = 1;
/// See [`FAST`].
pub const SMALL: i32 = 3;

/// Writes a frame, compressed with zstd at a level, with key-value metadata.
///
/// # Errors
/// When the file cannot be written.
pub fn write(file: impl Write, frame: &mut DataFrame, level: i32, metadata: Vec<(String, String)>) -> io::Result<()> {
    writer(file, frame.schema(), level, metadata)?.finish(frame).map_err(io::Error::other)?;
    Ok(())
}

/// A file that is written frame by frame, each a row group.
pub struct Batched<W: Write>(BatchedWriter<W>);

impl<W: Write> Batched<W> {
    /// A file of that schema.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn new(file: W, schema: &Schema, level: i32) -> io::Result<Self> {
        writer(file, schema, level, Vec::new())?.batched(schema).map(Self).map_err(io::Error::other)
    }

    /// Adds a frame whose columns are of one piece.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&mut self, frame: &DataFrame) -> PolarsResult<()> {
        self.0.write_batch(frame)
    }

    /// Writes the end.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn finish(self) -> io::Result<()> {
        self.0.finish().map_err(io::Error::other)?;
        Ok(())
    }
}

fn writer<W: Write>(
    file: W,
    schema: &Schema,
    level: i32,
    metadata: Vec<(String, String)>,
) -> io::Result<ParquetWriter<W>> {
    let level = ZstdLevel::try_new(level).map_err(io::Error::other)?;
    let writer = ParquetWriter::new(file).with_compression(ParquetCompression::Zstd(Some(level)));
    // polars would say that texts are views, of which pandas knows no lists.
    let schema = schema.iter().map(|(name, dtype)| {
        let field = dtype.to_arrow_field(name.clone(), CompatLevel::oldest());
        (name.clone(), field)
    });
    let schema = schema_to_metadata_key(&schema.collect());
    let schema = schema.value.map(|it| (schema.key, it));
    let metadata = metadata.into_iter().chain(schema).collect();
    Ok(writer.with_key_value_metadata(Some(KeyValueMetadata::from_static(metadata))))
}
