//! One machine instruction, in 16 bytes, and its memory operand.

use crate::row::RowId;
use kingpost_ir::TrapCode;

/// "No block" in [`MInst::extra`] of a branch without a second target.
pub const NO_BLOCK: u32 = u32::MAX;

/// Address of an instruction's memory operand. Address registers follow the row's own operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum AddrKind {
    /// No memory operand.
    None = 0,
    /// One register plus [`MInst::aux`] as a signed displacement.
    Base = 1,
    /// Two registers, the second one extended and shifted, plus [`MInst::aux`] as a signed displacement.
    Index = 2,
    /// A symbol: [`MInst::aux`] is an index into [`Code::symbols`](crate::Code).
    Symbol = 3,
    /// The frame's user slots: [`MInst::aux`] is a byte offset into that area.
    Slot = 4,
    /// Stack arguments of this function: [`MInst::aux`] is a signed byte offset from the first one.
    Incoming = 5,
    /// Stack arguments of a call: [`MInst::aux`] is a byte offset from the frame's bottom.
    Outgoing = 6,
    /// A jump table: [`MInst::aux`] is an index into [`Code::tables`](crate::Code).
    Table = 7,
    /// The frame's user slots plus one register, shifted: [`MInst::aux`] is a byte offset into that area. The discriminant is
    /// [`Base`](Self::Base), which has one register too, with an extension that no register has.
    SlotIndex = SLOT_INDEX << EXTEND_SHIFT | 1,
}

/// Position of the extension in [`AddrMode`].
const EXTEND_SHIFT: u8 = 6;
/// Value in the place of the extension that makes an address one of slots with an index.
const SLOT_INDEX: u8 = 3;

const ADDR_KINDS: [AddrKind; 8] = [
    AddrKind::None,
    AddrKind::Base,
    AddrKind::Index,
    AddrKind::Symbol,
    AddrKind::Slot,
    AddrKind::Incoming,
    AddrKind::Outgoing,
    AddrKind::Table,
];

/// Extension of an index register before it is scaled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum IndexExtend {
    /// It is as wide as an address.
    None = 0,
    /// Its low 32 bits, zero-extended (AArch64 `uxtw`).
    Zero32 = 1,
    /// Its low 32 bits, sign-extended (AArch64 `sxtw`).
    Sign32 = 2,
}

/// Kind of address, index scale and index extension in one byte.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AddrMode(u8);

impl AddrMode {
    /// No memory operand.
    pub const NONE: AddrMode = AddrMode(0);

    /// Returns an address of `kind` with an unscaled index, if it has one.
    pub const fn new(kind: AddrKind) -> AddrMode {
        AddrMode(kind as u8)
    }

    /// Returns the mode of a base plus an extended index shifted left by `shift` (0 to 4).
    pub const fn index(shift: u8, extend: IndexExtend) -> AddrMode {
        AddrMode(AddrKind::Index as u8 | shift << 3 | (extend as u8) << EXTEND_SHIFT)
    }

    /// Returns the mode of an offset in the user's slots plus an index shifted left by `shift` (0 to 4).
    pub const fn slot_index(shift: u8) -> AddrMode {
        AddrMode(AddrKind::SlotIndex as u8 | shift << 3)
    }

    /// Returns the kind of address.
    pub const fn kind(self) -> AddrKind {
        if self.0 >> EXTEND_SHIFT == SLOT_INDEX {
            return AddrKind::SlotIndex;
        }
        ADDR_KINDS[(self.0 & 7) as usize]
    }

    /// Returns the left shift of the index.
    pub const fn shift(self) -> u8 {
        self.0 >> 3 & 7
    }

    /// Returns the extension of the index.
    pub const fn extend(self) -> IndexExtend {
        match self.0 >> EXTEND_SHIFT {
            1 => IndexExtend::Zero32,
            2 => IndexExtend::Sign32,
            _ => IndexExtend::None,
        }
    }

    /// Returns the number of address registers.
    pub const fn regs(self) -> usize {
        // The conversion relies on the discriminants of the first three kinds.
        let kind = self.0 & 7;
        if kind <= AddrKind::Index as u8 { kind as usize } else { 0 }
    }
}

/// One machine instruction. Its operands are in the allocation problem, under the same instruction number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MInst {
    /// Row of the instruction.
    pub row: RowId,
    /// Address of its memory operand.
    pub mode: AddrMode,
    trap: u8,
    /// Immediate, condition code, or the block that a conditional branch falls through to, depending on the row.
    pub imm: i32,
    /// Displacement or index of the memory operand, or a branch target, or an index into a pool, depending on the row
    /// and the mode.
    pub aux: u32,
    /// Second word of the immediate, second condition or number of an annotation, depending on the row.
    pub extra: u32,
}

impl MInst {
    /// Returns an instruction without memory operand.
    pub fn new(row: RowId) -> MInst {
        MInst { row, mode: AddrMode::NONE, trap: 0, imm: 0, aux: 0, extra: 0 }
    }

    /// Returns the code with which the instruction may trap.
    pub fn trap(&self) -> Option<TrapCode> {
        TrapCode::from_byte(self.trap)
    }

    /// Sets the code with which the instruction may trap.
    pub fn set_trap(&mut self, code: Option<TrapCode>) {
        self.trap = code.map_or(0, TrapCode::byte);
    }

    /// Returns the immediate as 64 bits: `extra` above `imm`.
    pub fn imm64(&self) -> u64 {
        u64::from(self.extra) << 32 | u64::from(self.imm as u32)
    }

    /// Returns the index into [`Code::annotations`](crate::Code) of a call or sequence point, which is one less than
    /// `extra`.
    pub fn annotation(&self) -> Option<u32> {
        self.extra.checked_sub(1)
    }

    /// Sets the index into [`Code::annotations`](crate::Code) of a call or sequence point.
    pub fn set_annotation(&mut self, index: Option<u32>) {
        self.extra = index.map_or(0, |index| index + 1);
    }

    /// Sets `imm` and `extra` to the halves of a 64-bit immediate.
    pub fn set_imm64(&mut self, value: u64) {
        self.imm = value as u32 as i32;
        self.extra = (value >> 32) as u32;
    }
}

const _: () = assert!(size_of::<MInst>() == 16);
const _: () = assert!(AddrKind::SlotIndex as u8 & 7 == AddrKind::Base as u8);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_keep_their_parts() {
        for kind in ADDR_KINDS {
            let mode = AddrMode::new(kind);
            assert_eq!((mode.kind(), mode.shift(), mode.extend()), (kind, 0, IndexExtend::None));
        }
        for shift in 0..5 {
            for extend in [IndexExtend::None, IndexExtend::Zero32, IndexExtend::Sign32] {
                let mode = AddrMode::index(shift, extend);
                assert_eq!(
                    (mode.kind(), mode.shift(), mode.extend(), mode.regs()),
                    (AddrKind::Index, shift, extend, 2)
                );
            }
            let mode = AddrMode::slot_index(shift);
            let parts = (mode.kind(), mode.shift(), mode.extend(), mode.regs());
            assert_eq!(parts, (AddrKind::SlotIndex, shift, IndexExtend::None, 1));
        }
    }
}
