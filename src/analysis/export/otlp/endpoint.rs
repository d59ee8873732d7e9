//! Sends lines of OTLP's JSON to a receiver of OTLP over HTTP, such as OpenTelemetry's collector.
//!
//! Each line is the body of a request. Rules of requests and answers: <https://opentelemetry.io/docs/specs/otlp/#otlphttp>

use std::fs::File;
use std::io::{self, BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::redirect::Policy;
use reqwest::{Client, Response, StatusCode};
use serde::Deserialize;
use url::Url;

/// How often a request is sent in total if the receiver is too busy.
const ATTEMPTS: u32 = 5;

/// The longest time to wait before a request is sent again.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// The longest time to wait for an answer.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The characters of a receiver's message that are shown.
const MESSAGE: usize = 200;

/// A receiver at an address that the user named. Connections are opened to this address only: redirects are not followed.
#[derive(Debug)]
pub struct Endpoint {
    address: Url,
    client: Client,
    runtime: tokio::runtime::Runtime,
}

/// What a line contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// Spans.
    Traces,
    /// Metrics.
    Metrics,
}

/// What a receiver accepted.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// The requests that were sent and accepted.
    pub requests: usize,
    /// The spans or points that the receiver stated to have rejected.
    pub rejected: u64,
    /// Its first message about them.
    pub message: Option<String>,
}

/// Why lines were not sent.
#[derive(Debug, thiserror::Error)]
pub enum EndpointError {
    /// The address is not that of a receiver.
    #[error("{address:?} is not the address of a receiver: {why}")]
    Address {
        /// The address as the user wrote it.
        address: String,
        /// What is wrong with it.
        why: String,
    },
    /// The headers are not pairs of names and values. Their text is not shown, since it contains secrets.
    #[error("the headers for the endpoint are not NAME=VALUE, separated by commas, with % for other characters")]
    Headers,
    /// The client cannot be created.
    #[error("connections cannot be opened: {0}")]
    Client(String),
    /// There is no answer.
    #[error("{address}: {why}, at request {request}")]
    Connection {
        /// The address of the request.
        address: String,
        /// Why.
        why: String,
        /// Which request of the file, counted from 1. Those before were accepted.
        request: usize,
    },
    /// The receiver did not accept a request.
    #[error("{address} answered {status} to request {request}{message}")]
    Refused {
        /// The address of the request.
        address: String,
        /// The status of the answer.
        status: StatusCode,
        /// The message of the answer after a colon, or nothing.
        message: String,
        /// Which request of the file, counted from 1. Those before were accepted.
        request: usize,
    },
    /// The file with the lines cannot be read.
    #[error("{}: {error}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

impl EndpointError {
    /// Whether the receiver has no such address: many read traces only.
    pub fn is_unknown_address(&self) -> bool {
        let Self::Refused { status, .. } = self else { return false };
        matches!(*status, StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED | StatusCode::NOT_IMPLEMENTED)
    }
}

/// The answer to a request that was accepted.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    #[serde(default)]
    partial_success: Option<PartialSuccess>,
}

/// What the receiver rejected. 64-bit numbers are strings in OTLP's JSON, and numbers in that of some receivers.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PartialSuccess {
    #[serde(default, alias = "rejectedDataPoints")]
    rejected_spans: serde_json::Value,
    #[serde(default)]
    error_message: String,
}

impl Endpoint {
    /// Prepares requests to `address`, such as `http://localhost:4318`. `headers` are pairs such as
    /// `authorization=Bearer%20abc,x-team=web`, in the form of `OTEL_EXPORTER_OTLP_HEADERS`. No connection is opened yet.
    ///
    /// # Errors
    /// When the address or the headers are invalid.
    pub fn new(address: &str, headers: Option<&str>) -> Result<Self, EndpointError> {
        let client = Client::builder()
            .default_headers(parsed_headers(headers.unwrap_or_default()).ok_or(EndpointError::Headers)?)
            .redirect(Policy::none())
            .timeout(TIMEOUT)
            .user_agent(concat!("agentlogs/", env!("CARGO_PKG_VERSION")));
        let client = client.build().map_err(|error| EndpointError::Client(causes(&error)))?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| EndpointError::Client(error.to_string()))?;
        Ok(Self { address: parsed_address(address)?, client, runtime })
    }

    /// Sends each line of a file.
    ///
    /// # Errors
    /// When a request has no answer or is not accepted. The lines before it have been sent.
    pub fn send(&self, path: &Path, signal: Signal) -> Result<Sent, EndpointError> {
        let failed = |error| EndpointError::File { path: path.to_owned(), error };
        let mut sent = Sent::default();
        for line in BufReader::new(File::open(path).map_err(failed)?).lines() {
            let answer = self.runtime.block_on(self.post(line.map_err(failed)?, signal, sent.requests + 1))?;
            sent.requests += 1;
            if let Some(partial) = answer.and_then(|answer| answer.partial_success) {
                sent.rejected += number(&partial.rejected_spans);
                if !partial.error_message.is_empty() {
                    sent.message.get_or_insert_with(|| partial.error_message.chars().take(MESSAGE).collect());
                }
            }
        }
        Ok(sent)
    }

    /// The address for requests of a kind.
    fn address_for(&self, signal: Signal) -> Url {
        let name = match signal {
            Signal::Traces => "v1/traces",
            Signal::Metrics => "v1/metrics",
        };
        let mut address = self.address.clone();
        address.set_path(&format!("{}/{name}", self.address.path().trim_end_matches('/')));
        address
    }

    /// Sends a request, again after a while if the receiver asks for it. Returns what it answered, if that is JSON.
    async fn post(&self, body: String, signal: Signal, request: usize) -> Result<Option<Answer>, EndpointError> {
        let address = self.address_for(signal);
        let no_answer = |error: reqwest::Error| EndpointError::Connection {
            address: address.to_string(),
            why: causes(&error),
            request,
        };
        for attempt in 1.. {
            let post = self.client.post(address.clone()).header(CONTENT_TYPE, "application/json").body(body.clone());
            let response = post.send().await.map_err(no_answer)?;
            let status = response.status();
            if status.is_success() {
                let answer = response.bytes().await.map_err(no_answer)?;
                return Ok(serde_json::from_slice(&answer).ok());
            }
            if !is_busy(status) || attempt == ATTEMPTS {
                let message = message(&response.text().await.unwrap_or_default());
                return Err(EndpointError::Refused { address: address.to_string(), status, message, request });
            }
            tokio::time::sleep(wait(&response, attempt)).await;
        }
        Ok(None)
    }
}

