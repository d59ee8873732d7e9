//! The timeline as text: the facts of the session, then a line per entry, below the names of the phases.

use std::fmt::Write as _;

use super::collapsed::{Line, collapsed};
use super::entry::{Entry, Kind, Phase};
use super::fact_lines::{lines_of_fact, value_as_text};
use super::find::SessionKey;
use super::spans::{Paint, Target, TextLine};
use super::style::{MIN_TEXT, TextStyle, fitted};
use super::timeline::Timeline;
use crate::analysis::present::{counted, grouped, markdown_text, short, short_time};
use crate::base::width::width as width_of;
use crate::store::frames::turns;

/// The width of the number of a response.
const TURN: usize = 5;
/// The columns before the text: the time since the start, the number of the response, and a space.
const BEFORE: usize = 16;

/// A column of an entry after its text.
#[derive(Clone, Copy)]
struct Column {
    name: &'static str,
    /// With the space before it; at first the most that it takes.
    width: usize,
    value: fn(&Entry, &TextStyle) -> String,
}

/// The columns. If the terminal is too narrow, the last ones of [`HIDDEN_FIRST`] are kept longest.
const COLUMNS: [Column; 5] = [
    Column { name: "status", width: 12, value: |entry, _| status(entry) },
    Column { name: "duration", width: 10, value: |entry, style| duration(entry.duration_ms, style) },
    Column { name: "context", width: 9, value: |entry, style| tokens(entry.context_tokens, style) },
    Column { name: "output", width: 8, value: |entry, style| tokens(entry.output_tokens, style) },
    Column { name: turns::COST_USD, width: 10, value: cost },
];

/// How much wider columns are whose numbers are not abbreviated.
const WIDER: usize = 5;

/// The order in which columns are hidden.
const HIDDEN_FIRST: [&str; 5] = ["output", "context", "duration", turns::COST_USD, "status"];

/// Columns that are hidden before a text is cut that is no wider than [`USUAL_TEXT`].
const HIDDEN_FOR_TEXT: [&str; 2] = ["output", "context"];

/// The width of most texts.
const USUAL_TEXT: usize = 48;

impl Timeline {
    /// The timeline as text.
    pub fn text(&self, style: &TextStyle) -> String {
        self.text_lines(style).iter().fold(String::new(), |mut out, line| {
            let _ = writeln!(out, "{}", line.painted(style.color));
            out
        })
    }

    /// The timeline as lines of text: the facts, the tree, and the entries.
    pub fn text_lines(&self, style: &TextStyle) -> Vec<TextLine> {
        let mut out = Vec::new();
        for (name, value) in &self.facts {
            out.extend(lines_of_fact(name, value, style));
        }
        out.extend(self.tree_lines(style));
        let lines = self.lines(style);
        let widest =
            lines.iter().filter(|(_, line, _)| has_values(&line.entry, style)).map(|(_, _, text)| width_of(text));
        let widest = widest.max().unwrap_or_default() + 2;
        let columns = columns(&lines, widest, style);
        // Numbers are near the texts that they belong to.
        let text_width = style.width.saturating_sub(width_of_all(&columns)).min(widest).max(MIN_TEXT);
        let mut head = format!("{:>8} {:>5}  {:text_width$}", "time", "turn", "");
        for column in &columns {
            let _ = write!(head, "{:>1$}", style.currency.name_of(column.name), column.width);
        }
        out.push(TextLine::default());
        out.push(TextLine::of(Paint::Bold, head.trim_end().to_owned()));
        let shown = Shown { timeline: self, style, columns: &columns, text_width };
        let (first, others) = lines.split_at(style.lines_of(lines.len()));
        for (phase, line, text) in first {
            out.extend(phase.clone().map(|phase| TextLine::of(Paint::Bold, phase)));
            out.push(shown.line(line, text));
        }
        if !others.is_empty() {
            out.push(TextLine { spans: vec![(None, others_of(others.len()))], ..TextLine::default() });
        }
        out
    }

    /// The tree of the session as lines of text; none if there is nothing below the session.
    pub fn tree_lines(&self, style: &TextStyle) -> Vec<TextLine> {
        let line = |(index, (session, text)): (usize, (Option<String>, String))| TextLine {
            target: session.map(|id| Target::Session(SessionKey { id, runtime: self.key.runtime.clone() })),
            ..TextLine::of_fact(if index == 0 { "tree" } else { "" }, text)
        };
        self.tree.lines(style).into_iter().enumerate().map(line).collect()
    }

