//! Memory of code and data: runs of whole pages of an [`Arena`].
//!
//! Freed pages keep the protection of their kind while their memory returns to the system, so a process has few mappings
//! however many modules it loads and drops. No page is writable and executable at once, on Apple silicon for any thread.
//!
//! Code is written to a copy on systems that have memory of its own for code ([`System::HAS_CODE_MEMORY`]), and sealing
//! moves it to its place.
//!
//! Soundness: an `Arena` gives every byte to at most one [`Pages`] at a time, and is not released before the last one is
//! dropped. The bytes are accessible only through slices that borrow the `Pages`, while they are readable and writable.
//! After [`Pages::seal`] there are no such slices.

use crate::arena::{Arena, Needs, PageKind, SPARE, shared_arena};
use crate::error::LoadError;
use crate::publish;
use crate::system::{Access, Host, System};
use std::ptr::with_exposed_provenance_mut;
use std::sync::Arc;

/// Targets of indirect branches in code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BranchTargets {
    /// Any instruction.
    Any,
    /// Landing pads only: all code in the pages has them, and processors that support them check them.
    LandingPads,
}

/// Returns the alignment of pages for contents with alignment `align`.
fn page_align(align: usize) -> Result<usize, LoadError> {
    if align.is_power_of_two() { Ok(align.max(Host::page_size())) } else { Err(LoadError::Alignment(align)) }
}

/// Source of a module's pages.
#[derive(Debug, Default)]
pub struct PageSource {
    /// The arena that is tried first.
    home: Option<Arc<Arena>>,
    /// Whether no other arena is used.
    is_closed: bool,
}

impl PageSource {
    /// Returns a source of pages that shares its arenas with all such sources. It reserves addresses when they are
    /// needed.
    pub fn shared() -> PageSource {
        PageSource::default()
    }

    /// Reserves `bytes` bytes of addresses for this source alone. Where the system has memory of its own for code, as on
    /// Apple silicon, that has as many addresses in addition.
    ///
    /// # Errors
    /// If the system refuses them.
    pub fn reserve(bytes: usize) -> Result<PageSource, LoadError> {
        PageSource::reserved(bytes, Host::HAS_CODE_MEMORY)
    }

    /// Reserves `bytes` bytes of addresses, and as many for code if code has memory of its own.
    fn reserved(bytes: usize, has_code_memory: bool) -> Result<PageSource, LoadError> {
        let rounded = bytes.max(1).checked_next_multiple_of(Host::page_size()).ok_or(LoadError::Memory { bytes })?;
        let rooms = [rounded; 2];
        let arena = Arena::reserve(if has_code_memory { &rooms } else { &rooms[1..] }, has_code_memory)?;
        Ok(PageSource { home: Some(Arc::new(arena)), is_closed: true })
    }

    /// Returns pages for each kind with a need. All are in one arena, so that they are near each other.
    ///
    /// # Errors
    /// If the system refuses memory.
    pub(crate) fn together(needs: Needs, align: usize) -> Result<[Option<Pages>; PageKind::ALL.len()], LoadError> {
        let align = page_align(align)?;
        let too_large = || LoadError::Memory { bytes: needs.iter().fold(0, |sum, bytes| sum.saturating_add(*bytes)) };
        let mut rounded = needs;
        for bytes in &mut rounded {
            *bytes = bytes.checked_next_multiple_of(Host::page_size()).ok_or_else(too_large)?;
        }
        loop {
            // Another thread may take this memory first. Then another arena is used.
            let arena = shared_arena(rounded, align)?;
            let mut rooms = arena.rooms();
            if !Arena::fits(&rooms, rounded, align) {
                continue;
            }
            let pages = PageKind::ALL.map(|kind| {
                let bytes = rounded[kind as usize];
                let (start, is_open) =
                    if bytes > 0 { arena.take_from(&mut rooms, kind, bytes, align)? } else { return None };
                Some((Pages { arena: arena.clone(), kind, start, bytes, copy: None, is_sealed: false }, is_open))
            });
            drop(rooms);
            let mut opened = [None, None, None];
            for (opened, pages) in opened.iter_mut().zip(pages) {
                *opened = pages.map(|(pages, is_open)| if is_open { Ok(pages) } else { pages.opened() }).transpose()?;
            }
            return Ok(opened);
        }
    }

    /// Returns pages of at least `bytes` bytes at a multiple of `align`. They are zero, readable and writable until
    /// they are sealed. They are in the arena of the previous pages as long as it has room.
    ///
    /// # Errors
    /// If the system refuses memory, the range of the source is used up, or `align` is not a power of two.
    pub fn allocate(&mut self, kind: PageKind, bytes: usize, align: usize) -> Result<Pages, LoadError> {
        let (align, no_memory) = (page_align(align)?, LoadError::Memory { bytes });
        let bytes = bytes.max(1).checked_next_multiple_of(Host::page_size()).ok_or_else(|| no_memory.clone())?;
        let mut needs = [SPARE; PageKind::ALL.len()];
        needs[kind as usize] = bytes.max(SPARE);
        loop {
            if let Some(arena) = &self.home
                && let Some((start, is_open)) = arena.take(kind, bytes, align)
            {
                let pages = Pages { arena: arena.clone(), kind, start, bytes, copy: None, is_sealed: false };
                return if is_open { Ok(pages) } else { pages.opened() };
            }
            if self.is_closed {
                return Err(no_memory);
            }
            // Another thread may take this memory first. Then another arena is used.
            self.home = Some(shared_arena(needs, align)?);
        }
    }
}

