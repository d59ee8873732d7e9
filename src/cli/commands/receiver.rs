//! Sends files of OpenTelemetry, and states what the receiver accepted.

use std::env::VarError;
use std::path::Path;

use agentlogs::analysis::export::{Endpoint, EndpointError, Sent, Signal};
use agentlogs::analysis::present::counted;
use anyhow::{anyhow, bail};

use super::output::{complain, say};
use super::{Outcome, WrongCommandLine};

/// The environment variable with the headers of requests, as of OpenTelemetry's own exporters.
const HEADERS: &str = "OTEL_EXPORTER_OTLP_HEADERS";

/// Where requests are sent.
pub struct Receiver {
    endpoint: Endpoint,
    address: String,
}

impl Receiver {
    /// The receiver at an address. No connection is opened yet.
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

    /// Sends both files, and states what was accepted, also if an error follows.
    pub fn send(&self, traces: &Path, metrics: &Path) -> anyhow::Result<Outcome> {
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

    fn state_sent(&self, requests: usize) {
        say(&format!("{} sent to {}", counted(requests, "request"), self.address));
    }

    /// States what the receiver did not accept, or its warning.
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
}
