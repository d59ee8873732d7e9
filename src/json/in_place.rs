//! Reads a value into a place that exists, without a copy.

#![expect(clippy::inline_always, reason = "a field of a record is read where its key is found, without a call")]

use serde::de::DeserializeSeed;
use serde::{Deserialize, Deserializer};

/// The place that a value is read into.
pub(crate) struct InPlace<'p, T>(pub(crate) &'p mut T);

impl<'de, T: Deserialize<'de>> DeserializeSeed<'de> for InPlace<'_, T> {
    type Value = ();

    #[inline(always)]
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        T::deserialize_in_place(deserializer, self.0)
    }
}
