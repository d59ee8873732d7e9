//! What [`super::pack`] packed, read again: see the table there.

use serde::Deserialize;
use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error as _, IntoDeserializer as _, MapAccess, SeqAccess, VariantAccess,
    Visitor,
};
use serde::forward_to_deserialize_any;

use super::pack::{Error, MILLION, MOST_WORDS, PLACES, SHORT_WORDS, place, tag};

/// How deep values may stand in others. Those of facts are half a dozen deep.
const DEEPEST: u32 = 64;

/// The value that was packed into these bytes.
///
/// # Errors
/// Where they are no such value, or more than one.
pub fn unpack<'de, T: Deserialize<'de>>(bytes: &'de [u8]) -> Result<T, Error> {
    let mut unpack =
        Unpack { rest: bytes, nothing: 0, large: 0, place: 0, texts: Vec::new(), words: Vec::new(), depth: 0 };
    let value = T::deserialize(&mut unpack)?;
    if unpack.rest.is_empty() && unpack.nothing == 0 { Ok(value) } else { Err(Error::custom("more than one value")) }
}

struct Unpack<'de> {
    rest: &'de [u8],
    /// How many values of nothing are left of a run.
    nothing: u8,
    large: u64,
    place: usize,
    texts: Vec<Vec<u8>>,
    words: Vec<&'de str>,
    depth: u32,
}

impl<'de> Unpack<'de> {
    fn take(&mut self, length: usize) -> Result<&'de [u8], Error> {
        let (bytes, rest) = self.rest.split_at_checked(length).ok_or_else(|| Error::custom("cut short"))?;
        self.rest = rest;
        Ok(bytes)
    }

    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let (bytes, rest) = self.rest.split_first_chunk().ok_or_else(|| Error::custom("cut short"))?;
        self.rest = rest;
        Ok(*bytes)
    }

    fn one(&mut self) -> Result<usize, Error> {
        self.bytes().map(|[it]| usize::from(it))
    }

    /// A length in one byte or in four.
    fn length(&mut self, is_one: bool) -> Result<usize, Error> {
        if is_one { self.one() } else { usize::try_from(u32::from_be_bytes(self.bytes()?)).map_err(Error::custom) }
    }

    fn varint(&mut self) -> Result<u64, Error> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let [byte] = self.bytes()?;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                break;
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(Error::custom("a number that is too large"))
    }

    fn signed(&mut self) -> Result<i64, Error> {
        let number = self.varint()?;
        Ok((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
    }

    fn after(&mut self, after: i64) -> u64 {
        self.large = self.large.wrapping_add(after.cast_unsigned());
        self.large
    }

    /// Whether the next value is nothing; if so, it is taken.
    fn is_nothing(&mut self) -> bool {
        if self.nothing > 0 {
            self.nothing -= 1;
            return true;
        }
        match self.rest.split_first() {
            Some((first, rest)) if (tag::NOTHING..tag::LIST).contains(first) => {
                (self.nothing, self.rest) = (first - tag::NOTHING, rest);
                true
            }
            _ => false,
        }
    }

    /// A text that stands here as it is.
    fn text(&mut self, length: usize) -> Result<&'de str, Error> {
        let bytes = self.take(length)?;
        if u8::try_from(length).is_ok() {
            let known = self.known()?;
            known.clear();
            known.extend_from_slice(bytes);
        }
        str::from_utf8(bytes).map_err(Error::custom)
    }

    /// The text before in this place.
    fn known(&mut self) -> Result<&mut Vec<u8>, Error> {
        if self.texts.is_empty() {
            self.texts.resize_with(PLACES, Vec::new);
        }
        self.texts.get_mut(self.place).ok_or_else(|| Error::custom("a text in no place"))
    }

    fn new_word(&mut self) -> Result<&'de str, Error> {
        let length = self.one()?;
        let word = str::from_utf8(self.take(length)?).map_err(Error::custom)?;
        if self.words.len() < MOST_WORDS {
            self.words.push(word);
        }
        Ok(word)
    }

    fn word(&self, number: usize) -> Result<&'de str, Error> {
        self.words.get(number).copied().ok_or_else(|| Error::custom("a word that was not said"))
    }

    /// The word that begins with this byte, if it is one.
    fn word_of(&mut self, first: u8) -> Result<Option<&'de str>, Error> {
        let word = match first {
            tag::WORD..tag::FALSE => self.word(usize::from(first - tag::WORD))?,
            tag::NEW_WORD => self.new_word()?,
            tag::WORD_ONE => {
                let number = self.one()?;
                self.word(number + usize::from(SHORT_WORDS))?
            }
            tag::WORD_TWO => {
                let number = u16::from_be_bytes(self.bytes()?);
                self.word(usize::from(number) + usize::from(SHORT_WORDS))?
            }
            _ => return Ok(None),
        };
        Ok(Some(word))
    }

    /// The name of a variant.
    fn name(&mut self) -> Result<&'de str, Error> {
        let [first] = if self.nothing == 0 { self.bytes()? } else { [tag::NOTHING] };
        self.word_of(first)?.ok_or_else(|| Error::custom("a variant without a name"))
    }

    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, Error>) -> Result<T, Error> {
        if self.depth == DEEPEST {
            return Err(Error::custom("values too deep in others"));
        }
        self.depth += 1;
        let value = read(self);
        self.depth -= 1;
        value
    }

    /// So many members, each of so many values.
    fn members<T>(
        &mut self,
        of: usize,
        values: usize,
        visit: impl FnOnce(&mut Members<'_, 'de>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.deeper(|unpack| {
            let mut members = Members { unpack, of, index: 0 };
            let value = visit(&mut members)?;
            if members.index == of * values { Ok(value) } else { Err(Error::invalid_length(of, &"fewer members")) }
        })
    }

    fn list<V: Visitor<'de>>(&mut self, of: usize, visitor: V) -> Result<V::Value, Error> {
        self.members(of, 1, |it| visitor.visit_seq(it))
    }
}

