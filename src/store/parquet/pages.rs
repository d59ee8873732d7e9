//! Encodes a column of rows as pages of a parquet file: definition levels, then values, compressed by Snappy. The format:
//! <https://parquet.apache.org/docs/file-format/data-pages/encodings/>.
//!
//! Each value is read once from its row. polars' encoder needs an array of the values first, with gaps filled, and then passes over
//! it for levels, minimum and maximum, keys and values. When this module replaced it, encoding from the rows saved 4.5 % (pi),
//! 6 % (Claude Code) and 6.5 % (Codex) of all instructions of an `ingest`. The column writers of the crate `parquet` (60.1) need 1.8
//! times the instructions of this module, 7 % of an `ingest` of Claude Code. Only lists go through polars' encoder; few rows have any.

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

use super::levels::{Present, write_keys};

/// The pages of one column of some rows.
pub type Pages = Vec<CompressedPage>;

/// Options of files that consist of such pages.
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

/// A page with this many bytes of values is full; its last value may exceed it.
const FULL: usize = 1 << 20;

/// Longer texts are not written as minimum or maximum of a column: the file would contain them three times.
const MAX_NAMED: usize = 256;

/// Encodes pages. It keeps its memory from one column to the next.
pub struct PageEncoder {
    present: Present,
    numbers: Vec<i64>,
    /// For each value its position in the dictionary.
    keys: Vec<u32>,
    /// For each number from the minimum on: its key + 1, or 0.
    places: Vec<u32>,
    /// The encoded values of a page.
    values: Vec<u8>,
    page: Vec<u8>,
    compressed: Vec<u8>,
    snappy: snap::raw::Encoder,
}

/// The minimum and the maximum of a column, encoded.
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
            compressed: Vec::new(),
            snappy: snap::raw::Encoder::new(),
        }
    }
}

impl PageEncoder {
    /// How much memory it keeps for pages, in bytes.
    pub const fn capacity(&self) -> usize {
        self.values.capacity() + self.page.capacity() + self.compressed.capacity()
    }

