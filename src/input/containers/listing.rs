//! The list of an archive's members.

use crate::base::time::Time;

/// A file inside an archive.
#[derive(Debug)]
pub struct Member {
    /// Its name, without `.` and leading `/`. `..` is a part of a name like any other.
    pub name: String,
    /// When it was last written.
    pub modified_at: Option<Time>,
    /// Its size in the archive, as its header states it.
    pub bytes: u64,
    pub(super) place: Place,
}

/// Where the content of a member is.
#[derive(Debug)]
pub(super) enum Place {
    /// A range of a tar archive.
    Range { start: u64, length: u64 },
    /// An entry of the directory of a zip archive, by its number.
    Entry(usize),
    /// The offset of a header, in a zip archive without its directory.
    Header(u64),
    /// It cannot be read, for this reason.
    Unreadable(String),
}

/// The members of an archive that were found.
#[derive(Debug, Default)]
pub(super) struct Listing {
    pub members: Vec<Member>,
    /// Why members may be missing: the archive is cut or damaged.
    pub damage: Option<String>,
}

impl Listing {
    /// Adds a member that was written so many seconds after 1970. Directories are skipped.
    pub fn add(&mut self, name: &str, seconds: Option<u64>, bytes: u64, place: Place) {
        let parts: Vec<&str> = name.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
        // Old programs store a directory as an empty file whose name ends like this.
        if name.ends_with('/') || parts.is_empty() {
            return;
        }
        let micros = seconds.and_then(|seconds| i64::try_from(seconds).ok()?.checked_mul(1_000_000));
        self.members.push(Member { name: parts.join("/"), modified_at: micros.map(Time::from_micros), bytes, place });
    }

    /// Sorts the members by name. Of several members of one name the last is kept, as when they are extracted.
    pub fn sort(&mut self) {
        self.members.sort_by(|a, b| a.name.cmp(&b.name));
        // The sort is stable, and `dedup_by` keeps the first of equal members: so the last one is moved there.
        self.members.dedup_by(|later, earlier| {
            let is_same = later.name == earlier.name;
            if is_same {
                std::mem::swap(later, earlier);
            }
            is_same
        });
    }

    /// Notes damage. The first note is kept.
    pub fn note(&mut self, message: &str) {
        self.damage.get_or_insert_with(|| message.to_owned());
    }
}

/// The error of an archive with more members than the limit.
pub(super) fn too_many(limit: usize) -> String {
    format!("more than {limit} members")
}
