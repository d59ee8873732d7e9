//! Text in UTF-16, as UTF-8.

use std::io::{self, Read};

/// The bytes in UTF-8 of a text in UTF-16.
pub(super) struct Utf8<I> {
    characters: I,
    /// Bytes of the last character that are not read yet, the last first.
    rest: Vec<u8>,
}

impl Utf8<()> {
    /// Decodes a text that begins with a byte order mark, which is left out. What is not a character becomes U+FFFD.
    pub(super) fn of(text: &[u8]) -> Utf8<impl Iterator<Item = char>> {
        let unit = if text.starts_with(&[0xff, 0xfe]) { u16::from_le_bytes } else { u16::from_be_bytes };
        let units = text.chunks_exact(2).skip(1).filter_map(move |bytes| Some(unit(bytes.try_into().ok()?)));
        let characters = char::decode_utf16(units).map(|it| it.unwrap_or(char::REPLACEMENT_CHARACTER));
        Utf8 { characters, rest: Vec::new() }
    }
}

impl<I: Iterator<Item = char>> Read for Utf8<I> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let mut count = 0;
        for byte in out {
            if self.rest.is_empty() {
                let Some(character) = self.characters.next() else { break };
                self.rest.extend(character.encode_utf8(&mut [0; 4]).bytes().rev());
            }
            let Some(next) = self.rest.pop() else { break };
            *byte = next;
            count += 1;
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_orders_of_bytes_are_decoded() {
        let text = "{\"a\":\"\u{e9}\u{1f600}\"}\r\n";
        let units = || format!("\u{feff}{text}").encode_utf16().collect::<Vec<_>>();
        let orders: [fn(u16) -> [u8; 2]; 2] = [u16::to_le_bytes, u16::to_be_bytes];
        for bytes_of in orders {
            let bytes: Vec<u8> = units().into_iter().flat_map(bytes_of).collect();
            let mut decoded = String::new();
            Utf8::of(&bytes).read_to_string(&mut decoded).unwrap();
            assert_eq!(decoded, text);
            // The half of a character, and the half of a unit.
            let mut cut = Vec::new();
            Utf8::of(&bytes[..bytes.len() - 9]).read_to_end(&mut cut).unwrap();
            assert_eq!(String::from_utf8(cut).unwrap(), "{\"a\":\"\u{e9}\u{fffd}");
        }
    }
}
