//! Frames and columns as parquet files that every engine reads.

use std::hash::BuildHasher as _;
use std::io::{self, Write};

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use polars::io::parquet::write::KeyValueMetadata;
use polars::prelude::*;
use polars_arrow::array::{Array, DictionaryArray, MutableBinaryViewArray, PrimitiveArray, Utf8ViewArray};
use polars_arrow::bitmap::MutableBitmap;
use polars_arrow::datatypes::{ArrowDataType, IntegerType, PhysicalType};
use polars_arrow::types::{NativeType, PrimitiveType};
use polars_parquet::parquet::error::ParquetError;
use polars_parquet::write::{
    CompressedPage, CompressionOptions, Compressor, DynIter, DynStreamingIterator, Encoding, FileWriter, KeyValue,
    ParquetType, StatisticsOptions, Version, WriteOptions, ZstdLevel, array_to_columns, get_dtype_encoding,
    schema_to_metadata_key,
};

/// Writes a frame with key-value metadata, packed by zstd, to be kept.
///
/// # Errors
/// When the file cannot be written.
pub fn write(file: impl Write, frame: &mut DataFrame, metadata: Vec<(String, String)>) -> io::Result<()> {
    let level = ZstdLevel::try_new(3).map_err(io::Error::other)?;
    let schema = arrow_schema(frame.schema());
    let schema = schema.value.map(|it| (schema.key, it));
    let metadata = KeyValueMetadata::from_static(metadata.into_iter().chain(schema).collect());
    let writer = ParquetWriter::new(file).with_compression(ParquetCompression::Zstd(Some(level)));
    writer.with_key_value_metadata(Some(metadata)).finish(frame).map_err(io::Error::other)?;
    Ok(())
}

/// The types of the columns, for readers that know Arrow. polars would say that texts are views, of which pandas knows no
/// lists.
fn arrow_schema(schema: &Schema) -> KeyValue {
    let schema = schema.iter().map(|(name, dtype)| {
        let field = dtype.to_arrow_field(name.clone(), CompatLevel::oldest());
        (name.clone(), field)
    });
    schema_to_metadata_key(&schema.collect())
}

/// The columns of some rows, those of texts as [`texts`] makes them.
pub type Columns = Vec<Box<dyn Array>>;

/// A file that is written by some rows at a time, each a row group. Of many such files an archive is made, again and again,
/// side by side, so they are written faster than polars does it, by one thread each: what a column is like is not estimated
/// first (see `encodings`), and pages are packed by Snappy. (zstd asks the processor what it is for each of thousands of small
/// pages, which in a virtual machine takes longer than to pack it.)
pub struct Batched<W: Write> {
    file: FileWriter<W>,
    arrow_schema: KeyValue,
}

const OPTIONS: WriteOptions = WriteOptions {
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

type Pages = DynStreamingIterator<'static, CompressedPage, PolarsError>;

impl<W: Write> Batched<W> {
    /// A file of that schema.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn new(file: W, schema: &Schema) -> io::Result<Self> {
        let arrow_schema = arrow_schema(schema);
        let fields = schema.iter().map(|(name, dtype)| {
            let field = dtype.to_arrow_field(name.clone(), CompatLevel::newest());
            (name.clone(), field)
        });
        let file = FileWriter::try_new(file, fields.collect(), OPTIONS).map_err(io::Error::other)?;
        Ok(Self { file, arrow_schema })
    }

    /// Adds rows, by their columns in the order of the schema, and says how many.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&mut self, columns: &Columns) -> PolarsResult<usize> {
        let rows = columns.first().map_or(0, |it| it.len());
        if rows == 0 {
            return Ok(0);
        }
        let types = self.file.parquet_schema().fields();
        let columns: Vec<Vec<Pages>> =
            columns.iter().zip(types).map(|(column, kind)| pages(&**column, kind)).collect::<PolarsResult<_>>()?;
        self.file.write(rows as u64, DynIter::new(columns.into_iter().flatten().map(Ok)))?;
        Ok(rows)
    }

    /// Writes the end, and gives the file back.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn finish(mut self) -> io::Result<W> {
        self.file.end(Some(vec![self.arrow_schema])).map_err(io::Error::other)?;
        Ok(self.file.into_inner())
    }
}

