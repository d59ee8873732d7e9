//! Identity hashes of responses and prompts. They are only compared for equality.

use std::borrow::Cow;
use std::fmt;
use std::io::Write as _;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use twox_hash::XxHash3_64;

use crate::base::hash;
use crate::base::text::SharedStr;

/// The 128-bit hash of a name. Collisions are expected once in 2⁶⁴ names.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IdHash {
    link: u64,
    rest: u64,
}

/// The seed of the half that is not the link.
const SEED: u64 = 0x6e61_6d65;
/// Size of a stored name in bytes.
const BYTES: usize = 16;

impl IdHash {
    /// The hash of a text.
    pub fn new(text: &str) -> Self {
        of_kind("response", text, Self::hashed)
    }

    fn hashed(bytes: &[u8]) -> Self {
        Self { link: XxHash3_64::oneshot(bytes), rest: XxHash3_64::oneshot_with_seed(SEED, bytes) }
    }

    /// The half that files have in common if they may contain the same response.
    pub const fn link(self) -> u64 {
        self.link
    }

    /// The hash of a name that is unique within `outer` only.
    #[must_use]
    pub fn within(self, outer: Self) -> Self {
        let mut bytes = [0; 2 * BYTES];
        for (place, half) in bytes.chunks_exact_mut(8).zip([outer.link, outer.rest, self.link, self.rest]) {
            place.copy_from_slice(&half.to_le_bytes());
        }
        Self::hashed(&bytes)
    }

    /// The stored form.
    fn bytes(self) -> [u8; BYTES] {
        (u128::from(self.link) << 64 | u128::from(self.rest)).to_be_bytes()
    }

    /// The name with this stored form.
    pub fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let (link, rest) = bytes.split_first_chunk()?;
        Some(Self { link: u64::from_be_bytes(*link), rest: u64::from_be_bytes(rest.try_into().ok()?) })
    }
}

/// The hash of a name of a kind. Archives contain such links.
pub fn link(kind: &str, name: &str) -> u64 {
    of_kind(kind, name, XxHash3_64::oneshot)
}

/// Hashes a kind and a name. Short ones need no allocation.
fn of_kind<T>(kind: &str, name: &str, hash: impl FnOnce(&[u8]) -> T) -> T {
    let mut buffer = [0; 256];
    let mut rest = &mut buffer[..];
    let written = [kind, " ", name].into_iter().try_for_each(|part| rest.write_all(part.as_bytes()));
    match buffer.get(..kind.len() + 1 + name.len()) {
        Some(bytes) if written.is_ok() => hash(bytes),
        _ => hash([kind, " ", name].concat().as_bytes()),
    }
}

impl fmt::Display for IdHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:016x}{:016x}", self.link, self.rest)
    }
}

impl fmt::Debug for IdHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{self}")
    }
}

impl From<&str> for IdHash {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for IdHash {
    fn from(text: String) -> Self {
        Self::new(&text)
    }
}

impl From<Cow<'_, str>> for IdHash {
    fn from(text: Cow<'_, str>) -> Self {
        Self::new(&text)
    }
}

impl From<SharedStr> for IdHash {
    fn from(text: SharedStr) -> Self {
        Self::new(&text)
    }
}

/// Hexadecimal in human-readable formats.
impl Serialize for IdHash {
    #[inline]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            return serializer.collect_str(self);
        }
        serializer.serialize_bytes(&self.bytes())
    }
}

/// Also accepts a text, from which the hash is computed.
impl<'de> Deserialize<'de> for IdHash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = IdHash;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a name")
            }

            fn visit_str<E>(self, text: &str) -> Result<IdHash, E> {
                Ok(IdHash::new(text))
            }

            fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<IdHash, E> {
                IdHash::of_bytes(bytes).ok_or_else(|| E::invalid_length(bytes.len(), &self))
            }
        }
        if deserializer.is_human_readable() {
            let text = String::deserialize(deserializer)?;
            let number = hash::of_hexadecimal(&text).ok_or_else(|| de::Error::custom("not a name"))?;
            return Self::of_bytes(&number.to_be_bytes()).ok_or_else(|| de::Error::custom("not a name"));
        }
        deserializer.deserialize_any(Visitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_text_is_the_same_name() {
        let text = "x".repeat(600);
        let names: Vec<IdHash> = (0..600).map(|it| IdHash::new(&text[..it])).collect();
        let mut distinct: Vec<_> = names.iter().flat_map(|it| [it.link, it.rest]).collect();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), 2 * names.len());
        assert!(names.iter().enumerate().all(|(length, it)| *it == IdHash::from(text[..length].to_owned())));
        // Archives contain such links.
        let link = |it: usize| XxHash3_64::oneshot(format!("response {}", &text[..it]).as_bytes());
        assert!(names.iter().enumerate().all(|(length, it)| it.link() == link(length)));
    }

    #[test]
    fn names_in_human_readable_formats_are_parsed_again() {
        for name in ["", "a", "msg_1"].map(IdHash::from) {
            assert_eq!(serde_json::from_str::<IdHash>(&serde_json::to_string(&name).unwrap()).unwrap(), name);
        }
        assert!(serde_json::from_str::<IdHash>(r#""msg_1""#).is_err());
    }

    #[test]
    fn a_name_within_another_is_one_of_its_own() {
        let [a, b, c] = ["a", "b", "c"].map(IdHash::from);
        assert_eq!(a.within(c), IdHash::from("a").within(c));
        assert!(a.within(c) != b.within(c) && a.within(b) != a.within(c) && a.within(b) != b.within(a));
    }
}
