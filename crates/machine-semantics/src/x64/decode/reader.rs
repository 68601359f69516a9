//! Bytes of an instruction, and the fields of its prefixes ("Intel SDM", volume 2, chapter 2).

use super::super::instruction::{Base, Memory, Operand};
use crate::world::Undecoded;

/// Longest instruction in bytes (2.3.11).
const MOST_BYTES: usize = 15;

/// Number of the stack pointer and of `r12` among base registers: a SIB byte follows (table 2-2).
const WITH_SIB: u8 = 4;
/// Number of `rbp` and `r13` among base registers: without displacement, there is another base or none (table 2-2).
const WITHOUT_BASE: u8 = 5;

/// Prefix that is part of an opcode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mandatory {
    None,
    P66,
    F3,
    F2,
}

/// Reader of one instruction.
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    position: usize,
    /// Whether there is a prefix 66.
    pub(super) is_66: bool,
    /// Prefix F3 or F2.
    pub(super) repeat: Mandatory,
    pub(super) lock: bool,
    pub(super) rex: bool,
    pub(super) vex: bool,
    /// Whether bit W of a REX or VEX prefix is set.
    pub(super) w: bool,
    /// Bits R, X and B of a REX or VEX prefix: 8 if they are set.
    r: u8,
    x: u8,
    b: u8,
    /// Register of a VEX prefix.
    pub(super) v: u8,
    /// Whether bit L of a VEX prefix is set.
    pub(super) is_256: bool,
}

/// Operands that a ModR/M byte names.
#[derive(Clone, Copy)]
pub(super) struct ModRm {
    /// The reg field, with bit R of the prefix.
    pub(super) reg: u8,
    /// The reg field alone, which extends some opcodes.
    pub(super) digit: u8,
    pub(super) rm: Rm,
}

/// Register or memory.
#[derive(Clone, Copy)]
pub(super) enum Rm {
    Register(u8),
    Memory(Memory),
}

pub(super) fn unknown<T>() -> Result<T, Undecoded> {
    Err(Undecoded::Unknown)
}

