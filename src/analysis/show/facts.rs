//! What is known about a session as a whole: names with values, as text.

use super::entry::{Entry, Kind};
use super::read::{SessionColumns, VerdictColumns};
use crate::analysis::present::{counted, grouped};
use crate::analysis::rows::CostBasis;
use crate::base::time::Time;
use crate::store::frames::TypedRows as _;

/// A value, which the printed currency or time zone may change.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Text(String),
    /// A path, and what follows it.
    Path(String, String),
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

/// The facts that are known. `basis` is the choice of `--cost`, `failure` states why it failed, `shipped` where its work is, and `turns` are its responses.
pub(super) fn facts(
    session: &SessionColumns,
    basis: CostBasis,
    verdicts: &VerdictColumns,
    failure: Option<String>,
    shipped: Option<String>,
    turns: &[Entry],
) -> Vec<Fact> {
    let cost = session.cost_usd(0).map(|cost| {
        let unpriced = session.unpriced_tokens(0).filter(|tokens| *tokens > 0);
        let unpriced = unpriced.map(|tokens| format!("{} without a cost", counted(tokens, "token")));
        let least = session.usage(0).filter(|usage| *usage == "lower_bound").map(|_| "a lower bound".to_owned());
        Value::Cost(
            cost,
            joined([owned(basis.source(session.cost_source(0))), least, unpriced], ", ").unwrap_or_default(),
        )
    });
    let period = session.started_at(0).map(|start| Value::Period {
        start: start.micros(),
        end: session.ended_at(0).map(Time::micros),
        duration_ms: session.duration_ms(0),
    });
    let mut facts: Vec<Fact> = Vec::new();
    for (name, value) in texts(session, verdicts, failure, shipped, turns) {
        facts.extend(value.filter(|value| *value != Value::Text(String::new())).map(|value| (name, value)));
        match name {
            "models" => facts.extend(period.clone().map(|period| ("time", period))),
            "tokens" => facts.extend(cost.clone().map(|cost| ("cost", cost))),
            _ => {}
        }
    }
    facts
}

/// The facts that are texts or paths, in their order.
fn texts(
    session: &SessionColumns,
    verdicts: &VerdictColumns,
    failure: Option<String>,
    shipped: Option<String>,
    turns: &[Entry],
) -> [(&'static str, Option<Value>); 18] {
    let in_brackets = |text: Option<&str>| text.map(|text| format!("({text})"));
    let on_branch = session.git_branch(0).map(|branch| format!("on {branch}"));
    let project = match (owned(session.project(0)), on_branch) {
        (Some(project), branch) => Some(Value::Path(project, branch.map(|it| format!(" {it}")).unwrap_or_default())),
        (None, branch) => branch.map(Value::Text),
    };
    let runtime = [owned(session.runtime(0)), owned(session.runtime_version(0)), in_brackets(session.format(0))];
    let error = [owned(session.error_kind(0)), owned(session.error_message(0))];
    let text = |text: Option<String>| text.map(Value::Text);
    [
        ("session", text(owned(session.id(0)))),
        ("runtime", text(joined(runtime, " "))),
        ("status", text(joined([owned(session.status(0)), in_brackets(session.stop_reason(0))], " "))),
        ("error", text(joined(error, ": "))),
        ("failure", text(failure)),
        ("started by", text(owned(session.parent(0)))),
        ("root", text(owned(session.root(0)).filter(|root| ![session.id(0), session.parent(0)].contains(&Some(root))))),
        ("agent", text(owned(session.agent(0)))),
        ("project", project),
        ("models", text(Some(session.models(0).join(", ")))),
        ("labels", text(Some(session.labels(0).join(", ")))),
        ("work", text(Some(work(session)))),
        ("shipped", text(shipped)),
        ("tokens", text(tokens(session, turns))),
        ("verdicts", text(Some(verdicts_as_text(verdicts)))),
        ("log", session.source_path(0).map(|path| Value::Path(path.to_owned(), String::new()))),
        ("prompt", text(owned(session.prompt(0)))),
        ("answer", text(owned(session.text(0)))),
    ]
}

fn owned(text: Option<&str>) -> Option<String> {
    text.map(str::to_owned)
}

/// The known texts; `None` if there are none.
fn joined<const N: usize>(texts: [Option<String>; N], by: &str) -> Option<String> {
    let known: Vec<String> = texts.into_iter().flatten().collect();
    (!known.is_empty()).then(|| known.join(by))
}

/// The counters that are known, without most of those that are 0.
fn work(session: &SessionColumns) -> String {
    let if_any = |count: Option<i64>| count.filter(|count| *count > 0);
    let things = |count: Option<i64>, thing: &str| count.map(|count| counted(count, thing));
    let failed = if_any(session.tool_errors(0)).map(|count| format!("{} failed", grouped(count)));
    let denied = if_any(session.permission_denials(0)).map(|count| format!("{} denied", grouped(count)));
    let of_calls: Vec<String> = failed.into_iter().chain(denied).collect();
    let calls = things(session.tool_calls(0), "tool call")
        .map(|calls| if of_calls.is_empty() { calls } else { format!("{calls} ({})", of_calls.join(", ")) });
    let lines = [(session.lines_added(0), '+'), (session.lines_removed(0), '-')];
    let lines = lines.iter().filter_map(|(count, sign)| Some(format!(" {sign}{}", grouped((*count)?))));
    let changes = things(session.file_changes(0), "file change").map(|changes| changes + &lines.collect::<String>());
    let retries = if_any(session.retries(0))
        .map(|count| format!("{} {}", grouped(count), if count == 1 { "retry" } else { "retries" }));
    let parts = [
        things(if_any(session.user_turns(0)), "prompt"),
        things(session.turns(0), "turn"),
        calls,
        changes,
        things(if_any(session.subagents(0)), "subagent"),
        things(if_any(session.compactions(0)), "compaction"),
        retries,
    ];
    joined(parts, ", ").unwrap_or_default()
}

/// The tokens with their certainty, and the size of the last prompt of the main agent.
fn tokens(session: &SessionColumns, turns: &[Entry]) -> Option<String> {
    let mut text = format!("{} ({})", grouped(session.total_tokens(0)?), session.usage(0).unwrap_or_default());
    let main = turns.iter().filter(|turn| turn.kind == Kind::Turn && !turn.is_subagent);
    let last = main.filter(|turn| turn.context_tokens.is_some()).max_by_key(|turn| turn.turn);
    if let Some(context) = last.and_then(|turn| turn.context_tokens) {
        text = format!("{text}, context {} at the end", grouped(context));
    }
    Some(text)
}

fn verdicts_as_text(verdicts: &VerdictColumns) -> String {
    let one = |row: usize| {
        let result = verdicts.passed(row).map(|passed| if passed { "passed" } else { "failed" }.to_owned());
        let score = verdicts.score(row).map(|score| format!("score {score}"));
        let result = joined([result, score], ", ").unwrap_or_else(|| "unjudged".to_owned());
        let judge = verdicts.judge(row).map(|judge| format!(" ({judge})")).unwrap_or_default();
        let message = verdicts.message(row).map(|message| format!(": {message}")).unwrap_or_default();
        format!("{} {result}{judge}{message}", verdicts.name(row).unwrap_or_default())
    };
    let mut all: Vec<String> = (0..verdicts.height()).map(one).collect();
    all.sort();
    all.join("; ")
}
