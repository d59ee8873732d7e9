//! The requests of OTLP as JSON: one of logs, one of spans, one of metrics.

use serde::Deserialize;

use super::attributes::{Attribute, Value};
use crate::json::fields::{Text, TextOrBlocks};
use crate::json::{Raw, WithRaw};

/// One export, of any of the three kinds.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct Export<'a> {
    pub(super) resource_logs: TextOrBlocks<'a, ResourceLogs<'a>>,
    pub(super) resource_spans: TextOrBlocks<'a, ResourceSpans<'a>>,
    pub(super) resource_metrics: TextOrBlocks<'a, ResourceMetrics<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Resource<'a> {
    pub(super) attributes: TextOrBlocks<'a, Attribute<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct ResourceLogs<'a> {
    pub(super) resource: Resource<'a>,
    pub(super) scope_logs: TextOrBlocks<'a, ScopeLogs<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct ScopeLogs<'a> {
    pub(super) log_records: TextOrBlocks<'a, LogRecord<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct LogRecord<'a> {
    pub(super) time_unix_nano: Raw<'a>,
    pub(super) observed_time_unix_nano: Raw<'a>,
    pub(super) event_name: Text<'a>,
    pub(super) body: Value<'a>,
    pub(super) attributes: TextOrBlocks<'a, Attribute<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct ResourceSpans<'a> {
    pub(super) resource: Resource<'a>,
    pub(super) scope_spans: TextOrBlocks<'a, ScopeSpans<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct ScopeSpans<'a> {
    pub(super) spans: TextOrBlocks<'a, Span<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct Span<'a> {
    pub(super) trace_id: Text<'a>,
    pub(super) span_id: Text<'a>,
    pub(super) parent_span_id: Text<'a>,
    pub(super) name: Text<'a>,
    pub(super) start_time_unix_nano: Raw<'a>,
    pub(super) end_time_unix_nano: Raw<'a>,
    pub(super) attributes: WithRaw<'a, TextOrBlocks<'a, Attribute<'a>>>,
    pub(super) status: SpanStatus<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct SpanStatus<'a> {
    /// A number, or its name.
    code: Raw<'a>,
    pub(super) message: Text<'a>,
}

impl SpanStatus<'_> {
    /// Whether the span ended with an error.
    pub(super) fn is_error(&self) -> bool {
        matches!(self.code.text().as_ref(), "2" | "STATUS_CODE_ERROR")
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct ResourceMetrics<'a> {
    pub(super) resource: Resource<'a>,
    pub(super) scope_metrics: TextOrBlocks<'a, ScopeMetrics<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct ScopeMetrics<'a> {
    pub(super) metrics: TextOrBlocks<'a, Metric<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Metric<'a> {
    pub(super) name: Text<'a>,
    pub(super) sum: Sum<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct Sum<'a> {
    pub(super) data_points: TextOrBlocks<'a, Point<'a>>,
    aggregation_temporality: Raw<'a>,
}

impl Sum<'_> {
    /// Whether each point is the sum since the process began, and not since the point before.
    pub(super) fn is_cumulative(&self) -> bool {
        matches!(self.aggregation_temporality.text().as_ref(), "2" | "AGGREGATION_TEMPORALITY_CUMULATIVE")
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct Point<'a> {
    pub(super) attributes: TextOrBlocks<'a, Attribute<'a>>,
    pub(super) start_time_unix_nano: Raw<'a>,
    pub(super) time_unix_nano: Raw<'a>,
    as_int: Raw<'a>,
    as_double: Raw<'a>,
}

impl Point<'_> {
    /// The value.
    pub(super) fn value(&self) -> Option<f64> {
        let raw = [self.as_int, self.as_double].into_iter().find(|raw| !raw.is_empty())?;
        raw.text().parse().ok()
    }
}
