//! What Droid's sessions and what it prints have in common: calls, their results, and counts.

use crate::adapters::engine::RecordErrors;
use crate::adapters::shared::at::At;
use crate::adapters::shared::builder::Builder;
use crate::adapters::shared::changes;
use crate::base::text::Symbol;
use crate::base::time::Time;
use crate::json::Raw;
use crate::json::fields::Count;
use crate::model::session::{CallStatus, ModelTotal, Operation, SessionResult, Tokens, Total};

/// The key of the total of a session in its settings and in what the program prints: of equal keys the largest total counts.
const TOTAL_KEY: &str = "settings";

/// What the result of a cancelled call contains, after "Error: " or alone.
const CANCELLATIONS: [&str; 2] = ["Tool execution cancelled by user", "Tool execution was interrupted"];

/// The tokens of a session: input and output, those read from the cache and written to it, and an estimate of the reasoning.
pub(super) fn tokens_of(counts: [Count; 2], cached: [Count; 2], thinking: Count, damage: &mut RecordErrors) -> Tokens {
    damage.note_impossible(&counts);
    damage.note_impossible(&cached);
    damage.note_impossible(&[thinking]);
    let ([input, output], [cache_read, cache_write]) = (counts.map(Count::get), cached.map(Count::get));
    // An estimate can be more than the output of which it is a part.
    let reasoning = thinking.get().filter(|thinking| Some(*thinking) <= output);
    Tokens { input, output, cache_read, cache_write, reasoning, ..Tokens::UNKNOWN }
}

/// Adds a running total of the session, of its model.
pub(super) fn add_total(session: &mut SessionResult, tokens: Tokens, effort: Option<Symbol>, at: At) {
    let model = session.model.clone();
    session.totals.push(Total {
        line: at.line,
        key: TOTAL_KEY.to_owned(),
        occurred_at: at.time,
        covers_subagents: true,
        models: vec![ModelTotal { model, tokens, effort, ..ModelTotal::default() }],
        ..Total::default()
    });
}

/// Adds a call with the file that it changes.
pub(super) fn call(builder: &mut Builder, turn: Option<usize>, id: &str, name: &str, input: Raw<'_>, at: At) {
    let call = builder.call_of(turn, id, name, input, at);
    let arguments = builder.arguments(call, input);
    let category = builder.session.tool_calls[call].category.clone();
    match (category.as_ref(), arguments.patch(), arguments.file()) {
        ("edit", Some(patch), None) => builder.patch(call, patch, at),
        ("edit", _, Some(path)) => {
            let lines = changes::edited_lines(input);
            builder.change(call, path, Some(Operation::Update), lines, at);
        }
        ("write", _, Some(path)) => {
            let lines = arguments.written_lines();
            builder.change(call, path, Some(Operation::Create), lines, at);
        }
        _ => {}
    }
}

/// The exit code in the first or in the last line of a result. Between them is what the command printed.
fn exit_code(text: &str) -> Option<i64> {
    let mut lines = text.trim_end().lines();
    let ends = [lines.next(), lines.next_back()];
    ends.into_iter().flatten().find_map(|line| line.split_once("(exit code: ")?.1.split_once(')')?.0.parse().ok())
}

/// Adds the result of a call: `text` as read from `raw`.
pub(super) fn result(
    builder: &mut Builder,
    call_id: &str,
    text: &str,
    raw: Raw<'_>,
    is_error: bool,
    time: Option<Time>,
) {
    let Some(call) = builder.call_index(call_id) else { return };
    let is_shell = builder.session.tool_calls[call].category == "shell";
    let exit_code = exit_code(text).filter(|_| is_shell);
    let has_failed = exit_code.is_some_and(|code| code != 0);
    let is_error = is_error || has_failed || text.starts_with("Error: ");
    let words = text.strip_prefix("Error: ").unwrap_or(text);
    let is_cancelled = CANCELLATIONS.iter().any(|start| words.starts_with(start));
    let status = if is_cancelled { CallStatus::Cancelled } else { CallStatus::from_error(is_error) };
    builder.result(call, raw, time, status);
    builder.session.tool_calls[call].exit_code = exit_code.into();
}
