//! Splits a shell command into words and operators.

use std::borrow::Cow;

/// A word of a shell command, or what ends a command.
pub(super) enum Token<'a> {
    /// A word without its quotes.
    Word(Cow<'a, str>),
    /// `||`
    Or,
    /// `|` or `|&`
    Pipe,
    /// `;`, `&`, `&&` or a newline.
    End,
    /// `;;`, which ends a branch of `case`.
    EndOfBranch,
    /// `(` before a subshell or a pattern.
    Open,
    /// `)` after a subshell or a pattern.
    Close,
    /// `name()` before the body of a function.
    Function,
}

/// Splits a command at blanks and operators, with regard to quotes, backslashes, comments, heredocs and simple
/// substitutions.
pub(super) struct Tokens<'a> {
    rest: &'a str,
    /// The heredocs whose bodies begin after the line.
    heredocs: Vec<Heredoc<'a>>,
    /// Whether a substitution has no end. The others are not searched for theirs, so that the work stays linear.
    is_incomplete: bool,
}

struct Heredoc<'a> {
    /// The line after the body.
    end: &'a str,
    /// Whether that line may be indented by tabs: `<<-`.
    is_indented: bool,
}

impl<'a> Tokens<'a> {
    pub(super) fn new(command: &'a str) -> Self {
        Self { rest: command, heredocs: Vec::new(), is_incomplete: false }
    }

    /// A word that contains no quotes, escapes or substitutions: the usual case.
    fn plain_word(&mut self) -> Option<&'a str> {
        let (word, rest) = self.rest.split_at_checked(plain_length(self.rest, None))?;
        let ends_here = rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n', ';', '|', ')']);
        (!word.is_empty() && ends_here).then(|| {
            self.rest = rest;
            word
        })
    }

    /// Any word.
    fn word(&mut self) -> String {
        let mut word = String::new();
        let mut quote = None;
        // Parentheses in a word of another language, such as `f(x)`.
        let mut parentheses = 0;
        let length = self.rest.len();
        while let Some((text, rest)) = self.rest.split_at_checked(plain_length(self.rest, quote)) {
            word.push_str(text);
            self.rest = rest;
            let mut characters = rest.chars();
            let Some(special) = characters.next() else { break };
            match (quote, special) {
                (Some(open), _) if open == special => quote = None,
                (_, '\\') => {
                    // The line goes on after a backslash at its end.
                    word.extend(characters.next().filter(|escaped| *escaped != '\n'));
                }
                (_, '`' | '(') if special == '`' || word.ends_with('$') => {
                    let length = if special == '`' { backquoted } else { substitution };
                    match self.take(length) {
                        Some(text) => word.push_str(text),
                        // The command in it is one of its own.
                        None if quote.is_none() => {
                            self.rest = characters.as_str();
                            break;
                        }
                        None => {
                            word.push(special);
                            self.rest = characters.as_str();
                        }
                    }
                    continue;
                }
                // `a=(x y)`, `<(…)`, `@(a|b)`
                (None, '(') if word.ends_with(['=', '<', '>', '@', '!', '?', '*', '+']) => {
                    match self.take(substitution) {
                        Some(text) => word.push_str(text),
                        None => break,
                    }
                    continue;
                }
                (None, '(') if is_body(characters.as_str().strip_prefix(')')) => break,
                (None, '(') => {
                    parentheses += 1;
                    word.push(special);
                }
                (None, ')') if parentheses > 0 => {
                    parentheses -= 1;
                    word.push(special);
                }
                (None, '\'' | '"') => quote = Some(special),
                // `2>&1`, `&>log`
                (None, '&') if rest.len() == length || word.ends_with('>') => word.push(special),
                (None, ' ' | '\t' | '\r' | '\n' | ';' | '&' | '|' | ')') => break,
                (None, '<') if word.ends_with('<') && !word.ends_with("<<") => {
                    word.push(special);
                    let after = characters.as_str();
                    if !after.starts_with('<') {
                        self.heredocs.extend(Heredoc::of(after));
                    }
                }
                _ => word.push(special),
            }
            self.rest = characters.as_str();
        }
        word
    }

    /// Takes the substitution that begins here, if it has an end.
    fn take(&mut self, length: fn(&str) -> Option<usize>) -> Option<&'a str> {
        let length = Some(self.rest).filter(|_| !self.is_incomplete).and_then(length);
        self.is_incomplete |= length.is_none();
        let (text, rest) = self.rest.split_at_checked(length?)?;
        self.rest = rest;
        Some(text)
    }
}

