//! The parts that both outputs of Gemini CLI have.

use serde::Deserialize;

use crate::adapters::shared::builder::Builder;
use crate::json::Raw;
use crate::json::fields::Text;
use crate::model::errors::{self, ErrorKind};
use crate::model::session::{ModelTotal, Status, Tokens};

/// The error that ends a session.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Failure<'a> {
    #[serde(rename = "type")]
    pub(super) kind: Text<'a>,
    pub(super) message: Text<'a>,
    /// A number or a string.
    pub(super) code: Raw<'a>,
}

/// Makes counts unknown that are all 0 although there is an answer: an answer takes tokens.
pub(super) fn doubt_zeros(models: &mut [ModelTotal], has_answer: bool) {
    if has_answer && models.iter().all(|it| it.tokens.total().unwrap_or(0) == 0) {
        for model in models {
            model.tokens = Tokens::UNKNOWN;
        }
    }
}

impl Failure<'_> {
    /// Ends the session with this failure. `last_error` is the message of a failure without one.
    pub(super) fn end(&self, builder: &mut Builder, last_error: Option<&str>) {
        let message = self.message.some().or(last_error).unwrap_or_default();
        let code = self.code.text();
        let text = format!("{message} {} {code}", self.kind.as_str());
        let kind = if self.kind.as_str().contains("TurnLimited") || message.contains("max session turns") {
            ErrorKind::MaxTurns
        } else {
            errors::classify(code.parse().ok(), &text)
        };
        builder.fail_as(kind, message);
        if self.kind.as_str().contains("Cancellation") {
            builder.session.status = Status::Aborted;
        }
    }
}
