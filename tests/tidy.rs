//! House rules that the compiler does not check.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use agentlogs::adapters::{self, ADAPTERS};
use regex::Regex;

use crate::{lines_of, root, samples};

/// The documents whose console blocks are executed, each with an archive of its own.
pub const EXECUTED_DOCUMENTS: &[(&str, &str)] = &[
    ("agentlogs-archive", "docs/tour.md"),
    ("evaluation", "docs/evaluations.md"),
    ("billed", "docs/bill.md"),
    ("scanned", "docs/git.md"),
    ("readme", "README.md"),
];

/// Each format has at least two samples, and no other format claims them with more than two thirds of the weight.
#[test]
fn every_format_has_samples_that_it_claims() {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for path in samples() {
        // A sample that is a tree of small files has directories below that of its format.
        let below = path.strip_prefix(root().join("sample-logs")).unwrap();
        let format = below.iter().next().unwrap().to_string_lossy().into_owned();
        let claims = adapters::detect(&lines_of(&path), adapters::Hints::default());
        assert_eq!(
            claims.first().map(|(adapter, _)| adapter.id),
            Some(format.as_str()),
            "{}: {claims:?}",
            path.display()
        );
        // Runtimes of one family share records, but never so many that the choice is close.
        if let [(_, first), (_, second), ..] = claims[..] {
            assert!(3 * second <= 2 * first, "{}: {claims:?}", path.display());
        }
        *counts.entry(format).or_default() += 1;
    }
    for adapter in ADAPTERS {
        assert!(
            counts.get(adapter.id).is_some_and(|count| *count >= 2),
            "{}: at least two samples are required",
            adapter.id
        );
    }
}

/// Every test and sample that docs/accounting.md names as the guard of a rule exists, and every test that docs/security.md names.
#[test]
fn every_guard_exists() {
    let text = fs::read_to_string(root().join("docs/accounting.md")).unwrap();
    let samples: Vec<String> =
        samples().iter().map(|it| it.with_extension("").to_string_lossy().into_owned()).collect();
    for name in text.split('`').skip(1).step_by(2).filter(|it| !it.ends_with("/*")) {
        if ADAPTERS.iter().any(|it| name.split_once('/').is_some_and(|(format, _)| format == it.id)) {
            assert!(samples.iter().any(|it| it.ends_with(name)), "{name} is not a sample");
        }
    }
    let sources = walkdir::WalkDir::new(root().join("src")).into_iter();
    let sources = sources.chain(walkdir::WalkDir::new(root().join("tests"))).filter_map(Result::ok);
    let is_source = |it: &walkdir::DirEntry| it.path().extension().is_some_and(|it| it == "rs");
    let code: String = sources.filter(is_source).map(|it| fs::read_to_string(it.path()).unwrap()).collect();
    let guards = text.split("*Test").skip(1).map(|it| it.split("\n\n").next().unwrap_or(it));
    let security = fs::read_to_string(root().join("docs/security.md")).unwrap();
    // The last cell of a row.
    let tested = security.lines().filter_map(|line| line.strip_suffix('|')?.rsplit('|').next());
    let is_test =
        |name: &&str| name.split('_').count() > 2 && name.bytes().all(|it| it.is_ascii_lowercase() || it == b'_');
    let quoted = |text: &'_ str| text.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
    let tested: Vec<String> = tested.flat_map(quoted).filter(|name| is_test(&name.as_str())).collect();
    let guards: Vec<String> = guards.flat_map(quoted).filter(|it| !it.contains('/')).collect();
    assert!(guards.len() > 20 && tested.len() > 40, "{guards:?} {tested:?}");
    let names: Vec<String> = guards.into_iter().chain(tested).collect();
    for name in names {
        assert!(code.contains(&format!("fn {name}(")), "{name} is not a test");
    }
}

