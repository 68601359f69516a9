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
use smallvec::SmallVec;

use crate::counter_ranges::prove;
use crate::induction::{Induction, constant_of, make, replace_extension};
use crate::ranges::{Range, Sign};

/// Maximum number of values from an extension to the counters.
const MAX_NODES: usize = 8;

/// An extension, with a sign and to 64 bits, of a sum or product.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sum {
    inst: Inst,
    block: Block,
}

/// Values of a sum that remain to be looked at, and the counters found.
struct Search {
    left: usize,
    counters: SmallVec<[u32; MAX_NODES]>,
}

impl Sum {
    /// Returns the extension of `value` in a block if it may be one.
    pub(crate) fn of(func: &Function, inst: Inst, block: Block, value: Value) -> Option<Sum> {
        let opcode = func.dfg.opcode(func.dfg.first_result_of(value)?);
        let is_sum = matches!(opcode, Opcode::Iadd | Opcode::Isub | Opcode::Imul | Opcode::Ishl);
        let is_extended = func.dfg.opcode(inst) == Opcode::Sextend && func.dfg.ctrl_type(inst) == I64;
        (is_sum && is_extended).then_some(Sum { inst, block })
    }
}

impl Induction {
    /// Decides which sums are computed in the wider type. Adds their counters to those that are widened.
    pub(crate) fn choose_sums(&mut self, func: &Function, analyses: &Analyses) {
        let mut sums = std::mem::take(&mut self.sums);
        sums.retain(|sum| {
            let mut search = Search { left: MAX_NODES, counters: SmallVec::new() };
            let value = func.dfg.resolve_aliases(func.dfg.inline_arg(sum.inst, 0));
            self.range_of(func, analyses, value, sum.block, &mut search).is_some()
                && self.choose_counters(func, &search)
        });
        self.sums = sums;
    }

    /// Adds counters to those that are widened. Returns `false` if one is widened to other numbers.
    fn choose_counters(&mut self, func: &Function, search: &Search) -> bool {
        let is_alike = |&number: &u32| {
            let width = func.dfg.value_type(self.counters[number as usize].param).bits();
            let chosen = self.chosen[number as usize];
            chosen.is_none_or(|proof| proof.sign == Sign::Signed || Range::of_both(width).contains(proof.range))
        };
        if search.counters.is_empty() || !search.counters.iter().all(is_alike) {
            return false;
        }
        for &number in &search.counters {
            let number = number as usize;
            self.is_in_sum[number] = true;
            if self.chosen[number].is_none() {
                self.chosen[number] = self.signed[number].flatten();
            }
        }
        true
    }

    /// Returns the range of a value, read with a sign, if it is computed of counters and constants and nothing exceeds
    /// the type.
    fn range_of(
        &mut self,
        func: &Function,
        analyses: &Analyses,
        value: Value,
        block: Block,
        search: &mut Search,
    ) -> Option<Range> {
        search.left = search.left.checked_sub(1)?;
        let width = func.dfg.value_type(value).bits();
        if let Some(bits) = constant_of(func, value) {
            return Some(Range::point(Sign::Signed.read(bits, width)));
        }
        if let Some(number) = self.numbers[value].checked_sub(1) {
            search.counters.push(number);
            let counter = self.counters[number as usize];
            let proof = &mut self.signed[number as usize];
            let proof = (*proof.get_or_insert_with(|| prove(func, analyses, &counter, Sign::Signed)))?;
            return Some(proof.range_in(analyses, block));
        }
        let inst = func.dfg.first_result_of(value)?;
        let [x, y] = *func.dfg.inst_args(inst) else { return None };
        let [x, y] = [x, y].map(|operand| func.dfg.resolve_aliases(operand));
        let opcode = func.dfg.opcode(inst);
        let range = match opcode {
            Opcode::Iadd | Opcode::Isub | Opcode::Imul => {
                let x = self.range_of(func, analyses, x, block, search)?;
                let y = self.range_of(func, analyses, y, block, search)?;
                match opcode {
                    Opcode::Iadd => x.sum(y),
                    Opcode::Isub => x.sum(y.negated()),
                    _ => x.product(y),
                }
            }
            Opcode::Ishl => {
                let amount = shift(func, y, width)?;
                self.range_of(func, analyses, x, block, search)?.product(Range::point(1 << amount))
            }
            _ => return None,
        };
        Range::all(Sign::Signed, width).contains(range).then_some(range)
    }

    /// Computes the chosen sums of the wide counters.
    pub(crate) fn widen_sums(&self, func: &mut Function) {
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
