//! docs/words.md: each word of the glossary is used, and other words for the same idea are not: neither in help and documents, nor on
//! the dashboard.

use std::fs;
use std::process::Command;

use regex::Regex;

use crate::root;

/// A row of the glossary: the word, and the words that are not used in its place.
fn glossary() -> Vec<(String, Vec<String>)> {
    let text = fs::read_to_string(root().join("docs/words.md")).unwrap();
    let rows = text.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix('|')).skip(2);
    let row = |line: &str| {
        let cells: Vec<&str> = line.split(" | ").map(str::trim).collect();
        let [word, _, others] = cells[..] else { panic!("{line}") };
        let others = others.trim_matches('|').split(',').map(|other| other.trim().to_owned());
        (word.to_owned(), others.filter(|other| !other.is_empty()).collect())
    };
    rows.map(row).collect()
}

/// What the sources of the dashboard show: texts in quotes, also with expressions, and between tags.
fn texts_of_page(source: &str) -> String {
    let code = Regex::new(r"(?m)^\s*(//|/\*\*?|\*).*$|\$\{[^{}]*\}|^import .*$").unwrap();
    let source = code.replace_all(source, " ");
    let shown = Regex::new(r#""([^"\n]*)"|`([^`]*)`|>([^<>{}();=]*)<"#).unwrap();
    let texts = shown.captures_iter(&source).filter_map(|found| (1..4).find_map(|group| found.get(group)));
    texts.map(|text| text.as_str().trim()).filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
}

#[test]
fn texts_of_a_page_are_found() {
    let source = "// a comment\nconst id = `by-${name}`;\nreturn <p class=\"note\">Waste and <b>behavior</b></p>;";
    assert_eq!(texts_of_page(source), "by-\nnote\nWaste and\nbehavior");
}

/// What people read: the help of every command, the documents without code, and the texts of the dashboard.
fn texts() -> Vec<(String, String)> {
    let help = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_agentlogs")).args(arguments).arg("--help").output().unwrap();
        assert!(output.status.success(), "{arguments:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let first = help(&[]);
    let commands = first.lines().filter_map(|line| {
        let name = line.strip_prefix("  ").filter(|rest| rest.starts_with(|char: char| char.is_ascii_lowercase()))?;
        name.split_whitespace().next().map(str::to_owned)
    });
    let commands: Vec<String> = commands.collect();
    assert!(commands.len() > 15, "{commands:?}");
    let mut texts: Vec<(String, String)> =
        commands.iter().map(|name| (format!("{name} --help"), help(&[name.as_str()]))).collect();
    texts.push(("--help".to_owned(), first));
    let documents = fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let code = Regex::new(r"(?s)```.*?```|`[^`\n]*`").unwrap();
    for path in documents.chain([root().join("README.md")]) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name != "words.md" && path.extension().is_some_and(|extension| extension == "md") {
            texts.push((name, code.replace_all(&fs::read_to_string(path).unwrap(), "").into_owned()));
        }
    }
    let sources = fs::read_dir(root().join("dashboard/src")).unwrap().map(|entry| entry.unwrap().path());
    for path in sources.filter(|path| path.extension().is_some_and(|extension| extension == "ts" || extension == "tsx"))
    {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        texts.push((name, texts_of_page(&fs::read_to_string(path).unwrap())));
    }
    texts
}

#[test]
fn one_idea_has_one_word() {
    let glossary = glossary();
    assert!(glossary.len() > 15, "{glossary:?}");
    let texts = texts();
    let word = |word: &str| Regex::new(&format!(r"(?i)\b{}\b", regex::escape(word))).unwrap();
    for (name, others) in glossary {
        let plural = Regex::new(&format!(r"(?i)\b{}(s|es)?\b|\b{}ies\b", name, name.trim_end_matches('y'))).unwrap();
        assert!(texts.iter().any(|(_, text)| plural.is_match(text)), "no text has the word {name:?} of docs/words.md");
        for other in others {
            let pattern = word(&other);
            for (source, text) in &texts {
                let line = text.lines().find(|line| pattern.is_match(line));
                assert!(line.is_none(), "{source}: write {name:?} for {other:?}: {}", line.unwrap_or_default().trim());
            }
        }
    }
}
