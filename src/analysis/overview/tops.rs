//! The models, projects, tools and sessions of the last days as text: in a line, or in rows.

use super::compute::{Overview, Tool};
use super::style::{Look, Style, count, fitted, in_lines, is_narrow, name_of, share};
use super::sums::{Top, TopSession};
use crate::analysis::present::{UNKNOWN, both_ends, grouped, named, short, visible};
use crate::base::width::{cut, padded, width};

/// The rows of a list at each level; 0 is the line.
const ROWS: [usize; 5] = [0, 3, 5, 10, 20];

/// The number of sessions that the shortest form lists.
const SESSIONS: usize = 3;

/// The width of the name of a list in one line, with a space after it.
const LABEL: usize = 21;

/// The columns of numbers after the names.
const NUMBERS: usize = 40;

/// The narrowest column of names in a table.
const NARROWEST_NAMES: usize = 12;

/// A list of names by a measure.
#[derive(Clone, Copy)]
pub(super) enum List<'o> {
    /// Models or projects by cost, with what they are called and the number of days.
    Names(&'static str, &'o [Top], i64),
    /// Tools by errors, with the number of days.
    Tools(&'o [Tool], i64),
}

/// The widths of the columns of a list.
struct Numbers {
    names: usize,
    cells: [usize; 3],
}

/// A name with its cells.
struct Row<'o> {
    name: Option<&'o str>,
    cells: [String; 3],
    /// The measure where the list is one line.
    short: String,
}

impl<'o> List<'o> {
    /// The list at a level.
    pub fn lines(self, level: usize, width: usize, look: &Look) -> Vec<String> {
        let rows = self.rows(look);
        let shown = ROWS.get(level).copied().unwrap_or_default();
        if rows.is_empty() {
            return Vec::new();
        }
        let columns = Numbers::of(&rows, self.columns(), width);
        let names = columns.names;
        if shown == 0 || names < NARROWEST_NAMES {
            return self.short(&rows, width, look);
        }
        let title = match self {
            Self::Names(what, _, days) => format!("{what}, {}", name_of(days)),
            Self::Tools(_, days) => format!("tools with errors, {}", name_of(days)),
        };
        let mut head = vec![columns.line(&title, self.columns())];
        if title.len() > names {
            head = vec![title, columns.line("", self.columns())];
        }
        let mut lines: Vec<String> = head.iter().map(|line| look.styled(Style::Bold, line)).collect();
        lines.extend(rows.iter().take(shown).map(|Row { name, cells, .. }| {
            columns.line(&fitted(&shown_name(*name), names), cells.each_ref().map(String::as_str))
        }));
        lines.extend(more(rows.len(), shown, look));
        lines
    }

    /// The names of its columns of numbers.
    fn columns(self) -> [&'static str; 3] {
        match self {
            Self::Names(..) => ["cost", "share", "tokens"],
            Self::Tools(..) => ["errors", "of", "error rate"],
        }
    }

    /// The list in one line, of a narrow block in two or three: as many names as fit.
    fn short(self, rows: &[Row<'_>], columns: usize, look: &Look) -> Vec<String> {
        let label = match self {
            Self::Names(what, _, days) => format!("{what}, {days} days"),
            Self::Tools(_, days) => format!("tool errors, {days} days"),
        };
        if !is_narrow(columns) {
            let label = look.styled(Style::Bold, &format!("{label:LABEL$}"));
            return vec![label + &in_space(rows, columns.saturating_sub(LABEL))];
        }
        let names = in_space(rows, (2 * columns).saturating_sub(label.len() + 4));
        look.in_lines_after(&label, &format!(": {names}"), columns)
    }

    fn rows(self, look: &Look) -> Vec<Row<'o>> {
        match self {
            Self::Names(_, top, _) => {
                let all = top.iter().filter_map(|top| top.sums.cost_usd).sum::<f64>();
                top.iter().map(|top| row_of(top, all, look)).collect()
            }
            Self::Tools(tools, _) => tools.iter().map(row_of_tool).collect(),
        }
    }
}

/// As many names as fit in so many columns, at least one.
fn in_space(rows: &[Row<'_>], columns: usize) -> String {
    let names: Vec<&str> = rows.iter().map(|row| named(row.name)).collect();
    let mut text = String::new();
    for (index, (row, name)) in rows.iter().zip(&names).enumerate() {
        let separator = if index == 0 { "" } else { ", " };
        let is_alike = names.iter().filter(|other| last_parts(other, 1) == last_parts(name, 1)).count() > 1;
        // The signs of an escape are not separators of a path.
        let name = cut(&visible(last_parts(name, if is_alike { 2 } else { 1 })), 24);
        let next = format!("{text}{separator}{name} {}", row.short);
        let rest = rows.len() - index - 1;
        let and = if rest == 0 { String::new() } else { format!(", {rest} more") };
        if index > 0 && width(&next) + and.len() > columns {
            text = format!("{text}, {} more", rest + 1);
            break;
        }
        text = next;
    }
    text
}

impl Numbers {
    /// The usual widths; in a narrow block those of the cells.
    fn of(rows: &[Row<'_>], names: [&str; 3], columns: usize) -> Self {
        if !is_narrow(columns) {
            return Self { names: name_width(columns), cells: [14, 9, 12] };
        }
        let mut cells = names.map(str::len);
        for row in rows {
            for (widest, cell) in cells.iter_mut().zip(&row.cells) {
                *widest = (*widest).max(width(cell));
            }
        }
        let cells = cells.map(|cell| cell + 2);
        Self { names: columns.saturating_sub(cells.iter().sum()), cells }
    }

    fn line(&self, name: &str, [first, second, third]: [&str; 3]) -> String {
        let [a, b, c] = self.cells;
        // Some characters of a name are two columns wide.
        format!("{}{first:>a$}{second:>b$}{third:>c$}", padded(name, self.names))
    }
}

fn row_of<'o>(top: &'o Top, all: f64, look: &Look) -> Row<'o> {
    let known = |text: Option<String>| text.unwrap_or_else(|| UNKNOWN.to_owned());
    let share = known(share(top.sums, all));
    let tokens = known(top.sums.tokens().map(|tokens| short(tokens.into())));
    Row { name: top.name.as_deref(), short: share.clone(), cells: [look.cost(top.sums), share, tokens] }
}

