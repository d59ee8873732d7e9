//! The top level of one record, for [`Adapter::claims`](super::Adapter::claims).

use std::borrow::Cow;
use std::cell::RefCell;
use std::rc::Rc;

use crate::json::fields::Pairs;
use crate::json::{self, Raw};

/// The keys and unparsed values of one record.
#[derive(Debug)]
pub struct Probe<'a> {
    fields: Vec<(Cow<'a, str>, Raw<'a>)>,
    /// The objects among the values that were asked for, by the index of their key: many formats ask for the same ones.
    objects: RefCell<Vec<(usize, Rc<Probe<'a>>)>>,
    /// A bit for each key, as most keys that formats ask for are absent.
    bits: u64,
    /// See [`Self::kind`].
    kind: Cow<'a, str>,
    path: &'a str,
}

/// The bit of a key.
#[inline]
fn bit(key: &str) -> u64 {
    let key = key.as_bytes();
    let ends = key.first().zip(key.last()).map_or(0, |(first, last)| usize::from(*first) * 5 + usize::from(*last));
    1 << ((ends + key.len() * 11) % 64)
}

impl<'a> Probe<'a> {
    /// The probe of a record; `None` if it is not an object.
    pub(crate) fn new(bytes: &'a [u8], path: &'a str) -> Option<Self> {
        let pairs: Pairs<'a, Raw<'a>> =
            if bytes.first() == Some(&b'{') { json::from_slice(bytes).ok()? } else { return None };
        let bits = pairs.0.iter().fold(0, |bits, (key, _)| bits | bit(key));
        let mut probe = Self { fields: pairs.0, objects: RefCell::default(), bits, kind: "".into(), path };
        probe.kind = probe.text("type");
        Some(probe)
    }

    /// The string of `type`, which most formats have; empty if it is absent.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The path of the log: a hint where several runtimes write the same records, each to its own directory.
    pub fn path(&self) -> &'a str {
        self.path
    }

    /// The keys, in their order.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(|(key, _)| key.as_ref())
    }

    /// The keys with their values, in their order.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = &(Cow<'a, str>, Raw<'a>)> {
        self.fields.iter()
    }

    /// The value of a key, empty if it is absent.
    #[inline]
    pub fn raw(&self, key: &str) -> Raw<'a> {
        if self.bits & bit(key) == 0 {
            return Raw::default();
        }
        self.fields.iter().find(|(name, _)| name == key).map_or(Raw::default(), |(_, raw)| *raw)
    }

    /// Whether the record has a key, whatever its value.
    #[inline]
    pub fn has(&self, key: &str) -> bool {
        self.bits & bit(key) != 0 && self.fields.iter().any(|(it, _)| it == key)
    }

    /// Whether the record has all of the keys.
    pub fn has_all(&self, keys: &[&str]) -> bool {
        keys.iter().all(|it| self.has(it))
    }

    /// Whether the value of a key is a list.
    pub fn is_list(&self, key: &str) -> bool {
        self.raw(key).is_list()
    }

    /// Whether it has values, and each of them is an object with all of the keys.
    pub fn is_map_of(&self, keys: &[&str]) -> bool {
        let is_entry = |raw: Raw<'_>| Probe::new(raw.0, "").is_some_and(|entry| entry.has_all(keys));
        !self.fields.is_empty() && self.fields.iter().all(|(_, raw)| is_entry(*raw))
    }

    /// The string of a key; empty if the value is not a string.
    pub fn text(&self, key: &str) -> Cow<'a, str> {
        let raw = self.raw(key);
        if raw.is_string() { raw.text() } else { Cow::Borrowed("") }
    }

    /// The object of a key; one without keys if the value is not an object.
    #[must_use]
    pub fn object(&self, key: &str) -> Rc<Probe<'a>> {
        let index = self.fields.iter().position(|(it, _)| it == key).unwrap_or(usize::MAX);
        let mut objects = self.objects.borrow_mut();
        if let Some((_, known)) = objects.iter().find(|(place, _)| *place == index) {
            return Rc::clone(known);
        }
        let empty =
            || Probe { fields: Vec::new(), objects: RefCell::default(), bits: 0, kind: "".into(), path: self.path };
        let object = Rc::new(Probe::new(self.raw(key).0, self.path).unwrap_or_else(empty));
        objects.push((index, Rc::clone(&object)));
        object
    }
}
