//! The common vocabulary of tool calls: the word for a tool's job, what it worked on, which files it changed.

use std::borrow::Cow;
use std::fmt;
use std::iter::Peekable;
use std::sync::LazyLock;

use foldhash::HashMap;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::adapters::common::shell::{self, Found};
use crate::base::text::{Shared, Word};
use crate::json::wire::{Flag, LateText, Text};
use crate::json::{self, Both, Raw};
use crate::model::session::Operation;

/// The names of tools without `_` and `-`, in small letters, by the word for their job.
const CATEGORIES: [(&str, &[&str]); 10] = [
    (
        "shell",
        &[
            "bash",
            "exec",
            "execcommand",
            "shell",
            "localshell",
            "localshellcall",
            "shellcommand",
            "container.exec",
            "commandexecution",
            "runshellcommand",
            "powershell",
            "bashcommand",
            "executebash",
            "execute",
            "executecommand",
            "runcommand",
            "runterminalcmd",
            "runterminalcommand",
        ],
    ),
    // A command that runs on is written to, read from and stopped by tools of its own.
    ("shell", &["writestdin", "bashoutput", "killshell", "killbash", "process"]),
    ("read", &["read", "readfile", "view", "readmanyfiles", "fileread", "notebookread", "viewimage", "readmediafile"]),
    (
        "edit",
        &[
            "edit",
            "editfile",
            "multiedit",
            "notebookedit",
            "applypatch",
            "applydiff",
            "filechange",
            "replace",
            "replaceinfile",
            "patch",
            "strreplace",
            "strreplacefile",
            "searchreplace",
            "fileedit",
            "insertcontent",
            "searchandreplace",
        ],
    ),
    ("write", &["write", "writefile", "writetofile", "filewrite", "createfile", "create"]),
    (
        "search",
        &[
            "grep",
            "glob",
            "find",
            "ls",
            "list",
            "listdirectory",
            "listdir",
            "listfiles",
            "search",
            "searchfiles",
            "searchfilecontent",
            "grepsearch",
            "grepfiles",
            "filesearch",
            "codesearch",
            "codebasesearch",
            "toolsearch",
            "listcodedefinitionnames",
            "finder",
        ],
    ),
    (
        "web",
        &[
            "webfetch",
            "websearch",
            "websearchcall",
            "googlewebsearch",
            "searxngsearch",
            "searchweb",
            "fetch",
            "fetchurl",
            "readwebpage",
        ],
    ),
    ("mcp", &["mcptoolcall", "usemcptool", "accessmcpresource"]),
    (
        "subagent",
        &[
            "task",
            "agent",
            "subagent",
            "spawnagent",
            "invokeagent",
            "delegatetoagent",
            "sessionsspawn",
            "collabtoolcall",
            "newtask",
            "usesubagents",
            "oracle",
        ],
    ),
    (
        "plan",
        &[
            "todowrite",
            "todoread",
            "updateplan",
            "writetodos",
            "updatetodos",
            "todolist",
            "settodolist",
            "updatetodolist",
            "taskcreate",
            "taskupdate",
            "tasklist",
            "taskget",
            "enterplanmode",
            "exitplanmode",
        ],
    ),
];

/// The word for a tool's job, the same in every runtime: `web_search`, `webSearch` and `WebSearch` are one name.
pub fn category(tool: &str) -> &'static str {
    static WORDS: LazyLock<HashMap<&str, &str>> =
        LazyLock::new(|| CATEGORIES.iter().flat_map(|(word, names)| names.iter().map(|it| (*it, *word))).collect());
    if mcp_server(tool).is_some() {
        return "mcp";
    }
    if let Some(word) = WORDS.get(tool) {
        return word;
    }
    let mut name = tool.to_owned();
    name.make_ascii_lowercase();
    name.retain(|it| !matches!(it, '_' | '-'));
    WORDS.get(name.as_str()).copied().unwrap_or("other")
}

/// The server in a name of the form `mcp__SERVER__TOOL`.
pub fn mcp_server(tool: &str) -> Option<&str> {
    let (server, _) = tool.strip_prefix("mcp__")?.split_once("__")?;
    (!server.is_empty()).then_some(server)
}

