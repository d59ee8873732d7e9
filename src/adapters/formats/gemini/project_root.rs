//! The file `.project_root` of Gemini CLI, with the directory that the chats beside it are about.
//!
//! `ProjectRegistry` (since February 2026) keeps the chats of a project in `~/.gemini/tmp/SLUG/chats`, and writes the directory of the
//! project, as plain text, to `~/.gemini/tmp/SLUG/.project_root`.

/// The name of the file.
const NAME: &str = ".project_root";

/// The directory of a project, longer than which no path is.
const LONGEST: usize = 4096;

/// The directory of the project, if `path` is that of such a file: an absolute path on one line.
pub fn project_root(path: &str, content: &[u8]) -> Option<String> {
    let name = path.rsplit(['/', '\\']).next();
    let root = str::from_utf8(content.get(..=LONGEST).unwrap_or(content)).ok()?.trim();
    let is_absolute = root.starts_with(['/', '\\']) || root.as_bytes().get(1) == Some(&b':');
    (name == Some(NAME) && root.len() <= LONGEST && is_absolute && !root.contains('\n')).then(|| root.to_owned())
}

/// Whether a log is about that project, by its path below the directory of the file.
pub fn has_chat(below: &str) -> bool {
    below.split(['/', '\\']).next() == Some("chats")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_contains_a_path() {
        for (path, content, expected) in [
            ("/h/.gemini/tmp/web/.project_root", "/work/web\n", Some("/work/web")),
            ("C:\\h\\.gemini\\tmp\\web\\.project_root", "c:\\work\\web", Some("c:\\work\\web")),
            (".project_root", "web", None),
            (".project_root", "/work/web\n/work/shop", None),
            (".project_root", "", None),
            ("project_root", "/work/web", None),
        ] {
            assert_eq!(project_root(path, content.as_bytes()).as_deref(), expected, "{path} {content}");
        }
        assert_eq!(project_root(NAME, &[0xff]), None);
        assert!(has_chat("chats/s/agent.jsonl") && !has_chat("logs.json"));
    }
}
