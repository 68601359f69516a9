//! Constant parts of the encodings of a row, in the pieces that the encoder joins.
//!
//! Recipes are derived from the table when the compiler is built: `F3 0F 10` is a prefix byte, one byte of escape and
//! the opcode, with REX in between. So the encoder does not examine maps, prefixes or descriptions of operands, and
//! reads only half a cache line per row.

use crate::encoding::{Encoding, OpcodeMap, RegField, RmField, Scheme, Special};
use crate::rows::{ENCODINGS, ROWS};
use kingpost_mach::{MInst, OperandSpec, Regs, RelocKind};
use kingpost_regalloc::RegClass;

/// Number of a register: the register of an operand, or a fixed one.
#[derive(Clone, Copy)]
pub(crate) struct Field {
    /// Position of the operand in [`Regs::word`], in bits.
    shift: u8,
    fixed: u8,
}

impl Field {
    const ZERO: Field = Field::fixed(0);

    /// Returns a field with a fixed number. The upper half of the last byte of the word is zero.
    const fn fixed(number: u8) -> Field {
        Field { shift: 60, fixed: number }
    }

    const fn operand(k: u8) -> Field {
        Field { shift: 8 * k, fixed: 0 }
    }

    #[inline(always)]
    pub(crate) fn number(self, regs: Regs) -> u8 {
        (regs.word() >> self.shift) as u8 & 15 | self.fixed
    }
}

/// Reference of ModRM.rm.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rm {
    /// No ModRM byte, or one that is part of the opcode: [`Recipe::rm`] is added to it.
    Opcode,
    /// The register [`Recipe::rm`].
    Reg,
    /// Memory.
    Mem,
}

/// Prefix that holds the upper bits of register numbers.
#[derive(Clone, Copy)]
pub(crate) enum Prefix {
    /// REX, if any of its bits is set.
    Rex,
    /// VEX: the map of the opcode, the register in `vvvv`, and the bits `L` and `pp`.
    Vex(OpcodeMap, Field, u8),
}

/// Pieces of one row's encoding. Bytes are little-endian: the first one is the lowest.
#[derive(Clone, Copy)]
#[repr(align(32))]
pub(crate) struct Recipe {
    /// Bytes after REX or VEX: escape, opcode, and ModRM if it is constant.
    pub(crate) op: u32,
    pub(crate) op_len: u8,
    /// Position of the opcode in these bytes, in bits.
    pub(crate) opcode_at: u8,
    /// Prefixes before REX.
    pub(crate) prefixes: u16,
    pub(crate) prefix_len: u8,
    /// REX without bits for registers, or VEX.W if the row has VEX.
    pub(crate) rex: u8,
    pub(crate) prefix: Prefix,
    pub(crate) reg: Field,
    pub(crate) rm: Field,
    pub(crate) rm_is: Rm,
    /// 4 if the register in ModRM.reg is a byte register, else 0. Registers with that bit in their number need REX
    /// then.
    pub(crate) byte_reg: u8,
    /// 4 if ModRM.rm is a byte register, else 0.
    pub(crate) byte_rm: u8,
    /// Bits of the immediate that are added to the opcode.
    pub(crate) condition: u8,
    /// Bytes of the immediate.
    pub(crate) imm: u8,
    /// Whether there is a shorter form for some operands.
    pub(crate) shortens: bool,
    /// Whether the row is one instruction that depends only on its operands, and they leave room for the operands of
    /// an address and [`Field::fixed`].
    pub(crate) is_single: bool,
    pub(crate) reloc: RelocKind,
}

const _: () = assert!(size_of::<Recipe>() == 32);

impl Recipe {
    const fn of(e: &Encoding, operands: &[OperandSpec]) -> Recipe {
        let (prefixes, prefix_len) = match (e.prefix, e.lock) {
            (0, false) => (0, 0),
            (0, true) => (0xf0, 1),
            (prefix, false) => (prefix as u16, 1),
            (prefix, true) => (0xf000 | prefix as u16, 2),
        };
        let (escape, escape_len) = match (e.scheme, e.map) {
            (Scheme::Vex(..), _) | (_, OpcodeMap::One) => (0, 0),
            (_, OpcodeMap::M0f) => (0x0f, 1),
            (_, OpcodeMap::M0f38) => (0x380f, 2),
            (_, OpcodeMap::M0f3a) => (0x3a0f, 2),
        };
        let opcode_at = 8 * escape_len;
        let (mut op, mut op_len) = (escape | (e.opcode as u32) << opcode_at, escape_len + 1);
        let (rm, rm_is) = match e.rm {
            RmField::None => (Field::ZERO, Rm::Opcode),
            RmField::Opcode(k) => (Field::operand(k), Rm::Opcode),
            RmField::Byte(byte) => {
                op |= (byte as u32) << (8 * op_len);
                op_len += 1;
                (Field::ZERO, Rm::Opcode)
            }
            RmField::Register(number) => (Field::fixed(number), Rm::Reg),
            RmField::Operand(k) => (Field::operand(k), Rm::Reg),
            RmField::Mem => (Field::ZERO, Rm::Mem),
        };
        let reg = match e.reg {
            RegField::None => Field::ZERO,
            RegField::Digit(number) => Field::fixed(number),
            RegField::Operand(k) => Field::operand(k),
        };
        let has_modrm = !matches!(rm_is, Rm::Opcode);
        assert!(has_modrm || matches!(e.reg, RegField::None), "there is no ModRM byte for a register");
        let byte_reg = matches!(e.reg, RegField::Operand(k) if is_byte(operands, k));
        let byte_rm = matches!(e.rm, RmField::Operand(k) if is_byte(operands, k));
        Recipe {
            op,
            op_len,
            opcode_at,
            prefixes,
            prefix_len,
            rex: 0x40 | (e.w as u8) << 3,
            prefix: prefix(e),
            reg,
            rm,
            rm_is,
            byte_reg: byte_reg as u8 * 4,
            byte_rm: byte_rm as u8 * 4,
            condition: e.condition as u8 * 15,
            imm: e.imm,
            shortens: e.one != 0 || e.short != 0 || e.acc != 0,
            is_single: matches!(e.special, Special::No) && operands.len() + 2 <= Regs::MAX,
            reloc: e.reloc,
        }
    }

    /// Returns the immediate of an instruction.
    #[inline(always)]
    pub(crate) fn imm_of(&self, inst: &MInst) -> i64 {
        if self.imm == 8 { inst.imm64() as i64 } else { i64::from(inst.imm) }
    }
}

/// Returns `true` if operand `k` is a byte of a general-purpose register.
const fn is_byte(operands: &[OperandSpec], k: u8) -> bool {
    let operand = &operands[k as usize];
    operand.width == 1 && matches!(operand.class, RegClass::Int)
}

const fn prefix(e: &Encoding) -> Prefix {
    let Scheme::Vex(second, long) = e.scheme else { return Prefix::Rex };
    let pp = match e.prefix {
        0x66 => 1,
        0xf3 => 2,
        0xf2 => 3,
        _ => 0,
    };
    let second = match second {
        Some(k) => Field::operand(k),
        None => Field::ZERO,
    };
    Prefix::Vex(e.map, second, (long as u8) << 2 | pp)
}

/// Recipes, indexed as the rows.
pub(crate) static RECIPES: [Recipe; ROWS.len()] = {
    let mut recipes = [Recipe::of(&ENCODINGS[0], ROWS[0].operands); ROWS.len()];
    let mut row = 0;
    while row < recipes.len() {
        recipes[row] = Recipe::of(&ENCODINGS[row], ROWS[row].operands);
        row += 1;
    }
    recipes
};
