//! Names of models, requests and users' tables: a price is never negative, and no table breaks another.
#![no_main]

use agentlogs_fuzz::rules::{self, Priced};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (Option<String>, String, Option<i64>, [Option<u32>; 4], String, Vec<u8>)| {
    let (provider, model, at, tokens, tier, table) = &input;
    rules::check_prices(&Priced { provider: provider.as_deref(), model, at: *at, tokens: *tokens, tier, table });
});
