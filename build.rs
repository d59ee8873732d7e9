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

/// The words in the sources of each unit of the adapters, the units that it uses, and the unit of each format.
fn words(folder: &Path) -> io::Result<String> {
    let (mut units, mut formats) = (BTreeMap::<String, Unit>::new(), BTreeMap::new());
    let mut paths = vec![folder.to_owned()];
    while let Some(path) = paths.pop() {
        if path.is_dir() {
            paths.extend(fs::read_dir(path)?.map(|it| Ok(it?.path())).collect::<io::Result<Vec<_>>>()?);
            continue;
        }
        let below = path.strip_prefix(folder).map_err(io::Error::other)?;
        let below: Vec<&str> = below.iter().filter_map(|it| it.to_str()).map(|it| it.trim_end_matches(".rs")).collect();
        let Some((name, family)) = unit_of(&below) else { continue };
        let unit = units.entry(name.clone()).or_default();
        // The words of tests are not words that the adapter reads.
        let text = fs::read_to_string(&path)?;
        let code = text.lines().take_while(|line| line.trim() != "#[cfg(test)]");
        for line in code.filter(|line| !line.trim_start().starts_with("//")) {
            if let Some(id) = line.trim().strip_prefix("id: \"").and_then(|it| it.strip_suffix("\",")) {
                formats.insert(id.to_owned(), name.clone());
            }
            // A file of a unit is in the directory of its family; what is below it uses `super` for parts of its own unit.
            unit.add(line, family.filter(|_| below.len() == 3));
        }
    }
    let units: Vec<_> = units
        .into_iter()
        .map(|(name, unit)| (name, Vec::from_iter(unit.words).join("\n"), Vec::from_iter(unit.uses).join("\n")))
        .collect();
    let formats: Vec<_> = formats.into_iter().collect();
    Ok(format!("Words {{ units: &{units:?}, formats: &{formats:?} }}\n"))
}

/// The unit of a file, and its family: `claude/transcript` of `formats/claude/transcript/records.rs`. What all adapters share is
/// one unit. Files that depend on no format are in none.
fn unit_of<'a>(below: &[&'a str]) -> Option<(String, Option<&'a str>)> {
    match below {
        [unit @ ("shared" | "described"), ..] => Some(((*unit).to_owned(), None)),
        ["formats", _, "mod"] | ["formats", _] => None,
        ["formats", family, unit, ..] => Some((format!("{family}/{unit}"), Some(family))),
        _ => None,
    }
}

/// One unit of the adapters.
#[derive(Default)]
struct Unit {
    words: BTreeSet<String>,
    /// The names of other units.
    uses: BTreeSet<String>,
}

impl Unit {
    /// Adds a line of code. `family`: if `super` is the directory of the family.
    fn add(&mut self, line: &str, family: Option<&str>) {
        let is_part = |it: char| it.is_ascii_alphanumeric() || matches!(it, '_' | '$');
        let quoted = line.split('"').skip(1).step_by(2);
        let parts = line.split(|it| !is_part(it)).chain(quoted);
        let is_short =
            |it: &&str| (2..=40).contains(&it.len()) && it.chars().all(|it| is_part(it) || ".:-".contains(it));
        self.words.extend(parts.filter(is_short).map(str::to_owned));
        let names = |path: &str| path.split(|it| !is_part(it)).filter(|it| !it.is_empty()).map(str::to_owned).collect();
        for path in line.split("formats::").skip(1) {
            let names: Vec<String> = names(path);
            self.uses.extend(names.get(..2).map(|names| names.join("/")));
        }
        for path in line.split("super::").skip(1) {
            let names: Vec<String> = names(path);
            self.uses.extend(family.iter().flat_map(|family| names.iter().map(move |name| format!("{family}/{name}"))));
        }
        self.uses
            .extend(["shared", "described"].into_iter().filter(|unit| self.words.contains(*unit)).map(str::to_owned));
    }
}
