//! Addresses that loads and stores cannot encode. They are computed into x16, with x17 for a large displacement if
//! x16 is taken. Addresses relative to the stack or frame pointer take x16 only, so that edits between instructions
//! may keep a value in x17. None of these instructions changes the flags.

use crate::asm;
use crate::branches::{A64Branches, ADR};
use crate::immediates::{Extend, add_sub, extended, extension, reaches};
use crate::plain::plain;
use crate::regs::{X16, X17, base_register, name};
use crate::rows;
use kingpost_mach::{Args, Buffer, IndexExtend, Mem, MemBase, RelocKind, Target};
use kingpost_regalloc::PReg;

/// Returns a register that holds the address: its base if the address has no other term, or else x16.
pub(crate) fn base(mem: Mem, args: &Args<'_>, buffer: &mut Buffer) -> PReg {
    match base_register(mem.base) {
        Some(base) if mem.index.is_none() && mem.disp == 0 => base,
        _ => {
            compute(X16, mem, args, buffer);
            X16
        }
    }
}

/// Returns an equal address that one access to `bytes` bytes can encode: a base and an offset, or a base and an
/// index. Emits the instructions that compute the base.
pub(crate) fn within_reach(mem: Mem, bytes: u8, args: &Args<'_>, buffer: &mut Buffer) -> Mem {
    let at = |base, disp| Mem::base(MemBase::Reg(base), disp);
    let base = match (base_register(mem.base), mem.index) {
        (Some(base), None) => base,
        (Some(_), Some((_, shift, _))) => {
            if mem.disp == 0 && (shift == 0 || 1 << shift == bytes) {
                return mem;
            }
            compute(X16, Mem { disp: 0, ..mem }, args, buffer);
            X16
        }
        (None, _) => {
            compute(X16, mem, args, buffer);
            return at(X16, 0);
        }
    };
    if reaches(mem.disp, bytes) {
        return at(base, mem.disp);
    }
    // The upper part is one addition or subtraction if it has at most 12 significant bits.
    let low = mem.disp & 0xfff;
    let high = mem.disp - low;
    if add_sub(high.unsigned_abs()).is_some() && reaches(low, bytes) {
        add(X16, base, high, buffer);
        return at(X16, low);
    }
    let scratch = if base == X16 { X17 } else { X16 };
    plain(rows::CONST_I.of(64), &Args::imm(&[scratch], mem.disp), buffer);
    Mem { index: Some((scratch, 0, IndexExtend::None)), ..at(base, 0) }
}

/// Computes the address into `to`.
pub(crate) fn compute(to: PReg, mem: Mem, args: &Args<'_>, buffer: &mut Buffer) {
    match mem.base {
        MemBase::Symbol(index) => {
            buffer.list(|| asm::text(rows::ADDR64_CONST, &Args { regs: &[to], mem: Some(mem), ..*args }));
            let symbol = args.symbols[index as usize];
            let addend = symbol.offset + mem.disp;
            let number = u32::from(to.enc());
            page(to, symbol.name, addend, buffer);
            buffer.reloc(RelocKind::Aarch64AddLo12, symbol.name, addend);
            buffer.put4(0x9100_0000 | number << 5 | number);
        }
        MemBase::Table(table) => {
            debug_assert!(mem.disp == 0 && mem.index.is_none(), "a table's start is addressed");
            buffer.list(|| format!("adr {}, table{table}", name(to, 8)));
            buffer.reference(Target::Table(table), ADR | u32::from(to.enc()), &A64Branches);
        }
        MemBase::Reg(_) | MemBase::StackPointer | MemBase::FramePointer => {
            let base = base_register(mem.base).expect("one of those with a register");
            match mem.index {
                Some((index, shift, extend)) => {
                    let imm = i64::from(extended(extension(extend), shift));
                    plain(rows::ADD_RRX.of(64), &Args::imm(&[to, base, index], imm), buffer);
                    if mem.disp != 0 {
                        add(to, to, mem.disp, buffer);
                    }
                }
                None => add(to, base, mem.disp, buffer),
            }
        }
    }
}

/// Computes the page of a symbol's address into `to`.
pub(crate) fn page(to: PReg, name: u32, addend: i64, buffer: &mut Buffer) {
    buffer.reloc(RelocKind::Aarch64AdrPage, name, addend);
    buffer.put4(0x9000_0000 | u32::from(to.enc()));
}

/// Adds a number of any size. `to` may be the base. Numbers that need more than two additions clobber x16, or x17 if
/// x16 is the base.
pub(crate) fn add(to: PReg, base: PReg, number: i64, buffer: &mut Buffer) {
    let (row, far) = if number < 0 {
        (rows::SUB_RRI.of(64), rows::SUB_RRX.of(64))
    } else {
        (rows::ADD_RRI.of(64), rows::ADD_RRX.of(64))
    };
    let magnitude = number.unsigned_abs();
    let (high, low) = (magnitude & !0xfff, magnitude & 0xfff);
    let mut put = |base, imm| plain(row, &Args::imm(&[to, base], imm as i64), buffer);
    if high == 0 {
        put(base, low);
    } else if add_sub(high).is_some() {
        put(base, high);
        if low != 0 {
            put(to, low);
        }
    } else {
        let scratch = if base == X16 { X17 } else { X16 };
        plain(rows::CONST_I.of(64), &Args::imm(&[scratch], magnitude as i64), buffer);
        let imm = i64::from(extended(Extend::Uxtx, 0));
        plain(far, &Args::imm(&[to, base, scratch], imm), buffer);
    }
}
