//! Values packed into few bytes, as the facts of each source are. What rows say again and again takes a byte: nothing, a word, the
//! beginning of an id, most of a time. So no general compressor has to find it, which takes three times as long.
//!
//! Each value begins with a byte that says what it is, as in [MessagePack]; structures are lists of the values of their fields,
//! without the names. [`super::unpack`] reads it.
//!
//! | first byte | value |
//! |---|---|
//! | `00` to `7f` | a whole number below 128 |
//! | `80` to `8f` | nothing, 1 to 16 times: as many values that follow one another |
//! | `90` to `9f` | a list of up to 15 values |
//! | `a0` to `bf` | a text of up to 31 bytes |
//! | `c0` to `df` | one of the first 32 words |
//! | `e0`, `e1` | false, true |
//! | `e2` to `e5` | a whole number in 1, 2, 4, 8 bytes |
//! | `e6` | −1 less a varint |
//! | `e7`, `e8` | the large number before this one, plus a thousand times a signed varint, or plus that |
//! | `e9`, `ea` | a fraction in 8 bytes; in millionths, a varint |
//! | `eb`, `ec` | a text, its length in 1 or 4 bytes |
//! | `ed` | a text that begins as the one before it in its place: how many bytes of that, how many others, those |
//! | `ee` | the text before it in its place |
//! | `ef` | a word: its length in a byte, and it. Words count from 0 |
//! | `f0`, `f1` | a word of that number less 32, in 1 or 2 bytes |
//! | `f2`, `f3` | bytes, their length in 1 or 4 bytes |
//! | `f4`, `f5` | a list, its length in 1 or 4 bytes |
//! | `f6`, `f7` | a map, the number of its entries in 1 or 4 bytes |
//! | `f8` | a variant: its name, a word, and its value |
//!
//! Numbers of several bytes begin with the highest. A number is large if it needs 8 bytes. The place of a text is how many-th
//! value of a list of how many it is; texts of more than 255 bytes have none.
//!
//! [MessagePack]: https://github.com/msgpack/msgpack/blob/master/spec.md

use std::fmt::Display;

use serde::Serialize;
use serde::ser::{
    SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple, SerializeTupleStruct,
    SerializeTupleVariant, Serializer,
};

use crate::base::text::{Ends, Word};

/// First bytes: see the table.
pub mod tag {
    pub const NOTHING: u8 = 0x80;
    pub const LIST: u8 = 0x90;
    pub const TEXT: u8 = 0xa0;
    pub const WORD: u8 = 0xc0;
    pub const FALSE: u8 = 0xe0;
    pub const TRUE: u8 = 0xe1;
    pub const ONE: u8 = 0xe2;
    pub const TWO: u8 = 0xe3;
    pub const FOUR: u8 = 0xe4;
    pub const EIGHT: u8 = 0xe5;
    pub const NEGATIVE: u8 = 0xe6;
    pub const THOUSANDS_AFTER: u8 = 0xe7;
    pub const AFTER: u8 = 0xe8;
    pub const FRACTION: u8 = 0xe9;
    pub const MILLIONTHS: u8 = 0xea;
    pub const TEXT_ONE: u8 = 0xeb;
    pub const TEXT_FOUR: u8 = 0xec;
    pub const TEXT_LIKE: u8 = 0xed;
    pub const TEXT_AGAIN: u8 = 0xee;
    pub const NEW_WORD: u8 = 0xef;
    pub const WORD_ONE: u8 = 0xf0;
    pub const WORD_TWO: u8 = 0xf1;
    pub const BYTES_ONE: u8 = 0xf2;
    pub const BYTES_FOUR: u8 = 0xf3;
    pub const LIST_ONE: u8 = 0xf4;
    pub const LIST_FOUR: u8 = 0xf5;
    pub const MAP_ONE: u8 = 0xf6;
    pub const MAP_FOUR: u8 = 0xf7;
    pub const VARIANT: u8 = 0xf8;
}

/// Millionths in one.
pub const MILLION: f64 = 1e6;
/// How many words have a byte of their own.
pub const SHORT_WORDS: u16 = 32;
/// How many words have numbers.
pub const MOST_WORDS: usize = 1 << 16;
/// Places of texts.
pub const PLACES: usize = 256;

/// Why a value was not packed, or not unpacked.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Error(Box<str>);

impl serde::ser::Error for Error {
    fn custom<T: Display>(message: T) -> Self {
        Self(message.to_string().into())
    }
}

