//! Keys, apart from those of a terminal.

use super::cursor::Motion;

/// A key that is pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// A character.
    Char(char),
    /// A character with Control.
    Control(char),
    /// The arrow up.
    Up,
    /// The arrow down.
    Down,
    /// The arrow to the left.
    Left,
    /// The arrow to the right.
    Right,
    /// Page up.
    PageUp,
    /// Page down.
    PageDown,
    /// Home.
    Home,
    /// End.
    End,
    /// Enter.
    Enter,
    /// Escape.
    Escape,
    /// Tab.
    Tab,
    /// Backspace.
    Backspace,
}

impl Key {
    /// How it moves a cursor, if it does.
    pub(super) const fn motion(self) -> Option<Motion> {
        Some(match self {
            Self::Down | Self::Char('j') | Self::Control('n') => Motion::Down,
            Self::Up | Self::Char('k') | Self::Control('p') => Motion::Up,
            Self::PageDown | Self::Control('f') | Self::Char(' ') => Motion::PageDown,
            Self::PageUp | Self::Control('b') => Motion::PageUp,
            Self::Control('d') => Motion::HalfPageDown,
            Self::Control('u') => Motion::HalfPageUp,
            Self::Home | Self::Char('g') => Motion::First,
            Self::End | Self::Char('G') => Motion::Last,
            _ => return None,
        })
    }
}
