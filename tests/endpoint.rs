//! `export --as otlp --endpoint`: the requests that a receiver gets, and what the program prints about its answers.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Output};
use std::thread::{self, JoinHandle};

use serde_json::Value;

use crate::root;

/// A request as a receiver reads it.
struct Request {
    path: String,
    headers: String,
    body: Value,
}

/// Answers requests with these texts, one connection each, and returns the requests.
fn receiver(answers: Vec<String>) -> (String, JoinHandle<Vec<Request>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let requests = thread::spawn(move || {
        answers
            .into_iter()
            .map(|answer| {
                let (mut stream, _) = listener.accept().unwrap();
                let request = read(&stream);
                stream.write_all(answer.as_bytes()).unwrap();
                request
            })
            .collect()
    });
    (address, requests)
}

fn read(stream: &TcpStream) -> Request {
    let mut reader = BufReader::new(stream);
    let mut headers = String::new();
    while !headers.ends_with("\r\n\r\n") {
        assert!(reader.read_line(&mut headers).unwrap() > 0);
    }
    let length = headers.to_lowercase().lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap()];
    reader.read_exact(&mut body).unwrap();
    let path = headers.split(' ').nth(1).unwrap().to_owned();
    Request { path, headers: headers.to_lowercase(), body: serde_json::from_slice(&body).unwrap() }
}

fn answer(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
}

