//! The arguments of a tool call that state its target: a file, a command, a URL, a patch.

use std::fmt;

use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::{loads_skill, written_lines_in};
use crate::adapters::shared::changed_lines::ChangedLines;
use crate::adapters::shared::history::History;
use crate::adapters::shared::shell::ShellCommand;
use crate::adapters::shared::{names, shell};
use crate::base::text::{SharedStr, Symbol};
use crate::json::fields::{LazyText, Text};
use crate::json::{Raw, WithRaw};
use crate::model::session::{CommandKind, Sign};

/// The arguments that state the target of a call, under the names that the runtimes use.
#[derive(Debug, Default)]
pub struct Arguments<'a> {
    file: Text<'a>,
    command: Raw<'a>,
    url: Text<'a>,
    patch_text: LazyText<'a>,
    input: LazyText<'a>,
    content: LazyText<'a>,
    subagent_type: Text<'a>,
    skill: Text<'a>,
}

/// What a call is for.
#[derive(Debug, Default)]
pub struct Subject {
    /// The file's path, the URL's host, or the base name of the first program of a shell command.
    pub target: Option<SharedStr>,
    /// The kind of a shell command.
    pub command_kind: Option<CommandKind>,
    /// The skill that the call loads.
    pub skill: Option<Symbol>,
    /// A sign in a shell command that the session's result should not be trusted.
    pub sign: Option<Sign>,
    /// What a shell command adds to the history of a repository.
    pub history: History,
}

impl From<ShellCommand> for Subject {
    fn from(command: ShellCommand) -> Self {
        let ShellCommand { program: target, kind: command_kind, skill, sign, history } = command;
        Self { target, command_kind, skill, sign, history }
    }
}

/// The arguments of a call that were read with it, if there are any, and their bytes in the log.
pub type ToolArguments<'a> = WithRaw<'a, Option<Box<Arguments<'a>>>>;

/// The names of arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum Argument {
    FilePath,
    Path,
    #[serde(rename = "filePath")]
    FilePathInCamelCase,
    NotebookPath,
    AbsolutePath,
    Command,
    Cmd,
    /// What is typed into a terminal.
    Keystrokes,
    Url,
    #[serde(rename = "patchText")]
    PatchText,
    Input,
    Content,
    SubagentType,
    Skill,
    SkillName,
    Name,
    #[serde(other)]
    Other,
}

/// What an argument states. If several arguments of a call state a file, a command or a skill, the one with the lowest number
/// that is not empty is used.
enum Role {
    File(u8),
    Command(u8),
    Skill(u8),
    Url,
    PatchText,
    Input,
    Content,
    SubagentType,
    Other,
}

/// A higher number than that of any argument.
const NO_ARGUMENT: u8 = u8::MAX;

impl Argument {
    const fn role(self) -> Role {
        match self {
            Self::FilePath => Role::File(0),
            Self::Path => Role::File(1),
            Self::FilePathInCamelCase => Role::File(2),
            Self::NotebookPath => Role::File(3),
            Self::AbsolutePath => Role::File(4),
            Self::Command => Role::Command(0),
            Self::Cmd => Role::Command(1),
            Self::Keystrokes => Role::Command(2),
            Self::Skill => Role::Skill(0),
            Self::SkillName => Role::Skill(1),
            Self::Name => Role::Skill(2),
            Self::Url => Role::Url,
            Self::PatchText => Role::PatchText,
            Self::Input => Role::Input,
            Self::Content => Role::Content,
            Self::SubagentType => Role::SubagentType,
            Self::Other => Role::Other,
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Arguments<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct It;
        impl<'de> Visitor<'de> for It {
            type Value = Arguments<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("any value")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut arguments = Arguments::default();
                let (mut file, mut command, mut skill) = (NO_ARGUMENT, NO_ARGUMENT, NO_ARGUMENT);
                let mut seen = 0_u32;
                while let Some(name) = map.next_key::<Argument>()? {
                    let bit = 1 << name as u32;
                    // The first value of a repeated name is used.
                    let role = if seen & bit == 0 { name.role() } else { Role::Other };
                    seen |= bit;
                    match role {
                        Role::File(number) => {
                            let text: Text<'de> = map.next_value()?;
                            if number < file && text.some().is_some() {
                                (file, arguments.file) = (number, text);
                            }
                        }
                        Role::Command(number) => {
                            let raw: Raw<'de> = map.next_value()?;
                            if number < command && !raw.is_empty() {
                                (command, arguments.command) = (number, raw);
                            }
                        }
                        Role::Skill(number) => {
                            let text: Text<'de> = map.next_value()?;
                            if number < skill && text.some().is_some() {
                                (skill, arguments.skill) = (number, text);
                            }
                        }
                        Role::Url => arguments.url = map.next_value()?,
                        Role::PatchText => arguments.patch_text = map.next_value()?,
                        Role::Input => arguments.input = map.next_value()?,
                        Role::Content => arguments.content = map.next_value()?,
                        Role::SubagentType => arguments.subagent_type = map.next_value()?,
                        Role::Other => {
                            map.next_value::<IgnoredAny>()?;
                        }
                    }
                }
                Ok(arguments)
            }
        }
        deserializer.deserialize_map(It)
    }
}