/// The arguments that say what a call works on, under the names that the runtimes use.
#[derive(Debug, Default)]
pub struct Arguments<'a> {
    file: Text<'a>,
    command: Raw<'a>,
    url: Text<'a>,
    patch_text: LateText<'a>,
    input: LateText<'a>,
    content: LateText<'a>,
    subagent_type: Text<'a>,
}

/// The arguments of a call that were read with it, if there are any, and as they stand in the log.
pub type Given<'a> = Both<'a, Option<Box<Arguments<'a>>>>;

/// The names. Of several for a file or a command, the first that says something counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum Argument {
    FilePath,
    Path,
    #[serde(rename = "filePath")]
    FilePathInCamelCase,
    NotebookPath,
    AbsolutePath,
    Command,
    Cmd,
    /// What is typed into a terminal.
    Keystrokes,
    Url,
    #[serde(rename = "patchText")]
    PatchText,
    Input,
    Content,
    SubagentType,
    #[serde(other)]
    Other,
}

impl<'de: 'a, 'a> Deserialize<'de> for Arguments<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct It;
        impl<'de> Visitor<'de> for It {
            type Value = Arguments<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("any value")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut arguments = Arguments::default();
                let (mut file, mut command) = (Argument::Other, Argument::Other);
                let mut seen = 0_u32;
                while let Some(name) = map.next_key::<Argument>()? {
                    let bit = 1 << name as u32;
                    if name == Argument::Other || seen & bit != 0 {
                        // Of a name that stands twice the first counts.
                        map.next_value::<IgnoredAny>()?;
                        continue;
                    }
                    seen |= bit;
                    match name {
                        name if name <= Argument::AbsolutePath => {
                            let text: Text<'de> = map.next_value()?;
                            if name < file && text.some().is_some() {
                                (file, arguments.file) = (name, text);
                            }
                        }
                        name if name <= Argument::Keystrokes => {
                            let raw: Raw<'de> = map.next_value()?;
                            if name < command && !raw.is_empty() {
                                (command, arguments.command) = (name, raw);
                            }
                        }
                        Argument::Url => arguments.url = map.next_value()?,
                        Argument::PatchText => arguments.patch_text = map.next_value()?,
                        Argument::Input => arguments.input = map.next_value()?,
                        Argument::Content => arguments.content = map.next_value()?,
                        _ => arguments.subagent_type = map.next_value()?,
                    }
                }
                Ok(arguments)
            }
        }
        deserializer.deserialize_map(It)
    }
}

impl Arguments<'_> {
    /// The file that the call names.
    pub fn file(&self) -> Option<&str> {
        self.file.some()
    }

    /// The text of a patch.
    pub fn patch(&self) -> Option<&str> {
        self.patch_text.some().or_else(|| self.input.some())
    }

    /// The content of a file that the call writes.
    pub fn written(&self) -> Option<&str> {
        self.content.is_some().then(|| self.content.as_str())
    }

    /// The number of lines of that content.
    pub fn written_lines(&self) -> Option<i64> {
        self.content.is_some().then(|| line_count_in(&self.content))
    }

    /// The type of the agent that the call starts.
    pub fn agent(&self) -> Option<Word> {
        self.subagent_type.owned()
    }

    /// The file's path, the URL's host, or the base name of the first program of a shell command.
    pub fn target(&self, category: &str) -> Option<Shared> {
        match category {
            "shell" if self.command.0.first() == Some(&b'[') => program_of_words(self.command.read()),
            "shell" if !self.command.is_empty() => program_in(self.command),
            "web" => self.url.some().and_then(host),
            _ => self.file().map(Shared::from),
        }
    }
}

/// The host of a URL, without user, port and a leading scheme.
fn host(url: &str) -> Option<Shared> {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?;
    let host = host
        .strip_prefix('[')
        .and_then(|it| it.split(']').next())
        .unwrap_or_else(|| host.split(':').next().unwrap_or(host));
    (!host.is_empty()).then(|| host.to_ascii_lowercase().into())
}

/// Shells within shells that are looked into.
const DEPTH: u32 = 4;

