//! The line editor: history, completion, several lines.

use std::borrow::Cow;
use std::io;
use std::path::PathBuf;

use reedline::{
    ColumnarMenu, Completer, CompletionResult, Emacs, FileBackedHistory, KeyCode, KeyModifiers, MenuBuilder, Prompt,
    PromptEditMode, PromptHistorySearch, Reedline, ReedlineEvent, ReedlineMenu, Signal, Span, Suggestion,
    ValidationResult, Validator, default_emacs_keybindings,
};

use super::completion::Words;
use super::statement::Statement;

/// The number of lines of the history.
const HISTORY: usize = 2000;
const MENU: &str = "words";

/// What a person did.
#[derive(Debug)]
pub enum Read {
    Text(String),
    /// Ctrl-C: what was written is not run.
    Cleared,
    /// Ctrl-D.
    End,
}

/// The line editor. Without a file, or with one that cannot be written, the history ends with the program.
pub fn editor(words: &Words, history: Option<PathBuf>, color: bool) -> Reedline {
    let mut keys = default_emacs_keybindings();
    let complete = vec![ReedlineEvent::Menu(MENU.to_owned()), ReedlineEvent::MenuNext];
    keys.add_binding(KeyModifiers::NONE, KeyCode::Tab, ReedlineEvent::UntilFound(complete));
    let menu = ReedlineMenu::EngineCompleter(Box::new(ColumnarMenu::default().with_name(MENU)));
    let editor = Reedline::create()
        .with_ansi_colors(color)
        .with_edit_mode(Box::new(Emacs::new(keys)))
        .with_completer(Box::new(SqlCompleter(words.clone())))
        .with_validator(Box::new(SqlValidator(words.clone())))
        .with_quick_completions(true)
        .with_partial_completions(true)
        .with_menu(menu);
    match history.and_then(history_of) {
        Some(history) => editor.with_history(Box::new(history)),
        None => editor,
    }
}

/// The history in a file that only the user can read.
fn history_of(path: PathBuf) -> Option<FileBackedHistory> {
    std::fs::create_dir_all(path.parent()?).ok()?;
    let mut options = std::fs::OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(&path).ok()?;
    FileBackedHistory::with_file(HISTORY, path).ok()
}

/// Waits for a complete text.
///
/// # Errors
/// When the terminal cannot be read.
pub fn read(editor: &mut Reedline) -> io::Result<Read> {
    let signal = editor.read_line(&SqlPrompt).map_err(io::Error::other)?;
    Ok(match signal {
        Signal::Success(text) => Read::Text(text),
        Signal::CtrlD => Read::End,
        _ => Read::Cleared,
    })
}

struct SqlPrompt;

impl Prompt for SqlPrompt {
    fn render_prompt_left(&self) -> Cow<'_, str> {
        Cow::Borrowed("agentlogs")
    }

    fn render_prompt_right(&self) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn render_prompt_indicator(&self, _: PromptEditMode) -> Cow<'_, str> {
        Cow::Borrowed("> ")
    }

    fn render_prompt_multiline_indicator(&self) -> Cow<'_, str> {
        Cow::Borrowed("       ..> ")
    }

    fn render_prompt_history_search_indicator(&self, search: PromptHistorySearch) -> Cow<'_, str> {
        Cow::Owned(format!("(history: {}) ", search.term))
    }
}

struct SqlValidator(Words);

impl Validator for SqlValidator {
    fn validate(&self, line: &str) -> ValidationResult {
        if Statement::is_complete(line, |name| self.0.is_query(name)) {
            ValidationResult::Complete
        } else {
            ValidationResult::Incomplete
        }
    }
}

struct SqlCompleter(Words);

impl Completer for SqlCompleter {
    fn complete(&mut self, line: &str, position: usize) -> CompletionResult {
        let (start, found) = self.0.candidates(line, position);
        let suggestion = |(value, about): (String, String)| Suggestion {
            append_whitespace: !value.ends_with('('),
            description: Some(about).filter(|about| !about.is_empty()),
            span: Span::new(start, position.max(start)),
            value,
            ..Suggestion::default()
        };
        CompletionResult::fresh(found.into_iter().map(suggestion).collect::<Vec<_>>())
    }
}