impl serde::de::Error for Error {
    fn custom<T: Display>(message: T) -> Self {
        Self(message.to_string().into())
    }
}

/// The place of a value of a list: longer ones than structures are have one for all.
pub const fn place(of: usize, index: usize) -> usize {
    let (first, most) = places(of);
    (first + index) & most
}

const fn places(of: usize) -> (usize, usize) {
    if of < 32 { (of * 32, PLACES - 1) } else { (0, 0) }
}

/// Packs values, one after another. It is large, and so is what it packs into: both can be used again.
#[derive(Debug, Default)]
pub struct Packer(Pack);

impl Packer {
    /// A value behind these bytes. There is room for about so many.
    ///
    /// # Errors
    /// Where a value has 4 GiB or as many members, or does not say how many it has.
    pub fn pack<T: Serialize + ?Sized>(&mut self, before: &[u8], value: &T, length: usize) -> Result<&[u8], Error> {
        let Self(pack) = self;
        let mut out = std::mem::take(&mut pack.out);
        out.clear();
        out.reserve(length);
        out.extend_from_slice(before);
        *pack = Pack::new(out, std::mem::take(&mut pack.texts));
        value.serialize(&mut *pack)?;
        Ok(&pack.out)
    }

    /// How many bytes there is room for.
    pub const fn capacity(&self) -> usize {
        self.0.out.capacity()
    }
}

/// What was packed, and what of it may be said again.
#[derive(Debug)]
struct Pack {
    out: Vec<u8>,
    /// The end of what is packed, if that is a value of nothing.
    nothing_until: usize,
    large: u64,
    place: usize,
    is_word: bool,
    lengths: [u8; PLACES],
    texts: Box<[[u8; 256]]>,
    words: [Said; 256],
    words_known: usize,
}

/// A word that was packed: where its bytes stand, how many they are, how it begins and ends, and its number.
#[derive(Debug, Clone, Copy)]
struct Said {
    ends: Ends,
    offset: u32,
    length: u8,
    number: u16,
}

impl Default for Pack {
    fn default() -> Self {
        Self::new(Vec::new(), vec![[0; 256]; PLACES].into())
    }
}

impl Pack {
    const fn new(out: Vec<u8>, texts: Box<[[u8; 256]]>) -> Self {
        Self {
            out,
            nothing_until: usize::MAX,
            large: 0,
            place: 0,
            is_word: false,
            lengths: [0; PLACES],
            texts,
            words: [Said { ends: Ends::NONE, offset: 0, length: 0, number: 0 }; 256],
            words_known: 0,
        }
    }

    #[inline]
    fn byte(&mut self, byte: u8) {
        self.out.push(byte);
    }

    #[inline]
    fn tagged<const N: usize>(&mut self, tag: u8, bytes: [u8; N]) {
        self.byte(tag);
        self.out.extend_from_slice(&bytes);
    }

    /// Short ones at once.
    #[inline]
    fn varint(&mut self, tag: u8, mut number: u64) {
        const MORE: u8 = 0x80;
        let septet = |index: u32| (number >> (7 * index)).to_le_bytes()[0] | MORE;
        if number < 1 << 7 {
            return self.out.extend_from_slice(&[tag, septet(0) ^ MORE]);
        } else if number < 1 << 14 {
            return self.out.extend_from_slice(&[tag, septet(0), septet(1) ^ MORE]);
        } else if number < 1 << 21 {
            return self.out.extend_from_slice(&[tag, septet(0), septet(1), septet(2) ^ MORE]);
        }
        self.byte(tag);
        while number >= 0x80 {
            self.byte(number.to_le_bytes()[0] | 0x80);
            number >>= 7;
        }
        self.byte(number.to_le_bytes()[0]);
    }

    /// A length in one byte or in four.
    fn length(&mut self, one: u8, four: u8, length: usize) -> Result<(), Error> {
        match (u8::try_from(length), u32::try_from(length)) {
            (Ok(it), _) => self.tagged(one, [it]),
            (_, Ok(it)) => self.tagged(four, it.to_be_bytes()),
            _ => return Err(Error(format!("{length} are too many").into())),
        }
        Ok(())
    }

    #[inline]
    fn list(&mut self, count: usize) -> Result<(), Error> {
        match u8::try_from(count) {
            Ok(it @ ..16) => self.byte(tag::LIST | it),
            _ => self.length(tag::LIST_ONE, tag::LIST_FOUR, count)?,
        }
        Ok(())
    }

