//! Types without knowledge of logs.

pub mod byte_order_mark;
pub mod compact_option;
pub(crate) mod hash;
pub mod line_sketch;
pub mod log_prefix;
pub mod rows;
pub mod split;
pub mod text;
pub mod time;
#[cfg(feature = "archive")]
pub mod width;
pub mod zone;
