//! Unwind information for the unwinder of this process, so that exceptions and backtraces pass through loaded
//! functions.
//!
//! The functions' unwind operations become an `.eh_frame` with absolute addresses (System V ABI, section 4.2.4; DWARF
//! 5, section 6.4). It is registered with the unwinder as long as the functions are loaded. Nothing is registered if
//! the process has no unwinder that accepts registrations.
//!
//! libgcc before version 13 has its registrations in a list with the newest first, and searches it for the one to
//! remove. Dropping the oldest of N modules therefore takes time in proportion to N, and newest first none.

use crate::image::Image;
use crate::symbols::process_symbol;
use kingpost_codegen::DwarfRegisters;
use kingpost_mach::{ModuleBuffer, UnwindOp};
use std::sync::OnceLock;

#[cfg(target_arch = "x86_64")]
pub(crate) const MACHINE: DwarfRegisters = DwarfRegisters::X86_64;

#[cfg(not(target_arch = "x86_64"))]
pub(crate) const MACHINE: DwarfRegisters = DwarfRegisters::AARCH64;

/// Factor of the offsets of saved registers in bytes, downwards.
const DATA_ALIGN: u32 = 8;

const ADVANCE_LOC: u8 = 0x40;
const OFFSET: u8 = 0x80;
const RESTORE: u8 = 0xc0;
const ADVANCE_LOC4: u8 = 0x04;
const OFFSET_EXTENDED: u8 = 0x05;
const RESTORE_EXTENDED: u8 = 0x06;
const REMEMBER_STATE: u8 = 0x0a;
const RESTORE_STATE: u8 = 0x0b;
const DEF_CFA: u8 = 0x0c;
const DEF_CFA_SF: u8 = 0x12;
const AARCH64_NEGATE_RA_STATE: u8 = 0x2d;

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
            let address = process_symbol(name)?;
            // SAFETY: both unwinders declare the functions like this.
            Some(unsafe { std::mem::transmute::<usize, extern "C" fn(*const u8)>(address) })
        };
        Unwinder {
            register: function("__register_frame"),
            deregister: function("__deregister_frame"),
            takes_entries: process_symbol("__unw_add_dynamic_fde").is_some(),
        }
    })
}

/// Unwind information that is registered with the process. Dropping it removes the registration.
#[derive(Debug)]
pub struct Registration {
    /// A CIE, FDEs and the end mark. Must not move or change while registered.
    section: Box<[u8]>,
}

impl Registration {
    /// Registers the functions of `module`, which are loaded in `image`, with the unwinder.
    pub(crate) fn new(module: &ModuleBuffer, image: &Image) -> Registration {
        // SAFETY: `section` follows the rules below.
        unsafe { Registration::of_section(section(module, image).into()) }
    }

    /// Registers the functions of an `.eh_frame` section with absolute addresses.
    ///
    /// # Safety
    /// The section must be well-formed: one CIE at its start, then FDEs that refer to it, then four zero bytes, in
    /// the layout of chapter 6.4 of DWARF 5 and section 10.6 of the Linux Standard Base. The FDEs must describe the
    /// code at their addresses correctly for as long as it can run.
    pub unsafe fn of_section(section: Box<[u8]>) -> Registration {
        let registration = Registration { section };
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
        self.tell(unwinder().deregister);
    }
}

/// Returns an `.eh_frame` section. Omits functions that are not in `image`.
fn section(module: &ModuleBuffer, image: &Image) -> Vec<u8> {
    let mut out = Vec::new();
    entry(&mut out, |out| {
        out.extend([0; 4]);
        // The version, and no augmentation: addresses are plain.
        out.extend([1, 0, MACHINE.code_align]);
        // -8 as a signed LEB128.
        out.push(0x78);
        out.push(MACHINE.return_address);
        out.extend([DEF_CFA, MACHINE.stack_pointer, MACHINE.entry_bytes]);
        if MACHINE.entry_bytes > 0 {
            out.extend([OFFSET | MACHINE.return_address, 1]);
        }
    });
    for f in module.functions() {
        let Some(address) = image.address(&f.function.head.name) else { continue };
        entry(&mut out, |out| {
            // Distance back to the CIE.
            out.extend((out.len() as u32).to_le_bytes());
            out.extend((address as u64).to_le_bytes());
            out.extend((f.code.len() as u64).to_le_bytes());
            let mut at = 0;
            for site in f.unwind {
                advance((site.offset - at) / u32::from(MACHINE.code_align), out);
                at = site.offset;
                instruction(site.op, out);
            }
        });
    }
    out.extend([0; 4]);
    out
}

