//! Sums and products of counters that are extended for an address: they are computed in the wider type.
//!
//! ```text
//! v3 = imul v1, v9  ; v9 = 20              v13 = imul v11, v19  ; v19 = 20
//! v4 = iadd v3, v2                         v14 = iadd v13, v12
//! v5 = sextend.i64 v4
//! v6 = load.i32 v5                         v6 = load.i32 v14
//! ```
//!
//! Part of [`crate::induction`], which has counted `v1` and `v2` as `v11` and `v12`. The ranges of the counters must show
//! that no sum, difference, product or shift on the way exceeds the narrow type. Each is then the same number in both
//! types. So this applies where the bounds of the loops are constants, as in matrices and blocks of a known size.
//!
//! Cost: linear. Of each extension, up to [`MAX_NODES`] values are looked at.

use kingpost_ir::analyses::Analyses;
use kingpost_ir::types::I64;
use kingpost_ir::{Block, Function, Inst, InstData, Opcode, Value};
use kingpost_meter::heap_bytes;
use smallvec::SmallVec;

use crate::counter_ranges::{Proof, prove};
use crate::counters::{Counters, constant_of, make, replace_extension};
use crate::ranges::{Range, Sign};

/// Maximum number of values from an extension to the counters.
const MAX_NODES: usize = 8;

/// An extension, with a sign and to 64 bits, of a sum or product.
#[derive(Clone, Copy, Debug)]
struct Sum {
    inst: Inst,
    block: Block,
}

/// The sums of a function.
#[derive(Default, Debug)]
pub(crate) struct Sums {
    sums: Vec<Sum>,
    /// By counter: its proof with a sign, if a sum has asked for that.
    signed: Vec<Option<Option<Proof>>>,
    /// By counter: whether a sum needs it in 64 bits.
    is_needed: Vec<bool>,
}

heap_bytes!(Sums { sums, signed, is_needed });

/// A search for the counters of a sum.
struct Search<'a> {
    func: &'a Function,
    analyses: &'a Analyses,
    counters: &'a Counters,
    /// The block of the extension.
    block: Block,
    /// Number of values that it may still look at.
    left: usize,
    found: SmallVec<[u32; MAX_NODES]>,
}

impl Sums {
    pub(crate) fn clear(&mut self) {
        self.sums.clear();
    }

    /// Adds the extension of `value` in a block if it may be one of a sum.
    pub(crate) fn add(&mut self, func: &Function, inst: Inst, block: Block, value: Value) {
        let opcode = func.dfg.first_result_of(value).map(|inst| func.dfg.opcode(inst));
        let is_sum = matches!(opcode, Some(Opcode::Iadd | Opcode::Isub | Opcode::Imul | Opcode::Ishl));
        if is_sum && func.dfg.opcode(inst) == Opcode::Sextend && func.dfg.ctrl_type(inst) == I64 {
            self.sums.push(Sum { inst, block });
        }
    }

    /// Decides which sums are computed in the wider type, and keeps these. Adds their counters to `chosen`, the counters that
    /// are widened.
    pub(crate) fn choose(
        &mut self,
        func: &Function,
        analyses: &Analyses,
        counters: &Counters,
        chosen: &mut [Option<Proof>],
    ) {
        self.signed.clear();
        self.signed.resize(chosen.len(), None);
        self.is_needed.clear();
        self.is_needed.resize(chosen.len(), false);
        let mut sums = std::mem::take(&mut self.sums);
        sums.retain(|&Sum { inst, block }| {
            let mut search = Search { func, analyses, counters, block, left: MAX_NODES, found: SmallVec::new() };
            let value = func.dfg.resolve_aliases(func.dfg.inline_arg(inst, 0));
            self.range_of(&mut search, value).is_some() && self.choose_counters(&search, chosen)
        });
        self.sums = sums;
    }

