//! Prices: the catalog, names, dates, tiers and sums, as docs/prices.md describes them.

use std::collections::{BTreeMap, BTreeSet};

use agentlogs::base::time::{Day, Time};
use agentlogs::model::session::Tokens;
use agentlogs::prices::{
    Catalog, LongContext, Priced, Pricer, Request, Rule, Table, TableKind, Unpriced, without_host,
};
use proptest::prelude::*;

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

/// The canonical name and the price of each name in recorded logs (tests/prices/models.tsv). A `-` in the last columns is a missing
/// price: docs/prices.md#where-the-built-in-prices-are-from states why it is missing.
#[test]
fn names_of_recorded_logs_have_prices() {
    let names = include_str!("prices/models.tsv");
    let described = names.lines().map(|line| {
        let Some((provider, model)) = line.split_once('\t').filter(|_| !line.starts_with('#')) else {
            return line.to_owned();
        };
        let provider = Some(provider).filter(|it| !it.is_empty());
        let at = Time::parse("2026-11-20T12:00:00Z");
        let priced = price(Request { provider, at, ..row(model) });
        let price = priced.map_or_else(
            |_| "-".to_owned(),
            |priced| {
                let (entry, rates) = (priced.terms.entry, priced.terms.rates);
                format!("{}/{} {} {} {}", entry.provider, entry.model, rates.input, rates.output, rates.cache_read)
            },
        );
        let canonical = Catalog::built_in().canonical(model);
        format!("{} | {model} | {canonical} | {price}", provider.unwrap_or("-"))
    });
    let table = described.collect::<Vec<_>>().join("\n");
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("prices_of_recorded_names", table);
    });
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

