//! `agentlogs prices`: lists prices, explains the cost of a session, and imports a user's own prices.

use std::collections::BTreeSet;
use std::path::Path;

use agentlogs::analysis::present::grouped;
use agentlogs::ledger::costs;
use agentlogs::model::tables::{SessionRow, Tables, TurnRow};
use agentlogs::prices::{Catalog, Entry, Period, Pricer, Rates, Table, Terms};
use agentlogs::store::archive::Archive;
use anyhow::{Context, bail};
use polars::prelude::*;

use super::Outcome;
use super::output::{complain, print, say};
use super::source::{archive_at, read, settled};
use crate::cli::args::Prices;

pub fn run(args: Prices) -> anyhow::Result<Outcome> {
    match args {
        Prices::List { text, archive, printed } => {
            let catalog = archive_at(archive.archive)?.catalog()?;
            print(&list(&catalog, text.as_deref().unwrap_or_default())?, printed, None)?;
            say(&about(&catalog));
        }
        Prices::Show { model, provider, archive, printed } => {
            let catalog = archive_at(archive.archive)?.catalog()?;
            let Some(found) = catalog.find(provider.as_deref(), &model) else {
                bail!("no model in the catalog is named {model:?}{}", near(&catalog, &model));
            };
            print(&history(&catalog, &found.entries)?, printed, None)?;
            let rules: Vec<String> = found.rules.iter().map(ToString::to_string).collect();
            if let (Some(entry), false) = (found.entries.first(), rules.is_empty()) {
                say(&format!("{model} is {}: {}", entry.model, rules.join(", ")));
            }
            say(&about(&catalog));
        }
        Prices::Explain { session, source, printed } => {
            let (tables, catalog) = if source.logs.is_empty() {
                let archive = archive_at(source.archive.archive)?;
                archive.sums()?;
                let catalog = archive.catalog()?;
                (settled(archive.facts()?.into_values().collect(), &catalog), catalog)
            } else {
                let catalog = std::borrow::Cow::Borrowed(Catalog::built_in());
                (settled(read(source.logs)?, &catalog), catalog)
            };
            print(&explained(&tables, &catalog, &session)?, printed, None)?;
            say(&about(&catalog));
        }
        Prices::Import { file, clear, archive } => {
            import(&archive_at(archive.archive)?, file.as_deref(), clear)?;
        }
    }
    Ok(Outcome::Done)
}

/// The date and the sources of the prices, for people.
fn about(catalog: &Catalog) -> String {
    let sources: Vec<String> = catalog.sources.iter().map(|(name, version)| format!("{name} {version}")).collect();
    let own = match catalog.own_entries().count() {
        0 => String::new(),
        count => format!(", overridden by {} of your own", grouped(count)),
    };
    format!("prices of {} from {}{own}", catalog.date, sources.join(", "))
}

/// Models with similar names, as the end of a message.
fn near(catalog: &Catalog, model: &str) -> String {
    let model = model.to_lowercase();
    let names: BTreeSet<&str> = catalog.entries().flat_map(Entry::names).collect();
    let mut near: Vec<(f64, &str)> =
        names.into_iter().map(|name| (strsim::jaro_winkler(&model, name), name)).filter(|near| near.0 > 0.85).collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0));
    let near: Vec<&str> = near.into_iter().take(5).map(|(_, name)| name).collect();
    if near.is_empty() { String::new() } else { format!("; similar names are {}", near.join(", ")) }
}

/// A row of prices.
struct Priced<'a> {
    entry: &'a Entry,
    period: &'a Period,
    above: Option<i64>,
    rates: Rates,
}

impl<'a> Priced<'a> {
    /// The prices of a period: a row for each range of prompt sizes.
    fn of(entry: &'a Entry, period: &'a Period) -> impl Iterator<Item = Self> {
        let long =
            period.long_context.iter().map(move |it| Self { entry, period, above: Some(it.above), rates: it.rates() });
        std::iter::once(Self { entry, period, above: None, rates: period.rates() }).chain(long)
    }
}

