//! Unwind operations as `.eh_frame` with absolute addresses (System V ABI, section 4.2.4; DWARF 5, section 6.4).

use crate::debug_info::MACHINE;
use crate::image::Image;
use kingpost_mach::{ModuleBuffer, UnwindOp};

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

/// Returns the section of the functions of `module`. Omits functions that are not in `image`.
pub(crate) fn section(module: &ModuleBuffer, image: &Image) -> Vec<u8> {
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