/// Base name of the first program that a shell command runs, after `bash -lc`, `env`, `sudo`, `timeout`, assignments and
/// `cd … &&`.
pub fn program(command: &str) -> Option<Shared> {
    program_within(command, DEPTH)
}

/// [`program`] of a command that is already split into words.
pub fn program_of_words(words: Vec<Text<'_>>) -> Option<Shared> {
    program_of(words.into_iter().filter_map(Text::into_inner).map(Token::Word), DEPTH)
}

/// [`program`] of a command as it stands in a log. Some write a whole file, and begin with their program.
fn program_in(command: Raw<'_>) -> Option<Shared> {
    const HEAD: usize = 256;
    let head = command.head(HEAD);
    let mut tokens = Tokens { rest: &head };
    let first = program_of(tokens.by_ref(), DEPTH);
    // The head may end within what decides.
    let is_cut = head.len() >= HEAD && (tokens.rest.is_empty() || needs_grammar(&head, tokens.rest));
    if is_cut { program(&command.text()) } else { first_program(&head, tokens.rest, first, DEPTH) }
}

fn program_within(command: &str, depth: u32) -> Option<Shared> {
    let mut tokens = Tokens { rest: command };
    let first = program_of(tokens.by_ref(), depth);
    first_program(command, tokens.rest, first, depth)
}

/// The program of a command of which the plain rule has read all but `rest` and found `first`. Where it may have read a
/// part of a substitution or a compound, the grammar decides.
fn first_program(command: &str, rest: &str, first: Option<Shared>, depth: u32) -> Option<Shared> {
    if !needs_grammar(command, rest) {
        return first;
    }
    let program = |words: &[&str]| {
        program_of(words.iter().filter_map(|word| unquoted(word)).map(Token::Word), depth.saturating_sub(1))
    };
    match shell::first_command(command, program) {
        Found::Command(program) => Some(program),
        Found::Nothing => None,
        Found::Unknown => first,
    }
}

/// Whether words that the plain rule has read are more than they seem: parts of substitutions, compounds, heredocs.
fn needs_grammar(command: &str, rest: &str) -> bool {
    let read = command.strip_suffix(rest).unwrap_or(command);
    let is_compound = |word: &str| matches!(word, "for" | "case" | "select" | "until" | "function");
    read.contains(['(', '`']) || read.contains("<<") || read.split_ascii_whitespace().any(is_compound)
}

/// A word without its quotes.
fn unquoted(word: &str) -> Option<Cow<'_, str>> {
    match (Tokens { rest: word }).next() {
        Some(Token::Word(text)) if word.starts_with(['"', '\'']) => Some(text),
        _ => Some(Cow::Borrowed(word)).filter(|word| !word.is_empty()),
    }
}

fn program_of<'a>(tokens: impl Iterator<Item = Token<'a>>, depth: u32) -> Option<Shared> {
    let mut tokens = tokens.peekable();
    while let Some(token) = tokens.next() {
        let Token::Word(word) = token else { continue };
        let folders = word.bytes().rposition(|it| matches!(it, b'/' | b'\\')).map_or(0, |it| it + 1);
        let name = word.get(folders..).unwrap_or(&word);
        match name {
            "cd" | "pushd" => {
                skip_command(&mut tokens);
                // `cd … || exit 1`, `cd … || { echo no; exit 1; }`: what is done without the folder is not the command.
                while tokens.next_if(|it| matches!(it, Token::Or)).is_some() {
                    let is_group = matches!(tokens.peek(), Some(Token::Word(word)) if word == "{");
                    skip_command(&mut tokens);
                    while is_group && tokens.next().is_some_and(|it| !matches!(it, Token::Word(word) if word == "}")) {}
                }
            }
            "export" | "set" | "source" | "." | "exit" | "return" | "break" | "continue" | "[" | "[[" | "test" => {
                skip_command(&mut tokens);
            }
            // They look a program up.
            "command" if tokens.next_if(is_lookup).is_some() => skip_command(&mut tokens),
            "sudo" | "env" | "nohup" | "time" | "command" | "exec" | "nice" | "timeout" | "gtimeout" => {
                skip_options(&mut tokens, options_with_values(name));
                if name.ends_with("timeout") {
                    // Its duration.
                    tokens.next_if(|it| matches!(it, Token::Word(_)));
                }
            }
            "(" | "{" | "!" | "if" | "then" | "do" | "while" => {}
            "bash" | "sh" | "zsh" | "dash" if depth > 0 => {
                let runs_text = skip_options(&mut tokens, options_with_values(name));
                if runs_text && let Some(Token::Word(script)) = tokens.next() {
                    return program_within(&script, depth - 1).or_else(|| Some(name.into()));
                }
                return Some(name.into());
            }
            _ if is_assignment(&word) => {}
            "" => {}
            name => return Some(name.trim_start_matches('(')).filter(|it| !it.is_empty()).map(Shared::from),
        }
    }
    None
}

