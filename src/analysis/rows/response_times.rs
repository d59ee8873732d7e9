//! When responses ended, and when their requests were sent. Times are microseconds since 1970.

use crate::base::time::Time;

/// The end of a response: `occurred_at` is it only if the log has no other time.
pub(in crate::analysis) fn end_of(occurred_at: Option<Time>, ended_at: Option<Time>) -> Option<i64> {
    ended_at.or(occurred_at).map(Time::micros)
}

/// When the request of a response was sent, `took_ms` before its end.
pub(in crate::analysis) fn start_of(end: Option<i64>, took_ms: Option<i64>) -> Option<i64> {
    end?.checked_sub(took_ms?.checked_mul(1000)?)
}

/// The time from `before` until the request of a response was sent: the time that the response took is not a pause. A response of unknown
/// length took no time. Negative if the request was sent earlier.
pub(in crate::analysis) fn pause_before(end: Option<i64>, took_ms: Option<i64>, before: Option<i64>) -> Option<i64> {
    start_of(end, took_ms.or(Some(0)))?.checked_sub(before?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_sent_before_its_response() {
        let at = |second: i64| Some(Time::from_micros(second * 1_000_000));
        assert_eq!(end_of(at(10), at(40)), Some(40_000_000));
        assert_eq!((end_of(at(10), None), end_of(None, None)), (Some(10_000_000), None));
        assert_eq!(start_of(end_of(at(10), at(40)), Some(40_000)), Some(0));
        assert_eq!((start_of(Some(5), None), start_of(None, Some(5))), (None, None));
        assert_eq!(pause_before(Some(400_000_000), Some(350_000), Some(10_000_000)), Some(40_000_000));
        assert_eq!(pause_before(Some(400_000_000), None, Some(10_000_000)), Some(390_000_000));
        assert_eq!(pause_before(Some(1), Some(1), None), None);
    }
}
