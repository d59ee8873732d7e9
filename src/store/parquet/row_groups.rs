//! Writes tables as parquet files, one row group after another: the files of an archive.

use std::cell::Cell;
use std::io::{self, Write};

use polars::prelude::*;
use polars_parquet::write::{
    DynIter, DynStreamingIterator, FileWriter, KeyValue, ParquetType, fallible_streaming_iterator,
};
use rayon::prelude::*;

use super::frame::arrow_schema;
use super::pages::{OPTIONS, PageEncoder, Pages};

/// Memory that a thread keeps from one column to the next, in bytes: enough for two ordinary pages and their compressed copies.
const MAX_KEPT: usize = 1 << 23;

/// Rows of one table, which can encode their columns as pages.
pub trait RowSet: Sync {
    /// How many rows there are.
    fn count(&self) -> usize;

    /// The pages of one of the columns.
    ///
    /// # Errors
    /// Those of [`PageEncoder`].
    fn pages(&self, column: usize, kind: &ParquetType, encoder: &mut PageEncoder) -> PolarsResult<Pages>;
}

/// An encoded row group.
pub struct RowGroup {
    rows: usize,
    columns: Vec<Pages>,
}

/// Writes a parquet file row group by row group. Pages are compressed by Snappy: zstd queries the processor's features for each of
/// thousands of small pages, which in a virtual machine takes longer than the compression.
pub struct RowGroupWriter<W: Write> {
    file: FileWriter<W>,
    arrow_schema: KeyValue,
    /// The type of each column.
    kinds: Vec<ParquetType>,
}

thread_local! {
    /// The encoder of the thread, with its memory: fresh memory costs as much as encoding. It is dropped if a text was long.
    static ENCODER: Cell<Option<Box<PageEncoder>>> = const { Cell::new(None) };
}

