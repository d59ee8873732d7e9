//! Elements of markup that programs add to prompts, before what a human wrote.

/// A text without the elements of these names, and the space after them, at its beginning. An element with attributes, or without an
/// end, remains.
pub(crate) fn without_elements<'t>(text: &'t str, names: &[&str]) -> &'t str {
    let after = |text: &'t str, name: &str| {
        let inner = text.trim_start().strip_prefix('<')?.strip_prefix(name)?.strip_prefix('>')?;
        inner.split_once(&format!("</{name}>")).map(|(_, rest)| rest)
    };
    let mut text = text;
    while let Some(rest) = names.iter().find_map(|name| after(text, name)) {
        text = rest.trim_start();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_before_a_text_are_removed() {
        for (text, expected) in [
            ("Fix it.", "Fix it."),
            (" Fix it.\n", " Fix it.\n"),
            ("<a>x</a> Fix it.", "Fix it."),
            ("\n<a>x</a>\n<b-c>y</b-c><a></a>Fix it.", "Fix it."),
            ("<a>x</a>", ""),
            ("Explain <a>x</a>", "Explain <a>x</a>"),
            ("<a>cut", "<a>cut"),
            ("<ab>x</ab>", "<ab>x</ab>"),
            ("<a id=\"1\">x</a>", "<a id=\"1\">x</a>"),
        ] {
            assert_eq!(without_elements(text, &["a", "b-c"]), expected, "{text}");
        }
        // Any number of them.
        assert_eq!(without_elements(&("<a></a>".repeat(100_000) + "x"), &["a"]), "x");
    }
}
