//! Claude Code's transcripts, `~/.claude/projects/**/*.jsonl`, with those of subagents in their three places: files of
//! their own, inline sidechains, and `agent_progress` records of the parent.
//!
//! A response is one `message.id` over all its lines and files (`docs/accounting.md#identity-of-a-response`). A resumed session
//! begins as a copy of the old one: the ledger counts each response once. `toolUseResult.usage` of a call that runs a subagent is the
//! usage of the subagent's last response, which no progress record contains (`docs/accounting.md#subagents`).
//!
//! # `claude-transcript`
//!
//! `~/.claude/projects/**/*.jsonl`. Subagents are in `SESSION/subagents/agent-*.jsonl`, in files next to the session (2.0), in the
//! session's file as sidechains (1.0), or in `progress` records of the parent. Recognised by `sessionId` (not `session_id`) with
//! `type` `assistant`, `user` (with `uuid` or an object as `message`), `system`, `progress`; `summary` with `leafUuid`; `file-history-snapshot` with `messageId`. Seen:
//! 332 files, 1.0.17 to 2.1.181, and parts of 2.1.258 and 2.1.260.
//!
//! | what | from |
//! | --- | --- |
//! | session | `sessionId` of each record: a file may contain several (4 files do); a subagent's file contains its parent's |
//! | version, cwd, branch, entrypoint | `version` (the last), `cwd`, `gitBranch`, `entrypoint` (the first) |
//! | turn | one per `message.id` over all lines and files; model `message.model`; time of its first line |
//! | input, cache read, cache write | `message.usage.input_tokens`, `cache_read_input_tokens`, `cache_creation_input_tokens`; its 1-hour part is `cache_creation.ephemeral_1h_input_tokens` |
//! | output, reasoning | `output_tokens`, the largest of its lines; `output_tokens_details.thinking_tokens` |
//! | service tier, speed, web searches | `usage.service_tier`, `speed`, `server_tool_use.web_search_requests`; `inference_geo`, for the price |
//! | parts of a response | `usage.iterations[]` of the types `advisor_message` and `compaction`, and attempts that a `fallback_message` replaced, are turns with their own model ([parts of a response](accounting.md#parts-of-a-response)) |
//! | total | `cost-state`: the sums of a process by model, with the cost ([saved totals](accounting.md#saved-totals)) |
//! | parent | `forkedFrom.sessionId`, `parentSessionId` of `fork-context-ref`, `session_id` of a job (`sessionKind: bg`), else the owner of a copied history |
//! | subagent | `isSidechain` with `agentId`, or `progress.data` of type `agent_progress`; its type is `subagent_type` of the call, else `agentType` of `agent-ID.meta.json` beside its file |
//! | effort, skill, plugin, agent type | `effort`, `attributionSkill`, `attributionPlugin`, `attributionAgent`; before 2.1.129 the skill by [the rule for all runtimes](accounting.md#attribution). `attributionMcpServer` and `attributionMcpTool` are not used: of 136 responses, 6 had called that server |
//! | slash command | `<command-name>` of a user line. It is a skill if a line with `Base directory for this skill:` follows |
//! | cache miss reason | `message.diagnostics.cache_miss_reason.type` |
//! | subagent's last response | `toolUseResult.usage` of the Task or Agent result, unless a response with the same prompt is logged |
//! | cost | `costUSD` of the line, in versions that log it; else unknown |
//! | call | `tool_use`, `server_tool_use`, `mcp_tool_use` blocks; result `tool_result` with `is_error` and `toolUseResult`, which can be on an earlier line than a parallel call |
//! | call status | `toolDenialKind`: `user-rejected`, `permission-rule` and `automode-…` are `denied`, `interrupted` is `cancelled`. Without it, `denied` by the beginning of a failed result's text; `error` if `is_error` (unless `returnCodeInterpretation` explains the exit status) or `interrupted`; else `ok` |
//! | exit code | of a failed shell call: `Exit code N` at the beginning of its text |
//! | call duration | `toolUseResult.durationMs`, `totalDurationMs` or `durationSeconds`, else the result's time less the call's |
//! | file change | `toolUseResult.filePath`, `type`, `structuredPatch`; a new file's lines from its `content`. `agent_progress` and subagents' files contain none of these: the lines are those of a line diff of the call's arguments (the same numbers in 778 of 781 edits that have both), unknown with `replace_all`. A write adds all lines of its content; the lines that it replaces in an older file are unknown |
//! | pull requests | `prUrl` of `pr-link`, and what calls that make them print |
//! | events | `compact_boundary` (compaction), `api_error` (retry), lines with `isApiErrorMessage` (error; the class in `error` is the code), first record of an agent (subagent), refused calls. Those on lines of a subagent are the subagent's |
//! | user turns | user lines with text or an image, except results, `isMeta`, `isCompactSummary`, sidechains, and texts that the program writes (`<command-name>`, `<local-command-…`, `<bash-…`, `[Request interrupted`). The text begins after the elements that an editor, a hook or the program adds (`<ide_opened_file>`, `<ide_selection>`, `<system-reminder>` …); without more text, it is no prompt. `origin.kind`, `promptSource` and `turnOrigin` state the author; without them, texts that begin as messages of other agents are not typed (`<task-notification>`, `Another Claude session sent a message:`, `<teammate-message`, `<cross-session-message`, `[Cross-session`, `[Subagent hand-back]`). Also attachments of the type `queued_command` with `commandMode: prompt` |
//! | status | there is no end record: `error` if the last main record is an API error; `aborted` if it is "[Request interrupted by user…"; `success` if the last main response did not stop for a tool and none of its calls is open; else `incomplete` |
//!
//! *Exact*: input and cache counts (they never differ between the lines of one id: 0 of 19,810), and output since about 2.1.62.
//! *Lower bound*: output if more than half of the main agent's and subagents' responses have no `stop_reason`: 2.0 to 2.1.42 log
//! the count from the start of the stream (null in 53 % of responses of 2.0.64, in nearly all of 2.1.12 to 2.1.42;
//! anthropics/claude-code#22686). Also if a response of a subagent has no `stop_reason` and at most 32 output tokens, if a response
//! was aborted
//! (`isAbortedMidStream`), or if only the last response of an agent is logged. *Unknown*: the model of such an agent.
//! `<synthetic>` responses are not turns (39 seen). Journals (`journal.jsonl`) and states (`workflows/wf_*.json`) of workflows,
//! `custom-title.json` and `.claude/jobs/*/timeline.jsonl` are auxiliary, and [others](formats.md#side-files).

