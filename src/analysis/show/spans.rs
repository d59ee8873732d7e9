//! Lines of text whose parts have colours, and what they lead to: a program with a cursor opens it.

use super::find::SessionKey;
use super::style::NAME;

/// A colour or weight on a terminal: the code of the control sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paint {
    /// A heading.
    Bold = 1,
    /// A name before a value.
    Dim = 2,
    /// A failure.
    Red = 31,
    /// A change of a file.
    Green = 32,
    /// A denial, a retry or a compaction.
    Yellow = 33,
}

/// What a line leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// An entry of the timeline, by its position.
    Entry(usize),
    /// Another session.
    Session(SessionKey),
}

/// A line of text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TextLine {
    /// Its parts with their colours.
    pub spans: Vec<(Option<Paint>, String)>,
    /// What it leads to, if it leads to anything.
    pub target: Option<Target>,
    /// Whether it is about a failure.
    pub has_failed: bool,
}

impl TextLine {
    /// A line of one colour.
    pub fn of(paint: Paint, text: String) -> Self {
        Self { spans: vec![(Some(paint), text)], ..Self::default() }
    }

    /// A name with its value.
    pub fn of_fact(name: &str, value: String) -> Self {
        Self { spans: vec![(Some(Paint::Dim), format!("{name:NAME$}")), (None, value)], ..Self::default() }
    }

    /// The line without colours.
    pub fn text(&self) -> String {
        self.painted(false)
    }

    /// The line without spaces at its end.
    pub(super) fn trimmed(mut self) -> Self {
        while self.spans.last().is_some_and(|(_, text)| text.trim_end().is_empty()) {
            self.spans.pop();
        }
        if let Some((_, last)) = self.spans.last_mut() {
            last.truncate(last.trim_end().len());
        }
        self
    }

    /// The line with control sequences, if `color` is set.
    pub(super) fn painted(&self, color: bool) -> String {
        let painted = |(paint, text): &(Option<Paint>, String)| match paint {
            Some(paint) if color && !text.trim().is_empty() => format!("\u{1b}[{}m{text}\u{1b}[0m", *paint as u8),
            _ => text.clone(),
        };
        self.spans.iter().map(painted).collect()
    }
}
