//! Names of models, and the one name of each.

use proptest::prelude::*;

use crate::base::time::Day;
use crate::prices::{Catalog, Table};

fn canonical(model: &str) -> String {
    Catalog::built_in().canonical(model)
}

/// A log can contain any text as the name of a model.
#[test]
fn a_name_of_any_length_is_searched_in_a_short_time() {
    for name in ["hf:".repeat(30_000) + "x", "x".to_owned() + &"-fast".repeat(30_000), "openai/".repeat(10_000) + "x"] {
        assert_eq!(canonical(&name), name);
        assert!(Catalog::built_in().find(None, &name).is_none());
    }
    assert_eq!(canonical(&("hf:".repeat(100) + "claude-sonnet-4-5")), "claude-sonnet-4-5");
}

#[test]
fn spellings_of_a_model_have_one_name() {
    for (expected, logged) in [
        (
            "claude-sonnet-4-5",
            &[
                "claude-sonnet-4-5",
                "claude-sonnet-4-5-20250929",
                "claude-sonnet-4-5-20250929[1m]",
                "claude-sonnet-4-5[1m]",
                "claude-sonnet-4.5",
                "claude-4.5-sonnet",
                "Claude Sonnet 4.5",
                "Claude 4.5 Sonnet (Thinking)",
                "claude-sonnet-4-5-thinking",
                "claude-sonnet-4-5-latest",
                "anthropic/claude-sonnet-4.5",
                "anthropic/claude-sonnet-4.5:thinking",
                "openrouter/anthropic/claude-sonnet-4.5:beta",
                "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
                "anthropic.claude-sonnet-4-5-20250929-v1:0",
                "bedrock/global.anthropic.claude-sonnet-4-5-20250929-v1:0",
                "arn:aws:bedrock:eu-west-1:123:inference-profile/eu.anthropic.claude-sonnet-4-5-20250929-v1:0",
                "claude-sonnet-4-5@20250929",
                "projects/p/locations/l/publishers/anthropic/models/claude-sonnet-4-5@20250929",
            ][..],
        ),
        ("claude-3-5-sonnet", &["anthropic.claude-3-5-sonnet-20241022-v2:0", "claude-3-5-sonnet-v2@20241022"]),
        ("claude-3-5-haiku", &["claude-3-5-haiku-latest", "claude-3-5-haiku-20241022", "claude-3.5-haiku"]),
        ("claude-3-7-sonnet", &["claude-3-7-sonnet-20250219", "claude-sonnet-3.7", "claude-3.7-sonnet:thinking"]),
        ("claude-opus-4", &["claude-opus-4-20250514", "claude-opus-4-0", "claude-4-opus", "anthropic/claude-opus-4"]),
        ("claude-opus-4-6", &["claude-opus-4-6", "Claude 4.6 Opus (Thinking)", "claude-opus-4-6[1m]"]),
        ("claude-opus-5", &["claude-5.0-opus", "claude-opus-5.0", "anthropic/claude-opus-5:batch"]),
        ("claude-opus-4-6-fast", &["anthropic/claude-opus-4.6-fast", "claude-opus-4-6-fast"]),
        (
            "gpt-4o",
            &["gpt-4o-2024-08-06", "gpt-4o-2024-05-13", "openai/gpt-4o", "azure/eu/gpt-4o-2024-11-20", "GPT-4o"],
        ),
        ("gpt-5", &["gpt-5-2025-08-07", "openai/gpt-5", "gpt-5-high", "gpt-5 (high)", "GPT-5 Low", "gpt-5-minimal"]),
        ("gpt-5.1", &["gpt-5-1", "gpt-5.1-2025-11-13"]),
        ("gpt-5.5-fast", &["gpt-5.5-fast", "openai/gpt-5.5-fast", "gpt-5.5-high-fast", "gpt-5.5-fast-high"]),
        ("gpt-3.5-turbo", &["gpt-35-turbo", "gpt-3.5-turbo-0125", "gpt-3.5-turbo-1106"]),
        ("gpt-4", &["gpt-4-0613", "gpt-4-0314"]),
        (
            "gpt-oss-120b",
            &["openai/gpt-oss-120b:free", "openai.gpt-oss-120b-1:0", "accounts/fireworks/models/gpt-oss-120b"],
        ),
        ("o3-mini", &["o3-mini-high", "o3-mini-2025-01-31"]),
        (
            "gemini-2.5-pro",
            &["models/gemini-2.5-pro", "google/gemini-2.5-pro", "vertex_ai/gemini-2.5-pro", "Gemini 2.5 Pro"],
        ),
        ("gemini-2.5-flash", &["gemini-2.5-flash-preview-09-2025", "google/gemini-2.5-flash:thinking"]),
        ("gemini-2.5-flash-preview", &["gemini-2.5-flash-preview-05-20", "gemini-2.5-flash-preview:thinking"]),
        ("gemini-2.0-flash", &["gemini-2.0-flash-001", "google/gemini-2.0-flash-001"]),
        ("gemini-3-pro-preview", &["models/gemini-3-pro-preview", "google/gemini-3-pro-preview"]),
        ("gemini-3.5-flash", &["gemini-3.5-flash-preview"]),
        ("grok-code-fast-1", &["x-ai/grok-code-fast-1", "xai/grok-code-fast-1", "grok-code-fast-1:free"]),
        ("grok-4", &["grok-4-0709", "x-ai/grok-4"]),
        (
            "kimi-k2.5",
            &[
                "moonshotai/kimi-k2.5",
                "accounts/fireworks/models/kimi-k2p5",
                "kimi-k2-5",
                "hf:moonshotai/Kimi-K2.5",
                "moonshotai/Kimi-K2.5:novita",
                "kimi-k2.5:cloud",
                "openai/kimi-k2.5",
                "azure/FW-Kimi-K2.5",
                "@cf/moonshotai/kimi-k2.5",
            ],
        ),
        ("glm-4.7", &["zai-glm-4.7", "zai.glm-4.7", "zai-org/glm-4.7-maas", "GLM-4.7-FP8", "glm-4-7-251222"]),
        ("claude-opus-4-8", &["anthropic/claude-opus-4-8:high", "claude-opus-4.8:xhigh"]),
        ("deepseek-v3.2", &["deepseek.v3.2", "deepseek/deepseek-v3.2", "deepseek-v3-2-251201"]),
        ("glm-4.6", &["z-ai/glm-4.6", "zai-org/GLM-4.6", "accounts/fireworks/models/glm-4p6"]),
        ("deepseek-v4-flash", &["madrid-spain/openrouter/deepseek/deepseek-v4-flash", "deepseek-v4-flash-20260731"]),
        (
            "deepseek-r1",
            &[
                "us.deepseek.r1-v1:0",
                "bedrock/us.deepseek.r1-v1:0",
                "deepseek/deepseek-r1:free",
                "deepseek-ai/DeepSeek-R1-0528",
                "deepseek-r1-0528",
            ],
        ),
        ("qwen3-coder", &["qwen/qwen3-coder:free", "alibaba/qwen3-coder"]),
        ("qwen3-coder-plus", &["qwen3-coder-plus-2026-07-22", "qwen/qwen3-coder-plus"]),
        ("llama-3.3-70b-instruct", &["meta-llama/Llama-3.3-70B-Instruct", "us.meta.llama3-3-70b-instruct-v1:0"]),
        ("nova-lite", &["amazon.nova-lite-v1:0", "us.amazon.nova-lite-v1:0", "amazon/nova-lite"]),
        ("composer-2.5", &["Composer 2.5"]),
        ("nemotron-nano-9b-v2", &["nvidia/nemotron-nano-9b-v2", "nvidia/nemotron-nano-9b-v2:free"]),
    ] {
        for logged in logged {
            assert_eq!(canonical(logged), expected, "{logged}");
        }
    }
}