/// Hosts mark the names of other makers' models, and some offer them at interfaces like those of OpenAI and Anthropic.
#[test]
fn models_of_other_makers_have_their_prices_at_hosts() {
    // Input, cache read and output of a thousand tokens each, in dollars.
    let cost_at = |provider, model| {
        price(Request { provider, tokens: tokens(1000, 1000, 1000, 0), ..row(model) }).map(|it| it.total()).ok()
    };
    for (reference, names) in [
        (
            "kimi-k2.6",
            &["openai/kimi-k2.6", "anthropic/kimi-k2.6", "hf:moonshotai/Kimi-K2.6", "Moonshotai/Kimi-K2.6:novita"][..],
        ),
        ("glm-4.7", &["openai/glm-4.7", "zai-glm-4.7", "zai-org/glm-4.7-maas", "glm-4-7-251222", "FW-GLM-4.7"][..]),
        ("minimax-m2.7", &["anthropic/MiniMax-M2.7", "hf:MiniMaxAI/MiniMax-M2.7"][..]),
        ("deepseek-v3.2", &["openai/deepseek-v3.2", "deepseek-ai/deepseek-v3.2-maas", "deepseek-v3-2-251201"][..]),
        ("claude-opus-5", &["anthropic/claude-opus-5:high", "claude-opus-5:low"][..]),
    ] {
        let expected = cost_at(None, reference);
        assert!(expected.is_some(), "{reference}");
        for name in names {
            assert_eq!(cost_at(None, name), expected, "{name}");
        }
    }
    // Bedrock's own prices, not those of a maker whose name is alike.
    let provider = |provider, model| price(Request { provider, ..row(model) }).unwrap().terms.entry.provider.clone();
    for (host, model) in [
        ("bedrock", "zai.glm-5.3"),
        ("bedrock", "deepseek.v3.2"),
        ("bedrock", "us.deepseek.r1-v1:0"),
        ("azure", "FW-GLM-5.1"),
        ("cerebras", "zai-glm-4.7"),
    ] {
        assert_eq!(provider(Some(host), model), host, "{model}");
    }
    assert_eq!(provider(Some("huggingface"), "openai/gpt-oss-120b:groq"), "groq");
    // A subscription, and what no source has a price for.
    for name in ["kimi-k2.6:cloud", "glm-5.1:free", "kimi-for-coding", "codex-auto-review"] {
        assert_eq!(cost_at(None, name), None, "{name}");
    }
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

/// Prices that look like mistakes, but are the same in their sources.
const EXCEPTIONS: &[&str] = &[
    "alibaba/qwen3.8-flash",
    "openrouter/gemini-2.0-flash-001",
    "openrouter/gemini-2.5-flash-preview-05-20:thinking",
    "openrouter/gemini-2.5-flash-preview:thinking",
    "openrouter/gemini-flash-1.5",
    "openrouter/gemini-flash-1.5-8b",
    "openrouter/google/gemini-2.5-flash-preview-09-2025",
    "openrouter/qwen/qwen3.7-flash",
    "openrouter/~deepseek/deepseek-pro-latest",
];

#[test]
fn the_catalog_is_sane() {
    let catalog = Catalog::built_in();
    let lines = include_str!("../src/prices/catalog.jsonl").lines().count() - 1;
    assert_eq!(catalog.entries().filter(|it| !it.prices.is_empty()).count(), lines, "a line that cannot be read");
    assert!(catalog.date.to_string().as_str() >= "2026-11-01", "{}", catalog.date);
    assert_eq!(catalog.sources.len(), 2);

    let mut slips = BTreeSet::new();
    let mut names = BTreeMap::new();
    for entry in catalog.entries() {
        let name = format!("{}/{}", entry.provider, entry.model);
        for alias in std::iter::once(&entry.model).chain(&entry.aliases) {
            let folded = (entry.provider.clone(), alias.replace(['.', ' '], "-").to_lowercase());
            assert_eq!(names.insert(folded, name.clone()), None, "{alias} of {name} names two models");
            let found = catalog.find(Some(&entry.provider), alias);
            assert_eq!(found.map(|it| it.entries[0]), Some(entry), "{name} is not found as {alias}");
        }
        // The rules of a user's table apply here too.
        let table = serde_json::to_string(entry).unwrap();
        let table = Table::parse_json_lines(table.as_bytes());
        assert!(table.is_ok(), "{name}: {table:?}");
        assert!(entry.prices.first().is_some_and(|it| it.from.is_none()), "{name} has no first price");
        let is_free = entry.model.ends_with(":free");
        for period in &entry.prices {
            let rates = period.rates();
            assert!(is_free || (rates.input > 0.0 && rates.output > 0.0), "{name}: {period:?}");
            assert!(rates.input <= 200.0 && rates.output <= 700.0, "{name}: {period:?}");
            let steps = period.long_context.iter().map(LongContext::rates);
            let is_usual = std::iter::once(rates).chain(steps).all(|it| {
                let is_in_order = it.cache_read <= it.input && it.cache_write <= it.cache_write_1h;
                is_in_order && it.cache_write <= 1.26 * it.input && it.cache_write_1h <= 2.01 * it.input
            });
            let only_rises =
                period.long_context.iter().all(|it| it.input >= period.input && it.output >= period.output);
            if !(is_usual && only_rises) {
                slips.insert(name.clone());
            }
        }
        for (word, share) in &entry.tiers {
            let range = match word.as_str() {
                "batch" | "flex" => 0.2..=0.9,
                "priority" => 1.05..=3.0,
                "fast" => 1.5..=8.0,
                other => panic!("{name}: {other}"),
            };
            assert!(range.contains(&share.input) && range.contains(&share.output), "{name}: {word} {share:?}");
        }
        assert!(entry.regions.values().all(|it| (1.0..=1.6).contains(it)), "{name}: {:?}", entry.regions);
    }
    assert_eq!(slips.iter().map(String::as_str).collect::<Vec<_>>(), EXCEPTIONS);
}

/// The models that occur most often in archives.
#[test]
fn old_models_are_in() {
    for name in [
        "claude-3-opus-20240229",
        "claude-3-sonnet-20240229",
        "claude-3-haiku-20240307",
        "claude-3-5-sonnet-20240620",
        "claude-3-5-sonnet-20241022",
        "claude-3-5-haiku-20241022",
        "claude-3-7-sonnet-20250219",
        "claude-sonnet-4-20250514",
        "claude-opus-4-20250514",
        "claude-opus-4-1-20250805",
        "claude-opus-4-5-20251101",
        "claude-haiku-4-5-20251001",
        "gpt-3.5-turbo",
        "gpt-4",
        "gpt-4-0613",
        "gpt-4-turbo",
        "gpt-4o",
        "gpt-4o-mini",
        "gpt-4.1",
        "gpt-4.1-mini",
        "o1",
        "o3",
        "o3-mini",
        "o4-mini",
        "codex-mini-latest",
        "gpt-5-codex",
        "gpt-5.1-codex-mini",
        "gpt-5.3-codex",
        "gemini-1.5-pro",
        "gemini-1.5-flash",
        "gemini-2.0-flash",
        "gemini-2.5-pro",
        "gemini-2.5-flash",
        "gemini-3-pro-preview",
        "grok-code-fast-1",
        "grok-4",
        "deepseek-chat",
        "deepseek-reasoner",
        "kimi-k2-0905-preview",
        "glm-4.6",
        "qwen3-coder-plus",
    ] {
        assert!(price(row(name)).is_ok(), "{name}");
    }
    // o3 became cheaper on 2025-06-10; DeepSeek's names meant different models over time.
    let on = |time: &str| Time::parse(time);
    assert_price(Request { at: on("2025-06-01T12:00:00Z"), ..row("o3") }, 0.014);
    assert_price(Request { at: on("2025-07-01T12:00:00Z"), ..row("o3-2025-04-16") }, 0.0028);
    for (time, expected) in [
        ("2025-01-10T12:00:00Z", 0.000_168),
        ("2025-02-20T18:00:00Z", 0.000_38),
        ("2025-04-01T12:00:00Z", 0.000_38),
        ("2025-04-01T18:00:00Z", 0.000_19),
        ("2025-04-02T00:10:00Z", 0.000_19),
        ("2025-09-10T18:00:00Z", 0.000_728),
        ("2025-10-10T18:00:00Z", 0.000_322),
    ] {
        assert_price(Request { at: on(time), ..row("deepseek-chat") }, expected);
    }
}

/// 2026-11-27.
const TODAY: Day = Day(20_784);

const OWN: &str = r#"
[[models]]
provider = "anthropic"
model = "claude-sonnet-4-5"
aliases = ["house-sonnet"]
source = "our contract"
[[models.prices]]
from = 2026-10-01
until = "2027-01-01"
input = 1.5
output = 7.5

[[models]]
model = "acme-frontier-9"
tiers = { batch = 0.5 }
[[models.prices]]
input = 10
output = 20
cache_read = 1
long_context = [{ above = 100000, input = 20, output = 40 }]
"#;

#[test]
fn own_prices_come_first_where_they_hold() {
    let table = Table::parse(OWN.as_bytes(), TODAY).unwrap();
    assert_eq!((table.kind, table.entries.len()), (TableKind::Toml, 2));
    let again = Table::parse(table.to_json_lines().as_bytes(), TODAY).unwrap();
    assert_eq!((again.kind, &again.entries), (TableKind::JsonLines, &table.entries));

    let catalog = Catalog::built_in().under(table.entries);
    let mut pricer = Pricer::new(&catalog);
    let mut total = |request: Request<'_>| pricer.price(&request).unwrap().total();
    let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} for {b}");
    near(total(row("claude-sonnet-4-5-20250929")), 0.002_25);
    near(total(row("house-sonnet")), 0.002_25);
    near(total(Request { at: Time::parse("2026-09-30T23:59:59Z"), ..row("claude-sonnet-4-5") }), 0.0045);
    near(total(Request { at: Time::parse("2027-01-01T00:00:00Z"), ..row("claude-sonnet-4-5") }), 0.0045);
    near(total(row("us.anthropic.claude-sonnet-4-5-20250929-v1:0")), 0.004_95);
    near(total(row("acme-frontier-9")), 0.012);
    near(total(Request { provider: Some("acme"), service_tier: Some("batch"), ..row("acme-frontier-9") }), 0.006);
    near(total(row("claude-opus-4-8")), 0.0075);
    assert_eq!(catalog.own_entries().count(), 2);
    let at = Time::parse("2026-09-30T23:59:59Z");
    assert_eq!(pricer.price(&Request { at, ..row("house-sonnet") }), Err(Unpriced::NotAtThatTime));
}

