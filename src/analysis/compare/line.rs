//! A line of the comparison of two cohorts.

/// The smallest p-value that is still taken for chance.
pub const SIGNIFICANCE: f64 = 0.05;

/// One line of the comparison.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Compared {
    /// The name of the measure.
    pub measure: &'static str,
    /// The number of the first cohort; `None` if it is unknown for all of its sessions.
    pub a: Option<f64>,
    /// The number of the second cohort.
    pub b: Option<f64>,
    /// The sessions of the first cohort for which the number is known.
    pub a_sessions: usize,
    /// The sessions of the second cohort for which the number is known.
    pub b_sessions: usize,
    /// The 95 % confidence interval of `b - a`.
    pub interval: Option<(f64, f64)>,
    /// The second cohort compared to the first: `higher`, `lower`, `inconclusive` or `too few`. `None` for the number of
    /// sessions, and where the means over pairs decide.
    pub result: Option<&'static str>,
    /// The test that decided: `mcnemar`, `bootstrap` or `paired_bootstrap`. The last two state whether the interval contains 0.
    pub test: Option<&'static str>,
    /// The number of tasks over which both are means; `None` if the cohorts are not paired by task.
    pub pairs: Option<usize>,
    /// The p-value of that test.
    pub p_value: Option<f64>,
    /// The same after Holm's correction for all lines with a test.
    pub p_adjusted: Option<f64>,
    /// The least difference that these sessions, trials or pairs find with a power of 80 %.
    pub detectable: Option<f64>,
    /// How many in each cohort find the observed difference with this power.
    pub needed: Option<u64>,
}

impl Compared {
    pub(super) fn named(measure: &'static str) -> Self {
        Self { measure, ..Self::default() }
    }

    /// `b - a`.
    pub fn difference(&self) -> Option<f64> {
        Some(self.b? - self.a?)
    }

    /// Whether McNemar's test decided, whose interval is that of another test.
    pub fn is_of_mcnemar(&self) -> bool {
        self.test == Some(MCNEMAR)
    }
}

/// The test of whether tasks pass.
pub(super) const MCNEMAR: &str = "mcnemar";
