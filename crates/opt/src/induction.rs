//! Counters: a loop parameter that each round extends to a wider type, for an address, is counted in the wider type.
//!
//! ```text
//! block1(v1: i32):                         block1(v10: i64):
//!   v2 = icmp slt v1, v0                     v1 = ireduce.i32 v10
//!   brif v2, block2, block3                  v2 = icmp slt v1, v0
//! block2:                                    brif v2, block2, block3
//!   v3 = sextend.i64 v1                    block2:
//!   v4 = load.i64 v3                         v4 = load.i64 v10
//!   v5 = iadd_imm v1, 1                      v11 = iadd_imm v10, 1
//!   jump block1(v5)                          jump block1(v11)
//! ```
//!
//! Part of the pass [`crate::gvn`], before the walk, which simplifies what this leaves: needs the [`Analyses`], which stay
//! valid; the function may use aliases, before and after. The reduction takes no instruction on either machine.
//!
//! A *counter* is a parameter of a loop's header to which the only edge back adds a constant. It can be widened if the sum
//! never exceeds the type, read with or without a sign: [`crate::counter_ranges`]. Extensions of other sums and of
//! products, of several counters, are in [`crate::sums`].
//!
//! Cost: linear.

use cranelift_entity::SecondaryMap;
use kingpost_ir::analyses::Analyses;
use kingpost_ir::cfg::Predecessor;
use kingpost_ir::loops::Loop;
use kingpost_ir::types::I64;
use kingpost_ir::{Block, Function, Inst, InstData, Opcode, Type, Value, ValueDef};
use kingpost_meter::heap_bytes;

use crate::counter_ranges::{Proof, prove};
use crate::purity::constant;
use crate::ranges::{Range, Sign};
use crate::sums::Sum;

/// A parameter of a loop's header to which each round adds a constant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counter {
    pub(crate) of: Loop,
    pub(crate) param: Value,
    /// Number of the parameter.
    number: usize,
    pub(crate) step: i128,
    /// The sum, which the edge back passes.
    pub(crate) next: Value,
    pub(crate) back: Predecessor,
    /// The bits of its first value, if that is a constant.
    pub(crate) start: Option<u64>,
}

/// An extension of a counter, or of its sum with a constant.
#[derive(Clone, Copy, Debug)]
struct Use {
    counter: u32,
    inst: Inst,
    block: Block,
    sign: Sign,
    offset: i128,
    /// Whether the sum is what the edge back passes.
    is_next: bool,
}

/// Memory of the pass.
#[derive(Default, Debug)]
pub(crate) struct Induction {
    pub(crate) counters: Vec<Counter>,
    /// By value: number plus one of the counter whose parameter it is.
    pub(crate) numbers: SecondaryMap<Value, u32>,
    uses: Vec<Use>,
    pub(crate) sums: Vec<Sum>,
    /// By counter: the proof with which it is widened.
    pub(crate) chosen: Vec<Option<Proof>>,
    /// By counter: its proof with a sign, if a sum has asked for that.
    pub(crate) signed: Vec<Option<Option<Proof>>>,
    /// By counter: whether a sum needs it in 64 bits.
    pub(crate) is_in_sum: Vec<bool>,
    /// Headers with widened counters.
    changed: Vec<Block>,
    keep: Vec<bool>,
    /// Whether addresses extend integers of 32 bits.
    pub(crate) has_extending_addresses: bool,
}

heap_bytes!(Induction { counters, numbers, uses, sums, chosen, signed, is_in_sum, changed, keep } without { has_extending_addresses });

impl Induction {
    /// Runs the pass. Returns `true` if there are new aliases.
    pub(crate) fn run(&mut self, func: &mut Function, analyses: &Analyses) -> bool {
        self.find_counters(func, analyses);
        if self.counters.is_empty() {
            return false;
        }
        self.find_uses(func, analyses);
        self.uses.sort_by_key(|each| each.counter);
        self.choose(func, analyses);
        self.choose_sums(func, analyses);
        self.widen_all(func, analyses);
        self.widen_sums(func);
        for index in 0..self.changed.len() {
            self.drop_params(func, analyses, self.changed[index]);
        }
        !self.changed.is_empty()
    }

