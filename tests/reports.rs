//! Every report by every dimension: sorted by every measure, drawn as every chart, and complete in every time zone.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use agentlogs::adapters::shared::builder::Retention;
use agentlogs::analysis::compare::compare;
use agentlogs::analysis::outcomes::Unjudged;
use agentlogs::analysis::overview::Overview;
use agentlogs::analysis::present::chart::Chart;
use agentlogs::analysis::present::{Format, ReportStyle, Roles, Screen, TableStyle, render};
use agentlogs::analysis::reports::{
    self, Answer, DIMENSIONS, Dimension, Error, Frames, Options, PriceAs, REPORTS, Report, Scope, Undated, WeekStart,
};
use agentlogs::analysis::views::with_views;
use agentlogs::base::time::{DAY_MICROS, Time};
use agentlogs::base::width::width;
use agentlogs::model::source::Source;
use agentlogs::model::tables::Tables;
use agentlogs::prices::Catalog;
use agentlogs::store::frames::{TABLES, count_undated, frames};
use agentlogs::store::query::query;
use polars::prelude::*;
use proptest::prelude::*;
use proptest::sample::select;

use crate::{demo_facts, facts, reconciled, root};

/// The tables of the sample logs, made once.
fn tables() -> Frames {
    static TABLES: OnceLock<Frames> = OnceLock::new();
    let tables = || -> Frames {
        let tables = reconciled(facts(Retention::None));
        frames(&tables).unwrap().into_iter().map(|(name, frame)| (name, frame.lazy())).collect()
    };
    TABLES.get_or_init(tables).clone()
}

/// All dimensions, and a label.
fn dimensions() -> Vec<&'static str> {
    DIMENSIONS.iter().map(|dimension| dimension.name).chain(["label:team"]).collect()
}

/// Every report with every dimension that its rows have: the dimensions that help and documents list. Trends are not sums, so that only
/// their dimensions are tested here.
fn groupings() -> Vec<(&'static Report, &'static str)> {
    static GROUPINGS: OnceLock<Vec<(&Report, &str)>> = OnceLock::new();
    let pairs = REPORTS.iter().flat_map(|report| dimensions().into_iter().map(move |dimension| (report, dimension)));
    let is_possible = |report: &Report, dimension: &str| {
        let options = Options { by: vec![(*dimension).to_owned()], limit: Some(1), ..Options::default() };
        let is_listed = Dimension::find(dimension)
            .map_or(!["health", "limits"].contains(&report.name), |dimension| report.has(dimension));
        match report.run(&tables(), &options) {
            Ok(_) => assert!(is_listed, "{} by {dimension}", report.name),
            Err(Error::NotOfReport { list, .. }) => {
                assert!(!is_listed, "{} by {dimension}", report.name);
                let names: Vec<&str> = report.dimensions().map(|dimension| dimension.name).collect();
                assert_eq!(list, names.join(", "), "{}", report.name);
            }
            Err(Error::NotOfHealth(_) | Error::GroupedLimits) => assert!(!is_listed),
            Err(error) => panic!("{} by {dimension}: {error}", report.name),
        }
        is_listed && !report.measures().is_empty()
    };
    let possible = || {
        let pairs: Vec<(usize, (&'static Report, &'static str))> = pairs.enumerate().collect();
        let found: Mutex<BTreeMap<usize, (&Report, &str)>> = Mutex::default();
        in_threads(&pairs, |(index, (report, dimension))| {
            if is_possible(report, dimension) {
                found.lock().unwrap().insert(*index, (report, dimension));
            }
        });
        found.into_inner().unwrap().into_values().collect()
    };
    GROUPINGS.get_or_init(possible).clone()
}

/// The answer; that of `report cost` also has the costs at the prices of another model.
fn run(report: &Report, options: &Options) -> Answer {
    let price_as = (report.name == "cost").then(model);
    let options = &Options { price_as, ..options.clone() };
    report.run(&tables(), options).unwrap_or_else(|error| panic!("{} with {options:?}: {error}", report.name))
}

/// The model whose prices are applied.
fn model() -> PriceAs {
    static CATALOG: OnceLock<Arc<Catalog>> = OnceLock::new();
    let catalog = CATALOG.get_or_init(|| Arc::new(Catalog::built_in().clone()));
    PriceAs::new("claude-haiku-4-5", Arc::clone(catalog)).unwrap()
}

/// Runs the check on each of the cases, in threads whose stack is deep enough for the plans of polars in a debug build.
fn in_threads<T: Sync>(cases: &[T], check: impl Fn(&T) + Sync) {
    const STACK: usize = 64 << 20;
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    // Some cases take much longer than others.
    let next = AtomicUsize::new(0);
    let next_case = || cases.get(next.fetch_add(1, Ordering::Relaxed));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let run = || std::iter::from_fn(next_case).for_each(&check);
            std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, run).unwrap();
        }
    });
}

/// A column as comparable texts, in the order of the rows.
fn texts(frame: &DataFrame, column: &str) -> Vec<String> {
    frame.column(column).unwrap().as_materialized_series().iter().map(|value| value.to_string()).collect()
}

