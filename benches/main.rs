//! Speed, as bytes per second: splitting lines, skipping values, each adapter over its own samples, the whole pipeline,
//! and an archive of it.
//!
//! `cargo bench -- lines`, `cargo bench -- fold/pi-json`. New adapters join by themselves: the benches loop over the table.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::Path;

use agentlogs::adapters::shared::builder::Retention;
use agentlogs::adapters::{self, ADAPTERS, Hints};
use agentlogs::ingest::{self, Options, Progress};
use agentlogs::input::database;
use agentlogs::input::open::{Budget, Limit};
use agentlogs::json;
use agentlogs::json::lines::Lines;
use agentlogs::json::scan;
use agentlogs::json::simd::Level;
use agentlogs::ledger;
use agentlogs::model::session::Tokens;
use agentlogs::prices::{Catalog, Pricer, Request};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

/// A megabyte or more of the samples of one format, or of all: small logs repeated.
fn samples(format: &str) -> Vec<u8> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("sample-logs").join(format);
    let mut bytes = Vec::new();
    let files = walkdir::WalkDir::new(directory).sort_by_file_name().into_iter().filter_map(Result::ok);
    let logs: Vec<_> = files
        .filter(|it| it.file_type().is_file() && !it.path().to_string_lossy().ends_with(".meta.json"))
        .filter_map(|it| {
            let bytes = std::fs::read(it.path()).ok()?;
            let rows = database::is_database(&bytes)
                .then(|| database::read(Some(it.path()), &bytes, adapters::TABLES, &Budget::new(Limit::Usual, 0)));
            rows.map_or(Some(bytes), |it| Some(it.ok()?.text))
        })
        .filter(|it| it.ends_with(b"\n"))
        .collect();
    while bytes.len() < 1 << 20 && !logs.is_empty() {
        bytes.extend(logs.concat());
    }
    bytes
}

fn lines(criterion: &mut Criterion) {
    let bytes = samples("claude-stream-json");
    let mut group = criterion.benchmark_group("lines");
    group.throughput(Throughput::Bytes(bytes.len() as u64));
    group.bench_function("newlines", |it| it.iter(|| memchr::memchr_iter(b'\n', black_box(&bytes)).count()));
    group.bench_function("lines", |it| it.iter(|| Lines::new(black_box(&bytes)).count()));
    group.finish();
}

