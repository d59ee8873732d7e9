//! All formats. A new one is an entry here.

use crate::adapters::engine::api::Adapter;
use crate::adapters::engine::probe::Probe;
use crate::adapters::formats::{
    aider, amp, antigravity, atif, claude, claude_managed, cline, codex, continue_dev, copilot, crush, cursor, droid,
    drover, gemini, gh_aw, goose, hermes, inspect, kimi, kiro, mini_swe_agent, openclaw, opencode, openhands, otlp, pi,
    qwen, side_files, swe_agent, trials, zag, zed,
};
use crate::model::sqlite_schema::Table;

/// All formats, by runtime. If two claim a log equally, the first wins.
pub static ADAPTERS: &[Adapter] = &[
    aider::analytics::ANALYTICS,
    aider::chat::CHAT,
    aider::llm_history::LLM_HISTORY,
    amp::thread::ADAPTER,
    antigravity::transcript::ADAPTER,
    atif::trajectory::ADAPTER,
    claude::stream_json::JSON,
    claude::stream_json::STREAM,
    claude::transcript::ADAPTER,
    claude_managed::events::ADAPTER,
    cline::session::ADAPTER,
    cline::task::CLINE,
    cline::task::ROO,
    cline::task::KILO,
    codex::exec::ADAPTER,
    codex::exec_legacy::ADAPTER,
    codex::rollout::ADAPTER,
    codex::session::ADAPTER,
    continue_dev::dev_data::ADAPTER,
    continue_dev::session::ADAPTER,
    copilot::chat::ADAPTER,
    copilot::events::ADAPTER,
    crush::db::ADAPTER,
    cursor::stream_json::ADAPTER,
    cursor::transcript::ADAPTER,
    droid::session::ADAPTER,
    droid::stream_json::ADAPTER,
    drover::events::ADAPTER,
    gemini::chat::ADAPTER,
    gemini::json::JSON,
    gemini::json::STREAM,
    gh_aw::token_usage::ADAPTER,
    goose::sessions::DATABASE,
    goose::sessions::SESSION,
    goose::run::RUN,
    trials::results::HARBOR,
    hermes::sessions::DATABASE,
    hermes::sessions::SESSION,
    hermes::sessions::TRANSCRIPT,
    inspect::log::ADAPTER,
    kimi::wire::ADAPTER,
    kiro::conversation::CONVERSATION,
    kiro::session::SESSION,
    mini_swe_agent::trajectory::ADAPTER,
    openclaw::events::ADAPTER,
    openclaw::json::ADAPTER,
    openclaw::session::ADAPTER,
    openclaw::trajectory::ADAPTER,
    opencode::db::ADAPTER,
    opencode::export::ADAPTER,
    opencode::run::ADAPTER,
    opencode::storage::ADAPTER,
    openhands::completions::COMPLETIONS,
    openhands::events::CONVERSATION,
    openhands::evaluation::EVALUATION,
    openhands::events::EVENTS,
    otlp::export::ADAPTER,
    pi::json::ADAPTER,
    pi::session::PI,
    pi::subagent::ADAPTER,
    qwen::chat::ADAPTER,
    gemini::chat::QWEN,
    swe_agent::trajectory::ADAPTER,
    trials::results::TERMINAL_BENCH,
    zag::json::JSON,
    zag::json::STREAM,
    zag::log::ADAPTER,
    zed::db::ADAPTER,
];

/// Runtimes that report costs which hold only for the models of one maker, and the maker as the catalog names it. Claude Code
/// prices a model that it does not know as Claude Opus: docs/accounting.md#cost.
static PRICES_OF_ONE_MAKER: &[(&str, &str)] = &[("claude", "anthropic")];

/// The only maker whose models a runtime has the right prices of; `None` if the runtime reports no costs of its own, or those of the
/// provider.
pub fn maker_with_known_prices(runtime: &str) -> Option<&'static str> {
    PRICES_OF_ONE_MAKER.iter().find(|(name, _)| *name == runtime).map(|(_, maker)| *maker)
}

/// Runtimes whose subscription has windows of five hours and of a week that their logs need not contain.
pub static WITH_UNLOGGED_WINDOWS: &[&str] = &["claude"];

/// The tables that contain sessions, where the runtime writes a database.
pub static TABLES: &[Table] = &[
    continue_dev::dev_data::TOKENS,
    copilot::events::USAGE,
    copilot::events::SESSIONS,
    crush::db::SESSIONS,
    goose::sessions::SESSIONS,
    hermes::sessions::SESSIONS,
    hermes::sessions::SYSTEM_PROMPTS,
    kiro::conversation::CONVERSATIONS_2,
    kiro::conversation::CONVERSATIONS,
    openclaw::session::EVENTS,
    openclaw::session::ENTRIES,
    openclaw::session::NODES,
    openclaw::session::COLD_ARCHIVES,
    openclaw::session::ARCHIVES,
    opencode::db::SESSION,
    opencode::db::SESSION_2,
    zed::db::THREADS,
];

/// The formats that are plain text, by the beginning of their first line.
pub(super) static TEXTS: &[(&str, &Adapter)] =
    &[(aider::chat::CHAT_START, &aider::chat::CHAT), (aider::llm_history::REQUEST, &aider::llm_history::LLM_HISTORY)];

/// Recognise files that belong to logs without being logs.
pub(super) static AUXILIARY: &[fn(&Probe<'_>) -> bool] = &[
    antigravity::transcript::is_auxiliary,
    claude::transcript::is_auxiliary,
    cline::task::is_auxiliary,
    continue_dev::dev_data::is_auxiliary,
    gh_aw::token_usage::is_auxiliary,
    inspect::log::is_auxiliary,
    kiro::session::is_auxiliary,
    openclaw::trajectory::is_auxiliary,
    side_files::is_auxiliary,
    trials::results::is_auxiliary,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_and_begin_with_their_runtime() {
        for (index, adapter) in ADAPTERS.iter().enumerate() {
            assert!(ADAPTERS[..index].iter().all(|it| it.id != adapter.id), "{} is there twice", adapter.id);
            assert!(adapter.id.starts_with(adapter.runtime), "{}", adapter.id);
            assert!(!adapter.about.is_empty() && !adapter.about.ends_with('.'), "{}", adapter.id);
        }
    }
}
