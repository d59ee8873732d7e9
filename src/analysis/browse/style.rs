//! How everything is shown.

use jiff::Zoned;

use crate::analysis::present::Currency;
use crate::analysis::show::TextStyle;

/// How everything is shown.
#[derive(Debug, Clone)]
pub struct Look {
    /// The currency of costs.
    pub currency: Currency,
    /// The current time, in the time zone of times.
    pub now: Zoned,
    /// Whether there are colours.
    pub color: bool,
    /// Whether bars consist of ASCII only.
    pub is_ascii: bool,
}

impl Look {
    /// The style of timelines.
    pub(super) fn style(&self, width: usize, is_whole: bool) -> TextStyle {
        let (currency, zone) = (self.currency, self.now.time_zone().clone());
        TextStyle { width, color: false, currency, zone, is_whole, is_exact: false, limit: None }
    }
}
