//! The kinds of columns: how the values of a column in memory are read. The type of a column in `columns` is its kind.

use polars::prelude::*;
use polars_arrow::array::{BooleanArray, PrimitiveArray, StaticArray, Utf8ViewArray};

use crate::base::time::Time as Moment;

/// A kind of columns.
pub trait Kind {
    /// The values of a column.
    type Values;
    /// The value of a row.
    type Value<'a>;

    /// The values of a column.
    ///
    /// # Errors
    /// When the column has another type.
    fn values(column: &Column) -> PolarsResult<Self::Values>;

    /// The value of a row.
    fn value(values: &Self::Values, row: usize) -> Self::Value<'_>;
}

/// Declares kinds: the type of the values, how they are found in a column, and how one of them is read.
macro_rules! kinds {
    ($($(#[$about:meta])* $kind:ident($values:ty) -> $value:ty:
        |$column:ident| $find:expr, |$found:ident, $row:ident| $read:expr;)*) => {$(
        $(#[$about])*
        #[derive(Debug)]
        pub enum $kind {}

        impl Kind for $kind {
            type Values = $values;
            type Value<'a> = $value;

            fn values($column: &Column) -> PolarsResult<Self::Values> {
                Ok($find)
            }

            fn value($found: &Self::Values, $row: usize) -> Self::Value<'_> {
                $read
            }
        }
    )*};
}

/// The values of a column as one array, in which a value is found faster than in chunks.
fn array<T: PolarsDataType>(values: &ChunkedArray<T>) -> T::Array {
    values.rechunk().downcast_as_array().clone()
}

kinds! {
    /// Texts.
    Text(Utf8ViewArray) -> Option<&'a str>: |column| array(column.str()?), |values, row| values.get(row);
    /// Whole numbers.
    Int(PrimitiveArray<i64>) -> Option<i64>: |column| array(column.i64()?), |values, row| values.get(row);
    /// Fractions, and dollars.
    Float(PrimitiveArray<f64>) -> Option<f64>: |column| array(column.f64()?), |values, row| values.get(row);
    /// Whether something is the case; false if that is unknown.
    Flag(BooleanArray) -> bool: |column| array(column.bool()?), |values, row| StaticArray::get(values, row).unwrap_or(false);
    /// Whether something is the case, or unknown.
    MaybeFlag(BooleanArray) -> Option<bool>: |column| array(column.bool()?), |values, row| StaticArray::get(values, row);
    /// Times.
    Time(PrimitiveArray<i64>) -> Option<Moment>:
        |column| array(column.datetime()?.physical()), |values, row| values.get(row).map(Moment::from_micros);
    /// Days since 1970.
    Date(PrimitiveArray<i32>) -> Option<i32>: |column| array(column.date()?.physical()), |values, row| values.get(row);
    /// Lists of texts.
    List(ListChunked) -> Vec<String>: |column| column.list()?.clone(), |values, row| {
        let list = values.get_as_series(row);
        let texts = list.as_ref().and_then(|list| list.str().ok());
        texts.map_or_else(Vec::new, |texts| texts.iter().flatten().map(str::to_owned).collect())
    };
    /// Lists of texts, or unknown.
    MaybeList(ListChunked) -> Option<Vec<String>>: |column| column.list()?.clone(), |values, row| {
        let list = values.get_as_series(row)?;
        Some(list.str().ok()?.iter().flatten().map(str::to_owned).collect())
    };
}

/// Texts that are never unknown in the tables. Joined rows may lack them.
pub type Word = Text;
/// Texts that are mostly one of a few words.
pub type Choice = Text;
/// Hashes as hexadecimal digits.
pub type Hash = Text;
