//! `agentlogs inspect`: what a file is, why, and what it tells, as JSON.

use std::io::{self, Write};

use agentlogs::analysis::render;
use agentlogs::ingest;
use agentlogs::model::source::Source;
use serde::Serialize;

use super::{Outcome, complain, options};
use crate::cli::args::Inspect;

/// What is printed for a file.
#[derive(Serialize)]
struct Inspected {
    /// Formats that claim records among those that decide, the likeliest first.
    claims: Vec<Claim>,
    #[serde(flatten)]
    source: Source,
}

#[derive(Serialize)]
struct Claim {
    format: &'static str,
    runtime: &'static str,
    /// Sum over the records of how surely each is of the format.
    weight: u32,
}

pub fn run(args: &Inspect) -> anyhow::Result<Outcome> {
    let options = options(Vec::new(), None, &args.reading)?;
    let mut outcome = Outcome::Done;
    let mut all = Vec::new();
    for path in &args.files {
        let (looked, errors) = ingest::inspect(path, &options);
        for error in errors {
            complain(format_args!("{error}"));
            if !error.is_left_out() {
                outcome = Outcome::NotAllDone;
            }
        }
        all.extend(looked.into_iter().map(|(source, claims)| {
            Inspected {
                claims: claims
                    .into_iter()
                    .map(|(adapter, weight)| Claim { format: adapter.id, runtime: adapter.runtime, weight })
                    .collect(),
                // How this run was started is known to whoever started it.
                source: Source { options: String::new(), ..source },
            }
        }));
    }
    let text = serde_json::to_string_pretty(&all)?;
    writeln!(io::stdout().lock(), "{}", render::harmless_json(&text))?;
    Ok(outcome)
}
