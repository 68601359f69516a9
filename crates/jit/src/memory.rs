//! Pages of memory.
//!
//! Sound because: a [`Pages`] owns its mapping from `mmap` to `munmap`; its contents are reached only through slices
//! that borrow it, within its accessible part, while that part is readable and writable; after [`Pages::protect`] made
//! a part executable no slice of it is handed out any more.

use crate::error::LoadError;
use std::ptr::NonNull;
use std::sync::OnceLock;

/// Accesses that a range of pages permits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Protection {
    /// Read and execute.
    Execute,
    /// Read.
    Read,
}

/// A mapping: at least one page without access, an accessible part, at least one more page without access.
#[derive(Debug)]
pub(crate) struct Pages {
    base: NonNull<u8>,
    /// Bytes of the whole mapping.
    whole: usize,
    /// Bytes before the accessible part.
    before: usize,
    /// Bytes of the accessible part, a multiple of the page size.
    len: usize,
    page: usize,
    /// Bytes at the start that are no longer writable.
    sealed: usize,
}

// SAFETY: the mapping belongs to the value alone; sharing it only lets code in it be called, which is `unsafe` in itself.
unsafe impl Send for Pages {}
// SAFETY: as above; the bytes cannot be reached through `&Pages`.
unsafe impl Sync for Pages {}

/// Returns the bytes of a page.
pub(crate) fn page_size() -> usize {
    // SAFETY: `sysconf` has no preconditions.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).unwrap_or(4096)
}

impl Pages {
    /// Maps at least `len` bytes, readable and writable, all zero, starting at a multiple of `align` bytes.
    pub(crate) fn map(len: usize, align: usize) -> Result<Pages, LoadError> {
        let page = page_size();
        let align = align.next_multiple_of(page);
        let no_memory = LoadError::Memory { bytes: len };
        let len = len.max(1).checked_next_multiple_of(page).ok_or(no_memory.clone())?;
        let whole = len.checked_add(page + align).ok_or(no_memory)?;
        // SAFETY: an anonymous private mapping at an address of the system's choice touches no existing memory.
        let base = unsafe {
            libc::mmap(std::ptr::null_mut(), whole, libc::PROT_NONE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0)
        };
        if base == libc::MAP_FAILED {
            return Err(LoadError::Memory { bytes: whole });
        }
        let base = NonNull::new(base.cast::<u8>()).ok_or(LoadError::Memory { bytes: whole })?;
        let first = base.as_ptr() as usize + page;
        let before = first.next_multiple_of(align) - base.as_ptr() as usize;
        let pages = Pages { base, whole, before, len, page, sealed: 0 };
        // SAFETY: the range lies within the mapping just made.
        let done = unsafe { libc::mprotect(pages.start().cast(), len, libc::PROT_READ | libc::PROT_WRITE) };
        if done == 0 { Ok(pages) } else { Err(LoadError::Memory { bytes: whole }) }
    }

    fn start(&self) -> *mut u8 {
        // SAFETY: the mapping is long enough for what stands before, `len`, and a page behind.
        unsafe { self.base.as_ptr().add(self.before) }
    }

    /// Address of the accessible part.
    pub(crate) fn address(&self) -> usize {
        self.start() as usize
    }

    /// Returns the part that is still writable, from byte `sealed` on.
    ///
    /// # Panics
    /// If `at` is in the sealed part or the range is not in the mapping.
    pub(crate) fn slice(&mut self, at: usize, len: usize) -> &mut [u8] {
        assert!(
            at >= self.sealed && at.checked_add(len).is_some_and(|end| end <= self.len),
            "outside of the writable part"
        );
        // SAFETY: within the accessible part, which is readable and writable beyond `sealed`; the borrow of `self` keeps
        // other slices away.
        unsafe { std::slice::from_raw_parts_mut(self.start().add(at), len) }
    }