use self::records::Record;
use self::session::Session;
pub(crate) use self::side_records::is_auxiliary;
use self::side_records::{CostState, ForkContext, PullRequestLink};
use crate::adapters::engine::sessions::{Sessions, streaming_sessions};
use crate::adapters::engine::{Adapter, Context, Fold, Probe, RecordErrors, RecordKind, fold};
use crate::json::fields::Maybe;
use crate::json::lines::Line;
use crate::json::{self, Raw};
use crate::model::health::Reason;
use crate::model::places::Place;
use crate::model::session::Capabilities;

mod records;
mod session;
mod side_records;
mod subagents;

pub(crate) const ADAPTER: Adapter = Adapter {
    id: "claude-transcript",
    runtime: "claude",
    about: "Claude Code, transcripts under ~/.claude/projects",
    tested: Some("2.1.296"),
    capabilities: Capabilities::TURNS
        .and(Capabilities::TOOL_CALLS)
        .and(Capabilities::FILE_CHANGES)
        .and(Capabilities::SUBAGENTS)
        .and(Capabilities::COMPACTIONS)
        .and(Capabilities::RETRIES)
        .and(Capabilities::PERMISSION_DENIALS)
        .and(Capabilities::WEB_SEARCHES)
        .and(Capabilities::USER_TURNS)
        .and(Capabilities::KEPT_BY_RUNTIME),
    places: &[
        Place::variable("CLAUDE_CONFIG_DIR", ".claude", "projects"),
        Place::variable("CLAUDE_CONFIG_DIR", ".config/claude", "projects"),
    ],
    claims,
    parse: fold::<Transcript>,
};

