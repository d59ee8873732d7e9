//! The hash of the changes of a commit, which is equal after a rebase or a cherry-pick: the paths, and which lines were added and
//! removed there, but not where in the file.

use twox_hash::XxHash3_64;

use super::changes::Item;
use super::moves::Joined;
use crate::model::history::{ChangedLines, Lines, Patch};

/// The hashes of the changes of a commit, and of the opposite changes; `None` if nothing was changed.
pub(super) fn patch(files: &[(&Joined, Option<&ChangedLines>)]) -> Option<Patch> {
    if files.is_empty() {
        return None;
    }
    let mut files: Vec<_> = files.iter().collect();
    // The same order for the opposite changes.
    files.sort_by_key(|(file, _)| {
        let (old, new) = paths(file);
        if old < new { (old.to_vec(), new.to_vec()) } else { (new.to_vec(), old.to_vec()) }
    });
    let hash = |is_inverse: bool| {
        let mut bytes = Vec::new();
        for (file, lines) in &files {
            let (old, new) = paths(file);
            let of_lines = |lines: Option<&Lines>, item: Option<Item>| match lines {
                Some(lines) => bytes_of(lines),
                None => item.map_or_else(Vec::new, |item| item.id.as_slice().to_vec()),
            };
            let removed = (old, file.old, of_lines(lines.map(|lines| &lines.removed), file.old));
            let added = (new, file.new, of_lines(lines.map(|lines| &lines.added), file.new));
            let sides = if is_inverse { [added, removed] } else { [removed, added] };
            for (path, item, content) in sides {
                let mode = item.map_or(0, |item| item.mode.value()).to_le_bytes();
                for part in [path, &mode, &content] {
                    bytes.extend_from_slice(&(part.len() as u64).to_le_bytes());
                    bytes.extend_from_slice(part);
                }
            }
        }
        XxHash3_64::oneshot(&bytes)
    };
    Some(Patch { id: hash(false), inverse: hash(true) })
}

/// The path before and after the change; empty where there is no file.
fn paths(file: &Joined) -> (&[u8], &[u8]) {
    let old = file.old.map_or(&[][..], |_| file.old_path.as_ref().unwrap_or(&file.path));
    (old, file.new.map_or(&[][..], |_| &file.path))
}

fn bytes_of(lines: &Lines) -> Vec<u8> {
    let long = lines.long.iter().flat_map(|hash| hash.to_le_bytes());
    long.chain(lines.short.iter().flat_map(|hash| hash.to_le_bytes())).collect()
}
