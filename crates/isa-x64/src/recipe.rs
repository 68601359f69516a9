//! What of an encoding is the same for all instructions of its row, in the pieces that the encoder joins.
//!
//! Derived from the table when the compiler is built: `F3 0F 10` is a prefix byte, one byte of escape and the opcode, with
//! REX in between. So the encoder neither goes through maps and prefixes nor looks at the descriptions of operands.

use crate::encode::Head;
use crate::encoding::{Encoding, OpcodeMap, RegField, RmField, Scheme};
use crate::rows::{ENCODINGS, ROWS};
use kingpost_mach::OperandSpec;
use kingpost_regalloc::RegClass;

/// The pieces of one row's encoding. Bytes are little-endian: the first one is the lowest.
#[derive(Clone, Copy)]
pub(crate) struct Recipe {
    /// Prefixes in front of REX.
    pub(crate) prefixes: u16,
    pub(crate) prefix_len: u8,
    /// REX without what the registers add.
    pub(crate) rex: u8,
    /// What stands between REX and the opcode.
    pub(crate) escape: u16,
    pub(crate) escape_len: u8,
    /// By bit, the operands of one byte in integer registers: some of those only REX can name.
    pub(crate) byte_regs: u8,
    /// Is there a shorter form for some operands?
    pub(crate) shortens: bool,
    /// If the registers and the memory operand decide everything.
    pub(crate) direct: Option<Direct>,
}

/// An instruction without VEX, immediate, condition, or registers of one byte.
#[derive(Clone, Copy)]
pub(crate) struct Direct {
    pub(crate) opcode: u8,
    /// The operand in ModRM.reg.
    pub(crate) reg: u8,
    /// The operand in ModRM.rm; none if that is the memory operand.
    pub(crate) rm: Option<u8>,
}

impl Recipe {
    const fn of(e: &Encoding, operands: &[OperandSpec]) -> Recipe {
        let (prefixes, prefix_len) = match (e.prefix, e.lock) {
            (0, false) => (0, 0),
            (0, true) => (0xf0, 1),
            (prefix, false) => (prefix as u16, 1),
            (prefix, true) => (0xf000 | prefix as u16, 2),
        };
        let (escape, escape_len) = match e.map {
            OpcodeMap::One => (0, 0),
            OpcodeMap::M0f => (0x0f, 1),
            OpcodeMap::M0f38 => (0x380f, 2),
            OpcodeMap::M0f3a => (0x3a0f, 2),
        };
        let (mut byte_regs, mut k) = (0, 0);
        while k < operands.len() {
            if operands[k].width == 1 && matches!(operands[k].class, RegClass::Int) {
                byte_regs |= 1 << k;
            }
            k += 1;
        }
        let shortens = e.one != 0 || e.short != 0 || e.acc != 0;
        let direct = if shortens || byte_regs != 0 { None } else { Direct::of(e) };
        Recipe { prefixes, prefix_len, rex: 0x40 | (e.w as u8) << 3, escape, escape_len, byte_regs, shortens, direct }
    }

    /// Appends what stands before the opcode. `bits` are those of REX that the registers add.
    #[inline(always)]
    pub(crate) fn open(&self, bits: u8, needs_rex: bool, head: &mut Head) {
        head.append(self.prefixes, self.prefix_len);
        let rex = self.rex | bits;
        if rex != 0x40 || needs_rex {
            head.put(rex);
        }
        head.append(self.escape, self.escape_len);
    }
}

impl Direct {
    const fn of(e: &Encoding) -> Option<Direct> {
        if !matches!(e.scheme, Scheme::Rex) || e.imm != 0 || e.condition {
            return None;
        }
        let RegField::Operand(reg) = e.reg else { return None };
        let rm = match e.rm {
            RmField::Operand(k) => Some(k),
            RmField::Mem => None,
            _ => return None,
        };
        Some(Direct { opcode: e.opcode, reg, rm })
    }
}

/// The recipes, indexed as the rows.
pub(crate) static RECIPES: [Recipe; ROWS.len()] = {
    let mut recipes = [Recipe::of(&ENCODINGS[0], ROWS[0].operands); ROWS.len()];
    let mut row = 0;
    while row < recipes.len() {
        recipes[row] = Recipe::of(&ENCODINGS[row], ROWS[row].operands);
        row += 1;
    }
    recipes
};
