//! Two logs that are almost the same: the ledger adds up, whichever of them comes first.
#![no_main]

use agentlogs_fuzz::{SAMPLES, rules};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|plans: (u8, Vec<u8>, Vec<u8>)| {
    let (sample, one, other) = plans;
    let log = |plan: Vec<u8>| rules::mutated(&SAMPLES, &[&[0, sample][..], &plan].concat());
    rules::check_two(&log(one), &log(other));
});
