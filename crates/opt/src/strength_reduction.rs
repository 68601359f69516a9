//! Strength reduction: a product of a loop's counter becomes a counter of its own, and the test that ends the loop may be made on
//! it.
//!
//! ```text
//!   jump block1(v9)       ; v9 = 0           jump block1(v0)
//! block1(v1: i64):                         block1(v10: i64):
//!   v2 = imul_imm v1, 80                     v4 = load.i32 v10
//!   v3 = iadd v0, v2                         v11 = iadd_imm v10, 80
//!   v4 = load.i32 v3                         v12 = icmp ne v11, v13     ; v13 = v0 + 80 * 20
//!   v5 = iadd_imm v1, 1                      brif v12, block1(v11), block2
//!   v6 = icmp ult v5, v8  ; v8 = 20
//!   brif v6, block1(v5), block2
//! ```
//!
//! Needs the [`Analyses`], which stay valid. The function uses no aliases before, and may afterwards. What the new counters
//! make unused remains, and [`crate::code_motion`] removes it.
//!
//! A product becomes a counter if the loop then has fewer instructions ([`crate::affine`]), and while registers are likely to be
//! free: up to [`MAX_COUNTERS`] in a loop without calls. The test is replaced if nothing else needs the old counter
//! ([`crate::exit_test`]). Cost: linear.

use kingpost_ir::analyses::Analyses;
use kingpost_ir::types::I64;
use kingpost_ir::{Function, InstData, Opcode, Value, ValueDef};
use kingpost_meter::heap_bytes;
use smallvec::SmallVec;

use crate::affine::{Affine, Place, WideCounter};
use crate::counters::make;
use crate::exit_test::ExitTest;
use crate::induction::own_arguments;

/// Maximum number of parameters of a header to which counters are added.
const MAX_COUNTERS: usize = 6;

/// Memory of the pass.
#[derive(Default, Debug)]
pub(crate) struct StrengthReduction {
    affine: Affine,
    /// Roots of one counter, which become counters.
    chosen: Vec<Value>,
    /// Whether short code is preferred to fast code: then nothing changes.
    pub(crate) prefers_size: bool,
}

heap_bytes!(StrengthReduction { affine, chosen } without { prefers_size });

impl StrengthReduction {
    /// Runs the pass. Returns `true` if it has changed the function.
    pub(crate) fn run(&mut self, func: &mut Function, analyses: &Analyses) -> bool {
        if self.prefers_size || !self.affine.find(func, analyses) {
            return false;
        }
        let mut is_changed = false;
        for number in 0..self.affine.counters.len() {
            let counter = self.affine.counters[number];
            let header = analyses.loops.header(counter.of);
            if self.affine.has_call(counter.of) || func.layout.is_cold(header) {
                continue;
            }
            let test = self.choose(func, analyses, number);
            let is_crowded = func.dfg.block_params(header).len() + self.chosen.len() > MAX_COUNTERS;
            if self.chosen.is_empty() || is_crowded {
                continue;
            }
            self.replace(func, analyses, counter, test);
            is_changed = true;
        }
        is_changed
    }

    /// Chooses the roots of a counter that become counters. Returns the test that is replaced, if it is.
    fn choose(&mut self, func: &Function, analyses: &Analyses, number: usize) -> Option<ExitTest> {
        let counter = &self.affine.counters[number];
        let roots = self.affine.roots_of(number).iter().copied().filter(|&root| root != counter.next);
        self.chosen.clear();
        // With the test replaced, the old counter saves the instruction that a new one costs.
        if let Some(test) = ExitTest::of(func, analyses, counter, &self.affine) {
            self.chosen.extend(roots.clone());
            let saved = self.chosen.iter().map(|&root| self.affine.saved(func, root));
            let (insts, uses) =
                saved.fold((1, 0), |(insts, uses), saved| (insts + saved.insts, uses + saved.counter_uses));
            let all = self.affine.uses(counter.param) + self.affine.uses(counter.next);
            let by = self.chosen.iter().position(|&root| test.can_be_of(self.affine.growth(func, root)));
            if let Some(by) = by
                && all == uses + 3
                && insts as usize > self.chosen.len()
            {
                self.chosen.swap(0, by);
                return Some(test);
            }
            self.chosen.clear();
        }
        self.chosen.extend(roots.filter(|&root| self.affine.saved(func, root).insts >= 2));
        None
    }

    /// Makes the chosen roots counters. The test, if there is one, is made on the first of them.
    fn replace(&self, func: &mut Function, analyses: &Analyses, counter: WideCounter, test: Option<ExitTest>) {
        let header = analyses.loops.header(counter.of);
        own_arguments(func, analyses, header);
        let (entry, back) = (counter.entry, counter.back);
        let mut params = SmallVec::<[Value; MAX_COUNTERS]>::new();
        for (index, &root) in self.chosen.iter().enumerate() {
            let start = self.affine.compute(func, root, Place::Value(counter.start), entry.inst);
            let step = self.affine.compute(func, root, Place::Step(counter.step), entry.inst);
            let test = test.filter(|_| index == 0);
            let param = func.dfg.append_block_param(header, I64);
            let before = test.filter(|test| test.is_of_next).map_or(back.inst, |test| test.compares);
            let next = make(func, before, InstData::binary(Opcode::Iadd, I64, [param, step]), I64);
            func.dfg.append_block_arg(entry.inst, entry.edge as usize, start.into());
            func.dfg.append_block_arg(back.inst, back.edge as usize, next.into());
            if let Some(test) = test {
                let last = make(func, entry.inst, InstData::iconst(I64, test.last), I64);
                let last = self.affine.compute(func, root, Place::Value(last), entry.inst);
                test.replace(func, [param, next], last);
            }
            params.push(param);
        }
        // A root may be part of the computation of another one, so that all have been computed by now.
        for (&root, param) in self.chosen.iter().zip(params) {
            self.affine.remove(func, root);
            // Cannot fail: the target is a new parameter.
            let _ = func.dfg.change_to_alias(root, param);
        }
        if test.is_some() {
            remove(func, counter);
        }
    }
}

/// Removes a counter that only its sum uses.
fn remove(func: &mut Function, counter: WideCounter) {
    let ValueDef::Param(header, number) = func.dfg.value_def(counter.param) else { return };
    if let Some(sum) = func.dfg.defining_inst(counter.next) {
        func.layout.remove_inst(sum);
    }
    for pred in [counter.entry, counter.back] {
        func.dfg.remove_block_arg(pred.inst, pred.edge as usize, number as usize);
    }
    func.dfg.remove_block_param(header, number as usize);
}
