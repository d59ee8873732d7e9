//! The arguments of Antigravity's tools.
//!
//! Most versions encode the value of each argument as JSON once more: the path `/a` is `"\"/a\""`, and a list is text.

use std::borrow::Cow;

use serde::Deserialize;

use crate::adapters::shared::changed_lines::ChangedLines;
use crate::adapters::shared::tools;
use crate::json::fields::Text;
use crate::json::{self, Raw};

/// The arguments that a column needs, under the names that the tools use.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase", bound(deserialize = "'de: 'a"))]
pub(super) struct Given<'a> {
    command_line: Raw<'a>,
    cwd: Raw<'a>,
    target_file: Raw<'a>,
    absolute_path: Raw<'a>,
    file: Raw<'a>,
    directory_path: Raw<'a>,
    search_directory: Raw<'a>,
    search_path: Raw<'a>,
    url: Raw<'a>,
    code_content: Raw<'a>,
    target_content: Raw<'a>,
    replacement_content: Raw<'a>,
    allow_multiple: Raw<'a>,
    replacement_chunks: Raw<'a>,
    subagents: Raw<'a>,
    recipient: Raw<'a>,
    server_name: Raw<'a>,
    tool_name: Raw<'a>,
}

/// A subagent that a call starts.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase", bound(deserialize = "'de: 'a"))]
struct Subagent<'a> {
    type_name: Text<'a>,
    role: Text<'a>,
}

impl Given<'_> {
    pub(super) fn command(&self) -> Option<Cow<'_, str>> {
        plain(self.command_line)
    }

    pub(super) fn directory(&self) -> Option<Cow<'_, str>> {
        plain(self.cwd)
    }

    /// The file or directory that the call is about.
    pub(super) fn path(&self) -> Option<String> {
        let paths = [
            self.target_file,
            self.absolute_path,
            self.file,
            self.directory_path,
            self.search_directory,
            self.search_path,
        ];
        let path = paths.into_iter().find_map(plain)?;
        Some(path.strip_prefix("file://").unwrap_or(&path).to_owned())
    }

    pub(super) fn url(&self) -> Option<Cow<'_, str>> {
        plain(self.url)
    }

    pub(super) fn recipient(&self) -> Option<Cow<'_, str>> {
        plain(self.recipient)
    }

    /// The server and the name of a tool of an MCP server.
    pub(super) fn mcp(&self) -> Option<(Option<Cow<'_, str>>, Cow<'_, str>)> {
        Some((plain(self.server_name), plain(self.tool_name)?))
    }

    /// The lines of a file that the call writes.
    pub(super) fn written_lines(&self) -> Option<ChangedLines> {
        let text = || plain(self.code_content).unwrap_or_default();
        (!self.code_content.is_empty()).then(|| ChangedLines::written(&text()))
    }

    /// Lines added and removed by an edit; `None` if a text may be replaced several times.
    pub(super) fn edited_lines(&self) -> Option<ChangedLines> {
        if !self.replacement_chunks.is_empty() {
            let text = plain(self.replacement_chunks).unwrap_or_default();
            let chunks: Vec<Given<'_>> = Raw(text.as_bytes()).read();
            let lines = chunks.iter().map(Given::edited_lines);
            return lines.reduce(|sum, lines| Some(sum?.plus(lines?)))?;
        }
        let is_repeated = self.allow_multiple.text() == "true";
        let (old, new) = (self.target_content, self.replacement_content);
        if is_repeated || old.is_empty() {
            return None;
        }
        tools::changed_lines(&plain(old).unwrap_or_default(), &plain(new).unwrap_or_default())
    }

    /// The types of the agents that the call starts.
    pub(super) fn agents(&self) -> Vec<String> {
        let text = plain(self.subagents).unwrap_or_default();
        let agents: Vec<Subagent<'_>> = Raw(text.as_bytes()).read();
        let name = |agent: &Subagent<'_>| agent.type_name.some().or(agent.role.some()).unwrap_or_default().to_owned();
        agents.iter().map(name).collect()
    }
}

/// A text without the quotes of JSON that some versions put around it; `None` if it is empty.
fn plain(raw: Raw<'_>) -> Option<Cow<'_, str>> {
    if raw.is_empty() {
        return None;
    }
    let text = raw.text();
    let is_quoted = text.len() > 1 && text.starts_with('"') && text.ends_with('"');
    let inner: Option<Text<'_>> = if is_quoted { json::from_slice(text.as_bytes()).ok() } else { None };
    let inner = inner.and_then(|inner| inner.owned::<String>());
    let text = match inner {
        Some(inner) => Cow::Owned(inner),
        None if is_quoted && text.len() == 2 => return None,
        None => text,
    };
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_an_argument_are_read() {
        let given = |text: &'static str| json::from_slice::<Given<'_>>(text.as_bytes()).unwrap();
        for (text, expected) in [
            (r#"{"CommandLine":"ls -la"}"#, Some("ls -la")),
            (r#"{"CommandLine":"\"ls \\\"a b\\\"\""}"#, Some("ls \"a b\"")),
            (r#"{"CommandLine":"\"my program\" --x \"y\""}"#, Some("\"my program\" --x \"y\"")),
            (r#"{"CommandLine":"\"\""}"#, None),
            (r#"{"CommandLine":7}"#, Some("7")),
            (r"{}", None),
        ] {
            assert_eq!(given(text).command().as_deref(), expected, "{text}");
        }
        let path = given(r#"{"AbsolutePath":"\"file:///work/a.rs\""}"#).path();
        assert_eq!(path.as_deref(), Some("/work/a.rs"));
    }

    #[test]
    fn the_lines_of_an_edit_are_those_of_its_chunks() {
        let lines = |text: &'static str| {
            let given: Given<'_> = json::from_slice(text.as_bytes()).unwrap();
            given.edited_lines().map(ChangedLines::counts)
        };
        assert_eq!(lines(r#"{"TargetContent":"a\nb","ReplacementContent":"a\nc\nd"}"#), Some((2, 1)));
        assert_eq!(lines(r#"{"TargetContent":"\"a\"","ReplacementContent":"\"b\\nc\""}"#), Some((2, 1)));
        assert_eq!(lines(r#"{"TargetContent":"a","ReplacementContent":"b","AllowMultiple":"true"}"#), None);
        let chunks = r#"{"ReplacementChunks":"[{\"TargetContent\":\"a\",\"ReplacementContent\":\"b\",\"AllowMultiple\":false},{\"TargetContent\":\"c\",\"ReplacementContent\":\"c\\nd\"}]"}"#;
        assert_eq!(lines(chunks), Some((2, 1)));
        assert_eq!(lines("{}"), None);
    }

    #[test]
    fn agents_are_named_in_every_form_of_the_list() {
        let list = r#"[{"TypeName":"research","Role":"Reader"},{"Role":"Writer"}]"#;
        let once = serde_json::to_string(list).unwrap();
        for list in [list, &once, &serde_json::to_string(&once).unwrap()] {
            let text = format!(r#"{{"Subagents":{list}}}"#);
            let given: Given<'_> = json::from_slice(text.as_bytes()).unwrap();
            assert_eq!(given.agents(), ["research", "Writer"], "{text}");
        }
    }
}
