//! A catalog of two small tables.

use std::collections::BTreeMap;

use agentlogs::base::time::Day;

use super::book::undated;
use super::changes::changes;
use super::clause::Clause;
use super::corrections::Corrections;
use super::sources::{Sources, Tables};
use super::written::{Catalog, Header, clean};
use super::{disagreements, merge};

/// 2026-11-27.
const TODAY: Day = Day(20_784);

const GENAI_PRICES: &str = r#"[
  {"id": "anthropic", "models": [
    {"id": "claude-opus-9-1", "match": {"or": [{"equals": "claude-opus-9-1-20270101"}, {"regex": "^claude-opus-9-1-\\d{8}$"}]},
      "prices": [{"prices": {"input_mtok": 5, "output_mtok": 25, "cache_read_mtok": 0.5}},
        {"constraint": {"start_date": "2026-12-01"}, "prices": {"input_mtok": 4, "output_mtok": 20, "cache_read_mtok": 0.4}}]}]},
  {"id": "deepseek", "models": [
    {"id": "deepseek-v3.2", "match": {"starts_with": "deepseek-v3.2"}, "prices": {"input_mtok": 0.2288, "output_mtok": 0.3432}}]},
  {"id": "mistral", "models": [
    {"id": "mistral-large-latest", "match": {"starts_with": "mistral-large"}, "prices": {"input_mtok": 2, "output_mtok": 6}},
    {"id": "mistral-ocr", "match": {"equals": "mistral-ocr"}, "prices": {"input_mtok": 2, "output_mtok": 6}}]},
  {"id": "openrouter", "models": [
    {"id": "anthropic/claude-opus-9.1", "match": {"equals": "anthropic/claude-opus-9.1"}, "prices": {"input_mtok": 5, "output_mtok": 25}},
    {"id": "z/other", "match": {"or": [{"equals": "z/other"}, {"equals": "other"}]}, "prices": {"input_mtok": 1, "output_mtok": 2}},
    {"id": "z/other:free", "match": {"equals": "z/other:free"}, "prices": {"input_mtok": 0, "output_mtok": 0}}]}]"#;

