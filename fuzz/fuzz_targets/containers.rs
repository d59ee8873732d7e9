//! Bytes of any kind as a file: gzip, zstd, a SQLite database, a sidecar.
#![no_main]

use std::io::Write;

use agentlogs::adapters::TABLES;
use agentlogs::log::{self, Limit};
use agentlogs::source::Sidecar;
use agentlogs::database;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = Sidecar::parse(bytes);
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    let limit = 1 << 22;
    let Ok(content) = log::open(file.path(), Limit::Bytes(limit)) else { return };
    assert!(content.compression.is_none() || content.len() as u64 <= limit);
    if database::is_database(&content)
        && let Ok(rows) = database::read(None, &content, TABLES)
    {
        agentlogs_fuzz::rules::lines_are_in_order(&rows.text);
    }
});
