//! The time, the level and the name of the container that programs write before each line of their output, as
//! `[2026-10-19T09:00:00.000Z] [INFO] `.

use super::byte_order_mark::without_mark;

/// At most so many parts are before a line: a time, a level, and one of both again where two programs write them.
const MAX_PARTS: usize = 4;

/// The longest name of a job or a step in front of the time.
const MAX_COLUMN: usize = 256;

/// The words of levels.
const LEVELS: &[&[u8]] =
    &[b"TRACE", b"DEBUG", b"INFO", b"NOTICE", b"WARN", b"WARNING", b"ERROR", b"FATAL", b"CRITICAL", b"LOG"];

/// A line without the name of a container, the times and the levels before its text, and without one space after them. `None` if it begins
/// with none of them.
pub fn without_prefix(line: &[u8]) -> Option<&[u8]> {
    let line = without_mark(after_columns(line).unwrap_or(line));
    let container = after_compose(line).or_else(|| after_pod(line));
    let (mut rest, mut has_prefix) = (container.unwrap_or(line), container.is_some());
    for _ in 0..MAX_PARTS {
        let next = if has_prefix { trim_spaces(rest) } else { rest };
        let Some(after) = after_part(next, has_prefix) else { break };
        (rest, has_prefix) = (after, true);
    }
    has_prefix.then(|| rest.strip_prefix(b" ").or(rest.strip_prefix(b"\t")).unwrap_or(rest))
}

/// Whether a text begins an object: a brace, and the quote of a key or the end of the line.
pub fn begins_object(text: &[u8]) -> bool {
    let Some(inner) = text.trim_ascii_start().strip_prefix(b"{") else { return false };
    matches!(inner.trim_ascii_start().first(), None | Some(b'"' | b'}'))
}

/// The text after the names of a job and a step, which `gh run view --log` writes before the time.
fn after_columns(line: &[u8]) -> Option<&[u8]> {
    let column = |text: &[u8]| text.iter().take(MAX_COLUMN).position(|byte| *byte == b'\t');
    let step = line.get(column(line)? + 1..)?;
    let rest = step.get(column(step)? + 1..)?;
    after_time(without_mark(rest)).map(|_| rest)
}

/// The text after the name of a container as `docker compose logs` writes it, as in `agent-1  | `.
fn after_compose(line: &[u8]) -> Option<&[u8]> {
    let rest = after_name(line, b"-_.")?;
    let rest = trim_spaces(rest.strip_prefix(b" ")?).strip_prefix(b"|")?;
    is_end_of_word(rest).then_some(rest)
}

/// The text after the names of a pod and a container as `kubectl logs --prefix` writes them, as in `[pod/agent-1/main] `.
fn after_pod(line: &[u8]) -> Option<&[u8]> {
    let pod = after_name(line.strip_prefix(b"[pod/")?, b"-.")?;
    let rest = after_name(pod.strip_prefix(b"/")?, b"-.")?.strip_prefix(b"]")?;
    is_end_of_word(rest).then_some(rest)
}

/// The text after a name of letters, digits and the bytes `others`.
fn after_name<'a>(text: &'a [u8], others: &[u8]) -> Option<&'a [u8]> {
    let is_in_name = |byte: &&u8| byte.is_ascii_alphanumeric() || others.contains(byte);
    let length = text.iter().take(MAX_COLUMN).take_while(is_in_name).count();
    text.get(length..).filter(|_| length > 0)
}

fn is_end_of_word(rest: &[u8]) -> bool {
    matches!(rest.first(), None | Some(b' ' | b'\t' | b'\r' | b'\n'))
}

/// The text after a time or a level, in brackets or not, with the colon after it. White space or the end of the line follows. Levels in
/// small letters have brackets, or are between another part and a record.
fn after_part(text: &[u8], is_next: bool) -> Option<&[u8]> {
    // Azure Pipelines and GitHub Actions.
    let text = text.strip_prefix(b"##").filter(|rest| rest.starts_with(b"[")).unwrap_or(text);
    let (inner, close) = match text {
        [b'[', inner @ ..] => (inner, Some(b']')),
        [b'(', inner @ ..] => (inner, Some(b')')),
        _ => (text, None),
    };
    let inner = if close.is_some() { trim_spaces(inner) } else { inner };
    let small = || if is_next { after_level(inner, true).filter(|rest| begins_object(rest)) } else { None };
    let stream = || if is_next { after_stream(inner) } else { None };
    let level = || after_level(inner, close.is_some()).or_else(small);
    let rest = after_time(inner).or_else(level).or_else(stream)?;
    let rest = match close {
        Some(close) => trim_spaces(after_logger(rest).unwrap_or(rest)).strip_prefix(&[close])?,
        None => rest,
    };
    let rest = rest.strip_prefix(b":").unwrap_or(rest);
    // A record may follow a bracket directly.
    (is_end_of_word(rest) || close.is_some() && matches!(rest, [b'[' | b'{', ..])).then_some(rest)
}

/// The text after a level, in capital letters or, if it is marked as one, in any letters.
fn after_level(text: &[u8], is_marked: bool) -> Option<&[u8]> {
    let end = text.iter().position(|byte| !byte.is_ascii_alphabetic()).unwrap_or(text.len());
    let (word, rest) = text.split_at_checked(end)?;
    let is_level = |level: &&[u8]| word == *level || is_marked && word.eq_ignore_ascii_case(level);
    LEVELS.iter().any(is_level).then_some(rest)
}