const LITELLM: &str = r#"{
  "sample_spec": {"litellm_provider": "one of", "mode": "chat"},
  "claude-opus-9-1": {"litellm_provider": "anthropic", "mode": "chat", "input_cost_per_token": 5e-06, "output_cost_per_token": 2.5e-05,
    "cache_creation_input_token_cost": 6.25e-06, "input_cost_per_token_batches": 2.5e-06, "output_cost_per_token_batches": 1.25e-05,
    "cache_read_input_token_cost": 5e-07, "cache_read_input_token_cost_batches": 2.5e-07, "provider_specific_entry": {"us": 1.1}},
  "us.anthropic.claude-opus-9-1-20270101-v1:0": {"litellm_provider": "bedrock_converse", "mode": "chat",
    "input_cost_per_token": 5.5e-06, "output_cost_per_token": 2.75e-05},
  "anthropic.claude-opus-9-1-20270101-v1:0": {"litellm_provider": "bedrock_converse", "mode": "chat",
    "input_cost_per_token": 5e-06, "output_cost_per_token": 2.5e-05},
  "deepseek/deepseek-v3.2": {"litellm_provider": "deepseek", "mode": "chat", "input_cost_per_token": 2.8e-07, "output_cost_per_token": 4e-07},
  "mistral/mistral-large-9": {"litellm_provider": "mistral", "mode": "chat", "input_cost_per_token": 5e-07, "output_cost_per_token": 1.5e-06},
  "gpt-9": {"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 1e-06, "output_cost_per_token": 2e-06},
  "azure/gpt-9": {"litellm_provider": "azure", "mode": "chat", "input_cost_per_token": 1e-06, "output_cost_per_token": 2e-06},
  "gpt-9-audio": {"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 1e-06, "output_cost_per_token": 2e-06},
  "gpt-9-free": {"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 0, "output_cost_per_token": 2e-06}}"#;

const CORRECTIONS: &str = r#"
[[models]]
provider = "openai"
model = "gpt-9"
source = "a list"
aliases = ["gpt-nine"]
tiers = { priority = 2.5 }

[[models]]
provider = "zai"
model = "glm-9"
source = "a list"
prices = [{ input = 1, output = 3.5 }]
"#;

const EXPECTED: &str = r#"{"date":"2026-11-27","sources":{"genai-prices":"1.0","litellm":"2.0"}}
{"provider":"anthropic","model":"claude-opus-9-1","aliases":["claude-9-1-opus"],"prices":[{"input":5,"output":25,"cache_read":0.5,"cache_write":6.25},{"from":"2026-12-01","input":4,"output":20,"cache_read":0.4}],"tiers":{"batch":{"input":0.5,"output":0.5,"cache_read":0.5,"cache_write":1}},"regions":{"us":1.1}}
{"provider":"bedrock","model":"claude-opus-9-1","prices":[{"input":5,"output":25,"cache_read":0.5,"cache_write":6.25},{"from":"2026-12-01","input":4,"output":20,"cache_read":0.4}],"tiers":{"batch":{"input":0.5,"output":0.5,"cache_read":0.5,"cache_write":1}},"regions":{"us":1.1}}
{"provider":"deepseek","model":"deepseek-v3.2","prices":[{"input":0.28,"output":0.4}]}
{"provider":"mistral","model":"mistral-large-9","prices":[{"input":0.5,"output":1.5}]}
{"provider":"mistral","model":"mistral-large-latest","aliases":["mistral-large"],"prices":[{"input":2,"output":6}]}
{"provider":"openai","model":"gpt-9","aliases":["gpt-nine"],"prices":[{"input":1,"output":2}],"tiers":{"priority":2.5}}
{"provider":"openrouter","model":"z/other","prices":[{"input":1,"output":2}]}
{"provider":"openrouter","model":"z/other:free","prices":[{"input":0,"output":0}]}
{"provider":"zai","model":"glm-9","prices":[{"input":1,"output":3.5}]}
"#;

#[test]
fn two_tables_become_one_catalog() {
    let (tables, sources) = (Tables::parse(GENAI_PRICES, LITELLM).unwrap(), Sources::of_program());
    let book = merge(&tables, &sources, Corrections::parse(CORRECTIONS).unwrap(), TODAY).unwrap();
    let rows = disagreements::table(&book, &sources);
    let versions =
        [("genai-prices", "1.0"), ("litellm", "2.0")].map(|(name, version)| (name.to_owned(), version.to_owned()));
    let header = Header { date: TODAY, sources: BTreeMap::from(versions) };
    let catalog = Catalog { header, entries: clean(book.entries) };
    let text = catalog.to_text().unwrap();
    assert_eq!(text, EXPECTED);
    assert_eq!(Catalog::parse(&text).unwrap(), catalog);
    assert_eq!(
        rows[2..],
        [
            "| deepseek | deepseek-v3.2 | input 0.2288, output 0.3432 | input 0.28, output 0.4 | litellm | genai-prices lists OpenRouter's price for it |"
        ]
    );
    let page = "a <!-- disagreements: written by scripts/prices.py -->\nold\n<!-- end of disagreements --> b";
    assert_eq!(
        disagreements::replace(page, &["| a |".to_owned()]).unwrap(),
        "a <!-- disagreements: written by scripts/prices.py -->\n\n| a |\n\n<!-- end of disagreements --> b"
    );
}

#[test]
fn changes_are_listed() {
    let entries =
        |lines: &str| Catalog::parse(&format!("{}\n{lines}", EXPECTED.lines().next().unwrap())).unwrap().entries;
    let old = entries(
        r#"{"provider":"a","model":"gone","prices":[{"input":1,"output":2,"long_context":[{"above":199999,"input":1.2345678,"output":4}]}]}
{"provider":"a","model":"same","prices":[{"input":1,"output":2}]}
{"provider":"b","model":"other","prices":[{"input":1,"output":2}]}"#,
    );
    let new = entries(
        r#"{"provider":"a","model":"same","prices":[{"input":1,"output":2}]}
{"provider":"b","model":"new","prices":[{"input":1,"output":2,"cache_write_1h":0.5}]}
{"provider":"b","model":"other","prices":[{"input":1,"output":2.5}],"regions":{"eu":1.1}}"#,
    );
    assert_eq!(
        changes(&old, &new).unwrap(),
        [
            "- a/gone: input 1, output 2, above 199.999k 1.23457/4",
            "+ b/new: input 1, output 2, cache_write_1h 0.5",
            r#"~ b/other: {"provider": "b", "model": "other", "prices": [{"input": 1, "output": 2}]} -> {"provider": "b", "model": "other", "prices": [{"input": 1, "output": 2.5}], "regions": {"eu": 1.1}}"#,
        ]
    );
}

#[test]
fn dates_are_removed() {
    for (name, expected) in [
        ("Claude-4.5-20250929", "claude-4-5"),
        ("claude-4-5@20250929", "claude-4-5"),
        ("gpt-4o-2024-08-06", "gpt-4o"),
        ("mistral-large-latest", "mistral-large"),
        ("gpt-4-0613", "gpt-4-0613"),
    ] {
        assert_eq!(undated(name), expected);
    }
}

#[test]
fn clauses_choose_names() {
    let clause = |text: &str| Clause::parse(&serde_json::from_str(text).unwrap());
    let both = clause(r#"{"and": [{"starts_with": "Gemini-"}, {"regex": "^(?!.*-tts(?:$|-))"}]}"#).unwrap();
    let any =
        clause(r#"{"or": [{"equals": "A"}, {"ends_with": "-b"}, {"contains": "c"}, {"regex": "^d\\d{2}$"}]}"#).unwrap();
    for (name, is_in_both, is_in_any) in [
        ("gemini-9", true, false),
        ("gemini-9-tts", false, false),
        ("gemini-9-tts-b", false, true),
        ("a", false, true),
        ("xcx", false, true),
        ("d42", false, true),
        ("d4", false, false),
    ] {
        assert_eq!((both.matches(name), any.matches(name)), (is_in_both, is_in_any), "{name}");
    }
    assert!(clause(r#"{"sounds_like": "a"}"#).unwrap_err().contains("sounds_like"));
    assert!(clause(r#"{"regex": "^(?!a)(b)"}"#).is_err());
}
