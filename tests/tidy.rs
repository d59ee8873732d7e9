//! The house rules that a compiler does not know.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use agentlogs::adapters::{self, ADAPTERS};
use agentlogs::model::session::Shows;

use crate::{lines_of, root, samples};

/// Each format has a good run and a troubled one, and no other format claims them more.
#[test]
fn every_format_has_samples_that_it_claims() {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for path in samples() {
        // What is kept in a tree of small files has folders of its own below that of its format.
        let below = path.strip_prefix(root().join("sample-logs")).unwrap();
        let format = below.iter().next().unwrap().to_string_lossy().into_owned();
        let claims = adapters::detect(&lines_of(&path), adapters::Hints::default());
        assert_eq!(claims.first().map(|(it, _)| it.id), Some(format.as_str()), "{}: {claims:?}", path.display());
        *counts.entry(format).or_default() += 1;
    }
    for adapter in ADAPTERS {
        assert!(counts.get(adapter.id).is_some_and(|it| *it >= 2), "{}: two samples at least", adapter.id);
    }
}

/// Each format has its section in docs/formats.md, and a row there of what it can show.
#[test]
fn every_format_is_documented() {
    const COLUMNS: [Shows; 9] = [
        Shows::TOOL_CALLS,
        Shows::FILE_CHANGES,
        Shows::SUBAGENTS,
        Shows::COMPACTIONS,
        Shows::RETRIES,
        Shows::PERMISSION_DENIALS,
        Shows::WEB_SEARCHES,
        Shows::USER_TURNS,
        Shows::TURNS,
    ];
    let text = fs::read_to_string(root().join("docs/formats.md")).unwrap();
    for adapter in ADAPTERS {
        assert!(text.contains(&format!("\n### `{}`\n", adapter.id)), "{} has no section", adapter.id);
        let marks = COLUMNS.map(|it| if adapter.shows.has(it) { " ✓ |" } else { "  |" }).concat();
        let row = format!("\n| `{}` |{marks}\n", adapter.id);
        assert!(text.contains(&row), "{} has no row{row}", adapter.id);
    }
    let is_known = |id: &str| ADAPTERS.iter().any(|it| it.id == id);
    let sections = text.lines().filter_map(|it| it.strip_prefix("### `")?.strip_suffix('`'));
    for id in sections {
        assert!(is_known(id), "{id} is no format");
    }
}

/// Every test and sample that docs/accounting.md names as the guard of a rule exists.
#[test]
fn every_guard_exists() {
    let text = fs::read_to_string(root().join("docs/accounting.md")).unwrap();
    let samples: Vec<String> =
        samples().iter().map(|it| it.with_extension("").to_string_lossy().into_owned()).collect();
    for name in text.split('`').skip(1).step_by(2).filter(|it| !it.ends_with("/*")) {
        if ADAPTERS.iter().any(|it| name.split_once('/').is_some_and(|(format, _)| format == it.id)) {
            assert!(samples.iter().any(|it| it.ends_with(name)), "{name} is no sample");
        }
    }
    let sources = walkdir::WalkDir::new(root().join("src")).into_iter();
    let sources = sources.chain(walkdir::WalkDir::new(root().join("tests"))).filter_map(Result::ok);
    let is_source = |it: &walkdir::DirEntry| it.path().extension().is_some_and(|it| it == "rs");
    let code: String = sources.filter(is_source).map(|it| fs::read_to_string(it.path()).unwrap()).collect();
    let guards = text.split("*Test").skip(1).map(|it| it.split("\n\n").next().unwrap_or(it));
    let names: Vec<_> = guards.flat_map(|it| it.split('`').skip(1).step_by(2)).filter(|it| !it.contains('/')).collect();
    assert!(names.len() > 20, "{names:?}");
    for name in names {
        assert!(code.contains(&format!("fn {name}(")), "{name} is no test");
    }
}

