//! Windows.

use crate::system::{Access, System};
use std::ffi::CStr;
use std::ptr::{null_mut, with_exposed_provenance_mut};
use std::sync::OnceLock;
use windows_sys::Win32::Foundation::HMODULE;
use windows_sys::Win32::Storage::FileSystem::WriteFile;
use windows_sys::Win32::System::Console::{GetStdHandle, STD_ERROR_HANDLE};
use windows_sys::Win32::System::LibraryLoader::{GetProcAddress, LoadLibraryA};
use windows_sys::Win32::System::Memory::{
    MEM_COMMIT, MEM_DECOMMIT, MEM_RELEASE, MEM_RESERVE, PAGE_EXECUTE_READ, PAGE_NOACCESS, PAGE_READONLY,
    PAGE_READWRITE, VirtualAlloc, VirtualFree, VirtualProtect,
};
use windows_sys::Win32::System::ProcessStatus::EnumProcessModules;
use windows_sys::Win32::System::SystemInformation::GetSystemInfo;
use windows_sys::Win32::System::Threading::{ExitProcess, GetCurrentProcess};

pub(crate) enum Windows {}

/// The C library of the system, which every process may load.
const LIBRARIES: [&CStr; 2] = [c"ucrtbase.dll", c"msvcrt.dll"];

/// Largest number of modules of the process in which symbols are looked up.
const MODULES: usize = 1 << 10;

impl System for Windows {
    fn page_size() -> usize {
        // SAFETY: all fields are numbers and addresses, and the call writes to the place that it is given.
        let info = unsafe {
            let mut info = std::mem::zeroed();
            GetSystemInfo(&mut info);
            info
        };
        info.dwPageSize as usize
    }

    fn reserve(bytes: usize) -> Option<usize> {
        // SAFETY: a reservation at an address of the system's choice does not change existing memory.
        let start = unsafe { VirtualAlloc(null_mut(), bytes, MEM_RESERVE, PAGE_NOACCESS) };
        (!start.is_null()).then(|| start.expose_provenance())
    }

    unsafe fn release(start: usize, _bytes: usize) {
        // SAFETY: the caller promises it. The system knows the size.
        unsafe { VirtualFree(with_exposed_provenance_mut(start), 0, MEM_RELEASE) };
    }

    unsafe fn open(start: usize, bytes: usize) -> bool {
        // SAFETY: the caller promises it.
        unsafe { !VirtualAlloc(with_exposed_provenance_mut(start), bytes, MEM_COMMIT, PAGE_READWRITE).is_null() }
    }

    unsafe fn protect(start: usize, bytes: usize, access: Access) -> bool {
        let protection = match access {
            Access::Read => PAGE_READONLY,
            Access::ReadWrite => PAGE_READWRITE,
            Access::Execute | Access::ExecuteLandingPads => PAGE_EXECUTE_READ,
        };
        let mut previous = 0;
        // SAFETY: the caller promises it, and the place for the previous protection lives until the call returns.
        unsafe { VirtualProtect(with_exposed_provenance_mut(start), bytes, protection, &mut previous) != 0 }
    }

    unsafe fn discard(start: usize, bytes: usize, _access: Access, _is_protected: bool) -> bool {
        // SAFETY: the caller promises it.
        unsafe { VirtualFree(with_exposed_provenance_mut(start), bytes, MEM_DECOMMIT) != 0 }
    }

    fn symbol(name: &CStr) -> Option<usize> {
        let mut modules: [HMODULE; MODULES] = [null_mut(); MODULES];
        let mut needed = 0;
        // SAFETY: the place for the modules has the size that the call is told.
        let is_known = unsafe {
            EnumProcessModules(GetCurrentProcess(), modules.as_mut_ptr(), size_of_val(&modules) as u32, &mut needed)
        };
        let count = if is_known == 0 { 0 } else { (needed as usize / size_of::<HMODULE>()).min(MODULES) };
        modules[..count].iter().find_map(|&module| export(module, name))
    }

    fn routine(name: &CStr) -> Option<usize> {
        static OPENED: OnceLock<[usize; LIBRARIES.len()]> = OnceLock::new();
        // SAFETY: the names are strings that end in zero, and loading these libraries does nothing else.
        let opened =
            OPENED.get_or_init(|| LIBRARIES.map(|file| unsafe { LoadLibraryA(file.as_ptr().cast()) } as usize));
        opened.iter().filter(|&&library| library != 0).find_map(|&library| export(library as HMODULE, name))
    }

    fn end(text: &[u8], status: u8) -> ! {
        // SAFETY: the bytes are there; the process ends without anything that the heap is needed for.
        unsafe {
            WriteFile(GetStdHandle(STD_ERROR_HANDLE), text.as_ptr(), text.len() as u32, null_mut(), null_mut());
            ExitProcess(status.into())
        }
    }
}

/// Returns the address of a symbol that a module exports.
fn export(module: HMODULE, name: &CStr) -> Option<usize> {
    // SAFETY: modules of a process stay loaded while it looks up their symbols, and the name ends in zero.
    let address = unsafe { GetProcAddress(module, name.as_ptr().cast()) };
    address.map(|address| address as usize)
}
