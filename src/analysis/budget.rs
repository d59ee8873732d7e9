//! Compares measures of reports with bounds, for budgets (docs/reports.md#budgets).

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use polars::prelude::DataType;
use serde::de::{self, Deserialize, Deserializer, Visitor};

use super::present::is_share;
use super::reports::{Answer, CostBasis, Error, Frames, LeftOut, Options, REPORTS, Report, Scope, find};
use crate::store::frames::sessions;
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

/// A number to compare with, as the user writes it: `50`, `0.1` or `10%`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limit {
    number: f64,
    is_percentage: bool,
}

impl Limit {
    /// The number in the unit of a measure.
    fn of(self, measure: &str) -> Result<f64, WrongMeasure> {
        let Self { number, is_percentage } = self;
        if is_part(measure) {
            let share = if is_percentage { number / 100.0 } else { number };
            if (0.0..=1.0).contains(&share) {
                return Ok(share);
            }
            // That the sign was forgotten is the usual error.
            let meant = if !is_percentage && (1.0..=100.0).contains(&number) { number } else { 10.0 };
            return Err(WrongMeasure::NoShare { measure: measure.to_owned(), percentage: meant });
        }
        let is_in_percent = measure.split('_').any(|word| word == "percent");
        if is_percentage && !is_in_percent {
            return Err(WrongMeasure::NoPercentage(measure.to_owned()));
        }
        Ok(number)
    }
}

impl From<f64> for Limit {
    fn from(number: f64) -> Self {
        Self { number, is_percentage: false }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.number, if self.is_percentage { "%" } else { "" })
    }
}

impl FromStr for Limit {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        let percentage = text.strip_suffix('%');
        let number = percentage.unwrap_or(text).trim_end().parse::<f64>().ok().filter(|number| number.is_finite());
        let number = number.ok_or("not a number, such as 50, 0.1 or 10%")?;
        Ok(Self { number, is_percentage: percentage.is_some() })
    }
}

/// A number, or a text such as `10%`.
impl<'de> Deserialize<'de> for Limit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Limits;
        impl Visitor<'_> for Limits {
            type Value = Limit;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, or a percentage such as \"10%\"")
            }

            fn visit_f64<E: de::Error>(self, number: f64) -> Result<Limit, E> {
                Ok(number.into())
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Limit, E> {
                Ok((number as f64).into())
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Limit, E> {
                Ok((number as f64).into())
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Limit, E> {
                text.parse().map_err(|problem| E::custom(format!("{text:?} is {problem}")))
            }
        }
        deserializer.deserialize_any(Limits)
    }
}

/// Whether the values of a measure are parts of a whole, and so between 0 and 1. Computed costs can differ from reported ones by more than
/// the whole.
fn is_part(measure: &str) -> bool {
    is_share(measure) && measure != "difference_rate"
}

/// A bound of a measure.
#[derive(Debug)]
pub struct MeasureBound {
    /// The measure, as it was written.
    name: String,
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
    #[error("{0} is not an amount: it cannot be compared with a bound")]
    NoAmount(String),
    /// A share cannot be above 1 or below 0.
    #[error("{measure} is between 0 and 1: write {} or {percentage}%", .percentage / 100.0)]
    NoShare {
        /// The measure.
        measure: String,
        /// The number that is probably meant, in percent.
        percentage: f64,
    },
    /// It is not a share of something.
    #[error("{0} is not a share: write a number without %")]
    NoPercentage(String),
}

/// Measures that an own report computes: earlier ones count only the sessions with responses or calls, and the calls of responses.
const OF_OWN_REPORT: &[(&str, &str)] = &[("sessions", "sessions"), (sessions::TOOL_CALLS, "sessions")];

