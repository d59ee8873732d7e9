//! `report cost --price-as`: the tokens of each row at the prices of another model. See docs/prices.md#the-prices-of-another-model.

use std::collections::BTreeSet;
use std::sync::Arc;

use polars::prelude::*;

use crate::analysis::selection::Error;
use crate::base::time::Time;
use crate::model::session::{Tokens, add};
use crate::prices::{Catalog, Entry, Found, Request};
use crate::store::frames::turns;

/// The cost of a row at the prices of the model; NULL if its input or output is unknown.
const COST: &str = "as_model_usd";
/// The same with cached tokens at the price of other prompt tokens.
const UNCACHED: &str = "uncached_usd";
/// The cost at the prices of the model, less the cost of the report, where both are known.
const CHANGE: &str = "change_usd";
/// The tokens of a row without such a cost.
const UNPRICED: &str = "as_model_unpriced_tokens";

/// The model whose prices apply to all rows.
#[derive(Debug, Clone)]
pub struct PriceAs {
    model: String,
    catalog: Arc<Catalog>,
}

impl PriceAs {
    /// The model that a name refers to.
    ///
    /// # Errors
    /// When the catalog does not contain it.
    pub fn new(model: &str, catalog: Arc<Catalog>) -> Result<Self, Error> {
        if catalog.find(None, model).is_none() {
            return Err(Error::UnknownModel { model: model.to_owned(), similar: similar_models(&catalog, model) });
        }
        Ok(Self { model: model.to_owned(), catalog })
    }

    /// Adds the costs at the prices of the model to rows of the ledger, which have the cost of the report.
    pub(super) fn add_costs(&self, rows: LazyFrame) -> LazyFrame {
        let rows = rows.with_columns([self.cost(true).alias(COST), self.cost(false).alias(UNCACHED)]);
        let unpriced = when(col(COST).is_null()).then(col(turns::TOTAL_TOKENS)).otherwise(lit(NULL));
        rows.with_columns([(col(COST) - col(turns::COST_USD)).alias(CHANGE), unpriced.alias(UNPRICED)])
    }

    fn cost(&self, has_cache: bool) -> Expr {
        const NUMBERS: [&str; 6] = [
            turns::INPUT_TOKENS,
            turns::OUTPUT_TOKENS,
            turns::CACHE_READ_TOKENS,
            turns::CACHE_WRITE_TOKENS,
            turns::CACHE_WRITE_1H_TOKENS,
            turns::WEB_SEARCHES,
        ];
        let numbers = NUMBERS.map(col).into_iter().chain([col(turns::OCCURRED_AT).to_physical()]);
        let Self { model, catalog } = self.clone();
        col(turns::GRAIN).map_many(
            move |columns| {
                let [grain, numbers @ ..] = columns else { polars_bail!(ComputeError: "columns are missing") };
                let grain = grain.str()?;
                let numbers = numbers.iter().map(|column| column.i64()).collect::<PolarsResult<Vec<_>>>()?;
                // `new` has found it. Prices are the standard ones, also if the name contains a region.
                let found = catalog.find(None, &model).map(Found::without_region);
                let number = |index: usize, row: usize| numbers.get(index).and_then(|column| column.get(row));
                let cost = |row: usize| {
                    let tokens = Tokens {
                        input: number(0, row),
                        output: number(1, row),
                        cache_read: number(2, row),
                        cache_write: number(3, row),
                        cache_write_1h: number(4, row),
                        ..Tokens::UNKNOWN
                    };
                    let request = Request {
                        at: number(6, row).map(Time::from_micros),
                        tokens: if has_cache { tokens } else { uncached(tokens) },
                        web_searches: number(5, row),
                        is_sum: grain.get(row) == Some("session"),
                        ..Request::default()
                    };
                    price(found.as_ref()?, &request)
                };
                Ok(Column::new(COST.into(), (0..grain.len()).map(cost).collect::<Vec<_>>()))
            },
            &numbers.collect::<Vec<_>>(),
            |_, _| Ok(Field::new(COST.into(), DataType::Float64)),
        )
    }
}

