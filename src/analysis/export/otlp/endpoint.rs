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
use serde_json::Value;
use url::Url;

/// How often a request is sent in total if the receiver is too busy.
const ATTEMPTS: u32 = 5;

/// The longest time to wait before a request is sent again.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// The longest time to wait for a connection, and for each part of an answer.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The characters of a receiver's message that are shown.
const MESSAGE: usize = 200;

/// The bytes of an answer that are read.
const ANSWER: usize = 64 << 10;

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

/// What a receiver answered.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// The requests that were accepted.
    pub requests: usize,
    /// The requests that were refused because of their content, such as their size.
    pub refused: usize,
    /// The spans or points that the receiver stated to have rejected in accepted requests.
    pub rejected: u64,
    /// Its first message about requests, spans or points.
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
        let Self::Refused { status, request: 1, .. } = self else { return false };
        matches!(*status, StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED | StatusCode::NOT_IMPLEMENTED)
    }
}

/// How a request ended.
enum Reply {
    /// It was accepted, with this body of the answer.
    Accepted(String),
    /// It was refused because of its content.
    Refused(String),
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
            .no_proxy()
            .connect_timeout(TIMEOUT)
            .read_timeout(TIMEOUT)
            .user_agent(concat!("agentlogs/", env!("CARGO_PKG_VERSION")));
        let client = client.build().map_err(|error| EndpointError::Client(first_cause(&error)))?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| EndpointError::Client(error.to_string()))?;
        Ok(Self { address: parsed_address(address)?, client, runtime })
    }

    /// Sends each line of a file, and adds the answers to `sent`.
    ///
    /// # Errors
    /// When a request has no answer or is not accepted, whatever its content. `sent` has the answers before it.
    pub fn send(&self, path: &Path, signal: Signal, sent: &mut Sent) -> Result<(), EndpointError> {
        let failed = |error| EndpointError::File { path: path.to_owned(), error };
        for (index, line) in BufReader::new(File::open(path).map_err(failed)?).lines().enumerate() {
            let message = match self.runtime.block_on(self.post(&line.map_err(failed)?, signal, index + 1))? {
                Reply::Accepted(answer) => {
                    let (rejected, message) = partial_success(&answer);
                    sent.requests += 1;
                    sent.rejected = sent.rejected.saturating_add(rejected);
                    message
                }
                Reply::Refused(message) => {
                    sent.refused += 1;
                    Some(message)
                }
            };
            sent.message = sent.message.take().or(message);
        }
        Ok(())
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

    /// Sends a request, again after a while if the receiver is busy.
    async fn post(&self, body: &str, signal: Signal, request: usize) -> Result<Reply, EndpointError> {
        let address = self.address_for(signal);
        let no_answer = |error: reqwest::Error| EndpointError::Connection {
            address: address.to_string(),
            why: first_cause(&error),
            request,
        };
        let mut attempt = 1;
        loop {
            let post = self.client.post(address.clone()).header(CONTENT_TYPE, "application/json").body(body.to_owned());
            let response = post.send().await.map_err(no_answer)?;
            let status = response.status();
            if is_busy(status) && attempt < ATTEMPTS {
                tokio::time::sleep(wait(&response, attempt)).await;
                attempt += 1;
                continue;
            }
            let answer = text_of(response).await.map_err(no_answer)?;
            if status.is_success() {
                return Ok(Reply::Accepted(answer));
            }
            let message = message(&answer);
            if is_about_content(status) {
                return Ok(Reply::Refused(format!("{status}{message}")));
            }
            return Err(EndpointError::Refused { address: address.to_string(), status, message, request });
        }
    }
}

