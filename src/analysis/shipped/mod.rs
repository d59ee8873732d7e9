//! What sessions shipped: which commits and pull requests their cost went into, and what became of those. docs/shipped.md defines the
//! rules, the shares and the columns of `report shipped`.
//!
//! ```text
//! read         tables -> the commits of repositories, and the work of sessions
//! history      the commits of repositories, found by their hashes, files and sessions
//! session      the work of a session: its commits as printed, its changes
//! rule         the rules in their order
//! rules        each rule: the commits that a session made or worked on
//! landed       the commit by which work reached the default branch: itself, or after a rebase or a squash
//! outcome      what became of a commit
//! attribute    the rules -> the shares of a session
//! one_session  a line about one session, and the outcome of each
//! frame        the shares of sessions as rows
//! measures     the columns of the report
//! ```

mod attribute;
mod frame;
mod history;
mod landed;
mod measures;
mod one_session;
mod outcome;
mod read;
mod rule;
mod rules;
mod session;
#[cfg(test)]
mod tests;

pub use frame::has_history;
pub(super) use frame::{
    AUTHOR, BRANCH, COMMIT, IS_MERGED, OUTCOME, PULL_REQUEST, PULL_REQUEST_KEY, RULE, SHARED_COST_USD, Shipped,
    rows_of_shares, view,
};
pub(super) use measures::MEASURES;
pub(super) use one_session::{of_session, outcomes};
pub(super) use read::TABLES;
