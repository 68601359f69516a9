//! Single-bit faults in proved code: each must be refused, unless the changed code means the same.
//!
//! A changed code that is accepted is judged without the rules of proofs: if the changed instruction is decoded as
//! before, it is another encoding of it. Otherwise both codes are executed on numbers, and must show the same to others:
//! a difference means that a proof accepted a fault.

#[cfg(test)]
mod reasons;
#[cfg(test)]
mod tests;

use crate::execution;
use crate::native::settings;
use kingpost_codegen::settings::{OptLevel, ValidateCode, ValidateFailure};
use kingpost_codegen::{Compiler, Context};
use kingpost_ir::Function;
use kingpost_mach::ModuleBuffer;
use kingpost_machine_semantics::{a64, x64};
use kingpost_validate::{Code, Machine, Verdict, prove};
use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Codes of more bytes are left out, because each fault costs a proof.
const MAX_BYTES: u32 = 1 << 13;
/// Number of executions of an accepted fault, each in another state.
pub const ROUNDS: u64 = 12;
/// Machine, allocator and optimization level, in turns.
const TURNS: [(&str, &str, OptLevel); 8] = [
    ("x86_64", "ssa", OptLevel::None),
    ("aarch64", "fused", OptLevel::None),
    ("x86_64", "fused", OptLevel::Speed),
    ("aarch64", "ssa", OptLevel::Speed),
    ("x86_64", "fused", OptLevel::None),
    ("aarch64", "ssa", OptLevel::None),
    ("x86_64", "ssa", OptLevel::Speed),
    ("aarch64", "fused", OptLevel::Speed),
];

/// Verdict on a fault.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Judgement {
    /// It is refused.
    Refused,
    /// It is accepted, and the changed instruction is the same.
    SameInstruction,
    /// It is accepted, and shows nothing else to others.
    SameEffects,
    /// It is accepted, and shows something else.
    Accepted(String),
}

/// Counts of faults.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Counts {
    /// Faults that were judged.
    pub faults: u64,
    /// Faults that were refused.
    pub refused: u64,
    /// Accepted faults that are another encoding of the same instruction.
    pub same_instruction: u64,
    /// Accepted faults that show nothing else to others.
    pub same_effects: u64,
    /// Accepted faults that show something else, with their places.
    pub accepted: Vec<String>,
}

impl Counts {
    fn count(&mut self, judgement: Judgement, place: impl FnOnce() -> String) {
        self.faults += 1;
        match judgement {
            Judgement::Refused => self.refused += 1,
            Judgement::SameInstruction => self.same_instruction += 1,
            Judgement::SameEffects => self.same_effects += 1,
            Judgement::Accepted(what) => self.accepted.push(format!("{}: {what}", place())),
        }
    }

    /// Adds other counts.
    pub fn add(&mut self, other: Counts) {
        self.faults += other.faults;
        self.refused += other.refused;
        self.same_instruction += other.same_instruction;
        self.same_effects += other.same_effects;
        self.accepted.extend(other.accepted);
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Counts { faults, refused, same_instruction, same_effects, accepted } = self;
        write!(
            f,
            "{faults} faults: {refused} refused, {same_instruction} the same instruction, {same_effects} the same effects, {} accepted",
            accepted.len()
        )?;
        accepted.iter().try_for_each(|place| write!(f, "\n  {place}"))
    }
}

/// Judges the fault of one bit in a proved code, with `rounds` executions of each accepted one. Returns `None` for a field
/// that the linker writes.
pub fn judge(func: &Function, code: &Code<'_>, bit: u32, rounds: u64) -> Option<Judgement> {
    let byte = bit / 8;
    let unit = if code.machine == Machine::Aarch64 { 4 } else { 1 };
    let is_relocated = |offset: u32| (offset / unit * unit..offset + 4).contains(&byte);
    if code.relocations.iter().any(|field| is_relocated(field.offset)) {
        return None;
    }
    let mut bytes = code.bytes.to_vec();
    bytes[byte as usize] ^= 1 << (bit % 8);
    let changed = Code { bytes: &bytes, ..code.clone() };
    if prove(func, &changed, None).verdict != Verdict::Proved {
        return Some(Judgement::Refused);
    }
    if is_same_instruction(code, &changed, byte) {
        return Some(Judgement::SameInstruction);
    }
    Some(match execution::compare(func, code, &changed, rounds) {
        Ok(()) => Judgement::SameEffects,
        Err(difference) => Judgement::Accepted(difference),
    })
}

