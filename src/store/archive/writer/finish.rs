//! Makes the next generation the current one: manifest, sync, rename, removal of old generations.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;

use super::api::Writer;
use crate::store::archive::disk::{self, Waited};
use crate::store::archive::error::Error;
use crate::store::archive::generations;
use crate::store::archive::layout::{MANIFEST, POINTER, SPOOL, file_of, kinds, name_of};
use crate::store::archive::manifest::Manifest;

impl Writer {
    /// Writes the manifest, and makes the generation the current one once all of it is synced to the disk.
    pub(super) fn finish(&self, manifest: &mut Manifest) -> Result<(), Error> {
        self.publish(manifest).map_err(Error::file(&self.next))?;
        self.clean_up(manifest.generation);
        Ok(())
    }

    fn publish(&self, manifest: &mut Manifest) -> io::Result<()> {
        disk::sync_all(|wait_for| {
            self.new_files(manifest).into_iter().for_each(|file| wait_for(Waited::File(file)));
            manifest.write(&self.next.join(MANIFEST))?;
            disk::remove_file(&self.next.join(SPOOL))?;
            wait_for(Waited::File(self.next.join(MANIFEST)));
            for directory in kinds().chain([""]) {
                wait_for(Waited::Directory(self.next.join(directory)));
            }
            if self.is_new() {
                wait_for(Waited::File(self.archive.directory().join(POINTER)));
            }
            Ok(())
        })?;
        if self.is_new() {
            // The pointer has to be on the disk before the generation: a directory with a generation and no pointer is refused.
            disk::sync_directory(self.archive.directory())?;
        }
        let directory = self.archive.directory().join(name_of(manifest.generation));
        // A process that was interrupted between the two renames leaves such a directory.
        disk::remove_directory(&directory)?;
        disk::rename(&self.next, &directory)?;
        disk::sync_directory(self.archive.directory())?;
        self.archive.make_current(manifest)
    }

    /// The files of the parts that were not in the generation before.
    fn new_files(&self, manifest: &Manifest) -> Vec<PathBuf> {
        let linked: BTreeSet<&str> = self.state.parts().iter().map(|part| part.name.as_str()).collect();
        let new = manifest.parts.iter().filter(|part| !linked.contains(part.name.as_str()));
        new.flat_map(|part| part.files.keys().map(|kind| self.next.join(file_of(&part.name, kind)))).collect()
    }

    /// Removes all generations but the current one, the one before it, and those that are being read.
    fn clean_up(&self, current: u64) {
        for (directory, renamed) in &self.damaged {
            let _ = disk::rename(directory, renamed);
        }
        for (number, directory) in self.archive.generations() {
            if self.damaged.iter().any(|(damaged, _)| *damaged == directory) {
                continue;
            }
            if number != current && number + 1 != current {
                generations::remove_unless_read(&directory);
            }
        }
    }
}