impl Arguments<'_> {
    /// The file that the call names.
    pub fn file(&self) -> Option<&str> {
        self.file.some()
    }

    /// The text of a patch.
    pub fn patch(&self) -> Option<&str> {
        self.patch_text.some().or_else(|| self.input.some())
    }

    /// The content of a file that the call writes.
    pub fn written(&self) -> Option<&str> {
        self.content.is_some().then(|| self.content.as_str())
    }

    /// The lines of that content.
    pub fn written_lines(&self) -> Option<ChangedLines> {
        self.content.is_some().then(|| written_lines_in(&self.content))
    }

    /// The type of the agent that the call starts.
    pub fn agent(&self) -> Option<Symbol> {
        self.subagent_type.owned()
    }

    /// The skill that a call of a tool for skills names.
    fn skill(&self) -> Option<Symbol> {
        self.skill.some().and_then(names::name).or_else(|| names::name(&self.command.text()))
    }

    /// What a call of `tool` is for.
    pub fn subject(&self, tool: &str, category: &str) -> Subject {
        let target = match category {
            "shell" if self.command.is_list() => {
                return shell::shell_command_of_words(&self.command.read::<Vec<Text<'_>>>()).into();
            }
            "shell" if !self.command.is_empty() => return shell::shell_command_in(self.command).into(),
            "web" => self.url.some().and_then(host),
            "other" if loads_skill(tool) => {
                let skill = self.skill();
                return Subject { target: skill.as_deref().map(SharedStr::from), skill, ..Subject::default() };
            }
            _ => self.file().map(SharedStr::from),
        };
        Subject { target, ..Subject::default() }
    }
}

/// The host of a URL, without user, port and a leading scheme; `None` for a text that is not a URL.
pub fn host(url: &str) -> Option<SharedStr> {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?;
    let host = host
        .strip_prefix('[')
        .and_then(|it| it.split(']').next())
        .unwrap_or_else(|| host.split(':').next().unwrap_or(host));
    let is_of_host = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b':');
    let is_host = (1..=253).contains(&host.len()) && host.bytes().all(is_of_host);
    is_host.then(|| host.to_ascii_lowercase().into())
}
#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    #[test]
    fn targets_come_from_the_arguments() {
        let target = |category: &str, args: &str| {
            json::from_slice::<Arguments<'_>>(args.as_bytes()).unwrap().subject("tool", category).target
        };
        assert_eq!(target("read", r#"{"file_path":"/a/b.txt"}"#).as_deref(), Some("/a/b.txt"));
        assert_eq!(target("edit", r#"{"filePath":"/a"}"#).as_deref(), Some("/a"));
        assert_eq!(target("shell", r#"{"command":["bash","-lc","cargo test"]}"#).as_deref(), Some("cargo"));
        assert_eq!(target("shell", r#"{"cmd":"ls"}"#).as_deref(), Some("ls"));
        assert_eq!(
            target("web", r#"{"url":"https://u@Docs.Example.com:8080/x?y"}"#).as_deref(),
            Some("docs.example.com")
        );
        assert_eq!(target("web", r#"{"query":"x"}"#), None);
        assert_eq!(target("web", r#"{"url":"what is a host"}"#), None);
        assert_eq!(target("other", r#"{"file_path":7}"#), None);
        // The first that is not empty, in the order of `Argument`, not of the log.
        assert_eq!(target("read", r#"{"absolute_path":"/c","path":"/b","file_path":""}"#).as_deref(), Some("/b"));
        assert_eq!(target("read", r#"{"path":"/b","file_path":"/a"}"#).as_deref(), Some("/a"));
        assert_eq!(target("shell", r#"{"keystrokes":"ls","cmd":"make","command":null}"#).as_deref(), Some("make"));
        assert_eq!(target("read", r#"{"path":7,"path":"/b"}"#), None);
        assert_eq!(target("read", r#"{"old":{"a":[1]},"path":"/b","path":"/c"}"#).as_deref(), Some("/b"));
    }
}
