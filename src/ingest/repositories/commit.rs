//! The header of a commit.

use gix::ObjectId;
use gix::actor::SignatureRef;
use gix::bstr::ByteSlice;
use gix::objs::{CommitRef, Kind};

use super::message;
use super::objects::{MAX_TEXT, Unread, read};
use crate::base::time::Time;
use crate::model::history::Commit;

/// The most characters of an author's name.
const MAX_NAME: usize = 100;

/// A commit that was read.
pub(super) struct Read {
    pub commit: Commit,
    pub tree: ObjectId,
    pub parents: Vec<ObjectId>,
}

/// Reads a commit, without its files.
pub(super) fn read_commit(repository: &gix::Repository, id: ObjectId) -> Result<Read, Unread> {
    let data = read(repository, id, Kind::Commit, MAX_TEXT)?;
    let decoded = CommitRef::from_bytes(&data, id.kind()).map_err(|_| Unread::Damaged(id))?;
    let hash = |text: &[u8]| ObjectId::from_hex(text).map_err(|_| Unread::Damaged(id));
    let parents: Vec<ObjectId> = decoded.parents.iter().map(|parent| hash(parent)).collect::<Result<_, _>>()?;
    let author = decoded.author().ok();
    let commit = Commit {
        parents: parents.iter().map(ToString::to_string).collect(),
        author: author.and_then(|author| message::plain(&author.name.to_str_lossy(), MAX_NAME)),
        committed_at: decoded.committer().ok().and_then(|committer| time_of(&committer)),
        authored_at: author.and_then(|author| time_of(&author)),
        message: message::parse(&decoded.message.to_str_lossy()),
        ..Commit::default()
    };
    Ok(Read { commit, tree: hash(decoded.tree)?, parents })
}

/// When a person signed; `None` if that is not a time.
fn time_of(signature: &SignatureRef<'_>) -> Option<Time> {
    let seconds = signature.time().ok()?.seconds;
    // Up to the year 9999, so that it can be shown.
    (0..253_402_300_800).contains(&seconds).then(|| Time::from_micros(seconds * 1_000_000))
}
