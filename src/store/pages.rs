//! Columns of rows as the pages of a parquet file: definition levels, then values, packed by Snappy.
//!
//! Each value is looked at once, as its row gives it; polars would have an array of them first, with gaps filled, and then go over
//! it for each of levels, least and most, keys and values. Only lists go that way, of which few rows have any. What the bytes
//! mean: <https://parquet.apache.org/docs/file-format/data-pages/encodings/>.

use std::hash::BuildHasher as _;

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use polars::prelude::{PolarsError, PolarsResult, polars_err};
use polars_arrow::array::Array;
use polars_parquet::parquet::CowBuffer;
use polars_parquet::parquet::compression::Compression;
use polars_parquet::parquet::metadata::Descriptor;
use polars_parquet::parquet::page::{
    CompressedDataPage, CompressedDictPage, DataPageHeader, DataPageHeaderV1, FormatEncoding,
};
use polars_parquet::parquet::schema::types::PrimitiveType;
use polars_parquet::parquet::statistics::ParquetStatistics;
use polars_parquet::parquet::types::NativeType;
use polars_parquet::write::{
    CompressedPage, CompressionOptions, ParquetType, StatisticsOptions, Version, WriteOptions, array_to_columns,
    compress, get_dtype_encoding,
};

/// The pages of one column of some rows.
pub type Pages = Vec<CompressedPage>;

/// How the files are written that are made of such pages.
pub const OPTIONS: WriteOptions = WriteOptions {
    statistics: StatisticsOptions {
        min_value: true,
        max_value: true,
        distinct_count: false,
        null_count: true,
        binary_statistics_truncate_length: None,
    },
    compression: CompressionOptions::Snappy,
    version: Version::V1,
    data_page_size: None,
};

/// Values of a page that is full, in bytes; its last value may make it longer.
const FULL: usize = 1 << 20;

/// Texts that are longer are not named as the least or the most of a column: the file would hold them three times.
const MOST_NAMED: usize = 256;

/// Makes pages, in memory that it keeps from one to the next.
pub struct PageEncoder {
    present: Present,
    numbers: Vec<i64>,
    /// For each value its place among those that are written once.
    keys: Vec<u32>,
    /// For each number from the least on its key and 1, or 0.
    places: Vec<u32>,
    /// The values of a page as they are written.
    values: Vec<u8>,
    page: Vec<u8>,
    packed: Vec<u8>,
    snappy: snap::raw::Encoder,
}

/// The least and the most of the values of a page, as they are written.
type Range = Option<(Vec<u8>, Vec<u8>)>;

impl Default for PageEncoder {
    fn default() -> Self {
        Self {
            present: Present::default(),
            numbers: Vec::new(),
            keys: Vec::new(),
            places: Vec::new(),
            values: Vec::new(),
            page: Vec::new(),
            packed: Vec::new(),
            snappy: snap::raw::Encoder::new(),
        }
    }
}

impl PageEncoder {
    /// How much memory it keeps for pages, in bytes.
    pub const fn room(&self) -> usize {
        self.values.capacity() + self.page.capacity() + self.packed.capacity()
    }