/// Comments cite rules as `docs/PAGE.md#heading`, and pages link to headings: all of these exist.
#[test]
fn every_cited_heading_exists() {
    let mut headings: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for path in pages() {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        // Pages of formats may have the name of another page.
        headings.entry(name).or_default().extend(headings_of(&fs::read_to_string(path).unwrap()));
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

/// Every file that a document links to exists.
#[test]
fn every_linked_file_exists() {
    let others = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md"].map(|name| root().join(name));
    let mut count = 0;
    for page in pages().into_iter().chain(others) {
        let text = fs::read_to_string(&page).unwrap();
        let links = text.split("](").skip(1).filter_map(|after| after.split([')', '#']).next());
        for link in links.filter(|link| !link.is_empty() && !link.contains("://")) {
            let target = page.parent().unwrap().join(link);
            assert!(target.exists(), "{} links to {link}, which does not exist", name_of(&page));
            count += 1;
        }
    }
    assert!(count > 100, "{count}");
}

/// The paragraph of README.md names every runtime that has an adapter.
#[test]
fn the_readme_names_every_runtime() {
    let text = fs::read_to_string(root().join("README.md")).unwrap();
    let (_, rest) = text.split_once("<!-- runtimes: checked by tests/tidy.rs -->").unwrap();
    let (names, _) = rest.split_once("<!-- end of runtimes -->").unwrap();
    let plain = |text: &str| text.to_lowercase().replace(['-', '\n'], " ");
    for adapter in ADAPTERS {
        assert!(plain(names).contains(&plain(adapter.runtime)), "README.md does not name {}", adapter.runtime);
    }
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

/// The name of a format occurs only in `src/adapters`.
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

/// Adapters perform no I/O, and use neither the clock nor the environment. Their test modules may measure time.
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

/// Every built-in query has a description, and a defined order of rows.
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

/// The archive writes only by the functions of `disk.rs`, so that the test of power failures covers every write.
#[test]
fn the_archive_writes_by_its_own_functions_only() {
    let directory = root().join("src/store/archive");
    let writes = [
        "OpenOptions",
        " File::create",
        "fs::File::create",
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
    for file in walkdir::WalkDir::new(&directory).into_iter().map(|entry| entry.unwrap().into_path()) {
        // `disk/tests/cut.rs` is a test.
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

/// Examples succeed, except on the pages whose name begins with `errors`.
#[test]
fn examples_outside_the_error_pages_succeed() {
    let pages = walkdir::WalkDir::new(root().join("tests/cmd")).into_iter().filter_map(Result::ok);
    let pages = pages.filter(|page| page.path().extension().is_some_and(|extension| extension == "trycmd"));
    let is_of_errors = |path: &Path| path.file_stem().is_some_and(|stem| stem.to_string_lossy().starts_with("errors"));
    let paths = pages.map(walkdir::DirEntry::into_path).filter(|path| !is_of_errors(path));
    let documents = EXECUTED_DOCUMENTS.iter().map(|(_, name)| root().join(name));
    let paths: Vec<PathBuf> = paths.chain(documents).collect();
    assert!(paths.len() > 5, "{paths:?}");
    for path in paths {
        let text = fs::read_to_string(&path).unwrap();
        let mut command = "";
        for line in text.lines() {
            if line.starts_with("$ ") {
                command = line;
            }
            // `? 1` is an exit status, and 4 the answer of `check`; clap begins its errors with `error:`, and a panic names its thread.
            let is_error =
                (line.starts_with("? ") && line != "? 4") || line.starts_with("error:") || line.starts_with("thread '");
            assert!(!is_error, "{}: {command}\n{line}", path.display());
        }
    }
}

/// The maximum number of lines of a source file.
const MAX_LINES: usize = 700;

/// Files with more than [`MAX_LINES`]. The list may only become shorter.
const KNOWN_LONG_FILES: &[&str] = &[];

/// The maximum median and 90th percentile of the lines per file.
const MAX_MEDIAN: usize = 150;
const MAX_PERCENTILE_90: usize = 400;

/// A tag can be moved to other code, a commit cannot.
#[test]
fn every_action_is_named_by_a_commit() {
    let workflows = fs::read_dir(root().join(".github/workflows")).unwrap().map(|entry| entry.unwrap().path());
    let mut wrong = Vec::new();
    for path in workflows.chain([root().join("action.yml")]) {
        let text = fs::read_to_string(&path).unwrap();
        let used = text.lines().filter_map(|line| line.trim_start().trim_start_matches("- ").strip_prefix("uses: "));
        for action in used.filter(|action| !action.starts_with("./")) {
            let (name, version) = action.split_once(" # ").unwrap_or((action, ""));
            let commit = name.split_once('@').map_or("", |(_, commit)| commit);
            let is_commit = commit.len() == 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
            if !is_commit || version.is_empty() {
                wrong.push(format!("{}: {action}", name_of(&path)));
            }
        }
    }
    assert!(wrong.is_empty(), "not a commit with its version as a comment: {wrong:#?}");
}

/// Source files are short, so that a reader can survey one.
#[test]
fn source_files_are_short() {
    let mut lines: Vec<(usize, String)> =
        source_files("src").into_iter().map(|(name, text)| (text.lines().count(), name)).collect();
    let long = lines.iter().filter(|(count, _)| *count > MAX_LINES);
    let long: BTreeSet<&str> = long.map(|(_, name)| name.as_str()).collect();
    let known: BTreeSet<&str> = KNOWN_LONG_FILES.iter().copied().collect();
    let new: Vec<_> = long.difference(&known).collect();
    assert!(new.is_empty(), "more than {MAX_LINES} lines, split by subject: {new:?}");
    let shortened: Vec<_> = known.difference(&long).collect();
    assert!(shortened.is_empty(), "no longer long, remove from `KNOWN_LONG_FILES`: {shortened:?}");
    lines.sort_unstable();
    let quantile = |percent: usize| lines[(lines.len() - 1) * percent / 100].0;
    let (median, percentile_90) = (quantile(50), quantile(90));
    assert!(median <= MAX_MEDIAN, "the median file has {median} lines");
    assert!(percentile_90 <= MAX_PERCENTILE_90, "the 90th percentile of files is {percentile_90} lines");
}

/// The first line of each file is a description of the module.
#[test]
fn every_module_has_a_header() {
    for (name, text) in ["src", "tests", "scripts"].into_iter().flat_map(source_files) {
        assert!(text.starts_with("//! "), "{name} does not begin with a `//!` comment");
    }
}

/// Words and phrases that plain technical English does not need, with the replacement.
const WORDS: &[(&str, &str)] = &[
    (r"stands?|standing|stood", "is, is stored, applies"),
    (r"tells?|telling|told", "contains, reports"),
    (r"says?|said|saying", "contains, states"),
    (r"looks?|looked", "check, comparison, pass"),
    (r"behind", "after"),
    (r"is none", "is not a"),
    (r"nobody|nowhere", "passive voice, never"),
    (r"room", "capacity, space"),
    (r"(?:set|put|puts|sets) aside|aside", "spilled, kept under another path"),
    (r"pieces?", "chunk, part"),
    (r"(?:takes?|taken|took|taking) in", "ingest, read"),
    (r"(?:hands?|handed) on", "emit, pass"),
    (r"(?:go|goes|gone|hop|hops|hopping) over", "skip, iterate"),
    (r"dear|dearer|dearest", "expensive"),
    (r"settles?|settled|settling", "reconcile"),
    (r"how many-th", "ordinal"),
];

/// Comments and documents use plain technical English: see [`WORDS`].
///
/// `tests/words.txt` lists the files that still contain such words, with their number. The list may only become shorter. This
/// command writes it again: `TIDY=overwrite cargo test --test main plain_english`.
#[test]
fn comments_and_documents_use_plain_english() {
    let pattern = WORDS.iter().map(|(words, _)| *words).collect::<Vec<_>>().join("|");
    let pattern = Regex::new(&format!(r"(?i-u:\b(?:{pattern})\b)")).unwrap();
    // Exempt: one verb of programming, and inline code.
    let exempt = Regex::new(r"(?i-u:\blook(?:s|ed|ing)?[- ]?up\b)|`[^`]*`").unwrap();
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let sources = source_files("").into_iter().map(|(name, text)| (name, comments(&text)));
    for (name, text) in sources.chain(other_comments()).chain(documents()) {
        for line in text.lines() {
            let prose = exempt.replace_all(line, "");
            let uses = pattern.find_iter(&prose).map(|word| format!("{}: {}", word.as_str(), line.trim()));
            found.entry(name.clone()).or_default().extend(uses);
        }
    }
    found.retain(|_, uses| !uses.is_empty());
    let list = root().join("tests/words.txt");
    if std::env::var("TIDY").is_ok_and(|mode| mode == "overwrite") {
        let lines: Vec<String> = found.iter().map(|(name, uses)| format!("{} {name}", uses.len())).collect();
        fs::write(&list, lines.join("\n") + "\n").unwrap();
        return;
    }
    let known = fs::read_to_string(list).unwrap();
    let known = known.lines().filter_map(|line| line.split_once(' '));
    let mut known: BTreeMap<&str, usize> = known.map(|(count, name)| (name, count.parse().unwrap())).collect();
    for (name, uses) in &found {
        let allowed = known.remove(name.as_str()).unwrap_or_default();
        let uses_text = uses.join("\n");
        assert!(uses.len() <= allowed, "{name}: write plain English, see `WORDS` in tests/tidy.rs:\n{uses_text}");
        assert!(uses.len() == allowed, "{name}: lower its number in tests/words.txt to {}", uses.len());
    }
    assert!(known.is_empty(), "no such words any more, remove from tests/words.txt: {known:?}");
}

/// All Rust files below a directory of the repository: their paths, with `/`, and their texts. `""` is all directories with
/// Rust files.
fn source_files(directory: &str) -> Vec<(String, String)> {
    let directories = if directory.is_empty() {
        vec!["src", "tests", "benches", "fuzz/fuzz_targets", "scripts"]
    } else {
        vec![directory]
    };
    let mut files = Vec::new();
    for directory in directories {
        for entry in walkdir::WalkDir::new(root().join(directory)).sort_by_file_name() {
            let path = entry.unwrap().into_path();
            if path.extension().is_some_and(|extension| extension == "rs") {
                files.push((name_of(&path), fs::read_to_string(&path).unwrap()));
            }
        }
    }
    assert!(!files.is_empty(), "{directory}");
    files
}

/// The pages below `docs`.
fn pages() -> Vec<PathBuf> {
    let entries = walkdir::WalkDir::new(root().join("docs")).sort_by_file_name().into_iter();
    let paths = entries.map(|entry| entry.unwrap().into_path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect()
}

/// The documents of the repository, without blocks of code.
fn documents() -> Vec<(String, String)> {
    let paths = pages().into_iter().chain(
        ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"]
            .map(|name| root().join(name)),
    );
    let documents = paths.map(|path| {
        let text = fs::read_to_string(&path).unwrap();
        let prose: Vec<&str> = text.split("```").step_by(2).collect();
        (name_of(&path), prose.join("\n"))
    });
    documents.collect()
}

/// The path of a file in the repository, with `/`.
fn name_of(path: &Path) -> String {
    path.strip_prefix(root()).unwrap().to_string_lossy().replace('\\', "/")
}

/// Files of other languages and directories of them, whose comments and docstrings are checked, too.
const OTHER_SOURCES: &[&str] = &[
    ".cargo",
    ".ci/run",
    ".github",
    "Cargo.toml",
    "action.yml",
    "clippy.toml",
    "dashboard",
    "fuzz/Cargo.toml",
    "install.sh",
    "packages",
    "pyproject.toml",
    "scripts",
    "src/prices",
    "tests/cases/check.py",
    "tests/cases/generate.py",
    "zensical.toml",
];

/// The comments of files in other languages than Rust: their paths, with `/`, and a line per line of a comment.
fn other_comments() -> Vec<(String, String)> {
    let is_written_by_hand = |entry: &walkdir::DirEntry| {
        let name = entry.file_name();
        !matches!(name.to_str(), Some("node_modules" | "dist" | "__pycache__" | ".ruff_cache" | ".pytest_cache"))
    };
    let entries = OTHER_SOURCES.iter().flat_map(|name| {
        walkdir::WalkDir::new(root().join(name)).sort_by_file_name().into_iter().filter_entry(is_written_by_hand)
    });
    let mut found = Vec::new();
    for path in entries.map(|entry| entry.unwrap().into_path()).filter(|path| path.is_file()) {
        let signs: &[&str] = match path.extension().and_then(|it| it.to_str()).unwrap_or_default() {
            "ts" | "tsx" | "mjs" | "js" | "css" => &["//", "/*", "*"],
            "py" | "sh" | "toml" | "yml" | "in" | "" => &["#"],
            _ => continue,
        };
        let text = fs::read_to_string(&path).unwrap();
        let is_python = path.extension().is_some_and(|it| it == "py");
        let docstrings = if is_python { docstrings(&text) } else { String::new() };
        found.push((name_of(&path), comments_with(&text, signs) + &docstrings));
    }
    assert!(found.len() > 40, "{}", found.len());
    found
}

/// The comments of a Rust file, a line per comment.
fn comments(text: &str) -> String {
    comments_with(text, &["//"])
}

/// The comments that begin with one of these signs; the first one also begins a comment after code.
fn comments_with(text: &str, signs: &[&str]) -> String {
    let after_code = format!(" {} ", signs[0]);
    let comment = |line: &str| {
        let trimmed = line.trim_start();
        let is_comment = signs.iter().any(|sign| trimmed.starts_with(sign));
        let start = if is_comment { Some(line.len() - trimmed.len()) } else { line.find(&after_code) };
        start.and_then(|start| line.get(start..)).map(|comment| format!("{comment}\n"))
    };
    text.lines().filter_map(comment).collect()
}

/// The docstrings of a Python file: the strings at its beginning and after lines that begin a block.
fn docstrings(text: &str) -> String {
    let (mut is_inside, mut may_begin) = (false, true);
    let mut found = String::new();
    for line in text.lines().map(str::trim) {
        let begins = !is_inside && may_begin && line.starts_with("\"\"\"");
        if is_inside || begins {
            found += line;
            found.push('\n');
        }
        // A docstring of one line begins and ends there.
        is_inside = (is_inside || begins) && line.matches("\"\"\"").count() != if begins { 2 } else { 1 };
        may_begin = line.ends_with(':') || may_begin && (line.is_empty() || line.starts_with('#'));
    }
    found
}
