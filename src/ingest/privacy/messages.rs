//! Messages without the text that they quote.
//!
//! A provider or a runtime quotes in its messages what it was sent: arguments, prompts, paths. The words between the quotations are
//! those of the provider. A refusal is different: its text can be the refused command itself, so only known texts of runtimes are kept.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use crate::adapters::shared::denials;
use crate::base::text::{SharedStr, Symbol};
use crate::model::session::{EventKind, SessionResult};
use crate::model::verdict::Verdict;

/// The replacement of quoted text.
const QUOTED: &str = "…";

/// Quoted words that providers use in every answer. They are kept.
const KNOWN: &[&str] = &[
    "api_error",
    "authentication_error",
    "billing_error",
    "code",
    "details",
    "error",
    "insufficient_quota",
    "invalid_request_error",
    "message",
    "not_found_error",
    "overloaded_error",
    "param",
    "permission_error",
    "rate_limit_error",
    "request_id",
    "request_too_large",
    "status",
    "timeout_error",
    "type",
];

/// What is masked. The group `before` is kept.
///
/// `W` is the characters of a word: letters, digits and `_` of ASCII, and every character outside of ASCII. Unicode's `\w` would
/// take 15 ms to compile, a tenth of an ingest of 100 MB. Where the two differ, more is masked.
static MASKED: LazyLock<Regex> = LazyLock::new(|| {
    let parts = [
        // Quotations, also without an end. An apostrophe inside of a word is not a quote.
        r#"(?P<string>"(?:[^"\\]|\\.)*(?:"|\\?\z))"#,
        r"`[^`]*(?:`|\z)",
        r"[“„”][^“”]*(?:[“”]|\z)",
        r"[«»][^«»]*(?:[«»]|\z)",
        r"‘[^‘’]*(?:’[W][^‘’]*)*(?:’|\z)",
        r"(?P<before>^|[^0-9A-Za-z_'])[bBfFrRuU]{0,2}'(?:[^']|'[W])*(?:'|\z)",
        // URLs and mail addresses.
        r"[A-Za-z][A-Za-z0-9+.-]*://\S*",
        r"(?-u:\b)www\.\S+",
        r"[W.+-]+@[W-]+(?:\.[W-]+)+",
        // Paths. A directory may have a name of several words.
        r"(?-u:\b)[A-Za-z]:[\\/]\S*(?:(?: [^\s\\/]+){1,3}[\\/]\S*)*",
        r"\\\\\S+",
        r"(?P<start>^|[\s(\[{=:,<>|])(?:~|\.{1,2})?/[^\s/]+(?:(?: [^\s/]+){0,3}/[^\s/]*)*",
        r"[W.@-]+(?:/[W.@-]+)*/[W@-][W.@-]*\.[A-Za-z][W]*",
        r"[W.@-]+(?:/[W.@-]+){2,}",
        // Words that may be ids, and long numbers: see `is_id`.
        r"(?P<word>[A-Za-z0-9_*-]{9,})",
    ];
    let pattern = parts.join("|").replace('W', r"0-9A-Za-z_\x80-\u{10ffff}");
    #[expect(clippy::expect_used, reason = "the pattern is constant, and a test compiles it")]
    Regex::new(&format!("(?s){pattern}")).expect("a valid pattern")
});

/// Removes from the messages of a session what they quote, and from refusals all but known texts of runtimes.
pub fn reduce_messages(session: &mut SessionResult) {
    if let Some(message) = &mut session.error_message {
        mask(message);
    }
    for event in &mut session.events {
        if let Some(code) = event.code.as_mut().filter(|code| !is_code(code)) {
            *code = Symbol::new(&masked(code));
        }
        match &mut event.message {
            // The error of a tool, too, is the text of the tool.
            Some(message)
                if event.kind == EventKind::PermissionDenial
                    || event.kind == EventKind::Error && event.call_id.is_some() =>
            {
                event.message = denials::known_text(message).map(SharedStr::from);
            }
            Some(message) => mask(message),
            None => {}
        }
    }
    session.verdicts.iter_mut().for_each(reduce_verdict);
}

/// Masks the words in the message of a verdict that may be text of a conversation.
pub fn reduce_verdict(verdict: &mut Verdict) {
    if let Some(message) = &mut verdict.message
        && let Cow::Owned(masked) = masked(message)
    {
        *message = masked;
    }
}

fn mask(message: &mut SharedStr) {
    if let Cow::Owned(masked) = masked(message) {
        *message = masked.into();
    }
}

