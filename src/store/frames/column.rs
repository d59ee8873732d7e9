//! How a column is made: a function reads the value of each row, and a [`ColumnBuilder`] takes these values.

use std::fmt::Write as _;

use polars::prelude::*;
use polars_arrow::array::{Array, BooleanArray, MutableBinaryViewArray, PrimitiveArray, Utf8ViewArray};
use polars_parquet::write::ParquetType;

use crate::base::time::Time;
use crate::store::parquet::{PageEncoder, Pages};

/// One column of a table whose rows are `R`.
pub struct Field<R> {
    /// Its name.
    pub name: &'static str,
    /// What it means.
    pub about: &'static str,
    /// How its values are read.
    pub get: Get<R>,
}

/// Reads the value of a row, and determines the type of the column. A missing value is NULL.
pub enum Get<R> {
    Text(fn(&R) -> Option<&str>),
    Int(fn(&R) -> Option<i64>),
    Float(fn(&R) -> Option<f64>),
    Flag(fn(&R) -> bool),
    MaybeFlag(fn(&R) -> Option<bool>),
    Time(fn(&R) -> Option<Time>),
    /// Days since 1970.
    Date(fn(&R) -> Option<i32>),
    List(fn(&R) -> Vec<&str>),
    MaybeList(fn(&R) -> Option<Vec<&str>>),
    /// The bits of a hash, as 16 hexadecimal digits.
    Hash(fn(&R) -> Option<i64>),
}

/// Makes a column of the values of some rows. There are two builders: [`Arrays`] for frames in memory, and [`ColumnPages`] for the
/// files of the archive, which skips the arrays.
pub trait ColumnBuilder {
    type Column;

    fn texts<'a>(self, values: impl ExactSizeIterator<Item = Option<&'a str>> + Clone) -> Self::Column;
    fn ints(self, values: impl ExactSizeIterator<Item = Option<i64>>) -> Self::Column;
    fn floats(self, values: impl ExactSizeIterator<Item = Option<f64>>) -> Self::Column;
    fn flags(self, values: impl ExactSizeIterator<Item = bool>) -> Self::Column;
    fn maybe_flags(self, values: impl ExactSizeIterator<Item = Option<bool>>) -> Self::Column;
    /// Microseconds since 1970.
    fn times(self, values: impl ExactSizeIterator<Item = Option<i64>>) -> Self::Column;
    /// Days since 1970.
    fn dates(self, values: impl ExactSizeIterator<Item = Option<i32>>) -> Self::Column;
    fn lists<'a>(self, values: impl ExactSizeIterator<Item = Option<Vec<&'a str>>> + Clone) -> Self::Column;
}

impl<R> Get<R> {
    /// The type of the column in polars.
    pub fn dtype(&self) -> DataType {
        match self {
            Self::Text(_) | Self::Hash(_) => DataType::String,
            Self::Int(_) => DataType::Int64,
            Self::Float(_) => DataType::Float64,
            Self::Flag(_) | Self::MaybeFlag(_) => DataType::Boolean,
            Self::Time(_) => time_type(),
            Self::Date(_) => DataType::Date,
            Self::List(_) | Self::MaybeList(_) => DataType::List(Box::new(DataType::String)),
        }
    }

    /// The column of some rows.
    pub fn column<B: ColumnBuilder>(&self, rows: &[R], builder: B) -> B::Column {
        match self {
            Self::Text(get) => builder.texts(rows.iter().map(get)),
            Self::Int(get) => builder.ints(rows.iter().map(get)),
            Self::Float(get) => builder.floats(rows.iter().map(get)),
            Self::Flag(get) => builder.flags(rows.iter().map(get)),
            Self::MaybeFlag(get) => builder.maybe_flags(rows.iter().map(get)),
            Self::Time(get) => builder.times(rows.iter().map(|row| get(row).map(Time::micros))),
            Self::Date(get) => builder.dates(rows.iter().map(get)),
            Self::List(get) => builder.lists(rows.iter().map(|row| Some(get(row)))),
            Self::MaybeList(get) => builder.lists(rows.iter().map(get)),
            Self::Hash(get) => {
                let mut digits = String::with_capacity(rows.len() * HASH_DIGITS);
                for row in rows {
                    // Writing to a `String` does not fail.
                    let _ = write!(digits, "{:016x}", get(row).unwrap_or_default());
                }
                let text = |(index, row): (usize, &R)| {
                    get(row).and_then(|_| digits.get(index * HASH_DIGITS..(index + 1) * HASH_DIGITS))
                };
                builder.texts(rows.iter().enumerate().map(text))
            }
        }
    }
}