/// Returns `true` if the instruction that holds a byte is decoded equally in both codes.
fn is_same_instruction(code: &Code<'_>, changed: &Code<'_>, byte: u32) -> bool {
    let mut at = 0;
    while at <= byte as usize {
        let [old, new] = [code, changed].map(|code| &code.bytes[at..code.end as usize]);
        let (is_same, len) = match code.machine {
            Machine::X64 => {
                let (old, new) = (x64::decode(old), x64::decode(new));
                (old == new, old.map_or(1, |(_, len)| len))
            }
            Machine::Aarch64 => (a64::decode(old) == a64::decode(new), 4),
        };
        if at + len > byte as usize {
            return is_same;
        }
        at += len;
    }
    false
}

/// Plants `count` faults in the code of functions that terms prove: machines, allocators and optimization levels in
/// turns, with about as many faults in each code. The seed chooses the bits.
pub fn run(functions: &[Function], count: u64, seed: u64) -> Counts {
    let per_code = count.div_ceil((functions.len() as u64).max(1));
    let (next, sum) = (AtomicUsize::new(0), Mutex::new(Counts::default()));
    let work = || {
        let mut lanes: Vec<(Compiler, Context)> = TURNS.iter().map(lane).collect();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(func) = functions.get(number) else { return };
            let turn = (number + seed as usize) % TURNS.len();
            let counts =
                of_function(func, &mut lanes[turn], per_code, execution::mixed([seed, number as u64, 1]), turn);
            sum.lock().expect("no thread panics").add(counts);
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let mut sum = sum.into_inner().expect("no thread panics");
    sum.accepted.sort();
    sum
}

/// Returns a compiler whose code is judged by terms.
fn lane(&(machine, allocator, opt_level): &(&str, &str, OptLevel)) -> (Compiler, Context) {
    let settings = settings(allocator).with(|settings| {
        settings.opt_level = opt_level;
        settings.verify_each = false;
        settings.preserve_frame_pointers = true;
        settings.validate_code = ValidateCode::Terms;
        settings.validate_failure = ValidateFailure::Report;
    });
    let triple = format!("{machine}-unknown-linux-gnu").parse().expect("a known triple");
    let compiler = Compiler::new(&triple, settings, &[]).expect("settings of the table");
    let cx = compiler.context();
    (compiler, cx)
}

fn of_function(func: &Function, lane: &mut (Compiler, Context), count: u64, seed: u64, turn: usize) -> Counts {
    let (mut counts, mut func, mut module) = (Counts::default(), func.clone(), ModuleBuffer::default());
    let (compiler, cx) = lane;
    if compiler.compile(cx, &mut func, &mut module).is_err() {
        return counts;
    }
    let view = module.function(0);
    let code = compiler.code_to_prove(cx, &func, &view);
    if code.end == 0 || code.end > MAX_BYTES || prove(&func, &code, None).verdict != Verdict::Proved {
        return counts;
    }
    for number in 0..count {
        let bit = (execution::mixed([seed, number, 2]) % (8 * u64::from(code.end))) as u32;
        if let Some(judgement) = judge(&func, &code, bit, ROUNDS) {
            counts.count(judgement, || {
                let (machine, allocator, level) = TURNS[turn];
                format!("{} for {machine} by {allocator} at {level}: byte {:#x}, bit {}", func.name, bit / 8, bit % 8)
            });
        }
    }
    counts
}