    fn nothing(&mut self) {
        if self.nothing_until == self.out.len()
            && let Some(run) = self.out.last_mut().filter(|it| **it < tag::NOTHING + 15)
        {
            *run += 1;
            return;
        }
        self.byte(tag::NOTHING);
        self.nothing_until = self.out.len();
    }

    /// A number that needs eight bytes, as times do: most are some seconds behind the one before.
    fn large(&mut self, number: u64) {
        let after = number.wrapping_sub(self.large).cast_signed();
        self.large = number;
        let signed = |it: i64| (it << 1 ^ it >> 63).cast_unsigned();
        if after % 1000 == 0 {
            self.varint(tag::THOUSANDS_AFTER, signed(after / 1000));
        } else if after.unsigned_abs() < 1 << 48 {
            self.varint(tag::AFTER, signed(after));
        } else {
            self.tagged(tag::EIGHT, number.to_be_bytes());
        }
    }

    fn word(&mut self, word: &str) -> Result<(), Error> {
        let bytes = word.as_bytes();
        let Some(length @ 1..) = u8::try_from(bytes.len()).ok() else { return self.text(word) };
        let ends = Ends::of(bytes);
        let place = usize::from(ends.hash().to_be_bytes()[0]);
        let Some(known) = self.words.get_mut(place) else { return Err(Error("a word in no place".into())) };
        let start = known.offset as usize;
        if known.length == length
            && known.ends == ends
            && (bytes.len() <= Ends::ALL || self.out.get(start..start + bytes.len()).is_some_and(|it| it == bytes))
        {
            let number = known.number;
            match number.checked_sub(SHORT_WORDS).map(u16::to_be_bytes) {
                None => self.byte(tag::WORD | number.to_be_bytes()[1]),
                Some([0, it]) => self.tagged(tag::WORD_ONE, [it]),
                Some(both) => self.tagged(tag::WORD_TWO, both),
            }
            return Ok(());
        }
        if let Ok(number) = u16::try_from(self.words_known) {
            if let Ok(offset) = u32::try_from(self.out.len() + 2) {
                *known = Said { ends, offset, length, number };
            }
            self.words_known += 1;
        }
        self.tagged(tag::NEW_WORD, [length]);
        self.out.extend_from_slice(bytes);
        Ok(())
    }

    fn text(&mut self, text: &str) -> Result<(), Error> {
        let bytes = text.as_bytes();
        let (place, length) = (self.place, u8::try_from(bytes.len()));
        if let (Ok(length), Some(known_length), Some(known)) =
            (length, self.lengths.get_mut(place), self.texts.get_mut(place))
        {
            let shared = shared(bytes, known.get(..usize::from(*known_length)).unwrap_or_default());
            let rest = bytes.get(shared..).unwrap_or_default();
            let is_again = rest.is_empty() && length == *known_length;
            *known_length = length;
            if is_again {
                self.byte(tag::TEXT_AGAIN);
                return Ok(());
            }
            if let Some(it) = known.get_mut(shared..bytes.len()) {
                it.copy_from_slice(rest);
            }
            if let (4.., Ok(same), Ok(others)) = (shared, u8::try_from(shared), u8::try_from(rest.len())) {
                self.tagged(tag::TEXT_LIKE, [same, others]);
                self.out.extend_from_slice(rest);
                return Ok(());
            }
        }
        match length {
            Ok(it @ ..32) => self.byte(tag::TEXT | it),
            _ => self.length(tag::TEXT_ONE, tag::TEXT_FOUR, bytes.len())?,
        }
        self.out.extend_from_slice(bytes);
        Ok(())
    }

    fn variant(&mut self, name: &str) -> Result<(), Error> {
        self.byte(tag::VARIANT);
        self.word(name)
    }
}

/// How many bytes both begin with.
fn shared(a: &[u8], b: &[u8]) -> usize {
    let (a_words, a_rest) = a.as_chunks::<8>();
    let (b_words, _) = b.as_chunks::<8>();
    let mut length = 0;
    for (a, b) in a_words.iter().zip(b_words) {
        let differing = u64::from_le_bytes(*a) ^ u64::from_le_bytes(*b);
        if differing != 0 {
            return length + differing.trailing_zeros() as usize / 8;
        }
        length += 8;
    }
    let rest = if length == a.len() - a_rest.len() { a_rest } else { a.get(length..).unwrap_or_default() };
    length + rest.iter().zip(b.get(length..).unwrap_or_default()).take_while(|(a, b)| a == b).count()
}