fn list(catalog: &Catalog, text: &str) -> PolarsResult<DataFrame> {
    let text = text.to_lowercase();
    let is_asked = |it: &&Entry| it.provider.contains(&text) || it.names().any(|it| it.to_lowercase().contains(&text));
    let today = |entry| Some((entry, Entry::period(entry, None, catalog.date)?));
    let entries = catalog.entries().filter(is_asked).filter_map(today);
    frame(catalog, &entries.flat_map(|(entry, period)| Priced::of(entry, period)).collect::<Vec<_>>())
}

fn history(catalog: &Catalog, entries: &[&Entry]) -> PolarsResult<DataFrame> {
    let rows = entries.iter().flat_map(|entry| entry.prices.iter().flat_map(|it| Priced::of(entry, it)));
    frame(catalog, &rows.collect::<Vec<_>>())
}

fn frame(catalog: &Catalog, rows: &[Priced<'_>]) -> PolarsResult<DataFrame> {
    let text = |of: &dyn Fn(&Priced<'_>) -> Option<String>| rows.iter().map(of).collect::<Vec<_>>();
    let rate = |of: fn(&Rates) -> f64| rows.iter().map(|it| of(&it.rates)).collect::<Vec<_>>();
    let others = |it: &Priced<'_>| {
        let tiers = it.entry.tiers.iter().map(|(name, share)| format!("{name} x{}", share.input));
        let regions = it.entry.regions.iter().map(|(name, share)| format!("{name} x{share}"));
        let hours = it.period.hours.iter().map(|[from, until]| format!("{from}-{until} UTC"));
        let words: Vec<String> = hours.chain(tiers).chain(regions).collect();
        (!words.is_empty()).then(|| words.join(", "))
    };
    df!(
        "provider" => text(&|it| Some(it.entry.provider.clone()).filter(|it| !it.is_empty())),
        "model" => text(&|it| Some(it.entry.model.clone())),
        "from" => text(&|it| it.period.from.map(|it| it.to_string())),
        "until" => text(&|it| it.period.until.map(|it| it.to_string())),
        "above_tokens" => rows.iter().map(|it| it.above).collect::<Vec<_>>(),
        "input" => rate(|it| it.input),
        "output" => rate(|it| it.output),
        "cache_read" => rate(|it| it.cache_read),
        "cache_write" => rate(|it| it.cache_write),
        "cache_write_1h" => rate(|it| it.cache_write_1h),
        "web_search_per_thousand" => rows.iter().map(|it| it.period.web_search).collect::<Vec<_>>(),
        "others" => text(&others),
        "own" => rows.iter().map(|it| catalog.is_own(it.entry)).collect::<Vec<_>>(),
    )
}

/// The session with an id, or with an id that begins with this text.
fn session<'a>(tables: &'a Tables, id: &str) -> anyhow::Result<(usize, &'a SessionRow)> {
    let rows = || tables.sessions.iter().enumerate();
    if let Some(found) = rows().find(|(_, it)| it.session.session_id == id) {
        return Ok(found);
    }
    let mut matching = rows().filter(|(_, it)| !id.is_empty() && it.session.session_id.starts_with(id));
    match (matching.next(), matching.next()) {
        (Some(found), None) => Ok(found),
        (None, _) => bail!("no session {id:?}"),
        (Some(_), Some(_)) => bail!("{} sessions begin with {id:?}", matching.count() + 2),
    }
}

