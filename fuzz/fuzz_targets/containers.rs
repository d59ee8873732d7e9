//! Bytes of any kind as a file: gzip, zstd, tar, zip, a SQLite database, a sidecar.
#![no_main]

use agentlogs_fuzz::rules;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| rules::check_file(bytes));
