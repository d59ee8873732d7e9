//! The pages of the formats, `docs/formats/FAMILY.md`, which are written from the sources: the documentation of a format is the
//! part of its file's `//!` comment from the heading with its id on.
//!
//! `TIDY=overwrite cargo test --test main format_pages` writes the pages, and the tables of docs/formats.md.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use agentlogs::adapters::ADAPTERS;
use agentlogs::model::session::Capabilities;

use crate::root;

/// The counters of a session, and the capability without which they are unknown.
const COUNTERS: [(&str, Capabilities); 9] = [
    ("tool calls", Capabilities::TOOL_CALLS),
    ("file changes", Capabilities::FILE_CHANGES),
    ("subagents", Capabilities::SUBAGENTS),
    ("compactions", Capabilities::COMPACTIONS),
    ("retries", Capabilities::RETRIES),
    ("denials", Capabilities::PERMISSION_DENIALS),
    ("web searches", Capabilities::WEB_SEARCHES),
    ("user turns", Capabilities::USER_TURNS),
    ("turns", Capabilities::TURNS),
];

/// A directory of `src/adapters/formats`.
struct Family {
    /// The name of the directory and of the page.
    name: String,
    /// The heading of the page: the first line of `mod.rs` without `Formats of`.
    title: String,
    /// The documentation of each format, in the order of files and of headings.
    sections: Vec<(String, String)>,
}

fn families() -> Vec<Family> {
    let mut directories: Vec<PathBuf> = fs::read_dir(root().join("src/adapters/formats"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .collect();
    directories.sort();
    directories.iter().map(|directory| family(directory)).collect()
}

fn family(directory: &Path) -> Family {
    let name = directory.file_name().unwrap().to_string_lossy().into_owned();
    let first_line = comment(&directory.join("mod.rs")).lines().next().unwrap_or_default().to_owned();
    let title = first_line.strip_prefix("Formats of ").and_then(|title| title.strip_suffix('.'));
    let title = title.unwrap_or_else(|| panic!("{name}/mod.rs does not begin with `Formats of NAME.`")).to_owned();
    let files = walkdir::WalkDir::new(directory).sort_by_file_name().into_iter();
    let files = files.map(|entry| entry.unwrap().into_path()).filter(|path| path.is_file());
    Family { name, title, sections: files.flat_map(|path| sections(&comment(&path))).collect() }
}

/// The `//!` comment of a file.
fn comment(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let lines = text.lines().map_while(|line| line.strip_prefix("//!"));
    lines.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect::<Vec<_>>().join("\n")
}

/// The sections of a comment, each by the id in its heading.
fn sections(comment: &str) -> Vec<(String, String)> {
    let parts = format!("\n{comment}");
    let parts = parts.split("\n# `").skip(1).filter_map(|part| part.split_once("`\n"));
    parts.map(|(id, text)| (id.to_owned(), text.trim().to_owned())).collect()
}

/// The text of a page: links in a comment are those of a page in `docs`.
fn page(family: &Family, pages: &BTreeMap<String, String>) -> String {
    let mut page = format!(
        "# {}\n\n<!-- Written from src/adapters/formats/{} by tests/format_pages.rs. -->\n",
        family.title, family.name
    );
    for (id, text) in &family.sections {
        write!(page, "\n## `{id}`\n\n{}\n", with_links(text, &family.name, pages)).unwrap();
    }
    page
}

fn with_links(text: &str, family: &str, pages: &BTreeMap<String, String>) -> String {
    let mut parts = text.split("](");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (target, rest) = part.split_once(')').unwrap_or((part, ""));
        let target = match target.strip_prefix('#') {
            Some(id) => match pages.get(id) {
                Some(page) if page != family => format!("{page}.md#{id}"),
                _ => target.to_owned(),
            },
            None if target.contains("://") => target.to_owned(),
            None => format!("../{target}"),
        };
        write!(out, "]({target}){rest}").unwrap();
    }
    out
}

fn overwrites() -> bool {
    std::env::var("TIDY").is_ok_and(|mode| mode == "overwrite")
}

/// Writes a file, or checks it.
fn check(path: &Path, text: &str) {
    if overwrites() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let found = fs::read_to_string(path).unwrap_or_default();
    assert!(found == text, "{}: write it again with TIDY=overwrite", path.display());
}

/// Writes the block `name` of docs/formats.md, or checks it.
fn check_block(name: &str, block: &str) {
    let (start, end) = (format!("<!-- {name} -->\n"), format!("<!-- /{name} -->"));
    let path = root().join("docs/formats.md");
    let text = fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(&start).unwrap();
    let (_, after) = rest.split_once(&end).unwrap();
    check(&path, &[before, &start, block, &end, after].concat());
}

/// Each format has a section in a file of its family, and no page is about anything else.
#[test]
fn every_format_has_a_page() {
    let families = families();
    let pages: BTreeMap<String, String> = families
        .iter()
        .flat_map(|family| family.sections.iter().map(move |(id, _)| (id.clone(), family.name.clone())))
        .collect();
    let documented: BTreeSet<&str> = pages.keys().map(String::as_str).collect();
    let known: BTreeSet<&str> = ADAPTERS.iter().map(|adapter| adapter.id).collect();
    assert_eq!(documented, known, "left: sections in the sources, right: formats");
    let directory = root().join("docs/formats");
    for family in &families {
        check(&directory.join(format!("{}.md", family.name)), &page(family, &pages));
    }
    let names: BTreeSet<String> = families.iter().map(|family| format!("{}.md", family.name)).collect();
    let found: BTreeSet<String> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    assert_eq!(found, names, "left: files in docs/formats, right: families");
}

/// docs/formats.md lists the formats and what they can show.
#[test]
fn documents_list_the_formats() {
    let families = families();
    let mut formats = "\n| format | logs |\n| --- | --- |\n".to_owned();
    let titles = COUNTERS.map(|(title, _)| title).join(" | ");
    let mut capabilities = format!("\n| format | {titles} |\n|{}\n", " --- |".repeat(COUNTERS.len() + 1));
    for family in &families {
        for (id, _) in &family.sections {
            let adapter = ADAPTERS.iter().find(|adapter| adapter.id == id).unwrap();
            let link = format!("[`{id}`](formats/{}.md#{id})", family.name);
            writeln!(formats, "| {link} | {} |", adapter.about).unwrap();
            let marks = COUNTERS.map(|(_, it)| if adapter.capabilities.has(it) { " ✓ |" } else { "  |" }).concat();
            writeln!(capabilities, "| `{id}` |{marks}").unwrap();
        }
    }
    formats.push('\n');
    capabilities.push('\n');
    check_block("formats", &formats);
    check_block("capabilities", &capabilities);
}
