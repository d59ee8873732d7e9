//! Removes recognised secrets from all stored text. Each function lists all fields of its structure, so that a new one needs a decision.

use std::borrow::Cow;
use std::ops::Deref;

use super::secrets::redacted;
use crate::base::text::Symbol;
use crate::model::health::Health;
use crate::model::session::{Details, Event, FileChange, Offer, SessionResult, ToolCall, Turn};
use crate::model::source::Source;

/// Removes secrets and mail addresses from all text of a file. Paths of logs, ids and names of models are kept: rows refer to each
/// other by them.
pub fn redact(source: &mut Source) {
    source.message.iter_mut().for_each(redact_text);
    redact_health(&mut source.health);
    source.sessions.iter_mut().for_each(redact_session);
    source.verdicts.iter_mut().filter_map(|it| it.verdict.message.as_mut()).for_each(redact_text);
}

fn redact_health(health: &mut Health) {
    health.rejects.iter_mut().for_each(|reject| redact_text(&mut reject.example));
}

fn redact_text<T: Deref<Target = str> + From<String>>(text: &mut T) {
    if let Cow::Owned(redacted) = redacted(text) {
        *text = redacted.into();
    }
}

/// As [`redact`], for one session.
pub fn redact_session(session: &mut SessionResult) {
    let SessionResult {
        session_id: _,
        runtime: _,
        format: _,
        line: _,
        recording: _,
        runtime_version: _,
        parent_session_id: _,
        continues: _,
        id_if_cut: _,
        provider_session_id: _,
        agent,
        entrypoint: _,
        cwd,
        git_branch,
        repository,
        host: _,
        user_name: _,
        model: _,
        status: _,
        error_kind: _,
        error_message,
        stop_reason: _,
        exit_code: _,
        started_at: _,
        ended_at: _,
        duration_ms: _,
        stated_turns: _,
        user_turns: _,
        prompts: _,
        prompt_candidates: _,
        typed_message_ids: _,
        stated_tool_calls: _,
        stated_tool_errors: _,
        stated_lines: _,
        subagents: _,
        capabilities: _,
        under_reports: _,
        labels,
        prompt,
        text,
        turns,
        tool_calls,
        file_changes,
        events,
        totals,
        limits: _,
        is_estimated: _,
        verdicts,
        trial: _,
        is_trial_result: _,
        unread: _,
        is_prompted_by_program: _,
        delegates: _,
        offer,
        pull_requests: _,
        contains: _,
        messages: _,
        is_copied_history: _,
        delegation: _,
        attempts: _,
        inherits_total: _,
        has_disputed_totals: _,
        answers: _,
    } = session;
    for verdict in verdicts {
        verdict.message.iter_mut().for_each(redact_text);
    }
    *labels = std::mem::take(labels).into_iter().map(|label| redacted(&label).into_owned()).collect();
    let Offer { instructions: _, tools, skills, skills_bytes: _, mcp_servers } = offer;
    for names in [tools, skills, mcp_servers].into_iter().flatten() {
        *names = std::mem::take(names).into_iter().map(|name| Symbol::new(&redacted(&name))).collect();
    }
    agent.iter_mut().for_each(redact_text);
    error_message.iter_mut().for_each(redact_text);
    [cwd, git_branch, repository, prompt, text].into_iter().flatten().for_each(redact_text);
    turns.iter_mut().for_each(|turn| redact_turn(turn));
    tool_calls.iter_mut().for_each(|call| redact_call(call));
    file_changes.iter_mut().for_each(redact_change);
    events.iter_mut().for_each(redact_event);
    let agents = totals.iter_mut().flat_map(|total| &mut total.models).flat_map(|model| &mut model.agents);
    agents.filter_map(|agent| agent.name.as_mut()).for_each(redact_text);
}

fn redact_turn(turn: &mut Turn) {
    let Turn {
        line: _,
        identity: _,
        message_id: _,
        request_id: _,
        agent,
        agent_id: _,
        is_subagent: _,
        provider: _,
        model: _,
        effort: _,
        occurred_at: _,
        duration_ms: _,
        stop_reason: _,
        service_tier: _,
        speed: _,
        inference_geo: _,
        context_window: _,
        tokens: _,
        web_searches: _,
        cost: _,
        is_echo: _,
        has_predecessors: _,
        is_of_killed: _,
        latency_ms: _,
        details,
        ended_at: _,
    } = turn;
    agent.iter_mut().for_each(redact_text);
    if let Some(details) = details {
        let Details { skill, plugin, agent_type, command, cache_miss_reason: _, record: _, is_part: _, review: _ } =
            &mut **details;
        [skill, plugin, agent_type, command].into_iter().flatten().for_each(redact_text);
    }
}

fn redact_call(call: &mut ToolCall) {
    let ToolCall {
        line: _,
        turn: _,
        message_id: _,
        call_id: _,
        agent,
        is_subagent: _,
        tool,
        category: _,
        mcp_server,
        occurred_at: _,
        ended_at: _,
        duration_ms: _,
        status: _,
        exit_code: _,
        args_bytes: _,
        result_bytes: _,
        target,
        args,
        result,
        args_hash: _,
        command_kind: _,
        result_failed_tests: _,
        skill,
        sign: _,
        commits: _,
    } = call;
    redact_text(tool);
    [agent, mcp_server, skill].into_iter().flatten().for_each(redact_text);
    [target, args, result].into_iter().flatten().for_each(redact_text);
}

fn redact_change(change: &mut FileChange) {
    let FileChange {
        line: _,
        call: _,
        occurred_at: _,
        path,
        operation: _,
        lines_added: _,
        lines_removed: _,
        line_sketch: _,
    } = change;
    redact_text(path);
}

fn redact_event(event: &mut Event) {
    let Event {
        line: _,
        key: _,
        turn: _,
        call_id: _,
        agent,
        is_subagent: _,
        occurred_at: _,
        kind: _,
        code,
        message,
        tokens_before: _,
        tokens_after: _,
    } = event;
    [agent, code].into_iter().flatten().for_each(redact_text);
    message.iter_mut().for_each(redact_text);
}
