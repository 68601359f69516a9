//! Addresses of the process: its symbols, symbols of system libraries, and a routine of this crate.

use std::ptr::NonNull;
use std::sync::OnceLock;

/// Returns the address of a symbol that this process or one of its shared libraries exports.
pub fn process_symbol(name: &str) -> Option<usize> {
    let name = std::ffi::CString::new(name).ok()?;
    // SAFETY: the name is a string that ends in zero, as `dlsym` requires.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    NonNull::new(address).map(|address| address.as_ptr() as usize)
}

/// Returns the address of a routine of the compiler's library or the mathematics library. The process need not be
/// linked with them. They stay loaded.
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

/// Returns the address of a routine that touches each page of the `eax` bytes below the caller's stack pointer. It
/// changes only `rax` and `r11`, as the calling convention `probestack` requires.
#[cfg(target_arch = "x86_64")]
pub(crate) fn probestack() -> Option<usize> {
    // SAFETY: the body is complete. It reads only memory where the caller is about to have its frame, and returns.
    #[unsafe(naked)]
    extern "C" fn routine() {
        core::arch::naked_asm!(
            "lea r11, [rsp + 8]",
            "2: sub r11, 4096",
            "sub rax, 4096",
            "jb 3f",
            "test byte ptr [r11], 0",
            "jmp 2b",
            // Less than a page is left: `rax` is the number of bytes minus a page.
            "3: sub r11, rax",
            "test byte ptr [r11], 0",
            "ret",
        )
    }
    Some(routine as *const () as usize)
}

/// Returns `None`, because code for other targets does not call the routine.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn probestack() -> Option<usize> {
    None
}
