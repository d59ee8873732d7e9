//! The program's memory: mimalloc's, as the C library asks the system for each page of a thread's memory by itself. It gives
//! back what is free after a tenth of a second, in place of a second, and asks for no huge pages: both would be faster by a
//! hundredth or two, and hold half as much again.
//!
//! Large aligned pieces come from the system itself. What it gives is zero and takes no memory until it is touched. The
//! standard library does not know that of an aligned piece and writes the zeros: 8 MiB of them, 2,000 pages, which polars
//! keeps for columns of nothing, in each run.

#![expect(unsafe_code, reason = "an allocator is unsafe to write")]

use std::alloc::{GlobalAlloc, Layout};
use std::ffi::{c_int, c_long};
use std::ptr;

use libmimalloc_sys::{
    mi_free, mi_malloc, mi_malloc_aligned, mi_realloc, mi_realloc_aligned, mi_zalloc, mi_zalloc_aligned,
};

/// See above.
#[derive(Debug)]
pub struct Pages;

/// Smaller pieces are mimalloc's.
const LARGE: usize = 1 << 20;

/// What any piece is aligned to; and a page, by which the system aligns.
const USUAL: usize = 16;
const PAGE: usize = 4096;

/// What all of mimalloc's pieces are aligned to, however small: a word. What asks for no more need not say so, which is quicker.
const LEAST: usize = size_of::<usize>();

// Of mimalloc; the crate knows no name for the option, whose number has been the same in all of its versions.
unsafe extern "C" {
    fn mi_option_set_default(option: c_int, value: c_long);
    fn mi_option_set(option: c_int, value: c_long);
}

/// How long free memory is kept, in milliseconds.
const PURGE_DELAY: c_int = 15;

/// To be called first. What the environment says (`MIMALLOC_PURGE_DELAY`) stands.
pub fn set_up() {
    // SAFETY: It sets a number.
    unsafe { mi_option_set_default(PURGE_DELAY, 100) };
}

/// To be called last. The system takes all memory back at once; mimalloc would first give back what is free, piece by piece.
pub fn shut_down() {
    // SAFETY: It sets a number: never.
    unsafe { mi_option_set(PURGE_DELAY, -1) };
}

/// The layout alone decides, so that whoever frees a piece knows where it came from.
const fn is_of_the_system(layout: Layout) -> bool {
    layout.size() >= LARGE && layout.align() > USUAL && layout.align() <= PAGE
}

fn map(size: usize) -> *mut u8 {
    // SAFETY: New pages, at no given place, of no file.
    let pages = unsafe {
        libc::mmap(
            ptr::null_mut(),
            size,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if pages == libc::MAP_FAILED { ptr::null_mut() } else { pages.cast() }
}

// SAFETY: A piece of a layout comes always from the same place and goes back there; what `map` gives is aligned to a page,
// and nobody else's.
unsafe impl GlobalAlloc for Pages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_of_the_system(layout) {
            return map(layout.size());
        }
        // SAFETY: The caller's promise is passed on.
        unsafe {
            match layout.align() {
                ..=LEAST => mi_malloc(layout.size()).cast(),
                align => mi_malloc_aligned(layout.size(), align).cast(),
            }
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if is_of_the_system(layout) {
            return map(layout.size());
        }
        // SAFETY: As above.
        unsafe {
            match layout.align() {
                ..=LEAST => mi_zalloc(layout.size()).cast(),
                align => mi_zalloc_aligned(layout.size(), align).cast(),
            }
        }
    }

    unsafe fn dealloc(&self, piece: *mut u8, layout: Layout) {
        if is_of_the_system(layout) {
            // SAFETY: The piece came from `map`, with this size.
            unsafe { libc::munmap(piece.cast(), layout.size()) };
        } else {
            // SAFETY: As above.
            unsafe { mi_free(piece.cast()) }
        }
    }

    unsafe fn realloc(&self, piece: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: The caller promises that the size can be one, rounded up to the alignment.
        let new = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        if !is_of_the_system(layout) && !is_of_the_system(new) {
            // SAFETY: As above.
            return unsafe {
                match layout.align() {
                    ..=LEAST => mi_realloc(piece.cast(), size).cast(),
                    align => mi_realloc_aligned(piece.cast(), size, align).cast(),
                }
            };
        }
        // SAFETY: The new piece is another one, and both have as many bytes as are copied.
        unsafe {
            let moved = self.alloc(new);
            if !moved.is_null() {
                ptr::copy_nonoverlapping(piece, moved, size.min(layout.size()));
                self.dealloc(piece, layout);
            }
            moved
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    unsafe extern "C" {
        fn mi_option_get(option: c_int) -> c_long;
    }

    #[test]
    fn free_memory_is_given_back_soon() {
        if std::env::var_os("MIMALLOC_PURGE_DELAY").is_none() {
            // SAFETY: It gives a number.
            let delay = || unsafe { mi_option_get(PURGE_DELAY) };
            // The default tells that it is the right option.
            assert_eq!(delay(), 1000);
            set_up();
            assert_eq!(delay(), 100);
        }
    }

    #[test]
    fn small_pieces_are_aligned_as_well() {
        for (align, size) in [1, 2, 4, 8, 16, 32].into_iter().flat_map(|align| (1..200).map(move |size| (align, size)))
        {
            let layout = Layout::from_size_align(size, align).unwrap();
            // SAFETY: As below.
            unsafe {
                let pieces = [Pages.alloc(layout), Pages.alloc_zeroed(layout), Pages.alloc_zeroed(layout)];
                assert!((0..size).all(|it| pieces[1].add(it).read() == 0));
                pieces[2].add(size - 1).write(7);
                let grown = Pages.realloc(pieces[2], layout, size * 3);
                assert_eq!(grown.add(size - 1).read(), 7);
                for it in [pieces[0], pieces[1], grown] {
                    assert!(!it.is_null() && it.addr().is_multiple_of(align), "{size} {align}");
                }
                Pages.dealloc(pieces[0], layout);
                Pages.dealloc(pieces[1], layout);
                Pages.dealloc(grown, Layout::from_size_align(size * 3, align).unwrap());
            }
        }
    }

    #[test]
    fn pieces_keep_their_bytes_and_are_aligned() {
        for align in [1, 16, 64, PAGE, 2 * PAGE] {
            let layout = Layout::from_size_align(LARGE - 1, align).unwrap();
            // SAFETY: Each piece is used within its size, and freed once, as what it is then.
            unsafe {
                let mut piece = Pages.alloc_zeroed(layout);
                assert!(!piece.is_null() && piece.addr().is_multiple_of(align));
                assert_eq!((piece.read(), piece.add(LARGE - 2).read()), (0, 0));
                piece.add(LARGE - 2).write(7);
                let mut size = layout.size();
                for new in [LARGE + 5, 3 * LARGE, LARGE - 1, LARGE - 1] {
                    piece = Pages.realloc(piece, Layout::from_size_align(size, align).unwrap(), new);
                    size = new;
                    assert_eq!(piece.add(LARGE - 2).read(), 7);
                    assert!(piece.addr().is_multiple_of(align));
                }
                Pages.dealloc(piece, layout);
            }
        }
    }
}
