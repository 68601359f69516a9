//! The records of Windows on AArch64: unwind codes, which each describe one instruction of prologue or epilogue
//! (Microsoft, "ARM64 exception handling").
//!
//! Codes are read off the instructions. An epilogue undoes its prologue instruction by instruction, so that its codes
//! are usually the last ones of the prologue. A function whose frame has no saved registers is described by one word.
//! Words for other functions stand for prologues that store x19, or x19 and the link, first, by an instruction that moves
//! the stack pointer (section "Packed unwind data"). A prologue of ours begins with `stp x29, x30, [sp, #-N]!` on every
//! system, and stores other registers afterwards, so that no word describes it.

use crate::windows_frame::WindowsUnwinding;
use kingpost_mach::{FunctionView, UnwindOp};
use std::ops::Range;

const SET_FP: u8 = 0xe1;
const NOP: u8 = 0xe3;
const END: u8 = 0xe4;
/// Largest number of words that a record describes, and that one without codes describes.
const MAX_WORDS: u32 = 1 << 18;
const MAX_PACKED_WORDS: u32 = 1 << 11;
/// The flag X in the first word of a record: a routine for exceptions follows.
const HANDLES_EXCEPTIONS: u32 = 1 << 20;
/// Largest numbers in the first word of a record; larger ones need a second word.
const MAX_SHORT: usize = 31;

/// An epilogue: the number of its first word, the number after its last one, and the start of its codes.
struct Epilogue {
    words: Range<u32>,
    codes: usize,
}

/// Returns the description of a function; `None` if it has no frame.
///
/// # Errors
/// If codes do not describe a construct of the function, which the error names.
pub(crate) fn unwinding(f: &FunctionView<'_>, has_handlers: bool) -> Result<Option<WindowsUnwinding>, &'static str> {
    if f.unwind.is_empty() {
        return Ok(None);
    }
    if f.function.head.frame.checks_limit {
        return Err("a check of the stack limit");
    }
    let length = f.function.data_offset.div_ceil(4);
    if length >= MAX_WORDS {
        return Err("code of 1 MiB or more");
    }
    let prologue = prologue(f)?;
    let mut codes = Codes::default();
    let prologue_codes = codes.add(&prologue);
    debug_assert_eq!(prologue_codes, 0);
    let mut epilogues = Vec::new();
    for words in epilogue_ranges(f) {
        let start = codes.add(&epilogue(f, words.clone())?);
        epilogues.push(Epilogue { words, codes: start });
    }
    // A word cannot refer to handlers.
    if !has_handlers && let Some(word) = packed(&prologue, &epilogues, length, &codes) {
        return Ok(Some(WindowsUnwinding::Packed(word)));
    }
    let flags = if has_handlers { HANDLES_EXCEPTIONS } else { 0 };
    record(length, flags, codes, &epilogues).map(|record| Some(WindowsUnwinding::Record(record)))
}

/// Returns the word for a function with one epilogue at its end, whose frame is reserved and linked by `stp` and `mov`.
fn packed(prologue: &[Vec<u8>], epilogues: &[Epilogue], length: u32, codes: &Codes) -> Option<u32> {
    let [Epilogue { words, codes: start }] = epilogues else { return None };
    let ([set_fp, link, _], true) = (prologue, words.end == length && length < MAX_PACKED_WORDS) else { return None };
    let [link @ 0x80..=0xbf] = link[..] else { return None };
    let is_plain = set_fp[..] == [SET_FP] && words.len() == 2 && codes.bytes[*start..] == [link, END];
    // 16 bytes are the unit.
    let frame = u32::from(link & 0x3f).div_ceil(2);
    // Flag 1; no saved registers or arguments; CR 3: a chain of frames.
    is_plain.then_some(1 | length << 2 | 3 << 21 | frame << 23)
}

/// Returns the contents of `.xdata`.
fn record(length: u32, flags: u32, codes: Codes, epilogues: &[Epilogue]) -> Result<Vec<u8>, &'static str> {
    let mut bytes = codes.bytes;
    bytes.resize(bytes.len().next_multiple_of(4), NOP);
    let code_words = bytes.len() / 4;
    let too_many = "more epilogues or codes than a record has";
    if epilogues.len() > 0xffff || code_words > 0xff {
        return Err(too_many);
    }
    // A single epilogue at the end needs the index of its codes only.
    let single = match epilogues {
        [Epilogue { words, codes }] if words.end == length && *codes <= MAX_SHORT => Some(*codes),
        _ => None,
    };
    let count = single.unwrap_or(epilogues.len());
    let mut out = Vec::with_capacity(bytes.len() + 8 + 4 * epilogues.len());
    let is_short = count <= MAX_SHORT && code_words <= MAX_SHORT && (count, code_words) != (0, 0);
    let (first, second) =
        (length | flags | u32::from(single.is_some()) << 21, count as u32 | (code_words as u32) << 16);
    if is_short {
        out.extend((first | (count as u32) << 22 | (code_words as u32) << 27).to_le_bytes());
    } else if single.is_some() {
        return Err(too_many);
    } else {
        out.extend(first.to_le_bytes());
        out.extend(second.to_le_bytes());
    }
    if single.is_none() {
        for Epilogue { words, codes } in epilogues {
            let index = u32::try_from(*codes).ok().filter(|&index| index < 1 << 10).ok_or(too_many)?;
            out.extend((words.start | index << 22).to_le_bytes());
        }
    }
    out.extend(bytes);
    Ok(out)
}

