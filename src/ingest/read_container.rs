//! Reads the members of a tar or zip archive, in parallel, each like a file of its own.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rayon::prelude::*;

use super::content_hasher::{ContentHasher, WINDOW};
use super::place::{Members, Place};
use super::read_content::Failure;
use super::run::{FileRead, Run};
use crate::input::containers::{self, Container, Member, Unreadable};
use crate::input::open::{self, Budget, FileContent};
use crate::model::source::{SEPARATOR, Source, SourceStatus};

/// What the options of an archive end with if another attempt may read more of its members.
const INCOMPLETE: &str = " incomplete";

impl Run<'_> {
    /// Reads and emits the members of an archive. Returns what is known of the archive itself.
    pub fn read_container(
        &self,
        mut source: Source,
        content: &FileContent<'_>,
        depth: usize,
        budget: &Budget,
    ) -> Source {
        source.compression = content.compression.map(|compression| compression.as_str().to_owned());
        if depth > containers::MAX_DEPTH {
            return unreadable(source, "archives are nested too deep".to_owned());
        }
        let container = match Container::open(content, containers::MAX_MEMBERS) {
            Some(Ok(container)) => container,
            Some(Err(error)) => return unreadable(source, error),
            None => return source,
        };
        let is_complete = self.read_members(&source.path, content, &container, depth, budget);
        let hashes = ContentHasher::new(content, Some(content), None).finish();
        if content.is_damaged() {
            return unreadable(source, open::CUT.to_owned());
        }
        source.content_hash = Some(format!("{:032x}", hashes.whole));
        source.status = if container.damage.is_some() { SourceStatus::Truncated } else { SourceStatus::Auxiliary };
        source.message.clone_from(&container.damage);
        if !is_complete {
            // So that the next run does not skip the archive as unchanged.
            source.options.push_str(INCOMPLETE);
        }
        source
    }

    /// Reads and emits all members. Returns `false` if another attempt may read more of them: with a higher limit, or once there
    /// is space for temporary files.
    fn read_members(
        &self,
        path: &str,
        content: &FileContent<'_>,
        container: &Container<'_>,
        depth: usize,
        budget: &Budget,
    ) -> bool {
        let members = Members::new(container, budget, path);
        let is_complete = AtomicBool::new(true);
        // Bytes of members that were read since memory of the archive was released.
        let unreleased = AtomicU64::new(0);
        container.members().par_iter().with_max_len(1).for_each(|member| {
            let source = self.source(format!("{path}{SEPARATOR}{}", member.name), 0, member.modified_at);
            let (read, is_final) = match self.read_member(source.clone(), &members, member, depth + 1) {
                Ok(read) => {
                    // An archive among the members may be incomplete itself.
                    let is_final = !read.source.options.ends_with(INCOMPLETE);
                    (read, is_final)
                }
                Err(error) => (FileRead::unreadable(source, error.message), error.is_final),
            };
            is_complete.fetch_and(is_final, Ordering::Relaxed);
            (self.emit)(read);
            let bytes = member.bytes;
            if unreleased.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes) >= WINDOW as u64 {
                unreleased.store(0, Ordering::Relaxed);
                content.release(0, content.len());
            }
        });
        is_complete.into_inner()
    }

    fn read_member(
        &self,
        mut source: Source,
        members: &Members<'_>,
        member: &Member,
        depth: usize,
    ) -> Result<FileRead, Unreadable> {
        let content = members.container.read(member, members.budget)?;
        source.bytes = i64::try_from(content.stored).unwrap_or(i64::MAX);
        if containers::is_container(&content) {
            return Ok(FileRead::without_claims(self.read_container(source, &content, depth, members.budget)));
        }
        if members.is_companion(member) {
            source.status = SourceStatus::Auxiliary;
            return Ok(FileRead::without_claims(source));
        }
        self.read_content(source, &content, &Place::Member(members, member), true).map_err(|failure| match failure {
            Failure::Changed => Unreadable { message: open::CUT.to_owned(), is_final: false },
            Failure::Unreadable(message) => Unreadable { message, is_final: true },
        })
    }
}

fn unreadable(source: Source, message: String) -> Source {
    FileRead::unreadable(source, message).source
}