/// Skipping values that no field needs: the records of a log, and the outputs that most of it are, at each level that this
/// processor has.
fn skip(criterion: &mut Criterion) {
    let bytes = samples("claude-stream-json");
    let mut group = criterion.benchmark_group("skip");
    group.throughput(Throughput::Bytes(bytes.len() as u64));
    group.bench_function("records", |it| {
        it.iter(|| Lines::new(black_box(&bytes)).filter(|it| json::value_end(it.bytes, 0).is_ok()).count());
    });
    let output = format!(r#""{}""#, r#"    let text = \"a\";\n    println!(\"{text}\");\n"#.repeat(1 << 14));
    let nested = format!("[{}0]", r#"{"file_path":"/work/a.rs","lines":[1,2]},"#.repeat(1 << 14));
    for level in Level::all() {
        group.throughput(Throughput::Bytes(output.len() as u64));
        group.bench_function(format!("output/{level}"), |it| {
            it.iter(|| scan::string_end(level, black_box(output.as_bytes()), 1));
        });
        group.throughput(Throughput::Bytes(nested.len() as u64));
        group.bench_function(format!("nested/{level}"), |it| {
            it.iter(|| scan::nested_end(level, black_box(nested.as_bytes()), 0));
        });
    }
    group.finish();
}

fn fold(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("fold");
    for adapter in ADAPTERS {
        let bytes = samples(adapter.id);
        group.throughput(Throughput::Bytes(bytes.len() as u64));
        group.bench_with_input(BenchmarkId::from_parameter(adapter.id), &bytes, |it, bytes| {
            let hints = Hints { runtime: Some(adapter.runtime), ..Hints::default() };
            it.iter(|| adapters::parse(black_box(bytes), hints, Retention::None));
        });
    }
    group.finish();
}

/// Loading the catalog, looking a name up, and pricing one row of a model that is known already.
fn price(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("price");
    group.bench_function("load", |it| it.iter(|| Catalog::built_in().under(Vec::new())));
    let name = "us.anthropic.claude-sonnet-4-5-20250929-v1:0";
    group.bench_function("find", |it| it.iter(|| Catalog::built_in().find(None, black_box(name)).is_some()));
    let mut pricer = Pricer::new(Catalog::built_in());
    let tokens = Tokens { input: Some(10), output: Some(500), cache_read: Some(90_000), ..Tokens::UNKNOWN };
    let row = Request { model: Some(name), tokens, ..Request::default() };
    group.bench_function("row", |it| it.iter(|| pricer.price(black_box(&row)).is_ok()));
    group.finish();
}

fn pipeline(criterion: &mut Criterion) {
    let roots = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("sample-logs")];
    let options = Options { roots, ..Options::default() };
    let read = || ingest::read(&options, &BTreeMap::new(), &Progress::default()).sources;
    let sources = read();
    let bytes: i64 = sources.iter().map(|it| it.bytes).sum();
    let mut group = criterion.benchmark_group("pipeline");
    group.throughput(Throughput::Bytes(bytes.unsigned_abs()));
    group.bench_function("read", |it| it.iter(read));
    group.bench_function("reconcile", |it| it.iter(|| ledger::reconcile(black_box(sources.clone()))));
    #[cfg(feature = "archive")]
    {
        let tables = ledger::reconcile(sources.clone());
        group.bench_function("frames", |it| {
            it.iter(|| {
                for table in agentlogs::store::frames::TABLES {
                    let schema = agentlogs::store::frames::schema_of(table);
                    let Ok(file) = agentlogs::store::parquet::RowGroupWriter::new(std::io::sink(), &schema) else {
                        continue;
                    };
                    let take = |rows: &dyn agentlogs::store::parquet::RowSet| {
                        black_box(file.encode(rows)?);
                        Ok(())
                    };
                    let _ = agentlogs::store::frames::row_sets(black_box(&tables), table, usize::MAX, take);
                }
            });
        });
    }
    group.finish();
}

/// Logs into a new archive, and a report of it: what the commands do.
#[cfg(feature = "archive")]
fn archive(criterion: &mut Criterion) {
    use agentlogs::analysis::reports;
    use agentlogs::store::archive::Archive;
    use agentlogs::store::query::query;

    let roots = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("sample-logs")];
    let options = Options { roots, ..Options::default() };
    let ingest = || {
        let directory = tempfile::tempdir().expect("a directory");
        let writer = Archive::at(directory.path()).write().expect("a new archive");
        ingest::read_into(&options, |it| writer.known(it), &Progress::default(), &writer);
        writer.commit().expect("a whole archive");
        directory
    };
    let bytes: i64 =
        ingest::read(&options, &BTreeMap::new(), &Progress::default()).sources.iter().map(|it| it.bytes).sum();
    let mut group = criterion.benchmark_group("archive");
    group.throughput(Throughput::Bytes(bytes.unsigned_abs()));
    group.bench_function("ingest", |it| it.iter(ingest));
    let directory = ingest();
    let tables = || Archive::at(directory.path()).tables().expect("its tables");
    let report = || {
        let cost = reports::find("cost").expect("a report");
        let by = vec!["model".to_owned(), "week".to_owned()];
        cost.run(&tables(), black_box(&reports::Options { by, ..reports::Options::default() })).expect("its rows")
    };
    group.bench_function("report", |it| it.iter(report));
    let sql = || {
        query(
            tables(),
            black_box("SELECT model, week, SUM(cost_usd), SUM(total_tokens) FROM turns GROUP BY model, week"),
        )
    };
    group.bench_function("query", |it| it.iter(sql));
    group.finish();
}

#[cfg(not(feature = "archive"))]
fn archive(_: &mut Criterion) {}

criterion_group!(benches, lines, skip, fold, price, pipeline, archive);
criterion_main!(benches);