/// Lists of codes, in one array.
#[derive(Default)]
struct Codes {
    bytes: Vec<u8>,
    /// Starts of codes in the array.
    starts: Vec<usize>,
}

impl Codes {
    /// Returns the start of a list in the array, where an equal list may be already.
    fn add(&mut self, list: &[Vec<u8>]) -> usize {
        let flat = list.concat();
        let known = |&&start: &&usize| self.bytes[start..].starts_with(&flat);
        if let Some(&start) = self.starts.iter().find(known) {
            return start;
        }
        let first = self.bytes.len();
        for code in list {
            self.starts.push(self.bytes.len());
            self.bytes.extend(code);
        }
        first
    }
}

fn word(f: &FunctionView<'_>, index: u32) -> u32 {
    let bytes = f.code.get(4 * index as usize..).and_then(|bytes| bytes.first_chunk());
    bytes.map_or(0, |&bytes| u32::from_le_bytes(bytes))
}

/// Returns the codes of the prologue, from its last instruction to the end of the list.
fn prologue(f: &FunctionView<'_>) -> Result<Vec<Vec<u8>>, &'static str> {
    let sites: Vec<_> = f.unwind.iter().take_while(|site| site.op != UnwindOp::EpilogueBegin).collect();
    let words = sites.last().map_or(0, |site| site.offset / 4);
    let mut codes = vec![vec![END]];
    for index in 0..words {
        let by_register = || {
            sites.iter().find_map(|site| match site.op {
                UnwindOp::Allocated(bytes) if site.offset == 4 * (index + 1) => Some(bytes),
                _ => None,
            })
        };
        let code = match word(f, index) {
            // sub sp, sp, x15, lsl #4
            0xcb2f_73ff => by_register().and_then(allocation),
            word => of_store(word).or_else(|| is_neutral(word).then(|| vec![NOP])),
        };
        codes.push(code.ok_or("a prologue without unwind codes")?);
    }
    codes.reverse();
    Ok(codes)
}

/// Returns the codes of an epilogue, with the last one for its exit.
fn epilogue(f: &FunctionView<'_>, words: Range<u32>) -> Result<Vec<Vec<u8>>, &'static str> {
    let mut codes = Vec::new();
    for index in words.start..words.end - 1 {
        let code = match word(f, index) {
            // mov x16, xN, before br x16
            word if word & 0xffe0_ffff == 0xaa00_03f0 => Some(vec![NOP]),
            word => of_load(word),
        };
        codes.push(code.ok_or("an epilogue without unwind codes")?);
    }
    codes.push(vec![END]);
    Ok(codes)
}

/// Returns the words of each epilogue.
fn epilogue_ranges(f: &FunctionView<'_>) -> Vec<Range<u32>> {
    let mut ranges = Vec::new();
    let mut start = 0;
    for site in f.unwind {
        match site.op {
            UnwindOp::EpilogueBegin => start = site.offset / 4,
            UnwindOp::EpilogueEnd => ranges.push(start..site.offset / 4),
            _ => {}
        }
    }
    ranges
}

/// Returns `true` for instructions of a prologue that change neither the stack pointer nor a register that callees
/// preserve: landing pads, calls, and moves of constants to x15.
fn is_neutral(word: u32) -> bool {
    let makes_x15 = word & 31 == 15 && matches!(word >> 23 & 0x3f, 0b10_0100 | 0b10_0101);
    word == 0xd503_245f || word >> 26 == 0b10_0101 || makes_x15
}

/// Returns the code of an instruction that a prologue has.
fn of_store(word: u32) -> Option<Vec<u8>> {
    match word {
        // mov x29, sp
        0x9100_03fd => Some(vec![SET_FP]),
        // stp x29, x30, [sp, #-N]!
        _ if word & 0xffc0_7fff == 0xa980_7bfd => link(128 - (word >> 15 & 0x7f)),
        // sub sp, sp, #N
        _ if word & 0xff80_03ff == 0xd100_03ff => allocation(add_sub(word)),
        _ => save(word, [0xa900_03e0, 0xf900_03e0, 0x3d80_03e0]),
    }
}

/// Returns the code of an instruction that an epilogue has, which is the code of the instruction that it undoes.
fn of_load(word: u32) -> Option<Vec<u8>> {
    match word {
        // mov sp, x29
        0x9100_03bf => Some(vec![SET_FP]),
        // ldp x29, x30, [sp], #N
        _ if word & 0xffc0_7fff == 0xa8c0_7bfd => link(word >> 15 & 0x7f),
        // add sp, sp, #N
        _ if word & 0xff80_03ff == 0x9100_03ff => allocation(add_sub(word)),
        _ => save(word, [0xa940_03e0, 0xf940_03e0, 0x3dc0_03e0]),
    }
}

/// Returns the immediate of an addition or subtraction.
fn add_sub(word: u32) -> u32 {
    (word >> 10 & 0xfff) << if word & 1 << 22 == 0 { 0 } else { 12 }
}

/// Returns `save_fplr_x` for so many units of 8 bytes.
fn link(units: u32) -> Option<Vec<u8>> {
    (1..=64).contains(&units).then(|| vec![0x80 | (units - 1) as u8])
}

/// Returns `alloc_s`, `alloc_m` or `alloc_l`.
fn allocation(bytes: u32) -> Option<Vec<u8>> {
    let [high, middle, low] = match (bytes / 16).to_be_bytes() {
        [0, high, middle, low] if bytes.is_multiple_of(16) => [high, middle, low],
        _ => return None,
    };
    Some(match bytes / 16 {
        ..0x20 => vec![low],
        0x20..0x800 => vec![0xc0 | middle, low],
        _ => vec![0xe0, high, middle, low],
    })
}

/// Returns the code of an access to one or two saved registers at an offset from the stack pointer. `forms` are the
/// words for a pair, one integer register, and one vector register, whose low half is preserved.
fn save(word: u32, forms: [u32; 3]) -> Option<Vec<u8>> {
    let [pair, single, vector] = forms;
    let (reg, second) = (word & 31, word >> 10 & 31);
    let is_int = (19..=28).contains(&reg);
    // The kind of the code, the number of the register, and the offset in units of 8 bytes.
    let (kind, number, units) = if word & 0xffc0_03e0 == pair && is_int && second == reg + 1 {
        (0xc8, reg - 19, word >> 15 & 0x7f)
    } else if word & 0xffc0_03e0 == single && is_int {
        (0xd0, reg - 19, word >> 10 & 0xfff)
    } else if word & 0xffc0_03e0 == vector && (8..=15).contains(&reg) {
        (0xdc, reg - 8, (word >> 10 & 0xfff) * 2)
    } else {
        return None;
    };
    (units < 64).then(|| vec![kind | (number >> 2) as u8, (number << 6 | units) as u8])
}
