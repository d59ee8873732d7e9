//! `agentlogs prices`: lists prices, explains the cost of a session, and imports a user's own prices.

use std::collections::BTreeSet;
use std::path::Path;

use agentlogs::analysis::present::{Currency, Roles, are, counted, exact_amount, grouped};
use agentlogs::analysis::reports::{Error, similar_models};
use agentlogs::analysis::show::find;
use agentlogs::base::time::{Day, Time};
use agentlogs::input::open::{Limit, open_named};
use agentlogs::prices::{Catalog, Entry, Period, Rates, Table};
use agentlogs::store::archive::Archive;
use agentlogs::store::frames::{self, sessions, turns};
use anyhow::Context;
use polars::prelude::*;

use super::Outcome;
use super::explain::explained;
use super::output::{Layout, complain, print, say};
use super::source::{advised, read, reconciled};
use crate::cli::args::{DataSource, Prices};
use crate::cli::settings::Settings;

pub fn run(args: Prices, settings: &Settings) -> anyhow::Result<Outcome> {
    match args {
        Prices::List { text, archive, printed } => {
            let catalog = settings.archive(archive.archive)?.catalog()?;
            let text = text.unwrap_or_default();
            let empty = format!("no provider and no model contains {text:?}");
            let layout = Layout { empty: Some(&empty), ..prices_layout(true) };
            print(&list(&catalog, &text)?, printed, layout)?;
            say(&about(&catalog));
        }
        Prices::Show { model, provider, archive, printed } => {
            let catalog = settings.archive(archive.archive)?.catalog()?;
            let Some(found) = catalog.find(provider.as_deref(), &model) else {
                let is_named = |entry: &&Entry| entry.names().any(|name| name.eq_ignore_ascii_case(&model));
                let hosts: BTreeSet<&str> = catalog.entries().filter(is_named).map(|it| it.provider.as_str()).collect();
                if let (Some(first), None) = (hosts.first(), &provider) {
                    let all = hosts.iter().copied().collect::<Vec<_>>().join(", ");
                    let verb = if hosts.len() == 1 { "has" } else { "have" };
                    anyhow::bail!("only {all} {verb} prices of {model:?}: --provider {first}");
                }
                let similar = similar_models(&catalog, &model);
                return Err(Error::UnknownModel { model, similar }.into());
            };
            print(&history(&catalog, &found.entries)?, printed, prices_layout(false))?;
            let rules: Vec<String> = found.rules.iter().map(ToString::to_string).collect();
            if let (Some(entry), false) = (found.entries.first(), rules.is_empty()) {
                say(&format!("{model} is {}: {}", entry.model, rules.join(", ")));
            }
            let canonical = catalog.canonical(&model);
            if canonical != model {
                say(&format!("reports name it {canonical}"));
            }
            say(&about(&catalog));
        }
        Prices::Explain { session, source, printed } => {
            let (rows, about) = explanation(source, &session, settings)?;
            let fine = &[turns::COMPUTED_COST_USD, turns::REPORTED_COST_USD, turns::COST_USD];
            let roles = Roles { names: Some(3), main: Some(turns::COST_USD), fine, ..Roles::default() };
            print(&rows, printed, Layout { roles, ..Layout::default() })?;
            say(&about);
        }
        Prices::Import { file, clear, archive } => {
            import(&settings.archive(archive.archive)?, file.as_deref(), clear)?;
        }
    }
    Ok(Outcome::Done)
}

/// How the cost of a session is computed, and the date and the sources of the prices.
///
/// # Errors
/// When there is no such session, or the archive or the logs cannot be read.
pub fn explanation(source: DataSource, session: &str, settings: &Settings) -> anyhow::Result<(DataFrame, String)> {
    let (tables, catalog) = if source.logs.is_empty() {
        let is_implicit = source.archive.archive.is_none();
        let archive = settings.archive(source.archive.archive)?;
        // A text that means no session is an error before all facts are read.
        let snapshot = advised(archive.snapshot().map_err(Into::into), is_implicit)?;
        find(&snapshot.some_tables(&[sessions::TABLE])?, session, None)?;
        let catalog = archive.catalog()?;
        (reconciled(archive.facts()?.into_values().collect(), &catalog), catalog)
    } else {
        let catalog = settings.catalog()?;
        (reconciled(read(source.logs, settings)?, &catalog), catalog)
    };
    let sessions = frames::frame(&tables, sessions::TABLE)?.lazy();
    let key = find(&[(sessions::TABLE, sessions)].into_iter().collect(), session, None)?;
    Ok((explained(&tables, &catalog, &key)?, about(&catalog)))
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
        let long = period.long_context.iter().map(move |range| Self {
            entry,
            period,
            above: Some(range.above),
            rates: range.rates(),
        });
        std::iter::once(Self { entry, period, above: None, rates: period.rates() }).chain(long)
    }
}

