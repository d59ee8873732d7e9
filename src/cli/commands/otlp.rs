//! `agentlogs export --as otlp`: writes traces and metrics of OpenTelemetry, and sends them to the receiver that the user names.

use std::path::Path;

use agentlogs::analysis::export::{Access, Traces, write_file};
#[cfg(feature = "cloud")]
use agentlogs::analysis::export::{Endpoint, Sent, Signal};
use agentlogs::analysis::present::counted;
use agentlogs::analysis::rows::Frames;
use agentlogs::store::lake::shown;
use anyhow::Context as _;

use super::Outcome;
use super::output::{complain, say};

/// The environment variable with the headers of requests, as of OpenTelemetry's own exporters.
#[cfg(feature = "cloud")]
const HEADERS: &str = "OTEL_EXPORTER_OTLP_HEADERS";

/// Where requests are sent.
pub struct Receiver {
    #[cfg(feature = "cloud")]
    endpoint: Endpoint,
    #[cfg(feature = "cloud")]
    address: String,
}

impl Receiver {
    /// The receiver at an address. No connection is opened yet.
    #[cfg(feature = "cloud")]
    pub fn at(address: &str) -> anyhow::Result<Self> {
        let headers = std::env::var(HEADERS).ok();
        let endpoint = Endpoint::new(address, headers.as_deref()).map_err(|error| match error {
            agentlogs::analysis::export::EndpointError::Headers => anyhow::anyhow!("{HEADERS}: {error}"),
            error => error.into(),
        })?;
        Ok(Self { endpoint, address: address.to_owned() })
    }

    /// An error: this program opens no connections.
    #[cfg(not(feature = "cloud"))]
    pub fn at(_: &str) -> anyhow::Result<Self> {
        anyhow::bail!("this agentlogs was built without the feature `cloud`, which opens connections")
    }

    /// Sends both files, and states what was accepted.
    #[cfg(feature = "cloud")]
    fn send(&self, traces: &Path, metrics: &Path) -> anyhow::Result<Outcome> {
        let mut outcome = Outcome::Done;
        let mut requests = 0;
        for (path, signal, what) in [(traces, Signal::Traces, "span"), (metrics, Signal::Metrics, "point")] {
            let Sent { requests: accepted, rejected, message } = match self.endpoint.send(path, signal) {
                Err(error) if signal == Signal::Metrics && error.is_unknown_address() => {
                    complain(format_args!("{error}: it has the traces, and no metrics"));
                    continue;
                }
                sent => sent?,
            };
            requests += accepted;
            if rejected > 0 {
                let message = message.map_or_else(String::new, |message| format!(": {message}"));
                complain(format_args!("{} rejected by {}{message}", counted(rejected, what), self.address));
                outcome = Outcome::NotAllDone;
            }
        }
        say(&format!("{} sent to {}", counted(requests, "request"), self.address));
        Ok(outcome)
    }

    #[cfg(not(feature = "cloud"))]
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "there is no receiver without connections")]
    fn send(&self, _: &Path, _: &Path) -> anyhow::Result<Outcome> {
        Ok(Outcome::Done)
    }
}

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
