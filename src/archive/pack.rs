//! Values as [MessagePack][spec]: the bytes that `rmp_serde` writes of them, with two thirds of the instructions. The facts of each
//! source are packed so, unless they are many, and `rmp_serde` reads them again. Only lists and maps that do not say how many
//! members they have, of which facts have none, get a length of other bytes.
//!
//! [spec]: https://github.com/msgpack/msgpack/blob/master/spec.md

use std::fmt::Display;

use serde::Serialize;
use serde::ser::{
    SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple, SerializeTupleStruct,
    SerializeTupleVariant, Serializer,
};

/// Why a value was not packed.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Error(String);

impl serde::ser::Error for Error {
    fn custom<T: Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

/// Adds a value to the bytes. Structures are lists of the values of their fields, without the names.
///
/// # Errors
/// Where a value has 4 GiB or as many members.
pub fn pack<T: Serialize + ?Sized>(value: &T, out: &mut Vec<u8>) -> Result<(), Error> {
    value.serialize(&mut Pack { out })
}

struct Pack<'a> {
    out: &'a mut Vec<u8>,
}

/// How the length of a value of some kind is written: as part of its first byte, or behind that in one, two or four bytes.
struct Lengths {
    /// The first byte of the empty value, and how many lengths are added to it.
    short: (u8, usize),
    one: Option<u8>,
    two: u8,
    four: u8,
}

const TEXT: Lengths = Lengths { short: (0xa0, 32), one: Some(0xd9), two: 0xda, four: 0xdb };
const BYTES: Lengths = Lengths { short: (0, 0), one: Some(0xc4), two: 0xc5, four: 0xc6 };
const LIST: Lengths = Lengths { short: (0x90, 16), one: None, two: 0xdc, four: 0xdd };
const MAP: Lengths = Lengths { short: (0x80, 16), one: None, two: 0xde, four: 0xdf };

impl Pack<'_> {
    #[inline]
    fn byte(&mut self, byte: u8) {
        self.out.push(byte);
    }

    #[inline]
    fn marked<const N: usize>(&mut self, marker: u8, bytes: [u8; N]) {
        self.byte(marker);
        self.out.extend_from_slice(&bytes);
    }

    #[inline]
    fn length(&mut self, lengths: &Lengths, length: usize) -> Result<(), Error> {
        match u8::try_from(length) {
            Ok(it) if length < lengths.short.1 => self.byte(lengths.short.0 | it),
            _ => self.long(lengths, length)?,
        }
        Ok(())
    }

    fn long(&mut self, lengths: &Lengths, length: usize) -> Result<(), Error> {
        match (lengths.one, u8::try_from(length), u16::try_from(length), u32::try_from(length)) {
            (Some(marker), Ok(it), ..) => self.marked(marker, [it]),
            (_, _, Ok(it), _) => self.marked(lengths.two, it.to_be_bytes()),
            (_, _, _, Ok(it)) => self.marked(lengths.four, it.to_be_bytes()),
            _ => return Err(Error(format!("{length} are too many"))),
        }
        Ok(())
    }

    /// A text or bytes.
    #[inline]
    fn whole(&mut self, lengths: &Lengths, bytes: &[u8]) -> Result<(), Error> {
        self.length(lengths, bytes.len())?;
        self.out.extend_from_slice(bytes);
        Ok(())
    }

    /// The name of a variant, before its value.
    fn variant(&mut self, name: &str) -> Result<(), Error> {
        self.length(&MAP, 1)?;
        self.serialize_str(name)
    }
}

/// Members of a list or a map.
struct Members<'a, 'b> {
    pack: &'a mut Pack<'b>,
    /// Where their number will stand, if it is yet to be known.
    unknown: Option<usize>,
    count: usize,
}

impl<'a, 'b> Members<'a, 'b> {
    /// Of that many, or of as many as will come.
    #[inline]
    fn new(pack: &'a mut Pack<'b>, lengths: &Lengths, count: Option<usize>) -> Result<Self, Error> {
        let unknown = if let Some(count) = count {
            pack.length(lengths, count)?;
            None
        } else {
            pack.marked(lengths.four, [0; 4]);
            Some(pack.out.len() - 4)
        };
        Ok(Self { pack, unknown, count: 0 })
    }

    #[inline]
    fn add<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.count += 1;
        value.serialize(&mut *self.pack)
    }

    /// Ends members of which each consists of so many values.
    #[inline]
    fn finish(self, of: usize) -> Result<(), Error> {
        let Some(place) = self.unknown else { return Ok(()) };
        let count = self.count / of;
        let number = u32::try_from(count).map_err(|_| Error(format!("{count} are too many")))?;
        if let Some(it) = self.pack.out.get_mut(place..place + 4) {
            it.copy_from_slice(&number.to_be_bytes());
        }
        Ok(())
    }
}

