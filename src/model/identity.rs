//! The identity of a response or a prompt, equal in all its copies.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{self, IntoDeserializer as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::base::text::SharedStr;
use crate::model::id_hash::IdHash;

/// The identity of a response. Turns with equal identities are copies of one response.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Identity {
    /// Not identified by the log: equal to no other response.
    #[default]
    Unique,
    /// Unique within its session.
    Session(IdHash),
    /// Unique everywhere, like an id of the provider.
    Global(IdHash),
    /// Unique within a thread and the threads that continue it: the thread's id, and the name.
    Thread(SharedStr, IdHash),
}

impl Identity {
    /// The name, if it is unique everywhere.
    pub const fn global(&self) -> Option<IdHash> {
        if let Self::Global(name) = self { Some(*name) } else { None }
    }
}

/// An identity with its kind.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Identity")]
enum WithKind {
    Unique,
    Session(IdHash),
    Global(IdHash),
    Thread(SharedStr, IdHash),
}

/// Binary formats store the most frequent kind, `Global`, as its name alone.
impl Serialize for Identity {
    #[inline]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Unique if !serializer.is_human_readable() => serializer.serialize_unit(),
            Self::Global(name) if !serializer.is_human_readable() => name.serialize(serializer),
            _ => WithKind::serialize(self, serializer),
        }
    }
}

/// Accepts both forms.
impl<'de> Deserialize<'de> for Identity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Identity;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an identity")
            }

            fn visit_unit<E>(self) -> Result<Identity, E> {
                Ok(Identity::Unique)
            }

            fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Identity, E> {
                IdHash::of_bytes(bytes).map(Identity::Global).ok_or_else(|| E::invalid_length(bytes.len(), &self))
            }

            fn visit_str<E: de::Error>(self, kind: &str) -> Result<Identity, E> {
                WithKind::deserialize(kind.into_deserializer())
            }

            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Identity, A::Error> {
                WithKind::deserialize(MapAccessDeserializer::new(map))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}
