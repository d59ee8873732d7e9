//! `agentlogs prices explain`: how the cost of a session is computed.

use agentlogs::analysis::present::grouped;
use agentlogs::analysis::show::SessionKey;
use agentlogs::ledger::costs;
use agentlogs::model::tables::{SessionRow, Tables, TurnRow};
use agentlogs::prices::{Catalog, Pricer, Terms};
use agentlogs::store::frames::turns;
use anyhow::Context;
use polars::prelude::*;

/// The row of a session.
fn session<'a>(tables: &'a Tables, key: &SessionKey) -> anyhow::Result<(usize, &'a SessionRow)> {
    let is_named = |row: &SessionRow| row.session.session_id == key.id && row.session.runtime == key.runtime;
    let found = tables.sessions.iter().enumerate().find(|(_, row)| is_named(row));
    found.with_context(|| format!("no session {:?}", key.id))
}

/// A line of the explanation.
#[derive(Default)]
struct Line {
    turn: Option<i64>,
    model: Option<String>,
    kind: &'static str,
    amount: Option<i64>,
    rate: Option<f64>,
    computed: Option<f64>,
    reported: Option<f64>,
    cost: Option<f64>,
    terms: Option<String>,
}

/// For each row of the session: its tokens times their prices, and the resulting cost.
pub fn explained(tables: &Tables, catalog: &Catalog, key: &SessionKey) -> anyhow::Result<DataFrame> {
    let (index, session) = session(tables, key)?;
    let mut pricer = Pricer::new(catalog);
    let mut lines = Vec::new();
    // A row that holds the rest of a total: its own tokens are priced as part of the total.
    let is_rest = |index: usize| tables.turns.iter().any(|row| row.covered_by == Some(index));
    for (row_index, row) in tables.turns.iter().enumerate().filter(|(_, row)| row.session == index) {
        let request = costs::request(row, session.session.started_at);
        let priced = pricer.price(&request);
        let is_rest = is_rest(row_index);
        let terms = match &priced {
            _ if is_rest => "the tokens of the total at these prices, minus the turns that it covers".to_owned(),
            Ok(priced) => terms(&priced.terms, &mut pricer, row),
            Err(reason) => reason.as_str().to_owned(),
        };
        if let (Ok(priced), false) = (&priced, is_rest) {
            let tokens = request.tokens;
            let long = tokens.cache_write_1h.unwrap_or(0).min(tokens.cache_write.unwrap_or(0));
            let rates = priced.terms.rates;
            let kinds = [
                ("input", tokens.input, rates.input),
                ("output", tokens.output, rates.output),
                ("cache_read", tokens.cache_read, rates.cache_read),
                ("cache_write", tokens.cache_write.map(|tokens| tokens - long), rates.cache_write),
                ("cache_write_1h", Some(long), rates.cache_write_1h),
                ("web_search", request.web_searches, priced.terms.web_search.unwrap_or(0.0) * 1e3),
            ];
            for (kind, amount, rate) in kinds.into_iter().filter(|(_, amount, _)| amount.unwrap_or(0) > 0) {
                #[expect(clippy::cast_precision_loss, reason = "no count of tokens is so large")]
                let computed = amount.map(|amount| amount as f64 * rate / 1e6);
                lines.push(Line { turn: row.number, kind, amount, rate: Some(rate), computed, ..Line::default() });
            }
        }
        lines.push(Line {
            turn: row.number,
            model: row.turn.model.as_ref().map(ToString::to_string),
            kind: row.grain.as_str(),
            amount: row.turn.tokens.get().total(),
            computed: row.money.computed,
            reported: row.money.reported,
            cost: row.money.cost,
            terms: Some(terms),
            ..Line::default()
        });
    }
    lines.push(Line {
        kind: "sum",
        amount: session.tokens.total(),
        computed: session.money.computed,
        reported: session.money.reported,
        cost: session.money.cost,
        terms: session.money.source.map(|source| source.as_str().to_owned()),
        ..Line::default()
    });
    let column = |of: fn(&Line) -> Option<f64>| lines.iter().map(of).collect::<Vec<_>>();
    Ok(df!(
        "turn" => lines.iter().map(|it| it.turn).collect::<Vec<_>>(),
        "model" => lines.iter().map(|it| it.model.as_deref()).collect::<Vec<_>>(),
        "of" => lines.iter().map(|it| it.kind).collect::<Vec<_>>(),
        "tokens" => lines.iter().map(|it| it.amount).collect::<Vec<_>>(),
        "usd_per_million" => column(|it| it.rate),
        turns::COMPUTED_COST_USD => column(|it| it.computed),
        turns::REPORTED_COST_USD => column(|it| it.reported),
        turns::COST_USD => column(|it| it.cost),
        "terms" => lines.iter().map(|it| it.terms.as_deref()).collect::<Vec<_>>(),
    )?)
}

/// The price of a row: the model, the rules that found it, and the period, tier and region.
fn terms(terms: &Terms<'_>, pricer: &mut Pricer<'_>, row: &TurnRow) -> String {
    let mut words = vec![format!("{}/{}", terms.entry.provider, terms.entry.model).trim_start_matches('/').to_owned()];
    let found = row.turn.model.as_deref().and_then(|model| pricer.find(row.turn.provider.as_deref(), model));
    words.extend(found.into_iter().flat_map(|it| &it.rules).map(ToString::to_string));
    words.extend(terms.period.from.map(|it| format!("since {it}")));
    words.extend(terms.long_context.map(|it| format!("prompt above {} tokens", grouped(it.above))));
    words.extend(terms.tier.map(|(name, share)| format!("{name} x{}", share.input)));
    if terms.is_tier_unknown {
        words.push(format!("no price for tier {}", row.turn.service_tier.as_deref().unwrap_or_default()));
    }
    words.extend(terms.region.map(|(name, share)| format!("{name} x{share}")));
    words.join(", ")
}
