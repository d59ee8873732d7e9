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
        assert_eq!(["*–*", "*<a>.b*", "*\\b*", "*b*", "/<a>.b", "*a?*"].map(count), [1, 1, 0, 3, 1, 0]);
    }
}