fn claims(probe: &Probe<'_>) -> u32 {
    match probe.kind() {
        // Gemini CLI lists prompts under the same names, without ids of records.
        "user" if !probe.has("uuid") && !probe.raw("message").is_object() => 0,
        "assistant" | "user" | "system" | "progress" | "attachment" if probe.has("sessionId") => 2,
        // They are at the beginning of a file, without a session id.
        "summary" if probe.has("leafUuid") => 2,
        "file-history-snapshot" if probe.has("messageId") => 2,
        // Other runtimes have results as well.
        "result" | "started" => 0,
        kind if (side_records::is_known(kind) || kind == "cost-state") && probe.has("sessionId") => 1,
        _ => 0,
    }
}

struct Transcript {
    context: Context,
    sessions: Sessions<Session>,
    /// The session whose history the file repeats, from a record that names no session of its own.
    parent: Option<String>,
}

impl Fold for Transcript {
    type Record<'a> = Record<'a>;

    fn new(context: &Context) -> Self {
        Self { context: context.clone(), sessions: Sessions::new(), parent: None }
    }

    fn line(&mut self, line: Line<'_>, damage: &mut RecordErrors) -> Result<RecordKind, json::Error> {
        let mut record = Record::default();
        json::read_into(line.bytes, &mut record)?;
        Ok(self.see(line, &record, damage))
    }

    fn record(&mut self, line: Line<'_>, record: Record<'_>, damage: &mut RecordErrors) -> RecordKind {
        self.see(line, &record, damage)
    }

    streaming_sessions!(Session::finish);
}

impl Transcript {
    fn see(&mut self, line: Line<'_>, record: &Record<'_>, damage: &mut RecordErrors) -> RecordKind {
        let kind = record.kind.as_str();
        // The counts of a compaction are those of the context.
        if matches!(kind, "system" | "attachment")
            && !record.subtype.as_str().ends_with("compact_boundary")
            && memchr::memmem::find(line.bytes, b"\"usage\"").is_some()
        {
            damage.unread_counts("record", Raw(line.bytes));
        }
        match kind {
            "assistant" | "user" | "system" | "progress" | "cost-state" | "pr-link" => {}
            "attachment" if record.attachment.as_ref().is_some_and(|it| it.is_prompt()) => {}
            "attachment" if record.attachment.as_ref().is_some_and(|it| it.is_offer()) => {
                self.offered(record, line);
                return RecordKind::Known;
            }
            "fork-context-ref" => {
                self.fork(line);
                return RecordKind::Known;
            }
            kind if kind == "attachment" || side_records::is_known(kind) => return RecordKind::Known,
            _ => return RecordKind::Unknown,
        }
        let Some(id) = record.session_id.some() else {
            if matches!(record.message.usage, Maybe::Present(_)) {
                damage.note(Reason::NoUsage);
            }
            return RecordKind::Known;
        };
        let new = || Session::new(&self.context, id, line.number);
        let Some(session) = self.sessions.get(id, line.number, new) else { return RecordKind::Known };
        if record.kind.as_str() == "pr-link" {
            let link: PullRequestLink<'_> = Raw(line.bytes).read();
            session.conversation.builder.session.pull_requests.extend(link.address());
            return RecordKind::Known;
        }
        if record.kind.as_str() == "cost-state" {
            let state: CostState<'_> = Raw(line.bytes).read();
            session.conversation.builder.session.totals.extend(state.total(
                &session.conversation.builder,
                line,
                damage,
            ));
            return RecordKind::Known;
        }
        session.record(record, line, damage);
        if let Some(parent) = &self.parent {
            session.set_parent(parent);
        }
        RecordKind::Known
    }

    /// A list of skills, tools or MCP servers. It follows a record of its session, whose times it does not change.
    fn offered(&mut self, record: &Record<'_>, line: Line<'_>) {
        let Some(attachment) = &record.attachment else { return };
        if let Some(session) = self.sessions.current(line.number)
            && Some(session.conversation.builder.session.session_id.as_str()) == record.session_id.some()
        {
            attachment.offer(&mut session.conversation.builder);
        }
    }

    /// A record that names the session whose history is the context of this file.
    fn fork(&mut self, line: Line<'_>) {
        let fork: ForkContext<'_> = Raw(line.bytes).read();
        let Some(parent) = fork.parent() else { return };
        if !self.sessions.is_empty()
            && let Some(session) = self.sessions.current(line.number)
        {
            session.set_parent(parent);
        }
        self.parent = Some(parent.to_owned());
    }
}