    /// Chooses the counters that are widened because of their own extensions.
    fn choose(&mut self, func: &Function, analyses: &Analyses) {
        let count = self.counters.len();
        self.chosen.clear();
        self.chosen.resize(count, None);
        self.signed.clear();
        self.signed.resize(count, None);
        self.is_in_sum.clear();
        self.is_in_sum.resize(count, false);
        for uses in self.uses.chunk_by(|a, b| a.counter == b.counter) {
            let number = uses[0].counter as usize;
            self.chosen[number] = best_proof(func, analyses, &self.counters[number], uses);
        }
    }

    fn widen_all(&mut self, func: &mut Function, analyses: &Analyses) {
        self.changed.clear();
        let mut rest = &*self.uses;
        for (number, counter) in self.counters.iter().enumerate() {
            let (uses, others) = rest.split_at(rest.partition_point(|each| each.counter as usize <= number));
            rest = others;
            let Some(proof) = self.chosen[number] else { continue };
            let header = analyses.loops.header(counter.of);
            if self.changed.last() != Some(&header) {
                self.changed.push(header);
                own_arguments(func, analyses, header);
            }
            widen(func, analyses, counter, proof, uses, self.is_in_sum[number]);
        }
    }

    fn find_counters(&mut self, func: &Function, analyses: &Analyses) {
        self.counters.clear();
        let limit = if self.has_extending_addresses { 32 } else { 64 };
        for each in analyses.loops.loops() {
            let header = analyses.loops.header(each);
            let Some(back) = only_edge_back(func, analyses, header) else { continue };
            let passed = func.dfg.branch_destinations(back.inst)[back.edge as usize];
            for (number, &param) in func.dfg.block_params(header).iter().enumerate() {
                let ty = func.dfg.value_type(param);
                if !ty.is_int() || ty.bits() >= limit {
                    continue;
                }
                let Some(next) = func.dfg.block_args(passed)[number].value() else { continue };
                let next = func.dfg.resolve_aliases(next);
                if let Some(step) = sum_with(func, next, param).filter(|&step| step != 0) {
                    let start = start_of(func, analyses, header, number);
                    self.counters.push(Counter { of: each, param, number, step, next, back, start });
                }
            }
        }
    }

    fn find_uses(&mut self, func: &Function, analyses: &Analyses) {
        self.uses.clear();
        self.sums.clear();
        self.numbers.clear();
        self.numbers.resize(func.dfg.num_values());
        for (index, counter) in self.counters.iter().enumerate() {
            self.numbers[counter.param] = index as u32 + 1;
        }
        for &block in analyses.dominators.preorder() {
            if analyses.loops.innermost_loop(block).is_none() {
                continue;
            }
            for inst in func.layout.block_insts(block) {
                let sign = match func.dfg.opcode(inst) {
                    Opcode::Sextend => Sign::Signed,
                    Opcode::Uextend => Sign::Unsigned,
                    _ => continue,
                };
                if func.dfg.ctrl_type(inst).bits() > 64 {
                    continue;
                }
                let value = func.dfg.resolve_aliases(func.dfg.inline_arg(inst, 0));
                let Some((param, offset)) = param_and_offset(func, value) else {
                    self.sums.extend(Sum::of(func, inst, block, value));
                    continue;
                };
                if let Some(counter) = self.numbers[param].checked_sub(1) {
                    let is_next = self.counters[counter as usize].next == value;
                    self.uses.push(Use { counter, inst, block, sign, offset, is_next });
                }
            }
        }
    }

    /// Removes the parameters of a header that have become aliases.
    fn drop_params(&mut self, func: &mut Function, analyses: &Analyses, header: Block) {
        let params = func.dfg.block_params(header).iter();
        self.keep.clear();
        self.keep.extend(params.map(|&param| func.dfg.value_alias(param).is_none()));
        for pred in analyses.cfg.preds(header) {
            func.dfg.retain_block_args(pred.inst, pred.edge as usize, |number| self.keep[number]);
        }
        func.dfg.drop_aliased_params(header);
    }
}

/// Returns the only edge back to a header. All edges to it must be of jumps and conditional branches.
fn only_edge_back(func: &Function, analyses: &Analyses, header: Block) -> Option<Predecessor> {
    let preds = analyses.cfg.preds(header);
    let can_pass = |pred: &Predecessor| matches!(func.dfg.opcode(pred.inst), Opcode::Jump | Opcode::Brif);
    let is_back = |pred: &&Predecessor| analyses.dominators.dominates(header, pred.block);
    let mut back = preds.iter().filter(is_back);
    let only = *back.next()?;
    (back.next().is_none() && preds.len() > 1 && preds.iter().all(can_pass)).then_some(only)
}

