//! Encodings of instruction forms, as pure data.
//!
//! The builders read like the manual's notation: `op(0x81).digit(0).rm(0).id()` is `81 /0 id` with operand 0 in
//! ModRM.rm. Source: Intel SDM volume 2, chapters 2 (instruction format) and 3–6 (each instruction's encoding table).

use kingpost_mach::RelocKind;
use kingpost_regalloc::PReg;

/// Opcode table of the opcode byte. The discriminant is VEX.mmmmm.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OpcodeMap {
    /// One-byte opcodes.
    One = 0,
    /// `0F`.
    M0f = 1,
    /// `0F 38`.
    M0f38 = 2,
    /// `0F 3A`.
    M0f3a = 3,
}

/// Content of the ModRM.reg field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RegField {
    /// An unused field.
    None,
    /// The operand with this index.
    Operand(u8),
    /// A part of the opcode, or the number of the only possible register.
    Digit(u8),
}

/// Content of the ModRM.rm field, if there is a ModRM byte.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RmField {
    /// There is no ModRM byte.
    None,
    /// The operand with this index.
    Operand(u8),
    /// The memory operand.
    Mem,
    /// No ModRM byte: the operand with this index is in the low three bits of the opcode.
    Opcode(u8),
    /// The register with this number.
    Register(u8),
    /// The whole ModRM byte, which is constant.
    Byte(u8),
}

/// Encoding scheme: REX and its prefixes, or VEX.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scheme {
    /// Legacy prefixes and REX.
    Rex,
    /// VEX, with the operand at this index in `vvvv` if there is one, and the `L` bit.
    Vex(Option<u8>, bool),
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
    /// The address of the block whose index is the immediate.
    BlockAddress,
    /// Trap on a condition.
    TrapIf,
    /// Trap if at least one of two conditions holds.
    TrapIfOr,
    /// Trap if both of two conditions hold.
    TrapIfAnd,
    /// Trap if the stack pointer is below the operand. No bytes if the function leaves the stack unused.
    StackCheck,
    /// No bytes at all.
    Nothing,
    /// The address of a thread-local symbol.
    TlsAddress,
    /// The address of a thread-local symbol by the index of its module.
    TlsOfIndex,
    /// The address of a thread-local symbol by its descriptor.
    TlsOfVariable,
    /// A switch to another stack.
    StackSwitch,
    /// Move to a float register unless a condition fails.
    Select,
    /// The epilogue, then the instruction that the other fields describe.
    Leave,
    /// A compare-exchange loop around the operation.
    AtomicLoop(LoopOp),
    /// Loop of `cmpxchg16b` on 16 bytes, in big-endian byte order or not.
    AtomicPairLoop(PairOp, bool),
}

/// The operation on 16 bytes inside a compare-exchange loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PairOp {
    /// The operand replaces the value.
    Swap,
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

/// The operation inside a compare-exchange loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoopOp {
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// Complement of bitwise and.
    Nand,
    /// Minimum or maximum: the condition under which the old value stays.
    Keep(i32),
    /// Addition in big-endian byte order.
    AddBig,
    /// Minimum or maximum in big-endian byte order: the condition under which the old value stays.
    KeepBig(i32),
}

/// The encoding of one row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Encoding {
    /// Mandatory or operand-size prefix, 0 if none.
    pub prefix: u8,
    /// Whether there is a `lock` prefix.
    pub lock: bool,
    /// Table of the opcode.
    pub map: OpcodeMap,
    /// The opcode.
    pub opcode: u8,
    /// Whether REX.W or VEX.W is set.
    pub w: bool,
    /// REX or VEX.
    pub scheme: Scheme,
    /// ModRM.reg.
    pub reg: RegField,
    /// ModRM.rm.
    pub rm: RmField,
    /// Number of bytes that the memory operand has.
    pub mem: u8,
    /// Bytes of the immediate.
    pub imm: u8,
    /// Whether the immediate is a condition code that is added to the opcode.
    pub condition: bool,
    /// Opcode of the form with a sign-extended 8-bit immediate, 0 if none.
    pub short: u8,
    /// Opcode of the form without ModRM byte whose register is the accumulator, 0 if none.
    pub acc: u8,
    /// Opcode of the form whose immediate is 1 and not written, 0 if none.
    pub one: u8,
    /// Relocation of a symbol: of the immediate if there is no ModRM byte, else of the displacement.
    pub reloc: RelocKind,
    /// Kind of the row if it is not a single instruction.
    pub special: Special,
}