/// Whether the text after `name()` is the body of a function.
fn is_body(after: Option<&str>) -> bool {
    after.is_some_and(|after| after.trim_start().starts_with(['{', '(']))
}

/// The length of the text before the next character that means something within these quotes, or outside of quotes.
fn plain_length(text: &str, quote: Option<char>) -> usize {
    let end = match quote {
        Some('\'') => memchr::memchr(b'\'', text.as_bytes()),
        Some(_) => text.bytes().position(|byte| matches!(byte, b'"' | b'\\' | b'`' | b'(')),
        None => text.bytes().position(is_special),
    };
    end.unwrap_or(text.len())
}

/// Whether a byte may mean something outside of quotes.
fn is_special(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | b';' | b'&' | b'|' | b'\'' | b'"' | b'\\' | b'(' | b')' | b'`' | b'<')
}

impl<'a> Heredoc<'a> {
    /// The heredoc whose delimiter is at the start of a text, after `<<`.
    fn of(text: &'a str) -> Option<Self> {
        let (is_indented, text) = text.strip_prefix('-').map_or((false, text), |text| (true, text));
        let text = text.trim_start_matches([' ', '\t']);
        let end = if let Some(quote) = text.chars().next().filter(|it| matches!(it, '\'' | '"')) {
            text.get(1..)?.split_once(quote)?.0
        } else {
            let text = text.strip_prefix('\\').unwrap_or(text);
            let is_end = |character: char| character.is_whitespace() || ";&|<>()'\"\\$`".contains(character);
            text.split(is_end).next()?
        };
        (!end.is_empty()).then_some(Self { end, is_indented })
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
            let after = self.rest.trim_start_matches([';', '&', '|', '\n']);
            let operators = self.rest.get(..self.rest.len() - after.len()).unwrap_or_default();
            let token = match first {
                '|' if operators.starts_with("||") => Token::Or,
                '|' => Token::Pipe,
                _ if operators.contains(";;") => Token::EndOfBranch,
                _ => Token::End,
            };
            match operators.find('\n') {
                Some(line_end) if !self.heredocs.is_empty() => {
                    self.rest = after_heredocs(self.rest.get(line_end + 1..).unwrap_or_default(), &mut self.heredocs);
                }
                _ => self.rest = after,
            }
            return Some(token);
        }
        if let Some(rest) = self.rest.strip_prefix("()").filter(|rest| is_body(Some(rest))) {
            self.rest = rest;
            return Some(Token::Function);
        }
        // `((…))` computes a number.
        if self.rest.starts_with("((") && self.take(|text| text.find("))").map(|end| end + 2)).is_some() {
            return Some(Token::End);
        }
        if let Some(rest) = self.rest.strip_prefix(['(', ')']) {
            self.rest = rest;
            return Some(if first == '(' { Token::Open } else { Token::Close });
        }
        let word = self.plain_word().map(Cow::Borrowed);
        Some(Token::Word(word.unwrap_or_else(|| Cow::Owned(self.word()))))
    }
}

