//! Answers of a limited size: an agent pays for each byte that it reads. What does not fit is in the next answer, which a cursor asks for.

use agentlogs::analysis::present;
use anyhow::bail;
use polars::prelude::DataFrame;

use super::paging::Paging;

/// The longest note in bytes: a path is not cut.
const NOTE_BYTES: usize = 400;

/// The answer to a question.
#[derive(Debug, Default)]
pub(super) struct Answer {
    pub body: Body,
    /// What the rows do not show, such as that costs are lower bounds.
    pub notes: Vec<String>,
}

#[derive(Debug)]
pub(super) enum Body {
    /// CSV.
    Rows(DataFrame),
    Lines(Vec<String>),
}

impl Default for Body {
    fn default() -> Self {
        Self::Lines(Vec::new())
    }
}

impl Answer {
    pub(super) fn rows(rows: DataFrame) -> Self {
        Self { body: Body::Rows(rows), notes: Vec::new() }
    }

    pub(super) fn lines(text: &str) -> Self {
        Self { body: Body::Lines(text.lines().map(str::to_owned).collect()), notes: Vec::new() }
    }

    #[must_use]
    pub(super) fn with_notes(self, notes: impl IntoIterator<Item = String>) -> Self {
        Self { notes: self.notes.into_iter().chain(notes).collect(), ..self }
    }

    /// The text of the part that the cursor begins.
    ///
    /// # Errors
    /// When the cursor is not of this question.
    pub(super) fn text(&self, paging: &Paging) -> anyhow::Result<String> {
        let first = first_row(paging)?;
        let count = self.body.count();
        if first > 0 && first >= count {
            bail!("the cursor is after the last of {count} rows: the archive has changed; ask again without a cursor");
        }
        let notes: String = self.notes.iter().flat_map(|note| ["# ", cut(note, NOTE_BYTES), "\n"]).collect();
        let most = paging.max_bytes / 2;
        let notes = if notes.len() > most { format!("{}…\n", cut(&notes, most)) } else { notes };
        let footer = |next: usize| match count - next {
            0 if first == 0 => String::new(),
            0 => format!("# rows {} to {count} of {count}\n", first + 1),
            _ => format!("# rows {} to {next} of {count}; cursor: {next}-{:08x}\n", first + 1, paging.question),
        };
        let mut text = self.body.header()?;
        let others = notes.len() + footer(first).len() + count.to_string().len() * 2;
        let free = paging.max_bytes.saturating_sub(others);
        let mut next = first;
        while next < count {
            let row = self.body.row(next)?;
            if text.len() + row.len() <= free {
                text.push_str(&row);
            } else if next == first {
                // A row that never fits would stop the agent.
                text.push_str(cut(&row, free.saturating_sub(text.len() + CUT.len())));
                text.push_str(CUT);
            } else {
                break;
            }
            next += 1;
        }
        if count == 0 {
            text.push_str("# no rows\n");
        }
        Ok(text + &notes + &footer(next))
    }
}

/// What follows a row that is larger than the answer.
const CUT: &str = "…\n# this row is cut; max_bytes sets the size of an answer\n";

impl Body {
    fn count(&self) -> usize {
        match self {
            Self::Rows(rows) => rows.height(),
            Self::Lines(lines) => lines.len(),
        }
    }

    fn header(&self) -> anyhow::Result<String> {
        match self {
            Self::Rows(rows) => csv(&rows.clear()),
            Self::Lines(_) => Ok(String::new()),
        }
    }

    fn row(&self, index: usize) -> anyhow::Result<String> {
        match self {
            Self::Rows(rows) => {
                let header = self.header()?;
                let text = csv(&rows.slice(i64::try_from(index)?, 1))?;
                Ok(text.strip_prefix(&header).unwrap_or(&text).to_owned())
            }
            Self::Lines(lines) => Ok(lines.get(index).map(|line| format!("{line}\n")).unwrap_or_default()),
        }
    }
}

fn csv(rows: &DataFrame) -> anyhow::Result<String> {
    let mut text = Vec::new();
    present::csv(rows, &mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// The number of the first row, from 0.
fn first_row(paging: &Paging) -> anyhow::Result<usize> {
    let Some(cursor) = &paging.cursor else { return Ok(0) };
    let parts = cursor
        .split_once('-')
        .and_then(|(row, question)| Some((row.parse::<usize>().ok()?, u32::from_str_radix(question, 16).ok()?)));
    match parts {
        Some((row, question)) if question == paging.question => Ok(row),
        Some(_) => bail!("the cursor is of a call with other arguments; repeat them with it"),
        None => bail!("not a cursor: {:?}", cut(cursor, 80)),
    }
}

/// The beginning of a text in bytes.
pub(super) fn cut(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use polars::prelude::*;

    use super::*;
    use crate::cli::commands::mcp::paging::MIN_BYTES;

    fn paging(max_bytes: usize, cursor: Option<&str>) -> Paging {
        Paging { max_bytes, cursor: cursor.map(str::to_owned), question: 7 }
    }

    /// The parts of an answer contain each row once, and none is larger than asked for.
    #[test]
    fn the_cursor_leads_through_all_rows() {
        let texts: Vec<String> =
            (0..200).map(|index| format!("row {index} ü, \"quoted\"\nand {}", index % 7)).collect();
        let rows = df!("text" => texts.clone(), "n" => (0..200_i64).collect::<Vec<_>>()).unwrap();
        let answer = Answer::rows(rows).with_notes(["a note".to_owned()]);
        let (mut cursor, mut found, mut parts) = (None::<String>, String::new(), 0);
        loop {
            let text = answer.text(&paging(MIN_BYTES, cursor.as_deref())).unwrap();
            assert!(text.len() <= MIN_BYTES, "{}", text.len());
            found.push_str(&text);
            parts += 1;
            match text.split_once("cursor: ") {
                Some((_, next)) => cursor = Some(next.trim().to_owned()),
                None => break,
            }
        }
        assert!(parts > 10);
        for text in texts {
            assert_eq!(found.matches(&text.replace('"', "\"\"")).count(), 1, "{text}");
        }
    }

    #[test]
    fn a_cursor_belongs_to_its_question() {
        let answer = Answer::lines("a\nb");
        for cursor in ["1-8", "", "x", "-1-7", "1", "99999999999999999999-7", "2-7"] {
            assert!(answer.text(&paging(500, Some(cursor))).is_err(), "{cursor}");
        }
        assert_eq!(answer.text(&paging(500, Some("1-7"))).unwrap(), "b\n# rows 2 to 2 of 2\n");
        assert_eq!(Answer::lines("").text(&paging(500, None)).unwrap(), "# no rows\n");
    }

    #[test]
    fn a_row_that_is_too_large_is_cut() {
        let answer = Answer::lines(&format!("{}\nnext", "ü".repeat(5_000)));
        let text = answer.text(&paging(500, None)).unwrap();
        assert!(text.len() <= 500 && text.contains("cut") && text.contains("cursor: 1-"), "{text}");
    }
}