impl<'a, 'b> Serializer for &'a mut Pack<'b> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Members<'a, 'b>;
    type SerializeTuple = Members<'a, 'b>;
    type SerializeTupleStruct = Members<'a, 'b>;
    type SerializeTupleVariant = Members<'a, 'b>;
    type SerializeMap = Members<'a, 'b>;
    type SerializeStruct = Members<'a, 'b>;
    type SerializeStructVariant = Members<'a, 'b>;

    fn is_human_readable(&self) -> bool {
        false
    }

    #[inline]
    fn serialize_bool(self, it: bool) -> Result<(), Error> {
        self.byte(0xc2 | u8::from(it));
        Ok(())
    }

    fn serialize_i8(self, it: i8) -> Result<(), Error> {
        self.serialize_i64(it.into())
    }

    fn serialize_i16(self, it: i16) -> Result<(), Error> {
        self.serialize_i64(it.into())
    }

    fn serialize_i32(self, it: i32) -> Result<(), Error> {
        self.serialize_i64(it.into())
    }

    #[inline]
    fn serialize_i64(self, it: i64) -> Result<(), Error> {
        if let Ok(it) = u64::try_from(it) {
            return self.serialize_u64(it);
        }
        match (i8::try_from(it), i16::try_from(it), i32::try_from(it)) {
            (Ok(it @ -32..), ..) => self.byte(it.cast_unsigned()),
            (Ok(it), ..) => self.marked(0xd0, it.to_be_bytes()),
            (_, Ok(it), _) => self.marked(0xd1, it.to_be_bytes()),
            (_, _, Ok(it)) => self.marked(0xd2, it.to_be_bytes()),
            _ => self.marked(0xd3, it.to_be_bytes()),
        }
        Ok(())
    }

    fn serialize_i128(self, it: i128) -> Result<(), Error> {
        self.serialize_bytes(&it.to_be_bytes())
    }

    fn serialize_u8(self, it: u8) -> Result<(), Error> {
        self.serialize_u64(it.into())
    }

    fn serialize_u16(self, it: u16) -> Result<(), Error> {
        self.serialize_u64(it.into())
    }

    fn serialize_u32(self, it: u32) -> Result<(), Error> {
        self.serialize_u64(it.into())
    }

    #[inline]
    fn serialize_u64(self, it: u64) -> Result<(), Error> {
        match (u8::try_from(it), u16::try_from(it), u32::try_from(it)) {
            (Ok(it @ 0..128), ..) => self.byte(it),
            (Ok(it), ..) => self.marked(0xcc, [it]),
            (_, Ok(it), _) => self.marked(0xcd, it.to_be_bytes()),
            (_, _, Ok(it)) => self.marked(0xce, it.to_be_bytes()),
            _ => self.marked(0xcf, it.to_be_bytes()),
        }
        Ok(())
    }

    fn serialize_u128(self, it: u128) -> Result<(), Error> {
        self.serialize_bytes(&it.to_be_bytes())
    }

    fn serialize_f32(self, it: f32) -> Result<(), Error> {
        self.marked(0xca, it.to_be_bytes());
        Ok(())
    }

    #[inline]
    fn serialize_f64(self, it: f64) -> Result<(), Error> {
        self.marked(0xcb, it.to_be_bytes());
        Ok(())
    }

    fn serialize_char(self, it: char) -> Result<(), Error> {
        self.serialize_str(it.encode_utf8(&mut [0; 4]))
    }

    #[inline]
    fn serialize_str(self, it: &str) -> Result<(), Error> {
        self.whole(&TEXT, it.as_bytes())
    }

    fn serialize_bytes(self, it: &[u8]) -> Result<(), Error> {
        self.whole(&BYTES, it)
    }

    #[inline]
    fn serialize_none(self) -> Result<(), Error> {
        self.serialize_unit()
    }

    #[inline]
    fn serialize_some<T: Serialize + ?Sized>(self, it: &T) -> Result<(), Error> {
        it.serialize(self)
    }

    #[inline]
    fn serialize_unit(self) -> Result<(), Error> {
        self.byte(0xc0);
        Ok(())
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Result<(), Error> {
        self.length(&LIST, 0)
    }

    #[inline]
    fn serialize_unit_variant(self, _name: &'static str, _index: u32, variant: &'static str) -> Result<(), Error> {
        self.serialize_str(variant)
    }

    #[inline]
    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _name: &'static str, it: &T) -> Result<(), Error> {
        it.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        it: &T,
    ) -> Result<(), Error> {
        self.variant(variant)?;
        it.serialize(self)
    }

    fn serialize_seq(self, length: Option<usize>) -> Result<Self::SerializeSeq, Error> {
        Members::new(self, &LIST, length)
    }

    fn serialize_tuple(self, length: usize) -> Result<Self::SerializeTuple, Error> {
        Members::new(self, &LIST, Some(length))
    }

    fn serialize_tuple_struct(self, _name: &'static str, length: usize) -> Result<Self::SerializeTupleStruct, Error> {
        self.serialize_tuple(length)
    }

    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<Self::SerializeTupleVariant, Error> {
        self.variant(variant)?;
        self.serialize_tuple(length)
    }

    fn serialize_map(self, length: Option<usize>) -> Result<Self::SerializeMap, Error> {
        Members::new(self, &MAP, length)
    }

    #[inline]
    fn serialize_struct(self, _name: &'static str, length: usize) -> Result<Self::SerializeStruct, Error> {
        self.serialize_tuple(length)
    }

    fn serialize_struct_variant(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<Self::SerializeStructVariant, Error> {
        self.serialize_tuple_variant(name, index, variant, length)
    }
}

