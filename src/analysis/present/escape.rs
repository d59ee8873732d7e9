//! Text from logs, escaped so that it has no effect on terminals, spreadsheets and renderers of Markdown.

use std::borrow::Cow;

/// Whether a character has an effect on a terminal: control characters, and marks that change the direction of text.
fn is_harmful(char: char) -> bool {
    char.is_control() || matches!(char, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Where a text contains a command of a build system: `##[error]` of GitHub, `##vso[…]` of Azure, anywhere in a line.
fn commands(text: &str) -> impl Iterator<Item = usize> {
    let is_command = |rest: &str| {
        let word = rest.trim_start_matches('#').trim_start_matches(|char: char| char.is_ascii_alphanumeric());
        word.starts_with('[')
    };
    text.match_indices("##").filter(move |(at, _)| is_command(text.get(*at..).unwrap_or_default())).map(|(at, _)| at)
}

/// Where a text begins like a command of GitHub: `::error::`.
fn command_at_start(text: &str) -> Option<usize> {
    let start = text.trim_start();
    start.starts_with("::").then(|| text.len() - start.len())
}

/// The same JSON with all harmful characters escaped. JSON itself requires this only of ASCII's control characters.
pub fn harmless_json(json: &str) -> Cow<'_, str> {
    let is_unescaped = |char: char| is_harmful(char) && !char.is_ascii_whitespace();
    let commands: Vec<usize> = commands(json).collect();
    if commands.is_empty() && !json.contains(is_unescaped) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len() + 8);
    for (at, char) in json.char_indices() {
        if is_unescaped(char) || commands.binary_search(&at).is_ok() {
            let _ = std::fmt::Write::write_fmt(&mut out, format_args!("\\u{:04x}", u32::from(char)));
        } else {
            out.push(char);
        }
    }
    Cow::Owned(out)
}

/// Text that has no effect on a terminal and in the log of a build: harmful characters, and the beginnings of commands of build
/// systems, are shown as escapes, such as `\u{1b}`.
pub fn visible(text: &str) -> Cow<'_, str> {
    let commands: Vec<usize> = command_at_start(text).into_iter().chain(commands(text)).collect();
    if commands.is_empty() && !text.contains(is_harmful) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for (at, char) in text.char_indices() {
        if is_harmful(char) {
            out.extend(char.escape_default());
        } else if commands.contains(&at) {
            out.extend(char.escape_unicode());
        } else {
            out.push(char);
        }
    }
    Cow::Owned(out)
}

/// Text that a spreadsheet does not evaluate: a quote is prepended if it begins like a formula.
pub(super) fn formula_safe(text: &str) -> Cow<'_, str> {
    // Some spreadsheets read the full-width signs of East Asian keyboards as the others.
    if text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠']) {
        Cow::Owned(format!("'{text}"))
    } else {
        Cow::Borrowed(text)
    }
}

/// Text as text of Markdown, also in a cell of a table: letters, digits and punctuation without a meaning stay, everything else is
/// escaped. So it has no markup, and renderers make no links of it.
pub(super) fn escaped_markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    let mut chars = text.chars().peekable();
    let colons = text.matches(':').count();
    let mut before = None;
    while let Some(char) = chars.next() {
        let after = chars.peek().copied();
        let is_inside = |of: fn(char) -> bool| before.is_some_and(of) && after.is_some_and(of);
        let is_plain = match char {
            // Markup of Markdown and HTML is ASCII.
            _ if !char.is_ascii() || char.is_ascii_alphanumeric() => true,
            ' ' | ',' | ';' | '/' | '(' | ')' | '"' | '\'' | '%' | '+' | '-' | '=' | '?' => true,
            // Within a word it is not emphasis.
            '_' => is_inside(|char| char.is_alphanumeric() || char == '_'),
            // `www.example.com` becomes a link, other domains do not.
            '.' => {
                let end = out.get(out.len().saturating_sub(3)..).unwrap_or_default();
                !end.eq_ignore_ascii_case("www")
            }
            // Not part of `https://` or `:name:`.
            ':' => after != Some('/') && colons == 1 || is_inside(is_digit),
            _ => false,
        };
        match char {
            _ if is_plain => out.push(char),
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            // Addresses and mentions contain no code.
            '@' => {
                out.push_str("`@");
                while chars.next_if_eq(&'@').is_some() {
                    out.push('@');
                }
                out.push('`');
            }
            char if char.is_ascii_punctuation() => out.extend(['\\', char]),
            // A line break ends a row.
            _ => out.push(' '),
        }
        before = Some(char);
    }
    out
}

fn is_digit(char: char) -> bool {
    char.is_ascii_digit()
}

/// A text as a word of a shell.
pub fn in_shell(text: &str) -> String {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "-_./:".contains(char);
    if text.chars().all(is_plain) { text.to_owned() } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_no_markup_of_markdown() {
        for (name, expected) in [
            ("claude-sonnet-4.5", "claude-sonnet-4.5"),
            ("mcp__github__create_issue", "mcp__github__create_issue"),
            ("(unknown), 2026-10-05 08:00:01, 12.5 %", "(unknown), 2026-10-05 08:00:01, 12.5 %"),
            ("プロジェクト é", "プロジェクト é"),
            ("![x](http://h/x.png)", "\\!\\[x\\](http\\://h/x.png)"),
            ("www.example.com", "www\\.example.com"),
            ("WWW.1a.com", "WWW\\.1a.com"),
            ("c:/work, label:group", "c\\:/work, label\\:group"),
            ("label:group", "label:group"),
            ("custom:GLM-4.6, a.rs", "custom:GLM-4.6, a.rs"),
            ("ann@example.com", "ann`@`example.com"),
            ("@@team", "`@@`team"),
            ("*a* _b_ ~~c~~ `d`", "\\*a\\* \\_b\\_ \\~\\~c\\~\\~ \\`d\\`"),
            ("<a|b>&\\", "&lt;a\\|b&gt;&amp;\\\\"),
            ("#1 $x$ {y}", "\\#1 \\$x\\$ \\{y\\}"),
            ("a\nb", "a b"),
        ] {
            assert_eq!(escaped_markdown(name), expected);
        }
    }

    #[test]
    fn names_are_no_commands_of_a_build() {
        for (name, expected) in [
            ("##[error]x", "\\u{23}#[error]x"),
            ("a ##vso[task.x]", "a \\u{23}#vso[task.x]"),
            ("::error::x", "\\u{3a}:error::x"),
            ("  ::add-mask::x", "  \\u{3a}:add-mask::x"),
            ("\u{9b}31m", "\\u{9b}31m"),
            ("std::vector ## head", "std::vector ## head"),
        ] {
            assert_eq!(visible(name), expected);
        }
        let json = harmless_json(r###"["##[error]", "a#b"]"###).into_owned();
        assert!(!json.contains("##[") && json.contains("a#b"), "{json}");
        assert_eq!(serde_json::from_str::<Vec<String>>(&json).unwrap(), ["##[error]", "a#b"]);
    }
}
