//! Writes the sessions of an archive as lines of OTLP's JSON, which collectors read.

use std::io::{self, Write};

use polars::prelude::PolarsResult;
use serde::Serialize;
use serde_json::json;

use super::metrics::{Metric, metrics};
use super::span::{Attribute, Span};
use super::tables::Tables;
use super::traces::Trace;
use crate::analysis::rows::Frames;
use crate::store::frames::TypedRows as _;

/// The spans of a line: collectors limit its length.
const SPANS_OF_A_LINE: usize = 500;

/// The version of the mapping from sessions to spans: see docs/otlp.md.
const MAPPING: &str = "1";

/// All sessions of an archive, to be written as traces.
pub struct Traces {
    tables: Tables,
}

/// The request of an exporter.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Request<'a> {
    resource_spans: [ResourceSpans<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResourceSpans<'a> {
    resource: Resource<'a>,
    scope_spans: [ScopeSpans<'a>; 1],
}

/// The request of an exporter of metrics.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct MetricsRequest<'a> {
    resource_metrics: [ResourceMetrics<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResourceMetrics<'a> {
    resource: Resource<'a>,
    scope_metrics: [ScopeMetrics; 1],
}

#[derive(Serialize)]
struct ScopeMetrics {
    scope: serde_json::Value,
    metrics: Vec<Metric>,
}

#[derive(Serialize)]
struct Resource<'a> {
    attributes: &'a [Attribute],
}

#[derive(Serialize)]
struct ScopeSpans<'a> {
    scope: serde_json::Value,
    spans: &'a [Span],
}

impl Traces {
    /// Reads the tables.
    ///
    /// # Errors
    /// When a table cannot be read.
    pub fn new(tables: &Frames) -> PolarsResult<Self> {
        Ok(Self { tables: Tables::read(tables)? })
    }

    /// The number of sessions.
    pub fn sessions(&self) -> usize {
        self.tables.sessions.height()
    }

    /// Writes all sessions. A session with many spans has several lines.
    ///
    /// # Errors
    /// When `out` cannot be written.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        for row in 0..self.sessions() {
            let trace = Trace::new(&self.tables, row);
            let attributes = trace.resource();
            for spans in trace.spans().chunks(SPANS_OF_A_LINE) {
                let scope = scope();
                let resource = Resource { attributes: &attributes };
                let request = Request {
                    resource_spans: [ResourceSpans { resource, scope_spans: [ScopeSpans { scope, spans }] }],
                };
                write_line(out, &request)?;
            }
        }
        Ok(())
    }

    /// Writes the metrics of all sessions, a line for each. Returns the number of sessions without a known time, which have none.
    ///
    /// # Errors
    /// When `out` cannot be written.
    pub fn write_metrics(&self, out: &mut dyn Write) -> io::Result<usize> {
        let mut untimed = 0;
        for row in 0..self.sessions() {
            let Some(metrics) = metrics(&self.tables, row) else {
                untimed += 1;
                continue;
            };
            if metrics.is_empty() {
                continue;
            }
            let attributes = Trace::new(&self.tables, row).resource();
            let resource = Resource { attributes: &attributes };
            let request = MetricsRequest {
                resource_metrics: [ResourceMetrics {
                    resource,
                    scope_metrics: [ScopeMetrics { scope: scope(), metrics }],
                }],
            };
            write_line(out, &request)?;
        }
        Ok(untimed)
    }
}

fn scope() -> serde_json::Value {
    json!({"name": "agentlogs", "version": MAPPING})
}

fn write_line(out: &mut dyn Write, request: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, request)?;
    out.write_all(b"\n")
}
