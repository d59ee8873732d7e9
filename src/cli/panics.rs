//! Panics of polars, which are errors of the table that it reads: a damaged one, or one of another program.

use std::panic::{self, AssertUnwindSafe};
use std::sync::{Mutex, PoisonError};

use super::screen;

/// The message of the first panic of polars. Other panics print their own.
static OF_POLARS: Mutex<Option<String>> = Mutex::new(None);

/// The message after a panic that is a defect of this program.
const DEFECT: &str = "internal error, see above; please report it";

/// Runs the program. A panic becomes an error.
///
/// # Errors
/// Those of `run`, and panics.
pub fn contained<T>(run: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
    note_those_of_polars();
    panic::catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| {
        let of_polars = OF_POLARS.lock().unwrap_or_else(PoisonError::into_inner).take();
        Err(of_polars.map_or_else(|| anyhow::anyhow!(DEFECT), |message| anyhow::anyhow!(of_table(&message))))
    })
}

/// Runs a part of the program. A panic of polars becomes an error, other panics go on.
///
/// # Errors
/// When polars panics.
pub fn caught<T>(run: impl FnOnce() -> T) -> anyhow::Result<T> {
    panic::catch_unwind(AssertUnwindSafe(run)).or_else(|panic| {
        let of_polars = OF_POLARS.lock().unwrap_or_else(PoisonError::into_inner).take();
        of_polars.map_or_else(|| panic::resume_unwind(panic), |message| Err(anyhow::anyhow!(of_table(&message))))
    })
}

/// `agentlogs archive check` reads all tables.
fn of_table(message: &str) -> String {
    format!(
        "a table cannot be read, because it is damaged or of a kind that agentlogs does not write ({message}); `agentlogs archive \
         check` names the damaged files of an archive, with `--archive LAKE` those of a lake"
    )
}

fn note_those_of_polars() {
    let print = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        if !panic.location().is_some_and(|place| is_of_polars(place.file())) {
            OF_POLARS.lock().unwrap_or_else(PoisonError::into_inner).take();
            // The message would vanish with the alternate screen.
            screen::restore();
            print(panic);
            return;
        }
        let message = panic.payload_as_str().unwrap_or("no message").to_owned();
        OF_POLARS.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(message);
    }));
}

/// Whether a source file is one of polars: `…/polars-parquet-0.55.2/src/…`.
fn is_of_polars(file: &str) -> bool {
    file.split(['/', '\\']).any(|part| part.starts_with("polars-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_polars_are_known_by_their_package() {
        assert!(is_of_polars("/registry/polars-parquet-0.55.2/src/arrow/read/schema/convert.rs"));
        assert!(is_of_polars(r"C:\registry\polars-core-0.55.2\src\lib.rs"));
        assert!(!is_of_polars("src/store/lake/reader.rs"));
    }
}
