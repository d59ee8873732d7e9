//! The state as cells of a terminal. Nothing is computed that is not visible.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::widgets::Widget;

use super::browser::Browser;
use super::columns::{columns, gap};
use super::cursor::Cursor;
use super::pane::{Kind, Pane};
use crate::analysis::present::{grouped, visible};
use crate::analysis::show::{Paint, TextLine};
use crate::base::width::{cut, width as width_of};

/// The smallest terminal.
const SMALLEST: (u16, u16) = (40, 10);

const REVERSED: Style = Style::new().add_modifier(Modifier::REVERSED);
const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);

impl Widget for &Browser {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        if area.width < SMALLEST.0 || area.height < SMALLEST.1 {
            let text = format!("at least {}x{} needed, this is {}x{}", SMALLEST.0, SMALLEST.1, area.width, area.height);
            buffer.set_stringn(area.x, area.y, text, area.width.into(), Style::new());
            return;
        }
        let canvas = Canvas { browser: self, area };
        canvas.text(buffer, 0, &canvas.title(), BOLD);
        match self.panes.last() {
            Some(pane) => canvas.pane(buffer, pane),
            None => canvas.list(buffer),
        }
        canvas.text(buffer, area.height - 1, &canvas.bottom(), canvas.color(Color::Cyan));
    }
}

/// Where everything is drawn.
#[derive(Clone, Copy)]
struct Canvas<'a> {
    browser: &'a Browser,
    area: Rect,
}

