//! Encodings of instruction forms as pure data: a word, and the places of operands and immediate in it.
//!
//! `op(0x0b00_0000).rd(0).rn(1).rm(2)` has operand 0 in bits 0 to 4, operand 1 in bits 5 to 9 and operand 2 in bits 16
//! to 20. A register that is part of the form, such as the zero register of a comparison, is part of the word. Source:
//! Arm Architecture Reference Manual for A-profile, chapter C6 (base instructions) and C7 (floating point and vectors).

use kingpost_mach::{MInst, RelocKind};

/// Number of operands of the row that has the most.
pub const MAX_OPERANDS: usize = 6;

/// Number and width of the lanes that an instruction works on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrangement {
    /// Binary logarithm of the bytes of a lane.
    log: u8,
    /// Whether the lanes have 16 bytes in all; otherwise they have 8.
    full: bool,
}

/// Number of arrangements.
pub const ARRANGEMENTS: usize = 8;

const NAMES: [&str; ARRANGEMENTS] = ["8b", "16b", "4h", "8h", "2s", "4s", "1d", "2d"];

impl Arrangement {
    /// Returns lanes of `lane_bits` bits, 8 to 64, in 16 bytes or in 8.
    pub const fn new(lane_bits: u32, full: bool) -> Arrangement {
        Arrangement { log: lane_bits.trailing_zeros() as u8 - 3, full }
    }

    /// Returns the arrangement of this number.
    pub(crate) const fn at(index: usize) -> Arrangement {
        Arrangement { log: index as u8 / 2, full: index % 2 == 1 }
    }

    /// Returns its number, in the order of lane widths.
    pub const fn index(self) -> usize {
        self.log as usize * 2 + self.full as usize
    }

    /// Returns the name in assembly.
    pub const fn name(self) -> &'static str {
        NAMES[self.index()]
    }

    /// Returns the binary logarithm of the bytes of a lane.
    pub const fn log(self) -> u8 {
        self.log
    }

    /// Returns the bits of a lane.
    pub const fn lane_bits(self) -> u32 {
        8 << self.log
    }

    /// Returns `true` if the lanes have 16 bytes in all, `false` if they have 8.
    pub const fn is_full(self) -> bool {
        self.full
    }

    /// Returns the arrangement of as many bytes in lanes of `lane_bits` bits.
    #[must_use]
    pub const fn with_lanes_of(self, lane_bits: u32) -> Arrangement {
        Arrangement::new(lane_bits, self.full)
    }

    /// Returns the arrangement with 16 bytes of these lanes.
    #[must_use]
    pub const fn in_full(self) -> Arrangement {
        Arrangement { full: true, ..self }
    }

    /// Returns the arrangement with 8 bytes of these lanes.
    #[must_use]
    pub const fn in_half(self) -> Arrangement {
        Arrangement { full: false, ..self }
    }
}

/// Encoding of the immediate in the word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ImmField {
    /// No immediate.
    None,
    /// Unchanged, its lowest bit at this position. [`immediates`](crate::immediates) makes such fields.
    At(u8),
    /// The low `bits` of the immediate divided by 2 to the power of `scale`.
    Signed {
        /// Position of the lowest bit.
        at: u8,
        /// Number of bits.
        bits: u8,
        /// Binary logarithm of the divisor.
        scale: u8,
    },
    /// 12 bits, or 12 bits shifted left by 12, at bit 10.
    AddSub,
    /// The amount of a left shift of this many bits, as `ubfm` takes it.
    LeftShift(u8),
    /// The opposite of a condition, at bit 12.
    Inverted,
    /// The number of a bit from 0 to 63: at bit 19, the highest of its bits at bit 31.
    TestBit,
    /// The amount of a right shift of vector elements of this many bits.
    VectorRight(u8),
    /// The amount of a left shift of vector elements of this many bits.
    VectorLeft(u8),
    /// The numbers of two lanes, in 8 bits each. The first one is in bits 16 to 20, above a one that marks the width
    /// of the lanes; the second one is in bits 11 to 14. The payload is the binary logarithm of a lane's bytes.
    Lanes(u8),
    /// 8 bits, three of them in bits 16 to 18 and five in bits 5 to 9. The bits above them are placed at this
    /// position.
    Modified(u8),
}