/// Appends an entry: its length, the output of `fill`, and padding to whole words.
fn entry(out: &mut Vec<u8>, fill: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend([0; 4]);
    fill(out);
    out.resize((out.len() - start).next_multiple_of(8) + start, 0);
    let length = (out.len() - start - 4) as u32;
    out[start..start + 4].copy_from_slice(&length.to_le_bytes());
}

fn advance(units: u32, out: &mut Vec<u8>) {
    match units {
        0 => {}
        1..64 => out.push(ADVANCE_LOC | units as u8),
        _ => {
            out.push(ADVANCE_LOC4);
            out.extend(units.to_le_bytes());
        }
    }
}

fn instruction(op: UnwindOp, out: &mut Vec<u8>) {
    match op {
        UnwindOp::CfaStackPointer(bytes) => define_cfa(MACHINE.stack_pointer, bytes, out),
        UnwindOp::CfaPopped(bytes) => {
            // The CFA is below the stack pointer, and offsets are divided by -8.
            out.extend([DEF_CFA_SF, MACHINE.stack_pointer]);
            signed_leb128(bytes / DATA_ALIGN, out);
        }
        UnwindOp::CfaFramePointer(bytes) => define_cfa(MACHINE.frame_pointer, bytes, out),
        UnwindOp::Saved(reg, below) => {
            match MACHINE.number(reg) {
                number @ 0..64 => out.push(OFFSET | number),
                number => out.extend([OFFSET_EXTENDED, number]),
            }
            leb128(below / DATA_ALIGN, out);
        }
        UnwindOp::Restored(reg) => match MACHINE.number(reg) {
            number @ 0..64 => out.push(RESTORE | number),
            number => out.extend([RESTORE_EXTENDED, number]),
        },
        UnwindOp::Allocated(_) => {}
        UnwindOp::SignedReturnToggled => out.push(AARCH64_NEGATE_RA_STATE),
        UnwindOp::EpilogueBegin => out.push(REMEMBER_STATE),
        UnwindOp::EpilogueEnd => out.push(RESTORE_STATE),
    }
}

fn define_cfa(reg: u8, bytes: u32, out: &mut Vec<u8>) {
    out.extend([DEF_CFA, reg]);
    leb128(bytes, out);
}

fn leb128(mut value: u32, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a non-negative number as a signed LEB128, in which bit 6 of the last byte is the sign.
fn signed_leb128(mut value: u32, out: &mut Vec<u8>) {
    while value >= 0x40 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;
    use kingpost_regalloc::PReg;

    #[test]
    fn numbers_have_the_shortest_form() {
        let bytes = |fill: &dyn Fn(&mut Vec<u8>)| {
            let mut out = Vec::new();
            fill(&mut out);
            out
        };
        assert_eq!(bytes(&|out| leb128(0, out)), [0]);
        assert_eq!(bytes(&|out| leb128(300, out)), [0xac, 2]);
        assert_eq!(bytes(&|out| signed_leb128(63, out)), [63]);
        assert_eq!(bytes(&|out| signed_leb128(64, out)), [0xc0, 0]);
        assert_eq!(bytes(&|out| advance(0, out)), []);
        assert_eq!(bytes(&|out| advance(63, out)), [0x7f]);
        assert_eq!(bytes(&|out| advance(64, out)), [4, 64, 0, 0, 0]);
        assert_eq!(bytes(&|out| instruction(UnwindOp::Saved(PReg::int(3), 24), out)).last(), Some(&3));
    }

    #[test]
    fn entries_are_whole_words() {
        let mut out = Vec::new();
        entry(&mut out, |out| out.extend([7; 5]));
        assert_eq!(out, [12, 0, 0, 0, 7, 7, 7, 7, 7, 0, 0, 0, 0, 0, 0, 0]);
    }
}
