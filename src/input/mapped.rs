//! A file mapped into memory that may be cut short while it is read.
//!
//! Agents append to their logs, but a log can also be truncated by whoever rotates it, or lie on a disk that fails. The
//! kernel then answers a read of the pages that are gone with SIGBUS, which ends a process that does not ask for it. This
//! module asks: pages of a map of its own become zeros, and the map says afterwards that it is damaged. A signal for any
//! other address goes to whoever asked for it before. (A file that was deleted or replaced by a rename stays readable for
//! as long as it is mapped. Windows refuses to cut a file that is mapped.)
#![expect(unsafe_code, reason = "mapping a file is unsafe, and so is a handler of signals")]

use std::fs::File;
use std::io;
use std::ops::Deref;

use memmap2::{Mmap, MmapOptions};

/// How much of a file is asked for before it is looked at: all of most.
#[cfg(unix)]
const AHEAD: usize = 16 << 20;

/// The content of a file, without a copy.
#[derive(Debug)]
pub struct Mapped {
    // Dropped before the map: another one may get its addresses at once.
    watched: Watched,
    map: Mmap,
}

impl Mapped {
    /// Maps the first `length` bytes of a file; `None` if too many are mapped already.
    ///
    /// # Errors
    /// When the file cannot be mapped.
    pub fn new(file: &File, length: usize) -> io::Result<Option<Self>> {
        // SAFETY: The map is read-only and private. Bytes behind a new, shorter end read as zeros: see `watch`. Bytes that
        // another process writes over while they are read are undefined behaviour in theory: agents append to large files
        // and replace small ones, which are not mapped. Text that was validated and then cut stays text, but for one
        // character, whose missing bytes are zeros inside of the slice. Over a network file system the kernel may know
        // less of other writers, so there this reasoning should be treated as suspect.
        let map = unsafe { MmapOptions::new().len(length).map(file)? };
        let Some(watched) = Watched::new(&map) else { return Ok(None) };
        // Of a file that is on the disk only, each fault would wait for a little of it. Nothing depends on the advice, which
        // costs a look at every page.
        #[cfg(unix)]
        if !unix::is_in_memory(map.get(..length.min(AHEAD)).unwrap_or_default()) {
            let _ = map.advise_range(memmap2::Advice::WillNeed, 0, length.min(AHEAD));
        }
        Ok(Some(Self { watched, map }))
    }

    /// What stands from one place to another was read: its memory is given back, and what comes next is asked for if it is on
    /// the disk only. It may be read again.
    #[cfg(unix)]
    pub fn release(&self, from: usize, to: usize) {
        let page = unix::page();
        let (from, to) = (from / page * page, to.min(self.map.len()) / page * page);
        if from < to {
            // SAFETY: Nobody wrote to the map: what is read of it again is the file's, or zeros where that is gone.
            let _ = unsafe { self.map.unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, from, to - from) };
        }
        let next = to..self.map.len().min(to + AHEAD);
        if !unix::is_in_memory(self.map.get(next.clone()).unwrap_or_default()) {
            let _ = self.map.advise_range(memmap2::Advice::WillNeed, next.start, next.len());
        }
    }

    /// Other systems take it by themselves.
    #[cfg(not(unix))]
    pub fn release(&self, _: usize, _: usize) {}

    /// Whether a part of the file was gone when it was read: zeros stand in its place.
    pub fn is_damaged(&self) -> bool {
        self.watched.is_damaged()
    }
}

impl Deref for Mapped {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.map
    }
}

#[cfg(unix)]
use unix::Watched;

#[cfg(unix)]
mod unix {
    use std::cell::UnsafeCell;
    use std::mem::MaybeUninit;
    use std::ptr;
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    /// More threads than any machine reads with.
    const SLOTS: usize = 1024;

    /// One map. The handler reads it in the thread that faults, which holds the map or was begun by the one that does, and
    /// that waits for it: what it needs of its own map was written before. Of other maps it may see half, which lie elsewhere.
    #[derive(Debug)]
    struct Slot {
        start: AtomicUsize,
        end: AtomicUsize,
        is_taken: AtomicBool,
        is_damaged: AtomicBool,
    }

