//! File changes that the arguments of a call show by themselves, for logs whose results have no diff.

use serde::Deserialize;

use super::at::At;
use super::builder::Builder;
use super::changed_lines::{ChangedLines, Sketch};
use super::tools;
use super::tools::Arguments;
use crate::base::split;
use crate::json::Raw;
use crate::json::fields::{Count, Flag, Text};
use crate::model::session::Operation;

/// Adds the file that an edit or a write names in its arguments. For an edit, `operation` is what it does to the file, and
/// the lines are those of [`edited_lines`]. A write contains neither: the log does not show whether the file existed.
pub fn add_named_file(
    builder: &mut Builder,
    call: usize,
    arguments: &Arguments<'_>,
    raw: Raw<'_>,
    operation: Option<Operation>,
    at: At,
) {
    let Some(path) = arguments.file() else { return };
    match builder.session.tool_calls[call].category.as_ref() {
        "edit" => drop(builder.change(call, path, operation, edited_lines(raw), at)),
        "write" => {
            let change = builder.change(call, path, None, None, at);
            builder.sketch(change, arguments.written().map(Sketch::of_text));
        }
        _ => {}
    }
}

/// The lines that an edit or a write adds, as far as its arguments show them.
pub fn sketch_in_arguments(arguments: &Arguments<'_>, raw: Raw<'_>) -> Option<Sketch> {
    arguments.written().map(Sketch::of_text).or_else(|| edited_lines(raw)?.sketch)
}

/// The texts of an edit, under names that [`tools::lines_in_arguments`] does not know, and the options that make an edit
/// replace a text several times.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Edit<'a> {
    old_str: Text<'a>,
    new_str: Text<'a>,
    /// SEARCH/REPLACE blocks.
    diff: Text<'a>,
    replace_all: Flag,
    change_all: Flag,
    allow_multiple: Flag,
    expected_replacements: Count,
}

/// Lines added and removed, as the arguments of an edit show them. `None` if they contain no texts to compare, or if a text
/// may be replaced several times.
pub fn edited_lines(arguments: Raw<'_>) -> Option<ChangedLines> {
    let edit: Edit<'_> = arguments.read();
    let is_repeated = [edit.replace_all, edit.change_all, edit.allow_multiple].iter().any(|flag| flag.is_true())
        || edit.expected_replacements.get().is_some_and(|count| count > 1);
    if is_repeated {
        return None;
    }
    tools::lines_in_arguments(arguments)
        .or_else(|| tools::changed_lines(edit.old_str.0.as_deref()?, edit.new_str.0.as_deref()?))
        .or_else(|| search_replace_lines(edit.diff.some()?))
}

/// Lines added and removed by SEARCH/REPLACE blocks, as Cline and its forks write them:
///
/// ```text
/// <<<<<<< SEARCH       or  ------- SEARCH
/// :start_line:12       in Roo Code, with a line of dashes after it
/// -------
/// the old text
/// =======
/// the new text
/// >>>>>>> REPLACE      or  +++++++ REPLACE
/// ```
fn search_replace_lines(diff: &str) -> Option<ChangedLines> {
    /// The part of a block that the current line belongs to.
    enum Part {
        Outside,
        Old,
        New,
    }
    let (mut old, mut new) = (Vec::new(), Vec::new());
    let mut part = Part::Outside;
    let mut sum: Option<ChangedLines> = None;
    for line in split::lines(diff) {
        match part {
            Part::Outside if matches!(line, "<<<<<<< SEARCH" | "------- SEARCH") => part = Part::Old,
            Part::Outside => {}
            Part::Old if line == "=======" => part = Part::New,
            Part::Old if line == "-------" && old.iter().all(|it: &&str| it.starts_with(':')) => old.clear(),
            Part::Old => old.push(line),
            Part::New if matches!(line, ">>>>>>> REPLACE" | "+++++++ REPLACE") => {
                let lines = tools::changed_lines(&old.join("\n"), &new.join("\n"))?;
                sum = Some(sum.map_or(lines, |before| before.plus(lines)));
                old.clear();
                new.clear();
                part = Part::Outside;
            }
            Part::New => new.push(line),
        }
    }
    // A block without its end was cut.
    sum.filter(|_| matches!(part, Part::Outside))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_show_the_lines_of_an_edit() {
        let block = "<<<<<<< SEARCH\\na\\nb\\n=======\\na\\nc\\nd\\n>>>>>>> REPLACE\\n";
        for (arguments, expected) in [
            (r#"{"old_string":"a\nb","new_string":"a\nc\nd"}"#.to_owned(), Some((2, 1))),
            (r#"{"old_str":"a\nb","new_str":"a\nc\nd"}"#.to_owned(), Some((2, 1))),
            (r#"{"old_str":"a","new_str":""}"#.to_owned(), Some((0, 1))),
            (r#"{"edits":[{"oldText":"a","newText":"b"},{"oldText":"c","newText":"c\nd"}]}"#.to_owned(), Some((2, 1))),
            (format!(r#"{{"diff":"{block}"}}"#), Some((2, 1))),
            (format!(r#"{{"diff":"{block}{block}"}}"#), Some((4, 2))),
            (r#"{"diff":"------- SEARCH\na\n=======\nb\n+++++++ REPLACE"}"#.to_owned(), Some((1, 1))),
            (
                r#"{"diff":"<<<<<<< SEARCH\n:start_line:3\n-------\na\n=======\n>>>>>>> REPLACE"}"#.to_owned(),
                Some((0, 1)),
            ),
            (r#"{"diff":"<<<<<<< SEARCH\na\n=======\nb"}"#.to_owned(), None),
            (r#"{"old_str":"a","new_str":"b","change_all":true}"#.to_owned(), None),
            (r#"{"old_string":"a","new_string":"b","expected_replacements":2}"#.to_owned(), None),
            (r#"{"old_string":"a","new_string":"b","expected_replacements":1}"#.to_owned(), Some((1, 1))),
            (r#"{"old_str":"a"}"#.to_owned(), None),
            (r#"{"path":"a"}"#.to_owned(), None),
            (String::new(), None),
        ] {
            let lines = edited_lines(Raw(arguments.as_bytes()));
            assert_eq!(lines.map(ChangedLines::counts), expected, "{arguments}");
        }
    }
}