/// Writes a generated block of docs/reports.md, or checks it: `TIDY=overwrite cargo test --test main documents_list`.
fn check_block(name: &str, block: &str) {
    let start = format!("<!-- {name}: written by tests/reports.rs -->\n");
    let end = format!("<!-- end of {name} -->");
    let path = root().join("docs/reports.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(&start).unwrap();
    let (found, after) = rest.split_once(&end).unwrap();
    if std::env::var("TIDY").is_ok_and(|mode| mode == "overwrite") {
        std::fs::write(&path, [before, &start, block, &end, after].concat()).unwrap();
        return;
    }
    assert_eq!(found, block, "{}: write it again with TIDY=overwrite", path.display());
}

/// docs/reports.md lists all reports, and all dimensions with their reports.
#[test]
fn documents_list_the_reports_and_dimensions() {
    let mut table = vec!["\n| report | contents |\n| --- | --- |\n".to_owned()];
    table.extend(REPORTS.iter().map(|report| format!("| `{}` | {} |\n", report.name, report.about)));
    table.push("\n".to_owned());
    check_block("reports", &table.concat());
    let mut table = vec!["\n| dimension | value | reports |\n| --- | --- | --- |\n".to_owned()];
    for dimension in DIMENSIONS {
        table.push(format!("| `{}` | {} | {} |\n", dimension.name, dimension.about, dimension.reports_as_text()));
    }
    table.push("| `label:KEY` | Value of the session's label KEY | all but limits, health |\n\n".to_owned());
    check_block("dimensions", &table.concat());
}

/// The total is that of all rows, whichever the groups and columns.
#[test]
fn every_report_can_be_sorted_by_every_measure_and_drawn() {
    let groupings = groupings();
    assert!(groupings.len() > 150, "{}", groupings.len());
    let totals: Mutex<BTreeMap<&str, DataFrame>> = Mutex::default();
    let assert_total = |report: &Report, dimension: &str, total: DataFrame| {
        let expected = totals.lock().unwrap().entry(report.name).or_insert_with(|| total.clone()).clone();
        for column in total.get_column_names() {
            assert_eq!(texts(&total, column), texts(&expected, column), "{} by {dimension}: {column}", report.name);
        }
    };
    in_threads(&groupings, |(report, dimension)| {
        let by = vec![(*dimension).to_owned()];
        let all = run(report, &Options { by: by.clone(), wide: true, total: true, ..Options::default() });
        assert_eq!(all.dimensions, 1, "{} by {dimension}", report.name);
        let total = all.total.unwrap();
        assert_eq!((total.height(), total.width() + 1), (1, all.rows.width()), "{} by {dimension}", report.name);
        assert_total(report, dimension, total);
        let groups: BTreeSet<String> = texts(&all.rows, dimension).into_iter().collect();
        assert_eq!(groups.len(), all.rows.height(), "{} by {dimension}: each group once", report.name);
        // The order does not depend on the dimension: each measure is the order of one of them.
        let index = report.dimensions().position(|it| it.name == *dimension).unwrap_or_default();
        let dimensions = report.dimensions().count();
        let measures = report.measures();
        for (_, measure) in measures.iter().enumerate().filter(|(number, _)| number % dimensions == index) {
            let sort = Some(measure.name.to_owned());
            let answer = run(report, &Options { by: by.clone(), sort, total: true, ..Options::default() });
            assert_total(report, dimension, answer.total.unwrap());
            let sorted = answer.rows;
            let name = format!("{} by {dimension} sorted by {}", report.name, measure.name);
            assert_eq!(texts(&sorted, dimension).into_iter().collect::<BTreeSet<_>>(), groups, "{name}");
            let column = sorted.column(measure.name).unwrap().as_materialized_series();
            let order = SortOptions::default().with_order_descending(true).with_nulls_last(true);
            assert!(column.equals_missing(&column.sort_with(order).unwrap()), "{name}");
            if column.dtype().is_primitive_numeric() {
                let chart = Chart::of(&sorted, &[dimension], measure.name).unwrap();
                assert!(!chart.text(80).is_empty() || sorted.height() == 0, "{name}");
                assert!(chart.svg().contains("<svg"), "{name}");
            }
        }
    });
}

/// Measures that are about all groups: another format changes them.
const RELATIVE: &[&str] = &[
    "share",
    "is_on_front",
    "all_passed",
    "all_failed",
    "passed_without",
    "failed_without",
    "pass_rate_without",
    "pass_rate_without_low",
    "pass_rate_without_high",
];

/// The measures of every report over the samples of each format, a snapshot per format, so that a new format changes its own only.
/// Zeros and unknown values are left out.
#[test]
fn sums_of_every_report_by_format() {
    let mut lines: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let by_format = groupings().into_iter().filter(|(_, dimension)| *dimension == "format");
    for (report, dimension) in by_format {
        let by = vec![dimension.to_owned()];
        let rows = run(report, &Options { by, wide: true, limit: Some(0), ..Options::default() }).rows;
        let formats = texts(&rows, dimension);
        let measures =
            rows.columns().iter().filter(|column| ![dimension].iter().chain(RELATIVE).any(|it| column.name() == it));
        let mut values = vec![String::new(); formats.len()];
        for measure in measures {
            for (value, text) in values.iter_mut().zip(texts(&rows, measure.name())) {
                if !["null", "0", "0.0", ""].contains(&text.as_str()) {
                    let _ = write!(value, " {}={text}", measure.name());
                }
            }
        }
        for (format, value) in formats.into_iter().zip(values) {
            lines.entry(format.trim_matches('"').to_owned()).or_default().push(format!("{}:{value}", report.name));
        }
    }
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        for (format, lines) in lines {
            insta::assert_snapshot!(format!("sums@{format}"), lines.join("\n"));
        }
    });
}

/// Without dimensions each report has its own, and health is a list that sorts by each of its columns.
#[test]
fn every_report_runs_as_it_is() {
    for report in REPORTS {
        let all = run(report, &Options { wide: true, total: true, ..Options::default() });
        assert!(all.rows.height() > 0, "{}", report.name);
        // `every_report_can_be_sorted_by_every_measure_and_drawn` sorts by the others.
        let is_measure = |column: &str| report.measures().iter().any(|measure| measure.name == column);
        for column in all.rows.get_column_names().into_iter().filter(|column| !is_measure(column)) {
            let sort = Some(column.to_string());
            let sorted = run(report, &Options { sort, ..Options::default() });
            assert_eq!(sorted.rows.height(), all.rows.height(), "{} sorted by {column}", report.name);
        }
    }
}