/// A public table has the price of the maker and those of hosts that the built-in catalog does not know.
#[test]
fn an_own_price_of_the_maker_comes_before_one_of_an_unknown_host() {
    let table = |providers: [&str; 2]| {
        let models = providers.map(|provider| {
            let input = if provider == "anthropic" { 4 } else { 1 };
            format!(
                "[[models]]\nprovider = \"{provider}\"\nmodel = \"claude-opus-4-8\"\n\
                 [[models.prices]]\ninput = {input}\noutput = {input}\n"
            )
        });
        Table::parse(models.concat().as_bytes(), TODAY).unwrap()
    };
    for providers in [["cheap-host", "anthropic"], ["anthropic", "cheap-host"]] {
        let catalog = Catalog::built_in().under(table(providers).entries);
        let mut pricer = Pricer::new(&catalog);
        let mut input = |request: Request<'_>| pricer.price(&request).unwrap().terms.rates.input;
        let mut is_near = |request: Request<'_>, price: f64| (input(request) - price).abs() < 1e-9;
        assert!(is_near(row("claude-opus-4-8"), 4.0), "{providers:?}");
        assert!(is_near(Request { provider: Some("cheap-host"), ..row("claude-opus-4-8") }, 1.0), "{providers:?}");
    }
}

#[test]
fn the_two_public_tables_are_read() {
    let litellm = br#"{
      "sample_spec": {"input_cost_per_token": 0.0, "litellm_provider": "one of", "mode": "chat or"},
      "us.anthropic.claude-x-1-v1:0": {"input_cost_per_token": 3.3e-06, "output_cost_per_token": 1.65e-05,
        "litellm_provider": "bedrock_converse", "mode": "chat"},
      "acme/acme-2": {"input_cost_per_token": 3e-07, "output_cost_per_token": 1e-06, "cache_read_input_token_cost": 3e-08,
        "input_cost_per_token_above_200k_tokens": 6e-07, "input_cost_per_token_batches": 1.5e-07,
        "output_cost_per_token_batches": 5e-07, "litellm_provider": "acme", "mode": "chat"},
      "acme/acme-embed": {"input_cost_per_token": 1e-07, "output_cost_per_token": 0, "litellm_provider": "acme", "mode": "embedding"}}"#;
    let genai = br#"[{"id": "acme", "models": [
      {"id": "acme-2", "match": {"or": [{"equals": "acme-2"}, {"starts_with": "acme-two-"}]}, "prices": [
        {"prices": {"input_mtok": {"base": 0.3, "tiers": [{"start": 200000, "price": 0.6}]}, "output_mtok": 1, "cache_read_mtok": 0.03}},
        {"constraint": {"start_date": "2026-10-01"}, "prices": {"input_mtok": 3, "output_mtok": 10}}]},
      {"id": "acme-speech", "match": {"equals": "acme-speech"}, "prices": {"audio_hours": 3}}]}]"#;
    let read = |bytes: &[u8]| Table::parse(bytes, TODAY).unwrap();
    let (litellm, genai) = (read(litellm), read(genai));
    assert_eq!((litellm.kind, litellm.entries.len(), litellm.skipped), (TableKind::LiteLlm, 2, 1));
    assert_eq!((genai.kind, genai.entries.len(), genai.skipped), (TableKind::GenaiPrices, 1, 1));

    let long = Request { tokens: tokens(0, 1000, 300_000, 0), ..row("acme-2") };
    let early = Request { at: Time::parse("2026-09-01T00:00:00Z"), ..long };
    for (table, request, expected) in [
        (&litellm, row("acme-2"), 0.0004),
        (&litellm, Request { service_tier: Some("batch"), ..row("acme-2") }, 0.0002),
        // Cache reads of long requests have no separate price: the standard one applies.
        (&litellm, long, 0.01),
        (&litellm, row("us.anthropic.claude-x-1-v1:0"), 0.004_95),
        (&genai, row("acme-2"), 0.004),
        (&genai, row("acme-two"), 0.004),
        (&genai, early, 0.01),
        // Where no price for cache reads is listed, they are priced as input.
        (&genai, long, 0.91),
    ] {
        let catalog = Catalog::built_in().under(table.entries.clone());
        let total = Pricer::new(&catalog).price(&request).unwrap().total();
        assert!((total - expected).abs() < 1e-12, "{:?} {request:?}: {total} for {expected}", table.kind);
    }
}

