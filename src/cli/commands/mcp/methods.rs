//! The methods of the protocol.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::call;
use super::data::Data;
use super::resources;
use super::tools::{INSTRUCTIONS, TOOLS, Tool};

pub(super) const PARSE_ERROR: i32 = -32700;
pub(super) const INVALID_REQUEST: i32 = -32600;
const METHOD_NOT_FOUND: i32 = -32601;
const INVALID_PARAMS: i32 = -32602;
const RESOURCE_NOT_FOUND: i32 = -32002;

/// The versions of the protocol, the newest first.
const VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// Why a request has no result.
#[derive(Debug)]
pub(super) struct Failure {
    pub code: i32,
    pub message: String,
    pub data: Option<Value>,
}

impl Failure {
    pub(super) const fn new(code: i32, message: String) -> Self {
        Self { code, message, data: None }
    }
}

/// The result of a request.
pub(super) fn answer(method: &str, params: Option<Value>, data: &Arc<Data>) -> Result<Value, Failure> {
    let params = match params {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(params)) => params,
        Some(_) => return Err(Failure::new(INVALID_PARAMS, "params is an object".to_owned())),
    };
    match method {
        "initialize" => Ok(initialized(&params)),
        "ping" => Ok(json!({})),
        "tools/list" => Ok(json!({"tools": TOOLS.iter().map(Tool::described).collect::<Vec<_>>()})),
        "tools/call" => called(params, data),
        "resources/list" => Ok(json!({"resources": resources::listed()})),
        "resources/templates/list" => Ok(json!({"resourceTemplates": []})),
        "resources/read" => read(&params),
        _ => Err(Failure::new(METHOD_NOT_FOUND, format!("no method {method:?}"))),
    }
}

/// The version of the client if the server has it, else the newest.
fn initialized(params: &Map<String, Value>) -> Value {
    let asked = params.get("protocolVersion").and_then(Value::as_str);
    let version = VERSIONS.into_iter().find(|version| Some(*version) == asked).unwrap_or(VERSIONS[0]);
    json!({
        "protocolVersion": version,
        "capabilities": {"tools": {}, "resources": {}},
        "serverInfo": {"name": "agentlogs", "title": "agentlogs", "version": env!("CARGO_PKG_VERSION")},
        "instructions": INSTRUCTIONS,
    })
}

fn called(mut params: Map<String, Value>, data: &Arc<Data>) -> Result<Value, Failure> {
    let wrong = |message: String| Err(Failure::new(INVALID_PARAMS, message));
    let Some(Value::String(name)) = params.remove("name") else { return wrong("name is a text".to_owned()) };
    let Some(tool) = Tool::find(&name) else { return wrong(format!("no tool {name:?}")) };
    let arguments = match params.remove("arguments") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(arguments)) => arguments,
        Some(_) => return wrong("arguments is an object".to_owned()),
    };
    Ok(call::result(tool, arguments, data))
}

fn read(params: &Map<String, Value>) -> Result<Value, Failure> {
    let Some(uri) = params.get("uri").and_then(Value::as_str) else {
        return Err(Failure::new(INVALID_PARAMS, "uri is a text".to_owned()));
    };
    resources::read(uri).ok_or_else(|| Failure {
        code: RESOURCE_NOT_FOUND,
        message: "no such resource".to_owned(),
        data: Some(json!({"uri": uri})),
    })
}
