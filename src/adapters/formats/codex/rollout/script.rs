//! The scripts of code mode: JavaScript that calls tools, as in `await tools.exec_command({cmd: "make"})`.
//!
//! Only words, texts and signs are read, not the grammar: enough for the names of the tools and the texts in their arguments. A text
//! that the script computes is unknown.

use std::borrow::Cow;

use super::shell_output::PATCH;
use crate::adapters::shared::tools;
use crate::base::split::base_name;

/// What a script calls, in the order of its text.
#[derive(Debug, Default)]
pub(super) struct Script {
    pub(super) calls: Vec<ScriptCall>,
    /// Patches, wherever the script contains them.
    pub(super) patches: Vec<String>,
}

/// A call within a script.
#[derive(Debug)]
pub(super) struct ScriptCall {
    pub(super) tool: String,
    /// The command of a shell call, if it is a text.
    pub(super) command: Option<String>,
    /// The file that the call names.
    path: Option<String>,
}

/// The most calls of a script that are read: the arguments of a call that is not closed are the rest of the script.
const MOST_CALLS: usize = 64;
/// The most members of a call whose values are searched, and the most words of a command.
const MOST_MEMBERS: usize = 16;
const MOST_WORDS: usize = 256;

impl Script {
    pub(super) fn read(source: &str) -> Self {
        let tokens = tokens(source);
        let mut calls = Vec::new();
        let starts = (0..tokens.len()).filter_map(|at| tokens.get(at..).and_then(call_at));
        for (tool, arguments) in starts.take(MOST_CALLS) {
            let fields = Fields { all: &tokens, own: arguments };
            calls.push(ScriptCall {
                tool: tool.to_owned(),
                command: (tools::category(tool) == "shell").then(|| fields.text(&COMMANDS)).flatten(),
                path: fields.text(&["path", "file_path"]),
            });
        }
        let mut script = Self { calls, patches: Vec::new() };
        script.find_commands_elsewhere(&tokens);
        let texts = tokens.into_iter().filter_map(Token::into_text);
        script.patches = texts.filter(|it| it.contains(PATCH)).map(Cow::into_owned).collect();
        script
    }

    /// A script may contain its commands in a list, which a loop reads.
    fn find_commands_elsewhere(&mut self, tokens: &[Token<'_>]) {
        if self.commands().next().is_some() {
            return;
        }
        let Some(call) = self.calls.iter_mut().find(|it| runs_command(&it.tool)) else { return };
        let named = Fields { all: &[], own: tokens }.texts(&COMMANDS, usize::MAX);
        let found = if named.is_empty() { texts_in_lists(tokens) } else { named };
        call.command = Some(found.join("\n")).filter(|it| !it.is_empty());
    }

    /// The commands that it runs.
    pub(super) fn commands(&self) -> impl Iterator<Item = &str> {
        self.calls.iter().filter_map(|it| it.command.as_deref())
    }

    /// The category of the whole: a script that runs a command is a shell call, whatever else it calls.
    pub(super) fn category(&self) -> &'static str {
        let categories = || self.calls.iter().map(|it| category_of(&it.tool));
        if categories().any(|it| it == "shell") { "shell" } else { categories().next().unwrap_or("other") }
    }

    /// The server of the first MCP tool.
    pub(super) fn server(&self) -> Option<&str> {
        self.calls.iter().find_map(|it| tools::mcp_server(&it.tool))
    }

    /// The file that the first call names.
    pub(super) fn path(&self) -> Option<String> {
        let patched = || self.patches.iter().find_map(|it| tools::patched_files(it).into_iter().next());
        self.calls.first().and_then(|it| it.path.clone()).or_else(|| patched().map(|it| it.path))
    }
}

const COMMANDS: [&str; 2] = ["cmd", "command"];

fn runs_command(tool: &str) -> bool {
    tools::category(tool) == "shell" && !tools::continues_command(tool)
}

/// The category of a tool in a script, whose name may begin with its namespace.
fn category_of(tool: &str) -> &'static str {
    if tools::mcp_server(tool).is_some() {
        return "mcp";
    }
    match (tools::category(tool), tool.split_once("__")) {
        ("other", Some(("web", _))) => "web",
        ("other", Some((_, name))) => tools::category(name),
        (known, _) => known,
    }
}

