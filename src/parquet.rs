//! Frames as parquet files that every engine reads.

use std::io::{self, Write};

use polars::io::parquet::write::KeyValueMetadata;
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
    let level = ZstdLevel::try_new(level).map_err(io::Error::other)?;
    let writer = ParquetWriter::new(file).with_compression(ParquetCompression::Zstd(Some(level)));
    // polars would say that texts are views, of which pandas knows no lists.
    let schema = frame.schema().iter().map(|(name, dtype)| {
        let field = dtype.to_arrow_field(name.clone(), CompatLevel::oldest());
        (name.clone(), field)
    });
    let schema = schema_to_metadata_key(&schema.collect());
    let schema = schema.value.map(|it| (schema.key, it));
    let metadata = metadata.into_iter().chain(schema).collect();
    writer
        .with_key_value_metadata(Some(KeyValueMetadata::from_static(metadata)))
        .finish(frame)
        .map_err(io::Error::other)?;
    Ok(())
}