    /// The lines of the timeline: the phase that begins with one, the line, and its text.
    fn lines(&self, style: &TextStyle) -> Vec<(Option<String>, Line, String)> {
        let lines = if style.is_whole { Line::of_each(&self.entries) } else { collapsed(&self.entries) };
        let mut last_phase = None;
        let mut last_models = [None, None];
        let mut begun = None;
        let mut shown = Vec::with_capacity(lines.len());
        for line in lines {
            if line.entry.phase != last_phase {
                last_phase = line.entry.phase;
                begun = line.entry.phase.map(|phase| self.phase_line(phase, line.first, style));
            }
            let Some(text) = self.text_of(line.first, &mut last_models) else { continue };
            let text = if line.count > 1 { format!("{text} ×{}", line.count) } else { text };
            shown.push((begun.take(), line, text));
        }
        shown
    }

    /// The session as a document of Markdown: the facts as a list, the timeline as a table.
    pub fn markdown(&self, style: &TextStyle) -> String {
        let mut out = String::new();
        let id = self.session.name.as_deref().unwrap_or_default();
        let _ = writeln!(out, "# Session {}\n", markdown_text(id));
        for (name, value) in self.facts.iter().filter(|(name, _)| *name != "session") {
            let _ = writeln!(out, "- {name}: {}", markdown_text(&value_as_text(value, style)));
        }
        out.push_str(&self.tree.markdown(style));
        let names = COLUMNS.map(|column| style.currency.name_of(column.name));
        let _ = writeln!(out, "\n| time | turn | phase | entry | {} |", names.join(" | "));
        let _ = writeln!(out, "| ---: | ---: | --- | --- | --- | ---: | ---: | ---: | ---: |");
        let mut last_models = [None, None];
        let with_text = |(index, entry)| Some((entry, self.text_of(index, &mut last_models)?));
        let lines: Vec<(&Entry, String)> = self.entries.iter().enumerate().filter_map(with_text).collect();
        let (first, others) = lines.split_at(style.lines_of(lines.len()));
        for (entry, text) in first {
            let phase = entry.phase.map(Phase::as_str).unwrap_or_default();
            let turn = entry.turn.map(|turn| turn.to_string()).unwrap_or_default();
            let values = COLUMNS.map(|column| markdown_text(&(column.value)(entry, style)));
            let _ = writeln!(
                out,
                "| {} | {turn} | {phase} | {} | {} |",
                self.offset(entry),
                markdown_text(text),
                values.join(" | ")
            );
        }
        if !others.is_empty() {
            let _ = writeln!(out, "\n{}", others_of(others.len()));
        }
        out
    }

    /// The name of a phase that begins with this entry, with what it contains.
    fn phase_line(&self, phase: Phase, first: usize, style: &TextStyle) -> String {
        let entries = self.entries.get(first..).unwrap_or_default();
        let count = entries.iter().take_while(|entry| entry.phase == Some(phase)).count();
        let (own, after) = entries.split_at(count);
        let of_kind = |kind: Kind| own.iter().filter(|entry| entry.kind == kind).count();
        let time = |entries: &[Entry]| entries.iter().find_map(|entry| entry.time);
        // A session that continues this one may have begun days later.
        let last = || own.iter().rev().filter(|entry| entry.kind != Kind::Child).find_map(|entry| entry.time);
        let end = time(after).or_else(last);
        let duration = time(own).zip(end).map(|(start, end)| end.saturating_sub(start) / 1000);
        let costs: Vec<f64> = own.iter().filter(|it| it.kind == Kind::Turn).filter_map(|it| it.cost_usd).collect();
        let mut parts = Vec::new();
        for (kind, thing) in [(Kind::Turn, "turn"), (Kind::Call, "call")] {
            if of_kind(kind) > 0 {
                parts.push(counted(of_kind(kind), thing));
            }
        }
        parts.extend(duration.filter(|duration| *duration > 0).map(|duration| short_time(duration.into())));
        if !costs.is_empty() {
            parts.push(style.currency.amount(costs.iter().sum()));
        }
        format!("{}: {}", phase.as_str(), parts.join(", "))
    }