/// Goes to the end of a command.
fn skip_command<'a>(tokens: &mut Peekable<impl Iterator<Item = Token<'a>>>) {
    while tokens.next_if(|it| matches!(it, Token::Word(_))).is_some() {}
}

/// The options whose value is the next word: the letters of short ones, and long ones.
fn options_with_values(program: &str) -> (&'static str, &'static [&'static str]) {
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

/// Skips options and their values, and says whether `-c` was among them.
fn skip_options<'a>(tokens: &mut Peekable<impl Iterator<Item = Token<'a>>>, (letters, names): (&str, &[&str])) -> bool {
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
            // What follows the letter within the word is its value.
            has_c |= option.contains('c');
            option.find(|it| letters.contains(it)).is_some_and(|at| at + 1 == option.len())
        };
        if takes_value {
            tokens.next_if(|it| matches!(it, Token::Word(_)));
        }
    }
    has_c
}

/// Whether a word after `command` asks only where the program is.
fn is_lookup(token: &Token<'_>) -> bool {
    matches!(token, Token::Word(word) if word == "-v" || word == "-V")
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && name.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_')
            && !name.starts_with(|it: char| it.is_ascii_digit())
    })
}

/// A word of a shell command, or what ends a command.
enum Token<'a> {
    Word(Cow<'a, str>),
    /// `||`
    Or,
    End,
}

/// Splits as a shell does, as far as the first program needs it: quotes, backslashes, comments, `;`, `&`, `|`, new lines.
struct Tokens<'a> {
    rest: &'a str,
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
        // Most words are as they stand.
        let special = |it: u8| matches!(it, b' ' | b'\t' | b'\r' | b'\n' | b';' | b'&' | b'|' | b'\'' | b'"' | b'\\');
        let end = self.rest.bytes().position(special).unwrap_or(self.rest.len());
        let (plain, rest) = self.rest.split_at_checked(end)?;
        if !plain.is_empty() && !rest.starts_with(['&', '\'', '"', '\\']) {
            self.rest = rest;
            return Some(Token::Word(Cow::Borrowed(plain)));
        }
        let mut word = String::new();
        let mut quote = None;
        let mut escaped = false;
        let mut end = self.rest.len();
        for (at, character) in self.rest.char_indices() {
            match (quote, character) {
                _ if escaped => {
                    escaped = false;
                    word.push(character);
                }
                (None | Some('"'), '\\') => escaped = true,
                (Some(open), _) if open == character => quote = None,
                (Some(_), _) => word.push(character),
                // `2>&1`, `&>log`
                (None, '&') if at == 0 || word.ends_with('>') => word.push(character),
                (None, '\'' | '"') => quote = Some(character),
                (None, ' ' | '\t' | '\r' | '\n' | ';' | '&' | '|') => {
                    end = at;
                    break;
                }
                (None, _) => word.push(character),
            }
        }
        self.rest = self.rest.get(end..).unwrap_or_default();
        Some(Token::Word(Cow::Owned(word)))
    }
}

/// One file of a patch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchedFile {
    /// The path; for a move the new one.
    pub path: String,
    /// What is done to it.
    pub operation: Operation,
    /// Lines added; `None` where the patch does not show them.
    pub lines_added: Option<i64>,
    /// Lines removed; `None` for a deleted file, whose lines a patch does not show.
    pub lines_removed: Option<i64>,
}