    /// A column of texts: with a dictionary, or plain if hardly any text is repeated.
    ///
    /// # Errors
    /// When a text is longer than 4 GiB, the maximum of Snappy. (The file refuses a page of 2 GiB or more.)
    pub fn texts<'a>(
        &mut self,
        kind: &ParquetType,
        texts: impl Iterator<Item = Option<&'a str>> + Clone,
    ) -> PolarsResult<Pages> {
        if let Some(list) = self.dictionary_of_texts(texts.clone()) {
            for text in &list {
                self.text(text);
            }
            let range = list.iter().min().zip(list.iter().max());
            let range = range.and_then(|(min, max)| named(min, max));
            return self.with_dictionary(kind, list.len(), range);
        }
        self.present.clear();
        let mut pages = Pages::new();
        let mut range: Option<(&str, &str)> = None;
        for text in texts {
            // Only the last page, which has rows, has the minimum and the maximum, of all pages: if some pages had none, readers would
            // take those of the others for those of the column.
            if self.values.len() >= FULL {
                pages.push(self.data(kind, FormatEncoding::PLAIN, None)?);
            }
            self.present.push(text.is_some());
            if let Some(text) = text {
                self.text(text);
                range = Some(range.map_or((text, text), |(min, max)| (min.min(text), max.max(text))));
            }
        }
        let range = range.and_then(|(min, max)| named(min, max));
        pages.push(self.data(kind, FormatEncoding::PLAIN, range)?);
        Ok(pages)
    }

    fn text(&mut self, text: &str) {
        self.values.extend_from_slice(&u32::try_from(text.len()).unwrap_or(u32::MAX).to_le_bytes());
        self.values.extend_from_slice(text.as_bytes());
    }

    /// The distinct texts; their keys for each row with a text are in `keys`. `None` if hardly any text is repeated, which is estimated
    /// from the first rows, or if they are long: readers have all of them in memory at once. A row often has the same text as the row
    /// before: such rows need no lookup.
    fn dictionary_of_texts<'a>(&mut self, texts: impl Iterator<Item = Option<&'a str>>) -> Option<Vec<&'a str>> {
        const FEW: usize = 512;
        const MAX_BYTES: usize = 1 << 20;
        // Many rows share not only the text but its bytes.
        let is_same = |one: &str, other: &str| std::ptr::eq(one, other) || one == other;
        let hashes = RandomState::default();
        let mut bytes = 0;
        let mut list: Vec<&str> = Vec::new();
        let mut places: HashTable<(u64, u32)> = HashTable::new();
        let mut last = ("", 0);
        let mut is_listed = true;
        let mut present = self.present.take();
        let mut keys = emptied(&mut self.keys, texts.size_hint().0);
        for text in texts {
            present.push(text.is_some());
            let Some(text) = text else { continue };
            if list.is_empty() || !is_same(last.0, text) {
                let hash = hashes.hash_one(text);
                let is_it = |(other, key): &(u64, u32)| {
                    *other == hash && list.get(*key as usize).is_some_and(|known| is_same(known, text))
                };
                let key = if let Some((_, key)) = places.find(hash, is_it) {
                    *key
                } else {
                    #[expect(clippy::cast_possible_truncation, reason = "a row group has fewer rows than a u32 counts")]
                    let key = list.len() as u32;
                    places.insert_unique(hash, (hash, key), |entry| entry.0);
                    bytes += text.len();
                    list.push(text);
                    key
                };
                last = (text, key);
                is_listed = bytes <= MAX_BYTES && (list.len() <= FEW || !is_waste(list.len(), present.rows - 1));
                if !is_listed {
                    break;
                }
            }
            keys.push(last.1);
        }
        (self.present, self.keys) = (present, keys);
        (is_listed && !list.is_empty() && !is_waste(list.len(), self.keys.len())).then_some(list)
    }

    /// A column of whole numbers: with a dictionary if they are in a narrow range, else plain.
    ///
    /// # Errors
    /// None that a log can cause.
    pub fn numbers<T: NativeType + Into<i64> + TryFrom<i64>>(
        &mut self,
        kind: &ParquetType,
        numbers: impl Iterator<Item = Option<T>>,
    ) -> PolarsResult<Pages> {
        // Local variables stay in registers during the loop, fields of `self` do not.
        let mut present = self.present.take();
        let mut found = emptied(&mut self.numbers, numbers.size_hint().0);
        for number in numbers {
            present.push(number.is_some());
            if let Some(number) = number {
                found.push(number.into());
            }
        }
        (self.present, self.numbers) = (present, found);
        let min = self.numbers.iter().copied().min().unwrap_or(0);
        let max = self.numbers.iter().copied().max().unwrap_or(0);
        let encoded = |number: i64| T::try_from(number).ok().map(|number| number.to_le_bytes());
        let range = encoded(min).zip(encoded(max)).filter(|_| !self.numbers.is_empty());
        let range = range.map(|(min, max)| (min.as_ref().to_vec(), max.as_ref().to_vec()));
        if let Some(list) = self.dictionary_of_numbers(min, max) {
            for bytes in list.iter().filter_map(|number| encoded(*number)) {
                self.values.extend_from_slice(bytes.as_ref());
            }
            return self.with_dictionary(kind, list.len(), range);
        }
        for bytes in self.numbers.iter().filter_map(|number| encoded(*number)) {
            self.values.extend_from_slice(bytes.as_ref());
        }
        Ok(vec![self.data(kind, FormatEncoding::PLAIN, range)?])
    }

    /// The distinct numbers; the keys of all are in `keys`. `None` if there are many, or hardly any is repeated.
    fn dictionary_of_numbers(&mut self, min: i64, max: i64) -> Option<Vec<i64>> {
        const MAX_WIDTH: usize = 4096;
        let width = usize::try_from(max.checked_sub(min)?).ok()?;
        if self.numbers.is_empty() || width > MAX_WIDTH.min(self.numbers.len() * 16) {
            return None;
        }
        let mut list = Vec::new();
        self.keys.clear();
        self.places.clear();
        self.places.resize(width + 1, 0);
        for number in &self.numbers {
            let place = usize::try_from(number - min).ok().and_then(|offset| self.places.get_mut(offset))?;
            if *place == 0 {
                list.push(*number);
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
        let mut present = self.present.take();
        let (mut min, mut max) = (f64::INFINITY, f64::NEG_INFINITY);
        let mut is_ordered = true;
        for fraction in fractions {
            present.push(fraction.is_some());
            if let Some(fraction) = fraction {
                is_ordered &= !fraction.is_nan();
                (min, max) = (min.min(fraction), max.max(fraction));
                self.values.extend_from_slice(&fraction.to_le_bytes());
            }
        }
        self.present = present;
        // The format requires a negative zero as minimum and a positive zero as maximum.
        let min = if min == 0.0 { -0.0 } else { min };
        let max = if max == 0.0 { 0.0 } else { max };
        let range = (is_ordered && self.present.values > 0).then(|| (bytes(min), bytes(max)));
        Ok(vec![self.data(kind, FormatEncoding::PLAIN, range)?])
    }

    /// A column of flags.
    ///
    /// # Errors
    /// None that a log can cause.
    pub fn flags(&mut self, kind: &ParquetType, flags: impl Iterator<Item = Option<bool>>) -> PolarsResult<Pages> {
        let mut present = self.present.take();
        // They are encoded as levels are, without the length.
        let mut set = Present::default();
        for flag in flags {
            present.push(flag.is_some());
            if let Some(flag) = flag {
                set.push(flag);
            }
        }
        self.present = present;
        self.values.extend_from_slice(set.bits());
        let range = (set.rows > 0).then(|| (vec![u8::from(set.values == set.rows)], vec![u8::from(set.values > 0)]));
        Ok(vec![self.data(kind, FormatEncoding::PLAIN, range)?])
    }

    /// A column of lists that are all NULL: polars' encoder would fill 8 MB with zeros for it.
    ///
    /// # Errors
    /// None that a log can cause.
    pub fn null_lists(&mut self, kind: &ParquetType, rows: usize) -> PolarsResult<Pages> {
        self.present.fill(rows);
        self.present.values = 0;
        // The levels of repetition are 0, too.
        self.page.clear();
        self.present.write(&mut self.page);
        let descriptor = Descriptor { primitive_type: leaf(kind)?.clone(), max_def_level: 3, max_rep_level: 1 };
        Ok(vec![self.page_of(descriptor, FormatEncoding::PLAIN, None)?])
    }

    /// A column of any other type, by polars' encoder.
    ///
    /// # Errors
    /// Those of polars.
    pub fn array(&mut self, kind: &ParquetType, array: &dyn Array) -> PolarsResult<Pages> {
        let columns = array_to_columns(array, kind.clone(), OPTIONS, &get_dtype_encoding(array.dtype()))?;
        let pages = columns.into_iter().flatten();
        pages.map(|page| Ok(compress(page?, Vec::new(), OPTIONS.compression)?)).collect()
    }

    /// The pages of a column with a dictionary: the dictionary, whose values are in `values`, and the keys.
    fn with_dictionary(&mut self, kind: &ParquetType, count: usize, range: Range) -> PolarsResult<Pages> {
        self.page.clear();
        self.page.append(&mut self.values);
        let (list, length) = (self.compress()?, self.page.len());
        let list = CompressedDictPage::new(CowBuffer::Owned(list), Compression::Snappy, length, count, false);
        // A width of 0 bits is allowed, but not all readers support it.
        let width = (usize::BITS - count.saturating_sub(1).leading_zeros()).max(1);
        self.values.push(u8::try_from(width).unwrap_or(u8::MAX));
        write_keys(&mut self.values, &self.keys, width);
        Ok(vec![CompressedPage::Dict(list), self.data(kind, FormatEncoding::RLE_DICTIONARY, range)?])
    }

    /// A page of the rows and values so far, which are removed.
    fn data(&mut self, kind: &ParquetType, encoding: FormatEncoding, range: Range) -> PolarsResult<CompressedPage> {
        self.page.clear();
        let descriptor = Descriptor { primitive_type: primitive(kind)?.clone(), max_def_level: 1, max_rep_level: 0 };
        self.page_of(descriptor, encoding, range)
    }

    /// As [`Self::data`], after what `page` contains already.
    fn page_of(
        &mut self,
        descriptor: Descriptor,
        encoding: FormatEncoding,
        range: Range,
    ) -> PolarsResult<CompressedPage> {
        let rows = self.present.rows;
        let nulls = rows - self.present.values;
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
            num_values: i32::try_from(rows).map_err(|_| too_long())?,
            encoding,
            definition_level_encoding: FormatEncoding::RLE,
            repetition_level_encoding: FormatEncoding::RLE,
            statistics: Some(statistics),
        };
        let (header, page) = (DataPageHeader::V1(header), CowBuffer::Owned(page));
        let page = CompressedDataPage::new(header, page, Compression::Snappy, length, descriptor, rows);
        Ok(CompressedPage::Data(page))
    }

    /// Compresses the page.
    fn compress(&mut self) -> PolarsResult<Vec<u8>> {
        // 0 if the page is too long.
        let capacity = snap::raw::max_compress_len(self.page.len());
        if self.compressed.len() < capacity {
            self.compressed.resize(capacity, 0);
        }
        let length = self.snappy.compress(&self.page, &mut self.compressed).map_err(|_| too_long())?;
        Ok(self.compressed.get(..length).unwrap_or_default().to_vec())
    }
}