    /// A column of texts: each once, and for each row the number of its text, or one behind the other where hardly any is there
    /// twice.
    ///
    /// # Errors
    /// When a text is longer than Snappy takes, 4 GiB. (The file refuses a page from 2 GiB on.)
    pub fn texts<'a>(
        &mut self,
        kind: &ParquetType,
        texts: impl Iterator<Item = Option<&'a str>> + Clone,
    ) -> PolarsResult<Pages> {
        if let Some(list) = self.list_of_texts(texts.clone()) {
            for it in &list {
                self.text(it);
            }
            let range = list.iter().min().zip(list.iter().max());
            let range = range.and_then(|(least, most)| named(least, most));
            return self.listed(kind, list.len(), range);
        }
        self.present.clear();
        let mut pages = Pages::new();
        let mut range: Option<(&str, &str)> = None;
        for text in texts {
            // The last page, which has rows, names the least and the most of all: of pages of which one named none, those of the
            // others would be taken for those of the column.
            if self.values.len() >= FULL {
                pages.push(self.data(kind, FormatEncoding::PLAIN, None)?);
            }
            self.present.push(text.is_some());
            if let Some(text) = text {
                self.text(text);
                range = Some(range.map_or((text, text), |(least, most)| (least.min(text), most.max(text))));
            }
        }
        let range = range.and_then(|it| named(it.0, it.1));
        pages.push(self.data(kind, FormatEncoding::PLAIN, range)?);
        Ok(pages)
    }

    fn text(&mut self, text: &str) {
        self.values.extend_from_slice(&u32::try_from(text.len()).unwrap_or(u32::MAX).to_le_bytes());
        self.values.extend_from_slice(text.as_bytes());
    }

    /// The texts each once, and for each row that has one its number; none if hardly any is there twice, as far as the first rows
    /// tell, or if they are long: readers hold all of them at once. Rows that follow each other often have the same: those are
    /// not looked up.
    fn list_of_texts<'a>(&mut self, texts: impl Iterator<Item = Option<&'a str>>) -> Option<Vec<&'a str>> {
        const FEW: usize = 512;
        const MOST_BYTES: usize = 1 << 20;
        // Many rows share not only the text but its bytes.
        let is_same = |one: &str, other: &str| std::ptr::eq(one, other) || one == other;
        let hashes = RandomState::default();
        let mut bytes = 0;
        let mut list: Vec<&str> = Vec::new();
        let mut places: HashTable<(u64, u32)> = HashTable::new();
        let mut last = ("", 0);
        let mut is_listed = true;
        let mut present = self.present.again();
        let mut keys = again(&mut self.keys, texts.size_hint().0);
        for text in texts {
            present.push(text.is_some());
            let Some(text) = text else { continue };
            if list.is_empty() || !is_same(last.0, text) {
                let hash = hashes.hash_one(text);
                let is_it =
                    |it: &(u64, u32)| it.0 == hash && list.get(it.1 as usize).is_some_and(|it| is_same(it, text));
                let key = if let Some((_, key)) = places.find(hash, is_it) {
                    *key
                } else {
                    #[expect(clippy::cast_possible_truncation, reason = "a row group has fewer rows than a u32 counts")]
                    let key = list.len() as u32;
                    places.insert_unique(hash, (hash, key), |it| it.0);
                    bytes += text.len();
                    list.push(text);
                    key
                };
                last = (text, key);
                is_listed = bytes <= MOST_BYTES && (list.len() <= FEW || !is_waste(list.len(), present.rows - 1));
                if !is_listed {
                    break;
                }
            }
            keys.push(last.1);
        }
        (self.present, self.keys) = (present, keys);
        (is_listed && !list.is_empty() && !is_waste(list.len(), self.keys.len())).then_some(list)
    }

    /// A column of whole numbers: where they are in a narrow range each once, and for each row the number of its number.
    ///
    /// # Errors
    /// None that a log can cause.
    pub fn numbers<T: NativeType + Into<i64> + TryFrom<i64>>(
        &mut self,
        kind: &ParquetType,
        numbers: impl Iterator<Item = Option<T>>,
    ) -> PolarsResult<Pages> {
        // In registers, not in `self`, while the rows are gone over; as below.
        let mut present = self.present.again();
        let mut found = again(&mut self.numbers, numbers.size_hint().0);
        for it in numbers {
            present.push(it.is_some());
            if let Some(it) = it {
                found.push(it.into());
            }
        }
        (self.present, self.numbers) = (present, found);
        let least = self.numbers.iter().copied().min().unwrap_or(0);
        let most = self.numbers.iter().copied().max().unwrap_or(0);
        let written = |it: i64| T::try_from(it).ok().map(|it| it.to_le_bytes());
        let range = written(least).zip(written(most)).filter(|_| !self.numbers.is_empty());
        let range = range.map(|(least, most)| (least.as_ref().to_vec(), most.as_ref().to_vec()));
        if let Some(list) = self.list_of_numbers(least, most) {
            for it in list.iter().filter_map(|it| written(*it)) {
                self.values.extend_from_slice(it.as_ref());
            }
            return self.listed(kind, list.len(), range);
        }
        for it in self.numbers.iter().filter_map(|it| written(*it)) {
            self.values.extend_from_slice(it.as_ref());
        }
        Ok(vec![self.data(kind, FormatEncoding::PLAIN, range)?])
    }

    /// The numbers each once, and the keys of all; none if there are many or hardly any is there twice.
    fn list_of_numbers(&mut self, least: i64, most: i64) -> Option<Vec<i64>> {
        const WIDEST: usize = 4096;
        let width = usize::try_from(most.checked_sub(least)?).ok()?;
        if self.numbers.is_empty() || width > WIDEST.min(self.numbers.len() * 16) {
            return None;
        }
        let mut list = Vec::new();
        self.keys.clear();
        self.places.clear();
        self.places.resize(width + 1, 0);
        for it in &self.numbers {
            let place = usize::try_from(it - least).ok().and_then(|it| self.places.get_mut(it))?;
            if *place == 0 {
                list.push(*it);
                *place = u32::try_from(list.len()).ok()?;
            }
            self.keys.push(*place - 1);
        }
        (!is_waste(list.len(), self.keys.len())).then_some(list)
    }

    /// A column of fractions.
    ///
    /// # Errors
    /// None that a log can cause.
    pub fn fractions(
        &mut self,
        kind: &ParquetType,
        fractions: impl Iterator<Item = Option<f64>>,
    ) -> PolarsResult<Pages> {
        let mut present = self.present.again();
        let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
        let mut is_ordered = true;
        for it in fractions {
            present.push(it.is_some());
            if let Some(it) = it {
                is_ordered &= !it.is_nan();
                (least, most) = (least.min(it), most.max(it));
                self.values.extend_from_slice(&it.to_le_bytes());
            }
        }
        self.present = present;
        // As the format asks for, a zero that is the least may be negative, and one that is the most positive.
        let least = if least == 0.0 { -0.0 } else { least };
        let most = if most == 0.0 { 0.0 } else { most };
        let range = (is_ordered && self.present.values > 0).then(|| (bytes(least), bytes(most)));
        Ok(vec![self.data(kind, FormatEncoding::PLAIN, range)?])
    }

    /// A column of flags that every row has.
    ///
    /// # Errors
    /// None that a log can cause.
    pub fn flags(&mut self, kind: &ParquetType, flags: impl Iterator<Item = bool>) -> PolarsResult<Pages> {
        let mut present = self.present.again();
        for it in flags {
            present.push(it);
        }
        self.present = present;
        // They are written as levels are, without the length.
        let (rows, set) = (self.present.rows, self.present.values);
        self.values.extend_from_slice(self.present.bits());
        self.present.all(rows);
        let range = (rows > 0).then(|| (vec![u8::from(set == rows)], vec![u8::from(set > 0)]));
        Ok(vec![self.data(kind, FormatEncoding::PLAIN, range)?])
    }

    /// A column of any other type.
    ///
    /// # Errors
    /// Those of polars.
    pub fn array(&mut self, kind: &ParquetType, array: &dyn Array) -> PolarsResult<Pages> {
        let columns = array_to_columns(array, kind.clone(), OPTIONS, &get_dtype_encoding(array.dtype()))?;
        let pages = columns.into_iter().flatten();
        pages.map(|it| Ok(compress(it?, Vec::new(), OPTIONS.compression)?)).collect()
    }

    /// The pages of a column whose values are listed once: these, which stand in `values`, and the keys.
    fn listed(&mut self, kind: &ParquetType, count: usize, range: Range) -> PolarsResult<Pages> {
        self.page.clear();
        self.page.append(&mut self.values);
        let (list, length) = (self.compress()?, self.page.len());
        let list = CompressedDictPage::new(CowBuffer::Owned(list), Compression::Snappy, length, count, false);
        // A width of none is allowed, but not all readers know it.
        let width = (usize::BITS - count.saturating_sub(1).leading_zeros()).max(1);
        self.values.push(u8::try_from(width).unwrap_or(u8::MAX));
        write_keys(&mut self.values, &self.keys, width);
        Ok(vec![CompressedPage::Dict(list), self.data(kind, FormatEncoding::RLE_DICTIONARY, range)?])
    }

    /// A page of the rows and values so far, which are forgotten.
    fn data(&mut self, kind: &ParquetType, encoding: FormatEncoding, range: Range) -> PolarsResult<CompressedPage> {
        let rows = self.present.rows;
        let nulls = rows - self.present.values;
        self.page.clear();
        self.present.write(&mut self.page);
        self.present.clear();
        self.page.append(&mut self.values);
        let (page, length) = (self.compress()?, self.page.len());
        let (min_value, max_value) = range.unzip();
        let statistics = ParquetStatistics {
            null_count: i64::try_from(nulls).ok(),
            distinct_count: None,
            min_value,
            max_value,
            min: None,
            max: None,
            is_min_value_exact: None,
            is_max_value_exact: None,
        };
        let header = DataPageHeaderV1 {
            num_values: i32::try_from(rows).map_err(|_| too_much())?,
            encoding,
            definition_level_encoding: FormatEncoding::RLE,
            repetition_level_encoding: FormatEncoding::RLE,
            statistics: Some(statistics),
        };
        let descriptor = Descriptor { primitive_type: primitive(kind)?.clone(), max_def_level: 1, max_rep_level: 0 };
        let (header, page) = (DataPageHeader::V1(header), CowBuffer::Owned(page));
        let page = CompressedDataPage::new(header, page, Compression::Snappy, length, descriptor, rows);
        Ok(CompressedPage::Data(page))
    }

    /// The page, packed.
    fn compress(&mut self) -> PolarsResult<Vec<u8>> {
        // 0 where it is too much.
        let most = snap::raw::max_compress_len(self.page.len());
        if self.packed.len() < most {
            self.packed.resize(most, 0);
        }
        let length = self.snappy.compress(&self.page, &mut self.packed).map_err(|_| too_much())?;
        Ok(self.packed.get(..length).unwrap_or_default().to_vec())
    }
}

