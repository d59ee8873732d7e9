//! The limits of a subscription.

use super::builder::Builder;
use crate::model::session::Limit;

impl Builder {
    /// Adds the state of a window, if it differs from the one before it.
    pub fn limit(&mut self, limit: Limit) {
        let limit = with_possible_share(limit);
        let limits = &mut self.session.limits;
        let last = self.windows.get(&limit.window()).copied();
        if limit.is_known() && last.is_none_or(|last| limit.differs_from(&limits[last])) {
            self.windows.insert(limit.window(), limits.len());
            limits.push(limit);
        }
    }

    /// Adds the state of a window, whether it differs or not: the states before it may belong to another session.
    pub fn limit_after_history(&mut self, limit: Limit) {
        let limit = with_possible_share(limit);
        if limit.is_known() {
            self.session.limits.push(limit);
        }
    }
}

/// A window of which less than nothing is used has an unknown share.
fn with_possible_share(limit: Limit) -> Limit {
    Limit { used_percent: limit.used_percent.filter(|used| used.is_finite() && *used >= 0.0), ..limit }
}

#[cfg(test)]
mod tests {
    use crate::adapters::shared::builder::tests::builder;
    use crate::model::session::Limit;

    #[test]
    fn only_changes_are_kept() {
        let limit = |line, window: &str, used| Limit {
            line,
            window_name: window.into(),
            used_percent: used,
            ..Limit::default()
        };
        let mut builder = builder();
        for (line, window, used) in [
            (1, "primary", Some(1.0)),
            (1, "secondary", Some(1.0)),
            (2, "primary", Some(1.0)),
            (2, "secondary", Some(2.0)),
            (3, "primary", None),
            (3, "primary", Some(-5.0)),
            (3, "primary", Some(f64::INFINITY)),
            (4, "primary", Some(1.0)),
        ] {
            builder.limit(limit(line, window, used));
        }
        let lines: Vec<_> = builder.session.limits.iter().map(|limit| limit.line).collect();
        assert_eq!(lines, [1, 1, 2]);
    }
}