/// The entries of a table, one per line as they are stored.
fn lines_of(table: &str) -> String {
    Table::parse(table.as_bytes(), TODAY).unwrap().to_json_lines()
}

/// Service tiers as shares, dated prices of tiers, hours, steps and names of genai-prices.
#[test]
fn the_rules_of_genai_prices_are_read() {
    let table = r#"[{"id": "x-ai", "models": [
      {"id": "a-1", "match": {"or": [{"equals": "a-one"}, {"starts_with": "a-1-2026-"}, {"starts_with": "a-1-2026-01-"}, {"contains": "b"}]},
        "prices": {"input_mtok": 0.25, "output_mtok": 1, "cache_read_mtok": {"base": 0.025, "tiers": [{"start": 1000, "price": 0.05}]}},
        "price_variants": [
          {"when": {"processing": "batch"}, "constraint": {"start_date": "2026-11-28"}, "prices": {"input_mtok": 9, "output_mtok": 9}},
          {"when": {"processing": "batch"}, "constraint": {"start_date": "2026-11-27"}, "prices": {"input_mtok": 0.125, "output_mtok": 0.5, "cache_read_mtok": 0.012}},
          {"when": {"processing": "batch"}, "prices": {"input_mtok": 8, "output_mtok": 8}},
          {"when": {"service_tier": "flex"}, "prices": {"input_mtok": 0.13, "output_mtok": 0.5}},
          {"when": {"service_tier": "priority"}, "prices": {"input_mtok": 0.5, "output_mtok": 2, "cache_read_mtok": 0.05}},
          {"when": {"service_tier": "fast"}, "prices": {"input_mtok": 0.5, "output_mtok": 2, "cache_read_mtok": 0.05}},
          {"when": {"service_tier": "default"}, "prices": {}},
          {"when": {"service_tier": "flex", "route": "eu"}, "prices": {"input_mtok": 7, "output_mtok": 7}}]},
      {"id": "a-2", "prices": [
        {"prices": {"input_mtok": 1, "output_mtok": 2}},
        {"constraint": {"start_date": "2026-01-01"}, "prices": {"input_mtok": 2, "output_mtok": 4}},
        {"constraint": {"start_time": "01:00:00Z", "end_time": "04:00:00Z"}, "prices": {"input_mtok": 3, "output_mtok": 6}},
        {"constraint": {"start_time": "06:00", "end_time": "10:00"}, "prices": {"input_mtok": 3, "output_mtok": 6}}],
        "price_variants": [{"when": {"speed": "fast"}, "prices": {"input_mtok": 8, "output_mtok": 8}}]}]}]"#;
    let step = r#"{"above":1000,"input":0.25,"output":1.0,"cache_read":0.05}"#;
    let tiers = r#"{"batch":0.5,"flex":{"input":0.52,"output":0.5,"cache_read":1.0,"cache_write":0.52},"priority":{"input":2.0,"output":2.0,"cache_read":2.0,"cache_write":2.0,"long_context":1.0}}"#;
    let periods = r#"{"input":1.0,"output":2.0},{"from":"2026-01-01","input":2.0,"output":4.0},{"from":"2026-01-01","hours":[["01:00","04:00"],["06:00","10:00"]],"input":3.0,"output":6.0}"#;
    let fast = r#"{"input":4.0,"output":2.0,"cache_read":4.0,"cache_write":4.0}"#;
    let expected = format!(
        r#"{{"provider":"xai","model":"a-1","aliases":["a-one","a-1-2026-01"],"prices":[{{"input":0.25,"output":1.0,"cache_read":0.025,"long_context":[{step}]}}],"tiers":{tiers}}}
{{"provider":"xai","model":"a-2","prices":[{periods}],"tiers":{{"fast":{fast}}}}}
"#
    );
    assert_eq!(lines_of(table), expected);
}