    /// A path relative to the directory or the project of the session, if it is below one.
    fn in_project<'t>(&self, path: &'t str) -> &'t str {
        let below = |directory: &String| {
            let rest = path.strip_prefix(directory.trim_end_matches(['/', '\\']))?;
            rest.strip_prefix(['/', '\\']).filter(|rest| !rest.is_empty())
        };
        self.directories.iter().find_map(below).unwrap_or(path)
    }

    /// What a line of the timeline leads to: a session that this one started, else the entry.
    fn target(&self, line: &Line) -> Target {
        let child = line.entry.name.clone().filter(|_| line.entry.kind == Kind::Child);
        child.map_or(Target::Entry(line.first), |id| {
            Target::Session(SessionKey { id, runtime: self.key.runtime.clone() })
        })
    }

    /// The time since the start of the session.
    pub(super) fn offset(&self, entry: &Entry) -> String {
        let offset = entry.time.zip(self.session.time).map(|(time, start)| time.saturating_sub(start) / 1000);
        offset.map(|offset| short_time(offset.into())).unwrap_or_default()
    }

    /// What an entry is, as text. `None` for a change that the line of its call contains.
    fn text_of(&self, index: usize, last_models: &mut [Option<String>; 2]) -> Option<String> {
        let entry = self.entries.get(index)?;
        let next = |offset: usize| self.entries.get(index + offset);
        let is_change = entry.kind == Kind::Edit;
        let name =
            entry.name.as_deref().map(|name| if is_change { self.in_project(name) } else { name }).unwrap_or_default();
        let is_call = entry.kind == Kind::Call;
        let detail =
            entry.detail.as_deref().map(|text| if is_call { self.in_project(text) } else { text }).unwrap_or_default();
        let agent = entry.agent.as_deref().filter(|_| entry.is_subagent);
        let text = match entry.kind {
            Kind::Turn => {
                let mut words = vec![agent.unwrap_or(if entry.is_subagent { "subagent" } else { "response" })];
                let [of_main, of_subagents] = last_models;
                let last_model = if entry.is_subagent { of_subagents } else { of_main };
                if entry.name.is_some() && entry.name != *last_model {
                    words.push(name);
                }
                last_model.clone_from(&entry.name);
                words.join(" ")
            }
            Kind::Total => {
                let tokens = shown(entry.total_tokens, short);
                format!("in sum: {tokens} tokens {name}")
            }
            Kind::Call => {
                let kind = entry.command_kind.as_ref().map(|kind| format!("({kind})")).unwrap_or_default();
                let change = next(1).filter(|next| is_change_of(next, entry));
                let change = change.filter(|_| !next(2).is_some_and(|next| is_change_of(next, entry)));
                let lines = change.map(lines).unwrap_or_default();
                let words = [name, detail, kind.as_str(), lines.as_str()];
                let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
                format!("  {}", words.join(" "))
            }
            Kind::Edit => {
                let before = index.checked_sub(1).and_then(|index| self.entries.get(index));
                let is_in_line = before.is_some_and(|before| before.kind == Kind::Call && is_change_of(entry, before));
                if is_in_line && !next(1).is_some_and(|next| before.is_some_and(|call| is_change_of(next, call))) {
                    return None;
                }
                format!("    {} {name} {}", entry.status.as_deref().unwrap_or("change"), lines(entry))
            }
            Kind::Child => format!("  started session {name} {detail}"),
            Kind::Compaction => {
                let size = |word: &str, tokens: Option<i64>| tokens.map(|it| format!(" {word} {}", short(it.into())));
                let sizes = [size("from", entry.tokens_before), size("to", entry.tokens_after)];
                let name = if name.is_empty() { String::new() } else { format!(" {name}") };
                format!("compaction{name}{}", sizes.into_iter().flatten().collect::<String>())
            }
            kind => {
                let words = [kind.as_str().replace('_', " "), name.to_owned()];
                let words: Vec<String> = words.into_iter().filter(|word| !word.is_empty()).collect();
                let colon = if detail.is_empty() { "" } else { ": " };
                format!("{}{colon}{detail}", words.join(" "))
            }
        };
        let indent = if entry.is_subagent { "  " } else { "" };
        Some(format!("{indent}{}", text.trim_end()))
    }
}

/// That there are more lines.
fn others_of(count: usize) -> String {
    format!("{} more (--limit 0)", counted(count, "line"))
}

/// What is the same for all lines.
struct Shown<'a> {
    timeline: &'a Timeline,
    style: &'a TextStyle,
    columns: &'a [Column],
    text_width: usize,
}

