//! The adapter: which logs are rollouts, and how their records are dispatched.
//!
//! # `codex-rollout`
//!
//! `~/.codex/sessions/YYYY/MM/DD/rollout-*.jsonl` and `archived_sessions`, plain or zstd. Recognised by `payload` with `type`
//! `session_meta`, `turn_context`, `response_item`, `event_msg`, `compacted`, `token_usage_record`; in older versions without an
//! envelope by `id`, `timestamp` and `instructions` together, the `record_type` `state`, or a bare `function_call`. Seen: 68 files, 0.118 to
//! 0.153.4.
//!
//! Since 0.147 a history can be *paginated* (`history_mode`): each record has an `ordinal`, and an `item_completed` with an `item`
//! replaces most events. Items and events have the same meaning here, and a log may contain both: an item, an event and a response
//! item with the same id are one call.
//!
//! | what | from |
//! | --- | --- |
//! | session | `session_meta.payload.id` of the first one (a file may contain 29, one per resume), else the UUID in the file's name |
//! | parent | `forked_from_id`, `source.subagent.thread_spawn.parent_thread_id`, `parent_thread_id`, a `session_id` other than `id`, or a second `session_meta` with another id |
//! | agent | `source.subagent.thread_spawn.agent_role`, also the agent type of each turn |
//! | copied records | those with an `ordinal` below `subagent_history_start_ordinal`; without it the ledger finds them by the id of the task, of which an agent's copy has the counts, but no calls. An agent's copy of the last turns only (`fork_turns`, *source*) begins after the start of their task: records within a second of the start of the log and before the first `task_started` are copies |
//! | continuation | a file with `history_base` repeats nothing, but its totals include those of its base. A total before its first task or response is the base's |
//! | version, entrypoint, provider, cwd, branch | `cli_version`, `originator`, `model_provider`, `cwd`, `git.branch` |
//! | turn | each `token_count` with a larger `total_token_usage`: the difference to the previous one; if a total decreases, `last_token_usage` |
//! | lost turn | if the total increases by more than `last_token_usage`, the remainder is a separate turn, unless it has no output: `last_token_usage` may lack input. If all of its counts are 0, it is an estimate of the size of the context, and not used |
//! | turn of a review | between `entered_review_mode` and `exited_review_mode` (`/review`), the log repeats the counts of the reviewer, which begin at 0; afterwards the thread's total goes on, or the reviewer's, in a process that resumed the thread (*source*: it begins with the last `token_count`). The reviewer has a log of its own, with `source` `{"subagent":"review"}`: both logs name its responses by the prompt, the total and the minute, so that they count once, in the reviewer's log. The thread's log does not contain the reviewer's model. Seen: 1 review with both logs |
//! | turn without a count | each `token_usage_record` (since 0.153) whose tokens no total includes: of a response whose process ended before its tools did, and of a compaction by the provider (`compaction_response_id` of a `compacted`). The other records add the ids of their responses |
//! | service tier | `thread_settings_applied`: `thread_settings.service_tier`, for the following responses; without one the standard tier |
//! | model, effort, window | the last `turn_context` before it; `model_context_window` |
//! | input, cache read, cache write, output, reasoning | `input_tokens` less `cached_input_tokens` less `cache_write_input_tokens`; these two; `output_tokens`; `reasoning_output_tokens` |
//! | call | `function_call`, `custom_tool_call`, `local_shell_call`, `web_search_call`, `tool_search_call`; items `CommandExecution`, `FileChange`, `McpToolCall`, `DynamicToolCall`, `CollabAgentToolCall`, `WebSearch`, and `Extension` of the kind `web.search`, of which there is no response item. MCP server from `namespace`, `mcp_tool_call_end` or the item. A call belongs to the next response. A `CommandExecution` with the source `user_shell` is the user's own command, and no call |
//! | call of code mode (`exec`) | one call with what its script runs: the category is `shell` if it runs a command, else that of the first tool that it calls; commands, files and patches are the texts in the script. Items and events whose ids begin with `exec-`, or, while a script of the task that calls this tool runs, are those of no call, are calls of a script (not searches, which the provider makes): they give it the command, the exit code, the changes and the failure, and are no rows. One belongs to the script that contains its command, else to the first one that runs |
//! | call status, exit code | "aborted by user" or "aborted" in place of an output is `cancelled`; items (`status`, `exit_code`, `success`, `error`; `interrupted` is `cancelled`), `exec_command_end`, `mcp_tool_call_end`, `patch_apply_end`, `guardian_assessment` with the status `denied`; else the text, in a list the first one, after `Command: …` from the line `Chunk ID:` or `Wall time:` on: `Process exited with code N`, `Exit code: N`, `metadata.exit_code` of a command or patch, texts of refusals and failures. A header has a first line such as `Chunk ID:`, `Wall time` or `Exit code:`, and ends at `Output:` (4,527 of 4,527 in real logs): what follows, and all of a text with another first line, is of the tool. After `Process running with session ID` it is open until the `write_stdin` that returns its end |
//! | status, exit code of a script | `Script failed` or `Script terminated`, or a command or change in it that failed: `error`; the exit code is the first one other than 0. Without items, `exit_code` in the results that it prints. After `Script running with cell ID` it is open until the `wait` that returns its end |
//! | call duration | the items and events; else `metadata.duration_seconds` or `Wall time: N seconds` of the result. Of a command that keeps running: until the result of the `write_stdin` that returns its end |
//! | file change | `FileChange` or `patch_apply_end.changes`, else the patch text, also inside a shell command or a script |
//! | events | `compacted`, `context_compacted` and `ContextCompaction` within 5 s (one compaction), `error` or `task_complete.error` (code: `codex_error_info`), `stream_error` (retry), `turn_aborted` (abort, with the reason `budget_limited` an error), refused calls, `SubAgentActivity` of the kind `started` and `collab_agent_spawn_end` (subagent) |
//! | limits | `token_count`: `rate_limits`, also if `info` is null. Windows `primary` and `secondary`: `used_percent`, `window_minutes`, `resets_at`; in older versions the record's time plus `resets_in_seconds`; in the first one `primary_used_percent` and `primary_window_minutes`, without a reset (*source*). `limit_id`, `plan_type`, `rate_limit_reached_type` |
//! | user turns | `user_message` events and `UserMessage` items; in versions without events, the user's messages that do not begin with `<` or `#`. None if `source` names a `subagent` (a guardian, a review, a spawned thread) or `thread_source` is not `user`: a program writes those prompts. Nor those of the extension for VS Code (`originator` `codex_vscode`, `source` `exec`) that ask for a title: "Generate a concise UI title", "You are a helpful assistant. You will be presented with a user prompt" (7 of 7). Nor those of automations, which begin with `<heartbeat>` and contain `<automation_id>` (*source*). A review counts as one prompt: `entered_review_mode`; the text that the reviewer gets is the program's |
//! | imported turns | a task with the id `external-import-turn-N` was imported from another runtime, whose log has its prompts and responses |
//! | status | `task_started`: `incomplete`; `task_complete`: `success`, unless it has an `error`, or there was an `error` and no answer, or it has no `last_agent_message` and the last prompt or result got no response: Codex does not log every error (of 37 such tasks, 32 without one, all before 0.145; the other 12 tasks without that message are plans and compactions); `turn_aborted`: `aborted`, with the reason `budget_limited` `error`; `error`: `error`; a log with none of them: `unknown` |
//!
//! *Exact*: tokens. The last total equals the sum of `last_token_usage` over events with a larger total in 41 of 42 files; in one,
//! a response was interrupted before its event was written, and only the total includes it. Repeated totals are not responses
//! (adding every `last_token_usage` gives up to 24 % more; ccusage/ccusage#1288). The totals exclude compactions by the provider
//! (openai/codex#47003). A fork repeats the records of its parent, which may be a fork itself: shared records count in the first
//! thread. Totals that a resume continues begin with the last `token_count`, so that they never include a response before it
//! without a count (*source*). `world_state`, `security_risk_score`, `realtime_item`, `retained_context`, the items
//! `FunctionCallOutput` and `Extension` of the kinds `clock.sleep` and `image_gen.generation`,
//! and the response items `agent_message`, `context_compaction` and `additional_tools` contain no usage.
//! *Unknown*: cost, which Codex never logs; in versions without `token_usage_record`, whether the summary of a compaction was
//! billed if the totals do not increase (13 of 13 events after a compaction state 0 tokens).

