//! What the model of a session was given besides the conversation: docs/accounting.md#offers.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_64;

use crate::base::text::Symbol;

/// The instructions, tools, skills and MCP servers of a session, as far as its log contains them. Names only; no text is kept.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Offer {
    /// The system prompts and instruction files before the first response.
    pub instructions: Option<Instructions>,
    /// The tools that the model could call.
    pub tools: Option<BTreeSet<Symbol>>,
    /// The skills that it could load.
    pub skills: Option<BTreeSet<Symbol>>,
    /// The bytes of the list of skills, as the model reads it.
    pub skills_bytes: Option<i64>,
    /// The MCP servers that provided tools or instructions.
    pub mcp_servers: Option<BTreeSet<Symbol>>,
}

/// Instructions, without their text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instructions {
    /// Equal for equal texts in the same order.
    pub hash: i64,
    /// Their size in UTF-8.
    pub bytes: i64,
}

impl Instructions {
    /// These followed by another text.
    #[must_use]
    pub fn then(self, text: &str) -> Self {
        let hash = XxHash3_64::oneshot_with_seed(self.hash.cast_unsigned(), text.as_bytes()).cast_signed();
        Self { hash, bytes: self.bytes.saturating_add(i64::try_from(text.len()).unwrap_or(i64::MAX)) }
    }
}

impl Offer {
    /// Adds what another part of the session contains. The instructions of the first part count.
    pub fn join(&mut self, other: Self) {
        self.instructions = self.instructions.or(other.instructions);
        join_names(&mut self.tools, other.tools);
        join_names(&mut self.skills, other.skills);
        self.skills_bytes = self.skills_bytes.max(other.skills_bytes);
        join_names(&mut self.mcp_servers, other.mcp_servers);
    }
}

fn join_names(known: &mut Option<BTreeSet<Symbol>>, others: Option<BTreeSet<Symbol>>) {
    if let Some(others) = others {
        known.get_or_insert_default().extend(others);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_instructions_counts() {
        let of = |texts: &[&str]| texts.iter().fold(Instructions::default(), |all, text| all.then(text));
        assert_eq!(of(&["a", "b"]), of(&["a", "b"]));
        assert_eq!(of(&["a", "b"]).bytes, 2);
        assert_ne!(of(&["a", "b"]).hash, of(&["b", "a"]).hash);
        assert_ne!(of(&["a"]).hash, of(&["a", ""]).hash);
    }

    #[test]
    fn unknown_names_stay_unknown() {
        let names = |names: &[&str]| Some(names.iter().map(|name| Symbol::new(name)).collect::<BTreeSet<_>>());
        let mut offer = Offer { tools: names(&["Bash"]), ..Offer::default() };
        offer.join(Offer { tools: names(&["Read"]), skills: names(&[]), ..Offer::default() });
        assert_eq!(offer, Offer { tools: names(&["Bash", "Read"]), skills: names(&[]), ..Offer::default() });
    }
}
