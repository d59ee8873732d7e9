//! Sources as rows: what a cluster has to know of each file before the ledger.

use std::io;

use polars::prelude::*;

use crate::ledger;
use crate::model::source::{Source, SourceStatus};
use crate::store::archive::encode_source;
use crate::store::frames::{sources, turns};

/// The maximum length of a source's facts, in bytes: values of Arrow and Spark have less than 2 GiB.
const MAX_FACTS: usize = 1 << 30;

/// The columns of [`extracted`].
pub fn extracted_schema() -> Schema {
    Schema::from_iter([
        Field::new(turns::SOURCE_PATH.into(), DataType::String),
        Field::new("status".into(), DataType::String),
        Field::new("message".into(), DataType::String),
        Field::new("bytes".into(), DataType::Int64),
        Field::new("sessions".into(), DataType::Int64),
        Field::new(sources::REJECTED_LINES.into(), DataType::Int64),
        Field::new("links".into(), DataType::List(Box::new(DataType::Int64))),
        Field::new("facts".into(), DataType::Binary),
    ])
}

/// The row of a source. `links` are the hashes by which files can concern the same sessions or responses: files that share none, not
/// even through other files, can be reconciled separately. `facts` is the whole content.
///
/// # Errors
/// When the source cannot be encoded.
pub fn extracted(source: Source) -> io::Result<DataFrame> {
    let (mut source, mut facts) = (encode_source(&source).map(|facts| (source, facts)))?;
    if facts.len() > MAX_FACTS {
        let message =
            format!("its facts take {} bytes, more than a cluster can pass on; ingest it on one machine", facts.len());
        source = Source { message: Some(message), status: SourceStatus::Unreadable, sessions: Vec::new(), ..source };
        facts = encode_source(&source)?;
    }
    let links: Vec<i64> = ledger::links(&source).iter().map(|link| link.cast_signed()).collect();
    let sessions = i64::try_from(source.sessions.len()).unwrap_or(i64::MAX);
    let rejected = source.health.rejected_lines();
    let columns = [
        Series::new(turns::SOURCE_PATH.into(), [source.path.as_str()]),
        Series::new("status".into(), [source.status.as_str()]),
        Series::new("message".into(), [source.message.as_deref()]),
        Series::new("bytes".into(), [source.bytes]),
        Series::new("sessions".into(), [sessions]),
        Series::new(sources::REJECTED_LINES.into(), [rejected]),
        Series::new("links".into(), [Series::new("".into(), links)]),
        Series::new("facts".into(), [facts.as_slice()]),
    ];
    DataFrame::new(1, columns.map(Column::from).to_vec()).map_err(io::Error::other)
}
