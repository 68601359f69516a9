//! Bytes of one instruction, from its row's encoding, its registers, memory operand and immediate.
//!
//! Takes neither code nor allocation problem, so any emitter can use it. Layout of an instruction (SDM volume 2, 2.1):
//! prefixes, REX or VEX, opcode, ModRM, SIB, displacement, immediate. Of equal forms the one GNU `as` chooses is chosen.

use crate::asm;
use crate::encoding::{Encoding, OpcodeMap, RegField, RmField, Scheme};
use crate::recipe::{RECIPES, Recipe};
use crate::regs::{RAX, RBP, RSP};
use crate::rows::ENCODINGS;
use kingpost_mach::{Args, Buffer, Mem, MemBase, RelocKind, RowId};

/// Appends the instruction `row` with `args`.
pub fn encode(row: RowId, args: &Args<'_>, buffer: &mut Buffer) {
    buffer.list(|| asm::text(row, args));
    if !direct(row, args, buffer) {
        general(row, args, buffer);
    }
}

/// Most instructions: REX, opcode, registers, perhaps a displacement, of which nothing is to be chosen. False if this is none.
#[inline]
fn direct(row: RowId, args: &Args<'_>, buffer: &mut Buffer) -> bool {
    let recipe = &RECIPES[usize::from(row.0)];
    let Some(direct) = &recipe.direct else { return false };
    let number = |k: u8| args.regs[usize::from(k)].enc();
    let reg = number(direct.reg);
    let mut head = Head::default();
    match (direct.rm, &args.mem) {
        (Some(k), _) => {
            let rm = number(k);
            recipe.open((reg >> 3) << 2 | rm >> 3, false, &mut head);
            head.put(direct.opcode);
            head.put(0xc0 | (reg & 7) << 3 | rm & 7);
        }
        (None, Some(mem)) => {
            let Some(base) = base_number(mem) else { return false };
            let index = mem.index.map_or(0, |(index, _, _)| index.enc());
            recipe.open((reg >> 3) << 2 | (index >> 3) << 1 | base >> 3, false, &mut head);
            head.put(direct.opcode);
            memory((reg & 7) << 3, base & 7, mem, &mut head);
        }
        (None, None) => return false,
    }
    head.finish(buffer);
    true
}

/// Any instruction.
fn general(row: RowId, args: &Args<'_>, buffer: &mut Buffer) {
    let form = Form::choose(row, args);
    let mut head = Head::default();
    form.prefixes(&mut head);
    form.opcode(&mut head);
    form.modrm(args, &mut head);
    head.finish(buffer);
    if head.is_relative {
        form.rip_displacement(args, buffer);
    }
    if form.imm_bytes != 0 {
        form.immediate(args, buffer);
    }
}

/// The bytes before a displacement that needs a relocation, or before the immediate.
#[derive(Default)]
pub(crate) struct Head {
    /// Prefixes, REX, opcode, ModRM and SIB: eight at most, the first one lowest.
    bytes: u64,
    len: usize,
    disp: u32,
    disp_bytes: usize,
    /// Does a displacement follow that depends on where something is?
    is_relative: bool,
}

impl Head {
    #[inline(always)]
    pub(crate) fn put(&mut self, byte: u8) {
        self.bytes |= u64::from(byte) << (8 * self.len);
        self.len += 1;
    }

    /// Appends the low `len` bytes of `bytes`; those above are zero.
    #[inline(always)]
    pub(crate) fn append(&mut self, bytes: u16, len: u8) {
        self.bytes |= u64::from(bytes) << (8 * self.len);
        self.len += usize::from(len);
    }

    /// Appends everything to `buffer`.
    #[inline(always)]
    fn finish(&self, buffer: &mut Buffer) {
        let len = self.len + self.disp_bytes;
        if len <= 8 && self.len < 8 {
            buffer.put_low(self.bytes | u64::from(self.disp) << (8 * self.len), len);
        } else {
            buffer.put_low(self.bytes, self.len);
            buffer.put_low(u64::from(self.disp), self.disp_bytes);
        }
    }
}

/// What the ModRM.rm field refers to.
#[derive(Clone, Copy)]
enum Rm {
    /// No ModRM byte; this number is added to the opcode.
    Opcode(u8),
    /// A register.
    Reg(u8),
    /// Memory.
    Mem(Mem),
    /// The whole byte is given.
    Byte(u8),
}

