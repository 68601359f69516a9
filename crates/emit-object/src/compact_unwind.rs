//! Frames as `__LD,__compact_unwind` for macOS: one word for each function (Apple, `mach-o/compact_unwind_encoding.h`).
//!
//! The word describes the usual frames: the link, and saved registers in certain places. For all others it refers to
//! `__eh_frame`, which always has the function as well, because the word is valid in the body only.

use crate::eh_frame::registers;
use crate::error::ObjectError;
use crate::format::{Field, Table};
use crate::writer::{Handlers, Writer};
use kingpost_codegen::DwarfRegisters;
use kingpost_mach::{FunctionView, ModuleBuffer, UnwindOp};
use object::Architecture;

/// Bytes of an entry: address, length, encoding, personality routine, handlers.
const ENTRY_BYTES: usize = 32;
/// Offsets of its fields for a function with handlers.
const ROUTINE: u64 = 16;
const HANDLERS: u64 = 24;
/// Bits that are set for all functions with handlers.
const HAS_HANDLERS: u32 = 0x4000_0000;

impl Writer<'_> {
    /// Adds `__compact_unwind`. `handlers` has the offset of the handlers of each function in `__gcc_except_tab`.
    pub(crate) fn compact_unwind(
        &mut self,
        module: &ModuleBuffer,
        handlers: &[Option<u64>],
    ) -> Result<(), ObjectError> {
        let section = self.add_table(Table::CompactUnwind);
        for (index, f) in module.functions().enumerate() {
            let mut encoding = encoding(&f, self.architecture);
            let of_function =
                handlers.get(index).copied().flatten().filter(|_| encoding != elsewhere(self.architecture));
            if of_function.is_some() {
                encoding |= HAS_HANDLERS;
            }
            let mut entry = [0; ENTRY_BYTES];
            entry[8..12].copy_from_slice(&(f.code.len() as u32).to_le_bytes());
            entry[12..16].copy_from_slice(&encoding.to_le_bytes());
            let at = self.append(section, &entry, 8)?;
            let (symbol, start) = self.place(index);
            self.address(section, at, symbol, start, Field::Absolute8)?;
            if let (Some(offset), Some(Handlers { table, routine, .. })) = (of_function, self.handlers) {
                self.address(section, at + ROUTINE, routine, 0, Field::Absolute8)?;
                let (symbol, start) = self.place_of(table, offset);
                self.address(section, at + HANDLERS, symbol, start, Field::Absolute8)?;
            }
        }
        Ok(())
    }
}

/// Returns the word of a function.
fn encoding(f: &FunctionView<'_>, architecture: Architecture) -> u32 {
    let x86 = architecture == Architecture::X86_64;
    if f.unwind.is_empty() {
        // Without a frame: the stack pointer is 8 bytes below the caller's on x86-64.
        return if x86 { 0x0201_0000 } else { 0x0200_0000 };
    }
    let frame = Frame::of(f, registers(architecture));
    let word = frame.and_then(|frame| if x86 { frame.of_x86_64() } else { frame.of_aarch64() });
    word.unwrap_or(elsewhere(architecture))
}

/// Returns the word that refers to `__eh_frame`, which has the handlers as well.
fn elsewhere(architecture: Architecture) -> u32 {
    if architecture == Architecture::X86_64 { 0x0400_0000 } else { 0x0300_0000 }
}

/// A frame with a frame pointer at the link, 16 bytes below the CFA.
struct Frame {
    /// The DWARF numbers of the other saved registers, each with its distance in bytes below the frame pointer.
    saved: Vec<(u8, u32)>,
}

impl Frame {
    /// Returns the frame of the body; `None` if it is of another kind.
    fn of(f: &FunctionView<'_>, registers: &DwarfRegisters) -> Option<Frame> {
        let (mut saved, mut is_linked) = (Vec::new(), false);
        for site in f.unwind.iter().take_while(|site| site.op != UnwindOp::EpilogueBegin) {
            match site.op {
                UnwindOp::Saved(_, 8 | 16) if !is_linked => {}
                UnwindOp::Saved(reg, below) => saved.push((registers.number(reg), below.checked_sub(16)?)),
                UnwindOp::CfaFramePointer(16) if saved.is_empty() => is_linked = true,
                UnwindOp::CfaStackPointer(16) if !is_linked => {}
                UnwindOp::Allocated(_) if is_linked => {}
                _ => return None,
            }
        }
        is_linked.then_some(Frame { saved })
    }

    /// Returns the word on x86-64: up to five neighboring words with registers, and the distance of the lowest one below
    /// the frame pointer.
    fn of_x86_64(&self) -> Option<u32> {
        let lowest = self.saved.iter().map(|&(_, below)| below).max().unwrap_or(0);
        if lowest / 8 > 0xff {
            return None;
        }
        self.saved.iter().try_fold(0x0100_0000 | (lowest / 8) << 16, |word, &(reg, below)| {
            let number = match reg {
                3 => 1,
                12..=15 => u32::from(reg) - 10,
                _ => return None,
            };
            let place = (lowest - below) / 8;
            (place < 5 && below.is_multiple_of(8)).then_some(word | number << (3 * place))
        })
    }

    /// Returns the word on AArch64: pairs of registers right below the frame pointer, in order.
    fn of_aarch64(&self) -> Option<u32> {
        let (mut word, mut top, mut count) = (0x0400_0000, 0, 0);
        let place = |reg: u8| self.saved.iter().find(|&&(saved, _)| saved == reg).map(|&(_, below)| below);
        // v8 has the number 72.
        let ints = (0..5).map(|pair| (1 << pair, [19, 20].map(|first| first + 2 * pair)));
        let floats = (0..4).map(|pair| (0x100 << pair, [72, 73].map(|first| first + 2 * pair)));
        for (flag, pair) in ints.chain(floats) {
            match pair.map(place) {
                [None, None] => {}
                [Some(first), Some(second)] if first == top + 8 && second == top + 16 => {
                    (word, top, count) = (word | flag, second, count + 2);
                }
                _ => return None,
            }
        }
        (count == self.saved.len()).then_some(word)
    }
}