    static MAPS: [Slot; SLOTS] = [const {
        Slot {
            start: AtomicUsize::new(0),
            end: AtomicUsize::new(0),
            is_taken: AtomicBool::new(false),
            is_damaged: AtomicBool::new(false),
        }
    }; SLOTS];

    /// The size of a page.
    pub fn page() -> usize {
        PAGE.load(Ordering::Relaxed)
    }

    /// Whether the first and the last page of what is mapped need not be read from the disk: usually all of it or nothing is
    /// there. (Of somebody else's file Linux says that it is.)
    pub fn is_in_memory(map: &[u8]) -> bool {
        let page = page();
        let mut ends = [map.as_ptr_range().start, map.as_ptr_range().end.wrapping_sub(1)].into_iter();
        ends.all(|it| {
            let mut resident = 0_u8;
            let start = it.map_addr(|it| it & !(page - 1)).cast_mut();
            // SAFETY: It reads nothing there, and says so of an address that is not mapped; `resident` has room for one page.
            let asked = unsafe { libc::mincore(start.cast(), 1, (&raw mut resident).cast()) };
            asked == 0 && resident & 1 == 1
        })
    }

    /// A map that the handler knows.
    #[derive(Debug)]
    pub struct Watched(&'static Slot);

    impl Watched {
        /// Watches the pages of `map`; `None` where that cannot be done.
        pub fn new(map: &[u8]) -> Option<Self> {
            if !install() {
                return None;
            }
            let free =
                |it: &Slot| it.is_taken.compare_exchange(false, true, Ordering::AcqRel, Ordering::Relaxed).is_ok();
            let (slot, range) = (MAPS.iter().find(|it| free(it))?, map.as_ptr_range());
            slot.is_damaged.store(false, Ordering::Relaxed);
            slot.start.store(range.start.addr(), Ordering::Relaxed);
            slot.end.store(range.end.addr(), Ordering::Release);
            Some(Self(slot))
        }

        pub fn is_damaged(&self) -> bool {
            self.0.is_damaged.load(Ordering::Acquire)
        }
    }

    impl Drop for Watched {
        fn drop(&mut self) {
            let slot = self.0;
            slot.end.store(0, Ordering::Release);
            slot.start.store(0, Ordering::Release);
            slot.is_taken.store(false, Ordering::Release);
        }
    }

    /// What was done on SIGBUS before.
    struct Previous(UnsafeCell<MaybeUninit<libc::sigaction>>);

    // SAFETY: It is written once, by `sigaction`, before the handler can run, and only read after that.
    unsafe impl Sync for Previous {}

    static PREVIOUS: Previous = Previous(UnsafeCell::new(MaybeUninit::zeroed()));
    static PAGE: AtomicUsize = AtomicUsize::new(4096);

    /// Asks for the signal, once per process.
    fn install() -> bool {
        static INSTALLED: OnceLock<bool> = OnceLock::new();
        *INSTALLED.get_or_init(|| {
            // SAFETY: Plain calls with valid arguments: all of `action` is set, `PREVIOUS` is written here only. What was
            // there before is read first, for a fault of another thread in the moment between.
            unsafe {
                if let Ok(page) = usize::try_from(libc::sysconf(libc::_SC_PAGESIZE)) {
                    PAGE.store(page, Ordering::Relaxed);
                }
                if libc::sigaction(libc::SIGBUS, ptr::null(), PREVIOUS.0.get().cast()) != 0 {
                    return false;
                }
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = on_bus_error as *const () as libc::sighandler_t;
                // Rust gives each thread a stack for signals: an overflow of the stack may be a SIGBUS as well.
                action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
                libc::sigemptyset(&raw mut action.sa_mask);
                libc::sigaction(libc::SIGBUS, &raw const action, ptr::null_mut()) == 0
            }
        })
    }

    /// Puts zeros in the place of what is gone of a map. Only atomics and one system call, as a signal handler has to be.
    extern "C" fn on_bus_error(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
        // SAFETY: The kernel gives a valid `info` to a handler with SA_SIGINFO.
        let address = unsafe { (*info).si_addr() }.addr();
        let is_in =
            |it: &&Slot| it.start.load(Ordering::Acquire) <= address && address < it.end.load(Ordering::Acquire);
        let Some(slot) = MAPS.iter().find(is_in) else { return pass_on(signal, info, context) };
        let first = address - address % PAGE.load(Ordering::Relaxed);
        let end = slot.end.load(Ordering::Relaxed);
        slot.is_damaged.store(true, Ordering::Release);
        // SAFETY: The pages are those of a map that is not given back while it is read, and nobody writes to it. All that
        // lies behind a page that is gone is gone as well, so that one call does for a cut of any size. `errno` is the
        // interrupted code's.
        unsafe {
            let errno = errno();
            let before = *errno;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED | libc::MAP_NORESERVE;
            let zeros = ptr::with_exposed_provenance_mut(first);
            if libc::mmap(zeros, end - first, libc::PROT_READ, flags, -1, 0) == libc::MAP_FAILED {
                pass_on(signal, info, context);
            }
            *errno = before;
        }
    }

    /// Does what would have been done without this handler.
    fn pass_on(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
        // SAFETY: `PREVIOUS` was written before this handler was installed. A handler that was set with SA_SIGINFO takes
        // three arguments, another one the first; the two other values are no functions.
        unsafe {
            let previous = &*PREVIOUS.0.get().cast::<libc::sigaction>();
            match previous.sa_sigaction {
                // The instruction is tried again, and the kernel ends the process.
                libc::SIG_DFL | libc::SIG_IGN => {
                    libc::signal(signal, libc::SIG_DFL);
                }
                handler if previous.sa_flags & libc::SA_SIGINFO != 0 => {
                    type Handler = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);
                    let handler = std::mem::transmute::<libc::sighandler_t, Handler>(handler);
                    handler(signal, info, context);
                }
                handler => {
                    let handler = std::mem::transmute::<libc::sighandler_t, extern "C" fn(libc::c_int)>(handler);
                    handler(signal);
                }
            }
        }
    }

