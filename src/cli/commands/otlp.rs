//! `agentlogs export --as otlp`: writes traces and metrics of OpenTelemetry, and sends them to the receiver that the user names.

use std::path::Path;

use agentlogs::analysis::export::{Access, Traces, write_file};
use agentlogs::analysis::present::counted;
use agentlogs::analysis::rows::Frames;
use agentlogs::store::lake::shown;
use anyhow::Context as _;

use super::Outcome;
use super::output::{complain, say};
use super::receiver::Receiver;

/// Writes all sessions to two files in a directory, and sends these to the receiver.
pub fn export(
    tables: &Frames,
    directory: &Path,
    access: Access,
    receiver: Option<&Receiver>,
) -> anyhow::Result<Outcome> {
    let traces = Traces::new(tables)?;
    let traces_path = directory.join("otlp.jsonl");
    write_file(&traces_path, access, |out| traces.write(out)).with_context(|| traces_path.display().to_string())?;
    let metrics_path = directory.join("otlp-metrics.jsonl");
    let mut untimed = 0;
    let written = write_file(&metrics_path, access, |out| {
        untimed = traces.write_metrics(out)?;
        Ok(())
    });
    written.with_context(|| metrics_path.display().to_string())?;
    say(&format!("{} written to {}", counted(traces.sessions(), "session"), shown(directory).display()));
    if untimed > 0 {
        complain(format_args!("{} without a known time have no metrics", counted(untimed, "session")));
    }
    receiver.map_or(Ok(Outcome::Done), |receiver| receiver.send(&traces_path, &metrics_path))
}
