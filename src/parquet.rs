//! Frames as parquet files that every engine reads.

use std::hash::BuildHasher as _;
use std::io::{self, Write};

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use polars::io::parquet::write::KeyValueMetadata;
use polars::prelude::*;
use polars_arrow::array::{
    Array, BinaryViewArrayGeneric, DictionaryArray, MutableBinaryViewArray, PrimitiveArray, Utf8ViewArray,
};
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

/// A file that is written frame by frame, each a row group. Of many such files an archive is made, again and again, side by
/// side, so they are written faster than polars does it, by one thread each: what a column is like is not estimated first
/// (see `packed`), and pages are packed by Snappy. (zstd asks the processor what it is for each of thousands of small
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

    /// Adds a frame whose columns are of one piece.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&mut self, frame: &DataFrame) -> PolarsResult<()> {
        for batch in frame.iter_chunks(CompatLevel::newest(), false).filter(|it| !it.is_empty()) {
            let types = self.file.parquet_schema().fields();
            let columns = batch.columns().iter().zip(types).map(|(column, kind)| pages(&**column, kind));
            let columns: Vec<Vec<Pages>> = columns.collect::<PolarsResult<_>>()?;
            let columns = columns.into_iter().flatten().map(Ok);
            self.file.write(batch.len() as u64, DynIter::new(columns))?;
        }
        Ok(())
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
    let (dictionary, encodings) = packed(column);
    let column = dictionary.unwrap_or_else(|| column.to_boxed());
    let columns = array_to_columns(column, kind.clone(), OPTIONS, &encodings)?;
    let packed = columns.into_iter().map(|pages| {
        let pages = pages.map(|it| it.map_err(|it| ParquetError::FeatureNotSupported(it.to_string())));
        let pages = Compressor::new_from_vec(pages, OPTIONS.compression, Vec::new());
        DynStreamingIterator::new(polars_parquet::write::FallibleStreamingIterator::map_err(pages, PolarsError::from))
    });
    Ok(packed.collect())
}

/// How a column is written: as a list of its values where rows share them, with a number for each row; else one value behind
/// the other. polars asks a sketch of every column how many values it has, which takes longer than to look.
fn packed(column: &dyn Array) -> (Option<Box<dyn Array>>, Vec<Encoding>) {
    if column.null_count() == column.len() {
        return (None, get_dtype_encoding(column.dtype()).into_iter().map(|_| Encoding::Plain).collect());
    }
    match column.dtype().to_physical_type() {
        PhysicalType::Utf8View => {
            let texts = column.as_any().downcast_ref::<Utf8ViewArray>();
            match texts.and_then(dictionary) {
                Some(dictionary) => (Some(dictionary.boxed()), vec![Encoding::RleDictionary]),
                None => (None, vec![Encoding::Plain]),
            }
        }
        // Of whole numbers in a narrow range polars makes the list fast.
        PhysicalType::Primitive(PrimitiveType::Int64) if is_narrow::<i64>(column) => {
            (None, vec![Encoding::RleDictionary])
        }
        PhysicalType::Primitive(PrimitiveType::Int32) if is_narrow::<i32>(column) => {
            (None, vec![Encoding::RleDictionary])
        }
        PhysicalType::Primitive(_) => (None, vec![Encoding::Plain]),
        _ => (None, get_dtype_encoding(column.dtype())),
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

/// The texts each once, and for each row the number of its text; none if hardly any is there twice, as far as the first rows
/// tell, or if they are long: readers hold all of them at once. Rows that follow each other often have the same: those are not
/// looked up.
fn dictionary(texts: &Utf8ViewArray) -> Option<DictionaryArray<u32>> {
    const FEW: usize = 512;
    const MOST_BYTES: usize = 1 << 20;
    let hashes = RandomState::default();
    let mut bytes = 0;
    let mut values: MutableBinaryViewArray<str> = MutableBinaryViewArray::new();
    let mut places: HashTable<(u64, u32)> = HashTable::new();
    let mut keys = Vec::with_capacity(texts.len());
    let (mut last, mut last_key) = (None, 0);
    for text in texts {
        let Some(text) = text else {
            keys.push(0);
            continue;
        };
        if last != Some(text) {
            let hash = hashes.hash_one(text);
            let is_it = |it: &(u64, u32)| it.0 == hash && values.value(it.1 as usize) == text;
            last_key = if let Some((_, key)) = places.find(hash, is_it) {
                *key
            } else {
                let key = u32::try_from(values.len()).ok()?;
                places.insert_unique(hash, (hash, key), |it| it.0);
                values.push_value(text);
                bytes += text.len();
                key
            };
            last = Some(text);
            if bytes > MOST_BYTES || values.len() > FEW && is_waste(values.len(), keys.len()) {
                return None;
            }
        }
        keys.push(last_key);
    }
    if is_waste(values.len(), texts.len() - texts.null_count()) {
        return None;
    }
    let values: BinaryViewArrayGeneric<str> = values.into();
    let dtype = ArrowDataType::Dictionary(IntegerType::UInt32, Box::new(ArrowDataType::Utf8View), false);
    let keys = PrimitiveArray::new(ArrowDataType::UInt32, keys.into(), texts.validity().cloned());
    DictionaryArray::try_new(dtype, keys, values.boxed()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Columns of every type, with and without gaps, of many values, few and none, come back from the file as they were.
    #[test]
    fn what_is_written_is_read() {
        let rows = 3000_i64;
        let gap = |it: i64| it % 7 == 3;
        let column = |of: fn(i64) -> i64| (0..rows).map(|it| (!gap(it)).then(|| of(it))).collect::<Vec<_>>();
        let texts = |of: fn(i64) -> String| (0..rows).map(|it| (!gap(it)).then(|| of(it))).collect::<Vec<_>>();
        let frame = df!(
            "runs" => texts(|it| format!("a text longer than what a view holds, {}", it / 100)),
            "few" => texts(|it| (it % 5).to_string()),
            "all other" => texts(|it| format!("toolu_{it}")),
            "other at first" => texts(|it| it.min(600).to_string()),
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
                out.write(it).unwrap();
            }
            out.finish().unwrap();
            let whole = frames.iter().fold(frame.clear(), |whole, it| whole.vstack(it).unwrap());
            let read = ParquetReader::new(io::Cursor::new(&file)).finish().unwrap();
            assert!(read.equals_missing(&whole), "{read} {whole}");
        }
    }

    #[test]
    fn texts_of_many_rows_are_written_once() {
        let size = |texts: &[Option<&str>]| dictionary(&Utf8ViewArray::from_slice(texts)).map(|it| it.values().len());
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
