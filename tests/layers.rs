//! The layers of `src/`: which directory may import which.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use crate::root;

/// Each layer, and the layers that it may import besides itself. `cli` is the program, the others are the library.
const LAYERS: &[(&str, &[&str])] = &[
    ("base", &[]),
    ("json", &["base"]),
    ("model", &["base"]),
    ("input", &["base", "json", "model"]),
    ("prices", &["base", "json", "model"]),
    ("adapters", &["base", "json", "model"]),
    ("ledger", &["base", "json", "model", "input", "prices", "adapters"]),
    ("ingest", &["base", "json", "model", "input", "prices", "adapters"]),
    ("store", &["base", "json", "model", "input", "prices", "adapters", "ledger", "ingest"]),
    ("analysis", &["base", "json", "model", "input", "prices", "adapters", "ledger", "ingest", "store"]),
    ("cli", &["base", "json", "model", "input", "prices", "adapters", "ledger", "ingest", "store", "analysis"]),
];

/// Imports that break the rule: the file, the layer it imports, and why it still does. The list may only become shorter.
const KNOWN_IMPORTS: &[(&str, &str, &str)] = &[];

/// `mod.rs` files that hold more than declarations and re-exports. The list may only become shorter.
const KNOWN_MODULES_WITH_CODE: &[&str] = &[];

/// All source files but `lib.rs` and `main.rs`: their paths below `src/`, with `/`, and their lines without comments.
fn sources() -> Vec<(String, Vec<String>)> {
    let src = root().join("src");
    let files = walkdir::WalkDir::new(&src).into_iter().map(|entry| entry.unwrap().into_path());
    let is_source = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "rs");
    let mut sources: Vec<_> = files
        .filter(is_source)
        .map(|path| {
            let name = path.strip_prefix(&src).unwrap().to_string_lossy().replace('\\', "/");
            let text = fs::read_to_string(path).unwrap();
            let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
            (name, lines.map(str::to_owned).collect())
        })
        .filter(|(name, _): &(String, _)| name != "lib.rs" && name != "main.rs")
        .collect();
    sources.sort();
    assert!(sources.len() > 100, "{}", sources.len());
    sources
}

/// The names that follow `prefix` in a line: of `crate::json::Raw` and `crate`, `json`.
fn names_after<'a>(line: &'a str, prefix: &str) -> impl Iterator<Item = &'a str> {
    let is_part_of_a_name = |char: char| char.is_alphanumeric() || char == '_';
    line.split(prefix).skip(1).map(move |rest| rest.split(|char| !is_part_of_a_name(char)).next().unwrap_or_default())
}

/// The rule of `ARCHITECTURE.md`, for test modules too.
#[test]
fn layers_import_only_layers_below() {
    let mut found = BTreeSet::new();
    for (file, lines) in sources() {
        let layer = file.split('/').next().unwrap();
        let allowed = LAYERS.iter().find(|(name, _)| *name == layer).map(|(_, allowed)| *allowed);
        let allowed = allowed.unwrap_or_else(|| panic!("src/{file} is in no layer"));
        for line in lines {
            // Every path begins with its layer, so that one line is enough to know it.
            let has_no_layer = ["crate::{", "agentlogs::{", "super::super::"].iter().any(|path| line.contains(path));
            assert!(!has_no_layer, "src/{file}: begin the path with `crate::` and its layer: {line}");
            let imported = names_after(&line, "crate::").chain(names_after(&line, "agentlogs::"));
            let is_layer = |name: &&str| LAYERS.iter().any(|(layer, _)| layer == name);
            for name in imported.filter(is_layer).filter(|name| *name != layer && !allowed.contains(name)) {
                found.insert((file.clone(), name.to_owned()));
            }
        }
    }
    let known: BTreeSet<_> =
        KNOWN_IMPORTS.iter().map(|(file, name, _)| ((*file).to_owned(), (*name).to_owned())).collect();
    let new: Vec<_> = found.difference(&known).collect();
    assert!(new.is_empty(), "these files import a layer that is not below theirs: {new:#?}");
    let removed: Vec<_> = known.difference(&found).collect();
    assert!(removed.is_empty(), "no longer true, remove from `KNOWN_IMPORTS`: {removed:#?}");
}

/// A `mod.rs` only declares and re-exports: code is in files that are named for what they do.
#[test]
fn modules_only_declare_and_reexport() {
    let is_declaration = |statement: &str| {
        let statement = statement.trim_start();
        let rest = statement.strip_prefix("pub").unwrap_or(statement);
        let rest = rest.strip_prefix("(crate)").or_else(|| rest.strip_prefix("(super)")).unwrap_or(rest).trim_start();
        rest.is_empty() || rest.starts_with("mod ") || (rest.starts_with("use ") && statement.starts_with("pub"))
    };
    let with_code: Vec<String> = sources()
        .into_iter()
        .filter(|(file, lines)| {
            let code: Vec<&str> = lines.iter().map(String::as_str).filter(|line| !line.starts_with("#[")).collect();
            file.ends_with("/mod.rs") && !code.join("\n").split(';').all(is_declaration)
        })
        .map(|(file, _)| file)
        .collect();
    assert_eq!(with_code, KNOWN_MODULES_WITH_CODE, "left: found; right: `KNOWN_MODULES_WITH_CODE`");
}

/// Files with names of columns as texts, their number, and why: words of another document that are the same. The list may only
/// become shorter.
const KNOWN_NAMES_OF_COLUMNS: &[(&str, usize, &str)] = &[
    ("analysis/present/structure.rs", 10, "members of sessions as JSON"),
    ("analysis/reports/dimension.rs", 5, "names of dimensions"),
    ("analysis/statusline/input.rs", 1, "a member of the runtime's document"),
    ("cli/settings/formats.rs", 8, "members of a description of a format"),
];

/// The constants of `src/store/frames/columns.rs` name columns; SQL names them, too. A word without `_` may have another meaning, so
/// that it counts only where polars expects a column.
#[test]
fn columns_are_named_by_constants() {
    let columns: BTreeSet<&str> = agentlogs::store::frames::schema().into_iter().map(|it| it.column).collect();
    let literal = regex::Regex::new(r#"((?:\bcol|\.column|\.alias)\()?"([a-z0-9_]+)""#).unwrap();
    let is_column =
        |found: &regex::Captures<'_>| columns.contains(&found[2]) && (found[2].contains('_') || found.get(1).is_some());
    let mut found = Vec::new();
    for (file, lines) in sources() {
        let reads_tables = ["store/", "analysis/", "cli/"].iter().any(|layer| file.starts_with(layer));
        if !reads_tables || file == "store/frames/columns.rs" {
            continue;
        }
        let code = lines.iter().take_while(|line| *line != "#[cfg(test)]");
        let count = code.flat_map(|line| literal.captures_iter(line)).filter(is_column).count();
        if count > 0 {
            found.push((file, count));
        }
    }
    let known: Vec<_> = KNOWN_NAMES_OF_COLUMNS.iter().map(|(file, count, _)| ((*file).to_owned(), *count)).collect();
    assert_eq!(found, known, "left: found; right: `KNOWN_NAMES_OF_COLUMNS`. Use a constant: `turns::COST_USD`");
}
