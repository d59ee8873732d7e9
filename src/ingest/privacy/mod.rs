//! Removes text that an archive should not contain.
//!
//! [`shape`] removes the words from the example of a rejected line; the rest shows why the line was rejected. [`redact`] removes
//! text that resembles a secret or a mail address from all stored text. It recognises keys by the prefixes of their issuers, and
//! other secrets by the names of variables, options and headers. A secret with neither is kept.

use std::borrow::Cow;
use std::ops::Deref;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use crate::model::health::Health;
use crate::model::session::{Event, FileChange, SessionResult, ToolCall};
use crate::model::source::Source;

/// The replacement of removed text.
const REMOVED: &str = "[redacted]";

/// The start of a word, which may follow the escape of a newline, as arguments are kept as JSON. The first two groups of a rule are
/// kept: what comes before a secret and marks it, and what comes after it.
const BEGIN: &str = r"(\b|\\[nrtbf]|\\u[0-9A-Fa-f]{4})";

/// The forms of keys by issuer, from the documentation of the issuers and from secret scanners.
const KEYS: &[&str] = &[
    // OpenAI, Anthropic (sk-ant-), OpenRouter (sk-or-), DeepSeek, Moonshot, LiteLLM and others with the same form.
    r"sk-[A-Za-z0-9_-]{16,}",
    // Google: API key, OAuth token and client secret.
    r"AIza[A-Za-z0-9_-]{30,}",
    r"ya29\.[A-Za-z0-9_-]{20,}",
    r"GOCSPX-[A-Za-z0-9_-]{20,}",
    // AWS, Alibaba.
    r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b",
    r"LTAI[A-Za-z0-9]{12,}",
    // GitHub, GitLab, Atlassian, Docker, npm, PyPI, crates.io.
    r"gh[pousr]_[A-Za-z0-9]{20,}",
    r"github_pat_[A-Za-z0-9_]{20,}",
    r"gl(?:pat|dt|rt|cbt|ptt|ft|soat|oas|agent|imt|ffct)-[A-Za-z0-9_-]{16,}",
    r"ATATT3[A-Za-z0-9_=-]{20,}",
    r"dckr_pat_[A-Za-z0-9_-]{20,}",
    r"npm_[A-Za-z0-9]{30,}",
    r"pypi-[A-Za-z0-9_-]{30,}",
    r"cio[A-Za-z0-9]{32}\b",
    // Other providers of models: Hugging Face, xAI, Groq, Perplexity, Replicate, Fireworks, Together, Cerebras, NVIDIA, Jina, Tavily.
    r"hf_[A-Za-z0-9]{20,}",
    r"xai-[A-Za-z0-9]{20,}",
    r"gsk_[A-Za-z0-9]{20,}",
    r"pplx-[A-Za-z0-9]{20,}",
    r"r8_[A-Za-z0-9]{20,}",
    r"fw_[A-Za-z0-9]{20,}",
    r"tgp_v1_[A-Za-z0-9_-]{20,}",
    r"csk-[A-Za-z0-9]{20,}",
    r"nvapi-[A-Za-z0-9_-]{20,}",
    r"jina_[A-Za-z0-9_-]{20,}",
    r"tvly-[A-Za-z0-9_-]{16,}",
    // Slack, Discord, Telegram.
    r"xox[abeoprs]-[A-Za-z0-9-]{10,}",
    r"xapp-[0-9]-[A-Za-z0-9-]{10,}",
    r"[MNO][A-Za-z0-9_-]{23,25}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}",
    r"[0-9]{8,10}:AA[A-Za-z0-9_-]{32,}",
    // Stripe, Square, Shopify, SendGrid, Twilio, Mailgun.
    r"(?:sk|rk|pk)_(?:live|test|prod)_[A-Za-z0-9]{10,}",
    r"whsec_[A-Za-z0-9+/=]{20,}",
    r"sq0[a-z]{3}-[A-Za-z0-9_-]{20,}",
    r"shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{32}",
    r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",
    r"SK[0-9a-f]{32}\b",
    r"key-[0-9a-f]{32}\b",
    // DigitalOcean, Databricks, Vault, Pulumi, Grafana, Supabase, Sentry, Linear, Notion, Figma, Doppler, age.
    r"do[opr]_v1_[a-f0-9]{40,}",
    r"dapi[a-f0-9]{32}",
    r"hv[sbr]\.[A-Za-z0-9_-]{20,}",
    r"pul-[a-f0-9]{40}",
    r"glsa_[A-Za-z0-9_]{20,}",
    r"sbp_[a-f0-9]{40}",
    r"sntry[su]_[A-Za-z0-9+/=_-]{20,}",
    r"lin_api_[A-Za-z0-9]{20,}",
    r"(?:ntn|secret)_[A-Za-z0-9]{40,}",
    r"figd_[A-Za-z0-9_-]{20,}",
    r"dp\.(?:pt|st|sa|ct)\.[A-Za-z0-9._-]{20,}",
    r"AGE-SECRET-KEY-1[A-Z0-9]{20,}",
    // A JSON Web Token.
    r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?",
];

