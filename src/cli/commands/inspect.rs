//! `agentlogs inspect`: prints the detected formats and the parsed content of files, as JSON.

use std::io::{self, Write};

use agentlogs::analysis::present;
use agentlogs::ingest;
use agentlogs::model::source::Source;
use serde::Serialize;

use super::Outcome;
use super::output::complain_of_path;
use super::reading::options;
use crate::cli::args::Inspect;
use crate::cli::settings::Settings;

/// The output for a file.
#[derive(Serialize)]
struct Inspected {
    /// The formats that claim records of the file, by weight, descending.
    claims: Vec<Claim>,
    #[serde(flatten)]
    source: Source,
}

#[derive(Serialize)]
struct Claim {
    format: &'static str,
    runtime: &'static str,
    /// The sum of the weights with which the format claims records.
    weight: u32,
}

pub fn run(args: &Inspect, settings: &Settings) -> anyhow::Result<Outcome> {
    let options = options(Vec::new(), None, &args.reading, settings)?;
    let mut outcome = Outcome::Done;
    let mut all = Vec::new();
    for path in &args.files {
        let (inspected, errors) = ingest::inspect(path, &options);
        for error in errors {
            complain_of_path(&error);
            if !error.is_left_out() {
                outcome = Outcome::NotAllDone;
            }
        }
        all.extend(inspected.into_iter().map(|(source, claims)| {
            Inspected {
                claims: claims
                    .into_iter()
                    .map(|(adapter, weight)| Claim { format: adapter.id, runtime: adapter.runtime, weight })
                    .collect(),
                // The options are those of this command.
                source: Source { options: String::new(), ..source },
            }
        }));
    }
    let text = if args.reading.redact {
        let mut all = serde_json::to_value(&all)?;
        present::structure(&mut all);
        serde_json::to_string_pretty(&all)?
    } else {
        serde_json::to_string_pretty(&all)?
    };
    writeln!(io::stdout().lock(), "{}", present::harmless_json(&text))?;
    Ok(outcome)
}