/// A run of pages of one kind. Dropping it returns the pages.
#[derive(Debug)]
pub struct Pages {
    arena: Arc<Arena>,
    kind: PageKind,
    start: usize,
    /// Size in bytes, a multiple of the page size.
    bytes: usize,
    /// Contents before sealing, of code in memory of its own.
    copy: Option<Vec<u8>>,
    is_sealed: bool,
}

impl Pages {
    /// Makes the pages readable and writable.
    fn opened(mut self) -> Result<Pages, LoadError> {
        if self.is_code_memory() {
            self.copy = Some(vec![0; self.bytes]);
            return Ok(self);
        }
        // SAFETY: the pages belong to `self`, and no slice of them is borrowed while `self` is.
        let is_open = unsafe { Host::open(self.start, self.bytes) };
        if is_open { Ok(self) } else { Err(LoadError::Memory { bytes: self.bytes }) }
    }

    /// Returns `true` if the pages are in memory for code alone.
    fn is_code_memory(&self) -> bool {
        self.kind == PageKind::Code && self.arena.has_code_memory()
    }

    /// Returns the address of the first byte.
    pub fn address(&self) -> usize {
        self.start
    }

    /// Returns the number of bytes, a multiple of the page size.
    pub fn size(&self) -> usize {
        self.bytes
    }

    /// Returns the bytes.
    ///
    /// # Panics
    /// If the pages are sealed.
    pub fn contents(&mut self) -> &mut [u8] {
        assert!(!self.is_sealed, "the pages are sealed");
        if let Some(copy) = &mut self.copy {
            return &mut copy[..self.bytes];
        }
        // SAFETY: the bytes belong to `self`, are readable and writable until they are sealed, and were zero at
        // first. The borrow of `self` prevents other slices.
        unsafe { std::slice::from_raw_parts_mut(with_exposed_provenance_mut(self.start), self.bytes) }
    }

    /// Returns the pages beyond the first `bytes` bytes to the arena.
    pub fn truncate(&mut self, bytes: usize) {
        let kept = bytes.min(self.bytes).next_multiple_of(Host::page_size()).min(self.bytes);
        self.give_back_from(kept);
    }

    /// Ends writing to pages that are not [`PageKind::Writable`], and makes code executable.
    ///
    /// # Errors
    /// If the system refuses. The pages are unchanged then.
    pub fn seal(&mut self, targets: BranchTargets) -> Result<(), LoadError> {
        if self.kind == PageKind::Writable || self.is_sealed {
            return Ok(());
        }
        let mut access = self.kind.access();
        if self.kind == PageKind::Code {
            if targets == BranchTargets::LandingPads {
                access = Access::ExecuteLandingPads;
            }
            if let Some(copy) = self.copy.take() {
                // SAFETY: the pages belong to `self`, and no code in them is in use before they are sealed.
                unsafe { Host::write_code(self.start, &copy[..self.bytes]) };
            }
            // SAFETY: the pages are readable.
            unsafe { publish::clean_caches(self.start, self.bytes) };
        }
        // SAFETY: the pages belong to `self`, and no slice of them is borrowed while `self` is.
        if !self.is_code_memory() && !unsafe { Host::protect(self.start, self.bytes, access) } {
            return Err(LoadError::Memory { bytes: self.bytes });
        }
        self.is_sealed = true;
        if self.kind == PageKind::Code {
            #[cfg(test)]
            publish::steps::note(publish::steps::Step::MadeExecutable);
            publish::synchronize_cores();
        }
        Ok(())
    }

    /// Keeps the pages in their current state until the process ends.
    pub fn leak(self) {
        std::mem::forget(self);
    }

