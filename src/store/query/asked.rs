//! What a query asks for, before it is answered.

use sqlparser::ast::{ObjectName, ObjectNamePart, Statement};
use sqlparser::dialect::GenericDialect;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, Tokenizer};

use super::refused::harmless;
use super::visit::relations_of;

/// The statement; `None` if it cannot be parsed or is refused.
fn statement(sql: &str) -> Option<Statement> {
    harmless(sql.trim().trim_end_matches(';')).ok()
}

/// Whether a query names the number of its rows. Other statements do not need to: their answers are short.
pub fn has_limit(sql: &str) -> bool {
    match statement(sql) {
        Some(Statement::Query(query)) => query.limit_clause.is_some() || query.fetch.is_some(),
        _ => true,
    }
}

/// Whether a query reads a table of that name. One that cannot be parsed reads none.
pub fn reads(sql: &str, table: &str) -> bool {
    let is_table = |relation: &ObjectName| matches!(&relation.0[..], [ObjectNamePart::Identifier(name)] if name.value.eq_ignore_ascii_case(table));
    statement(sql).is_some_and(|statement| relations_of(&statement).iter().any(is_table))
}

/// Whether it is `SHOW TABLES`.
pub fn lists_tables(sql: &str) -> bool {
    matches!(statement(sql), Some(Statement::ShowTables { .. }))
}

/// Whether it is `DESCRIBE`.
pub fn describes(sql: &str) -> bool {
    matches!(statement(sql), Some(Statement::ExplainTable { .. }))
}

/// Whether a query names a column that it does not define itself.
pub fn names_column(sql: &str, column: &str) -> bool {
    let tokens = Tokenizer::new(&GenericDialect, sql).tokenize().unwrap_or_default();
    let mut is_named = false;
    let mut follows_as = false;
    for token in tokens {
        let Token::Word(word) = token else { continue };
        if word.value.eq_ignore_ascii_case(column) {
            if follows_as {
                return false;
            }
            is_named = true;
        }
        follows_as = word.keyword == Keyword::AS;
    }
    is_named
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_of_a_query_are_known() {
        for sql in [
            "SELECT * FROM labels",
            "select task\nfrom sessions s join LABELS l using (session_id)",
            "FROM \"labels\"",
            "SELECT * FROM \"labels\";",
            "SELECT l.task FROM sessions AS s, labels AS l",
            "EXPLAIN SELECT 1 FROM sessions WHERE session_id IN (SELECT session_id FROM labels)",
            "DESCRIBE labels",
        ] {
            assert!(reads(sql, "labels"), "{sql}");
        }
        for sql in ["SELECT labels FROM sessions", "SELECT * FROM labels_of_me", "SELECT fromlabels", "", "labels"] {
            assert!(!reads(sql, "labels"), "{sql}");
        }
        assert!(describes("desc labels;") && !describes("SELECT 1") && !describes("EXPLAIN SELECT 1"));
        assert!(lists_tables("show tables;") && !lists_tables("DESCRIBE labels"));
    }

    #[test]
    fn the_columns_of_a_query_are_known() {
        for sql in
            ["SELECT x FROM a", "SELECT a.X, y FROM a", "SELECT 1 FROM a WHERE \"x\" = 1", "SELECT x AS y FROM a"]
        {
            assert!(names_column(sql, "x"), "{sql}");
        }
        for sql in ["SELECT y AS x FROM a ORDER BY x", "SELECT 'x', xx FROM a -- x", "SELECT '", ""] {
            assert!(!names_column(sql, "x"), "{sql}");
        }
    }

    #[test]
    fn a_query_may_name_the_number_of_its_rows() {
        for (sql, expected) in [
            ("SELECT 1", false),
            ("SELECT * FROM (SELECT 1 LIMIT 3)", false),
            ("SELECT 1 ORDER BY 1 LIMIT 3;", true),
            ("WITH x AS (SELECT 1) SELECT * FROM x LIMIT 3", true),
            ("DESCRIBE turns", true),
            ("EXPLAIN SELECT 1", true),
        ] {
            assert_eq!(has_limit(sql), expected, "{sql}");
        }
    }
}
