//! What a call means: its purpose, which agent made it, whether its failure is an answer, and whether its change needs a check.

use std::hash::{BuildHasher as _, Hash};

use foldhash::HashMap;
use foldhash::quality::FixedState;

use crate::adapters::shared::tools::{asks_human, polls};
use crate::base::split::base_name;
use crate::base::text::SharedStr;

/// A hash that is the same in every run.
pub(in crate::analysis) fn hash_of(value: impl Hash) -> u64 {
    FixedState::default().hash_one(value)
}

/// What calls of a tool mean, by its name.
#[derive(Debug, Clone, Copy)]
pub(in crate::analysis) struct ToolMeaning {
    /// Whether they only ask for the state of something that runs: each of them is a call of its own.
    pub polls: bool,
    /// Whether they wait for an answer of a human.
    pub asks_human: bool,
}

/// The meanings of tools. Millions of calls are of a few tools, so that each is found once.
#[derive(Debug, Default)]
pub(in crate::analysis) struct ToolMeanings(HashMap<SharedStr, ToolMeaning>);

impl ToolMeanings {
    /// The meaning of a tool.
    pub(in crate::analysis) fn of(&mut self, tool: &str) -> ToolMeaning {
        if let Some(known) = self.0.get(tool) {
            return *known;
        }
        let meaning = ToolMeaning { polls: polls(tool), asks_human: asks_human(tool) };
        self.0.insert(tool.into(), meaning);
        meaning
    }
}

/// What a call is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::analysis) enum Purpose {
    /// To read or to search.
    Explore,
    /// To change files.
    Edit,
    /// To run tests.
    Test,
    /// To check code otherwise: to build it, or to run a linter.
    Check,
    /// None of these.
    #[default]
    Other,
    /// The log does not show the command.
    Unknown,
}

impl Purpose {
    /// The purpose of a call by its category and the kind of its command.
    pub(in crate::analysis) fn of(category: Option<&str>, command_kind: Option<&str>) -> Self {
        match (category, command_kind) {
            (Some("shell"), None) => Self::Unknown,
            (Some("read" | "search" | "web"), _) | (_, Some("read" | "search")) => Self::Explore,
            (Some("edit" | "write"), _) | (_, Some("edit")) => Self::Edit,
            (_, Some("test")) => Self::Test,
            (_, Some("build" | "lint")) => Self::Check,
            _ => Self::Other,
        }
    }

    /// Whether it checks a change.
    pub(in crate::analysis) const fn is_verifying(self) -> bool {
        matches!(self, Self::Test | Self::Check)
    }
}

/// A hash of an agent: one hash for all main agents, and for a subagent that of its id, or of its name if the log has no id.
pub(in crate::analysis) fn hash_of_agent(is_subagent: bool, id: Option<&str>, name: Option<&str>) -> u64 {
    hash_of((is_subagent, is_subagent.then(|| id.or(name))))
}

/// The agent of the response that made a call, among the responses of its session.
pub(in crate::analysis) fn agent_of_call<T>(
    turns: &[T],
    number: Option<i64>,
    number_and_agent: impl Fn(&T) -> (i64, u64),
) -> Option<u64> {
    let position = turns.binary_search_by_key(&number?, |turn| number_and_agent(turn).0).ok()?;
    turns.get(position).map(|turn| number_and_agent(turn).1)
}

/// Programs that state by the exit status 1 that nothing was found, or that something differs. Source: POSIX.
const ANSWERING: &[&str] = &[
    "[", "[[", "ack", "ag", "cmp", "command", "diff", "egrep", "fgrep", "findstr", "grep", "pgrep", "rg", "test",
    "ugrep", "which", "zgrep",
];

/// Programs that only remove or create empty files and directories.
const PREPARING: &[&str] = &["mkdir", "rm", "rmdir", "touch", "unlink"];

/// Extensions of documents, which no test reads.
const DOCUMENTS: &[&str] = &["adoc", "asciidoc", "log", "markdown", "md", "org", "rst", "txt"];

/// Files with the extension of a document that programs read.
const READ_BY_PROGRAMS: &[&str] = &["cmakelists.txt", "constraints.txt", "requirements.txt", "robots.txt"];

/// Whether the exit status of a shell command is an answer and no failure: `grep` without a match.
pub(in crate::analysis) fn is_answer(exit_code: Option<i64>, command_kind: Option<&str>, target: Option<&str>) -> bool {
    let is_search = command_kind == Some("search") || target.is_some_and(|program| ANSWERING.contains(&program));
    exit_code == Some(1) && is_search
}

/// Whether a call that changed files changed nothing that a test can check: documents, or files that were only removed. `is_shell` if
/// `target` is a program.
pub(in crate::analysis) fn needs_no_check(is_shell: bool, target: Option<&str>) -> bool {
    let Some(target) = target else { return false };
    if is_shell {
        return PREPARING.contains(&target);
    }
    let name = base_name(target).to_ascii_lowercase();
    let is_requirements = name.starts_with("requirements");
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    DOCUMENTS.contains(&extension) && !is_requirements && !READ_BY_PROGRAMS.contains(&name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exit_status_can_be_an_answer() {
        assert!(is_answer(Some(1), Some("search"), Some("cat")));
        assert!(is_answer(Some(1), Some("read"), Some("diff")));
        assert!(!is_answer(Some(2), Some("search"), Some("grep")));
        assert!(!is_answer(Some(1), Some("run"), Some("node")));
        assert!(!is_answer(None, Some("search"), Some("grep")));
    }

    #[test]
    fn documents_need_no_check() {
        for path in ["/work/README.md", "docs\\plan.MD", "notes.txt", "a.rst"] {
            assert!(needs_no_check(false, Some(path)), "{path}");
        }
        for path in ["/work/CMakeLists.txt", "requirements-dev.txt", "src/a.rs", "package.json", "Makefile"] {
            assert!(!needs_no_check(false, Some(path)), "{path}");
        }
        assert!(needs_no_check(true, Some("rm")) && !needs_no_check(true, Some("sed")) && !needs_no_check(false, None));
    }
}