/// Memory operands that one instruction can encode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MemField {
    /// There is no memory operand.
    None,
    /// Base plus scaled or unscaled offset, or base plus register. The word is the one for scaled offsets.
    Single,
    /// Base plus a scaled offset of 7 bits.
    Pair,
    /// Just a base.
    Base,
    /// A literal, whose page is in x16. The word is the one for scaled offsets.
    Literal,
    /// Any address, which is the result.
    Address,
}

/// Rows whose emission depends on the positions of blocks, or that are more than one instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Special {
    /// A single instruction, encoded according to the other fields.
    No,
    /// Unconditional jump to a block.
    Jump,
    /// Jump to one of two blocks on a condition.
    JumpIf,
    /// Jump to the first of two blocks if at least one of two conditions holds, else to the second.
    JumpIfOr,
    /// Jump to the first of two blocks if both of two conditions hold, else to the second.
    JumpIfAnd,
    /// Jump to one of this many targets by the number in a register, or to the default target if it is larger.
    JumpChain(usize),
    /// Jump to one of two blocks after a test of a register, which the word describes.
    JumpTest,
    /// The address of the block whose index is the immediate.
    BlockAddress,
    /// Trap on a condition.
    TrapIf,
    /// Trap if at least one of two conditions holds.
    TrapIfOr,
    /// Trap if both of two conditions hold.
    TrapIfAnd,
    /// Trap after a test of a register, which the word describes.
    TrapTest,
    /// No bytes at all.
    Nothing,
    /// The address of a thread-local symbol.
    TlsAddress,
    /// The address of a thread-local symbol by the index of its module.
    TlsOfIndex,
    /// The address of a thread-local symbol by its own descriptor.
    TlsOfVariable,
    /// A switch to another stack.
    StackSwitch,
    /// The epilogue, then the instruction that the other fields describe.
    Leave,
    /// The epilogue, then a jump to x16.
    LeaveX16,
    /// The moves that a constant of this many bits needs.
    Constant(u8),
    /// The address of a symbol from the GOT.
    Got,
    /// The address of a symbol by four moves of 16 bits.
    Absolute,
    /// An exclusive load and store around the operation.
    AtomicLoop(LoopOp),
    /// Loop of an exclusive pair on 16 bytes, in big-endian byte order or not.
    AtomicPairLoop(PairOp, bool),
}

/// The operation between an exclusive load and store of 16 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PairOp {
    /// No operation: the value is stored again, because a load alone is not atomic.
    Read,
    /// The operand replaces the value.
    Swap,
    /// The operand replaces the value if the value is the expected one.
    CompareExchange,
    /// Addition.
    Add,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// Complement of bitwise and.
    Nand,
    /// Minimum or maximum. The condition under which the old value stays; the flags only distinguish less from not
    /// less.
    Keep(i32),
}

/// The operation between an exclusive load and store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoopOp {
    /// The operand replaces the value.
    Swap,
    /// The operand replaces the value if the value is the expected one.
    CompareExchange,
    /// Addition.
    Add,
    /// Subtraction.
    Sub,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// Complement of bitwise and.
    Nand,
    /// Minimum or maximum: the condition under which the old value stays, and whether values are signed.
    Keep(i32, bool),
    /// Addition in big-endian byte order.
    AddBig,
    /// Minimum or maximum in big-endian byte order: the condition under which the old value stays, and whether values
    /// are signed.
    KeepBig(i32, bool),
}

/// The encoding of one row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Encoding {
    /// Bits that all instructions of the row share.
    pub word: u32,
    /// Factor of each operand's register number before it is added to the word.
    pub fields: [u32; MAX_OPERANDS],
    /// The immediate.
    pub imm: ImmField,
    /// Whether the immediate is 64 bits wide.
    pub wide: bool,
    /// The memory operand.
    pub mem: MemField,
    /// Number of bytes that the memory operand has.
    pub bytes: u8,
    /// Relocation of the symbol, if the word itself refers to one.
    pub reloc: Option<RelocKind>,
    /// Kind of the row if it is not a single instruction.
    pub special: Special,
    /// Lanes of a vector instruction.
    pub lanes: Option<Arrangement>,
    /// Whether the row is arithmetic in half precision.
    pub is_half: bool,
}

impl Encoding {
    /// Returns `true` if the row is a single word with its operands in it, except for an address that needs other
    /// instructions.
    #[inline(always)]
    pub(crate) fn is_single(&self) -> bool {
        self.special == Special::No && self.reloc.is_none()
    }

    /// Returns the immediate of an instruction.
    #[inline(always)]
    pub(crate) fn imm_of(&self, inst: &MInst) -> i64 {
        if self.wide { inst.imm64() as i64 } else { i64::from(inst.imm) }
    }
}

