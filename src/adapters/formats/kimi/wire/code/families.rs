//! The types of Kimi Code's records: a family and a name, as `usage.record`.

use crate::adapters::engine::Probe;

/// Whether a record is one of this protocol.
pub(in super::super) fn is_record(probe: &Probe<'_>) -> bool {
    probe.has("time") && is_known(probe.kind())
}

/// Whether a record belongs to a family that the runtime writes.
pub(in super::super) fn is_known(kind: &str) -> bool {
    const FAMILIES: [&str; 26] = [
        "config",
        "context",
        "cron",
        "file_history",
        "full_compaction",
        "goal",
        "interaction",
        "interruptionReminder",
        "llm",
        "mcp",
        "micro_compaction",
        "permission",
        "plan",
        "plan_mode",
        "plugin",
        "profile",
        "prompt",
        "runtime",
        "staleGuard",
        "swarm_mode",
        "task",
        "token_counting",
        "tools",
        "tower_mode",
        "turn",
        "usage",
    ];
    kind == "forked" || kind.split_once('.').is_some_and(|(family, _)| FAMILIES.contains(&family))
}
