//! The words that an adapter knows: those in its sources. It does not read members and values of a log that
//! are not among them.

use foldhash::HashSet;

/// The words in the sources of the adapters.
struct Words {
    /// The name of each unit, such as `claude/transcript`, its words, and the names of units that it uses, separated by newlines.
    units: &'static [(&'static str, &'static str, &'static str)],
    /// The unit of each format.
    formats: &'static [(&'static str, &'static str)],
}

static WORDS: Words = include!(concat!(env!("OUT_DIR"), "/words.rs"));

/// The words that the adapter of one format knows.
#[derive(Debug)]
pub struct Vocabulary(HashSet<&'static str>);

impl Vocabulary {
    /// The vocabulary of a format; `None` if the user describes it.
    pub fn of(format: &str) -> Option<Self> {
        let (_, unit) = WORDS.formats.iter().find(|(id, _)| *id == format)?;
        let unit_of = |unit: &str| WORDS.units.iter().find(|(name, ..)| *name == unit);
        let (_, own, uses) = unit_of(unit)?;
        // What it uses, such as what the formats of one runtime share.
        let used = uses.lines().filter_map(unit_of).flat_map(|(_, words, _)| words.lines());
        Some(Self(own.lines().chain(used).collect()))
    }

    /// Whether it contains the name of a member, as it is or in the spelling of Rust.
    pub fn has_member(&self, name: &str) -> bool {
        self.0.contains(name) || self.0.contains(snake_case(name).as_str())
    }

    /// Whether it contains a value, such as a status, or a name of Rust that serde spells like it.
    pub fn has_value(&self, value: &str) -> bool {
        self.0.contains(value) || self.0.contains(pascal_case(value).as_str())
    }
}

fn snake_case(name: &str) -> String {
    let mut out = String::new();
    let mut was_lower = false;
    for char in name.chars() {
        if char.is_ascii_uppercase() && was_lower {
            out.push('_');
        }
        was_lower = !char.is_ascii_uppercase();
        out.push(if char == '-' { '_' } else { char.to_ascii_lowercase() });
    }
    out
}

fn pascal_case(value: &str) -> String {
    let words = value.split(['_', '-']);
    words
        .flat_map(|word| word.chars().enumerate().map(|(at, it)| if at == 0 { it.to_ascii_uppercase() } else { it }))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::ADAPTERS;

    #[test]
    fn every_format_has_the_words_of_its_sources() {
        for adapter in ADAPTERS {
            let words = Vocabulary::of(adapter.id).unwrap_or_else(|| panic!("{}", adapter.id));
            assert!(words.has_value(adapter.runtime), "{}", adapter.id);
        }
        let words = Vocabulary::of("drover-events").unwrap();
        assert!(words.has_member("runId") && words.has_member("input_tokens") && words.has_value("run_start"));
        assert!(!words.has_member("madeUpMember") && !words.has_value("made_up_value"));
    }

    #[test]
    fn names_are_found_in_other_spellings() {
        assert_eq!(snake_case("totalCostUSD"), "total_cost_usd");
        assert_eq!(snake_case("cache-read"), "cache_read");
        assert_eq!(pascal_case("item_completed"), "ItemCompleted");
    }
}