#[test]
fn every_named_query_runs() {
    for entry in std::fs::read_dir(root().join("queries")).unwrap() {
        let path = entry.unwrap().path();
        let sql = std::fs::read_to_string(&path).unwrap();
        let answer = query(with_views(tables(), &sql).unwrap(), &sql);
        assert!(answer.is_ok(), "{}: {answer:?}", path.display());
    }
}

/// What a person sees of each report is as wide as a page, groups without a value are named, and programs get all columns.
#[test]
fn default_columns_fit_a_page() {
    let directory = tempfile::tempdir().unwrap();
    let archive = directory.path().join("archive");
    let agentlogs = |arguments: &[&str]| {
        let command = Command::new(env!("CARGO_BIN_EXE_agentlogs"))
            .args(arguments)
            .arg("--archive")
            .arg(&archive)
            .current_dir(root())
            .output()
            .unwrap();
        assert!(command.status.success(), "{arguments:?}: {command:?}");
        String::from_utf8(command.stdout).unwrap()
    };
    agentlogs(&["ingest", "sample-logs"]);
    for report in REPORTS {
        for option in ["--cost=auto", "--human"] {
            for line in agentlogs(&["report", report.name, option]).lines() {
                assert!(line.chars().count() <= 100, "{}: {line}", report.name);
            }
        }
        let header = agentlogs(&["report", report.name, "--format", "csv", "--limit", "1"]);
        let columns: Vec<&str> = header.lines().next().unwrap_or_default().split(',').collect();
        let mut measures = report.measures().iter().filter(|measure| measure.is_always_computed());
        assert!(measures.all(|measure| columns.contains(&measure.name)), "{}: {header}", report.name);
    }
    for line in agentlogs(&["report", "cost", "--price-as", "claude-haiku-4-5"]).lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
    let by_model = |format: &str| agentlogs(&["report", "cost", "--by", "model", "--format", format]);
    assert!(by_model("table").contains("\n (unknown) "));
    assert!(by_model("markdown").contains("\n| (unknown) |"));
    assert!(by_model("csv").contains("\n,"));
    assert!(by_model("json").contains("{\"model\": null,"));
}

/// Days of the week are in the order of the week, hours of the day in that of the day, and each of them occurs once.
#[test]
fn recurring_times_are_in_their_order() {
    let by = |name: &str, week_start| {
        let scope = Scope { timezone: "Asia/Kolkata".to_owned(), week_start, ..Scope::default() };
        let options = Options { by: vec![name.to_owned()], scope, total: true, wide: true, ..Options::default() };
        let answer = run(reports::find("cost").unwrap(), &options);
        let newest_first = run(reports::find("cost").unwrap(), &Options { newest_first: true, ..options.clone() });
        assert_eq!(texts(&newest_first.rows, name), texts(&answer.rows, name), "on a terminal, too");
        assert_eq!(
            answer.rows.column("turns").unwrap().i64().unwrap().sum(),
            answer.total.unwrap().column("turns").unwrap().i64().unwrap().sum()
        );
        texts(&answer.rows, name).iter().map(|text| text.trim_matches('"').to_owned()).collect::<Vec<_>>()
    };
    let days = by("weekday", WeekStart::Monday);
    let week = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday", "null"];
    assert_eq!(days, week.iter().copied().filter(|day| days.iter().any(|it| it == day)).collect::<Vec<_>>());
    let from_sunday = by("weekday", WeekStart::Sunday);
    assert_eq!(from_sunday.iter().position(|day| day == "Sunday"), Some(0), "{from_sunday:?}");
    let hours = by("hour_of_day", WeekStart::Monday);
    assert!(hours.len() > 5 && hours.len() <= 25 && hours[..hours.len() - 1].is_sorted(), "{hours:?}");
    assert!(hours.iter().all(|hour| hour == "null" || (hour.len() == 5 && hour.ends_with(":00"))), "{hours:?}");
}

/// The name of a model is canonical, also where all rows in scope have one other spelling.
#[test]
fn names_of_models_do_not_depend_on_the_scope() {
    let by = |name: &str, model: Option<&str>| {
        let only = model.map(|model| ("model".to_owned(), model.to_owned())).into_iter().collect();
        let scope = Scope { only, ..Scope::default() };
        let options = Options { by: vec![name.to_owned()], scope, ..Options::default() };
        texts(&run(reports::find("cost").unwrap(), &options).rows, name)
    };
    let all = by("model", None);
    assert!(by("model_as_logged", None).contains(&"\"claude-sonnet-4-5-20250929\"".to_owned()));
    for logged in ["claude-sonnet-4-5-20250929", "claude-sonnet-4-5"] {
        let found = by("model", Some(logged));
        assert_eq!(found, ["\"claude-sonnet-4-5\""], "{logged}");
        assert!(all.contains(&found[0]));
    }
    assert_eq!(by("model_as_logged", Some("claude-sonnet-4-5-20250929")), ["\"claude-sonnet-4-5-20250929\""]);
}

/// A bound of time that excludes everything is an error in every report that takes bounds.
#[test]
fn an_empty_period_is_an_error() {
    let scope = |since: &str, until: &str| Scope {
        since: Some(since.parse().unwrap()),
        until: Some(until.parse().unwrap()),
        now: "2026-11-24T12:00:00Z".parse().unwrap(),
        ..Scope::default()
    };
    for report in REPORTS.iter().filter(|report| report.name != "health") {
        let options = Options { scope: scope("2026-11-20", "2026-11-19"), ..Options::default() };
        let error = report.run(&tables(), &options).unwrap_err().to_string();
        let expected =
            "no time is between --since 2026-11-20 (2026-11-20 00:00) and --until 2026-11-19 (2026-11-20 00:00)";
        assert_eq!(error, expected, "{}", report.name);
    }
    let run = |since: &str, until: &str| {
        let options = Options { scope: scope(since, until), ..Options::default() };
        reports::find("cost").unwrap().run(&tables(), &options).is_ok()
    };
    assert!(run("yesterday", "yesterday") && run("2026-11", "2026-11") && run("14d", "7d"));
    assert!(!run("7d", "14d") && !run("today", "yesterday"));
}

