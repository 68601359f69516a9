//! Branches to labels and addresses of jump tables, whose forms have limited reach.
//!
//! | instruction | reach | beyond |
//! |---|---|---|
//! | `tbz`, `tbnz` | 32 KiB | the opposite branch around a `b` |
//! | `b.cond`, `cbz`, `cbnz` | 1 MiB | the opposite branch around a `b` |
//! | `b` | 128 MiB | address in x16, `br x16` |
//! | `adr` | 1 MiB | distance in x16, added to an `adr` |
//!
//! A form is the word of the instruction without its distance.

use crate::regs::{CC_NAMES, X16, X17};
use kingpost_mach::{BranchForms, Buffer, Label, Reach};
use kingpost_regalloc::PReg;

const B: u32 = 0x1400_0000;
const B_COND: u32 = 0x5400_0000;
/// `adr`, whose register is in the low bits.
pub(crate) const ADR: u32 = 0x1000_0000;
/// The bit that turns `cbz` into `cbnz` and `tbz` into `tbnz`.
const OPPOSITE_TEST: u32 = 1 << 24;

/// Returns the form of `b.cond`.
pub(crate) fn form(condition: i32) -> u32 {
    B_COND | condition as u32 & 15
}

/// Appends `b.cond label`.
pub(crate) fn jump_if(condition: i32, label: Label, buffer: &mut Buffer) {
    buffer.branch(label, form(condition), &A64Branches);
}

/// Appends a branch that tests a register: `word` is `cbz`, `cbnz`, `tbz` or `tbnz` without its distance.
pub(crate) fn jump_test(word: u32, label: Label, buffer: &mut Buffer) {
    buffer.branch(label, word, &A64Branches);
}

/// The encodings of references.
#[derive(Clone, Copy, Debug)]
pub struct A64Branches;

#[derive(Clone, Copy)]
enum Kind {
    Jump,
    Condition,
    Test,
    TestBit,
    Adr,
}

fn kind(form: u32) -> Kind {
    match form >> 24 {
        0x14 => Kind::Jump,
        0x54 => Kind::Condition,
        0x34 | 0x35 | 0xb4 | 0xb5 => Kind::Test,
        0x36 | 0x37 | 0xb6 | 0xb7 => Kind::TestBit,
        _ => Kind::Adr,
    }
}

/// Returns an encoding of `bytes` bytes whose distance has `bits` bits, in words, counted from byte `from` of the
/// encoding.
const fn reach(bytes: u8, bits: u32, from: i64) -> Reach {
    let half = 1 << (bits + 1);
    Reach { bytes, low: from - half, high: from + half - 4 }
}

const fn everywhere(bytes: u8) -> Reach {
    Reach { bytes, low: i64::MIN, high: i64::MAX }
}

/// Bytes of [`far_jump`].
const FAR: u8 = 20;
const JUMP: [Reach; 2] = [reach(4, 26, 0), everywhere(FAR)];
const TEST: [Reach; 3] = [reach(4, 19, 0), reach(8, 26, 4), everywhere(4 + FAR)];
const TEST_BIT: [Reach; 3] = [reach(4, 14, 0), reach(8, 26, 4), everywhere(4 + FAR)];
/// Encodings of `adr`, whose distance is in bytes.
const ADDRESS: [Reach; 2] = [Reach { bytes: 4, low: -(1 << 20), high: (1 << 20) - 1 }, everywhere(16)];

impl BranchForms for A64Branches {
    fn encodings(&self, form: u32) -> &'static [Reach] {
        match kind(form) {
            Kind::Jump => &JUMP,
            Kind::Condition | Kind::Test => &TEST,
            Kind::TestBit => &TEST_BIT,
            Kind::Adr => &ADDRESS,
        }
    }

    fn encode(&self, form: u32, encoding: usize, distance: i64, out: &mut Vec<u8>) {
        match (kind(form), encoding) {
            (_, 0) => put(form | near(form, distance), out),
            (Kind::Jump, _) => far_jump(distance, out),
            (Kind::Adr, _) => {
                put(form, out);
                offset_from(PReg::int((form & 31) as u8), X16, distance, out);
            }
            (Kind::Condition | Kind::Test | Kind::TestBit, _) => {
                let opposite = self.opposite(form);
                let size = self.encodings(form)[encoding].bytes;
                put(opposite | near(opposite, i64::from(size)), out);
                if encoding == 1 {
                    put(B | near(B, distance - 4), out);
                } else {
                    far_jump(distance - 4, out);
                }
            }
        }
    }

    fn always_reached(&self) -> usize {
        TEST_BIT[0].high as usize
    }

    fn jump(&self) -> u32 {
        B
    }

    fn opposite(&self, form: u32) -> u32 {
        if form >> 24 == B_COND >> 24 { form ^ 1 } else { form ^ OPPOSITE_TEST }
    }

    fn text(&self, form: u32) -> String {
        let opposite = if form & OPPOSITE_TEST == 0 { "z" } else { "nz" };
        let reg = format!("{}{}", if form >> 31 != 0 { 'x' } else { 'w' }, form & 31);
        match kind(form) {
            Kind::Jump => "b {}".to_string(),
            Kind::Condition => format!("b.{} {{}}", CC_NAMES[form as usize & 15]),
            Kind::Test => format!("cb{opposite} {reg}, {{}}"),
            Kind::TestBit => format!("tb{opposite} {reg}, #{}, {{}}", form >> 26 & 32 | form >> 19 & 31),
            Kind::Adr => format!("adr x{}, {{}}", form & 31),
        }
    }

    fn grid(&self) -> usize {
        4
    }

    fn nops(&self, bytes: usize, out: &mut Vec<u8>) {
        for _ in 0..bytes / 4 {
            put(0xd503_201f, out);
        }
    }
}

fn put(word: u32, out: &mut Vec<u8>) {
    out.extend_from_slice(&word.to_le_bytes());
}

/// Returns the field for a distance within the reach of one instruction.
fn near(form: u32, distance: i64) -> u32 {
    let words = (distance >> 2) as u32;
    match kind(form) {
        Kind::Jump => words & 0x3ff_ffff,
        Kind::Condition | Kind::Test => (words & 0x7_ffff) << 5,
        Kind::TestBit => (words & 0x3fff) << 5,
        Kind::Adr => (distance as u32 & 3) << 29 | (words & 0x7_ffff) << 5,
    }
}

/// Emits `adr x16, .; movz w17, low; movk w17, high; add x16, x16, w17, sxtw; br x16`.
fn far_jump(distance: i64, out: &mut Vec<u8>) {
    put(ADR | u32::from(X16.enc()), out);
    offset_from(X16, X17, distance, out);
    put(0xd61f_0000 | u32::from(X16.enc()) << 5, out);
}

/// Adds `distance` to `to`. Clobbers `scratch`.
fn offset_from(to: PReg, scratch: PReg, distance: i64, out: &mut Vec<u8>) {
    let (to, scratch, distance) = (u32::from(to.enc()), u32::from(scratch.enc()), distance as u32);
    put(0x5280_0000 | (distance & 0xffff) << 5 | scratch, out);
    put(0x72a0_0000 | (distance >> 16) << 5 | scratch, out);
    put(0x8b20_c000 | scratch << 16 | to << 5 | to, out);
}
