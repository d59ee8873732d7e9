//! Two logs that are almost the same: the ledger adds up, whichever of them comes first.
#![no_main]

use agentlogs::tables::Tables;
use agentlogs_fuzz::{SAMPLES, rules};
use libfuzzer_sys::fuzz_target;

fn total(tables: &Tables) -> i64 {
    tables.sessions.iter().filter_map(|it| it.tokens.total()).sum()
}

fuzz_target!(|plans: (u8, Vec<u8>, Vec<u8>)| {
    let (sample, one, other) = plans;
    let log = |plan: Vec<u8>| rules::mutated(&SAMPLES, &[&[0, sample][..], &plan].concat());
    let (one, other) = (log(one), log(other));
    let (alone, beside) = (rules::tables(vec![rules::parse(&one)]), rules::tables(vec![rules::parse(&other)]));
    let both = rules::tables(vec![rules::parse(&one), rules::parse(&other)]);
    rules::the_ledger_adds_up(&both);
    // Copies are removed, nothing is added.
    assert!(total(&both) <= total(&alone) + total(&beside));
    let again = rules::tables(vec![rules::parse(&one), rules::parse(&one)]);
    assert_eq!(total(&again), total(&alone));
});
