//! Names of models, requests and users' tables: a price is never negative, and no table breaks another.
#![no_main]

use agentlogs::prices::{Catalog, Pricer, Request, Table};
use agentlogs::session::Tokens;
use agentlogs::time::Time;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (Option<String>, String, Option<i64>, [Option<u32>; 4], String, Vec<u8>)| {
    let (provider, model, at, tokens, tier, table) = input;
    let [input, output, cache_read, cache_write] = tokens.map(|it| it.map(i64::from));
    let request = Request {
        provider: provider.as_deref(),
        model: Some(&model),
        at: at.map(Time),
        tokens: Tokens { input, output, cache_read, cache_write, ..Tokens::UNKNOWN },
        service_tier: Some(&tier),
        speed: Some(&tier),
        inference_geo: Some(&tier),
        ..Request::default()
    };
    let check = |catalog: &Catalog| {
        if let Ok(priced) = Pricer::new(catalog).price(&request) {
            assert!(priced.total() >= 0.0 && priced.total().is_finite(), "{request:?} {priced:?}");
            assert!(input.is_some() && output.is_some());
        }
        // A name means the same each time.
        let found = || {
            catalog.find(request.provider, &model).map(|it| it.entries.into_iter().cloned().collect::<Vec<_>>())
        };
        assert_eq!(found(), found());
    };
    check(Catalog::built_in());
    if let Ok(table) = Table::parse(&table) {
        let again = Table::parse(table.to_json_lines().as_bytes());
        assert!(table.entries.is_empty() || again.is_ok_and(|it| it.entries == table.entries));
        check(&Catalog::built_in().under(table.entries));
    }
});
