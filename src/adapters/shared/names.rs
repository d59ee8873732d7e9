//! Names that a log states: of skills, plugins and commands. What may be text of the conversation is not a name.

use crate::base::split::base_name;
use crate::base::text::Symbol;

/// The longest name.
const LONGEST: usize = 64;

/// The file with the instructions of a skill, in a directory with the name of the skill.
const INSTRUCTIONS: &str = "SKILL.md";

/// Whether a word is a name: letters, digits, `.`, `_`, `+`, `-` and `:`.
pub(crate) fn is_name(word: &str) -> bool {
    word.len() <= LONGEST && is_name_of_any_length(word)
}

/// Whether the name of a tool is one: those of MCP servers contain the name of the server.
pub(crate) fn is_tool(word: &str) -> bool {
    word.len() <= 2 * LONGEST && is_name_of_any_length(word)
}

fn is_name_of_any_length(word: &str) -> bool {
    let is_safe = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'+' | b'-' | b':');
    !word.is_empty() && word.bytes().all(is_safe)
}

/// The name of an MCP server as names of tools contain it: other characters than letters, digits, `_` and `-` are replaced by `_`.
pub(crate) fn server(name: &str) -> Option<Symbol> {
    let is_kept = |it: char| it.is_ascii_alphanumeric() || matches!(it, '_' | '-');
    let written: String = name.chars().take(LONGEST).map(|it| if is_kept(it) { it } else { '_' }).collect();
    (name.chars().count() <= LONGEST && !written.is_empty()).then(|| Symbol::new(&written))
}

/// The name; `None` if the word may be text.
pub(crate) fn name(word: &str) -> Option<Symbol> {
    is_name(word).then(|| Symbol::new(word))
}

/// The plugin in the name of a skill or an agent of the form `PLUGIN:NAME`.
pub(crate) fn plugin(name: &str) -> Option<Symbol> {
    name.split_once(':').filter(|(plugin, _)| !plugin.is_empty()).map(|(plugin, _)| Symbol::new(plugin))
}

/// The skill whose instructions are in the file at `path`.
pub(crate) fn skill_of_path(path: &str) -> Option<Symbol> {
    let directory = path.strip_suffix(INSTRUCTIONS)?.strip_suffix(['/', '\\'])?;
    // `..` is not a name, nor is a place in the command that prints it.
    name(base_name(directory)).filter(|name| name.bytes().any(|byte| byte.is_ascii_alphanumeric()))
}

/// The last skill whose file of instructions a command names.
pub(crate) fn skill_in_command(command: &str) -> Option<Symbol> {
    let is_quote = |it: char| matches!(it, '"' | '\'');
    let mut found = None;
    // Where the word begins that contains the file, also without its quotes, and whether it begins inside of quotes. Each byte is read
    // once, however often the file is named.
    let (mut word, mut path, mut is_quoted, mut read) = (0, None, false, 0);
    for at in memchr::memmem::find_iter(command.as_bytes(), INSTRUCTIONS) {
        if let Some(space) = command.get(read..at)?.rfind(char::is_whitespace) {
            let space = read + space;
            let next = space + command.get(space..)?.chars().next().map_or(1, char::len_utf8);
            is_quoted ^= command.get(word..next)?.chars().filter(|it| is_quote(*it)).count() % 2 == 1;
            (word, path) = (next, None);
        }
        read = at;
        let start = *path.get_or_insert_with(|| {
            let before = command.get(word..at).unwrap_or_default();
            word + (before.len() - before.trim_start_matches(is_quote).len())
        });
        // A word inside of quotes may be the end of a path with spaces.
        if !is_quoted || command.get(word..)?.starts_with(['/', '~', '.', '$']) {
            found = skill_of_path(command.get(start..at + INSTRUCTIONS.len())?).or(found);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_words() {
        for word in ["pptx", "superpowers:test-driven-development", "a.b_c+d", "x"] {
            assert_eq!(name(word).as_deref(), Some(word));
        }
        for word in ["", "two words", "naïve", "a/b", "$(rm)", &"x".repeat(65)] {
            assert_eq!(name(word), None, "{word}");
        }
        assert_eq!(plugin("superpowers:tdd:quick").as_deref(), Some("superpowers"));
        assert_eq!((plugin("pptx"), plugin(":x")), (None, None));
    }

    #[test]
    fn a_skill_has_the_name_of_its_directory() {
        for (command, expected) in [
            ("sed -n '1,260p' /home/u/.agents/skills/merge/SKILL.md", Some("merge")),
            ("cat a/SKILL.md b/SKILL.md | head", Some("b")),
            ("cat 'x y/SKILL.md' c/SKILL.md SKILL.md", Some("c")),
            ("cat é/x/SKILL.md\u{3000}'d/SKILL.md'", Some("d")),
            ("bash -lc 'cat /s/merge/SKILL.md'", Some("merge")),
            ("cat 'a/SKILL.md'", Some("a")),
            ("type C:\\skills\\pdf\\SKILL.md", Some("pdf")),
            ("cat \"$HOME/skills/x y/SKILL.md\"", None),
            ("cat skills/*/SKILL.md", None),
            ("cat ../SKILL.md", None),
            ("find . -name SKILL.md", None),
            ("cat SKILL.md", None),
            ("ls", None),
        ] {
            assert_eq!(skill_in_command(command).as_deref(), expected, "{command}");
        }
        // Work that grows with the square of the length would not end here.
        for word in [" SKILL.md", "SKILL.md", " 'a/SKILL.md", "/x/SKILL.md"] {
            let long = format!("cat b/SKILL.md{}", word.repeat(200_000));
            assert!(skill_in_command(&long).is_some(), "{word}");
        }
        assert_eq!(skill_of_path("/s/pdf/SKILL.md").as_deref(), Some("pdf"));
        assert_eq!(skill_of_path("/s/pdf/SKILL.md.bak"), None);
    }
}
