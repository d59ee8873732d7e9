//! How facts and indexes are encoded: `MessagePack` by `rmp-serde`, compressed by Snappy.
//!
//! Structures are arrays of the values of their fields, in the order of declaration. A reader accepts an array that is too short: the
//! last fields have their defaults then. So a new field at the end of a structure needs no new version of the layout; any other
//! change does.
//!
//! Snappy is the fastest of the compressors that are dependencies already. Of the facts of 24 MB of pi logs, `encode` takes 10 million
//! instructions without compression, 19 with Snappy, 22 with LZ4, 33 with zstd level 1. The facts of 383 MB of pi logs take 20.6 MB
//! without compression, 10.2 MB with Snappy or LZ4, 8.1 MB with zstd level 1.

use std::cell::Cell;
use std::fmt::Display;
use std::io;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::model::session::SessionResult;
use crate::model::source::Source;

/// A source with more rows has a chunk for each of its sessions.
pub const MANY_ROWS: usize = 50_000;

/// How many rows sessions have, of the kinds of which there may be many.
pub fn rows_of(sessions: &[SessionResult]) -> usize {
    let rows = |session: &SessionResult| {
        session.turns.len() + session.tool_calls.len() + session.events.len() + session.limits.len()
    };
    sessions.iter().map(rows).sum()
}

/// What encodes values. A thread uses it again, because fresh memory takes as long as encoding.
struct Encoder {
    /// The value without compression.
    plain: Vec<u8>,
    snappy: snap::raw::Encoder,
}

thread_local! {
    static ENCODER: Cell<Option<Box<Encoder>>> = const { Cell::new(None) };
}

/// Encodes a value.
///
/// # Errors
/// When the value cannot be encoded, or takes more than 4 GiB.
pub fn encode<T: Serialize + ?Sized>(value: &T) -> io::Result<Vec<u8>> {
    /// Memory that a thread keeps, in bytes.
    const MAX_KEPT: usize = 1 << 20;
    let new = || Box::new(Encoder { plain: Vec::new(), snappy: snap::raw::Encoder::new() });
    let mut encoder = ENCODER.take().unwrap_or_else(new);
    encoder.plain.clear();
    rmp_serde::encode::write(&mut encoder.plain, value).map_err(io::Error::other)?;
    let encoded = encoder.snappy.compress_vec(&encoder.plain).map_err(io::Error::other)?;
    ENCODER.set(Some(encoder).filter(|encoder| encoder.plain.capacity() <= MAX_KEPT));
    Ok(encoded)
}

/// The size of an encoded value without compression, in bytes; 0 of damaged bytes.
pub fn plain_size(encoded: &[u8]) -> usize {
    snap::raw::decompress_len(encoded).unwrap_or_default()
}

/// Decodes a value. Damaged bytes cause an error; memory is allocated only for what they contain.
///
/// # Errors
/// When the bytes are not such a value.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> io::Result<T> {
    /// Snappy compresses 64 bytes to 3 at best.
    const MAX_RATIO: usize = 22;
    /// Values of facts are nested half a dozen deep.
    const MAX_DEPTH: usize = 64;
    let length = snap::raw::decompress_len(bytes).map_err(damaged)?;
    if length > bytes.len().saturating_mul(MAX_RATIO) {
        return Err(damaged("it states a length that its bytes cannot contain"));
    }
    let bytes = snap::raw::Decoder::new().decompress_vec(bytes).map_err(damaged)?;
    let mut deserializer = rmp_serde::Deserializer::from_read_ref(&bytes);
    deserializer.set_max_depth(MAX_DEPTH);
    T::deserialize(&mut deserializer).map_err(damaged)
}

/// Decodes facts, and checks that their rows refer to existing rows.
///
/// # Errors
/// When the bytes are not such facts.
pub fn decode_facts<T: DeserializeOwned + HasReferences>(bytes: &[u8]) -> io::Result<T> {
    let facts: T = decode(bytes)?;
    if facts.has_valid_references() {
        Ok(facts)
    } else {
        Err(damaged("a row refers to a turn or call that does not exist"))
    }
}

/// An error of damaged bytes.
pub fn damaged(error: impl Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error.to_string())
}

/// Facts whose rows refer to each other by position.
pub trait HasReferences {
    /// Whether all rows that they refer to exist.
    fn has_valid_references(&self) -> bool;
}

impl HasReferences for SessionResult {
    fn has_valid_references(&self) -> bool {
        let is_turn = |position: Option<usize>| position.is_none_or(|position| position < self.turns.len());
        let is_call = |position: Option<usize>| position.is_none_or(|position| position < self.tool_calls.len());
        self.tool_calls.iter().all(|call| is_turn(call.turn))
            && self.events.iter().all(|event| is_turn(event.turn))
            && self.file_changes.iter().all(|change| is_call(change.call))
    }
}

