//! `agentlogs dashboard`: writes the archive as one HTML file.

use std::sync::Arc;

use agentlogs::analysis::dashboard::{About, Page, page};
use agentlogs::analysis::export::Access;
use agentlogs::analysis::present::{Currency, counted, grouped, human};

use super::Outcome;
use super::output::{say, write_page};
use super::resolve::{report_error, scope, state_empty, state_left_out};
use super::source::{catalog, some_tables};
use crate::cli::args::{Dashboard, Filters};
use crate::cli::settings::Settings;

pub fn run(args: Dashboard, settings: &Settings) -> anyhow::Result<Outcome> {
    let catalog = Some(Arc::new(catalog(&args.source, settings)?.into_owned()));
    let opened = some_tables(args.source, settings, Page::TABLES)?;
    let about = About { filters: filters(&args.filters), prices: opened.priced_with(), catalog };
    let scope = scope(args.filters, settings);
    let page = page(&opened.frames, &scope, args.cost.into(), about).map_err(report_error)?;
    write_page(&args.out, || Ok(Access::of(&opened.frames)?), &page.html)?;
    let (sessions, named, timelines) =
        (counted(page.sessions, "session"), grouped(page.named), grouped(page.timelines));
    let listed = if page.named < page.sessions { format!(", {named} of them listed") } else { String::new() };
    let size = human("bytes", page.html.len() as f64, Currency::default());
    let name = args.out.display();
    say(&format!("{name}: {size}, {sessions}{listed}, {timelines} with a timeline"));
    state_left_out("", &page.left_out, "row", "time", Currency::default());
    if page.sessions == 0 {
        state_empty("", &opened, &scope);
    }
    Ok(Outcome::Done)
}

/// The filters, as on the command line.
fn filters(filters: &Filters) -> Vec<String> {
    let times = [("since", filters.start()), ("until", filters.until)];
    let times = times.into_iter().filter_map(|(name, bound)| Some(format!("{name} {}", bound?)));
    let undated = filters.undated.map(|undated| format!("undated {}", undated.as_str()));
    let named = filters.by_dimension().map(|(name, pattern)| format!("{name} {pattern}"));
    times.chain(undated).chain(named).chain(filters.labels.iter().map(|label| format!("label {label}"))).collect()
}
