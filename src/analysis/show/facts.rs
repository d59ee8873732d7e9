//! What is known about a session as a whole: names with values, as text.

use super::read::Rows;
use super::timeline::{Entry, Kind};
use crate::analysis::present::{counted, grouped};

/// A value, which the printed currency or time zone may change.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Text(String),
    /// A time in microseconds, and what follows it.
    Period {
        start: i64,
        end: Option<i64>,
        duration_ms: Option<i64>,
    },
    /// US dollars, and what follows them.
    Cost(f64, String),
}

/// A name and its value.
pub(super) type Fact = (&'static str, Value);

/// The facts that are known. `turns` are the responses of the session.
pub(super) fn facts(session: &Rows, verdicts: &Rows, turns: &[Entry]) -> Vec<Fact> {
    let text = |column: &str| session.text(column, 0);
    let joined = |texts: &[Option<String>], by: &str| -> Option<String> {
        let known: Vec<&str> = texts.iter().flatten().map(String::as_str).collect();
        (!known.is_empty()).then(|| known.join(by))
    };
    let cost = session.float("cost_usd", 0).map(|cost| {
        let unpriced = session.whole("unpriced_tokens", 0).filter(|tokens| *tokens > 0);
        let unpriced = unpriced.map(|tokens| format!("{} tokens without a price", grouped(tokens)));
        Value::Cost(cost, joined(&[text("cost_source"), unpriced], ", ").unwrap_or_default())
    });
    let period = session.time("started_at", 0).map(|start| Value::Period {
        start,
        end: session.time("ended_at", 0),
        duration_ms: session.whole("duration_ms", 0),
    });
    let texts = [
        ("session", text("session_id")),
        (
            "runtime",
            joined(&[text("runtime"), text("runtime_version"), text("format").map(|it| format!("({it})"))], " "),
        ),
        ("status", joined(&[text("status"), text("stop_reason").map(|it| format!("({it})"))], " ")),
        ("error", joined(&[text("error_kind"), text("error_message")], ": ")),
        ("started by", text("parent_session_id")),
        ("agent", text("agent")),
        ("project", joined(&[text("project"), text("git_branch").map(|it| format!("on {it}"))], " ")),
        ("models", Some(session.texts("models", 0).join(", "))),
        ("labels", Some(session.texts("labels", 0).join(", "))),
        ("work", Some(work(session))),
        ("tokens", tokens(session, turns)),
        ("verdicts", Some(verdicts_as_text(verdicts))),
        ("log", text("source_path")),
        ("prompt", text("prompt")),
        ("answer", text("text")),
    ];
    let mut facts: Vec<Fact> = Vec::new();
    for (name, value) in texts {
        facts.extend(value.filter(|value| !value.is_empty()).map(|value| (name, Value::Text(value))));
        match name {
            "models" => facts.extend(period.clone().map(|period| ("time", period))),
            "tokens" => facts.extend(cost.clone().map(|cost| ("cost", cost))),
            _ => {}
        }
    }
    facts
}

/// The counters that are known, without most of those that are 0.
fn work(session: &Rows) -> String {
    let count = |column: &str| session.whole(column, 0);
    let counted_if = |column: &str, thing: &str, even_zero: bool| {
        count(column).filter(|count| even_zero || *count > 0).map(|count| counted(count, thing))
    };
    let failed = count("tool_errors").filter(|count| *count > 0).map(|count| format!("{} failed", grouped(count)));
    let denied = count("permission_denials").filter(|count| *count > 0).map(|it| format!("{} denied", grouped(it)));
    let of_calls: Vec<String> = failed.into_iter().chain(denied).collect();
    let calls = counted_if("tool_calls", "tool call", true)
        .map(|calls| if of_calls.is_empty() { calls } else { format!("{calls} ({})", of_calls.join(", ")) });
    let lines = [("lines_added", '+'), ("lines_removed", '-')];
    let lines = lines.iter().filter_map(|(column, sign)| Some(format!(" {sign}{}", grouped(count(column)?))));
    let changes = counted_if("file_changes", "file change", true).map(|changes| changes + &lines.collect::<String>());
    let parts = [
        counted_if("user_turns", "prompt", false),
        counted_if("turns", "turn", true),
        calls,
        changes,
        counted_if("subagents", "subagent", false),
        counted_if("compactions", "compaction", false),
        count("retries")
            .filter(|count| *count > 0)
            .map(|it| format!("{} {}", grouped(it), if it == 1 { "retry" } else { "retries" })),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// The tokens with their certainty, and the size of the last prompt of the main agent.
fn tokens(session: &Rows, turns: &[Entry]) -> Option<String> {
    let total = session.whole("total_tokens", 0)?;
    let usage = session.text("usage", 0).unwrap_or_default();
    let mut text = format!("{} ({usage})", grouped(total));
    let main = turns.iter().filter(|turn| turn.kind == Kind::Turn && !turn.is_subagent);
    let last = main.filter(|turn| turn.context_tokens.is_some()).max_by_key(|turn| turn.turn);
    if let Some(context) = last.and_then(|turn| turn.context_tokens) {
        text = format!("{text}, context {} at the end", grouped(context));
    }
    Some(text)
}

fn verdicts_as_text(verdicts: &Rows) -> String {
    let one = |row: usize| {
        let result = match verdicts.flag("passed", row) {
            Some(true) => Some("passed".to_owned()),
            Some(false) => Some("failed".to_owned()),
            None => None,
        };
        let score = verdicts.float("score", row).map(|score| format!("score {score}"));
        let values: Vec<String> = result.into_iter().chain(score).collect();
        let judge = verdicts.text("judge", row).map(|judge| format!(" ({judge})")).unwrap_or_default();
        format!("{} {}{judge}", verdicts.text("name", row).unwrap_or_default(), values.join(", "))
    };
    let mut all: Vec<String> = (0..verdicts.count()).map(one).collect();
    all.sort();
    all.join("; ")
}