impl HasReferences for Source {
    fn has_valid_references(&self) -> bool {
        self.sessions.iter().all(HasReferences::has_valid_references)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::shared::builder::Retention;
    use crate::adapters::{Hints, parse};
    use crate::base::text::Symbol;
    use crate::model::session::{Identity, Turn};

    fn source() -> Source {
        let log = include_bytes!("../../../../sample-logs/claude-transcript/with-a-subagent.jsonl");
        let parsed = parse(log, Hints::default(), Retention::Full);
        assert!(!parsed.sessions.is_empty());
        Source {
            path: "a".to_owned(),
            runtime_deletes_sessions: true,
            sessions: parsed.sessions,
            health: parsed.health,
            ..Source::default()
        }
    }

    #[test]
    fn facts_are_decoded_as_they_were_encoded() {
        let source = source();
        assert_eq!(decode_facts::<Source>(&encode(&source).unwrap()).unwrap(), source);
        let session = &source.sessions[0];
        assert_eq!(decode_facts::<SessionResult>(&encode(session).unwrap()).unwrap(), *session);
    }

    #[test]
    fn all_kinds_of_identities_are_decoded() {
        for identity in [
            Identity::Unique,
            Identity::Session("a".into()),
            Identity::Global("msg_1".into()),
            Identity::Thread("t".into(), "a b".into()),
        ] {
            assert_eq!(decode::<Identity>(&encode(&identity).unwrap()).unwrap(), identity);
        }
    }

    /// Every byte of encoded facts is replaced by others: the facts are decoded or refused, and the ledger takes them.
    #[test]
    fn facts_with_a_changed_byte_are_decoded_or_refused() {
        let whole = source();
        // Without the compression, so that the values themselves are damaged, not just the lengths of Snappy.
        let plain = rmp_serde::to_vec(&whole).unwrap();
        let compress = |bytes: &[u8]| snap::raw::Encoder::new().compress_vec(bytes).unwrap();
        // Another log has the same responses: the ledger assigns those of one of them to the other.
        let mut other = Source { path: "b".to_owned(), ..whole.clone() };
        other.sessions.iter_mut().for_each(|session| session.session_id += "b");
        let encoded = encode(&whole).unwrap();
        let mut refused = 0;
        for (bytes, is_plain) in [(&plain, true), (&encoded, false)] {
            for position in 0..bytes.len() {
                for byte in [0, 0x7f, 0x80, 0x8f, 0x90, 0xa1, 0xc0, 0xc1, 0xdb, 0xdd, 0xdf, 0xff, bytes[position] ^ 1] {
                    let mut changed = bytes.clone();
                    changed[position] = byte;
                    let changed = if is_plain { compress(&changed) } else { changed };
                    match decode_facts::<Source>(&changed) {
                        Ok(source) if position % 16 == 0 => {
                            drop(crate::ledger::reconcile(vec![source, other.clone()]));
                        }
                        Ok(_) => {}
                        Err(_) => refused += 1,
                    }
                }
            }
        }
        assert!(refused > encoded.len());
    }

    /// Facts that are cut, or state lengths and depths that they do not have, cause an error and take no memory.
    #[test]
    fn hostile_facts_are_refused() {
        let encoded = encode(&source()).unwrap();
        for end in (0..encoded.len()).step_by(7) {
            assert!(decode::<Source>(&encoded[..end]).is_err(), "{end}");
        }
        let compress = |bytes: &[u8]| snap::raw::Encoder::new().compress_vec(bytes).unwrap();
        // Arrays, maps, texts and byte strings of 4 GiB; arrays in arrays.
        let lengths = [0xdd, 0xdf, 0xdb, 0xc6].map(|tag| vec![tag, 0xff, 0xff, 0xff, 0xff, 0]);
        for bytes in lengths.iter().chain([&vec![0x91; 1 << 20]]) {
            assert!(decode::<Source>(&compress(bytes)).is_err());
            assert!(decode::<Vec<String>>(&compress(bytes)).is_err());
            assert!(decode::<serde::de::IgnoredAny>(&compress(bytes)).is_err());
        }
        // A length of 4 GiB in the header of Snappy.
        assert!(decode::<Source>(&[0xff, 0xff, 0xff, 0xff, 0x0f, 0]).is_err());
    }

    /// The bound of [`decode`] allows all that Snappy writes.
    #[test]
    fn repetitive_text_is_decoded() {
        for length in [0, 1, 60, 64, 1000, 1 << 20] {
            let text = "x".repeat(length);
            assert_eq!(decode::<String>(&encode(&text).unwrap()).unwrap(), text);
        }
        let words = vec![Symbol::new("Bash"); 100_000];
        assert_eq!(decode::<Vec<Symbol>>(&encode(&words).unwrap()).unwrap(), words);
    }

    /// Facts of an earlier build may lack the last fields of a structure.
    #[test]
    fn missing_last_fields_have_their_defaults() {
        let turn = Turn { ended_at: None, ..(*source().sessions[0].turns[0]).clone() };
        let bytes = rmp_serde::to_vec(&turn).unwrap();
        // The last value is absent, of one byte; an array of more than 15 has its length in the two bytes after the first.
        let mut short = bytes[..bytes.len() - 1].to_vec();
        assert_eq!(short[0], 0xdc);
        short[2] -= 1;
        let decoded: Turn = rmp_serde::from_slice(&short).unwrap();
        assert_eq!(decoded, turn);
    }
}
