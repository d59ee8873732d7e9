//! From paths to bytes: the only reader of logs.
//!
//! ```text
//! discover    paths -> files, each once
//! open        file -> bytes: read, mapped or decompressed
//!   content     the bytes of a file, or of a part of one
//!   buffer      memory to read small files into
//!   mapped      large files mapped into memory; unsafe
//!   decompress  gzip and zstd, up to a limit
//!   utf16       text in UTF-16
//! prefixes    lines with a time or a level before them -> lines without it
//! containers  tar or zip archive -> the content of each member
//! database    SQLite file -> lines
//! labels      labels in the path of a log
//! machine     where runtimes keep their logs on this machine
//! git_roots   the repository around a working directory
//! sidecar     the files that describe the logs beside them
//! ```

mod buffer;
pub mod containers;
mod content;
pub mod database;
mod decompress;
pub mod discover;
pub mod git_roots;
pub mod labels;
pub mod machine;
mod mapped;
pub mod open;
pub mod prefixes;
pub mod sidecar;
mod utf16;