/// The files of a patch in the form `*** Begin Patch`, wherever in `text` it stands.
pub fn patched_files(text: &str) -> Vec<PatchedFile> {
    let mut files: Vec<PatchedFile> = Vec::new();
    let Some((_, patch)) = text.split_once("*** Begin Patch") else { return files };
    for line in lines(patch).skip(1) {
        let line = line.trim_end_matches('\r');
        if line.starts_with("*** End Patch") {
            break;
        }
        let header = [
            ("*** Add File: ", Operation::Create),
            ("*** Update File: ", Operation::Update),
            ("*** Delete File: ", Operation::Delete),
        ]
        .into_iter()
        .find_map(|(mark, operation)| line.strip_prefix(mark).map(|path| (path.trim(), operation)));
        if let Some((path, operation)) = header {
            let lines = (operation != Operation::Delete).then_some(0);
            files.push(PatchedFile { path: path.to_owned(), operation, lines_added: Some(0), lines_removed: lines });
        } else if let Some(file) = files.last_mut() {
            if let Some(path) = line.strip_prefix("*** Move to: ") {
                path.trim().clone_into(&mut file.path);
                file.operation = Operation::Move;
            } else if line.starts_with('+') {
                file.lines_added = file.lines_added.map(|it| it + 1);
            } else if line.starts_with('-') {
                file.lines_removed = file.lines_removed.map(|it| it + 1);
            }
        }
    }
    files
}

/// [`str::lines`] of a text of many short lines, which that takes twice as long for.
pub fn lines(text: &str) -> impl Iterator<Item = &str> {
    let ends = memchr::memchr_iter(b'\n', text.as_bytes())
        .chain((!text.is_empty() && !text.ends_with('\n')).then_some(text.len()));
    let mut start = 0;
    ends.filter_map(move |end| {
        let line = text.get(start..end)?;
        start = end + 1;
        let is_ended = end < text.len();
        Some(line.strip_suffix('\r').filter(|_| is_ended).unwrap_or(line))
    })
}

/// Lines that a diff adds and removes. Its headers (`+++`, `---`) are not among them.
pub fn diff_lines<'a>(lines: impl IntoIterator<Item = &'a str>) -> (i64, i64) {
    let (mut added, mut removed) = (0, 0);
    for line in lines {
        match line.as_bytes() {
            [b'+', b'+', b'+', b' ', ..] | [b'-', b'-', b'-', b' ', ..] => {}
            [b'+', ..] => added += 1,
            [b'-', ..] => removed += 1,
            _ => {}
        }
    }
    (added, removed)
}

/// [`diff_lines`] of a string in a log, whose escapes are not undone for that.
pub fn diff_lines_in(diff: &LateText<'_>) -> (i64, i64) {
    let text = diff.escaped();
    let (mut added, mut removed) = (0, 0);
    let is_plain = each_line(text, |line| match line {
        [b'+', b'+', b'+', b' ', ..] | [b'-', b'-', b'-', b' ', ..] => true,
        // What decides may stand there by its number. Nobody writes it so.
        [b'\\', b'u', ..] | [b'+' | b'-', b'\\', b'u', ..] => false,
        [b'+', b'+', b'\\', b'u', ..] | [b'-', b'-', b'\\', b'u', ..] => false,
        [b'+', b'+', b'+', b'\\', b'u', ..] | [b'-', b'-', b'-', b'\\', b'u', ..] => false,
        [b'+', ..] => {
            added += 1;
            true
        }
        [b'-', ..] => {
            removed += 1;
            true
        }
        _ => true,
    });
    if is_plain { (added, removed) } else { diff_lines(lines(diff.as_str())) }
}

/// One replacement in the arguments of an edit, under the names that the runtimes use; or several.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Replacement<'a> {
    #[serde(borrow, alias = "oldText")]
    old_string: Text<'a>,
    #[serde(borrow, alias = "newText")]
    new_string: Text<'a>,
    replace_all: Flag,
    #[serde(borrow)]
    edits: Vec<Replacement<'a>>,
}