/// Times later than a day from now are a finding, and no period that ends now contains them.
#[test]
fn times_in_the_future_are_a_finding_and_in_no_period() {
    let at = |now: &str| Options {
        scope: Scope { now: now.parse().unwrap(), ..Scope::default() },
        limit: Some(0),
        ..Options::default()
    };
    let findings = |options: &Options| {
        let answer = run(reports::find("health").unwrap(), options);
        let names = answer.rows.column("finding").unwrap().str().unwrap();
        names.iter().filter(|name| *name == Some("future")).count()
    };
    assert!(findings(&at("2025-01-01T00:00:00Z")) > 0);
    assert_eq!(findings(&at("2100-01-01T00:00:00Z")), 0);
    assert_eq!(findings(&Options::default()), 0, "the current time is not known");
    let mut week = at("2001-01-08T00:00:00Z");
    week.scope.since = Some("7d".parse().unwrap());
    assert_eq!(run(reports::find("cost").unwrap(), &week).rows.height(), 0);
    week.scope.until = Some("2100-01-01".parse().unwrap());
    assert!(run(reports::find("cost").unwrap(), &week).rows.height() > 0, "a named end is used");
}

/// On a terminal of 80 columns, each row is one line, and what was left out is named.
#[test]
fn each_row_is_a_line_on_a_narrow_terminal() {
    for report in REPORTS {
        let answer = run(report, &Options::default());
        let shown = ReportStyle { dimensions: answer.dimensions, ..ReportStyle::default() };
        let screen = Some(Screen { width: 80, height: 1, is_ascii: false });
        let roles = Roles { names: Some(answer.dimensions), ..Roles::default() };
        let look = TableStyle { screen, roles, report: Some(shown), ..TableStyle::default() };
        let mut out = Vec::new();
        let hidden = render(&answer.rows, Format::Table, look, &mut out).unwrap();
        let table = String::from_utf8(out).unwrap();
        assert!(table.lines().all(|line| width(line) <= 80), "{}:\n{table}", report.name);
        let rows = table.lines().skip_while(|line| !line.starts_with('─')).skip(1);
        assert_eq!(rows.count(), answer.rows.height(), "{}:\n{table}", report.name);
        assert!(hidden.len() <= 2, "{}: {hidden:?}", report.name);
    }
}

/// The costs of both kinds are compared session by session, and the worst one is named.
#[test]
fn the_session_with_the_largest_difference_is_named() {
    let answer = run(reports::find("reconcile").unwrap(), &Options { wide: true, total: true, ..Options::default() });
    let (rows, total) = (&answer.rows, answer.total.unwrap());
    for (session, difference) in texts(rows, "worst_session").iter().zip(texts(rows, "worst_difference_usd")) {
        assert_eq!(session == "null", difference == "null", "{session} {difference}");
    }
    let largest = |frame: &DataFrame| {
        let differences = frame.column("worst_difference_usd").unwrap().f64().unwrap().clone();
        differences.iter().flatten().fold(0.0, |most: f64, difference| most.max(difference.abs()))
    };
    assert!(largest(rows) > 0.0);
    assert!((largest(rows) - largest(&total)).abs() < 1e-9);
}

/// Percentiles are values of the data, whatever its size: small numbers, some of more than 32 bits, and numbers below 0.
#[test]
fn percentiles_are_values_of_the_data() {
    for factor in [1, 100_000_000, -1] {
        let column = || col("duration_ms") * lit(factor);
        let tables = tables().map(|name, frame| match name {
            "turns" => frame.with_column(column().alias("duration_ms")),
            _ => frame,
        });
        let options = Options { by: vec!["runtime".to_owned()], wide: true, total: true, ..Options::default() };
        let answer = reports::find("turns").unwrap().run(&tables, &options).unwrap();
        let turns =
            tables.table("turns").filter(col("grain").eq(lit("turn"))).select([col("runtime"), col("duration_ms")]);
        let turns = turns.collect().unwrap();
        let (runtimes, durations) =
            (turns.column("runtime").unwrap().str().unwrap(), turns.column("duration_ms").unwrap());
        let durations = durations.i64().unwrap();
        let expected = |runtime: Option<&str>| {
            let rows = runtimes.iter().zip(durations.iter());
            let of_group = rows.filter(|(of, _)| runtime.is_none() || *of == runtime);
            let mut values: Vec<i64> = of_group.filter_map(|(_, duration)| duration).collect();
            values.sort_unstable();
            let last = values.len().saturating_sub(1);
            // The nearest index, with halves rounded up.
            [last.div_ceil(2), (9 * last + 5) / 10].map(|index| values.get(index).copied())
        };
        let found = |frame: &DataFrame, row: usize| {
            ["p50_duration_ms", "p90_duration_ms"].map(|name| frame.column(name).unwrap().i64().unwrap().get(row))
        };
        let groups = answer.rows.column("runtime").unwrap().str().unwrap();
        for (row, runtime) in groups.iter().enumerate() {
            assert_eq!(found(&answer.rows, row), expected(runtime), "{runtime:?} {factor}");
        }
        assert_eq!(found(&answer.total.unwrap(), 0), expected(None), "{factor}");
        let largest = durations.iter().flatten().map(i64::abs).max().unwrap();
        assert_eq!(largest > i64::from(u32::MAX), factor > 1, "{largest}");
    }
}

