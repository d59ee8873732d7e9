//! The items of an object or array, one after the other.

use std::collections::HashSet;

use serde::de::{DeserializeSeed, MapAccess, SeqAccess};

use crate::json::error::Error;
use crate::json::reader::Reader;

/// The name under which [`Reader`] passes itself on to read an object, and any other value as `deserialize_any` does.
pub(super) const OBJECT: &str = "$agentlogs::object";

/// The items between two brackets.
pub(super) struct Items<'r, 'a> {
    pub(super) reader: &'r mut Reader<'a>,
    /// The keys so far, if repeated keys are dropped.
    keys: Option<HashSet<&'a [u8]>>,
    close: u8,
    first: bool,
    done: bool,
}

impl<'r, 'a> Items<'r, 'a> {
    /// The items after an opening bracket, up to the bracket `close`.
    pub(super) const fn new(reader: &'r mut Reader<'a>, close: u8) -> Self {
        Self { reader, keys: None, close, first: true, done: false }
    }

    /// Whether another key follows, without those that have occurred before if repeated keys are dropped.
    #[inline]
    pub(super) fn more_keys(&mut self) -> Result<bool, Error> {
        if self.reader.drops_repeated_keys { self.more_new_keys() } else { self.more() }
    }

    #[cold]
    fn more_new_keys(&mut self) -> Result<bool, Error> {
        while self.more()? {
            if self.reader.peek()? != b'"' {
                return Ok(true);
            }
            let start = self.reader.at;
            let key = self.reader.string_bytes()?.bytes();
            if self.keys.get_or_insert_default().insert(key) {
                self.reader.at = start;
                return Ok(true);
            }
            self.reader.expect(b':')?;
            self.reader.skip()?;
        }
        Ok(false)
    }

    /// Whether another item follows; its comma and the closing bracket are read.
    #[inline]
    pub(super) fn more(&mut self) -> Result<bool, Error> {
        if self.done {
            return Ok(false);
        }
        let byte = self.reader.peek()?;
        if byte == self.close {
            self.reader.at += 1;
            self.done = true;
            return Ok(false);
        }
        if self.first {
            self.first = false;
        } else if byte == b',' {
            self.reader.at += 1;
        } else {
            return Err(Error::NotJson(self.reader.at));
        }
        Ok(true)
    }

    /// Skips the items that the visitor did not read.
    pub(super) fn finish(&mut self) -> Result<(), Error> {
        while self.more()? {
            if self.close == b'}' {
                self.reader.skip()?;
                self.reader.expect(b':')?;
            }
            self.reader.skip()?;
        }
        Ok(())
    }
}

impl<'de> SeqAccess<'de> for &mut Items<'_, 'de> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        if self.more()? { seed.deserialize(&mut *self.reader).map(Some) } else { Ok(None) }
    }
}

impl<'de> MapAccess<'de> for &mut Items<'_, 'de> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        if self.more_keys()? { seed.deserialize(&mut *self.reader).map(Some) } else { Ok(None) }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        self.reader.expect(b':')?;
        seed.deserialize(&mut *self.reader)
    }
}