impl<W: Write> RowGroupWriter<W> {
    /// A file with this schema.
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
        let kinds = file.parquet_schema().fields().to_vec();
        Ok(Self { file, arrow_schema, kinds })
    }

    /// Encodes rows, which have the columns of the schema in its order, as a row group. Idle threads of rayon encode some of the columns.
    ///
    /// # Errors
    /// Those of [`PageEncoder`].
    pub fn encode(&self, rows: &dyn RowSet) -> PolarsResult<RowGroup> {
        let count = rows.count();
        let pages = |(column, kind)| {
            let mut encoder = ENCODER.take().unwrap_or_default();
            let pages = rows.pages(column, kind, &mut encoder);
            ENCODER.set(Some(encoder).filter(|encoder| encoder.capacity() <= MAX_KEPT));
            pages
        };
        let columns = if count > 0 { self.kinds.par_iter().enumerate().map(pages).collect() } else { Ok(Vec::new()) };
        Ok(RowGroup { rows: count, columns: columns? })
    }

    /// Writes a row group, and returns how many rows it has.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&mut self, group: &RowGroup) -> PolarsResult<usize> {
        if group.rows > 0 {
            let columns = group.columns.iter().map(|pages| {
                let pages = fallible_streaming_iterator::convert(pages.iter().map(Ok::<_, PolarsError>));
                Ok(DynStreamingIterator::new(pages))
            });
            self.file.write(group.rows as u64, DynIter::new(columns))?;
        }
        Ok(group.rows)
    }

    /// Writes the end of the file, and returns it.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn finish(mut self) -> io::Result<W> {
        self.file.end(Some(vec![self.arrow_schema])).map_err(io::Error::other)?;
        Ok(self.file.into_inner())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame as rows of a table.
    impl RowSet for DataFrame {
        fn count(&self) -> usize {
            self.height()
        }

        fn pages(&self, column: usize, kind: &ParquetType, encoder: &mut PageEncoder) -> PolarsResult<Pages> {
            let column = self.columns()[column].as_materialized_series().rechunk();
            match column.dtype() {
                DataType::String => encoder.texts(kind, column.str()?.iter().collect::<Vec<_>>().into_iter()),
                DataType::Int64 => encoder.numbers(kind, column.i64()?.iter()),
                DataType::Datetime(..) => encoder.numbers(kind, column.datetime()?.physical().iter()),
                DataType::Date => encoder.numbers(kind, column.date()?.physical().iter()),
                DataType::Float64 => encoder.fractions(kind, column.f64()?.iter()),
                DataType::Boolean => encoder.flags(kind, column.bool()?.iter()),
                DataType::List(_) if column.null_count() == column.len() => encoder.null_lists(kind, column.len()),
                _ => encoder.array(kind, &*column.to_arrow(0, CompatLevel::newest())),
            }
        }
    }

    fn written(schema: &Schema, frames: &[DataFrame]) -> Vec<u8> {
        let mut file = Vec::new();
        let mut out = RowGroupWriter::new(&mut file, schema).unwrap();
        for it in frames {
            let group = out.encode(it).unwrap();
            assert_eq!(out.write(&group).unwrap(), it.height());
        }
        out.finish().unwrap();
        file
    }

    fn read(file: &[u8]) -> DataFrame {
        ParquetReader::new(io::Cursor::new(file)).finish().unwrap()
    }

    /// How many rows of a file a reader finds that skips pages by their statistics.
    fn found(file: &[u8], filter: Expr) -> usize {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.parquet");
        std::fs::write(&path, file).unwrap();
        let path = PlRefPath::try_from_path(&path).unwrap();
        LazyFrame::scan_parquet(path, ScanArgsParquet::default()).unwrap().filter(filter).collect().unwrap().height()
    }

    /// Columns of every type, with and without NULL, with many, few and no values, are read as they were written.
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
            "long" => words(|it| "x".repeat(it.unsigned_abs().try_into().unwrap())),
            "none" => vec![None::<&str>; 3000],
            "one" => vec![Some("claude"); 3000],
            "narrow" => column(|it| it % 11 - 5),
            "runs of numbers" => column(|it| it / 13),
            "wide" => column(|it| it.wrapping_mul(i64::MAX / 7)),
            "widest" => column(|it| if it % 2 == 0 { i64::MIN } else { i64::MAX }),
            "no number" => vec![None::<i64>; 3000],
            "one number" => vec![Some(7_i64); 3000],
            "money" => column(|it| it).into_iter().map(|it| it.map(|it| it as f64 / 3.0)).collect::<Vec<_>>(),
            "no money" => column(|it| it).into_iter().map(|it| it.map(|_| f64::NAN)).collect::<Vec<_>>(),
            "flag" => (0..rows).map(|it| it % 3 == 0).collect::<Vec<_>>(),
            "set" => vec![true; 3000],
            "maybe a flag" => column(|it| it).into_iter().map(|it| it.map(|it| it % 5 == 0)).collect::<Vec<_>>(),
            "no flag" => vec![None::<bool>; 3000],
        )
        .unwrap();
        let time = frame.column("wide").unwrap().cast(&DataType::Datetime(TimeUnit::Microseconds, None)).unwrap();
        let day = frame.column("narrow").unwrap().cast(&DataType::Date).unwrap();
        let days = frame.column("runs of numbers").unwrap().cast(&DataType::Int32).unwrap() * 1_000;
        let list = frame
            .column("few")
            .unwrap()
            .as_materialized_series()
            .reshape_list(&[ReshapeDimension::Infer, ReshapeDimension::new(1)])
            .unwrap();
        let days = days.cast(&DataType::Date).unwrap();
        let more = [
            time.with_name("time".into()),
            day.with_name("day".into()),
            days.with_name("days".into()),
            Series::full_null("no list".into(), list.len(), list.dtype()).into(),
            list.with_name("list".into()).into(),
        ];
        let frame = frame.hstack(&more).unwrap();
        let parts = vec![frame.head(Some(1)), frame.head(Some(63)), frame.head(Some(64)), frame.slice(100, 1001)];
        for frames in [vec![frame.clone()], parts, vec![frame.clear()], Vec::new()] {
            let file = written(&frame.schema().clone(), &frames);
            let whole = frames.iter().fold(frame.clear(), |whole, it| whole.vstack(it).unwrap());
            let read = read(&file);
            assert!(read.equals_missing(&whole), "{read} {whole}");
        }
    }

    /// Minimum and maximum are right or missing: readers skip pages by them.
    #[test]
    fn rows_are_found_by_minimum_and_maximum() {
        let long = "x".repeat(400);
        let frame = df!(
            "text" => [Some("b"), None, Some("ä"), Some("a")],
            "long" => [Some("b"), Some(&*long), Some("a"), None],
            "number" => [Some(-3_i64), None, Some(900_000), Some(5)],
            "zero" => [Some(-0.0), Some(0.0), None, None],
            "money" => [Some(-0.5), None, Some(f64::NAN), Some(2.0)],
        )
        .unwrap();
        let file = written(&frame.schema().clone(), &[frame.clone(), frame.slice(0, 1)]);
        let found = |filter: Expr| found(&file, filter);
        assert_eq!(found(col("text").eq(lit("ä"))), 1);
        assert_eq!(found(col("text").eq(lit("a"))), 1);
        assert_eq!(found(col("text").is_null()), 1);
        assert_eq!(found(col("long").eq(lit(&*long))), 1);
        assert_eq!(found(col("number").eq(lit(900_000_i64))), 1);
        assert_eq!(found(col("number").lt(lit(0_i64))), 2);
        assert_eq!(found(col("zero").eq(lit(0.0))), 3);
        assert_eq!(found(col("money").eq(lit(2.0))), 1);
    }

    /// Minimum and maximum of a column of several pages are those of all its texts, or missing if one of these is too long.
    #[test]
    fn pages_of_short_texts_do_not_hide_long_ones() {
        // They fill the first page to its end.
        let long = |it: i64| (it < 2061).then_some(format!("{it:05}{}", "z".repeat(500)));
        for text in [long as fn(i64) -> _, |it| Some(format!("{it:05}{}", "z".repeat(200)))] {
            let texts: Vec<String> = (0..9000).map(|it| text(it).unwrap_or_else(|| format!("m{it}"))).collect();
            let frame = df!("text" => &texts).unwrap();
            let file = written(frame.schema(), std::slice::from_ref(&frame));
            assert!(read(&file).equals(&frame));
            for text in [&texts[0], &texts[2060], &texts[8999]] {
                assert_eq!(found(&file, col("text").eq(lit(text.as_str()))), 1);
            }
            assert_eq!(found(&file, col("text").lt(lit("a"))), texts.iter().filter(|it| it.as_str() < "a").count());
        }
    }

    #[test]
    fn repeated_texts_have_a_dictionary() {
        let size = |texts: &[Option<&str>]| {
            let frame = df!("text" => texts).unwrap();
            let pages = written(frame.schema(), std::slice::from_ref(&frame));
            assert!(read(&pages).equals_missing(&frame));
            let kind = RowGroupWriter::new(io::sink(), frame.schema()).unwrap().kinds.remove(0);
            let pages = PageEncoder::default().texts(&kind, texts.iter().copied()).unwrap();
            pages.iter().any(|it| matches!(it, polars_parquet::write::CompressedPage::Dict(_))).then_some(pages.len())
        };
        assert_eq!(size(&[Some("a"), None, Some("b"), Some("b"), Some("a")]), Some(2));
        let other: Vec<String> = (0..1000).map(|it| it.to_string()).collect();
        let other: Vec<Option<&str>> = other.iter().map(|it| Some(&**it)).collect();
        assert_eq!(size(&other), None);
        assert_eq!(size(&[&other[..400], &other[..400], &other[..400]].concat()), Some(2));
        assert_eq!(size(&other[..100]), None);
        assert_eq!(size(&[Some("a"); 2]), Some(2));
        let long = "x".repeat(1 << 20);
        assert_eq!(size(&[Some(&*long); 8]), Some(2));
        let longer = long.clone() + "x";
        assert_eq!(size(&[Some(&*long), Some(&*longer), Some(&*long), Some(&*longer)]), None);
    }
}
