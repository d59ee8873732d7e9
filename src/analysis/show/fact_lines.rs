//! Facts as lines of text: what is wider than the terminal continues below, and paths keep their end.

use jiff::Timestamp;

use super::facts::Value;
use super::spans::TextLine;
use super::style::{MIN_TEXT, NAME, TextStyle};
use crate::analysis::present::{path_end, short_time, visible};
use crate::base::text::one_line;
use crate::base::width::{cut, divided, packed, width as width_of};

/// The most lines of a fact, and those of texts of a conversation.
const MOST_LINES: usize = 8;
const MOST_OF_CONVERSATION: usize = 3;

/// A fact as lines: its name is before the first one.
pub(super) fn lines_of_fact(name: &str, value: &Value, style: &TextStyle) -> Vec<TextLine> {
    let columns = style.width.saturating_sub(NAME).max(MIN_TEXT);
    let lines = if let Value::Path(path, after) = value {
        lines_of_path(&shown(path), &visible(after), columns)
    } else {
        let most = if matches!(name, "prompt" | "answer") { MOST_OF_CONVERSATION } else { MOST_LINES };
        lines_of_text(&shown(&value_as_text(value, style)), columns, most)
    };
    let names = std::iter::once(name).chain(std::iter::repeat(""));
    names.zip(lines).map(|(name, line)| TextLine::of_fact(name, line)).collect()
}

/// A text of one line, without effects on the terminal.
fn shown(text: &str) -> String {
    visible(&one_line(text)).into_owned()
}

/// A path that keeps its end, with what follows it on the same line, if that leaves enough of the path.
fn lines_of_path(path: &str, after: &str, columns: usize) -> Vec<String> {
    let available = columns.saturating_sub(width_of(after));
    if available >= MIN_TEXT.min(width_of(path)) {
        return vec![format!("{}{after}", path_end(path, available))];
    }
    let mut lines = vec![path_end(path, columns)];
    lines.extend(lines_of_text(after.trim_start(), columns, MOST_LINES));
    lines
}

/// Lines of a text that end after commas, where an item of a list fits a line, else between words.
fn lines_of_text(text: &str, columns: usize, most: usize) -> Vec<String> {
    let items = text.split_inclusive(", ").flat_map(|part| part.split_inclusive("; ")).map(str::trim);
    let words = |item: &'_ str| -> Vec<String> {
        if width_of(item) <= columns {
            return vec![item.to_owned()];
        }
        item.split(' ').flat_map(|word| divided(word, columns)).map(str::to_owned).collect()
    };
    let mut lines = packed(items.flat_map(words), columns);
    if let (true, Some(last)) = (lines.len() > most, lines.get_mut(most - 1)) {
        *last = cut(&format!("{last} …"), columns);
        lines.truncate(most);
    }
    lines
}

/// A value as one line of text.
pub(super) fn value_as_text(value: &Value, style: &TextStyle) -> String {
    let local = |micros: i64, form: &str| {
        let moment = Timestamp::from_microsecond(micros).ok();
        moment.map(|moment| moment.to_zoned(style.zone.clone()).strftime(form).to_string()).unwrap_or_default()
    };
    match value {
        Value::Text(text) => text.clone(),
        Value::Path(path, after) => format!("{path}{after}"),
        Value::Period { start, end, duration_ms } => {
            const DAY: &str = "%Y-%m-%d";
            let end = end.filter(|end| end != start).map(|end| {
                let form = if local(end, DAY) == local(*start, DAY) { "%H:%M:%S" } else { "%Y-%m-%d %H:%M:%S" };
                format!(" to {}", local(end, form))
            });
            let duration = duration_ms.map(|duration| format!(", {}", short_time(duration.into())));
            let zone = style.zone.iana_name().unwrap_or("local time");
            let start = local(*start, "%Y-%m-%d %H:%M:%S");
            format!("{start}{} {zone}{}", end.unwrap_or_default(), duration.unwrap_or_default())
        }
        Value::Cost(dollars, about) if about.is_empty() => style.currency.amount(*dollars),
        Value::Cost(dollars, about) => format!("{} ({about})", style.currency.amount(*dollars)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fact_continues_below_its_name() {
        let work = "2 prompts, 10 turns, 15 file changes +0 -681";
        assert_eq!(lines_of_text(work, 40, 8), ["2 prompts, 10 turns,", "15 file changes +0 -681"]);
        assert_eq!(lines_of_text("a sentence without commas", 12, 8), ["a sentence", "without", "commas"]);
        assert_eq!(lines_of_text("one, aaaabbbbcc two", 4, 8), ["one,", "aaaa", "bbbb", "cc", "two"]);
        assert_eq!(lines_of_text("one two three four", 5, 2), ["one", "two …"]);
    }

    #[test]
    fn a_path_keeps_its_end() {
        let path = "/home/ann/.codex/sessions/2026/11/rollout-2026-11-03.jsonl";
        assert_eq!(lines_of_path(path, "", 40), ["…/2026/11/rollout-2026-11-03.jsonl"]);
        assert_eq!(
            lines_of_path("/home/ann/work/shop/of/a/long/path", " on main", 34),
            ["…/work/shop/of/a/long/path on main"]
        );
        assert_eq!(
            lines_of_path("/home/ann/work/shop/of/a/long/path", " on a-branch-of-a-long-name", 34),
            ["/home/ann/work/shop/of/a/long/path", "on a-branch-of-a-long-name"]
        );
        assert_eq!(lines_of_path("shop", " on main", 24), ["shop on main"]);
    }
}