/// Returns the constant that all edges from outside pass as the parameter of this number.
fn start_of(func: &Function, analyses: &Analyses, header: Block, number: usize) -> Option<u64> {
    let mut only = None;
    for pred in analyses.cfg.preds(header) {
        if !analyses.dominators.dominates(header, pred.block) {
            let passed = func.dfg.branch_destinations(pred.inst)[pred.edge as usize];
            let bits = constant_of(func, func.dfg.block_args(passed)[number].value()?)?;
            if *only.get_or_insert(bits) != bits {
                return None;
            }
        }
    }
    only
}

/// Returns the bits of a constant, which may be reduced or extended.
pub(crate) fn constant_of(func: &Function, value: Value) -> Option<u64> {
    let value = func.dfg.resolve_aliases(value);
    if let Some(bits) = constant(func, value) {
        return Some(bits);
    }
    let inst = func.dfg.first_result_of(value)?;
    let width = func.dfg.value_type(value).bits();
    let opcode = func.dfg.opcode(inst);
    if width > 64 || !matches!(opcode, Opcode::Ireduce | Opcode::Uextend | Opcode::Sextend) {
        return None;
    }
    let operand = func.dfg.resolve_aliases(func.dfg.inline_arg(inst, 0));
    let bits = constant(func, operand)?;
    let sign = if opcode == Opcode::Sextend { Sign::Signed } else { Sign::Unsigned };
    let number = sign.read(bits, func.dfg.value_type(operand).bits());
    Some(Sign::Unsigned.read(number as u64, width) as u64)
}

/// Returns the constant, read with a sign, whose sum with `param` is `value`.
fn sum_with(func: &Function, value: Value, param: Value) -> Option<i128> {
    param_and_offset(func, value).filter(|&(of, _)| of == param).map(|(_, offset)| offset)
}

/// Returns a parameter and a constant, read with a sign, whose sum a value is. The sum may have been computed in a wider
/// type.
fn param_and_offset(func: &Function, value: Value) -> Option<(Value, i128)> {
    let width = func.dfg.value_type(value).bits();
    let is_param = |value| matches!(func.dfg.value_def(value), ValueDef::Param(..));
    if is_param(value) {
        return Some((value, 0));
    }
    let mut inst = func.dfg.first_result_of(value)?;
    let is_wide = func.dfg.opcode(inst) == Opcode::Ireduce;
    if is_wide {
        inst = func.dfg.first_result_of(func.dfg.resolve_aliases(func.dfg.inline_arg(inst, 0)))?;
    }
    let opcode = func.dfg.opcode(inst);
    if !matches!(opcode, Opcode::Iadd | Opcode::Isub) {
        return None;
    }
    let [x, y] = *func.dfg.inst_args(inst) else { return None };
    let (mut x, y) = if constant_of(func, y).is_none() && opcode == Opcode::Iadd { (y, x) } else { (x, y) };
    if func.dfg.value_type(x).bits() > 64 {
        return None;
    }
    let bits = constant_of(func, y)?;
    let bits = if opcode == Opcode::Isub { bits.wrapping_neg() } else { bits };
    x = func.dfg.resolve_aliases(x);
    if is_wide {
        x = extended(func, x)?.0;
    }
    (is_param(x) && func.dfg.value_type(x).bits() == width).then(|| (x, Sign::Signed.read(bits, width)))
}

/// Returns the operand and the sign of an extension.
pub(crate) fn extended(func: &Function, value: Value) -> Option<(Value, Sign)> {
    let inst = func.dfg.first_result_of(value)?;
    let sign = match func.dfg.opcode(inst) {
        Opcode::Sextend => Sign::Signed,
        Opcode::Uextend => Sign::Unsigned,
        _ => return None,
    };
    Some((func.dfg.resolve_aliases(func.dfg.inline_arg(inst, 0)), sign))
}

/// Returns the proof with which most extensions in the loop need no instruction. `None` if there is none.
fn best_proof(func: &Function, analyses: &Analyses, counter: &Counter, uses: &[Use]) -> Option<Proof> {
    let width = func.dfg.value_type(counter.param).bits();
    let gain = |proof: &Proof| {
        let saves = |each: &&Use| {
            (each.offset == 0 || each.is_next)
                && analyses.loops.contains(counter.of, each.block)
                && proof.covers(analyses, width, each)
        };
        uses.iter().filter(saves).count()
    };
    let proofs = [Sign::Unsigned, Sign::Signed].map(|sign| prove(func, analyses, counter, sign));
    let best = proofs.into_iter().flatten().max_by_key(gain)?;
    (gain(&best) > 0).then_some(best)
}

