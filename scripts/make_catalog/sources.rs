//! The two tables, and `sources.toml`: what of them becomes part of the catalog.

use std::collections::BTreeMap;
use std::fmt;

use regex::Regex;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// `sources.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Sources {
    pub genai_prices: Providers,
    pub litellm: Providers,
    pub other_models: OtherModels,
    /// By provider and model.
    pub disagreements: BTreeMap<String, Decision>,
}

/// The providers of a table whose prices are read, by the table's own names.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Providers {
    pub makers: Vec<String>,
    pub hosts: Vec<String>,
}

/// Names of models that are not for text.
#[derive(Debug, Deserialize)]
#[serde(from = "Words")]
pub struct OtherModels(Regex);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Words {
    words: Vec<String>,
}

impl From<Words> for OtherModels {
    fn from(words: Words) -> Self {
        Self(Regex::new(&words.words.join("|")).expect("words of sources.toml"))
    }
}

impl OtherModels {
    /// Whether a name is that of a model that is not for text.
    pub fn contain(&self, name: &str) -> bool {
        self.0.is_match(name)
    }
}

/// Which price is kept where the tables disagree, and why.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Decision {
    #[serde(default)]
    pub kept: Kept,
    pub why: String,
}

/// The source of the price that is kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kept {
    #[default]
    GenaiPrices,
    Litellm,
    Correction,
}

impl fmt::Display for Kept {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(formatter)
    }
}

impl Sources {
    /// The sources of this program.
    pub fn of_program() -> Self {
        toml::from_str(include_str!("sources.toml")).expect("sources.toml")
    }
}

/// Both tables, with models in the order of the tables: the first of several models of the same name is used.
#[derive(Debug, Clone)]
pub struct Tables {
    pub genai_prices: Vec<Provider>,
    pub litellm: Vec<(String, Value)>,
}

/// A provider of genai-prices' table.
#[derive(Debug, Clone, Deserialize)]
pub struct Provider {
    pub id: String,
    pub models: Vec<Value>,
}

impl Tables {
    /// Reads the JSON of both tables.
    pub fn parse(genai_prices: &str, litellm: &str) -> serde_json::Result<Self> {
        let genai_prices = serde_json::from_str(genai_prices)?;
        let InOrder(litellm) = serde_json::from_str(litellm)?;
        Ok(Self { genai_prices, litellm })
    }
}

/// The values of an object in the order of the text.
struct InOrder(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for InOrder {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OfObject;
        impl<'de> Visitor<'de> for OfObject {
            type Value = InOrder;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object of models")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<InOrder, A::Error> {
                let mut values = Vec::new();
                while let Some(value) = map.next_entry()? {
                    values.push(value);
                }
                Ok(InOrder(values))
            }
        }
        deserializer.deserialize_map(OfObject)
    }
}
