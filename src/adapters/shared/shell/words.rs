//! Splits a shell command into words. Parts that only the grammar can parse set a flag.

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
}

/// Splits a command at blanks and operators, with regard to quotes, backslashes, comments, heredocs and simple
/// substitutions.
pub(super) struct Tokens<'a> {
    rest: &'a str,
    /// The heredocs whose bodies begin after the line.
    heredocs: Vec<Heredoc<'a>>,
    needs_grammar: bool,
}

struct Heredoc<'a> {
    /// The line after the body.
    end: &'a str,
    /// Whether that line may be indented by tabs: `<<-`.
    is_indented: bool,
}

impl<'a> Tokens<'a> {
    pub(super) fn new(command: &'a str) -> Self {
        Self { rest: command, heredocs: Vec::new(), needs_grammar: false }
    }

    /// Whether a word that was read contains more than this understands: a subshell, nested substitutions.
    pub(super) fn needs_grammar(&self) -> bool {
        self.needs_grammar
    }

    /// A word that contains no quotes, escapes or substitutions: the usual case.
    fn plain_word(&mut self) -> Option<&'a str> {
        let (word, rest) = self.rest.split_at_checked(plain_length(self.rest, None))?;
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
                    // Once one is uncertain, the others need not be known.
                    let length = if special == '`' { backquoted } else { substitution };
                    let known = Some(rest).filter(|_| !self.needs_grammar).and_then(length);
                    if let Some((text, after)) = known.and_then(|length| rest.split_at_checked(length)) {
                        word.push_str(text);
                        characters = after.chars();
                    } else {
                        self.needs_grammar = true;
                        word.push(special);
                    }
                }
                (None, '\'' | '"') => quote = Some(special),
                // `2>&1`, `&>log`
                (None, '&') if rest.len() == length || word.ends_with('>') => word.push(special),
                (None, ' ' | '\t' | '\r' | '\n' | ';' | '&' | '|') => break,
                (None, '<') if word.ends_with('<') && !word.ends_with("<<") => {
                    word.push(special);
                    let after = characters.as_str();
                    if !after.starts_with('<') {
                        match Heredoc::of(after) {
                            Some(heredoc) => self.heredocs.push(heredoc),
                            None => self.needs_grammar = true,
                        }
                    }
                }
                _ => {
                    self.needs_grammar |= special == '(' && quote.is_none();
                    word.push(special);
                }
            }
            self.rest = characters.as_str();
        }
        word
    }
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
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | b';' | b'&' | b'|' | b'\'' | b'"' | b'\\' | b'(' | b'`' | b'<')
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
            let token = match first {
                '|' if self.rest.starts_with("||") => Token::Or,
                '|' => Token::Pipe,
                _ => Token::End,
            };
            let after = self.rest.trim_start_matches([';', '&', '|', '\n']);
            let operators = self.rest.get(..self.rest.len() - after.len()).unwrap_or_default();
            match operators.find('\n') {
                Some(line_end) if !self.heredocs.is_empty() => {
                    self.rest = after_heredocs(self.rest.get(line_end + 1..).unwrap_or_default(), &mut self.heredocs);
                }
                _ => self.rest = after,
            }
            return Some(token);
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

/// The length of `(…)` at the start of a text, if it is certain without a grammar.
fn substitution(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    // Whether each open construct is `"…"` instead of `(…)`.
    let mut open: Vec<bool> = Vec::new();
    let mut heredocs: Vec<Heredoc<'_>> = Vec::new();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let is_quoted = open.last() == Some(&true);
        match byte {
            b'\\' => at += 1,
            b'`' => return None,
            b'"' if is_quoted => drop(open.pop()),
            b'"' => open.push(true),
            b'(' if !is_quoted || bytes.get(at.wrapping_sub(1)) == Some(&b'$') => open.push(false),
            _ if is_quoted => {}
            b'\'' => at += 1 + memchr::memchr(b'\'', bytes.get(at + 1..)?)?,
            b')' => {
                open.pop();
                if open.is_empty() {
                    return Some(at + 1);
                }
            }
            // A comment, or a number of parameters.
            b'#' => return None,
            // `case x in a) …`
            b'c' if bytes.get(at..)?.starts_with(b"case") => return None,
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