/// Comments cite rules as `docs/PAGE.md#heading`, and pages link to headings: all of these exist.
#[test]
fn every_cited_heading_exists() {
    let mut headings: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for entry in fs::read_dir(root().join("docs")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        headings.insert(name, headings_of(&fs::read_to_string(path).unwrap()));
    }
    let files = ["src", "tests", "docs", "README.md", "ARCHITECTURE.md"].map(|name| root().join(name));
    let files = files.iter().flat_map(walkdir::WalkDir::new).map(Result::unwrap);
    let has_citations = |path: &Path| path.extension().is_some_and(|extension| extension == "rs" || extension == "md");
    let is_of_name = |char: char| char.is_ascii_alphanumeric() || char == '-' || char == '_';
    let mut count = 0;
    for path in files.map(walkdir::DirEntry::into_path).filter(|path| has_citations(path)) {
        let text = fs::read_to_string(&path).unwrap();
        let parts: Vec<&str> = text.split(".md#").collect();
        for citation in parts.windows(2) {
            let page = citation[0].rsplit(|char| !is_of_name(char)).next().unwrap_or_default();
            let heading = citation[1].split(|char| !is_of_name(char)).next().unwrap_or_default();
            if heading.is_empty() || page == "PAGE" {
                continue;
            }
            let exists = headings.get(page).is_some_and(|headings| headings.contains(heading));
            assert!(exists, "{} cites {page}.md#{heading}, which is not a heading", path.display());
            count += 1;
        }
        let page = path.file_stem().unwrap().to_string_lossy();
        if let Some(headings) = headings.get(&*page).filter(|_| path.starts_with(root().join("docs"))) {
            for heading in text.split("](#").skip(1).filter_map(|after| after.split(')').next()) {
                assert!(headings.contains(heading), "{} links to #{heading}, which is not a heading", path.display());
            }
        }
    }
    assert!(count > 20, "{count}");
}

/// The headings of a page as the anchors that GitHub makes of them.
fn headings_of(page: &str) -> BTreeSet<String> {
    let headings = page.lines().filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim());
    let anchor = |heading: &str| -> String {
        let kept = heading.chars().filter(|char| char.is_alphanumeric() || matches!(char, ' ' | '-' | '_'));
        kept.map(|char| if char == ' ' { '-' } else { char.to_ascii_lowercase() }).collect()
    };
    headings.map(anchor).collect()
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

/// Adapters see bytes and nothing else. Their test modules may measure time.
#[test]
fn adapters_do_no_input_or_output() {
    for entry in walkdir::WalkDir::new(root().join("src/adapters")).into_iter().filter_map(Result::ok) {
        let path = entry.path();
        if !entry.file_type().is_file() {
            continue;
        }
        let text = fs::read_to_string(path).unwrap();
        let code = text.split("\n#[cfg(test)]\nmod ").next().unwrap();
        for word in ["std::fs", "std::env", "std::path", "std::time", "polars", "Timestamp::now"] {
            assert!(!code.contains(word), "{} uses {word}", path.display());
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
    }
}

/// All changes that the archive makes to the disk are in one file, so that the model of power cuts records each of them.
#[test]
fn the_archive_writes_by_its_own_functions_only() {
    let folder = root().join("src/store/archive");
    let writes = [
        "OpenOptions",
        "File::create",
        "File::options",
        "DirBuilder",
        "fs::write",
        "fs::rename",
        "fs::remove",
        "fs::copy",
        "fs::create",
        "hard_link",
        "::symlink(",
        " symlink(",
    ];
    for file in walkdir::WalkDir::new(&folder).into_iter().map(|entry| entry.unwrap().into_path()) {
        // `disk/cut.rs` is a test.
        if !file.is_file() || file.ends_with("disk.rs") || file.ends_with("cut.rs") {
            continue;
        }
        let text = fs::read_to_string(&file).unwrap();
        let code = text.split("#[cfg(test)]\nmod tests").next().unwrap();
        // `HashedFile::create` is a function of the archive.
        let is_in = |write: &&&str| {
            let is_name = write.starts_with(char::is_alphabetic);
            code.match_indices(**write).any(|(at, _)| !(is_name && code[..at].ends_with(char::is_alphanumeric)))
        };
        let found: Vec<_> = writes.iter().filter(is_in).collect();
        assert!(found.is_empty(), "{}: {found:?}", file.display());
    }
}

/// A page of examples shows what works; what fails is shown on the pages of errors, where it is read as an error.
#[test]
fn examples_outside_the_error_pages_succeed() {
    let pages = walkdir::WalkDir::new(root().join("tests/cmd")).into_iter().filter_map(Result::ok);
    let pages = pages.filter(|page| page.path().extension().is_some_and(|extension| extension == "trycmd"));
    let is_of_errors = |path: &Path| path.file_stem().is_some_and(|stem| stem.to_string_lossy().starts_with("errors"));
    let paths = pages.map(walkdir::DirEntry::into_path).filter(|path| !is_of_errors(path));
    let paths: Vec<PathBuf> = paths.chain([root().join("README.md")]).collect();
    assert!(paths.len() > 5, "{paths:?}");
    for path in paths {
        let text = fs::read_to_string(&path).unwrap();
        let mut command = "";
        for line in text.lines() {
            if line.starts_with("$ ") {
                command = line;
            }
            // `? 1` is an exit status; clap begins its errors with `error:`, and a panic names its thread.
            let is_error = line.starts_with("? ") || line.starts_with("error:") || line.starts_with("thread '");
            assert!(!is_error, "{}: {command}\n{line}", path.display());
        }
    }
}