/// The measures that are sums over the rows, so that groups add up to the total.
const SUMS: &[&str] = &[
    "as_model_unpriced_tokens",
    "as_model_usd",
    "cache_read_tokens",
    "cache_write_tokens",
    "calls",
    "change_usd",
    "changes",
    "cost_usd",
    "denied",
    "difference_usd",
    "edit_calls",
    "errors",
    "events",
    "explore_calls",
    "file_edits",
    "input_tokens",
    "known_lines_added",
    "lines_added",
    "lines_removed",
    "lines_removed_again",
    "model_time_ms",
    "output_tokens",
    "repeated_calls",
    "reported_cost_usd",
    "result_bytes",
    "test_runs",
    "tool_time_ms",
    "total_tokens",
    "turns",
    "uncached_usd",
    "unpriced_tokens",
    "verified_sessions",
    "verify_calls",
    "waiting_time_ms",
    "waste_usd",
    "wasted_tokens",
];

/// The sums of some columns over rows, in order; NULL is 0 here.
fn sums(frame: &DataFrame) -> Vec<(&'static str, f64)> {
    let sum = |name: &&'static str| {
        let values = frame.column(name).ok()?.cast(&DataType::Float64).ok()?;
        Some((*name, values.f64().ok()?.iter().flatten().sum()))
    };
    SUMS.iter().filter_map(sum).collect()
}

fn are_equal(a: &[(&str, f64)], b: &[(&str, f64)]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.0 == b.0 && (a.1 - b.1).abs() < 1e-6)
}

/// Moments around those of the sample logs, as days, local times and times with a zone.
fn bound() -> impl Strategy<Value = String> {
    let day = (1..=12_u8, 1..=28_u8);
    let time = (0..24_u8, 0..60_u8);
    (day, time, select(vec!["day", "local", "utc", "offset"])).prop_map(|((month, day), (hour, minute), kind)| {
        let date = format!("2026-{:02}-{day:02}", 8 + month % 4);
        match kind {
            "day" => date,
            "local" => format!("{date}T{hour:02}:{minute:02}"),
            "utc" => format!("{date}T{hour:02}:{minute:02}:00Z"),
            _ => format!("{date} {hour:02}:{minute:02}-03:30"),
        }
    })
}

fn zones() -> impl Strategy<Value = &'static str> {
    select(vec!["UTC", "Europe/Berlin", "America/St_Johns", "Asia/Kolkata", "Pacific/Apia", "America/Los_Angeles"])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() })]

    /// The groups of a report sum to its total, whatever the dimension and the time zone.
    #[test]
    fn groups_sum_to_the_total((report, dimension) in select(groupings()), zone in zones()) {
        let scope = Scope { timezone: zone.to_owned(), ..Scope::default() };
        let by = vec![dimension.to_owned()];
        let answer = run(report, &Options { by, scope, wide: true, total: true, ..Options::default() });
        // The price of results in the context is a group of its own, and in no sum of causes: docs/waste.md.
        let is_summed = if dimension == "cause" { col("cause").neq(lit("output_carried")) } else { lit(true) };
        let rows = answer.rows.lazy().filter(is_summed).collect().unwrap();
        let (groups, total) = (sums(&rows), sums(&answer.total.unwrap()));
        prop_assert!(!groups.is_empty() || report.name == "sessions", "{}", report.name);
        prop_assert!(are_equal(&groups, &total), "{} by {dimension} in {zone}: {groups:?} {total:?}", report.name);
    }

    /// What is before a moment, what is after it and what has no time is everything, and what is left out is stated.
    #[test]
    fn before_after_and_undated_are_all(
        (report, dimension) in select(groupings()),
        zone in zones(),
        bound in bound(),
        runtime in select(vec!["*", "claude", "codex", "drover"]),
    ) {
        let only = vec![("runtime".to_owned(), runtime.to_owned())];
        let everything = Scope { timezone: zone.to_owned(), only, ..Scope::default() };
        let moment = bound.parse().unwrap();
        // The end of a day is the beginning of the next one: of days, one belongs to both sides unless it is cut out.
        let after = if bound.len() == 10 { format!("{bound}T23:59:59.999999999").parse().unwrap() } else { moment };
        let before = Scope { until: Some(moment), ..everything.clone() };
        let after = Scope { since: Some(after), ..everything.clone() };
        let undated = Scope { undated: Some(Undated::Only), ..everything.clone() };
        let asked = |scope: &Scope| {
            let by = vec![dimension.to_owned()];
            let answer = run(report, &Options { by, scope: scope.clone(), wide: true, ..Options::default() });
            (sums(&answer.rows), answer.left_out)
        };
        let all = asked(&everything).0;
        let parts = [asked(&before), asked(&after), asked(&undated)];
        let added = |of: &[&Vec<(&'static str, f64)>]| -> Vec<(&'static str, f64)> {
            let sum = |index: usize| of.iter().map(|part| part[index].1).sum();
            all.iter().enumerate().map(|(index, (name, _))| (*name, sum(index))).collect()
        };
        let three = added(&[&parts[0].0, &parts[1].0, &parts[2].0]);
        prop_assert!(are_equal(&three, &all), "{} by {dimension}, {bound} in {zone}: {three:?} {all:?}", report.name);
        // Both halves leave out the same rows, and state their tokens.
        let (of_before, of_after) = (&parts[0].1, &parts[1].1);
        prop_assert_eq!((of_before.rows, of_before.tokens), (of_after.rows, of_after.tokens));
        let cost = |left_out: &reports::LeftOut| left_out.cost_usd.unwrap_or(-1.0);
        prop_assert!((cost(of_before) - cost(of_after)).abs() < 1e-9, "{of_before:?} {of_after:?}");
        // What is left out are whole sessions; the tokens of these reports are those of some of their rows.
        let is_of_all_rows = !["agents", "failures", "skills"].contains(&report.name);
        if let Some((_, tokens)) = parts[2].0.iter().find(|(name, _)| is_of_all_rows && *name == "total_tokens") {
            let stated = parts[0].1.tokens.unwrap_or_default() as f64;
            prop_assert!((stated - tokens).abs() < 0.5, "{stated} {tokens}");
        }
        // Included undated rows are added to each half.
        let included = asked(&Scope { undated: Some(Undated::Include), ..before.clone() });
        let expected = added(&[&parts[0].0, &parts[2].0]);
        prop_assert!(are_equal(&included.0, &expected), "{} by {dimension}: {:?} {expected:?}", report.name, included.0);
        prop_assert_eq!(included.1.rows, 0);
    }
}

