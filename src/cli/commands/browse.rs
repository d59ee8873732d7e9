//! `agentlogs browse`: sessions, timelines and reports on all of the terminal.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use agentlogs::analysis::browse::{Browser, Key, Look, Open, Place, Step};
use agentlogs::analysis::reports::{Frames, Options, tables_of_sessions};
use agentlogs::prices::Catalog;
use anyhow::Context;
use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, poll, read};
use ratatui::Terminal;
use ratatui::backend::{Backend as _, CrosstermBackend};

use super::Outcome;
use super::editor::edit;
use super::output::has_color;
use super::reopened::Reopened;
use super::resolve::{report_error, scope};
use crate::cli::args::Browse;
use crate::cli::panics::caught;
use crate::cli::screen::Screen;
use crate::cli::settings::Settings;
use crate::cli::terminal;

/// How long no key is pressed before the archive is checked for changes. Where reading it takes long, it is ten times as long.
const CHECK: Duration = Duration::from_secs(1);

pub fn run(args: Browse, settings: &Settings) -> anyhow::Result<Outcome> {
    if !terminal::is_interactive() {
        anyhow::bail!(
            "browse needs a terminal; `agentlogs sessions` prints the list, `agentlogs show` a timeline, `agentlogs report` a report"
        );
    }
    let scope = scope(args.filters, settings);
    let look = Look {
        currency: settings.shown_currency(),
        now: scope.zoned().map_err(|error| report_error(error.into()))?,
        color: has_color(),
        is_ascii: terminal::screen().is_some_and(|screen| screen.is_ascii),
    };
    let options = Options { scope: scope.clone(), ..Options::default() };
    let mut source = Reopened::new(args.source, settings, &tables_of_sessions(&options))?;
    let mut browser = Browser::new(scope, args.cost.into(), look, terminal::size());
    // Before the screen, so that an error is printed as those of other commands.
    load(&mut browser, &mut source).map_err(anyhow::Error::msg)?;
    loop {
        let screen = Screen::enter().context("the terminal cannot show another screen")?;
        match browse(&mut browser, &mut source)? {
            None => return Ok(Outcome::Done),
            Some(place) => {
                drop(screen);
                if let Err(message) = edit(&place) {
                    browser.say(&message);
                }
            }
        }
    }
}

/// Draws and follows keys until the end, or until an editor is to be opened.
fn browse(browser: &mut Browser, source: &mut Reopened<'_>) -> anyhow::Result<Option<Place>> {
    let mut terminal = Terminal::new(CrosstermBackend::new(io::stdout()))?;
    // Not Terminal::clear, which asks the terminal for the position of the cursor: not every one answers.
    terminal.backend_mut().clear()?;
    let mut patience = CHECK;
    loop {
        draw(&mut terminal, browser)?;
        while !poll(patience)? {
            if source.has_changed() {
                let start = Instant::now();
                browser.follow();
                if let Err(message) = load(browser, source) {
                    browser.say(&message);
                }
                draw(&mut terminal, browser)?;
                patience = CHECK.max(start.elapsed() * 10);
            }
        }
        let Event::Key(event) = read()? else { continue };
        let Some(key) = key(event) else { continue };
        match browser.key(key) {
            Step::Draw => {}
            Step::Quit => return Ok(None),
            Step::Edit(place) => return Ok(Some(place)),
            Step::Load => {
                draw(&mut terminal, browser)?;
                if let Err(message) = load(browser, source) {
                    browser.say(&message);
                }
            }
        }
    }
}

fn draw(terminal: &mut Terminal<CrosstermBackend<io::Stdout>>, browser: &mut Browser) -> anyhow::Result<()> {
    let size = terminal.size()?;
    browser.resize((size.width, size.height));
    terminal.draw(|frame| frame.render_widget(&*browser, frame.area()))?;
    Ok(())
}

/// Reads what the browser needs. The message of a table that cannot be read is shown, as the other rows still can be.
fn load(browser: &mut Browser, source: &mut Reopened<'_>) -> Result<(), String> {
    caught(|| browser.load(source)).unwrap_or_else(|of_table| Err(format!("{of_table:#}")))
}

impl Open for Reopened<'_> {
    fn tables(&mut self, names: &[&'static str]) -> Result<Frames, String> {
        Reopened::tables(self, names).map_err(|error| format!("{error:#}"))
    }

    fn catalog(&mut self) -> Result<Arc<Catalog>, String> {
        Reopened::catalog(self).map_err(|error| format!("{error:#}"))
    }
}

/// A key of the terminal; `None` for those that have no meaning here.
fn key(event: KeyEvent) -> Option<Key> {
    if event.kind == KeyEventKind::Release || event.modifiers.contains(KeyModifiers::ALT) {
        return None;
    }
    Some(match event.code {
        KeyCode::Char(char) if event.modifiers.contains(KeyModifiers::CONTROL) => Key::Control(char),
        KeyCode::Char(char) => Key::Char(char),
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::Left => Key::Left,
        KeyCode::Right => Key::Right,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Escape,
        KeyCode::Tab => Key::Tab,
        KeyCode::Backspace => Key::Backspace,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_the_terminal_are_those_of_the_browser() {
        let of = |code, modifiers| key(KeyEvent::new(code, modifiers));
        assert_eq!(of(KeyCode::Char('G'), KeyModifiers::SHIFT), Some(Key::Char('G')));
        assert_eq!(of(KeyCode::Char('c'), KeyModifiers::CONTROL), Some(Key::Control('c')));
        assert_eq!(of(KeyCode::Char('x'), KeyModifiers::ALT), None);
        assert_eq!(of(KeyCode::F(1), KeyModifiers::NONE), None);
        let released = KeyEvent { kind: KeyEventKind::Release, ..KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE) };
        assert_eq!(key(released), None);
    }
}