impl<'a> Reader<'a> {
    /// Reads the prefixes, and returns a reader at the opcode.
    pub(super) fn new(bytes: &'a [u8]) -> Result<Reader<'a>, Undecoded> {
        let mut reader = Reader {
            bytes,
            position: 0,
            is_66: false,
            repeat: Mandatory::None,
            lock: false,
            rex: false,
            vex: false,
            w: false,
            r: 0,
            x: 0,
            b: 0,
            v: 0,
            is_256: false,
        };
        reader.legacy_prefixes()?;
        if reader.peek()? & 0xf0 == 0x40 {
            let rex = reader.byte()?;
            (reader.rex, reader.w) = (true, rex & 8 != 0);
            (reader.r, reader.x, reader.b) = (rex << 1 & 8, rex << 2 & 8, rex << 3 & 8);
        }
        Ok(reader)
    }

    /// Reads prefixes 66, F2, F3, F0, and segment prefixes that have no effect in 64-bit mode (2.1.1).
    fn legacy_prefixes(&mut self) -> Result<(), Undecoded> {
        loop {
            match self.peek()? {
                0x66 => self.is_66 = true,
                0xf2 | 0xf3 if self.repeat != Mandatory::None => return unknown(),
                0xf2 => self.repeat = Mandatory::F2,
                0xf3 => self.repeat = Mandatory::F3,
                0xf0 => self.lock = true,
                0x26 | 0x2e | 0x36 | 0x3e => {}
                _ => return Ok(()),
            }
            self.byte()?;
        }
    }

    /// Reads the rest of a VEX prefix after its first byte, C4 or C5 (2.3.5). Returns the opcode map and the mandatory
    /// prefix.
    pub(super) fn vex_prefix(&mut self, is_long: bool) -> Result<(u8, Mandatory), Undecoded> {
        if self.rex || self.is_66 || self.lock || self.repeat != Mandatory::None {
            return unknown();
        }
        let first = self.byte()?;
        let (map, last) = if is_long { (first & 0x1f, self.byte()?) } else { (1, first) };
        // All registers are stored inverted.
        self.r = !first >> 4 & 8;
        if is_long {
            (self.x, self.b) = (!first >> 3 & 8, !first >> 2 & 8);
            self.w = last & 0x80 != 0;
        }
        self.v = !last >> 3 & 15;
        (self.vex, self.is_256) = (true, last & 4 != 0);
        let mandatory = [Mandatory::None, Mandatory::P66, Mandatory::F3, Mandatory::F2][usize::from(last & 3)];
        Ok((map, mandatory))
    }

    fn peek(&self) -> Result<u8, Undecoded> {
        if self.position == MOST_BYTES {
            return unknown();
        }
        self.bytes.get(self.position).copied().ok_or(Undecoded::Truncated)
    }

    pub(super) fn byte(&mut self) -> Result<u8, Undecoded> {
        let byte = self.peek()?;
        self.position += 1;
        Ok(byte)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Undecoded> {
        let mut array = [0; N];
        for byte in &mut array {
            *byte = self.byte()?;
        }
        Ok(array)
    }

    /// Returns the number of bytes that have been read.
    pub(super) fn length(&self) -> usize {
        self.position
    }

    /// Refuses prefixes F2 and F3.
    pub(super) fn no_repeat(&self) -> Result<(), Undecoded> {
        if self.repeat == Mandatory::None { Ok(()) } else { unknown() }
    }

    /// Returns the size of operands (table 3-4 of volume 1): 8 bits for the opcodes that name bytes.
    pub(super) fn size(&self, is_byte: bool) -> u8 {
        match () {
            () if is_byte => 8,
            () if self.w => 64,
            () if self.is_66 => 16,
            () => 32,
        }
    }

    /// Returns the size of operands of an operation on 64 bits that needs no REX.W, as `push` is.
    pub(super) fn size_64(&self) -> Result<u8, Undecoded> {
        if self.is_66 && !self.w { unknown() } else { Ok(64) }
    }

    /// Returns the number of a register in the low bits of an opcode.
    pub(super) fn plus(&self, opcode: u8) -> u8 {
        opcode & 7 | self.b
    }

    /// Returns a general register of `size` bits. Without REX, numbers 4 to 7 of byte registers are high bytes
    /// (table 3-1).
    pub(super) fn general(&self, number: u8, size: u8) -> Operand {
        if size == 8 && !self.rex && (4..8).contains(&number) {
            return Operand::HighByte(number - 4);
        }
        Operand::Register(number)
    }

    pub(super) fn rm_general(&self, rm: Rm, size: u8) -> Operand {
        match rm {
            Rm::Register(number) => self.general(number, size),
            Rm::Memory(memory) => Operand::Memory(memory),
        }
    }

    pub(super) fn imm8(&mut self) -> Result<Operand, Undecoded> {
        let [byte] = self.array()?;
        Ok(Operand::Immediate(i8::from_le_bytes([byte]).into()))
    }

    /// Reads an immediate of `size` bits, but at most 32.
    pub(super) fn imm(&mut self, size: u8) -> Result<Operand, Undecoded> {
        match size {
            8 => self.imm8(),
            16 => Ok(Operand::Immediate(i16::from_le_bytes(self.array()?).into())),
            _ => Ok(Operand::Immediate(i32::from_le_bytes(self.array()?).into())),
        }
    }

    pub(super) fn imm64(&mut self) -> Result<Operand, Undecoded> {
        Ok(Operand::Immediate(i64::from_le_bytes(self.array()?)))
    }

    /// Reads the distance of a near branch. A prefix 66 would change its size on some processors.
    pub(super) fn relative(&mut self, is_short: bool) -> Result<Operand, Undecoded> {
        self.size_64()?;
        let distance =
            if is_short { i8::from_le_bytes(self.array()?).into() } else { i32::from_le_bytes(self.array()?) };
        Ok(Operand::Relative(distance))
    }

    /// Reads a ModR/M byte with SIB byte and displacement (tables 2-2 and 2-3).
    pub(super) fn modrm(&mut self) -> Result<ModRm, Undecoded> {
        let byte = self.byte()?;
        let (mode, digit, low) = (byte >> 6, byte >> 3 & 7, byte & 7);
        let rm = if mode == 3 { Rm::Register(low | self.b) } else { Rm::Memory(self.memory(mode, low)?) };
        Ok(ModRm { reg: digit | self.r, digit, rm })
    }

    fn memory(&mut self, mode: u8, low: u8) -> Result<Memory, Undecoded> {
        let mut memory = Memory { base: Base::Register(low | self.b), index: None, scale: 0, displacement: 0 };
        let mut is_wide = mode == 2;
        if low == WITH_SIB {
            let sib = self.byte()?;
            let (index, base) = (sib >> 3 & 7 | self.x, sib & 7);
            // Index 4 is none; `r12` can be an index.
            (memory.index, memory.scale) = if index == WITH_SIB { (None, 0) } else { (Some(index), sib >> 6) };
            memory.base = Base::Register(base | self.b);
            if base == WITHOUT_BASE && mode == 0 {
                (memory.base, is_wide) = (Base::None, true);
            }
        } else if low == WITHOUT_BASE && mode == 0 {
            (memory.base, is_wide) = (Base::NextInstruction, true);
        }
        if is_wide {
            memory.displacement = i32::from_le_bytes(self.array()?);
        } else if mode == 1 {
            memory.displacement = i8::from_le_bytes(self.array()?).into();
        }
        Ok(memory)
    }
}
