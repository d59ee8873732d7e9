//! Everything that is known about one entry of a timeline, as names and values.

use super::entry::{Entry, Kind, Phase};
use super::fact_lines::value_as_text;
use super::facts::Value;
use super::find::SessionKey;
use super::style::TextStyle;
use super::timeline::Timeline;
use crate::analysis::present::{counted, grouped, short_time};
use crate::store::frames::turns;

impl Timeline {
    /// The session.
    pub fn key(&self) -> &SessionKey {
        &self.key
    }

    /// The session that led to all sessions of its tree: itself, or another one.
    pub fn root(&self) -> SessionKey {
        SessionKey { id: self.root.clone().unwrap_or_else(|| self.key.id.clone()), ..self.key.clone() }
    }

    /// Whether there is a tree: subagents, sessions that this one started, or one that started it.
    pub fn has_tree(&self, style: &TextStyle) -> bool {
        self.root.is_some() || !self.tree_lines(style).is_empty()
    }

    /// The log of an entry and the line in it, or the log of the session.
    pub fn place(&self, entry: Option<usize>) -> Option<(&str, Option<i64>)> {
        let entry = entry.and_then(|entry| self.entries.get(entry));
        let own = entry.and_then(|entry| Some((entry.source_path.as_deref()?, entry.line)));
        own.or_else(|| Some((self.session.source_path.as_deref()?, None)))
    }

    /// What is known about an entry: names with values, in the style's currency and time zone.
    pub fn details(&self, entry: usize, style: &TextStyle) -> Vec<(&'static str, String)> {
        self.entries.get(entry).map(|entry| self.known(entry, style)).unwrap_or_default()
    }

    fn known(&self, entry: &Entry, style: &TextStyle) -> Vec<(&'static str, String)> {
        let [name, detail] = names(entry.kind);
        let count = |value: Option<i64>| value.map(grouped);
        let time = entry.time.map(|start| {
            let period = value_as_text(&Value::Period { start, end: None, duration_ms: None }, style);
            format!("{period}, {} after the start", self.offset(entry))
        });
        let cost = |dollars: Option<f64>| {
            dollars.map(|dollars| {
                format!("{:.4} {}", style.currency.value_of(turns::COST_USD, dollars), style.currency.code())
            })
        };
        let line = entry.line.map(|line| format!(":{line}")).unwrap_or_default();
        [
            ("entry", Some(entry.kind.as_str().replace('_', " "))),
            (name, entry.name.clone()),
            (detail, entry.detail.clone()),
            ("purpose", entry.command_kind.clone()),
            ("status", entry.status.clone()),
            ("exit code", entry.exit_code.map(|code| code.to_string())),
            ("time", time),
            ("turn", count(entry.turn)),
            ("phase", entry.phase.map(Phase::as_str).map(str::to_owned)),
            ("agent", entry.agent.clone().or_else(|| entry.is_subagent.then(|| "subagent".to_owned()))),
            ("duration", entry.duration_ms.map(|duration| short_time(duration.into()))),
            ("context", count(entry.context_tokens)),
            ("output", count(entry.output_tokens)),
            ("tokens", count(entry.total_tokens)),
            ("before", count(entry.tokens_before)),
            ("after", count(entry.tokens_after)),
            ("cost", cost(entry.cost_usd)),
            ("with its tree", cost(entry.inclusive_cost_usd)),
            ("result", entry.result_bytes.map(|bytes| counted(bytes, "byte"))),
            ("added", entry.lines_added.map(|lines| counted(lines, "line"))),
            ("removed", entry.lines_removed.map(|lines| counted(lines, "line"))),
            ("call id", entry.call_id.clone()),
            ("log", entry.source_path.as_ref().map(|path| format!("{path}{line}"))),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .collect()
    }
}

/// What the name and the detail of an entry are.
const fn names(kind: Kind) -> [&'static str; 2] {
    match kind {
        Kind::Turn | Kind::Total => ["model", "effort"],
        Kind::Call => ["tool", "target"],
        Kind::Edit => ["path", "detail"],
        Kind::Session | Kind::Child => ["session", "model"],
        _ => ["code", "message"],
    }
}
