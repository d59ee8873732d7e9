//! Generates the list of the named queries from the files of `queries/`, and the words of the adapters from their sources.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=queries");
    println!("cargo::rerun-if-changed=src/adapters");
    let variable = |name| env::var_os(name).map(PathBuf::from).ok_or_else(|| io::Error::other(name));
    let (root, out) = (variable("CARGO_MANIFEST_DIR")?, variable("OUT_DIR")?);
    fs::write(out.join("queries.rs"), queries(&root.join("queries"))?)?;
    fs::write(out.join("words.rs"), words(&root.join("src/adapters"))?)
}

fn queries(folder: &Path) -> io::Result<String> {
    let mut files = fs::read_dir(folder)?.map(|it| Ok(it?.path())).collect::<io::Result<Vec<_>>>()?;
    files.retain(|it| it.extension().is_some_and(|it| it == "sql"));
    files.sort();
    let mut list = String::from("&[\n");
    for name in files.iter().filter_map(|it| it.file_stem()?.to_str()) {
        // Named from where the sources are, when they are compiled: checkouts may share a target folder.
        let path = format!("concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/queries/{name}.sql\")");
        let _ = writeln!(list, "    Named {{ name: {name:?}, sql: include_str!({path}) }},");
    }
    list.push_str("]\n");
    Ok(list)
}

/// The words in the sources of each module of the adapters, and the module of each format.
fn words(folder: &Path) -> io::Result<String> {
    let (mut modules, mut formats) = (BTreeMap::<String, BTreeSet<String>>::new(), BTreeMap::new());
    let mut paths = vec![folder.to_owned()];
    while let Some(path) = paths.pop() {
        if path.is_dir() {
            paths.extend(fs::read_dir(path)?.map(|it| Ok(it?.path())).collect::<io::Result<Vec<_>>>()?);
            continue;
        }
        let below = path.strip_prefix(folder).ok().and_then(|it| it.iter().next()?.to_str());
        let Some(module) = below.map(|it| it.trim_end_matches(".rs").to_owned()) else { continue };
        let words = modules.entry(module.clone()).or_default();
        // The words of tests are not words that the adapter reads.
        let text = fs::read_to_string(path)?;
        let code = text.lines().take_while(|line| line.trim() != "#[cfg(test)]");
        for line in code.filter(|line| !line.trim_start().starts_with("//")) {
            if let Some(id) = line.trim().strip_prefix("id: \"").and_then(|it| it.strip_suffix("\",")) {
                formats.insert(id.to_owned(), module.clone());
            }
            let is_part = |it: char| it.is_ascii_alphanumeric() || matches!(it, '_' | '$');
            let quoted = line.split('"').skip(1).step_by(2);
            let parts = line.split(|it| !is_part(it)).chain(quoted);
            let is_short =
                |it: &&str| (2..=40).contains(&it.len()) && it.chars().all(|it| is_part(it) || ".:-".contains(it));
            words.extend(parts.filter(is_short).map(str::to_owned));
        }
    }
    let modules: Vec<_> =
        modules.into_iter().map(|(module, words)| (module, Vec::from_iter(words).join("\n"))).collect();
    let formats: Vec<_> = formats.into_iter().collect();
    Ok(format!("Words {{ modules: &{modules:?}, formats: &{formats:?} }}\n"))
}
