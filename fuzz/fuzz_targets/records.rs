//! Sample logs whose records are dropped, repeated, mixed, cut and given other values.
#![no_main]

use agentlogs_fuzz::{SAMPLES, rules};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|plan: &[u8]| rules::check(&rules::mutated(&SAMPLES, plan)));
