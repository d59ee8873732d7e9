//! An archive with the list of its members.

use std::io::{self, Cursor};

use zip::read::read_zipfile_from_stream;

use super::listing::{Listing, Member, Place};
use super::zip_members::Zip;
use super::{tar_members, zip_members};
use crate::input::open::{self, Budget, FileContent};

/// The most members of an archive. The list of so many takes some hundred MB of memory.
pub const MAX_MEMBERS: usize = 1_000_000;

/// How deep archives may be nested: the members of an archive inside an archive are read, but no archive among them.
pub const MAX_DEPTH: usize = 1;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Tar,
    Zip,
}

impl Kind {
    fn of(content: &[u8]) -> Option<Self> {
        if content.starts_with(b"PK\x03\x04") || content.starts_with(b"PK\x05\x06") {
            return Some(Self::Zip);
        }
        // The header of a tar archive. Text with the same word has no NUL before it.
        let (fields, rest) = content.split_at_checked(257)?;
        let is_header = rest.starts_with(b"ustar\0") || rest.starts_with(b"ustar ");
        (is_header && fields.contains(&0)).then_some(Self::Tar)
    }
}

/// Whether a content is a tar or zip archive, by its first bytes.
pub fn is_container(content: &[u8]) -> bool {
    Kind::of(content).is_some()
}

/// Why a member cannot be read.
#[derive(Debug)]
pub struct Unreadable {
    /// The reason.
    pub message: String,
    /// Whether another attempt would fail for the same reason, as the reason is in the archive.
    pub is_final: bool,
}

impl Unreadable {
    fn finally(message: impl Into<String>) -> Self {
        Self { message: message.into(), is_final: true }
    }

    fn now(error: &io::Error) -> Self {
        Self { message: error.to_string(), is_final: false }
    }
}

/// A tar or zip archive with the list of its members.
pub struct Container<'a> {
    content: &'a FileContent<'a>,
    zip: Option<Zip<'a>>,
    members: Vec<Member>,
    /// Why members may be missing from the list: the archive is cut or damaged.
    pub damage: Option<String>,
}

impl<'a> Container<'a> {
    /// Lists the members of an archive; `None` if the content is not one. Of several members of one name the last is kept, as
    /// when they are extracted.
    ///
    /// # Errors
    /// When there are more than `limit` members.
    pub fn open(content: &'a FileContent<'a>, limit: usize) -> Option<Result<Self, String>> {
        let kind = Kind::of(content)?;
        let mut listing = Listing { members: Vec::new(), damage: content.truncated.clone() };
        let zip = match kind {
            Kind::Tar => tar_members::list(content, limit, &mut listing).map(|()| None),
            Kind::Zip => zip_members::list(content, limit, &mut listing),
        };
        let Listing { members, damage } = listing;
        Some(zip.map(|zip| Self { content, zip, members, damage }))
    }

    /// The members, sorted by name.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// The member of that name.
    pub fn find(&self, name: &str) -> Option<&Member> {
        let index = self.members.binary_search_by(|member| member.name.as_str().cmp(name)).ok()?;
        self.members.get(index)
    }

    /// The content of a member, decompressed.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(&self, member: &Member, budget: &Budget) -> Result<FileContent<'_>, Unreadable> {
        let content = match &member.place {
            Place::Range { start, length } => self.range(*start, *length),
            Place::Entry(number) => {
                let mut zip = self.zip.clone().ok_or_else(|| Unreadable::finally("no directory"))?;
                let member = zip.by_index(*number);
                let member = member.map_err(|error| Unreadable::finally(zip_members::reason(&error)))?;
                open::open_member(member, budget).map_err(|error| Unreadable::now(&error))?
            }
            Place::Header(offset) => {
                let mut reader = Cursor::new(&**self.content);
                reader.set_position(*offset);
                let member = read_zipfile_from_stream(&mut reader);
                let member = member.map_err(|error| Unreadable::finally(zip_members::reason(&error)))?;
                let member = member.ok_or_else(|| Unreadable::finally("no header"))?;
                open::open_member(member, budget).map_err(|error| Unreadable::now(&error))?
            }
            Place::Unreadable(message) => return Err(Unreadable::finally(message)),
        };
        open::decompressed(content, budget).map_err(|error| Unreadable::now(&error))
    }

    fn range(&self, start: u64, length: u64) -> FileContent<'_> {
        // An offset beyond the address space is beyond the content.
        let address = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX);
        let end = start.saturating_add(length);
        let mut content = self.content.part(address(start)..address(end));
        if end > self.content.len() as u64 {
            content.truncated = Some("the archive ends inside it".to_owned());
        }
        content
    }
}