const fn with(map: OpcodeMap, opcode: u8) -> Encoding {
    Encoding {
        prefix: 0,
        lock: false,
        map,
        opcode,
        w: false,
        scheme: Scheme::Rex,
        reg: RegField::None,
        rm: RmField::None,
        mem: 0,
        imm: 0,
        condition: false,
        short: 0,
        acc: 0,
        one: 0,
        reloc: RelocKind::X86PcRel4,
        special: Special::No,
    }
}

/// Returns the encoding of a one-byte opcode.
pub(crate) const fn op(opcode: u8) -> Encoding {
    with(OpcodeMap::One, opcode)
}

/// Returns the encoding of a one-byte opcode with the operand-size prefix.
pub(crate) const fn op16(opcode: u8) -> Encoding {
    op(opcode).prefix(0x66)
}

/// Returns the encoding of a one-byte opcode with REX.W.
pub(crate) const fn op64(opcode: u8) -> Encoding {
    op(opcode).w()
}

/// Returns the encoding `0F` and an opcode.
pub(crate) const fn of(opcode: u8) -> Encoding {
    with(OpcodeMap::M0f, opcode)
}

/// Returns the encoding `0F` and an opcode with the operand-size prefix, or a mandatory 66.
pub(crate) const fn of66(opcode: u8) -> Encoding {
    of(opcode).prefix(0x66)
}

/// Returns the encoding `0F` and an opcode with a mandatory F2.
pub(crate) const fn off2(opcode: u8) -> Encoding {
    of(opcode).prefix(0xf2)
}

/// Returns the encoding `0F` and an opcode with a mandatory F3.
pub(crate) const fn off3(opcode: u8) -> Encoding {
    of(opcode).prefix(0xf3)
}

/// Returns the encoding `0F` and an opcode with REX.W.
pub(crate) const fn of64(opcode: u8) -> Encoding {
    of(opcode).w()
}

/// Returns the encoding `66 0F 3A` and an opcode.
pub(crate) const fn of3a66(opcode: u8) -> Encoding {
    with(OpcodeMap::M0f3a, opcode).prefix(0x66)
}

/// Returns the encoding `66 0F 38` and an opcode.
pub(crate) const fn of3866(opcode: u8) -> Encoding {
    with(OpcodeMap::M0f38, opcode).prefix(0x66)
}

/// Returns the encoding VEX with an opcode of map `0F`.
pub(crate) const fn vex0f(opcode: u8) -> Encoding {
    let mut e = of(opcode);
    e.scheme = Scheme::Vex(None, false);
    e
}

/// Returns the encoding VEX with an opcode of map `0F 38` and a mandatory prefix (0 for none).
pub(crate) const fn vex38(prefix: u8, opcode: u8) -> Encoding {
    let mut e = with(OpcodeMap::M0f38, opcode).prefix(prefix);
    e.scheme = Scheme::Vex(None, false);
    e
}

/// Returns the encoding VEX with an opcode of map `0F 3A` and a mandatory prefix (0 for none).
pub(crate) const fn vex3a(prefix: u8, opcode: u8) -> Encoding {
    let mut e = with(OpcodeMap::M0f3a, opcode).prefix(prefix);
    e.scheme = Scheme::Vex(None, false);
    e
}

/// Returns the encoding of a loop of `lock cmpxchg` on `bytes` bytes of memory.
pub(crate) const fn atomic(operation: LoopOp, bytes: u8) -> Encoding {
    special(Special::AtomicLoop(operation)).mem(bytes)
}

/// Returns the encoding of a compare-exchange loop on 16 bytes of memory.
pub(crate) const fn atomic_pair(operation: PairOp, is_big: bool) -> Encoding {
    special(Special::AtomicPairLoop(operation, is_big)).mem(16)
}

/// Returns the encoding of a row that is not a single instruction.
pub(crate) const fn special(special: Special) -> Encoding {
    let mut e = op(0);
    e.special = special;
    e
}

impl Encoding {
    const fn prefix(mut self, prefix: u8) -> Encoding {
        self.prefix = prefix;
        self
    }

    /// Returns the AVX encoding of the instruction.
    pub(crate) const fn vex(mut self) -> Encoding {
        self.scheme = Scheme::Vex(None, false);
        self
    }

    pub(crate) const fn w(mut self) -> Encoding {
        self.w = true;
        self
    }

    pub(crate) const fn lock(mut self) -> Encoding {
        self.lock = true;
        self
    }