/// Members of a list, a map or a structure.
struct Members<'a> {
    pack: &'a mut Pack,
    of: usize,
    index: usize,
    places: (usize, usize),
}

impl<'a> Members<'a> {
    #[inline]
    fn of_list(pack: &'a mut Pack, count: usize) -> Result<Self, Error> {
        pack.list(count)?;
        Ok(Self { pack, of: count, index: 0, places: places(count) })
    }

    #[inline]
    fn add<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        let (first, most) = self.places;
        self.pack.place = (first + self.index) & most;
        self.index += 1;
        value.serialize(&mut *self.pack)
    }

    /// Ends members of which each consists of so many values.
    #[inline]
    fn finish(&self, values: usize) -> Result<(), Error> {
        if self.index == self.of * values { Ok(()) } else { Err(Error("members are more or less than said".into())) }
    }
}

fn counted(length: Option<usize>) -> Result<usize, Error> {
    length.ok_or_else(|| Error("members that are not counted".into()))
}

impl<'a> Serializer for &'a mut Pack {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Members<'a>;
    type SerializeTuple = Members<'a>;
    type SerializeTupleStruct = Members<'a>;
    type SerializeTupleVariant = Members<'a>;
    type SerializeMap = Members<'a>;
    type SerializeStruct = Members<'a>;
    type SerializeStructVariant = Members<'a>;

    fn is_human_readable(&self) -> bool {
        false
    }

    #[inline]
    fn serialize_bool(self, it: bool) -> Result<(), Error> {
        self.byte(tag::FALSE | u8::from(it));
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
        match u64::try_from(it) {
            Ok(it) => return self.serialize_u64(it),
            Err(_) => self.varint(tag::NEGATIVE, (!it).cast_unsigned()),
        }
        Ok(())
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
            (Ok(it), ..) => self.tagged(tag::ONE, [it]),
            (_, Ok(it), _) => self.tagged(tag::TWO, it.to_be_bytes()),
            (_, _, Ok(it)) => self.tagged(tag::FOUR, it.to_be_bytes()),
            _ => self.large(it),
        }
        Ok(())
    }

    fn serialize_f32(self, it: f32) -> Result<(), Error> {
        self.serialize_f64(it.into())
    }

    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "it is compared"
    )]
    fn serialize_f64(self, it: f64) -> Result<(), Error> {
        /// Of more of them not all numbers are known.
        const MOST: u64 = 1 << 53;
        // As parts of sums of money often are.
        if it.to_bits() == 0 {
            self.tagged(tag::MILLIONTHS, [0]);
            return Ok(());
        }
        let millionths = (it * MILLION + 0.5) as u64;
        if millionths < MOST && (millionths as f64 / MILLION).to_bits() == it.to_bits() {
            self.varint(tag::MILLIONTHS, millionths);
        } else {
            self.tagged(tag::FRACTION, it.to_be_bytes());
        }
        Ok(())
    }

    fn serialize_char(self, it: char) -> Result<(), Error> {
        self.serialize_str(it.encode_utf8(&mut [0; 4]))
    }

    #[inline]
    fn serialize_str(self, it: &str) -> Result<(), Error> {
        if self.is_word { self.word(it) } else { self.text(it) }
    }

    #[inline]
    fn serialize_bytes(self, it: &[u8]) -> Result<(), Error> {
        self.length(tag::BYTES_ONE, tag::BYTES_FOUR, it.len())?;
        self.out.extend_from_slice(it);
        Ok(())
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
        self.nothing();
        Ok(())
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Result<(), Error> {
        self.serialize_unit()
    }

    #[inline]
    fn serialize_unit_variant(self, _name: &'static str, _index: u32, variant: &'static str) -> Result<(), Error> {
        self.word(variant)
    }

    #[inline]
    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, name: &'static str, it: &T) -> Result<(), Error> {
        self.is_word = name == Word::NAME;
        let packed = it.serialize(&mut *self);
        self.is_word = false;
        packed
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
        Members::of_list(self, counted(length)?)
    }

    fn serialize_tuple(self, length: usize) -> Result<Self::SerializeTuple, Error> {
        Members::of_list(self, length)
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
        let of = counted(length)?;
        self.length(tag::MAP_ONE, tag::MAP_FOUR, of)?;
        Ok(Members { pack: self, of, index: 0, places: places(of) })
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
        $(impl $kind for Members<'_> {
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

impl SerializeMap for Members<'_> {
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
