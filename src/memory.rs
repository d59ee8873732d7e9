//! Memory that is free, given back to the system.

#![expect(unsafe_code, reason = "it is a function of the C library")]

/// What was freed by threads that went on to other work stays with them: after a stretch of work of another kind it is
/// given back. Does nothing where the C library has no such function.
pub fn give_back() {
    // SAFETY: It moves nothing that is in use.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    unsafe {
        libc::malloc_trim(0);
    }
}
