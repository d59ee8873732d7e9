//! What a row is about: a skill, a plugin or an MCP server.

use polars::prelude::*;

use crate::analysis::rows::NONE;
use crate::store::frames::{tool_calls, turns};

/// What a row is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Skill,
    Plugin,
    Server,
}

impl Unit {
    pub(super) const ALL: [Self; 3] = [Self::Skill, Self::Plugin, Self::Server];

    /// The column with its name, and the name of its dimension.
    pub(super) const fn column(self) -> &'static str {
        match self {
            Self::Skill => turns::SKILL,
            Self::Plugin => turns::PLUGIN,
            Self::Server => tool_calls::MCP_SERVER,
        }
    }

    /// The units among dimensions; skills if there are none.
    pub(super) fn of(by: &[&str]) -> Vec<Self> {
        let found: Vec<Self> = Self::ALL.into_iter().filter(|unit| by.contains(&unit.column())).collect();
        if found.is_empty() { vec![Self::Skill] } else { found }
    }

    /// The server of a call.
    pub(super) fn server() -> Expr {
        col(tool_calls::MCP_SERVER).fill_null(lit(NONE))
    }

    /// What was in effect for a response.
    pub(super) fn of_turn(self) -> Expr {
        let shows_calls = col(turns::TOOL_CALLS).is_not_null();
        let none = || when(shows_calls.clone()).then(lit(NONE)).otherwise(lit(NULL));
        match self {
            Self::Skill | Self::Plugin => {
                when(col(self.column()).is_not_null()).then(col(self.column())).otherwise(none())
            }
            // A response has no server.
            Self::Server => lit(NONE),
        }
        .alias(self.column())
    }

    /// What a call loads, if it loads a skill.
    pub(super) fn of_load(self) -> Expr {
        let skill = || col(tool_calls::SKILL);
        match self {
            Self::Skill => skill(),
            Self::Plugin => plugin_of(skill()),
            Self::Server => lit(NONE),
        }
        .alias(self.column())
    }

    /// What a session offers, by the column with the names of skills or of servers.
    pub(super) fn of_offer(self, kind: Self, names: &str) -> Expr {
        match (self, kind) {
            (Self::Skill, Self::Skill) | (Self::Server, Self::Server) => col(names),
            (Self::Plugin, Self::Skill) => plugin_of(col(names)),
            _ => lit(NONE),
        }
        .alias(self.column())
    }
}

/// The plugin of a skill, which is named `PLUGIN:SKILL`.
fn plugin_of(skill: Expr) -> Expr {
    skill.str().extract(lit("^([^:]+):"), 1).fill_null(lit(NONE))
}