/// An empty list in the same memory, with room for so many.
fn again<T>(list: &mut Vec<T>, room: usize) -> Vec<T> {
    let mut list = std::mem::take(list);
    list.clear();
    list.reserve(room);
    list
}

fn too_much() -> PolarsError {
    polars_err!(ComputeError: "a value is too long for a parquet file")
}

fn primitive(kind: &ParquetType) -> PolarsResult<&PrimitiveType> {
    match kind {
        ParquetType::PrimitiveType(it) => Ok(it),
        ParquetType::GroupType { .. } => Err(polars_err!(ComputeError: "a column of values in a group")),
    }
}

fn bytes(fraction: f64) -> Vec<u8> {
    fraction.to_le_bytes().to_vec()
}

fn named(least: &str, most: &str) -> Range {
    let is_short = least.len() <= MOST_NAMED && most.len() <= MOST_NAMED;
    is_short.then(|| (least.as_bytes().to_vec(), most.as_bytes().to_vec()))
}

/// Whether a list of values with their numbers is hardly shorter than the values of all rows. One value always pays.
const fn is_waste(values: usize, rows: usize) -> bool {
    values > 1 && values > rows / 4 * 3
}

/// Which rows have a value.
#[derive(Default)]
struct Present {
    /// A bit for each row, as far as they are 64 at a time.
    bits: Vec<u8>,
    /// Those of the rows behind.
    word: u64,
    rows: usize,
    values: usize,
}