static RULES: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let keys = format!("{BEGIN}(?:{})", KEYS.join("|"));
    let rules = [
        // A private key, even if its end is missing.
        r"(?s)(-----BEGIN [A-Z ]{0,20}PRIVATE KEY(?: BLOCK)?-----).*?(?:-----END [A-Z ]{0,20}PRIVATE KEY(?: BLOCK)?-----|\z)",
        // The password in a URL, the secret path of a webhook.
        r#"([A-Za-z][A-Za-z0-9+.-]*://[^\s:/@"']*:)[^\s@/"']+(@)"#,
        r"(hooks\.slack\.com/[a-z]+/|discord(?:app)?\.com/api/webhooks/)[A-Za-z0-9/_+-]{16,}",
        &keys,
        // A header, an option, a variable or a field with a name for secrets.
        r"(?i)(\b(?:bearer|basic)[ \t]+)[A-Za-z0-9._~+/=-]{12,}",
        r#"(?i)(--?(?:password|passwd|token|api-?key|secret)[ =]\\?["']?)[^\s"'\\\[-][^\s"'\\]{3,}"#,
        r#"(?i)((?:api[_-]?key|access[_-]?key|private[_-]?key|secret|token|passw(?:or)?d|passphrase|authorization|credentials?)(?:[_-]?(?:key|id|value|token|access[_-]?key))?\\?["']?[ \t]*[:=]{1,2}[ \t]*\\?["']?)[^\s"'\\,;&\[\]{}()]{6,}"#,
        // A mail address.
        r"(\b|\\[nrt])[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}\b",
    ];
    #[expect(clippy::expect_used, reason = "the patterns are constant, and a test compiles them")]
    rules.iter().map(|rule| Regex::new(rule).expect("a valid pattern")).collect()
});

/// A text in which everything that resembles a secret or a mail address is replaced.
pub fn redacted(text: &str) -> Cow<'_, str> {
    let replaced = |found: &Captures<'_>| {
        let group = |index| found.get(index).map_or("", |group| group.as_str());
        // Not a mail address but the user and host of a git URL.
        if group(0).starts_with("git@") {
            return group(0).to_owned();
        }
        format!("{}{REMOVED}{}", group(1), group(2))
    };
    RULES.iter().fold(Cow::Borrowed(text), |text, rule| match rule.replace_all(&text, replaced) {
        Cow::Borrowed(_) => text,
        Cow::Owned(replaced) => Cow::Owned(replaced),
    })
}

/// Removes secrets and mail addresses from all text of a file. Paths of logs, ids, and names of models and tools are kept: rows refer
/// to each other by them.
pub fn redact(source: &mut Source) {
    source.message.iter_mut().for_each(redact_text);
    redact_health(&mut source.health);
    source.sessions.iter_mut().for_each(redact_session);
    source.verdicts.iter_mut().filter_map(|it| it.verdict.message.as_mut()).for_each(redact_text);
}

fn redact_health(health: &mut Health) {
    health.rejects.iter_mut().for_each(|reject| redact_text(&mut reject.example));
}

fn redact_text<T: Deref<Target = str> + From<String>>(text: &mut T) {
    if let Cow::Owned(redacted) = redacted(text) {
        *text = redacted.into();
    }
}

/// As [`redact`], for one session.
pub fn redact_session(session: &mut SessionResult) {
    // All fields are listed, so that a new one needs a decision.
    let SessionResult {
        session_id: _,
        runtime: _,
        format: _,
        line: _,
        recording: _,
        runtime_version: _,
        parent_session_id: _,
        continues: _,
        provider_session_id: _,
        agent,
        entrypoint: _,
        cwd,
        git_branch,
        repository,
        host: _,
        user_name: _,
        model: _,
        status: _,
        error_kind: _,
        error_message,
        stop_reason: _,
        exit_code: _,
        started_at: _,
        ended_at: _,
        duration_ms: _,
        stated_turns: _,
        user_turns: _,
        prompts: _,
        asked: _,
        said: _,
        stated_tool_calls: _,
        stated_tool_errors: _,
        stated_lines: _,
        subagents: _,
        capabilities: _,
        under_reports: _,
        labels,
        prompt,
        text,
        turns: _,
        tool_calls,
        file_changes,
        events,
        totals: _,
        limits: _,
        is_estimated: _,
        verdicts,
        trial: _,
        is_trial_result: _,
    } = session;
    for verdict in verdicts {
        verdict.message.iter_mut().for_each(redact_text);
    }
    *labels = std::mem::take(labels).into_iter().map(|label| redacted(&label).into_owned()).collect();
    agent.iter_mut().for_each(redact_text);
    error_message.iter_mut().for_each(redact_text);
    [cwd, git_branch, repository, prompt, text].into_iter().flatten().for_each(redact_text);
    for call in tool_calls {
        let ToolCall { target, args, result, .. } = &mut **call;
        [target, args, result].into_iter().flatten().for_each(redact_text);
    }
    for change in file_changes {
        let FileChange { path, .. } = change;
        redact_text(path);
    }
    for event in events {
        let Event { code, message, .. } = event;
        code.iter_mut().for_each(redact_text);
        message.iter_mut().for_each(redact_text);
    }
}