/// The length of a hash in the tables.
const HASH_DIGITS: usize = 16;

/// The type of columns of times.
pub fn time_type() -> DataType {
    DataType::Datetime(TimeUnit::Microseconds, Some(TimeZone::UTC))
}

/// A time, to be compared with a column of times.
pub fn time_value(time: Time) -> Expr {
    lit(time.micros()).cast(time_type())
}

/// Makes arrays of polars.
pub struct Arrays;

impl ColumnBuilder for Arrays {
    type Column = Box<dyn Array>;

    fn texts<'a>(self, values: impl ExactSizeIterator<Item = Option<&'a str>> + Clone) -> Self::Column {
        Utf8ViewArray::from(MutableBinaryViewArray::from_iterator(values)).boxed()
    }

    fn ints(self, values: impl ExactSizeIterator<Item = Option<i64>>) -> Self::Column {
        values.collect::<PrimitiveArray<i64>>().boxed()
    }

    fn floats(self, values: impl ExactSizeIterator<Item = Option<f64>>) -> Self::Column {
        values.collect::<PrimitiveArray<f64>>().boxed()
    }

    fn flags(self, values: impl ExactSizeIterator<Item = bool>) -> Self::Column {
        BooleanArray::from_slice(values.collect::<Vec<_>>()).boxed()
    }

    fn maybe_flags(self, values: impl ExactSizeIterator<Item = Option<bool>>) -> Self::Column {
        values.collect::<BooleanArray>().boxed()
    }

    fn times(self, values: impl ExactSizeIterator<Item = Option<i64>>) -> Self::Column {
        values.collect::<PrimitiveArray<i64>>().to(time_type().to_arrow(CompatLevel::newest())).boxed()
    }

    fn dates(self, values: impl ExactSizeIterator<Item = Option<i32>>) -> Self::Column {
        values.collect::<PrimitiveArray<i32>>().to(DataType::Date.to_arrow(CompatLevel::newest())).boxed()
    }

    fn lists<'a>(self, values: impl ExactSizeIterator<Item = Option<Vec<&'a str>>> + Clone) -> Self::Column {
        let mut builder = ListStringChunkedBuilder::new(PlSmallStr::EMPTY, values.len(), values.len());
        for value in values {
            match value {
                Some(texts) => builder.append_values_iter(texts.into_iter()),
                None => builder.append_null(),
            }
        }
        builder.finish().into_series().to_arrow(0, CompatLevel::newest())
    }
}

/// Makes the pages of a parquet column of this type.
pub struct ColumnPages<'a> {
    /// The type of the column in its file.
    pub kind: &'a ParquetType,
    /// The encoder of the thread.
    pub encoder: &'a mut PageEncoder,
}

impl ColumnBuilder for ColumnPages<'_> {
    type Column = PolarsResult<Pages>;

    fn texts<'a>(self, values: impl ExactSizeIterator<Item = Option<&'a str>> + Clone) -> Self::Column {
        self.encoder.texts(self.kind, values)
    }

    fn ints(self, values: impl ExactSizeIterator<Item = Option<i64>>) -> Self::Column {
        self.encoder.numbers(self.kind, values)
    }

    fn floats(self, values: impl ExactSizeIterator<Item = Option<f64>>) -> Self::Column {
        self.encoder.fractions(self.kind, values)
    }

    fn flags(self, values: impl ExactSizeIterator<Item = bool>) -> Self::Column {
        self.encoder.flags(self.kind, values.map(Some))
    }

    fn maybe_flags(self, values: impl ExactSizeIterator<Item = Option<bool>>) -> Self::Column {
        self.encoder.flags(self.kind, values)
    }

    fn times(self, values: impl ExactSizeIterator<Item = Option<i64>>) -> Self::Column {
        self.encoder.numbers(self.kind, values)
    }

    fn dates(self, values: impl ExactSizeIterator<Item = Option<i32>>) -> Self::Column {
        self.encoder.numbers(self.kind, values)
    }

    /// Few rows have lists: polars encodes them.
    fn lists<'a>(self, values: impl ExactSizeIterator<Item = Option<Vec<&'a str>>> + Clone) -> Self::Column {
        if values.clone().all(|list| list.is_none()) {
            return self.encoder.null_lists(self.kind, values.len());
        }
        self.encoder.array(self.kind, &*Arrays.lists(values))
    }
}
