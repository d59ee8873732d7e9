//! Waits until files below some paths change, with the notifications of the system, or by checking them from time to time.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use notify::event::{AccessKind, AccessMode, EventKind, MetadataKind, ModifyKind};
use notify::{Config, ErrorKind, Event, PollWatcher, RecommendedWatcher, RecursiveMode, Watcher as _};

use super::output::complain;

/// How long a change waits for further ones, so that they are read together.
const DELAY: Duration = Duration::from_millis(400);

/// A log that is written all the time is read at the latest after this.
const LONGEST_DELAY: Duration = Duration::from_secs(1);

/// How often files are checked where the system does not report changes.
const POLL: Duration = Duration::from_secs(10);

/// Why waiting ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waited {
    /// A file changed.
    Changed,
    /// Nothing happened for the whole time.
    Nothing,
}

/// Reports changes of files.
pub struct Watcher {
    watcher: Option<Box<dyn notify::Watcher>>,
    sender: Sender<notify::Result<Event>>,
    events: Receiver<notify::Result<Event>>,
    /// The paths that are watched.
    roots: Vec<PathBuf>,
    /// Changes in this directory do not count.
    except: PathBuf,
    /// How often files are checked; `None` if the system reports changes.
    poll: Option<Duration>,
}

impl Watcher {
    /// Watches files, and directories with all that is below them, except for one directory. `poll` is how often to check them
    /// instead of waiting for the system.
    pub fn new(roots: &[PathBuf], except: &Path, poll: Option<Duration>) -> Self {
        let (sender, events) = channel();
        let except = real(except);
        let mut watcher = Self { watcher: None, sender, events, roots: Vec::new(), except, poll };
        watcher.start();
        watcher.add(roots);
        watcher
    }

    /// Watches more paths.
    pub fn add(&mut self, roots: &[PathBuf]) {
        let mut new: Vec<PathBuf> = roots.iter().map(|root| real(root)).collect();
        new.retain(|root| !self.roots.contains(root));
        self.roots.extend(new.iter().cloned());
        for root in &new {
            self.watch(root);
        }
    }

    /// Waits until a file changes and then is left alone for a moment, or until `patience` ends. A change is not returned before
    /// `earliest`.
    pub fn wait(&mut self, patience: Duration, earliest: Instant) -> Waited {
        let deadline = Instant::now() + patience;
        loop {
            match self.events.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(event) if self.is_change(&event) => break,
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => return Waited::Nothing,
                // Cannot happen: there is a sender in `self`.
                Err(RecvTimeoutError::Disconnected) => std::thread::sleep(patience),
            }
        }
        let first = Instant::now();
        let (mut quiet_at, last) = ((first + DELAY).max(earliest), (first + LONGEST_DELAY).max(earliest));
        while let Ok(event) = self.events.recv_timeout(quiet_at.saturating_duration_since(Instant::now())) {
            if self.is_change(&event) {
                quiet_at = quiet_at.max(Instant::now() + DELAY).min(last);
            }
        }
        Waited::Changed
    }

    /// Whether an event can be a change of a log. Reading a file causes events, too.
    fn is_change(&mut self, event: &notify::Result<Event>) -> bool {
        let event = match event {
            Ok(event) => event,
            Err(error) => {
                self.fall_back(error);
                return true;
            }
        };
        let is_write = match event.kind {
            EventKind::Access(AccessKind::Close(AccessMode::Write)) => true,
            EventKind::Access(_) | EventKind::Modify(ModifyKind::Metadata(MetadataKind::AccessTime)) => false,
            _ => true,
        };
        let is_of_log = |path: &PathBuf| {
            // The journals of a database have its name with more characters.
            let is_below = |root: &PathBuf| {
                path.starts_with(root) || path.to_string_lossy().starts_with(&*root.to_string_lossy()) && !root.is_dir()
            };
            let is_memory = path.to_string_lossy().ends_with("-shm");
            !path.starts_with(&self.except) && !is_memory && self.roots.iter().any(is_below)
        };
        is_write && (event.need_rescan() || event.paths.is_empty() || event.paths.iter().any(is_of_log))
    }

    /// Starts the watcher of the system, or the one that checks the files.
    fn start(&mut self) {
        let sender = self.sender.clone();
        let handler = move |event| drop(sender.send(event));
        if let Some(poll) = self.poll {
            let config = Config::default().with_poll_interval(poll);
            match PollWatcher::new(handler, config) {
                Ok(watcher) => self.watcher = Some(Box::new(watcher)),
                Err(error) => complain(format_args!("no files can be watched: {error}")),
            }
            return;
        }
        match RecommendedWatcher::new(handler, Config::default()) {
            Ok(watcher) => self.watcher = Some(Box::new(watcher)),
            Err(error) => self.fall_back(&error),
        }
    }

    fn watch(&mut self, root: &Path) {
        // Of a file the directory is watched: the file may be replaced by another one, and a database has journals beside it.
        let (path, mode) = match root.parent() {
            Some(parent) if !root.is_dir() => (parent, RecursiveMode::NonRecursive),
            _ => (root, RecursiveMode::Recursive),
        };
        let is_watched = |other: &PathBuf| other != root && other.is_dir() && path.starts_with(other);
        if self.roots.iter().any(is_watched) {
            return;
        }
        let Some(watcher) = &mut self.watcher else { return };
        if let Err(error) = watcher.watch(path, mode) {
            if self.poll.is_some() {
                complain(format_args!("{}: cannot be watched: {error}", root.display()));
            } else {
                self.fall_back(&error);
            }
        }
    }

    /// Checks the files from time to time from now on, as the system does not report all changes.
    fn fall_back(&mut self, error: &notify::Error) {
        if self.poll.is_some() {
            return;
        }
        let reason = match &error.kind {
            ErrorKind::MaxFilesWatch => {
                "the system's limit of watched directories is reached (on Linux: sysctl fs.inotify.max_user_watches)"
                    .to_owned()
            }
            _ => error.to_string(),
        };
        complain(format_args!(
            "changes are not reported: {reason}; files are checked every {} seconds",
            POLL.as_secs()
        ));
        self.poll = Some(POLL);
        self.watcher = None;
        self.start();
        for root in self.roots.clone() {
            self.watch(&root);
        }
    }
}

/// A path as the system names it in its events.
fn real(path: &Path) -> PathBuf {
    dunce::canonicalize(path).or_else(|_| std::path::absolute(path)).unwrap_or_else(|_| path.to_owned())
}
