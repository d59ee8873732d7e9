//! Objects of a repository by their hash. Their sizes are known before they are read: a damaged or hostile repository can name any.

use gix::objs::Kind;
use gix::{ObjectId, Repository};

/// The largest commit, tag or note that is read, in bytes.
pub(super) const MAX_TEXT: u64 = 1 << 20;
/// The largest tree that is read, in bytes: some million entries.
pub(super) const MAX_TREE: u64 = 1 << 26;
/// The largest file whose lines are compared, in bytes.
pub(super) const MAX_FILE: u64 = 1 << 23;

/// Why an object was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unread {
    /// It is not in the repository: a partial clone, or damage.
    Missing(ObjectId),
    /// It cannot be decoded.
    Damaged(ObjectId),
    /// It is larger than the bound.
    TooLarge,
}

impl Unread {
    /// The object, if a later scan may find it.
    pub const fn object(self) -> Option<ObjectId> {
        match self {
            Self::Missing(id) | Self::Damaged(id) => Some(id),
            Self::TooLarge => None,
        }
    }
}

/// Why an object still cannot be read that could not be read before; `None` if it can.
pub(super) fn still_unread(repository: &Repository, id: ObjectId) -> Option<Unread> {
    match repository.try_find_object(id) {
        Ok(found) => found.is_none().then_some(Unread::Missing(id)),
        Err(_) => Some(Unread::Damaged(id)),
    }
}

/// The content of an object.
pub(super) fn read(repository: &Repository, id: ObjectId, kind: Kind, largest: u64) -> Result<Vec<u8>, Unread> {
    let header = repository.try_find_header(id).map_err(|_| Unread::Damaged(id))?.ok_or(Unread::Missing(id))?;
    if header.kind() != kind {
        return Err(Unread::Damaged(id));
    }
    if header.size() > largest {
        return Err(Unread::TooLarge);
    }
    let object = repository.try_find_object(id).map_err(|_| Unread::Damaged(id))?.ok_or(Unread::Missing(id))?;
    let object = object.detach();
    if object.kind == kind { Ok(object.data) } else { Err(Unread::Damaged(id)) }
}

/// A hash of 40 hexadecimal digits.
pub(super) fn id_of(hash: &str) -> Option<ObjectId> {
    ObjectId::from_hex(hash.as_bytes()).ok()
}