/// Lines added and removed, as the arguments of an edit show them; `None` if they do not.
///
/// In 778 of 781 edits of Claude Code these are the numbers of the patch that it logs.
pub fn lines_in_arguments(arguments: Raw<'_>) -> Option<(i64, i64)> {
    let all: Replacement<'_> = arguments.read();
    let single = std::slice::from_ref(&all);
    let mut sum = (0, 0);
    for replacement in if all.edits.is_empty() { single } else { all.edits.as_slice() } {
        let (old, new) = (replacement.old_string.0.as_deref()?, replacement.new_string.0.as_deref()?);
        // Arguments do not show how often the text occurs.
        if replacement.replace_all.is_true() {
            return None;
        }
        let (added, removed) = changed_lines(old, new)?;
        sum = (sum.0 + added, sum.1 + removed);
    }
    Some(sum)
}

/// Lines added and removed by the shortest line diff of two texts; `None` if they have too many lines to compare.
fn changed_lines(old: &str, new: &str) -> Option<(i64, i64)> {
    /// The time grows with the square of the number.
    const MOST_LINES: usize = 2000;
    // An empty text has no line, not an empty one.
    let [old, new] = [old, new].map(|text| text.split('\n').filter(|_| !text.is_empty()).collect::<Vec<_>>());
    if old.len() + new.len() > MOST_LINES {
        return None;
    }
    let operations = similar::capture_diff_slices(similar::Algorithm::Myers, &old, &new);
    let count = |range: fn(&similar::DiffOp) -> std::ops::Range<usize>| {
        let changed = operations.iter().filter(|operation| operation.tag() != similar::DiffTag::Equal);
        i64::try_from(changed.map(|operation| range(operation).len()).sum::<usize>()).ok()
    };
    Some((count(similar::DiffOp::new_range)?, count(similar::DiffOp::old_range)?))
}

/// Number of lines of a text; a last one without its newline counts.
pub fn line_count(text: &str) -> i64 {
    i64::try_from(lines(text).count()).unwrap_or(i64::MAX)
}

/// [`line_count`] of a string in a log, whose escapes are not undone for that.
pub fn line_count_in(text: &LateText<'_>) -> i64 {
    let mut count = 0;
    let is_plain = each_line(text.escaped(), |_| {
        count += 1;
        true
    });
    if is_plain { count } else { line_count(text.as_str()) }
}

/// Tells of each line of a text with its escapes how the rest of the text begins with it. Stops and is `false` where that is
/// refused, and if a line ends without an escape, which JSON does not know.
fn each_line(text: &[u8], mut see: impl FnMut(&[u8]) -> bool) -> bool {
    if memchr::memchr(b'\n', text).is_some() {
        return false;
    }
    let mut rest = text;
    while !rest.is_empty() {
        if !see(rest) {
            return false;
        }
        rest = behind_newline(rest);
    }
    true
}