impl Present {
    fn clear(&mut self) {
        self.all(0);
    }

    /// No rows, in the same memory.
    fn again(&mut self) -> Self {
        let mut present = std::mem::take(self);
        present.clear();
        present
    }

    /// Makes it that many rows that all have a value.
    fn all(&mut self, rows: usize) {
        self.bits.clear();
        (self.word, self.rows, self.values) = (0, rows, rows);
    }

    #[inline]
    fn push(&mut self, is_present: bool) {
        self.word |= u64::from(is_present) << (self.rows % 64);
        self.rows += 1;
        self.values += usize::from(is_present);
        if self.rows.is_multiple_of(64) {
            self.bits.extend_from_slice(&self.word.to_le_bytes());
            self.word = 0;
        }
    }

    /// A bit for each row that was pushed, and zeros to the end of the last byte.
    fn bits(&mut self) -> &[u8] {
        let length = self.rows.div_ceil(8);
        if self.bits.len() < length {
            self.bits.extend_from_slice(&self.word.to_le_bytes());
        }
        self.bits.get(..length).unwrap_or_default()
    }

    /// Definition levels, their length before them.
    fn write(&mut self, page: &mut Vec<u8>) {
        let start = page.len();
        page.extend_from_slice(&[0; 4]);
        if self.values == self.rows || self.values == 0 {
            write_varint(page, self.rows << 1);
            page.push(u8::from(self.values > 0));
        } else {
            write_varint(page, self.rows.div_ceil(8) << 1 | 1);
            page.extend_from_slice(self.bits());
        }
        let length = u32::try_from(page.len() - start - 4).unwrap_or(u32::MAX);
        if let Some(it) = page.get_mut(start..start + 4) {
            it.copy_from_slice(&length.to_le_bytes());
        }
    }
}

