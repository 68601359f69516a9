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

use kingpost_ir::analyses::Analyses;
use kingpost_ir::cfg::Predecessor;
use kingpost_ir::types::I64;
use kingpost_ir::{Block, Function, Inst, InstData, Opcode};
use kingpost_meter::heap_bytes;

use crate::counter_ranges::{Proof, prove};
use crate::counters::{Counter, Counters, constant_of, make, param_and_offset, replace_extension, sum_with};
use crate::ranges::{Range, Sign};
use crate::sums::Sums;

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
    counters: Counters,
    uses: Vec<Use>,
    sums: Sums,
    /// By counter: the proof with which it is widened.
    chosen: Vec<Option<Proof>>,
    /// Headers with widened counters.
    changed: Vec<Block>,
    keep: Vec<bool>,
    /// Whether addresses extend integers of 32 bits.
    pub(crate) has_extending_addresses: bool,
}

heap_bytes!(Induction { counters, uses, sums, chosen, changed, keep } without { has_extending_addresses });

impl Induction {
    /// Runs the pass. Returns `true` if there are new aliases.
    pub(crate) fn run(&mut self, func: &mut Function, analyses: &Analyses) -> bool {
        self.find_counters(func, analyses);
        if self.counters.list.is_empty() {
            return false;
        }
        self.find_uses(func, analyses);
        self.uses.sort_by_key(|each| each.counter);
        self.choose(func, analyses);
        self.sums.choose(func, analyses, &self.counters, &mut self.chosen);
        self.widen_all(func, analyses);
        self.sums.widen(func);
        for index in 0..self.changed.len() {
            self.drop_params(func, analyses, self.changed[index]);
        }
        !self.changed.is_empty()
    }

    /// Chooses the counters that are widened because of their own extensions.
    fn choose(&mut self, func: &Function, analyses: &Analyses) {
        self.chosen.clear();
        self.chosen.resize(self.counters.list.len(), None);
        for uses in self.uses.chunk_by(|a, b| a.counter == b.counter) {
            let number = uses[0].counter as usize;
            self.chosen[number] = best_proof(func, analyses, &self.counters.list[number], uses);
        }
    }

    fn widen_all(&mut self, func: &mut Function, analyses: &Analyses) {
        self.changed.clear();
        let mut rest = &*self.uses;
        for (number, counter) in self.counters.list.iter().enumerate() {
            let (uses, others) = rest.split_at(rest.partition_point(|each| each.counter as usize <= number));
            rest = others;
            let Some(proof) = self.chosen[number] else { continue };
            let header = analyses.loops.header(counter.of);
            if self.changed.last() != Some(&header) {
                self.changed.push(header);
                own_arguments(func, analyses, header);
            }
            widen(func, analyses, counter, proof, uses, self.sums.has(number));
        }
    }

    fn find_counters(&mut self, func: &Function, analyses: &Analyses) {
        self.counters.list.clear();
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
                    self.counters.list.push(Counter { of: each, param, number, step, next, back, start });
                }
            }
        }
    }

    fn find_uses(&mut self, func: &Function, analyses: &Analyses) {
        self.uses.clear();
        self.sums.clear();
        self.counters.number(func);
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
                    self.sums.add(func, inst, block, value);
                    continue;
                };
                if let Some(counter) = self.counters.number_of(param) {
                    let is_next = self.counters.list[counter as usize].next == value;
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
pub(crate) fn only_edge_back(func: &Function, analyses: &Analyses, header: Block) -> Option<Predecessor> {
    let preds = analyses.cfg.preds(header);
    let can_pass = |pred: &Predecessor| matches!(func.dfg.opcode(pred.inst), Opcode::Jump | Opcode::Brif);
    let is_back = |pred: &&Predecessor| analyses.dominators.dominates(header, pred.block);
    let mut back = preds.iter().filter(is_back);
    let only = *back.next()?;
    (back.next().is_none() && preds.len() > 1 && preds.iter().all(can_pass)).then_some(only)
}

/// Returns the constant that all edges from outside pass as the parameter of this number.
pub(crate) fn start_of(func: &Function, analyses: &Analyses, header: Block, number: usize) -> Option<u64> {
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
pub(crate) fn own_arguments(func: &mut Function, analyses: &Analyses, header: Block) {
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