/// Ranges of sizes, service tiers, regions and names of hosts of LiteLLM.
#[test]
fn the_rules_of_litellm_are_read() {
    let table = r#"{
      "anthropic.claude-x-1-20270101-v1:0": {"input_cost_per_token": 3.0000000001e-06, "output_cost_per_token": 1.5e-05,
        "cache_read_input_token_cost": 0, "litellm_provider": "bedrock", "mode": "chat"},
      "azure/eu/m-1": {"input_cost_per_token": 1e-06, "output_cost_per_token": 2e-06, "litellm_provider": "azure", "mode": "chat",
        "regional_processing_uplift_multiplier_eu": 1.1, "provider_specific_entry": {"us": 1.2, "fast": 6.0},
        "search_context_cost_per_query": {"search_context_size_medium": 0.01}},
      "dashscope/q-1": {"litellm_provider": "dashscope", "mode": "chat", "tiered_pricing": [
        {"range": [32000, 64000], "input_cost_per_token": 2e-06, "output_cost_per_token": 4e-06},
        {"range": [0, 32000], "input_cost_per_token": 1e-06, "output_cost_per_token": 2e-06, "cache_read_input_token_cost": 1e-07}]},
      "gpt-x": {"litellm_provider": "openai", "mode": "responses",
        "input_cost_per_token": 1e-06, "output_cost_per_token": 2e-06, "cache_read_input_token_cost": 1e-07,
        "input_cost_per_token_above_200k_tokens": 2e-06, "output_cost_per_token_above_200k_tokens": 4e-06,
        "input_cost_per_token_batches": 5e-07, "output_cost_per_token_batches": 1e-06,
        "input_cost_per_token_flex": 1e-06, "output_cost_per_token_flex": 2e-06, "cache_read_input_token_cost_flex": 1e-07,
        "input_cost_per_token_priority": 2e-06, "output_cost_per_token_priority": 4e-06, "cache_read_input_token_cost_priority": 2e-07}}"#;
    let steps = r#"[{"above":32000,"input":2.0,"output":4.0}]"#;
    let long = r#"[{"above":200000,"input":2.0,"output":4.0,"cache_read":0.1}]"#;
    let tiers = r#"{"batch":{"input":0.5,"output":0.5,"cache_read":1.0,"cache_write":0.5},"priority":{"input":2.0,"output":2.0,"cache_read":2.0,"cache_write":2.0,"long_context":1.0}}"#;
    let expected = format!(
        r#"{{"provider":"bedrock","model":"claude-x-1-20270101","aliases":["anthropic.claude-x-1-20270101-v1:0"],"prices":[{{"input":3.0,"output":15.0}}]}}
{{"provider":"azure","model":"eu/m-1","prices":[{{"input":1.0,"output":2.0,"web_search":10.0}}],"tiers":{{"fast":6.0}},"regions":{{"eu":1.1,"us":1.2}}}}
{{"provider":"alibaba","model":"q-1","prices":[{{"input":1.0,"output":2.0,"cache_read":0.1,"long_context":{steps}}}]}}
{{"provider":"openai","model":"gpt-x","prices":[{{"input":1.0,"output":2.0,"cache_read":0.1,"long_context":{long}}}],"tiers":{tiers}}}
"#
    );
    assert_eq!(lines_of(table), expected);

    // A region without a price of its own has that of the name without a region.
    let catalog = Catalog::built_in().under(Table::parse(table.as_bytes(), TODAY).unwrap().entries);
    for name in ["us.anthropic.claude-x-1-20270101-v1:0", "anthropic.claude-x-1-20270101-v1:0"] {
        assert_eq!(catalog.find(None, name).map(|it| it.entries[0].provider.as_str()), Some("bedrock"), "{name}");
    }
}