/// Whether a code is a name or a number of the runtime, without spaces and quotes.
fn is_code(code: &str) -> bool {
    code.len() <= 64
        && code.chars().all(|char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-' | '.' | ':' | '/'))
}

/// A message with [`QUOTED`] in place of quotations, URLs, paths, ids and long numbers.
fn masked(message: &str) -> Cow<'_, str> {
    MASKED.replace_all(message, |found: &Captures<'_>| {
        let group = |name| found.name(name).map(|group| group.as_str());
        let whole = found.get(0).map_or("", |found| found.as_str());
        match (group("word"), group("string")) {
            (Some(word), _) if !is_id(word) => word.to_owned(),
            (_, Some(string)) if KNOWN.contains(&string.trim_matches('"')) => whole.to_owned(),
            _ => format!("{}{QUOTED}", group("before").or(group("start")).unwrap_or_default()),
        }
    })
}

/// Whether a word is an id, a part of a key, or a long number: a name has no ten characters of which some are digits and others
/// letters.
fn is_id(word: &str) -> bool {
    const LONG: usize = 9;
    let is_mixed = |part: &str| {
        let digits = part.bytes().filter(u8::is_ascii_digit).count();
        digits >= LONG || part.len() > LONG && digits > 0 && digits < part.len()
    };
    let is_uuid = word.len() == 36 && word.split('-').map(str::len).eq([8, 4, 4, 4, 12]);
    word.contains("**") || is_uuid || word.split(['-', '_']).any(is_mixed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_lose_what_they_quote() {
        for (message, expected) in [
            ("Overloaded", "Overloaded"),
            (
                r#"API Error: 529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_011CX79AuB6n6Tr3rNXPt4Y7"}"#,
                r#"API Error: 529 {"type":"error","error":{"type":"overloaded_error","message":…},"request_id":…}"#,
            ),
            (
                "Invalid 'user_id': string does not match pattern '^[a-z]+$'.",
                "Invalid …: string does not match pattern ….",
            ),
            ("Model 'it isn't there' was not found", "Model … was not found"),
            ("错误：'secret words'", "错误：…"),
            ("'qu'à l'été secret' is unknown", "… is unknown"),
            ("write to jörg@exämple.com", "write to …"),
            ("invalid literal: b'secret words', u'x'", "invalid literal: …, …"),
            (
                "You've hit your limit · resets 8:20pm (Asia/Seoul)",
                "You've hit your limit · resets 8:20pm (Asia/Seoul)",
            ),
            ("the users' data isn't there", "the users' data isn't there"),
            ("cannot read `rm -rf x` and “a b” or «c d» or ‘it’s’.", "cannot read … and … or … or …."),
            ("Failed to parse \"{\\\"command\\\": \\\"secret", "Failed to parse …"),
            ("it ends in 'an open quote", "it ends in …"),
            ("read the docs: https://example.com/a?b=c.", "read the docs: …"),
            (
                "ENOENT: no such file or directory, open /Users/Jane Doe/notes.md",
                "ENOENT: no such file or directory, open …",
            ),
            ("cannot open C:\\Users\\Jane Doe\\notes.md", "cannot open …"),
            ("cannot open src/main.rs and ~/x", "cannot open … and …"),
            ("read and/or write", "read and/or write"),
            ("write to ann@example.com", "write to …"),
            ("Incorrect API key provided: gsk_0aEm*****ldue.", "Incorrect API key provided: …."),
            ("include the request ID 86f3c344-69da-48d0-9052-d8f8c48282b5 in it", "include the request ID … in it"),
            ("Claude AI usage limit reached|1760000000", "Claude AI usage limit reached|…"),
            (
                "prompt is too long: 213462 tokens > 200000 maximum",
                "prompt is too long: 213462 tokens > 200000 maximum",
            ),
            ("timed out after 300000ms", "timed out after 300000ms"),
            ("claude-sonnet-4-5 and gpt-5.1-codex-mini", "claude-sonnet-4-5 and gpt-5.1-codex-mini"),
            (
                "litellm.Timeout: DeepseekException - UNEXPECTED_EOF_WHILE_READING (_ssl.c:1000)",
                "litellm.Timeout: DeepseekException - UNEXPECTED_EOF_WHILE_READING (_ssl.c:1000)",
            ),
        ] {
            assert_eq!(masked(message), expected);
        }
    }

    #[test]
    fn only_codes_are_kept_as_codes() {
        for code in ["429", "rate_limit", "api_error:529", "litellm.Timeout"] {
            assert!(is_code(code), "{code}");
        }
        for text in ["two words", "{\"a\":1}", "it's", &"x".repeat(65)] {
            assert!(!is_code(text), "{text}");
        }
    }
}
