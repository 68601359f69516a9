//! Branches to labels: a signed distance of one or four bytes from the end of the instruction. Addresses of labels:
//! four bytes.

use crate::regs::{self, CC_NAMES};
use kingpost_mach::{BranchForms, Buffer, Label, Reach};
use kingpost_regalloc::PReg;

/// Form of an unconditional jump; smaller forms are condition codes.
const JUMP: u32 = 16;
/// Form of the address of a label in register 0; the forms for further registers follow.
const ADDRESS: u32 = 32;

/// Returns the form of a label's address in a register.
pub(crate) fn address_form(reg: PReg) -> u32 {
    ADDRESS + u32::from(reg.enc())
}

/// Returns the form of a conditional jump.
pub(crate) fn form(condition: i32) -> u32 {
    condition as u32 & 15
}

/// Appends `jcc label`.
pub(crate) fn jump_if(condition: i32, label: Label, buffer: &mut Buffer) {
    buffer.branch(label, form(condition), &X64Branches);
}

/// Encodings of references. The form is the condition code, 16 for an unconditional jump, or the form of an address.
#[derive(Clone, Copy, Debug)]
pub struct X64Branches;

/// Reach of a signed distance of one byte from the end of the instruction.
const SHORT: Reach = Reach { bytes: 2, low: -128 + 2, high: 127 + 2 };
const JUMP_REACH: [Reach; 2] = [SHORT, Reach { bytes: 5, low: i64::MIN, high: i64::MAX }];
const ADDRESS_REACH: [Reach; 1] = [Reach { bytes: 7, low: i64::MIN, high: i64::MAX }];
const CONDITIONAL_REACH: [Reach; 2] = [SHORT, Reach { bytes: 6, low: i64::MIN, high: i64::MAX }];

/// Recommended sequences (SDM volume 2, `NOP`, table 4-12), by length.
const NOPS: [&[u8]; 10] = [
    &[],
    &[0x90],
    &[0x66, 0x90],
    &[0x0f, 0x1f, 0x00],
    &[0x0f, 0x1f, 0x40, 0x00],
    &[0x0f, 0x1f, 0x44, 0x00, 0x00],
    &[0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00],
    &[0x0f, 0x1f, 0x80, 0x00, 0x00, 0x00, 0x00],
    &[0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00],
    &[0x66, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00],
];

impl BranchForms for X64Branches {
    fn encodings(&self, form: u32) -> &'static [Reach] {
        match form {
            JUMP => &JUMP_REACH,
            ADDRESS.. => &ADDRESS_REACH,
            _ => &CONDITIONAL_REACH,
        }
    }

    fn encode(&self, form: u32, encoding: usize, distance: i64, out: &mut Vec<u8>) {
        if form >= ADDRESS {
            // REX.W 8D /r with a displacement from the end.
            let reg = (form - ADDRESS) as u8;
            out.extend_from_slice(&[0x48 | reg >> 3 << 2, 0x8d, 5 | (reg & 7) << 3]);
            out.extend_from_slice(&((distance - 7) as i32).to_le_bytes());
            return;
        }
        let condition = form as u8 & 15;
        match (form == JUMP, encoding > 0) {
            (true, false) => out.extend_from_slice(&[0xeb, (distance - 2) as u8]),
            (false, false) => out.extend_from_slice(&[0x70 | condition, (distance - 2) as u8]),
            (true, true) => {
                out.push(0xe9);
                out.extend_from_slice(&((distance - 5) as i32).to_le_bytes());
            }
            (false, true) => {
                out.extend_from_slice(&[0x0f, 0x80 | condition]);
                out.extend_from_slice(&((distance - 6) as i32).to_le_bytes());
            }
        }
    }

    fn always_reached(&self) -> usize {
        126
    }

    fn jump(&self) -> u32 {
        JUMP
    }

    fn opposite(&self, form: u32) -> u32 {
        form ^ 1
    }

    fn text(&self, form: u32) -> String {
        match form {
            JUMP => "jmp {}".to_string(),
            ADDRESS.. => format!("lea {}, [rip + {{}}]", regs::name(PReg::int((form - ADDRESS) as u8), 8)),
            _ => format!("j{} {{}}", CC_NAMES[form as usize]),
        }
    }

    fn nops(&self, bytes: usize, out: &mut Vec<u8>) {
        let longest = NOPS.len() - 1;
        for _ in 0..bytes / longest {
            out.extend_from_slice(NOPS[longest]);
        }
        out.extend_from_slice(NOPS[bytes % longest]);
    }
}
