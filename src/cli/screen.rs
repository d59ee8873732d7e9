//! The terminal while a command draws on all of it: its alternate screen, its size and its keys. What the terminal showed before is there
//! again at the end, also after an error, a panic or a signal that ends the program.

use std::io::{self, IsTerminal, Write};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::thread;

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, read};
use crossterm::terminal::{
    BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen,
    disable_raw_mode, enable_raw_mode,
};
use crossterm::{cursor, execute, queue, style};

use crate::cli::lines::write_line;
use crate::cli::terminal::{is_dumb, size};

/// Messages of the time while the screen is shown, if it is: stderr is the same terminal.
static HELD: Mutex<Option<Vec<String>>> = Mutex::new(None);

/// The exit status of a program that Ctrl-C ended.
const INTERRUPTED: i32 = 130;

/// What a user asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// The end.
    Quit,
    /// A drawing of another size.
    Resized,
}

/// The alternate screen. The terminal is restored when it is dropped.
pub struct Screen(());

impl Screen {
    /// Shows the alternate screen. `None` if stdout is not a terminal, or one without control sequences.
    pub fn enter() -> Option<Self> {
        if is_dumb() || !io::stdout().is_terminal() || enable_raw_mode().is_err() {
            return None;
        }
        let mut messages = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        *messages = Some(Vec::new());
        drop(messages);
        #[cfg(unix)]
        restore_at_signals();
        let screen = Self(());
        execute!(io::stdout(), EnterAlternateScreen, cursor::Hide).ok()?;
        Some(screen)
    }

    /// Calls `send` for each input, on another thread. Ctrl-C ends the program at once, as it does without this screen.
    pub fn follow_keys(send: impl Fn(Input) + Send + 'static) {
        let follow = move || {
            while let Ok(event) = read() {
                match event {
                    Event::Key(key) if is_interrupt(key) => interrupt(),
                    Event::Key(key) if is_quit(key) => send(Input::Quit),
                    Event::Resize(..) => send(Input::Resized),
                    _ => {}
                }
            }
        };
        // Without the thread, Ctrl-C would have no effect.
        if thread::Builder::new().name("keys".to_owned()).spawn(follow).is_err() {
            let _ = disable_raw_mode();
        }
    }

    /// Its size in columns and lines.
    pub fn size() -> (usize, usize) {
        let (width, height) = size();
        (width.into(), height.into())
    }

    /// Draws lines, and one at the bottom.
    ///
    /// # Errors
    /// When the terminal cannot be written.
    pub fn draw(text: &str, bottom: &str) -> io::Result<()> {
        let (_, height) = Self::size();
        let mut out = io::stdout().lock();
        queue!(out, BeginSynchronizedUpdate, cursor::MoveTo(0, 0))?;
        for line in text.lines().take(height.saturating_sub(1)) {
            queue!(out, style::Print(line), Clear(ClearType::UntilNewLine), style::Print("\r\n"))?;
        }
        let last = u16::try_from(height.saturating_sub(1)).unwrap_or(u16::MAX);
        queue!(
            out,
            Clear(ClearType::FromCursorDown),
            cursor::MoveTo(0, last),
            style::Print(bottom),
            EndSynchronizedUpdate
        )?;
        out.flush()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// Keeps a message until the terminal is restored. Returns whether it is kept.
pub fn hold(message: &str) -> bool {
    let mut messages = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    match messages.as_mut() {
        Some(messages) if io::stderr().is_terminal() => {
            messages.push(message.to_owned());
            true
        }
        _ => false,
    }
}

/// The last message that is kept.
pub fn last_message() -> Option<String> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner).as_ref()?.last().cloned()
}

/// Whether the alternate screen is shown.
pub fn is_shown() -> bool {
    HELD.lock().unwrap_or_else(PoisonError::into_inner).is_some()
}

/// Shows what the terminal showed before, and prints the messages. Without the screen it does nothing.
pub fn restore() {
    let Some(messages) = HELD.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
    let _ = execute!(io::stdout(), LeaveAlternateScreen, cursor::Show);
    let _ = disable_raw_mode();
    for message in &messages {
        write_line(message);
    }
}

/// Restores the terminal before a signal ends the program, which otherwise has its usual effect.
#[cfg(unix)]
#[expect(clippy::exit, reason = "as without a screen, at any time")]
fn restore_at_signals() {
    use std::sync::Once;

    use signal_hook::consts::{SIGHUP, SIGTERM};
    use signal_hook::iterator::Signals;

    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let Ok(mut signals) = Signals::new([SIGHUP, SIGTERM]) else { return };
        let wait = move || {
            if let Some(signal) = signals.forever().next() {
                restore();
                std::process::exit(128 + signal);
            }
        };
        let _ = thread::Builder::new().name("signals".to_owned()).spawn(wait);
    });
}

#[expect(clippy::exit, reason = "as without a screen, at any time; a watch may be reading logs")]
fn interrupt() {
    restore();
    std::process::exit(INTERRUPTED);
}

fn is_interrupt(key: KeyEvent) -> bool {
    key.kind != KeyEventKind::Release && key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL)
}

fn is_quit(key: KeyEvent) -> bool {
    let is_named = matches!(key.code, KeyCode::Char('q' | 'Q') | KeyCode::Esc);
    key.kind != KeyEventKind::Release
        && is_named
        && !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn q_quits_and_control_c_interrupts() {
        let key = |code, modifiers| KeyEvent::new(code, modifiers);
        assert!(is_quit(key(KeyCode::Char('q'), KeyModifiers::NONE)) && is_quit(key(KeyCode::Esc, KeyModifiers::NONE)));
        assert!(!is_quit(key(KeyCode::Char('q'), KeyModifiers::CONTROL)));
        assert!(is_interrupt(key(KeyCode::Char('c'), KeyModifiers::CONTROL)));
        assert!(!is_interrupt(key(KeyCode::Char('c'), KeyModifiers::NONE)));
    }

    #[test]
    fn messages_are_kept_only_while_the_screen_is_shown() {
        assert!(!is_shown() && !hold("a") && last_message().is_none());
        restore();
    }
}
