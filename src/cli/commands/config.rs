//! `agentlogs config`: each setting, its value, and where the value comes from.

use polars::prelude::*;

use super::Outcome;
use super::output::{Layout, print, say};
use crate::cli::args::Printed;
use crate::cli::settings::{Chosen, Origin, Settings};

pub fn run(printed: Printed, settings: &Settings) -> anyhow::Result<Outcome> {
    let mut rows: Vec<[String; 3]> = Vec::new();
    let mut add = |key: &str, value: String, origin: &Origin| rows.push([key.to_owned(), value, origin.to_string()]);
    let archive = settings.chosen_archive()?;
    add("archive", archive.value.display().to_string(), &archive.origin);
    for Chosen { value, origin } in &settings.logs {
        add("logs", value.display().to_string(), origin);
    }
    add("content", settings.content.value.as_str().to_owned(), &settings.content.origin);
    add("redact", settings.redact.value.to_string(), &settings.redact.origin);
    add("timezone", settings.timezone.value.clone(), &settings.timezone.origin);
    add("week_start", settings.week_start.value.as_str().to_owned(), &settings.week_start.origin);
    match &settings.currency {
        Some(Chosen { value, origin }) => {
            add("currency", format!("{} ({} for a US dollar)", value.code, value.rate), origin);
        }
        None => add("currency", "USD".to_owned(), &Origin::Default),
    }
    for Chosen { value, origin } in settings.labels.values() {
        add("labels", value.clone(), origin);
    }
    for (name, Chosen { value, origin }) in &settings.aliases {
        add("aliases", format!("{name} = {}", value.get_ref()), origin);
    }
    for Chosen { value, origin } in &settings.models {
        add("models", format!("{}/{}", value.provider, value.model).trim_start_matches('/').to_owned(), origin);
    }
    for Chosen { value, origin } in &settings.budgets {
        add("budgets", value.to_string(), origin);
    }
    for (pattern, Chosen { value, origin }) in &settings.projects {
        add("projects", format!("{pattern} = {value}"), origin);
    }
    for Chosen { value, origin } in &settings.format_ids {
        add("format", (*value).to_owned(), origin);
    }
    // An unknown model of an alias is an error of the file.
    settings.prices()?;
    let column = |name: &str, index: usize| {
        Column::new(name.into(), rows.iter().map(|row| row.get(index).map(String::as_str)).collect::<Vec<_>>())
    };
    let columns = vec![column("setting", 0), column("value", 1), column("origin", 2)];
    print(&DataFrame::new(rows.len(), columns)?, printed, Layout::default())?;
    if settings.files.is_empty() {
        let own =
            settings.machine.own_configuration().map(|own| format!(", or {}", own.join("agentlogs.toml").display()));
        let own = own.unwrap_or_default();
        say(&format!(
            "no configuration file was found; agentlogs.toml in this directory or a parent of it{own} is read"
        ));
    }
    Ok(Outcome::Done)
}