/// Takes a list, empties it and reserves capacity.
fn emptied<T>(list: &mut Vec<T>, capacity: usize) -> Vec<T> {
    let mut list = std::mem::take(list);
    list.clear();
    list.reserve(capacity);
    list
}

fn too_long() -> PolarsError {
    polars_err!(ComputeError: "a value is too long for a parquet file")
}

fn primitive(kind: &ParquetType) -> PolarsResult<&PrimitiveType> {
    match kind {
        ParquetType::PrimitiveType(primitive) => Ok(primitive),
        ParquetType::GroupType { .. } => Err(polars_err!(ComputeError: "a column of values in a group")),
    }
}

/// The type of the items of a list, whatever groups are around it.
fn leaf(kind: &ParquetType) -> PolarsResult<&PrimitiveType> {
    match kind {
        ParquetType::PrimitiveType(primitive) => Ok(primitive),
        ParquetType::GroupType { fields, .. } => match &fields[..] {
            [field] => leaf(field),
            _ => Err(polars_err!(ComputeError: "a column of several values in a group")),
        },
    }
}

fn bytes(fraction: f64) -> Vec<u8> {
    fraction.to_le_bytes().to_vec()
}

fn named(min: &str, max: &str) -> Range {
    let is_short = min.len() <= MAX_NAMED && max.len() <= MAX_NAMED;
    is_short.then(|| (min.as_bytes().to_vec(), max.as_bytes().to_vec()))
}

/// Whether a dictionary and its keys are hardly shorter than the values of all rows. A dictionary of one value always is.
const fn is_waste(values: usize, rows: usize) -> bool {
    values > 1 && values > rows / 4 * 3
}
