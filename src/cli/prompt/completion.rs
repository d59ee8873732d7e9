//! The words that the beginning of a word may become: tables after FROM, columns of the tables that the text names, functions,
//! words of SQL, built-in queries and commands.

use agentlogs::store::frames::{all_columns, names_of_tables};

use super::command::{COMMANDS, modes};

/// Words of SQL that queries here need.
const SQL: &[&str] = &[
    "SELECT",
    "FROM",
    "WHERE",
    "GROUP BY",
    "HAVING",
    "ORDER BY",
    "LIMIT",
    "OFFSET",
    "JOIN",
    "LEFT JOIN",
    "USING",
    "ON",
    "AS",
    "AND",
    "OR",
    "NOT",
    "IN",
    "IS NULL",
    "IS NOT NULL",
    "LIKE",
    "BETWEEN",
    "CASE",
    "WHEN",
    "THEN",
    "ELSE",
    "END",
    "DISTINCT",
    "WITH",
    "UNION ALL",
    "ASC",
    "DESC",
    "OVER",
    "PARTITION BY",
    "WITHIN GROUP",
    "INTERVAL",
    "DATE",
    "TIMESTAMP",
    "TRUE",
    "FALSE",
    "NULL",
    "DESCRIBE",
    "EXPLAIN",
];

/// Functions. The dialect has more of them: docs/sql.md.
const FUNCTIONS: &[&str] = &[
    "ABS(",
    "AVG(",
    "CAST(",
    "COALESCE(",
    "CONCAT(",
    "COUNT(",
    "DATE_TRUNC(",
    "EXTRACT(",
    "FIRST(",
    "GREATEST(",
    "LAST(",
    "LEAST(",
    "LENGTH(",
    "LOWER(",
    "MAX(",
    "MEDIAN(",
    "MIN(",
    "NOW(",
    "NULLIF(",
    "PERCENTILE_CONT(",
    "QUANTILE_CONT(",
    "REPLACE(",
    "ROUND(",
    "ROW_NUMBER(",
    "STARTS_WITH(",
    "STDDEV(",
    "STRFTIME(",
    "SUBSTR(",
    "SUM(",
    "UPPER(",
];

/// Everything that a word can become.
#[derive(Debug, Clone)]
pub struct Words {
    /// Names of tables.
    tables: Vec<&'static str>,
    /// Columns with their tables and their meaning.
    columns: Vec<(&'static str, &'static str, &'static str)>,
    /// Built-in queries with their descriptions.
    queries: Vec<(&'static str, &'static str)>,
}

/// A word with what it is.
pub type Candidate = (String, String);

impl Words {
    /// Those of this program.
    pub fn new(queries: impl Iterator<Item = (&'static str, &'static str)>) -> Self {
        Self {
            tables: names_of_tables(),
            columns: all_columns().map(|column| (column.table, column.column, column.about)).collect(),
            queries: queries.collect(),
        }
    }

    /// Whether a text is the name of a built-in query.
    pub fn is_query(&self, name: &str) -> bool {
        self.queries.iter().any(|(query, _)| *query == name)
    }

    /// The start of the word before a position, and what it may become.
    pub fn candidates(&self, text: &str, position: usize) -> (usize, Vec<Candidate>) {
        let before = text.get(..position).unwrap_or(text);
        let is_first_word = !before.trim_start().contains(char::is_whitespace);
        let is_part = |char: char| char.is_alphanumeric() || char == '_' || (is_first_word && "-.\\".contains(char));
        let start = before.char_indices().rev().take_while(|(_, char)| is_part(*char)).last();
        let start = start.map_or(before.len(), |(at, _)| at);
        let (context, word) = before.split_at(start);
        let fits =
            |candidate: &str| candidate.get(..word.len()).is_some_and(|beginning| beginning.eq_ignore_ascii_case(word));
        let mut found = self.all(context, text, word);
        found.retain(|(candidate, _)| fits(candidate));
        (start, found)
    }