impl<'de> Deserializer<'de> for &mut Unpack<'de> {
    type Error = Error;

    fn is_human_readable(&self) -> bool {
        false
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.is_nothing() {
            return visitor.visit_unit();
        }
        let [first] = self.bytes()?;
        if let Some(word) = self.word_of(first)? {
            return visitor.visit_borrowed_str(word);
        }
        match first {
            ..tag::NOTHING => visitor.visit_u64(first.into()),
            tag::LIST..tag::TEXT => self.list((first - tag::LIST).into(), visitor),
            tag::TEXT..tag::WORD => visitor.visit_borrowed_str(self.text((first - tag::TEXT).into())?),
            tag::FALSE => visitor.visit_bool(false),
            tag::TRUE => visitor.visit_bool(true),
            tag::ONE => visitor.visit_u64(u8::from_be_bytes(self.bytes()?).into()),
            tag::TWO => visitor.visit_u64(u16::from_be_bytes(self.bytes()?).into()),
            tag::FOUR => visitor.visit_u64(u32::from_be_bytes(self.bytes()?).into()),
            tag::EIGHT => {
                self.large = u64::from_be_bytes(self.bytes()?);
                visitor.visit_u64(self.large)
            }
            tag::NEGATIVE => {
                let number = i64::try_from(self.varint()?).map_err(Error::custom)?;
                visitor.visit_i64(!number)
            }
            tag::THOUSANDS_AFTER => {
                let thousands = self.signed()?.wrapping_mul(1000);
                visitor.visit_u64(self.after(thousands))
            }
            tag::AFTER => {
                let after = self.signed()?;
                visitor.visit_u64(self.after(after))
            }
            tag::FRACTION => visitor.visit_f64(f64::from_be_bytes(self.bytes()?)),
            #[expect(clippy::cast_precision_loss, reason = "that is how it was packed")]
            tag::MILLIONTHS => visitor.visit_f64(self.varint()? as f64 / MILLION),
            tag::TEXT_ONE | tag::TEXT_FOUR => {
                let length = self.length(first == tag::TEXT_ONE)?;
                visitor.visit_borrowed_str(self.text(length)?)
            }
            tag::TEXT_LIKE => {
                let [same, others] = self.bytes()?.map(usize::from);
                let others = self.take(others)?;
                let known = self.known()?;
                if same > known.len() || same + others.len() > usize::from(u8::MAX) {
                    return Err(Error::custom("a text like none before"));
                }
                known.truncate(same);
                known.extend_from_slice(others);
                visitor.visit_str(str::from_utf8(known).map_err(Error::custom)?)
            }
            tag::TEXT_AGAIN => visitor.visit_str(str::from_utf8(self.known()?).map_err(Error::custom)?),
            tag::BYTES_ONE | tag::BYTES_FOUR => {
                let length = self.length(first == tag::BYTES_ONE)?;
                visitor.visit_borrowed_bytes(self.take(length)?)
            }
            tag::LIST_ONE | tag::LIST_FOUR => {
                let of = self.length(first == tag::LIST_ONE)?;
                self.list(of, visitor)
            }
            tag::MAP_ONE | tag::MAP_FOUR => {
                let of = self.length(first == tag::MAP_ONE)?;
                self.members(of, 2, |it| visitor.visit_map(it))
            }
            tag::VARIANT => self.deeper(|unpack| {
                let name = Some(unpack.name()?);
                visitor.visit_map(Variant { unpack, name })
            }),
            _ => Err(Error::custom("a value of no kind")),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.is_nothing() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        if self.nothing == 0 && self.rest.first() == Some(&tag::VARIANT) {
            let [_] = self.bytes()?;
            return self.deeper(|unpack| {
                let name = Some(unpack.name()?);
                visitor.visit_enum(Variant { unpack, name })
            });
        }
        let name: StrDeserializer<'_, Error> = self.name()?.into_deserializer();
        visitor.visit_enum(name)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map
        struct identifier ignored_any
    }
}

