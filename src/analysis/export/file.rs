//! Writes files that users name, each atomically.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use polars::prelude::*;

use crate::analysis::rows::Frames;
use crate::store::frames::{sessions, tool_calls};

/// The columns with text of conversations: see docs/security.md#text-that-is-stored.
pub const TEXTS: [(&str, [&str; 2]); 2] = [
    (sessions::TABLE, [sessions::PROMPT, sessions::TEXT]),
    (tool_calls::TABLE, [tool_calls::ARGS, tool_calls::RESULT]),
];

/// Who may read a new file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// As the umask of the process allows.
    Umask,
    /// Only its owner.
    Owner,
}

impl Access {
    /// Only the owner, if a table contains text of conversations.
    ///
    /// # Errors
    /// When a table cannot be read.
    pub fn of(tables: &Frames) -> PolarsResult<Self> {
        for (table, columns) in TEXTS {
            let Some((_, frame)) = tables.iter().find(|(name, _)| *name == table) else { continue };
            let has_text = columns.map(|column| col(column).is_not_null()).into_iter().reduce(Expr::or);
            let row = frame.clone().filter(has_text.unwrap_or_else(|| lit(false))).select(columns.map(col)).limit(1);
            if row.collect()?.height() > 0 {
                return Ok(Self::Owner);
            }
        }
        Ok(Self::Umask)
    }
}

/// Writes a temporary file, and renames it once it is complete. Pipes and devices are written directly. Symbolic links to
/// files are not followed.
///
/// # Errors
/// When the file cannot be written, or is a symbolic link to a file.
pub fn write_file(path: &Path, access: Access, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let is_special = fs::metadata(path).is_ok_and(|it| !it.is_file() && !it.is_dir());
    if is_special {
        return write_all(File::options().write(true).open(path)?, write).map(drop);
    }
    if path.is_symlink() {
        return Err(io::Error::other("is a symbolic link, which agentlogs does not follow; name its target"));
    }
    if path.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // These errors are clearer than those of `tempfile`.
    if !fs::metadata(directory)?.is_dir() {
        return Err(io::Error::other(format!("{} is a file, not a directory", directory.display())));
    }
    let mut builder = tempfile::Builder::new();
    builder.prefix(".agentlogs-");
    #[cfg(unix)]
    if access == Access::Umask {
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    }
    #[cfg(not(unix))]
    let _ = access;
    // The error of `tempfile` names the temporary file.
    let temporary = builder.tempfile_in(directory).map_err(|error| io::Error::from(error.kind()))?;
    let (file, temporary) = temporary.into_parts();
    write_all(file, write)?;
    temporary.persist(path).map_err(|error| error.error)
}

fn write_all(file: File, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut out = BufWriter::new(ErrorKeeping { file, error: None });
    let written = write(&mut out).and_then(|()| out.flush());
    // `into_parts` discards the buffer: after an error it is not written again.
    let (ErrorKeeping { error, .. }, _) = out.into_parts();
    error.map_or(written, Err)
}

/// A file that keeps its first error: encoders wrap such an error, or keep only its text.
struct ErrorKeeping {
    file: File,
    error: Option<io::Error>,
}

impl Write for ErrorKeeping {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes).inspect_err(|error| {
            if error.kind() != io::ErrorKind::Interrupted {
                let same = error.raw_os_error().map_or_else(|| error.kind().into(), io::Error::from_raw_os_error);
                self.error.get_or_insert(same);
            }
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_written_whole_or_not_at_all() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a");
        write_file(&path, Access::Umask, |out| out.write_all(b"whole")).unwrap();
        let failed = write_file(&path, Access::Umask, |out| {
            out.write_all(b"half")?;
            Err(io::Error::other("no more"))
        });
        assert_eq!(
            (failed.unwrap_err().to_string(), fs::read(&path).unwrap()),
            ("no more".to_owned(), b"whole".to_vec())
        );
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
        assert!(write_file(directory.path(), Access::Umask, |_| Ok(())).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_not_followed_and_text_is_for_its_owner() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let directory = tempfile::tempdir().unwrap();
        let (target, link) = (directory.path().join("target"), directory.path().join("link"));
        fs::write(&target, "mine").unwrap();
        for to in [&*target, Path::new("/missing/target")] {
            symlink(to, &link).unwrap();
            let error = write_file(&link, Access::Umask, |out| out.write_all(b"theirs")).unwrap_err();
            assert!(error.to_string().contains("symbolic link"), "{error}");
            fs::remove_file(&link).unwrap();
        }
        assert_eq!(fs::read(&target).unwrap(), b"mine");
        symlink("/dev/null", &link).unwrap();
        write_file(&link, Access::Owner, |out| out.write_all(b"theirs")).unwrap();
        write_file(&target, Access::Owner, |out| out.write_all(b"text")).unwrap();
        assert_eq!(fs::metadata(&target).unwrap().permissions().mode() & 0o777, 0o600);
        write_file(&target, Access::Umask, |out| out.write_all(b"numbers")).unwrap();
        assert_ne!(fs::metadata(&target).unwrap().permissions().mode() & 0o077, 0);
    }

    /// A full disk is reported as such, even if an encoder hides the cause.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_reported() {
        let failed = write_file(Path::new("/dev/full"), Access::Umask, |out| {
            out.write_all(&vec![0; 1 << 20]).map_err(|_| io::Error::other("Invalid thrift"))
        });
        assert_eq!(failed.unwrap_err().kind(), io::ErrorKind::StorageFull);
    }
}