/// A part of a script. White space and comments are between them.
#[derive(Debug)]
enum Token<'a> {
    Word(&'a str),
    Text(Cow<'a, str>),
    Sign(u8),
}

impl<'a> Token<'a> {
    fn is(&self, sign: u8) -> bool {
        matches!(self, Self::Sign(it) if *it == sign)
    }

    fn into_text(self) -> Option<Cow<'a, str>> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }
}

/// The tool that is called here, and the tokens after its opening bracket.
fn call_at<'t>(tokens: &'t [Token<'_>]) -> Option<(&'t str, &'t [Token<'t>])> {
    match tokens {
        [Token::Word("tools"), Token::Sign(b'.'), Token::Word(tool), Token::Sign(b'('), rest @ ..] => {
            Some((tool, rest))
        }
        [
            Token::Word("tools"),
            Token::Sign(b'['),
            Token::Text(tool),
            Token::Sign(b']'),
            Token::Sign(b'('),
            rest @ ..,
        ] => Some((tool, rest)),
        _ => None,
    }
}

/// The arguments of a call, and the script that may define their values.
struct Fields<'t, 's> {
    all: &'t [Token<'s>],
    own: &'t [Token<'s>],
}

impl Fields<'_, '_> {
    /// The text of the first member with one of these names, in the arguments or in the object that they name.
    fn text(&self, names: &[&str]) -> Option<String> {
        self.texts(names, MOST_MEMBERS).into_iter().next().or_else(|| {
            let Some(Token::Word(object)) = self.own.first() else { return None };
            let fields = Fields { all: self.all, own: value_of(self.all, object)? };
            fields.texts(names, MOST_MEMBERS).into_iter().next()
        })
    }

    /// The texts of the first members with one of these names.
    fn texts(&self, names: &[&str], most: usize) -> Vec<String> {
        let (mut depth, mut seen) = (0_i64, 0);
        let mut found = Vec::new();
        for (at, token) in self.own.iter().enumerate() {
            match token {
                Token::Sign(b'(' | b'{' | b'[') => depth += 1,
                Token::Sign(b')' | b'}' | b']') => depth -= 1,
                _ => {}
            }
            if depth < 0 {
                break;
            }
            let name = match token {
                Token::Word(name) => name,
                Token::Text(name) => name.as_ref(),
                Token::Sign(_) => continue,
            };
            if names.contains(&name) {
                seen += 1;
                if seen > most {
                    break;
                }
                found.extend(self.member(at, name));
            }
        }
        found
    }

    /// The text of the member whose name is at `at`: `name: "…"`, `name: VARIABLE`, or only `name`.
    fn member(&self, at: usize, name: &str) -> Option<String> {
        let is_after = |signs: &[u8]| {
            at.checked_sub(1)
                .is_none_or(|it| signs.iter().any(|sign| self.own.get(it).is_some_and(|token| token.is(*sign))))
        };
        match self.own.get(at + 1)? {
            Token::Sign(b':') => text_at(self.all, self.own.get(at + 2..)?),
            Token::Sign(b',' | b'}') if is_after(b"{,") => text_at(self.all, value_of(self.all, name)?),
            _ => None,
        }
    }
}

/// The text that begins here: a text, a list of words, or a variable.
fn text_at(all: &[Token<'_>], tokens: &[Token<'_>]) -> Option<String> {
    match tokens {
        [Token::Text(text), ..]
        | [Token::Word("String"), Token::Sign(b'.'), Token::Word("raw"), Token::Text(text), ..] => {
            Some(text.to_string())
        }
        [Token::Sign(b'['), rest @ ..] => {
            let words = rest.iter().take(MOST_WORDS).take_while(|it| !it.is(b']'));
            let words: Vec<_> =
                words.filter_map(|it| if let Token::Text(it) = it { Some(it.as_ref()) } else { None }).collect();
            command_of_words(&words)
        }
        [Token::Word(variable), ..] => match value_of(all, variable)? {
            value @ [Token::Text(_) | Token::Word("String"), ..] => text_at(&[], value),
            _ => None,
        },
        _ => None,
    }
}

