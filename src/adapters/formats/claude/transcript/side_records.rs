//! Records besides the messages, and files besides the transcripts.

use serde::Deserialize;

use crate::adapters::engine::{Probe, RecordErrors};
use crate::adapters::formats::claude::common::model_usage::{ModelUsage, without_guesses};
use crate::adapters::shared::builder::{Builder, money};
use crate::adapters::shared::history;
use crate::base::text::SharedStr;
use crate::json::fields::{Maybe, Number, Pairs, Text, When};
use crate::json::lines::Line;
use crate::model::health::Reason;
use crate::model::session::{Total, TotalKind};

/// The types of records that contain nothing to count: titles, modes, states of the program.
const KNOWN: &[&str] = &[
    "agent-color",
    "agent-name",
    "agent-setting",
    "ai-title",
    "artifact-autoreact-ledger",
    "artifact-comment-monitor",
    "atis-latch",
    "attribution-snapshot",
    "bridge-session",
    "content-replacement",
    "continued-in",
    "custom-title",
    "file-history-delta",
    "file-history-snapshot",
    "frame-link",
    "isolation-latch",
    "last-prompt",
    "mode",
    "permission-mode",
    "pr-link",
    "queue-operation",
    "relocated",
    "result",
    "started",
    "summary",
    "tag",
    "worktree-state",
];

/// Whether records of a type are known to contain nothing to count.
pub(super) fn is_known(kind: &str) -> bool {
    KNOWN.binary_search(&kind).is_ok()
}

/// Whether a file belongs to transcripts without being one: the journal and the state of a workflow, the title of a session, the
/// timeline of a job.
pub(crate) fn is_auxiliary(probe: &Probe<'_>) -> bool {
    let mut parts = probe.path().rsplit(['/', '\\']);
    let name = parts.next().unwrap_or_default();
    let directories: Vec<&str> = parts.collect();
    let is_json = name.rsplit_once('.').is_some_and(|(_, ending)| ending == "json");
    match name {
        "journal.jsonl" => matches!(probe.kind(), "started" | "launched" | "result" | "failed"),
        "custom-title.json" => true,
        "timeline.jsonl" => directories.get(1) == Some(&"jobs"),
        _ => name.starts_with("wf_") && is_json && directories.first() == Some(&"workflows"),
    }
}

/// A record that names the session whose messages are the context of this one.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct ForkContext<'a> {
    parent_session_id: Text<'a>,
}

impl ForkContext<'_> {
    /// The id of that session.
    pub(super) fn parent(&self) -> Option<&str> {
        self.parent_session_id.some()
    }
}

/// A pull request that the program found to be that of the session's branch.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct PullRequestLink<'a> {
    pr_url: Text<'a>,
}

impl PullRequestLink<'_> {
    /// Its address.
    pub(super) fn address(&self) -> Option<SharedStr> {
        history::pull_request(self.pr_url.as_str())
    }
}

/// What a process has cost so far, with the requests that no line contains.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct CostState<'a> {
    #[serde(rename = "totalCostUSD")]
    total_cost_usd: Number,
    #[serde(rename = "totalAPIDuration")]
    total_api_duration: Number,
    start_time: When,
    model_usage: Maybe<Pairs<'a, ModelUsage<'a>>>,
}

impl CostState<'_> {
    /// The total of the record, which has the time of the record before it. `None` if it states nothing.
    pub(super) fn total(&self, builder: &Builder, line: Line<'_>, damage: &mut RecordErrors) -> Option<Total> {
        if matches!(self.model_usage, Maybe::Wrong) {
            damage.note(Reason::NoUsage);
        }
        let models = self.model_usage.get().into_iter().flat_map(|it| &it.0);
        let mut total = Total {
            line: line.number,
            kind: TotalKind::Saved,
            occurred_at: builder.session.ended_at,
            api_duration_ms: self.total_api_duration.rounded(),
            cost: without_guesses(money(self.total_cost_usd, damage), models.clone().map(|(_, usage)| usage)),
            models: models.map(|(model, usage)| usage.total(model, damage)).collect(),
            covers_subagents: true,
            started_at: self.start_time.0,
            ..Total::default()
        };
        total.key = format!("cost-state {:?} {:?} {:?}", total.started_at, total.cost, total.tokens().kinds());
        (!total.models.is_empty() || total.cost.is_some_and(|cost| cost > 0.0)).then_some(total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_types_are_in_order() {
        assert!(KNOWN.is_sorted());
    }

    #[test]
    fn files_beside_transcripts_are_recognised() {
        let is = |path: &str, record: &str| is_auxiliary(&Probe::new(record.as_bytes(), path).unwrap());
        let started = r#"{"type":"started","key":"a","agentId":"b"}"#;
        for (path, record, expected) in [
            ("/h/.claude/projects/p/s/subagents/workflows/wf_1/journal.jsonl", started, true),
            ("/h/journal.jsonl", r#"{"type":"note"}"#, false),
            ("/h/.claude/projects/p/s/workflows/wf_1f2e.json", r#"{"runId":"wf_1f2e"}"#, true),
            ("/h/wf_1f2e.json", "{}", false),
            ("/h/.claude/projects/p/s/custom-title.json", r#"{"customTitle":"x"}"#, true),
            ("/h/.claude/jobs/1f2e/timeline.jsonl", r#"{"at":"x","state":"done"}"#, true),
            ("/h/timeline.jsonl", "{}", false),
            ("C:\\h\\.claude\\jobs\\1f2e\\timeline.jsonl", "{}", true),
        ] {
            assert_eq!(is(path, record), expected, "{path}");
        }
    }
}
