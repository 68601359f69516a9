//! Bytes of one instruction, from its row's recipe, its registers, memory operand and immediate.
//!
//! Takes neither code nor allocation problem, so any emitter can use it. Layout of an instruction (SDM volume 2,
//! 2.1): prefixes, REX or VEX, opcode, ModRM, SIB, displacement, immediate. Among equal forms it chooses the one that
//! GNU `as` chooses. All bytes except for a reference to a symbol are joined in registers and stored at once.

use crate::asm;
use crate::encoding::OpcodeMap;
use crate::recipe::{Prefix, RECIPES, Recipe, Rm};
use crate::regs::{RAX, RBP, RSP};
use crate::rows::ENCODINGS;
use kingpost_mach::{Args, Buffer, Mem, MemBase, Regs, RelocKind, RowId};
use kingpost_regalloc::PReg;

/// Appends the instruction `row` with `args`.
pub fn encode(row: RowId, args: &Args<'_>, buffer: &mut Buffer) {
    let is_memory = RECIPES[usize::from(row.0)].rm_is == Rm::Mem;
    let place = match &args.mem {
        Some(mem) if is_memory => RmBytes::of(mem),
        Some(_) => None,
        None => Some(RmBytes::default()),
    };
    buffer.list(|| asm::text(row, args));
    match place {
        Some(place) => assemble(row, &RECIPES[usize::from(row.0)], Regs::of(args.regs), place, args.imm, buffer),
        None => refer(row, is_memory, args, buffer),
    }
}

/// Appends an instruction whose operands are all registers. The constant parts of its row's encodings are computed
/// when the compiler is built.
pub(crate) fn encode_row<const ROW: u16>(regs: &[PReg], buffer: &mut Buffer) {
    buffer.list(|| asm::text(RowId(ROW), &Args::regs(regs)));
    assemble(RowId(ROW), &const { RECIPES[ROW as usize] }, Regs::of(regs), RmBytes::default(), 0, buffer);
}

/// Appends an instruction that refers to no symbol or label. `place` is its memory operand, if it has one. Registers
/// beyond those that the row encodes may follow.
#[inline(always)]
pub(crate) fn assemble(row: RowId, recipe: &Recipe, regs: Regs, place: RmBytes, imm: i64, buffer: &mut Buffer) {
    let form = Form::choose(row, recipe, regs, place, imm);
    let tail = u64::from(form.place.disp) | (imm as u64) << (8 * form.place.disp_bytes);
    let bytes = u128::from(form.head.bytes) | u128::from(tail) << (8 * form.head.len);
    buffer.put_up_to_16(bytes, form.head.len + form.place.disp_bytes as u8 + form.imm_bytes);
}

/// Appends an instruction that refers to a symbol or a jump table. The reference is the displacement if
/// `is_relative`, or else the immediate. The displacement counts from the end of the instruction.
#[inline(never)]
fn refer(row: RowId, is_relative: bool, args: &Args<'_>, buffer: &mut Buffer) {
    let recipe = &RECIPES[usize::from(row.0)];
    let kind = recipe.reloc;
    let form = Form::choose(row, recipe, Regs::of(args.regs), RmBytes::RELATIVE, args.imm);
    buffer.put_low(form.head.bytes, form.head.len.into());
    let Some(mem) = args.mem.filter(|_| is_relative || form.imm_bytes != 0) else { return };
    let behind = if is_relative { mem.disp - 4 - i64::from(form.imm_bytes) } else { 0 };
    match mem.base {
        MemBase::Symbol(index) => {
            let symbol = args.symbols[index as usize];
            let from_end = if is_relative || kind == RelocKind::Abs8 { behind } else { -4 };
            buffer.reloc(kind, symbol.name, symbol.offset + from_end);
        }
        MemBase::Table(table) => buffer.fixup(table, behind as i32),
        MemBase::Reg(_) | MemBase::StackPointer | MemBase::FramePointer => {}
    }
    if is_relative {
        buffer.put4(0);
    }
    buffer.put_low(if is_relative { args.imm as u64 } else { 0 }, form.imm_bytes.into());
}

/// Sequence of up to eight bytes, the first one lowest.
#[derive(Default)]
struct Bytes {
    bytes: u64,
    len: u8,
}

impl Bytes {
    /// Appends the low `len` bytes of `bytes`; the bytes above must be zero.
    #[inline(always)]
    fn put(&mut self, bytes: u64, len: u8) {
        self.bytes |= bytes << (8 * self.len);
        self.len += len;
    }