/// The command of words such as `bash -lc COMMAND`.
pub(super) fn command_of_words(words: &[&str]) -> Option<String> {
    match words {
        [] => None,
        [program, .., option, command] if option.starts_with('-') && is_shell(program) => Some((*command).to_owned()),
        _ => Some(words.join(" ")),
    }
}

fn is_shell(program: &str) -> bool {
    let name = base_name(program);
    let name = name.strip_suffix(".exe").unwrap_or(name);
    matches!(name, "bash" | "sh" | "zsh" | "dash" | "fish" | "pwsh" | "powershell")
}

/// The value that is assigned to a variable.
fn value_of<'t, 's>(tokens: &'t [Token<'s>], variable: &str) -> Option<&'t [Token<'s>]> {
    let is_assigned = |at: &usize| matches!(tokens.get(*at..), Some([Token::Word(it), Token::Sign(b'='), next, ..]) if *it == variable && !next.is(b'='));
    // The value of an object begins after its bracket.
    let at = (0..tokens.len()).find(is_assigned)? + 2;
    tokens.get(if tokens.get(at)?.is(b'{') { at + 1 } else { at }..)
}

/// The texts that are directly in lists.
fn texts_in_lists(tokens: &[Token<'_>]) -> Vec<String> {
    let mut open = Vec::new();
    let mut found = Vec::new();
    for token in tokens {
        match token {
            Token::Sign(sign @ (b'(' | b'{' | b'[')) => open.push(*sign),
            Token::Sign(b')' | b'}' | b']') => drop(open.pop()),
            Token::Text(text) if open.last() == Some(&b'[') => found.push(text.to_string()),
            _ => {}
        }
    }
    found
}

fn tokens(source: &str) -> Vec<Token<'_>> {
    let bytes = source.as_bytes();
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let rest = bytes.get(at..).unwrap_or_default();
        if rest.starts_with(b"//") {
            at += memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        } else if rest.starts_with(b"/*") {
            at += memchr::memmem::find(rest, b"*/").map_or(rest.len(), |end| end + 2);
        } else if matches!(byte, b'"' | b'\'' | b'`') {
            let end = end_of_text(bytes, at);
            let inside = source.get(at + 1..end).unwrap_or_default();
            let is_raw = matches!(tokens[..], [.., Token::Word("String"), Token::Sign(b'.'), Token::Word("raw")]);
            tokens.push(Token::Text(if is_raw { Cow::Borrowed(inside) } else { unescape(inside) }));
            at = end + 1;
        } else if is_word(byte) {
            let length = rest.iter().take_while(|it| is_word(**it)).count();
            tokens.extend(source.get(at..at + length).map(Token::Word));
            at += length;
        } else {
            if byte.is_ascii_punctuation() {
                tokens.push(Token::Sign(byte));
            }
            at += 1;
        }
    }
    tokens
}

const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$')
}

