//! Tar and zip archives: a list of their members, and the content of each member.
//!
//! A member is read like a file of its own. Nothing is extracted: the name of a member is only a label, the content of a tar
//! member is a range of the archive, and that of a zip member is decompressed like any compressed file. Links, devices and
//! directories have no content and are skipped.

mod container;
mod listing;
mod tar_members;
#[cfg(test)]
mod tests;
mod zip_members;

pub use container::{Container, MAX_DEPTH, MAX_MEMBERS, Unreadable, is_container};
pub use listing::Member;