fn row_of_tool(tool: &Tool) -> Row<'_> {
    let (errors, calls) = (grouped(tool.errors), grouped(tool.calls));
    let rate = format!("{:.0} %", count(tool.errors) / count(tool.calls) * 100.0);
    Row { name: tool.name.as_deref(), short: format!("{errors} of {calls}"), cells: [errors, calls, rate] }
}

/// The most expensive sessions, with the ids that `agentlogs show` takes.
pub(super) fn sessions(overview: &Overview, level: usize, columns: usize, look: &Look) -> Vec<String> {
    let sessions = &overview.sessions;
    if sessions.is_empty() {
        return Vec::new();
    }
    let shown = ROWS.get(level).copied().unwrap_or_default().max(SESSIONS);
    if is_narrow(columns) {
        let title = format!("sessions, {}", name_of(overview.top_days));
        let mut lines = vec![look.styled(Style::Bold, &title)];
        lines.extend(sessions.iter().take(shown).flat_map(|session| session_as_sentence(session, columns, look)));
        return lines;
    }
    let names = name_width(columns);
    let ids = sessions.iter().take(shown).map(|session| width(&visible(&session.short_id)));
    let ids = ids.max().unwrap_or_default().min(names / 2);
    let title = format!("sessions, {}", name_of(overview.top_days));
    let head = format!("{title:names$}{:>14}  {}", "cost", "model");
    let mut lines = vec![look.styled(Style::Bold, &head)];
    lines.extend(sessions.iter().take(shown).map(|session| session_as_text(session, ids, names, look)));
    lines
}

fn session_as_text(session: &TopSession, ids: usize, names: usize, look: &Look) -> String {
    let id = both_ends(&visible(&session.short_id), ids);
    let project = fitted(&shown_name(session.project.as_deref()), names.saturating_sub(ids + 2));
    let model = cut(&shown_name(session.model.as_deref()), NUMBERS - 16);
    format!("{}{project}{:>14}  {model}", padded(&id, ids + 2), look.cost(session.sums))
}

/// `01a1c4b2: $3.87, claude-opus-4-8, tidewater/storefront`.
fn session_as_sentence(session: &TopSession, width: usize, look: &Look) -> Vec<String> {
    let (id, cost) = (visible(&session.short_id), look.cost(session.sums));
    let project = visible(last_parts(named(session.project.as_deref()), 2));
    in_lines(&format!("{id}: {cost}, {}, {project}", shown_name(session.model.as_deref())), width, 2)
}

/// The columns for names in a block of this width, which is not a narrow one.
fn name_width(width: usize) -> usize {
    width.min(120).saturating_sub(NUMBERS)
}

fn shown_name(name: Option<&str>) -> String {
    visible(named(name)).into_owned()
}

/// The last names of a path.
fn last_parts(path: &str, parts: usize) -> &str {
    let separators: Vec<usize> =
        path.trim_end_matches(['/', '\\']).match_indices(['/', '\\']).map(|(at, _)| at).collect();
    let start = separators.len().checked_sub(parts).and_then(|index| separators.get(index)).map_or(0, |at| at + 1);
    path.get(start..).filter(|part| !part.is_empty()).unwrap_or(path)
}

/// A line about what is not listed.
pub(super) fn more(all: usize, shown: usize, look: &Look) -> Option<String> {
    let rest = all.checked_sub(shown).filter(|rest| *rest > 0)?;
    Some(look.styled(Style::Dim, &format!("and {} more", grouped(rest))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_characters_take_two_columns() {
        let columns = Numbers { names: 20, cells: [8, 6, 6] };
        for name in ["shop", "日本語の長い名", "é"] {
            let line = columns.line(&fitted(name, 20), ["1", "2", "3"]);
            assert_eq!(width(&line), 40, "{line}");
        }
    }

    /// The backslash of an escape is not a separator.
    #[test]
    fn names_with_harmful_characters_are_whole() {
        let row = |name| Row { name: Some(name), cells: Default::default(), short: "9 %".to_owned() };
        let rows = [row("/home/ann/a\u{202e}evil"), row("C:\\work\\shop")];
        assert_eq!(in_space(&rows, 60), "a\\u{202e}evil 9 %, shop 9 %");
    }

    #[test]
    fn paths_are_shortened_to_their_last_names() {
        assert_eq!(last_parts("/home/ann/shop", 1), "shop");
        assert_eq!(last_parts("/home/ann/shop/", 2), "ann/shop/");
        assert_eq!(last_parts("C:\\work\\shop", 1), "shop");
        assert_eq!(["shop", "/shop", "/", ""].map(|path| last_parts(path, 2)), ["shop", "/shop", "/", ""]);
    }
}
