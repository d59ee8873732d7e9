//! The layers of `src/`: which directory may import which.

use std::collections::{BTreeMap, BTreeSet};
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

/// The directories and files of `src/adapters`, from the bottom up: none imports one above it.
const ADAPTERS: [&str; 9] =
    ["engine", "shared", "described", "formats", "registry", "vocabulary", "unread", "detect", "driver"];

/// The engine depends on no format, and formats do not depend on the list of them. Tests of a module may use all.
#[test]
fn adapters_import_only_what_is_below() {
    let floor = |name: &str| ADAPTERS.iter().position(|other| *other == name);
    for (file, lines) in sources() {
        let Some(name) = file.strip_prefix("adapters/").and_then(|path| path.split(['/', '.']).next()) else {
            continue;
        };
        let Some(own) = floor(name) else {
            assert_eq!(name, "mod", "src/{file} is on no floor");
            continue;
        };
        for line in lines.iter().take_while(|line| *line != "#[cfg(test)]") {
            for imported in names_after(line, "crate::adapters::") {
                let is_below = floor(imported).is_some_and(|other| other <= own);
                assert!(is_below, "src/{file} imports what is above it, or a re-export: {line}");
            }
        }
    }
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
#[cfg(feature = "archive")]
const KNOWN_NAMES_OF_COLUMNS: &[(&str, usize, &str)] = &[
    ("analysis/export/otlp/endpoint.rs", 1, "a member of an answer"),
    ("analysis/present/structure.rs", 10, "members of sessions as JSON"),
    ("analysis/selection/dimension.rs", 6, "names of dimensions"),
    ("analysis/statusline/input.rs", 1, "a member of the runtime's document"),
    ("cli/settings/formats.rs", 8, "members of a description of a format"),
];

/// The constants of `src/store/frames/columns.rs` name columns; SQL names them, too. A word without `_` may have another meaning, so
/// that it counts only where polars expects a column.
#[cfg(feature = "archive")]
#[test]
fn columns_are_named_by_constants() {
    let columns: BTreeSet<&str> = agentlogs::store::frames::schema().into_iter().map(|it| it.column).collect();
    let literal = regex::Regex::new(r#"((?:\bcol|\.column|\.alias)\()?"([a-z0-9_]+)""#).unwrap();
    let is_column =
        |found: &regex::Captures<'_>| columns.contains(&found[2]) && (found[2].contains('_') || found.get(1).is_some());
    let mut found = Vec::new();
    for (file, lines) in sources() {
        let reads_tables = ["store/", "analysis/", "cli/"].iter().any(|layer| file.starts_with(layer));
        if !reads_tables || file == "store/frames/columns.rs" || file.ends_with("/tests.rs") {
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

/// A path of names, such as `analysis::rows::cost`.
type ModulePath = Vec<String>;

fn module_path(text: &str) -> ModulePath {
    text.split("::").map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
}

/// The paths of a `use`, with the names under which they are imported: `a::{b, c as d}` has `a::b` and `a::c`, named `b` and `d`.
fn imported_paths(tree: &str) -> Vec<(ModulePath, String)> {
    let Some((head, list)) = tree.split_once('{') else {
        let (path, name) = tree.split_once(" as ").map_or((tree, None), |(path, name)| (path, Some(name)));
        let path = module_path(path);
        let name = name.map_or_else(|| path.last().cloned().unwrap_or_default(), |name| name.trim().to_owned());
        return vec![(path, name)];
    };
    let list = list.trim_end().strip_suffix('}').unwrap_or(list);
    let mut depth = 0;
    let items = list.split(|char| {
        depth += i32::from(char == '{') - i32::from(char == '}');
        char == ',' && depth == 0
    });
    let head = module_path(head);
    let paths = items.filter(|item| !item.trim().is_empty()).flat_map(imported_paths);
    paths.map(|(path, name)| ([head.clone(), path].concat(), name)).collect()
}

/// A file of the sources as a module.
struct Module {
    file: String,
    /// What its code imports, by absolute paths.
    imports: Vec<ModulePath>,
    /// What it re-exports, by name.
    exports: BTreeMap<String, ModulePath>,
}

/// All modules by their paths. Modules of tests are left out.
fn modules() -> BTreeMap<ModulePath, Module> {
    let path_of = |file: &str| module_path(&file.trim_end_matches(".rs").trim_end_matches("/mod").replace('/', "::"));
    let sources = sources();
    let paths: BTreeSet<ModulePath> = sources.iter().map(|(file, _)| path_of(file)).collect();
    let import = regex::Regex::new(r"(?m)^\s*(pub(?:\([^)]*\))? )?use ([^;]*);").unwrap();
    let absolute = regex::Regex::new(r"\bcrate((?:::\w+)+)").unwrap();
    let first_name = regex::Regex::new(r"(?:^|[^:\w])(\w+)::").unwrap();
    let is_code = |(file, _): &(String, Vec<String>)| !file.contains("/tests/") && !file.ends_with("/tests.rs");
    let module = |(file, lines): (String, Vec<String>)| {
        let own = path_of(&file);
        let lines = lines.iter().map(|line| line.split(" // ").next().unwrap_or_default());
        let code = lines.take_while(|line| *line != "mod tests {").collect::<Vec<_>>().join("\n");
        let resolve = |path: ModulePath| match path.first().map(String::as_str) {
            Some("crate" | "agentlogs") => Some(path[1..].to_vec()),
            Some("super") => Some([&own[..own.len() - 1], &path[1..]].concat()),
            Some("self") => Some([&own[..], &path[1..]].concat()),
            Some(name) => {
                let child = [&own[..], &[name.to_owned()]].concat();
                paths.contains(&child).then(|| [&own[..], &path[..]].concat())
            }
            None => None,
        };
        let (mut imports, mut exports) = (Vec::new(), BTreeMap::new());
        for found in import.captures_iter(&code) {
            for (path, name) in imported_paths(&found[2]) {
                let Some(path) = resolve(path) else { continue };
                if found.get(1).is_some() {
                    exports.insert(name, path.clone());
                }
                imports.push(path);
            }
        }
        imports.extend(absolute.captures_iter(&code).map(|found| module_path(&found[1])));
        let is_relative = |name: &str| ["crate", "super", "self", "agentlogs"].contains(&name);
        let names = first_name.captures_iter(&code).map(|found| found[1].to_owned());
        imports.extend(names.filter(|name| !is_relative(name)).filter_map(|name| resolve(vec![name])));
        (own, Module { file, imports, exports })
    };
    sources.into_iter().filter(is_code).map(module).collect()
}

/// The module that declares what a path names: re-exports are followed.
fn declaring<'m>(modules: &'m BTreeMap<ModulePath, Module>, path: &[String], depth: usize) -> Option<&'m Module> {
    let length = (1..=path.len()).rev().find(|length| modules.contains_key(&path[..*length]))?;
    let (module, rest) = (&modules[&path[..length]], &path[length..]);
    let exported = rest.first().filter(|_| depth < 8).and_then(|name| {
        let path = module.exports.get(name)?;
        declaring(modules, &[path, &rest[1..]].concat(), depth + 1)
    });
    Some(exported.unwrap_or(module))
}

/// What each file imports. `mod.rs` files only declare and re-export, so that they do not count.
fn imports_of_files() -> BTreeMap<String, BTreeSet<String>> {
    let modules = modules();
    let is_map = |file: &str| file.ends_with("/mod.rs");
    let code = modules.values().filter(|module| !is_map(&module.file));
    let imports = code.map(|module| {
        let found = module.imports.iter().filter_map(|path| declaring(&modules, path, 0)).map(|it| it.file.clone());
        (module.file.clone(), found.filter(|file| !is_map(file) && *file != module.file).collect())
    });
    imports.collect()
}

/// The names of which each is reached from itself.
fn in_circles(imports: &BTreeMap<String, BTreeSet<String>>) -> Vec<&str> {
    let reaches_itself = |name: &str| {
        let mut seen = BTreeSet::new();
        let mut open: Vec<&str> = imports[name].iter().map(String::as_str).collect();
        while let Some(next) = open.pop() {
            if seen.insert(next) {
                open.extend(imports.get(next).into_iter().flatten().map(String::as_str));
            }
        }
        seen.contains(name)
    };
    imports.keys().map(String::as_str).filter(|name| reaches_itself(name)).collect()
}

/// No file imports a file that imports it, not even through others.
#[test]
fn files_import_each_other_in_no_circle() {
    let imports = imports_of_files();
    let circles = in_circles(&imports);
    assert!(circles.is_empty(), "these files import each other in circles: {circles:#?}");
}

/// The same of the directories and files in each directory: what is in one of them counts as the directory.
#[test]
fn directories_import_each_other_in_no_circle() {
    let imports = imports_of_files();
    let parents = |file: &str| file.match_indices('/').map(|(end, _)| file[..=end].to_owned()).collect::<Vec<_>>();
    let directories: BTreeSet<String> = imports.keys().flat_map(|file| parents(file)).collect();
    assert!(directories.len() > 100, "{}", directories.len());
    for directory in directories {
        let child = |file: &str| {
            let name = file.strip_prefix(&*directory)?.split(['/', '.']).next()?;
            Some(name.to_owned())
        };
        let mut of_children: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (file, imported) in &imports {
            if let Some(own) = child(file) {
                let others = imported.iter().filter_map(|file| child(file)).filter(|other| *other != own);
                of_children.entry(own.clone()).or_default().extend(others);
            }
        }
        let circles = in_circles(&of_children);
        assert!(circles.is_empty(), "in src/{directory} these import each other in circles: {circles:#?}");
    }
}

/// The module that a line of a map names: the indented name, at least two spaces, and what it is for.
fn named_in_map(line: &str) -> Option<&str> {
    let (name, about) = line.strip_prefix("//! ")?.trim_start().split_once("  ")?;
    let is_name = |char: char| char.is_ascii_lowercase() || char.is_ascii_digit() || char == '_';
    (!name.is_empty() && name.chars().all(is_name) && !about.trim().is_empty()).then_some(name)
}

/// The maps of modules in the documentation of `lib.rs` and of `mod.rs` files name modules that exist.
#[test]
fn maps_name_existing_modules() {
    let src = root().join("src");
    let mut checked = 0;
    let is_map = |name: &std::ffi::OsStr| name == "mod.rs" || name == "lib.rs";
    for entry in walkdir::WalkDir::new(&src).into_iter().map(Result::unwrap).filter(|it| is_map(it.file_name())) {
        let directory = entry.path().parent().unwrap();
        // The files of an archive, not modules.
        if directory.ends_with("store/archive") {
            continue;
        }
        let text = fs::read_to_string(entry.path()).unwrap();
        let (mut is_in_map, mut layer) = (false, "");
        for line in text.lines().take_while(|line| line.starts_with("//!")) {
            if line.starts_with("//! ```") {
                is_in_map = !is_in_map;
            } else if let Some(name) = named_in_map(line).filter(|_| is_in_map) {
                // In `lib.rs`, the modules of a layer are indented below it.
                let is_in_layer = entry.file_name() == "lib.rs" && line.starts_with("//!  ");
                let parent = if is_in_layer { directory.join(layer) } else { directory.to_owned() };
                let exists = parent.join(name).is_dir() || parent.join(format!("{name}.rs")).is_file();
                assert!(exists, "{}: no module {name}", entry.path().display());
                layer = if is_in_layer { layer } else { name };
                checked += 1;
            }
        }
    }
    assert!(checked > 80, "{checked}");
}