/// Members of a list or a map that are yet to be read.
struct Members<'a, 'de> {
    unpack: &'a mut Unpack<'de>,
    of: usize,
    index: usize,
}

impl<'de> Members<'_, 'de> {
    fn next<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Error> {
        self.unpack.place = place(self.of, self.index);
        self.index += 1;
        seed.deserialize(&mut *self.unpack)
    }
}

impl<'de> SeqAccess<'de> for Members<'_, 'de> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        if self.index == self.of { Ok(None) } else { self.next(seed).map(Some) }
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.of - self.index)
    }
}

impl<'de> MapAccess<'de> for Members<'_, 'de> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        if self.index / 2 == self.of { Ok(None) } else { self.next(seed).map(Some) }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        self.next(seed)
    }
}

/// A variant that has a value: where its kind is not asked for, a map of its name and that.
struct Variant<'a, 'de> {
    unpack: &'a mut Unpack<'de>,
    name: Option<&'de str>,
}

impl<'de> MapAccess<'de> for Variant<'_, 'de> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        let Some(name) = self.name.take() else { return Ok(None) };
        let name: StrDeserializer<'_, Error> = name.into_deserializer();
        seed.deserialize(name).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        seed.deserialize(&mut *self.unpack)
    }
}

impl<'a, 'de> EnumAccess<'de> for Variant<'a, 'de> {
    type Error = Error;
    type Variant = Value<'a, 'de>;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self::Variant), Error> {
        let name: StrDeserializer<'_, Error> = self.name.unwrap_or_default().into_deserializer();
        Ok((seed.deserialize(name)?, Value(self.unpack)))
    }
}

/// The value of a variant.
struct Value<'a, 'de>(&'a mut Unpack<'de>);

