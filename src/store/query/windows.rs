//! Rewrites windows for polars, which computes sums row by row where the standard gives rows with the same order the same sum, and
//! ignores frames and orders of other functions.

use polars::sql::keywords::all_functions;
use sqlparser::ast::{
    DuplicateTreatment, Expr, Function, FunctionArguments, Ident, NamedWindowDefinition, NamedWindowExpr,
    NullTreatment, OrderByExpr, UnaryOperator, WindowFrame, WindowFrameBound, WindowFrameUnits, WindowSpec, WindowType,
};

use super::names::is_aggregate;
use super::orders::{nulls_last, order_nulls_by_key};
use super::parse::parsed;

/// The rows that a window function computes of.
#[derive(Clone, Copy, PartialEq)]
enum Frame {
    /// All rows of the partition.
    Whole,
    /// Those before, and those with the same order.
    Peers,
    /// Those before.
    Rows,
    /// This number of rows, the last of which is the current one.
    Last(u64),
}

const FRAMES: &str = "a window takes the frames ROWS BETWEEN UNBOUNDED PRECEDING, or a number PRECEDING, AND CURRENT ROW, and UNBOUNDED \
                      PRECEDING AND UNBOUNDED FOLLOWING";

/// What is in the place of a window function for polars; `None` if it is not a window.
///
/// # Errors
/// When polars would compute it wrongly, and no rewrite prevents it.
pub(super) fn window(function: &Function) -> Result<Option<Expr>, String> {
    let Some(WindowType::WindowSpec(spec)) = &function.over else { return Ok(None) };
    let name = function.name.to_string().to_ascii_lowercase();
    if spec.window_name.is_some() {
        return Err("a window that extends a named one is not supported: write it in full".to_owned());
    }
    if function.filter.is_some() {
        return Err(format!(
            "{name}: FILTER is not supported in a window; write {name}(CASE WHEN … THEN … END) OVER (…)"
        ));
    }
    let is_ignoring = matches!(function.null_treatment, Some(NullTreatment::IgnoreNulls));
    let FunctionArguments::List(list) = &function.args else { return Ok(None) };
    if is_ignoring || list.clauses.iter().any(|it| it.to_string().eq_ignore_ascii_case("ignore nulls")) {
        return Err("IGNORE NULLS is not supported".to_owned());
    }
    let descends: Vec<bool> = spec.order_by.iter().map(|order| order.options.asc == Some(false)).collect();
    if descends.contains(&true) && descends.contains(&false) {
        return Err("a window takes one direction in its order: write -x in place of x DESC for a number".to_owned());
    }
    let parts = Parts {
        call: Function { over: None, ..function.clone() }.to_string(),
        arguments: list.args.iter().map(ToString::to_string).collect(),
        partition: spec.partition_by.iter().map(ToString::to_string).collect(),
        order: spec.order_by.iter().cloned().map(named).collect(),
    };
    let frame = frame_of(spec)?;
    let is_distinct = list.duplicate_treatment == Some(DuplicateTreatment::Distinct);
    let sql = match name.as_str() {
        "sum" | "count" | "min" | "max" | "avg" | "total" if !is_distinct => parts.aggregate(&name, frame)?,
        "lag" | "lead" => parts.neighbor(&name)?,
        "first_value" | "row_number" | "rank" | "dense_rank" => match frame {
            Frame::Last(_) => return Err(format!("{name} takes no frame; {FRAMES}")),
            _ => parts.over(&parts.call, Frame::Rows),
        },
        "last_value" => match (frame, &parts.arguments[..]) {
            (Frame::Whole, [value]) => parts.over(&format!("LAST({value})"), Frame::Rows),
            (Frame::Peers, [value]) => parts.over_peers(&format!("LAST({value})")),
            _ => return Err(format!("last_value takes no frame of rows; {FRAMES}")),
        },
        _ if is_aggregate(function) => match frame {
            Frame::Whole => parts.over(&parts.call, Frame::Whole),
            _ => return Err(format!("{} takes no ORDER BY in its window", parts.call)),
        },
        _ if !all_functions().contains(&name.as_str()) => return Ok(None),
        _ => return Err(format!("{name} is not a window function")),
    };
    parsed(&sql).map(Some).ok_or_else(|| format!("{function} is not supported"))
}

/// A key of an order with a name of its own: polars gives all keys that begin with a literal the same, also `-x`.
fn named(order: OrderByExpr) -> OrderByExpr {
    let expr = match &order.expr {
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => parsed(&format!("({expr}) * -1")),
        _ => None,
    };
    OrderByExpr { expr: expr.unwrap_or_else(|| order.expr.clone()), ..order }
}

fn frame_of(spec: &WindowSpec) -> Result<Frame, String> {
    use WindowFrameBound::{CurrentRow, Following, Preceding};
    let Some(WindowFrame { units, start_bound, end_bound }) = &spec.window_frame else {
        return Ok(if spec.order_by.is_empty() { Frame::Whole } else { Frame::Peers });
    };
    let rows = *units == WindowFrameUnits::Rows;
    match (start_bound, end_bound.as_ref().unwrap_or(&CurrentRow)) {
        (Preceding(None), Following(None)) => Ok(Frame::Whole),
        _ if spec.order_by.is_empty() => Err("a frame of a window needs ORDER BY".to_owned()),
        (Preceding(None), CurrentRow) => Ok(if rows { Frame::Rows } else { Frame::Peers }),
        (Preceding(Some(number)), CurrentRow) if rows => match number.to_string().parse::<u64>() {
            Ok(number) => Ok(Frame::Last(number.saturating_add(1))),
            Err(_) => Err(FRAMES.to_owned()),
        },
        _ => Err(FRAMES.to_owned()),
    }
}

