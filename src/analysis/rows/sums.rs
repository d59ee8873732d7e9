//! Sums and counts over the rows of a group.

use polars::prelude::*;

use crate::store::frames::{tool_calls, turns};

/// The sum of a column; NULL if no value is known.
pub(in crate::analysis) fn known_sum(column: &str) -> Expr {
    when(col(column).count().gt(lit(0))).then(sum_of(column, col(column))).otherwise(lit(NULL))
}

/// The sum of a column over the rows that fulfil a condition; 0 if no value is known. The streaming engine of polars reads the rows
/// twice if the column is filtered instead.
pub(in crate::analysis) fn sum_where(column: &str, condition: Expr) -> Expr {
    sum_of(column, when(condition).then(col(column)).otherwise(lit(NULL)))
}

/// The sum of values of a column. A sum of floats depends on the order of the rows, which is not defined. So dollars are split: the
/// sum of multiples of 2⁻²⁶ is exact up to a hundred million dollars, and the remainders are too small to change a digit that reports
/// show.
pub(in crate::analysis) fn sum_of(column: &str, values: Expr) -> Expr {
    /// Floats near this number are multiples of 2⁻²⁶, so that adding it rounds a value to such a multiple. polars' `floor` takes
    /// longer.
    const ROUNDING: f64 = 1.5 * (1 << 26) as f64;
    if !column.ends_with("_usd") {
        return values.sum();
    }
    let coarse = (values.clone() + lit(ROUNDING)) - lit(ROUNDING);
    coarse.clone().sum() + (values - coarse).sum()
}

/// A sum of fractions as a whole number. The last digits of such a sum depend on the order of its rows; they must not decide about a half.
pub(in crate::analysis) fn whole(sum: Expr) -> Expr {
    const HALF: RoundMode = RoundMode::HalfAwayFromZero;
    sum.round(6, HALF).round(0, HALF).cast(DataType::Int64)
}

/// The number of rows in which a column has a value.
pub(in crate::analysis) fn count_of(column: &str, value: &str) -> Expr {
    col(column).eq(lit(value)).sum().cast(DataType::Int64)
}

/// The number of responses among rows of `turns`; NULL if their logs give nothing but sums. Without rows it is 0.
pub(in crate::analysis) fn responses() -> Expr {
    let count = || count_of(turns::GRAIN, "turn");
    let is_unknown = count().eq(lit(0)).and(col(turns::GRAIN).count().gt(lit(0)));
    when(is_unknown).then(lit(NULL)).otherwise(count())
}

/// The number of rows of `tool_calls` with a result or a status in the log.
pub(in crate::analysis) fn calls_with_result() -> Expr {
    col(tool_calls::STATUS).neq(lit("incomplete")).sum().cast(DataType::Int64)
}

/// The number of calls that failed; NULL if no call has a result in the log. Without rows it is 0.
pub(in crate::analysis) fn failed_calls() -> Expr {
    let is_unknown = calls_with_result().eq(lit(0)).and(col(tool_calls::STATUS).count().gt(lit(0)));
    when(is_unknown).then(lit(NULL)).otherwise(count_of(tool_calls::STATUS, "error"))
}

/// The number of rows in which a flag has a value.
pub(in crate::analysis) fn count_of_flag(column: &str, value: bool) -> Expr {
    col(column).eq(lit(value)).sum().cast(DataType::Int64)
}

/// Rounds all floats to ten digits: the last digits of a sum depend on the order of its rows, which is not defined.
pub fn round(frame: LazyFrame) -> LazyFrame {
    let floats = dtype_col(&DataType::Float64).as_selector().as_expr();
    frame.with_column(floats.round(10, RoundMode::HalfAwayFromZero))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 15 × 0.1 is 1.5 or a little less, by the order of the values.
    #[test]
    fn the_order_of_rows_does_not_decide_about_a_half() {
        let mut values = vec![0.1; 15];
        for last in [0.0, 1e6, -1e6, 1e-12] {
            values.extend([last, -last]);
            let sums = df!("values" => values.clone()).unwrap().lazy().select([
                whole(known_sum("values")).alias("sum"),
                whole(col("values").sum() - lit(1e-12)).alias("less"),
            ]);
            let sums = sums.collect().unwrap();
            assert_eq!(sums.get(0), Some(vec![AnyValue::Int64(2), AnyValue::Int64(2)]), "{last}");
        }
    }
}
