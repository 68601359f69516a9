//! Branches to labels: a signed byte or four of distance from the instruction's end.

use kingpost_mach::{BranchForms, Buffer, FixupKind, Label};

/// The form of an unconditional jump; smaller forms are condition codes.
const JUMP: u32 = 16;

/// Appends `jmp label`.
pub(crate) fn jump(label: Label, buffer: &mut Buffer) {
    buffer.branch(label, JUMP, &X64Branches);
}

/// Appends `jcc label`.
pub(crate) fn jump_if(condition: i32, label: Label, buffer: &mut Buffer) {
    buffer.branch(label, condition as u32 & 15, &X64Branches);
}

/// The encodings of branches. The form is the condition code, or 16 for an unconditional jump.
#[derive(Clone, Copy, Debug)]
pub struct X64Branches;

/// The recommended sequences (SDM volume 2, `NOP`, table 4-12), by length.
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
    fn sizes(&self, form: u32) -> (u8, u8) {
        (2, if form == JUMP { 5 } else { 6 })
    }

    fn short_reach(&self, _: u32) -> (i64, i64) {
        (-128 + 2, 127 + 2)
    }

    fn encode(&self, form: u32, long: bool, distance: i64, out: &mut Vec<u8>) {
        let condition = form as u8 & 15;
        match (form == JUMP, long) {
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

    fn patch(&self, kind: FixupKind, field: &mut [u8], distance: i64) {
        let FixupKind::PcRel4(addend) = kind else { unreachable!("the other kinds are of another machine") };
        let value = distance as i32 + addend;
        field.copy_from_slice(&value.to_le_bytes());
    }

    fn nops(&self, bytes: usize, out: &mut Vec<u8>) {
        let longest = NOPS.len() - 1;
        for _ in 0..bytes / longest {
            out.extend_from_slice(NOPS[longest]);
        }
        out.extend_from_slice(NOPS[bytes % longest]);
    }
}
