//! A log that `ingest` reads as a bill: that of a gateway or a proxy, which knows requests that agents do not log, such as
//! `token-usage.jsonl` of GitHub Agentic Workflows (`docs/formats/gh_aw.md`).

use std::collections::BTreeMap;
use std::path::Path;

use super::content::{Content, Format, Found};
use super::line::BillLine;
use crate::ingest::{Options, Progress, read};
use crate::model::session::Turn;

const LOG: Format = Format { name: "a log", seller: None };

/// The requests of a log; `None` if it is not a log, or has none.
pub(super) fn parse(path: &Path) -> Option<Content> {
    let options = Options { roots: vec![path.to_owned()], ..Options::default() };
    let sources = read(&options, &BTreeMap::new(), &Progress::default()).sources;
    let mut content = Content::default();
    for session in sources.iter().flat_map(|source| &source.sessions) {
        for turn in &session.turns {
            content.add(LOG, turn.line, request(turn));
        }
    }
    for reject in sources.iter().flat_map(|source| &source.health.rejects) {
        content.problems.push((reject.first_line, reject.reason.as_str().to_owned()));
    }
    (!content.lines.is_empty()).then_some(content)
}

fn request(turn: &Turn) -> Found {
    let time = turn.occurred_at.ok_or_else(|| "the request has no time".to_owned())?;
    let model = turn.model.as_ref().map(ToString::to_string);
    let cost_usd = turn.cost.as_ref().map(|cost| cost.total);
    Ok(Some(BillLine { model, cost_usd, ..BillLine::at(time).with_tokens(turn.tokens.get()) }))
}