/// The beginning of a line without its words: of JSON the keys, the numbers and the record's `type`; of other text the punctuation.
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
            if is_key || depth == 1 && key == "type" {
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

    /// Keys in the forms of their issuers. The test assembles them, so that no scanner reports this file as a leak.
    #[test]
    fn what_looks_like_a_secret_is_removed() {
        let keys = [
            ("sk-ant-api03-", "aB3_-x"),
            ("sk-proj-", "aB3_-x"),
            ("sk-or-v1-", "0a1b2c"),
            ("sk-", "aB3dE5"),
            ("AIza", "Sy0_-x"),
            ("ya29.", "a0AfB_"),
            ("AKIA", "IOSFOD"),
            ("ghp_", "aB3dE5"),
            ("github_pat_", "11AAAA"),
            ("glpat-", "aB3-dE"),
            ("npm_", "aB3dE5"),
            ("pypi-", "AgEIcH"),
            ("hf_", "aBcDeF"),
            ("xai-", "aB3dE5"),
            ("gsk_", "aB3dE5"),
            ("pplx-", "aB3dE5"),
            ("r8_", "aB3dE5"),
            ("nvapi-", "aB3dE5"),
            ("xoxb-", "123456"),
            ("sk_live_", "aB3dE5"),
            ("dop_v1_", "0a1b2c"),
            ("dapi", "0a1b2c"),
            ("hvs.", "CAESIJ"),
            ("lin_api_", "aB3dE5"),
            ("SG.aaaaaaaaaaaaaaaa.", "bbbbbb"),
            ("eyJhbGciOiJIUzI1NiJ9.", "eyJzdW"),
        ];
        for (begin, rest) in keys {
            let length = if begin == "AKIA" {
                16
            } else if begin == "dapi" {
                32
            } else {
                42
            };
            let key = begin.to_owned() + &rest.repeat(8)[..length];
            for text in [
                key.clone(),
                format!("use {key}, please"),
                format!(r#"{{"command":"a\n{key}\n"}}"#),
                format!("(\"{key}\")"),
            ] {
                let left = redacted(&text);
                assert!(left.contains(REMOVED) && !left.contains(rest), "{text}: {left}");
            }
        }
    }

    #[test]
    fn a_secret_is_recognised_by_the_name_of_its_variable() {
        let check = |text: &str, left: &str| assert_eq!(redacted(text), left);
        check("Authorization: Bearer abc.def-123456", "Authorization: [redacted] [redacted]");
        check("curl -H 'X-Api-Key: 0123456789'", "curl -H 'X-Api-Key: [redacted]'");
        check("export DB_PASSWORD=hunter22", "export DB_PASSWORD=[redacted]");
        check(r#"{"password": "hunter22", "n": 1}"#, r#"{"password": "[redacted]", "n": 1}"#);
        check(r#"{\"client_secret\":\"hunter22\"}"#, r#"{\"client_secret\":\"[redacted]\"}"#);
        check("login --password hunter22 --user me", "login --password [redacted] --user me");
        check("postgres://me:hunter22@db.example.com/x", "postgres://me:[redacted]@db.example.com/x");
        check("write to anna.b+c@mail.example.co.uk.", "write to [redacted].");
        check(
            "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----\nx",
            "-----BEGIN RSA PRIVATE KEY-----[redacted]\nx",
        );
        check("-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNz", "-----BEGIN OPENSSH PRIVATE KEY-----[redacted]");
    }

    #[test]
    fn other_text_is_kept() {
        for text in [
            r#"{"input_tokens":1234567,"max_tokens": 100000, "total_tokens=": 9}"#,
            "the token limit of 200000 tokens",
            "npm warn deprecated left-pad@1.3.0",
            "git@github.com: permission denied",
            "task-list-of-things-to-do-tomorrow",
            "/home/me/project/src/main.rs",
            "msg_01XFDUDYJgAACzvnptvVoYEL toolu_01A09q90qw90lq917835lq9",
            "0b7d3c58-7d2e-4c39-9f6a-1f2b3c4d5e6f",
            "529 {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}",
        ] {
            assert_eq!(redacted(text), text);
        }
    }

    #[test]
    fn a_shape_has_no_words() {
        let check = |line: &str, left: &str| assert_eq!(shape(line), left);
        check(
            r#"{"type":"user","n":-1.5,"message":{"type":"x y","content":"secret \" words"#,
            r#"{"type":"user","n":-1.5,"message":{"type":"…","content":"…"#,
        );
        check(r#"{"a":["b","",true]} tail"#, r#"{"a":["…","",…]} …"#);
        check("npm warn deprecated left-pad@1.3.0", "… … … …-…@….….…");
        check(r#"secret words"}]}"#, r#"… …"}]}"#);
        check("", "");
    }
}
