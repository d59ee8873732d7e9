//! The columns that identify a session.

use polars::prelude::*;

use crate::store::frames::sessions;

/// The columns that identify a session.
pub(in crate::analysis) const KEY: [&str; 2] = [sessions::RUNTIME, sessions::SESSION_ID];

/// Their values: the runtime and the id of a session.
pub(in crate::analysis) type Key = (String, String);

/// The column of one value that identifies the session of a row, where a measure counts sessions.
pub(in crate::analysis) const SESSION_KEY: &str = "session_key";

/// The signs in place of the part of an id that a terminal has no space for: `…`, in ASCII `...` in tables and `~` in the overview.
const SIGNS: [&str; 3] = ["…", "...", "~"];

/// The beginning of an id that may be cut at its end, as in `01a1f9…`.
pub(in crate::analysis) fn beginning_of_id(text: &str) -> &str {
    let cut = SIGNS.iter().find_map(|sign| text.strip_suffix(sign));
    cut.filter(|beginning| !beginning.is_empty()).unwrap_or(text)
}

/// The beginning and the end of a shortened id: `swebench…10920`.
pub(in crate::analysis) fn both_ends_of_id(text: &str) -> Option<(&str, &str)> {
    let ends = SIGNS.iter().find_map(|sign| text.split_once(*sign));
    ends.filter(|(first, last)| !first.is_empty() && !last.is_empty())
}

/// The number of distinct sessions whose rows fulfil a condition.
pub(in crate::analysis) fn distinct_sessions(condition: Expr) -> Expr {
    col(SESSION_KEY).filter(condition).n_unique().cast(DataType::Int64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sign_alone_is_no_beginning() {
        for (text, expected) in [("01a1f9…", "01a1f9"), ("01a1...", "01a1"), ("01~", "01"), ("~", "~"), ("…", "…")]
        {
            assert_eq!(beginning_of_id(text), expected);
        }
    }
}
