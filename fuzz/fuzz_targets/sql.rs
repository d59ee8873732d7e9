//! SQL of any kind: it is answered or refused, and reads nothing but the tables.
#![no_main]

use agentlogs::store::frames;
use agentlogs::store::query;
use agentlogs_fuzz::{SAMPLES, let_libraries_panic, rules};
use libfuzzer_sys::fuzz_target;
use polars::prelude::*;
use std::sync::LazyLock;

static FRAMES: LazyLock<Vec<(&'static str, DataFrame)>> = LazyLock::new(|| {
    let logs = SAMPLES.iter().take(20).map(|it| rules::parse(it)).collect();
    frames::frames(&rules::tables(logs)).unwrap()
});

/// The SQL without comments and string literals.
fn code(sql: &str) -> String {
    let mut out = String::new();
    let mut rest = sql;
    while let Some(first) = rest.chars().next() {
        let end = match rest.as_bytes() {
            [b'-', b'-', ..] => rest.find('\n'),
            [b'/', b'*', ..] => rest[2..].find("*/").map(|it| it + 4),
            [b'\'', ..] => rest[1..].find('\'').map(|it| it + 2),
            _ => {
                out.push(first);
                Some(first.len_utf8())
            }
        };
        rest = end.map_or("", |it| &rest[it..]);
    }
    out
}

fuzz_target!(|sql: &str| {
    let_libraries_panic();
    let tables = FRAMES.iter().map(|(name, it)| (*name, it.clone().lazy())).collect();
    if let Ok(answer) = query::query(tables, sql) {
        let text = code(sql).to_lowercase();
        assert!(
            !["read_csv", "read_parquet", "read_ipc", "read_json"]
                .iter()
                .any(|it| { text.split_whitespace().collect::<String>().contains(&format!("from{it}(")) }),
            "{sql}"
        );
        assert!(answer.width() > 0 || answer.height() == 0);
    }
});
