//! Text from logs, escaped so that it has no effect on terminals, spreadsheets and renderers of Markdown.

use std::borrow::Cow;

/// Whether a character has an effect on a terminal: control characters, and marks that change the direction of text.
fn is_harmful(char: char) -> bool {
    char.is_control() || matches!(char, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The same JSON with all harmful characters escaped. JSON itself requires this only of ASCII's control characters.
pub fn harmless_json(json: &str) -> Cow<'_, str> {
    let is_unescaped = |char: char| is_harmful(char) && !char.is_ascii_whitespace();
    if !json.contains(is_unescaped) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len() + 8);
    for char in json.chars() {
        if is_unescaped(char) {
            let _ = std::fmt::Write::write_fmt(&mut out, format_args!("\\u{:04x}", u32::from(char)));
        } else {
            out.push(char);
        }
    }
    Cow::Owned(out)
}

/// Text with harmful characters shown as escapes, such as `\u{1b}`.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_harmful) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for char in text.chars() {
        if is_harmful(char) {
            out.extend(char.escape_default());
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

/// Text as a cell of a Markdown table: it does not end the cell, and is no markup of Markdown or HTML. Letters, digits, spaces and some
/// punctuation stay as they are; other characters of ASCII are escaped. Words that renderers make links of are interrupted.
pub(super) fn escaped_markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    let mut before = ' ';
    for char in text.chars() {
        match char {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            // `http://…` and `ann@example.com` become links, even without markup. A character reference ends the word.
            '@' => out.push_str("&#64;"),
            ':' if before.is_alphanumeric() => out.push_str("&#58;"),
            '.' if out.ends_with("www") => out.push_str("&#46;"),
            // An underscore inside of a word is no emphasis.
            '_' if before.is_alphanumeric() => out.push(char),
            ' ' | ',' | '.' | ';' | ':' | '-' | '/' | '%' | '?' | '=' | '"' | '\'' | '(' | ')' | '+' | '$' => {
                out.push(char)
            }
            _ if char.is_ascii_punctuation() => out.extend(['\\', char]),
            _ => out.push(char),
        }
        before = char;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_no_markup_of_markdown() {
        for (text, expected) in [
            ("claude-sonnet-4-5 (1.5 %), a/b_c.rs", "claude-sonnet-4-5 (1.5 %), a/b_c.rs"),
            ("![x](http://h/x.png)", "\\!\\[x\\](http&#58;//h/x.png)"),
            ("[x](y)", "\\[x\\](y)"),
            ("**b** _i_ `c` ~s~ #h", "\\*\\*b\\*\\* \\_i_ \\`c\\` \\~s\\~ \\#h"),
            ("<b> & |", "&lt;b&gt; &amp; \\|"),
            ("www.example.com ann@example.com", "www&#46;example.com ann&#64;example.com"),
            ("\\", "\\\\"),
            ("08:00", "08&#58;00"),
        ] {
            assert_eq!(escaped_markdown(text), expected, "{text}");
        }
    }
}