impl MeasureBound {
    /// A bound of `MEASURE`, as the first report that has it computes it, or of `REPORT.MEASURE`. `sessions` and
    /// `tool_calls` are those of `report sessions`.
    ///
    /// # Errors
    /// When there is no such measure, it is not an amount, or the bound is not possible for it.
    pub fn new(name: &str, side: Side, limit: Limit) -> Result<Self, WrongMeasure> {
        let own = OF_OWN_REPORT.iter().find(|(measure, _)| *measure == name).map(|(_, report)| *report);
        let (report, measure) = name.split_once('.').map_or((own, name), |(report, measure)| (Some(report), measure));
        let candidates = REPORTS.iter().filter(|candidate| report.is_none_or(|report| candidate.is_named(report)));
        let measures = candidates.flat_map(|report| report.bounded().iter().map(move |found| (report, found)));
        let named: Vec<_> = measures.filter(|(_, found)| found.name == measure && found.is_always_computed()).collect();
        if let Some((report, found)) = named.iter().find(|(_, found)| found.is_amount) {
            let limit = limit.of(found.name)?;
            return Ok(Self { name: name.to_owned(), report, measure: found.name, side, limit });
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

    /// The measure, as it was written.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The column of the report.
    pub const fn measure(&self) -> &'static str {
        self.measure
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
        let bound = |text: &str| MeasureBound::new(text, Side::Max, 1.0.into());
        let name = |text: &str| bound(text).map(|bound| (bound.name().to_owned(), bound.report.name));
        for (text, report) in [
            ("cost_usd", "cost"),
            ("cost.cost_usd", "cost"),
            ("sessions.cost_usd", "sessions"),
            ("sessions", "sessions"),
            ("cost.sessions", "cost"),
            ("limits.used_percent", "limits"),
        ] {
            assert_eq!(name(text).unwrap(), (text.to_owned(), report));
        }
        let error = name("costs").unwrap_err().to_string();
        assert!(error.contains("\"costs\"") && error.contains("did you mean"), "{error}");
        let error = name("nothing").unwrap_err().to_string();
        assert!(error.contains("cost_usd, "), "{error}");
        assert!(name("tools.cost_usd").is_err());
    }

    #[test]
    fn texts_and_days_have_no_bounds() {
        for name in ["worst_path", "waste.basis", "example_session", "first_day", "is_on_front", "example_line"] {
            let error = MeasureBound::new(name, Side::Max, 1.0.into()).unwrap_err().to_string();
            assert_eq!(error, format!("{name} is not an amount: it cannot be compared with a bound"));
        }
        let error = MeasureBound::new("nothing", Side::Max, 1.0.into()).unwrap_err().to_string();
        assert!(!error.contains("_path") && !error.contains("_day") && error.contains("worst_usd"), "{error}");
    }
    #[test]
    fn shares_are_fractions_or_percentages() {
        let limit = |name: &str, text: &str| {
            let bound = MeasureBound::new(name, Side::Max, text.parse().unwrap());
            bound.map(|bound| bound.limit).map_err(|error| error.to_string())
        };
        for text in ["0.1", "10%", "10 %"] {
            assert_eq!(limit("tools.error_rate", text), Ok(0.1), "{text}");
        }
        assert_eq!(limit("limits.used_percent", "80%"), Ok(80.0));
        assert_eq!(limit("difference_rate", "-2.5"), Ok(-2.5));
        let refused = |name: &str, text: &str| limit(name, text).unwrap_err();
        assert_eq!(refused("error_rate", "10"), "error_rate is between 0 and 1: write 0.1 or 10%");
        assert_eq!(refused("pass_rate", "60"), "pass_rate is between 0 and 1: write 0.6 or 60%");
        for text in ["-0.1", "101%", "1e18"] {
            assert_eq!(refused("waste_share", text), "waste_share is between 0 and 1: write 0.1 or 10%", "{text}");
        }
        assert_eq!(refused("cost_usd", "10%"), "cost_usd is not a share: write a number without %");
        for text in ["", "%", "many", "inf", "nan%"] {
            assert!(text.parse::<Limit>().is_err(), "{text}");
        }
    }
}
