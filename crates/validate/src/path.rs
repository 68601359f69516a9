//! A path of the machine from the head of a block: its state, and its progress through the effects of the block.

use crate::attempt::{Attempt, Mark};
use crate::clif::Effect;
use crate::conditions::Conditions;
use crate::equal::Judge;
use crate::error::Fault;
use crate::frame::Frame;
use crate::input::Code;
use kingpost_ir::TrapCode;
use kingpost_machine_semantics::State;
use kingpost_smt::{Model, Term, Terms};

/// A path.
#[derive(Clone)]
pub(crate) struct Path {
    /// Offset of the next instruction in the code.
    pub(crate) offset: u32,
    pub(crate) state: State,
    pub(crate) frame: Frame,
    /// Results in memory that the path has stored, by their offsets in the area.
    pub(crate) area: Frame,
    pub(crate) conditions: Conditions,
    pub(crate) progress: Progress,
    /// Loads from jump tables: the variable of the loaded bits, and the offset of the entry in the code.
    pub(crate) tables: Vec<(Term, Term)>,
    /// Number of instructions executed.
    pub(crate) steps: u32,
    /// Number of unspecified values so far. It names them, so that two of one path are never equal.
    pub(crate) unspecified: u32,
    /// Offset from the stack pointer at the entry of the lowest byte that the probe routine was called to touch.
    pub(crate) probed: Option<i64>,
    /// Progress of the next atomic access of the block.
    pub(crate) attempt: Attempt,
    /// Whether the next instruction begins an attempt that fails.
    pub(crate) fails: bool,
    /// The handler of the function at which the path continues, after its last call.
    pub(crate) caught: Option<usize>,
    /// Instructions since the last effect, if the block has an atomic access.
    pub(crate) marks: Vec<Mark>,
    /// Whether the path begins at the entry of the function.
    pub(crate) is_prologue: bool,
}

/// Effects of the block that the path has performed.
#[derive(Clone, Default, Debug)]
pub(crate) struct Progress {
    /// Whether each effect was performed, or has no need to be.
    done: Vec<bool>,
    /// Index of the first effect that was not.
    next: usize,
    /// Number of effects that were.
    count: usize,
}

impl Progress {
    pub(crate) fn new(effects: usize) -> Progress {
        Progress { done: vec![false; effects], next: 0, count: 0 }
    }

    /// Returns the indices of the effects that remain.
    pub(crate) fn open(&self) -> impl Iterator<Item = usize> + '_ {
        (self.next..self.done.len()).filter(|&index| !self.done[index])
    }

    pub(crate) fn is_done(&self, index: usize) -> bool {
        self.done[index]
    }

    /// Returns `true` if no effect follows this one.
    pub(crate) fn is_last(&self, index: usize) -> bool {
        index + 1 == self.done.len()
    }

    /// Returns the number of effects that were performed.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Marks an effect as performed.
    pub(crate) fn perform(&mut self, index: usize) {
        self.count += usize::from(!std::mem::replace(&mut self.done[index], true));
        while self.done.get(self.next) == Some(&true) {
            self.next += 1;
        }
    }
}

/// Failure of an obligation, with a model for which it does not hold if one is known.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) fault: Fault,
    pub(crate) model: Option<Box<Model>>,
    /// Terms of the obligation.
    pub(crate) about: Vec<Term>,
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Failure {
        Failure { fault, model: None, about: Vec::new() }
    }
}

/// Facts about the function that each step needs.
pub(crate) struct Surroundings<'a> {
    pub(crate) code: &'a Code<'a>,
    /// Stack pointer at the entry.
    pub(crate) stack: Term,
    /// Address of the function.
    pub(crate) base: Term,
    /// Offsets of each stack slot from the stack pointer at the entry: first byte, and first byte after it.
    pub(crate) slots: Vec<(i64, i64)>,
    /// Offset of the first byte of memory that belongs to the caller.
    pub(crate) caller: i64,
    /// Offset of the first byte after the memory of the caller that the function may change: its stack arguments.
    pub(crate) arguments_end: i64,
    /// Address of the area of results in memory, and its size in bytes.
    pub(crate) area: Option<(Term, i64)>,
    /// Words that hold a symbol's address: the address of the word, and of the symbol.
    pub(crate) pointers: Vec<(Term, Term)>,
    /// Read-only memory with known contents, by address.
    pub(crate) literals: Vec<(Term, Vec<u8>)>,
}

