//! The rows of `commits` and `commit_files`, from the scanned histories of repositories.
//!
//! ```text
//! rows       the rows of a repository
//! arrivals   when the default branch got a commit, and by which pull request and branch
//! reverts    which commit another one undoes
//! gone       lines that the default branch lost after it got them
//! ```

mod arrivals;
mod gone;
mod reverts;
mod rows;

pub use gone::FOLLOWED_DAYS;
pub use rows::add_rows;
