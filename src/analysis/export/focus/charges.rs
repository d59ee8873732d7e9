//! The rows of the file: for each group, one for each kind of usage that it has.

use polars::prelude::*;
use serde_json::{Map, Value};

use super::makers::{PROVIDER, PUBLISHER};
use super::meters::{KEYS, LABELS, METERS, Meter, PROJECT, SEPARATOR, USER};
use crate::analysis::rows::round;
use crate::ingest::bill_files::UNKNOWN_IN_FOCUS as UNKNOWN;
use crate::store::frames::turns;

/// The columns by which rows are sorted: together they identify a row.
const SORTED_BY: [&str; 10] = [
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

/// The charges of groups.
pub(super) fn charges(sums: &DataFrame) -> PolarsResult<DataFrame> {
    let sums = with_tags(sums)?.lazy();
    let rows: Vec<LazyFrame> = METERS.iter().map(|meter| charges_of(sums.clone(), meter)).collect();
    let sorted = SortMultipleOptions::default().with_nulls_last(true).with_maintain_order(true);
    round(concat(rows, UnionArgs::default())?).sort(SORTED_BY, sorted).collect()
}

/// The charges of one kind of usage. A group without such usage has none.
fn charges_of(sums: LazyFrame, meter: &Meter) -> LazyFrame {
    let (cost, quantity) = (col(meter.cost_column()), col(meter.quantity_column()));
    let has_usage = quantity.clone().fill_null(lit(0)).neq(lit(0)).or(cost.clone().neq(lit(0.0)));
    sums.filter(cost.is_not_null().and(has_usage)).select(columns(meter))
}

/// The columns of FOCUS in alphabetical order, and those of agentlogs.
fn columns(meter: &Meter) -> Vec<Expr> {
    let money = |name: &str| col(meter.cost_column()).alias(name);
    let text = |name: &str, value: &str| lit(value.to_owned()).alias(name);
    let null = |name: &str| lit(NULL).cast(DataType::String).alias(name);
    let month = || col(turns::DAY).dt().truncate(lit("1mo"));
    let days_after = |day: Expr, days: i32| (day.cast(DataType::Int32) + lit(days)).cast(DataType::Date);
    // The first day of a month plus 31 days is always in the next month.
    let next_month = || days_after(month(), 31).dt().truncate(lit("1mo"));
    let quantity = || col(meter.quantity_column());
    let model = || col(turns::CANONICAL_MODEL).fill_null(lit(UNKNOWN));
    let unit = |name: &str, unit: &str| {
        when(quantity().is_not_null()).then(lit(unit.to_owned())).otherwise(lit(NULL)).alias(name)
    };
    let of_project = |name: &str, value: Expr| {
        when(col(PROJECT).is_not_null()).then(value).otherwise(lit(NULL).cast(DataType::String)).alias(name)
    };
    let with_model = |name: &str, after: String| concat_str([model(), lit(after)], "", false).alias(name);
    let (pricing_unit, units) = meter.pricing_unit;
    let tokens = if meter.unit == "Tokens" { quantity() } else { lit(NULL).cast(DataType::Int64) };
    vec![
        money("BilledCost"),
        text("BillingAccountId", UNKNOWN),
        null("BillingAccountName"),
        text("BillingCurrency", "USD"),
        instant(next_month()).alias("BillingPeriodEnd"),
        instant(month()).alias("BillingPeriodStart"),
        text("ChargeCategory", "Usage"),
        null("ChargeClass"),
        with_model("ChargeDescription", format!(", {}", meter.about.to_lowercase())),
        text("ChargeFrequency", "Usage-Based"),
        instant(days_after(col(turns::DAY), 1)).alias("ChargePeriodEnd"),
        instant(col(turns::DAY)).alias("ChargePeriodStart"),
        quantity().cast(DataType::Float64).alias("ConsumedQuantity"),
        unit("ConsumedUnit", meter.unit),
        money("ContractedCost"),
        money("EffectiveCost"),
        col(PROVIDER).alias("InvoiceIssuerName"),
        money("ListCost"),
        text("PricingCategory", "Standard"),
        (quantity().cast(DataType::Float64) / lit(units).cast(DataType::Float64)).alias("PricingQuantity"),
        unit("PricingUnit", pricing_unit),
        col(PROVIDER).alias("ProviderName"),
        col(PUBLISHER).alias("PublisherName"),
        text("ServiceCategory", "AI and Machine Learning"),
        text("ServiceName", "Language models"),
        text("ServiceSubcategory", "Generative AI"),
        model().alias("SkuId"),
        text("SkuMeter", meter.about),
        with_model("SkuPriceId", format!("/{}", meter.name)),
        of_project("SubAccountId", col(PROJECT)),
        of_project("SubAccountName", col(PROJECT)),
        of_project("SubAccountType", lit("Project")),
        col(LABELS).alias("Tags"),
        col(turns::COST_SOURCE).alias("x_CostSource"),
        col(turns::RUNTIME).alias("x_Runtime"),
        col(turns::SERVICE_TIER).alias("x_ServiceTier"),
        text("x_TokenType", meter.name),
        tokens.alias("x_Tokens"),
        col(USER).alias("x_UserName"),
    ]
}

/// The beginning of a day.
fn instant(day: Expr) -> Expr {
    day.cast(DataType::Datetime(TimeUnit::Microseconds, None)).dt().replace_time_zone(
        Some(TimeZone::UTC),
        lit("raise"),
        NonExistent::Raise,
    )
}

/// The groups with their labels as a JSON object, as the format of tags requires.
fn with_tags(sums: &DataFrame) -> PolarsResult<DataFrame> {
    let keys = sums.select(KEYS)?;
    let labels = keys.column(LABELS)?.str()?;
    let tags: StringChunked = labels.iter().map(|labels| labels.and_then(tags)).collect();
    let mut sums = sums.clone();
    sums.with_column(tags.with_name(LABELS.into()).into_column())?;
    Ok(sums)
}

/// Labels such as `suite=nightly` as an object; `None` if there are none. Of several values of a key the first counts.
fn tags(labels: &str) -> Option<String> {
    let mut tags: Map<String, Value> = Map::new();
    for (key, value) in labels.split(SEPARATOR).filter_map(|label| label.split_once('=')) {
        tags.entry(key).or_insert_with(|| value.into());
    }
    if tags.is_empty() { None } else { Some(Value::Object(tags).to_string()) }
}