#[test]
fn other_models_stay_apart() {
    for name in [
        "gpt-5-mini",
        "gpt-5-nano",
        "gpt-5-pro",
        "gpt-5-codex",
        "gpt-5-chat",
        "gpt-5.1-codex",
        "gpt-5.1-codex-mini",
        "gpt-5.1-codex-max",
        "gpt-5.6",
        "gpt-5.6-sol",
        "gpt-4o-mini",
        "gpt-4.1-nano",
        "o1-mini",
        "o1-preview",
        "gemini-2.5-flash-lite",
        "gemini-2.5-flash",
        "gemini-2.5-pro-preview-03-25",
        "gemini-pro-latest",
        "grok-4-fast",
        "grok-4-fast-non-reasoning",
        "grok-3-mini-fast",
        "composer-2.5-fast",
        "kimi-k2-thinking",
        "kimi-k2-turbo",
        "minimax-m2",
        "minimax-m2.1",
        "minimax-m2.5",
        "deepseek-reasoner",
        "deepseek-chat",
        "mistral-large-2512",
        "codestral-2508",
        "qwen3-235b-a22b-2507",
        "chatgpt-4o-latest",
        "glm-4.5-air",
    ] {
        assert_eq!(canonical(name), name);
    }
}

#[test]
fn unknown_names_stay_as_logged() {
    for name in [
        "",
        " ",
        "m",
        "acme-frontier-9",
        "acme-frontier-9-20260101",
        "Auto",
        "auto-gemini-3",
        "my-proxy/gpt-5",
        "ft:gpt-4o:a::b",
        "kimi-code",
        "gpt-5.3-codex-spark",
        "sonnet",
        "acme/model:free",
        "-fast",
        "qwen3:8b",
        "model-\u{1b}[31m",
        "ü@1",
    ] {
        assert_eq!(canonical(name), name);
    }
}