    /// Ends writing to the first bytes, up to `end`, and sets the protection of those that are still writable.
    pub(crate) fn protect(&mut self, end: usize, protection: Protection) -> Result<(), LoadError> {
        let end = end.next_multiple_of(self.page).min(self.len);
        let bytes = end - self.sealed;
        if bytes == 0 {
            return Ok(());
        }
        let flags = match protection {
            Protection::Execute => libc::PROT_READ | libc::PROT_EXEC,
            Protection::Read => libc::PROT_READ,
        };
        if matches!(protection, Protection::Execute) {
            // SAFETY: within the accessible part.
            unsafe { publish_instructions(self.start().add(self.sealed) as usize, bytes) };
        }
        // SAFETY: the range lies within the accessible part, and no slice of it is borrowed while `self` is.
        let done = unsafe { libc::mprotect(self.start().add(self.sealed).cast(), bytes, flags) };
        if done != 0 {
            return Err(LoadError::Memory { bytes });
        }
        self.sealed = end;
        Ok(())
    }
}

/// Makes code just written visible to the fetching of instructions, where processors do not do that by themselves
/// (Arm Architecture Reference Manual, B2.4.4).
///
/// # Safety
/// The range is readable memory.
pub unsafe fn publish_instructions(start: usize, bytes: usize) {
    #[cfg(target_arch = "aarch64")]
    {
        let lines: u64;
        // SAFETY: reads a register that every program may read.
        unsafe { std::arch::asm!("mrs {}, ctr_el0", out(reg) lines, options(nomem, nostack)) };
        // The smallest lines of data and instruction caches, in words, as logarithms.
        let (data, code) = (4 << (lines >> 16 & 15), 4 << (lines & 15));
        // SAFETY: cache maintenance of memory that is readable, as the caller promises.
        unsafe {
            for line in (start & !(data - 1)..start + bytes).step_by(data) {
                std::arch::asm!("dc cvau, {}", in(reg) line, options(nostack));
            }
            std::arch::asm!("dsb ish", options(nostack));
            for line in (start & !(code - 1)..start + bytes).step_by(code) {
                std::arch::asm!("ic ivau, {}", in(reg) line, options(nostack));
            }
            std::arch::asm!("dsb ish", "isb", options(nostack));
        }
    }
    #[cfg(not(target_arch = "aarch64"))]
    let _ = (start, bytes);
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping made in `map`, unmapped once.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.whole) };
    }
}

/// Address of a symbol that this process or one of its shared libraries exports.
pub fn process_symbol(name: &str) -> Option<usize> {
    let name = std::ffi::CString::new(name).ok()?;
    // SAFETY: the name is a string that ends in zero, as `dlsym` requires.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    NonNull::new(address).map(|address| address.as_ptr() as usize)
}

/// Address of a routine of the compiler's library or the mathematics library, which this process need not be linked
/// with. They stay loaded.
pub(crate) fn system_routine(name: &str) -> Option<usize> {
    static LIBRARIES: OnceLock<[usize; 2]> = OnceLock::new();
    let libraries = LIBRARIES.get_or_init(|| {
        // SAFETY: the names are strings that end in zero, and loading these libraries does nothing else.
        [c"libgcc_s.so.1", c"libm.so.6"].map(|file| unsafe { libc::dlopen(file.as_ptr(), libc::RTLD_NOW) } as usize)
    });
    let name = std::ffi::CString::new(name).ok()?;
    libraries.iter().filter(|&&library| library != 0).find_map(|&library| {
        // SAFETY: the library is open, and the name is a string that ends in zero.
        let address = unsafe { libc::dlsym(library as *mut libc::c_void, name.as_ptr()) };
        NonNull::new(address).map(|address| address.as_ptr() as usize)
    })
}

/// Address of the routine that touches each page of the `eax` bytes below the caller's stack pointer. It writes `rax`
/// and `r11` only, as the calling convention `probestack` has it.
#[cfg(target_arch = "x86_64")]
pub(crate) fn probestack() -> Option<usize> {
    // SAFETY: the body is whole: it reads memory only where the caller is about to have its frame, and returns.
    #[unsafe(naked)]
    extern "C" fn routine() {
        core::arch::naked_asm!(
            "lea r11, [rsp + 8]",
            "2: sub r11, 4096",
            "sub rax, 4096",
            "jb 3f",
            "test byte ptr [r11], 0",
            "jmp 2b",
            // Fewer than a page are left: `rax` is how many, less a page.
            "3: sub r11, rax",
            "test byte ptr [r11], 0",
            "ret",
        )
    }
    Some(routine as *const () as usize)
}

/// Returns no other target calls the routine.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn probestack() -> Option<usize> {
    None
}
