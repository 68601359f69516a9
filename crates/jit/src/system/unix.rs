//! Linux and macOS.

#[cfg(all(target_os = "macos", target_arch = "aarch64"))]
use crate::system::apple_silicon;
use crate::system::{Access, System};
use std::ffi::CStr;
use std::ptr::{NonNull, null_mut, with_exposed_provenance_mut};
use std::sync::OnceLock;

pub(crate) enum Unix {}

/// Flags of mappings that are not of a file.
const PLAIN: i32 = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;

/// Shared libraries with the routines that [`System::routine`] finds.
#[cfg(not(target_os = "macos"))]
const LIBRARIES: [&CStr; 2] = [c"libgcc_s.so.1", c"libm.so.6"];
#[cfg(target_os = "macos")]
const LIBRARIES: [&CStr; 1] = [c"libSystem.B.dylib"];

impl System for Unix {
    #[cfg(all(target_os = "macos", target_arch = "aarch64"))]
    const HAS_CODE_MEMORY: bool = true;

    fn page_size() -> usize {
        // SAFETY: `sysconf` has no preconditions.
        let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        usize::try_from(size).unwrap_or(4096)
    }

    fn reserve(bytes: usize) -> Option<usize> {
        // SAFETY: an anonymous private mapping at an address of the system's choice does not change existing memory.
        let start = unsafe { libc::mmap(null_mut(), bytes, libc::PROT_NONE, PLAIN, -1, 0) };
        (start != libc::MAP_FAILED).then(|| start.expose_provenance())
    }

    unsafe fn release(start: usize, bytes: usize) {
        // SAFETY: the caller promises it.
        unsafe { libc::munmap(with_exposed_provenance_mut(start), bytes) };
    }

    unsafe fn open(start: usize, bytes: usize) -> bool {
        // SAFETY: the caller promises it.
        unsafe { Unix::protect(start, bytes, Access::ReadWrite) }
    }

    unsafe fn protect(start: usize, bytes: usize, access: Access) -> bool {
        // SAFETY: the caller promises it.
        unsafe { libc::mprotect(with_exposed_provenance_mut(start), bytes, protection(access)) == 0 }
    }

    unsafe fn discard(start: usize, bytes: usize, access: Access, is_protected: bool) -> bool {
        let address = with_exposed_provenance_mut(start);
        // Elsewhere the advice does not make pages zero.
        // SAFETY: the caller promises it.
        if cfg!(target_os = "linux") && unsafe { libc::madvise(address, bytes, libc::MADV_DONTNEED) } == 0 {
            // SAFETY: the caller promises it.
            return is_protected || unsafe { Unix::protect(start, bytes, access) };
        }
        // The process may have locked the memory. New pages replace it then.
        // SAFETY: the caller promises it.
        unsafe { libc::mmap(address, bytes, protection(access), PLAIN | libc::MAP_FIXED, -1, 0) != libc::MAP_FAILED }
    }

    #[cfg(all(target_os = "macos", target_arch = "aarch64"))]
    fn reserve_code(bytes: usize, near: usize) -> Option<usize> {
        apple_silicon::reserve(bytes, near)
    }

    #[cfg(all(target_os = "macos", target_arch = "aarch64"))]
    unsafe fn write_code(start: usize, code: &[u8]) {
        // SAFETY: the caller promises it.
        unsafe { apple_silicon::write(start, code) }
    }

    #[cfg(all(target_os = "macos", target_arch = "aarch64"))]
    unsafe fn discard_code(start: usize, bytes: usize) -> bool {
        // SAFETY: the caller promises it.
        unsafe { apple_silicon::discard(start, bytes) };
        true
    }

    fn symbol(name: &CStr) -> Option<usize> {
        // SAFETY: the name is a string that ends in zero, as `dlsym` requires.
        let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
        NonNull::new(address).map(|address| address.as_ptr() as usize)
    }

    fn routine(name: &CStr) -> Option<usize> {
        static OPENED: OnceLock<[usize; LIBRARIES.len()]> = OnceLock::new();
        let opened = OPENED.get_or_init(|| {
            // SAFETY: the names are strings that end in zero, and loading these libraries does nothing else.
            LIBRARIES.map(|file| unsafe { libc::dlopen(file.as_ptr(), libc::RTLD_NOW) } as usize)
        });
        opened.iter().filter(|&&library| library != 0).find_map(|&library| {
            // SAFETY: the library is open, and the name is a string that ends in zero.
            let address = unsafe { libc::dlsym(library as *mut libc::c_void, name.as_ptr()) };
            NonNull::new(address).map(|address| address.as_ptr() as usize)
        })
    }

    fn end(text: &[u8], status: u8) -> ! {
        // SAFETY: the bytes are there; the process ends without anything that the heap is needed for.
        unsafe {
            libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len());
            libc::_exit(status.into())
        }
    }
}

fn protection(access: Access) -> i32 {
    match access {
        Access::Read => libc::PROT_READ,
        Access::ReadWrite => libc::PROT_READ | libc::PROT_WRITE,
        Access::Execute => libc::PROT_READ | libc::PROT_EXEC,
        Access::ExecuteLandingPads => libc::PROT_READ | libc::PROT_EXEC | landing_pads(),
    }
}

/// Returns the flag of pages whose landing pads are checked, `PROT_BTI`, if the processor checks them.
fn landing_pads() -> i32 {
    #[cfg(all(target_arch = "aarch64", target_os = "linux"))]
    if std::arch::is_aarch64_feature_detected!("bti") {
        return 0x10;
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pads_are_checked_only_where_there_are_pads() {
        let added = protection(Access::ExecuteLandingPads) ^ protection(Access::Execute);
        #[cfg(all(target_arch = "aarch64", target_os = "linux"))]
        assert_eq!(added != 0, std::arch::is_aarch64_feature_detected!("bti"));
        #[cfg(not(all(target_arch = "aarch64", target_os = "linux")))]
        assert_eq!(added, 0);
    }
}