/// Seven bits a byte, the lowest first.
fn write_varint(page: &mut Vec<u8>, mut number: usize) {
    loop {
        let [low, ..] = number.to_le_bytes();
        number >>= 7;
        if number == 0 {
            return page.push(low & 0x7F);
        }
        page.push(low | 0x80);
    }
}

/// Keys of that many bits: those that stand eight times and more behind each other once, the others packed, eight at a time.
fn write_keys(page: &mut Vec<u8>, mut keys: &[u32], width: u32) {
    const RUN: usize = 8;
    while let Some(key) = keys.first() {
        let same = keys.iter().take_while(|it| *it == key).count();
        if same >= RUN {
            write_varint(page, same << 1);
            page.extend(key.to_le_bytes().iter().take(width.div_ceil(8) as usize));
            keys = keys.get(same..).unwrap_or_default();
            continue;
        }
        // Up to the next run that begins where eight end.
        let is_run = |it: &[u32]| matches!(it, [first, rest @ ..] if rest.iter().all(|it| it == first));
        let eights = keys.chunks(RUN).take_while(|it| it.len() < RUN || !is_run(it)).count();
        let (packed, rest) = keys.split_at(keys.len().min(eights * RUN));
        write_varint(page, eights << 1 | 1);
        let (mut word, mut bits) = (0_u64, 0);
        for eight in packed.chunks(RUN) {
            for key in eight.iter().chain(&[0; RUN]).take(RUN) {
                word |= u64::from(*key) << bits;
                bits += width;
                if bits >= u32::BITS {
                    let [a, b, c, d, ..] = word.to_le_bytes();
                    page.extend_from_slice(&[a, b, c, d]);
                    word >>= u32::BITS;
                    bits -= u32::BITS;
                }
            }
        }
        page.extend(word.to_le_bytes().iter().take(bits.div_ceil(8) as usize));
        keys = rest;
    }
}
