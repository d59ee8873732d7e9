//! Frames as parquet files that every engine reads.

use std::io::{self, Write};

use polars::io::parquet::write::{BatchedWriter, KeyValueMetadata};
use polars::prelude::*;
use polars_parquet::write::{ZstdLevel, schema_to_metadata_key};

/// How pages are packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packing {
    /// Snappy, for files that are written often: zstd asks the processor what it is for each of thousands of small pages,
    /// which in a virtual machine takes longer than to pack it.
    Fast,
    /// zstd, for files that are kept.
    Small,
}

/// Writes a frame with key-value metadata.
///
/// # Errors
/// When the file cannot be written.
pub fn write(
    file: impl Write,
    frame: &mut DataFrame,
    packing: Packing,
    metadata: Vec<(String, String)>,
) -> io::Result<()> {
    writer(file, frame.schema(), packing, metadata)?.finish(frame).map_err(io::Error::other)?;
    Ok(())
}

/// A file that is written frame by frame, each a row group.
pub struct Batched<W: Write>(BatchedWriter<W>);

impl<W: Write> Batched<W> {
    /// A file of that schema.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn new(file: W, schema: &Schema, packing: Packing) -> io::Result<Self> {
        // Whoever writes many files does so side by side.
        writer(file, schema, packing, Vec::new())?
            .set_parallel(false)
            .batched(schema)
            .map(Self)
            .map_err(io::Error::other)
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
    packing: Packing,
    metadata: Vec<(String, String)>,
) -> io::Result<ParquetWriter<W>> {
    let compression = match packing {
        Packing::Fast => ParquetCompression::Snappy,
        Packing::Small => ParquetCompression::Zstd(Some(ZstdLevel::try_new(3).map_err(io::Error::other)?)),
    };
    let writer = ParquetWriter::new(file).with_compression(compression);
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