#[test]
fn names_of_an_own_table_are_known() {
    let table = r#"
        [[models]]
        model = "Team/House-1"
        aliases = ["house", "house-1-latest"]
        prices = [{ input = 1, output = 2 }]
        [[models]]
        model = "claude-sonnet-4-5"
        provider = "anthropic"
        aliases = ["our-sonnet", "gpt-5"]
        prices = [{ input = 1, output = 2 }]
    "#;
    let catalog = Catalog::built_in().under(Table::parse(table.as_bytes(), Day(0)).unwrap().entries);
    for (logged, expected) in [
        ("team/house-1", "Team/House-1"),
        ("Team/House-1-20260101", "Team/House-1"),
        ("house", "Team/House-1"),
        ("our-sonnet", "claude-sonnet-4-5"),
        ("gpt-5", "gpt-5"),
        ("anthropic/claude-sonnet-4.5", "claude-sonnet-4-5"),
    ] {
        assert_eq!(catalog.canonical(logged), expected, "{logged}");
        assert_eq!(catalog.canonical(expected), expected);
    }
}

/// A name of the catalog with parts around it, or any text.
fn names() -> impl Strategy<Value = String> {
    let known: Vec<String> =
        Catalog::built_in().entries().flat_map(|entry| entry.names().map(str::to_owned).collect::<Vec<_>>()).collect();
    let before =
        prop::sample::select(vec!["", "", "openrouter/", "us.anthropic.", "models/", "x/openai/", "azure/eu/"]);
    let after = prop::sample::select(vec![
        "",
        "",
        "-20250929",
        "-2025-09-29",
        "-0528",
        "-09-2025",
        "@20250929",
        "-v1:0",
        ":free",
        "[1m]",
        "-latest",
        "-high",
        "-fast",
        " (high)",
        "-preview",
        "-thinking",
        "-001",
        ":0",
    ]);
    let built = (before, prop::sample::select(known), after.clone(), after)
        .prop_map(|(before, name, first, second)| format!("{before}{name}{first}{second}"));
    prop_oneof![4 => built, 1 => ".{0,40}"]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn a_canonical_name_is_its_own(name in names()) {
        let once = canonical(&name);
        prop_assert_eq!(canonical(&once), once.clone(), "{}", name);
    }
}

/// Names for which the property above failed once.
#[test]
fn a_prefix_that_follows_a_prefix_is_removed_at_once() {
    for name in ["us.anthropic.fw-deepseek-v3.2", "us.anthropic.zai-glm-5"] {
        let once = canonical(name);
        assert_eq!(canonical(&once), once, "{name}");
    }
}
