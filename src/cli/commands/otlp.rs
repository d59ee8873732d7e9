//! `agentlogs export --as otlp`: writes traces and metrics of OpenTelemetry, and sends them to the receiver that the user names.

#[cfg(feature = "cloud")]
use std::env::VarError;
use std::path::Path;

use agentlogs::analysis::export::{Access, Traces, write_file};
#[cfg(feature = "cloud")]
use agentlogs::analysis::export::{Endpoint, EndpointError, Sent, Signal};
use agentlogs::analysis::present::counted;
use agentlogs::analysis::rows::Frames;
use agentlogs::store::lake::shown;
#[cfg(feature = "cloud")]
use anyhow::anyhow;
use anyhow::{Context as _, bail};

use super::Outcome;
#[cfg(feature = "cloud")]
use super::WrongCommandLine;
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
        let headers = match std::env::var(HEADERS) {
            Err(VarError::NotPresent) => None,
            Err(VarError::NotUnicode(_)) => bail!("{HEADERS} is not UTF-8"),
            Ok(headers) => Some(headers),
        };
        let endpoint = Endpoint::new(address, headers.as_deref()).map_err(|error| match error {
            EndpointError::Headers => anyhow!("{HEADERS}: {error}"),
            EndpointError::Address { .. } => WrongCommandLine(error.to_string()).into(),
            error => error.into(),
        })?;
        Ok(Self { endpoint, address: address.to_owned() })
    }

    /// An error: this program opens no connections.
    #[cfg(not(feature = "cloud"))]
    pub fn at(_: &str) -> anyhow::Result<Self> {
        bail!("this agentlogs was built without the feature `cloud`, which opens connections")
    }

    /// Sends both files, and states what was accepted, also if an error follows.
    #[cfg(feature = "cloud")]
    fn send(&self, traces: &Path, metrics: &Path) -> anyhow::Result<Outcome> {
        let mut outcome = Outcome::Done;
        let mut requests = 0;
        for (path, signal, what) in [(traces, Signal::Traces, "span"), (metrics, Signal::Metrics, "point")] {
            let mut sent = Sent::default();
            let result = self.endpoint.send(path, signal, &mut sent);
            requests += sent.requests;
            if sent.refused > 0 || sent.rejected > 0 {
                outcome = Outcome::NotAllDone;
            }
            self.state_rejected(&sent, what);
            match result {
                Err(error) if signal == Signal::Metrics && error.is_unknown_address() => {
                    complain(format_args!("{error}: it has the traces, and no metrics"));
                }
                Err(error) => {
                    self.state_sent(requests);
                    return Err(error.into());
                }
                Ok(()) => {}
            }
        }
        self.state_sent(requests);
        Ok(outcome)
    }

    #[cfg(feature = "cloud")]
    fn state_sent(&self, requests: usize) {
        say(&format!("{} sent to {}", counted(requests, "request"), self.address));
    }

    /// States what the receiver did not accept, or its warning.
    #[cfg(feature = "cloud")]
    fn state_rejected(&self, sent: &Sent, what: &str) {
        let Sent { requests: _, refused, rejected, message } = sent;
        let parts =
            [(*refused > 0).then(|| counted(*refused, "request")), (*rejected > 0).then(|| counted(*rejected, what))];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        let message = message.as_ref().map_or_else(String::new, |message| format!(": {message}"));
        if !parts.is_empty() {
            complain(format_args!("{} rejected by {}{message}", parts.join(" and "), self.address));
        } else if !message.is_empty() {
            complain(format_args!("{} states{message}", self.address));
        }
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
