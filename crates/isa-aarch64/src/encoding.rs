//! How an instruction form is encoded, as pure data: a word, and where operands and the immediate stand in it.
//!
//! `op(0x0b00_0000).rd(0).rn(1).rm(2)` has operand 0 in bits 0 to 4, operand 1 in bits 5 to 9 and operand 2 in bits 16
//! to 20. A register that is part of the form, such as the zero register of a comparison, is part of the word. Source:
//! Arm Architecture Reference Manual for A-profile, chapter C6 (base instructions) and C7 (floating point and vectors).

use kingpost_mach::{MInst, RelocKind};

/// Operands of the row with the most.
pub const MAX_OPERANDS: usize = 6;

/// Number and width of the lanes that an instruction works on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrangement {
    /// Binary logarithm of the bytes of a lane.
    log: u8,
    /// Whether there are 16 bytes of lanes, and not 8.
    full: bool,
}

/// Number of arrangements.
pub const ARRANGEMENTS: usize = 8;

const NAMES: [&str; ARRANGEMENTS] = ["8b", "16b", "4h", "8h", "2s", "4s", "1d", "2d"];

impl Arrangement {
    /// Lanes of `lane_bits` bits, 8 to 64, in 16 bytes or in 8.
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

    /// Binary logarithm of the bytes of a lane.
    pub const fn log(self) -> u8 {
        self.log
    }

    /// Returns the bits of a lane.
    pub const fn lane_bits(self) -> u32 {
        8 << self.log
    }

    /// Returns `true` if there are 16 bytes of lanes, and not 8.
    pub const fn is_full(self) -> bool {
        self.full
    }

    /// Returns the same bytes in lanes of another width.
    #[must_use]
    pub const fn with_lanes_of(self, lane_bits: u32) -> Arrangement {
        Arrangement::new(lane_bits, self.full)
    }

    /// 16 bytes of the same lanes.
    #[must_use]
    pub const fn in_full(self) -> Arrangement {
        Arrangement { full: true, ..self }
    }

    /// 8 bytes of the same lanes.
    #[must_use]
    pub const fn in_half(self) -> Arrangement {
        Arrangement { full: false, ..self }
    }
}

/// Encoding of the immediate in the word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ImmField {
    /// There is none.
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
    /// The amount of a left shift of so many bits, as `ubfm` takes it.
    LeftShift(u8),
    /// The opposite of a condition, at bit 12.
    Inverted,
    /// The number of a bit from 0 to 63: at bit 19, the highest of its bits at bit 31.
    TestBit,
    /// The amount of a right shift of vector elements of so many bits.
    VectorRight(u8),
    /// The amount of a left shift of vector elements of so many bits.
    VectorLeft(u8),
    /// The numbers of two lanes, in 8 bits each: the first one in bits 16 to 20 above a one that marks the lanes'
    /// width, the second one in bits 11 to 14. The number is the binary logarithm of a lane's bytes.
    Lanes(u8),
    /// 8 bits, three of them in bits 16 to 18 and five in bits 5 to 9; what is above them stands at this position.
    Modified(u8),
}

/// Memory operands that need no help of other instructions.
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
    /// A literal, by way of x16. The word is the one for scaled offsets.
    Literal,
    /// Any address, which is the result.
    Address,
}

/// Rows whose emission depends on where blocks lie, or is more than one instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Special {
    /// Encoded as the other fields say.
    No,
    /// Unconditional jump to a block.
    Jump,
    /// Jump to one of two blocks on a condition.
    JumpIf,
    /// Jump to the first of two blocks if any of two conditions holds.
    JumpIfOr,
    /// Jump to the first of two blocks if both of two conditions hold.
    JumpIfAnd,
    /// Jump to one of so many targets by the number in a register, or to one more if it is larger.
    JumpChain(usize),
    /// Jump to one of two blocks after a test of a register, which the word describes.
    JumpTest,
    /// The address of the target at the immediate.
    BlockAddress,
    /// Trap on a condition.
    TrapIf,
    /// Trap if any of two conditions holds.
    TrapIfOr,
    /// Trap if both of two conditions hold.
    TrapIfAnd,
    /// Trap after a test of a register, which the word describes.
    TrapTest,
    /// No bytes at all.
    Nothing,
    /// The address of a thread-local symbol.
    TlsAddress,
    /// Goes on with another stack.
    StackSwitch,
    /// Tear the frame down, then the instruction the other fields describe.
    Leave,
    /// The frame is taken down first, then a jump by way of x16.
    LeaveX16,
    /// As many moves as a constant of so many bits needs.
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
    /// None: the value is stored again, without which the load is not atomic.
    Read,
    /// The operand replaces the value.
    Swap,
    /// The operand replaces the value if that is as expected.
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
    /// Minimum or maximum: the condition under which the old value stays, of flags that only tell less from not less.
    Keep(i32),
}

/// The operation between an exclusive load and store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoopOp {
    /// The operand replaces the value.
    Swap,
    /// The operand replaces the value if that is as expected.
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
    /// As `Keep`, in big-endian byte order.
    KeepBig(i32, bool),
}

/// The encoding of one row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Encoding {
    /// Everything that is the same for all instructions of the row.
    pub word: u32,
    /// Factor of each operand's register number before it is added to the word.
    pub fields: [u32; MAX_OPERANDS],
    /// The immediate.
    pub imm: ImmField,
    /// Whether the immediate is 64 bits wide.
    pub wide: bool,
    /// The memory operand.
    pub mem: MemField,
    /// Bytes the memory operand stands for.
    pub bytes: u8,
    /// Relocation of the symbol, if the word itself names one.
    pub reloc: Option<RelocKind>,
    /// Anything that is not a single instruction.
    pub special: Special,
    /// The lanes it works on, if it does.
    pub lanes: Option<Arrangement>,
    /// Whether it is arithmetic in half precision.
    pub is_half: bool,
}

