//! Reads the rows of failed sessions.

use std::collections::BTreeSet;

use polars::prelude::*;

use super::rows::{Call, Ending, Event, Place, Turn};
use crate::analysis::rows::{
    Find, Frames, Purpose, SessionRows, Sorted, ToolMeanings, agent_of_call, hash_of, hash_of_agent, is_answer,
    needs_no_check,
};
use crate::base::split::base_name;
use crate::base::text::SharedStr;
use crate::base::time::Time;
use crate::store::frames::{events, rows, tool_calls, turns};

/// The rows of some sessions.
#[derive(Default)]
pub(super) struct FailureRows {
    pub calls: Sorted<Call>,
    pub events: Sorted<Event>,
    pub turns: Sorted<Turn>,
}

impl FailureRows {
    pub(super) fn read(tables: &Frames, find: Find<'_>) -> PolarsResult<Self> {
        let subagents = agents_of_responses(tables, find)?;
        Ok(Self { calls: calls(tables, &subagents, find)?, events: events(tables, find)?, turns: turns(tables, find)? })
    }
}

impl SessionRows for FailureRows {
    fn sessions(&self) -> BTreeSet<usize> {
        self.calls.sessions().chain(self.events.sessions()).chain(self.turns.sessions()).collect()
    }
}

rows! {
    /// The columns of calls.
    struct CallColumns {
        runtime: tool_calls::RUNTIME,
        session: tool_calls::SESSION_ID,
        path: tool_calls::SOURCE_PATH,
        line: tool_calls::LINE,
        turn: tool_calls::TURN,
        agent: tool_calls::AGENT,
        is_subagent: tool_calls::IS_SUBAGENT,
        tool: tool_calls::TOOL,
        category: tool_calls::CATEGORY,
        kind: tool_calls::COMMAND_KIND,
        status: tool_calls::STATUS,
        target: tool_calls::TARGET,
        hash: tool_calls::ARGS_HASH,
        commits: tool_calls::COMMITS,
        time: tool_calls::OCCURRED_AT,
        exit_code: tool_calls::EXIT_CODE,
        failed_tests: tool_calls::RESULT_FAILED_TESTS,
    }

    /// The columns of events.
    struct EventColumns {
        runtime: events::RUNTIME,
        session: events::SESSION_ID,
        path: events::SOURCE_PATH,
        line: events::LINE,
        kind: events::KIND,
        code: events::CODE,
        message: events::MESSAGE,
        time: events::OCCURRED_AT,
    }

    /// The columns of responses of subagents.
    struct SubagentColumns {
        runtime: turns::RUNTIME,
        session: turns::SESSION_ID,
        number: turns::TURN,
        agent_id: turns::AGENT_ID,
        agent: turns::AGENT,
    }

    /// The columns of responses.
    struct TurnColumns {
        runtime: turns::RUNTIME,
        session: turns::SESSION_ID,
        path: turns::SOURCE_PATH,
        line: turns::LINE,
        number: turns::TURN,
        time: turns::OCCURRED_AT,
        output: turns::OUTPUT_TOKENS,
        reasoning: turns::REASONING_TOKENS,
    }
}

/// Texts that often repeat the one before them, such as paths: copies share its bytes.
#[derive(Default)]
struct Last(SharedStr);

impl Last {
    fn shared(&mut self, text: Option<&str>) -> SharedStr {
        let text = text.unwrap_or_default();
        if self.0.as_str() != text {
            self.0 = SharedStr::from(text);
        }
        self.0.clone()
    }
}

/// Programs that only download.
const DOWNLOADING: &[&str] = &["curl", "wget"];

/// The purpose of a call. That of a service is unknown: it can change files. Some commands change nothing that a task asks for: those
/// that only make directories or remove files, since agents prepare and clean up; those that download; those of git without a commit.
fn purpose(category: Option<&str>, command_kind: Option<&str>, target: Option<&str>, has_commits: bool) -> Purpose {
    let changes_nothing = || match command_kind {
        Some("edit") => needs_no_check(true, target),
        Some("network") => target.is_some_and(|program| DOWNLOADING.contains(&program)),
        Some("vcs") => !has_commits,
        _ => false,
    };
    match category {
        Some("mcp") => Purpose::Unknown,
        Some("shell") if changes_nothing() => Purpose::Explore,
        _ => Purpose::of(category, command_kind),
    }
}

/// Words in names of files that reproduce a problem.
const SCRATCH: &[&str] = &["debug", "repro", "replicat", "scratch"];

/// Whether a file only reproduces the problem, by its name.
fn is_scratch(path: &str) -> bool {
    let name = base_name(path).to_ascii_lowercase();
    SCRATCH.iter().any(|word| name.contains(word)) && !name.starts_with("test")
}

/// The ending of a call. An exit status that is an answer is not a failure.
fn ending(calls: &CallColumns, row: usize) -> Ending {
    let is_answer = is_answer(calls.exit_code(row), calls.kind(row), calls.target(row));
    match calls.status(row) {
        Some("ok") if calls.failed_tests(row) == Some(true) => Ending::Bad,
        Some("error") if !is_answer => Ending::Bad,
        Some("ok" | "error") => Ending::Good,
        Some("denied") => Ending::Denied,
        _ => Ending::Open,
    }
}

