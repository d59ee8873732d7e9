//! The types of unknown records, which are kept as the keys of records are: without what may be data.

use crate::model::unknown::{self, UnknownType};

use super::secrets::redacted;

/// What replaces a word that may be data.
const ANY: &str = "*";

/// The name of a type as it is kept. A word that may be data (an id, a path, a mail address, a secret) is `*`.
pub fn type_name(name: &str) -> String {
    let kept = |word: &str| if is_kept(word) { word.to_owned() } else { ANY.to_owned() };
    if name.is_empty() { String::new() } else { name.split('/').map(kept).collect::<Vec<_>>().join("/") }
}

/// Names are also separated by dots, colons and hyphens: `session.tools_updated`, `cost-state`.
fn is_kept(name: &str) -> bool {
    name.split(['.', ':', '-']).all(|word| is_word(word, b"")) && is_harmless(name)
}

/// Whether a text is a word as programs write them: an id of letters often changes case. `others`: bytes that it may contain besides
/// letters, digits, `_` and `$`.
pub fn is_word(text: &str, others: &[u8]) -> bool {
    let changes_case = |pair: &&[u8]| matches!(pair, [a, b] if a.is_ascii_lowercase() && b.is_ascii_uppercase());
    let changes = text.as_bytes().windows(2).filter(changes_case).count();
    text.bytes().next().is_some_and(|first| first.is_ascii_alphabetic() || matches!(first, b'_' | b'$'))
        && text.bytes().all(|it| it.is_ascii_alphanumeric() || matches!(it, b'_' | b'$') || others.contains(&it))
        && changes * 3 <= text.len()
}

/// Whether a text is as short as a name, with as few digits, and without a secret.
pub fn is_harmless(text: &str) -> bool {
    /// The longest name and the most digits in it.
    const LONGEST: usize = 40;
    const MOST_DIGITS: usize = 3;
    text.len() <= LONGEST && text.bytes().filter(u8::is_ascii_digit).count() <= MOST_DIGITS && redacted(text) == text
}

/// Reduces the names of unknown types to what is kept.
pub fn reduce_types(types: &mut Vec<UnknownType>) {
    for mut it in std::mem::take(types) {
        it.name = type_name(&it.name);
        unknown::add(types, it);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_kept_without_what_may_be_data() {
        for name in
            ["cost-state", "event_msg/item_completed/FileChange", "session.tools_updated", "v2:result", "$meta", ""]
        {
            assert_eq!(type_name(name), name);
        }
        for (name, kept) in [
            ("event_msg/ses_0d45c3a0c03d", "event_msg/*"),
            ("ann@example.org", "*"),
            ("my secret plan", "*"),
            ("sk-ant-api03-abcdefghijklmnopqrstuvwxyz", "*"),
            ("0198f0aa-1111-7222-8333-944455556666", "*"),
            ("aVeryLongNameThatIsLongerThanFortyCharacters", "*"),
        ] {
            assert_eq!(type_name(name), kept, "{name}");
        }
    }
}