/// The commands in the first level of `$(…)` and backquotes of a word.
pub(super) fn substitutions(word: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = word;
    while let Some(at) = rest.find(['`', '$']) {
        let (_, from) = rest.split_at(at);
        let is_arithmetic = from.starts_with("$((");
        let (open, length) = match from.as_bytes() {
            [b'`', ..] => (0, backquoted(from)),
            [b'$', b'(', ..] if !is_arithmetic => (1, from.get(1..).and_then(substitution)),
            _ => {
                rest = from.get(1..).unwrap_or_default();
                continue;
            }
        };
        // What follows an open one is uncertain.
        let Some(end) = length.map(|length| open + length) else { break };
        found.extend(from.get(open + 1..end - 1));
        rest = from.get(end..).unwrap_or_default();
    }
    found
}

/// The length of a command in backquotes at the start of a text. It ends at the next backquote without a backslash.
fn backquoted(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    let is_end = |(at, byte): &(usize, u8)| {
        let is_end = *at > 0 && *byte == b'`' && !is_escaped;
        is_escaped = *byte == b'\\' && !is_escaped;
        is_end
    };
    text.bytes().enumerate().find(is_end).map(|(at, _)| at + 1)
}

/// The length of `(…)` at the start of a text.
fn substitution(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut open: Vec<Construct> = Vec::new();
    let mut heredocs: Vec<Heredoc<'_>> = Vec::new();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let is_quoted = open.last() == Some(&Construct::Quotes);
        let is_case = open.last() == Some(&Construct::Case);
        match byte {
            b'\\' => at += 1,
            b'`' => at += backquoted(text.get(at..)?)? - 1,
            b'"' if is_quoted => drop(open.pop()),
            b'"' => open.push(Construct::Quotes),
            b'(' if !is_quoted || bytes.get(at.wrapping_sub(1)) == Some(&b'$') => open.push(Construct::Parentheses),
            _ if is_quoted => {}
            b'\'' => at += 1 + memchr::memchr(b'\'', bytes.get(at + 1..)?)?,
            // The end of a pattern.
            b')' if is_case => {}
            b')' => {
                open.pop();
                if open.is_empty() {
                    return Some(at + 1);
                }
            }
            // A comment, and not a number of parameters.
            b'#' if is_start(bytes, at) => at += memchr::memchr(b'\n', bytes.get(at..)?)? - 1,
            b'c' if is_keyword(bytes, at, b"case") => open.push(Construct::Case),
            b'e' if is_case && is_keyword(bytes, at, b"esac") => drop(open.pop()),
            b'<' if bytes.get(at + 1) == Some(&b'<') => {
                if bytes.get(at + 2) == Some(&b'<') {
                    at += 1;
                } else {
                    heredocs.push(Heredoc::of(text.get(at + 2..)?)?);
                }
                at += 1;
            }
            b'\n' if !heredocs.is_empty() => {
                at = text.len() - after_heredocs(text.get(at + 1..)?, &mut heredocs).len();
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// What a `)` in a substitution can belong to, and what can contain one.
#[derive(PartialEq)]
enum Construct {
    /// `(…)`
    Parentheses,
    /// `"…"`
    Quotes,
    /// `case … esac`
    Case,
}

/// Whether a word can begin at an index.
fn is_start(bytes: &[u8], at: usize) -> bool {
    bytes
        .get(at.wrapping_sub(1))
        .is_none_or(|before| matches!(before, b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'('))
}

/// Whether a keyword is at an index.
fn is_keyword(bytes: &[u8], at: usize, word: &[u8]) -> bool {
    let after = bytes.get(at..).and_then(|text| text.strip_prefix(word));
    let is_whole = |after: &[u8]| after.first().is_none_or(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_');
    is_start(bytes, at) && after.is_some_and(is_whole)
}

/// The text after the bodies of heredocs, which begin with it.
fn after_heredocs<'a>(text: &'a str, heredocs: &mut Vec<Heredoc<'_>>) -> &'a str {
    let mut rest = text;
    for heredoc in heredocs.drain(..) {
        loop {
            let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
            let line = if heredoc.is_indented { line.trim_start_matches('\t') } else { line };
            let is_end = line.trim_end_matches('\r') == heredoc.end;
            rest = after;
            if is_end || rest.is_empty() {
                break;
            }
        }
    }
    rest
}
