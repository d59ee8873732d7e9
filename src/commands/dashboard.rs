//! `agentlogs dashboard`: the archive as one page.

use std::fs;

use agentlogs::dashboard::{About, page};
use agentlogs::render::grouped;
use anyhow::Context;

use super::report::{cost, priced_with, scope, wrong};
use super::{Outcome, say, tables};
use crate::cli::{Dashboard, Filters};

pub fn run(args: Dashboard) -> anyhow::Result<Outcome> {
    let about = About { filters: filters(&args.filters), prices: priced_with(&args.from)? };
    let scope = scope(args.filters);
    let page = page(&tables(args.from)?, &scope, cost(args.cost), about).map_err(wrong)?;
    fs::write(&args.out, &page.html).with_context(|| args.out.display().to_string())?;
    let (sessions, named, timelines) = (grouped(page.sessions), grouped(page.named), grouped(page.timelines));
    let listed = if page.named < page.sessions { format!(", {named} of them listed") } else { String::new() };
    let size = page.html.len() as f64 / 1e6;
    let name = args.out.display();
    say(&format!("{name}: {size:.1} MB, {sessions} sessions{listed}, {timelines} open to a timeline"));
    Ok(Outcome::Done)
}

/// The filters as they were typed.
fn filters(filters: &Filters) -> Vec<String> {
    let named = [
        ("runtime", &filters.runtime),
        ("model", &filters.model),
        ("project", &filters.project),
        ("session", &filters.session),
        ("status", &filters.status),
    ];
    let times = [("since", filters.since), ("until", filters.until)];
    let times = times.into_iter().filter_map(|(name, it)| Some(format!("{name} {}", it?)));
    let named = named.into_iter().filter_map(|(name, it)| Some(format!("{name} {}", it.as_ref()?)));
    times.chain(named).chain(filters.labels.iter().map(|it| format!("label {it}"))).collect()
}
