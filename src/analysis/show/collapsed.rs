//! Repeated entries of a timeline as one line: `Bash gh (vcs) ×10`.

use super::entry::{Entry, Kind};

/// The smallest number of equal responses in a row that are one line.
const FEWEST: usize = 3;

/// A line of the timeline: an entry, or several equal ones in a row.
#[derive(Debug, Clone)]
pub(super) struct Line {
    /// The entry, with the sums over all of them.
    pub entry: Entry,
    /// The position of the first one in the timeline.
    pub first: usize,
    /// Their number.
    pub count: usize,
    /// The number of the last response, if it is another one than that of the entry.
    pub last_turn: Option<i64>,
}

impl Line {
    /// A line for each entry.
    pub(super) fn of_each(entries: &[Entry]) -> Vec<Self> {
        entries.iter().enumerate().map(|(first, entry)| Self::of(entry, first)).collect()
    }

    fn of(entry: &Entry, first: usize) -> Self {
        Self { entry: entry.clone(), first, count: 1, last_turn: None }
    }

    /// Adds an equal entry.
    fn add(&mut self, other: &Entry) {
        let sum = |a: Option<i64>, b: Option<i64>| match (a, b) {
            (Some(a), Some(b)) => Some(a.saturating_add(b)),
            (a, b) => a.or(b),
        };
        self.count += 1;
        self.last_turn = other.turn.filter(|turn| self.entry.turn != Some(*turn));
        let entry = &mut self.entry;
        entry.duration_ms = sum(entry.duration_ms, other.duration_ms);
        entry.output_tokens = sum(entry.output_tokens, other.output_tokens);
        entry.cost_usd = match (entry.cost_usd, other.cost_usd) {
            (Some(a), Some(b)) => Some(a + b),
            (a, b) => a.or(b),
        };
        // The size of the context is that of the last one.
        entry.context_tokens = other.context_tokens.or(entry.context_tokens);
    }
}

/// The entries as lines. Equal calls of a response in a row are one line, and so are at least three responses in a row that have nothing
/// but equal calls.
pub(super) fn collapsed(entries: &[Entry]) -> Vec<Line> {
    let blocks = blocks(entries);
    let mut lines: Vec<Line> = Vec::with_capacity(entries.len());
    let mut rest = &blocks[..];
    while let Some((first, others)) = rest.split_first() {
        let equal = others.iter().take_while(|other| are_equal_responses(first, other)).count();
        if equal + 1 < FEWEST {
            lines.extend(first.iter().cloned());
            rest = others;
            continue;
        }
        let (repeated, after) = others.split_at(equal);
        let mut merged = first.clone();
        for block in repeated {
            for (line, other) in merged.iter_mut().zip(block.iter()) {
                let count = line.count + other.count;
                line.add(&other.entry);
                line.count = count;
            }
        }
        lines.extend(merged);
        rest = after;
    }
    lines
}

/// A response with what belongs to it, or another entry; equal calls in a row are one line.
type Block = Vec<Line>;

fn blocks(entries: &[Entry]) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    for (position, entry) in entries.iter().enumerate() {
        let next = entries.get(position + 1);
        let is_followed_by_change = next.is_some_and(|next| next.kind == Kind::Edit);
        let belongs = matches!(entry.kind, Kind::Call | Kind::Edit);
        match blocks.last_mut().filter(|_| belongs) {
            Some(block) => match block.last_mut() {
                Some(last) if !is_followed_by_change && are_equal_calls(&last.entry, entry) => last.add(entry),
                _ => block.push(Line::of(entry, position)),
            },
            None => blocks.push(vec![Line::of(entry, position)]),
        }
    }
    blocks
}

/// Whether both are a response with one call, and the second one repeats the first.
fn are_equal_responses(first: &Block, second: &Block) -> bool {
    let ([turn, call], [other_turn, other_call]) = (&first[..], &second[..]) else { return false };
    let (a, b) = (&turn.entry, &other_turn.entry);
    let are_equal = (&a.name, &a.agent, a.is_subagent, &a.status, a.phase)
        == (&b.name, &b.agent, b.is_subagent, &b.status, b.phase);
    let are_responses = a.kind == Kind::Turn && b.kind == Kind::Turn;
    are_responses && are_equal && are_equal_calls(&call.entry, &other_call.entry)
}

/// Whether two calls have the same line, and neither failed.
fn are_equal_calls(a: &Entry, b: &Entry) -> bool {
    let has_failed = |entry: &Entry| !matches!(entry.status.as_deref(), None | Some("ok"));
    let what =
        |entry: &Entry| (entry.name.clone(), entry.detail.clone(), entry.command_kind.clone(), entry.is_subagent);
    a.kind == Kind::Call && b.kind == Kind::Call && !has_failed(a) && !has_failed(b) && what(a) == what(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(number: i64) -> Entry {
        Entry { kind: Kind::Turn, turn: Some(number), cost_usd: Some(0.5), output_tokens: Some(10), ..Entry::default() }
    }

    fn call(number: i64, detail: &str, status: &str) -> Entry {
        let (detail, status) = (Some(detail.to_owned()), Some(status.to_owned()));
        Entry { kind: Kind::Call, turn: Some(number), detail, status, duration_ms: Some(7), ..Entry::default() }
    }

    fn shown(entries: &[Entry]) -> Vec<String> {
        let line = |line: &Line| {
            let name = line.entry.detail.clone().unwrap_or_else(|| line.entry.kind.as_str().to_owned());
            format!("{name} ×{} {:?}-{:?}", line.count, line.entry.turn, line.last_turn)
        };
        collapsed(entries).iter().map(line).collect()
    }

    #[test]
    fn equal_calls_in_a_row_are_one_line() {
        let entries = [turn(1), call(1, "gh", "ok"), call(1, "gh", "ok"), call(1, "gh", "error"), call(1, "ls", "ok")];
        assert_eq!(
            shown(&entries),
            ["turn ×1 Some(1)-None", "gh ×2 Some(1)-None", "gh ×1 Some(1)-None", "ls ×1 Some(1)-None"]
        );
        assert_eq!(collapsed(&entries)[1].entry.duration_ms, Some(14));
    }

    #[test]
    fn equal_responses_in_a_row_are_one_line() {
        let mut entries: Vec<Entry> = (1..=4).flat_map(|number| [turn(number), call(number, "gh", "ok")]).collect();
        entries.extend([turn(5), call(5, "ls", "ok"), turn(6), call(6, "ls", "ok"), turn(7)]);
        let expected = [
            "turn ×4 Some(1)-Some(4)",
            "gh ×4 Some(1)-Some(4)",
            "turn ×1 Some(5)-None",
            "ls ×1 Some(5)-None",
            "turn ×1 Some(6)-None",
            "ls ×1 Some(6)-None",
            "turn ×1 Some(7)-None",
        ];
        assert_eq!(shown(&entries), expected);
        let first = &collapsed(&entries)[0];
        assert_eq!((first.entry.cost_usd, first.entry.output_tokens, first.first), (Some(2.0), Some(40), 0));
    }

    /// A change belongs to its call, which is a line of its own.
    #[test]
    fn calls_with_changes_stay_apart() {
        let edit = |number| Entry { kind: Kind::Edit, turn: Some(number), ..Entry::default() };
        let entries = [turn(1), call(1, "a", "ok"), edit(1), call(1, "a", "ok"), edit(1)];
        assert_eq!(shown(&entries).len(), 5);
    }
}