impl Encoding {
    /// Returns `true` if it is one word with its operands in it, if they need no help.
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

/// Returns an instruction word.
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

/// Returns a result and one source.
pub(crate) const fn rr(word: u32) -> Encoding {
    op(word).rd(0).rn(1)
}

/// Returns a result and two sources.
pub(crate) const fn rrr(word: u32) -> Encoding {
    rr(word).rm(2)
}

/// Returns a result and three sources.
pub(crate) const fn rrrr(word: u32) -> Encoding {
    rrr(word).ra(3)
}

/// Returns a result in the place of operand 1, and another source. Operand 1 has no field of its own.
pub(crate) const fn tied(word: u32) -> Encoding {
    op(word).rd(0).rn(2)
}

/// As [`tied`], with two other sources.
pub(crate) const fn tied2(word: u32) -> Encoding {
    tied(word).rm(3)
}

/// Returns a comparison: two sources.
pub(crate) const fn cmp(word: u32) -> Encoding {
    op(word).rn(0).rm(1)
}

/// Load or store of operand 0, `bytes` bytes.
pub(crate) const fn single(word: u32, bytes: u8) -> Encoding {
    op(word).rd(0).mem(MemField::Single, bytes)
}

/// Load of a literal of `bytes` bytes into operand 0.
pub(crate) const fn literal(word: u32, bytes: u8) -> Encoding {
    op(word).rd(0).mem(MemField::Literal, bytes)
}

/// Store of `bytes` zero bytes.
pub(crate) const fn zero(word: u32, bytes: u8) -> Encoding {
    op(word | 31).mem(MemField::Single, bytes)
}

/// Load or store of operands 0 and 1, `bytes` bytes together.
pub(crate) const fn pair(word: u32, bytes: u8) -> Encoding {
    op(word).rd(0).ra(1).mem(MemField::Pair, bytes)
}

/// Access to `bytes` bytes at a base.
pub(crate) const fn base(word: u32, bytes: u8) -> Encoding {
    op(word).mem(MemField::Base, bytes)
}

/// Returns something that is not a single instruction.
pub(crate) const fn special(special: Special) -> Encoding {
    let mut e = op(0);
    e.special = special;
    e
}

/// Returns a jump after a test of operand 0.
pub(crate) const fn jump_test(word: u32) -> Encoding {
    special(Special::JumpTest).or(word).rd(0)
}

/// Returns a trap after a test of operand 0.
pub(crate) const fn trap_test(word: u32) -> Encoding {
    special(Special::TrapTest).or(word).rd(0)
}

/// Returns an exclusive load and store of `bytes` bytes around `operation`.
pub(crate) const fn atomic(operation: LoopOp, bytes: u8) -> Encoding {
    special(Special::AtomicLoop(operation)).mem(MemField::Base, bytes)
}

/// Returns a loop of exclusive load and store on 16 bytes of memory.
pub(crate) const fn atomic_pair(operation: PairOp, is_big: bool) -> Encoding {
    special(Special::AtomicPairLoop(operation, is_big)).mem(MemField::Base, 16)
}

impl Encoding {
    pub(crate) const fn or(mut self, word: u32) -> Encoding {
        self.word |= word;
        self
    }

    /// Returns the form for operands of `bytes` bytes, where bit 31 (`sf`) says whether they have 8.
    pub(crate) const fn sf(self, bytes: u8) -> Encoding {
        self.or(if bytes == 8 { 1 << 31 } else { 0 })
    }

    /// As [`sf`](Self::sf), and bit 22 (`N`) with it.
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

    /// Returns the form for vectors of `bytes` bytes: bit 30 (`Q`) says whether they have 16.
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

    /// Returns the last bit of a bit field, `imms`.
    pub(crate) const fn imms(self, bit: u8) -> Encoding {
        self.or((bit as u32) << 10)
    }

    /// Operand `k` at bit `at`.
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

    /// Returns an address, whose memory is not accessed.
    pub(crate) const fn addr(self) -> Encoding {
        self.mem(MemField::Address, 0)
    }

    pub(crate) const fn imm(mut self, imm: ImmField) -> Encoding {
        self.imm = imm;
        self
    }

    /// The immediate's lowest bit is at bit `at`.
    pub(crate) const fn at(self, at: u8) -> Encoding {
        self.imm(ImmField::At(at))
    }

    /// Returns a signed immediate of 9 bits at bit 12.
    pub(crate) const fn simm9(self) -> Encoding {
        self.imm(ImmField::Signed { at: 12, bits: 9, scale: 0 })
    }

    /// Returns a signed immediate of 7 bits at bit 15, in units of 2 to the power of `scale`.
    pub(crate) const fn simm7(self, scale: u8) -> Encoding {
        self.imm(ImmField::Signed { at: 15, bits: 7, scale })
    }

    pub(crate) const fn add_sub(self) -> Encoding {
        self.imm(ImmField::AddSub)
    }

    pub(crate) const fn left_shift(self, bits: u8) -> Encoding {
        self.imm(ImmField::LeftShift(bits))
    }

    /// Returns the number of the bit that a jump tests.
    pub(crate) const fn test_bit(self) -> Encoding {
        self.imm(ImmField::TestBit)
    }

    /// The condition stands in the word inverted.
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
