//! What the model of a session is given: its instructions, and the names of tools, skills and MCP servers.

use serde::Deserialize;

use super::builder::Builder;
use super::{names, tools};
use crate::base::text::Symbol;
use crate::json::fields::{Flag, Text};
use crate::json::{self, Raw};

impl Builder {
    /// Adds a system prompt or an instruction file. Logs repeat them; those before the first response count.
    pub fn instructions(&mut self, text: &str) {
        if !text.is_empty() && self.takes_instructions() {
            let known = self.session.offer.instructions.unwrap_or_default();
            self.session.offer.instructions = Some(known.then(text));
        }
    }

    /// Whether there is no response yet.
    pub fn takes_instructions(&self) -> bool {
        self.session.turns.is_empty()
    }

    /// Adds the tools of a list, and the MCP servers in their names. The items are names, or objects in one of the usual forms.
    pub fn offer_tools(&mut self, list: Raw<'_>) {
        let Some(names) = names_in(list) else { return };
        let tools = names.iter().filter(|name| names::is_tool(name)).map(|name| Symbol::new(name));
        let servers = names.iter().filter_map(|name| tools::mcp_server(name)).filter_map(names::server);
        let offer = &mut self.session.offer;
        offer.tools.get_or_insert_default().extend(tools);
        offer.mcp_servers.get_or_insert_default().extend(servers);
    }

    /// Adds the skills of a list.
    pub fn offer_skills(&mut self, list: Raw<'_>) {
        if let Some(found) = names_in(list) {
            let skills = found.iter().filter_map(|name| names::name(name));
            self.session.offer.skills.get_or_insert_default().extend(skills);
        }
    }

    /// Adds the skills of a list in Markdown: `- NAME: DESCRIPTION`.
    pub fn offer_skills_in_text(&mut self, text: &str) {
        let names = text.lines().filter_map(listed_skill);
        self.session.offer.skills.get_or_insert_default().extend(names);
        self.offer_list_of_skills(text.len());
    }

    /// Adds the size of the list of skills, as the model reads it. A list that is repeated counts once.
    pub fn offer_list_of_skills(&mut self, bytes: usize) {
        let offer = &mut self.session.offer;
        offer.skills_bytes = offer.skills_bytes.max(i64::try_from(bytes).ok());
    }

    /// Adds the MCP servers of a list, without those that failed.
    pub fn offer_mcp_servers(&mut self, list: Raw<'_>) {
        if let Some(found) = names_in(list) {
            let servers = found.iter().filter_map(|name| names::server(name));
            self.session.offer.mcp_servers.get_or_insert_default().extend(servers);
        }
    }
}

/// The skill of a line of a list. Descriptions have several lines, and some are items of lists, too.
fn listed_skill(line: &str) -> Option<Symbol> {
    let item = line.strip_prefix("- ")?;
    let name = item.split_once(": ").map_or(item, |(name, _)| name).trim_end();
    names::name(name)
}

/// An item of a list: an object in one of the usual forms.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Item<'a> {
    name: Text<'a>,
    function: Function<'a>,
    /// The tools of a namespace.
    tools: Raw<'a>,
    status: Text<'a>,
    enabled: Flag,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Function<'a> {
    name: Text<'a>,
}

/// The levels of lists that are read: tools, and those of a namespace. A log may contain any number of them.
const LEVELS: usize = 4;

/// The names in a list. `None` if it is absent, or no list.
fn names_in(list: Raw<'_>) -> Option<Vec<String>> {
    let mut names = Vec::new();
    add_names(list, LEVELS, &mut names)?;
    Some(names)
}

/// Adds the name of each item: itself, its member `name`, or that of its member `function`. A namespace contains several tools. What is
/// not connected or enabled is not offered. `None` if it is not a list, or below all levels.
fn add_names(list: Raw<'_>, levels: usize, names: &mut Vec<String>) -> Option<()> {
    let below = levels.checked_sub(1)?;
    if !list.is_list() {
        return None;
    }
    let items: Vec<Raw<'_>> = json::from_slice(list.0).ok()?;
    for raw in items {
        if raw.is_string() {
            names.push(raw.text().into_owned());
            continue;
        }
        let item: Item<'_> = raw.read();
        let is_off = item.status.some().is_some_and(|status| status != "connected") || item.enabled.0 == Some(false);
        if !is_off && add_names(item.tools, below, names).is_none() {
            names.extend(item.name.some().or(item.function.name.some()).map(str::to_owned));
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_of_a_list_has_names() {
        for (list, names) in [
            (r#"["Bash", "mcp__git__log"]"#, Some(vec!["Bash", "mcp__git__log"])),
            (r#"[{"name": "read"}, {"type": "function", "function": {"name": "edit"}}]"#, Some(vec!["read", "edit"])),
            (r#"[{"type": "namespace", "name": "app", "tools": [{"name": "open"}]}]"#, Some(vec!["open"])),
            (r#"[{"name": "a", "status": "connected"}, {"name": "b", "status": "failed"}]"#, Some(vec!["a"])),
            (r#"[{"name": "a", "enabled": true}, {"name": "b", "enabled": false}, 1, null]"#, Some(vec!["a"])),
            ("[]", Some(vec![])),
            ("null", None),
            ("", None),
            (r#"{"name": "a"}"#, None),
            ("[NaN]", None),
        ] {
            let found = names_in(Raw(list.as_bytes()));
            assert_eq!(found, names.map(|names| names.into_iter().map(str::to_owned).collect()), "{list}");
        }
    }

    #[test]
    fn lists_of_any_depth_are_read() {
        let deep = format!("{}1{}", "[{\"tools\":".repeat(100_000), "}]".repeat(100_000));
        assert_eq!(names_in(Raw(deep.as_bytes())).unwrap_or_default(), Vec::<String>::new());
    }

    #[test]
    fn descriptions_are_no_skills() {
        for (line, name) in [
            ("- deep-research: Searches. - When asked", Some("deep-research")),
            ("- day-one-patch", Some("day-one-patch")),
            ("- git:commit: Makes a commit", Some("git:commit")),
            ("- When the user asks: do it", None),
            ("### Available skills", None),
            ("- `r0` = `/home/u/.agents/skills`", None),
            ("- ", None),
        ] {
            assert_eq!(listed_skill(line).as_deref(), name, "{line}");
        }
    }
}