/// Every report takes bounds of time, whether all of its rows have a time or not.
#[test]
fn every_report_takes_bounds_of_time() {
    for report in REPORTS.iter().filter(|report| report.name != "health") {
        for runtime in ["claude", "codex", "drover", "no runtime"] {
            let only = vec![("runtime".to_owned(), runtime.to_owned())];
            let since = Some("2026-10-01T08:00".parse().unwrap());
            let scope = Scope { since, only, ..Scope::default() };
            let answer = run(report, &Options { scope, total: true, ..Options::default() });
            assert!(!matches!(runtime, "drover" | "no runtime") || answer.left_out.rows == 0, "{}", report.name);
        }
    }
}

/// Files that end before a period are not read, which changes no report.
#[test]
fn files_before_a_period_change_no_report() {
    let mut by_format: BTreeMap<Option<String>, Vec<Source>> = BTreeMap::new();
    for source in facts(Retention::None) {
        by_format.entry(source.format.clone()).or_default().push(source);
    }
    // Partitions with rows without a time are always read.
    let is_dated = |tables: &Tables| TABLES.iter().all(|table| count_undated(tables, table) == 0);
    let dated = by_format.into_values().map(reconciled).filter(is_dated);
    let partitions: Vec<(Frames, Option<Time>)> = dated
        .map(|tables| {
            let partition = frames(&tables).unwrap().into_iter().map(|(name, frame)| (name, frame.lazy())).collect();
            (partition, tables.latest_time())
        })
        .collect();
    let whole = |name: &'static str| {
        let of_partitions: Vec<_> = partitions.iter().map(|(partition, _)| partition.table(name)).collect();
        (name, concat(of_partitions, UnionArgs::default()).unwrap())
    };
    let whole: Frames = TABLES.iter().copied().map(whole).collect();
    let whole_of = |has_ends: bool| {
        let some = partitions.iter().map(|(partition, end)| partition.clone().with_end(end.filter(|_| has_ends)));
        whole.clone().with_partitions(some.collect())
    };
    let (divided, all) = (whole_of(true), whole_of(false));
    let last = partitions.iter().filter_map(|(_, end)| *end).map(Time::day).max().unwrap();
    let ends: BTreeSet<i32> = partitions.iter().filter_map(|(_, end)| *end).map(Time::day).collect();
    let start_of = |day: i32| Time::from_micros(i64::from(day) * DAY_MICROS);
    let read = |day: i32| divided.since(start_of(day)).unwrap().partitions().len();
    let days: Vec<i32> = ends.into_iter().filter(|day| read(*day) < partitions.len()).collect();
    assert!(days.len() > 1, "some files are left out: {} partitions", partitions.len());
    let some_days = days.iter().copied().step_by(days.len().div_ceil(3));
    let days = some_days.map(|day| {
        let start = jiff::Timestamp::from_microsecond(start_of(day).micros()).unwrap();
        start.strftime("%Y-%m-%d").to_string()
    });
    let days: Vec<String> = days.collect();
    let bounded = REPORTS.iter().filter(|report| report.name != "health");
    let cases: Vec<_> = bounded.flat_map(|report| days.iter().map(move |day| (report, day))).collect();
    in_threads(&cases, |(report, day)| {
        let scope = Scope { since: Some(day.parse().unwrap()), ..Scope::default() };
        let options = Options { scope, total: true, ..Options::default() };
        let [some, all] = [&divided, &all].map(|tables| report.run(tables, &options).unwrap());
        assert!(some.rows.equals_missing(&all.rows), "{} since {day}: {} {}", report.name, some.rows, all.rows);
        assert_eq!(some.left_out, all.left_out, "{} since {day}", report.name);
    });
    for day in [1, 30, 60] {
        let now = Time::from_micros(i64::from(last + day) * DAY_MICROS);
        let now = jiff::Timestamp::from_microsecond(now.micros()).unwrap().to_zoned(jiff::tz::TimeZone::UTC);
        let [some, all] = [&divided, &all].map(|tables| format!("{:?}", Overview::of(tables, &now).unwrap()));
        assert_eq!(some, all, "{day} days later");
    }
}

/// Only columns with numbers have bounds.
#[test]
fn what_is_no_number_has_no_bound() {
    use agentlogs::analysis::budget::{MeasureBound, Side};
    for report in REPORTS {
        let options = Options { total: true, wide: true, limit: Some(1), ..Options::default() };
        let Ok(answer) = report.totals(&tables(), &options) else { continue };
        let Some(total) = answer.total else { continue };
        for measure in report.bounded().iter().filter(|measure| measure.is_always_computed()) {
            let Ok(column) = total.column(measure.name) else { continue };
            let is_number = column.dtype().is_primitive_numeric() || column.dtype().is_null();
            let name = format!("{}.{}", report.name, measure.name);
            let is_bounded = MeasureBound::new(&name, Side::Max, 1.0.into()).is_ok();
            assert!(is_number || !is_bounded, "{name} is {}", column.dtype());
            assert!(is_bounded || !is_number || measure.name.ends_with("_line"), "{name} is {}", column.dtype());
        }
    }
}

