//! Providers of goose that are agents of other programs.

/// An agent of another program.
pub(super) struct Agent {
    pub(super) runtime: &'static str,
    /// The entrypoints of its sessions that a person started, and not goose.
    pub(super) interactive: &'static [&'static str],
}

/// Claude Code: goose starts `claude -p`, or an adapter of the Agent SDK, whose entrypoints begin with `sdk-`.
const CLAUDE: Agent = Agent { runtime: "claude", interactive: &["cli", "claude-vscode", "claude-desktop"] };
/// Codex: goose starts `codex exec`.
const CODEX: Agent =
    Agent { runtime: "codex", interactive: &["codex-tui", "codex_cli_rs", "codex_vscode", "Codex Desktop"] };

const fn unknown_entrypoints(runtime: &'static str) -> Agent {
    Agent { runtime, interactive: &[] }
}

/// The agent that a provider runs. It keeps a log of its own, and goose gets only a part of what it spent.
///
/// `providers/claude_code.rs`, `codex.rs`, `gemini_cli.rs` and `cursor_agent.rs` start the program and read its output; those that end
/// in `-acp` talk to it by the Agent Client Protocol (`declarative_acp/`). Of Claude Code, goose stores the cached tokens in newer
/// versions only (`extract_usage_tokens` in `cli_common.rs`).
pub(super) fn agent_of(provider: &str) -> Option<&'static Agent> {
    static AGENTS: [(&str, Agent); 10] = [
        ("claude-code", CLAUDE),
        ("claude-acp", CLAUDE),
        ("codex", CODEX),
        ("codex-acp", unknown_entrypoints("codex")),
        ("gemini-cli", unknown_entrypoints("gemini")),
        ("cursor-agent", unknown_entrypoints("cursor")),
        ("cursor-acp", unknown_entrypoints("cursor")),
        ("copilot-acp", unknown_entrypoints("copilot")),
        ("amp-acp", unknown_entrypoints("amp")),
        ("pi-acp", unknown_entrypoints("pi")),
    ];
    AGENTS.iter().find(|(name, _)| *name == provider).map(|(_, agent)| agent)
}