/// What hosts add to names.
#[test]
fn names_of_hosts_are_divided() {
    for (host, name, expected) in [
        ("bedrock", "us.anthropic.claude-x-1-20270101-v1:0", Some(("claude-x-1-20270101", Some("us")))),
        ("bedrock", "nvidia.nemotron-nano-9b-v2", Some(("nemotron-nano-9b", None))),
        ("bedrock", "in.writer.palmyra-x5-v1:0", Some(("palmyra-x5", Some("in")))),
        ("bedrock", "us-east-1/anthropic.claude-x-1", None),
        ("bedrock", "claude-x-1", None),
        ("azure", "azure/eu/gpt-x", Some(("gpt-x", Some("eu")))),
        ("azure", "global-standard/gpt-x", Some(("gpt-x", Some("global")))),
        ("azure", "azure/us-gov/gpt-x", Some(("gpt-x", Some("us-gov")))),
        ("azure", "gpt-x", Some(("gpt-x", None))),
    ] {
        let expected =
            expected.map(|(name, region): (&str, Option<&str>)| (name.to_owned(), region.map(str::to_owned)));
        assert_eq!(without_host(host, name), expected, "{name}");
    }
    assert!(price(row("nvidia.nemotron-nano-9b-v2")).is_ok());
}

#[test]
fn the_error_of_a_wrong_table_names_the_cause() {
    for (text, expected) in [
        ("", "it has no model with a price per token"),
        ("{\"a\": 1}", "neither LiteLLM's table"),
        ("[{\"a\": 1}]", "neither LiteLLM's table"),
        ("{\"a\": ", "line 1 is not the JSON of a price table"),
        ("models = 3", "it is not a TOML of prices"),
        ("[[models]]\nmodel = \"a\"\nprices = [{ input = 1, ouput = 2 }]", "unknown field `ouput`"),
        ("[[models]]\nmodel = \"a\"\nprices = [{ input = 1 }]", "missing field `output`"),
        ("[[models]]\nmodel = \"a\"\nprices = [{ input = -1, output = 2 }]", "a: -1 is not a price"),
        ("[[models]]\nmodel = \"a\"\nprices = []", "a: no prices"),
        ("[[models]]\nmodel = \"a\"\nprices = [{ from = \"May\", input = 1, output = 2 }]", "`May` is not a day"),
        (
            "[[models]]\nprovider = \"x\"\nmodel = \"a\"\nprices = [{ from = 2026-02-02, until = 2026-02-02, input = 1, output = 2 }]",
            "x/a: prices from 2026-02-02 until 2026-02-02 hold on no day",
        ),
    ] {
        let error = Table::parse(text.as_bytes(), TODAY).unwrap_err();
        let source = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
        let error = format!("{error}: {source}");
        assert!(error.contains(expected), "{text}: {error}");
    }
}

