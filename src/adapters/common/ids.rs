//! Ids for sessions and responses that their logs do not name.

use crate::model::session::Tokens;

/// The id of a session whose log contains none: `~` and a hash of its first record that has a time or a message. It stays
/// the same while the log grows, and is equal in copies.
pub fn hashed_id(record: &[u8]) -> String {
    format!("~{:016x}", twox_hash::XxHash3_64::oneshot(record))
}

/// Appends a number to a name, as `{:x}` formats it.
pub(crate) fn push_hexadecimal(name: &mut String, number: u64) {
    let digits: [u8; 16] = std::array::from_fn(|place| {
        let digit = (number >> (60 - 4 * place)).to_le_bytes()[0] & 15;
        digit + if digit < 10 { b'0' } else { b'a' - 10 }
    });
    let zeros = number.leading_zeros() as usize / 4;
    let digits = digits.get(zeros.min(15)..).and_then(|digits| std::str::from_utf8(digits).ok());
    name.push_str(digits.unwrap_or_default());
}

/// Counts of tokens as a part of the name of a response, as `{:?}` of [`Tokens::kinds`] formats them: archives contain such
/// names.
pub(crate) fn counts_name(tokens: Tokens) -> String {
    let mut name = String::with_capacity(64);
    push_counts_name(&mut name, tokens);
    name
}

/// Appends [`counts_name`] to a name.
pub(crate) fn push_counts_name(name: &mut String, tokens: Tokens) {
    let mut digits = itoa::Buffer::new();
    for (place, count) in tokens.kinds().into_iter().enumerate() {
        // Texts of constant length are appended without a call.
        match place {
            0 => name.push('['),
            _ => name.push_str(", "),
        }
        match count {
            Some(count) => {
                name.push_str("Some(");
                name.push_str(digits.format(count));
                name.push(')');
            }
            None => name.push_str("None"),
        }
    }
    name.push(']');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_named_as_they_are_shown() {
        let tokens = Tokens { input: Some(0), cache_read: Some(i64::MAX), cache_write: Some(-12), ..Tokens::UNKNOWN };
        assert_eq!(counts_name(tokens), format!("{:?}", tokens.kinds()));
        for number in [0, 1, 15, 16, 0x0f00, u64::MAX, u64::MAX >> 4, 1 << 60] {
            let mut name = String::new();
            push_hexadecimal(&mut name, number);
            assert_eq!(name, format!("{number:x}"));
        }
    }
}