/// The beginning of an answer.
async fn text_of(mut response: Response) -> reqwest::Result<String> {
    let mut text = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        text.extend_from_slice(&chunk);
        if text.len() >= ANSWER {
            break;
        }
    }
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Whether the receiver refused the content of a request, and may accept others.
fn is_about_content(status: StatusCode) -> bool {
    matches!(status, StatusCode::BAD_REQUEST | StatusCode::PAYLOAD_TOO_LARGE | StatusCode::UNPROCESSABLE_ENTITY)
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

/// The time until the next attempt: what the receiver asks for, else a second, two, four and eight; at most [`LONGEST_WAIT`].
fn wait(response: &Response, attempt: u32) -> Duration {
    let asked = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
    let seconds = asked.unwrap_or_else(|| 1 << (attempt - 1).min(5));
    Duration::from_secs(seconds).min(LONGEST_WAIT)
}

/// The message in an answer, to be shown after its status: one line of text, or the member `message` of a JSON object.
fn message(answer: &str) -> String {
    let json: Option<Value> = serde_json::from_str(answer).ok();
    let stated = json.as_ref().and_then(|json| json.pointer("/message")?.as_str());
    let line = shortened(stated.unwrap_or(answer));
    if line.is_empty() || line.starts_with('<') { String::new() } else { format!(": {line}") }
}

/// What a receiver rejected of an accepted request, and its message, which may be a warning. Names and numbers are those of protobuf's
/// JSON: 64-bit numbers are strings, or numbers in the answers of some receivers.
fn partial_success(answer: &str) -> (u64, Option<String>) {
    let json: Value = serde_json::from_str(answer).unwrap_or_default();
    let partial = ["partialSuccess", "partial_success"].into_iter().find_map(|name| json.get(name));
    let member = |names: [&str; 2]| names.into_iter().find_map(|name| partial?.get(name));
    let number = |value: &Value| value.as_u64().or_else(|| value.as_str()?.parse().ok());
    let [spans, points] = [["rejectedSpans", "rejected_spans"], ["rejectedDataPoints", "rejected_data_points"]]
        .map(|names| member(names).and_then(number).unwrap_or(0));
    let message = member(["errorMessage", "error_message"]).and_then(Value::as_str).map(shortened);
    (spans.max(points), message.filter(|message| !message.is_empty()))
}

/// The beginning of the first line of a text.
fn shortened(text: &str) -> String {
    text.trim().lines().next().unwrap_or_default().chars().take(MESSAGE).collect()
}

/// The first cause of an error. The errors around it contain the address, which is stated before.
fn first_cause(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}

/// The address without what names a signal. Errors contain no password of it.
fn parsed_address(address: &str) -> Result<Url, EndpointError> {
    let shown = if address.contains(['@', '?', '#']) { "…" } else { address };
    let wrong = |why: &str| EndpointError::Address { address: shown.to_owned(), why: why.to_owned() };
    let example = "write one such as http://localhost:4318";
    let mut url = Url::parse(address).map_err(|_| wrong(example))?;
    if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
        return Err(wrong(example));
    }
    if !url.username().is_empty() || url.password().is_some() || url.query().is_some() || url.fragment().is_some() {
        return Err(wrong(
            "it must not contain credentials, a query or a fragment; OTEL_EXPORTER_OTLP_HEADERS contains headers",
        ));
    }
    let path = url.path().trim_end_matches('/');
    let base = path.strip_suffix("/v1/traces").or_else(|| path.strip_suffix("/v1/metrics")).unwrap_or(path).to_owned();
    url.set_path(&base);
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
        assert_eq!(endpoint("http://localhost:4318/v1/metrics/"), "http://localhost:4318/v1/metrics");
        for wrong in ["localhost:4318", "ftp://localhost", "", "http://"] {
            assert!(address(wrong).contains("write one such as http://localhost:4318"), "{wrong}: {}", address(wrong));
        }
        for secret in ["http://user:hunter2@localhost", "http://localhost?key=hunter2", "http://localhost#hunter2"] {
            assert!(address(secret).contains("OTEL_EXPORTER_OTLP_HEADERS"), "{}", address(secret));
            assert!(!address(secret).contains("hunter2"), "{}", address(secret));
        }
        for secret in ["http://user:hunter2@host:99999", "user:hunter2@host:4318", "ftp://user:hunter2@host"] {
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

    #[test]
    fn what_was_rejected_is_stated_in_several_ways() {
        for (answer, expected) in [
            ("", (0, None)),
            ("<html>", (0, None)),
            ("{\"partialSuccess\":{\"rejectedSpans\":\"3\",\"errorMessage\":null}}", (3, None)),
            ("{\"partialSuccess\":{\"rejectedSpans\":\"0\",\"rejectedDataPoints\":2}}", (2, None)),
            ("{\"partial_success\":{\"rejected_spans\":1,\"error_message\":\"a\\nb\"}}", (1, Some("a"))),
            ("{\"partialSuccess\":{\"errorMessage\":\"slow down\"}}", (0, Some("slow down"))),
        ] {
            assert_eq!(partial_success(answer), (expected.0, expected.1.map(str::to_owned)), "{answer}");
        }
    }

    /// TLS is a feature of a dependency.
    #[test]
    fn https_is_supported() {
        let endpoint = Endpoint::new("https://127.0.0.1:9", None).unwrap();
        let error = endpoint.runtime.block_on(endpoint.post("{}", Signal::Traces, 1)).err().unwrap().to_string();
        assert!(error.contains("refused") && !error.contains("scheme"), "{error}");
    }
}
