//! The rows of the tables, converted to parts of a trajectory when they are needed.

use polars::prelude::*;
use serde_json::{Value, json};

use super::atif::{Agent, Call, EXPORTED_BY, Extra, Outcome, Step, extra};
use super::spent::Spent;
use crate::analysis::export::by_session::BySession;
use crate::analysis::export::verdicts::{self, with_verdicts};
use crate::analysis::rows::Key;
use crate::base::time::Time;
use crate::store::frames::{Frames, TypedRows, events, rows, sessions, tool_calls, turns};

rows! {
    /// The columns of sessions.
    struct SessionColumns {
        id: sessions::SESSION_ID,
        runtime: sessions::RUNTIME,
        runtime_version: sessions::RUNTIME_VERSION,
        format: sessions::FORMAT,
        status: sessions::STATUS,
        usage: sessions::USAGE,
        error_kind: sessions::ERROR_KIND,
        error_message: sessions::ERROR_MESSAGE,
        parent: sessions::PARENT_SESSION_ID,
        agent: sessions::AGENT,
        model: sessions::MODEL,
        cwd: sessions::CWD,
        project: sessions::PROJECT,
        git_branch: sessions::GIT_BRANCH,
        source_path: sessions::SOURCE_PATH,
        labels: sessions::LABELS,
        user_turns: sessions::USER_TURNS,
        prompt: sessions::PROMPT,
        text: sessions::TEXT,
        started_at: sessions::STARTED_AT,
        passed: verdicts::PASSED,
        task: verdicts::TASK,
        trial: verdicts::TRIAL,
    }

    /// The columns of turns.
    struct TurnColumns {
        runtime: turns::RUNTIME,
        session: turns::SESSION_ID,
        number: turns::TURN,
        line: turns::LINE,
        time: turns::OCCURRED_AT,
        agent: turns::AGENT,
        agent_id: turns::AGENT_ID,
        is_subagent: turns::IS_SUBAGENT,
        provider: turns::PROVIDER,
        model: turns::MODEL,
        effort: turns::EFFORT,
        stop_reason: turns::STOP_REASON,
        message_id: turns::MESSAGE_ID,
        service_tier: turns::SERVICE_TIER,
        speed: turns::SPEED,
        duration_ms: turns::DURATION_MS,
        input: turns::INPUT_TOKENS,
        output: turns::OUTPUT_TOKENS,
        cache_read: turns::CACHE_READ_TOKENS,
        cache_write: turns::CACHE_WRITE_TOKENS,
        cache_write_1h: turns::CACHE_WRITE_1H_TOKENS,
        reasoning: turns::REASONING_TOKENS,
        cost: turns::COST_USD,
        cost_source: turns::COST_SOURCE,
    }

    /// The columns of events.
    struct EventColumns {
        runtime: events::RUNTIME,
        session: events::SESSION_ID,
        line: events::LINE,
        time: events::OCCURRED_AT,
        kind: events::KIND,
        call_id: events::CALL_ID,
        code: events::CODE,
        message: events::MESSAGE,
        tokens_before: events::TOKENS_BEFORE,
        tokens_after: events::TOKENS_AFTER,
    }

    /// The columns of calls.
    struct CallColumns {
        runtime: tool_calls::RUNTIME,
        session: tool_calls::SESSION_ID,
        turn: tool_calls::TURN,
        line: tool_calls::LINE,
        time: tool_calls::OCCURRED_AT,
        agent: tool_calls::AGENT,
        is_subagent: tool_calls::IS_SUBAGENT,
        id: tool_calls::CALL_ID,
        tool: tool_calls::TOOL,
        category: tool_calls::CATEGORY,
        status: tool_calls::STATUS,
        exit_code: tool_calls::EXIT_CODE,
        duration_ms: tool_calls::DURATION_MS,
        target: tool_calls::TARGET,
        mcp_server: tool_calls::MCP_SERVER,
        args: tool_calls::ARGS,
        result: tool_calls::RESULT,
        args_bytes: tool_calls::ARGS_BYTES,
        result_bytes: tool_calls::RESULT_BYTES,
    }
}

fn owned(text: Option<&str>) -> Option<String> {
    text.map(str::to_owned)
}

/// The tables besides that of sessions.
pub struct Tables {
    pub turns: Turns,
    pub calls: Calls,
    pub events: Events,
}

