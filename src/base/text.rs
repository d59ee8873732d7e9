//! Texts of rows. There are millions of them: each has the size of a pointer, and copies share its bytes.

use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::{LazyLock, Mutex, PoisonError};

use foldhash::HashSet;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A text whose copies share its bytes: an id, a path, a message.
pub type SharedStr = arcstr::ArcStr;

/// An interned text, such as the name of a model or a tool: all rows with the same text share its bytes.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Symbol(SharedStr);

/// Longer texts are not interned: they are rarely repeated.
const LONGEST: usize = 64;

/// The number of texts that are interned, until the program ends. It bounds the memory for texts of which a log contains many,
/// such as names of subagents: further ones last as long as their rows.
const CAPACITY: usize = 1 << 14;

/// The base-2 logarithm of the number of texts that a thread finds without a lock.
const NEAR: u32 = 9;

/// The first and the last bytes of a text: for most texts, all bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ends(u64, u64);

impl Ends {
    /// Texts of equal length up to this one are equal if their ends are.
    pub const ALL: usize = 16;

    /// The ends of the empty text.
    pub const NONE: Self = Self(0, 0);

    /// The ends of a text.
    #[inline]
    pub fn of(word: &[u8]) -> Self {
        if let (Some(head), Some(tail)) = (word.first_chunk::<8>(), word.last_chunk::<8>()) {
            Self(u64::from_le_bytes(*head), u64::from_le_bytes(*tail))
        } else if let (Some(head), Some(tail)) = (word.first_chunk::<4>(), word.last_chunk::<4>()) {
            Self(u32::from_le_bytes(*head).into(), u32::from_le_bytes(*tail).into())
        } else {
            let byte = |index: usize| word.get(index).copied().unwrap_or_default();
            Self(u32::from_le_bytes([byte(0), byte(1), byte(2), 0]).into(), 0)
        }
    }

    /// A hash, to be used by its highest bits.
    #[inline]
    pub const fn hash(self) -> u64 {
        (self.0 ^ self.1.rotate_left(29)).wrapping_mul(0x9E37_79B1_85EB_CA87)
    }
}

/// A text that a thread finds without a lock.
#[derive(Clone)]
struct Near {
    ends: Ends,
    word: SharedStr,
}

static WORDS: LazyLock<Mutex<HashSet<SharedStr>>> = LazyLock::new(Mutex::default);

thread_local! {
    static NEAREST: RefCell<Box<[Near]>> =
        RefCell::new(vec![Near { ends: Ends::NONE, word: SharedStr::new() }; 1 << NEAR].into());
}

impl Symbol {
    /// The interned text.
    pub fn new(text: &str) -> Self {
        if text.is_empty() || text.len() > LONGEST {
            return Self(text.into());
        }
        let ends = Ends::of(text.as_bytes());
        NEAREST.with_borrow_mut(|nearest| {
            let place = usize::try_from(ends.hash() >> (u64::BITS - NEAR)).ok().and_then(|it| nearest.get_mut(it));
            let has_text = |near: &Near| {
                near.ends == ends && near.word.len() == text.len() && (text.len() <= Ends::ALL || *near.word == *text)
            };
            match place {
                Some(near) if has_text(near) => Self(near.word.clone()),
                place => {
                    let word = kept(&mut WORDS.lock().unwrap_or_else(PoisonError::into_inner), text);
                    if let Some(place) = place {
                        *place = Near { ends, word: word.clone() };
                    }
                    Self(word)
                }
            }
        })
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The text in `words`, which all threads share. It is added while capacity remains.
fn kept(words: &mut HashSet<SharedStr>, text: &str) -> SharedStr {
    if let Some(known) = words.get(text) {
        return known.clone();
    }
    let word = SharedStr::from(text);
    if words.len() < CAPACITY {
        // It is never freed, so that copies need no reference count.
        word.leak();
        words.insert(word.clone());
    }
    word
}

impl Deref for Symbol {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for Symbol {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Symbol {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl fmt::Display for Symbol {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self)
    }
}

impl Hash for Symbol {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl std::borrow::Borrow<str> for Symbol {
    fn borrow(&self) -> &str {
        self
    }
}

impl PartialEq<str> for Symbol {
    fn eq(&self, other: &str) -> bool {
        **self == *other
    }
}

impl PartialEq<&str> for Symbol {
    fn eq(&self, other: &&str) -> bool {
        **self == **other
    }
}

impl From<&str> for Symbol {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<&String> for Symbol {
    fn from(text: &String) -> Self {
        Self::new(text)
    }
}

impl From<String> for Symbol {
    fn from(text: String) -> Self {
        Self::new(&text)
    }
}

impl From<Cow<'_, str>> for Symbol {
    fn from(text: Cow<'_, str>) -> Self {
        Self::new(&text)
    }
}

impl Serialize for Symbol {
    #[inline]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Symbol {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = Symbol;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a text")
            }

            fn visit_str<E>(self, text: &str) -> Result<Symbol, E> {
                Ok(Symbol::new(text))
            }
        }
        deserializer.deserialize_str(Visitor)
    }
}

/// The words of a text in one line.
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether a text matches a pattern, in which `*` matches any text.
pub fn text_matches(text: &str, pattern: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return text == pattern };
    let Some(mut text) = text.strip_prefix(start) else { return false };
    let (between, end) = rest.rsplit_once('*').unwrap_or(("", rest));
    for part in between.split('*') {
        let Some((_, after)) = text.split_once(part) else { return false };
        text = after;
    }
    text.ends_with(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_words_are_one_in_all_threads() {
        let here = Symbol::new("tool_use");
        let there = std::thread::spawn(|| Symbol::new("tool_use")).join().unwrap();
        assert!(SharedStr::ptr_eq(&here.0, &there.0) && SharedStr::ptr_eq(&here.0, &Symbol::new("tool_use").0));
        let read: Symbol = serde_json::from_str(r#""tool_use""#).unwrap();
        assert!(SharedStr::ptr_eq(&here.0, &read.0));
    }

    #[test]
    fn words_have_the_text_that_they_were_made_of() {
        // Many have the same place in the cache of a thread; some are too long to be interned.
        let numbers = (0..2_usize << NEAR).map(|it| format!("{it:0$}", 1 + it % (LONGEST + 2)));
        // These have equal ends and lengths.
        let alike = (0..100).map(|it| format!("claude-x-{it:03}-20260101"));
        let texts: Vec<String> = numbers.chain(alike).collect();
        for _ in 0..2 {
            assert!(texts.iter().all(|it| Symbol::new(it) == **it));
        }
        assert!(!SharedStr::is_static(&Symbol::new(&"x".repeat(LONGEST + 1)).0));
        assert_eq!(Symbol::new("").as_str(), "");
    }

    #[test]
    fn no_log_fills_the_memory_with_words() {
        let mut words = HashSet::default();
        let all: Vec<SharedStr> = (0..=CAPACITY).map(|it| kept(&mut words, &it.to_string())).collect();
        assert_eq!((words.len(), all.iter().filter(|it| SharedStr::is_static(it)).count()), (CAPACITY, CAPACITY));
        assert_eq!(kept(&mut words, &CAPACITY.to_string()), all[CAPACITY]);
    }
}
