//! `agentlogs inspect`: prints the detected formats and the parsed content of files, as JSON.

use std::io::{self, Write};

use agentlogs::analysis::present;
use agentlogs::ingest::drift::Drifts;
use agentlogs::ingest::shape::Shape;
use agentlogs::ingest::{self, FileRead, Inspection};
use agentlogs::model::source::{Source, SourceStatus};
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
    /// The shape of a file that no format matches.
    #[serde(skip_serializing_if = "Option::is_none")]
    shape: Option<Shape>,
}

/// The output for a file of which only the shape is printed.
#[derive(Serialize)]
struct ShapeOnly {
    /// The format that matches, if any.
    format: Option<String>,
    bytes: i64,
    #[serde(flatten)]
    shape: Shape,
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
    let inspection = match () {
        () if args.shape => Inspection::Shapes,
        () if args.drift => Inspection::Drift,
        () => Inspection::UnrecognisedShapes,
    };
    let mut files = Vec::new();
    for path in &args.files {
        let (inspected, errors) = ingest::inspect(path, &options, inspection);
        for error in errors {
            complain_of_path(&error);
            if !error.is_left_out() {
                outcome = Outcome::NotAllDone;
            }
        }
        files.extend(inspected);
    }
    let text = if args.shape {
        let shapes: Vec<ShapeOnly> = files.into_iter().filter_map(ShapeOnly::of).collect();
        serde_json::to_string_pretty(&shapes)?
    } else if args.drift {
        let mut drifts = Drifts::default();
        files.into_iter().filter_map(|file| file.drift).for_each(|drift| drifts.add(drift));
        serde_json::to_string_pretty(&drifts.unknown())?
    } else {
        let all: Vec<Inspected> = files.into_iter().map(Inspected::of).collect();
        if args.reading.redact {
            let mut all = serde_json::to_value(&all)?;
            present::structure(&mut all);
            serde_json::to_string_pretty(&all)?
        } else {
            serde_json::to_string_pretty(&all)?
        }
    };
    writeln!(io::stdout().lock(), "{}", present::harmless_json(&text))?;
    Ok(outcome)
}

impl Inspected {
    fn of(file: FileRead) -> Self {
        let claims = file.claims.into_iter();
        // The options are those of this command.
        let mut source = Source { options: String::new(), ..file.source };
        if source.status == SourceStatus::Unrecognised {
            source.message.get_or_insert_with(|| "no format has records like these".to_owned());
        }
        Self {
            claims: claims
                .map(|(adapter, weight)| Claim { format: adapter.id, runtime: adapter.runtime, weight })
                .collect(),
            source,
            shape: file.shape,
        }
    }
}

impl ShapeOnly {
    fn of(file: FileRead) -> Option<Self> {
        Some(Self { format: file.source.format, bytes: file.source.bytes, shape: file.shape? })
    }
}