/// One line of the explanation.
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
fn explained(tables: &Tables, catalog: &Catalog, id: &str) -> anyhow::Result<DataFrame> {
    let (index, session) = session(tables, id)?;
    let mut pricer = Pricer::new(catalog);
    let mut lines = Vec::new();
    let is_holder = |place: usize| tables.turns.iter().any(|it| it.covered_by == Some(place));
    for (place, row) in tables.turns.iter().enumerate().filter(|(_, it)| it.session == index) {
        let request = costs::request(row, session.session.started_at);
        let priced = pricer.price(&request);
        let terms = match &priced {
            _ if is_holder(place) => "its total's tokens at these prices, less the turns that it covers".to_owned(),
            Ok(priced) => terms(&priced.terms, &mut pricer, row),
            Err(reason) => reason.as_str().to_owned(),
        };
        if let (Ok(priced), false) = (&priced, is_holder(place)) {
            let tokens = request.tokens;
            let long = tokens.cache_write_1h.unwrap_or(0).min(tokens.cache_write.unwrap_or(0));
            let rates = priced.terms.rates;
            let kinds = [
                ("input", tokens.input, rates.input),
                ("output", tokens.output, rates.output),
                ("cache_read", tokens.cache_read, rates.cache_read),
                ("cache_write", tokens.cache_write.map(|it| it - long), rates.cache_write),
                ("cache_write_1h", Some(long), rates.cache_write_1h),
                ("web_search", request.web_searches, priced.terms.web_search.unwrap_or(0.0) * 1e3),
            ];
            for (kind, amount, rate) in kinds.into_iter().filter(|it| it.1.unwrap_or(0) > 0) {
                #[expect(clippy::cast_precision_loss, reason = "no count of tokens is so large")]
                let computed = amount.map(|it| it as f64 * rate / 1e6);
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
        terms: session.money.source.map(|it| it.as_str().to_owned()),
        ..Line::default()
    });
    let column = |of: fn(&Line) -> Option<f64>| lines.iter().map(of).collect::<Vec<_>>();
    Ok(df!(
        "turn" => lines.iter().map(|it| it.turn).collect::<Vec<_>>(),
        "model" => lines.iter().map(|it| it.model.as_deref()).collect::<Vec<_>>(),
        "of" => lines.iter().map(|it| it.kind).collect::<Vec<_>>(),
        "tokens" => lines.iter().map(|it| it.amount).collect::<Vec<_>>(),
        "usd_per_million" => column(|it| it.rate),
        "computed_cost_usd" => column(|it| it.computed),
        "reported_cost_usd" => column(|it| it.reported),
        "cost_usd" => column(|it| it.cost),
        "terms" => lines.iter().map(|it| it.terms.as_deref()).collect::<Vec<_>>(),
    )?)
}

/// Which price it is, and what changed it.
fn terms(terms: &Terms<'_>, pricer: &mut Pricer<'_>, row: &TurnRow) -> String {
    let mut words = vec![format!("{}/{}", terms.entry.provider, terms.entry.model).trim_start_matches('/').to_owned()];
    let found = row.turn.model.as_deref().and_then(|it| pricer.find(row.turn.provider.as_deref(), it));
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

/// Takes prices into the archive and computes its costs anew.
fn import(archive: &Archive, file: Option<&Path>, clear: bool) -> anyhow::Result<()> {
    archive.sums()?;
    let writer = archive.write()?;
    let mut entries = if clear { Vec::new() } else { archive.own_prices()? };
    if let Some(path) = file {
        let bytes = std::fs::read(path).with_context(|| path.display().to_string())?;
        let table = Table::parse(&bytes).with_context(|| path.display().to_string())?;
        let key = |it: &Entry| (it.provider.clone(), it.model.clone());
        let replaced: BTreeSet<_> = table.entries.iter().map(key).collect();
        entries.retain(|it| !replaced.contains(&key(it)));
        say(&format!(
            "{} models from {}, a table of {}",
            grouped(table.entries.len()),
            path.display(),
            table.kind.as_str()
        ));
        if table.skipped > 0 {
            complain(format_args!("{} models without a price per token are left out", grouped(table.skipped)));
        }
        entries.extend(table.entries);
    }
    let catalog = Catalog::built_in().under(entries.clone());
    writer.write_own_prices(&Table { kind: agentlogs::prices::TableKind::JsonLines, entries, skipped: 0 })?;
    let cost = writer.commit()?.sums.cost_usd.unwrap_or_default();
    say(&format!("{} now costs ${cost:.4}; {}", archive.folder().display(), about(&catalog)));
    Ok(())
}