impl Tables {
    pub fn new(tables: &Frames) -> PolarsResult<Self> {
        let turns = TurnColumns::read(tables.table(turns::TABLE))?;
        let calls = CallColumns::read(tables.table(tool_calls::TABLE))?;
        let events = EventColumns::read(tables.table(events::TABLE))?;
        Ok(Self {
            turns: Turns {
                by_session: BySession::new(turns.height(), |row| (turns.runtime(row), turns.session(row))),
                columns: turns,
            },
            calls: Calls {
                by_session: BySession::new(calls.height(), |row| (calls.runtime(row), calls.session(row))),
                columns: calls,
            },
            events: Events {
                by_session: BySession::new(events.height(), |row| (events.runtime(row), events.session(row))),
                columns: events,
            },
        })
    }
}

/// A row of `turns`.
pub struct Turn {
    pub row: usize,
    /// The number of the turn; `None` for a total.
    pub number: Option<i64>,
    pub line: i64,
    pub agent: Option<String>,
    pub agent_id: Option<String>,
    pub is_subagent: bool,
    pub spent: Spent,
    pub time: Option<Time>,
}

/// The place of a call in its session.
pub struct CallPlace {
    pub row: usize,
    pub turn: Option<i64>,
    pub line: i64,
    pub agent: Option<String>,
    pub is_subagent: bool,
    pub time: Option<Time>,
}

/// The fields of a session's document that come from its row of `sessions`.
pub struct Session {
    pub id: String,
    pub agent: Agent,
    pub extra: Extra,
    pub prompt: Option<String>,
    pub text: Option<String>,
    pub has_prompt: bool,
    pub started_at: Option<Time>,
}

/// The table `sessions`.
pub struct Sessions(SessionColumns);

impl Sessions {
    pub fn new(tables: &Frames) -> PolarsResult<Self> {
        let tables = with_verdicts(tables.clone(), tables)?;
        Ok(Self(SessionColumns::read(tables.table(sessions::TABLE))?))
    }

    /// Each session, in the order of the table.
    pub fn iter(&self) -> impl Iterator<Item = Session> {
        (0..self.0.height()).map(|row| self.session(row))
    }

    fn session(&self, row: usize) -> Session {
        let columns = &self.0;
        Session {
            id: owned(columns.id(row)).unwrap_or_default(),
            agent: Agent {
                name: owned(columns.runtime(row)).unwrap_or_default(),
                version: columns.runtime_version(row).unwrap_or("unknown").to_owned(),
                model_name: owned(columns.model(row)),
                extra: extra([
                    (sessions::CWD, json!(columns.cwd(row))),
                    ("git_branches", json!(columns.git_branch(row).as_slice())),
                    (sessions::PARENT_SESSION_ID, json!(columns.parent(row))),
                    (sessions::AGENT, json!(columns.agent(row))),
                ]),
            },
            extra: extra([
                ("exported_by", EXPORTED_BY.into()),
                (sessions::FORMAT, json!(columns.format(row))),
                (sessions::SOURCE_PATH, json!(columns.source_path(row))),
                (sessions::PROJECT, json!(columns.project(row))),
                (sessions::LABELS, json!(columns.labels(row))),
                (sessions::STATUS, json!(columns.status(row))),
                (sessions::ERROR_KIND, json!(columns.error_kind(row))),
                (sessions::ERROR_MESSAGE, json!(columns.error_message(row))),
                (sessions::USAGE, json!(columns.usage(row))),
                (verdicts::PASSED, json!(columns.passed(row))),
                (verdicts::TASK, json!(columns.task(row))),
                (verdicts::TRIAL, json!(columns.trial(row))),
            ]),
            prompt: owned(columns.prompt(row)),
            text: owned(columns.text(row)),
            has_prompt: columns.user_turns(row).is_some_and(|count| count > 0),
            started_at: columns.started_at(row),
        }
    }
}

/// The table `turns`.
pub struct Turns {
    by_session: BySession,
    columns: TurnColumns,
}

impl Turns {
    /// The turns of a session.
    pub fn of_session(&self, key: &Key) -> Vec<Turn> {
        let columns = &self.columns;
        let turn = |row| Turn {
            row,
            number: columns.number(row),
            line: columns.line(row).unwrap_or_default(),
            agent: owned(columns.agent(row)),
            agent_id: owned(columns.agent_id(row)),
            is_subagent: columns.is_subagent(row),
            spent: self.spent(row),
            time: columns.time(row),
        };
        self.by_session.of(key).map(turn).collect()
    }

    fn spent(&self, row: usize) -> Spent {
        let columns = &self.columns;
        let cost = columns.cost(row);
        Spent {
            input: columns.input(row),
            output: columns.output(row),
            cache_read: columns.cache_read(row),
            cache_write: columns.cache_write(row),
            cache_write_1h: columns.cache_write_1h(row),
            reasoning: columns.reasoning(row),
            cost,
            is_estimate: cost.is_some() && columns.cost_source(row) != Some("reported"),
        }
    }

