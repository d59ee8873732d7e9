//! The changed files of a commit.

use std::collections::HashMap;

use gix::bstr::BString;
use gix::{ObjectId, Repository};

use super::changes::{Failed, changes};
use super::commit::read_commit;
use super::lines::{all, changed, text};
use super::message::name;
use super::moves::{Joined, Side, join, moves};
use super::objects::Unread;
use super::patch::patch;
use crate::model::history::{ChangedFile, ChangedLines, Lines, Patch};
use crate::model::session::Operation;

/// The changed files of a commit.
#[derive(Debug)]
pub(super) struct Files {
    pub files: Vec<ChangedFile>,
    pub patch: Option<Patch>,
    /// Why the lines of a file are not known.
    pub unread: Option<Unread>,
}

/// Compares a commit with its only parent. Without a parent, all files are new.
pub(super) fn files(repository: &Repository, tree: ObjectId, parent: Option<ObjectId>) -> Result<Files, Failed> {
    let old = parent.map(|parent| read_commit(repository, parent).map(|parent| parent.tree)).transpose()?;
    let changes = changes(repository, old, Some(tree))?;
    let mut reader = Reader { repository, unread: None };
    // The lines of whole files: those of a file that is compared with an earlier version are found by the comparison.
    let whole: HashMap<&BString, Lines> = changes
        .iter()
        .filter(|change| change.old.is_none() || change.new.is_none())
        .filter_map(|change| {
            let item = change.old.or(change.new).filter(|item| item.is_blob())?;
            Some((&change.path, all(&reader.text(item.id)?)))
        })
        .collect();
    let side = |is_new: bool| {
        let of_side = changes.iter().filter_map(|change| match (change.old, change.new) {
            (Some(item), None) if !is_new => Some((change, item)),
            (None, Some(item)) if is_new => Some((change, item)),
            _ => None,
        });
        let mut sides: Vec<Side<'_>> =
            of_side.map(|(change, item)| Side { path: &change.path, item, lines: whole.get(&change.path) }).collect();
        sides.sort_by(|left, right| left.path.cmp(right.path));
        sides
    };
    let moved = moves(&side(false), &side(true));
    let whole: HashMap<BString, Lines> = whole.into_iter().map(|(path, lines)| (path.clone(), lines)).collect();
    let joined = join(changes, &moved);
    let lines: Vec<Option<ChangedLines>> = joined.iter().map(|file| reader.lines(file, &whole)).collect();
    let pairs: Vec<_> = joined.iter().zip(lines.iter().map(Option::as_ref)).collect();
    let patch = if reader.unread.is_some() { None } else { patch(&pairs) };
    let files = joined.iter().zip(lines).map(|(file, lines)| changed_file(file, lines)).collect();
    Ok(Files { files, patch, unread: reader.unread })
}

fn changed_file(file: &Joined, lines: Option<ChangedLines>) -> ChangedFile {
    let operation = match (file.old, file.new) {
        _ if file.old_path.is_some() => Operation::Move,
        (None, _) => Operation::Create,
        (_, None) => Operation::Delete,
        _ => Operation::Update,
    };
    let text = |path: &BString| name(path);
    ChangedFile { path: text(&file.path), old_path: file.old_path.as_ref().map(text), operation, lines }
}

/// Reads texts, and remembers why one was not read.
struct Reader<'a> {
    repository: &'a Repository,
    unread: Option<Unread>,
}

impl Reader<'_> {
    fn text(&mut self, id: ObjectId) -> Option<Vec<u8>> {
        match text(self.repository, id) {
            Ok(text) => text,
            Err(unread) => {
                self.unread = self.unread.or(Some(unread));
                None
            }
        }
    }

    /// The changed lines of a file; `None` if they are not known or it is not text.
    fn lines(&mut self, file: &Joined, whole: &HashMap<BString, Lines>) -> Option<ChangedLines> {
        match (file.old, file.new) {
            (Some(old), Some(new)) if old.id == new.id => (old.is_blob()).then(ChangedLines::default),
            (Some(old), Some(new)) if old.is_blob() && new.is_blob() => {
                let old = self.text(old.id)?;
                Some(changed(&old, &self.text(new.id)?))
            }
            (None, Some(_)) => Some(ChangedLines { added: whole.get(&file.path)?.clone(), ..ChangedLines::default() }),
            (Some(_), None) => {
                Some(ChangedLines { removed: whole.get(&file.path)?.clone(), ..ChangedLines::default() })
            }
            _ => None,
        }
    }
}
