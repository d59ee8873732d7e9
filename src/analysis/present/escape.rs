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
    if text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        Cow::Owned(format!("'{text}"))
    } else {
        Cow::Borrowed(text)
    }
}

/// Text as a cell of a Markdown table: it contains no HTML markup, and does not end the cell.
pub(super) fn escaped_markdown(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('|', "\\|")
}