/// A table without rows names when the sessions begin.
#[test]
fn a_period_without_sessions_names_when_they_begin() {
    let run = |arguments: &[&str]| {
        let home = tempfile::tempdir().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_agentlogs"));
        command.args(arguments).args(["--logs", "demo/jonas"]).current_dir(root()).env("HOME", home.path());
        String::from_utf8(command.env("TZ", "UTC").output().unwrap().stderr).unwrap()
    };
    for command in [&["sessions"][..], &["report", "cost"]] {
        let stderr = run(&[command, &["--since", "2030-01-01"]].concat());
        assert!(stderr.contains("no rows: the sessions begin from 2026-11-"), "{command:?}: {stderr}");
    }
    assert!(run(&["sessions", "--runtime", "pi"]).contains("no session has the runtime"), "a filter is named first");
}

/// What an empty period has, other commands state, too; so does a report that needs more than a session.
#[test]
fn an_empty_period_has_a_reason_everywhere() {
    let home = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_agentlogs"));
        command.args(arguments).args(["--logs", "demo/jonas"]).current_dir(root()).env("HOME", home.path());
        String::from_utf8(command.env("TZ", "UTC").output().unwrap().stderr).unwrap()
    };
    let out = |name: &str| home.path().join(name).to_str().unwrap().to_owned();
    let period = ["--since", "2030-01-01"];
    for command in [
        &["dashboard", &out("page.html")][..],
        &["export", &out("csv"), "--as", "csv"],
        &["export", &out("focus"), "--as", "focus"],
        &["export", &out("evidence"), "--as", "evidence"],
        &["check", "--max", "cost_usd=1"],
    ] {
        let stderr = run(&[command, &period].concat());
        assert_eq!(stderr.matches("the sessions begin from 2026-11-").count(), 1, "{command:?}: {stderr}");
    }
    let stderr = run(&["compare", "--a", "since=2030-01-01", "--b", "since=2020-01-01"]);
    assert!(stderr.contains("a: the sessions begin from 2026-11-") && !stderr.contains("b: the"), "{stderr}");
    let stderr = run(&["report", "trends", "--by", "session"]);
    assert!(stderr.contains("no rows: a change is found among 20 sessions or more"), "{stderr}");
}

/// What a message about lower bounds names lists them, with the costs that the report has.
#[test]
fn lower_bounds_are_listed_by_the_command_of_their_message() {
    let directory = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_agentlogs"));
        command.args(arguments).current_dir(root()).env("HOME", directory.path()).env("TZ", "UTC");
        let output = command.output().unwrap();
        [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap())
    };
    let of_archive = directory.path().join("an archive");
    let archive = of_archive.to_str().unwrap();
    run(&["ingest", "demo", "--archive", archive]);
    let quoted = format!("--archive '{archive}'");
    for (source, named) in [(["--logs", "demo"], "--logs demo"), (["--archive", archive], quoted.as_str())] {
        for report in ["cost", "tokens", "sessions"] {
            let [_, stderr] = run(&[&["report", report], &source[..]].concat());
            let command = format!("`agentlogs sessions --usage lower_bound {named}` lists them");
            assert!(stderr.contains(&command), "{report}: {stderr}");
        }
        let [rows, _] = run(&[&["sessions", "--usage", "lower_bound", "--format", "json"], &source[..]].concat());
        let rows: serde_json::Value = serde_json::from_str(&rows).unwrap();
        assert_eq!((rows.as_array().unwrap().len(), &rows[0]["usage"]), (1, &serde_json::json!("lower_bound")));
    }
    let [_, stderr] = run(&["report", "cost", "--cost", "reported", "--logs", "demo", "--runtime", "c*"]);
    assert!(!stderr.contains(" of $27.82,") && stderr.contains("lists all such sessions"), "{stderr}");
}

/// Logs that only give the sums of a session have an unknown number of responses, not 0.
#[test]
fn responses_are_unknown_where_logs_only_give_sums() {
    let options = Options { by: vec!["runtime".into(), "session".into()], wide: true, ..Options::default() };
    let sql = "SELECT runtime, session_id, CASE WHEN SUM(CASE WHEN grain = 'turn' THEN 1 ELSE 0 END) > 0 \
               THEN SUM(CASE WHEN grain = 'turn' THEN 1 ELSE 0 END) END AS turns FROM turns GROUP BY runtime, session_id";
    let rows = |frame: &DataFrame, names: [&str; 3]| -> BTreeSet<Vec<String>> {
        let columns = names.map(|name| texts(frame, name));
        (0..frame.height()).map(|row| columns.iter().map(|column| column[row].clone()).collect()).collect()
    };
    let expected = rows(&query(tables(), sql).unwrap(), ["runtime", "session_id", "turns"]);
    assert!(expected.iter().any(|row| row[2] == "null") && expected.iter().any(|row| row[2] != "null"));
    for report in ["cost", "tokens", "models"] {
        let found = reports::find(report).unwrap().run(&tables(), &options).unwrap().rows;
        assert_eq!(rows(&found, ["runtime", "session", "turns"]), expected, "{report}");
    }

    let home = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_agentlogs"));
        command.args(arguments).current_dir(root()).env("HOME", home.path()).env("TZ", "UTC");
        let output = command.env("AGENTLOGS_ARCHIVE", home.path().join("archive")).output().unwrap();
        [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap()).concat()
    };
    let written = run(&["ingest", "sample-logs/claude-json"]);
    assert!(written.lines().any(|line| line.split_whitespace().eq(["turns", "unknown"])), "{written}");
    let checked = run(&["check", "--max", "turns=5", "--min", "turns=1", "--max", "cost_usd=5", "--format", "csv"]);
    assert!(checked.contains("turns,,max,5") && checked.contains("turns,,min,1"), "{checked}");
    assert!(checked.contains("\nunknown: turns; an unknown value exceeds"), "{checked}");
    assert!(checked.contains("1 of 3 bounds exceeded"), "{checked}");
}