    /// Returns the pages from byte `kept` on to the arena. `kept` must be a multiple of the page size.
    fn give_back_from(&mut self, kept: usize) {
        let (start, bytes) = (self.start + kept, self.bytes - kept);
        self.bytes = kept;
        if bytes == 0 {
            return;
        }
        // SAFETY: the pages belonged to `self`, and no slice of them is borrowed while `self` is.
        let is_free = unsafe {
            match self.is_code_memory() {
                true => Host::discard_code(start, bytes),
                false => Host::discard(start, bytes, self.kind.access(), self.is_sealed),
            }
        };
        if is_free {
            self.arena.give_back(self.kind, start, bytes);
        }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        self.give_back_from(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number of mappings that the process has.
    #[cfg(target_os = "linux")]
    fn mappings() -> usize {
        std::fs::read_to_string("/proc/self/maps").unwrap().lines().count()
    }

    #[test]
    fn pages_are_zero_when_they_come_again() {
        let mut source = PageSource::reserve(4 * Host::page_size()).unwrap();
        for kind in PageKind::ALL {
            for seals in [false, true] {
                let mut pages = source.allocate(kind, 4 * Host::page_size(), 1).unwrap();
                assert!(pages.contents().iter().all(|&byte| byte == 0), "{kind:?}");
                pages.contents().fill(0xc3);
                if seals {
                    pages.seal(BranchTargets::Any).unwrap();
                }
                assert!(source.allocate(kind, 1, 1).is_err(), "the range is used up");
            }
        }
    }

    /// Checks that caches are cleaned before code can run, and that processors fetch it anew after that.
    #[test]
    fn sealed_code_is_made_known() {
        use publish::steps::{self, Step};
        let known = [Step::CachesCleaned, Step::MadeExecutable, Step::CoresSynchronized];
        // The second module has the address of the first one.
        for (kind, expected) in [PageKind::Code, PageKind::Code, PageKind::ReadOnly, PageKind::Writable]
            .map(|kind| (kind, if kind == PageKind::Code { &known[..] } else { &[] }))
        {
            let mut pages = PageSource::shared().allocate(kind, 1, 1).unwrap();
            steps::take();
            pages.seal(BranchTargets::Any).unwrap();
            assert_eq!(steps::take(), expected, "{kind:?}");
            pages.seal(BranchTargets::Any).unwrap();
            assert_eq!(steps::take(), [], "{kind:?} again");
        }
    }

    /// Checks code that is written to a copy, as on systems with memory of its own for code, and that the copy is zero
    /// when pages come again.
    #[test]
    fn code_is_moved_to_its_own_memory() {
        let page = Host::page_size();
        let mut source = PageSource::reserved(2 * page, true).unwrap();
        for byte in [1, 2] {
            let mut pages = source.allocate(PageKind::Code, 2 * page, 1).unwrap();
            assert!(pages.contents().iter().all(|&byte| byte == 0));
            pages.contents()[..page].fill(byte);
            pages.truncate(page);
            assert_eq!(pages.contents().len(), page);
            pages.seal(BranchTargets::Any).unwrap();
            // SAFETY: the page is readable, and no code writes to it.
            let sealed: &[u8] =
                unsafe { std::slice::from_raw_parts(with_exposed_provenance_mut(pages.address()), page) };
            assert!(sealed.iter().all(|&found| found == byte));
            let data = source.allocate(PageKind::Writable, 2 * page, 1).unwrap();
            assert!(data.address().abs_diff(pages.address()) >= page, "data is elsewhere");
        }
    }

    #[test]
    fn what_is_cut_off_is_free() {
        let page = Host::page_size();
        let mut source = PageSource::reserve(4 * page).unwrap();
        let mut pages = source.allocate(PageKind::Code, 3 * page, 1).unwrap();
        pages.truncate(page + 1);
        assert_eq!(pages.size(), 2 * page);
        pages.truncate(usize::MAX);
        let more = source.allocate(PageKind::Writable, 2 * page, 1).unwrap();
        assert_eq!(more.address(), pages.address() + 2 * page);
    }

    #[test]
    fn alignment_is_kept() {
        let mut source = PageSource::shared();
        for align in [1, 1 << 12, 1 << 16, 1 << 21, 1 << 30] {
            let pages = source.allocate(PageKind::ReadOnly, 1, align).unwrap();
            assert_eq!(pages.address() % align, 0);
        }
        for (bytes, align) in [(usize::MAX, 1), (1, 1 << 63), (1 << 62, 1 << 62)] {
            assert!(matches!(source.allocate(PageKind::Code, bytes, align), Err(LoadError::Memory { .. })));
        }
        for align in [0, 3, usize::MAX] {
            assert_eq!(source.allocate(PageKind::Code, 1, align).unwrap_err(), LoadError::Alignment(align));
        }
    }

    /// Checks that freeing every other run of pages does not split mappings.
    #[cfg(target_os = "linux")]
    #[test]
    fn many_runs_are_few_mappings() {
        let mut source = PageSource::shared();
        let before = mappings();
        let mut all = Vec::new();
        for n in 0..30_000 {
            let mut pages = source.allocate(PageKind::ALL[n % 3], 1, 1).unwrap();
            pages.contents()[0] = 1;
            pages.seal(BranchTargets::Any).unwrap();
            all.push(Some(pages));
        }
        all.iter_mut().step_by(2).for_each(|pages| drop(pages.take()));
        assert!(mappings() < before + 100, "{before} mappings became {}", mappings());
    }

    #[test]
    #[should_panic = "sealed"]
    fn sealed_pages_are_not_written() {
        let mut pages = PageSource::shared().allocate(PageKind::Code, 1, 1).unwrap();
        pages.seal(BranchTargets::Any).unwrap();
        pages.contents();
    }
}