/// The text after the level and the name that Rust's `env_logger` writes after a time, in its brackets.
fn after_logger(text: &[u8]) -> Option<&[u8]> {
    let level = after_level(trim_spaces(text.strip_prefix(b" ")?), true)?;
    let name = trim_spaces(level);
    Some(after_name(name, b"-_:.").unwrap_or(name))
}

/// The text after the name of a stream and the mark of a whole or partial line, as Kubernetes writes them to its files.
fn after_stream(text: &[u8]) -> Option<&[u8]> {
    let streams: [&[u8]; 4] = [b"stdout F", b"stdout P", b"stderr F", b"stderr P"];
    streams.iter().find_map(|stream| text.strip_prefix(*stream))
}

/// The text after a time, with its date and zone, if it has them.
fn after_time(text: &[u8]) -> Option<&[u8]> {
    let clock = |text| after_digits(text, "99:99:99");
    let rest = match after_digits(text, "9999-99-99").or_else(|| after_digits(text, "9999/99/99")) {
        Some([b'T' | b' ', rest @ ..]) => clock(rest)?,
        Some(_) => return None,
        None => clock(text)?,
    };
    let rest = match rest {
        [b'.' | b',', fraction @ ..] => {
            let end = fraction.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(fraction.len());
            fraction.get(end..)?
        }
        _ => rest,
    };
    let zones = ["Z", "+99:99", "-99:99", "+9999", "-9999", " +9999", " -9999"];
    let rest = zones.iter().find_map(|zone| after_digits(rest, zone)).unwrap_or(rest);
    Some(rest.strip_prefix(b" UTC").unwrap_or(rest))
}

/// The text after a pattern, whose nines are any digits.
fn after_digits<'a>(text: &'a [u8], pattern: &str) -> Option<&'a [u8]> {
    let (head, rest) = text.split_at_checked(pattern.len())?;
    let is_same =
        |(byte, expected): (&u8, u8)| if expected == b'9' { byte.is_ascii_digit() } else { *byte == expected };
    head.iter().zip(pattern.bytes()).all(is_same).then_some(rest)
}

fn trim_spaces(mut text: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] = text {
        text = rest;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_levels_are_removed() {
        for (line, expected) in [
            ("[2026-10-19T09:00:00.000Z] [INFO] {", Some("{")),
            ("2026-10-19T09:00:00.1234567Z {\"a\":1}", Some("{\"a\":1}")),
            ("2026-10-19T09:00:00.1234567Z   \"a\": 1,", Some("  \"a\": 1,")),
            ("2026-10-19 09:00:00,123 - x", Some("- x")),
            ("[2026-10-19 09:00:00+0200] WARNING: x", Some("x")),
            ("2026/10/19 09:00:00 x", Some("x")),
            ("[09:00:00] x", Some("x")),
            ("09:00:00.5 DEBUG x", Some("x")),
            ("[INFO]{", Some("{")),
            ("INFO: {", Some("{")),
            ("[ INFO ] x", Some("x")),
            ("[2026-10-19T09:00:00Z]", Some("")),
            ("build\tRun the agent\t2026-10-19T09:00:00.1234567Z {", Some("{")),
            ("build\tRun the agent\t\u{feff}2026-10-19T09:00:00.1234567Z x", Some("x")),
            ("[info] {", Some("{")),
            ("##[info]{\"a\":1}", Some("{\"a\":1}")),
            ("2026-10-19T09:00:00.1234567Z ##[debug] x", Some("x")),
            ("2026-10-19T09:00:00Z info {\"a\":1}", Some("{\"a\":1}")),
            ("2026-10-19T09:00:00Z info x", Some("info x")),
            ("2026-10-19 09:00:00.123 +0000 UTC {", Some("{")),
            ("2026-10-19 09:00:00,123 -0700 x", Some("x")),
            ("[2026-10-19T09:00:00Z INFO  program::part] {", Some("{")),
            ("[2026-10-19T09:00:00Z INFO] {", Some("{")),
            ("2026-10-19T09:00:00.123456789Z stdout F {\"a\":1}", Some("{\"a\":1}")),
            ("agent-1  | {\"a\":1}", Some("{\"a\":1}")),
            ("agent-1  |   \"a\": 1,", Some("  \"a\": 1,")),
            ("agent-1  |", Some("")),
            ("agent-1  | 2026-10-19T09:00:00.123456789Z [INFO] {", Some("{")),
            ("[pod/agent-7d9f-x2/main] {\"a\":1}", Some("{\"a\":1}")),
            ("[pod/agent-7d9f-x2/main] 2026-10-19T09:00:00.123456789Z {", Some("{")),
            ("| a | b |", None),
            ("a |b", None),
            ("two words | x", None),
            ("[pod/agent] x", None),
            ("##info x", None),
            ("info x", None),
            ("stdout F x", None),
            ("INFORMATION x", None),
            ("Info: x", None),
            ("[2026-10-19] x", None),
            ("2026-10-19T09:00:00Zx", None),
            ("[1, 2]", None),
            ("a\tb\tc", None),
            ("{\"a\":1}", None),
            ("", None),
        ] {
            let found = without_prefix(line.as_bytes()).map(|rest| std::str::from_utf8(rest).unwrap());
            assert_eq!(found, expected, "{line}");
        }
    }

    #[test]
    fn objects_begin_with_a_key_or_at_the_end_of_a_line() {
        for text in ["{", "{\r", " {\"a\":1}", "{ \"a\"", "{}"] {
            assert!(begins_object(text.as_bytes()), "{text}");
        }
        for text in ["", "x {", "{x", "[{"] {
            assert!(!begins_object(text.as_bytes()), "{text}");
        }
    }
}