/// A rate is that of the rows for which both of its numbers are known: an unknown number of cached tokens is no 0, nor is an unknown cost.
#[test]
fn unknown_values_are_in_no_rate() {
    let tables = tables();
    let is_codex = || col("runtime").eq(lit("codex"));
    let without = |tables: Frames, names: &'static [&'static str]| -> Frames {
        let unknown = names.iter().map(|name| when(is_codex()).then(lit(NULL)).otherwise(col(*name)).alias(*name));
        let unknown = unknown.collect::<Vec<_>>();
        tables.map(|name, rows| if name == "turns" { rows.with_columns(unknown.clone()) } else { rows })
    };
    let total = |tables: &Frames, report: &str, name: &str| {
        let options = Options { wide: true, total: true, ..Options::default() };
        let total = reports::find(report).unwrap().run(tables, &options).unwrap().total.unwrap();
        total.column(name).unwrap().f64().unwrap().get(0).unwrap()
    };
    let others = tables.clone().map(|_, rows| {
        let has_runtime = rows.clone().collect_schema().unwrap().contains("runtime");
        if has_runtime { rows.filter(is_codex().not()) } else { rows }
    });
    for (name, unknown) in [
        ("cache_hit_rate", &["cache_read_tokens"][..]),
        ("cost_per_turn_usd", &["cost_usd", "cost_source"]),
        ("cost_per_session_usd", &["cost_usd", "cost_source"]),
    ] {
        let [expected, found, all] =
            [&others, &without(tables.clone(), unknown), &tables].map(|tables| total(tables, "cost", name));
        assert!((expected - found).abs() < 1e-9 && (expected - all).abs() > 1e-6, "{name}: {expected} {found} {all}");
    }
}

/// `compare` and `report cost` have the same cost of a clean end of the same sessions. A model has the sessions that used no other one:
/// the report has the cost of a model, `compare` that of the sessions.
#[test]
fn a_clean_end_costs_the_same_in_compare_and_in_the_report() {
    let demo = reconciled(demo_facts());
    let demo: Frames = frames(&demo).unwrap().into_iter().map(|(name, frame)| (name, frame.lazy())).collect();
    let several = "SELECT DISTINCT canonical_model AS model FROM turns JOIN (SELECT runtime, session_id FROM turns GROUP BY runtime, \
                   session_id HAVING COUNT(DISTINCT COALESCE(canonical_model, '?')) > 1) AS s USING (runtime, session_id)";
    for (tables, least) in [(tables(), 8), (demo, 2)] {
        let several: Vec<String> = texts(&query(tables.clone(), several).unwrap(), "model");
        let unknown = "SELECT COUNT(*) AS n FROM sessions WHERE status = 'unknown' AND cost_usd > 0";
        let unknown = query(tables.clone(), unknown).unwrap();
        assert_eq!(least == 8, texts(&unknown, "n") != ["0"], "{unknown}");
        for by in ["runtime", "model"] {
            let options = Options { by: vec![by.to_owned()], wide: true, ..Options::default() };
            let rows = reports::find("cost").unwrap().run(&tables, &options).unwrap().rows;
            let theirs = rows.column("cost_per_clean_end_usd").unwrap().f64().unwrap();
            let mut known = 0;
            for (value, theirs) in rows.column(by).unwrap().str().unwrap().iter().zip(theirs.iter()) {
                // The unknown values are not a pattern.
                let Some(value) = value.filter(|value| !value.starts_with('(')) else { continue };
                if by == "model" && several.iter().any(|it| it.trim_matches('"') == value) {
                    continue;
                }
                let scope = Scope { only: vec![(by.to_owned(), value.to_owned())], ..Scope::default() };
                let compared = compare(&tables, &scope, &scope, Unjudged::default()).unwrap();
                let own = compared.lines.iter().find(|line| line.measure == "cost_per_clean_end_usd").unwrap().a;
                let is_equal = own.zip(theirs).map_or(own == theirs, |(own, theirs)| (own - theirs).abs() < 1e-9);
                assert!(is_equal, "{by} {value}: {own:?} {theirs:?}");
                known += u32::from(own.is_some());
            }
            assert!(known >= least, "{by}: {known}");
        }
    }
}

/// Without a known cost, the cost of each turn and session and of a million tokens is unknown, too.
#[test]
fn unknown_costs_have_no_mean() {
    let unknown = ["cost_usd", "cost_source", "computed_cost_usd", "reported_cost_usd"];
    let unknown = unknown.map(|name| when(lit(true)).then(lit(NULL)).otherwise(col(name)).alias(name)).to_vec();
    let without = |name: &str, rows: LazyFrame| if name == "turns" { rows.with_columns(unknown.clone()) } else { rows };
    let tables = tables().map(without);
    let options = Options { wide: true, total: true, ..Options::default() };
    for (report, by) in
        [("cost", "cost_per_turn_usd"), ("cost", "cost_per_session_usd"), ("models", "cost_per_million_usd")]
    {
        let answer = reports::find(report).unwrap().run(&tables, &options).unwrap();
        for rows in [answer.rows, answer.total.unwrap()] {
            assert_eq!(rows.column(by).unwrap().null_count(), rows.height(), "{by}");
        }
    }
}
