//! The records of Windows on x86-64: the operations of a prologue (Microsoft, "x64 exception handling", struct
//! `UNWIND_INFO`).
//!
//! The stack pointer does not move in a body. So no frame register is declared, and the unwinder undoes the prologue
//! from the stack pointer. It finds the state within an epilogue by its instructions: pops, and a return or jump.
//! `leave` is not among them, but the state before it is the state of the body.

use kingpost_mach::{FunctionView, UnwindOp};

/// Largest allocation that is described in one code of 16 bits, in bytes.
const MAX_SMALL: u32 = 128;

/// Flags in the first byte: a routine for exceptions, and a routine for unwinding.
const HANDLES_EXCEPTIONS: u8 = 1 << 3;
const HANDLES_UNWINDING: u8 = 2 << 3;

/// Returns the `UNWIND_INFO` of a function; `None` if it has no frame.
///
/// # Errors
/// If the format does not describe a construct of the prologue, which the error names.
pub(crate) fn unwind_info(f: &FunctionView<'_>, has_handlers: bool) -> Result<Option<Vec<u8>>, &'static str> {
    if f.unwind.is_empty() {
        return Ok(None);
    }
    if f.function.head.frame.checks_limit {
        return Err("a check of the stack limit");
    }
    let mut codes = Vec::new();
    // Distance of the stack pointer below the CFA.
    let mut depth = 8;
    let prologue = f.unwind.iter().take_while(|site| site.op != UnwindOp::EpilogueBegin);
    let frame_bytes = f.function.head.frame.size;
    let mut end = 0;
    for site in prologue {
        let code = match site.op {
            UnwindOp::Saved(reg, below) if !reg.class().has_width(16) && below == depth + 8 => {
                depth = below;
                Code { operation: 0, info: reg.enc(), operands: vec![] }
            }
            UnwindOp::Saved(reg, below) if reg.class().has_width(16) && below <= frame_bytes => {
                let offset = frame_bytes - below;
                match u16::try_from(offset / 16) {
                    Ok(scaled) => Code { operation: 8, info: reg.enc(), operands: vec![scaled] },
                    Err(_) => Code { operation: 9, info: reg.enc(), operands: halves(offset) },
                }
            }
            UnwindOp::Allocated(bytes) => {
                depth += bytes;
                match u16::try_from(bytes / 8) {
                    _ if bytes <= MAX_SMALL => Code { operation: 2, info: (bytes / 8 - 1) as u8, operands: vec![] },
                    Ok(scaled) => Code { operation: 1, info: 0, operands: vec![scaled] },
                    Err(_) => Code { operation: 1, info: 1, operands: halves(bytes) },
                }
            }
            UnwindOp::CfaStackPointer(bytes) if bytes != 8 => continue,
            UnwindOp::CfaFramePointer(_) => continue,
            _ => return Err("a tail call with more stack arguments than the function receives"),
        };
        end = u8::try_from(site.offset).map_err(|_| "a prologue of more than 255 bytes")?;
        codes.push((end, code));
    }
    let count: usize = codes.iter().map(|(_, code)| 1 + code.operands.len()).sum();
    let count = u8::try_from(count).map_err(|_| "a prologue of more than 255 codes")?;
    let flags = if has_handlers { HANDLES_EXCEPTIONS | HANDLES_UNWINDING } else { 0 };
    // Version 1, no frame register.
    let mut out = vec![1 | flags, end, count, 0];
    for (offset, code) in codes.iter().rev() {
        out.extend([*offset, code.operation | code.info << 4]);
        out.extend(code.operands.iter().flat_map(|word| word.to_le_bytes()));
    }
    // The number of codes is padded to an even one.
    out.resize(out.len().next_multiple_of(4), 0);
    Ok(Some(out))
}

/// Operation of a prologue.
struct Code {
    operation: u8,
    info: u8,
    operands: Vec<u16>,
}

fn halves(number: u32) -> Vec<u16> {
    vec![number as u16, (number >> 16) as u16]
}
