//! The error messages of polars for people.

use polars::prelude::*;
use polars::sql::keywords::all_functions;

use crate::store::frames::{Described, FAILURES, computed_schema, names_of_tables, schema};

/// How a query reads the classes of failures.
const JOIN_FAILURES: &str = "JOIN failures USING (runtime, session_id)";

/// The error message of polars without the query plan, with the most similar name if a name does not exist.
pub(super) fn explained(error: &PolarsError) -> String {
    let text = error.to_string();
    let mut text = text.split("\\n\\nResolved plan").next().unwrap_or_default();
    text = text.split("\n\nResolved plan").next().unwrap_or_default();
    let quoted = |text: &str, before: &str, quote: char| -> Option<String> {
        let (_, rest) = text.split_once(before)?;
        Some(rest.split_once(quote)?.0.to_owned())
    };
    if let Some(name) =
        quoted(text, "unable to find column \"", '"').or_else(|| quoted(text, "no column named '", '\''))
    {
        let is_of_failures = |column: &Described| column.table == FAILURES && column.column == name;
        if name.starts_with("failure_") && computed_schema().iter().any(is_of_failures) {
            return format!("no column {name:?}; the table failures has it: {JOIN_FAILURES}");
        }
        // Of the columns that polars lists, or of all if it lists none.
        let listed: Vec<&str> = text
            .split_once("valid columns: [")
            .map_or_else(Vec::new, |(_, rest)| rest.split(['"', ',', ']', ' ']).filter(|it| !it.is_empty()).collect());
        let all = || schema().iter().map(|it| it.column).collect();
        let near = nearest(&name, if listed.is_empty() { all() } else { listed });
        return format!("no column {name:?}{near}");
    }
    if let Some(name) = quoted(text, "relation '", '\'') {
        return format!("no table {name:?}{}", nearest(&name, names_of_tables()));
    }
    if text.contains("cannot compare 'date/datetime/time'") {
        return "a time is compared with a text of another form: write DATE '2026-10-05' or TIMESTAMP '2026-10-05 08:00:00'".to_owned();
    }
    if let Some(name) = quoted(text, "unsupported function '", '\'') {
        return unknown_function(&name);
    }
    if text.contains("expression Tuple") {
        return "rows such as (a, b) are not supported: write a = c AND b = d, or join the tables".to_owned();
    }
    if text.contains("expression Exists") {
        return "EXISTS is supported as a condition of WHERE, joined to others by AND; elsewhere use IN, or LEFT JOIN"
            .to_owned();
    }
    let repeated = || quoted(text, "the name '", '\'').filter(|_| text.contains("is duplicate"));
    if let Some(name) = quoted(text, "duplicate output name '", '\'').or_else(repeated) {
        return format!("two columns of the result have the name {name:?}: name one of them with AS");
    }
    without_debug(text)
}

/// Functions that a rewrite replaces, and polars does not know.
const REWRITTEN: &[&str] = &[
    "current_date",
    "current_timestamp",
    "date_trunc",
    "datetrunc",
    "instr",
    "localtimestamp",
    "now",
    "percentile_cont",
];

/// The message about a name that no function has; `None` if one has it.
pub(super) fn no_function(name: &str) -> Option<String> {
    let name = name.to_ascii_lowercase();
    let is_known = REWRITTEN.contains(&name.as_str()) || all_functions().contains(&name.as_str());
    (!is_known).then(|| unknown_function(&name))
}

fn unknown_function(name: &str) -> String {
    let known = all_functions().into_iter().filter(|known| !known.eq_ignore_ascii_case(name));
    let near = near(name, known);
    let near = near.map_or_else(String::new, |near| format!("; did you mean {}?", near.to_uppercase()));
    format!("no function {}{near}", name.to_uppercase())
}

/// A message without syntax trees: what follows the beginning of one is left out.
fn without_debug(text: &str) -> String {
    const TREES: [&str; 9] =
        ["Identifier(", "Ident {", "Span(", "Subquery(", "Function(", "BinaryOp", "Value(", "Select(", "Query {"];
    let Some(tree) = TREES.iter().filter_map(|tree| text.find(tree)).min() else { return text.to_owned() };
    let words = text.get(..tree).unwrap_or_default().split(" { ").next().unwrap_or_default().trim_end();
    let words = words.trim_end_matches(['(', ':', ',', '{']).trim_end().trim_end_matches("found").trim_end();
    let words = words.trim_end_matches([',', ':']);
    format!("this part of the query is not supported: {words}")
}

/// `; did you mean …?`, or a list of all names.
pub fn nearest(name: &str, mut names: Vec<&str>) -> String {
    names.sort_unstable();
    names.dedup();
    // A column of that name is in another table.
    names.retain(|known| *known != name);
    match near(name, names.iter().copied()) {
        Some(near) => format!("; did you mean {near:?}?"),
        None if names.is_empty() => String::new(),
        None => format!("; there are: {}", names.join(", ")),
    }
}

/// The most similar of these names, if one is similar: a name that contains the text as a word, else one with similar letters.
pub fn near<'a>(name: &str, names: impl Iterator<Item = &'a str> + Clone) -> Option<&'a str> {
    let mut containing =
        names.clone().filter(|it| it.len() > name.len() && it.split(['_', '-', '.']).any(|word| word == name));
    if let (Some(only), None) = (containing.next(), containing.next()) {
        return Some(only);
    }
    names
        .map(|it| (strsim::jaro_winkler(&name.to_lowercase(), it), it))
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .filter(|it| it.0 > 0.75)
        .map(|it| it.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_itself_is_no_suggestion() {
        assert_eq!(nearest("trial", vec!["task", "trial", "trials"]), "; did you mean \"trials\"?");
        assert_eq!(nearest("trial", vec!["trial"]), "");
    }

    #[test]
    fn messages_contain_no_syntax_trees() {
        for (text, expected) in [
            (
                "Expected array expression, found Identifier(Ident { value: \"labels\", quote_style: None })",
                "this part of the query is not supported: Expected array expression",
            ),
            (
                "expression Exists { subquery: Query { with: None } } is not currently supported",
                "this part of the query is not supported: expression Exists",
            ),
            ("lengths don't match", "lengths don't match"),
        ] {
            assert_eq!(without_debug(text), expected);
        }
    }
}
