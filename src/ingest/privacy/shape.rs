//! Rejected lines without their words.

/// The beginning of a line without its words: of JSON the keys, the numbers and the record's `type`; of other text the punctuation.
/// Keys and types that are not identifiers are words, too: a runtime may log a text as a key.
pub fn shape(line: &str) -> String {
    const WORD: char = '…';
    let mut out = String::new();
    let hide = |out: &mut String| {
        if !out.ends_with(WORD) {
            out.push(WORD);
        }
    };
    let is_json = line.starts_with('{');
    let (mut rest, mut depth, mut key) = (line, 0_usize, "");
    while let Some(first) = rest.chars().next() {
        let next = rest.get(first.len_utf8()..).unwrap_or_default();
        if is_json && first == '"' {
            let Some(length) = string_end(next) else {
                out.push('"');
                out.push(WORD);
                return out;
            };
            let (text, after) = next.split_at(length);
            let after = after.get(1..).unwrap_or_default();
            let is_key = after.trim_start().starts_with(':');
            out.push('"');
            if is_identifier(text) && (is_key || depth == 1 && key == "type") {
                out.push_str(text);
            } else if !text.is_empty() {
                out.push(WORD);
            }
            out.push('"');
            (rest, key) = (after, if is_key { text } else { "" });
            continue;
        }
        match first {
            '{' | '[' => depth += 1,
            '}' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        match first {
            _ if first.is_ascii_punctuation() => out.push(first),
            _ if first.is_ascii_digit() && is_json => out.push(first),
            _ if first.is_whitespace() => out.push(' '),
            _ => hide(&mut out),
        }
        rest = next;
    }
    out
}

fn is_identifier(text: &str) -> bool {
    text.len() <= 64
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'$'))
}

/// The offset of the quote that ends a JSON string, if `text` begins after the opening quote.
fn string_end(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    text.bytes().position(|byte| {
        let is_end = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        is_end
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_has_no_words() {
        let check = |line: &str, left: &str| assert_eq!(shape(line), left);
        check(
            r#"{"type":"user","n":-1.5,"message":{"type":"x y","content":"secret \" words"#,
            r#"{"type":"user","n":-1.5,"message":{"type":"…","content":"…"#,
        );
        check(r#"{"secret words":1,"type":"secret words"}"#, r#"{"…":1,"type":"…"}"#);
        check(r#"{"a":["b","",true]} tail"#, r#"{"a":["…","",…]} …"#);
        check("npm warn deprecated left-pad@1.3.0", "… … … …-…@….….…");
        check(r#"secret words"}]}"#, r#"… …"}]}"#);
        check("", "");
    }
}
