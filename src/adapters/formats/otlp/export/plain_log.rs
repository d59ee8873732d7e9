//! Events as Gemini CLI and Qwen Code write them to a file (`--telemetry-outfile`): the log records of the SDK as JSON over several
//! lines, one after the other, with plain attributes. Spans and metrics in the same file repeat what the events contain.

use std::borrow::Cow;

use serde::Deserialize;

use super::attributes::Attribute;
use super::product::Product;
use crate::adapters::engine::Probe;
use crate::json::fields::Pairs;
use crate::json::{self, Raw};

/// How surely a record is one of such a file.
pub(super) fn claims(probe: &Probe<'_>) -> u32 {
    let is_event = probe.has_all(&["hrTime", "attributes"])
        && Product::of(&probe.object("attributes").text("event.name")).is_some();
    8 * u32::from(is_event)
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Record<'a> {
    #[serde(rename = "hrTime")]
    time: Raw<'a>,
    #[serde(rename = "_spanContext")]
    span: Raw<'a>,
    attributes: Pairs<'a, Raw<'a>>,
    resource: Resource<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Resource<'a> {
    #[serde(rename = "_rawAttributes")]
    pairs: Raw<'a>,
    attributes: Pairs<'a, Raw<'a>>,
}

/// An event.
pub(super) struct Event<'a> {
    pub(super) attributes: Vec<Attribute<'a>>,
    pub(super) resource: Vec<Attribute<'a>>,
}

/// What a record of such a file is.
pub(super) enum Found<'a> {
    Event(Event<'a>),
    /// A span.
    Other,
    Nothing,
}

fn attribute<'a>((key, value): (Cow<'a, str>, Raw<'a>)) -> Attribute<'a> {
    Attribute::plain(key, value)
}

pub(super) fn read(bytes: &[u8]) -> Found<'_> {
    let Ok(record) = json::from_slice::<Record<'_>>(bytes) else { return Found::Nothing };
    if !record.span.is_empty() {
        return Found::Other;
    }
    if record.time.is_empty() {
        return Found::Nothing;
    }
    let pairs: Vec<Vec<Raw<'_>>> = record.resource.pairs.read();
    let pairs = pairs.into_iter().filter_map(|pair| <[Raw<'_>; 2]>::try_from(pair).ok());
    let pairs = pairs.map(|[key, value]| (key.text(), value));
    Found::Event(Event {
        attributes: record.attributes.0.into_iter().map(attribute).collect(),
        resource: pairs.chain(record.resource.attributes.0).map(attribute).collect(),
    })
}
