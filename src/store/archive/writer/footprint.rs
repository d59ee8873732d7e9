//! About how much memory a source takes until it is written. All fields are listed, so that a new one needs a decision.

use crate::base::text::{LONGEST, SharedStr, Symbol};
use crate::base::time::Time;
use crate::model::id_hash::IdHash;
use crate::model::session::{
    Details, Event, FileChange, Limit, ModelTotal, Offer, SessionResult, ToolCall, Total, Turn, Verdict,
};
use crate::model::source::Source;
use crate::store::archive::facts::rows_of;

/// The sizes of what is the same in all sources, sessions and rows, in bytes.
const SOURCE: usize = 3_500;
const SESSION: usize = 1_200;
const ROW: usize = 256;
const CHANGE: usize = 112;
const TOTAL: usize = 512;
const NAME: usize = 64;

/// About how much memory a source takes, in bytes.
pub(super) fn footprint(source: &Source) -> usize {
    SOURCE + rows_of(&source.sessions) * ROW + source.sessions.iter().map(of_session).sum::<usize>()
}

fn of_session(session: &SessionResult) -> usize {
    let SessionResult {
        session_id,
        runtime: _,
        format: _,
        line: _,
        recording,
        runtime_version,
        parent_session_id,
        continues,
        provider_session_id,
        agent,
        entrypoint,
        cwd,
        git_branch,
        repository,
        host,
        user_name,
        model,
        status: _,
        error_kind: _,
        error_message,
        stop_reason,
        exit_code: _,
        started_at: _,
        ended_at: _,
        duration_ms: _,
        stated_turns: _,
        user_turns: _,
        prompts,
        prompt_candidates,
        typed_message_ids,
        stated_tool_calls: _,
        stated_tool_errors: _,
        stated_lines: _,
        subagents,
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
        limits,
        is_estimated: _,
        verdicts,
        trial,
        is_trial_result: _,
        unread: _,
        is_prompted_by_program: _,
        delegates,
        offer,
        pull_requests,
        id_if_cut,
        contains,
        messages,
        is_copied_history: _,
        delegation,
        attempts,
        inherits_total: _,
        has_disputed_totals: _,
    } = session;
    let own = [
        runtime_version,
        parent_session_id,
        continues,
        provider_session_id,
        entrypoint,
        cwd,
        git_branch,
        repository,
        host,
        user_name,
        prompt,
        text,
        trial,
        id_if_cut,
    ];
    let ids = prompt_candidates.keys().chain(typed_message_ids).chain(labels).chain(contains).chain([session_id]);
    let names = prompts.len()
        + prompt_candidates.len()
        + typed_message_ids.len()
        + subagents.len()
        + labels.len()
        + contains.len();
    [
        SESSION + names * NAME,
        recording.as_ref().map_or(0, |recording| recording.len() * size_of::<u64>()),
        strings(own),
        ids.map(String::len).sum(),
        words([agent, model, stop_reason]) + texts([error_message]),
        subagents.iter().map(of_word).sum(),
        pull_requests.iter().map(SharedStr::len).sum(),
        turns.iter().map(|turn| of_turn(turn)).sum(),
        tool_calls.iter().map(|call| of_call(call)).sum(),
        file_changes.iter().map(of_change).sum(),
        events.iter().map(of_event).sum(),
        totals.iter().map(of_total).sum(),
        limits.iter().map(of_limit).sum(),
        verdicts.iter().map(of_verdict).sum(),
        delegates.iter().map(|(provider, id)| NAME + of_word(provider) + id.len()).sum(),
        of_offer(offer),
        messages.len() * size_of::<IdHash>() * 2,
        attempts.iter().map(|attempt| NAME + attempt.steps.len() * size_of::<u64>()).sum(),
        delegation.as_ref().map_or(0, |it| NAME + it.asked_at.len() * size_of::<Time>()),
    ]
    .into_iter()
    .sum()
}

