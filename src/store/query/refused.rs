//! What a query may not do: read files, write, take any amount of memory.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr as SqlExpr, FunctionArguments, Query, Statement, TableFactor, Visitor};
use sqlparser::dialect::GenericDialect;
use sqlparser::keywords::Keyword;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, Tokenizer};

use super::error::Error;
use super::visit::visit;
use crate::store::frames::names_of_tables;

/// A chain of operators is a tree as deep as the chain is long. The parser builds it without a limit, and polars recurses into it in
/// threads with small stacks: 20,000 operators end the program.
const MAX_OPERATORS: usize = 200;

/// Parses a statement. Refuses functions that read files (`read_parquet('…')`), and statements other than queries.
///
/// # Errors
/// When the SQL cannot be parsed, or would do more than read the tables.
pub(super) fn harmless(sql: &str) -> Result<Statement, Error> {
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
    let count = statements.len();
    let Ok([statement]) = <[Statement; 1]>::try_from(statements) else {
        return Err(Error::Syntax(match count {
            0 => "there is no statement".to_owned(),
            _ => format!("one statement at a time, not {count}"),
        }));
    };
    let is_question = matches!(
        statement,
        Statement::Query(_) | Statement::ShowTables { .. } | Statement::Explain { .. } | Statement::ExplainTable { .. }
    );
    if !is_question {
        return Err(Error::Refused("SQL can only read here: SELECT, WITH, SHOW TABLES, DESCRIBE, EXPLAIN".to_owned()));
    }
    match visit(&statement, &mut Harm) {
        ControlFlow::Continue(()) => Ok(statement),
        ControlFlow::Break(refused) => Err(Error::Refused(refused)),
    }
}

/// Maximum length of padded texts: no table needs more, and a wrong length could take gigabytes in every row.
const MAX_PADDING: u64 = 10_000;

/// Functions whose second argument, a length, determines how much memory each row takes.
const PADDING: [&str; 2] = ["lpad", "rpad"];

fn no_table(what: impl std::fmt::Display) -> ControlFlow<String> {
    ControlFlow::Break(format!("{what} is refused: SQL can only read the tables {} here", names_of_tables().join(", ")))
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