/// The price of a request; with the prices of the catalog's day if the model had none at its time.
fn price(model: &Found<'_>, request: &Request<'_>) -> Option<f64> {
    let priced = model.price(request).or_else(|_| model.price(&Request { at: None, ..*request }));
    priced.ok().map(|priced| priced.total())
}

/// The same tokens without a cache.
fn uncached(tokens: Tokens) -> Tokens {
    let cached = add(tokens.cache_read, tokens.cache_write);
    // An unknown input stays unknown.
    let input = tokens.input.map(|input| input.saturating_add(cached.unwrap_or(0)));
    Tokens { input, output: tokens.output, ..Tokens::UNKNOWN }
}

/// At most five names of models that are similar to this one, the most similar first.
pub fn similar_models(catalog: &Catalog, model: &str) -> Vec<String> {
    let model = model.to_lowercase();
    // A host may have the name itself, at a price that is not the model's.
    let names = catalog.entries().flat_map(Entry::names).filter(|name| !name.eq_ignore_ascii_case(&model));
    let names: BTreeSet<&str> = names.collect();
    let mut near: Vec<(f64, &str)> =
        names.into_iter().map(|name| (strsim::jaro_winkler(&model, name), name)).filter(|near| near.0 > 0.85).collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0));
    near.into_iter().take(5).map(|(_, name)| name.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sonnet 4.5: 3 dollars per million input tokens, 15 output, 0.30 cache reads, 3.75 and 6 cache writes; above 200,000
    /// tokens of a prompt twice as much, and 22.50 for the output.
    #[test]
    fn tokens_have_the_prices_of_the_model() {
        let frame = df!(
            "grain" => ["turn", "turn", "session", "turn"],
            "input_tokens" => [Some(1_000_i64), Some(100_000), Some(100_000), None],
            "output_tokens" => [Some(1_000_i64), Some(1_000), Some(1_000), Some(10)],
            "cache_read_tokens" => [Some(10_000_i64), Some(150_000), Some(150_000), None],
            "cache_write_tokens" => [Some(2_000_i64), None, None, None],
            "cache_write_1h_tokens" => [Some(1_000_i64), None, None, None],
            "web_searches" => [None::<i64>, None, None, None],
            "occurred_at" => [None::<i64>, Some(0), None, None],
            "total_tokens" => [Some(14_000_i64), Some(251_000), Some(251_000), Some(10)],
            "cost_usd" => [Some(0.01), None, Some(0.5), Some(1.0)],
        );
        let catalog = Arc::new(Catalog::built_in().clone());
        let model = PriceAs::new("claude-sonnet-4-5", Arc::clone(&catalog)).unwrap();
        let found = model.add_costs(frame.unwrap().lazy()).collect().unwrap();
        let of = |name: &str| -> Vec<Option<f64>> {
            let micros = |cost: Option<f64>| cost.map(|cost| (cost * 1e6).round());
            found.column(name).unwrap().f64().unwrap().iter().map(micros).collect()
        };
        let cached = 3_000.0 + 15_000.0 + 3_000.0 + 3_750.0 + 6_000.0;
        let long = 600_000.0 + 22_500.0 + 90_000.0;
        let sum = 300_000.0 + 15_000.0 + 45_000.0;
        assert_eq!(of(COST), [Some(cached), Some(long), Some(sum), None]);
        assert_eq!(of(UNCACHED), [Some(54_000.0), Some(1_522_500.0), Some(765_000.0), None]);
        assert_eq!(of(CHANGE), [Some(cached - 10_000.0), None, Some(sum - 500_000.0), None]);
        let unpriced: Vec<_> = found.column(UNPRICED).unwrap().i64().unwrap().iter().collect();
        assert_eq!(unpriced, [None, None, None, Some(10)]);
        let error = PriceAs::new("claude-sonet-4-5", catalog).unwrap_err().to_string();
        assert!(
            error.starts_with(
                "no model in the catalog is named \"claude-sonet-4-5\"; similar names are claude-sonnet-4-5"
            ),
            "{error}"
        );
    }
}
