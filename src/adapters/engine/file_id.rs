//! Ids and names of sessions in the path of a log, for logs whose records contain none. An id of a session is a UUID or the
//! milliseconds since 1970: other names are not unique.

use crate::base::split::base_name;
use crate::model::source::SEPARATOR;

/// Names of sessions are not longer, in bytes.
const MAX_NAME: usize = 64;

/// So many directories around a log may name its session or its runtime.
const MAX_FOLDERS: usize = 4;

/// The length of a UUID.
const UUID: usize = 36;

/// The name of the file at `path` without its extensions.
pub(crate) fn name_of(path: &str) -> Option<String> {
    let name = base_name(path).split('.').next()?;
    (!name.is_empty() && name.len() <= MAX_NAME).then(|| name.to_owned())
}

/// The last UUID in the name of the file at `path`, where runtimes put the session's id.
pub(crate) fn id_of(path: &str) -> Option<String> {
    let name = base_name(path);
    let is_uuid = |window: &&[u8]| {
        window.iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
    };
    name.as_bytes().windows(UUID).rfind(is_uuid).map(|uuid| String::from_utf8_lossy(uuid).into_owned())
}

/// The last UUID in the name of the file's directory, or the milliseconds that are its name. The directory of an agent is below
/// that of the session.
pub(crate) fn directory_id_of(path: &str) -> Option<String> {
    let mut directories = path.rsplit(['/', '\\']).skip(1);
    let directory = if agent_id_of(path).is_some() { directories.nth(2)? } else { directories.next()? };
    let is_time = directory.len() == 13 && directory.bytes().all(|byte| byte.is_ascii_digit());
    if is_time { Some(directory.to_owned()) } else { id_of(directory) }
}

/// The name of an agent's directory.
pub(crate) fn agent_id_of(path: &str) -> Option<String> {
    let mut directories = path.rsplit(['/', '\\']).skip(1);
    let directory = directories.next()?;
    (directories.next()? == "subagents").then(|| directory.to_owned())
}

/// The name of the archive that contains the log at `path`, without its extension.
pub(crate) fn archive_name_of(path: &str) -> Option<String> {
    let (archive, _) = path.rsplit_once(SEPARATOR)?;
    let name = base_name(archive);
    let name = name.rsplit_once('.').map_or(name, |(name, _)| name);
    (!name.is_empty()).then(|| name.to_owned())
}

/// The names of the directories that contain the log at `path`, the innermost first.
pub(crate) fn directories_of(path: &str) -> Vec<String> {
    let directories = path.rsplit(['/', '\\']).skip(1).take(MAX_FOLDERS);
    directories.filter(|directory| !directory.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_is_named_after_a_session_names_it() {
        let id = |path: &str| directory_id_of(path);
        let uuid = "0b7d3c58-7d2e-4c39-9f6a-1f2b3c4d5e6f";
        assert_eq!(id(&format!("/a/session_{uuid}/wire.jsonl")).as_deref(), Some(uuid));
        assert_eq!(id(r"C:\tasks\1790000000000\ui_messages.json").as_deref(), Some("1790000000000"));
        assert_eq!(id(&format!("/a/{uuid}/subagents/a1/wire.jsonl")).as_deref(), Some(uuid));
        assert_eq!((id("/backup/wire.jsonl"), id("wire.jsonl"), id(&format!("/a/{uuid}.jsonl"))), (None, None, None));
    }
}
