//! What a key needs from tables.

use super::report::Question;
use crate::analysis::show::SessionKey;

/// What has to be read.
#[derive(Debug, Clone)]
pub(super) enum Load {
    Sessions,
    /// Why sessions failed, to choose one class.
    Failures,
    /// A session. It replaces the pane at the top, or is a new one.
    Timeline {
        key: SessionKey,
        replaces: bool,
    },
    /// The tree of a session, from its root on.
    Tree(SessionKey),
    /// A report. It replaces the pane at the top, or is a new one.
    Report {
        question: Question,
        replaces: bool,
    },
}