/// What stands behind the first newline.
fn behind_newline(mut text: &[u8]) -> &[u8] {
    while let Some(at) = json::backslash(text) {
        let escape = text.get(at + 1..).unwrap_or_default();
        match escape {
            [b'n', rest @ ..] | [b'u', b'0', b'0', b'0', b'a' | b'A', rest @ ..] => return rest,
            _ => text = escape.get(1..).unwrap_or_default(),
        }
    }
    &[]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    #[test]
    fn the_first_program_is_found_behind_its_wrappers() {
        for (command, expected) in [
            ("ls -la", "ls"),
            ("/usr/bin/git status", "git"),
            ("/bin/bash -lc 'cargo test'", "cargo"),
            ("/bin/bash -lc false", "false"),
            (r#"bash -lc "cd /work && FOO=1 npm test | tail""#, "npm"),
            ("cd /work/demo && make", "make"),
            ("cd /a; cd /b\npytest -q", "pytest"),
            ("FOO='a b' BAR=2 python3 x.py", "python3"),
            ("sudo -E timeout 30 env A=b node x", "node"),
            ("# say hi\necho hi", "echo"),
            ("bash script.sh", "bash"),
            ("(cargo build)", "cargo"),
            ("git commit -m \"it's\"", "git"),
            ("'unbalanced", "unbalanced"),
            ("sudo -u root ls", "ls"),
            ("sudo -nu root --group wheel -- ls", "ls"),
            ("env -u FOO make", "make"),
            ("timeout -s KILL 30 cargo test", "cargo"),
            ("timeout --signal=KILL $LIMIT cargo test", "cargo"),
            ("nice -n 10 make", "make"),
            ("bash -o pipefail -c 'npm test'", "npm"),
            ("bash -euo pipefail -c 'npm test'", "npm"),
            ("bash -x script.sh", "bash"),
            ("[ -f x ] && make", "make"),
            ("[[ -f x ]] || exit 1; make", "make"),
            ("if test -f x; then make; fi", "make"),
            ("cd /x || exit 1; make", "make"),
            ("cd /x 2>&1 || { echo no; exit 1; }; make", "make"),
            ("cd /x &>/dev/null && make", "make"),
            ("cd /x || exit; cd /y || exit\nmake", "make"),
            ("tmp=$(mktemp -d) && cd \"$tmp\" && make", "make"),
            ("A=$(date +%s) FOO=`pwd -P` ./run.sh x", "run.sh"),
            ("(cd x && make)", "make"),
            ("cd x && (sudo -u root make)", "make"),
            ("for f in *.rs; do rustfmt $f; done", "rustfmt"),
            ("case $1 in a) make;; esac", "make"),
            ("for f in *; do case $f in a) continue;; esac; cat $f; done", "cat"),
            ("command -v cargo >/dev/null && cargo build", "cargo"),
            ("command cargo build", "cargo"),
            ("bash -lc 'x=$(pwd) && make \"$x\"'", "make"),
            ("x=$(cat a) bash -lc 'y=$(pwd); npm test'", "npm"),
            ("echo $(date)", "echo"),
            ("cat <<E\n$(make)\nE", "cat"),
            ("x=$(cat a", "a"),
        ] {
            assert_eq!(program(command).as_deref(), Some(expected), "{command}");
        }
        assert_eq!(program(""), None);
        assert_eq!(program("cd /work"), None);
        assert_eq!(program("x=$(cat a b)"), None);
        assert_eq!(program("command -v cargo"), None);
        assert_eq!(program("cd /work || { exit 1"), None);
    }

    /// However long the commands before it are.
    #[test]
    fn a_long_command_has_the_program_of_its_text() {
        for command in
            ["cd X && make", "cat X", "bash -c 'cd X; make'", "A=X make", "# X\nmake", "X", "cd X|| exit 1; make"]
        {
            for length in 0..600 {
                let command = command.replace('X', &"é\" \\ ".repeat(length / 5)[..length / 5 * 6]);
                let json = serde_json::to_string(&command).unwrap();
                assert_eq!(program_in(Raw(json.as_bytes())), program(&command), "{command}");
                let command = format!("{}{command}", "A=1 ".repeat(length));
                let json = serde_json::to_string(&command).unwrap();
                assert_eq!(program_in(Raw(json.as_bytes())), program(&command), "{command}");
            }
        }
    }

    #[test]
    fn targets_come_from_the_arguments() {
        let target =
            |category: &str, args: &str| json::from_slice::<Arguments<'_>>(args.as_bytes()).unwrap().target(category);
        assert_eq!(target("read", r#"{"file_path":"/a/b.txt"}"#).as_deref(), Some("/a/b.txt"));
        assert_eq!(target("edit", r#"{"filePath":"/a"}"#).as_deref(), Some("/a"));
        assert_eq!(target("shell", r#"{"command":["bash","-lc","cargo test"]}"#).as_deref(), Some("cargo"));
        assert_eq!(target("shell", r#"{"cmd":"ls"}"#).as_deref(), Some("ls"));
        assert_eq!(
            target("web", r#"{"url":"https://u@Docs.Example.com:8080/x?y"}"#).as_deref(),
            Some("docs.example.com")
        );
        assert_eq!(target("web", r#"{"query":"x"}"#), None);
        assert_eq!(target("other", r#"{"file_path":7}"#), None);
        // The first that says something, in their order and not in the log's.
        assert_eq!(target("read", r#"{"absolute_path":"/c","path":"/b","file_path":""}"#).as_deref(), Some("/b"));
        assert_eq!(target("read", r#"{"path":"/b","file_path":"/a"}"#).as_deref(), Some("/a"));
        assert_eq!(target("shell", r#"{"keystrokes":"ls","cmd":"make","command":null}"#).as_deref(), Some("make"));
        assert_eq!(target("read", r#"{"path":7,"path":"/b"}"#), None);
        assert_eq!(target("read", r#"{"old":{"a":[1]},"path":"/b","path":"/c"}"#).as_deref(), Some("/b"));
    }

    #[test]
    fn one_word_for_one_job() {
        for (tool, expected) in [
            ("Bash", "shell"),
            ("bash_command", "shell"),
            ("process", "shell"),
            ("web_search", "web"),
            ("WebSearch", "web"),
            ("webSearch", "web"),
            ("TaskUpdate", "plan"),
            ("Task", "subagent"),
            ("sessions_spawn", "subagent"),
            ("TaskOutput", "other"),
            ("mcp__docs__search", "mcp"),
            ("mcp__x", "other"),
            ("Frobnicate", "other"),
        ] {
            assert_eq!(category(tool), expected, "{tool}");
        }
        assert_eq!(mcp_server("mcp__docs__search"), Some("docs"));
    }

    #[test]
    fn a_patch_names_its_files() {
        let patch = "apply_patch <<'E'\n*** Begin Patch\n*** Add File: a\n+1\n+2\n*** Update File: b\n*** Move to: c\n@@\n-x\n+y\n z\n*** Delete File: d\n*** End Patch\nE";
        let file = |path: &str, operation, lines_added, lines_removed| PatchedFile {
            path: path.into(),
            operation,
            lines_added,
            lines_removed,
        };
        assert_eq!(
            patched_files(patch),
            [
                file("a", Operation::Create, Some(2), Some(0)),
                file("c", Operation::Move, Some(1), Some(1)),
                file("d", Operation::Delete, Some(0), None),
            ]
        );
        assert_eq!(diff_lines(lines("--- a\n+++ b\n@@\n-x\n+y\n+z")), (2, 1));
    }

    /// Of all texts of up to five of these.
    #[test]
    fn lines_with_escapes_are_those_without() {
        let letters =
            ["\\n", "+", "-", " ", "\\\"", "\\\\", "\\u000a", "\\u000A", "\\u002b", "\\u002D", "\\u0020", "\\r", "n"];
        let count = letters.len();
        for length in 0..=5 {
            for number in 0..count.pow(length) {
                let letter = |it: u32| letters[number / count.pow(it) % count];
                let string = format!("\"{}\"", (0..length).map(letter).collect::<String>());
                let text: LateText<'_> = json::from_slice(string.as_bytes()).unwrap();
                let plain: String = serde_json::from_str(&string).unwrap();
                assert_eq!(diff_lines_in(&text), diff_lines(lines(&plain)), "{string}");
                assert_eq!(line_count_in(&text), line_count(&plain), "{string}");
            }
        }
        for (string, expected) in [
            ("\"+++\\u0020a\\n+\"", (1, 0)),
            ("\"---\\t\\n--- a\\n-\\n\"", (0, 2)),
            ("\"+\n-\\n-\"", (1, 2)),
            ("\"\"", (0, 0)),
        ] {
            let text: LateText<'_> = json::from_slice(string.as_bytes()).unwrap();
            assert_eq!(diff_lines_in(&text), expected, "{string}");
        }
    }

    /// Of all texts of up to six of these.
    #[test]
    fn lines_are_those_of_the_standard_library() {
        let letters = ["\n", "\r", "a", "é"];
        for number in 0..4_usize.pow(6) {
            for length in 0..=6 {
                let text: String = (0..length).map(|it| letters[number >> (2 * it) & 3]).collect();
                assert!(lines(&text).eq(text.lines()), "{text:?}");
                assert_eq!(line_count(&text), i64::try_from(text.lines().count()).unwrap());
            }
        }
    }
}