impl Shown<'_> {
    fn line(&self, line: &Line, text: &str) -> TextLine {
        let Self { timeline, style, columns, text_width } = *self;
        let entry = &line.entry;
        let turn = entry.turn.filter(|_| entry.kind == Kind::Turn).map(|turn| turn.to_string()).unwrap_or_default();
        let turn = match line.last_turn.filter(|_| entry.kind == Kind::Turn) {
            Some(last) if turn.len() + last.to_string().len() < TURN => format!("{turn}-{last}"),
            Some(_) => format!("{turn}-"),
            None => turn,
        };
        let time = format!("{:>8}", timeline.offset(entry));
        let is_path = matches!(entry.kind, Kind::Call | Kind::Edit);
        let values: Vec<String> = columns.iter().map(|column| (column.value)(entry, style)).collect();
        let has_values = values.iter().any(|value| !value.is_empty());
        // A message may use the space of empty columns.
        let width = if has_values { text_width.saturating_sub(1) } else { style.width.saturating_sub(BEFORE) };
        let text = fitted(text, width, is_path);
        let padding = text_width.saturating_sub(width_of(&text));
        let colour = match (entry.kind, entry.status.as_deref()) {
            (Kind::Error | Kind::Abort | Kind::Validation, _) | (Kind::Call, Some("error")) => Some(Paint::Red),
            (Kind::Denial | Kind::Retry | Kind::Compaction, _)
            | (Kind::Call, Some("denied" | "incomplete" | "cancelled")) => Some(Paint::Yellow),
            (Kind::Edit, _) => Some(Paint::Green),
            _ => None,
        };
        let mut rest = format!("{:padding$}", "");
        for (column, value) in columns.iter().zip(values) {
            let value = fitted(&value, column.width.saturating_sub(1), false);
            let _ = write!(rest, "{:1$}{value}", "", column.width.saturating_sub(width_of(&value)));
        }
        let spans = vec![(Some(Paint::Dim), time), (None, format!(" {turn:>5}  ")), (colour, text), (None, rest)];
        TextLine { spans, target: Some(timeline.target(line)), has_failed: colour == Some(Paint::Red) }.trimmed()
    }
}

/// The columns that have a value and space beside texts of which the widest is `widest` columns wide.
fn columns(lines: &[(Option<String>, Line, String)], widest: usize, style: &TextStyle) -> Vec<Column> {
    let fitted = |mut column: Column| {
        let values = lines.iter().map(|(_, line, _)| width_of(&(column.value)(&line.entry, style)));
        let value = values.max().filter(|width| *width > 0)?;
        let most = column.width + if style.is_exact && column.name != "status" { WIDER } else { 0 };
        column.width = most.min(value.max(width_of(&style.currency.name_of(column.name))) + 2);
        Some(column)
    };
    let mut columns: Vec<Column> = COLUMNS.into_iter().filter_map(fitted).collect();
    for name in HIDDEN_FIRST {
        let least = if HIDDEN_FOR_TEXT.contains(&name) { widest.clamp(MIN_TEXT, USUAL_TEXT) } else { MIN_TEXT };
        if width_of_all(&columns) + least > style.width {
            columns.retain(|column| column.name != name);
        }
    }
    columns
}

/// The width of these columns, and of what is before a text.
fn width_of_all(columns: &[Column]) -> usize {
    BEFORE + columns.iter().map(|column| column.width).sum::<usize>()
}

/// Whether a change was made by a call, in the same file.
fn is_change_of(change: &Entry, call: &Entry) -> bool {
    let key = change.call_key();
    change.kind == Kind::Edit && key.is_some() && key == call.call_key() && call.names_file_of(change)
}

/// The lines that a change added and removed: `+3 -1`.
fn lines(change: &Entry) -> String {
    let signed = |sign: char, count: Option<i64>| count.map(|count| format!("{sign}{count}"));
    let words = [signed('+', change.lines_added), signed('-', change.lines_removed)];
    words.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// Whether an entry has numbers or a status.
fn has_values(entry: &Entry, style: &TextStyle) -> bool {
    COLUMNS.iter().any(|column| !(column.value)(entry, style).is_empty())
}

fn status(entry: &Entry) -> String {
    match (entry.kind, entry.status.as_deref(), entry.exit_code) {
        (Kind::Edit, _, _) | (_, None, _) => String::new(),
        (Kind::Call, Some(status), Some(code)) if code != 0 => format!("{status} {code}"),
        (_, Some(status), _) => status.to_owned(),
    }
}

fn shown(value: Option<i64>, text: fn(i128) -> String) -> String {
    value.map(|value| text(value.into())).unwrap_or_default()
}

fn tokens(count: Option<i64>, style: &TextStyle) -> String {
    count.map(|count| if style.is_exact { grouped(count) } else { short(count.into()) }).unwrap_or_default()
}

fn duration(ms: Option<i64>, style: &TextStyle) -> String {
    ms.map(|ms| if style.is_exact { format!("{} ms", grouped(ms)) } else { short_time(ms.into()) }).unwrap_or_default()
}

fn cost(entry: &Entry, style: &TextStyle) -> String {
    let decimals = if style.is_exact { 8 } else { 4 };
    entry
        .cost_usd
        .map(|cost| format!("{:.decimals$}", style.currency.value_of(turns::COST_USD, cost)))
        .unwrap_or_default()
}
