//! The loop of the server: each line is a message of JSON-RPC, and each request has one line as its answer.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::sync::Arc;

use serde_json::{Value, json};

use super::data::Data;
use super::methods::{Failure, INVALID_REQUEST, PARSE_ERROR, answer};
use crate::cli::commands::Outcome;

/// The longest message in bytes.
const MAX_MESSAGE: u64 = 1 << 20;

/// Answers the messages of standard input until it ends.
pub(super) fn run(data: Data) -> anyhow::Result<Outcome> {
    let data = Arc::new(data);
    let mut input = BufReader::new(io::stdin().lock());
    let mut out = io::stdout().lock();
    while let Some(message) = next(&mut input)? {
        if let Some(answer) = answer_to(message, &data) {
            writeln!(out, "{answer}")?;
            out.flush()?;
        }
    }
    Ok(Outcome::Done)
}

/// A line of the input; an error if it is too long. `None` at the end of the input.
fn next(input: &mut impl BufRead) -> io::Result<Option<Result<Vec<u8>, Failure>>> {
    let mut line = Vec::new();
    if input.by_ref().take(MAX_MESSAGE).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    if line.last() != Some(&b'\n') && line.len() as u64 == MAX_MESSAGE {
        input.skip_until(b'\n')?;
        let message = format!("a message has at most {MAX_MESSAGE} bytes");
        return Ok(Some(Err(Failure { code: INVALID_REQUEST, message, data: None })));
    }
    Ok(Some(Ok(line)))
}

/// The answer to a message; `None` to a notification and to a blank line.
fn answer_to(message: Result<Vec<u8>, Failure>, data: &Arc<Data>) -> Option<Value> {
    let line = match message {
        Ok(line) if line.trim_ascii().is_empty() => return None,
        Ok(line) => line,
        Err(failure) => return Some(failed(&Value::Null, failure)),
    };
    let message: Value = match serde_json::from_slice(&line) {
        Ok(message) => message,
        Err(error) => {
            return Some(failed(&Value::Null, Failure::new(PARSE_ERROR, format!("not JSON: {error}"))));
        }
    };
    let Value::Object(mut message) = message else {
        let text = "a message is an object; batches are not supported".to_owned();
        return Some(failed(&Value::Null, Failure::new(INVALID_REQUEST, text)));
    };
    let id = message.remove("id");
    let method = message.remove("method");
    let Some(Value::String(method)) = method else {
        let is_answer = method.is_none() && (message.contains_key("result") || message.contains_key("error"));
        // The server asks nothing, so that an answer of the client has no use.
        let text = "a request has a method, which is a text".to_owned();
        return (!is_answer).then(|| failed(&known(id), Failure::new(INVALID_REQUEST, text)));
    };
    let id = match id {
        // A notification.
        None => return None,
        Some(id @ (Value::String(_) | Value::Number(_))) => id,
        Some(_) => {
            let text = "an id is a text or a number".to_owned();
            return Some(failed(&Value::Null, Failure::new(INVALID_REQUEST, text)));
        }
    };
    Some(match answer(&method, message.remove("params"), data) {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err(failure) => failed(&id, failure),
    })
}

/// The id of an answer to a message with this one.
fn known(id: Option<Value>) -> Value {
    id.filter(|id| id.is_string() || id.is_number()).unwrap_or(Value::Null)
}

fn failed(id: &Value, failure: Failure) -> Value {
    let Failure { code, message, data } = failure;
    let mut error = json!({"code": code, "message": message});
    if let (Some(data), Some(error)) = (data, error.as_object_mut()) {
        error.insert("data".to_owned(), data);
    }
    json!({"jsonrpc": "2.0", "id": id, "error": error})
}
