//! Waits until files below some paths change, with the notifications of the system, or by checking them from time to time.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use notify::event::{AccessKind, AccessMode, EventKind, MetadataKind, ModifyKind};
use notify::{Config, ErrorKind, Event, PollWatcher, RecommendedWatcher, RecursiveMode, Watcher as _};
use same_file::Handle;

use super::output::complain;
use crate::cli::screen::Input;

/// How long a change waits for further ones, so that they are read together.
const DELAY: Duration = Duration::from_millis(400);

/// A log that is written all the time is read at the latest after this.
const LONGEST_DELAY: Duration = Duration::from_secs(1);

/// How often files are checked where the system does not report changes.
const POLL: Duration = Duration::from_secs(10);

/// What ends waiting, or can.
enum Signal {
    /// Something happened to files.
    File(notify::Result<Event>),
    /// The user asks for something.
    Input(Input),
}

/// Why waiting ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waited {
    /// A file changed.
    Changed,
    /// The user asks for something.
    Asked(Input),
    /// Nothing happened for the whole time.
    Nothing,
}

/// Ends waiting, for what the user asks for.
pub type Waker = Box<dyn Fn(Input) + Send>;

/// A path that is watched.
struct Root {
    /// The path as it was given: a link may point elsewhere later.
    given: PathBuf,
    /// The path as the system names it in its events.
    real: PathBuf,
    /// The open file or directory, so that another one of the same name differs from it. `None` while the path does not exist.
    handle: Option<Handle>,
    is_directory: bool,
}

impl Root {
    fn new(given: &Path) -> Self {
        Self {
            given: given.to_owned(),
            real: real(given),
            handle: Handle::from_path(given).ok(),
            is_directory: given.is_dir(),
        }
    }

    /// The path to watch. Of a file it is the directory: the file may be replaced by another one, and a database has journals beside it.
    fn watched(&self) -> (&Path, RecursiveMode) {
        match self.real.parent() {
            Some(parent) if !self.is_directory => (parent, RecursiveMode::NonRecursive),
            _ => (&self.real, RecursiveMode::Recursive),
        }
    }
}

/// Reports changes of files.
pub struct Watcher {
    watcher: Option<Box<dyn notify::Watcher>>,
    sender: Sender<Signal>,
    events: Receiver<Signal>,
    /// What the user asked for while a change waited for further ones.
    asked: Option<Input>,
    /// The paths that are watched.
    roots: Vec<Root>,
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
        let mut watcher = Self { watcher: None, sender, events, asked: None, roots: Vec::new(), except, poll };
        watcher.start();
        watcher.add(roots);
        watcher
    }

    /// A function that ends waiting.
    pub fn waker(&self) -> Waker {
        let sender = self.sender.clone();
        Box::new(move |input| drop(sender.send(Signal::Input(input))))
    }

    /// Watches more paths.
    pub fn add(&mut self, roots: &[PathBuf]) {
        let known = self.roots.len();
        for root in roots {
            if !self.roots.iter().any(|known| known.given == *root) {
                self.roots.push(Root::new(root));
            }
        }
        (known..self.roots.len()).for_each(|index| self.watch(index));
    }

    /// Whether a path does not exist any more.
    pub fn has_lost(&self) -> bool {
        self.roots.iter().any(|root| !root.given.exists())
    }

    /// Watches paths again that were made again, or that are links to another place now. Returns whether there are any. The system
    /// watches directories, not names.
    pub fn follow(&mut self) -> bool {
        let mut is_other = false;
        for index in 0..self.roots.len() {
            let Some(root) = self.roots.get_mut(index) else { break };
            let now = Root::new(&root.given);
            // A file is watched by its directory, which reports a new file of the name.
            let is_file = root.handle.is_some() && !root.is_directory && !now.is_directory;
            if now.handle == root.handle || (is_file && now.real == root.real) {
                continue;
            }
            let exists = now.handle.is_some();
            let before = std::mem::replace(root, now);
            if let Some(watcher) = &mut self.watcher
                && before.is_directory
            {
                // The system may have ended the watch.
                drop(watcher.unwatch(&before.real));
            }
            if exists {
                self.watch(index);
                is_other = true;
            }
        }
        is_other
    }

    /// Waits until a file changes and then is left alone for a moment, or until `patience` ends. A change is not returned before
    /// `earliest`.
    pub fn wait(&mut self, patience: Duration, earliest: Instant) -> Waited {
        if let Some(input) = self.asked.take() {
            return Waited::Asked(input);
        }
        let deadline = Instant::now() + patience;
        loop {
            match self.events.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(Signal::File(event)) if self.is_change(&event) => break,
                Ok(Signal::File(_)) => {}
                Ok(Signal::Input(input)) => return Waited::Asked(input),
                Err(RecvTimeoutError::Timeout) => return Waited::Nothing,
                // Cannot happen: there is a sender in `self`.
                Err(RecvTimeoutError::Disconnected) => std::thread::sleep(patience),
            }
        }
        let first = Instant::now();
        let (mut quiet_at, last) = ((first + DELAY).max(earliest), (first + LONGEST_DELAY).max(earliest));
        while let Ok(signal) = self.events.recv_timeout(quiet_at.saturating_duration_since(Instant::now())) {
            match signal {
                Signal::File(event) if self.is_change(&event) => {
                    quiet_at = quiet_at.max(Instant::now() + DELAY).min(last);
                }
                Signal::File(_) => {}
                Signal::Input(Input::Quit) => return Waited::Asked(Input::Quit),
                Signal::Input(input) => self.asked = Some(input),
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
            let is_below = |Root { real, .. }: &Root| {
                path.starts_with(real) || path.to_string_lossy().starts_with(&*real.to_string_lossy()) && !real.is_dir()
            };
            let is_memory = path.to_string_lossy().ends_with("-shm");
            !path.starts_with(&self.except) && !is_memory && self.roots.iter().any(is_below)
        };
        is_write && (event.need_rescan() || event.paths.is_empty() || event.paths.iter().any(is_of_log))
    }

    /// Starts the watcher of the system, or the one that checks the files.
    fn start(&mut self) {
        let sender = self.sender.clone();
        let handler = move |event| drop(sender.send(Signal::File(event)));
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

    fn watch(&mut self, index: usize) {
        let Some(root) = self.roots.get(index) else { return };
        let (path, mode) = root.watched();
        let is_around = |other: &Root| other.real != root.real && other.real.is_dir() && path.starts_with(&other.real);
        if self.roots.iter().any(is_around) {
            return;
        }
        let Some(watcher) = &mut self.watcher else { return };
        if let Err(error) = watcher.watch(path, mode) {
            if self.poll.is_some() {
                complain(format_args!("{}: cannot be watched: {error}", root.given.display()));
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
        (0..self.roots.len()).for_each(|index| self.watch(index));
    }
}

/// A path as the system names it in its events.
fn real(path: &Path) -> PathBuf {
    dunce::canonicalize(path).or_else(|_| std::path::absolute(path)).unwrap_or_else(|_| path.to_owned())
}