impl Canvas<'_> {
    fn width(self) -> usize {
        self.area.width.into()
    }

    /// A colour, if there are colours.
    fn color(self, color: Color) -> Style {
        if self.browser.look.color { Style::new().fg(color) } else { Style::new() }
    }

    fn style(self, paint: Option<Paint>) -> Style {
        match paint {
            None => Style::new(),
            Some(Paint::Bold) => BOLD,
            Some(Paint::Dim) if self.browser.look.color => Style::new().add_modifier(Modifier::DIM),
            Some(Paint::Dim) => Style::new(),
            Some(Paint::Red) => self.color(Color::Red),
            Some(Paint::Green) => self.color(Color::Green),
            Some(Paint::Yellow) => self.color(Color::Yellow),
        }
    }

    /// Writes a line of one style.
    fn text(self, buffer: &mut Buffer, row: u16, text: &str, style: Style) {
        buffer.set_stringn(self.area.x, self.area.y + row, cut(text, self.width()), self.width(), style);
    }

    /// Writes a line.
    fn line(self, buffer: &mut Buffer, row: u16, line: &TextLine) {
        let mut used = 0;
        for (paint, text) in &line.spans {
            let text = cut(text, self.width().saturating_sub(used));
            let column = u16::try_from(used).unwrap_or(u16::MAX).min(self.area.width - 1);
            buffer.set_stringn(
                self.area.x + column,
                self.area.y + row,
                &text,
                self.width().saturating_sub(used),
                self.style(*paint),
            );
            used += width_of(&text);
            if used >= self.width() {
                break;
            }
        }
    }

    /// Writes the visible rows with the selected one in reverse.
    fn rows(
        self,
        buffer: &mut Buffer,
        first: u16,
        cursor: Cursor,
        count: usize,
        row: impl Fn(usize, u16, &mut Buffer),
    ) {
        let height = self.area.height.saturating_sub(first + 1);
        for (offset, index) in (0..height).zip(cursor.top..count) {
            row(index, first + offset, buffer);
            if index == cursor.selected {
                let line = Rect { y: self.area.y + first + offset, height: 1, ..self.area };
                buffer.set_style(line, REVERSED);
            }
        }
    }

    fn list(self, buffer: &mut Buffer) {
        let (sessions, look) = (&self.browser.sessions, &self.browser.look);
        let columns = columns(sessions, look, self.width());
        let gap = " ".repeat(gap(self.width()));
        let heads: Vec<String> = columns.iter().map(super::columns::Column::head).collect();
        self.text(buffer, 1, heads.join(&gap).trim_end(), BOLD);
        if sessions.all_count() == 0 && !self.browser.is_loading() {
            self.text(buffer, 2, self.why_empty(), Style::new());
        }
        self.rows(buffer, 2, sessions.cursor, sessions.count(), |index, row, buffer| {
            if let Some(session) = sessions.at(index) {
                let cells: Vec<String> = columns.iter().map(|column| column.cell(session, look)).collect();
                let failed = session.status.as_deref() == Some("error") || session.verdict.as_deref() == Some("failed");
                let style = if failed { self.color(Color::Red) } else { Style::new() };
                self.text(buffer, row, cells.join(&gap).trim_end(), style);
            }
        });
    }

    /// Why there are no sessions.
    fn why_empty(self) -> &'static str {
        let scope = &self.browser.scope;
        if scope.since.is_none() && scope.until.is_none() && scope.only.is_empty() {
            "no sessions yet; `agentlogs ingest PATH` reads logs"
        } else {
            "no session passes the options"
        }
    }

    fn pane(self, buffer: &mut Buffer, pane: &Pane) {
        let mut first = 1;
        for line in &pane.head {
            self.line(buffer, first, line);
            first += 1;
        }
        self.rows(buffer, first, pane.cursor, pane.rows.len(), |index, row, buffer| {
            if let Some(line) = pane.rows.get(index) {
                self.line(buffer, row, line);
            }
        });
    }

    /// The first line: what is shown, the filters, and the position.
    fn title(self) -> String {
        let sessions = &self.browser.sessions;
        let position = |cursor: Cursor, count: usize| {
            let row = if count == 0 { 0 } else { cursor.selected + 1 };
            format!("{} of {}", grouped(row), grouped(count))
        };
        let (mut title, position) = if let Some(pane) = self.browser.panes.last() {
            (pane.title(), position(pane.cursor, pane.rows.len()))
        } else {
            let of = match sessions.all_count() {
                all if all == sessions.count() => String::new(),
                all => format!(" ({} in all)", grouped(all)),
            };
            let direction = if sessions.descends { "descending" } else { "ascending" };
            let title = format!("sessions by {}, {direction}", sessions.sort.name());
            (title, format!("{}{of}", position(sessions.cursor, sessions.count())))
        };
        let filters = match self.browser.panes.last().map(|pane| &pane.kind) {
            None => sessions.filters.words(),
            Some(Kind::Report(_)) => sessions.filters.of_reports().words(),
            Some(_) => Vec::new(),
        };
        if !filters.is_empty() {
            title = format!("{title}  {}", filters.join(" "));
        }
        let title = visible(&title.split('\n').collect::<Vec<_>>().join(" ")).into_owned();
        let space = self.width().saturating_sub(width_of(&position) + 2);
        let title = cut(&title, space);
        format!("{title}{:1$}{position}", "", self.width().saturating_sub(width_of(&title) + width_of(&position)))
    }

    /// The last line: what is being written, a message, or the main keys.
    fn bottom(self) -> String {
        if let Some(prompt) = &self.browser.prompt {
            return visible(&format!("/{}_", prompt.text)).into_owned();
        }
        if self.browser.is_loading() {
            return "reading ...".to_owned();
        }
        if let Some(message) = &self.browser.message {
            return message.clone();
        }
        match self.browser.panes.last().map(|pane| &pane.kind) {
            None if self.browser.sessions.count() == 0 && !self.browser.sessions.filters.is_empty() => {
                "no session passes the filters; x removes them, ? keys"
            }
            None => "? keys  Enter open  / m p v f d filter  s sort  t tree  Tab reports  q quit",
            Some(Kind::Timeline { .. }) => "? keys  Enter details  / search  ] failure  t tree  e log  a all  Esc back",
            Some(Kind::Tree(_)) => "Enter open  Esc back  ? keys",
            Some(Kind::Details { .. }) => "e log  Esc back  ? keys",
            Some(Kind::Choice(..)) => "Enter choose  / search  Esc back",
            Some(Kind::Reports) => "Enter open  / search  Tab sessions  ? keys",
            Some(Kind::Report(report)) => {
                let dimension = if report.has_dimensions() { "b dimension  " } else { "" };
                let sessions = if report.leads_to_sessions() { "Enter sessions  " } else { "" };
                return format!("{dimension}s sort  {sessions}Esc back  ? keys");
            }
            Some(Kind::Keys) => "Esc back",
        }
        .to_owned()
    }
}