/// Returns the encoding of an instruction word without operands.
pub(crate) const fn op(word: u32) -> Encoding {
    Encoding {
        word,
        fields: [0; MAX_OPERANDS],
        imm: ImmField::None,
        wide: false,
        mem: MemField::None,
        bytes: 0,
        reloc: None,
        special: Special::No,
        lanes: None,
        is_half: false,
    }
}

/// Returns the encoding of a row with a result and one source.
pub(crate) const fn rr(word: u32) -> Encoding {
    op(word).rd(0).rn(1)
}

/// Returns the encoding of a row with a result and two sources.
pub(crate) const fn rrr(word: u32) -> Encoding {
    rr(word).rm(2)
}

/// Returns the encoding of a row with a result and three sources.
pub(crate) const fn rrrr(word: u32) -> Encoding {
    rrr(word).ra(3)
}

/// Returns the encoding of a row whose result replaces operand 1, and that has one other source. Operand 1 has no
/// field of its own.
pub(crate) const fn tied(word: u32) -> Encoding {
    op(word).rd(0).rn(2)
}

/// Returns the encoding of a row whose result replaces operand 1, and that has two other sources.
pub(crate) const fn tied2(word: u32) -> Encoding {
    tied(word).rm(3)
}

/// Returns the encoding of a comparison of two sources.
pub(crate) const fn cmp(word: u32) -> Encoding {
    op(word).rn(0).rm(1)
}

/// Returns the encoding of a load or store of operand 0, `bytes` bytes.
pub(crate) const fn single(word: u32, bytes: u8) -> Encoding {
    op(word).rd(0).mem(MemField::Single, bytes)
}

/// Returns the encoding of a load of a literal of `bytes` bytes into operand 0.
pub(crate) const fn literal(word: u32, bytes: u8) -> Encoding {
    op(word).rd(0).mem(MemField::Literal, bytes)
}

/// Returns the encoding of a store of `bytes` zero bytes.
pub(crate) const fn zero(word: u32, bytes: u8) -> Encoding {
    op(word | 31).mem(MemField::Single, bytes)
}

/// Returns the encoding of a load or store of operands 0 and 1, `bytes` bytes in all.
pub(crate) const fn pair(word: u32, bytes: u8) -> Encoding {
    op(word).rd(0).ra(1).mem(MemField::Pair, bytes)
}

/// Returns the encoding of an access to `bytes` bytes at a base register.
pub(crate) const fn base(word: u32, bytes: u8) -> Encoding {
    op(word).mem(MemField::Base, bytes)
}

/// Returns the encoding of a row that is not a single instruction.
pub(crate) const fn special(special: Special) -> Encoding {
    let mut e = op(0);
    e.special = special;
    e
}

/// Returns the encoding of a jump after a test of operand 0.
pub(crate) const fn jump_test(word: u32) -> Encoding {
    special(Special::JumpTest).or(word).rd(0)
}

/// Returns the encoding of a trap after a test of operand 0.
pub(crate) const fn trap_test(word: u32) -> Encoding {
    special(Special::TrapTest).or(word).rd(0)
}

/// Returns the encoding of an exclusive load and store of `bytes` bytes around `operation`.
pub(crate) const fn atomic(operation: LoopOp, bytes: u8) -> Encoding {
    special(Special::AtomicLoop(operation)).mem(MemField::Base, bytes)
}

/// Returns the encoding of a loop of exclusive load and store on 16 bytes of memory.
pub(crate) const fn atomic_pair(operation: PairOp, is_big: bool) -> Encoding {
    special(Special::AtomicPairLoop(operation, is_big)).mem(MemField::Base, 16)
}

impl Encoding {
    pub(crate) const fn or(mut self, word: u32) -> Encoding {
        self.word |= word;
        self
    }

    /// Returns the form for operands of `bytes` bytes: bit 31 (`sf`) is set for 8 bytes.
    pub(crate) const fn sf(self, bytes: u8) -> Encoding {
        self.or(if bytes == 8 { 1 << 31 } else { 0 })
    }

    /// Returns the form for operands of `bytes` bytes: bits 31 (`sf`) and 22 (`N`) are set for 8 bytes.
    pub(crate) const fn sf_n(self, bytes: u8) -> Encoding {
        self.or(if bytes == 8 { 1 << 31 | 1 << 22 } else { 0 })
    }