/// Where the closing quote of the text at `start` is. Expressions in templates belong to the text.
fn end_of_text(bytes: &[u8], start: usize) -> usize {
    let quote = bytes.get(start).copied().unwrap_or_default();
    let mut at = start + 1;
    let mut depth = 0_usize;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 1,
            b'{' if quote == b'`' && (depth > 0 || bytes.get(at - 1) == Some(&b'$')) => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            _ if byte == quote && depth == 0 => return at,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

fn unescape(text: &str) -> Cow<'_, str> {
    if !text.contains('\\') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((plain, escape)) = rest.split_once('\\') {
        out.push_str(plain);
        let mut characters = escape.chars();
        match characters.next() {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('r') => out.push('\r'),
            Some('\n') | None => {}
            Some('x') => characters = hexadecimal(characters.as_str(), 2, &mut out).chars(),
            Some('u') => characters = hexadecimal(characters.as_str(), 4, &mut out).chars(),
            Some(other) => out.push(other),
        }
        rest = characters.as_str();
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Adds the character of a code in hexadecimal digits. Returns the text after it.
fn hexadecimal<'a>(text: &'a str, digits: usize, out: &mut String) -> &'a str {
    /// The digits of a code in braces.
    const MOST_DIGITS: usize = 8;
    let end = |text: &str| text.bytes().take(MOST_DIGITS).position(|byte| byte == b'}');
    let braced = text.strip_prefix('{').and_then(|text| text.split_at_checked(end(text)?));
    let (code, rest) = match braced {
        Some((code, rest)) => (code, rest.get(1..).unwrap_or_default()),
        None => match text.split_at_checked(digits) {
            Some(parts) => parts,
            None => return text,
        },
    };
    out.extend(u32::from_str_radix(code, 16).ok().and_then(char::from_u32));
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_found_in_every_form() {
        for (source, commands) in [
            (r#"text(await tools.exec_command({cmd: "pytest -q", workdir: "/w"}));"#, vec!["pytest -q"]),
            (r#"await tools.exec_command({"workdir":"/w","cmd":"ls \"a\"\nrm 'b'"})"#, vec!["ls \"a\"\nrm 'b'"]),
            ("await tools.exec_command({cmd: 'echo \\'x\\' \\u00e4'})", vec!["echo 'x' ä"]),
            ("await tools.exec_command({cmd: `cat ${files.map(f => f)} | wc`})", vec!["cat ${files.map(f => f)} | wc"]),
            ("await tools.exec_command({cmd: String.raw`rg '\\d+'`})", vec!["rg '\\d+'"]),
            (r#"const cmd = "make"; await tools.exec_command({cmd});"#, vec!["make"]),
            (r#"const c = "make"; await tools.exec_command({ yield_time_ms: 1, cmd: c });"#, vec!["make"]),
            (r#"const a = {cmd: "make"}; await tools.exec_command(a);"#, vec!["make"]),
            (r#"await tools["shell_command"]({command: "make"})"#, vec!["make"]),
            (r#"await tools.shell({command: ["bash", "-lc", "make all"]})"#, vec!["make all"]),
            (r#"await tools.shell({command: ["make", "all"]})"#, vec!["make all"]),
            (r#"await tools.shell({command: ["rm", "-rf", "build"]})"#, vec!["rm -rf build"]),
            (
                r#"await Promise.all([tools.exec_command({cmd:"ls"}), tools.exec_command({cmd:"cargo test"})])"#,
                vec!["ls", "cargo test"],
            ),
            (r#"for (const cmd of ["ls", "make"]) await tools.exec_command({cmd})"#, vec!["ls\nmake"]),
            (r#"[{cmd: "ls"}, {cmd: "make"}].map(it => tools.exec_command(it))"#, vec!["ls\nmake"]),
            (r#"// tools.exec_command({cmd: "no"})"#, vec![]),
            (r#"text("tools.exec_command({cmd: 1})")"#, vec![]),
            ("await tools.exec_command({cmd: make()})", vec![]),
            ("await tools.exec_command({cmd: \"cut", vec!["cut"]),
            ("await tools.exec_command({cmd", vec![]),
            ("`${`", vec![]),
            ("'\\u00", vec![]),
            ("'\\x'", vec![]),
        ] {
            let script = Script::read(source);
            assert_eq!(script.commands().collect::<Vec<_>>(), commands, "{source}");
        }
    }

    #[test]
    fn a_script_has_the_category_of_what_it_calls() {
        for (source, category, path) in [
            (r#"text(await tools.view_image({path: "/w/a.png"}))"#, "read", Some("/w/a.png")),
            (r#"await tools.web__run({search_query: [{q: "x"}]})"#, "web", None),
            (r#"await tools.mcp__docs__find({query: "x"})"#, "mcp", None),
            (
                r#"const p = "*** Begin Patch\n*** Update File: src/a.rs\n@@\n-a\n+b\n*** End Patch"; await tools.apply_patch(p)"#,
                "edit",
                Some("src/a.rs"),
            ),
            (r#"await tools.apply_patch(p); await tools.exec_command({cmd: "make"})"#, "shell", None),
            (r#"await tools.write_stdin({session_id: 7, chars: "y"})"#, "shell", None),
            ("text(ALL_TOOLS)", "other", None),
            ("", "other", None),
        ] {
            let script = Script::read(source);
            assert_eq!((script.category(), script.path().as_deref()), (category, path), "{source}");
        }
        assert_eq!(Script::read("tools.mcp__docs__find({})").server(), Some("docs"));
    }
}
