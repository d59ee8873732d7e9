//! Rewrites functions of numbers and texts whose results polars computes differently from other engines.

use sqlparser::ast::{BinaryOperator, DataType, Expr, Function, Statement, UnaryOperator, Value};

use super::names::arguments_of;
use super::parse::parsed;
use super::types::Types;
use super::visit::change_expressions;

/// Functions whose numbers have no sign or few bits in polars: differences and products of them would be wrong.
const SMALL: &[&str] = &[
    "bit_length",
    "char_length",
    "character_length",
    "count",
    "date_part",
    "dense_rank",
    "length",
    "octet_length",
    "rank",
    "row_number",
];

/// Maximum length of the text of an expression that a rewrite repeats.
const MAX_REPEATED: usize = 10_000;

/// Gives whole numbers 64 bits in every cast: those of polars with 32 bits overflow without an error, also in sums.
pub(super) fn with_long_numbers(statement: &mut Statement) {
    use DataType::{Int, Int2, Int4, Integer, MediumInt, SmallInt, TinyInt};
    change_expressions(statement, |expr| {
        if let Expr::Cast { data_type, .. } = expr
            && matches!(data_type, Int(_) | Int2(_) | Int4(_) | Integer(_) | MediumInt(_) | SmallInt(_) | TinyInt(_))
        {
            *data_type = DataType::BigInt(None);
        }
    });
}

