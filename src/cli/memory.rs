//! The memory allocator of the program, mimalloc, and the two of its options that differ from their defaults.
//!
//! glibc's allocator requests each page of a thread's memory from the system separately, which costs 8 to 14 % of the wall time
//! of `ingest`. Huge pages (off by the feature `no_thp`) and mimalloc's default purge delay would save another 1 to 2 %, and take
//! 50 % more memory.

#![expect(unsafe_code, reason = "mimalloc's options are C functions")]

use std::ffi::c_long;

use libmimalloc_sys::{mi_option_set, mi_option_set_default, mi_option_t};
pub use mimalloc::MiMalloc;

/// The option `purge_delay`: how long mimalloc keeps free memory, in milliseconds. libmimalloc-sys has no constant for it; the
/// number is the same in all versions of mimalloc.
const PURGE_DELAY: mi_option_t = 15;

/// mimalloc's default of [`PURGE_DELAY`].
const SECOND: c_long = 1000;

/// Returns free memory to the system after 100 ms instead of a second. The environment variable `MIMALLOC_PURGE_DELAY` has
/// precedence. To be called first.
pub fn set_up() {
    const MILLISECONDS: c_long = 100;
    // SAFETY: The function stores a number.
    unsafe { mi_option_set_default(PURGE_DELAY, MILLISECONDS) };
}

/// Keeps free memory for a second, for commands that read an archive: the next batch of rows needs as much memory as the last one.
/// This saves 9 % of the CPU time of `report waste` and of `report behavior` for ten million responses, which take 15 % more memory.
pub fn keep_longer() {
    // SAFETY: The function stores a number.
    unsafe { mi_option_set_default(PURGE_DELAY, SECOND) };
}

/// Stops returning free memory in many small system calls: the process ends, which returns all of it at once. This saves 4 to 5 %
/// of the wall time of a short `ingest`. To be called last.
pub fn shut_down() {
    const NEVER: c_long = -1;
    // SAFETY: The function stores a number.
    unsafe { mi_option_set(PURGE_DELAY, NEVER) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_memory_is_returned_soon_or_kept_longer() {
        if std::env::var_os("MIMALLOC_PURGE_DELAY").is_none() {
            // SAFETY: The function returns a number.
            let delay = || unsafe { libmimalloc_sys::mi_option_get(PURGE_DELAY) };
            // mimalloc's default of this option, and of no other.
            assert_eq!(delay(), SECOND);
            set_up();
            assert_eq!(delay(), 100);
            keep_longer();
            assert_eq!(delay(), SECOND);
        }
    }
}
