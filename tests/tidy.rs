//! The house rules that a compiler does not know.

use std::collections::BTreeMap;
use std::fs;

use agentlogs::adapters::{self, ADAPTERS};

use crate::{root, samples};

/// Each format has a good run and a troubled one, and no other format claims them more.
#[test]
fn every_format_has_samples_that_it_claims() {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for path in samples() {
        // What is kept in a tree of small files has folders of its own below that of its format.
        let below = path.strip_prefix(root().join("sample-logs")).unwrap();
        let format = below.iter().next().unwrap().to_string_lossy().into_owned();
        let claims = adapters::detect(&fs::read(&path).unwrap(), adapters::Hints::default());
        assert_eq!(claims.first().map(|(it, _)| it.id), Some(format.as_str()), "{}: {claims:?}", path.display());
        *counts.entry(format).or_default() += 1;
    }
    for adapter in ADAPTERS {
        assert!(counts.get(adapter.id).is_some_and(|it| *it >= 2), "{}: two samples at least", adapter.id);
    }
}

/// A format's name stands in its adapter only: what is common knows none.
#[test]
fn no_format_is_named_outside_of_its_adapter() {
    for entry in walkdir::WalkDir::new(root().join("src")).into_iter().filter_map(Result::ok) {
        let path = entry.path();
        if !entry.file_type().is_file() || path.starts_with(root().join("src/adapters")) {
            continue;
        }
        let text = fs::read_to_string(path).unwrap();
        for adapter in ADAPTERS {
            assert!(!text.contains(&format!("\"{}\"", adapter.id)), "{} names {}", path.display(), adapter.id);
        }
    }
}

/// Adapters see bytes and nothing else.
#[test]
fn adapters_do_no_input_or_output() {
    for entry in fs::read_dir(root().join("src/adapters")).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        for word in ["std::fs", "std::env", "std::path", "std::time", "polars", "Timestamp::now"] {
            assert!(!text.contains(word), "{} uses {word}", path.display());
        }
    }
}

/// Every named query says what it answers, and gives its rows in one order.
#[test]
fn every_query_has_its_help_and_an_order() {
    for entry in fs::read_dir(root().join("queries")).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let help = text.lines().next().unwrap_or_default();
        assert!(help.starts_with("-- ") && !help.ends_with('.'), "{}", path.display());
        assert!(text.contains("\nORDER BY "), "{}", path.display());
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let commands = fs::read_to_string(root().join("src/commands/query.rs")).unwrap();
        assert!(commands.contains(&format!("\"{name}\"")), "{name} is not in the list of src/commands/query.rs");
    }
}
