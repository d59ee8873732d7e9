//! Prices: the catalog's sanity, names, dates, tiers, and sums.

use agentlogs::prices::{Catalog, Priced, Pricer, Request, Rule, Unpriced};
use agentlogs::session::Tokens;
use agentlogs::time::Time;

fn tokens(input: i64, output: i64, cache_read: i64, cache_write: i64) -> Tokens {
    let (cache_read, cache_write) = (Some(cache_read), Some(cache_write));
    Tokens { input: Some(input), output: Some(output), cache_read, cache_write, ..Tokens::UNKNOWN }
}

fn price(request: Request<'_>) -> Result<Priced<'static>, Unpriced> {
    Pricer::new(Catalog::built_in()).price(&request)
}

/// A row of a thousand tokens in and a hundred out.
fn row(model: &str) -> Request<'_> {
    let at = Time::parse("2026-10-05T10:00:00Z");
    Request { model: Some(model), at, tokens: tokens(1000, 100, 0, 0), ..Request::default() }
}

fn assert_price(request: Request<'_>, expected: f64) {
    let priced = price(request).unwrap();
    assert!((priced.total() - expected).abs() < 1e-12, "{request:?}: {} for {expected}: {priced:?}", priced.total());
}

#[test]
fn every_kind_of_token_has_its_price() {
    let sonnet = row("claude-sonnet-4-5-20250929");
    for (kind, expected) in
        [([1000, 0, 0, 0], 0.003), ([0, 1000, 0, 0], 0.015), ([0, 0, 1000, 0], 0.0003), ([0, 0, 0, 1000], 0.00375)]
    {
        let [input, output, read, write] = kind;
        assert_price(Request { tokens: tokens(input, output, read, write), ..sonnet }, expected);
    }
    let hour = Tokens { cache_write_1h: Some(60_000), ..tokens(0, 0, 0, 100_000) };
    assert_price(Request { tokens: hour, ..sonnet }, 0.51);
    assert_price(Request { web_searches: Some(100), ..sonnet }, 1.0045);
}

#[test]
fn one_model_has_many_names() {
    for name in [
        "claude-sonnet-4-5",
        "claude-sonnet-4-5-20250929",
        "anthropic/claude-sonnet-4.5",
        "anthropic/claude-sonnet-4-5",
        "claude-sonnet-4-5@20250929",
        "claude-sonnet-4-5-20250929[1m]",
        "global.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "anthropic.claude-sonnet-4-5-20250929-v1:0",
        "arn:aws:bedrock:us-east-1:123456789012:inference-profile/global.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "projects/p/locations/us-east5/publishers/anthropic/models/claude-sonnet-4-5@20250929",
        "bedrock/global.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "vertex_ai/claude-sonnet-4-5@20250929",
        "litellm/anthropic/claude-sonnet-4-5-20250929",
        "openrouter/anthropic/claude-sonnet-4.5",
        "my-proxy/openrouter/anthropic/claude-sonnet-4.5",
        "Claude-Sonnet-4.5",
        "Claude Sonnet 4.5",
        "claude-4.5-sonnet",
        "claude-4.5-sonnet-thinking",
        "claude-sonnet-4-5-high-thinking",
        "claude-sonnet-4-5-20250929-thinking",
        "claude-sonnet-4-5-latest",
    ] {
        assert_price(row(name), 0.0045);
    }
    for name in [
        "gpt-5",
        "gpt-5-2025-08-07",
        "openai/gpt-5",
        "gpt-5-codex",
        "gpt-5.1-codex",
        "gpt-5.1-codex-max",
        "gpt-5-high",
        "gpt-5-codex-medium",
        "gpt-5 (high)",
        "azure/gpt-5",
        "GPT-5.1",
        "gpt-5.1-codex-max-xhigh",
        "gpt-5.1-2025-11-13",
        "openai.gpt-5",
    ] {
        let tokens = tokens(400, 100, 600, 0);
        assert_price(Request { tokens, ..row(name) }, 0.001_575);
    }
    assert_price(Request { tokens: tokens(1000, 100, 3000, 200), ..row("claude-opus-4-7[1m]") }, 0.01025);
}

#[test]
fn a_name_that_begins_like_a_model_is_another() {
    assert_price(row("gpt-5-mini"), 0.00045);
    assert_price(row("gpt-5-pro"), 0.027);
    for name in [
        "acme-frontier-9",
        "gpt-5-turbo-ultra",
        "gpt",
        "claude",
        "claude-sonnet",
        "gpt-5.3-codex-spark",
        "kimi-code",
        "",
        "someone/gpt-5",
        "anthropic/gpt-5",
        "gpt-5:nitro",
        "claude-sonnet-4-5-max",
        "gemini-2.5-pro-ultra",
        "<synthetic>",
    ] {
        assert!(price(row(name)).is_err(), "{name}: {:?}", price(row(name)));
    }
}