/// The prices of input are the main ones.
fn prices_layout(is_long: bool) -> Layout<'static> {
    Layout { roles: Roles { names: Some(2), main: Some("input"), ..Roles::default() }, is_long, ..Layout::default() }
}

fn list(catalog: &Catalog, text: &str) -> PolarsResult<DataFrame> {
    let text = text.to_lowercase();
    let is_selected = |entry: &&Entry| {
        entry.provider.contains(&text) || entry.names().any(|name| name.to_lowercase().contains(&text))
    };
    let today = |entry| Some((entry, Entry::period(entry, None, catalog.date)?));
    let entries = catalog.entries().filter(is_selected).filter_map(today);
    frame(catalog, &entries.flat_map(|(entry, period)| Priced::of(entry, period)).collect::<Vec<_>>())
}

fn history(catalog: &Catalog, entries: &[&Entry]) -> PolarsResult<DataFrame> {
    let rows = entries.iter().flat_map(|entry| entry.prices.iter().flat_map(|it| Priced::of(entry, it)));
    frame(catalog, &rows.collect::<Vec<_>>())
}

fn frame(catalog: &Catalog, rows: &[Priced<'_>]) -> PolarsResult<DataFrame> {
    let text = |of: &dyn Fn(&Priced<'_>) -> Option<String>| rows.iter().map(of).collect::<Vec<_>>();
    let rate = |of: fn(&Rates) -> f64| rows.iter().map(|it| of(&it.rates)).collect::<Vec<_>>();
    let others = |row: &Priced<'_>| {
        let tiers = row.entry.tiers.iter().map(|(name, share)| format!("{name} x{}", share.input));
        let regions = row.entry.regions.iter().map(|(name, share)| format!("{name} x{share}"));
        let hours = row.period.hours.iter().map(|[from, until]| format!("{from}-{until} UTC"));
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

/// The current day: it decides which of several dated prices of a service tier an imported table means.
pub fn today() -> Day {
    Day(Time::from(jiff::Timestamp::now()).day())
}

/// Imports prices into the archive, and recomputes its costs.
fn import(archive: &Archive, file: Option<&Path>, clear: bool) -> anyhow::Result<()> {
    archive.sums()?;
    let writer = archive.write()?;
    let mut entries = if clear { Vec::new() } else { archive.own_prices()? };
    if let Some(path) = file {
        let (bytes, _) = open_named(path, Limit::Usual).with_context(|| path.display().to_string())?;
        let table = Table::parse(&bytes, today()).with_context(|| path.display().to_string())?;
        let key = |entry: &Entry| (entry.provider.clone(), entry.model.clone());
        let replaced: BTreeSet<_> = table.entries.iter().map(key).collect();
        entries.retain(|entry| !replaced.contains(&key(entry)));
        say(&format!(
            "{} from {}, a table of {}",
            counted(table.entries.len(), "model"),
            path.display(),
            table.kind.as_str()
        ));
        if table.skipped > 0 {
            complain(format_args!("{} left out, without a price per token", are(table.skipped, "model")));
        }
        entries.extend(table.entries);
    }
    let catalog = Catalog::built_in().under(entries.clone());
    writer.write_own_prices(&Table { kind: agentlogs::prices::TableKind::JsonLines, entries, skipped: 0 })?;
    let cost = writer.commit()?.sums.cost_usd.unwrap_or_default();
    say(&format!(
        "{} now costs {}; {}",
        archive.directory().display(),
        exact_amount(cost, Currency::default()),
        about(&catalog)
    ));
    Ok(())
}
