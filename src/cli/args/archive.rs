//! The arguments of `archive`.

use std::path::{Path, PathBuf};

use clap::Subcommand;

use super::ingest::Reading;
use super::shared::ArchiveDirectory;

#[derive(Debug, Subcommand)]
pub enum ArchiveCommand {
    /// Verify the checksums of all files, and the sums of the tables; also of a lake
    Check {
        /// Also list the sessions and versions whose rows break a rule, as when a new version of a runtime writes in a new way
        #[arg(long)]
        content: bool,
        #[command(flatten)]
        archive: ArchiveDirectory,
    },
    /// Recover a damaged archive: keep intact data, and read the other logs again
    ///
    /// Options of ingest, such as --content, apply to the logs that are read again. Damaged sources whose logs no longer exist
    /// are listed.
    Repair {
        #[command(flatten)]
        reading: Reading,
        #[command(flatten)]
        archive: ArchiveDirectory,
    },
    /// Reconcile all data again, and write it to as few files as possible
    Compact {
        #[command(flatten)]
        archive: ArchiveDirectory,
    },
    /// Merge other archives and lakes into this archive; sessions that are in several of them are counted once
    ///
    /// A lake of another machine is as `agentlogs export --as lake` writes it, with its facts.
    Merge {
        /// The directories of the other archives and lakes
        #[arg(required = true, value_name = "DIR")]
        others: Vec<PathBuf>,
        #[command(flatten)]
        archive: ArchiveDirectory,
    },
    /// Delete the data of files or repositories, or of sessions and commits before a day
    ///
    /// A file that still exists is read again by the next ingest that finds it: delete or move it, too. What `--before` deletes stays
    /// deleted until its log changes, or a newer version of agentlogs reads it.
    Forget {
        /// Paths of files, as in the table `sources`, or names of repositories, as in `commits`; * matches any text
        #[arg(required_unless_present = "before", value_name = "SOURCE")]
        sources: Vec<String>,
        /// Sessions whose last known time is before this day in UTC, such as 2026-01-01; 7d keeps seven days with today, 2026-01 begins
        /// with its first day
        #[arg(long, value_name = "DAY", conflicts_with = "sources", value_parser = super::shared::day)]
        before: Option<jiff::civil::Date>,
        #[command(flatten)]
        archive: ArchiveDirectory,
    },
}

impl ArchiveCommand {
    /// The archive that the command line names.
    pub fn archive(&self) -> Option<&Path> {
        let (Self::Check { archive, .. }
        | Self::Repair { archive, .. }
        | Self::Compact { archive }
        | Self::Merge { archive, .. }
        | Self::Forget { archive, .. }) = self;
        archive.archive.as_deref()
    }
}