macro_rules! members {
    ($($kind:ident: $add:ident($($name:ident)?);)*) => {
        $(impl $kind for Members<'_, '_> {
            type Ok = ();
            type Error = Error;

            #[inline]
            fn $add<T: Serialize + ?Sized>(&mut self, $($name: &'static str,)? value: &T) -> Result<(), Error> {
                self.add(value)
            }

            #[inline]
            fn end(self) -> Result<(), Error> {
                self.finish(1)
            }
        })*
    };
}

members! {
    SerializeSeq: serialize_element();
    SerializeTuple: serialize_element();
    SerializeTupleStruct: serialize_field();
    SerializeTupleVariant: serialize_field();
    SerializeStruct: serialize_field(_name);
    SerializeStructVariant: serialize_field(_name);
}

impl SerializeMap for Members<'_, '_> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        self.add(key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.add(value)
    }

    fn end(self) -> Result<(), Error> {
        self.finish(2)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use serde::Deserialize;

    use super::*;

    fn packed<T: Serialize + ?Sized>(value: &T) -> Vec<u8> {
        let mut out = vec![7];
        pack(value, &mut out).unwrap();
        assert_eq!(out.remove(0), 7);
        out
    }

    fn same<T: Serialize + ?Sized>(value: &T) {
        assert_eq!(packed(value), rmp_serde::to_vec(value).unwrap());
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Nothing;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct One(i64);

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Two(bool, char);

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    enum Any {
        Empty,
        Of(String),
        Both(u8, Option<f64>),
        Named { a: f32, b: () },
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct All {
        nothing: Nothing,
        one: One,
        two: Two,
        any: Vec<Any>,
        map: BTreeMap<String, (u16, i8, i16, i32, u32)>,
        large: (i128, u128),
        none: Option<u64>,
    }

    /// Lengths and numbers at each border, and a value of each kind.
    #[test]
    fn the_bytes_are_those_of_the_library() {
        let borders = (0..64).flat_map(|it| [1_i64 << it, (1_i64 << it).wrapping_sub(1)]);
        for it in borders.flat_map(|it| [it, it.wrapping_neg(), it.wrapping_neg().wrapping_sub(1)]) {
            same(&it);
            same(&it.cast_unsigned());
        }
        for length in [0, 1, 15, 16, 31, 32, 255, 256, 65_535, 65_536] {
            same(&"x".repeat(length));
            same(&vec![1_u8; length]);
            same(&(0..length).map(|it| (it, it % 2 == 0)).collect::<BTreeMap<_, _>>());
        }
        let all = All {
            nothing: Nothing,
            one: One(-5),
            two: Two(true, 'é'),
            any: vec![
                Any::Empty,
                Any::Of("a".to_owned()),
                Any::Both(200, Some(0.5)),
                Any::Both(0, None),
                Any::Named { a: 1.5, b: () },
            ],
            map: BTreeMap::from([("k".to_owned(), (300, -3, -300, -70_000, 70_000))]),
            large: (-1, u128::MAX),
            none: None,
        };
        same(&all);
        assert_eq!(rmp_serde::from_slice::<All>(&packed(&all)).unwrap(), all);
    }

    /// Numbers that may be unknown are packed as options: so they stand in archives.
    #[test]
    fn numbers_of_rows_are_packed_as_options() {
        use crate::known::Known;
        use crate::session::{PackedTokens, Tokens};
        for number in [None, Some(0), Some(-1), Some(i64::MAX)] {
            assert_eq!(packed(&Known::from(number)), packed(&number));
            let tokens = Tokens { output: number, cache_write: Some(7), ..Tokens::UNKNOWN };
            assert_eq!(packed(&PackedTokens::from(tokens)), packed(&tokens));
            assert_eq!(rmp_serde::from_slice::<PackedTokens>(&packed(&tokens)).unwrap().get(), tokens);
        }
    }

    /// What does not say how many members it has is read as what it is.
    #[test]
    fn members_may_be_counted_as_they_come() {
        struct Odd;
        impl Serialize for Odd {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_seq((0..9).filter(|it| it % 2 == 1))
            }
        }
        struct Squares;
        impl Serialize for Squares {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_map((0..9).filter(|it| it % 3 == 1).map(|it| (it, it * it)))
            }
        }
        let read: (Vec<u8>, BTreeMap<u8, u8>) = rmp_serde::from_slice(&packed(&(Odd, Squares))).unwrap();
        assert_eq!(read, (vec![1, 3, 5, 7], BTreeMap::from([(1, 1), (4, 16), (7, 49)])));
    }

    proptest! {
        #[test]
        fn any_value_is_as_the_library_packs_it(
            value: (i64, Option<String>, Vec<(u64, f64, bool)>, BTreeMap<String, Option<i32>>),
        ) {
            same(&value);
        }
    }
}
