//! Types without knowledge of logs.

pub(crate) mod hash;
pub mod known;
pub mod rows;
pub mod text;
pub mod time;
