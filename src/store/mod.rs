//! Tables as polars frames, the parquet archive, and SQL over both.

pub mod archive;
pub mod arrow_stream;
mod contained;
pub mod frames;
pub mod lake;
pub mod parquet;
pub mod query;