impl<'de> VariantAccess<'de> for Value<'_, 'de> {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        Err(Error::custom("a variant with a value it cannot have"))
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Error> {
        seed.deserialize(self.0)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        self.0.deserialize_any(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value, Error> {
        self.0.deserialize_any(visitor)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use serde::Serialize;
    use serde::de::IgnoredAny;

    use super::*;
    use crate::base::text::Word;
    use crate::store::archive::pack::Packer;

    fn packed<T: Serialize>(value: &T, packer: &mut Packer) -> Vec<u8> {
        packer.pack(b"before", value, 0).unwrap().to_vec().split_off(6)
    }

    /// Packed, and read again; gives how many bytes it took.
    #[track_caller]
    fn same<T: Serialize + for<'de> Deserialize<'de> + PartialEq + std::fmt::Debug>(value: &T) -> usize {
        // What was packed before has no part in it.
        let mut packer = Packer::default();
        let bytes = packed(value, &mut packer);
        assert_eq!(packed(value, &mut packer), bytes);
        assert_eq!(unpack::<T>(&bytes).unwrap(), *value);
        unpack::<IgnoredAny>(&bytes).unwrap();
        // All of it is needed, and no more.
        let cuts = (0..bytes.len()).step_by(bytes.len() / 9 + 1);
        assert!(cuts.into_iter().all(|it| unpack::<T>(&bytes[..it]).is_err()));
        assert!(unpack::<T>(&[&bytes[..], &[1]].concat()).is_err());
        bytes.len()
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
        Named { a: f32, b: Option<()> },
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct All {
        nothing: Nothing,
        one: One,
        two: Two,
        any: Vec<Any>,
        map: BTreeMap<String, (u16, i8, i16, i32, u32)>,
        words: Vec<Word>,
        none: Option<u64>,
    }

    /// Lengths and numbers at each border, and a value of each kind.
    #[test]
    fn what_was_packed_is_read_again() {
        let borders = (0..64).flat_map(|it| [1_i64 << it, (1_i64 << it).wrapping_sub(1)]);
        let numbers: Vec<i64> =
            borders.flat_map(|it| [it, it.wrapping_neg(), it.wrapping_neg().wrapping_sub(1)]).collect();
        assert!(numbers.iter().all(|it| same(it) <= 11));
        same(&numbers);
        same(&numbers.iter().map(|it| it.cast_unsigned()).collect::<Vec<_>>());
        same(
            &numbers.iter().map(|it| f64::from_bits(it.cast_unsigned())).filter(|it| !it.is_nan()).collect::<Vec<_>>(),
        );
        for length in [0, 1, 15, 16, 31, 32, 255, 256, 65_535, 65_536] {
            same(&"x".repeat(length));
            same(&["y".repeat(length), "x".repeat(length), "x".repeat(length), "x".repeat(length / 2)].to_vec());
            same(&vec![1_u8; length]);
            same(&vec![None::<u8>; length]);
            same(&(0..length).map(|it| Word::new(&format!("w{it}"))).collect::<Vec<_>>());
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
                Any::Named { a: 1.5, b: None },
                Any::Empty,
            ],
            map: BTreeMap::from([("k".to_owned(), (300, -3, -300, -70_000, 70_000))]),
            words: ["", "one", "two", "one", ""].map(Word::new).into(),
            none: None,
        };
        same(&all);
        // Words that have no number any more, as names of variants as well.
        let many =
            |it: i64| (Word::new(&it.to_string()), (it % 9000 == 8999).then_some(Any::Both(1, None)), Any::Empty);
        same(&(0..70_000).map(many).collect::<Vec<_>>());
    }

    /// What rows say again takes a byte or two.
    #[test]
    fn what_is_said_again_is_short() {
        let row = |number: i64| {
            let time = 1_790_000_000_000_000 + number * 5_000_000;
            (
                Word::new("claude-opus-4-7"),
                None::<u8>,
                None::<u8>,
                time,
                format!("resp_0123456789abcdef{number:02}"),
                0.25,
            )
        };
        let one = same(&vec![row(0)]);
        // Five of the ids differ in two digits.
        assert_eq!(same(&(0..60).map(row).collect::<Vec<_>>()) - one, 1 + 59 * (1 + 1 + 1 + 3 + 4 + 4) + 5);
        assert_eq!(same(&vec![(1, "some/path".to_owned()); 9]) - same(&vec![(1, "some/path".to_owned())]), 8 * 3);
    }

    #[test]
    fn what_nobody_packs_is_refused() {
        let deep = [[0x91; 10_000].as_slice(), &[0]].concat();
        for broken in [
            &[][..],
            &[0xff],
            &[0xc0],
            &[0xf0, 0],
            &[0xf1, 0, 0],
            &[0xed, 4, 0],
            &[0x92, 0xeb, 3, b'a', b'b', b'c', 0xed, 4, 0],
            &[0xa1, 0xff],
            &[0xf5, 0xff, 0xff, 0xff, 0xff, 1],
            &[0xec, 0xff, 0xff, 0xff, 0xff, 1],
            &[0xe8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2],
            &[0xe6, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1],
            &[0x91, 0x81],
            &[0xf8, 1],
            &deep,
        ] {
            assert!(unpack::<IgnoredAny>(broken).is_err(), "{broken:?}");
        }
        assert!(unpack::<Any>(&[0xf8, 0xef, 5, b'E', b'm', b'p', b't', b'y', 1]).is_err());
        assert!(unpack::<(u8, u8)>(&[0x93, 1, 2, 3]).is_err());
    }

    proptest! {
        #[test]
        fn any_value_is_read_again(
            value: (i64, Option<String>, Vec<(u64, f64, bool)>, BTreeMap<String, Option<i32>>),
            rows in proptest::collection::vec(any::<(bool, Option<[Option<u8>; 3]>, (u64, u64))>(), 0..20),
            words in proptest::collection::vec("[a-c]{0,3}", 0..100),
        ) {
            same(&value);
            same(&rows);
            let texts: Vec<_> = words.iter().map(|it| (Word::new(it), it.repeat(70), it.clone())).collect();
            same(&texts);
        }

        /// Whatever bytes are read, nothing panics, and texts are no larger than 255 times as much.
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = unpack::<IgnoredAny>(&bytes);
            let _ = unpack::<All>(&bytes);
            let _ = unpack::<crate::model::source::Source>(&bytes);
            if let Ok(texts) = unpack::<Vec<String>>(&bytes) {
                prop_assert!(texts.iter().map(String::len).sum::<usize>() <= bytes.len() * 255);
            }
        }
    }
}