impl Surroundings<'_> {
    /// Returns the codes in the table of traps for an instruction.
    pub(crate) fn traps(&self, offset: u32) -> impl Iterator<Item = TrapCode> + '_ {
        let first = self.code.traps.partition_point(|&(at, _)| at < offset);
        self.code.traps[first..].iter().take_while(move |&&(at, _)| at == offset).map(|&(_, code)| code)
    }

    /// Returns the offset of an address from the stack pointer at the entry, if it is constant.
    pub(crate) fn frame_offset(&self, terms: &mut Terms, address: Term) -> Option<i64> {
        distance(terms, address, self.stack)
    }

    /// Returns `true` if the bytes from `start` to `end` are within a stack slot.
    pub(crate) fn is_in_slot(&self, start: i64, end: i64) -> bool {
        self.slots.iter().any(|&(first, last)| first <= start && end <= last)
    }

    /// Returns `true` if the bytes from `start` to `end` overlap a stack slot.
    pub(crate) fn overlaps_slot(&self, start: i64, end: i64) -> bool {
        self.slots.iter().any(|&(first, last)| start < last && first < end)
    }
}

/// Returns the constant difference of two addresses.
pub(crate) fn distance(terms: &mut Terms, a: Term, b: Term) -> Option<i64> {
    if a == b {
        return Some(0);
    }
    let difference = terms.sub(a, b);
    terms.bits(difference).map(|bits| bits.signed() as i64)
}

/// Requires two terms to be equal under conditions.
pub(crate) fn require_equal(
    terms: &mut Terms,
    judge: &mut Judge<'_>,
    conditions: &Conditions,
    (a, b): (Term, Term),
    fault: Fault,
) -> Result<(), Failure> {
    use crate::equal::Decision;
    match judge.equal(terms, conditions, a, b) {
        Decision::Holds => Ok(()),
        Decision::Fails(model) => Err(Failure { fault, model: Some(model), about: vec![a, b] }),
        Decision::Unknown => Err(Failure { fault, model: None, about: vec![a, b] }),
    }
}

/// Returns `true` if a load equals one that was performed: no effect between them changes memory, so both have the
/// same bits, and it traps only where the other one has trapped with its code.
pub(crate) fn is_repeated(effects: &[Effect], progress: &Progress, index: usize) -> bool {
    let Effect::Load(load) = &effects[index] else { return false };
    effects.iter().enumerate().any(|(number, effect)| {
        let Effect::Load(other) = effect else { return false };
        let is_same = other.bits == load.bits && other.address == load.address && !other.readonly;
        number != index && progress.is_done(number) && is_same && (number < index || other.trap == load.trap)
    })
}

/// Passes over effects that need not be performed: loads that cannot trap and are not read, and traps that cannot
/// occur. Returns the index of the first other effect if it is wanted, and `None` if there is no effect left.
///
/// # Errors
/// If the first other effect is not wanted.
pub(crate) fn pass_over(
    terms: &mut Terms,
    judge: &mut Judge<'_>,
    effects: &[Effect],
    conditions: &Conditions,
    progress: &mut Progress,
    is_wanted: impl Fn(&Effect) -> bool,
) -> Result<Option<usize>, Failure> {
    use crate::equal::Decision;
    let open: Vec<usize> = progress.open().collect();
    for index in open {
        match &effects[index] {
            effect if is_wanted(effect) => return Ok(Some(index)),
            // A load that is read later fails there, because its result is in no place.
            Effect::Load(load) if load.trap.is_none() && load.readonly => {}
            Effect::Load(load) if load.trap.is_none() => progress.perform(index),
            Effect::Load(_) if is_repeated(effects, progress, index) => progress.perform(index),
            Effect::Load(_) => return Err(Fault::Omitted("a load that may trap").into()),
            Effect::TrapIf { condition, .. } => {
                let never = terms.not(*condition);
                match judge.holds(terms, conditions, never) {
                    Decision::Holds => progress.perform(index),
                    Decision::Fails(model) => {
                        let about = vec![*condition];
                        return Err(Failure { fault: Fault::Omitted("a trap"), model: Some(model), about });
                    }
                    Decision::Unknown => {
                        let about = vec![*condition];
                        return Err(Failure { fault: Fault::Omitted("a trap"), model: None, about });
                    }
                }
            }
            Effect::Store { .. } => return Err(Fault::Omitted("a store").into()),
            Effect::Call(_) => return Err(Fault::Omitted("a call").into()),
            Effect::Atomic(_) => return Err(Fault::Omitted("an atomic access").into()),
            Effect::Fence => return Err(Fault::Omitted("a fence").into()),
        }
    }
    Ok(None)
}