    /// Places operand `k` in ModRM.reg.
    pub(crate) const fn reg(mut self, k: u8) -> Encoding {
        self.reg = RegField::Operand(k);
        self
    }

    /// Places the constant `/digit` in ModRM.reg.
    pub(crate) const fn digit(mut self, digit: u8) -> Encoding {
        self.reg = RegField::Digit(digit);
        self
    }

    /// Places operand `k` in ModRM.rm.
    pub(crate) const fn rm(mut self, k: u8) -> Encoding {
        self.rm = RmField::Operand(k);
        self
    }

    /// Places memory of `bytes` bytes in ModRM.rm.
    pub(crate) const fn mem(mut self, bytes: u8) -> Encoding {
        self.rm = RmField::Mem;
        self.mem = bytes;
        self
    }

    /// Places an address in ModRM.rm that is computed and not accessed.
    pub(crate) const fn addr(self) -> Encoding {
        self.mem(0)
    }

    /// Places operand `k` in the opcode's low three bits.
    pub(crate) const fn plus(mut self, k: u8) -> Encoding {
        self.rm = RmField::Opcode(k);
        self
    }

    /// Places register `number` in ModRM.reg.
    pub(crate) const fn reg_is(self, reg: PReg) -> Encoding {
        self.digit(reg.enc())
    }

    /// Places register `reg` in ModRM.rm.
    pub(crate) const fn rm_is(mut self, reg: PReg) -> Encoding {
        self.rm = RmField::Register(reg.enc());
        self
    }

    /// Sets the whole ModRM byte.
    pub(crate) const fn bare(mut self, modrm: u8) -> Encoding {
        self.rm = RmField::Byte(modrm);
        self
    }

    /// Places operand `k` in VEX.vvvv.
    pub(crate) const fn v(mut self, k: u8) -> Encoding {
        self.scheme = Scheme::Vex(Some(k), false);
        self
    }

    /// Adds an immediate of one byte.
    pub(crate) const fn ib(mut self) -> Encoding {
        self.imm = 1;
        self
    }

    /// Adds an immediate of two bytes.
    pub(crate) const fn iw(mut self) -> Encoding {
        self.imm = 2;
        self
    }

    /// Adds an immediate of four bytes.
    pub(crate) const fn id(mut self) -> Encoding {
        self.imm = 4;
        self
    }

    /// Adds an immediate of eight bytes.
    pub(crate) const fn io(mut self) -> Encoding {
        self.imm = 8;
        self
    }

    /// Adds the condition in the immediate to the opcode.
    pub(crate) const fn cc(mut self) -> Encoding {
        self.condition = true;
        self
    }

    /// Adds an immediate for operands of `bytes` bytes: of one or two bytes if operands have as many, else of four.
    pub(crate) const fn iz(mut self, bytes: u8) -> Encoding {
        self.imm = if bytes < 4 { bytes } else { 4 };
        self
    }

    /// Returns the form for operands of `bytes` bytes. Called last: the form for single bytes has the preceding
    /// opcode and no short immediate. The forms for more bytes differ in the operand-size prefix and REX.W or VEX.W.
    pub(crate) const fn size(mut self, bytes: u8) -> Encoding {
        match bytes {
            1 => {
                self.opcode &= !1;
                self.acc &= !1;
                self.one &= !1;
                self.short = 0;
            }
            2 => self.prefix = 0x66,
            8 => self.w = true,
            _ => {}
        }
        self
    }

    /// Sets the mandatory prefix of scalar floats of `bytes` bytes.
    pub(crate) const fn scalar(self, bytes: u8) -> Encoding {
        self.prefix(if bytes == 8 { 0xf2 } else { 0xf3 })
    }

    /// Sets the mandatory prefix of packed floats of `bytes` bytes.
    pub(crate) const fn packed(self, bytes: u8) -> Encoding {
        self.prefix(if bytes == 8 { 0x66 } else { 0 })
    }

    pub(crate) const fn short(mut self, opcode: u8) -> Encoding {
        self.short = opcode;
        self
    }

    pub(crate) const fn acc(mut self, opcode: u8) -> Encoding {
        self.acc = opcode;
        self
    }

    pub(crate) const fn one(mut self, opcode: u8) -> Encoding {
        self.one = opcode;
        self
    }

    pub(crate) const fn reloc(mut self, kind: RelocKind) -> Encoding {
        self.reloc = kind;
        self
    }

    pub(crate) const fn leave(mut self) -> Encoding {
        self.special = Special::Leave;
        self
    }
}