/// What is in the place of an expression for polars; `None` if it stays.
///
/// # Errors
/// When an expression is too long.
pub(super) fn number(expr: &Expr, types: &Types) -> Result<Option<Expr>, String> {
    match expr {
        Expr::BinaryOp { left, op: BinaryOperator::Modulo, right } => remainder(left, right),
        Expr::BinaryOp { left, op: BinaryOperator::DuckIntegerDivide, right } => quotient(left, right),
        Expr::IsTrue(value) => Ok(truth(value, "FALSE", false)),
        Expr::IsNotTrue(value) => Ok(truth(value, "FALSE", true)),
        Expr::IsFalse(value) => Ok(truth(value, "TRUE", true)),
        Expr::IsNotFalse(value) => Ok(truth(value, "TRUE", false)),
        Expr::Value(value) => Ok(without_exponent(&value.value)),
        Expr::Extract { .. } => Ok(parsed(&as_number(expr))),
        Expr::Substring { expr: text, substring_from: Some(from), substring_for, .. } => {
            Ok(from_end(text, from, substring_for.as_deref()))
        }
        Expr::Position { expr: part, r#in } => position(r#in, part),
        Expr::InList { expr, list, negated } if !list.iter().all(is_literal) => in_list(expr, list, *negated),
        Expr::Function(function) => of_function(function, expr, types),
        _ => Ok(None),
    }
}

/// The wide number of a function or of a part of a time. Parts with a fraction are wide already.
pub(super) fn wide(function: &Function, sql: &str) -> Option<Expr> {
    let name = function.name.to_string().to_ascii_lowercase();
    SMALL.contains(&name.as_str()).then(|| parsed(&format!("CAST({sql} AS BIGINT)")))?
}

fn of_function(function: &Function, expr: &Expr, types: &Types) -> Result<Option<Expr>, String> {
    let arguments = arguments_of(function);
    match (function.name.to_string().to_ascii_lowercase().as_str(), &arguments[..]) {
        ("mod", [left, right]) => remainder(left, right),
        ("round", [value]) => round(value, 0),
        ("round", [value, digits]) => match digits.to_string().parse() {
            Ok(digits) if (-15..=15).contains(&digits) => round(value, digits),
            _ => Err("the second argument of ROUND has to be a number from -15 to 15".to_owned()),
        },
        // polars takes the number first, and the quotient of natural logarithms: `LOG(10, 1000)` would be less than 3.
        ("log", [base, value]) => Ok(parsed(&format!("(LOG10({value}) / LOG10({base}))"))),
        ("log", [value]) => Ok(parsed(&format!("LOG10({value})"))),
        ("strpos" | "instr", [text, part]) => position(text, part),
        ("date_part", _) => Ok(parsed(&as_number(expr))),
        ("sum" | "total" | "avg", [value]) if types.is_boolean(value) => {
            Ok(parsed(&expr.to_string().replacen(&value.to_string(), &format!("CAST({value} AS BIGINT)"), 1)))
        }
        _ => Ok(wide(function, &expr.to_string())),
    }
}

/// A condition whose unknown value is known.
fn truth(value: &Expr, unknown: &str, is_negated: bool) -> Option<Expr> {
    let not = if is_negated { "NOT " } else { "" };
    parsed(&format!("({not}COALESCE({value}, {unknown}))"))
}

/// A number with an exponent, which polars does not read, without it.
fn without_exponent(value: &Value) -> Option<Expr> {
    let Value::Number(text, _) = value else { return None };
    let number: f64 = text.contains(['e', 'E']).then(|| text.parse().ok()).flatten()?;
    let text = number.to_string();
    parsed(&if text.contains('.') { text } else { format!("{text}.0") })
}

/// A part of a time as a number that can be multiplied.
fn as_number(expr: &Expr) -> String {
    let text = expr.to_string().to_ascii_lowercase();
    let has_fraction = ["epoch", "millisecond", "microsecond", "nanosecond", "'ms'", "'us'", "'ns'", "(time "];
    if has_fraction.iter().any(|part| text.contains(part)) {
        expr.to_string()
    } else {
        format!("CAST({expr} AS BIGINT)")
    }
}

/// The text of an expression that a rewrite repeats: expressions in each other would double its length each time.
pub(super) fn short(expr: &Expr) -> Result<String, String> {
    let text = expr.to_string();
    if text.len() > MAX_REPEATED {
        return Err("this expression in ROUND, %, STRPOS, IN, DATE_TRUNC or DATE_DIFF is too long".to_owned());
    }
    Ok(text)
}

/// The remainder with the sign of the dividend: that of polars has the sign of the divisor.
fn remainder(left: &Expr, right: &Expr) -> Result<Option<Expr>, String> {
    let (left, right) = (short(left)?, short(right)?);
    Ok(parsed(&format!("(SIGN({left}) * (ABS({left}) % ABS({right})))")))
}

/// The quotient without its fraction: that of polars is rounded down, also below zero.
fn quotient(left: &Expr, right: &Expr) -> Result<Option<Expr>, String> {
    let (left, right) = (short(left)?, short(right)?);
    Ok(parsed(&format!("(SIGN({left}) * SIGN({right}) * (ABS({left}) // ABS({right})))")))
}

/// A part of a text from a place that counts from its end: polars takes the whole text.
fn from_end(text: &Expr, from: &Expr, length: Option<&Expr>) -> Option<Expr> {
    let Expr::UnaryOp { op: UnaryOperator::Minus, expr: from } = from else { return None };
    let end = format!("RIGHT({text}, {from})");
    parsed(&length.map_or_else(|| end.clone(), |length| format!("SUBSTR({end}, 1, {length})")))
}

/// Rounds halves away from zero: polars rounds them to the even number. It divides by a number as a multiplication by its inverse, so
/// that 57 / 100.0 is a little more than 0.57; its own `ROUND` makes 0.57 of that.
fn round(value: &Expr, digits: i32) -> Result<Option<Expr>, String> {
    let value = short(value)?;
    let factor = format!("{}.0", 10_u64.pow(digits.unsigned_abs()));
    let to_whole = match digits {
        0 => format!("ABS({value})"),
        1.. => format!("(ABS({value}) * {factor})"),
        _ => format!("(ABS({value}) / {factor})"),
    };
    let whole = format!(
        "(SIGN({value}) * (FLOOR({to_whole}) + CASE WHEN {to_whole} - FLOOR({to_whole}) >= 0.5 THEN 1 ELSE 0 END))"
    );
    Ok(parsed(&match digits {
        0 => whole,
        1.. => format!("ROUND({whole} / {factor}, {digits})"),
        _ => format!("({whole} * {factor})"),
    }))
}

/// The place of a part in a text in characters, from 1: polars counts bytes, and takes the part for a pattern.
fn position(text: &Expr, part: &Expr) -> Result<Option<Expr>, String> {
    let (text, part) = (short(text)?, short(part)?);
    let before = format!("CAST(LENGTH(SPLIT_PART({text}, {part}, 1)) AS BIGINT)");
    Ok(parsed(&format!("CASE WHEN {before} = LENGTH({text}) THEN 0 ELSE {before} + 1 END")))
}

fn is_literal(item: &Expr) -> bool {
    match item {
        Expr::Value(_) => true,
        Expr::UnaryOp { op: UnaryOperator::Minus | UnaryOperator::Plus, expr } => {
            matches!(&**expr, Expr::Value(value) if matches!(value.value, Value::Number(..)))
        }
        _ => false,
    }
}

/// A list with more than literals as equalities: polars takes literals only.
fn in_list(expr: &Expr, list: &[Expr], is_negated: bool) -> Result<Option<Expr>, String> {
    let expr = short(expr)?;
    let any = any_of(&list.iter().map(|item| format!("({expr}) = ({item})")).collect::<Vec<_>>());
    Ok(parsed(&if is_negated { format!("NOT {any}") } else { any }))
}

/// The conditions, joined by OR as a tree that is not deep.
fn any_of(conditions: &[String]) -> String {
    match conditions {
        [] => "FALSE".to_owned(),
        [only] => format!("({only})"),
        several => {
            let (left, right) = several.split_at(several.len() / 2);
            format!("({} OR {})", any_of(left), any_of(right))
        }
    }
}
