//! Removes recognised secrets from all stored text.

use std::borrow::Cow;
use std::ops::Deref;

use super::secrets::redacted;
use crate::base::text::Symbol;
use crate::model::health::Health;
use crate::model::session::{Details, Event, FileChange, Offer, SessionResult, ToolCall};
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
    // All fields are listed, so that a new one needs a decision.
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
        totals: _,
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
    for attribution in turns.iter_mut().filter_map(|turn| turn.details.as_mut()) {
        let Details { skill, plugin, agent_type, command, cache_miss_reason: _ } = &mut **attribution;
        [skill, plugin, agent_type, command].into_iter().flatten().for_each(redact_text);
    }
    for call in tool_calls {
        let ToolCall { tool, mcp_server, agent, skill, target, args, result, .. } = &mut **call;
        [target, args, result].into_iter().flatten().for_each(redact_text);
        let names = [Some(tool), mcp_server.as_mut(), agent.as_mut(), skill.as_mut()];
        names.into_iter().flatten().for_each(redact_text);
    }
    for change in file_changes {
        let FileChange { path, .. } = change;
        redact_text(path);
    }
    for event in events {
        let Event { code, message, .. } = event;
        code.iter_mut().for_each(redact_text);
        message.iter_mut().for_each(redact_text);
    }
}
