//! Two loads or two stores of neighboring words become one instruction.
//!
//! ```text
//! str x0, [sp, #24]
//! str x1, [sp, #16]       →       stp x1, x0, [sp, #16]
//! ```
//! Spills and fills around calls often come in such sequences, as do loads of consecutive fields. The pair is joined
//! when the second instruction is emitted, and only the preceding word is considered. Loads that may trap are joined
//! to one that may trap. Stores that may trap are not joined, because the first one must happen if the second one
//! traps. Source: Arm Architecture Reference Manual, C4.1, "Loads and Stores".

use crate::immediates::paired;
use crate::regs::name;
use kingpost_mach::{Buffer, LastTwoWords};
use kingpost_regalloc::{PReg, RegClass};

/// Load or store.
#[derive(Clone, Copy)]
struct Access {
    /// Bits of the word except for register, base and offset.
    kind: u32,
    base: u32,
    register: u32,
    /// Offset from the base in bytes.
    offset: i64,
    bytes: i64,
}

/// Joins the last two instructions if they are such a pair.
pub(crate) fn join(buffer: &mut Buffer) {
    let Some(last) = buffer.last_two_words() else { return };
    if let Some((word, low, high)) = pair(last) {
        buffer.replace_last_two_words(last, word, || text(low, high));
    }
}

/// Joins the last two instructions if they are such a pair and differ in register and offset only. Other words are
/// seldom a pair, so this check is done first.
pub(crate) fn join_alike(buffer: &mut Buffer) {
    let Some(&bytes) = buffer.bytes().last_chunk() else { return };
    let words = u64::from_le_bytes(bytes);
    if (words as u32 ^ (words >> 32) as u32) & ALIKE == 0 {
        join(buffer);
    }
}

/// Bits of the word of a load or store except for register and offset.
const ALIKE: u32 = 0xffc0_03e0;
/// Bit that distinguishes a load from a store, also in pairs.
const LOAD: u32 = 1 << 22;
/// Bit of vector registers.
const FLOAT: u32 = 1 << 26;
/// Bits that distinguish the kinds: size, class of the register, direction.
const KIND: u32 = 0xc4c0_0000;

/// Stores of w, x, s, d and q registers: the kind, the pair form, the binary logarithm of the size.
const KINDS: [(u32, u32, u32); 5] = [
    (0x8000_0000, 0x2900_0000, 2),
    (0xc000_0000, 0xa900_0000, 3),
    (0x8400_0000, 0x2d00_0000, 2),
    (0xc400_0000, 0x6d00_0000, 3),
    (0x0480_0000, 0xad00_0000, 4),
];

/// Returns the pair form of a kind, and the binary logarithm of its size.
fn pair_form(kind: u32) -> Option<(u32, u32)> {
    KINDS.iter().find(|k| k.0 == kind & !LOAD).map(|&(_, form, scale)| (form | kind & LOAD, scale))
}

fn access(word: u32) -> Option<Access> {
    let base = word >> 5 & 31;
    let kind = word & KIND;
    let (_, scale) = pair_form(kind)?;
    let offset = if word & 0x3b00_0000 == 0x3900_0000 {
        i64::from(word >> 10 & 0xfff) << scale
    } else if word & 0x3b20_0c00 == 0x3800_0000 {
        i64::from((word << 11) as i32 >> 23)
    } else {
        return None;
    };
    Some(Access { kind, base, register: word & 31, offset, bytes: 1 << scale })
}

/// Returns the word for both accesses, and the accesses in the order of their addresses.
fn pair(last: LastTwoWords) -> Option<(u32, Access, Access)> {
    let (first, second) = (access(last.words[0])?, access(last.words[1])?);
    let (low, high) = if first.offset < second.offset { (first, second) } else { (second, first) };
    let is_load = first.kind & LOAD != 0;
    // The register loaded first must not be the base of the second load.
    let apart = low.register != high.register && (first.kind & FLOAT != 0 || first.register != first.base);
    let fits = first.kind == second.kind && first.base == second.base && high.offset - low.offset == low.bytes;
    if !fits || is_load && !apart || last.traps && !is_load {
        return None;
    }
    let field = paired(low.offset, low.bytes as u8)?;
    let (word, _) = pair_form(first.kind)?;
    Some((word | field << 15 | high.register << 10 | low.base << 5 | low.register, low, high))
}

