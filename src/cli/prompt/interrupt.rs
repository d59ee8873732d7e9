//! Ctrl-C while a query of the prompt runs: the query ends, and the prompt is shown again. A second Ctrl-C, before the query has
//! ended, ends the program, as a part of a query may take long between two checks.

#[cfg(unix)]
mod unix {
    use std::panic::AssertUnwindSafe;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use polars::error::abort::{catch_polars_abort, register_polars_abort_mechanism};
    use signal_hook::consts::SIGINT;
    use signal_hook::flag;

    /// Follows Ctrl-C.
    pub struct Interrupts {
        /// Whether the next Ctrl-C has its usual effect.
        ends_program: Arc<AtomicBool>,
    }

    /// The time in which Ctrl-C ends what runs. A panic ends it, too.
    struct Running<'a>(&'a AtomicBool);

    impl<'a> Running<'a> {
        fn begin(ends_program: &'a AtomicBool) -> Self {
            ends_program.store(false, Ordering::SeqCst);
            Self(ends_program)
        }

        fn is_stopped(&self) -> bool {
            self.0.load(Ordering::SeqCst)
        }
    }

    impl Drop for Running<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }

    impl Interrupts {
        /// Outside of [`Self::run`], Ctrl-C keeps its usual effect.
        pub fn new() -> Self {
            let ends_program = Arc::new(AtomicBool::new(true));
            // In this order: the first Ctrl-C of a query is not its second one.
            let _ = flag::register_conditional_default(SIGINT, Arc::clone(&ends_program));
            let _ = flag::register(SIGINT, Arc::clone(&ends_program));
            register_polars_abort_mechanism();
            Self { ends_program }
        }

        /// Runs a part of the program, which Ctrl-C ends with an error.
        ///
        /// # Errors
        /// Those of `run`, and when it is stopped.
        pub fn run<T>(&self, run: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
            let running = Running::begin(&self.ends_program);
            match catch_polars_abort(AssertUnwindSafe(run)) {
                // What a query has answered is not taken back.
                Ok(Ok(answer)) => Ok(answer),
                Ok(Err(error)) if !running.is_stopped() => Err(error),
                _ => Err(anyhow::anyhow!("stopped")),
            }
        }
    }
}

#[cfg(unix)]
pub use unix::Interrupts;

/// Ctrl-C ends the program.
#[cfg(not(unix))]
pub struct Interrupts;

#[cfg(not(unix))]
impl Interrupts {
    pub const fn new() -> Self {
        Self
    }

    /// Runs a part of the program.
    ///
    /// # Errors
    /// Those of `run`.
    pub fn run<T>(&self, run: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
        run()
    }
}