/// An encoding with the choices made: numbers of registers, size of the immediate.
struct Form<'a> {
    encoding: &'a Encoding,
    recipe: &'a Recipe,
    opcode: u8,
    reg: u8,
    rm: Rm,
    /// VEX.vvvv.
    second: u8,
    imm: i64,
    imm_bytes: u8,
    /// Is there a byte register that only REX can name?
    byte_rex: bool,
}

impl<'a> Form<'a> {
    #[inline]
    fn choose(row: RowId, args: &Args<'_>) -> Form<'a> {
        let encoding = &ENCODINGS[usize::from(row.0)];
        let recipe = &RECIPES[usize::from(row.0)];
        let number = |k: u8| args.regs[usize::from(k)].enc();
        let needs_rex = |k: u8| recipe.byte_regs >> k & 1 != 0 && (4..8).contains(&number(k));
        let mut byte_rex = false;
        let reg = match encoding.reg {
            RegField::None => 0,
            RegField::Digit(n) => n,
            RegField::Operand(k) => {
                byte_rex |= needs_rex(k);
                number(k)
            }
        };
        let rm = match encoding.rm {
            RmField::None => Rm::Opcode(0),
            RmField::Opcode(k) => Rm::Opcode(number(k)),
            RmField::Register(n) => Rm::Reg(n),
            RmField::Byte(byte) => Rm::Byte(byte),
            RmField::Mem => Rm::Mem(args.mem.expect("the row has a memory operand")),
            RmField::Operand(k) => {
                byte_rex |= needs_rex(k);
                Rm::Reg(number(k))
            }
        };
        let second = match encoding.scheme {
            Scheme::Vex(Some(k), _) => number(k),
            _ => 0,
        };
        let imm = if encoding.imm == 0 { args.imm } else { sign_extend(args.imm, encoding.imm) };
        let opcode = encoding.opcode + if encoding.condition { args.imm as u8 & 15 } else { 0 };
        let mut form = Form { encoding, recipe, opcode, reg, rm, second, imm, imm_bytes: encoding.imm, byte_rex };
        if recipe.shortens {
            form.shorten();
        }
        form
    }

    /// Takes a shorter form if the row has one that fits.
    fn shorten(&mut self) {
        let e = self.encoding;
        if e.one != 0 && self.imm == 1 {
            self.opcode = e.one;
            self.imm_bytes = 0;
        } else if e.short != 0 && i8::try_from(self.imm).is_ok() {
            self.opcode = e.short;
            self.imm_bytes = 1;
        } else if e.acc != 0
            && let Rm::Reg(rm) = self.rm
        {
            let accumulator = RAX.enc();
            if e.imm != 0 {
                if rm == accumulator {
                    (self.opcode, self.reg, self.rm) = (e.acc, 0, Rm::Opcode(0));
                }
            } else if (rm == accumulator) != (self.reg == accumulator) {
                // Exchange with the accumulator. With itself it would be `nop` and not clear the upper half.
                (self.opcode, self.reg, self.rm) = (e.acc, 0, Rm::Opcode(rm | self.reg));
            }
        }
    }

    /// Numbers of the base (or rm register) and index.
    #[inline]
    fn base_and_index(&self) -> (u8, u8) {
        match self.rm {
            Rm::Opcode(n) | Rm::Reg(n) => (n, 0),
            Rm::Byte(_) => (0, 0),
            Rm::Mem(mem) => (base_number(&mem).unwrap_or(0), mem.index.map_or(0, |(reg, _, _)| reg.enc())),
        }
    }

    #[inline]
    fn prefixes(&self, head: &mut Head) {
        let e = self.encoding;
        let (base, index) = self.base_and_index();
        let (r, x, b) = (self.reg >> 3 & 1, index >> 3 & 1, base >> 3 & 1);
        match e.scheme {
            Scheme::Rex => {
                self.recipe.open(r << 2 | x << 1 | b, self.byte_rex, head);
            }
            Scheme::Vex(_, long) => {
                // All register bits are stored inverted (SDM volume 2, 2.3.5).
                let prefix = match e.prefix {
                    0x66 => 1,
                    0xf3 => 2,
                    0xf2 => 3,
                    _ => 0,
                };
                let tail = (self.second ^ 15) << 3 | u8::from(long) << 2 | prefix;
                if e.map == OpcodeMap::M0f && !e.w && x == 0 && b == 0 {
                    head.put(0xc5);
                    head.put((r ^ 1) << 7 | tail);
                } else {
                    head.put(0xc4);
                    head.put((r ^ 1) << 7 | (x ^ 1) << 6 | (b ^ 1) << 5 | e.map as u8);
                    head.put(u8::from(e.w) << 7 | tail);
                }
            }
        }
    }

    #[inline]
    fn opcode(&self, head: &mut Head) {
        match self.rm {
            Rm::Opcode(n) => head.put(self.opcode + (n & 7)),
            _ => head.put(self.opcode),
        }
    }

    /// ModRM, SIB and a displacement that is known now.
    #[inline]
    fn modrm(&self, args: &Args<'_>, head: &mut Head) {
        let reg = (self.reg & 7) << 3;
        match self.rm {
            Rm::Opcode(_) => {}
            Rm::Byte(byte) => head.put(byte),
            Rm::Reg(n) => head.put(0xc0 | reg | n & 7),
            Rm::Mem(mem) => match base_number(&mem) {
                Some(base) => memory(reg, base & 7, &mem, head),
                None => {
                    debug_assert!(mem.index.is_none() && args.mem.is_some());
                    head.put(reg | 5);
                    head.is_relative = true;
                }
            },
        }
    }

    /// The displacement from the instruction's end to a symbol or jump table.
    #[inline]
    fn rip_displacement(&self, args: &Args<'_>, buffer: &mut Buffer) {
        let Rm::Mem(mem) = self.rm else { return };
        let from_end = mem.disp - 4 - i64::from(self.imm_bytes);
        match mem.base {
            MemBase::Symbol(index) => {
                let symbol = args.symbols[index as usize];
                buffer.reloc(self.encoding.reloc, symbol.name, symbol.offset + from_end);
            }
            MemBase::Table(table) => buffer.fixup(table, from_end as i32),
            _ => return,
        }
        buffer.put4(0);
    }

    #[inline]
    fn immediate(&self, args: &Args<'_>, buffer: &mut Buffer) {
        let mut value = self.imm;
        if let Some(Mem { base: MemBase::Symbol(index), .. }) = args.mem
            && !matches!(self.rm, Rm::Mem(_))
        {
            let symbol = args.symbols[index as usize];
            let kind = self.encoding.reloc;
            let from_end = if kind == RelocKind::Abs8 { 0 } else { 4 };
            buffer.reloc(kind, symbol.name, symbol.offset - from_end);
            value = 0;
        }
        buffer.put_low(value as u64, usize::from(self.imm_bytes));
    }
}

/// The number of the base register; none if the address is relative to the instruction.
#[inline]
fn base_number(mem: &Mem) -> Option<u8> {
    match mem.base {
        MemBase::Reg(reg) => Some(reg.enc()),
        MemBase::StackPointer => Some(RSP.enc()),
        MemBase::FramePointer => Some(RBP.enc()),
        MemBase::Symbol(_) | MemBase::Table(_) => None,
    }
}

/// ModRM, SIB and displacement for a base register, whose number modulo 8 is `base`.
#[inline]
fn memory(reg: u8, base: u8, mem: &Mem, head: &mut Head) {
    debug_assert!(i32::try_from(mem.disp).is_ok(), "frames and lowering keep displacements within 32 bits");
    // The bit patterns of a SIB byte and of a missing base: such bases take the longer way (SDM volume 2, table 2-5).
    const SIB: u8 = 4;
    const NO_BASE: u8 = 5;
    let (mode, disp_bytes) = if mem.disp == 0 && base != NO_BASE {
        (0, 0)
    } else if i8::try_from(mem.disp).is_ok() {
        (1 << 6, 1)
    } else {
        (2 << 6, 4)
    };
    match mem.index {
        Some((index, shift, _)) => {
            debug_assert!(index != RSP && shift < 4);
            head.put(mode | reg | SIB);
            head.put(shift << 6 | (index.enc() & 7) << 3 | base);
        }
        None if base == SIB => {
            head.put(mode | reg | SIB);
            head.put(SIB << 3 | base);
        }
        None => head.put(mode | reg | base),
    }
    head.disp = mem.disp as u32;
    head.disp_bytes = disp_bytes;
}

/// The low `bytes` bytes of `value` as a signed number; all of it if there are none.
fn sign_extend(value: i64, bytes: u8) -> i64 {
    match bytes {
        1 => i64::from(value as i8),
        2 => i64::from(value as i16),
        4 => i64::from(value as i32),
        _ => value,
    }
}
