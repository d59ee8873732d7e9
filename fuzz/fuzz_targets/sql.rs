//! SQL of any kind: it is answered or refused, and reads nothing but the tables.
#![no_main]

use agentlogs::{frames, query};
use agentlogs_fuzz::{SAMPLES, rules};
use libfuzzer_sys::fuzz_target;
use polars::prelude::*;
use std::sync::LazyLock;

static FRAMES: LazyLock<Vec<(&'static str, DataFrame)>> = LazyLock::new(|| {
    let logs = SAMPLES.iter().take(20).map(|it| rules::parse(it)).collect();
    frames::frames(&rules::tables(logs)).unwrap()
});

fuzz_target!(|sql: &str| {
    let tables = FRAMES.iter().map(|(name, it)| (*name, it.clone().lazy())).collect();
    if let Ok(answer) = query::query(tables, sql) {
        let text = sql.to_lowercase();
        assert!(
            !["read_csv", "read_parquet", "read_ipc", "read_json"]
                .iter()
                .any(|it| { text.split_whitespace().collect::<String>().contains(&format!("from{it}(")) }),
            "{sql}"
        );
        assert!(answer.width() > 0 || answer.height() == 0);
    }
});