#[test]
fn a_host_has_its_own_price_and_else_its_makers() {
    assert_price(row("us.anthropic.claude-sonnet-4-5-20250929-v1:0"), 0.00495);
    assert_price(row("eu.anthropic.claude-sonnet-4-5-20250929-v1:0"), 0.00495);
    assert_price(row("us.anthropic.claude-haiku-4-5-20251001-v1:0"), 0.00165);
    assert_price(Request { provider: Some("github-copilot"), ..row("claude-opus-4.8") }, 0.0075);
    let found = Catalog::built_in().find(Some("github-copilot"), "claude-opus-4.8").unwrap();
    assert!(found.rules.contains(&Rule::MakersPrice), "{:?}", found.rules);
    assert_price(Request { provider: Some("openai-codex"), ..row("gpt-5") }, 0.00225);
}

#[test]
fn the_day_decides() {
    let long = tokens(1000, 1000, 250_000, 0);
    let on = |day: &str| Time::parse(&format!("{day}T10:00:00Z"));
    assert_price(Request { tokens: long, at: on("2026-03-01"), ..row("claude-opus-4-6") }, 0.2975);
    assert_price(Request { tokens: long, at: on("2026-04-01"), ..row("claude-opus-4-6") }, 0.155);
    assert_price(Request { tokens: long, at: None, ..row("claude-opus-4-6") }, 0.155);
    assert_price(Request { at: on("2026-07-20"), ..row("gpt-5.6-luna") }, 0.0016);
    assert_price(Request { at: on("2026-08-10"), ..row("gpt-5.6-luna") }, 0.00032);
}

#[test]
fn a_long_request_is_priced_whole_and_a_sum_is_none() {
    let long = Request { tokens: tokens(50_000, 1000, 250_000, 0), ..row("gpt-5.4") };
    assert_price(long, 0.3975);
    assert_price(Request { is_sum: true, ..long }, 0.2025);
    assert_price(Request { tokens: tokens(200_000, 1000, 0, 0), ..row("gpt-5.4") }, 0.515);
    assert_price(Request { tokens: tokens(272_000, 0, 0, 0), ..row("gpt-5.4") }, 0.68);
    assert_price(Request { tokens: tokens(272_001, 0, 0, 0), ..row("gpt-5.4") }, 1.360_005);
    assert_price(Request { tokens: tokens(50_000, 2000, 200_000, 0), ..row("gemini-2.5-pro") }, 0.205);
}

#[test]
fn speed_tier_and_region_multiply() {
    let opus = row("claude-opus-4-8");
    assert_price(opus, 0.0075);
    assert_price(Request { speed: Some("fast"), ..opus }, 0.015);
    assert_price(Request { speed: Some("standard"), ..opus }, 0.0075);
    assert_price(row("claude-opus-4-8-fast"), 0.015);
    assert_price(Request { inference_geo: Some("us"), ..opus }, 0.00825);
    assert_price(Request { inference_geo: Some("not_available"), ..opus }, 0.0075);
    assert_price(Request { service_tier: Some("batch"), ..opus }, 0.00375);
    assert_price(Request { speed: Some("fast"), ..row("claude-opus-4-6") }, 0.045);
    let gpt = row("gpt-5.4");
    assert_price(gpt, 0.004);
    assert_price(Request { service_tier: Some("flex"), ..gpt }, 0.002);
    assert_price(Request { service_tier: Some("priority"), ..gpt }, 0.008);
    assert_price(Request { service_tier: Some("fast"), ..gpt }, 0.008);
    let unknown = price(Request { service_tier: Some("priority"), ..opus }).unwrap();
    assert!(unknown.terms.is_tier_unknown);
    assert_eq!(price(Request { speed: Some("fast"), ..row("claude-haiku-4-5") }), Err(Unpriced::UnknownSpeed));
}

#[test]
fn what_is_not_known_has_no_price() {
    let sonnet = row("claude-sonnet-4-5");
    let without = |tokens| price(Request { tokens, ..sonnet });
    assert_eq!(without(Tokens { input: None, ..sonnet.tokens }), Err(Unpriced::UnknownTokens));
    assert_eq!(without(Tokens { output: None, ..sonnet.tokens }), Err(Unpriced::UnknownTokens));
    assert_price(Request { tokens: Tokens { cache_read: None, cache_write: None, ..sonnet.tokens }, ..sonnet }, 0.0045);
    assert_eq!(price(Request { model: None, ..sonnet }), Err(Unpriced::NoModel));
}
