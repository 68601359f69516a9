//! Unwind information for the unwinder of this process, so that exceptions and backtraces pass through loaded
//! functions.
//!
//! The functions' unwind operations become an `.eh_frame` (`eh_frame.rs`), which is registered with the unwinder as long as
//! the functions are loaded. Nothing is registered if the process has no unwinder that accepts registrations.
//!
//! libgcc before version 13 has its registrations in a list with the newest first, and searches it for the one to
//! remove. Dropping the oldest of N modules therefore takes time in proportion to N, and newest first none.
//!
//! On Windows the unwinder reads the table of functions in an image instead (`function_table.rs`), and there is no
//! `.eh_frame`.

#[cfg(not(windows))]
use crate::eh_frame;
#[cfg(windows)]
use crate::function_table::LoadedTable;
use crate::image::Image;
use crate::symbols::process_symbol;
use kingpost_mach::ModuleBuffer;
use std::sync::OnceLock;

/// Registration functions of the process's unwinder.
struct Unwinder {
    register: Option<extern "C" fn(*const u8)>,
    deregister: Option<extern "C" fn(*const u8)>,
    /// Whether the functions take single FDEs, as in LLVM's unwinder, instead of a whole section.
    takes_entries: bool,
}

/// Returns the registration functions of the process's unwinder. They are looked up once.
fn unwinder() -> &'static Unwinder {
    static UNWINDER: OnceLock<Unwinder> = OnceLock::new();
    UNWINDER.get_or_init(|| {
        let function = |name| {
            // What processes on Windows have of these names is for other code.
            let address = if cfg!(windows) { None } else { process_symbol(name) }?;
            // SAFETY: both unwinders declare the functions like this.
            Some(unsafe { std::mem::transmute::<usize, extern "C" fn(*const u8)>(address) })
        };
        Unwinder {
            register: function("__register_frame"),
            deregister: function("__deregister_frame"),
            // The system library of macOS is LLVM's unwinder, and need not export the function.
            takes_entries: cfg!(target_vendor = "apple") || process_symbol("__unw_add_dynamic_fde").is_some(),
        }
    })
}

/// Unwind information that is registered with the process. Dropping it removes the registration.
#[derive(Debug)]
pub struct Registration {
    /// A CIE, FDEs and the end mark. Must not move or change while registered.
    section: Box<[u8]>,
    #[cfg(windows)]
    table: Option<LoadedTable>,
}

impl Registration {
    /// Registers the functions of `module`, which are loaded in `image`, with the unwinder.
    ///
    /// # Safety
    /// The image must stay loaded until the registration is dropped.
    #[cfg(windows)]
    pub(crate) unsafe fn new(_module: &ModuleBuffer, image: &Image) -> Registration {
        let table = image.function_table();
        if let Some(table) = table {
            // SAFETY: the caller promises it.
            unsafe { table.register() };
        }
        Registration { section: Box::default(), table }
    }

    /// Registers the functions of `module`, which are loaded in `image`, with the unwinder.
    ///
    /// # Safety
    /// The image must stay loaded until the registration is dropped.
    #[cfg(not(windows))]
    pub(crate) unsafe fn new(module: &ModuleBuffer, image: &Image) -> Registration {
        // SAFETY: `section` follows the rules below.
        unsafe { Registration::of_section(eh_frame::section(module, image).into()) }
    }

    /// Registers the functions of an `.eh_frame` section with absolute addresses.
    ///
    /// # Safety
    /// The section must be well-formed: one CIE at its start, then FDEs that refer to it, then four zero bytes, in
    /// the layout of chapter 6.4 of DWARF 5 and section 10.6 of the Linux Standard Base. The FDEs must describe the
    /// code at their addresses correctly for as long as it can run.
    pub unsafe fn of_section(section: Box<[u8]>) -> Registration {
        let registration = Registration {
            section,
            #[cfg(windows)]
            table: None,
        };
        registration.tell(unwinder().register);
        registration
    }

    /// Returns the section.
    pub fn section(&self) -> &[u8] {
        &self.section
    }

    /// Calls a function of the unwinder, if it exists, with the section or with each FDE.
    fn tell(&self, function: Option<extern "C" fn(*const u8)>) {
        let Some(function) = function else { return };
        if !unwinder().takes_entries {
            function(self.section.as_ptr());
            return;
        }
        let mut at = 0;
        while let Some(length) = self.section[at..].first_chunk().map(|bytes| u32::from_le_bytes(*bytes)) {
            if length == 0 {
                break;
            }
            if at > 0 {
                function(self.section[at..].as_ptr());
            }
            at += 4 + length as usize;
        }
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        #[cfg(windows)]
        if let Some(table) = self.table {
            table.deregister();
        }
        self.tell(unwinder().deregister);
    }
}