    /// Appends VEX, in its short form if that suffices. Bits for registers are stored inverted (SDM volume 2, 2.3.5).
    fn vex(&mut self, map: OpcodeMap, rex: u8, extensions: u8, tail: u8) {
        let (w, inverted) = ((rex & 8) << 4, u64::from(!extensions & 7) << 5);
        if map == OpcodeMap::M0f && w == 0 && extensions & 3 == 0 {
            self.put(0xc5 | (inverted & 0x80 | u64::from(tail)) << 8, 2);
        } else {
            self.put(0xc4 | (inverted | map as u64) << 8 | u64::from(w | tail) << 16, 3);
        }
    }
}

/// Contents of ModRM.rm, SIB and the displacement.
#[derive(Clone, Copy, Default)]
pub(crate) struct RmBytes {
    /// Bits `X` and `B` of REX.
    extension: u8,
    /// ModRM without the register, and SIB.
    bytes: u16,
    len: u8,
    /// Bytes of the displacement. Wide, because a shift reads more than a byte of it.
    disp_bytes: u32,
    disp: u32,
}

impl RmBytes {
    /// Memory relative to the instruction, without the displacement.
    const RELATIVE: RmBytes = RmBytes { extension: 0, bytes: 5, len: 1, disp_bytes: 0, disp: 0 };

    /// Returns a register operand, by the register's number.
    #[inline(always)]
    fn register(number: u8) -> RmBytes {
        RmBytes { extension: number >> 3, bytes: 0xc0 | u16::from(number & 7), len: 1, disp_bytes: 0, disp: 0 }
    }

    /// Returns a memory operand, or `None` if the address is relative to the instruction.
    fn of(mem: &Mem) -> Option<RmBytes> {
        debug_assert!(i32::try_from(mem.disp).is_ok(), "frames and lowering keep displacements within 32 bits");
        let (base, disp) = (base_number(mem.base)?, mem.disp as i32);
        Some(match mem.index {
            Some((index, shift, _)) => RmBytes::index(base, index.enc(), shift, disp),
            None => RmBytes::base(base, disp),
        })
    }

    /// Returns a memory operand in the frame.
    pub(crate) fn in_frame(mem: Mem) -> RmBytes {
        RmBytes::of(&mem).expect("frames are addressed by registers")
    }

    /// Returns a memory operand at the register `base` plus `disp`.
    #[inline(always)]
    pub(crate) fn base(base: u8, disp: i32) -> RmBytes {
        let needs_sib = base & 7 == SIB;
        // Without an index, the SIB byte repeats the base.
        let sib = if needs_sib { u16::from(SIB << 3 | base & 7) << 8 } else { 0 };
        let place = RmBytes::displaced(base, disp);
        RmBytes {
            extension: base >> 3,
            bytes: place.bytes | u16::from(base & 7) | sib,
            len: 1 + u8::from(needs_sib),
            ..place
        }
    }

    /// Returns a memory operand at the register `base` plus the register `index` shifted left, plus `disp`.
    #[inline(always)]
    pub(crate) fn index(base: u8, index: u8, shift: u8, disp: i32) -> RmBytes {
        debug_assert!(index != RSP.enc() && shift < 4);
        let sib = u16::from(shift << 6 | (index & 7) << 3 | base & 7) << 8;
        let place = RmBytes::displaced(base, disp);
        RmBytes { extension: (index >> 3) << 1 | base >> 3, bytes: place.bytes | u16::from(SIB) | sib, len: 2, ..place }
    }

    /// Returns the mode of ModRM, and the displacement.
    #[inline(always)]
    fn displaced(base: u8, disp: i32) -> RmBytes {
        // A missing base has this bit pattern, so the registers with these low bits always take a displacement (SDM
        // volume 2, table 2-5).
        const NO_BASE: u8 = 5;
        let (mode, disp_bytes, disp) = if disp == 0 && base & 7 != NO_BASE {
            (0, 0, 0)
        } else if i8::try_from(disp).is_ok() {
            (1 << 6, 1, u32::from(disp as u8))
        } else {
            (2 << 6, 4, disp as u32)
        };
        RmBytes { bytes: mode, disp_bytes, disp, ..RmBytes::default() }
    }
}

/// ModRM.rm if a SIB byte follows (SDM volume 2, table 2-2).
const SIB: u8 = 4;

