//! Parts of texts.

/// The last part of a path, on any system.
pub fn base_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or_default()
}

/// [`str::lines`] of a text of many short lines, which that takes twice as long for.
pub fn lines(text: &str) -> impl Iterator<Item = &str> {
    let ends = memchr::memchr_iter(b'\n', text.as_bytes())
        .chain((!text.is_empty() && !text.ends_with('\n')).then_some(text.len()));
    let mut start = 0;
    ends.filter_map(move |end| {
        let line = text.get(start..end)?;
        start = end + 1;
        let is_ended = end < text.len();
        Some(line.strip_suffix('\r').filter(|_| is_ended).unwrap_or(line))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of all texts of up to six of these.
    #[test]
    fn lines_are_those_of_the_standard_library() {
        let letters = ["\n", "\r", "a", "é"];
        for number in 0..4_usize.pow(6) {
            for length in 0..=6 {
                let text: String = (0..length).map(|it| letters[number >> (2 * it) & 3]).collect();
                assert!(lines(&text).eq(text.lines()), "{text:?}");
            }
        }
    }
}