/// Exports one session of the samples, which has one line of traces and one of metrics.
fn export(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_agentlogs"));
    command.arg("export").arg(directory).args(arguments);
    command.arg("--logs").arg(root().join("sample-logs/pi-json/edit-with-diff.jsonl"));
    // There is no such proxy: proxies are not used.
    command.env("HTTP_PROXY", "http://127.0.0.1:9").env("ALL_PROXY", "http://127.0.0.1:9");
    command.env("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20hunter2").output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn each_line_is_a_request_with_the_headers_of_the_environment() {
    let directory = tempfile::tempdir().unwrap();
    let (address, requests) = receiver(vec![answer("200 OK", "", "{}"), answer("200 OK", "", "")]);
    let output = export(directory.path(), &["--as", "otlp", "--endpoint", &address]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(said(&output).ends_with(&format!("2 requests sent to {address}\n")), "{}", said(&output));
    let requests = requests.join().unwrap();
    assert_eq!(requests.iter().map(|it| it.path.as_str()).collect::<Vec<_>>(), ["/v1/traces", "/v1/metrics"]);
    for (request, file) in requests.iter().zip(["otlp.jsonl", "otlp-metrics.jsonl"]) {
        let written = std::fs::read_to_string(directory.path().join(file)).unwrap();
        assert_eq!(request.body, serde_json::from_str::<Value>(&written).unwrap());
        assert!(request.headers.contains("content-type: application/json"), "{}", request.headers);
        assert!(request.headers.contains("authorization: bearer hunter2"), "{}", request.headers);
    }
}

#[test]
fn a_busy_receiver_gets_the_request_again() {
    let directory = tempfile::tempdir().unwrap();
    let (address, requests) = receiver(vec![
        answer("503 Service Unavailable", "Retry-After: 0\r\n", ""),
        answer("429 Too Many Requests", "Retry-After: 0\r\n", ""),
        answer("200 OK", "", ""),
        answer("200 OK", "", ""),
    ]);
    let output = export(directory.path(), &["--as", "otlp", "--endpoint", &address]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let requests = requests.join().unwrap();
    assert_eq!(requests[0].body, requests[1].body);
    assert_eq!(requests[0].body, requests[2].body);
}

#[test]
fn what_a_receiver_rejects_is_counted() {
    let directory = tempfile::tempdir().unwrap();
    let partial = "{\"partialSuccess\":{\"rejectedSpans\":\"3\",\"errorMessage\":\"too old\"}}";
    let points = "{\"partialSuccess\":{\"rejectedDataPoints\":1}}";
    let (address, requests) = receiver(vec![answer("200 OK", "", partial), answer("200 OK", "", points)]);
    let output = export(directory.path(), &["--as", "otlp", "--endpoint", &address]);
    assert_eq!(output.status.code(), Some(1));
    requests.join().unwrap();
    let said = said(&output);
    assert!(said.contains(&format!("agentlogs: 3 spans rejected by {address}: too old\n")), "{said}");
    assert!(said.contains(&format!("agentlogs: 1 point rejected by {address}\n")), "{said}");
}

#[test]
fn a_refusal_is_an_error_that_names_the_answer() {
    let directory = tempfile::tempdir().unwrap();
    let refused = [
        (
            answer("401 Unauthorized", "", "{\"code\":16,\"message\":\"no token\"}"),
            "401 Unauthorized to request 1: no token",
        ),
        (answer("404 Not Found", "", "<html>no</html>"), "404 Not Found to request 1"),
        // A redirect is not followed: it would send the logs to another address.
        (
            answer("307 Temporary Redirect", "Location: http://127.0.0.1:9/\r\n", ""),
            "307 Temporary Redirect to request 1",
        ),
    ];
    for (answer, named) in refused {
        let (address, requests) = receiver(vec![answer]);
        let output = export(directory.path(), &["--as", "otlp", "--endpoint", &address]);
        assert_eq!(output.status.code(), Some(1));
        requests.join().unwrap();
        let expected = format!("0 requests sent to {address}\nagentlogs: {address}/v1/traces answered {named}\n");
        assert!(said(&output).ends_with(&expected), "{}", said(&output));
        assert!(!said(&output).contains("hunter2"));
    }
}

#[test]
fn a_receiver_that_stays_busy_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let busy = answer("503 Service Unavailable", "Retry-After: 0\r\n", "later");
    let (address, requests) = receiver(vec![busy; 5]);
    let output = export(directory.path(), &["--as", "otlp", "--endpoint", &address]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(requests.join().unwrap().len(), 5);
    assert!(said(&output).ends_with("503 Service Unavailable to request 1: later\n"), "{}", said(&output));
}

/// The other requests are sent, and what was accepted is stated.
#[test]
fn content_that_is_refused_is_counted() {
    let directory = tempfile::tempdir().unwrap();
    let (address, requests) = receiver(vec![answer("413 Payload Too Large", "", ""), answer("200 OK", "", "")]);
    let output = export(directory.path(), &["--as", "otlp", "--endpoint", &address]);
    assert_eq!(output.status.code(), Some(1));
    requests.join().unwrap();
    let said = said(&output);
    assert!(said.contains(&format!("1 request rejected by {address}: 413 Payload Too Large\n")), "{said}");
    assert!(said.ends_with(&format!("1 request sent to {address}\n")), "{said}");
}

/// An error of the metrics does not hide that the traces were accepted.
#[test]
fn what_was_sent_before_an_error_is_stated() {
    let directory = tempfile::tempdir().unwrap();
    let (address, requests) = receiver(vec![answer("200 OK", "", ""), answer("401 Unauthorized", "", "")]);
    let output = export(directory.path(), &["--as", "otlp", "--endpoint", &address]);
    assert_eq!(output.status.code(), Some(1));
    requests.join().unwrap();
    let said = said(&output);
    assert!(said.contains(&format!("1 request sent to {address}\n")), "{said}");
    assert!(said.ends_with(&format!("{address}/v1/metrics answered 401 Unauthorized to request 1\n")), "{said}");
}

/// Many receivers read traces only.
#[test]
fn a_receiver_without_metrics_has_the_traces() {
    let directory = tempfile::tempdir().unwrap();
    let (address, requests) =
        receiver(vec![answer("200 OK", "", ""), answer("404 Not Found", "", "{\"detail\":\"Not Found\"}")]);
    let output = export(directory.path(), &["--as", "otlp", "--endpoint", &address]);
    assert_eq!(output.status.code(), Some(0));
    requests.join().unwrap();
    let said = said(&output);
    assert!(said.contains("it has the traces, and no metrics\n"), "{said}");
    assert!(said.ends_with(&format!("1 request sent to {address}\n")), "{said}");
}

#[test]
fn without_a_receiver_the_error_names_the_address() {
    let directory = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let output = export(directory.path(), &["--as", "otlp", "--endpoint", &address]);
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains(&format!("agentlogs: {address}/v1/traces: ")), "{}", said(&output));
    assert!(directory.path().join("otlp.jsonl").exists());
}

#[test]
fn an_endpoint_is_for_otlp() {
    let directory = tempfile::tempdir().unwrap();
    let output = export(directory.path(), &["--as", "csv", "--endpoint", "http://127.0.0.1:9"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("--endpoint is for --as otlp"), "{}", said(&output));
    let output = export(directory.path(), &["--as", "otlp", "--endpoint", "http://user:hunter2@127.0.0.1:9"]);
    assert!(output.status.code() == Some(2) && !said(&output).contains("hunter2"), "{}", said(&output));
    let output = export(directory.path(), &["--as", "otlp", "--endpoint", "localhost:4318"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("is not the address of a receiver"), "{}", said(&output));
}
