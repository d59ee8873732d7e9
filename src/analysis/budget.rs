//! Compares measures of reports with bounds, for budgets (docs/reports.md#budgets).

use std::collections::BTreeMap;

use polars::prelude::DataType;

use super::reports::{Answer, CostBasis, Error, Frames, LeftOut, Options, REPORTS, Report, Scope, find};
use crate::store::query::near;

/// Which values a bound permits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Values up to the bound.
    Max,
    /// Values from the bound on.
    Min,
}

impl Side {
    /// The name of the option.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Max => "max",
            Self::Min => "min",
        }
    }
}

/// A bound of a measure.
#[derive(Debug)]
pub struct MeasureBound {
    report: &'static Report,
    measure: &'static str,
    /// Which values it permits.
    pub side: Side,
    /// The bound.
    pub limit: f64,
}

/// Why a measure has no bound.
#[derive(Debug, thiserror::Error)]
pub enum WrongMeasure {
    /// No report has it.
    #[error("no report has a measure {name:?}; {suggestion}")]
    Unknown {
        /// The name.
        name: String,
        /// The measures, or the one that is probably meant.
        suggestion: String,
    },
    /// It is a text, a day, a flag or the number of a line.
    #[error("{0} is no amount: it cannot be compared with a bound")]
    NoAmount(String),
}

impl MeasureBound {
    /// A bound of `MEASURE`, as the first report that has it computes it, or of `REPORT.MEASURE`.
    ///
    /// # Errors
    /// When there is no such measure, or it is no amount.
    pub fn new(name: &str, side: Side, limit: f64) -> Result<Self, WrongMeasure> {
        let (report, measure) = name.split_once('.').map_or((None, name), |(report, measure)| (Some(report), measure));
        let candidates = REPORTS.iter().filter(|candidate| report.is_none_or(|report| candidate.is_named(report)));
        let measures = candidates.flat_map(|report| report.bounded().iter().map(move |found| (report, found)));
        let named: Vec<_> = measures.filter(|(_, found)| found.name == measure && found.is_always_computed()).collect();
        if let Some((report, found)) = named.iter().find(|(_, found)| found.is_amount) {
            return Ok(Self { report, measure: found.name, side, limit });
        }
        if !named.is_empty() {
            return Err(WrongMeasure::NoAmount(name.to_owned()));
        }
        let mut names: Vec<&str> = REPORTS
            .iter()
            .flat_map(Report::bounded)
            .filter(|it| it.is_always_computed() && it.is_amount)
            .map(|measure| measure.name)
            .collect();
        names.sort_unstable();
        names.dedup();
        let suggestion = match near(measure, names.iter().copied()) {
            Some(near) => format!("did you mean {near}?"),
            None => format!("the measures are: {}", names.join(", ")),
        };
        Err(WrongMeasure::Unknown { name: name.to_owned(), suggestion })
    }

    /// Whether it is about tokens or their cost.
    pub fn is_of_usage(&self) -> bool {
        self.measure.ends_with("_usd") || self.measure.contains("tokens")
    }

    /// The tables that it is computed from.
    pub fn tables(&self) -> Vec<&'static str> {
        self.report.tables()
    }

    /// The measure, with its report if another one computes a measure of that name first.
    pub fn name(&self) -> String {
        let first = REPORTS.iter().find(|report| report.bounded().iter().any(|found| found.name == self.measure));
        match first {
            Some(first) if first.name != self.report.name => format!("{}.{}", self.report.name, self.measure),
            _ => self.measure.to_owned(),
        }
    }
}

/// A bound, and the value that was compared with it.
#[derive(Debug)]
pub struct Compared {
    /// The value of the measure over all rows in scope; `None` if it is unknown, as without rows.
    pub value: Option<f64>,
    /// Whether the bound does not permit the value. An unknown value is permitted by `--max`, and not by `--min`.
    pub is_exceeded: bool,
}

/// The values of measures over all rows in scope, compared with their bounds, and the undated rows that the scope excludes.
///
/// # Errors
/// When a filter names something that does not exist, a measure is not a number, or the tables cannot be read.
pub fn compare(
    tables: &Frames,
    bounds: &[MeasureBound],
    scope: &Scope,
    cost: CostBasis,
) -> Result<(Vec<Compared>, LeftOut), Error> {
    let mut answers: BTreeMap<&str, Answer> = BTreeMap::new();
    let mut left_out = LeftOut::default();
    for bound in bounds {
        if !answers.contains_key(bound.report.name) {
            let options =
                Options { scope: scope.clone(), cost, total: true, wide: true, limit: Some(0), ..Options::default() };
            let answer = find(bound.report.name)?.totals(tables, &options)?;
            if answer.left_out.rows > left_out.rows {
                left_out = answer.left_out;
            }
            answers.insert(bound.report.name, answer);
        }
    }
    let compared = bounds.iter().map(|bound| {
        let total = answers.get(bound.report.name).and_then(|answer| answer.total.as_ref());
        let column = total.and_then(|total| total.column(bound.measure).ok());
        let value = column.and_then(|column| column.cast(&DataType::Float64).ok()?.f64().ok()?.get(0));
        let is_exceeded = match bound.side {
            Side::Max => value.is_some_and(|value| value > bound.limit),
            Side::Min => value.is_none_or(|value| value < bound.limit),
        };
        Compared { value, is_exceeded }
    });
    Ok((compared.collect(), left_out))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measure_may_name_its_report() {
        let name = |text: &str| MeasureBound::new(text, Side::Max, 1.0).map(|bound| bound.name());
        assert_eq!(name("cost_usd").unwrap(), "cost_usd");
        assert_eq!(name("cost.cost_usd").unwrap(), "cost_usd");
        assert_eq!(name("sessions.cost_usd").unwrap(), "sessions.cost_usd");
        let error = name("costs").unwrap_err().to_string();
        assert!(error.contains("\"costs\"") && error.contains("did you mean"), "{error}");
        let error = name("nothing").unwrap_err().to_string();
        assert!(error.contains("cost_usd, "), "{error}");
        assert_eq!(name("limits.used_percent").unwrap(), "used_percent");
        assert!(name("tools.cost_usd").is_err());
    }

    #[test]
    fn texts_and_days_have_no_bounds() {
        for name in ["worst_path", "waste.basis", "example_session", "first_day", "is_on_front", "example_line"] {
            let error = MeasureBound::new(name, Side::Max, 1.0).unwrap_err().to_string();
            assert_eq!(error, format!("{name} is no amount: it cannot be compared with a bound"));
        }
        let error = MeasureBound::new("nothing", Side::Max, 1.0).unwrap_err().to_string();
        assert!(!error.contains("_path") && !error.contains("_day") && error.contains("worst_usd"), "{error}");
    }
}