    /// A turn as a step, without its calls.
    pub fn step(&self, row: usize) -> Step {
        let columns = &self.columns;
        let service =
            extra([(turns::SERVICE_TIER, json!(columns.service_tier(row))), (turns::SPEED, json!(columns.speed(row)))]);
        Step {
            source: "agent",
            model_name: owned(columns.model(row)),
            reasoning_effort: owned(columns.effort(row)),
            metrics: self.spent(row).metrics(service),
            extra: extra([
                (turns::DURATION_MS, json!(columns.duration_ms(row))),
                (turns::STOP_REASON, json!(columns.stop_reason(row))),
                (turns::MESSAGE_ID, json!(columns.message_id(row))),
                (turns::PROVIDER, json!(columns.provider(row))),
            ]),
            ..Step::default()
        }
    }
}

/// The id of a call, and the id of the subagent that it started.
type Start = (String, String);

/// The table `events`.
pub struct Events {
    by_session: BySession,
    columns: EventColumns,
}

impl Events {
    /// The rows of a session's events.
    pub fn of_session(&self, key: &Key) -> impl Iterator<Item = usize> {
        self.by_session.of(key)
    }

    /// The time and the line of an event.
    pub fn place(&self, row: usize) -> (Option<Time>, i64) {
        (self.columns.time(row), self.columns.line(row).unwrap_or_default())
    }

    /// An event as a step.
    pub fn step(&self, row: usize) -> Step {
        let columns = &self.columns;
        let kind = columns.kind(row).unwrap_or_default();
        let what = if kind == "compaction" {
            ("context_management", json!({"type": "compaction", "boundary": "replace"}))
        } else {
            ("event", json!(kind))
        };
        Step {
            source: "system",
            message: owned(columns.message(row)).unwrap_or_default(),
            extra: extra([
                what,
                (events::CODE, json!(columns.code(row))),
                (events::TOKENS_BEFORE, json!(columns.tokens_before(row))),
                (events::TOKENS_AFTER, json!(columns.tokens_after(row))),
            ]),
            ..Step::default()
        }
    }

    /// Whether an event is the start of a subagent.
    pub fn is_start(&self, row: usize) -> bool {
        self.columns.kind(row) == Some("subagent")
    }

    /// The call that started a subagent, and the subagent, if both are known.
    pub fn start(&self, row: usize) -> Option<Start> {
        owned(self.columns.call_id(row)).zip(owned(self.columns.code(row)))
    }
}

/// The table `tool_calls`.
pub struct Calls {
    by_session: BySession,
    columns: CallColumns,
}

impl Calls {
    /// The places of a session's calls.
    pub fn of_session(&self, key: &Key) -> impl Iterator<Item = CallPlace> {
        let columns = &self.columns;
        self.by_session.of(key).map(|row| CallPlace {
            row,
            turn: columns.turn(row),
            line: columns.line(row).unwrap_or_default(),
            agent: owned(columns.agent(row)),
            is_subagent: columns.is_subagent(row),
            time: columns.time(row),
        })
    }

    /// A call, and its result if it ended.
    pub fn call(&self, row: usize) -> (Call, Option<Outcome>) {
        let columns = &self.columns;
        let id = owned(columns.id(row)).unwrap_or_default();
        let status = columns.status(row).unwrap_or_default();
        let arguments = columns.args(row).map_or_else(
            || json!({}),
            |text| match serde_json::from_str(text) {
                Ok(Value::Object(arguments)) => Value::Object(arguments),
                // The schema requires an object: other arguments, such as a patch, become its only value.
                _ => json!({ "input": text }),
            },
        );
        let outcome = (status != "incomplete").then(|| Outcome {
            source_call_id: id.clone(),
            content: owned(columns.result(row)),
            subagent_trajectory_ref: Vec::new(),
            extra: extra([
                (tool_calls::STATUS, json!(status)),
                ("is_error", if status == "error" { true.into() } else { Value::Null }),
                (tool_calls::EXIT_CODE, json!(columns.exit_code(row))),
                (tool_calls::DURATION_MS, json!(columns.duration_ms(row))),
                (tool_calls::RESULT_BYTES, json!(columns.result_bytes(row))),
            ]),
        });
        let call = Call {
            tool_call_id: id,
            function_name: owned(columns.tool(row)).unwrap_or_default(),
            arguments,
            extra: extra([
                (tool_calls::CATEGORY, json!(columns.category(row))),
                (tool_calls::TARGET, json!(columns.target(row))),
                (tool_calls::MCP_SERVER, json!(columns.mcp_server(row))),
                (tool_calls::ARGS_BYTES, json!(columns.args_bytes(row))),
            ]),
        };
        (call, outcome)
    }
}
