//! Reads the failed sessions with their steps.

use std::collections::{HashMap, HashSet};

use polars::prelude::*;

use super::steps::Step;
use crate::analysis::failures::frame::{
    FAILURE_CLASS, FAILURE_LINE, FAILURE_PATH, FAILURE_SIGN, TABLES as OF_FAILURES, failures,
};
use crate::analysis::outcomes::frame::{OUTCOME_PASSED, OUTCOME_TASK, OUTCOME_TRIAL, outcomes_of_sessions};
use crate::analysis::rows::{Frames, KEY, Key};
use crate::analysis::selection::{self, Error, LeftOut, Scope};
use crate::store::frames::{TypedRows as _, rows, sessions, tool_calls, verdicts};

/// The tables that a pack needs.
pub const TABLES: &[&str] = OF_FAILURES;

/// A session of the scope.
#[derive(Debug)]
pub(super) struct Session {
    pub key: Key,
    pub model: Option<String>,
    pub agent: Option<String>,
    pub task: Option<String>,
    pub trial: Option<String>,
    pub passed: Option<bool>,
    pub cost_usd: Option<f64>,
    /// Its class, if it failed.
    pub failure: Option<Failure>,
    /// What the judges wrote.
    pub messages: Vec<String>,
    pub steps: Vec<Step>,
}

/// Why a session failed, and what shows it.
#[derive(Debug)]
pub(super) struct Failure {
    pub class: String,
    pub sign: String,
    pub path: Option<String>,
    pub line: Option<i64>,
}

rows! {
    /// The columns of sessions.
    struct SessionColumns {
        runtime: sessions::RUNTIME,
        id: sessions::SESSION_ID,
        model: sessions::CANONICAL_MODEL,
        agent: sessions::AGENT,
        cost_usd: sessions::COST_USD,
        passed: OUTCOME_PASSED,
        task: OUTCOME_TASK,
        trial: OUTCOME_TRIAL,
        class: FAILURE_CLASS,
        sign: FAILURE_SIGN,
        path: FAILURE_PATH,
        line: FAILURE_LINE,
    }

    /// The columns of calls.
    struct CallColumns {
        runtime: tool_calls::RUNTIME,
        id: tool_calls::SESSION_ID,
        turn: tool_calls::TURN,
        tool: tool_calls::TOOL,
        category: tool_calls::CATEGORY,
        command_kind: tool_calls::COMMAND_KIND,
        target: tool_calls::TARGET,
        status: tool_calls::STATUS,
        exit_code: tool_calls::EXIT_CODE,
        source_path: tool_calls::SOURCE_PATH,
        line: tool_calls::LINE,
        arguments: tool_calls::ARGS,
        result: tool_calls::RESULT,
    }

    /// The columns of verdicts.
    struct VerdictColumns {
        runtime: verdicts::RUNTIME,
        id: verdicts::SESSION_ID,
        message: verdicts::MESSAGE,
    }
}

/// The sessions in scope that failed, and those of which a trial of the same tasks passed, the most expensive first.
pub(super) fn sessions(tables: &Frames, scope: &Scope) -> Result<(Vec<Session>, LeftOut), Error> {
    let keys = || KEY.map(col);
    let (rows, left_out) = selection::sessions(tables, scope)?;
    // Only its own columns: a filter by outcome or class has added others.
    let own = keys().into_iter().chain([sessions::CANONICAL_MODEL, sessions::AGENT, sessions::COST_USD].map(col));
    let rows = rows.select(own.collect::<Vec<_>>());
    let rows = rows.join(outcomes_of_sessions(tables)?, keys(), keys(), JoinType::Left.into());
    let rows = rows.join(failures(tables)?, keys(), keys(), JoinType::Left.into());
    let is_needed = col(FAILURE_CLASS).is_not_null().or(col(OUTCOME_PASSED).fill_null(lit(false)));
    let order = SortMultipleOptions::default().with_order_descending_multi([true, false, false]).with_nulls_last(true);
    let by = [sessions::COST_USD, sessions::SESSION_ID, sessions::RUNTIME];
    let frame = rows
        .filter(is_needed)
        .sort(by, order)
        .select(SessionColumns::NAMES.iter().map(|name| col(*name)).collect::<Vec<_>>());
    let mut frame = frame.collect()?;
    frame.rechunk_mut();
    let columns = SessionColumns::of(&frame)?;
    let mut steps = steps(tables, &frame)?;
    let mut messages = messages(tables)?;
    let found = (0..columns.height()).map(|row| {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        let key = (columns.runtime(row).unwrap_or_default().to_owned(), columns.id(row).unwrap_or_default().to_owned());
        Session {
            model: owned(columns.model(row)),
            agent: owned(columns.agent(row)),
            task: owned(columns.task(row)),
            trial: owned(columns.trial(row)),
            passed: columns.passed(row),
            cost_usd: columns.cost_usd(row),
            failure: columns.class(row).map(|class| Failure {
                class: class.to_owned(),
                sign: columns.sign(row).unwrap_or_default().to_owned(),
                path: owned(columns.path(row)),
                line: columns.line(row),
            }),
            messages: messages.remove(&key).unwrap_or_default(),
            steps: steps.remove(&key).unwrap_or_default(),
            key,
        }
    });
    Ok((found.collect(), left_out))
}

/// The calls of the main agents of sessions, in their order.
fn steps(tables: &Frames, sessions: &DataFrame) -> PolarsResult<HashMap<Key, Vec<Step>>> {
    let keys = || KEY.map(col);
    let calls = tables.table(tool_calls::TABLE).filter(col(tool_calls::IS_SUBAGENT).not());
    let calls = calls.join(sessions.select(KEY)?.lazy(), keys(), keys(), JoinType::Semi.into());
    let order =
        [tool_calls::RUNTIME, tool_calls::SESSION_ID, tool_calls::TURN, tool_calls::OCCURRED_AT, tool_calls::LINE];
    let calls = calls.sort(order, SortMultipleOptions::default().with_nulls_last(true));
    let columns = CallColumns::read(calls)?;
    let mut steps: HashMap<Key, Vec<Step>> = HashMap::new();
    for row in 0..columns.height() {
        let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
        let key = (text(columns.runtime(row)), text(columns.id(row)));
        steps.entry(key).or_default().push(Step {
            turn: columns.turn(row),
            tool: text(columns.tool(row)),
            category: text(columns.category(row)),
            command_kind: columns.command_kind(row).map(str::to_owned),
            target: columns.target(row).map(str::to_owned),
            status: text(columns.status(row)),
            exit_code: columns.exit_code(row),
            source_path: text(columns.source_path(row)),
            line: columns.line(row),
            arguments: columns.arguments(row).map(str::to_owned),
            result: columns.result(row).map(str::to_owned),
        });
    }
    Ok(steps)
}

/// What the judges of sessions wrote, each text once.
fn messages(tables: &Frames) -> PolarsResult<HashMap<Key, Vec<String>>> {
    let rows = tables.table(verdicts::TABLE).filter(col(verdicts::MESSAGE).is_not_null());
    let columns = VerdictColumns::read(rows)?;
    let mut found: HashMap<Key, Vec<String>> = HashMap::new();
    let mut seen = HashSet::new();
    for row in 0..columns.height() {
        let of_session = (columns.runtime(row), columns.id(row), columns.message(row));
        if let (Some(runtime), Some(id), Some(message)) = of_session
            && seen.insert(of_session)
        {
            found.entry((runtime.to_owned(), id.to_owned())).or_default().push(message.to_owned());
        }
    }
    Ok(found)
}