    #[cfg(any(target_os = "linux", target_os = "emscripten", target_os = "hurd"))]
    unsafe fn errno() -> *mut libc::c_int {
        // SAFETY: It has no precondition.
        unsafe { libc::__errno_location() }
    }

    #[cfg(not(any(target_os = "linux", target_os = "emscripten", target_os = "hurd")))]
    unsafe fn errno() -> *mut libc::c_int {
        // SAFETY: It has no precondition.
        unsafe { libc::__error() }
    }
}

#[cfg(not(unix))]
#[derive(Debug)]
struct Watched;

#[cfg(not(unix))]
impl Watched {
    fn new(_: &[u8]) -> Option<Self> {
        Some(Self)
    }

    fn is_damaged(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[cfg(unix)]
    #[test]
    fn what_is_cut_off_a_mapped_file_reads_as_zeros() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&vec![7; 1 << 20]).unwrap();
        let map = Mapped::new(&file, 1 << 20).unwrap().unwrap();
        let whole = Mapped::new(&file, 1 << 20).unwrap().unwrap();
        assert_eq!((map[0], map[map.len() - 1], map.is_damaged()), (7, 7, false));
        file.set_len(100_000).unwrap();
        // To the end of the page that is cut the kernel gives zeros by itself.
        assert_eq!((map[99_999], map[100_000], map.is_damaged()), (7, 0, false));
        assert_eq!((map[500_000], map[map.len() - 1], map[200_000], map.is_damaged()), (0, 0, 0, true));
        // Another map of the file was not read there.
        assert!(!whole.is_damaged());
        drop(map);
        assert!(!Mapped::new(&file, 1 << 20).unwrap().unwrap().is_damaged());
    }
}
