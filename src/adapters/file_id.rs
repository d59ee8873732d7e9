//! Ids and names of sessions in the path of a log, for logs whose records contain none.

use std::fmt;

/// The name of a file without its extensions, if it is at most 64 bytes long, as names of sessions are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileName([u8; 64], usize);

impl FileName {
    /// The name of the file at `path`.
    pub fn of(path: &str) -> Option<Self> {
        let name = path.rsplit(['/', '\\']).next()?.split('.').next().filter(|name| !name.is_empty())?;
        let mut bytes = [0; 64];
        bytes.get_mut(..name.len())?.copy_from_slice(name.as_bytes());
        Some(Self(bytes, name.len()))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        self.0.get(..self.1).and_then(|bytes| std::str::from_utf8(bytes).ok()).unwrap_or_default()
    }
}

/// An id in the name of a file or a directory. That of a session is a UUID or the milliseconds since 1970: other names are not
/// unique.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileId {
    bytes: [u8; 36],
    length: usize,
}

impl FileId {
    /// The last UUID in the name of a file, where runtimes put the session's id.
    pub fn of(path: &str) -> Option<Self> {
        let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
        let is_uuid = |window: &&[u8]| {
            window.iter().enumerate().all(|(at, byte)| match at {
                8 | 13 | 18 | 23 => *byte == b'-',
                _ => byte.is_ascii_hexdigit(),
            })
        };
        Self::new(name.as_bytes().windows(36).rfind(is_uuid)?)
    }

    /// The last UUID in the name of a file's directory, or the milliseconds that are its name. The directory of an agent is
    /// below that of the session.
    pub fn of_folder(path: &str) -> Option<Self> {
        let mut folders = path.rsplit(['/', '\\']).skip(1);
        let folder = if agent_folder(path).is_some() { folders.nth(2)? } else { folders.next()? };
        let is_time = folder.len() == 13 && folder.bytes().all(|it| it.is_ascii_digit());
        if is_time { Self::new(folder.as_bytes()) } else { Self::of(folder) }
    }

    /// The name of an agent's directory.
    pub fn of_agent(path: &str) -> Option<Self> {
        Self::new(agent_folder(path)?.as_bytes())
    }

    fn new(name: &[u8]) -> Option<Self> {
        let mut bytes = [0; 36];
        bytes.get_mut(..name.len())?.copy_from_slice(name);
        Some(Self { bytes, length: name.len() })
    }
}

fn agent_folder(path: &str) -> Option<&str> {
    let mut folders = path.rsplit(['/', '\\']).skip(1);
    let folder = folders.next()?;
    (folders.next()? == "subagents").then_some(folder)
}

impl fmt::Display for FileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.bytes.iter().take(self.length).try_for_each(|it| write!(f, "{}", char::from(*it)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_is_named_after_a_session_names_it() {
        let id = |path: &str| FileId::of_folder(path).map(|it| it.to_string());
        let uuid = "0b7d3c58-7d2e-4c39-9f6a-1f2b3c4d5e6f";
        assert_eq!(id(&format!("/a/session_{uuid}/wire.jsonl")).as_deref(), Some(uuid));
        assert_eq!(id(r"C:\tasks\1790000000000\ui_messages.json").as_deref(), Some("1790000000000"));
        assert_eq!(id(&format!("/a/{uuid}/subagents/a1/wire.jsonl")).as_deref(), Some(uuid));
        assert_eq!((id("/backup/wire.jsonl"), id("wire.jsonl"), id(&format!("/a/{uuid}.jsonl"))), (None, None, None));
    }
}
