//! Writes a frame as a parquet file, for exports.

use std::io::{self, Write};

use polars::io::parquet::write::KeyValueMetadata;
use polars::prelude::*;
use polars_parquet::write::{KeyValue, ZstdLevel, schema_to_metadata_key};

/// Rows of a row group. Engines read row groups in parallel: DuckDB's own have 122,880 rows.
const ROW_GROUP: usize = 1 << 17;

/// Writes a frame with key-value metadata, compressed by zstd.
///
/// # Errors
/// When the file cannot be written.
pub fn write(file: impl Write, frame: &mut DataFrame, metadata: Vec<(String, String)>) -> io::Result<()> {
    let level = ZstdLevel::try_new(3).map_err(io::Error::other)?;
    let schema = arrow_schema(frame.schema());
    let schema = schema.value.map(|it| (schema.key, it));
    let metadata = KeyValueMetadata::from_static(metadata.into_iter().chain(schema).collect());
    let writer = ParquetWriter::new(file).with_compression(ParquetCompression::Zstd(Some(level)));
    let writer = writer.with_row_group_size(Some(ROW_GROUP)).with_statistics(StatisticsOptions::full());
    writer.with_key_value_metadata(Some(metadata)).finish(frame).map_err(io::Error::other)?;
    Ok(())
}

/// The types of the columns for readers that use Arrow. polars' own would declare texts as views; pandas does not support lists of
/// views.
pub(super) fn arrow_schema(schema: &Schema) -> KeyValue {
    let schema = schema.iter().map(|(name, dtype)| {
        let field = dtype.to_arrow_field(name.clone(), CompatLevel::oldest());
        (name.clone(), field)
    });
    schema_to_metadata_key(&schema.collect())
}