/// The pages of a column, to be packed when they are asked for.
fn pages(column: &dyn Array, kind: &ParquetType) -> PolarsResult<Vec<Pages>> {
    let columns = array_to_columns(column, kind.clone(), OPTIONS, &encodings(column))?;
    let packed = columns.into_iter().map(|pages| {
        let pages = pages.map(|it| it.map_err(|it| ParquetError::FeatureNotSupported(it.to_string())));
        let pages = Compressor::new_from_vec(pages, OPTIONS.compression, Vec::new());
        DynStreamingIterator::new(polars_parquet::write::FallibleStreamingIterator::map_err(pages, PolarsError::from))
    });
    Ok(packed.collect())
}

/// How a column is written: as a list of its values where rows share them, with a number for each row; else one value behind
/// the other. polars asks a sketch of every column how many values it has, which takes longer than to look.
fn encodings(column: &dyn Array) -> Vec<Encoding> {
    match column.dtype().to_physical_type() {
        _ if column.null_count() == column.len() => {
            get_dtype_encoding(column.dtype()).into_iter().map(|_| Encoding::Plain).collect()
        }
        PhysicalType::Dictionary(_) => vec![Encoding::RleDictionary],
        // Of whole numbers in a narrow range polars makes the list fast.
        PhysicalType::Primitive(PrimitiveType::Int64) if is_narrow::<i64>(column) => vec![Encoding::RleDictionary],
        PhysicalType::Primitive(PrimitiveType::Int32) if is_narrow::<i32>(column) => vec![Encoding::RleDictionary],
        PhysicalType::Utf8View | PhysicalType::Primitive(_) => vec![Encoding::Plain],
        _ => get_dtype_encoding(column.dtype()),
    }
}

fn is_narrow<T: NativeType + Into<i64>>(column: &dyn Array) -> bool {
    const WIDEST: i64 = 4096;
    let Some(numbers) = column.as_any().downcast_ref::<PrimitiveArray<T>>() else { return false };
    let numbers = numbers.non_null_values_iter().map(Into::into);
    let (least, most) = numbers.fold((i64::MAX, i64::MIN), |(least, most), it: i64| (least.min(it), most.max(it)));
    most.checked_sub(least).is_some_and(|it| it <= WIDEST)
}

/// Whether a list of values with their numbers is hardly shorter than the values of all rows. One value always pays.
const fn is_waste(values: usize, rows: usize) -> bool {
    values > 1 && values > rows / 4 * 3
}

/// A column of texts: each once, and for each row the number of its text, or one behind the other where hardly any is there
/// twice.
pub fn texts<'a>(texts: impl Iterator<Item = Option<&'a str>> + Clone) -> Box<dyn Array> {
    match dictionary(texts.clone()) {
        Some(dictionary) => dictionary.boxed(),
        None => plain_texts(texts),
    }
}

/// The same, always one behind the other, as frames have them.
pub fn plain_texts<'a>(texts: impl Iterator<Item = Option<&'a str>>) -> Box<dyn Array> {
    Utf8ViewArray::from(MutableBinaryViewArray::from_iterator(texts)).boxed()
}

