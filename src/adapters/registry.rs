//! All formats. Only [`detect`](super::detect) and [`driver`](super::driver) use this list.

use super::api::Adapter;
use super::probe::Probe;
use super::{
    aider, amp_thread, antigravity_transcript, atif, claude_stream_json, claude_transcript, cline_session, cline_task,
    codex_exec, codex_exec_legacy, codex_rollout, continue_dev_data, continue_session, copilot_chat, copilot_events,
    crush, cursor_stream_json, cursor_transcript, droid_session, drover_events, gemini_chat, gemini_json,
    gh_aw_token_usage, goose, hermes, inspect_log, kimi_wire, kiro, mini_swe_agent, openclaw_events, openclaw_session,
    openclaw_trajectory, opencode_db, opencode_export, opencode_run, opencode_storage, openhands, otlp, pi_json,
    pi_session, pi_subagent, qwen_chat, side_files, swe_agent, trial_results, zag_json, zag_log, zed_db,
};
use crate::model::sqlite_schema::Table;

/// All formats. If two claim a log equally, the first wins.
pub static ADAPTERS: &[Adapter] = &[
    aider::ANALYTICS,
    aider::CHAT,
    aider::LLM_HISTORY,
    amp_thread::ADAPTER,
    antigravity_transcript::ADAPTER,
    atif::ADAPTER,
    claude_stream_json::JSON,
    claude_stream_json::STREAM,
    claude_transcript::ADAPTER,
    cline_session::ADAPTER,
    cline_task::CLINE,
    cline_task::ROO,
    cline_task::KILO,
    codex_exec::ADAPTER,
    codex_exec_legacy::ADAPTER,
    codex_rollout::ADAPTER,
    continue_dev_data::ADAPTER,
    continue_session::ADAPTER,
    copilot_chat::ADAPTER,
    copilot_events::ADAPTER,
    crush::ADAPTER,
    cursor_stream_json::ADAPTER,
    cursor_transcript::ADAPTER,
    droid_session::ADAPTER,
    drover_events::ADAPTER,
    gemini_chat::ADAPTER,
    gemini_json::JSON,
    gemini_json::STREAM,
    gh_aw_token_usage::ADAPTER,
    goose::DATABASE,
    goose::SESSION,
    trial_results::HARBOR,
    hermes::DATABASE,
    hermes::SESSION,
    hermes::TRANSCRIPT,
    inspect_log::ADAPTER,
    kimi_wire::ADAPTER,
    kiro::CONVERSATION,
    kiro::SESSION,
    mini_swe_agent::ADAPTER,
    openclaw_events::ADAPTER,
    openclaw_session::ADAPTER,
    openclaw_trajectory::ADAPTER,
    opencode_db::ADAPTER,
    opencode_export::ADAPTER,
    opencode_run::ADAPTER,
    opencode_storage::ADAPTER,
    openhands::COMPLETIONS,
    openhands::CONVERSATION,
    openhands::EVALUATION,
    openhands::EVENTS,
    otlp::ADAPTER,
    pi_json::ADAPTER,
    pi_session::PI,
    pi_subagent::ADAPTER,
    qwen_chat::ADAPTER,
    gemini_chat::QWEN,
    swe_agent::ADAPTER,
    trial_results::TERMINAL_BENCH,
    zag_json::JSON,
    zag_json::STREAM,
    zag_log::ADAPTER,
    zed_db::ADAPTER,
];

/// Runtimes that report costs which hold only for the models of one maker, and the maker as the catalog names it. Claude Code
/// prices a model that it does not know as Claude Opus: docs/accounting.md#cost.
static PRICES_OF_ONE_MAKER: &[(&str, &str)] = &[("claude", "anthropic")];

/// The only maker whose models a runtime has the right prices of; `None` if the runtime reports no costs of its own, or those of the
/// provider.
pub fn maker_with_known_prices(runtime: &str) -> Option<&'static str> {
    PRICES_OF_ONE_MAKER.iter().find(|(name, _)| *name == runtime).map(|(_, maker)| *maker)
}

/// The tables that contain sessions, where the runtime writes a database.
pub static TABLES: &[Table] = &[
    continue_dev_data::TOKENS,
    copilot_events::USAGE,
    copilot_events::SESSIONS,
    crush::SESSIONS,
    goose::SESSIONS,
    hermes::SESSIONS,
    kiro::CONVERSATIONS_2,
    kiro::CONVERSATIONS,
    openclaw_session::EVENTS,
    openclaw_session::ENTRIES,
    openclaw_session::NODES,
    opencode_db::SESSION,
    opencode_db::SESSION_2,
    zed_db::THREADS,
];

/// The formats that are plain text, by the beginning of their first line.
pub(super) static TEXTS: &[(&str, &Adapter)] =
    &[(aider::CHAT_START, &aider::CHAT), (aider::REQUEST, &aider::LLM_HISTORY)];

/// Recognise files that belong to logs without being logs.
pub(super) static AUXILIARY: &[fn(&Probe<'_>) -> bool] = &[
    antigravity_transcript::is_auxiliary,
    claude_transcript::is_auxiliary,
    continue_dev_data::is_auxiliary,
    gh_aw_token_usage::is_auxiliary,
    inspect_log::is_auxiliary,
    kiro::is_auxiliary,
    openclaw_trajectory::is_auxiliary,
    side_files::is_auxiliary,
    trial_results::is_auxiliary,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_order() {
        for (index, adapter) in ADAPTERS.iter().enumerate() {
            assert!(ADAPTERS[..index].iter().all(|it| it.id != adapter.id), "{} is there twice", adapter.id);
            assert!(adapter.id.starts_with(adapter.runtime), "{}", adapter.id);
            assert!(!adapter.about.is_empty() && !adapter.about.ends_with('.'), "{}", adapter.id);
        }
    }
}