    /// What may follow a text; `whole` is all that is written, and `word` the beginning of the word.
    fn all(&self, context: &str, whole: &str, word: &str) -> Vec<Candidate> {
        let with = |about: &str, names: &[&str]| -> Vec<Candidate> {
            names.iter().map(|name| ((*name).to_owned(), about.to_owned())).collect()
        };
        let last = context.split_whitespace().next_back().unwrap_or_default();
        if context.trim().is_empty() {
            let commands = COMMANDS.iter().filter(|_| word.is_empty() || word.starts_with(['.', '\\']));
            let named = commands.chain(&self.queries).map(|(name, about)| ((*name).to_owned(), (*about).to_owned()));
            return with("", &["SELECT", "WITH", "DESCRIBE", "EXPLAIN"]).into_iter().chain(named).collect();
        }
        if context.trim_start().starts_with(['.', '\\']) {
            return match last {
                ".mode" | "\\mode" => modes().into_iter().map(|mode| (mode, String::new())).collect(),
                _ => with("table", &self.tables),
            };
        }
        // `t.` of an alias: columns of any table.
        if !context.ends_with('.') && ["from", "join", "describe"].iter().any(|it| last.eq_ignore_ascii_case(it)) {
            return with("table", &self.tables);
        }
        let mut found = self.columns_of(whole);
        if !context.ends_with('.') {
            found.extend(with("function", FUNCTIONS));
            found.extend(with("", SQL));
            found.extend(with("table", &self.tables));
        }
        found
    }

    /// The columns of the tables that a text names, or of all tables; each name once.
    fn columns_of(&self, text: &str) -> Vec<Candidate> {
        let is_part = |char: char| char.is_alphanumeric() || char == '_';
        let words: Vec<&str> = text.split(|char| !is_part(char)).collect();
        let is_named = |table: &str| words.iter().any(|word| word.eq_ignore_ascii_case(table));
        let names_table = self.tables.iter().any(|table| is_named(table));
        let mut found: Vec<Candidate> = Vec::new();
        for (table, column, about) in &self.columns {
            let is_new = !found.iter().any(|(name, _)| name == column);
            if is_new && (!names_table || is_named(table)) {
                found.push(((*column).to_owned(), (*about).to_owned()));
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        let words = Words::new([("weekly-cost-by-model", "Cost"), ("failing-tools", "Tools")].into_iter());
        let (start, found) = words.candidates(text, text.len());
        assert!(text.is_char_boundary(start));
        found.into_iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn words_are_completed_by_what_is_before_them() {
        assert_eq!(names("weekly-c"), ["weekly-cost-by-model"]);
        assert_eq!(names("SE"), ["SELECT"]);
        assert_eq!(names(".sch"), [".schema"]);
        assert_eq!(names("\\"), ["\\x"]);
        assert_eq!(names(".schema tu"), ["turns"]);
        assert_eq!(names(".mode c"), ["csv"]);
        assert_eq!(names("SELECT * FROM la"), ["labels"]);
        assert_eq!(names("SELECT * FROM turns JOIN sess"), ["sessions"]);
        assert_eq!(names("SELECT COALE"), ["COALESCE("]);
        assert_eq!(names("SELECT t.result_by"), ["result_bytes"]);
        assert_eq!(names("SELECT * FROM turns WHERE cost_u"), ["cost_usd"]);
        assert!(names("SELECT * FROM turns WHERE result_by").is_empty(), "a column of another table");
        assert!(names("SELECT * FROM tool_calls WHERE result_by").contains(&"result_bytes".to_owned()));
        assert!(names("SELECT 日").is_empty());
        assert!(names("").contains(&".tables".to_owned()));
    }

    #[test]
    fn each_function_and_word_is_named_once() {
        for list in [SQL, FUNCTIONS] {
            let unique: std::collections::BTreeSet<_> = list.iter().collect();
            assert_eq!(unique.len(), list.len());
        }
    }
}