fn any_tokens() -> impl Strategy<Value = Tokens> {
    let count = || prop_oneof![Just(0_i64), 0..2_000_000_i64];
    (count(), count(), prop::option::of(count()), prop::option::of(count()), prop::option::of(count())).prop_map(
        |(input, output, cache_read, cache_write, hour)| {
            let cache_write_1h = hour.zip(cache_write).map(|(hour, write)| hour.min(write));
            Tokens {
                input: Some(input),
                output: Some(output),
                cache_read,
                cache_write,
                cache_write_1h,
                reasoning: None,
            }
        },
    )
}

fn any_request() -> impl Strategy<Value = Request<'static>> {
    let entries: Vec<_> = Catalog::built_in().entries().collect();
    let words = |words: &'static [&'static str]| prop::option::of(prop::sample::select(words));
    let time = prop::option::of(1_700_000_000_000_000..1_800_000_000_000_000_i64);
    let tiers = words(&["standard", "batch", "flex", "priority", "fast"]);
    let geos = words(&["us", "eu", "global", "not_available"]);
    (prop::sample::select(entries), any_tokens(), time, tiers, geos, any::<bool>(), prop::option::of(0..50_i64))
        .prop_map(|(entry, tokens, time, service_tier, inference_geo, is_sum, web_searches)| Request {
            provider: Some(&entry.provider),
            model: Some(&entry.model),
            at: time.map(Time::from_micros),
            tokens,
            web_searches,
            service_tier,
            speed: None,
            inference_geo,
            is_sum,
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Every model has a price at every time, no part of it is negative, and they are the tokens times the rates.
    #[test]
    fn parts_are_tokens_times_rates(request in any_request()) {
        let priced = price(request).unwrap();
        let parts = [priced.parts.input, priced.parts.output, priced.parts.cache_read, priced.parts.cache_write, priced.parts.web_search];
        prop_assert!(parts.iter().all(|it| *it >= 0.0 && it.is_finite()), "{priced:?}");
        prop_assert!((parts.iter().sum::<f64>() - priced.total()).abs() < 1e-9);
        let rates = priced.terms.rates;
        let hour = request.tokens.cache_write_1h.unwrap_or(0);
        let by_rate = [
            (request.tokens.input.unwrap_or(0), rates.input),
            (request.tokens.output.unwrap_or(0), rates.output),
            (request.tokens.cache_read.unwrap_or(0), rates.cache_read),
            (request.tokens.cache_write.unwrap_or(0) - hour, rates.cache_write),
            (hour, rates.cache_write_1h),
        ];
        let sum: f64 = by_rate.iter().map(|(count, rate)| *count as f64 * rate / 1e6).sum();
        prop_assert!((sum + priced.parts.web_search - priced.total()).abs() < 1e-9 * (1.0 + sum), "{priced:?}");
    }

    /// Sums are linear: the cost of two requests is the sum of their costs.
    #[test]
    fn sums_are_linear(request in any_request(), more in any_tokens()) {
        let request = Request { is_sum: true, web_searches: None, ..request };
        let total = |tokens: Tokens| price(Request { tokens, ..request }).unwrap().total();
        let together = total(request.tokens.plus(more));
        prop_assert!((together - total(request.tokens) - total(more)).abs() < 1e-9 * (1.0 + together));
    }

    /// One more token of any kind never makes a request cheaper, also at the steps of long requests. A tier that is not sold for long
    /// requests may cost more than a long one: OpenAI's priority of gpt-5.4.
    #[test]
    fn more_is_never_cheaper(request in any_request(), kind in 0..4_usize, more in 1..500_000_i64) {
        let mut tokens = request.tokens;
        let count = [&mut tokens.input, &mut tokens.output, &mut tokens.cache_read, &mut tokens.cache_write][kind].get_or_insert(0);
        *count += more;
        let (before, after) = (price(request).unwrap(), price(Request { tokens, ..request }).unwrap());
        prop_assume!(before.terms.tier.is_none() || before.terms.long_context == after.terms.long_context);
        prop_assert!(after.total() >= before.total() - 1e-12, "{before:?} {after:?}");
    }

    /// No name panics.
    #[test]
    fn any_name_is_read(provider in prop::option::of("[a-z./:-]{0,12}"), name in "[ -~é]{0,40}") {
        let _ = Catalog::built_in().find(provider.as_deref(), &name);
    }

    /// Prefixes and suffixes that are not part of a name are removed.
    #[test]
    fn decorations_are_taken_off(
        entry in prop::sample::select(Catalog::built_in().entries().filter(|it| it.provider == "anthropic").collect::<Vec<_>>()),
        before in prop::sample::select(vec!["", "anthropic/", "openrouter/anthropic/", "vertex_ai/", "anthropic.", "global.anthropic.", "litellm/"]),
        after in prop::sample::select(vec!["", "-20250929", "@20250929", "-latest", "[1m]", "-20250929[1m]", "-thinking", "-high", "-20250929-v1:0", "-2025-09-29"]),
    ) {
        let name = format!("{before}{}{after}", entry.model);
        let found = Catalog::built_in().find(None, &name);
        // Bedrock has separate entries for the same models.
        let model = found.as_ref().map(|it| it.entries[0].model.as_str());
        prop_assert!(model == Some(&entry.model) || found.as_ref().is_some_and(|it| it.entries[0].provider == "bedrock"), "{name}: {found:?}");
    }
}