/// The responses of subagents: the number of each, and a hash of its agent.
fn agents_of_responses(tables: &Frames, find: Find<'_>) -> PolarsResult<Sorted<(i64, u64)>> {
    let is_of_subagent = col(turns::GRAIN).eq(lit("turn")).and(col(turns::IS_SUBAGENT));
    Sorted::read(
        tables.table(turns::TABLE).filter(is_of_subagent),
        |turns: &SubagentColumns, row| {
            let index = find(turns.runtime(row), turns.session(row))?;
            Some((index, (turns.number(row)?, hash_of_agent(true, turns.agent_id(row), turns.agent(row)))))
        },
        |(number, _)| Some(*number),
    )
}

fn calls(tables: &Frames, subagents: &Sorted<(i64, u64)>, find: Find<'_>) -> PolarsResult<Sorted<Call>> {
    let (mut paths, mut tools, mut meanings) = (Last::default(), Last::default(), ToolMeanings::default());
    let mut number = 0_usize;
    Sorted::read(
        tables.table(tool_calls::TABLE),
        |calls: &CallColumns, row| {
            let index = find(calls.runtime(row), calls.session(row))?;
            let (name, category) = (calls.tool(row).unwrap_or_default(), calls.category(row));
            let agent = agent_of_call(subagents.of(index), calls.turn(row), |response| *response)
                .unwrap_or_else(|| hash_of_agent(calls.is_subagent(row), None, calls.agent(row)));
            let polls = meanings.of(name).polls;
            let has_commits = calls.commits(row).is_some();
            let purpose = match purpose(category, calls.kind(row), calls.target(row), has_commits) {
                // It only waits for a program that an earlier call started.
                Purpose::Other if polls => Purpose::Explore,
                purpose => purpose,
            };
            number += 1;
            let poll = polls.then_some(number);
            let call = Call {
                time: calls.time(row).map(Time::micros),
                tool: tools.shared(Some(name)),
                purpose,
                is_command: category == Some("shell"),
                is_run: calls.kind(row) == Some("run"),
                is_remote: matches!(category, Some("web" | "plan" | "subagent" | "other")),
                ending: ending(calls, row),
                is_scratch: category != Some("shell") && calls.target(row).is_some_and(is_scratch),
                needs_no_check: needs_no_check(category == Some("shell"), calls.target(row)),
                identity: calls.hash(row).map(|hash| hash_of((agent, name, hash, poll))),
                place: Place { path: paths.shared(calls.path(row)), line: calls.line(row) },
            };
            Some((index, call))
        },
        |call| call.time,
    )
}

fn events(tables: &Frames, find: Find<'_>) -> PolarsResult<Sorted<Event>> {
    let is = |kind: &str| col(events::KIND).eq(lit(kind));
    let mut paths = Last::default();
    Sorted::read(
        tables.table(events::TABLE).filter(is("error").or(is("abort"))),
        |events: &EventColumns, row| {
            let index = find(events.runtime(row), events.session(row))?;
            let event = Event {
                time: events.time(row).map(Time::micros),
                is_abort: events.kind(row) == Some("abort"),
                code: events.code(row).map(str::to_owned),
                message: events.message(row).unwrap_or_default().to_owned(),
                place: Place { path: paths.shared(events.path(row)), line: events.line(row) },
            };
            Some((index, event))
        },
        |event| event.time,
    )
}

/// The responses to the main agent.
fn turns(tables: &Frames, find: Find<'_>) -> PolarsResult<Sorted<Turn>> {
    let is_main = col(turns::GRAIN).eq(lit("turn")).and(col(turns::IS_SUBAGENT).not());
    let mut paths = Last::default();
    Sorted::read(
        tables.table(turns::TABLE).filter(is_main),
        |turns: &TurnColumns, row| {
            let index = find(turns.runtime(row), turns.session(row))?;
            let number = turns.number(row)?;
            let turn = Turn {
                number,
                time: turns.time(row).map(Time::micros),
                visible_tokens: turns.output(row).map(|output| output - turns.reasoning(row).unwrap_or(0)),
                place: Place { path: paths.shared(turns.path(row)), line: turns.line(row) },
            };
            Some((index, turn))
        },
        |turn| Some(turn.number),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_that_prepare_read_or_clean_up_are_no_changes() {
        for (category, kind, target, has_commits, expected) in [
            ("shell", "edit", "mkdir", false, Purpose::Explore),
            ("shell", "edit", "rm", false, Purpose::Explore),
            ("shell", "edit", "cat", false, Purpose::Edit),
            ("shell", "test", "rm", false, Purpose::Test),
            ("shell", "network", "curl", false, Purpose::Explore),
            ("shell", "network", "ssh", false, Purpose::Other),
            ("shell", "vcs", "git", false, Purpose::Explore),
            ("shell", "vcs", "git", true, Purpose::Other),
            ("shell", "run", "node", false, Purpose::Other),
            ("edit", "", "docs/rm", false, Purpose::Edit),
            ("mcp", "", "", false, Purpose::Unknown),
        ] {
            let kind = Some(kind).filter(|kind| !kind.is_empty());
            assert_eq!(purpose(Some(category), kind, Some(target), has_commits), expected, "{category} {target}");
        }
    }

    #[test]
    fn files_that_reproduce_a_problem_have_their_names() {
        for path in ["reproduce_bug.py", "/repo/bug_reproduction.py", r"C:\work\Replicate.js", "debug_urls.py"] {
            assert!(is_scratch(path), "{path}");
        }
        for path in ["src/print.py", "tests/test_reproducible_builds.py", "/reproduce/src/lib.rs", ""] {
            assert!(!is_scratch(path), "{path}");
        }
    }
}
