//! What a person writes: SQL up to a semicolon, the name of a built-in query, or a command.

use sqlparser::dialect::GenericDialect;
use sqlparser::tokenizer::{Token, Tokenizer};

use super::command::Command;

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Statement {
    Nothing,
    Command(Command),
    /// SQL, or the name of a built-in query.
    Sql(String),
}

impl Statement {
    /// The meaning of a complete text.
    ///
    /// # Errors
    /// A message, when it is a command that does not exist.
    pub fn of(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let without_end = text.trim_end_matches(';').trim_end();
        Ok(match without_end {
            "" => Self::Nothing,
            "quit" | "exit" => Self::Command(Command::Quit),
            "help" => Self::Command(Command::Help),
            _ if is_command(text) => Self::Command(Command::of(text)?),
            sql => Self::Sql(sql.to_owned()),
        })
    }

    /// Whether nothing has to follow: SQL ends with a semicolon, the others at the end of the line.
    pub fn is_complete(text: &str, is_query: impl Fn(&str) -> bool) -> bool {
        let text = text.trim();
        if text.is_empty() || is_command(text) || matches!(text, "quit" | "exit" | "help") || is_query(text) {
            return true;
        }
        // An error is a text or a comment that does not end yet.
        let Ok(tokens) = Tokenizer::new(&GenericDialect {}, text).tokenize() else { return false };
        let last = tokens.iter().rev().find(|token| !matches!(token, Token::Whitespace(_)));
        last.is_none_or(|token| *token == Token::SemiColon)
    }
}

fn is_command(text: &str) -> bool {
    text.starts_with(['.', '\\'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sql_ends_with_a_semicolon_outside_of_texts_and_comments() {
        for (text, expected) in [
            ("", true),
            (".tables", true),
            ("\\x", true),
            ("quit", true),
            ("weekly-cost", true),
            ("SELECT 1", false),
            ("SELECT 1;", true),
            ("SELECT 1; -- one", true),
            ("SELECT 1 -- one;", false),
            ("SELECT ';", false),
            ("SELECT ';';", true),
            ("SELECT 'it''s;", false),
            ("SELECT /* ; */", false),
            ("SELECT /* ;", false),
            ("SELECT\n1\n;\n", true),
            ("-- only a comment", true),
        ] {
            assert_eq!(Statement::is_complete(text, |name| name == "weekly-cost"), expected, "{text:?}");
        }
    }

    #[test]
    fn a_text_is_a_command_or_sql() {
        assert_eq!(Statement::of(" ; "), Ok(Statement::Nothing));
        assert_eq!(Statement::of("exit;"), Ok(Statement::Command(Command::Quit)));
        assert_eq!(Statement::of(" SELECT 1 ; "), Ok(Statement::Sql("SELECT 1".to_owned())));
        assert_eq!(Statement::of("weekly-cost;"), Ok(Statement::Sql("weekly-cost".to_owned())));
        assert!(Statement::of(".x y").is_ok() && Statement::of(".y").is_err());
    }
}
