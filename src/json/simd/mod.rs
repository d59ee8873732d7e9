//! Blocks of 64 bytes, compared with the vector instructions that the processor has.

#[cfg(target_arch = "x86_64")]
pub(super) mod avx2;
pub(super) mod block;
mod level;
pub(super) mod portable;

pub(super) use level::Kind;
pub use level::Level;
