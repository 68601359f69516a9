//! The text of one instruction, as GNU `as` reads it.

use crate::encoding::Arrangement;
use crate::immediates::{Extend, extension, float_value, logical_value};
use crate::regs::{CC_NAMES, base_register, name};
use crate::rows::{ENCODINGS, ROWS};
use kingpost_mach::{Args, Mem, MemBase, RowId, fill_template};
use std::fmt::Write;

/// Returns the text of the instruction `row` with `args`. Symbol number 3 is called `symbol3`. A row that is emitted
/// as several instructions has a name of its own.
pub fn text(row: RowId, args: &Args<'_>) -> String {
    fill_template(ROWS[usize::from(row.0)].asm, |field, out| fill(field, row, args, out))
}

/// Appends the text of the template's `{field}`.
fn fill(field: &str, row: RowId, args: &Args<'_>, out: &mut String) {
    let imm = args.imm;
    let written = match (field, args.mem) {
        ("m", Some(mem)) => {
            memory(&mem, ENCODINGS[usize::from(row.0)].bytes, out);
            Ok(())
        }
        ("t" | "sym", Some(Mem { base: MemBase::Symbol(index), disp, .. })) => {
            let symbol = args.symbols[index as usize];
            write!(out, "symbol{}{}", symbol.name, Plus(symbol.offset + disp))
        }
        ("i", _) => write!(out, "#{imm}"),
        ("c", _) => write!(out, "{}", CC_NAMES[(imm & 15) as usize]),
        ("cc", _) => write!(out, "{}", CC_NAMES[(imm >> 12 & 15) as usize]),
        ("n", _) => write!(out, "#{}", imm & 15),
        ("k", _) => write!(out, "#{}", imm >> 16),
        ("s", _) => shift(imm, out),
        ("x", _) => extend(imm, out),
        ("b", _) => write!(out, "#{}, #{}", imm >> 6, imm & 63),
        ("w", _) if imm <= 0xffff => write!(out, "#{imm}"),
        ("w", _) => write!(out, "#{}, lsl #{}", imm & 0xffff, 16 * (imm >> 16)),
        ("l32", _) => write!(out, "#{:#x}", logical_value(imm as i32, 32)),
        ("l64", _) => write!(out, "#{:#x}", logical_value(imm as i32, 64)),
        ("f", _) => write!(out, "#{:?}", float_value(i32::from(imm as u8))),
        ("a", _) => amount(imm, "lsl", 0, out),
        ("msl", _) => amount(imm, "msl", 1, out),
        ("mask", _) => write!(out, "#{:#x}", byte_mask(imm as u8)),
        ("q", _) => out.write_str(if lanes(row).is_full() { "2" } else { "" }),
        ("sz", _) => out.write_str(match ENCODINGS[usize::from(row.0)].bytes {
            1 => "b",
            2 => "h",
            _ => "",
        }),
        ("z", _) => {
            let row = &ROWS[usize::from(row.0)];
            out.write_str(if row.operands.first().map_or(row.mem, |o| o.width) == 8 { "xzr" } else { "wzr" })
        }
        _ => operand(field, row, args, out),
    };
    debug_assert!(written.is_ok(), "a string takes everything");
}

/// Returns the lanes that the row works on.
fn lanes(row: RowId) -> Arrangement {
    ENCODINGS[usize::from(row.0)].lanes.expect("a text that names lanes is of a row that has them")
}

/// Appends an immediate of 8 bits and its shift. `imm` holds the shift in bytes, less `least`, above the low 8 bits.
fn amount(imm: i64, shift: &str, least: i64, out: &mut String) -> std::fmt::Result {
    let bits = 8 * ((imm >> 8) + least);
    write!(out, "#{}", imm & 0xff)?;
    if bits == 0 { Ok(()) } else { write!(out, ", {shift} #{bits}") }
}

/// Returns the mask with a byte of ones for each bit that is set in `bits`, the lowest one first.
pub fn byte_mask(bits: u8) -> u64 {
    (0..8).filter(|k| bits >> k & 1 == 1).fold(0, |mask, k| mask | 0xff << (8 * k))
}