    /// Returns the form for floats of `bytes` bytes: bits 22 and 23 (`ftype`).
    pub(crate) const fn ftype(mut self, bytes: u8) -> Encoding {
        self.is_half = bytes == 2;
        self.or(match bytes {
            2 => 3 << 22,
            8 => 1 << 22,
            _ => 0,
        })
    }

    /// Returns the form for vectors of `bytes` bytes: bit 30 (`Q`) is set for 16 bytes.
    pub(crate) const fn q(self, bytes: u8) -> Encoding {
        self.or(if bytes == 16 { 1 << 30 } else { 0 })
    }

    /// Returns the form for memory of `bytes` bytes: bits 30 and 31 (`size`), and the high bit of `opc` for 16 bytes.
    pub(crate) const fn size(self, bytes: u8) -> Encoding {
        self.or(if bytes == 16 { 1 << 23 } else { bytes.trailing_zeros() << 30 })
    }

    /// Returns the form for memory of `bytes` bytes, of pairs of float registers: bits 30 and 31 (`opc`).
    pub(crate) const fn opc(self, bytes: u8) -> Encoding {
        self.or((bytes.trailing_zeros() - 2) << 30)
    }

    /// Returns the form of a sign-extending load for a result of `bytes` bytes: the low bit of `opc` for 4 bytes.
    pub(crate) const fn to(self, bytes: u8) -> Encoding {
        self.or(if bytes == 4 { 1 << 22 } else { 0 })
    }

    /// Sets the last bit of a bit field (`imms`).
    pub(crate) const fn imms(self, bit: u8) -> Encoding {
        self.or((bit as u32) << 10)
    }

    /// Places operand `k` at bit `at`.
    const fn field(mut self, k: u8, at: u8) -> Encoding {
        self.fields[k as usize] |= 1 << at;
        self
    }

    /// Places operand `k` in bits 0 to 4.
    pub(crate) const fn rd(self, k: u8) -> Encoding {
        self.field(k, 0)
    }

    /// Places operand `k` in bits 5 to 9.
    pub(crate) const fn rn(self, k: u8) -> Encoding {
        self.field(k, 5)
    }

    /// Places operand `k` in bits 10 to 14.
    pub(crate) const fn ra(self, k: u8) -> Encoding {
        self.field(k, 10)
    }

    /// Places operand `k` in bits 16 to 20.
    pub(crate) const fn rm(self, k: u8) -> Encoding {
        self.field(k, 16)
    }

    pub(crate) const fn mem(mut self, mem: MemField, bytes: u8) -> Encoding {
        self.mem = mem;
        self.bytes = bytes;
        self
    }

    /// Returns the form with an address that is computed and not accessed.
    pub(crate) const fn addr(self) -> Encoding {
        self.mem(MemField::Address, 0)
    }

    pub(crate) const fn imm(mut self, imm: ImmField) -> Encoding {
        self.imm = imm;
        self
    }

    /// Places the lowest bit of the immediate at bit `at`.
    pub(crate) const fn at(self, at: u8) -> Encoding {
        self.imm(ImmField::At(at))
    }

    /// Places a signed immediate of 9 bits at bit 12.
    pub(crate) const fn simm9(self) -> Encoding {
        self.imm(ImmField::Signed { at: 12, bits: 9, scale: 0 })
    }

    /// Places a signed immediate of 7 bits at bit 15, in units of 2 to the power of `scale`.
    pub(crate) const fn simm7(self, scale: u8) -> Encoding {
        self.imm(ImmField::Signed { at: 15, bits: 7, scale })
    }

    pub(crate) const fn add_sub(self) -> Encoding {
        self.imm(ImmField::AddSub)
    }

    pub(crate) const fn left_shift(self, bits: u8) -> Encoding {
        self.imm(ImmField::LeftShift(bits))
    }

    /// Takes the immediate as the number of the bit that a jump tests.
    pub(crate) const fn test_bit(self) -> Encoding {
        self.imm(ImmField::TestBit)
    }

    /// Places the inverse of the condition in the immediate at bit 12.
    pub(crate) const fn inverted(self) -> Encoding {
        self.imm(ImmField::Inverted)
    }

    pub(crate) const fn wide(mut self) -> Encoding {
        self.wide = true;
        self
    }

    pub(crate) const fn reloc(mut self, kind: RelocKind) -> Encoding {
        self.reloc = Some(kind);
        self
    }

    pub(crate) const fn leave(mut self) -> Encoding {
        self.special = Special::Leave;
        self
    }
}
