//! Splits a shell command into words. Parts that only the grammar can parse set a flag.

use std::borrow::Cow;

/// A word of a shell command, or what ends a command.
pub(super) enum Token<'a> {
    /// A word without its quotes.
    Word(Cow<'a, str>),
    /// `||`
    Or,
    /// `;`, `&`, `|`, `&&` or a newline.
    End,
}

/// Splits a command at blanks and operators, with regard to quotes, backslashes, comments and simple substitutions.
pub(super) struct Tokens<'a> {
    rest: &'a str,
    needs_grammar: bool,
}

impl<'a> Tokens<'a> {
    pub(super) fn new(command: &'a str) -> Self {
        Self { rest: command, needs_grammar: false }
    }

    /// Whether the whole command has been read.
    pub(super) fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    /// Whether a word that was read contains more than this understands: a subshell, a heredoc, nested substitutions.
    pub(super) fn needs_grammar(&self) -> bool {
        self.needs_grammar
    }

    /// A word that contains no quotes, escapes or substitutions: the usual case.
    fn plain_word(&mut self) -> Option<&'a str> {
        let is_special = |byte: u8| {
            matches!(
                byte,
                b' ' | b'\t' | b'\r' | b'\n' | b';' | b'&' | b'|' | b'\'' | b'"' | b'\\' | b'(' | b'`' | b'<'
            )
        };
        let end = self.rest.bytes().position(is_special).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at_checked(end)?;
        let ends_here = rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n', ';', '|']);
        (!word.is_empty() && ends_here).then(|| {
            self.rest = rest;
            word
        })
    }

    /// Any word.
    fn word(&mut self) -> String {
        let mut word = String::new();
        let mut quote = None;
        let mut is_escaped = false;
        let mut substitution_end = 0;
        let mut end = self.rest.len();
        for (at, character) in self.rest.char_indices() {
            match (quote, character) {
                _ if at < substitution_end => word.push(character),
                _ if is_escaped => {
                    is_escaped = false;
                    word.push(character);
                }
                (Some(open), _) if open == character => quote = None,
                (Some('\''), _) => word.push(character),
                (_, '\\') => is_escaped = true,
                (_, '`') => {
                    self.needs_grammar = true;
                    word.push(character);
                }
                (_, '(') if word.ends_with('$') => {
                    match self.rest.get(at..).and_then(simple_substitution) {
                        Some(length) => substitution_end = at + length,
                        None => self.needs_grammar = true,
                    }
                    word.push(character);
                }
                (Some(_), _) => word.push(character),
                (None, '\'' | '"') => quote = Some(character),
                // `2>&1`, `&>log`
                (None, '&') if at == 0 || word.ends_with('>') => word.push(character),
                (None, ' ' | '\t' | '\r' | '\n' | ';' | '&' | '|') => {
                    end = at;
                    break;
                }
                (None, _) => {
                    self.needs_grammar |= character == '(' || (character == '<' && word.ends_with('<'));
                    word.push(character);
                }
            }
        }
        self.rest = self.rest.get(end..).unwrap_or_default();
        word
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\r']);
        if self.rest.starts_with('#') {
            self.rest = self.rest.find('\n').and_then(|end| self.rest.get(end..)).unwrap_or_default();
        }
        let first = self.rest.chars().next()?;
        if matches!(first, ';' | '&' | '|' | '\n') && !self.rest.starts_with("&>") {
            let token = if self.rest.starts_with("||") { Token::Or } else { Token::End };
            self.rest = self.rest.trim_start_matches([';', '&', '|', '\n']);
            return Some(token);
        }
        let word = self.plain_word().map(Cow::Borrowed);
        Some(Token::Word(word.unwrap_or_else(|| Cow::Owned(self.word()))))
    }
}

/// The length of `(…)` at the start of a text, if it is certain without a grammar: only words and operators are inside.
fn simple_substitution(text: &str) -> Option<usize> {
    let (inside, _) = text.strip_prefix('(')?.split_once(')')?;
    let is_simple = !inside.contains(['(', '\'', '"', '`', '\\', '#', '\n']) && !inside.contains("<<");
    // `case x in a) …`
    (is_simple && !inside.contains("case")).then_some(inside.len() + 2)
}