    /// Adds counters to those that are widened. Returns `false` if one is widened to other numbers.
    fn choose_counters(&mut self, search: &Search<'_>, chosen: &mut [Option<Proof>]) -> bool {
        let is_alike = |&number: &u32| {
            let width = search.func.dfg.value_type(search.counters.list[number as usize].param).bits();
            let chosen = chosen[number as usize];
            chosen.is_none_or(|proof| proof.sign == Sign::Signed || Range::of_both(width).contains(proof.range))
        };
        if search.found.is_empty() || !search.found.iter().all(is_alike) {
            return false;
        }
        for &number in &search.found {
            let number = number as usize;
            self.is_needed[number] = true;
            if chosen[number].is_none() {
                chosen[number] = self.signed[number].flatten();
            }
        }
        true
    }

    /// Returns `true` if a sum needs the counter of this number in 64 bits.
    pub(crate) fn has(&self, number: usize) -> bool {
        self.is_needed[number]
    }

    /// Returns the range of a value, read with a sign, if it is computed of counters and constants and nothing exceeds
    /// the type.
    fn range_of(&mut self, search: &mut Search<'_>, value: Value) -> Option<Range> {
        search.left = search.left.checked_sub(1)?;
        let func = search.func;
        let width = func.dfg.value_type(value).bits();
        if let Some(bits) = constant_of(func, value) {
            return Some(Range::point(Sign::Signed.read(bits, width)));
        }
        if let Some(number) = search.counters.number_of(value) {
            search.found.push(number);
            let counter = &search.counters.list[number as usize];
            let proof = &mut self.signed[number as usize];
            let proof = (*proof.get_or_insert_with(|| prove(func, search.analyses, counter, Sign::Signed)))?;
            return Some(proof.range_in(search.analyses, search.block));
        }
        let inst = func.dfg.first_result_of(value)?;
        let [x, y] = *func.dfg.inst_args(inst) else { return None };
        let [x, y] = [x, y].map(|operand| func.dfg.resolve_aliases(operand));
        let opcode = func.dfg.opcode(inst);
        let range = match opcode {
            Opcode::Iadd | Opcode::Isub | Opcode::Imul => {
                let x = self.range_of(search, x)?;
                let y = self.range_of(search, y)?;
                match opcode {
                    Opcode::Iadd => x.sum(y),
                    Opcode::Isub => x.sum(y.negated()),
                    _ => x.product(y),
                }
            }
            Opcode::Ishl => {
                let amount = shift(func, y, width)?;
                self.range_of(search, x)?.product(Range::point(1 << amount))
            }
            _ => return None,
        };
        Range::all(Sign::Signed, width).contains(range).then_some(range)
    }

    /// Computes the chosen sums of the wide counters.
    pub(crate) fn widen(&self, func: &mut Function) {
        for sum in &self.sums {
            let value = func.dfg.inline_arg(sum.inst, 0);
            if let Some(wide) = wide(func, value, sum.inst) {
                replace_extension(func, sum.inst, wide, I64);
            }
        }
    }
}

/// Returns the amount of a shift by a constant.
fn shift(func: &Function, amount: Value, width: u32) -> Option<u32> {
    constant_of(func, amount).map(|bits| bits as u32 & (width - 1))
}

/// Returns a chosen value, extended with its sign, computed before an instruction.
fn wide(func: &mut Function, value: Value, before: Inst) -> Option<Value> {
    let value = func.dfg.resolve_aliases(value);
    let width = func.dfg.value_type(value).bits();
    if let Some(bits) = constant_of(func, value) {
        let number = Sign::Signed.read(bits, width);
        return Some(make(func, before, InstData::iconst(I64, number as i64), I64));
    }
    let inst = func.dfg.first_result_of(value)?;
    let opcode = func.dfg.opcode(inst);
    if opcode == Opcode::Ireduce {
        // A counter, or its next number.
        let counter = func.dfg.resolve_aliases(func.dfg.inline_arg(inst, 0));
        return (func.dfg.value_type(counter) == I64).then_some(counter);
    }
    let [x, y] = *func.dfg.inst_args(inst) else { return None };
    let x = wide(func, x, before)?;
    let y = match opcode {
        Opcode::Ishl => {
            let amount = shift(func, y, width)?;
            make(func, before, InstData::iconst(I64, amount.into()), I64)
        }
        Opcode::Iadd | Opcode::Isub | Opcode::Imul => wide(func, y, before)?,
        _ => return None,
    };
    Some(make(func, before, InstData::binary(opcode, I64, [x, y]), I64))
}
