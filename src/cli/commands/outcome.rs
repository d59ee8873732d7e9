//! How a command ends.

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Everything is done.
    Done,
    /// Some of it failed, such as a path that cannot be read.
    NotAllDone,
    /// With `--strict`: lines were rejected, or files could not be read.
    Lost,
    /// With `check`: a bound is exceeded.
    Exceeded,
    /// With `check`: a filter matches no session.
    NothingMatched,
}

/// An error in the command line.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct WrongCommandLine(pub String);