impl Proof {
    /// Returns `true` if an extension is the wide counter plus its offset.
    fn covers(&self, analyses: &Analyses, width: u32, each: &Use) -> bool {
        let range = self.range_in(analyses, each.block).plus(each.offset);
        let limit = if each.sign == self.sign { Range::all(self.sign, width) } else { Range::of_both(width) };
        limit.contains(range)
    }
}

/// Makes lists of arguments that no two edges to a header share.
fn own_arguments(func: &mut Function, analyses: &Analyses, header: Block) {
    for pred in analyses.cfg.preds(header) {
        func.dfg.retain_block_args(pred.inst, pred.edge as usize, |_| true);
    }
}

/// Replaces a counter by a wide one, and extensions of it by that or by its sums. A counter of a sum gets 64 bits.
fn widen(func: &mut Function, analyses: &Analyses, counter: &Counter, proof: Proof, uses: &[Use], is_in_sum: bool) {
    let header = analyses.loops.header(counter.of);
    let narrow = func.dfg.value_type(counter.param);
    let covered = || uses.iter().filter(|each| proof.covers(analyses, narrow.bits(), each));
    let types = covered().map(|each| func.dfg.ctrl_type(each.inst)).chain(is_in_sum.then_some(I64));
    let Some(wide) = types.max_by_key(|ty| ty.bits()) else { return };
    let (Some(first), Some(sum)) = (func.layout.first_inst(header), func.dfg.first_result_of(counter.next)) else {
        return;
    };
    let step = make(func, sum, InstData::iconst(wide, counter.step as i64), wide);
    let param = func.dfg.append_block_param(header, wide);
    let next = make(func, sum, InstData::binary(Opcode::Iadd, wide, [param, step]), wide);
    let extend = if proof.sign == Sign::Signed { Opcode::Sextend } else { Opcode::Uextend };
    for pred in analyses.cfg.preds(header) {
        let passed = func.dfg.branch_destinations(pred.inst)[pred.edge as usize];
        let arg = match func.dfg.block_args(passed)[counter.number].value() {
            Some(start) if *pred != counter.back => make(func, pred.inst, InstData::unary(extend, wide, start), wide),
            _ => next,
        };
        func.dfg.append_block_arg(pred.inst, pred.edge as usize, arg.into());
    }
    let reduced = make(func, first, InstData::unary(Opcode::Ireduce, narrow, param), narrow);
    // Neither can fail: the targets are new values.
    let _ = func.dfg.change_to_alias(counter.param, reduced);
    func.dfg.replace_inst(sum, InstData::unary(Opcode::Ireduce, narrow, next));
    for each in uses.iter().filter(|each| proof.covers(analyses, narrow.bits(), each)) {
        let value = match each.offset {
            0 => param,
            _ if each.is_next => next,
            offset => {
                let offset = make(func, each.inst, InstData::iconst(wide, offset as i64), wide);
                make(func, each.inst, InstData::binary(Opcode::Iadd, wide, [param, offset]), wide)
            }
        };
        replace_extension(func, each.inst, value, wide);
    }
}

/// Replaces an extension by a value of the type `wide`, which has at least as many bits.
pub(crate) fn replace_extension(func: &mut Function, inst: Inst, value: Value, wide: Type) {
    let ty = func.dfg.ctrl_type(inst);
    match func.dfg.first_result(inst) {
        Some(result) if ty == wide => {
            let _ = func.dfg.change_to_alias(result, value);
            func.layout.remove_inst(inst);
        }
        _ => func.dfg.replace_inst(inst, InstData::unary(Opcode::Ireduce, ty, value)),
    }
}

/// Makes an instruction before another one, and returns its result.
pub(crate) fn make(func: &mut Function, before: Inst, data: InstData, ty: Type) -> Value {
    let inst = func.dfg.make_inst(data);
    func.dfg.make_results(inst, ty);
    func.layout.insert_inst(inst, before);
    let location = func.srcloc(before);
    if !location.is_none() {
        func.srclocs[inst] = location;
    }
    func.dfg.inst_results(inst)[0]
}