/// The texts each once, and for each row the number of its text; none if hardly any is there twice, as far as the first rows
/// tell, or if they are long: readers hold all of them at once. Rows that follow each other often have the same: those are not
/// looked up.
fn dictionary<'a>(texts: impl Iterator<Item = Option<&'a str>>) -> Option<DictionaryArray<u32>> {
    const FEW: usize = 512;
    const MOST_BYTES: usize = 1 << 20;
    // Many rows share not only the text but its bytes.
    let is_same = |one: &str, other: &str| std::ptr::eq(one, other) || one == other;
    let hashes = RandomState::default();
    let mut bytes = 0;
    let mut values: Vec<&str> = Vec::new();
    let mut places: HashTable<(u64, u32)> = HashTable::new();
    let mut keys = Vec::with_capacity(texts.size_hint().0);
    let mut validity = MutableBitmap::with_capacity(texts.size_hint().0);
    let mut last = 0;
    for text in texts {
        validity.push(text.is_some());
        if let Some(text) = text
            && values.get(last as usize).is_none_or(|it| !is_same(it, text))
        {
            let hash = hashes.hash_one(text);
            let is_it = |it: &(u64, u32)| it.0 == hash && values.get(it.1 as usize).is_some_and(|it| is_same(it, text));
            last = if let Some((_, key)) = places.find(hash, is_it) {
                *key
            } else {
                let key = u32::try_from(values.len()).ok()?;
                places.insert_unique(hash, (hash, key), |it| it.0);
                bytes += text.len();
                values.push(text);
                key
            };
            if bytes > MOST_BYTES || values.len() > FEW && is_waste(values.len(), keys.len()) {
                return None;
            }
        }
        keys.push(last);
    }
    if values.is_empty() || is_waste(values.len(), keys.len() - validity.unset_bits()) {
        return None;
    }
    let values = Utf8ViewArray::from_slice_values(values);
    let dtype = ArrowDataType::Dictionary(IntegerType::UInt32, Box::new(ArrowDataType::Utf8View), false);
    let validity = Some(validity.freeze()).filter(|it| it.unset_bits() > 0);
    let keys = PrimitiveArray::new(ArrowDataType::UInt32, keys.into(), validity);
    DictionaryArray::try_new(dtype, keys, values.boxed()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array(column: &Column) -> Box<dyn Array> {
        match column.str() {
            Ok(it) => texts(it.iter().collect::<Vec<_>>().into_iter()),
            Err(_) => column.as_materialized_series().rechunk().to_arrow(0, CompatLevel::newest()),
        }
    }

    /// Columns of every type, with and without gaps, of many values, few and none, come back from the file as they were.
    #[test]
    fn what_is_written_is_read() {
        let rows = 3000_i64;
        let gap = |it: i64| it % 7 == 3;
        let column = |of: fn(i64) -> i64| (0..rows).map(|it| (!gap(it)).then(|| of(it))).collect::<Vec<_>>();
        let words = |of: fn(i64) -> String| (0..rows).map(|it| (!gap(it)).then(|| of(it))).collect::<Vec<_>>();
        let frame = df!(
            "runs" => words(|it| format!("a text longer than what a view holds, {}", it / 100)),
            "few" => words(|it| (it % 5).to_string()),
            "all other" => words(|it| format!("toolu_{it}")),
            "other at first" => words(|it| it.min(600).to_string()),
            "none" => vec![None::<&str>; 3000],
            "one" => vec![Some("claude"); 3000],
            "narrow" => column(|it| it % 11 - 5),
            "wide" => column(|it| it.wrapping_mul(i64::MAX / 7)),
            "no number" => vec![None::<i64>; 3000],
            "money" => column(|it| it).into_iter().map(|it| it.map(|it| it as f64 / 3.0)).collect::<Vec<_>>(),
            "flag" => (0..rows).map(|it| it % 3 == 0).collect::<Vec<_>>(),
        )
        .unwrap();
        let time = frame.column("wide").unwrap().cast(&DataType::Datetime(TimeUnit::Microseconds, None)).unwrap();
        let day = frame.column("narrow").unwrap().cast(&DataType::Date).unwrap();
        let list = frame
            .column("few")
            .unwrap()
            .as_materialized_series()
            .reshape_list(&[ReshapeDimension::Infer, ReshapeDimension::new(1)])
            .unwrap();
        let more = [time.with_name("time".into()), day.with_name("day".into()), list.with_name("list".into()).into()];
        let frame = frame.hstack(&more).unwrap();
        for frames in [vec![frame.clone()], vec![frame.head(Some(10)), frame.clone()], vec![frame.clear()], Vec::new()]
        {
            let mut file = Vec::new();
            let mut out = Batched::new(&mut file, frame.schema()).unwrap();
            for it in &frames {
                out.write(&it.columns().iter().map(array).collect::<Vec<_>>()).unwrap();
            }
            out.finish().unwrap();
            let whole = frames.iter().fold(frame.clear(), |whole, it| whole.vstack(it).unwrap());
            let read = ParquetReader::new(io::Cursor::new(&file)).finish().unwrap();
            assert!(read.equals_missing(&whole), "{read} {whole}");
        }
    }

    #[test]
    fn texts_of_many_rows_are_written_once() {
        let size = |texts: &[Option<&str>]| dictionary(texts.iter().copied()).map(|it| it.values().len());
        assert_eq!(size(&[Some("a"), None, Some("b"), Some("b"), Some("a")]), Some(2));
        let other: Vec<String> = (0..1000).map(|it| it.to_string()).collect();
        let other: Vec<Option<&str>> = other.iter().map(|it| Some(&**it)).collect();
        assert_eq!(size(&other), None);
        assert_eq!(size(&[&other[..400], &other[..400], &other[..400]].concat()), Some(400));
        assert_eq!(size(&other[..100]), None);
        assert_eq!(size(&[Some("a"); 2]), Some(1));
        let long = "x".repeat(1 << 20);
        assert_eq!(size(&[Some(&*long); 8]), Some(1));
        let longer = long.clone() + "x";
        assert_eq!(size(&[Some(&*long), Some(&*longer), Some(&*long), Some(&*longer)]), None);
    }
}
