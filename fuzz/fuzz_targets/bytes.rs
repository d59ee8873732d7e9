//! Bytes of any kind as a log: lines, detection, the adapter that claims them, the ledger, prices.
#![no_main]

use agentlogs_fuzz::rules;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| rules::check(bytes));