fn of_turn(turn: &Turn) -> usize {
    let Turn {
        line: _,
        ended_at: _,
        identity: _,
        message_id,
        request_id,
        agent,
        agent_id,
        is_subagent: _,
        provider,
        model,
        effort,
        occurred_at: _,
        duration_ms: _,
        stop_reason,
        service_tier,
        speed,
        inference_geo,
        context_window: _,
        tokens: _,
        web_searches: _,
        cost: _,
        is_echo: _,
        has_predecessors: _,
        is_of_killed: _,
        latency_ms: _,
        details,
    } = turn;
    let own = words([agent, agent_id, provider, model, effort, stop_reason, service_tier, speed, inference_geo]);
    texts([message_id, request_id]) + own + details.as_ref().map_or(0, |details| of_details(details))
}

fn of_details(details: &Details) -> usize {
    let Details { skill, plugin, agent_type, command, cache_miss_reason, record: _, is_part: _ } = details;
    size_of::<Details>() + words([skill, plugin, agent_type, command, cache_miss_reason])
}

fn of_call(call: &ToolCall) -> usize {
    let ToolCall {
        line: _,
        turn: _,
        message_id,
        call_id,
        agent,
        is_subagent: _,
        tool,
        category,
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
        commits,
    } = call;
    texts([message_id, target, args, result, commits])
        + call_id.len()
        + of_word(tool)
        + of_word(category)
        + words([agent, mcp_server, skill])
}

fn of_change(change: &FileChange) -> usize {
    let FileChange {
        line: _,
        call: _,
        occurred_at: _,
        path,
        operation: _,
        lines_added: _,
        lines_removed: _,
        line_sketch,
    } = change;
    CHANGE + path.len() + texts([line_sketch])
}

fn of_event(event: &Event) -> usize {
    let Event {
        line: _,
        key,
        turn: _,
        call_id,
        agent,
        is_subagent: _,
        occurred_at: _,
        kind: _,
        code,
        message,
        tokens_before: _,
        tokens_after: _,
    } = event;
    texts([key, call_id, message]) + words([agent, code])
}

fn of_total(total: &Total) -> usize {
    let Total {
        line: _,
        is_sum_of_counts: _,
        is_of_subagents: _,
        key,
        kind: _,
        occurred_at: _,
        duration_ms: _,
        api_duration_ms: _,
        turns: _,
        cost: _,
        models,
        covers_subagents: _,
        is_of_new_process: _,
        own: _,
        started_at: _,
    } = total;
    TOTAL + key.len() + models.iter().map(of_model).sum::<usize>()
}

fn of_model(total: &ModelTotal) -> usize {
    let ModelTotal { model, tokens: _, web_searches: _, cost: _, context_window: _, provider, effort } = total;
    size_of::<ModelTotal>() + words([model, provider, effort])
}

fn of_limit(limit: &Limit) -> usize {
    let Limit {
        line: _,
        key,
        occurred_at: _,
        limit_id,
        window_name,
        plan,
        window_minutes: _,
        used_percent: _,
        resets_at: _,
        reached,
    } = limit;
    texts([key]) + of_word(window_name) + words([limit_id, plan, reached])
}

fn of_verdict(verdict: &Verdict) -> usize {
    let Verdict { task, trial, name, passed: _, score: _, judge, judged_at: _, message, path } = verdict;
    size_of::<Verdict>() + name.len() + strings([task, trial, judge, message, path])
}

fn of_offer(offer: &Offer) -> usize {
    let Offer { instructions: _, tools, skills, skills_bytes: _, mcp_servers } = offer;
    let names = [tools, skills, mcp_servers].into_iter().flatten().flatten();
    names.map(|name| NAME + of_word(name)).sum()
}

fn strings<const N: usize>(strings: [&Option<String>; N]) -> usize {
    strings.into_iter().flatten().map(String::len).sum()
}

fn texts<const N: usize>(texts: [&Option<SharedStr>; N]) -> usize {
    texts.into_iter().flatten().map(SharedStr::len).sum()
}

fn words<const N: usize>(words: [&Option<Symbol>; N]) -> usize {
    words.into_iter().flatten().map(of_word).sum()
}

/// Rows share short words.
fn of_word(word: &Symbol) -> usize {
    if word.len() > LONGEST { word.len() } else { 0 }
}