/// Whether the receiver may accept the same request later.
fn is_busy(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::TOO_MANY_REQUESTS
            | StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT
    )
}

/// The time until the next attempt: what the receiver asks for, else a second, two, four and eight.
fn wait(response: &Response, attempt: u32) -> Duration {
    let asked = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
    let seconds = asked.unwrap_or_else(|| 1 << (attempt - 1).min(5));
    Duration::from_secs(seconds).min(LONGEST_WAIT)
}

/// The message in an answer, to be shown after its status: one line of text, or the member `message` of a JSON object.
fn message(answer: &str) -> String {
    #[derive(Deserialize)]
    struct Status {
        message: String,
    }
    let text = serde_json::from_str(answer).map_or_else(|_| answer.trim().to_owned(), |status: Status| status.message);
    let line: String = text.lines().next().unwrap_or_default().chars().take(MESSAGE).collect();
    if line.is_empty() || line.starts_with('<') { String::new() } else { format!(": {line}") }
}

/// A count of OTLP's JSON.
fn number(value: &serde_json::Value) -> u64 {
    value.as_u64().or_else(|| value.as_str()?.parse().ok()).unwrap_or(0)
}

/// An error with its causes, without the address, which is stated before.
fn causes(error: &dyn std::error::Error) -> String {
    let mut text = String::new();
    let mut next = Some(error);
    while let Some(cause) = next {
        text = cause.to_string();
        next = cause.source();
    }
    text
}

/// The address without what names a signal.
fn parsed_address(address: &str) -> Result<Url, EndpointError> {
    let wrong = |why: &str| EndpointError::Address { address: address.to_owned(), why: why.to_owned() };
    let example = "write one such as http://localhost:4318";
    let mut url = Url::parse(address).map_err(|_| wrong(example))?;
    if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
        return Err(wrong(example));
    }
    if !url.username().is_empty() || url.password().is_some() || url.query().is_some() || url.fragment().is_some() {
        let why = "it must not contain credentials, a query or a fragment; OTEL_EXPORTER_OTLP_HEADERS has headers";
        // The address may contain a password.
        return Err(EndpointError::Address { address: format!("{}://…", url.scheme()), why: why.to_owned() });
    }
    let path = url.path().trim_end_matches('/').trim_end_matches("/v1/traces").to_owned();
    url.set_path(&path);
    Ok(url)
}

/// Headers as of `OTEL_EXPORTER_OTLP_HEADERS`; `None` if they are invalid.
fn parsed_headers(text: &str) -> Option<HeaderMap> {
    let mut headers = HeaderMap::new();
    for pair in text.split(',').filter(|pair| !pair.trim().is_empty()) {
        let (name, value) = pair.split_once('=')?;
        let value = percent_encoding::percent_decode_str(value.trim()).decode_utf8().ok()?;
        let mut value = HeaderValue::from_str(&value).ok()?;
        value.set_sensitive(true);
        headers.insert(HeaderName::try_from(name.trim()).ok()?, value);
    }
    Some(headers)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> String {
        match parsed_address(text) {
            Ok(url) => url.to_string(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn an_address_names_a_receiver() {
        let endpoint = |text| Endpoint::new(text, None).unwrap().address_for(Signal::Metrics).to_string();
        assert_eq!(endpoint("http://localhost:4318"), "http://localhost:4318/v1/metrics");
        assert_eq!(endpoint("https://example.org/otlp/"), "https://example.org/otlp/v1/metrics");
        assert_eq!(endpoint("http://localhost:4318/v1/traces"), "http://localhost:4318/v1/metrics");
        for wrong in ["localhost:4318", "ftp://localhost", "", "http://"] {
            assert!(address(wrong).contains("write one such as http://localhost:4318"), "{wrong}: {}", address(wrong));
        }
        for secret in ["http://user:hunter2@localhost", "http://localhost?key=hunter2", "http://localhost#hunter2"] {
            assert!(address(secret).contains("OTEL_EXPORTER_OTLP_HEADERS"), "{}", address(secret));
            assert!(!address(secret).contains("hunter2"), "{}", address(secret));
        }
    }

    #[test]
    fn headers_are_those_of_the_environment() {
        let headers = parsed_headers("authorization=Bearer%20a%2Cb, x-team=web,").unwrap();
        assert_eq!(headers["authorization"], "Bearer a,b");
        assert_eq!(headers["x-team"], "web");
        assert!(!format!("{headers:?}").contains("Bearer"));
        assert!(parsed_headers("").unwrap().is_empty());
        for wrong in ["authorization", "a b=c", "x=%0d%0ay", "x=%ff"] {
            assert!(parsed_headers(wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn a_message_is_one_line() {
        assert_eq!(message("{\"code\":3,\"message\":\"bad span\"}"), ": bad span");
        assert_eq!(message("no such path\nmore"), ": no such path");
        assert_eq!(message("<html>"), "");
        assert_eq!(message(""), "");
    }
}
