//! Skips parts of a command that are not commands of their own: patterns, bodies of functions, options.

use std::iter::Peekable;

use super::words::Token;

/// Goes to the end of a command.
pub(super) fn skip_command<'a>(tokens: &mut Peekable<impl Iterator<Item = Token<'a>>>) {
    while tokens.next_if(|it| matches!(it, Token::Word(_))).is_some() {}
}

/// Skips the rest of `cd …`. In `cd … || exit 1` and `cd … || { echo no; exit 1; }` the alternative is not the command.
pub(super) fn skip_change_of_directory<'a>(tokens: &mut Peekable<impl Iterator<Item = Token<'a>>>) {
    skip_command(tokens);
    while tokens.next_if(|it| matches!(it, Token::Or)).is_some() {
        match tokens.peek() {
            Some(Token::Word(word)) if word == "{" => skip_group(tokens),
            Some(Token::Open) => skip_group(tokens),
            _ => skip_command(tokens),
        }
    }
}

/// Skips the pattern of a branch of `case`, unless that was the last branch.
pub(super) fn skip_pattern<'a>(tokens: &mut Peekable<impl Iterator<Item = Token<'a>>>) {
    while tokens.next_if(|it| matches!(it, Token::End | Token::Open)).is_some() {}
    if !matches!(tokens.peek(), Some(Token::Word(word)) if word == "esac") {
        while tokens.next().is_some_and(|it| !matches!(it, Token::Close)) {}
    }
}

/// Skips the body of a function.
pub(super) fn skip_body<'a>(tokens: &mut Peekable<impl Iterator<Item = Token<'a>>>) {
    while tokens.next_if(|it| matches!(it, Token::End)).is_some() {}
    skip_group(tokens);
}

/// Skips `{ … }` or `(…)`, with those within it.
pub(super) fn skip_group<'a>(tokens: &mut Peekable<impl Iterator<Item = Token<'a>>>) {
    let mut depth = 0_u32;
    for token in tokens {
        match token {
            Token::Open => depth += 1,
            Token::Word(word) if word == "{" => depth += 1,
            Token::Close => depth = depth.saturating_sub(1),
            Token::Word(word) if word == "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return;
        }
    }
}

/// The options whose value is the next word: the letters of short ones, and long ones.
pub(super) fn options_with_values(program: &str) -> (&'static str, &'static [&'static str]) {
    match program {
        "sudo" => (
            "ugpCDRTUrth",
            &["--user", "--group", "--prompt", "--chdir", "--chroot", "--host", "--role", "--type", "--other-user"],
        ),
        "env" => ("uC", &["--unset", "--chdir"]),
        "timeout" | "gtimeout" => ("sk", &["--signal", "--kill-after"]),
        "nice" => ("n", &["--adjustment"]),
        "time" => ("fo", &["--format", "--output"]),
        "exec" => ("a", &[]),
        "bash" | "sh" | "zsh" | "dash" => ("oO", &["--rcfile", "--init-file"]),
        _ => ("", &[]),
    }
}

/// Skips options and their values. Returns whether `-c` was among them.
pub(super) fn skip_options<'a>(
    tokens: &mut Peekable<impl Iterator<Item = Token<'a>>>,
    (letters, names): (&str, &[&str]),
) -> bool {
    let mut has_c = false;
    while let Some(Token::Word(option)) =
        tokens.next_if(|it| matches!(it, Token::Word(word) if word.len() > 1 && word.starts_with(['-', '+'])))
    {
        if option == "--" {
            break;
        }
        let takes_value = if option.starts_with("--") {
            names.contains(&option.as_ref())
        } else {
            // The rest of the word is the value of the letter.
            has_c |= option.contains('c');
            option.find(|it| letters.contains(it)).is_some_and(|at| at + 1 == option.len())
        };
        if takes_value {
            tokens.next_if(|it| matches!(it, Token::Word(_)));
        }
    }
    has_c
}
