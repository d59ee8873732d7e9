//! Patterns of filters, in which `*` matches any text.

use polars::prelude::*;

/// The maximum length in bytes of a pattern with a `*`, so that its regular expression stays below the size limit of the
/// regex engine.
const LONGEST_PATTERN: usize = 4096;

/// A pattern with a `*` that is too long: its length in bytes.
#[derive(Debug, thiserror::Error)]
#[error("a filter with * has at most {LONGEST_PATTERN} bytes, not {0}")]
pub struct PatternTooLong(usize);

/// Whether a value matches a pattern, in which `*` matches any text.
pub(in crate::analysis) fn matches(value: Expr, pattern: &str) -> Result<Expr, PatternTooLong> {
    let value = value.cast(DataType::String);
    if !pattern.contains('*') {
        return Ok(value.eq(lit(pattern)));
    }
    if pattern.len() > LONGEST_PATTERN {
        return Err(PatternTooLong(pattern.len()));
    }
    let parts: Vec<String> = pattern.split('*').map(escaped).collect();
    Ok(value.str().contains(lit(format!("(?s)^{}$", parts.join(".*"))), true).fill_null(lit(false)))
}

/// Between the texts of a list that are joined to one.
pub(in crate::analysis) const SEPARATOR: &str = "\u{1f}";

/// Whether one of several `KEY=VALUE`, joined by [`SEPARATOR`], has this key and a value that matches a pattern.
pub(in crate::analysis) fn has_entry(joined: Expr, key: &str, pattern: &str) -> Result<Expr, PatternTooLong> {
    let joined = lit(SEPARATOR) + joined + lit(SEPARATOR);
    let is_found = if pattern.contains('*') {
        if pattern.len() > LONGEST_PATTERN {
            return Err(PatternTooLong(pattern.len()));
        }
        let parts: Vec<String> = pattern.split('*').map(escaped).collect();
        let value = parts.join(&format!("[^{SEPARATOR}]*"));
        joined.str().contains(lit(format!("{SEPARATOR}{}={value}{SEPARATOR}", escaped(key))), true)
    } else {
        joined.str().contains_literal(lit(format!("{SEPARATOR}{key}={pattern}{SEPARATOR}")))
    };
    Ok(is_found.fill_null(lit(false)))
}

/// A regular expression that matches only this text.
pub(in crate::analysis) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        // A backslash before any other character is an error, or has a special meaning.
        if r"\.+*?()|[]{}^$#&-~".contains(char) {
            out.push('\\');
        }
        out.push(char);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::text::text_matches;

    #[test]
    fn the_same_texts_match_without_a_table() {
        for (text, pattern, expected) in [
            ("gpt-5", "gpt-5", true),
            ("gpt-5-mini", "gpt-5", false),
            ("gpt-5-mini", "gpt*", true),
            ("gpt-5-mini", "*mini", true),
            ("gpt-5-mini", "*5*", true),
            ("gpt-5-mini", "g*5*i*i", true),
            ("gpt-5-mini", "g*mini*i", false),
            ("ab", "ab*b", false),
            ("", "*", true),
            ("", "**", true),
        ] {
            assert_eq!(text_matches(text, pattern), expected, "{text} {pattern}");
        }
    }

    #[test]
    fn only_the_star_is_special_in_a_pattern() {
        let texts = ["/a–b\nc", "/<a>.b", "/xa>yb"];
        let count = |pattern: &str| {
            let frame =
                df!("x" => texts).unwrap().lazy().filter(matches(col("x"), pattern).unwrap()).collect().unwrap();
            frame.height()
        };
        assert!(matches!(matches(col("x"), &"a*".repeat(3000)), Err(PatternTooLong(6000))));
        assert_eq!((count(&"*".repeat(LONGEST_PATTERN)), count(&"*ä".repeat(LONGEST_PATTERN / 3))), (3, 0));
        let frame = df!("x" => ["k=a\u{1f}k=b.c\nd\u{1f}l=e"]).unwrap().lazy();
        let has = |key: &str, pattern: &str| {
            frame.clone().filter(has_entry(col("x"), key, pattern).unwrap()).collect().unwrap().height() == 1
        };
        for (key, pattern, expected) in [
            ("k", "a", true),
            ("k", "b.c\nd", true),
            ("k", "b*d", true),
            ("k", "b.*", true),
            ("k", "bx*", false),
            ("k", "a*e", false),
            ("k", "e", false),
            ("l", "*", true),
            ("m", "*", false),
            ("k", "", false),
            (".", "a", false),
        ] {
            assert_eq!(has(key, pattern), expected, "{key} {pattern}");
        }
        assert!(has("l", &"*".repeat(LONGEST_PATTERN)) && has_entry(col("x"), "k", &"a*".repeat(3000)).is_err());
        assert_eq!(["*–*", "*<a>.b*", "*\\b*", "*b*", "/<a>.b", "*a?*"].map(count), [1, 1, 0, 3, 1, 0]);
    }
}
