//! SQL over the tables. A query reads these tables only, and changes nothing.

use std::ops::ControlFlow;

use polars::prelude::*;
use polars::sql::SQLContext;
use sqlparser::ast::{Expr as SqlExpr, FunctionArguments, Query, Statement, TableFactor, Visit, Visitor};
use sqlparser::dialect::GenericDialect;
use sqlparser::keywords::Keyword;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, Tokenizer};

use crate::store::frames::{Frames, TABLES, schema};

/// Why a query failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The SQL cannot be parsed.
    #[error("{0}")]
    Syntax(String),
    /// The query would do more than read the tables.
    #[error("{0}")]
    Refused(String),
    /// The query names a column or table that does not exist, or cannot be computed.
    #[error("{0}")]
    Wrong(String),
}

/// Runs one SQL query over the tables.
///
/// # Errors
/// When the SQL cannot be parsed, names a table or column that does not exist, or would read or write anything but the tables.
pub fn query(tables: Frames, sql: &str) -> Result<DataFrame, Error> {
    let sql = sql.trim().trim_end_matches(';');
    // Parser, planner and optimizer recurse, with stack frames of some kilobytes.
    let answer = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, || {
            harmless(sql)?;
            let mut context = SQLContext::new();
            for (name, frame) in tables {
                context.register(name, frame);
            }
            context.execute(sql).and_then(LazyFrame::collect).map_err(|it| Error::Wrong(explained(&it)))
        });
        thread.map(std::thread::ScopedJoinHandle::join)
    });
    match answer {
        Ok(Ok(answer)) => answer,
        Ok(Err(_)) => Err(Error::Wrong("the SQL engine failed on this query".to_owned())),
        Err(error) => Err(Error::Wrong(format!("no thread for the query: {error}"))),
    }
}

/// Stack of the thread of a query, in bytes. The system provides only the pages that are used.
const STACK: usize = 256 << 20;

/// A chain of operators is a tree as deep as the chain is long. The parser builds it without a limit, and polars recurses into it in
/// threads with small stacks: 20,000 operators end the program.
const MAX_OPERATORS: usize = 200;

/// Refuses functions that read files (`read_parquet('…')`), and statements other than queries.
fn harmless(sql: &str) -> Result<(), Error> {
    let syntax = |text: String| Error::Syntax(text.strip_prefix("sql parser error: ").unwrap_or(&text).to_owned());
    let tokens = Tokenizer::new(&GenericDialect, sql).tokenize().map_err(|it| syntax(it.to_string()))?;
    let is_operator = |token: &&Token| match token {
        Token::Word(word) => OPERATORS.contains(&word.keyword),
        Token::Whitespace(_) | Token::Number(..) | Token::Comma | Token::Period | Token::LParen | Token::RParen => {
            false
        }
        Token::SingleQuotedString(_) | Token::DoubleQuotedString(_) => false,
        _ => true,
    };
    let operators = tokens.iter().filter(is_operator).count();
    if operators > MAX_OPERATORS {
        return Err(Error::Refused(format!("{operators} operators are too many; {MAX_OPERATORS} are allowed")));
    }
    let mut parser = Parser::new(&GenericDialect).with_tokens(tokens);
    let statements = parser.parse_statements().map_err(|it| syntax(it.to_string()))?;
    let [statement] = &statements[..] else {
        return Err(Error::Syntax(format!("one statement at a time, not {}", statements.len())));
    };
    let is_question =
        matches!(statement, Statement::Query(_) | Statement::ShowTables { .. } | Statement::Explain { .. });
    if !is_question {
        return Err(Error::Refused("SQL can only read here: SELECT, WITH, SHOW TABLES, EXPLAIN".to_owned()));
    }
    match statement.visit(&mut Harm) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(refused) => Err(Error::Refused(refused)),
    }
}

/// Maximum length of padded texts: no table needs more, and a wrong length could take gigabytes in every row.
const MAX_PADDING: u64 = 10_000;

/// Functions whose second argument, a length, determines how much memory each row takes.
const PADDING: [&str; 2] = ["lpad", "rpad"];

fn no_table(what: impl std::fmt::Display) -> ControlFlow<String> {
    ControlFlow::Break(format!("{what} is refused: SQL can only read the tables {} here", TABLES.join(", ")))
}

/// Keywords that join two expressions or queries.
const OPERATORS: &[Keyword] = &[
    Keyword::AND,
    Keyword::OR,
    Keyword::NOT,
    Keyword::XOR,
    Keyword::IS,
    Keyword::LIKE,
    Keyword::ILIKE,
    Keyword::RLIKE,
    Keyword::REGEXP,
    Keyword::BETWEEN,
    Keyword::COLLATE,
    Keyword::AT,
    Keyword::DIV,
    Keyword::IN,
    Keyword::UNION,
    Keyword::INTERSECT,
    Keyword::EXCEPT,
    Keyword::MINUS,
    Keyword::JOIN,
];

/// Finds tables that do not belong to the archive, and functions that could take any amount of memory.
struct Harm;

