//! Recognises secrets and mail addresses in text.
//!
//! Keys are recognised by the prefixes of their issuers, and other secrets by the names of variables, options and headers. A secret
//! with neither is kept.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

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
    // GitLab runners, Tailscale, Postman, New Relic, Supabase, Netlify, RubyGems, Grafana Cloud, PlanetScale, Heroku, Amazon Bedrock,
    // Google's refresh tokens, Terraform Cloud.
    r"GR1348941[A-Za-z0-9_-]{16,}",
    r"tskey-[A-Za-z0-9_-]{16,}",
    r"PMAK-[A-Za-z0-9-]{20,}",
    r"NRAK-[A-Za-z0-9]{20,}",
    r"sb_(?:secret|publishable)_[A-Za-z0-9_-]{16,}",
    r"nfp_[A-Za-z0-9]{20,}",
    r"rubygems_[a-f0-9]{32,}",
    r"glc_[A-Za-z0-9+/=_-]{20,}",
    r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9._-]{20,}",
    r"HRKU-[A-Za-z0-9_-]{20,}",
    r"ABSK[A-Za-z0-9+/=]{40,}",
    r"1//0[A-Za-z0-9_-]{20,}",
    r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{20,}",
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
        // Headers: the value with its scheme, all cookies.
        r#"(?i)(\bauthorization\\?["']?[ \t]*[:=][ \t]*\\?["']?)(?:[a-z][a-z0-9_-]*[ \t]+)?[^\s"'\\,;]+"#,
        r#"(?i)(\b(?:set-)?cookie\\?["']?[ \t]*:[ \t]*\\?["']?)[^\r\n"'\\]+"#,
        // Passwords of programs.
        r#"(?i)(\bcurl\b[^\r\n|;&]*?[ \t](?:-u|--user|--proxy-user)[ =]?\\?["']?[^\s:"'\\]*:)[^\s"'\\]+"#,
        r#"(\bsshpass[ \t]+-p[ \t]*\\?["']?)[^\s"'\\]+"#,
        // A quoted value, which may have several words.
        r#"(?i)((?:api[_-]?key|access[_-]?key|account[_-]?key|private[_-]?key|secret|token|passw(?:or)?d|\bpwd|\bauth|passphrase|credentials?)(?:[_-]?(?:key|id|value|token|access[_-]?key))?\\?["']?[ \t]*[:=]{1,2}[ \t]*\\?["'])[^"'\\\r\n]{4,}"#,
        // A signature in a URL of Azure, keys in a connection string.
        r"(?i)([?&]sig=)[A-Za-z0-9%+/=_-]{16,}",
        r"(?i)(\b(?:account|sharedaccess)key=)[A-Za-z0-9+/=]{16,}",
        r"(?i)(\bpwd=)[^\s;&\x22']{3,}",
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys in the forms of their issuers. The test assembles them, so that no scanner reports this file as a leak.
    #[test]
    fn text_in_the_form_of_a_secret_is_removed() {
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
            ("GR1348941", "aB3_-x"),
            ("tskey-auth-", "aB3dE5"),
            ("PMAK-", "0a1b2c"),
            ("NRAK-", "ABC123"),
            ("sb_secret_", "aB3dE5"),
            ("nfp_", "aB3dE5"),
            ("rubygems_", "0a1b2c"),
            ("glc_", "aB3dE5"),
            ("pscale_pw_", "aB3dE5"),
            ("HRKU-", "aB3dE5"),
            ("ABSK", "aB3dE5"),
            ("1//0", "aB3dE5"),
            ("aB3dE5aB3dE5aB.atlasv1.", "fG7hI8"),
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
        check("Authorization: Bearer abc.def-123456", "Authorization: [redacted]");
        check("curl -H 'Authorization: SSWS abcdefghijKLM'", "curl -H 'Authorization: [redacted]'");
        check("{\"authorization\":\"Token abcdef\"}", "{\"authorization\":\"[redacted]\"}");
        check("password = \"two words\"", "password = \"[redacted]\"");
        check("password: 'two words', x: 'two words'", "password: '[redacted]', x: 'two words'");
        check("Cookie: a=b; session=c", "Cookie: [redacted]");
        check("curl -s -u ann:hunter22 https://h/x", "curl -s -u ann:[redacted] https://h/x");
        check("sshpass -p hunter22 ssh h", "sshpass -p [redacted] ssh h");
        check("{\"auth\": \"aHVudGVyMjI=\"}", "{\"auth\": \"[redacted]\"}");
        check("Server=h;Uid=u;Pwd=hunter22;", "Server=h;Uid=u;Pwd=[redacted];");
        check("AccountName=a;AccountKey=abcdefghijklmnop0123==;x", "AccountName=a;AccountKey=[redacted];x");
        check(
            "https://a.blob.core.windows.net/c?se=1&sig=abcdefghijklmnop%3D&x=1",
            "https://a.blob.core.windows.net/c?se=1&sig=[redacted]&x=1",
        );
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
}