use twox_hash::XxHash3_64;

use super::records::{Compacted, Meta, Payload, Record};
use super::state::State;
use super::thread::Thread;
use crate::adapters::engine::{Adapter, Context, Fold, Probe, RecordErrors, RecordKind, fold};
use crate::adapters::shared::ids::hashed_id;
use crate::adapters::shared::repository::of_remote;
use crate::json;
use crate::json::lines::Line;
use crate::model::places::Place;
use crate::model::session::{Capabilities, SessionResult};

pub(crate) const ADAPTER: Adapter = Adapter {
    id: "codex-rollout",
    runtime: "codex",
    about: "Codex, rollouts under ~/.codex/sessions",
    tested: Some("0.153.4"),
    capabilities: Capabilities::TOOL_CALLS
        .and(Capabilities::FILE_CHANGES)
        .and(Capabilities::SUBAGENTS)
        .and(Capabilities::COMPACTIONS)
        .and(Capabilities::PERMISSION_DENIALS)
        .and(Capabilities::USER_TURNS)
        .and(Capabilities::KEPT_BY_RUNTIME),
    places: &[
        Place::variable("CODEX_HOME", ".codex", "sessions"),
        Place::variable("CODEX_HOME", ".codex", "archived_sessions"),
    ],
    claims,
    parse: fold::<Rollout>,
};

