//! Scans parquet files of a table.

use polars::prelude::*;

/// The rows of files of a table.
pub fn scan(paths: Vec<PlRefPath>, schema: &SchemaRef) -> PolarsResult<LazyFrame> {
    if paths.is_empty() {
        // Archives of earlier versions lack some tables.
        return Ok(DataFrame::empty_with_schema(schema).lazy());
    }
    // They also lack some columns, which are NULL.
    let options = ScanArgsParquet { schema: Some(Arc::clone(schema)), allow_missing_columns: true, ..options() };
    LazyFrame::scan_parquet_files(paths.into(), options)
}

/// How files of an archive are scanned: a path may contain characters that are patterns elsewhere.
pub fn options() -> ScanArgsParquet {
    ScanArgsParquet { glob: false, ..ScanArgsParquet::default() }
}
