//! A handler of SIGBUS: the pages of a watched map that are gone from its file become zeros. A signal for any other address goes
//! to the handler that was installed before.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The most maps at a time: more than any machine has threads.
const SLOTS: usize = 1024;

/// One map. The handler reads it in the thread that faults. That thread owns the map, or was started by the owner, which waits for
/// it: so the slot was written before. The handler may see a half-written slot of another map, whose addresses are different.
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

/// Whether the first and the last page of a range are in memory: usually all of a file is, or nothing. (Linux returns `true` for
/// a file of another user.)
pub fn is_in_memory(map: &[u8]) -> bool {
    let page = page();
    let mut ends = [map.as_ptr_range().start, map.as_ptr_range().end.wrapping_sub(1)].into_iter();
    ends.all(|end| {
        let mut resident = 0_u8;
        let start = end.map_addr(|address| address & !(page - 1)).cast_mut();
        // SAFETY: The call reads nothing there, and fails for an address that is not mapped; `resident` is the result for one page.
        let asked = unsafe { libc::mincore(start.cast(), 1, (&raw mut resident).cast()) };
        asked == 0 && resident & 1 == 1
    })
}

/// A map that the handler knows.
#[derive(Debug)]
pub struct Watched(&'static Slot);

impl Watched {
    /// Watches the pages of `map`; `None` if all slots are taken, or no handler can be installed.
    pub fn new(map: &[u8]) -> Option<Self> {
        if !install() {
            return None;
        }
        let take =
            |slot: &Slot| slot.is_taken.compare_exchange(false, true, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        let (slot, range) = (MAPS.iter().find(|slot| take(slot))?, map.as_ptr_range());
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

/// The handler of SIGBUS before this one.
struct Previous(UnsafeCell<MaybeUninit<libc::sigaction>>);

// SAFETY: It is written once, by `sigaction`, before the handler can run, and only read after that.
unsafe impl Sync for Previous {}

static PREVIOUS: Previous = Previous(UnsafeCell::new(MaybeUninit::zeroed()));
static PAGE: AtomicUsize = AtomicUsize::new(4096);

/// Installs the handler, once per process.
fn install() -> bool {
    static INSTALLED: OnceLock<bool> = OnceLock::new();
    *INSTALLED.get_or_init(|| {
        // SAFETY: Plain calls with valid arguments: all of `action` is set, and `PREVIOUS` is written only here. The previous
        // handler is stored first, for a fault of another thread just after the installation.
        unsafe {
            if let Ok(page) = usize::try_from(libc::sysconf(libc::_SC_PAGESIZE)) {
                PAGE.store(page, Ordering::Relaxed);
            }
            if libc::sigaction(libc::SIGBUS, ptr::null(), PREVIOUS.0.get().cast()) != 0 {
                return false;
            }
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_bus_error as *const () as libc::sighandler_t;
            // Rust gives each thread a stack for signals, as a stack overflow may be a SIGBUS as well.
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigemptyset(&raw mut action.sa_mask);
            libc::sigaction(libc::SIGBUS, &raw const action, ptr::null_mut()) == 0
        }
    })
}

/// Replaces the pages that are gone by zeros. It uses only atomics and one system call, as a signal handler must.
extern "C" fn on_bus_error(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: The kernel gives a valid `info` to a handler with SA_SIGINFO.
    let address = unsafe { (*info).si_addr() }.addr();
    let contains_it =
        |slot: &&Slot| slot.start.load(Ordering::Acquire) <= address && address < slot.end.load(Ordering::Acquire);
    let Some(slot) = MAPS.iter().find(contains_it) else { return pass_on(signal, info, context) };
    let first = address - address % PAGE.load(Ordering::Relaxed);
    let end = slot.end.load(Ordering::Relaxed);
    slot.is_damaged.store(true, Ordering::Release);
    // SAFETY: The pages belong to a map that is not unmapped while it is read, and that is never written to. All pages after a
    // page that is gone are gone as well, so one call replaces them all. `errno` belongs to the interrupted code, so it is restored.
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

/// Does what the process would do without this handler.
fn pass_on(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: `PREVIOUS` was written before this handler was installed. A handler that was set with SA_SIGINFO takes three
    // arguments, any other one takes the first; the two special values are not functions.
    unsafe {
        let previous = &*PREVIOUS.0.get().cast::<libc::sigaction>();
        match previous.sa_sigaction {
            // The instruction runs again, and the kernel ends the process.
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
    // SAFETY: The call has no precondition.
    unsafe { libc::__errno_location() }
}

#[cfg(not(any(target_os = "linux", target_os = "emscripten", target_os = "hurd")))]
unsafe fn errno() -> *mut libc::c_int {
    // SAFETY: The call has no precondition.
    unsafe { libc::__error() }
}