/// Returns the number of the base register, or `None` if the address is relative to the instruction.
fn base_number(base: MemBase) -> Option<u8> {
    match base {
        MemBase::Reg(reg) => Some(reg.enc()),
        MemBase::StackPointer => Some(RSP.enc()),
        MemBase::FramePointer => Some(RBP.enc()),
        MemBase::Symbol(_) | MemBase::Table(_) => None,
    }
}

/// Bytes of an instruction up to the displacement and the immediate.
struct Form {
    head: Bytes,
    place: RmBytes,
    imm_bytes: u8,
}

impl Form {
    /// Returns the form of an instruction. `place` is the memory operand, if the row has one.
    #[inline(always)]
    fn choose(row: RowId, recipe: &Recipe, regs: Regs, place: RmBytes, imm: i64) -> Form {
        let mut fields = Fields {
            op: recipe.op + (u32::from(imm as u8 & recipe.condition) << recipe.opcode_at),
            reg: recipe.reg.number(regs),
            rm: recipe.rm.number(regs),
            rm_is: recipe.rm_is,
            imm_bytes: recipe.imm,
        };
        let byte_rex = fields.reg & recipe.byte_reg | fields.rm & recipe.byte_rm != 0;
        if recipe.shortens {
            fields.shorten(row, recipe, imm);
        }
        let place = match fields.rm_is {
            Rm::Mem => place,
            Rm::Reg => RmBytes::register(fields.rm),
            Rm::Opcode => {
                fields.op += u32::from(fields.rm & 7) << recipe.opcode_at;
                RmBytes { extension: fields.rm >> 3, ..RmBytes::default() }
            }
        };
        let mut head = Bytes::default();
        let extensions = (fields.reg >> 3) << 2 | place.extension;
        match recipe.prefix {
            Prefix::Rex => {
                head.put(recipe.prefixes.into(), recipe.prefix_len);
                let rex = recipe.rex | extensions;
                let is_needed = rex != 0x40 || byte_rex;
                head.put(if is_needed { rex.into() } else { 0 }, is_needed.into());
            }
            Prefix::Vex(map, second, rest) => {
                head.vex(map, recipe.rex, extensions, (second.number(regs) ^ 15) << 3 | rest);
            }
        }
        head.put(fields.op.into(), recipe.op_len);
        // A row without ModRM has no register here, so that nothing is added to the bytes after it.
        head.put(u64::from(place.bytes) | u64::from(fields.reg & 7) << 3, place.len);
        Form { head, place, imm_bytes: fields.imm_bytes }
    }
}

/// Contents of the fields of an instruction, before their positions are known.
struct Fields {
    op: u32,
    reg: u8,
    rm: u8,
    rm_is: Rm,
    imm_bytes: u8,
}

impl Fields {
    /// Changes to a shorter form if the row has one that fits.
    #[inline]
    fn shorten(&mut self, row: RowId, recipe: &Recipe, imm: i64) {
        let e = &ENCODINGS[usize::from(row.0)];
        let imm = sign_extend(imm, recipe.imm);
        let opcode = |opcode: u8| recipe.op & !(0xff << recipe.opcode_at) | u32::from(opcode) << recipe.opcode_at;
        if e.one != 0 && imm == 1 {
            self.op = opcode(e.one);
            self.imm_bytes = 0;
        } else if e.short != 0 && i8::try_from(imm).is_ok() {
            self.op = opcode(e.short);
            self.imm_bytes = 1;
        } else if e.acc != 0 && self.rm_is == Rm::Reg {
            let accumulator = RAX.enc();
            if recipe.imm != 0 {
                if self.rm == accumulator {
                    *self = Fields { op: opcode(e.acc), reg: 0, rm: 0, rm_is: Rm::Opcode, ..*self };
                }
            } else if (self.rm == accumulator) != (self.reg == accumulator) {
                // Exchange with the accumulator. An exchange of the accumulator with itself would be `nop` and not
                // clear the upper half.
                *self = Fields { op: opcode(e.acc), reg: 0, rm: self.rm | self.reg, rm_is: Rm::Opcode, ..*self };
            }
        }
    }
}

/// Returns the low `bytes` bytes of `value` as a signed number, or all of `value` if `bytes` is 0.
fn sign_extend(value: i64, bytes: u8) -> i64 {
    let above = (64 - 8 * u32::from(bytes)) % 64;
    value << above >> above
}
