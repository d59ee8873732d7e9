//! Checks prices of a user's own table.

use super::entry::Entry;

/// The first problem of an entry's name and prices, if there is any.
pub(super) fn find_problem(entry: &Entry) -> Option<String> {
    let is_price = |amount: &f64| amount.is_finite() && (0.0..1e6).contains(amount);
    if entry.model.trim().is_empty() {
        return Some("a model without a name".to_owned());
    }
    if entry.prices.is_empty() {
        return Some("no prices".to_owned());
    }
    for period in &entry.prices {
        let mut amounts = vec![period.input, period.output];
        amounts.extend(
            [period.cache_read, period.cache_write, period.cache_write_1h, period.web_search].into_iter().flatten(),
        );
        for step in &period.long_context {
            amounts.extend([step.input, step.output]);
            amounts.extend([step.cache_read, step.cache_write, step.cache_write_1h].into_iter().flatten());
        }
        if let Some(wrong) = amounts.iter().find(|amount| !is_price(amount)) {
            return Some(format!("{wrong} is not a price in dollars per million tokens"));
        }
        if let (Some(from), Some(until)) = (period.from, period.until)
            && from >= until
        {
            return Some(format!("prices from {from} until {until} hold on no day"));
        }
        if period.long_context.iter().any(|it| it.above <= 0) {
            return Some("`above` is a number of tokens greater than 0".to_owned());
        }
        if !period.long_context.is_sorted_by(|a, b| a.above < b.above) {
            return Some("long_context has to be in order of size".to_owned());
        }
    }
    if !entry.prices.is_sorted_by_key(|it| it.from) {
        return Some("prices have to be in order of time".to_owned());
    }
    let shares =
        entry.tiers.values().flat_map(|share| [share.input, share.output, share.cache_read, share.cache_write]);
    let wrong = shares.chain(entry.regions.values().copied()).find(|it| !(0.0..1e3).contains(it));
    wrong.map(|it| format!("{it} is not a share of a price"))
}
