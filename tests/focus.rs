//! `export --as focus`: the charges have the costs of `report cost`, and the columns that FOCUS 1.2 requires.

use std::collections::BTreeSet;
use std::fs;

use agentlogs::adapters::shared::builder::Retention;
use agentlogs::analysis::export::{FileKind, Focus};
use agentlogs::analysis::reports::{self, CostBasis, Frames, LeftOut, Options, Scope, Undated};
use agentlogs::model::source::Source;
use agentlogs::model::tables::Tables;
use agentlogs::prices::Catalog;
use agentlogs::store::frames::frames;
use polars::prelude::*;

use crate::{demo_facts, facts, reconciled};

fn tables_of(sources: Vec<Source>) -> Frames {
    let tables: Tables = reconciled(sources);
    frames(&tables).unwrap().into_iter().map(|(name, frame)| (name, frame.lazy())).collect()
}

fn charges(tables: &Frames, scope: &Scope) -> Focus {
    Focus::of(tables, scope, Catalog::built_in()).unwrap()
}

fn sum(rows: &DataFrame, column: &str) -> f64 {
    rows.column(column).unwrap().cast(&DataType::Float64).unwrap().f64().unwrap().sum().unwrap_or(0.0)
}

/// The totals of `report cost`: its cost, its tokens, and those without a cost.
fn reported(tables: &Frames, scope: &Scope) -> [f64; 3] {
    let options = Options { scope: scope.clone(), cost: CostBasis::Auto, total: true, ..Options::default() };
    let answer = reports::find("cost").unwrap().run(tables, &options).unwrap();
    let total = answer.total.unwrap();
    ["cost_usd", "total_tokens", "unpriced_tokens"].map(|name| sum(&total, name))
}

fn is_near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-6
}

/// Every token is in one row, or counted as unpriced or undated; so is every dollar.
#[test]
fn the_charges_are_those_of_report_cost() {
    for (name, sources) in [("samples", facts(Retention::None)), ("demo", demo_facts())] {
        let tables = tables_of(sources);
        let only = vec![("runtime".to_owned(), "c*".to_owned())];
        for scope in [
            Scope::default(),
            Scope { only, ..Scope::default() },
            Scope { since: Some("2026-10-05".parse().unwrap()), ..Scope::default() },
            Scope { undated: Some(Undated::Exclude), ..Scope::default() },
        ] {
            let focus = charges(&tables, &scope);
            let [cost, tokens, unpriced] = reported(&tables, &scope);
            let is_excluded = scope.undated == Some(Undated::Exclude) || scope.since.is_some();
            let undated = if is_excluded { LeftOut::default() } else { focus.left_out };
            let billed = sum(&focus.rows, "BilledCost") + undated.cost_usd.unwrap_or(0.0);
            assert!(is_near(billed, cost), "{name} {scope:?}: {billed} is not {cost}");
            #[expect(clippy::cast_precision_loss, reason = "counts of samples")]
            let [of_undated, without_cost] = [undated.tokens.unwrap_or(0), focus.unpriced.tokens].map(|it| it as f64);
            let found = sum(&focus.rows, "x_Tokens") + without_cost + of_undated;
            assert!(is_near(found, tokens), "{name} {scope:?}: {found} is not {tokens}");
            assert!(without_cost + of_undated >= unpriced, "{name}");
            for column in ["EffectiveCost", "ContractedCost", "ListCost"] {
                assert!(is_near(sum(&focus.rows, column), sum(&focus.rows, "BilledCost")));
            }
        }
    }
}

/// Columns that must not be null, and rows that differ in what they are grouped by.
#[test]
fn required_columns_have_values() {
    let focus = charges(&tables_of(facts(Retention::None)), &Scope::default());
    let rows = &focus.rows;
    assert!(focus.unpriced.rows > 0 && rows.height() > 50);
    for column in [
        "BilledCost",
        "BillingAccountId",
        "BillingCurrency",
        "BillingPeriodEnd",
        "BillingPeriodStart",
        "ChargeCategory",
        "ChargeFrequency",
        "ChargePeriodEnd",
        "ChargePeriodStart",
        "ContractedCost",
        "EffectiveCost",
        "InvoiceIssuerName",
        "ListCost",
        "PricingCategory",
        "ProviderName",
        "PublisherName",
        "ServiceCategory",
        "ServiceName",
        "ServiceSubcategory",
        "SkuId",
        "SkuMeter",
        "SkuPriceId",
    ] {
        assert_eq!(rows.column(column).unwrap().null_count(), 0, "{column}");
    }
    let names = rows.get_column_names();
    let is_custom = |name: &&&PlSmallStr| name.starts_with("x_");
    assert!(names.iter().skip_while(|name| !is_custom(name)).all(|name| is_custom(&name)), "{names:?}");
    let mut keys = BTreeSet::new();
    let key = [
        "ChargePeriodStart",
        "ProviderName",
        "PublisherName",
        "SkuPriceId",
        "SubAccountId",
        "Tags",
        "x_CostSource",
        "x_Runtime",
        "x_ServiceTier",
        "x_UserName",
    ];
    let keyed = rows.select(key).unwrap();
    for row in 0..rows.height() {
        assert!(keys.insert(format!("{:?}", keyed.get(row))), "{:?}", rows.get(row));
    }
}

/// The file, as a snapshot of some rows of the demo; parquet has the same rows.
#[test]
fn the_file_has_the_formats_of_focus() {
    let tables = tables_of(demo_facts());
    let scope = Scope { only: vec![("label:suite".to_owned(), "*".to_owned())], ..Scope::default() };
    let mut focus = charges(&tables, &scope);
    let directory = tempfile::tempdir().unwrap();
    let path = |kind: FileKind| directory.path().join(format!("focus.{}", kind.extension()));
    for kind in [FileKind::Csv, FileKind::Parquet] {
        focus.write(kind, &path(kind)).unwrap();
    }
    let text = fs::read_to_string(path(FileKind::Csv)).unwrap();
    let lines: Vec<&str> = text.lines().take(6).collect();
    insta::assert_snapshot!(lines.join("\n"));
    let parquet = path(FileKind::Parquet).to_string_lossy().into_owned();
    let read = LazyFrame::scan_parquet(parquet.as_str().into(), ScanArgsParquet::default()).unwrap().collect().unwrap();
    assert!(read.equals_missing(&focus.rows));
}