/// A window function in parts.
struct Parts {
    /// The function without its window.
    call: String,
    arguments: Vec<String>,
    partition: Vec<String>,
    order: Vec<OrderByExpr>,
}

impl Parts {
    /// A function over this window with that frame.
    fn over(&self, call: &str, frame: Frame) -> String {
        let mut order = self.order.clone();
        nulls_last(&mut order);
        order_nulls_by_key(&mut order);
        let keys: Vec<String> = order.iter().map(ToString::to_string).collect();
        let order = match frame {
            Frame::Whole => String::new(),
            _ if keys.is_empty() => String::new(),
            _ => format!("ORDER BY {}", keys.join(", ")),
        };
        // polars takes a function without partition and order for one value, and not for one of each row.
        let partition = match &self.partition[..] {
            [] if order.is_empty() => "PARTITION BY 1".to_owned(),
            [] => String::new(),
            some => format!("PARTITION BY {}", some.join(", ")),
        };
        format!("{call} OVER ({})", format!("{partition} {order}").trim())
    }

    /// A function over the rows with the same order.
    fn over_peers(&self, call: &str) -> String {
        let order = self.order.iter().map(|order| order.expr.to_string());
        let partition: Vec<String> = self.partition.iter().cloned().chain(order).collect();
        format!("{call} OVER (PARTITION BY {})", partition.join(", "))
    }

    fn aggregate(&self, name: &str, frame: Frame) -> Result<String, String> {
        let rows = |call: &str| self.over(call, Frame::Rows);
        let argument = self.arguments.first().map_or("*", String::as_str);
        let count = format!("COUNT({argument})");
        match (name, frame) {
            (_, Frame::Whole) => Ok(self.over(&self.call, frame)),
            // The frames of two sums have the same rows.
            ("avg", _) => {
                let sum = self.aggregate_of("sum", &format!("SUM({argument})"), frame)?;
                Ok(format!("(CAST({sum} AS DOUBLE) / {})", self.aggregate_of("count", &count, frame)?))
            }
            (_, Frame::Rows) => Ok(rows(&self.call)),
            ("min" | "max", Frame::Peers) => Ok(rows(&format!("{name}({})", self.over_peers(&self.call)))),
            // The first of the rows with the same order counts for all of them. polars computes the inner windows in the order of the
            // outer one.
            (_, Frame::Peers) => {
                let (first, of_peers) = (self.over_peers("ROW_NUMBER()"), self.over_peers(&self.call));
                Ok(rows(&format!("SUM(CASE WHEN {first} = 1 THEN {of_peers} END)")))
            }
            ("count", Frame::Last(number)) => Ok(self.difference(&self.call, number)),
            ("sum" | "total", Frame::Last(number)) => {
                let (sum, count) = (self.difference(&self.call, number), self.difference(&count, number));
                Ok(format!("CASE WHEN {count} > 0 THEN {sum} END"))
            }
            _ => Err(format!("{name} takes no frame with a number of rows; {FRAMES}")),
        }
    }

    fn aggregate_of(&self, name: &str, call: &str, frame: Frame) -> Result<String, String> {
        let parts = Self {
            call: call.to_owned(),
            arguments: self.arguments.clone(),
            partition: self.partition.clone(),
            order: self.order.clone(),
        };
        parts.aggregate(name, frame)
    }

    /// A sum over the last rows: that of all rows before, without that of the rows before them.
    fn difference(&self, call: &str, number: u64) -> String {
        let until_now = self.over(call, Frame::Rows);
        let until_then = self.over(&format!("LAG({until_now}, {number})"), Frame::Rows);
        let is_count = call.to_ascii_lowercase().starts_with("count");
        let until_now = if is_count { format!("CAST({until_now} AS BIGINT)") } else { until_now };
        format!("({until_now} - COALESCE({until_then}, 0))")
    }

    /// `LAG` and `LEAD`, whose third argument is the value where there is no such row.
    fn neighbor(&self, name: &str) -> Result<String, String> {
        let [value, rest @ ..] = &self.arguments[..] else { return Err(format!("{name} takes a column")) };
        let number = rest.first().map_or("1", String::as_str);
        if !number.parse::<u32>().is_ok_and(|number| number > 0) {
            return Err(format!("the second argument of {name} has to be a number from 1"));
        }
        let neighbor = self.over(&format!("{name}({value}, {number})"), Frame::Rows);
        let Some(otherwise) = rest.get(1) else { return Ok(neighbor) };
        let place = format!("CAST({} AS BIGINT)", self.over("ROW_NUMBER()", Frame::Rows));
        let place = match name {
            "lag" => place,
            _ => format!("(CAST({} AS BIGINT) - {place} + 1)", self.over("COUNT(*)", Frame::Whole)),
        };
        Ok(format!("CASE WHEN {place} > {number} THEN {neighbor} ELSE {otherwise} END"))
    }
}

/// Puts a named window in the place of its name.
pub(super) fn insert_named_window(function: &mut Function, named: &[NamedWindowDefinition]) {
    let Some(WindowType::NamedWindow(name)) = &function.over else { return };
    if let Some(spec) = spec_of(name, named, named.len()) {
        function.over = Some(WindowType::WindowSpec(spec));
    }
}

fn spec_of(name: &Ident, named: &[NamedWindowDefinition], depth: usize) -> Option<WindowSpec> {
    match &named.iter().find(|window| window.0.value == name.value)?.1 {
        NamedWindowExpr::WindowSpec(spec) => Some(spec.clone()),
        NamedWindowExpr::NamedWindow(other) => spec_of(other, named, depth.checked_sub(1)?),
    }
}
