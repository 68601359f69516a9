//! The text of one instruction, in Intel syntax as GNU `as` reads it.

use crate::regs::{CC_NAMES, RBP, RSP, name};
use crate::rows::{ENCODINGS, ROWS};
use kingpost_mach::{Args, Mem, MemBase, RelocKind, RowId, fill_template};
use std::fmt::Write;

/// Returns the text of the instruction `row` with `args`. Symbol number 3 is called `symbol3`.
pub fn text(row: RowId, args: &Args<'_>) -> String {
    fill_template(ROWS[usize::from(row.0)].asm, |field, out| fill(field, row, args, out))
}

/// Appends the text of the template's `{field}`.
fn fill(field: &str, row: RowId, args: &Args<'_>, out: &mut String) {
    let encoding = &ENCODINGS[usize::from(row.0)];
    match (field, args.mem) {
        ("m", Some(mem)) => memory(&mem, encoding.mem, encoding.reloc, args, out),
        ("t", Some(mem)) => address(&mem, encoding.reloc, args, out),
        ("i", _) => {
            let _ = write!(out, "{}", args.imm);
        }
        ("c", _) => out.push_str(CC_NAMES[(args.imm & 15) as usize]),
        _ => {
            let operand = field
                .parse()
                .ok()
                .and_then(|k: usize| Some(name(*args.regs.get(k)?, ROWS[usize::from(row.0)].operands.get(k)?.width)));
            out.push_str(&operand.unwrap_or_else(|| format!("{{{field}}}")));
        }
    }
}

fn memory(mem: &Mem, bytes: u8, reloc: RelocKind, args: &Args<'_>, out: &mut String) {
    out.push_str(match bytes {
        1 => "byte ptr ",
        2 => "word ptr ",
        4 => "dword ptr ",
        8 => "qword ptr ",
        16 => "xmmword ptr ",
        _ => "",
    });
    out.push('[');
    address(mem, reloc, args, out);
    out.push(']');
}

fn address(mem: &Mem, reloc: RelocKind, args: &Args<'_>, out: &mut String) {
    let mut disp = mem.disp;
    match mem.base {
        MemBase::Reg(reg) => out.push_str(&name(reg, 8)),
        MemBase::StackPointer => out.push_str(&name(RSP, 8)),
        MemBase::FramePointer => out.push_str(&name(RBP, 8)),
        MemBase::Table(table) => {
            let _ = write!(out, "rip + table{table}");
        }
        MemBase::Symbol(index) => {
            let symbol = args.symbols[index as usize];
            disp += symbol.offset;
            let (before, after) = match reloc {
                RelocKind::X86PcRel4 => ("rip + ", ""),
                RelocKind::X86GotPcRel4 => ("rip + ", "@GOTPCREL"),
                _ => ("", ""),
            };
            let _ = write!(out, "{before}symbol{}{after}", symbol.name);
        }
    }
    if let Some((index, shift, _)) = mem.index {
        let _ = write!(out, " + {}", name(index, 8));
        if shift != 0 {
            let _ = write!(out, "*{}", 1 << shift);
        }
    }
    if disp != 0 {
        let _ = write!(out, " {} {}", if disp < 0 { '-' } else { '+' }, disp.unsigned_abs());
    }
}