/// Returns the text of the pair.
fn text(low: Access, high: Access) -> String {
    let mnemonic = if low.kind & LOAD == 0 { "stp" } else { "ldp" };
    let class = if low.kind & FLOAT == 0 { RegClass::Int } else { RegClass::Float };
    // Register 31 is the stack pointer as a base, and zero as a register to store.
    let register = |access: Access| match (class, access.register, access.bytes) {
        (RegClass::Int, 31, 8) => "xzr".to_owned(),
        (RegClass::Int, 31, _) => "wzr".to_owned(),
        (_, register, bytes) => name(PReg::new(class, register as u8), bytes as u8),
    };
    let base = name(PReg::int(low.base as u8), 8);
    let offset = if low.offset == 0 { String::new() } else { format!(", #{}", low.offset) };
    format!("{mnemonic} {}, {}, [{base}{offset}]", register(low), register(high))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::encode;
    use crate::regs::{v, x};
    use crate::rows;
    use kingpost_mach::{Args, Label, Mem, MemBase, RowId};

    type Case = (RowId, PReg, MemBase, i64);

    /// Returns the words of two accesses, joined if they can be.
    fn joined(first: Case, second: Case) -> Vec<u32> {
        let mut buffer = Buffer::default();
        buffer.start(0);
        for (row, reg, base, disp) in [first, second] {
            encode(row, &Args::mem(&[reg], Mem::base(base, disp)), &mut buffer);
        }
        join(&mut buffer);
        buffer.bytes().chunks(4).map(|w| u32::from_le_bytes(w.try_into().unwrap())).collect()
    }

    #[test]
    fn neighbours_in_the_frame_are_joined() {
        let (sp, fp) = (MemBase::StackPointer, MemBase::FramePointer);
        let cases: [(Case, Case, u32); 7] = [
            // stp x1, x0, [sp, #16]
            ((rows::STR_MR.of(64), x(0), sp, 24), (rows::STR_MR.of(64), x(1), sp, 16), 0xa901_03e1),
            // stp x0, x0, [x29, #-16]
            ((rows::STR_MR.of(64), x(0), fp, -16), (rows::STR_MR.of(64), x(0), fp, -8), 0xa93f_03a0),
            // ldp w2, w3, [x29, #-256]
            ((rows::LDR_RM.of(32), x(2), fp, -256), (rows::LDR_RM.of(32), x(3), fp, -252), 0x2960_0fa2),
            // ldp w2, w3, [sp, #252]
            ((rows::LDR_RM.of(32), x(2), sp, 252), (rows::LDR_RM.of(32), x(3), sp, 256), 0x295f_8fe2),
            // ldp s4, s5, [sp]
            ((rows::LDR_FM.of(32), v(5), sp, 4), (rows::LDR_FM.of(32), v(4), sp, 0), 0x2d40_17e4),
            // stp d4, d5, [sp, #8]
            ((rows::STR_MF.of(64), v(4), sp, 8), (rows::STR_MF.of(64), v(5), sp, 16), 0x6d00_97e4),
            // ldp q4, q5, [x29, #-32]
            ((rows::LDR_FM.of(128), v(4), fp, -32), (rows::LDR_FM.of(128), v(5), fp, -16), 0xad7f_17a4),
        ];
        for (first, second, expected) in cases {
            assert_eq!(joined(first, second), [expected], "{first:?}, {second:?}");
        }
    }

    #[test]
    fn a_stored_zero_is_not_the_stack_pointer() {
        // str x0, [sp, #16]; str xzr, [sp, #24]
        let accesses = [0xf900_0be0, 0xf900_0fff].map(|word| access(word).unwrap());
        assert_eq!(text(accesses[0], accesses[1]), "stp x0, xzr, [sp, #16]");
    }

    #[test]
    fn others_are_left_alone() {
        let (sp, fp) = (MemBase::StackPointer, MemBase::FramePointer);
        let first: Case = (rows::LDR_RM.of(64), x(0), sp, 16);
        let others: [Case; 8] = [
            (rows::LDR_RM.of(64), x(1), sp, 32),
            (rows::LDR_RM.of(64), x(0), sp, 24),
            (rows::LDR_RM.of(64), x(1), fp, 24),
            (rows::LDR_RM.of(64), x(1), MemBase::Reg(x(5)), 24),
            (rows::LDR_FM.of(64), v(1), sp, 24),
            (rows::LDR_RM.of(32), x(1), sp, 24),
            (rows::STR_MR.of(64), x(1), sp, 24),
            (rows::LDRSW64_RM, x(1), sp, 24),
        ];
        for second in others {
            assert_eq!(joined(first, second).len(), 2, "{second:?}");
        }
        // Out of a pair's reach, and not a multiple of the size.
        assert_eq!(joined((rows::LDR_RM.of(64), x(0), sp, 512), (rows::LDR_RM.of(64), x(1), sp, 520)).len(), 2);
        assert_eq!(joined((rows::LDR_RM.of(64), x(0), sp, 4), (rows::LDR_RM.of(64), x(1), sp, 12)).len(), 2);
    }

    #[test]
    fn a_label_or_a_trap_keeps_them_apart() {
        let code = |code| kingpost_ir::TrapCode::user(code).unwrap();
        let length = |row: RowId, before: &dyn Fn(&mut Buffer), between: &dyn Fn(&mut Buffer)| {
            let access = |buffer: &mut Buffer, reg, disp| {
                encode(row, &Args::mem(&[reg], Mem::base(MemBase::StackPointer, disp)), buffer);
            };
            let mut buffer = Buffer::default();
            buffer.start(1);
            before(&mut buffer);
            access(&mut buffer, x(0), 0);
            between(&mut buffer);
            access(&mut buffer, x(1), 8);
            join(&mut buffer);
            (buffer.len(), buffer.last_two_words().is_some())
        };
        let (load, store) = (rows::LDR_RM.of(64), rows::STR_MR.of(64));
        assert_eq!(length(load, &|_| {}, &|_| {}).0, 4);
        assert_eq!(length(load, &|_| {}, &|b| b.bind(Label::new(0))).0, 8);
        assert_eq!(length(load, &|_| {}, &|b| b.trap(code(1))).0, 8);
        assert_eq!(length(load, &|b| b.trap(code(1)), &|_| {}).0, 8);
        assert_eq!(length(load, &|b| b.trap(code(1)), &|b| b.trap(code(2))).0, 8);
        // Two loads become one that may trap. Two stores do not, because the first one must happen.
        assert_eq!(length(load, &|b| b.trap(code(1)), &|b| b.trap(code(1))).0, 4);
        assert_eq!(length(store, &|b| b.trap(code(1)), &|b| b.trap(code(1))), (8, true));
        // Source locations do not change the code: if both trap, the location is the first one.
        assert_eq!(length(load, &|b| b.trap(code(1)), &|b| (b.srcloc(7), b.trap(code(1))).1).0, 4);
    }

    #[test]
    fn what_the_first_loads_is_not_the_base() {
        let base = MemBase::Reg(x(5));
        let loads =
            |first, second| joined((rows::LDR_RM.of(64), first, base, 16), (rows::LDR_RM.of(64), second, base, 24));
        // ldp x1, x5, [x5, #16]
        assert_eq!(loads(x(1), x(5)), [0xa941_14a1]);
        assert_eq!(loads(x(5), x(1)).len(), 2);
        // ldp d5, d1, [x5, #16]
        let floats =
            |first, second| joined((rows::LDR_FM.of(64), first, base, 16), (rows::LDR_FM.of(64), second, base, 24));
        assert_eq!(floats(v(5), v(1)), [0x6d41_04a5]);
    }

    #[test]
    fn those_of_one_form_are_seen() {
        let length = |second: (RowId, i64)| {
            let mut buffer = Buffer::default();
            buffer.start(0);
            for (row, reg, disp) in [(rows::LDR_RM.of(32), x(0), 4), (second.0, x(1), second.1)] {
                encode(row, &Args::mem(&[reg], Mem::base(MemBase::Reg(x(5)), disp)), &mut buffer);
                join_alike(&mut buffer);
            }
            buffer.len()
        };
        assert_eq!(length((rows::LDR_RM.of(32), 8)), 4);
        assert_eq!(length((rows::LDR_RM.of(32), 12)), 8);
        assert_eq!(length((rows::LDR_RM.of(64), 8)), 8);
        assert_eq!(length((rows::STR_MR.of(32), 8)), 8);
    }
}
