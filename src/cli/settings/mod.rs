//! The user's settings: configuration files, environment variables, and what applies without them (docs/configuration.md).
//!
//! ```text
//! file      the content of agentlogs.toml
//! formats   formats that the user describes there
//! origin    where a value comes from
//! projects  names of projects
//! resolved  the values that apply, and the archive that a command uses
//! ```

mod file;
mod formats;
mod origin;
mod projects;
mod resolved;

pub use file::Budget;
pub use origin::{Chosen, Origin};
pub use resolved::{LOCAL_ARCHIVE, Settings, archive_at};