fn claims(probe: &Probe<'_>) -> u32 {
    match probe.kind() {
        "session_meta" | "turn_context" | "response_item" | "event_msg" | "compacted" | "token_usage_record"
            if probe.has("payload") =>
        {
            2
        }
        // Before the envelope.
        "" if probe.has_all(&["id", "timestamp", "instructions"]) || probe.text("record_type") == "state" => 2,
        "function_call" | "function_call_output" if probe.has("call_id") => 2,
        _ => 0,
    }
}

/// The fold over a rollout, which contains one thread.
pub(super) struct Rollout {
    context: Context,
    thread: Option<Thread>,
}

impl Fold for Rollout {
    type Record<'a> = Record<'a>;

    fn new(context: &Context) -> Self {
        Self { context: context.clone(), thread: None }
    }

    fn line(&mut self, line: Line<'_>, damage: &mut RecordErrors) -> Result<RecordKind, json::Error> {
        let mut record = Record::default();
        json::read_into(line.bytes, &mut record)?;
        Ok(self.see(line, &record, damage))
    }

    fn record(&mut self, line: Line<'_>, record: Record<'_>, damage: &mut RecordErrors) -> RecordKind {
        self.see(line, &record, damage)
    }

    fn finish(self) -> Vec<SessionResult> {
        self.thread.map(Thread::finish).into_iter().collect()
    }
}

impl Rollout {
    fn see(&mut self, line: Line<'_>, record: &Record<'_>, damage: &mut RecordErrors) -> RecordKind {
        let is_header = record.kind.some().is_none() && record.id.is_some();
        let meta: Option<Meta<'_>> = match &record.payload {
            Payload::Other(payload) if record.kind.as_str() == "session_meta" => Some(payload.read()),
            _ => None,
        };
        let id = if is_header { record.id.owned() } else { meta.as_ref().and_then(|meta| meta.id.owned()) };
        let context = &self.context;
        let thread = self.thread.get_or_insert_with(|| {
            let named = id.clone().or_else(|| context.file_id.clone());
            Thread::new(context, named.unwrap_or_else(|| hashed_id(line.bytes)), line)
        });
        // A resume has its own time.
        if id.is_some() && thread.first == XxHash3_64::oneshot(line.bytes) {
            thread.add_uncounted();
            thread.state = State::default();
        }
        let time = record.timestamp.0;
        thread.builder.extend_to(time);
        if is_header {
            thread.builder.session.git_branch = record.git.branch.owned();
            thread.builder.session.repository = of_remote(record.git.repository_url.as_str());
            let header: Meta<'_> = json::from_slice(line.bytes).unwrap_or_default();
            thread.builder.instructions(header.instructions.as_str());
            return RecordKind::Known;
        }
        if let Some(meta) = meta {
            thread.meta(&meta);
            return RecordKind::Known;
        }
        if thread.is_copied(record) {
            return thread.copied(record);
        }
        match (record.kind.as_str(), &record.payload) {
            ("turn_context", Payload::Other(payload)) => thread.turn_context(&payload.read()),
            ("event_msg", Payload::Wrong) => return RecordKind::Unknown,
            ("event_msg", event) if !matches!(event, Payload::Absent) => {
                return thread.event(event, line, time, damage);
            }
            ("response_item", Payload::Wrong) => return RecordKind::Unknown,
            ("response_item", item) if !matches!(item, Payload::Absent) => return thread.item(item, line, time),
            ("token_usage_record", Payload::Other(payload)) => thread.recorded(&payload.read(), line, time, damage),
            ("compacted", payload) => {
                thread.compacted(line, time);
                if let Payload::Other(payload) = payload {
                    let compacted: Compacted<'_> = payload.read();
                    thread.compacted_by(compacted.compaction_response_id.some());
                }
            }
            ("guardian_assessment", Payload::Other(payload)) => thread.assessed(&payload.read(), line, time),
            (
                "inter_agent_communication"
                | "inter_agent_communication_metadata"
                | "world_state"
                | "security_risk_score"
                | "realtime_item"
                | "retained_context"
                | "guardian_assessment",
                _,
            ) => {}
            ("", _) if record.record_type.is_some() => {}
            // Before the envelope, items were records.
            (_, Payload::Absent) => {
                let item: Payload<'_> = json::from_slice(line.bytes).unwrap_or_default();
                return thread.item(&item, line, time);
            }
            _ => return RecordKind::Unknown,
        }
        RecordKind::Known
    }
}
