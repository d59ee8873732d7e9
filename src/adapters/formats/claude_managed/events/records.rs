//! The events and objects of Claude Managed Agents: `types/beta/sessions` of Anthropic's SDK.

use std::borrow::Cow;

use serde::Deserialize;

use super::usage::Usage;
use crate::base::text::Symbol;
use crate::json::Raw;
use crate::json::fields::{Flag, Maybe, Text, When};

/// An event, a session object, a thread object, or a container of them.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Record<'a> {
    #[serde(rename = "type")]
    pub(super) kind: Text<'a>,
    pub(super) id: Text<'a>,
    pub(super) processed_at: When,
    /// Beside an event, and of a thread object.
    pub(super) session_id: Text<'a>,
    /// Of an event of another thread, and of an event about a thread.
    pub(super) session_thread_id: Text<'a>,
    pub(super) agent_name: Text<'a>,
    /// Blocks, or a string.
    pub(super) content: Raw<'a>,
    // calls
    pub(super) name: Text<'a>,
    pub(super) input: Raw<'a>,
    pub(super) mcp_server_name: Text<'a>,
    pub(super) evaluated_permission: Text<'a>,
    pub(super) evaluation: Maybe<Evaluation<'a>>,
    pub(super) tool_use_id: Text<'a>,
    pub(super) mcp_tool_use_id: Text<'a>,
    pub(super) custom_tool_use_id: Text<'a>,
    pub(super) is_error: Flag,
    /// Of a confirmation: `allow` or `deny`.
    pub(super) result: Text<'a>,
    pub(super) deny_message: Text<'a>,
    // spans
    pub(super) model_request_start_id: Text<'a>,
    pub(super) model_usage: Maybe<Usage<'a>>,
    pub(super) usage: Maybe<Usage<'a>>,
    /// Other servers name the model of a request.
    pub(super) model: Raw<'a>,
    // status
    /// An object with a type, or a string.
    pub(super) stop_reason: Raw<'a>,
    pub(super) error: Maybe<Failure<'a>>,
    // user.define_outcome
    pub(super) description: Text<'a>,
    // agent.thread_message_*
    pub(super) from_session_thread_id: Text<'a>,
    pub(super) from_agent_name: Text<'a>,
    pub(super) to_session_thread_id: Text<'a>,
    pub(super) to_agent_name: Text<'a>,
    // objects, session.updated
    pub(super) agent: Raw<'a>,
    pub(super) parent_thread_id: Text<'a>,
    pub(super) resources: Raw<'a>,
    pub(super) environment_id: Text<'a>,
    pub(super) created_at: When,
    pub(super) updated_at: When,
    // containers
    pub(super) session: Raw<'a>,
    pub(super) threads: Raw<'a>,
    pub(super) events: Raw<'a>,
    pub(super) data: Raw<'a>,
    pub(super) raw: Raw<'a>,
    pub(super) event: Raw<'a>,
    pub(super) payload: Raw<'a>,
}

/// Why a call was allowed or refused.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Evaluation<'a> {
    pub(super) evaluated_permission: Maybe<Permission<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Permission<'a> {
    pub(super) reason_code: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Failure<'a> {
    #[serde(rename = "type")]
    pub(super) kind: Text<'a>,
    pub(super) message: Text<'a>,
    /// An object with a type, or a string.
    pub(super) retry_status: Raw<'a>,
}

/// The definition of an agent, as of the creation of its session or thread.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Agent<'a> {
    pub(super) name: Text<'a>,
    /// An object, or a string.
    pub(super) model: Raw<'a>,
    pub(super) system: Text<'a>,
    pub(super) mcp_servers: Raw<'a>,
    pub(super) multiagent: Maybe<Multiagent<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Multiagent<'a> {
    pub(super) agents: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct ModelRecord<'a> {
    id: Text<'a>,
    effort: Raw<'a>,
    speed: Text<'a>,
    inference_geo: Text<'a>,
}

/// The model of an agent, and its settings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Model {
    pub(super) id: Option<Symbol>,
    pub(super) effort: Option<Symbol>,
    pub(super) speed: Option<Symbol>,
    pub(super) inference_geo: Option<Symbol>,
}

impl Model {
    /// A model in its forms: a name, or an object.
    pub(super) fn of(raw: Raw<'_>) -> Option<Self> {
        let model = if raw.is_string() {
            Self { id: Some(raw.text().into()), ..Self::default() }
        } else {
            let record: ModelRecord<'_> = raw.read();
            Self {
                id: record.id.owned(),
                effort: word_of(record.effort).map(Symbol::from),
                speed: record.speed.owned(),
                inference_geo: record.inference_geo.owned(),
            }
        };
        model.id.is_some().then_some(model)
    }
}

/// The resource of a session.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Resource<'a> {
    #[serde(rename = "type")]
    pub(super) kind: Text<'a>,
    pub(super) url: Text<'a>,
    pub(super) checkout: Maybe<Checkout<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Checkout<'a> {
    #[serde(rename = "type")]
    pub(super) kind: Text<'a>,
    pub(super) name: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Typed<'a> {
    #[serde(rename = "type")]
    kind: Text<'a>,
}

/// A word that is a string, or the `type` of an object.
pub(super) fn word_of(raw: Raw<'_>) -> Option<Cow<'_, str>> {
    let word = if raw.is_string() { raw.text() } else { raw.read::<Typed<'_>>().kind.into_inner().unwrap_or_default() };
    (!word.is_empty()).then_some(word)
}