/// Appends the register of an operand. The letter after the operand's number chooses the form:
///
/// - none: by the operand's width; `v`: a vector without lanes; `w`: 32 bits; `x`: by the extension in the immediate;
/// - `.`: all lanes of the row; `l`: lanes of twice the width in 16 bytes; `p`: lanes of twice the width in as many
///   bytes; `d`: lanes of a fourth of the width in as many bytes;
/// - `e`, `E`: the lane whose number is the first or second one in the immediate;
/// - `s`: the lowest lane as a scalar; `S`: a scalar of twice the width; `r`: an integer register of the lane's width;
/// - `t`: a list of one vector in the row's lanes; `T`: a list of one vector of bytes; `U`: a list of two.
fn operand(field: &str, row: RowId, args: &Args<'_>, out: &mut String) -> std::fmt::Result {
    let (digits, kind) = field.split_at(field.find(|c: char| !c.is_ascii_digit()).unwrap_or(field.len()));
    let k = digits.parse().unwrap_or(usize::MAX);
    let (Some(&reg), Some(spec)) = (args.regs.get(k), ROWS[usize::from(row.0)].operands.get(k)) else {
        return write!(out, "{{{field}}}");
    };
    match kind {
        "v" => write!(out, "v{}", reg.enc()),
        "w" => out.write_str(&name(reg, 4)),
        "." => write!(out, "v{}.{}", reg.enc(), lanes(row).name()),
        "l" => write!(out, "v{}.{}", reg.enc(), lanes(row).in_full().with_lanes_of(2 * lanes(row).lane_bits()).name()),
        "p" => write!(out, "v{}.{}", reg.enc(), lanes(row).with_lanes_of(2 * lanes(row).lane_bits()).name()),
        "d" => write!(out, "v{}.{}", reg.enc(), lanes(row).with_lanes_of(lanes(row).lane_bits() / 4).name()),
        "e" => write!(out, "v{}.{}[{}]", reg.enc(), lane_letter(row), args.imm & 0xff),
        "E" => write!(out, "v{}.{}[{}]", reg.enc(), lane_letter(row), args.imm >> 8),
        "s" => out.write_str(&name(reg, 1 << lanes(row).log())),
        "S" => out.write_str(&name(reg, 2 << lanes(row).log())),
        "r" => out.write_str(&name(reg, if lanes(row).lane_bits() == 64 { 8 } else { 4 })),
        "t" => write!(out, "{{v{}.{}}}", reg.enc(), lanes(row).name()),
        "T" => write!(out, "{{v{}.16b}}", reg.enc()),
        "U" => write!(out, "{{v{}.16b, v{}.16b}}", reg.enc(), reg.enc() + 1),
        "x" if args.imm >> 3 & 3 != 3 => out.write_str(&name(reg, 4)),
        _ => out.write_str(&name(reg, spec.width)),
    }
}

/// Returns the letter of a lane's width.
fn lane_letter(row: RowId) -> char {
    ['b', 'h', 's', 'd'][usize::from(lanes(row).log())]
}

const SHIFTS: [&str; 4] = ["lsl", "lsr", "asr", "ror"];

/// Appends the shift that [`shifted`](crate::immediates::shifted) made, unless there is none.
fn shift(imm: i64, out: &mut String) -> std::fmt::Result {
    if imm == 0 { Ok(()) } else { write!(out, ", {} #{}", SHIFTS[(imm >> 12 & 3) as usize], imm & 63) }
}

const EXTENDS: [&str; 8] = ["uxtb", "uxth", "uxtw", "uxtx", "sxtb", "sxth", "sxtw", "sxtx"];

/// Appends the extension that [`extended`](crate::immediates::extended) made.
fn extend(imm: i64, out: &mut String) -> std::fmt::Result {
    write!(out, ", {} #{}", EXTENDS[(imm >> 3 & 7) as usize], imm & 7)
}

/// A displacement with its sign, unless it is 0.
struct Plus(i64);

impl std::fmt::Display for Plus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0 == 0 { Ok(()) } else { write!(f, "{:+}", self.0) }
    }
}

fn memory(mem: &Mem, bytes: u8, out: &mut String) {
    // The address of a symbol is computed by separate instructions.
    let Some(base) = base_register(mem.base) else { return };
    let _ = write!(out, "[{}", name(base, 8));
    index(mem, bytes, out);
    if mem.disp != 0 {
        let _ = write!(out, ", #{}", mem.disp);
    }
    out.push(']');
}

fn index(mem: &Mem, bytes: u8, out: &mut String) {
    let Some((index, shift, extend)) = mem.index else { return };
    let extend = extension(extend);
    let (width, how) = if extend == Extend::Uxtx { (8, "lsl") } else { (4, EXTENDS[extend as usize]) };
    let _ = write!(out, ", {}", name(index, width));
    // For bytes, the shift amount 0 is written because its presence sets a bit of the word. It makes no other
    // difference.
    if shift != 0 || (bytes > 1 && how != "lsl") {
        let _ = write!(out, ", {how} #{shift}");
    } else if how != "lsl" {
        let _ = write!(out, ", {how}");
    }
}