impl Visitor for Harm {
    type Break = String;

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<String> {
        match factor {
            TableFactor::Table { name, args, .. } => {
                // The name of a file in place of a table: 'turns.parquet'.
                let is_file = name.0.iter().any(|it| it.as_ident().is_some_and(|it| it.quote_style == Some('\'')));
                if args.is_some() || is_file { no_table(name) } else { ControlFlow::Continue(()) }
            }
            TableFactor::Function { name, .. } => no_table(name),
            TableFactor::TableFunction { .. } => no_table(factor),
            _ => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<String> {
        // SELECT … INTO writes.
        match query.body.as_select().and_then(|it| it.into.as_ref()) {
            Some(into) => no_table(into),
            None => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_expr(&mut self, expression: &SqlExpr) -> ControlFlow<String> {
        let SqlExpr::Function(function) = expression else { return ControlFlow::Continue(()) };
        let name = function.name.0.last().and_then(|part| part.as_ident()).map(|name| name.value.to_lowercase());
        let Some(name) = name.filter(|name| PADDING.contains(&name.as_str())) else { return ControlFlow::Continue(()) };
        let FunctionArguments::List(arguments) = &function.args else { return ControlFlow::Continue(()) };
        let length = arguments.args.get(1).and_then(|length| length.to_string().parse::<u64>().ok());
        if length.is_some_and(|length| length <= MAX_PADDING) {
            return ControlFlow::Continue(());
        }
        ControlFlow::Break(format!("the length of {name} has to be a number of {MAX_PADDING} at most"))
    }
}

/// The error message of polars without the query plan, with the most similar name if a name does not exist.
fn explained(error: &PolarsError) -> String {
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
        // Of the columns that polars lists, or of all if it lists none.
        let listed: Vec<&str> = text
            .split_once("valid columns: [")
            .map_or_else(Vec::new, |(_, rest)| rest.split(['"', ',', ']', ' ']).filter(|it| !it.is_empty()).collect());
        let all = || schema().iter().map(|it| it.column).collect();
        let near = nearest(&name, if listed.is_empty() { all() } else { listed });
        return format!("no column {name:?}{near}");
    }
    if let Some(name) = quoted(text, "relation '", '\'') {
        return format!("no table {name:?}{}", nearest(&name, TABLES.to_vec()));
    }
    if text.contains("cannot compare 'date/datetime/time'") {
        return "a date is compared with a text: write DATE '2026-10-05' or TIMESTAMP '2026-10-05 08:00:00'".to_owned();
    }
    text.to_owned()
}

/// `; did you mean …?`, or a list of all names.
fn nearest(name: &str, mut names: Vec<&str>) -> String {
    names.sort_unstable();
    names.dedup();
    match near(name, names.iter().copied()) {
        Some(near) => format!("; did you mean {near:?}?"),
        None => format!("; there are: {}", names.join(", ")),
    }
}

/// The most similar of these names, if one is similar.
pub fn near<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    names
        .map(|it| (strsim::jaro_winkler(&name.to_lowercase(), it), it))
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .filter(|it| it.0 > 0.75)
        .map(|it| it.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(sql: &str) -> String {
        let frame = || df!("model" => ["a"], "input_tokens" => [1_i64]).unwrap().lazy();
        let tables = [("turns", frame()), ("sessions", frame())];
        query(tables.into_iter().collect(), sql).map_or_else(|it| it.to_string(), |it| format!("{} rows", it.height()))
    }

    #[test]
    fn similar_names_are_suggested() {
        assert_eq!(asked("SELECT modle FROM turns"), "no column \"modle\"; did you mean \"model\"?");
        assert_eq!(
            asked("SELECT t.inputtokens FROM turns t"),
            "no column \"inputtokens\"; did you mean \"input_tokens\"?"
        );
        assert_eq!(asked("SELECT 1 FROM session"), "no table \"session\"; did you mean \"sessions\"?");
        assert_eq!(asked("SELECT zzz FROM turns"), "no column \"zzz\"; there are: input_tokens, model");
    }

    /// `LPAD` to some gigabytes would end the program.
    #[test]
    fn texts_are_padded_to_a_length_that_fits_into_memory() {
        let refused = |name: &str| format!("the length of {name} has to be a number of 10000 at most");
        for length in ["4000000000", "10001", "input_tokens * 1000000000", "1e9", "-1", "CAST(4e9 AS BIGINT)"] {
            assert_eq!(asked(&format!("SELECT LPAD(model, {length}, 'x') FROM turns")), refused("lpad"), "{length}");
            let inner = format!("SELECT UPPER(\"rpad\"(model, {length}, 'x')) FROM turns");
            assert_eq!(asked(&inner), refused("rpad"), "{length}");
        }
        assert_eq!(asked("SELECT LPAD(model, 10000, 'x') FROM turns"), "1 rows");
        assert_eq!(asked("SELECT LPAD(model) FROM turns"), refused("lpad"));
    }

    #[test]
    fn sql_reads_the_tables_only() {
        for sql in [
            "SELECT * FROM read_parquet('/etc/passwd')",
            "SELECT * FROM turns JOIN read_csv('/etc/passwd') x ON true",
            "WITH x AS (SELECT * FROM scan_parquet('a')) SELECT * FROM x",
            "SELECT * FROM '/etc/passwd'",
            "SELECT (SELECT a FROM read_json('x')) FROM turns",
            "CREATE TABLE x AS SELECT 1",
            "DROP TABLE turns",
            "SELECT 1 INTO x",
            "SELECT * FROM turns, TABLE(read_csv('x'))",
        ] {
            let harmed = harmless(sql);
            assert!(matches!(harmed, Err(Error::Refused(_))), "{sql}: {harmed:?}");
        }
        assert_eq!(asked("WITH x AS (SELECT model FROM turns) SELECT * FROM x;"), "1 rows");
        assert_eq!(asked("SELECT 1; SELECT 2"), "one statement at a time, not 2");
    }
}
