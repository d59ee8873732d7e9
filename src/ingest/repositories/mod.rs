//! Reads the history of git repositories, without the program `git`, without a network connection, and without running anything that
//! a repository names.
//!
//! ```text
//! check       what would prevent that a repository is opened
//! error       why a repository was not scanned
//! open        a repository around a directory, and its name
//! objects     objects by their hash, with bounds
//! references  branches, tags, the default branch, and commits that references pointed to
//! walk        the commits that are not yet known
//! commit      the header of a commit
//! message     what its message states
//! changes     the files that differ between two trees
//! moves       files that were moved
//! lines       the lines of a file that differ
//! patch       the hash of all changes
//! files       the changed files of a commit: all of the above
//! notes       sessions in notes
//! surviving   the added lines that the default branch still has
//! problems    what could not be read
//! scan        the steps in their order
//! ```

mod changes;
mod check;
mod commit;
mod error;
mod files;
mod lines;
mod message;
mod moves;
mod notes;
mod objects;
mod open;
mod patch;
mod problems;
mod references;
mod scan;
mod surviving;
mod walk;

pub use error::Error;
pub use open::root_of;
pub use scan::{Options, Repository, Scanned};
